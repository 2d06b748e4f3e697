"""Whole values over a stream, beside its bare bytes and what programs do by hand."""
