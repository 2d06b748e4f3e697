"""The peak of a process's memory, for code that runs in a process of its own."""

from __future__ import annotations

__all__ = ["PEAK"]

PEAK = '''
def peak():
    """KiB since the program began; `ru_maxrss`, where there is no other, begins with what the parent process held."""
    import resource, sys
    if sys.platform == "linux":
        return int(next(line for line in open("/proc/self/status") if line.startswith("VmHWM")).split()[1])
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // (1024 if sys.platform == "darwin" else 1)
'''
