"""What stands behind ``tare.open_dataset``: generators, readers, samples and summaries.

One idea a file: `synthpop` and `nycflights` are the built-in data, `source`
finds out what a file is, `tables`, `csvs` and `documents` read it, `sampling`
takes a part, `summary` describes, `saving` hands the data to workers.
"""
