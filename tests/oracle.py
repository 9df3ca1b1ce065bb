"""What the SQL must compute, in naive Python: the documents' rules, written for reading."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import psycopg


def tokens(conn: psycopg.Connection, texts: Sequence[str]) -> list[list[str]]:
    """The words of texts as memoir.tokens gives them."""
    rows = conn.execute(
        "SELECT memoir.tokens(t) FROM unnest(%s::text[]) WITH ORDINALITY AS u (t, place)"
        " ORDER BY place",
        (list(texts),),
    )
    return [words for (words,) in rows]


def jaccard(one: set[str], other: set[str]) -> float:
    """Share of the words of two sets that are in both."""
    return len(one & other) / len(one | other) if one | other else 0.0


def coverage(question: Sequence[str], document: set[str], memory: Sequence[set[str]]) -> float:
    """Which part of a question's words, weighed by rarity in the memory, a document has."""
    idf = {}
    for word in set(question):
        n = sum(word in each for each in memory)
        idf[word] = math.log(1 + (len(memory) - n + 0.5) / (n + 0.5))
    return sum(idf[word] for word in idf if word in document) / sum(idf.values())


@dataclass
class Candidate:
    """A line that may enter a block."""

    score: float
    cost: float
    brief_cost: float | None = None
    group: int = 1
    words: set[str] = field(default_factory=set)


@dataclass
class Rules:
    """Settings of a selection; heading_costs by group, from 1."""

    budget: float
    heading_costs: Sequence[float] = (2.0,)
    mmr_lambda: float = 0.7
    mmr_lines: int = 5
    duplicate_at: float = 0.8
    line_limit: int = 1000


def mmr(candidate: Candidate, chosen: Sequence[Candidate], mmr_lambda: float) -> float:
    """D0 3.1: lambda * score - (1 - lambda) * similarity to the nearest line chosen."""
    nearest = max((jaccard(candidate.words, line.words) for line in chosen), default=0.0)
    return mmr_lambda * candidate.score - (1 - mmr_lambda) * nearest


def select(candidates: Sequence[Candidate], rules: Rules) -> tuple[list[int], float]:
    """Choose the lines of a block.

    Args:
        candidates: best score first.
        rules: the settings.

    Returns:
        Numbers of the chosen candidates from 1, in order, negative where the brief stands for the
        line; and the tokens spent.
    """
    waiting = list(range(len(candidates)))
    chosen: list[int] = []
    spent = 0.0
    while waiting and len(chosen) < rules.line_limit:
        lines = [candidates[abs(number) - 1] for number in chosen]
        pick = waiting[0]
        if len(chosen) < rules.mmr_lines:
            pick = max(waiting, key=lambda i: mmr(candidates[i], lines, rules.mmr_lambda))
        waiting.remove(pick)
        candidate = candidates[pick]
        heading = rules.heading_costs[candidate.group - 1]
        if candidate.group in {line.group for line in lines}:
            heading = 0
        costs = {pick + 1: candidate.cost, -pick - 1: candidate.brief_cost}
        fitting = [
            (number, spent + heading + cost)
            for number, cost in costs.items()
            if cost is not None and spent + heading + cost <= rules.budget
        ]
        alike = any(jaccard(candidate.words, line.words) >= rules.duplicate_at for line in lines)
        if fitting and not alike:
            number, spent = fitting[0]
            chosen.append(number)
    return chosen, spent


def recall_at(places: Sequence[int | None], k: int) -> float:
    """Share of the relevant that stands at the first k places; None is not in the block."""
    return sum(place is not None and place <= k for place in places) / len(places)


def evidence(places: Sequence[int | None]) -> float:
    """Share of the relevant that is in the block."""
    return sum(place is not None for place in places) / len(places)


def reciprocal_rank(places: Sequence[int | None]) -> float:
    """1 / the place of the first, 0 without one."""
    found = [place for place in places if place is not None]
    return 1 / min(found) if found else 0.0


def ndcg_at(places: Sequence[int | None], grades: Sequence[float], k: int) -> float:
    """Discounted gain to place k, of the best there could be.

    Relevant memories of one line follow each other at the next free places.
    """
    found = [(place, -grade) for place, grade in zip(places, grades, strict=True) if place]
    gain, last = 0.0, 0
    for place, loss in sorted(found):
        last = max(place, last + 1)
        if last <= k:
            gain -= loss / math.log2(1 + last)
    best = sorted(grades, reverse=True)[:k]
    return gain / sum(grade / math.log2(1 + place) for place, grade in enumerate(best, 1))
