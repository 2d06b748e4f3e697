"""The commands of stores: values in and out, listings, damage, copies, exit codes."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tarfile
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from support.commands import invoke_bytes
from support.stores import new_store

from tare import open_store

Run = Callable[..., subprocess.CompletedProcess[bytes]]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Runs `tare store ...` in a folder of its own."""

    def call(*args: str, stdin: bytes = b"", code: int = 0) -> subprocess.CompletedProcess[bytes]:
        done = invoke_bytes("store", *args, cwd=tmp_path, stdin=stdin)
        assert done.returncode == code, (done.returncode, done.stdout, done.stderr)
        assert b"Traceback" not in done.stderr
        return done

    return call


@pytest.fixture
def process(tmp_path: Path) -> Run:
    """As `run`, in processes."""

    def call(*args: str, stdin: bytes = b"", code: int = 0) -> subprocess.CompletedProcess[bytes]:
        done = subprocess.run(
            [sys.executable, "-c", "from tare.cli import main; main()", "store", *args],
            input=stdin, capture_output=True, check=False, cwd=tmp_path, env={**os.environ, "PYTHONPATH": ":".join(sys.path)},
        )  # fmt: skip
        assert done.returncode == code, (done.returncode, done.stdout, done.stderr)
        assert b"Traceback" not in done.stderr
        return done

    return call


@pytest.fixture
def url(tmp_path: Path) -> str:
    """A new store of the folder driver."""
    new_store("folder", tmp_path).close()
    return "cache"


def test_a_file_goes_in_and_out(run: Run, url: str, tmp_path: Path) -> None:
    """Its very bytes, by name and by standard input; the hash is printed."""
    data = bytes(range(256)) * 1000
    (tmp_path / "x.bin").write_bytes(data)
    hash = run("set", url, "k", "x.bin").stdout.decode().strip()
    assert (
        run("set", url, "l", "-n", "other", "--compressor", "none", stdin=data).stdout.decode().strip()
        == hash
    )
    assert run("get", url, "k").stdout == data
    assert run("get", url, hash, "--hash").stdout == data
    run("get", url, "l", "-n", "other", "-o", "out.bin")
    assert (tmp_path / "out.bin").read_bytes() == data
    assert b"--force" in run("get", url, "k", "-o", "out.bin", code=1).stderr
    assert b"no key" in run("get", url, "nothing", code=1).stderr
    run("set", url, "k", "--if-absent", stdin=b"x", code=1)
    assert run("get", url, "k").stdout == data


def test_data_are_read_stored_and_converted(process: Run, url: str, tmp_path: Path) -> None:
    """--codec reads the file as what it is, --as writes the value as something else."""
    (tmp_path / "x.csv").write_text("a,b\n1,x\n2,y\n")
    process("set", url, "t", "x.csv", "--codec", "arrow")
    assert json.loads(process("get", url, "t", "--as", "json").stdout) == [
        {"a": 1, "b": "x"},
        {"a": 2, "b": "y"},
    ]
    process("set", url, "d", "--codec", "blit", stdin=b'{"a": [1, 2.5, null]}')
    assert process("get", url, "d", "--as", "json:orjson").stdout == b'{"a":[1,2.5,null]}'
    with open_store(tmp_path / url) as store:
        assert store["t"].num_rows == 2
        assert store["d"] == {"a": [1, 2.5, None]}


def test_objects_of_json_are_a_table_where_a_codec_has_no_other(
    run: Run, url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The hash is that of the table which Python's values make; a codec that holds documents gets these."""
    lines = [{"n": n, **({"late": [n / 2]} if n > 300 else {})} for n in range(500)]
    (tmp_path / "x.ndjson").write_text("".join(json.dumps(row) + "\n" for row in lines))
    (tmp_path / "x.json").write_text(json.dumps(lines))
    with open_store(tmp_path / url, "rw") as store:
        known = store.set("known", lines, codec="arrow").encode()
    run("set", url, "b", "x.ndjson", "--codec", "blit")
    for name in ("parse_lines", "parse_whole"):
        monkeypatch.delattr(f"tare.datasets.documents.{name}")
    for name in ("x.ndjson", "x.json"):
        assert run("set", url, "t", name, "--codec", "arrow").stdout.strip() == known
        run("set", url, "p", name, "--codec", "parquet")
    with open_store(tmp_path / url) as store:
        assert store.get("b") == lines
        assert store.get("p").to_pylist() == [{"n": row["n"], "late": row.get("late")} for row in lines]


def test_wrong_uses_are_told_what_to_do(run: Run, url: str, tmp_path: Path) -> None:
    """And nothing is made or changed."""
    (tmp_path / "x.csv").write_text("a,b\n1,x\n2,y\n")
    run("set", url, "t", "x.csv", "--codec", "arrow")
    assert b"--as csv" in run("get", url, "t", "-o", "t.csv", code=2).stderr
    assert not (tmp_path / "t.csv").exists()
    run("get", url, "t", "-o", "t.arrow")
    run("get", url, "t", "-o", "t.csv", "--as", "csv")
    assert (tmp_path / "t.csv").read_text().replace('"', "").startswith("a,b")
    assert b"--codec rds" in run("set", "storr:new", "k", "x.csv", code=2).stderr
    assert not (tmp_path / "new").exists()
    said = run("gc", url, "--grace", "soon", code=2).stderr
    assert b"7d" in said
    assert b"no limit" not in said
    assert b"other" not in run("gc", url, "--grace", "0").stderr


def test_keys_are_listed(run: Run, url: str, tmp_path: Path) -> None:
    """A line each, by prefix, long, as JSON; namespaces and hashes too."""
    with open_store(tmp_path / url) as store:
        store.mset(["a", "ab", "b\n"], [1, [1.5] * 3, b"x"])
        store.set("c", 1, "n")
        hashes = store.list_hashes()
    assert run("ls", url).stdout.decode().split("\n") == ["a", "ab", "b\\n", ""]
    assert run("ls", url, "a").stdout == b"a\nab\n"
    assert run("ls", url, "--namespaces").stdout == b"n\nobjects\n"
    assert run("ls", url, "--hashes").stdout.decode().split() == hashes
    rows = [json.loads(line) for line in run("ls", url, "--json").stdout.splitlines()]
    assert [(row["key"], row["codec"]) for row in rows] == [("a", "blit"), ("ab", "blit"), ("b\n", "raw")]
    assert {"hash", "plain_bytes", "stored_bytes", "compressor", "time", "namespace"} <= rows[0].keys()
    long = run("ls", url, "--long").stdout.decode().splitlines()
    assert rows[0]["hash"][:12] in long[0]
    assert run("ls", url, "-n", "nothing").stdout == b""
    assert b"not both" in run("ls", url, "--hashes", "--namespaces", code=2).stderr


def test_keys_are_removed_and_objects_collected(run: Run, url: str, tmp_path: Path) -> None:
    """Rm says what was not there; gc keeps what lost its key lately."""
    with open_store(tmp_path / url) as store:
        store.mset(["a", "b"], [1, 2])
    assert b"no key zz" in run("rm", url, "a", "zz", code=1).stderr
    assert run("ls", url).stdout == b"b\n"
    assert b"0 objects deleted" in run("gc", url).stdout
    assert json.loads(run("gc", url, "--grace", "0", "--json").stdout)["deleted"] == 1
    facts = json.loads(run("stat", url, "--json").stdout)
    assert (facts["driver"], facts["keys"], facts["objects"]) == ("folder", 1, 1)
    assert b"1 keys in 1 namespaces" in run("stat", url).stdout


def test_what_does_not_exist_is_not_made(run: Run, tmp_path: Path) -> None:
    """Reading commands make no store; usage errors exit with 2."""
    new_store("folder", tmp_path).close()
    for args in (
        ("get", "nowhere", "k"),
        ("ls", "nowhere"),
        ("rm", "nowhere", "k"),
        ("check", "nowhere"),
        ("copy", "nowhere", "there"),
    ):
        assert b"nowhere" in run(*args, code=1).stderr
    assert not (tmp_path / "nowhere").exists()
    assert not (tmp_path / "there").exists()
    run("ls", "ftp://x/y", code=2)
    run("gc", "x", "--grace", "soon", code=2)
    run("nothing", code=2)
    assert b"NAME=VALUE" in run("set", "x", "k", "-O", "nonsense", code=2).stderr


def test_help_tells_every_command(run: Run) -> None:
    """And each of them has its own."""
    text = run("--help").stdout.decode()
    for name in ("set", "get", "ls", "rm", "stat", "gc", "check", "repair", "export", "import", "copy"):
        assert f"\n  {name} " in text
        assert run(name, "--help").stdout


def test_damage_is_found_told_and_set_aside(run: Run, tmp_path: Path, shared: Callable[[str], Path]) -> None:
    """Exit code 3 for problems, 0 when all is well again."""
    with tarfile.open(shared("fixtures/storr/corrupt.tar")) as tar:
        tar.extractall(tmp_path, filter="data")
    found = json.loads(run("check", "corrupt", "--full", "--json", code=3).stdout)
    assert not found["clean"]
    kinds = {finding["kind"] for finding in found["findings"] if finding["problem"]}
    assert {"corrupt-object", "bad-key"} <= kinds or {"corrupt-object", "dangling-key"} <= kinds
    assert b"problem" in run("check", "corrupt", "--full", code=3).stdout
    assert b"damaged" in run("get", "corrupt", "k", code=1).stderr
    before = sorted(path.name for path in (tmp_path / "corrupt").rglob("*"))
    assert b"--apply" in run("repair", "corrupt", code=3).stdout
    assert sorted(path.name for path in (tmp_path / "corrupt").rglob("*")) == before
    assert b"--purge" in run("repair", "corrupt", "--apply", code=3).stdout  # what is lost is lost
    assert len(list((tmp_path / "corrupt/scratch/tare-quarantine").iterdir())) > 1
    run("repair", "corrupt", "--apply", "--purge")
    assert b"clean" in run("check", "corrupt", "--full").stdout


@pytest.mark.parametrize("name", ["corrupt", "dangling"])
def test_what_is_sound_of_a_damaged_store_is_copied(
    run: Run, tmp_path: Path, shared: Callable[[str], Path], name: str
) -> None:
    """What is not is named on standard error, and the exit code is 1."""
    with tarfile.open(shared(f"fixtures/storr/{name}.tar")) as tar:
        tar.extractall(tmp_path, filter="data")
    run("set", f"storr:{name}", "good", "--codec", "rds", stdin=b'[{"a":1}]')
    for dest in ("there", "there.tar"):
        verb = ["copy", name, dest] if dest == "there" else ["export", name, dest]
        done = run(*verb, code=1)
        assert b"good" not in done.stderr
        assert b" was not copied: " in done.stderr
        assert b"not copied: their objects" in done.stdout
    found = json.loads(run("import", "again", "there.tar", "--json").stdout)
    assert found["keys"] >= 1
    assert b"good\n" in run("ls", "there").stdout
    assert b"clean" in run("check", "there", "--full").stdout


def test_a_storr_is_copied_whole_and_goes_on(run: Run, tmp_path: Path, shared: Callable[[str], Path]) -> None:
    """All namespaces; what changed is told; a second copy has nothing to do."""
    with tarfile.open(shared("fixtures/storr/mangled.tar")) as tar:
        tar.extractall(tmp_path, filter="data")
    new_store("folder", tmp_path).close()
    said = run("copy", "storr:mangled", "new").stdout.decode()
    assert "named by blake3 now, were by md5" in said
    with open_store(f"storr:{tmp_path}/mangled", mode="r") as old, open_store(tmp_path / "new") as new:
        assert old.namespaces() == new.namespaces()
        for space in old.namespaces():
            assert old.list(space) == new.list(space)
            assert all(old.get(key, space) == new.get(key, space) for key in old.list(space))
        keys = old.stat().keys
    assert json.loads(run("copy", "storr:mangled", "new", "--json").stdout)["keys"] == keys
    again = json.loads(run("copy", "new", "newer", "--json").stdout)
    assert (again["keys"], again["unchanged"], again["rehashed"]) == (keys, 0, 0)
    again = json.loads(run("copy", "new", "newer", "--json").stdout)
    assert (again["keys"], again["unchanged"], again["copied"]) == (keys, keys, 0)
    back = json.loads(run("copy", "new", "storr:back", "-O", "mangle_key=true", "--json").stdout)
    assert back["keys"] == keys
    with (
        open_store(f"storr:{tmp_path}/mangled", mode="r") as old,
        open_store(f"storr:{tmp_path}/back", mode="r") as new,
    ):
        assert old.index_export()["hash"].to_pylist() == new.index_export()["hash"].to_pylist()


def test_archives_come_back(run: Run, url: str, tmp_path: Path) -> None:
    """A tar, a folder, and keys by name."""
    with open_store(tmp_path / url) as store:
        store.mset(["a", "b"], [1, b"x" * 200_000])
        store.set("c", [1, 2], "n")
    run("export", url, "all.tar")
    assert tarfile.is_tarfile(tmp_path / "all.tar")
    assert b"exists already" in run("export", url, "all.tar", code=1).stderr
    run("import", "fresh", "all.tar")
    assert run("ls", "fresh", "--namespaces").stdout == b"n\nobjects\n"
    assert run("get", "fresh", "b").stdout == b"x" * 200_000
    run("export", url, "some", "a")
    assert run("ls", "some").stdout == b"a\n"
    run("import", "some", url, "c", "-n", "n")
    assert run("ls", "some", "--namespaces").stdout == b"n\nobjects\n"
    (tmp_path / "bad.tar").write_bytes(b"no tar at all" * 100)
    assert b"not an archive" in run("import", "some", "bad.tar", code=1).stderr
    assert b"whole store" in run("export", url, "x.tar", "a", code=2).stderr


@pytest.mark.parametrize(
    ("source", "words"),
    [
        (
            "cut.tar",
            b"cut.tar: not an archive of a store: its folder 'store' holds no store: if the tar was cut",
        ),
        ("bad.tar", b"bad.tar: not an archive of a store: "),
        ("note.txt", b"note.txt: not an archive of a store: "),
        ("nowhere", b"nowhere: folder: there is no store here"),
    ],
)
def test_a_refused_import_makes_no_store(run: Run, tmp_path: Path, source: str, words: bytes) -> None:
    """The message names the file, and not where it was unpacked."""
    with tarfile.open(tmp_path / "cut.tar", "w") as tar:
        folder = tarfile.TarInfo("store")
        folder.type = tarfile.DIRTYPE
        tar.addfile(folder)
    (tmp_path / "bad.tar").write_bytes(b"no tar at all" * 100)
    (tmp_path / "note.txt").write_text("x\n")
    said = run("import", "new", source, code=1).stderr
    assert words in said
    assert b"tare-" not in said
    assert not (tmp_path / "new").exists()
    assert b"whole store" in run("import", "new", "cut.tar", "key", code=2).stderr


def test_an_interrupted_copy_leaves_whole_keys_only(tmp_path: Path) -> None:
    """Ctrl-C exits with 130; what is there is whole, and the next copy ends it."""
    with new_store("folder", tmp_path) as store:
        for n in range(120):
            store[f"k{n}"] = os.urandom(200_000)
        url = store.url
    target = str(tmp_path / "target")
    args = [sys.executable, "-c", "from tare.cli import main; main()", "store", "copy", url, target]
    env = {**os.environ, "PYTHONPATH": ":".join(sys.path)}
    process = subprocess.Popen(args, stderr=subprocess.PIPE, stdout=subprocess.PIPE, env=env)
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and process.poll() is None:
        if sum(1 for _ in (tmp_path / "target").rglob("*")) > 20:
            process.send_signal(signal.SIGINT)
            break
        time.sleep(0.005)
    _, said = process.communicate(timeout=60)
    assert process.returncode in (0, 130), said
    assert b"Traceback" not in said
    with open_store(target) as part:
        assert part.check("full").is_clean
        assert all(len(part[key]) == 200_000 for key in part)
    subprocess.run(args, check=True, env=env, capture_output=True)
    with open_store(target) as whole:
        assert len(whole) == 120
        assert whole.check("full").is_clean
    shutil.rmtree(target)
