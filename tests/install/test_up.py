"""`migrations.up`: what it runs, when, and how it leaves the caller's connection."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest
from psycopg.rows import dict_row
from tests.install.conftest import FILES, NAMED_OTHERWISE, SHADOWS

from pgmemoir import MemoirError, migrations
from pgmemoir.differences import differences

ALL = ["0001_note.sql", "0002_author.sql", "sql/10_read/body.sql", "sql/20_view/bodies.sql"]


def test_a_fresh_database_gets_every_file_in_order(empty_db, tree):
    assert migrations.up(empty_db, source=tree) == ALL
    assert empty_db.execute("SELECT * FROM memoir.bodies").fetchone() == ("第一",)


def test_a_second_run_does_nothing(empty_db, tree):
    migrations.up(empty_db, source=tree)
    assert migrations.up(empty_db, source=tree) == []


def test_no_limit_of_the_database_stops_it_halfway(empty_db, tree):
    limits = "pg_settings WHERE name IN ('statement_timeout', 'transaction_timeout')"
    tree.write("sql/30_more/met.sql", f"CREATE TABLE met AS SELECT setting FROM {limits};\n")
    empty_db.execute(f"SELECT set_config(name, '1h', false) FROM {limits}")
    assert migrations.up(empty_db, source=tree) == [*ALL, "sql/30_more/met.sql"]
    assert empty_db.execute("SELECT DISTINCT setting FROM memoir.met").fetchall() == [("0",)]
    assert empty_db.execute("SHOW statement_timeout").fetchone() == ("1h",)


def test_triggers_run_although_the_database_turns_them_off(empty_db, tree):
    tree.write(
        "sql/30_more/made.sql",
        "CREATE FUNCTION _made() RETURNS trigger LANGUAGE plpgsql AS"
        " 'BEGIN CREATE VIEW made AS SELECT 1; RETURN NULL; END';"
        "CREATE TABLE rule (n int); CREATE TRIGGER made AFTER INSERT ON rule"
        " EXECUTE FUNCTION _made(); INSERT INTO rule VALUES (1); SELECT FROM made;\n",
    )
    empty_db.execute("SET session_replication_role = replica")
    assert migrations.up(empty_db, source=tree) == [*ALL, "sql/30_more/made.sql"]
    assert empty_db.execute("SHOW session_replication_role").fetchone() == ("replica",)


def test_six_racing_installations_apply_each_file_once(empty_db, empty_dsn, tree):
    def install(_: int) -> int:
        with psycopg.connect(empty_dsn) as conn:
            return len(migrations.up(conn, source=tree))

    with ThreadPoolExecutor(6) as racers:
        ran = sorted(racers.map(install, range(6)))
    assert ran[:5] == [0] * 5
    assert ran[5] > 0
    applied = empty_db.execute("SELECT count(*) FROM memoir.migration WHERE kind = 'migration'")
    assert applied.fetchone() == (2,)


def test_a_dry_run_names_the_files_and_changes_nothing(empty_db, tree):
    assert migrations.up(empty_db, dry_run=True, source=tree) == ALL
    assert empty_db.execute("SELECT to_regnamespace('memoir')").fetchone() == (None,)


def test_a_dry_run_really_runs(empty_db, tree):
    tree.write("migrations/0002_author.sql", "ALTER TABLE nowhere ADD author text;\n")
    with pytest.raises(migrations.MigrationError, match="nowhere"):
        migrations.up(empty_db, dry_run=True, source=tree)


def test_a_target_stops_there_and_leaves_the_code_for_later(empty_db, tree):
    assert migrations.up(empty_db, target=1, source=tree) == ALL[:1]
    assert migrations.up(empty_db, source=tree) == ALL[1:]


def test_changed_code_runs_again_all_of_it(empty_db, tree):
    migrations.up(empty_db, source=tree)
    tree.write("sql/30_more/two.sql", "CREATE OR REPLACE VIEW two AS SELECT 2 AS two;\n")
    assert migrations.up(empty_db, source=tree) == [*ALL[2:], "sql/30_more/two.sql"]


def test_code_runs_again_after_a_migration(empty_db, tree):
    migrations.up(empty_db, source=tree)
    tree.write("migrations/0003_day.sql", "ALTER TABLE note ADD day date;\n")
    assert migrations.up(empty_db, source=tree) == ["0003_day.sql", *ALL[2:]]


def test_an_overload_of_an_older_text_is_dropped(empty_db, tree):
    one = "CREATE OR REPLACE FUNCTION twice(a int{}) RETURNS int LANGUAGE sql RETURN a * 2;\n"
    tree.write("sql/30_more/twice.sql", one.format(""))
    migrations.up(empty_db, source=tree)
    tree.write("sql/30_more/twice.sql", one.format(", b int DEFAULT 0"))
    migrations.up(empty_db, source=tree)
    assert empty_db.execute("SELECT memoir.twice(4)").fetchone() == (8,)


def test_what_was_built_on_an_overload_of_an_older_text_is_built_on_the_new_one(empty_db, tree):
    one = "CREATE OR REPLACE FUNCTION half(a int{}) RETURNS int LANGUAGE sql RETURN a / 2;\n"
    tree.write("sql/15_half/half.sql", one.format(""))
    tree.write("sql/20_view/two.sql", "CREATE OR REPLACE VIEW two AS SELECT half(4) AS two;\n")
    migrations.up(empty_db, source=tree)
    tree.write("sql/15_half/half.sql", one.format(", b int DEFAULT 0"))
    migrations.up(empty_db, source=tree)
    assert empty_db.execute("SELECT two FROM memoir.two").fetchone() == (2,)


def test_a_function_with_another_result_waits_for_what_others_built_on_it(empty_db, tree):
    migrations.up(empty_db, source=tree)
    empty_db.execute("CREATE VIEW public.mine AS SELECT memoir.body(1)")
    tree.write("sql/10_read/body.sql", FILES["sql/10_read/body.sql"].replace(" text", " name"))
    tree.write("sql/20_view/bodies.sql", "CREATE OR REPLACE VIEW bodies AS SELECT 1 AS one;\n")
    with pytest.raises(migrations.MigrationError) as caught:
        migrations.up(empty_db, source=tree)
    assert caught.value.message.startswith("cannot drop function memoir.body(integer)")
    assert caught.value.detail == "view mine depends on function body(integer)"
    assert caught.value.hint == "Drop what was built on it first."
    empty_db.execute("DROP VIEW public.mine")
    migrations.up(empty_db, source=tree)
    assert empty_db.execute("SELECT one, memoir.body(1) FROM memoir.bodies").fetchone() == (
        1,
        "第一",
    )


def test_an_overload_of_somebody_else_stays(empty_db, tree):
    migrations.up(empty_db, source=tree)
    empty_db.execute("CREATE FUNCTION memoir.body() RETURNS int LANGUAGE sql RETURN 7")
    tree.write("sql/10_read/body.sql", FILES["sql/10_read/body.sql"].replace(" text", " name"))
    migrations.up(empty_db, source=tree)
    assert empty_db.execute("SELECT memoir.body(), memoir.body(1)").fetchone() == (7, "第一")


def test_an_index_of_a_single_user_goes_with_a_function_it_is_made_of(empty_db, tree):
    one = "CREATE OR REPLACE FUNCTION half(a int) RETURNS {} LANGUAGE sql IMMUTABLE RETURN a / 2;\n"
    tree.write("sql/15_half/half.sql", one.format("int"))
    migrations.up(empty_db, source=tree)
    empty_db.execute("CREATE INDEX trace_near_7 ON memoir.note (memoir.half(id))")
    tree.write("sql/15_half/half.sql", one.format("real"))
    migrations.up(empty_db, source=tree)
    assert empty_db.execute("SELECT to_regclass('memoir.trace_near_7')").fetchone() == (None,)


def test_code_that_makes_the_same_drops_nothing(db):
    db.execute("UPDATE memoir.migration SET sha256 = 'older' WHERE kind = 'code'")
    assert migrations.outdated(db) == []


def test_what_another_server_named_otherwise_is_not_dropped(empty_db, tree):
    migrations.up(empty_db, source=tree)
    empty_db.execute(NAMED_OTHERWISE)
    tree.write("sql/30_more/two.sql", "CREATE OR REPLACE VIEW two AS SELECT 2 AS two;\n")
    migrations.up(empty_db, source=tree)
    assert empty_db.execute("SELECT memoir.body(1)").fetchone() == ("第一",)


def test_what_a_session_quotes_is_not_dropped(empty_db, tree):
    migrations.up(empty_db, source=tree)
    empty_db.execute("SET quote_all_identifiers = on")
    assert migrations.up(empty_db, source=tree) == []
    assert differences(empty_db, source=tree) == ([], [], [], [], [])
    tree.write("sql/30_more/two.sql", "CREATE OR REPLACE VIEW two AS SELECT 2 AS two;\n")
    migrations.up(empty_db, source=tree)
    assert empty_db.execute("SELECT * FROM memoir.bodies").fetchone() == ("第一",)


def test_what_a_session_checks_in_its_own_functions_is_not_asked_of_these(empty_db, tree):
    empty_db.execute("SET plpgsql.extra_errors = 'all'")
    tree.write("sql/30_more/shadow.sql", SHADOWS)
    assert "sql/30_more/shadow.sql" in migrations.up(empty_db, source=tree)
    assert empty_db.execute("SHOW plpgsql.extra_errors").fetchone() == ("all",)


def test_an_old_view_that_others_use_stops_the_upgrade(empty_db, tree):
    migrations.up(empty_db, source=tree)
    empty_db.execute("CREATE VIEW public.mine AS SELECT * FROM memoir.bodies")
    (tree.sql / "20_view/bodies.sql").unlink()
    with pytest.raises(migrations.MigrationError, match=r"cannot drop view memoir\.bodies"):
        migrations.up(empty_db, source=tree)
    assert empty_db.execute("SELECT * FROM public.mine").fetchone() == ("第一",)


def test_a_function_of_somebody_else_in_the_schema_stays(empty_db, tree):
    migrations.up(empty_db, source=tree)
    empty_db.execute("CREATE FUNCTION memoir.mine() RETURNS int LANGUAGE sql RETURN 7")
    tree.write("sql/30_more/two.sql", "CREATE OR REPLACE VIEW two AS SELECT 2 AS two;\n")
    migrations.up(empty_db, source=tree)
    assert empty_db.execute("SELECT memoir.mine()").fetchone() == (7,)


@pytest.mark.parametrize("autocommit", [True, False])
def test_the_callers_connection_is_left_as_it_was(empty_db, tree, autocommit):
    empty_db.autocommit = autocommit
    empty_db.row_factory = dict_row
    migrations.up(empty_db, source=tree)
    assert empty_db.autocommit is autocommit
    assert empty_db.info.transaction_status is psycopg.pq.TransactionStatus.IDLE
    assert empty_db.execute("SHOW search_path").fetchone() == {"search_path": '"$user", public'}


def test_a_connection_in_a_transaction_is_refused_with_a_hint(empty_db, tree):
    with empty_db.transaction(), pytest.raises(MemoirError, match="commit or roll back first"):
        migrations.up(empty_db, source=tree)


def test_a_reader_may_ask_when_there_is_nothing_to_do(empty_db, empty_dsn, tree):
    migrations.up(empty_db, source=tree)
    empty_db.execute("GRANT USAGE ON SCHEMA memoir TO pg_monitor")
    empty_db.execute("GRANT SELECT ON memoir.migration TO pg_monitor")
    with psycopg.connect(empty_dsn, options="-c role=pg_monitor") as reader:
        assert migrations.up(reader, source=tree) == []


def test_texts_are_in_utf8_whatever_the_connection_is_set_to(empty_db, tree):
    empty_db.execute("SET client_encoding = 'LATIN1'")
    migrations.up(empty_db, source=tree)
    assert empty_db.execute("SHOW client_encoding").fetchone() == ("LATIN1",)
    empty_db.execute("SET client_encoding = 'UTF8'")
    assert empty_db.execute("SELECT body FROM memoir.note").fetchone() == ("第一",)


def test_who_does_not_own_it_is_told_who_does(empty_db, empty_dsn, tree):
    migrations.up(empty_db, source=tree)
    empty_db.execute("GRANT USAGE ON SCHEMA memoir TO pg_monitor")
    empty_db.execute("GRANT SELECT ON memoir.migration TO pg_monitor")
    tree.write("sql/30_more/two.sql", "CREATE OR REPLACE VIEW two AS SELECT 2 AS two;\n")
    with psycopg.connect(empty_dsn, options="-c role=pg_monitor") as reader:
        for call in migrations.up, lambda conn, source: migrations.down(conn, 0, source=source):
            with pytest.raises(MemoirError) as caught:
                call(reader, source=tree)
            assert caught.value.message == (
                "memoir belongs to postgres, and pg_monitor may not change it"
            )
            assert caught.value.hint == "Run this as postgres."


def test_a_repeatable_read_default_does_not_hide_what_another_process_did(empty_db, tree):
    empty_db.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
    assert migrations.up(empty_db, source=tree) == ALL
    assert migrations.up(empty_db, source=tree) == []
