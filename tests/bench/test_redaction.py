"""redaction.py: what it counts and shows, never how fast."""

from __future__ import annotations

import psycopg
import pytest
import redaction

pytestmark = pytest.mark.once


@pytest.mark.parametrize("name", redaction.TEXTS)
def test_a_text_has_the_length_asked_for(name: str) -> None:
    assert [len(redaction.text_of(name, length)) for length in (100, 1000)] == [100, 1000]


def test_changed_texts_are_counted_and_shown(tx: psycopg.Connection) -> None:
    found = redaction.changed(tx, "mine", ["password = hunter2", "tea", "green tea", "milk"])
    assert (found["texts"], found["changed"], found["percent"]) == (4, 1, 25.0)
    assert found["examples"] == [["password = hunter2", "password = [redacted:password]"]]


def test_only_texts_with_secrets_change(tx: psycopg.Connection) -> None:
    plain = [name for name in redaction.TEXTS if "secret" not in name or "no secret" in name]
    texts = [redaction.text_of(name, 1000) for name in plain]
    assert redaction.changed(tx, "plain", texts)["examples"] == []
