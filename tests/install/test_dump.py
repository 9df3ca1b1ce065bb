"""pg_dump and back, on both roads: the restored database remembers, recalls and goes on alike."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import psycopg
import pytest
from psycopg import errors
from psycopg.conninfo import make_conninfo
from tests import frozen_data
from tests.rows import call, fill, remember

from pgmemoir import migrations
from pgmemoir import server as embedded

ROADS = ("migrate", "extension")


class Road(SimpleNamespace):
    """A road into a database.

    ``database`` makes an empty database and returns its address, ``install`` installs there, and
    ``filled`` is the address of one with the data of the newest release.
    """

    def connect(self, dsn: str) -> psycopg.Connection:
        return psycopg.connect(dsn, autocommit=True)


@pytest.fixture(scope="module")
def tools(pytestconfig) -> Path:
    return embedded.psql(pytestconfig.getoption("pg")).parent


@pytest.fixture
def run(tools) -> Callable[..., bytes]:
    """Runs a tool of PostgreSQL; what it says on the way is a failure too."""

    def call_tool(name: str, *arguments: object, given: bytes | None = None) -> bytes:
        done = subprocess.run(
            [tools / name, *map(str, arguments)], input=given, capture_output=True, check=False
        )
        assert (done.returncode, done.stderr.decode()) == (0, "")
        return done.stdout

    return call_tool


@pytest.fixture(scope="module", params=ROADS)
def road(request, server, extension_server) -> Iterator[Road]:
    """Each road, with a database that upkeep has seen: events have tables of months, or one."""
    if request.param == "extension":
        database = extension_server.database
        install = "CREATE EXTENSION pgmemoir CASCADE"
    else:
        database, install = _databases(server), None
    made = Road(name=request.param, database=database, install=lambda conn: _install(conn, install))
    made.filled = made.database()
    with made.connect(made.filled) as conn:
        made.install(conn)
        frozen_data.load(conn, frozen_data.versions()[-1])
        conn.execute("CALL memoir.maintain_all()")
        call(conn, "event_add", type="alert", payload={"title": "Disk is full"}, user_id="ada")
    return made


def _databases(server) -> Callable[[], str]:
    """Makes empty databases on the server of the run."""
    address = make_conninfo(host=server.host, port=server.port, user=server.user)
    numbers = iter(range(1000))

    def database() -> str:
        name = f"dump{next(numbers)}"
        with psycopg.connect(address, dbname="postgres", autocommit=True) as admin:
            admin.execute(f"CREATE DATABASE {name}")
        return make_conninfo(address, dbname=name)

    return database


def _install(conn: psycopg.Connection, statement: str | None) -> None:
    if statement:
        conn.execute(statement)
    else:
        migrations.up(conn)


def _written(lines: set[str]) -> set[str]:
    """The catalogue without what the server writes differently when it reads its own words."""
    return {re.sub(r"::[a-z\" \[\]]+|[()\s]", "", line) for line in lines}


def _alike(one: psycopg.Connection, other: psycopg.Connection) -> None:
    """Same rows and sequences, and recall says the same, now and of a past time."""
    assert frozen_data.contents(other) == frozen_data.contents(one)
    for as_of in (None, frozen_data.AS_OF):
        assert frozen_data.ask(other, as_of) == frozen_data.ask(one, as_of)


def _next_jobs(conn: psycopg.Connection) -> list[object]:
    """What a worker would be given, not taken."""
    with conn.transaction(force_rollback=True):
        return [
            (job.kind, job.payload)
            for user in ("ada", "李雷", "moved")
            for job in call(conn, "claim", user_id=user, n=20, worker="w")
        ]


def test_a_plain_dump_is_the_same_database(road, run, catalogue):
    restored = road.database()
    run("psql", "-qX", "-v", "ON_ERROR_STOP=1", "-o", "/dev/null", "-d", restored,
        given=run("pg_dump", "-d", road.filled))  # fmt: skip
    with road.connect(road.filled) as one, road.connect(restored) as other:
        _alike(one, other)
        assert _written(catalogue(other)) == _written(catalogue(one))
        assert _next_jobs(other) == _next_jobs(one)
        assert remember(other, "Said after the restore") == remember(one, "Said after the restore")


def test_a_custom_dump_is_the_same_database(road, run, tmp_path):
    restored, file = road.database(), tmp_path / "memoir.dump"
    run("pg_dump", "-Fc", "-f", file, "-d", road.filled)
    # Rows of an extension are loaded in one order: not in parallel.
    parallel = ["-j", "2"] if road.name == "migrate" else []
    run("pg_restore", "--exit-on-error", *parallel, "-d", restored, file)
    with road.connect(road.filled) as one, road.connect(restored) as other:
        _alike(one, other)


def test_a_dump_of_data_alone_goes_into_a_fresh_installation(road, run):
    restored = road.database()
    with road.connect(restored) as conn:
        road.install(conn)
    data = run("pg_dump", "--data-only", "--load-via-partition-root", "-n", "memoir",
               "-d", road.filled)  # fmt: skip
    run("psql", "-qX", "-v", "ON_ERROR_STOP=1", "-o", "/dev/null", "-d", restored, given=data)
    with road.connect(road.filled) as one, road.connect(restored) as other:
        _alike(one, other)
        assert {row.state for row in migrations.status(other)} == {"applied"}


def test_rules_and_synonyms_of_somebody_act_in_the_restored_database(road, run):
    restored = road.database()
    with road.connect(restored) as conn:
        road.install(conn)
        run("psql", "-qX", "-v", "ON_ERROR_STOP=1", "-d", restored,
            given=run("pg_dump", "--data-only", "-t", "memoir.redaction_rule",
                      "-t", "memoir.synonym", "-d", road.filled))  # fmt: skip
        assert conn.execute("SELECT memoir.redact('BDG-123456')").fetchone() == (
            "[redacted:badge]",
        )
        found = conn.execute("SELECT memoir.expand_keywords('{azafrán}')").fetchone()
        assert "saffron" in str(found)


def test_rows_that_the_dump_has_not_stay(road, run):
    restored = road.database()
    data = run("pg_dump", "--data-only", "-t", "memoir.kind", "-d", road.filled)
    with road.connect(restored) as conn:
        road.install(conn)
        conn.execute("UPDATE memoir.kind SET kind_id = 60, name = 'newer' WHERE name = 'goal'")
        run("psql", "-qX", "-v", "ON_ERROR_STOP=1", "-d", restored, given=data)
        kinds = conn.execute("SELECT name FROM memoir.kind WHERE kind_id > 50 OR name = 'goal'")
        assert {name for (name,) in kinds} == {"newer", "goal", "recipe"}


def test_outside_of_a_restore_a_key_is_taken_once(tx):
    with pytest.raises(errors.UniqueViolation):
        tx.execute("INSERT INTO memoir.setting VALUES ('notify', 'false', '')")


def test_one_table_is_restored_alone(road, run):
    restored = road.database()
    with road.connect(restored) as conn:
        road.install(conn)
    data = run("pg_dump", "--data-only", "-t", "memoir.session", "-t", "memoir.message",
               "-d", road.filled)  # fmt: skip
    run("psql", "-qX", "-v", "ON_ERROR_STOP=1", "-o", "/dev/null", "-d", restored, given=data)
    with road.connect(restored) as conn:
        assert len(call(conn, "messages", session_id="monday", user_id="ada")) == 2


def test_without_the_unlogged_tables_recall_is_the_same(road, run):
    restored = road.database()
    run("psql", "-qX", "-v", "ON_ERROR_STOP=1", "-o", "/dev/null", "-d", restored,
        given=run("pg_dump", "--no-unlogged-table-data", "-d", road.filled))  # fmt: skip
    with road.connect(road.filled) as one, road.connect(restored) as other:
        assert other.execute("SELECT count(*) FROM memoir.retrieval").fetchone() == (0,)
        assert frozen_data.ask(other) == frozen_data.ask(one)


def test_a_user_with_indexes_of_his_own_is_recalled_alike(road, run):
    source, restored = road.database(), road.database()
    with road.connect(source) as one, road.connect(restored) as other:
        road.install(one)
        one.execute("UPDATE memoir.setting SET value = '0.22' WHERE name = 'ann_gain'")
        fill(one, 30)
        assert ("index built",) in one.execute("SELECT action FROM memoir.maintain()").fetchall()
        data = run("pg_dump", "-d", source)
        run("psql", "-qX", "-v", "ON_ERROR_STOP=1", "-o", "/dev/null", "-d", restored, given=data)
        asked = "SELECT memoir.memory_context(query_text => 'memory')"
        assert other.execute(asked).fetchone() == one.execute(asked).fetchone()
        own = "SELECT ann FROM memoir.profile"
        # The extension's tables come without later indexes; upkeep builds them again.
        assert other.execute(own).fetchone() == ((1,) if road.name == "migrate" else (0,))
        other.execute("SELECT memoir.maintain()")
        assert other.execute(own).fetchone() == (1,)
