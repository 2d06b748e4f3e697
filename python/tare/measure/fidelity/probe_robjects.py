"""The probe set ``robjects/1``: values of R that formats and conversions are known to lose, one each.

They are R's own text or R's own bytes, so that nothing of ours stands between R and the probe. Each is
sent on every route and brought back into R; what is not identical then must have been told as a loss.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tare.errors import TareError, UsageError

if TYPE_CHECKING:
    from tare.r import Loss, RObject

__all__ = ["OBJECTS", "ROUTES", "Cell", "ObjectProbe", "cell", "matrix", "table_text"]


@dataclass(frozen=True)
class ObjectProbe:
    """One value of the set ``robjects/1``.

    Args:
        name: Id of the probe.
        help: What it is, one phrase.
        text: The value as `dput` writes it; or `serialize()`'s bytes in hexadecimal digits.
        column: Whether it can be the column of a data frame; if not, it goes where whole objects go.
    """

    name: str
    help: str
    text: str
    column: bool = True

    def build(self) -> RObject:
        """The R object."""
        from tare import r

        found: RObject
        if self.text.startswith("580a"):
            found = r.read(bytes.fromhex(self.text), as_="robject")
        else:
            found = r.read(self.text.encode(), format="dput", as_="robject")
        return found


_V3 = "580a000000030004020200030500000000055554462d38"

OBJECTS: tuple[ObjectProbe, ...] = (
    ObjectProbe("na_logical", "TRUE and a missing logical", "c(TRUE, NA)"),
    ObjectProbe("na_integer", "a missing integer", "c(1L, NA)"),
    ObjectProbe("na_real", "a missing double", "c(1.5, NA)"),
    ObjectProbe("nan", "NaN beside a missing double", f"{_V3}0000000e000000027ff80000000000007ff00000000007a2"),
    ObjectProbe("na_character", "missing text beside the text NA", 'c("NA", NA, "")'),
    ObjectProbe("na_complex", "a missing complex number", "c(1+2i, NA)"),
    ObjectProbe("raw", "bytes", "as.raw(c(0x00, 0xff))"),
    ObjectProbe("factor", "a factor with a level that no value has", 'structure(c(1L, NA, 3L), levels = c("a", "b", "c"), class = "factor")'),
    ObjectProbe("factor_ordered", "an ordered factor", 'structure(c(2L, 1L), levels = c("low", "high"), class = c("ordered", "factor"))'),
    ObjectProbe("factor_na_level", "a factor whose level is NA", 'structure(c(1L, 2L), levels = c("a", NA), class = "factor")'),
    ObjectProbe("date", "days, one missing", 'structure(c(15706, NA), class = "Date")'),
    ObjectProbe("date_integer", "days stored as integers", 'structure(c(15706L, NA), class = "Date")'),
    ObjectProbe("date_fraction", "half a day", 'structure(c(15706.5, 2), class = "Date")'),
    ObjectProbe("posixct_zone", "instants in a named zone", 'structure(c(1357034400.25, NA), class = c("POSIXct", "POSIXt"), tzone = "America/New_York")'),
    ObjectProbe("posixct_local", "instants without a zone", 'structure(c(1357034400, 0), class = c("POSIXct", "POSIXt"))'),
    ObjectProbe("difftime", "lengths of time in minutes", 'structure(c(1.5, NA), class = "difftime", units = "mins")'),
    ObjectProbe("integer64", "64-bit integers of the package bit64", 'structure(c(0x0.0000000000001p-1022, -0x0p+0), class = "integer64")'),
    ObjectProbe("text_latin1", "text in latin1", f"{_V3}00000010000000020000400900000003e974e9000400090000000161"),
    ObjectProbe("text_bytes", "a string that is marked as bytes", f"{_V3}00000010000000010000200900000002fffe"),
    ObjectProbe("names", "a vector with names", "c(a = 1L, b = 2L)"),
    ObjectProbe("attributes", "an attribute of one's own", 'structure(c(1, 2), unit = "km")'),
    ObjectProbe("class_unknown", "a class that nobody knows", 'structure(c(1, 2), class = "money")'),
    ObjectProbe("altrep", "a sequence that is not made yet", f"{_V3}000000ee0000000200000001000400090000000e636f6d706163745f696e747365710000000200000001000400090000000462617365000000020000000d000000010000000d000000fe0000000e0000000340240000000000003ff00000000000003ff0000000000000000000fe"),
    ObjectProbe("list_column", "a list as a column", 'list(1:2, "a", NULL)'),
    ObjectProbe("matrix_dims", "a matrix with names", 'structure(1:4, dim = c(2L, 2L), dimnames = list(NULL, c("a", "b")))'),
    ObjectProbe("row_names", "a data frame with names of rows", 'structure(list(x = 1:2), row.names = c("one", "two"), class = "data.frame")', column=False),
    ObjectProbe("tibble", "a tibble", 'structure(list(x = 1:2), row.names = c(NA, -2L), class = c("tbl_df", "tbl", "data.frame"))', column=False),
    ObjectProbe("names_twice", "a data frame with two columns of one name", 'structure(list(x = 1:2, x = 3:4), names = c("x", "x"), row.names = c(NA, -2L), class = "data.frame")', column=False),
    ObjectProbe("no_rows", "a data frame without rows", 'structure(list(x = integer(0), y = character(0)), row.names = integer(0), class = "data.frame")', column=False),
    ObjectProbe("list", "a list in a list, NULL among its values", 'list(a = 1L, b = list("x", NULL))', column=False),
    ObjectProbe("list_scalar", "vectors of one value", 'list(a = 1, b = TRUE, c = "x")', column=False),
    ObjectProbe("list_class", "a list with a class", 'structure(list(a = 1L), class = "model")', column=False),
    ObjectProbe("list_names", "a list of which some names are missing", 'structure(list(1L, 2L), names = c("a", ""))', column=False),
    ObjectProbe("posixlt", "a time as its parts", 'structure(list(sec = 5, min = 4L, hour = 3L, mday = 2L, mon = 0L, year = 120L, wday = 4L, yday = 1L, isdst = 0L), class = c("POSIXlt", "POSIXt"), tzone = "UTC")', column=False),
    ObjectProbe("pairlist", "a pairlist", "pairlist(a = 1L, 2L)", column=False),
    ObjectProbe("closure", "a function", f"{_V3}00000403000000fd0000040200000001000400090000000178000000fb000000fe000000060000000100040009000000012b00000002000001ff000000020000000e000000013ff0000000000000000000fe", column=False),
    ObjectProbe("environment_shared", "one environment in two places", f"{_V3}00000213000000020000000400000000000000f200000402000000010004000900000001610000000d0000000100000001000000fe000000fe000000fe000001ff000004020000000100040009000000056e616d65730000001000000002000400090000000161000400090000000162000000fe", column=False),
    ObjectProbe("promise", "a promise that nobody has asked for", f"{_V3}0000000400000000000000f2000004020000000100040009000000017000000405000000f2000000fc0000000600000001000400090000000473746f70000000020000001000000001000400090000000178000000fe000000fe000000fe000000fe", column=False),
    ObjectProbe("s4", "an S4 object", f"{_V3}0001031900000402000000010004000900000001780000000e000000013ff8000000000000000004020000000100040009000000016e000000100000000100040009000000017300000402000000010004000900000005636c6173730000021000000001000400090000000150000004020000000100040009000000077061636b6167650000001000000001000400090000000a2e476c6f62616c456e76000000fe000000fe", column=False),
)  # fmt: skip


@dataclass(frozen=True)
class Cell:
    """What became of a probe on a route.

    Args:
        verdict: ``same``; ``told``, if what changed was said; ``silent``, if it was not, which is a defect;
            ``refused``; ``n/a``, if the route has no such values.
        losses: What was said.
        error: Why it was refused.
    """

    verdict: str
    losses: tuple[Loss, ...] = ()
    error: str = ""

    @property
    def text(self) -> str:
        """It in a word or two: ``same``, the kinds of loss, ``refused``."""
        if self.verdict != "told":
            return self.verdict
        real = [loss for loss in self.losses if not loss.is_information] or self.losses
        return ", ".join(dict.fromkeys(loss.kind.replace("_", " ") for loss in real))


_Route = Callable[["RObject", list["Loss"]], "RObject | None"]


def _through(format: str) -> _Route:
    """Written to a format of R, and read again."""

    def run(value: RObject, found: list[Loss]) -> RObject:
        from tare import r

        sent: Any = {"x": value} if format == "rdata" else value
        report = r.write(sent, None, format=format, loss=found)
        back = r.read(report.data, format=format, as_="robject", loss=found)
        only: RObject = back["x"] if format == "rdata" else back
        return only

    return run


def _values(as_: str) -> _Route:
    """Made a value of Python, and an R object of that again."""

    def run(value: RObject, found: list[Loss]) -> RObject:
        made = _converted(value, as_, found)
        return _written(made, found)

    return run


def _file(codec: str) -> _Route:
    """A table through a file of another format, R's attributes in its schema."""

    def run(value: RObject, found: list[Loss]) -> RObject:
        from tare.codec import Codec

        made = _converted(value, "arrow", found)
        chosen = Codec.parse(codec)
        return _written(chosen.decode(chosen.encode(made)), found)

    return run


def _fst(value: RObject, found: list[Loss]) -> RObject:
    from tare import r

    data = r.write(_converted(value, "arrow", found), None, format="fst", loss=found).data
    return _written(r.read(data, as_="arrow", loss=found), found)


def _converted(value: RObject, as_: str, found: list[Loss]) -> Any:
    from tare import r

    return r.read(value.to_bytes(), as_=as_, loss=found)


def _written(made: Any, found: list[Loss]) -> RObject:
    from tare import r

    back: RObject = r.read(r.write(made, None, compressor="none", loss=found).data, as_="robject")
    return back


# Where a probe goes; those that take tables get it as the column of a data frame.
ROUTES: Mapping[str, tuple[bool, _Route]] = {
    "rds": (False, _through("rds")),
    "rdata": (False, _through("rdata")),
    "qs2": (False, _through("qs2")),
    "qdata": (False, _through("qdata")),
    "dput": (False, _through("dput")),
    "python": (False, _values("python")),
    "arrow": (True, _values("arrow")),
    "parquet": (True, _file("parquet:pyarrow")),
    "pandas": (True, _values("pandas")),
    "polars": (True, _values("polars")),
    "fst": (True, _fst),
}


def cell(probe: ObjectProbe, route: str) -> Cell:
    """Send a probe on a route, bring it back, and compare.

    Raises:
        UsageError: There is no such route.
    """
    if route not in ROUTES:
        raise UsageError(f"there is no route {route[:40]!r}; there are {', '.join(ROUTES)}")
    of_tables, run = ROUTES[route]
    value = probe.build()
    if of_tables and "data.frame" not in value.r_class:
        if not probe.column:
            return Cell("n/a")
        value = _as_column(value)
    found: list[Loss] = []
    try:
        back = run(value, found)
    except TareError as error:
        return Cell("refused", tuple(found), str(error))
    if back is not None and value.identical(back):
        return Cell("same", tuple(found))
    told = [loss for loss in found if loss.kind != "altrep_expanded"]
    return Cell("told" if told else "silent", tuple(found))


def matrix() -> dict[str, dict[str, Cell]]:
    """Every probe on every route."""
    return {probe.name: {route: cell(probe, route) for route in ROUTES} for probe in OBJECTS}


def table_text(found: Mapping[str, Mapping[str, Cell]]) -> str:
    """A `matrix` as a table of Markdown, for docs/guides/r-fidelity.md."""
    out = io.StringIO()
    out.write(f"| Probe | What it is | {' | '.join(ROUTES)} |\n")
    out.write(f"|---|---|{'---|' * len(ROUTES)}\n")
    for probe in OBJECTS:
        cells = " | ".join(one.text for one in found[probe.name].values())
        out.write(f"| `{probe.name}` | {probe.help} | {cells} |\n")
    return out.getvalue().rstrip()


def _as_column(value: RObject) -> RObject:
    """A data frame of that column alone: R's bytes of the column between those of the frame."""
    from tare import r

    rows = value.dim[0] if value.dim else len(value)
    plain = value.to_bytes(version=3, encoding="xdr")
    data = plain[:_HEADER_BYTES] + _item(0x313, 1) + plain[_HEADER_BYTES:]
    data += _named("names", _text("c"))
    data += _named("row.names", _item(13, 2, -(2**31), -rows))
    data += _named("class", _text("data.frame")) + _item(254)
    found: RObject = r.read(data, as_="robject")
    return found


# Of version 3 with UTF-8 as native encoding; R's serialization in big-endian words follows.
_HEADER_BYTES = 23


def _item(*words: int) -> bytes:
    return b"".join(word.to_bytes(4, "big", signed=True) for word in words)


def _char(text: str) -> bytes:
    return _item(0x40009, len(text)) + text.encode("ascii")


def _text(text: str) -> bytes:
    return _item(16, 1) + _char(text)


def _named(name: str, value: bytes) -> bytes:
    """A cell of the attributes."""
    return _item(0x402, 1) + _char(name) + value
