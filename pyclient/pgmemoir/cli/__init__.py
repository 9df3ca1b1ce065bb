"""The command ``memoir``; `main` is its click group, to which each module adds its commands."""

from .app import main

__all__ = ["main"]
