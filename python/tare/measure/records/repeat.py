"""Measuring as an earlier run did: only cases of one share, codec and medium can be compared."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tare.errors import UsageError
from tare.measure.analysis.ranked_cases import base_of, is_ranked, main_stage

if TYPE_CHECKING:
    from tare.measure.settings import Settings

__all__ = ["settings_like", "weighed_codecs"]


def settings_like(record: Mapping[str, Any], settings: Settings) -> Settings:
    """Settings that measure what an earlier run weighed: the same part of the data, codecs, media and base.

    Args:
        record: The earlier run's record.
        settings: What was asked for; what differs from its default stays.

    Returns:
        The settings with share, codecs, media, base, kind, threads, seed and bound of the data as
        in the record, and the use (profile, link, constraints) that it was made for.

    Raises:
        UsageError: The record weighed nothing.
    """
    stage, share = main_stage(record)
    codecs = weighed_codecs(record)
    if stage != "weigh" or not codecs:
        raise UsageError("the record to measure like has weighed nothing: it ended before")
    cases = [case for case in _weighed(record) if case["labels"].get("size", "1") == share]
    labels = cases[0]["labels"]
    asked = record.get("settings") or {}
    return replace(
        settings,
        share=settings.share or float(share),
        codecs=settings.codecs or codecs,
        media=settings.media or tuple(sorted({case["labels"].get("medium", "memory") for case in cases})),
        base=settings.base or base_of(record),
        kind=settings.kind or labels.get("kind", "own"),
        threads="all" if "all" in (settings.threads, labels.get("threads")) else 1,
        seed=settings.seed or int(record.get("seed") or 0),
        max_bytes=settings.max_bytes or asked.get("max_bytes"),
        enough_bytes=settings.enough_bytes or (None if settings.max_bytes else asked.get("enough_bytes")),
        profile=settings.profile or asked.get("profile"),
        link=settings.link or asked.get("link"),
        must=settings.must or tuple(asked.get("must") or ()),
        allow_loss=settings.allow_loss or tuple(asked.get("allow_loss") or ()),
    )


def weighed_codecs(record: Mapping[str, Any]) -> tuple[str, ...]:
    """The codecs that a run weighed, sorted."""
    return tuple(sorted({case["labels"]["codec"] for case in _weighed(record)}))


def _weighed(record: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [case for case in record.get("cases", ()) if case.get("stage") == "weigh" and is_ranked(case)]
