"""fill_source, pull_source and read_source: reading what is there already, beside its writers."""

from __future__ import annotations

import threading

import psycopg
import pytest
from tests.application import USER, add_tasks, attach, fill, memories, state, waiting
from tests.rows import call, refused, remember, row_counts, set_to, value

QUERY = "SELECT id AS source_id, title AS content, created_at, changed_at FROM ticket"


@pytest.fixture
def tickets(tx):
    """A query over a table that says when a row changed."""
    tx.execute(
        "CREATE TABLE ticket (id int PRIMARY KEY, title text, owner text,"
        " created_at timestamptz DEFAULT now(), changed_at timestamptz DEFAULT now());"
        "INSERT INTO ticket VALUES (1, 'tea'), (2, 'milk'), (3, '茶')"
    )
    return tx


def pull(conn, query=QUERY, **more):
    arguments = {"kind": "task", "query": query, "user_id": USER, **more}
    return call(conn, "attach_source", name="tickets", **arguments)


def test_a_fill_goes_on_where_it_ended_and_stores_once(app):
    add_tasks(app, *map(str, range(1, 8)))
    attach(app, "tasks")
    batches = fill(app, "tasks", most=3)
    assert [(b.read_rows, b.written, b.complete) for b in batches] == [
        (3, 3, False),
        (3, 3, False),
        (1, 1, True),
    ]
    assert [b.written for b in fill(app, "tasks", anew=True)] == [0, 0]
    assert len(memories(app)) == 7


def test_an_empty_table_is_complete_at_once(app):
    attach(app, "tasks")
    assert fill(app, "tasks")[0] == (0, 0, 0, True)


def test_a_bad_row_does_not_keep_the_others(app):
    app.execute("ALTER TABLE tasks ADD weight float8")
    app.execute("INSERT INTO tasks (title, weight) VALUES ('a', 0.1), ('b', 9), ('c', 0.2)")
    attach(app, "tasks", importance="weight")
    assert (fill(app, "tasks")[-1].waiting, memories(app)) == (1, {"a": "active", "c": "active"})


@pytest.fixture
def many(tx):
    """A table of many users, with something to be wrong in it."""
    tx.execute(
        "CREATE TABLE t (id int PRIMARY KEY, user_id text, content text, weight float8,"
        " title text, status text, progress int)"
    )
    return tx


def attach_many(conn, **more):
    how = {"kind": "task", "importance": "weight", **more}
    call(conn, "attach_source", name="t", relation="t", **how)


def test_a_row_that_went_to_another_user_unseen_leaves_nothing_with_the_first(many):
    many.execute("INSERT INTO t VALUES (1, 'ada', 'tea'), (2, 'ada', 'milk')")
    attach_many(many, on_delete="purge")
    fill(many, "t")
    many.execute("SET LOCAL session_replication_role = replica")
    many.execute("UPDATE t SET user_id = 'bob' WHERE id = 1")
    many.execute("SET LOCAL session_replication_role = origin")
    fill(many, "t", anew=True)
    assert memories(many, "t", "ada") == {"milk": "active"}
    assert memories(many, "t", "bob") == {"tea": "active"}


def test_rows_of_many_users_are_stored_by_one_statement(many):
    many.execute("INSERT INTO t SELECT n, 'u' || n % 40, 'n ' || n FROM generate_series(1, 99) n")
    attach_many(many)
    assert fill(many, "t")[0].written == 99
    statements = "SELECT count(DISTINCT cmin::text), count(DISTINCT user_id) FROM memoir.memory"
    assert many.execute(statements).fetchone() == (1, 40)
    assert value(many, "SELECT count(*) FROM memoir.trace") == 99
    assert value(many, "SELECT count(*) FROM memoir.profile") == 40


def test_bad_rows_of_some_users_do_not_keep_those_of_others(many):
    many.execute(
        "INSERT INTO t SELECT n, CASE WHEN n <> 7 THEN 'u' || n % 5 END, 'n ' || n,"
        " CASE WHEN n IN (20, 21, 90) THEN 9 END FROM generate_series(1, 99) AS n"
    )
    attach_many(many)
    assert fill(many, "t")[0][:3] == (99, 95, 4)
    failed = many.execute("SELECT source_key, code FROM memoir.source_error ORDER BY 2, 1")
    assert failed.fetchall() == [("7", "ME006"), ("20", "ME008"), ("21", "ME008"), ("90", "ME008")]


def test_what_nobody_wants_remembered_is_no_mistake_beside_one(many):
    call(many, "set_settings", settings={"memory": False}, user_id="off")
    many.execute(
        "INSERT INTO t VALUES (1, 'ada', 'tea', 9), (2, NULL, ' ', 9), (3, 'off', 'milk', 9)"
    )
    attach_many(many)
    assert fill(many, "t")[-1].waiting == 1


def test_the_profile_of_every_user_is_made_anew(many):
    many.execute(
        "INSERT INTO t SELECT n, 'u' || n % 3, 'goal', 0.5, 'Goal ' || n, 'open', 0"
        " FROM generate_series(1, 6) AS n"
    )
    attach_many(many, kind="okr", data=["title", "status", "progress"])
    fill(many, "t")
    snippets = many.execute("SELECT snippet FROM memoir.profile ORDER BY user_id").fetchall()
    assert [[f"Goal {n}" in text for n in range(1, 7)] for (text,) in snippets] == [
        [n % 3 == user for n in range(1, 7)] for user in range(3)
    ]


def test_a_row_without_a_key_does_not_keep_others_from_being_tried_again(tx):
    tx.execute("CREATE TABLE t (id int, content text, weight float8)")
    tx.execute("INSERT INTO t VALUES (1, 'tea', 7), (NULL, 'milk', 1), (NULL, 'rum', 1)")
    how = {"source_id": ["id"], "importance": "weight"}
    attach(tx, "t", **how)
    fill(tx, "t")
    assert sorted(code for code, _ in waiting(tx, "t")) == ["ME008", "ME008"]
    tx.execute("SET LOCAL session_replication_role = replica; UPDATE t SET weight = 1")
    fill(tx, "t")
    fill(tx, "t")
    assert (memories(tx, "t"), len(waiting(tx, "t"))) == ({"tea": "active"}, 1)
    # Of the row without a key there is nothing to be tried.
    assert "source read" not in [row.action for row in call(tx, "maintain")]


def test_rows_of_two_tables_wait_each_for_itself(tx):
    for table in ("t", "u"):
        tx.execute(f"CREATE TABLE {table} (id int PRIMARY KEY, content text, weight float8)")
        attach(tx, table, importance="weight")
        fill(tx, table)
        tx.execute(f"INSERT INTO {table} VALUES (1, 'tea', 9)")
    tx.execute("UPDATE u SET weight = 1")
    assert (len(waiting(tx, "t")), waiting(tx, "u")) == (1, [])
    assert [batch.waiting for batch in fill(tx, "u", anew=True)] == [0, 0]
    assert value(tx, "SELECT attempts FROM memoir.source_error") == 1


def test_a_dry_run_of_upkeep_takes_no_row_and_finds_no_keyword(many):
    attach_many(many)
    many.execute("INSERT INTO t VALUES (1, 'ada', 'deploy the gateway', 1), (2, 'ada', 'tea', 9)")
    many.execute("SET LOCAL session_replication_role = replica; UPDATE t SET weight = 1")
    before = row_counts(many)
    told = {row.action: row.details for row in call(many, "maintain", dry_run=True)}
    assert (told["source read"], "keywords found" in told) == ({"rows": 1, "source": "t"}, False)
    assert row_counts(many) == before


def test_a_row_that_was_committed_after_a_newer_one_is_not_missed(tickets):
    pull(tickets, changed_at="changed_at")
    fill(tickets, "tickets")
    late = "INSERT INTO ticket (id, title, changed_at) VALUES (4, 'late', now() - interval '%s')"
    tickets.execute(late % "1 minute")
    call(tickets, "pull_source", name="tickets")
    assert memories(tickets, "tickets")["late"] == "active"


def test_an_anew_fill_forgets_what_is_gone(app):
    add_tasks(app, "tea", "milk")
    attach(app, "tasks")
    fill(app, "tasks")
    app.execute("SET LOCAL session_replication_role = replica")
    app.execute("DELETE FROM tasks WHERE title = 'tea'")
    assert [b.written for b in fill(app, "tasks", anew=True)] == [0, 1]
    assert memories(app) == {"tea": "forgotten", "milk": "active"}


@pytest.mark.parametrize("most", [0, -1, 100_001])
def test_a_batch_has_1_to_100000_rows(app, most):
    attach(app, "tasks")
    assert refused(app, "fill_source", name="tasks", most=most).sqlstate == "ME008"


@pytest.mark.parametrize("function", ["fill_source", "pull_source", "detach_source"])
def test_an_unknown_source_is_refused(tx, function):
    said = refused(tx, function, name="nothing")
    assert (said.sqlstate, said.message_primary) == ("ME016", 'there is no source "nothing"')


def test_a_pull_reads_what_is_newer(tickets):
    pull(tickets)
    assert call(tickets, "pull_source", name="tickets")[0] == (3, 3, 0, True)
    tickets.execute(
        "UPDATE ticket SET title = 'rum', changed_at = now() + interval '1 hour' WHERE id = 1;"
        "UPDATE ticket SET changed_at = now() - interval '1 day' WHERE id = 2"
    )
    assert call(tickets, "pull_source", name="tickets")[0] == (2, 1, 0, True)
    assert memories(tickets, "tickets") == {"rum": "active", "milk": "active", "茶": "active"}


def test_a_source_that_cannot_be_read_stops_no_upkeep_and_is_logged(tickets):
    pull(tickets)
    call(tickets, "pull_source", name="tickets")
    tickets.execute("ALTER TABLE ticket RENAME COLUMN title TO heading")
    logged = []
    tickets.add_notice_handler(lambda notice: logged.append(notice.message_primary))
    done = [row.action for row in call(tickets, "maintain")]
    assert (done[0], done[-1]) == ("source failed", "report")
    assert logged == ["memoir: maintain failed at tend_sources of source tickets: "
                      "column \"title\" does not exist (42703)"]  # fmt: skip


@pytest.mark.parametrize("when", ["2999-01-01", "infinity"])
def test_a_row_from_the_future_hides_no_other(tickets, when):
    pull(tickets)
    tickets.execute("UPDATE ticket SET changed_at = %s WHERE id = 2", (when,))
    fill(tickets, "tickets")
    tickets.execute("UPDATE ticket SET title = 'rum', changed_at = now() WHERE id = 1")
    assert call(tickets, "pull_source", name="tickets")[0] == (3, 1, 0, True)
    assert "rum" in memories(tickets, "tickets")


@pytest.mark.parametrize("function", ["pull_source", "maintain"])
def test_a_row_that_failed_is_tried_again_by_the_next_pull(tickets, function):
    tickets.execute("UPDATE ticket SET changed_at = now() - interval '1 day' WHERE id = 2")
    pull(tickets)
    set_to(tickets, text_limit=3)
    assert call(tickets, "pull_source", name="tickets")[0] == (3, 2, 1, True)
    set_to(tickets, text_limit=100_000)
    call(tickets, function, **({"name": "tickets"} if function == "pull_source" else {}))
    assert (len(memories(tickets, "tickets")), waiting(tickets, "tickets")) == (3, [])


def test_a_pull_goes_by_time_and_key_in_batches(tickets):
    pull(tickets)
    batches = [call(tickets, "pull_source", name="tickets", most=2)[0] for _ in range(2)]
    assert [(b.read_rows, b.complete) for b in batches] == [(2, False), (1, True)]


def test_without_a_time_of_change_all_is_read_and_compared(tickets):
    pull(tickets, "SELECT id AS source_id, title AS content FROM ticket")
    fill(tickets, "tickets")
    tickets.execute("DELETE FROM ticket WHERE id = 1")
    tickets.execute("UPDATE ticket SET title = 'rum' WHERE id = 2")
    fill(tickets, "tickets", anew=True)
    assert memories(tickets, "tickets") == {"tea": "forgotten", "rum": "active", "茶": "active"}


def test_maintain_pulls_what_changed(tickets):
    pull(tickets)
    fill(tickets, "tickets")
    tickets.execute("UPDATE ticket SET title = 'rum', changed_at = now() WHERE id = 1")
    call(tickets, "maintain")
    assert "rum" in memories(tickets, "tickets")


def test_a_view_names_its_columns_for_memory(tickets):
    tickets.execute(
        "CREATE VIEW v AS SELECT id AS source_id, owner AS user_id, title AS content,"
        " 0.9::numeric AS importance, jsonb_build_object('id', id) AS data, 'hot' AS summary,"
        " 'drinks' AS subject, 'archived' AS status, '2999-01-01'::timestamptz AS valid_until"
        " FROM ticket; UPDATE ticket SET owner = 'ada'"
    )
    call(tickets, "attach_source", name="v", kind="fact", relation="v")
    fill(tickets, "v")
    rows = tickets.execute(
        "SELECT user_id, importance, data, summary, subject, status, valid_until = '2999-01-01',"
        " retired_at IS NOT NULL FROM memoir.memory ORDER BY source_key"
    )
    assert rows.fetchone() == ("ada", 0.9, {"id": 1}, "hot", "drinks", "archived", True, True)


def test_rows_of_another_user_are_not_taken(tickets):
    tickets.execute("UPDATE ticket SET owner = CASE id WHEN 1 THEN 'eve' ELSE 'cecelia' END")
    pull(tickets, "SELECT id AS source_id, title AS content, owner AS user_id FROM ticket")
    fill(tickets, "tickets")
    assert memories(tickets, "tickets") == {"milk": "active", "茶": "active"}
    assert memories(tickets, "tickets", "eve") == {}
    assert waiting(tickets, "tickets") == [
        ("ME016", 'row "1" is of user "eve", the source is of "cecelia"')
    ]


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        ("DELETE FROM ticket RETURNING id AS source_id, title AS content", "syntax error"),
        ("SELECT 1 AS source_id, 'x' AS content; DROP TABLE ticket", "multi"),
        ("SELECT 1) AS n; DROP TABLE ticket; SELECT * FROM (SELECT 1", "syntax error"),
        ("SELECT id AS source_id, title AS content FROM ticket FOR UPDATE", "read-only"),
        ("SELECT 1 AS source_id, title AS content FROM nothing", "does not exist"),
        ("SELECT 1 AS source_id, pg_sleep(9)::text AS content", "does more than read"),
        ('SELECT 1 AS source_id, "pg_sleep"(9)::text AS content', "does more than read"),
        ("SELECT 1 AS source_id, pg_sleep/**/(9)::text AS content", "does more than read"),
        ('SELECT 1 AS source_id, U&"pg\\005fsleep"(9)::text AS content', "does more than read"),
        ("SELECT 1 AS source_id, title AS content FROM ticket"
         ' ORDER BY (SELECT pg_catalog."pg_advisory_lock"(1)::text)', "does more than read"),
        ("SELECT 1 AS source_id, random()::text AS content", "something else each time"),
        ("SELECT 1 AS source_id, table_to_xml('ticket', true, true, '')::text AS content",
         "does more than read"),
        ("SELECT memory_id AS source_id, content FROM memoir.memory", "not the application's"),
        ("SELECT id AS source_id FROM ticket", "which column is content?"),
        ("SELECT FROM ticket", "which column is source_id?"),
        ("VACUUM", "VACUUM"),
        ("", "syntax error|empty|column|query"),
        ("WITH x AS (DELETE FROM ticket RETURNING *) SELECT id AS source_id, title AS content"
         " FROM x", "data-modifying"),
    ],
)  # fmt: skip
def test_a_query_that_does_more_or_less_than_select_is_refused(tickets, query, reason):
    said = refused(tickets, "attach_source", name="q", kind="task", query=query, user_id=USER)
    assert said.sqlstate == "ME016"
    assert any(each.lower() in said.message_primary.lower() for each in reason.split("|"))
    assert value(tickets, "SELECT count(*) FROM ticket") == 3


def test_a_table_that_is_named_like_one_of_memoirs_is_the_applications(tickets):
    tickets.execute("ALTER TABLE ticket RENAME TO memory")
    pull(tickets, QUERY.replace("ticket", "memory"))
    assert call(tickets, "fill_source", name="tickets")[0].written == 3


def test_a_text_that_speaks_of_a_function_calls_none(tickets):
    query = "SELECT id AS source_id, title || ' set_config(x)' AS content FROM ticket"
    pull(tickets, query)
    assert call(tickets, "fill_source", name="tickets")[0].written == 3


def test_a_view_on_memory_is_memory_too_and_a_volatile_function_is_refused(tickets):
    tickets.execute(
        "CREATE VIEW told AS SELECT memory_id AS source_id, content FROM memoir.memory;"
        "CREATE FUNCTION noisy() RETURNS text LANGUAGE sql AS $$ SELECT 'x' $$"
    )
    for query, reason in (
        ("SELECT source_id, content FROM told", "not the application's"),
        ("SELECT id AS source_id, noisy() AS content FROM ticket", "may change something"),
    ):
        said = refused(tickets, "attach_source", name="q", kind="task", query=query, user_id=USER)
        assert reason in said.message_primary


def test_a_query_is_kept_as_written_and_writes_nothing_when_it_is_pulled(tickets):
    tickets.execute(
        "CREATE FUNCTION sly(id int) RETURNS text STABLE LANGUAGE plpgsql AS"
        " $$ BEGIN EXECUTE 'DELETE FROM ticket'; RETURN 'x'; END $$"
    )
    query = "SELECT  id AS source_id,\n sly(id) AS content -- why\nFROM ticket"
    pull(tickets, query)
    tickets.execute("ALTER FUNCTION sly VOLATILE")
    assert value(tickets, "SELECT query FROM memoir.sources") == query
    said = refused(tickets, "pull_source", name="tickets")
    assert (said.sqlstate, value(tickets, "SELECT count(*) FROM ticket")) == ("25006", 3)


def test_nor_does_it_for_memoir_admin_who_reads_it_by_himself_or_calls_it_a_table(tickets):
    tickets.execute(
        "CREATE FUNCTION sly(id int) RETURNS text STABLE LANGUAGE plpgsql AS"
        " $$ BEGIN EXECUTE 'DELETE FROM ticket'; RETURN 'x'; END $$"
    )
    pull(tickets, "SELECT id AS source_id, sly(id) AS content FROM ticket")
    tickets.execute("ALTER FUNCTION sly VOLATILE; SET LOCAL ROLE memoir_admin")
    tickets.execute("UPDATE memoir.source SET follows = true")
    number = value(tickets, "SELECT source_id FROM memoir.source")
    by_himself, as_a_table = {"request": {}}, {"name": "tickets"}
    for said in (
        refused(tickets, f"_source_{number}_read", **by_himself),
        refused(tickets, "fill_source", **as_a_table),
    ):
        assert said.message_primary == "what is pulled is read where nothing may be written"


@pytest.mark.parametrize("end", [";", " ; \n", " -- all;", "; ;"])
def test_a_query_that_ends_in_a_semicolon_is_one_statement(tickets, end):
    pull(tickets, "SELECT id AS source_id, 'tea' AS content FROM ticket WHERE id = 1" + end)
    fill(tickets, "tickets")
    assert memories(tickets, "tickets") == {"tea": "active"}


def test_a_pull_has_no_more_rights_than_who_attached(tickets):
    tickets.execute(
        "CREATE ROLE app; CREATE TABLE salary (id int, amount int); GRANT postgres TO app;"
        "REVOKE postgres FROM app"
    )
    pull(tickets)
    number = value(tickets, "SELECT source_id FROM memoir.source")
    tickets.execute(f"ALTER FUNCTION memoir._source_{number}_read(jsonb) OWNER TO app")
    assert refused(tickets, "pull_source", name="tickets").sqlstate == "42501"
    assert value(tickets, "SELECT current_user") == "postgres"


def test_read_source_commits_between_batches_and_finds_keywords(db):
    db.execute("CREATE TABLE t (id int PRIMARY KEY, content text)")
    db.execute("INSERT INTO t SELECT n, 'task number ' || n FROM generate_series(1, 25) AS n")
    set_to(db, source_batch=10)
    attach(db, "t")
    db.execute("CALL memoir.read_source('t')")
    assert (len(memories(db, "t")), state(db, "t")) == (25, "following")
    assert value(db, "SELECT count(DISTINCT xmin::text) FROM memoir.memory") == 3
    assert value(db, "SELECT count(DISTINCT memory_id) FROM memoir.keyword") == 25


def test_read_source_sees_what_is_committed_whatever_isolation_is_the_default(db):
    db.execute(
        "CREATE TABLE t (id int PRIMARY KEY, content text);"
        "INSERT INTO t VALUES (1, 'a'), (2, 'b');"
        "CREATE FUNCTION level() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN NEW.summary ="
        " current_setting(''transaction_isolation''); RETURN NEW; END';"
        "CREATE TRIGGER level BEFORE INSERT ON memoir.memory FOR EACH ROW EXECUTE FUNCTION level();"
        "UPDATE memoir.setting SET value = '1' WHERE name = 'source_batch'"
    )
    attach(db, "t")
    db.execute("SET default_transaction_isolation = 'repeatable read'")
    db.execute("CALL memoir.read_source('t')")
    levels = db.execute("SELECT summary FROM memoir.memory").fetchall()
    assert levels == [("read committed",)] * 2


def test_a_row_that_somebody_holds_is_taken_later(db, dsn):
    db.execute("CREATE TABLE t (id int PRIMARY KEY, content text)")
    db.execute("INSERT INTO t VALUES (1, 'a'), (2, 'b'), (3, 'c')")
    attach(db, "t")
    with psycopg.connect(dsn) as holder:
        holder.execute("SELECT FROM t WHERE id = 2 FOR UPDATE")
        assert fill(db, "t")[0][:3] == (2, 2, 1)
        assert waiting(db, "t") == [("55P03", "somebody else holds the row")]
    assert call(db, "fill_source", name="t")[0].waiting == 0
    assert sorted(memories(db, "t")) == ["a", "b", "c"]


def insert_beside(db, dsn, values):
    """Rows of table t that all wait, because an index is just being made."""
    with psycopg.connect(dsn) as other:
        other.execute("LOCK TABLE memoir.trace IN SHARE MODE")
        db.execute(f"INSERT INTO t {values}")


@pytest.mark.parametrize(
    "again",
    ["CALL memoir.maintain_all()", "SELECT memoir.maintain()", "CALL memoir.read_source('t')"],
)
def test_what_waited_for_an_index_is_taken_however_many_rows_it_is(db, dsn, again):
    db.execute("CREATE TABLE t (id int PRIMARY KEY, content text)")
    db.execute("UPDATE memoir.setting SET value = '100' WHERE name = 'source_batch'")
    attach(db, "t")
    fill(db, "t")
    insert_beside(db, dsn, "SELECT n, 'tea ' || n FROM generate_series(1, 1001) AS n")
    assert len(waiting(db, "t")) == 1001
    db.execute(again)
    assert (len(memories(db, "t")), waiting(db, "t")) == (1001, [])


def test_rows_that_cannot_be_taken_keep_no_others_back(db, dsn):
    db.execute("CREATE TABLE t (id int PRIMARY KEY, content text, user_id text, importance real)")
    db.execute("UPDATE memoir.setting SET value = '1' WHERE name = 'source_batch'")
    call(db, "attach_source", name="t", kind="fact", relation="t", importance="importance")
    fill(db, "t")
    db.execute("INSERT INTO t VALUES (1, 'tea', 'ada', 2)")
    insert_beside(db, dsn, "VALUES (2, 'jam', 'bob', 1)")
    for _ in range(2):
        call(db, "maintain")
    assert memories(db, "t", "bob") == {"jam": "active"}


@pytest.mark.parametrize("held", ["memory WHERE source_key = '2'", "profile"])
def test_a_fill_waits_for_nobody_who_may_want_its_rows_next(db, dsn, held):
    db.execute("CREATE TABLE t (id int PRIMARY KEY, content text)")
    db.execute("INSERT INTO t VALUES (1, 'a'), (2, 'b'), (3, 'c')")
    attach(db, "t", kind="okr")
    fill(db, "t")
    db.execute("SET statement_timeout = '1min'")
    with psycopg.connect(dsn) as application:
        application.execute(f"SELECT FROM memoir.{held} FOR UPDATE")
        call(db, "fill_source", name="t", anew=True)
        number = 1 if "memory" in held else 3
        assert waiting(db, "t") == [("55P03", "somebody else holds its memory")] * number
    db.execute("CALL memoir.read_source('t')")
    assert waiting(db, "t") == []


def test_a_fill_from_the_start_waits_for_no_row_that_is_just_being_mended(db, dsn):
    db.execute("CREATE TABLE t (id int PRIMARY KEY, content text, importance real)")
    attach(db, "t", importance="importance")
    db.execute("INSERT INTO t VALUES (1, 'a', 2), (2, 'b', 2)")
    db.execute("SET statement_timeout = '1min'")
    with psycopg.connect(dsn) as application:
        application.execute("UPDATE t SET importance = 1 WHERE id = 1")
        call(db, "fill_source", name="t", anew=True)
    db.execute("CALL memoir.read_source('t')")
    assert memories(db, "t") == {"a": "active"}


@pytest.mark.parametrize("held", ["", "SELECT FROM memoir.memory FOR UPDATE"])
def test_upkeep_that_has_locked_rows_waits_for_nobody_either(db, dsn, held):
    db.execute(
        "CREATE TABLE t (id int PRIMARY KEY, content text, importance real);"
        "CREATE OR REPLACE FUNCTION memoir._report_quality("
        "    only_user text, run memoir.upkeep_run, after bigint)"
        " RETURNS TABLE (action text, memories bigint, details jsonb, next bigint) LANGUAGE sql"
        " AS 'SELECT ''patience'', 0, to_jsonb(current_setting(''lock_timeout'')), NULL::bigint'"
    )
    attach(db, "t", importance="importance")
    db.execute("INSERT INTO t VALUES (1, 'a', 1)")
    fill(db, "t")
    patience = "SELECT details FROM memoir.maintain() WHERE action = 'patience'"
    assert value(db, patience) == "100ms"
    db.execute("UPDATE t SET importance = 2")
    with psycopg.connect(dsn) as application:
        application.execute(held)
        assert value(db, patience) == "1ms"


def test_a_fill_beside_writers_ends_with_the_rows_as_they_are(db, dsn):
    db.execute("CREATE TABLE t (id int PRIMARY KEY, content text)")
    db.execute("INSERT INTO t SELECT n, 'old ' || n FROM generate_series(1, 300) AS n")
    attach(db, "t")

    def write(first: int) -> None:
        with psycopg.connect(dsn, autocommit=True) as conn:
            for n in range(first, 301, 6):
                conn.execute("UPDATE t SET content = 'new ' || id WHERE id = %s", (n,))
                conn.execute("DELETE FROM t WHERE id = %s", (n + 2,))
                conn.execute("INSERT INTO t VALUES (%s, 'added')", (n + 1000,))

    writers = [threading.Thread(target=write, args=(first,)) for first in (1, 2)]
    for writer in writers:
        writer.start()
    fill(db, "t", most=20)
    for writer in writers:
        writer.join()
    fill(db, "t")
    stored = db.execute(
        "SELECT source_key, content FROM memoir.memory WHERE status = 'active' ORDER BY 1, 2"
    ).fetchall()
    assert waiting(db, "t") == []
    assert stored == db.execute("SELECT id::text, content FROM t ORDER BY 1, 2").fetchall()


@pytest.mark.parametrize(
    ("statement", "left"),
    [
        ("UPDATE t SET content = 'milk'", {"milk": "active"}),
        ("UPDATE t SET id = 2, content = 'milk'", {"tea": "forgotten", "milk": "active"}),
        ("DELETE FROM t", {"tea": "forgotten"}),
    ],
)
def test_a_transaction_that_began_before_a_fill_changes_its_memories_at_last(
    db, dsn, statement, left
):
    db.execute("CREATE TABLE t (id int PRIMARY KEY, content text); INSERT INTO t VALUES (1, 'tea')")
    attach(db, "t")
    with psycopg.connect(dsn) as early:
        early.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        early.execute("SELECT FROM t")
        fill(db, "t")
        early.execute(statement)
    fill(db, "t")
    assert (memories(db, "t"), waiting(db, "t")) == (left, [])


def test_keywords_found_since_a_transaction_began_do_not_outlive_their_text(db, dsn):
    db.execute(
        "CREATE TABLE t (id int PRIMARY KEY, content text); INSERT INTO t VALUES (1, 'gateway')"
    )
    attach(db, "t")
    fill(db, "t")
    with psycopg.connect(dsn) as early:
        early.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        early.execute("SELECT FROM t")
        call(db, "maintain", only_user=USER)
        early.execute("UPDATE t SET content = 'invoice'")
    call(db, "maintain", only_user=USER)
    words = db.execute("SELECT keyword FROM memoir.keyword").fetchall()
    assert (memories(db, "t"), waiting(db, "t"), words) == (
        {"invoice": "active"},
        [],
        [("invoice",)],
    )


def test_a_row_that_waited_when_the_transaction_began_waits_again(db, dsn):
    db.execute("CREATE TABLE t (id int PRIMARY KEY, content text, weight float8)")
    attach(db, "t", importance="weight")
    fill(db, "t")
    db.execute("INSERT INTO t VALUES (1, 'tea', 7)")
    db.execute("SET session_replication_role = replica; UPDATE t SET weight = 0.7")
    db.execute("RESET session_replication_role")
    with psycopg.connect(dsn) as early:
        early.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        early.execute("SELECT FROM t")
        fill(db, "t")
        early.execute("UPDATE t SET content = 'milk'")
    assert (memories(db, "t"), len(waiting(db, "t"))) == ({"tea": "active"}, 1)
    fill(db, "t")
    assert (memories(db, "t"), waiting(db, "t")) == ({"milk": "active"}, [])


def test_two_users_of_one_statement_and_one_open_transaction_do_not_wait(db, dsn):
    db.execute("CREATE TABLE t (id int PRIMARY KEY, content text)")
    attach(db, "t")
    with psycopg.connect(dsn) as first:
        first.execute("INSERT INTO t VALUES (1, 'a')")
        db.execute("SET statement_timeout = '1min'; INSERT INTO t VALUES (2, 'b')")
        db.execute("UPDATE t SET content = 'c' WHERE id = 2")
    assert (memories(db, "t"), waiting(db, "t")) == ({"a": "active", "c": "active"}, [])


def test_a_user_whose_first_row_is_not_committed_is_remembered_for_at_once(db, dsn):
    db.execute("CREATE TABLE t (id int PRIMARY KEY, content text)")
    attach(db, "t")
    with psycopg.connect(dsn) as first:
        first.execute("INSERT INTO t VALUES (1, 'a')")
        db.execute("SET statement_timeout = '1min'")
        remember(db, "drinks tea", user_id=USER)
        first.rollback()
    remember(db, "sleeps at nine", user_id=USER)
    assert value(db, "SELECT count(*) FROM memoir.profile") == 1


MANY_NEW = "SELECT count(memoir._make_profile('u' || n)) FROM generate_series(1, 2500) AS n"


def test_many_new_users_leave_room_in_the_table_of_locks(tx):
    assert value(tx, MANY_NEW) == value(tx, "SELECT count(*) FROM memoir.profile") == 2500
    held = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid()"
    assert value(tx, held) < 2000


@pytest.mark.parametrize("user", ["u1", "u2500", "someone else"])
def test_many_new_users_of_an_open_transaction_keep_nobody_waiting(db, dsn, user):
    with psycopg.connect(dsn) as first:
        first.execute(MANY_NEW)
        db.execute("SET statement_timeout = '1min'")
        remember(db, "drinks tea", user_id=user)
        first.rollback()
    remember(db, "sleeps at nine", user_id=user)
    assert value(db, "SELECT count(*) FROM memoir.profile") == 1


def test_a_view_is_pulled_whose_schema_has_a_name_that_wants_quotes(tx):
    tx.execute(
        'CREATE SCHEMA "My App"; CREATE VIEW "My App"."Notes" AS'
        " SELECT 1 AS source_id, 'tea' AS content, now() AS created_at"
    )
    call(tx, "attach_source", name="notes", kind="fact", relation='"My App"."Notes"', user_id="bob")
    assert call(tx, "pull_source", name="notes")[0].written == 1
    assert value(tx, "SELECT relation FROM memoir.sources") == '"My App"."Notes"'


def test_maintain_of_a_user_tries_the_rows_of_that_user_again(many):
    attach_many(many)
    many.execute("INSERT INTO t VALUES (1, 'ada', 'tea', 9), (2, 'bob', 'milk', 9)")
    many.execute("SET LOCAL session_replication_role = replica; UPDATE t SET weight = 1")
    read = [row.details for row in call(many, "maintain", only_user="ada") if row.details]
    assert {"rows": 1, "source": "t"} in read
    assert many.execute("SELECT user_id FROM memoir.memory").fetchall() == [("ada",)]
    assert many.execute("SELECT user_id FROM memoir.source_error").fetchall() == [("bob",)]


def test_maintain_of_a_user_pulls_what_is_that_users_alone(tickets):
    pull(tickets)
    fill(tickets, "tickets")
    tickets.execute("UPDATE ticket SET title = 'rum', changed_at = now() WHERE id = 1")
    call(tickets, "maintain", only_user="eve")
    assert "rum" not in memories(tickets, "tickets")
    call(tickets, "maintain", only_user=USER)
    assert "rum" in memories(tickets, "tickets")


def test_failed_rows_are_tried_again_by_one_statement(many):
    attach_many(many)
    fill(many, "t")
    many.execute(
        "INSERT INTO t SELECT n, 'u' || n, 'n ' || n, 9 FROM generate_series(1, 9) AS n;"
        "SET LOCAL session_replication_role = replica;"
        "UPDATE t SET weight = 0.5; DELETE FROM t WHERE id = 5"
    )
    assert len(waiting(many, "t")) == 9
    assert call(many, "fill_source", name="t")[0][:3] == (9, 8, 0)
    assert value(many, "SELECT count(DISTINCT cmin::text) FROM memoir.memory") == 1
