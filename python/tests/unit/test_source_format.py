"""The file that the user has, as codecs are compared with it: its compressor, its compression, its library."""

from __future__ import annotations

import pyarrow as pa
import pytest
from pyarrow import parquet
from support.planted_codecs import Planted
from support.synthetic_records import synthetic_record

import tare
from tare.dataset import find_file_set
from tare.errors import TareError, Unsupported
from tare.measure.derive import derive
from tare.measure.inputs import gather_files
from tare.measure.run import check_use
from tare.measure.settings import Settings
from tare.measure.verdict.default_use import default_profile
from tare.measure.verdict.recommend import recommend
from tare.report import html, terminal

FLAT = {"languages": ["python", "r", "c"], "spec": "https://example.org"}
BEST = Planted("arrow:pyarrow", 5, 5, 0.6, flags=FLAT)


def record_of(*planted: Planted, kind: str = "table", **dataset: object) -> dict:
    """Returns a record of codecs with known sizes and times, of such a file."""
    record = synthetic_record(kind, planted=planted, base=planted[0].codec, growth=False, derived=False)
    record["dataset"] |= dataset
    return record


def size_of(record: dict, codec: str) -> int:
    """Returns the bytes of a codec."""
    return next(case["bytes"] for case in record["cases"] if case["labels"]["codec"] == codec)


def source_of(record: dict) -> str | None:
    """Returns the codec that stands for the file."""
    return recommend(record, profile="keep")["source"]["codec"]


@pytest.mark.parametrize(
    ("compressors", "codec"), [(["gzip"], "csv:pyarrow+gzip:6"), (["xz"], None), ([], "csv:pyarrow")]
)
def test_a_compressed_file_is_what_is_compressed_alike(compressors: list[str], codec: str | None):
    """Not by zstd, which is nearer in size; and nothing stands for it where its compressor was not measured."""
    gz = Planted("csv:pyarrow+gzip:6", 90, 60, 0.2, flags=FLAT)
    zs = Planted("csv:pyarrow+zstd:3", 40, 40, 0.17, flags=FLAT)
    plain = Planted("csv:pyarrow", 30, 30, 0.9, flags=FLAT)
    record = record_of(BEST, gz, zs, plain, source_format="csv", compressors=compressors, name="a.csv")
    size = size_of(record, plain.codec if not compressors else zs.codec)
    record["dataset"]["bytes_disk"] = size
    assert source_of(record) == codec
    if compressors and codec:
        assert recommend(record, profile="keep")["source"]["compressed"]


def test_a_parquet_file_is_told_by_its_compression(tmp_path):
    """Which the file says: another compression that is as large by chance is another file."""
    path = tmp_path / "a.parquet"
    parquet.write_table(pa.table({"a": list(range(1000))}), path, compression="snappy")
    assert tare.open_dataset(path).summary()["source_compression"] == "snappy"
    folder = tmp_path / "many"
    folder.mkdir()
    parquet.write_table(pa.table({"a": [1]}), folder / "b.parquet", compression="none")
    many = tare.open_dataset(find_file_set([str(folder)]))
    assert many.summary()["source_compression"] == "none"
    names = ("parquet:pyarrow", "parquet:polars,compression=lz4", "parquet:polars")
    planted = [Planted(name, 60, 50, 0.3 + 0.001 * i, flags=FLAT) for i, name in enumerate(names)]
    record = record_of(BEST, *planted, source_format="parquet", source_compression="snappy", name="a.parquet")
    for name, compression in zip(names, ("snappy", "lz4", "zstd"), strict=True):
        record["codecs"][name]["options"] = {"compression": compression}
    record["dataset"]["bytes_disk"] = size_of(record, names[1])
    assert source_of(record) == "parquet:pyarrow"
    record["dataset"]["source_compression"] = "brotli"
    assert source_of(record) is None


def test_a_file_of_another_size_is_not_what_a_codec_writes():
    """A pickle of pandas is no pickle of columns, which is twice as large."""
    own = Planted("pickle:stdlib", 20, 20, 0.9, flags=FLAT)
    record = record_of(BEST, own, source_format="pickle", name="a.pkl")
    record["dataset"]["bytes_disk"] = size_of(record, own.codec) / 2
    assert source_of(record) is None
    record["dataset"]["bytes_disk"] *= 1.9
    assert source_of(record) == own.codec


def test_json_stands_for_itself_as_everybody_reads_it():
    """Whichever library was quicker today."""
    names = {"json:stdlib": 50, "json:simdjson": 20, "json:orjson": 10, "msgpack:msgspec": 2}
    planted = [Planted(name, ms, ms, 0.5, flags=FLAT) for name, ms in names.items()]
    record = record_of(*planted, kind="document", source_format="json", name="a.json")
    record["dataset"]["bytes_disk"] = size_of(record, "json:stdlib")
    assert source_of(record) == "json:stdlib"
    assert "(read by stdlib)" in recommend(record, profile="keep")["beside"]


def test_nothing_is_compared_with_what_loses_values():
    """The usual codec is the first that keeps them; of a data frame of pandas what its own method writes."""
    lossy = Planted(
        "parquet:pyarrow,compression=zstd", 20, 20, 0.1, "lossy", changes=(("a", "lossy", 9),), flags=FLAT
    )
    kept = Planted("parquet:polars", 30, 30, 0.2, flags=FLAT)
    frames = Planted("parquet:pyarrow", 30, 30, 0.3, flags=FLAT)
    record = record_of(BEST, lossy, kept, frames)
    assert recommend(record, profile="keep")["reference"]["codec"] == "parquet:polars"
    record["dataset"]["source_kind"] = "pandas"
    found = recommend(record, profile="keep")
    assert found["reference"]["codec"] == "parquet:pyarrow"
    record["derived"] = derive(record)
    shown = " ".join(terminal.render(record).split())
    assert "of those that keep every value" in shown


def test_bytes_of_a_program_have_no_command_for_a_file():
    """There is no file of that name."""
    data = tare.open_dataset([1, 2, 3])
    assert not data.summary()["has_path"]
    quick, slow = (
        Planted("msgpack:msgspec", 50, 50, 0.3, flags=FLAT),
        Planted("json:stdlib", 90, 90, 0.5, flags=FLAT),
    )
    record = record_of(slow, quick, kind="document", source_format="json", name="bytes", has_path=False)
    record["dataset"]["bytes_disk"] = size_of(record, "json:stdlib")
    record["settings"] = {"profile": "keep"}
    record["derived"] = derive(record)
    shown = terminal.render(record)
    assert "tare convert" not in shown
    assert "  Python:   tare.write(value, " in shown


def test_records_in_lines_have_a_command_that_makes_a_table():
    """Logs are tables as well; messages and small files are not asked about it."""
    planted = [
        Planted(name, ms, ms, 0.5, flags=FLAT) for name, ms in (("json:stdlib", 90), ("msgpack:msgspec", 50))
    ]
    record = record_of(
        *planted, kind="document", source_format="ndjson", name="a log.ndjson", items=5000, tabular=True
    )
    record["dataset"]["bytes_disk"] = 1 << 20
    record["settings"] = {"profile": "keep"}
    record["derived"] = derive(record)
    shown = terminal.render(record)
    assert "  Table:    tare convert 'a log.ndjson' 'a log.parquet'\n" in shown
    assert "Table:" not in terminal.render(record, profile="message")
    for other in ({"bytes_disk": 1000}, {"items": 3}, {"tabular": False}):
        assert "Table:" not in terminal.render({**record, "dataset": {**record["dataset"], **other}})


@pytest.mark.parametrize(
    ("row", "is_table"),
    [
        ('{"id": 1, "user": {"plan": null}, "items": [{"sku": "a", "tags": ["x"]}]}', True),
        ('{"id": 1, "user": "me"}', False),
        ('{"id": 1, "user": {}}', False),
        ("[1]", False),
    ],
)
def test_lines_are_a_table_where_their_columns_have_one_type_each(tmp_path, row, is_table):
    """However deep they are; what a conversion would refuse is no table."""
    path = tmp_path / "a.ndjson"
    first = '{"id": 0, "user": {"plan": "pro"}}\n' if "plan" in row or "me" in row else ""
    path.write_text(f"{first}{row}\n{row}\n{row}\n")
    assert tare.open_dataset(path).summary()["tabular"] is is_table
    if is_table:
        tare.convert(path, tmp_path / "a.parquet")
    else:
        with pytest.raises(TareError):
            tare.convert(path, tmp_path / "a.parquet")


def test_a_codec_of_tables_is_refused_with_how_lines_become_one(tmp_path):
    """Of several files too; what is no table has no such advice."""
    for name in ("a b.ndjson", "c.ndjson"):
        (tmp_path / name).write_text('{"a": 1}\n{"a": 2}\n')
    (tmp_path / "x.json").write_text('{"a": {"b": 2}}')
    options = Settings(codecs=("parquet:pyarrow",))
    said = "^parquet:pyarrow holds tables, not documents"
    with pytest.raises(Unsupported, match=f"{said}; make a table of it first: tare convert '.*a b.parquet'$"):
        check_use(options, tare.open_dataset(tmp_path / "a b.ndjson"))
    several = tare.open_dataset(gather_files(f"{tmp_path}/*.ndjson"))
    with pytest.raises(Unsupported, match=r"tare convert '.*/\*\.ndjson' tables/ --to parquet$"):
        check_use(options, several)
    with pytest.raises(Unsupported, match=f"{said}$"):
        check_use(options, tare.open_dataset(tmp_path / "x.json"))


@pytest.mark.parametrize(
    ("dataset", "use"),
    [
        ({}, "message"),
        ({"source_format": "yaml"}, "keep"),
        ({"files": 5}, "keep"),
        ({"compressors": ["gzip"]}, "keep"),
    ],
)
def test_what_nobody_sends_is_kept(dataset: dict, use: str):
    """YAML is written by hand; lines in several files, or compressed, are files."""
    small = {"kind": "document", "items": 1, "bytes_memory": 900, "bytes_disk": 246, "source_format": "json"}
    assert default_profile({"dataset": small | dataset}) == use


def test_so_few_bytes_are_kept_whether_their_format_was_timed_or_not():
    """A header without rows was made a Parquet 94 times as large."""
    quick = [
        Planted(name, 0.1 * i, 0.1 * i, 1e-5, flags=FLAT)
        for i, name in enumerate(("arrow:pyarrow", "orc:pyarrow"), 1)
    ]
    record = record_of(*quick, source_format="csv", name="a.csv", bytes_disk=6)
    found = recommend(record, profile="keep")
    assert found["source"]["codec"] is None
    assert found["keeps_file"].startswith("keep the CSV you have: ")
    record["dataset"]["bytes_disk"] = 10**6
    assert not recommend(record, profile="keep")["keeps_file"]
    record["dataset"] |= {"bytes_disk": 6, "source_format": "yaml"}  # whose readers differ by a hundred times
    assert not recommend(record, profile="keep")["keeps_file"]


def test_where_nothing_was_measured_in_time_something_is_named_all_the_same():
    """What suits most data of the kind; or the file, where it is small."""
    record = {"cases": [], "codecs": {"orc:pyarrow": {}}, "weighing": {}, "dataset": {"kind": "table"}}
    found = recommend(record, profile="keep")
    assert found["sentence"].startswith("No answer yet")
    assert any(
        reason.startswith("until then Parquet (zstd) suits most tables") for reason in found["reasons"]
    )
    assert "No codec fits" not in html.render(record | {"derived": derive(record)})
    record["dataset"] |= {"source_format": "csv", "bytes_disk": 8}
    assert any(
        "until then keep the file" in reason for reason in recommend(record, profile="keep")["reasons"]
    )


def test_of_libraries_that_compress_alike_the_one_of_the_files_size_stands_for_it():
    """Polars' Parquet was larger by a sixth than the file of pyarrow, quicker to read, and stood for it."""
    record = record_of(
        Planted("parquet:polars,compression=snappy", 60, 10, 0.6, flags=FLAT),
        Planted("parquet:pyarrow", 60, 30, 0.52, flags=FLAT),
    )
    for codec, entry in record["codecs"].items():
        entry["options"] = {"compression": "snappy"} if codec.startswith("parquet") else {}
    record["dataset"] |= {
        "source_format": "parquet", "source_compression": "snappy", "bytes_disk": size_of(record, "parquet:pyarrow"),
    }  # fmt: skip
    assert source_of(record) == "parquet:pyarrow"


def test_a_copy_takes_no_less_than_the_passage_of_its_bytes():
    """Arrow of a file is read by copying it: the figure is of that, not of a copy from memory alone."""
    planted = (BEST, Planted("orc:pyarrow", 60, 60, 0.2, flags=FLAT))
    record = synthetic_record(
        "table", planted=planted, base=BEST.codec, media=("memory",), growth=False, derived=False
    )
    record["codecs"]["arrow:pyarrow"]["flags"] = FLAT | {"copies": True}
    size, rate = size_of(record, "arrow:pyarrow"), 1e6
    record["machine"] = {**record.get("machine", {}), "file_bytes_per_s": rate}
    for use in ("keep", "archive", "exchange"):  # what a link takes, given or assumed, is in no figure
        for link in (None, "8Mbit,1ms"):
            figures = recommend(record, profile=use, link=link)["figures"]
            assert figures["arrow:pyarrow"]["read_s"] == pytest.approx(size / rate)
            assert figures["orc:pyarrow"]["read_s"] < 1
            assert recommend(record, profile=use, link=link)["fastest"]["codec"] == "orc:pyarrow"
