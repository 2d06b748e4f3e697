"""R's worker beyond the protocol: what each codec keeps of a table, what its comparison sees, and who it talks to."""

from __future__ import annotations

import datetime as dt
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from support.capabilities import need_language, need_linux, need_r, need_worker_codec
from support.shared_workers import shared_worker
from support.soak import scaled
from support.worker_requests import DEADLINE_S, ask, load_document, worker_command

import tare
from tare import measure
from tare.codec import Codec
from tare.errors import WorkerError
from tare.measure.fidelity import probe_values
from tare.measure.plan.plan import Plan
from tare.measure.worker.transfer import Receiver, Sender
from tare.measure.worker_client.client import Worker
from tare.measure.worker_client.table_set import TableSet
from tare.media import medium
from tare.tagged import from_tagged

FOLDER = Path(tare.__file__).parent / "workers"
COMMAND = worker_command("r")
NEW_YORK = pa.timestamp("us", "America/New_York")
TABLE = pa.table({
    "int": pa.array([1, None, -7, 2**31 - 1], pa.int32()),
    "num": pa.array([0.1 + 0.2, None, -0.0, 1e300]),
    "text": ["001", None, 'a,"b"\n', "\u00e9\U0001f600"],
    "flag": [True, None, False, True],
    "at": pa.array([dt.datetime(2013, 11, 3, 5, 30), None, dt.datetime(1969, 1, 1), dt.datetime(2013, 7, 1)], NEW_YORK),
    "day": pa.array([dt.date(2020, 2, 29), None, dt.date(1900, 1, 1), dt.date(2013, 7, 1)]),
})  # fmt: skip

# What comes back of it: the columns that are not the same, with their verdicts. R's libraries decide, not we.
KEPT: dict[str, dict[str, str]] = {
    "rds:r": {},
    "rds:r,form=asciihex,version=2": {},
    "rds:r,form=ascii": {"num": "lossy"},
    "rds:r,form=native": {},
    "dput:r,digits=17": {},
    "dput:r,digits=hex": {},
    "dput:r": {"num": "lossy"},
    "rdata:r": {},
    "csv:r": {"num": "lossy", "at": "type", "day": "type"},
    "csv:r-readr": {"int": "type", "at": "type"},
    "csv:r-vroom": {"int": "type", "at": "type"},
    "csv:r-data.table": {"num": "lossy", "text": "lossy", "at": "type", "day": "type"},
    "json:r-jsonlite": {"num": "lossy", "at": "type", "day": "type"},
    "json:r-rjson": {
        "int": "type",
        "num": "lossy",
        "text": "lossy",
        "flag": "type",
        "at": "type",
        "day": "type",
    },
}


@pytest.fixture
def loaded(tmp_path: Path) -> Iterator[Worker]:
    """R's worker, with the table."""
    need_language("r")
    path = tmp_path / "loaded-table.rds"
    path.write_bytes(Codec.parse("rds:tare").encode(TABLE))
    with shared_worker("r") as worker:
        load(worker, path)
        yield worker


def load(worker: Worker, path: Path) -> dict[str, Any]:
    return ask(worker, "load", path=str(path), kind="table", **{"as": "rds"})


def changes(worker: Worker, codec: str) -> dict[str, str]:
    found = ask(worker, "verify", codec=codec, full=True, limit=50)
    return {one["path"]: one["verdict"] for one in found["changes"] if not one["path"].startswith("(")}


def test_a_list_of_one_that_became_its_value_is_lost(tmp_path: Path) -> None:
    """``[[7]]`` and ``7`` are one to R's yaml; lists of several are vectors, which nothing else becomes."""
    need_worker_codec("yaml:r-yaml", "json:r-rjson", language="r")
    path = tmp_path / "d.json"
    path.write_text(
        '[{"m": [1, 2], "one": [7], "deep": [[7]], "e": {}}, {"m": [3, 4], "one": 7, "deep": 7, "e": {}}]'
    )
    with shared_worker("r") as worker:
        load_document(worker, path)
        told = {}
        for codec in ("yaml:r-yaml", "json:r-rjson"):
            ask(worker, "prepare", codec=codec)
            found = ask(worker, "verify", codec=codec, full=True, limit=50)
            told[codec] = (found["verdict"], {one["path"]: one["verdict"] for one in found["changes"]})
    verdict, paths = told["yaml:r-yaml"]
    assert verdict == "lossy"
    assert (paths["[*].m"], paths["[*].one"]) == ("type", "lossy")
    assert "[*].e (key order)" not in told["json:r-rjson"][1]


@pytest.mark.parametrize("codec", KEPT)
def test_what_comes_back_of_a_table(loaded: Worker, codec: str, tmp_path: Path) -> None:
    """From memory, from a file and from a connection in memory alike."""
    about = need_worker_codec(codec, language="r").codecs[codec.partition(",")[0]]
    reply = ask(loaded, "prepare", codec=codec)
    assert (reply["items"], changes(loaded, codec)) == (4, KEPT[codec])
    path = str(tmp_path / "file")
    written = ask(loaded, "run", what="write", codec=codec, path=path, batch=2)
    assert written["bytes"] == os.path.getsize(path)
    assert ask(loaded, "run", what="read", codec=codec, path=path, batch=1)["items"] == 4
    assert changes(loaded, codec) == KEPT[codec]
    if "conn" in about["media"]:
        assert ask(loaded, "run", what="write", codec=codec, medium="conn", batch=1)["bytes"] > 0
        assert ask(loaded, "run", what="read", codec=codec, medium="conn", batch=1)["items"] == 4
        assert changes(loaded, codec) == KEPT[codec]


@pytest.mark.parametrize("codec", [one for one in KEPT if one.startswith("csv:")])
def test_one_column_keeps_its_blank_lines(tmp_path: Path, codec: str) -> None:
    """What the package writes, and what another wrote as a blank line for each missing value."""
    need_worker_codec(codec, language="r")
    table = pa.table({"v": pa.array([None, 1.5, None, 2.5, None])})
    (tmp_path / "one.rds").write_bytes(Codec.parse("rds:tare").encode(table))
    (tmp_path / "one.csv").write_bytes(Codec.parse("csv:pyarrow").encode(table))
    with shared_worker("r") as worker:
        load(worker, tmp_path / "one.rds")
        path = str(tmp_path / "file")
        ask(worker, "prepare", codec=codec)
        ask(worker, "run", what="write", codec=codec, path=path, batch=1)
        assert ask(worker, "run", what="read", codec=codec, path=path, batch=1)["items"] == 5
        assert changes(worker, codec) == {}
        again = ask(worker, "run", what="read", codec=codec, path=str(tmp_path / "one.csv"), batch=1)
        assert again["items"] == 5
        found = ask(worker, "verify", codec=codec, full=True, limit=50)["changes"]
        assert [one for one in found if one["path"] != "(class)"] == []  # readr gives a tibble


def test_a_blank_line_before_the_header_names_no_column(tmp_path: Path) -> None:
    """Two columns behind it stay two, and the blank line between their rows is none."""
    need_language("r")
    table = pa.table({"a": [1.0, 3.0], "b": [2.0, 4.0]})
    (tmp_path / "two.rds").write_bytes(Codec.parse("rds:tare").encode(table))
    (tmp_path / "two.csv").write_bytes(b"\na,b\n1,2\n\n3,4\n")
    with shared_worker("r") as worker:
        load(worker, tmp_path / "two.rds")
        ask(worker, "prepare", codec="csv:r")
        again = ask(worker, "run", what="read", codec="csv:r", path=str(tmp_path / "two.csv"), batch=1)
        assert (again["items"], changes(worker, "csv:r")) == (2, {"a": "type", "b": "type"})


def planted(name: str, values: Any) -> pa.Table:
    column = values if isinstance(values, pa.Array) else pa.array(values, TABLE.schema.field(name).type)
    return TABLE.set_column(TABLE.column_names.index(name), name, column)


PLANTED = {
    "int": planted("int", [1, None, -7, 2**31 - 2]),
    "num": planted("num", [0.1 + 0.2, None, 0.0, 1e300]),
    "text": planted("text", ["001", "NA", 'a,"b"\n', "\u00e9\U0001f600"]),
    "flag": planted("flag", [True, None, False, None]),
    "at": planted("at", TABLE["at"].cast(pa.timestamp("us", "UTC")).combine_chunks()),
    "day": planted("day", TABLE["day"].cast(pa.string()).combine_chunks()),
}  # fmt: skip


@pytest.mark.parametrize("column", PLANTED)
def test_a_planted_difference_is_found(loaded: Worker, tmp_path: Path, column: str) -> None:
    """The last row, the sign of a zero, NA for its name, a zone, a class: each in its column alone."""
    path = tmp_path / "other.rds"
    path.write_bytes(Codec.parse("rds:tare").encode(PLANTED[column]))
    ask(loaded, "prepare", codec="rds:r", encoded=str(path))
    expected = "type" if column in ("at", "day") else "lossy"
    assert changes(loaded, "rds:r") == {column: expected}


@pytest.mark.parametrize(
    ("column", "shown"),
    [("num", ("-0 (numeric)", "0 (numeric)")), ("text", ("NA (character)", '"NA" (character)'))],
)
def test_what_changed_is_shown_as_a_change(
    loaded: Worker, tmp_path: Path, column: str, shown: tuple[str, str]
) -> None:
    """The value that differs, not the first of its column; a sign of zero and a missing text as what they are."""
    path = tmp_path / "other.rds"
    path.write_bytes(Codec.parse("rds:tare").encode(PLANTED[column]))
    ask(loaded, "prepare", codec="rds:r", encoded=str(path))
    (change,) = (
        one
        for one in ask(loaded, "verify", codec="rds:r", full=True, limit=50)["changes"]
        if one["path"] == column
    )
    assert (change["in"], change["out"]) == shown


@pytest.mark.parametrize(
    "text",
    [
        "system('touch ran')",
        "list(base::system('touch ran'))",
        "(function() file.create('ran'))()",
        "structure(list(file.create('ran')), class = 'x')",
        "get('system')('touch ran')",
        "letters",
        "c(1, 2); c(3)",
        "structure(1, `attr<-` = T)",
    ],
)
def test_dput_text_calls_constructors_only(loaded: Worker, tmp_path: Path, text: str) -> None:
    """Anything else is refused before it is called."""
    path = tmp_path / "text"
    path.write_text(text)
    with pytest.raises(WorkerError) as caught:
        ask(loaded, "prepare", codec="dput:r", encoded=str(path))
    assert caught.value.phase == "decode"
    assert not (loaded.directory / "ran").exists()


@pytest.mark.parametrize("name", ["fifo", "tcp"])
@pytest.mark.parametrize("delivery", ["whole", "framed", "wrapped"])
def test_messages_go_both_ways_between_r_and_python(loaded: Worker, name: str, delivery: str) -> None:
    """A frame, a bin of msgpack and a message that ends with the connection are the same bytes to both."""
    codec, token = Codec.parse("rds:tare"), os.urandom(16)
    ask(loaded, "prepare", codec="rds:r")
    module = medium(name).stream()
    told = {"kind": name, "token": token.hex()}

    listener = module.listen("", token=token)
    there = ask(loaded, "open", medium={**told, "role": "writer", "address": listener.address})
    sending = loaded.send("run", what="send", handle=there["handle"], delivery=delivery)
    end = listener.accept(timeout_s=10)
    got = Receiver(end, delivery, codec.decoder("table")).receive()
    sent = loaded.wait(sending, DEADLINE_S)
    assert got.equals(TABLE)
    assert sent["bytes"] > 0
    end.close()
    listener.close()
    ask(loaded, "close", handle=there["handle"])

    there = ask(loaded, "open", medium={**told, "role": "reader"})
    end = module.connect(there["address"], token=token, timeout_s=10)
    receiving = loaded.send("run", what="receive", handle=there["handle"], delivery=delivery, timeout_s=10)
    Sender(end, delivery, codec.encoder("table")).send(TABLE)
    assert loaded.wait(receiving, DEADLINE_S)["items"] == 4
    assert changes(loaded, "rds:r") == {}
    end.close()
    ask(loaded, "close", handle=there["handle"])


def test_base_r_alone_is_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a single package it speaks, and says what installs the others."""
    need_language("r")
    for name in ("R_LIBS", "R_LIBS_SITE", "R_LIBS_USER"):
        monkeypatch.setenv(name, "/nonexistent")
    with Worker("r", COMMAND) as worker:
        assert {"rds:r", "dput:r", "csv:r", "rdata:r", "none:r"} == {
            one["id"] for one in worker.hello["codecs"]
        }
        missing = {one["id"]: one["install"] for one in worker.hello["missing"]}
        assert missing["json:r-rjson"] == 'apt-get install r-cran-rjson, or in R install.packages("rjson")'
        assert missing["qs2:r-qs2"] == 'in R: install.packages("qs2")'
        with pytest.raises(WorkerError, match="R has no package rjson: apt-get install r-cran-rjson"):
            ask(worker, "prepare", codec="json:r-rjson")


@pytest.mark.parametrize("codec", ["json:r-jsonlite", "json:r-rjson", "yaml:r-yaml"])
def test_documents_through_packages(codec: str, tmp_path: Path) -> None:
    """Text, numbers and nesting come back; what R cannot tell apart is no loss of the value."""
    need_worker_codec(codec, language="r")
    path = tmp_path / "d.json"
    path.write_text(
        json.dumps([{"id": n, "name": f"\u00e9{n}", "half": n + 0.5, "tags": [{"a": n}]} for n in range(40)])
    )
    with shared_worker("r") as worker:
        load_document(worker, path)
        assert ask(worker, "prepare", codec=codec)["items"] == 40
        found = ask(worker, "verify")
        assert (found["verdict"] in ("same", "type"), found["items_out"]) == (True, 40)


@pytest.mark.parametrize("codec", ["rds:r", "dput:r,digits=17", "csv:r", "json:r-jsonlite"])
def test_several_tables_are_a_list_of_data_frames(codec: str, tmp_path: Path) -> None:
    """A part of each table arrives, whole or over a connection; what holds one table only says so."""
    need_worker_codec(codec, language="r")
    several = TableSet(
        {"a": pa.table({"n": list(range(500))}), "b": pa.table({"t": ["x", "y"] * 50})}, name="two"
    )
    saved = several.save_part(tmp_path / "part", 0.1, seed=3)
    assert (saved.as_, saved.items, saved.hash) == ("rds", 51 + 11, several.subset(0.1, seed=3).hash())
    with shared_worker("r") as worker:
        assert load(worker, tmp_path / "part")["items"] == 62
        assert (ask(worker, "prepare", codec=codec)["items"], changes(worker, codec)) == (62, {})
        ask(worker, "run", what="write", codec=codec, medium="conn", batch=1)
        assert ask(worker, "run", what="read", codec=codec, medium="conn", batch=1)["items"] == 62
        assert changes(worker, codec) == {}


def test_a_single_table_is_not_several(loaded: Worker) -> None:
    """The layout of several is refused by what to do, and not by what R says of a line that is no header of theirs."""
    with pytest.raises(WorkerError, match="one table: leave out tables=several"):
        ask(loaded, "prepare", codec="csv:r,tables=several")


def test_several_tables_are_no_data_of_pythons_codecs(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Their rows say so, and nothing is measured in their place."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    several = TableSet({"a": pa.table({"n": [1, 2]}), "b": pa.table({"t": ["x"]})}, name="two")
    block = {"dataset": ["d"], "codec": ["csv:pyarrow"], "medium": ["memory"]}
    plan = Plan.from_dict(
        {"plan": 1, "name": "mine", "grow": {"start": 1.0, "factor": 2.0, "stop_s": 1}, "block": [block]}
    )
    cases = measure.run(several, plan=plan).record["cases"]
    assert [(case["status"], case["reason"]) for case in cases] == [
        ("n/a", "holds one table, not several at once")
    ]


def test_the_probes_are_pythons() -> None:
    """The file that workers of other languages read holds the very set that the parent judges."""
    lines = json.loads((FOLDER / "probes-values-1.json").read_text("utf-8"))
    assert lines == [{"probe": one.name, "tagged": one.tagged} for one in probe_values.VALUES]


def test_rows_of_a_plan_are_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Memory, conn, a file, FIFO and TCP in R, beside Python's codec; what R has not is a row with its reason."""
    need_worker_codec("json:r-jsonlite", language="r")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    plan = Plan.from_dict({
        "plan": 1, "name": "mine", "statistics": {"launches": 1, "rounds": 1},
        "block": [
            {"dataset": ["d"], "codec": ["rds:r"], "medium": ["memory", "conn"]},
            {"dataset": ["d"], "codec": ["rds:r"], "medium": ["tcp"], "delivery": ["wrapped"]},
            {"dataset": ["d"], "codec": ["csv:r"], "medium": ["memory", "fifo"]},
            {"dataset": ["d"], "codec": ["json:r-jsonlite"], "medium": ["memory", "file"]},
            {"dataset": ["d"], "codec": ["json:stdlib"], "medium": ["memory", "conn"]},
        ],
    })  # fmt: skip
    table = pa.table({"n": [1, 2], "x": [0.5, 1.5], "empty": pa.nulls(2, pa.string())})
    result = measure.run(table, plan=plan)
    assert result.record["codecs"]["rds:r"]["flags"]["executes_code"]
    cases = {
        (case["labels"]["codec"], case["labels"]["medium"], case["labels"]["delivery"]): case
        for case in result.record["cases"]
        if case["labels"]["size"] == "1" and "twin" not in case["labels"]
    }
    rows = {key: (case["status"], case["reason"]) for key, case in cases.items()}
    assert [status for (codec, _, _), (status, _) in rows.items() if codec == "rds:r"] == ["ok"] * 3
    assert rows["json:stdlib", "memory", "whole"][0] == "ok"
    assert rows["csv:r", "memory", "whole"] == ("n/a", "csv:r is not measured on memory by the R worker")
    assert rows["json:stdlib", "conn", "whole"] == (
        "n/a",
        "a connection in R's memory: only the R worker has it",
    )
    # Both ends of a transfer are warmed in memory, where the codec has that: R's CSV has not.
    assert cases["csv:r", "fifo", "whole"]["launches"][0]["samples"]["span"]["wall_ns"][0] > 0
    # The package jsonlite writes a file by lines, without what is missing: a column with no value is gone there.
    changed = {
        medium: [one["path"] for one in cases["json:r-jsonlite", medium, "whole"]["verify"]["changes"]]
        for medium in ("memory", "file")
    }
    assert rows["json:r-jsonlite", "file", "whole"][0] == "lossy"
    assert "(names)" in changed["file"]
    assert "(names)" not in changed["memory"]


def test_integers_of_64_bits_and_bytes_are_told_as_they_are(loaded: Worker, tmp_path: Path) -> None:
    """Without bit64: R has them as the bits of doubles. Bytes go there and back."""
    value = {"a": [2**31, 2**53 + 1, -(2**62), 2**63 - 1, -1 - 2**40], "b": b"\x00\xff\xfe\x80", "c": b"\x01"}
    (tmp_path / "v.rds").write_bytes(Codec.parse("rds:tare").encode(value))
    ask(loaded, "prepare", codec="rds:r")
    ask(loaded, "decode_from", codec="rds:r", path=str(tmp_path / "v.rds"), out=str(tmp_path / "v.json"))
    assert from_tagged(json.loads((tmp_path / "v.json").read_text())) == value
    cells = ask(loaded, "probe", codec="rds:r", set="values/1", only=["bytes"])["cells"]
    assert from_tagged(cells[0]["out"]) == {"v": b"\x00\xff\xfe\x80"}


def test_many_escapes_load_in_time(tmp_path: Path) -> None:
    """Short escapes are undone in all texts at once; each on its own, these took more than a minute."""
    need_language("r")
    texts = ['\\"\n\\n\\\\/\t' * 10 + f"{n}" for n in range(scaled(20_000, 200_000))]
    texts[7] = "\u00e9\\u\x01\U0001f600\\"
    path = tmp_path / "escapes.json"
    path.write_text(json.dumps(texts))
    with shared_worker("r") as worker:
        load_document(worker, path)
        ask(worker, "prepare", codec="rds:r")
        ask(worker, "encode_to", path=str(tmp_path / "escapes.rds"))
    assert Codec.parse("rds:tare").decode((tmp_path / "escapes.rds").read_bytes()) == texts


def _cpu_s(pid: int) -> float:
    """Return the seconds of CPU that a process has had."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def test_a_map_of_many_names_is_compared_in_time(tmp_path: Path) -> None:
    """Values are found by their place: looked for by name, a hundred thousand took minutes."""
    need_linux("/proc/self/stat")
    need_language("r")
    count = scaled(30_000, 100_000)
    document = {f"k{n}": n for n in range(count)}
    with shared_worker("r") as worker:
        for last, name in ((-1, "other"), (0, "own")):
            path = tmp_path / f"{name}.json"
            path.write_text(json.dumps(document | {f"k{count - 1}": last}))
            load_document(worker, path)
            encoded = None if name == "other" else str(tmp_path / "other.rds")
            ask(worker, "prepare", codec="rds:r", **({"encoded": encoded} if encoded else {}))
            if name == "other":
                ask(worker, "encode_to", path=str(tmp_path / "other.rds"))
        before_s = _cpu_s(worker.pid)
        found = ask(worker, "verify")
        assert _cpu_s(worker.pid) - before_s < 10
    assert [one["path"] for one in found["changes"]] == [f"k{count - 1}"]


ROUNDED = pa.array([0.1 + 0.2, 0.5])
WHOLE = pa.array([1, 2], pa.int32())
NAMED = {
    "p #2": pa.table([pa.array([1.5, 2.5]), WHOLE, ROUNDED], ["p", "k", "p"]),
    "(column 1)": pa.table([ROUNDED, WHOLE], ["", "k"]),
}


@pytest.mark.parametrize("codec", ["rds:r,form=ascii", "dput:r", "csv:r"])
@pytest.mark.parametrize("column", NAMED)
def test_columns_of_one_name_and_of_none_are_compared(tmp_path: Path, column: str, codec: str) -> None:
    """Looked for by name, a second column of one name was the first, and one without a name was nowhere."""
    need_language("r")
    path = tmp_path / "t.rds"
    path.write_bytes(Codec.parse("rds:tare").encode(NAMED[column]))
    with shared_worker("r") as worker:
        load(worker, path)
        ask(worker, "prepare", codec=codec)
        found = ask(worker, "verify", codec=codec, full=True, limit=50)
    assert (found["verdict"], [one["path"] for one in found["changes"]]) == ("lossy", [column])


def test_a_second_column_of_one_name_that_is_gone_is_lost(tmp_path: Path) -> None:
    """The set of the names is the same; what else is there by name is compared."""
    need_language("r")
    path, other = tmp_path / "t.rds", tmp_path / "other.rds"
    path.write_bytes(Codec.parse("rds:tare").encode(NAMED["p #2"]))
    other.write_bytes(Codec.parse("rds:tare").encode(NAMED["p #2"].select([1, 0])))
    with shared_worker("r") as worker:
        load(worker, path)
        ask(worker, "prepare", codec="rds:r", encoded=str(other))
        found = ask(worker, "verify", codec="rds:r", full=True, limit=50)
    assert [(one["path"], one["verdict"]) for one in found["changes"]] == [("(names)", "lossy")]


@pytest.mark.parametrize(
    ("text", "codec", "told"),
    [
        ('{"a": 1.5, "a": 0.30000000000000004}', "rds:r,form=ascii", {("a", "lossy")}),
        (
            '[{"a": 1}, {"a": 0.30000000000000004}]',
            "json:r-rjson",
            {("[*].a", "type"), ("[*].a", "lossy")},
        ),
    ],
)
def test_a_loss_behind_another_value_of_its_path_is_told(
    tmp_path: Path, text: str, codec: str, told: set[tuple[str, str]]
) -> None:
    """A second value of one name; a place whose first value only changed its type."""
    need_worker_codec(codec, language="r")
    path = tmp_path / "d.json"
    path.write_text(text)
    with shared_worker("r") as worker:
        load_document(worker, path)
        ask(worker, "prepare", codec=codec)
        found = ask(worker, "verify", codec=codec, full=True, limit=50)
    assert (found["verdict"], {(one["path"], one["verdict"]) for one in found["changes"]}) == ("lossy", told)


LISTS = pa.array([["a", "b"], []], pa.list_(pa.string()))


@pytest.mark.parametrize(
    ("before", "after", "verdict"),
    [
        (LISTS, pa.array([True, None]), "lossy"),
        (pa.array([b"ab", b"c"]), pa.array(["ab", "c"]), "lossy"),
        (LISTS[:0], pa.array([], pa.string()), "type"),
    ],
)
def test_lists_and_bytes_that_came_back_as_values_are_told(
    tmp_path: Path, before: pa.Array, after: pa.Array, verdict: str
) -> None:
    """CSV makes texts or nothing of them: a verdict, no error of the comparison."""
    need_language("r")
    path, other = tmp_path / "t.rds", tmp_path / "other.rds"
    path.write_bytes(Codec.parse("rds:tare").encode(pa.table({"c": before})))
    other.write_bytes(Codec.parse("rds:tare").encode(pa.table({"c": after})))
    with shared_worker("r") as worker:
        load(worker, path)
        ask(worker, "prepare", codec="rds:r", encoded=str(other))
        assert changes(worker, "rds:r") == {"c": verdict}


def test_lists_of_another_number_type_are_no_loss(tmp_path: Path) -> None:
    """JSON says 1 for 1.0, and nothing of what would stand in an empty list; as in a column of plain numbers."""
    need_worker_codec("json:r-jsonlite", language="r")
    path = tmp_path / "t.rds"
    table = pa.table({
        "list": [[1.0, 2.0], [], [3.0, None]],
        "rows": [[{"x": 1.0}], [], [{"x": 2.0}, {"x": 3.0}]],
        "one": [{"x": 1.0}, {"x": 2.0}, {"x": None}],
        "day": [[dt.date(2020, 1, 1)], [], [None]],
        "half": [[1.0], [0.5], [0.1 + 0.2]],
    })  # fmt: skip
    path.write_bytes(Codec.parse("rds:tare").encode(table))
    with shared_worker("r") as worker:
        load(worker, path)
        ask(worker, "prepare", codec="json:r-jsonlite")
        assert changes(worker, "json:r-jsonlite") == {
            "list": "type", "rows": "type", "one$x": "type", "day": "type", "half": "lossy",
        }  # fmt: skip


@pytest.mark.parametrize("codec", ["csv:r", "json:r-rjson", "json:r-jsonlite", "rds:r", "dput:r"])
@pytest.mark.parametrize(
    "numbers", [[3_000_000_000, 4_000_000_001, -5_000_000_007], [-3_000_000_000 - k for k in range(200)]]
)
def test_long_whole_numbers_are_not_the_doubles_that_have_their_bits(
    codec: str, numbers: list[int], tmp_path: Path
) -> None:
    """What is called kept can be read as these numbers by whoever decodes it; as doubles, negative ones are NaN."""
    need_worker_codec(codec, language="r")
    if codec == "csv:r":
        need_r("bit64")  # by which base R prints them
    path = tmp_path / "n.rds"
    tare.write(pa.table({"n": pa.array(numbers, pa.int64())}), path)
    with shared_worker("r") as worker:
        ask(worker, "load", path=str(path), kind="table", **{"as": "rds"})
        ask(worker, "prepare", codec=codec)
        verdict = ask(worker, "verify")["verdict"]
        out = tmp_path / "out"
        ask(worker, "encode_to", path=str(out), codec=codec)
        if codec == "rds:r":
            assert (verdict, tare.read(out, format="rds")["n"].to_pylist()) == ("same", numbers)
            return
        held = all(str(number) in out.read_text() for number in numbers)
        assert (verdict != "lossy") == held
        assert held == (codec not in ("json:r-rjson", "dput:r"))
