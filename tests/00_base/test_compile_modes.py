"""Modes, kinds and weights are rows: a change acts at the next recall."""

from __future__ import annotations

import psycopg
import pytest
from tests.rows import NOW, add_event, ago, explain, headings, recall, remember, value


def scores(conn, **more):
    """Score by kind of a recall for tea."""
    return {row.kind: row.score for row in explain(conn, "tea", as_of=NOW, **more)}


def add_mode(conn):
    conn.execute("INSERT INTO memoir.mode (name, description) VALUES ('brew', 'Making tea.')")
    conn.execute("INSERT INTO memoir.mode_weight VALUES ('brew', 'fact', 0.25)")


def test_a_mode_is_two_inserts(tx):
    remember(tx, "tea is green", created_at=NOW)
    remember(tx, "tea with milk", "preference", created_at=NOW)
    add_mode(tx)
    assert scores(tx, mode="brew") == pytest.approx({"fact": 0.25, "preference": 1})


def test_a_new_mode_takes_the_half_lives_of_the_kinds(tx):
    remember(tx, "tea to buy", "task", created_at=ago(days=30))
    add_mode(tx)
    assert scores(tx, mode="brew") == pytest.approx({"task": 0.5}, abs=1e-9)


def test_a_mode_of_a_name_not_there_is_refused_until_it_is(tx):
    add_mode(tx)
    assert recall(tx, mode="brew").tokens > 0


def test_a_mode_that_compares_nothing_is_refused_by_name(tx):
    with pytest.raises(psycopg.errors.CheckViolation, match="vector_or_word_weight_above_0"):
        tx.execute(
            "INSERT INTO memoir.mode (name, description, vector_weight, word_weight)"
            " VALUES ('none', 'Compares nothing.', 0, 0)"
        )


def test_a_changed_weight_acts_at_once(tx):
    remember(tx, "tea to buy", "task", created_at=NOW)
    before = scores(tx, mode="plan")["task"]
    tx.execute("UPDATE memoir.mode_weight SET weight = 3 WHERE (mode, kind) = ('plan', 'task')")
    assert scores(tx, mode="plan")["task"] == pytest.approx(3 * before)


def test_a_deleted_weight_is_one(tx):
    remember(tx, "tea to buy", "task", created_at=NOW)
    tx.execute("DELETE FROM memoir.mode_weight WHERE (mode, kind) = ('execute', 'task')")
    assert scores(tx, mode="execute") == pytest.approx({"task": 1})


def test_a_weight_of_zero_leaves_a_kind_out(tx):
    remember(tx, "tea to buy", "task")
    tx.execute("UPDATE memoir.mode_weight SET weight = 0 WHERE kind = 'task'")
    assert recall(tx, "tea").memory_ids == []


def test_a_changed_half_life_acts_at_once(tx):
    remember(tx, "tea is green", created_at=ago(days=10))
    tx.execute("UPDATE memoir.kind SET half_life_days = 5 WHERE name = 'fact'")
    assert scores(tx) == pytest.approx({"fact": 0.25}, abs=1e-9)


def test_a_half_life_taken_away_ends_decay(tx):
    remember(tx, "tea to buy", "task", created_at=ago(days=30))
    tx.execute("UPDATE memoir.kind SET half_life_days = NULL WHERE name = 'task'")
    assert scores(tx, mode="plan") == pytest.approx({"task": 1})


def test_a_new_kind_is_one_insert(tx):
    tx.execute(
        "INSERT INTO memoir.kind (kind_id, name, layer, half_life_days, heading, description)"
        " VALUES (40, 'recipe', 'semantic', 10, 'Recipes', 'How to cook.')"
    )
    remember(tx, "tea with ginger", "recipe", created_at=ago(days=10))
    assert scores(tx) == pytest.approx({"recipe": 0.5}, abs=1e-9)
    assert recall(tx, "tea").block == "## Recipes\n- tea with ginger\n"


def test_a_weight_for_a_new_kind_acts(tx):
    tx.execute(
        "INSERT INTO memoir.kind (kind_id, name, layer, heading, description)"
        " VALUES (62, 'recipe', 'semantic', 'Recipes', 'How to cook.')"
    )
    tx.execute("INSERT INTO memoir.mode_weight VALUES ('execute', 'recipe', 2)")
    remember(tx, "tea with ginger", "recipe", created_at=NOW)
    assert scores(tx) == pytest.approx({"recipe": 2})


def test_a_changed_heading_is_shown_and_counted(tx):
    remember(tx, "tea is green")
    heading = "What we know for certain about the world and all the people in it"
    tx.execute("UPDATE memoir.kind SET heading = %s WHERE name = 'fact'", (heading,))
    made = recall(tx, "tea")
    assert headings(made.block) == [heading]
    assert made.tokens == value(tx, "SELECT memoir.estimate_tokens(%s)", made.block)


def test_a_renamed_kind_keeps_its_weights_and_memories(tx):
    remember(tx, "tea to buy", "task", created_at=NOW)
    tx.execute("UPDATE memoir.kind SET name = 'chore' WHERE name = 'task'")
    assert scores(tx, mode="execute") == pytest.approx({"chore": 1.2})


def test_a_mode_without_events_shows_none(tx):
    add_event(tx, "alert", {"tea": "out"})
    tx.execute("UPDATE memoir.mode SET event_limit = 0 WHERE name = 'debug'")
    assert explain(tx, mode="debug") == []


def test_a_mode_of_two_lines_gives_two(tx):
    for name in ("green", "black", "white"):
        remember(tx, f"tea is {name}")
    tx.execute("UPDATE memoir.mode SET line_limit = 2 WHERE name = 'chat'")
    assert len(recall(tx, "tea", mode="chat").memory_ids) == 2


def test_a_threshold_leaves_out_what_is_not_above_it(tx):
    half = remember(tx, "green tea", created_at=NOW)
    remember(tx, "black coffee", created_at=NOW)
    tx.execute("UPDATE memoir.mode SET threshold = 0.4 WHERE name = 'chat'")
    assert recall(tx, "green tea", mode="chat", as_of=NOW).memory_ids == [half]
