"""Readers that bytes can crash: in a process of their own, which dies alone; what crashed in this one is not asked of it."""

from __future__ import annotations

import contextlib
import io
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import ipc, orc, parquet
from support.capabilities import need_posix
from support.commands import invoke

import tare
from tare import child_process
from tare.errors import DecodeError, Limit, Malformed, Unsupported, UsageError

TABLE = pa.table({"n": range(1000), "t": [f"{k}" for k in range(1000)], "l": [[k] for k in range(1000)]})


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    """No process is left of another test, or for one."""
    child_process._end()
    yield
    child_process._end()


def orc_bytes(table: pa.Table = TABLE, **options: object) -> bytes:
    file = io.BytesIO()
    orc.write_table(table, file, **options)
    return file.getvalue()


def test_orc_is_read_as_arrow_reads_it(tmp_path: Path) -> None:
    """Whole, in part, some columns, from a file, packed, and from bytes; one process serves all."""
    path = tmp_path / "x.orc"
    path.write_bytes(orc_bytes(stripe_size=1024))
    wanted = orc.read_table(path)
    assert tare.read(path).equals(wanted)
    (child,) = child_process._idle
    assert tare.decode(path.read_bytes(), "orc").equals(wanted)
    assert tare.decode(path.read_bytes(), "orc", trust=True).equals(wanted)
    assert tare.read(path, columns=["l", "n"]).select(["n", "l"]).equals(wanted.select(["n", "l"]))
    (tmp_path / "x.orc.zst").write_bytes(tare.compress.compress(path.read_bytes(), "zstd"))
    assert tare.read(tmp_path / "x.orc.zst").equals(wanted)
    assert child_process._idle == [child]
    with pytest.raises(UsageError, match=r"no column 'q'\. It has n, t, l"):
        tare.read(path, columns=["n", "q"])
    (tmp_path / "none.orc").write_bytes(orc_bytes(TABLE.slice(0, 0)))
    assert tare.read(tmp_path / "none.orc").schema.names == ["n", "t", "l"]


@pytest.fixture
def two_threads() -> Iterator[None]:
    before = pa.cpu_count()
    pa.set_cpu_count(2)
    yield
    pa.set_cpu_count(before)


@pytest.mark.parametrize("memory", ["shared", "pipe"])
@pytest.mark.usefixtures("two_threads")
def test_columns_that_several_threads_read_are_as_arrow_reads_them(
    memory: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And where no memory is shared one thread reads them."""
    if memory == "pipe":
        monkeypatch.setattr(child_process, "_may_list", lambda _: False)
    columns = {f"c{at}": [at * n if n % 7 else None for n in range(20_000)] for at in range(13)}
    more = {"t": [f"{n}" for n in range(20_000)], "s": [{"x": n, "l": [n]} for n in range(20_000)]}
    path = tmp_path / "x.orc"
    path.write_bytes(orc_bytes(pa.table({**columns, **more}), stripe_size=1024))
    assert orc.ORCFile(path).nstripes > 3
    wanted = orc.read_table(path)
    wanted.validate(full=True)
    for _ in range(2):
        assert tare.read(path).equals(wanted)
    names = ["s", "c3", "c9", "t"]
    assert sorted(tare.read(path, columns=names).column_names) == sorted(names)
    for name in names:
        assert tare.read(path, columns=names)[name].equals(wanted[name])
    (child,) = child_process._idle
    deadline = time.monotonic() + 60  # it closes them once it is told that they were taken
    while any("memfd" in _target(child, one) for one in os.listdir(f"/proc/{child._process.pid}/fd")):
        assert time.monotonic() < deadline
        time.sleep(0.01)


def _target(child: child_process._Child, number: str) -> str:
    try:
        return os.readlink(f"/proc/{child._process.pid}/fd/{number}")
    except OSError:
        return ""


@pytest.mark.usefixtures("two_threads")
def test_columns_of_one_name_are_read_by_one_reader(tmp_path: Path) -> None:
    path = tmp_path / "x.orc"
    table = pa.table([[1, 2], ["a", "b"], [[3], []]], names=["a.b", "x", "x y"])
    path.write_bytes(orc_bytes(table))
    assert tare.read(path).equals(orc.read_table(path))


@pytest.mark.parametrize("flags", ["os.MFD_CLOEXEC", "os.MFD_ALLOW_SEALING"])
def test_memory_that_its_reader_could_change_is_not_taken(
    flags: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was mapped to be written, or cannot be sealed: what is looked at could become something else."""
    if not hasattr(os, "memfd_create"):
        return
    script = (
        f"import mmap; n=os.memfd_create('x', {flags}); os.ftruncate(n, 4096); m=mmap.mmap(n, 4096); "
        'out.write(json.dumps({"said": 1, "files": [n]}).encode() + b"\\n"); out.flush(); sys.stdin.read()'
    )
    with monkeypatch.context() as planted:
        start = f"import json,sys; sys.path[:] = json.loads(sys.argv[1]); {STREAM}{script}"
        planted.setattr(child_process, "_START", start)
        with pytest.raises(Malformed, match="no memory that can be sealed"):
            child_process.read_table("decode", b"", format="orc", library="pyarrow", options={})
    assert child_process._idle == []
    assert tare.decode(orc_bytes(), "orc").num_rows == 1000


def test_a_part_of_orc_is_whole_stripes(tmp_path: Path) -> None:
    table = pa.table({"n": range(200_000)})
    (tmp_path / "x.orc").write_bytes(orc_bytes(table, stripe_size=1024, compression="uncompressed"))
    assert orc.ORCFile(tmp_path / "x.orc").nstripes > 3
    data = tare.open_dataset(tmp_path / "x.orc", max_bytes=table.nbytes // 2)
    assert data.partial is not None
    assert data.partial["rule"] == "stripes"
    assert 0 < data.rows < 150_000
    assert data.partial["rows_total"] == 200_000


@pytest.mark.parametrize("command", ["convert", "measure", "inspect"])
def test_a_crash_is_an_error_in_words(command: str, shared, tmp_path: Path) -> None:  # type: ignore[no-untyped-def] - as the fixture is
    path = shared("cases/security/segv.orc")
    more = {"convert": [str(tmp_path / "x.csv")], "measure": ["--time", "2s"], "inspect": []}[command]
    done = invoke(command, str(path), *more, cwd=tmp_path)
    assert done.returncode == (0 if command == "inspect" else 1)
    if command != "inspect":  # of which the footer is good
        assert "segv.orc: its reader died of SIGSEGV, in a process of its own" in done.stderr
    assert "Traceback" not in done.stderr


def test_the_next_file_is_read_after_a_crash(shared, tmp_path: Path) -> None:  # type: ignore[no-untyped-def] - as the fixture is
    path = shared("cases/security/segv.orc")
    for _ in range(2):
        with pytest.raises(Malformed, match=r"^orc: its reader died of SIGSEGV"):
            tare.decode(path.read_bytes(), "orc")
        assert tare.decode(orc_bytes(), "orc").num_rows == 1000


STREAM = "import io,json,os,signal,sys,pyarrow as pa; from pyarrow import ipc; sys.stdin.buffer.readline(); out=sys.stdout.buffer; "
HEAD = "out.write(b'{\"said\": 1}\\n'); "
ROWS = "b=pa.record_batch({'a': list(range(9999))}); w=ipc.new_stream(out,b.schema); w.write_batch(b); "
KILL = "out.flush(); os.kill(os.getpid(), signal.{}); "


@pytest.mark.parametrize(
    ("script", "error", "said"),
    [
        (KILL.format("SIGSEGV"), Malformed, "died of SIGSEGV"),
        (KILL.format("SIGABRT"), Malformed, "died of SIGABRT"),
        (KILL.format("SIGXCPU"), Limit, "more time or memory"),
        (HEAD + KILL.format("SIGSEGV"), Malformed, "died of SIGSEGV"),
        (HEAD + ROWS + KILL.format("SIGSEGV"), Malformed, "died of SIGSEGV"),
        (HEAD + ROWS + "w.close(); " + KILL.format("SIGSEGV"), Malformed, "died of SIGSEGV"),
        (HEAD + ROWS + "w.close(); out.flush(); os._exit(3)", Malformed, "ended with the code 3"),
        (
            HEAD + ROWS + "out.write(b'nonsense' * 99); out.flush(); os._exit(0)",
            Malformed,
            "ended with the code 0",
        ),
        (
            HEAD
            + "out.write(b'\\xff\\xff\\xff\\xff\\x08\\0\\0\\0' + b'nonsense' * 9); out.flush(); sys.stdin.read()",
            (pa.ArrowInvalid, OSError),
            ".",
        ),
        (
            'out.write(b\'{"error": "Malformed", "message": "no"}\\n\'); out.flush(); sys.stdin.read()',
            Malformed,
            "^no$",
        ),
        (
            'out.write(b\'{"error": "SystemExit", "message": "no"}\\n\'); out.flush(); sys.stdin.read()',
            Malformed,
            "SystemExit: no",
        ),
    ],
)
def test_however_it_ends_the_parent_goes_on(
    script: str,
    error: type[Exception] | tuple[type[Exception], ...],
    said: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Before an answer, in the middle of one, and behind it."""
    with monkeypatch.context() as planted:
        planted.setattr(
            child_process,
            "_START",
            f"import json,sys; sys.path[:] = json.loads(sys.argv[1]); {STREAM}{script}",
        )
        with pytest.raises(error, match=said):
            child_process.read_table("decode", b"", format="orc", library="pyarrow", options={})
    child_process._end()
    assert tare.decode(orc_bytes(), "orc").num_rows == 1000


def test_a_table_that_is_not_valid_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Offsets that lead out of the texts: whoever used them would crash."""
    script = (
        "a=pa.StringArray.from_buffers(1, pa.py_buffer(b'\\0\\0\\0\\0\\xff\\xff\\xff\\x0f'), pa.py_buffer(b'x')); "
        "b=pa.record_batch([a], names=['a']); w=ipc.new_stream(out,b.schema); w.write_batch(b); w.close(); "
        "out.write(b'{\"said\": 1}\\n'); out.flush(); sys.stdin.read()"
    )
    start = f"import json,sys; sys.path[:] = json.loads(sys.argv[1]); {STREAM}{HEAD}{script}"
    monkeypatch.setattr(child_process, "_START", start)
    with pytest.raises((pa.ArrowInvalid, Malformed)):
        child_process.read_table("decode", b"")


def test_it_has_limits() -> None:
    """Of memory and processor time, and it writes no core file."""
    if sys.platform == "win32":
        return
    text = (
        "import resource as r; from tare import child_process as c; c._forbid_core_files(); c._limit(10 << 20); "
        "print(r.getrlimit(r.RLIMIT_CPU)[0], r.getrlimit(r.RLIMIT_CORE)[0])"
    )
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True)
    seconds, core = map(int, done.stdout.split())
    assert 70 <= seconds <= 90
    assert core == 0


def test_a_process_of_before_a_fork_is_left_alone() -> None:
    """It is the parent's: two that use one would read each other's answers."""
    if not hasattr(os, "fork"):
        return
    tare.decode(orc_bytes(), "orc")
    (theirs,) = child_process._idle
    pid = os.fork()
    if pid == 0:
        ok = tare.decode(orc_bytes(), "orc").num_rows == 1000 and child_process._idle[0] is not theirs
        child_process._end()
        os._exit(0 if ok else 1)
    assert os.waitpid(pid, 0)[1] == 0
    assert theirs.is_alive
    assert tare.decode(orc_bytes(), "orc").num_rows == 1000


def union(kind: str) -> pa.Array:
    """A union without a row."""
    members = [pa.array([], pa.int64()), pa.array([], pa.string())]
    types = pa.array([], pa.int8())
    if kind == "dense":
        return pa.UnionArray.from_dense(types, pa.array([], pa.int32()), members, ["n", "s"])
    return pa.UnionArray.from_sparse(types, members, ["n", "s"])


@pytest.mark.parametrize("kind", ["dense", "sparse"])
@pytest.mark.parametrize("within", ["alone", "struct", "list"])
@pytest.mark.parametrize("layout", ["file", "stream"])
def test_unions_without_a_row_do_not_crash(kind: str, within: str, layout: str, tmp_path: Path) -> None:
    """In commands of their own, which a crash would end."""
    array = union(kind)
    if within == "struct":
        array = pa.StructArray.from_arrays([array], ["u"])
    if within == "list":
        array = pa.ListArray.from_arrays(pa.array([0, 0], pa.int32()), array)
    batch = pa.record_batch([array], names=["u"])
    with (ipc.new_file if layout == "file" else ipc.new_stream)(
        str(tmp_path / "x.arrow"), batch.schema
    ) as writer:
        writer.write_batch(batch)
    assert invoke("inspect", "x.arrow", cwd=tmp_path).returncode == 0
    done = invoke("convert", "x.arrow", "x.ndjson", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "x.ndjson").read_text() in ("\n", "", '{"u":[]}\n')
    text = "import sys,tare; d=tare.open_dataset(sys.argv[1]); print(d.bytes_memory, d.hash(), d.summary()['rows'])"
    asked = subprocess.run(
        [sys.executable, "-c", text, tmp_path / "x.arrow"], capture_output=True, check=False
    )
    assert asked.returncode == 0, asked.stderr[-500:]


def test_a_type_that_polars_has_not_is_refused_in_words() -> None:
    with pytest.raises(Unsupported, match="column 'u': polars has no type for sparse_union"):
        tare.encode(pa.table({"u": union("sparse")}), "parquet:polars")


def encrypted(path: Path) -> None:
    """A Parquet file of which one column is encrypted, and the footer is not."""
    import base64

    import pyarrow.parquet.encryption as pe

    class Kms(pe.KmsClient):
        def __init__(self, _config: object) -> None:
            pe.KmsClient.__init__(self)

        def wrap_key(self, key: bytes, master: str) -> bytes:
            return base64.b64encode(master.encode() + key)

        def unwrap_key(self, wrapped: bytes, master: str) -> bytes:
            return base64.b64decode(wrapped)[len(master) :]

    factory = pe.CryptoFactory(Kms)
    config = pe.EncryptionConfiguration(footer_key="f", column_keys={"c": ["secret"]}, plaintext_footer=True)
    properties = factory.file_encryption_properties(pe.KmsConnectionConfig(), config)
    table = pa.table({"id": [1, 2], "secret": ["a", "b"]})
    with parquet.ParquetWriter(path, table.schema, encryption_properties=properties) as writer:
        writer.write_table(table)


def test_an_encrypted_column_is_said_in_words(tmp_path: Path) -> None:
    encrypted(tmp_path / "x.parquet")
    done = invoke("inspect", "x.parquet", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "the column 'secret' is encrypted, and Tare has no keys" in done.stdout
    assert "secret" in done.stdout
    with pytest.raises(
        Unsupported, match=r"the column 'secret' is encrypted, and Tare has no keys .*--columns"
    ):
        tare.read(tmp_path / "x.parquet")
    assert tare.read(tmp_path / "x.parquet", columns=["id"])["id"].to_pylist() == [1, 2]
    split = invoke("convert", "x.parquet", "out/", "--to", "csv", "--split", "100B", cwd=tmp_path)
    assert split.returncode == 1
    assert "encrypted" in split.stderr


@pytest.mark.parametrize("place", range(0, 1001, 125))
def test_damaged_orc_is_an_error_or_a_table(place: int) -> None:
    data = bytearray(orc_bytes())
    for at in range(place, min(place + 125, len(data)), 25):
        data[at] ^= 0xFF
        with contextlib.suppress(DecodeError, Unsupported, Limit):
            tare.decode(bytes(data), "orc").validate(full=True)
        data[at] ^= 0xFF


class _Pid:
    """A process of which nothing but its number is asked, and which can be ended.

    Args:
        pid: The number.
    """

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.killed = 0

    def kill(self) -> None:
        self.killed += 1


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Looks are short, and few."""
    need_posix()
    monkeypatch.setattr(child_process, "_LOOK_S", 0.01)
    monkeypatch.setattr(child_process, "_MOST_QUIET", 5)


@pytest.mark.parametrize(
    ("work", "most", "ended"),
    [
        ([(1,)] * 99, 99, "did nothing for"),
        ([(k,) for k in range(99)], 12, "more time than it may"),
        ([None] * 99, 12, "more time than it may"),
        ([(1,), (1,), (1,), (2,), (2,), (2,), (2,), (3,)], 99, ""),
        ([(1,), (1,), None, (1,), (1,), (1,), None, (1,)], 99, ""),
    ],
)
@pytest.mark.usefixtures("impatient")
def test_a_process_is_waited_for_as_long_as_it_does_something(
    work: list[tuple[int, ...] | None], most: int, ended: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also while it waits for a processor; each look finds what is listed, and behind the last it has answered."""
    read, write = os.pipe()
    looks = iter(work)

    def next_look(_: int) -> tuple[int, ...] | None:
        try:
            return next(looks)
        except StopIteration:
            os.write(write, b"x")
            return (-1,)

    monkeypatch.setattr(child_process, "_work_of", next_look)
    process = _Pid(1)
    patience = child_process._Patience(process, most)  # type: ignore[arg-type] - as one is asked
    try:
        assert patience.wait(read) is not bool(ended)
        assert (ended in patience.why, bool(patience.why), process.killed) == (True, bool(ended), bool(ended))
        assert patience.wait(write, writing=True) is not bool(ended)
    finally:
        os.close(read)
        os.close(write)


SLEEP = "out.flush(); import time; time.sleep(99999)"


@pytest.mark.parametrize(
    "script", [SLEEP, HEAD + SLEEP, HEAD + ROWS + SLEEP, HEAD + ROWS + "w.close(); " + SLEEP]
)
@pytest.mark.usefixtures("impatient")
def test_a_reader_that_hangs_without_work_is_ended(script: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before an answer, in the middle of one, and behind it; and where it does not take what it is to read."""
    monkeypatch.setattr(
        child_process, "_START", f"import json,sys; sys.path[:] = json.loads(sys.argv[1]); {STREAM}{script}"
    )
    for data in (b"", bytes(1 << 20)):
        with pytest.raises(Limit, match="its reader did nothing for"):
            child_process.read_table("decode", data, format="orc", library="pyarrow", options={})
    assert child_process._idle == []


@pytest.mark.parametrize("command", ["convert", "measure", "inspect", "read"])
@pytest.mark.usefixtures("impatient")
def test_a_hang_is_an_error_in_words(command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "x.orc").write_bytes(orc_bytes())
    monkeypatch.setattr(child_process, "_START", "import time; time.sleep(99999)")
    if command == "read":
        with pytest.raises(Limit, match=r"x\.orc.*did nothing for"):
            tare.read(tmp_path / "x.orc")
        return
    more = {"convert": ["x.csv"], "measure": ["--time", "2s"], "inspect": []}[command]
    done = invoke(command, "x.orc", *more, cwd=tmp_path)
    assert done.returncode == 1
    assert "its reader did nothing for" in done.stderr + done.stdout
    assert "Traceback" not in done.stderr
