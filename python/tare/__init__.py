"""Tare weighs every data format on your own data and does the work the best way.

>>> import tare
>>> tare.decode(tare.encode({"a": [1, 2.5, None]}, "json:orjson"), "json:orjson")
{'a': [1, 2.5, None]}

Names are resolved on first use, so that ``import tare`` costs no third-party import.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__all__ = [
    "Codec",
    "Dataset",
    "Result",
    "Route",
    "Store",
    "TareError",
    "__version__",
    "connect",
    "convert",
    "decode",
    "encode",
    "formats",
    "inspect",
    "listen",
    "measure",
    "open_dataset",
    "open_store",
    "read",
    "wait",
    "write",
]

if TYPE_CHECKING:
    from tare import blit as blit
    from tare import compress as compress
    from tare import errors as errors
    from tare import formats
    from tare import messages as messages
    from tare import r as r
    from tare import scale as scale
    from tare import store as store
    from tare._version import __version__
    from tare.codec import Codec, decode, encode
    from tare.dataset import Dataset, open_dataset
    from tare.errors import TareError
    from tare.io import convert, inspect, read, write
    from tare.measure.calling import Measure
    from tare.measure.result import Result
    from tare.messages import connect, listen, wait
    from tare.route import Route
    from tare.store import Store, open_store

    # The package is callable, which no checker can see of a module.
    measure: Measure

_HOMES = {
    "Codec": "tare.codec",
    "Dataset": "tare.dataset",
    "Result": "tare.measure.result",
    "Route": "tare.route",
    "Store": "tare.store",
    "TareError": "tare.errors",
    "__version__": "tare._version",
    "connect": "tare.messages",
    "convert": "tare.io",
    "decode": "tare.codec",
    "encode": "tare.codec",
    "inspect": "tare.io",
    "listen": "tare.messages",
    "open_dataset": "tare.dataset",
    "open_store": "tare.store",
    "read": "tare.io",
    "wait": "tare.messages",
    "write": "tare.io",
}
_MODULES = ("blit", "compress", "errors", "formats", "measure", "messages", "r", "scale", "store")


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(f"tare.{name}")
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'tare' has no attribute {name!r}")
    value = getattr(importlib.import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*__all__, *_MODULES})
