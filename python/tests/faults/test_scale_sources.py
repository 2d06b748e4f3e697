"""Sources that are none, cannot be told or cannot be read: each is told with the reason, and stops no other."""

from __future__ import annotations

import errno
import gzip
import io
import os
import re
import socket
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

import tare
from tare import scale
from tare.cli import main
from tare.converting.naming import ending_of
from tare.errors import PlanError
from tare.scale import preflight
from tare.scale.executors.inline import InlineEngine
from tare.scale.place import LocalPlace
from tare.scale.planning.sources import find_sources
from tare.scale.planning.telling import unknown
from tare.scale.report import Failures, errors_of
from tare.scale.tasks import inputs
from tare.scale.unit import unit_key

HOW: dict[str, Any] = {"executor": "inline"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """One file that is well, two below."""
    for name in ("a.ndjson", "open/b.ndjson", "locked/c.ndjson"):
        path = tmp_path / "in" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text('{"a": 1}\n{"a": 2}\n')
    return tmp_path / "in"


def deny(monkeypatch: pytest.MonkeyPatch, denied: Callable[[str], bool]) -> None:
    """Rights do not hold for root, so the system's answer is given here."""
    real = os.scandir

    def scandir(path: Any) -> Any:
        if not isinstance(path, int) and denied(os.fspath(path)):
            raise PermissionError(errno.EACCES, "Permission denied", path)
        return real(path)

    monkeypatch.setattr(os, "scandir", scandir)


def fail(monkeypatch: pytest.MonkeyPatch, number: int, ending: str) -> None:
    """A disk, or a server, that answers for a folder with an error."""
    real = os.scandir

    def scandir(path: Any) -> Any:
        if not isinstance(path, int) and os.fspath(path).endswith(ending):
            raise OSError(number, os.strerror(number), path)
        return real(path)

    monkeypatch.setattr(os, "scandir", scandir)


def deny_opening(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """The same of a file."""
    real = open

    def denied(path: Any, *more: Any, **named: Any) -> Any:
        if str(path).endswith(f"/{name}"):
            raise PermissionError(errno.EACCES, "Permission denied", path)
        return real(path, *more, **named)

    monkeypatch.setattr("builtins.open", denied)


def test_files_that_nothing_tells(folder: Path) -> None:
    """As Spark leaves them: a file _SUCCESS without a byte in every folder."""
    (folder / "_SUCCESS").touch()
    (folder / "cut").write_bytes(gzip.compress(bytes(1000))[:6])
    (folder / "bad").write_bytes(b"\x1f\x8b\x08\x00" + b"\xff" * 500)
    (folder / "noise").write_bytes(bytes(range(256)))
    left: list[tuple[str, str]] = []
    report = scale.convert(str(folder), str(folder / "out"), to="parquet", skipped=left, **HOW)
    assert (report.files, report.failed) == (3, 0)
    assert sorted(left) == [
        ("_SUCCESS", "an empty file"),
        ("bad", "its bytes cannot be read: damaged, or changed meanwhile"),
        ("cut", "it ends too early to tell what it holds"),
        ("noise", "no data that can be told"),
    ]


def test_a_file_that_may_not_be_read(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "secret").write_text('{"a": 1}\n')
    (one,) = find_sources([str(folder / "secret")])
    deny_opening(monkeypatch, "secret")
    assert unknown(one) == ("secret", "permission denied")
    left: list[tuple[str, str]] = []
    found = find_sources([str(folder)], content=True, skipped=left)
    assert (found[0].name, len(found)) == ("a.ndjson", 3)
    assert left == [("secret", "permission denied")]


def test_a_folder_without_rights(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    deny(monkeypatch, lambda path: path.endswith("locked"))
    told = ("locked/", "a folder that this user may not read")

    def left(source: str = str(folder), **options: Any) -> tuple[list[str], list[tuple[str, str]]]:
        found: list[tuple[str, str]] = []
        names = [one.name for one in find_sources([source], skipped=found, **options)]
        return names, found

    assert left() == (["a.ndjson", "open/b.ndjson"], [told])
    assert left(include=["*.ndjson"])[1] == [told]
    assert left(include=["lo*/*"])[1] == [told]
    assert left(include=["open/*"])[1] == []
    assert left(exclude=["locked/**"])[1] == []
    assert left(f"{folder}/**/*.ndjson")[1] == [told]
    assert left(f"{folder}/*.ndjson") == (["a.ndjson"], [])
    deny(monkeypatch, lambda path: path.endswith("in"))
    with pytest.raises(PermissionError):
        left()


def ends(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[object, str]:
    """The exit code of the command line, and what it says."""
    with pytest.raises(SystemExit) as caught:
        main([*map(str, arguments), *(("--executor", "inline") if arguments[0] == "convert" else ())])
    return caught.value.code, capsys.readouterr().err


@pytest.mark.parametrize("what", ["folder", "file", "name", "sniffed"])
def test_what_was_asked_for_and_not_read_is_not_well(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], what: str
) -> None:
    """The rest is done, and the exit code says that it was not all."""
    said, options = "permission denied", ["--identify", "content"]
    if what == "folder":
        deny(monkeypatch, lambda path: path.endswith("locked"))
        said = "a folder that this user may not read (locked/)"
    elif what == "name":
        deep = folder.joinpath(*["d" * 200] * 6)
        deep.mkdir(parents=True)
        (deep / "x.csv").write_text("a\n1\n")
        said = "no result can have its name"
    else:
        name = "b.ndjson" if what == "file" else "secret"
        options = options if what == "file" else []
        (folder / name).write_text('{"a": 1}\n')
        deny_opening(monkeypatch, name)
    to = ["--to", "parquet", *options]
    code, told = ends(capsys, "convert", folder, folder / "out", *to)
    assert (code, f"passed over: {said}" in told) == (1, True), told
    assert (folder / "out" / "a.parquet").exists()
    assert ends(capsys, "plan", "convert", folder, folder / "out2", *to, "-o", folder.parent / "p")[0] == 1
    if what == "folder":
        assert ends(capsys, "plan", "put", folder, folder / "store", "-o", folder.parent / "q")[0] == 1
        assert ends(capsys, "convert", folder, folder / "out", *to, "--exclude", "locked")[0] == 0


def test_what_is_no_data_is_well(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "_SUCCESS").touch()
    (folder / ".hidden.csv").touch()
    (folder / "noise").write_bytes(bytes(range(256)))
    (folder / "link").symlink_to("nowhere")
    code, told = ends(capsys, "convert", folder, folder / "out", "--to", "parquet")
    assert (code, told.count("1 passed over")) == (0, 3), told


@pytest.mark.parametrize("what", ["noise", "empty", "cut", "pipe"])
def test_what_was_named_itself_is_asked_for(
    folder: Path, capsys: pytest.CaptureFixture[str], what: str
) -> None:
    """Of a folder only what may be data is; a file that is named is, whatever it holds."""
    if what == "pipe":
        os.mkfifo(folder / what)
    else:
        held = {"noise": bytes(range(256)), "empty": b"", "cut": gzip.compress(bytes(1000))[:6]}[what]
        (folder / what).write_bytes(held)
    words = ("convert", folder, folder / "out", "--to", "parquet")
    code, told = ends(capsys, *words)
    assert (code, "1 passed over" in told) == (int(what == "cut"), True), told
    if what == "cut":
        assert ends(capsys, *words, "--exclude", what)[0] == 0
    code, told = ends(
        capsys, "convert", folder / "a.ndjson", folder / what, folder / "out2", "--to", "parquet"
    )
    assert (code, "1 passed over" in told) == (1, True), told
    assert (folder / "out2" / "a.parquet").exists()


def test_a_dry_run_ends_as_the_run_would(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "cut").write_bytes(gzip.compress(bytes(1000))[:6])
    words = ("convert", folder, folder / "out", "--to", "parquet", "--dry-run")
    assert ends(capsys, *words)[0] == 1
    assert ends(capsys, *words, "--exclude", "cut")[0] == 0


def test_a_folder_on_a_disk_that_fails(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It stops no other; a process that may open no more files does, for it would find nothing."""
    left: list[tuple[str, str]] = []
    fail(monkeypatch, errno.EIO, "locked")
    assert [one.name for one in find_sources([str(folder)], skipped=left)] == ["a.ndjson", "open/b.ndjson"]
    assert left == [("locked/", "input/output error")]
    fail(monkeypatch, errno.EMFILE, "open")
    with pytest.raises(OSError, match="Too many open files"):
        find_sources([str(folder)])


def test_nothing_is_left_to_do(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Not because all is well: results are there of others, or nothing can be read; and because nothing is data."""
    for name in ("a", "open/b", "locked/c"):
        for ending in (".parquet", ending_of("blit,container=collection")):
            path = folder / "out" / f"{name}{ending}"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("mine")
    for words in (
        ("convert", folder, folder / "out", "--to", "parquet"),
        ("plan", "convert", folder, folder / "out", "--to", "parquet", "-o", folder.parent / "p"),
        ("plan", "encode", folder, folder / "out", "-o", folder.parent / "p"),
    ):
        code, told = ends(capsys, *words)
        assert (code, "3 passed over: a file of that name exists already" in told) == (1, True), told
        assert (
            "there is nothing to do: 3 files were passed over, such as a.ndjson: a file of that name exists already"
            in told
        )
    deny(monkeypatch, lambda path: path.endswith("locked"))
    for command in (("convert",), ("plan", "convert", "-o", folder.parent / "p")):
        code, told = ends(
            capsys, *command, folder / "locked" / "..", folder / "o", "--to", "csv", "--include", "locked/*"
        )
        assert (code, "such as locked/: a folder that this user may not read" in told) == (1, True), told
    only = folder / "only"
    (only / "locked").mkdir(parents=True)
    assert ends(capsys, "convert", only, folder / "o", "--to", "csv")[0] == 1
    (only / "noise").write_bytes(bytes(range(256)))
    code, told = ends(capsys, "convert", only, folder / "o", "--to", "csv", "--exclude", "locked")
    assert (code, "such as noise: no data that can be told" in told) == (2, True), told


def test_what_is_no_file(folder: Path) -> None:
    os.mkfifo(folder / "pipe.csv")
    (folder / "loop.csv").symlink_to("loop.csv")
    with socket.socket(socket.AF_UNIX) as held:
        here = os.getcwd()
        os.chdir(folder)  # the name of a socket is short
        held.bind("socket.csv")
        os.chdir(here)
        left: list[tuple[str, str]] = []
        names = [one.name for one in find_sources([str(folder)], skipped=left)]
    assert names == ["a.ndjson", "locked/c.ndjson", "open/b.ndjson"]
    assert sorted(left) == [
        ("loop.csv", "too many levels of symbolic links"),
        ("pipe.csv", "a pipe"),
        ("socket.csv", "a socket"),
    ]
    left.clear()
    assert len(find_sources([str(folder / "a.ndjson")], skipped=left)) == 1
    with pytest.raises(PlanError, match=r"no file is there; pipe\.csv: a pipe"):
        find_sources([str(folder / "pipe.csv")])


def test_a_plan_to_encode_goes_over_what_is_unreadable(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is a unit that fails by itself."""
    from tare.scale.planning import convert

    def parts(one: Any, *more: Any, **named: Any) -> list[Any]:
        if one.name == "a.ndjson":
            raise OSError(errno.EACCES, "Permission denied", str(folder / one.name))
        return []

    monkeypatch.setattr(convert, "parts_of", parts)
    plan = scale.plan_encode(str(folder), str(folder / "out"))
    report = scale.run(plan, **HOW)
    assert (report.done, report.failed) == (2, 1)
    assert "Permission denied" in report.failures[0]["error"]["message"]


def test_nothing_that_matches_is_one_mistake(folder: Path) -> None:
    """A pattern of --include, a glob, an empty folder, what is not there: a plan that cannot be, exit code 2."""
    (folder / "empty").mkdir()
    for source, options in (
        (str(folder), {"include": ["*.nothing"]}), (f"{folder}/*.nothing", {}), (str(folder / "empty"), {}),
    ):  # fmt: skip
        with pytest.raises(PlanError, match="no file"):
            scale.plan_convert(source, str(folder / "out"), to="parquet", **options)
    with pytest.raises(FileNotFoundError, match="nothing does not exist") as caught:
        scale.plan_convert(str(folder / "nothing"), str(folder / "out"), to="parquet")
    assert isinstance(caught.value, PlanError)


def test_what_changed_is_told_before_what_came_of_it(folder: Path) -> None:
    """A file that became shorter under a reader fails in odd ways; that it changed is why."""
    path = folder / "a.ndjson"
    (one,) = find_sources([str(path)])
    for way in (inputs.opened, inputs.opened_part):
        kept = path.stat()
        with (  # noqa: PT012 - it is the block that fails
            pytest.raises(inputs.SourceChanged, match=r"a\.ndjson changed while it was read"),
            way(one.as_input()),
        ):
            path.write_text("{}\n")
            raise OSError(errno.EIO, "InvalidRange (416)")
        path.write_text('{"a": 1}\n{"a": 2}\n')
        os.utime(path, ns=(kept.st_atime_ns, kept.st_mtime_ns))
        with pytest.raises(OSError, match="another"), way(one.as_input()):
            raise OSError(errno.EIO, "another")


@pytest.mark.parametrize("time_ns", [-43_200_000_000_000, -1, 0])
def test_a_file_of_before_there_was_a_time(tmp_path: Path, time_ns: int) -> None:
    """Before 1970, or of a clock that begins there: a file like others, whose changes are seen."""
    path = tmp_path / "a.csv"
    path.write_text("a\n1\n")
    os.utime(path, ns=(time_ns, time_ns))
    plan = scale.plan_convert(str(path), str(tmp_path / "o"), to="parquet", path=tmp_path / "p")
    os.utime(path, ns=(0, time_ns + 10**9))
    (failed,) = scale.run(plan, **HOW).failures
    assert failed["error"]["kind"] == "SourceChanged"
    os.utime(path, ns=(0, time_ns))
    assert scale.run(tmp_path / "p", **HOW).ok


@pytest.mark.parametrize("task", ["convert", "encode"])
def test_parts_of_a_file_that_is_known_by_its_content(tmp_path: Path, task: str) -> None:
    """One that was edited between two shards gives no parts of two versions; one that was touched gives all."""
    path = tmp_path / "in" / "a.ndjson"
    path.parent.mkdir()
    given: dict[str, Any] = {"split": 4000, "identify": "content", "path": tmp_path / "p"}

    def planned(name: str) -> scale.Plan:
        if task == "encode":
            return scale.plan_encode(str(path.parent), str(tmp_path / name), **given)
        return scale.plan_convert(str(path.parent), str(tmp_path / name), to="parquet", **given)

    path.write_text("".join(f'{{"v": {n}}}\n' for n in range(1000, 2000)))
    plan = planned("out")
    keys = {unit_key(unit) for unit in plan.units()}
    assert scale.run(plan, shard=(1, 2), **HOW).ok
    os.utime(path, (1, 1))
    assert {unit_key(unit) for unit in planned("touched").units()} == keys
    plan = planned("out")
    os.utime(path, (2, 2))
    report = scale.run(plan, shard=(1, 2), **HOW)
    assert (report.ok, report.done) == (True, 0)
    kept = path.read_text()
    path.write_text(kept.replace('"v": 1', '"v": 2'))
    os.utime(path, (3, 3))
    report = scale.run(plan, shard=(2, 2), **HOW)
    assert report.failed
    assert not report.done
    assert {one["error"]["kind"] for one in report.failures} == {"SourceChanged"}
    path.write_text(kept)
    assert scale.run(plan, shard=(2, 2), **HOW).ok


@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize(
    ("line", "said"),
    [
        (b'{"id": 1, "v": oops}', "is not JSON: Expecting value, at byte 20,015"),
        (b'{"id": "text", "v": 1}', 'id: "text" is no int64'),
        (b'{"id": 1180591620717411303424, "v": 1}', "id: 1180591620717411303424 is no int64"),
        (b"[1]", "holds no object"),
    ],
)
def test_a_line_that_does_not_fit_costs_its_part_alone(
    tmp_path: Path, whole: bool, line: bytes, said: str
) -> None:
    """Told with its byte in the file, not in a sample of it, and with no line that it is not in."""
    row = b'{"id": 1, "v": 1.5}\n'
    (tmp_path / "x.ndjson").write_bytes(row * 1000 + line + b"\n" + row * 1000)
    report = scale.convert(
        str(tmp_path / "x.ndjson"), str(tmp_path / "o"), to="parquet", split=5000, whole_schema=whole, **HOW
    )
    (failed,) = report.failures
    assert report.done > 5
    assert f"x.ndjson: the line from byte {1000 * len(row):,} on" in failed["error"]["message"]
    assert said in failed["error"]["message"]
    assert "line 1" not in failed["error"]["message"]
    assert failed["error"]["offset"] == 1000 * len(row)


def test_names_behind_a_value_that_does_not_fit_are_known(tmp_path: Path) -> None:
    """It hides neither a field of its neighbours nor a column of its own line."""
    rows = [b'{"a": {"x": 1}}\n'] * 500 + [b'{"a": "text"}\n', b'{"a": {"y": 2.5}, "late": "z"}\n']
    (tmp_path / "x.ndjson").write_bytes(b"".join(rows * 3))
    report = scale.convert(str(tmp_path / "x.ndjson"), str(tmp_path / "o"), to="parquet", split=4000, **HOW)
    assert report.done
    assert report.failed <= 3
    good = min((tmp_path / "o" / "x").iterdir())
    assert str(tare.read(good).schema.field("a").type) == "struct<x: int64, y: double>"
    assert "late" in tare.read(good).schema.names


def test_lines_of_which_none_is_a_row(tmp_path: Path) -> None:
    """One failure, with its byte, and not one of each part."""
    (tmp_path / "x.ndjson").write_bytes(b'{"a": ]}\n' * 2000)
    given = {"to": "parquet", "read": "ndjson", "split": 5000, **HOW}
    report = scale.convert(str(tmp_path / "x.ndjson"), str(tmp_path / "o"), **given)
    (failed,) = report.failures
    assert "x.ndjson: the line from byte 0 on is not JSON" in failed["error"]["message"]


def test_advice_is_of_the_command_that_runs(tmp_path: Path) -> None:
    """`tare convert` has --from, others have --format."""
    (tmp_path / "x").write_bytes(b"\x00\x01\x02")
    with pytest.raises(tare.errors.Unsupported, match="Say what it is with --from;"):
        tare.convert(tmp_path / "x", io.BytesIO(), codec="json")
    with pytest.raises(tare.errors.Unsupported, match="Say what it is with --format;"):
        tare.read(tmp_path / "x")


def test_what_is_left_undone_is_in_the_report(tmp_path: Path) -> None:
    """As the command tells it and ends with 1: a script that asks for failures must not take the rest for all."""
    for name in ("a", "b"):
        (tmp_path / "in").mkdir(exist_ok=True)
        (tmp_path / "in" / f"{name}.ndjson").write_text('{"a": 1}\n')
    (tmp_path / "in" / "notes").write_bytes(bytes(range(256)))
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "a.parquet").write_bytes(b"mine")
    given: dict[str, Any] = {"to": "parquet", **HOW}
    report = scale.convert(tmp_path / "in", tmp_path / "out", **given)
    assert (report.files, report.failed, report.ok, report.exit_code) == (1, 0, False, 1)
    why = "a file of that name exists already, and not from here; --overwrite replaces it"
    assert sorted(report.passed_over) == [("a.ndjson", why), ("notes", "no data that can be told")]
    assert sorted(report.as_dict()["passed_over"], key=lambda one: str(one["name"])) == [
        {"name": "a.ndjson", "why": why, "undone": True},
        {"name": "notes", "why": "no data that can be told", "undone": False},
    ]
    with pytest.raises(Failures, match=r"^a\.ndjson: a file of that name exists already, and not from here"):
        report.raise_for_failures()
    # The two halves of it tell the same, and so do later runs; a list of the caller's is filled, and judged by nobody.
    left: list[tuple[str, str]] = [scale.Undone(("of", "before"))]
    plan = scale.plan_convert(str(tmp_path / "in"), str(tmp_path / "out"), to="parquet", skipped=left)
    assert left[1:] == plan.passed_over == report.passed_over
    assert not scale.run(plan, **HOW).ok
    again = scale.convert(tmp_path / "in", tmp_path / "out", overwrite=True, skipped=left, **given)
    assert (again.ok, again.passed_over) == (True, [("notes", "no data that can be told")])
    again.raise_for_failures()


def test_a_source_that_ends_too_early_to_tell_is_undone(folder: Path) -> None:
    (folder / "cut").write_bytes(gzip.compress(bytes(1000))[:6])
    report = scale.convert(folder, folder / "out", to="parquet", **HOW)
    assert (report.files, report.ok) == (3, False)
    with pytest.raises(Failures, match=r"^cut: it ends too early to tell what it holds$"):
        report.raise_for_failures()


@pytest.mark.parametrize("task", ["encode", "put", "measure"])
def test_every_plan_knows_what_it_leaves_undone(
    folder: Path, task: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    deny(monkeypatch, lambda path: path.endswith("/locked"))
    make = {
        "encode": lambda: scale.plan_encode(str(folder), str(folder / "out")),
        "put": lambda: scale.plan_put(str(folder), str(folder.parent / "store"), folder.parent / "p.jsonl"),
        "measure": lambda: scale.plan_measure(str(folder), str(folder / "out"), seconds=2),
    }[task]
    assert [name for name, _ in make().passed_over] == ["locked/"]


@pytest.mark.parametrize(
    ("made", "said"),
    [
        (scale.Report(stopped="interrupted", missing=5), "interrupted; 5 units not begun"),
        (scale.Report(missing=1), "1 unit not begun"),
        (
            scale.Report(stopped="resources", missing=1),
            "stopped for want of disk or rights; 1 unit not begun",
        ),
        (
            scale.Report(passed_over=[scale.Undone((f"{n}", "no")) for n in range(5)]),
            "0: no; 1: no; 2: no, and 2 more",
        ),
    ],
)
def test_all_that_is_not_well_raises(made: scale.Report, said: str) -> None:
    with pytest.raises(Failures, match=f"^{said}$"):
        made.raise_for_failures()


@pytest.mark.parametrize("words", [("convert", "--executor", "inline"), ("plan", "convert", "-o", "p.jsonl")])
def test_a_source_that_goes_while_the_plan_is_made(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], words: tuple[str, ...]
) -> None:
    """Between two looks at it: it is not there, which is the command's fault."""
    monkeypatch.chdir(folder)
    real, source = LocalPlace.stat, folder / "a.ndjson"

    def gone(self: LocalPlace, name: str) -> Any:
        found = real(self, name)
        if name == source.name:
            source.unlink(missing_ok=True)
        return found

    monkeypatch.setattr(LocalPlace, "stat", gone)
    with pytest.raises(SystemExit) as ended:
        main([*words, "a.ndjson", "out", "--to", "parquet"])
    assert (ended.value.code, capsys.readouterr().err) == (2, f"tare: {source} does not exist\n")


@pytest.mark.parametrize("only", [True, False])
def test_a_source_that_goes_before_the_first_unit_costs_itself(
    folder: Path, monkeypatch: pytest.MonkeyPatch, only: bool
) -> None:
    """Between this process's look at it and the workers', which are not to blame."""
    real, source = preflight.readable, folder / "a.ndjson"

    def gone(plan: Any) -> str:
        uri = real(plan)
        source.unlink(missing_ok=True)
        return uri

    monkeypatch.setattr(preflight, "readable", gone)
    given = str(source) if only else [str(source), str(folder / "open" / "b.ndjson")]
    report = scale.convert(given, str(folder.parent / "out"), to="parquet", **HOW)
    assert (report.done, report.failed) == (0 if only else 1, 1)
    assert report.failures[0]["error"]["message"] == f"{source} does not exist"


def test_a_worker_that_cannot_read_is_told_once(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the system says, and the path, not twice."""
    path = folder / "a.ndjson"
    deny_opening(monkeypatch, path.name)
    found = preflight.probe({"state": f"file://{folder.parent}/out"}, f"file://{path}")
    assert (found["cannot"], found["errno"]) == (f"{path}: permission denied", errno.EACCES)


def test_who_joins_is_not_blamed_for_a_source_that_has_gone(folder: Path) -> None:
    path = folder / "a.ndjson"
    uri, settings = f"file://{path}", {"state": f"file://{folder.parent}/out"}
    seen = [{**preflight.probe(settings, uri), "cannot": f"{path}: no such file", "host": "other"}]

    class Late(InlineEngine):
        def newcomers(self, settings: Mapping[str, Any], uri: str) -> list[dict[str, Any]]:
            return seen

    with pytest.raises(preflight.EngineError, match=r"cannot reach .*a\.ndjson: no such file"):
        preflight.check_newcomers(Late(), settings, uri)  # it is there for us
    path.unlink()
    preflight.check_newcomers(Late(), settings, uri)
    seen[0]["cannot"] = f"{folder.parent}/out: permission denied"
    with pytest.raises(preflight.EngineError, match="out: permission denied"):
        preflight.check_newcomers(Late(), settings, uri)


@pytest.mark.parametrize("kind", ["pipe", "socket", "device"])
@pytest.mark.parametrize("task", ["convert", "put"])
def test_a_source_that_became_no_file_costs_itself(
    folder: Path, monkeypatch: pytest.MonkeyPatch, kind: str, task: str
) -> None:
    """Nobody waits for who would write to it; also of a plan that knows neither size nor time."""
    monkeypatch.chdir(folder)
    first, out = folder / "a.ndjson", folder.parent / "plan.jsonl"
    if task == "convert":
        plan = scale.plan_convert(str(folder), str(folder.parent / "out"), to="parquet", path=out)
    else:
        plan = scale.plan_put(str(folder), str(folder.parent / "out"), out)
    first.unlink()
    if kind == "socket":
        with socket.socket(socket.AF_UNIX) as held:
            held.bind("a.ndjson")
    elif kind == "pipe":
        os.mkfifo(first)
    else:
        first.symlink_to("/dev/null")
    for text in (None, re.sub(r'"(size|mtime_ns)":-?\d+,?', "", out.read_text()).replace(",}", "}")):
        if text is not None:
            out.write_text(text)
            plan = scale.read_plan(out)
        report = scale.run(plan, **HOW)
        said = [one["message"] for one in report.failures for one in errors_of(one)]
        assert said == [f"{first} changed since the plan was made"]


def test_what_became_a_pipe_between_two_looks_is_no_fault_of_a_worker(folder: Path) -> None:
    path = folder / "a.ndjson"
    uri = f"file://{path}"
    plan = scale.plan_convert(str(folder), str(folder.parent / "out"), to="parquet")
    path.unlink()
    os.mkfifo(path)
    assert preflight.readable(plan) not in ("", uri)
    found = preflight.probe({"state": f"file://{folder.parent}/out"}, uri)
    assert found["cannot"] == f"{path}: it is a pipe"
    with pytest.MonkeyPatch.context() as patched:
        told = iter([uri])
        real = preflight.readable
        patched.setattr(preflight, "readable", lambda plan: next(told, None) or real(plan))
        first, _ = preflight.check_all(InlineEngine(), {"state": f"file://{folder.parent}/out"}, plan)
    assert first != uri
