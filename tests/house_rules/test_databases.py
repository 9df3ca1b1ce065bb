"""A database that is lent again is as it was when it was made, and so is its connection."""

from __future__ import annotations

import psycopg
import pytest
from tests.databases import Lender
from tests.rows import remember, row_counts, value


@pytest.mark.parametrize(
    "change",
    [
        "CREATE OR REPLACE FUNCTION memoir.pgmemoir_version() RETURNS text"
        " LANGUAGE sql RETURN 'mine'",
        "CREATE TRIGGER mine BEFORE INSERT ON memoir.memory"
        " FOR EACH ROW EXECUTE FUNCTION suppress_redundant_updates_trigger()",
        "COMMENT ON TABLE memoir.memory IS 'mine'",
        "ALTER TABLE memoir.memory SET (autovacuum_enabled = off)",
        "GRANT SELECT ON memoir.memory TO PUBLIC",
        "ANALYZE memoir.kind",
        "DROP SCHEMA memoir CASCADE",
        "DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET work_mem = 64', current_database());"
        " END $$",
    ],
)
def test_after_any_change_of_memoir_but_of_rows_another_is_lent(lender: Lender, change: str):
    with lender.lent() as first:
        first.conn.execute(change)
    with lender.lent() as second:
        assert second is not first


def test_after_a_change_on_another_connection_too(lender: Lender):
    with lender.lent() as first, psycopg.connect(first.dsn, autocommit=True) as other:
        other.execute("COMMENT ON TABLE memoir.memory IS 'mine'")
    with lender.lent() as second:
        assert second is not first


MADE = """
SELECT (SELECT count(*) FROM pg_class) + (SELECT count(*) FROM pg_proc)
     + (SELECT count(*) FROM pg_type) + (SELECT count(*) FROM pg_trigger)
     + (SELECT count(*) FROM pg_namespace)
"""


def test_what_a_test_made_is_gone(lender: Lender):
    with lender.lent() as first:
        before = value(first.conn, MADE)
        first.conn.execute("CREATE TABLE public.t (id serial PRIMARY KEY, body text)")
        first.conn.execute("CREATE VIEW memoir.v AS TABLE public.t")
        first.conn.execute("CREATE SCHEMA s; CREATE DOMAIN s.d AS int; CREATE TABLE s.t (d s.d)")
        first.conn.execute(
            "SELECT memoir.attach_source('t', 'fact', 'public.t', '{body}', user_id => 'ada')"
        )
    with lender.lent() as second:
        assert second is first
        assert value(second.conn, MADE) == before
        assert value(second.conn, "SELECT count(*) FROM memoir.source") == 0


def test_rows_are_what_they_were(lender: Lender):
    with lender.lent() as first:
        before = row_counts(first.conn)
        remember(first.conn, "green tea")
        first.conn.execute("DELETE FROM memoir.tool")
    with lender.lent() as second:
        assert second is first
        assert row_counts(second.conn) == before
        assert remember(second.conn, "milk") == 1


def test_the_connection_is_as_new(lender: Lender):
    with lender.lent() as first:
        first.conn.execute("SET search_path = memoir; SET ROLE memoir_reader; LISTEN memoir")
        first.conn.execute("SELECT pg_advisory_lock(7)")
    with lender.lent() as second:
        assert second is first
        assert value(second.conn, "SHOW search_path") == '"$user", public'
        assert value(second.conn, "SELECT current_user = session_user")
        assert value(second.conn, "SELECT count(*) FROM pg_listening_channels()") == 0
        assert value(second.conn, "SELECT pg_try_advisory_lock(7)")


def test_a_connection_gets_the_session_of_one_that_was_closed_as_new(lender: Lender):
    with lender.lent() as lent:
        with psycopg.connect(lent.dsn, autocommit=True) as first:
            first.execute("SET search_path = memoir; PREPARE p AS SELECT 1; LISTEN memoir")
            first.execute("CREATE TEMP TABLE t (); SELECT pg_advisory_lock(7)")
            lent.conn.execute("NOTIFY memoir")
            pid = first.info.backend_pid
        assert first.closed
        assert not first.broken
        with pytest.raises(psycopg.OperationalError, match="closed"):
            first.execute("SELECT 1")
        with psycopg.connect(lent.dsn, autocommit=True) as second:
            assert second.info.backend_pid == pid
            assert value(second, "SHOW search_path") == '"$user", public'
            assert value(second, "SELECT count(*) FROM pg_prepared_statements") == 0
            assert value(second, "SELECT count(*) FROM pg_listening_channels()") == 0
            assert value(second, "SELECT to_regclass('t')") is None
            assert [*second.notifies(timeout=0)] == []
            assert value(lent.conn, "SELECT pg_try_advisory_lock(7)")


def test_it_gets_a_new_one_where_that_would_be_another(
    lender: Lender, monkeypatch: pytest.MonkeyPatch
):
    with lender.lent() as lent:
        psycopg.connect(lent.dsn).close()
        with psycopg.connect(lent.dsn, options="-c work_mem=64") as conn:
            assert value(conn, "SHOW work_mem") == "64kB"
        with monkeypatch.context() as patched:
            patched.setenv("PGOPTIONS", "-c work_mem=65")
            with psycopg.connect(lent.dsn) as conn:
                assert value(conn, "SHOW work_mem") == "65kB"
        name = lent.conn.info.dbname
        lent.conn.execute(f"ALTER DATABASE {name} SET work_mem = 66")
        with psycopg.connect(lent.dsn) as conn:
            assert value(conn, "SHOW work_mem") == "66kB"


def test_it_gets_none_that_was_ended_or_closed_within_a_transaction(lender: Lender):
    with lender.lent() as lent:
        with psycopg.connect(lent.dsn) as first:
            ended = first.info.backend_pid
        assert value(lent.conn, "SELECT pg_terminate_backend(%s, 5000)", ended)
        second = psycopg.connect(lent.dsn)
        second.execute("LOCK TABLE memoir.memory")
        locked = second.info.backend_pid
        second.close()
        with psycopg.connect(lent.dsn) as third:
            assert third.info.backend_pid not in (ended, locked)
            third.execute("LOCK TABLE memoir.memory")


def test_it_gets_none_of_a_role_that_was_made_anew(lender: Lender):
    with lender.lent() as lent:
        lent.conn.execute("CREATE ROLE guest LOGIN")
        psycopg.connect(lent.dsn, user="guest").close()
        lent.conn.execute("DROP ROLE guest; CREATE ROLE guest LOGIN")
        with psycopg.connect(lent.dsn, user="guest") as conn:
            assert value(conn, "SELECT current_user") == "guest"
        lent.conn.execute("DROP ROLE guest")
