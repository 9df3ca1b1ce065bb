"""The command ``memoir``; `main` is its click group."""

from . import change, control, conversation, database, demo, doctor, evaluate, memory, purge, upkeep
from .app import main

for _command in (
    *memory.COMMANDS,
    *change.COMMANDS,
    *purge.COMMANDS,
    *control.COMMANDS,
    *conversation.COMMANDS,
    *database.COMMANDS,
    *doctor.COMMANDS,
    *demo.COMMANDS,
    *evaluate.COMMANDS,
    *upkeep.COMMANDS,
):
    main.add_command(_command)

__all__ = ["main"]
