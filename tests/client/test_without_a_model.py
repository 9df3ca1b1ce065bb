"""With no model configured everything that needs none serves, and jobs wait until there is one."""

from __future__ import annotations

from collections.abc import Callable

import psycopg
import pytest
from click.testing import Result
from tests.openai_server import Body, OpenAIServer
from tests.rows import call, found, remember, value

from pgmemoir.chat_models import OpenAIChat
from pgmemoir.embedders import OpenAIEmbedder
from pgmemoir.worker import Options, Summary, Worker

pytestmark = pytest.mark.once

WAITING = {"consolidate": 1, "expand": 1, "extract": 1, "reflect": 1}


def waiting(conn: psycopg.Connection) -> dict[str, int]:
    """Jobs that wait for a chat model, untouched, by kind."""
    return dict(
        conn.execute(
            "SELECT kind, count(*)::int FROM memoir.job"
            " WHERE status = 'waiting' AND attempts = 0 GROUP BY kind"
        ).fetchall()
    )


def live(conn: psycopg.Connection) -> None:
    """What a day of an agent leaves: facts, a change of mind, a conversation, a search."""
    remember(conn, "Ada lives in Rome", subject="user.city")
    remember(conn, "Ada lives in Oslo", subject="user.city")
    remember(conn, "Ada likes tea")
    remember(conn, "Ada does not like tea")
    for number in range(6):
        call(conn, "message_add", session_id="monday", role="user", content=f"step {number}")
    call(conn, "session_end", session_id="monday")
    call(conn, "expand_query", query="drinks")


def answer(body: Body) -> object:
    """A model that adds nothing and keeps everything."""
    return {
        "extract": {"memories": []},
        "reflect": {"decisions": []},
        "consolidate": {"action": "keep_both", "content": None, "reason": "both were said"},
        "expand": {"core_keywords": ["drinks"], "synonyms": [], "related_concepts": ["tea"]},
    }[body["response_format"]["json_schema"]["name"]]


def test_without_any_model_rules_serve_and_jobs_wait(
    db: psycopg.Connection, memoir: Callable[..., Result]
) -> None:
    live(db)
    assert memoir("worker", "--once").exit_code == 1
    assert memoir("maintain").exit_code == 0
    assert waiting(db) == WAITING
    assert found(db, "Where does Ada live?")[0] == "Ada lives in Oslo"
    assert found(db, "tea")[0] == "Ada does not like tea"
    city = value(db, "SELECT memory_id FROM memoir.memory WHERE content = 'Ada lives in Oslo'")
    call(db, "undo", memory_id=city)
    assert found(db, "Where does Ada live?")[0] == "Ada lives in Rome"
    told = memoir("doctor").stdout
    assert "They wait without harm" in told


def test_what_waited_is_done_when_there_is_a_model(db: psycopg.Connection, dsn: str) -> None:
    live(db)
    with OpenAIServer() as api:
        api.answer = answer
        embedder = OpenAIEmbedder("m", base_url=api.url, api_key="none", retries=0)
        models = (embedder, OpenAIChat("m", api.url, "none"))
        done = Worker(dsn, *models, Options(), lambda _: None).run(once=True)
    assert done == Summary(done=5, failed=0)
    assert waiting(db) == {}
    assert call(db, "expand_query", query="drinks")[0].expand_query["related"] == ["tea"]
