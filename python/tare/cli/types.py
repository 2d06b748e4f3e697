"""Types of options that several commands share."""

from __future__ import annotations

from typing import Any

import click

from tare import quantities

__all__ = ["Bytes", "CodecId", "Rate", "Seconds"]


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
        seconds = quantities.seconds(str(value))
        if seconds is None:
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


class Bytes(click.ParamType):  # type: ignore[type-arg]  # generic in stubs only
    """A number of bytes such as 65536, 64KiB, 4MiB or 125MB."""

    name = "size"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """The bytes that the text stands for."""
        size = quantities.size(str(value))
        if size is None:
            self.fail(f"{value!r} is not a size; write 65536, 64KiB, 4MiB, 125MB", param, ctx)
        return size


class Rate(Bytes):
    """Bytes per second such as 125MB/s, or bits per second such as 1Gbit."""

    name = "rate"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """The bytes per second that the text stands for."""
        text = str(value).strip().lower().removesuffix("/s")
        if text.endswith("bit"):
            return super().convert(text.removesuffix("bit") or value, param, ctx) // 8
        return super().convert(text, param, ctx)
