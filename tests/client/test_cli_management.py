"""The commands that look through, change and delete what is stored: what they print."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg
import pytest
from click.testing import CliRunner, Result
from tests.rows import remember, statuses

from pgmemoir import Memoir, cli
from pgmemoir.cli import purge as purge_module
from pgmemoir.cli.hints import COMMANDS, in_commands

pytestmark = pytest.mark.once

Call = Callable[..., Result]

TEXTS = ["Ada uses Vim", "认证失败时先看 JWKS 缓存", "the harbour closes at nine"]


def remember_texts(dsn: str) -> None:
    """Ada has three memories: 1, 2 and 3."""
    with Memoir(dsn, user="ada", embedder=None) as memory:
        for text in TEXTS:
            memory.remember(text, "fact")


@pytest.fixture
def memoir(memoir: Call, dsn: str) -> Call:
    """The command line in a database where Ada has three memories."""
    remember_texts(dsn)
    return lambda *arguments, stdin=None: memoir("--user", "ada", *arguments, stdin=stdin)


@pytest.fixture(scope="module")
def kept_texts(kept_dsn: str) -> str:
    """The address of a database like that, which no test changes."""
    remember_texts(kept_dsn)
    return kept_dsn


def columns(printed: str, *places: int) -> list[list[str]]:
    """Words of each row below the heads."""
    return [[line.split()[place] for place in places] for line in printed.splitlines()[2:]]


def test_list_prints_a_line_a_memory(memoir: Call) -> None:
    done = memoir("list")
    assert done.stdout.splitlines()[0].split() == [
        *("id", "kind", "status", "importance", "created", "content")
    ]
    assert columns(done.stdout, 0, 1, 2) == [[str(i), "fact", "active"] for i in (3, 2, 1)]
    assert TEXTS[1] in done.stdout


@pytest.mark.parametrize(
    ("options", "ids"),
    [
        ("--search harbour", ["3"]),
        ("--search 认证", ["2"]),
        ("--kind fact --sort importance --since 2025-01-01", ["3", "2", "1"]),
        ("--status all --status active --until 2099-01-01", ["3", "2", "1"]),
        ("--since 30m --until 2999-01-01", ["3", "2", "1"]),
        ('--data {"project":"x"}', []),
    ],
)
def test_list_takes_filters(memoir: Call, options: str, ids: list[str]) -> None:
    printed = memoir("list", *options.split(), "--json").stdout
    assert [row["key"] for row in json.loads(printed)] == ids


def test_list_says_how_it_goes_on(memoir: Call) -> None:
    first = memoir("list", "--limit", "2").stdout.splitlines()
    assert first[-1].startswith("2 listed; continue with --after created_")
    rest = memoir("list", "--limit", "2", "--after", first[-1].split()[-1])
    assert columns(rest.stdout, 0) == [["1"]]


def test_a_list_that_ends_with_the_page_does_not_go_on(memoir: Call) -> None:
    assert columns(memoir("list", "--limit", "3").stdout, 0) == [["3"], ["2"], ["1"]]
    for text in ("one", "two"):
        memoir("remember", text, "--session", text)
    assert len(memoir("sessions", "--limit", "2").stdout.splitlines()) == 4
    assert memoir("sessions", "--limit", "1").stdout.splitlines()[-1].startswith("1 listed; ")


def test_nothing_listed_is_said(memoir: Call) -> None:
    done = memoir("list", "--status", "forgotten")
    assert (done.exit_code, done.stdout) == (0, "no such memories\n")


def test_show_prints_all_there_is(memoir: Call) -> None:
    memoir("edit", "1", "--subject", "user.editor", "--data", '{"since": 2024}')
    head, _, text, _, *told = memoir("show", "1").stdout.splitlines()
    assert (head, text) == ("memory 1, fact, active", "Ada uses Vim")
    assert {"subject     user.editor", 'data        {"since": 2024}'} <= set(told)
    assert json.loads(memoir("show", "1", "--json").stdout)["subject"] == "user.editor"


def test_show_says_how_many_relations_it_leaves_out(memoir: Call, db: psycopg.Connection) -> None:
    db.execute(
        """SELECT count(memoir.relate(memory_id, 1, 'related', user_id => 'ada'))
        FROM memoir.remember_many((SELECT jsonb_agg(jsonb_build_object(
            'content', 'note ' || n, 'kind', 'fact')) FROM generate_series(1, 22) AS n),
            user_id => 'ada')"""
    )
    assert memoir("show", "1").stdout.rstrip().endswith(", 2 more")


def test_show_keeps_lines_and_drops_what_drives_a_terminal(memoir: Call) -> None:
    memoir("remember", "one\n\ttwo \x1b[31m")
    assert memoir("show", "4").stdout.splitlines()[2:4] == ["one", "    two [31m"]


def test_history_tells_what_happened(memoir: Call) -> None:
    memoir("edit", "1", "--content", "Ada uses Helix", "--importance", "0.9", "--reason", "new")
    rows = memoir("history", "1").stdout.splitlines()
    assert [row[18:24].strip() for row in rows] == ["action", "------", "ADD", "UPDATE"]
    assert rows[3].endswith("user  Ada uses Helix  importance 0.8  new")
    (_, update) = json.loads(memoir("history", "1", "--json").stdout)
    assert (type(update["change_id"]), update["old_values"]["content"]) == (str, TEXTS[0])


def test_undo_takes_back_a_change(memoir: Call, db: psycopg.Connection) -> None:
    memoir("edit", "1", "--content", "-", stdin="Ada uses Helix\n")
    assert memoir("undo", "1").stdout.splitlines()[-1].split(maxsplit=4) == [
        *("1", "undone:", "UPDATE", "active", "Ada uses Vim")
    ]
    assert db.execute("SELECT content FROM memoir.memory WHERE memory_id = 1").fetchone() == (
        "Ada uses Vim",
    )


def test_undo_takes_back_a_run(memoir: Call, dsn: str, db: psycopg.Connection) -> None:
    with Memoir(dsn, user="ada", embedder=None) as memory:
        decided = [{"action": "DELETE", "memory_id": each} for each in (1, 2)]
        run_id = memory.apply_decisions(decided)[0].run_id
    done = memoir("undo", "--run", str(run_id), "--json")
    assert [row["memory_id"] for row in json.loads(done.stdout)] == ["2", "1"]
    assert statuses(db) == ["active"] * 3


def test_forget_and_restore_say_what_they_did(memoir: Call, db: psycopg.Connection) -> None:
    gone = memoir("forget", "2", "3", "--reason", "wrong")
    assert columns(gone.stdout, 0, 1, 2) == [[each, "active", "forgotten"] for each in "23"]
    assert statuses(db) == ["active", "forgotten", "forgotten"]
    back = json.loads(memoir("restore", "2", "3", "--json").stdout)
    assert [(row["memory_id"], row["new_status"]) for row in back] == [
        ("2", "active"),
        ("3", "active"),
    ]


@pytest.mark.parametrize("command", ["forget", "purge"])
def test_a_dry_run_changes_nothing(memoir: Call, db: psycopg.Connection, command: str) -> None:
    done = memoir(command, "1", "2", "--dry-run")
    assert (done.exit_code, len(done.stdout.splitlines()) > 2) == (0, True)
    assert statuses(db) == ["active"] * 3


def test_several_ids_are_all_or_none(memoir: Call, db: psycopg.Connection) -> None:
    done = memoir("forget", "1", "4711")
    assert (done.exit_code, done.stdout) == (1, "")
    assert done.stderr.startswith('error: user "ada" has no memory 4711\nhint: ')
    assert statuses(db) == ["active"] * 3


def test_a_hint_names_the_command_that_helps(memoir: Call) -> None:
    memoir("forget", "1")
    done = memoir("edit", "1", "--content", "tea is black")
    assert done.stderr.splitlines()[-1] == "hint: memoir --user 'ada' restore 1 brings it back."


def test_a_hint_names_the_command_that_detaches_a_source() -> None:
    hint = "SELECT * FROM memoir.detach_source('to do'); then attach it again."
    assert in_commands(hint) == "memoir source detach 'to do', then attach it again."


def test_a_hint_names_a_user_who_is_not_the_default() -> None:
    switch = """SELECT memoir.set_settings('{"memory": true}', '%s') switches it on."""
    assert in_commands(switch % "ada") == "memoir --user 'ada' settings memory=on switches it on."
    assert in_commands(switch % "default") == "memoir settings memory=on switches it on."


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        (["forget", "9"], "Pass an id that memoir list shows, and with --user the one"),
        (["show", "9"], "Pass an id that memoir list shows, and with --user the one"),
        (["undo", "--run", "7"], "memoir history ID --json shows run_id, and"),
        (["list", "--after", "x"], "Pass what the page before it printed, with the same --sort."),
        (["settings", "confrim=on"], "memoir settings memory=off"),
        (["event", "", "{}"], """memoir event task_failed '{"task": "deploy"}'"""),
        (["source", "fill", "tasks"], "memoir source list lists them."),
        (["model", "switch", "m"], "memoir model list lists them; memoir model add NAME"),
        (["model", "add", "", "--dimensions", "3"], "memoir model add text-embedding-3-small"),
        (["context", "tea", "--mode", "plna"], 'memoir psql -c "SELECT name, description FROM '),
        (["--user", "", "list"], "Pass --user alice, or set MEMOIR_USER."),
    ],
)
def test_a_hint_for_sql_names_the_command_instead(
    kept_texts: str, arguments: list[str], hint: str
) -> None:
    done = CliRunner().invoke(cli.main, ["--dsn", kept_texts, "--user", "ada", *arguments])
    assert done.stderr.splitlines()[-1].startswith(f"hint: {hint}")


def test_every_hint_that_is_translated_is_one_of_the_database() -> None:
    files = Path(__file__).parents[2].joinpath("sql").rglob("*.sql")
    written = "\n".join(re.sub(r"'\s*\n\s*'", "", file.read_text()) for file in files)
    hints = written.replace("''", "'").replace("%L", "'m'").replace("%s", "7")
    assert [sql for sql in COMMANDS if not re.search(sql, hints)] == []


def test_supersede_names_both(memoir: Call, db: psycopg.Connection) -> None:
    assert memoir("supersede", "1", "3").stdout == "memory 3 takes the place of memory 1\n"
    assert statuses(db) == ["superseded", "active", "active"]


def test_pending_memories_are_confirmed_or_rejected(memoir: Call, db: psycopg.Connection) -> None:
    memoir("settings", "confirm=on")
    for text in ("tea", "coffee"):
        assert memoir("remember", text, "--source", "agent").stdout.startswith("PENDING memory ")
    assert columns(memoir("list", "--status", "pending").stdout, 0) == [["5"], ["4"]]
    assert memoir("confirm", "4").stdout == "CONFIRM memory 4: confirmed\n"
    assert memoir("reject", "5").stdout == "rejected memory 5\n"
    assert statuses(db)[3:] == ["active", "forgotten"]


def test_remember_says_what_it_took_the_place_of(memoir: Call) -> None:
    slot = ("--kind", "preference", "--subject", "user.editor")
    memoir("remember", "Ada uses Helix", *slot, "--at", "2025-01-01")
    done = memoir("remember", "Ada uses Emacs", *slot, "--valid-from", "2025-02-01")
    assert done.stdout == "SUPERSEDE memory 5: newer on the same subject (memory 4)\n"


def test_settings_are_shown_and_changed(memoir: Call) -> None:
    printed = memoir("settings", "memory=off", "confirm=ON").stdout
    assert {("memory", "off"), ("confirm", "on")} <= set(map(tuple, columns(printed, 0, 1)))
    assert json.loads(memoir("settings", "--json").stdout)["confirm"] is True
    assert memoir("remember", "x").stdout == "NOOP: memory is off\n"
    assert memoir("event", "alert", '{"a": 1}').stdout == "not recorded: memory is off\n"


def test_stats_are_numbers_by_name(memoir: Call) -> None:
    assert ["memories", "3"] in columns(memoir("stats").stdout, 0, 1)
    assert ["recall_p50_ms", "-"] in columns(memoir("stats").stdout, 0, 1)
    assert ["with_keywords", "100.0%"] in columns(memoir("stats").stdout, 0, 1)
    assert ["hit_rate", "-"] in columns(memoir("stats").stdout, 0, 1)
    assert "fact (memories 3, importance 0.8)" in memoir("stats").stdout
    assert json.loads(memoir("stats", "--json").stdout)["by_kind"]["fact"]["memories"] == 3


def test_sessions_are_listed(memoir: Call) -> None:
    assert memoir("sessions").stdout == "no sessions\n"
    memoir("remember", "x", "--session", "部署")
    (row,) = memoir("sessions", "--open").stdout.splitlines()[2:]
    assert row.split()[0] == "部署"
    assert json.loads(memoir("sessions", "--json").stdout)[0]["memories"] == 1


def test_purge_shows_and_asks(
    memoir: Call, db: psycopg.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(purge_module, "_watched", lambda: True)
    stopped = memoir("purge", "1", stdin="n\n")
    assert "memory 1: Ada uses Vim" in stopped.stderr
    assert (stopped.exit_code, statuses(db)) == (1, ["active"] * 3)
    done = memoir("purge", "1", stdin="y\n")
    assert (done.stdout, len(statuses(db))) == ("deleted\n", 2)


def test_purge_of_a_user_wants_the_name_typed(
    memoir: Call, db: psycopg.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(purge_module, "_watched", lambda: True)
    assert memoir("purge", "--user-data", stdin="eve\n").stderr.endswith("error: stopped\n")
    assert len(statuses(db)) == 3
    assert memoir("purge", "--user-data", stdin="ada\n").stdout == "deleted\n"
    assert statuses(db) == []


def test_purge_with_yes_does_not_ask(memoir: Call, db: psycopg.Connection) -> None:
    done = memoir("purge", "1", "2", "--yes", "--json")
    rows: list[dict[str, Any]] = json.loads(done.stdout)
    assert {"table": "memory", "rows": 2} in rows
    assert len(statuses(db)) == 1
    assert memoir("purge", "--user-data", "--yes").exit_code == 0
    assert memoir("purge", "--user-data", "--yes").stdout == "nothing to delete\n"


@pytest.mark.parametrize(
    "arguments",
    [
        ["show"],
        ["show", "x"],
        ["forget"],
        ["forget", "1", "x"],
        ["list", "--since", "yesterday"],
        ["list", "--limit", "0"],
        ["search", "tea", "--limit", "21"],
        ["search", "tea", "--minimum", "60"],
        ["undo"],
        ["undo", "1", "--run", "2"],
        ["edit", "1"],
        ["edit", "1", "--data", "[]"],
        ["supersede", "1"],
        ["settings", "confirm"],
        ["settings", "confirm=maybe"],
        ["purge"],
        ["purge", "1", "--user-data"],
        ["purge", "1"],
    ],
)
def test_wrong_usage_is_exit_code_2(arguments: list[str]) -> None:
    done = CliRunner().invoke(cli.main, ["--dsn", "host=nowhere.invalid", *arguments])
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr.startswith("error: ")


def test_purge_of_a_memory_is_by_default_of_the_default_user(
    dsn: str, db: psycopg.Connection
) -> None:
    remember(db, "tea is green")
    done = CliRunner().invoke(cli.main, ["--dsn", dsn, "purge", "1", "--yes"])
    assert (done.exit_code, statuses(db)) == (0, [])


def test_purge_of_a_user_wants_one_named(dsn: str) -> None:
    done = CliRunner().invoke(cli.main, ["--dsn", dsn, "purge", "--user-data", "--yes"])
    assert done.exit_code == 2
    assert "memoir --user NAME purge --user-data" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["show", "99"], 'no memory with key "99"'),
        (["history", "9999999999999999999999"], "no memory has the id 9999999999999999999999"),
        (["restore", "1"], "memory 1 is active: it cannot be restored"),
        (["supersede", "1", "1"], "memory 1 cannot supersede itself"),
        (["confirm", "1"], "memory 1 is active: it cannot be confirmed"),
        (["undo", "--run", "7"], 'run 7 changed no memory of user "ada"'),
        (["list", "--status", "gone"], 'unknown status "gone"'),
        (["list", "--sort", "colour"], 'unknown sort "colour"'),
        (["list", "--after", "x"], '"x" is not a place in this list'),
        (["edit", "1", "--lifetime", "long"], 'unknown lifetime "long"'),
        (["settings", "confrim=on"], 'unknown setting "confrim"'),
        (["purge", "99", "--yes"], 'user "ada" has no memory 99'),
    ],
)
def test_what_is_refused_has_a_sentence_and_a_hint(
    kept_texts: str, arguments: list[str], message: str
) -> None:
    done = CliRunner().invoke(cli.main, ["--dsn", kept_texts, "--user", "ada", *arguments])
    assert (done.exit_code, done.stdout) == (1, "")
    assert done.stderr.splitlines()[0] == f"error: {message}"
    assert "hint: " in done.stderr
