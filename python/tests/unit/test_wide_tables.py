"""Tables of very many columns: work that grows with their number, not with its square."""

from __future__ import annotations

import subprocess
import sys

import pyarrow as pa
import pytest
from support.capabilities import need

from tare.frames import with_columns

COLUMNS = 15_000
# Seconds of the processor, of which each needs two to three, and of a step for each pair of columns more than a hundred.
CODE = """
import resource, sys
resource.setrlimit(resource.RLIMIT_CPU, (30, 30))
import tare
table = tare.read(sys.argv[1])
print(table.num_columns, set(map(str, table.schema.types)))
"""


@pytest.mark.parametrize("cell", ["001", '"a, b"', "NA"])
def test_every_column_of_a_wide_csv_may_need_a_second_look(tmp_path, cell):
    """Numbers with leading zeros are kept as text, and words for missing values are noted."""
    need(sys.platform != "win32", "there is no limit of a process's time")
    path = tmp_path / "wide.csv"
    first = ",".join('"x"' if cell == "NA" else cell for _ in range(COLUMNS))
    text = "\n".join([",".join(f"c{k}" for k in range(COLUMNS)), first, ",".join([cell] * COLUMNS), ""])
    path.write_text(text)
    done = subprocess.run(
        [sys.executable, "-c", CODE, path], capture_output=True, text=True, timeout=300, check=False
    )
    assert (done.returncode, done.stdout) == (0, f"{COLUMNS} {{'string'}}\n")


def test_columns_are_replaced_in_place():
    table = pa.table({"a": [1], "b": [2], "c": [3]}).replace_schema_metadata({"k": "v"})
    changed = with_columns(
        table,
        {
            2: (pa.field("c", pa.string()), pa.array(["x"])),
            0: (pa.field("z", pa.int8()), pa.array([5], pa.int8())),
        },
    )
    assert changed.to_pydict() == {"z": [5], "b": [2], "c": ["x"]}
    assert changed.schema.metadata == {b"k": b"v"}
    assert with_columns(table, {}) is table
