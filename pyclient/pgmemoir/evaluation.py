"""Gold sets, the measures of recall on them, and logged recalls chosen again.

Everything is computed in the database (``sql/85_evaluate``); here are the calls, their answers and
the file a gold set comes from.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypedDict

from psycopg.types.json import Jsonb

from .calls import Call, Halfvec, Question, columns, each, first
from .checks import (
    check_json,
    clean_text,
    finite_number,
    list_of_ids,
    refuse_unknown,
    texts,
    utc,
    whole_number,
)
from .errors import BadText
from .vectors import HalfVector, VectorLike

_SHAPE = 'A line is like {"query": "which editor?", "relevant": [12, "I use Vim."]}'


class BadGold(BadText):
    """A file is not a gold set."""


class GoldQuestion(TypedDict, total=False):
    """A question and what answers it.

    ``relevant`` holds ids of memories; ``relevant_content`` the exact content of memories;
    ``grades`` how well each of them answers, ids first (default 1); ``vector`` replaces the
    embedder.
    """

    query: str
    relevant: list[int] | None
    relevant_content: list[str] | None
    grades: list[float] | None
    vector: VectorLike | None


@dataclass(frozen=True)
class Evaluation:
    """How good recall is on a gold set; the measures are those of ``memoir.evaluate``.

    ``queries`` is how many questions counted; with none the means are None.
    """

    mode: str
    budget: int
    k: int
    queries: int
    recall_at_k: float | None
    mrr: float | None
    ndcg_at_k: float | None
    evidence_in_budget: float | None
    tokens: float | None
    p50_ms: float | None


@dataclass(frozen=True)
class Replayed:
    """One logged recall chosen again, see ``memoir.replay``; the id of an event is negative.

    ``overlap`` is 1 when nothing changes; ``exact`` is False where memories that the log did not
    keep could come in.
    """

    retrieval_id: int
    created_at: datetime
    mode: str
    query: str
    before_ids: list[int]
    after_ids: list[int]
    entered_ids: list[int]
    left_ids: list[int]
    overlap: float
    exact: bool


@dataclass(frozen=True)
class Asked:
    """A question of a stored gold set."""

    query: str
    has_vector: bool


_GOLD_ADD = """SELECT memoir.gold_add(%s::text, %s::text, %s::bigint[], %b::{vector},
    user_id => %s::text, grades => %s::float8[], relevant_content => %s::text[])"""

_EVALUATE = """SELECT queries, recall_at_k, mrr, ndcg_at_k, evidence_in_budget, tokens, p50_ms
FROM memoir.evaluate(%s::text, %s::text, %s::int, %s::int, %s::text, %b::{vector}[])"""

_GOLD_QUERIES = f"""SELECT {columns(Asked)}
FROM memoir.gold_queries(%s::text, %s::text)""".encode()

_REPLAY = f"""SELECT {columns(Replayed)}
FROM memoir.replay(%s::timestamptz, %s::jsonb, user_id => %s::text, of_mode => %s::text)""".encode()


def gold_add(
    halfvec: Halfvec,
    gold_set: str,
    question: GoldQuestion,
    vector: HalfVector | None,
    user: str | None,
) -> Call[int]:
    """``memoir.gold_add``: the id of the question."""
    refuse_unknown(question, GoldQuestion, "a question", "field")
    relevant, grades = question.get("relevant"), question.get("grades")
    params = (
        clean_text(gold_set, "the gold set"),
        clean_text(question.get("query"), "the question"),
        None if relevant is None else list_of_ids(relevant),
        vector,
        user,
        None if grades is None else [finite_number(grade, "a grade") for grade in grades],
        texts(question.get("relevant_content"), "relevant_content"),
    )
    return Call(halfvec.statement(_GOLD_ADD), params, first)


def gold_queries(gold_set: str, user: str | None) -> Call[list[Asked]]:
    """``memoir.gold_queries``: the questions in their order."""
    params = (clean_text(gold_set, "the gold set"), user)
    return Call(_GOLD_QUERIES, params, each(Asked))


def evaluate(
    halfvec: Halfvec,
    gold_set: str,
    mode: str,
    budget: int,
    k: int,
    vectors: Sequence[HalfVector | None] | None,
    user: str | None,
) -> Call[Evaluation]:
    """``memoir.evaluate``, with ``vectors`` in the order of `gold_queries`."""
    asked = Question.of(None, None, mode, budget, None, None)
    params = (
        clean_text(gold_set, "the gold set"),
        asked.mode,
        asked.budget,
        whole_number(k, "k"),
        user,
        None if vectors is None else halfvec.array(vectors),
    )
    statement = halfvec.statement(_EVALUATE)
    return Call(statement, params, lambda rows: Evaluation(mode, budget, k, *rows[0]))


def replay(
    since: datetime | None, settings: dict[str, Any], mode: str | None, user: str | None
) -> Call[list[Replayed]]:
    """``memoir.replay``: the logged recalls chosen again, oldest first."""
    check_json(settings, "the settings")
    params = (utc(since, "since"), Jsonb(settings), user, clean_text(mode, "the mode"))
    return Call(_REPLAY, params, each(Replayed))


def read_gold(data: bytes) -> list[GoldQuestion]:
    """The questions of a JSONL file.

    A line has ``query``; ``relevant``, a list of ids and exact contents (a string of digits is an
    id); or ``relevant_content``, contents only; and, if wanted, ``grades`` in the same order and
    ``vector``.

    Raises:
        BadGold: it is not such a file; the message names the line.
    """
    try:
        lines = data.decode("utf-8-sig").split("\n")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise BadGold(f"line {line}: not UTF-8", hint="Save the file in UTF-8.") from error
    questions = []
    for number, text in enumerate(lines, 1):
        if text.strip():
            try:
                questions.append(_question(json.loads(text)))
            except (ValueError, RecursionError) as error:
                raise BadGold(f"line {number}: {error}", hint=_SHAPE) from error
    if not questions:
        raise BadGold("the file holds no questions", hint=_SHAPE)
    return questions


def _question(line: Any) -> GoldQuestion:
    """What one line says; ids before contents, as the database wants them."""
    if not isinstance(line, dict):
        raise ValueError("not a JSON object")
    unknown = line.keys() - {"query", "relevant", "relevant_content", "grades", "vector"}
    if unknown:
        raise ValueError(f"unknown: {', '.join(sorted(map(repr, unknown)))}")
    if not isinstance(line.get("query"), str):
        raise ValueError("query is not a text")
    named = [_id_or_content(item) for item in _list(line, "relevant")]
    named += [_content(item) for item in _list(line, "relevant_content")]
    grades = line.get("grades")
    if grades is not None and len(_list(line, "grades")) != len(named):
        raise ValueError("grades has another length than relevant")
    graded = [*zip(named, grades or [1] * len(named), strict=True)]
    ids = [(item, grade) for item, grade in graded if isinstance(item, int)]
    contents = [(item, grade) for item, grade in graded if isinstance(item, str)]
    return {
        "query": line["query"],
        "relevant": [item for item, _ in ids] if ids else None,
        "relevant_content": [item for item, _ in contents] if contents else None,
        "grades": [_grade(grade) for _, grade in (*ids, *contents)] if grades else None,
        "vector": line.get("vector"),
    }


def _list(line: dict[str, Any], key: str) -> list[Any]:
    value = line.get(key)
    if value is not None and not isinstance(value, list):
        raise ValueError(f"{key} is not a list")
    return value or []


def _id_or_content(value: Any) -> int | str:
    if isinstance(value, str) and value.isdecimal():
        value = int(value)
    if isinstance(value, int) and not isinstance(value, bool):
        if not 0 < value < 2**63:
            raise ValueError(f"{value} is not an id")
        return value
    return _content(value)


def _content(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{json.dumps(value)[:40]} is not the content of a memory")
    return value


def _grade(value: Any) -> float:
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise ValueError(f"grade {json.dumps(value)[:40]} is not a number")
    return float(value)
