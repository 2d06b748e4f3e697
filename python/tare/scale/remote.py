"""One object of an object store where a file is wanted."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Iterator
from typing import Any

__all__ = ["ends"]


@contextlib.contextmanager
def ends(source: Any, target: Any, *, force: bool) -> Iterator[tuple[Any, Any]]:
    """Paths for what may be ``s3://bucket/name``; the target is put when all went well, in one request.

    Args:
        source: A path, or a URL; anything else stays as it is.
        target: Likewise.
        force: Whether an object that is there may be replaced.

    Raises:
        FileExistsError: There is one, and it may not.
        FileNotFoundError: The source is not there.
        OSError, MissingLibrary: As of the object store.
    """
    if not _is_far(source) and not _is_far(target):
        yield source, target
        return
    from tare.scale.place import split_uri

    with contextlib.ExitStack() as held:
        if _is_far(source):
            place, name = split_uri(source)
            source = held.enter_context(place.local(name))
        if not _is_far(target):
            yield source, target
            return
        place, name = split_uri(target)
        if not force and place.stat(name) is not None:
            raise _taken(target)
        path = place.scratch(f"{os.getpid()}/{name}")
        held.callback(shutil.rmtree, os.path.dirname(path), ignore_errors=True)
        yield source, path
        if force:
            place.commit(path, name)
        elif not place.create(path, name):  # by somebody, since it was looked for
            raise _taken(target)


def _taken(target: str) -> FileExistsError:
    from tare.scale.place import shown

    return FileExistsError(f"{shown(target)} exists already. Say --force to replace it.")


def _is_far(end: Any) -> bool:
    return isinstance(end, str) and end.startswith("s3://")
