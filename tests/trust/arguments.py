"""Arguments for every public function: what a careful caller passes, and what nobody should.

The functions are read from the catalogue, so that a new one is called without a word here. A value
is the text PostgreSQL reads for its type, or None for NULL. What a parameter's name promises (a
user, an id, the name of a mode) decides what a good value is: without good values a call ends at
its first check and reaches nothing. Most calls exchange one good value for a wild one.
"""

from __future__ import annotations

import json
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import psycopg
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import seed as seeded
from hypothesis import strategies as st

Value = str | None

# fmt: off
# Ids of what the world of fuzz.py stores are the first.
IDS = ("0", "-1", "999999", "9223372036854775807", "-9223372036854775808")
INTS = ("0", "-1", "1000000", "2147483647", "-2147483648", "1", "1000")
FLOATS = ("NaN", "Infinity", "-Infinity", "1e308", "-1e308", "5e-324", "-0.0", "-0.5", "2")
TIMES = (
    "infinity", "-infinity", "4714-11-24 00:00:00+00 BC", "294276-12-31 23:59:59.999999+00",
    "tomorrow", "0001-01-01 00:00+00 BC", "1970-01-01 00:00+00", "1969-12-31 23:59:59+00",
    "2025-02-28 23:59:59.999999+14", "9999-12-31 00:00+00",
)
INTERVALS = (
    "0", "-1 day", "1 microsecond", "1 month -30 days", "178000000 years", "-178000000 years",
    "100 years",
)
VECTORS = (
    "[0,0,0]", "[65504,65504,65504]", "[1]", "[6e-8,0,0]", "[1,2,3,4]", "[NaN,1,0]",
    "[Infinity,0,0]", "[]", "[" + ",".join(["0.5"] * 4001) + "]",
)
# Documents that are deep, long, or not for jsonb.
DEEP = (
    "[" * 1_000 + "]" * 1_000, '{"a":' * 1_000 + "1" + "}" * 1_000,
    "[" + ",".join(["1"] * 20_000) + "]", '"' + "x" * 300_000 + '"',
)
USERS = (
    "bob", "nobody", "阿达", "", " ", "u" * 200, "u" * 201, "a'b\"c\\",
    "eve'; DROP TABLE memoir.memory; --",
)
SENTENCES = (
    "tea", "Ada drinks green tea", "deploy gateway 3.14 failed", "认证失败", "When did Ken move?",
    "last week in May 2025", "上周的会议",
)
TEXTS = (
    "", " ", "\n\t", "a", "%", "_", "\\", "'", "''", '"', "$$", "$1", "%s", "{}",
    "{{conversation}}", "[[", "(((", "*", "+?", "(?<x>", "\\m\\Y", "a|b&c!d:*",
    "'; DROP TABLE memoir.memory; --", "$q$; SELECT 1; $q$", "<script>alert(1)</script>",
    "مرحبا بالعالم", "\u202eabc\u202c", "e" + "\u0301" * 300, "👩‍👩‍👧‍👦 🇩🇪", "𝔘𝔫𝔦𝔠𝔬𝔡𝔢",
    "\U0010ffff\ufffe\uffff", "\ufeffBOM", "\\ud800", "\u200b", "\u00a0", "\u0001\u001f\u007f",
    "İstanbul ǅ ß ﬁ", "-" * 50_000, "tea " * 20_000, "认证" * 20_000, "a" * 300_000, "1" * 50_000,
    "x\n" * 20_000, "the port is 8080 on 2025-05-05 and 99999999999999999999", "1e999999",
    "password=hunter2 sk-" + "Ab1" * 16, "4111 1111 1111 1111" * 2_000,
    "." * 30_000 + "@" * 30_000, "May 99999999999", "year 0", "in -1 days", "January 32, 2025",
    "2025-13-45", "9999-12-31",
)
KINDS = ("fact", "task", "learning", "okr", "capability", "preference", "turn", "lesson", "event")
RELATIONS = ("related", "supports", "contradicts", "refines", "supersedes", "derived_from")
# fmt: on
# What a parameter of this name takes; `world` made the ids and the names.
NAMED: Mapping[str, Sequence[str]] = {
    "user_id": ("ada",),
    "only_user": ("ada",),
    "after_user": ("ada", "bob"),
    "mode": ("execute", "plan", "debug", "chat", "conversation", "search", "balanced", "implicit"),
    "of_mode": ("execute", "search", "conversation"),
    "session_id": ("monday", "friday", "talk", "private", "new"),
    "status": ("active", "forgotten", "pending", "superseded", "archived"),
    "kind": KINDS,
    "category": KINDS,
    "memory_types": KINDS,
    "search_mode": ("hybrid", "keyword", "semantic"),
    "language": ("en", "zh"),
    "source": ("user", "agent", "model"),
    "author": ("user", "agent", "model", "rule"),
    "origin": ("llm", "user_tag", "system"),
    "write_to": ("memory", "daily"),
    "lifetime": ("core", "working", "temporary"),
    "role": ("user", "assistant", "system", "tool"),
    "gold_set": ("drinks", "empty"),
    "zone": ("UTC", "Asia/Shanghai"),
    "file": ("memory", "learnings"),
    "strategy": ("report", "theirs", "ours"),
    "sort": ("created", "importance", "updated", "accessed"),
    "entity": ("Ada", "Mara", "PostgreSQL"),
    "worker": ("w1", "w2"),
    "key": ("1", "2", "3"),
    "after": ("created_1.5_3", "created_NaN_3", "importance_0.5_9", "entities_2_1", "sessions_1_1"),
}
# A parameter named alike in several functions, where it does not mean the same.
OF_FUNCTION: Mapping[tuple[str, str], Sequence[str]] = {
    ("enqueue", "kind"): ("embed", "keywords", "extract", "reflect", "consolidate", "archive"),
    ("retry_dead", "kind"): ("embed", "extract", "compress"),
    ("call_tool", "name"): (
        "search_memories",
        "get_memory_detail",
        "related",
        "summary",
        "memory_write",
        "memory_search",
    ),
    ("relate", "type"): RELATIONS,
    ("unrelate", "type"): RELATIONS,
    ("mention", "type"): ("person", "thing"),
    ("unmention", "type"): ("person", "thing"),
    ("import_user", "user_id"): ("nobody",),
    ("attach_source", "name"): ("others", "more"),
    ("attach_source", "relation"): ("public.fuzzed",),
    ("attach_source", "content"): ("title", "body"),
    ("attach_source", "source_id"): ("id",),
    ("attach_source", "data"): ("tags", "title"),
    ("attach_source", "payload"): ("tags",),
    ("attach_source", "user_column"): ("owner",),
    ("attach_source", "query"): ("SELECT id AS source_id, title AS content FROM public.fuzzed",),
    ("attach_source", "on_delete"): ("forget", "purge"),
    **{("attach_source", name): ("title",) for name in ("summary", "subject", "type")},
    **{("attach_source", name): ("at",) for name in ("created_at", "valid_until", "changed_at")},
    **{(f"{verb}_source", "name"): ("tasks",) for verb in ("fill", "pull", "read", "detach")},
    ("claim", "kinds"): ("embed", "extract"),
    ("ready_users", "kinds"): ("embed", "extract"),
    ("list_memories", "kinds"): ("fact", "turn"),
    ("event_add", "type"): ("alert", "task_failed", "task_completed", "note"),
}
# What other parameters take, by type.
SANE: Mapping[str, Sequence[str]] = {
    "text": SENTENCES,
    "json": ("{}", "[]"),
    "jsonb": ("{}", '{"a": 1}', '{"title": "x", "tags": ["y"]}'),
    "bigint": tuple(map(str, range(1, 13))),
    "integer": ("1", "2", "3", "5", "10", "20", "100"),
    "double precision": ("0", "0.1", "0.5", "0.9", "1"),
    "boolean": ("true", "false"),
    "timestamp with time zone": ("now", "2025-03-03 10:00+00", "2025-06-01 12:00+00"),
    "interval": ("5 minutes", "1 second", "1 hour"),
    "halfvec": ("[1,0,0]", "[0.6,0.8,0]", "[-1,0.1,0.2]"),
    "pg_lsn": ("0/1", "0/3000060"),
    "date": ("today", "2025-03-03"),
    "name": ("memory", "nothing"),
    "regclass": ("public.tasks", "pg_class"),
}
WILD: Mapping[str, Sequence[str]] = {
    "bigint": IDS,
    "integer": INTS,
    "double precision": FLOATS,
    "boolean": ("true", "false"),
    "timestamp with time zone": TIMES,
    "interval": INTERVALS,
    "halfvec": VECTORS,
    "pg_lsn": ("0/0", "FFFFFFFF/FFFFFFFF"),
    "date": ("infinity", "-infinity", "4713-01-01 BC", "5874897-12-31", "1969-12-31", "9999-12-31"),
    "name": ("", "x' y", "memoir.memory"),
    "regclass": ("memoir.memory", "pg_class", "0"),
}
MODELS = ("tiny", "other", "third", "nothing")
# Documents that fit, for the parameters of type jsonb: some of their parts are then exchanged.
DOCUMENTS: Mapping[tuple[str, str], Sequence[Any]] = {
    ("apply_decisions", "decisions"): (
        [{"action": "ADD", "kind": "fact", "content": "new", "reason": "said"}],
        [{"action": "UPDATE", "memory_id": "1", "content": "Ada drinks black tea"}],
        [{"action": "MERGE", "memory_id": "1", "memory_ids": ["1", "2"], "content": "both"}],
        [{"action": "SUPERSEDE", "memory_id": "2", "content": "newer", "subject": "user.city"}],
        [{"action": "DELETE", "memory_id": "3", "reason": "wrong"}, {"action": "NOOP"}],
    ),
    ("remember_many", "memories"): (
        [{"content": "one", "kind": "fact"}, {"content": "two", "importance": 0.5}],
        [{"content": "said", "kind": "turn", "session_id": "talk", "turn": 0, "speaker": "Mara"}],
        [{"content": "dated", "created_at": "2025-05-01", "data": {"a": [1]}, "keywords": ["k"]}],
    ),
    ("set_settings", "settings"): ({"memory": True}, {"confirm": True, "show_references": None}),
    ("replay", "mode_settings"): (
        {"mmr_lambda": 0.9},
        {"weights": {"task": 1.5}},
        {"mode": "plan"},
    ),
    ("call_tool", "arguments"): (
        {"query": "tea", "max_results": 3},
        {"query": "tea", "time_from": "2025-01-01T00:00:00Z", "min_relevance_score": 0.1},
        {"key": "1"},
        {"content": "written", "category": "fact", "salience": 0.5},
        {"memory_id": "1", "max_results": 5},
        {},
    ),
    ("enqueue", "payload"): (
        {"memory_ids": ["1", "2"], "event_ids": ["1"], "session_id": "talk", "until_turn": 3},
        {"memory_ids": ["1", "2"], "kind": "fact"},
    ),
    ("finish", "answer"): (
        {
            "memories": [
                {
                    "kind": "fact",
                    "content": "c",
                    "subject": None,
                    "data": [],
                    "importance": 1,
                    "confidence": 1,
                }
            ]
        },
        {"decisions": []},
        {"action": "merge", "content": "both", "reason": "alike"},
        {"keywords": [{"word": "tea", "weight": 1}]},
        {"summary": "short", "memories": []},
    ),
}
NUMBERS = (0, -1, 0.5, 10**30, -1e300, 1e-300, 2**63, 2**31)
# Stands for the part of a document that is exchanged: what comes there may be too deep for Python.
_HOLE = "(hole)"
# Of texts and of documents that hypothesis makes.
_POOL = 200


@dataclass(frozen=True)
class Parameter:
    """One parameter of a function, with its type as PostgreSQL prints it."""

    name: str
    type: str
    optional: bool


@dataclass(frozen=True)
class Function:
    """A public function or procedure."""

    name: str
    is_procedure: bool
    parameters: tuple[Parameter, ...]


@dataclass(frozen=True)
class Call:
    """A call with named arguments, those left out included in nothing."""

    function: Function
    arguments: Mapping[str, Value]

    @property
    def casts(self) -> str:
        """The arguments alone, each read as its type: for telling who refused one."""
        types = {p.name: p.type for p in self.function.parameters}
        return ", ".join(f"%({name})s::{types[name]}" for name in self.arguments)

    @property
    def statement(self) -> str:
        """The call, with psycopg's placeholders."""
        types = {p.name: p.type for p in self.function.parameters}
        given = ", ".join(f"{name} => %({name})s::{types[name]}" for name in self.arguments)
        verb = "CALL" if self.function.is_procedure else "SELECT * FROM"
        return f"{verb} memoir.{self.function.name}({given})"

    def __str__(self) -> str:
        given = (f"{name} => {_short(value)}" for name, value in self.arguments.items())
        return f"{self.function.name}({', '.join(given)})"


def _short(value: Value) -> str:
    text = "NULL" if value is None else repr(value)
    return text if len(text) <= 60 else f"{text[:60]}... ({len(text)} characters)"


def functions(conn: psycopg.Connection[Any]) -> list[Function]:
    """Every public function and procedure of memoir, in order of name."""
    rows = conn.execute(
        "SELECT p.proname, p.prokind = 'p', p.proargnames, p.proargmodes::text[], p.pronargs,"
        " p.pronargdefaults, (SELECT array_agg(format_type(a, NULL) ORDER BY place)"
        "  FROM unnest(p.proargtypes) WITH ORDINALITY AS t (a, place))"
        " FROM pg_proc AS p WHERE p.pronamespace = 'memoir'::regnamespace"
        " AND p.proname NOT LIKE '\\_%' ORDER BY p.proname, p.oid"
    )
    return [_function(*row) for row in rows.fetchall()]


def _function(
    name: str,
    is_procedure: bool,
    names: list[str] | None,
    modes: list[str] | None,
    count: int,
    defaults: int,
    types: list[str] | None,
) -> Function:
    inputs = [n for n, m in zip(names or (), modes or "i" * count, strict=False) if m in "ib"]
    return Function(
        name,
        is_procedure,
        tuple(
            Parameter(parameter, type_, optional=place >= count - defaults)
            for place, (parameter, type_) in enumerate(zip(inputs, types or (), strict=True))
        ),
    )


def _free_texts() -> st.SearchStrategy[str]:
    """Any short text PostgreSQL can hold."""
    return st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=40)


def _free_documents() -> st.SearchStrategy[Any]:
    """Any small JSON."""
    leaf = st.one_of(st.none(), st.booleans(), st.sampled_from(NUMBERS), _free_texts())
    return st.recursive(
        leaf,
        lambda inner: st.one_of(
            st.lists(inner, max_size=4), st.dictionaries(_free_texts(), inner, max_size=4)
        ),
        max_leaves=8,
    )


def _pool(strategy: st.SearchStrategy[Any], seed: int) -> list[Any]:
    """Examples of a strategy, the same for the same seed."""
    made: list[Any] = []

    @seeded(seed)
    @settings(
        max_examples=_POOL,
        database=None,
        deadline=None,
        derandomize=False,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(strategy)
    def draw(example: Any) -> None:
        made.append(example)

    draw()
    return made


class Arguments:
    """Makes calls, the same for the same seed.

    Args:
        samples: what exports gave, for the parameters that take it back, by function and
            parameter: a document, or a list of lines.
    """

    def __init__(self, seed: int, samples: Mapping[tuple[str, str], Any]) -> None:
        self._samples = samples
        self._random = random.Random(seed)
        self._texts = [*TEXTS, *_pool(_free_texts(), seed)]
        self._documents = [*DEEP, *map(_dumped, _pool(_free_documents(), seed))]

    def call(self, function: Function) -> Call:
        """Good arguments, none to two of them exchanged for wild ones; some left out."""
        names = [parameter.name for parameter in function.parameters]
        exchanged = self._random.choice((0, 0, 1, 1, 1, 2))
        wild = self._random.sample(names, min(exchanged, len(names)))
        # Of very many arguments few go together.
        rarely = 2 if len(names) <= 18 else 6
        arguments: dict[str, Value] = {}
        for parameter in function.parameters:
            if parameter.name in wild:
                arguments[parameter.name] = self._wild(parameter)
            elif not parameter.optional or parameter.name == "user_id" or self._one_in(rarely):
                arguments[parameter.name] = self._good(function.name, parameter)
        return Call(function, arguments)

    def _one_in(self, count: int) -> bool:
        return self._random.randrange(count) == 0

    def _good(self, function: str, parameter: Parameter) -> str:
        """What a careful caller passes."""
        name, type_ = parameter.name, parameter.type
        if (function, name) in DOCUMENTS:
            document = self._random.choice(DOCUMENTS[function, name])
            return self._filled(self._exchanged(document) if self._one_in(2) else document)
        sample = self._samples.get((function, name))
        if sample is not None and type_ == "text":
            return "\n".join(self._lines(sample, self._random.choice(self._texts)))
        if sample is not None and type_ == "text[]":
            changed = self._filled(self._exchanged(json.loads(self._random.choice(sample))))
            return _array(self._lines(sample, changed))
        if sample is not None:
            return self._filled(self._exchanged(sample) if self._one_in(2) else sample)
        values = self._values(function, name, type_.removesuffix("[]"))
        if type_.endswith("[]"):
            return _array(self._random.choices(values, k=2))
        return self._random.choice(values)

    def _lines(self, lines: Sequence[str], changed: str) -> list[str]:
        """Lines, every other time with one of them exchanged, left out or sent twice."""
        place = self._random.randrange(len(lines))
        instead = self._random.choice(([changed], [changed], [changed], [], [lines[place]] * 2))
        kept = [*lines[:place], *instead, *lines[place + 1 :]]
        return kept if self._one_in(2) else list(lines)

    @staticmethod
    def _values(function: str, name: str, type_: str) -> Sequence[str]:
        if (function.endswith("_model") and name == "name") or name == "model":
            return MODELS
        return OF_FUNCTION.get((function, name)) or NAMED.get(name) or SANE[type_]

    def _wild(self, parameter: Parameter) -> Value:
        """Anything of the type."""
        if self._one_in(8):
            return None
        if parameter.name.endswith("user") or parameter.name == "user_id":
            return self._random.choice(USERS)
        if parameter.type.endswith("[]"):
            return self._wild_array(parameter.type.removesuffix("[]"))
        return self._of_type(parameter.type)

    def _of_type(self, type_: str) -> str:
        documents = self._documents
        pools: dict[str, Sequence[str]] = {"text": self._texts, "jsonb": documents, **WILD}
        pools["json"] = documents
        return self._random.choice(pools[type_])

    def _wild_array(self, element: str) -> str:
        """An array of any shape: empty, with NULL, huge, of two dimensions, counted from 0."""
        sane = self._random.choice(SANE[element])
        one, two = self._of_type(element), self._random.choice((None, sane))
        return self._random.choice(
            (
                "{}",
                _array([one]),
                _array([sane, one]),
                _array([sane, two, sane]),
                _array([sane] * 10_000),
                _array([None] * 10_000),
                "{" + _array([sane, one]) + "," + _array([one, sane]) + "}",
                "[0:1]=" + _array([sane, one]),
            )
        )

    def _filled(self, document: Any) -> str:
        """A document as text, with something in the place of its hole, however deep."""
        text = _dumped(self._random.choice(self._texts))
        filling = text if self._one_in(2) else self._random.choice(self._documents)
        return _dumped(document).replace(_dumped(_HOLE), filling)

    def _exchanged(self, document: Any) -> Any:
        """A document with a hole for one part of it, or without that part."""
        if isinstance(document, list) and document and not self._one_in(6):
            place = self._random.randrange(len(document))
            return [*document[:place], self._exchanged(document[place]), *document[place + 1 :]]
        if isinstance(document, dict) and document and not self._one_in(6):
            key = self._random.choice(sorted(document))
            if self._one_in(6):
                return {name: value for name, value in document.items() if name != key}
            return {**document, key: self._exchanged(document[key])}
        return _HOLE


def _dumped(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _array(items: Sequence[Value]) -> str:
    """The text PostgreSQL reads as an array."""
    quoted = (
        "NULL" if i is None else '"' + i.replace("\\", "\\\\").replace('"', '\\"') + '"'
        for i in items
    )
    return "{" + ",".join(quoted) + "}"
