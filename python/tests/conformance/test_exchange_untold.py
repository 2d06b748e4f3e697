"""Columns of the user's that a language or Python cannot tell cost themselves; zones that are offsets are told."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from support.capabilities import need_end, need_r, need_worker_codec
from support.planted_reader import planted_reader
from support.worker_requests import worker_command

from tare.errors import Malformed, WorkerError
from tare.measure.exchange.documents import OWN, summary
from tare.measure.exchange.tables import NOT_OWN, _told, exchange_tables
from tare.measure.worker_client.client import Worker

FAR = "R has no tag for days outside the years 1 to 9999"
ZONES = ["+05:30", "-08:00", "-00:45", "+14:00", "+00:00", "UTC", "Etc/GMT+8", "Etc/GMT-14", "Asia/Kolkata"]


def test_r_tells_moments_of_every_zone() -> None:
    """R knows no zone +05:30 and shows UTC for it; moments before 1970, with microseconds, and null."""
    need_end("rds", ["rds:r"], language="r", kind="table")
    moments = [1_700_000_000_000_001, -3_600_000_000 * 24 * 900, None]
    own = pa.table({zone: pa.array(moments, pa.timestamp("us", tz=zone)) for zone in ZONES})
    block = exchange_tables("rds", ["rds:tare", "rds:r"], only=["int8"], own=own)
    for readers in block["pairs"].values():
        for pair in readers.values():
            assert (pair["counts"], pair["values"]) == ({"same": len(ZONES) + 2}, {})


def test_r_tells_the_other_columns(tmp_path: Path) -> None:
    """A day of the year 12921 has no tag: asked for parts, R gives the reason in their place, and else an error."""
    need_r()
    need_worker_codec("rds:r", language="r")
    table, out = tmp_path / "a.rds", tmp_path / "a.json"
    made = (
        f"saveRDS(data.frame(i = 1:2, z = structure(c(4e6, 1), class = 'Date')), '{table}', compress = FALSE)"
    )
    subprocess.run(["Rscript", "-e", made], check=True)
    worker = Worker("r", worker_command("r"), lists=False)
    try:
        ask = {"codec": "rds:r", "path": str(table), "out": str(out), "deadline_s": 60}
        worker.request("prepare", deadline_s=60, codec="rds:r", encoded=str(table), cold=False, kind="table")
        worker.request("decode_from", **ask, parts=True)
        assert json.loads(out.read_text()) == {"i": [1, 2], "z": {"$untold": FAR}}
        with pytest.raises(WorkerError, match=FAR):
            worker.request("decode_from", **ask)
    finally:
        worker.close()


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ('value["t"] = [{"$date": "no day"}] * 3', "Malformed: $date needs ISO 8601 text, at $[0]"),
        ('value["t"] = {"$untold": "none here"}', "none here"),
    ],
)
def test_a_column_that_a_reader_does_not_tell_costs_itself(tmp_path: Path, change: str, reason: str) -> None:
    """The names and the other columns are compared."""
    own = pa.table({"n": [1, 2, 3], "t": ["x"] * 3, "name": ["b,c"] * 3})
    given = planted_reader(
        tmp_path, "changes", codec="csv:pyarrow", kind="table", dies="e,f", changes="b,c", change=change
    )
    block = exchange_tables("csv", ["csv:pyarrow", "csv:node"], given=given, only=["int8"], own=own)
    pair = block["pairs"]["csv:pyarrow"]["csv:node"]
    assert pair["values"] == {f"{OWN} t": {"outcome": "error", "in": "", "error": reason}}
    assert pair["counts"] == {"same": 4, "error": 1}
    assert f"csv:pyarrow writes {OWN} t, csv:node fails: {reason}" in summary(block)


@pytest.mark.parametrize(
    "tree",
    [
        [{"n": 1, "t": {"$date": "no day"}}, {"n": 2, "t": None}],
        {"$map": [["n", [1, 2]], ["t", [{"$date": "no day"}, None]]]},
    ],
)
def test_columns_are_told_apart_in_rows_and_pairs(tree: Any) -> None:
    """Without columns, or of a probe, the error is that of the whole."""
    told = {"n": [1, 2], "t": None}, {"t": "Malformed: $date needs ISO 8601 text, at $[0]"}
    assert _told(tree, {}, by_column=True) == told
    for other, by_column in ((tree, False), ({"$date": "no day"}, True), (["n", {"$date": ""}], True)):
        with pytest.raises(Malformed, match="ISO 8601"):
            _told(other, {}, by_column=by_column)


def test_a_column_that_python_has_no_values_for_is_named() -> None:
    """A year beyond 9999: the others are exchanged; of such columns alone nothing is."""
    far = pa.array([1, None, 3 * 10**17], pa.timestamp("us"))
    codecs = ["arrow:pyarrow"]
    block = exchange_tables("arrow", codecs, only=["int8"], own=pa.table({"i": [1, 2, 3], "far": far}))
    beyond = r"column 'far', row 3: a value of type timestamp\[us\] \(3\d+\) lies beyond the years 1 to 9999"
    assert re.match(rf"{OWN}'s column far was not exchanged: {beyond}", block["reason"])
    assert block["pairs"]["arrow:pyarrow"]["arrow:pyarrow"]["counts"] == {"same": 3}
    block = exchange_tables("arrow", codecs, only=["int8"], own=pa.table({"far": far}))
    assert re.match(f"{NOT_OWN}: {beyond}", block["reason"])
    assert block["pairs"]["arrow:pyarrow"]["arrow:pyarrow"]["counts"] == {"same": 1}
