"""Made-up codecs with known figures, for the simulated record."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

__all__ = ["DOCUMENT", "EVERYWHERE", "TABLE", "Planted"]

EVERYWHERE = ("python", "r", "javascript", "java", "rust", "c")


@dataclass
class Planted:
    """The truth about one codec.

    Args:
        codec: Its id.
        encode_ms: True time of one encode of the whole data.
        decode_ms: The same for decode.
        share: Encoded bytes / bytes in memory.
        status: Status of its full-size cases.
        reason: Said when the status is not ``ok``.
        changes: What it changes in the user's own data: (path, verdict, count).
        exponent: Growth of encode and decode with the data.
        peak: Peak memory / encoded bytes.
        flags: The format's flags, over the defaults below.
        fails_at: Growth ends here (share of the data), with the status and reason given.
    """

    codec: str
    encode_ms: float
    decode_ms: float
    share: float
    status: str = "ok"
    reason: str = ""
    changes: tuple[tuple[str, str, int], ...] = ()
    exponent: float = 1.0
    peak: float = 1.2
    flags: dict[str, Any] = field(default_factory=dict)
    fails_at: float | None = None


NO_TYPES = (
    ("time_hour", "lossy", 336_776),
    ("tailnum", "lossy", 2_512),
    ("air_time", "type", 336_776),
    ("arr_time", "type", 336_776),
    ("dep_delay", "lossy", 8_255),
    ("carrier", "type", 336_776),
)
BINARY = {"text": False, "spec": "https://example.org/spec", "languages": list(EVERYWHERE)}
PICKLE = {"executes_code": True, "text": False, "spec": "", "languages": ["python"], "streams": True}

TABLE = (
    Planted("parquet:pyarrow", 85, 22, 0.16, flags=BINARY | {"subset": True}, peak=1.6),
    Planted("parquet:pyarrow,compression=zstd", 61, 24, 0.12, flags=BINARY | {"subset": True}, peak=1.6),
    Planted(
        "parquet:pyarrow,compression=zstd,level=9", 420, 25, 0.10, flags=BINARY | {"subset": True}, peak=1.7
    ),
    Planted("parquet:polars", 92, 22.2, 0.15, flags=BINARY | {"subset": True}, peak=1.9),
    Planted("arrow:pyarrow", 9, 4, 1.0, flags=BINARY | {"subset": True, "streams": True, "append": False}),
    Planted("arrow:pyarrow,compression=lz4", 30, 11, 0.65, flags=BINARY | {"subset": True, "streams": True}),
    Planted("arrow:pyarrow,compression=zstd", 44, 21, 0.30, flags=BINARY | {"subset": True, "streams": True}),
    Planted("orc:pyarrow", 140, 60, 0.14, flags=BINARY | {"subset": True}, peak=2.2),
    Planted("pickle", 12, 5, 1.05, flags=PICKLE),
    Planted(
        "csv:pyarrow",
        180,
        70,
        0.74,
        "lossy",
        "4 of 19 columns changed silently",
        NO_TYPES[:3] + NO_TYPES[5:],
        flags={"append": True, "streams": True, "languages": list(EVERYWHERE)},
    ),
    Planted(
        "csv:pandas",
        812,
        390,
        0.74,
        "lossy",
        "6 of 19 columns changed silently",
        NO_TYPES,
        peak=5.7,
        flags={"append": True, "streams": True, "languages": list(EVERYWHERE)},
    ),
    Planted(
        "csv:stdlib",
        1_900,
        1_500,
        0.74,
        "screened",
        "beaten 5x in size, writing and reading",
        NO_TYPES,
        flags={"append": True, "streams": True, "languages": list(EVERYWHERE)},
    ),
    Planted(
        "csv:broken",
        700,
        0.0,
        0.86,
        "unproven",
        "no data came back (0 of 1 tables)",
        flags={"languages": ["r"]},
    ),
    Planted(
        "hdf5:pandas",
        240,
        130,
        0.8,
        "error",
        'TypeError: objects of type `list` are not supported in this context, at column "tailnum"',
        flags=BINARY,
    ),
    Planted(
        "yaml:pyyaml,loader=c",
        45_000,
        60_000,
        1.6,
        "timeout",
        "no answer in 30 s at size 0.25",
        exponent=1.5,
        fails_at=0.25,
        flags={"languages": list(EVERYWHERE)},
    ),
    Planted("avro:fastavro", 1_400, 1_200, 0.3, "killed", "killed (memory?)", flags=BINARY, fails_at=1.0),
    Planted(
        "bson:pymongo",
        300,
        280,
        1.1,
        "refused",
        "OverflowError: MongoDB can only handle up to 8-byte ints",
        flags=BINARY,
    ),
    Planted("blit:tare", 1, 1, 1, "n/a", "holds documents only"),
)

DOC_LOSS = (("[*].acquisitions[*].price_amount", "lossy", 12),)
DOCUMENT = (
    Planted("json:stdlib", 420, 330, 0.62, flags={"streams": True, "append": True}),
    Planted("json:orjson", 48, 130, 0.55, flags={"streams": True, "append": True}),
    Planted("json:msgspec", 49, 131, 0.55, flags={"streams": True, "append": True}),
    Planted("json:ujson", 160, 210, 0.56, flags={"streams": True, "append": True}),
    Planted("json:orjson+zstd:3", 120, 170, 0.11),
    Planted("msgpack:ormsgpack", 40, 120, 0.47, flags=BINARY | {"streams": True, "append": True}),
    Planted("msgpack:msgspec", 41, 140, 0.47, flags=BINARY | {"streams": True, "append": True}),
    Planted("msgpack:msgpack", 110, 160, 0.47, flags=BINARY | {"streams": True, "append": True}),
    Planted("cbor:cbor2", 300, 260, 0.48, "lossy", "1 path changed silently", DOC_LOSS, flags=BINARY),
    Planted("pickle", 60, 90, 0.50, flags=PICKLE),
    Planted("marshal", 30, 70, 0.58, flags=PICKLE | {"executes_code": False}),
    Planted(
        "repr:stdlib",
        900,
        9_000,
        0.64,
        "screened",
        "beaten 5x in size, writing and reading",
        exponent=1.6,
        flags={"languages": ["python"]},
    ),
    Planted("yaml:pyyaml", 30_000, 70_000, 0.66, "timeout", "no answer in 30 s at size 0.25", fails_at=0.25),
    Planted("json:broken", 60, 0.0, 0.55, "unproven", "no data came back (0 of 18801 items)"),
    Planted(
        "bson:pymongo",
        200,
        180,
        0.6,
        "refused",
        "InvalidDocument: keys must not start with '$'",
        flags=BINARY,
    ),
    Planted("json:leaky", 60, 50, 0.55, "killed", "killed (memory?)", fails_at=1.0),
    Planted(
        "json:crash",
        60,
        50,
        0.55,
        "error",
        "the worker exited with 3 while decoding <script>alert(1)</script>",
    ),
    Planted("parquet:pyarrow", 1, 1, 1, "n/a", "holds tables only", flags=BINARY),
)
