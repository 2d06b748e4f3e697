"""The arithmetic of ``make bench NAME=regret``, and what its oracle finds of a small table and of bad codecs."""

from __future__ import annotations

import importlib
import json
import math
from pathlib import Path
from types import ModuleType
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import ipc, parquet
from support.capabilities import ROOT

BENCH = ROOT / "bench"
PLANTED = """
import json, os, signal, time
from regret.calls import Calls

def calls_of(id, kind):
    encode = lambda value: json.dumps(value).encode()
    decode = {
        "honest:x": json.loads,
        "changes:x": lambda data: [item + 1 for item in json.loads(data)],
        "crashes:x": lambda data: os.kill(os.getpid(), signal.SIGSEGV),
        "hangs:x": lambda data: time.sleep(60),
        "fails:x": lambda data: 1 / 0,
    }[id]
    return Calls("python", encode, decode)
"""


@pytest.fixture(autouse=True)
def _path(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.syspath_prepend(str(BENCH))
    monkeypatch.setenv("REGRET_CACHE", str(tmp_path))


@pytest.fixture
def uses() -> ModuleType:
    return importlib.import_module("regret.uses")


@pytest.fixture
def values() -> ModuleType:
    return importlib.import_module("regret.values")


@pytest.fixture
def oracle() -> ModuleType:
    return importlib.import_module("regret.oracle")


# --- arithmetic --------------------------------------------------------------------------


def test_costs_are_those_of_the_design(uses: ModuleType) -> None:
    """The formula is w E + r (B / v + D) + s B, with a warm file where the use has no bandwidth of its own."""
    one = uses.Figures(bytes=100e6, encode_s=1.0, decode_s=0.5)
    assert uses.cost(uses.SECOND["keep"], one, 1e9) == pytest.approx(1 + 5 * (0.1 + 0.5) + 2)
    assert uses.cost(uses.SECOND["cache"], one, 1e9) == pytest.approx(1 + 10 * (0.1 + 0.5) + 0.1)
    assert uses.cost(uses.SECOND["archive"], one, 1e9) == pytest.approx(1 + 0.5 + 0.5 + 2)
    assert uses.cost(uses.SECOND["exchange"], one, 1e9) == pytest.approx(1 + 3 * (8 + 0.5))
    assert uses.cost(uses.SECOND["message"], one, 1e9) == pytest.approx(1 + 0.8 + 0.5)
    assert uses.cost(uses.SECOND["random"], one, 1e9) == math.inf


def test_first_uses_agree_with_the_code_that_measures(uses: ModuleType) -> None:
    """The weights are written out twice, so that one cannot be moved without the other."""
    profiles = importlib.import_module("tare.measure.verdict.cost_model").PROFILES
    table = uses.uses_of(profiles)
    assert set(table) == set(profiles)
    for name, use in table.items():
        has = profiles[name]
        assert (use.writes, use.reads, use.parts) == (has.writes, has.reads, has.subset_reads), name
        assert use.price == pytest.approx(has.seconds_per_byte * 1e9), name


def test_regret_is_the_cost_over_the_least_of_the_eligible(uses: ModuleType) -> None:
    """Neither what changes values, nor what failed, nor formats of one language are the best."""
    use = uses.Use(rate=1e9)
    found = {
        "json:orjson": uses.Figures(0, 1.0, 1.0),
        "msgpack:msgspec": uses.Figures(0, 1.5, 1.0),
        "ndjson:polars": uses.Figures(0, 0.1, 0.1, lost="zip"),
        "json:ujson": uses.Figures(failed="crashed: SIGSEGV"),
        "pickle": uses.Figures(0, 0.2, 0.2),
    }
    choice = uses.judge(use, "msgpack:msgspec", found, 1e9)
    assert (choice.regret, choice.best, choice.second, choice.wrong) == (1.25, "json:orjson", 1.25, "")
    assert not choice.right
    assert uses.judge(use, "json:orjson", found, 1e9).right
    assert uses.judge(use, "ndjson:polars", found, 1e9) == uses.Choice(
        1.0, "json:orjson", 1.25, "changes zip"
    )
    assert uses.judge(use, "pickle", found, 1e9).wrong == "of one language"
    assert uses.judge(use, None, found, 1e9).regret is None
    assert uses.judge(use, "json:rapidjson", found, 1e9).wrong == "not known to the oracle"
    assert uses.judge(use, "pickle", {"pickle": found["pickle"]}, 1e9) is None


def test_what_may_be_the_best_is_measured_again(oracle: ModuleType, uses: ModuleType) -> None:
    """The least of several processes counts, and one that fails then has its first figures."""
    one = uses.Figures(100.0, 2.0, 1.0, 0.5)
    assert oracle.least_of(one, uses.Figures(100.0, 1.0, 3.0)) == uses.Figures(100.0, 1.0, 1.0, 0.5)
    assert oracle.least_of(one, uses.Figures(failed="hangs")) == one
    found = {
        "json:orjson": uses.Figures(1e6, 1e-3, 1e-3),
        "msgpack:msgspec": uses.Figures(1e6, 1.3e-3, 1.3e-3),
        "json:stdlib": uses.Figures(1e6, 1.0, 1.0),
        "pickle": uses.Figures(1e6, 1e-6, 1e-6),
    }
    assert oracle.near(found, 1e9) == ["json:orjson", "msgpack:msgspec"]
    assert oracle.near({}, 1e9) == []
    again = uses.Figures(100.0, 2.1, 3.0, 0.5)
    assert not oracle.agree([one])
    assert not oracle.agree([one, again])
    assert not oracle.agree([one, again, uses.Figures(failed="hangs")])
    assert oracle.agree([one, again, uses.Figures(100.0, 9.0, 1.05)])


def test_conditions_bar_codecs(uses: ModuleType) -> None:
    """Readers of Tare's own do not count, and a part is read of columns alone."""
    second = uses.SECOND
    assert uses.barred("blit:tare+zstd:3", second["archive"])
    assert not uses.barred("blit:tare+zstd:3", second["keep"])
    assert uses.barred("parquet:fastparquet", second["keep"])
    assert not uses.barred("parquet:fastparquet", second["cache"])
    assert uses.barred("csv:pyarrow", second["random"])
    assert not uses.barred("orc:pyarrow,compression=zstd", second["random"])


def test_quantiles_take_values_that_exist(uses: ModuleType) -> None:
    """Of twenty cells one may be above the 95th percentile."""
    assert uses.quantile([1.0] * 19 + [9.0], 0.95) == 1.0
    assert uses.quantile([1.0] * 18 + [9.0] * 2, 0.95) == 9.0
    assert math.isnan(uses.quantile([], 0.5))
    assert uses.median([3, 1, 2]) == 2


def test_calibration_counts_words(uses: ModuleType) -> None:
    """Of clear verdicts the right ones; of cells that are far apart those called clear."""
    far, near = uses.Choice(1.0, "a", 2.0), uses.Choice(1.05, "a", 1.1)
    wrong, odd = uses.Choice(1.2, "a", 1.3), uses.Choice(1.0, "a", 1.0, "changes zip")
    judged = [("clear", far), ("clear", near), ("clear", wrong), ("clear", odd), ("close", far)]
    right, called, words = uses.calibration(judged)
    assert right == pytest.approx(2 / 4)
    assert called == pytest.approx(2 / 3)
    assert words == {"clear": (2, 4), "close": (1, 1)}
    assert uses.calibration([])[:2] == (1.0, 1.0)


def test_far_behind_means_in_every_use(uses: ModuleType) -> None:
    """A codec that is good at one thing is timed to the end."""
    ways = uses.SECOND.items()
    slow_but_small = uses.Figures(1e6, 10.0, 10.0)
    assert uses.far_behind(ways, slow_but_small, {"message": 1.0, "exchange": 1.0}, 1e9)
    assert not uses.far_behind(ways, slow_but_small, {"message": 1.0, "exchange": 9.0}, 1e9)
    assert not uses.far_behind(ways, slow_but_small, {}, 1e9)


# --- values --------------------------------------------------------------------------------


def test_values_are_kept_where_their_text_is(values: ModuleType) -> None:
    """An integer as a float is kept, ZIP codes as numbers are not."""
    before = pa.table({"zip": ["01001", "20001"], "n": [1, None], "at": pa.array([0, None], pa.date32())})
    same = {"zip": ["01001", "20001"], "n": [1.0, None], "at": ["1970-01-01", None]}
    assert values.lost_in_table(before, same) == ""
    assert values.lost_in_table(before, {**same, "zip": [1001, 20001]}) == "zip"
    assert values.lost_in_table(before, {**same, "n": [1, 0]}) == "n"
    assert values.lost_in_table(before, before.slice(0, 1)) == "1 rows"
    assert values.lost_in_document({"a": [True, None]}, {"a": [1, None]}) == "a value"
    assert values.lost_in_document({"a": 1, "b": 2}, {"b": 2, "a": 1}) == "the order of names"


# --- the oracle ------------------------------------------------------------------------------


def job(path: Path, kind: str, id: str, **more: Any) -> dict[str, Any]:
    return {"id": id, "path": str(path), "kind": kind, "seconds": 0.001, "calls": 3, **more}


def test_sizes_are_what_the_library_writes(oracle: ModuleType, tmp_path: Path) -> None:
    """A table of 200 rows: the bytes of Parquet are those of a file that pyarrow writes."""
    table = pa.table({"id": range(200), "name": [f"n{n % 7}" for n in range(200)]})
    path, file = tmp_path / "t.arrow", tmp_path / "t.parquet"
    with ipc.new_file(path, table.schema) as writer:
        writer.write_table(table)
    parquet.write_table(table, file, compression="zstd", compression_level=3)
    found = oracle.measure(job(path, "table", "parquet:pyarrow,compression=zstd,level=3"))
    assert (found.failed, found.lost) == ("", "")
    assert found.bytes == file.stat().st_size
    assert min(found.encode_s, found.decode_s, found.part_s) > 0


def test_a_bad_codec_costs_its_own_row(
    oracle: ModuleType, uses: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that changes values is not eligible; one that crashes, hangs or fails has its reason, and others their figures."""
    (tmp_path / "planted_calls.py").write_text(PLANTED)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    path = tmp_path / "d.json"
    path.write_text(json.dumps(list(range(200))))

    def found(id: str, **more: Any) -> Any:
        return oracle.measure(job(path, "document", id, module="planted_calls", **more))

    honest, changed = found("honest:x"), found("changes:x")
    assert (honest.failed, honest.lost, honest.bytes) == ("", "", path.stat().st_size)
    assert uses.eligible("honest:x", uses.SECOND["keep"], honest)
    assert changed.lost == "a value"
    assert not uses.eligible("changes:x", uses.SECOND["keep"], changed)
    assert found("crashes:x").failed == "crashed: SIGSEGV"
    assert found("fails:x").failed == "ZeroDivisionError: division by zero"
    assert found("hangs:x", limit_s=0.3).failed.startswith("took longer than")


def test_answers_are_read_from_records_of_either_kind() -> None:
    """The words of a later record are taken as they are; those of version 1 follow from its flags."""
    answers = importlib.import_module("regret.answers")
    first = {"cache": {"codec": "json:orjson", "named": True}, "random": {"codec": None, "named": False}}
    assert answers.verdicts({"derived": {"profiles": first}}) == {
        "cache": ("json:orjson", "clear"),
        "random": (None, "can't tell"),
    }
    later = {"keep": {"codec": "parquet:polars@file", "confidence": "close"}}
    assert answers.verdicts({"derived": {"uses": later}}) == {"keep": ("parquet:polars", "close")}
