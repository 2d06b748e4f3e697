"""Mono's worker beyond the protocol: what Newtonsoft keeps, bytes shared with Python, and how it is compiled and started."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.capabilities import need_command, need_language, need_module, need_worker_codec
from support.shared_workers import shared_worker
from support.soak import scaled
from support.worker_requests import DEADLINE_S, ask, changes, load_document, worker_command

from tare.errors import WorkerError
from tare.measure.worker_client.client import Worker
from tare.measure.worker_client.languages import inventory

COMMAND = worker_command("mono")
DOCUMENT = {
    "b": [1, -7, 2**31, 2**53 + 1, -(2**63)],
    "a": {"half": 0.5, "sum": 0.1 + 0.2, "zero": -0.0, "none": None, "yes": True, "empty": [{}, [], ""]},
    "text": '\u00e9\U0001f600\x00"\\',
    "day": "2020-01-01T00:00:00Z",
    "least": [5e-324, 1e22, 1.0, 2.2250738585072011e-308],
}

# What comes back of the document: the paths that are not the same, with their verdicts. Mono's text of -0.0 is "0".
KEPT: dict[str, dict[str, str]] = {
    "json:mono-newtonsoft": {"a.zero": "lossy"},
    "json:mono-newtonsoft,dates=parse": {"a.zero": "lossy", "day": "lossy"},
    "json:mono-newtonsoft,reader=1": {"(whole)": "lossy"},
    "bson:mono-newtonsoft": {},
    "none:mono": {"(whole)": "lossy"},
}
# Probes whose fate is the library's own: status, and the tagged value that comes back.
PROBES: dict[tuple[str, str], tuple[str, Any]] = {
    ("json:mono-newtonsoft", "uint64_max"): ("decoded", {"$int": str(2**64 - 1)}),
    ("json:mono-newtonsoft", "int_2_200"): ("decoded", {"$int": str(2**200)}),
    ("json:mono-newtonsoft", "float_one"): ("decoded", {"$f64": "3ff0000000000000"}),
    ("json:mono-newtonsoft", "float_minus_zero"): ("decoded", {"$f64": "0000000000000000"}),
    ("json:mono-newtonsoft", "float_nan"): ("decoded", "NaN"),
    ("json:mono-newtonsoft", "float_minus_inf"): ("decoded", "-Infinity"),
    ("json:mono-newtonsoft", "text_surrogate"): ("decoded", "\ufffd"),
    ("json:mono-newtonsoft", "text_nul"): ("decoded", "a\0b"),
    ("json:mono-newtonsoft", "decimal_1_10"): ("decoded", {"$f64": "3ff199999999999a"}),
    ("json:mono-newtonsoft,floats=decimal", "decimal_1_10"): ("decoded", {"$dec": "1.10"}),
    ("json:mono-newtonsoft,floats=decimal", "float_least"): ("decoded", {"$dec": "0." + "0" * 28}),
    ("json:mono-newtonsoft", "datetime_utc"): ("decoded", "2021-03-04T05:06:07.000008+00:00"),
    ("json:mono-newtonsoft,dates=parse", "datetime_utc"): (
        "decoded",
        {"$ts": "2021-03-04T05:06:07.000008+00:00", "unit": "us", "tz": "+00:00"},
    ),
    ("json:mono-newtonsoft", "bytes"): ("decoded", "AP/+gA=="),
    ("json:mono-newtonsoft", "depth_2000"): ("decoded", {"$nest": 2000, "of": []}),
    ("json:mono-newtonsoft", "shared"): ("decoded", [[1], [1]]),
    ("json:mono-newtonsoft", "cycle"): ("n/a", None),
    ("json:mono-newtonsoft", "set"): ("n/a", None),
    ("bson:mono-newtonsoft", "key_empty"): ("decoded", {"": 1}),
    ("bson:mono-newtonsoft", "missing_key"): ("decoded", [{"a": None}, {}]),
    ("bson:mono-newtonsoft", "list_empty"): ("refused", None),
    ("bson:mono-newtonsoft", "null"): ("refused", None),
}
# What a text that Python's json refuses, or reads otherwise, becomes.
READ: dict[bytes, Any] = {
    b'{"a":1,"a":2}': {"a": 2},
    b"{a:'x',/*c*/}": {"a": "x"},
    b"0x10": 16,
    b"[1,]": [1],
    b'"\xff"': "\ufffd",
    b"[1e400]": "not a valid number",
    b"new Date(1)": "Constructor",
    b"[1] 2": "Additional text",
    b"[1": "Unexpected end",
    b"": "Error reading JToken",
    b"[" * 100_000 + b"]" * 100_000: "deeper than 5000",
}


@pytest.fixture
def loaded(tmp_path: Path) -> Iterator[Worker]:
    """One worker with the document."""
    need_worker_codec("json:mono-newtonsoft", "bson:mono-newtonsoft", language="mono")
    path = tmp_path / "loaded-document.json"
    path.write_text(json.dumps(DOCUMENT))
    with shared_worker("mono") as worker:
        load_document(worker, path)
        yield worker


def decoded(worker: Worker, codec: str, data: bytes, folder: Path) -> Any:
    """What the worker makes of bytes, as tagged values."""
    path, out = folder / "encoded", folder / "out.json"
    path.write_bytes(data)
    ask(worker, "prepare", codec=codec, encoded=str(path), cold=False)
    ask(worker, "decode_from", path=str(path), out=str(out))
    return json.loads(out.read_text(encoding="ascii"))


@pytest.mark.parametrize("codec", KEPT)
def test_what_comes_back_of_a_document(loaded: Worker, codec: str, tmp_path: Path) -> None:
    """From memory and from a file alike."""
    nothing = "(whole)" in KEPT[codec]
    assert ask(loaded, "prepare", codec=codec)["items"] == (0 if nothing else 1)
    assert changes(loaded, codec) == KEPT[codec]
    path = tmp_path / "file"
    written = ask(loaded, "run", what="write", codec=codec, path=str(path), batch=2)
    assert written["bytes"] == path.stat().st_size
    assert ask(loaded, "run", what="read", codec=codec, path=str(path), batch=1)["items"] == (not nothing)
    assert changes(loaded, codec) == KEPT[codec]


@pytest.mark.parametrize(("codec", "probe"), PROBES)
def test_what_becomes_of_a_probe(loaded: Worker, codec: str, probe: str) -> None:
    """Silent losses and refusals that are the library's own."""
    (cell,) = ask(loaded, "probe", codec=codec, set="values/1", only=[probe])["cells"]
    assert (cell["status"], cell.get("out")) == PROBES[codec, probe]


@pytest.mark.parametrize("text", READ, ids=lambda text: text[:12].decode("latin-1"))
def test_what_is_read_of_odd_texts(loaded: Worker, text: bytes, tmp_path: Path) -> None:
    """Newtonsoft takes more than JSON, and says what it does not take; no depth ends the worker."""
    if not isinstance(READ[text], str) or READ[text] == "\ufffd":
        assert decoded(loaded, "json:mono-newtonsoft", text, tmp_path) == READ[text]
        return
    with pytest.raises(WorkerError, match=READ[text]) as caught:
        decoded(loaded, "json:mono-newtonsoft", text, tmp_path)
    assert caught.value.phase == "decode"


def test_bson_is_that_of_python(loaded: Worker, tmp_path: Path) -> None:
    """One mapping, and several, in both directions; what BSON has and JSON has not comes back with its type."""
    import datetime as dt

    from tare.tagged import from_tagged

    bson = need_module("bson")

    value = {
        "n": 2**53 + 1,
        "x": -0.0,
        "b": b"\0\xff",
        "at": dt.datetime(2020, 1, 2, 3, 4, 5),
        "d": {"l": [None, True]},
    }
    back = from_tagged(decoded(loaded, "bson:mono-newtonsoft", bson.encode(value), tmp_path))
    assert back["at"] == value["at"].replace(tzinfo=dt.UTC)
    assert {**back, "at": value["at"]} == value
    assert str(back["x"]) == "-0.0"
    several = [{"a": 1}, {"a": 2}]
    data = b"".join(map(bson.encode, several))
    assert decoded(loaded, "bson:mono-newtonsoft", data, tmp_path) == several
    assert decoded(loaded, "bson:mono-newtonsoft,layout=sequence", bson.encode({"a": 1}), tmp_path) == [
        {"a": 1}
    ]
    for one in (several, {"a": [1, "x", {"y": 0.5}]}):
        path = tmp_path / "value.json"
        path.write_text(json.dumps(one))
        with shared_worker("mono") as worker:
            load_document(worker, path)
            ask(worker, "prepare", codec="bson:mono-newtonsoft")
            ask(worker, "encode_to", path=str(tmp_path / "made"))
        made = bson.decode_all((tmp_path / "made").read_bytes())
        assert made == (one if isinstance(one, list) else [one])


@pytest.mark.parametrize(
    ("tagged", "back"),
    [
        ({"$int": str(2**64)}, {"$bytes": "AAAAAAAAAAAB"}),
        ({"$dec": "1.10"}, {"$f64": "3ff199999999999a"}),
        ({"$f64": "7ff80000000007a2"}, {"$f64": "7ff80000000007a2"}),
        (
            {"$ts": "2021-03-04T05:06:07.000008+05:30", "unit": "us", "tz": "+05:30"},
            {"$ts": "2021-03-03T23:36:07.000000+00:00", "unit": "us", "tz": "+00:00"},
        ),
        ({"$text16": "d800"}, "\ufffd"),
        ({"$map": [["a\0b", 1]]}, None),
    ],
)
def test_what_bson_changes(tagged: Any, back: Any, tmp_path: Path) -> None:
    """Integers above 64 bits become bytes without a word; a name with NUL makes bytes that nothing reads."""
    need_worker_codec("bson:mono-newtonsoft", language="mono")
    path, made, out = tmp_path / "in.json", tmp_path / "made", tmp_path / "out.json"
    path.write_text(json.dumps({"v": tagged}))
    with shared_worker("mono") as worker:
        load_document(worker, path, "values")
        if back is None:
            with pytest.raises(WorkerError, match="Unexpected BsonType value: 0"):
                ask(worker, "prepare", codec="bson:mono-newtonsoft")
            return
        ask(worker, "prepare", codec="bson:mono-newtonsoft")
        ask(worker, "encode_to", path=str(made))
        ask(worker, "decode_from", path=str(made), out=str(out))
    assert json.loads(out.read_text(encoding="ascii")) == {"v": back}


@pytest.mark.parametrize(
    "data", [b"", b"\x10\0\0\0\x10a\0\1", b"\xff\xff\xff\x7f\x02a\0\xff\xff\xff\x7f", b"\0" * 9]
)
def test_broken_bson_is_an_error_of_decoding(loaded: Worker, data: bytes, tmp_path: Path) -> None:
    """Cut, or with lengths that are not there: refused, with no memory taken for them."""
    with pytest.raises(WorkerError) as caught:
        decoded(loaded, "bson:mono-newtonsoft", data, tmp_path)
    assert caught.value.phase == "decode"


def test_what_is_loaded_is_exact(tmp_path: Path) -> None:
    """The worker's own reader of JSON keeps every bit: doubles at their edges, the sign of zero, integers of any size."""
    need_worker_codec("json:mono-newtonsoft", "bson:mono-newtonsoft", language="mono")
    bson = need_module("bson")
    edges = [
        0.1,
        -0.0,
        5e-324,
        2.2250738585072014e-308,
        1.7976931348623157e308,
        9007199254740993.0,
        1e23,
        8.41e21,
    ]
    value = {"edges": edges, "whole": [2**63, -(2**63) - 1, 2**300], "lone": "\udc00a", "$k": ["\0"]}
    path, back = tmp_path / "in.json", tmp_path / "in.bson"
    path.write_text(json.dumps({"edges": edges, "more": [n / 7 for n in range(2000)]}))
    with shared_worker("mono") as worker:
        load_document(worker, path)
        ask(worker, "prepare", codec="bson:mono-newtonsoft")
        ask(worker, "encode_to", path=str(back))
        assert repr(bson.decode(back.read_bytes())) == repr(json.loads(path.read_text()))
        path.write_text(json.dumps(value))
        assert load_document(worker, path)["items"] == 1
        ask(worker, "prepare", codec="json:mono-newtonsoft")
        assert changes(worker, "json:mono-newtonsoft") == {"edges[*]": "lossy", "lone": "lossy"}


# --- how it is started ------------------------------------------------------------------------


def started(folder: Path, **more: str) -> subprocess.CompletedProcess[bytes]:
    """A whole life of the worker whose cache is in the folder: it says hello and ends."""
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(folder),
        "XDG_CACHE_HOME": str(folder / "cache"),
        **more,
    }
    return subprocess.run(
        COMMAND,
        input=b'{"id":1,"op":"hello"}\n',
        env=environment,
        capture_output=True,
        timeout=DEADLINE_S,
        check=False,
    )


def test_two_first_starts_at_once_compile_one_program(tmp_path: Path) -> None:
    """Both run; one program is left, and nothing beside it."""
    need_language("mono")
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(tmp_path),
        "XDG_CACHE_HOME": str(tmp_path / "cache"),
    }
    both = [
        subprocess.Popen(COMMAND, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment)
        for _ in range(2)
    ]
    said = [one.communicate(b'{"id":1,"op":"hello"}\n', timeout=DEADLINE_S)[0] for one in both]
    assert [json.loads(one)["ok"]["worker"] for one in said] == ["mono", "mono"]
    left = os.listdir(tmp_path / "cache" / "tare")
    assert (len(left), left[0][-4:]) == (1, ".exe")
    before = (tmp_path / "cache" / "tare" / left[0]).stat().st_mtime_ns
    assert started(tmp_path).returncode == 0
    assert (tmp_path / "cache" / "tare" / left[0]).stat().st_mtime_ns == before


def test_without_a_cache_it_runs_and_leaves_nothing(tmp_path: Path) -> None:
    """Where no folder can be made for the program, as with a home that is read-only, it is compiled for one life."""
    need_language("mono")
    (tmp_path / "cache").write_text("a file where a folder must be")
    (tmp_path / "tmp").mkdir()
    found = started(tmp_path, TMPDIR=str(tmp_path / "tmp"))
    assert (found.returncode, json.loads(found.stdout)["ok"]["worker"]) == (0, "mono")
    assert os.listdir(tmp_path / "tmp") == []


def test_without_the_library_it_says_what_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is compiled without its adapters, speaks, and measures the codec that does nothing."""
    need_language("mono")
    monkeypatch.setenv("TARE_MONO_LIB", "/nonexistent")
    with Worker("mono", COMMAND) as worker:
        assert ["none:mono"] == [one["id"] for one in worker.hello["codecs"]]
        line = "apt-get install libnewtonsoft-json5.0-cil"
        assert {one["install"] for one in worker.hello["missing"]} == {line}
        with pytest.raises(WorkerError, match=f"Mono finds no library for bson:mono-newtonsoft: {line}"):
            ask(worker, "prepare", codec="bson:mono-newtonsoft")


def test_a_compiler_without_its_runtime_is_told(tmp_path: Path) -> None:
    """The reason that rows show ends with what installs it."""
    for name in ("sh", "dirname", "mcs"):
        (tmp_path / name).symlink_to(need_command(name))
    given = f"env PATH={tmp_path} {' '.join(COMMAND)}"
    assert "mono is not installed: apt-get install mono-mcs" in inventory("mono", {"mono": given}).reason


def test_a_document_of_megabytes_goes_by_path(tmp_path: Path) -> None:
    """Loaded, encoded, decoded, weighed and verified: 12 MB in the long form, more than any line holds when it is in a reply."""
    count = scaled(10_000, 100_000)
    need_worker_codec("json:mono-newtonsoft", "bson:mono-newtonsoft", language="mono")
    path = tmp_path / "big.json"
    path.write_text(
        json.dumps([{"id": n, "name": f"n{n}" * 10, "price": n / 7, "tags": ["a"]} for n in range(count)])
    )
    for codec in ("json:mono-newtonsoft", "bson:mono-newtonsoft"):
        with Worker("mono", COMMAND) as worker:
            assert load_document(worker, path)["items"] == count
            ask(worker, "prepare", codec=codec, cold=False)
            peak = ask(worker, "mem", what="encode")["peak_bytes"]
            assert ask(worker, "encode_to", path=str(tmp_path / "encoded"))["bytes"] < peak
            ask(worker, "run", what="decode", batch=1, samples=2)
            assert ask(worker, "verify")["verdict"] == "same"
