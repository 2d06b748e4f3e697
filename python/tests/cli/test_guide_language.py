"""The guide 'Add a language': its worker, as it is written, is held against the protocol."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest
from support.capabilities import need_perl
from support.guides import run_guide
from support.soak import SOAK, scaled

from tare import measure
from tare.measure.conformance.checks import CHECKS, check_worker
from tare.measure.plan.plan import Plan
from tare.measure.result import Result
from tare.measure.verdict.text import IDLE
from tare.measure.worker_client.client import Worker

# Without the check, a minute long, and with less data than the guide's, of which a run of ten seconds needs all on a
# busy machine; `make soak` runs the guide as it is written.
SHORTER = {
    "tare worker --check 'perl worker.pl'": "true",
    "range(2000)": "range(100)",
    "--time 10": "--time 0 --quick",
}


def test_add_a_language(root: Path, tmp_path: Path) -> None:
    need_perl(*MODULES)
    folder = tmp_path / "work"
    folder.mkdir()
    said = run_guide(root, "add-a-language.md", tmp_path, folder, least=4, changes=scaled(SHORTER, None))
    assert not SOAK or "19 ok, 4 not offered, 0 failed" in said, said
    assert "json:perl " in said, said
    assert "JSON (perl)" in said, said
    record = Result.load(folder / "perl.tare.json").record
    found = {case["labels"]["codec"]: case for case in record["cases"] if "twin" not in case["labels"]}
    assert {codec: found[codec]["status"] for codec in found if codec != "copy"} == dict.fromkeys(
        ("json:perl", "json:orjson", "json:stdlib"), "ok"
    )
    assert found["json:perl"]["launches"]
    assert record["codecs"]["json:perl"]["versions"]["perl"].startswith("5.")
    with Worker("perl", ("perl", str(folder / "worker.pl"))) as worker:
        assert worker.hello["worker"] == "perl"


# What its worker loads.
MODULES = ("JSON::PP", "Digest::SHA", "Time::HiRes")

PLANTED = {
    "verify finds a difference": ("verdict => @found ? 'lossy' : 'same'", "verdict => 'same'"),
    "verify is exact": ("pack('d>', $v) eq pack('d>', $said)", "1"),
    "bad files": ("($value, $loaded, $text, $encoded, $back) = (); %batches = ();", "%batches = ();"),
    "prepare proves": (
        "sha256 => sha256_hex($encoded), items => items($back) };\n    return",
        "sha256 => 'x', items => items($back) };\n    return",
    ),
    "the cpu clock": ("$cpu += clock_gettime(CLOCK_PROCESS_CPUTIME_ID) - $used;", ""),
    "the wall clock": (
        "$wall += clock_gettime(CLOCK_MONOTONIC) - $began;",
        "$wall += (clock_gettime(CLOCK_MONOTONIC) - $began) / 10;",
    ),
    "errors are replies": ("fail('unknown_op',", "fail('odd',"),
    "rubbish is an error": ("if (ref $r ne 'HASH') {", "if (ref $r ne 'HASH') { exit 3;"),
    "samples": ("samples => \\@rows", "samples => [@rows, @rows]"),
    "runs what is prepared": ("$came{items} = items($last)", "$came{items} = 500"),
    "calls are made": ("decode => sub { parse($encoded, 'decode') }", "decode => sub { $value }"),
    "every choice": ("options => {},", "options => { x => 1 }, choices => { x => [1, 2] },"),
    "hello": ("id => 'json:perl', library", "id => 'perl', library"),
    "streams": ("media => ['memory', 'file']", "media => ['memory', 'file', 'carrier pigeon']"),
}


# With this `make soak` checks everything, a minute long: one fault is not to fail checks of something else.
ALL_CHECKS = "runs what is prepared"


@pytest.mark.parametrize("check", PLANTED)
def test_a_worker_that_is_wrong_is_told_so(root: Path, tmp_path: Path, check: str) -> None:
    """Each planted fault fails the check that is meant for it, and few others."""
    need_perl(*MODULES)
    text = (root / "docs/guides/add-a-language.md").read_text(encoding="utf-8")
    program = text.split("<<'EOF'\n", 1)[1].split("\nEOF\n", 1)[0]
    right, wrong = PLANTED[check]
    assert right in program, right
    path = tmp_path / "wrong.pl"
    path.write_text(program.replace(right, wrong), encoding="utf-8")
    only = () if SOAK and check == ALL_CHECKS else (check,)
    found = check_worker(["perl", str(path)], only=only)
    failed = {one.name: one.why for one in found if one.status == "failed"}
    assert check in failed, failed
    assert failed[check]
    assert len(failed) <= 4, failed


_NO_ENCODE_TO = (
    "encode_to => sub { spill($_[0]{path}, $encoded); return { bytes => length $encoded } },",
    "encode_to => sub { fail('Unsupported', 'protocol', 'this worker has no encode_to') },",
)
_NO_FILE = ("media => ['memory', 'file']", "media => ['memory']")
_ALWAYS_SAME = ("return { verdict => @found ?", "@found = (); return { verdict => @found ?")
_OF_VERIFY = ("verify tells the same", "verify finds a difference", "verify is exact")


@pytest.mark.parametrize(
    ("changes", "failed", "why"),
    [
        ((_NO_ENCODE_TO,), (), ""),
        ((_NO_ENCODE_TO, _ALWAYS_SAME), _OF_VERIFY[1:], "the difference was not seen"),
        (
            (_NO_ENCODE_TO, _NO_FILE),
            _OF_VERIFY[1:],
            "what verify says cannot be tested: this worker has no encode_to, and its codec does not list the medium file",
        ),
    ],
)
def test_a_worker_that_passes_has_shown_that_it_tells_what_is_lost(
    root: Path, tmp_path: Path, changes: tuple[tuple[str, str], ...], failed: tuple[str, ...], why: str
) -> None:
    """Without encode_to the bytes are those that write leaves; without these too nothing can be planted."""
    command = ["perl", str(_worker(root, tmp_path, changes))]
    names = (
        *_OF_VERIFY,
        "prepare proves",
        "decodes in a fresh process",
        "tagged values",
        "runs what is prepared",
    )
    found = {one.name: one for one in check_worker(command, only=names)}
    assert tuple(name for name in names if found[name].status == "failed") == failed
    assert not failed or found[failed[0]].why.endswith(why)
    left = {found[name].status for name in names[3:]}
    assert left == ({"not offered"} if _NO_FILE in changes else {"ok"})


_LOSS = [{"a": n, "b": 0.1 + 0.2} for n in range(500)]
_WHOLE = [{"a": n, "b": n / 4} for n in range(500)]
_NO_DECODE_FROM = (
    "decode_from => sub { ",
    "decode_from => sub { fail('Unsupported', 'protocol', 'no decode_from');",
)


@pytest.mark.parametrize(
    ("data", "changes", "status", "kept", "told"),
    [
        (_LOSS, (_ALWAYS_SAME,), "lossy", "1 changed", "same"),
        (_LOSS, (_ALWAYS_SAME, _NO_ENCODE_TO), "lossy", "1 changed", "same"),
        (_LOSS, (_NO_ENCODE_TO,), "lossy", "5 changed", None),
        (_WHOLE, (_NO_ENCODE_TO,), "ok", "all", None),
        (_LOSS, (_ALWAYS_SAME, _NO_ENCODE_TO, _NO_FILE), "ok", "all?", None),
        (_LOSS, (_ALWAYS_SAME, _NO_DECODE_FROM), "ok", "all?", None),
    ],
)
def test_a_given_worker_is_not_believed_but_looked_at(
    root: Path,
    tmp_path: Path,
    data: list[Any],
    changes: tuple[tuple[str, str], ...],
    status: str,
    kept: str,
    told: str | None,
) -> None:
    """What its bytes give is compared here; where that cannot be, its word is shown as its word."""
    path = _worker(root, tmp_path, changes)
    record = _measured(path, data)
    cases = {one["labels"]["codec"]: one for one in record["cases"] if "twin" not in one["labels"]}
    case = cases["json:perl"]
    assert case["status"] == status, case
    row = record["derived"]["cases"][case["key"]]
    assert row["kept"] == kept
    assert case["verify"].get("told") == told
    assert (
        ("unchecked" in case["verify"])
        == kept.endswith("?")
        == any("own word" in one for one in row["flags"])
    )
    if told:
        assert case["reason"].endswith("b; its worker said same"), case["reason"]
    assert "unchecked" not in cases["json:orjson"]["verify"]


_RETURNS_WHAT_IT_LOADED = (
    "sub parse { my ($data, $phase) = @_; ",
    "sub parse { my ($data, $phase) = @_; return $value if $loaded && $phase eq 'decode'; ",
)
_ENCODES_NOTHING = ("$json->encode($value)", "'x'")


def test_a_worker_that_returns_what_it_loaded_keeps_nothing(root: Path, tmp_path: Path) -> None:
    """Its bytes hold nothing: a process that has them alone cannot decode them, and that ends the case."""
    changes = (_RETURNS_WHAT_IT_LOADED, _ENCODES_NOTHING, _ALWAYS_SAME)
    record = _measured(_worker(root, tmp_path, changes), media=("memory", "file"))
    cases = [one for one in record["cases"] if one["labels"]["codec"] == "json:perl"]
    assert {(one["labels"]["medium"], one["status"]) for one in cases} == {
        ("memory", "error"), ("file", "error")
    }, cases  # fmt: skip
    assert all(one["reason"].startswith("decode: in a process that loaded nothing: ") for one in cases)
    assert {record["derived"]["cases"][one["key"]]["kept"] for one in cases} == {""}


def test_a_worker_that_does_no_work_is_not_recommended(root: Path, tmp_path: Path) -> None:
    """It gives back what it had: its value is right, it is quicker than any memory, and it is passed over."""
    gives_back = (
        "encode => sub { $json->encode($value) }, decode => sub { parse($encoded, 'decode') }",
        "encode => sub { $encoded }, decode => sub { $value }",
    )
    path = _worker(root, tmp_path, (gives_back,))
    record = _measured(path, _WHOLE * 64, beside="json:stdlib", launches=3)
    verdict = record["derived"]["headline"]
    cases = [one for one in record["cases"] if one["labels"]["codec"] == "json:perl"]
    assert "ok" in {one["status"] for one in cases}, cases
    assert "json:stdlib" == verdict["codec"]
    assert {"codec": "json:perl", "reason": IDLE} in verdict["excluded"]


def _measured(
    path: Path,
    data: Any = _WHOLE,
    *,
    beside: str = "json:orjson",
    media: Sequence[str] = ("memory",),
    launches: int = 1,
) -> dict[str, Any]:
    """The record of a changed worker's codec and another one."""
    block = {"dataset": ["d"], "codec": ["json:perl", beside], "medium": list(media)}
    few = {"launches": launches, "rounds": launches}
    plan = Plan.from_dict({"plan": 1, "name": "mine", "statistics": few, "block": [block]})
    return measure.run(data, plan=plan, time_s=0, workers={"perl": f"perl {path}"}).record


def _worker(root: Path, folder: Path, changes: Iterable[tuple[str, str]]) -> Path:
    """The guide's worker, changed."""
    need_perl(*MODULES)
    text = (root / "docs/guides/add-a-language.md").read_text(encoding="utf-8")
    program = text.split("<<'EOF'\n", 1)[1].split("\nEOF\n", 1)[0]
    for right, wrong in changes:
        assert right in program, right
        program = program.replace(right, wrong)
    path = folder / "changed.pl"
    path.write_text(program, encoding="utf-8")
    return path


_COLS, _CELLS = "'wall_ns', 'user_ns', 'sys_ns'", "$wall, $cpu, 0"


@pytest.mark.parametrize(
    ("cols", "cells", "cpu"),
    [
        ("'wall_ns'", "$wall", "not offered"),
        ("'wall_ns', 'user_ns'", "$wall, $cpu / 2", "failed"),
    ],
)
def test_a_clock_that_a_runtime_lacks_is_no_fault(
    root: Path, tmp_path: Path, cols: str, cells: str, cpu: str
) -> None:
    """It is left out, or its column has no numbers; only the wall clock is what every worker has."""
    need_perl(*MODULES)
    text = (root / "docs/guides/add-a-language.md").read_text(encoding="utf-8")
    program = text.split("<<'EOF'\n", 1)[1].split("\nEOF\n", 1)[0]
    assert (program.count(_COLS), program.count(_CELLS)) == (2, 1)
    program = program.replace(_COLS, cols).replace(_CELLS, cells)
    program = program.replace(
        "map { int($_ * 1e9 + 0.5) }", "map { defined $_ ? int($_ * 1e9 + 0.5) : undef }"
    )
    path = tmp_path / "clocks.pl"
    path.write_text(program, encoding="utf-8")
    checks = ("hello", "samples", "the cpu clock")
    found = {one.name: one for one in check_worker(["perl", str(path)], only=checks)}
    said = {name: one.why for name, one in found.items()}
    assert [found[name].status for name in checks] == ["ok", "ok", cpu], said
    assert cpu != "not offered" or said["the cpu clock"] == "it tells no CPU time"


def test_a_clock_that_reports_its_time_as_freeing_gets_no_figures(root: Path, tmp_path: Path) -> None:
    """Freeing is a part of the sample: what is reported beside it does not count."""
    cols = (_COLS, f"{_COLS}, 'drop_ns'")
    tenth = (_CELLS, "$wall / 10, $cpu / 10, 0, 0.9 * $wall")
    record = _measured(_worker(root, tmp_path, (cols, tenth)), beside="json:stdlib")
    cases = {one["labels"]["codec"]: one for one in record["cases"] if "twin" not in one["labels"]}
    assert (cases["json:perl"]["status"], cases["json:stdlib"]["status"]) == ("error", "ok")
    assert "the worker's clock is wrong" in cases["json:perl"]["reason"]


@pytest.mark.parametrize("wall", ["undef", "0", "-1"])
def test_the_wall_clock_is_what_every_worker_has(root: Path, tmp_path: Path, wall: str) -> None:
    need_perl(*MODULES)
    text = (root / "docs/guides/add-a-language.md").read_text(encoding="utf-8")
    program = text.split("<<'EOF'\n", 1)[1].split("\nEOF\n", 1)[0]
    path = tmp_path / "clocks.pl"
    path.write_text(program.replace("samples => \\@rows", f"samples => [ map {{ [{wall}, 0, 0] }} @rows ]"))
    found = {one.name: one.why for one in check_worker(["perl", str(path)], only=("samples",))}
    assert found["samples"].startswith("encode: {'wall_ns': "), found


def test_a_worker_of_tables_alone_is_held_against_the_lines(root: Path, tmp_path: Path) -> None:
    need_perl(*MODULES)
    text = (root / "docs/guides/add-a-language.md").read_text(encoding="utf-8")
    program = text.split("<<'EOF'\n", 1)[1].split("\nEOF\n", 1)[0]
    path = tmp_path / "tables.pl"
    path.write_text(program.replace("kinds => ['document']", "kinds => ['table']"), encoding="utf-8")
    found = {one.name: one.status for one in check_worker(["perl", str(path)])}
    assert found == {
        "hello": "ok", "rubbish is an error": "ok", "requests in order": "ok", "ends with its input": "ok",
        "documents": "not offered",
    }  # fmt: skip


def test_every_check_says_what_it_asks() -> None:
    assert len(CHECKS) == 23
    assert all((check.__doc__ or "").strip().endswith(".") for check in CHECKS)
