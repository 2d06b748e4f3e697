"""Values as bytes and back: which codec a value has by default, and what each codec of a store gives.

| Value | Codec | Comes back as |
|---|---|---|
| bytes, bytearray, memoryview, a binary file object | ``raw`` | bytes |
| None, bool, int, float, str, list, dict with names of str | ``blit`` | the same |
| tuple, set, Decimal, dates and times, UUID, NumPy's scalars, dict with other names, and lists and dicts with such values, arrays, tables or R objects inside | ``blit:values`` | the same, see `tare.store.nested`; objects of other subclasses as their base |
| array of NumPy | ``npy`` | a read-only array |
| table of Arrow, pandas, polars | ``arrow``, ``arrow:pandas``, ``arrow:polars`` | a table of that library |
| `tare.r.RObject` | ``rds`` | `tare.r.RObject` |

Any other codec of the registry may be asked for by its id; it gives what `tare.decode` gives.
"""

from __future__ import annotations

import datetime as dt
import io
import json
import mmap
import uuid
from collections.abc import Callable
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from tare import _tare
from tare.arrays import refuse_beside_moments
from tare.errors import EncodeError, Malformed, NotTrusted, Unsupported, UsageError
from tare.frames import bytes_of

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    import pyarrow as pa

    from tare.codec import Codec

__all__ = ["Encoded", "codec_of", "decoded", "encoded", "known_codec", "refused"]

# The name of a codec, and the parts of a value in memory, or what is read or called to write it.
Encoded = tuple[str, "list[Any] | Any"]

_BYTES = (bytes, bytearray, memoryview, mmap.mmap)
_SCALARS: tuple[type, ...] = (str, int, float, Decimal, dict, list, tuple, set, frozenset)
_SCALARS += (dt.date, dt.time, dt.timedelta, uuid.UUID)
_TABLES = {
    ("pyarrow", "Table"): "arrow",
    ("pyarrow", "RecordBatch"): "arrow",
    ("pandas", "DataFrame"): "arrow:pandas",
    ("polars", "DataFrame"): "arrow:polars",
}
# Ids of the registry that mean what a store takes by default.
_OWN = {
    "blit:tare": "blit",
    "npy": "npy",
    "arrow:pyarrow": "arrow",
    "arrow:polars": "arrow:polars",
    "rds:tare": "rds",
}
# Tables from this size on are encoded part by part, straight into the store.
_IN_PARTS = 1 << 20


def codec_of(value: Any) -> str | None:
    """The codec that a value has by default; None if it has none.

    >>> codec_of([1, 2.5]), codec_of(b"x"), codec_of(object())
    ('blit', 'raw', None)
    """
    if isinstance(value, _BYTES):
        return "raw"
    if value is None or isinstance(value, _SCALARS):
        return "blit"
    for cls in type(value).__mro__:
        home = cls.__module__.partition(".")[0]
        if home == "numpy" and cls.__name__ in ("ndarray", "generic"):
            return "npy" if cls.__name__ == "ndarray" else "blit"
        found = _TABLES.get((home, cls.__name__))
        if found is not None:
            return found
        if home == "tare":
            return {"RObject": "rds", "BlitView": "blit", "View": "blit"}.get(cls.__name__)
    if callable(getattr(value, "read", None)):
        return "raw"
    return None


def known_codec(id: str, *, allow_pickle: bool) -> tuple[str, Codec | None]:
    """The id that is recorded, and the codec of the registry unless a store has its own way.

    Raises:
        UsageError: There is no such codec, or it names a compressor.
        NotTrusted: Reading it would run code, and nobody allowed that.

    >>> known_codec("blit", allow_pickle=False), known_codec("json:orjson", allow_pickle=False)[0]
    (('blit', None), 'json:orjson')
    """
    from tare.codec.route_ids import codec_part

    id = codec_part(id)
    if id in ("raw", "arrow:pandas", "blit:values"):
        return id, None
    from tare.codec import Codec

    codec = Codec.parse(id)
    if codec.compressor is not None:
        raise UsageError(f"codec={id!r} names a compressor: say compressor={id.partition('+')[2]!r} instead")
    if codec.executes_code and not allow_pickle:
        raise NotTrusted(
            f"{codec.format_id}: reading hostile bytes can run code: open the store with allow_pickle=True if you "
            "trust all who write to it",
            format=codec.format_id,
        )
    own = _OWN.get(str(codec))
    return (own, None) if own is not None else (str(codec), codec)


def encoded(value: Any, codec: str | None, *, whole: bool, allow_pickle: bool, fixed: str | None) -> Encoded:
    """A value as bytes.

    Args:
        value: Any value.
        codec: Id of the codec that was asked for; None to choose by the value.
        whole: Whether all of it has to be in memory: no stream is given.
        allow_pickle: Whether codecs may be used whose reading can run code.
        fixed: The one codec that the store holds.

    Returns:
        The id that is recorded, and the parts of the value in memory; without ``whole`` also a file object
        that gives it, or a function that writes it into one.

    Raises:
        Unsupported, EncodeError: The codec does not hold the value, or none does.
        UsageError, NotTrusted: As `known_codec` says.
    """
    known: Codec | None = None
    if fixed is not None:
        if codec is not None and known_codec(codec, allow_pickle=allow_pickle)[0] != fixed:
            raise Unsupported(f"this store holds {fixed} only, not {codec}", format=fixed)
        return fixed, [_robject(value, version=2)]
    if codec is not None:
        id, known = known_codec(codec, allow_pickle=allow_pickle)
    else:
        found = codec_of(value)
        if found is None:
            raise refused(value)
        id = found
        if id == "blit":
            return _document(value, whole)
    if known is None:
        return _ENCODERS[id](value, whole)
    return id, _by_registry(known, value, whole)


def decoded(id: str, data: bytes, *, allow_pickle: bool) -> Any:
    """The value of verified bytes of a codec.

    Raises:
        DecodeError, Unsupported: They are not of this codec.
        UsageError: There is no such codec.
        NotTrusted: Reading would run code, and nobody allowed that.
    """
    own = _DECODERS.get(id)
    if own is not None:
        return own(data)
    _, codec = known_codec(id, allow_pickle=allow_pickle)
    assert codec is not None  # the own ones are in the table
    return codec.decode(data, trust=allow_pickle)


def refused(value: Any, error: Exception | None = None) -> Exception:
    """The error of a value that no default codec holds, with what to do.

    Args:
        value: The value.
        error: What the encoder of documents said of a part of it.
    """
    advice = "convert it, name a codec= that holds it, or say codec='pickle' in a store opened with allow_pickle=True"
    if error is not None:
        if isinstance(error, Unsupported):
            said = str(error).removesuffix(": default= says what becomes of it")
            return Unsupported(f"{said}: {advice}", format="blit", path=error.path)
        return error
    cls = type(value)
    return Unsupported(f"no codec holds a value of type {cls.__module__}.{cls.__qualname__}: {advice}")


def _raw(value: Any, whole: bool) -> Encoded:
    if isinstance(value, memoryview):
        return "raw", [value if value.c_contiguous else value.tobytes()]
    if isinstance(value, _BYTES):
        return "raw", [value]
    if callable(getattr(value, "read", None)):
        if isinstance(value, io.TextIOBase):
            raise Unsupported("a file of text is not stored as bytes: open it with mode 'rb'")
        return "raw", [value.read()] if whole else value
    raise Unsupported(f"raw holds bytes and binary files, not {type(value).__name__}", format="raw")


def _document(value: Any, whole: bool) -> Encoded:
    """The document of a value that comes back as it is, or one with the rest wrapped inside."""
    try:
        return "blit", [_tare.store_document(value)]
    except Unsupported:
        return _blit_values(value, whole)


def _blit(value: Any, whole: bool) -> Encoded:
    """Who asks for this codec by its id has what it gives: lists for tuples."""
    from tare import blit

    try:
        return "blit", [blit.encode(_unboxed(value), surrogates="keep")]
    except Unsupported as error:
        raise refused(value, error) from None


def _unboxed(value: Any) -> Any:
    if type(value).__module__ == "numpy" and hasattr(value, "item"):
        return value.item()
    return bytes(value) if isinstance(value, (bytearray, memoryview)) else value


def _blit_values(value: Any, whole: bool) -> Encoded:
    from tare import blit
    from tare.store.nested import wrapped

    tree = wrapped(value, _inside)
    try:
        return "blit:values", [blit.encode(tree, surrogates="keep")]
    except Unsupported as error:
        raise refused(value, error) from None


def _inside(value: Any) -> tuple[str, bytes]:
    """The codec and the bytes of a value inside another."""
    id, parts = encoded(value, None, whole=True, allow_pickle=False, fixed=None)
    return id, b"".join(parts)


def _npy(value: Any, whole: bool) -> Encoded:
    from tare.formats import npy

    array: np.ndarray[Any, Any] = value
    try:
        return "npy", list(npy.parts(array))
    except EncodeError as error:
        raise EncodeError(
            f"{error}; codec='pickle' in a store opened with allow_pickle=True", format="npy"
        ) from None


def _arrow(value: Any, whole: bool) -> Encoded:
    return "arrow", _table(_as_table(value), whole)


def _as_table(value: Any) -> pa.Table:
    import pyarrow as pa

    from tare import kinds

    if isinstance(value, pa.RecordBatch):
        return pa.Table.from_batches([value])
    table: pa.Table = kinds.convert(value, "arrow")
    return table


def _table(table: pa.Table, whole: bool) -> Any:
    codec = _registered("arrow:pyarrow")
    return _by_registry(codec, table, whole or bytes_of(table) < _IN_PARTS)


def _pandas(value: Any, whole: bool) -> Encoded:
    """As pyarrow writes pandas' frames, without the versions of both, which would change the hash."""
    import pyarrow as pa

    from tare import kinds

    frame: pd.DataFrame = kinds.convert(value, "pandas")
    try:
        for place in range(frame.shape[1]):
            if str(frame.dtypes.iloc[place]) == "object":
                refuse_beside_moments(frame.iloc[:, place])
        # Without columns nothing but the index says how many rows there are.
        keep = None if len(frame.columns) else True
        table = pa.Table.from_pandas(frame, preserve_index=keep)
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
        text = f"Arrow does not hold this data frame: {str(error)[:300]}: convert the column, or say codec='pickle'"
        raise EncodeError(text, format="arrow") from error
    metadata = dict(table.schema.metadata or {})
    said = json.loads(metadata[b"pandas"])
    said["creator"] = {"library": "pyarrow", "version": "0"}
    said["pandas_version"] = "0"
    metadata[b"pandas"] = json.dumps(said, sort_keys=True).encode()
    table = table.replace_schema_metadata(metadata)
    if not table.num_rows:  # a table without rows is written without the categories of its columns
        return "arrow:pandas", [
            _no_rows(pa.RecordBatch.from_pandas(frame, preserve_index=keep), table.schema)
        ]
    return "arrow:pandas", _table(table, whole)


def _no_rows(batch: pa.RecordBatch, schema: pa.Schema) -> bytes:
    import pyarrow as pa
    from pyarrow import ipc

    sink = pa.BufferOutputStream()
    with ipc.new_file(sink, schema) as writer:
        writer.write_batch(batch.replace_schema_metadata(schema.metadata))
    return sink.getvalue().to_pybytes()


def _polars(value: Any, whole: bool) -> Encoded:
    from tare import kinds

    frame = kinds.convert(value, "polars")
    if any("Object" in repr(kind) for kind in frame.schema.values()):
        raise EncodeError("polars holds values of this frame as objects of Python", format="arrow")
    return "arrow:polars", [_registered("arrow:polars").encode(frame)]


def _rds(value: Any, whole: bool) -> Encoded:
    return "rds", [_robject(value, version=3)]


def _robject(value: Any, *, version: int) -> bytes:
    """A value as R serializes it; what R has not is told by a `tare.r.LossWarning`."""
    from tare import r
    from tare.r.losses import settle

    report = r.write(value, None, format="rds", version=version, encoding="xdr", compressor="none")
    settle(report.loss, None, strict=False, what="the value as an R object", level=4)
    assert report.data is not None  # as without a path
    return report.data


def _by_registry(codec: Codec, value: Any, whole: bool) -> Any:
    if whole or codec.library.write is None:
        return [codec.encode(value)]
    return _writing(codec, value)


def _writing(codec: Codec, value: Any) -> Callable[[Any], None]:
    """What writes a value into a file, part by part."""

    def write(file: Any) -> None:
        codec.write(value, file)

    return write


def _registered(id: str) -> Codec:
    from tare.codec import Codec

    return Codec.parse(id)


def _from_blit(data: bytes) -> Any:
    from tare import blit

    view = blit.view(data)
    return view.to_python(decimal=True) if isinstance(view, blit.View) else view


def _from_blit_values(data: bytes) -> Any:
    from tare.store.nested import unwrapped

    return unwrapped(_from_blit(data), _from_inside)


def _from_inside(id: str, data: bytes) -> Any:
    if id not in _DECODERS:
        raise Malformed(
            f"blit:values: no value inside another has the codec {id[:40]!r}", format="blit:values"
        )
    return decoded(id, data, allow_pickle=False)


def _from_npy(data: bytes) -> np.ndarray[Any, Any]:
    from tare.formats import npy

    return npy.decoded(data)


def _from_arrow(data: bytes) -> pa.Table:
    """The table in the very bytes; offsets and texts are looked at first, for readers would crash on bad ones."""
    codec = _registered("arrow:pyarrow")
    codec.require()
    assert codec.library.check is not None  # both are there
    assert codec.library.open is not None
    from tare.codec.refusals import mapped
    from tare.errors import Malformed

    with mapped(codec, Malformed):
        codec.library.check(data)
        table: pa.Table = codec.library.open(data, **codec.options)
    return table


def _from_arrow_pandas(data: bytes) -> pd.DataFrame:
    return _from_arrow(data).to_pandas()


def _from_arrow_polars(data: bytes) -> Any:
    return _registered("arrow:polars").decode(data)


def _from_rds(data: bytes) -> Any:
    from tare import r

    return r.read(data, format="rds", as_="robject")


def _from_raw(data: bytes) -> bytes:
    return data


_ENCODERS: dict[str, Callable[[Any, bool], Encoded]] = {
    "raw": _raw,
    "blit": _blit,
    "blit:values": _blit_values,
    "npy": _npy,
    "arrow": _arrow,
    "arrow:pandas": _pandas,
    "arrow:polars": _polars,
    "rds": _rds,
}
_DECODERS: dict[str, Callable[[bytes], Any]] = {
    "raw": _from_raw,
    "blit": _from_blit,
    "blit:values": _from_blit_values,
    "npy": _from_npy,
    "arrow": _from_arrow,
    "arrow:pandas": _from_arrow_pandas,
    "arrow:polars": _from_arrow_polars,
    "rds": _from_rds,
}
