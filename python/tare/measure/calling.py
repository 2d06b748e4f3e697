"""The package as a function: ``tare.measure(data)``.

A package is a module, which cannot be called; this one is of a class of its own, `Measure`. Type checkers take
every ``import tare.measure`` for a plain module, so `tare` declares its attribute ``measure`` as of this class:
``tare.measure(df)``, ``from tare import measure`` and ``measure.run`` are typed, and ``from tare.measure import run``
is as in any package. (Beside an ``import tare.measure`` in the same file, pyright sees the module; mypy does not mind.)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import os

    from tare.measure import result
    from tare.measure.comparison import compare, gate
    from tare.measure.plan import plan
    from tare.measure.run import run as run_stages
    from tare.measure.session import Event

__all__ = ["NAMES", "Measure", "arguments_of"]

NAMES = {
    "Plan": "tare.measure.plan.plan",
    "Result": "tare.measure.result",
    "compare": "tare.measure.comparison.compare",
    "gate": "tare.measure.comparison.gate",
    "load": "tare.measure.result",
    "run": "tare.measure.run",
}
"""Modules that define the names of the package."""

# Words of the command line whose field has another name.
_FIELDS = {
    "all": "all_codecs",
    "max_memory": "max_bytes",
    "stop": "stop_s",
    "time": "time_s",
    "use": "profile",
}
_OF_RUN = ("allow_pickle", "control", "out", "plan", "resume", "shared")


class Measure(ModuleType):
    """The class of the package `tare.measure`, which makes it callable."""

    if TYPE_CHECKING:
        Plan = plan.Plan
        Result = result.Result
        compare = staticmethod(compare.compare)
        gate = staticmethod(gate.gate)
        load = staticmethod(result.load)
        run = staticmethod(run_stages)

    def __setattr__(self, name: str, value: object) -> None:
        # ``measure.run`` stays the function when the module of that name is imported.
        if not (name in NAMES and isinstance(value, ModuleType)):
            super().__setattr__(name, value)

    def __call__(  # noqa: PLR0913 - the words of the command line
        self,
        data: Any = None,
        *,
        use: str | None = None,
        time: float | str | None = None,
        codecs: str | Sequence[str] | None = None,
        exclude: str | Sequence[str] = (),
        media: str | Sequence[str] | None = None,
        must: str | Sequence[str] = (),
        allow_loss: str | Sequence[str] = (),
        threads: int | str = 1,
        max_memory: int | str | None = None,
        format: str | None = None,
        encoding: str | None = None,
        out: str | os.PathLike[str] | None = None,
        on_progress: Callable[[Event], None] | None = None,
        **options: Any,
    ) -> result.Result:
        """Measures every codec that can hold the data and recommends one: `tare measure` from Python.

        Args:
            data: A path, a folder or a pattern of files that are one dataset, a built-in name, a table of pandas,
                polars or Arrow, a document, or a Dataset.
            use: What the data is used for, as ``--for``; by default chosen by the kind of the data.
            time: Time limit: seconds, or a text such as ``20s`` or ``5m``; 0 for none. By default 10 s up to 50 MB,
                30 s up to 500 MB, else 60 s; three times that with ``all=True``.
            codecs: Only these codecs; ids, or patterns such as ``json:*``.
            exclude: Codecs, libraries or formats to leave out, as ``--not``.
            media: Media to measure on, as ``--medium``.
            must: Hard constraints: ``keep-types``, ``untrusted``, ``append``, ``subset``, ``readable:LANGUAGE``.
            allow_loss: Patterns of columns or paths that may change.
            threads: 1 or ``all``.
            max_memory: Most memory to load of the data, in bytes or as ``2GiB``.
            format: Format of a file, where neither bytes nor name tell it.
            encoding: Encoding of a text that is not UTF-8.
            out: Where the record is saved; nowhere if None.
            on_progress: Called with an Event between samples. By default a notebook shows one line that is updated in
                place, and nothing is shown elsewhere.
            **options: The command's other words (``all``, ``base``, ``deep``, ``directory``, ``exchange``, ``grow``, ``link``,
                ``quick``, ``remote``, ``seed``, ``share``, ``stop``, ``where``, ``workers``), other fields of
                ``Settings``, and ``allow_pickle``, ``plan``, ``resume`` of `measure.run`.

        Returns:
            The Result: print it, or show it in a notebook; ``result.best`` is the route to use.

        Raises:
            TypeError: No such option.
            UsageError: A use, codec, medium, time or size that does not exist.
            DecodeError: The file is not what it should be.
            OSError: The file cannot be read, or the record cannot be written.

        Example:
            >>> import tare
            >>> result = tare.measure({"a": [1, 2.5]}, use="message", time="4s", codecs="json:orjson")
            >>> result.recommend().profile
            'message'
        """
        from tare.measure.progress import in_notebook
        from tare.measure.run import run

        given = arguments_of(
            {
                "use": use, "time": time, "codecs": codecs, "exclude": exclude, "media": media, "must": must,
                "allow_loss": allow_loss, "threads": threads, "max_memory": max_memory, "out": out, **options,
            }
        )  # fmt: skip
        if format or encoding:
            from tare.dataset import open_dataset
            from tare.measure.environment.limits import with_limits
            from tare.measure.inputs import gather_files
            from tare.measure.settings import Settings

            data = gather_files(data)
            bound = with_limits(Settings(time_s=given["time_s"], max_bytes=given["max_bytes"]), data)
            data = open_dataset(
                data, format=format, encoding=encoding, max_bytes=bound.max_bytes, enough_bytes=bound.enough_bytes,
                allow_pickle=bool(options.get("allow_pickle")), check_names=True,
            )  # fmt: skip
        shown: AbstractContextManager[Callable[[Event], None] | None]
        shown = in_notebook() if on_progress is None else nullcontext(on_progress)
        with shown as tell:
            return run(data, on_progress=tell, **given)


def arguments_of(named: dict[str, Any]) -> dict[str, Any]:
    """The arguments of `measure.run` for those of the package as a function.

    Raises:
        TypeError: No such option.
        UsageError: A time, a size or a use that does not exist.

    >>> arguments_of({"use": "archive", "time": "2m", "exclude": "pickle"})
    {'profile': 'archive', 'time_s': 120.0, 'exclude': ('pickle',)}
    """
    from dataclasses import fields

    from tare.measure.settings import Settings

    known = {field.name for field in fields(Settings)}
    given: dict[str, Any] = {}
    for word, value in named.items():
        name = _FIELDS.get(word, word)
        if name not in known and name not in _OF_RUN:
            raise TypeError(f"measure() has no option {word!r}{_near(word, {*known, *_FIELDS, *_OF_RUN})}")
        given[name] = value
    given |= {
        name: read(given[name])
        for name, read in (("profile", _use), ("time_s", _seconds), ("max_bytes", _bytes))
        if isinstance(given.get(name), str)
    }
    for name in ("codecs", "exclude", "media", "must", "allow_loss"):
        if given.get(name) is not None:
            given[name] = (given[name],) if isinstance(given[name], str) else tuple(map(str, given[name]))
    return given


def _use(text: str) -> str:
    from tare.measure.verdict.cost_model import PROFILES

    if text not in PROFILES:
        raise _invalid("use", text, ", ".join(PROFILES) + _near(text, set(PROFILES)))
    return text


def _seconds(text: str) -> float:
    from tare.quantities import seconds

    found = seconds(text)
    if found is None:
        raise _invalid("time", text, "seconds, or e.g. 20s, 5m, 1h")
    return found


def _bytes(text: str) -> int:
    from tare.quantities import size

    found = size(text)
    if found is None:
        raise _invalid("max_memory", text, "bytes, or e.g. 500MB, 2GiB")
    return found


def _invalid(what: str, value: str, expected: str) -> Exception:
    from tare.errors import UsageError

    return UsageError(f"invalid {what} {value!r:.80}: expected {expected}")


def _near(word: str, known: set[str]) -> str:
    from difflib import get_close_matches

    near = get_close_matches(word, sorted(known), n=1)
    return f"; did you mean {near[0]}?" if near else ""
