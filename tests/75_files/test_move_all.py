"""Everything of a user goes through an export and an import: no table, no column is forgotten."""

from __future__ import annotations

import json

import psycopg
from psycopg.sql import SQL, Identifier
from tests.moving import export, import_lines, live, moved_rows, user_tables
from tests.rows import call, value

# What an export leaves out: made anew by the import, or work in progress.
DERIVED = {"trace", "term"}
IN_PROGRESS = {"job", "uncompared", "source_error", "import"}
# The record in which the rows of a table stand, where it has another name.
RECORDS = {
    "profile": "user",
    "keyword": "memory",
    "mention": "memory",
    "access": "memory",
    "gold_relevant": "gold",
    "query_expansion": "expansion",
}


def test_every_table_of_users_is_moved_derived_or_in_progress(tx: psycopg.Connection) -> None:
    moved = set(user_tables(tx)) - DERIVED - IN_PROGRESS
    records = [row[0] for row in tx.execute("SELECT record FROM memoir._records()")]
    assert {RECORDS.get(name, name) for name in moved} == set(records)


def test_every_column_is_there_again(lived: psycopg.Connection) -> None:
    import_lines(lived, export(lived, "ada", vectors=True), "bob")
    for user in ("ada", "bob"):
        call(lived, "refresh_statistics", user_id=user)
    for table in sorted(set(user_tables(lived)) - IN_PROGRESS):
        before, after = (moved_rows(lived, table, user) for user in ("ada", "bob"))
        assert before
        assert (table, before) == (table, after)


def test_the_export_of_what_was_imported_is_the_same(lived: psycopg.Connection) -> None:
    first = export(lived, "ada", vectors=True)
    import_lines(lived, first, "bob")
    assert export(lived, "bob", vectors=True)[1:] == first[1:]


def test_only_rows_of_the_user_are_in_it(lived: psycopg.Connection) -> None:
    live(lived, "bob", "Tuvalu")
    text = "\n".join(export(lived, "ada", vectors=True))
    assert ("Zanzibar" in text, "Tuvalu" in text, "bob" in text) == (True, False, False)


def test_the_first_line_counts_every_record(lived: psycopg.Connection) -> None:
    header, *lines = map(json.loads, export(lived, "ada"))
    counts: dict[str, int] = {}
    for line in lines[:-1]:
        (record,) = line
        counts[record] = counts.get(record, 0) + 1
    assert header["pgmemoir"]["counts"] == counts
    every = lived.execute("SELECT record FROM memoir._records()").fetchall()
    assert set(counts) == {record for (record,) in every}


def test_the_highest_id_is_that_of_all_sequences(lived: psycopg.Connection) -> None:
    header = json.loads(export(lived, "ada")[0])["pgmemoir"]
    ids = [
        value(
            lived,
            SQL("SELECT max({}) FROM memoir.{} WHERE user_id = 'ada'")
            .format(Identifier(column), Identifier(table))
            .as_string(lived),
        )
        for table, column in (("memory", "memory_id"), ("revision", "revision_id"))
    ]
    assert int(header["highest_id"]) >= max(ids)
