"""The plan of the statement in ``_recall`` that finds the candidates.

PL/pgSQL hides the plans of its statements, and the module auto_explain is not in every build. So a
copy of the function in ``pg_temp`` stops where a statement finds candidates, and tells which it is
and the values its variables have. The statement is taken out of the function's source, prepared and
explained under the function's own settings, as the generic plan that the function uses.
"""

from __future__ import annotations

import json
import re
from typing import Any

import psycopg
from common import Statement
from psycopg import sql

# The statements that read memories: of the turns of conversations, and of the other modes. Which
# one serves a recall depends on the user: rows out of the index, indexes of his own.
_TURNS = re.compile(r"\bSELECT\b[^;]*?\bINTO all_ids\b[^;]*;")
_OTHERS = re.compile(r"\bSELECT\b(?:(?!\bINTO\b)[^;])*?\bINTO ids\b[^;]*\bUNION ALL\b[^;]*;")
_INTO = re.compile(r"\bINTO\b.*?(?=\bFROM\b)", re.DOTALL)
_DECLARED = re.compile(r"^ +(\w+) (?:CONSTANT )?\w", re.MULTILINE)
# A name that is not a column (behind a dot), an alias or a function; _recall.x and setup.x are
# variables.
_NAME = re.compile(r"(?<![.\w])(?<!AS )(?:_recall\.)?((?:setup\.)?[a-z_]\w*)\b(?![.(])")

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
        statements = (_TURNS if found and found[0] else _OTHERS).findall(source)
        variables = [_variables(statement, source, arguments) for statement in statements]
        for name, value in (setting.split("=", 1) for setting in settings):
            conn.execute("SELECT set_config(%s, %s, true)", (name, value))
        place, values = _values(conn, definition, statements, variables, recall)
        return _explain(conn, statements[place], variables[place], values)


def _variables(statement: str, source: str, arguments: list[str]) -> list[str]:
    """The variables of the function that the statement reads."""
    declared = source[: source.index("\nBEGIN\n")]
    known = {*arguments, *_DECLARED.findall(declared)}
    used = set(_NAME.findall(_INTO.sub("", statement)))
    return sorted(name for name in used if name in known or name.startswith("setup."))


def _values(
    conn: psycopg.Connection[Any],
    definition: str,
    statements: list[str],
    variables: list[list[str]],
    recall: Statement,
) -> tuple[int, dict[str, tuple[str, str | None]]]:
    """The place of the statement that runs, and type and text of its variables then."""
    copy = definition
    for place, (statement, names) in enumerate(zip(statements, variables, strict=True)):
        told = ", ".join(
            f"ARRAY['{name}', pg_typeof({name})::text, {name}::text]" for name in names
        )
        stop = f"RAISE NOTICE '%', jsonb_build_array({place}, {told}); RETURN;"
        copy = copy.replace(statement, stop)
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
    if not heard:
        raise RuntimeError("this recall runs no statement that looks like the candidates'")
    place, *told_values = json.loads(heard[-1])
    return place, {name: (type_, text) for name, type_, text in told_values}


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
