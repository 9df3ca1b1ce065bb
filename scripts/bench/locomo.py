#!/usr/bin/env python3
"""Recall on real conversations: how much of the evidence is in the block, and how fast.

Loads every conversation of a file as a user of its own, asks every question through the public
recall at several budgets, and times the SQL call against the raw vector search on the same rows.
The README beside this file says what is measured and shows the figures.
"""

from __future__ import annotations

import json
import re
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

import click
import psycopg
from common import Floor, Statement, database, interleaved, percentile, scalar, vector_schema
from conversations import (
    Asked,
    Turn,
    Vectors,
    chosen,
    embed,
    numbers,
    pooled,
    read,
    read_vectors,
)
from plan import candidate_plan

from pgmemoir import Memoir
from pgmemoir.calls import Calls, NewMemory, Question, Recall, vector_text
from pgmemoir.cli.output import progress_bar
from pgmemoir.errors import MemoirError

CATEGORIES = {
    1: "multi-hop",
    2: "temporal",
    3: "open-domain",
    4: "single-hop",
    5: "adversarial",
}
# The budget at which the call is timed and the tokens of a block are counted.
TIMED_BUDGET = 800
ROUNDS = 5


@dataclass(frozen=True)
class Answer:
    """What one recall gave: the share of the evidence in its block, and the block's tokens."""

    share: float
    tokens: int
    shortened: int


class Untraceable(Exception):
    """A block has a line that is not of the memories its recall names."""


@click.command()
@click.argument("data", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option(
    "--vectors",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="An .npz with the arrays turns and questions, in the order of DATA. Default: wordllama.",
)
@click.option("--mode", default="execute", show_default=True, help="How a recall is weighted.")
@click.option("--budgets", default="400,800,1600", show_default=True, help="Tokens.")
@click.option("--categories", default="1-4", show_default=True, help="Such as 2, 1-4 or 1,3-5.")
@click.option("--limit", type=click.IntRange(1), help="Ask this many questions, evenly spread.")
@click.option("--pool", is_flag=True, help="One user has all the conversations.")
@click.option("--dsn", help="A scratch database. Default: a server that is deleted afterwards.")
@click.option("--pg", type=click.Choice(["18", "16"]), default="18", help="Version of that server.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.option("--explain", is_flag=True, help="Print the plan of one recall, and of the floor.")
def main(
    data: Path,
    vectors: Path | None,
    mode: str,
    budgets: str,
    categories: str,
    limit: int | None,
    pool: bool,
    dsn: str | None,
    pg: str,
    as_json: bool,
    explain: bool,
) -> None:
    """Measure recall on the conversations of DATA, a JSON file with turns and questions."""
    turns, questions = read(data)
    if pool:
        turns, questions = pooled(turns, questions)
    given = embed(turns, questions) if vectors is None else read_vectors(vectors)
    if (len(given.turns), len(given.questions)) != (len(turns), len(questions)):
        raise click.UsageError(f"{vectors} does not have a vector for each entry of {data}")
    places = chosen(questions, numbers(categories), limit)
    try:
        with database(dsn, int(pg)) as conn:
            bench = Bench(conn, mode, turns, questions, given)
            bench.load()
            result = bench.measure(places, numbers(budgets))
            plans = bench.plans(places[0]) if explain else ""
    except (MemoirError, psycopg.OperationalError, Untraceable) as error:
        raise click.ClickException(str(error)) from error
    click.echo(json.dumps(result, ensure_ascii=False) if as_json else table(result))
    if plans:
        click.echo(plans, err=as_json)


class Bench:
    """The conversations in a database, and the questions to it.

    Args:
        conn: in autocommit; the client, the timing and the set-up all use it.
    """

    def __init__(
        self,
        conn: psycopg.Connection[Any],
        mode: str,
        turns: Sequence[Turn],
        questions: Sequence[Asked],
        vectors: Vectors,
    ) -> None:
        self._conn = conn
        self._mode = mode
        self._turns = turns
        self._questions = questions
        self._vectors = vectors
        users = dict.fromkeys(turn.user for turn in turns)
        self._clients = {user: Memoir(conn, user=user, embedder=None) for user in users}
        # By user and memory id: the turn that was stored.
        self._stored: dict[str, dict[int, Turn]] = {user: {} for user in users}
        self._load_seconds = 0.0

    def load(self) -> None:
        """Store every turn through the client, as an import would, and tidy up as it should."""
        start = time.perf_counter()
        with progress_bar(len(self._turns), "loading") as bar:
            for user, client in self._clients.items():
                own = [place for place, turn in enumerate(self._turns) if turn.user == user]
                stored = client.remember_many(map(self._memory, own))
                for place, done in zip(own, stored, strict=True):
                    self._stored[user][done.memory_id] = self._turns[place]
                bar.update(len(own))
        self._load_seconds = time.perf_counter() - start
        Floor.fill(self._conn)
        self._conn.execute("VACUUM (ANALYZE)")

    def measure(self, places: Sequence[int], budgets: Sequence[int]) -> dict[str, Any]:
        """Ask the questions at these places; the figures of the report.

        Raises:
            Untraceable: a block cannot be traced to its memories.
        """
        answers = self._ask(places, sorted({*budgets, TIMED_BUDGET}))
        ours, floor, index_only = self._time(places)
        timed = answers[TIMED_BUDGET]
        p50, floor_p50 = percentile(ours, 50), percentile(floor, 50)
        return {
            **{f"evidence_at_{budget}": _percent(answers[budget]) for budget in budgets},
            "p50_ms": round(p50, 3),
            "p95_ms": round(percentile(ours, 95), 3),
            "floor_p50_ms": round(floor_p50, 3),
            "floor_p95_ms": round(percentile(floor, 95), 3),
            "ratio_p50": round(p50 / floor_p50, 2),
            "index_only_p50_ms": round(percentile(index_only, 50), 3),
            "index_only_ratio_p50": round(p50 / percentile(index_only, 50), 2),
            "mode": self._mode,
            "vectors": self._vectors.name,
            "questions": len(places),
            "turns": len(self._turns),
            "users": len(self._clients),
            "server_version": scalar(self._conn, "SHOW server_version"),
            "load_seconds": round(self._load_seconds, 2),
            "embed_load_seconds": _rounded(self._vectors.load_seconds, 2),
            "embed_question_p50_ms": _rounded(self._vectors.question_ms, 3),
            "tokens_used_mean": round(fmean(answer.tokens for answer in timed), 1),
            "shortened_lines": sum(answer.shortened for answer in timed),
            "rows_out_of_index": self._wide_rows(),
            "by_category": self._by_category(places, answers, budgets),
        }

    def plans(self, place: int) -> str:
        """The plan of the candidates of one question, and that of the floor."""
        asked = self._questions[place]
        recall = self._call(Calls(vector_schema(self._conn)), place)
        floor = Floor(self._conn).bare(asked.user, vector_text(self._vectors.questions[place]))
        lines = self._conn.execute(b"EXPLAIN (ANALYZE, BUFFERS) " + floor.text, floor.params)
        found = "\n".join(re.sub(r"'\[[^]]*\]'", "'[...]'", line) for (line,) in lines)
        plan = candidate_plan(self._conn, recall)
        return (
            f"\nquestion: {self._questions[place].text}"
            f"\n\ncandidates of _recall, generic plan:\n{plan}\n\nfloor:\n{found}"
        )

    def _memory(self, place: int) -> NewMemory:
        turn = self._turns[place]
        return {
            "content": turn.text,
            "kind": "turn",
            "session": turn.session,
            "turn": turn.position,
            "speaker": turn.speaker,
            "created_at": turn.time,
            "vector": self._vectors.turns[place],
        }

    def _ask(self, places: Sequence[int], budgets: Sequence[int]) -> dict[int, list[Answer]]:
        """By budget, the answers in the order of the questions."""
        answers: dict[int, list[Answer]] = {budget: [] for budget in budgets}
        with progress_bar(len(places) * len(budgets), "asking") as bar:
            for place in places:
                for budget in budgets:
                    answers[budget].append(self._answer(place, budget))
                bar.update(len(budgets))
        return answers

    def _answer(self, place: int, budget: int) -> Answer:
        question = self._questions[place]
        found = self._clients[question.user].recall(
            question.text, self._mode, budget, vector=self._vectors.questions[place]
        )
        stored = self._stored[question.user]
        lines = traced(found, stored)
        present = {stored[memory].dia_id for memory in lines}
        return Answer(
            share=fmean(turn in present for turn in question.evidence),
            tokens=found.tokens,
            shortened=sum(line.endswith("…") for line in lines.values()),
        )

    def _time(self, places: Sequence[int]) -> list[list[float]]:
        """Milliseconds of memory_context and of the two floors, by question."""
        calls, floor = Calls(vector_schema(self._conn)), Floor(self._conn)
        rivals = []
        for place in places:
            user = self._questions[place].user
            vector = vector_text(self._vectors.questions[place])
            context = _as_context(self._call(calls, place))
            rivals.append((context, floor.bare(user, vector), floor.index_only(user, vector)))
        with progress_bar(len(rivals) * (ROUNDS + 1), "timing") as bar:
            return interleaved(self._conn, rivals, ROUNDS, bar.update)

    def _call(self, calls: Calls, place: int) -> Statement:
        """The recall that the client sends for a question."""
        asked, vector = self._questions[place], self._vectors.questions[place]
        question = Question.of(asked.text, vector, self._mode, TIMED_BUDGET, None, None)
        call = calls.recall(question, asked.user)
        return Statement(call.statement, call.params)

    def _by_category(
        self,
        places: Sequence[int],
        answers: Mapping[int, list[Answer]],
        budgets: Sequence[int],
    ) -> dict[str, dict[str, float]]:
        members: dict[int, list[int]] = defaultdict(list)
        for number, place in enumerate(places):
            members[self._questions[place].category].append(number)
        result: dict[str, dict[str, float]] = {}
        for category, own in sorted(members.items()):
            shares = {
                f"evidence_at_{budget}": _percent([answers[budget][number] for number in own])
                for budget in budgets
            }
            name = CATEGORIES.get(category, str(category))
            result[name] = {"questions": len(own), **shares}
        return result

    def _wide_rows(self) -> int:
        """Rows too long for the index: recall reads them from the table, the floor not at all."""
        return int(scalar(self._conn, "SELECT count(*) FROM memoir.trace WHERE active AND wide"))


def traced(found: Recall, stored: Mapping[int, Turn]) -> dict[int, str]:
    """The line of every memory in a block, from the text of the block alone.

    Args:
        stored: the user's turns by memory id. A line is the whole text of one, or its beginning
            and "…".

    Raises:
        Untraceable: a line is of no memory that the recall names, or the recall names a memory
            that has no line.
    """
    unseen = dict.fromkeys(found.memory_ids)
    if missing := unseen.keys() - stored.keys():
        raise Untraceable(f"recall names memories this user never stored: {sorted(missing)}")
    lines: dict[int, str] = {}
    for line in _memory_lines(found.block):
        of = next((memory for memory in unseen if _is_line_of(line, stored[memory].text)), None)
        if of is None:
            raise Untraceable(f"no memory of {found.memory_ids} has the line: {line}")
        del unseen[of]
        lines[of] = line
    if unseen:
        raise Untraceable(f"memories {sorted(unseen)} have no line in the block:\n{found.block}")
    return lines


def _memory_lines(block: str) -> Iterator[str]:
    """The lines under the headings of a block, without their bullets."""
    for line in block.splitlines():
        if line.startswith("- "):
            yield line[2:]
        elif line and not line.startswith("## ") and line != "(no relevant memory)":
            raise Untraceable(f"neither a heading nor a memory: {line}")


def _is_line_of(line: str, text: str) -> bool:
    whole = " ".join(text.split())
    return line == whole or (line.endswith("…") and whole.startswith(line[:-1]))


def _as_context(recall: Statement) -> Statement:
    """The same call of memory_context, which returns the block alone."""
    start = recall.text.index(b"memoir.recall(")
    return Statement(
        b"SELECT " + recall.text[start:].replace(b"memoir.recall(", b"memoir.memory_context(", 1),
        recall.params,
    )


def _percent(answers: Sequence[Answer]) -> float:
    return round(100 * fmean(answer.share for answer in answers), 2)


def _rounded(number: float | None, digits: int) -> float | None:
    return None if number is None else round(number, digits)


def table(result: Mapping[str, Any]) -> str:
    """The figures for people."""
    budgets = [key for key in result if key.startswith("evidence_at_")]
    heads = "".join(f"{key.removeprefix('evidence_at_'):>8}" for key in budgets)
    rows = [("all", result["questions"], result)]
    rows += [(name, each["questions"], each) for name, each in result["by_category"].items()]
    lines = [
        f"{result['turns']} turns of {result['users']} users, {result['questions']} questions, "
        f"mode {result['mode']}, vectors {result['vectors']}, "
        f"PostgreSQL {result['server_version'].split()[0]}",
        f"loaded in {result['load_seconds']:.1f} s" + _embedding(result),
        "",
        f"{'evidence in the block, %':<26}{'questions':>9}{heads}   tokens",
        *(
            f"{name:<26}{count:>9}" + "".join(f"{each[key]:>8.2f}" for key in budgets)
            for name, count, each in rows
        ),
        "",
        f"a block of {TIMED_BUDGET} has {result['tokens_used_mean']:.0f} estimated tokens on "
        f"average; {result['shortened_lines']} lines were shortened",
        "",
        f"{'SQL call, ms':<26}{'p50':>9}{'p95':>8}",
        f"{f'recall at {TIMED_BUDGET} tokens':<26}{result['p50_ms']:>9.3f}{result['p95_ms']:>8.3f}",
        f"{'floor: 20 nearest':<26}{result['floor_p50_ms']:>9.3f}{result['floor_p95_ms']:>8.3f}",
        f"{'  ratio':<26}{result['ratio_p50']:>9.2f}",
        f"{'floor, index-only':<26}{result['index_only_p50_ms']:>9.3f}",
        f"{'  ratio':<26}{result['index_only_ratio_p50']:>9.2f}",
        f"(median of {ROUNDS} rounds a question, percentiles over questions; "
        f"{result['rows_out_of_index']} rows lie outside the index)",
    ]
    return "\n".join(lines)


def _embedding(result: Mapping[str, Any]) -> str:
    """What the client spent on vectors, which is in no other figure."""
    if result["embed_question_p50_ms"] is None:
        return ", vectors given"
    return (
        f", after {result['embed_load_seconds']:.1f} s of embedding; "
        f"embedding a question takes {result['embed_question_p50_ms']:.2f} ms"
    )


if __name__ == "__main__":
    main()
