"""What the SQL must compute, in naive Python: the documents' rules, written for reading."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

import psycopg
from tests.documents import (
    D0_HALF_LIVES,
    D0_MODE_WEIGHTS,
    D1_SCORE,
    D2_SCORE,
    D3_SCORE,
    D4_RECALL,
    number,
    table,
)


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


@dataclass
class Memory:
    """What a score depends on. None: no vector (cosine), no words asked (coverage, keyword)."""

    kind: str
    created_at: datetime
    importance: float
    cosine: float | None
    coverage: float | None
    keyword: float | None = None
    graph: float = 0
    accesses: int = 0
    last_accessed: datetime | None = None


def similarity(memory: Memory, vector: float = 0.5, words: float = 0.5) -> float | None:
    """Mean of cosine and coverage by their weights; the other alone where one is missing."""
    if memory.cosine is None or memory.coverage is None:
        return memory.coverage if memory.cosine is None else memory.cosine
    return (vector * memory.cosine + words * memory.coverage) / (vector + words)


(_, *_MODES), *_WEIGHTS = table(D0_MODE_WEIGHTS)
MODE_WEIGHTS = {
    (kind, mode): float(weight)
    for kind, *weights in _WEIGHTS
    for mode, weight in zip(_MODES, weights, strict=True)
}
HALF_LIVES = {kind: float(days) for kind, days in table(D0_HALF_LIVES)[1:]}


def d0_score(memory: Memory, mode: str, now: datetime) -> float | None:
    """D0, architecture and 1.2: relevance x timeDecay(halfLife[source]) x modeWeight."""
    relevance = similarity(memory)
    if relevance is None:
        return None
    age_days = max((now - memory.created_at).total_seconds(), 0) / 86400
    half_life = HALF_LIVES.get(memory.kind, math.inf)
    decay = 1 if half_life == math.inf else math.exp(-age_days * math.log(2) / half_life)
    return relevance * decay * MODE_WEIGHTS.get((memory.kind, mode), 1.0)


def d1_score(memory: Memory, now: datetime) -> float | None:
    """D1 4.1, _calculate_relevance_score."""
    cosine = similarity(memory, 1, 0)
    if cosine is None:
        return None
    if memory.last_accessed:
        days_since_access: float = (now - memory.last_accessed).days
    else:
        days_since_access = number(D1_SCORE, "last_accessed_at else ")
    time_decay = math.exp(-days_since_access / number(D1_SCORE, "days_since_access / "))
    return (
        cosine * number(D1_SCORE, "cosine_similarity * ")
        + time_decay * number(D1_SCORE, "time_decay * ")
        + memory.importance * number(D1_SCORE, "importance_score * ")
    )


def keyword(asked: Sequence[str], stems: dict[str, str], own: dict[str, float]) -> float:
    """D2 3.3.1: exact or prefix match times the keyword's weight, the mean of the words asked.

    Args:
        asked: words of the question that are keywords of some memory.
        stems: their stems; one that begins the word counts as a prefix.
        own: keywords of the memory with weights.
    """
    exact, prefix = number(D2_SCORE, "精确匹配: "), number(D2_SCORE, "前缀匹配: ")

    def match(word: str, of: str) -> float:
        if word == of:
            return exact
        starts = (word, stems[word]) if word.startswith(stems[word]) else (word,)
        return prefix if of.startswith(tuple(s for s in starts if len(s) >= 3)) else 0

    best = [max((match(w, of) * own[of] for of in own), default=0.0) for w in asked]
    return sum(best) / len(best) if best else 0.0


D2_FACTORS = [float(share) / 100 for share in re.findall(r"\((\d+)% 权重\)", D2_SCORE)]
D2_RANKING = [float(share) / 100 for share in re.findall(r"\((\d+)%\)", D2_SCORE)]
D2_PRIORITIES = {"preference": 1.0, "command_output": 0.5}


def d2_time(days: float) -> float:
    """D2 3.3.1, _apply_time_decay: at least half stays."""
    decay_factor = 0.5 ** (days / number(D2_SCORE, "half_life_days: float = "))
    return number(D2_SCORE, "base_score * (") + number(D2_SCORE, "0.5 + ") * decay_factor


def d2_base(memory: Memory, now: datetime) -> float | None:
    """D2 3.3.1: keywords, text, time; a question without words has no keyword part."""
    text = similarity(memory, 0, 1)
    if text is None and not memory.keyword:
        return None
    keyword, words, time = D2_FACTORS
    base = words * (text or 0) + time * d2_time((now - memory.created_at).days)
    if memory.keyword is None:
        return base / (words + time)
    return keyword * memory.keyword + base


def d2_score(memory: Memory, now: datetime) -> float | None:
    """D2 3.3.2: base, interaction (no formula there; ours), priority of the kind."""
    base = d2_base(memory, now)
    if base is None:
        return None
    interaction = 0.0
    if memory.last_accessed:
        recent = d2_time((now - memory.last_accessed).days)
        interaction = memory.accesses / (1 + memory.accesses) * recent
    parts = (base, interaction, D2_PRIORITIES.get(memory.kind, 0.0))
    return sum(share * part for share, part in zip(D2_RANKING, parts, strict=True))


def d3_score(memory: Memory, now: datetime) -> float | None:
    """D3 4.3, compute_relevance; a new memory was last accessed when it was made (D3 2.1)."""
    semantic = similarity(memory, 1, 0)
    if semantic is None:
        return None
    days_old = (now - (memory.last_accessed or memory.created_at)).days
    decay = math.exp(-number(D3_SCORE, "exp(-") * days_old)
    return semantic * memory.importance * decay


def d4_score(memory: Memory) -> float | None:
    """D4 5.3: vector, BM25 and graph; it names no weights, here each has the same."""
    both = similarity(memory)
    if both is None and not memory.graph:
        return None
    return (both or 0) + 0.5 * memory.graph


D4_MINIMUM = float(dict(row[:2] for row in table(D4_RECALL))["相关性阈值"])


def score(memory: Memory, mode: str, now: datetime) -> float | None:
    """The score of a memory in a mode; None: nothing to compare."""
    if mode in _MODES:
        return d0_score(memory, mode, now)
    if mode == "assistant":
        return d4_score(memory)
    return {"balanced": d1_score, "search": d2_score, "implicit": d3_score}[mode](memory, now)


def is_candidate(memory: Memory, mode: str, now: datetime) -> bool:
    """Whether the document lets a memory in, its score aside."""
    relevance, least = score(memory, mode, now), 0.0
    if mode == "search":
        relevance, least = d2_base(memory, now), number(D2_SCORE, "default=")
    if mode == "assistant":
        least = D4_MINIMUM
    return relevance is not None and relevance >= least


@dataclass
class Turn:
    """A memory among turns.

    own: its score alone; place None: no turn of its session; cost: the tokens of its line;
    details: points for what is definite in it.
    """

    key: int
    own: float
    session: str | None = None
    place: int | None = None
    asks: bool = False
    details: int = 0
    cost: float = 1


@dataclass
class TurnRules:
    """Settings of a mode for turns."""

    near: float = 0
    beyond: float = 0
    answer: float = 0
    session: float = 0
    squared: bool = False
    question_factor: float = 1
    cost_power: float = 0
    detail_weight: float = 0


@dataclass
class Features:
    """Settings of a mode: weight of the vector, shares of the word signal; names: those asked."""

    vector_weight: float
    word_weight: float
    name_boost: float = 0
    time_boost: float = 0
    when_boost: float = 0
    question_penalty: float = 0
    without_vector: float = 1
    names: int = 0


def own_score(
    cosine: float | None,
    words: float,
    features: Features,
    named: int = 0,
    flags: frozenset[str] = frozenset(),
    *,
    asked_in_words: bool = False,
) -> float:
    """Score of a memory without its neighbours; named: how many of the names asked it has.

    flags: "timely" where it is of the time asked, "soon" where of the days around that.
    asked_in_words: the question has no vector.
    """
    told = features.name_boost * named / max(features.names, 1)
    told += features.time_boost * (("timely" in flags) + 0.5 * ("soon" in flags))
    words += told * (features.without_vector if asked_in_words else 1)
    words += features.when_boost * ("when" in flags)
    words -= features.question_penalty * ("asks" in flags)
    if cosine is None:
        return words
    whole = features.vector_weight + features.word_weight
    return (features.vector_weight * cosine + features.word_weight * words) / whole


def with_neighbours(turn: Turn, memory: Sequence[Turn], rules: TurnRules) -> float:
    """A score with what the two turns before it in its session and the two after lend.

    Where there is none so far before it, the one after counts twice.
    """
    if turn.session is None or turn.place is None:
        return turn.own
    turns = [each for each in memory if each.session == turn.session and each.place is not None]
    turns.sort(key=lambda each: (each.place, each.key))
    here = turns.index(turn)
    score = turn.own
    for steps, weight in ((1, rules.near), (2, rules.beyond)):
        if here >= steps:
            score += weight * turns[here - steps].own
        if here + steps < len(turns):
            score += weight * turns[here + steps].own * (1 if here >= steps else 2)
    if here > 0 and turns[here - 1].asks:
        score += rules.answer * turns[here - 1].own
    return score


def turn_scores(memory: Sequence[Turn], rules: TurnRules) -> dict[int, float]:
    """Scores by key of a memory small enough to be preselected whole."""
    if rules.squared:
        memory = [replace(turn, own=turn.own * abs(turn.own)) for turn in memory]
    scores = {turn.key: with_neighbours(turn, memory, rules) for turn in memory}
    best: dict[str | None, float] = {None: 0}
    for turn in memory:
        if turn.session is not None:
            best[turn.session] = max(best.get(turn.session, -math.inf), scores[turn.key])
    return {
        turn.key: (scores[turn.key] + rules.session * best[turn.session]) * worth(turn, rules)
        for turn in memory
    }


def worth(turn: Turn, rules: TurnRules) -> float:
    """What the score of a line counts for: less if it asks, more for details, and by its room."""
    asking = rules.question_factor if turn.asks else 1
    return asking * (1 + rules.detail_weight * turn.details) / turn.cost**rules.cost_power


def smoothed(scores: Sequence[float], near: float, beyond: float) -> list[float]:
    """Each score with a share of the one before and after, and of the two beyond."""
    p = [0.0, 0.0, *scores, 0.0, 0.0]
    return [
        p[i] + near * (p[i - 1] + p[i + 1]) + beyond * (p[i - 2] + p[i + 2])
        for i in range(2, len(p) - 2)
    ]


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


@dataclass
class Period:
    """What a slot held from one moment to another; None: until now."""

    text: str
    begins: datetime
    ends: datetime | None = None


def timeline(said: Sequence[Period]) -> list[Period]:
    """What a slot held, in order, after it was told these in turn (D4 5.8).

    Each ends what was true when it begins, and ends itself where what was known already begins. Of
    two that begin at once the one told later begins a microsecond later. What is true already at
    that time is not told anew; the last one takes an end that is told.
    """
    slot: list[Period] = []
    for new in said:
        same = [each for each in slot if each.text == new.text and _holds(each, new.begins)]
        if same:
            if new.ends and same == slot[-1:]:
                same[0].ends = new.ends
            continue
        begins = new.begins
        while any(each.begins == begins for each in slot):
            begins += timedelta(microseconds=1)
        for each in slot:
            if each.begins < begins and (each.ends is None or each.ends > begins):
                each.ends = begins
        later = [each.begins for each in slot if each.begins > begins]
        ends = min([*later, *([new.ends] if new.ends else [])], default=None)
        slot.append(Period(new.text, begins, ends))
        slot.sort(key=lambda each: each.begins)
    return slot


def _holds(period: Period, at: datetime) -> bool:
    begins = period.begins - timedelta(milliseconds=1)
    return begins <= at and (period.ends is None or at < period.ends)
