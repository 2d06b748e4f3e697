"""FlexBuffers, the JSONB of SQLite and PostgreSQL, and Parquet Variant: what they lose, and how a field is read."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from support.capabilities import need_codec

from tare.codec import Codec
from tare.errors import DecodeError, EncodeError, Limit, MissingLibrary
from tare.formats import pgserver

PEERS = ("flexbuffers", "sqlitejsonb", "pgjsonb", "variant")


@pytest.mark.parametrize("id", PEERS)
def test_a_field_is_read_by_its_path(id: str) -> None:
    """`path` gives the value that the whole document has there: nested, null, a container, odd names."""
    codec = need_codec(id)
    document = {"a b": [1, {'x"y': {"z.z": "deep"}}], "p": None, "n": [[2.5], {}]}
    data = codec.encode(document)
    read = codec.library.path
    assert read is not None
    for steps, wanted in (
        (["a b", "1", 'x"y', "z.z"], "deep"),
        (["a b", "0"], 1),
        (["a b"], document["a b"]),
        (["p"], None),
        (["n", "0", "0"], 2.5),
        (["n", "1"], {}),
    ):
        assert wanted == read(data, steps, **codec.options), steps


@pytest.mark.parametrize(
    ("id", "document"), [("sqlitejsonb", {"0": {"1": "x"}}), ("pgjsonb", {"0": {"1": "x"}})]
)
def test_names_that_are_numbers_are_found(id: str, document: dict[str, Any]) -> None:
    """A step of digits is a name where the document has one."""
    codec = need_codec(id)
    assert codec.library.path is not None
    assert codec.library.path(codec.encode(document), ["0", "1"], **codec.options) == "x"


@pytest.mark.parametrize("id", ["flexbuffers", "sqlitejsonb", "pgjsonb"])
def test_a_path_that_is_not_there_is_an_error(id: str) -> None:
    """A missing name is no null."""
    codec = need_codec(id)
    assert codec.library.path is not None
    with pytest.raises(LookupError):
        codec.library.path(codec.encode({"a": {"b": 1}}), ["a", "c"], **codec.options)


# What each loses without a word, as its notes say: a value, and what comes back.
LOSSES = [
    ("sqlitejsonb", float("nan"), None),
    ("pgjsonb", -0.0, 0.0),
    ("pgjsonb", 1e16, 10**16),
    ("pgjsonb", float("inf"), None),
    ("variant", float("inf"), None),
]


@pytest.mark.parametrize(("id", "value", "back"), LOSSES)
def test_silent_losses_are_those_of_the_notes(id: str, value: Any, back: Any) -> None:
    """Type and sign too: repr tells 0.0 from -0.0 and 1 from 1.0."""
    codec = need_codec(id)
    assert repr(back) == repr(codec.decode(codec.encode(value)))


@pytest.mark.parametrize("id", ["flexbuffers", "pgjsonb", "variant"])
def test_the_order_of_names_is_lost(id: str) -> None:
    """Each sorts the names, PostgreSQL by length first."""
    codec = need_codec(id)
    names = list(codec.decode(codec.encode({"bb": 1, "c": 2, "a": 3})))
    assert names == (["a", "c", "bb"] if id == "pgjsonb" else ["a", "bb", "c"])


def test_sqlite_keeps_order_and_numbers() -> None:
    """Text of numbers stays text: every 64-bit integer and float comes back, in order."""
    codec = need_codec("sqlitejsonb")
    document = {"b": [2**64 - 1, -(2**63), 5e-324, 1.7976931348623157e308, -0.0], "a": 1.0}
    back = codec.decode(codec.encode(document))
    assert repr(document) == repr(back)


@pytest.mark.parametrize(
    ("id", "value"),
    [
        ("flexbuffers", 2**63),
        ("flexbuffers", {"\u00e9": 1}),
        ("sqlitejsonb", 2**64),
        ("pgjsonb", "\0"),
        ("variant", 2**63),
    ],
)
def test_refusals_are_those_of_the_notes(id: str, value: Any) -> None:
    """What the notes call refused is refused, by an error of ours."""
    with pytest.raises(EncodeError):
        need_codec(id).encode(value)


def test_variant_keeps_the_empty_name_or_refuses_it() -> None:
    """DuckDB 2 keeps it, DuckDB 1 refused it: no version changes it without a word."""
    codec = need_codec("variant")
    document = {"": 1, "a": {"": [2]}}
    try:
        data = codec.encode(document)
    except EncodeError:
        return
    assert codec.decode(data) == document


def test_variant_refuses_what_it_would_read_for_ever() -> None:
    """Each level doubles the time of reading: deep documents are refused when they are written."""
    codec = need_codec("variant")
    value: Any = 1
    for _ in range(30):
        value = [value]
    with pytest.raises(Limit, match="18 levels"):
        codec.encode(value)


def test_damaged_jsonb_never_reaches_the_server() -> None:
    """Every single-bit flip of a JSONB: an error of ours or another document, and the server lives on."""
    codec = need_codec("pgjsonb")
    document = {"a": [1, -2.5, "text", None, True, {"b": []}], "zz": {"c": 10**12, "d": ""}}
    data = codec.encode(document)
    refused = 0
    pid = pgserver.connection().info.backend_pid
    for position in range(len(data) * 8):
        flipped = bytearray(data)
        flipped[position // 8] ^= 1 << position % 8
        try:
            codec.decode(bytes(flipped))
        except DecodeError:
            refused += 1
    assert refused > len(data)
    assert pid == pgserver.connection().info.backend_pid
    assert document == codec.decode(data)


def test_the_server_ends_with_its_process(tmp_path: Path) -> None:
    """Killed or not, a process leaves neither server nor folder."""
    need_codec("pgjsonb")
    script = (
        "import os, sys; from tare.codec import Codec; from tare.formats import pgserver\n"
        "Codec.parse('pgjsonb').encode([1]); print(pgserver.connection().info.host, flush=True)\n"
        "os.kill(os.getpid(), 9)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == -9, done.stderr
    folder = Path(done.stdout.strip())
    assert folder.name.startswith("tare-pg-")
    for _ in range(600):
        if not folder.exists():
            break
        subprocess.run(["sleep", "0.05"], check=True)
    assert not folder.exists()


def test_a_missing_server_is_said_with_its_install_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the server's programs the library is not installed, and the line says what to do."""
    monkeypatch.setattr(pgserver, "_PLACES", "/nowhere")
    monkeypatch.setenv("PATH", "/nowhere")
    library = Codec.parse("pgjsonb:postgresql").library
    assert not library.installed
    assert library.install_line.endswith("apt-get install postgresql")
    with pytest.raises(MissingLibrary, match="apt-get install postgresql"):
        library.require()


@pytest.mark.parametrize(("value", "kind"), [({1: 2}, "int"), ([{"a": {None: 1}}], "NoneType")])
def test_flexbuffers_says_what_its_names_are(value: Any, kind: str) -> None:
    """Its library says which attribute an integer has not."""
    codec = need_codec("flexbuffers")
    with pytest.raises(EncodeError, match=f"names must be text, and one is of the type {kind}"):
        codec.encode(value)


@pytest.mark.parametrize(
    ("text", "got"),
    [(b"[1,\nf(2)]", "a call"), (b"[nan]", "a name"), (b"a.b", "an attribute"), (b"[1 if 2 else 3]", "another expression .IfExp.")],
)  # fmt: skip
def test_what_is_no_literal_of_python_is_told_in_words(text: bytes, got: str) -> None:
    """Not by its place in memory, which is another each time."""
    with pytest.raises(DecodeError, match=f"expected a literal, got {got}") as caught:
        Codec.parse("repr").decode(text)
    assert "0x" not in str(caught.value)
