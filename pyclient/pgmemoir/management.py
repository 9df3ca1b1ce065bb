"""What `Memoir` and `AsyncMemoir` do with what is stored: list it, change it, delete it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, Unpack, cast

from . import calls_replica, checks, sources
from .cache import CacheInfo
from .calls import Call, Detail, Remembered, Row, columns, each, first, nothing, one
from .checks import (
    check_data,
    check_json,
    clean_text,
    finite_number,
    jsonb,
    refuse_unknown,
    texts,
    true_or_false,
    utc,
    whole_number,
)
from .memories import (
    Applied,
    Changed,
    Changes,
    Deleted,
    Entity,
    Filters,
    Id,
    Listed,
    Related,
    Revision,
    Undone,
    decided_text,
    read_decisions,
)
from .methods import Method
from .sessions import Sessions
from .sources import Columns, Source
from .steps import Plan
from .vectors import HalfVector

_DETAIL = f"""SELECT {columns(Detail)}
FROM memoir.get_memory_detail(%s::text, user_id => %s::text)""".encode()

_LIST = f"""SELECT {columns(Listed)}
FROM memoir.list_memories(kinds => %s::text[], status => %s::text[], since => %s::timestamptz,
    until => %s::timestamptz, search => %s::text, subject => %s::text, session_id => %s::text,
    data => %s::jsonb, sort => %s::text, page_size => %s::int, after => %s::text,
    user_id => %s::text)""".encode()

_HISTORY = f"""SELECT {columns(Revision)}
FROM memoir.history(%s::bigint, user_id => %s::text)""".encode()

_UPDATE = """SELECT memoir.update_memory(%s::bigint, content => %s::text, summary => %s::text,
    data => %s::jsonb, importance => %s::float8, confidence => %s::float8, kind => %s::text,
    subject => %s::text, lifetime => %s::text, embedding => %b::{vector}, reason => %s::text,
    user_id => %s::text, author => %s::text)"""

_APPLY = f"""SELECT {columns(Applied)}
FROM memoir.apply_decisions(%s::jsonb, user_id => %s::text, author => %s::text,
    embeddings => %b::{{vector}}[], session_id => %s::text, at => %s::timestamptz)
ORDER BY place"""

_OF_EACH = "FROM unnest(%s::bigint[]) WITH ORDINALITY AS i (id, place), LATERAL"

_SET_STATUS = f"""SELECT {columns(Changed)}
{_OF_EACH} memoir.{{function}}(i.id, reason => %s::text, user_id => %s::text,
    dry_run => %s::boolean, author => %s::text) AS f
ORDER BY i.place"""
_FORGET = _SET_STATUS.format(function="forget").encode()
_RESTORE = _SET_STATUS.format(function="restore").encode()

_UNDO = b"""SELECT undone_id, action, line, status
FROM memoir.undo(%s::bigint, user_id => %s::text, author => %s::text)"""

_UNDO_RUN = b"""SELECT undone_id, action, line, status
FROM memoir.undo_run(%s::bigint, user_id => %s::text, author => %s::text)"""

_SUPERSEDE = b"""SELECT memoir.supersede(%s::bigint, %s::bigint, reason => %s::text,
    user_id => %s::text, author => %s::text)"""

_CONFIRM = f"""SELECT {columns(Remembered)}
{_OF_EACH} memoir.confirm(i.id, user_id => %s::text) AS c
ORDER BY i.place""".encode()

_REJECT = b"""SELECT memoir.reject(i.id, reason => %s::text, user_id => %s::text)
FROM unnest(%s::bigint[]) AS i (id)"""

_PURGE = f"""SELECT p.table_name, sum(p.rows)::bigint
{_OF_EACH} memoir.purge(i.id, user_id => %s::text, dry_run => %s::boolean) AS p
GROUP BY p.table_name ORDER BY p.table_name""".encode()

_PURGE_USER = b"""SELECT table_name, rows
FROM memoir.purge_user(%s::text, dry_run => %s::boolean)"""

_RELATIONS = b"""SELECT related_id, direction, type, strength, kind, content, status, created_at
FROM memoir.relations(%s::bigint, user_id => %s::text)"""

_ENTITIES = f"""SELECT {columns(Entity)}
FROM memoir.entities(%s::text, page_size => %s::int, after => %s::text,
    user_id => %s::text)""".encode()

_STATS = b"SELECT name, value FROM memoir.stats(%s::text)"

_SETTINGS = b"SELECT memoir.get_settings(%s::text)"

_SET_SETTINGS = b"SELECT memoir.set_settings(%s::jsonb, user_id => %s::text)"


class Management(Sessions):
    """Methods to list, change and delete what is stored, and for attached tables.

    If a method takes several ids, one statement carries it out for all of them or for none.
    """

    def cache_info(self) -> CacheInfo:
        """How often a question's vector was in the cache: ``hit_rate`` should be above 0.7 (D2 6).

        Clients with the same embedder share it. Not to be awaited.
        """
        return self._cache_info()

    @Method
    def memory_detail(self, key: Id) -> Call[Detail]:
        """One memory in full; `NotFound` if the user has none of that id."""
        text = str(key) if isinstance(key, int) else clean_text(key, "the key")
        return Call(_DETAIL, (text, self._user), one(Detail))

    @Method
    def list_memories(
        self, *, page_size: int = 50, after: str | None = None, **filters: Unpack[Filters]
    ) -> Call[list[Listed]]:
        """One page of a list of memories, the newest first.

        Args:
            page_size: 1..1000.
            after: ``next`` of the last row of the page before, with the same filters.
            filters: see `memories.Filters`.
        """
        refuse_unknown(filters, Filters, "a list", "filter")
        check_data(filters.get("data"))
        params = (
            texts(filters.get("kinds"), "kinds"),
            texts(filters.get("status", ("active",)), "status"),
            utc(filters.get("since"), "since"),
            utc(filters.get("until"), "until"),
            clean_text(filters.get("search"), "search"),
            clean_text(filters.get("subject"), "the subject"),
            clean_text(filters.get("session"), "the session"),
            jsonb(filters.get("data")),
            clean_text(filters.get("sort"), "sort"),
            whole_number(page_size, "page_size"),
            clean_text(after, "after"),
            self._user,
        )
        return Call(_LIST, params, each(Listed))

    @Method
    def history(self, memory_id: Id) -> Call[list[Revision]]:
        """What happened to a memory, oldest first, with its text at each time."""
        return Call(_HISTORY, (checks.memory_id(memory_id), self._user), each(Revision))

    @Method
    def update(
        self,
        memory_id: Id,
        *,
        reason: str | None = None,
        author: str = "user",
        **changes: Unpack[Changes],
    ) -> Plan[str]:
        """Change a stored memory in place; a new text is embedded.

        Args:
            memory_id: an active or pending memory; its id stays.
            reason, author: why and by whom, for its history.
            changes: see `memories.Changes`.

        Returns:
            UPDATE, or NOOP when it was so already.
        """
        halfvec = yield from self._halfvec()
        vector = yield from self._vector_of(changes)
        refuse_unknown(changes, Changes, "a change", "field")
        check_data(changes.get("data"))
        params = (
            checks.memory_id(memory_id),
            clean_text(changes.get("content"), "the content"),
            clean_text(changes.get("summary"), "the summary"),
            jsonb(changes.get("data")),
            finite_number(changes.get("importance"), "importance"),
            finite_number(changes.get("confidence"), "confidence"),
            clean_text(changes.get("kind"), "the kind"),
            clean_text(changes.get("subject"), "the subject"),
            clean_text(changes.get("lifetime"), "the lifetime"),
            vector,
            clean_text(reason, "the reason"),
            self._user,
            clean_text(author, "the author"),
        )
        return cast(str, (yield Call(halfvec.statement(_UPDATE), params, first)))

    @Method
    def apply_decisions(
        self,
        decisions: Iterable[Mapping[str, Any]] | str,
        *,
        author: str = "model",
        session: str | None = None,
        at: datetime | None = None,
    ) -> Plan[list[Applied]]:
        """Carry out decisions about memories, all of them or none; texts are embedded.

        Args:
            decisions: dictionaries that satisfy ``memoir.decision_schema()``, or the JSON text a
                model wrote.
            author: who decided. Where the user confirms first, what agent and model decide waits.
            session: the conversation they are from.
            at: when that became known, without a time zone UTC; default now.
        """
        decided = read_decisions(decisions)
        halfvec = yield from self._halfvec()
        vectors: list[HalfVector | None] = [None] * len(decided)
        yield from self._fill(vectors, [decided_text(decision) for decision in decided])
        params = (
            jsonb(decided),
            self._user,
            clean_text(author, "the author"),
            halfvec.array(vectors),
            clean_text(session, "the session"),
            utc(at, "at"),
        )
        done = yield Call(halfvec.statement(_APPLY), params, each(Applied))
        return cast(list[Applied], done)

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
        return self._set_status(_FORGET, memory_ids, reason, dry_run, author)

    @Method
    def restore(
        self,
        *memory_ids: Id,
        reason: str | None = None,
        dry_run: bool = False,
        author: str = "user",
    ) -> Call[list[Changed]]:
        """Bring back forgotten or archived memories, all of them or none; as `forget`."""
        return self._set_status(_RESTORE, memory_ids, reason, dry_run, author)

    @Method
    def undo(self, memory_id: Id, *, author: str = "user") -> Call[list[Undone]]:
        """Undo the last change of a memory, with all that the same decision changed.

        Called again, it undoes the change before; in the end the adding of the memory.
        """
        params = (checks.memory_id(memory_id), self._user, clean_text(author, "the author"))
        return Call(_UNDO, params, each(Undone))

    @Method
    def undo_run(self, run_id: Id, *, author: str = "user") -> Call[list[Undone]]:
        """Undo everything that one upkeep, import, sync, job or `apply_decisions` changed."""
        params = (checks.memory_id(run_id), self._user, clean_text(author, "the author"))
        return Call(_UNDO_RUN, params, each(Undone))

    @Method
    def supersede(
        self, memory_id: Id, by_id: Id, *, reason: str | None = None, author: str = "user"
    ) -> Call[None]:
        """Replace memory ``memory_id`` by ``by_id``: the one ends where the other begins."""
        ids = (checks.memory_id(memory_id), checks.memory_id(by_id))
        why = (clean_text(reason, "the reason"), self._user, clean_text(author, "the author"))
        return Call(_SUPERSEDE, (*ids, *why), nothing)

    @Method
    def confirm(self, *memory_ids: Id) -> Call[list[Remembered]]:
        """Accept pending memories, all of them or none; decided about as by `remember`."""
        return Call(_CONFIRM, (checks.memory_ids(memory_ids), self._user), each(Remembered))

    @Method
    def reject(self, *memory_ids: Id, reason: str | None = None) -> Call[None]:
        """Forget pending memories, all of them or none."""
        why = clean_text(reason, "the reason")
        return Call(_REJECT, (why, self._user, checks.memory_ids(memory_ids)), nothing)

    @Method
    def purge(self, *memory_ids: Id, dry_run: bool = False) -> Call[list[Deleted]]:
        """Delete memories for good, all of them or none, with everything that belongs to them.

        Args:
            memory_ids: memories of any status.
            dry_run: delete nothing, tell the same.
        """
        params = (checks.memory_ids(memory_ids), self._user, true_or_false(dry_run, "dry_run"))
        return Call(_PURGE, params, each(Deleted))

    @Method
    def purge_user(self, *, dry_run: bool = False) -> Call[list[Deleted]]:
        """Delete everything of this client's user for good.

        Args:
            dry_run: delete nothing, tell the same.

        Raises:
            MissingUser: the client was made without ``user``: there is no default for this.
        """
        params = (self._user, true_or_false(dry_run, "dry_run"))
        return Call(_PURGE_USER, params, each(Deleted))

    @Method
    def relations(self, memory_id: Id) -> Call[list[Related]]:
        """The relations of a memory, the strongest first."""
        return Call(_RELATIONS, (checks.memory_id(memory_id), self._user), each(Related))

    @Method
    def entities(
        self, search: str | None = None, *, page_size: int = 50, after: str | None = None
    ) -> Call[list[Entity]]:
        """One page of the entities that memories mention, the most mentioned first.

        Args:
            search: every word of it is part of the name.
            page_size: 1..1000.
            after: ``next`` of the last row of the page before.
        """
        page = (whole_number(page_size, "page_size"), clean_text(after, "after"))
        return Call(_ENTITIES, (clean_text(search, "search"), *page, self._user), each(Entity))

    @Method
    def stats(self) -> Call[dict[str, Any]]:
        """Statistics of the memory by name, see ``memoir.stats``; None is not measured yet.

        Its ``caches`` have one more entry, ``queries``: the vectors of questions this client keeps.
        """
        queries = self.cache_info()

        def read(rows: list[Row]) -> dict[str, Any]:
            told: dict[str, Any] = dict(rows)
            told["caches"]["queries"] = {
                "entries": queries.size,
                "hits": queries.hits,
                "misses": queries.misses,
                "hit_rate": queries.hit_rate,
            }
            return told

        return Call(_STATS, (self._user,), read)

    @Method
    def written_at(self) -> Call[str]:
        """A token for everything committed so far; call it on the primary, after the commit."""
        return calls_replica.written_at()

    @Method
    def settings(self) -> Call[dict[str, bool]]:
        """What the user decided: memory, auto_extract, confirm, show_references."""
        return Call(_SETTINGS, (self._user,), first)

    @Method
    def set_settings(self, /, **settings: bool) -> Call[dict[str, bool]]:
        """Change some of the `settings`; returns all of them.

        Args:
            settings: for example ``memory=False``.
        """
        check_json(settings, "the settings")
        return Call(_SET_SETTINGS, (jsonb(settings), self._user), first)

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
        """Make the rows of a table, view or query memories; returns its state.

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
        """End an attachment: keep, forget or purge its memories; returns how many there were."""
        return sources.detach(name, memories)

    @Method
    def sources(self) -> Call[list[Source]]:
        """What is attached, and whether it works."""
        return sources.listed()

    def _set_status(
        self, statement: bytes, ids: Iterable[Id], reason: str | None, dry_run: bool, author: str
    ) -> Call[list[Changed]]:
        params = (
            checks.memory_ids(ids),
            clean_text(reason, "the reason"),
            self._user,
            true_or_false(dry_run, "dry_run"),
            clean_text(author, "the author"),
        )
        return Call(statement, params, each(Changed))
