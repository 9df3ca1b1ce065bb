"""A user with a row in every table, and what compares two users row by row."""

from __future__ import annotations

from typing import Any

import psycopg
from psycopg.sql import SQL, Identifier
from tests.d3_files import LOG, MEMORY, text
from tests.rows import add_event, ago, call, recall, remember, say

# Columns an import makes anew: caches, the numbers of the place they are in, and times of writing.
MADE_ANEW = {
    "profile": {
        "ann",
        "overview",
        "counted",
        "counted_up_to",
        "expanding",
        "expansions",
        "narrow_for",
        "some_expire",
        "updated_at",
    },
    "session": {"number"},
    "trace": {"session"},
    "keyword": {"created_at"},
    "event": {"archive_job"},
}


def user_tables(conn: psycopg.Connection) -> list[str]:
    """All tables with rows of users."""
    rows = conn.execute("SELECT t::text FROM memoir._user_tables() AS t")
    return sorted(name.removeprefix("memoir.") for (name,) in rows)


def moved_rows(conn: psycopg.Connection, table: str, user: str) -> list[dict[str, Any]]:
    """The rows of a user without what an import makes anew, in a fixed order."""
    query = SQL(
        "SELECT to_jsonb(t) - %s::text[] AS row FROM memoir.{} AS t WHERE user_id = %s ORDER BY 1"
    ).format(Identifier(table))
    left_out = ["user_id", *MADE_ANEW.get(table, ())]
    return [row for (row,) in conn.execute(query, (left_out, user))]


def export(conn: psycopg.Connection, user: str, **more: Any) -> list[str]:
    """The lines of an export."""
    return [row.export_user for row in call(conn, "export_user", user_id=user, **more)]


def import_lines(conn: psycopg.Connection, lines: list[str], user: str, **more: Any) -> Any:
    """One import: state, line, records."""
    (row,) = call(conn, "import_user", lines=lines, user_id=user, **more)
    return row


def live(conn: psycopg.Connection, user: str, word: str = "Zanzibar") -> list[int]:
    """Do everything a user does; the ids of some memories."""
    says: dict[str, Any] = {"user_id": user}
    vector = {"embedding": "[1,2,3]"}
    call(conn, "set_settings", settings={"show_references": True}, **says)
    one = remember(
        conn, f"{word} likes tea", subject="drink", created_at=ago(days=5), **says, **vector
    )
    other = remember(
        conn, f"{word} 去学校 🏫\n\t`make test`", keywords=[word], sources=[one], **says
    )
    goal = remember(conn, f"{word} shall rest", "okr", data={"status": "pending"}, **says)
    recall(conn, word, **says)
    remember(conn, f"{word} drinks milk now", subject="drink", created_at=ago(days=2), **says)
    conn.execute(
        "UPDATE memoir.event SET source = 'alerts', source_key = '7' WHERE event_id = %s",
        (add_event(conn, "alert", {"said": "row"}, **says),),
    )
    call(conn, "mention", memory_id=one, entity=word, **says)
    call(conn, "mention", memory_id=other, entity="学校", type="place", **says)
    call(conn, "relate", from_id=one, to_id=other, type="supports", **says)
    call(conn, "update_memory", memory_id=other, content=f"{word} goes to school", **says)
    remember(conn, f"{word} goes to school", sources=[goal], **says)
    call(conn, "forget", memory_id=goal, reason=word, **says)
    call(conn, "restore", memory_id=goal, **says)
    add_event(conn, "alert", {"said": word, "missing": None}, **says)
    add_event(conn, "task_failed", {"said": "旧"}, created_at=ago(days=40), **says)
    say(conn, f"{word} session", f"{word} said", f"{word}: 你好", **says)
    call(conn, "message_add", session_id=f"{word} talk", role="user", content=word, **says)
    call(conn, "call_tool", name="memory_write", arguments={"content": f"{word} sleeps"}, **says)
    call(conn, "gold_add", gold_set=word, query=word, relevant_ids=[one], **says)
    conn.execute("SELECT memoir.import_memory_json(%s::json, %s)", (text(MEMORY), user))
    conn.execute("SELECT memoir.import_day_log(%s::json, %s)", (text(LOG), user))
    call(conn, "maintain", only_user=user)
    conn.execute(
        "UPDATE memoir.job SET status = 'done', finished_at = now()"
        " WHERE user_id = %s AND kind = 'archive'",
        (user,),
    )
    conn.execute(
        "INSERT INTO memoir.query_expansion (user_id, query_hash, query, expansion)"
        " VALUES (%s, memoir._query_hash(%s), %s, '{\"original\": []}')",
        (user, word, word),
    )
    gone = remember(conn, f"{word} must not be here", **says)
    found = recall(conn, f"{word} again", **says)
    call(conn, "purge", memory_id=gone, **says)
    call(conn, "set_rolling_summary", summary=f"{word} rests.", **says)
    call(conn, "mark_used", retrieval_id=found.retrieval_id, memory_ids=[one, goal], **says)
    return [one, other, goal]
