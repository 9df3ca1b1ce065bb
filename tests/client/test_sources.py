"""Attached tables from Python and from the shell; what a mapping SELECT may be."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import Any

import psycopg
import pytest
from click.testing import Result

from pgmemoir import BadSource, Memoir, sources

pytestmark = pytest.mark.once

TABLE = "CREATE TABLE ticket (id int PRIMARY KEY, title text, changed timestamptz DEFAULT now())"
SLOW = "SELECT g AS source_id, 'tea' AS content FROM generate_series(1, 1e9) AS g WHERE g < 0"
GOOD = "SELECT id AS source_id, title AS content FROM public.ticket"


@pytest.fixture
def app(db: psycopg.Connection) -> psycopg.Connection:
    """A table with two rows, not attached."""
    db.execute(TABLE)
    db.execute("INSERT INTO ticket VALUES (1, 'fix the gateway'), (2, '修复登录')")
    return db


def contents(db: psycopg.Connection) -> set[str]:
    return {text for (text,) in db.execute("SELECT content FROM memoir.memory")}


def test_a_table_is_attached_filled_listed_and_detached(
    app: psycopg.Connection, open_client: Callable[..., Any]
) -> None:
    client = open_client(user="ada", embedder=None)
    assert (
        client.attach_source("t", "task", "ticket", content=["title"], user_id="ada") == "filling"
    )
    assert client.fill_source("t", most=1) == sources.Filled(1, 1, 0, False)
    assert client.fill_source("t") == sources.Filled(1, 1, 0, True)
    (listed,) = client.sources()
    assert (listed.name, listed.state, listed.rows) == ("t", "following", 2)
    assert "修复登录" in client.context("登录")
    assert client.detach_source("t", "purge") == 2
    assert contents(app) == set()


@pytest.mark.usefixtures("app")
def test_a_query_is_pulled(open_client: Callable[..., Any]) -> None:
    client = open_client(user="ada", embedder=None)
    assert client.attach_source("q", "task", query=GOOD, user_id="ada") == "pulling"
    assert client.pull_source("q") == sources.Filled(2, 2, 0, True)
    with pytest.raises(BadSource, match="no source"):
        client.pull_source("other")


def test_an_unknown_output_is_a_mistake_of_the_program(open_client: Callable[..., Any]) -> None:
    with pytest.raises(TypeError, match="'contents'"):
        open_client().attach_source("t", "task", "ticket", contents="title")


@pytest.mark.parametrize(
    "query",
    [
        GOOD,
        f"{GOOD};",
        f"{GOOD} UNION ALL SELECT 0, 'nothing'",
        'SELECT id AS SOURCE_ID, title AS Content, changed AS "created_at" FROM ticket',
        "WITH t AS (SELECT * FROM ticket) SELECT id AS source_id, title AS content FROM t",
        "SELECT id::text AS source_id, coalesce(title, '') || ' 中文' AS content, changed AS"
        " changed_at FROM ticket WHERE title <> 'FOR UPDATE; pg_sleep(1)' -- into nothing",
    ],
)
def test_one_select_with_names_is_taken(query: str) -> None:
    sources.check_query(query)


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        ("", "0 statements"),
        ("SELEC 1", "SELECT is wanted|cannot be read"),
        ("SELECT 1 AS source_id, 'x' AS content; DROP TABLE ticket", "2 statements"),
        ("DELETE FROM ticket RETURNING id AS source_id, title AS content", "DELETE"),
        ("WITH x AS (DELETE FROM ticket RETURNING id) SELECT id AS source_id, '' AS content FROM x",
         "DELETE"),
        ("SELECT * FROM ticket", r"\*"),
        ("SELECT t.* FROM ticket AS t", r"\*"),
        ("SELECT id AS source_id FROM ticket", "no column content"),
        ('SELECT id AS source_id, title AS "Content" FROM ticket', "no column content"),
        ("SELECT id AS source_id, title AS content, id FROM ticket", "column id is not one"),
        (f"{GOOD} FOR UPDATE", "locks"),
        ("SELECT id AS source_id, title AS content INTO x FROM ticket", "INTO"),
        ("SELECT id AS source_id, pg_sleep(9) AS content FROM ticket", "pg_sleep"),
        ("SELECT id AS source_id, PG_READ_FILE('/etc/passwd') AS content FROM ticket", "pg_read"),
        ("SELECT nextval('s') AS source_id, title AS content FROM ticket", "nextval"),
        ("SELECT id AS source_id, c AS content FROM dblink('x', 'y') AS t (id int, c text)",
         "dblink"),
        ("SELECT 1 AS source_id, set_config('a', 'b', false) AS content FROM ticket", "set_config"),
        ("SELECT id AS source_id, lo_import('/x')::text AS content FROM ticket", "lo_import"),
        ("SELECT id AS source_id, query_to_xml('x', true, true, '')::text AS content FROM ticket",
         "query_to_xml"),
        ("SELECT memory_id AS source_id, content FROM memoir.memory", "not the application's"),
        ("VACUUM", "SELECT is wanted"),
        ("SELECT id AS source_id, random()::text AS content FROM ticket", "rand"),
    ],
)  # fmt: skip
def test_anything_else_is_refused_before_it_is_sent(query: str, reason: str) -> None:
    with pytest.raises(BadSource, match=reason):
        sources.check_query(query)


def test_events_name_a_type_and_a_payload() -> None:
    sources.check_query("SELECT 1 AS source_id, 'alert' AS type, '{}'::jsonb AS payload", "event")
    with pytest.raises(BadSource, match="payload, type"):
        sources.check_query(GOOD, "event")


def test_the_command_attaches_fills_lists_pulls_and_detaches(
    app: psycopg.Connection, memoir: Callable[..., Result], tmp_path: Path
) -> None:
    done = memoir(
        *("source", "attach", "tickets", "task", "ticket"), "--content", "title", "--user-id", "ada"
    )
    assert done.stdout == "attached tickets: filling; next: memoir source fill tickets\n"
    assert memoir("source", "fill", "tickets", "--batch", "1").stdout == (
        "tickets: read 2 rows, changed 2 memories\n"
    )
    (listed,) = json.loads(memoir("source", "list", "--json").stdout)
    assert (listed["state"], listed["rows"]) == ("following", 2)
    assert app.execute("SELECT count(*) > 1 FROM memoir.keyword").fetchone() == (True,)
    query = tmp_path / "query.sql"
    query.write_text(GOOD, encoding="utf-8")
    memoir("source", "attach", "again", "task", "--query", str(query), "--user-id", "bob")
    assert "read 2 rows" in memoir("source", "pull", "again").stdout
    assert memoir("source", "list").stdout.count("\n") == 4
    assert memoir("source", "detach", "tickets").stdout == "detached tickets, memories: 2, keep\n"


def test_rows_that_wait_are_told_by_the_exit_code(
    app: psycopg.Connection, memoir: Callable[..., Result]
) -> None:
    app.execute("UPDATE ticket SET changed = '2999-01-01' WHERE id = 1")
    memoir(
        *("source", "attach", "t", "task", "ticket", "--content", "title"),
        *("--created-at", "changed", "--user-id", "ada"),
    )
    done = memoir("source", "fill", "t")
    assert (done.exit_code, "waiting: 1 row;" in done.stderr) == (1, True)


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("attach", "t", "task"), 2),
        (("attach", "t", "task", "ticket", "--query", "nowhere.sql"), 2),
        (("attach", "t", "nonsense", "ticket", "--user-id", "a"), 1),
        (("fill", "nothing"), 1),
        (("detach", "nothing"), 1),
    ],
)
@pytest.mark.usefixtures("app")
def test_wrong_commands_say_what_is_wrong(
    memoir: Callable[..., Result], arguments: tuple[str, ...], code: int
) -> None:
    done = memoir("source", *arguments)
    assert done.exit_code == code
    assert done.stderr
    assert "Traceback" not in done.stderr


def test_a_busy_table_is_tried_again(app: psycopg.Connection, dsn: str) -> None:
    call = sources.attach(
        "t", "task", "ticket", None, "forget", False, "ada", {"content": ["title"]}
    )
    with psycopg.connect(dsn) as writer, pytest.MonkeyPatch.context() as patch:
        writer.execute("UPDATE ticket SET title = 'x' WHERE id = 1")
        patch.setattr(sources.time, "sleep", lambda _: writer.rollback())
        assert sources.patiently(app, call) == "filling"


def test_a_reading_takes_all_rows_that_waited(app: psycopg.Connection, dsn: str) -> None:
    app.execute("SELECT memoir.attach_source('t', 'task', 'ticket', '{title}', user_id => 'ada')")
    list(sources.read(app, "t"))
    with psycopg.connect(dsn) as other:
        other.execute("LOCK TABLE memoir.trace IN SHARE MODE")
        app.execute("INSERT INTO ticket SELECT n, 'tea ' || n FROM generate_series(3, 9) AS n")
    waiting = [batch.waiting for batch in sources.read(app, "t", most=2)]
    assert waiting == [5, 3, 1, 0]


def test_a_reading_leaves_the_connection_its_timeout(app: psycopg.Connection) -> None:
    app.execute("SELECT memoir.attach_source('t', 'task', query => %s, user_id => 'ada')", [GOOD])
    app.execute("SET statement_timeout = '7s'")
    for _ in sources.read(app, "t", most=1):
        assert app.execute("SHOW statement_timeout").fetchone() == ("7s",)
    with pytest.raises(BadSource, match="there is no source"):
        list(sources.read(app, "none"))
    assert app.execute("SHOW statement_timeout").fetchone() == ("7s",)


def test_a_reading_ends_where_a_row_has_no_word_for_a_keyword(app: psycopg.Connection) -> None:
    app.execute("UPDATE ticket SET title = 'ok' WHERE id = 1; SET statement_timeout = '1min'")
    app.execute("SELECT memoir.attach_source('t', 'task', 'ticket', '{title}', user_id => 'ada')")
    (batch,) = itertools.islice(sources.read(app, "t"), 2)
    assert (batch.written, batch.complete) == (2, True)
    assert app.execute("SELECT count(DISTINCT memory_id) FROM memoir.keyword").fetchone() == (1,)


def test_a_table_that_is_not_there_is_refused_with_advice(
    memoir: Callable[..., Result], open_client: Callable[..., Any]
) -> None:
    with pytest.raises(BadSource, match='there is no table or view "memoir_tickets"') as refused:
        open_client().attach_source("t", "task", "memoir_tickets", content=["title"])
    assert "with its schema" in (refused.value.hint or "")
    done = memoir("source", "attach", "t", "task", "nowhere.ticket", "--user-id", "ada")
    assert done.exit_code == 1
    assert 'there is no table or view "nowhere.ticket"' in done.stderr


@pytest.fixture
def slow(app: psycopg.Connection) -> psycopg.Connection:
    """A source t whose query takes as long as it may."""
    app.execute("SELECT memoir.attach_source('t', 'task', query => %s, user_id => 'ada')", [SLOW])
    return app


@pytest.fixture
def brief(monkeypatch: pytest.MonkeyPatch) -> None:
    """A query of a source may take 50 ms."""
    monkeypatch.setattr(sources, "QUERY_SECONDS", 0.05)


@pytest.mark.usefixtures("slow", "brief")
@pytest.mark.parametrize("method", ["fill_source", "pull_source"])
def test_a_client_stops_a_query_that_takes_too_long(
    open_client: Callable[..., Any], method: str
) -> None:
    with pytest.raises(psycopg.errors.QueryCanceled, match="statement timeout"):
        getattr(open_client(), method)("t")


@pytest.mark.parametrize("name", ["t", "none"])
@pytest.mark.parametrize("begins", [True, False])
def test_a_client_leaves_the_callers_timeout(
    app: psycopg.Connection, name: str, begins: bool
) -> None:
    app.execute("SELECT memoir.attach_source('t', 'task', query => %s, user_id => 'ada')", [GOOD])
    app.execute("SET statement_timeout = '7s'")
    with app.transaction() if begins else nullcontext():
        with suppress(BadSource), app.transaction() if begins else nullcontext():
            Memoir(app, embedder=None).pull_source(name)
        assert app.execute("SHOW statement_timeout").fetchone() == ("7s",)
    assert app.execute("SHOW statement_timeout").fetchone() == ("7s",)


def test_a_reading_stops_a_query_that_takes_too_long(slow: psycopg.Connection) -> None:
    with pytest.raises(psycopg.errors.QueryCanceled, match="statement timeout"):
        list(sources.read(slow, "t", seconds=0.05))


def test_a_shorter_timeout_of_the_caller_is_kept(slow: psycopg.Connection) -> None:
    slow.execute("SET statement_timeout = '40ms'")
    with pytest.raises(psycopg.errors.QueryCanceled, match="statement timeout"):
        Memoir(slow, embedder=None).pull_source("t")
