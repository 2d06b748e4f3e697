"""Files that R and its packages wrote, against what R said they hold: types, lengths, digests, attributes."""

from __future__ import annotations

import hashlib
import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from tare import r
from tare.errors import Unsupported

GROUPS = ("rds", "rdata", "qs", "qs2", "qdata", "fst", "dput")
VECTORS = {"logical", "integer", "double", "complex", "character", "raw"}
# What R read back is not the object that was written: the digits of text, or a promise that R forces.
FORCED = ("environment_promise",)


@cache
def manifest(folder: Path) -> list[dict[str, Any]]:
    return json.loads((folder / "manifest.json").read_text())["files"]


def digest(value: r.RObject) -> str:
    """MD5 over canonical little-endian bytes, as the manifest's README says."""
    core = value._core
    if value.type == "character":
        out = hashlib.md5(usedforsecurity=False)
        for flagged in stored(value):
            out.update(flagged)
        return out.hexdigest()
    return hashlib.md5(bytes(core.data()), usedforsecurity=False).hexdigest()


def stored(value: r.RObject):
    """The strings' bytes, in UTF-8 here; files with other encodings are not compared by digest."""
    for one in value._core.strings():
        yield b"\x01\x00" if one is None else (one if isinstance(one, bytes) else one.encode()) + b"\x00"


def check(
    expected: dict[str, Any], value: r.RObject, path: str = "$", depth: int = 0, *, loose: bool = False
) -> None:
    """Compare a tree of what R said with the object, down to forty levels; the attributes of fst's columns come in an order of ours."""
    kind = expected["type"]
    if kind in ("ref", "too-deep") or depth > 40:
        return
    assert type_of(kind) == value.type, path
    if kind in VECTORS:
        assert expected["length"] == len(value), path
        if "encoding" not in expected and not any(isinstance(v, dict) for v in expected.get("values", [])):
            assert expected["md5"] == digest(value), path
    elif kind in ("list", "expression", "pairlist") and "elements" in expected:
        elements = expected["elements"]
        assert len(elements) == len(value), path
        for place, one in enumerate(elements):
            inner = one.get("value", one) if kind == "pairlist" else one
            if isinstance(inner, dict) and "type" in inner:
                check(inner, value[place], f"{path}[[{place + 1}]]", depth + 1, loose=loose)
    if kind not in ("environment", "closure", "S4", "language"):
        told = expected.get("attributes", [])
        names = [one["name"] for one in told]
        found = dict(value.attributes)
        assert names == list(found) or (loose and sorted(names) == sorted(found)), path
        for one in told:
            check(one["value"], found[one["name"]], f"{path}@{one['name']}", depth + 1, loose=loose)


def type_of(kind: str) -> str:
    environments = ("globalenv", "emptyenv", "baseenv", "namespace", "package")
    return "environment" if kind in environments else {"missing-arg": "symbol"}.get(kind, kind)


@pytest.mark.parametrize("group", GROUPS)
def test_fixtures_hold_what_r_said(shared, group):
    """Every file of a group is read, and every vector's digest is the one that R computed."""
    folder = shared("fixtures")
    entries = [one for one in manifest(folder) if one["group"] == group]
    assert len(entries) > 10
    for one in entries:
        path = folder / one["file"]
        if group == "dput" and one["object"] in ("closure_global", "formula", "call"):
            with pytest.raises(Unsupported):
                r.read(path, format="dput", as_="robject")
            continue
        held = r.read(path, as_="robject", format="dput" if group == "dput" else None)
        if isinstance(held, dict):
            assert sorted(one["objects"]) == sorted(held)
            continue
        exact = group != "dput" or "exact" in one["file"]
        stated = group == "dput" and one["object"] in (
            "cplx",
            "integer64",
        )  # R's own text of them is not exact
        if exact and not stated and one.get("object") not in FORCED:
            expected = json.loads((folder / one["expected"]).read_text())
            try:
                check(expected, held, loose=group == "fst")
            except AssertionError as error:
                raise AssertionError(f"{one['file']}: {error}") from error


def test_everything_becomes_a_value_of_python(shared):
    """No object of the fixtures fails to convert: what is no data stays an R object, and losses are told."""
    folder = shared("fixtures")
    names = {one["object"]: one["file"] for one in manifest(folder) if one["group"] == "rds"}
    assert len(names) > 90
    for name, file in names.items():
        lost: list[r.Loss] = []
        for scalars in (False, True):
            r.read(folder / file, loss=lost, scalars=scalars)
        for loss in lost:
            assert loss.kind, name


def test_row_ranges_of_fst_are_slices_of_the_whole(shared):
    """At every edge of a block, columns in the order asked for."""
    folder = shared("fixtures/fst")
    for path in sorted(folder.glob("*.fst")):
        whole = r.read(path, as_="arrow", loss=[])
        rows = whole.num_rows
        names = whole.column_names
        edges = sorted(
            {at for edge in (0, 2047, 2048, 4096, 16384, rows) for at in (edge - 1, edge, edge + 1)}
        )
        edges = [at for at in edges if 0 <= at <= rows]
        for first in edges[::2]:
            for behind in edges[1::3]:
                if first <= behind:
                    part = r.read(path, as_="arrow", rows=(first, behind), columns=names[::-2], loss=[])
                    expected = whole.select(names[::-2]).slice(first, behind - first)
                    assert same(expected, part), (path.name, first, behind)


def same(expected: pa.Table, part: pa.Table) -> bool:
    if expected.column_names != part.column_names or expected.num_rows != part.num_rows:
        return False
    for one, other in zip(expected.columns, part.columns, strict=True):
        if pa.types.is_floating(one.type):
            left, right = (np.asarray(x.fill_null(-1e300)) for x in (one, other))
            if left.tobytes() != right.tobytes() or one.null_count != other.null_count:
                return False
        elif one.to_pylist() != other.to_pylist():
            return False
    return True
