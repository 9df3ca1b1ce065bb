#!/usr/bin/env python3
"""pgmemoir beside mem0's and LangGraph's stores: the same rows, vectors, questions and server.

How much of the evidence stands in a block of their results, how long the call of a Python program
takes, and how many of the rows asked for come back. The README beside this file says what is
measured and shows the figures.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from statistics import fmean, median
from typing import Any

import psycopg
from common import (
    ROUNDS,
    Database,
    Figures,
    Where,
    benchmark,
    in_turn,
    percentile,
    scalar,
    table,
    vector_schema,
)
from conversations import Asked, Data, Given, Made, asked_of_conversations, chosen, held, numbers
from loaded import TIMED_BUDGET, Loaded
from rivals import Rival, Rows, Vector, lemmatizes, prepare, rivals, versions

from pgmemoir import Memoir
from pgmemoir.cli.output import progress_bar

# Rows asked of a store for the block of a budget: enough to fill it.
ROWS = {400: 60, 800: 60, 1600: 120}
BUDGETS = tuple(ROWS)
FOR_A_BLOCK = ROWS[TIMED_BUDGET]
MODES = ("conversation", "execute")

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


class Comparison:
    """All stores filled, in one database, and the questions to them.

    Args:
        stack: closes what this opens.
        places: of the questions to ask.
    """

    def __init__(
        self,
        stack: ExitStack,
        place: Database,
        data: Data,
        vectors: Given | Made,
        places: Sequence[int],
    ) -> None:
        self._place, self._data = place, data
        self._conn = conn = stack.enter_context(place.connect())
        dsn = place.dsn
        self._places = places
        self._loaded = Loaded(conn, data, vectors, facts=False, words_only=False)
        self._vectors_name = vectors.name
        self._vectors = {mode: self._loaded.question_vectors(mode, places) for mode in MODES}
        plain = self._vectors["execute"]
        self._rows = Rows(
            data.turns,
            vectors.turns,
            {data.questions[place].text: plain[place] for place in places},
        )
        start = time.perf_counter()
        self._rivals = stack.enter_context(rivals(dsn, vector_schema(conn), self._rows))
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
            "server_version": self._place.server,
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
        place_of = self._rows.place_of
        calls = {rows: self._call(rival, rows) for rows in (rival.limit, *ROWS.values())}
        returned: dict[int, list[int]] = {rows: [] for rows in calls}
        shares: dict[int, list[float]] = {budget: [] for budget in BUDGETS}
        unfilled = dict.fromkeys(BUDGETS, 0)
        with progress_bar(len(self._places), f"asking {rival.name}") as bar:
            for place in self._places:
                found = {
                    rows: [place_of[key] for key in rival.keys(call.ask(place))]
                    for rows, call in calls.items()
                }
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
            return in_turn([call.ask for call in calls], self._places, progress=bar.update)


def filled(found: Sequence[int], costs: Sequence[float], budget: float) -> list[int]:
    """Those of the turns found that become lines: in their order, whatever still fits."""
    lines = []
    for turn in found:
        if costs[turn] <= budget:
            budget -= costs[turn]
            lines.append(turn)
    return lines


def _percent(shares: Sequence[float]) -> float:
    return round(100 * fmean(shares), 2)


def report(result: Mapping[str, Any]) -> str:
    """The figures for people."""
    packages = ", ".join(f"{name} {version}" for name, version in result["versions"].items())
    stores = result["stores"]
    parts = [
        f"{result['turns']} turns of {result['users']} users, {result['questions']} questions, "
        f"vectors {result['vectors']}\n"
        f"PostgreSQL {result['server_version']}, pgvector {result['vector_version']}, "
        f"{packages}\n"
        f"mem0 {'lemmatises with spaCy' if result['lemmatized'] else 'has no spaCy: no lemmas'}; "
        f"loaded in {result['load_seconds']:.1f} s, theirs in {result['rivals_load_seconds']:.1f} s"
    ]
    if any("evidence_at_800" in store for store in stores.values()):
        parts.append(_evidence_table(stores))
    parts.append(_time_table(stores))
    return "\n\n".join(parts)


def _evidence_table(stores: Mapping[str, Mapping[str, Any]]) -> str:
    rows = (
        (
            name,
            *(f"{store[f'evidence_at_{budget}']:.2f}" for budget in BUDGETS),
            *(f"{store.get(f'unfilled_at_{budget}', 0):.1f}" for budget in BUDGETS),
        )
        for name, store in stores.items()
        if "evidence_at_800" in store
    )
    head = ("evidence in the block, %", *BUDGETS, *(f"not filled, {b}" for b in BUDGETS))
    asked = ", ".join(f"{rows} for {budget}" for budget, rows in ROWS.items())
    return (
        f"{table(head, *rows)}\n"
        f"not filled: % of blocks with room for more than came of the rows asked for ({asked})"
    )


def _time_table(stores: Mapping[str, Mapping[str, Any]]) -> str:
    rows = []
    for name, store in stores.items():
        asked = {"block": ""}
        if "limit" in store:
            asked = {str(store["limit"]): "", str(FOR_A_BLOCK): "_for_a_block"}
        for number, ending in asked.items():
            come = (store[f"returned_p50{ending}"], store[f"returned_min{ending}"])
            times = (f"{store[f'{p}_ms{ending}']:.2f}" for p in ("p50", "p95"))
            rows.append(("" if ending else name, number, *come, *times))
    return "\n".join(
        (
            table(("call, ms", "rows", "come: p50", "min", "p50", "p95"), *rows),
            "rows: asked for, by default and for a block; come: returned; block: of"
            f" {TIMED_BUDGET} tokens, its memories",
            f"(median of {ROUNDS} rounds a question, percentiles over questions)",
        )
    )


@benchmark(report)
@asked_of_conversations
def main(
    where: Where,
    data: Path,
    vectors: Path | None,
    categories: str,
    limit: int | None,
    pool: bool,
    copies: int,
) -> Figures:
    """Compare pgmemoir with mem0 and LangGraph on the conversations of DATA, a JSON file.

    Copies are other users' memories, made of other words, with vectors beside the original's; with
    --pool they are the one user's own, and only times are measured. Takes 3 minutes, with --copies
    10 --limit 60 five.
    """
    kinds = numbers(categories)
    with ExitStack() as stack:
        prepare(Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="pgmemoir-bench-"))))
        stored, given = held(data, vectors, pool=pool, facts=False, copies=copies)
        places = chosen(stored.questions, kinds, limit)
        database = stack.enter_context(where.opened())
        comparison = Comparison(stack, database, stored, given, places)
        # Several copies of a turn in one memory: which of them is the evidence?
        stores = comparison.stores(evidence=not pool or copies == 1)
        return {**comparison.about(), "stores": stores}


if __name__ == "__main__":
    main()
