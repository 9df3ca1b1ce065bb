#!/usr/bin/env python3
"""Run every benchmark there is data for, in small sizes (``make bench``)."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import click
from common import ended_in_order

HERE = Path(__file__).resolve().parent

HOW_TO_GET_IT = """No conversations to measure on: there is no locomo*.json in
  {folder}

They come from LoCoMo (Maharana et al. 2024), https://github.com/snap-research/locomo: ten long
conversations, with questions and the turns that answer them. Read its licence: the data is not
ours to pass on. {readme}
says under "Data" how to convert it; store it as scripts/bench/data/locomo.json, or elsewhere and
set MEMOIR_BENCH_DATA to the folder."""

# Sizes that take seconds; the README says which were measured.
SMALL = (
    "latency.py --users 200 --rows 120 --exact",
    "latency.py --rows 5000 --exact",
    "latency.py --users 50 --rows 120 --giant 3000 --exact",
    "latency.py --users 50 --rows 120 --dims 1536",
    "growth.py --max 3000 --questions 30",
    "memory.py --rows 3000",
    "memory.py --users 25 --rows 120 --dims 1536",
    "writes.py --rows 100 --batches 3",
    "writers.py --seconds 10",
    "sources.py --rows 300 --fill 10000 --large 100000",
    "redaction.py",
    "maintain.py --rows 5000",
    "workers.py --jobs 2000 --rounds 1",
    "worker.py --memories 2500 --users 25",
    "roles.py --users 10 --giant 3000",
    "load.py --users 200 --seconds 20",
    "crash.py --rounds 3",
    "move.py --rows 3000",
    "sync.py",
)


def commands(folder: Path) -> Iterator[str]:
    """What needs no data, then LoCoMo with wordllama and with every file of vectors beside it."""
    yield from SMALL
    for data in sorted(folder.glob("locomo*.json")):
        for vectors in (None, *sorted(folder.glob(f"{data.stem}_*.npz"))):
            given = f" --vectors {shlex.quote(str(vectors))}" if vectors else ""
            for mode in ("execute", "conversation --ablation"):
                yield f"locomo.py {shlex.quote(str(data))}{given} --mode {mode}"


def run(command: str) -> bool:
    """Whether it ended well; it ends with this script."""
    script, *options = shlex.split(command)
    with subprocess.Popen([sys.executable, str(HERE / script), *options]) as process:
        try:
            return process.wait() == 0
        except BaseException:
            process.terminate()
            process.wait()  # Popen does not, after Ctrl-C
            raise


@click.command()
@click.argument("names", nargs=-1)
@click.option("--list", "only_list", is_flag=True, help="Say what would run.")
def main(names: tuple[str, ...], only_list: bool) -> None:
    """Run all benchmarks in small sizes, or those of NAMES, such as latency writes.

    Takes 10 minutes; conversations are looked for in MEMOIR_BENCH_DATA, else in scripts/bench/data.
    """
    folder = Path(os.environ.get("MEMOIR_BENCH_DATA") or HERE / "data")
    wanted = {name.removesuffix(".py") for name in names}
    known = {command.split(".py")[0] for command in SMALL} | {"locomo"}
    if unknown := sorted(wanted - known):
        raise click.UsageError(f"no {', '.join(unknown)}; there are {', '.join(sorted(known))}")
    failed = []
    with ended_in_order():
        for command in commands(folder):
            if wanted and command.split(".py")[0] not in wanted:
                continue
            click.echo(command if only_list else f"\n== {command}")
            start = time.monotonic()
            if not only_list and not run(command):
                failed.append(command)
            if not only_list:
                click.echo(f"({time.monotonic() - start:.0f} s)")
    if wanted <= {"locomo"} and not any(folder.glob("locomo*.json")):
        click.echo("\n" + HOW_TO_GET_IT.format(folder=folder, readme=HERE / "README.md"))
    for command in failed:
        click.echo(f"failed: {command}", err=True)
    raise SystemExit(bool(failed))


if __name__ == "__main__":
    main()
