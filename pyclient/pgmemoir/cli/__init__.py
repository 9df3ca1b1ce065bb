"""The command ``memoir``; `main` is its click group."""

from . import (
    backfill,
    change,
    control,
    database,
    demo,
    doctor,
    evaluate,
    files,
    look,
    memory,
    model,
    move,
    purge,
    source,
    sync,
    upkeep,
    worker,
)
from .app import main

for _module in (
    memory,
    look,
    change,
    purge,
    control,
    sync,
    files,
    move,
    source,
    database,
    doctor,
    demo,
    evaluate,
    upkeep,
    worker,
    backfill,
    model,
):
    for _command in _module.COMMANDS:
        main.add_command(_command)

__all__ = ["main"]
