"""The application of D0: its five tables, and how they are attached."""

from __future__ import annotations

from typing import Any

import psycopg
from tests.rows import call, found, value

# Types and columns as D0 shows them (1.5, 2.1, 2.3, 3.2) or implies them.
TABLES = """
CREATE TABLE tasks (
    id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    title text NOT NULL,
    description text,
    status text NOT NULL DEFAULT 'queued',
    metadata jsonb,
    project_id uuid,
    embedding vector(1536),
    created_at timestamptz NOT NULL DEFAULT now()
);
CREATE TABLE learnings (
    id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    title text NOT NULL,
    content jsonb,
    embedding vector(1536),
    created_at timestamptz NOT NULL DEFAULT now()
);
CREATE TABLE capabilities (
    id text PRIMARY KEY,
    title text NOT NULL,
    description text,
    created_at timestamptz NOT NULL DEFAULT now()
);
CREATE TABLE cecelia_events (
    id bigserial PRIMARY KEY,
    type text NOT NULL,
    payload jsonb,
    created_at timestamptz NOT NULL DEFAULT now()
);
CREATE TABLE goals (
    id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    title text NOT NULL,
    status text NOT NULL DEFAULT 'pending',
    priority int NOT NULL DEFAULT 1,
    progress int NOT NULL DEFAULT 0,
    created_at timestamptz NOT NULL DEFAULT now()
);
"""
DROP_TABLES = "DROP TABLE tasks, learnings, capabilities, cecelia_events, goals"
USER = "cecelia"
CALLS: dict[str, dict[str, Any]] = {
    "tasks": {"kind": "task", "content": ["title", "description"], "data": ["status", "metadata"]},
    "learnings": {"kind": "learning", "content": ["title", "content"]},
    "capabilities": {"kind": "capability", "content": ["title", "description"]},
    "cecelia_events": {"kind": "event"},
    "goals": {
        "kind": "okr",
        "content": ["title"],
        "data": ["title", "status", "priority", "progress"],
    },
}


def make_tables(conn: psycopg.Connection) -> None:
    """The five tables, empty."""
    conn.execute(TABLES)


def attach(conn: psycopg.Connection, table: str, **more: Any) -> str:
    """Attach one of the five under its own name, or another table as facts; its state."""
    fitting = CALLS.get(table, {"kind": "fact"})
    arguments = {"relation": table, "user_id": USER, **fitting, **more}
    if arguments["user_id"] is None:
        del arguments["user_id"]
    return call(conn, "attach_source", name=table, **arguments)[0].attach_source


def add_tasks(conn: psycopg.Connection, *titles: str) -> None:
    """Tasks with nothing but a title."""
    for title in titles:
        conn.execute("INSERT INTO tasks (title) VALUES (%s)", (title,))


def fill(conn: psycopg.Connection, name: str, most: int | None = None, **more: Any) -> list[Any]:
    """Read a source to its end; each batch."""
    batches = call(conn, "fill_source", name=name, most=most, **more)
    while not batches[-1].complete:
        batches += call(conn, "fill_source", name=name, most=most)
    return batches


def memories(conn: psycopg.Connection, name: str = "tasks", user: str = USER) -> dict[str, str]:
    """Status by text of a source's memories of a user."""
    rows = conn.execute(
        "SELECT content, status FROM memoir.memory WHERE user_id = %s AND source = %s",
        (user, name),
    )
    return dict(rows.fetchall())


def known(conn: psycopg.Connection, question: str, user: str = USER, **more: Any) -> list[str]:
    """The lines of a recall."""
    return found(conn, question, user_id=user, **more)


def waiting(conn: psycopg.Connection, name: str = "tasks") -> list[tuple[str, str]]:
    """Code and reason of the rows that are not in memory."""
    return conn.execute(
        "SELECT code, reason FROM memoir.source_error WHERE source = %s ORDER BY error_id", (name,)
    ).fetchall()


def state(conn: psycopg.Connection, name: str = "tasks") -> str:
    """The state view sources gives."""
    return value(conn, "SELECT state FROM memoir.sources WHERE name = %s", name)
