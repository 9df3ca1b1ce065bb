#!/usr/bin/env python3
"""The budget in real tokens: what blocks as printed cost in o200k_base.

Stores texts of several classes, each as the memory of a user of its own and all mixed as one more,
asks for blocks at several budgets, and counts the blocks with a real tokenizer. The README beside
this file says what is measured and shows the figures.
"""

from __future__ import annotations

import json
import random
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, median
from typing import Any

import click
import psycopg
from common import FILE, FOLDER, MODE, Figures, Where, benchmark, count, percentile, table
from conversations import numbers, read

from pgmemoir import Memoir
from pgmemoir.calls import NewMemory, Recall
from pgmemoir.cli.output import progress_bar

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
# Memories of a class: enough that a block of 1600 leaves most of them out.
MEMORIES = 600
SEED = 1
# What memory_explain says of candidates that more room, or a longer look, would let in.
LEFT_OUT = {"over budget", "beyond the candidate limit"}

INSTALL = "npm install --prefix {folder} gpt-tokenizer@4.0.0"
# Reads a JSON array of texts; text that looks like a special token is text.
COUNT = """
const { countTokens } = require('gpt-tokenizer/encoding/o200k_base');
const texts = JSON.parse(require('fs').readFileSync(0, 'utf8'));
const plain = { disallowedSpecial: new Set() };
console.log(JSON.stringify(texts.map((text) => countTokens(text, plain))));
"""
CATALOGUE = """SELECT to_jsonb(p)::text FROM (
    SELECT proname, pronargs, prosrc, proargnames, provolatile, prokind, procost FROM pg_proc
    ORDER BY oid DESC LIMIT 600) AS p"""


@dataclass(frozen=True)
class Block:
    """One block of a class at a budget, with its estimated and its real tokens."""

    source: str
    budget: int
    estimated: int
    real: int
    left_out: bool

    @property
    def over(self) -> float:
        """Tokens above the budget, as a share of it."""
        return max(0.0, self.real / self.budget - 1)

    @property
    def unused(self) -> float:
        """Tokens of the budget that no line took, as a share of it."""
        return max(0.0, 1 - self.real / self.budget)


def real_tokens(strings: Sequence[str], folder: Path) -> list[int]:
    """The number of o200k_base tokens of each text, counted by gpt-tokenizer under Node.js.

    Raises:
        click.ClickException: with the command that installs what is missing.
    """
    command = INSTALL.format(folder=folder)
    try:
        done = subprocess.run(
            ["node", "-e", COUNT],
            input=json.dumps(strings),
            capture_output=True,
            text=True,
            check=True,
            env=None,
            cwd=folder if folder.is_dir() else None,
        )
    except FileNotFoundError as error:
        raise click.ClickException(
            f"node is not on the PATH: install Node.js 18 or newer, then: {command}"
        ) from error
    except subprocess.CalledProcessError as error:
        if "Cannot find module" in error.stderr:
            raise click.ClickException(
                f"gpt-tokenizer is not in {folder}. Try: {command}"
            ) from error
        raise click.ClickException(f"the tokenizer failed:\n{error.stderr}") from error
    counts: list[int] = json.loads(done.stdout)
    return counts


def texts(
    conn: psycopg.Connection[Any],
    chat: Path | None,
    chinese: Path | None,
    languages: Path | None,
) -> dict[str, list[str]]:
    """The texts of every class there is data for, and a mixture of them all."""
    sources = {}
    if chat:
        sources["English chat"] = [turn.text for turn in read(chat).turns]
    if chinese:
        sources["Chinese"] = [
            line for path in sorted(chinese.glob("*.txt")) for line in lines(path)
        ]
    sources["Python"] = chunks("pyclient/**/*.py")
    sources["SQL"] = chunks("sql/**/*.sql")
    sources["Markdown"] = chunks("**/*.md")
    sources["JSON"] = [row for (row,) in conn.execute(CATALOGUE.encode())]
    sources = {name: some(found, MEMORIES) for name, found in sources.items()}
    share = MEMORIES // len(sources)
    sources["mixture"] = [text for own in sources.values() for text in some(own, share)]
    if languages:
        for path in sorted(languages.glob("*.txt")):
            sources[path.stem] = some(lines(path), MEMORIES)
    return sources


def lines(path: Path) -> list[str]:
    """The lines of a file that have something to remember."""
    return [line.strip() for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]


def chunks(pattern: str) -> list[str]:
    """Pieces of one to twelve lines of the files of this project, cut evenly."""
    source = random.Random(SEED)
    found = []
    for path in sorted(ROOT.glob(pattern)):
        hidden = any(part.startswith(".") for part in path.relative_to(ROOT).parts)
        own = [] if hidden or "node_modules" in path.parts else lines(path)
        while own:
            count = source.randint(1, 12)
            found.append("\n".join(own[:count]))
            own = own[count:]
    return found


def some(found: Sequence[str], count: int) -> list[str]:
    """At most this many different ones, the same every time."""
    different = list(dict.fromkeys(found))
    return random.Random(SEED).sample(different, min(count, len(different)))


def ask(
    conn: psycopg.Connection[Any],
    sources: Mapping[str, Sequence[str]],
    asked: Mapping[str, Sequence[str]],
    mode: str,
    budgets: Sequence[int],
    tokenizer: Path,
) -> list[Block]:
    """Store the texts and ask for blocks; the question is the beginning of one of them."""
    printed: list[str] = []
    found: list[tuple[str, int, int, bool]] = []
    total = len(budgets) * sum(len(own) for own in asked.values())
    with progress_bar(total, "asking") as bar:
        for name, own in sources.items():
            client = Memoir(conn, user=name, embedder=None)
            client.remember_many(NewMemory(content=text, kind="fact") for text in own)
            for text in asked[name]:
                for budget in budgets:
                    made = client.recall(text[:120], mode, budget)
                    printed.append(made.block)
                    left_out = leaves_out(client, text[:120], mode, budget, made)
                    found.append((name, budget, made.tokens, left_out))
                bar.update(len(budgets))
    counted = real_tokens(printed, tokenizer)
    return [
        Block(name, budget, estimated, real, left_out)
        for (name, budget, estimated, left_out), real in zip(found, counted, strict=True)
    ]


def leaves_out(client: Memoir, query: str, mode: str, budget: int, made: Recall) -> bool:
    """Whether a candidate that is no near-duplicate is not in the block.

    Only blocks with a tenth of their budget unused are looked into: the others have no question.
    """
    if made.tokens > 0.9 * budget:
        return made.candidates > len(made.memory_ids)
    return any(row.reason in LEFT_OUT for row in client.explain(query, mode, budget))


def grouped(blocks: Sequence[Block]) -> Iterator[tuple[str, int | None, list[Block]]]:
    """The blocks of every class and budget, then all of them."""
    for name in dict.fromkeys(block.source for block in blocks):
        for budget in dict.fromkeys(block.budget for block in blocks):
            yield name, budget, [b for b in blocks if (b.source, b.budget) == (name, budget)]
    yield "all", None, list(blocks)


def figures(name: str, budget: int | None, blocks: Sequence[Block]) -> dict[str, Any]:
    """The figures of one row of the table; shares are percentages.

    Unused budget is that of blocks that left a candidate out: the others had no more to say.
    """
    unused = [100 * block.unused for block in blocks if block.left_out] or [0.0]
    return {
        "source": name,
        "budget": budget,
        "blocks": len(blocks),
        "over": round(100 * fmean(block.over > 0 for block in blocks), 2),
        "worst_over": round(100 * max(block.over for block in blocks), 1),
        "left_out": sum(block.left_out for block in blocks),
        "unused_median": round(median(unused), 1),
        "unused_p90": round(percentile(unused, 90), 1),
        "estimate_above_real": round(
            100 * (sum(b.estimated for b in blocks) / max(1, sum(b.real for b in blocks)) - 1), 1
        ),
    }


def report(result: Mapping[str, Any]) -> str:
    """The figures for people."""
    memories = ", ".join(f"{name} {count}" for name, count in result["memories"].items())
    rows = (
        (
            row["source"],
            row["budget"] or "",
            row["blocks"],
            f"{row['over']:.2f}",
            f"{row['worst_over']:.1f}",
            f"{row['unused_median']:.1f}",
            f"{row['unused_p90']:.1f}",
            f"{row['estimate_above_real']:+.1f}",
        )
        for row in result["blocks"]
    )
    head = ("budget", "blocks", "over, %", "worst, %", "unused: median", "p90, %", "estimate")
    return "\n".join(
        (
            f"PostgreSQL {result['server_version']}, mode {result['mode']}, tokens: o200k_base",
            f"memories: {memories}",
            "",
            table(("", *head), *rows),
            "",
            "unused: in blocks that left a candidate out; estimate: above the real tokens, %",
        )
    )


@benchmark(report)
@click.option("--chat", type=FILE, help="A file as locomo.py reads it: English chat.")
@click.option("--chinese", type=FOLDER, help="A folder of Chinese *.txt: each line is a memory.")
@click.option("--languages", type=FOLDER, help="A folder of *.txt, each a class of its own.")
@click.option(
    "--tokenizer",
    type=click.Path(file_okay=False, path_type=Path),
    default=HERE / "data",
    help="The folder in which npm installed gpt-tokenizer. Default: scripts/bench/data.",
)
@MODE
@click.option("--budgets", default="400,800,1600", show_default=True, help="Tokens.")
@count("--questions", 150, "Of each sort of text.")
def main(
    where: Where,
    chat: Path | None,
    chinese: Path | None,
    languages: Path | None,
    tokenizer: Path,
    mode: str,
    budgets: str,
    questions: int,
) -> Figures:
    """Count the real tokens of blocks of chat, Chinese, code, Markdown, JSON and mixtures.

    Takes 2 minutes, and Node.js 18 or newer.
    """
    wanted = numbers(budgets)
    real_tokens(["ready"], tokenizer)
    with where.opened() as place, place.connect() as conn:
        sources = texts(conn, chat, chinese, languages)
        asked = {name: some(own, questions) for name, own in sources.items()}
        blocks = ask(conn, sources, asked, mode, wanted, tokenizer)
        return {
            "mode": mode,
            "server_version": place.server,
            "memories": {name: len(own) for name, own in sources.items()},
            "blocks": [figures(*of) for of in grouped(blocks)],
        }


if __name__ == "__main__":
    main()
