"""pg_dump and back, on both roads: the restored database remembers, recalls and goes on alike."""

from __future__ import annotations

import itertools
import re
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

import psycopg
import pytest
from psycopg import errors
from psycopg.conninfo import make_conninfo
from tests import frozen_data
from tests.databases import CREATE
from tests.rows import call, remember, set_to, store

from pgmemoir import migrations
from pgmemoir import server as embedded


class Road(NamedTuple):
    """A way into a database.

    Args:
        name: migrate or extension.
        database: makes a database, with nothing in it or a copy of the one named; its address.
        filled: a database with the data of the newest release, that upkeep has seen: events have
            tables of months, or one; and a user with indexes of his own. One connection for all
            tests: its plans are made once.
        said: what recall says there now, and of a past time.
    """

    name: str
    database: Callable[..., str]
    filled: psycopg.Connection
    said: tuple[dict[str, list[str]], dict[str, list[str]]]


@contextmanager
def _road(name: str, database: Callable[..., str], frozen: str) -> Iterator[Road]:
    with psycopg.connect(database(frozen), autocommit=True) as conn:
        conn.execute("CALL memoir.maintain_all()")
        call(conn, "event_add", type="alert", payload={"title": "Disk is full"}, user_id="ada")
        conn.execute("CREATE TABLE public.chore (id int PRIMARY KEY, body text)")
        conn.execute(
            "SELECT memoir.attach_source("
            "'chores', 'task', 'public.chore', '{body}', '{id}', user_id => 'ada')"
        )
        set_to(conn, ann_gain=0.22)
        store(conn, ({"content": f"memory {n}", "embedding": f"[{n},1,0,0]"} for n in range(30)))
        assert ("index built",) in conn.execute("SELECT action FROM memoir.maintain()").fetchall()
        said = frozen_data.ask(conn, None), frozen_data.ask(conn)
        yield Road(name, database, conn, said)


@pytest.fixture(scope="module")
def migrate_road(installed, frozen_template) -> Iterator[Road]:
    address = make_conninfo(host=installed.host, port=installed.port, user=installed.user)
    numbers = itertools.count(1)

    def database(template: str = "template1") -> str:
        name = f"dump{next(numbers)}"
        with psycopg.connect(address, dbname="postgres", autocommit=True) as admin:
            admin.execute(CREATE.format(name, template))
        return make_conninfo(address, dbname=name)

    with _road("migrate", database, frozen_template) as made:
        yield made


@pytest.fixture(scope="module")
def extension_road(extension_server, frozen_extension) -> Iterator[Road]:
    with _road("extension", extension_server.database, frozen_extension) as made:
        yield made


@pytest.fixture(params=["migrate_road", "extension_road"])
def road(request) -> Road:
    return request.getfixturevalue(request.param)


@pytest.fixture
def run(pytestconfig) -> Callable[..., bytes]:
    """Runs a tool of PostgreSQL; what it complains of is a failure."""
    tools = embedded.psql(pytestconfig.getoption("pg")).parent

    def call_tool(name: str, *arguments: object, given: bytes | None = None) -> bytes:
        command = [tools / name, *map(str, arguments)]
        done = subprocess.run(command, input=given, capture_output=True, check=False)
        assert (done.returncode, done.stderr.decode()) == (0, "")
        return done.stdout

    return call_tool


@pytest.fixture
def copy(run) -> Callable[..., None]:
    """Dumps a database, with options of pg_dump, as SQL into another."""

    def dump_and_load(source: str, target: str, *options: str) -> None:
        dumped = run("pg_dump", *options, "-d", source)
        run("psql", "-qX", "-v", "ON_ERROR_STOP=1", "-o", "/dev/null", "-d", target, given=dumped)

    return dump_and_load


@pytest.fixture
def load(copy, migrate_road, dsn) -> Callable[..., None]:
    """Dumps the filled database of memoir migrate, with options, into that of the test."""
    return lambda *options: copy(migrate_road.filled.info.dsn, dsn, *options)


def _written(lines: set[str]) -> set[str]:
    """The catalogue without what the server writes differently when it reads its own words."""
    return {re.sub(r"::[a-z\" \[\]]+|\bAS \w+|[()\s]", "", line) for line in lines}


def _alike(road: Road, other: psycopg.Connection, indexed: bool = True) -> None:
    """Same rows and sequences as on the road, and recall says the same.

    Args:
        indexed: whether users have the indexes of their own that they had.
    """
    columns = frozen_data.given_columns(other, "profile")
    only = {"profile": columns if indexed else [*{*columns} - {"ann", "counted", "counted_up_to"}]}
    assert frozen_data.contents(other, only) == frozen_data.contents(road.filled, only)
    if frozen_data.ask(other, None) != road.said[0]:  # another day has begun
        assert frozen_data.ask(other, None) == frozen_data.ask(road.filled, None)


def _next_jobs(conn: psycopg.Connection) -> list[object]:
    """What a worker would be given, not taken; a summary's said_at is when it was given."""
    with conn.transaction(force_rollback=True):
        return [
            (job.kind, {**job.payload, "said_at": None})
            for user in ("ada", "李雷", "moved")
            for job in call(conn, "claim", user_id=user, n=20, worker="w")
        ]


def _goes_on(conn: psycopg.Connection) -> list[object]:
    """What a new memory and a new row of an attached table become."""
    with conn.transaction(force_rollback=True):
        remember(conn, "Said after the restore")
        conn.execute("INSERT INTO public.chore VALUES (1, 'Water the plants')")
        last = "SELECT memory_id, content FROM memoir.memory ORDER BY memory_id DESC LIMIT 2"
        return conn.execute(last).fetchall()


def test_a_plain_dump_is_the_same_database(road, copy, catalogue):
    own = "SELECT ann FROM memoir.profile WHERE user_id = 'default'"
    asked = "SELECT memoir.memory_context(query_text => 'memory')"
    restored, one, indexed = road.database(), road.filled, road.name == "migrate"
    copy(one.info.dsn, restored)
    with psycopg.connect(restored, autocommit=True) as other:
        _alike(road, other, indexed)
        assert frozen_data.ask(other) == road.said[1]
        assert other.execute(asked).fetchone() == one.execute(asked).fetchone()
        # A dump has no later indexes of the extension's tables; upkeep builds them again.
        assert other.execute(own).fetchone() == (int(indexed),)
        other.execute("SELECT memoir.maintain()")
        assert other.execute(own).fetchone() == (1,)
        there, here = catalogue(other), catalogue(one)
        assert _written(there - here) == _written(here - there)
        assert _next_jobs(other) == _next_jobs(one)
        assert _goes_on(other) == _goes_on(one)


def test_a_custom_dump_restored_in_parallel_is_the_same_database(migrate_road, run, tmp_path):
    # Without -j it is on the road of the extension, too, whose rows pg_restore -j does not order.
    restored, file = migrate_road.database(), tmp_path / "memoir.dump"
    run("pg_dump", "-Fc", "-f", file, "-d", migrate_road.filled.info.dsn)
    # --clean, as many scripts say it: a view that depends on a primary key would stop it.
    options = ("--exit-on-error", "--clean", "--if-exists", "-j", "2")
    run("pg_restore", *options, "-d", restored, file)
    with psycopg.connect(restored, autocommit=True) as other:
        _alike(migrate_road, other)


def test_a_dump_of_data_alone_goes_into_a_fresh_installation(db, load, migrate_road):
    # Without the unlogged tables, in which is nothing that recall needs.
    options = ("--data-only", "--load-via-partition-root", "--no-unlogged-table-data")
    load(*options, "-n", "memoir")
    assert db.execute("SELECT count(*) FROM memoir.retrieval").fetchone() == (0,)
    with db.transaction(force_rollback=True):
        assert frozen_data.ask(db) == migrate_road.said[1]
    load("--data-only", "-t", "memoir.retrieval", "-t", "memoir.tool_call")
    _alike(migrate_road, db, indexed=False)
    assert {row.state for row in migrations.status(db)} == {"applied"}
    # Rules and synonyms act where they were restored.
    redacted = db.execute("SELECT memoir.redact('BDG-123456')").fetchone()
    assert redacted == ("[redacted:badge]",)
    assert "saffron" in str(db.execute("SELECT memoir.expand_keywords('{azafrán}')").fetchone())


def test_rows_that_the_dump_has_not_stay(db, load):
    db.execute("UPDATE memoir.kind SET kind_id = 60, name = 'newer' WHERE name = 'goal'")
    load("--data-only", "-t", "memoir.kind")
    kinds = db.execute("SELECT name FROM memoir.kind WHERE kind_id > 50 OR name = 'goal'")
    assert {name for (name,) in kinds} == {"newer", "goal", "recipe"}


def test_outside_of_a_restore_a_key_is_taken_once(tx):
    with pytest.raises(errors.UniqueViolation):
        tx.execute("INSERT INTO memoir.setting VALUES ('notify', 'false', '')")


def test_some_tables_are_restored_alone(db, load):
    load("--data-only", "-t", "memoir.session", "-t", "memoir.message")
    assert len(call(db, "messages", session_id="monday", user_id="ada")) == 2


def load_rows(run, db, table, rows):
    head = "SET check_function_bodies = off; SELECT set_config('search_path', '', false);\n"
    copy = f"COPY memoir.{table} FROM stdin;\n{rows}\n\\.\n"
    run("psql", "-qX", "-o", "/dev/null", "-d", db.info.dsn, given=(head + copy).encode())


def test_the_model_in_use_may_come_before_the_one_that_was(db, run):
    columns = "embedding_model (model_id, name, dimensions, active)"
    load_rows(run, db, columns, "2\tother\t3\tt\n1\ttoy\t4\tf")
    found = db.execute("SELECT name, dimensions FROM memoir.embedding_model ORDER BY active")
    assert found.fetchall() == [("toy", 4), ("other", 3)]


def test_a_dump_with_a_wrong_setting_loads_and_health_tells(db, run):
    load_rows(run, db, "setting (name, value, description)", 'lower_by\t"much"\t')
    found = db.execute("SELECT value FROM memoir.health() WHERE name = 'settings'")
    assert found.fetchone() == ('out of range: lower_by = "much"',)
