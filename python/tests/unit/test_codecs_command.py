"""``tare codecs``: the listing for people, for programs, and the install lines."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from click.testing import CliRunner
from support.capabilities import need

from tare import formats
from tare.cli.codecs import command
from tare.codec.peers import PEERS
from tare.errors import UsageError
from tare.measure.worker_client import languages


def run(*args: str) -> str:
    """What the command prints on stdout."""
    result = CliRunner().invoke(command, args, catch_exceptions=False, standalone_mode=False)
    assert result.stderr == ""
    return result.stdout


def test_lists_every_library_within_100_columns() -> None:
    """In a pipe: one head line, a row for each registered library, nothing wider than 100 columns, no colour."""
    lines = run().splitlines()
    assert lines[0].split()[:3] == ["codec", "version", "marks"]
    listed = {line.split()[0] for line in lines[1:] if not line.startswith(" ")}
    expected = {
        format.id if library.name == format.home else f"{format.id}:{library.name}"
        for format in formats.FORMATS
        for library in format.libraries
    }
    assert expected == listed
    assert max(map(len, lines)) <= 100
    assert "\x1b" not in "".join(lines)


def test_one_format_is_explained() -> None:
    """With a format's id: its libraries only, and what each option means and allows."""
    text = run("yaml")
    assert "yaml:pyyaml" in text
    assert "json:orjson" not in text
    assert "loader=safe (safe|c):" in text
    assert max(map(len, text.splitlines())) <= 100
    with pytest.raises(UsageError, match="yml is an ending of yaml: say yaml"):
        run("yml")


def test_one_codec_is_explained(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the id of a codec, of Python's or of another language's: that one only, with the values of its options."""
    text = run("yaml:pyyaml,loader=c+zstd:3")
    assert "loader=safe (safe|c):" in text
    assert "yaml:ruamel" not in text
    with pytest.raises(UsageError, match="has no library 'pyaml'; did you mean pyyaml"):
        run("yaml:pyaml")
    rds = {"version": "4", "media": ["memory"], "options": {"form": "xdr", "fast": True}}
    rds["choices"] = {"form": ["xdr", "ascii"], "fast": [True, False], "level": [1, 2]}
    here = {"rds:r": rds, "csv:r": {"version": "4", "media": ["file"], "options": {"digits": 15}}}
    found = languages.Inventory("r", "4", here, {"yaml:r-yaml": "apt-get install r-cran-yaml"})
    monkeypatch.setattr(languages, "inventory", lambda *_: found)

    def told(*args: str) -> list[list[str]]:
        said = CliRunner().invoke(command, args, catch_exceptions=False, standalone_mode=False)
        return [line.split() for line in said.stdout.splitlines()]

    options = ["level=auto", "(1|2)", "form=xdr", "(xdr|ascii)", "fast=true", "(true|false)"]
    for args in (["rds:r"], ["rds:r,form=ascii"], ["--language", "r", "rds"], ["--language", "r", "rds:r"]):
        [row] = told(*args)
        assert (row[0], sorted(row[4:])) == ("rds:r", sorted(options))
    assert told("--language", "r")[0][4:] == ["form=xdr", "fast=true"]
    assert told("csv:r")[0][4:] == ["digits=15"]
    assert told("yaml:r-yaml") == [
        ["yaml:r-yaml", *["-", "-", "not", "installed:", "apt-get", "install", "r-cran-yaml"]]
    ]
    assert ["json:orjson", "rds:r"] == [
        one["id"] for one in json.loads(run("json:orjson", "rds:r", "--json"))
    ]
    assert "apt-get install r-cran-yaml\n" == run("yaml:r-yaml", "--missing")
    for id, said in (
        ("rds:r-nothing", "the R worker has no codec rds:r-nothing"),
        ("rds:r,x=1", "rds:r has no option 'x'; it has form, fast, level"),
        ("rds:r,form=ascii,level=3", "rds:r: level is one of 1, 2, not '3'"),
        ("rds:r+zstd:3", r"rds:r takes no \+zstd:3: that is for Python's codecs"),
        ("yaml:r-yaml+zstd:3", r"yaml:r-yaml takes no \+zstd:3"),
    ):
        with pytest.raises(UsageError, match=said):
            run(id)
        with pytest.raises(UsageError, match=said):
            run("--language", "r", id)


def test_a_format_of_other_languages_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """As each of them has it; one that nobody has is told with those that could not be asked."""
    about = {"version": "1", "media": ["memory"], "options": {}}
    here = {
        "java": languages.Inventory("java", "17", {"smile:java-jackson": about, "json:java-gson": about}),
        "node": languages.Inventory(
            "node", "20", {"v8:node": about}, {"smile:node-smile": "npm install smile"}
        ),
    }
    asked: list[str] = []

    def inventory(language: str, *_: object) -> languages.Inventory:
        asked.append(language)
        return here.get(language) or languages.Inventory(language, reason="is not here", absent=True)

    monkeypatch.setattr(languages, "inventory", inventory)
    said = CliRunner().invoke(command, ["smile", "v8"], catch_exceptions=False, standalone_mode=False)
    assert [line.split()[0] for line in said.stdout.splitlines()] == [
        "v8:node", "smile:node-smile", "smile:java-jackson"
    ]  # fmt: skip
    assert run("smile", "--missing") == "npm install smile\n"
    with pytest.raises(UsageError, match=r"no format 'bitcode'.*; could not be asked: R, Mono, Rust"):
        run("bitcode")
    with pytest.raises(UsageError, match="Java has no 'v8'; its formats are smile, json"):
        run("--language", "java", "v8", "smile")
    asked.clear()
    run("yaml")
    with pytest.raises(UsageError, match="yml is an ending of yaml"):
        run("yml")
    assert asked == []


def test_json_holds_everything() -> None:
    """--json is one array with an entry per library: version, kinds, options, flags, install line."""
    entries = {entry["id"]: entry for entry in json.loads(run("--json"))}
    assert sum(len(format.libraries) for format in formats.FORMATS) == len(entries)
    pickle = entries["pickle"]
    assert pickle["executes_code"]
    assert {"default": 5, "choices": [0, 1, 2, 3, 4, 5]} == {
        key: pickle["options"]["protocol"][key] for key in ("default", "choices")
    }
    assert "pip install ujson" == entries["json:ujson"]["install"]
    assert {"document": "python", "table": "records"} == entries["json:orjson"]["kinds"]


def test_missing_prints_each_install_line_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """--missing prints one command for all that pip installs, and says so on stderr if nothing lacks."""
    for peer in PEERS:
        need(peer.installed, f"{peer.name} is not installed: {peer.install_line}")
    json_format = formats.get("json")
    gone = tuple(
        replace(library, modules=("no_such_module_of_any_kind",)) if library.extra else library
        for library in json_format.libraries
    )
    monkeypatch.setattr(formats, "FORMATS", (replace(json_format, libraries=gone),), raising=False)
    names = [library.distribution for library in gone if library.extra]
    assert f"pip install {' '.join(names)}\n" == run("--missing")
    assert "not installed: pip install ujson" in run()
    monkeypatch.setattr(formats, "FORMATS", (json_format,), raising=False)
    here = replace(json_format, libraries=json_format.libraries[:1])  # of Python itself: never missing
    monkeypatch.setattr(formats, "FORMATS", (here,), raising=False)
    said = CliRunner().invoke(command, ["--missing"], catch_exceptions=False, standalone_mode=False)
    assert "" == said.stdout
    assert "nothing is missing: every library is installed\n" == said.stderr


def test_a_terminal_is_told_the_compressors(capsys: pytest.CaptureFixture[str]) -> None:
    """Below the table, on stderr: the marks, and what may follow a codec's id, in one line each."""
    from tare.cli import codecs

    codecs._print_table([(formats.get("json"), formats.get("json").libraries[0])])
    told = capsys.readouterr()
    assert "json:stdlib" in told.out
    compressors = next(line for line in told.err.splitlines() if line.startswith("compressors:"))
    assert "+zstd:3 (-7..22)" in compressors
    assert "+none" not in compressors
    assert len(compressors) <= 100
