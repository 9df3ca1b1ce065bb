"""The command line: what it prints, its exit codes, and errors for people."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import psycopg
import pytest
from click.testing import CliRunner, Result
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from tests.client.conftest import in_a_process, needs_wordllama
from tests.conftest import folder_of_a_server
from tests.rows import set_to

from pgmemoir import Memoir, cli, embedders
from pgmemoir.cli.app import _MODULES, App, explain_error

pytestmark = pytest.mark.once

Call = Callable[..., Result]

CHAT = [
    {"speaker": "Caroline", "text": "I adopted a puppy.", "ts": "2023-05-08T13:56:00Z"},
    {"speaker": "Melanie", "text": "Lovely!", "ts": "2023-05-08T13:57:00Z"},
    {"speaker": "Caroline", "text": "Thanks!", "ts": "2023-05-08T13:58:00Z"},
    {"speaker": "Caroline", "text": "Thanks!", "ts": "2023-05-08T13:59:00Z"},
]


@pytest.fixture
def chat(tmp_path: Path) -> Path:
    path = tmp_path / "chat.json"
    path.write_text(json.dumps(CHAT))
    return path


def test_what_is_remembered_is_in_the_context(memoir: Call) -> None:
    done = memoir("remember", "Tests run with make test.", "--kind", "fact")
    assert (done.exit_code, done.stdout[:10]) == (0, "ADD memory")
    found = memoir("context", "how do tests run?")
    assert "Tests run with make test." in found.stdout


def test_the_encoding_of_the_environment_does_not_count(
    memoir: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    memoir("remember", "认证失败")
    monkeypatch.setenv("PGCLIENTENCODING", "SQL_ASCII")
    assert "认证失败" in memoir("export", "-").stdout
    assert memoir("migrate", "status").exit_code == 0


def test_remember_prints_json(memoir: Call) -> None:
    done = memoir("remember", "中文也可以", "--json")
    assert json.loads(done.stdout)["action"] == "ADD"


def test_remember_takes_every_field(memoir: Call, db: psycopg.Connection) -> None:
    options = "--kind preference --subject editor --importance 0.9 --at 2024-01-02 --session s"
    memoir("--user", "ada", "remember", "I use Vim.", *options.split(), "--data", '{"a": 1}')
    row = db.execute(
        "SELECT user_id, kind, subject, importance, data, created_at::date::text, session_id"
        " FROM memoir.memory"
    ).fetchone()
    assert row == ("ada", "preference", "editor", 0.9, {"a": 1}, "2024-01-02", "s")


def test_remember_takes_tags(memoir: Call, db: psycopg.Connection) -> None:
    memoir("remember", "Blue green it is.", "--keyword", "Deploy", "--keyword", "release")
    tags = db.execute("SELECT keyword FROM memoir.keyword WHERE origin = 'user_tag' ORDER BY 1")
    assert tags.fetchall() == [("deploy",), ("release",)]


def test_remember_takes_what_it_was_made_from(memoir: Call, db: psycopg.Connection) -> None:
    first = json.loads(memoir("remember", "tea, please", "--json").stdout)["memory_id"]
    made = memoir("remember", "Ada drinks tea.", "--made-from", first, "--json").stdout
    pairs = db.execute("SELECT from_id, to_id FROM memoir.relation WHERE type = 'derived_from'")
    assert pairs.fetchall() == [(int(json.loads(made)["memory_id"]), int(first))]


@pytest.mark.parametrize("group", ["server", "eval"])
def test_a_group_without_a_command_shows_its_help(memoir: Call, group: str) -> None:
    done = memoir(group)
    assert (done.exit_code, done.stderr[:13]) == (2, "Usage: memoir")


def test_a_dash_reads_stdin(memoir: Call) -> None:
    assert memoir("remember", "-", stdin="from a pipe\n").exit_code == 0
    assert "from a pipe" in memoir("context", "-", stdin="pipe\n").stdout


def test_a_byte_order_mark_on_stdin_is_no_text(memoir: Call) -> None:
    memoir("remember", "-", stdin="\ufefffrom Windows\r\n")
    assert memoir("event", "alert", "-", stdin='\ufeff{"disk": "full"}').exit_code == 0
    assert "\n- from Windows\n" in memoir("context", "Windows").stdout


def test_context_prints_its_cost_on_stderr(memoir: Call) -> None:
    memoir("remember", "a fact about pipes")
    done = memoir("context", "pipes", "--budget", "300", "--stats")
    assert "of 300 tokens" in done.stderr
    assert "tokens" not in done.stdout


def test_context_prints_json(memoir: Call) -> None:
    memoir("remember", "a fact about pipes")
    found = json.loads(memoir("context", "pipes", "--json").stdout)
    assert [type(each) for each in found["memory_ids"]] == [str]
    assert "pipes" in found["block"]


def test_explain_shows_every_part_of_the_score(memoir: Call) -> None:
    memoir("remember", "认证失败时先看 JWKS 缓存")
    done = memoir("explain", "认证失败")
    head, _, row = done.stdout.splitlines()
    assert head.split()[:4] == ["#", "kind", "id", "content"]
    before, because_of = row.split("in block")
    assert sorted(because_of.split(",")[0].split() + because_of.split(", ")[1:]) == [
        "失败",
        "认证",
        "证失",
    ]
    assert head.index("reason") - len(before) == sum("一" <= c <= "鿿" for c in before)


def test_explain_prints_json(memoir: Call) -> None:
    memoir("remember", "a fact about pipes")
    (row,) = json.loads(memoir("explain", "pipes", "--json").stdout)
    assert {"relevance", "decay", "weight", "score", "reason"} <= row.keys()


def test_explain_without_memories_says_so(memoir: Call) -> None:
    assert memoir("explain", "anything").stdout == "no memories yet\n"


@pytest.mark.parametrize(
    ("mode", "parts"),
    [
        ("execute", []),
        ("search", ["keyw", "recent", "used", "prior"]),
        ("balanced", ["recent", "import"]),
        ("implicit", ["recent", "import"]),
        ("assistant", ["graph"]),
        ("conversation", ["boost", "beside", "sess"]),
    ],
)
def test_explain_shows_every_part_of_the_score_of_a_mode(
    memoir: Call, mode: str, parts: list[str]
) -> None:
    memoir("remember", "tea", "--importance", "0.75")
    head, _, line = memoir("explain", "tea", "--mode", mode).stdout.splitlines()
    heads = ["#", "kind", "id", "content", "relev", "cosine", "cover"]
    assert head.split() == [
        *heads,
        *parts,
        *["decay", "weight", "score", "tokens", "reason", "because", "of"],
    ]
    assert ("0.750" in line) == ("import" in parts)


def test_an_event_is_recorded(memoir: Call) -> None:
    done = memoir("event", "task_failed", '{"task": "deploy 4711"}')
    assert done.stdout.startswith("event ")
    assert "deploy 4711" in memoir("context", "deploy", "--mode", "debug").stdout


def test_an_import_stores_every_message(memoir: Call, chat: Path, db: psycopg.Connection) -> None:
    done = memoir("import", str(chat))
    assert done.stdout.startswith("4 messages stored, 0 known already")
    rows = db.execute(
        "SELECT content, kind, session_id, position, speaker FROM memoir.memory ORDER BY position"
    ).fetchall()
    assert rows[0] == ("Caroline: I adopted a puppy.", "turn", "chat", 0, "Caroline")
    assert [row[0] for row in rows[2:]] == ["Caroline: Thanks!", "Caroline: Thanks!"]


def test_a_file_whose_name_is_not_utf8_names_its_session_all_the_same(
    memoir: Call, chat: Path, db: psycopg.Connection
) -> None:
    old = chat.rename(os.fsdecode(bytes(chat.parent) + b"/caf\xe9.json"))
    assert memoir("import", str(old)).exit_code == 0
    sessions = db.execute("SELECT DISTINCT session_id FROM memoir.memory").fetchall()
    assert sessions == [(r"caf\xe9",)]


def test_the_same_import_again_adds_nothing(memoir: Call, chat: Path) -> None:
    memoir("import", str(chat))
    assert memoir("import", str(chat)).stdout.startswith("0 messages stored, 4 known already")


def test_a_longer_file_adds_what_is_new(memoir: Call, chat: Path) -> None:
    memoir("import", str(chat))
    chat.write_text(json.dumps([*CHAT, {"speaker": "Melanie", "text": "Bye!"}]))
    assert memoir("import", str(chat)).stdout.startswith("1 message stored, 4 known already")


@pytest.mark.parametrize("timed", [True, False])
@pytest.mark.parametrize(
    ("changed", "places"),
    [
        (["new", "a", "b", "c", "c", "e"], [0, 0, 1, 2, 3, 4]),
        (["new", "newer", "b", "c", "c", "e"], [0, 0, 0, 1, 2, 3, 4]),
        (["a", "b", "new", "newer", "c", "c", "e"], [0, 1, 1, 1, 2, 3, 4]),
        (["c", "c", "e", "new", "newer"], [0, 1, 2, 3, 4, 5, 6]),
        (["a", "b", "c", "c", "my password is hunter2x", "new"], [0, 1, 2, 3, 4, 4, 5]),
        (["b", "new"], [0, 1, 2, 2, 3, 4]),
    ],
)
def test_a_changed_file_adds_only_what_is_new(
    memoir: Call, chat: Path, db: psycopg.Connection, changed: list[str], timed: bool, places: Any
) -> None:
    for texts in (["a", "b", "c", "c", "e"], changed, changed):
        messages = [{"text": text, **({"ts": 10 * len(text)} if timed else {})} for text in texts]
        chat.write_text(json.dumps(messages))
        done = memoir("import", str(chat))
    assert done.stdout.startswith(f"0 messages stored, {len(changed)} known already"), done.stderr
    rows = db.execute("SELECT array_agg(position ORDER BY position) FROM memoir.memory")
    assert rows.fetchone() == (places,)


def test_a_message_the_database_refuses_is_told_with_its_line(
    memoir: Call, chat: Path, db: psycopg.Connection
) -> None:
    set_to(db, text_limit=100000)
    chat.write_text("\n".join(json.dumps({"text": text}) for text in ("a", "", "x" * 100_001)))
    done = memoir("import", str(chat))
    assert done.stderr.startswith("error: line 3: the memory has 100001 bytes, the limit is 100000")


@pytest.mark.parametrize("told", ["[]", '{"text": 1}', '{"memory": 1, "id": 2}', "content,kind\na"])
def test_an_import_names_the_whole_file(memoir: Call, tmp_path: Path, told: str) -> None:
    path = tmp_path / "chat.of.may.json"
    path.write_text(told)
    assert memoir("import", str(path)).stderr.startswith("error: chat.of.may.json")


def test_an_import_says_that_memory_is_off(memoir: Call, chat: Path) -> None:
    memoir("settings", "memory=off")
    assert memoir("import", str(chat)).stdout == (
        "0 messages stored, 0 known already, 0 without text, 1 session; "
        "4 not stored: memory is off\n"
    )


def test_a_malformed_file_stores_nothing(memoir: Call, chat: Path, db: psycopg.Connection) -> None:
    chat.write_text('{"text": "good"}\n{"text": "bad", "ts": "never"}\n')
    done = memoir("import", str(chat))
    assert done.exit_code == 1
    assert done.stderr.startswith("error: chat.json, line 2: ts is")
    assert db.execute("SELECT count(*) FROM memoir.memory").fetchone() == (0,)


def test_an_error_is_a_sentence_and_a_hint(memoir: Call) -> None:
    done = memoir("remember", "x", "--kind", "nonsense")
    assert done.exit_code == 1
    first, *_, last = done.stderr.splitlines()
    assert first == 'error: unknown kind "nonsense"'
    assert last.startswith("hint: ")
    assert done.stdout == ""


@pytest.mark.parametrize(
    "arguments",
    [
        ["nonsense"],
        ["remember"],
        ["context", "x", "--budget", "many"],
        ["context", "x", "--as-of", "yesterday"],
        ["event", "alert", "{"],
        ["event", "alert", "[]"],
        ["remember", "x", "--data", "1"],
        ["import", "/does/not/exist"],
    ],
)
def test_wrong_usage_is_exit_code_2(arguments: list[str]) -> None:
    done = CliRunner().invoke(cli.main, ["--dsn", "host=nowhere.invalid", *arguments])
    assert done.exit_code == 2
    assert done.stderr.startswith("error: ")
    assert "hint: memoir" in done.stderr


@pytest.mark.parametrize(
    ("command", "value"),
    [
        (["worker", "--once", "--lease"], "nan"),
        (["search", "x", "--minimum"], "nan"),
        (["backfill", "--pause"], "nan"),
        (["backfill", "--price"], "1e400"),
    ],
)
def test_a_number_that_is_none_is_in_no_range(command: list[str], value: str) -> None:
    done = CliRunner().invoke(cli.main, ["--dsn", "host=nowhere.invalid", *command, value])
    assert done.exit_code == 2
    option = command[-1]
    assert f"Invalid value for '{option}': {value} is not a finite number.\n" in done.stderr


@pytest.mark.parametrize(
    "command",
    [
        ["export"],
        ["import", "tea.jsonl"],
        ["eval", "import", "gold.jsonl"],
        ["eval", "people"],
        ["sync", "."],
        ["maintain"],
        ["backfill"],
    ],
)
def test_an_empty_user_is_nobody(
    memoir: Call, command: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("tea.jsonl").write_text('{"content": "tea"}\n')
    Path("gold.jsonl").write_text('{"query": "tea?", "relevant": [1]}\n')
    done = memoir(*command, "--user", "")
    assert done.exit_code == 1
    assert "user_id must have 1 to 200 characters, not 0" in done.stderr


@pytest.mark.parametrize("command", [["backfill", "--user", "\udcff"], ["show", "2" * 40]])
def test_what_no_database_takes_is_a_sentence_and_a_hint(memoir: Call, command: list[str]) -> None:
    done = memoir(*command)
    assert (done.exit_code, done.stdout) == (1, "")
    assert done.stderr.startswith("error: ")
    assert "MEMOIR_DEBUG" not in done.stderr
    assert "\nhint: " in done.stderr


@pytest.mark.parametrize("option", ["--dsn", "--data", "--user"])
def test_an_option_behind_the_command_is_told_where_it_stands(option: str) -> None:
    done = CliRunner().invoke(cli.main, ["history", option, "x"])
    assert done.exit_code == 2
    assert f"hint: It goes before the command: memoir {option} ...\n" in done.stderr


def test_a_folder_given_as_the_data_of_a_memory_is_told_where_it_stands() -> None:
    done = CliRunner().invoke(cli.main, ["list", "--data", ".memoir"])
    assert done.exit_code == 2
    assert "the folder of the database goes before the command" in done.stderr


def test_an_error_does_not_drive_the_terminal(memoir: Call) -> None:
    assert (
        'error: unknown kind "[31mred"' in memoir("remember", "x", "--kind", "\x1b[31mred").stderr
    )


def test_an_unreachable_database_is_exit_code_3() -> None:
    dsn = "postgresql://ada:s3cret-word@127.0.0.1:9/x"
    done = CliRunner().invoke(cli.main, ["--dsn", dsn, "context", "x"])
    assert done.exit_code == 3
    assert "hint: Check --dsn" in done.stderr
    assert "s3cret-word" not in done.output


def test_a_server_that_only_reads_is_told_as_one(dsn: str) -> None:
    reads = make_conninfo(dsn, options="-c default_transaction_read_only=on")
    done = CliRunner().invoke(cli.main, ["--dsn", reads, "remember", "tea"])
    assert (done.exit_code, "hint: A standby, or a role" in done.stderr) == (1, True)


def test_a_database_without_memoir_is_exit_code_3(empty_dsn: str) -> None:
    done = CliRunner().invoke(cli.main, ["--dsn", empty_dsn, "context", "x"])
    assert done.exit_code == 3
    assert "hint: " in done.stderr


@pytest.mark.parametrize(
    "dsn",
    [
        "postgresql//ada:s3cret-word@host/x",
        "postgresql://ada:s3cret-word/7@127.0.0.1:9/x",
        "host=127.0.0.1 port=9 password=s3cret-word",
        "host=127.0.0.1 port=9 password='s3cret-word' nonsense=1",
        "postgresql://127.0.0.1:9/x?user=ada&password=s3cret-word",
    ],
)
@pytest.mark.parametrize("debug", ["", "1"])
def test_a_password_is_never_printed(dsn: str, debug: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMOIR_DSN", dsn)
    monkeypatch.setenv("MEMOIR_DEBUG", debug)
    done = CliRunner().invoke(cli.main, ["context", "x"])
    assert done.exit_code in (2, 3)
    assert "s3cret" not in done.output


def test_debugging_shows_the_traceback(memoir: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "Traceback" not in memoir("remember", "").stderr
    monkeypatch.setenv("MEMOIR_DEBUG", "1")
    assert "Traceback" in memoir("remember", "").stderr


def test_a_missing_embedder_is_a_warning_for_people(
    memoir: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("MEMOIR_EMBEDDER")
    monkeypatch.setattr(embedders, "find_spec", lambda _: None)
    done = memoir("context", "x")
    assert done.stderr.startswith("warning: no embedder, memory goes by words alone")
    assert done.exit_code == 0


def test_migrate_installs_and_is_then_up_to_date(migrate: Call, empty_dsn: str) -> None:
    would = "would have applied 2 migrations and 2 files of sql/ to database empty in "
    *files, told = migrate("--dry-run", "--verbose").stdout.splitlines()
    assert files[0] == "would have applied 0001_note.sql"
    assert (len(files), told.partition(" in ")[:2]) == (4, would.partition(" in ")[:2])
    assert "pending" in migrate("status").stdout
    done, advice = migrate().stdout.splitlines()
    assert done.startswith(would.removeprefix("would have "))
    given = conninfo_to_dict(shlex.split(advice)[3])
    assert (given, shlex.split(advice)[4]) == (conninfo_to_dict(empty_dsn), "doctor")
    assert migrate("up").stdout == "up to date\n"
    assert "pending" not in migrate("status").stdout
    assert migrate("status").stdout.endswith("installed by: memoir migrate\n")
    assert "0001_note" in migrate("down", "0", "--yes").stdout
    assert migrate("down", "0", "--yes").stdout == "nothing to undo\n"


@needs_wordllama
def test_the_program_works_in_a_process_of_its_own(dsn: str) -> None:
    assert in_a_process(dsn, "remember", "认证失败时先看 JWKS 缓存").returncode == 0
    found = in_a_process(dsn, "context", "why does authentication fail?")
    assert "认证失败时先看 JWKS 缓存" in found.stdout
    assert found.stderr == ""


def test_a_process_that_fails_prints_nothing_on_stdout(dsn: str) -> None:
    refused = in_a_process(dsn, "context", "x", MEMOIR_EMBEDDER="magic")
    assert (refused.returncode, refused.stdout) == (1, "")
    assert refused.stderr.startswith("error: unknown embedder")


@pytest.mark.parametrize(
    ("arguments", "pipe", "code"),
    [
        ("list", "| true", 141),
        ("export -", ">&-", 0),
    ],
)
def test_a_closed_stream_is_no_error(dsn: str, arguments: str, pipe: str, code: int) -> None:
    program = f"{shlex.quote(sys.executable)} -c 'from pgmemoir.cli import main; main()'"
    done = subprocess.run(
        ["bash", "-c", f"{program} {arguments} {pipe}; exit ${{PIPESTATUS[0]}}"],
        env={**os.environ, "MEMOIR_DSN": dsn, "PYTHONUNBUFFERED": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr.count("Error")) == (code, 0)


def test_the_completion_of_a_shell_succeeds() -> None:
    asked = {"_MEMOIR_COMPLETE": "bash_complete", "COMP_WORDS": "memoir rem", "COMP_CWORD": "1"}
    done = CliRunner().invoke(cli.main, [], prog_name="memoir", env=asked)
    assert (done.exit_code, done.stdout) == (0, "plain,remember\n")


def test_streams_that_are_closed_lead_nowhere(dsn: str, db: psycopg.Connection) -> None:
    command = '"$0" -c "from pgmemoir.cli import main; main()" "$@" <&- >&- 2>&-'
    environment = {**os.environ, "MEMOIR_DSN": dsn, "MEMOIR_EMBEDDER": "none"}
    for arguments, code in ((["remember", "tea"], 0), (["remember", "-"], 1), (["purge", "1"], 2)):
        shell = ["sh", "-c", command, sys.executable, *arguments]
        assert subprocess.run(shell, env=environment, check=False).returncode == code
    assert db.execute("SELECT content FROM memoir.memory").fetchall() == [("tea",)]


def test_ctrl_c_is_exit_code_130(memoir: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    def press(_: str) -> str:
        raise KeyboardInterrupt

    monkeypatch.setattr("pgmemoir.cli.memory.read_text", press)
    stopped = memoir("remember", "-")
    assert (stopped.exit_code, stopped.stderr.strip()) == (130, "error: stopped")


def test_ctrl_c_during_an_import_says_that_nothing_was_stored(
    memoir: Call, db: psycopg.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    def remembered(conn: psycopg.Connection, *_: Any) -> list[Any]:
        conn.execute("SELECT memoir.remember('tea')")
        raise KeyboardInterrupt

    monkeypatch.setattr("pgmemoir.cli.move._remember_in", remembered)
    stopped = memoir("import", "-", "--format", "jsonl", stdin='{"content": "tea"}')
    told = "error: stopped\nhint: Nothing was changed: run it again.\n"
    assert (stopped.exit_code, stopped.stderr) == (130, told)
    assert db.execute("SELECT count(*) FROM memoir.memory").fetchone() == (0,)


# As Ctrl-C while Python reads a module of the package, some of which catch what is raised there.
PRESSED_EARLY = """
import os, signal, sys
import memoir_command

class Press:
    def find_spec(self, name, *_):
        if name == sys.argv[1]:
            os.kill(os.getpid(), signal.SIGINT)

signal.signal(signal.SIGINT, signal.default_int_handler)
sys.meta_path.insert(0, Press())
memoir_command.main()
"""


@pytest.mark.parametrize("module", ["pgmemoir", "psycopg_binary.pq", "pgmemoir.cli.sync"])
def test_ctrl_c_while_python_starts_is_one_line(module: str) -> None:
    command = [sys.executable, "-c", PRESSED_EARLY, module, "sync"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (130, "error: stopped\n")


def test_every_command_has_help() -> None:
    names = cli.main.list_commands(click.Context(cli.main))
    assert names == sorted(_MODULES)
    for name in names:
        done = CliRunner().invoke(cli.main, [name, "--help"])
        assert done.exit_code == 0, name
        assert len(done.stdout.splitlines()) > 3, name


def test_the_version_is_printed() -> None:
    assert CliRunner().invoke(cli.main, ["--version"]).stdout.startswith("pgmemoir 0.")


def test_the_package_is_run_as_the_command() -> None:
    command = [sys.executable, "-m", "pgmemoir", "--help"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("Usage: python -m pgmemoir [OPTIONS] COMMAND")


@pytest.mark.parametrize("is_default", [True, False])
def test_a_server_that_starts_names_the_call_that_stops_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], is_default: bool
) -> None:
    monkeypatch.setenv("MEMOIR_DATA", "/nowhere" if is_default else "")
    App(None, None if is_default else Path("/no where"), None).announce_server()
    option = "" if is_default else "--data '/no where' "
    assert f"(memoir {option}server stop ends it)" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (["--data", "here"], ["--data", "here"]),
        (["--data", "there"], ["--data", "there"]),
        (["--dsn", "dbname=app"], ["--dsn", "dbname=app"]),
        ([], []),
    ],
)
def test_what_stands_on_the_command_line_counts_before_the_environment(
    monkeypatch: pytest.MonkeyPatch, given: list[str], told: list[str]
) -> None:
    monkeypatch.setenv("MEMOIR_DSN", "dbname=production")
    monkeypatch.setenv("MEMOIR_DATA", "there")
    with cli.main.make_context("memoir", [*given, "list"]) as context:
        context.invoke(cli.main.callback, **context.params)
    dsn = "dbname=production" if not given else None if given[0] == "--data" else "dbname=app"
    assert (context.obj.dsn, context.obj.options()) == (dsn, told)


def test_a_database_and_a_folder_for_another_one_are_refused_together() -> None:
    done = CliRunner().invoke(cli.main, ["--dsn", "dbname=app", "--data", "here", "list"])
    assert done.exit_code == 2
    assert "give one" in done.stderr


def test_make_demo_leaves_the_database_of_the_environment_alone() -> None:
    makefile = Path(cli.__file__).parents[3] / "Makefile"
    done = subprocess.run(
        ["make", "-n", "-f", makefile, "demo"], capture_output=True, text=True, check=True
    )
    assert '/memoir --data "${MEMOIR_DATA:-.memoir}" demo\n' in done.stdout


def test_the_folder_that_is_the_default_needs_no_option(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MEMOIR_DSN", raising=False)
    monkeypatch.delenv("MEMOIR_DATA", raising=False)
    assert App(None, Path(".memoir"), None).options() == []


@pytest.mark.parametrize("command", [("remember", "tea"), ("psql",)])
def test_a_server_that_cannot_start_is_not_said_to_start(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, command: tuple[str, ...]
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    done = CliRunner().invoke(cli.main, ["--data", str(tmp_path), *command])
    assert done.stderr.startswith("error: the embedded server needs the package pixeltable-pgserv")
    assert done.exit_code == 3


def test_a_server_that_is_not_there_is_said_to_be_so(tmp_path: Path) -> None:
    done = CliRunner().invoke(cli.main, ["--data", str(tmp_path), "server", "status"])
    assert done.exit_code == 3
    assert done.stdout.startswith("not running")


def test_a_command_tells_of_a_limit_too_short_for_it(dsn: str) -> None:
    limited = make_conninfo(dsn, options="-c statement_timeout=1ms")
    said = CliRunner().invoke(cli.main, ["--dsn", limited, "stats"])
    assert said.stderr.splitlines() == [
        "error: canceling statement due to statement timeout",
        "hint: Give --dsn options='-c statement_timeout=0': what is set there is too short.",
    ]
    assert said.exit_code == 1


def test_the_limit_that_ended_a_connection_is_named() -> None:
    limits = {"25P04": "transaction_timeout", "57P05": "idle_session_timeout"}
    for code, setting in limits.items():
        report, _ = explain_error(psycopg.errors.lookup(code)("terminating connection"))
        assert f"-c {setting}=0" in str(report.hint)
    said = "connection failed: FATAL:  terminating connection due to transaction timeout"
    report, code = explain_error(psycopg.OperationalError(said))
    assert ("-c transaction_timeout=0" in str(report.hint), code) == (True, 3)


def test_a_connection_lost_on_the_way_is_told_as_one(memoir: Call, db: psycopg.Connection) -> None:
    db.execute("""CREATE FUNCTION public.gone() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        PERFORM pg_terminate_backend(pg_backend_pid()); RETURN NULL; END $$""")
    db.execute("""CREATE TRIGGER gone AFTER INSERT ON memoir.memory
        FOR EACH ROW EXECUTE FUNCTION public.gone()""")
    done = memoir("remember", "tea")
    assert done.stderr.splitlines() == [
        "error: the connection to the database was lost",
        "detail: terminating connection due to administrator command",
        "hint: Each step is stored as a whole or not at all: look what is there, and run it again.",
    ]
    assert done.exit_code == 3


def test_a_connection_that_breaks_is_told_in_one_sentence() -> None:
    said = "server closed the connection unexpectedly\n\tThis probably means the server"
    report, _ = explain_error(psycopg.OperationalError(f"consuming input failed: {said}"))
    assert report.message == "the connection to the database was lost"
    assert report.detail == "server closed the connection unexpectedly"
    away, _ = explain_error(psycopg.OperationalError(f"connection failed: {said}"))
    assert away.message.startswith("connection failed")


@pytest.mark.skipif("config.getoption('--pg') < 17", reason="it is there from 17 on")
def test_a_command_tells_of_a_limit_too_short_for_its_transaction(
    memoir: Call, db: psycopg.Connection
) -> None:
    # Given with the address, it would end the connection itself on a busy machine.
    db.execute("""CREATE FUNCTION public.slow() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        SET LOCAL transaction_timeout = '1ms'; PERFORM pg_sleep(60); RETURN NULL; END $$""")
    db.execute("""CREATE TRIGGER slow AFTER INSERT ON memoir.memory
        FOR EACH ROW EXECUTE FUNCTION public.slow()""")
    said = memoir("remember", "tea")
    hint = "hint: Give --dsn options='-c transaction_timeout=0': what is set there is too short.\n"
    assert (said.exit_code, said.stderr.endswith(hint)) == (1, True)


@pytest.mark.parametrize("password", ["s3cret-word", "pass@s3cret-word"])
def test_doctor_reports_a_database_out_of_reach(password: str) -> None:
    dsn = f"postgresql://ada:{password}@127.0.0.1:9/x"
    done = CliRunner().invoke(cli.main, ["--dsn", dsn, "doctor"])
    assert "fail  connection" in done.stdout
    assert "s3cret-word" not in done.output
    assert done.exit_code == 1


def test_without_a_dsn_an_embedded_server_keeps_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    with folder_of_a_server() as folder:
        monkeypatch.setenv("MEMOIR_DATA", str(folder / "data"))
        first = CliRunner().invoke(cli.main, ["remember", "kept between calls"])
        assert first.exit_code == 0, first.stderr
        assert first.stderr.startswith("starting PostgreSQL in ")
        assert "kept" in CliRunner().invoke(cli.main, ["context", "what is kept?"]).stdout
        with Memoir() as memory:
            assert "kept" in memory.context("what is kept?")
        status = CliRunner().invoke(cli.main, ["server", "status"])
        assert status.exit_code == 0
        with psycopg.connect(status.stdout.split("connection string: ")[1]) as conn:
            assert conn.execute("SELECT content FROM memoir.memory").fetchall() != []
        stopped = CliRunner().invoke(cli.main, ["server", "stop"])
        assert stopped.stdout.startswith("stopped: "), stopped.stderr
