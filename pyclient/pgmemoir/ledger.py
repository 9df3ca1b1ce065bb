"""The table ``memoir.migration``: what ran in a database, and how it was installed.

`migrations` writes it while it runs the files; the script of the extension, made by
``scripts/build_extension.py``, writes the same rows. A row has the hash of its text; that of the
code has the objects the code made, so that a later text can drop what it makes no more.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from datetime import datetime
from typing import Any, NamedTuple

import psycopg

from .errors import INSTALL_HINT
from .prerequisites import UPDATE_EXTENSION, Cursor, extension_version, reading, value

LOCK = 0x6D656D6F6972  # 'memoir' in ASCII: who installs or upgrades holds this advisory lock

# The names of objects as the ledger has them.
PLAIN_NAMES = "SET LOCAL quote_all_identifiers = off"

# The first row, of kind base: its name says how it was installed.
MIGRATE = "base"
EXTENSION = "extension"

TABLE = """
CREATE TABLE memoir.migration (
    name        text PRIMARY KEY,
    sha256      text NOT NULL,
    kind        text NOT NULL CHECK (kind IN ('base', 'migration', 'code')),
    objects     text[] NOT NULL DEFAULT '{}',
    applied_at  timestamptz NOT NULL DEFAULT clock_timestamp(),
    applied_by  text NOT NULL DEFAULT current_user,
    ms          integer NOT NULL
);
COMMENT ON TABLE memoir.migration IS
    'What ran here: the hash of each text, and the objects to drop on the way back. The row of '
    'kind base is named base where memoir migrate installed, extension where CREATE EXTENSION did.';
"""

# Functions, views, triggers and policies of the schema, without the functions of attached sources,
# which go with their source. A function is as old as its dependence on the schema, and a view as
# its rule: grants, which a tool of the application's own gets, too, change neither. A policy is as
# old as its comment: to alter one would make everybody wait.
MADE = """
SELECT named.type || ' ' || named.identity AS item
FROM (
    SELECT 'pg_proc'::regclass AS class, p.oid, d.xmin
    FROM pg_proc p JOIN pg_depend d ON d.classid = 'pg_proc'::regclass AND d.objid = p.oid
                                   AND d.refclassid = 'pg_namespace'::regclass
    WHERE p.pronamespace = 'memoir'::regnamespace
      AND p.proname !~ '^_source_[0-9]+_(write|read|log)$'
    UNION ALL
    SELECT 'pg_class'::regclass, c.oid, r.xmin
    FROM pg_class c JOIN pg_rewrite r ON r.ev_class = c.oid AND r.rulename = '_RETURN'
    WHERE c.relnamespace = 'memoir'::regnamespace AND c.relkind IN ('v', 'm')
    UNION ALL
    SELECT 'pg_trigger'::regclass, t.oid, t.xmin
    FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid
    WHERE c.relnamespace = 'memoir'::regnamespace AND NOT t.tgisinternal AND t.tgparentid = 0
    UNION ALL
    SELECT 'pg_policy'::regclass, p.oid,
           CASE WHEN age(d.xmin) < age(p.xmin) THEN d.xmin ELSE p.xmin END
    FROM pg_policy p JOIN pg_class c ON c.oid = p.polrelid
    LEFT JOIN pg_description d ON d.classoid = 'pg_policy'::regclass AND d.objoid = p.oid
    WHERE c.relnamespace = 'memoir'::regnamespace
) AS made, pg_identify_object(made.class, made.oid, 0) AS named
"""

# Those that this transaction made or replaced: their catalogue row is no older than it.
MADE_NOW = f"""{MADE}WHERE age(made.xmin) <= age(pg_current_xact_id()::xid)
ORDER BY made.oid
"""

# What the code made when it ran here before, as this server names it: another version may have
# written json as pg_catalog.json, and a function that is there must not be taken for an old one.
MADE_BEFORE = """
SELECT coalesce(named.type || ' ' || named.identity, item) AS item
FROM memoir.migration AS m, unnest(m.objects) AS item,
     pg_identify_object('pg_proc'::regclass,
                        to_regprocedure(substring(item FROM '^(?:function|procedure) (.+)$')),
                        0) AS named
WHERE m.kind = 'code'
"""

# What of it is in the way of a newer text: functions that it makes with other arguments or another
# result, as its headers say (JSON of sqltext.routines), and views with these names. Also what of
# ours is built on these, as none can be dropped alone, and indexes of single users, which upkeep
# makes again. is_changed: not only built on others. rights: the statements that give back what
# somebody granted on it.
IN_THE_WAY = f"""
WITH RECURSIVE made_before AS ({MADE_BEFORE}), header AS (
    SELECT r.*, (
        SELECT string_agg(concat_ws(' ', a ->> 0, a ->> 1, to_regtype(a ->> 2)), ', ' ORDER BY n)
        FROM jsonb_array_elements(r.arguments) WITH ORDINALITY AS x (a, n)) AS takes
    FROM jsonb_to_recordset(%s::jsonb) AS r (
        kind "char", name name, arguments jsonb, defaults int, is_set boolean, result text)
), changed (class, oid) AS (
    SELECT 'pg_proc'::regclass::oid, p.oid
    FROM pg_proc AS p
    LEFT JOIN LATERAL (
        SELECT string_agg(concat_ws(' ', coalesce(p.proargmodes[n], 'i'), p.proargnames[n],
                                    type::regtype), ', ' ORDER BY n)
        FROM unnest(coalesce(p.proallargtypes, p.proargtypes::oid[])) WITH ORDINALITY
            AS x (type, n)) AS old (takes) ON true
    WHERE p.pronamespace = 'memoir'::regnamespace AND p.proname IN (SELECT name FROM header)
      AND NOT EXISTS (
          SELECT FROM header AS h
          WHERE h.name = p.proname AND h.kind = p.prokind AND h.is_set = p.proretset
            AND h.takes IS NOT DISTINCT FROM old.takes AND h.defaults >= p.pronargdefaults
            AND (h.result IS NULL OR to_regtype(h.result) = p.prorettype))
    UNION ALL
    SELECT 'pg_class'::regclass, c.oid
    FROM pg_class AS c
    WHERE c.relnamespace = 'memoir'::regnamespace AND c.relkind = 'v' AND c.relname = ANY (%s)
), built (class, oid) AS (
    TABLE changed
    UNION
    SELECT CASE WHEN r.oid IS NULL THEN d.classid ELSE 'pg_class'::regclass END,
           coalesce(r.ev_class, d.objid)
    FROM built JOIN pg_depend AS d ON d.refclassid = built.class AND d.refobjid = built.oid
    LEFT JOIN pg_rewrite AS r ON d.classid = 'pg_rewrite'::regclass AND r.oid = d.objid
)
SELECT o.item, EXISTS (SELECT FROM changed WHERE changed = built) AS is_changed, ARRAY(
    SELECT 'GRANT ' || a.privilege_type || ' ON '
           || CASE named.type WHEN 'view' THEN 'TABLE' ELSE named.type END || ' ' || named.identity
           || ' TO ' || quote_ident(r.rolname)
           || CASE WHEN a.is_grantable THEN ' WITH GRANT OPTION' ELSE '' END
    FROM aclexplode(CASE built.class WHEN 'pg_proc'::regclass
                    THEN (SELECT proacl FROM pg_proc AS p WHERE p.oid = built.oid)
                    ELSE (SELECT relacl FROM pg_class AS c WHERE c.oid = built.oid) END) AS a
    JOIN pg_roles AS r ON r.oid = a.grantee
    WHERE a.grantee <> a.grantor AND r.rolname NOT IN
          ('memoir_reader', 'memoir_agent', 'memoir_worker', 'memoir_admin')) AS rights
FROM built, pg_identify_object(built.class, built.oid, 0) AS named,
     LATERAL (SELECT named.type || ' ' || named.identity) AS o (item)
WHERE o.item IN (SELECT item FROM made_before)
   OR o.item ~ '^index memoir.trace_(leading|near|words)_[0-9]+$'
ORDER BY o.item
"""


class Entry(NamedTuple):
    """A row of the ledger."""

    name: str
    kind: str
    sha256: str
    objects: list[str]
    applied_at: datetime
    applied_by: str
    ms: int


def read(cur: Cursor) -> dict[str, Entry]:
    """What ran here, by name; empty when nothing did."""
    if value(cur, "SELECT to_regclass('memoir.migration') IS NULL"):
        return {}
    cur.execute(
        "SELECT name, kind, sha256, objects, applied_at, applied_by, ms FROM memoir.migration",
        binary=True,  # psycopg reads a time that is text in one DateStyle alone
    )
    return {row[0]: Entry(*row) for row in cur}


def applied(ledger: dict[str, Entry]) -> list[str]:
    """Names of the migrations in the ledger, in order."""
    return sorted(entry.name for entry in ledger.values() if entry.kind == "migration")


def record(
    cur: Cursor, name: str, sha256: str, kind: str, began: float, objects: Iterable[str] = ()
) -> None:
    """Add a row; ``began`` is what `time.monotonic` said before the text ran."""
    cur.execute(
        "INSERT INTO memoir.migration (name, sha256, kind, objects, ms)"
        " VALUES (%s, %s, %s, %s, %s)",
        (name, sha256, kind, list(objects), round((time.monotonic() - began) * 1000)),
        prepare=False,
    )


def forget(cur: Cursor, name: str) -> None:
    """Remove a row."""
    cur.execute("DELETE FROM memoir.migration WHERE name = %s", (name,))


def update_hint(conn: psycopg.Connection[Any]) -> str:
    """The command that updates this database, by the way it was installed."""
    return UPDATE_EXTENSION if is_extension(conn) else INSTALL_HINT


def is_extension(conn: psycopg.Connection[Any]) -> bool:
    """Whether CREATE EXTENSION installed it."""
    return (installed_by(conn) or "").startswith(EXTENSION)


def installed_by(conn: psycopg.Connection[Any]) -> str | None:
    """How pgmemoir came into this database: ``memoir migrate``, ``extension 0.1.0`` or not at all.

    Only reads. Works inside a transaction of the caller.
    """
    with reading(conn) as cur:
        if version := extension_version(cur):
            return f"{EXTENSION} {version}"
        return "memoir migrate" if read(cur) else None
