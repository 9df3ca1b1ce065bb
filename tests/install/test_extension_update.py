"""ALTER EXTENSION pgmemoir UPDATE: from a release, simulated, to the present."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

import psycopg
import pytest
from psycopg import errors
from tests import frozen_data
from tests.application import DROP_TABLES, add_tasks, attach, fill, make_tables, memories
from tests.install.conftest import GRANTS, NAMED_OTHERWISE, Tree
from tests.rows import call

from pgmemoir import migrations

CONTROL = "default_version = '{}'\nschema = memoir\nrelocatable = false\nsuperuser = false\n"
TWICE = "CREATE OR REPLACE FUNCTION twice(a int{}) RETURNS int LANGUAGE sql RETURN a * 2;\n"
DEPENDENCES = """SELECT substring(p.proname FROM '[a-z]+$'), d.deptype::text
FROM pg_proc AS p JOIN pg_depend AS d ON d.objid = p.oid AND d.refclassid = 'pg_extension'::regclass
WHERE p.proname ~ '^_source_[0-9]' ORDER BY p.proname"""
TWO = "CREATE OR REPLACE VIEW two AS SELECT 2 AS two;\n"


def _release(tree, version: str) -> None:
    """Freeze the migrations that the tree has now."""
    lines = [
        f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n"
        for path in sorted(tree.migrations.glob("0*.sql"))
    ]
    tree.write("migrations/released.txt", "".join([f"# {version}\n", *lines]))


Publish = Callable[[Tree, Callable[[Tree], object]], None]


@contextmanager
def _publishing(extension_server, builder) -> Iterator[Publish]:
    """Publishes two versions of a tree of SQL: as it is, and as a function leaves it."""
    control = (extension_server.files / "pgmemoir.control").read_text()

    def publish(tree, change) -> None:
        old = builder.extension(tree, "7.1")
        _release(tree, "7.1")
        change(tree)
        new = builder.extension(tree, "7.2")
        scripts = {"7.1": old.install, "7.2": new.install, "7.1--7.2": new.updates["7.1"]}
        requires = "requires = 'vector'\n"
        extension_server.publish("pgmemoir", CONTROL.format("7.2") + requires, scripts)

    yield publish
    extension_server.publish("pgmemoir", control, {})


@pytest.fixture
def published(extension_server, builder) -> Iterator[Publish]:
    with _publishing(extension_server, builder) as publish:
        yield publish


def _upgrade(extension_server) -> tuple[psycopg.Connection, psycopg.Connection]:
    """A database upgraded from 7.1 to 7.2, and a fresh one with 7.2."""
    upgraded, fresh = (
        psycopg.connect(extension_server.database(), autocommit=True) for _ in range(2)
    )
    upgraded.execute("CREATE EXTENSION pgmemoir VERSION '7.1' CASCADE")
    upgraded.execute("ALTER EXTENSION pgmemoir UPDATE")
    fresh.execute("CREATE EXTENSION pgmemoir CASCADE")
    return upgraded, fresh


def test_upgraded_is_fresh_and_what_the_code_makes_no_more_is_gone(
    extension_server, published, tree, catalogue
):
    def change(tree) -> None:
        tree.write("migrations/0003_day.sql", "ALTER TABLE note ADD day date;\n")
        tree.write("sql/30_more/twice.sql", TWICE.format(", b int DEFAULT 0"))
        (tree.sql / "30_more/views.sql").unlink()

    tree.write("sql/30_more/twice.sql", TWICE.format(""))
    views = (
        "CREATE OR REPLACE VIEW one AS SELECT 1 AS a;\nCREATE OR REPLACE VIEW two AS TABLE one;\n"
    )
    tree.write("sql/30_more/views.sql", views)
    published(tree, change)
    upgraded, fresh = _upgrade(extension_server)
    with upgraded, fresh:
        assert catalogue(upgraded) == catalogue(fresh)
        assert upgraded.execute("SELECT memoir.twice(4)").fetchone() == (8,)
        states = {row.state for row in migrations.status(upgraded, source=tree)}
    assert states == {"applied"}


def test_a_view_that_others_use_stops_the_upgrade(extension_server, published, tree):
    published(tree, lambda tree: (tree.sql / "20_view/bodies.sql").unlink())
    with psycopg.connect(extension_server.database(), autocommit=True) as conn:
        conn.execute("CREATE EXTENSION pgmemoir VERSION '7.1' CASCADE")
        conn.execute("CREATE VIEW public.mine AS SELECT * FROM memoir.bodies")
        with pytest.raises(errors.DependentObjectsStillExist, match=r"memoir\.bodies"):
            conn.execute("ALTER EXTENSION pgmemoir UPDATE")
        assert conn.execute("SELECT * FROM public.mine").fetchone() == ("第一",)


def test_what_another_server_named_otherwise_is_not_dropped(extension_server, published, tree):
    published(tree, lambda tree: tree.write("sql/20_view/two.sql", TWO))
    with psycopg.connect(extension_server.database(), autocommit=True) as conn:
        conn.execute("CREATE EXTENSION pgmemoir VERSION '7.1' CASCADE")
        conn.execute(NAMED_OTHERWISE)
        conn.execute("ALTER EXTENSION pgmemoir UPDATE")
        assert conn.execute("SELECT memoir.body(1)").fetchone() == ("第一",)


def test_what_a_session_quotes_is_not_dropped(extension_server, published, tree):
    published(tree, lambda tree: tree.write("sql/30_more/two.sql", TWO))
    with psycopg.connect(extension_server.database(), autocommit=True) as conn:
        conn.execute("CREATE EXTENSION pgmemoir VERSION '7.1' CASCADE")
        conn.execute("SET quote_all_identifiers = on")
        conn.execute("ALTER EXTENSION pgmemoir UPDATE")
        assert conn.execute("SELECT * FROM memoir.bodies").fetchone() == ("第一",)
        assert conn.execute("SHOW quote_all_identifiers").fetchone() == ("on",)


class BroughtUp(NamedTuple):
    """An older build with the data of the newest release and two attached tables, updated.

    Args:
        conn: an autocommit connection to it.
        kept: whether the rows are those of before.
        answers: what recall says to the questions of the data.
        told: what the update said.
    """

    conn: psycopg.Connection
    kept: bool
    answers: dict[str, list[str]]
    told: list[str | None]


@pytest.fixture(scope="module")
def brought_up(extension_server, builder, older_tree) -> Iterator[BroughtUp]:
    with psycopg.connect(extension_server.database(), autocommit=True) as conn:
        with _publishing(extension_server, builder) as publish:
            publish(older_tree, lambda tree: tree.copy("sql"))
            conn.execute("CREATE EXTENSION pgmemoir VERSION '7.1' CASCADE")
            frozen_data.load(conn, frozen_data.versions()[-1])
            conn.execute(GRANTS)
            make_tables(conn)
            attach(conn, "tasks")
            query = "SELECT id AS source_id, title AS content FROM public.tasks"
            call(conn, "attach_source", name="titles", kind="fact", query=query, user_id="ada")
            add_tasks(conn, "Water the fern")
            before, told = frozen_data.contents(conn), []
            conn.add_notice_handler(lambda notice: told.append(notice.message_primary))
            conn.execute("ALTER EXTENSION pgmemoir UPDATE")
        kept = frozen_data.contents(conn) == before
        yield BroughtUp(conn, kept, frozen_data.ask(conn), told)


def test_an_upgrade_of_an_older_build_keeps_what_is_remembered_and_who_may_look(
    brought_up, extension_server, frozen_extension, catalogue
):
    assert brought_up.kept
    assert brought_up.answers == frozen_data.answers(frozen_data.versions()[-1])
    with psycopg.connect(extension_server.database(frozen_extension), autocommit=True) as fresh:
        fresh.execute(GRANTS)
        with brought_up.conn.transaction(force_rollback=True):
            for name in "tasks", "titles":
                call(brought_up.conn, "detach_source", name=name)
            brought_up.conn.execute(DROP_TABLES)
            assert catalogue(brought_up.conn) == catalogue(fresh)


def test_a_table_attached_before_follows_the_upgraded_code(brought_up):
    conn = brought_up.conn
    assert brought_up.told == []
    conn.execute("UPDATE tasks SET title = 'Water the moss'")
    assert memories(conn) == {"Water the moss": "active"}
    assert fill(conn, "tasks")[-1].complete
    assert conn.execute(DEPENDENCES).fetchall() == [("read", "x"), ("write", "x"), ("read", "x")]
