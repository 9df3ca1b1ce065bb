"""``memoir export`` and ``memoir import``: files in, files out, and what is said."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any

import psycopg
import pytest
from click.testing import CliRunner, Result
from psycopg.conninfo import make_conninfo
from tests.client.test_importers import ITEM, MEM0
from tests.moving import export, live
from tests.rows import row_counts, set_to

from pgmemoir import cli
from pgmemoir.cli import move
from pgmemoir.errors import BadFile
from pgmemoir.move import Imported, read_lines

pytestmark = pytest.mark.once

Call = Callable[..., Result]


@pytest.fixture
def lived(db: psycopg.Connection) -> psycopg.Connection:
    """A database in which ada did everything a user does."""
    live(db, "ada")
    return db


def write(folder: Path, name: str, value: Any) -> str:
    path = folder / name
    path.write_text(value if isinstance(value, str) else json.dumps(value))
    return str(path)


def test_an_export_goes_through_a_file(
    memoir: Call, lived: psycopg.Connection, tmp_path: Path
) -> None:
    file = str(tmp_path / "ada.jsonl")
    done = memoir("export", file, "--user", "ada")
    assert (done.exit_code, done.stdout) == (0, "")
    assert done.stderr.startswith("exported user ada: 9 memories, 2 entities, ")
    lines = export(lived, "ada")
    assert Path(file).read_text().splitlines()[1:] == lines[1:]
    lived.execute("SELECT memoir.purge_user('ada')")
    assert memoir("import", file).stdout.startswith("imported user ada: 9 memories, ")
    assert export(lived, "ada")[1:] == lines[1:]


def test_only_its_owner_may_read_an_export(memoir: Call, tmp_path: Path) -> None:
    new, replaced = tmp_path / "ada.jsonl", tmp_path / "shared.jsonl"
    replaced.touch()
    replaced.chmod(0o640)
    for file in (new, replaced):
        assert memoir("export", str(file), "--force", "--user", "ada").exit_code == 0
    assert [file.stat().st_mode & 0o777 for file in (new, replaced)] == [0o600, 0o640]


def test_a_small_file_that_unpacks_to_very_much_is_refused(
    memoir: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(move, "_PIECES", 2)
    file = tmp_path / "notes.csv.gz"
    file.write_bytes(gzip.compress(b"content\nkeeps bees\n".ljust(2 << 20)))
    assert memoir("import", str(file)).stdout.startswith("csv: 1 memory stored")
    file.write_bytes(gzip.compress(b"content\nkeeps goats\n".ljust((2 << 20) + 1)))
    done = memoir("import", str(file))
    assert (done.exit_code, done.stderr.splitlines()[0]) == (1, f"error: {file} is too large")


@pytest.mark.usefixtures("lived")
def test_an_export_goes_through_a_pipe(memoir: Call) -> None:
    done = memoir("--user", "ada", "export", "--vectors")
    assert "[1,2,3]" in done.stdout
    assert memoir("import", "-", "--user", "bob", stdin=done.stdout).exit_code == 0
    again = memoir("import", "-", "--user", "bob", "--format", "pgmemoir", stdin=done.stdout)
    assert again.stdout == "this file was imported for user bob before: nothing is changed\n"


def test_an_import_may_wait_for_longer_than_transactions_are_let(
    dsn: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[psycopg.Connection] = []
    limits: list[Any] = []
    limit = "SHOW idle_in_transaction_session_timeout"

    class Slow:
        name, dimensions = "slow", 2

        def embed(self, texts: list[str]) -> list[list[float]]:
            limits.extend(conn.execute(limit).fetchone() for conn in opened)
            return [[1.0, 2.0]] * len(texts)

    def connect(*given: Any, **more: Any) -> psycopg.Connection:
        opened.append(psycopg.Connection.connect(*given, **more))
        return opened[-1]

    monkeypatch.setattr("pgmemoir.steps.default_embedder", Slow)
    monkeypatch.setattr(psycopg, "connect", connect)
    impatient = make_conninfo(dsn, options="-c idle_in_transaction_session_timeout=1h")
    file = write(tmp_path, "m.jsonl", {"content": "likes tea", "kind": "fact"})
    done = CliRunner().invoke(cli.main, ["--dsn", impatient, "import", file])
    assert done.stdout.startswith("jsonl: 1 memory stored")
    assert limits == [("0",)]


@pytest.mark.usefixtures("lived")
def test_a_file_may_be_packed(memoir: Call, tmp_path: Path) -> None:
    file = tmp_path / "ada.jsonl.gz"
    assert memoir("export", str(file), "--user", "ada").exit_code == 0
    assert gzip.decompress(file.read_bytes()).startswith(b'{"pgmemoir"')
    assert memoir("import", str(file), "--user", "bob").stdout.startswith("imported user bob")
    file.write_bytes(file.read_bytes()[:-40])
    done = memoir("import", str(file), "--user", "eve")
    assert (done.exit_code, "cannot be unpacked" in done.stderr) == (1, True)


def test_what_is_current_in_an_export_joins_what_a_user_has(
    memoir: Call, lived: psycopg.Connection, tmp_path: Path
) -> None:
    file = str(tmp_path / "ada.jsonl")
    memoir("export", file, "--user", "ada", "--vectors")
    memoir("--user", "bob", "remember", "Zanzibar sleeps", "--kind", "general")
    done = memoir("import", file, "--user", "bob", "--format", "jsonl")
    assert done.stdout.startswith("jsonl: 7 memories stored, 0 updated, 1 known already")
    rows = lived.execute(
        "SELECT status, count(*) FROM memoir.memory WHERE user_id = 'bob' GROUP BY 1"
    )
    assert rows.fetchall() == [("active", 8)]


def test_a_dry_run_stores_nothing(memoir: Call, lived: psycopg.Connection, tmp_path: Path) -> None:
    file = str(tmp_path / "ada.jsonl")
    memoir("export", file, "--user", "ada")
    before = row_counts(lived)
    done = memoir("import", file, "--user", "bob", "--dry-run", "--new-ids", "--no-vectors")
    assert done.stdout.startswith("would import user bob: 9 memories")
    csv = write(tmp_path, "rows.csv", "content\ntea\n")
    assert memoir("import", csv, "--dry-run").stdout.startswith("csv: 1 memory would be stored")
    assert row_counts(lived) == before


def test_a_file_that_is_there_is_kept(memoir: Call, tmp_path: Path) -> None:
    file = tmp_path / "mine.jsonl"
    file.write_text("mine")
    done = memoir("export", str(file))
    assert (done.exit_code, "already exists" in done.stderr) == (1, True)
    assert file.read_text() == "mine"
    assert memoir("export", str(file), "--force").exit_code == 0
    assert file.read_text().startswith('{"pgmemoir"')
    assert [path.name for path in tmp_path.iterdir()] == ["mine.jsonl"]


def test_a_pipe_is_written_to_and_not_replaced(memoir: Call, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with subprocess.Popen(["cat", str(pipe)], stdout=subprocess.PIPE, text=True) as reader:
        assert memoir("export", str(pipe)).exit_code == 0
        assert reader.communicate()[0].startswith('{"pgmemoir"')
    assert pipe.is_fifo()


def test_a_folder_that_is_not_there_is_told(memoir: Call, tmp_path: Path) -> None:
    done = memoir("export", str(tmp_path / "no" / "file"))
    assert (done.exit_code, done.stderr.startswith("error: cannot write ")) == (1, True)


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b'{"pgmemoir"\n{"user": "t\xe9a"}\n', "line 2: not UTF-8"),
        (b"a\nb\n" + b"x" * (33 * 2**20), "line 3: it has more than 33,554,432 bytes"),
        (b"a\nt\0a\n", "line 2: it has a NUL character"),
    ],
)
def test_a_file_of_no_text_is_refused_before_it_is_sent(data: bytes, problem: str) -> None:
    with pytest.raises(BadFile, match=problem):
        list(read_lines(BytesIO(data)))


def test_a_cut_or_changed_file_is_refused_with_its_line(
    memoir: Call, lived: psycopg.Connection, tmp_path: Path
) -> None:
    file = tmp_path / "ada.jsonl"
    memoir("export", str(file), "--user", "ada")
    data = file.read_bytes()
    before = row_counts(lived)
    for damaged, problem in (
        (data[: data.rindex(b'{"end"')], "before its end"),
        (data[: len(data) // 2], "line "),
        (data[: data.index(b"\n") // 2], "line 1: "),
        (data.replace(b"tea", b"beer"), "the checksum is another"),
        (data.replace(b'"version": 1', b'"version": 9'), "version 9 is unknown"),
    ):
        file.write_bytes(damaged)
        done = memoir("import", str(file), "--user", "bob")
        assert (done.exit_code, problem in done.stderr, "line " in done.stderr) == (1, True, True)
        assert row_counts(lived) == before


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ('{"pgmemoir": {"user_id": {"name": "ada"}}}', "line 1: the user is dict, not text"),
        ('{"pgmemoir": {"user_id": "\\ud800"}}', "line 1: the user is not valid Unicode"),
        ('\ufeff{"pgmemoir": {"version": 1}}', "line 1: not UTF-8\nhint: Save it as UTF-8"),
    ],
)
def test_a_first_line_that_no_export_has_is_told(
    memoir: Call, tmp_path: Path, line: str, problem: str
) -> None:
    file = tmp_path / "ada.jsonl"
    file.write_text(line, encoding="utf-16-le" if line.startswith("\ufeff") else "utf-8")
    done = memoir("import", str(file))
    assert (done.exit_code, problem in done.stderr) == (1, True), done.stderr


STORES: dict[str, tuple[str, Any]] = {
    "mem0": ("mem0.json", {"results": [MEM0, {**MEM0, "memory": "Has a 狗"}]}),
    "langgraph": ("items.json", [ITEM, {**ITEM, "key": "2", "value": {"text": "Has a 狗"}}]),
    "csv": ("rows.csv", 'content,kind\n"likes\ntea",fact\nHas a 狗,fact\n'),
    "jsonl": ("rows.jsonl", '{"content": "likes tea", "kind": "fact"}\n{"content": "Has a 狗"}'),
}


@pytest.mark.parametrize("format", sorted(STORES))
def test_what_other_programs_wrote_is_stored_once(
    memoir: Call, db: psycopg.Connection, tmp_path: Path, format: str
) -> None:
    file = write(tmp_path, *STORES[format])
    first = memoir("import", file)
    assert first.stdout.startswith(f"{format}: 2 memories stored, 0 updated, 0 known already")
    before = row_counts(db)
    assert memoir("import", file).stdout.startswith(
        f"{format}: 0 memories stored, 0 updated, 2 known already"
    )
    assert row_counts(db) == before


@pytest.mark.usefixtures("lived")
def test_what_an_import_has_stored_is_counted_and_indexed(
    memoir: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert memoir("export", str(tmp_path / "ada"), "--user", "ada").exit_code == 0
    files = [str(tmp_path / "ada"), write(tmp_path, *STORES["jsonl"])]
    files.append(write(tmp_path, "chat.json", [{"text": "a"}, {"text": "b"}, {"text": "c"}]))
    stored: list[int] = []
    monkeypatch.setattr(move, "index_loaded", lambda _app, number: stored.append(number))
    for options in (["--dry-run"], []):
        for file in files:
            assert memoir("import", file, "--user", "bob", *options).exit_code == 0
    assert stored == [9, 2, 3]
    memoir("import", files[0], "--user", "bob")
    assert stored == [9, 2, 3]


@pytest.mark.parametrize(("format", "data"), [("mem0", {"results": []}), ("csv", "content,kind\n")])
def test_a_file_of_no_memories_is_told(
    memoir: Call, tmp_path: Path, format: str, data: Any
) -> None:
    done = memoir("import", write(tmp_path, "none", data))
    assert (done.exit_code, done.stdout) == (0, f"{format}: nothing to import\n")


def test_the_time_and_origin_of_a_memory_are_kept(
    memoir: Call, db: psycopg.Connection, tmp_path: Path
) -> None:
    memoir("import", write(tmp_path, *STORES["mem0"]))
    row = db.execute(
        "SELECT origin, created_at::date::text, data #>> '{mem0,id}' FROM memoir.memory LIMIT 1"
    )
    assert row.fetchone() == ("mem0", "2024-07-26", "892db2ae")


def test_several_users_are_kept_or_one_is_named(
    memoir: Call, db: psycopg.Connection, tmp_path: Path
) -> None:
    file = write(tmp_path, "mem0.json", [MEM0, {**MEM0, "memory": "Sails", "user_id": "bob"}])
    done = memoir("import", file)
    assert (done.exit_code, "memories of 2 users (alice, bob" in done.stderr) == (2, True)
    users = "SELECT DISTINCT user_id FROM memoir.memory ORDER BY 1"
    assert memoir("import", file, "--keep-users").exit_code == 0
    assert db.execute(users).fetchall() == [("alice",), ("bob",)]
    assert memoir("import", file, "--user", "eve").exit_code == 0
    assert db.execute(users).fetchall() == [("alice",), ("bob",), ("eve",)]


def test_what_langgraph_has_of_several_people_does_not_become_one_persons(
    memoir: Call, db: psycopg.Connection, tmp_path: Path
) -> None:
    of_bob = {**ITEM, "namespace": ["memories", "bob"], "value": {"text": "likes beer"}}
    file = write(tmp_path, "items.json", [ITEM, of_bob])
    done = memoir("import", file)
    assert done.exit_code == 2
    assert "2 users (memories.ada, memories.bob)" in done.stderr
    assert "user_id=namespace.1" in done.stderr
    assert memoir("import", file, "--keep-users", "--map", "user_id=namespace.2").exit_code == 0
    told = db.execute("SELECT user_id, content FROM memoir.memory ORDER BY 1").fetchall()
    assert told == [("ada", "喜欢茶"), ("bob", "likes beer")]


def test_a_memory_the_database_refuses_is_told_with_its_line(
    memoir: Call, db: psycopg.Connection, tmp_path: Path
) -> None:
    set_to(db, text_limit=100000)
    file = write(tmp_path, "rows.csv", f'content,kind\n"a\nb",fact\n{"x" * 100_001},fact\n')
    done = memoir("import", file)
    assert done.stderr.startswith("error: line 4: the memory has 100001 bytes, the limit is 100000")
    assert db.execute("SELECT count(*) FROM memoir.memory").fetchone() == (0,)


def test_columns_are_mapped(memoir: Call, db: psycopg.Connection, tmp_path: Path) -> None:
    file = write(tmp_path, "notes.csv", "id;text;date\n7;green tea;2024-01-02\n")
    done = memoir("import", file, "--map", "content=text, created_at=date")
    assert done.stdout.startswith("csv: 1 memory stored")
    row = db.execute("SELECT content, created_at::date::text, data FROM memoir.memory").fetchone()
    assert row == ("green tea", "2024-01-02", {"id": "7"})


def test_a_format_may_be_forced(memoir: Call, tmp_path: Path) -> None:
    file = write(tmp_path, "rows.jsonl", '{"content": "tea"}')
    assert memoir("import", file).stdout.startswith("1 message stored")
    assert memoir("import", file, "--format", "jsonl").stdout.startswith("jsonl: 1 memory")


@pytest.mark.parametrize(
    "arguments",
    [
        ["--map", "content"],
        ["--new-ids"],
        ["--no-vectors"],
        ["--session", "s"],
        ["--format", "yaml"],
        ["--format", "mem0", "--map", "content=text"],
        ["--format", "conversation", "--keep-users"],
        ["--format", "pgmemoir", "--session", "s"],
    ],
)
def test_options_that_say_nothing_to_a_file_are_refused(
    tmp_path: Path, arguments: list[str]
) -> None:
    file = write(tmp_path, "rows.csv", "content\ntea\n")
    done = CliRunner().invoke(
        cli.main, ["--dsn", "host=nowhere.invalid", "import", file, *arguments]
    )
    assert (done.exit_code, done.stderr[:7]) == (2, "error: ")


def test_a_memory_that_is_not_stored_is_told(memoir: Call, tmp_path: Path) -> None:
    memoir("settings", "memory=off")
    done = memoir("import", write(tmp_path, "rows.csv", "content\ntea\n"))
    assert done.stdout.endswith("1 not stored: memory is off\n")


def test_an_import_says_what_the_rules_here_made_the_same() -> None:
    done = Imported(False, {"user": 1, "memory": 2, "alike": 1})
    said = move._imported(done, "ada", False)
    assert said.startswith("imported user ada: 2 memories; by the rules here 1 of the memories had")
