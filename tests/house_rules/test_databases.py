"""A database that is lent again is as it was when it was made, and so is its connection."""

from __future__ import annotations

import psycopg
import pytest
from tests.databases import Lender
from tests.rows import remember, row_counts, value


@pytest.mark.parametrize(
    "change",
    [
        "CREATE TABLE public.t ()",
        "CREATE OR REPLACE FUNCTION memoir.version() RETURNS text LANGUAGE sql RETURN 'mine'",
        "COMMENT ON TABLE memoir.memory IS 'mine'",
        "ALTER TABLE memoir.memory SET (autovacuum_enabled = off)",
        "GRANT SELECT ON memoir.memory TO PUBLIC",
        "ANALYZE memoir.kind",
        "DROP SCHEMA memoir CASCADE",
        "DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET work_mem = 64', current_database());"
        " END $$",
    ],
)
@pytest.mark.parametrize("own", [True, False])
def test_after_any_change_but_of_rows_another_is_lent(lender: Lender, own: bool, change: str):
    with lender.lent() as first:
        if own:
            first.conn.execute(change)
        else:
            with psycopg.connect(first.dsn, autocommit=True) as other:
                other.execute(change)
    with lender.lent() as second:
        assert second is not first


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
