"""Which files a plan takes, and what their results are called: odd names, links, long paths."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import tare
from tare import scale
from tare.cli import main
from tare.errors import UsageError
from tare.scale.planning import convert as planning
from tare.scale.planning.sources import find_sources
from tare.scale.unit import MAX_BYTES, canonical, check_unit

TEXT = b"a,b\n1,2\n"


def made(folder: Path, *names: bytes) -> Path:
    folder.mkdir()
    for name in names:
        with open(os.path.join(os.fsencode(folder), name), "wb") as file:
            file.write(TEXT)
    return folder


def results(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if path.name != ".tare")


NAMES = [
    b"a b",
    b"a%20b",
    b"100%",
    b"run #3",
    b"what?",
    b"-o",
    b"new\nline",
    b"[a]",
    b"caf\xe9",
    "caf\u00e9".encode(),
]


@pytest.mark.parametrize("name", NAMES)
def test_any_name_of_a_folder_and_of_a_plan(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: bytes
) -> None:
    """Of sources, results, stores and plans: what is of one stands beside it, and two are two."""
    here = made(tmp_path / os.fsdecode(name), b"x.csv")
    monkeypatch.chdir(here)
    odd = os.fsdecode(name)
    source = made(here / odd, b"x.csv", name + b".csv")
    plan = scale.plan_convert(str(source), f"o{odd}", to="ndjson", path=f"{odd}.jsonl")
    report = scale.run(scale.read_plan(f"{odd}.jsonl"), executor="inline")
    assert (report.done, report.failures) == (2, [])
    assert len(results(here / f"o{odd}")) == 2
    assert scale.status(plan)["done"] == scale.status(f"o{odd}")["done"] == 2
    for kind, text in (("a", b"first"), ("b", b"second"), ("a", b"first")):
        made_of = here / kind
        made_of.mkdir(exist_ok=True)
        (made_of / "key").write_bytes(text)
        os.utime(made_of / "key", (1, 1))
        put = scale.plan_put(kind, str(tmp_path / "store"), f"{kind}{odd}.jsonl")
        if not (here / f"{kind}{odd}.jsonl.state").exists():
            assert scale.run(put, executor="inline").done == 1
        assert scale.run(put, executor="inline").skipped == 1
    left = sorted(set(os.listdir(tmp_path)) - {odd, "store"})
    assert left == []
    told = sorted({f"{kind}{odd}.jsonl{end}" for kind in "ab" for end in ("", ".state")})
    mine = {odd, f"o{odd}", f"{odd}.jsonl", "x.csv", "a", "b"}
    assert sorted(set(os.listdir(here)) - mine) == told


@pytest.mark.parametrize("name", NAMES)
def test_a_store_of_any_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: bytes) -> None:
    monkeypatch.chdir(tmp_path)
    source, store = made(tmp_path / "in", name), os.fsdecode(name)
    if store == "caf\udce9":
        with pytest.raises(UsageError, match="a plan holds UTF-8"):
            scale.plan_put(str(source), store, "p.jsonl")
        return
    assert scale.run(scale.plan_put(str(source), store, "p.jsonl"), executor="inline").done == 1
    with tare.open_store(tmp_path / store, mode="r") as opened:
        assert len(list(opened)) == 1
    assert sorted(os.listdir(tmp_path)) == sorted(["in", store, "p.jsonl", "p.jsonl.state"])


def test_another_folder_is_no_state_of_a_plan(tmp_path: Path) -> None:
    """What a path has behind a # is no fragment of a URL."""
    folder = made(tmp_path / "job#1", b"a")
    user = tmp_path / "job" / "begun" / "notes.txt"
    user.parent.mkdir(parents=True)
    user.write_text("of the user")
    plan = scale.plan_put(str(folder / "a"), str(folder / "store"), folder / "p.jsonl")
    assert scale.run(plan, executor="inline").done == 1
    assert user.read_text() == "of the user"
    assert sorted(os.listdir(tmp_path / "job")) == ["begun"]


def test_a_pattern_of_a_url_is_of_names(tmp_path: Path) -> None:
    source = made(tmp_path / "a b", b"x 1.csv", b"x%201.csv", b"y 1.csv")
    (one,) = find_sources([f"{source.as_uri()}/x%20*.csv"])
    assert one.name == "x 1.csv"


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("[[]b.csv", ["[b.csv"]),
        ("[a[]b.csv", ["[b.csv", "ab.csv"]),
        ("[a&&||~~[:]b.csv", ["&b.csv", "[b.csv", "ab.csv"]),
        ("[+--]b.csv", ["+b.csv", "-b.csv"]),
        ("[+-]b.csv", ["+b.csv", "-b.csv"]),
        ("[!a-c&]b.csv", ["+b.csv", "-b.csv", "[b.csv", "\\b.csv", "^b.csv"]),
        ("[a\\^]b.csv", ["\\b.csv", "^b.csv", "ab.csv"]),
    ],
)
def test_any_character_stands_in_a_class_of_a_pattern(tmp_path: Path, pattern: str, found: list[str]) -> None:
    """Without a warning of Python's own patterns, which may come to mean more by some pairs: they are errors here."""
    source = made(tmp_path / "in", *(b"%cb.csv" % char for char in b"a&[+-^\\"))
    assert sorted(one.name for one in find_sources([f"{source}/{pattern}"])) == found


def test_the_line_that_runs_a_plan_can_be_typed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    made(tmp_path / "in", b"a")
    monkeypatch.chdir(tmp_path)
    for name, said in (("my plan#.jsonl", "'my plan#.jsonl'"), ("-p.jsonl", "./-p.jsonl")):
        with pytest.raises(SystemExit) as ended:
            main(["plan", "put", "in", "store", "-o", name])
        assert (ended.value.code, capsys.readouterr().err) == (0, f"1 unit, 8 B: tare run {said}\n")


@pytest.mark.parametrize("executor", ["inline", "local:2"])
def test_any_name_of_a_file_is_converted(tmp_path: Path, executor: str) -> None:
    source = made(
        tmp_path / "in", b"caf\xe9.csv", b"a\\b.csv", b"c\nd.csv", "caf\u00e9.csv".encode(), b"plain.csv"
    )
    report = scale.convert(str(source), str(tmp_path / "o"), to="parquet", executor=executor)
    assert (report.done, report.failures) == (5, [])
    assert len(results(tmp_path / "o")) == 5
    assert {"a%5Cb.parquet", "caf%E9.parquet", "c%0Ad.parquet"} <= set(results(tmp_path / "o"))
    assert scale.convert(str(source), str(tmp_path / "o"), to="parquet", executor="inline").skipped == 5


def test_a_bad_file_of_an_odd_name_has_its_receipt(tmp_path: Path) -> None:
    source = made(tmp_path / "in", b"ok.csv")
    Path(os.fsdecode(os.path.join(os.fsencode(source), b"caf\xe9.csv"))).write_bytes(b"a,b\n1\n2,3,4\n")
    report = scale.convert(str(source), str(tmp_path / "o"), to="parquet", executor="inline")
    assert (report.done, report.failed) == (1, 1)
    assert len(list((tmp_path / "o" / ".tare" / "failed").iterdir())) == 1


def test_names_that_become_one_are_told(tmp_path: Path) -> None:
    source = made(tmp_path / "in", b"a\\b.csv", b"a%5Cb.csv")
    left: list[tuple[str, str]] = []
    plan = scale.plan_convert(str(source), str(tmp_path / "o"), to="parquet", skipped=left)
    names = [name for unit in plan.units() for name in unit["output"]["names"]]
    assert (len(names) + len(left), len(set(names))) == (2, len(names))


def test_a_name_that_is_too_long_is_passed_over(tmp_path: Path) -> None:
    folder = tmp_path / "in"
    deep = folder.joinpath(*["d" * 200] * 6)
    deep.mkdir(parents=True)
    (deep / "x.csv").write_bytes(TEXT)
    (folder / "y.csv").write_bytes(TEXT)
    left: list[tuple[str, str]] = []
    plan = scale.plan_convert(str(folder), str(tmp_path / "o"), to="parquet", skipped=left)
    assert plan.count == 1
    assert [why for _, why in left] == ["no result can have its name"]


def test_links_are_told(tmp_path: Path) -> None:
    source = made(tmp_path / "in", b"a.csv")
    (source / "gone.csv").symlink_to("nowhere")
    (source / "folder").symlink_to(tmp_path)
    (source / "b.csv").symlink_to("a.csv")
    (source / ".hidden.csv").symlink_to("nowhere")
    left: list[tuple[str, str]] = []
    plan = scale.plan_convert(str(source), str(tmp_path / "o"), to="parquet", skipped=left)
    assert plan.count == 2
    assert left == [("folder", "a link to a folder"), ("gone.csv", "a link to nothing")]
    with pytest.raises(FileNotFoundError, match=r"gone\.csv is a link to nothing"):
        find_sources([str(source / "gone.csv")])
    left.clear()
    scale.plan_convert(f"{source}/*.csv", str(tmp_path / "o"), to="parquet", skipped=left)
    assert left == [("gone.csv", "a link to nothing")]


def test_the_source_as_destination_is_said(tmp_path: Path) -> None:
    source = made(tmp_path / "in", b"a.csv")
    with pytest.raises(UsageError, match="is the source and the folder of the results"):
        scale.plan_convert(source, f"{source}/../in", to="parquet")


def test_paths_are_taken_everywhere(tmp_path: Path) -> None:
    source = made(tmp_path / "in", b"a.csv", b"b.csv")
    (source / "c.ndjson").write_text('{"a": 1}\n')
    assert scale.plan_convert(source, tmp_path / "o", to="parquet").count == 3
    assert scale.plan_convert([source / "a.csv", source / "b.csv"], tmp_path / "p", to="parquet").count == 2
    assert scale.plan_encode(source / "c.ndjson", tmp_path / "q").count == 1
    assert scale.plan_put(source, f"file://{tmp_path}/store", tmp_path / "put.jsonl").count == 1
    assert scale.plan_measure(source / "c.ndjson", tmp_path / "m").count == 1


def test_groups_of_long_names_fit_their_unit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(planning, "_GROUPED_FROM", 10)
    folder = tmp_path / "in" / ("\u00e9" * 100) / ("d" * 200)
    folder.mkdir(parents=True)
    for n in range(400):
        (folder / f"{n:0150}.csv").write_bytes(TEXT)
    plan = scale.plan_convert(tmp_path / "in", tmp_path / "o", to="parquet")
    units = list(plan.units())
    assert sum(len(unit["input"]) for unit in units) == 400
    assert max(len(canonical(check_unit(unit))) for unit in units) <= MAX_BYTES
    assert len(units) < 40


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EIO])
def test_an_error_of_the_system_names_its_source_or_what_is_full(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    source = made(tmp_path / "in", b"a.csv")

    def full(*_: Any, **__: Any) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr("tare.io.convert", full)
    report = scale.convert(source, tmp_path / "o", to="parquet", executor="inline", retries=0)
    (failed,) = report.failures
    begins = {
        errno.ENOSPC: f"{tmp_path}/o: its disk is full; make room there",
        errno.EIO: f"{source}/a.csv: [Errno {number}]",
    }
    assert failed["error"]["message"].startswith(begins[number])
    assert failed["error"]["class"] == {errno.ENOSPC: "resources", errno.EIO: "transient"}[number]


@pytest.mark.parametrize("to", ["ndjson", "csv", "parquet", "json", "ndjson+zstd:3"])
@pytest.mark.parametrize("partition", [None, "a"])
def test_a_table_without_rows(tmp_path: Path, to: str, partition: str | None) -> None:
    (tmp_path / "a.csv").write_text("a,b\n")
    report = scale.convert(tmp_path / "a.csv", tmp_path / "o", to=to, executor="inline", partition=partition)
    assert (report.done, report.rows, report.failures) == (1, 0, [])


def test_a_plain_conversion_of_no_rows(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("a,b\n")
    command = [
        sys.executable, "-c", "from tare.cli import main; main()", "convert", str(tmp_path / "a.csv"),
        str(tmp_path / "a.ndjson"),
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, check=False)
    assert (done.returncode, (tmp_path / "a.ndjson").read_bytes().strip()) == (0, b"")
    assert tare.convert(tmp_path / "a.csv", tmp_path / "b.ndjson").rows == 0
