"""Who owns an attached table has code of his run by who reads or writes it: with his rights alone.

Nobody who may call the functions made for that table has code of his run by its owner either.
Memoir is installed by a role that is no superuser, as on a managed server; it attaches the table of
a shop, whose owner then makes a policy, a trigger and a path of his own.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import psycopg
import pytest
from psycopg.types.json import Jsonb
from pytest_postgresql.executors import NoopExecutor
from tests.databases import database
from tests.rows import call, recall, value

from pgmemoir import migrations
from pgmemoir.paths import Source

INSTALLER, SHOP = "the_installer", "the_shop"
WHO_RAN = "SELECT array_agg(DISTINCT name) FROM shop.ran"
MADE = (
    "SELECT array_agg(proowner::regrole::text) FROM pg_proc WHERE proname ~ '^_source_1_(read|log)'"
)
STATE = "SELECT state FROM memoir.sources WHERE name = 'theirs'"
ATTACHED = {"name": "theirs", "kind": "event", "relation": "shop.theirs"}
HIS_CODE = """
CREATE TABLE shop.ran (name text);
CREATE FUNCTION shop.runs() RETURNS boolean LANGUAGE plpgsql SECURITY INVOKER AS
    $$BEGIN INSERT INTO shop.ran VALUES (current_user); RETURN true; END$$;
CREATE FUNCTION shop.fires() RETURNS trigger LANGUAGE plpgsql SECURITY INVOKER AS
    $$BEGIN PERFORM shop.runs(); RETURN NEW; END$$;
"""


@dataclass
class Shop:
    """Connections as who installed memoir, as the owner of shop.happened, and as superuser."""

    installer: psycopg.Connection
    owner: psycopg.Connection
    admin: psycopg.Connection


@contextmanager
def connections(address: dict[str, Any]) -> Iterator[Shop]:
    with (
        psycopg.connect(**{**address, "user": INSTALLER}, autocommit=True) as installer,
        psycopg.connect(**{**address, "user": SHOP}, autocommit=True) as owner,
        psycopg.connect(**address, autocommit=True) as admin,
    ):
        yield Shop(installer, owner, admin)


@pytest.fixture(scope="module")
def shops(server: NoopExecutor, logins: object, few_synonyms: Source) -> Iterator[str]:
    """The name of a database with memoir and an attached table, which no test changes."""
    assert logins
    with database(server, "shops") as address:
        with psycopg.connect(**address, autocommit=True) as admin:
            admin.execute(
                f"CREATE ROLE {INSTALLER} LOGIN; CREATE ROLE {SHOP} LOGIN;"
                f"GRANT {SHOP} TO {INSTALLER}; GRANT CREATE ON DATABASE shops TO {INSTALLER};"
                f"CREATE EXTENSION vector; CREATE SCHEMA shop AUTHORIZATION {SHOP}"
            )
        with connections(address) as made:
            migrations.up(made.installer, source=few_synonyms)
            made.owner.execute(
                "CREATE TABLE shop.happened (id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY,"
                " type text, payload jsonb, user_id text, created_at timestamptz DEFAULT now());"
                "INSERT INTO shop.happened (type, payload, user_id) VALUES ('alert', '{}', 'eve')"
            )
            made.owner.execute(HIS_CODE)
            attached = {"name": "shop", "kind": "event", "relation": "shop.happened"}
            call(made.installer, "attach_source", **attached, write_retrievals=True)
        yield "shops"
        with psycopg.connect(**address, autocommit=True) as admin:
            admin.execute("DROP SCHEMA memoir, shop CASCADE")
            admin.execute(f"DROP OWNED BY {INSTALLER}, {SHOP}; DROP ROLE {INSTALLER}, {SHOP}")


@pytest.fixture
def shop(server: NoopExecutor, shops: str) -> Iterator[Shop]:
    with database(server, "shop", of=shops) as address, connections(address) as made:
        yield made


def test_a_policy_of_his_runs_as_himself(shop):
    shop.owner.execute(
        "CREATE POLICY spy ON shop.happened USING (shop.runs());"
        "ALTER TABLE shop.happened ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY"
    )
    assert call(shop.installer, "fill_source", name="shop")[0].written == 1
    assert value(shop.owner, WHO_RAN) == [SHOP]


def test_so_does_a_trigger_at_the_log_that_is_written_there(shop):
    shop.owner.execute(
        "CREATE TRIGGER spy BEFORE INSERT ON shop.happened"
        " FOR EACH ROW EXECUTE FUNCTION shop.fires()"
    )
    recall(shop.installer, "tea", user_id="eve")
    shop.installer.execute("UPDATE memoir.retrieval SET created_at = now() - interval '8 days'")
    call(shop.installer, "maintain")
    assert value(shop.owner, "SELECT count(*) FROM shop.happened") == 2
    assert value(shop.owner, WHO_RAN) == [SHOP]


def test_to_lend_him_the_functions_leaves_him_no_right_on_memoir(shop):
    assert value(shop.installer, MADE) == [SHOP, SHOP]
    for right in ("CREATE", "USAGE"):
        allowed = f"SELECT has_schema_privilege('{SHOP}', 'memoir', '{right}')"
        assert value(shop.installer, allowed) is False


ALTERED = (
    "SECURITY INVOKER SET search_path = shop, pg_catalog",
    # His code could RESET ROLE, and then be whoever logged in.
    f"SECURITY INVOKER SET role = '{SHOP}' SET search_path = shop, pg_catalog",
)


@pytest.mark.parametrize("altered", ALTERED)
def test_a_function_that_he_altered_is_refused(shop, altered):
    shop.admin.execute(f"GRANT memoir_agent TO {SHOP}")
    shop.owner.execute(
        "CREATE FUNCTION shop.format(text, VARIADIC text[]) RETURNS text LANGUAGE plpgsql AS"
        " $$BEGIN PERFORM shop.runs(); RETURN 'SELECT'; END$$;"
        f"ALTER FUNCTION memoir._source_1_read {altered}"
    )
    with pytest.raises(psycopg.errors.InsufficientPrivilege) as caught:
        call(shop.admin, "fill_source", name="shop")
    assert caught.value.diag.message_primary == "somebody changed function _source_1_read"
    assert value(shop.owner, WHO_RAN) is None
    assert call(shop.installer, "detach_source", name="shop")
    shop.admin.execute(f"REVOKE memoir_agent FROM {SHOP}")  # a role is of all databases


def test_a_path_that_his_policy_sets_is_not_that_of_the_trigger(shop):
    shop.owner.execute(
        "CREATE TABLE shop.theirs (id int, content text, user_id text);"
        "INSERT INTO shop.theirs VALUES (1, 'tea', 'eve'), (1, 'milk', 'eve')"
    )
    columns = {"source_id": ["id"], "user_column": "user_id"}
    call(shop.installer, "attach_source", **{**ATTACHED, "kind": "fact"}, **columns)
    shop.owner.execute(
        "CREATE FUNCTION shop.sly() RETURNS boolean LANGUAGE sql AS $$"
        "SELECT set_config('search_path', 'shop, pg_catalog', false) <> ''$$;"
        "CREATE FUNCTION shop._known_source(text, boolean) RETURNS boolean LANGUAGE sql"
        " AS 'SELECT shop.runs()';"
        "CREATE FUNCTION shop._take_rows(boolean, anyarray, int) RETURNS boolean LANGUAGE sql"
        " AS 'SELECT shop.runs()';"
        "CREATE POLICY sly ON shop.theirs USING (pg_trigger_depth() = 0 OR shop.sly());"
        "ALTER TABLE shop.theirs ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;"
        "UPDATE shop.theirs SET id = 2 WHERE content = 'milk'"
    )
    assert value(shop.owner, WHO_RAN) is None


@pytest.mark.parametrize("then", ["", "RAISE query_canceled"])
def test_what_is_pulled_leaves_nothing_in_the_session(shop, then):
    shop.owner.execute(
        "CREATE FUNCTION shop.makes() RETURNS text LANGUAGE plpgsql AS $$BEGIN"
        f" EXECUTE 'PREPARE next AS SELECT shop.runs()'; {then or 'NULL'}; RETURN 'alert'; END$$;"
        "CREATE VIEW shop.theirs AS SELECT 1 AS source_id, shop.makes() AS type,"
        " to_jsonb(1) AS payload, 'eve' AS user_id"
    )
    call(shop.installer, "attach_source", **ATTACHED)
    with pytest.raises(psycopg.errors.InsufficientPrivilege) as caught:
        call(shop.installer, "fill_source", name="theirs")
    assert caught.value.diag.message_primary.endswith("prepared statements in this session")
    assert value(shop.installer, "SELECT count(*) FROM pg_prepared_statements WHERE from_sql") == 0


@pytest.mark.parametrize(
    "wanted", [{"most": "(SELECT 1 WHERE shop.runs())"}, {"after": ["1) OR shop.runs() OR (1 = 1"]}]
)
def test_what_memoir_admin_asks_such_a_function_for_is_no_code(shop, wanted):
    shop.admin.execute("SET ROLE memoir_admin")
    with pytest.raises(psycopg.errors.InvalidTextRepresentation):
        call(shop.admin, "_source_1_read", request=Jsonb(wanted))
    assert value(shop.owner, WHO_RAN) is None


def test_memoir_admin_makes_no_relation_of_his_own_the_one_that_is_followed(shop):
    shop.admin.execute("SET ROLE memoir_admin; CREATE TEMP TABLE happened (id int)")
    trigger = "CREATE TRIGGER mine AFTER UPDATE ON happened FOR EACH ROW EXECUTE FUNCTION {}()"
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        shop.admin.execute(trigger.format("memoir._source_1_write"))


def test_a_table_that_was_given_to_him_is_not_written_as_who_had_it(shop):
    shop.admin.execute("CREATE TABLE shop.theirs (LIKE shop.happened INCLUDING ALL)")
    call(shop.admin, "attach_source", **ATTACHED, write_retrievals=True)
    shop.admin.execute(f"ALTER TABLE shop.theirs OWNER TO {SHOP}")
    shop.owner.execute(
        "CREATE TRIGGER spy BEFORE INSERT ON shop.theirs FOR EACH ROW EXECUTE FUNCTION shop.fires()"
    )
    with pytest.raises(psycopg.errors.InsufficientPrivilege) as caught:
        call(shop.installer, "_source_2_log", user_id="eve", payload={}, created_at="2026-03-01")
    assert caught.value.diag.message_primary == "shop.theirs belongs to another role now"
    assert value(shop.installer, STATE) == "broken: it belongs to another role now"


def test_a_view_of_his_in_the_place_of_another_is_not_read_as_who_had_that(shop):
    view = (
        "CREATE VIEW shop.theirs AS SELECT 1 AS source_id, {} AS type, to_jsonb(1) AS payload,"
        " 'eve' AS user_id"
    )
    shop.admin.execute(view.format("'alert'"))
    call(shop.admin, "attach_source", **ATTACHED)
    shop.owner.execute("DROP VIEW shop.theirs")
    shop.owner.execute(view.format("shop.runs()::text"))
    with pytest.raises(psycopg.errors.InsufficientPrivilege) as caught:
        call(shop.installer, "fill_source", name="theirs")
    assert caught.value.diag.message_primary == "shop.theirs belongs to another role now"


def test_no_temporary_type_stands_in_for_the_one_of_a_column(shop):
    shop.admin.execute("CREATE TYPE public.sort AS ENUM ('memory_retrieval')")
    shop.owner.execute("CREATE TABLE shop.theirs (LIKE shop.happened INCLUDING ALL)")
    shop.owner.execute("ALTER TABLE shop.theirs ALTER type TYPE sort USING 'memory_retrieval'")
    call(shop.installer, "attach_source", **ATTACHED, write_retrievals=True)
    shop.admin.execute("GRANT USAGE ON SCHEMA shop TO memoir_admin; SET ROLE memoir_admin")
    shop.admin.execute(
        "CREATE TYPE pg_temp.sort AS ENUM ('memory_retrieval');"
        "CREATE FUNCTION pg_temp.sly(pg_temp.sort) RETURNS public.sort LANGUAGE plpgsql AS"
        " $$BEGIN PERFORM shop.runs(); RETURN 'memory_retrieval'; END$$;"
        "CREATE CAST (pg_temp.sort AS public.sort) WITH FUNCTION pg_temp.sly AS ASSIGNMENT"
    )
    call(shop.admin, "_source_2_log", user_id="eve", payload={}, created_at="2026-03-01")
    assert value(shop.owner, "SELECT type FROM shop.theirs") == "memory_retrieval"
    assert value(shop.owner, WHO_RAN) is None
