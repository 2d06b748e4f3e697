"""Processes of this machine that die where no unit is to blame: before the first, and between two."""

from __future__ import annotations

import os
import signal
import time
from concurrent.futures import Future
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Any

import pytest

from tare import scale
from tare.scale import EngineError
from tare.scale.executors.inline import InlineEngine
from tare.scale.executors.local import LocalEngine
from tare.scale.plan import Plan


def planned(folder: Path, count: int = 40) -> Plan:
    (folder / "in").mkdir()
    for n in range(count):
        (folder / "in" / f"{n}.ndjson").write_text(f'{{"a": {n}}}\n')
    return scale.plan_convert(str(folder / "in"), str(folder / "out"), to="parquet")


def kill_one(engine: LocalEngine) -> None:
    """And wait until the pool knows."""
    os.kill(next(iter(engine._pool._processes)), signal.SIGKILL)
    until = time.monotonic() + 60
    while not engine._pool._broken:
        assert time.monotonic() < until
        time.sleep(0.01)


def test_a_process_that_dies_while_the_plan_is_made(tmp_path: Path) -> None:
    engine = LocalEngine(2)
    engine.start()
    plan = planned(tmp_path, 4)
    kill_one(engine)
    report = scale.run(plan, executor=engine)
    assert (report.done, report.failed) == (4, 0)


@pytest.mark.parametrize("taken", [0, 3])
def test_processes_that_die_as_soon_as_they_begin(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, taken: int
) -> None:
    """Before the first unit, or from then on: the run ends with words, and does not try for ever."""

    class Broken:
        left = taken

        def submit(self, function: Any, *given: Any) -> Future[Any]:
            if not Broken.left:
                raise BrokenProcessPool("a process died")
            Broken.left -= 1
            found: Future[Any] = Future()
            found.set_result(function(*given))
            return found

        def shutdown(self, **_: Any) -> None:
            pass

    plan = planned(tmp_path, 4)
    monkeypatch.setattr("tare.scale.executors.local.ProcessPoolExecutor", lambda *_, **__: Broken())
    with pytest.raises(EngineError, match="die as soon as they begin"):
        scale.run(plan, executor=LocalEngine(1))


def test_a_process_that_dies_between_two_receipts(tmp_path: Path) -> None:
    """Who takes receipts may take its time: the pool broke meanwhile, and takes no unit."""
    engine, plan = LocalEngine(2), planned(tmp_path)
    done = []
    for receipt in scale.iter_run(plan, executor=engine):
        done.append(receipt["status"])
        if len(done) == 5:
            kill_one(engine)
            time.sleep(0.3)
    assert done == ["done"] * 40


def test_what_was_withdrawn_may_have_been_begun(tmp_path: Path) -> None:
    """A unit that comes back to the queue is told so, whatever number its attempt has; so is all of an engine that repeats."""
    given: list[tuple[str, int, int]] = []

    class Withdrawing(InlineEngine):
        def submit(self, unit: dict[str, Any], settings: Any) -> Future[dict[str, Any]]:
            given.append((str(settings["key"]), settings["attempt"], settings["again"]))
            if len(given) == 1:
                lost: Future[dict[str, Any]] = Future()
                lost.cancel()
                lost.set_running_or_notify_cancel()
                return lost
            return super().submit(unit, settings)

    class Repeating(Withdrawing):
        repeats = True

    plan = planned(tmp_path, 2)
    assert scale.run(plan, executor=Withdrawing()).ok
    assert sorted((attempt, again) for _, attempt, again in given) == [(1, 0), (1, 0), (1, 1)]
    given.clear()
    for path in (tmp_path / "out").glob("*.parquet"):
        path.unlink()
    assert scale.run(plan, executor=Repeating()).ok
    assert {again for _, _, again in given} == {1}


def test_a_signal_while_a_unit_is_handed_over_blocks_none_after(monkeypatch: pytest.MonkeyPatch) -> None:
    """The handler of one that was pending may raise as soon as it is looked for: later ones must still come."""
    engine = LocalEngine(1)
    real = signal.pthread_sigmask
    before = real(signal.SIG_BLOCK, ())

    def interrupted(how: int, mask: Any) -> set[Any]:
        found = real(how, mask)
        if how == signal.SIG_BLOCK and mask:
            raise KeyboardInterrupt
        return found

    with monkeypatch.context() as patched:
        patched.setattr(signal, "pthread_sigmask", interrupted)
        with pytest.raises(KeyboardInterrupt):
            engine._submitted(os.getpid)
    assert real(signal.SIG_BLOCK, ()) == before
    engine.close()
