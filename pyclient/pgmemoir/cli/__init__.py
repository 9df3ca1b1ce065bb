"""The command ``memoir``; `main` is its click group, to which each module adds its commands."""

from . import (  # noqa: F401
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

__all__ = ["main"]
