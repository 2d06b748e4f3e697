"""Results: tables, samples and recommendations of one record."""

from __future__ import annotations

import copy
import html
import importlib
import io
import pickle
import re
from functools import lru_cache
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pytest
from support import synthetic_records

from tare import Route, measure
from tare.errors import NotTrusted, RecordError, UsageError
from tare.kinds import convert, memory_kind
from tare.measure.records.journal import Journal
from tare.measure.records.record import DERIVED_VERSION, encode_record, parse_record
from tare.measure.result import Result, load
from tare.measure.result_rows import COLUMNS, Rows
from tare.report import answer, commands, terminal
from tare.report.digest import digest
from tare.report.html import render as render_html


@lru_cache
def record(kind: str = "table") -> dict[str, Any]:
    """A simulated record; tests only read it."""
    return synthetic_records.synthetic_record(kind)


def test_package_names_are_functions_whatever_was_imported() -> None:
    """measure.load and measure.run are callables even after the modules of those names are imported."""
    importlib.import_module("tare.measure.run")

    assert load is measure.load
    assert Result is measure.Result
    assert callable(measure.run)
    assert "run" == measure.run.__name__


def test_table_has_each_codec_once_a_medium() -> None:
    """One row per codec and medium; the twin and the floor row are not codecs; failures come last."""
    result = Result(record())
    rows = result.table(all=True)
    assert len(rows) == len({(row["codec"], row["medium"]) for row in rows})
    assert "copy" not in {row["codec"] for row in rows}
    states = [row["status"] in ("ok", "lossy", "screened") for row in rows]
    assert sorted(states, reverse=True) == states
    assert str(result.best.codec) == rows[0]["codec"]
    costs = [cost[0] for row in rows[1:] if (cost := result.recommend().detail["cost_s"].get(row["codec"]))]
    assert len(costs) > 1
    assert sorted(costs) == costs


def test_unproven_rows_have_no_reading_time() -> None:
    """A read that gave nothing back shows its reason in place of a number."""
    row = next(row for row in Result(record()).table(all=True) if row["codec"] == "csv:broken")
    assert ("unproven", None, None) == (row["status"], row["read_ns"], row["total_ns"])
    assert "no data came back" in row["reason"]


def test_one_operation_is_its_own_total() -> None:
    """A plan that times decoding only ranks by decoding."""
    figures = {"ops": {"decode": {"t_ns": 5.0, "ratio": 0.5, "letters": "a"}}, "total": None}
    case = {"key": "k", "labels": {"codec": "c", "medium": "memory"}, "status": "ok", "stage": "weigh"}
    row = Result({"cases": [case], "derived": {"version": DERIVED_VERSION, "cases": {"k": figures}}}).table()[
        0
    ]
    assert (None, 5.0, 5.0, 0.5, "a") == tuple(
        row[name] for name in ("write_ns", "read_ns", "total_ns", "ratio", "letters")
    )


def test_samples_are_per_call() -> None:
    """Raw samples come with their launch, operation and time per call."""
    result = Result(record())
    rows = result.samples("csv:pandas")
    case = result.case("csv:pandas")
    expected = sum(
        len(columns["round"]) for launch in case["launches"] for columns in launch["samples"].values()
    )
    assert expected == len(rows)
    assert rows[0]["wall_ns"] / rows[0]["batch"] == rows[0]["per_call_ns"]
    assert rows == result.samples(case) == result.samples(case["key"])


def test_unknown_case_lists_near_ones() -> None:
    """A codec that is not there is told with those that look like it."""
    with pytest.raises(UsageError, match="csv:pandas"):
        Result(record()).samples("csv:panda")


def test_best_is_a_route_that_runs() -> None:
    """The recommended route encodes and decodes at once."""
    route = Result(record()).best
    table = pa.table({"x": [1, 2, None], "y": ["a", None, "c"]})
    assert table == route.decode(route.encode(table), trust=True)


def test_a_recommended_pickle_is_not_read_without_trust(tmp_path: Path) -> None:
    """The route that a verdict gives writes, and reads what it wrote only when told to trust it."""
    planted = (
        synthetic_records.Planted("parquet:pyarrow", 80, 60, 0.5),
        synthetic_records.Planted("pickle", 9, 9, 1.0),
    )
    planted[1].flags |= {"executes_code": True}
    found = Result(synthetic_records.synthetic_record("table", planted=planted, growth=False)).recommend(
        "cache"
    )
    assert (found.executes_code, str(found.route)) == (True, "pickle@file")
    assert found.route is not None
    path = tmp_path / "x.pickle"
    found.route.write([1, None, "a"], path)
    with pytest.raises(NotTrusted, match="trust=True"):
        found.route.read(path)
    assert [1, None, "a"] == found.route.read(path, trust=True)


def test_recommendation_follows_the_profile_and_the_constraints() -> None:
    """Another use, and a constraint, may change the route; the base profile is the run's own."""
    result = Result(record())
    assert result.recommend().profile == result.derived["headline_profile"]
    archive = result.recommend("archive")
    assert "parquet:pyarrow,compression=zstd@file" == str(archive.route)
    assert archive.sentence.startswith("Use Parquet (zstd) (`parquet:pyarrow,compression=zstd@file`): ")
    trusted = result.recommend("cache", must=("untrusted",))
    assert not trusted.executes_code
    assert "pickle" in {excluded["codec"] for excluded in trusted.excluded}


def test_route_carries_threads_and_framing_of_its_case() -> None:
    """What was measured with all threads over frames runs with all threads over frames."""
    labels = {
        "codec": "msgpack:msgspec",
        "medium": "tcp",
        "delivery": "framed",
        "threads": "all",
        "sync": "none",
    }
    found = {"profile": "message", "route": "msgpack:msgspec@tcp", "codec": "msgpack:msgspec", "key": "k"}
    case = {"key": "k", "labels": labels, "status": "ok", "launches": []}
    made = {
        "cases": [case],
        "codecs": {},
        "derived": {
            "version": DERIVED_VERSION,
            "headline_profile": "message",
            "profiles": {"message": found},
        },
    }
    route = Result(made).best
    assert "msgpack:msgspec@tcp,delivery=framed,threads=all" == str(route)
    assert ("framed", "all") == (route.delivery, route.threads)


def test_no_route_says_why() -> None:
    """Where nothing qualifies, asking for the route tells the sentence."""
    nothing = Result({"id": "x", "cases": [], "codecs": {}, "dataset": {"kind": "table"}})
    with pytest.raises(UsageError, match="No codec fits keep"):
        _ = nothing.best


def test_save_and_load(tmp_path: Path) -> None:
    """What is saved is loaded, from a path, a file object or a journal."""
    result = Result(record())
    place = result.save(tmp_path / "a.tare.json")
    assert result.record == load(place).record
    assert result.record == load(io.BytesIO(encode_record(result.record))).record
    journal = Journal(tmp_path / "b.tare.jsonl")
    journal.head(result.record)
    journal.close()
    cut = load(journal.path)
    assert cut.record["interrupted"] is True
    assert len(result.cases) == len(cut.cases)
    assert str(result.best) == str(cut.best)


def test_derived_is_recomputed_to_the_same(tmp_path: Path) -> None:
    """A record without its derived block gives the very figures it was saved with."""
    stripped = {name: value for name, value in record().items() if name != "derived"}
    assert record()["derived"] == Result(stripped).derived


def test_a_file_that_is_no_record(tmp_path: Path) -> None:
    """Data files are told from records."""
    path = tmp_path / "data.json"
    path.write_text('[{"a": 1}]')
    with pytest.raises(RecordError, match=r"p\.pkl: not a record: these bytes are no text"):
        parse_record(pickle.dumps({"a": 1}), "p.pkl")
    with pytest.raises(RecordError, match=r"data\.json: JSON, but not a record"):
        load(path)


def test_growth_pareto_and_crossings_are_there() -> None:
    """The derived parts are given as rows, and Pareto as cases."""
    result = Result(record())
    assert {"codec", "medium", "op", "k", "points"} <= set(result.growth()[0])
    assert {case["status"] for case in result.pareto()} <= {"ok"}
    assert all({"a", "b", "v_bytes_s"} <= set(row) for row in result.crossings())
    assert set(result.fidelity) == {"probes", "own"}


def test_best_carries_its_confidence() -> None:
    """The route of the run's own use, or of another, with what recommends it; it is a route like any."""
    result = Result(record())
    best, archive = result.best, result.recommend("archive").route
    assert isinstance(best, Route)
    assert Route(str(best)) == best
    assert best.confidence == result.recommend().detail["confidence"]
    assert best.confidence in ("clear", "close", "can't tell")
    assert ("cache", "archive") == (best.recommendation.profile, archive.recommendation.profile)
    assert "Best('arrow:pyarrow@file', use='cache', confidence=" in repr(best)
    again = pickle.loads(pickle.dumps(best))
    assert (best, best.recommendation) == (again, again.recommendation)


def test_a_result_prints_as_the_terminal_shows_it() -> None:
    """Plain text, word for word; `repr` stays a line."""
    result = Result(record())
    assert f"{result}\n" == terminal.render(result)
    assert "\x1b" not in str(result)
    assert 1 == len(repr(result).splitlines())


def test_a_notebook_shows_the_verdict_and_the_table() -> None:
    """As the report has them: no script, nothing from the network, hostile names as text."""
    made = copy.deepcopy(record())
    made["dataset"]["name"] = "<script>alert(1)</script>.csv"
    shown = Result(made)._repr_html_()
    assert "<script" not in shown
    assert "http" not in shown
    assert "<b>Use Arrow / Feather, uncompressed" in shown
    assert "parquet:<wbr>pyarrow" in shown
    for part in answer.parts_of(digest(made))[:-1]:
        assert f"<span>{part}</span>" in shown
    assert f"Do it: <code>{html.escape(commands.call(digest(made)))}</code>" in shown
    assert "MiB in memory" not in shown
    assert 1 == shown.count("<table")
    assert "yaml" not in shown.partition("<table")[2]  # without a figure: the report has it
    assert len(shown) < 10_000


def test_a_result_without_figures_can_be_shown() -> None:
    """It says that there is no verdict."""
    nothing = Result({"id": "x", "cases": [], "codecs": {}, "dataset": {"kind": "table"}})
    assert "No codec fits keep" in nothing._repr_html_() + str(nothing)
    assert nothing.to_pandas().empty
    assert str(Result({"cases": []})) is not None


def test_only_measured_codecs_are_in_the_table_unless_all_are_asked_for() -> None:
    """Every row has the figures that its columns promise; what failed comes last, with its reason."""
    result = Result(record())
    rows, whole = result.table(), result.table(all=True)
    assert all(row["total_ns"] and row["bytes"] and row["read_ns"] for row in rows)
    assert rows == whole[: len(rows)]
    assert rows
    rest = {row["codec"] for row in whole[len(rows) :]}
    assert {"csv:broken", "yaml:pyyaml,loader=c"} <= rest
    assert f"; {len({row['codec'] for row in rows})} codecs measured>" in repr(result)


def test_the_table_is_a_data_frame() -> None:
    """A row of `table` each, of the same columns and types for every library, also where there are none."""
    result = Result(record())
    frame = result.to_pandas(medium="file")
    assert [row["codec"] for row in result.table(medium="file")] == list(frame["codec"])
    assert list(COLUMNS) == list(frame)
    assert list(COLUMNS) == list(result.table()[0])
    shown = Result.table.__doc__ or ""
    assert all(f"``{name}``" in shown for name in COLUMNS)
    nothing = Result({"id": "x", "cases": [], "codecs": {}, "dataset": {"kind": "table"}})
    assert list(nothing.to_pandas()) == list(COLUMNS)
    assert nothing.to_arrow().schema == result.to_arrow(all=True).schema


def test_the_table_shows_itself_in_units() -> None:
    """It is a list of dicts all the same; what tells rows of one codec apart is shown where it does."""
    rows = Result(record()).table(medium="file")
    assert isinstance(rows, list)
    assert type(rows[0]) is dict
    head, *lines = repr(rows).splitlines()
    assert head.split() == ["name", "size", "write", "read", "kept"]
    assert len(lines) == len(rows)
    assert lines[0].startswith(rows[0]["name"])
    assert re.search(r"[kM]?B  .*[mu]s", lines[0])
    shown = rows._repr_html_()
    assert shown.count("<tr>") == len(rows) + 1
    one, *_ = rows
    each = Rows([one, one | {"grain": "each", "name": "<b>"}])
    assert repr(each).splitlines()[0].split() == ["name", "grain", "size", "write", "read", "kept"]
    assert "<b>" not in each._repr_html_()
    assert repr(Rows()) == "[]"


def test_rows_of_one_codec_are_told_apart_by_their_grain() -> None:
    """Documents are measured as a whole, and one by one."""
    cases = [
        {"key": grain, "labels": {"codec": "json:stdlib", "grain": grain}, "status": "ok", "stage": "weigh"}
        for grain in ("whole", "each")
    ]
    figures = {grain: {"ops": {}, "total": {"t_ns": 2.0}, "peak_bytes": 1.5} for grain in ("whole", "each")}
    del figures["each"]["peak_bytes"]
    result = Result({"cases": cases, "derived": {"version": DERIVED_VERSION, "cases": figures}})
    assert sorted(row["grain"] for row in result.table()) == ["each", "whole"]
    frame = result.to_pandas()
    assert sorted(frame["grain"]) == sorted(result.to_arrow()["grain"].to_pylist()) == ["each", "whole"]
    assert str(frame["peak_bytes"].dtype) == str(frame["bytes"].dtype) == "Int64"
    assert frame["peak_bytes"].sum() == 2


def test_the_table_is_read_by_whatever_reads_arrow() -> None:
    """By polars and pyarrow, with no copy of the data in between that knows this package."""
    result = Result(record())
    rows = result.table(medium="memory")
    assert result.to_polars(medium="memory").to_dicts() == rows
    assert pl.DataFrame(result).to_dicts() == pa.table(result).to_pylist() == result.table()
    assert result.to_polars(all=True).height == len(result.table(all=True))


@pytest.mark.parametrize("kind", ["pandas", "polars", "arrow"])
def test_a_table_comes_back_as_what_it_was(kind: str, tmp_path: Path) -> None:
    """What was measured ended in the kind that was given; so does the route that is recommended."""
    made = copy.deepcopy(record())
    for case in made["cases"]:
        case["labels"]["kind"] = kind
    made["derived"]["headline"] = None
    best = Result(made).best
    given = convert([{"x": 1, "y": "a"}, {"x": 2, "y": None}], kind)
    best.write(given, tmp_path / "x")
    for found in (
        best.read(tmp_path / "x", trust=True),
        best.decode(best.encode(given), trust=True),
        best.receive(io.BytesIO(best.encode(given)), trust=True),
        pickle.loads(pickle.dumps(best)).read(tmp_path / "x", trust=True),
    ):
        assert memory_kind(found) == kind
        assert convert(found, "arrow").equals(convert(given, "arrow"))


def test_a_route_of_a_file_gives_the_kind_of_its_library() -> None:
    """Nothing was given but a path: no conversion was measured, and none is made."""
    best = Result(record()).best
    assert best.kind == ""
    assert memory_kind(best.decode(best.encode([{"x": 1}]), trust=True)) == best.codec.native("table")


def test_the_report_is_written(tmp_path: Path) -> None:
    """The very page of the command, in a folder that is made."""
    result = Result(record())
    path = result.html(tmp_path / "new" / "report.html", use="archive")
    assert render_html(result, profile="archive") == path.read_text("utf-8") == result.html(use="archive")
    assert result.html() == render_html(result)
