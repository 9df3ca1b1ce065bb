"""Files and database, one side changed, the other, both: who follows whom."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import psycopg
import pytest
from tests.markdown_folder import Folder
from tests.rows import call, remember, until_blocked, value


@pytest.fixture
def folder(tx: psycopg.Connection) -> Folder:
    """memory.md with two facts, learnings.md with a lesson, in step with the database."""
    remember(tx, "tea is green", created_at="2025-01-01")
    remember(tx, "coffee is black", created_at="2025-01-02")
    remember(tx, "deploys fail on Mondays", "lesson")
    made = Folder(tx)
    made.sync()
    return made


def contents(conn: psycopg.Connection, status: str = "active", user: str = "default") -> list[str]:
    """The texts of a user's memories, in their order."""
    rows = conn.execute(
        "SELECT content FROM memoir.memory WHERE user_id = %s AND status = %s ORDER BY content",
        (user, status),
    )
    return [content for (content,) in rows]


def id_of(conn: psycopg.Connection, content: str) -> int:
    return value(conn, "SELECT memory_id FROM memoir.memory WHERE content = %s", content)


def test_a_kind_has_its_section_and_its_file(folder):
    memory, learnings = folder.files["memory"], folder.files["learnings"]
    assert memory.startswith("# Memory\n\n<!-- A bullet is a memory;")
    assert "\n## Known facts\n\n- tea is green <!-- m:" in memory
    assert "\n## Lessons\n\n- deploys fail on Mondays <!-- m:" in learnings
    assert "coffee" not in learnings


def test_a_capability_written_in_the_file_is_in_the_profile(folder, tx):
    folder.files["memory"] += "\n## Capabilities\n\n- reads seven days of logs\n"
    assert folder.sync() == [("ADD", "database")]
    assert "reads seven days of logs" in value(tx, "SELECT snippet FROM memoir.profile")


def test_a_new_memory_does_not_take_in_what_the_user_has_set_in(folder, tx):
    folder.files["memory"] += "\n## Capabilities\n\n  Mine, see below.\nSo far none.\n"
    remember(tx, "reads seven days of logs", "capability")
    assert folder.sync() == [("ADD", "file")]
    below = "  Mine, see below.\nSo far none.\n\n- reads seven days of logs <!-- m:"
    assert f"## Capabilities\n\n{below}" in folder.files["memory"]
    assert folder.sync() == []


def test_nothing_changed_is_nothing_to_do(folder):
    files, bases = dict(folder.files), dict(folder.bases)
    assert folder.sync() == []
    assert (folder.files, folder.bases, folder.run_id) == (files, bases, None)


def test_an_edit_in_the_file_is_a_revision_by_author_file(folder, tx):
    folder.edit("tea is green", "tea is black")
    assert folder.sync() == [("UPDATE", "database")]
    assert contents(tx) == ["coffee is black", "deploys fail on Mondays", "tea is black"]
    row = call(tx, "history", memory_id=id_of(tx, "tea is black"))[-1]
    assert (row.author, row.reason, row.old_values) == (
        "file",
        "edited in memory.md",
        {"content": "tea is green"},
    )


def test_a_bullet_about_what_had_ended_is_true_again(folder, tx):
    remember(tx, "milk is white", created_at="2025-01-01", valid_until="2025-02-01")
    folder.files["memory"] += "- milk is white\n"
    folder.sync()
    assert (folder.sync(), folder.files["memory"].count("- milk is white <!-- m:")) == ([], 1)


def test_an_edit_takes_the_summary_of_the_old_text_away(folder, tx):
    tx.execute("UPDATE memoir.memory SET summary = 'green' WHERE content = 'tea is green'")
    folder.edit("tea is green", "tea is black")
    folder.sync()
    assert value(tx, "SELECT summary FROM memoir.memory WHERE content = 'tea is black'") is None


def test_an_edit_in_the_database_comes_to_the_file(folder, tx):
    call(tx, "update_memory", memory_id=id_of(tx, "tea is green"), content="tea is\nblack")
    assert folder.sync() == [("UPDATE", "file")]
    assert "- tea is <!-- m:" in folder.files["memory"]
    assert " -->\n  black\n" in folder.files["memory"]
    assert folder.sync() == []


def test_what_is_deleted_from_the_file_is_forgotten_and_can_be_restored(folder, tx):
    line = next(x for x in folder.files["memory"].splitlines() if "tea" in x)
    folder.edit(line + "\n", "")
    assert folder.sync() == [("FORGET", "database")]
    assert contents(tx, "forgotten") == ["tea is green"]
    call(tx, "restore", memory_id=id_of(tx, "tea is green"))
    assert folder.sync() == [("ADD", "file")]


def test_a_summary_that_may_tell_of_what_was_deleted_is_made_anew(folder, tx):
    call(tx, "set_rolling_summary", summary="Ada likes green tea.")
    folder.edit("tea is green ", "")
    folder.sync()
    assert value(tx, "SELECT array_agg(kind) FROM memoir.job") == ["rolling_summary"]


def test_an_emptied_bullet_is_forgotten_and_goes(folder, tx):
    folder.edit("tea is green ", "")
    assert folder.sync() == [("FORGET", "database")]
    assert contents(tx, "forgotten") == ["tea is green"]
    assert folder.files["memory"].count("<!-- m:") == 1


def test_what_the_database_forgot_leaves_the_file(folder, tx):
    call(tx, "forget", memory_id=id_of(tx, "tea is green"))
    assert folder.sync() == [("FORGET", "file")]
    assert "tea" not in folder.files["memory"]
    assert folder.changes[0]["reason"] == "forgotten in the database"


def test_what_is_purged_leaves_the_file_and_does_not_come_back(folder, tx):
    call(tx, "purge", memory_id=id_of(tx, "tea is green"))
    assert folder.sync() == [("FORGET", "file")]
    assert (contents(tx), folder.sync()) == (["coffee is black", "deploys fail on Mondays"], [])


@pytest.fixture
def restored(folder, tx):
    """The folder beside a database that an older backup has brought back without the tea."""
    tx.execute("DELETE FROM memoir.memory WHERE content = 'tea is green'")
    return folder


def test_what_an_older_backup_lacks_stays_in_the_file(restored):
    before = restored.files["memory"]
    for _ in range(2):
        assert restored.sync() == [("CONFLICT", None)]
    assert restored.changes[0]["reason"].startswith("gone from the database: an older backup")
    assert restored.files["memory"] == before


def test_what_an_older_backup_lacks_is_stored_again_by_the_side_of_the_file(restored, tx):
    assert restored.sync("ours") == [("ADD", "database")]
    assert "tea is green" in contents(tx)
    assert restored.sync() == []


def test_what_an_older_backup_lacks_leaves_the_file_by_the_side_of_the_database(restored, tx):
    assert restored.sync("theirs") == [("FORGET", "file")]
    assert "tea" not in restored.files["memory"]
    assert (restored.sync(), len(contents(tx))) == ([], 2)


def test_what_an_older_backup_lacks_and_somebody_says_again_is_that_bullet(restored, tx):
    remember(tx, "tea is green")
    assert restored.sync() == [("NOOP", "file")]
    assert restored.files["memory"].count("tea is green") == 1
    assert restored.sync() == []


@pytest.mark.usefixtures("side_by_side")
def test_of_two_that_say_the_same_the_purged_one_goes(folder, tx):
    memory_id = remember(tx, "tea is green", session_id="monday")
    folder.sync()
    call(tx, "purge", memory_id=memory_id)
    assert folder.sync() == [("FORGET", "file")]
    assert folder.files["memory"].count("tea is green") == 1


@pytest.mark.parametrize(("status", "action"), [("active", "UPDATE"), ("forgotten", "RESTORE")])
def test_a_text_that_an_older_backup_lacks_stays_in_the_file(folder, tx, status, action):
    folder.edit("tea is green", "tea is black")
    folder.sync()
    tx.execute("DELETE FROM memoir.revision")
    back = "UPDATE memoir.memory SET content = 'tea is green', status = %s, retired_at = %s"
    at = None if status == "active" else "2025-02-01"
    tx.execute(f"{back} WHERE content = 'tea is black'", (status, at))
    assert folder.sync() == [("CONFLICT", None)]
    assert folder.changes[0]["reason"].startswith("the database does not know the text of the last")
    assert folder.sync("ours") == [(action, "database")]
    assert "tea is black" in contents(tx)


def test_a_new_bullet_becomes_a_memory_of_the_kind_above_it(folder, tx):
    folder.edit("## Known facts\n", "## Known facts\n\n* milk is white\n")
    assert folder.sync() == [("ADD", "database")]
    row = tx.execute(
        "SELECT kind, importance, origin FROM memoir.memory WHERE content = 'milk is white'"
    ).fetchone()
    assert row == ("fact", 0.8, "file")
    assert f"\n* milk is white <!-- m:{id_of(tx, 'milk is white')}." in folder.files["memory"]
    assert folder.sync() == []


@pytest.mark.parametrize(
    ("heading", "kind"),
    [
        ("## preferences", "preference"),
        ("### Plans ###", "goal"),
        ("# Lessons", "lesson"),
        ("## Of my own", "general"),
        ("## Known facts\n### Of my own", "fact"),
        ("## Known facts\n## Of my own", "general"),
    ],
)
def test_headings_name_kinds(tx, heading, kind):
    folder = Folder(tx, files={"memory": f"# Memory\n\n{heading}\n- milk is white\n"})
    folder.sync()
    assert value(tx, "SELECT kind FROM memoir.memory WHERE content = 'milk is white'") == kind
    assert folder.sync() == []


def test_a_memory_under_another_heading_has_another_kind(folder, tx):
    line = next(x for x in folder.files["memory"].splitlines() if "tea" in x)
    folder.edit(line + "\n", "")
    folder.files["memory"] += f"\n## User preferences\n\n{line}\n"
    assert folder.sync() == [("UPDATE", "database")]
    assert value(tx, "SELECT kind FROM memoir.memory WHERE content ~ 'tea'") == "preference"


def test_a_memory_under_a_heading_of_ones_own_keeps_its_kind(folder, tx):
    folder.edit("## Known facts", "## Drinks")
    assert folder.sync() == []
    assert value(tx, "SELECT kind FROM memoir.memory WHERE content ~ 'tea'") == "fact"


def test_a_memory_of_another_kind_moves_to_its_section(folder, tx):
    call(tx, "update_memory", memory_id=id_of(tx, "tea is green"), kind="preference")
    assert folder.sync() == [("UPDATE", "file")]
    assert "\n## User preferences\n\n- tea is green" in folder.files["memory"]
    assert folder.files["memory"].count("tea") == 1
    assert folder.sync() == []


def test_a_memory_of_a_kind_of_the_other_file_moves_there(folder, tx):
    call(tx, "update_memory", memory_id=id_of(tx, "tea is green"), kind="lesson")
    assert folder.sync() == [("UPDATE", "file")]
    assert "tea" not in folder.files["memory"]
    assert " -->\n- tea is green <!-- m:" in folder.files["learnings"]
    assert folder.sync() == []


def test_a_memory_moved_to_the_other_file_is_not_deleted(folder, tx):
    line = next(x for x in folder.files["memory"].splitlines() if "tea" in x)
    folder.edit(line + "\n", "")
    folder.edit("## Lessons\n\n", f"## Lessons\n\n{line}\n", "learnings")
    assert folder.sync() == [("UPDATE", "database")]
    assert value(tx, "SELECT kind FROM memoir.memory WHERE content ~ 'tea'") == "lesson"
    assert folder.sync() == []


@pytest.mark.parametrize("heading", ["## Lessons", "## Drinks"])
def test_a_memory_that_stands_in_another_file_than_its_kind_is_changed_there_alone(tx, heading):
    folder = Folder(tx, files={"memory": f"{heading}\n\n- tea is green\n", "learnings": None})
    folder.sync()
    call(tx, "update_memory", memory_id=id_of(tx, "tea is green"), kind="lesson")
    folder.sync()
    call(tx, "update_memory", memory_id=id_of(tx, "tea is green"), content="tea is black")
    assert folder.sync() == [("UPDATE", "file")]
    assert "- tea is black <!-- m:" in folder.files["memory"]
    assert "tea" not in folder.files["learnings"]
    assert folder.sync() == []


def both_edit(folder: Folder) -> None:
    """The file says black, the database white."""
    memory_id = id_of(folder.conn, "tea is green")
    folder.edit("tea is green", "tea is black")
    call(folder.conn, "update_memory", memory_id=memory_id, content="tea is white")


def test_changed_on_both_sides_nothing_is_overwritten(folder, tx):
    both_edit(folder)
    before = folder.files["memory"]
    for _ in range(2):
        assert folder.sync() == [("CONFLICT", None)]
        assert (folder.files["memory"], contents(tx)[-1]) == (before, "tea is white")
    conflict = folder.changes[0]
    assert (conflict["file_text"], conflict["database_text"]) == ("tea is black", "tea is white")
    assert before.splitlines()[conflict["line"] - 1].startswith("- tea is black")


def test_what_another_is_just_changing_is_not_overwritten(db, dsn):
    remember(db, "tea is green")
    folder = Folder(db)
    folder.sync()
    with psycopg.connect(dsn) as other, ThreadPoolExecutor(1) as pool:
        both_edit(replace(folder, conn=other))
        synced = pool.submit(folder.sync)
        until_blocked(other)
        other.commit()
        assert synced.result() == [("CONFLICT", None)]
    assert contents(db) == ["tea is white"]


def test_with_ours_the_file_wins(folder, tx):
    both_edit(folder)
    assert folder.sync("ours") == [("UPDATE", "database")]
    assert contents(tx)[-1] == "tea is black"
    assert folder.sync() == []


def test_with_theirs_the_database_wins(folder):
    both_edit(folder)
    assert folder.sync("theirs") == [("UPDATE", "file")]
    assert "tea is white" in folder.files["memory"]
    assert folder.sync() == []


def test_the_same_edit_on_both_sides_is_none(folder):
    both_edit(folder)
    folder.edit("tea is black", "tea is white")
    assert folder.sync() == []


@pytest.mark.parametrize(
    ("strategy", "expected", "left"),
    [
        ("report", ("CONFLICT", None), "tea is white"),
        ("ours", ("FORGET", "database"), None),
        ("theirs", ("ADD", "file"), "tea is white"),
    ],
)
def test_deleted_in_the_file_and_edited_in_the_database(folder, tx, strategy, expected, left):
    both_edit(folder)
    folder.files["memory"] = "".join(
        line for line in folder.files["memory"].splitlines(True) if "tea" not in line
    )
    assert folder.sync(strategy) == [expected]
    assert folder.sync() == ([expected] if strategy == "report" else [])
    assert next((text for text in contents(tx) if "tea" in text), None) == left


@pytest.mark.parametrize(
    ("strategy", "expected", "left"),
    [
        ("report", ("CONFLICT", None), "tea is black"),
        ("ours", ("RESTORE", "database"), "tea is black"),
        ("theirs", ("FORGET", "file"), None),
    ],
)
def test_edited_in_the_file_and_forgotten_in_the_database(folder, tx, strategy, expected, left):
    call(tx, "forget", memory_id=id_of(tx, "tea is green"))
    folder.edit("tea is green", "tea is black")
    assert folder.sync(strategy) == [expected]
    assert folder.sync() == ([expected] if strategy == "report" else [])
    assert ("tea is black" in folder.files["memory"]) == (left is not None)
    assert ("tea is black" in contents(tx)) == (strategy == "ours")


def supersede(conn: psycopg.Connection) -> None:
    call(conn, "supersede", memory_id=id_of(conn, "tea is green"), by_id=remember(conn, "no tea"))


def end(conn: psycopg.Connection) -> None:
    conn.execute(
        "UPDATE memoir.memory SET valid_until = '2025-02-01' WHERE content = 'tea is green'"
    )


@pytest.mark.parametrize(("leave", "why"), [(supersede, "superseded"), (end, "ended")])
@pytest.mark.parametrize(
    ("strategy", "expected", "found"),
    [
        ("report", ("CONFLICT", None), "changed in memory.md and in the database"),
        ("ours", ("ADD", "database"), "edited in memory.md, {} in the database"),
        ("theirs", ("FORGET", "file"), "{} in the database"),
    ],
)
def test_edited_in_the_file_and_no_longer_true_in_the_database(
    folder, tx, leave, why, strategy, expected, found
):
    leave(tx)
    folder.edit("tea is green", "tea is black")
    folder.sync(strategy)
    reasons = {(change["action"], change["changed"]): change["reason"] for change in folder.changes}
    assert reasons[expected] == found.format(why)
    assert folder.sync() == ([expected] if strategy == "report" else [])
    assert folder.files["memory"].count("tea is black") == (strategy != "theirs")
    assert ("tea is black" in contents(tx)) == (strategy == "ours")


def test_a_bullet_that_comes_back_brings_its_memory_back(folder, tx):
    before = folder.files["memory"]
    line = next(x for x in before.splitlines() if "tea" in x)
    folder.edit(line + "\n", "")
    folder.sync()
    folder.files["memory"] = before
    assert folder.sync() == [("RESTORE", "database")]
    assert len(contents(tx)) == 3


def test_without_a_base_nothing_is_deleted(folder, tx):
    clone = folder.clone()
    line = next(x for x in clone.files["memory"].splitlines() if "tea" in x)
    clone.edit(line + "\n", "")
    assert clone.sync() == [("ADD", "file")]
    assert len(contents(tx)) == 3


def test_without_a_base_an_edit_is_a_conflict_unless_the_text_is_merely_old(folder, tx):
    clone = folder.clone()
    clone.edit("coffee is black", "coffee is brown")
    call(tx, "update_memory", memory_id=id_of(tx, "tea is green"), content="tea is white")
    assert clone.sync() == [("UPDATE", "file"), ("CONFLICT", None)]
    assert "tea is white" in clone.files["memory"]


def test_without_a_base_what_was_forgotten_leaves_an_old_file(folder, tx):
    clone = folder.clone()
    call(tx, "forget", memory_id=id_of(tx, "tea is green"))
    assert clone.sync() == [("FORGET", "file")]


def test_two_people_with_one_database_see_each_others_edits(folder):
    clone = folder.clone(bases=dict(folder.bases))
    folder.edit("tea is green", "tea is black")
    folder.sync()
    clone.edit("## Known facts\n", "## Known facts\n\n- milk is white\n")
    assert clone.sync() == [("ADD", "database"), ("UPDATE", "file")]
    assert folder.sync() == [("ADD", "file")]
    assert (folder.sync(), clone.sync()) == ([], [])


def test_a_run_takes_all_of_a_sync_back(folder, tx):
    folder.edit("tea is green", "tea is black")
    folder.edit("## Known facts\n", "## Known facts\n\n- milk is white\n")
    folder.sync()
    call(tx, "undo_run", run_id=int(folder.run_id))
    assert contents(tx) == ["coffee is black", "deploys fail on Mondays", "tea is green"]


def test_a_text_that_another_memory_has_is_a_conflict_and_the_rest_goes_on(folder, tx):
    folder.edit("tea is green", "coffee is black")
    folder.edit("## Known facts\n", "## Known facts\n\n- milk is white\n")
    assert folder.sync() == [("ADD", "database"), ("CONFLICT", None)]
    assert "is in the way of memory" in folder.changes[1]["reason"]
    assert contents(tx)[1:] == ["deploys fail on Mondays", "milk is white", "tea is green"]


def test_a_dry_run_tells_and_changes_nothing(folder, tx):
    folder.edit("tea is green", "tea is black")
    assert folder.sync(dry_run=True) == [("UPDATE", "database")]
    assert contents(tx)[-1] == "tea is green"
    assert folder.sync() == [("UPDATE", "database")]


def test_a_secret_stays_in_the_file_and_is_not_stored(folder, tx):
    secret = "sk-" + "A1b2C3d4E5f6G7h8I9j0" * 2
    folder.edit("## Known facts\n", f"## Known facts\n\n- the key is {secret}\n")
    assert folder.sync() == [("ADD", "database")]
    assert not any(secret in text for text in contents(tx))
    assert secret in folder.files["memory"]
    assert secret not in folder.bases["memory"]
    assert folder.sync() == []


def test_a_secret_below_a_line_that_ends_in_blanks_stays_in_the_file(folder):
    folder.edit("## Known facts\n", "## Known facts\n\n- login  \n  password: hunter2secret9\n")
    assert folder.sync() == [("ADD", "database")]
    assert folder.sync() == []
    assert "\n  password: hunter2secret9\n" in folder.files["memory"]


def test_what_is_not_true_any_more_or_waits_stands_in_no_file(tx):
    remember(tx, "over", valid_from="2024-01-01", valid_until="2024-02-01")
    tx.execute("UPDATE memoir.profile SET settings = '{\"confirm\": true}'")
    remember(tx, "waits", source="agent")
    remember(tx, "said", "turn", session_id="s", turn=0)
    folder = Folder(tx)
    assert folder.sync() == []


def test_what_waits_is_confirmed_by_writing_it(tx):
    remember(tx, "tea is green")
    tx.execute("UPDATE memoir.profile SET settings = '{\"confirm\": true}'")
    waiting = remember(tx, "milk is white", source="agent")
    folder = Folder(tx)
    folder.sync()
    folder.edit("## Known facts\n", "## Known facts\n\n- milk is white\n")
    assert folder.sync() == [("UPDATE", "database")]
    run = folder.run_id
    assert contents(tx) == ["milk is white", "tea is green"]
    assert f"- milk is white <!-- m:{waiting}." in folder.files["memory"]
    assert folder.sync() == []
    call(tx, "undo_run", run_id=run)
    assert contents(tx, "pending") == ["milk is white"]


def test_the_memories_of_another_user_stay_his(folder, tx):
    remember(tx, "beer is brown", user_id="bob")
    other = folder.clone()
    other.user = "bob"
    assert sorted(other.sync()) == [("ADD", "database")] * 3 + [("ADD", "file")]
    assert len(contents(tx)) == 3
    assert "beer" in other.files["memory"]
    assert set(other.files["memory"].split("<!-- m:")).isdisjoint(
        folder.files["memory"].split("<!-- m:")[1:]
    )


def test_the_base_of_another_user_is_none(folder, tx):
    other = folder.clone(bases=dict(folder.bases))
    other.user = "bob"
    assert other.sync() == [("ADD", "database")] * 3
    assert len(contents(tx, user="bob")) == 3


def test_while_memory_is_off_a_file_changes_nothing(folder, tx):
    tx.execute("SELECT memoir.set_settings('{\"memory\": false}')")
    folder.edit("tea is green", "tea is black")
    with pytest.raises(psycopg.Error, match=r"memory of user .* is off"), tx.transaction():
        folder.sync()
