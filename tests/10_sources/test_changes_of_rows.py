"""Inserts, updates and deletes of the application flow into memory, in its own transaction."""

from __future__ import annotations

import psycopg
import pytest
from tests.application import CALLS, USER, add_tasks, attach, fill, known, memories, state, waiting
from tests.rows import ago, call, recall, remember, set_to, value, working_at_most

SECRET = "the password is hunter2-x9-longer"


@pytest.fixture
def tasks(app):
    """Attached and empty."""
    attach(app, "tasks")
    fill(app, "tasks")
    return app


def revisions(conn):
    rows = conn.execute("SELECT action, author FROM memoir.revision ORDER BY revision_id")
    return rows.fetchall()


def test_a_new_row_is_known_in_the_same_transaction(tasks):
    add_tasks(tasks, "fix the 登录 page")
    assert known(tasks, "登录") == ["fix the 登录 page"]


def test_what_the_application_takes_back_is_no_memory(tasks):
    with tasks.transaction(force_rollback=True):
        add_tasks(tasks, "tea")
    assert memories(tasks) == {}


def test_a_changed_row_is_an_update_by_the_source(tasks):
    add_tasks(tasks, "tea")
    tasks.execute("UPDATE tasks SET title = 'milk'")
    assert (known(tasks, "milk"), known(tasks, "tea")) == (["milk"], [])
    assert revisions(tasks) == [("UPDATE", "source")]


def test_a_row_that_is_older_by_now_is_an_older_memory(tasks):
    add_tasks(tasks, "tea")
    tasks.execute("UPDATE tasks SET created_at = '2025-01-01+00'")
    times = "SELECT (m.created_at, m.valid_from, t.created_at) = (d.day, d.day, d.day)"
    rows = "memoir.memory AS m JOIN memoir.trace AS t USING (user_id, memory_id)"
    day = "(SELECT timestamptz '2025-01-01+00') AS d (day)"
    assert value(tasks, f"{times} FROM {rows}, {day}")


def test_a_change_while_memory_is_off_is_not_taken_in(tasks):
    add_tasks(tasks, "tea")
    call(tasks, "set_settings", settings={"memory": False}, user_id=USER)
    tasks.execute("UPDATE tasks SET title = 'milk'")
    assert (memories(tasks), waiting(tasks)) == ({"tea": "active"}, [])


def test_a_goal_that_is_deleted_for_good_leaves_the_profile(app):
    attach(app, "goals", on_delete="purge")
    app.execute("INSERT INTO goals (title, status) VALUES ('win the cup', 'in_progress')")
    assert "win the cup" in value(app, "SELECT snippet FROM memoir.profile")
    app.execute("DELETE FROM goals")
    assert value(app, "SELECT snippet FROM memoir.profile") == ""


def test_a_change_of_another_column_writes_nothing(tasks):
    add_tasks(tasks, "tea")
    before = value(tasks, "SELECT updated_at::text || xmin FROM memoir.memory")
    tasks.execute("UPDATE tasks SET project_id = gen_random_uuid()")
    tasks.execute("UPDATE tasks SET title = title")
    assert value(tasks, "SELECT updated_at::text || xmin FROM memoir.memory") == before


def test_only_another_text_needs_another_vector(tasks):
    add_tasks(tasks, "tea")
    tasks.execute("UPDATE memoir.trace SET embedding = '[1,0,0]'")
    tasks.execute("UPDATE tasks SET status = 'done'")
    assert value(tasks, "SELECT embedding FROM memoir.trace") is not None
    tasks.execute("UPDATE tasks SET title = 'milk'")
    assert value(tasks, "SELECT embedding FROM memoir.trace") is None


def test_one_row_that_is_there_already_keeps_none_of_its_insert_away(tasks):
    add_tasks(tasks, "tea", "milk")
    tasks.execute("CREATE TEMP TABLE kept AS SELECT * FROM tasks; DELETE FROM tasks")
    tasks.execute(
        "INSERT INTO tasks (id, title) SELECT id, title FROM kept WHERE title = 'tea'"
        " UNION ALL SELECT gen_random_uuid(), 'rum ' || n FROM generate_series(1, 250) AS n"
    )
    assert (memories(tasks)["tea"], len(memories(tasks)), waiting(tasks)) == ("active", 252, [])


@pytest.mark.parametrize(
    "statement",
    ["UPDATE t SET content = 'milk'", "DELETE FROM t", "INSERT INTO t VALUES (1, 'back')"],
)
def test_a_memory_that_somebody_holds_lets_its_row_wait(db, dsn, statement):
    db.execute("CREATE TABLE t (id int PRIMARY KEY, content text)")
    call(db, "attach_source", name="t", kind="fact", relation="t", user_id="u")
    db.execute("INSERT INTO t VALUES (1, 'tea')")
    if statement.startswith("INSERT"):
        db.execute("DELETE FROM t")
    with psycopg.connect(dsn) as other:
        other.execute("SELECT FROM memoir.memory FOR UPDATE")
        db.execute(statement)
        other.rollback()
    assert value(db, "SELECT source_key || ' ' || code FROM memoir.source_error") == "1 55P03"


def test_a_row_whose_memory_somebody_holds_does_not_use_up_its_attempts(db, dsn):
    db.execute("CREATE TABLE t (id int PRIMARY KEY, content text)")
    call(db, "attach_source", name="t", kind="fact", relation="t", user_id="u")
    db.execute("INSERT INTO t VALUES (1, 'tea')")
    with psycopg.connect(dsn) as other:
        other.execute("SELECT FROM memoir.memory FOR UPDATE")
        db.execute("UPDATE t SET content = 'milk'")
        db.execute("SET lock_timeout = '20ms'")
        for _ in range(2):
            call(db, "maintain")
    assert db.execute("SELECT code, attempts FROM memoir.source_error").fetchall() == [("55P03", 1)]
    call(db, "maintain")
    assert value(db, "SELECT content FROM memoir.memory") == "milk"


def test_a_deleted_row_is_forgotten_and_comes_back(tasks):
    add_tasks(tasks, "tea")
    tasks.execute("CREATE TEMP TABLE kept AS SELECT * FROM tasks; DELETE FROM tasks")
    assert (memories(tasks), known(tasks, "tea")) == ({"tea": "forgotten"}, [])
    tasks.execute("INSERT INTO tasks SELECT * FROM kept")
    assert (memories(tasks), known(tasks, "tea")) == ({"tea": "active"}, ["tea"])
    assert revisions(tasks) == [("FORGET", "source"), ("RESTORE", "source")]


def test_what_the_user_forgot_stays_forgotten(tasks):
    add_tasks(tasks, "tea")
    memory_id = value(tasks, "SELECT memory_id FROM memoir.memory")
    call(tasks, "forget", memory_id=memory_id, user_id=USER)
    tasks.execute("UPDATE tasks SET title = 'milk'")
    fill(tasks, "tasks", anew=True)
    assert memories(tasks) == {"milk": "forgotten"}


def test_what_the_user_superseded_stays_over_when_its_row_changes(tasks):
    tasks.execute("INSERT INTO tasks (title, created_at) VALUES ('tea', '2025-01-01')")
    old = value(tasks, "SELECT memory_id FROM memoir.memory")
    new = remember(tasks, "coffee", created_at="2025-03-01", user_id=USER)
    call(tasks, "supersede", memory_id=old, by_id=new, user_id=USER)
    tasks.execute("UPDATE tasks SET title = 'green tea'")
    over = "SELECT status || ' ' || (valid_until = '2025-03-01') FROM memoir.memory m WHERE "
    assert value(tasks, over + "source IS NOT NULL") == "superseded true"
    assert known(tasks, "green tea", as_of="2025-02-01") == ["tea"]


def test_a_row_that_lacks_a_part_of_its_key_waits_and_is_not_taken_for_another(tx):
    tx.execute("CREATE TABLE t (a int, b text, content text, UNIQUE (a, b))")
    how = {"kind": "fact", "relation": "t", "source_id": ["a", "b"], "user_id": USER}
    call(tx, "attach_source", name="t", **how)
    tx.execute("INSERT INTO t VALUES (1, '', 'tea'), (1, NULL, 'milk')")
    tx.execute("UPDATE t SET content = content || ' hot'")
    assert memories(tx, "t") == {"tea hot": "active"}
    assert waiting(tx, "t") == [("ME008", "the key of a row has 0 bytes, not 1 to 1000")]
    tx.execute("UPDATE t SET b = 'm' WHERE b IS NULL")
    assert memories(tx, "t") == {"tea hot": "active", "milk hot": "active"}


def test_on_delete_purge_leaves_nothing(app):
    attach(app, "tasks", on_delete="purge")
    add_tasks(app, "tea")
    app.execute("DELETE FROM tasks")
    assert memories(app) == {}


def test_goals_that_were_emptied_for_good_leave_the_profile(app):
    attach(app, "goals", on_delete="purge")
    app.execute("INSERT INTO goals (title) VALUES ('win the cup')")
    app.execute("TRUNCATE goals")
    assert known(app, "cup") == []


def test_truncate_forgets_all(tasks):
    add_tasks(tasks, "tea", "milk")
    tasks.execute("TRUNCATE tasks")
    assert set(memories(tasks).values()) == {"forgotten"}


def test_two_rows_with_the_same_text_are_two_memories(tasks):
    remember(tasks, "buy tea", "task", user_id=USER)
    add_tasks(tasks, "buy tea", "buy tea", "buy some tea")
    assert value(tasks, "SELECT count(*) FROM memoir.memory WHERE content = 'buy tea'") == 3
    assert value(tasks, "SELECT count(*) FROM memoir.relation") == 0


def test_a_subject_is_only_a_name(app):
    attach(app, "tasks", subject="status")
    add_tasks(app, "tea", "milk")
    said = [
        call(app, "remember", content=drink, kind="task", subject="queued", user_id=USER, **when)[0]
        for drink, when in {"cocoa": {"created_at": ago(days=1)}, "coffee": {}}.items()
    ]
    assert [row.action for row in said] == ["ADD", "SUPERSEDE"]
    assert said[1].other_ids == [said[0].memory_id]
    assert memories(app) == {"tea": "active", "milk": "active"}


def test_a_mapped_status_is_the_status_of_the_memory(app):
    attach(app, "tasks", status="description", content=["title"])
    app.execute("INSERT INTO tasks (title, description) VALUES ('a', NULL), ('b', 'archived')")
    assert memories(app) == {"a": "active", "b": "archived"}
    app.execute("UPDATE tasks SET description = 'forgotten' WHERE title = 'a'")
    app.execute("UPDATE tasks SET description = 'active' WHERE title = 'b'")
    assert memories(app) == {"a": "forgotten", "b": "active"}
    app.execute("UPDATE tasks SET description = 'done'")
    assert {code for code, _ in waiting(app)} == {"ME008"}


def test_the_row_of_another_user_moves(app):
    app.execute("ALTER TABLE tasks ADD owner text")
    attach(app, "tasks", user_id=None, user_column="owner")
    app.execute("INSERT INTO tasks (title, owner) VALUES ('tea', 'ada'), ('milk', 'bob')")
    app.execute("UPDATE tasks SET owner = 'bob' WHERE title = 'tea'")
    assert (memories(app, user="ada"), memories(app, user="bob")) == (
        {},
        {"tea": "active", "milk": "active"},
    )


@pytest.mark.parametrize(
    ("owner", "left", "failed"),
    [("bob", {}, ("bob", "ME008")), (None, {"tea": "forgotten"}, ("", "ME006"))],
)
def test_a_row_that_is_wrong_where_it_moves_leaves_who_had_it(app, owner, left, failed):
    app.execute("ALTER TABLE tasks ADD owner text, ADD weight float8")
    attach(app, "tasks", user_id=None, user_column="owner", importance="weight")
    app.execute("INSERT INTO tasks (title, owner) VALUES ('tea', 'ada')")
    app.execute("UPDATE tasks SET owner = %s, weight = 7", (owner,))
    assert memories(app, user="ada") == left
    assert app.execute("SELECT user_id, code FROM memoir.source_error").fetchall() == [failed]


def test_another_key_is_another_memory(app):
    attach(app, "capabilities")
    app.execute("INSERT INTO capabilities VALUES ('a', 'tea')")
    app.execute("UPDATE capabilities SET id = 'b'")
    rows = app.execute("SELECT source_key, status FROM memoir.memory ORDER BY 1").fetchall()
    assert rows == [("a", "forgotten"), ("b", "active")]


def test_a_row_without_a_text_is_no_memory_until_it_has_one(tasks):
    add_tasks(tasks, " ")
    assert (memories(tasks), waiting(tasks)) == ({}, [])
    tasks.execute("UPDATE tasks SET title = 'tea'")
    assert memories(tasks) == {"tea": "active"}
    tasks.execute("UPDATE tasks SET title = ''")
    assert memories(tasks) == {"tea": "forgotten"}


def test_secrets_are_redacted(tasks):
    statement = 'INSERT INTO tasks (title, metadata) VALUES (%s, \'{"api_key": "k"}\')'
    tasks.execute(statement, (SECRET,))
    assert list(memories(tasks)) == ["the password is [redacted:password]"]
    data = value(tasks, "SELECT data -> 'metadata' FROM memoir.memory")
    assert data == {"api_key": "[redacted:api_key]"}
    tasks.execute("UPDATE tasks SET description = 'pwd=abcdef12345'")
    assert "abcdef" not in value(tasks, "SELECT content FROM memoir.memory")


def test_a_secret_in_the_reason_of_an_error_is_redacted(app):
    attach(app, "tasks", status="description", content=["title"])
    app.execute("INSERT INTO tasks (title, description) VALUES ('tea', %s)", (SECRET,))
    ((_, reason),) = waiting(app)
    assert "the password is [redacted:password]" in reason


def test_with_memory_off_nothing_is_stored_and_a_fill_catches_up(tasks):
    call(tasks, "set_settings", settings={"memory": False}, user_id=USER)
    add_tasks(tasks, "tea")
    assert memories(tasks) == {}
    call(tasks, "set_settings", settings={"memory": True}, user_id=USER)
    fill(tasks, "tasks", anew=True)
    assert memories(tasks) == {"tea": "active"}


def test_with_memory_off_nothing_is_wrong_with_a_row(app):
    app.execute("ALTER TABLE tasks ADD weight float8")
    attach(app, "tasks", importance="weight", status="description", content=["title"])
    call(app, "set_settings", settings={"memory": False}, user_id=USER)
    app.execute("INSERT INTO tasks (title, weight, description) VALUES ('tea', 7, 'done')")
    app.execute("INSERT INTO tasks (title, weight) VALUES ('milk', 7), ('rum', 1)")
    assert (memories(app), waiting(app)) == ({}, [])


def test_who_has_memory_off_keeps_no_row_of_others_from_memory_or_from_the_mistakes(app):
    app.execute("ALTER TABLE tasks ADD weight float8, ADD owner text")
    attach(app, "tasks", importance="weight", content=["title"], user_id=None, user_column="owner")
    call(app, "set_settings", settings={"memory": False}, user_id="off")
    app.execute(
        "INSERT INTO tasks (title, weight, owner) VALUES ('rum', 7, 'off'), ('tea', 1, 'ada'),"
        " ('milk', 7, 'ada'), ('water', 1, 'bob'), ('gin', 1, 'off')"
    )
    stored = app.execute("SELECT user_id, content FROM memoir.memory ORDER BY 1").fetchall()
    failed = app.execute("SELECT user_id, code FROM memoir.source_error").fetchall()
    assert (stored, failed) == ([("ada", "tea"), ("bob", "water")], [("ada", "ME008")])


def test_what_was_purged_comes_back_by_a_fill_alone(tasks):
    add_tasks(tasks, "tea")
    call(tasks, "purge_user", user_id=USER)
    tasks.execute("UPDATE tasks SET title = 'milk'")
    call(tasks, "maintain")
    assert memories(tasks) == {}
    fill(tasks, "tasks", anew=True)
    assert memories(tasks) == {"milk": "active"}


def test_with_memory_off_no_event_of_a_row_comes_or_changes(app):
    attach(app, "cecelia_events")
    app.execute("INSERT INTO cecelia_events (type, payload) VALUES ('alert', '{\"disk\": 1}')")
    call(app, "set_settings", settings={"memory": False}, user_id=USER)
    app.execute("UPDATE cecelia_events SET payload = '{\"disk\": 2}'")
    app.execute("INSERT INTO cecelia_events (type, payload) VALUES ('alert', '{\"disk\": 3}')")
    stored = app.execute("SELECT payload FROM memoir.event").fetchall()
    assert stored == [({"disk": 1},)]


def test_events_follow_their_rows(app):
    attach(app, "cecelia_events")
    app.execute("INSERT INTO cecelia_events (type, payload) VALUES ('alert', '{\"disk\": 1}')")
    app.execute("UPDATE cecelia_events SET payload = '{\"disk\": 2}'")
    assert known(app, "x") == ['[alert] {"disk": 2}']
    app.execute("DELETE FROM cecelia_events")
    assert known(app, "x") == []


def test_recalls_are_written_back_and_do_not_return(app):
    attach(app, "cecelia_events", write_retrievals=True)
    recall(app, "tea", user_id=USER)
    app.execute("UPDATE memoir.retrieval SET created_at = now() - interval '8 days'")
    call(app, "maintain")
    (row,) = app.execute("SELECT type, payload -> 'query' FROM cecelia_events").fetchall()
    assert row == ("memory_retrieval", "tea")
    fill(app, "cecelia_events", anew=True)
    assert value(app, "SELECT count(*) FROM memoir.event") == 1
    assert value(app, "SELECT count(*) FROM memoir.event WHERE source IS NOT NULL") == 0


def test_a_table_of_one_user_gets_no_recall_of_another(app):
    attach(app, "cecelia_events", write_retrievals=True)
    for user in (USER, "bob"):
        recall(app, f"tea of {user}", user_id=user)
    app.execute("UPDATE memoir.retrieval SET created_at = now() - interval '8 days'")
    call(app, "maintain")
    asked = app.execute("SELECT payload ->> 'query' FROM cecelia_events").fetchall()
    assert asked == [(f"tea of {USER}",)]


def test_a_table_of_many_users_gets_the_recalls_of_each(app):
    app.execute("ALTER TABLE cecelia_events ADD owner text")
    attach(app, "cecelia_events", user_id=None, user_column="owner", write_retrievals=True)
    for user in ("ada", "bob"):
        recall(app, f"tea of {user}", user_id=user)
    app.execute("UPDATE memoir.retrieval SET created_at = now() - interval '8 days'")
    call(app, "maintain")
    asked = "SELECT owner, payload ->> 'query' FROM cecelia_events ORDER BY owner"
    assert app.execute(asked).fetchall() == [("ada", "tea of ada"), ("bob", "tea of bob")]


def test_an_event_that_would_be_deleted_tonight_is_not_taken(app):
    attach(app, "cecelia_events")
    app.execute(
        "INSERT INTO cecelia_events (type, payload, created_at)"
        " SELECT 'alert', to_jsonb(days), now() - days * interval '1 day'"
        " FROM unnest('{59,61}'::int[]) AS days"
    )
    assert app.execute("SELECT payload FROM memoir.event").fetchall() == [(59,)]
    assert waiting(app, "cecelia_events") == []


@pytest.mark.parametrize("code", ["55P03", "40P01", "53100", "08006"])
def test_recalls_that_the_server_could_not_write_back_are_written_the_next_time(app, code):
    attach(app, "cecelia_events", write_retrievals=True)
    recall(app, "tea", user_id=USER)
    app.execute("UPDATE memoir.retrieval SET created_at = now() - interval '8 days'")
    app.execute(
        "CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS"
        f" $$ BEGIN RAISE SQLSTATE '{code}'; END $$;"
        "CREATE TRIGGER full_disk BEFORE INSERT ON cecelia_events FOR EACH ROW"
        " EXECUTE FUNCTION full_disk()"
    )
    told = {row.action: row.details for row in call(app, "maintain")}
    assert (told.get("left to the next run") or told["failed"])["step"] == "fold_log"
    assert (waiting(app, "cecelia_events"), "report" in told) == ([], True)
    app.execute("DROP TRIGGER full_disk ON cecelia_events")
    call(app, "maintain")
    assert value(app, "SELECT count(*) FROM cecelia_events") == 1


def test_rows_written_to_a_partition_and_to_one_that_came_later(app):
    app.execute(
        "CREATE TABLE log (id int PRIMARY KEY, content text) PARTITION BY RANGE (id);"
        "CREATE TABLE log_1 PARTITION OF log FOR VALUES FROM (0) TO (10)"
    )
    attach(app, "log")
    app.execute("CREATE TABLE log_2 PARTITION OF log FOR VALUES FROM (10) TO (20)")
    app.execute("INSERT INTO log_1 VALUES (1, 'one'); INSERT INTO log_2 VALUES (11, 'eleven')")
    app.execute("UPDATE log SET id = 12 WHERE id = 1")
    assert memories(app, "log") == {"one": "active", "eleven": "active"}
    assert call(app, "detach_source", name="log")[0].detach_source == 3
    app.execute("INSERT INTO log VALUES (2, 'two')")
    assert memories(app, "log") == {"one": "active", "eleven": "active"}


def table(app, kind="fact", keys="PRIMARY KEY"):
    """A small table of the application, followed: its key is the row's own."""
    app.execute(f"CREATE TABLE notes (id int {keys}, content text, kind text DEFAULT 'note')")
    more = {"type": "kind", "payload": ["content"]} if kind == "event" else {}
    call(app, "attach_source", name="notes", kind=kind, relation="notes", user_id=USER, **more)


def rows_of(app):
    """What memory has of the table, and what is in it."""
    told = app.execute(
        "SELECT source_key::int, content FROM memoir.memory WHERE status = 'active' "
        "UNION ALL SELECT source_key::int, payload ->> 'content' FROM memoir.event ORDER BY 1"
    ).fetchall()
    return told, app.execute("SELECT id, content FROM notes ORDER BY id").fetchall()


def test_a_new_key_costs_no_more_where_the_application_has_thousands_of_statements(db):
    db.execute("CREATE TABLE notes (id int PRIMARY KEY, content text)")
    attach(db, "notes")
    db.execute("INSERT INTO notes SELECT n, 'tea ' || n FROM generate_series(1, 30) AS n")
    prepare = "format('PREPARE p%s AS SELECT %L', n, repeat('x', 100))"
    db.execute(f"DO $$BEGIN FOR n IN 1..3000 LOOP EXECUTE {prepare}; END LOOP; END$$")
    with db.transaction(), working_at_most(db, 1.5):  # each compared with each took 6 s
        db.execute("UPDATE notes SET id = id + 100")
    db.execute("DEALLOCATE ALL")


@pytest.mark.parametrize("key", ["3 - id", "id + 1"])
def test_rows_that_change_their_keys_in_one_statement_stay_all(app, key):
    table(app, keys="PRIMARY KEY DEFERRABLE")
    app.execute("INSERT INTO notes VALUES (1, 'tea'), (2, 'milk')")
    app.execute(f"UPDATE notes SET id = {key}")
    told, written = rows_of(app)
    assert told == written != []


@pytest.mark.parametrize("kind", ["fact", "event"])
@pytest.mark.parametrize(
    "then",
    [
        "DELETE FROM notes WHERE content = 'tea'",
        "DELETE FROM notes WHERE content = 'rice'",
        "UPDATE notes SET id = 4 WHERE content = 'rice'",
        "UPDATE notes SET id = 2, content = 'bread' WHERE content = 'tea'",
    ],
)
def test_of_two_rows_that_had_one_key_for_a_moment_the_one_that_is_left_is_known(app, kind, then):
    table(app, kind, keys="PRIMARY KEY DEFERRABLE INITIALLY DEFERRED")
    app.execute("INSERT INTO notes VALUES (1, 'tea'), (3, 'milk')")
    for first in ("INSERT INTO notes VALUES (1, 'rice')", "UPDATE notes SET id = 1 WHERE id = 3"):
        with app.transaction(force_rollback=True):
            app.execute(first)
            app.execute(then.replace("rice", "milk") if "UPDATE" in first else then)
            told, written = rows_of(app)
            assert told == written != []


WRITES_AGAIN = """
CREATE FUNCTION again() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE notes SET content = upper(content), id = id + 10 WHERE content = 'tea';
    DELETE FROM notes WHERE content = 'milk';
    IF TG_OP = 'DELETE' AND OLD.content = 'bread' THEN
        INSERT INTO notes SELECT OLD.*;
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER {name} AFTER INSERT OR UPDATE OR DELETE ON notes
FOR EACH ROW EXECUTE FUNCTION again()
"""
WRITES = (
    "INSERT INTO notes VALUES (1, 'tea'), (2, 'milk'), (3, 'bread'), (4, 'rice')",
    "UPDATE notes SET content = 'tea' WHERE id = 4",
    "UPDATE notes SET content = 'milk' WHERE id IN (3, 11)",
    "INSERT INTO notes VALUES (2, 'water'), (3, 'bread'), (5, 'tea')",
    "DELETE FROM notes WHERE id = 3",
)


@pytest.mark.parametrize("kind", ["fact", "event"])
@pytest.mark.parametrize("name", ["before_memoir", "when_memoir_was_told"])
def test_what_a_trigger_of_the_application_writes_again_is_what_memory_has(app, kind, name):
    table(app, kind)
    app.execute(WRITES_AGAIN.format(name=name))
    for statement in WRITES:
        app.execute(statement)
        told, written = rows_of(app)
        assert told == written != []
    assert waiting(app, "notes") == []


def test_so_it_is_with_partitions_and_with_on_delete_purge(app):
    app.execute(
        "CREATE TABLE notes (id int PRIMARY KEY, content text) PARTITION BY RANGE (id);"
        "CREATE TABLE notes_1 PARTITION OF notes FOR VALUES FROM (0) TO (10);"
        "CREATE TABLE notes_2 PARTITION OF notes FOR VALUES FROM (10) TO (20)"
    )
    attach(app, "notes", on_delete="purge")
    app.execute(WRITES_AGAIN.format(name="before_memoir"))
    app.execute(WRITES[0])
    assert memories(app, "notes") == {"TEA": "active", "bread": "active", "rice": "active"}


@pytest.mark.parametrize("column", ["id TYPE bigint", "content TYPE varchar(40)"])
@pytest.mark.parametrize("kind", ["fact", "event"])
def test_a_session_that_has_plans_for_another_type_is_followed(app, kind, column):
    table(app, kind)
    app.execute("INSERT INTO notes VALUES (1, 'tea'), (2, 'milk'), (3, 'rice')")
    app.execute("UPDATE notes SET content = 'bread' WHERE id = 1; DELETE FROM notes WHERE id = 3")
    app.execute(f"ALTER TABLE notes ALTER {column}")
    app.execute("UPDATE notes SET content = 'salt' WHERE id = 1; DELETE FROM notes WHERE id = 2")
    told, written = rows_of(app)
    assert told == written != []
    assert waiting(app, "notes") == []


def test_a_key_that_became_a_larger_number_is_read(app):
    table(app)
    app.execute("ALTER TABLE notes ALTER id TYPE bigint")
    app.execute("INSERT INTO notes VALUES (3000000001, 'tea'), (3000000002, 'milk')")
    assert sum(batch.read_rows for batch in fill(app, "notes", most=1)) == 2


def test_keywords_are_found_by_maintain(tasks):
    add_tasks(tasks, "deploy the gateway")
    assert value(tasks, "SELECT count(*) FROM memoir.keyword") == 0
    call(tasks, "maintain")
    assert value(tasks, "SELECT count(*) FROM memoir.keyword") > 0


def test_rows_are_not_forgotten_for_their_age(tasks):
    add_tasks(tasks, "tea")
    tasks.execute("UPDATE memoir.memory SET created_at = now() - interval '900 days'")
    call(tasks, "maintain")
    assert memories(tasks) == {"tea": "active"}


@pytest.mark.parametrize("statement", ["DROP TABLE tasks", "ALTER TABLE tasks DROP title"])
def test_the_application_may_change_its_table_and_goes_on(tasks, statement):
    add_tasks(tasks, "tea")
    tasks.execute(statement)
    assert state(tasks).startswith("broken: ")
    if "ALTER" in statement:
        tasks.execute("INSERT INTO tasks (description) VALUES ('tea')")
        assert [code for code, _ in waiting(tasks)] == ["42703"]
    assert call(tasks, "detach_source", name="tasks")[0].detach_source == 1


SLY = """
CREATE TYPE sly AS (said text);
CREATE FUNCTION runs() RETURNS bigint LANGUAGE sql AS
    'SELECT nextval(''ran'') WHERE current_user <> ''app''';
CREATE FUNCTION done() RETURNS text IMMUTABLE LANGUAGE plpgsql AS
    'BEGIN PERFORM runs(); RETURN NULL; END';
CREATE FUNCTION cast_sly(sly) RETURNS {type} IMMUTABLE LANGUAGE sql AS
    'SELECT CASE WHEN done() IS NULL THEN NULL::{type} END';
CREATE CAST (sly AS {type}) WITH FUNCTION cast_sly(sly) AS IMPLICIT;
ALTER TABLE tasks ALTER {column} DROP DEFAULT, ALTER {column} TYPE sly USING NULL;
INSERT INTO tasks (title, {column}) VALUES ({values});
UPDATE tasks SET title = 'milk'
"""


@pytest.mark.parametrize(
    ("column", "type"),
    [("description", "text"), ("status", "text"), ("label", "text"), ("notes", "json"),
     ("metadata", "jsonb"), ("metadata", "json"), ("points", "integer"), ("weight", "float8"),
     ("created_at", "timestamptz"), ("due", "timestamp")],
)  # fmt: skip
def test_no_function_of_the_tables_owner_runs_with_memoirs_rights(app, column, type):
    """The planner evaluates an immutable cast, also one that no row would ever reach."""
    app.execute("ALTER TABLE tasks ALTER created_at DROP NOT NULL, ALTER status DROP NOT NULL")
    app.execute(
        "ALTER TABLE tasks ADD notes json, ADD label char(9), ADD points int, ADD weight float8, "
        "ADD due timestamp"
    )
    app.execute("CREATE SEQUENCE ran")  # which no rollback turns back
    app.execute("CREATE ROLE app; GRANT ALL ON SCHEMA public TO app")
    attach(
        app,
        "tasks",
        content=["title", "description", "notes"],
        data=["metadata", "points"],
        summary="status",
        subject="label",
        importance="weight",
        valid_until="due",
    )
    app.execute("ALTER TABLE tasks OWNER TO app; SET LOCAL ROLE app")
    app.execute(SLY.format(column=column, type=type, values="'tea', ROW('x')::sly"))
    app.execute("RESET ROLE")
    assert value(app, "SELECT is_called FROM ran") is False


def test_a_renamed_column_is_told_and_attached_anew_without_duplicates(tasks):
    add_tasks(tasks, "tea")
    tasks.execute("ALTER TABLE tasks RENAME title TO heading; ALTER TABLE tasks RENAME TO todo")
    tasks.execute("INSERT INTO todo (heading) VALUES ('milk')")
    assert state(tasks) == 'broken: todo has no column "title"'
    call(tasks, "detach_source", name="tasks")
    attach(tasks, "tasks", relation="todo", content=["heading"])
    fill(tasks, "tasks")
    assert memories(tasks) == {"tea": "active", "milk": "active"}


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (
            "CREATE TABLE all_tasks (LIKE tasks INCLUDING CONSTRAINTS) PARTITION BY LIST (id);"
            "ALTER TABLE all_tasks ATTACH PARTITION tasks DEFAULT",
            "it is a partition",
        ),
        ("CREATE TABLE old_tasks () INHERITS (tasks)", "tables inherit from it or it from them"),
    ],
)
def test_a_table_whose_rows_come_by_other_tables_too_is_told(tasks, change, why):
    tasks.execute(change)
    assert state(tasks) == f"broken: {why}"


def test_what_was_lost_without_a_key_is_found_by_a_fill_and_waits_no_longer(tasks):
    tasks.execute("ALTER TABLE tasks RENAME title TO heading")
    tasks.execute("INSERT INTO tasks (heading) VALUES ('milk')")
    tasks.execute("ALTER TABLE tasks RENAME heading TO title")
    fill(tasks, "tasks", anew=True)
    assert memories(tasks) == {"milk": "active"}
    assert waiting(tasks) == []


def test_a_mistake_in_a_row_breaks_nothing_and_is_tried_again(app):
    app.execute("ALTER TABLE tasks ADD weight float8")
    attach(app, "tasks", importance="weight")
    app.execute("INSERT INTO tasks (title, weight) VALUES ('tea', 0.5), ('milk', 7), ('rum', 1)")
    assert memories(app) == {"tea": "active", "rum": "active"}
    assert waiting(app) == [("ME008", "importance must be between 0 and 1, not 7")]
    call(app, "pull_source", name="tasks")
    fill(app, "tasks")
    call(app, "maintain")
    assert value(app, "SELECT attempts FROM memoir.source_error") == 1
    app.execute("SET LOCAL session_replication_role = replica; UPDATE tasks SET weight = 0.7")
    app.execute("SET LOCAL session_replication_role = origin")
    call(app, "maintain")
    assert (waiting(app), len(memories(app))) == ([], 3)


@pytest.mark.parametrize(("weight", "left"), [(0.7, []), (8, ["ME008"])])
def test_a_row_that_waits_is_taken_when_it_is_mended(app, weight, left):
    app.execute("ALTER TABLE tasks ADD weight float8")
    attach(app, "tasks", importance="weight")
    app.execute("INSERT INTO tasks (title, weight) VALUES ('tea', 7)")
    app.execute("UPDATE tasks SET weight = %s", (weight,))
    assert memories(app) == ({} if left else {"tea": "active"})
    assert [code for code, _ in waiting(app)] == left


@pytest.mark.parametrize(
    ("column", "given", "code"),
    [("title", "x" * 100_001, "ME007"), ("created_at", "2999-01-01", "ME011")],
)
def test_what_cannot_be_stored_waits(tasks, column, given, code):
    set_to(tasks, text_limit=100_000)
    row = {"title": "tea", column: given}
    names, marks = ", ".join(row), ", ".join(["%s"] * len(row))
    tasks.execute(f"INSERT INTO tasks ({names}) VALUES ({marks})", list(row.values()))
    assert ([each for each, _ in waiting(tasks)], memories(tasks)) == ([code], {})


# A column, what it is for memory, what fits, what no jsonb, timestamptz or float8 holds; whether
# the row is stored.
UNFIT = [
    ("json", {"data": ["part"]}, "{}", r'{"a": "\u0000"}', True),
    ("json[]", {"data": ["part"]}, "{}", r'{"\"\\u0000\""}', True),
    ("json", {"content": ["content", "part"]}, "1", r'"\u0000"', True),
    ("date", {"created_at": "part"}, "2026-01-01", "300000-01-01", False),
    ("timestamp", {"created_at": "part"}, "2026-01-01", "294276-12-31 23:00", False),
    ("timestamp", {"valid_until": "part"}, "2999-01-01", "294276-12-31 23:00", True),
    ("date", {"valid_until": "part"}, "2999-01-01", "4714-11-24 BC", True),
    ("numeric", {"importance": "part"}, "0.5", "1e400", False),
]


@pytest.mark.parametrize(("column", "output", "good", "bad", "stored"), UNFIT)
def test_a_value_that_no_type_of_memory_holds_keeps_no_other_row_out(
    app, column, output, good, bad, stored
):
    zone = "Asia/Tokyo" if "BC" in bad else "America/New_York"
    app.execute("SELECT set_config('TimeZone', %s, true)", (zone,))
    app.execute(f"CREATE TABLE t (id int PRIMARY KEY, content text, part {column})")
    attach(app, "t", **{"content": ["content"], **output})
    add = "INSERT INTO t VALUES (%s, 'tea', %s), (%s, 'jam', %s), (%s, 'rum', %s)"
    app.execute(add, (1, good, 2, bad, 3, good))
    app.execute("ALTER TABLE t DISABLE TRIGGER USER")
    app.execute(add, (4, good, 5, bad, 6, good))
    app.execute("ALTER TABLE t ENABLE TRIGGER USER")
    fill(app, "t")
    keys = "SELECT array_agg(source_key ORDER BY source_key) FROM memoir.{}"
    there = ["1", "2", "3", "4", "5", "6"] if stored else ["1", "3", "4", "6"]
    assert value(app, keys.format("memory")) == there
    assert value(app, keys.format("source_error")) == (None if stored else ["2", "5"])
    app.execute("UPDATE t SET part = %s", (good,))
    assert (len(memories(app, "t")), waiting(app, "t")) == (3, [])


MAPPED = ["", "user_column", "summary", "importance", "subject", "status", "created_at"]


@pytest.mark.parametrize("output", [*MAPPED, "valid_until"])
def test_a_row_takes_one_attempt_whatever_the_mapping_has(app, output):
    kind = {"importance": "float8", "created_at": "date", "valid_until": "date"}.get(output, "text")
    app.execute(f"CREATE TABLE t (id int PRIMARY KEY, content text, part {kind})")
    more = {output: "part", "user_id": None if output == "user_column" else USER}
    attach(app, "t", content=["content"], **{name: more[name] for name in more if name})
    app.execute("SET LOCAL track_functions = 'all'")
    good = {"float8": "0.5", "date": "2026-01-01", "text": "active"}[kind]
    app.execute("INSERT INTO t VALUES (1, 'tea', %s)", (good,))
    again = "SELECT count(*) FROM pg_stat_xact_user_functions WHERE funcname = '_source_added'"
    assert (value(app, again), value(app, "SELECT count(*) FROM memoir.memory")) == (0, 1)


def test_a_row_without_a_user_waits_for_nobody(app):
    app.execute("ALTER TABLE tasks ADD owner text")
    attach(app, "tasks", user_id=None, user_column="owner")
    app.execute("INSERT INTO tasks (title) VALUES ('tea')")
    assert app.execute("SELECT user_id, code FROM memoir.source_error").fetchall() == [
        ("", "ME006")
    ]


@pytest.mark.parametrize(
    "then",
    [
        "UPDATE tasks SET owner = 'ada'",
        "UPDATE tasks SET owner = 'ada', id = gen_random_uuid()",
        "DELETE FROM tasks",
        "TRUNCATE tasks",
    ],
)
def test_a_row_without_a_user_that_gets_one_or_goes_waits_no_longer(app, then):
    app.execute("ALTER TABLE tasks ADD owner text")
    attach(app, "tasks", user_id=None, user_column="owner")
    app.execute("INSERT INTO tasks (title, owner) VALUES ('tea', NULL), ('milk', '')")
    assert len(waiting(app)) == 2
    app.execute(then)
    assert waiting(app) == []


@pytest.mark.parametrize(
    "then",
    ["UPDATE tasks SET title = 'milk', created_at = now()", "DELETE FROM tasks", "TRUNCATE tasks"],
)
def test_a_memory_whose_row_waits_for_a_change_waits_no_longer_after_the_next(app, then):
    attach(app, "tasks")
    app.execute("INSERT INTO tasks (title) VALUES ('tea')")
    app.execute("UPDATE tasks SET created_at = '2999-01-01'")
    assert len(waiting(app)) == 1
    app.execute(then)
    assert waiting(app) == []


def test_a_row_that_moves_while_its_memory_is_held_leaves_nothing_behind(db, dsn):
    db.execute("CREATE TABLE t (id int PRIMARY KEY, content text, user_id text)")
    call(db, "attach_source", name="t", kind="fact", relation="t")
    db.execute("INSERT INTO t VALUES (1, 'tea', 'ada'), (2, 'milk', 'bob')")
    fill(db, "t")
    with psycopg.connect(dsn) as other:
        other.execute("SELECT FROM memoir.memory FOR UPDATE")
        db.execute("UPDATE t SET user_id = 'bob' WHERE id = 1")
    fill(db, "t")
    assert (memories(db, "t", "ada"), len(memories(db, "t", "bob")), waiting(db, "t")) == (
        {},
        2,
        [],
    )


@pytest.mark.parametrize("again", ["fill", "maintain", "anew"])
def test_what_a_truncate_left_because_somebody_held_it_goes_the_next_time(db, dsn, again):
    db.execute("CREATE TABLE t (id int PRIMARY KEY, content text, user_id text)")
    call(db, "attach_source", name="t", kind="fact", relation="t")
    db.execute("INSERT INTO t VALUES (1, 'tea', 'ada'), (2, 'milk', 'ada'), (3, 'jam', 'bob')")
    fill(db, "t")
    with psycopg.connect(dsn) as other:
        other.execute("SELECT FROM memoir.memory WHERE user_id = 'ada' FOR UPDATE")
        db.execute("TRUNCATE t; INSERT INTO t VALUES (1, 'new tea', 'ada'), (4, 'rye', 'ada')")
        assert memories(db, "t", "bob") == {"jam": "forgotten"}
        call(db, "maintain")
    if again == "maintain":
        call(db, "maintain", only_user="ada")
    else:
        fill(db, "t", anew=again == "anew")
        fill(db, "t")  # the row that waits, too
    assert (memories(db, "t", "ada"), waiting(db, "t")) == (
        {"new tea": "active", "milk": "forgotten", "rye": "active"},
        [],
    )


def test_a_truncate_does_not_depend_on_who_holds_a_row_that_waits(db, dsn):
    db.execute("CREATE TABLE t (id int PRIMARY KEY, content text, user_id text, weight float8)")
    call(db, "attach_source", name="t", kind="fact", relation="t", importance="weight")
    fill(db, "t")
    db.execute("INSERT INTO t VALUES (1, 'tea', 'ada', 0.5), (2, 'milk', 'ada', 7)")
    with psycopg.connect(dsn) as other:
        other.execute("SELECT FROM memoir.source_error FOR UPDATE")
        db.execute("TRUNCATE t")
    assert memories(db, "t", "ada") == {"tea": "forgotten"}
    fill(db, "t")
    assert waiting(db, "t") == []


def test_a_truncate_that_failed_as_a_whole_is_made_up_for(db, dsn):
    db.execute("CREATE TABLE t (id int PRIMARY KEY, content text, user_id text)")
    call(db, "attach_source", name="t", kind="fact", relation="t")
    fill(db, "t")
    db.execute("INSERT INTO t VALUES (1, 'tea', 'ada'), (2, 'jam', 'bob')")
    with psycopg.connect(dsn) as other:
        other.execute("LOCK TABLE memoir.profile IN ACCESS EXCLUSIVE MODE")
        db.execute("TRUNCATE t")
    call(db, "maintain")
    assert (memories(db, "t", "bob"), waiting(db, "t")) == ({"jam": "forgotten"}, [])


@pytest.mark.parametrize(
    "statement", ["UPDATE t SET content = 'jam'", "INSERT INTO t VALUES (2, 'jam')"]
)
def test_what_serializable_refuses_is_not_lost_without_a_word(db, dsn, statement):
    db.execute("CREATE TABLE t (id int PRIMARY KEY, content text); CREATE TABLE x (n int)")
    attach(db, "t")
    fill(db, "t")
    db.execute("INSERT INTO t VALUES (1, 'tea')")
    with psycopg.connect(dsn) as reader, psycopg.connect(dsn) as writer:
        for each in (reader, writer):
            each.isolation_level = psycopg.IsolationLevel.SERIALIZABLE
        reader.execute("SELECT FROM memoir.memory, memoir.source_error, memoir.trace")
        writer.execute("SELECT FROM x")
        db.execute("BEGIN ISOLATION LEVEL SERIALIZABLE; INSERT INTO x VALUES (1); COMMIT")
        with pytest.raises(psycopg.errors.SerializationFailure):
            writer.execute(statement)


def test_a_bad_row_beside_one_of_a_user_unseen_loses_no_third(db, dsn):
    db.execute("CREATE TABLE t (id int PRIMARY KEY, content text, user_id text, importance real)")
    call(db, "attach_source", name="t", kind="fact", relation="t", importance="importance")
    fill(db, "t")
    with psycopg.connect(dsn) as early:
        early.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        early.execute("SELECT FROM memoir.kind")
        db.execute("INSERT INTO t VALUES (1, 'tea', 'cyd', 1)")
        rows = "(2, 'bad', 'ada', 2), (3, 'milk', 'bob', 1), (4, 'jam', 'cyd', 1)"
        early.execute(f"INSERT INTO t VALUES {rows}")
    call(db, "maintain")
    assert memories(db, "t", "bob") == {"milk": "active"}
    assert [code for code, _ in waiting(db, "t")] == ["ME008"]


@pytest.mark.parametrize("again", ["fill", "maintain"])
def test_a_truncate_takes_what_was_written_after_its_transaction_began(db, dsn, again):
    db.execute("CREATE TABLE t (id int PRIMARY KEY, content text, user_id text)")
    call(db, "attach_source", name="t", kind="fact", relation="t")
    fill(db, "t")
    with psycopg.connect(dsn) as early:
        early.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        early.execute("SELECT FROM memoir.kind")
        db.execute("INSERT INTO t VALUES (1, 'tea', 'ada'), (2, 'jam', 'bob')")
        early.execute("TRUNCATE t")
    if again == "maintain":
        call(db, "maintain")
    else:
        fill(db, "t")
    for user, left in (("ada", {"tea": "forgotten"}), ("bob", {"jam": "forgotten"})):
        assert memories(db, "t", user) == left
    assert waiting(db, "t") == []


def test_many_rows_in_one_statement(tasks):
    tasks.execute("INSERT INTO tasks (title) SELECT 'task ' || n FROM generate_series(1, 150) AS n")
    tasks.execute("UPDATE tasks SET title = title || ' more'")
    assert len(memories(tasks)) == 150
    assert all(text.endswith("more") for text in memories(tasks))


def test_what_ended_already_is_stored_and_not_recalled(app):
    app.execute("ALTER TABLE tasks ADD due timestamptz")
    attach(app, "tasks", valid_until="due")
    app.execute(
        "INSERT INTO tasks (title, due, created_at) VALUES"
        " ('old tea', '2020-01-01', '2021-01-01'), ('tea', 'infinity', now())"
    )
    assert known(app, "tea") == ["tea"]
    assert len(memories(app)) == 2


def test_a_recall_of_the_past_has_the_end_that_a_row_had_then(app):
    app.execute("ALTER TABLE tasks ADD due timestamptz")
    attach(app, "tasks", valid_until="due")
    app.execute("INSERT INTO tasks (title, created_at) VALUES ('tea', '2021-01-01')")
    app.execute("UPDATE memoir.memory SET recorded_at = created_at")
    app.execute("UPDATE tasks SET due = '2022-01-01'")
    assert known(app, "tea") == []
    assert known(app, "tea", as_of="2023-01-01") == ["tea"]


def test_two_users_do_not_see_each_others_rows(app):
    app.execute("ALTER TABLE tasks ADD owner int")
    attach(app, "tasks", user_id=None, user_column="owner")
    app.execute("INSERT INTO tasks (title, owner) VALUES ('tea of one', 1), ('tea of two', 2)")
    assert known(app, "tea", user="1") == ["tea of one"]
    assert known(app, "tea", user="2") == ["tea of two"]


def test_all_five_are_detached_again(app):
    for table in CALLS:
        attach(app, table)
    add_tasks(app, "tea")
    for table in CALLS:
        call(app, "detach_source", name=table, memories="purge")
    assert value(app, "SELECT count(*) FROM memoir.memory") == 0


def test_a_busy_table_is_not_waited_for(db, dsn):
    db.execute("CREATE TABLE t (id int PRIMARY KEY, content text)")
    with psycopg.connect(dsn) as writer:
        writer.execute("INSERT INTO t VALUES (1, 'tea')")
        with pytest.raises(psycopg.Error) as caught:
            call(db, "attach_source", name="t", kind="fact", relation="t", user_id="u")
    assert caught.value.sqlstate == "ME014"
    assert value(db, "SELECT count(*) FROM memoir.source") == 0
