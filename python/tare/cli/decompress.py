"""`tare decompress`: see `tare.cli.compress`, which has both directions."""

from __future__ import annotations

from tare.cli.compress import decompress as command

__all__ = ["command"]
