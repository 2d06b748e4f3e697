"""Types of options that several commands share."""

from __future__ import annotations

from typing import Any

import click

__all__ = ["Bytes", "CodecId", "Rate", "Seconds"]

_UNITS = {"s": 1, "m": 60, "h": 3600}


class Seconds(click.ParamType):  # type: ignore[type-arg]  # generic in stubs only
    """A length of time such as 60s, 5m, 1h or 0 for no limit.

    Args:
        least_s: The shortest that is taken, in seconds; 0 is taken always.
    """

    name = "time"

    def __init__(self, least_s: float = 0.0) -> None:
        self.least_s = least_s

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """The seconds that the text stands for."""
        text = str(value).strip().lower()
        unit = _UNITS.get(text[-1:])
        try:
            seconds = float(text[:-1] if unit else text) * (unit or 1)
        except ValueError:
            seconds = -1.0
        if not 0 <= seconds < float("inf"):
            self.fail(f"{value!r} is not a time; write 60s, 5m, 1h, or 0 for no limit", param, ctx)
        if 0 < seconds < self.least_s:
            self.fail(
                f"{value!r} is too short: processes start and load in it; give {self.least_s:g}s or more, or 0 for no limit",
                param,
                ctx,
            )
        return seconds


class CodecId(click.ParamType):  # type: ignore[type-arg]  # generic in stubs only
    """A codec id such as json:orjson+zstd:3; of a route id (arrow:pyarrow@file) the codec.

    Whether the codec exists is left to the command.
    """

    name = "id"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The codec id of the text."""
        from tare.codec.route_ids import codec_part
        from tare.errors import UsageError

        try:
            return codec_part(str(value))
        except UsageError as error:
            self.fail(str(error), param, ctx)


_BYTES = (
    {"": 1, "b": 1}
    | {
        f"{letter}{middle}b": base**power
        for power, letter in enumerate("kmgt", 1)
        for middle, base in (("", 1000), ("i", 1024))
    }
    | {letter: 1000**power for power, letter in enumerate("kmgt", 1)}
)


class Bytes(click.ParamType):  # type: ignore[type-arg]  # generic in stubs only
    """A number of bytes such as 65536, 64KiB, 4MiB or 125MB."""

    name = "size"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """The bytes that the text stands for."""
        text = str(value).strip()
        digits = text.rstrip("kKmMgGtTiIbB").strip()
        factor = _BYTES.get(text[len(digits) :].strip().lower())
        try:
            size = float(digits) * (factor or 0)
        except ValueError:
            size = -1.0
        if factor is None or not 0 <= size < 2**63:
            self.fail(f"{value!r} is not a size; write 65536, 64KiB, 4MiB, 125MB", param, ctx)
        return int(size)


class Rate(Bytes):
    """Bytes per second such as 125MB/s, or bits per second such as 1Gbit."""

    name = "rate"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """The bytes per second that the text stands for."""
        text = str(value).strip().lower().removesuffix("/s")
        if text.endswith("bit"):
            return super().convert(text.removesuffix("bit") or value, param, ctx) // 8
        return super().convert(text, param, ctx)
