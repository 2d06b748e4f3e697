"""NPY: NumPy reads what is written and the other way round, nothing is copied, foreign headers are refused."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest

import tare
from tare.codec import Codec
from tare.errors import EncodeError, Malformed, TareError, Truncated, Unsupported
from tare.formats import npy

ARRAYS = {
    "empty": np.array([]),
    "scalar": np.array(2.5),
    "bool": np.array([True, False]),
    "big-endian": np.arange(5, dtype=">i4"),
    "complex": np.array([1 + 2j]),
    "float16": np.arange(4, dtype="f2"),
    "text": np.array(["a", "\u00e9t\u00e9"]),
    "bytes": np.array([b"ab", b"c"]),
    "no width": np.zeros(3, dtype="S0"),
    "times": np.array(["2013-01-01", "NaT"], dtype="M8[ns]"),
    "spans": np.array([1, 2], dtype="m8[us]"),
    "records": np.array([(1, 2.5)], dtype=[("a", "<i2"), ("\u00e9", "<f8")]),
    "Fortran": np.asfortranarray(np.arange(12.0).reshape(3, 4)),
    "view": np.arange(24)[::-2].reshape(3, 4)[:, 1:],
    "no rows": np.zeros((0, 3), dtype="i8"),
    "4 axes": np.arange(16, dtype="u1").reshape(2, 2, 2, 2),
}


@pytest.mark.parametrize("array", ARRAYS.values(), ids=ARRAYS)
def test_numpy_reads_it_and_is_read(array: np.ndarray) -> None:  # type: ignore[type-arg]
    """numpy.load reads what is written here, and what numpy.save writes is read here."""
    ours = Codec.parse("npy").encode(array)
    theirs = io.BytesIO()
    np.save(theirs, array)
    for back in (np.load(io.BytesIO(ours)), npy.decoded(theirs.getvalue()), npy.decoded(ours)):
        np.testing.assert_array_equal(array, back)
        assert (array.dtype, array.shape) == (back.dtype, back.shape)
    assert len(ours) % 64 == array.nbytes % 64


def test_nothing_is_copied() -> None:
    """The items are the array's own memory, and a decoded array is a read-only view of the bytes."""
    for array in (np.arange(1000.0), np.asfortranarray(np.arange(12.0).reshape(3, 4)), np.array(1.5)):
        _, items = npy.parts(array)
        assert np.shares_memory(np.frombuffer(items, "u1"), array)
    data = Codec.parse("npy").encode(np.arange(1000.0))
    back = tare.decode(data, "npy")
    assert np.shares_memory(np.frombuffer(data, "u1"), back)
    assert not back.flags.writeable
    mutable = bytearray(data)
    back = tare.decode(mutable, "npy")
    mutable[-1] = 1
    assert back[-1] == 999.0


@pytest.mark.parametrize(
    "array",
    [
        np.array([None]),
        np.array([(1, "x")], dtype=[("a", "i4"), ("b", "O")]),
        np.ma.array([1, 2], mask=[0, 1]),
    ],
)
def test_what_only_pickle_holds_is_refused(array: object) -> None:
    """Objects and masks are refused with what to do."""
    with pytest.raises(EncodeError, match=r"pickle|filled"):
        tare.encode(array, "npy")
    with pytest.raises(EncodeError, match="not list"):
        tare.encode([1, 2], "npy")


def test_objects_are_not_read() -> None:
    """A pickle inside is never looked at."""
    file = io.BytesIO()
    np.save(file, np.array([None]), allow_pickle=True)
    with pytest.raises(Unsupported, match="objects"):
        tare.decode(file.getvalue(), "npy")


def test_every_prefix_and_more_bytes_are_refused() -> None:
    """An array is all of its bytes, no fewer and no more."""
    data = Codec.parse("npy").encode(np.arange(10))
    for cut in range(len(data)):
        with pytest.raises(Truncated):
            tare.decode(data[:cut], "npy")
    with pytest.raises(Malformed, match="behind"):
        tare.decode(data + b"\0", "npy")


@pytest.mark.parametrize(
    "text",
    [
        "{'descr': '<f8', 'fortran_order': False, 'shape': (4611686018427387905,), }",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (-1,), }",
        "{'descr': '<f8', 'fortran_order': False, 'shape': [1], }",
        "{'descr': '<f8', 'fortran_order': 1, 'shape': (1,), }",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (True,), }",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (1,), 'more': 1}",
        "{'descr': 'nothing', 'fortran_order': False, 'shape': (1,), }",
        "__import__('os').getpid()",
        "(" * 1000,
        "{'descr': '<V0', 'fortran_order': False, 'shape': (4611686018427387, 99999999), }",
        "{'descr': ('<f8', (1000000000, 1000000000)), 'fortran_order': False, 'shape': (0,), }",
        "",
    ],
)
def test_hostile_headers_are_refused(text: str) -> None:
    """Nothing in a header is run, and nothing is reserved for what it claims."""
    head = text.encode() + b"\n"
    data = b"\x93NUMPY\x01\x00" + len(head).to_bytes(2, "little") + head + bytes(8)
    with pytest.raises(TareError):
        npy.decoded(data)


def test_files_are_read_inspected_and_converted(tmp_path: Path) -> None:
    """A file .npy is read as its array, told about, and becomes an R object."""
    path = tmp_path / "x.npy"
    assert tare.write(np.arange(6.0).reshape(2, 3), path) == path.stat().st_size
    np.testing.assert_array_equal(np.arange(6.0).reshape(2, 3), tare.read(path))
    found = tare.inspect(path)
    assert ("npy", "array", "2 x 3") == (found.format, found.kind, found.details["array shape"])
    assert [48, 128] == [part.bytes for part in found.parts]
