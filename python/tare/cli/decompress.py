"""`tare decompress`: see `tare.cli.compress`, which has both directions."""

from tare.cli.compress import decompress as command

__all__ = ["command"]
