"""What each role may do, and what it may not: by function, and by SQL of its own."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest
from tests.databases import database
from tests.jobs import add_kind, claim, enqueue, finish, ready
from tests.rows import add_event, call, found, lines, recall, refused, remember, value

from pgmemoir import migrations

ADMINS_ONLY = {
    "purge": {"memory_id": 1},
    "purge_user": {"user_id": "ada"},
    "export_user": {"user_id": "ada"},
    "import_user": {"lines": ["{}"]},
    "export_markdown": {},
    "sync_markdown": {"files": {}},
    "maintain": {},
    "switch_model": {"name": "x"},
    "drop_model": {"name": "x"},
    "add_model": {"name": "x", "dimensions": 2},
}
TABLES = """
SELECT c.relname FROM pg_class AS c
WHERE c.relnamespace = 'memoir'::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition
"""
POLICIES = """
SELECT tablename, policyname, permissive, roles, cmd, qual, with_check FROM pg_policies
WHERE schemaname = 'memoir' ORDER BY 1, 2"""
TABLES_LOCKED = """SELECT count(*) FROM pg_locks AS l JOIN pg_class AS c ON c.oid = l.relation
WHERE l.pid = pg_backend_pid() AND l.mode = 'AccessExclusiveLock' AND c.relkind IN ('r', 'p')
  AND c.relnamespace = 'memoir'::regnamespace"""
# Whose a row is, which it is, and when and from where it came.
FIXED = """
SELECT c.relname, a.attname
FROM pg_class AS c
JOIN pg_index AS i ON i.indrelid = c.oid AND i.indisprimary
JOIN pg_attribute AS a ON a.attrelid = c.oid
WHERE c.relnamespace = 'memoir'::regnamespace AND c.relkind IN ('r', 'p') AND a.attnum > 0
  AND (a.attnum = ANY (i.indkey) OR c.relname = 'memory' AND a.attname ~ '^(origin|source)'
       OR a.attname = ANY ('{created_at,recorded_at,started_at}')
       OR (c.relname, a.attname) IN (('job', 'kind'), ('session', 'number')))
  AND has_column_privilege(c.oid, a.attnum, 'UPDATE')
"""
DIFFERENCES = """
WITH due AS (SELECT * FROM memoir._rights_due()), given AS (SELECT * FROM memoir._rights_given())
(TABLE due EXCEPT TABLE given) UNION ALL (TABLE given EXCEPT TABLE due)
"""


@pytest.fixture
def people(tx):
    """Ada and Bob each have a memory and a job that waits; their ids by user."""
    tx.execute("SELECT memoir.use_model('three', 3)")
    add_kind(tx)
    made = {}
    for user in ("ada", "bob"):
        made[user] = remember(tx, f"tea of {user}", embedding="[1,0,0]", user_id=user)
        enqueue(tx, user_id=user)
        add_event(tx, "alert", {"who": user}, user_id=user)
    return made


def denied(conn, query):
    """What the server says to a statement that the role has no right to."""
    with pytest.raises(psycopg.errors.InsufficientPrivilege) as caught, conn.transaction():
        conn.execute(query)
    return caught.value.diag.message_primary


def security(conn):
    """What health() says of row-level security and rights."""
    (row,) = (row for row in call(conn, "health") if row.name == "security")
    return row


@pytest.mark.usefixtures("people")
def test_a_reader_recalls_and_cannot_change_a_row(become):
    conn = become("reader", "ada")
    made = recall(conn, "tea")
    assert (lines(made.block), made.retrieval_id) == (
        ["tea of ada", '[alert] {"who": "ada"}'],
        None,
    )
    for (table,) in conn.execute(TABLES).fetchall():
        assert denied(conn, f"DELETE FROM memoir.{table}").startswith("permission denied")
        assert denied(conn, f"INSERT INTO memoir.{table} DEFAULT VALUES").startswith("permission")
        rights = "SELECT has_any_column_privilege(%s, 'UPDATE')"
        assert value(conn, rights, f"memoir.{table}") is False


@pytest.mark.usefixtures("people")
def test_a_reader_has_no_function_that_writes(become):
    conn = become("reader", "ada")
    for function, given in {"remember": {"content": "x"}, "forget": {"memory_id": 1}}.items():
        said = refused(conn, function, **given)
        assert said.message_primary == f"permission denied for function {function}"


def test_a_reader_calls_the_tools_that_read(become, people):
    conn = become("reader", "ada")
    (answer,) = call(conn, "call_tool", name="memory_search", arguments={"query": "tea"})
    assert [found["key"] for found in answer.call_tool["results"]] == [str(people["ada"])]
    said = refused(conn, "call_tool", name="memory_write", arguments={"content": "x"})
    assert said.sqlstate == "42501"


def test_an_agent_remembers_changes_and_takes_back(become, people):
    conn = become("agent", "ada")
    coffee = remember(conn, "coffee of ada", embedding="[0,1,0]")
    call(conn, "update_memory", memory_id=coffee, content="espresso of ada")
    call(conn, "forget", memory_id=people["ada"])
    call(conn, "restore", memory_id=people["ada"])
    assert found(conn, "tea espresso")[:2] == ["tea of ada", "espresso of ada"]


@pytest.mark.usefixtures("people")
def test_an_agent_may_say_again_what_is_stored(become):
    # The new row is stored and taken away again: a deletion that the policy no_purge lets pass.
    conn = become("agent", "ada")
    (first,) = call(conn, "remember", content="Ada drinks green tea at four", kind="fact")
    (again,) = call(conn, "remember", content="Ada drinks green tea at four.", kind="fact")
    assert (again.action, again.memory_id) == ("NOOP", first.memory_id)
    stored = conn.execute("SELECT FROM memoir.memory WHERE strpos(content, 'green') > 0")
    assert len(stored.fetchall()) == 1


@pytest.mark.usefixtures("people")
def test_what_an_agent_finds_by_a_tool_and_uses_is_logged(become, tx):
    conn = become("agent", "ada")
    call(conn, "call_tool", name="memory_search", arguments={"query": "tea"})
    used = recall(conn, "tea").retrieval_id
    tx.execute("RESET ROLE")
    assert value(tx, "SELECT count(*) FROM memoir.tool_call") == 1
    tx.execute("UPDATE memoir.retrieval SET created_at = created_at - interval '8 days'")
    call(tx, "maintain", only_user="ada")
    # The recall is an event now.
    assert call(become("agent", "ada"), "mark_used", retrieval_id=used, memory_ids=[])


@pytest.mark.parametrize("role", ["reader", "agent", "worker"])
@pytest.mark.parametrize("function", ADMINS_ONLY)
def test_what_cannot_be_undone_and_what_is_of_all_users_is_for_admins(become, role, function):
    said = refused(become(role, "ada"), function, **ADMINS_ONLY[function])
    assert said.message_primary == f"permission denied for function {function}"


@pytest.mark.usefixtures("people")
def test_an_agent_cannot_delete_a_stored_memory_nor_rewrite_history(become, tx):
    tx.execute("UPDATE memoir.memory SET recorded_at = now() - interval '1 second'")
    assert become("worker").execute("DELETE FROM memoir.memory").rowcount == 0
    conn = become("agent", "ada")
    assert conn.execute("DELETE FROM memoir.memory").rowcount == 0
    for change in (
        "UPDATE memoir.memory SET recorded_at = now()",
        "UPDATE memoir.memory SET user_id = 'bob'",
        "UPDATE memoir.revision SET reason = 'x'",
        "DELETE FROM memoir.revision",
        "DELETE FROM memoir.trace",
        "UPDATE memoir.profile SET ann = 1",
        "INSERT INTO memoir.profile (user_id, ann) VALUES ('ada', 1)",
        "UPDATE memoir.job SET status = 'done'",
        "UPDATE memoir.setting SET value = '0'",
        "UPDATE memoir.embedding_model SET dimensions = 7",
        "INSERT INTO memoir.mode (name, description) VALUES ('x', 'y')",
        "SELECT setval('memoir.memory_memory_id_seq', 1)",
        "SELECT nextval('memoir.embedding_model_model_id_seq')",  # there are 32,767
        "SELECT nextval('memoir.source_source_id_seq')",
        "SELECT * FROM memoir.event_default",
        "CREATE TABLE memoir.x ()",
    ):
        assert denied(conn, change).startswith(("permission denied", "must be owner"))


@pytest.mark.parametrize(
    ("role", "but"), [("agent", []), ("worker", [("query_expansion", "created_at")])]
)
def test_nobody_but_admins_gives_a_row_to_another_user_or_changes_when_it_was_stored(
    become, role, but
):
    assert become(role).execute(FIXED).fetchall() == but


def test_a_worker_does_not_change_the_settings_of_a_user(become):
    assert denied(become("worker"), "UPDATE memoir.profile SET settings = '{}'").startswith("perm")


def test_an_agent_does_not_name_the_embedding_model(become):
    conn = become("agent", "ada")
    for function, given in {
        "remember": {"content": "tea", "embedding": "[1,0,0]"},
        "use_model": {"name": "three", "dimensions": 3},
    }.items():
        said = refused(conn, function, **given)
        assert said.sqlstate == "ME009"
        assert "SELECT memoir.use_model(" in said.message_hint
    assert remember(conn, "words need no model")


def test_a_worker_serves_everybody(become, people):
    conn = become("worker")
    assert sorted(user for user, _ in ready(conn)) == ["ada", "bob"]
    for user in people:
        (job,) = claim(conn, user_id=user)
        assert finish(conn, job.job_id, user_id=user, worker="w1") == "done"


@pytest.mark.usefixtures("people")
def test_a_worker_sees_no_logs_and_no_gold(become):
    conn = become("worker")
    for table in ("retrieval", "tool_call", "gold", "gold_relevant", "retrieval_log"):
        assert denied(conn, f"SELECT FROM memoir.{table}").startswith("permission denied")


@pytest.mark.usefixtures("people")
def test_nor_the_recalls_that_were_folded_into_events(become, tx):
    recall(tx, "what ada asked", user_id="ada")
    tx.execute("UPDATE memoir.retrieval SET created_at = now() - interval '8 days'")
    call(tx, "maintain")
    types = "SELECT array_agg(DISTINCT type ORDER BY type) FROM memoir.event"
    assert value(become("worker"), types) == ["alert"]
    assert value(become("agent", "ada"), types) == ["alert", "memory_retrieval"]
    assert value(become("admin"), types) == ["alert", "memory_retrieval"]


def test_an_admin_maintains_and_purges_everybody(become, people):
    conn = become("admin")
    users = {row.user_id for row in call(conn, "maintain")}
    assert {"ada", "bob"} <= users
    assert call(conn, "purge", memory_id=people["ada"], user_id="ada")
    assert call(conn, "purge_user", user_id="bob")
    assert value(conn, "SELECT count(*) FROM memoir.memory") == 0


def test_an_admin_changes_no_redaction_rule(become):
    admin = become("admin")
    for change in (
        "DELETE FROM memoir.redaction_rule",
        "UPDATE memoir.redaction_rule SET name = ''",
    ):
        assert denied(admin, change) == "permission denied for table redaction_rule"


def test_who_is_agent_and_admin_may_what_an_admin_may(people, tx):
    tx.execute("UPDATE memoir.memory SET recorded_at = now() - interval '1 second'")
    tx.execute("CREATE ROLE two IN ROLE memoir_agent, memoir_admin")
    tx.execute("SET LOCAL ROLE two")
    assert call(tx, "purge", memory_id=people["ada"], user_id="ada")
    assert value(tx, "SELECT count(*) FROM memoir.memory") == 1


def test_a_role_without_any_right_cannot_even_call(tx):
    tx.execute("CREATE ROLE nobody")
    tx.execute("SET LOCAL ROLE nobody")
    assert denied(tx, "SELECT memoir.recall()") == "permission denied for schema memoir"


def test_granted_twice_nothing_is_written(tx):
    rows = "SELECT md5(string_agg(oid || xmin::text, ',' ORDER BY oid)) FROM {}"
    states = []
    for _ in range(2):
        states.append(
            [value(tx, rows.format(f"pg_{name}")) for name in ("proc", "class", "policy")]
        )
        assert value(tx, "SELECT memoir.grant_access()") is True
    assert states[0] == states[1]
    assert value(tx, TABLES_LOCKED) == 0


@pytest.mark.parametrize(
    "change",
    [
        "ALTER POLICY all_rows ON memoir.memory USING (user_id = 'bob')",
        "ALTER POLICY all_rows ON memoir.memory TO PUBLIC",
        "ALTER POLICY all_rows ON memoir.memory TO memoir_worker",
        "ALTER POLICY no_purge ON memoir.memory USING (true)",
        "DROP POLICY no_purge ON memoir.memory",
        "ALTER POLICY no_embed ON memoir.job WITH CHECK (true)",
    ],
)
def test_a_policy_that_somebody_changed_is_put_right(tx, change):
    before = tx.execute(POLICIES).fetchall()
    tx.execute(change)
    assert tx.execute(POLICIES).fetchall() != before
    assert value(tx, "SELECT memoir.grant_access()") is True
    assert tx.execute(POLICIES).fetchall() == before


def test_where_every_new_table_is_secured_the_roles_still_see_the_configuration(tx, become):
    for table in ("kind", "mode", "setting"):
        tx.execute(f"ALTER TABLE memoir.{table} ENABLE ROW LEVEL SECURITY")
    assert security(tx).value == "off, or another than ours, for kind, mode, setting"
    assert value(tx, "SELECT memoir.grant_access()") is True
    remember(become("agent", "ada"), "The port is 9090")
    assert found(tx, "port") == ["The port is 9090"]


def test_what_somebody_granted_or_revoked_is_told_and_put_right(tx):
    tx.execute("GRANT DELETE ON memoir.revision TO memoir_agent")
    tx.execute("GRANT UPDATE (ann) ON memoir.profile TO memoir_agent")
    tx.execute("GRANT EXECUTE ON FUNCTION memoir.purge TO PUBLIC")
    tx.execute("REVOKE SELECT ON memoir.memory FROM memoir_reader")
    (roles,) = (row for row in call(tx, "health") if row.name == "roles")
    said = "with other rights than theirs: PUBLIC, memoir_agent, memoir_reader"
    assert (roles.status, roles.value) == ("warning", said)
    assert value(tx, "SELECT memoir.grant_access()") is True
    assert tx.execute(DIFFERENCES).fetchall() == []


@pytest.fixture(scope="module")
def opened(server, few_synonyms):
    """A database whose owner gave all rights on what he makes by default, with memoir in it; by
    then he had made pgvector, which he had kept to himself.
    """
    with (
        database(server, "opened") as address,
        psycopg.connect(**address, autocommit=True) as conn,
    ):
        conn.execute("DROP ROLE IF EXISTS opener; CREATE ROLE opener")
        conn.execute("ALTER DEFAULT PRIVILEGES REVOKE EXECUTE ON FUNCTIONS FROM PUBLIC")
        conn.execute("CREATE SCHEMA own; CREATE EXTENSION vector SCHEMA own")
        for what in ("TABLES", "SEQUENCES", "FUNCTIONS"):
            conn.execute(f"ALTER DEFAULT PRIVILEGES GRANT ALL ON {what} TO opener, PUBLIC")
        told = []
        conn.add_notice_handler(lambda heard: told.append(heard.message_primary))
        migrations.up(conn, source=few_synonyms)
        assert [warning for warning in told if warning.endswith("as their owner: opener")]
        conn.execute("GRANT USAGE ON SCHEMA memoir TO opener")
        yield conn
        conn.execute("DROP OWNED BY opener; DROP ROLE opener")


def test_that_default_privileges_let_others_write_is_told_until_it_is_taken_back(opened):
    with opened.transaction(force_rollback=True):
        before = security(opened)
        said = ("warning", "on; other roles may write here: opener")
        assert (before.status, before.value) == said
        opened.execute("SET LOCAL ROLE opener; TRUNCATE memoir.retrieval; RESET ROLE")
        opened.execute(before.advice.partition(": ")[2])
        assert security(opened).status == "ok"
        opened.execute("SET LOCAL ROLE opener")
        empty = "permission denied for table retrieval"
        assert denied(opened, "TRUNCATE memoir.retrieval") == empty


def test_pgvector_is_open_to_the_roles_where_its_schema_and_default_privileges_close_it(opened):
    with opened.transaction(force_rollback=True):
        opened.execute("SET LOCAL ROLE memoir_agent; SET LOCAL memoir.user_id = 'ada'")
        remember(opened, "The port is 9090")
        assert found(opened, "port") == ["The port is 9090"]
        opened.execute("RESET ROLE")
        for right in ("EXECUTE ON FUNCTION own.vector_dims(own.halfvec)", "USAGE ON SCHEMA own"):
            opened.execute(f"REVOKE {right} FROM memoir_agent")
            (roles,) = (row for row in call(opened, "health") if row.name == "roles")
            assert (roles.status, roles.value) == ("warning", "without rights here: memoir_agent")
            assert call(opened, "grant_access")
        opened.execute("SET LOCAL ROLE memoir_agent; SELECT own.vector_dims('[1]'::own.halfvec)")


def test_default_privileges_open_nothing_that_is_made_later(opened):
    opened.execute(security(opened).advice.partition(": ")[2])
    opened.execute("CALL memoir.maintain_all()")
    months = "SELECT count(*) FROM pg_class WHERE relname ~ '^event_[0-9]+_[0-9]+$'"
    assert value(opened, months) == 3
    opened.execute("CREATE TABLE public.note (id int PRIMARY KEY, content text)")
    opened.execute("SELECT memoir.attach_source('n', 'fact', 'public.note', user_id => 'ada')")
    assert security(opened).status == "ok"
    names = "SELECT oid::regprocedure::text FROM pg_proc WHERE proname ~ '^_source_[0-9]+_'"
    opened.execute("SET ROLE memoir_agent")
    may = f"SELECT n FROM ({names}) AS f (n) WHERE has_function_privilege(n, 'EXECUTE')"
    assert opened.execute(may).fetchall() == []
    opened.execute("RESET ROLE")


def test_who_may_not_create_roles_is_told_what_to_do_and_goes_on(tx):
    said = []
    tx.add_notice_handler(lambda heard: said.append((heard.message_primary, heard.message_hint)))
    tx.execute("ALTER ROLE memoir_worker RENAME TO was_worker")
    tx.execute("CREATE ROLE installer")
    tx.execute(f"GRANT {tx.info.user} TO installer")
    tx.execute("SET LOCAL ROLE installer")
    assert value(tx, "SELECT memoir.grant_access()") is False
    ((warning, hint),) = said
    assert warning.endswith("may not create the roles memoir_worker")
    assert hint == (
        "Have somebody run CREATE ROLE memoir_worker; then run SELECT memoir.grant_access();"
    )
    assert remember(tx, "the owner needs no roles")
    tx.execute("RESET ROLE")
    assert value(tx, "SELECT memoir.grant_access()") is True


def test_what_another_has_there_is_in_the_way_of_no_one_where_there_are_no_roles(tx):
    for role in ("reader", "agent", "worker", "admin"):
        tx.execute(f"ALTER ROLE memoir_{role} RENAME TO was_{role}")
    tx.execute("CREATE ROLE installer; CREATE ROLE dba; CREATE VIEW memoir.size AS SELECT 1 AS mb")
    tx.execute(f"ALTER VIEW memoir.size OWNER TO dba; GRANT {tx.info.user} TO installer")
    tx.execute("SET LOCAL ROLE installer")
    assert value(tx, "SELECT memoir.grant_access()") is False


def test_an_upgrade_of_the_code_lets_a_writer_end_waits_for_no_reader_and_keeps_rights(db, dsn):
    policies = "SELECT count(*), count(DISTINCT tablename) FROM pg_policies WHERE policyname = %s"
    names = ("own_rows", "all_rows", "no_purge")
    remember(db, "keeps bees")
    before = [db.execute(policies, (name,)).fetchone() for name in names]
    assert before[2] == (1, 1)
    db.execute("UPDATE memoir.migration SET sha256 = 'older' WHERE kind = 'code'")
    with (
        psycopg.connect(dsn) as reader,
        psycopg.connect(dsn, options="-c lock_timeout=1min") as conn,
        ThreadPoolExecutor(1) as other,
    ):
        assert "keeps bees" in recall(reader, "bees").block
        with db.transaction():  # of the writer, who came first and locks one more table
            db.execute("SET LOCAL deadlock_timeout = '10ms'")
            db.execute("LOCK TABLE memoir.memory IN ROW EXCLUSIVE MODE")
            upgrading = other.submit(migrations.up, conn)
            while db.execute("SELECT FROM pg_locks WHERE NOT granted").rowcount == 0:
                assert not upgrading.done()
            db.execute("LOCK TABLE memoir.trace IN ROW EXCLUSIVE MODE")
        assert upgrading.result()
    assert [db.execute(policies, (name,)).fetchone() for name in names] == before
    assert db.execute(DIFFERENCES).fetchall() == []


def test_what_reads_an_attached_table_with_its_owners_rights_is_for_admins(tx, become):
    tx.execute("CREATE TABLE public.recipe (id int PRIMARY KEY, text text, who text)")
    tx.execute("INSERT INTO public.recipe VALUES (1, 'grandmother of bob', 'bob')")
    tx.execute(
        "SELECT memoir.attach_source('recipes', 'fact', 'public.recipe', content => '{text}',"
        " user_column => 'who')"
    )
    tx.execute("SELECT memoir.grant_access()")
    made = "SELECT proname FROM pg_proc WHERE prosecdef AND proname LIKE '\\_source\\_%'"
    names = [name for (name,) in tx.execute(made).fetchall()]
    assert len(names) == 2  # one reads, the other is the trigger
    allowed = "SELECT proname FROM pg_proc WHERE has_function_privilege('the_{}', oid, 'EXECUTE')"
    for role in ("reader", "agent", "worker", "admin"):
        may = tx.execute(allowed.format(role) + " AND proname = ANY (%s)", (names,)).fetchall()
        assert [name.endswith("_read") for (name,) in may] == [True] * (role == "admin")
    assert lines(recall(become("agent", "ada"), "grandmother").block) == []


def test_the_application_that_writes_an_attached_table_needs_no_right_to_memory(tx, become):
    tx.execute("CREATE TABLE public.recipe (id int PRIMARY KEY, text text, who text)")
    tx.execute(
        "SELECT memoir.attach_source('recipes', 'fact', 'public.recipe', content => '{text}',"
        " user_column => 'who')"
    )
    tx.execute("CREATE ROLE app")
    tx.execute("GRANT INSERT ON public.recipe TO app")
    tx.execute("SET LOCAL ROLE app")
    tx.execute("INSERT INTO public.recipe VALUES (1, 'plum cake of bob', 'bob')")
    assert found(become("agent", "bob"), "plum cake") == ["plum cake of bob"]
    assert found(become("agent", "ada"), "plum cake") == []
