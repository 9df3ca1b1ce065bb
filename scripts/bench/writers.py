#!/usr/bin/env python3
"""Many writers at once for one user, who say the same things and take them back.

See the README beside this file: what they do, what must hold at the end, and what it came to.
"""

from __future__ import annotations

import json
import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import click
import psycopg
from common import SECONDS, SEED, Figures, Where, benchmark, count, percentile, scalar

USER = "shared"

# A state that another writer changed meanwhile is an answer, not an error.
REFUSALS = {"ME012", "ME014", "40001"}

_THINGS = ("tea", "vim", "Oslo", "chess", "Rust", "jazz", "skiing", "ramen", "cats", "sailing")
_SUBJECTS = ("user.editor", "user.city", "user.language")
_PAST = datetime(2025, 1, 1, tzinfo=UTC)

# Where a memory comes back, what is stored for a user is not as it should be.
_FAULTS = {
    "the same text twice": """
        SELECT min(memory_id) AS memory_id FROM memoir.memory
        WHERE user_id = %(user)s AND status IN ('active', 'pending')
        GROUP BY kind, subject, session_id, position, btrim(content, E' \\t\\r\\n')
        HAVING count(*) > 1""",
    "one of two active in a slot": """
        SELECT min(memory_id) FROM memoir.memory
        WHERE user_id = %(user)s AND status = 'active' AND subject IS NOT NULL AND position IS NULL
        GROUP BY kind, subject HAVING count(*) > 1""",
    "one of two true in a slot at the same time": """
        SELECT a.memory_id FROM memoir.memory AS a JOIN memoir.memory AS b
          ON b.user_id = a.user_id AND b.kind = a.kind AND b.subject = a.subject
         AND b.memory_id > a.memory_id
         AND tstzrange(a.valid_from, a.valid_until) && tstzrange(b.valid_from, b.valid_until)
        WHERE a.user_id = %(user)s AND a.status IN ('active', 'superseded')
          AND b.status IN ('active', 'superseded') AND a.position IS NULL AND b.position IS NULL""",
    "retired and yet active, or neither": """
        SELECT memory_id FROM memoir.memory
        WHERE user_id = %(user)s
          AND (retired_at IS NULL) <> (status IN ('active', 'pending'))""",
    "active without one active trace, or the reverse": """
        SELECT m.memory_id FROM memoir.memory AS m
        WHERE m.user_id = %(user)s AND (m.status = 'active')::int <> (
            SELECT count(*) FROM memoir.trace AS t JOIN memoir.embedding_model AS e
              ON e.model_id = t.model AND e.active
            WHERE t.user_id = m.user_id AND t.memory_id = m.memory_id AND t.active)""",
    "a trace that is not of its memory": """
        SELECT m.memory_id
        FROM memoir.memory AS m
        JOIN memoir.trace AS t ON t.user_id = m.user_id AND t.memory_id = m.memory_id
        JOIN memoir.kind AS k ON k.name = m.kind
        CROSS JOIN memoir._with_speaker(m.content, m.speaker, m.position) AS s (said)
        CROSS JOIN LATERAL (
            SELECT CASE WHEN m.kind = 'okr' THEN memoir._goal_line(s.said, m.data)
                        ELSE memoir._line(s.said, memoir._line_length()) END) AS l (line)
        CROSS JOIN memoir._brief(s.said, m.summary, l.line) AS b (brief)
        CROSS JOIN memoir._word_vector(m.content, concat_ws(' ', m.content, m.subject),
                                       concat_ws(' ', m.speaker, m.subject, (
            SELECT string_agg(n.name, ' ')
            FROM memoir.mention AS o JOIN memoir.entity AS n USING (user_id, entity_id)
            WHERE o.user_id = m.user_id AND o.memory_id = m.memory_id))) AS w
        WHERE m.user_id = %(user)s
          AND (t.line, t.brief, t.cost, t.brief_cost, t.asks, t.details, t.terms::text,
               t.term_count, t.importance, t.kind, t.created_at, t.wide) IS DISTINCT FROM (
              l.line, b.brief, memoir._token_cost('- ' || l.line || E'\\n'),
              memoir._token_cost('- ' || b.brief || E'\\n'), w.asks, w.details, w.terms::text,
              w.term_count, m.importance, k.kind_id, m.created_at,
              memoir._is_wide(t.embedding, w.term_count, l.line, m.user_id))""",
    "a keyword of another text": """
        SELECT m.memory_id
        FROM memoir.memory AS m
        JOIN memoir.keyword AS k ON k.user_id = m.user_id AND k.memory_id = m.memory_id
        WHERE m.user_id = %(user)s AND k.origin = 'system'
          AND k.keyword NOT IN (SELECT f.keyword FROM memoir._keywords(m.content) AS f)""",
    "a profile part that is not of its goals": """
        SELECT s.memory_ids[1]
        FROM memoir.profile AS p, memoir._profile_snippet(p.user_id, 'infinity', 2147483647) AS s
        WHERE p.user_id = %(user)s AND (p.snippet, p.snippet_ids) <> (s.snippet, s.memory_ids)""",
    # But for memories of a transaction that was open during the count: the next one has them.
    "a word that is not in as many memories as are counted": """
        SELECT min(t.memory_id)
        FROM (SELECT t.memory_id, t.terms, count(*) OVER () - p.counted AS later
              FROM memoir.profile AS p
              JOIN memoir.trace AS t ON t.user_id = p.user_id AND t.memory_id <= p.counted_up_to
              JOIN memoir.embedding_model AS e ON e.model_id = t.model AND e.active
              WHERE p.user_id = %(user)s AND p.ann = 0 AND t.active) AS t
        CROSS JOIN unnest(memoir._places(t.terms)) AS w (term)
        GROUP BY w.term, t.later
        HAVING count(*) - coalesce((SELECT k.df FROM memoir.term AS k
                                    WHERE k.user_id = %(user)s AND k.term = w.term), 0)
               NOT BETWEEN 0 AND t.later""",
    "to be compared and gone": """
        SELECT u.memory_id FROM memoir.uncompared AS u
        WHERE u.user_id = %(user)s
          AND NOT EXISTS (SELECT FROM memoir.memory AS m
                          WHERE m.user_id = u.user_id AND m.memory_id = u.memory_id)""",
}
_ALL_FAULTS = " UNION ALL ".join(
    f"SELECT '{fault}', f.memory_id::text FROM ({query}) AS f (memory_id)"
    for fault, query in _FAULTS.items()
)

# Texts that nothing remembers any more.
_LOST = """SELECT 'lost', g.text FROM unnest(%(texts)s::text[]) AS g (text)
WHERE NOT EXISTS (SELECT FROM memoir.memory AS m
                  WHERE m.user_id = %(user)s AND m.content = g.text)
  AND NOT EXISTS (SELECT FROM memoir.revision AS r
                  WHERE r.user_id = %(user)s
                    AND (r.old_values ->> 'content' = g.text OR strpos(r.reason, g.text) > 0))"""
# Fault and memory or text, for %(user)s who told %(texts)s.
FAULTS = f"{_ALL_FAULTS} UNION ALL {_LOST}"


def faults(conn: psycopg.Connection[Any], user: str, texts: Iterable[str] = ()) -> list[str]:
    """What is wrong with the memory of a user.

    Args:
        texts: what was told to it, every one of which must be found somewhere.
    """
    rows = conn.execute(FAULTS.encode(), {"user": user, "texts": list(texts)})
    return [f"{fault}: {what}" for fault, what in rows]


@dataclass
class Writer:
    """One of the writers: does one random thing after the other until it is told to stop.

    Attributes:
        times: milliseconds of the calls that were carried out.
        actions: what came of them, counted; refusals by their code.
        texts: what was told to memory.
        errors: what should not have happened.
    """

    conn: psycopg.Connection[Any]
    source: random.Random
    times: list[float] = field(default_factory=list)
    actions: Counter[str] = field(default_factory=Counter)
    texts: set[str] = field(default_factory=set)
    errors: list[str] = field(default_factory=list)
    _ids: list[int] = field(default_factory=list)

    def run(self, until: Callable[[], bool]) -> None:
        """Do things until it is time."""
        while not until():
            self.step()

    def step(self) -> None:
        """Do one thing."""
        adds = [self._say] * 8 + [self._fill] * 5 + [self._batch] * 2
        changes: list[Callable[[], None]] = [
            partial(self._change, call) for call in ("forget", "restore", "undo")
        ]
        changes += [self._decide, self._decide, self._tie]
        doing = self.source.choice(adds + changes if self._ids else adds)
        start = time.perf_counter()
        try:
            doing()
        except psycopg.Error as error:
            self._refused(error)
        else:
            self.times.append((time.perf_counter() - start) * 1000)

    def _refused(self, error: psycopg.Error) -> None:
        if error.sqlstate in REFUSALS:
            self.actions[error.sqlstate] += 1
        else:
            self.errors.append(f"{error.sqlstate} {error.diag.message_primary}")

    def _call(self, statement: str, told: Sequence[str], **values: Any) -> None:
        """A call that answers with rows of action and memory_id."""
        for action, memory_id in self.conn.execute(statement.encode(), values):
            self.actions[action] += 1
            self._ids += [memory_id] if memory_id else []
        self.texts.update(told)
        del self._ids[:-40]

    def _fact(self) -> str:
        """One of few sentences, with or without words that make it nearly another."""
        thing, more = self.source.choice(_THINGS), self.source.choice(("", " a lot", " on Sundays"))
        return f"The user enjoys {thing} with friends and family at home{more}"

    def _time(self) -> datetime:
        return _PAST + timedelta(days=self.source.randrange(500))

    def _say(self) -> None:
        text = self._fact()
        self._call(
            "SELECT action, memory_id FROM memoir.remember(%(text)s, 'fact', %(user)s)",
            [text], text=text, user=USER,
        )  # fmt: skip

    def _fill(self) -> None:
        text = f"It is {self.source.choice(_THINGS)}"
        self._call(
            "SELECT action, memory_id FROM memoir.remember(%(text)s, 'preference', %(user)s,"
            " subject => %(subject)s, valid_from => %(at)s)",
            [text], text=text, user=USER, subject=self.source.choice(_SUBJECTS),
            at=self.source.choice((None, self._time())),
        )  # fmt: skip

    def _batch(self) -> None:
        texts = [self._fact() for _ in range(5)]
        memories: list[dict[str, str]] = [{"content": text, "kind": "fact"} for text in texts]
        memories.append({"content": texts[0], "subject": self.source.choice(_SUBJECTS)})
        self._call(
            "SELECT action, memory_id FROM memoir.remember_many(%(memories)s, NULL, %(user)s)",
            texts, memories=json.dumps(memories), user=USER,
        )  # fmt: skip

    def _id(self) -> int:
        """A memory of this writer's, which others may have changed since."""
        return self.source.choice(self._ids)

    def _decide(self) -> None:
        text, id_ = self._fact(), str(self._id())
        decision = self.source.choice(
            (
                {"action": "ADD", "kind": "fact"},
                {"action": "UPDATE", "memory_id": id_},
                {"action": "SUPERSEDE", "memory_id": id_},
                {"action": "KEEP_BOTH", "memory_id": id_},
                {"action": "MERGE", "memory_ids": list({id_, str(self._id())})},
            )
        )
        self._call(
            "SELECT action, memory_id FROM memoir.apply_decisions(%(decisions)s, %(user)s)",
            [text], decisions=json.dumps([{"content": text, **decision}]), user=USER,
        )  # fmt: skip

    def _change(self, call: str, **more: Any) -> None:
        names = "".join(f", {name} => %({name})s" for name in more)
        statement = f"SELECT memoir.{call}(%(id)s, user_id => %(user)s{names})"
        self.conn.execute(statement.encode(), {"id": self._id(), "user": USER, **more})
        self.actions[call] += 1

    def _tie(self) -> None:
        """What hangs on a memory: a name, a vector, a relation."""
        call, more = self.source.choice(
            (
                ("mention", {"entity": self.source.choice(_THINGS)}),
                ("set_embedding", {"embedding": str([self.source.random(), 1.0])}),
            )
        )
        self._change(call, **more)


def write_at_once(dsn: str, writers: int, seconds: float, seed: int) -> list[Writer]:
    """Let writers loose on one user's memory, each on a connection of its own."""
    crowd = [
        Writer(psycopg.connect(dsn, autocommit=True), random.Random(seed * 1000 + number))
        for number in range(writers)
    ]
    barrier, over = threading.Barrier(writers), threading.Event()

    def work(writer: Writer) -> None:
        barrier.wait()
        end = time.monotonic() + seconds
        with writer.conn:
            writer.run(lambda: over.is_set() or time.monotonic() > end)

    with ThreadPoolExecutor(writers) as pool:
        try:
            list(pool.map(work, crowd))
        finally:
            over.set()  # after Ctrl-C before it is time
    return crowd


def summed(crowd: Sequence[Writer], seconds: float) -> dict[str, Any]:
    """What all writers did together."""
    times = [time for writer in crowd for time in writer.times] or [0.0]
    actions = sum((writer.actions for writer in crowd), Counter[str]())
    return {
        "calls": len(times),
        "calls_per_second": len(times) / seconds,
        "p50_ms": percentile(times, 50),
        "p95_ms": percentile(times, 95),
        "slowest_ms": max(times),
        "actions": dict(sorted(actions.items())),
        "errors": [error for writer in crowd for error in writer.errors],
    }


def report(result: Mapping[str, Any]) -> str:
    """The figures for people."""
    counted = ", ".join(f"{action} {count}" for action, count in result["actions"].items())
    wrong = [*dict.fromkeys(result["errors"]), *result["faults"]]
    return "\n".join(
        (
            f"PostgreSQL {result['server_version']}, {result['writers']} writers of one"
            f" user's memory, {result['seconds']:g} s",
            f"{result['calls']} calls, {result['calls_per_second']:.0f} a second:"
            f" p50 {result['p50_ms']:.1f} ms, p95 {result['p95_ms']:.1f},"
            f" slowest {result['slowest_ms']:.0f}",
            f"left: {result['memories']} memories, {result['revisions']} revisions",
            f"what came of it: {counted}",
            f"errors: {len(result['errors'])}, faults: {len(result['faults'])}",
            *wrong[:20],
        )
    )


@benchmark(report)
@count("--writers", 16, "How many write at once.")
@click.option("--seconds", type=SECONDS, default=60.0, show_default=True, help="For how long.")
@SEED
def main(where: Where, writers: int, seconds: float, seed: int) -> Figures:
    """Let writers loose on one user's memory and see what they left; exit 1 if it is not right.

    Takes as long as --seconds says, and a few more.
    """
    with where.opened() as place:
        crowd = write_at_once(place.dsn, writers, seconds, seed)
        with place.connect() as conn:
            texts = sorted(set().union(*(writer.texts for writer in crowd)))
            result = {
                "server_version": place.server,
                "writers": writers,
                "seconds": seconds,
                "memories": scalar(conn, "SELECT count(*) FROM memoir.memory"),
                "revisions": scalar(conn, "SELECT count(*) FROM memoir.revision"),
                **summed(crowd, seconds),
                "faults": faults(conn, USER, texts),
            }
    return {**result, "failed": bool(result["faults"] or result["errors"])}


if __name__ == "__main__":
    main()
