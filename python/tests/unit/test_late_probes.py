"""Probes at the end of a run: what is not answered when the time is over was not probed, and nothing is started for it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from tare.codec import Codec
from tare.errors import WorkerError
from tare.measure.stages.probe import measure_fidelity


class _Worker:
    """Answers after so many seconds of the run, or not within the deadline."""

    alive = True

    def __init__(self, session: Any, takes_s: float) -> None:
        self.session, self.takes_s = session, takes_s

    def request(self, op: str, *, deadline_s: float, only: list[str], **_: Any) -> dict[str, Any]:
        if deadline_s < self.takes_s:
            self.session.elapsed_s += deadline_s
            self.alive = False
            raise WorkerError("no answer in time", type="timeout")
        self.session.elapsed_s += self.takes_s
        return {"cells": [{"probe": name, "status": "same"} for name in only]}


@pytest.mark.parametrize(("takes_s", "probed"), [(0.5, 1), (4.0, 0)])
def test_a_probe_that_does_not_end_in_time_is_left_out(takes_s, probed):
    """The limit is 10 s and it is 9 s: half a second is waited for; of four the record has nothing, and the run ends in time."""
    session: Any = SimpleNamespace(
        elapsed_s=9.0,
        start_s=0.5,
        stop_asked=False,
        limit_s=lambda share: 10.0 * share,
        dataset=SimpleNamespace(kind="document", items=1),
        settings=SimpleNamespace(workers={}),
        record={"fidelity": {"probes": {}}},
        part=lambda share: None,
        tell=lambda *_: None,
        journal=None,
        worker=lambda *_, **__: pytest.fail("nothing is started when the time is over"),
    )
    codec = Codec.parse("json:orjson")
    seat: Any = SimpleNamespace(codec=codec, worker=_Worker(session, takes_s))
    assert measure_fidelity(session, [codec], 9.5, [seat]) == probed
    assert list(session.record["fidelity"]["probes"]["values/1"]) == ["json:orjson"] * probed
    assert session.elapsed_s <= 10.5
