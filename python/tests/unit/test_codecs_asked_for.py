"""What ``--codec`` with a star means: the codecs of every language that is installed, or a reason for those that are not."""

from __future__ import annotations

import importlib
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from support.capabilities import need_codec

from tare.cli import measure as measure_command
from tare.codec import candidates
from tare.dataset import open_dataset
from tare.errors import UsageError
from tare.measure.estimate import estimate
from tare.measure.plan import availability
from tare.measure.plan.availability import asked_for, check_id, left_after, tried
from tare.measure.settings import Settings
from tare.measure.worker_client import languages as of_languages
from tare.measure.worker_client.languages import LANGUAGES, Inventory

DOCUMENT = {
    "kinds": ["document"],
    "media": ["memory", "file"],
    "delivery": ["whole"],
    "threads": [1],
    "options": {},
}
TABLE = {**DOCUMENT, "kinds": ["table"], "media": ["file"]}
HERE = {
    "r": Inventory(
        "r", "4", {"json:r-jsonlite": DOCUMENT, "none:r": DOCUMENT, "rdata:r": {**DOCUMENT, "media": ["file"]}},
        {"msgpack:r-msgpack": 'in R: install.packages("msgpack")'},
    ),
    "node": Inventory(
        "node", "20",
        {"json:node": DOCUMENT, "json:node-rows": {**TABLE, "options": {"level": 6, "records": "no"}, "choices": {"records": ["yes", "no"]}}},
    ),
    "java": Inventory("java", reason="the Java worker does not run: exited with code 1"),
    "mono": Inventory("mono", reason="needs Mono, which is not installed: apt-get install mono", absent=True),
    "rust": Inventory("rust", reason="needs the Rust worker, which is not installed: cargo install", absent=True),
}  # fmt: skip


@pytest.fixture(autouse=True)
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Languages that were asked what they have; they answer as `HERE` says."""
    names: list[str] = []

    def inventory(language: str, given: Mapping[str, str], *_: Any) -> Inventory:
        names.append(language)
        return HERE.get(language) or Inventory(language, "5", {f"json:{language}-own": DOCUMENT})

    monkeypatch.setattr(of_languages, "inventory", inventory)
    monkeypatch.setattr(availability, "inventory", inventory)
    monkeypatch.setattr(
        of_languages.shutil, "which", lambda name: f"/bin/{name}" if name in ("R", "node") else None
    )
    return names


def foreign_ids(
    pattern: str, *, kind: str = "document", settings: Settings | None = None
) -> tuple[list[str], list[str]]:
    """The codecs of other languages that a pattern means, and what was left out."""
    found, left_out = asked_for([pattern], candidates(kind, languages=None), settings, kind)
    return [str(codec) for codec in found if of_languages.language_of(str(codec), {"perl"})], left_out


@pytest.mark.parametrize(
    ("pattern", "ids", "languages"),
    [
        ("json:*", ["json:r-jsonlite", "json:node"], set(LANGUAGES)),
        ("*", ["json:r-jsonlite", "json:node"], set(LANGUAGES)),
        ("none*", ["none:r"], set(LANGUAGES)),
        ("json:node*", ["json:node"], {"node"}),
        ("json:r-*", ["json:r-jsonlite"], {"r"}),
        ("json:r-j*", ["json:r-jsonlite"], {"r"}),
        ("json:orjson*", [], set()),
        ("pickle,*", [], set()),
        ("pickle*", [], set()),
        ("marshal*", [], set()),
        ("bson:*", [], set(LANGUAGES) - {"r"}),
    ],
)
def test_a_star_means_codecs_of_every_language(
    asked: list[str], pattern: str, ids: list[str], languages: set[str]
) -> None:
    """Only languages that can have such an id are started."""
    if pattern == "bson:*":
        need_codec("bson:pymongo")  # of Python's it must be there
    assert foreign_ids(pattern)[0] == ids
    assert set(asked) == languages


def test_what_a_star_leaves_out_has_a_reason() -> None:
    """The kind of the data, the medium, a worker that does not run; languages that are not installed in one line."""
    assert foreign_ids("*")[1] == [
        "rdata:r (is not measured on memory by the R worker)",
        "json:node-rows (holds tables, not documents)",
        "codecs of Mono and Rust (not installed: see tare codecs --language NAME)",
        "codecs of Java (the Java worker does not run: exited with code 1)",
    ]


@pytest.mark.parametrize(
    ("pattern", "told"),
    [
        ("json:*", True),
        ("json*", True),
        ("pickle*", False),
        ("bson:*", False),
        ("p*", False),
        ("msgpack:*", True),
    ],
)
def test_languages_that_are_not_installed_are_told_where_they_may_have_it(pattern: str, told: bool) -> None:
    """Where one that is has such a codec, or could have it: pickle is Python's, and BSON nobody has here."""
    if pattern == "bson:*":
        need_codec("bson:pymongo")
    lines = foreign_ids(pattern)[1]
    assert any("Rust (not installed" in line for line in lines) == told


def test_where_no_other_language_is_installed_all_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    need_codec("bson:pymongo")
    monkeypatch.setattr(
        of_languages, "inventory", lambda name, *_: Inventory(name, reason="needs it", absent=True)
    )
    assert foreign_ids("bson:*")[1] == [
        "codecs of Node, Java, Mono and Rust (not installed: see tare codecs --language NAME)"
    ]
    assert foreign_ids("pickle*")[1] == []


@pytest.mark.parametrize(
    ("media", "pattern", "reason"),
    [
        (("file",), "rdata:r*", ""),
        (("memory", "tcp"), "json:r-*", ""),
        (("tcp", "file"), "rdata:r*", ""),
        ((), "rdata:r*", "rdata:r is not measured on memory by the R worker"),
        (("memory", "file"), "rdata:r*", "rdata:r is not measured on memory by the R worker"),
        (("tcp",), "json:r-*", "json:r-jsonlite is not measured on tcp by the R worker"),
        (("tcp", "unix"), "json:r-*", "json:r-jsonlite is not measured on tcp by the R worker"),
    ],
)
def test_the_media_are_those_asked_for(media: tuple[str, ...], pattern: str, reason: str) -> None:
    """What lacks where all are screened, or all that was asked for, is left out; named, it is refused."""
    settings = Settings(media=media or None)
    if not reason:
        [id] = foreign_ids(pattern, settings=settings)[0]
        assert [str(one) for one in asked_for([id], [], settings, "document")[0]] == [id]
        return
    id, _, why = reason.partition(" ")
    found, left_out = foreign_ids("*", settings=settings)
    assert id not in found
    assert any(id in line and f"({why})" in line for line in left_out)
    with pytest.raises(UsageError, match=f"{id}: {reason}"):
        asked_for([id], [], settings, "document")


def test_what_one_of_the_media_lacks_is_told_before_it_is_run() -> None:
    """In a row of that medium alone, which is no case to screen."""
    settings = Settings(codecs=("json:r-*", "json:stdlib"), media=("memory", "tcp"))
    lines = list(estimate(open_dataset([{"a": 1}]), None, settings))
    assert "  json:r-jsonlite@memory" in lines
    assert "  json:r-jsonlite@tcp  (n/a: json:r-jsonlite is not measured on tcp by the R worker)" in lines
    assert lines[-1].startswith("3 cases;")


@pytest.mark.parametrize(
    ("pattern", "said"),
    [
        ("json:mono*", ["begins with 'json:mono'", "apt-get install mono"]),
        (
            "bitcode:*",
            ["begins with 'bitcode:'", "needs the Rust worker, which is not installed: cargo install"],
        ),
        ("msgpack:r-*", ['msgpack:r-msgpack is not installed: in R: install.packages("msgpack")']),
        ("json:node-*", ["json:node-rows (holds tables, not documents)"]),
        ("json:java*", ["the Java worker does not run: exited with code 1"]),
    ],
)
def test_a_star_that_means_nothing_here_is_refused_with_what_helps(pattern: str, said: list[str]) -> None:
    """The package, the program or the kind of data; never that there is no such codec."""
    with pytest.raises(UsageError) as caught:
        foreign_ids(pattern)
    for words in said:
        assert words in str(caught.value)


def test_a_worker_of_a_new_name_is_asked_too() -> None:
    found, _ = foreign_ids("json:*", settings=Settings(workers={"perl": "perl worker.pl"}))
    assert found == ["json:r-jsonlite", "json:node", "json:perl-own"]


def test_a_run_and_its_dry_run_try_the_same(asked: list[str]) -> None:
    """Also without what --not names; a default run starts no other language."""
    settings = Settings(codecs=("json:*",), exclude=("json:std*", "json:node"))
    data = open_dataset([{"a": 1}])
    codecs, left_out = tried(settings, data)
    lines = list(estimate(data, None, settings))
    assert [f"  {codec}@memory" for codec in codecs] == [line for line in lines if line.endswith("@memory")]
    assert [f"  left out: {line}" for line in left_out] == [line for line in lines if "left out" in line]
    assert "json:node" not in map(str, codecs)
    asked.clear()
    every = tried(Settings(), data)
    assert (every, asked) == ((candidates("document", sequence=True), []), [])


def test_what_is_not_wanted_may_be_of_any_language() -> None:
    found = asked_for(["json:*"], candidates("document"))[0]
    left = left_after(["json:r-*", "msgpack:r-msgpack", "json:mono-x", "json:java-*"], found)
    assert [str(one) for one in found if one not in left] == ["json:r-jsonlite"]


@pytest.mark.parametrize(
    ("text", "languages"),
    [
        ("json:nod*", {"node"}),
        ("json:node-*", {"node"}),
        ("json:r-*", {"r"}),
        ("msgpack:r-m*", {"r"}),
        ("json:r*", set()),
        ("rdata*", set()),
        ("rdata:r*", {"r", "rust"}),
        ("none:*", set(LANGUAGES)),
        ("json:mono-*", {"mono"}),
        ("json:java*", {"java"}),
        ("json:node", {"node"}),
        ("msgpack:r-msgpack,x=1", {"r"}),
        ("json:orjson*", set()),
        ("json:*", set()),
        ("js*", set()),
        ("pickle,*", set()),
        ("json:orjson+zst*", set()),
        ("json:orjson,non_str_keys=*", set()),
        ("json:orjson+zstd:1*", set()),
        ("json:orjson+zstd:-*", set()),
        ("json:orjson+zstd:3,libr*", set()),
        ("json:orjson+zstd:3,library=zsta*", set()),
        ("json:orjson+zstd:3,layout=si*", set()),
        ("json:orjson+gzip:6,chunk=*", set()),
        ("json:orjson+blosc2:5,codec=l*", set()),
        ("json:orjson,sort_keys=t*", set()),
        ("json:orjson,default=text,or*", set()),
        ("csv:stdlib,delim*", set()),
        ("pickle,protocol=*", set()),
        ("json:node,*", {"node"}),
        ("json:node-rows,lev*", {"node"}),
        ("json:node-rows,level=9*", {"node"}),
        ("json:node-rows,records=y*", {"node"}),
        ("msgpack:r-msgpack,x*", {"r"}),
        ("json:java-x,zzz*", {"java"}),
        ("yaml:pyyaml", set()),
        ("none", set(LANGUAGES)),
    ],
)
def test_what_is_not_wanted_and_not_tried_must_exist(
    asked: list[str], text: str, languages: set[str]
) -> None:
    """By the rule that a star is matched by; only languages that can have it are asked, where Python has none."""
    found = [one for one in candidates("document") if str(one).startswith("cbor")]
    assert left_after([text], found) == found
    assert set(asked) == languages


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("json:r-jsonlit", "the R worker has no codec json:r-jsonlit"),
        ("json:node-x*", "no codec begins with 'json:node-x'"),
        ("json:nodd*", "no codec begins with 'json:nodd'"),
        ("json:orjsn*", "no codec begins with 'json:orjsn'"),
        ("json:orjsn,*", "has no library 'orjsn'"),
        ("marshal:*", "no codec begins with 'marshal:'"),
        ("xyz*", "no codec begins with 'xyz'; the Java worker does not run"),
        ("json:node,x=1", "json:node has no option 'x'"),
        ("json:node-y,*", "the Node worker has no codec json:node-y"),
        ("json:orjson,zzz*", "no codec begins with 'json:orjson,zzz'"),
        ("json:orjson,sort_keyz=*", "no codec begins with"),
        ("json:orjson,sort_keys=x*", "no codec begins with"),
        ("pickle,protocol=x*", "no codec begins with"),
        ("json:orjson+zzz*", r"no codec begins with 'json:orjson\+zzz'"),
        ("json:orjson+zstd:x*", "no codec begins with"),
        ("json:orjson+zstd:99*", "no codec begins with"),
        ("json:orjson+zst:3*", "no codec begins with"),
        ("json:orjson+zstd:3+zs*", "no codec begins with"),
        ("json:orjson+zstd:3,zz*", "no codec begins with"),
        ("json:orjson+zstd:3,library=isal*", "no codec begins with"),
        ("json:orjson+zstd:3,library=zstandard,library=*", "no codec begins with"),
        ("json:orjson+non*", "no codec begins with"),
        ("json:node,zz*", "no codec begins with 'json:node,zz'"),
        ("json:node-rows,lever=*", "no codec begins with"),
        ("json:node-rows,records=x*", "no codec begins with"),
        ("json:node+*", r"json:node takes no \+"),
        ("json:node+zst*", r"json:node takes no \+zst"),
        ("msgpack:r-msgpack+zst*", r"takes no \+zst"),
        ("smile,zzz*", "there is no format 'smile'"),
        ("jsn", "there is no format 'jsn'"),
        ("json:", "json"),
    ],
)
def test_what_is_not_wanted_and_mistyped_is_refused(text: str, said: str) -> None:
    """It would leave nothing out, and nobody would know."""
    found = [one for one in candidates("document") if str(one).startswith("msgpack")]
    with pytest.raises(UsageError, match=said):
        left_after([text], found)


@pytest.mark.parametrize(
    "text", ["json:node", "json:node*", "json:rust-*", "bitcode:*", "json:*", "pickle,*", "*"]
)
def test_what_another_host_may_have_is_known_without_asking(asked: list[str], text: str) -> None:
    check_id(text)
    assert asked == []


@pytest.mark.parametrize(
    "text", ["json:nodee", "json:nodee*", "pickle:r*", "json:node,*", "smile", "jsn:orjson"]
)
def test_what_no_host_can_have_is_known_without_asking(asked: list[str], text: str) -> None:
    with pytest.raises(UsageError):
        check_id(text)
    assert asked == []


@pytest.mark.parametrize(
    ("chosen", "unwanted", "left"),
    [
        (None, (), "json:orjson json:stdlib json:node"),
        (None, ("json:orjson+zstd:3", "json,orient=columns", "json:node,x=1", "json:stdlib+*", "json:orjson,*"),
         "json:orjson json:stdlib json:node"),
        (None, ("json:orjson",), "json:stdlib json:node"),
        (None, ("json:no*",), "json:orjson json:stdlib"),
        (None, ("json",), ""),
        (("json:orjson+zstd:3",), ("json:orjson+zstd:9",), "json:orjson json:node"),
        (("json:orjson,non_str_keys=true",), ("json:stdlib",), "json:orjson json:node"),
        (("json:node",), (), "json:orjson json:stdlib json:node"),
        (("pickle",), (), ""),
    ],
)  # fmt: skip
def test_what_is_exchanged(chosen: tuple[str, ...] | None, unwanted: tuple[str, ...], left: str) -> None:
    """Codecs without options and compressors: a variant that is not wanted leaves its codec and its format there."""
    stage = importlib.import_module("tare.measure.stages.exchange")
    settings = Settings(codecs=chosen, exclude=unwanted)
    assert stage._asked(settings, ["json:orjson", "json:stdlib", "json:node"]) == left.split()


@pytest.fixture
def told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """Runs a command; what it printed, on which of both."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))

    def run(command: Any, *words: str) -> Any:
        return CliRunner().invoke(command, words, catch_exceptions=False, standalone_mode=False)

    return run


def test_a_default_run_says_which_languages_it_does_not_try(tmp_path: Path, told: Callable[..., Any]) -> None:
    """In one line on standard error, and not where codecs were chosen."""
    path = tmp_path / "d.json"
    path.write_text("[1]")
    line = "note    codecs of R and Node can be measured too: --codec 'json:*' or 'parquet:*' for all of a format, --codec '*' for all\n"
    said = told(measure_command.command, str(path), "--dry-run")
    assert said.stderr == line
    assert "note" not in said.stdout
    said = told(measure_command.command, str(path), "--dry-run", "--worker", "perl=perl x")
    assert "codecs of R, Node and Perl can" in said.stderr
    for words in (["--codec", "json:*"], ["--codec", "json:orjson"], ["--quiet"]):
        assert told(measure_command.command, str(path), "--dry-run", *words).stderr == ""
    assert told(measure_command.command, "--plan", "load", "--dry-run").stderr == ""


@pytest.mark.parametrize(("kind", "pattern"), [("table", "'parquet:*'"), ("document", "'json:*'")])
def test_the_format_named_is_one_that_holds_the_data(kind: str, pattern: str) -> None:
    assert f"--codec {pattern} for all of a format" in availability.others(kind=kind)


def test_a_run_tells_what_a_star_left_out(tmp_path: Path, told: Callable[..., Any]) -> None:
    """In its record, and beside the record's name."""
    path, record = tmp_path / "d.json", tmp_path / "d.tare.json"
    path.write_text("[1]")
    said = told(
        measure_command.command, str(path), "--codec", "json:stdlib*", "--codec", "json:n*",
        "--not", "json:node", "--time", "3s", "--csv", "--out", str(record),
    )  # fmt: skip
    reason = "json:node-rows (holds tables, not documents)"
    assert json.loads(record.read_text())["left_out"] == [reason]
    assert f"note    left out: {reason}\n" in said.stderr
    assert "left out" not in said.stdout
    assert "can be measured too" not in said.stderr


def test_pairs_of_named_codecs_come_first() -> None:
    """Then those of one named codec; of two that nobody named there are none. A format names all of its codecs."""
    stage = importlib.import_module("tare.measure.stages.exchange")
    a, b, c = "csv:pandas", "csv:r-readr", "csv:r"
    codecs, (both, one) = stage._rounds(Settings(codecs=("csv:r-readr,x=1", "rds:r")), [a, b, c])
    assert codecs == [b, a, c]
    assert both == [(b, b)]
    assert sorted(one) == sorted([(b, a), (b, c), (a, b), (c, b)])
    _, (both, one) = stage._rounds(Settings(codecs=("csv:r*",)), [a, b, c])
    assert both == [(b, b), (b, c), (c, b), (c, c)]
    assert (a, a) not in one
    for chosen in (("csv",), None):
        rounds = stage._rounds(Settings(codecs=chosen), [a, b, c])[1]
        assert len(rounds[0]) == 9
        assert not any(rounds[1:])


FAILED = {"codecs": ["a"], "pairs": {}, "reason": "nothing was exchanged: it broke"}
MADE = {"codecs": ["a"], "pairs": {"a": {"a": {"counts": {"same": 1}}}}, "own_share": 1.0}


@pytest.mark.parametrize(
    ("turns", "reason"),
    [
        ([FAILED, MADE], None),
        ([MADE, FAILED], None),
        ([{**MADE, "reason": "a column was not"}, FAILED], "a column was not"),
        ([FAILED, FAILED], "nothing was exchanged: it broke"),
    ],
)
def test_a_turn_that_failed_says_nothing_of_the_other(
    turns: list[dict[str, Any]], reason: str | None
) -> None:
    stage = importlib.import_module("tare.measure.stages.exchange")
    found: dict[str, Any] = {"codecs": ["a"], "pairs": {"a": {}}}
    for made in turns:
        stage._merge(found, made, [("a", "a")])
    assert found.get("reason") == reason
    assert ("own_share" in found) == (reason is None or reason.startswith("a column"))
