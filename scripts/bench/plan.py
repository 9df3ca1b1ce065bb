"""The plan of the statement in ``_recall`` that finds the candidates.

PL/pgSQL hides the plans of its statements, and the module auto_explain is not in every build. So
the statement is taken out of the function's source, and a copy of the function in ``pg_temp`` that
stops there tells the values its variables have. It is then prepared and explained under the
function's own settings, as the generic plan that the function uses.
"""

from __future__ import annotations

import json
import re
from typing import Any

import psycopg
from common import Statement
from psycopg import sql

# The statements that read every memory: of the turns of conversations, and of the other modes. With
# rows out of the index there is another one for turns, with a UNION ALL.
_TURNS = re.compile(r"\bSELECT\b[^;]*?\bINTO all_ids\b(?:(?!\bUNION ALL\b)[^;])*;")
_OTHERS = re.compile(r"\bSELECT\b(?:(?!\bINTO\b)[^;])*?\bINTO ids\b[^;]*\bUNION ALL\b[^;]*;")
_INTO = re.compile(r"\bINTO\b.*?(?=\bFROM\b)", re.DOTALL)
_DECLARED = re.compile(r"^ +(\w+) (?:CONSTANT )?\w", re.MULTILINE)
# A name that is not a column (behind a dot), an alias or a function; _recall.x is a variable.
_NAME = re.compile(r"(?<![.\w])(?<!AS )(?:_recall\.)?([a-z_]\w*)\b(?![.(])")

_FUNCTION = """SELECT pg_get_functiondef(oid), prosrc, proargnames, proconfig FROM pg_proc
WHERE oid = 'memoir._recall'::regproc"""


def candidate_plan(conn: psycopg.Connection[Any], recall: Statement, mode: str) -> str:
    """EXPLAIN (ANALYZE, BUFFERS) of the candidate statement of one recall, warm.

    Args:
        conn: in autocommit; whatever is made here is rolled back.
        recall: a call of ``memoir.recall`` as the client sends it.
        mode: the mode of that call.
    """
    with conn.transaction(force_rollback=True):
        row = conn.execute(_FUNCTION.encode()).fetchone()
        assert row is not None
        definition, source, arguments, settings = row
        found = conn.execute("SELECT turns FROM memoir.mode WHERE name = %s", (mode,)).fetchone()
        statement = _candidate_statement(source, bool(found and found[0]))
        names = _variables(statement, source, arguments)
        for name, value in (setting.split("=", 1) for setting in settings):
            conn.execute("SELECT set_config(%s, %s, true)", (name, value))
        values = _values(conn, definition, statement, names, recall)
        return _explain(conn, statement, names, values)


def _candidate_statement(source: str, turns: bool) -> str:
    """The statement that scores the memories, for a mode of turns or another."""
    found = (_TURNS if turns else _OTHERS).findall(source)
    if len(found) != 1:
        raise RuntimeError(f"_recall has {len(found)} statements that look like the candidates'")
    return str(found[0])


def _variables(statement: str, source: str, arguments: list[str]) -> list[str]:
    """The variables of the function that the statement reads."""
    declared = source[: source.index("\nBEGIN\n")]
    known = {*arguments, *_DECLARED.findall(declared)}
    return sorted(known & set(_NAME.findall(_INTO.sub("", statement))))


def _values(
    conn: psycopg.Connection[Any],
    definition: str,
    statement: str,
    names: list[str],
    recall: Statement,
) -> dict[str, tuple[str, str | None]]:
    """Type and text of every variable at the time the statement runs."""
    told = ", ".join(f"'{name}', ARRAY[pg_typeof({name})::text, {name}::text]" for name in names)
    stop = f"RAISE NOTICE '%', jsonb_build_object({told}); RETURN;"
    copy = definition.replace(statement, stop)
    copy = copy.replace("FUNCTION memoir._recall(", "FUNCTION pg_temp._recall(", 1)
    conn.execute(copy.encode())
    heard: list[str] = []

    def hear(notice: psycopg.errors.Diagnostic) -> None:
        heard.append(notice.message_primary or "")

    conn.add_notice_handler(hear)
    try:
        _call_copy(conn, recall)
    finally:
        conn.remove_notice_handler(hear)
    return {name: (type_, text) for name, (type_, text) in json.loads(heard[-1]).items()}


def _call_copy(conn: psycopg.Connection[Any], recall: Statement) -> None:
    """What the public recall does, with the copy."""
    vector, mode, budget, query, user, _session, _as_of = recall.params
    conn.execute(
        "SELECT pg_temp._recall(%s, %s::halfvec, %s, %s, %s, 'infinity', '')",
        (user, vector, mode, budget, query),
    )


def _explain(
    conn: psycopg.Connection[Any],
    statement: str,
    names: list[str],
    values: dict[str, tuple[str, str | None]],
) -> str:
    """Prepare the statement with its variables as parameters and explain it, twice."""

    def parameter(found: re.Match[str]) -> str:
        return f"${names.index(found[1]) + 1}" if found[1] in names else found[0]

    text = _NAME.sub(parameter, _INTO.sub("", statement)).rstrip(";")
    types = ", ".join(values[name][0] for name in names)
    conn.execute(f"PREPARE candidates ({types}) AS {text}".encode())
    literals = sql.SQL(", ").join(sql.Literal(values[name][1]) for name in names)
    explain = sql.SQL("EXPLAIN (ANALYZE, BUFFERS) EXECUTE candidates ({})").format(literals)
    try:
        conn.execute(explain)
        return "\n".join(line for (line,) in conn.execute(explain))
    finally:
        conn.execute("DEALLOCATE candidates")
