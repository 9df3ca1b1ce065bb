"""What a database must have before the first migration: PostgreSQL, pgvector, the schema.

Checks come before attempts, so that each missing thing has an error that says who does what.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
from psycopg import errors, sql
from psycopg.rows import TupleRow, tuple_row

from .sqlfiles import MigrationError

Cursor = psycopg.Cursor[TupleRow]

OLDEST_SERVER = 16
OLDEST_VECTOR = "0.8.0"
UPDATE_EXTENSION = "ALTER EXTENSION pgmemoir UPDATE;"
RESTORE = (
    "Restore the database, at least schema memoir, from a backup."
    " If the memories may go: DROP SCHEMA memoir CASCADE; and install it again."
)


def value(cur: Cursor, query: str, *arguments: object) -> Any:
    """The single value of a query, None when it has no row."""
    row = cur.execute(query.encode(), arguments or None, prepare=False).fetchone()
    return row[0] if row else None


def values(cur: Cursor, query: str, *arguments: object) -> list[Any]:
    """The first column of a query."""
    rows = cur.execute(query.encode(), arguments or None, prepare=False)
    return [row[0] for row in rows]


@contextmanager
def reading(conn: psycopg.Connection[Any]) -> Iterator[Cursor]:
    """A cursor in a transaction, that of the caller if there is one; its rows are tuples."""
    with conn.transaction(), psycopg.Cursor(conn, row_factory=tuple_row) as cur:
        yield cur


def provide(cur: Cursor) -> list[str]:
    """Check the server, and make the extension ``vector`` and the schema where they are missing.

    Returns:
        what was made, as ``DROP`` names it: the way back drops these and nothing else.

    Raises:
        MigrationError: something is missing or too old, with the command that helps.
    """
    check_server(cur)
    refuse_extension(cur, UPDATE_EXTENSION)
    refuse_renamed(cur)
    made = []
    if vector_schema(cur) is None:
        _create_vector(cur)
        made.append("extension vector")
    _check_vector(cur)
    if value(cur, "SELECT to_regnamespace('memoir') IS NULL"):
        _create_schema(cur)
        made.append("schema memoir")
    _check_schema(cur)
    return made


def vector_schema(cur: Cursor) -> str | None:
    """The schema that holds the extension ``vector``; None without it."""
    schema = value(
        cur, "SELECT extnamespace::regnamespace::text FROM pg_extension WHERE extname = 'vector'"
    )
    return None if schema is None else str(schema)


def left_schema(cur: Cursor) -> str | None:
    """Where memoir's functions look for pgvector, if that is where it was and no longer is."""
    path = value(
        cur,
        "SELECT substring(setting FROM '^search_path=memoir, (.+), pg_temp$')"
        " FROM pg_proc, unnest(proconfig) AS setting WHERE oid = to_regproc('memoir._recall')"
        " AND setting LIKE 'search_path=%'",
    )
    # With quote_all_identifiers the one that is there comes in quotes.
    present = str(vector_schema(cur)).strip('"')
    return None if path is None or path.strip('"') == present else str(path)


def extension_version(cur: Cursor) -> str | None:
    """The version of pgmemoir that CREATE EXTENSION installed; None if it did not."""
    version = value(cur, "SELECT extversion FROM pg_extension WHERE extname = 'pgmemoir'")
    return None if version is None else str(version)


def refuse_extension(cur: Cursor, instead: str) -> None:
    """Stop if CREATE EXTENSION installed it: a database is installed in one way only.

    Args:
        instead: what to do instead.

    Raises:
        MigrationError: the extension pgmemoir is here.
    """
    if version := extension_version(cur):
        raise MigrationError(
            f"this database has pgmemoir {version} as an extension,"
            " which brings its own migrations",
            hint=instead,
        )


def refuse_renamed(cur: Cursor) -> None:
    """Stop if the schema was renamed: a new installation would hide the memories in the old one.

    Raises:
        MigrationError: another schema has memoir's functions, and schema memoir has none.
    """
    schema = value(
        cur,
        "SELECT min(pronamespace::regnamespace::text) FROM pg_proc"
        " WHERE proname = 'pgmemoir_version'"
        " HAVING bool_or(pronamespace = to_regnamespace('memoir')) IS NOT true",
    )
    if schema:
        raise MigrationError(
            f"pgmemoir is in schema {schema}", hint=f"ALTER SCHEMA {schema} RENAME TO memoir;"
        )


def check_server(cur: Cursor) -> None:
    """Check that the version is new enough and the encoding is UTF-8.

    Raises:
        MigrationError: it is not.
    """
    info = cur.connection.info
    if info.server_version < OLDEST_SERVER * 10000:
        raise MigrationError(
            f"pgmemoir needs PostgreSQL {OLDEST_SERVER} or newer; this server is"
            f" {info.server_version // 10000}",
            hint="Upgrade the server, or use the embedded one: leave --dsn out.",
        )
    encoding = info.parameter_status("server_encoding")
    if encoding != "UTF8":
        raise MigrationError(
            f'pgmemoir needs a database in UTF8; "{info.dbname}" is in {encoding}',
            hint="CREATE DATABASE memoir ENCODING 'UTF8' TEMPLATE template0;",
        )


def is_old_vector(version: str) -> bool:
    """Whether pgvector is older than it has to be."""
    return _numbers(version) < _numbers(OLDEST_VECTOR)


def _numbers(version: str) -> list[int]:
    return [int(part) for part in version.split(".")[:3]]


def _create_vector(cur: Cursor) -> None:
    database = cur.connection.info.dbname
    if not value(cur, "SELECT 1 FROM pg_available_extensions WHERE name = 'vector'"):
        major = cur.connection.info.server_version // 10000
        raise MigrationError(
            "pgvector is not installed on this server",
            hint="Install it on the server's machine (Debian, Ubuntu: apt install"
            f" postgresql-{major}-pgvector), then as a superuser in the database"
            f' "{database}": CREATE EXTENSION vector;',
        )
    try:
        with cur.connection.transaction():
            cur.execute("CREATE EXTENSION vector")
    except errors.InsufficientPrivilege as error:
        raise MigrationError(
            f"pgvector is not yet in this database, and {role(cur)} may not create it",
            hint=f'As a superuser in the database "{database}": CREATE EXTENSION vector;',
            server_sqlstate=error.sqlstate,
        ) from error
    except errors.InvalidSchemaName as error:
        raise MigrationError(
            "pgvector is not yet in this database, and the search path has no schema to put it in",
            hint="CREATE SCHEMA extensions; CREATE EXTENSION vector SCHEMA extensions;",
            server_sqlstate=error.sqlstate,
        ) from error


def _check_vector(cur: Cursor) -> None:
    """Check that pgvector is new enough and this role can use its types."""
    version = str(value(cur, "SELECT extversion FROM pg_extension WHERE extname = 'vector'"))
    if is_old_vector(version):
        raise MigrationError(
            f"pgmemoir needs pgvector {OLDEST_VECTOR} or newer; this database has {version}",
            hint=f"Install pgvector {OLDEST_VECTOR} on the server's machine if it has an older one,"
            " then as the extension's owner: ALTER EXTENSION vector UPDATE;",
        )
    schema = vector_schema(cur)
    if not value(
        cur,
        "SELECT has_schema_privilege(extnamespace, 'USAGE') FROM pg_extension"
        " WHERE extname = 'vector'",
    ):
        raise MigrationError(
            f"{role(cur)} may not use the schema {schema}, where pgvector is",
            hint=f"As its owner: GRANT USAGE ON SCHEMA {schema} TO {role(cur)};",
        )


def _create_schema(cur: Cursor) -> None:
    try:
        with cur.connection.transaction():
            cur.execute("CREATE SCHEMA memoir")
    except errors.InsufficientPrivilege as error:
        database = sql.Identifier(cur.connection.info.dbname).as_string(cur.connection)
        raise MigrationError(
            f"{role(cur)} may not create the schema memoir",
            hint="As the owner of the database:"
            f" GRANT CREATE ON DATABASE {database} TO {role(cur)};",
            server_sqlstate=error.sqlstate,
        ) from error


def _check_schema(cur: Cursor) -> None:
    """Check that this role may use a schema that somebody else made."""
    owner, may_use, may_install = cur.execute(
        "SELECT nspowner::regrole::text, has_schema_privilege(oid, 'USAGE'), CASE"
        " WHEN has_schema_privilege(oid, 'CREATE') THEN true"
        " WHEN has_schema_privilege(oid, 'USAGE')"
        " THEN to_regclass('memoir.migration') IS NOT NULL END"
        " FROM pg_namespace WHERE nspname = 'memoir'",
    ).fetchone() or ("", True, True)
    if not (may_use and may_install):
        raise MigrationError(
            f"the schema memoir belongs to {owner}, and {role(cur)} may not create in it",
            hint=f"Run this as {owner}, or as its owner, before the first installation:"
            f" ALTER SCHEMA memoir OWNER TO {role(cur)};",
        )


def role(cur: Cursor) -> str:
    """The current role, quoted where SQL needs it."""
    return str(value(cur, "SELECT current_user::regrole::text"))
