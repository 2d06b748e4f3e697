"""Values of CBOR whose reader rounds or cuts them: read exactly, or told."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest
from support.capabilities import need_module

import tare


def written(path: Path, text: str) -> Path:
    need_module("cbor2")
    path.write_bytes(bytes.fromhex(text))
    return path


@pytest.mark.parametrize(
    ("text", "value"),
    [("c5821903e801", Decimal(2**1000)), ("c58220c2581a" + "ff" * 26, Decimal(f"{(2**208 - 1) * 5}e-1")), ("c5822003", Decimal("1.5"))],
    ids=["2^1000", "26 bytes", "short"],
)  # fmt: skip
def test_bigfloats_are_exact(text: str, value: Decimal, tmp_path: Path) -> None:
    """They were rounded to the 28 digits of the reader's arithmetic."""
    assert value == tare.read(written(tmp_path / "x.cbor", text))


def test_bigfloats_that_are_rounded_are_told(tmp_path: Path) -> None:
    done = tare.convert(written(tmp_path / "x.cbor", "c582393a9701"), tmp_path / "x.json")
    assert any("bigfloats (tag 5) of more than 2,000 digits are rounded" in note for note in done.notes)


@pytest.mark.parametrize(
    ("moment", "told"),
    [("2013-03-21T20:04:00.123456789Z", True), ("2013-03-21T20:04:00.123456Z", False), ("2013-03-21T20:04:00.123456000Z", False)],
)  # fmt: skip
def test_nanoseconds_of_texts_are_told(moment: str, told: bool, tmp_path: Path) -> None:
    """Its reader cuts them."""
    text = f"c078{len(moment):02x}" + moment.encode().hex()
    done = tare.convert(written(tmp_path / "x.cbor", text), tmp_path / "x.yaml")
    assert told == ("dates with nanoseconds (tag 0) are cut to microseconds" in done.notes)
