"""Probes: single values and columns that formats lose."""
