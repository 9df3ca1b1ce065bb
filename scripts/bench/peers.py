#!/usr/bin/env python3
"""pgmemoir beside mem0's and LangGraph's stores: the same rows, vectors, questions and server.

How much of the evidence stands in a block of their results, how long the call of a Python program
takes, and how many of the rows asked for come back. The README beside this file says what is
measured and shows the figures.
"""

from __future__ import annotations

import gc
import json
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from statistics import fmean, median
from typing import Any

import click
import numpy as np
import psycopg
from common import ROUNDS, database, percentile, placed, scalar, vector_schema
from conversations import (
    Asked,
    Data,
    Given,
    Made,
    chosen,
    copied,
    embed,
    numbers,
    pooled,
    read,
    read_vectors,
)
from loaded import TIMED_BUDGET, Loaded, Untraceable
from rivals import Rival, Rows, Vector, lemmatizes, prepare, rivals, versions

from pgmemoir import Memoir
from pgmemoir.cli.output import progress_bar
from pgmemoir.errors import MemoirError

# Rows asked of a store for the block of a budget: enough to fill it.
ROWS = {400: 60, 800: 60, 1600: 120}
BUDGETS = tuple(ROWS)
FOR_A_BLOCK = ROWS[TIMED_BUDGET]
MODES = ("conversation", "execute")
# How far the copies of a vector lie from it: a cosine of about 0.9.
NOISE = 0.5

_COSTS = b"""SELECT memoir._token_cost('- ' || memoir._line(t.text, s.value::int) || E'\n')
FROM unnest(%s::text[]) WITH ORDINALITY AS t (text, place)
CROSS JOIN memoir.setting AS s WHERE s.name = 'line_length'
ORDER BY t.place"""
_HEADING_COST = """SELECT memoir._token_cost('## ' || heading || E'\n')
FROM memoir.kind WHERE name = 'turn'"""
_EMBEDDED = b"SELECT memoir.embedding_text(%s, %s, %s)"


@dataclass(frozen=True)
class Call:
    """One way to ask, ready for each of the questions."""

    store: str
    limit: int | None
    ask: Callable[[int], Any]


class Known:
    """An embedder of pgmemoir's that knows the vectors already."""

    name = "known"

    def __init__(self, vectors: Mapping[str, Vector]) -> None:
        self._vectors = vectors

    @property
    def dimensions(self) -> int:
        """Of every vector."""
        return len(next(iter(self._vectors.values())))

    def embed(self, texts: list[str]) -> list[list[float]]:
        """Look them up."""
        return [list(self._vectors[text]) for text in texts]


@click.command()
@click.argument("data", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option(
    "--vectors",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="An .npz with the arrays turns and questions, in the order of DATA. Default: wordllama.",
)
@click.option("--categories", default="1-4", show_default=True, help="Such as 2, 1-4 or 1,3-5.")
@click.option("--limit", type=click.IntRange(1), help="Ask this many questions, evenly spread.")
@click.option("--pool", is_flag=True, help="One user has all the conversations.")
@click.option("--copies", type=click.IntRange(1), help="Every turn so many times.")
@click.option("--rows", type=click.IntRange(1), help="The same, by the number of rows in all.")
@placed
def main(
    data: Path,
    vectors: Path | None,
    categories: str,
    limit: int | None,
    pool: bool,
    copies: int | None,
    rows: int | None,
    dsn: str | None,
    version: int,
    as_json: bool,
) -> None:
    """Compare pgmemoir with mem0 and LangGraph on the conversations of DATA, a JSON file.

    Copies are other users' memories, made of other words, with vectors beside the original's; with
    --pool they are the one user's own, and only times are measured.
    """
    if copies and rows:
        raise click.UsageError("--copies and --rows say the same: give one")
    with ExitStack() as stack:
        prepare(Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="pgmemoir-bench-"))))
        held, given = _held(read(data), vectors, pool=pool, copies=copies, rows=rows)
        places = chosen(held.questions, numbers(categories), limit)
        try:
            conn = stack.enter_context(database(dsn, version))
            comparison = Comparison(stack, conn, dsn or conn.info.dsn, held, given, places)
            result = comparison.about()
            # Several copies of a turn in one memory: which of them is the evidence?
            result["stores"] = comparison.stores(evidence=not pool or not (copies or rows))
        except (MemoirError, psycopg.OperationalError, Untraceable) as error:
            raise click.ClickException(str(error)) from error
    click.echo(json.dumps(result, ensure_ascii=False) if as_json else report(result))


def _held(
    data: Data, path: Path | None, *, pool: bool, copies: int | None, rows: int | None
) -> tuple[Data, Given | Made]:
    """The data as it is to be stored, with its vectors."""
    given = embed(data, False) if path is None else read_vectors(path, data, False)
    own = len(data.turns)
    if rows and rows < own:
        raise click.UsageError(f"--rows: the data alone has {own}")
    number = copies or -(-(rows or own) // own)
    if pool:
        data = pooled(data)
    if number == 1:
        return data, given
    data = copied(data, number)
    turns = [
        turn if pool or place < own else replace(turn, user=f"{turn.user} copy {place // own}")
        for place, turn in enumerate(data.turns)
    ][: rows or None]
    noisy = _noisy(np.asarray(given.turns), number)[: len(turns)].tolist()
    # An embedder gives equal texts equal vectors.
    of_text = dict(zip((turn.text for turn in turns), noisy, strict=True))
    return (
        Data(turns, data.questions, []),
        replace(given, turns=[of_text[turn.text] for turn in turns]),
    )


def _noisy(vectors: np.ndarray[Any, Any], copies: int) -> np.ndarray[Any, Any]:
    """The vectors, and after them copies of each a little beside it, all of length 1."""
    noise = np.random.default_rng(1).normal(
        scale=NOISE / np.sqrt(vectors.shape[1]), size=(copies - 1, *vectors.shape)
    )
    moved = np.concatenate([vectors, (vectors + noise).reshape(-1, vectors.shape[1])])
    lengths = np.linalg.norm(moved, axis=1, keepdims=True)
    return np.asarray(moved / np.where(lengths == 0, 1, lengths))


class Comparison:
    """All stores filled, in one database, and the questions to them.

    Args:
        stack: closes what this opens.
        places: of the questions to ask.
    """

    def __init__(
        self,
        stack: ExitStack,
        conn: psycopg.Connection[Any],
        dsn: str,
        data: Data,
        vectors: Given | Made,
        places: Sequence[int],
    ) -> None:
        self._conn = conn
        self._data = data
        self._places = places
        self._loaded = Loaded(conn, data, vectors, facts=False, words_only=False)
        self._vectors_name = vectors.name
        self._vectors = {mode: self._loaded.question_vectors(mode, places) for mode in MODES}
        plain = self._vectors["execute"]
        rows = Rows(
            data.turns,
            vectors.turns,
            {data.questions[place].text: plain[place] for place in places},
        )
        start = time.perf_counter()
        self._rivals = stack.enter_context(rivals(dsn, vector_schema(conn), rows))
        self._rivals_seconds = time.perf_counter() - start
        conn.execute("VACUUM (ANALYZE)")
        self._ours = [
            self._context(stack, dsn, mode, inside)
            for mode, inside in (*((mode, False) for mode in MODES), ("conversation", True))
        ]

    def about(self) -> dict[str, Any]:
        """What is compared, and with what."""
        return {
            "turns": len(self._data.turns),
            "users": self._loaded.users,
            "questions": len(self._places),
            "vectors": self._vectors_name,
            "server_version": scalar(self._conn, "SHOW server_version"),
            "vector_version": scalar(
                self._conn, "SELECT extversion FROM pg_extension WHERE extname = 'vector'"
            ),
            "versions": versions(),
            "lemmatized": lemmatizes(),
            "load_seconds": round(self._loaded.load_seconds, 1),
            "rivals_load_seconds": round(self._rivals_seconds, 1),
        }

    def stores(self, *, evidence: bool) -> dict[str, dict[str, Any]]:
        """By store, its figures. Times first: by then every connection has settled on its plans."""
        calls = list(self._ours)
        for rival in self._rivals:
            calls += [self._call(rival, limit) for limit in (rival.limit, FOR_A_BLOCK)]
        result: dict[str, dict[str, Any]] = {call.store: {} for call in calls}
        for call, times in zip(calls, self._times(calls), strict=True):
            ending = "_for_a_block" if call.limit == FOR_A_BLOCK else ""
            result[call.store] |= {
                f"p50_ms{ending}": round(percentile(times, 50), 3),
                f"p95_ms{ending}": round(percentile(times, 95), 3),
            }
        for rival in self._rivals:
            result[rival.name] |= {"limit": rival.limit, **self._evidence(rival, evidence)}
        for call in self._ours:
            result[call.store] |= self._lines(call)
        if evidence:
            for mode in MODES:
                result[f"pgmemoir, {mode}"] |= self._own_evidence(mode)
        return result

    def _asked(self, place: int) -> Asked:
        return self._data.questions[place]

    def _context(self, stack: ExitStack, dsn: str, mode: str, inside: bool) -> Call:
        """pgmemoir's call for a block, on a connection of its own.

        Args:
            inside: it is given the text alone and embeds it itself, which costs nothing here; in
                a mode that strips questions it asks the database for the text to embed.
        """
        conn = stack.enter_context(psycopg.connect(dsn, autocommit=True))
        vectors = self._vectors[mode]
        embedder = Known(self._texts(mode)) if inside else None
        clients = {
            user: Memoir(conn, user=user, embedder=embedder)
            for user in {self._asked(place).user for place in self._places}
        }

        def ask(place: int) -> str:
            asked = self._asked(place)
            vector = None if inside else vectors[place]
            return clients[asked.user].context(asked.text, mode, TIMED_BUDGET, vector=vector)

        return Call(f"pgmemoir, {mode}{', embedding' if inside else ''}", None, ask)

    def _texts(self, mode: str) -> dict[str, Vector]:
        """By the text that the client embeds in a mode, the vector of the question."""
        texts = {}
        for place in self._places:
            asked = self._asked(place)
            found = self._conn.execute(_EMBEDDED, (asked.text, asked.user, mode)).fetchone()
            assert found is not None
            texts[found[0]] = self._vectors[mode][place]
        return texts

    def _call(self, rival: Rival, limit: int) -> Call:
        plain = self._vectors["execute"]
        return Call(
            rival.name, limit, lambda place: rival.ask(self._asked(place), plain[place], limit)
        )

    def _lines(self, call: Call) -> dict[str, int]:
        """How many memories stand in the blocks of a call of pgmemoir's."""
        blocks = [call.ask(place) for place in self._places]
        lines = [sum(line.startswith("- ") for line in block.splitlines()) for block in blocks]
        return {"returned_p50": round(median(lines)), "returned_min": min(lines)}

    def _own_evidence(self, mode: str) -> dict[str, Any]:
        answers = self._loaded.answers(mode, self._places, BUDGETS)
        return {
            f"evidence_at_{budget}": _percent([answer.share for answer in answers[budget]])
            for budget in BUDGETS
        }

    def _evidence(self, rival: Rival, evidence: bool) -> dict[str, Any]:
        """The share in a block filled with its rows, and how many rows it returned."""
        costs, heading = self._costs
        calls = {rows: self._call(rival, rows) for rows in (rival.limit, *ROWS.values())}
        returned: dict[int, list[int]] = {rows: [] for rows in calls}
        shares: dict[int, list[float]] = {budget: [] for budget in BUDGETS}
        unfilled = dict.fromkeys(BUDGETS, 0)
        with progress_bar(len(self._places), f"asking {rival.name}") as bar:
            for place in self._places:
                found = {rows: rival.places(call.ask(place)) for rows, call in calls.items()}
                for rows, turns in found.items():
                    returned[rows].append(len(turns))
                for budget, rows in ROWS.items():
                    lines = filled(found[rows], costs, budget - heading)
                    told = {self._data.turns[turn].dia_id for turn in lines}
                    shares[budget].append(
                        fmean(turn in told for turn in self._asked(place).evidence)
                    )
                    unfilled[budget] += len(lines) == len(found[rows])
                bar.update(1)
        figures = {f"evidence_at_{budget}": _percent(shares[budget]) for budget in BUDGETS}
        return {
            **(figures if evidence else {}),
            "returned_p50": round(median(returned[rival.limit])),
            "returned_min": min(returned[rival.limit]),
            "returned_p50_for_a_block": round(median(returned[FOR_A_BLOCK])),
            "returned_min_for_a_block": min(returned[FOR_A_BLOCK]),
            **{
                f"unfilled_at_{budget}": round(100 * unfilled[budget] / len(self._places), 1)
                for budget in BUDGETS
            },
        }

    @cached_property
    def _costs(self) -> tuple[list[float], float]:
        """Estimated tokens of every turn as a line of a block, and of the heading."""
        rows = self._conn.execute(_COSTS, ([turn.text for turn in self._data.turns],))
        return [cost for (cost,) in rows], float(scalar(self._conn, _HEADING_COST))

    def _times(self, calls: Sequence[Call]) -> list[list[float]]:
        """For each call, the milliseconds of every question, by turns."""
        with progress_bar(len(self._places) * (ROUNDS + 1), "timing") as bar:
            return interleaved([call.ask for call in calls], self._places, bar.update)


def filled(found: Sequence[int], costs: Sequence[float], budget: float) -> list[int]:
    """Those of the turns found that become lines: in their order, whatever still fits."""
    lines = []
    for turn in found:
        if costs[turn] <= budget:
            budget -= costs[turn]
            lines.append(turn)
    return lines


def interleaved(
    asks: Sequence[Callable[[int], Any]], places: Sequence[int], progress: Callable[[int], None]
) -> list[list[float]]:
    """Time calls against each other, question by question, each on its own connection.

    Their order is drawn anew for each question and round. One round before the first warms
    everything up and is not counted.

    Returns:
        for each call, the median over the rounds of every question, in milliseconds.
    """
    times = np.zeros((len(asks), ROUNDS + 1, len(places)))
    order = np.random.default_rng(1)
    gc.disable()
    try:
        for turn in range(ROUNDS + 1):
            for number, place in enumerate(places):
                for which in order.permutation(len(asks)).tolist():
                    start = time.perf_counter()
                    asks[which](place)
                    times[which, turn, number] = (time.perf_counter() - start) * 1000
            gc.collect()
            progress(len(places))
    finally:
        gc.enable()
    return [[median(each) for each in kind[1:].T.tolist()] for kind in times]


def _percent(shares: Sequence[float]) -> float:
    return round(100 * fmean(shares), 2)


def report(result: Mapping[str, Any]) -> str:
    """The figures for people."""
    packages = ", ".join(f"{name} {version}" for name, version in result["versions"].items())
    stores = result["stores"]
    parts = [
        f"{result['turns']} turns of {result['users']} users, {result['questions']} questions, "
        f"vectors {result['vectors']}\n"
        f"PostgreSQL {result['server_version'].split()[0]}, pgvector {result['vector_version']}, "
        f"{packages}\n"
        f"mem0 {'lemmatises with spaCy' if result['lemmatized'] else 'has no spaCy: no lemmas'}; "
        f"loaded in {result['load_seconds']:.1f} s, theirs in {result['rivals_load_seconds']:.1f} s"
    ]
    if any("evidence_at_800" in store for store in stores.values()):
        parts.append(_evidence_table(stores))
    parts.append(_time_table(stores))
    return "\n\n".join(parts)


def _evidence_table(stores: Mapping[str, Mapping[str, Any]]) -> str:
    heads = "".join(f"{budget:>8}" for budget in BUDGETS)
    lines = [f"{'evidence in the block, %':<34}{heads}   not filled, %{heads}"]
    for name, store in stores.items():
        if "evidence_at_800" in store:
            shares = "".join(f"{store[f'evidence_at_{budget}']:>8.2f}" for budget in BUDGETS)
            line = f"{name:<34}{shares}"
            if "unfilled_at_800" in store:
                line += " " * 16
                line += "".join(f"{store[f'unfilled_at_{budget}']:>8.1f}" for budget in BUDGETS)
            lines.append(line)
    asked = ", ".join(f"{rows} for {budget}" for budget, rows in ROWS.items())
    lines.append(f"not filled: blocks with room for more than came of the rows asked for ({asked})")
    return "\n".join(lines)


def _time_table(stores: Mapping[str, Mapping[str, Any]]) -> str:
    lines = [f"{'call, ms':<34}{'rows':>6}{'come: p50':>11}{'min':>5}{'p50':>9}{'p95':>9}"]
    for name, store in stores.items():
        if "limit" not in store:
            asked = [("block", "")]
        else:
            asked = [(str(store["limit"]), ""), (str(FOR_A_BLOCK), "_for_a_block")]
        for rows, ending in asked:
            lines.append(
                f"{name if not ending else '':<34}{rows:>6}"
                f"{store[f'returned_p50{ending}']:>11}{store[f'returned_min{ending}']:>5}"
                f"{store[f'p50_ms{ending}']:>9.2f}{store[f'p95_ms{ending}']:>9.2f}"
            )
    lines += [
        f"rows: asked for, by default and for a block; come: returned; block: of {TIMED_BUDGET} "
        "tokens, its memories",
        f"(median of {ROUNDS} rounds a question, percentiles over questions)",
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    main()
