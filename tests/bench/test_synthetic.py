"""Synthetic memories: the same whatever is asked for, and words and vectors that agree."""

from __future__ import annotations

import numpy as np
import psycopg
import pytest
from lexicon import english
from synthetic import Corpus, Memories

pytestmark = pytest.mark.once


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    return Corpus(seed=1, dims=64)


@pytest.fixture(scope="module")
def memories(corpus: Corpus) -> Memories:
    return corpus.memories(0, 0, 3000)


def same(left: Memories, right: Memories) -> bool:
    return all(map(np.array_equal, vars(left).values(), vars(right).values()))


def test_a_longer_corpus_begins_with_the_shorter_one(corpus, memories):
    for rows in (1, 100, 1024, 1025, 2999):
        assert same(corpus.memories(0, 0, rows), memories.part(0, rows))


def test_rows_are_the_same_in_any_batch(corpus, memories):
    assert same(corpus.memories(0, 700, 2100), memories.part(700, 2100))
    assert same(Corpus(seed=1, dims=64).memories(0, 1500, 1501), memories.part(1500, 1501))


def test_users_and_seeds_have_memories_of_their_own(corpus, memories):
    for other in (corpus.memories(1, 0, 50), Corpus(seed=2, dims=64).memories(0, 0, 50)):
        assert not set(other.contents) & set(memories.contents)


def test_no_text_occurs_twice(memories):
    assert len(set(memories.contents)) == len(memories)


def test_vectors_have_length_1_and_agree_on_a_topic(memories):
    topic, vectors = memories.topics[:, 0], memories.vectors
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    cosines = vectors @ vectors.T
    same_topic = topic[:, None] == topic
    assert np.median(cosines[same_topic]) > 0.5
    assert np.median(cosines[~same_topic]) < 0.2


def test_near_duplicates_are_near_in_words_and_vector(memories):
    repeated = np.flatnonzero(memories.duplicate_of >= 0)
    assert 0.02 < len(repeated) / len(memories) < 0.04
    for row in repeated:
        of = memories.duplicate_of[row]
        assert memories.vectors[row] @ memories.vectors[of] > 0.9
        assert len(memories.contents[row].split()) == len(memories.contents[of].split())


def test_turns_of_a_session_are_numbered_from_0(memories):
    turns: dict[str, list[int]] = {}
    for session, turn in zip(memories.sessions, memories.turns, strict=True):
        if session is not None and turn is not None:
            turns.setdefault(session, []).append(turn)
    assert all(places == list(range(len(places))) for places in turns.values())
    low, high = np.percentile([len(places) for places in turns.values()], (10, 90))
    assert 10 <= low < high <= 30


def test_a_question_is_the_same_every_time(corpus):
    first, again = (corpus.questions(0, 3000, 5, 6)[0] for _ in range(2))
    assert (first.text, first.memory) == (again.text, again.memory)
    assert np.array_equal(first.vector, again.vector)


def test_the_stemmer_keeps_words_apart_and_takes_a_plural_for_its_word(tx: psycopg.Connection):
    lexicon = english()
    words = list(lexicon.strings[lexicon.function_words : lexicon.names[0]])[200::10]
    row = tx.execute(
        "SELECT count(DISTINCT memoir.tokens(w)),"
        " bool_and(memoir.tokens(w) = memoir.tokens(w || 's'))"
        " FROM unnest(%s::text[]) AS w WHERE w !~ '[hx]$'",
        (words,),
    ).fetchone()
    assert row == (sum(word[-1] not in "hx" for word in words), True)
