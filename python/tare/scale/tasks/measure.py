"""`measure`: one host's whole grid for one dataset; what is compared is never split over units."""

from __future__ import annotations

import os
from typing import Any

from tare.errors import TareError
from tare.scale.running import Made, Writing
from tare.scale.tasks.inputs import opened

__all__ = ["run"]


class HostBusy(TareError):
    """Others are at work on this host: figures would be theirs too."""


def run(unit: dict[str, Any], writing: Writing) -> Made:
    """Measure the codecs of the unit on its data, here, and keep the record.

    Raises:
        HostBusy: The load of this host is above what its cores carry.
        TareError, OSError: As `tare.measure`.
    """
    from tare.measure.run import run as measure

    options = unit["options"]
    load, cores = os.getloadavg()[0], os.cpu_count() or 1
    if load > 1.5 * cores and not options.get("busy"):
        raise HostBusy(
            f"{os.uname().nodename}: a load of {load:.1f} on {cores} cores; measure when it is idle"
        )
    given, name = unit["input"][0], unit["output"]["names"][0]
    with opened(given) as path, writing.output(name) as target:
        result = measure(
            path,
            codecs=tuple(options.get("codecs", [])) or None,
            time_s=float(options.get("seconds", 60)),
        )
        result.record["engine"] = {"unit": writing.key, "name": str(options.get("engine", ""))}
        result.save(target)
    return Made(rows=len(result.cases))
