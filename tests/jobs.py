"""Jobs for the tests of the queue, and the calls of a worker."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
from psycopg.types.json import Jsonb
from tests.rows import call, value


def add_kind(conn: psycopg.Connection, name: str = "errand") -> str:
    """A kind of job that needs nothing; its name."""
    row = "INSERT INTO memoir.job_kind (name, description) VALUES (%s, 'of a test')"
    conn.execute(row, (name,))
    return name


def enqueue(conn: psycopg.Connection, kind: str = "errand", **more: Any) -> int:
    """Enqueue a job; its id."""
    return call(conn, "enqueue", kind=kind, **more)[0].enqueue


def claim(conn: psycopg.Connection, n: int = 10, worker: str = "w1", **more: Any) -> list[Any]:
    """The claimed jobs of one user."""
    return call(conn, "claim", user_id=more.pop("user_id", None), n=n, worker=worker, **more)


def finish(conn: psycopg.Connection, job_id: int, **more: Any) -> str:
    """Finish a job; what happened."""
    return call(conn, "finish", job_id=job_id, **more)[0].finish


def fail(conn: psycopg.Connection, job_id: int, error: str = "no", **more: Any) -> str:
    """Fail a job; what happened."""
    return call(conn, "fail", job_id=job_id, error=error, **more)[0].fail


def ready(conn: psycopg.Connection, **more: Any) -> list[tuple[str, int]]:
    """Users with claimable jobs, and how many."""
    return [(row.user_id, row.waiting) for row in call(conn, "ready_users", **more)]


def job(conn: psycopg.Connection, job_id: int, column: str) -> Any:
    """One column of a job."""
    return value(conn, f"SELECT {column} FROM memoir.job WHERE job_id = %s", job_id)


def chat_job(conn: psycopg.Connection, kind: str, payload: dict[str, Any], **more: Any) -> Any:
    """Enqueue a job for the chat model, and claim it."""
    enqueue(conn, kind, payload=payload, **more)
    (claimed,) = claim(conn, kinds=[kind], user_id=more.get("user_id"))
    return claimed


def answered(conn: psycopg.Connection, claimed: Any, answer: Any) -> str:
    """Finish a claimed job, as a worker, with the answer of a chat model; what happened."""
    become = "SELECT set_config('role', %s, true)"
    conn.execute(become, ("memoir_worker",))
    done = finish(conn, claimed.job_id, answer=Jsonb(answer), user_id=claimed.user_id, worker="w1")
    conn.execute(become, ("none",))
    return done


def extracted(content: str, kind: str = "fact", **more: Any) -> dict[str, Any]:
    """A memory as an extraction names it."""
    usual = {"subject": None, "data": [], "importance": 0.8, "confidence": 1}
    return {"kind": kind, "content": content, **usual, **more}


def decided(action: str, memory_id: Any, content: str | None = None, **more: Any) -> dict[str, Any]:
    """A decision of a reflection."""
    usual = {"kind": "fact", "subject": None, "data": [], "importance": 0.8, "reason": "said"}
    said = {"action": action, "memory_id": memory_id and str(memory_id), "content": content}
    return {**said, **usual, **more}


def talk(conn: psycopg.Connection, *contents: str) -> None:
    """What the user says in session "s"."""
    for content in contents:
        call(conn, "message_add", session_id="s", role="user", content=content)


def soon() -> datetime:
    """A time when a lease of five minutes has ended, and one of an hour has not."""
    return datetime.now(UTC) + timedelta(minutes=6)
