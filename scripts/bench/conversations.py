"""Conversations with questions about them, from a file, and their vectors."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

import click
import numpy as np
from common import percentile

from pgmemoir.embedders import WordLlamaEmbedder


@dataclass(frozen=True)
class Turn:
    """One message of a conversation."""

    user: str
    dia_id: str
    session: str
    position: int
    time: datetime
    speaker: str
    text: str


@dataclass(frozen=True)
class Asked:
    """One question; ``evidence`` are the turns one must have seen to answer it."""

    user: str
    text: str
    category: int
    evidence: list[str]


@dataclass(frozen=True)
class Vectors:
    """A vector for every turn and question.

    ``load_seconds`` and ``question_ms`` (the median) are what making them took; None when they
    were given.
    """

    name: str
    turns: Sequence[Sequence[float]]
    questions: Sequence[Sequence[float]]
    load_seconds: float | None = None
    question_ms: float | None = None


def read(path: Path) -> tuple[list[Turn], list[Asked]]:
    """The turns and questions of a file."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        turns = [
            Turn(
                user=turn["conv"],
                dia_id=turn["dia_id"],
                session=str(turn["session"]),
                position=turn["pos"],
                time=datetime.fromisoformat(turn["ts"]),
                speaker=turn["speaker"],
                text=turn["text"],
            )
            for turn in content["turns"]
        ]
        questions = [
            Asked(entry["conv"], entry["question"], entry["category"], entry["evidence"])
            for entry in content["questions"]
        ]
    except (KeyError, TypeError, ValueError) as error:
        raise click.UsageError(
            f"{path} is not as README.md describes it: {type(error).__name__} {error}"
        ) from error
    return turns, questions


def pooled(turns: Sequence[Turn], questions: Sequence[Asked]) -> tuple[list[Turn], list[Asked]]:
    """All conversations as the memory of one user; names of turns and sessions stay apart."""
    return (
        [
            replace(
                turn,
                user="pooled",
                dia_id=f"{turn.user} {turn.dia_id}",
                session=f"{turn.user} {turn.session}",
            )
            for turn in turns
        ],
        [
            replace(
                asked, user="pooled", evidence=[f"{asked.user} {turn}" for turn in asked.evidence]
            )
            for asked in questions
        ],
    )


def read_vectors(path: Path) -> Vectors:
    """The vectors of a file, as lists of numbers."""
    with np.load(path) as arrays:
        return Vectors(path.name, arrays["turns"].tolist(), arrays["questions"].tolist())


def embed(turns: Sequence[Turn], questions: Sequence[Asked]) -> Vectors:
    """Vectors of wordllama; questions are embedded one by one, as they are asked."""
    embedder = WordLlamaEmbedder()
    embedder.embed(["load the model"])
    start = time.perf_counter()
    of_turns = embedder.embed([turn.text for turn in turns])
    load_seconds = time.perf_counter() - start
    of_questions, times = [], []
    for question in questions:
        start = time.perf_counter()
        of_questions += embedder.embed([question.text])
        times.append(1000 * (time.perf_counter() - start))
    return Vectors(embedder.name, of_turns, of_questions, load_seconds, percentile(times, 50))


def numbers(text: str) -> list[int]:
    """``1,3-5`` as 1, 3, 4, 5."""
    try:
        ranges = [[int(end) for end in part.split("-")] for part in text.split(",")]
        return sorted({n for ends in ranges for n in range(ends[0], ends[-1] + 1)})
    except ValueError as error:
        raise click.UsageError(f"{text!r} is not a list of numbers such as 1,3-5") from error


def chosen(questions: Sequence[Asked], categories: list[int], limit: int | None) -> list[int]:
    """Places of the questions to ask: those with evidence, of these categories."""
    places = [
        place
        for place, question in enumerate(questions)
        if question.category in categories and question.evidence
    ]
    if not places:
        raise click.UsageError("no question of these categories has evidence")
    count = min(limit or len(places), len(places))
    return [places[n * len(places) // count] for n in range(count)]
