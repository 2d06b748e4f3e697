"""Whether a library is there, which version, and what installs it."""

from __future__ import annotations

import importlib.util
import platform
from collections.abc import Callable

from tare.errors import MissingLibrary

__all__ = ["Installable"]

# What pip is told where the name of the distribution is not all that is needed.
_TO_INSTALL = {"psycopg": "'psycopg[binary]'", "tables": "tables pandas"}


class Installable:
    """What a library of formats and one of compressors have in common.

    Args:
        name: Name in ids.
        modules: What must be importable.
        distribution: Name on the package index; empty for the standard library.
        extra: Extra of Tare that installs it; empty if none does.
        missing: For what needs more than modules: the command that installs it, empty if it is there.
    """

    name: str
    modules: tuple[str, ...]
    distribution: str
    extra: str
    missing: Callable[[], str] | None = None

    @property
    def installed(self) -> bool:
        """Whether every module it needs, and what it needs beside, can be found (nothing is imported)."""
        return all(_found(module) for module in self.modules) and not self._lacks()

    @property
    def to_install(self) -> str:
        """Words after ``pip install``; empty for the standard library."""
        return _TO_INSTALL.get(self.distribution, self.distribution)

    @property
    def install_line(self) -> str:
        """The command that installs it; empty when nothing is needed."""
        lines = [self._lacks()]
        if self.distribution:
            lines.insert(0, f"pip install {self.to_install}")
        return " && ".join(line for line in lines if line)

    def _lacks(self) -> str:
        return self.missing() if self.missing is not None else ""

    @property
    def version(self) -> str | None:
        """Version of the installed distribution; None if it is not installed."""
        if not self.distribution:
            return platform.python_version()
        from importlib import metadata  # 10 ms that a mere listing of ids does not need

        try:
            return metadata.version(self.distribution)
        except metadata.PackageNotFoundError:
            return None

    def require(self) -> None:
        """Raise MissingLibrary with the install line unless it is installed."""
        if not self.installed:
            raise MissingLibrary(f"{self.name} is not installed. Install it with: {self.install_line}")


def _found(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except (ImportError, ValueError):
        return False
