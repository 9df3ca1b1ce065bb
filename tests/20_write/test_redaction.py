"""A secret is in no table, whatever way it came."""

from __future__ import annotations

import pytest
from psycopg.sql import SQL, Identifier
from psycopg.types.json import Jsonb
from tests.jobs import claim, finish
from tests.rows import add_event, call, recall, remember, value

# Made up, and put together so that no scanner takes them for real ones.
KEY = "gh" + "p_" + "aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3zA5"
CARD = "4111 1111 1111 1111"
SECRETS = [KEY, CARD, "hunter2"]
SAID = f"password: hunter2, key {KEY}, card {CARD}"
LEFT = "password: [redacted:password], key [redacted:api_key], card [redacted:card]"
DATA = {"deep": [{"password": "hunter2", "note": f"{KEY} and {CARD}"}]}
DATA_LEFT = {
    "deep": [{"password": "[redacted:password]", "note": "[redacted:api_key] and [redacted:card]"}]
}


def leaks(conn):
    """``table.column: secret`` wherever a secret is stored."""
    columns = conn.execute(
        "SELECT c.relname, a.attname FROM pg_class AS c JOIN pg_attribute AS a"
        " ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped"
        " WHERE c.relnamespace = 'memoir'::regnamespace AND c.relkind IN ('r', 'p')"
        " AND a.atttypid::regtype::text ~ '^(text|json|varchar|name|bytea)'"
    ).fetchall()
    query = SQL("SELECT count(*) FROM memoir.{} WHERE lower({}::text) LIKE %s")
    return [
        f"{table}.{column}: {secret}"
        for table, column in columns
        for secret in SECRETS
        if value(conn, query.format(*map(Identifier, (table, column))), f"%{secret.lower()}%")
    ]


def test_a_memory_is_redacted_before_it_is_stored(tx):
    memory_id = remember(tx, SAID, summary=SAID, data=DATA, speaker=KEY, subject=f"key.{KEY}")
    row = tx.execute(
        "SELECT content, summary, data, speaker, subject FROM memoir.memory WHERE memory_id = %s",
        (memory_id,),
    )
    assert row.fetchone() == (LEFT, LEFT, DATA_LEFT, "[redacted:api_key]", "key.[redacted:api_key]")


def test_what_a_memory_is_changed_to_is_redacted(tx):
    changes = {"content": SAID, "summary": SAID, "data": Jsonb(DATA), "subject": f"key.{KEY}"}
    call(tx, "update_memory", memory_id=remember(tx, "tea"), **changes)
    row = tx.execute("SELECT content, summary, data, subject FROM memoir.memory")
    assert row.fetchone() == (LEFT, LEFT, DATA_LEFT, "key.[redacted:api_key]")
    assert leaks(tx) == []


def test_memories_of_a_batch_are_redacted(tx):
    memory = {"content": SAID, "data": DATA, "summary": SAID, "keywords": [KEY], "speaker": KEY}
    memory["subject"] = f"key.{KEY}"
    call(tx, "remember_many", memories=Jsonb([memory]))
    row = tx.execute("SELECT content, summary, data, speaker FROM memoir.memory")
    assert row.fetchone() == (LEFT, LEFT, DATA_LEFT, "[redacted:api_key]")
    assert leaks(tx) == []


def test_the_name_of_an_entity_is_redacted(tx):
    memory_id = remember(tx, "tea")
    call(tx, "mention", memory_id=memory_id, entity=SAID)
    assert value(tx, "SELECT name FROM memoir.entity") == LEFT
    assert leaks(tx) == []


def test_the_speaker_of_a_message_is_redacted(tx):
    call(tx, "message_add", session_id="s", role="user", content="hello", speaker=KEY)
    assert value(tx, "SELECT speaker FROM memoir.message") == "[redacted:api_key]"


def test_what_a_session_is_given_is_redacted_when_it_begins_and_when_it_goes_on(tx):
    for _ in range(2):
        call(tx, "session_start", session_id="s", data=Jsonb(DATA))
        assert value(tx, "SELECT data FROM memoir.session") == DATA_LEFT
        tx.execute("UPDATE memoir.session SET data = '{}'")


def test_the_same_with_another_secret_is_the_same_memory(tx):
    remember(tx, "my password is hunter2")
    assert call(tx, "remember", content="my password is hunter3", kind="fact")[0].action == "NOOP"


def test_a_secret_is_in_no_table(tx):
    memory_id = remember(tx, SAID, summary=SAID, data=DATA, keywords=[KEY], session_id="s", turn=0)
    call(tx, "set_keywords", memory_id=memory_id, keywords=[KEY], origin="user_tag")
    call(tx, "forget", memory_id=memory_id, reason=SAID)
    call(tx, "restore", memory_id=memory_id, reason=SAID)
    add_event(tx, "alert", {**DATA, "said": SAID, KEY: CARD})
    recall(tx, f"what of {SAID}?")
    recall(tx, "x" * 180 + " " + SAID)
    call(tx, "gold_add", gold_set="g", query=SAID, relevant_ids=[memory_id])
    for write_to in ("memory", "daily"):
        arguments = {"content": f"again {SAID}", "write_to": write_to}
        call(tx, "call_tool", name="memory_write", arguments=arguments)
    call(tx, "call_tool", name="search_memories", arguments={"query": SAID, "keywords": [KEY]})
    assert leaks(tx) == []


def test_the_log_of_a_recall_shows_no_half_of_a_secret(tx):
    for length in (150, 199, 1990):
        retrieval_id = recall(tx, "x" * length + f" {KEY} password: hunter2").retrieval_id
        query = "SELECT query FROM memoir.retrieval WHERE retrieval_id = %s"
        assert KEY[:8] not in value(tx, query, retrieval_id)


def test_a_long_query_of_one_long_secret_is_logged_without_what_follows(tx):
    pem = "-" * 5 + "BEGIN PRIVATE KEY" + "-" * 5 + "\n" + "MIIEowIB" * 240 + "\n"
    recall(tx, pem + KEY)
    logged = value(tx, "SELECT query FROM memoir.retrieval")
    assert "MIIE" not in logged
    assert KEY[:6] not in logged


def test_the_payload_of_a_job_is_redacted_but_for_the_name_of_its_session(tx):
    payload = {"query": SAID, "session_id": KEY}
    job_id = call(tx, "enqueue", kind="expand", payload=Jsonb(payload))[0].enqueue
    stored = value(tx, "SELECT payload FROM memoir.job WHERE job_id = %s", job_id)
    assert stored == {"query": LEFT, "session_id": KEY}


def test_what_a_model_says_a_query_means_is_redacted(tx):
    tx.execute("SELECT memoir.expand_query('tea')")
    job_id = claim(tx, kinds=["expand"])[0].job_id
    answer = {"core_keywords": [KEY], "synonyms": [], "related_concepts": [SAID]}
    assert finish(tx, job_id, answer=answer) == "done"
    assert leaks(tx) == []


@pytest.mark.parametrize("content", ["the token budget is 800", "commit 3f786850e387550fdab836ed7"])
def test_what_is_no_secret_is_stored_as_it_is(tx, content):
    memory_id = remember(tx, content, data={"token_budget": 800})
    row = tx.execute(
        "SELECT content, data FROM memoir.memory WHERE memory_id = %s", (memory_id,)
    ).fetchone()
    assert row == (content, {"token_budget": 800})
