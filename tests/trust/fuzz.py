"""Every public function with arguments nobody should pass: what it answers, and how fast.

A call has good arguments by the names of its parameters. None to two are exchanged for NULL, empty,
very long, signs of every script, SQL and patterns, NaN, infinity, the first and last of all dates,
vectors of other lengths, deep documents, or exports with a part exchanged. It ends with rows, with
an error of class ME that the comment of the function names, or because PostgreSQL cannot read an
argument as its type. Anything else is a defect, and so is a call that takes a processor 2 s.
"""

from __future__ import annotations

import json
import random
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import psycopg
from tests.rows import processor_seconds
from tests.trust.arguments import Arguments, Call, Function

# D0 promises a recall under 0.5 s always; nothing may keep a processor busy for longer than this.
MOST_SECONDS = 2.0
# What an owner calls after a change of the installation, and what it may take: both make anew what
# is of all users.
_PATIENT = {"grant_access": 20.0, "compile_configuration": 20.0}
# So many calls are one transaction: later ones meet what earlier ones left, and all is undone.
_ROUND = 50
# Defects that one line of the report stands for.
_EXAMPLES = 2
_THOSE_OF = re.compile(r"(?:those of|[Ee]rrors:? as) (\w+)\(\)")

Ending = Literal["result", "refused", "unreadable", "defect"]


@dataclass(frozen=True)
class Outcome:
    """How a call ended.

    Attributes:
        code: SQLSTATE of an error, else ``00000``.
        seconds: how long a processor was busy with it, whatever else the machine does.
    """

    call: Call
    ending: Ending
    code: str
    message: str
    seconds: float
    context: str = ""


def build_world(conn: psycopg.Connection[Any]) -> None:
    """Two users with something in every table, so that calls have something to meet."""
    for statement in _WORLD:
        conn.execute(statement.encode())


_WORLD = (
    "SELECT memoir.use_model('tiny', 3)",
    """SELECT memoir.remember(c, k, 'ada', embedding => v::halfvec, data => d::jsonb, subject => s)
    FROM (VALUES
        ('Ada drinks green tea', 'preference', '[1,0,0]', NULL, 'user.drink'),
        ('Ada lives in Oslo', 'fact', '[0,1,0]', NULL, 'user.city'),
        ('The gateway keeps the old signing key after a deploy', 'learning', '[0,0,1]', NULL, NULL),
        ('Search on PostgreSQL 18', 'okr', NULL, '{"status": "pending", "priority": 1}', NULL),
        ('Ships every Friday', 'capability', NULL, NULL, NULL),
        ('认证失败先看令牌的 kid 是否在 JWKS 里', 'procedural', '[0.5,0.5,0]', NULL, NULL),
        ('Call the dentist', 'task', NULL, '{"due": "2025-05-05"}', NULL),
        ('The demo is in room 4', 'context', '[0.1,0.9,0.1]', NULL, NULL)) AS m (c, k, v, d, s)""",
    "SELECT memoir.remember('memory ' || n || ' of ' || u, 'fact', u)"
    " FROM generate_series(1, 12) AS n, unnest('{ada,bob}'::text[]) AS u",
    "SELECT memoir.remember('Ada lives in Rome', 'fact', 'ada', subject => 'user.city')",
    "SELECT memoir.remember(c, 'turn', 'ada', session_id => 'monday', turn => t - 1, speaker => s)"
    " FROM (VALUES (1, 'Mara', 'Who runs it?'), (2, 'Ken', 'Yusuf, until the end of June.'),"
    "              (3, 'Mara', 'And then?')) AS said (t, s, c)",
    "SELECT memoir.message_add('talk', r, 'message ' || n, 'Mara', 'ada')"
    " FROM generate_series(1, 3) AS n, (VALUES ('user'), ('assistant')) AS said (r)",
    "SELECT memoir.session_start('private', true, 'ada')",
    "SELECT memoir.forget(9, 'old', 'ada')",
    "SELECT memoir.relate(1, 2, 'supports', 0.8, 'ada')",
    "SELECT memoir.relate(2, 3, 'contradicts', 1, 'ada')",
    "SELECT memoir.mention(1, 'Ada', 'person', 'ada')",
    "SELECT memoir.mention(3, 'PostgreSQL', 'thing', 'ada')",
    "SELECT memoir.event_add('alert', '{\"disk\": 91}', u) FROM unnest('{ada,bob}'::text[]) AS u",
    "SELECT memoir.gold_add('drinks', 'tea?', '{1}', '[1,0,0]', 'ada', '{1}')",
    "SELECT memoir.set_settings('{\"confirm\": true}', 'ada')",
    "SELECT memoir.remember('Ada is left-handed', 'fact', 'ada', source => 'agent')",
    "SELECT memoir.set_settings('{\"confirm\": false}', 'ada')",
    "SELECT memoir.enqueue('rolling_summary', '{}', 'ada', 'once')",
    "SELECT memoir.enqueue('extract', '{\"session_id\": \"talk\"}', 'ada')",
    'SELECT memoir.apply_decisions(\'[{"action": "ADD", "content": "Ada has a cat"}]\', \'ada\')',
    "SELECT memoir.claim(u, 5, 'w1') FROM unnest('{ada,bob}'::text[]) AS u",
    "SELECT memoir.recall('[1,0,0]', m, query_text => 'tea', user_id => 'ada')"
    " FROM unnest('{execute,conversation,search}'::text[]) AS m",
    "SELECT memoir.mark_used(1, '{1}', 'ada')",
    "SELECT memoir.call_tool('search_memories', '{\"query\": \"tea\"}', 'ada')",
    "SELECT memoir.add_model('other', 3)",
    "CREATE TABLE public.fuzzed (id int PRIMARY KEY, title text, body text, owner text, tags jsonb,"
    " at timestamptz)",
    "INSERT INTO public.fuzzed SELECT n, 'task ' || n, 'to do', 'ada', '{}', '2025-05-05'"
    " FROM generate_series(1, 5) AS n",
    "SELECT memoir.attach_source('tasks', 'task', 'public.fuzzed', '{title,body}',"
    " user_column => 'owner', created_at => 'at')",
    "SELECT memoir.fill_source('tasks')",
    "SELECT memoir.refresh_statistics(u) FROM unnest('{ada,bob}'::text[]) AS u",
)


def documented(conn: psycopg.Connection[Any]) -> Mapping[str, frozenset[str]]:
    """The errors each function's comment names, its own and "errors as other()"."""
    rows = conn.execute(
        "SELECT p.proname, string_agg(coalesce(obj_description(p.oid, 'pg_proc'), ''), ' ')"
        " FROM pg_proc AS p WHERE p.pronamespace = 'memoir'::regnamespace GROUP BY p.proname"
    )
    comments = dict(rows.fetchall())

    def codes(name: str, seen: frozenset[str]) -> set[str]:
        comment = comments.get(name, "")
        found = set(re.findall(r"\bME\d{3}\b", comment))
        for other in set(_THOSE_OF.findall(comment)) - seen:
            found |= codes(other, seen | {other})
        return found

    return {name: frozenset(codes(name, frozenset({name}))) for name in comments}


class Fuzz:
    """Runs calls and judges how they end."""

    def __init__(self, conn: psycopg.Connection[Any]) -> None:
        self._conn = conn
        self._documented = documented(conn)
        conn.execute("SET statement_timeout = '2min'")
        conn.execute("SET client_min_messages = error")

    def run(self, made: Sequence[Call]) -> list[Outcome]:
        """The calls in rounds; nothing of them stays."""
        outcomes = []
        for start in range(0, len(made), _ROUND):
            with self._conn.transaction(force_rollback=True):
                outcomes += [self.ended(call) for call in made[start : start + _ROUND]]
        return outcomes

    def ended(self, call: Call) -> Outcome:
        """One call, within the transaction there is."""
        before = self._worked()
        said = None
        try:
            with self._conn.transaction():
                self._conn.execute(call.statement.encode(), call.arguments)
        except psycopg.Error as error:
            said = error
        seconds = self._worked() - before
        if seconds > _PATIENT.get(call.function.name, MOST_SECONDS):
            return Outcome(call, "defect", "-----", f"it took {seconds:.1f} s", seconds)
        if said is not None:
            return self._judged(call, said, seconds)
        return Outcome(call, "result", "00000", "", seconds)

    def _worked(self) -> float:
        """The seconds of its process so far; 0 when a call has ended that."""
        return 0.0 if self._conn.closed else processor_seconds(self._conn)

    def _judged(self, call: Call, error: psycopg.Error, seconds: float) -> Outcome:
        code, message = error.sqlstate or "-----", str(error.diag.message_primary or error)
        ending: Ending = "defect"
        if code in self._documented.get(call.function.name, ()) and error.diag.message_hint:
            ending = "refused"
        elif self._unreadable(call, code):
            ending = "unreadable"
        return Outcome(call, ending, code, message, seconds, error.diag.context or "")

    def _unreadable(self, call: Call, code: str) -> bool:
        """Whether PostgreSQL refuses an argument before the function sees it."""
        try:
            with self._conn.transaction():
                self._conn.execute(f"SELECT {call.casts}".encode(), call.arguments)
        except psycopg.Error as error:
            return error.sqlstate == code
        return False


def samples(conn: psycopg.Connection[Any]) -> dict[tuple[str, str], Any]:
    """What exports of the world give, by the function and parameter that take it back."""
    lines = [line for (line,) in conn.execute("SELECT memoir.export_user('ada', true)")]
    ((markdown, memory, log),) = conn.execute(
        "SELECT memoir.export_markdown('memory', 'ada'), memoir.export_memory_json('ada'),"
        " memoir.export_day_log((SELECT (max(created_at) AT TIME ZONE 'UTC')::date"
        " FROM memoir.event WHERE user_id = 'ada'), 'ada')"
    )
    return {
        ("import_user", "lines"): lines,
        ("import_markdown", "content"): markdown.splitlines(),
        ("sync_markdown", "files"): {"memory": {"content": markdown, "base": markdown}},
        ("import_memory_json", "document"): json.loads(memory),
        ("import_day_log", "document"): json.loads(log),
    }


def drawn(
    conn: psycopg.Connection[Any], found: Sequence[Function], total: int, seed: int
) -> list[Call]:
    """``total`` calls, as many of every function, in an order that mixes them; one of a function
    without parameters, which takes half a second.

    Procedures commit, so they cannot share a transaction: `maintain_all`, which does what
    `maintain` does, and `read_source`, which calls `pull_source`.
    """
    callable_ = [function for function in found if not function.is_procedure]
    arguments = Arguments(seed, samples(conn))
    made = [arguments.call(callable_[n % len(callable_)]) for n in range(total)]
    again = [call for call in made[len(callable_) :] if call.function.parameters]
    made = made[: len(callable_)] + again
    random.Random(seed).shuffle(made)
    return made


def defects(every: Iterable[Outcome]) -> list[str]:
    """Defects of one kind together, with examples."""
    kinds: dict[tuple[str, str, str], list[Outcome]] = defaultdict(list)
    for outcome in every:
        if outcome.ending == "defect":
            alike = re.sub(r'"[^"]*"|\d+', "_", outcome.message)[:80]
            kinds[outcome.call.function.name, outcome.code, alike].append(outcome)
    lines = []
    for (name, code, _), found in sorted(kinds.items()):
        lines.append(f"\n{name} {code} x{len(found)}: {found[0].message[:160]}")
        lines += [f"    {one.call}" for one in found[:_EXAMPLES]]
        lines += [f"    at {line}" for line in found[0].context.splitlines()[:3]]
    return lines
