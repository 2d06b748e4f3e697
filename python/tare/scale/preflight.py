"""Before the first unit: does every worker run this version, see the input and reach the destination?"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tare.errors import MissingLibrary, TareError
from tare.scale.attempts import attempt_of
from tare.scale.executors.base import Engine, facts
from tare.scale.failures import Unwritable, unwritable
from tare.scale.place import said_by, shown, split_uri
from tare.scale.temporary import sweep_temporary

if TYPE_CHECKING:
    from tare.scale.plan import Plan

__all__ = [
    "EngineError",
    "EngineMissing",
    "check_all",
    "check_bench",
    "check_newcomers",
    "check_workers",
    "probe",
    "readable",
]

_TRIED = 20


class EngineError(TareError):
    """An engine, or one of its workers, that cannot be used."""


class EngineMissing(EngineError, MissingLibrary):
    """An engine whose library is not installed; the text has the line."""


def readable(plan: Plan) -> str:
    """An input that this process can read, so that a worker that cannot is to blame; empty if there is none soon.

    One that has gone costs its own unit.
    """
    for unit in itertools.islice(plan.units(), _TRIED):
        uri = str(unit["input"][0]["uri"])
        try:
            place, name = split_uri(uri)
            place.read(name, 0, 1)
        except (OSError, TareError):
            continue
        return uri
    return ""


def probe(settings: Mapping[str, Any], uri: str) -> dict[str, Any]:
    """What one worker says: its versions, and what it cannot reach.

    Args:
        settings: As `run_unit` takes them: where receipts are.
        uri: The first input.
    """
    from tare.scale.state import State

    sweep_temporary()  # of this host: whoever started the run may be on another
    found: dict[str, Any] = {**facts(), "cannot": ""}
    what, wrote = shown(uri), False
    try:
        if uri:
            place, name = split_uri(uri)
            place.read(name, 0, 1)
        what, wrote = shown(str(settings["state"])), True
        state = State.from_settings(settings)
        name = f"{'.tare/' if state.inner else ''}writing/{attempt_of('probe', 0)}"
        state.place.put(name, b"")
        state.place.remove(name)
    except (OSError, TareError) as error:
        told = unwritable(error, what) if isinstance(error, OSError) and wrote else error
        said = said_by(error) if isinstance(error, OSError) else error
        found["cannot"] = str(told) if isinstance(told, Unwritable) else f"{what}: {said}"
        found["errno"] = getattr(error, "errno", None)
    except Exception as error:
        found["cannot"] = f"{what}: {type(error).__name__}: {error}"
    return found


def check_all(
    engine: Engine, settings: Mapping[str, Any], plan: Plan, *, allow_mixed: bool = False
) -> tuple[str, list[dict[str, Any]]]:
    """`check_workers` by an input that is there: that input, and what they said.

    One that goes between this process's look and theirs is no fault of a worker, and costs its own unit.

    Raises:
        EngineError, OSError: As `check_workers`.
    """
    for _ in range(_TRIED):
        uri = readable(plan)
        try:
            return uri, check_workers(engine, settings, uri, allow_mixed=allow_mixed)
        except (EngineError, OSError):
            if not uri or not _has_gone(uri):
                raise
    return "", check_workers(engine, settings, "", allow_mixed=allow_mixed)


def _has_gone(uri: str) -> bool:
    """Whether a file is there no more, or what has its name by now is none."""
    place, name = split_uri(uri)
    try:
        found = place.stat(name)
        return found is None or bool(found.special)
    except OSError:
        return False


def check_workers(
    engine: Engine, settings: Mapping[str, Any], uri: str, *, allow_mixed: bool = False
) -> list[dict[str, Any]]:
    """Ask every worker; what they said.

    Raises:
        EngineError: One has another version of Tare, or of a library that output depends on, or cannot reach
            the input or the destination: it is named.
        OSError: The destination is full or read-only.
    """
    told = engine.probe(settings, uri)
    if not told:
        raise EngineError(f"{engine.name}: there is no worker")
    _check(told, allow_mixed)
    return told


def check_newcomers(
    engine: Engine, settings: Mapping[str, Any], uri: str, *, allow_mixed: bool = False
) -> None:
    """As `check_workers`, of those that joined meanwhile: what they cannot reach would fail unit by unit.

    An input that has gone since the run began is no fault of theirs.

    Raises:
        EngineError, OSError: As `check_workers`.
    """
    told = engine.newcomers(settings, uri)
    of_input = [one for one in told if uri and one["cannot"].startswith(f"{shown(uri)}: ")]
    if of_input and _has_gone(uri):
        told = [{**one, "cannot": ""} if one in of_input else one for one in told]
    _check(told, allow_mixed)


def _check(told: Sequence[Mapping[str, Any]], allow_mixed: bool) -> None:
    ours = facts()
    for one in told:
        who = f"worker {one['host']} (process {one['pid']})"
        if one["tare"] != ours["tare"]:
            raise EngineError(f"{who} has Tare {one['tare']}, here it is {ours['tare']}: install the same")
        other = {
            name: version
            for name, version in one["libraries"].items()
            if ours["libraries"].get(name) != version
        }
        if other and not allow_mixed:
            said = ", ".join(f"{name} {version}" for name, version in other.items())
            raise EngineError(
                f"{who} has {said}, which is not as here: results could differ; --allow-mixed takes it"
            )
        if one["cannot"]:
            if one.get("errno") is not None and one["host"] == ours["host"]:
                refused = Unwritable(one["cannot"])
                refused.errno = int(one["errno"])
                raise refused
            raise EngineError(f"{who} cannot reach {one['cannot']}")


def check_bench(engine: Engine, told: Sequence[Mapping[str, Any]]) -> None:
    """Whether every host that measures offers one ``bench``: units are side by side where it offers more.

    Args:
        engine: Whose workers they are.
        told: What `check_workers` gave; engines that place by resources say ``bench`` of each worker.

    Raises:
        EngineError: A host offers more than one, and is named; or none does, and no unit would ever begin.
    """
    if not any("bench" in one for one in told):
        return
    start = "one worker with bench=1 on each host: " + (
        "ray start --resources '{\"bench\": 1}'"
        if engine.name == "ray"
        else "dask worker --resources bench=1 --nworkers 1 --nthreads 1"
    )
    hosts: dict[str, list[Mapping[str, Any]]] = {}
    for one in told:
        if one.get("bench"):
            hosts.setdefault(str(one["host"]), []).append(one)
    if not hosts:
        raise EngineError(f"{engine.name}: no worker offers bench=1; to measure, start {start}")
    for host, some in hosts.items():
        offered = sum(int(one["bench"]) for one in some)
        if offered > 1:
            pids = ", ".join(str(one["pid"]) for one in some)
            who = f"{'process' if len(some) == 1 else 'processes'} {pids}"
            raise EngineError(
                f"{host} offers bench={offered} ({who}), so that units would be measured side by side; start {start}"
            )
