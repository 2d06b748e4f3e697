"""The codec id, its errors, and what a codec tells of itself."""

from __future__ import annotations

import pickle
import random
import subprocess
import sys

import pytest
from support.capabilities import need_codec

from tare import formats, kinds
from tare.codec import Codec, candidates, decode, encode, set_threads, split_id, thread_environment
from tare.errors import (
    DecodeError,
    EncodeError,
    Limit,
    Malformed,
    NotTrusted,
    Truncated,
    Unsupported,
    UsageError,
)
from tare.formats.base import Format, Library, Option


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("json:orjson", "json:orjson"),
        ("json:orjson+zstd:3", "json:orjson+zstd:3"),
        ("json:orjson+zstd", "json:orjson+zstd:3"),
        ("json:orjson+none", "json:orjson"),
        ("json:orjson,default=refuse,orient=columns", "json:orjson,orient=columns"),
        ("tsv", "csv:pyarrow,delimiter=tab"),
        ("tsv:polars+zstd", "csv:polars,delimiter=tab+zstd:3"),
        ("pickle", "pickle"),
        ("pickle:stdlib,protocol=0", "pickle,protocol=0"),
        ("parquet:pyarrow,level=3,compression=zstd", "parquet:pyarrow,compression=zstd,level=3"),
        ("yaml:pyyaml,loader=c,sort_keys=0", "yaml:pyyaml,loader=c,sort_keys=false"),
    ],
)
def test_ids_print_canonically(text: str, printed: str) -> None:
    """Defaults are left out, options are sorted, and printing is stable under parsing."""
    codec = Codec.parse(text)
    assert printed == str(codec)
    assert codec == Codec.parse(printed)
    assert hash(codec) == hash(Codec.parse(printed))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "not a codec id"),
        ("json orjson", "not a codec id"),
        (":orjson", "not a codec id"),
        ("json:", "not a codec id"),
        ("jsn", "did you mean json"),
        ("feather", "feather is an ending of arrow: say arrow; "),
        ("jsonl", "jsonl is an ending of ndjson: say ndjson; "),
        ("json:orjsn", "did you mean orjson"),
        ("json:orjson,orinet=rows", "did you mean orient"),
        ("json:orjson,orient", "expected key=value"),
        ("json:orjson,orient=rows,orient=rows", "given twice"),
        ("json:orjson,orient=diagonal", r"expected rows\|columns"),
        ("pickle,protocol=6", r"expected 0\|1"),
        ("parquet:pyarrow,compression=zstd,level=high", "expected a whole number"),
        ("parquet:pyarrow,compression=none,level=3", "has no levels"),
        ("arrow:pyarrow,level=3", "has no levels"),
        ("json:orjson+zst", "no compressor"),
        ("json:orjson+zstd:99", "levels"),
        ("json:orjson+", "no compressor"),
        ("json:\x1b[31m", "not a codec id"),
    ],
)
def test_wrong_ids_say_what_is_right(text: str, said: str) -> None:
    """A wrong id names what was expected or the nearest names, on one printable line."""
    with pytest.raises(UsageError, match=said) as caught:
        Codec.parse(text)
    assert str(caught.value).isprintable()


def test_split_looks_nothing_up() -> None:
    """Ids of other languages' workers split by the grammar alone."""
    assert ("rds", "r", {"version": "2"}, "gzip:6") == split_id("rds:r,version=2+gzip:6")


def test_options_are_resolved() -> None:
    """The options hold every option, with the level that unset means."""
    codec = Codec.parse("parquet:pyarrow,compression=zstd")
    assert {"compression": "zstd", "level": 1} == codec.options
    assert {"compression": "snappy", "level": None} == Codec.parse("parquet:pyarrow").options


@pytest.mark.parametrize("library", ["pyarrow", "polars", "duckdb"])
def test_resolved_levels_are_the_library_s_own(library: str) -> None:
    """Parquet of the level that unset resolves to is as long as with the level unset."""
    import pyarrow as pa

    from tare.formats import parquet

    found = need_codec(f"parquet:{library}").library
    chosen = random.Random(1)
    words = [
        "".join(chosen.choice("abcdef ghij") for _ in range(chosen.randrange(5, 40))) for _ in range(5_000)
    ]
    table = kinds.convert(pa.table({"s": words}), found.native["table"])
    levels = getattr(parquet, f"_LEVELS_{library.upper()}")
    assert levels
    for compression, level in levels.items():
        unset = found.encode(table, compression=compression, level=None)
        given = found.encode(table, compression=compression, level=level)
        other = found.encode(table, compression=compression, level=level + 1 if level < 9 else 1)
        assert len(unset) == len(given), compression
        assert len(unset) != len(other), compression


def test_for_path_reads_the_endings() -> None:
    """A file name tells the format, the compressor and the delimiter; letter case does not matter."""
    assert "csv:pyarrow,delimiter=tab+gzip:6" == str(Codec.for_path("x.TSV.gz"))
    assert "ndjson:orjson+zstd:3" == str(Codec.for_path("a/b.c.jsonl.zst"))
    assert "arrow:pyarrow,layout=stream" == str(Codec.for_path("x.arrows"))
    assert Codec.for_path("x.zst") is None
    assert Codec.for_path("README") is None


def test_tables_go_through_document_formats() -> None:
    """A table becomes rows, or columns if the id says so, and comes back as they are."""
    import pyarrow as pa

    table = pa.table({"a": [1, 2], "b": ["x", None]})
    assert [{"a": 1, "b": "x"}, {"a": 2, "b": None}] == decode(encode(table, "json:orjson"), "json:orjson")
    columns = "json:orjson,orient=columns"
    assert {"a": [1, 2], "b": ["x", None]} == decode(encode(table, columns), columns)


def test_rows_go_into_table_formats() -> None:
    """A list of rows given to a format of tables is taken as a table; other documents are refused."""
    rows = [{"a": 1, "b": "x"}, {"a": 2, "b": None}]
    back = decode(encode(rows, "parquet:pyarrow"), "parquet:pyarrow")
    assert rows == back.to_pylist()
    with pytest.raises(Unsupported, match="not a table"):
        encode("text", "parquet:pyarrow")
    with pytest.raises(
        Unsupported, match=r"item 1 is of type int, and each row of a table is an object \(dict\)"
    ):
        encode([1, 2], "parquet:pyarrow")


def test_a_codec_of_tables_holds_no_documents() -> None:
    """Asking for the native kind of data that a format does not hold says what it holds."""
    with pytest.raises(Unsupported, match="holds tables, not documents"):
        Codec.parse("csv:pyarrow").native("document")


def test_pickle_needs_trust() -> None:
    """Code in a pickle does not run unless trust is given, also below a compressor."""
    import os

    hostile = pickle.dumps(os.getcwd)
    for id in ("pickle", "pickle+zstd:3", "hdf5:pandas", "marshal"):
        with pytest.raises(NotTrusted, match="trust=True"):
            decode(hostile, id)
    assert os.getcwd is decode(hostile, "pickle", trust=True)


def test_errors_carry_format_and_offset() -> None:
    """A refused input names the format, the library and where, and tells cut from broken."""
    with pytest.raises(Malformed) as caught:
        decode(b'{"a": nope}', "json:stdlib")
    assert ("json", 6) == (caught.value.format, caught.value.offset)
    with pytest.raises(Truncated) as cut:
        decode(b'{"a": [1, 2', "json:msgspec")
    assert cut.value.is_truncated
    with pytest.raises(EncodeError, match="json:orjson"):
        encode({"a": 2**70}, "json:orjson")


def test_messages_are_cut_and_printable() -> None:
    """Text of the data inside a library's message cannot flood or steer a terminal."""
    import yaml

    bad = "key: [\x1b[31m" + "x" * 5_000
    with pytest.raises(DecodeError) as caught:
        decode(bad.encode(), "yaml:pyyaml")
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 400
    assert isinstance(caught.value.__cause__, yaml.YAMLError)


@pytest.mark.parametrize("id", ["arrow:pyarrow", "arrow:polars"])
def test_damaged_offsets_are_found(id: str) -> None:
    """Arrow bytes whose offsets point outside the text are refused, unless trusted; nobody gets to read them."""
    import pyarrow as pa

    codec = need_codec(id)
    data = Codec.parse("arrow:pyarrow").encode(pa.table({"s": ["aaaa", "bbbb"]}))
    offsets = b"".join(n.to_bytes(4, "little") for n in (0, 4, 8))
    assert 1 == data.count(offsets)
    bad = data.replace(offsets, b"".join(n.to_bytes(4, "little") for n in (0, 4, 1 << 30)))
    with pytest.raises(Malformed):
        codec.decode(bad)
    assert 2 == kinds.count_items(codec.decode(data, trust=True))


def test_polars_is_kept_from_what_aborts_it() -> None:
    """Parquet that says other row counts in its footer than it holds is refused before polars reads it."""
    import pyarrow as pa

    codec = need_codec("parquet:polars")
    assert codec.library.check is not None
    data = bytearray(
        Codec.parse("parquet:pyarrow,compression=none").encode(pa.table({"s": ["aaaa", "bbbb"]}))
    )
    for place in range(4, len(data), 3):
        damaged = bytes(data[:place]) + bytes([data[place] ^ 0xFF]) + bytes(data[place + 1 :])
        try:
            kinds.count_items(codec.decode(damaged))
        except DecodeError as error:
            assert "parquet" == error.format  # noqa: PT017 - either it is refused or it is read


def test_max_bytes_bounds_what_is_decoded() -> None:
    """A small compressed input that would grow beyond max_bytes is refused before it is decoded."""
    codec = Codec.parse("json:orjson+zstd:3")
    data = codec.encode([0] * 100_000)
    assert len(data) < 1_000
    with pytest.raises(Limit, match="max_bytes"):
        codec.decode(data, max_bytes=10_000)
    with pytest.raises(Limit, match="max_bytes"):
        Codec.parse("json:orjson").decode(b"[0,0,0]", max_bytes=6)
    assert [0, 0, 0] == Codec.parse("json:orjson").decode(b"[0,0,0]", max_bytes=7)


def test_depth_is_guarded_where_a_library_would_crash() -> None:
    """Exactly what is deeper than max_depth is refused, shared values and cycles included."""
    codec = need_codec("cbor:cbor2")
    limit = codec.library.max_depth
    assert limit is not None
    value: object = 1
    for _ in range(limit):
        value = [value]
    assert limit + 1 == len(codec.encode(value))
    with pytest.raises(Limit, match="nested deeper"):
        codec.encode([value])
    cycle: list[object] = []
    cycle.append(cycle)
    with pytest.raises(Limit, match="nested deeper"):
        codec.encode(cycle)
    shared: object = []
    for _ in range(60):
        shared = [shared, shared]  # 2 ** 60 paths, 61 objects
    with pytest.raises(Limit):
        codec.encode([value, shared])


def test_flags_tell_what_the_profiles_ask() -> None:
    """Flags of a route: what runs code, has a spec, streams, is text; compression takes some away."""
    flags = Codec.parse("json:orjson").flags()
    assert flags["text"]
    assert not flags["executes_code"]
    assert {"javascript", "r", "python"} <= set(flags["languages"])
    assert not Codec.parse("json:orjson+zstd:3").flags()["text"]
    assert ["columns", "rows"] == Codec.parse("parquet:pyarrow").flags()["subset"]
    assert [] == Codec.parse("parquet:pyarrow+zstd:3").flags()["subset"]
    assert Codec.parse("pickle").flags()["executes_code"]
    assert ["r"] == Codec.parse("rds:tare").flags()["independent"]
    assert set(flags) == {
        "executes_code",
        "spec",
        "languages",
        "independent",
        "streams",
        "append",
        "subset",
        "text",
        "copies",
    }


def test_sequences_are_candidates_for_lists_only() -> None:
    """NDJSON is tried for a document only if it is a list of documents; extras can be left out."""
    plain = {codec.format_id for codec in candidates("document")}
    lists = {codec.format_id for codec in candidates("document", sequence=True)}
    assert {"ndjson"} == lists - plain
    assert {""} == {codec.library.extra for codec in candidates("table", extras=False)}


def test_threads_are_set() -> None:
    """set_threads turns Arrow's knob; the environment names every library's own."""
    import os

    import pyarrow as pa

    before = pa.cpu_count()
    try:
        set_threads(Codec.parse("parquet:pyarrow"), 1)
        assert 1 == pa.cpu_count()
        set_threads(Codec.parse("parquet:pyarrow"), "all")
        assert os.cpu_count() == pa.cpu_count()
        set_threads(Codec.parse("json:orjson"), 1)  # has no knob
    finally:
        pa.set_cpu_count(before)
    assert {"1"} == set(thread_environment(1).values())
    assert {} == thread_environment("all")


def test_listing_imports_no_library() -> None:
    """Importing the registry, parsing ids and listing candidates imports no third-party library."""
    program = (
        "import sys, tare.formats, tare.codec\n"
        "from tare.codec import Codec, candidates\n"
        "candidates('table'), candidates('document'), Codec.parse('parquet:pyarrow,compression=zstd+gzip:6')\n"
        "heavy = {'numpy', 'pyarrow', 'pandas', 'polars', 'duckdb', 'orjson', 'msgspec', 'yaml', 'rich', 'click'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert "[]\n" == done.stdout


def _upper(data: bytes | bytearray | memoryview) -> str:
    return bytes(data).decode().upper()


PLUGIN = Format(
    id="shout",
    title="Shouting",
    extensions=(".shout",),
    kinds=frozenset({"document"}),
    libraries=(
        Library(
            "plugin",
            {"document": "python"},
            lambda obj, **_: str(obj).encode(),
            lambda data, **_: _upper(data),
            options={"free": Option("a", (), "Any text.")},
        ),
    ),
)
ADDED = Format(
    id="json",
    title="ignored",
    extensions=(),
    kinds=frozenset({"document"}),
    libraries=(
        Library("plugin", {"document": "python"}, lambda obj: b"1", lambda data: 1),
        Library("orjson", {"document": "python"}, lambda obj: b"2", lambda data: 2),
    ),
)


def test_other_packages_register(monkeypatch: pytest.MonkeyPatch) -> None:
    """An entry point adds a format, or a library to a format; ours keep their names; a broken one is named."""
    from importlib import metadata

    class Point:
        def __init__(self, name: str, value: object) -> None:
            self.name, self.value, self._object = name, f"plugin:{name}", value

        def load(self) -> object:
            if isinstance(self._object, Exception):
                raise self._object
            return self._object

    points = [
        Point("shout", PLUGIN),
        Point("json", ADDED),
        Point("bad", ImportError("gone")),
        Point("worse", 3),
    ]
    monkeypatch.setattr(metadata, "entry_points", lambda *, group: points if group == "tare.formats" else [])
    with pytest.warns(UserWarning, match="is left out") as warned:
        loaded = formats._load()
    assert ["bad", "worse"] == [str(w.message).split("'")[1] for w in warned]
    monkeypatch.setattr(formats, "FORMATS", loaded, raising=False)
    assert "HI" == decode(encode("hi", "shout"), "shout")
    assert 1 == decode(b"x", "json:plugin")
    assert b"[]" == encode([], "json:orjson")
    codec = Codec.parse("shout,free=a%2Bb%2C%3D c")
    assert {"free": "a+b,= c"} == codec.options
    assert "shout:plugin,free=a%2Bb%2C%3D%20c" == str(codec)
    assert codec == Codec.parse(str(codec))


def test_a_panic_is_an_error_of_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is no Exception (a panic of a Rust library) is caught; an interrupt is not."""

    class Panic(BaseException):
        pass

    def boom(data: bytes) -> None:
        raise Panic("index out of bounds")

    def stop(data: bytes) -> None:
        raise KeyboardInterrupt

    for act, expected in ((boom, Malformed), (stop, KeyboardInterrupt)):
        library = Library("plugin", {"document": "python"}, lambda obj: b"", act)
        format = Format("panic", "Panic", (), frozenset({"document"}), (library,))
        monkeypatch.setattr(formats, "FORMATS", (format,), raising=False)
        with pytest.raises(expected):
            decode(b"x", "panic")


_BOUND = [
    f"{one.id}:{library.name}{options}"
    for one in formats.FORMATS
    for library in one.libraries
    if library.bind_encode is not None and "document" in library.native and library.installed
    for options in (
        "",
        ",default=text",
        ",sort_keys=true",
        ",datetime=true",
        ",impl=python",
        ",non_str_keys=true",
    )
    if not options or options[1:].partition("=")[0] in library.options
]


@pytest.mark.parametrize("name", _BOUND)
def test_calls_with_options_bound_do_what_the_codec_does(name: str) -> None:
    """What is timed is the library's own function; it gives the bytes and the value that users get."""
    codec, value = Codec.parse(name), {"b": [1, 2.5, None, "\u00e9"], "a": {"c": True}}
    data = codec.encoder("document")(value)
    assert bytes(data) == codec.encode(value)
    assert codec.decoder("document")(data) == codec.decode(data, trust=True) == value


def test_what_is_timed_of_a_short_call_is_the_library_alone() -> None:
    import msgspec

    codec = Codec.parse("json:msgspec")
    assert codec.encoder("document") is msgspec.json.encode
    assert codec.decoder("document") is msgspec.json.decode
