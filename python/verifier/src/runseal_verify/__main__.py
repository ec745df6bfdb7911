"""Runs the command as a process."""

import sys

from .cli import main


def run() -> None:
    """Ends the process with the command's exit code."""
    sys.exit(main())


if __name__ == "__main__":
    run()
