"""Stores beside R's storr, other libraries' stores and plain files."""
