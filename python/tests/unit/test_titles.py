"""Human names of codecs."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from tare import formats
from tare.codec.choice import candidates
from tare.codec.titles import title_of, titles_of

PLAN_IDS = (
    "csv:pyarrow+zstd:19",
    "arrow:pyarrow+gzip:3,library=isal",
    "fst:tare,compress=100",
    "json:java-gson",
)


@pytest.mark.parametrize("kind", ["document", "table"])
def test_every_candidate_has_a_name_of_its_own(kind):
    """No two candidates of one kind of data share a name, and none shows the grammar of ids."""
    ids = [str(codec) for codec in candidates(kind, sequence=True)]
    names = [title_of(id) for id in ids]
    assert len(ids) > 10
    assert len(set(names)) == len(ids)
    assert not [name for name in names if re.search(r"[:=]|,(?! )", name) or not name]


@pytest.mark.parametrize("id", PLAN_IDS)
def test_ids_of_plans_have_names_without_the_grammar(id):
    """Compressors, their libraries and other languages are said in words too."""
    assert not re.search(r"[:=]|,(?! )", title_of(id))


@pytest.mark.parametrize(
    ("id", "name"),
    [
        ("arrow:pyarrow", "Arrow / Feather, uncompressed"),
        ("arrow:pyarrow,compression=lz4", "Arrow / Feather (lz4)"),
        ("arrow:polars", "Arrow / Feather (uncompressed, polars)"),
        ("parquet:pyarrow", "Parquet (snappy)"),
        ("parquet:pyarrow,compression=zstd", "Parquet (zstd)"),
        ("parquet:duckdb,compression=zstd", "Parquet (zstd, DuckDB)"),
        ("parquet:polars", "Parquet (zstd, polars)"),
        ("parquet:polars,level=9", "Parquet (zstd 9, polars)"),
        ("orc:pyarrow,compression=zstd", "ORC (zstd)"),
        ("csv:pyarrow", "CSV"),
        ("csv:pyarrow+zstd:3", "CSV + zstd"),
        ("json:orjson", "JSON (orjson)"),
        ("json:stdlib", "JSON (stdlib)"),
        ("msgpack:msgspec+zstd:3", "MessagePack (msgspec) + zstd"),
        ("pickle,protocol=2", "pickle (protocol 2)"),
        ("rds:tare+gzip:6", "RDS (gzip)"),
        ("rds:tare", "RDS, uncompressed"),
        ("blit:tare", "blit"),
        ("json:node", "JSON (Node.js)"),
        ("csv:r-data.table", "CSV (R data.table)"),
        ("parquet:polars@file", "Parquet (zstd, polars)"),
        ("unheard:of+zstd:3", "unheard (of) + zstd"),
        ("not an id", "not an id"),
        ("copy", "Copying the bytes"),
    ],
)
def test_names_follow_the_rules(id, name):
    """Format, compression, options, library, compressor: each where it tells something."""
    assert title_of(id) == name


def test_a_plugin_is_called_by_its_title(monkeypatch):
    """A format that another package registers is named by its own title."""
    npy = formats.get("npy")
    library = replace(npy.libraries[0], name="theirs")
    plugin = replace(npy, id="theirs", title="Their Format", home="", libraries=(library,))
    monkeypatch.setitem(vars(formats), "FORMATS", (*formats.FORMATS, plugin))
    assert title_of("theirs:theirs") == "Their Format"


def test_names_shown_together_differ():
    """What goes without saying is said where two codecs differ by nothing else."""
    ids = ["msgpack:msgpack", "msgpack:msgpack,default=text", "csv:pyarrow"]
    names = titles_of(ids)
    assert names["csv:pyarrow"] == "CSV"
    assert len(set(names.values())) == len(ids)
