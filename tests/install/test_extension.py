"""CREATE EXTENSION pgmemoir: the database that memoir migrate makes; one of the two, not both."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator

import psycopg
import pytest
from click.testing import CliRunner
from psycopg import errors
from psycopg.conninfo import conninfo_to_dict
from tests.rows import fill, found, remember, set_to, value

from pgmemoir import cli, doctor, ledger, migrations, paths
from pgmemoir import server as embedded
from pgmemoir.migrations import MigrationError

CREATE = "CREATE EXTENSION pgmemoir CASCADE"
NOT_THEIRS = """SELECT array(
    SELECT o.name
    FROM (SELECT relname, relowner FROM pg_class WHERE relnamespace = 'memoir'::regnamespace
          UNION ALL
          SELECT proname, proowner FROM pg_proc WHERE pronamespace = 'memoir'::regnamespace
          UNION ALL
          SELECT typname, typowner FROM pg_type WHERE typnamespace = 'memoir'::regnamespace
         ) AS o (name, owner)
    WHERE o.owner <> 'keeper'::regrole)"""


@pytest.fixture(scope="module")
def with_extension(extension_server, extension_template):
    """A database with the extension, that tests leave as it is."""
    address = extension_server.database(extension_template)
    with psycopg.connect(address, autocommit=True) as conn:
        yield conn


def test_the_catalogue_is_that_of_memoir_migrate(with_extension, db, catalogue):
    assert catalogue(with_extension) == catalogue(db)


def test_pgvector_may_live_in_a_schema_of_any_name(extension_db, empty_db, catalogue):
    for conn in (extension_db, empty_db):
        conn.execute('CREATE SCHEMA "My Extensions"')
        conn.execute('CREATE EXTENSION vector SCHEMA "My Extensions"')
    extension_db.execute(CREATE)
    migrations.up(empty_db)
    assert catalogue(extension_db) == catalogue(empty_db)


def test_the_text_pg_tle_keeps_makes_the_same_catalogue(
    extension_server, extension_db, builder, db, catalogue
):
    # pg_tle itself is not here. What is: its functions, which store the text, and CREATE EXTENSION,
    # to which pg_tle gives that text where it would read a file.
    extension_db.execute("CREATE SCHEMA pgtle; CREATE TABLE pgtle.kept (version text, script text)")
    extension_db.execute(
        "CREATE FUNCTION pgtle.install_extension(name text, version text, description text,"
        " ext text, requires text[] DEFAULT NULL, schema text DEFAULT NULL) RETURNS boolean"
        " BEGIN ATOMIC INSERT INTO pgtle.kept VALUES (version, ext) RETURNING true; END"
    )
    made = builder.extension(paths.installed(), "0.1.0")
    extension_db.execute(builder.tle(made, "it's long-term memory"))
    (script,) = extension_db.execute("SELECT script FROM pgtle.kept").fetchone()
    extension_db.execute("DROP SCHEMA pgtle CASCADE")
    control = (extension_server.files / "pgmemoir.control").read_text()
    extension_server.publish("pgmemoir", control, {"tle": script})
    extension_db.execute("CREATE EXTENSION pgmemoir VERSION 'tle' CASCADE")
    assert catalogue(extension_db) == catalogue(db)


def test_the_ledger_says_what_ran_and_on_which_road(with_extension):
    states = {row.state for row in migrations.status(with_extension)}
    assert states == {"applied"}
    assert ledger.installed_by(with_extension) == "extension 0.1.0"
    names = with_extension.execute(
        "SELECT name FROM memoir.migration WHERE kind = 'base'"
    ).fetchall()
    assert names == [("extension",)]


def test_doctor_and_status_name_the_road(with_extension):
    found = {check.name: check for check in doctor.examine(with_extension, None)}
    assert found["migrations"].text.partition(" applied")[2] == ", by extension 0.1.0"
    assert {found[name].state for name in ("migrations", "objects")} == {"ok"}
    said = CliRunner().invoke(cli.main, ["--dsn", with_extension.info.dsn, "migrate", "status"])
    assert said.stdout.endswith("installed by: extension 0.1.0\n")


def test_memoir_migrate_refuses_a_database_with_the_extension(with_extension):
    with pytest.raises(MigrationError, match=r"pgmemoir 0\.1\.0 as an extension") as caught:
        migrations.up(with_extension)
    assert caught.value.hint == "ALTER EXTENSION pgmemoir UPDATE;"
    with pytest.raises(MigrationError) as caught:
        migrations.down(with_extension, 0)
    assert caught.value.hint.startswith("DROP EXTENSION pgmemoir;")


def test_create_extension_refuses_a_database_with_migrations(extension_db, tree):
    migrations.up(extension_db, source=tree)
    with pytest.raises(errors.Error, match="memoir migrate has installed pgmemoir") as caught:
        extension_db.execute(CREATE)
    assert caught.value.sqlstate == "ME013"
    assert caught.value.diag.message_hint == "Upgrade it the way it was installed: memoir migrate"
    assert ledger.installed_by(extension_db) == "memoir migrate"


def test_it_lives_in_its_own_schema(extension_db):
    extension_db.execute("CREATE EXTENSION vector")
    with pytest.raises(errors.FeatureNotSupported, match='must be installed in schema "memoir"'):
        extension_db.execute("CREATE EXTENSION pgmemoir SCHEMA public")


def test_a_database_in_another_encoding_is_refused(extension_db):
    create = "CREATE DATABASE bytes ENCODING 'SQL_ASCII' LOCALE 'C' TEMPLATE template0"
    extension_db.execute(create)
    path = extension_db.execute("SELECT current_setting('extension_control_path', true)").fetchone()
    with psycopg.connect(extension_db.info.dsn, dbname="bytes", autocommit=True) as conn:
        if path != (None,):
            conn.execute("SELECT set_config('extension_control_path', %s, false)", path)
        with pytest.raises(errors.Error, match="needs a database in UTF8, not in SQL_ASCII"):
            conn.execute(CREATE)
    extension_db.execute("DROP DATABASE bytes")


def test_an_old_pgvector_is_named(extension_server):
    with psycopg.connect(extension_server.database(), autocommit=True) as conn:
        conn.execute("CREATE EXTENSION vector")
        conn.execute("UPDATE pg_extension SET extversion = '0.7.4' WHERE extname = 'vector'")
        with pytest.raises(errors.Error, match="newer; this database has 0"):
            conn.execute("CREATE EXTENSION pgmemoir")


@pytest.fixture
def keepers(extension_server, extension_db) -> Iterator[tuple[str, str]]:
    """A database with the extension and an attached table of keeper, no superuser; an empty one."""
    made, other = extension_db.info.dsn, extension_server.database()
    extension_db.execute("CREATE EXTENSION vector; CREATE ROLE keeper LOGIN")
    extension_db.execute(f"ALTER DATABASE {extension_db.info.dbname} OWNER TO keeper")
    with psycopg.connect(made, user="keeper", autocommit=True) as keeper:
        keeper.execute("CREATE EXTENSION pgmemoir; CREATE SCHEMA app")
        keeper.execute("CREATE TABLE app.chore (id int PRIMARY KEY, body text)")
        attach = "SELECT memoir.attach_source('chores', 'task', 'app.chore', '{body}', '{id}'"
        keeper.execute(attach + ", user_id => 'ada')")
        keeper.execute(
            "INSERT INTO memoir.redaction_rule (name, pattern, description)"
            " VALUES ('badge', 'BDG-[0-9]{6}', 'Badges')"
        )
    yield made, other
    extension_db.execute(f"DROP DATABASE {conninfo_to_dict(other)['dbname']} WITH (FORCE)")
    extension_db.execute(f"ALTER DATABASE {extension_db.info.dbname} OWNER TO postgres")
    extension_db.execute("DROP OWNED BY keeper CASCADE; DROP ROLE keeper")


def test_an_owner_without_other_rights_keeps_it_and_a_dump_a_superuser_restores(
    keepers, pytestconfig
):
    made, other = keepers
    tools = embedded.psql(pytestconfig.getoption("pg")).parent
    dumped = subprocess.run([tools / "pg_dump", "-d", made], capture_output=True, check=True)
    load = [tools / "psql", "-qX", "-v", "ON_ERROR_STOP=1", "-d", other]
    subprocess.run(load, input=dumped.stdout, capture_output=True, check=True)
    for address in (made, other):
        with psycopg.connect(address, user="keeper", autocommit=True) as conn:
            assert value(conn, NOT_THEIRS) == []
            conn.execute("INSERT INTO app.chore VALUES (1, 'Water BDG-123456')")
            assert found(conn, "water", user_id="ada") == ["Water [redacted:badge]"]
    with psycopg.connect(made, user="keeper", autocommit=True) as keeper:
        keeper.execute("DROP EXTENSION pgmemoir CASCADE")


def test_what_it_made_later_goes_with_it_and_it_can_come_back(extended_db, catalogue):
    empty = "DROP EXTENSION pgmemoir; DROP SCHEMA memoir"
    made = "SELECT objects[1] FROM memoir.migration WHERE kind = 'code'"
    (name,) = extended_db.execute(made).fetchone()
    set_to(extended_db, ann_gain=0.22)
    fill(extended_db, 30)
    built = extended_db.execute("SELECT action FROM memoir.maintain()").fetchall()
    extended_db.execute("CALL memoir.maintain_all()")
    extended_db.execute(empty)
    assert ("index built",) in built
    assert {line for line in catalogue(extended_db) if "memoir" in line} == set()
    # Its scripts carry out no setting that somebody gave the database.
    rights = json.dumps({name: ["CREATE ROLE mallory SUPERUSER"]})
    extended_db.execute("SELECT set_config('memoir.rights', %s, false)", (rights,))
    extended_db.execute(CREATE)
    assert remember(extended_db, "Here again") == 1
    assert extended_db.execute("SELECT to_regrole('mallory')").fetchone() == (None,)


@pytest.fixture
def attached(extended_db) -> psycopg.Connection:
    """A database with the extension, and a table of an application that is attached."""
    extended_db.execute("CREATE TABLE public.chore (id int PRIMARY KEY, body text)")
    attach = "SELECT memoir.attach_source('chores', 'task', 'public.chore', '{body}', '{id}'"
    extended_db.execute(attach + ", user_id => 'ada')")
    return extended_db


def test_it_is_not_dropped_under_an_attached_table(attached):
    with pytest.raises(errors.DependentObjectsStillExist, match="extension") as caught:
        attached.execute("DROP EXTENSION pgmemoir")
    assert "trigger memoir_source_1 on table chore" in caught.value.diag.message_detail
    attached.execute("SELECT memoir.detach_source('chores')")
    attached.execute("DROP EXTENSION pgmemoir")


def test_who_drops_it_all_the_same_can_write_the_table_on(attached):
    attached.execute("DROP EXTENSION pgmemoir CASCADE")
    attached.execute("INSERT INTO public.chore VALUES (1, 'Water the plants')")
    attached.execute("DROP SCHEMA memoir")


def test_events_stay_in_one_table(with_extension):
    # pg_dump cannot restore a table attached to one of an extension.
    with_extension.execute("CALL memoir.maintain_all()")
    parts = with_extension.execute(
        "SELECT inhrelid::regclass::text FROM pg_inherits"
        " WHERE inhparent = 'memoir.event'::regclass"
    )
    assert parts.fetchall() == [("memoir.event_default",)]
