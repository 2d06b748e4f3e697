"""Functions whose results are kept in a store."""

from __future__ import annotations

import asyncio
import functools
import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tare.errors import UsageError
from tare.store.hashing import Walk

if TYPE_CHECKING:
    from tare.store.store import Store

__all__ = ["Memoize", "memoized"]

_ABSENT = object()


class Memoize:
    """A function that is called once for arguments that are equal.

    Args:
        store: Where results are kept.
        function: The function.
        version: What was given, or the digest of the source.
        ignore: Names of arguments that do not count.
    """

    def __init__(self, store: Store, function: Callable[..., Any], version: str, ignore: list[str]) -> None:
        self.uncached = function
        """The function itself."""
        self._store = store
        self._version = version
        self._ignore = ignore
        self._signature = inspect.signature(function)
        self._name = f"{function.__module__}.{function.__qualname__}"
        self._closed = self._closed_over()
        functools.update_wrapper(self, function)

    def key_of(self, *args: Any, **kwargs: Any) -> str:
        """The key of the result for these arguments.

        Raises:
            TypeError: The function does not take them.
            Unsupported: One of them has no lasting description; it is named.
        """
        bound = self._signature.bind(*args, **kwargs)
        bound.apply_defaults()
        walk = Walk(f"an argument of {self._name}")
        walk.text("function", self._name)
        walk.text("version", self._version)
        walk.text("closed over", self._closed)
        for name, value in bound.arguments.items():
            if name not in self._ignore:
                walk.text("argument", name)
                kept = value
                if self._signature.parameters[name].kind is inspect.Parameter.VAR_KEYWORD:
                    kept = {key: one for key, one in value.items() if key not in self._ignore}
                walk.at(name, kept)
        return f"{self._name[-200:]}-{walk.digest()}"

    def _closed_over(self) -> str:
        """What enclosing functions gave this one, as it was when it was made: two that one `def` made differ."""
        code = getattr(self.uncached, "__code__", None)
        cells = getattr(self.uncached, "__closure__", None)
        walk = Walk(f"what {self._name} closes over, which ignore= can leave out,")
        for name, cell in zip(code.co_freevars if code else (), cells or (), strict=True):
            try:
                value = cell.cell_contents
            except ValueError:  # not set yet, as the function's own name
                continue
            if name not in self._ignore:
                walk.text("name", name)
                walk.at(name, value)
        return walk.digest()

    def forget(self, *args: Any, **kwargs: Any) -> bool:
        """Delete the result for these arguments; whether there was one.

        Raises:
            TypeError, Unsupported: As `key_of` says.
        """
        return bool(self._store.del_(self.key_of(*args, **kwargs)))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """What the function gives for these arguments, now or before."""
        key = self.key_of(*args, **kwargs)
        found = self._store.get(key, None, _ABSENT)
        if found is not _ABSENT:
            return found
        with self._store._hook.alone(key, self._store.default_namespace):  # noqa: SLF001 - of the same package
            found = self._store.get(key, None, _ABSENT)
            if found is _ABSENT:
                found = self.uncached(*args, **kwargs)
                self._store.set(key, found)
                # As it is given from now on: an array read-only, say. Within a batch it is not there yet.
                found = self._store.get(key, None, found)
        return found

    def __get__(self, instance: object, owner: type | None = None) -> Any:
        """A method: the object is its first argument, and is hashed unless ``ignore`` names it."""
        return self if instance is None else functools.partial(self, instance)

    def __repr__(self) -> str:
        return f"<{self._name}, kept in {self._store.url!r}>"


class _Awaited(Memoize):
    """A coroutine function; tasks that ask for the same at once share one call."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._running: dict[tuple[str, int], asyncio.Future[Any]] = {}
        inspect.markcoroutinefunction(self) if hasattr(inspect, "markcoroutinefunction") else None

    async def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """What the function gives for these arguments, now or before."""
        key = await asyncio.to_thread(self.key_of, *args, **kwargs)
        found = await asyncio.to_thread(self._store.get, key, None, _ABSENT)
        if found is not _ABSENT:
            return found
        place = (key, id(asyncio.get_running_loop()))
        running = self._running.get(place)
        if running is None:
            running = asyncio.ensure_future(self._made(key, args, kwargs))
            self._running[place] = running
            running.add_done_callback(lambda _: self._running.pop(place, None))
        return await asyncio.shield(running)

    async def _made(self, key: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        found = await self.uncached(*args, **kwargs)
        await asyncio.to_thread(self._store.set, key, found)
        return await asyncio.to_thread(self._store.get, key, None, found)


def memoized(
    store: Store, function: Callable[..., Any], *, version: object, ignore: list[str], namespace: str
) -> Memoize:
    """The function, its results kept; see `Store.memoize`.

    Raises:
        UsageError: ``ignore`` names no argument and nothing closed over; the function has no name of its own; or
            its source cannot be read, and there is no version.
    """
    parameters = inspect.signature(function).parameters
    closed_over = getattr(getattr(function, "__code__", None), "co_freevars", ())
    open_ended = any(one.kind is inspect.Parameter.VAR_KEYWORD for one in parameters.values())
    for name in ignore:
        if name not in parameters and name not in closed_over and not open_ended:
            raise UsageError(
                f"ignore={name!r}: {function.__qualname__} has no such argument; it has {', '.join(parameters)}"
            )
    if not hasattr(function, "__qualname__"):
        raise UsageError(f"{type(function).__name__} has no name to keep results under: wrap it in a def")
    if function.__qualname__.endswith("<lambda>"):
        raise UsageError("a lambda has no name to keep results under, others would share it: write a def")
    text = _source(function) if version is None else f"given {version!r}"
    cls = _Awaited if inspect.iscoroutinefunction(function) else Memoize
    return cls(store._without_hook().namespace(namespace), function, text, ignore)  # noqa: SLF001 - of the same package


def _source(function: Callable[..., Any]) -> str:
    """The function's own text, without how far it is indented.

    Raises:
        UsageError: It cannot be read.
    """
    import textwrap

    try:
        return f"source {textwrap.dedent(inspect.getsource(function))}"
    except (OSError, TypeError) as error:
        raise UsageError(
            f"{function.__qualname__}: its source cannot be read, so that it would not be seen to change: give version="
        ) from error
