"""Messages between Tare and a real R, both ways: values serialized by R, each in a bin of msgpack.

Base R speaks the bins by hand here. The same with R's own msgpack package, which no package
manager of ours has, runs where it is installed and is skipped elsewhere, in CI too: it is for a
machine that has it.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from support.capabilities import need_r, need_unpublished_r

import tare

PLACES = ("file", "fifo", "tcp")
VALUES: list[Any] = [
    {"a": [1, 2, 3], "b": "\u00e9"},
    {"n": [0.5, None]},
    {"text": "x" * 300},
    {"text": "y" * 70_000},
]

OPENED = """
args <- commandArgs(TRUE); kind <- args[1]; address <- args[2]; folder <- args[3]
opened <- function(mode) switch(kind,
  file = file(address, mode), fifo = fifo(address, mode, blocking = TRUE),
  tcp = socketConnection("127.0.0.1", as.integer(address), open = mode, blocking = TRUE, timeout = 20))
values <- list(list(a = 1:3, b = "\\u00e9"), list(n = c(0.5, NA)), list(text = strrep("x", 300)), list(text = strrep("y", 70000)))
"""
BASE = """
put <- function(bytes, con) {
  n <- length(bytes)
  head <- if (n < 256) as.raw(c(0xc4, n)) else if (n < 65536) as.raw(c(0xc5, n %/% 256, n %% 256))
          else c(as.raw(0xc6), writeBin(n, raw(), endian = "big"))
  writeBin(c(head, bytes), con)
}
get_bytes <- function(con, n) {
  got <- raw(0)
  while (length(got) < n && length(more <- readBin(con, "raw", n - length(got)))) got <- c(got, more)
  got
}
take <- function(con) {
  tag <- get_bytes(con, 1)
  if (!length(tag)) return(NULL)
  size <- get_bytes(con, c(c4 = 1, c5 = 2, c6 = 4)[[as.character(tag)]])
  get_bytes(con, sum(as.integer(size) * 256^(rev(seq_along(size)) - 1)))
}
"""
PACKAGE = """
put <- function(bytes, con) msgpack::writeMsg(bytes, msgpack::msgConnection(con))
reading <- NULL
take <- function(con) {
  if (is.null(reading)) reading <<- msgpack::msgConnection(con)
  tryCatch(msgpack::readMsg(reading), error = function(e) NULL)
}
"""
WRITE = """
con <- opened("wb")
for (at in seq_along(values)) {
  bytes <- serialize(values[[at]], NULL)
  writeBin(bytes, file.path(folder, paste0(at, ".bin")))
  put(bytes, con)
}
close(con)
"""
READ = """
con <- opened("rb")
at <- 0
while (!is.null(bytes <- take(con))) {
  at <- at + 1
  stopifnot(identical(unserialize(bytes), readRDS(file.path(folder, paste0(at, ".rds")))))
}
close(con)
stopifnot(at == 4)
cat("all came\\n")
"""
NATIVE = """
con <- opened("wb")
for (value in values) msgpack::writeMsg(value, msgpack::msgConnection(con))
close(con)
"""
PEERS = {"base": BASE, "msgpack": PACKAGE}


def wanted(peer: str) -> None:
    """Require R, and its package where that is the peer."""
    need_r()
    if peer == "msgpack":
        need_unpublished_r("msgpack")


def started(program: str, kind: str, address: str, folder: Path) -> subprocess.Popen[str]:
    script = folder / "peer.R"
    script.write_text(program, encoding="utf-8")
    return subprocess.Popen(
        ["Rscript", "--vanilla", str(script), kind, address, str(folder)],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip


def ended(peer: subprocess.Popen[str]) -> str:
    said, _ = peer.communicate(timeout=60)
    assert peer.returncode == 0, said
    return said


def received(program: str, kind: str, folder: Path, codec: str, framing: str) -> list[Any]:
    """All that a program of R sends over that place."""
    options: dict[str, Any] = {"framing": framing, "timeout": 30.0}
    if kind == "tcp":
        with tare.listen("tcp://127.0.0.1:0", codec, **options) as server:
            peer = started(program, kind, server.url.rpartition(":")[2], folder)
            with server.accept() as conn:
                values = list(conn)
        ended(peer)
        return values
    address = folder / "place"
    if kind == "fifo":
        os.mkfifo(address)
    peer = started(program, kind, str(address), folder)
    if kind == "file":
        ended(peer)
    with tare.connect(f"{kind}:{address}", codec, mode="r", **options) as conn:
        values = list(conn)
    ended(peer)
    return values


@pytest.mark.parametrize("peer", PEERS)
@pytest.mark.parametrize("kind", PLACES)
def test_what_r_serializes_arrives(kind: str, peer: str, tmp_path: Path) -> None:
    """Each value is what Tare reads of the very bytes that R serialized."""
    wanted(peer)
    values = received(OPENED + PEERS[peer] + WRITE, kind, tmp_path, "rds", "native:wrap")
    assert values == [tare.decode((tmp_path / f"{at}.bin").read_bytes(), "rds") for at in range(1, 5)]
    assert values[0]["b"] == "\u00e9"


@pytest.mark.parametrize("peer", PEERS)
@pytest.mark.parametrize("kind", PLACES)
def test_r_unserializes_what_is_sent(kind: str, peer: str, tmp_path: Path) -> None:
    """R's own readRDS of the same values is identical to what came."""
    wanted(peer)
    for at, value in enumerate(VALUES, 1):
        (tmp_path / f"{at}.rds").write_bytes(tare.encode(value, "rds"))
    program = OPENED + PEERS[peer] + READ
    options: dict[str, Any] = {"framing": "native:wrap", "timeout": 30.0}
    if kind == "tcp":
        with tare.listen("tcp://127.0.0.1:0", "rds", **options) as server:
            reader = started(program, kind, server.url.rpartition(":")[2], tmp_path)
            with server.accept() as conn:
                conn.send_all(VALUES)
        assert "all came" in ended(reader)
        return
    address = tmp_path / "place"
    reader = None
    if kind == "fifo":
        os.mkfifo(address)
        reader = started(program, kind, str(address), tmp_path)
    with tare.connect(f"{kind}:{address}", "rds", mode="w", **options) as conn:
        conn.send_all(VALUES)
    assert "all came" in ended(reader or started(program, kind, str(address), tmp_path))


@pytest.mark.parametrize("kind", PLACES)
def test_values_of_rs_msgpack_arrive(kind: str, tmp_path: Path) -> None:
    """``writeMsg`` of lists, without serialize inside: columns and scalars of msgpack."""
    wanted("msgpack")
    values = received(OPENED + NATIVE, kind, tmp_path, "msgpack", "native")
    assert len(values) == 4
    assert values[2]["text"] in ("x" * 300, ["x" * 300])
