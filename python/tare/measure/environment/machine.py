"""What a record says of the machine: enough to compare by, nothing that names its user.

Everything comes from the system's own files; what a system lacks is None.
"""

from __future__ import annotations

import hashlib
import os
import platform
import re
import sys
from pathlib import Path
from typing import Any

__all__ = ["describe_machine", "same_machine"]

_COMPARED = ("host", "cpu_model", "cores", "quota")


def describe_machine(directory: str | os.PathLike[str] | None = None) -> dict[str, Any]:
    """The ``machine`` block of a record.

    Args:
        directory: Where the file medium writes; its filesystem is named. None: the
            folder for temporary files.

    >>> machine = describe_machine()
    >>> machine["cores"] >= 1, len(machine["host"])
    (True, 16)
    """
    cpus = _cpus()
    return {
        "cpu_model": _cpu_model(),
        "cores": len(cpus) or os.cpu_count(),
        "quota": _quota(),
        "governor": _text("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
        "memory_bytes": _memory_bytes(),
        "kernel": f"{platform.system()} {platform.release()}",
        "virtualised": _virtualised(),
        "filesystem": _filesystem(directory),
        "runtimes": {"python": platform.python_version()},
        "host": _host(),
        "one_cpu": len(cpus) == 1,
        "clocks": _clocks(),
        "psi": Path("/proc/pressure/cpu").exists(),
        "allocator": _libc(),
        "huge_pages": _chosen(_text("/sys/kernel/mm/transparent_hugepage/enabled")),
    }


def same_machine(a: dict[str, Any], b: dict[str, Any]) -> list[str]:
    """What differs between two machine blocks; empty when figures may be compared.

    >>> same_machine({"host": "1", "cores": 2}, {"host": "1", "cores": 4})
    ['cores 2 against 4']
    """
    return [f"{name} {a.get(name)} against {b.get(name)}" for name in _COMPARED if a.get(name) != b.get(name)]


def _cpus() -> set[int]:
    return os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else set(range(os.cpu_count() or 1))


def _text(path: str) -> str | None:
    try:
        return Path(path).read_text("utf-8", "replace").strip() or None
    except OSError:
        return None


def _cpu_model() -> str | None:
    for line in (_text("/proc/cpuinfo") or "").splitlines():
        name, _, value = line.partition(":")
        if name.strip() in ("model name", "Processor", "cpu model", "uarch"):
            return value.strip()
    return platform.processor() or platform.machine() or None


def _quota() -> float | None:
    """CPUs' worth of time the control group allows; None without a limit."""
    text = _text("/sys/fs/cgroup/cpu.max")
    if text is not None:
        allowed, _, period = text.partition(" ")
    else:
        allowed = _text("/sys/fs/cgroup/cpu/cpu.cfs_quota_us") or "max"
        period = _text("/sys/fs/cgroup/cpu/cpu.cfs_period_us") or "100000"
    try:
        return round(int(allowed) / int(period), 3) if int(allowed) > 0 else None
    except (ValueError, ZeroDivisionError):
        return None


def _memory_bytes() -> int | None:
    try:
        total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError, AttributeError):
        return None
    limit = _text("/sys/fs/cgroup/memory.max") or _text("/sys/fs/cgroup/memory/memory.limit_in_bytes") or ""
    return min(total, int(limit)) if limit.isdigit() else total


def _virtualised() -> bool | None:
    cpuinfo = _text("/proc/cpuinfo")
    if cpuinfo is None:
        return None
    return (
        bool(re.search(r"^flags\s*:.*\bhypervisor\b", cpuinfo, re.MULTILINE))
        or Path("/sys/hypervisor/type").exists()
    )


def _filesystem(directory: str | os.PathLike[str] | None) -> str | None:
    import tempfile

    try:
        from tare.media.file import filesystem

        return filesystem(os.fspath(directory or tempfile.gettempdir()))
    except (ImportError, OSError):
        return None


def _host() -> str:
    """A name for this machine that tells nothing about it: salted with its random id, if it has one."""
    salt = _text("/etc/machine-id") or _text("/var/lib/dbus/machine-id") or _cpu_model() or ""
    return hashlib.sha256(f"tare-host-1\0{salt}\0{platform.node()}".encode()).hexdigest()[:16]


def _clocks() -> dict[str, Any]:
    cpu = {
        "linux": "CLOCK_PROCESS_CPUTIME_ID",
        "darwin": "CLOCK_PROCESS_CPUTIME_ID",
        "win32": "GetProcessTimes",
    }
    source = _text("/sys/devices/system/clocksource/clocksource0/current_clocksource")
    return {"wall": "CLOCK_MONOTONIC", "cpu": cpu.get(sys.platform), "source": source}


def _libc() -> str | None:
    name, version = platform.libc_ver()
    return f"{name} {version}".strip() or None


def _chosen(text: str | None) -> str | None:
    found = re.search(r"\[(\w+)\]", text or "")
    return found[1] if found else None
