"""Rules for every function of the catalogue: bound, watched by the snapshot, checked as a whole."""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import Path

import psycopg
import pytest

SNAPSHOT = Path(__file__).resolve().parents[1] / "install/snapshot.sql"
OURS = "pronamespace = 'memoir'::regnamespace"
# The arguments with which plpgsql_check looks at a trigger function: the table that fires it. It
# cannot see the fields of an argument of type record, nor a view that is made at run time.
CHECK = """
SELECT p.oid::regprocedure::text, c.message
FROM pg_proc AS p
JOIN pg_language AS l ON l.oid = p.prolang AND l.lanname = 'plpgsql'
LEFT JOIN LATERAL (
    SELECT t.tgrelid FROM pg_trigger AS t WHERE t.tgfoid = p.oid LIMIT 1) AS t ON true
CROSS JOIN LATERAL plpgsql_check_function_tb(p.oid, coalesce(t.tgrelid, 0)) AS c
WHERE p.pronamespace = 'memoir'::regnamespace AND c.level = 'error'
  AND (p.prorettype <> 'trigger'::regtype OR t.tgrelid IS NOT NULL)
  AND p.proname NOT IN ('_check_record', '_checked_query')
"""
# A string in which a backslash is one only while standard_conforming_strings is on.
PLAIN_STRING = re.compile(r"--[^\n]*|[eE]'(?:[^'\\]|\\.|'')*'|'(?P<plain>(?:[^']|'')*)'", re.DOTALL)


def test_every_sql_function_is_bound_when_it_is_made(tx):
    loose = tx.execute(
        "SELECT p.oid::regprocedure::text FROM pg_proc AS p"
        f" JOIN pg_language AS l ON l.oid = p.prolang AND l.lanname = 'sql' WHERE {OURS}"
        " AND p.prosqlbody IS NULL AND coalesce(p.proconfig::text, '') !~ 'search_path=memoir, '"
    )
    assert loose.fetchall() == []


def test_a_function_with_a_backslash_in_a_string_says_how_strings_are_read(tx):
    # PL/pgSQL reads its text when it is first called, by the settings of whoever calls it.
    texts = tx.execute(
        "SELECT p.proname, p.prosrc FROM pg_proc AS p"
        f" JOIN pg_language AS l ON l.oid = p.prolang AND l.lanname = 'plpgsql' WHERE {OURS}"
        " AND coalesce(p.proconfig::text, '') !~ 'standard_conforming_strings=on'"
    ).fetchall()
    loose = {
        name
        for name, text in texts
        for string in PLAIN_STRING.finditer(text)
        if "\\" in (string["plain"] or "")
    }
    assert loose == set()


def test_no_variable_hides_found_or_another_variable(tx):
    # IF FOUND asks the variable of that name, not the statement before it.
    definitions = tx.execute(
        "SELECT p.proname, pg_get_functiondef(p.oid) FROM pg_proc AS p"
        f" JOIN pg_language AS l ON l.oid = p.prolang AND l.lanname = 'plpgsql' WHERE {OURS}"
    ).fetchall()
    warnings: list[str | None] = []
    tx.add_notice_handler(lambda notice: warnings.append(notice.message_primary))
    tx.execute("SET LOCAL plpgsql.extra_warnings = 'shadowed_variables'")
    hiding = {}
    for name, definition in definitions:
        warnings.clear()
        tx.execute(definition)
        hiding |= {name: [*warnings]} if warnings else {}
    assert hiding == {}


def test_the_snapshot_has_every_function_with_its_text(tx):
    lines = defaultdict(set)
    for (line,) in tx.execute(SNAPSHOT.read_bytes()):
        lines[line.partition(") ")[0] + ")"].add(line)
    functions = tx.execute(
        f"SELECT oid::regprocedure::text, pg_get_functiondef(oid) FROM pg_proc WHERE {OURS}"
        " AND prokind IN ('f', 'p')"
    ).fetchall()
    assert len(functions) > 400
    missing = {
        name for name, text in functions if not any(line.endswith(text) for line in lines[name])
    }
    assert missing == set()


def test_the_snapshot_has_every_table_view_and_trigger(tx):
    lines = "\n".join(row[0] for row in tx.execute(SNAPSHOT.read_bytes()))
    names = tx.execute(
        "SELECT oid::regclass::text FROM pg_class WHERE relnamespace = 'memoir'::regnamespace"
        " AND relkind IN ('r', 'p', 'v', 'S', 'i', 'I')"
        " UNION ALL SELECT tgname FROM pg_trigger WHERE NOT tgisinternal"
    ).fetchall()
    assert [name for (name,) in names if name not in lines] == []


def test_plpgsql_check_finds_no_error(tx):
    there = "SELECT FROM pg_available_extensions WHERE name = 'plpgsql_check'"
    if tx.execute(there).fetchone() is None:
        pytest.skip("the extension plpgsql_check is not there for this server")
    try:
        tx.execute("CREATE EXTENSION plpgsql_check")
    except psycopg.Error as error:
        pytest.skip(f"plpgsql_check cannot be made: {error}")
    assert tx.execute(CHECK).fetchall() == []
