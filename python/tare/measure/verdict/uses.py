"""The uses of data, and what each is for: the one description that commands, reports and reasons show."""

from __future__ import annotations

__all__ = ["USES"]

USES = {
    "keep": "files you keep and come back to",
    "cache": "written once, read often, here",
    "archive": "kept for years, readable by others",
    "exchange": "read by other people, in other languages",
    "message": "sent once, read once",
    "random": "read one column at a time, often",
}
"""Use -> what it is for."""
