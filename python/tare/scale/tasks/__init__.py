"""What a unit can be asked to do. A plan names one of these; it can carry no other. Each is loaded when it is wanted."""

from __future__ import annotations

import functools
import importlib
import shutil
import tempfile
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from tare.errors import TareError
from tare.scale.failures import Several, unwritable, without_room
from tare.scale.place import LocalPlace, shown
from tare.scale.unit import TASKS

if TYPE_CHECKING:
    from tare.scale.running import Made, Writing

__all__ = ["task_of"]

_Task = Callable[[dict[str, Any], "Writing"], "Made"]


def _telling(task: _Task) -> _Task:
    """A task whose errors name the place that is full, not the source that was read when it was found to be."""

    @functools.wraps(task)
    def run(unit: dict[str, Any], writing: Writing) -> Made:
        try:
            return task(unit, writing)
        except (TareError, OSError) as error:
            told = _told(error, unit, writing)
            if told is error:
                raise
            raise told from error

    return run


def _told(error: Exception, unit: Mapping[str, Any], writing: Writing) -> Exception:
    if isinstance(error, Several):
        each = [_told(one, unit, writing) for one in error.errors]
        return error if all(a is b for a, b in zip(each, error.errors, strict=True)) else Several(each)
    full = without_room(error)
    return error if full is None else unwritable(full, _where(unit, writing))


def _where(unit: Mapping[str, Any], writing: Writing) -> str:
    """The folder that is full: the destination's, or that of temporary files, where what is of a bucket passes through."""
    if store := str(unit["options"].get("store", "")):
        return store
    passing = tempfile.gettempdir()
    if not isinstance(writing.place, LocalPlace):
        return passing
    folder = writing.place.path("")
    copies = any(not str(one["uri"]).startswith("file:") for one in unit["input"])
    return passing if copies and _free(passing) < _free(folder) else shown(writing.place.uri)


def _free(folder: str) -> int:
    try:
        return shutil.disk_usage(folder).free
    except OSError:
        return 0


@functools.cache
def task_of(name: str) -> _Task:
    """The task of a unit that was checked: ``convert``, ``encode``, ``put`` or ``measure``.

    Raises:
        KeyError: There is no such task.
    """
    if name not in TASKS:
        raise KeyError(name)
    return _telling(importlib.import_module(f"tare.scale.tasks.{name}").run)
