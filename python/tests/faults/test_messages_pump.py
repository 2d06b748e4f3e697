"""A sender ten times as fast as its receiver: neither end's memory grows, whatever the stream's length.

``TARE_PUMP_MIB=10240`` pumps 10 GiB; by default it is enough to fill every buffer on the way many times.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from support.capabilities import need_linux


@pytest.fixture(autouse=True)
def _linux() -> None:
    need_linux("/proc/self/status")


MIB = int(os.environ.get("TARE_PUMP_MIB", "160"))
PATIENCE_S = 60 + MIB / 20
GROWTH_KIB = 8 << 10

# What one process has at a moment, of its own: VmRSS without what is mapped of files.
MEMORY = """
import time
def resident():
    with open("/proc/self/status") as status:
        return sum(int(line.split()[1]) for line in status if line.startswith(("RssAnon", "RssShmem")))
"""
SENDER = (
    MEMORY
    + """
import json, sys, tare
url, count, size = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
data, most = bytes(size), 0
with tare.connect(url, "raw", mode="w" if url.startswith("fifo") else None, timeout=60, retry=20) as conn:
    for number in range(count):
        conn.send(data)
        if number % (count // 50) == 0:
            now = resident()
            first = now if number == 0 else first
            most = max(most, now - first)
print(json.dumps([most, time.process_time()]))
"""
)
RECEIVER = (
    MEMORY
    + """
import json, sys, tare
url, count, rest = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
def conns():
    if url.startswith("fifo"):
        return tare.connect(url, "raw", mode="r", timeout=60)
    server = tare.listen(url, "raw", timeout=60)
    print(server.url, flush=True)
    return server.accept()
seen = most = 0
with conns() as conn:
    for data in conn:
        if seen == 10:
            first = resident()
        if seen >= 10 and seen % (count // 50) == 0:
            most = max(most, resident() - first)
        seen += 1
        time.sleep(rest)
    assert conn.status == "ended"
print(json.dumps([seen, most, time.process_time()]))
"""
)


@pytest.mark.parametrize(
    ("medium", "size"),
    [("tcp", 1 << 20), ("unix", 1 << 20), ("fifo", 1 << 20), ("unix", 1000)],
    ids=["tcp", "unix", "fifo", "unix, small"],
)
def test_memory_of_both_ends_stays_flat(medium: str, size: int, tmp_path: Path) -> None:
    """All arrives, and the resident memory of either end never grows by more than 8 MiB."""
    url = {"tcp": "tcp://127.0.0.1:0", "unix": f"unix:{tmp_path}/s", "fifo": f"fifo:{tmp_path}/f"}[medium]
    total = (MIB << 20) // (1 if size > 1000 else 40)
    count = total // size
    # The sender would do a MiB in less than half a millisecond.
    rest_s = 0.005 if size > 1000 else 50e-6
    command = [sys.executable, "-c", RECEIVER, url, str(count), str(rest_s)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as receiver:
        assert receiver.stdout is not None
        if medium != "fifo":
            url = receiver.stdout.readline().strip()
        command = [sys.executable, "-c", SENDER, url, str(count), str(size)]
        sent = subprocess.run(command, capture_output=True, text=True, check=True, timeout=PATIENCE_S)
        said, _ = receiver.communicate(timeout=PATIENCE_S)
    seen, grown, _ = json.loads(said)
    sender_grown, _ = json.loads(sent.stdout)
    print(f"{medium}: {count} x {size} bytes: receiver +{grown} KiB, sender +{sender_grown} KiB")
    assert seen == count
    assert grown < GROWTH_KIB
    assert sender_grown < GROWTH_KIB
