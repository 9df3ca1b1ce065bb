#!/usr/bin/env python3
"""Build the extension pgmemoir, and the script for pg_tle, into dist/ (make dist).

Nothing is written twice: a script is ``migrations/*.sql`` and ``sql/**/*.sql`` as they stand, with
rows of the ledger between them, so that a database made by CREATE EXTENSION is the same as one made
by memoir migrate. An upgrade script has the migrations that a release had not, and all of ``sql/``.

dist/extension/   control file, scripts, Makefile (PGXS), META.json (PGXN); its parent is a folder
                  for extension_control_path of PostgreSQL 18
dist/pgmemoir-VERSION.zip     the same folder, as PGXN takes it
dist/pgmemoir--VERSION.pg_tle.sql   for managed PostgreSQL with pg_tle
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import sys
import tomllib
import zipfile
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from pgmemoir import ledger, sqlfiles, sqltext
from pgmemoir.paths import Source
from pgmemoir.prerequisites import OLDEST_SERVER, OLDEST_VECTOR

ROOT = Path(__file__).resolve().parents[1]
NAME = "pgmemoir"
SCHEMA = "memoir"
REQUIRES = ("vector",)

# CREATE EXTENSION and pg_tle replace these in a script, or end it there.
REPLACED = re.compile(r"@ext\w+(:\w+)?@|MODULE_PATHNAME|^\\", re.MULTILINE)
TLE_QUOTES = ("$_pgtle_i_$", "$_pgtle_o_$", "$_pgmemoir_$")

# No superuser is needed or wanted: objects belong to who installs, and he runs maintain.
CONTROL = """\
comment = '{comment}'
default_version = '{version}'
encoding = 'UTF8'
requires = '{requires}'
schema = {schema}
relocatable = false
superuser = false
"""

MAKEFILE = """\
# make install [PG_CONFIG=/path/to/pg_config]
EXTENSION = pgmemoir
DATA = $(wildcard pgmemoir--*.sql)
PG_CONFIG ?= pg_config
PGXS := $(shell $(PG_CONFIG) --pgxs)
include $(PGXS)
"""

GUARD = f"""\
DO $guard$
DECLARE
    vector text;
BEGIN
    IF current_schema() <> '{SCHEMA}' THEN
        RAISE EXCEPTION 'pgmemoir lives in the schema {SCHEMA}, not in %', current_schema()
            USING ERRCODE = 'ME013',
                  HINT = 'CREATE SCHEMA {SCHEMA}; CREATE EXTENSION {NAME} SCHEMA {SCHEMA};';
    END IF;
    IF getdatabaseencoding() <> 'UTF8' THEN
        RAISE EXCEPTION 'pgmemoir needs a database in UTF8, not in %', getdatabaseencoding()
            USING ERRCODE = 'ME013',
                  HINT = 'CREATE DATABASE app ENCODING ''UTF8'' TEMPLATE template0;';
    END IF;
    IF current_setting('server_version_num')::int < {OLDEST_SERVER}0000 THEN
        RAISE EXCEPTION 'pgmemoir needs PostgreSQL {OLDEST_SERVER} or newer; this server is %',
            current_setting('server_version')
            USING ERRCODE = 'ME013', HINT = 'Upgrade the server.';
    END IF;
    SELECT e.extversion INTO vector FROM pg_extension AS e
    WHERE e.extname = 'vector'
      AND string_to_array(substring(e.extversion FROM '^[0-9]+(?:[.][0-9]+)*'), '.')::int[]
          < string_to_array('{OLDEST_VECTOR}', '.')::int[];
    IF FOUND THEN
        RAISE EXCEPTION 'pgmemoir needs pgvector {OLDEST_VECTOR} or newer; this database has %',
            vector
            USING ERRCODE = 'ME013',
                  HINT = 'Install pgvector {OLDEST_VECTOR} on the server''s machine if it has an '
                         'older one, then: ALTER EXTENSION vector UPDATE;';
    END IF;
    PERFORM pg_advisory_xact_lock({ledger.LOCK});
    IF to_regclass('{SCHEMA}.migration') IS NOT NULL THEN
        RAISE EXCEPTION 'memoir migrate has installed pgmemoir in this database'
            USING ERRCODE = 'ME013', HINT = 'Upgrade it the way it was installed: memoir migrate';
    END IF;
END $guard$;
"""

# What MAKE_WAY keeps for FINISH: the owner of a database can give every session in it a setting.
NO_RIGHTS = "SET LOCAL memoir.rights = '';\n"

LOCK = f"DO $lock$ BEGIN PERFORM pg_advisory_xact_lock({ledger.LOCK}); END $lock$;\n"

# A loop of both blocks below: what depends on another is dropped before it, never what others have
# built on it.
DROP = """\
    WHILE cardinality(waiting) > 0 LOOP
        blocked := '{}';
        FOREACH object IN ARRAY waiting LOOP
            BEGIN
                EXECUTE 'DROP ' || object;
            EXCEPTION
                WHEN undefined_function OR undefined_object OR undefined_table THEN NULL;
                WHEN dependent_objects_still_exist THEN
                    blocked := blocked || object;
                    IF cardinality(blocked) = cardinality(waiting) THEN
                        RAISE;
                    END IF;
            END;
        END LOOP;
        waiting := blocked;
    END LOOP;
"""

# As memoir migrate does: before the code, and before a file whose views have other columns by now,
# what is in the way. The rights that somebody gave on it wait in a setting for the end.
MAKE_WAY = """\
SET LOCAL quote_all_identifiers = off;
DO $way$
DECLARE
    waiting text[];
    blocked text[];
    object text;
    given jsonb;
BEGIN
{attempt}\
    SELECT array_agg(w.item), jsonb_object_agg(w.item, to_jsonb(w.rights)) INTO waiting, given
    FROM ({in_the_way}) AS w;
    PERFORM set_config('memoir.rights', (coalesce(NULLIF(
        current_setting('memoir.rights', true), ''), '{{}}')::jsonb || given)::text, true)
    WHERE given IS NOT NULL;
{drop}\
END $way$;
"""
ATTEMPT = """\
    BEGIN
        EXECUTE $file$
{text}$file$;
        RETURN;
    EXCEPTION WHEN invalid_table_definition THEN NULL;
    END;
"""

# At the end, what an earlier text of sql/ made and this one does not.
FINISH = """\
SET LOCAL quote_all_identifiers = off;
DO $finish$
DECLARE
    made CONSTANT text[] := ARRAY({made_now});
    waiting text[] := ARRAY(SELECT b.item FROM ({made_before}) AS b WHERE b.item <> ALL (made));
    blocked text[];
    object text;
    given text;
BEGIN
    FOR given IN
        SELECT s.value
        FROM jsonb_each(NULLIF(current_setting('memoir.rights', true), '')::jsonb) AS r,
             jsonb_array_elements_text(r.value) AS s
        WHERE r.key = ANY (made)
    LOOP
        EXECUTE given;
    END LOOP;
{drop}\
    DELETE FROM migration WHERE name = '{code}';
    INSERT INTO migration (name, sha256, kind, objects, ms)
    VALUES ('{code}', '{sha256}', 'code', made, 0);
END $finish$;
"""


class BuildError(Exception):
    """The SQL cannot be an extension."""


class Extension(NamedTuple):
    """The scripts of one version.

    Args:
        version: the version they make.
        install: text of the script that installs it.
        updates: texts of the scripts that upgrade to it, by the version they start from.
    """

    version: str
    install: str
    updates: dict[str, str]


def extension(source: Source, version: str) -> Extension:
    """Make the scripts.

    Raises:
        BuildError: a text means something else in an extension.
        MigrationError: the migrations are not the released ones.
    """
    migrations, code = sqlfiles.migrations(source), sqlfiles.code(source)
    for file in (*migrations, *code):
        if found := REPLACED.search(file.text):
            raise BuildError(f"{file.path}: {found.group()} is not for an extension")
    finish = FINISH.format(
        made_now=ledger.MADE_NOW.strip(),
        made_before=ledger.MADE_BEFORE.strip(),
        drop=DROP,
        code=sqlfiles.CODE,
        sha256=sqlfiles.digest(code),
    )
    install = [GUARD, ledger.TABLE, _row(ledger.EXTENSION, "", "base")]
    install += [*_migrations(migrations), *map(_text, code), finish]
    replacing = [_make_way(code), *(text for file in code for text in _replacing(file)), finish]
    updates = {}
    for old, names in sqlfiles.releases(source).items():
        if old != version:
            new = [file for file in migrations if file.name not in names]
            updates[old] = _script("ALTER", [LOCK, *_migrations(new), *replacing])
    return Extension(version, _script("CREATE", install), updates)


def _script(verb: str, parts: Iterable[str]) -> str:
    command = f"{verb} EXTENSION {NAME}" + (" UPDATE" if verb == "ALTER" else "")
    header = f'\\echo Use "{command}" to load this file. \\quit\n\n'
    return header + "\n".join((NO_RIGHTS, *parts))


def _migrations(files: Iterable[sqlfiles.SqlFile]) -> Iterable[str]:
    for file in files:
        yield _text(file)
        yield _row(file.name, file.sha256, "migration")


def _text(file: sqlfiles.SqlFile) -> str:
    folder = "" if file.name.startswith(f"{sqlfiles.CODE}/") else "migrations/"
    return f"-- {folder}{file.name}\n{file.text}"


def _make_way(code: Iterable[sqlfiles.SqlFile] = (), views: str = "", attempt: str = "") -> str:
    """Drops what is in the way of files, or of views with these names where the attempt fails."""
    headers = json.dumps([r._asdict() for file in code for r in sqltext.routines(file.text)])
    in_the_way = ledger.IN_THE_WAY % (f"$headers${headers}$headers$", f"'{{{views}}}'")
    return MAKE_WAY.format(attempt=attempt, in_the_way=in_the_way.strip(), drop=DROP)


def _replacing(file: sqlfiles.SqlFile) -> Iterable[str]:
    """A file of the code where an earlier text of it ran."""
    if views := sqltext.views(file.text):
        yield _make_way(views=",".join(views), attempt=ATTEMPT.format(text=file.text))
    yield _text(file)


def _row(name: str, sha256: str, kind: str) -> str:
    return (
        "INSERT INTO migration (name, sha256, kind, ms)"
        f" VALUES ('{name}', '{sha256}', '{kind}', 0);\n"
    )


def tle(made: Extension, comment: str) -> str:
    """The calls that give the scripts to pg_tle, 1.5.0 or newer.

    Raises:
        BuildError: a text has a quote that pg_tle uses.
    """
    requires = ", ".join(f"'{name}'" for name in REQUIRES)
    calls = [
        f"SELECT pgtle.install_extension('{NAME}', '{made.version}', '{_doubled(comment)}',\n"
        f"{_quoted(made.install)},\nARRAY[{requires}], '{SCHEMA}');\n"
    ]
    for old, text in made.updates.items():
        calls.append(
            f"SELECT pgtle.install_update_path('{NAME}', '{old}', '{made.version}',\n"
            f"{_quoted(text)});\n"
        )
    return "\n".join(calls)


def _doubled(text: str) -> str:
    """A text for between single quotes, in SQL and in a control file."""
    return text.replace("'", "''")


def _quoted(text: str) -> str:
    """A script between quotes; its first line, which is for psql, is left out."""
    text = text.partition("\n\n")[2]
    for quote in TLE_QUOTES:
        if quote in text:
            raise BuildError(f"{quote} stands in the SQL, and pg_tle quotes with it")
    return f"$_pgmemoir_$\n{text}$_pgmemoir_$"


def meta(project: dict[str, object], version: str) -> str:
    """META.json, by the PGXN Meta Spec 1.0.0."""
    described = {
        "name": NAME,
        "abstract": project["description"],
        "version": version,
        "maintainer": ["pgmemoir contributors"],
        "license": "apache_2_0",
        "provides": {
            NAME: {
                "abstract": project["description"],
                "file": f"{NAME}--{version}.sql",
                "version": version,
            }
        },
        "prereqs": {"runtime": {"requires": {"PostgreSQL": "16.0.0", "vector": "0.8.0"}}},
        "tags": project["keywords"],
        "meta-spec": {"version": "1.0.0", "url": "https://pgxn.org/meta/spec.txt"},
    }
    return json.dumps(described, indent=2) + "\n"


def build(source: Source, project: dict[str, object], folder: Path) -> list[Path]:
    """Write everything below a folder; what an earlier build wrote there goes.

    Returns:
        the files, in order.
    """
    version, comment = str(project["version"]), str(project["description"])
    made = extension(source, version)
    files = {
        "Makefile": MAKEFILE,
        "META.json": meta(project, version),
        f"{NAME}.control": CONTROL.format(
            comment=_doubled(comment), version=version, requires=", ".join(REQUIRES), schema=SCHEMA
        ),
        f"{NAME}--{version}.sql": made.install,
        **{f"{NAME}--{old}--{version}.sql": text for old, text in made.updates.items()},
    }
    for name in ("LICENSE", "NOTICE", "README.md"):
        files[name] = (ROOT / name).read_text(encoding="utf-8")
    home = folder / "extension"
    shutil.rmtree(home, ignore_errors=True)
    home.mkdir(parents=True)
    written = [_write(home / name, text) for name, text in sorted(files.items())]
    written.append(_zip(folder / f"{NAME}-{version}.zip", files))
    written.append(_write(folder / f"{NAME}--{version}.pg_tle.sql", tle(made, comment)))
    return written


def _write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8", newline="\n")
    return path


def _zip(path: Path, files: dict[str, str]) -> Path:
    """The same bytes for the same files, whenever they are packed."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in sorted(files.items()):
            entry = zipfile.ZipInfo(f"{path.stem}/{name}")  # dated 1980-01-01
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = 0o644 << 16
            archive.writestr(entry, text.encode())
    return path


def main() -> None:
    """Build from this checkout."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", nargs="?", type=Path, default=ROOT / "dist")
    folder = parser.parse_args().folder
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    source = Source(migrations=ROOT / "migrations", sql=ROOT / "sql")
    try:
        for path in build(source, project, folder):
            print(f"{path}  {path.stat().st_size // 1024} kB")
    except (BuildError, sqlfiles.MigrationError) as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
