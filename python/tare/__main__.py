"""``python -m tare``: the command line where no script of that name is on the path, as in a batch system's job."""

from __future__ import annotations

from tare.cli import main

__all__: list[str] = []

if __name__ == "__main__":
    main()
