"""What the bytes of a given worker give is held against the data: what a language has no place for is no loss of its codec."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import ipc, parquet
from support.capabilities import need_worker_codec
from support.plans import one_round_plan
from support.worker_requests import worker_command

from tare import measure
from tare.errors import Unsupported, WorkerError
from tare.measure.exchange.verify_foreign import Given, _compared, held
from tare.measure.session import Part
from tare.tagged import NA, Factor


def compared(folder: Path, column: pa.Array, back: list[Any]) -> list[str]:
    """Paths that are lost of a table of one column, of which these tagged cells came back."""
    part = saved(folder, pa.table({"x": column}))
    return [one["path"] for one in _compared(part, "perl", {"x": back})]


@pytest.mark.parametrize("ordered", [False, True])
def test_levels_are_left_to_verify(tmp_path: Path, ordered: bool) -> None:
    """Tagged values are texts: what no row has, and the order, are not among them. What a row has is."""
    kept = pa.DictionaryArray.from_arrays(pa.array([0, 1, 0], pa.int8()), ["b", "a", "z"], ordered=ordered)
    assert compared(tmp_path, kept, ["b", "a", "b"]) == []
    assert compared(tmp_path, kept, ["b", "b", "b"]) == ["x"]


@pytest.mark.parametrize("name", ["Sea", "Sea (levels)", "Sea (metadata)", "Sea (key order)"])
def test_a_loss_is_told_whatever_its_column_is_called(tmp_path: Path, name: str) -> None:
    part = saved(tmp_path, pa.table({name: [1, 2, 3]}))
    lost = _compared(part, "perl", {name: [1, 2, 9]})
    assert [(one["path"], one["side"], one["count"]) for one in lost] == [(name, "", 1)]


class Fake:
    """A worker that decodes to this text, and what it was asked.

    Args:
        reply: What it writes for ``decode_from``; an error that it answers instead.
        beside: Whether its ``encode_to`` leaves another file beside the bytes.
        refuses: Error type of its answers, by operation.
    """

    def __init__(self, reply: str = "", *, beside: bool = False, **refuses: str) -> None:
        self.reply, self.beside, self.refuses = reply, beside, refuses
        self.asked: list[list[str]] = []
        self.ended = 0
        self.seen: list[str] = []

    def request(self, op: str, **fields: Any) -> dict[str, Any]:
        self.asked[-1].append(op)
        if op in self.refuses:
            raise WorkerError(f"no {op}", worker="lua", type=self.refuses[op], phase="decode")
        if op == "encode_to":
            path = Path(fields["path"])
            path.write_bytes(b"bytes")
            if self.beside:
                path.with_name("source").write_bytes(b"all of it")
        if op == "decode_from":
            self.seen = sorted(one.name for one in Path(fields["path"]).parent.iterdir())
            Path(fields["out"]).write_text(self.reply, encoding="utf-8")
        return {}

    def start(self, *_: Any, **__: Any) -> Fake:
        assert self.ended == len(self.asked), "the process before lives on"
        self.asked.append([])
        return self

    def release(self, _: Any) -> None:
        self.ended += 1

    def given(self, part: Part, *, writes: bool = False) -> Given:
        session: Any = SimpleNamespace(
            settings=SimpleNamespace(workers={"lua": "lua worker"}, deadline_s=9.0),
            handed_back={}, elapsed_s=0.0, limit_s=lambda _: 9.0, check=lambda: None,
            worker=self.start, release=self.release, given=lambda *_: {},
        )  # fmt: skip
        return Given(session, part, "json:lua", "lua", {}, writes)


def saved(folder: Path, table: pa.Table) -> Part:
    with ipc.new_file(folder / "x.arrow", table.schema) as file:
        file.write_table(table)
    return Part(1.0, str(folder / "x.arrow"), "arrow", "table", len(table), len(table), table.nbytes, "")


SAME = {"verdict": "same", "changes": []}
COLUMN = pa.table({"a": [1, 2]})


def test_bytes_are_decoded_by_a_process_that_loaded_nothing(tmp_path: Path) -> None:
    """The one that had the value has ended, and what it left beside the bytes is gone."""
    fake = Fake('{"a":[1,2]}', beside=True)
    given = fake.given(saved(tmp_path, COLUMN))
    assert held(SAME, given, None) == SAME
    assert fake.asked == [["load", "prepare", "encode_to"], ["prepare", "decode_from"]]
    assert fake.seen == ["encoded"]
    assert held(SAME, given, None) == SAME
    written = tmp_path / "written"
    written.write_bytes(b"bytes")
    assert held(SAME, given, str(written)) == SAME  # the same bytes, of another medium
    assert len(fake.asked) == 2 == fake.ended


@pytest.mark.parametrize("op", ["prepare", "decode_from"])
@pytest.mark.parametrize(
    ("type", "kept"),
    [
        *((type, True) for type in ("Unsupported", "unknown_op", "usage", "memory", "timeout")),
        *((type, False) for type in ("ValueError", "killed", "exit", "protocol", "refused")),
    ],
)
def test_bytes_that_are_not_decoded_fail_the_case(tmp_path: Path, op: str, type: str, kept: bool) -> None:
    """Its own word is what remains only where the request is not there, or takes more than there is."""
    written = tmp_path / "written"
    written.write_bytes(b"x")
    given = Fake(**{op: type}).given(saved(tmp_path, COLUMN))
    if kept:
        assert held(SAME, given, str(written)) == {
            **SAME,
            "unchecked": f"in a process that loaded nothing: no {op}",
        }
        return
    with pytest.raises(WorkerError, match=f"^in a process that loaded nothing: no {op}$") as caught:
        held(SAME, given, str(written))
    assert (caught.value.type, caught.value.phase) == (type, "decode")


LOSES, FAILS = "lossy", "error"
_UNREAD = r"^what decode_from wrote cannot be read: "
RUBBISH = {
    "no table": ("7", LOSES),
    "null": ("null", LOSES),
    "text": ('"a"', LOSES),
    "list of numbers": ("[1,2]", LOSES),
    "rows that are none": ('[{"a":1},2]', LOSES),
    "no rows": ("[]", LOSES),
    "no columns": ("{}", LOSES),
    "other name": ('{"b":[1,2]}', LOSES),
    "name that is a number": ('{"$map":[[1,[1,2]]]}', LOSES),
    "name that is null": ('{"$map":[[null,[1,2]]]}', LOSES),
    "name that is true": ('{"$map":[[true,[1,2]]]}', LOSES),
    "name that is a list": ('{"$map":[[["a"],[1,2]]]}', LOSES),
    "name without a hash": ('{"$map":[[{"$dur":1,"unit":"generic"},[1,2]]]}', LOSES),
    "name of a row that is null": ('[{"$map":[[null,1]]},{"$map":[[null,2]]}]', LOSES),
    "name twice": ('{"$map":[["a",[1,2]],["a",[1,2]]]}', LOSES),
    "several lengths": ('{"a":[1,2],"b":[1]}', LOSES),
    "too short": ('{"a":[1]}', LOSES),
    "column that is null": ('{"a":null}', LOSES),
    "column that is a number": ('{"a":1}', LOSES),
    "column that is text": ('{"a":"12"}', LOSES),
    "column that is a map": ('{"a":{"b":1}}', LOSES),
    "column that is bytes": ('{"a":{"$bytes":"YWI="}}', LOSES),
    "column that is a duration": ('{"a":{"$dur":1,"unit":"s"}}', LOSES),
    "column that is a factor": ('{"a":{"$factor":{"codes":[1,9],"levels":["1","2"]}}}', LOSES),
    "cells of several kinds": ('{"a":[1,{"b":2}]}', LOSES),
    "cells of another kind": ('{"a":[{"$bytes":"YQ=="},{"$dec":"2E+99999"}]}', LOSES),
    "cells of no kind": ('{"a":[{"$other":"a.B"},{"$missing":1}]}', LOSES),
    "cells that are NA": ('{"a":[{"$na":"int"},{"$attr":{},"of":2}]}', LOSES),
    "set as a cell": ('{"a":[1,{"$set":[2,{"$dur":7,"unit":"M"}]}]}', LOSES),
    "moments among numbers": (
        '{"a":[[{"$ts":"2020-01-01","unit":"D"},{"$f32":"3f800000"}],null]}', LOSES,
    ),
    "huge number": (f'{{"a":[1,{{"$int":"{"9" * 5000}"}}]}}', LOSES),
    "huge number as it is": (f'{{"a":[1,{"9" * 5000}]}}', FAILS),
    "number that is not tagged": ('{"a":[1,2.0]}', FAILS),
    "NaN": ('{"a":[1,NaN]}', FAILS),
    "lone surrogate": ('{"a":[1,"\\ud800"]}', FAILS),
    "unknown tag": ('{"a":[1,{"$odd":2}]}', FAILS),
    "tag of the wrong kind": ('{"a":[1,{"$dec":2}]}', FAILS),
    "map that is none": ('{"$map":[1]}', FAILS),
    "deep": ("[" * 50_000 + "]" * 50_000, FAILS),
    "deep, in a few bytes": ('{"a":[{"$nest":99999,"of":1},2]}', FAILS),
    "holds itself": ('{"a":{"$def":1,"of":[{"$ref":1},2]}}', FAILS),
    "grows": (
        '{"a":[1,[' + ",".join(
            f'{{"$def":{n},"of":[' + ",".join([f'{{"$ref":{n - 1}}}'] * 9 if n else ["1"]) + "]}"
            for n in range(30)
        ) + "]]}", FAILS,
    ),
    "cut off": ('{"a":[1,', FAILS),
    "nothing": ("", FAILS),
    "no JSON": ("a,b", FAILS),
    "more than one": ('{"a":[1,2]}{}', FAILS),
}  # fmt: skip


@pytest.mark.parametrize("what", RUBBISH)
def test_rubbish_that_is_handed_back_costs_its_case(tmp_path: Path, what: str) -> None:
    """It is a loss, or a failure of the case, never kept, and never an end of the run."""
    reply, outcome = RUBBISH[what]
    given = Fake(reply).given(saved(tmp_path, COLUMN))
    if outcome == FAILS:
        with pytest.raises(WorkerError, match=_UNREAD):
            held(SAME, given, None)
        return
    found = held(SAME, given, None)
    assert (found["verdict"], found["told"]) == ("lossy", "same"), found
    assert found["changes"]


@pytest.mark.parametrize("what", RUBBISH)
def test_rubbish_in_place_of_a_document_costs_its_case(tmp_path: Path, what: str) -> None:
    path = tmp_path / "x.json"
    path.write_text('[{"a": 1.5}, {"a": [null]}]', encoding="utf-8")
    part = Part(1.0, str(path), "json", "document", 2, 2, 100, "")
    reply, outcome = RUBBISH[what]
    given = Fake(reply).given(part)
    # A document may nest as deep as tagged values go.
    if outcome == FAILS and what != "deep":
        with pytest.raises(WorkerError, match=_UNREAD):
            held(SAME, given, None)
        return
    found = held(SAME, given, None)
    assert (found["verdict"], found["told"]) == ("lossy", "same"), found


@pytest.mark.parametrize("lacking", ["bytes", "values"])
def test_a_worker_that_says_it_wrote_and_did_not_fails_its_case(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lacking: str
) -> None:
    fake = Fake('{"a":[1,2]}')
    ask: Callable[..., dict[str, Any]] = fake.request
    silent = {"bytes": "encode_to", "values": "decode_from"}[lacking]
    monkeypatch.setattr(fake, "request", lambda op, **fields: {} if op == silent else ask(op, **fields))
    why = "^no bytes were written$" if lacking == "bytes" else _UNREAD
    with pytest.raises(WorkerError, match=why):
        held(SAME, fake.given(saved(tmp_path, COLUMN)), None)


def test_cells_of_several_kinds_are_held_one_by_one(tmp_path: Path) -> None:
    """What no column of Arrow holds may be a column of the language: a number as its text loses nothing."""
    part = saved(tmp_path, pa.table({"a": [1, 2, 3], "b": ["x", "y", "z"]}))
    assert _compared(part, "perl", {"a": [1, "2", 3], "b": ["x", "y", "z"]}) == []
    lost = _compared(part, "perl", {"a": [1, "2", 3], "b": ["x", 5, "z"]})
    assert [one["path"] for one in lost] == ["b"]


def test_structs_may_come_back_as_the_columns_of_a_table(tmp_path: Path) -> None:
    """R has them so. Lists and maps it hands back as something else: they are no loss, where nothing else is."""
    structs = pa.array([{"p": 1, "q": {"x": None}}, {"p": 2, "q": {"x": 1.5}}])
    part = saved(tmp_path, pa.table({"s": structs, "l": [[1], [None]]}))
    back = {"s": {"p": [1, 2], "q": {"x": [NA("real"), 1.5]}}, "l": [[1], [None]]}
    assert _compared(part, "r", back) == []
    assert [
        one["path"] for one in _compared(part, "r", {**back, "s": {"p": [1, 3], "q": {"x": [None, 1.5]}}})
    ] == ["s"]
    assert [one["path"] for one in _compared(part, "r", {**back, "s": {"p": [1], "q": {"x": [1.5]}}})] == [
        "(whole)"
    ]
    with pytest.raises(Unsupported, match="column 'l' holds lists or maps"):
        _compared(part, "r", {**back, "l": [1, [NA("int")]]})
    assert [
        one["path"] for one in _compared(part, "perl", {**back, "s": structs.to_pylist(), "l": [1, [None]]})
    ] == ["l"]


def test_a_factor_is_its_texts(tmp_path: Path) -> None:
    part = saved(tmp_path, pa.table({"k": pa.array(["b", None, "a"]).dictionary_encode()}))
    assert _compared(part, "r", {"k": Factor((2, None, 1), ("a", "b"))}) == []
    assert [one["path"] for one in _compared(part, "r", {"k": Factor((2, None, 2), ("a", "b"))})] == ["k"]


def test_two_columns_of_one_name_are_the_workers_own_word(tmp_path: Path) -> None:
    twice = pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["a", "a"])
    found = held(SAME, Fake('{"a":[2]}').given(saved(tmp_path, twice)), None)
    assert found["unchecked"].startswith("two columns have one name"), found


def test_times_of_day_come_back_from_r_as_the_time_since_midnight(tmp_path: Path) -> None:
    need_worker_codec("rds:r", language="r")
    times = pa.array([1, 3_720_000_000, None], pa.time64("us"))
    table = pa.table({"t": times, "s": pa.array([1, None, 86_399], pa.time32("s")), "n": [1, 2, 3]})
    parquet.write_table(table, tmp_path / "t.parquet")
    record = measure.run(
        str(tmp_path / "t.parquet"),
        plan=one_round_plan("rds:r", "parquet:pyarrow"),
        time_s=0,
        workers={"r": shlex.join(worker_command("r"))},
    ).record
    cases = [one for one in record["cases"] if one["labels"]["codec"] == "rds:r"]
    assert {one["status"] for one in cases} == {"ok"}, [(one["status"], one.get("reason")) for one in cases]
    assert not any(one["verify"].get(name) for one in cases for name in ("unchecked", "told"))
