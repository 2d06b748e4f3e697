"""Java's worker beyond the protocol: what each codec keeps, that decoding makes plain values only, and the JDK alone."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.capabilities import need_language, need_worker_codec
from support.shared_workers import shared_worker
from support.soak import scaled
from support.worker_requests import ask, load_document, worker_command

from tare.errors import WorkerError
from tare.measure.worker_client.client import Worker

COMMAND = worker_command("java")
DOCUMENT = {
    "b": [1, -7, 2**31, 2**53 + 1, -(2**63)],
    "a": {"half": 0.5, "sum": 0.1 + 0.2, "zero": -0.0, "none": None, "yes": True, "empty": [{}, [], ""]},
    "text": '\u00e9\U0001f600\x00"\\',
}  # fmt: skip

# What comes back of the document: the paths that are not the same, with their verdicts.
KEPT: dict[str, dict[str, str]] = {
    "java:java": {},
    "json:java-jackson": {},
    "json:java-jackson,floats=decimal": {"a.half": "type", "a.sum": "type", "a.zero": "lossy"},
    "cbor:java-jackson": {},
    "smile:java-jackson": {},
    "msgpack:java-jackson": {},
    "kryo:java-kryo": {},
    "kryo:java-kryo,references=1": {},
    "fory:java-fory": {},
    "avro:java-avro": {},
    "json:java-gson,nulls=keep,numbers=long": {},
    "json:java-gson": {"a.none": "lossy", "a": "lossy", "b[*]": "lossy"},
}
# Probes whose fate is the library's own: status, and the tagged value that comes back.
PROBES: dict[tuple[str, str], tuple[str, Any]] = {
    ("json:java-jackson", "float_nan"): ("decoded", "NaN"),
    ("json:java-jackson", "date"): ("refused", None),
    ("json:java-jackson", "depth_2000"): ("refused", None),
    ("json:java-jackson", "key_int"): ("decoded", {"1": "a"}),
    ("json:java-gson", "float_nan"): ("refused", None),
    ("java:java", "float_nan_payload"): ("decoded", {"$f64": "7ff8000000000000"}),
    ("java:java", "cycle"): ("decoded", {"$def": 1, "of": [{"$ref": 1}]}),
    ("kryo:java-kryo", "shared"): ("decoded", [[1], [1]]),
    ("fory:java-fory", "depth_200"): ("error", None),
    ("avro:java-avro", "int_2_200"): ("refused", None),
}


@pytest.fixture
def loaded(tmp_path: Path) -> Iterator[Worker]:
    """One worker with the document."""
    need_language("java")
    path = tmp_path / "loaded-document.json"
    path.write_text(json.dumps(DOCUMENT))
    with shared_worker("java") as worker:
        load_document(worker, path)
        yield worker


def changes(worker: Worker, codec: str) -> dict[str, str]:
    found = ask(worker, "verify", codec=codec, full=True, limit=50)
    return {one["path"]: one["verdict"] for one in reversed(found["changes"])}


@pytest.mark.parametrize("codec", KEPT)
def test_what_comes_back_of_a_document(loaded: Worker, codec: str, tmp_path: Path) -> None:
    """From memory and from a file alike."""
    need_worker_codec(codec, language="java")
    assert ask(loaded, "prepare", codec=codec)["items"] == 1
    assert changes(loaded, codec) == KEPT[codec]
    path = tmp_path / "file"
    written = ask(loaded, "run", what="write", codec=codec, path=str(path), batch=2)
    assert written["bytes"] == path.stat().st_size
    assert ask(loaded, "run", what="read", codec=codec, path=str(path), batch=1)["items"] == 1
    assert changes(loaded, codec) == KEPT[codec]


def test_a_name_that_is_gone_is_told_as_missing(loaded: Worker) -> None:
    """Gson leaves out what is null: that is no null that came back as null."""
    need_worker_codec("json:java-gson", language="java")
    ask(loaded, "prepare", codec="json:java-gson")
    found = ask(loaded, "verify", codec="json:java-gson", full=True, limit=50)["changes"]
    assert [(one["in"], one["out"]) for one in found if one["path"] == "a.none"] == [("null", "(missing)")]


@pytest.mark.parametrize("codec", KEPT)
def test_the_same_bytes_are_decoded_again(loaded: Worker, codec: str) -> None:
    """As every sample does."""
    need_worker_codec(codec, language="java")
    ask(loaded, "prepare", codec=codec, cold=True)
    assert ask(loaded, "run", what="decode", codec=codec, batch=3, samples=2)["items"] == 1


@pytest.mark.parametrize(("codec", "probe"), PROBES)
def test_what_becomes_of_a_probe(loaded: Worker, codec: str, probe: str) -> None:
    """Silent losses and refusals that are the libraries' own."""
    need_worker_codec(codec, language="java")
    (cell,) = ask(loaded, "probe", codec=codec, set="values/1", only=[probe])["cells"]
    assert (cell["status"], cell.get("out")) == PROBES[codec, probe]


def test_serialized_objects_of_other_classes_are_not_made(loaded: Worker, tmp_path: Path) -> None:
    """A class that is not on the list is refused by its name."""
    path = tmp_path / "url"
    path.write_bytes(
        bytes.fromhex("aced000573720010") + b"java.util.Locale" + bytes.fromhex("7ef811609c30f9ec0200007870")
    )
    with pytest.raises(WorkerError, match="REJECTED") as caught:
        ask(loaded, "prepare", codec="java:java", encoded=str(path))
    assert caught.value.phase == "decode"


def test_the_jdk_alone_is_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a single library it speaks, and says what fetches the others."""
    need_language("java")
    monkeypatch.setenv("TARE_JAVA_CLASSES", "/nonexistent")
    with Worker("java", COMMAND) as worker:
        assert {"java:java", "none:java"} == {one["id"] for one in worker.hello["codecs"]}
        missing = {one["id"]: one["install"] for one in worker.hello["missing"]}
        assert missing["kryo:java-kryo"].startswith("mvn -q -f ")
        with pytest.raises(WorkerError, match="Java finds no library for json:java-jackson: mvn -q -f"):
            ask(worker, "prepare", codec="json:java-jackson")


def test_it_warms_up_as_long_as_it_may(loaded: Worker) -> None:
    """Once for each operation, and not at all unless it is asked: the compiler begins in each process anew."""
    need_worker_codec("json:java-jackson", language="java")
    ask(loaded, "prepare", codec="json:java-jackson", cold=True)
    asked = {"what": "encode", "codec": "json:java-jackson", "batch": 1}

    def warmed(**more: Any) -> int:
        return int(ask(loaded, "run", **asked, **more).get("warm_calls", 0))

    assert warmed() == 0
    assert warmed(warm_ms=60_000, budget_ms=50) > 0
    assert warmed(warm_ms=600) > 0, "a budget had ended it before"
    assert warmed(warm_ms=600) == 0, "once is enough"
    assert warmed(warm_ms=600, samples=2) == 0


def test_a_document_without_a_backslash_loads_in_time(tmp_path: Path) -> None:
    """Each text is read to its end, and no further: 5 MB took a minute, and four times as much sixteen."""
    need_language("java")
    rows = [{"id": n, "name": f"row {n}", "text": "x" * 60} for n in range(scaled(40_000, 210_000))]
    path = tmp_path / "large.json"
    path.write_text(json.dumps(rows))
    with shared_worker("java") as worker:
        assert load_document(worker, path)["items"] == len(rows)
