"""What the installed libraries do with the probes: the facts the design names, and golden cells.

A fact that a newer version of a library no longer shows fails here on purpose: the
guide and docs/decisions.md say these things to users.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator

import pytest
from support.capabilities import need_codec, unavailable
from support.golden_cells import DEFAULT_INSTALL, cells, path_of, stored

from tare.measure.fidelity.run_probes import judged_cells, probe


@functools.cache
def verdicts(codec_id: str, name: str = "values/1") -> dict[str, str]:
    """The verdicts of one codec by probe."""
    codec = need_codec(codec_id)
    return {
        probe_: cell["verdict"] for probe_, cell in judged_cells(name, codec_id, probe(codec, name)).items()
    }


FACTS = [
    ("json:orjson json:msgspec", "float_nan float_inf float_minus_inf", "lossy"),
    ("json:stdlib", "float_nan float_inf", "same"),
    ("json:simdjson json:simplejson", "float_nan float_inf", "refused"),
    # Keys of one type that became text can be rebuilt by their type; keys of several types cannot.
    ("json:stdlib json:ujson json:simdjson json:simplejson", "key_int", "type"),
    ("json:msgspec", "key_int", "hook"),
    ("json:stdlib json:msgspec json:ujson", "key_mixed", "lossy"),
    ("json:orjson msgpack:ormsgpack", "key_int", "hook"),
    ("json:rapidjson bson:pymongo", "key_int", "refused"),
    ("json:msgspec", "bytes", "hook"),
    ("json:orjson json:stdlib json:ujson", "bytes", "refused"),
    ("msgpack:msgspec bson:pymongo fory:pyfory", "datetime_zone datetime_offset", "lossy"),
    ("json:orjson", "datetime_offset", "type"),
    ("json:orjson", "datetime_zone", "lossy"),
    ("json:ujson", "decimal_1_10 decimal_40", "lossy"),
    ("json:stdlib json:ujson pickle", "text_surrogate", "same"),
    (
        "json:orjson json:msgspec json:rapidjson msgpack:msgspec msgpack:ormsgpack cbor:cbor2",
        "text_surrogate",
        "refused",
    ),
    ("yaml:pyyaml yaml:pyyaml,loader=c", "key_order", "hook"),
    ("yaml:pyyaml,loader=c,sort_keys=false", "key_order", "same"),
    (
        "json:orjson json:simdjson msgpack:msgpack msgpack:msgspec msgpack:ormsgpack bson:pymongo fory:pyfory",
        "int_2_200",
        "refused",
    ),
    ("json:stdlib json:msgspec cbor:cbor2 pickle", "int_2_200", "same"),
    ("bson:pymongo", "int_2_31", "type"),
    ("pickle", "tuple set cycle shared uuid duration datetime_zone float_nan_payload", "same"),
    ("json:stdlib json:orjson json:msgspec msgpack:msgspec", "key_duplicate", "lossy"),
    ("yaml:ruamel", "key_duplicate", "refused"),
]


@pytest.mark.parametrize(
    ("codec", "name", "verdict"),
    [
        (codec, name, verdict)
        for codecs, names, verdict in FACTS
        for codec in codecs.split()
        for name in names.split()
    ],
)
def test_facts_about_documents(codec: str, name: str, verdict: str) -> None:
    """Each is what the guide tells users about a library."""
    assert verdict == verdicts(codec)[name]


COLUMN_FACTS = [
    ("csv:pandas csv:polars csv:duckdb", "text_true", "lossy"),
    ("csv:pandas csv:polars", "text_zeros text_exponent", "lossy"),
    ("csv:pyarrow", "text_zeros text_exponent text_true decimal", "hook"),
    ("csv:pandas", "int64_null text_na text_empty_null float_nan_null", "lossy"),
    ("csv:pandas csv:polars csv:duckdb csv:pyarrow", "category_unused category_ordered", "lossy"),
    (
        "parquet:pyarrow arrow:pyarrow pickle:pyarrow",
        "list struct decimal duration timestamp_ns_zone metadata",
        "same",
    ),
    (
        "parquet:pyarrow arrow:pyarrow",
        "category_unused category_ordered duplicate_names empty_name no_rows",
        "same",
    ),
    ("parquet:polars parquet:duckdb", "category_unused", "lossy"),
    ("json:orjson,default=text", "float_inf float_nan_null", "lossy"),
    ("json:stdlib,default=text", "float_inf float_minus_zero uint64", "same"),
    ("orc:pyarrow", "uint64 duration", "refused"),
]


@pytest.mark.parametrize(
    ("codec", "name", "verdict"),
    [
        (codec, name, verdict)
        for codecs, names, verdict in COLUMN_FACTS
        for codec in codecs.split()
        for name in names.split()
    ],
)
def test_facts_about_tables(codec: str, name: str, verdict: str) -> None:
    """Each is what the guide tells users about a library."""
    assert verdict == verdicts(codec, "columns/1")[name]


def test_csv_changes_most_kinds_of_columns() -> None:
    """CSV holds texts: of thirty kinds of columns it keeps a third by itself."""
    found = verdicts("csv:pandas", "columns/1")
    assert sum(verdict == "same" for verdict in found.values()) <= len(found) / 2


@pytest.fixture
def as_in_a_worker() -> Iterator[None]:
    """Take the type away that pandas registers for periods once it is used: a worker that probes has no pandas."""
    import pyarrow as pa

    try:
        pa.unregister_extension_type("pandas.period")
    except pa.ArrowKeyError:
        yield
        return
    yield
    from pandas.core.arrays.arrow.extension_types import ArrowPeriodType

    pa.register_extension_type(ArrowPeriodType("D"))


@pytest.mark.parametrize("codec", DEFAULT_INSTALL)
def test_golden_cells(codec: str, as_in_a_worker: None) -> None:
    """The stored cells of this very version: verdicts, bytes and outputs."""
    golden = stored(codec)
    if golden is None:
        # A version that came out since: nothing is missing on this machine that could be installed.
        unavailable(
            f"no golden cells at {path_of(codec).name}: run python python/tests/support/golden_cells.py"
        )
    assert golden == cells(codec)
