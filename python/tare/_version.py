"""The version: the core's, so that there is one place for it (Cargo.toml)."""

from __future__ import annotations

from tare._tare import __version__

__all__ = ["__version__"]
