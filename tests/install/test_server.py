"""The embedded server: kept between calls, started once, found again after a crash."""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from click.testing import CliRunner
from tests.conftest import folder_of_a_server
from tests.rows import until

from pgmemoir import cli
from pgmemoir import server as embedded

# Another process, which knows the servers that this one knows (--pg-bin).
START = (
    "import sys; from pathlib import Path; from pgmemoir import server\n"
    f"server._INSTALLS.update({embedded._INSTALLS!r})\n"
    "print(server.start(Path(sys.argv[1]), int(sys.argv[2])))"
)


@pytest.fixture(scope="module")
def version(pytestconfig) -> int:
    return pytestconfig.getoption("pg")


@pytest.fixture(scope="module")
def home() -> Iterator[Path]:
    """A folder whose servers are stopped at the end. Its path has a space and a quote."""
    with folder_of_a_server("test's ") as top:
        yield top / "data"


def _pid(home: Path, version: int) -> int:
    return int((home / f"pg{version}/postmaster.pid").read_text().splitlines()[0])


def _name(dsn: str) -> str:
    with psycopg.connect(dsn) as conn:
        return conn.info.dbname


@pytest.mark.once
def test_two_processes_at_once_get_the_same_server(home, version):
    command = [sys.executable, "-c", START, str(home), str(version)]
    racers = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    said = {racer.communicate()[0].strip() for racer in racers}
    assert len(said) == 1
    assert _name(said.pop()) == "memoir"


def test_the_account_of_a_server_may_be_made_by_another_process_meanwhile(monkeypatch):
    made = []

    def account(name):
        if not made:
            raise KeyError(name)
        return made[0]

    def fail(command, **_):
        made.append(f"{command[-1]} of another")
        raise subprocess.CalledProcessError(9, command)

    monkeypatch.setattr(embedded.pwd, "getpwnam", account)
    monkeypatch.setattr(embedded.subprocess, "run", fail)
    assert embedded._account() == "pgserver of another"


@pytest.mark.once
def test_it_survives_the_process_that_started_it(home, version):
    embedded.stop(home)
    subprocess.run([sys.executable, "-c", START, str(home), str(version)], check=True)
    assert embedded.running(home)


def test_a_running_server_is_used_again(home, version):
    embedded.start(home, version)
    before = _pid(home, version)
    embedded.start(home, version)
    assert _pid(home, version) == before


def test_a_server_too_slow_to_answer_has_its_database_all_the_same(home, version, monkeypatch):
    embedded.start(home, version)
    monkeypatch.setattr(embedded, "_accepts", lambda _, database: database != embedded.DATABASE)
    assert _name(embedded.start(home, version)) == "memoir"


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("PGHOSTADDR", "127.0.0.1"),
        ("PGTARGETSESSIONATTRS", "read-only"),
        ("PGCHANNELBINDING", "require"),
        ("PGGSSENCMODE", "require"),
    ],
)
def test_what_the_environment_says_of_another_server_is_not_for_it(
    home, version, monkeypatch, variable, value
):
    monkeypatch.setenv(variable, value)
    assert _name(embedded.start(home, version)) == "memoir"


def test_stop_stops_it_and_the_data_stays(home, version):
    with psycopg.connect(embedded.start(home, version)) as conn:
        conn.execute("CREATE TABLE IF NOT EXISTS kept AS SELECT 7 AS seven")
    embedded.stop(home)
    assert not embedded.running(home)
    with psycopg.connect(embedded.start(home, version)) as conn:
        assert conn.execute("SELECT seven FROM kept").fetchone() == (7,)


def test_stop_without_a_server_does_nothing(tmp_path):
    embedded.stop(tmp_path / "nowhere")
    assert not embedded.running(tmp_path / "nowhere")


def test_it_starts_again_after_kill_9(home, version):
    embedded.start(home, version)
    os.kill(_pid(home, version), signal.SIGKILL)
    assert _name(embedded.start(home, version)) == "memoir"


def test_a_server_whose_socket_somebody_deleted_can_be_stopped(home, version):
    embedded.start(home, version)
    (home / f"pg{version}/.s.PGSQL.5432").unlink()
    said = CliRunner().invoke(cli.main, ["--data", str(home), "server", "stop"])
    assert said.stdout == f"stopped: {home}\n"
    assert _name(embedded.start(home, version)) == "memoir"


def test_a_stale_pid_that_belongs_to_another_process_by_now_is_no_obstacle(home, version):
    embedded.start(home, version)
    stale = (home / f"pg{version}/postmaster.pid").read_text().splitlines()
    embedded.stop(home)
    stale[0] = str(os.getpid())
    (home / f"pg{version}/postmaster.pid").write_text("\n".join(stale))
    assert _name(embedded.start(home, version)) == "memoir"


def test_letters_beyond_ascii_have_cases(home, version):
    with psycopg.connect(embedded.start(home, version)) as conn:
        assert conn.execute("SELECT lower('ÉÜ')").fetchone() == ("éü",)


def test_the_data_is_closed_to_other_users_and_to_git(home, version):
    embedded.start(home, version)
    assert (home / f"pg{version}").stat().st_mode & 0o077 == 0
    rules = [line.split() for line in (home / f"pg{version}/pg_hba.conf").read_text().splitlines()]
    let_in = {(rule[0], rule[-1]) for rule in rules if rule and not rule[0].startswith("#")}
    assert let_in == {("local", "trust"), ("host", "reject")}
    assert (home / ".gitignore").read_text() == "*\n"


def test_a_gitignore_that_says_something_else_stays(home, version):
    embedded.start(home, version)
    (home / ".gitignore").write_text("build/\n")
    embedded.stop(home)
    embedded.start(home, version)
    assert (home / ".gitignore").read_text() == "build/\n"
    (home / ".gitignore").write_text("*\n")


@pytest.mark.once
def test_a_path_too_long_for_a_socket_works(version):
    with folder_of_a_server() as top:
        dsn = embedded.start(top / ("long" * 25), version)
        assert "long" not in dsn
        assert _name(dsn) == "memoir"


def test_a_copy_of_a_folder_is_a_server_of_its_own_whatever_its_name(home, version):
    dsn = embedded.start(home, version)
    with folder_of_a_server("$HOME `id` 数据") as top:
        subprocess.run(["cp", "-a", home, top / "copy"], check=True)
        assert not embedded.running(top / "copy")
        copied = embedded.start(top / "copy", version)
        assert copied != dsn
        with psycopg.connect(copied) as conn:
            assert conn.execute("SHOW data_directory").fetchone() == (
                str(top / "copy" / f"pg{version}"),
            )


def test_a_folder_that_cannot_be_found_is_told(tmp_path, monkeypatch):
    with pytest.raises(embedded.ServerError, match="there is no folder ~nobody-here"):
        embedded.start(Path("~nobody-here/data"))
    monkeypatch.chdir(tmp_path)
    tmp_path.rmdir()
    with pytest.raises(embedded.ServerError, match=r"there is no folder \.memoir"):
        embedded.default_data_dir()


def test_a_broken_cluster_is_reported_in_the_servers_words(home, version):
    embedded.start(home, version)
    embedded.stop(home)
    conf = home / f"pg{version}/postgresql.conf"
    good = conf.read_text()
    conf.write_text(good + "\nno_such_setting = 1\n")
    with pytest.raises(embedded.ServerError, match="no_such_setting"):
        embedded.start(home, version)
    conf.write_text(good)


def test_a_cluster_that_cannot_be_made_gets_no_other_locale(monkeypatch, tmp_path):
    tried = []

    def fail(command, failure, _, **__):
        tried.append(command[-1])
        raise embedded.ServerError(failure, detail='initialized with locale "C.UTF-8". Disk full')

    monkeypatch.setattr(embedded, "_run", fail)
    with pytest.raises(embedded.ServerError, match="Disk full"):
        embedded.start(tmp_path)
    assert tried == ["--locale=C.UTF-8"]


@pytest.mark.once
def test_after_kill_9_nobody_begins_anew_while_initdb_still_works(tmp_path):
    home, ends = tmp_path / "data", tmp_path / "ends"
    os.mkfifo(ends)
    for tool, script in (
        ("initdb", f"#!/bin/sh\ntouch began\nread line < '{ends}'\n"),
        ("postgres", ""),
    ):
        (tmp_path / tool).write_text(script)
        (tmp_path / tool).chmod(0o755)
    replaced = f"server._bin = lambda version: Path({str(tmp_path)!r})\nprint"
    start = [sys.executable, "-c", START.replace("print", replaced), str(home), "18"]
    with subprocess.Popen(start) as caller:
        until((home / "pg18.new/began").exists)
        caller.kill()
    with (home / "lock").open("a") as lock:
        with pytest.raises(BlockingIOError):
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        ends.write_text("\n")
        fcntl.flock(lock, fcntl.LOCK_EX)


def test_what_a_killed_creation_left_goes_with_the_next(tmp_path, monkeypatch):
    (tmp_path / "pg18.new").mkdir()
    (tmp_path / "pg18.new/began").touch()
    monkeypatch.setattr(embedded, "_run", lambda *_, **__: None)
    embedded._create(tmp_path / "pg18", tmp_path, 0)
    assert list((tmp_path / "pg18").iterdir()) == []


def test_an_unknown_version_is_refused(tmp_path):
    with pytest.raises(embedded.ServerError, match="no embedded PostgreSQL 15"):
        embedded.start(tmp_path, 15)


def test_the_data_directory_is_in_the_current_one_unless_the_environment_says(monkeypatch):
    monkeypatch.delenv("MEMOIR_DATA", raising=False)
    assert embedded.default_data_dir() == Path.cwd() / ".memoir"
    monkeypatch.setenv("MEMOIR_DATA", "/elsewhere")
    assert embedded.default_data_dir() == Path("/elsewhere")
