"""The conversations in a database: what a recall puts into a block, and how long its call takes."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any, cast

import click
import psycopg
from common import ROUNDS, Floor, Statement, interleaved, scalar, vector_schema, vector_text
from conversations import Data, Given, Made

from pgmemoir import Memoir
from pgmemoir.calls import NewMemory, Recall, Remembered
from pgmemoir.cli.output import progress_bar

# The budget at which the call is timed and the tokens of a block are counted.
TIMED_BUDGET = 800

_CONTEXT = "SELECT memoir.memory_context(%s::{schema}.halfvec, %s, {budget}, %s, %s)"
_SELECTIVE = b"SELECT common_share IS NOT NULL FROM memoir.mode WHERE name = %s"
_EMBEDDING_TEXT = b"SELECT memoir.embedding_text(%s, %s, %s)"


@dataclass(frozen=True)
class Stored:
    """A memory: its text, and the turns it tells."""

    text: str
    turns: frozenset[str]


@dataclass(frozen=True)
class Answer:
    """What one recall gave: the share of the evidence in its block, and the block's tokens."""

    share: float
    tokens: int
    shortened: int


class Untraceable(click.ClickException):
    """A block has a line that is not of the memories its recall names."""


class Loaded:
    """The conversations in a database, and the questions to it.

    Args:
        conn: in autocommit; the client, the timing and the set-up all use it.
        words_only: recall is given no vector.
    """

    def __init__(
        self,
        conn: psycopg.Connection[Any],
        data: Data,
        vectors: Given | Made,
        *,
        facts: bool,
        words_only: bool,
    ) -> None:
        self._conn = conn
        self._data = data
        self._vectors = vectors
        self._facts = data.facts if facts else []
        self._words_only = words_only
        users = dict.fromkeys(turn.user for turn in data.turns)
        self._clients = {user: Memoir(conn, user=user, embedder=None) for user in users}
        # By user and memory id.
        self._stored: dict[str, dict[int, Stored]] = {user: {} for user in users}
        self.load_seconds = self._load()

    @property
    def users(self) -> int:
        """How many users have conversations."""
        return len(self._clients)

    def _load(self) -> float:
        """Store everything through the client, as an import would, and tidy up as it should."""
        start = time.perf_counter()
        with progress_bar(len(self._data.turns) + len(self._facts), "loading") as bar:
            for user, client in self._clients.items():
                turns = [p for p, turn in enumerate(self._data.turns) if turn.user == user]
                facts = [p for p, fact in enumerate(self._facts) if fact.user == user]
                memory_of = self._keep_turns(
                    user, turns, client.remember_many(map(self._turn, turns))
                )
                new = [self._fact(place, memory_of) for place in facts]
                self._keep_facts(user, facts, client.remember_many(new))
                bar.update(len(turns) + len(facts))
        seconds = time.perf_counter() - start
        Floor.fill(self._conn)
        self._conn.execute("VACUUM (ANALYZE)")
        return seconds

    def _turn(self, place: int) -> NewMemory:
        turn = self._data.turns[place]
        return {
            "content": turn.text,
            "kind": "turn",
            "session": turn.session,
            "turn": turn.position,
            "speaker": turn.speaker,
            "created_at": turn.time,
            "vector": self._vectors.turns[place],
        }

    def _fact(self, place: int, memory_of: Mapping[str, int]) -> NewMemory:
        fact = self._facts[place]
        return {
            "content": fact.text,
            "kind": "fact",
            "session": fact.session,
            "speaker": fact.speaker,
            "created_at": fact.time,
            "vector": self._vectors.facts[place],
            "sources": [memory_of[turn] for turn in fact.sources],
        }

    def _keep_turns(self, user: str, places: list[int], done: list[Remembered]) -> dict[str, int]:
        """Note the turns; the memory of each."""
        memory_of = {}
        for place, each in zip(places, done, strict=True):
            turn, memory_id = self._data.turns[place], cast(int, each.memory_id)
            self._stored[user][memory_id] = Stored(turn.text, frozenset((turn.dia_id,)))
            memory_of[turn.dia_id] = memory_id
        return memory_of

    def _keep_facts(self, user: str, places: list[int], done: list[Remembered]) -> None:
        """Note the facts; one that is told twice is one memory, with the text of the first."""
        stored = self._stored[user]
        for place, each in zip(places, done, strict=True):
            fact, memory_id = self._facts[place], cast(int, each.memory_id)
            known = stored.get(memory_id, Stored(fact.text, frozenset()))
            text = known.text if each.action == "NOOP" else fact.text
            stored[memory_id] = Stored(text, known.turns | set(fact.sources))

    def question_vectors(self, mode: str, places: Sequence[int]) -> dict[int, Sequence[float]]:
        """The vectors that go with questions in a mode, by place."""
        row = self._conn.execute(_SELECTIVE, (mode,)).fetchone()
        selective = bool(row and row[0])
        if isinstance(self._vectors, Given):
            given = self._vectors.stripped if selective else self._vectors.questions
            return {place: given[place] for place in places}
        made = {}
        for place in places:
            asked = self._data.questions[place]
            text = asked.text
            if selective:
                found = self._conn.execute(_EMBEDDING_TEXT, (text, asked.user, mode)).fetchone()
                assert found is not None
                (text,) = found
            made[place] = self._vectors.question(text)
        return made

    def answers(
        self, mode: str, places: Sequence[int], budgets: Sequence[int]
    ) -> dict[int, list[Answer]]:
        """By budget, the answers in the order of the questions.

        Raises:
            Untraceable: a block cannot be traced to its memories.
        """
        vectors = self.question_vectors(mode, places)
        answers: dict[int, list[Answer]] = {budget: [] for budget in budgets}
        with progress_bar(len(places) * len(budgets), f"asking, mode {mode}") as bar:
            for place in places:
                for budget in budgets:
                    answers[budget].append(self._answer(mode, place, budget, vectors[place]))
                bar.update(len(budgets))
        return answers

    def _answer(self, mode: str, place: int, budget: int, vector: Sequence[float]) -> Answer:
        question = self._data.questions[place]
        given = None if self._words_only else vector
        found = self._clients[question.user].recall(question.text, mode, budget, vector=given)
        stored = self._stored[question.user]
        lines = traced(found, stored)
        present = frozenset[str]().union(*(stored[memory].turns for memory in lines))
        return Answer(
            share=fmean(turn in present for turn in question.evidence),
            tokens=found.tokens,
            shortened=sum(line.endswith("…") for line in lines.values()),
        )

    def times(self, mode: str, places: Sequence[int]) -> list[list[float]]:
        """Milliseconds of memory_context and of the two floors, by question."""
        floor = Floor(self._conn)
        schema = vector_schema(self._conn)
        recall = _CONTEXT.format(schema=schema, budget=TIMED_BUDGET).encode()
        vectors = self.question_vectors(mode, places)
        rivals = []
        for place in places:
            asked, vector = self._data.questions[place], vector_text(vectors[place])
            given = None if self._words_only else vector
            context = Statement(recall, (given, mode, asked.text, asked.user))
            floors = floor.bare(asked.user, vector), floor.index_only(asked.user, vector)
            rivals.append((context, *floors))
        floor.plan_index_only(rivals[0][2])
        with progress_bar(len(rivals) * (ROUNDS + 1), "timing") as bar:
            return interleaved(self._conn, rivals, ROUNDS, bar.update)

    def wide_rows(self) -> int:
        """Rows too long for the index: recall reads them from the table, the floor not at all."""
        return int(scalar(self._conn, "SELECT count(*) FROM memoir.trace WHERE active AND wide"))


def traced(found: Recall, stored: Mapping[int, Stored]) -> dict[int, str]:
    """The line of every memory in a block, from the text of the block alone.

    Args:
        stored: the user's memories by id. A line is the whole text of one, or its beginning
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
