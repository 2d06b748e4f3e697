"""What a user of many files does not expect: names that meet, sources that went, files that cannot be cut."""

from __future__ import annotations

import base64
import json
import os
import zlib
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet

import tare
from tare import compress, scale
from tare.errors import Malformed, TareError, UsageError
from tare.scale.planning import convert
from tare.scale.ranges import read_range, schema_from_text, schema_to_text
from tare.scale.tasks import inputs

HOW: dict[str, Any] = {"executor": "inline"}


def lines(path: Path, *rows: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_two_sources_of_one_name_do_not_take_each_other_s_place(tmp_path: Path) -> None:
    """Of another folder, whole or in parts; --overwrite is the way to say it."""
    for folder, value in (("a", 1), ("b", 2)):
        lines(tmp_path / folder / "x.ndjson", {"v": value})
        lines(tmp_path / folder / "big.ndjson", *({"v": value, "n": n} for n in range(2000)))
    given: dict[str, Any] = {"to": "parquet", "split": 8000}
    out = tmp_path / "out"
    assert scale.convert(str(tmp_path / "a"), str(out), **given, **HOW).ok
    left: list[tuple[str, str]] = []
    with pytest.raises(TareError, match="nothing to do"):
        scale.convert(str(tmp_path / "b"), str(out), skipped=left, **given, **HOW)
    assert left == [
        (
            f"{name}.ndjson",
            f"a file of that name exists already, made of {tmp_path}/a/{name}.ndjson; --overwrite replaces it",
        )
        for name in ("big", "x")
    ]
    assert parquet.read_table(out / "x.parquet")["v"].to_pylist() == [1]
    assert scale.convert(str(tmp_path / "b"), str(out), overwrite=True, **given, **HOW).ok
    assert parquet.read_table(out / "x.parquet")["v"].to_pylist() == [2]
    assert set(parquet.read_table(out / "big")["v"].to_pylist()) == {2}


def test_results_beside_their_sources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files that are named, and a glob, into their own folder or one above; a folder within is no source."""
    monkeypatch.chdir(tmp_path)
    lines(tmp_path / "sub" / "a.ndjson", {"v": 1})
    lines(tmp_path / "sub" / "b.ndjson", {"v": 1})
    assert scale.convert(["sub/a.ndjson", "sub/b.ndjson"], ".", to="parquet", **HOW).files == 2
    assert scale.convert("sub/*.ndjson", "sub", to="parquet", **HOW).files == 2
    assert scale.convert("sub/**/*.ndjson", "sub/out", to="ndjson", **HOW).files == 2
    again = scale.convert("sub/**/*.ndjson", "sub/out", to="ndjson", **HOW)
    assert (again.files, again.files_before) == (0, 2)


@pytest.mark.parametrize(
    ("source", "out"),
    [
        ("link", "real/data/out"), ("link", "link/out"), ("real/data", "link/out"), ("real/data", "to-out"),
        ("link/**/*.csv", "link/out"), ("link/*", "real/data/out"),
    ],
)  # fmt: skip
def test_results_within_their_source_by_way_of_a_link(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: str, out: str
) -> None:
    """They are no sources, however the two folders are spelt; nor is a link to one of them."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "real" / "data" / "out").mkdir(parents=True)
    (tmp_path / "real" / "data" / "f1.csv").write_text("a\n1\n")
    (tmp_path / "link").symlink_to("real/data")
    (tmp_path / "to-out").symlink_to("real/data/out")
    (tmp_path / "real" / "data" / "last.csv").symlink_to("out/f1.csv")
    for before in (0, 1, 1):
        report = scale.convert(source, out, to="csv", **HOW)
        assert (report.files, report.files_before) == (1 - before, before)
    made = tmp_path / "real" / "data" / "out"
    assert [path.name for path in made.rglob("*.csv")] == ["f1.csv"]


def test_a_link_to_the_source_as_destination_is_said(tmp_path: Path) -> None:
    lines(tmp_path / "in" / "a.ndjson", {"v": 1})
    (tmp_path / "link").symlink_to("in")
    with pytest.raises(UsageError, match="is the source and the folder of the results"):
        scale.plan_convert(tmp_path / "in", tmp_path / "link", to="parquet")


def test_the_largest_source_is_gone(tmp_path: Path) -> None:
    """It costs its own unit: no worker is to blame."""
    lines(tmp_path / "in" / "large.ndjson", *({"v": n} for n in range(100)))
    lines(tmp_path / "in" / "small.ndjson", {"v": 1})
    plan = scale.plan_convert(str(tmp_path / "in"), str(tmp_path / "out"), to="parquet")
    (tmp_path / "in" / "large.ndjson").unlink()
    report = scale.run(plan, **HOW)
    assert (report.done, report.failed) == (1, 1)
    assert "large.ndjson" in report.failures[0]["error"]["message"]


@pytest.mark.parametrize(
    ("name", "content"), [("bad.ndjson", b'{"a": ]}\n' * 2000), ("bad.parquet", b"PAR1" * 4000)]
)
def test_a_file_that_cannot_be_cut_stops_no_other(tmp_path: Path, name: str, content: bytes) -> None:
    lines(tmp_path / "in" / "good.ndjson", *({"v": n} for n in range(2000)))
    (tmp_path / "in" / name).write_bytes(content)
    report = scale.convert(str(tmp_path / "in"), str(tmp_path / "out"), to="arrow", split=8000, **HOW)
    assert report.done > 1
    (failed,) = report.failures
    assert name in failed["error"]["message"]


def test_what_changed_while_it_was_read_is_no_result_of_its_group(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(convert, "_GROUPED_FROM", 5)
    for n in range(20):
        lines(tmp_path / "in" / f"{n:02}.ndjson", {"v": n})
    real = inputs._check

    def changing(place: Any, name: str, given: Any, when: str, before: Any = None) -> Any:
        if name == "07.ndjson" and before is not None:
            raise inputs.SourceChanged("07.ndjson changed while it was read")
        return real(place, name, given, when, before)

    monkeypatch.setattr(inputs, "_check", changing)
    report = scale.convert(str(tmp_path / "in"), str(tmp_path / "out"), to="parquet", **HOW)
    assert report.files_failed == 1
    assert sorted(path.stem for path in (tmp_path / "out").glob("*.parquet")) == [
        f"{n:02}" for n in range(20) if n != 7
    ]


@pytest.mark.parametrize("kind", ["csv", "ndjson"])
def test_a_wide_text_is_cut(tmp_path: Path, kind: str) -> None:
    """Its schema is more than a unit has room for; of one that fits the unit, and so its key, is what it was."""
    for count in (10, 900, 2500):
        names = [f"measure_of_{n:05}_total" for n in range(count)]
        path = tmp_path / f"{count}.{kind}"
        if kind == "csv":
            path.write_text("\n".join([",".join(names), *[",".join(["1"] * count)] * 40, ""]))
        else:
            lines(path, *[dict.fromkeys(names, 1)] * 40)
        out = tmp_path / f"out{count}"
        given: dict[str, Any] = {"split": path.stat().st_size // 5, "split_lines": True}
        plan = scale.plan_convert(path, out, to="parquet", **given)
        assert [unit["options"]["schema"][:3] == "xz:" for unit in plan.units()] == [count > 10] * plan.count
        report = scale.run(plan, **HOW)
        assert (report.ok, report.rows, plan.count > 3) == (True, 40, True)
        assert {tuple(parquet.read_schema(part).names) for part in out.rglob("*.parquet")} == {tuple(names)}


def test_a_text_that_is_too_wide_to_cut_costs_itself(tmp_path: Path) -> None:
    """It is named, with what to do: without --split it is done."""
    names = [f"{zlib.crc32(b'%d' % n):x}{zlib.adler32(b'%d' % n):x}" for n in range(9000)]
    lines(tmp_path / "in" / "wide.ndjson", *[dict.fromkeys(names, 1)] * 4)
    lines(tmp_path / "in" / "a.ndjson", {"v": 1})
    report = scale.convert(tmp_path / "in", tmp_path / "out", to="parquet", split="64KiB", **HOW)
    assert (report.done, report.failed) == (1, 1)
    said = report.failures[0]["error"]["message"]
    assert said.startswith(
        f"{tmp_path}/in/wide.ndjson: it cannot be cut: each part has to name its 9,000 columns"
    )
    assert said.endswith("without --split")
    assert scale.convert(tmp_path / "in" / "wide.ndjson", tmp_path / "out", to="parquet", **HOW).ok


@pytest.mark.parametrize("text", ["xz:", "xz:AAAA", "xz:!", "zstd:AAAA", "xz:/Td6WFoAAATm1rRG"])
def test_a_schema_that_is_none(text: str) -> None:
    with pytest.raises(Malformed, match=r"options\.schema is no schema"):
        schema_from_text(text)


def test_a_compressed_schema_has_its_limit() -> None:
    bomb = "xz:" + base64.b64encode(compress.compress(bytes(20 << 20), "xz:6")).decode()
    assert len(bomb) < 20_000
    with pytest.raises(Malformed, match=r"options\.schema is no schema"):
        schema_from_text(bomb)


@pytest.mark.parametrize("to", ["json", "ndjson", "msgpack", "blit"])
@pytest.mark.parametrize("verify", ["hash", "decode"])
def test_parts_of_documents_are_the_documents(tmp_path: Path, to: str, verify: str) -> None:
    """A name that a line lacks is not there in its part either, and types may differ from line to line."""
    rows = [{"id": n, **({"tags": ["a"]} if n % 3 else {"other": str(n)})} for n in range(600)]
    rows[300] = {"id": "text"}
    lines(tmp_path / "in" / "a.b.ndjson", *rows)
    report = scale.convert(
        str(tmp_path / "in"), str(tmp_path / "out"), to=to, split=4000, verify=verify, **HOW
    )
    assert report.ok, report.failures[0]["error"]
    assert report.rows == 600
    parts = sorted((tmp_path / "out" / "a.b").iterdir())
    assert len(parts) > 2
    assert [row for part in parts for row in tare.read(part)] == rows


@pytest.mark.parametrize("partition", [None, "k"])
def test_what_columns_make_of_lines_is_told(tmp_path: Path, partition: str | None) -> None:
    """Missing names and whole numbers among doubles, by column and count, whether or not values are compared."""
    rows: list[dict[str, Any]] = [{"k": "a", "v": n + 0.5, "in": {"x": n}} for n in range(400)]
    rows[100], rows[300] = {"k": "a", "v": 7, "in": {}}, {"k": "a", "in": {"x": 1}}
    source = str(lines(tmp_path / "a.ndjson", *rows))
    split = None if partition else 3000
    how: dict[str, Any] = {"to": "parquet", "split": split, "partition": partition, **HOW}
    report = scale.convert(source, str(tmp_path / "out"), **how)
    assert report.ok
    assert {(one["verdict"], one["what"]) for one in report.changes} == {
        ("null", "a missing name comes back as null"),
        ("type", "a whole number comes back as a double of the same value"),
    }
    told = [
        (one["path"], one["verdict"], one["count"])
        for path in (tmp_path / "out" / ".tare" / "done").glob("*/*.json")
        for one in json.loads(path.read_text())["fidelity"]
    ]
    assert sorted(told) == [("in.x", "null", 1), ("v", "null", 1), ("v", "type", 1)]
    compared = scale.convert(source, str(tmp_path / "compared"), verify="decode", **how)
    assert compared.ok
    assert ("null", "a missing name comes back as null") in {
        (one["verdict"], one["what"]) for one in compared.changes
    }


def test_columns_that_are_left_out_are_not_told(tmp_path: Path) -> None:
    """Nor is one, whose name has another's before a dot."""
    rows = [{"k": n, **({} if n == 99 else {"late": 1, "k.x": 1})} for n in range(400)]
    source = str(lines(tmp_path / "a.ndjson", *rows))
    more: dict[str, Any] = {"to": "parquet", "split": 3000, "options": {"columns": "k"}, **HOW}
    report = scale.convert(source, str(tmp_path / "out"), verify="decode", **more)
    assert (report.ok, report.changes) == (True, [])


def test_nulls_are_told_before_all_else(tmp_path: Path) -> None:
    """However many columns have something to tell; of too many it is said how many more there are."""
    wide = {f"c{n:03}": 1 for n in range(250)}
    rows = [
        {**(wide if n % 2 else dict.fromkeys(wide, 0.5)), **({"z": 1} if n % 3 else {})} for n in range(40)
    ]
    source = str(lines(tmp_path / "a.ndjson", *rows))
    report = scale.convert(source, str(tmp_path / "out"), to="parquet", split=30_000, **HOW)
    assert [one["verdict"] for one in report.changes] == ["null", "type"]
    (receipt, *_) = (tmp_path / "out" / ".tare" / "done").glob("*/*.json")
    told = json.loads(receipt.read_text())["fidelity"]
    assert (told[0]["path"], told[0]["verdict"]) == ("z", "null")
    assert (told[-1]["path"], told[-1]["verdict"], len(told)) == ("51 more columns", "type", 201)


def test_half_a_surrogate_pair_is_refused_by_its_line(tmp_path: Path) -> None:
    """In a value and in a name, behind the sample and in it."""
    for n, line in enumerate(('{"a": "\\ud800"}', '{"a": "x", "\\ud800": 1}')):
        path = tmp_path / f"{n}.ndjson"
        path.write_text('{"a": "x"}\n' * 900 + line + "\n" + '{"a": "x"}\n' * 900)
        report = scale.convert(str(path), str(tmp_path / f"o{n}"), to="parquet", split=4000, **HOW)
        (failed,) = report.failures
        assert failed["error"]["class"] == "input"
        assert f"{n}.ndjson: the line from byte 9,900 on" in failed["error"]["message"]


def test_a_mark_of_utf8_before_lines_in_parts(tmp_path: Path) -> None:
    rows = [{"v": n} for n in range(900)]
    path = lines(tmp_path / "a.ndjson", *rows)
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    assert scale.convert(str(path), str(tmp_path / "out"), to="parquet", split=3000, **HOW).ok
    parts = sorted((tmp_path / "out" / "a").iterdir())
    assert [row for part in parts for row in tare.read(part).to_pylist()] == rows


def test_compressed_lines_are_cut_by_their_text(tmp_path: Path) -> None:
    """However small a file is that an index makes seekable."""
    path = lines(tmp_path / "a.ndjson", *({"v": n, "long": "x" * 200} for n in range(20_000)))
    packed = tmp_path / "a.ndjson.zst"
    packed.write_bytes(compress.compress(path.read_bytes(), "zstd,chunk=256KiB"))
    assert packed.stat().st_size < 100_000
    report = scale.convert(str(packed), str(tmp_path / "out"), to="parquet", split="1MiB", **HOW)
    assert (report.ok, report.rows) == (True, 20_000)
    assert len(list((tmp_path / "out" / "a").iterdir())) == 5


@pytest.mark.parametrize("format", ["parquet", "arrow", "fst"])
@pytest.mark.parametrize("packed", ["gzip", "zstd"])
def test_what_is_cut_by_its_footer_is_not_cut_when_it_is_compressed(
    tmp_path: Path, format: str, packed: str
) -> None:
    """It is one unit, as without --split, by its bytes and not by its name."""
    from tare import compress

    table = pa.table({"v": list(range(20_000))})
    plain = tmp_path / f"plain.{format}"
    if format == "parquet":
        parquet.write_table(table, plain, row_group_size=2000)
    else:
        tare.write(table, plain)
    for name in (f"a.{format}.gz", f"b.{format}"):
        path = tmp_path / "in" / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(compress.compress(plain.read_bytes(), packed))
    report = scale.convert(str(tmp_path / "in"), str(tmp_path / "out"), to="ndjson", split="4KiB", **HOW)
    assert (report.failures, report.files, report.rows) == ([], 2, 40_000)


def test_whole_numbers_beyond_63_bits_in_parts(tmp_path: Path) -> None:
    """Unsigned, as those of a whole file are, in lists and objects too; a negative one beside them is refused by its line."""
    numbers = [2**63 + n if n % 7 == 3 else n for n in range(500)]
    source = str(lines(tmp_path / "a.ndjson", *({"v": n, "in": [{"h": n}]} for n in numbers)))
    assert scale.convert(source, str(tmp_path / "out"), to="parquet", split=2000, **HOW).ok
    parts = sorted((tmp_path / "out" / "a").iterdir())
    assert len(parts) > 2
    rows = [row for part in parts for row in tare.read(part).to_pylist()]
    assert rows == [{"v": n, "in": [{"h": n}]} for n in numbers]


@pytest.mark.parametrize(
    ("value", "said", "whole_helps"),
    [
        ([1, "a"], "v: it holds values of several types, which no column does", False),
        (
            {"x": 2**64},
            "v: it holds a whole number of more than 64 bits, or one of 64 beside a negative one, within",
            False,
        ),
        (float("nan"), "v: a value is missing: what stands there, such as NaN, is no JSON", False),
        (
            "text",
            'v: "text" is no int64. The type is that of a sample of the file, or of all of it, and no type',
            False,
        ),
        (0.5, "v: 0.5 is no int64. Names and types are those of a sample", True),
    ],
)
def test_a_value_that_does_not_fit_says_what_would_help(
    tmp_path: Path, value: object, said: str, whole_helps: bool
) -> None:
    path = tmp_path / "a.ndjson"
    lines(path, {"v": 1}, {"v": value})
    part = {"kind": "bytes", "start": 0, "end": path.stat().st_size}
    with pytest.raises(Malformed) as caught:
        list(
            read_range(str(path), part, {"schema": schema_to_text(pa.schema({"v": pa.int64()}))}, "a.ndjson")[
                1
            ]
        )
    assert said in str(caught.value)
    assert ("--whole-schema" in str(caught.value)) == whole_helps


def test_a_whole_number_that_no_double_is_is_not_rounded(tmp_path: Path) -> None:
    """Behind the sample, in a column of doubles, at any depth; in a column of whole numbers it is what it was."""
    kind = pa.schema(
        [("v", pa.float64()), ("n", pa.int64()), ("in", pa.struct([("list", pa.list_(pa.float64()))]))]
    )
    path = tmp_path / "a.ndjson"

    def read(*rows: Any) -> list[Any]:
        lines(path, *rows)
        part = {"kind": "bytes", "start": 0, "end": path.stat().st_size}
        _, found = read_range(str(path), part, {"schema": schema_to_text(kind)}, "a.ndjson")
        return [row for batch in found for row in batch.to_pylist()]

    odd = 2**53 + 1
    good = {"v": 1e300, "n": odd, "in": {"list": [0.5, 2.0**60]}}
    assert read(good, {"v": 2**60, "n": None, "in": None})[0] == good
    for bad in ({"v": odd}, {"v": -odd}, {"v": 1.5, "in": {"list": [odd]}}):
        with pytest.raises(
            Malformed,
            match=rf"from byte {len(json.dumps(good)) + 1} on: (v|in: list): -?{odd} is no double\.",
        ):
            read(good, bad)


def test_lines_that_are_no_json_are_found_where_values_are_checked(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.ndjson").write_text('{"a": 1}\n' * 500 + '{"a": ]}\n' + '{"a": 1}\n' * 500)
    given: dict[str, Any] = {"to": "ndjson", "split": 3000, **HOW}
    report = scale.convert(str(tmp_path / "in"), str(tmp_path / "out"), verify="decode", **given)
    assert (report.failed, report.failures[0]["error"]["class"]) == (1, "input")


def test_a_loss_that_is_allowed_later_does_nothing_else_again(tmp_path: Path) -> None:
    for n, value in enumerate((1.0, float("nan"), 2.0)):
        (tmp_path / "in").mkdir(exist_ok=True)
        parquet.write_table(pa.table({"v": [value]}), tmp_path / "in" / f"{n}.parquet")
    given: dict[str, Any] = {"to": "ndjson", **HOW}
    first = scale.convert(str(tmp_path / "in"), str(tmp_path / "out"), **given)
    assert (first.done, first.failed) == (2, 1)
    second = scale.convert(str(tmp_path / "in"), str(tmp_path / "out"), on_loss="allow", **given)
    assert (second.done, second.skipped, second.failed) == (1, 2, 0)


def test_a_store_is_found_from_every_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    lines(tmp_path / "in" / "a.ndjson", {"v": 1})
    plan = scale.plan_put("in", "objects", "put.jsonl")
    assert next(plan.units())["options"]["store"] == str(tmp_path / "objects")
    other = tmp_path / "elsewhere"
    other.mkdir()
    os.chdir(other)
    assert scale.run(tmp_path / "put.jsonl", **HOW).ok
    with tare.open_store(str(tmp_path / "objects")) as store:
        assert list(store.list()) == ["a.ndjson"]
    with pytest.raises(UsageError, match="store of its own in memory"):
        scale.plan_put("../in", "memory:", "put2.jsonl")


def test_a_pattern_that_is_none(tmp_path: Path) -> None:
    lines(tmp_path / "in" / "a.ndjson", {"v": 1})
    with pytest.raises(UsageError, match="is no pattern of names"):
        scale.plan_convert(f"{tmp_path}/in/[z-a]*", str(tmp_path / "out"), to="parquet")
