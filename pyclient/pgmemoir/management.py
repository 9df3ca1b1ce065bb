"""What `Memoir` and `AsyncMemoir` do besides recalling and remembering: one SQL call a method."""

from __future__ import annotations

from datetime import datetime
from typing import Any, ClassVar, Unpack

from . import calls, calls_memory, calls_replica, calls_session, sources
from .cache import CacheInfo
from .calls import Call, Detail, Remembered
from .calls_memory import (
    Changed,
    Deleted,
    Entity,
    Filters,
    Id,
    Listed,
    Related,
    Revision,
    Undone,
)
from .calls_session import ListedSession, Message, Session, SessionEnd
from .methods import Method
from .sources import Columns, Source
from .steps import Steps


class Management(Steps):
    """Methods to look through, change and delete what is stored, and for sessions."""

    _is_async: ClassVar[bool] = False

    def cache_info(self) -> CacheInfo:
        """How many questions found their vector kept: ``hit_rate`` is to be above 0.7 (D2 6).

        Not to be awaited.
        """
        return self._query_vectors.info()

    @Method
    def memory_detail(self, key: Id) -> Call[Detail]:
        """One memory, whole; `NotFound` when the user has none of that id."""
        return calls.memory_detail(key, self._user)

    @Method
    def list_memories(
        self, *, page_size: int = 50, after: str | None = None, **filters: Unpack[Filters]
    ) -> Call[list[Listed]]:
        """One page of a list of memories, the newest first.

        Args:
            page_size: 1..1000.
            after: ``next`` of the last row of the page before, with the same filters.
            filters: see `calls_memory.Filters`.
        """
        return calls_memory.list_memories(filters, page_size, after, self._user)

    @Method
    def history(self, memory_id: Id) -> Call[list[Revision]]:
        """What happened to a memory, oldest first, with its text at each time."""
        return calls_memory.history(memory_id, self._user)

    @Method
    def forget(
        self,
        *memory_ids: Id,
        reason: str | None = None,
        dry_run: bool = False,
        author: str = "user",
    ) -> Call[list[Changed]]:
        """Take memories out of recall, all of them or none; `restore` brings them back.

        Args:
            memory_ids: memories that are not forgotten.
            reason, author: why and by whom, for their history.
            dry_run: only tell what would happen.
        """
        return calls_memory.set_status("forget", memory_ids, reason, dry_run, author, self._user)

    @Method
    def restore(
        self,
        *memory_ids: Id,
        reason: str | None = None,
        dry_run: bool = False,
        author: str = "user",
    ) -> Call[list[Changed]]:
        """Bring back forgotten or archived memories, all of them or none; as `forget`."""
        return calls_memory.set_status("restore", memory_ids, reason, dry_run, author, self._user)

    @Method
    def undo(self, memory_id: Id, *, author: str = "user") -> Call[list[Undone]]:
        """Take back the last change of a memory, with all that the same decision changed.

        Again, it takes back the one before; at last that the memory was added.
        """
        return calls_memory.undo(memory_id, author, self._user)

    @Method
    def undo_run(self, run_id: Id, *, author: str = "user") -> Call[list[Undone]]:
        """Take back all that one upkeep, or one call of `Memoir.apply_decisions`, changed."""
        return calls_memory.undo_run(run_id, author, self._user)

    @Method
    def supersede(
        self, memory_id: Id, by_id: Id, *, reason: str | None = None, author: str = "user"
    ) -> Call[None]:
        """Say that memory ``by_id`` takes the place of ``memory_id``, which ends there."""
        return calls_memory.supersede(memory_id, by_id, reason, author, self._user)

    @Method
    def confirm(self, *memory_ids: Id) -> Call[list[Remembered]]:
        """Take up pending memories, all of them or none; decided about as by `remember`."""
        return calls_memory.confirm(memory_ids, self._user)

    @Method
    def reject(self, *memory_ids: Id, reason: str | None = None) -> Call[None]:
        """Forget pending memories, all of them or none."""
        return calls_memory.reject(memory_ids, reason, self._user)

    @Method
    def purge(self, *memory_ids: Id, dry_run: bool = False) -> Call[list[Deleted]]:
        """Delete memories for good, all of them or none, with everything that hangs on them.

        Args:
            memory_ids: memories of any status.
            dry_run: delete nothing, tell the same.
        """
        return calls_memory.purge(memory_ids, dry_run, self._user)

    @Method
    def purge_user(self, *, dry_run: bool = False) -> Call[list[Deleted]]:
        """Delete everything of this client's user for good.

        Args:
            dry_run: delete nothing, tell the same.

        Raises:
            MissingUser: the client was made without ``user``: there is no default for this.
        """
        return calls_memory.purge_user(dry_run, self._user)

    @Method
    def relations(self, memory_id: Id) -> Call[list[Related]]:
        """The relations of a memory, the strongest first."""
        return calls_memory.relations(memory_id, self._user)

    @Method
    def entities(
        self, search: str | None = None, *, page_size: int = 50, after: str | None = None
    ) -> Call[list[Entity]]:
        """One page of who and what the memories mention, the most mentioned first.

        Args:
            search: every word of it is part of the name.
            page_size: 1..1000.
            after: ``next`` of the last row of the page before.
        """
        return calls_memory.entities(search, page_size, after, self._user)

    @Method
    def stats(self) -> Call[dict[str, Any]]:
        """The numbers of the memory by name, see ``memoir.stats``; None is not measured yet.

        Its ``caches`` have one more, ``queries``: the vectors of questions this client keeps.
        """
        return calls_memory.stats(self.cache_info(), self._user)

    @Method
    def written_at(self) -> Call[str]:
        """A token of all that is committed so far; ask on the primary, after the commit."""
        return calls_replica.written_at()

    @Method
    def settings(self) -> Call[dict[str, bool]]:
        """What the user decided: memory, auto_extract, confirm, show_references."""
        return calls_memory.settings(self._user)

    @Method
    def set_settings(self, /, **settings: bool) -> Call[dict[str, bool]]:
        """Change some of the `settings`; returns all of them.

        Args:
            settings: for example ``memory=False``.
        """
        return calls_memory.set_settings(settings, self._user)

    @Method
    def start_session(
        self,
        session: str | None = None,
        *,
        temporary: bool | None = None,
        data: dict[str, Any] | None = None,
        at: datetime | None = None,
    ) -> Call[Session]:
        """Open a session, or go on with one; `add_message` opens what is not there, too.

        Args:
            session: its id; None makes one.
            temporary: True: nothing is recalled in it and nothing remembered of it; default as it
                was, False for a new one.
            data: an object of your own; default as it was.
            at: when it began, without a time zone UTC; default now.
        """
        return calls_session.start(session, temporary, data, at, self._user)

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
            content: the text; may be empty where ``data`` tells.
            speaker: a name.
            data: what else a turn was: tool, arguments, success, error.
            at: when it was said, without a time zone UTC; default now.
        """
        return calls_session.add_message(session, role, content, speaker, data, at, self._user)

    @Method
    def end_session(self, session: str, *, at: datetime | None = None) -> Call[SessionEnd]:
        """Close a session; the messages of a temporary one are deleted."""
        return calls_session.end(session, at, self._user)

    @Method
    def session_window(
        self, session: str, *, max_messages: int | None = None, max_tokens: int | None = None
    ) -> Call[list[Message]]:
        """The newest messages of a session, oldest first: by default 10, of 4000 tokens."""
        return calls_session.window(session, max_messages, max_tokens, self._user)

    @Method
    def messages(
        self, session: str, *, page_size: int = 100, after_turn: int | None = None
    ) -> Call[list[Message]]:
        """One page of all messages of a session, oldest first; 1..1000 a page."""
        return calls_session.messages(session, page_size, after_turn, self._user)

    @Method
    def recall_query(self, session: str, message: str | None = None) -> Call[str]:
        """The question to `recall` for a message: itself, and the 3 messages before it.

        Args:
            session: its id.
            message: the current message; default the last one of user or assistant.
        """
        return calls_session.recall_query(session, message, self._user)

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
        return calls_session.sessions(is_open, page_size, after, self._user)

    @Method
    def attach_source(
        self,
        name: str,
        kind: str,
        relation: str | None = None,
        *,
        query: str | None = None,
        on_delete: str = "forget",
        write_retrievals: bool = False,
        user_id: str | None = None,
        **columns: Unpack[Columns],
    ) -> Call[str]:
        """Make the rows of a table, view or query memories; its state.

        Args:
            name: of the source.
            kind: of the memories; event makes events of the rows.
            relation: the table or view, as in SQL.
            query: one SELECT instead of it.
            on_delete: forget or purge the memory of a deleted row.
            write_retrievals: write what was recalled into that table of events.
            user_id: whose rows they are; there is no default, not even this client's user.
            columns: see `sources.Columns`.

        Raises:
            BadSource: relation, query or columns do not fit.
            NotPossible: the table is busy.
        """
        return sources.attach(
            name, kind, relation, query, on_delete, write_retrievals, user_id, columns
        )

    @Method
    def detach_source(self, name: str, memories: str = "keep") -> Call[int]:
        """End an attachment: keep, forget or purge its memories; how many there were."""
        return sources.detach(name, memories)

    @Method
    def sources(self) -> Call[list[Source]]:
        """What is attached, and whether it works."""
        return sources.listed()
