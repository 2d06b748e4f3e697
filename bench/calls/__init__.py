"""Calls of Tare beside the plain calls of the libraries under them."""
