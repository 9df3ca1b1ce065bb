"""Nothing is callable, readable or writable by accident: sql/95_access/030_roles.sql says who."""

from __future__ import annotations

from tests.rows import value

FUNCTIONS = """
SELECT DISTINCT proname FROM pg_proc
WHERE pronamespace = 'memoir'::regnamespace AND proname NOT LIKE '\\_%'
"""
DIFFERENCE = "SELECT * FROM memoir._rights_{0}() EXCEPT SELECT * FROM memoir._rights_{1}()"


def names(conn, query):
    return {name for (name,) in conn.execute(query)}


def test_every_public_function_stands_in_the_list_of_a_role(tx):
    listed = names(tx, "SELECT DISTINCT unnest(functions) FROM memoir._callers()")
    assert names(tx, FUNCTIONS) - listed == set()


def test_the_lists_name_nothing_else(tx):
    listed = names(tx, "SELECT unnest(functions) FROM memoir._callers()")
    assert listed - names(tx, FUNCTIONS) == set()
    tables = "SELECT relname FROM pg_class WHERE relnamespace = 'memoir'::regnamespace"
    assert names(tx, "SELECT unnest(tables) FROM memoir._writers()") <= names(tx, tables)


def test_every_role_has_the_rights_it_is_due_and_no_other(tx):
    assert tx.execute(DIFFERENCE.format("due", "given")).fetchall() == []
    assert tx.execute(DIFFERENCE.format("given", "due")).fetchall() == []


def test_public_has_none(tx):
    assert value(tx, "SELECT count(*) FROM memoir._rights_given() WHERE role = 'PUBLIC'") == 0


def test_every_table_with_a_user_has_row_level_security_and_its_policies(tx):
    without = tx.execute(
        "SELECT c.oid::regclass::text FROM pg_class AS c"
        " JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attname = 'user_id'"
        " WHERE c.relnamespace = 'memoir'::regnamespace AND c.relkind IN ('r', 'p')"
        " AND NOT (c.relrowsecurity AND EXISTS (SELECT FROM pg_policy AS p"
        "   WHERE p.polrelid = c.oid AND p.polname = 'own_rows' AND p.polcmd = '*'))"
    )
    assert without.fetchall() == []
