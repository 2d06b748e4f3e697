"""Collections from Python: written, appended to, read by number, cut, compacted."""

from __future__ import annotations

import io
import json
import os
from pathlib import Path

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
    with pytest.raises(UsageError, match="mode='r'"):
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
