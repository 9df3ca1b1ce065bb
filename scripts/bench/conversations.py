"""Conversations with questions about them, from a file, and their vectors."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any

import click
import numpy as np
from common import COUNT, FILE

from pgmemoir.embedders import WordLlamaEmbedder

# How far the copies of a vector lie from it: a cosine of about 0.9.
NOISE = 0.5


def asked_of_conversations(command: Callable[..., Any]) -> Callable[..., Any]:
    """The argument DATA, and the options that say what of it is asked."""
    for option in (
        click.option("--copies", type=COUNT, default=1, help="Every turn so many times."),
        click.option("--pool", is_flag=True, help="One user has all the conversations."),
        click.option("--limit", type=COUNT, help="Only so many questions, evenly spread."),
        click.option(
            "--categories", default="1-4", show_default=True, help="Such as 2, 1-4 or 1,3-5."
        ),
        click.option(
            "--vectors",
            type=FILE,
            help="An .npz with the arrays turns and questions, as DATA. Default: wordllama.",
        ),
        click.argument("data", type=FILE),
    ):
        command = option(command)
    return command


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
class Fact:
    """What was extracted from turns of a conversation; ``sources`` are those turns."""

    user: str
    session: str
    time: datetime
    speaker: str
    text: str
    sources: list[str]


@dataclass(frozen=True)
class Asked:
    """One question; ``evidence`` are the turns one must have seen to answer it."""

    user: str
    text: str
    category: int
    evidence: list[str]


@dataclass(frozen=True)
class Data:
    """What a file holds."""

    turns: list[Turn]
    questions: list[Asked]
    facts: list[Fact]


Matrix = Sequence[Sequence[float]]


@dataclass(frozen=True)
class Given:
    """Vectors from a file, in the order of the data.

    ``stripped`` are those of the questions without common words and names; without them the
    questions as they are serve every mode.
    """

    name: str
    turns: Matrix
    facts: Matrix
    questions: Matrix
    stripped: Matrix


@dataclass
class Made:
    """Vectors of wordllama. Each question is embedded by itself, as it would be when asked."""

    name: str
    turns: Matrix
    facts: Matrix
    load_seconds: float
    embedder: WordLlamaEmbedder
    times_ms: list[float] = field(default_factory=list)
    _known: dict[str, Sequence[float]] = field(default_factory=dict)

    def question(self, text: str) -> Sequence[float]:
        """The vector of a text, made once."""
        if text not in self._known:
            start = time.perf_counter()
            (self._known[text],) = self.embedder.embed([text])
            self.times_ms.append(1000 * (time.perf_counter() - start))
        return self._known[text]


def read(path: Path, *, pool: bool = False) -> Data:
    """The turns, questions and facts of a file.

    Args:
        pool: all conversations are the memory of one user; names of turns and sessions stay apart.
    """

    def user(entry: Mapping[str, Any]) -> str:
        return "pooled" if pool else str(entry["conv"])

    def own(entry: Mapping[str, Any], name: Any) -> str:
        return f"{entry['conv']} {name}" if pool else str(name)

    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        return Data(
            turns=[
                Turn(
                    user=user(turn),
                    dia_id=own(turn, turn["dia_id"]),
                    session=own(turn, turn["session"]),
                    position=turn["pos"],
                    time=datetime.fromisoformat(turn["ts"]),
                    speaker=turn["speaker"],
                    text=turn["text"],
                )
                for turn in content["turns"]
            ],
            questions=[
                Asked(
                    user=user(entry),
                    text=entry["question"],
                    category=entry["category"],
                    evidence=[own(entry, turn) for turn in entry["evidence"]],
                )
                for entry in content["questions"]
            ],
            facts=[
                Fact(
                    user=user(fact),
                    session=own(fact, fact["session"]),
                    time=datetime.fromisoformat(fact["ts"]),
                    speaker=fact["speaker"],
                    text=fact["text"],
                    sources=[own(fact, turn) for turn in fact["src"]],
                )
                for fact in content.get("facts", [])
            ],
        )
    except (KeyError, TypeError, ValueError) as error:
        raise click.UsageError(
            f"{path} is not as README.md describes it: {type(error).__name__} {error}"
        ) from error


def copied(
    data: Data, given: Given | Made, copies: int, *, pool: bool
) -> tuple[Data, Given | Made]:
    """Every turn ``copies`` times, in other words, with a vector beside the original's.

    A word becomes another one that is about as frequent: with the same words the copies would be
    left out of a block as near-duplicates, and recall would look for more. With ``pool`` they are
    in sessions of their own, else other users'.
    """
    words = Counter(word for turn in data.turns for word in turn.text.split())
    ranked = [word for word, _ in words.most_common()]
    ranks = {word: rank for rank, word in enumerate(ranked)}

    def made(turn: Turn, copy: int) -> Turn:
        if not copy:
            return turn
        text = " ".join(ranked[(ranks[word] ^ copy) % len(ranked)] for word in turn.text.split())
        user = turn.user if pool else f"{turn.user} copy {copy}"
        return replace(turn, user=user, session=f"{turn.session} copy {copy}", text=text)

    turns = [made(turn, copy) for copy in range(copies) for turn in data.turns]
    # An embedder gives equal texts equal vectors.
    noisy = _noisy(np.asarray(given.turns), copies).tolist()
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


def held(
    path: Path, vectors: Path | None, *, pool: bool, facts: bool, copies: int
) -> tuple[Data, Given | Made]:
    """What is stored of a file, with its vectors or wordllama's."""
    data = read(path, pool=pool)
    if facts and not data.facts:
        raise click.UsageError("the data has no facts")
    given = embed(data, facts) if vectors is None else read_vectors(vectors, data, facts)
    return copied(data, given, copies, pool=pool) if copies > 1 else (data, given)


def read_vectors(path: Path, data: Data, facts: bool) -> Given:
    """The vectors of a file, as lists of numbers; it must have one for each entry of the data."""
    try:
        with np.load(path) as arrays:
            names = ("turns", "facts", "questions", "questions_stripped")
            found = {name: arrays[name].tolist() for name in names if name in arrays}
    except (OSError, ValueError, AttributeError) as error:
        raise click.UsageError(f"{path} is no .npz of numpy's: {error}") from error
    given = Given(
        name=path.name,
        turns=found.get("turns", []),
        facts=found.get("facts", []) if facts else [],
        questions=found.get("questions", []),
        stripped=found.get("questions_stripped", found.get("questions", [])),
    )
    wanted = (len(data.turns), len(data.questions), len(data.facts) if facts else 0)
    if (len(given.turns), len(given.questions), len(given.facts)) != wanted:
        raise click.UsageError(f"{path} does not have a vector for each entry of the data")
    return given


def embed(data: Data, facts: bool) -> Made:
    """Vectors of wordllama for what is stored."""
    embedder = WordLlamaEmbedder()
    embedder.embed(["load the model"])
    start = time.perf_counter()
    turns = embedder.embed([turn.text for turn in data.turns])
    of_facts = embedder.embed([fact.text for fact in data.facts]) if facts else []
    return Made(embedder.name, turns, of_facts, time.perf_counter() - start, embedder)


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
