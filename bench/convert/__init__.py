"""Conversions between formats: Tare beside polars, DuckDB and pyarrow, in process and as commands."""
