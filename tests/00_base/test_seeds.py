"""The rows of the registry against the tables and lines of the documents."""

from __future__ import annotations

import math
import re

import pytest
from tests.documents import (
    D0_EVENTS,
    D0_HALF_LIVES,
    D0_LAYERS,
    D0_MODE_WEIGHTS,
    D0_SELECTION,
    D1_SCORE,
    D2_SCORE,
    D3_SCORE,
    D4_IMPORTANCES,
    D4_KINDS,
    D4_RECALL,
    number,
    table,
)
from tests.rows import MODES, remember, value

OF_D0 = list(MODES)


def settings(conn, name: str) -> dict[str, object]:
    """One setting of each mode of D0."""
    rows = conn.execute(f"SELECT name, {name} FROM memoir.mode WHERE name = ANY (%s)", (OF_D0,))
    return dict(rows.fetchall())


def of_mode(conn, mode: str, *names: str) -> tuple[object, ...]:
    """Some settings of one mode."""
    query = f"SELECT {', '.join(names)} FROM memoir.mode WHERE name = %s"
    return conn.execute(query, (mode,)).fetchone()


def test_mode_weights_are_those_of_the_document(tx):
    (_, *modes), *rows = table(D0_MODE_WEIGHTS)
    query = "SELECT kind, mode, weight FROM memoir.mode_weight WHERE mode = ANY (%s)"
    stored = tx.execute(query, (OF_D0,))
    assert {(kind, mode): weight for kind, mode, weight in stored} == {
        (kind, mode): float(weight)
        for kind, *weights in rows
        for mode, weight in zip(modes, weights, strict=True)
    }


def test_half_lives_are_those_of_the_document(tx):
    stored = dict(tx.execute("SELECT name, half_life_days FROM memoir.kind").fetchall())
    for kind, days in table(D0_HALF_LIVES)[1:]:
        assert stored[kind] == (None if days == "Infinity" else float(days)), kind


def test_only_tasks_learnings_and_events_decay(tx):
    decaying = tx.execute("SELECT name FROM memoir.kind WHERE half_life_days IS NOT NULL")
    assert {name for (name,) in decaying} == {"task", "learning", "event"}


def test_half_lives_agree_with_the_table_of_layers(tx):
    stored = dict(tx.execute("SELECT name, half_life_days FROM memoir.kind").fetchall())
    assert stored["task"] == number(D0_LAYERS, "tasks: 半衰期 ")
    assert stored["learning"] == number(D0_LAYERS, "learnings: ")


@pytest.mark.parametrize("kind", D4_KINDS)
def test_importances_are_those_of_the_document(tx, kind):
    by_name = {row[0]: float(row[-1]) for row in table(D4_IMPORTANCES)[1:]}
    stored = value(tx, "SELECT importance FROM memoir.kind WHERE name = %s", kind)
    assert stored == by_name[D4_KINDS[kind]]


@pytest.mark.parametrize(("kind", "name"), [*D4_KINDS.items(), ("pattern", "行为模式")])
def test_a_kind_has_the_names_of_the_documents(tx, kind, name):
    memory_id = remember(tx, "喜欢 TypeScript", name)
    assert value(tx, "SELECT kind FROM memoir.memory WHERE memory_id = %s", memory_id) == kind


def test_events_are_recalled_for_24_hours_and_72_in_debug(tx):
    stored = settings(tx, "event_hours")
    debug, others = number(D0_EVENTS, "'debug' ? "), number(D0_EVENTS, " : ")
    assert stored == {"plan": others, "execute": others, "debug": debug, "chat": others}


def test_the_recalled_event_types_are_those_of_the_document(tx):
    named = re.findall(r"'(\w+)'", re.search(r"type IN \((.*)\)", D0_EVENTS)[1])
    assert [set(types) for types in settings(tx, "event_types").values()] == [set(named)] * 4


def test_the_number_and_relevance_of_events_are_those_of_the_document(tx):
    assert set(settings(tx, "event_limit").values()) == {number(D0_EVENTS, "LIMIT ")}
    assert set(settings(tx, "event_relevance").values()) == {number(D0_EVENTS, "relevance: ")}


def test_selection_numbers_are_those_of_the_document(tx):
    assert set(settings(tx, "mmr_lambda").values()) == {number(D0_SELECTION, "lambda = ")}
    assert set(settings(tx, "duplicate_at").values()) == {number(D0_SELECTION, "threshold = ")}
    assert set(settings(tx, "mmr_lines").values()) == {number(D0_SELECTION, "| top ")}


def test_every_mode_but_chat_shows_the_profile(tx):
    assert settings(tx, "profile") == {"plan": True, "execute": True, "debug": True, "chat": False}


def test_the_modes_of_one_document_decay_by_its_formula_alone(tx):
    decaying = tx.execute("SELECT name FROM memoir.mode WHERE kind_decay").fetchall()
    assert {name for (name,) in decaying} >= set(OF_D0)
    for mode in ("balanced", "search", "implicit", "assistant"):
        assert of_mode(tx, mode, "kind_decay", "event_limit", "profile") == (False, 0, False)


def test_balanced_has_the_numbers_of_its_document(tx):
    stored = of_mode(tx, "balanced", "vector_weight", "recency_weight", "importance_weight")
    before = ("cosine_similarity * ", "time_decay * ", "importance_score * ")
    assert stored == tuple(number(D1_SCORE, words) for words in before)
    stored = of_mode(tx, "balanced", "1 / recency_rate", "unaccessed_days", "line_limit")
    before = ("days_since_access / ", "last_accessed_at else ", "k: int = ")
    assert stored == pytest.approx(tuple(number(D1_SCORE, words) for words in before))


def test_search_has_the_numbers_of_its_document(tx):
    stored = of_mode(tx, "search", "keyword_weight", "word_weight", "recency_weight")
    shares = [float(share) / 100 for share in re.findall(r"\((\d+)% 权重\)", D2_SCORE)]
    assert stored == tuple(shares)
    stored = of_mode(tx, "search", "base_weight", "interaction_weight", "priority_weight")
    shares = [float(share) / 100 for share in re.findall(r"\((\d+)%\)", D2_SCORE)]
    assert stored == tuple(shares)
    stored = of_mode(tx, "search", "recency_rate", "recency_floor", "minimum_relevance")
    before = ("half_life_days: float = ", "base_score * (", "default=")
    half_life, lowest, least = (number(D2_SCORE, words) for words in before)
    assert stored == pytest.approx((math.log(2) / half_life, lowest, least))


def test_implicit_has_the_numbers_of_its_document(tx):
    stored = of_mode(tx, "implicit", "recency_rate", "line_limit")
    assert stored == (number(D3_SCORE, "exp(-"), number(D3_SCORE, "TOP_K="))


def test_assistant_has_the_numbers_of_its_document(tx):
    cells = {name: said for name, said, _ in table(D4_RECALL)}
    stored = of_mode(tx, "assistant", "line_limit", "minimum_relevance")
    assert stored == (number(cells["召回数量"], "Top-"), float(cells["相关性阈值"]))


def test_priorities_order_preference_before_command_output_before_the_rest(tx):
    ordered = tx.execute("SELECT name FROM memoir.kind ORDER BY priority DESC, name LIMIT 3")
    assert [name for (name,) in ordered] == ["preference", "command_output", "capability"]


def test_the_default_arguments_of_recall_are_execute_and_800(tx):
    arguments = value(
        tx,
        "SELECT pg_get_function_arguments(oid) FROM pg_proc"
        " WHERE proname = 'memory_context' AND pronamespace = 'memoir'::regnamespace",
    )
    assert "mode text DEFAULT 'execute'::text, budget integer DEFAULT 800," in arguments
