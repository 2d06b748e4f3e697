"""The medium `remote` against a real ssh server on this machine: ship, transfer, verify, clean up."""

from __future__ import annotations

import getpass
import json
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import pytest
from support.capabilities import need_command, need_sshd

from tare.measure.worker_client.remote import RemoteEnd

TARE = [sys.executable, "-c", "from tare.cli import main; main()"]


@pytest.fixture
def ssh_server(tmp_path: Path) -> Iterator[tuple[int, dict[str, str]]]:
    """An sshd of our own on a free port, and an environment whose `ssh` knows its key."""
    sshd, ssh = need_sshd()
    for name in ("host", "user"):
        subprocess.run(
            ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", tmp_path / name],
            check=True,
            stdin=subprocess.DEVNULL,
        )
    shutil.copy(tmp_path / "user.pub", tmp_path / "authorized")
    os.chmod(tmp_path / "authorized", 0o600)
    os.makedirs("/run/sshd", exist_ok=True) if os.geteuid() == 0 else None
    (tmp_path / "sshd_config").write_text(
        f"ListenAddress 127.0.0.1\nHostKey {tmp_path}/host\nAuthorizedKeysFile {tmp_path}/authorized\n"
        f"PidFile {tmp_path}/pid\nStrictModes no\nUsePAM no\nPasswordAuthentication no\nPermitRootLogin yes\n"
    )
    log = (tmp_path / "sshd.log").open("w")
    port, server = _start([sshd, "-D", "-e", "-f", str(tmp_path / "sshd_config")], log)
    wrapper = tmp_path / "bin" / "ssh"
    wrapper.parent.mkdir()
    wrapper.write_text(
        f"#!/bin/sh\nexec {ssh} -F /dev/null -i {tmp_path}/user -o StrictHostKeyChecking=no "
        f'-o UserKnownHostsFile={tmp_path}/known -o LogLevel=ERROR "$@"\n'
    )
    wrapper.chmod(0o755)
    # The worker there is this installation's own; a login shell would not know its path.
    remote = tmp_path / "bin" / "tare"
    remote.write_text(f'#!/bin/sh\nexec {sys.executable} -c "from tare.cli import main; main()" "$@"\n')
    remote.chmod(0o755)
    try:
        yield port, {**os.environ, "PATH": f"{wrapper.parent}:{os.environ['PATH']}"}
    finally:
        server.terminate()
        server.wait(60)
        log.close()


def _start(command: list[str], log: IO[str]) -> tuple[int, subprocess.Popen[bytes]]:
    """Start the server on a free port, and on another if that was taken before the server bound it."""
    for _ in range(5):
        with socket.create_server(("127.0.0.1", 0)) as probe:
            port = probe.getsockname()[1]
        server = subprocess.Popen([*command, "-p", str(port)], stderr=log)
        if _answers(port, server):
            return port, server
    raise AssertionError("sshd did not start")


def _answers(port: int, server: subprocess.Popen[bytes]) -> bool:
    """Wait until the server answers, or has ended."""
    until = time.monotonic() + 60
    while server.poll() is None:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            assert time.monotonic() < until, "sshd does not answer"
            time.sleep(0.05)
        else:
            return server.poll() is None
    return False


def test_a_codec_is_measured_to_another_host(ssh_server: tuple[int, dict[str, str]], tmp_path: Path) -> None:
    """The reader there verifies what it received; the span is the writer's own; nothing is left there."""
    port, environment = ssh_server
    data, out = tmp_path / "d.json", tmp_path / "r.tare.json"
    data.write_text(json.dumps([{"a": n, "b": "x" * 20} for n in range(500)]))
    before = set(Path("/tmp").glob("tare-*"))
    url = f"ssh://{getpass.getuser()}@127.0.0.1:{port}{tmp_path}/bin/tare"
    done = subprocess.run(
        [*TARE, "measure", str(data), "--medium", "remote", "--remote", url, "--codec", "json:orjson",
         "--codec", "json:stdlib", "--time", "10s", "--quick", "--out", str(out), "--quiet"],
        env=environment, capture_output=True, text=True, timeout=150, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    record = json.loads(out.read_text())
    cases = [case for case in record["cases"] if case["labels"]["medium"] == "remote"]
    # Both codecs, and the base's twin, by which the noise of that line is known.
    assert [case["status"] for case in cases] == ["ok"] * 3, [case["reason"] for case in cases]
    assert 1 == sum("twin" in case["labels"] for case in cases)
    spans = [
        wall for case in cases for launch in case["launches"] for wall in launch["samples"]["span"]["wall_ns"]
    ]
    assert spans
    assert min(spans) > 0
    assert record["noise"]["remote"]["round_trip_s"] > 0
    assert "127.0.0.1" not in out.read_text(), "the host stays out of the record"
    left = [path for path in set(Path("/tmp").glob("tare-*")) - before if path.is_file()]
    assert left == []


ANSWERS = {
    "nothing": ("exit 127", "has no .* that runs .*install Tare there, or say where it is"),
    "a banner": ("echo Welcome; exec sleep 60", "a login shell there must print nothing"),
    "protocol 0": (
        """read line; echo '{"id":1,"ok":{"proto":0}}'; read line""",
        "speaks version 0 of the worker protocol, not 2.*install tare",
    ),
    "an older version": (
        """read line; echo '{"id":1,"ok":{"proto":2,"tare":"0.0.1"}}'; read line""",
        "has tare 0.0.1, here is .*install the same version there",
    ),
    "none that says its version": (
        """read line; echo '{"id":1,"ok":{"proto":2}}'; read line""",
        "has tare of an older version, here is",
    ),
}


@pytest.mark.parametrize("name", ANSWERS)
def test_a_host_without_this_tare(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One message with what to do, before any case; ssh is a script here that answers as that host would."""
    answer, said = ANSWERS[name]
    ssh = tmp_path / "ssh"
    ssh.write_text(f"#!/bin/sh\n{answer}\n")
    ssh.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    with pytest.raises(OSError, match=said):
        RemoteEnd("ssh://localhost")


def test_a_machine_without_ssh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Said so, instead of a missing file."""
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(OSError, match="ssh is not installed"):
        RemoteEnd("ssh://localhost")


def test_a_host_that_does_not_exist() -> None:
    """Its name is in the message, and what to check and to do."""
    with pytest.raises(OSError, match=r"cannot find the host no-such-host\.invalid") as caught:
        RemoteEnd("ssh://no-such-host.invalid")
    assert "check its spelling and the network" in str(caught.value)
    assert "give its full name or address" in str(caught.value)


def test_a_host_that_cannot_be_reached_is_one_message(tmp_path: Path) -> None:
    """No traceback: what failed and where; the exit code is 1."""
    need_command("ssh")
    data = tmp_path / "d.json"
    data.write_text("[1, 2, 3]")
    done = subprocess.run(
        [*TARE, "measure", str(data), "--medium", "remote", "--remote", "ssh://127.0.0.1:1", "--codec", "json:orjson",
         "--time", "10s", "--quiet", "--out", str(tmp_path / "r.tare.json")],
        capture_output=True, text=True, timeout=100, check=False,
    )  # fmt: skip
    assert done.returncode == 1
    assert "127.0.0.1" in done.stderr
    assert "Traceback" not in done.stderr
