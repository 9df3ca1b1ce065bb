"""``memoir maintain``, the clients' ``maintain``, and what doctor says about own indexes."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest
from click.testing import CliRunner, Result
from psycopg.conninfo import make_conninfo
from tests.rows import fill, found, remember, set_to, until, until_blocked, value, wave

from pgmemoir import Maintained, Memoir, cli, upkeep

Call = Callable[..., Result]

GRANTS = """
CREATE ROLE app LOGIN;
GRANT memoir_admin TO app;
"""


@pytest.fixture
def many(db: psycopg.Connection) -> psycopg.Connection:
    """A database where 26 memories earn an index, with a user of 30, and nothing for a model."""
    set_to(db, ann_gain=0.22, nightly_jobs=0)
    fill(db, 30)
    return db


def indexes(conn: psycopg.Connection) -> list[tuple[str, bool]]:
    """Own indexes, and whether they are complete."""
    rows = conn.execute(
        "SELECT indexrelid::regclass::text, indisvalid FROM pg_index"
        " WHERE indexrelid::regclass::text ~ 'trace_(leading|near|words)_[0-9]' ORDER BY 1"
    )
    return rows.fetchall()


def done(result: Result) -> list[list[str]]:
    """The rows of the table that was printed."""
    return [line.split("  ") for line in result.stdout.splitlines()[2:-2]]


def test_writers_do_not_stop_it_whatever_isolation_the_database_is_set_to(
    memoir: Call, db: psycopg.Connection, dsn: str
) -> None:
    remember(db, "Ada drinks tea", user_id="ada")
    strict = make_conninfo(dsn, options="-c default_transaction_isolation=serializable")
    with psycopg.connect(dsn) as writer:
        writer.execute("UPDATE memoir.profile SET updated_at = now()")
        with ThreadPoolExecutor() as pool:
            pool.submit(until_blocked, db).add_done_callback(lambda _: writer.commit())
            assert memoir("--dsn", strict, "maintain").exit_code == 0


def test_an_index_may_take_longer_than_the_database_allows(
    memoir: Call, many: psycopg.Connection, dsn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    limits = """SELECT name, setting FROM pg_settings
    WHERE name IN ('statement_timeout', 'transaction_timeout', 'lock_timeout')"""
    names = [name for name, _ in many.execute(limits)]
    limited = make_conninfo(dsn, options=" ".join(f"-c {name}=1h" for name in names))
    met: list[tuple[str, str]] = []
    create = psycopg.Cursor.execute

    def execute(cursor: Any, query: Any, *rest: Any, **more: Any) -> Any:
        if "CREATE INDEX" in str(query):
            met.extend(create(cursor, limits).fetchall())
        return create(cursor, query, *rest, **more)

    monkeypatch.setattr(psycopg.Cursor, "execute", execute)
    assert memoir("--dsn", limited, "maintain").exit_code == 0
    assert set(met) == {(name, "0") for name in names}
    assert [valid for _, valid in indexes(many)] == [True] * 3


def test_the_command_prints_what_it_did(memoir: Call, many: psycopg.Connection) -> None:
    many.execute(
        "UPDATE memoir.memory SET created_at = '2020-01-01', lifetime = 'temporary'"
        " WHERE content = 'note7 word7'"
    )
    result = memoir("maintain", "--user", "default")
    assert (
        result.stdout
        == """
user     done           memories  because
-------  -------------  --------  ---------------------------------------------
default  index built          29
default  forgotten             1  a temporary memory not used for 7 days; run 1
default  words counted        29
status: 29 active, 1 forgotten; 0 without a vector; 0.0% with keywords
relevance: 29 steady
""".lstrip()
    )
    assert indexes(many) == [
        (f"memoir.trace_{index}_1", True) for index in ("leading", "near", "words")
    ]
    assert found(many, "note9", query_vec=wave(9))[0] == "note9 word9"


def test_a_step_that_failed_is_told_and_the_command_fails(
    memoir: Call, db: psycopg.Connection
) -> None:
    memoir("maintain")
    memoir("context", "tea")
    db.execute("ALTER TABLE memoir.retrieval DROP CONSTRAINT a_place_or_an_id")
    db.execute("UPDATE memoir.retrieval SET chosen = '{-2147483648}'")
    said = memoir("maintain")
    assert (said.exit_code, done(said)[0][-1]) == (1, "integer out of range; count_access")
    assert "error: some steps failed" in said.stderr


def test_an_index_that_an_event_trigger_refuses_keeps_nothing_else(
    memoir: Call, many: psycopg.Connection
) -> None:
    fill(many, 30, "ada")
    many.execute(
        "CREATE FUNCTION refuse() RETURNS event_trigger LANGUAGE plpgsql AS"
        " $$ BEGIN IF current_query() ~ 'ada' THEN RAISE 'not for ada'; END IF; END $$;"
        " CREATE EVENT TRIGGER refused ON ddl_command_start WHEN TAG IN ('CREATE INDEX')"
        " EXECUTE FUNCTION refuse()"
    )
    said = memoir("maintain", "--json")
    told = [(row["user"], row["action"]) for row in json.loads(said.stdout)]
    assert (said.exit_code, told[:2]) == (1, [("ada", "failed"), ("default", "index built")])
    assert told[-1] == (None, "report")
    assert len(indexes(many)) == 3


@pytest.mark.usefixtures("many")
def test_a_second_run_has_nothing_to_do(memoir: Call) -> None:
    memoir("maintain")
    assert (
        memoir("maintain").stdout
        == """
nothing to do
status: 30 active; 0 without a vector; 0.0% with keywords
relevance: 30 steady
""".lstrip()
    )


def test_a_dry_run_changes_nothing(memoir: Call, many: psycopg.Connection) -> None:
    assert "build index: memoir maintain" in memoir("maintain", "--dry-run").stdout
    assert indexes(many) == []
    assert value(many, "SELECT count(*) FROM memoir.profile") == 0


def test_json_has_the_report(memoir: Call, many: psycopg.Connection) -> None:
    rows = json.loads(memoir("maintain", "--user", "default", "--json").stdout)
    assert [row["action"] for row in rows] == ["index built", "words counted", "report"]
    assert rows[-1]["details"]["relevance"] == {"steady": 30}
    assert value(many, "SELECT ann FROM memoir.profile") == 1


def test_the_command_drops_what_is_not_earned(memoir: Call, many: psycopg.Connection) -> None:
    memoir("maintain")
    set_to(many, ann_gain=9)
    assert "default  index dropped" in memoir("maintain").stdout
    assert indexes(many) == []
    assert value(many, "SELECT ann FROM memoir.profile") == 0


@pytest.mark.parametrize("where", [["--user", "bob", "maintain"], ["maintain", "--user", "bob"]])
def test_one_user_alone(memoir: Call, many: psycopg.Connection, where: list[str]) -> None:
    fill(many, 40, "bob")
    assert "index built          40" in memoir(*where).stdout
    users = many.execute("SELECT user_id FROM memoir.profile WHERE ann > 0")
    assert users.fetchall() == [("bob",)]


def test_a_user_of_any_name_is_indexed(memoir: Call, many: psycopg.Connection) -> None:
    user = 'O\'Neil 中文 $body$ %s \\ "x"'
    fill(many, 40, user)
    assert memoir("maintain", "--user", user).exit_code == 0
    assert found(many, "note9", user_id=user, query_vec=wave(9))[0] == "note9 word9"


def test_an_unusable_index_is_built_again(memoir: Call, many: psycopg.Connection) -> None:
    memoir("maintain")
    many.execute("DROP INDEX memoir.trace_near_1")
    result = memoir("maintain")
    assert [row[0:2] for row in done(result)] == [
        ["default", "unusable index dropped"],
        ["default", "index built"],
    ]
    assert len(indexes(many)) == 3


def test_who_does_not_own_the_tables_is_told_who_does(many: psycopg.Connection, dsn: str) -> None:
    many.execute(GRANTS)
    try:
        address = make_conninfo(dsn, user="app")
        result = CliRunner().invoke(cli.main, ["--dsn", address, "maintain"])
        owner = value(many, "SELECT current_user")
        assert "words counted" in result.stdout
        assert "build index: memoir maintain " in result.stdout
        assert result.stderr.splitlines()[0] == (
            f'error: only the owner of the tables, "{owner}", can build indexes; this is "app"'
        )
        assert result.exit_code == 1
    finally:
        many.execute("DROP OWNED BY app; DROP ROLE app")


def test_a_connection_that_is_lost_ends_it(
    memoir: Call, many: psycopg.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lose(*_: object) -> None:
        raise psycopg.OperationalError("server closed the connection unexpectedly")

    monkeypatch.setattr("pgmemoir.upkeep._clear_up", lose)
    result = memoir("maintain")
    assert result.stderr.startswith("error: the connection to the database was lost")
    assert (result.exit_code, indexes(many)) == (3, [])


def test_of_two_at_once_one_builds(memoir: Call, many: psycopg.Connection) -> None:
    many.execute("SELECT pg_advisory_lock(memoir._index_lock())")
    result = memoir("maintain")
    assert result.stderr.startswith("error: another session builds or drops indexes now")
    assert indexes(many) == []


# Ctrl-C is for programs in the foreground: one started by a shell with & ignores it, and so does
# what that starts, such as these tests.
IN_FRONT = """
import signal
from pgmemoir.cli import main
signal.signal(signal.SIGINT, signal.default_int_handler)
main()
"""


@contextmanager
def building(dsn: str, conn: psycopg.Connection) -> Iterator[subprocess.Popen[str]]:
    """A process of ``memoir maintain`` that waits for a writer, while it builds."""
    with psycopg.connect(dsn) as writer:
        remember(writer, "tea", user_id="bob")
        program = [sys.executable, "-c", IN_FRONT, "--dsn", dsn, "maintain"]
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        process = subprocess.Popen(program, **pipes)  # type: ignore[call-overload]
        try:
            until(lambda: value(conn, "SELECT count(*) FROM pg_stat_progress_create_index"))
            pid = value(conn, "SELECT pid FROM pg_stat_progress_create_index")
            yield process
        finally:
            process.kill()
            process.communicate()
        # Its session, which has the lock, ends later than the process.
        until(lambda: not value(conn, "SELECT count(*) FROM pg_stat_activity WHERE pid = %s", pid))


@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGTERM])
def test_a_stopped_build_says_that_nothing_is_lost(
    memoir: Call, many: psycopg.Connection, dsn: str, stop: signal.Signals
) -> None:
    with building(dsn, many) as process:
        process.send_signal(stop)
        stderr = process.communicate(timeout=60)[1]
    assert (process.returncode, stderr.splitlines()[-2]) == (130, "error: stopped")
    assert found(many, "note9", query_vec=wave(9))[0] == "note9 word9"
    assert memoir("maintain").exit_code == 0
    assert [complete for _, complete in indexes(many)] == [True] * 3


def test_after_a_killed_build_the_next_run_clears_up(
    memoir: Call, many: psycopg.Connection, dsn: str
) -> None:
    with building(dsn, many) as process:
        process.kill()
    assert [complete for _, complete in indexes(many)] == [False]
    assert found(many, "note9", query_vec=wave(9))[0] == "note9 word9"
    assert "left-over index dropped" in memoir("maintain").stdout
    assert [complete for _, complete in indexes(many)] == [True] * 3


@pytest.mark.usefixtures("many")
def test_without_shared_memory_it_builds_without_workers(
    memoir: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried: list[str] = []
    create = psycopg.Cursor.execute

    def execute(cursor: Any, query: Any, *rest: Any, **more: Any) -> Any:
        text = str(query)
        tried.append(text)
        if "CREATE INDEX" in text and sum("CREATE INDEX" in each for each in tried) == 1:
            raise psycopg.errors.DiskFull("could not resize shared memory segment")
        return create(cursor, query, *rest, **more)

    monkeypatch.setattr(psycopg.Cursor, "execute", execute)
    assert "index built" in memoir("maintain").stdout
    assert any("max_parallel_maintenance_workers = 0" in text for text in tried)


@pytest.mark.parametrize(
    ("looks", "share", "waits"),
    [
        (("initializing", 0, 0, 0), 0, ""),
        (("waiting for writers before build", 0, 0, 0), 0, "waiting for writers before build"),
        (("building index: loading tuples", 50, 1, 9), 0.425, ""),
        (("building index: scanning table", 0, 5, 10), 0.425, ""),
        (("waiting for old snapshots", 0, 0, 0), 0.85, "waiting for old snapshots"),
        (("index validation: scanning table", 0, 10, 10), 1, ""),
    ],
)
def test_progress_is_the_share_that_is_built(
    looks: tuple[str, int, int, int], share: float, waits: str
) -> None:
    assert upkeep._share(100, *looks) == (pytest.approx(share), waits)


def test_an_import_of_many_messages_indexes_the_user(
    memoir: Call, many: psycopg.Connection, tmp_path: Path
) -> None:
    chat = tmp_path / "chat.json"
    chat.write_text(json.dumps([{"speaker": "Ada", "text": f"hello {n}"} for n in range(40)]))
    result = memoir("--user", "ada", "import", str(chat))
    assert result.stdout.splitlines()[1:] == ["index built for 40 memories"]
    assert result.stderr == ""
    users = many.execute("SELECT user_id FROM memoir.profile WHERE ann > 0")
    assert users.fetchall() == [("ada",)]


def test_storing_many_at_once_indexes_the_user(
    open_client: Callable[..., Any], many: psycopg.Connection
) -> None:
    memory = open_client(user="ada", embedder=None)
    memory.remember_many([{"content": f"hello {n}"} for n in range(40)])
    assert [row.action for row in memory.maintain()] == ["report"]
    assert value(many, "SELECT ann FROM memoir.profile WHERE user_id = 'ada'") == 1
    everybody = memory.maintain(everybody=True, build_up_to=0)
    assert everybody[0] == Maintained("default", "build index: memoir maintain", 30)
    assert [each.left for each in everybody] == ["build", None, None]


def test_in_the_callers_transaction_no_index_is_built(many: psycopg.Connection, dsn: str) -> None:
    with psycopg.connect(dsn) as conn:
        memory = Memoir(conn, user="ada", embedder=None)
        memory.remember_many([{"content": f"hello {n}"} for n in range(40)])
    assert value(many, "SELECT ann FROM memoir.profile WHERE user_id = 'ada'") == 0


def index_line(memoir: Call) -> list[str]:
    """What doctor says about indexes, with its hint."""
    lines = memoir("doctor").stdout.splitlines()
    at = next(i for i, line in enumerate(lines) if " indexes " in line)
    return [lines[at][:4].strip(), lines[at][18:], lines[at + 1].strip()]


def test_doctor_tells_who_needs_an_index(memoir: Call, many: psycopg.Connection) -> None:
    fill(many, 40, "bob")
    said = ["warn", 'none yet for "bob" (40), "default" (30) memories', "Run: memoir maintain"]
    assert index_line(memoir) == said
    memoir("maintain")
    assert index_line(memoir)[:2] == ["ok", "2 users have their own"]
    many.execute("SELECT memoir.purge_user('bob')")
    indexes = "SELECT value FROM memoir.health() WHERE name = 'indexes'"
    assert value(many, indexes) == "one user has its own"


def test_doctor_tells_of_an_index_that_cannot_be_used(
    memoir: Call, many: psycopg.Connection
) -> None:
    memoir("maintain")
    many.execute("DROP INDEX memoir.trace_words_1")
    said = 'missing or unusable for "default" (30) memories: recall reads the table'
    assert index_line(memoir) == ["warn", said, "Run: memoir maintain"]


def test_doctor_tells_of_a_left_over_index(memoir: Call, many: psycopg.Connection) -> None:
    many.execute("CREATE INDEX trace_near_9 ON memoir.trace (memory_id)")
    set_to(many, ann_gain=9)
    assert index_line(memoir)[1] == "1 of an interrupted or running build"
    memoir("maintain")
    assert index_line(memoir)[:2] == ["ok", "no user has enough memories for any"]


def test_doctor_tells_when_nobody_calls_maintain(memoir: Call, many: psycopg.Connection) -> None:
    found(many, "note9")
    assert "upkeep      nothing is overdue" in memoir("doctor").stdout
    many.execute("UPDATE memoir.retrieval SET created_at = now() - interval '5 days'")
    said = memoir("doctor").stdout
    assert "nobody has called maintain for 5 days" in said
    assert "Run it once a day: memoir maintain" in said
    memoir("maintain")
    assert "nothing is overdue" in memoir("doctor").stdout


@pytest.mark.usefixtures("many")
def test_an_empty_user_is_not_everybody(memoir: Call) -> None:
    result = memoir("maintain", "--user", "")
    assert result.exit_code == 1
    assert "user_id must have 1 to 200 characters" in result.output


def scan_size(conn: psycopg.Connection) -> int:
    return int(value(conn, "SELECT pg_relation_size('memoir.trace_scan')"))


def half_empty(conn: psycopg.Connection) -> None:
    """An index of all recalls that is worth building anew, as small ones are."""
    fill(conn, 300)
    conn.execute("DELETE FROM memoir.memory WHERE memory_id % 3 > 0")
    conn.execute("VACUUM ANALYZE memoir.trace")
    conn.execute(
        "CREATE OR REPLACE FUNCTION memoir._is_bloated(bytes bigint, needed bigint) RETURNS boolean"
        " LANGUAGE sql IMMUTABLE RETURN bytes > 1.5 * needed"
    )


def test_a_half_empty_index_is_packed_once(memoir: Call, db: psycopg.Connection) -> None:
    half_empty(db)
    before, wide = scan_size(db), found(db, "note9")
    assert "index packed" in memoir("maintain", "--dry-run").stdout
    assert scan_size(db) == before
    assert "half empty: " in memoir("maintain").stdout
    assert scan_size(db) < before * 0.7
    assert found(db, "note9") == wide
    assert "index packed" not in memoir("maintain").stdout


def test_a_copy_that_a_stopped_rebuild_left_is_dropped(
    memoir: Call, db: psycopg.Connection
) -> None:
    db.execute("CREATE INDEX trace_scan_ccnew ON memoir.trace (user_id)")
    assert value(db, "SELECT memoir._left_over_copies()") == []
    db.execute("UPDATE pg_index SET indisvalid = false"
               " WHERE indexrelid = 'memoir.trace_scan_ccnew'::regclass")  # fmt: skip
    assert "invalid: trace_scan_ccnew" in memoir("doctor").stdout
    assert "left-over index dropped" in memoir("maintain").stdout
    assert value(db, "SELECT to_regclass('memoir.trace_scan_ccnew')") is None


def test_what_an_index_needs_is_known_before_it_is_built(db: psycopg.Connection) -> None:
    fill(db, 500)
    db.execute("REINDEX INDEX memoir.trace_scan")
    db.execute("VACUUM ANALYZE memoir.trace")
    size, needed = db.execute("SELECT bytes, needed FROM memoir._scan_bloat()").fetchone() or (0, 0)
    assert (size, needed) == (scan_size(db), pytest.approx(size, rel=0.25))
