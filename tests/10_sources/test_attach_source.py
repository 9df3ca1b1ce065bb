"""attach_source: what may be attached, and how the columns of a memory are found."""

from __future__ import annotations

import psycopg
import pytest
from tests.application import CALLS, attach, fill, known, memories, state, waiting
from tests.rows import call, refused, row_counts, value


@pytest.mark.parametrize("table", CALLS)
def test_each_table_of_d0_is_attached_by_one_short_call(app, table):
    assert attach(app, table) == "filling"
    assert fill(app, table)[-1].complete
    assert state(app, table) == "following"


def test_the_rows_of_d0_stand_in_one_recall(app):
    for table in CALLS:
        attach(app, table)
    app.execute("INSERT INTO tasks (title, description) VALUES ('登录', '认证失败 after a deploy')")
    app.execute("INSERT INTO learnings (title, content) VALUES ('auth', '{\"why\": \"old key\"}')")
    app.execute("INSERT INTO capabilities (id, title) VALUES ('sh', 'Runs shell scripts')")
    app.execute("INSERT INTO cecelia_events (type, payload) VALUES ('alert', '{\"disk\": 91}')")
    app.execute("INSERT INTO goals (title, status, progress) VALUES ('Rest', 'in_progress', 40)")
    assert sorted(known(app, "auth 认证失败")) == sorted(
        [
            "Rest (in_progress, 40%)",
            "Runs shell scripts",
            "登录 认证失败 after a deploy",
            'auth {"why": "old key"}',
            '[alert] {"disk": 91}',
        ]
    )


def test_goals_stand_in_the_profile_by_priority_and_progress(app):
    attach(app, "goals")
    app.execute(
        "INSERT INTO goals (title, status, priority, progress) VALUES ('b', 'pending', 1, 10),"
        " ('c', 'pending', 2, 90), ('a', 'in_progress', 0, 0), ('d', 'done', 0, 100)"
    )
    assert known(app, "x", mode="plan") == [
        "a (in_progress, 0%)",
        "b (pending, 10%)",
        "c (pending, 90%)",
    ]
    app.execute("UPDATE goals SET progress = 5 WHERE title = 'a'")
    line = "SELECT line FROM memoir.trace WHERE starts_with(line, 'a ')"
    assert [known(app, "x", mode="plan")[0], value(app, line)] == ["a (in_progress, 5%)"] * 2
    app.execute("UPDATE goals SET status = 'done' WHERE title = 'a'")
    assert known(app, "x", mode="plan")[0] == "b (pending, 10%)"


def test_debug_reads_three_days_of_their_events_and_execute_one(app):
    app.execute(
        "INSERT INTO cecelia_events (type, payload, created_at) VALUES"
        " ('alert', '{\"disk\": 91}', now() - interval '2 days'), ('noise', '{\"x\": 1}', now())"
    )
    attach(app, "cecelia_events")
    fill(app, "cecelia_events")
    assert known(app, "disk", mode="debug") == ['[alert] {"disk": 91}']
    assert known(app, "disk") == []


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"user_id": None}, "tasks: which column is user_id?"),
        ({"content": None}, "tasks: which column is content?"),
        ({"content": ["titel"]}, 'tasks has no column "titel" for content'),
        (
            {"importance": "status"},
            'column "status" of tasks is text, importance wants a number',
        ),
        ({"created_at": "id"}, 'column "id" of tasks is uuid, created_at wants a time'),
        ({"relation": "bare", "content": ["note"]}, "bare: which column is source_id?"),
        (
            {"relation": "memoir.memory"},
            "memory cannot be attached: it is not a table of an application",
        ),
        ({"relation": "passing"}, "passing cannot be attached: it is temporary"),
        ({"relation": None}, "give either a relation or a query"),
        ({"user_id": "title"}, 'user_id is the one user of all rows, and "title" is a column'),
        (
            {"user_column": "title"},
            "user_id and user_column are both given",
        ),
        ({"on_delete": "x"}, 'on_delete must be forget or purge, not "x"'),
        (
            {"write_retrievals": True},
            "retrievals can be written only into a table of kind event",
        ),
    ],
)
def test_what_does_not_fit_is_refused_and_leaves_nothing(app, changes, message):
    app.execute("CREATE TABLE bare (note text)")
    app.execute("CREATE TEMP TABLE passing (id int PRIMARY KEY, title text)")
    before = row_counts(app)
    fitting = {"relation": "tasks", "content": ["title"], "user_id": "u"}
    said = refused(app, "attach_source", name="x", kind="task", **(fitting | changes))
    assert (said.sqlstate, said.message_primary) == ("ME016", message)
    assert said.message_hint
    assert row_counts(app) == before
    assert value(app, "SELECT count(*) FROM pg_proc WHERE proname ~ '^_source_[0-9]'") == 0


def test_a_virtual_column_is_refused_by_name(app):
    if app.info.server_version < 180000:
        pytest.skip("no virtual columns before PostgreSQL 18")
    app.execute("ALTER TABLE tasks ADD long text GENERATED ALWAYS AS (title || '.') VIRTUAL")
    said = refused(app, "attach_source", name="x", kind="task", relation="tasks", content=["long"],
                   user_id="cecelia")  # fmt: skip
    assert said.message_primary == 'column "long" of tasks is virtual, which no trigger sees'
    app.execute("CREATE VIEW long_tasks AS SELECT * FROM tasks")
    call(app, "attach_source", name="x", kind="task", relation="long_tasks", content=["long"],
         source_id=["id"], user_id="cecelia")  # fmt: skip
    assert state(app, "x") == "pulling"


def test_an_attached_name_is_not_attached_again(app):
    attach(app, "tasks")
    said = refused(app, "attach_source", name="tasks", kind="task", relation="goals")
    assert said.message_primary == 'source "tasks" is attached already'


def test_a_partition_is_attached_with_its_table(app):
    app.execute(
        "CREATE TABLE log (id int PRIMARY KEY, content text) PARTITION BY RANGE (id);"
        "CREATE TABLE log_1 PARTITION OF log FOR VALUES FROM (0) TO (10)"
    )
    said = refused(app, "attach_source", name="x", kind="fact", relation="log_1", user_id="cecelia")
    assert said.message_hint == "Attach the partitioned table."


def test_names_of_any_spelling_in_any_schema(app):
    app.execute(
        'CREATE SCHEMA "Ünser"; CREATE TABLE "Ünser"."My ""Table""" ('
        ' "The Key" int PRIMARY KEY, "Té%xt" text, "Owner\'s" text)'
    )
    call(
        app,
        "attach_source",
        name="我的",
        kind="fact",
        relation='"Ünser"."My ""Table"""',
        content=["Té%xt"],
        user_column="Owner's",
    )
    app.execute('INSERT INTO "Ünser"."My ""Table""" VALUES (1, \'tea\', \'ada\')')
    app.execute('UPDATE "Ünser"."My ""Table""" SET "Té%xt" = \'milk\'')
    fill(app, "我的", anew=True)
    assert (memories(app, "我的", "ada"), waiting(app, "我的")) == ({"milk": "active"}, [])


@pytest.mark.parametrize(
    ("type_", "key"),
    [
        ("uuid", "00000000-0000-0000-0000-00000000000a"),
        ("text", "Ä b'c"),
        ("bigint", "9223372036854775807"),
        ("timestamptz", "2025-06-01 12:00:00+00"),
        ("numeric", "1.50"),
        ("float8", "0.1"),
        ("date", "2025-06-01"),
    ],
)
def test_a_key_of_any_type_is_the_same_whatever_the_session_sets(app, type_, key):
    app.execute(f"CREATE TABLE t (id {type_} PRIMARY KEY, content text)")
    attach(app, "t")
    app.execute("INSERT INTO t VALUES (%s, 'one')", (key,))
    app.execute(
        "SET LOCAL TimeZone = 'Asia/Tokyo'; SET LOCAL DateStyle = 'German';"
        " SET LOCAL extra_float_digits = -5"
    )
    app.execute("UPDATE t SET content = 'two'")
    assert [batch.written for batch in fill(app, "t", anew=True)] == [0, 0]
    assert (memories(app, "t"), waiting(app, "t")) == ({"two": "active"}, [])


def test_a_time_is_the_same_whatever_the_session_sets(app):
    app.execute(
        "CREATE TABLE t (id int PRIMARY KEY, content text, created_at timestamptz, due timestamp)"
    )
    attach(app, "t", valid_until="due")
    app.execute("SET LOCAL TimeZone = 'Asia/Kolkata'; SET LOCAL DateStyle = 'SQL, DMY'")
    app.execute("INSERT INTO t VALUES (1, 'tea', '2025-03-02 10:00:00.5+00', '2125-04-03 10:00')")
    found = app.execute(
        "SELECT created_at = '2025-03-02T10:00:00.5Z', "
        "valid_until = '2125-04-03T10:00:00Z' FROM memoir.memory"
    )
    assert found.fetchall() == [(True, True)]


def test_columns_of_a_fixed_length_are_whole_in_the_data(app):
    app.execute("CREATE TABLE t (id int PRIMARY KEY, content text, state char(9), flags bit(3))")
    attach(app, "t", data=["state", "flags"])
    app.execute("INSERT INTO t VALUES (1, 'tea', 'pending', '101')")
    data = value(app, "SELECT data FROM memoir.memory")
    assert data == {"state": "pending", "flags": "101"}


def test_a_row_without_a_document_has_no_data(app):
    app.execute("CREATE TABLE t (id int PRIMARY KEY, content text, extra jsonb)")
    attach(app, "t", data=["extra"])
    app.execute("INSERT INTO t VALUES (1, 'a', NULL), (2, 'b', 'null'), (3, 'c', '{\"d\": null}')")
    app.execute("UPDATE t SET content = 'green tea'")
    found = app.execute("SELECT data FROM memoir.memory ORDER BY source_key").fetchall()
    assert found == [({},), ({},), ({"d": None},)]


def test_a_key_of_several_columns(app):
    app.execute(
        "CREATE TYPE colour AS ENUM ('red', 'green');"
        "CREATE TABLE t (a int, b colour, content text, PRIMARY KEY (b, a));"
        "INSERT INTO t VALUES (1, 'red', 'one'), (1, 'green', 'two'), (2, 'red', 'three')"
    )
    attach(app, "t")
    assert [batch.read_rows for batch in fill(app, "t", most=2)] == [2, 1]
    app.execute("DELETE FROM t WHERE a = 1 AND b = 'green'")
    assert memories(app, "t") == {"one": "active", "two": "forgotten", "three": "active"}


def test_a_table_without_a_key_is_attached_by_columns_that_are_one(app):
    app.execute("CREATE TABLE t (code text, content text); INSERT INTO t VALUES ('a', 'tea')")
    attach(app, "t", source_id=["code"])
    fill(app, "t")
    assert memories(app, "t") == {"tea": "active"}


def test_generated_columns_and_times_without_a_zone_are_read(app):
    app.execute(
        "SET LOCAL TimeZone = 'Europe/Berlin';"
        "CREATE TABLE t (id int PRIMARY KEY, a text, at timestamp,"
        " said text GENERATED ALWAYS AS ('tea ' || a) STORED)"
    )
    attach(app, "t", content=["said"], created_at="at")
    app.execute("SET LOCAL TimeZone = 'UTC'; INSERT INTO t VALUES (1, 'x', '2025-06-01 12:00')")
    assert memories(app, "t") == {"tea x": "active"}
    assert str(value(app, "SELECT created_at FROM memoir.memory")) == "2025-06-01 10:00:00+00:00"


def test_who_owns_neither_memoir_nor_the_table_may_not_attach(app):
    app.execute("CREATE ROLE eve; GRANT USAGE ON SCHEMA memoir TO eve")
    app.execute("GRANT ALL ON ALL TABLES IN SCHEMA memoir, public TO eve")
    app.execute("GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA memoir TO eve; SET LOCAL ROLE eve")
    denied = psycopg.errors.InsufficientPrivilege
    with pytest.raises(denied, match='rights of "postgres"') as caught:
        attach(app, "tasks")
    assert "GRANT" not in caught.value.diag.message_hint  # it would make eve a superuser


def test_who_writes_the_table_needs_no_right_on_memoir(app):
    attach(app, "tasks")
    app.execute("CREATE ROLE writer; GRANT ALL ON tasks TO writer; SET LOCAL ROLE writer")
    app.execute("SET LOCAL search_path = 'nowhere'; SET LOCAL memoir.user_id = 'eve'")
    app.execute("INSERT INTO public.tasks (title) VALUES ('tea')")
    app.execute("RESET ROLE")
    assert memories(app) == {"tea": "active"}


def test_nobody_else_may_call_the_functions_of_a_source(app):
    attach(app, "tasks")
    app.execute("CREATE ROLE eve; GRANT USAGE ON SCHEMA memoir TO eve")
    number = value(app, "SELECT source_id FROM memoir.source")
    for function in (f"_source_{number}_write()", f"_source_{number}_read(jsonb)"):
        asked = ("SELECT has_function_privilege('eve', %s, 'EXECUTE')", "memoir." + function)
        assert not value(app, *asked)


@pytest.mark.parametrize("name", ["", "_added", "_emptied"])
@pytest.mark.parametrize(
    ("how", "said"),
    [("DROP TRIGGER {} ON t", "gone"), ("ALTER TABLE t DISABLE TRIGGER {}", "disabled")],
)
def test_a_trigger_that_does_not_follow_is_told(tx, name, how, said):
    tx.execute("CREATE TABLE t (id int PRIMARY KEY, content text)")
    attach(tx, "t")
    fill(tx, "t")
    assert state(tx, "t") == "following"
    number = value(tx, "SELECT source_id FROM memoir.source")
    tx.execute(how.format(f"memoir_source_{number}{name}"))
    assert state(tx, "t").startswith("broken: ")
    assert said in state(tx, "t")


def subscribe(conn, table):
    """What the catalogue says of a table that logical replication fills."""
    conn.execute("SET LOCAL allow_system_table_mods = on")
    conn.execute(
        "INSERT INTO pg_subscription_rel (srsubid, srrelid, srsubstate)"
        f" VALUES (7, '{table}'::regclass, 'r')"
    )


@pytest.mark.parametrize("filled", ["t", "part"])
def test_a_table_that_a_subscription_fills_is_pulled(tx, filled):
    # It calls no trigger for INSERT: nothing came, and the state was "following".
    tx.execute(
        "CREATE TABLE t (id int PRIMARY KEY, content text, status text) PARTITION BY hash (id)"
    )
    tx.execute("CREATE TABLE part PARTITION OF t FOR VALUES WITH (MODULUS 1, REMAINDER 0)")
    subscribe(tx, filled)
    attach(tx, "t")
    tx.execute("INSERT INTO t VALUES (1, 'tea', 'open'), (2, 'milk', NULL)")
    assert (state(tx, "t"), memories(tx, "t")) == ("pulling", {})
    tx.execute("SELECT memoir.pull_source('t')")
    assert (state(tx, "t"), memories(tx, "t")) == ("pulled", {"tea": "active", "milk": "active"})
    tx.execute("DELETE FROM t WHERE id = 2")
    while not value(tx, "SELECT complete FROM memoir.pull_source('t')"):
        pass
    assert memories(tx, "t") == {"tea": "active", "milk": "forgotten"}


def test_a_table_subscribed_to_since_is_told_unless_memory_comes_with_it(tx):
    tx.execute("CREATE TABLE t (id int PRIMARY KEY, content text)")
    attach(tx, "t")
    fill(tx, "t")
    subscribe(tx, "t")
    assert state(tx, "t") == "broken: a subscription fills it, which triggers do not see"
    subscribe(tx, "memoir.memory")
    assert state(tx, "t") == "following"


def test_who_has_a_query_already_is_told_what_to_convert_in_it(app):
    query = "SELECT id AS source_id, title AS content, status AS changed_at FROM tasks"
    said = refused(app, "attach_source", name="x", kind="task", query=query, user_id="ada")
    assert said.message_hint == "Convert it in the query, as in changed_at::timestamptz."
