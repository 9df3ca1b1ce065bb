"""What `Memoir` and `AsyncMemoir` do for an agent: recall, remember, measure, read sources."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence, Sized
from datetime import datetime
from typing import Any, TypeVar, Unpack, cast

from . import calls, checks, evaluation, sources
from .batches import batches
from .calls import (
    Call,
    Explained,
    Fields,
    Found,
    Maintained,
    NewMemory,
    Question,
    Recall,
    Remembered,
    Row,
    columns,
    each,
    first,
    one,
)
from .checks import (
    check_data,
    check_json,
    clean_text,
    dictionaries,
    finite_number,
    jsonb,
    texts,
    utc,
    whole_number,
)
from .errors import MemoirError
from .evaluation import Asked, Evaluation, GoldQuestion, Replayed
from .management import Management
from .methods import Method
from .sources import Filled
from .steps import Batch, Plan
from .vectors import HalfVector, VectorLike, given_vector, half_vector

T = TypeVar("T")

_TOOLS = b"SELECT memoir.tool_schemas(%s::text)"
_SYSTEM_PROMPT = b"SELECT memoir.system_prompt(%s::text)"
_ADD_EVENT = b"""SELECT memoir.event_add(%s::text, %s::jsonb, user_id => %s::text,
    created_at => %s::timestamptz)"""
# The fields of `Question`, then the user.
_ARGUMENTS = """query_text => %s::text, query_vec => %b::{vector}, mode => %s::text,
    budget => %s::int, session_id => %s::text, as_of => %s::timestamptz, user_id => %s::text"""

_RECALL = f"SELECT {columns(Recall)} FROM memoir.recall({_ARGUMENTS})"

_EXPLAIN = f"SELECT {columns(Explained)} FROM memoir.memory_explain({_ARGUMENTS})"

_REMEMBER = f"""SELECT {columns(Remembered)}
FROM memoir.remember(%s::text, %s::text, subject => %s::text, importance => %s::float8,
    summary => %s::text, created_at => %s::timestamptz, session_id => %s::text, turn => %s::int,
    speaker => %s::text, source => %s::text, confidence => %s::float8, keywords => %s::text[],
    sources => %s::bigint[], valid_from => %s::timestamptz, valid_until => %s::timestamptz,
    data => %s::jsonb, embedding => %b::{{vector}}, user_id => %s::text)"""
_REMEMBERED = (
    "content", "kind", "subject", "importance", "summary", "created_at", "session", "turn",
    "speaker", "source", "confidence", "keywords", "sources", "valid_from", "valid_until",
)  # fmt: skip

_SEARCH = f"""SELECT {columns(Found)}
FROM memoir.search_memories(%s::text, query_vec => %b::{{vector}}, search_mode => %s::text,
    keywords => %s::text[], memory_types => %s::text[], time_from => %s::timestamptz,
    time_until => %s::timestamptz, max_results => %s::int, min_relevance_score => %s::float8,
    data => %s::jsonb, session_id => %s::text, user_id => %s::text)"""

_CALL_TOOL = """SELECT memoir.call_tool(%s::text, %s::jsonb, user_id => %s::text,
    query_vec => %b::{vector}, session_id => %s::text)"""

_MARK_USED = b"SELECT memoir.mark_used(%s::bigint, %s::bigint[], user_id => %s::text)"

# Questions of a gold set that are embedded and sent together.
BATCH = 256
# Memories of one statement, and about how many bytes of text and vectors.
MEMORIES = 1000
MEMORY_BYTES = 8 * 2**20
# New memories in one call from which counting words anew is worth its time.
COUNT_FROM = 32


class Recalling(Management):
    """Methods to recall, remember, measure what is recalled, and take in rows of tables."""

    @Method
    def context(
        self,
        query: str | None = None,
        mode: str = "execute",
        budget: int = 800,
        *,
        vector: VectorLike | None = None,
        session: str | None = None,
        as_of: datetime | None = None,
    ) -> Plan[str]:
        """The block of memory for a prompt, at most ``budget`` tokens; arguments as `recall`."""
        question = Question.of(query, vector, mode, budget, session, as_of)
        return (yield from self._recall(question)).block

    @Method
    def recall(
        self,
        query: str | None = None,
        mode: str = "execute",
        budget: int = 800,
        *,
        vector: VectorLike | None = None,
        session: str | None = None,
        as_of: datetime | None = None,
    ) -> Plan[Recall]:
        """The block and what is known about it.

        Args:
            query: the question; it is embedded unless ``vector`` is given.
            mode: how memories are weighted: a name in ``memoir.mode`` (plan, execute, debug, chat).
            budget: tokens, 1..100000.
            vector: the question as a vector, in the model that filled the database.
            session: the conversation it belongs to.
            as_of: recall what was known then; UTC without a time zone; default now.
        """
        question = Question.of(query, vector, mode, budget, session, as_of)
        return self._recall(question)

    @Method
    def explain(
        self,
        query: str | None = None,
        mode: str = "execute",
        budget: int = 800,
        *,
        vector: VectorLike | None = None,
        session: str | None = None,
        as_of: datetime | None = None,
    ) -> Plan[list[Explained]]:
        """Every candidate of that recall with the parts of its score, the block's first."""
        question = Question.of(query, vector, mode, budget, session, as_of)
        return self._ask(_EXPLAIN, question, each(Explained))

    @Method
    def search(
        self,
        query: str,
        search_mode: str = "hybrid",
        *,
        keywords: Iterable[str] | None = None,
        memory_types: Iterable[str] | None = None,
        time_from: datetime | None = None,
        time_until: datetime | None = None,
        max_results: int = 5,
        min_relevance_score: float = 0.6,
        data: dict[str, Any] | None = None,
        session: str | None = None,
        vector: VectorLike | None = None,
    ) -> Plan[list[Found]]:
        """The best memories for a query, one by one, without a budget.

        Args:
            query: what to look for; may be "" when ``keywords`` are given.
            search_mode: semantic, keyword or hybrid.
            keywords: exact filter: a memory must have one of them.
            memory_types: only these kinds.
            time_from, time_until: only memories of this time, without a time zone UTC.
            max_results: 1..20.
            min_relevance_score: 0..1.
            data: only memories whose data contains this: ``{"project": "x"}``.
            session: only memories of this conversation.
            vector: the query as a vector; it is embedded unless given.
        """
        check_data(data)
        text = clean_text(query, "the query")
        given = None if vector is None else half_vector(vector)
        how = (
            clean_text(search_mode, "search_mode"),
            texts(keywords, "keywords"),
            texts(memory_types, "memory_types"),
            utc(time_from, "time_from"),
            utc(time_until, "time_until"),
            whole_number(max_results, "max_results"),
            finite_number(min_relevance_score, "min_relevance_score"),
            jsonb(data),
            clean_text(session, "the session"),
        )
        halfvec = yield from self._halfvec()
        if given is None and search_mode != "keyword":
            given = yield from self._query_vector(text)
        params = (text, given, *how, self._user)
        found = yield Call(halfvec.statement(_SEARCH), params, each(Found))
        return cast(list[Found], found)

    @Method
    def tools(self, language: str = "en") -> Call[list[dict[str, Any]]]:
        """The tools of an agent, as ``tools`` of OpenAI's chat completions; en or zh."""
        return Call(_TOOLS, (clean_text(language, "the language"),), first)

    @Method
    def system_prompt(self, language: str = "en") -> Call[str]:
        """Instructions for an agent that has the `tools`; en or zh."""
        return Call(_SYSTEM_PROMPT, (clean_text(language, "the language"),), first)

    @Method
    def call_tool(
        self, name: str, arguments: dict[str, Any] | str | None = None, session: str | None = None
    ) -> Plan[dict[str, Any]]:
        """Carry out a tool call of a model and return its answer, which is JSON.

        Args:
            name: one of `tools`.
            arguments: a dictionary, or the JSON text as the model wrote it. The text in it
                (``query`` or ``content``) is embedded.
            session: the conversation; in a temporary one the answer is empty.
        """
        given = calls.tool_arguments(arguments)
        halfvec = yield from self._halfvec()
        text = calls.tool_text(given)
        vector = None
        if text is not None and text == given.get("query"):
            vector = yield from self._query_vector(text)
        elif text is not None:
            (vector,) = yield from self._embed([text], writing=True)
        within = clean_text(session, "the session")
        params = (clean_text(name, "the name"), jsonb(given), self._user, vector, within)
        answer = yield Call(halfvec.statement(_CALL_TOOL), params, first)
        return cast(dict[str, Any], answer)

    @Method
    def remember(
        self, content: str, kind: str = "general", **fields: Unpack[Fields]
    ) -> Plan[Remembered]:
        """Store one memory and decide what it means for those stored before: see `Remembered`.

        Args:
            content: the text, at most 10 MB. `default_embedder` reads its first 4000 characters.
            kind: a name in ``memoir.kind`` (task, learning, preference, fact, turn, ...).
            fields: see `calls.Fields`.
        """
        memory = cast(NewMemory, {"content": content, "kind": kind, **fields})
        checked = calls.checked(memory)
        halfvec = yield from self._halfvec()
        vector = yield from self._vector_of(checked)
        given = (*map(checked.get, _REMEMBERED), jsonb(checked.get("data")))
        params = (*given, vector, self._user)
        done = yield Call(halfvec.statement(_REMEMBER), params, one(Remembered))
        return cast(Remembered, done)

    @Method
    def remember_many(
        self,
        memories: Iterable[NewMemory],
        progress: Callable[[int], None] | None = None,
    ) -> Plan[list[Remembered]]:
        """Store many memories, up to 1000 in a batch; a batch is stored whole or not at all.

        If more than a few are new, the word statistics of recall are counted again.

        Args:
            memories: dictionaries with ``content``, ``kind`` and any of `calls.Fields`.
            progress: called after each batch with the number stored so far.
        """
        result: list[Remembered] = []
        for batch in batches(dictionaries(memories, "memories"), MEMORIES, MEMORY_BYTES, _size):
            call = yield from self._remember_call(batch, len(result))
            try:
                result += yield call
            except MemoirError as error:
                raise error.of_memory(len(result)) from error
            if progress:
                progress(len(result))
        if sum(done.action == "ADD" for done in result) >= COUNT_FROM:
            yield calls.tend_recall(self._user, None if self._keeps_writes() else 0)
        return result

    @Method
    def maintain(
        self, everybody: bool = False, build_up_to: int | None = None, dry_run: bool = False
    ) -> Call[list[Maintained]]:
        """The daily upkeep: forget what is due, tidy logs, keep recall fast, report.

        It is one transaction: with very many memories use the command ``memoir maintain``.

        Args:
            everybody: every user of the database; default this one.
            build_up_to: also builds the indexes of users of up to so many memories, and writers
                wait for that; default the setting ``ann_inline``. The command ``memoir maintain``
                makes nobody wait.
            dry_run: only tell what would be done.

        Returns:
            what was done, and what is left to the command.
        """
        return calls.maintain(self._user, everybody, build_up_to, dry_run)

    @Method
    def add_event(
        self, type: str, payload: dict[str, Any], at: datetime | None = None
    ) -> Call[int | None]:
        """Append an event and return its id; None while memory is off.

        Args:
            type: those in ``memoir.mode.event_types`` are recalled while recent: task_failed,
                task_completed, alert, layer2_health, escalation, and what you add.
            payload: what happened.
            at: when, without a time zone UTC; default now.
        """
        check_json(payload, "the payload")
        params = (clean_text(type, "the type"), jsonb(payload), self._user, utc(at, "at"))
        return Call(_ADD_EVENT, params, first)

    @Method
    def mark_used(self, recall: Recall | int, memory_ids: Iterable[int]) -> Plan[int]:
        """Record which memories of a recall were of use; returns how many were in it."""
        retrieval = recall.retrieval_id if isinstance(recall, Recall) else recall
        if retrieval is None:
            return 0
        params = (checks.memory_id(retrieval), checks.memory_ids(memory_ids), self._user)
        return cast(int, (yield Call(_MARK_USED, params, first)))

    @Method
    def add_gold(self, gold_set: str, questions: Iterable[GoldQuestion]) -> Plan[int]:
        """Put questions into a gold set; returns how many.

        A question already in the set gets the new answers. Questions without a vector are embedded.

        Args:
            gold_set: its name.
            questions: see `evaluation.GoldQuestion`.
        """
        halfvec = yield from self._halfvec()
        count = 0
        for batch in batches(dictionaries(questions, "questions"), BATCH, BATCH, lambda _: 1):
            vectors = [given_vector(question) for question in batch]
            missing = [i for i, vector in enumerate(vectors) if vector is None]
            queries = [batch[i].get("query") or "" for i in missing]
            made = yield from self._embed(queries, writing=True)
            for place, vector in zip(missing, made, strict=True):
                vectors[place] = vector
            ready = zip(batch, vectors, strict=True)
            yield Batch(
                [
                    evaluation.gold_add(halfvec, gold_set, question, vector, self._user)
                    for question, vector in ready
                ]
            )
            count += len(batch)
        return count

    @Method
    def evaluate(
        self,
        gold_set: str,
        modes: Sequence[str] = ("execute",),
        budgets: Sequence[int] = (800,),
        k: int = 10,
    ) -> Plan[list[Evaluation]]:
        """Measure recall on a gold set, once for each mode and budget; nothing is logged.

        A question is asked with its stored vector. If it has none, or the mode leaves words out of
        what is embedded, the embedder makes one.
        """
        named = texts(modes, "modes") or []
        halfvec = yield from self._halfvec()
        asked = cast(list[Asked], (yield evaluation.gold_queries(gold_set, self._user)))
        made: dict[str, HalfVector | None] = {}
        result: list[Evaluation] = []
        for mode in named:
            vectors = yield from self._gold_vectors(asked, mode, made)
            result += yield Batch(
                [
                    evaluation.evaluate(halfvec, gold_set, mode, budget, k, vectors, self._user)
                    for budget in budgets
                ]
            )
        return result

    @Method
    def replay(
        self,
        since: datetime | None = None,
        settings: dict[str, Any] | None = None,
        mode: str | None = None,
    ) -> Call[list[Replayed]]:
        """Choose the blocks of logged recalls again, under other settings; writes nothing.

        Args:
            since: the oldest recall; default all that are in the log.
            settings: for example ``{"mmr_lambda": 0.9, "weights": {"task": 1.5}}``.
            mode: only recalls of that mode.
        """
        return evaluation.replay(since, settings or {}, mode, self._user)

    @Method
    def fill_source(
        self, name: str, *, most: int | None = None, anew: bool = False
    ) -> Plan[Filled]:
        """Take in one batch of the rows a source already has; call it until it is complete.

        A query is stopped after 60 seconds, or earlier if the session's own ``statement_timeout``
        is shorter.

        Args:
            name: of the source.
            most: rows; default the setting source_batch.
            anew: begin with the first row again, and in the end forget what is gone; in the first
                call only, as each such call begins again.
        """
        return _limited(sources.fill(name, most, anew))

    @Method
    def pull_source(self, name: str, *, most: int | None = None) -> Plan[Filled]:
        """Take in one batch of what changed in a view or query, as `fill_source`."""
        return _limited(sources.pull(name, most))

    def _recall(self, question: Question) -> Plan[Recall]:
        return self._ask(_RECALL, question, one(Recall), prepare=True)

    def _ask(
        self,
        statement: str,
        question: Question,
        parse: Callable[[list[Row]], T],
        prepare: bool | None = None,
    ) -> Plan[T]:
        """A recall, or its explanation."""
        halfvec = yield from self._halfvec()
        question = yield from self._with_vector(question)
        params = (*question, self._user)
        return cast(T, (yield Call(halfvec.statement(statement), params, parse, prepare)))

    def _gold_vectors(
        self, asked: list[Asked], mode: str, made: dict[str, HalfVector | None]
    ) -> Plan[list[HalfVector | None] | None]:
        """Vectors for the questions that have none stored, or not the one that the mode wants.

        Args:
            made: vectors by text, to be filled, so that no text is embedded twice.
        """
        if self._chosen_embedder() is None:
            return None
        texts: list[str | None] = []
        for question in asked:
            text = yield from self._text_to_embed(question.query, mode)
            texts.append(None if question.has_vector and text == question.query else text)
        missing = sorted({text for text in texts if text is not None and text not in made})
        made |= zip(missing, (yield from self._embed(missing, writing=False)), strict=True)
        return [None if text is None else made[text] for text in texts]

    def _remember_call(self, memories: list[NewMemory], done: int) -> Plan[Call[list[Remembered]]]:
        """One call for a batch, each memory with its own vector or else the one of its text."""
        checked: list[NewMemory] = []
        vectors: list[HalfVector | None] = []
        for place, memory in enumerate(memories, 1):
            try:
                checked.append(calls.checked(memory))
                vectors.append(given_vector(memory))
            except MemoirError as error:
                raise error.of_memory(done, place) from error
        halfvec = yield from self._halfvec()
        yield from self._fill(vectors, [memory.get("content") or "" for memory in checked])
        return calls.remember_many(halfvec, checked, vectors, self._user)


def _limited(call: Call[Filled]) -> Plan[Filled]:
    _, filled, _ = yield Batch(sources.limited(call, sources.QUERY_SECONDS))
    return cast(Filled, filled)


def _size(memory: NewMemory) -> int:
    """About how many bytes a memory takes on its way, without its `data`."""
    content, vector = memory.get("content"), memory.get("vector")
    dimensions = len(vector) if isinstance(vector, Sized) else 1000
    return (3 * len(content) if isinstance(content, str) else 0) + 2 * dimensions
