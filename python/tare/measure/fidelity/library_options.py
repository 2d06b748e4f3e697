"""Ways a library keeps what its plain call does not: an option, or a typed decode.

Two kinds are tried when a probe does not come back the same. First every switch
the codec itself offers: its name is the codec id to use. Then what only the
library's own interface offers, listed here by library.
"""

from __future__ import annotations

import datetime as dt
import uuid
from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tare.codec import Codec

__all__ = ["hooks"]

# Turns a value into what decoding its encoding gives.
Trip = Callable[[Any], Any]
# Switches that change the look of the bytes, never the value.
_LOOKS = frozenset({"compact"})


def hooks(codec: Codec) -> Iterator[tuple[str, Trip]]:
    """The named ways to try, as (name, round trip)."""
    yield from _switches(codec)
    yield from _LISTED.get(f"{codec.format_id}:{codec.library_name}", ())


def _switches(codec: Codec) -> Iterator[tuple[str, Trip]]:
    from tare.codec import Codec

    for name, option in codec.library.options.items():
        if not isinstance(option.default, bool) or name in _LOOKS:
            continue
        state = str(not codec.options[name]).lower()
        text = str(codec).partition("+")[0]
        fixed = [part for part in text.split(",") if not part.startswith(f"{name}=")]
        other = Codec.parse(",".join([*fixed, f"{name}={state}"]))
        yield str(other), _trip_of(other)


def _trip_of(codec: Codec) -> Trip:
    def trip(value: Any) -> Any:
        return codec.decode(codec.encode(value), trust=True)

    return trip


def _type_of(value: Any) -> Any:
    """A type annotation that fits the value, for typed decoding."""
    kind = type(value)
    if kind is dict and value:
        return dict[_joined(value), _joined(value.values())]  # type: ignore[misc]
    if kind is tuple:
        return tuple[tuple(_type_of(item) for item in value)]  # type: ignore[misc]
    if kind in (set, frozenset, list) and value:
        return kind[_joined(value)]
    known = (int, float, str, bool, bytes, Decimal, uuid.UUID, dt.date, dt.time, dt.datetime, dt.timedelta)
    return kind if kind in known else Any


def _joined(values: Any) -> Any:
    kinds = [_type_of(value) for value in values]
    return kinds[0] if all(kind == kinds[0] for kind in kinds) else Any


def _msgspec_json(value: Any) -> Any:
    import msgspec

    return msgspec.json.decode(msgspec.json.encode(value), type=_type_of(value))


def _msgspec_msgpack(value: Any) -> Any:
    import msgspec

    return msgspec.msgpack.decode(msgspec.msgpack.encode(value), type=_type_of(value))


def _rapidjson(value: Any) -> Any:
    import rapidjson

    modes: Any = {
        "datetime_mode": rapidjson.DM_ISO8601,
        "uuid_mode": rapidjson.UM_CANONICAL,
        "number_mode": rapidjson.NM_DECIMAL,
    }
    return rapidjson.loads(rapidjson.dumps(value, **modes), **modes)


def _simplejson(value: Any) -> Any:
    import simplejson

    return simplejson.loads(simplejson.dumps(value, use_decimal=True), use_decimal=True)


def _msgpack(**pack_and_unpack: dict[str, Any]) -> Trip:
    def trip(value: Any) -> Any:
        import msgpack

        packed = msgpack.packb(value, **pack_and_unpack.get("pack", {}))
        return msgpack.unpackb(packed, **pack_and_unpack.get("unpack", {}))

    return trip


def _cbor2_shared(value: Any) -> Any:
    import cbor2

    return cbor2.loads(cbor2.dumps(value, value_sharing=True))


def _bson(value: Any) -> Any:
    import bson

    options: Any = bson.CodecOptions(
        tz_aware=True, uuid_representation=bson.binary.UuidRepresentation.STANDARD
    )
    return bson.decode(bson.encode(value, codec_options=options), codec_options=options)


def _csv_pyarrow(table: Any) -> Any:
    import pyarrow as pa
    from pyarrow import csv

    sink = pa.BufferOutputStream()
    csv.write_csv(table, sink)
    convert = csv.ConvertOptions(
        column_types=table.schema, strings_can_be_null=True, quoted_strings_can_be_null=False
    )
    parse = csv.ParseOptions(newlines_in_values=True, ignore_empty_lines=table.num_columns > 1)
    source: Any = pa.BufferReader(sink.getvalue())
    return csv.read_csv(source, convert_options=convert, parse_options=parse)


_LISTED: dict[str, tuple[tuple[str, Trip], ...]] = {
    "json:msgspec": (("msgspec typed decode", _msgspec_json),),
    "msgpack:msgspec": (("msgspec typed decode", _msgspec_msgpack),),
    "json:rapidjson": (("rapidjson datetime_mode, uuid_mode, number_mode", _rapidjson),),
    "json:simplejson": (("simplejson use_decimal", _simplejson),),
    "msgpack:msgpack": (
        ("msgpack strict_map_key=False", _msgpack(unpack={"strict_map_key": False})),
        ("msgpack use_list=False", _msgpack(unpack={"use_list": False, "strict_map_key": False})),
        (
            "msgpack unicode_errors=surrogatepass",
            _msgpack(pack={"unicode_errors": "surrogatepass"}, unpack={"unicode_errors": "surrogatepass"}),
        ),
    ),
    "cbor:cbor2": (("cbor2 value_sharing", _cbor2_shared),),
    "bson:pymongo": (("bson tz_aware, uuid_representation", _bson),),
    "csv:pyarrow": (("pyarrow column_types", _csv_pyarrow),),
}
