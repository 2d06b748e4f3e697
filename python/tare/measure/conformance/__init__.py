"""Checks of anybody's worker against the protocol."""
