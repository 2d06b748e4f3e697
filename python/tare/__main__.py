"""``python -m tare``: the command line where no script of that name is on the path, as in a batch system's job."""

from tare.cli import main

if __name__ == "__main__":
    main()
