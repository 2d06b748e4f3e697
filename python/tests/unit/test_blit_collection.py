"""Collections from Python: written, appended to, read by number, cut, compacted."""

from __future__ import annotations

import contextlib
import copy
import gc
import io
import json
import os
import pickle
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tare import blit
from tare.errors import DecodeError, Malformed, TareError, Truncated, Unsupported, UsageError

ROWS = [{"id": n, "name": f"n{n % 7}", "tags": [n, None]} for n in range(3000)]


@pytest.fixture(params=[None, "zstd:3", "lz4"])
def path(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A collection of two commits, in each codec."""
    place = tmp_path / "c.blits"
    with blit.open_collection(place, "x", compressor=request.param, chunk_size=16_384) as collection:
        collection.extend(ROWS[:2000])
    with blit.open_collection(place, "a", compressor=request.param) as collection:
        collection.extend(ROWS[2000:])
    return place


@pytest.mark.parametrize("mmap", [True, False])
def test_documents_are_found_by_number(path: Path, mmap: bool) -> None:
    """Length, any number, negative ones, slices, iteration; a document outlives its collection."""
    with blit.open_collection(path, mmap=mmap) as collection:
        assert (3000, 2) == (len(collection), collection.commits)
        assert collection.chunks > 3
        assert [document.to_python() for document in collection] == ROWS
        assert collection[1999]["id"] == 1999
        assert collection[-1].get("/tags/0") == 2999
        assert [2, 4] == [document["id"] for document in collection[2:6:2]]
        kept = collection[2500]
        with pytest.raises(IndexError, match="there are 3000"):
            collection[3000]
        with pytest.raises(IndexError):
            collection[-3001]
        with pytest.raises(TypeError):
            collection["1"]  # type: ignore[call-overload]
    assert kept.to_python() == ROWS[2500]
    with pytest.raises(UsageError, match="is closed"):
        len(collection)


def test_validation_sees_all(path: Path) -> None:
    """Every byte; a flipped one is told with its place in the file."""
    seen = blit.open_collection(path).validate()
    assert seen.bytes == path.stat().st_size
    data = bytearray(path.read_bytes())
    data[100] ^= 4
    path.write_bytes(data)
    with pytest.raises(DecodeError) as caught:
        blit.open_collection(path).validate()
    assert caught.value.format == "blit"
    assert "(rule C6)" in str(caught.value)


def test_json_is_appended_as_it_is(tmp_path: Path) -> None:
    """Text, bytes, exact numbers; a bad line is refused and leaves the others."""
    place = tmp_path / "c.blits"
    with blit.open_collection(place, "w") as collection:
        collection.append_json('{"a": 12345678901234567890123}')
        with pytest.raises((Malformed, Truncated)):
            collection.append_json(b'{"a": ')
        collection.append_json(b"[1.50]")
        assert len(collection) == 2
    read = blit.open_collection(place)
    assert [{"a": 12345678901234567890123}, [1.5]] == [document.to_python() for document in read]


def test_an_exception_drops_what_was_not_committed(tmp_path: Path) -> None:
    """Leaving with an exception keeps the commits and nothing behind them."""
    place = tmp_path / "c.blits"
    with pytest.raises(ZeroDivisionError), blit.open_collection(place, "w") as collection:  # noqa: PT012
        collection.append([1])
        assert collection.commit() == 1
        collection.append([2])
        raise ZeroDivisionError
    assert [[1]] == [document.to_python() for document in blit.open_collection(place)]


def test_what_has_no_place_is_refused(tmp_path: Path) -> None:
    """A set is refused and nothing is appended; a default makes it a list."""
    with blit.open_collection(tmp_path / "c.blits", "w") as collection:
        with pytest.raises(Unsupported):
            collection.append({"a": {1}})
        collection.append({"a": {1}}, default=list)
        assert len(collection) == 1


def test_modes_and_names(tmp_path: Path) -> None:
    """Mode x refuses what is there, r what is not, and no other mode exists."""
    place = tmp_path / "c.blits"
    with blit.open_collection(place, "x"):
        pass
    assert len(blit.open_collection(place)) == 0
    with pytest.raises((TareError, OSError)):
        blit.open_collection(place, "x")
    with pytest.raises(OSError, match="none"):
        blit.open_collection(tmp_path / "none.blits")
    with pytest.raises(UsageError, match="mode is one of"):
        blit.open_collection(place, "rw")
    with pytest.raises(UsageError, match="mode='a'"):
        blit.open_collection(place).append({})
    with pytest.raises(TareError):
        blit.open_collection(place, "w", compressor="brotli")


def test_a_torn_commit_is_repaired(path: Path) -> None:
    """Cut anywhere in its second commit: the file says so, and repair gives the first one back."""
    size = path.stat().st_size
    os.truncate(path, size - 5)
    with pytest.raises(TareError, match="repair"):
        blit.open_collection(path)
    documents, cut = blit.repair(path)
    assert (2000, True) == (documents, cut > 0)
    assert [document.to_python() for document in blit.open_collection(path)] == ROWS[:2000]


def test_compact_keeps_what_it_is_told(path: Path) -> None:
    """In its own place: one commit, in order; an exception leaves the file as it was."""
    before = path.read_bytes()
    collection = blit.open_collection(path)

    def broken(_: object) -> bool:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        collection.compact(path, broken)
    assert before == path.read_bytes()
    assert [path.name] == os.listdir(path.parent)
    kept = collection.compact(path, lambda document: document["id"] % 3 == 0, compressor="zstd")
    again = blit.open_collection(path)
    assert (1000, 1) == (kept, again.commits)
    assert [document.to_python() for document in again] == ROWS[::3]
    assert collection[1].to_python() == ROWS[1]


def test_lines_are_the_same_for_every_number_of_threads(tmp_path: Path) -> None:
    """Each line as by itself; the wrong one is named, and those before it stay."""
    lines = [json.dumps({"id": n, f"name {n % 71}": "x" * (n % 90)}).encode() for n in range(30_000)]
    text = b"\n\n".join(lines)
    files = []
    for threads in (1, 2, 5, None):
        place = tmp_path / f"{threads}.blits"
        with blit.open_collection(place, "w", chunk_size=5000) as written:
            if threads == 1:
                for line in lines:
                    written.append_json(line)
            else:
                source = memoryview(text) if threads == 2 else io.BytesIO(text)
                assert written.extend_ndjson(source, threads=threads) == len(lines)
        files.append(place.read_bytes())
    assert files[1:] == files[:1] * 3
    with blit.open_collection(tmp_path / "b.blits", "w") as written:
        with pytest.raises(Malformed, match=r"line 3: .*a name is missing") as caught:
            written.extend_ndjson(io.BytesIO(b"{}\n\n{nothing}\n[]"))
        assert caught.value.offset == 5
        assert len(written) == 1
        for wrong in (0, -1):
            with pytest.raises(UsageError):
                written.extend_ndjson(b"", threads=wrong)
        with pytest.raises(UsageError, match="rb"):
            written.extend_ndjson(io.StringIO("{}"))  # type: ignore[arg-type]


@pytest.mark.parametrize("wrong", [{"chunk_size": 0}, {"chunk_size": -1}, {"chunk_size": 2**70}])
@pytest.mark.parametrize("mode", ["w", "a", "x"])
def test_a_wrong_option_touches_no_file(wrong: dict[str, Any], mode: str, tmp_path: Path) -> None:
    """What is there stays, and nothing comes to be where nothing was."""
    place = tmp_path / "c.blits"
    with blit.open_collection(place, "w") as written:
        written.append(1)
    before = place.read_bytes()
    several: list[dict[str, Any]] = [wrong, {"compressor": "gzip"}, {"layout": "diagonal"}, {"pool": True}]
    several += [{"canonical": True}, {"checksum": False}, {"nothing": 1}, {"compress_strings": -1}]
    for options in several:
        for path in (place, tmp_path / "new.blits"):
            with pytest.raises((UsageError, FileExistsError)):
                blit.open_collection(path, mode, **options)
    assert before == place.read_bytes()
    assert [place.name] == os.listdir(tmp_path)


def test_an_exception_keeps_the_collection_that_was_to_be_replaced(tmp_path: Path) -> None:
    """The new one has the name from its first commit on; a new name without a commit is no file."""
    place = tmp_path / "c.blits"
    for failing in (False, True):
        with contextlib.suppress(ZeroDivisionError), blit.open_collection(place, "w") as written:
            written.extend(range(3) if not failing else range(100_000))
            if failing:
                assert list(blit.open_collection(place)) == [0, 1, 2]
                raise ZeroDivisionError
    assert list(blit.open_collection(place)) == [0, 1, 2]
    with pytest.raises(ZeroDivisionError), blit.open_collection(tmp_path / "n.blits", "x") as written:
        raise ZeroDivisionError
    with blit.open_collection(place, "w"):
        pass
    assert len(blit.open_collection(place)) == 0
    assert [place.name] == os.listdir(tmp_path)


def test_compact_in_its_own_place_takes_the_newest_documents(tmp_path: Path) -> None:
    """Also those that others committed since; not while another writer is at it."""
    place = tmp_path / "c.blits"
    with blit.open_collection(place, "w") as written:
        written.extend(range(3))
    stale = blit.open_collection(place)
    with blit.open_collection(place, "a") as written:
        written.append(99)
        before = place.read_bytes()
        with pytest.raises(UsageError, match="another writer"):
            stale.compact(place)
        assert before == place.read_bytes()
    link, other = tmp_path / "l.blits", tmp_path / "o.blits"
    link.symlink_to(place)
    os.chmod(place, 0o600)
    assert stale.compact(os.fsencode(link)) == 4
    assert link.is_symlink()
    assert place.stat().st_mode & 0o777 == 0o600
    assert list(blit.open_collection(place)) == [0, 1, 2, 99]
    # Elsewhere its own documents are written, whatever came to be in its place.
    assert stale.compact(other, lambda value: value != 1) == 2
    assert list(blit.open_collection(other)) == [0, 2]
    assert stale.compact(place, lambda _: stale.close() or True) == 4  # type: ignore[func-returns-value]
    assert {"c.blits", "l.blits", "o.blits"} == set(os.listdir(tmp_path))


@pytest.mark.parametrize("mmap", [True, False])
def test_a_document_of_a_collection_has_what_others_have(path: Path, mmap: bool) -> None:
    """Every method of its view is as of the same document alone."""
    collection = blit.open_collection(path, mmap=mmap)
    views: list[Any] = [collection[2500], list(collection.views())[2500]]
    for view in views:
        alone = blit.view(blit.encode(ROWS[2500]))
        assert view.validate().keys == 3
        with pytest.raises(Malformed, match="V30"):
            view.validate(canonical=True)
        assert (alone.raw(), alone.nbytes) == (view.raw(), view.nbytes)
        assert (alone.kind, view.kind) == ("GENERIC", "TABLE")  # a row of its chunk
        assert (alone.to_json(), alone.to_python(), repr(alone)) == (
            view.to_json(),
            view.to_python(),
            repr(view),
        )
        for query in ("$", "$.tags[0]", "$..*", "$.nothing"):
            assert alone.find(query) == view.find(query)
        assert alone == view == pickle.loads(pickle.dumps(view)) == copy.deepcopy(view)
        assert blit.encode(view) == alone.raw()
        for edited in (blit.edit(view), blit.edit(alone)):
            edited.set("/name", "another")
            edited.delete("/tags/1")
            assert edited["tags"].to_python() == [2500]
        assert blit.edit(view).to_blit() == blit.edit(alone).to_blit()
        changed = blit.edit(view)
        changed.set("/id", "x")
        assert blit.view(changed.to_blit())["id"] == "x"
        document = bytearray(view.raw())
        blit.patch(document, "/id", 2501)
        assert blit.view(document)["id"] == 2501
        assert view["tags"].to_python() == [2500, None]
        assert (view["tags"].nbytes, view["tags"].find("$[0]")) == (alone["tags"].nbytes, [2500])
        assert view["tags"].validate().keys == 3


def test_columns_and_scalars_of_a_collection(tmp_path: Path) -> None:
    """A document that is a list of rows has columns; one that is a plain value its view."""
    place = tmp_path / "c.blits"
    values: list[Any] = [ROWS[:50], 7, "text", None, [], 2**70, 1.5]
    with blit.open_collection(place, "w") as written:
        written.extend(values)
    collection = blit.open_collection(place)
    assert collection[0].column("id").to_list() == list(range(50))
    assert collection[0].validate().kinds["TABLE"] >= 1
    for view, value in zip(collection.views(), values, strict=True):
        assert view.to_python() == value
        assert view.raw() == blit.encode(value)
        assert view.nbytes == len(view.raw())
        assert json.loads(view.to_json()) == value
        assert view.validate().bytes > 0
        assert pickle.loads(pickle.dumps(view)).to_python() == value
        assert [found.to_python() if isinstance(found, blit.View) else found for found in view.find("$")] == [
            value
        ]
        assert blit.view(blit.edit(view).to_blit()).to_python() == value


def test_it_closes_while_others_append(tmp_path: Path) -> None:
    """In `default` it is refused; from another thread it waits, and lets that one go on."""
    written = blit.open_collection(tmp_path / "c.blits", "w")

    def closing(_: object) -> int:
        for use in (written.close, written.commit, written.rollback, lambda: written.append(1)):
            with pytest.raises(RuntimeError, match="while it encodes"):
                use()
        return 1

    written.append({"a": {1}}, default=closing)
    started = threading.Event()

    def slow(_: object) -> int:
        started.set()
        time.sleep(0.2)
        return 2

    other = threading.Thread(target=lambda: written.append({"a": {1}}, default=slow), daemon=True)
    other.start()
    started.wait(60)
    assert written.commit() == 2
    started.clear()
    other = threading.Thread(target=lambda: written.append({"a": {1}}, default=slow), daemon=True)
    other.start()
    started.wait(60)
    written.close()
    other.join(60)
    assert not other.is_alive()
    assert [{"a": 1}, {"a": 2}] == [one.to_python() for one in blit.open_collection(tmp_path / "c.blits")]


@pytest.mark.parametrize("mode", ["r", "w", "a"])
def test_a_closed_collection_says_so(path: Path, mode: str) -> None:
    """Whatever it is asked; closing again is nothing, and so is leaving its block."""
    with blit.open_collection(path, mode) as collection:
        collection.close()
        collection.close()
    uses: list[Callable[[], object]] = [
        lambda: len(collection),
        lambda: collection[0],
        lambda: collection[:1],
        lambda: list(collection),
        lambda: list(collection.views()),
        lambda: collection.commits,
        lambda: collection.chunks,
        lambda: collection.get(0, "/id"),
        lambda: collection.column("/id"),
        lambda: collection.compact(path),
        collection.validate,
        collection.account,
        lambda: collection.append(1),
        lambda: collection.append_json("1"),
        lambda: collection.extend([]),
        lambda: collection.extend_ndjson(b""),
        collection.commit,
        collection.rollback,
        collection.__enter__,
    ]
    for use in uses:
        with pytest.raises(UsageError, match="is closed"):
            use()
    assert repr(collection).endswith(", closed>")


def test_get_takes_what_an_index_is(path: Path) -> None:
    """From the end too; the default where there is no such document."""
    collection = blit.open_collection(path)
    assert collection.get(-1, "/id") == 2999
    assert collection.get(-3000, "/id") == 0
    nothing = object()
    for beyond in (3000, -3001, 2**70, -(2**70), 2**63):
        assert collection.get(beyond, "/id", nothing) is nothing
        with pytest.raises(IndexError, match="there are 3000"):
            collection[beyond]
    with pytest.raises(TypeError):
        collection.get("1", "/id")  # type: ignore[arg-type]


def test_sizes_that_cannot_be_are_refused_in_words() -> None:
    """Below zero and beyond 64 bits, everywhere."""
    view = blit.view(blit.encode([1]))
    for wrong in (-1, 2**70):
        uses: list[Callable[[], object]] = [
            lambda wrong=wrong: view.to_python(max_elements=wrong),  # type: ignore[misc]
            lambda wrong=wrong: view.to_json(max_output=wrong),  # type: ignore[misc]
            lambda wrong=wrong: view.find("$", max_elements=wrong),  # type: ignore[misc]
            lambda wrong=wrong: view.finditer("$", max_elements=wrong),  # type: ignore[misc]
            lambda wrong=wrong: blit.encode([1], compress_strings=wrong),  # type: ignore[misc]
        ]
        for use in uses:
            with pytest.raises(UsageError, match=str(wrong)):
                use()
    with pytest.raises(TypeError):
        view.to_python(max_elements="1")


def test_documents_are_written_as_options_say(tmp_path: Path) -> None:
    """Names twice, halves of pairs, text of numbers; compacting keeps them; a path may be bytes."""
    place = os.fsencode(tmp_path / "c.blits")
    text = '{"a":1.50,"a":"\\ud800"}'
    with pytest.raises(TareError), blit.open_collection(place, "w") as written:
        written.append_json(text)
    how: Any = {"duplicates": "keep", "surrogates": "keep", "numbers": "text"}
    with blit.open_collection(place, "w", **how) as written:
        written.append_json(text)
        written.extend_ndjson(text.encode() + b"\n")
        written.append("\udc00")
    wanted = [text.encode()] * 2 + [b'"\\udc00"']
    collection = blit.open_collection(place)
    assert collection.path == os.fsdecode(place)
    assert wanted == [view.to_json() for view in collection.views()]
    collection.compact(place)
    assert wanted == [view.to_json() for view in blit.open_collection(place).views()]
    with pytest.raises(UsageError, match="not read"):
        blit.open_collection(place, numbers="text")
    assert blit.repair(place) == (3, 0)


def test_a_writer_that_nobody_has_any_more_lets_the_file_go(tmp_path: Path) -> None:
    """At once, not when the garbage collector comes."""
    place = tmp_path / "c.blits"
    gc.disable()
    try:
        one = blit.open_collection(place, "w")
        one.append(1)
        del one
        assert os.listdir(tmp_path) == []
        with blit.open_collection(place, "w") as collection:
            collection.append(1)
        one = blit.open_collection(place, "a")
        one.append(2)
        del one
        blit.open_collection(place, "a").close()
    finally:
        gc.enable()
    assert list(blit.open_collection(place)) == [1]
