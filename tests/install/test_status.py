"""`migrations.status` and `differences`: what is applied, and what somebody changed since."""

from __future__ import annotations

import psycopg
import pytest

from pgmemoir import migrations
from pgmemoir.differences import differences


def _states(conn, tree) -> dict[str, str]:
    return {row.name: row.state for row in migrations.status(conn, source=tree)}


def test_before_the_first_run_everything_is_pending(empty_db, tree):
    states = {"0001_note.sql": "pending", "0002_author.sql": "pending", "sql": "pending"}
    assert _states(empty_db, tree) == states


def test_afterwards_it_says_who_applied_what_when(empty_db, tree):
    migrations.up(empty_db, source=tree)
    rows = migrations.status(empty_db, source=tree)
    assert [row.state for row in rows] == ["applied"] * 3
    assert {row.applied_by for row in rows} == {"postgres"}
    assert all(row.applied_at and row.ms is not None for row in rows)


def test_changed_code_is_pending(empty_db, tree):
    migrations.up(empty_db, source=tree)
    tree.write("sql/30_more/none.sql", "SELECT 1;\n")
    assert _states(empty_db, tree)["sql"] == "pending"


def test_an_edited_and_an_unknown_migration_are_told_apart(empty_db, tree):
    migrations.up(empty_db, source=tree)
    tree.write("migrations/0001_note.sql", "SELECT 1;\n")
    (tree.migrations / "0002_author.sql").unlink()
    states = {"0001_note.sql": "edited", "0002_author.sql": "unknown", "sql": "applied"}
    assert _states(empty_db, tree) == states


def test_it_works_inside_a_transaction_and_leaves_it_open(empty_db, tree):
    with empty_db.transaction():
        migrations.status(empty_db, source=tree)
        inside = empty_db.info.transaction_status
    assert inside is psycopg.pq.TransactionStatus.INTRANS


@pytest.mark.parametrize(
    ("change", "found"),
    [
        ("SELECT", ((), (), (), ())),
        ("CREATE FUNCTION memoir.mine() RETURNS int RETURN 1", ((), (), (), ())),
        ("DROP VIEW memoir.bodies", ((), (), ("view memoir.bodies",), ())),
        ("ALTER TABLE memoir.note DROP CONSTRAINT note_pkey", ((), ("a key of note",), (), ())),
        (
            "DROP FUNCTION memoir.body CASCADE",
            ((), (), ("function memoir.body(integer)", "view memoir.bodies"), ()),
        ),
        ("DROP TABLE memoir.note CASCADE", (("note",), (), ("view memoir.bodies",), ())),
        (
            "CREATE OR REPLACE FUNCTION memoir.body(id int) RETURNS text LANGUAGE sql"
            " AS $$SELECT 'fixed'$$",
            ((), (), (), ("function memoir.body(integer)",)),
        ),
    ],
)
def test_what_somebody_dropped_or_rewrote_is_found(empty_db, tree, change, found):
    migrations.up(empty_db, source=tree)
    empty_db.execute(change)
    assert tuple(map(tuple, differences(empty_db, source=tree)[:4])) == found


def test_it_is_put_back_when_the_code_runs_anew(empty_db, tree):
    migrations.up(empty_db, source=tree)
    empty_db.execute("DROP FUNCTION memoir.body CASCADE")
    assert migrations.up(empty_db, source=tree) == []
    assert len(migrations.up(empty_db, source=tree, anew=True)) == 2
    assert differences(empty_db, source=tree) == ([], [], [], [], [])
