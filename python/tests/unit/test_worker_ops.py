"""What a worker can be asked beyond the protocol's common ground: tables, kinds, parts, several codecs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from support.capabilities import need_module
from support.worker_requests import DEADLINE_S, ask

from tare import convert, open_dataset
from tare.errors import WorkerError
from tare.measure.session import Part
from tare.measure.worker_client.client import Worker

ROWS = 2000
DOCUMENTS = [{"id": n, "name": f"n{n}"} for n in range(300)]


@pytest.fixture(scope="module")
def worker() -> Iterator[Worker]:
    """One worker for the whole file: it may serve several codecs, one after another."""
    with Worker() as started:
        yield started


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("ops") / "table.arrow"
    value = pa.table(
        {"id": range(ROWS), "x": [n / 8 for n in range(ROWS)], "text": [f"t{n}" for n in range(ROWS)]}
    )
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, value.schema) as writer:
        writer.write_table(value)
    return path


@pytest.fixture(scope="module")
def documents(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("ops") / "documents.json"
    path.write_text(json.dumps(DOCUMENTS))
    return path


def ready(worker: Worker, path: Path, codec: str, **fields: Any) -> dict[str, Any]:
    is_table = path.suffix == ".arrow"
    ask(
        worker,
        "load",
        path=str(path),
        kind="table" if is_table else "document",
        **{"as": "arrow" if is_table else "json"},
    )
    return ask(worker, "prepare", codec=codec, **fields)


def run(worker: Worker, what: str, **fields: Any) -> dict[str, Any]:
    return ask(worker, "run", what=what, **{"batch": 1, **fields})


def error_of(worker: Worker, op: str, **fields: Any) -> WorkerError:
    with pytest.raises(WorkerError) as caught:
        ask(worker, op, **fields)
    return caught.value


@pytest.mark.parametrize("kind", [None, "own", "arrow", "pandas", "polars", "records"])
def test_tables_start_from_and_end_in_the_kind_asked_for(worker, table, kind):
    """Rows are counted in each, and verify compares them with the loaded table."""
    for module in {"pandas", "polars"} & {kind}:
        need_module(module)
    assert ready(worker, table, "parquet:pyarrow", kind=kind)["items"] == ROWS
    assert run(worker, "encode")["bytes"] > 0
    assert run(worker, "decode")["items"] == ROWS
    assert ask(worker, "verify")["verdict"] == "same"


R_FRAME = b"""structure(list(bp = structure(c(1.5, 2), label = "systolic"),
  arm = structure(1:2, levels = c("b", "a"), class = "factor")), class = "data.frame", row.names = 1:2)"""


@pytest.mark.parametrize(
    ("codec", "lost"),
    [
        ("parquet:pyarrow", []),
        ("rds:tare", []),
        ("fst:tare", ["$bp@label"]),
        ("parquet:polars", ["$bp@label", "$arm@levels"]),
        ("csv:pyarrow", ["$bp@label", "$arm@levels"]),
    ],
)
def test_what_a_codec_loses_of_an_object_of_r_is_told_as_convert_tells_it(worker, tmp_path, codec, lost):
    """Where the schema of its table keeps what the codec has no place for."""
    if "polars" in codec:
        need_module("polars")
    data = open_dataset(R_FRAME, format="dput")
    saved = data.save_part(tmp_path / "part")
    part = Part(1.0, saved.path, saved.as_, saved.kind, 2, 2, saved.bytes_memory, saved.hash, of_r=data.of_r)
    ask(worker, "load", **part.request())
    ask(worker, "prepare", codec=codec)
    assert ask(worker, "verify")["r_lost"] == lost
    (tmp_path / "a.R").write_bytes(R_FRAME)
    done = convert(tmp_path / "a.R", tmp_path / "out", format="dput", codec=codec)
    assert [loss["path"] for loss in done.losses] == lost


def test_nothing_is_told_of_r_of_other_data(worker, table):
    """Though its schema may have a key of R's."""
    ready(worker, table, "parquet:pyarrow")
    assert "r_lost" not in ask(worker, "verify")


def test_rows_are_told_when_a_table_is_loaded(worker, table):
    """Documents have none."""
    reply = ask(worker, "load", path=str(table), kind="table", **{"as": "arrow"})
    assert (reply["kind"], reply["rows"], reply["items"]) == ("table", ROWS, ROWS)


def test_one_column_is_read_without_the_rest(worker, table, tmp_path):
    """From memory and from a file; verify compares that column."""
    ready(worker, table, "parquet:pyarrow")
    path = str(tmp_path / "t.parquet")
    run(worker, "write", path=path)
    for where in ({}, {"path": path}):
        assert run(worker, "subset", subset="column:text", **where)["items"] == ROWS
        assert ask(worker, "verify")["verdict"] == "same"


@pytest.mark.parametrize(
    ("codec", "subset", "said"),
    [
        ("avro:fastavro", "rows:1%", "avro:fastavro cannot read some rows only"),
        ("parquet:pyarrow", "first", "has no first value"),
        ("parquet:pyarrow", "rows:some", "write rows:1%"),
        ("parquet:pyarrow", "rows:0%", "write rows:1%"),
        ("parquet:pyarrow", "every", "reads no such part"),
        ("parquet:pyarrow", "path:x", "not a JSON Pointer"),
    ],
)
def test_parts_that_cannot_be_read(worker, table, codec, subset, said):
    """The reason names the codec, or how a part is written."""
    ready(worker, table, codec)
    assert said in str(error_of(worker, "run", what="subset", subset=subset))


@pytest.mark.parametrize(
    "codec", ["arrow:pyarrow,compression=none", "parquet:pyarrow", "blit:tare", "json:simdjson"]
)
@pytest.mark.parametrize("materialise", ["open", "touch", "full"])
def test_a_lazy_view_is_opened_or_touched(worker, table, documents, tmp_path, materialise, codec):
    """From memory and from a mapped file; its items are those of the data, whatever the library's view is."""
    tabular = codec.startswith(("arrow", "parquet"))
    ready(worker, table if tabular else documents, codec)
    path = str(tmp_path / "t")
    run(worker, "write", path=path)
    items = ROWS if tabular else len(DOCUMENTS)
    assert run(worker, "decode", materialise=materialise)["items"] == items
    assert run(worker, "read", materialise=materialise, path=path)["items"] == items


@pytest.mark.parametrize(
    ("what", "fields"),
    [("open", {}), ("decode", {"materialise": "touch"}), ("subset", {"subset": "column:id"})],
)
def test_compressed_bytes_cannot_be_read_in_part(worker, table, what, fields):
    """A compressor around the format hides its structure."""
    ready(worker, table, "parquet:pyarrow+zstd:3")
    error = error_of(worker, "run", what=what, **fields)
    assert (error.type, "a compressor is around it" in str(error)) == ("Unsupported", True)


@pytest.mark.parametrize(
    "fields",
    [
        {"what": "decode", "materialise": "half"},
        {"what": "write", "sync": "sometimes", "path": "x"},
        {"what": "write"},
        {"what": "read"},
        {"what": "dance"},
        {},
    ],
)
def test_levels_that_do_not_exist_are_refused(worker, documents, fields):
    """As wrong use, before anything runs."""
    ready(worker, documents, "json:stdlib")
    assert error_of(worker, "run", **fields).type == "usage"


def test_each_document_can_be_a_call_of_its_own(worker, documents):
    """Sizes are those of the documents alone, and all of them come back."""
    whole = ready(worker, documents, "json:stdlib")["bytes"]
    each = ready(worker, documents, "json:stdlib", grain="each")
    assert each["items"] == len(DOCUMENTS)
    assert each["bytes"] == sum(len(json.dumps(document)) for document in DOCUMENTS)
    assert each["bytes"] < whole
    assert run(worker, "decode")["items"] == len(DOCUMENTS)
    assert run(worker, "copy")["bytes"] == each["bytes"]
    assert ask(worker, "verify")["verdict"] == "same"
    assert error_of(worker, "run", what="write", path="x").type == "Unsupported"


def test_a_codec_is_prepared_in_both_grains(worker, documents):
    """A request names the grain it means; one that names none means what was prepared last."""
    each = ready(worker, documents, "json:stdlib", grain="each")["bytes"]
    whole = ask(worker, "prepare", codec="json:stdlib", grain="whole")["bytes"]
    assert each < whole, "no brackets, no commas"
    assert [run(worker, "encode", **named)["bytes"] for named in ({"grain": "each"}, {"grain": "whole"}, {})] == [
        each, whole, whole,
    ]  # fmt: skip
    assert {ask(worker, "verify", grain=grain)["verdict"] for grain in ("each", "whole")} == {"same"}
    assert error_of(worker, "run", what="encode", grain="half").type == "usage"


def test_messages_of_a_part_are_drawn_from_what_is_loaded(worker, tmp_path):
    """They are the contiguous blocks that the same share of the data has, and are compared with those."""
    from tare import Dataset

    documents = [{"id": number, "text": "x" * (number % 7)} for number in range(500)]
    path = tmp_path / "many.json"
    path.write_text(json.dumps(documents))
    whole = ready(worker, path, "json:stdlib")["bytes"]
    each = ask(worker, "prepare", codec="json:stdlib", grain="each", share=0.2, seed=3)
    drawn = Dataset(documents, name="x").subset(0.2, seed=3).value
    assert each["items"] == len(drawn) == 101
    assert each["bytes"] == sum(len(json.dumps(document)) for document in drawn)
    assert run(worker, "decode", grain="each")["items"] == len(drawn)
    assert ask(worker, "verify", grain="each")["verdict"] == "same"
    assert run(worker, "encode", grain="whole")["bytes"] == whole


def test_one_document_has_no_grain(worker, tmp_path):
    """A map is one document."""
    path = tmp_path / "map.json"
    path.write_text('{"a": 1}')
    ask(worker, "load", path=str(path), kind="document", **{"as": "json"})
    assert error_of(worker, "prepare", codec="json:stdlib", grain="each").type == "Unsupported"


def test_prepared_codecs_stay_until_the_next_load(worker, documents):
    """A request names its codec; ids that mean the same are the same."""
    ready(worker, documents, "json:stdlib")
    ask(worker, "prepare", codec="pickle")
    pickle = run(worker, "encode")["bytes"]
    text = run(worker, "encode", codec="json:stdlib")["bytes"]
    assert text != pickle
    assert run(worker, "encode", codec="pickle")["bytes"] == pickle
    ask(worker, "load", path=str(documents), kind="document", **{"as": "json"})
    assert error_of(worker, "run", what="encode", codec="pickle").type == "usage"


def test_verify_after_the_value_was_freed(worker, documents, tmp_path):
    """The same call is made again, untimed: reading the file that was read."""
    ready(worker, documents, "json:stdlib")
    path = tmp_path / "x.json"
    run(worker, "read", path=str(path))
    changed = [*DOCUMENTS[:-1], {"id": -1, "name": "other"}]
    path.write_text(json.dumps(changed))
    assert ask(worker, "verify")["verdict"] == "lossy"


def test_large_results_do_not_limit_a_batch(worker, tmp_path):
    """Each is dropped before the next call: 100 results of 10 MiB need the memory of one."""
    path = tmp_path / "long.json"
    path.write_text(json.dumps("x" * (10 << 20)))
    ask(worker, "load", path=str(path), kind="document", **{"as": "json"})
    ask(worker, "prepare", codec="json:orjson")
    assert run(worker, "copy", batch=100)["batch"] == 100


def test_null_is_data_and_nothing_is_not(worker, tmp_path):
    """A document that is null comes back as one item."""
    path = tmp_path / "null.json"
    path.write_text("null")
    ask(worker, "load", path=str(path), kind="document", **{"as": "json"})
    assert ask(worker, "prepare", codec="json:stdlib")["items"] == 1
    assert ask(worker, "verify")["verdict"] == "same"


@pytest.mark.parametrize(
    ("path", "codec"),
    [("documents", "ndjson:stdlib"), ("table", "arrow:pyarrow"), ("documents", "json:stdlib")],
)
def test_parts_stream_from_writer_to_reader(request, path, codec):
    """What a library can write in parts is joined to the same value; one that cannot says so."""
    data = request.getfixturevalue(path)
    with Worker() as writer, Worker() as reader:
        for end in (writer, reader):
            ready(end, data, codec, delivery="streaming")
        opened = ask(reader, "open", medium={"kind": "unix", "role": "reader", "token": "ab" * 16})
        medium = {"kind": "unix", "role": "writer", "token": "ab" * 16, "address": opened["address"]}
        handle = ask(writer, "open", medium=medium)["handle"]
        if codec == "json:stdlib":
            error = error_of(writer, "run", what="send", handle=handle)
            assert (error.type, error.phase) == ("Unsupported", "open")
            return
        asked = reader.send("run", what="receive", handle=opened["handle"])
        sent = run(writer, "send", handle=handle)
        received = reader.wait(asked, DEADLINE_S)
        assert received["bytes"] == sent["bytes"]
        assert received["items"] == (ROWS if path == "table" else len(DOCUMENTS))
        assert ask(reader, "verify")["verdict"] == "same"


def test_streaming_to_a_file(worker, documents, tmp_path):
    """Parts are written to a file and joined from it."""
    ready(worker, documents, "ndjson:stdlib", delivery="streaming")
    path = tmp_path / "x.ndjson"
    size = run(worker, "write", path=str(path), sync="fsync")["bytes"]
    assert size == path.stat().st_size
    assert run(worker, "read", path=str(path))["items"] == len(DOCUMENTS)
    assert ask(worker, "verify")["verdict"] == "same"


def test_data_of_another_kind_is_unsupported(worker, documents, table):
    """A table format takes no document."""
    ask(worker, "load", path=str(documents), kind="document", **{"as": "json"})
    error = error_of(worker, "prepare", codec="parquet:pyarrow")
    assert (error.type, "documents" in str(error)) == ("Unsupported", True)


@pytest.mark.parametrize("grain", ["whole", "each"])
def test_json_text_is_encoded_and_written_back_without_objects(worker, documents, grain):
    """With kind=json calls start from text and end in it; the text is that of the document."""
    begun = ready(worker, documents, "blit:tare", kind="json", grain=grain)
    assert begun["items"] == len(DOCUMENTS)
    done = run(worker, "decode")
    assert done["items"] == len(DOCUMENTS)
    assert ask(worker, "verify", full=True)["verdict"] == "same"
    assert run(worker, "encode")["bytes"] == begun["bytes"]


def test_json_text_comes_back_sorted(worker, tmp_path):
    """order=lexical writes names sorted at every level."""
    path = tmp_path / "d.json"
    path.write_text('[{"b": {"d": 1, "c": [{"z": 0, "a": 1}]}, "a": 2}]')
    ready(worker, path, "blit:tare", kind="json", order="lexical")
    run(worker, "decode")
    assert ask(worker, "verify", full=True)["verdict"] == "same"


def test_objects_alone_are_no_json_text(worker, documents):
    """A library without that road says so."""
    error = error_after_load(worker, documents, codec="msgpack:msgpack", kind="json")
    assert "not JSON text" in str(error)


def error_after_load(worker: Worker, path: Path, **fields: Any) -> WorkerError:
    ask(worker, "load", path=str(path), kind="document", **{"as": "json"})
    return error_of(worker, "prepare", **fields)


@pytest.mark.parametrize("codec", ["json:stdlib", "json:stdlib+zstd:3", "json:ujson", "json:rapidjson"])
def test_text_with_nan_is_not_json(worker, codec, tmp_path):
    """What the library alone reads back is lost to all other readers."""
    if (name := codec.partition("+")[0].partition(":")[2]) != "stdlib":
        need_module(name)
    path = tmp_path / "nan.json"
    path.write_text('{"x": [NaN, 1.0], "y": "NaN"}', encoding="utf-8")
    ask(worker, "load", path=str(path), **{"as": "json"})
    ask(worker, "prepare", codec=codec)
    found = ask(worker, "verify")
    assert (found["verdict"], [one["path"] for one in found["changes"]]) == ("lossy", ["x[*]"])
    assert found["changes"][0]["out"] == "text that is not JSON"


@pytest.mark.parametrize(("value", "looked"), [(1.5, False), (float("nan"), True)])
def test_numbers_that_json_lacks_are_looked_for_where_there_may_be_some(tmp_path, monkeypatch, value, looked):
    """Loading tells that there are none, so that what came back is not read for them once more for each codec."""
    from tare.dataset import Dataset
    from tare.fidelity import non_finite
    from tare.measure.worker.operations import Ops

    calls = []
    real = non_finite.add_non_finite
    monkeypatch.setattr(
        non_finite, "add_non_finite", lambda *given, **more: calls.append(1) or real(*given, **more)
    )
    saved = Dataset([{"x": value}], name="d").save_part(tmp_path / "part")
    ops = Ops()
    ops.op_load({"path": saved.path, "as": saved.as_, "kind": saved.kind})
    ops.op_prepare({"codec": "json:stdlib"})
    found = ops.op_verify({"codec": "json:stdlib"})
    assert bool(calls) is looked
    assert found["verdict"] == ("lossy" if looked else "same")
