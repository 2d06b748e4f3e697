"""Who is weighed: those near the best in some use, by what screening timed.

What is asked of the route (the profile, the link, ``--must``) steers it: who fails a
condition by what its format is can never be chosen, and takes nobody's place.
"""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING

from tare.measure.constraints import barred, conditions
from tare.measure.cost import PROFILES
from tare.measure.recommend import default_profile
from tare.measure.seat import calls_ns

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tare.codec import Codec
    from tare.measure.cost import Profile
    from tare.measure.seat import Seat
    from tare.measure.session import Session

__all__ = ["BEATEN", "asked_use", "at_most_ns", "choose", "per_call_ns", "sure", "unfit"]

BEATEN = 5.0
"""Times over the best, in every use, above which a codec is not weighed."""
_SURE = 2
_LOSSY = 2.0
_MOST = 12
# Where a file's rate is not known yet: a page cache's, so that times count and not bytes.
_FILE_RATE = 2e9
# Reading parts was not timed when this is asked, so the profile of it has no say.
_USES = ("cache", "message", "archive", "exchange")
_COLD = {"encode": "encode_ns", "write": "encode_ns", "decode": "decode_ns", "read": "decode_ns"}


def per_call_ns(seat: Seat, operation: str) -> float | None:
    """Least time of one call in nanoseconds: CPU where another process took the CPU, else wall.

    Of a few calls on a machine that may be busy the least is the nearest to what the codec takes.
    """
    columns = seat.samples.get(operation)
    if not columns:
        return None
    return min(calls_ns(columns))


def at_most_ns(seat: Seat, operation: str) -> float | None:
    """As `per_call_ns`; the first call's time, which is more, where no other was timed."""
    timed = per_call_ns(seat, operation)
    cold = (seat.case.get("cold") or {}).get(_COLD.get(operation, ""))
    return timed if timed is not None else cold


def sure(seat: Seat) -> bool:
    """Whether each operation was timed twice after its first call: less excludes nobody."""
    return all(len(seat.samples.get(op, {}).get("batch", ())) >= _SURE for op in seat.operations)


def unfit(session: Session, codecs: Sequence[Codec]) -> dict[Codec, str]:
    """The codecs that fail a condition of the headline's profile or of ``--must`` by their flags, and why."""
    profile = PROFILES[default_profile(session.record)]
    wanted = conditions(profile.conditions, session.settings.must)
    found = {codec: barred(session.record["codecs"][str(codec)], wanted) for codec in codecs}
    return {codec: why for codec, why in found.items() if why}


def asked_use(session: Session) -> Profile | None:
    """The use that the user asked for by ``--for`` or ``--link``; None if by neither."""
    settings = session.settings
    if settings.profile is None and settings.link is None:
        return None
    profile = PROFILES[default_profile(session.record)]
    # As in the verdict: the link is that of messages.
    return PROFILES["message"].with_link(settings.link) if profile.name == "message" else profile


def choose(
    seats: Sequence[Seat],
    base: Codec,
    most: int = _MOST,
    *,
    asked: Profile | None = None,
    barred: Mapping[Codec, str] | None = None,
) -> list[Codec]:
    """Who is weighed: within five times the best in some use, at most ``most``; the base always.

    Args:
        seats: Screened seats; each gets its ``distance``.
        base: The base codec.
        most: Most codecs to weigh.
        asked: The use that the user asked for, which names every second codec; None for none.
        barred: Codecs that can never be chosen, and why; they are not weighed.

    Returns:
        Codecs, best first; then those that may be better than what little was timed says.
    """
    rated = [seat for seat in seats if seat.case["status"] in ("ok", "lossy") and _both_times(seat)]
    fit = [seat for seat in rated if seat.codec not in (barred or ())]
    proven = [seat for seat in fit if seat.case["status"] == "ok"] or fit
    orders = []
    profiles = [PROFILES[name] for name in _USES]
    uses = [_use_of(profile) for profile in (profiles if asked is None else [asked, *profiles])]
    for use in uses:
        least = min((_cost(seat, use) for seat in proven), default=0.0) or 1e-12
        # What loses data is weighed only if it would win by far: it is never recommended unasked.
        worse = {seat.codec: _cost(seat, use) / least * (1.0 if seat in proven else _LOSSY) for seat in fit}
        for seat in fit:
            seat.distance = min(seat.distance, worse[seat.codec])
        orders.append([codec for codec in sorted(worse, key=worse.__getitem__) if worse[codec] <= BEATEN])
    # Each use names its best in turn, or the variants of one format would fill the table.
    turns = itertools.chain.from_iterable(itertools.zip_longest(*orders))
    if asked is not None:
        turns = itertools.chain.from_iterable(itertools.zip_longest(orders[0], turns))
    unsure = sorted((seat for seat in proven if not sure(seat)), key=lambda seat: seat.distance)
    named = (codec for codec in (*turns, *(seat.codec for seat in unsure)) if codec is not None)
    chosen = list(dict.fromkeys(named))[:most]
    if base not in chosen and any(seat.codec == base for seat in rated):
        chosen.append(base)
    return chosen


def _both_times(seat: Seat) -> bool:
    return len(seat.operations) > 1 and all(at_most_ns(seat, operation) for operation in seat.operations)


def _use_of(profile: Profile) -> tuple[float, float, float, float]:
    """A profile as the costs of screening have it; no part was read yet, and a file's rate is not known."""
    rate = profile.bytes_per_s if math.isfinite(profile.bytes_per_s) else _FILE_RATE
    return profile.writes, profile.reads, rate, profile.seconds_per_byte


def _cost(seat: Seat, use: tuple[float, float, float, float]) -> float:
    """Seconds that one use costs: writes, reads over a link of that rate, and what a byte is worth."""
    writes, reads, rate, per_byte = use
    encode_s, decode_s = ((at_most_ns(seat, operation) or 0.0) / 1e9 for operation in seat.operations[:2])
    size = float(seat.case["bytes"])
    return writes * encode_s + reads * (size / rate + decode_s) + per_byte * size
