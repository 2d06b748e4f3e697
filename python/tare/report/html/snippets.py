"""Programs that send and receive over a route as they stand on the page: nothing in them has to be filled in first."""

from __future__ import annotations

import json

__all__ = ["connected"]

_SAMPLE = {"table": 'pyarrow.table({"x": [1, 2, 3]})', "document": '{"x": [1, 2, 3]}'}
_PORT = 9000
_UNIX = 'socket.socket(socket.AF_UNIX) as {name}:\n    {name}.{verb}("tare.sock")'


def connected(
    route: str, kind: str, *, runs_code: bool, path: str = "", encoding: str = "", is_value: bool = False
) -> tuple[str, str]:
    """The receiving and the sending program of a route over a connection; empty for memory, files and the store.

    The receiver is started first.

    Args:
        route: Id of the route.
        kind: ``table`` or ``document``: what the sample stands for.
        runs_code: Whether reading needs ``trust``.
        path: The user's own file; a sample stands for it by default.
        encoding: The encoding that it is read in, if it was named.
        is_value: Whether a value of Python was measured, which ``value`` names.

    >>> print(connected("json:orjson@tcp", "document", runs_code=False)[1])
    import socket
    from tare import Route
    <BLANKLINE>
    data = {"x": [1, 2, 3]}  # yours
    route = Route("json:orjson@tcp")
    with socket.create_connection(("127.0.0.1", 9000)) as connection:
        route.send(data, connection)
    """
    receive = f"data = route.receive(connection{', trust=True' if runs_code else ''})"
    medium, begin = route.partition("@")[2].partition(",")[0], _begin(kind, path, encoding, is_value)
    # An id of a foreign record is quoted: nothing in it can end the literal.
    made = f"route = Route({json.dumps(route)})"
    if medium == "fifo":
        return (
            f'import os\nfrom tare import Route\n\n{made}\nos.mkfifo("tare.fifo")\n'
            f'with open("tare.fifo", "rb") as connection:\n    {receive}',
            f'{begin}\n{made}\nwith open("tare.fifo", "wb") as connection:\n    route.send(data, connection)',
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
        f"import socket\nfrom tare import Route\n\n{made}\nwith {opened}\n"
        f"    connection, _ = server.accept()\n    with connection:\n        {receive}",
        f"import socket\n{begin}\n{made}\nwith {called}\n    route.send(data, connection)",
    )


def _begin(kind: str, path: str, encoding: str, is_value: bool) -> str:
    """The lines that import what the sender needs, and make its data."""
    if path:
        named = f", encoding={json.dumps(encoding)}" if encoding else ""
        return f"from tare import Route, read\n\ndata = read({json.dumps(path)}{named})"
    table = kind == "table" and not is_value
    sample = "value" if is_value else _SAMPLE["table" if table else "document"]
    return f"{'import pyarrow' if table else ''}\nfrom tare import Route\n\ndata = {sample}  # yours".lstrip(
        "\n"
    )
