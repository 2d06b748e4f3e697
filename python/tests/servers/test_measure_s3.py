"""`tare measure s3://bucket/name`: one object, copied to this machine while it is measured."""

from __future__ import annotations

import urllib.request
from pathlib import Path

import pytest
from support.commands import invoke
from support.s3_server import sign_in

pytestmark = pytest.mark.xdist_group("S3")  # one server


def put(server: str, name: str, data: bytes) -> None:
    """Put an object into the bucket."""
    kind = {"Content-Type": "application/octet-stream"}
    request = urllib.request.Request(f"{server}/bucket/{name}", data=data, headers=kind, method="PUT")
    urllib.request.urlopen(request, timeout=60).close()


def test_an_object_is_measured(s3_server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the name that was typed; `--format` goes with it; the copy is gone afterwards."""
    sign_in(monkeypatch, s3_server)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    put(s3_server, "measured/x.csv", b"a,b\n1,x\n2,y\n")
    done = invoke("measure", "s3://bucket/measured/x.csv", "--dry-run", "--codec", "csv:stdlib", cwd=tmp_path)
    assert 0 == done.returncode, done.stderr
    assert "s3://bucket/measured/x.csv  table 2 x 2" in done.stdout
    put(s3_server, "measured/y", b"a,b\n1,x\n")
    options = (
        "--format",
        "csv",
        "--codec",
        "csv:stdlib",
        "--time",
        "0",
        "--quick",
        "--out",
        "r.tare.json",
        "--csv",
    )
    done = invoke("measure", "s3://bucket/measured/y", *options, cwd=tmp_path)
    assert 0 == done.returncode, done.stderr
    assert "csv:stdlib" in done.stdout
    assert ["r.tare.json"] == sorted(path.name for path in tmp_path.iterdir())


def test_what_is_not_there_is_named(s3_server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One line; several objects are refused."""
    sign_in(monkeypatch, s3_server)
    done = invoke("measure", "s3://bucket/measured/none.csv", "--dry-run", cwd=tmp_path)
    assert (1, 1) == (done.returncode, len(done.stderr.splitlines())), done.stderr
    assert "s3://bucket/measured/none.csv" in done.stderr
    done = invoke("measure", "s3://bucket/measured/*.csv", cwd=tmp_path)
    assert 2 == done.returncode
    assert "Name the object, or copy them all" in done.stderr
