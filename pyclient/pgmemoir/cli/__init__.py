"""The command ``memoir``; `main` is its click group."""

from . import backfill, conversation, database, demo, doctor, evaluate, memory, upkeep, worker
from .app import main

for _command in (
    *memory.COMMANDS,
    *conversation.COMMANDS,
    *database.COMMANDS,
    *doctor.COMMANDS,
    *demo.COMMANDS,
    *evaluate.COMMANDS,
    *upkeep.COMMANDS,
    *worker.COMMANDS,
    *backfill.COMMANDS,
):
    main.add_command(_command)

__all__ = ["main"]
