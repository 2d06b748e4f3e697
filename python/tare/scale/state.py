"""What is done: receipts beside the outputs, a file for each unit, so that no two processes write one file.

```
.tare/plans/PLAN.jsonl          what was planned
.tare/writing/...               what is being written, and has not its name yet
.tare/done/ab/KEY.json          receipts: written after the output, never before
.tare/failed/KEY.json           the last failure, removed when the unit succeeds
.tare/intents/KEY.json          what an attempt is about to rename, of partitions and parts; removed behind the receipt
.tare/begun/PLAN.json           what was there when a plan was begun, and not ours
.tare/begun/TURN-KEY.json       of `put`, what the keys of a unit named when the plan's turn began
.tare/overwrite/PLAN            that every run of a plan may replace what is not from here
.tare/started/NUMBER-PLAN       the plans in the order of their last start
.tare/manifest.json             every output with its size and hash, when every unit has a receipt
```
"""

from __future__ import annotations

import atexit
import filecmp
import itertools
import json
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, TypeVar

from tare.datasets.source import printable
from tare.errors import PlanError, UsageError
from tare.scale.attempts import attempt_of, is_over, sweep
from tare.scale.place import Entry, LocalPlace, Place, hashed, path_uri, place_of
from tare.scale.started import Starts
from tare.scale.temporary import prefix
from tare.scale.unit import canonical

if TYPE_CHECKING:
    from tare.scale.plan import Plan

__all__ = ["State"]

_KEY = re.compile(r"[0-9a-f]{64}")
_OF_A_TURN = re.compile(r"(?P<turn>[0-9]{8,}-[^\W_]+)(?:-[0-9a-f]{64})?\.json")
_REQUESTS = 16  # at a time, of an object store
_FOLDERS = ("plans", "writing", "done", "failed", "intents", "begun", "overwrite", "started")
_T = TypeVar("_T")
_LAST_PLANS = 16
"""How many of the plans that were started last are kept whatever they say: one of them may be running."""


class State:
    """The receipts of one destination, or of one plan.

    Args:
        uri: The folder of the outputs, or ``PLAN.state`` of a plan that writes none.
        inner: Whether receipts stand under ``.tare`` of that folder, beside outputs.
        failures: Whether units may have failed here before; None if nobody has looked.
        intents: Whether attempts of before may have left intents here; None if nobody has looked.
        is_first: Whether this is not of a process whose starter looked at the folder already.

    Raises:
        UsageError: What should be folders of ours are links: receipts would be written, and swept, elsewhere.
    """

    def __init__(
        self,
        uri: str,
        *,
        inner: bool = True,
        failures: bool | None = None,
        intents: bool | None = None,
        is_first: bool = True,
    ) -> None:
        self.uri = uri
        self.inner = inner
        self.place: Place = place_of(uri)
        self._failures = failures
        self._intents = intents
        self._prefix = ".tare/" if inner else ""
        if isinstance(self.place, LocalPlace):
            if inner and is_first:
                _refuse_links(self.place)
            self.place.writing = f"{self._prefix}writing"
        self._starts = Starts(self.place, f"{self._prefix}started/")

    @classmethod
    def of(cls, plan: Plan) -> State:
        """Where the receipts of a plan are."""
        if plan.base:
            return cls(plan.base)
        return cls(path_uri(f"{plan.path}.state"), inner=False)

    @classmethod
    def from_settings(cls, settings: Mapping[str, Any]) -> State:
        """As `settings` of another process gave it."""
        failures, intents = settings.get("failures"), settings.get("intents")
        return cls(
            str(settings["state"]),
            inner=bool(settings.get("inner", True)),
            failures=None if failures is None else bool(failures),
            intents=None if intents is None else bool(intents),
            is_first=False,
        )

    def settings(self) -> dict[str, Any]:
        """What a worker needs to find it, and whether it need look for failures and intents of an earlier start."""
        found: dict[str, Any] = {"state": self.uri, "inner": int(self.inner)}
        if isinstance(self.place, LocalPlace):
            return found
        if self._failures is None:
            self._failures = bool(next(self._keys("failed"), ""))
        if self._intents is None:
            self._intents = bool(next(self._keys("intents"), ""))
        return {**found, "failures": int(self._failures), "intents": int(self._intents)}

    # Receipts

    def done(self, listed: Iterable[Entry] | None = None) -> set[str]:
        """The keys of all units that have a receipt: one listing, nothing is opened; none if all files are `listed`."""
        return set(self._keys("done", listed))

    def latest(self) -> list[str]:
        """The keys of all units that have a receipt, the one that was written last first; of a folder of this machine."""
        entries = self.place.entries(f"{self._prefix}done")
        return [*self._keys("done", sorted(entries, key=lambda one: one.identity["mtime_ns"], reverse=True))]

    def receipt(self, key: str) -> dict[str, Any] | None:
        """The receipt of a unit; None if it has none, or half of one."""
        return self._read(f"done/{key[:2]}/{key}.json")

    def receipts(self) -> Iterator[dict[str, Any]]:
        """Every receipt."""
        for _, found in self.with_receipts(sorted(self.done()), lambda key: key):
            if found is not None:
                yield found

    def with_receipts(
        self, ones: Iterable[_T], key: Callable[[_T], str]
    ) -> Iterator[tuple[_T, dict[str, Any] | None]]:
        """Each with its receipt; of an object store some are read at a time, as each is a request.

        Args:
            ones: Units, or what stands for them.
            key: The key of one; empty if its receipt is not wanted.
        """

        def read(one: _T) -> dict[str, Any] | None:
            wanted = key(one)
            return self.receipt(wanted) if wanted else None

        if isinstance(self.place, LocalPlace):
            for one in ones:
                yield one, read(one)
            return
        left = iter(ones)
        with ThreadPoolExecutor(_REQUESTS) as pool:
            while batch := list(itertools.islice(left, 8 * _REQUESTS)):
                yield from zip(batch, pool.map(read, batch), strict=True)

    def write_receipt(self, receipt: Mapping[str, Any], *, flush: bool = False) -> None:
        """Say that a unit is done; its outputs must be there. `flush` waits until it is on the disk."""
        key = str(receipt["key"])
        name = f"{self._prefix}done/{key[:2]}/{key}.json"
        self.place.put(name, canonical(dict(receipt)))
        if flush:
            self.place.flush([name])
        # A removal is a request too. Without a failure before this run, only an earlier attempt can have left one.
        if self._failures is not False or int(receipt.get("attempt", 1)) > 1:
            self.place.remove(f"{self._prefix}failed/{key}.json")

    def forget(self, key: str) -> None:
        """Remove what is known of a unit that is wanted no more; its outputs are not touched."""
        self.place.remove(f"{self._prefix}done/{key[:2]}/{key}.json")
        self.place.remove(f"{self._prefix}failed/{key}.json")

    # Intents

    def intents(self, listed: Iterable[Entry] | None = None) -> set[str]:
        """The keys of all units of which an attempt said what it would rename, and left no receipt; of all files if `listed`."""
        return set(self._keys("intents", listed))

    def intent(self, key: str) -> dict[str, Any] | None:
        """What attempts at a unit were about to rename: ``input``, the URIs, and ``output``, each with size and hash."""
        return self._read(f"intents/{key}.json")

    def write_intent(
        self,
        key: str,
        sources: Collection[str],
        outputs: Iterable[Mapping[str, Any]],
        *,
        again: bool = True,
        flush: bool = False,
    ) -> None:
        """Say what an attempt is about to rename, beside what earlier ones of the unit said: their files may be there.

        Args:
            key: Of the unit.
            sources: The URIs that it reads.
            outputs: Each with name, size and hash; without a hash, with what else tells its content.
            again: Whether this run may have been at it before; else nothing is asked where no earlier run left any intent.
            flush: Whether to wait until it is on the disk.
        """
        name = f"{self._prefix}intents/{key}.json"
        before = None if self._intents is False and not again else self.intent(key)
        told = [*(before or {}).get("output", []), *outputs]
        once = {canonical(dict(one)): one for one in told}
        self.place.put(name, canonical({"key": key, "input": sorted(sources), "output": list(once.values())}))
        if flush:
            self.place.flush([name])

    def drop_intent(self, key: str) -> None:
        """Remove it: a receipt tells of its files, or they are gone."""
        self.place.remove(f"{self._prefix}intents/{key}.json")

    def drop_intents(self, keys: Collection[str]) -> None:
        """Remove several; of an object store some at a time, as each is a request."""
        if isinstance(self.place, LocalPlace):
            for key in keys:
                self.drop_intent(key)
            return
        with ThreadPoolExecutor(_REQUESTS) as pool:
            for _ in pool.map(self.drop_intent, keys):
                pass

    # Failures

    def failed(self, listed: Iterable[Entry] | None = None) -> set[str]:
        """The keys of all units that failed and have not succeeded since; of all files if they are `listed`."""
        return set(self._keys("failed", listed))

    def listed(self) -> dict[str, Entry] | None:
        """Every file of an object store by name, so that none is asked for alone; None of a folder of this machine."""
        if isinstance(self.place, LocalPlace):
            return None
        return {entry.name: entry for entry in self.place.entries()}

    def failure(self, key: str) -> dict[str, Any] | None:
        """The last failure of a unit."""
        found = self._read(f"failed/{key}.json")
        return found if found is not None and isinstance(found.get("error"), dict) else None

    def write_failure(self, receipt: Mapping[str, Any]) -> None:
        """Keep why a unit failed."""
        self.place.put(f"{self._prefix}failed/{receipt['key']}.json", canonical(dict(receipt)))

    # Results

    def stands(
        self, output: Mapping[str, Any], listed: Mapping[str, Entry] | None = None, *, read: bool = False
    ) -> bool:
        """Whether an output of a receipt is there as it was written.

        Another time, as of a copy, is settled by its hash; nothing else is read.

        Args:
            output: As a receipt has it.
            listed: Every file of the place by name, where asking for each would be slow.
            read: Whether its bytes are hashed again whatever its time says.
        """
        name = str(output["name"])
        found = self.place.stat(name) if listed is None else listed.get(name)
        if found is None or found.size != output["size"]:
            return False
        if read and output.get("hash"):
            with self.place.local(name) as path:
                return hashed(path)[1] == str(output["hash"])
        if all(output.get(field, value) == value for field, value in found.identity.items()):
            return True
        if not isinstance(self.place, LocalPlace) or not output.get("hash"):
            return False
        return hashed(self.place.path(name))[1] == str(output["hash"])

    def is_done(
        self,
        receipt: Mapping[str, Any],
        listed: Mapping[str, Entry] | None = None,
        *,
        unit: Mapping[str, Any] | None = None,
        verify: str = "hash",
    ) -> bool:
        """Whether every output of a receipt is there as it was written, or every key in its store.

        Args:
            receipt: Of a unit.
            unit: The unit, which names its store; a store that is not named is not asked.
            listed: Every file of the place by name, where asking for each would be slow.
            verify: With ``decode`` results that were never decoded are not done, and the bytes of others are read.

        Raises:
            TareError, OSError: The place, or the store, cannot be asked.
        """
        made = [one for one in receipt.get("output", []) if "name" in one]
        decoded = verify == "decode"
        if unit is not None and receipt.get("objects"):
            from tare.scale import stored

            return stored.has(unit["options"], receipt["objects"])
        if made and decoded and receipt.get("verify") != "decode":
            return False
        return all(self.stands(one, listed, read=decoded) for one in made)

    # Plans

    def begin(self, plan: Plan) -> None:
        """Keep a plan that is started here, and remember that it is the last."""
        if not plan.base or not self.inner:
            return
        self._keep(plan)
        self._starts.add(plan.id)

    def allow(self, id: str, overwrite: bool) -> None:
        """Keep whether every run of a plan may replace what is not from here.

        Who made it for this destination says so here: the plan itself may come from anywhere.
        """
        name = f"{self._prefix}overwrite/{id}"
        if overwrite:
            self.place.put(name, b"")
        elif self.place.stat(name) is not None:
            self.place.remove(name)

    def allows(self, id: str) -> bool:
        """Whether every run of a plan may replace what is not from here."""
        return self.place.stat(f"{self._prefix}overwrite/{id}") is not None

    def others(self, id: str) -> dict[str, str] | None:
        """The names of a plan's results that were somebody else's when it was begun, with their sources, as far as known.

        None if it was never begun here.
        """
        found = self._read(f"begun/{id}.json")
        if found is None:
            return {} if id in self.order() else None
        return {str(name): str(uri) for name, uri in found.items()}

    def write_begun(self, id: str, others: Mapping[str, str]) -> None:
        """Keep that a plan is begun, before it makes anything, and what was somebody else's then."""
        self.place.put(f"{self._prefix}begun/{id}.json", canonical(dict(others)))

    def turn(self, id: str) -> tuple[str, bool]:
        """Of `put`, what the turn of a plan is called, and whether it has begun; another plan at the same path ends it."""
        return self._starts.turn(id)

    def take_turn(self, turn: str) -> None:
        """Note a turn; what was kept of those before goes."""
        self._starts.note(turn)
        folder = f"{self._prefix}begun/"
        for entry in self.place.entries(folder.rstrip("/")):
            kept = _OF_A_TURN.fullmatch(entry.name.removeprefix(folder))
            if kept is not None and kept["turn"] != turn:  # nothing else there is ours
                self.place.remove(entry.name)

    def keys_are_kept(self, turn: str) -> bool:
        """Whether what the keys of a plan named when its turn began is kept, of every unit."""
        return self.place.stat(f"{self._prefix}begun/{turn}.json") is not None

    def begun_keys(self, turn: str, key: str) -> Mapping[str, str] | None:
        """What the keys of a unit named when its plan's turn began, as hashes; None if that was not kept."""
        if not self.keys_are_kept(turn):
            return None
        return self._read(f"begun/{turn}-{key}.json") or {}

    def write_begun_keys(self, turn: str, key: str, hashes: Mapping[str, str]) -> None:
        """Write what the keys of a unit name; it counts from `keep_keys` on."""
        self.place.put(f"{self._prefix}begun/{turn}-{key}.json", canonical(dict(hashes)))

    def keep_keys(self, turn: str, written: Iterable[str]) -> None:
        """Keep what the keys of a plan name, on the disk, before any is set: of the units ``written``; no other names any."""
        self.place.flush(f"{self._prefix}begun/{turn}-{key}.json" for key in written)
        self.write_begun(turn, {})
        self.place.flush([f"{self._prefix}begun/{turn}.json"])

    def order(self) -> list[str]:
        """The ids of the plans that were started here, the last one last."""
        return self._starts.ids()

    def plans(self) -> Iterator[Plan]:
        """The plans that are kept here: the one that was started last first; each is open until the next."""
        from tare.scale.plan import read_plan

        order = {id: number for number, id in enumerate(self.order())}
        for id in sorted(self.plan_ids(), key=lambda one: order.get(one, -1), reverse=True):
            with self.place.local(f"{self._prefix}plans/{id}.jsonl") as path:
                try:
                    plan = read_plan(path)
                except PlanError:  # half written by a machine that lost its power: its receipts still count
                    continue
                yield plan

    def plan_ids(self) -> list[str]:
        """The ids of the plans that are kept here."""
        folder = f"{self._prefix}plans/"
        found = (one.name.removeprefix(folder) for one in self.place.entries(folder.rstrip("/")))
        ids = (name.removesuffix(".jsonl") for name in found if name.endswith(".jsonl"))
        return [id for id in ids if id.isalnum()]

    def drop_plans(self, live: Collection[str], overruled: Collection[str]) -> None:
        """Remove plans that say nothing any more: a folder that is converted each day has one of each day.

        Args:
            live: Those that something stands for. They stay, and so do those that were started last.
            overruled: Those that a later one speaks over. While one of these stays, so do those that came after it.
        """
        order = self.order()
        started = {id: number for number, id in enumerate(order)}
        keep, pinned = {*live, *order[-_LAST_PLANS:]}, False
        gone = set()
        for id in sorted(self.plan_ids(), key=lambda one: started.get(one, -1)):
            if id in keep or pinned:
                keep.add(id)
                pinned |= id in overruled
            else:
                self.place.remove(f"{self._prefix}plans/{id}.jsonl")
                self.allow(id, overwrite=False)
                gone.add(id)
        for id in gone:
            self.place.remove(f"{self._prefix}begun/{id}.json")
        self._starts.drop({*order} - keep)  # and no other: it may have been started meanwhile

    def kept(self, plan: Plan) -> Plan:
        """The plan as it is kept beside the receipts; of an object store, a copy on this machine."""
        from tare.scale.plan import read_plan

        name = self._keep(plan)
        if isinstance(self.place, LocalPlace):
            return read_plan(self.place.path(name))
        folder = tempfile.mkdtemp(prefix=prefix("plan"))
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        copy = os.path.join(folder, f"{plan.id}.jsonl")
        shutil.copyfile(plan.path, copy)
        return read_plan(copy)

    def _keep(self, plan: Plan) -> str:
        """The name under which a plan is kept; it is copied if it is not there."""
        name = f"{self._prefix}plans/{plan.id}.jsonl"
        plan.check()
        if not self._is_kept(plan, name):
            path = self.place.scratch(f"{attempt_of(plan.id, 'plan')}/plan.jsonl")
            shutil.copyfile(plan.path, path)
            self.place.settle([path])  # half a plan would stop every later start
            self.place.commit(path, name)
        return name

    def _is_kept(self, plan: Plan, name: str) -> bool:
        """Whether a plan is there: a file of its name that holds another would be carried out in its place."""
        entry = self.place.stat(name)
        if entry is None or entry.size != os.path.getsize(plan.path):
            return False
        if not isinstance(self.place, LocalPlace):
            return True
        kept = self.place.path(name)
        return os.path.samefile(kept, plan.path) or filecmp.cmp(kept, plan.path, shallow=False)

    def manifest_plan(self) -> str:
        """The plan whose manifest is there; empty if there is none. Its end alone is read."""
        found = self.place.stat(f"{self._prefix}manifest.json")
        if found is None:
            return ""
        end = self.place.read(f"{self._prefix}manifest.json", max(0, found.size - 200), found.size)
        told = re.search(rb'^ "plan": "(\w+)"', end, re.MULTILINE)
        return told[1].decode() if told else ""

    def drop_manifest(self) -> None:
        """Remove the manifest, before results that it tells of are made anew."""
        if self.inner:
            self.place.remove(f"{self._prefix}manifest.json")

    def write_manifest(self, text: bytes) -> None:
        """Keep the manifest."""
        self.place.put(f"{self._prefix}manifest.json", text)

    def sweep(self) -> int:
        """Remove what attempts that are over left half written; how many files.

        Over is what is older than a day, or was written by a process that is gone, of this host and of our namespace.
        """
        return (
            sweep(self.place.path(self.place.writing), is_over) if isinstance(self.place, LocalPlace) else 0
        )

    def _keys(self, folder: str, listed: Iterable[Entry] | None = None) -> Iterator[str]:
        under = f"{self._prefix}{folder}"
        for entry in self.place.entries(under) if listed is None else listed:
            name = entry.name.rsplit("/", 1)[-1].removesuffix(".json")
            if entry.name.startswith(f"{under}/") and entry.name.endswith(".json") and _KEY.fullmatch(name):
                yield name

    def _read(self, name: str) -> dict[str, Any] | None:
        try:
            found = json.loads(self.place.read(f"{self._prefix}{name}"))
        except (FileNotFoundError, NotADirectoryError, ValueError):
            return None
        return found if isinstance(found, dict) else None


def _refuse_links(place: LocalPlace) -> None:
    for name in (".tare", *(f".tare/{folder}" for folder in _FOLDERS)):
        path = place.path(name)
        if os.path.islink(path):
            raise UsageError(f"{printable(path)} is a link, which is not followed: put a folder in its place")
