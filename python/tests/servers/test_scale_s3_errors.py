"""What an object store refuses, has not, or does not answer: a line each, by the number that callers go by."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from support.commands import invoke
from support.s3_server import sign_in

from tare import scale
from tare.scale.place import Place, place_of
from tare.scale.report import errors_of
from tare.scale.state import State

pytestmark = pytest.mark.xdist_group("S3")  # one server


@pytest.fixture(autouse=True)
def credentials(s3_server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    sign_in(monkeypatch, s3_server)


@pytest.fixture
def closed(s3_server: str) -> Iterator[None]:
    """The server lets nobody in whose credentials it does not know, and it knows none."""

    def let_in(count: str) -> None:
        headers = {"Content-Type": "text/plain"}
        request = urllib.request.Request(
            f"{s3_server}/moto-api/reset-auth", count.encode(), headers, method="POST"
        )
        urllib.request.urlopen(request, timeout=60).close()

    let_in("0")
    yield
    let_in("inf")


@pytest.fixture
def nobody(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """An endpoint where no server is: its port is taken, and not listened at."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}"
        monkeypatch.setenv("AWS_ENDPOINT_URL", url)
        yield url


@pytest.fixture
def written(tmp_path: Path) -> str:
    """A file that `commit` and `create` put."""
    path = tmp_path / "scratch" / "one"
    path.parent.mkdir()
    path.write_bytes(b"one")
    return str(path)


def local(place: Place, _: str) -> None:
    with place.local("x"):
        pass


READS: dict[str, Callable[[Place, str], Any]] = {
    "get": lambda place, _: place.read("x"),
    "range": lambda place, _: place.read("x", 2, 9),
    "copy": local,
}
WRITES: dict[str, Callable[[Place, str], Any]] = {
    "put": lambda place, _: place.put("x", b"a"),
    "commit": lambda place, path: place.commit(path, "x"),
    "create": lambda place, path: place.create(path, "x"),
}


def in_a_line(error: OSError, uri: str, words: str) -> None:
    """Whether an error is a number, words and its URI, and not what its library knows."""
    assert (error.filename, error.strerror) == (uri, words)
    assert "\n" not in str(error)


@pytest.mark.parametrize("how", READS)
def test_a_missing_key(how: str, written: str) -> None:
    with pytest.raises(FileNotFoundError) as raised:
        READS[how](place_of("s3://bucket/none"), written)
    in_a_line(raised.value, "s3://bucket/none/x", "No such key (404)")


@pytest.mark.parametrize("how", READS | WRITES)
def test_a_missing_bucket(how: str, written: str) -> None:
    with pytest.raises(FileNotFoundError) as raised:
        (READS | WRITES)[how](place_of("s3://nobucket"), written)
    in_a_line(raised.value, "s3://nobucket/x", "No such bucket (404)")


@pytest.mark.parametrize("where", ["bucket/none", "nobucket"])
def test_what_is_not_there_is_no_error_to_those_who_ask_whether_it_is(where: str) -> None:
    place = place_of(f"s3://{where}")
    assert place.stat("x") is None
    place.remove("x")
    for read in (lambda: place.read("x", 2), lambda: place.open("x")):
        with pytest.raises(FileNotFoundError, match=rf"^s3://{where}/x does not exist$"):
            read()
    assert State(f"s3://{where}/out").receipt("0" * 64) is None


@pytest.mark.usefixtures("closed")
@pytest.mark.parametrize("how", READS | WRITES)
def test_wrong_credentials(how: str, written: str) -> None:
    with pytest.raises(PermissionError) as raised:
        (READS | WRITES)[how](place_of("s3://bucket"), written)
    in_a_line(raised.value, "s3://bucket/x", "Invalid access key id (403)")


@pytest.mark.usefixtures("closed")
def test_wrong_credentials_of_a_head_and_a_listing() -> None:
    place = place_of("s3://bucket")
    with pytest.raises(PermissionError) as raised:
        place.stat("x")
    in_a_line(raised.value, "s3://bucket/x", "Forbidden (403)")
    with pytest.raises(PermissionError) as raised:
        list(place.entries())
    in_a_line(raised.value, "s3://bucket", "Invalid access key id (403)")


def test_an_endpoint_that_nobody_serves(nobody: str) -> None:
    with pytest.raises(OSError, match="no answer") as raised:
        place_of("s3://bucket").read("x")
    in_a_line(raised.value, "s3://bucket/x", f"no answer from {nobody}")


def test_an_object_that_is_deleted_during_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before its unit begins, and between its unit's look at it and the request for its bytes."""
    from tare.scale.place import ObjectPlace

    there = place_of("s3://bucket/deleted")
    for name in "abc":
        there.put(f"{name}.ndjson", b'{"a": 1}\n')
    plan = scale.plan_convert(there.uri, str(tmp_path / "out"), to="parquet")
    there.remove("a.ndjson")
    real = ObjectPlace.local

    def gone(self: ObjectPlace, name: str) -> Any:
        if name == "b.ndjson":
            self.remove(name)
        return real(self, name)

    monkeypatch.setattr(ObjectPlace, "local", gone)
    report = scale.run(plan, executor="inline")
    assert (report.done, report.failed) == (1, 2)
    kept = [State(plan.base).failure(key) for key in State(plan.base).failed()]
    told = {
        error["message"] for receipt in [*report.failures, *kept] if receipt for error in errors_of(receipt)
    }
    assert told == {f"s3://bucket/deleted/{name}.ndjson does not exist" for name in "ab"}


def command(folder: Path, *words: str) -> tuple[int, list[str]]:
    """`tare convert`: its exit code, and the lines of standard error."""
    done = invoke("convert", *words, cwd=folder)
    return done.returncode, done.stderr.splitlines()


def test_one_file_is_told_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("n\n1\n")
    said = ["tare: s3://bucket/raw/g1x.ndjson: no such key (404)"]
    assert command(tmp_path, "s3://bucket/raw/g1x.ndjson", "one.parquet") == (1, said)
    said = ["tare: s3://nobucket/f.parquet: no such bucket (404)"]
    assert command(tmp_path, "x.csv", "s3://nobucket/f.parquet") == (1, said)
    assert [path.name for path in tmp_path.iterdir()] == ["x.csv"]


def test_the_exit_codes_of_many(tmp_path: Path) -> None:
    """A source, or a bucket, that is not there is the command's fault; the guide has a table."""
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.ndjson").write_text('{"a": 1}\n')
    bucket = "s3://nobucket/x: no such bucket (404)"
    for source, destination, said in (
        ("s3://nobucket/x", "s3://bucket/t", bucket),
        ("s3://nobucket/x", "out", bucket),
        ("s3://bucket/no/such.ndjson", "out", "s3://bucket/no/such.ndjson: no file is there"),
        ("in", "s3://nobucket/x", bucket),
    ):
        told = command(tmp_path, source, destination, "--to", "parquet")
        assert told == (2, [f"tare: {said}"]), (source, destination)


def test_the_exit_code_where_nobody_answers(tmp_path: Path, nobody: str) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.ndjson").write_text('{"a": 1}\n')
    for source, destination in (("s3://bucket/x", "out"), ("in", "s3://bucket/x")):
        told = command(tmp_path, source, destination, "--to", "parquet")
        assert told == (3, [f"tare: s3://bucket/x: no answer from {nobody}"])


def test_a_store_that_goes_before_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Between the plan and the first unit: its bucket, and its server."""
    from tare import cli

    (tmp_path / "a.ndjson").write_text('{"a": 1}\n')
    path = str(tmp_path / "p.jsonl")
    for where, code, said in (("nobucket", 2, "no such bucket (404)"), ("bucket", 3, "no answer from ")):
        if where == "nobucket":
            scale.plan_convert(str(tmp_path / "a.ndjson"), "s3://bucket/go", to="parquet", path=path)
            text = Path(path).read_text()
        Path(path).write_text(text.replace("s3://bucket/go", f"s3://{where}/go"))
        if where == "bucket":
            monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
        with pytest.raises(SystemExit) as ended:
            cli.main(
                [
                    "run",
                    path,
                    "--allow-source",
                    str(tmp_path),
                    "--allow-destination",
                    f"s3://{where}",
                    "--executor",
                    "inline",
                    "--progress",
                    "none",
                ]
            )
        told = capfd.readouterr().err.splitlines()
        assert (ended.value.code, len(told), said in told[0]) == (code, 1, True), told


def test_what_appears_while_one_file_is_converted_is_left(tmp_path: Path) -> None:
    """It is looked for at first, and the put is on the condition that it is not there."""
    from tare.scale import remote

    there = place_of("s3://bucket/appears-of-one")
    target = f"{there.uri}/f.csv"
    with (  # noqa: PT012 - it is the end of the block that fails
        pytest.raises(FileExistsError, match=r"f\.csv exists already\. Say --force"),
        remote.ends("x.csv", target, force=False) as (_, path),
    ):
        Path(path).write_bytes(b"ours")
        there.put("f.csv", b"somebody's")
    assert there.read("f.csv") == b"somebody's"
    assert not os.path.exists(os.path.dirname(path))
    with remote.ends("x.csv", target, force=True) as (_, path):
        Path(path).write_bytes(b"ours")
    assert there.read("f.csv") == b"ours"


_KILLED = """
import os, signal, sys
from tare import scale
from tare.scale.place import ObjectPlace

def killed(place, path, name):
    if not name.startswith(".tare/"):
        os.kill(os.getpid(), signal.SIGKILL)
    return real(place, path, name)

real, ObjectPlace.create, ObjectPlace.commit = ObjectPlace.commit, killed, killed
scale.convert(sys.argv[1], sys.argv[2], to="json", executor="inline")
"""


def test_what_a_killed_run_had_on_its_way_is_swept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A result that was never put, and the plan: in the temporary folder of this machine."""
    passing = tmp_path / "tmp"
    passing.mkdir()
    monkeypatch.setenv("TMPDIR", str(passing))
    monkeypatch.setattr(tempfile, "tempdir", str(passing))
    (tmp_path / "a.csv").write_text("a,b\n1,2\n")
    given = [str(tmp_path / "a.csv"), "s3://bucket/killed"]

    def left() -> list[str]:
        return sorted(path.name for path in passing.rglob("*") if path.is_file())

    killed = subprocess.run([sys.executable, "-c", _KILLED, *given], check=False)
    assert killed.returncode == -signal.SIGKILL
    assert len(left()) == 2
    assert scale.clean(given[1]) == 2
    assert left() == []
    subprocess.run([sys.executable, "-c", _KILLED, *given], check=False)
    report = scale.convert(*given, to="json", executor="local:1")
    assert report.done == 1
    assert [name for name in left() if not name.endswith(".jsonl")] == []
    assert len(list(passing.glob("tare-*"))) == 1  # its plan goes with this process
