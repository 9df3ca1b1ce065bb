"""The command line where it tells of the database: ``memoir migrate``, ``psql`` and ``doctor``."""

from __future__ import annotations

import json
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import psycopg
import pytest
from click.testing import CliRunner, Result
from psycopg.conninfo import make_conninfo
from tests.client.conftest import in_a_process, needs_wordllama
from tests.install.conftest import Tree

from pgmemoir import cli, doctor
from pgmemoir.cli.app import App
from pgmemoir.cli.database import psql_call
from pgmemoir.errors import RIGHTS_HINT, VECTOR_RIGHTS_HINT, advice

Call = Callable[..., Result]

WARN = """DO $$ BEGIN
    RAISE WARNING 'schema "memoir" belongs to "mallory"'
        USING HINT = 'ALTER SCHEMA memoir OWNER TO postgres;';
END $$;
"""


def test_migrate_down_asks_first(memoir: Call, db: psycopg.Connection) -> None:
    assert memoir("migrate", "down", "0", stdin="n\n").exit_code == 1
    assert db.execute("SELECT memoir.pgmemoir_version()").fetchone()


@pytest.mark.parametrize("command", [("migrate", "down", "0"), ("model", "drop", "old")])
def test_where_nobody_can_answer_the_question_names_the_option(
    memoir: Call, command: tuple[str, ...]
) -> None:
    asked = memoir(*command, stdin="")
    assert asked.exit_code == 2
    assert asked.stderr.endswith("error: there is nobody to ask: add --yes\n")


def test_psql_gets_the_search_path_the_user_and_no_password(dsn: str) -> None:
    secrets = "password=s3cret-word sslpassword=s3cret-key"
    address, environment = psql_call(f"{dsn} {secrets}", "ada lovelace")
    assert "s3cret" not in address
    assert environment["PGPASSWORD"] == "s3cret-word"
    with psycopg.connect(address) as conn:
        assert conn.execute("SHOW search_path").fetchone() == ('"$user", public, memoir, public',)
        assert conn.execute("SHOW memoir.user_id").fetchone() == ("ada lovelace",)


@pytest.mark.parametrize("user", ["eve\t-cmemoir.user_id=ada", "eve\n\v\f\r\\ x", "认证\u3000"])
def test_psql_takes_all_of_a_user_for_his_name(dsn: str, user: str) -> None:
    address, _ = psql_call(dsn, user)
    with psycopg.connect(address) as conn:
        assert conn.execute("SHOW memoir.user_id").fetchone() == (user,)


@pytest.mark.parametrize("encoding", ["SQL_ASCII", "LATIN1"])
def test_psql_opens_in_any_encoding(
    dsn: str, encoding: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PGCLIENTENCODING", encoding)
    address, _ = psql_call(dsn, "Жанна")
    monkeypatch.delenv("PGCLIENTENCODING")
    with psycopg.connect(address) as conn:
        assert conn.execute("SHOW memoir.user_id").fetchone() == ("Жанна",)


def test_a_table_made_in_psql_is_the_applications(dsn: str, db: psycopg.Connection) -> None:
    done = in_a_process(dsn, "psql", "-qc", "CREATE TABLE tasks (id int PRIMARY KEY, title text)")
    assert (done.returncode, done.stderr) == (0, "")
    assert db.execute("SELECT to_regclass('public.tasks') IS NOT NULL").fetchone() == (True,)


def test_psql_runs_what_it_is_given(dsn: str) -> None:
    plain = dsn.replace("sslcertmode=allow", "")  # an older psql does not know it
    done = in_a_process(plain, "psql", "-Atc", "SELECT name FROM mode WHERE name = 'plan'")
    assert done.stdout == "plan\n", done.stderr


@needs_wordllama
def test_doctor_finds_a_healthy_installation(dsn: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "SLOW_RECALL_MS", 60_000.0)  # of a machine that is busy
    done = CliRunner().invoke(cli.main, ["--dsn", dsn, "doctor", "--json"])
    checks: list[dict[str, Any]] = json.loads(done.stdout)
    assert {check["state"] for check in checks} == {"ok"}
    assert done.exit_code == 0
    client = ["server", "pgvector", "migrations", "objects", "version", "embedder", "model"]
    access = ["roles", "security", "triggers"]
    database = ["settings", "memories", "jobs", "sources", "upkeep", "indexes"]
    storage = ["bloat", "unlogged", "statistics", "partitions"]
    expected = [*client, *access, *database, *storage, "recall"]
    assert [check["name"] for check in checks] == expected


def test_migrate_tells_what_the_migration_warns_of(migrate: Call, tree: Tree) -> None:
    tree.write("sql/30_more/warn.sql", WARN)
    assert migrate().stderr.splitlines() == [
        'warning: schema "memoir" belongs to "mallory"',
        "hint: ALTER SCHEMA memoir OWNER TO postgres;",
    ]


@pytest.mark.parametrize("command", [("list",), ("doctor",), ("migrate",)])
def test_a_role_without_rights_is_told_of_the_roles_there_are(
    memoir: Call, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...]
) -> None:
    monkeypatch.setenv("PGOPTIONS", "-c role=pg_monitor")
    done = memoir(*command)
    assert "permission denied for schema memoir" in done.output
    assert "who created the roles: GRANT memoir_agent TO the role of --dsn" in done.output
    assert "memoir_worker is for memoir worker" in done.output
    assert done.exit_code == 1


@pytest.mark.parametrize(
    ("message", "place", "hint"),
    [
        ("keine Berechtigung für Schema memoir", "aclcheck_error", RIGHTS_HINT),
        ("对函数 purge 权限不够", "aclcheck_error", RIGHTS_HINT),
        ("permission denied for table goal", "aclcheck_error", None),
        ("permission denied for schema ext", "aclcheck_error", VECTOR_RIGHTS_HINT.format("ext")),
        ("neue Zeile verletzt Policy", "ExecWithCheckOptions", None),
    ],
)
def test_so_is_one_whose_server_speaks_another_language(
    message: str, place: str, hint: str | None
) -> None:
    class Refused(psycopg.errors.InsufficientPrivilege):
        diag = SimpleNamespace(message_primary=message, source_function=place, message_hint=None)

    assert advice(Refused()) == hint


def test_tables_of_another_version_are_told(memoir: Call, db: psycopg.Connection) -> None:
    db.execute("ALTER TABLE memoir.embedding_model RENAME COLUMN dimensions TO width")
    hint = "hint: Is the database of another version? See: memoir migrate status\n"
    assert memoir("remember", "tea").stderr.endswith(hint)


def test_status_and_a_dry_run_tell_what_an_update_drops(migrate: Call, tree: Tree) -> None:
    tree.write("sql/30_more/one.sql", "CREATE FUNCTION one() RETURNS int RETURN 1;\n")
    former = tree.write("sql/30_more/former.sql", "CREATE VIEW former AS SELECT 1 AS one;\n")
    migrate()
    tree.write("sql/30_more/one.sql", "CREATE FUNCTION one() RETURNS text RETURN 'one';\n")
    former.unlink()
    gone = ["function memoir.one()", "view memoir.former"]
    told = migrate("status").stdout.splitlines()
    assert told[-3:] == [
        *(f"to be dropped: {item}" for item in gone),
        "installed by: memoir migrate",
    ]
    for call, word in ((("--dry-run",), "would have dropped"), ((), "dropped")):
        told = migrate(*call).stdout.splitlines()
        assert told[:-1] == [f"{word} {item}" for item in gone]
    assert migrate().stdout == "up to date\n"


def test_dates_may_look_otherwise_to_the_role(
    memoir: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PGOPTIONS", "-c DateStyle=German")
    assert memoir("migrate").stdout == "up to date\n"
    assert memoir("migrate", "status").exit_code == 0
    assert memoir("doctor").exit_code == 0


def test_doctor_tells_names_without_what_drives_the_terminal(
    memoir: Call, db: psycopg.Connection
) -> None:
    db.execute("SELECT memoir.use_model(%s, 8)", ["red\x9b31m\x07"])
    said = memoir("doctor").stdout
    assert "red31m" in said
    assert not set(said) & {"\x9b", "\x07"}


def test_doctor_warns_of_memories_without_vectors(memoir: Call) -> None:
    memoir("remember", "words only")
    done = memoir("doctor")
    assert "warn  memories    1 active, 1 without a vector" in done.stdout
    assert done.exit_code == 0


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("status = 'waiting'", "warn  jobs        1 waiting, 0 dead, chat model none"),
        ("status = 'dead'", "warn  jobs        0 waiting, 1 dead, chat model none"),
        ("status = 'done'", "ok    jobs        0 waiting, 0 dead, chat model none"),
    ],
)
def test_doctor_tells_how_the_jobs_stand(
    memoir: Call, db: psycopg.Connection, change: str, said: str
) -> None:
    db.execute("SELECT memoir.enqueue('rolling_summary')")
    db.execute(f"UPDATE memoir.job SET {change}")
    assert said in memoir("doctor").stdout


def test_doctor_misses_the_worker(
    memoir: Call, db: psycopg.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEMOIR_CHAT_MODEL", "m")
    db.execute("SELECT memoir.enqueue('rolling_summary')")
    assert "ok    jobs        1 waiting, 0 dead, chat model openai/m" in memoir("doctor").stdout
    db.execute("UPDATE memoir.job SET created_at = '2026-01-02 03:04+00'")
    assert "The oldest waits since 2026-01-02 03:04. Run: memoir worker" in memoir("doctor").stdout


@needs_wordllama
def test_doctor_finds_the_embedder_that_does_not_fit(dsn: str, db: psycopg.Connection) -> None:
    db.execute("SELECT memoir.use_model('another', 8)")
    done = CliRunner().invoke(cli.main, ["--dsn", dsn, "doctor"])
    assert "fail  model       another filled this database" in done.stdout
    assert "from your own program: MEMOIR_EMBEDDER=none" in done.stdout
    assert done.exit_code == 1


def test_doctor_does_not_warn_of_an_embedder_that_is_switched_off(
    dsn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEMOIR_EMBEDDER", "none")
    done = CliRunner().invoke(cli.main, ["--dsn", dsn, "doctor"])
    assert "ok    embedder    none, as MEMOIR_EMBEDDER says\n" in done.stdout


def test_doctor_shows_an_error_without_the_text_of_the_function(
    dsn: str, db: psycopg.Connection
) -> None:
    db.execute("ALTER TABLE memoir.trace RENAME line TO gone")
    said = CliRunner().invoke(cli.main, ["--dsn", dsn, "doctor"]).stdout
    assert "fail  recall      column t.line does not exist\n" in said
    assert "DECLARE" not in said


@pytest.mark.parametrize(
    ("change", "said", "advice"),
    [
        ("ALTER SCHEMA memoir RENAME TO \"Old\"", "migrations  pgmemoir is in schema \"Old\"",
         "ALTER SCHEMA \"Old\" RENAME TO memoir;"),
        ("TRUNCATE memoir.migration", "migrations  functions are here, but no rows of memoir.migra",
         "Restore the database, at least schema memoir"),
        ("DROP TABLE memoir.access CASCADE", "objects     missing: table access",
         "Restore the database, at least schema memoir"),
        ("ALTER TABLE memoir.term DROP CONSTRAINT term_pkey; DROP INDEX memoir.trace_scan",
         "objects     missing: a key of term, index trace_scan\n",
         "Did a restore fail in part? Restore into an empty database"),
        ("DROP FUNCTION memoir.recall CASCADE", "objects     missing: function memoir.recall(",
         "Run: memoir --dsn <connection string> migrate up --anew"),
        ("DROP EXTENSION vector CASCADE", "pgvector    the extension vector is not installed",
         "Restore the database, at least schema memoir"),
    ],
)  # fmt: skip
def test_doctor_tells_what_is_left_of_an_installation(
    dsn: str, db: psycopg.Connection, change: str, said: str, advice: str
) -> None:
    db.execute("SET client_min_messages = error")
    db.execute(change)
    done = CliRunner().invoke(cli.main, ["--dsn", dsn, "doctor"])
    assert f"fail  {said}" in done.stdout
    assert done.stdout.splitlines()[-1].startswith(f"{'':18}{advice}")
    assert (done.exit_code, done.exception.__class__) == (1, SystemExit)


def test_doctor_tells_what_was_rewritten_and_migrate_puts_it_back(
    memoir: Call, db: psycopg.Connection
) -> None:
    db.execute(
        "CREATE OR REPLACE FUNCTION memoir._redact_signed(content text) RETURNS text"
        " LANGUAGE sql AS 'SELECT content'; COMMENT ON FUNCTION memoir.redact IS NULL;"
        "COMMENT ON VIEW memoir.outbox IS NULL; ALTER FUNCTION memoir._lock_user RESET ALL"
    )
    told = memoir("doctor").stdout
    changed = "function memoir._lock_user(text), function memoir._redact_signed(text)"
    assert f"warn  objects     rewritten by hand: {changed}; " in told
    assert "; without a comment: function memoir.redact(text), view memoir.outbox\n" in told
    assert memoir("migrate", "up", "--anew").exit_code == 0
    assert "ok    objects" in memoir("doctor").stdout


def test_doctor_tells_of_a_limit_too_short_for_it(dsn: str) -> None:
    limited = make_conninfo(dsn, options="-c statement_timeout=1ms")
    said = CliRunner().invoke(cli.main, ["--dsn", limited, "doctor"]).stdout
    assert "canceling statement due to statement timeout" in said
    assert "Give --dsn options='-c statement_timeout=0'" in said


def test_the_call_that_is_told_next_holds_no_password(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MEMOIR_DSN", raising=False)
    secrets = "dbname=app password=hunter1 sslpassword=hunter2"
    assert App(secrets, None, None).options() == ["--dsn", "dbname=app"]


@pytest.mark.parametrize("dsn", ["", " ", "nonsense"])
def test_an_empty_connection_string_does_not_mean_the_embedded_server(dsn: str) -> None:
    done = CliRunner().invoke(cli.main, ["--dsn", dsn, "list"])
    assert done.exit_code == 2
    assert "--dsn (or MEMOIR_DSN) is not a connection string like" in done.output


def test_an_error_holds_no_password_either() -> None:
    given = "password = hunter1 sslpassword=hunter2 nonsense=hunter2"
    done = CliRunner().invoke(cli.main, ["--dsn", "dbname=x", "search", "tea", "--limit", given])
    assert "nonsense" in done.output
    assert "hunter" not in done.output


def test_doctor_says_what_is_missing(empty_dsn: str) -> None:
    done = CliRunner().invoke(cli.main, ["--dsn", empty_dsn, "doctor"])
    assert "fail  pgvector    the extension vector is not installed" in done.stdout
    assert done.exit_code == 1


@pytest.mark.parametrize("role", ["reader", "agent", "worker", "admin"])
def test_doctor_examines_what_a_role_may_see(dsn: str, role: str) -> None:
    address = make_conninfo(dsn, options=f"-c role=memoir_{role} -c memoir.user_id=ada")
    said = CliRunner().invoke(cli.main, ["--dsn", address, "doctor"]).stdout
    assert [line for line in said.splitlines() if line.startswith("fail")] == []
    for hidden in ("memories", "jobs    "):
        assert (f"skip  {hidden}    hidden from" in said) == (role in ("reader", "agent"))


@pytest.mark.parametrize("command", ["doctor", "list"])
def test_a_role_that_sees_one_user_is_told_how_to_name_one(dsn: str, command: str) -> None:
    address = make_conninfo(dsn, options="-c role=memoir_agent")
    hint = CliRunner().invoke(cli.main, ["--dsn", address, command]).output.splitlines()[-1]
    assert "Pass --user alice, or set MEMOIR_USER. A role that serves all users must be" in hint
