"""From each release to the present: the data of that release, its tables, then `migrations.up`."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

import psycopg
import pytest
from tests import frozen_data
from tests.application import CALLS, DROP_TABLES, add_tasks, attach, make_tables, memories
from tests.databases import database
from tests.install.conftest import GRANTS
from tests.rows import call, remember

from pgmemoir import migrations, paths, sqlfiles

VERSIONS = frozen_data.versions()

QUERY = "SELECT id AS source_id, title AS content, created_at AS changed_at FROM public.tasks"
SOURCES = """SELECT oid, proname, proowner, proacl, proconfig, prosrc FROM pg_proc
WHERE proname ~ '^_source_[0-9]' ORDER BY proname"""
OWN = "SELECT to_regproc('memoir.my_tool')::text, to_regclass('memoir.my_view')::text"


@pytest.fixture(scope="module", params=VERSIONS)
def version(request) -> str:
    return request.param


@pytest.fixture(scope="module")
def upgraded(server, version, request):
    """A database with the data of the version, upgraded, and what was in it before."""
    is_released = version in sqlfiles.releases(paths.installed())
    template = "template1" if is_released else request.getfixturevalue("frozen_template")
    with (
        database(server, "upgraded", template) as address,
        psycopg.connect(**address, autocommit=True) as conn,
    ):
        if is_released:
            frozen_data.install(conn, version)
        before = frozen_data.contents(conn)
        migrations.up(conn)
        yield conn, before


def test_upgraded_is_fresh(upgraded, db, catalogue):
    conn, _ = upgraded
    with conn.transaction(force_rollback=True):
        # Rules and kinds of the data are compiled into functions; with those of the installation:
        conn.execute("SET LOCAL session_replication_role = replica")
        conn.execute("DELETE FROM memoir.redaction_rule WHERE name = 'badge'")
        conn.execute("UPDATE memoir.redaction_rule SET enabled = true WHERE name = 'discord'")
        conn.execute("DELETE FROM memoir.kind WHERE name = 'recipe'")
        conn.execute("SELECT memoir.compile_configuration()")
        assert catalogue(conn) == catalogue(db)


def test_nothing_is_lost(upgraded):
    conn, before = upgraded
    columns = {table: found["columns"] for table, found in before.items() if "columns" in found}
    after = frozen_data.contents(conn, only=columns)
    assert {name: after[name] for name in before} == before


def test_recall_says_what_it_said(upgraded, version):
    assert frozen_data.ask(upgraded[0]) == frozen_data.answers(version)


def test_ids_go_on(upgraded):
    conn, _ = upgraded
    (last,) = conn.execute("SELECT max(memory_id) FROM memoir.memory").fetchone()
    with conn.transaction(force_rollback=True):
        assert remember(conn, "Said after the upgrade") > last


def test_the_newest_data_set_has_a_row_in_every_table(upgraded, version):
    if version == VERSIONS[-1]:
        rows = frozen_data.contents(upgraded[0])
        empty = [name for name, found in rows.items() if found.get("rows") == 0]
        # Add a statement to tests/install/frozen/fill.sql, then: scripts/freeze_data.py
        assert empty == []


def test_every_release_has_its_data():
    released = sqlfiles.releases(paths.installed())
    assert {*released} <= {*VERSIONS}


class BroughtUp(NamedTuple):
    """An older build with a memory and two attached tables, brought up to date.

    Args:
        conn: an autocommit connection to it.
        outdated: what was not made as it is now, before.
        kept: whether the rows are those of before.
        told: what the upgrade said.
    """

    conn: psycopg.Connection
    outdated: list[str]
    kept: bool
    told: list[str | None]


@pytest.fixture(scope="module")
def brought_up(server, older_tree) -> Iterator[BroughtUp]:
    with database(server, "older") as address, psycopg.connect(**address, autocommit=True) as conn:
        migrations.up(conn, source=older_tree)
        remember(conn, "Ada likes tea")
        conn.execute(GRANTS)
        make_tables(conn)
        for table in "tasks", "goals":
            attach(conn, table)
        add_tasks(conn, "Water the fern")
        conn.execute("ALTER TABLE goals DROP priority")
        before, outdated, told = frozen_data.contents(conn), migrations.outdated(conn), []
        conn.add_notice_handler(lambda notice: told.append(notice.message_primary))
        migrations.up(conn)
        yield BroughtUp(conn, outdated, frozen_data.contents(conn) == before, told)


def test_an_older_build_is_brought_up_to_date(brought_up, db, catalogue):
    assert brought_up.outdated == [
        "function memoir._content_hash(text,text,text,integer,text,integer)",
        "function memoir._decay(double precision,double precision)",
        "function memoir._index_plan(text)",
        "function memoir.estimate_tokens(text)",
        "function memoir.old(text)",
        "view memoir.aged",
    ]
    assert brought_up.kept
    assert migrations.outdated(brought_up.conn) == []
    db.execute(GRANTS)
    with brought_up.conn.transaction(force_rollback=True) as undone:
        assert remember(undone.connection, "Ada likes tea") == 1
        for table in "tasks", "goals":
            call(undone.connection, "detach_source", name=table)
        undone.connection.execute(DROP_TABLES)
        assert catalogue(undone.connection) == catalogue(db)


def test_a_table_attached_before_follows_the_upgraded_code(brought_up):
    assert brought_up.told == [
        'source "goals" keeps the functions of an earlier version: goals has no column'
        ' "priority" for data'
    ]
    brought_up.conn.execute("UPDATE tasks SET title = 'Water the moss'")
    assert memories(brought_up.conn) == {"Water the moss": "active"}


def test_what_a_superuser_makes_belongs_to_the_owner_but_for_an_extension(empty_db, owner_db):
    made_by = "SELECT proowner::regrole::text FROM pg_proc WHERE proname IN ('stats', 'recall')"
    empty_db.execute("CREATE SCHEMA memoir AUTHORIZATION plain")
    empty_db.execute("CREATE EXTENSION vector SCHEMA memoir")
    migrations.up(owner_db)
    owner_db.execute("DROP FUNCTION memoir.stats")
    migrations.up(empty_db, anew=True)
    assert owner_db.execute(made_by).fetchall() == [("plain",), ("plain",)]
    with pytest.raises(psycopg.errors.InsufficientPrivilege, match="must be owner of function"):
        owner_db.execute("ALTER FUNCTION memoir.vector_dims(memoir.vector) STABLE")


def test_sources_and_what_the_application_made_are_there_after_upgrades(db):
    db.execute("CREATE FUNCTION memoir.my_tool() RETURNS int LANGUAGE sql RETURN 1")
    db.execute("CREATE VIEW memoir.my_view AS SELECT 1 AS number")
    make_tables(db)
    for table in CALLS:
        attach(db, table, write_retrievals=table == "cecelia_events")
    call(db, "attach_source", name="made", kind="fact", query=QUERY, user_id="ada")
    made = db.execute(SOURCES).fetchall()
    upgrade = partial(migrations.up, db, anew=True)
    for again in upgrade, upgrade, partial(call, db, "compile_configuration"):
        db.execute("ALTER FUNCTION memoir._source_1_read RESET search_path")
        again()
        assert db.execute(SOURCES).fetchall() == made
        assert db.execute(OWN).fetchone() == ("memoir.my_tool", "memoir.my_view")
    assert len(made) == 12
