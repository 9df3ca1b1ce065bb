"""What a database must have, and what the error says when it has not."""

from __future__ import annotations

import psycopg
import pytest
from tests.rows import recall, remember, value

from pgmemoir import Memoir, doctor, migrations, prerequisites
from pgmemoir.migrations import MigrationError


def _refusal(conn, tree) -> MigrationError:
    with pytest.raises(MigrationError) as caught:
        migrations.up(conn, source=tree)
    assert conn.execute("SELECT to_regclass('memoir.migration')").fetchone() == (None,)
    return caught.value


@pytest.fixture(scope="module")
def owned(server, few_synonyms):
    """A database that was installed by its owner, who has no other rights; how he connects to it.

    The tablespace of the database he calls the default one: a partitioned table refuses to be told.

    Its tests maintain it, attach a table and, the last, take memoir away again.
    """
    address = {"host": server.host, "port": server.port}
    as_owner = {**address, "user": "owner", "dbname": "owned"}
    with psycopg.connect(**address, user=server.user, dbname="postgres", autocommit=True) as admin:
        admin.execute("CREATE ROLE owner LOGIN")
        admin.execute("CREATE DATABASE owned OWNER owner")
        with psycopg.connect(**{**as_owner, "user": server.user}) as superuser:
            superuser.execute("CREATE EXTENSION vector")
        with psycopg.connect(**as_owner, options="-c default_tablespace=pg_default") as conn:
            assert migrations.up(conn, source=few_synonyms)
        yield as_owner
        admin.execute("DROP DATABASE owned")
        admin.execute("DROP ROLE owner")


@pytest.fixture
def owner(owned):
    """A connection of the owner's, a new one."""
    with psycopg.connect(**owned, autocommit=True) as conn:
        yield conn


def test_he_maintains_an_empty_database_in_a_session_that_has_read_no_vector(owner):
    owner.execute("CALL memoir.maintain_all()")


def test_he_attaches_a_table_of_his_own_with_names_that_need_quotes(owner):
    owner.execute("""
        CREATE SCHEMA "My App";
        CREATE TABLE "My App"."To Do" (tenant text, n int, "What" text, PRIMARY KEY (tenant, n));
        SELECT memoir.attach_source('todo', 'task', '"My App"."To Do"', '{What}',
                                    user_column => 'tenant');
        INSERT INTO "My App"."To Do" VALUES ('tom', 1, 'red'), ('ann', 1, '刷漆');
        UPDATE "My App"."To Do" SET "What" = 'blue' WHERE tenant = 'tom'""")
    rows = "SELECT user_id, content FROM memoir.memory ORDER BY user_id"
    assert owner.execute(rows).fetchall() == [("ann", "刷漆"), ("tom", "blue")]
    owner.execute("SELECT memoir.detach_source('todo')")


def test_what_a_superusers_upkeep_makes_is_the_owners(owned, owner, server):
    with psycopg.connect(**{**owned, "user": server.user}, autocommit=True) as superuser:
        assert superuser.execute("SELECT memoir._add_partition('2031-01-01 00:00+00')").fetchone()
    of_table = "SELECT tableowner FROM pg_tables WHERE tablename = 'event_2031_01'"
    assert value(owner, of_table) == "owner"
    owner.execute("SELECT memoir.grant_access()")


def test_what_another_has_made_there_is_named(owned, owner, server):
    with psycopg.connect(**{**owned, "user": server.user}, autocommit=True) as superuser:
        superuser.execute("CREATE TABLE memoir.kept AS TABLE memoir.memory")
        with pytest.raises(psycopg.errors.InsufficientPrivilege) as caught:
            owner.execute("SELECT memoir.grant_access()")
        superuser.execute("DROP TABLE memoir.kept")
    said = caught.value.diag
    assert 'memoir.kept belongs to "postgres"' in said.message_primary
    assert said.message_hint.startswith('As "postgres": ALTER TABLE memoir.kept OWNER TO owner;')


def test_a_table_that_became_anothers_is_named_with_the_way_back(owned, owner, server):
    security = "SELECT status, value, advice FROM memoir.health() WHERE name = 'security'"
    with psycopg.connect(**{**owned, "user": server.user}, autocommit=True) as superuser:
        superuser.execute("ALTER TABLE memoir.event OWNER TO CURRENT_USER")
        status, said, advice = owner.execute(security).fetchone()
        assert (status, said) == (
            "error",
            "memoir.event belongs to postgres, and the rest to owner",
        )
        superuser.execute(advice.removeprefix("As postgres: "))
    assert owner.execute(security).fetchone()[0] == "ok"


def test_he_takes_away_what_he_installed(owner):
    assert migrations.down(owner, 0)
    assert owner.execute("SELECT to_regnamespace('memoir')").fetchone() == (None,)


def test_without_the_right_to_create_pgvector_the_command_is_named(owner_db, tree):
    error = _refusal(owner_db, tree)
    assert "plain may not create it" in error.message
    name = owner_db.info.dbname
    assert error.hint == f'As a superuser in the database "{name}": CREATE EXTENSION vector;'


def test_without_pgvector_on_the_server_the_package_is_named(empty_db, tree):
    major = empty_db.info.server_version // 10000
    if major < 18:
        pytest.skip("PostgreSQL 18 is the first that can look for extensions elsewhere")
    empty_db.execute("SET extension_control_path = '/nonexistent'")
    error = _refusal(empty_db, tree)
    assert error.message == "pgvector is not installed on this server"
    assert f"postgresql-{major}-pgvector" in error.hint


def test_without_the_right_to_create_the_schema_the_grant_is_named(empty_db, owner_db, tree):
    empty_db.execute("CREATE EXTENSION vector")
    empty_db.execute(f"ALTER DATABASE {empty_db.info.dbname} OWNER TO postgres")
    error = _refusal(owner_db, tree)
    assert error.message == "plain may not create the schema memoir"
    assert error.hint.endswith(f'GRANT CREATE ON DATABASE "{empty_db.info.dbname}" TO plain;')


def test_a_schema_made_by_an_administrator_is_enough(empty_db, owner_db, tree):
    empty_db.execute("CREATE EXTENSION vector")
    empty_db.execute(f"ALTER DATABASE {empty_db.info.dbname} OWNER TO postgres")
    empty_db.execute("CREATE SCHEMA memoir AUTHORIZATION plain")
    assert migrations.up(owner_db, source=tree)


@pytest.mark.parametrize("right", ["CREATE", "USAGE"])
def test_a_schema_of_somebody_else_is_refused_with_the_way_out(empty_db, owner_db, tree, right):
    empty_db.execute("CREATE EXTENSION vector")
    empty_db.execute(f"CREATE SCHEMA memoir; GRANT {right} ON SCHEMA memoir TO plain")
    with pytest.raises(MigrationError) as caught:
        migrations.up(owner_db, source=tree)
    said = "the schema memoir belongs to postgres, and plain may not create in it"
    assert caught.value.message == said
    assert caught.value.hint.endswith("ALTER SCHEMA memoir OWNER TO plain;")


def test_without_a_schema_to_put_pgvector_in_one_is_named(empty_db, tree):
    empty_db.execute("DROP SCHEMA public")
    error = _refusal(empty_db, tree)
    assert "the search path has no schema to put it in" in error.message
    assert error.hint.endswith("CREATE EXTENSION vector SCHEMA extensions;")


def test_a_schema_that_was_renamed_is_found_and_no_second_one_made(empty_db, tree):
    tree.write("sql/version.sql", "CREATE FUNCTION pgmemoir_version() RETURNS int RETURN 1;")
    migrations.up(empty_db, source=tree)
    empty_db.execute('ALTER SCHEMA memoir RENAME TO "Old"')
    with pytest.raises(MigrationError) as caught:
        migrations.up(empty_db, source=tree)
    assert caught.value.message == 'pgmemoir is in schema "Old"'
    assert caught.value.hint == 'ALTER SCHEMA "Old" RENAME TO memoir;'
    assert value(empty_db, "SELECT to_regnamespace('memoir') IS NULL")


def test_after_pgvector_was_moved_migrate_makes_the_code_look_there(db):
    remember(db, "Ada plays the cello")
    db.execute('CREATE SCHEMA "odd %s"')
    db.execute('ALTER EXTENSION vector SET SCHEMA "odd %s"')
    assert doctor._pgvector(db).state == "fail"
    assert migrations.status(db)[-1].state == "pending"
    assert migrations.up(db)
    assert doctor._pgvector(db).state == "ok"
    assert recall(db, "cello").block == "## Known facts\n- Ada plays the cello\n"
    # A client finds it there too, and neither needs the search path nor changes it.
    db.execute("SET search_path = ''")
    memory = Memoir(db, embedder=None)
    memory.remember("found", vector=[1.0, 0.0])
    assert "found" in memory.context(vector=[1.0, 0.0])
    assert value(db, "SHOW search_path") == '""'


def test_after_its_schema_was_renamed_too(empty_db, tree):
    tree.write(
        "sql/10_read/near.sql",
        "CREATE OR REPLACE FUNCTION near(halfvec) RETURNS int LANGUAGE sql RETURN 1;",
    )
    empty_db.execute("CREATE SCHEMA extensions; CREATE EXTENSION vector SCHEMA extensions")
    migrations.up(empty_db, source=tree)
    empty_db.execute("ALTER SCHEMA extensions RENAME TO ext")
    assert migrations.up(empty_db, source=tree, anew=True)
    assert value(empty_db, "SELECT memoir.near('[1]'::ext.halfvec)") == 1


def test_the_schema_of_pgvector_must_be_open_to_the_role(empty_db, owner_db, tree):
    empty_db.execute('CREATE SCHEMA "My Extensions"')
    empty_db.execute('CREATE EXTENSION vector SCHEMA "My Extensions"')
    error = _refusal(owner_db, tree)
    assert error.hint == 'As its owner: GRANT USAGE ON SCHEMA "My Extensions" TO plain;'


def test_a_database_that_lost_pgvector_is_not_taken_for_a_sound_one(empty_db, tree):
    migrations.up(empty_db, source=tree)
    empty_db.execute("DROP EXTENSION vector CASCADE")
    with pytest.raises(MigrationError) as caught:
        migrations.up(empty_db, source=tree)
    assert "the extension vector was dropped here" in caught.value.message
    assert "DROP SCHEMA memoir CASCADE; and install it again" in caught.value.hint
    empty_db.execute("DROP SCHEMA memoir CASCADE")
    assert migrations.up(empty_db, source=tree)


def test_tables_without_their_rows_are_not_taken_for_an_installation(empty_db, tree):
    migrations.up(empty_db, source=tree)
    empty_db.execute("TRUNCATE memoir.migration")  # what a test database made of a schema dump has
    with pytest.raises(MigrationError) as caught:
        migrations.up(empty_db, source=tree)
    assert "memoir's tables are here without their rows" in caught.value.message
    assert "pg_dump --schema-only -N memoir" in caught.value.hint


def test_an_old_pgvector_is_refused_with_the_update(empty_db, tree):
    empty_db.execute("CREATE EXTENSION vector")
    empty_db.execute("UPDATE pg_extension SET extversion = '0.7.4' WHERE extname = 'vector'")
    error = _refusal(empty_db, tree)
    assert error.message == "pgmemoir needs pgvector 0.8.0 or newer; this database has 0.7.4"
    assert error.hint.endswith("ALTER EXTENSION vector UPDATE;")


def test_an_old_server_is_refused(empty_db, tree, monkeypatch):
    monkeypatch.setattr(prerequisites, "OLDEST_SERVER", 99)
    assert "pgmemoir needs PostgreSQL 99 or newer" in _refusal(empty_db, tree).message


def test_the_extension_pgmemoir_is_another_road(empty_db, tree):
    empty_db.execute(
        "INSERT INTO pg_extension"
        " (oid, extname, extowner, extnamespace, extrelocatable, extversion)"
        " VALUES (99999, 'pgmemoir', 10, 2200, false, '0.1')"
    )
    assert _refusal(empty_db, tree).hint == "ALTER EXTENSION pgmemoir UPDATE;"


def test_a_database_in_another_encoding_is_refused(server, tree):
    address = {"host": server.host, "port": server.port, "user": server.user}
    with psycopg.connect(**address, dbname="postgres", autocommit=True) as admin:
        admin.execute("CREATE DATABASE latin ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0")
        with psycopg.connect(**address, dbname="latin") as conn:
            error = _refusal(conn, tree)
            (found,) = doctor.examine(conn, None)
        admin.execute("DROP DATABASE latin WITH (FORCE)")
    assert error.message == 'pgmemoir needs a database in UTF8; "latin" is in LATIN1'
    assert (found.state, found.text, found.hint) == ("fail", error.message, error.hint)
