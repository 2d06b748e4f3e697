"""Every registered library keeps the promises of a codec, whatever its format."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import pytest
from support.capabilities import need_codec
from support.soak import scaled

from tare import formats, kinds
from tare.codec import Codec, candidates
from tare.errors import DecodeError, EncodeError, MissingLibrary, NotTrusted, TareError, Truncated, UsageError

ALL = [(format, library) for format in formats.FORMATS for library in format.libraries]
IDS = [f"{format.id}:{library.name}" for format, library in ALL]
# What is only read has nothing to come back; its own tests read files that others wrote.
KINDS = [
    (id, kind) for id, (_, library) in zip(IDS, ALL, strict=True) if library.writes for kind in library.native
]
TABLES = [id for id, kind in KINDS if kind == "table"]
SUBSETS = [
    id for id, (_, library) in zip(IDS, ALL, strict=True) if library.subset is not None and library.writes
]
STREAMS = [pair for pair in KINDS if Codec.parse(pair[0]).stream is not None]
DOCUMENTS = [id for id, kind in KINDS if kind == "document"]
GARBAGE = (b"\xff\xfe\x00garbage\x80\x81\xc1\n\x00", bytes(range(255, -1, -1)), b"\xc1" * 64)


def variant(id: str, kind: str) -> Codec:
    """The library's first default variant for the kind, or its plain codec."""
    codec = need_codec(id)
    first = next(iter(codec.library.variants.get(kind, ())), {})
    return Codec(codec.format_id, codec.library_name, tuple(sorted(first.items())))


def document() -> Any:
    """Values that every document format holds; keys in alphabetical order, as PyYAML writes them."""
    return {
        "a": [1, -2, 2.5, True, False, None, "text", ""],
        "b": {"c": "h\u00e9llo \U0001f600", "d": [], "e": {}, "f": [[1, 2], [3]]},
        "z": "001",
    }


def sample(id: str, kind: str) -> Any:
    """What the library is given: a document, a list of them, or a table of the types all formats hold."""
    if kind == "table":
        import pyarrow as pa

        return pa.table({"n": [1, 2, 3], "x": [0.5, -1.25, 3e10], "s": ["a", "b c", "d"]})
    if kind == "array":
        import numpy as np

        return np.arange(24, dtype="<f4").reshape(4, 6)[:, ::2]
    return [document(), document()] if Codec.parse(id).format.sequence else document()


def same(value: Any, back: Any) -> bool:
    """Whether a document or an array came back."""
    if hasattr(value, "dtype"):
        return bool(value.dtype == back.dtype and value.shape == back.shape and (value == back).all())
    return bool(value == back)


def as_arrow(value: Any) -> Any:
    """The table in plain types, text of numbers read as such where a format has only text."""
    table = kinds.convert(value, "arrow").select(["n", "x", "s"])  # ruamel writes names in alphabetical order
    import pyarrow as pa

    wanted = pa.schema({"n": pa.int64(), "x": pa.float64(), "s": pa.string()})
    return table.cast(wanted).replace_schema_metadata(None)


@pytest.mark.parametrize(("id", "kind"), KINDS)
def test_comes_back(id: str, kind: str) -> None:
    """What is encoded is decoded to an equal value, of the native kind that the library claims."""
    codec = variant(id, kind)
    value = sample(id, kind)
    back = codec.decode(codec.encode(value), trust=True)
    if kind == "table":
        assert as_arrow(value) == as_arrow(back)
        native = codec.native("table")
        assert native == kinds.memory_kind(back)
    else:
        assert same(value, back)


@pytest.mark.parametrize(("id", "kind"), KINDS)
def test_the_timed_functions_do_the_same(id: str, kind: str) -> None:
    """encoder() and decoder(), which measuring times, give what encode and decode give."""
    codec = variant(id, kind)
    value = sample(id, kind)
    native = kinds.convert(value, codec.native(kind)) if kind == "table" else value
    data = bytes(codec.encoder(kind)(native))
    back = codec.decoder(kind)(data)
    if kind == "table":
        assert as_arrow(value) == as_arrow(back)
    else:
        assert same(value, back)


@pytest.mark.parametrize(
    ("id", "kind", "compressor"),
    [
        *((id, kind, "zstd:3") for id, kind in KINDS),
        ("json:stdlib", "document", "lz4"),
        ("json:stdlib", "document", "gzip:6"),
    ],
)
def test_composes_with_compressors(id: str, kind: str, compressor: str) -> None:
    """A compressor changes the bytes and nothing else, and gives back the encoder's own bytes."""
    from tare.compress import decompress

    codec = variant(id, kind)
    pressed = Codec.parse(f"{codec}+{compressor}")
    value = sample(id, kind)
    data = pressed.encode(value)
    plain = decompress(data, compressor.partition(":")[0])
    back = codec.decode(plain, trust=True)
    again = pressed.decode(data, trust=True)
    if kind == "table":
        assert as_arrow(back) == as_arrow(again)
    else:
        assert same(value, back)
        assert same(value, again)
    native = kinds.convert(value, codec.native(kind)) if kind == "table" else value
    timed = pressed.decoder(kind)(pressed.encoder(kind)(native))
    assert kinds.count_items(again) == kinds.count_items(timed)


@pytest.mark.parametrize("id", IDS)
def test_refuses_no_bytes(id: str) -> None:
    """No bytes at all are refused as truncated, compressed or not."""
    codec = need_codec(id)
    with pytest.raises(Truncated):
        codec.decode(b"", trust=True)
    pressed = Codec.parse(f"{codec}+zstd:3")
    with pytest.raises(DecodeError):
        pressed.decode(b"", trust=True)


@pytest.mark.parametrize("id", IDS)
def test_refuses_garbage(id: str) -> None:
    """Bytes of no format are refused with an error of ours that names the format; nothing else escapes."""
    for garbage in GARBAGE:
        refuses_garbage(id, need_codec(id), garbage)


def refuses_garbage(id: str, codec: Codec, garbage: bytes) -> None:
    """Hold one codec against one garbage."""
    if id == "msgpack:ormsgpack" and garbage[:1] == b"\xff":
        # It reads the integer -1 and does not look at what follows; its notes say so.
        assert -1 == codec.decode(garbage)
        return
    if id == "flexbuffers:flatbuffers" and garbage[-2:] == b"\x01\x00":
        # The last two bytes are a null for it, and it does not look at the others; its notes say so.
        assert codec.decode(garbage) is None
        return
    with pytest.raises(TareError) as caught:
        codec.decode(garbage, trust=True)
    assert codec.format_id == caught.value.format
    assert str(caught.value).isprintable()


@pytest.mark.parametrize(("id", "kind"), KINDS)
def test_every_prefix_is_refused_or_decoded(id: str, kind: str) -> None:
    """A file cut anywhere gives an error of ours or, in formats without an end, what was whole; never a crash."""
    codec = variant(id, kind)
    data = codec.encode(sample(id, kind))
    # Big files in small steps at both ends, where headers and footers are.
    step = max(97, len(data) // scaled(100, 10_000))
    cuts = range(len(data)) if len(data) <= 400 else [*range(100), *range(100, len(data) - 100, step),
                                                     *range(len(data) - 100, len(data))]  # fmt: skip
    accepted = []
    for cut in cuts:
        try:
            if codec.library.check is not None:
                codec.library.check(data[:cut])  # what trust=True leaves out, and fastparquet needs
            codec.decode(data[:cut], trust=True)
        except (TareError, OSError, ValueError):
            continue
        accepted.append(cut)
    if codec.format_id not in PREFIX_TOLERANT and id not in PREFIX_TOLERANT:
        assert [] == accepted


# Formats whose shorter text is often whole in itself, and why.
PREFIX_TOLERANT = {
    "csv": "fewer rows are a table too",
    "ndjson": "fewer lines are a list too",
    "yaml": "text without an end mark",
    "bson": "each document has its own length: cut between two, fewer remain",
    "arrow": "the stream layout may end after any batch",
    "dput": "its last line break is not needed",
    "avro": "the last byte of the final mark is not looked at",
    "hdf5": "unused room at the end of the file may go",
    "flexbuffers": "read from the end, where any two bytes may be the type of a value",
}


@pytest.mark.parametrize("id", SUBSETS)
def test_subset_gives_these_columns(id: str) -> None:
    """Reading some columns gives these, in the order asked for, with the values of the whole."""
    codec = variant(id, "table")
    value = sample(id, "table")
    data = codec.encode(value)
    assert codec.library.subset is not None
    back = kinds.convert(codec.library.subset(data, ["s", "n"], **codec.options), "arrow")
    assert ["s", "n"] == back.column_names
    assert value.column("s").to_pylist() == back.column("s").to_pylist()


@pytest.mark.parametrize(("id", "kind"), STREAMS)
def test_stream_equals_one_shot(id: str, kind: str) -> None:
    """Writing and reading in parts over a file gives the value that encode and decode give."""
    from io import BytesIO

    codec = variant(id, kind)
    stream = codec.stream
    assert stream is not None
    value = sample(id, kind) if kind == "table" else [document(), 1, "x"]
    native = kinds.convert(value, codec.native(kind)) if kind == "table" else value
    if codec.options.get("orient") == "columns":
        with pytest.raises(TypeError, match="expected a list of items, of which each is a line, got"):
            stream.write(native, BytesIO(), **codec.options)
        return
    file = BytesIO()
    stream.write(native, file, **codec.options)
    file.seek(0)
    back = stream.join(list(stream.read(file, **codec.options)))
    if kind == "table":
        assert as_arrow(value) == as_arrow(back)
    else:
        assert value == back


@pytest.mark.parametrize("id", IDS)
def test_is_described(id: str) -> None:
    """Version, options, kinds and defaults of a library can be told, and the defaults are allowed values."""
    codec = need_codec(id)
    library = codec.library
    assert library.version
    assert all(codec.versions().values())
    assert set(library.native) <= set(codec.format.kinds)
    assert set(library.native.values()) <= set(kinds.MEMORY_KINDS)
    for name, option in library.options.items():
        assert option.help.endswith("."), name
        if option.default is not None:
            from tare.formats.base import spell

            assert option.default == option.parse(spell(option.default)), name
    for kind, variants in library.variants.items():
        assert kind in library.native
        for settings in variants:
            assert set(settings) <= set(library.options)
    if library.distribution:
        assert "pip install" in library.install_line


@pytest.mark.parametrize("id", IDS)
def test_needs_trust_exactly_if_it_is_dangerous(id: str) -> None:
    """A format that can run code is read only with trust=True; others never ask."""
    codec = need_codec(id)
    if codec.executes_code:
        with pytest.raises(NotTrusted, match="trust=True"):
            codec.decode(b"x")
    else:
        with pytest.raises(DecodeError):
            codec.decode(GARBAGE[2])


@pytest.mark.parametrize("id", DOCUMENTS)
def test_deep_nesting_is_refused(id: str) -> None:
    """A document 100,000 lists deep is refused by an error of ours, not by a crash."""
    codec = need_codec(id)
    value: Any = 1
    for _ in range(100_000):
        value = [value]
    deep: Any = {"a": value} if codec.format_id == "bson" else value
    with pytest.raises(TareError, match=r"deep|recursion|Recursion|nest|levels"):
        codec.encode([deep] if codec.format.sequence else deep)


DEEP = {
    "json": b"[" * 100_000,
    "ndjson": b"[" * 100_000 + b"]" * 100_000 + b"\n",
    "msgpack": b"\x91" * 100_000 + b"\x01",
    "cbor": b"\x81" * 100_000 + b"\x01",
    "yaml": b"[" * 100_000 + b"]" * 100_000,
    "repr": b"[" * 100_000 + b"]" * 100_000,
    "marshal": b"[\x01\0\0\0" * 100_000 + b"N",
}


@pytest.mark.parametrize("id", [id for id in IDS if id.partition(":")[0] in DEEP])
def test_deep_bytes_are_refused(id: str) -> None:
    """Bytes that nest 100,000 deep are refused by an error of ours, not by a crash."""
    codec = need_codec(id)
    settings = ("", ",loader=c") if id == "yaml:pyyaml" else ("",)
    # Written in Python, it takes ten seconds for what others do at once.
    data = b"[" * 10_000 + b"]" * 10_000 if id == "yaml:ruamel" else DEEP[codec.format_id]
    for setting in settings:
        with pytest.raises(TareError):
            Codec.parse(f"{codec}{setting}").decode(data, trust=True)


def test_ids_are_told_apart() -> None:
    """Ids, file endings and magics are unique, and a format's module has its name."""
    ids = [format.id for format in formats.FORMATS]
    assert len(set(ids)) == len(ids)
    endings = [end for format in formats.FORMATS for end in format.extensions]
    assert len(set(endings)) == len(endings)
    magics = [magic for format in formats.FORMATS for magic in format.magic]
    assert [] == [(a, b) for a in magics for b in magics if a != b and a.startswith(b)]
    for format in formats.FORMATS:
        names = [library.name for library in format.libraries]
        assert len(set(names)) == len(names)
        assert format.home in ("", *names)
        assert set(format.extension_options) <= set(format.extensions)


@pytest.mark.parametrize(("id", "kind"), KINDS)
def test_bytes_are_sniffed(id: str, kind: str) -> None:
    """The first bytes of an encoding tell its format, or nothing: never another format."""
    codec = variant(id, kind)
    found = formats.sniff(codec.encode(sample(id, kind))[:4096])
    silent = {"msgpack", "cbor", "fory", "marshal", "repr", "flexbuffers", "sqlitejsonb", "pgjsonb", "dput"}
    if codec.format_id in silent:
        assert found is None
    else:
        assert found is not None
        # Flow YAML as rapidyaml writes it, and a Python-like dict, are JSON to the eye; Variant is a
        # type of a Parquet file's column.
        also = {"yaml": "json", "variant": "parquet"}
        assert found.id in (codec.format_id, also.get(codec.format_id))


@pytest.mark.parametrize("kind", ["document", "table"])
def test_candidates_take_the_kind(kind: str) -> None:
    """What is tried by default is installed, parses back from its id, and is listed once."""
    found = candidates(kind)
    assert len(found) == len(set(map(str, found)))
    for codec in found:
        assert codec == Codec.parse(str(codec))
        assert codec.library.installed
        assert codec.native(kind)
    assert 15 <= len(found) <= 45


# csv and repr write whatever str() gives, pickle any object: as their users know them.
@pytest.mark.parametrize(
    "id", [id for id in TABLES if id not in {"csv:stdlib", "pickle:stdlib", "repr:stdlib"}]
)
def test_refused_values_are_encode_errors(id: str) -> None:
    """A value no format holds is refused with an error of ours."""
    codec = need_codec(id)
    native = codec.native("table")
    bad = {"a": [object()]} if native == "columns" else [{"a": object()}]
    with pytest.raises(TareError):
        codec.encode(bad)


def test_text_is_told_for_every_scalar() -> None:
    """default=text writes dates, decimals, bytes and durations; without it they are refused."""
    value = {
        "d": dt.date(2013, 1, 1),
        "n": Decimal("1.10"),
        "b": b"\x00\xff",
        "t": dt.timedelta(days=1, microseconds=1),
    }
    expected = {"d": "2013-01-01", "n": "1.10", "b": "AP8=", "t": "PT86400.000001S"}
    for id in ("json:stdlib", "json:simplejson", "yaml:rapidyaml", "marshal:stdlib"):
        codec = need_codec(f"{id},default=text")
        assert expected["t"] == codec.decode(codec.encode(value), trust=True)["t"]
        with pytest.raises(EncodeError):
            need_codec(id).encode(value)
    assert expected == need_codec("json:stdlib,default=text").decode(
        need_codec("json:stdlib,default=text").encode(value)
    )


def test_a_missing_library_names_its_install_line() -> None:
    """Using a library that is not installed raises MissingLibrary with the command that installs it."""
    from dataclasses import replace

    library = replace(ALL[1][1], modules=("no_such_module_of_any_kind",), distribution="some-name")
    with pytest.raises(MissingLibrary, match="Install it with: pip install some-name"):
        library.require()
    with pytest.raises(UsageError, match="did you mean"):
        formats.get("parqet")
