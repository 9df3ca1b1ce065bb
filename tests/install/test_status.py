"""`migrations.status`: what is applied and what is not."""

from __future__ import annotations

import psycopg

from pgmemoir import migrations


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
