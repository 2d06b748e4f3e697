"""Random nested objects of R on every way out of R and back: what R's `identical()` denies was told, or refused."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from support.capabilities import need_module, need_r

import tare
from tare import r
from tare.errors import TareError
from tare.r.losses import Loss

OBJECTS = int(os.environ.get("TARE_R_OBJECTS", "120"))
MADE = r"""
args <- commandArgs(TRUE); set.seed(as.integer(args[2])); count <- as.integer(args[3])
pick <- function(...) { all <- list(...); all[[sample.int(length(all), 1)]]() }
with_na <- function(x) { if (length(x) && runif(1) < .3) x[sample.int(length(x), 1)] <- NA; x }
texts <- c("a", "b", "", "NA", "caf\u00e9", "long text of many letters")
latin1 <- function(n) { x <- rep("fa\xe7ile", n); Encoding(x) <- "latin1"; x }
vector_of <- function(n) {
  x <- pick(
    function() with_na(sample(c(TRUE, FALSE), n, TRUE)), function() with_na(sample.int(5L, n, TRUE)),
    function() with_na(sample(c(1, 2.5, NaN, Inf, -0), n, TRUE)), function() with_na(sample(texts, n, TRUE)),
    function() latin1(n), function() as.raw(sample.int(255, n, TRUE)), function() complex(real = rnorm(n), imaginary = 1),
    function() rep(NA, n), function() rep(NA_integer_, n), function() seq_len(n),
    function() factor(sample(letters[1:3], n, TRUE), levels = sample(letters[1:4]), ordered = runif(1) < .3),
    function() factor(rep(NA, n), levels = "x"), function() addNA(factor(with_na(sample(letters[1:2], n, TRUE)))),
    function() with_na(as.Date(sample.int(20000, n, TRUE), origin = "1970-01-01")),
    function() structure(as.double(sample.int(20000, n, TRUE)) + .5, class = "Date"),
    function() structure(sample.int(20000, n, TRUE), class = "Date"),
    function() with_na(as.POSIXct(sample(c(0, 1e9 + .25, 1.7e9), n, TRUE), origin = "1970-01-01", tz = sample(c("UTC", "Europe/Paris", ""), 1))),
    function() structure(rep(1e9, n), class = c("POSIXct", "POSIXt")),
    function() structure(sample.int(1000L, n, TRUE), class = c("POSIXct", "POSIXt"), tzone = "UTC"),
    function() as.difftime(rnorm(n), units = sample(c("secs", "mins", "hours", "days", "weeks"), 1)),
    function() structure(rep(4.94065645841247e-324, n), class = "integer64"),
    function() structure(seq_len(n) + 0, class = "unknown"), function() structure(rnorm(n), about = list(1, "x")))
  if (n && runif(1) < .08) names(x) <- sample(texts, n, TRUE)
  x
}
list_of <- function(n, depth) {
  one <- if (runif(1) < .6) { kind <- sample.int(1e6, 1); function() { size <- sample(0:2, 1); vector_of(size) } } else function() value_of(depth - 1)
  same <- runif(1) < .5
  x <- if (same) { seed <- sample.int(1e6, 1); lapply(seq_len(n), function(k) { old <- .Random.seed; set.seed(seed); y <- vector_of(2L); .Random.seed <<- old; rev(y) }) } else lapply(seq_len(n), function(k) one())
  if (n && runif(1) < .2) x[sample.int(n, 1)] <- list(NULL)
  if (n && runif(1) < .3) names(x) <- sample(c("a", "b", "c", "", NA), n, TRUE)
  if (runif(1) < .1) class(x) <- "record"
  x
}
frame_of <- function(n, depth) {
  columns <- lapply(seq_len(sample(1:3, 1)), function(k) {
    draw <- runif(1)
    if (draw < .55) vector_of(n) else if (draw < .9) unclass(list_of(n, depth - 1)) else if (draw < .95) matrix(seq_len(2 * n), n) else
      { y <- as.POSIXlt("2024-01-01 10:00", tz = "UTC") + 3600 * seq_len(n); as.POSIXlt(y) }
  })
  names(columns) <- sample(c("x", "y", "z", "caf\u00e9", if (runif(1) < .2) NA, if (runif(1) < .1) ""), length(columns), runif(1) < .1)
  attr(columns, "row.names") <- if (n && runif(1) < .2) paste0("r", seq_len(n)) else if (runif(1) < .1) rev(seq_len(n)) else .set_row_names(n)
  class(columns) <- if (runif(1) < .15) c("tbl_df", "tbl", "data.frame") else "data.frame"
  columns
}
value_of <- function(depth) {
  if (depth <= 0) return(vector_of(sample(0:3, 1)))
  pick(function() vector_of(sample(0:3, 1)), function() list_of(sample(0:3, 1), depth), function() frame_of(sample(0:3, 1), depth),
    function() matrix(vector_of(4L), 2), function() as.POSIXlt(c("2024-01-01 10:00", NA), tz = "UTC"), function() table(c("u", "v", "u")))
}
objects <- lapply(seq_len(count), function(k) if (k %% 2) frame_of(sample(0:3, 1), 2) else value_of(2))
saveRDS(objects, args[1], compress = FALSE)
"""
COMPARED = r"""
args <- commandArgs(TRUE)
before <- readRDS(args[1]); after <- readRDS(args[2]); asked <- read.table(args[3])
for (k in seq_len(nrow(asked))) {
  one <- before[[asked[k, 1]]]
  if (identical(one, after[[k]])) { cat("same\n"); next }
  if (asked[k, 2]) { cat("told\n"); next }
  cat("silent", asked[k, 1], encodeString(paste(deparse(one), collapse = "")), " -> ", encodeString(paste(deparse(after[[k]]), collapse = "")), "\n")
}
"""


def in_r(code: str, *arguments: object) -> str:
    """What code prints in one process of R."""
    line = [need_r(), "--vanilla", "-e", code, *map(str, arguments)]
    done = subprocess.run(
        line, check=True, capture_output=True, text=True, env={**os.environ, "LC_ALL": "C.UTF-8"}
    )
    return done.stdout


@pytest.fixture(scope="module", params=range(int(os.environ.get("TARE_R_SEEDS", "1"))))
def made(request, tmp_path_factory) -> tuple[Path, list[r.RObject]]:
    """Objects that R drew, and the file they are in."""
    path = tmp_path_factory.mktemp("objects") / "before.rds"
    in_r(MADE, path, 20240 + request.param, OBJECTS)
    held = r.read(path, as_="robject")
    return path, [held[place] for place in range(len(held))]


@pytest.fixture(scope="module")
def parts(made, tmp_path_factory) -> tuple[Path, list[r.RObject]]:
    """The objects, what is inside of their lists as objects of their own, and the file that all are in."""
    found = made[1][: OBJECTS // 2]
    for one in found:
        if one.type == "list" and not {"data.frame", "POSIXlt"}.intersection(one.r_class):
            found += [one[place] for place in range(len(one))]
    path = tmp_path_factory.mktemp("parts") / "before.rds"
    r.write(found, path, compressor="none")
    return path, found


def silent(made, tmp_path, back: dict[int, tuple[bytes, list[Any]]]) -> list[str]:
    """Objects that came back as others, and of which no loss was told."""
    path, _ = made
    r.write([r.read(data, as_="robject") for data, _ in back.values()], tmp_path / "after.rds")
    asked = [f"{place + 1} {int(bool(lost))}" for place, (_, lost) in back.items()]
    (tmp_path / "asked").write_text("\n".join(asked) + "\n")
    said = in_r(COMPARED, path, tmp_path / "after.rds", tmp_path / "asked").splitlines()
    assert len(said) == len(back)
    assert "same" in said
    return [line for line in said if line.startswith("silent")]


@pytest.mark.parametrize("as_", ["python", "arrow", "pandas", "polars"])
def test_what_is_read_and_written_again_is_identical_or_told(made, tmp_path, as_):
    """Every kind of value that Python has."""
    if as_ in ("pandas", "polars"):
        need_module(as_)
    back = {}
    for place, one in enumerate(made[1]):
        lost: list[Loss] = []
        try:
            value = r.read(r.write(one, None, compressor="none").data, as_=as_, loss=lost)
            done = r.write(value, None, compressor="none", loss=lost)
        except TareError:
            continue
        back[place] = done.data, lost
    assert len(back) > len(made[1]) // 3
    assert [] == silent(made, tmp_path, back)


@pytest.mark.parametrize("ending", ["parquet", "arrow"])
def test_what_is_converted_and_back_is_identical_or_refused_when_strict(made, tmp_path, ending):
    """Of data frames: what is told there is no information alone, but stops a strict conversion."""
    back = {}
    for place, one in enumerate(made[1]):
        if "data.frame" not in one.r_class:
            continue
        r.write(one, tmp_path / "x.rds", compressor="none")
        try:
            done = tare.convert(tmp_path / "x.rds", tmp_path / f"x.{ending}", strict=True)
            tare.convert(tmp_path / f"x.{ending}", tmp_path / "back.rds", strict=True)
        except TareError:
            continue
        # Parquet has no levels of a column without rows: told as a change of its type.
        told = [change for change in done.changes if change["path"].endswith(" (levels)")]
        back[place] = (tmp_path / "back.rds").read_bytes(), told
    assert len(back) > len(made[1]) // 10
    assert [] == silent(made, tmp_path, back)


@pytest.mark.parametrize("ending", ["json", "ndjson", "cbor", "msgpack", "yaml"])
def test_what_is_a_document_and_back_is_identical_or_told(parts, tmp_path, ending):
    """Of every object and every part of one: kinds of missing values, levels, dimensions, lists beside vectors."""
    if ending in ("cbor", "msgpack", "yaml"):
        need_module({"cbor": "cbor2", "msgpack": "msgpack", "yaml": "yaml"}[ending])
    back = {}
    for place, one in enumerate(parts[1]):
        r.write(one, tmp_path / "x.rds", compressor="none")
        try:
            done = tare.convert(tmp_path / "x.rds", tmp_path / f"x.{ending}", overwrite=True)
            tare.convert(tmp_path / f"x.{ending}", tmp_path / "back.rds", overwrite=True)
        except TareError:
            continue
        back[place] = (tmp_path / "back.rds").read_bytes(), [*done.losses, *done.changes]
    assert len(back) > len(parts[1]) // 5
    assert [] == silent(parts, tmp_path, back)
