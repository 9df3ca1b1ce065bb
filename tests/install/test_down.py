"""`migrations.down`: the way back, exactly."""

from __future__ import annotations

import pytest
from tests.rows import fill, set_to

from pgmemoir import migrations, paths
from pgmemoir.migrations import MigrationError
from pgmemoir.paths import Source

CHAIN = (
    "CREATE OR REPLACE VIEW a AS SELECT 1 AS one;\n"
    "CREATE OR REPLACE FUNCTION b() RETURNS int LANGUAGE sql RETURN (SELECT one FROM a);\n"
    "CREATE OR REPLACE VIEW c AS SELECT b();\n"
    "CREATE OR REPLACE FUNCTION touch() RETURNS trigger LANGUAGE plpgsql\n"
    "AS 'BEGIN RETURN NEW; END';\n"
    "CREATE OR REPLACE TRIGGER touch BEFORE UPDATE ON note EXECUTE FUNCTION touch();\n"
    "DROP POLICY IF EXISTS mine ON note;\nCREATE POLICY mine ON note USING (b() = 1);\n"
)

# What memoir's roles, which stay, may still do with what is in this database.
RIGHTS = """
SELECT pg_describe_object(classid, objid, 0)
FROM pg_shdepend JOIN pg_database ON datname = current_database() AND dbid = pg_database.oid
WHERE refobjid IN (SELECT oid FROM pg_roles WHERE rolname ~ '^memoir_')
"""


def test_down_undoes_all_of_pgmemoir_exactly_and_up_makes_it_as_new(db, empty_db, catalogue):
    set_to(db, ann_gain=0.22)
    fill(db, 30)
    new, nothing = catalogue(db), catalogue(empty_db)
    assert new > nothing
    # The indexes of single users go with the code and can be built again.
    upkeep = "SELECT action FROM memoir.maintain() WHERE action ~ 'index'"
    assert db.execute(upkeep).fetchall() == [("index built",)]
    migrations.down(db, 7)
    assert db.execute(RIGHTS).fetchall() == []
    migrations.up(db)
    assert catalogue(db) == new
    assert db.execute(upkeep).fetchall() == [("index built",)]
    migrations.down(db, 0)
    assert catalogue(db) == nothing


def test_every_migration_alone_is_undone_exactly(empty_db, catalogue, tmp_path):
    tables = Source(paths.installed().migrations, tmp_path)
    names = sorted(path.name for path in tables.migrations.glob("*.sql"))
    before = []
    for number in range(1, len(names) + 1):
        before.append(catalogue(empty_db))
        migrations.up(empty_db, target=number, source=tables)
    for number in range(len(names), 1, -1):
        migrations.down(empty_db, number - 1, source=tables)
        assert catalogue(empty_db) == before[number - 1], names[number - 1]


def test_down_to_0_stops_while_a_table_is_attached(db):
    db.execute("CREATE TABLE public.chore (id int PRIMARY KEY, body text)")
    db.execute(
        "SELECT memoir.attach_source("
        "'my chores', 'task', 'public.chore', '{body}', '{id}', user_id => 'ada')"
    )
    with pytest.raises(MigrationError) as caught:
        migrations.down(db, 0)
    assert (caught.value.message, caught.value.hint) == (
        "tables are attached: my chores", "memoir source detach 'my chores'")  # fmt: skip


def test_down_undoes_in_reverse_order_code_first(empty_db, tree):
    migrations.up(empty_db, source=tree)
    undone = migrations.down(empty_db, 0, source=tree)
    assert undone == ["sql", "0002_author.sql", "0001_note.sql"]


def test_down_to_a_migration_keeps_it_and_up_goes_on_from_there(empty_db, tree):
    migrations.up(empty_db, source=tree)
    assert migrations.down(empty_db, 1, source=tree) == ["sql", "0002_author.sql"]
    assert empty_db.execute("SELECT body FROM memoir.note").fetchone() == ("第一",)
    assert migrations.up(empty_db, source=tree)[0] == "0002_author.sql"


def test_down_from_nothing_does_nothing(empty_db, tree):
    assert migrations.down(empty_db, 0, source=tree) == []


def test_down_to_the_last_migration_does_nothing(empty_db, tree):
    migrations.up(empty_db, source=tree)
    assert migrations.down(empty_db, 2, source=tree) == []


def test_a_negative_target_is_refused(empty_db, tree):
    with pytest.raises(MigrationError, match="there is no migration -1"):
        migrations.down(empty_db, -1, source=tree)


def test_a_failing_down_leaves_everything(empty_db, tree, catalogue):
    migrations.up(empty_db, source=tree)
    before = catalogue(empty_db)
    tree.write("migrations/down/0001_note.sql", "\nDROP TABLE nowhere;\n")
    with pytest.raises(MigrationError, match=r"0001_note\.sql:2: .* \(SQLSTATE 42P01\)"):
        migrations.down(empty_db, 0, source=tree)
    assert catalogue(empty_db) == before


def test_a_migration_without_a_way_back_is_refused(empty_db, tree):
    migrations.up(empty_db, source=tree)
    (tree.migrations / "down/0001_note.sql").unlink()
    with pytest.raises(MigrationError, match=r"there is no down/0001_note\.sql"):
        migrations.down(empty_db, 0, source=tree)


def test_what_others_put_into_the_schema_stays(empty_db, tree):
    migrations.up(empty_db, source=tree)
    empty_db.execute("CREATE TABLE memoir.mine AS SELECT 7 AS seven")
    migrations.down(empty_db, 0, source=tree)
    assert empty_db.execute("SELECT seven FROM memoir.mine").fetchone() == (7,)


def test_a_schema_that_was_there_before_stays(empty_db, tree):
    empty_db.execute("CREATE SCHEMA memoir")
    migrations.up(empty_db, source=tree)
    migrations.down(empty_db, 0, source=tree)
    assert empty_db.execute("SELECT to_regnamespace('memoir')").fetchone() == ("memoir",)


def test_pgvector_that_was_there_before_stays(empty_db, tree):
    empty_db.execute("CREATE EXTENSION vector")
    migrations.up(empty_db, source=tree)
    migrations.down(empty_db, 0, source=tree)
    assert empty_db.execute("SELECT to_regtype('vector')").fetchone() == ("vector",)


def test_pgvector_that_others_use_by_now_stays(empty_db, tree):
    migrations.up(empty_db, source=tree)
    empty_db.execute("CREATE TABLE mine (place vector(3))")
    migrations.down(empty_db, 0, source=tree)
    assert empty_db.execute("SELECT to_regclass('mine')").fetchone() == ("mine",)


def test_code_whose_parts_depend_on_each_other_is_dropped(empty_db, tree):
    tree.write("sql/30_more/chain.sql", CHAIN)
    migrations.up(empty_db, source=tree)
    assert migrations.down(empty_db, 1, source=tree)[0] == "sql"
    left = empty_db.execute(
        "SELECT count(*) FROM pg_proc WHERE pronamespace = 'memoir'::regnamespace"
    )
    assert left.fetchone() == (0,)


def test_the_second_run_of_code_is_recorded_like_the_first(empty_db, tree):
    ours = "SELECT array_agg(o ORDER BY o) FROM memoir.migration, unnest(objects) o"
    tree.write("sql/30_more/chain.sql", CHAIN)
    migrations.up(empty_db, source=tree)
    first = empty_db.execute(ours).fetchone()
    tree.write("sql/30_more/none.sql", "SELECT 1;\n")
    migrations.up(empty_db, source=tree)
    assert empty_db.execute(ours).fetchone() == first
