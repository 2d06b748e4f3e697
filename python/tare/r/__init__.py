"""`r`: the files of R, read and written without R, and every R object as it is.

>>> from tare import r
>>> file = r.write({"n": [1, 2, 3], "text": None}, None).data
>>> r.read(file)["n"]
array([1, 2, 3], dtype=int32)
>>> r.read(file, as_="robject").names
['n', 'text']

Nothing in a file is ever run: promises, functions and environments stay what they are.
"""

from __future__ import annotations

from tare.r.limits import Limits
from tare.r.losses import Loss, LossWarning
from tare.r.missing import NA_character, NA_complex, NA_integer, NA_logical, NA_real
from tare.r.reading import read
from tare.r.robject import RObject
from tare.r.writing import WriteReport, write

__all__ = [
    "Limits",
    "Loss",
    "LossWarning",
    "NA_character",
    "NA_complex",
    "NA_integer",
    "NA_logical",
    "NA_real",
    "RObject",
    "WriteReport",
    "read",
    "write",
]
