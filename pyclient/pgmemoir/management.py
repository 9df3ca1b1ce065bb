"""What `Memoir` and `AsyncMemoir` do besides recalling and remembering: one SQL call a method.

`Management` and `AsyncManagement` have the same methods; a test compares their signatures.
"""

from __future__ import annotations

import asyncio
import time
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Iterator
from datetime import datetime
from typing import Any, TypeVar, Unpack

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
from .sources import Columns, Source

T = TypeVar("T")

# Memories a page that is read only to give them one by one.
_PAGE = 500


class Management(ABC):
    """Methods to look through, change and delete what is stored, and for sessions."""

    _user: str | None

    @abstractmethod
    def _do(self, call: Call[T]) -> T: ...

    @abstractmethod
    def cache_info(self) -> CacheInfo: ...

    def memory_detail(self, key: Id) -> Detail:
        """One memory, whole; `NotFound` when the user has none of that id."""
        return self._do(calls.memory_detail(key, self._user))

    def list_memories(
        self, *, page_size: int = 50, after: str | None = None, **filters: Unpack[Filters]
    ) -> list[Listed]:
        """One page of a list of memories, the newest first.

        Args:
            page_size: 1..1000.
            after: ``next`` of the last row of the page before, with the same filters.
            filters: see `calls_memory.Filters`.
        """
        return self._do(calls_memory.list_memories(filters, page_size, after, self._user))

    def memories(self, **filters: Unpack[Filters]) -> Iterator[Listed]:
        """All memories of a list, one by one, as `list_memories` has them; read page by page."""
        page = self.list_memories(page_size=_PAGE, **filters)
        while page:
            yield from page
            page = self.list_memories(page_size=_PAGE, after=page[-1].next, **filters)

    def history(self, memory_id: Id) -> list[Revision]:
        """What happened to a memory, oldest first, with its text at each time."""
        return self._do(calls_memory.history(memory_id, self._user))

    def forget(
        self,
        *memory_ids: Id,
        reason: str | None = None,
        dry_run: bool = False,
        author: str = "user",
    ) -> list[Changed]:
        """Take memories out of recall, all of them or none; `restore` brings them back.

        Args:
            memory_ids: memories that are not forgotten.
            reason, author: why and by whom, for their history.
            dry_run: only tell what would happen.
        """
        call = calls_memory.forget(memory_ids, reason, dry_run, author, self._user)
        return self._do(call)

    def restore(
        self,
        *memory_ids: Id,
        reason: str | None = None,
        dry_run: bool = False,
        author: str = "user",
    ) -> list[Changed]:
        """Bring back forgotten or archived memories, all of them or none; as `forget`."""
        call = calls_memory.restore(memory_ids, reason, dry_run, author, self._user)
        return self._do(call)

    def undo(self, memory_id: Id, *, author: str = "user") -> list[Undone]:
        """Take back the last change of a memory, with all that the same decision changed.

        Again, it takes back the one before; at last that the memory was added.
        """
        return self._do(calls_memory.undo(memory_id, author, self._user))

    def undo_run(self, run_id: Id, *, author: str = "user") -> list[Undone]:
        """Take back all that one upkeep, or one call of `Memoir.apply_decisions`, changed."""
        return self._do(calls_memory.undo_run(run_id, author, self._user))

    def supersede(
        self, memory_id: Id, by_id: Id, *, reason: str | None = None, author: str = "user"
    ) -> None:
        """Say that memory ``by_id`` takes the place of ``memory_id``, which ends there."""
        return self._do(calls_memory.supersede(memory_id, by_id, reason, author, self._user))

    def confirm(self, *memory_ids: Id) -> list[Remembered]:
        """Take up pending memories, all of them or none; decided about as by `remember`."""
        return self._do(calls_memory.confirm(memory_ids, self._user))

    def reject(self, *memory_ids: Id, reason: str | None = None) -> None:
        """Forget pending memories, all of them or none."""
        return self._do(calls_memory.reject(memory_ids, reason, self._user))

    def purge(self, *memory_ids: Id, dry_run: bool = False) -> list[Deleted]:
        """Delete memories for good, all of them or none, with everything that hangs on them.

        Args:
            memory_ids: memories of any status.
            dry_run: delete nothing, tell the same.
        """
        return self._do(calls_memory.purge(memory_ids, dry_run, self._user))

    def purge_user(self, *, dry_run: bool = False) -> list[Deleted]:
        """Delete everything of this client's user for good.

        Args:
            dry_run: delete nothing, tell the same.

        Raises:
            MissingUser: the client was made without ``user``: there is no default for this.
        """
        return self._do(calls_memory.purge_user(dry_run, self._user))

    def relations(self, memory_id: Id) -> list[Related]:
        """The relations of a memory, the strongest first."""
        return self._do(calls_memory.relations(memory_id, self._user))

    def entities(
        self, search: str | None = None, *, page_size: int = 50, after: str | None = None
    ) -> list[Entity]:
        """One page of who and what the memories mention, the most mentioned first.

        Args:
            search: every word of it is part of the name.
            page_size: 1..1000.
            after: ``next`` of the last row of the page before.
        """
        return self._do(calls_memory.entities(search, page_size, after, self._user))

    def stats(self) -> dict[str, Any]:
        """The numbers of the memory by name, see ``memoir.stats``; None is not measured yet.

        Its ``caches`` have one more, ``queries``: the vectors of questions this client keeps.
        """
        return self._do(calls_memory.stats(self.cache_info(), self._user))

    def written_at(self) -> str:
        """A token of all that is committed so far; ask on the primary, after the commit."""
        return self._do(calls_replica.written_at())

    def wait_for(self, token: str, timeout: float = 1.0) -> bool:
        """On a replica: wait until what a token speaks of can be read here.

        Args:
            token: of `written_at`, on the primary.
            timeout: seconds, 0..3600.

        Returns:
            False when it is not here in time: read on the primary instead.
        """
        for pause in calls_replica.pauses(timeout):
            time.sleep(pause)
            if self._do(calls_replica.has(token)):
                return True
        return False

    def settings(self) -> dict[str, bool]:
        """What the user decided: memory, auto_extract, confirm, show_references."""
        return self._do(calls_memory.settings(self._user))

    def set_settings(self, **settings: bool) -> dict[str, bool]:
        """Change some of the `settings`; returns all of them.

        Args:
            settings: for example ``memory=False``.
        """
        return self._do(calls_memory.set_settings(settings, self._user))

    def start_session(
        self,
        session: str | None = None,
        *,
        temporary: bool | None = None,
        data: dict[str, Any] | None = None,
        at: datetime | None = None,
    ) -> Session:
        """Open a session, or go on with one; `add_message` opens what is not there, too.

        Args:
            session: its id; None makes one.
            temporary: True: nothing is recalled in it and nothing remembered of it; default as it
                was, False for a new one.
            data: an object of your own; default as it was.
            at: when it began, without a time zone UTC; default now.
        """
        return self._do(calls_session.start(session, temporary, data, at, self._user))

    def add_message(
        self,
        session: str,
        role: str,
        content: str,
        *,
        speaker: str | None = None,
        data: dict[str, Any] | None = None,
        at: datetime | None = None,
    ) -> int:
        """Add a message to the end of a session; returns its turn, from 0.

        Args:
            session: its id.
            role: user, assistant, system or tool.
            content: the text; may be empty where ``data`` tells.
            speaker: a name.
            data: what else a turn was: tool, arguments, success, error.
            at: when it was said, without a time zone UTC; default now.
        """
        call = calls_session.add_message(session, role, content, speaker, data, at, self._user)
        return self._do(call)

    def end_session(self, session: str, *, at: datetime | None = None) -> SessionEnd:
        """Close a session; the messages of a temporary one are deleted."""
        return self._do(calls_session.end(session, at, self._user))

    def session_window(
        self, session: str, *, max_messages: int | None = None, max_tokens: int | None = None
    ) -> list[Message]:
        """The newest messages of a session, oldest first: by default 10, of 4000 tokens."""
        return self._do(calls_session.window(session, max_messages, max_tokens, self._user))

    def messages(
        self, session: str, *, page_size: int = 100, after_turn: int | None = None
    ) -> list[Message]:
        """One page of all messages of a session, oldest first; 1..1000 a page."""
        return self._do(calls_session.messages(session, page_size, after_turn, self._user))

    def recall_query(self, session: str, message: str | None = None) -> str:
        """The question to `recall` for a message: itself, and the 3 messages before it.

        Args:
            session: its id.
            message: the current message; default the last one of user or assistant.
        """
        return self._do(calls_session.recall_query(session, message, self._user))

    def sessions(
        self, *, is_open: bool | None = None, page_size: int = 50, after: str | None = None
    ) -> list[ListedSession]:
        """One page of the sessions, the latest begun first.

        Args:
            is_open: only those that are open, or only those that are not.
            page_size: 1..1000.
            after: ``next`` of the last row of the page before.
        """
        return self._do(calls_session.sessions(is_open, page_size, after, self._user))

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
    ) -> str:
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
        call = sources.attach(
            name, kind, relation, query, on_delete, write_retrievals, user_id, columns
        )
        return self._do(call)

    def detach_source(self, name: str, memories: str = "keep") -> int:
        """End an attachment: keep, forget or purge its memories; how many there were."""
        return self._do(sources.detach(name, memories))

    def sources(self) -> list[Source]:
        """What is attached, and whether it works."""
        return self._do(sources.listed())


class AsyncManagement(ABC):
    """`Management` for asyncio."""

    _user: str | None

    @abstractmethod
    async def _do(self, call: Call[T]) -> T: ...

    @abstractmethod
    def cache_info(self) -> CacheInfo: ...

    async def memory_detail(self, key: Id) -> Detail:
        """See `Memoir.memory_detail`."""
        return await self._do(calls.memory_detail(key, self._user))

    async def list_memories(
        self, *, page_size: int = 50, after: str | None = None, **filters: Unpack[Filters]
    ) -> list[Listed]:
        """See `Memoir.list_memories`."""
        return await self._do(calls_memory.list_memories(filters, page_size, after, self._user))

    async def memories(self, **filters: Unpack[Filters]) -> AsyncIterator[Listed]:
        """See `Memoir.memories`; for ``async for``."""
        page = await self.list_memories(page_size=_PAGE, **filters)
        while page:
            for memory in page:
                yield memory
            page = await self.list_memories(page_size=_PAGE, after=page[-1].next, **filters)

    async def history(self, memory_id: Id) -> list[Revision]:
        """See `Memoir.history`."""
        return await self._do(calls_memory.history(memory_id, self._user))

    async def forget(
        self,
        *memory_ids: Id,
        reason: str | None = None,
        dry_run: bool = False,
        author: str = "user",
    ) -> list[Changed]:
        """See `Memoir.forget`."""
        call = calls_memory.forget(memory_ids, reason, dry_run, author, self._user)
        return await self._do(call)

    async def restore(
        self,
        *memory_ids: Id,
        reason: str | None = None,
        dry_run: bool = False,
        author: str = "user",
    ) -> list[Changed]:
        """See `Memoir.restore`."""
        call = calls_memory.restore(memory_ids, reason, dry_run, author, self._user)
        return await self._do(call)

    async def undo(self, memory_id: Id, *, author: str = "user") -> list[Undone]:
        """See `Memoir.undo`."""
        return await self._do(calls_memory.undo(memory_id, author, self._user))

    async def undo_run(self, run_id: Id, *, author: str = "user") -> list[Undone]:
        """See `Memoir.undo_run`."""
        return await self._do(calls_memory.undo_run(run_id, author, self._user))

    async def supersede(
        self, memory_id: Id, by_id: Id, *, reason: str | None = None, author: str = "user"
    ) -> None:
        """See `Memoir.supersede`."""
        return await self._do(calls_memory.supersede(memory_id, by_id, reason, author, self._user))

    async def confirm(self, *memory_ids: Id) -> list[Remembered]:
        """See `Memoir.confirm`."""
        return await self._do(calls_memory.confirm(memory_ids, self._user))

    async def reject(self, *memory_ids: Id, reason: str | None = None) -> None:
        """See `Memoir.reject`."""
        return await self._do(calls_memory.reject(memory_ids, reason, self._user))

    async def purge(self, *memory_ids: Id, dry_run: bool = False) -> list[Deleted]:
        """See `Memoir.purge`."""
        return await self._do(calls_memory.purge(memory_ids, dry_run, self._user))

    async def purge_user(self, *, dry_run: bool = False) -> list[Deleted]:
        """See `Memoir.purge_user`."""
        return await self._do(calls_memory.purge_user(dry_run, self._user))

    async def relations(self, memory_id: Id) -> list[Related]:
        """See `Memoir.relations`."""
        return await self._do(calls_memory.relations(memory_id, self._user))

    async def entities(
        self, search: str | None = None, *, page_size: int = 50, after: str | None = None
    ) -> list[Entity]:
        """See `Memoir.entities`."""
        return await self._do(calls_memory.entities(search, page_size, after, self._user))

    async def stats(self) -> dict[str, Any]:
        """See `Memoir.stats`."""
        return await self._do(calls_memory.stats(self.cache_info(), self._user))

    async def written_at(self) -> str:
        """See `Memoir.written_at`."""
        return await self._do(calls_replica.written_at())

    async def wait_for(self, token: str, timeout: float = 1.0) -> bool:
        """See `Memoir.wait_for`."""
        for pause in calls_replica.pauses(timeout):
            await asyncio.sleep(pause)
            if await self._do(calls_replica.has(token)):
                return True
        return False

    async def settings(self) -> dict[str, bool]:
        """See `Memoir.settings`."""
        return await self._do(calls_memory.settings(self._user))

    async def set_settings(self, **settings: bool) -> dict[str, bool]:
        """See `Memoir.set_settings`."""
        return await self._do(calls_memory.set_settings(settings, self._user))

    async def start_session(
        self,
        session: str | None = None,
        *,
        temporary: bool | None = None,
        data: dict[str, Any] | None = None,
        at: datetime | None = None,
    ) -> Session:
        """See `Memoir.start_session`."""
        return await self._do(calls_session.start(session, temporary, data, at, self._user))

    async def add_message(
        self,
        session: str,
        role: str,
        content: str,
        *,
        speaker: str | None = None,
        data: dict[str, Any] | None = None,
        at: datetime | None = None,
    ) -> int:
        """See `Memoir.add_message`."""
        call = calls_session.add_message(session, role, content, speaker, data, at, self._user)
        return await self._do(call)

    async def end_session(self, session: str, *, at: datetime | None = None) -> SessionEnd:
        """See `Memoir.end_session`."""
        return await self._do(calls_session.end(session, at, self._user))

    async def session_window(
        self, session: str, *, max_messages: int | None = None, max_tokens: int | None = None
    ) -> list[Message]:
        """See `Memoir.session_window`."""
        return await self._do(calls_session.window(session, max_messages, max_tokens, self._user))

    async def messages(
        self, session: str, *, page_size: int = 100, after_turn: int | None = None
    ) -> list[Message]:
        """See `Memoir.messages`."""
        return await self._do(calls_session.messages(session, page_size, after_turn, self._user))

    async def recall_query(self, session: str, message: str | None = None) -> str:
        """See `Memoir.recall_query`."""
        return await self._do(calls_session.recall_query(session, message, self._user))

    async def sessions(
        self, *, is_open: bool | None = None, page_size: int = 50, after: str | None = None
    ) -> list[ListedSession]:
        """See `Memoir.sessions`."""
        return await self._do(calls_session.sessions(is_open, page_size, after, self._user))

    async def attach_source(
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
    ) -> str:
        """See `Memoir.attach_source`."""
        call = sources.attach(
            name, kind, relation, query, on_delete, write_retrievals, user_id, columns
        )
        return await self._do(call)

    async def detach_source(self, name: str, memories: str = "keep") -> int:
        """See `Memoir.detach_source`."""
        return await self._do(sources.detach(name, memories))

    async def sources(self) -> list[Source]:
        """See `Memoir.sources`."""
        return await self._do(sources.listed())
