#!/usr/bin/env python3
"""Run every benchmark there is data for (``make bench``).

Where the data is: ``MEMOIR_BENCH_DATA``, else ``scripts/bench/data``. The README beside this file
says how to make it.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
DATA = HERE / "data"

HOW_TO_GET_IT = """No conversations to measure on: there is no locomo*.json in
  {folder}

They come from LoCoMo (Maharana et al. 2024), https://github.com/snap-research/locomo: ten long
conversations, with questions and the turns that answer them, in data/locomo10.json. Read its
licence: the data is not ours to pass on.

Convert it to one JSON object, {{"turns": [...], "questions": [...]}}:
  a turn      conv, dia_id, session, pos (in its session, from 0), ts (ISO 8601),
              speaker, text ("Caroline: ...")
  a question  conv, question, category (1 to 5), evidence (a list of dia_id)
Store it as scripts/bench/data/locomo.json, or elsewhere and set MEMOIR_BENCH_DATA to the folder.

Vectors of another model than wordllama may stand beside it in locomo_<model>.npz: the arrays
turns and questions (and questions_stripped, facts), one row for each entry, in the same order."""


RUNS = (["--mode", "execute"], ["--mode", "conversation", "--ablation"])

# Sizes that take seconds; the README says which were measured.
SYNTHETIC = (
    "synthetic.py --rows 5000 --samples 4",
    "latency.py --users 200 --rows 120 --exact",
    "latency.py --users 1 --rows 5000 --exact",
    "latency.py --users 50 --rows 120 --giant 3000 --exact",
    "latency.py --users 50 --rows 120 --dims 1536",
    "growth.py --max 3000 --questions 30",
    "writes.py --rows 1000 --batches 5",
    "writers.py --seconds 10",
    "worker.py --memories 2500 --users 25",
    "maintain.py --rows 5000",
    "workers.py --jobs 2000 --rounds 1",
    "move.py --rows 3000",
    "sync.py",
    "memory.py --rows 3000",
    "memory.py --users 25 --rows 120 --dims 1536",
    "load.py --users 200 --seconds 20",
    "crash.py --rounds 3",
)


def main() -> int:
    """Run what needs no data, then LoCoMo, with wordllama and with every file of vectors."""
    failed = 0
    for command in SYNTHETIC:
        script, *options = command.split()
        failed |= _run(command, script, options)
    folder = Path(os.environ.get("MEMOIR_BENCH_DATA") or DATA)
    files = sorted(folder.glob("locomo*.json"))
    if not files:
        print("\n" + HOW_TO_GET_IT.format(folder=folder))
        return failed
    for data in files:
        for vectors in (None, *sorted(data.parent.glob(f"{data.stem}_*.npz"))):
            given = ["--vectors", str(vectors)] if vectors else []
            title = f"{data.name}, vectors {vectors.name if vectors else 'of wordllama'}"
            for options in RUNS:
                failed |= _run(title, "locomo.py", [str(data), *given, *options])
    return failed


def _run(title: str, script: str, options: list[str]) -> int:
    print(f"\n== {title}", flush=True)
    return subprocess.run([sys.executable, str(HERE / script), *options], check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
