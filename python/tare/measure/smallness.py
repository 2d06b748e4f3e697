"""Data so small that time decides nothing: the verdict then says so, and names a choice by fidelity and size."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from tare.measure import wording

if TYPE_CHECKING:
    from tare.measure.cost import Costed
    from tare.measure.recommend import Choice

__all__ = ["settled", "too_small"]

# One write and one read of every codec together take less than this, seconds.
MOMENT_S = 1e-3
# And in the whole use no codec costs so much more than another that a person would notice, seconds.
NOTICED_S = 10e-3
# One message is measured, but they are sent by the million: each microsecond counts.
REPEATED = ("message",)
# How reasons begin that are about differences of time, or about how sure those are.
OF_TIME = ("next: ", "a tie ", "provisional: the machine")


def too_small(verdict: Mapping[str, Any], choice: Choice) -> bool:
    """Whether the data is so small that no choice among the codecs can be noticed by its time.

    Args:
        verdict: The verdict by cost: its ``cost_s`` are compared.
        choice: The codecs that qualify, with their times for the whole data.
    """
    if choice.profile.name in REPEATED or len(choice.several) < 2:
        return False
    spent = [verdict["cost_s"][one.codec][0] for one in choice.several]
    moments = all(one.write_s + one.read_s < MOMENT_S for one in choice.several)
    return moments and max(spent) - min(spent) < NOTICED_S


def settled(verdict: dict[str, Any], choice: Choice) -> dict[str, Any]:
    """The verdict itself, or for such data one that says so and goes by fidelity, safety and size.

    The default choice kept every type if any codec did, runs no code when read if any does not,
    and is the smallest of those. ``small`` tells which of the two verdicts it is.

    Args:
        verdict: The verdict by cost.
        choice: What it was chosen from.
    """
    if not too_small(verdict, choice):
        return verdict | {"small": False}

    def place(one: Costed) -> tuple[bool, bool, float, float, str]:
        verify = choice.cases[one.codec].get("verify") or {}
        cost_s = verdict["cost_s"][one.codec][0]
        return verify.get("verdict") != "same", choice.runs_code(one.codec), one.bytes, cost_s, one.codec

    ranked = sorted(choice.several, key=place)
    winner = ranked[0]
    chosen = verdict | {
        "small": True,
        "route": f"{winner.codec}@{choice.profile.medium}",
        "codec": winner.codec,
        "key": winner.key,
        "runner_up": ranked[1].codec,
        "p_best": verdict["p"][winner.codec],
        "tie": [winner.codec],
        "named": True,
        "vague": False,
        "executes_code": choice.runs_code(winner.codec),
        # Noise and few launches make times doubtful, but times decide nothing here.
        "provisional": choice.predicted,
        "flips": [],
    }
    kept = wording.came_back(choice.cases[winner.codec])
    danger = (
        "; bytes from others can run code or crash it, so only read your own"
        if chosen["executes_code"]
        else ""
    )
    chosen["sentence"] = (
        f"Too small to matter: each of the {len(ranked)} codecs weighed writes and reads it in under "
        f"{MOMENT_S * 1e3:.0f} ms. Choose by fidelity and size; by default `{chosen['route']}`: "
        f"{wording.size(winner.bytes)}, {kept}{danger}."
    )
    was = wording.came_back(choice.cases[verdict["codec"]])
    chosen["reasons"] = [
        kept if line == was else line for line in verdict["reasons"] if not line.startswith(OF_TIME)
    ]
    return chosen
