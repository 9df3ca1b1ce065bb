"""The script ``memoir``. Ctrl-C ends it with a line while Python is still reading the modules, too.

It is outside the package, because what takes most of that time is the import of the package.
"""

from __future__ import annotations

import os
import signal
import sys
from types import FrameType


def main() -> None:
    """Run the command, which says itself what Ctrl-C has stopped."""
    hears = signal.getsignal(signal.SIGINT) is signal.default_int_handler  # not behind a shell's &
    if hears:
        signal.signal(signal.SIGINT, _stop)
    from pgmemoir.cli import main as command

    command.read_module(sys.argv[1:])
    try:
        if hears:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        command()
    finally:
        if hears:  # Python would tell of one that comes while it ends
            signal.signal(signal.SIGINT, signal.SIG_DFL)


def _stop(_number: int, _frame: FrameType | None) -> None:
    """An exception could get lost in the code of a module, or come out as another."""
    os.write(2, b"error: stopped\n")
    os._exit(130)
