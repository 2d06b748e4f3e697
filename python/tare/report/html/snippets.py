"""Python code that runs a route as it stands on the page: nothing in it has to be filled in first."""

from __future__ import annotations

import json
import re
from pathlib import PurePath

from tare.compress import COMPRESSORS
from tare.measure.verdict.file_names import file_name

__all__ = ["connected", "runnable"]

_SAMPLE = {"table": 'pyarrow.table({"x": [1, 2, 3]})', "document": '{"x": [1, 2, 3]}'}
_PORT = 9000
_FORMAT = re.compile(r"[a-z0-9]+(?=[:,]|$)")
_UNIX = 'socket.socket(socket.AF_UNIX) as {name}:\n    {name}.{verb}("tare.sock")'


def runnable(
    route: str, kind: str, *, runs_code: bool, path: str = "", encoding: str = "", is_value: bool = False
) -> str:
    """Write and read a file with the route; encode and decode where its medium is none.

    Args:
        route: Id of the route.
        kind: ``table`` or ``document``: what the sample stands for.
        runs_code: Whether reading needs ``trust``.
        path: The user's own file; a sample stands for it by default.
        encoding: The encoding that it is read in, if it was named.
        is_value: Whether a value of Python was measured, which ``value`` names.

    >>> print(runnable("json:orjson@tcp", "document", runs_code=False))
    from tare import Route
    <BLANKLINE>
    data = {"x": [1, 2, 3]}  # yours
    route = Route("json:orjson@tcp")
    encoded = route.encode(data)
    data = route.decode(encoded)
    """
    table = kind == "table"
    trust = ", trust=True" if runs_code else ""
    if _medium(route) == "file":
        name = json.dumps(
            file_name(route.partition("@")[0], PurePath(path).name) if path else _file_name(route)
        )
        steps = f"route.write(data, {name})\ndata = route.read({name}{trust})"
    else:
        steps = f"encoded = route.encode(data)\ndata = route.decode(encoded{trust})"
    if path:
        named = f", encoding={json.dumps(encoding)}" if encoding else ""
        return f"from tare import Route, read\n\ndata = read({json.dumps(path)}{named})\n{_route(route)}\n{steps}"
    if is_value:
        return f"from tare import Route\n\ndata = value  # yours\n{_route(route)}\n{steps}"
    return (
        f"{'import pyarrow' if table else ''}\nfrom tare import Route\n\n"
        f"data = {_SAMPLE['table' if table else 'document']}  # yours\n{_route(route)}\n{steps}"
    ).lstrip("\n")


def connected(route: str, *, runs_code: bool) -> tuple[str, str]:
    """The receiving and the sending program of a route over a connection; empty for memory and files.

    The sender's goes on from `runnable`. The receiver is started first.
    """
    trust = ", trust=True" if runs_code else ""
    receive = f"data = route.receive(connection{trust})"
    medium = _medium(route)
    if medium == "fifo":
        return (
            f'import os\nfrom tare import Route\n\n{_route(route)}\nos.mkfifo("tare.fifo")\n'
            f'with open("tare.fifo", "rb") as connection:\n    {receive}',
            'with open("tare.fifo", "wb") as connection:\n    route.send(data, connection)',
        )
    if medium == "unix":
        opened = _UNIX.format(name="server", verb="bind") + "\n    server.listen()"
        called = _UNIX.format(name="connection", verb="connect")
    elif medium in ("tcp", "link", "remote"):
        opened = f'socket.create_server(("127.0.0.1", {_PORT})) as server:'
        called = f'socket.create_connection(("127.0.0.1", {_PORT})) as connection:'
    else:
        return "", ""
    return (
        f"import socket\nfrom tare import Route\n\n{_route(route)}\nwith {opened}\n"
        f"    connection, _ = server.accept()\n    with connection:\n        {receive}",
        f"import socket\n\nwith {called}\n    route.send(data, connection)",
    )


def _route(route: str) -> str:
    # An id of a foreign record is quoted: nothing in it can end the literal.
    return f"route = Route({json.dumps(route)})"


def _medium(route: str) -> str:
    return route.partition("@")[2].partition(",")[0] or "memory"


def _file_name(route: str) -> str:
    """A name with the endings of format and compressor; plain for an id that does not exist here."""
    format_id, plus, compressor = route.partition("@")[0].partition("+")
    known = _FORMAT.match(format_id)
    name = f"data.{known[0]}" if known else "data.bin"
    pressing = re.match(r"[a-z0-9]*", compressor)
    used = pressing[0] if pressing and plus else ""
    other = f".{used}" if used and known else ""  # a container of its own, such as blosc2's
    return name + next((one.extension for one in COMPRESSORS if one.name == used), other)
