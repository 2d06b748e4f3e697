"""Checks of a worker program against the protocol."""
