"""What a run is asked for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

__all__ = ["Settings"]


@dataclass(frozen=True)
class Settings:
    """What the user asked for; ``tare measure --help`` explains each.

    Args:
        profile: Profile of the headline; None chooses by the kind of data.
        time_s: Time limit of the run in seconds; 0 for none, None for what is usual for the size of the data.
        codecs: Codec ids to weigh; None for every installed candidate.
        exclude: Codec or format ids to leave out.
        where: Levels of factors that a plan's cases must have, by the factor's name; one that ends
            in ``*`` stands for all that begin so.
        media: Media; None chooses by the kind of data.
        link: Emulated or assumed link, ``RATE,RTT``.
        remote: ``ssh://host`` for the medium ``remote``.
        threads: 1 or ``all``.
        base: Base codec of the ratios; None chooses by the kind of data.
        allow_loss: Patterns of columns or paths that may be lossy.
        must: Hard constraints.
        quick: Three launches instead of five.
        stop_s: Seconds at which the growth curves of a plan end; None for the plan's.
        grow: Follow growth by a factor of two up to the full size.
        directory: Where the file medium writes.
        seed: Seed of every random choice.
        deadline_s: Time limit of one operation in seconds.
        kind: In-memory kind that every codec must start from and end in, conversion in its time:
            ``own`` (each library's own, conversion not timed), ``arrow``, ``pandas``, ``polars``,
            ``records``; None for the kind of the object given, ``own`` for a path.
        share: Share of the loaded data to weigh, in (0, 1]; None for the largest that the time suffices for.
        max_bytes: Most bytes in memory to load of the data; None for what can be weighed in the time.
        enough_bytes: Bytes in memory that suffice of a file whose items can be read from all over it; None for no
            fewer than ``max_bytes``, or, where that is None too, for what the time suffices for.
        workers: Commands of further workers, by name.
        exchange: Whether codecs of different languages read each other's bytes, after all else.
        deep: Whether peaks of memory and growth are measured too.
        all_codecs: Whether formats of one language are measured too, whatever the data is.
    """

    profile: str | None = None
    time_s: float | None = None
    codecs: tuple[str, ...] | None = None
    exclude: tuple[str, ...] = ()
    where: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    media: tuple[str, ...] | None = None
    link: str | None = None
    remote: str | None = None
    threads: int | str = 1
    base: str | None = None
    allow_loss: tuple[str, ...] = ()
    must: tuple[str, ...] = ()
    quick: bool = False
    stop_s: float | None = None
    grow: bool = False
    directory: str | None = None
    seed: int = 0
    deadline_s: float = 30.0
    kind: str | None = None
    share: float | None = None
    max_bytes: int | None = None
    enough_bytes: int | None = None
    workers: Mapping[str, str] = field(default_factory=dict)
    exchange: bool = False
    deep: bool = False
    all_codecs: bool = False

    @property
    def limit_s(self) -> float:
        """Returns the time limit in seconds; 0 for none."""
        return self.time_s or 0.0
