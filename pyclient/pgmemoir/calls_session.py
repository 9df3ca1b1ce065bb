"""The calls of sessions: what is said in a conversation, and the window a model is given of it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from .calls import Call, columns, each, first, one
from .checks import check_data, clean_text, jsonb, utc, whole_number


@dataclass(frozen=True)
class Session:
    """A session that was opened; nothing is remembered of a temporary one."""

    session_id: str
    temporary: bool
    started_at: datetime
    is_new: bool


@dataclass(frozen=True)
class SessionEnd:
    """A session that was closed.

    ``action`` is END, or NOOP where it had ended; ``messages`` is how many it has had, ``deleted``
    how many of them are gone, because it is temporary.
    """

    action: str
    ended_at: datetime
    messages: int
    deleted: int


@dataclass(frozen=True)
class Message:
    """A message of a session; ``turn`` is its place from 0, ``tokens`` an estimate."""

    turn: int
    role: str
    speaker: str | None
    content: str
    data: dict[str, Any]
    tokens: int
    created_at: datetime


@dataclass(frozen=True)
class ListedSession:
    """A row of a list of sessions; ``next`` is where the list goes on behind it.

    ``messages`` and ``tokens`` are of what is stored, ``memories`` are the active ones from it.
    """

    session_id: str
    temporary: bool
    data: dict[str, Any]
    started_at: datetime
    ended_at: datetime | None
    messages: int
    tokens: int
    last_message: datetime | None
    memories: int
    next: str


_START = f"""SELECT {columns(Session)}
FROM memoir.session_start(%s::text, %s::boolean, user_id => %s::text, data => %s::jsonb,
    at => %s::timestamptz)""".encode()

_ADD = b"""SELECT memoir.message_add(%s::text, %s::text, %s::text, speaker => %s::text,
    user_id => %s::text, created_at => %s::timestamptz, data => %s::jsonb)"""

_END = f"""SELECT {columns(SessionEnd)}
FROM memoir.session_end(%s::text, user_id => %s::text, at => %s::timestamptz)""".encode()

_WINDOW = f"""SELECT {columns(Message)}
FROM memoir.session_window(%s::text, max_messages => %s::int, max_tokens => %s::int,
    user_id => %s::text)""".encode()

_MESSAGES = f"""SELECT {columns(Message)}
FROM memoir.messages(%s::text, page_size => %s::int, after_turn => %s::int,
    user_id => %s::text)""".encode()

_RECALL_QUERY = b"SELECT memoir.recall_query(%s::text, %s::text, user_id => %s::text)"

_SESSIONS = f"""SELECT {columns(ListedSession)}
FROM memoir.sessions(is_open => %s::boolean, page_size => %s::int, after => %s::text,
    user_id => %s::text)""".encode()


def start(
    session: str | None,
    temporary: bool | None,
    data: dict[str, Any] | None,
    at: datetime | None,
    user: str | None,
) -> Call[Session]:
    """``memoir.session_start``: a session is opened, or gone on with."""
    check_data(data)
    params = (_name(session), temporary, user, jsonb(data), utc(at, "at"))
    return Call(_START, params, one(Session))


def add_message(
    session: str,
    role: str,
    content: str,
    speaker: str | None,
    data: dict[str, Any] | None,
    at: datetime | None,
    user: str | None,
) -> Call[int]:
    """``memoir.message_add``: the turn of the message."""
    check_data(data)
    params = (
        _name(session),
        clean_text(role, "the role"),
        clean_text(content, "the message"),
        clean_text(speaker, "the speaker"),
        user,
        utc(at, "at"),
        jsonb(data),
    )
    return Call(_ADD, params, first)


def end(session: str, at: datetime | None, user: str | None) -> Call[SessionEnd]:
    """``memoir.session_end``."""
    return Call(_END, (_name(session), user, utc(at, "at")), one(SessionEnd))


def window(
    session: str, max_messages: int | None, max_tokens: int | None, user: str | None
) -> Call[list[Message]]:
    """``memoir.session_window``: the newest messages, oldest first."""
    limits = (whole_number(max_messages, "max_messages"), whole_number(max_tokens, "max_tokens"))
    return Call(_WINDOW, (_name(session), *limits, user), each(Message))


def messages(
    session: str, page_size: int, after_turn: int | None, user: str | None
) -> Call[list[Message]]:
    """``memoir.messages``: one page of all messages, oldest first."""
    page = (whole_number(page_size, "page_size"), whole_number(after_turn, "after_turn"))
    return Call(_MESSAGES, (_name(session), *page, user), each(Message))


def recall_query(session: str, message: str | None, user: str | None) -> Call[str]:
    """``memoir.recall_query``: the question a message asks memory."""
    params = (_name(session), clean_text(message, "the message"), user)
    return Call(_RECALL_QUERY, params, first)


def sessions(
    is_open: bool | None, page_size: int, after: str | None, user: str | None
) -> Call[list[ListedSession]]:
    """``memoir.sessions``: one page, the latest first."""
    params = (is_open, whole_number(page_size, "page_size"), clean_text(after, "after"), user)
    return Call(_SESSIONS, params, each(ListedSession))


def _name(session: str | None) -> str | None:
    return clean_text(session, "the session")
