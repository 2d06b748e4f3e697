"""YAML 1.1 and 1.2: what is read differently is told, either can be chosen, and what is dropped is told."""

from __future__ import annotations

import datetime as dt
import json
from pathlib import Path

import pytest
from support.capabilities import need_codec
from support.commands import invoke

import tare
from tare.datasets.yaml_notes import note_dropped
from tare.errors import DecodeError, UsageError


def notes_of(path: Path, text: str) -> list[str]:
    """What opening a text says."""
    path.write_text(text)
    return list(tare.open_dataset(path).notes)


@pytest.mark.parametrize(
    ("word", "value"),
    [("NO", False), ("on", True), ("010", 8), ("12:30:00", 45000), ("1_000", 1000), ("0b11", 3), ("1:30.5", 90.5), ("1e3", "1e3"), ("08", "08"), ("0o10", "0o10")],
)  # fmt: skip
def test_words_that_the_versions_read_differently_are_told(word: str, value: object, tmp_path: Path) -> None:
    need_codec("yaml")
    (note,) = notes_of(tmp_path / "x.yaml", f"a: 1\nb: {word}\n")
    assert f"{word} is {value!r} (line 2)" in note
    assert "--format yaml:ruamel" in note


@pytest.mark.parametrize(
    "word",
    ["true", "False", "10", "-1.5", "1.5e+3", "0x1F", ".inf", "~", "null", "no way", "'NO'", '"010"', "2024-01-05", "v1e3"],
)  # fmt: skip
def test_other_words_are_not(word: str, tmp_path: Path) -> None:
    need_codec("yaml")
    assert notes_of(tmp_path / "x.yaml", f"a: {word}\n") == []


def test_many_are_counted(tmp_path: Path) -> None:
    need_codec("yaml")
    (note,) = notes_of(tmp_path / "x.yaml", "- no\n" * 50)
    assert " and 45 more" in note


def test_a_codec_chooses_the_version(tmp_path: Path) -> None:
    need_codec("yaml:ruamel")
    (tmp_path / "x.yaml").write_text("a: NO\nb: 010\nc: 12:30:00\nd: 1e3\n")
    done = invoke("convert", "x.yaml", "x.json", "--from", "yaml:ruamel", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    wanted = {"a": "NO", "b": 10, "c": "12:30:00", "d": 1000.0}
    assert json.loads((tmp_path / "x.json").read_text()) == wanted
    assert "YAML 1.1" not in done.stderr
    assert tare.read(tmp_path / "x.yaml", format="yaml:ruamel") == wanted
    told = invoke("convert", "x.yaml", "y.json", cwd=tmp_path).stderr
    assert "NO is False (line 1)" in told
    assert "--from yaml:ruamel" in told


def test_several_documents_are_a_list_by_either(tmp_path: Path) -> None:
    need_codec("yaml:ruamel")
    (tmp_path / "x.yaml").write_text("a: 1\n---\na: 2\n")
    assert tare.read(tmp_path / "x.yaml") == [{"a": 1}, {"a": 2}]
    assert tare.read(tmp_path / "x.yaml", format="yaml:ruamel") == [{"a": 1}, {"a": 2}]


@pytest.mark.parametrize(
    ("id", "said"),
    [("yaml:no", "no library 'no'; did you mean"), ("csv:polars+zstd", "say 'csv:polars'"), ("nope:x", "there is no format")],
)  # fmt: skip
def test_a_codec_that_cannot_read_is_refused(id: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("a\n1\n")
    with pytest.raises(UsageError, match=said):
        tare.convert(tmp_path / "x.csv", tmp_path / "y.json", format=id)


def test_a_table_is_read_by_the_codec_that_is_named(tmp_path: Path) -> None:
    """Its options are taken, columns are chosen, and errors name the file."""
    (tmp_path / "x.csv").write_text("a;b\n1;2\n")
    table = tare.read(tmp_path / "x.csv", format="csv:stdlib,delimiter=semicolon", columns=["b"])
    assert table.to_pylist() == [{"b": "2"}]
    (tmp_path / "x.parquet").write_bytes(b"PAR1 no")
    with pytest.raises(DecodeError, match=r"^x\.parquet: parquet"):
        tare.read(tmp_path / "x.parquet", format="parquet:polars")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("# one\na: b#c  # two\n", "2 comments are"),
        ("a: 'x # y'\nb: \"#\"\nc: |\n  # text\n", ""),
        ("a: |  # head\n  # text\n# end", "2 comments are"),
        ("a: &x 1\nb: *x\nc: *x\n", "1 anchor and 2 aliases are"),
        ("a: &x {k: 1}  # c\nb:\n  <<: *x\n", "1 comment, 1 anchor and 1 alias are"),
        ("# only\n", "1 comment is"),
        ("a: b & c\nd: 2 * 3\n", ""),
        ("\u00e4: \u00f6 # c\n", "1 comment is"),
    ],
)
def test_what_no_value_holds_is_told(text: str, told: str) -> None:
    need_codec("yaml")
    said = f"{told} not kept: the values are what is compared" if told else ""
    assert note_dropped(text.encode()) == said


@pytest.mark.parametrize("codec", [None, "yaml:ruamel"])
def test_a_conversion_says_what_is_dropped(codec: str | None, tmp_path: Path) -> None:
    need_codec("yaml:ruamel")
    (tmp_path / "x.yaml").write_text("a: &x 1 # c\nb: *x\n")
    done = tare.convert(tmp_path / "x.yaml", tmp_path / "y.yaml", format=codec)
    assert "1 comment, 1 anchor and 1 alias are not kept: the values are what is compared" in done.notes


@pytest.mark.parametrize("codec", ["yaml", "yaml:pyyaml", "yaml:pyyaml,loader=safe", "yaml:ruamel"])
def test_signs_of_their_own_types_are_text(codec: str, tmp_path: Path) -> None:
    """YAML 1.1 has types for ``=`` and ``<<``, of which no loader makes a value."""
    need_codec(codec)
    text = "l: =\nm: [=, a]\n=: 1\nn: <<\no: {<<: {b: 2}}\n"
    wanted = {"l": "=", "m": ["=", "a"], "=": 1, "n": "<<", "o": {"b": 2}}
    assert tare.decode(text.encode(), codec) == wanted
    (tmp_path / "x.yaml").write_text(text)
    assert tare.read(tmp_path / "x.yaml", format=codec) == wanted
    assert notes_of(tmp_path / "x.yaml", text) == []


CORE = {
    "010": 10, "0o10": 8, "0x1F": 31, "+12": 12, "1e3": 1000.0, ".5": 0.5, "1.": 1.0, "-.inf": float("-inf"), "no": "no", "on": "on",
    "true": True, "FALSE": False, "~": None, "": None, "Null": None, "12:30:00": "12:30:00", "08": 8, "=": "=", "1.2.3": "1.2.3",
    "0b11": "0b11", "1_000": "1_000", "2024-01-05": dt.date(2024, 1, 5), "'010'": "010", "0o9": "0o9", "nan": "nan",
}  # fmt: skip


@pytest.mark.parametrize("head", ["%YAML 1.2\n---\n", "# first\n\n%YAML 1.2  # so\n---\n"])
def test_a_text_that_says_its_version_is_read_by_that(head: str, tmp_path: Path) -> None:
    need_codec("yaml")
    text = head + "".join(f"k{at}: {word}\n" for at, word in enumerate(CORE))
    assert [note for note in notes_of(tmp_path / "x.yaml", text) if "comment" not in note] == []
    found = list(tare.read(tmp_path / "x.yaml").values())
    assert list(map(repr, found)) == list(map(repr, CORE.values()))
    (note,) = notes_of(tmp_path / "x.yaml", "%YAML 1.1\n---\na: 010\n")
    assert "010 is 8" in note


def test_merged_keys_stay_where_the_version_is_said(tmp_path: Path) -> None:
    need_codec("yaml")
    (tmp_path / "x.yaml").write_text("%YAML 1.2\n---\na: &a {k: 010}\nb:\n  <<: *a\n...\n---\nno\n")
    assert tare.read(tmp_path / "x.yaml") == [{"a": {"k": 10}, "b": {"k": 10}}, "no"]
    (tmp_path / "y.yaml").write_text("%YAML 1.2\n---\na: 0o10\nb: yes\n")
    assert tare.convert(tmp_path / "y.yaml", tmp_path / "y.json").notes == []


@pytest.mark.parametrize("loader", ["safe", "c"])
def test_texts_are_texts_by_either_version(loader: str) -> None:
    """What one version reads as a number is quoted, at any size; numbers are written as before."""
    need_codec("yaml:ruamel")
    words = [
        "1e3",
        "5E2",
        "0o17",
        "0x1F",
        "09",
        "+1",
        ".5",
        "1.",
        "1_000",
        "12:30",
        "NO",
        "-",
        "1e",
        "0o8",
        "e3",
        ".inf",
    ]
    value = {word: [word] for word in words} | {
        "numbers": [1, -2.5, 1e20, 1e-7, float("inf"), 2**70, True, None]
    }
    data = tare.encode(value, f"yaml:pyyaml,loader={loader}")
    assert ruamel_reader().load(data) == value
    assert tare.decode(data, "yaml:pyyaml") == value
    assert b"e3:\n- e3\n" in data, "what no version reads as a number stays plain"


def ruamel_reader():
    """A reader by YAML 1.2 that is not Tare's."""
    from ruamel.yaml import YAML

    return YAML(typ="safe", pure=True)
