"""The guide 'Add a codec': its codec, as it is written, is listed, checked and measured."""

from __future__ import annotations

import re
from pathlib import Path

from support.capabilities import need_command, need_language, need_worker_codec
from support.guides import run_guide

from tare.codec import Codec
from tare.errors import WorkerError
from tare.measure.result import Result
from tare.measure.worker_client.client import Worker
from tare.measure.worker_client.languages import command_of, language_of

_PLACE = re.compile(r"`((?:python|workers|src)/[a-zA-Z/.]+)`")


def test_add_a_codec(root: Path, tmp_path: Path) -> None:
    need_worker_codec("v8:node", language="node")
    need_command("sed")
    folder = tmp_path / "work"
    folder.mkdir()
    said = run_guide(
        root, "add-a-codec.md", tmp_path, folder, least=2, changes={"--time 10": "--time 0 --quick"}
    )
    assert " 0 failed" in said, said
    # The listing has the id, the answer the names; which codec its command names depends on the times.
    for name in ("v8:node-zlib", "v8 (Node.js zlib)", "v8 (level 1, Node.js zlib)", "v8 (Node.js)"):
        assert name in said, said
    record = Result.load(folder / "zlib.tare.json").record
    found = {case["labels"]["codec"]: case for case in record["cases"] if "twin" not in case["labels"]}
    wanted = ("v8:node-zlib", "v8:node-zlib,level=1", "v8:node")
    assert {codec: found[codec]["status"] for codec in wanted} == dict.fromkeys(wanted, "ok")
    assert found["v8:node-zlib"]["bytes"] < found["v8:node"]["bytes"]


def test_the_ids_that_it_begins_with_are_taken(root: Path, tmp_path: Path) -> None:
    """By Python or by the worker of their language, options and all, whether or not the library is installed."""
    need_language("node")
    text = (root / "docs/guides/add-a-codec.md").read_text(encoding="utf-8")
    named = re.findall(r"`([a-z0-9]+:[^`]+)`", text.split("\n\n")[1])
    assert {language_of(codec, {}) for codec in named} == {"", "node"}
    for codec in named:
        language = language_of(codec, {})
        if not language:
            Codec.parse(codec)
            continue
        with Worker(language, command_of(language, {}), workdir=tmp_path) as worker:
            assert _refusal(worker, codec) in ("", "MissingPackage"), codec


def _refusal(worker: Worker, codec: str) -> str:
    """The type of the error with which a worker refuses to prepare a codec, or nothing."""
    try:
        worker.request("prepare", deadline_s=60.0, codec=codec, encoded=__file__, cold=False)
    except WorkerError as error:
        return error.type
    return ""


def test_the_places_that_it_names_are_there(root: Path) -> None:
    """Files of the table, and in them the lists that it names."""
    text = (root / "docs/guides/add-a-codec.md").read_text(encoding="utf-8")
    table = text.split("## In a worker that is there")[1].split("\n\n")[1]
    for line in table.splitlines()[2:]:
        worker = line.split("|")[1].strip().lower()
        folders = (root, root / "python" / "tare" / "workers" / worker)
        for place in _PLACE.findall(line):
            assert any((folder / place).exists() for folder in folders), place
    for place, name in (
        ("python/tare/workers/node/codecs.mjs", "DOCUMENTS"),
        ("python/tare/workers/node/tables.mjs", "TABLES"),
        ("python/tare/workers/java/src/Codec.java", "KNOWN"),
        ("workers/rust/src/codecs.rs", "CODECS"),
    ):
        assert f"`{name}`" in table
        assert name in (root / place).read_text(encoding="utf-8")
