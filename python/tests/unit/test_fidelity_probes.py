"""Probes, verdicts, hooks, and what a codec that dies costs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

import pytest

from tare.codec import Codec
from tare.errors import UsageError, WorkerError
from tare.measure.fidelity import probe_values, run_probes
from tare.measure.fidelity.run_probes import gather, judge, judged_cells, matrix, probe, repro


def test_every_probe_is_one_named_value_with_words() -> None:
    """Names are unique, each says what it is, and what may kill comes last."""
    for name in probe_values.SETS:
        found = probe_values.probes(name)
        assert len(found) == len({item.name for item in found})
        assert all(item.help and len(item.help) < 80 for item in found)
        risky = [item.risky for item in found]
        assert name == "columns/1" or risky[-1]
    assert len(probe_values.VALUES) > 50
    assert len(probe_values.probes("columns/1")) > 25


def test_values_are_new_each_time() -> None:
    """A library that changes what it encodes harms no other probe."""
    first = probe_values.value("shared")
    first["v"][0].append("changed")
    assert probe_values.value("shared") == {"v": [[1], [1]]}
    assert probe_values.value("shared")["v"][0] is not first["v"][0]


def test_unknown_names_are_refused_with_near_ones() -> None:
    """For sets and probes."""
    with pytest.raises(UsageError, match="values/1, columns/1"):
        probe_values.probes("values/9")
    with pytest.raises(UsageError, match="int_2_53_plus_1"):
        probe_values.get("int_2_53_plus1")
    with pytest.raises(UsageError, match="no probe"):
        probe(Codec.parse("json:orjson"), only=["nothing"])


def test_the_example_of_the_protocol() -> None:
    """The cell that the worker protocol shows, from a library that keeps the value."""
    cell = probe(Codec.parse("json:stdlib"), only=["int_2_53_plus_1"])[0]
    assert "decoded" == cell["status"]
    assert {"v": {"$int": "9007199254740993"}} == cell["out"]
    rounded = {"probe": "int_2_53_plus_1", "status": "decoded", "out": {"v": {"$f64": "4340000000000000"}}}
    assert "lossy" == judge("int_2_53_plus_1", rounded)


def test_cells_travel_as_json() -> None:
    """Every cell of every codec of the default install is one line of JSON without NaN."""
    for codec in ("json:orjson", "pickle", "csv:pyarrow"):
        name = "columns/1" if codec.startswith("csv") else "values/1"
        for cell in probe(Codec.parse(codec), name):
            assert cell == json.loads(json.dumps(cell, allow_nan=False))


@pytest.mark.parametrize(
    ("codec", "name", "verdict"),
    [
        ("json:orjson", "bool_true", "same"),
        ("json:orjson", "tuple", "type"),
        ("json:orjson", "float_nan", "lossy"),
        ("json:orjson", "int_2_200", "refused"),
        ("json:orjson", "key_int", "hook"),
        ("json:orjson", "datetime_leap_second", "n/a"),
    ],
)
def test_each_verdict_is_reached(codec: str, name: str, verdict: str) -> None:
    """All six, by one library."""
    cell = probe(Codec.parse(codec), only=[name])[0]
    assert verdict == judge(name, cell)


def test_a_hook_is_named_by_the_codec_id_that_keeps_the_value() -> None:
    """The named id works, and the record says it."""
    judged = judged_cells("values/1", "json:orjson", probe(Codec.parse("json:orjson"), only=["key_int"]))[
        "key_int"
    ]
    assert ("hook", "json:orjson,non_str_keys=true") == (judged["verdict"], judged["hook"])
    helped = probe(Codec.parse(judged["hook"]), only=["key_int"])[0]
    assert "type" == judge("key_int", helped)


def test_a_hook_never_hides_what_it_does_not_keep() -> None:
    """A hook's output is judged too."""
    cell = {"probe": "key_int", "status": "refused", "hook": "an option", "hook_out": {"v": {"2": "a"}}}
    assert "refused" == judge("key_int", cell)
    cell["hook_out"] = {"v": {"$map": [[1, "a"]]}}
    assert "hook" == judge("key_int", cell)


def test_compressed_codecs_are_probed_through_their_compressor() -> None:
    """The bytes shown are those that would be stored, also for bytes given ready-made."""
    cell = probe(Codec.parse("json:orjson+gzip:6"), only=["key_duplicate", "bool_true"])
    assert ["lossy", "same"] == [judge(item["probe"], item) for item in cell]
    assert cell[1]["bytes_hex"].startswith("1f8b")


def test_a_codec_for_the_other_kind_is_not_asked() -> None:
    """Tables through a document codec only, and the other way round."""
    assert {"n/a"} == {cell["status"] for cell in probe(Codec.parse("parquet:pyarrow"), "values/1")}


def test_formats_of_many_documents_get_the_probe_as_their_only_one() -> None:
    """NDJSON by orjson keeps and loses what JSON by orjson does."""
    cells = {
        codec: {
            name: cell["verdict"]
            for name, cell in judged_cells("values/1", codec, probe(Codec.parse(codec))).items()
        }
        for codec in ("json:orjson", "ndjson:orjson")
    }
    assert {"key_int": "refused"} == dict(cells["ndjson:orjson"].items() - cells["json:orjson"].items())


def test_sharing_that_is_lost_is_noted_beside_the_verdict() -> None:
    """Equal values are the same; that one list became two is said."""
    kept = judged_cells("values/1", "pickle", probe(Codec.parse("pickle"), only=["shared"]))["shared"]
    lost = judged_cells("values/1", "json:orjson", probe(Codec.parse("json:orjson"), only=["shared"]))[
        "shared"
    ]
    assert ("same", "same") == (kept["verdict"], lost["verdict"])
    assert "note" not in kept
    assert "two equal lists" in lost["note"]


def test_a_reply_that_makes_no_sense_is_a_refusal_with_a_reason() -> None:
    """A foreign worker's nonsense costs its own cell."""
    for out in ({"$what": 1}, {"v": 1.5}, None, {"$nest": 10**9, "of": 1}):
        cell = judged_cells("values/1", "json:orjson", [{"probe": "uuid", "status": "decoded", "out": out}])[
            "uuid"
        ]
        assert cell["verdict"] in ("refused", "lossy")
    for out in ({"$arrow": "AAAA"}, {"$arrow": 5}, None):
        cell = judged_cells("columns/1", "csv:pyarrow", [{"probe": "int8", "status": "decoded", "out": out}])[
            "int8"
        ]
        assert "refused" == cell["verdict"]
        assert "cannot be read" in cell["error"]


def test_libraries_that_panic_are_refusals() -> None:
    """What a library raises is its answer, even if it is no Exception."""

    class Panic(BaseException):
        """As Rust libraries raise."""

    class Broken(Codec):
        """A codec whose library panics."""

        def encode(self, obj: Any) -> bytes:
            raise Panic("index out of bounds")

    parsed = Codec.parse("json:orjson")
    broken = Broken(**{name: getattr(parsed, name) for name in parsed.__dataclass_fields__})
    cell = probe(broken, only=["null"])[0]
    assert ("refused", "encode: Panic: index out of bounds") == (cell["status"], cell["error"])


class Worker:
    """A worker that dies on some probes and counts how often it was asked."""

    def __init__(self, *deadly: str) -> None:
        self.deadly = set(deadly)
        self.asked = 0

    def __call__(self, names: list[str]) -> Sequence[dict[str, Any]]:
        self.asked += 1
        if self.deadly & set(names):
            raise WorkerError("signal 11", type="killed")
        return [{"probe": name, "status": "decoded", "out": None} for name in names]


def test_a_crash_costs_its_own_cell() -> None:
    """Whichever probe it is, all others have their answer, in few attempts."""
    names = probe_values.names("values/1")
    for deadly in (["depth_2000"], ["int_2_31"], ["cycle", "depth_2000"]):
        worker = Worker(*deadly)
        cells = gather(worker, names)
        assert names == [cell["probe"] for cell in cells]
        assert set(deadly) == {cell["probe"] for cell in cells if cell["status"] == "error"}
        assert worker.asked <= 24
        assert "refused" == judge(deadly[0], next(cell for cell in cells if cell["probe"] == deadly[0]))


def test_a_codec_that_always_crashes_is_given_up() -> None:
    """No endless restarts."""
    names = probe_values.names("values/1")
    worker = Worker(*names)
    cells = gather(worker, names)
    assert len(names) == len(cells)
    assert worker.asked <= 12
    assert {"error"} == {cell["status"] for cell in cells}


def test_the_matrix_has_a_cell_for_each_probe() -> None:
    """By codec and probe, in the form of the record."""
    cells = {codec: probe(Codec.parse(codec), only=["null", "uuid"]) for codec in ("json:orjson", "pickle")}
    found = matrix("values/1", cells)
    assert {"json:orjson": "type", "pickle": "same"} == {
        codec: row["uuid"]["verdict"] for codec, row in found.items()
    }
    assert {"verdict", "in", "out", "bytes_hex", "hook", "error", "repro"} == set(found["pickle"]["null"])
    assert found == json.loads(json.dumps(found, allow_nan=False))


@pytest.mark.parametrize(
    ("codec", "set_", "name", "words"),
    [
        ("json:orjson", "values/1", "float_nan", "None"),
        ("json:stdlib", "values/1", "key_duplicate", "{'v': {'a': 2}}"),
        ("msgpack:msgspec", "values/1", "depth_200", "[["),
        ("pickle", "values/1", "datetime_zone", "Europe/Berlin"),
        ("csv:pyarrow", "columns/1", "text_zeros", "int64"),
        ("json:orjson+zstd:3", "values/1", "tuple", "[1, 2]"),
        ("ndjson:orjson", "values/1", "uuid", "12345678"),
    ],
)
def test_repro_lines_run(codec: str, set_: str, name: str, words: str) -> None:
    """The line a cell shows can be pasted into a shell and shows the same."""
    line = repro(codec, probe_values.get(name, set_))
    assert line.startswith('python -c "')
    assert "\n" not in line
    code = line.removeprefix('python -c "').removesuffix('"')
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, env=environment, check=False
    )
    assert 0 == done.returncode, done.stderr
    assert words in done.stdout


def test_repro_lines_hold_nothing_that_a_shell_reads() -> None:
    """Ids come from a record someone else may have written."""
    for codec in ("json:orjson", "json:stdlib,orient=columns"):
        for name in ("null", "key_duplicate"):
            assert not set("$`\\!") & set(repro(codec, name))
    assert repro('json:orjson"; rm -rf ~; "', "null") == ""  # no codec that is known here: no line


def test_compare_brings_tables_to_arrow_first() -> None:
    """The native kind of a library is no difference."""
    import pyarrow as pa

    table = pa.table({"a": [1, 2], "b": ["x", None]})
    assert "same" == run_probes.compare(table, table.to_pylist(), kind="table").verdict
    assert "lossy" == run_probes.compare(table, [{"a": 1, "b": "x"}], kind="table").verdict


@pytest.mark.parametrize("back", [None, 5, "text", b"", object()], ids=lambda item: type(item).__name__)
def test_a_decoder_that_gives_nothing_is_found_out(back: object) -> None:
    """No items came back, which is what makes a time unproven."""
    import pyarrow as pa

    found = run_probes.compare(pa.table({"a": [1, 2]}), back, kind="table")
    assert ("lossy", 2, 0) == (found.verdict, found.items_in, found.items_out)
    nothing = run_probes.compare([1, 2], None, kind="document")
    assert ("lossy", 2, 0) == (nothing.verdict, nothing.items_in, nothing.items_out)
    assert "same" == run_probes.compare(None, None, kind="document").verdict
