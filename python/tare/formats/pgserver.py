"""A PostgreSQL server of one process's own, for the format that only a server writes. Not a format.

It lives in a temporary folder, is reached through a socket in it, and ends with the process that
asked for it, however that ends: a shell waits for the end of its standard input, then stops the
server and removes the folder.
"""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import subprocess

    import psycopg

__all__ = ["connection", "missing", "programs"]

# Debian keeps the server's programs off the path.
_PLACES = "/usr/lib/postgresql"
_INSTALL = "apt-get install postgresql"
_SHARED = "/tmp"  # noqa: S108 - the folder in it is made by mkdtemp, for its owner alone
# A server that will not run as root runs as the package's own user.
_USER = "postgres"
_SCRIPT = """
"$1/initdb" -D "$2/data" -U tare -A trust -E UTF8 --no-locale --no-sync >"$2/log" 2>&1 &&
"$1/pg_ctl" -D "$2/data" -w -l "$2/log" -o "$3" start >>"$2/log" 2>&1 && echo ready || tail -n 3 "$2/log"
exec >&-
cat >/dev/null
"$1/pg_ctl" -D "$2/data" -m immediate stop >/dev/null 2>&1
cd / && rm -rf "$2"
"""
# No network, nothing kept safe for later, and as deep as its stack allows.
_OPTIONS = "-k {folder} -c listen_addresses= -F -c autovacuum=off -c max_connections=5"


def programs() -> str | None:
    """The folder of the newest server's programs; None if there is no server."""
    places = [str(path.parent) for path in Path(_PLACES).glob("*/bin/initdb")]
    found = shutil.which("initdb")
    places += [os.path.dirname(os.path.realpath(found))] if found else []
    return max(places, key=_version, default=None)


def missing() -> str:
    """The command that installs the server; empty if it is there.

    >>> missing() in ("", "apt-get install postgresql")
    True
    """
    return "" if programs() else _INSTALL


def _version(place: str) -> tuple[int, str]:
    major = os.path.basename(os.path.dirname(place))
    return (int(major) if major.isdecimal() else 0, place)


@lru_cache(maxsize=1)
def _socket_folder() -> str:
    """Start the server; the folder of its socket.

    Raises:
        RuntimeError: It does not start; the text has the end of its log.
    """
    import subprocess

    place = programs()
    if place is None:
        raise RuntimeError(f"no PostgreSQL server is installed. Install it with: {_INSTALL}")
    # Not in a worker's own folder: another user cannot go there, and a socket's path is short.
    folder = tempfile.mkdtemp(prefix="tare-pg-", dir=_SHARED if os.path.isdir(_SHARED) else None)
    as_user: dict[str, Any] = {}
    if os.geteuid() == 0:
        shutil.chown(folder, _USER, _USER)
        as_user = {"user": _USER, "group": _USER, "extra_groups": []}
    keeper = subprocess.Popen(
        ["sh", "-c", _SCRIPT, "tare-pg", place, folder, _OPTIONS.format(folder=folder)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        cwd=folder,
        start_new_session=True,  # a signal to the caller's group leaves it alive to clean up
        **as_user,
    )
    assert keeper.stdin is not None  # both are pipes
    assert keeper.stdout is not None
    said = keeper.stdout.read().decode(errors="replace").strip()
    keeper.stdout.close()
    atexit.register(_end, keeper)
    if said != "ready":
        _end(keeper)
        raise RuntimeError(f"the PostgreSQL server of {place} does not start: {said}")
    return folder


def _end(keeper: subprocess.Popen[bytes]) -> None:
    if keeper.stdin is not None and not keeper.stdin.closed:
        keeper.stdin.close()
        keeper.wait()


_open: list[psycopg.Connection[Any]] = []


def connection() -> psycopg.Connection[Any]:
    """The process's own connection, opened anew if the server has closed it."""
    import psycopg

    if _open and not _open[0].closed and not _open[0].broken:
        return _open[0]
    _open.clear()
    opened = psycopg.connect(
        host=_socket_folder(), user="tare", dbname="postgres", autocommit=True, prepare_threshold=0
    )
    # Both types are a length and bytes: with these casts the server hands out, and takes, the bytes
    # that it stores.
    for cast in ("jsonb AS bytea", "bytea AS jsonb"):
        opened.execute(
            f"DO $$ BEGIN CREATE CAST ({cast}) WITHOUT FUNCTION; EXCEPTION WHEN duplicate_object THEN NULL; END $$"
        )
    _open.append(opened)
    atexit.register(opened.close)
    return opened
