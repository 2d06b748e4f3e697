"""What one codec writes and another reads: R and Python in their own processes, planted differences, crashes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from support.capabilities import need_codec, need_end
from support.planted_reader import planted_reader

from tare import measure
from tare.cli import codecs as codecs_command
from tare.errors import UsageError
from tare.fidelity import compare
from tare.measure.exchange import documents as exchanging
from tare.measure.exchange.documents import OWN, exchange, shared_formats, summary
from tare.measure.records.schema import SCHEMA, check
from tare.report import markdown, terminal
from tare.report.exchanging import blocks, mark, verdict
from tare.report.html import render

DOCUMENT = [{"id": n, "x": n / 4, "name": f"n{n}"} for n in range(20)]


def reader(tmp_path: Path, how: str) -> dict[str, str]:
    return planted_reader(
        tmp_path, how, codec="json:stdlib", kind="document", dies="-0.0", changes="4.75",
        change='value[-1]["x"] = {"$f64": "4013000000000001"}',
    )  # fmt: skip


def outcome(block: dict, writer: str, to: str, name: str) -> str:
    return block["pairs"][writer][to]["values"].get(name, {"outcome": "same"})["outcome"]


@pytest.mark.parametrize("format", ["json", "rds", "dput"])
def test_r_and_python_exchange(format: str) -> None:
    """In both directions; plain text comes back the same, and every value is in exactly one outcome."""
    theirs = need_end(format, language="r")
    ours = need_end(format, language="python")
    pair = [ours[0], theirs[0]]
    probes = ["text_emoji", "text_number", "float_sum", "int_2_53_plus_1", "tuple"]
    block = exchange(format, pair, only=probes, own=DOCUMENT, has_own=True)
    check({format: block}, SCHEMA["properties"]["fidelity"]["properties"]["exchange"])
    for writer in pair:
        for to in pair:
            assert sum(block["pairs"][writer][to]["counts"].values()) == len(probes) + 1
            assert outcome(block, writer, to, "text_emoji") == "same"
            assert outcome(block, writer, to, "text_number") == "same"


def test_what_r_reads_of_pythons_json_is_known() -> None:
    """R has no integer of 53 bits: it reads a double, which changed; nothing is said of what came back the same."""
    need_end("json", ["json:r-jsonlite"], language="r")
    block = exchange("json", ["json:orjson", "json:r-jsonlite"], only=["int_2_53_plus_1", "text_emoji"])
    cell = block["pairs"]["json:orjson"]["json:r-jsonlite"]["values"]
    assert list(cell) == ["int_2_53_plus_1"]
    assert (cell["int_2_53_plus_1"]["verdict"], cell["int_2_53_plus_1"]["out"]) == (
        "lossy",
        "9007199254740992.0",
    )
    line = "json:orjson writes int_2_53_plus_1 9007199254740993, json:r-jsonlite reads 9007199254740992.0"
    assert line in summary(block)


def test_a_planted_difference_is_found(tmp_path: Path) -> None:
    """The last bit of the last number, in the one pair whose reader changes it."""
    codecs = ["json:stdlib", "json:node"]
    block = exchange(
        "json", codecs, given=reader(tmp_path, "changes"), only=["text_empty"], own=DOCUMENT, has_own=True
    )
    assert outcome(block, "json:node", "json:stdlib", OWN) == "same"
    assert outcome(block, "json:stdlib", "json:stdlib", OWN) == "same"
    found = block["pairs"]["json:stdlib"]["json:node"]["values"]
    assert list(found) == [OWN]
    assert (found[OWN]["in"], found[OWN]["out"], found[OWN]["count"]) == ("4.75", "4.750000000000001", 1)
    assert "[19].x" in found[OWN]["at"]


def test_each_value_that_changed_is_counted() -> None:
    """Under different names, and beside a change that loses nothing: what is lost comes first."""
    need_codec("json:ujson")
    own = [
        {"a": 2**53 + 1, "b": 2**64 - 1, "c": -(2**53) - 1, "d": (1, 2)},
        {"a": 1, "b": 2, "c": 3, "d": (1, 2)},
    ]
    first, count = exchanging.gravest(
        compare(
            own,
            [{**row, "a": float(row["a"]), "b": 0, "c": 0, "d": [1, 2]} for row in own],
            kind="document",
            limit=exchanging.MOST_CHANGES,
        )
    )
    assert (first.verdict, count) == ("lossy", 5)
    block = exchange(
        "json",
        ["json:orjson", "json:ujson"],
        only=["text_empty"],
        own=[{"d": (1,), "e": (1, 2)}] * 7,
        has_own=True,
    )
    found = block["pairs"]["json:orjson"]["json:orjson"]["values"]
    assert found[OWN]["count"] == 14, found


def test_a_reader_that_ends_on_one_value_costs_that_value(tmp_path: Path) -> None:
    """The values after it are read by a new process."""
    probes = ["text_empty", "float_minus_zero", "text_emoji", "bool_true"]
    block = exchange("json", ["json:stdlib", "json:node"], given=reader(tmp_path, "dies"), only=probes)
    pair = block["pairs"]["json:stdlib"]["json:node"]
    assert pair["counts"] == {"same": 3, "error": 1}
    assert "exit: exited with code 9" in pair["values"]["float_minus_zero"]["error"]
    assert block["pairs"]["json:stdlib"]["json:stdlib"]["counts"] == {"same": 4}


def test_what_a_writer_refuses_nobody_reads() -> None:
    """It is refused in the whole row, with the writer's reason."""
    block = exchange("json", ["json:stdlib", "json:orjson"], only=["bytes", "int_2_200"])
    for to in block["codecs"]:
        assert outcome(block, "json:stdlib", to, "bytes") == "refused"
        assert "bytes" in block["pairs"]["json:stdlib"][to]["values"]["bytes"]["error"]
    assert outcome(block, "json:stdlib", "json:stdlib", "int_2_200") == "same"
    assert outcome(block, "json:stdlib", "json:orjson", "int_2_200") in ("changed", "error")


def test_codecs_of_two_formats_are_refused() -> None:
    """Bytes of one format are no bytes of another."""
    with pytest.raises(UsageError, match="no codec of json"):
        exchange("json", ["json:stdlib", "pickle"])


def test_formats_of_one_language_are_not_shared() -> None:
    """Pickle is Python's alone."""
    assert "pickle" not in shared_formats()


def test_the_worst_outcome_names_a_pair() -> None:
    """Errors before changes before refusals."""
    assert verdict({"counts": {"same": 9, "refused": 1}}) == "refused"
    assert verdict({"counts": {"changed": 2, "error": 1}}) == "error"
    assert (verdict({}), mark({}), mark({"counts": {"n/a": 3}})) == ("n/a", "n/a", "n/a")


one_run = pytest.mark.xdist_group("one run with exchange")
# Each language's exchange has tests of its own: of others than Node a run as a whole need not wait for.
FEW = ("json:ujson", "json:r-*", "json:java*", "json:mono*", "json:rust*")


@pytest.fixture(scope="module")
def record(tmp_path_factory: pytest.TempPathFactory) -> dict:
    folder = tmp_path_factory.mktemp("exchange")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(folder))
        patch.setattr(exchanging, "VALUES", exchanging.VALUES[:12])
        result = measure.run(
            DOCUMENT, codecs=("json:stdlib", "json:orjson"), exclude=FEW, time_s=2, exchange=True,
            workers=reader(folder, "changes"),
        )  # fmt: skip
    return result.record


@one_run
def test_a_run_keeps_the_exchange_in_its_record(record: dict) -> None:
    """Under fidelity, valid by the schema, with the user's document in it."""
    check(record)
    found = record["fidelity"]["exchange"]["json"]
    assert {"json:stdlib", "json:orjson", "json:node"} <= set(found["codecs"])
    assert not {"json:ujson", "json:rapidjson"} & set(found["codecs"])
    assert (found["own_share"], outcome(found, "json:orjson", "json:node", OWN)) == (1.0, "changed")


@one_run
def test_reports_show_the_matrix_and_say_it(record: dict) -> None:
    """Terminal within 100 columns, Markdown, HTML; and a record without it has no such part."""
    said = "json:orjson writes own data 4.75, json:node reads 4.750000000000001"
    plain = terminal.render(record)
    assert max(map(len, plain.splitlines())) <= 100
    assert "exchange of json" in plain
    assert said in " ".join(plain.split())
    assert "## Exchange of json" in markdown.render(record)
    page = render(record)
    assert "What one language writes and another reads: json" in page
    assert said in page
    without = json.loads(json.dumps(record))
    del without["fidelity"]["exchange"]
    assert blocks(without) == {}
    assert "xchange of json" not in markdown.render(without) + terminal.render(without)
    assert "What one language writes" not in render(without)


@one_run
def test_text_of_a_hostile_record_is_text(record: dict) -> None:
    """What a value was is shown, never run."""
    hostile = json.loads(json.dumps(record))
    cell = hostile["fidelity"]["exchange"]["json"]["pairs"]["json:orjson"]["json:node"]["values"][OWN]
    cell["in"] = "<script>alert(1)</script>\x1b[2J"
    assert "<script>alert" not in render(hostile)
    assert "\x1b" not in terminal.render(hostile)


def run(*args: str) -> tuple[int, str, str]:
    done = CliRunner().invoke(codecs_command.command, args, catch_exceptions=False, standalone_mode=False)
    return done.return_value, done.stdout, done.stderr


def test_the_command_prints_the_matrix(monkeypatch: pytest.MonkeyPatch) -> None:
    """Codecs as rows and numbered columns, then words; JSON has every value."""
    need_codec("msgpack:msgpack")  # one codec alone exchanges nothing
    monkeypatch.setattr(exchanging, "LANGUAGES", {})
    code, out, _ = run("msgpack", "--exchange")
    assert code == 0
    assert out.startswith("msgpack: ")
    assert "1 msgpack" in out
    monkeypatch.setattr(exchanging, "VALUES", exchanging.VALUES[:3])
    code, out, _ = run("msgpack", "--exchange", "--json")
    assert json.loads(out)["msgpack"]["pairs"]


def test_the_command_refuses_what_does_not_go_together() -> None:
    """Each with what to do."""
    for args in (("json", "--exchange", "--missing"), ("--worker", "node=x"), ("jsn", "--exchange")):
        with pytest.raises(Exception, match=r"--language|--exchange|jsn"):
            run(*args)
