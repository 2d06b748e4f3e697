"""A route id, as `tare measure` recommends it, is accepted wherever a codec id is."""

from __future__ import annotations

import datetime as dt

import pyarrow as pa
import pytest

import tare
from tare import Codec
from tare.codec.route_ids import MEDIA, codec_part, split_route
from tare.converting.naming import pressed
from tare.errors import UsageError
from tare.measure.run import without_media
from tare.measure.settings import Settings


@pytest.mark.parametrize("medium", MEDIA)
def test_a_codec_is_parsed_out_of_a_route(medium: str) -> None:
    """Every medium may follow, with its settings."""
    assert Codec.parse("json:orjson+zstd:3") == Codec.parse(f"json:orjson+zstd:3@{medium}")
    assert Codec.parse("json:orjson") == Codec.parse(f"json:orjson@{medium},threads=all,sync=fsync")


@pytest.mark.parametrize("parse", [Codec.parse, tare.Route, codec_part])
def test_an_unknown_medium_is_refused_with_the_list(parse) -> None:
    """Near names first, then all there are."""
    with pytest.raises(UsageError) as caught:
        parse("json:orjson@flie")
    assert "there is no medium 'flie'; did you mean file?" in str(caught.value)
    assert all(medium in str(caught.value) for medium in MEDIA)


@pytest.mark.parametrize("text", ["csv:perl,delimiter=@", "csv:perl,delimiter=@+zstd:3"])
def test_an_at_sign_can_be_the_value_of_an_option(text: str) -> None:
    """It names no medium there; one may follow."""
    assert (text, None, {}) == split_route(text)
    assert (text, "file", {}) == split_route(f"{text}@file")


@pytest.mark.parametrize("text", ["rds:r,version=2@file", "json:*@memory"])
def test_ids_of_other_languages_and_patterns_have_media_too(text: str) -> None:
    """The codec is not looked up."""
    assert text.partition("@")[0] == split_route(text)[0]


def test_python_takes_a_route_for_a_codec(tmp_path) -> None:
    """Reading, writing, storing and messages use its codec."""
    assert b'{"a":1}' == tare.encode({"a": 1}, "json:orjson@tcp,delivery=framed")
    assert {"a": 1} == tare.decode(b'{"a":1}', "json:orjson@file")
    tare.write({"a": 1}, tmp_path / "x", codec="json:orjson@file")
    assert {"a": 1} == tare.read(tmp_path / "x", codec="json:orjson@memory")
    with tare.open_store("memory:", codec="msgpack:msgspec@store") as store:
        store.set("key", {"a": 1}, codec="json:orjson@store")
        store["other"] = 1
        assert ["json:orjson", "msgpack:msgspec"] == [store.codec_of("key"), store.codec_of("other")]


def test_options_of_a_medium_are_none_of_the_codec(tmp_path) -> None:
    """A codec without options keeps the usual ones: a comma after the medium is not one of its own."""
    value = {"day": [dt.date(2026, 11, 28)]}
    tare.write(pa.table(value), tmp_path / "x.json", codec="json@file,sync=fsync")
    assert [{"day": "2026-11-28"}] == tare.read(tmp_path / "x.json")


def test_a_compressor_is_put_around_the_codec() -> None:
    """It does not follow the medium."""
    assert "json:orjson+zstd:3" == pressed("json:orjson@file", "x", "zstd:3")


def test_measuring_takes_the_media_that_are_named() -> None:
    """A medium in an id is as one of its own, unless media are given."""
    named = Settings(
        codecs=("json:orjson@file", "pickle@unix", "cbor"), exclude=("bson@file",), base="json@file"
    )
    found = without_media(named)
    assert ("json:orjson", "pickle", "cbor") == found.codecs
    assert (("file", "unix"), ("bson",), "json") == (found.media, found.exclude, found.base)
    assert ("memory",) == without_media(Settings(codecs=("cbor@file",), media=("memory",))).media
    assert without_media(Settings(codecs=("cbor",))).media is None
