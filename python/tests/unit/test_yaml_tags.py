"""Tags of YAML: each has its value in every format, or a message that names the tag, the line and what to do."""

from __future__ import annotations

import base64
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from support.capabilities import need_codec, need_module

import tare
from tare.errors import EncodeError, Malformed, TareError, Unsupported

ALL = """\
s: !!set {b, a, c}
o: !!omap [z: 1, a: 2]
p: !!pairs [a: 1, a: 2]
b: !!binary |
  aGVs
  bG8=
t: !!timestamp 2001-12-14t21:59:43.10-05:00
d: 2002-12-14
n: 2001-12-14T21:59:43.123456789Z
i: !!int '5'
x: !!str 5
e: !!null
"""
PLAIN = {
    "s": ["a", "b", "c"], "o": {"z": 1, "a": 2}, "p": [["a", 1], ["a", 2]], "b": base64.b64encode(b"hello").decode(),
    "t": "2001-12-14T21:59:43.100000-05:00", "d": "2002-12-14", "n": "2001-12-14T21:59:43.123456789Z", "i": 5, "x": "5",
    "e": None,
}  # fmt: skip


@pytest.fixture
def source(tmp_path: Path) -> Path:
    need_codec("yaml")
    (tmp_path / "x.yaml").write_text(ALL)
    return tmp_path / "x.yaml"


def test_each_tag_is_its_value(source: Path, tmp_path: Path) -> None:
    """An ordered map is a mapping in that order; a set is a list in an order that is the same each time."""
    done = tare.convert(source, tmp_path / "x.json")
    text = (tmp_path / "x.json").read_text()
    assert json.loads(text) == PLAIN
    assert text.index('"z"') < text.index('"a": 2')
    assert {one["path"] for one in done.changes} == {"s (type)", "p[*] (type)", "b", "t", "d"}
    assert {one["verdict"] for one in done.changes} == {"type"}
    assert any(
        note == "times with nanoseconds are kept as text: 2001-12-14T21:59:43.123456789Z (line 9)"
        for note in done.notes
    )
    assert not [note for note in done.notes if "YAML 1.1" in note]


def test_two_processes_write_the_same_bytes(source: Path, tmp_path: Path) -> None:
    """The order of a set of texts is another in each."""
    code = "import sys, tare; tare.convert(sys.argv[1], sys.argv[2], verify=False)"
    made = []
    for seed in ("1", "2"):
        subprocess.run(
            [sys.executable, "-c", code, source, tmp_path / "y.json"],
            check=True,
            env={**os.environ, "PYTHONHASHSEED": seed},
        )
        made.append((tmp_path / "y.json").read_bytes())
    assert made[0] == made[1]


@pytest.mark.parametrize("target", ["msgpack", "cbor", "bson", "yaml"])
def test_each_tag_is_a_value_of_other_formats(target: str, source: Path, tmp_path: Path) -> None:
    """What they have no type for is text or a list, and told; BSON has no time with an offset."""
    need_codec(target)
    if target == "bson":
        source.write_text(re.sub("(?m)^t: .*\n", "", ALL))
    tare.convert(source, tmp_path / f"x.{target}")
    back = tare.read(tmp_path / f"x.{target}")
    assert sorted(back["s"]) == PLAIN["s"]
    assert list(back["o"].items()) == [("z", 1), ("a", 2)]
    assert [list(pair) for pair in back["p"]] == PLAIN["p"]
    assert (bytes(back["b"]), back["n"], back["i"], back["e"]) == (b"hello", PLAIN["n"], 5, None)


def test_another_library_reads_what_tare_reads(source: Path) -> None:
    """But for nanoseconds, which it cuts, and pairs, which are tuples."""
    ruamel = need_module("ruamel.yaml")
    other: Any = ruamel.YAML(typ="safe", pure=True).load(source.read_text())
    found = tare.read(source)
    for name in ("s", "b", "d", "i", "x", "e"):
        assert found[name] == other[name], name
    assert list(found["o"].items()) == list(other["o"].items())
    assert found["t"].utctimetuple() == other["t"].utctimetuple()


def test_sets_are_lists_in_tables(tmp_path: Path) -> None:
    need_codec("yaml")
    (tmp_path / "x.yaml").write_text("- {n: 1, s: !!set {a}}\n- {n: 2, s: !!set {}}\n")
    tare.convert(tmp_path / "x.yaml", tmp_path / "x.parquet")
    assert tare.read(tmp_path / "x.parquet").to_pylist() == [{"n": 1, "s": ["a"]}, {"n": 2, "s": []}]
    (tmp_path / "d.yaml").write_text("!!set {2024-01-02, 2024-01-01}\n")
    done = tare.convert(tmp_path / "d.yaml", tmp_path / "d.json")
    assert json.loads((tmp_path / "d.json").read_text()) == ["2024-01-01", "2024-01-02"]
    assert {one["verdict"] for one in done.changes} == {"type"}


WRONG = {
    "!!binary hello world!": r"invalid !!binary 'hello world!': .* in line 2",
    "!!timestamp foo": r"invalid !!timestamp 'foo' in line 2",
    "2024-02-31": r"invalid !!timestamp '2024-02-31': day is out of range for month in line 2",
    "!!bool maybe": r"invalid !!bool 'maybe' in line 2.*Quote the value",
    "!!int x": r"invalid !!int 'x' in line 2",
    "!!int": r"invalid !!int '' in line 2",
    "!!float ''": r"invalid !!float '' in line 2",
    "!!null foo": r"invalid !!null 'foo': expected nothing, ~ or null in line 2",
    "!!int [1]": r"invalid !!int: expected a scalar, got a sequence in line 2",
    "!!set {a: 1}": r"invalid !!set: one of its names has a value in line 2",
    "!!set [a]": r"invalid !!set: expected a mapping, got a sequence in line 2",
    "!!omap {a: 1}": r"invalid !!omap: expected a sequence, got a mapping in line 2",
    "!!omap [a: 1, a: 2]": r"!!omap has the name 'a' twice in line 2.*!!pairs",
    "!!omap [a]": r"invalid item of !!omap: expected a mapping of one name, got a scalar in line 2",
    "!!omap [{a: 1, b: 2}]": r"got 2 names in line 2",
    "!!omap [{[1]: 2}]": r"a name of !!omap is a list or a mapping in line 2",
    "!!pairs {a: 1}": r"line 2",
    "!!pairs [a]": r"line 2",
    "!Ref Bucket": r"no value is known for the tag !Ref in line 2.*remove it",
    "!!python/object:os.system {}": r"the tag !!python/object:os.system names code in line 2",
    "!!foo x": r"no value is known for the tag !!foo in line 2",
}


@pytest.mark.parametrize("text", WRONG)
@pytest.mark.parametrize("head", ["# one\n", "%YAML 1.2\n---\n"])
def test_what_is_wrong_is_said_with_tag_and_line(text: str, head: str, tmp_path: Path) -> None:
    """By either version; every message says what to do, and no other error comes out."""
    need_codec("yaml")
    (tmp_path / "x.yaml").write_text(f"{head}a: {text}\n")
    message = WRONG[text].replace("line 2", f"line {head.count(chr(10)) + 1}")
    with pytest.raises(Unsupported if re.match("!Ref|!!foo", text) else Malformed, match=message) as told:
        tare.read(tmp_path / "x.yaml")
    assert re.search(r"at byte \d+\. \w", str(told.value))
    with pytest.raises(TareError):
        tare.decode(f"a: {text}\n".encode(), "yaml")
    with pytest.raises((TareError, EncodeError)):
        tare.convert(tmp_path / "x.yaml", tmp_path / "x.json")


def test_a_tag_that_makes_a_text_needs_no_note(tmp_path: Path) -> None:
    """Both versions read it so; a plain word beside it has one."""
    need_codec("yaml")
    (tmp_path / "x.yaml").write_text("a: !!str 5\nb: 1e3\n")
    (note,) = tare.open_dataset(tmp_path / "x.yaml").notes
    assert "line 2" in note
    assert "line 1" not in note


@pytest.mark.parametrize("codec", ["yaml", "yaml:pyyaml,loader=safe", "yaml:ruamel"])
def test_no_library_cuts_nanoseconds(codec: str) -> None:
    """Those that are zero are none."""
    need_codec(codec)
    found = tare.decode(b"a: 2001-12-14T21:59:43.123456789Z\nb: 2001-12-14T21:59:43.123456000Z\n", codec)
    assert found["a"] == "2001-12-14T21:59:43.123456789Z"
    assert found["b"].microsecond == 123456
