"""Which text of a question the client embeds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

pytestmark = pytest.mark.once

QUESTION = "What did Ann  say of tea in Paris?"


@pytest.fixture
def memory(open_client: Callable[..., Any], letters: Any) -> Any:
    """A client whose memory is ten turns of Ann about tea."""
    client = open_client(embedder=letters)
    turns = [f"tea {'x' * number}" for number in range(1, 11)]
    client.remember_many(
        {"content": text, "kind": "turn", "speaker": "Ann", "session": "a", "turn": turn}
        for turn, text in enumerate(turns)
    )
    letters.texts.clear()
    return client


@pytest.mark.parametrize("ask", ["recall", "context", "explain"])
def test_a_conversation_is_asked_without_names_and_common_words(
    memory: Any, letters: Any, db: Any, ask: str
) -> None:
    getattr(memory, ask)(QUESTION, mode="conversation")
    (text,) = db.execute("SELECT memoir.embedding_text(%s)", [QUESTION]).fetchone()
    assert letters.texts == [text] == ["What did say of in Paris?"]


def test_another_mode_is_asked_with_the_whole_question(memory: Any, letters: Any) -> None:
    memory.recall(QUESTION, mode="execute")
    assert letters.texts == [QUESTION]


def test_a_question_of_common_words_alone_is_embedded_whole(memory: Any, letters: Any) -> None:
    memory.recall("Ann tea", mode="conversation")
    assert letters.texts == ["Ann tea"]


def test_a_given_vector_is_taken(memory: Any, letters: Any) -> None:
    memory.recall(QUESTION, mode="conversation", vector=[1.0] * 26)
    assert letters.texts == []
