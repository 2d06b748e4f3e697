"""Figures, intervals and growth curves, computed from a record's samples."""
