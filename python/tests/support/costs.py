"""Pytest plugin that reports what tests cost: seconds of CPU, those of their child processes included.

    python -m pytest -p support.costs ...        # or: make test COSTS=1

Wall time of a test says little where several run side by side, and most of the cost of these tests is in
processes that they start. A module's fixtures count for the test that sets them up or tears them down.
"""

from __future__ import annotations

import resource
from collections import defaultdict
from collections.abc import Iterator

import pytest

__all__ = ["Costs", "pytest_configure"]

_SHOWN = 40


def pytest_configure(config: pytest.Config) -> None:
    """Register the plugin."""
    config.pluginmanager.register(Costs(), "costs")


def _cpu() -> tuple[float, float]:
    """Return the CPU seconds of this process, and of its children that have ended."""
    own, children = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return own.ru_utime + own.ru_stime, children.ru_utime + children.ru_stime


class Costs:
    """Measures each test in the process that runs it, and adds up in the one that reports."""

    def __init__(self) -> None:
        """Begin with nothing measured."""
        self.tests: dict[str, tuple[float, float]] = {}

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> Iterator[None]:
        """Note the CPU time at the start of a test."""
        self.before = _cpu()
        return (yield)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_teardown(self, item: pytest.Item) -> Iterator[None]:
        """Attach the CPU time since the start to the test's last report."""
        try:
            return (yield)
        finally:
            own, children = (after - before for after, before in zip(_cpu(), self.before, strict=True))
            item.user_properties.append(("cpu", (own, children)))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Collect the CPU time of a test that has ended."""
        if report.when == "teardown":
            self.tests.update(
                (report.nodeid, tuple(value)) for name, value in report.user_properties if name == "cpu"
            )

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print the dearest files and tests."""
        files: dict[str, list[float]] = defaultdict(lambda: [0, 0.0, 0.0])
        for test, (own, children) in self.tests.items():
            row = files[test.partition("::")[0]]
            row[0] += 1
            row[1] += own
            row[2] += children
        total = [sum(row[n] for row in files.values()) for n in range(3)]
        write = terminalreporter.write_line
        write(
            f"CPU seconds of {total[0]} tests: {total[1]:.0f} of their own, {total[2]:.0f} of child processes"
        )
        for file, row in sorted(files.items(), key=lambda one: -one[1][1] - one[1][2])[: 2 * _SHOWN]:
            write(f"{row[1]:8.1f} {row[2]:8.1f} {row[0]:6} {file}")
        for test, (own, children) in sorted(self.tests.items(), key=lambda one: -sum(one[1]))[:_SHOWN]:
            write(f"{own:8.1f} {children:8.1f}        {test}")
