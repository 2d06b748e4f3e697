"""`tare inspect` and `tare convert` of R's files as a user meets them."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pyarrow as pa
import pytest
from support.capabilities import need_posix
from support.commands import invoke_bytes

import tare
from tare import r
from tare.dataset import open_dataset

TARE = [sys.executable, "-c", "from tare.cli import main; main()"]
CLOSURE = bytes.fromhex(
    "580a000000030004020200030500000000055554462d3800000403000000fd0000040200000001000400090000000178000000fb"
    "000000fe000000060000000100040009000000012b00000002000001ff000000020000000e000000013ff0000000000000000000fe"
)
MODEL = b'structure(list(a = 1:3, b = structure(c(1L, 2L), levels = c("u", "v"), class = "factor")), class = "fit")'


def run(*arguments, cwd, data=b""):
    done = invoke_bytes(*map(str, arguments), cwd=cwd, stdin=data)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def model(path):
    r.write(r.read(MODEL, format="dput", as_="robject"), path)


def test_inspect_says_what_an_object_is(tmp_path):
    """Format, version, writer, type and class; the structure with --tree."""
    model(tmp_path / "x.rds")
    code, out, _ = run("inspect", "x.rds", cwd=tmp_path)
    assert 0 == code
    assert "RDS" in out.splitlines()[0]
    for word in ("gzip", "version 3", "4.2.2", "xdr", "fit"):
        assert word in out, word
    _, out, _ = run("inspect", "x.rds", "--tree", cwd=tmp_path)
    lines = [line.strip() for line in out.splitlines()]
    assert "$a  integer [3]" in lines
    assert "$b  factor [2] (integer), 2 levels" in lines


def test_inspect_counts_what_is_no_data(tmp_path):
    """A function is flagged; --fail-on exits with 3 for its kind, with 0 for others, with 2 for none of them."""
    (tmp_path / "f.rds").write_bytes(CLOSURE)
    code, out, _ = run("inspect", "f.rds", cwd=tmp_path)
    assert 0 == code
    assert any(line.startswith("!") and "closure" in line for line in out.splitlines())
    code, _, err = run("inspect", "f.rds", "--fail-on", "promise,closure", cwd=tmp_path)
    assert (3, "tare: it holds closure\n") == (code, err)
    assert 0 == run("inspect", "f.rds", "--fail-on", "promise,external_pointer", cwd=tmp_path)[0]
    code, _, err = run("inspect", "f.rds", "--fail-on", "virus", cwd=tmp_path)
    assert 2 == code
    assert "there are promise, closure" in err
    found = json.loads(run("inspect", "f.rds", "--json", "--tree", cwd=tmp_path)[1])
    assert 1 == found["kinds"]["closure"]
    assert "closure" in found["tree"][0]["what"]
    (tmp_path / "x.csv").write_bytes(b"a\n1\n")
    assert 2 == run("inspect", "x.csv", "--fail-on", "promise", cwd=tmp_path)[0]


def test_inspect_lists_the_variables_of_rdata(tmp_path):
    """Each by its name; columns of a single data frame as of any table."""
    r.write({"p": 1, "q": {"z": "x"}}, tmp_path / "x.RData")
    code, out, _ = run("inspect", "x.RData", "--tree", cwd=tmp_path)
    assert 0 == code
    assert "p  integer [1]" in out
    assert "$z  character [1]" in out
    r.write(pa.table({"n": [1, None], "s": ["a", "b"]}), tmp_path / "t.rds")
    _, out, _ = run("inspect", "t.rds", cwd=tmp_path)
    assert "2 rows x 2 columns" in out


def test_inspect_reads_code_by_its_name(tmp_path):
    """A file named .R is text of dput, as it is for a conversion."""
    (tmp_path / "x.R").write_bytes(MODEL)
    code, out, err = run("inspect", "x.R", cwd=tmp_path)
    assert (0, "") == (code, err)
    assert "fit [2] (list)" in out
    assert "!" not in out


@pytest.mark.parametrize("format", ["qs2", "qdata"])
def test_inspect_says_what_is_inside(format, tmp_path):
    """The compressor and the checksum; the size of the file stands once."""
    size = r.write(pa.table({"n": list(range(1000))}), tmp_path / f"x.{format}").bytes
    code, out, _ = run("inspect", f"x.{format}", cwd=tmp_path)
    assert 0 == code
    for word in ("zstd, blocks may be shuffled", "there, and right"):
        assert word in out, word
    assert 1 == sum(f" {size} " in line + " " for line in out.splitlines())
    assert "bytes without the compressor around it" not in out


def test_inspect_of_fst_says_that_nothing_guards_its_data(tmp_path):
    """Columns with their types, and the missing checksum."""
    r.write(pa.table({"n": [1, None], "s": ["a", "b"]}), tmp_path / "t.fst")
    code, out, _ = run("inspect", "t.fst", cwd=tmp_path)
    assert 0 == code
    assert "no checksum" in out
    assert "2 rows x 2 columns" in out


def test_inspect_of_damage(tmp_path):
    """Exit code 1, and the byte."""
    model(tmp_path / "x.rds")
    data = (tmp_path / "x.rds").read_bytes()
    (tmp_path / "cut.rds").write_bytes(data[:-10])
    code, out, err = run("inspect", "cut.rds", cwd=tmp_path)
    assert 1 == code
    assert "byte" in out + err


def test_convert_between_formats_of_r(tmp_path):
    """The object stays what it is; losses are lines; --data-only and --strict do what they say."""
    model(tmp_path / "x.rds")
    code, out, err = run("convert", "x.rds", "x.qs2", cwd=tmp_path)
    assert (0, "") == (code, out)
    assert "rds -> qs2:tare" in err
    assert r.read(tmp_path / "x.qs2", as_="robject").identical(r.read(tmp_path / "x.rds", as_="robject"))
    (tmp_path / "f.rds").write_bytes(CLOSURE)
    code, _, err = run("convert", "f.rds", "g.rds", "--data-only", cwd=tmp_path)
    assert 0 == code
    assert "lost:" in err
    assert r.read(tmp_path / "g.rds") is None
    code, _, err = run("convert", "f.rds", "h.rds", "--data-only", "--strict", cwd=tmp_path)
    assert 1 == code
    assert not (tmp_path / "h.rds").exists()
    code, _, err = run("convert", "f.rds", "f.json", cwd=tmp_path)
    assert 1 == code
    assert "closure" in err


def with_code(path):
    """A data frame with a column of lists, in which a closure stands, and beside it a list with a call."""
    closure = r.read(CLOSURE, as_="robject")
    frame = r.read(b'structure(list(a = 1:2, l = list(1, "FN")), row.names = c(NA, -2L), class = "data.frame")',
                   format="dput", as_="robject")  # fmt: skip
    plain = frame.to_bytes(version=3, encoding="xdr")
    text = bytes.fromhex("000000100000000100040009") + b"\0\0\0\x02FN"
    assert 1 == plain.count(text)
    inside = closure.to_bytes(version=3, encoding="xdr")[23:]
    path.write_bytes(plain.replace(text, inside))


def test_data_only_holds_on_every_route(tmp_path):
    """From R to another format and back into R nothing but data is left, and each loss is told."""
    with_code(tmp_path / "x.rds")
    assert ["closure"] == r.read(tmp_path / "x.rds", as_="robject").flags
    code, _, err = run("convert", "x.rds", "x.parquet", cwd=tmp_path)
    assert 0 == code
    code, _, err = run("convert", "x.parquet", "kept.rds", cwd=tmp_path)
    assert ["closure"] == r.read(tmp_path / "kept.rds", as_="robject").flags
    code, _, err = run("convert", "x.parquet", "into.rds", "--data-only", cwd=tmp_path)
    assert 0 == code
    assert "lost:" in err
    assert [] == r.read(tmp_path / "into.rds", as_="robject").flags
    code, _, err = run("convert", "x.rds", "clean.parquet", "--data-only", cwd=tmp_path)
    assert 0 == code
    assert "lost:" in err
    code, _, err = run("convert", "clean.parquet", "back.rds", cwd=tmp_path)
    assert [] == r.read(tmp_path / "back.rds", as_="robject").flags
    code, _, err = run("convert", "x.rds", "no.parquet", "--data-only", "--strict", cwd=tmp_path)
    assert 1 == code
    assert not (tmp_path / "no.parquet").exists()


def test_data_only_holds_of_partitions(tmp_path):
    """From R, and into R: nothing but data is left, what was left out is told, and --strict refuses it."""
    with_code(tmp_path / "x.rds")
    code, _, err = run("convert", "x.rds", "x.parquet", cwd=tmp_path)
    for source, to in (("x.rds", "parquet"), ("x.rds", "qs2"), ("x.parquet", "qs2")):
        words = (
            "convert",
            source,
            "out",
            "--to",
            to,
            "--partition",
            "a",
            "--data-only",
            "--on-loss",
            "allow",
        )
        code, _, err = run(*words, "--strict", cwd=tmp_path)
        assert (1, True) == (code, "1 failed: something would be lost (loss: LossError" in err), err
        code, _, err = run(*words, "--overwrite", cwd=tmp_path)
        assert (0, True) == (code, "  lost in " in err), err
        for number in (1, 2):
            part = tmp_path / "out" / f"a={number}" / f"x.{to}"
            tare.convert(part, tmp_path / "back.rds")
            assert [] == r.read(tmp_path / "back.rds", as_="robject").flags


def test_data_only_makes_a_document_of_what_has_code(tmp_path):
    """What is no data becomes null; where R is on neither side the option is an error of usage."""
    (tmp_path / "x.rds").write_bytes(r.write({"f": r.read(CLOSURE, as_="robject"), "a": 1}, None).data)
    code, _, err = run("convert", "x.rds", "x.json", cwd=tmp_path)
    assert 1 == code
    assert "data_only" in err
    code, _, err = run("convert", "x.rds", "x.json", "--data-only", cwd=tmp_path)
    assert 0 == code
    assert "lost:" in err
    assert 1 == json.loads((tmp_path / "x.json").read_text())["a"]
    code, _, err = run("convert", "x.json", "x.msgpack", "--data-only", cwd=tmp_path)
    assert 2 == code
    assert "--data-only" in err


def test_a_folder_as_the_target_of_one_file(tmp_path):
    """The result stands in it under the source's name; without a format it is an error of usage."""
    model(tmp_path / "x.rds")
    for folder in ("new/", "new", "new/deep/"):
        code, _, err = run("convert", "x.rds", folder, "--to", "qs2", "--force", cwd=tmp_path)
        assert 0 == code, err
        assert (tmp_path / folder / "x.qs2").is_file()
    code, _, err = run("convert", "x.rds", "new", cwd=tmp_path)
    assert 2 == code
    assert "--to" in err


def test_what_is_no_table_says_so_once(tmp_path):
    """The name of a file that fails stands once, and the reason first."""
    (tmp_path / "in").mkdir()
    r.write([1, "a"], tmp_path / "in" / "v.rds")
    code, _, err = run("convert", "in", "out", "--to", "parquet", cwd=tmp_path)
    assert 1 == code
    assert "      in/v.rds: parquet stores tables, and this document is not one" in err


def test_a_pipe_in_a_folder_is_not_waited_for(tmp_path):
    """What is no regular file is no data of the folder's."""
    need_posix()
    (tmp_path / "in").mkdir()
    os.mkfifo(tmp_path / "in" / "pipe.rds")
    r.write([1, 2], tmp_path / "in" / "v.rds")
    code, _, err = run("convert", "in", "out", "--to", "qs2", cwd=tmp_path)
    assert 0 == code
    assert "1 passed over: a pipe (pipe.rds)" in err
    assert "1 done into out " in err


def test_a_named_pipe_is_read_once(tmp_path):
    """As standard input is: to another format, to R's, by inspect and by `tare.r.read`."""
    import os
    import threading

    need_posix()
    r.write(pa.table({"n": [1, None], "s": ["a", "b"]}), tmp_path / "x.rds")
    data, pipe = (tmp_path / "x.rds").read_bytes(), tmp_path / "pipe"
    os.mkfifo(pipe)

    def fed():
        writer = threading.Thread(target=pipe.write_bytes, args=(data,), daemon=True)
        writer.start()
        return writer

    for arguments in (
        ("convert", "pipe", "x.parquet"),
        ("convert", "pipe", "y.parquet", "--from", "rds"),
        ("convert", "pipe", "x.qs2"),
        ("inspect", "pipe"),
    ):
        writer = fed()
        code, _, err = run(*arguments, cwd=tmp_path)
        writer.join(60)
        assert (0, False) == (code, writer.is_alive()), err
    assert 2 == tare.read(tmp_path / "x.parquet").num_rows
    assert 2 == tare.read(tmp_path / "x.qs2").num_rows
    writer = fed()
    assert 2 == r.read(pipe).num_rows
    writer.join(60)


def test_a_folder_tells_what_was_lost(tmp_path):
    """By kind and file, at the end, on a terminal as in a pipe; the second run speaks of its own files."""
    import os
    import pty

    need_posix()
    (tmp_path / "in").mkdir()
    text = b'structure(list(a = 1:2), row.names = c("p", "q"), class = "data.frame")'
    r.write(r.read(text, format="dput", as_="robject"), tmp_path / "in" / "x.rds")
    tare.write(pa.table({"n": [1, 2]}), tmp_path / "in" / "t.qs2")
    command = [*TARE, "convert", "in", "out", "--to", "csv"]
    main, other = pty.openpty()
    done = subprocess.run(
        command, cwd=tmp_path, stderr=other, stdout=subprocess.PIPE, timeout=120, check=False
    )
    os.close(other)
    said = os.read(main, 1 << 16).decode()
    os.close(main)
    assert (0, b"") == (done.returncode, done.stdout)
    assert "2 done into out" in said
    assert "  lost in 1 file: row_names_dropped (x.csv" in said
    (tmp_path / "out" / "x.csv").unlink()
    _, _, err = run("convert", "in", "out", "--to", "csv", cwd=tmp_path)
    assert err.startswith("1 done, 1 done before into out")
    assert "  lost in 1 file: row_names_dropped (x.csv" in err


def test_another_compressor_than_the_one_of_the_ending(tmp_path):
    """It takes its place; what R cannot read is said."""
    (tmp_path / "x.csv").write_bytes(b"a\n1\n")
    for name, head, note in (
        ("xz", b"\xfd7zXZ", ""),
        ("zstd", b"\x28\xb5\x2f\xfd", "R before 4.5 reads no zstd"),
    ):
        code, _, err = run("convert", "x.csv", "x.rds", "--force", "--compressor", name, cwd=tmp_path)
        assert 0 == code, err
        assert (tmp_path / "x.rds").read_bytes().startswith(head)
        assert note in err
        assert bool(note) == ("note:" in err)
    code, _, err = run("convert", "x.rds", "y.rds", "--codec", "rds+lz4", cwd=tmp_path)
    assert 0 == code, err
    assert "R reads no lz4" in err
    assert 2 == run("convert", "x.csv", "x.rds.gz", "--force", "--compressor", "xz", cwd=tmp_path)[0]


def test_convert_a_folder(tmp_path):
    """Quiet in a pipe, failures at the end, exit code 1; without them 0; --json for programs."""
    (tmp_path / "in").mkdir()
    model(tmp_path / "in" / "x.rds")
    tare.write(pa.table({"n": [1, 2]}), tmp_path / "in" / "t.qs2")
    code, out, err = run("convert", "in", "out", "--to", "rds", cwd=tmp_path)
    assert (0, "") == (code, out)
    assert err.startswith("2 done into out ")
    assert "only the compression changed" in err.splitlines()[1]
    assert (tmp_path / "out" / "x.rds").read_bytes()[:2] == b"\x1f\x8b"
    code, _, err = run("convert", "in", "tables", "--to", "parquet", cwd=tmp_path)
    assert 1 == code
    assert "1 done, 1 failed into tables" in err
    assert "      in/x.rds: " in err
    code, out, _ = run("convert", "in", "tables", "--to", "parquet", "--json", cwd=tmp_path)
    report = json.loads(out)
    assert (0, 1, 1) == (report["files"], report["files_before"], report["files_failed"])
    for arguments in (("in", "out"), ("in", "-", "--to", "rds")):
        assert 2 == run("convert", *arguments, cwd=tmp_path)[0], arguments
    (tmp_path / "file").write_bytes(b"x")
    code, _, err = run("convert", "in", "file", "--to", "rds", cwd=tmp_path)
    assert 2 == code, err
    assert "and file is a file" in err, err


@pytest.mark.parametrize("name", ["x.rds", "x.fst", "x.qs2", "x.RData"])
def test_a_column_without_values_changes_its_type_alone(tmp_path, name):
    """R's missing value of no other type is a logical one."""
    (tmp_path / "x.csv").write_text("a,b\n1,\n2,\n")
    code, _, err = run("convert", "x.csv", name, cwd=tmp_path)
    assert 0 == code, err
    back = open_dataset(tmp_path / name).value
    assert [None, None] == back.column("b").to_pylist()


@pytest.mark.parametrize("ending", ["rds", "fst", "qs2"])
def test_a_table_without_rows_keeps_its_levels(tmp_path, ending):
    """The levels are in the batches, of which an empty table has none as a stream."""
    levels = pa.DictionaryArray.from_arrays(pa.array([], pa.int32()), ["u", "v"])
    r.write(pa.table({"f": levels}), tmp_path / f"x.{ending}")
    back = r.read(tmp_path / f"x.{ending}", as_="robject")
    assert ["u", "v"] == dict(back["f"].attributes)["levels"].to_python()
