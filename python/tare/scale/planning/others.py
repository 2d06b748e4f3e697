"""`plan_put`: files into a store. `plan_measure`: a benchmark of each dataset on one host."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from typing import Any

from tare._version import __version__
from tare.codec import codec_part
from tare.datasets.source import printable
from tare.errors import UsageError
from tare.scale.left import check_some
from tare.scale.place import folder_uri
from tare.scale.plan import Plan, make_plan
from tare.scale.planning.grouping import Limits, in_groups
from tare.scale.planning.sources import Sources, find_sources, kept_name, listed

__all__ = ["plan_measure", "plan_put"]

_GROUPS = Limits(usual=500, most=1000)


def plan_put(
    sources: Sources,
    store: str,
    path: str | os.PathLike[str],
    *,
    namespace: str = "",
    values: bool = False,
    include: Sequence[str] = (),
    exclude: Sequence[str] = (),
    skipped: list[tuple[str, str]] | None = None,
) -> Plan:
    """Plan setting files in a store: some 500 objects, or 64 MiB, at once.

    Args:
        sources: Files, folders, globs, ``s3://`` prefixes; a file's name is its key.
        store: URL of the store, as `tare.open_store` takes it.
        path: Where the plan is written; receipts stand in ``PATH.state``.
        namespace: Namespace of the keys.
        values: Set what a file holds, read by its format, instead of its bytes.
        include: Patterns of names under a folder.
        exclude: Patterns that leave out.
        skipped: Takes ``(name, why)`` of each file that is left out.

    Raises:
        PlanError, FileNotFoundError: There is nothing to put.
        AllUndone: What there is cannot be read.
        UsageError: The store has credentials in its URL.
    """
    if re.search(r"://[^/]*:[^/@]*@", store):
        raise UsageError("credentials come from the environment, not from a URL")
    if store.startswith("memory:"):
        raise UsageError(f"{store}: each process has a store of its own in memory; name a folder or a server")
    store = _anywhere(store)
    try:
        store.encode()
    except UnicodeEncodeError:
        raise UsageError(f"{printable(store, 400)}: a plan holds UTF-8, which this name is not") from None
    given = listed(sources)
    left: list[tuple[str, str]] = [] if skipped is None else skipped
    before = len(left)
    found = find_sources(given, include=include, exclude=exclude, skipped=left)
    check_some(found, left)
    options: dict[str, Any] = {"store": store, "namespace": namespace, "tare": __version__}
    if values:
        options["values"] = 1

    def units() -> Iterator[dict[str, Any]]:
        groups = in_groups(
            found, _GROUPS, source=lambda one: one, said=lambda one: [one.as_input(), kept_name(one.name)]
        )
        for some in groups:
            yield {
                "tare_unit": 1, "task": "put", "input": [one.as_input() for one in some],
                "options": {**options, "keys": [kept_name(one.name) for one in some]},
                "needs": {"memory": 6 * sum(one.size for one in some), "threads": 1},
            }  # fmt: skip

    about = f"put {' '.join(given)} {store}".encode(errors="replace").decode()
    plan = make_plan(units(), path, task="put", about=about)
    plan.passed_over = left[before:]
    return plan


def _anywhere(store: str) -> str:
    """The store as a process in another folder finds it: the path of one that is a folder is absolute."""
    scheme, colon, path = store.partition(":")
    if colon and scheme.isalnum() and len(scheme) > 1:
        return f"{scheme}:{os.path.abspath(path)}" if path and not path.startswith("/") else store
    return os.path.abspath(store)


def plan_measure(
    sources: Sources,
    destination: str | os.PathLike[str],
    *,
    codecs: Sequence[str] = (),
    seconds: int = 60,
    busy: bool = False,
    path: str | os.PathLike[str] | None = None,
    skipped: list[tuple[str, str]] | None = None,
) -> Plan:
    """Plan a benchmark: the whole grid of one dataset is one unit, on one host.

    Args:
        sources: The datasets.
        destination: The folder of the records.
        codecs: Codec ids, of other languages too: each host says whether it has them. One that ends in ``*`` stands for
            each that its host has and whose id begins so. All of Python's that hold the data by default.
        seconds: Of each dataset: 2 at least.
        busy: Whether a host is measured whose load is above 1.5 a core; its unit fails by default.
        path: Where the plan is written; by default beside the records.
        skipped: Takes ``(name, why)`` of each file that is left out.

    Raises:
        PlanError, FileNotFoundError: There is nothing to measure.
        AllUndone: What there is cannot be read.
        UsageError: Fewer seconds than processes take to start, or no such codec.
    """
    from tare.measure.plan.availability import check_id
    from tare.measure.run import check_settings
    from tare.measure.settings import Settings
    from tare.scale.planning.convert import kept_plan, named

    check_settings(Settings(time_s=seconds))
    codecs = [codec_part(codec) for codec in codecs]
    for codec in codecs:
        check_id(codec)
    base = folder_uri(destination)
    given = listed(sources)
    left: list[tuple[str, str]] = [] if skipped is None else skipped
    before = len(left)
    found = find_sources(given, below=base, skipped=left)
    check_some(found, left)
    targets = named(found, ".tare.json", left)

    def units() -> Iterator[dict[str, Any]]:
        for one, name in targets:
            yield {
                "tare_unit": 1, "task": "measure", "input": [one.as_input()],
                "output": {"base": base, "names": [name]},
                "options": {"codecs": list(codecs), "seconds": seconds, "tare": __version__, **({"busy": 1} if busy else {})},
                "needs": {"memory": 6 * one.size, "threads": 1, "resources": {"bench": 1}},
            }  # fmt: skip

    about = f"measure {' '.join(given)} {os.fspath(destination)}"
    plan = kept_plan(units(), path, "measure", base, about)
    plan.passed_over = left[before:]
    return plan
