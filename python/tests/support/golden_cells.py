"""Golden cells: what a codec of a given version does with each probe.

Written once for each version, never changed:

    python python/tests/support/golden_cells.py        # writes what is absent, touches nothing else
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from tare.codec import Codec
from tare.measure.fidelity.run_probes import judged_cells, probe

__all__ = ["DEFAULT_INSTALL", "cells", "path_of", "stored"]

FOLDER = Path(__file__).resolve().parents[3] / "vectors/values/cells"

# The codecs of the default install, and the probe set each is for.
DEFAULT_INSTALL = {
    "json:stdlib": "values/1",
    "json:orjson": "values/1",
    "json:msgspec": "values/1",
    "msgpack:msgspec": "values/1",
    "pickle": "values/1",
    "marshal": "values/1",
    "repr:stdlib": "values/1",
    "csv:stdlib": "columns/1",
    "csv:pyarrow": "columns/1",
    "parquet:pyarrow": "columns/1",
    "arrow:pyarrow": "columns/1",
    "orc:pyarrow": "columns/1",
}


def cells(codec_id: str) -> dict[str, Any]:
    """What the codec does now, in the form that is stored."""
    codec = Codec.parse(codec_id)
    found = judged_cells(DEFAULT_INSTALL[codec_id], codec_id, probe(codec, DEFAULT_INSTALL[codec_id]))
    kept = ("verdict", "in", "out", "bytes_hex", "hook")
    return {
        "codec": codec_id,
        "version": codec.library.version,
        "set": DEFAULT_INSTALL[codec_id],
        "cells": {name: {key: cell[key] for key in kept} for name, cell in found.items()},
    }


def path_of(codec_id: str) -> Path:
    """Where the cells of the installed version are stored."""
    name = codec_id.replace(":", "-").replace(",", "-").replace("=", "-")
    return FOLDER / f"{name}@{Codec.parse(codec_id).library.version}.json"


def stored(codec_id: str) -> dict[str, Any] | None:
    """The stored cells of the installed version, if there are any."""
    path = path_of(codec_id)
    return json.loads(path.read_text(encoding="ascii")) if path.is_file() else None


def main() -> None:
    """Write the cells that are not stored yet."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    for codec_id in DEFAULT_INSTALL:
        path = path_of(codec_id)
        if path.exists():
            continue
        path.write_text(json.dumps(cells(codec_id), indent=1) + "\n", encoding="ascii")
        print(f"wrote {path.name}", file=sys.stderr)


if __name__ == "__main__":
    main()
