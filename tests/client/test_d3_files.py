"""``memoir files``: the folder of D3, in and out."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import psycopg
import pytest
from click.testing import Result
from tests.d3_files import LOG, LOG_MD, MEMORY, MEMORY_MD, Json, text
from tests.rows import row_counts

from pgmemoir import files, memory_folder
from pgmemoir.errors import BadFile, NotPossible
from pgmemoir.memory_folder import MemoryFolder, read_json

pytestmark = pytest.mark.once

Call = Callable[..., Result]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """D3's examples as its agent leaves them."""
    (tmp_path / "logs").mkdir()
    (tmp_path / "memory.json").write_text(text(MEMORY))
    (tmp_path / "logs/2026-02-21.json").write_text(text(LOG))
    return tmp_path


@pytest.fixture
def old_folder(tmp_path: Path) -> Path:
    """A folder of D3's first version."""
    (tmp_path / "logs").mkdir()
    (tmp_path / "MEMORY.md").write_text(MEMORY_MD)
    (tmp_path / "logs/2026-02-20.md").write_text(LOG_MD)
    return tmp_path


def names(folder: Path) -> list[str]:
    """Every file of a folder."""
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def times(folder: Path) -> dict[str, int]:
    """When each file was last written."""
    return {name: (folder / name).stat().st_mtime_ns for name in names(folder)}


def saved(folder: Path) -> list[Json]:
    """The entries of memory.json."""
    memories: list[Json] = json.loads((folder / "memory.json").read_text())["memories"]
    return memories


def test_a_folder_goes_in_and_comes_out_untouched(memoir: Call, folder: Path) -> None:
    done = memoir("files", "import", str(folder))
    assert done.stdout.splitlines() == [
        "memory.json: 2 added, 1 changed",
        "  UPDATE rolling_summary: changed in the file",
        "logs/2026-02-21.json: 3 added",
    ]
    before = times(folder)
    assert memoir("files", "export", str(folder)).stdout == "0 written, 2 as they were\n"
    assert times(folder) == before


def test_a_file_that_is_laid_out_otherwise_is_not_touched(memoir: Call, folder: Path) -> None:
    laid_out = "\ufeff" + json.dumps(MEMORY, indent=4).replace("\n", "\r\n")
    (folder / "memory.json").write_bytes(laid_out.encode())
    memoir("files", "import", str(folder))
    assert memoir("files", "export", str(folder)).stdout == "0 written, 2 as they were\n"
    assert (folder / "memory.json").read_bytes() == laid_out.encode()


def test_another_folder_gets_the_same_files(memoir: Call, folder: Path, tmp_path: Path) -> None:
    memoir("files", "import", str(folder))
    (other := tmp_path / "other").mkdir()
    memoir("files", "export", str(other))
    assert names(other) == ["logs/2026-02-21.json", "memory.json"]
    assert (other / "memory.json").read_text() == text(MEMORY) + "\n"
    assert (other / "logs/2026-02-21.json").read_text() == text(LOG) + "\n"


@pytest.mark.parametrize("style", ["SQL,DMY", "German"])
def test_logs_have_their_names_whatever_dates_look_like_to_the_role(
    memoir: Call, folder: Path, monkeypatch: pytest.MonkeyPatch, style: str
) -> None:
    monkeypatch.setenv("PGOPTIONS", f"-c DateStyle={style}")
    memoir("files", "import", str(folder))
    assert memoir("files", "export", str(folder)).stdout == "0 written, 2 as they were\n"


def test_an_edit_goes_in_and_what_memory_learned_comes_out(memoir: Call, folder: Path) -> None:
    memoir("files", "import", str(folder))
    memoir("remember", "喝茶 🍵", "--kind", "preference")
    path = folder / "memory.json"
    path.write_text(path.read_text().replace("早班机", "夜班机"))
    done = memoir("files", "import", str(folder))
    assert "  UPDATE a1b2c3d4: changed in the file: content\n" in done.stdout
    assert memoir("files", "export", str(folder)).stdout.startswith("wrote memory.json\n")
    assert [entry["content"][-3:] for entry in saved(folder)[::2]] == ["夜班机", "茶 🍵"]
    assert "喝茶" not in (folder / "memory.json.bak").read_text()


def test_an_exported_memory_is_known_when_it_comes_back(memoir: Call, tmp_path: Path) -> None:
    memoir("remember", "tea", "--kind", "preference")
    memoir("remember", "milk", "--kind", "preference")
    memoir("files", "export", str(tmp_path))
    fewer = {**json.loads((tmp_path / "memory.json").read_text()), "memories": saved(tmp_path)[:1]}
    (tmp_path / "memory.json").write_text(text(fewer).replace('"tea"', '"green tea"'))
    done = memoir("files", "import", str(tmp_path), "--delete-missing", "--json")
    actions = [news["action"] for news in json.loads(done.stdout)[0]["news"]]
    assert actions == ["UPDATE", "FORGET"]


def test_an_edit_that_memory_does_not_know_is_not_overwritten(memoir: Call, folder: Path) -> None:
    before = times(folder)
    done = memoir("files", "export", str(folder))
    assert (done.exit_code, done.stderr.splitlines()) == (
        1,
        [
            "error: memory.json says what memory does not know",
            "detail: New or edited: a1b2c3d4, e5f6g7h8, rolling_summary",
            "hint: memoir files import imports it; --force replaces it and keeps a .bak.",
        ],
    )
    assert times(folder) == before
    memoir("files", "export", str(folder), "--force")
    assert saved(folder) == []
    assert json.loads((folder / "memory.json.bak").read_text()) == MEMORY


def test_a_dry_run_changes_nothing(memoir: Call, folder: Path, db: psycopg.Connection) -> None:
    memoir("remember", "tea")
    before = row_counts(db), times(folder)
    assert (
        "3 added\nnothing was changed\n"
        in memoir("files", "import", str(folder), "--dry-run").stdout
    )
    told = memoir("files", "export", str(folder), "--dry-run", "--force").stdout
    assert told == "would write memory.json\n1 to write, 0 as they were\n"
    assert (row_counts(db), times(folder)) == before


def test_only_days_on_which_something_happened_have_a_log(memoir: Call, tmp_path: Path) -> None:
    memoir("event", "alert", '{"content": "disk"}', "--at", "2026-02-21T23:30Z")
    memoir("files", "export", str(tmp_path), "--zone", "Asia/Shanghai")
    assert names(tmp_path) == ["logs/2026-02-22.json", "memory.json"]


def test_a_user_has_his_own(memoir: Call, folder: Path, tmp_path: Path) -> None:
    memoir("--user", "ada", "files", "import", str(folder))
    (other := tmp_path / "other").mkdir()
    memoir("--user", "bob", "files", "export", str(other))
    assert saved(other) == []


def test_a_link_stays_a_link(memoir: Call, folder: Path) -> None:
    (folder / "memory.json").rename(folder / "real.json")
    (folder / "memory.json").symlink_to("real.json")
    memoir("files", "import", str(folder))
    memoir("remember", "tea")
    memoir("files", "export", str(folder))
    assert (folder / "memory.json").is_symlink()
    assert len(json.loads((folder / "real.json").read_text())["memories"]) == 3


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (text(MEMORY)[:-40].encode(), "memory.json, line 28, column 9: Unterminated string"),
        (b'{"version": 2,\n "memories": [}', "memory.json, line 2, column 15: Expecting value"),
        (b"", "memory.json, line 1, column 1: Expecting value"),
        (text(MEMORY).encode("utf-16"), "memory.json is not UTF-8"),
        (text(MEMORY).encode("gb18030"), "memory.json is not UTF-8"),
        (b'{"version": 2, "memories": [NaN]}', "memory.json: NaN is not a JSON number"),
        (b"[" * 100_000, "memory.json is nested too deeply"),
    ],
)
def test_what_is_no_json_is_refused_with_its_place(
    tmp_path: Path, content: bytes, message: str
) -> None:
    (tmp_path / "memory.json").write_bytes(content)
    with pytest.raises(BadFile) as told:
        read_json(tmp_path / "memory.json")
    assert message in told.value.message


def test_a_bad_file_is_refused_and_nothing_is_taken(
    memoir: Call, folder: Path, db: psycopg.Connection
) -> None:
    before = row_counts(db)
    for content, message in (
        (text(MEMORY)[:-40], f"error: {folder}/memory.json, line 28, column 9: Untermin"),
        ('{"version": 3, "memories": []}', "error: memory.json.version must be 2"),
    ):
        (folder / "memory.json").write_text(content)
        done = memoir("files", "import", str(folder))
        assert (done.exit_code, done.stderr[: len(message)]) == (1, message)
    assert row_counts(db) == before


def test_a_bad_log_leaves_memory_json_out_too(
    memoir: Call, folder: Path, db: psycopg.Connection
) -> None:
    (folder / "logs/2026-02-22.json").write_text(text(LOG | {"date": "2026-02-22", "entries": 1}))
    before = row_counts(db)
    done = memoir("files", "import", str(folder))
    assert done.stderr.startswith("error: logs/2026-02-22.json: log.entries must be of type array")
    assert row_counts(db) == before


def test_a_log_of_another_day_is_refused(memoir: Call, folder: Path) -> None:
    (folder / "logs/2026-02-21.json").rename(folder / "logs/2026-02-22.json")
    done = memoir("files", "import", str(folder))
    assert "2026-02-22.json is of '2026-02-21'" in done.stderr


@pytest.mark.parametrize(("command", "name"), [("import", "json"), ("migrate", "md")])
def test_a_log_of_no_day_is_refused(memoir: Call, folder: Path, command: str, name: str) -> None:
    file = folder / f"logs/2026-02-30.{name}"
    (folder / "logs/2026-02-21.json").rename(file)
    done = memoir("files", command, str(folder))
    assert done.stderr.startswith(f"error: {file}: there is no such day\n")


def test_a_number_may_have_any_length(memoir: Call, folder: Path) -> None:
    (folder / "memory.json").write_text(text(MEMORY | {"n": 7})[:-2] + "7" * 5000 + "}")
    for command in ("import", "export"):
        done = memoir("files", command, str(folder))
        assert done.exit_code == 0, done.stderr


def test_a_folder_that_is_none_is_refused(memoir: Call, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for command in ("import", "export", "migrate"):
        for name in ("none", "file"):
            done = memoir("files", command, str(tmp_path / name))
            assert done.stderr.startswith(f"error: there is no folder {tmp_path / name}")
            assert done.stderr.endswith(f"or for a new one: mkdir {tmp_path / name}\n")


def test_a_folder_without_files_is_refused(memoir: Call, tmp_path: Path) -> None:
    done = memoir("files", "import", str(tmp_path))
    assert "has no memory.json and no logs/YYYY-MM-DD.json" in done.stderr


def test_a_log_that_could_not_be_read_again_leaves_every_file_as_it_was(
    memoir: Call, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    memoir("files", "import", str(folder))
    memoir("remember", "tea")
    memoir("event", "note", json.dumps({"content": "x" * 5000}), "--at", "2026-02-22")
    before = times(folder)
    monkeypatch.setattr(files, "LARGEST", 5000)
    done = memoir("files", "export", str(folder))
    assert "2026-02-22.json would be too large to be read again" in done.stderr
    assert times(folder) == before


def test_a_folder_that_may_not_be_written_keeps_its_files(
    memoir: Call, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    memoir("files", "import", str(folder))
    memoir("remember", "tea")
    before = times(folder)
    monkeypatch.setattr(os, "access", lambda _, mode: mode != os.W_OK)
    done = memoir("files", "export", str(folder))
    assert done.stderr == f"error: cannot write into {folder}: permission denied\n"
    assert times(folder) == before


def test_the_old_files_are_migrated_and_kept(memoir: Call, old_folder: Path) -> None:
    done = memoir("files", "migrate", str(old_folder), "--export")
    assert done.stdout == "MEMORY.md: 5 added\nlogs/2026-02-20.md: 3 added\n"
    assert names(old_folder) == [
        "MEMORY.md.migrated",
        "logs/2026-02-20.json",
        "logs/2026-02-20.md.migrated",
        "memory.json",
    ]
    assert (old_folder / "MEMORY.md.migrated").read_text() == MEMORY_MD
    assert saved(old_folder)[0]["content"] == "优先推荐东方航空"


def test_a_second_migration_finds_nothing(
    memoir: Call, old_folder: Path, db: psycopg.Connection
) -> None:
    memoir("files", "migrate", str(old_folder))
    before = row_counts(db), times(old_folder)
    assert memoir("files", "migrate", str(old_folder)).stdout.startswith("nothing to migrate")
    assert (row_counts(db), times(old_folder)) == before


def test_a_newer_file_beside_the_old_one_is_taken_first(memoir: Call, old_folder: Path) -> None:
    newer = MEMORY["memories"][0] | {"id": "0a1b2c3d"}
    (old_folder / "memory.json").write_text(text({**MEMORY, "memories": [newer]}))
    memoir("files", "migrate", str(old_folder), "--export")
    entries = saved(old_folder)
    assert (entries[0], len(entries)) == (newer, 5)


def test_an_older_original_is_not_overwritten(memoir: Call, old_folder: Path) -> None:
    (old_folder / "MEMORY.md.migrated").write_text("older")
    memoir("files", "migrate", str(old_folder))
    assert (old_folder / "MEMORY.md.migrated").read_text() == "older"
    assert (old_folder / "MEMORY.md.migrated.1").read_text() == MEMORY_MD


def taken(conn: psycopg.Connection) -> tuple[int, int]:
    """How many memories and events there are."""
    counts = "SELECT (SELECT count(*) FROM memoir.memory), (SELECT count(*) FROM memoir.event)"
    memories, events = conn.execute(counts).fetchone() or (0, 0)
    return memories, events


@pytest.mark.parametrize(
    ("step", "call"),
    [("_migrate", 2), ("_exported", 1), ("_write", 1), ("_rename", 1), ("_rename", 2)],
)
def test_a_crash_at_any_step_loses_nothing(
    dsn: str, old_folder: Path, monkeypatch: pytest.MonkeyPatch, step: str, call: int
) -> None:
    where = memory_folder if step == "_rename" else MemoryFolder
    done = getattr(where, step)
    calls = iter(range(1, 100))

    def crash(*arguments: object) -> object:
        if next(calls) == call:
            raise KeyboardInterrupt
        return done(*arguments)

    with psycopg.connect(dsn, autocommit=True) as conn:
        with monkeypatch.context() as patched:
            patched.setattr(where, step, crash)
            with pytest.raises(KeyboardInterrupt):
                MemoryFolder(conn, old_folder).migrate(export=True)
        kept = (old_folder / "MEMORY.md", old_folder / "MEMORY.md.migrated")
        assert [path.read_text() for path in kept if path.exists()] == [MEMORY_MD]
        assert taken(conn) in ((0, 0), (5, 3))
        MemoryFolder(conn, old_folder).migrate(export=True)
        assert taken(conn) == (5, 3)
    assert "MEMORY.md" not in names(old_folder)
    assert len(saved(old_folder)) == 5


def test_a_dry_migration_renames_nothing(memoir: Call, old_folder: Path) -> None:
    before = times(old_folder)
    done = memoir("files", "migrate", str(old_folder), "--export", "--dry-run")
    assert done.stdout.splitlines()[-1] == "nothing was changed"
    assert times(old_folder) == before


def test_a_connection_in_a_transaction_is_refused(dsn: str, folder: Path) -> None:
    with psycopg.connect(dsn) as conn:
        conn.execute("SELECT")
        with pytest.raises(NotPossible):
            MemoryFolder(conn, folder)


def test_a_connection_that_may_only_read_exports(dsn: str, folder: Path, tmp_path: Path) -> None:
    (other := tmp_path / "other").mkdir()
    with psycopg.connect(dsn, autocommit=True) as conn:
        MemoryFolder(conn, folder).import_files()
        conn.read_only = True
        MemoryFolder(conn, other).export_files()
    assert json.loads((other / "memory.json").read_text()) == MEMORY


def test_the_folder_says_what_it_cannot_read(
    dsn: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_: Path) -> list[Path]:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "iterdir", refuse)
    with psycopg.connect(dsn, autocommit=True) as conn, pytest.raises(BadFile) as told:
        MemoryFolder(conn, folder).import_files()
    assert told.value.message == f"cannot read {folder}: Permission denied"
