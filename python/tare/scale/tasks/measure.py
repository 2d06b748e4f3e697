"""`measure`: one host's whole grid for one dataset; what is compared is never split over units."""

from __future__ import annotations

import contextlib
import fcntl
import os
import tempfile
import time
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

from tare.errors import MissingLibrary, UsageError
from tare.scale.failures import HostBusy
from tare.scale.running import Made, Writing
from tare.scale.tasks.inputs import opened

__all__ = ["run"]


def run(unit: dict[str, Any], writing: Writing) -> Made:
    """Measure the codecs of the unit on its data, here, and keep the record; alone on this host.

    Raises:
        HostBusy: The load of this host is above what its cores carry.
        TareError, OSError: As `tare.measure`.
    """
    asked_s = time.monotonic()
    with _alone():
        waited_s = time.monotonic() - asked_s
        made = _measured(unit, writing)
    made.extra["waited_seconds"] = round(waited_s, 3)
    return made


@contextlib.contextmanager
def _alone() -> Iterator[None]:
    """Wait for another measurement of this user on this host: of a worker that joined late, or of another run."""
    path = os.path.join(
        tempfile.gettempdir(), f"tare-measure-{os.getuid()}-{quote(os.uname().nodename, safe='')}.lock"
    )
    with open(os.open(path, os.O_CREAT | os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600), "wb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _measured(unit: dict[str, Any], writing: Writing) -> Made:
    from tare.measure.run import run as measure

    options = unit["options"]
    load, cores = os.getloadavg()[0], os.cpu_count() or 1
    if load > 1.5 * cores and not options.get("busy"):
        raise HostBusy(
            f"{os.uname().nodename}: a load of {load:.1f} on {cores} cores; measure when it is idle, or plan it with --busy"
        )
    given, name = unit["input"][0], unit["output"]["names"][0]
    with opened(given) as path, writing.output(name) as target:
        try:
            result = measure(
                path,
                codecs=tuple(options.get("codecs", [])) or None,
                time_s=float(options.get("seconds", 60)),
            )
        except (UsageError, MissingLibrary) as error:  # what one host lacks another may have
            error.args = (f"{os.uname().nodename}: {error}", *error.args[1:])
            raise
        result.record["engine"] = {"unit": writing.key, "name": writing.engine}
        result.save(target)
    return Made(rows=len(result.cases))
