"""`differences`: what of an installation is gone, rewritten by hand, or without its comment."""

from __future__ import annotations

import json
import re
from typing import Any, NamedTuple

import psycopg

from . import ledger, sqlfiles
from .paths import Source, installed
from .prerequisites import reading, values

_GONE_TABLES = """
SELECT name FROM unnest(%s::text[]) AS name WHERE to_regclass('memoir.' || name) IS NULL
"""

# Tables that have fewer keys than their migration says, as after a restore that failed in part.
_LOST_KEYS = """
SELECT 'a key of ' || t.name
FROM jsonb_to_recordset(%s::jsonb) AS t (name text, keys int)
WHERE t.keys > (SELECT count(*) FROM pg_constraint AS c
                WHERE c.conrelid = to_regclass('memoir.' || t.name)
                  AND c.contype IN ('p', 'f', 'u'))
ORDER BY 1
"""

_LOST_INDEXES = """
SELECT 'index ' || name FROM unnest(%s::text[]) AS name
WHERE to_regclass('memoir.' || name) IS NULL ORDER BY 1
"""

# Objects of the code that are gone, but for what was on a table that is gone, or was only made for
# a row.
_GONE = rf"""
SELECT before.item FROM ({ledger.MADE_BEFORE}) AS before
WHERE before.item NOT IN (SELECT present.item FROM ({ledger.MADE}) AS present)
  AND substring(before.item FROM '^\w+ (?:memoir\.)?(\w+)') = ANY (%s)
  AND (before.item !~ ' on ' OR to_regclass(substring(before.item FROM ' on (.+)$')) IS NOT NULL)
ORDER BY before.item
"""

# Functions the code made whose text has none of these hashes. Some are made of rows, or name the
# schema.
_REWRITTEN = """
SELECT 'function ' || p.oid::regprocedure
FROM memoir.migration AS m, unnest(m.objects) AS item, pg_proc AS p
WHERE m.kind = 'code' AND p.prosqlbody IS NULL
  AND encode(sha256(convert_to(p.prosrc, 'UTF8')), 'hex') <> ALL (%s)
  AND p.oid = to_regprocedure(substring(item FROM '^(?:function|procedure) (.+)$'))
  AND p.proname NOT IN ('_leading_rows', '_near_rows', '_own_words', '_redact_once',
                        '_source_add_many', 'maintain_all', 'read_source')
ORDER BY 1
"""

# Functions that somebody altered: with other settings, or with the rights of their owner.
_ALTERED = """
SELECT 'function ' || p.oid::regprocedure
FROM memoir.migration AS m, unnest(m.objects) AS item, pg_proc AS p,
     LATERAL (SELECT to_jsonb(ARRAY(
         SELECT lower(split_part(s, '=', 1)) COLLATE "C" FROM unnest(p.proconfig) AS s
         UNION ALL SELECT 'security definer' WHERE p.prosecdef ORDER BY 1))) AS h (has)
WHERE m.kind = 'code'
  AND p.oid = to_regprocedure(substring(item FROM '^(?:function|procedure) (.+)$'))
  AND NOT (SELECT coalesce(bool_or(made = h.has), true)
           FROM jsonb_array_elements(%s::jsonb -> p.proname) AS made)
ORDER BY 1
"""

# Functions and views that have lost their comment: a model is told those of tools.
_SILENT = rf"""
SELECT replace(before.item, 'pg_catalog.', '')
FROM ({ledger.MADE_BEFORE}) AS before,
     LATERAL (SELECT substring(before.item FROM '^(?:function|procedure|view) (.+)$')) AS n (name),
     LATERAL (SELECT CASE WHEN before.item ~ '^view' THEN 'pg_class'::regclass
                     ELSE 'pg_proc'::regclass END::oid) AS c (class),
     LATERAL (SELECT CASE WHEN before.item ~ '^view' THEN to_regclass(n.name)::oid
                     ELSE to_regprocedure(n.name)::oid END) AS o (oid)
WHERE substring(before.item FROM '^\w+ (?:memoir\.)?(\w+)') = ANY (%s) AND o.oid IS NOT NULL
  AND NOT EXISTS (SELECT FROM pg_description AS d
                  WHERE d.classoid = c.class AND d.objoid = o.oid AND d.objsubid = 0)
ORDER BY 1
"""

_TABLE = re.compile(r"^CREATE (?:UNLOGGED )?TABLE (\w+)([^;]*);", re.MULTILINE)
_KEY = re.compile(r"PRIMARY KEY|UNIQUE|REFERENCES")
_INDEX = re.compile(r"^CREATE (?:UNIQUE )?INDEX (\w+)", re.MULTILINE)
_OBJECT = re.compile(
    r"^CREATE (?:OR REPLACE )?(?:FUNCTION|PROCEDURE|VIEW|TRIGGER) (\w+)", re.MULTILINE
)
_COMMENTED = re.compile(r"^COMMENT ON (?:FUNCTION|PROCEDURE|VIEW) (\w+)", re.MULTILINE)
_HEADER = re.compile(
    r"^CREATE OR REPLACE (?:FUNCTION|PROCEDURE) (\w+)(.+?)\b(?:AS [$%]|RETURN\b|BEGIN ATOMIC)",
    re.MULTILINE | re.DOTALL,
)
_HAS = re.compile(r"\bSET ([\w.]+) (?==|FROM CURRENT)|\b(SECURITY DEFINER)")
_BODY = re.compile(r"AS (\$\w*\$)(.*?)\1", re.DOTALL)


class Differences(NamedTuple):
    """Names of what is not as the package makes it.

    Attributes:
        tables: tables that are gone.
        lost: keys and indexes of the others.
        gone: objects of the code.
        rewritten: functions with another text, other settings or other rights.
        silent: functions and views without their comment.
    """

    tables: list[str]
    lost: list[str]
    gone: list[str]
    rewritten: list[str]
    silent: list[str]


def differences(conn: psycopg.Connection[Any], *, source: Source | None = None) -> Differences:
    """Compare an installation that is up to date with the package. Only reads."""
    source = source or installed()
    made = "".join(file.text for file in sqlfiles.migrations(source))
    tables = {name: len(_KEY.findall(columns)) for name, columns in _TABLE.findall(made)}
    text = "".join(file.text for file in sqlfiles.code(source))
    bodies = [sqlfiles.sha256(body) for _, body in _BODY.findall(text)]
    has: dict[str, list[list[str]]] = {}
    for name, header in _HEADER.findall(text):
        has.setdefault(name, []).append(sorted((a or b).lower() for a, b in _HAS.findall(header)))
    with reading(conn) as cur:
        cur.execute(ledger.PLAIN_NAMES)
        gone = values(cur, _GONE_TABLES, list(tables))
        keys = [{"name": name, "keys": tables[name]} for name in tables if name not in gone]
        return Differences(
            gone,
            [
                *values(cur, _LOST_KEYS, json.dumps(keys)),
                *values(cur, _LOST_INDEXES, _INDEX.findall(made)),
            ],
            values(cur, _GONE, _OBJECT.findall(text)),
            sorted({*values(cur, _REWRITTEN, bodies), *values(cur, _ALTERED, json.dumps(has))}),
            values(cur, _SILENT, _COMMENTED.findall(text)),
        )
