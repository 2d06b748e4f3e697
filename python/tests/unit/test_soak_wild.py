"""`make soak NAME=wild`: its list is whole, its files are checked, and what is wrong is found."""

from __future__ import annotations

import datetime as dt
import hashlib
import importlib
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest
from support.capabilities import ROOT, need_command, need_linux, need_r

WILD = ROOT / "bench" / "soak" / "wild"


@pytest.fixture
def module(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    monkeypatch.syspath_prepend(str(WILD))
    yield importlib.import_module
    for path in WILD.glob("*.py"):
        sys.modules.pop(path.stem, None)


def source_of(sources: ModuleType, data: bytes, path: str = "data/x.csv") -> Any:
    blob = hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()
    return sources.Source("owner/name", "0" * 40, blob, len(data), "csv", path)


def repository(folder: Path, data: bytes) -> None:
    """Make a bare repository that has one file."""
    need_command("git")
    work = folder / "work"
    (work / "data").mkdir(parents=True)
    (work / "data" / "x.csv").write_bytes(data)
    who = ("-c", "user.name=A", "-c", "user.email=a@example.org")
    for command in (("init", "-q"), ("add", "."), (*who, "commit", "-q", "-m", "Add a file")):
        subprocess.run(["git", "-C", work, *command], check=True)
    bare = folder / "owner+name.git"
    subprocess.run(["git", "clone", "-q", "--bare", work, bare], check=True)
    for key in ("uploadpack.allowFilter", "uploadpack.allowAnySHA1InWant"):
        subprocess.run(["git", f"--git-dir={bare}", "config", key, "true"], check=True)


def test_the_list_names_enough_files_of_each_kind(module: Any) -> None:
    """At least 300 files of R and 500 tables, each once, each with what finds and proves it."""
    sources = module("sources")
    found = sources.read_sources()
    assert sum(one.kind in sources.R_KINDS for one in found) >= 300
    tables = {"arrow", "avro", "csv", "ndjson", "orc", "parquet"}
    assert sum(one.kind in tables for one in found) >= 500
    assert len({one.blob for one in found}) == len(found)
    for one in found:
        assert len(one.blob) == len(one.commit) == 40
        assert sources.kind_of(one.path) == one.kind
        assert one.size < 4 << 20


def test_files_come_from_a_mirror(module: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    fetching, source = module("fetching"), source_of(module("sources"), b"a,b\n1,2\n")
    repository(tmp_path, b"a,b\n1,2\n")
    monkeypatch.setenv("TARE_WILD_MIRROR", str(tmp_path))
    assert fetching.fetch_all([source], tmp_path / "cache") == {}
    assert fetching.file_of(source, tmp_path / "cache").read_bytes() == b"a,b\n1,2\n"


def test_files_come_from_their_address(module: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Only the blobs that are asked for are fetched, by their ids."""
    fetching, sources = module("fetching"), module("sources")
    repository(tmp_path, b"a,b\n1,2\n")
    monkeypatch.delenv("TARE_WILD_MIRROR", raising=False)
    monkeypatch.setattr(sources.Source, "address", f"file://{tmp_path}/owner+name.git")
    source = source_of(sources, b"a,b\n1,2\n")
    assert fetching.fetch_all([source], tmp_path / "cache") == {}
    assert fetching.file_of(source, tmp_path / "cache").read_bytes() == b"a,b\n1,2\n"


def test_bytes_that_are_not_those_of_the_list_are_not_taken(
    module: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    fetching, source = module("fetching"), source_of(module("sources"), b"other")
    repository(tmp_path, b"a,b\n1,2\n")
    monkeypatch.setenv("TARE_WILD_MIRROR", str(tmp_path))
    problems = fetching.fetch_all([source], tmp_path / "cache")
    assert problems == {"owner/name/data/x.csv": "the repository does not have it"}
    assert not fetching.file_of(source, tmp_path / "cache").exists()


@pytest.mark.parametrize(
    ("cell", "value", "expected"),
    [
        ("007", 7, False), ("7", 7, True), ("1.50", 1.5, True), ("1.5", 1.25, False), ("+4917", 4917, False),
        ("NA", None, True), ("Namibia", None, False), ("x", "x", True), ("x", "y", False), ("true", True, True),
        ("2024-01-02", dt.date(2024, 1, 2), True), ("2024-01-02", dt.date(2024, 2, 1), False),
        ("12:30:00", dt.time(12, 30), True), ("1e3", "1000.0", True), ("01", "1", False), ("1,5", 1.5, True), ("1,234", 1234, False),
    ],
)  # fmt: skip
def test_a_cell_is_compared_with_a_value(module: Any, cell: str, value: Any, expected: bool) -> None:
    values = module("values")
    assert values.cell_agrees(cell, values.canonical(value)) is expected


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        (1, 1.0, True), (1, True, False), (2**53 + 1, float(2**53), False), (0.1, 0.2, False),
        (float("nan"), float("nan"), True), (None, float("nan"), False), (b"a", "YQ==", True), (b"a", "Yg==", False),
        ({"a": 1}, {"a": 1, "b": None}, False), ([1, 2], [1, 3], False),
        (dt.datetime(2024, 1, 2, 3), "2024-01-02T03:00:00Z", True),
        (dt.datetime(2024, 1, 2, 3), "2024-01-02 04:00:00", False),
        (0.123456789012, 0.12345679104328156, False), (0.46320233, 0.4632023274898529, True),
    ],
)  # fmt: skip
def test_two_values_are_compared(module: Any, one: Any, other: Any, expected: bool) -> None:
    values = module("values")
    assert values.agree(values.canonical(one), values.canonical(other)) is expected


def test_moments_beyond_the_years_of_python_are_compared(module: Any) -> None:
    values = module("values")
    far = pa.chunked_array([pa.array([400_000 * 86_400], pa.timestamp("s"))])
    assert values.column_values(far) == [values.Stamp(400_000 * 86_400 * 10**9)]
    assert values.parse_stamp("9999-12-31 00:00:00") == 253402214400 * 10**9
    assert values.parse_stamp("12024-01-01") == (
        values.parse_stamp("2024-01-01") + 25 * 146_097 * 86_400 * 10**9
    )


def test_a_table_with_another_value_or_row_is_wrong(module: Any) -> None:
    readers = module("readers")
    truth = readers.table_of(pa.table({"a": [1, 2], "b": ["x", None]}))
    assert texts(module, truth, readers.table_of(pa.table({"a": [1.0, 2.0], "b": ["x", None]}))) == []
    other = readers.table_of(pa.table({"a": [1, 3], "b": ["x", None]}))
    assert texts(module, truth, other) == ["column a, row 2: 2 beside 3"]
    assert texts(module, truth, readers.table_of(pa.table({"a": [1], "b": ["x"]}))) == ["2 rows, 1 rows"]


def texts(module: Any, one: Any, other: Any) -> list[str]:
    return [found.text for found in module("differences").differences(one, other)]


def test_each_column_and_kind_of_change_is_a_difference(module: Any) -> None:
    readers = module("readers")
    truth = readers.table_of(pa.table({"a": [1, 2, 3, 4], "b": ["x", "y", "z", "z"]}))
    other = readers.table_of(pa.table({"a": [9, 9, None, 4], "b": ["x", "y", "z", "w"]}))
    assert texts(module, truth, other) == [
        "column a, row 1: 1 beside 9", "column a, row 3: 3 beside None", 'column b, row 4: "z" beside "w"',
    ]  # fmt: skip
    one = readers.Cells([["a", "b"], ["1", "x"], ["2", "NA"]])
    read = readers.table_of(pa.table({"a": [1, 2], "b": ["y", None]}))
    assert texts(module, one, read) == ['column b, row 1: "x" beside "y"']
    assert texts(module, one, readers.table_of(pa.table({"a": [1, 2]}))) == ["2 columns, 1 columns"]
    document, read_as = {"a": [1, {"b": 2}], "c": "x"}, {"a": [1, {"b": 3}], "c": None}
    assert texts(module, document, read_as) == ["/a/1/b: 2 beside 3", '/c: "x" beside None']


def test_all_rows_are_compared(module: Any, tmp_path: Path) -> None:
    readers = module("readers")
    truth, other = list(range(20_000)), [*range(19_999), -1]
    one, two = readers.table_of(pa.table({"a": truth})), readers.table_of(pa.table({"a": other}))
    assert texts(module, one, two) == ["column a, row 20000: 19999 beside -1"]
    cells = readers.Cells([["a"], *([str(n)] for n in truth)])
    assert texts(module, cells, two) == ['column a, row 20000: "19999" beside -1']
    small, large = tmp_path / "small", tmp_path / "large"
    small.write_bytes(b"x")
    with large.open("wb") as file:
        file.truncate(64 << 20)
    assert readers.most_rows(small) is None
    assert readers.most_rows(large) == 4000


def conversion(**told: Any) -> Any:
    return SimpleNamespace(**{"changes": [], "losses": [], "notes": [], "second": {}, **told})


CHANGE = {"path": "a", "verdict": "lossy", "from": "1.5", "to": "1", "count": 1}


@pytest.mark.parametrize(
    ("column", "kind", "told", "expected"),
    [
        ("a", "number", {"changes": [CHANGE]}, True),
        ("b", "number", {"changes": [CHANGE]}, False),
        ("a", "rows", {"changes": [CHANGE]}, False),
        ("a", "number", {"changes": [{**CHANGE, "path": "a.x"}]}, True),
        ("a", "number", {"changes": [{**CHANGE, "path": "ab"}]}, False),
        ("a", "number", {"changes": [{**CHANGE, "verdict": "type"}]}, False),
        ("a", "time", {"changes": [{**CHANGE, "verdict": "type"}]}, True),
        ("a", "null", {"changes": [{**CHANGE, "verdict": "null"}]}, True),
        ("a", "text", {"changes": [{**CHANGE, "verdict": "null"}]}, False),
        ("a", "text", {"losses": [{"path": "a", "kind": "levels"}]}, True),
        ("b", "text", {"losses": [{"path": "a", "kind": "levels"}]}, False),
        ("a", "null", {"notes": ["bare words are read as missing values: 'NA' in 'a'; in quotes they are text"]}, True),
        ("b", "null", {"notes": ["bare words are read as missing values: 'NA' in 'a'; in quotes they are text"]}, False),
        ("a", "text", {"notes": ["bare words are read as missing values: 'NA' in 'a'; in quotes they are text"]}, False),
        ("a", "time", {"notes": ["times with offsets are read as UTC: 'z', 'a'"]}, True),
        ("a", "number", {"notes": ["times with offsets are read as UTC: 'z', 'a'"]}, False),
        ("", "rows", {"notes": ["the quote in line 3, the last, is never closed: the file may be cut"]}, True),
        ("a", "number", {"notes": ["the quote in line 3, the last, is never closed: the file may be cut"]}, False),
        ("a", "number", {"notes": ["converted batch by batch and not verified; --verify reads it back"]}, False),
        ("a", "text", {"notes": ["x.csv: csv: column 'a', row 3: Tare reads '1', csv '2'"]}, True),
        ("b", "text", {"notes": ["x.csv: csv: column 'a', row 3: Tare reads '1', csv '2'"]}, False),
        ("", "rows", {"second": {"source": {"difference": {"place": "the number of rows"}}}}, True),
        ("a", "text", {"second": {"source": {"difference": {"place": "the number of rows"}}}}, False),
        ("a", "text", {}, False),
    ],
)  # fmt: skip
def test_a_difference_is_excused_by_what_tells_its_column_and_kind(
    module: Any, column: str, kind: str, told: dict[str, Any], expected: bool
) -> None:
    found = module("differences").Difference(column, kind, "text")
    assert module("excuses").excused(found, [conversion(), conversion(**told)]) is expected
    assert module("excuses").left([found], [conversion(**told)]) == [found] * (not expected)


def test_words_of_yaml_are_excused_by_name(module: Any) -> None:
    note = "read by YAML 1.1: NO is False (line 1), 010 is 8 (line 2); quote what is meant as text, or say x"
    excused, difference = module("excuses").excused, module("differences").Difference
    assert excused(difference("/a", "boolean", "", "NO"), [conversion(notes=[note])])
    assert not excused(difference("/a", "boolean", "", "YES"), [conversion(notes=[note])])
    assert not excused(difference("/a", "text", "", "NO"), [conversion(notes=[note])])


def test_the_library_by_which_a_file_is_read_confirms_nothing(
    module: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    examining, path = module("examining"), tmp_path / "x.yaml"
    path.write_text("a: 1\n", encoding="utf-8")
    (tmp_path / "out").mkdir()
    assert examining.examine("yaml", path, tmp_path / "out", None).reader == "ruamel"
    monkeypatch.setattr(examining, "read_again", lambda *_: iter([("pyyaml", {"a": 1})]))
    assert examining.examine("yaml", path, tmp_path / "out", None).reader == ""


def test_what_is_told_of_one_column_does_not_excuse_another(module: Any) -> None:
    """Of two columns that another library reads differently, the note is on one."""
    examining = module("examining")
    found = examining.Findings()
    differs = [module("differences").Difference(name, "null", f"column {name}") for name in "ab"]
    reading = examining._Reading("csv", differs)
    note = "bare words are read as missing values: 'NA' in 'a'; in quotes they are text"
    assert examining._judge(found, "read", [reading], [conversion(notes=[note])]) == "csv"
    assert (found.wrong, found.told) == ([["read", "csv: column b"]], [["read", "csv: column a"]])


def test_a_file_is_tried_in_a_child(module: Any, tmp_path: Path) -> None:
    """A table that is well read is the same in all formats."""
    need_linux("/proc/self/clear_refs")
    children = module("children")
    path = tmp_path / "x.csv"
    path.write_text("a,b\n1,x\n2,y\n", encoding="utf-8")
    (tmp_path / "out").mkdir()
    child = children.Child(tmp_path / "log")
    asked = {"task": "all", "kind": "csv", "path": str(path), "folder": str(tmp_path / "out")}
    answer = child.ask(asked)
    child.close()
    assert {key: answer[key] for key in ("refused", "told", "wrong", "judges", "reader")} == {
        "refused": [], "told": [], "wrong": [], "judges": ["csv"], "reader": "csv",
    }  # fmt: skip
    assert answer["peak"] > 0


@pytest.mark.parametrize(
    ("code", "limit_s", "expected"),
    [
        ("import os, sys; sys.stdin.readline(); os.abort()", 60.0, ["crash", "the process ended with -6"]),
        ("import sys, time; sys.stdin.readline(); time.sleep(600)", 0.2, ["hang", "no answer within 0 s"]),
    ],
)
def test_a_child_that_dies_or_hangs_is_wrong(
    module: Any, tmp_path: Path, code: str, limit_s: float, expected: list[str]
) -> None:
    program = tmp_path / "program.py"
    program.write_text(code, encoding="utf-8")
    child = module("children").Child(tmp_path / "log", program, limit_s)
    assert child.ask({})["wrong"] == [expected]


def test_what_r_wrote_down_is_read(module: Any) -> None:
    text = "2\na\\tb\ntext\n2\nx\\\\n\n\\N\nn\ndouble\n2\n1.5\nNaN\n"
    table = module("r_files").read_dump(text)
    assert table.rows == 2
    assert table.columns[0] == ("a\tb", ["x\\n", None])
    assert table.columns[1][1][0] == 1.5


def test_columns_that_r_does_not_write_down_are_its_own_affair(module: Any, tmp_path: Path) -> None:
    """Such as lists and times; the others are compared in each format."""
    (tmp_path / "dump.tsv").write_text("2\nn\ninteger\n2\n1\n2\n")
    (tmp_path / "table.json").write_text('[{"n": 1, "when": "2020-01-01T00:00:00"}, {"n": 3, "when": null}]')
    found = module("r_files").examine_tables(tmp_path)
    assert found.wrong == [["json", "json: column n, row 2: 2 beside 3"]]


def test_moments_that_makers_wrote_down_have_any_digits(module: Any, tmp_path: Path) -> None:
    """ORC's own tool writes them with a space, and no more digits than there are."""
    (tmp_path / "x.jsn").write_text('{"t": "2038-05-05 12:34:56.1", "s": "a"}\n')
    table = next(module("readers").read_again("orc", tmp_path / "x.orc", tmp_path / "x.jsn"))[1]
    written = module("readers").Table(1, [("t", ["2038-05-05T12:34:56.100000"]), ("s", ["a"])])
    other = module("readers").Table(1, [("t", ["2038-05-05T12:34:56.200000"]), ("s", ["a"])])
    assert module("differences").differences(table, written) == []
    assert len(module("differences").differences(table, other)) == 1


def test_r_compares_values_of_r(tmp_path: Path) -> None:
    """Environments by their contents; another value, name or attribute is a difference, in them too."""
    program = need_r()
    make = r"""
    made <- function(n, name = "a") {
      inner <- new.env()
      assign(name, n, envir = inner)
      assign("self", inner, envir = inner)
      list(x = factor("u"), f = local(function(x) x + k, list2env(list(k = n))), e = inner)
    }
    for (folder in c("good", "value", "name", "table")) dir.create(folder)
    for (folder in c("good", "value", "name")) saveRDS(made(1), file.path(folder, "source.rds"))
    saveRDS(made(1), "good/same.rds")
    saveRDS(made(2), "value/same.rds")
    saveRDS(made(1, "b"), "name/same.rds")
    d <- data.frame(n = c(1.5, NA), t = c("a\tb", NA), l = c(TRUE, NA), i = c(2L, NA), w = as.Date(c("1970-01-03", NA)))
    save(d, file = "table/source.RData")
    # An object of a class whose package is missing, in front of others.
    dir.create("foreign")
    setClass("Strange", representation(x = "numeric"), where = globalenv())
    strange <- new("Strange", x = 1)
    attr(class(strange), "package") <- "noSuchPackage"
    saveRDS(strange, "foreign/source.rds")
    saveRDS(strange, "foreign/same.rds")
    saveRDS(d, "table/other.rds")
    writeLines("d", "table/variable")
    writeLines(c("foreign", "good", "value", "name", "table"), "folders")
    """
    (tmp_path / "make.R").write_text(make, encoding="utf-8")
    subprocess.run([program, "--vanilla", "make.R"], cwd=tmp_path, check=True)
    command = [program, "--vanilla", WILD / "compare.R", "folders", "results"]
    subprocess.run(command, cwd=tmp_path, check=True)
    verdicts = {}
    for line in (tmp_path / "results").read_text(encoding="utf-8").splitlines():
        folder, name, verdict, _ = line.split("\t")
        verdicts[folder, name] = verdict
    assert verdicts == {
        ("good", "same.rds"): "SAME", ("value", "same.rds"): "DIFFERS", ("name", "same.rds"): "DIFFERS",
        ("table", "other.rds"): "SAME", ("foreign", "same.rds"): "SAME",
    }  # fmt: skip
    dumped = (tmp_path / "table" / "dump.tsv").read_text(encoding="utf-8")
    assert dumped.splitlines()[:11] == [
        "2",
        "n",
        "double",
        "2",
        "1.5",
        "\\N",
        "t",
        "text",
        "2",
        "a\\tb",
        "\\N",
    ]


def test_findings_have_reasons(module: Any) -> None:
    known = module("known")
    for finding in known.read_findings():
        assert finding.reason
    finding = known.Finding("a/*", "csv", "row 1", "as it is")
    assert known.explained([finding], "a/x", "csv", "column b, row 1: 1 beside 2")
    assert not known.explained([finding], "b/x", "csv", "row 1")


def test_a_file_of_which_r_says_nothing_is_wrong(
    module: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """R may end before it came to all files of a group."""
    run = module("wild")
    done = {}
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "source.rds").touch()
        done[str(tmp_path / name)] = (None, {"wrong": [], "judges": [], "reader": ""})
    (tmp_path / "compared").write_text(f"{tmp_path / 'first'}\tsame.rds\tSAME\tlist\n", encoding="utf-8")
    monkeypatch.setattr(run.subprocess, "run", lambda *_, **__: None)
    run._compare_by_r(tmp_path, done, SimpleNamespace(ask=lambda _: {"wrong": [], "judges": []}))
    answers = [answer for _, answer in done.values()]
    assert [answer["reader"] for answer in answers] == ["R", ""]
    assert [answer["wrong"] for answer in answers] == [
        [], [["R", "no verdict: the process of R ended before it"]],
    ]  # fmt: skip


def test_outcomes_are_counted(module: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = module("wild")
    plain = {"kind": "csv", "refused": [], "told": [], "wrong": [], "judges": ["csv"], "reader": "csv"}
    results = [
        {**plain, "name": "a"},
        {**plain, "name": "b", "told": [["csv", "x"]]},
        {**plain, "name": "c", "refused": [["read", "x"]], "judges": [], "reader": ""},
        {**plain, "name": "d", "kind": "rds", "wrong": [["csv", "2 rows, 1 rows"]]},
    ]
    assert run._report(results, [], tmp_path) == 1
    printed = capsys.readouterr().out
    for line in (
        "files=4",
        "r_files=1",
        "compared=3",
        "confirmed=3",
        "same=1",
        "told=1",
        "refused=1",
        "wrong=1",
    ):
        assert f"soak: {line}\n" in printed
    lines = (tmp_path / "report.jsonl").read_text(encoding="utf-8").splitlines()
    assert [json.loads(line)["outcome"] for line in lines] == ["same", "told", "refused", "wrong"]
