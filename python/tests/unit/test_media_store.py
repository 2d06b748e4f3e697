"""The store medium: what is set is got verified, each timed set is of an object that is new, sizes are those on disk."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from support.worker_requests import ask

from tare import measure, open_store
from tare.errors import Corrupt, KeyNotFound, UsageError, WorkerError
from tare.measure.plan.availability import supports
from tare.measure.plan.plan import Plan
from tare.measure.worker_client.client import Worker
from tare.media import store
from tare.report import markdown

DATA = bytes(range(256)) * 4096
ROWS = 4000


@pytest.mark.parametrize("sync", ["none", "fsync"])
@pytest.mark.parametrize("data", [b"", b"x", DATA, bytearray(DATA), memoryview(DATA)[3:]])
def test_what_is_written_is_read(tmp_path, data, sync):
    """Any buffer, of any length, with and without a sync, in one process or two."""
    assert len(data) == store.write(tmp_path / "s", data, sync=sync)
    assert bytes(data) == store.read(tmp_path / "s")


def test_stored_bytes_are_those_of_the_codec(tmp_path):
    """The store compresses nothing, however well it would."""
    shelf = store.Shelf(tmp_path / "s")
    data = bytes(1 << 20)
    assert len(data) == shelf.write(data) == shelf.stored_bytes()
    shelf.close()
    (file,) = (path for path in (tmp_path / "s/objects").rglob("*") if path.is_file())
    assert data == file.read_bytes()


def test_what_is_cleared_is_gone(tmp_path):
    """So that the next set writes, and does not find what is there."""
    shelf = store.Shelf(tmp_path / "s")
    shelf.write(DATA)
    shelf.clear()
    shelf.clear()
    assert not shelf.holds()
    assert not [path for path in (tmp_path / "s/objects").rglob("*") if path.is_file()]
    with pytest.raises(KeyNotFound):
        shelf.read()
    shelf.close()


def test_reads_are_verified(tmp_path):
    """A flipped bit is an error, never data."""
    store.write(tmp_path / "s", DATA)
    (file,) = (path for path in (tmp_path / "s/objects").rglob("*") if path.is_file())
    file.chmod(0o600)
    damaged = bytearray(DATA)
    damaged[1000] ^= 1
    file.write_bytes(damaged)
    with pytest.raises(Corrupt):
        store.read(tmp_path / "s")


def test_an_unknown_sync_is_refused(tmp_path):
    """Before anything is made."""
    with pytest.raises(UsageError, match="sync"):
        store.write(tmp_path / "s", b"x", sync="often")
    assert not os.listdir(tmp_path)


# --- in a worker --------------------------------------------------------------------


@pytest.fixture(scope="module")
def worker() -> Iterator[Worker]:
    with Worker() as started:
        yield started


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("store") / "table.arrow"
    value = pa.table({"id": range(ROWS), "x": [n / 8 for n in range(ROWS)]})
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, value.schema) as writer:
        writer.write_table(value)
    return path


@pytest.mark.parametrize("codec", ["arrow:pyarrow", "arrow:pyarrow+zstd:3"])
@pytest.mark.parametrize("sync", ["none", "fsync"])
def test_a_worker_sets_and_gets(worker, table, tmp_path, codec, sync):
    """The bytes of the codec, its compressor included; a set is a batch of its own and writes each time."""
    path = str(tmp_path / "s")
    ask(worker, "load", path=str(table), kind="table", **{"as": "arrow"})
    size = ask(worker, "prepare", codec=codec)["bytes"]
    wrote = ask(worker, "run", what="write", path=path, medium="store", samples=3, batch=50, sync=sync)
    assert (wrote["batch"], len(wrote["samples"]), wrote["bytes"]) == (1, 3, size)
    if sync == "none":
        assert ask(worker, "run", what="read", path=path, medium="store", batch=3)["items"] == ROWS
        assert ask(worker, "verify")["verdict"] == "same"
    ask(worker, "load", path=str(table), kind="table", **{"as": "arrow"})  # the store is closed with it
    with open_store(path, mode="r") as opened:
        assert opened.stat().stored_bytes == size
        assert opened.check("full").findings == []


def test_a_worker_reads_what_nobody_wrote(worker, table, tmp_path):
    """As it does with files: it is set before, outside the clock."""
    ask(worker, "load", path=str(table), kind="table", **{"as": "arrow"})
    ask(worker, "prepare", codec="csv:pyarrow")
    assert ask(worker, "run", what="read", path=str(tmp_path / "s"), medium="store")["items"] == ROWS


@pytest.mark.parametrize("fields", [{"cache": "cold"}, {"materialise": "open"}])
def test_a_store_is_read_warm_and_whole(worker, table, tmp_path, fields):
    """What cannot be measured is refused, and a plan's row says so."""
    ask(worker, "load", path=str(table), kind="table", **{"as": "arrow"})
    ask(worker, "prepare", codec="arrow:pyarrow")
    with pytest.raises(WorkerError, match="store"):
        ask(worker, "run", what="read", path=str(tmp_path / "s"), medium="store", **fields)
    labels = {"codec": "arrow:pyarrow", "medium": "store"}
    assert supports(labels) is None
    assert "store" in (supports(labels | fields) or "")


# --- a run --------------------------------------------------------------------------


def test_a_run_on_the_store(tmp_path, monkeypatch):
    """Sizes, times and what came back, as on any medium."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    codecs = ("arrow:pyarrow", "arrow:pyarrow+zstd:3")
    plan = Plan.from_dict({
        "plan": 1,
        "name": "store",
        "statistics": {"launches": 1, "rounds": 1},
        "block": [{"dataset": ["d"], "codec": [*codecs], "medium": ["store"], "operations": ["write", "read"]}],
    })  # fmt: skip
    result = measure.run("synthpop:500", plan=plan)
    cases = {
        case["labels"]["codec"]: case
        for case in result.record["cases"]
        if case["labels"]["medium"] == "store" and "twin" not in case["labels"] and case["launches"]
    }
    assert set(codecs) <= set(cases)
    for codec in codecs:
        case = cases[codec]
        assert ("ok", "same") == (case["status"], case["verify"]["verdict"]), case["reason"]
        assert {"write", "read"} <= set(case["launches"][0]["samples"])
        assert set(case["launches"][0]["samples"]["write"]["batch"]) == {1}
    assert cases[codecs[1]]["bytes"] < cases[codecs[0]]["bytes"]
    assert "arrow:pyarrow+zstd:3" in markdown.render(result)
