"""Helpers that several test modules share; a helper of one module stays in it."""
