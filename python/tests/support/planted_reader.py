"""A worker that reads wrongly, or dies, on one of its values: our own under another name."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path

__all__ = ["planted_reader"]

_READER = """
import json, os, sys, time
from tare.measure.worker import operations
told = json.loads(sys.argv[1])
was = operations.Ops.op_decode_from
def op_decode_from(self, request):
    asked = open(request["path"], encoding="latin1").read()
    if told["how"] == "dies" and told["dies"] in asked:
        os._exit(9)
    if told["how"] == "hangs" and told["dies"] in asked:
        time.sleep(600)
    done = was(self, request)
    if told["how"] == "changes" and told["changes"] in asked:
        value = json.load(open(request["out"]))
        exec(told["change"])
        json.dump(value, open(request["out"], "w"))
    return done
operations.Ops.op_decode_from = op_decode_from
prepare = operations.Ops.op_prepare
operations.Ops.op_prepare = lambda self, request: prepare(self, request | {"codec": told["codec"]})
codec = operations.Ops.codec
operations.Ops.codec = lambda self, request: codec(self, request | {"codec": told["codec"]})
hello = operations.Ops.op_hello
about = {"id": told["codec"].partition(":")[0] + ":node", "library": "node", "version": "1", "options": {},
         "kinds": [told["kind"]], "media": ["memory"], "delivery": ["whole"], "threads": [1],
         "executes_code": False, "subset": []}
operations.Ops.op_hello = lambda self, request: hello(self, request) | {"codecs": [about]}
from tare.measure.worker.main import main
main()
"""


def planted_reader(
    folder: Path, how: str, *, codec: str, kind: str, dies: str, changes: str, change: str
) -> dict[str, str]:
    """Commands of workers: ``node`` is our own worker with `codec`, and a fault.

    Args:
        folder: Where its program is written.
        how: ``dies``, ``hangs``, ``changes``, or anything else for neither.
        codec: The codec of Python's that it has.
        kind: ``document`` or ``table``.
        dies: What bytes hold that end it, or hang it.
        changes: What bytes hold that it changes.
        change: A statement that changes ``value``, the tagged value that it hands back.
    """
    path = folder / "reader.py"
    path.write_text(_READER)
    told = {"how": how, "codec": codec, "kind": kind, "dies": dies, "changes": changes, "change": change}
    return {"node": shlex.join([sys.executable, str(path), json.dumps(told)])}
