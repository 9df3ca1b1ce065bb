"""Row-level security: a role that does not own the tables sees its user's rows, or none."""

from __future__ import annotations

import psycopg
import pytest
from psycopg.types.json import Jsonb
from tests.rows import NOTHING, add_event, call, explain, lines, recall, refused, remember, value

OWNED = """
SELECT c.oid::regclass::text
FROM pg_class AS c JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attname = 'user_id'
WHERE c.relnamespace = 'memoir'::regnamespace AND c.relkind IN ('r', 'p', 'v')
  AND NOT c.relispartition
"""


@pytest.fixture
def app(tx):
    """A connection as a role that may read and add, after Ada and Bob have stored things."""
    for user in ("ada", "bob"):
        tea = remember(tx, f"tea of {user}", embedding="[1,0,0]", user_id=user)
        call(tx, "gold_add", gold_set="drinks", query="tea?", relevant_ids=[tea], user_id=user)
        remember(tx, f"goal of {user}", "okr", data={"status": "pending"}, user_id=user)
        add_event(tx, "alert", {"who": user}, user_id=user)
        made = recall(tx, "tea", user_id=user)
        call(tx, "mark_used", retrieval_id=made.retrieval_id, memory_ids=[], user_id=user)
        call(tx, "refresh_statistics", user_id=user)
    tx.execute("CREATE ROLE app")
    tx.execute("GRANT memoir_agent TO app")
    tx.execute("SET LOCAL ROLE app")
    return tx


def visible(conn):
    """Whose rows can be seen, by table and view with the column user_id."""
    names = [name for (name,) in conn.execute(OWNED).fetchall()]
    return {
        name: {user for (user,) in conn.execute(f"SELECT user_id FROM {name}").fetchall()}
        for name in names
    }


def test_without_a_user_no_row_of_any_table_is_seen(app):
    seen = visible(app)
    assert {"memoir.memory", "memoir.event", "memoir.gold_relevant"} <= set(seen)
    assert {"memoir.retrieval_log", "memoir.suggested_weights"} <= set(seen)
    assert set().union(*seen.values()) == set()


@pytest.mark.parametrize("unset", ["SELECT", "SET LOCAL memoir.user_id = ''"])
@pytest.mark.parametrize("asked", [{}, {"user_id": "ada"}])
def test_without_a_user_a_recall_is_refused(app, unset, asked):
    app.execute(unset)
    said = refused(app, "recall", query_text="tea", **asked)
    assert said.sqlstate == "ME006"
    assert said.message_primary.endswith("whose memory it is: memoir.user_id is not set")
    assert said.message_hint.startswith("Pass user_id => set_config('memoir.user_id', '")


def test_without_a_user_the_private_recall_shows_nothing(app):
    asked = "SELECT (memoir._recall('ada', '[1,0,0]', 'execute', 800, 'tea', 'infinity', '')).block"
    app.execute("SET LOCAL TRANSACTION READ ONLY")
    assert value(app, asked) == NOTHING
    app.execute("SET LOCAL memoir.user_id = 'bob'")
    assert value(app, asked) == NOTHING


def test_with_a_user_only_its_rows_are_seen(app):
    app.execute("SET LOCAL memoir.user_id = 'ada'")
    seen = visible(app)
    assert set().union(*seen.values()) == {"ada"}
    assert seen["memoir.memory"] == seen["memoir.event"] == {"ada"}


def test_recall_works_for_the_user(app):
    app.execute("SET LOCAL memoir.user_id = 'ada'")
    block = recall(app, "tea", query_vec="[1,0,0]").block
    assert lines(block) == ["goal of ada (pending, 0%)", "tea of ada", '[alert] {"who": "ada"}']


def test_recall_and_explain_agree_for_the_user(app):
    app.execute("SET LOCAL memoir.user_id = 'ada'")
    rows = [row for row in explain(app, "tea") if row.reason == "in block" and row.memory_id]
    assert [row.memory_id for row in rows] == recall(app, "tea").memory_ids


def test_recall_of_the_past_works_for_the_user(app):
    app.execute("SET LOCAL memoir.user_id = 'ada'")
    now = value(app, "SELECT now()")
    assert "tea of ada" in recall(app, "tea", as_of=now).block


def test_remember_works_for_the_user(app):
    app.execute("SET LOCAL memoir.user_id = 'ada'")
    memory_id = remember(app, "coffee of ada", embedding="[0,1,0]")
    assert recall(app, "coffee").memory_ids == [memory_id]


def test_remember_many_works_for_the_user(app):
    app.execute("SET LOCAL memoir.user_id = 'ada'")
    said = ({"content": f"{drink} of ada", "kind": "fact"} for drink in ("coffee", "tea"))
    batch = Jsonb([{**memory, "speaker": "Ada"} for memory in said])
    rows = call(app, "remember_many", memories=batch, embeddings=["[0,1,0]", None])
    assert [row.action for row in rows] == ["ADD", "NOOP"]
    assert recall(app, "coffee").memory_ids == [rows[0].memory_id]


def test_an_event_may_be_added_for_the_user(app):
    app.execute("SET LOCAL memoir.user_id = 'ada'")
    assert add_event(app, "alert", {"disk": 91}) > 0


def test_an_evaluation_is_of_the_users_own_gold_set(app):
    app.execute("SET LOCAL memoir.user_id = 'ada'")
    assert call(app, "evaluate", gold_set="drinks")[0].recall_at_k == 1
    app.execute("SET LOCAL memoir.user_id = 'eve'")
    said = refused(app, "evaluate", gold_set="drinks")
    assert (said.sqlstate, said.message_detail) == ("ME012", "Gold sets: none")


@pytest.mark.parametrize(
    ("function", "arguments"),
    [
        ("recall", {"query_text": "tea"}),
        ("memory_explain", {"query_text": "tea"}),
        ("remember", {"content": "tea"}),
        ("event_add", {"type": "alert", "payload": {}}),
    ],
)
def test_a_call_for_another_user_is_refused(app, function, arguments):
    app.execute("SET LOCAL memoir.user_id = 'ada'")
    said = refused(app, function, user_id="bob", **arguments)
    assert said.sqlstate == "ME006"
    assert said.message_primary == (
        'role "app" may not use the memory of user "bob" while memoir.user_id is "ada"'
    )
    assert said.message_hint.startswith("Pass user_id => set_config('memoir.user_id', 'bob', ")


def test_another_users_rows_cannot_be_changed(app):
    app.execute("RESET ROLE")
    app.execute("GRANT UPDATE, DELETE ON ALL TABLES IN SCHEMA memoir TO app")
    app.execute("SET LOCAL ROLE app")
    app.execute("SET LOCAL memoir.user_id = 'ada'")
    assert app.execute("DELETE FROM memoir.memory WHERE user_id = 'bob'").rowcount == 0
    assert app.execute("UPDATE memoir.event SET type = 'x' WHERE user_id = 'bob'").rowcount == 0


def test_a_row_cannot_be_given_to_another_user(app):
    app.execute("RESET ROLE")
    app.execute("GRANT UPDATE ON memoir.profile TO app")
    app.execute("SET LOCAL ROLE app")
    app.execute("SET LOCAL memoir.user_id = 'ada'")
    with pytest.raises(psycopg.errors.InsufficientPrivilege), app.transaction():
        app.execute("UPDATE memoir.profile SET user_id = 'eve'")


def test_a_role_that_may_only_read_recalls_without_a_log_row(app):
    app.execute("RESET ROLE")
    app.execute("REVOKE memoir_agent FROM app")
    app.execute("GRANT memoir_reader TO app")
    app.execute("SET LOCAL ROLE app")
    app.execute("SET LOCAL memoir.user_id = 'ada'")
    made = recall(app, "tea", query_vec="[1,0,0]")
    assert lines(made.block)
    assert made.retrieval_id is None
