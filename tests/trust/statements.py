"""The statements of memoir's functions, and the tables they name: what rules of a cluster ask."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import psycopg

_COMMENT = re.compile(r"--[^\n]*|/\*.*?\*/", re.DOTALL)
_STRING = re.compile(r"'(?:[^']|'')*'")
# What stands before the name of a table, and the alias after it.
_NAMED = re.compile(
    r"\b(?:FROM|JOIN|UPDATE|INTO|USING)\s+(?:ONLY\s+)?([a-z_]+)\b(?!\s*\()"
    r"(?:\s+(?:AS\s+)?(?!SET\b|WHERE\b|JOIN\b|ON\b|LEFT\b|CROSS\b|USING\b|ORDER\b|GROUP\b|LIMIT\b)"
    r"([a-z_]+)\b)?"
)
_LISTED = re.compile(r",\s*([a-z_]+)\s+AS\s+([a-z_]+)\b(?!\s*\()")


@dataclass(frozen=True)
class Function:
    """A function of memoir with its body, strings and comments taken out."""

    name: str
    language: str
    is_set: bool
    arguments: tuple[str, ...]
    types: tuple[str, ...]
    body: str

    @property
    def statements(self) -> list[str]:
        return [part for part in self.body.split(";") if part.strip()]


@dataclass(frozen=True)
class Use:
    """A table in a statement, by the name the statement calls it."""

    function: Function
    statement: str
    table: str
    alias: str


def functions(conn: psycopg.Connection[Any]) -> list[Function]:
    """All functions of memoir in SQL or PL/pgSQL."""
    rows = conn.execute(
        "SELECT p.proname, l.lanname, p.proretset, coalesce(p.proargnames, '{}'),"
        " ARRAY(SELECT format_type(t, NULL) FROM unnest(p.proargtypes) WITH ORDINALITY AS a (t, n)"
        "       ORDER BY n), coalesce(pg_get_function_sqlbody(p.oid), p.prosrc)"
        " FROM pg_proc AS p JOIN pg_language AS l ON l.oid = p.prolang"
        " WHERE p.pronamespace = 'memoir'::regnamespace AND l.lanname IN ('sql', 'plpgsql')"
        " ORDER BY p.proname, p.oid"
    )
    return [
        Function(name, language, is_set, tuple(names), tuple(types), _bare(body))
        for name, language, is_set, names, types, body in rows.fetchall()
    ]


def _bare(body: str) -> str:
    return _STRING.sub("''", _COMMENT.sub(" ", body)).replace("memoir.", "")


def uses(function: Function, tables: set[str]) -> Iterator[Use]:
    """Where a function names one of these tables."""
    for statement in function.statements:
        for pattern in (_NAMED, _LISTED):
            for table, alias in pattern.findall(statement):
                if table in tables:
                    yield Use(function, statement, table, alias or table)
