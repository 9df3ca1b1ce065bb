"""What a recall leaves behind: one row with the payload of D0 3.2."""

from __future__ import annotations

import math
from datetime import datetime

import pytest
from tests.rows import (
    NOW,
    add_event,
    ago,
    explain,
    recall,
    remember,
    remember_all,
    rows_read,
    sentences,
    set_to,
    value,
)

D0_KEYS = {
    "query",
    "mode",
    "candidates_count",
    "injected_count",
    "injected_sources",
    "token_used",
    "token_budget",
}
OURS = {"injected", "used", "elapsed_ms"}


def payload(conn, retrieval_id):
    """The log's payload of one recall."""
    query = "SELECT payload FROM memoir.retrieval_log WHERE retrieval_id = %s"
    return value(conn, query, retrieval_id)


def logged(conn, query_text=None, **more):
    """The payload of a recall made now."""
    return payload(conn, recall(conn, query_text, **more).retrieval_id)


def blocks_read(conn, statement):
    """How many blocks a statement reads, with all that it calls, when its plans are made."""
    conn.execute(statement)
    (plan,) = value(conn, f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {statement}")
    return plan["Plan"]["Shared Hit Blocks"] + plan["Plan"]["Shared Read Blocks"]


def test_the_payload_has_the_keys_of_the_document(tx):
    assert set(logged(tx, "tea")) == D0_KEYS | OURS


def test_the_newest_rows_of_the_log_are_put_together_alone(tx):
    # Given 20 recalls of five memories each
    remember_all(tx, sentences(5, 5))
    for _ in range(20):
        recall(tx)
    log = "SELECT * FROM memoir.retrieval_log ORDER BY created_at DESC"
    # Then the newest one asks for its memories, not for those of all
    assert rows_read(tx, f"{log} LIMIT 1") < 60 < rows_read(tx, log) / 4


def test_the_payload_says_what_was_asked(tx):
    said = logged(tx, "green tea", mode="plan", budget=123)
    assert (said["query"], said["mode"], said["token_budget"]) == ("green tea", "plan", 123)


def test_the_query_is_cut_at_200_characters(tx):
    assert logged(tx, "茶" * 300)["query"] == "茶" * 200


def test_of_a_long_query_nothing_is_logged_that_is_cut_where_secrets_are_looked_for(tx):
    long_key, cut = "sk-" + "Ab1" * 660, "sk-" + "Cd2" * 20
    assert logged(tx, f"{long_key} {cut}")["query"] == ""


def test_a_recall_by_vector_alone_has_an_empty_query(tx):
    assert logged(tx, query_vec="[1,0,0]")["query"] == ""


def test_the_payload_counts_candidates_and_lines(tx):
    for name in ("green", "black", "white"):
        remember(tx, f"tea {name}")
    made = recall(tx, "tea", budget=11)
    said = payload(tx, made.retrieval_id)
    assert (said["candidates_count"], said["injected_count"]) == (3, 2)
    assert (said["token_used"], made.candidates) == (made.tokens, 3)


def test_the_payload_names_the_kinds_in_order(tx):
    remember(tx, "tea", "fact", created_at=NOW)
    remember(tx, "tea house", "task", created_at=ago(days=60))
    add_event(tx, "alert", {"n": 1}, created_at=NOW)
    assert logged(tx, "tea", as_of=NOW)["injected_sources"] == ["fact", "event", "task"]


def test_the_payload_has_ids_with_the_parts_of_their_score(tx):
    tx.execute("SELECT memoir.remember('tea', 'task', created_at => now() - interval '30 days')")
    (explained,) = explain(tx, "tea milk")
    (line,) = logged(tx, "tea milk")["injected"]
    assert line.pop("memory_id") == str(explained.memory_id)
    assert set(line) == {"relevance", "decay", "weight", "score"}
    expected = {part: getattr(explained, part) for part in line}
    assert line == pytest.approx(expected, rel=1e-5)


def test_the_parts_of_a_recall_of_the_past_are_those_of_then(tx):
    remember(tx, "tea", "task", created_at=ago(days=30))
    (line,) = logged(tx, "tea", mode="plan", as_of=NOW)["injected"]
    parts = (line["relevance"], line["decay"], line["weight"], line["score"])
    assert parts == pytest.approx((1, 0.5, 1, 0.5), rel=1e-5)


def test_an_event_in_the_payload_has_its_own_id(tx):
    event_id = add_event(tx, "alert", {"n": 1})
    (line,) = logged(tx)["injected"]
    assert line["event_id"] == str(event_id)


def test_a_recall_of_the_past_says_of_when(tx):
    said = logged(tx, as_of=NOW)["as_of"]
    assert datetime.fromisoformat(said) == NOW


def test_the_elapsed_time_is_in_milliseconds(tx):
    assert 0 < logged(tx, "tea")["elapsed_ms"] < 10_000


def test_an_empty_recall_is_logged_too(tx):
    said = logged(tx, "tea")
    assert (said["candidates_count"], said["injected"], said["used"]) == (0, [], None)


def test_the_log_is_of_the_user_who_asked(tx):
    recall(tx, "tea", user_id="ada")
    assert value(tx, "SELECT user_id FROM memoir.retrieval_log") == "ada"


def test_a_recall_in_a_read_only_transaction_works_and_leaves_no_row(tx):
    memory_id = remember(tx, "tea")
    tx.execute("SET TRANSACTION READ ONLY")
    made = recall(tx, "tea")
    assert (made.memory_ids, made.retrieval_id) == ([memory_id], None)
    assert value(tx, "SELECT count(*) FROM memoir.retrieval") == 0


def test_a_setting_turns_the_log_off(tx):
    set_to(tx, log_recalls=False)
    assert recall(tx, "tea").retrieval_id is None
    assert value(tx, "SELECT count(*) FROM memoir.retrieval") == 0


def test_the_log_survives_a_change_of_the_modes(tx):
    remember(tx, "tea", "task")
    retrieval_id = recall(tx, "tea", mode="plan").retrieval_id
    before = payload(tx, retrieval_id)
    tx.execute("UPDATE memoir.mode_weight SET weight = 7 WHERE kind = 'task'")
    assert payload(tx, retrieval_id) == before


def test_a_mode_of_more_parts_logs_the_score_and_the_weight(tx):
    remember(tx, "tea", "task", importance=0.5, created_at=ago(days=30))
    (line,) = logged(tx, "tea", mode="implicit", as_of=NOW)["injected"]
    assert (line["relevance"], line["decay"], line["weight"]) == (None, None, 1)
    assert line["score"] == pytest.approx(0.5 * math.exp(-0.05 * 30))


@pytest.mark.parametrize(
    "reader",
    [
        "SELECT payload FROM memoir.retrieval_log WHERE retrieval_id = {}",
        "SELECT memoir.mark_used({}, '{{1}}', 'ada')",
        "SELECT FROM memoir._shown('ada', ARRAY[{}], '{{}}')",
    ],
)
def test_of_a_large_block_the_row_is_fetched_once_and_not_for_every_line(tx, reader):
    # Of a mode that tells no decay, which asks for the age of each memory.
    insert = """INSERT INTO memoir.retrieval (user_id, created_at, mode, query, ids, kinds, score,
        weights, chosen, token_used, token_budget, elapsed_ms)
        SELECT 'ada', now(), 'search', 'tea', array_agg((1e15 * random())::bigint),
               array_agg(8), array_agg(random()), array_fill(1, ARRAY[17]), array_agg(n), 1, 1, 1
        FROM generate_series(1, 2000) AS n RETURNING retrieval_id"""
    assert blocks_read(tx, reader.format(value(tx, insert))) < 500
