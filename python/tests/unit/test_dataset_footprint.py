"""Bytes in memory: exact for ordinary documents, close for those with very long lists."""

from __future__ import annotations

import subprocess
import sys

import pytest
from support.capabilities import need_linux

import tare
from tare import kinds
from tare.dataset import Dataset, load_saved
from tare.datasets.footprint import document_bytes


@pytest.mark.parametrize(
    "value", [None, "x", [1, [2.5, "x"]], {"a": [{"b": 1}] * 5, "c": None}, list(range(1000))]
)
def test_ordinary_documents_are_counted(value):
    """No list is long: the count is that of every object."""
    assert kinds.resident_bytes(value) == document_bytes(value)


@pytest.mark.parametrize(
    "wrap", [lambda rows: rows, lambda rows: {"meta": 1, "rows": rows}, lambda rows: [{"x": {"rows": rows}}]]
)
def test_long_lists_are_estimated(wrap):
    """Within a tenth of the count, wherever the list stands."""
    value = wrap([{"id": k, "name": f"n{k}", "x": k / 7} for k in range(50_000)])
    assert abs(document_bytes(value) / kinds.resident_bytes(value) - 1) < 0.1
    assert document_bytes(value) == Dataset(value, name="x").bytes_memory


@pytest.mark.parametrize("size", [0.1, 0.9, 1.0])
def test_a_saved_part_is_the_subset(tmp_path, size):
    """Rows, bytes and hash are those of `subset`, though it is written batch by batch."""
    import pyarrow as pa

    table = tare.open_dataset("synthpop:5000").value
    table = pa.concat_tables([table.slice(0, 1234), table.slice(1234)])
    table = table.append_column("nested", pa.array([[k, None] for k in range(5000)]))
    table = table.append_column("word", table["sex"].dictionary_encode())
    data = Dataset(table, name="x")
    part, saved = data.subset(size, seed=3), data.save_part(tmp_path / "part", size, seed=3)
    assert (part.items, part.hash(), "arrow") == (saved.items, saved.hash, saved.as_)
    assert part.value.equals(load_saved(saved.path, saved.as_))
    assert abs(saved.bytes_memory / part.bytes_memory - 1) < 0.1


def test_a_saved_part_of_a_document_is_the_subset(tmp_path):
    """Lists keep the same items, other documents are thinned alike."""
    data = Dataset([{"n": k} for k in range(100)], name="x")
    part, saved = data.subset(0.3, seed=3), data.save_part(tmp_path / "part", 0.3, seed=3)
    assert (part.items, part.hash(), part.bytes_memory) == (saved.items, saved.hash, saved.bytes_memory)
    assert part.value == load_saved(saved.path, saved.as_)


def test_opening_and_saving_a_table_holds_it_once(tmp_path):
    """A large CSV: what a process needs beside its libraries is the table and a few blocks."""
    need_linux("/proc/self/status")
    rows = "".join(f"{k},{k / 7},name {k % 977},{k % 2}\n" for k in range(1_500_000))
    (tmp_path / "x.csv").write_text("id,x,name,flag\n" + rows)
    code = (
        "import sys, numpy, pyarrow.csv, pyarrow.compute, tare.datasets.opening\n"
        "from tare.dataset import open_dataset\n"
        "def peak():\n"
        "    lines = open('/proc/self/status').read().splitlines()\n"
        "    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith('VmHWM'))\n"
        "base = peak()\n"
        "data = open_dataset(sys.argv[1])\n"
        "data.summary(), data.hash(), data.save_part(sys.argv[2], 0.9)\n"
        "print((peak() - base) / data.bytes_memory, 'pandas' in sys.modules)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, tmp_path / "x.csv", tmp_path / "part"],
        check=True,
        capture_output=True,
        text=True,
    )
    copies, pandas = done.stdout.split()
    assert float(copies) < 2.3
    assert "False" == pandas
