"""What one codec writes of a table and another reads: R, Node and Python, planted differences, crashes."""

from __future__ import annotations

import datetime as dt
import importlib
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from click.testing import CliRunner
from support.capabilities import need_codec, need_end, need_worker_codec
from support.planted_reader import planted_reader

from tare import measure
from tare.cli import codecs as codecs_command
from tare.errors import UsageError
from tare.fidelity.tables import compare_tables
from tare.measure.exchange.documents import OWN, shared_formats, summary
from tare.measure.exchange.tables import COLUMNS, OWN_NAMES, _named, exchange_tables, table_block
from tare.measure.records.schema import SCHEMA, check
from tare.report import markdown, terminal
from tare.report.html import render

TABLE = pa.table({"id": [1, 2, 2**53 + 1], "name": ["a", "b,c", 'd"e'], "code": ["x1", "x2", "x3"]})

# Of runs as a whole: every language's exchange has tests of its own.
FEW = ("csv:r*", "csv:polars", "csv:pandas", "csv:duckdb")


def reader(tmp_path: Path, how: str, change: str = 'value["name"][1] = "b;c"') -> dict[str, str]:
    return planted_reader(
        tmp_path, how, codec="csv:pyarrow", kind="table", dies="e,f", changes="b,c", change=change
    )


def outcome(block: dict, writer: str, to: str, name: str) -> str:
    return block["pairs"][writer][to]["values"].get(name, {"outcome": "same"})["outcome"]


def test_r_and_python_exchange_csv() -> None:
    """Text with quotes and line ends crosses in both directions; zeros that lead are lost by a reader that guesses."""
    wanted = ["csv:r", "csv:r-readr", "csv:r-vroom", "csv:r-data.table"]
    found = need_end("csv", ["csv:r"], language="r", kind="table")
    codecs = [codec for codec in wanted if codec in found]
    pairs = [pair for codec in codecs for pair in (("csv:pyarrow", codec), (codec, "csv:pyarrow"))]
    only = ["text_lines", "bool_null", "text_true"]
    block = exchange_tables("csv", ["csv:pyarrow", *codecs], only=only, only_pairs=pairs)
    check({"csv": block}, SCHEMA["properties"]["fidelity"]["properties"]["exchange"])
    for codec in codecs:
        assert outcome(block, "csv:pyarrow", codec, "text_true") == "changed"
        assert outcome(block, codec, "csv:pyarrow", "bool_null") == "same"
    for writer, to in pairs:
        assert sum(block["pairs"][writer][to]["counts"].values()) == 3
    need_end("csv", wanted, language="r", kind="table")  # what was found was tested


def test_which_column_r_changes_is_told() -> None:
    """R reads integers as doubles, beyond 2^53 with loss: that column, and no other."""
    need_end("csv", ["csv:r"], language="r", kind="table")
    block = exchange_tables("csv", ["csv:pyarrow", "csv:r"], only=["int8"], own=TABLE)
    found = block["pairs"]["csv:pyarrow"]["csv:r"]["values"]
    assert [name for name in found if name.startswith(OWN)] == [f"{OWN} id"]
    assert found[f"{OWN} id"]["verdict"] == "lossy"
    assert any(f"csv:pyarrow writes {OWN} id" in line for line in summary(block))


def test_na_of_r_is_the_null_of_a_table() -> None:
    """Of integers, of doubles and of text."""
    need_end("rds", ["rds:r"], language="r", kind="table")
    own = pa.table({"x": [1.5, None], "i": pa.array([1, None], pa.int32()), "s": ["a", None]})
    block = exchange_tables("rds", ["rds:tare", "rds:r"], only=["text_empty_null"], own=own)
    assert block["pairs"]["rds:tare"]["rds:r"]["counts"] == {"same": 5}


@pytest.mark.parametrize(("format", "rows"), [("csv", 0), ("rds", 0), ("rds", 1)])
def test_r_reads_tables_of_few_rows(format: str, rows: int) -> None:
    """A column of one row is a list of one cell and no scalar, one of text without rows has no empty text."""
    need_end(format, [f"{format}:r"], language="r", kind="table")
    ours = {"csv": "csv:pyarrow", "rds": "rds:tare"}[format]
    own = pa.table({"c": [5.5, 0.25], "d": ["x", "y"]}).slice(0, rows)
    block = exchange_tables(format, [ours, f"{format}:r"], only=["int8"], own=own)
    assert not [name for name in block["pairs"][ours][f"{format}:r"]["values"] if name.startswith(OWN)]


@pytest.mark.parametrize("codec", ["csv:node-papaparse", "arrow:node-arrow", "parquet:node-hyparquet"])
def test_node_and_python_exchange(codec: str) -> None:
    """Plain text crosses; Node's rows are brought to columns. Only Arrow's own table has days there."""
    theirs = node_codec(codec)
    format = codec.partition(":")[0]
    ours = f"{format}:pyarrow"
    block = exchange_tables(format, [ours, theirs], only=["text_lines", "date"])
    assert outcome(block, ours, theirs, "text_lines") == "same"
    assert outcome(block, theirs, ours, "text_lines") == "same"
    assert outcome(block, ours, theirs, "date") == ("same" if format == "arrow" else "changed")


ORDERS = {
    "same": (["a", "10"], None), "another order": (["10", "a"], "type"), "one more": (["a", "index", "10"], "type"),
    "one more, moved": (["index", "10", "a"], "type"), "lost": (["a"], "lossy"), "renamed": (["a", "x"], "lossy"),
}  # fmt: skip


@pytest.mark.parametrize("name", ORDERS)
def test_names_are_judged_as_when_a_table_is_weighed(name: str) -> None:
    """A name that is gone is lost; another order, and one more, is a change of type."""
    back, verdict = ORDERS[name]
    wanted = ["a", "10"]
    assert _named(wanted, back).get("verdict") == verdict
    before, after = (pa.table({one: [1.5] for one in names}) for names in (wanted, back))
    assert (compare_tables(before, after).verdict == "same") == (verdict is None)
    assert verdict in (None, compare_tables(before, after).verdict)


MOMENTS = ["date", "time", "timestamp_us", "duration", "decimal", "struct", "list", "float32", "bytes"]
NOON = dt.datetime(2013, 7, 1, 12, 0, 0, 123456)
MIX = pa.table({
    "country": ["a", None, "b"], "10": [0.5, None, 1.5], "2": pa.array([1, None, -7], pa.int8()),
    "d": pa.array([dt.date(2020, 2, 29), None, dt.date(1900, 1, 1)]),
    "naive": pa.array([NOON, None, dt.datetime(1969, 12, 31, 23, 59, 59, 999999)], pa.timestamp("us")),
    "utc": pa.array([NOON, None, NOON], pa.timestamp("us", "UTC")),
    "second": pa.array([7, None, 86399], pa.time32("s")),
    "milli": pa.array([7, None, -7], pa.duration("ms")),
    "price": pa.array([Decimal("1.10"), None, Decimal("0.00")], pa.decimal128(38, 2)),
    "tiny": pa.array([Decimal("0.000000001"), None, Decimal("-2.000000000")], pa.decimal128(38, 9)),
    "days": pa.array([[dt.date(2020, 2, 29), None], None, []], pa.list_(pa.date32())),
    "pair": pa.array([{"10": dt.timedelta(seconds=1), "b": b"x"}, None, {"10": None, "b": b""}],
                     pa.struct([("10", pa.duration("us")), ("b", pa.binary())])),
    "map": pa.array([[("k", dt.date(1970, 1, 1))], None, []], pa.map_(pa.string(), pa.date32())),
    "numbered": pa.array([[(7, "a")], None, []], pa.map_(pa.int8(), pa.string())),
})  # fmt: skip


def node_codec(codec: str) -> str:
    """Require a codec of Node that takes part with tables, which its worker reads by the package of Arrow."""
    need_end(codec.partition(":")[0], [codec], language="node", kind="table")
    need_worker_codec("arrow:node-arrow", language="node")
    return codec


def test_node_hands_columns_back_by_their_types() -> None:
    """What Arrow's own table keeps is told as kept: moments, decimals and names in their order."""
    theirs = node_codec("arrow:node-arrow")
    codecs = ["arrow:pyarrow", theirs, f"{theirs},form=stream"]
    block = exchange_tables("arrow", codecs, only=MOMENTS, own=MIX)
    for readers in block["pairs"].values():
        for pair in readers.values():
            assert pair["counts"] == {"same": len(MOMENTS) + 1 + MIX.num_columns}, pair


def test_node_hands_back_decimals_of_negative_scale() -> None:
    """With their exponent: 1.2E+3 is no 1200 to Python."""
    columns = {}
    for scale in (-1, -2, -9):
        cells = [text and Decimal(f"{text}E{-scale}") for text in ("12", "-5", "0", "-12345", "100", None)]
        columns[f"narrow{scale}"] = pa.array(cells, pa.decimal128(5, scale))
        columns[f"wide{scale}"] = pa.array(cells, pa.decimal256(60, scale))
        columns[f"list{scale}"] = pa.array([cells] * 6, pa.list_(pa.decimal128(5, scale)))
    theirs = node_codec("arrow:node-arrow")
    block = exchange_tables("arrow", ["arrow:pyarrow", theirs], only=["decimal"], own=pa.table(columns))
    for readers in block["pairs"].values():
        for pair in readers.values():
            assert pair["counts"] == {"same": 2 + len(columns)}, pair


@pytest.mark.parametrize("codec", ["parquet:node-hyparquet", "json:node"])
def test_moments_in_rows_of_javascript_are_another_type(codec: str) -> None:
    """A Date for a day, and a whole number of the column's unit: as when they are weighed, nothing is lost."""
    whole = [cell and cell.replace(microsecond=123000) for cell in MIX["naive"].to_pylist()]
    own = MIX.drop_columns(["map", "numbered", "pair", "days", "naive", "utc"])
    own = own.append_column("naive", pa.array(whole, pa.timestamp("us")))
    if codec.startswith(
        "json"
    ):  # its text has no whole numbers beyond a double's, and BigInt there is a double
        own = own.drop_columns(["tiny"])
    theirs = node_codec(codec)
    block = exchange_tables(codec.partition(":")[0], [theirs], only=["date", "time"], own=own)
    values = block["pairs"][theirs][theirs]["values"]
    found = {name: cell.get("verdict") for name, cell in values.items() if name.startswith(OWN)}
    assert set(found.values()) == {"type"}
    assert {
        OWN_NAMES,
        *(f"{OWN} {one}" for one in ("d", "naive", "second", "milli", "price")),
    } <= found.keys()
    assert (values["date"]["verdict"], values["time"]["verdict"]) == ("type", "type")


LATE = {"d": pa.array([dt.date(2020, 2, 29), None]), "t": pa.array([1, None], pa.time64("us"))}
# Columns of one of these types, with what a reader makes of their cells.
CHANGED_CELLS = {
    "midnight elsewhere": (
        "d", '[{"$ts": "2020-02-28T23:00:00.000000+00:00", "unit": "us", "tz": "+00:00"}, None]'
    ),
    "another day": ("d", '[{"$date": "2020-02-28"}, None]'),
    "another number": ("t", "[2, None]"),
    "a double": ("t", '[{"$f64": "3ff0000000000000"}, None]'),
    "a text": ("d", '["2020-02-28T23:00:00.000Z", None]'),
    "no null": ("t", "[1, 0]"),
    "fewer": ("t", "[1]"),
}  # fmt: skip


def test_moments_that_changed_are_lost(tmp_path: Path) -> None:
    """Whatever their type."""
    own = pa.table({name: LATE[kind] for name, (kind, _) in CHANGED_CELLS.items()})
    change = "; ".join(f"value[{name!r}] = {cells}" for name, (_, cells) in CHANGED_CELLS.items())
    given = planted_reader(
        tmp_path, "changes", codec="csv:pyarrow", kind="table", dies="?", changes="-", change=change
    )
    block = exchange_tables("csv", ["csv:pyarrow", "csv:node"], given=given, only=["int8"], own=own)
    found = block["pairs"]["csv:pyarrow"]["csv:node"]["values"]
    assert {name: found[f"{OWN} {name}"]["verdict"] for name in CHANGED_CELLS} == dict.fromkeys(
        CHANGED_CELLS, "lossy"
    )


def test_a_planted_difference_is_found(tmp_path: Path) -> None:
    """One cell of one column, in the one pair whose reader changes it."""
    given = reader(tmp_path, "changes")
    block = exchange_tables("csv", ["csv:pyarrow", "csv:node"], given=given, only=["int8"], own=TABLE)
    found = block["pairs"]["csv:pyarrow"]["csv:node"]["values"]
    assert list(found) == [f"{OWN} name"]
    assert "b;c" in found[f"{OWN} name"]["out"]
    assert block["pairs"]["csv:node"]["csv:pyarrow"]["counts"] == {"same": 5}


INDEX = 'value["index"] = [0, 1, 2]'
NAMES_CHANGED = {
    INDEX: ["id", "name", "code", "index"],
    'old = dict(value); value.clear(); value["row.names"] = [1, 2, 3]; value.update(old)': [
        "row.names", "id", "name", "code",
    ],
    'value["id"] = value.pop("id")': ["name", "code", "id"],
}  # fmt: skip


@pytest.mark.parametrize("change", NAMES_CHANGED)
def test_a_column_more_or_in_another_place_is_told(tmp_path: Path, change: str) -> None:
    """Each wanted column is as it was: only the list of names has it."""
    given = reader(tmp_path, "changes", change)
    block = exchange_tables("csv", ["csv:pyarrow", "csv:node"], given=given, only=["int8"], own=TABLE)
    found = block["pairs"]["csv:pyarrow"]["csv:node"]
    assert list(found["values"]) == [OWN_NAMES]
    assert found["counts"] == {"same": 4, "changed": 1}
    assert summary(block)[0] == (
        "csv:pyarrow writes own data's columns ['id', 'name', 'code'], "
        f"csv:node reads {NAMES_CHANGED[change]}"
    )


def test_a_column_that_is_lost_is_told_by_its_name_too(tmp_path: Path) -> None:
    given = reader(tmp_path, "changes", 'del value["code"]')
    block = exchange_tables("csv", ["csv:pyarrow", "csv:node"], given=given, only=["int8"], own=TABLE)
    assert list(block["pairs"]["csv:pyarrow"]["csv:node"]["values"]) == [OWN_NAMES, f"{OWN} code"]


def test_of_many_names_those_that_differ_are_shown(tmp_path: Path) -> None:
    own = pa.table({f"column {n}": ["b,c"] for n in range(100)})
    given = reader(tmp_path, "changes", INDEX)
    block = exchange_tables("csv", ["csv:pyarrow", "csv:node"], given=given, only=["int8"], own=own)
    cell = block["pairs"]["csv:pyarrow"]["csv:node"]["values"][OWN_NAMES]
    assert (cell["in"], cell["out"]) == ("['column 99']", "['column 99', 'index']")
    assert (cell["at"], cell["count"]) == ("[100]", 1)


def test_a_reader_that_ends_on_one_table_costs_that_table(tmp_path: Path) -> None:
    """The tables after it are read by a new process."""
    given = reader(tmp_path, "dies")
    probes = ["int8", "text_lines", "bool_null"]
    block = exchange_tables("csv", ["csv:pyarrow", "csv:node"], given=given, only=probes)
    pair = block["pairs"]["csv:pyarrow"]["csv:node"]
    assert pair["counts"] == {"same": 2, "error": 1}
    assert "exit: exited with code 9" in pair["values"]["text_lines"]["error"]


def test_what_is_no_exchange_of_tables_is_refused() -> None:
    """A codec of another format, and a probe whose answer no worker can hand back."""
    with pytest.raises(UsageError, match="no codec of csv"):
        exchange_tables("csv", ["csv:pyarrow", "arrow:pyarrow"])
    with pytest.raises(UsageError, match="metadata"):
        exchange_tables("csv", ["csv:pyarrow"], only=["metadata"])
    assert table_block("rds", {"rds": {}}) == "rds tables"


def test_a_run_keeps_it_and_reports_show_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Under fidelity, valid by the schema; terminal, Markdown and HTML name the column."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.setattr("tare.measure.exchange.tables.COLUMNS", COLUMNS[:8])
    workers = reader(tmp_path, "changes")
    assert "csv" in shared_formats(workers, kind="table")
    record = measure.run(
        TABLE, codecs=("csv:pyarrow",), exclude=FEW, time_s=2, exchange=True, workers=workers
    ).record
    check(record)
    block = record["fidelity"]["exchange"]["csv"]
    assert (block["own_share"], block["set"]) == (1.0, "columns/1")
    assert outcome(block, "csv:pyarrow", "csv:node", f"{OWN} name") == "changed"
    said = f"csv:pyarrow writes {OWN} name"
    assert said in " ".join(terminal.render(record).split())
    assert "## Exchange of csv" in markdown.render(record)
    assert said in render(record)


def test_two_columns_of_one_name_cost_no_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tagged values cannot hold both: that is told, and the probes are exchanged."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.setattr("tare.measure.exchange.tables.COLUMNS", COLUMNS[:8])
    table = pa.table([pa.array([1, 2]), pa.array(["a", "b"]), pa.array([3, 4])], ["p", "k", "p"])
    out = tmp_path / "out.tare.json"
    record = measure.run(
        table, codecs=("csv:pyarrow",), exclude=FEW, time_s=2, exchange=True, out=out,
        workers=reader(tmp_path, "changes"),
    ).record  # fmt: skip
    check(record)
    block = record["fidelity"]["exchange"]["csv"]
    assert block["own_share"] is None
    assert (
        block["reason"] == "own data was not exchanged: two columns are named 'p': columns cannot hold both"
    )
    assert block["pairs"]["csv:pyarrow"]["csv:pyarrow"]["counts"]["same"] > 2
    assert block["reason"] in " ".join(terminal.render(record).split())
    assert out.exists()


def test_an_exchange_that_fails_costs_no_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the reason: all figures are there by then."""

    def fails(*_: object, **__: object) -> None:
        raise ZeroDivisionError("of the exchange")

    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.setattr("tare.measure.exchange.tables.COLUMNS", COLUMNS[:8])
    monkeypatch.setattr("tare.measure.exchange.tables.paired", fails)
    record = measure.run(
        TABLE,
        codecs=("csv:pyarrow",),
        exclude=FEW,
        time_s=2,
        exchange=True,
        workers=reader(tmp_path, "changes"),
    ).record
    check(record)
    reason = "nothing was exchanged: ZeroDivisionError: of the exchange"
    assert record["fidelity"]["exchange"]["csv"]["reason"] == reason
    for shown in (terminal.render(record), markdown.render(record)):
        assert reason in " ".join(shown.split())
    assert reason in render(record)


def test_the_exchange_is_no_part_of_the_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However long it takes, a run that kept to its limit is not called late."""
    stage = importlib.import_module("tare.measure.stages.exchange")
    was = stage.measure_exchange

    def slow(session: Any) -> None:
        session.started_at -= 10_000.0
        was(session)

    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.setattr("tare.measure.exchange.tables.COLUMNS", COLUMNS[:8])
    monkeypatch.setattr(stage, "measure_exchange", slow)
    monkeypatch.setattr(stage, "_kept", lambda *_, **__: {"codecs": [], "pairs": {}, "reason": "none"})
    workers = reader(tmp_path, "changes")  # so that some language has CSV beside Python
    record = measure.run(TABLE, codecs=("csv:pyarrow",), time_s=2, exchange=True, workers=workers).record
    check(record)
    assert record["noise"]["overrun_s"] < 5_000
    assert 0 < record["elapsed_s"] < 5_000
    assert record["fidelity"]["exchange"]
    assert record["fidelity"]["own"]


def test_the_command_prints_the_matrix_of_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    """Arrow has no documents: its tables are exchanged."""
    monkeypatch.setattr("tare.measure.exchange.documents.LANGUAGES", {})
    monkeypatch.setattr("tare.measure.exchange.tables.COLUMNS", COLUMNS[:8])
    need_codec("arrow:polars")  # one codec alone exchanges nothing
    done = CliRunner().invoke(codecs_command.command, ["arrow", "--exchange"], standalone_mode=False)
    assert done.return_value == 0, done.stderr
    assert done.stdout.startswith("arrow: ")
    assert "1 arrow:pyarrow" in done.stdout


def test_a_factor_that_r_reads_is_its_values() -> None:
    """With nulls, levels of no row and an order: R hands back codes with levels."""
    need_end("rds", ["rds:r"], language="r", kind="table")
    codes = pa.array([1, 0, None], pa.int8())
    own = pa.table({"c": pa.DictionaryArray.from_arrays(codes, ["x", "y", "in no row"]), "n": [1, 2, 3]})
    block = exchange_tables(
        "rds", ["rds:r", "rds:tare"], only=["category_ordered", "category_unused"], own=own
    )
    for writer, readers in block["pairs"].items():
        for to, pair in readers.items():
            for name in ("category_ordered", "category_unused", f"{OWN} c"):
                assert outcome(block, writer, to, name) == "same", (writer, to, pair)
