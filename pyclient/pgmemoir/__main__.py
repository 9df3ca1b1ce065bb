"""``python -m pgmemoir`` is the command ``memoir``, where its script is not on the path."""

from .cli import main

main(prog_name="python -m pgmemoir")
