"""A migration that fails or is refused: what the error says, and that nothing happened."""

from __future__ import annotations

import hashlib

import pytest

from pgmemoir import migrations
from pgmemoir.migrations import MigrationError


def _failure(conn, tree) -> MigrationError:
    with pytest.raises(MigrationError) as caught:
        migrations.up(conn, source=tree)
    return caught.value


def test_a_failure_without_a_position_names_file_line_and_statement(empty_db, tree):
    path = tree.write(
        "migrations/0002_author.sql",
        "-- a; comment\nCREATE TABLE a (b text DEFAULT ';')\n;\nCREATE TABLE note (\nid int);\n",
    )
    error = _failure(empty_db, tree)
    assert (error.file, error.line, error.server_sqlstate) == (path, 4, "42P07")
    assert 'relation "note" already exists (SQLSTATE 42P07)' in error.message
    assert f"{path.name}:4:" in error.message
    assert error.detail == "statement: CREATE TABLE note ("


def test_a_syntax_error_names_the_line_of_the_mistake(empty_db, tree):
    tree.write("sql/10_read/body.sql", "SELECT '第一;';\nCREATE VIEW v AS\n    SELEC 1;\n")
    error = _failure(empty_db, tree)
    assert (error.line, error.server_sqlstate) == (3, "42601")


def test_a_mistake_inside_a_function_body_names_its_line(empty_db, tree):
    tree.write(
        "sql/10_read/body.sql",
        "CREATE FUNCTION f() RETURNS int LANGUAGE plpgsql AS $$\nBEGIN\n    RETRUN 1;\nEND $$;\n",
    )
    assert _failure(empty_db, tree).line == 3


def test_the_servers_hint_is_kept(empty_db, tree):
    text = "DO $$ BEGIN RAISE 'no' USING ERRCODE = 'ME001', HINT = 'try yes'; END $$;\n"
    tree.write("sql/30_more/raise.sql", text)
    error = _failure(empty_db, tree)
    assert (error.hint, error.server_sqlstate) == ("try yes", "ME001")


def test_a_failure_leaves_nothing(empty_db, tree):
    tree.write("sql/30_more/bad.sql", "SELECT 1 / 0;\n")
    _failure(empty_db, tree)
    found = empty_db.execute("SELECT to_regnamespace('memoir'), to_regtype('vector')").fetchone()
    assert found == (None, None)


def test_a_failed_upgrade_leaves_the_version_before(empty_db, tree):
    migrations.up(empty_db, source=tree)
    tree.write("migrations/0003_day.sql", "ALTER TABLE note ADD day date; SELECT 1 / 0;\n")
    _failure(empty_db, tree)
    columns = empty_db.execute("SELECT * FROM memoir.note").description
    assert [column.name for column in columns] == ["id", "body", "place", "author"]


def test_a_file_that_ends_its_transaction_is_refused(empty_db, tree):
    tree.write("sql/30_more/commit.sql", "COMMIT; BEGIN;\n")
    assert "ends the transaction" in _failure(empty_db, tree).message


def test_an_edited_file_is_refused_with_both_hashes(empty_db, tree):
    migrations.up(empty_db, source=tree)
    before = (tree.migrations / "0001_note.sql").read_bytes()
    after = b"CREATE TABLE note (id int);\n"
    path = tree.write("migrations/0001_note.sql", after.decode())
    error = _failure(empty_db, tree)
    assert error.file == path
    assert hashlib.sha256(before).hexdigest() in error.detail
    assert hashlib.sha256(after).hexdigest() in error.detail
    assert "memoir export" in error.hint
    assert "memoir migrate down 0" in error.hint


def test_a_checkout_with_crlf_is_the_same_file(empty_db, tree):
    migrations.up(empty_db, source=tree)
    path = tree.migrations / "0001_note.sql"
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    assert migrations.up(empty_db, source=tree) == []


def test_a_released_file_is_refused_when_edited_even_on_a_fresh_database(empty_db, tree):
    sha256 = hashlib.sha256((tree.migrations / "0001_note.sql").read_bytes()).hexdigest()
    tree.write("migrations/released.txt", f"{sha256}  0001_note.sql\n")
    assert migrations.up(empty_db, dry_run=True, source=tree)
    tree.write("migrations/0001_note.sql", "CREATE TABLE note (id bigint);\n")
    assert "was released and has since been edited" in _failure(empty_db, tree).message


def test_a_released_file_is_missed_when_gone(empty_db, tree):
    tree.write("migrations/released.txt", f"{'0' * 64}  0000_gone.sql\n")
    assert "was released and has since been removed" in _failure(empty_db, tree).message


def test_a_database_ahead_of_the_package_is_left_alone(empty_db, tree):
    migrations.up(empty_db, source=tree)
    (tree.migrations / "0002_author.sql").unlink()
    error = _failure(empty_db, tree)
    assert "0002_author.sql, which this version of pgmemoir does not know" in error.message
    assert "pip install -U pgmemoir" in error.hint


def test_a_file_numbered_before_an_applied_one_is_refused(empty_db, tree):
    migrations.up(empty_db, source=tree)
    tree.write("migrations/0000_early.sql", "SELECT 1;\n")
    assert "comes before 0002_author.sql" in _failure(empty_db, tree).message


def test_two_files_with_one_number_are_refused(empty_db, tree):
    tree.write("migrations/0002_other.sql", "SELECT 1;\n")
    assert "have the same number" in _failure(empty_db, tree).message


def test_a_name_without_a_number_is_refused(empty_db, tree):
    tree.write("migrations/later.sql", "SELECT 1;\n")
    assert "later.sql is not a migration's name" in _failure(empty_db, tree).message
