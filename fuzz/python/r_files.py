"""Files of R through `tare.r.read` and as a conversion reads them: values, or errors of Tare's own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tare
from tare import r
from tare.errors import TareError, UsageError
from tare.r.plain import plain_value
from tare.r.sources import sniffed

LIMITS = r.Limits(max_depth=300, memory_budget=1 << 24, max_ratio=1000)
CODECS = tuple(tare.Codec.parse(id) for id in ("csv", "json:orjson,default=text", "parquet"))
FORMS = ("python", "arrow", "pandas", "polars")


def fuzz(data: bytes) -> None:
    """Bytes become values in every form, or are refused."""
    format = sniffed(data) or "dput"
    for form in FORMS:
        attempted(lambda form=form: r.read(data, as_=form, format=format, limits=LIMITS, loss=[]))
    options = LIMITS.options()
    for tabular in (False, True):
        for keyed in (False, True):
            value = attempted(
                lambda tabular=tabular, keyed=keyed: plain_value(
                    data, format, options, [], data_only=True, tabular=tabular, keyed=keyed
                )
            )
            for codec in CODECS if hasattr(value, "schema") else ():
                attempted(lambda codec=codec, value=value: codec.encode(value))
    attempted(lambda: r.write(r.read(data, as_="robject", format=format, limits=LIMITS), None, format="rds"))


def attempted(work: Callable[[], Any]) -> Any:
    """Return what work returns, or None where Tare refuses it."""
    try:
        return work()
    except UsageError:
        raise
    except TareError:
        return None
    except Exception:
        raise
    except BaseException as error:  # a panic of the core, which passes `except Exception`
        if type(error).__name__ == "PanicException":
            raise AssertionError(f"the core panics: {error}") from error
        raise
