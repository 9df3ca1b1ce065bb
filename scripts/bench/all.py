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


def main() -> int:
    """Run LoCoMo in both modes, with wordllama and with every file of vectors beside it."""
    folder = Path(os.environ.get("MEMOIR_BENCH_DATA") or DATA)
    files = sorted(folder.glob("locomo*.json"))
    if not files:
        print(HOW_TO_GET_IT.format(folder=folder))
        return 0
    failed = 0
    for data in files:
        for vectors in (None, *sorted(data.parent.glob(f"{data.stem}_*.npz"))):
            for options in RUNS:
                failed |= _run(data, vectors, options)
    return failed


def _run(data: Path, vectors: Path | None, options: list[str]) -> int:
    print(f"\n== {data.name}, vectors {vectors.name if vectors else 'of wordllama'}", flush=True)
    given = ["--vectors", str(vectors)] if vectors else []
    command = [sys.executable, str(HERE / "locomo.py"), str(data), *given, *options]
    return subprocess.run(command, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
