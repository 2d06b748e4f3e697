"""The codecs of a run on one medium: tried once, then sampled in rounds.

Codecs of one library share a process, kept for all its rounds. Method: docs/guides/how-tare-measures.md.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from tare.errors import WorkerError
from tare.measure.cases import NOT_REACHED
from tare.measure.environment import system_load
from tare.measure.plan.subsets import refusal
from tare.measure.sampling.case_runner import Seat
from tare.measure.stages import FEWEST
from tare.measure.stages.rounds import FEW, sample_rounds
from tare.measure.stages.standings import Uses, rounds_of
from tare.measure.stages.trials import TRIAL, Trials
from tare.measure.stages.weigh import twin_case
from tare.measure.verdict.default_use import has_short_lines, sends_lines
from tare.measure.worker_client.languages import Foreign

if TYPE_CHECKING:
    from tare.codec import Codec
    from tare.measure.session import Part, Session
    from tare.measure.worker_client.client import Worker

__all__ = ["Measurement", "lines_share"]

# Below so many bytes in memory a small part of the data would take as long as all of it.
_SMALL_BYTES = {"table": 4 << 20, "document": 1 << 20}
# Lines measured as messages, in bytes in memory: a message costs the same in the first thousand lines and in the next.
_LINES_BYTES, _NEARLY = 8 << 20, 0.7
# Times over the best that a codec may cost on the small part to be measured on the whole.
_PROMISING = 2.0
# Times over the best, in the use that suits a codec most, up to which it may be the best: after its trial alone, and
# after a round, whose figures are less far off.
_NEAR, _NEAR_SAMPLED = 1.6, 1.3
# With less time than this, in seconds, no further codec is tried.
_WORTH_S = 1.0
# Starting, loading and trying the second process of the base takes about as long; then it has no rounds.
_CONTROL_S = 0.5
_KEPT_EVERY_S = 5.0
"""Seconds after which the rounds so far go into the journal."""
# When the first answer is due, though the pass is not over: after this, and a share of the limit.
_ANSWER_S, _ANSWER_SHARE, _TIMED = 1.5, 0.15, 4
_UNLIMITED_S = 60.0
_MEASURED = ("ok", "lossy", "unproven")
_OF_BASE = 5
"""Rounds of the base and of its twin, which show what is noise; of a base that may be the best there are more."""


class Measurement:
    """The codecs of a run on one medium: tried once, then sampled in rounds.

    Args:
        session: The run.
        base: Base codec of the ratios.
        part: The data they are measured on.
        medium: ``memory``, ``file`` or ``store``.
        asked: Whether it was asked for; else it stands in for media with two ends, which are too slow to try
            everything on.
    """

    def __init__(self, session: Session, base: Codec, part: Part, medium: str, *, asked: bool = True) -> None:
        self.session, self.base, self.part, self.medium = session, base, part, medium
        self._stage = "weigh" if asked else "screen"
        self.uses = Uses(session)
        self.seats: list[Seat] = []
        self.scouts: list[Seat] = []
        self._controls: list[Seat] = []
        self._rounds = 0
        self._answered = False
        self._common: set[Seat] = set()
        self._column = column_read(session) if medium in ("memory", "file") else ""
        self._before = system_load.snapshot()

    def first_pass(self, codecs: Sequence[Codec], grains: Sequence[str], until_s: float) -> None:
        """Writes and reads with each codec, the likeliest first, and compares the data read with the original.

        Args:
            codecs: What people use, or what the user named.
            grains: ``whole``, and ``each`` for one call a document.
            until_s: Elapsed seconds of the run after which no further codec begins, but the base and those named.
        """
        lines_first = "each" in grains and sends_lines(self.session.record)
        wanted = _in_turn(codecs, grains, lines_first=lines_first)
        lines = (
            self.session.drawn(self.part, lines_share(self.part.bytes_memory)) if "each" in grains else None
        )
        seats = [
            self._seat(codec, lines if lines and grain == "each" else self.part, self._stage, grain)
            for codec, grain in wanted
        ]
        self._common = set(seats)
        self._try(seats, self.part, until_s, fewest=FEWEST, grain="each" if lines_first else "whole")
        self._keep()

    def variants(self, codecs: Sequence[Codec], until_s: float) -> None:
        """Tries variants of what people use: their libraries run already, and hold the data.

        Args:
            codecs: Codecs, the likeliest first.
            until_s: Elapsed seconds of the run at which it should end.
        """
        if until_s <= self.session.elapsed_s:
            for codec in codecs:
                self._case(codec, self.part, self._stage, "whole")["reason"] = NOT_REACHED
        elif codecs:
            self._try([self._seat(codec, self.part, self._stage) for codec in codecs], self.part, until_s)
            self._keep()

    def answer(self) -> None:
        """Gives the first answer, of what was tried so far."""
        self._answered = True
        self._keep()
        self.session.verdict("pass", "first answer")

    def others(self, codecs: Sequence[Codec], until_s: float) -> None:
        """Tries further codecs: on a small part first, where the whole is large, and the promising ones on the whole.

        Args:
            codecs: Codecs, the likeliest first.
            until_s: Elapsed seconds of the run at which it should end.
        """
        session = self.session
        small = self.small_part()
        if not codecs or until_s - session.elapsed_s < _WORTH_S:
            for codec in codecs:
                self._case(codec, small, "screen", "whole")["reason"] = NOT_REACHED
            return
        if small is self.part:
            self._try([self._seat(codec, small, "weigh") for codec in codecs], small, until_s)
            self._keep()
            return
        base = next((one for one in self.seats if one.codec == self.base and not _each(one)), None)
        scouts = [self._seat(codec, small, "screen") for codec in (self.base, *codecs)]
        now_s = session.elapsed_s
        self._try(scouts, small, now_s + 0.6 * (until_s - now_s), into=self.scouts)
        tried = [scout for scout in scouts[1:] if scout.case["status"] in ("ok", "lossy")]
        if base is not None and base.samples and scouts[0].samples:
            predicted = self.uses.predicted(tried, (scouts[0], base), self._plain())
        else:
            predicted = dict.fromkeys(tried, 1.0)
        session.drop(scouts[0].case)  # it was asked for the others' sake
        self.scouts.remove(scouts[0])
        for scout in tried:
            scout.distance = predicted[scout]
        promising = [
            scout for scout in sorted(tried, key=predicted.__getitem__) if predicted[scout] <= _PROMISING
        ]
        self._release(self.scouts)
        seats = [self._seat(scout.codec, self.part, "weigh") for scout in promising]
        self._try(seats, self.part, until_s)
        for scout in promising:
            seat = next(one for one in seats if one.codec == scout.codec)
            if seat.case["status"] == "pending":  # the small part is all that is known of it
                session.drop(seat.case)
                self.seats.remove(seat)
            else:
                session.drop(scout.case)
                self.scouts.remove(scout)
        self._keep()

    def control(self, until_s: float) -> None:
        """Adds the base once more in a process of its own, which shows what is noise, and the copying of its bytes."""
        session = self.session
        case = self._case(self.base, self.part, "weigh", "whole")
        if case["status"] not in _MEASURED or until_s - session.elapsed_s < _CONTROL_S:
            return
        twin = Seat(session, twin_case(session, case, self.base, self.part), self.base, self.part)
        copy = _Copy(session, session.case("copy", self.part, "weigh"), self.base, self.part)
        copy.case["bytes"] = case.get("bytes")
        self._try([twin, copy], self.part, until_s, into=self._controls)
        self._keep()

    def rounds(self, until_s: float, *, once: bool = False) -> None:
        """Samples all seats in turn, those near the best more often, until their figures are narrow or the time is up.

        Args:
            until_s: Elapsed seconds of the run at which it ends.
            once: Whether one round of those near the best is enough for now.
        """
        seats = [*self.seats, *self._controls]
        session = self.session
        for worker in _workers(seats):
            session.settle(worker)

        kept_s = math.inf

        def near() -> set[Seat]:
            nonlocal kept_s
            close = self._near(seats)
            first = kept_s == math.inf and all(rounds_of(seat) >= FEW for seat in close if seat.alive)
            if first or session.elapsed_s - kept_s > _KEPT_EVERY_S:
                self._keep(saved=True)
                kept_s = session.elapsed_s
            return close

        try:
            self._rounds = sample_rounds(
                session, seats, near, self._common, first=self._rounds, until_s=until_s, once=once
            )
        finally:
            self._keep(saved=True)

    def finish(self) -> None:
        """Ends every worker; at once where the time is over, as giving back what they hold takes long."""
        if self.session.elapsed_s > self.session.end_s:
            self.session.kill_workers()
        self._release([*self.seats, *self._controls, *self.scouts])

    def small_part(self) -> Part:
        """Returns the part that further codecs are tried on first: the whole where that is small."""
        least = _SMALL_BYTES[self.part.kind]
        if self.part.bytes_memory <= 2 * least:
            return self.part
        return self.session.part(float(f"{self.part.share * least / self.part.bytes_memory:.2g}"))

    # --- private ----------------------------------------------------------------

    def _case(self, codec: Codec, part: Part, stage: str, grain: str) -> dict[str, Any]:
        labels = {"grain": grain} if grain != "whole" else {}
        medium = "memory" if grain == "each" else self.medium
        return self.session.case(str(codec), part, stage, medium=medium, **labels)

    def _seat(self, codec: Codec, part: Part, stage: str, grain: str = "whole") -> Seat:
        seat = Seat(self.session, self._case(codec, part, stage, grain), codec, part)
        if stage == "weigh" and self._column and not seat.language and not refusal(codec, self._column):
            seat.part_read = self._column
            seat.operations += ("subset",)
        return seat

    def _try(
        self,
        seats: Sequence[Seat],
        part: Part,
        until_s: float,
        into: list[Seat] | None = None,
        *,
        fewest: int = 0,
        grain: str = "",
    ) -> None:
        """Try the seats that an interrupted run has not finished; all of them join the others."""
        due = [seat for seat in seats if _rounds_kept(seat.case) < FEW]
        known = self.seats if into is None else into
        known += due

        def tell(done: int, seat: Seat) -> None:
            self.session.tell("pass", done, len(due), str(seat.codec))
            if not self._answered and self._is_answer_due():
                self.answer()

        running = [seat for seat in self.seats if seat.part is part]
        for worker in _workers(running):
            self.session.loosen(worker)
        trials = Trials(self.session, due, part, running, fewest=fewest, grain=grain)
        trials.run(until_s, last=True, on_done=tell)

    def _is_answer_due(self) -> bool:
        limit_s = self.session.settings.limit_s or _UNLIMITED_S
        timed = sum(bool(seat.samples) for seat in self.seats)
        return timed >= _TIMED and self.session.elapsed_s > _ANSWER_S + _ANSWER_SHARE * limit_s

    def _near(self, seats: Sequence[Seat]) -> set[Seat]:
        """Those that may be the best of some use, and the base with its controls."""
        lines = any(map(_each, self.seats)) and has_short_lines(self.session.block)
        for each in (False, True):
            self.uses.measure_distances(
                (one for one in self.seats if one.samples and _each(one) == each),
                messages=each if lines else None,
            )
        return {
            seat
            for seat in seats
            if seat.distance <= _near_limit(seat) or self._is_compared(seat) or self._is_users_own(seat)
        }

    def _is_compared(self, seat: Seat) -> bool:
        """Returns true for what all others are held against, until it has so many rounds: the base, its twin, copying."""
        if isinstance(seat, _Copy):
            return rounds_of(seat) < FEW
        if seat.codec != self.base or _each(seat):
            return False
        if "twin" not in seat.case["labels"]:
            return rounds_of(seat) < _OF_BASE
        base = max((rounds_of(one) for one in self.seats if one.codec == self.base), default=0)
        return rounds_of(seat) < max(_OF_BASE, base)

    def _is_users_own(self, seat: Seat) -> bool:
        """Returns true for the usual codec of the user's own file, which ratios refer to, until it has two rounds."""
        name = "+".join(filter(None, (seat.codec.format.id, seat.codec.compressor)))
        return seat in self._common and name == self.session.dataset.stored_as and rounds_of(seat) < 2

    def _plain(self) -> list[Seat]:
        return [seat for seat in self.seats if not _each(seat)]

    def _keep(self, *, saved: bool = False) -> None:
        """Put the samples so far into the cases; and into the journal, where there are enough to go on with."""
        after = system_load.snapshot()
        stalled = self._before.stalled_share(after)
        for seat in [*self.seats, *self._controls, *self.scouts]:
            if seat.samples and seat.stands:
                seat.forget(TRIAL)
                launch = seat.launch(1, stalled, after.load)
                seat.case["launches"] = []
                if saved:
                    self.session.save_launch(seat.case, launch)
                else:
                    seat.case["launches"] = [launch]
            if saved:
                self.session.save_case(seat.case)

    def _release(self, seats: Iterable[Seat]) -> None:
        seats = list(seats)
        workers = {seat.worker for seat in seats if seat.worker is not None}
        for worker in workers:
            worker.quit()
        for worker in workers:
            self.session.release(worker)
        for seat in seats:
            seat.alive = False


def lines_share(total: float) -> float:
    """Returns the share of the lines of a file that are measured as messages, one call each.

    Args:
        total: Bytes of all lines in memory.

    >>> lines_share(1e6), lines_share(420e6)
    (1.0, 0.02)
    """
    share = _LINES_BYTES / max(1.0, total)
    return 1.0 if share > _NEARLY else float(f"{share:.2g}")


def _workers(seats: Iterable[Seat]) -> set[Worker]:
    """Returns the workers that live."""
    return {seat.worker for seat in seats if seat.worker is not None and seat.worker.alive}


def _is_foreign(codec: Codec) -> bool:
    stand_in: object = codec
    return isinstance(stand_in, Foreign)


def _in_turn(
    codecs: Sequence[Codec], grains: Sequence[str], *, lines_first: bool = False
) -> list[tuple[Codec, str]]:
    """Each codec in each grain. Of lines a message and a whole file by turns: what compresses is first of the files.

    Args:
        codecs: The codecs, the likeliest first.
        grains: ``whole``, and ``each`` for one call a line.
        lines_first: Whether all messages come before the first file: the answer is of them.
    """
    if len(grains) == 1:
        return [(codec, grains[0]) for codec in codecs]
    # A sequence of documents is no document.
    each = [(codec, "each") for codec in codecs if not _is_foreign(codec) and not codec.format.sequence]
    whole = [(codec, "whole") for codec in sorted(codecs, key=lambda codec: codec.compressor is None)]
    if lines_first:
        return each + whole
    turns = itertools.chain.from_iterable(itertools.zip_longest(each, whole))
    return [one for one in turns if one is not None]


def column_read(session: Session) -> str:
    """Returns the part of a table that is read alone, for the use ``random``: the column in the middle, or near it, whose name no other has; empty for documents."""
    dataset = session.dataset
    if dataset.kind != "table" or not dataset.value.num_columns:
        return ""
    names = dataset.value.column_names
    middle = len(names) // 2
    alone = (name for name in [*names[middle:], *reversed(names[:middle])] if names.count(name) == 1)
    return f"column:{name}" if (name := next(alone, None)) is not None else ""


class _Copy(Seat):
    """Copying the base's encoded bytes: no reading of values is faster."""

    def __init__(self, session: Session, case: dict[str, Any], base: Codec, part: Part) -> None:
        super().__init__(session, case, base, part)
        self.operations = ("copy",)

    def ready(self, *, verify: bool = False) -> None:
        """Has the base made ready, whose bytes are copied; nothing is decoded or compared."""
        try:
            self.prepare(cold=False)
            self.case["status"] = "ok"
        except WorkerError as error:
            self.lose(error)


def _rounds_kept(case: dict[str, Any]) -> int:
    """Rounds of a case that an interrupted run left."""
    counts = [len(columns["round"]) for launch in case["launches"] for columns in launch["samples"].values()]
    return min(counts, default=0)


def _near_limit(seat: Seat) -> float:
    return _NEAR_SAMPLED if rounds_of(seat) else _NEAR


def _each(seat: Seat) -> bool:
    return bool(seat.case["labels"].get("grain") == "each")
