"""`tare.r.write`: values, or R objects as they are, into files that R reads."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, BinaryIO

from tare import atomic
from tare.errors import EncodeError, Unsupported, UsageError
from tare.r import sources
from tare.r.arguments import checked_names, checked_number, checked_text
from tare.r.losses import Loss, losses_of, settle
from tare.r.made import core_of
from tare.r.robject import RObject

if TYPE_CHECKING:
    from tare._tare import RObject as Core

__all__ = ["WriteReport", "decoded", "encoded", "write"]

Bytes = bytes  # inside the report, `bytes` is how many
_ENCODINGS = ("xdr", "native", "ascii", "asciihex")


@dataclass(frozen=True)
class WriteReport:
    """What was written.

    Args:
        bytes: How many.
        loss: What R's objects cannot hold of the values, or what was left out.
        data: The bytes themselves, if they went to no file.
    """

    bytes: int
    loss: list[Loss] = field(default_factory=list)
    data: Bytes = field(default=b"", repr=False)


def write(  # noqa: PLR0913 - each is an option of writing
    value: Any,
    path: Any,
    *,
    format: str | None = None,
    version: int | None = 3,
    encoding: str | None = "xdr",
    compressor: str | None = None,
    threads: int | None = None,
    members: int | None = None,
    data_only: bool = False,
    names: list[str] | str | None = None,
    strict: bool = False,
    loss: list[Loss] | None = None,
    compress: int = 50,
    sync: bool = True,
) -> WriteReport:
    """Write a value to a file of R, which appears whole or not at all.

    Args:
        value: An `RObject`, a table or array of Arrow, pandas, polars or NumPy, or lists, dicts and
            scalars. Lists of like scalars become vectors. For RData a dict of the variables.
        path: The file, replaced if it is there; a binary file object; None for the bytes in the report.
        format: ``rds``, ``rdata``, ``qs2``, ``qdata``, ``fst`` or ``dput``; by default what the name's ending
            stands for (.rds .RData .rda .qs2 .qdata .fst .R), RData with ``names``, else RDS.
        version: Of R's serialization: 3, or 2 for R before 3.5.
        encoding: How numbers are written: ``xdr``, ``native``, ``ascii`` or ``asciihex``; None for that of the
            file an `RObject` was read from, as None is for the version.
        compressor: Around RDS and RData ``gzip:6``, as R does by default, any other level of gzip, ``bz2``,
            ``xz``, ``zstd`` (R 4.5 and newer) or ``none``; inside qs2 and qdata ``zstd:3``.
        threads: That compress; all by default. The bytes do not depend on it.
        members: Members of gzip: 1 for readers that stop after the first. By default one a MiB.
        data_only: Whether promises, functions, bytecode, active bindings and external pointers are
            left out; each is told as a loss.
        names: Names of the variables of RData, if ``value`` is a list of them; one name makes it the variable.
        strict: Whether the first thing that would be lost is an error; nothing is written then.
        loss: A list to fill too. The report has them in any case, and there is no warning.
        compress: Of fst: 0 = fastest, 100 = smallest, as in R.
        sync: Whether to wait until the bytes are on the disk.

    Raises:
        EncodeError: R, or the format, has no such value.
        LossError: Something would be lost, and ``strict``.
        UsageError: An option that does not exist, or nothing tells the format.
        OSError: The file cannot be written; what was there is untouched.

    >>> report = write({"a": [1, 2], "b": None}, None, compressor="none", encoding="ascii")
    >>> report.data.splitlines()[:2], report.loss
    ([b'A', b'3'], [])
    """
    if isinstance(names, str):
        names, value = [names], [value]
    names = checked_names("names", names)
    checked_text("format", format)
    checked_text("compressor", compressor)
    for name, number, least in (("version", version, 2), ("members", members, 0), ("threads", threads, 0)):
        checked_number(name, number, least=least, most=1 << 16)
    checked_number("compress", compress, most=100)
    known = _format(path, format, names)
    _refuse_unused(known, compressor, members)
    found: list[Loss] = []
    options: dict[str, Any] = {
        "format": known,
        "version": version,
        "encoding": encoding,
        "threads": threads,
        "members": members,
        "data_only": data_only,
    }
    if compressor is not None:
        options["compressor"] = compressor
    if encoding is None and isinstance(value, RObject):
        options["encoding"] = value._core.header["encoding"]  # noqa: SLF001 - as its file has it
    if known == "fst":
        options = {"compress": compress, "threads": threads}
    made = _made(value, known, names, found)

    def told() -> None:
        what = sources.name_of(path) if path else known
        settle(found, loss if loss is not None else [], strict=strict, what=what)

    if path is not None and not hasattr(path, "write"):
        with atomic.replacing_path(path) as temporary:
            size = _stored(made, known, temporary, options, found)
            told()
            if sync:
                atomic.flush_to_disk(temporary)
        return WriteReport(size, found)
    data = _bytes(made, known, options, found)
    told()
    if path is None:
        return WriteReport(len(data), found, data)
    path.write(data)
    return WriteReport(len(data), found)


def encoded(value: Any, format: str, file: BinaryIO | None = None, **options: Any) -> bytes:
    """A table or document as the bytes of a format of R, without a compressor around; what codecs write.

    Lists of one value, and lists without any, stay lists, so that `decoded` gives the value again.

    Args:
        value: A table, or lists, dicts and scalars.
        format: Id of the format.
        file: Where they go, as they are made; nothing is given back then.
        options: ``version``, ``encoding``, ``compressor``, ``compress``, ``threads``.

    Raises:
        EncodeError: R, or the format, has no such value.
    """
    found: list[Loss] = []
    made = _made(value, format, None, found, simplify=2)
    if format == "fst":  # its head is written last
        data = _bytes(made, format, {name: options.get(name) for name in ("compress", "threads")}, found)
        if file is None:
            return data
        file.write(data)
        return b""
    given = options | {"format": format}
    if file is None:
        return _bytes(made, format, given, found)
    _stored(made, format, file, given, found)
    return b""


def decoded(data: Any, format: str, threads: int | None = None) -> Any:
    """What `encoded` was given: an Arrow table of a data frame, else lists, dicts and scalars.

    Args:
        data: The bytes.
        format: Id of the format.
        threads: That decompress; all by default.

    Raises:
        DecodeError: The bytes are not what they should be.
        Unsupported: It holds what is no data, such as a function.
    """
    from tare.r.plain import plain_value

    return plain_value(data, format, {"threads": threads}, [])


def _format(path: Any, format: str | None, names: list[str] | None) -> str:
    if format is not None:
        if format == "qs":
            raise Unsupported("qs is read and not written, because R has no reader of it any more: write qs2")
        if format not in sources.FORMATS:
            raise UsageError(f"{format[:40]!r} is no format of R; there are {', '.join(sources.FORMATS)}")
        return format
    if path is None or hasattr(path, "write"):
        return "rdata" if names is not None else "rds"
    found = sources.by_name(os.fsdecode(os.fspath(path)))
    if found is None:
        raise UsageError(
            f"{sources.name_of(path)}: the ending names no format of R; say which with format=, such as rds"
        )
    return _format(None, found, names)


def _refuse_unused(format: str, compressor: str | None, members: int | None) -> None:
    """Refuse what the format would pass over.

    Raises:
        UsageError: It has no such option.
    """
    if members is not None and format not in ("rds", "rdata"):
        raise UsageError(f"members= are of the gzip around rds and rdata, not of {format}")
    if compressor is not None and format in ("fst", "dput"):
        instead = ": its level is compress=" if format == "fst" else ""
        raise UsageError(f"compressor= is not of {format}{instead}")


def _made(value: Any, format: str, names: list[str] | None, found: list[Loss], *, simplify: int = 1) -> Any:
    """What the core writes: an object, named ones, or a table for fst."""
    if format == "fst":
        return core_of(_table(value), found)
    if format != "rdata":
        if names is not None:
            raise UsageError(f"names= are of the variables of RData, not of {format}")
        return core_of(value, found, simplify=simplify)
    variables = _variables(value, names)
    made: list[tuple[str, Core]] = []
    for name, one in variables:
        inner: list[Loss] = []
        made.append((name, core_of(one, inner, simplify=simplify)))
        found.extend(Loss(f"${name}{loss.path}", loss.kind, loss.r, loss.kept, loss.count) for loss in inner)
    return made


def _variables(value: Any, names: list[str] | None) -> list[tuple[str, Any]]:
    if names is not None:
        values = list(value) if isinstance(value, list | tuple) else [value]
        if len(names) != len(values):
            raise UsageError(f"{len(names)} names for {len(values)} values")
        return list(zip(names, values, strict=True))
    if isinstance(value, Mapping):
        wrong = next((name for name in value if not isinstance(name, str) or not name), None)
        if wrong is not None:
            raise EncodeError(f"a variable of R has a name that is text, not {wrong!r:.40}", format="rdata")
        return list(value.items())
    return [("data", value)]


def _table(value: Any) -> Any:
    """The value if it is a table.

    Raises:
        EncodeError: It is none.
    """
    from tare import kinds

    found = "data.frame" in value.r_class if isinstance(value, RObject) else kinds.kind_of(value) == "table"
    if not found:
        what = "/".join(value.r_class) if isinstance(value, RObject) else type(value).__name__
        raise EncodeError(f"fst holds tables, and a {what} is none", format="fst")
    return value


def _bytes(made: Any, format: str, options: dict[str, Any], found: list[Loss]) -> bytes:
    """The bytes of what the core writes."""
    data: bytes = _stored(made, format, None, options, found)
    return data


def _stored(made: Any, format: str, sink: Any, options: dict[str, Any], found: list[Loss]) -> Any:
    """Write to a path or file object, and say how many bytes; without one the bytes."""
    from tare._tare import fst_write, r_write

    if format == "fst":
        stored, lost = fst_write(made, sink, options)
    else:
        if options.get("encoding") not in (None, *_ENCODINGS):
            raise UsageError(
                f"encoding={options['encoding']!r:.40} does not exist; there are {', '.join(_ENCODINGS)}"
            )
        stored, lost = r_write(made, sink, options)
    found.extend(losses_of(lost))
    return stored
