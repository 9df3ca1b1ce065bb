"""`sync` and `memoir sync`: files are read and written, whatever happens between."""

from __future__ import annotations

import os
import shutil
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path

import psycopg
import pytest
from click.testing import Result
from tests.rows import call, remember, remember_all, set_to, until, value

from pgmemoir import sync as module
from pgmemoir.errors import BadFile, NotPossible
from pgmemoir.sync import Options, Synced, sync, watch

pytestmark = pytest.mark.once

Call = Callable[..., Result]


@pytest.fixture
def folder(db: psycopg.Connection, tmp_path: Path) -> Path:
    """A folder in step with a database of one memory."""
    remember(db, "tea is green")
    sync(db, tmp_path)
    return tmp_path


def edit(folder: Path, old: str, new: str) -> None:
    path = folder / "memory.md"
    text = path.read_bytes().decode()
    assert text.count(old) == 1
    path.write_bytes(text.replace(old, new).encode())


def texts(db: psycopg.Connection) -> list[str]:
    return [
        content
        for (content,) in db.execute(
            "SELECT content FROM memoir.memory WHERE status = 'active' ORDER BY content"
        )
    ]


def actions(done: Synced) -> list[tuple[str, str | None]]:
    return [(change.action, change.changed) for change in done.changes]


def test_an_empty_folder_gets_the_files_and_what_git_is_to_ignore(folder):
    assert sorted(path.name for path in folder.iterdir()) == [
        ".memoir-sync",
        "learnings.md",
        "memory.md",
    ]
    assert "- tea is green <!-- m:" in (folder / "memory.md").read_text()
    assert (folder / ".memoir-sync/.gitignore").read_text() == "*\n"
    # Also where the first sync was killed before it wrote that.
    killed = folder / "killed"
    (killed / ".memoir-sync").mkdir(parents=True)
    module._check_folder(killed, [], Options())
    assert (killed / ".memoir-sync/.gitignore").read_text() == "*\n"


def test_what_nobody_else_may_read_is_not_readable_in_the_base(db, folder):
    (folder / "memory.md").chmod(0o600)
    remember(db, "milk is white")
    sync(db, folder)
    modes = [(folder / name).stat().st_mode for name in ("memory.md", ".memoir-sync/memory.md")]
    assert [mode & 0o777 for mode in modes] == [0o600, 0o600]


def written(folder):
    """When the file was written, and which it is: reading it changes another time."""
    seen = (folder / "memory.md").stat()
    return seen.st_mtime_ns, seen.st_ino


def test_nothing_changed_writes_nothing(db, folder):
    before = written(folder)
    done = sync(db, folder)
    assert (done.changes, done.written, done.run_id) == ([], [], None)
    assert written(folder) == before


def test_an_edit_is_stored_and_a_new_bullet_gets_its_mark(db, folder):
    edit(folder, "tea is green", "tea is black")
    edit(folder, "## Known facts\n", "## Known facts\n\n- milk is white\n")
    done = sync(db, folder)
    assert sorted(actions(done)) == [("ADD", "database"), ("UPDATE", "database")]
    assert (texts(db), done.written) == (["milk is white", "tea is black"], ["memory.md"])
    assert "- milk is white <!-- m:" in (folder / "memory.md").read_text()
    assert sync(db, folder).changes == []


def test_a_file_keeps_its_line_ends_and_its_byte_order_mark(db, folder):
    path = folder / "memory.md"
    path.write_bytes("\ufeff".encode() + path.read_bytes().replace(b"\n", b"\r\n"))
    assert sync(db, folder).changes == []
    remember(db, "milk is white")
    sync(db, folder)
    data = path.read_bytes()
    assert data.startswith(b"\xef\xbb\xbf# Memory\r\n")
    assert data.count(b"\n") == data.count(b"\r\n")


def test_killed_before_the_files_are_written_the_next_run_does_it(db, folder, monkeypatch):
    edit(folder, "tea is green", "tea is black\n- milk is white")
    remember(db, "beer is brown")
    with monkeypatch.context() as patched:
        patched.setattr(module, "write_atomically", _killed)
        with pytest.raises(KeyboardInterrupt):
            sync(db, folder)
    stored = texts(db)
    done = sync(db, folder)
    assert all(change.changed == "file" for change in done.changes)
    assert (texts(db), sync(db, folder).changes) == (stored, [])
    assert sum(text in (folder / "memory.md").read_text() for text in stored) == len(stored)


def _killed(*_: object, **__: object) -> bool:
    raise KeyboardInterrupt


def test_killed_before_the_base_is_written_the_next_run_finds_nothing(db, folder, monkeypatch):
    edit(folder, "tea is green", "tea is black")
    write = module.write_atomically

    def files_only(path: Path, data: bytes, **how: Path) -> bool:
        if path.parent.name == module.BASES:
            raise KeyboardInterrupt
        return write(path, data, **how)

    with monkeypatch.context() as patched:
        patched.setattr(module, "write_atomically", files_only)
        with pytest.raises(KeyboardInterrupt):
            sync(db, folder)
    assert sync(db, folder).changes == []


def test_a_file_edited_meanwhile_is_not_overwritten(db, folder, monkeypatch):
    remember(db, "milk is white")
    ask = module._ask

    def edited_after(*arguments):
        answer = ask(*arguments)
        monkeypatch.setattr(module, "_ask", ask)
        edit(folder, "tea is green", "tea is black")
        return answer

    monkeypatch.setattr(module, "_ask", edited_after)
    sync(db, folder)
    assert texts(db) == ["milk is white", "tea is black"]
    assert "tea is black" in (folder / "memory.md").read_text()


def test_a_file_saved_while_its_successor_goes_to_disk_is_not_overwritten(db, folder, monkeypatch):
    remember(db, "milk is white")
    flush = os.fsync

    def saved_after(handle):
        monkeypatch.setattr("os.fsync", flush)
        edit(folder, "tea is green", "tea is black")
        flush(handle)

    monkeypatch.setattr("os.fsync", saved_after)
    assert sync(db, folder).written == ["memory.md"]
    assert texts(db) == ["milk is white", "tea is black"]
    assert "tea is black" in (folder / "memory.md").read_text()


def test_a_missing_file_is_written_anew(db, folder):
    (folder / "memory.md").unlink()
    sync(db, folder)
    assert "tea is green" in (folder / "memory.md").read_text()
    assert texts(db) == ["tea is green"]


def test_a_linked_file_stays_a_link(db, folder, tmp_path_factory):
    real = tmp_path_factory.mktemp("elsewhere") / "memory.md"
    shutil.move(folder / "memory.md", real)
    (folder / "memory.md").symlink_to(real)
    remember(db, "milk is white")
    sync(db, folder)
    assert (folder / "memory.md").is_symlink()
    assert "milk is white" in real.read_text()


def test_a_linked_base_overwrites_nothing_elsewhere(db, folder, tmp_path_factory):
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    (elsewhere / "memory.md").write_text("- of another folder\n")
    shutil.rmtree(folder / ".memoir-sync")
    (folder / ".memoir-sync").symlink_to(elsewhere)
    with pytest.raises(BadFile, match=r"\.memoir-sync is a link"):
        sync(db, folder)
    assert (elsewhere / "memory.md").read_text() == "- of another folder\n"


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"# Memory\n\n- caf\xe9\n", r"memory\.md is not UTF-8\s.*Line 3"),
        (b"# Memory\n- a\0b\n", r"memory\.md is not a text file\s.*Line 2"),
        (b"- one\n<<<<<<< HEAD\n- two\n", r"memory\.md, line 2: a merge of Git is not finished"),
        (b"# Memory\n- " + b"long " * 500, r"memory\.md, line 2: a memory of 2499 bytes"),
        (b"# Memory\n\n" * 1000, r"memory\.md has 10000 bytes, the limit is 9000"),
    ],
    ids=["latin1", "nul", "git", "memory", "size"],
)
def test_what_is_no_file_of_memories_is_refused_and_nothing_changed(db, folder, data, said):
    set_to(db, text_limit=2000)
    set_to(db, markdown_limit=9000)
    (folder / "memory.md").write_bytes(data)
    with pytest.raises(BadFile, match=said):
        sync(db, folder)
    assert (folder / "memory.md").read_bytes() == data
    assert texts(db) == ["tea is green"]


def test_a_file_of_60_mb_is_not_even_read(db, folder):
    with (folder / "memory.md").open("r+b") as file:
        file.truncate(60 * 1024 * 1024)
    with pytest.raises(BadFile, match="is too large"):
        sync(db, folder)


def test_a_file_that_could_not_be_read_again_is_not_written(db, folder):
    before = (folder / "memory.md").read_bytes()
    set_to(db, markdown_limit=len(before) + 9)
    remember(db, "milk is white")
    with pytest.raises(BadFile, match=r"memory\.md has \d+ bytes, the limit is"):
        sync(db, folder)
    assert (folder / "memory.md").read_bytes() == before


@pytest.mark.parametrize("name", ["memory.md", ".memoir-sync"])
def test_what_is_no_file_or_no_folder_is_told_before_anything_is_changed(db, tmp_path, name):
    remember(db, "tea is green")
    os.mkfifo(tmp_path / name)
    with pytest.raises(BadFile, match=name):
        sync(db, tmp_path)
    assert [path.name for path in tmp_path.glob("*.md")] == [name] * (name == "memory.md")


def test_where_nothing_can_be_written_nothing_is_changed(db, folder, monkeypatch):
    edit(folder, "tea is green", "tea is black")
    monkeypatch.setattr(module.os, "access", lambda path, _: path.name != "memory.md")
    with pytest.raises(BadFile, match=r"cannot write .*memory\.md: it is read-only"):
        sync(db, folder)
    assert texts(db) == ["tea is green"]


def test_while_memory_is_off_the_file_is_refused(db, folder):
    db.execute("SELECT memoir.set_settings('{\"memory\": false}')")
    edit(folder, "tea is green", "tea is black")
    with pytest.raises(NotPossible, match="is off"):
        sync(db, folder)


def test_two_syncs_at_once_agree(db, dsn, folder):
    edit(folder, "## Known facts\n", "## Known facts\n\n- milk is white\n- beer is brown\n")

    def run() -> None:
        with psycopg.connect(dsn, autocommit=True) as conn:
            sync(conn, folder)

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert texts(db) == ["beer is brown", "milk is white", "tea is green"]
    assert (folder / "memory.md").read_text().count("<!-- m:") == 3
    assert sync(db, folder).changes == []


@pytest.fixture
def watching(dsn: str, folder: Path, monkeypatch: pytest.MonkeyPatch):
    """A watch of the folder that looks often, stopped at the end."""
    monkeypatch.setattr(module, "_LOOK", 0.05)
    monkeypatch.setattr(module, "_FIRST_RECONNECT", 0.05)
    stop, told, failed = threading.Event(), [], []
    arguments = (dsn, folder, Options(user="default"), told.append, failed.append, stop)
    thread = threading.Thread(target=watch, args=arguments)
    thread.start()
    yield told, failed
    stop.set()
    thread.join(60)
    assert not thread.is_alive()


@pytest.mark.usefixtures("watching")
def test_a_watch_takes_over_what_changes_on_both_sides(db, folder):
    edit(folder, "tea is green", "tea is black")
    until(lambda: texts(db) == ["tea is black"])
    remember(db, "milk is white")
    until(lambda: "milk is white" in (folder / "memory.md").read_text())


def test_a_watch_outlives_a_bad_file_and_a_lost_connection(db, folder, watching):
    _, failed = watching
    remember(db, "milk is white")
    until(lambda: "milk is white" in (folder / "memory.md").read_text())
    good = (folder / "memory.md").read_bytes()
    (folder / "memory.md").write_bytes(b"caf\xe9\n")
    until(lambda: failed)
    (folder / "memory.md").write_bytes(good)
    db.execute(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
        " WHERE application_name = 'memoir sync' AND datname = current_database()"
    )
    edit(folder, "tea is green", "tea is black")
    until(lambda: texts(db) == ["milk is white", "tea is black"])


def test_a_watch_waits_for_an_editor_that_has_emptied_a_file(folder):
    path, waits = folder / "memory.md", []
    clock = threading.Event()
    watched = module._Watch(folder, Options(), print, print, clock)
    watched.files = [path]
    seen, text = watched._stamps(), path.read_text()

    def wait(seconds: float) -> None:
        waits.append(seconds)
        if len(waits) == 1:
            path.write_text(text)

    clock.wait = wait
    path.write_text("")
    watched._wait_until_quiet(seen)
    assert waits[0] == 3.0
    assert set(waits[1:]) == {0.3}


def test_what_an_editor_writes_in_two_pieces_is_read_when_it_is_whole(db, folder):
    path = folder / "memory.md"
    watched = module._Watch(folder, Options(), print, print, threading.Event())
    seen = watched._sync(db, {})
    whole = path.read_text().replace("tea is green", "tea is black")
    watched.stop.wait = lambda _: path.stat().st_size or path.write_text(whole)
    path.write_text("")
    watched._sync(db, seen)
    assert texts(db) == ["tea is black"]


def test_a_watch_syncs_without_any_sign_too_as_memories_end_by_the_clock(db, folder, monkeypatch):
    for pause in ("_LOOK", "_QUIET", "_AGAIN"):
        monkeypatch.setattr(module, pause, 0.01)
    stop, synced = threading.Event(), []

    def count(*_: object) -> Synced:
        synced.append(len(synced))
        if len(synced) == 3:
            stop.set()
        return Synced()

    monkeypatch.setattr(module, "sync", count)
    hangs = threading.Timer(60, stop.set)
    hangs.start()
    module._Watch(folder, Options(), print, print, stop).follow(db)
    hangs.cancel()
    assert len(synced) == 3


def test_a_watch_tells_of_a_conflict_once_and_when_it_is_settled(db, folder, monkeypatch):
    monkeypatch.setattr(module, "_QUIET", 0.0)
    told: list[Synced] = []
    watched = module._Watch(folder, Options(), told.append, print, threading.Event())
    db.execute("DELETE FROM memoir.memory")  # as an older backup does
    for _ in range(3):
        watched._sync(db, {})
    assert [actions(done) for done in told] == [[("CONFLICT", None)]]
    remember(db, "tea is green")
    for _ in range(3):
        watched._sync(db, {})
    assert [actions(done) for done in told[1:]] == [[("NOOP", "file")]]


def test_a_watch_that_is_stopped_meanwhile_leaves_the_file_to_the_editor(db, folder):
    watched = module._Watch(folder, Options(), print, print, threading.Event())
    seen = watched._sync(db, {})
    (folder / "memory.md").write_text("")
    watched.stop.set()
    watched._sync(db, seen)
    assert (folder / "memory.md").read_text() == ""


def test_a_watch_looks_only_at_files_of_memories(db, folder):
    watched = module._Watch(folder, Options(), print, print, threading.Event())
    watched._sync(db, {})
    seen = watched._stamps()
    (folder / "diary.md").write_text("of another program")
    assert watched._stamps() == seen
    edit(folder, "tea is green", "tea is black")
    assert watched._stamps() != seen


def test_a_watch_fills_a_folder_that_is_made_anew(db, folder, watching):
    told, failed = watching
    remember(db, "milk is white")
    until(lambda: told)
    folder.rename(folder.with_name("away"))
    until(lambda: failed)
    folder.mkdir()
    until((folder / "memory.md").exists)
    assert texts(db) == ["milk is white", "tea is green"]


@pytest.mark.usefixtures("watching")
def test_a_watch_outlives_notifications_that_others_send(db, folder):
    remember(db, "milk is white")
    until(lambda: "milk is white" in (folder / "memory.md").read_text())
    for payload in ("hello", "[]", "null", "[" * 7000):
        db.execute("SELECT pg_notify('memoir', %s)", (payload,))
    edit(folder, "tea is green", "tea is black")
    until(lambda: texts(db) == ["milk is white", "tea is black"])


def test_the_command_lists_what_it_did(memoir: Call, db, folder):
    edit(folder, "tea is green", "tea is black")
    done = memoir("sync", str(folder))
    assert done.exit_code == 0
    assert [" ".join(line.split()) for line in done.stdout.splitlines()[2::2]] == [
        f"memory.md:7 UPDATE database {value(db, 'SELECT memory_id FROM memoir.memory')}"
        " tea is black edited in memory.md",
        "changed: 1 in the database, 0 in the files; memoir undo --run 1 takes it back",
    ]
    assert memoir("sync", str(folder)).stdout == "files and database agree\n"


def test_no_more_than_forty_conflicts_are_shown(memoir: Call, db, folder):
    remember_all(db, [f"tea number {number}" for number in range(50)])
    sync(db, folder)
    db.execute("DELETE FROM memoir.memory")
    shown = memoir("sync", str(folder)).stdout
    assert (shown.count("\nconflict at "), "... and 11 more" in shown) == (40, True)
    assert "0 in the database, 0 in the files, 51 in conflict" in shown


def test_the_command_ends_with_1_where_there_are_conflicts(memoir: Call, db, folder):
    edit(folder, "tea is green", "tea is black")
    memory_id = value(db, "SELECT memory_id FROM memoir.memory")
    call(db, "update_memory", memory_id=memory_id, content="tea is white")
    done = memoir("sync", str(folder))
    assert done.exit_code == 1
    assert f"conflict at memory.md:7, memory {memory_id}\n  file      tea is black" in done.stdout
    assert memoir("sync", str(folder), "--ours").exit_code == 0
    assert texts(db) == ["tea is black"]


def test_a_dry_run_of_the_command_changes_nothing(memoir: Call, db, folder):
    edit(folder, "tea is green", "tea is black")
    assert "would be changed: 1 in the database" in memoir("sync", str(folder), "--dry-run").stdout
    assert texts(db) == ["tea is green"]


def test_half_a_file_is_refused_until_it_is_meant(memoir: Call, db, folder):
    for number in range(20):
        remember(db, f"number {number}")
    memoir("sync", str(folder))
    (folder / "memory.md").write_text("# Memory\n\n## Known facts\n")
    done = memoir("sync", str(folder))
    assert done.exit_code == 1
    assert "21 of 21 memories are missing from memory.md" in done.stderr
    assert memoir("sync", str(folder), "--allow-deletions").exit_code == 0
    assert texts(db) == []


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["nowhere"], 1, "nowhere is not a folder"),
        ([".", "--watch", "--dry-run"], 2, "leave --dry-run out"),
        ([".", "--ours", "--theirs"], 2, "not both"),
        ([], 2, "Missing argument 'DIR'"),
    ],
)
def test_the_command_refuses_what_it_cannot_do(memoir: Call, arguments, code, said):
    done = memoir("sync", *arguments)
    assert (done.exit_code, said in done.stderr) == (code, True)


def git(folder: Path, *arguments: str, fails: bool = False) -> None:
    who = ["-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "core.autocrlf=false"]
    done = subprocess.run(
        ["git", *who, *arguments], cwd=folder, capture_output=True, text=True, check=False
    )
    assert (done.returncode != 0) == fails, done.stderr


@pytest.fixture
def checkouts(db, folder, tmp_path_factory) -> tuple[Path, Path]:
    """The checkouts of two people who edit the files of one database."""
    for number in range(9):
        remember(db, f"number {number}")
    sync(db, folder)
    git(folder, "init", "-q", "-b", "main")
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "memory")
    other = tmp_path_factory.mktemp("bob") / "checkout"
    git(folder, "clone", "-q", str(folder), str(other))
    assert not (other / ".memoir-sync").exists()
    sync(db, other)
    return folder, other


@pytest.mark.skipif(not shutil.which("git"), reason="git is not installed")
def test_edits_of_two_people_that_git_merged_are_taken_over(db, checkouts):
    ada, bob = checkouts
    edit(ada, "number 1 ", "number one ")
    git(ada, "commit", "-qam", "ada")
    edit(bob, "number 8 ", "number eight ")
    edit(bob, "## Known facts\n", "## Known facts\n\n- a new one\n")
    sync(db, bob)
    git(bob, "commit", "-qam", "bob")
    git(bob, "pull", "-q", "--no-rebase", "--no-edit")
    assert actions(sync(db, bob)) == [("UPDATE", "database")]
    git(ada, "pull", "-q", "--no-rebase", "--no-edit", str(bob), "main")
    assert sync(db, ada).changes == []
    assert {"number one", "number eight", "a new one"} <= set(texts(db))


@pytest.mark.skipif(not shutil.which("git"), reason="git is not installed")
def test_what_git_could_not_merge_is_refused_with_its_line(db, checkouts):
    ada, bob = checkouts
    for checkout, said in ((ada, "number one "), (bob, "number uno ")):
        edit(checkout, "number 1 ", said)
        git(checkout, "commit", "-qam", "an edit")
    git(bob, "pull", "-q", "--no-rebase", fails=True)
    with pytest.raises(BadFile, match=r"memory\.md, line \d+: a merge of Git is not finished"):
        sync(db, bob)
