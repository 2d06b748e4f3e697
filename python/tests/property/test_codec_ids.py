"""Codec ids: parse and print are inverse, and no text makes parsing fail but by a UsageError."""

from __future__ import annotations

import contextlib
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tare import formats
from tare.codec import Codec
from tare.codec.peers import PEERS, Peer
from tare.compress import COMPRESSORS
from tare.errors import TareError, UsageError
from tare.formats.base import Library, Option, spell


def value_of(option: Option) -> st.SearchStrategy[object]:
    """Any value that the option takes."""
    if option.choices:
        return st.sampled_from(option.choices)
    values = {"bool": st.booleans(), "int": st.integers(1, 9), "str": st.text()}
    return values[option.value_type]


def settings_of(library: Library | Peer) -> st.SearchStrategy[dict[str, object]]:
    """Any subset of the library's options with values they take."""
    optional: dict[str, Any] = {name: value_of(option) for name, option in library.options.items()}
    return st.fixed_dictionaries({}, optional=optional)


@st.composite
def ids(draw: st.DrawFn) -> str:
    """Any id the registry can make, spelled in any order, defaults included."""
    format = draw(st.sampled_from(formats.FORMATS))
    library = draw(st.sampled_from(format.libraries))
    chosen = draw(settings_of(library).flatmap(lambda found: st.permutations(list(found.items()))))
    text = f"{format.id}:{library.name}" + "".join(f",{name}={spell(value)}" for name, value in chosen)
    compressor = draw(st.none() | st.sampled_from(COMPRESSORS) | st.sampled_from(PEERS))
    if compressor is None:
        return text
    if isinstance(compressor, Peer):
        level = f":{draw(st.integers(*compressor.levels))}" if draw(st.booleans()) else ""
        chosen = {"library": compressor.name, **draw(settings_of(compressor))}
        pairs = draw(st.permutations(list(chosen.items())))
        return f"{text}+{compressor.compressor}{level}" + "".join(f",{name}={value}" for name, value in pairs)
    text += f"+{compressor.name}"
    if compressor.levels is not None and draw(st.booleans()):
        text += f":{draw(st.integers(*compressor.levels).filter(bool))}"
    return text


@given(ids())
def test_parse_then_print_is_the_identity_on_printed_ids(text: str) -> None:
    """Whatever id is given, what it prints as parses to the same codec and prints the same again."""
    try:
        codec = Codec.parse(text)
    except UsageError:
        return  # options that do not go together: a level without a compression that has some
    printed = str(codec)
    again = Codec.parse(printed)
    assert codec == again
    assert hash(codec) == hash(again)
    assert printed == str(again)
    assert codec.options == again.options
    assert len(printed) <= len(text) + 10
    assert codec.compressor_options() == again.compressor_options()


@given(
    st.text()
    | st.from_regex(
        r"[a-z]+(:[a-z]+)?(,[a-z]*=?[a-z0-9%]*)*(\+[a-z0-9:-]*(,[a-z]*=?[a-z0-9]*)*)?", fullmatch=True
    )
)
def test_any_text_is_an_id_or_a_usage_error(text: str) -> None:
    """Text of any kind parses or raises UsageError with a printable message, nothing else."""
    try:
        Codec.parse(text)
    except UsageError as error:
        assert str(error).isprintable()  # noqa: PT017 - the message is the point


@given(st.binary(max_size=300), st.sampled_from(["json", "ndjson", "msgpack", "cbor", "bson", "yaml", "repr", "avro",
                                                 "parquet", "arrow", "csv", "orc", "fory"]))  # fmt: skip
def test_any_bytes_decode_or_are_refused(data: bytes, format_id: str) -> None:
    """No bytes make a decoder raise a foreign exception."""
    for library in formats.get(format_id).libraries:
        if library.installed:
            with contextlib.suppress(TareError):
                Codec(format_id, library.name).decode(data)


@given(st.binary(max_size=200))
def test_sniffing_takes_any_bytes(data: bytes) -> None:
    """Sniffing gives a format or None for any bytes."""
    found = formats.sniff(data)
    assert found is None or found in formats.FORMATS


documents = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(codec="utf-8", exclude_characters="\0")),
    lambda below: st.lists(below, max_size=4) | st.dictionaries(st.text("abcdef", max_size=5), below, max_size=4),
    max_leaves=12,
)  # fmt: skip


@given(documents)
def test_plain_documents_come_back_from_every_library(value: Any) -> None:
    """What JSON, MessagePack, CBOR, pickle and marshal all hold comes back equal from each of their libraries."""
    for format_id in ("json", "msgpack", "cbor", "pickle", "marshal"):
        for library in formats.get(format_id).libraries:
            if library.installed and "document" in library.native:
                codec = Codec(format_id, library.name)
                assert value == codec.decode(codec.encode(value), trust=True), codec
