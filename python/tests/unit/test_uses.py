"""Uses: their weights, which is the default, which codecs are tried and may be chosen."""

from __future__ import annotations

import gzip
import importlib
import re
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner
from support.planted_codecs import Planted
from support.synthetic_records import synthetic_record

from tare import formats
from tare.cli.data import way_of
from tare.cli.measure import command as measure
from tare.cli.measure import not_installed
from tare.cli.report import command as report
from tare.codec import Codec, candidates
from tare.codec.shortlist import beside, is_common, missing, shortlist
from tare.dataset import Dataset, open_dataset
from tare.errors import UsageError
from tare.measure.derive import derive
from tare.measure.plan.availability import tried
from tare.measure.run import run
from tare.measure.settings import Settings
from tare.measure.verdict.constraints import barred, conditions
from tare.measure.verdict.cost_model import PROFILES
from tare.measure.verdict.default_use import default_profile
from tare.measure.verdict.uses import USES
from tare.report import terminal
from tare.report.digest import PROFILES as SHOWN
from tare.report.digest import digest
from tare.report.html.page import _style

FLAT = {"languages": ["python", "r", "c"], "spec": "https://example.org"}
ONE_LANGUAGE = {
    "pickle",
    "marshal",
    "repr",
    "rds",
    "rdata",
    "qs",
    "qs2",
    "qdata",
    "fst",
    "dput",
    "npy",
    "pgjsonb",
}


@pytest.mark.parametrize(
    ("name", "writes", "reads", "parts", "rate", "price"),
    [
        ("keep", 1, 5, 0, float("inf"), 20),
        ("cache", 1, 10, 0, float("inf"), 1),
        ("archive", 1, 1, 0, 200e6, 20),
        ("exchange", 1, 3, 0, 12.5e6, 0),
        ("message", 1, 1, 0, 125e6, 0),
        ("random", 1, 1, 1000, float("inf"), 0),
    ],
)
def test_weights_are_fixed(name, writes, reads, parts, rate, price):
    """What they are stands in the guide; nobody tunes them."""
    use = PROFILES[name]
    assert (use.writes, use.reads, use.subset_reads, use.bytes_per_s) == (writes, reads, parts, rate)
    assert use.seconds_per_byte * 1e9 == pytest.approx(price)


def test_every_list_of_uses_has_all_of_them():
    """Commands, reports and the style of the page, with the numbers of those that measure."""
    for command in (measure, report):
        choice = next(one.type for one in command.params if one.name == "profile")
        assert isinstance(choice, click.Choice)
        assert set(choice.choices) == set(PROFILES)
    lines = [line.split() for line in (measure.help or "").partition("Uses, for --for:")[2].splitlines()]
    told = {line[0]: line[1:] for line in lines if line}
    assert list(told)[: len(PROFILES)] == list(
        next(one.type for one in measure.params if one.name == "profile").choices
    )
    assert {name: " ".join(words) for name, words in told.items()} == USES
    found = digest({"cases": []})
    for name, use in PROFILES.items():
        assert SHOWN[name]["about"] == use.says == USES[name]
        assert found.weights(name) == use.weights(), name
    style = _style()
    assert all(f"body:has(#p-{name}:checked) :is(.v-{name},.u-{name})" in style for name in PROFILES)


def _document(items: int, mean_bytes: float, **about: Any) -> dict[str, Any]:
    return {"kind": "document", "items": items, "shape": {"mean_doc_bytes": mean_bytes}, **about}


@pytest.mark.parametrize(
    ("dataset", "expected"),
    [
        ({"kind": "table", "bytes_disk": 300}, "keep"),
        ({"kind": "document", "items": 1, "bytes_disk": 246, "source_format": "json"}, "message"),
        ({"kind": "document", "items": 1, "bytes_disk": 73_000_000, "source_format": "json"}, "keep"),
        # A list in one file of JSON is one document.
        ({"kind": "document", "items": 9000, "bytes_disk": 9_000_000, "source_format": "json"}, "keep"),
        ({"kind": "document", "items": 9000, "bytes_disk": 9_000_000, "source_format": "ndjson"}, "message"),
        ({"kind": "document", "items": 10, "bytes_disk": 9_000_000, "source_format": "ndjson"}, "keep"),
        ({"kind": "document", "items": 400, "bytes_memory": 30_000, "source_format": None}, "message"),
        # What the items take as JSON decides, not how much of the file was loaded, how it is compressed, or Python's objects.
        (_document(10, 300, bytes_disk=2_000_000_000, source_format="ndjson"), "message"),
        (_document(10, 70_000, bytes_disk=4_000, source_format="ndjson"), "keep"),
        (_document(400, 150, bytes_memory=900_000), "message"),
        (_document(900, 150, bytes_disk=4_000, source_format="json"), "keep"),
        (_document(1, 65_535), "message"),
        (_document(1, 65_536), "keep"),
    ],
)
def test_the_default_use_follows_kind_and_size(dataset, expected):
    """Files are kept; small documents and lines are messages."""
    assert default_profile({"dataset": dataset}) == expected
    assert default_profile({"dataset": dataset, "settings": {"profile": "archive"}}) == "archive"


def test_formats_of_one_language_are_named_so():
    """Each is native to a language or a program; the others to none."""
    assert {format.id for format in formats.FORMATS if format.native_to} == ONE_LANGUAGE


def _tried(value: Any, source: str | None = None, **settings: Any) -> list[str]:
    format = formats.get(source) if source else None
    return [str(codec) for codec in tried(Settings(**settings), Dataset(value, name="x", format=format))[0]]


def _formats(ids: list[str]) -> set[str]:
    return {Codec.parse(id).format.id for id in ids}


def test_formats_of_one_language_are_tried_only_when_asked_for():
    """Not by default; of the file's own language, of --must readable:LANG, by --codec, and all with --all."""
    table = open_dataset("synthpop:20").value
    assert not _formats(_tried(table)) & ONE_LANGUAGE
    assert {"rds", "fst", "qs2"} <= _formats(_tried(table, "rds"))
    assert "pickle" not in _formats(_tried(table, "rds"))
    assert {"rds", "fst"} <= _formats(_tried(table, must=("untrusted,readable:R",)))
    assert {"pickle", "marshal"} <= _formats(_tried([{"a": 1}], "pickle"))
    assert _formats(_tried([{"a": 1}], codecs=("pickle", "rds"))) == {"pickle", "rds"}
    assert {"pickle", "rds", "fst"} <= _formats(_tried(table, all_codecs=True))


def test_what_people_use_is_tried_first():
    """The installed ones of the shortlist in its order, then variants and the rest; none twice."""
    for kind, sequence in (("table", False), ("document", False), ("document", True)):
        found = [str(codec) for codec in candidates(kind, sequence=sequence)]
        wanted = [id for id in shortlist(kind, sequence=sequence) if Codec.parse(id).installed]
        assert found[: len(wanted)] == wanted
        assert len(found) == len(set(found))
        assert {id for id in beside(kind, sequence=sequence) if Codec.parse(id).installed} <= set(found)


def test_the_format_of_the_file_is_on_the_shortlist():
    """Once, and last if people do not use it much."""
    assert shortlist("document", source_format="yaml")[-1].startswith("yaml:")
    assert len([id for id in shortlist("document", source_format="json") if id == "json:orjson"]) == 1
    assert all(is_common(id) for id in shortlist("table"))
    assert not is_common("yaml:pyyaml")


@pytest.mark.parametrize(
    ("kind", "stored_as", "last"),
    [
        ("table", "avro", "avro:fastavro,default=text"),
        ("document", "json", "blit:tare"),
        ("document", "json+gzip", "json:orjson+gzip:6"),
        ("document", "yaml", "yaml:pyyaml,loader=c"),
        ("document", "rds+gzip", "rds:tare+gzip:6"),
        ("document", "parquet", "blit:tare"),  # holds no documents
        ("document", "nonsense", "blit:tare"),
    ],
)
def test_what_few_people_use_is_compared_last(kind, stored_as, last):
    """The file's own format with its compressor, by the library that people use, as that library is tried."""
    found = shortlist(kind, source_format=stored_as)
    assert found[-1] == last
    assert len(found) == len(set(found))


@pytest.mark.parametrize(
    ("stored_as", "own"),
    [
        ("csv", "csv:pyarrow"),
        ("csv+gzip", "csv:pyarrow+gzip:6"),
        ("csv+zstd", "csv:pyarrow+zstd:3"),  # among them already, and later
        ("csv+gzip+xz", "csv:pyarrow"),
        ("ndjson", "ndjson:polars"),
    ],
)
def test_the_table_that_the_user_has_is_compared_early(stored_as, own):
    """Everything is compared with it, so the time must reach it; what is quick and usual stands before it."""
    found = shortlist("table", source_format=stored_as)
    assert found[4] == own
    assert len(found) == len(set(found))
    assert found[:4] == shortlist("table")[:4]
    assert shortlist("table", source_format="parquet")[:4] == shortlist("table")[:4]


def test_a_compressed_file_is_tried_as_it_is_stored(tmp_path: Path) -> None:
    """A program would write it compressed again."""
    path = tmp_path / "a.csv.gz"
    path.write_bytes(gzip.compress(b"a,b\n1,x\n2,y\n" * 50))
    dataset = open_dataset(path)
    assert dataset.stored_as == dataset.subset(0.5).stored_as == "csv+gzip"
    found = [str(codec) for codec in tried(Settings(), dataset)[0]]
    wanted = [id for id in shortlist("table", source_format="csv+gzip") if Codec.parse(id).installed]
    assert found[: len(wanted)] == wanted
    assert open_dataset([1]).stored_as is None


def test_missing_libraries_are_named_with_one_command(monkeypatch):
    """A stranger without polars is told so once."""
    library = type(Codec.parse("parquet:polars").library)
    monkeypatch.setattr(library, "installed", property(lambda self: self.name not in ("polars", "duckdb")))
    names, command = missing("table")
    assert names == ["polars", "duckdb"]
    assert command == "pip install polars duckdb"


def test_a_run_says_what_people_use_and_is_not_installed(monkeypatch):
    """In one line, with the command; nothing where codecs were chosen, or all are there."""
    options = dict.fromkeys(("plan", "codecs", "like", "quiet"))
    record = {"dataset": {"kind": "table"}}
    library = type(Codec.parse("parquet:polars").library)
    monkeypatch.setattr(library, "installed", property(lambda self: self.name != "polars"))
    said = not_installed(record, options)
    assert said == (
        "not installed, and so not measured: polars; it is one of the usual libraries. "
        "To measure it too: pip install polars"
    )
    assert not_installed(record, {**options, "codecs": ("json",)}) == ""
    monkeypatch.setattr(library, "installed", property(lambda self: True))
    assert not_installed(record, options) == ""


@pytest.mark.parametrize(
    ("id", "use", "words"),
    [
        ("qdata:tare", "exchange", "fewer than 3 languages"),
        ("rds:tare", "archive", "fewer than 2 languages"),
        ("blit:tare", "archive", "fewer than 2 languages"),
        ("csv:pyarrow", "exchange", ""),
        ("parquet:pyarrow", "exchange", ""),
        ("pickle", "keep", "run code"),
        ("pickle", "cache", ""),
    ],
)
def test_readers_of_ours_do_not_count(id, use, words):
    """Nobody else relies on a reader that Tare alone brings; what R reads, R reads."""
    reason = barred({"flags": Codec.parse(id).flags()}, conditions(PROFILES[use].conditions, ()))
    assert words in reason
    assert bool(words) == bool(reason)


def test_a_language_that_tare_brings_is_still_readable():
    """--must readable:python is met by what Tare reads in Python."""
    flags = {"flags": Codec.parse("rds:tare").flags()}
    assert barred(flags, conditions((), ["readable:python,readable:r"])) == ""


def test_nobody_is_told_to_hand_r_files_to_others(tmp_path: Path) -> None:
    """A CSV of ZIP codes is exchanged as CSV or Parquet, also where the formats of R were measured."""
    path = tmp_path / "zips.csv"
    rows = "".join(f"{number:05},town {number % 97},{number * 37}\n" for number in range(501, 3000))
    path.write_text("zip,place,people\n" + rows)
    of_r = ("qdata:tare", "qs2:tare", "rds:tare")
    asked = ("csv:pyarrow", "parquet:pyarrow", *of_r)
    result = run(path, profile="exchange", codecs=asked, media=("memory",), time_s=0)
    assert result.best.codec.format_id in ("csv", "parquet")
    for use in ("exchange", "archive"):
        verdict = result.record["derived"]["profiles"][use]
        assert verdict["codec"] not in of_r
        left = {one["codec"]: one["reason"] for one in verdict["excluded"]}
        assert all("independent readers" in left[codec] for codec in of_r), use


def test_the_oracle_knows_the_same_shortlist(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is written out twice, so that one cannot be moved without the other."""
    monkeypatch.syspath_prepend(str(Path(__file__).resolve().parents[3] / "bench"))
    oracle = importlib.import_module("regret.oracle")
    for kind, ids in oracle.SHORTLIST.items():
        assert [str(Codec.parse(id)) for id in ids] == shortlist(kind)
    oracle_of_one = importlib.import_module("regret.uses").ONE_LANGUAGE
    assert oracle_of_one == ONE_LANGUAGE


def test_an_rds_file_is_measured_against_its_like(tmp_path: Path) -> None:
    """Whoever has one uses R: the formats of R are tried, those of Python are not."""
    path = tmp_path / "a.rds"
    path.write_bytes(Codec.parse("rds:tare").encode(open_dataset("synthpop:20").value))
    dataset = open_dataset(path)
    found = [str(codec) for codec in tried(Settings(), dataset)[0]]
    assert {"rds", "qs2", "fst"} <= _formats(found)
    assert not {"pickle", "marshal"} & _formats(found)
    assert shortlist("table", source_format=dataset.stored_as)[-1] in found


def test_all_is_a_word_of_the_command(tmp_path: Path) -> None:
    """``--all`` lists the codecs that a run would try; without it those of one language are not there."""
    path = tmp_path / "a.csv"
    path.write_text("a,b\n1,x\n")
    shown = {
        words: CliRunner().invoke(measure, [str(path), "--dry-run", *words]).output
        for words in ((), ("--all",), ("--must", "readable:r"), ("--codec", "rds*"))
    }
    assert [words for words, text in shown.items() if "rds:tare@" in text] == list(shown)[1:]
    assert [words for words, text in shown.items() if "pickle" in text] == [("--all",)]


@pytest.mark.parametrize("profile", [None, "keep", "cache", "archive", "exchange"])
def test_a_link_counts_in_every_use_that_reads_files(profile: str | None) -> None:
    """Over a slow one what is small costs least; the answer's first lines and its cost name it."""
    codecs = (
        Planted("arrow:pyarrow", 10, 5, 1.0, flags=FLAT),
        Planted("parquet:pyarrow", 100, 50, 0.2, flags=FLAT),
        Planted("orc:pyarrow", 200, 300, 0.5, flags=FLAT),
    )
    record = synthetic_record("table", planted=codecs, growth=False, base="arrow:pyarrow")
    record["settings"] = {"profile": profile, "link": "1MB/s,30ms"}
    record["derived"] = derive(record)
    verdict = record["derived"]["headline"]
    assert ("parquet:pyarrow", 1e6, True) == (verdict["codec"], verdict["weights"]["v"], verdict["linked"])
    shown = " ".join(terminal.render(record).split())
    assert f"use: {profile or 'keep'} over 1 MB/s and 30 ms" in shown
    assert re.search(
        r"Cost: 1 write \+ \d+ reads? at 1 MB/s.*the round trip of 30 ms, the same for all", shown
    )


def test_no_link_counts_where_parts_are_read(tmp_path: Path) -> None:
    """Nobody knows how many bytes the reading of a column takes over it: it is refused."""
    path = tmp_path / "a.csv"
    path.write_text("a,b\n1,x\n")
    with pytest.raises(
        UsageError,
        match="no link counts for the use random: how many bytes the reading of one column takes is not measured",
    ):
        run(open_dataset(path), settings=Settings(profile="random", link="1MB/s"))


def test_a_link_of_a_plan_counts_for_messages_alone() -> None:
    """A plan has one without being asked."""
    record = synthetic_record("table", growth=False)
    record |= {"settings": {"link": "1Gbit,0.3ms"}, "plan": {"name": "load"}}
    profiles = derive(record)["profiles"]
    assert [name for name, one in profiles.items() if one["linked"]] == ["message"]


def test_whoever_measures_an_object_is_told_of_links() -> None:
    """Where none is given, and none is the use's own."""
    record = {"dataset": {"kind": "table"}, "settings": {"profile": None, "link": None}}
    assert "--link RATE" in way_of("s3://lake/a.csv", record)
    assert ["", "", ""] == [
        way_of("a.csv", record),
        way_of("s3://lake/a.csv", record | {"settings": {"profile": "archive"}}),
        way_of("s3://lake/a.csv", record | {"settings": {"link": "50MB/s"}}),
    ]
