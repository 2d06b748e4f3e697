"""The probe sets: single values that formats are known to lose.

Each probe is one value, so that no other value in the same document or column
hides what happens to it. ``values/1`` is for documents; every value is sent
inside a map, ``{"v": value}``, because some formats hold nothing else at the top.
``columns/1`` (in ``probe_columns``) is for tables. ``robjects/1`` (in
``probe_robjects``) is for R objects, which no other codec holds.

Probes are written as tagged values, so workers in every language build the same.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

from tare.errors import UsageError

__all__ = ["SETS", "VALUES", "Probe", "encoded", "get", "names", "probes", "value"]

SETS = ("values/1", "columns/1")


@dataclass(frozen=True)
class Probe:
    """One value of the set ``values/1``.

    Args:
        name: Id of the probe.
        help: What it is and whom it breaks, one phrase.
        tagged: The value as a tagged value, without the map around it.
        encoded: Bytes for formats whose libraries cannot be made to write it.
        risky: Whether it may end the process of a careless library.
    """

    name: str
    help: str
    tagged: Any = None
    encoded: dict[str, bytes] = field(default_factory=dict)
    risky: bool = False

    set: ClassVar[str] = "values/1"
    kind: ClassVar[str] = "document"

    @property
    def tree(self) -> Any:
        """The tagged value as it is sent."""
        return {"v": self.tagged}

    def build(self) -> Any:
        """The value as it is sent, new each time.

        Raises:
            Unsupported: This machine has no type or time zone for it.
        """
        from tare.tagged import from_tagged

        return from_tagged(self.tree)


_DUPLICATE = {
    "json": b'{"v":{"a":1,"a":2}}',
    "ndjson": b'{"v":{"a":1,"a":2}}\n',
    "yaml": b"v:\n  a: 1\n  a: 2\n",
    "msgpack": b"\x81\xa1v\x82\xa1a\x01\xa1a\x02",
    "cbor": b"\xa1\x61v\xa2\x61a\x01\x61a\x02",
    "bson": b"\x1b\x00\x00\x00\x03v\x00\x13\x00\x00\x00\x10a\x00\x01\x00\x00\x00\x10a\x00\x02\x00\x00\x00\x00\x00",
    "repr": b"{'v': {'a': 1, 'a': 2}}",
}


def _ts(text: str, tz: str | None = None, unit: str = "us") -> dict[str, Any]:
    return {"$ts": text, "unit": unit, "tz": tz}


VALUES: tuple[Probe, ...] = (
    Probe("int_2_31", "an integer one above 32 bits with sign", 2**31),
    Probe("int_2_53_plus_1", "the first integer that a double rounds", {"$int": "9007199254740993"}),
    Probe("int64_min", "the least integer of 64 bits", {"$int": "-9223372036854775808"}),
    Probe("uint64_max", "the greatest unsigned integer of 64 bits", {"$int": "18446744073709551615"}),
    Probe("int_2_200", "an integer beyond 64 bits", {"$int": str(2**200)}),
    Probe("float_one", "1.0, which must not come back as 1", {"$f64": "3ff0000000000000"}),
    Probe("float_minus_zero", "-0.0, which must not come back as 0.0", {"$f64": "8000000000000000"}),
    Probe("float_nan", "NaN", {"$f64": "7ff8000000000000"}),
    Probe("float_nan_payload", "NaN with payload bits, such as R's NA", {"$f64": "7ff80000000007a2"}),
    Probe("float_inf", "infinity", {"$f64": "7ff0000000000000"}),
    Probe("float_minus_inf", "minus infinity", {"$f64": "fff0000000000000"}),
    Probe("float_least", "5e-324, the least double above zero", {"$f64": "0000000000000001"}),
    Probe("float_sum", "0.1 + 0.2, which needs all 17 digits", {"$f64": "3fd3333333333334"}),
    Probe("float32", "0.1 in single precision", {"$f32": "3dcccccd"}),
    Probe("decimal_1_10", "decimal 1.10, whose last zero is a digit", {"$dec": "1.10"}),
    Probe("decimal_40", "a decimal of 40 digits", {"$dec": "1234567890123456789012345678901234567.891"}),
    Probe("bool_true", "true, which must not come back as 1", True),
    Probe("null", "null", None),
    Probe("missing_key", "a key that is missing beside one that is null", [{"a": None}, {}]),
    Probe("text_empty", "empty text", ""),
    Probe("text_nul", "text with a NUL inside", "a\x00b"),
    Probe("text_emoji", "text beyond the basic plane", "\U0001f600"),
    Probe("text_surrogate", "a lone surrogate, as file names can hold", {"$text16": "d800"}),
    Probe("text_nfc", "a composed letter", "\u00e9"),
    Probe("text_nfd", "a letter and its accent apart", "e\u0301"),
    Probe("text_number", "text that looks like a number", "001"),
    Probe("text_bool", "text that YAML may read as a boolean", "no"),
    Probe("bytes", "bytes that are no UTF-8", {"$bytes": "AP/+gA=="}),
    Probe("date", "a date", {"$date": "2021-03-04"}),
    Probe("time", "a time of day", {"$time": "13:14:15.000016"}),
    Probe("datetime_naive", "a time without a zone", _ts("2021-03-04T05:06:07.000008")),
    Probe("datetime_utc", "a time in UTC", _ts("2021-03-04T05:06:07.000008+00:00", "+00:00")),
    Probe("datetime_offset", "a time at +05:30", _ts("2021-03-04T05:06:07.000008+05:30", "+05:30")),
    Probe(
        "datetime_zone",
        "a time in a named zone, in its repeated hour",
        _ts("2020-10-25T02:30:00.000000+01:00", "Europe/Berlin"),
    ),
    Probe("datetime_ns", "a time with nanoseconds", _ts("2021-03-04T05:06:07.123456789", unit="ns")),
    Probe("datetime_1900", "a time before 1970", _ts("1900-01-01T00:00:00.500000")),
    Probe("datetime_leap_day", "a leap day", _ts("2024-02-29T23:59:59.999999")),
    Probe("datetime_leap_second", "a leap second", _ts("2016-12-31T23:59:60.000000+00:00", "+00:00")),
    Probe("duration", "a negative duration with microseconds", {"$dur": -86_399_999_997, "unit": "us"}),
    Probe("uuid", "a UUID", {"$uuid": "12345678-1234-5678-1234-567812345678"}),
    Probe("tuple", "a tuple", {"$tuple": [1, 2]}),
    Probe("set", "a set", {"$set": [1, 2]}),
    Probe("list_empty", "an empty list", []),
    Probe("list_ragged", "lists of different lengths", [[1], [], [1, 2]]),
    Probe("list_or_null", "an empty list beside null", [[], None]),
    Probe("map_empty", "an empty map", {}),
    Probe("key_int", "a map with an integer as key", {"$map": [[1, "a"]]}),
    Probe("key_mixed", 'a map with the keys 1 and "1"', {"$map": [[1, "a"], ["1", "b"]]}),
    Probe("key_tuple", "a map with a tuple as key", {"$map": [[{"$tuple": [1, 2]}, "a"]]}),
    Probe("key_empty", "a map with the empty text as key", {"": 1}),
    Probe("key_order", "keys that are not in alphabetical order", {"b": 1, "a": 2}),
    Probe("key_duplicate", "a map that repeats a key", {"$map": [["a", 1], ["a", 2]]}, _DUPLICATE),
    Probe("depth_200", "200 lists inside each other", {"$nest": 200, "of": []}, risky=True),
    Probe("shared", "one list in two places", [{"$def": 1, "of": [1]}, {"$ref": 1}]),
    Probe("cycle", "a list that holds itself", {"$def": 1, "of": [{"$ref": 1}]}, risky=True),
    Probe("depth_2000", "2,000 lists inside each other", {"$nest": 2000, "of": []}, risky=True),
)


def probes(set: str) -> tuple[Any, ...]:
    """The probes of a set, in the order they are tried: those that may kill come last.

    Raises:
        UsageError: No such set.

    >>> probes("values/1")[0].name
    'int_2_31'
    """
    if set == "values/1":
        return VALUES
    if set == "columns/1":
        from tare.measure.fidelity.probe_columns import COLUMNS

        return COLUMNS
    raise UsageError(f"no probe set {set[:40]!r}; there are {', '.join(SETS)}")


def names(set: str) -> list[str]:
    """Names of the probes of a set, in order.

    >>> "int_2_200" in names("values/1")
    True
    """
    return [probe.name for probe in probes(set)]


def get(name: str, set: str = "values/1") -> Any:
    """The probe of that name.

    Raises:
        UsageError: No such probe; near names are given.
    """
    for probe in probes(set):
        if probe.name == name:
            return probe
    import difflib

    near = difflib.get_close_matches(name, names(set), 3)
    hint = f"; near names: {', '.join(near)}" if near else ""
    raise UsageError(f"the set {set} has no probe {name[:40]!r}{hint}")


def value(name: str, set: str = "values/1") -> Any:
    """The value of a probe, as it is given to a codec.

    >>> value("key_int")
    {'v': {1: 'a'}}
    """
    return get(name, set).build()


def encoded(name: str, format: str) -> bytes:
    """The bytes of a probe that no library writes, in a format.

    >>> encoded("key_duplicate", "json")
    b'{"v":{"a":1,"a":2}}'
    """
    data: bytes = get(name).encoded[format]
    return data
