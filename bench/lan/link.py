"""An emulated link to run anything over: two network namespaces, until this program is ended.

    python bench/lan/link.py 1Gbit,0.3ms

It prints what goes before a command so that it runs at one end, both ends' addresses, and what the link
reaches; see README.md.
"""

from __future__ import annotations

import contextlib
import json
import shlex
import signal
import sys

from tare.measure.environment.link_check import check_link
from tare.media.lan import METHODS, Lan
from tare.media.link import Link


def main(text: str = "1Gbit,0.3ms", *methods: str) -> None:
    """Make the link, say how to use it, and keep it."""
    asked = Link.parse(text)
    with contextlib.closing(Lan(asked, methods or METHODS)) as lan:
        for name, side in zip(("NEAR", "FAR"), lan.side, strict=True):
            print(f"{name}={shlex.quote(shlex.join(side.command()))} {name}_ADDRESS={side.address}")
        print(json.dumps(check_link(asked, lan)), file=sys.stderr)
        sys.stdout.flush()
        with contextlib.suppress(KeyboardInterrupt):
            signal.pause()
        print(json.dumps(check_link(asked, lan)), file=sys.stderr)


if __name__ == "__main__":
    main(*sys.argv[1:])
