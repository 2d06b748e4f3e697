"""The codec that does nothing, in each language, and what the benchmark makes of it."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from support.capabilities import need_worker_codec
from support.worker_requests import ask, load_document

from tare.codec import candidates
from tare.measure.worker_client.client import Worker
from tare.measure.worker_client.languages import LANGUAGES


@pytest.fixture
def overhead(root: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location("overhead", root / "bench" / "measure" / "overhead.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("language", ["python", *LANGUAGES])
def test_every_language_has_a_codec_that_does_nothing(
    overhead: ModuleType, tmp_path: Path, language: str
) -> None:
    """It takes any document, gives nothing back, and a sample of it is many calls."""
    if language != "python":
        need_worker_codec(f"none:{language}", language=language)
    path = tmp_path / "document.json"
    path.write_text(json.dumps({"a": [1, 2.5, None]}))
    with Worker(language, overhead.command(language)) as worker:
        load_document(worker, path)
        ask(worker, "prepare", codec=f"none:{language}")
        assert ask(worker, "verify")["verdict"] == "lossy"
        for what in ("encode", "decode"):
            # A sample that the machine interrupts looks long enough: the longest of some is what was asked.
            batches = [
                ask(worker, "run", what=what, batch=0, target_ns=20_000_000)["batch"] for _ in range(5)
            ]
            assert max(batches) >= 100, what


def test_no_run_of_a_user_meets_it() -> None:
    assert not [
        codec for kind in ("document", "table") for codec in candidates(kind) if codec.format.id == "none"
    ]


class Made:
    """A worker whose figures are known: 100 ns a call, 5 us a sample, and a codec that takes 10 us."""

    def request(self, op: str, **asked: Any) -> dict[str, Any]:
        if op != "run":
            return {}
        batch = asked.get("batch") or 200
        own = 0 if asked["what"] == "null" else 100
        codec = 10_000 if str(asked.get("codec")).startswith("json") else 0
        wall = 5_000 + batch * (own + codec)
        return {"cols": ["wall_ns", "user_ns", "sys_ns"], "samples": [[wall, wall, 0]], "batch": batch}


def test_what_a_worker_adds_is_held_against_the_sample(overhead: ModuleType) -> None:
    """A worker that adds a hundredth of its calls, and something around them, falls short of a hundredth."""
    shares = overhead.shares(Made(), "python", "small")
    expected = (5_000 + 200 * 100) / (5_000 + 200 * 10_100)
    for what in ("encode", "decode"):
        assert shares[what] == pytest.approx({"wall": expected, "cpu": expected})
    assert expected > 0.01
