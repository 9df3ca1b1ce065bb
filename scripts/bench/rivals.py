"""Stores of other projects on the same server: mem0's PGVector and Memory, LangGraph's Postgres.

Each is used as its documentation says, through its own public calls, and holds the same rows with
the same vectors. None is imported before `prepare` has turned telemetry and tracing off.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.metadata
import importlib.util
import logging
import os
import random
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import click
import psycopg
from conversations import Asked, Turn
from psycopg.conninfo import make_conninfo

Vector = Sequence[float]

PACKAGES = ("mem0ai", "langgraph-checkpoint-postgres")
_MODULES = ("mem0", "langgraph.store.postgres", "psycopg_pool")
_BATCH = 500
_SPACY_MODEL = "en_core_web_sm"


class Missing(click.ClickException):
    """The packages that are compared are not installed."""

    exit_code = 2

    def __init__(self) -> None:
        super().__init__(
            "mem0ai and langgraph-checkpoint-postgres are not installed. In the project's folder:\n"
            "  python3 -m pip --python .venv/bin/python install -e '.[bench]' -c constraints.txt\n"
            "or, with uv:\n"
            "  VIRTUAL_ENV=.venv uv pip install -e '.[bench]' -c constraints.txt"
        )


@dataclass(frozen=True)
class Rival:
    """One way of asking one store.

    Attributes:
        limit: the rows its call returns when no number is named.
        ask: the call that is timed; what it returns is the library's own.
        keys: the ids of what an answer names, the best first.
    """

    name: str
    limit: int
    ask: Callable[[Asked, Vector, int], Any]
    keys: Callable[[Any], list[str]]


class Rows:
    """What every store holds: the turns, their vectors, and an id for each.

    Args:
        questions: the vectors of the questions, by text.
    """

    def __init__(
        self,
        turns: Sequence[Turn],
        vectors: Sequence[Vector],
        questions: Mapping[str, Vector],
    ) -> None:
        self.turns = turns
        self.vectors = vectors
        # Random ids, as the libraries make them; seeded, so that two runs store the same.
        bits = random.Random(1)
        self.ids = [str(uuid.UUID(int=bits.getrandbits(128), version=4)) for _ in turns]
        self.place_of = {key: place for place, key in enumerate(self.ids)}
        texts = (turn.text for turn in turns)
        self._vector_of = dict(zip(texts, vectors, strict=True)) | dict(questions)

    @property
    def dimensions(self) -> int:
        """Of every vector."""
        return len(self.vectors[0])

    def embed(self, texts: Sequence[str]) -> list[Vector]:
        """The vectors of known texts: what an embedder would give, at the cost of a look-up."""
        return [self._vector_of[text] for text in texts]

    def batches(self) -> Iterator[range]:
        """The places, some hundreds at a time."""
        for start in range(0, len(self.turns), _BATCH):
            yield range(start, min(start + _BATCH, len(self.turns)))


def prepare(folder: Path) -> None:
    """Turn telemetry and downloads off and see that everything is installed.

    Args:
        folder: for what mem0 writes beside the database.

    Raises:
        Missing: it is not.
    """
    os.environ["MEM0_TELEMETRY"] = "False"
    os.environ["MEM0_DIR"] = str(folder)
    os.environ["LANGSMITH_TRACING"] = os.environ["LANGCHAIN_TRACING_V2"] = "false"
    try:
        for module in _MODULES:
            importlib.import_module(module)
    except ImportError as error:
        raise Missing from error
    logging.getLogger("mem0").setLevel(logging.ERROR)
    if not lemmatizes():
        # With spaCy alone it would go and fetch the model.
        models = importlib.import_module("mem0.utils.spacy_models")
        for flag in ("_load_failed_lemma", "_load_failed_full"):
            setattr(models, flag, True)


def versions() -> dict[str, str]:
    """Of the packages that are compared."""
    found = {name: importlib.metadata.version(name) for name in PACKAGES}
    if lemmatizes():
        found["spacy"] = importlib.metadata.version("spacy")
    return found


def lemmatizes() -> bool:
    """Whether mem0 can lemmatise: with spaCy and its model, which are no part of the extra."""
    return all(importlib.util.find_spec(name) is not None for name in ("spacy", _SPACY_MODEL))


@contextmanager
def rivals(dsn: str, schema: str, rows: Rows) -> Iterator[list[Rival]]:
    """All stores, filled, in a database that has the extension vector in this schema."""
    with ExitStack() as stack:
        mem0 = _mem0(stack, dsn, schema, rows)
        graphs = [
            _langgraph(stack, dsn, schema, rows, kind, vector_type)
            for kind, vector_type in (("hnsw", "vector"), ("flat", "halfvec"))
        ]
        yield [*mem0, *graphs]


@dataclass(frozen=True)
class _Mem0Embedder:
    """Stands where mem0 has its embedding model.

    Names in the question get no vectors, so that mem0 leaves its search for entities out: the
    table of entities is filled by a language model.
    """

    rows: Rows

    def embed(self, text: str, _action: str) -> Vector:
        return self.rows.embed([text])[0]

    def embed_batch(self, _texts: Sequence[str], _action: str) -> list[Vector]:
        return []


def _mem0(stack: ExitStack, dsn: str, schema: str, rows: Rows) -> list[Rival]:
    """``PGVector.search``, the nearest of a user, in three ways, and ``Memory.search``.

    A store is opened once for each limit, as in a program that asks for one number of rows: the
    server chooses a plan for a prepared statement by the first values it sees on a connection.
    """
    pgvector = importlib.import_module("mem0.vector_stores.pgvector")
    lemmatize = importlib.import_module("mem0.utils.lemmatization").lemmatize_for_bm25
    unused = {"provider": "openai", "config": {"api_key": "no call is made"}}

    def config(hnsw: bool, settings: str = "") -> dict[str, Any]:
        options = f"-csearch_path=public,{schema} {settings}"
        return {
            "connection_string": make_conninfo(dsn, options=options),
            "collection_name": "mem0_hnsw" if hnsw else "mem0_exact",
            "embedding_model_dims": rows.dimensions,
            "hnsw": hnsw,
            "diskann": False,
        }

    def store(hnsw: bool, settings: str = "") -> Any:
        made = pgvector.PGVector(
            **config(hnsw, settings), dbname=None, user=None, password=None, host=None, port=None
        )
        stack.callback(made.connection_pool.close)
        return made

    def nearest(name: str, hnsw: bool, settings: str = "") -> Rival:
        opened = cache(lambda _limit: store(hnsw, settings))

        def ask(asked: Asked, vector: Vector, limit: int) -> Any:
            own = {"user_id": asked.user}
            return opened(limit).search(asked.text, vector, top_k=limit, filters=own)

        return Rival(f"mem0 PGVector, {name}", 5, ask, lambda answer: [each.id for each in answer])

    @cache
    def memory(_limit: int) -> Any:
        made = importlib.import_module("mem0").Memory.from_config(
            {
                "vector_store": {"provider": "pgvector", "config": config(hnsw=True)},
                "llm": unused,
                "embedder": unused,
                "history_db_path": ":memory:",
            }
        )
        stack.callback(made.vector_store.connection_pool.close)
        made.embedding_model = _Mem0Embedder(rows)
        return made

    for hnsw in (True, False):
        filling = store(hnsw)
        filling.delete_col()
        for places in rows.batches():
            filling.insert(
                [rows.vectors[place] for place in places],
                [_payload(rows.turns[place], lemmatize) for place in places],
                [rows.ids[place] for place in places],
            )

    def fused(asked: Asked, _vector: Vector, limit: int) -> Any:
        return memory(limit).search(asked.text, top_k=limit, filters={"user_id": asked.user})

    def fused_keys(answer: Any) -> list[str]:
        return [each["id"] for each in answer["results"]]

    return [
        nearest("hnsw", True),
        # mem0 does not mention it: how pgvector goes on where a filter leaves too few rows.
        nearest("hnsw, iterative", True, "-chnsw.iterative_scan=relaxed_order"),
        nearest("exact", False),
        Rival("mem0 Memory, hybrid, hnsw", 20, fused, fused_keys),
    ]


def _payload(turn: Turn, lemmatize: Callable[[str], str]) -> dict[str, Any]:
    """What ``Memory.add(infer=False)`` writes."""
    at = turn.time.isoformat()
    return {
        "user_id": turn.user,
        "role": "user",
        "actor_id": turn.speaker,
        "session": turn.session,
        "position": turn.position,
        "data": turn.text,
        "hash": hashlib.md5(turn.text.encode()).hexdigest(),
        "created_at": at,
        "updated_at": at,
        "text_lemmatized": lemmatize(turn.text),
    }


def _langgraph(
    stack: ExitStack, dsn: str, schema: str, rows: Rows, kind: str, vector_type: str
) -> Rival:
    """``PostgresStore.search``, the nearest in a namespace; it embeds the question itself.

    In a schema of its own: the names of its tables are fixed.
    """
    own = f"langgraph_{kind}"
    with psycopg.connect(dsn, autocommit=True) as conn:
        conn.execute(f"DROP SCHEMA IF EXISTS {own} CASCADE; CREATE SCHEMA {own}".encode())
    module = importlib.import_module("langgraph.store.postgres")
    put = importlib.import_module("langgraph.store.base").PutOp

    def store() -> Any:
        return stack.enter_context(
            module.PostgresStore.from_conn_string(
                make_conninfo(dsn, options=f"-csearch_path={own},{schema}"),
                index={
                    "dims": rows.dimensions,
                    "embed": rows.embed,
                    "fields": ["text"],
                    "ann_index_config": {"kind": kind, "vector_type": vector_type},
                },
                # Else every search is an UPDATE too, of rows that expire: none does here.
                ttl={"refresh_on_read": False},
            )
        )

    filling = store()
    filling.setup()
    for places in rows.batches():
        filling.batch(
            [
                put(_namespace(rows.turns[place].user), rows.ids[place], _value(rows.turns[place]))
                for place in places
            ]
        )
    opened = cache(lambda _limit: store())

    def ask(asked: Asked, _vector: Vector, limit: int) -> Any:
        return opened(limit).search(_namespace(asked.user), query=asked.text, limit=limit)

    name = f"LangGraph, {kind}, {vector_type}"
    return Rival(name, 10, ask, lambda answer: [each.key for each in answer])


def _namespace(user: str) -> tuple[str, ...]:
    return (user, "memories")


def _value(turn: Turn) -> dict[str, Any]:
    return {
        "text": turn.text,
        "session": turn.session,
        "position": turn.position,
        "speaker": turn.speaker,
        "created_at": turn.time.isoformat(),
    }
