"""What counts as lossy, as another type and as the same, held against `verify` of every worker: docs/guides/fidelity.md.

A difference is planted: one value is loaded, and the bytes of another are decoded in its place.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.capabilities import need_worker_codec
from support.shared_workers import in_one_process, shared_worker
from support.worker_requests import ask, load_document

from tare.errors import WorkerError
from tare.measure.worker_client.client import Worker
from tare.tagged import dump_text

NAN = float("nan")
(OTHER_NAN,) = struct.unpack(">d", bytes.fromhex("7ff8000000000007"))

# Of each language a codec that keeps what it is given.
CODECS = {
    "python": "pickle",
    "r": "rds:r",
    "node": "v8:node",
    "rust": "msgpack:rust-rmp",
    "java": "java:java",
    "mono": "bson:mono-newtonsoft",
}
# What is loaded, what comes back, the verdict; and the verdicts of languages that do not hold these two values apart, or
# others (R's and JavaScript's numbers; BSON has no single precision), or hold apart what the others do not (Python tells
# the payload of a NaN).
RULES: dict[str, tuple[Any, Any, str, dict[str, str]]] = {
    "a whole number as a double": (5, 5.0, "type", {"node": "same"}),
    "a double as a whole number": (5.0, 5, "type", {"node": "same"}),
    "a large whole number as a double": (10**15, 1e15, "type", {"node": "same", "r": "same"}),
    "2^53 as a double": (2**53, 2.0**53, "type", {"node": "same", "r": "same"}),
    "one above 2^53 as the double nearest": (2**53 + 1, 2.0**53, "lossy", {}),
    "one above 2^53 as a double of its value": (2**60, 2.0**60, "lossy", {}),
    "a negative one as a double of its value": (-(2**60), -(2.0**60), "lossy", {}),
    "a double above 2^53 as a whole number": (2.0**60, 2**60, "type", {}),
    "a double above 2^53 as another whole number": (2.0**60, 2**60 + 512, "lossy", {}),
    "half as a whole number": (0.5, 0, "lossy", {}),
    "minus zero as zero": (-0.0, 0.0, "lossy", {}),
    "zero as minus zero": (0.0, -0.0, "lossy", {}),
    "minus zero as a whole number": (-0.0, 0, "lossy", {}),
    "a NaN of other bits": (NAN, OTHER_NAN, "same", {"python": "lossy"}),
    "a NaN for one of other bits": (OTHER_NAN, NAN, "same", {"python": "lossy"}),
    "NaN as null": (NAN, None, "lossy", {}),
    "single precision": (np.float32(0.1), float(np.float32(0.1)), "type", {}),
    "single precision as the double that is written so": (np.float32(0.1), 0.1, "type", {}),
    "a double in single precision": (0.5, np.float32(0.5), "type", {"mono": "same"}),
    "a double that single precision has not": (0.1, np.float32(0.1), "lossy", {}),
    "a NaN in single precision": (np.float32("nan"), np.float32("nan"), "same", {"mono": "type"}),
}


@pytest.fixture(params=[pytest.param(language, marks=in_one_process(language)) for language in CODECS])
def speaker(request: pytest.FixtureRequest) -> Iterator[tuple[Worker, str, str]]:
    """A worker, its language and the codec."""
    language = request.param
    if language != "python":
        need_worker_codec(CODECS[language], language=language)
    with shared_worker(language) as worker:
        yield worker, language, CODECS[language]


def loads(worker: Worker, language: str, path: Path) -> bool:
    """Whether the language has such a value; if not, it says so, and goes on."""
    try:
        load_document(worker, path, "values")
    except WorkerError as error:
        if language in ("r", "node") and error.phase == "load" and worker.alive:
            return False
        raise
    return True


@pytest.mark.parametrize("name", RULES)
def test_a_verdict(speaker: tuple[Worker, str, str], name: str, tmp_path: Path) -> None:
    """One rule in every language that has both values."""
    worker, language, codec = speaker
    here, there, verdict, others = RULES[name]
    path, encoded = tmp_path / "value", tmp_path / "encoded"
    path.write_bytes(dump_text({"v": there}))
    if not loads(worker, language, path):
        return
    ask(worker, "prepare", codec=codec)
    ask(worker, "encode_to", path=str(encoded))
    path.write_bytes(dump_text({"v": here}))
    if not loads(worker, language, path):
        return
    ask(worker, "prepare", codec=codec, encoded=str(encoded))
    found = ask(worker, "verify", codec=codec, full=True, limit=9)
    assert found["verdict"] == others.get(language, verdict), found["changes"]
