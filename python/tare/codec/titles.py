"""Human names of codecs: ``parquet:polars`` is *Parquet (zstd, polars)*.

Names are made from the registry by rules, so that formats and libraries of other packages have one too:

- The format's title, then what tells its forms apart: compression, options, library.
- The library is left out where it is the usual one: the only one, the one that ids leave out, or
  the first of a format for tables.
- A compressor around the bytes follows behind a plus sign, with its level where that is not the usual one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from tare import formats
from tare.codec.ids import compressor_of, split_id
from tare.errors import UsageError

if TYPE_CHECKING:
    from tare.formats.base import Format

__all__ = ["title_of", "titles_of"]

# Where people know a format by another name than its specification's.
_FORMATS = {"arrow": "Arrow / Feather"}
_LIBRARIES = {
    "duckdb": "DuckDB",
    "mono-newtonsoft": "Newtonsoft.Json",
    "node": "Node.js",
    "pyyaml": "PyYAML",
    "r": "R",
    "ruamel": "ruamel.yaml",
    "tare": "Tare",
}
_LANGUAGES = {"java-": "Java ", "mono-": "Mono ", "node-": "Node.js ", "r-": "R ", "rust-": "Rust "}
_OPTIONS = {
    ("delimiter", "tab"): "tab-separated",
    ("impl", "python"): "pure Python",
    ("loader", "c"): "C loader",
    ("orient", "columns"): "by columns",
    ("sort_keys", "false"): "unsorted",
}
# Said only where two codecs shown differ by nothing else.
_QUIET = {("default", "text"): "dates as text", ("default", "pickle"): "others pickled"}
# Pure copying, which a run measures beside the codecs.
_COPY = {"copy": "Copying the bytes"}


def title_of(codec: str) -> str:
    """Returns the human name of a codec or of a route.

    Args:
        codec: An id, of any language; what is not an id is returned as it is.

    >>> title_of("arrow:pyarrow"), title_of("parquet:polars"), title_of("parquet:pyarrow,compression=zstd,level=9")
    ('Arrow / Feather, uncompressed', 'Parquet (zstd, polars)', 'Parquet (zstd 9)')
    >>> title_of("json:orjson"), title_of("msgpack:msgspec+zstd:3"), title_of("csv:pyarrow+zstd:9")
    ('JSON (orjson)', 'MessagePack (msgspec) + zstd', 'CSV + zstd 9')
    >>> title_of("json:node"), title_of("rds:tare+gzip:6"), title_of("csv:r-data.table@file")
    ('JSON (Node.js)', 'RDS (gzip)', 'CSV (R data.table)')
    """
    return _title(codec, quiet=True)


def titles_of(codecs: Iterable[str]) -> dict[str, str]:
    """Returns the human names of codecs that are shown together: no two are the same.

    >>> titles_of(["json:orjson", "json:orjson,default=text", "pickle"])
    {'json:orjson': 'JSON (orjson)', 'json:orjson,default=text': 'JSON (dates as text, orjson)', 'pickle': 'pickle'}
    """
    ids = list(dict.fromkeys(codecs))
    names = {id: title_of(id) for id in ids}
    shared = Counter(names.values())
    names = {id: name if shared[name] == 1 else _title(id, quiet=False) for id, name in names.items()}
    shared = Counter(names.values())
    return {id: name if shared[name] == 1 else id for id, name in names.items()}


def _title(codec: str, *, quiet: bool) -> str:
    if codec in _COPY:
        return _COPY[codec]
    try:
        id, library, options, compressor = split_id(codec)
    except UsageError:
        return codec
    format = _format(id)
    packed, inside = _compressor(compressor), bool(format and format.extension_compressors)
    details = [packed or "uncompressed"] if inside else _compression(format, library, options)
    # A level is told beside the compression that it is of, also where that is the usual one.
    told = not inside and bool(details) and details[0].endswith(f" {options.get('level')}")
    details += _words({key: value for key, value in options.items() if not (told and key == "level")}, quiet)
    details += _library(id, format, library)
    name = _FORMATS.get(id) or (format.title if format else id)
    if details == ["uncompressed"]:
        name += ", uncompressed"
    elif details:
        name += f" ({', '.join(details)})"
    return f"{name} + {packed}" if packed and not inside else name


def _format(id: str) -> Format | None:
    try:
        return formats.get(id)
    except UsageError:
        return None


def _compressor(text: str | None) -> str:
    """Returns a compressor's name, with its level and library where they are not the usual ones."""
    if text is None:
        return ""
    try:
        name, level, settings = compressor_of(text)
        usual = compressor_of(str(name))[1]
    except UsageError:
        return " ".join(text.replace(":", " ").replace("=", " ").replace(",", ", ").split())
    said = f"{name} {level}" if level is not None and level != usual else str(name)
    more = [str(value) for _, value in settings]
    return f"{said} ({', '.join(more)})" if more else said


def _compression(format: Format | None, library: str | None, options: Mapping[str, str]) -> list[str]:
    """Returns the compression inside a format, as one detail; none where plain bytes go without saying."""
    found = None if format is None else format.default if library is None else format.library(library)
    option = found.options.get("compression") if found else None
    kind = options.get("compression", str(option.default) if option else "none")
    if kind != "none":
        return [f"{kind} {options['level']}" if "level" in options else kind]
    return ["uncompressed"] if option and format and _for_tables(format) else []


def _for_tables(format: Format) -> bool:
    return "document" not in format.kinds


def _words(options: Mapping[str, str], quiet: bool) -> list[str]:
    """Returns what options change, one detail each."""
    said = []
    for key, value in options.items():
        if key == "compression" or (key == "level" and "compression" in options):
            continue
        if (key, value) in _QUIET:
            said += [] if quiet else [_QUIET[key, value]]
            continue
        name = key.replace("_", " ")
        plain = {"true": name, "false": f"no {name}"}.get(value, f"{name} {value}")
        said.append(_OPTIONS.get((key, value), plain))
    return said


def _library(id: str, format: Format | None, library: str | None) -> list[str]:
    """Returns the library's name as one detail; none where it is the usual one."""
    if library is None or library == id or (format is not None and library == _usual(format)):
        return []
    if library in _LIBRARIES:
        return [_LIBRARIES[library]]
    start = next((start for start in _LANGUAGES if library.startswith(start)), "")
    return [_LANGUAGES.get(start, "") + library[len(start) :]]


def _usual(format: Format) -> str:
    """Returns the library that goes without saying; empty where people choose among several."""
    names = [library.name for library in format.libraries]
    return format.home or (names[0] if len(names) == 1 or _for_tables(format) else "")
