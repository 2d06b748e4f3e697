"""Workers of other languages, as the parent sees them: whatever is wrong with one is a row, never the end of a run."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner

from tare import measure
from tare.cli import codecs as codecs_command
from tare.cli import measure as measure_command
from tare.cli.measure import chosen_workers
from tare.codec import Codec
from tare.errors import UsageError
from tare.measure.exchange.documents import shared_formats
from tare.measure.plan.availability import asked_for, left_after
from tare.measure.plan.plan import Plan
from tare.measure.records.schema import check
from tare.measure.sampling.case_runner import Seat
from tare.measure.verdict.constraints import barred, conditions
from tare.measure.verdict.cost_model import PROFILES
from tare.measure.worker_client import client as driver
from tare.measure.worker_client import languages as foreign
from tare.measure.worker_client.languages import LANGUAGES, Foreign, command_of, inventory
from tare.measure.worker_client.sample_check import System

DOCUMENT = [{"id": n, "name": f"n{n}"} for n in range(50)]
CODEC = {"id": "json:node", "library": "node", "version": "1", "options": {}, "kinds": ["document"]}
CODEC |= {"media": ["memory"], "delivery": ["whole"], "threads": [1], "executes_code": False, "subset": []}

# Says hello as it should, and then does what its argument says.
LIAR = """
import json, os, sys, time
how, codec = sys.argv[1], json.loads(sys.argv[2])
for line in sys.stdin:
    asked = json.loads(line)
    op, ok = asked["op"], {}
    if op == "hello":
        ok = {"proto": 2, "worker": codec["id"], "runtime": "fake", "version": "0", "pid": os.getpid(),
              "codecs": [codec], "clocks": ["wall_ns"], "cpu_source": "none", "gc": ["on"]}
    elif op == "load":
        ok = {"kind": "document", "items": 50, "rows": None, "resident_bytes": 1}
    elif op == "prepare" and how == "dies":
        os._exit(3)
    elif op == "prepare" and how == "prints":
        print("rubbish", flush=True)
        continue
    elif op == "prepare" and how == "hangs":
        time.sleep(60)
    elif op == "prepare":
        ok = {"items": 50, "bytes": 9, "sha256": "", "cold_encode_ns": 9, "cold_decode_ns": 9}
    elif op == "verify":
        ok = {"verdict": "same", "items_in": 50, "items_out": 0 if how == "empty" else 50, "changes": []}
    elif op in ("encode_to", "decode_from"):
        error = {"type": "Unsupported", "phase": "protocol", "message": "there is no " + op}
        print(json.dumps({"id": asked["id"], "error": error}), flush=True)
        continue
    elif op == "run" and how == "hangs at work":
        open(sys.argv[0] + ".hung", "a").write("x")
        time.sleep(600)
    elif op == "run" and how == "reads" and asked["what"] == "read" and not os.path.exists(asked["path"]):
        print(json.dumps({"id": asked["id"], "error": {"type": "OSError", "phase": "io", "message": "no file"}}), flush=True)
        continue
    elif op == "run":
        if asked["what"] == "write":
            open(asked["path"], "w").close()
        row = {"columns": [1000] * 3, "zero": [0, 0, 0], "back": [-5, 0, 0], "busy": [10**6, 10**12, 0]}.get(
            how, [1000, 900, 0]
        )
        if asked["what"] == {"tenth": "encode", "tenthofdecode": "decode"}.get(how):
            time.sleep(0.08)
            row = [8_000_000, 8_000_000, 0]
        elif how == "fast":
            row = [10**12, 0, 0]
        cols = ["wall_ns", "user_ns", "sys_ns"][: 1 if how == "columns" else 3]
        ok = {"cols": cols, "samples": [row], "batch": 1, "items": 50}
    print(json.dumps({"id": asked["id"], "ok": ok}), flush=True)
"""


@pytest.fixture(autouse=True)
def _state_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


def run_with(workers: dict[str, str], **settings: Any) -> dict[str, dict[str, Any]]:
    """Measure a codec of Python's and one of each worker's by a plan; their cases by codec."""
    few = {"launches": 1, "rounds": 1, "deadline_s": 3}
    block = {
        "dataset": ["d"],
        "codec": ["json:stdlib", *(f"json:{name}" for name in workers)],
        "medium": ["memory"],
    }
    plan = Plan.from_dict({"plan": 1, "name": "mine", "statistics": few, "block": [block]})
    result = measure.run(DOCUMENT, plan=plan, time_s=0, deadline_s=3, workers=workers, **settings)
    return {case["labels"]["codec"]: case for case in result.record["cases"] if "twin" not in case["labels"]}


# Workers that lie, with the status and the reason of the case of each.
LIES = {
    "dies": ("error", "exited with code 3"),
    "prints": ("error", "not a reply"),
    "hangs": ("timeout", "no answer within 3 s"),
    "empty": ("unproven", "no data came back"),
    "zero": ("error", "a sample of 0 ns"),
    "back": ("error", "a sample of -5 ns"),
    "busy": ("error", "more than every CPU could give"),
    "tenth": ("error", "the worker's clock is wrong: of encode, "),
    "tenthofdecode": ("error", "the worker's clock is wrong: of decode, "),
    "fast": ("error", "the worker's clock is wrong: 1000000000000 ns were told for "),
}
one_run = pytest.mark.xdist_group("one run of workers that lie")


@pytest.fixture(scope="module")
def lies(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """One run of workers of which each but one lies."""
    folder = tmp_path_factory.mktemp("lies")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(folder / "state"))
        return run_with({how: liar(folder, how, how) for how in ("well", *LIES)})


@pytest.mark.parametrize("telling", [1.0, 0.7, 0.34, 0.1])
@pytest.mark.parametrize("calibrated", [False, True])
def test_a_clock_that_loses_two_thirds_is_at_fault(
    monkeypatch: pytest.MonkeyPatch, telling: float, calibrated: bool
) -> None:
    """Also one by which the worker makes its samples long enough; one that frees what it made is none."""
    from tare.measure.worker_client import sample_check as waited
    from tare.measure.worker_client import samples as readings

    now = [0.0]
    monkeypatch.setattr(waited.time, "monotonic_ns", lambda: int(now[0]))
    calls = {"took": 1e6, "batch": 1}

    def ask(**fields: Any) -> dict[str, Any]:
        if target := fields.get("target_ns"):
            calls["batch"] = max(1, round(target / (calls["took"] * (telling if calibrated else 1))))
        calls["batch"] = fields["batch"] or calls["batch"]
        wall = 0.0 if fields["what"] == "null" else calls["took"] * calls["batch"]
        now[0] += wall + 2e6
        return {"cols": ["wall_ns"], "samples": [[int(wall * telling) or 1]], "batch": calls["batch"]}

    assert bool(readings.clock_fault(ask, lambda: System(None, 0))) == (telling < 0.35)


@pytest.mark.parametrize(
    ("options", "choices", "codec", "said"),
    [
        ({"level": "6"}, {}, "", None),
        ({"level": "6"}, {}, ",level=9", None),
        ({"level": 6}, {"level": [1, 6, 9]}, ",level=9", None),
        ({"level": 6}, {"level": [1, 6, 9]}, ",level=7", "json:node: level is one of 1, 6, 9, not '7'"),
        ({"x": True}, {"x": [True, False]}, "", None),
        ({"x": True}, {"x": [True, False]}, ",x=false", None),
        ({"x": True}, {"x": [True, False]}, ",x=False", "json:node: x is one of true, false, not 'False'"),
        ({"x": True}, {}, ",y=1", "json:node has no option 'y'; it has x"),
        ({}, {}, ",y=1", "json:node has no option 'y'; it has none"),
        ({"sep": ","}, {}, ",sep=+", None),
        ({"x": "a"}, {}, ",x=a,x=b", "json:node: the option 'x' is given twice"),
        ({"x": "a"}, {"x": ["a", "b"]}, ",x=b,x=b", "json:node: the option 'x' is given twice"),
        ({"x": "a"}, {}, ",x", "json:node: expected key=value after a comma, not 'x'"),
        ({"x": "a"}, {}, ",", "json:node: expected key=value after a comma, not ''"),
        (
            {},
            {},
            "+zstd:3",
            "json:node takes no +zstd:3: that is for Python's codecs, "
            "those of other languages compress by options, if they do",
        ),
    ],
)
def test_options_are_those_that_the_id_says(
    options: dict[str, Any], choices: dict[str, Any], codec: str, said: str | None
) -> None:
    """A worker's defaults are its own; choices are texts, numbers, or true and false."""
    about = {**CODEC, "options": options, "choices": choices}
    found = Foreign(f"json:node{codec}", inventory_of(about))
    assert found.refusal({}, "document") == said


@pytest.mark.parametrize(
    ("given", "printed"),
    [
        ("", ""),
        (",x=true", ""),
        (",level=6,sep=;", ",sep=;"),
        (",x=false,level=9", ",level=9,x=false"),
        (",level=9,x=false", ",level=9,x=false"),
    ],
)
def test_one_codec_has_one_id(given: str, printed: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """An option at its default is not printed, so that a codec which is named twice is measured once."""
    found = inventory_of({**CODEC, "options": {"level": 6, "x": True, "sep": ","}})
    monkeypatch.setattr("tare.measure.plan.availability.inventories", lambda *_: [found])
    codecs, _ = asked_for([f"json:node{given}", f"json:node{printed}"], [], None, "document")
    assert [str(codec) for codec in codecs] == [f"json:node{printed}"]
    assert left_after([f"json:node{given}"], codecs) == []


def inventory_of(about: dict[str, Any]) -> foreign.Inventory:
    return foreign.Inventory("node", "1", {"json:node": about})


@pytest.mark.parametrize(
    ("codec", "defaults", "languages"),
    [
        ("msgpack:node-msgpackr,records=yes", {"records": "no"}, {"javascript"}),
        ("msgpack:node-msgpackr,records=no", {"records": "no"}, None),
        ("msgpack:node-msgpackr", {"records": "no"}, None),
        ("cbor:node-cborx", {"records": "yes"}, {"javascript"}),
        ("fory:java-fory,references=0", {"references": "1"}, {"java"}),
        ("v8:node", {}, {"javascript"}),
    ],
)
def test_bytes_that_are_the_codecs_own_are_no_exchange(
    codec: str, defaults: dict[str, str], languages: set[str] | None
) -> None:
    """Whatever its format is: an option can make them a layout that nothing else reads."""
    name, _, _ = codec.partition(",")
    language = foreign.language_of(codec)
    here = foreign.Inventory(language, "1", {name: {**CODEC, "options": defaults}})
    described = Foreign(codec, here).describe(1)
    reasons = barred(described, conditions(PROFILES["exchange"].conditions, ()))
    if languages is None:
        assert not reasons
        assert len(described["flags"]["languages"]) > 5
    else:
        assert reasons == "has independent readers in fewer than 3 languages; has no written spec"
        assert set(described["flags"]["languages"]) == languages


@pytest.mark.parametrize(("xlang", "languages"), [("true", True), ("false", False)])
def test_a_layout_for_python_alone_is_read_by_python_alone(xlang: str, languages: bool) -> None:
    flags = Codec.parse(f"fory:pyfory,xlang={xlang}").flags()
    assert (flags["languages"] != ["python"], bool(flags["spec"])) == (languages, languages)


def test_formats_of_r_are_read_by_r_alone_whoever_writes_them() -> None:
    """Their readers in Python and Rust are Tare's, and count for --must readable:LANGUAGE only."""
    described = Foreign("rds:r", foreign.Inventory("r", "1", {"rds:r": CODEC})).describe(1)
    assert described["flags"]["independent"] == ["r"]
    assert not barred(described, conditions((), ["readable:python,readable:r"]))
    assert barred(described, conditions(["two readers"], ())).startswith("has independent readers in fewer")


def test_the_base_is_a_codec_of_python() -> None:
    with pytest.raises(
        UsageError, match=r"--base rds:r: is of the R worker; the base is one of Python's codecs"
    ):
        measure.run([1], base="rds:r", time_s=2)


def test_what_does_nothing_is_no_shared_format() -> None:
    assert "none" not in shared_formats({})


def liar(tmp_path: Path, how: str, language: str = "node") -> str:
    path = tmp_path / "liar.py"
    path.write_text(LIAR)
    return shlex.join([sys.executable, str(path), how, json.dumps(CODEC | {"id": f"json:{language}"})])


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        ("/nowhere/worker", "does not run: cannot start the worker node"),
        ("false", "does not run: exited with code 1"),
        ("sh -c 'echo hello there; exec sleep 9'", "does not run: not a reply: 'hello there"),
        (
            'sh -c \'echo {\\"id\\":1,\\"ok\\":{\\"proto\\":7}}; exec sleep 9\'',
            "speaks version 7 of the worker protocol, not 2",
        ),
        ("sh -c 'kill -9 $$'", "does not run: killed by SIGKILL"),
        ("sh -c 'echo no such module >&2; exit 1'", "(no such module)"),
    ],
)
def test_why_a_worker_does_not_run(command: str, reason: str) -> None:
    """How it ended and the last that it said."""
    found = inventory("node", {"node": command})
    assert reason in found.reason
    assert not found.codecs


def test_a_program_of_the_current_folder_is_not_run_by_its_bare_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may have come with the data; a slash says that it is meant. Arguments that are files get their whole paths."""
    (tmp_path / "perl").touch(mode=0o755)
    (tmp_path / "worker.pl").touch()
    monkeypatch.chdir(tmp_path)
    assert foreign.located("perl -w worker.pl") == ("perl", "-w", str(tmp_path / "worker.pl"))
    assert foreign.located("./perl none.pl") == (str(tmp_path / "perl"), "none.pl")


def test_a_worker_that_says_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is given up at the deadline of its hello; its row says so, and the codecs of Python's own are measured."""
    monkeypatch.setattr(driver, "HELLO_DEADLINE_S", 0.3)
    cases = run_with({"node": "sleep 61"})
    assert (cases["json:node"]["status"], cases["json:stdlib"]["status"]) == ("n/a", "ok")
    assert "no answer within 0.3 s" in cases["json:node"]["reason"]


def test_languages_are_asked_together_until_somebody_stops_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Their workers end with it, and nothing false is remembered of them; who had answered is not asked again."""
    log = tmp_path / "pids"
    command = shlex.join(["sh", "-c", f'echo "$$" >> {shlex.quote(str(log))}; exec sleep 600'])
    monkeypatch.setattr(driver, "HELLO_DEADLINE_S", 600)
    given = {"perl": command, "ruby": command, "node": liar(tmp_path, "well")}
    assert inventory("node", given).codecs

    def stopped() -> None:
        if log.exists() and len(log.read_text().split()) == 2:
            raise InterruptedError

    began = time.monotonic()
    with pytest.raises(InterruptedError):
        foreign.inventories(given, given, stopped)
    assert time.monotonic() - began < 300, "they say nothing for ten minutes"
    assert not [pid for pid in log.read_text().split() if Path(f"/proc/{pid}").exists()]
    assert [key for key in foreign._remembered if command_of("perl", given) in key] == []


def test_what_goes_wrong_while_a_language_is_asked_is_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    """As it is where one alone is asked: a full disk is not silence."""

    def full(*_: Any) -> Any:
        raise OSError("no space left")

    monkeypatch.setattr(foreign, "inventory", full)
    with pytest.raises(OSError, match="no space left"):
        foreign.inventories(["perl"], {"perl": "perl x"})


@one_run
@pytest.mark.parametrize("how", LIES)
def test_a_worker_that_fails_at_work_costs_its_own_case(lies: dict[str, dict[str, Any]], how: str) -> None:
    """The status is that of the failure, the reason in words.

    No time that passed, time that went back, CPU time beyond wall time on every CPU, a wall clock by which the
    parent waited ten times as long, or much less: no figure at all.
    """
    status, reason = LIES[how]
    assert lies[f"json:{how}"]["status"] == status
    assert status == "unproven" or not lies[f"json:{how}"]["launches"]
    assert reason in lies[f"json:{how}"]["reason"]


@one_run
def test_a_worker_that_does_as_it_should_is_measured(lies: dict[str, dict[str, Any]]) -> None:
    """Its figures stand beside Python's, and the record says who made them."""
    assert (lies["json:stdlib"]["status"], lies["json:well"]["status"]) == ("ok", "ok")
    assert lies["json:well"]["launches"][0]["samples"]["encode"]["wall_ns"] == [1000]


@pytest.mark.parametrize(
    "codecs", [None, 7, "text", [None], [{}], [{"id": 4}], [{"id": "json:node", "media": 5}]]
)
def test_hello_may_say_anything(tmp_path: Path, codecs: Any) -> None:
    """Fields of other types than they should have list nothing, and nothing is raised."""
    path = tmp_path / "says.py"
    hello = {"proto": 2, "version": [], "codecs": codecs, "missing": codecs}
    path.write_text(
        f"import json\nprint(json.dumps({{'id': 1, 'ok': json.loads({json.dumps(hello)!r})}}), flush=True)\ninput()\n"
    )
    found = inventory("node", {"node": shlex.join([sys.executable, str(path)])})
    assert not found.reason
    assert Foreign("json:node", found).refusal({"codec": "json:node", "medium": "memory"}, None)


def test_r_that_is_not_installed_says_what_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """No R on the path is a reason, with the line that helps."""
    monkeypatch.setattr(foreign.shutil, "which", lambda _: None)
    assert inventory("r", {}).reason == "needs R, which is not installed: apt-get install r-base-core"
    assert command_of("r", {"r": "docker run r"}) == ("docker", "run", "r")


def told(command: Any, *args: str) -> str:
    """What a command prints on standard output."""
    return CliRunner().invoke(command, args, catch_exceptions=False, standalone_mode=False).stdout


def test_the_codecs_of_a_language_are_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is there with version and options, what is not with the line that installs it."""
    found = foreign.Inventory(
        "r",
        "4.2.2",
        {
            "rds:r": {
                "version": "4.2.2",
                "options": {"form": "xdr"},
                "media": ["memory"],
                "executes_code": True,
            }
        },
        {"yaml:r-yaml": "apt-get install r-cran-yaml"},
    )
    monkeypatch.setattr(foreign, "inventory", lambda *_: found)
    lines = told(codecs_command.command, "--language", "r").splitlines()
    assert [line.split() for line in lines] == [
        ["rds:r", "4.2.2", "x", "memory", "form=xdr"],
        ["yaml:r-yaml", "-", "-", "not", "installed:", "apt-get", "install", "r-cran-yaml"],
    ]
    assert told(codecs_command.command, "--language", "r", "--missing") == "apt-get install r-cran-yaml\n"
    listed = json.loads(told(codecs_command.command, "--language", "r", "--json", "yaml"))
    assert listed == [{"id": "yaml:r-yaml", "installed": False, "install": "apt-get install r-cran-yaml"}]


def test_a_language_without_a_worker_is_an_error() -> None:
    """It says what there is."""
    with pytest.raises(UsageError, match="python, r, node, java, mono"):
        told(codecs_command.command, "--language", "cobol")
    with pytest.raises(
        UsageError, match="no language 'cobol': there are workers of r, node, java, mono, rust"
    ):
        command_of("cobol", {})


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_language_that_is_not_installed_is_told_with_what_installs_it(
    language: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where none of the programs is found, each language names its own."""
    monkeypatch.setenv("PATH", "/nonexistent")
    with pytest.raises(UsageError, match=r"needs .*, which is not installed: (apt-get|cargo) install "):
        told(codecs_command.command, "--language", language)


@pytest.mark.parametrize("pair", ["node", "node=", "=x", "Perl=perl x", "node= "])
def test_workers_are_given_by_name_and_command(pair: str) -> None:
    """Anything else is refused before anything is measured."""
    with pytest.raises(Exception, match="--worker takes NAME=COMMAND"):
        measure_command.chosen_workers([pair])


def test_a_codec_of_another_language_needs_no_plan(tmp_path: Path) -> None:
    """It is screened, weighed and probed; a medium that it has not is a row with the reason, and starts no process."""
    result = measure.run(
        DOCUMENT, codecs=("json:node", "json:stdlib"), media=("memory", "fifo"), time_s=6, deadline_s=2,
        workers={"node": liar(tmp_path, "well")},
    )  # fmt: skip
    weighed = [case for case in result.record["cases"] if case["stage"] == "weigh"]
    [memory, fifo] = (case for case in weighed if case["labels"]["codec"] == "json:node")
    assert (memory["labels"]["medium"], memory["status"]) == ("memory", "ok")
    assert (fifo["labels"]["medium"], fifo["status"], fifo["launches"]) == ("fifo", "n/a", [])
    assert fifo["reason"] == "json:node is not measured on fifo by the Node worker"
    check(result.record)
    with pytest.raises(UsageError, match="cbor:node-x: the Node worker has no codec cbor:node-x"):
        measure.run(DOCUMENT, codecs=("cbor:node-x",), time_s=4, workers={"node": liar(tmp_path, "well")})


def test_a_worker_that_hangs_at_work_is_told_so_when_time_is_short(tmp_path: Path) -> None:
    """It is not among those that were never reached, and costs the others no more than its share."""
    result = measure.run(
        DOCUMENT,
        codecs=("json:node", "json:stdlib"),
        time_s=12,
        workers={"node": liar(tmp_path, "hangs at work")},
    )
    found = {case["labels"]["codec"]: case for case in result.record["cases"] if "twin" not in case["labels"]}
    assert (found["json:node"]["status"], found["json:stdlib"]["status"]) == ("timeout", "ok")
    said = re.search(r"no answer within ([0-9.]+) s", found["json:node"]["reason"])
    assert said is not None
    times = len((tmp_path / "liar.py.hung").read_text())
    assert times * float(said.group(1)) < 30, "a run of 12 s waits for a worker only so long"


def test_the_first_read_may_come_before_the_first_write(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rounds are shuffled, and where time is short nothing was warmed: the file is made all the same."""
    monkeypatch.setattr(Seat, "warm", lambda _seat, _operation: None)
    codec = CODEC | {"media": ["memory", "file"]}
    path = tmp_path / "reader.py"
    path.write_text(LIAR)
    command = shlex.join([sys.executable, str(path), "reads", json.dumps(codec)])
    few = {"launches": 1, "rounds": 1, "deadline_s": 2}
    block = {"dataset": ["d"], "codec": ["json:stdlib", "json:node"], "medium": ["file"]}
    plan = Plan.from_dict({"plan": 1, "name": "mine", "statistics": few, "block": [block]})
    for seed in range(3):
        result = measure.run(DOCUMENT, plan=plan, time_s=4, seed=seed, workers={"node": command})
        cases = {
            case["labels"]["codec"]: case for case in result.record["cases"] if "twin" not in case["labels"]
        }
        assert cases["json:node"]["status"] == "ok", cases["json:node"]["reason"]


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("", "the worker's command is empty"),
        ("''", "the worker's command is empty"),
        ("perl 'x", "cannot be read: No closing quotation"),
    ],
)
def test_a_command_that_is_none_is_a_usage_error(command: str, said: str) -> None:
    """An empty command, and quotes that do not end."""
    done = subprocess.run(
        [sys.executable, "-c", "from tare.cli import main; main()", "worker", "--check", command],
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr
    assert "Traceback" not in done.stderr
    assert said in inventory("node", {"node": command}).reason or not command


@pytest.mark.parametrize(
    ("pair", "said"),
    [
        ("orjson=x", "orjson is a library of Python"),
        ("python=x", "python is known"),
        ("Perl=x", "lower-case letters and digits"),
        ("a-b=x", "lower-case letters and digits"),
        ("perl=", "--worker takes NAME=COMMAND"),
    ],
)
def test_a_name_that_ids_could_not_tell_apart_is_refused(pair: str, said: str) -> None:
    """A new language is called as no library of Python is, and as ids can be written."""
    with pytest.raises(click.UsageError, match=said):
        chosen_workers([pair])
    assert chosen_workers(["perl=perl worker.pl"]) == {"perl": "perl worker.pl"}
