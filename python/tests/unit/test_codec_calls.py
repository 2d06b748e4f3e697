"""What is measured is what runs: a codec's call is the library's own, and nothing looks at the value before it."""

from __future__ import annotations

import copy
import io
import pickle
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import pytest
from support.capabilities import need_codec

import tare
from tare import Codec, Route, formats
from tare.codec import decode, encode
from tare.errors import EncodeError, Limit, Malformed, MissingLibrary, NotTrusted, UsageError
from tare.formats.base import Format, Library, Option, bound

Call = Callable[[Any], Any]


class Untouched(dict[str, Any]):
    """A mapping that only its library may look at."""

    def _touched(self, *_: object) -> Any:
        raise AssertionError("touched")

    __bool__ = __contains__ = __eq__ = __getitem__ = __iter__ = __len__ = __ne__ = __reversed__ = _touched
    copy = get = items = keys = values = _touched
    __hash__ = None


class Row(list[Any]):
    """A list that only its library may look at."""

    __bool__ = __contains__ = __eq__ = __getitem__ = __iter__ = __len__ = Untouched._touched
    __hash__ = None


class Planted:
    """A library that keeps what it was called with."""

    def __init__(self) -> None:
        self.encoded: list[Any] = []
        self.decoded: list[Any] = []
        self.checked: list[Any] = []
        self.bindings: list[dict[str, Any]] = []
        self.result: object = object()

    def bind_encode(self, **options: Any) -> Call:
        """Binds options."""
        self.bindings.append(options)

        def call(obj: Any) -> bytes:
            self.encoded.append(obj)
            return b"encoded"

        return call

    def bind_decode(self, **options: Any) -> Call:
        """Binds options."""
        self.bindings.append(options)

        def call(data: Any) -> object:
            self.decoded.append(data)
            return self.result

        return call


def planted(monkeypatch: pytest.MonkeyPatch, **fields: Any) -> Planted:
    """Plants a library of a format of its own, ``planted``, as the whole registry."""
    own = Planted()
    library = Library(
        "own",
        fields.pop("native", {"document": "python", "table": "arrow"}),
        options={"loud": Option(False, (False, True))},
        **bound(own.bind_encode, own.bind_decode),
        **fields,
    )
    format = Format("planted", "Planted", (), frozenset({"document"}), (library,))
    monkeypatch.setattr(formats, "FORMATS", (format,), raising=False)
    return own


def encoders(id: str) -> list[Call]:
    """Ways to encode with a codec."""
    return [lambda value: tare.encode(value, id), Codec.parse(id).encode, Route(id).encode]


def decoders(id: str) -> list[Call]:
    """Ways to decode with a codec."""
    return [lambda data: tare.decode(data, id), Codec.parse(id).decode, Route(id).decode]


@pytest.mark.parametrize("value", [Untouched(a=1), Row([1, 2]), object(), (), None], ids=type)
def test_the_library_gets_the_very_value_and_nobody_else_looks(
    value: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each way to encode calls the library once, with the value itself, which no check walks."""
    own = planted(monkeypatch)
    for call in encoders("planted"):
        own.encoded.clear()
        assert b"encoded" == call(value)
        (seen,) = own.encoded
        assert seen is value


def test_a_table_of_the_library_s_kind_is_not_converted(monkeypatch: pytest.MonkeyPatch) -> None:
    """An Arrow table goes as it is into a library of Arrow tables; one of columns is given columns."""
    import pyarrow as pa

    own, table = planted(monkeypatch), pa.table({"a": [1]})
    encode(table, "planted")
    assert own.encoded.pop() is table
    own = planted(monkeypatch, native={"table": "columns"})
    encode(table, "planted")
    assert {"a": [1]} == own.encoded.pop()


def test_the_library_gets_the_very_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each way to decode calls the library once, with the bytes themselves, and gives what it gave."""
    own, data = planted(monkeypatch), b"bytes"
    for call in decoders("planted"):
        own.decoded.clear()
        assert call(data) is own.result
        (seen,) = own.decoded
        assert seen is data


def test_options_are_resolved_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """An id is parsed and bound once, and each id by itself."""
    own = planted(monkeypatch)
    for _ in range(3):
        encode({}, "planted,loud=true")
        encode([], "planted,loud=true")
        encode({}, "planted")
    assert [{"loud": True}, {"loud": False}] == own.bindings
    codec = Codec.parse("planted")
    for _ in range(3):
        codec.encode({})
        codec.decode(b"x")
        codec.decode(b"x", trust=True)
    assert 4 == len(own.bindings)


def test_what_is_measured_is_the_library_s_own_function() -> None:
    """Without options that ask for more, nothing is wrapped around a function that gives bytes."""
    import msgspec
    import orjson

    from tare import blit

    for id, functions in {
        "json:orjson": (orjson.dumps, orjson.loads),
        "json:msgspec": (msgspec.json.encode, msgspec.json.decode),
        "msgpack:msgspec": (msgspec.msgpack.encode, msgspec.msgpack.decode),
    }.items():
        codec = Codec.parse(id)
        assert functions == (codec.encoder("document"), codec.decoder("document"))
    assert Codec.parse("blit").encoder("document") is blit.encode


def test_what_runs_is_what_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    """`Codec.encode` runs what `encoder` gives, which `tare measure` times."""
    own = planted(monkeypatch)
    calls: list[Any] = []

    measured = Codec.encoder

    def encoder(self: Codec, kind: str) -> Call:
        call = measured(self, kind)

        def counted(value: Any) -> Any:
            calls.append(value)
            return call(value)

        return counted

    monkeypatch.setattr(Codec, "encoder", encoder)
    codec = Codec.parse("planted")
    codec.encode({})
    codec.encode([])
    assert [{}, []] == calls == own.encoded


@pytest.mark.parametrize(
    ("id", "said"),
    [
        ("", "not a codec id"),
        ("jsn", "did you mean json"),
        ("json:orjson,orinet=rows", "did you mean orient"),
        ("json:orjson,orient=diagonal", r"expected rows\|columns"),
        ("arrow:pyarrow,level=3", "has no levels"),
        ("json:orjson+zstd:99", "levels"),
    ],
)
def test_wrong_ids_are_refused_each_time(id: str, said: str) -> None:
    """A refusal is not kept in place of a codec, nor a codec in place of a refusal."""
    for _ in range(2):
        with pytest.raises(UsageError, match=said):
            encode({}, id)
        with pytest.raises(UsageError, match=said):
            decode(b"{}", id)
        assert b"{}" == encode({}, "json:orjson")


def test_another_registry_is_another_codec(monkeypatch: pytest.MonkeyPatch) -> None:
    """A format that is registered later under the same id is the one that runs."""
    first = planted(monkeypatch)
    encode({}, "planted")
    second = planted(monkeypatch)
    encode([], "planted")
    assert ([{}], [[]]) == (first.encoded, second.encoded)


def test_a_library_that_is_missing_is_looked_for_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is refused for want of a library runs when it is installed."""
    own = planted(monkeypatch, modules=("never_installed",))
    codec = Codec.parse("planted")
    for _ in range(2):
        with pytest.raises(MissingLibrary):
            codec.encode({})
        with pytest.raises(MissingLibrary):
            encode({}, "planted")
        with pytest.raises(MissingLibrary):
            codec.decode(b"x")
    monkeypatch.setattr(Library, "installed", True)
    codec.encode({})
    assert [{}] == own.encoded


def test_a_codec_that_ran_is_copied_without_its_calls() -> None:
    """Bound calls stay where they were made: a codec is its id."""
    codec = Codec.parse("json:orjson,sort_keys=true+zstd:3")
    data = codec.encode({"b": 1, "a": 2})
    for other in (pickle.loads(pickle.dumps(codec)), copy.copy(codec), copy.deepcopy(codec), replace(codec)):
        assert codec == other
        assert "_encoders" not in vars(other)
        assert data == other.encode({"b": 1, "a": 2})


def test_errors_of_a_library_are_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever it raises, its cause is kept; what it gives that is no bytes is an error too."""
    own = planted(monkeypatch)

    class Panic(BaseException):
        pass

    def boom(_: Any) -> Any:
        raise Panic("index out of bounds")

    monkeypatch.setattr(own, "bind_encode", None)
    library = replace(
        formats.FORMATS[0].libraries[0], bind_encode=lambda **_: boom, bind_decode=lambda **_: boom
    )
    monkeypatch.setattr(formats, "FORMATS", (replace(formats.FORMATS[0], libraries=(library,)),))
    for call, expected in ((encode, EncodeError), (decode, Malformed)):
        with pytest.raises(expected, match="index out of bounds") as caught:
            call(b"x", "planted")
        assert isinstance(caught.value.__cause__, Panic)
    library = replace(library, bind_encode=lambda **_: lambda obj: None)  # type: ignore[arg-type]
    monkeypatch.setattr(formats, "FORMATS", (replace(formats.FORMATS[0], libraries=(library,)),))
    with pytest.raises(EncodeError):
        encode({}, "planted")


def nested(levels: int, value: Any = 1, make: Callable[[Any], Any] = lambda value: [value]) -> Any:
    """Containers inside each other."""
    for _ in range(levels):
        value = make(value)
    return value


def shapes(levels: int) -> Iterator[Any]:
    """Values so deep, of every shape that hides it."""
    yield nested(levels)
    yield nested(levels, make=lambda value: {"a": value})
    yield nested(levels, make=lambda value: (value,))
    half = nested(levels // 2)
    yield [half, nested(levels - levels // 2, half)]  # shared: met at a small depth first
    yield {"blob": b"x", "v": nested(levels)}  # JSON has no bytes
    cycle: list[Any] = []
    cycle.append(cycle)
    yield cycle


@pytest.mark.parametrize("id", ["cbor:cbor2", "fory:pyfory", "sqlitejsonb", "yaml:pyyaml,loader=c"])
def test_depth_is_a_part_of_the_call_that_is_measured(id: str) -> None:
    """Where deep values would crash a library, the measured call refuses them, and so does writing."""
    codec = need_codec(id)
    limit = codec.library.max_depth
    assert limit is not None
    measured = codec.encoder("document")
    for value in shapes(limit + 1):
        for call in (measured, codec.encode, lambda one: codec.write(one, io.BytesIO())):
            with pytest.raises(Limit, match="nested deeper"):
                call(value)


def test_depth_of_bytes_is_a_part_of_the_call_that_is_measured() -> None:
    """As that of values."""
    codec = need_codec("yaml:pyyaml,loader=c")
    for call in (codec.decoder("document"), codec.decode):
        with pytest.raises(Limit, match="nested deeper"):
            call(b"[" * 10_000 + b"]" * 10_000)


def test_r_s_lists_are_not_written_deeper_than_they_are_read() -> None:
    """Written whole or part by part."""
    assert Codec.parse("rds").encode(nested(1000))
    for id in ("rds", "rds+gzip"):
        for call in (Codec.parse(id).encode, partial(Codec.parse(id).write, file=io.BytesIO())):
            with pytest.raises(Limit, match="nested deeper"):
                call(nested(1001))


def test_checks_of_bytes_run_once_unless_trusted(monkeypatch: pytest.MonkeyPatch) -> None:
    """A check that a library needs runs before it, and trust leaves it out."""
    seen: list[Any] = []
    own = planted(monkeypatch, check=seen.append)
    codec, data = Codec.parse("planted"), b"bytes"
    codec.decode(data)
    codec.decode(data)
    assert [data, data] == seen
    codec.decode(data, trust=True)
    assert (2, 3) == (len(seen), len(own.decoded))


def test_trust_is_asked_for_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """One trusting call does not make the next trust."""
    own = planted(monkeypatch, executes_code=True)
    for _ in range(2):
        assert decode(b"x", "planted", trust=True) is own.result
        with pytest.raises(NotTrusted):
            decode(b"x", "planted")
    assert 2 == len(own.decoded)


def test_a_codec_does_for_an_id_and_what_is_neither_is_told():
    """Whoever has parsed one need not print it; parts are not mistaken for an id."""
    codec = Codec.parse("json:orjson")
    assert decode(encode([1], codec), codec) == [1]
    with pytest.raises(UsageError, match="invalid codec: expected an id such as 'json:orjson', got NoneType"):
        encode([1], None)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match=r"an id is for Codec\.parse\('json:orjson'\)"):
        Codec("json:orjson")
