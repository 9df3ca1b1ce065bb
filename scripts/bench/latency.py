#!/usr/bin/env python3
"""How long a recall takes on synthetic memories, against the raw vector search on the same rows.

See the README beside this file: what is compared, and what it came to.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean, median
from typing import Any

import click
from common import (
    MODE,
    ROUNDS,
    SEED,
    Figures,
    Floor,
    Statement,
    Where,
    against_floor,
    at_once,
    benchmark,
    count,
    first_call,
    floor_table,
    interleaved,
    measuring,
    milliseconds,
    scalar,
    vector_schema,
    vector_text,
)
from filled import BUDGET, Amount, Filled, about, name_of, sized, synthetic, told
from synthetic import Question

from pgmemoir.cli.output import progress_bar

# A user has an approximate index in the bare table from so many rows on.
HNSW_FROM = 1000
# Questions that show which floor is cheaper.
_TRIED = 5
_CONNECTIONS = 20

_EXACT = """WITH asked AS (
    SELECT m AS settings, e.model_id, p.snippet_ids,
           memoir._question_counting(%(user)s::text, e.model_id, %(text)s::text, 0, 0, 'infinity',
                                     m.name_boost, m.asks_feature
               || CASE WHEN memoir._asks_when(%(text)s::text) THEN m.when_feature ELSE '' END)
               AS question,
           CASE WHEN m.keyword_weight > 0
                THEN memoir._asked_keywords(%(user)s::text, %(text)s::text, 'infinity')
           END AS keywords,
           CASE WHEN m.time_boost <> 0
                THEN memoir._time_windows(%(text)s::text, now()) END AS times,
           memoir._candidate_limit(m.candidate_limit, {budget}) AS candidate_limit
    FROM memoir.mode AS m, memoir.embedding_model AS e, memoir.profile AS p
    WHERE m.name = %(mode)s AND e.active AND p.user_id = %(user)s::text
)
SELECT s.id
FROM asked AS a, memoir._ranked(
    %(user)s::text, a.settings, a.model_id, %(vector)s::{schema}.halfvec, a.question,
    false, 'infinity', a.keywords, NULL, a.times, a.candidate_limit,
    NULL) AS s
WHERE s.obstacle IS NULL AND s.id > 0
  AND NOT ((a.settings).profile AND s.id = ANY (a.snippet_ids))
ORDER BY s.score DESC, s.created_at DESC, s.id
LIMIT 20"""
_CANDIDATES = b"""SELECT r.ids FROM memoir.retrieval AS r
WHERE r.user_id = %s ORDER BY r.retrieval_id DESC LIMIT 1"""


class Case:
    """Questions to some users of a filled database, and the floor they are measured against.

    Args:
        users: who is asked; one with many rows has an approximate index in the bare table, and the
            cheaper of the two searches is the floor.
    """

    def __init__(
        self, filled: Filled, amount: Amount, users: Sequence[int], mode: str, number: int
    ) -> None:
        self._filled, self._mode = filled, mode
        self._questions = filled.questions(amount, users, number)
        self._floor = Floor(filled.conn)
        self.floor = "exact"
        if len(users) == 1 and amount.rows_of(users[0]) >= HNSW_FROM:
            self._floor.build_approximate(name_of(users[0]))
            self.floor = self._cheaper()

    def warm(self, connections: int) -> dict[str, Any]:
        """Times in turn with the floor, median of the rounds of every question."""
        rivals = self._rivals()
        if connections == 1:
            with progress_bar(len(rivals) * (ROUNDS + 1), "timing") as bar:
                ours, floor = interleaved(self._filled.conn, rivals, ROUNDS, bar.update)
        else:
            ours, floor = at_once(self._filled.place, rivals, ROUNDS, connections)
        return against_floor(ours, floor)

    def cold(self) -> dict[str, Any]:
        """Times of the first call of every question after a restart with empty caches."""
        rivals = self._rivals()
        emptied = self._filled.restart()
        conn = self._filled.conn
        times: list[list[float]] = [[], []]
        with measuring(conn), progress_bar(len(rivals), "timing, cold") as bar:
            for place, statements in enumerate(rivals):
                for which in (place % 2, 1 - place % 2):
                    times[which].append(milliseconds(conn, statements[which]))
                bar.update(1)
        return {**against_floor(*times), "system_cache_emptied": emptied}

    def first_call(self) -> dict[str, float]:
        """Of the first questions, each on a connection of its own."""
        asked = self._questions[:_CONNECTIONS]
        return first_call(
            self._filled.place, [self._filled.context(self._mode, question) for question in asked]
        )

    def top20_share(self, number: int) -> dict[str, float]:
        """How much of the exact best 20 is among the first 20 candidates, by final score.

        And, for an approximate floor, how much of the exact best 20 by cosine it finds.
        """
        shares, of_floor = [], []
        with progress_bar(number, "exact") as bar:
            for question in self._questions[:number]:
                shares.append(self._share(question))
                if self.floor == "hnsw":
                    of_floor.append(self._floor_share(question))
                bar.update(1)
        found = {"top20_share": fmean(shares)}
        return found | ({"floor_top20_share": fmean(of_floor)} if of_floor else {})

    def _share(self, question: Question) -> float:
        conn, user = self._filled.conn, name_of(question.user)
        context = self._filled.context(self._mode, question)
        conn.execute(context.text, context.params)
        row = conn.execute(_CANDIDATES, (user,)).fetchone()
        assert row is not None
        candidates = [memory for memory in row[0] if memory > 0][:20]
        values = {
            "user": user,
            "text": question.text,
            "mode": self._mode,
            "vector": vector_text(question.vector),
        }
        exact = _EXACT.format(schema=vector_schema(conn), budget=BUDGET).encode()
        best = {memory for (memory,) in conn.execute(exact, values)}
        return len(best.intersection(candidates)) / len(best) if best else 1.0

    def _floor_share(self, question: Question) -> float:
        user, vector = name_of(question.user), vector_text(question.vector)
        conn = self._filled.conn
        found, best = (
            {memory for (memory,) in conn.execute(each.text, each.params)}
            for each in (self._floor.approximate(user, vector), self._floor.bare(user, vector))
        )
        return len(found & best) / len(best)

    def _rivals(self) -> list[tuple[Statement, Statement]]:
        """Our call and the floor's, for every question."""
        return [
            (self._filled.context(self._mode, question), self._search(question, self.floor))
            for question in self._questions
        ]

    def _search(self, question: Question, floor: str) -> Statement:
        search = self._floor.bare if floor == "exact" else self._floor.approximate
        return search(name_of(question.user), vector_text(question.vector))

    def _cheaper(self) -> str:
        """The floor that takes less time."""
        names = ("exact", "hnsw")
        rivals = [
            tuple(self._search(question, name) for name in names)
            for question in self._questions[:_TRIED]
        ]
        times = interleaved(self._filled.conn, rivals, 3)
        return names[median(times[1]) < median(times[0])]


def report(result: Mapping[str, Any]) -> str:
    """The figures for people."""
    loaded = result["load_seconds"]
    stored = (
        "stored before"
        if loaded is None
        else f"loaded in {loaded:.0f} s, tidied in {result['tidy_seconds']:.0f} s"
    )
    lines = [
        f"{told(result)}, mode {result['mode']}",
        f"{result['questions']} questions, {result['connections']} connections,"
        f" shared_buffers {result['shared_buffers']}; {stored}",
    ]
    for prefix in ("", "giant_") if result["giant"] else ("",):
        lines += ["", *_case(prefix, result)]
    return "\n".join(lines)


def _case(prefix: str, result: Mapping[str, Any]) -> list[str]:
    case = {name.removeprefix(prefix): result[name] for name in result if name.startswith(prefix)}
    emptied = case.get("system_cache_emptied")
    how = "first call after a restart" + ("" if emptied else ", system cache NOT emptied")
    lines = [
        floor_table(
            "the giant, ms" if prefix else "SQL call, ms", f"20 nearest, {case['floor']}", case
        ),
        f"({how if emptied is not None else f'median of {ROUNDS} rounds a question'})",
        f"first call on a connection: {case['first_call_ms']:.2f} ms beyond a SELECT 1;"
        f" connecting takes {case['connect_ms']:.2f} ms",
    ]
    for key, what in (("top20_share", "score"), ("floor_top20_share", "cosine the floor")):
        if key in case:
            lines.append(f"of the exact best 20 by {what} found: {case[key]:.3f}")
    return lines


@benchmark(report)
@sized(10_000)
@click.option(
    "--giant", type=click.IntRange(0), default=0, help="One user more, with so many memories."
)
@MODE
@count("--questions", 100, "To users picked at random.")
@click.option("--connections", type=click.IntRange(1, 8), default=1, show_default=True)
@click.option("--cold", is_flag=True, help="Restart with empty caches; every question once.")
@click.option("--exact", is_flag=True, help="How much of the exact best 20 is found.")
@count("--exact-questions", 30, "Asked for that.")
@SEED
@click.option("--shared-buffers", help="Such as 4GB. Default: enough for all the data.")
@click.option("--data", type=click.Path(path_type=Path), help="Keep the server's data here.")
def main(
    where: Where,
    users: int,
    rows: int,
    dims: int,
    giant: int,
    mode: str,
    questions: int,
    connections: int,
    cold: bool,
    exact: bool,
    exact_questions: int,
    seed: int,
    shared_buffers: str | None,
    data: Path | None,
) -> Figures:
    """Time memory_context on synthetic memories, in turn with the raw vector search.

    Takes half a minute for 10,000 memories, 5 minutes for 120,000 and half an hour for 1,000,000,
    of which loading is the most.
    """
    amount = Amount(users=users, rows=rows, dims=dims, giant=giant, seed=seed)
    with synthetic(where, amount, shared_buffers, data) as filled:
        filled.check(mode, cold=cold)
        result = {
            **about(filled, amount),
            "mode": mode,
            "questions": questions,
            "connections": connections,
            "shared_buffers": scalar(filled.conn, "SHOW shared_buffers"),
            "load_seconds": filled.fill(amount),
        }
        if result["load_seconds"] is not None:
            result["tidy_seconds"] = filled.tidy()
        cases = {"": range(users)} | ({"giant_": range(users, users + 1)} if giant else {})
        for prefix, asked in cases.items():
            case = Case(filled, amount, asked, mode, questions)
            found = {"floor": case.floor, **(case.cold() if cold else case.warm(connections))}
            found |= case.first_call()
            if exact:
                found |= case.top20_share(exact_questions)
            result |= {f"{prefix}{name}": value for name, value in found.items()}
    return result


if __name__ == "__main__":
    main()
