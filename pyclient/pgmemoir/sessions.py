"""Methods of sessions: what is said in a conversation, and the window a model is given of it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from .calls import Call, columns, each, first, one
from .checks import check_data, clean_text, jsonb, true_or_false, utc, whole_number
from .methods import Method
from .steps import Steps


@dataclass(frozen=True)
class Session:
    """A session that was opened; nothing is remembered from a temporary one."""

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
    """A row of a list of sessions; ``next`` is where the list continues after it.

    ``messages`` and ``tokens`` count what is stored, ``memories`` the active ones from it.
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


class Sessions(Steps):
    """Methods for sessions."""

    @Method
    def start_session(
        self,
        session: str | None = None,
        *,
        temporary: bool | None = None,
        data: dict[str, Any] | None = None,
        at: datetime | None = None,
    ) -> Call[Session]:
        """Open a session, or continue one; `add_message` also opens one that is not there.

        Args:
            session: its id; None makes one.
            temporary: True: nothing is recalled in it and nothing remembered of it; default as it
                was, for a new one False (while memory is off True).
            data: an object of your own; default as it was.
            at: when it began, without a time zone UTC; default now.
        """
        check_data(data)
        temporary = true_or_false(temporary, "temporary")
        params = (_name(session), temporary, self._user, jsonb(data), utc(at, "at"))
        return Call(_START, params, one(Session))

    @Method
    def add_message(
        self,
        session: str,
        role: str,
        content: str,
        *,
        speaker: str | None = None,
        data: dict[str, Any] | None = None,
        at: datetime | None = None,
    ) -> Call[int]:
        """Add a message to the end of a session; returns its turn, from 0.

        Args:
            session: its id.
            role: user, assistant, system or tool.
            content: the text; may be empty if ``data`` has what was said.
            speaker: a name.
            data: what else a turn was: tool, arguments, success, error.
            at: when it was said, without a time zone UTC; default now.
        """
        check_data(data)
        params = (
            _name(session),
            clean_text(role, "the role"),
            clean_text(content, "the message"),
            clean_text(speaker, "the speaker"),
            self._user,
            utc(at, "at"),
            jsonb(data),
        )
        return Call(_ADD, params, first)

    @Method
    def end_session(self, session: str, *, at: datetime | None = None) -> Call[SessionEnd]:
        """Close a session; the messages of a temporary one are deleted."""
        return Call(_END, (_name(session), self._user, utc(at, "at")), one(SessionEnd))

    @Method
    def session_window(
        self, session: str, *, max_messages: int | None = None, max_tokens: int | None = None
    ) -> Call[list[Message]]:
        """The newest messages of a session, oldest first: by default 10, of 4000 tokens."""
        messages = whole_number(max_messages, "max_messages")
        tokens = whole_number(max_tokens, "max_tokens")
        return Call(_WINDOW, (_name(session), messages, tokens, self._user), each(Message))

    @Method
    def messages(
        self, session: str, *, page_size: int = 100, after_turn: int | None = None
    ) -> Call[list[Message]]:
        """One page of all messages of a session, oldest first; 1..1000 a page."""
        page = (whole_number(page_size, "page_size"), whole_number(after_turn, "after_turn"))
        return Call(_MESSAGES, (_name(session), *page, self._user), each(Message))

    @Method
    def recall_query(self, session: str, message: str | None = None) -> Call[str]:
        """The question to `recall` for a message: itself, and the 3 messages before it.

        Args:
            session: its id.
            message: the current message; default the last one of user or assistant.
        """
        params = (_name(session), clean_text(message, "the message"), self._user)
        return Call(_RECALL_QUERY, params, first)

    @Method
    def sessions(
        self, *, is_open: bool | None = None, page_size: int = 50, after: str | None = None
    ) -> Call[list[ListedSession]]:
        """One page of the sessions, the latest begun first.

        Args:
            is_open: only those that are open, or only those that are not.
            page_size: 1..1000.
            after: ``next`` of the last row of the page before.
        """
        page = (whole_number(page_size, "page_size"), clean_text(after, "after"))
        params = (true_or_false(is_open, "is_open"), *page, self._user)
        return Call(_SESSIONS, params, each(ListedSession))


def _name(session: str | None) -> str | None:
    return clean_text(session, "the session")
