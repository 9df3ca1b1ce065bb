"""Whatever was done on both sides: they agree after a sync, and nothing is lost unasked."""

from __future__ import annotations

import re

import psycopg
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.examples import examples
from tests.markdown_folder import Folder
from tests.rows import call, remember, store

KINDS = {"fact": "Known facts", "goal": "Plans", "preference": "User preferences"}
NUMBERS = range(6)
CHANGES = st.lists(
    st.tuples(
        st.sampled_from(["edit", "delete", "move", "add"]),
        st.sampled_from(NUMBERS),
        st.sampled_from(sorted(KINDS)),
    ),
    max_size=5,
)
ITEM = re.compile(r"^- (.*) <!-- m:(\d+)\.\w+ -->$", re.MULTILINE)

Said = dict[int, tuple[str, str]]


def _in_database(conn: psycopg.Connection) -> Said:
    """Kind and text by id."""
    rows = conn.execute(
        "SELECT memory_id, kind, content FROM memoir.memory WHERE status = 'active'"
    )
    return {memory_id: (kind, content) for memory_id, kind, content in rows}


def _in_file(folder: Folder) -> Said:
    found: Said = {}
    for section in folder.files["memory"].split("\n## ")[1:]:
        kind = next(k for k, heading in KINDS.items() if section.startswith(heading))
        found |= {int(number): (kind, text) for text, number in ITEM.findall(section)}
    return found


def _change_database(conn: psycopg.Connection, ids: list[int], changes: list) -> None:
    for count, (what, number, kind) in enumerate(changes):
        if what == "add":
            remember(conn, f"added {count} in the database", kind)
        elif ids[number] not in _in_database(conn):
            continue
        elif what == "delete":
            call(conn, "forget", memory_id=ids[number])
        elif what == "move":
            call(conn, "update_memory", memory_id=ids[number], kind=kind)
        else:
            content = f"number {number} of the database"
            call(conn, "update_memory", memory_id=ids[number], content=content)


def _change_file(folder: Folder, ids: list[int], changes: list) -> None:
    for count, (what, number, kind) in enumerate(changes):
        line = re.search(rf"^- (.*) (<!-- m:{ids[number]}\..*)\n", folder.files["memory"], re.M)
        if what == "add":
            _put(folder, kind, f"- added {count} in the file\n")
        elif line is None:
            continue
        else:
            folder.edit(line[0], "")
            if what == "move":
                _put(folder, kind, line[0])
            elif what == "edit":
                before = next(k for k, v in folder.where.items() if ids[number] in v)
                _put(folder, before, f"- number {number} of the file {line[2]}\n")


def _put(folder: Folder, kind: str, line: str) -> None:
    folder.edit(f"## {KINDS[kind]}\n\n", f"## {KINDS[kind]}\n\n{line}")


@pytest.mark.usefixtures("side_by_side", "planned_once")
@given(CHANGES, CHANGES, st.sampled_from(["report", "ours", "theirs"]))
@examples(40)
def test_both_sides_agree_after_a_sync(tx, in_file, in_database, strategy):
    with tx.transaction(force_rollback=True):
        kinds = sorted(KINDS)
        ids = store(tx, ({"content": f"number {n}", "kind": kinds[n % 3]} for n in NUMBERS))
        folder = Folder(tx, files={"memory": None})
        folder.sync()
        folder.where = {k: {i for i in ids if _in_file(folder)[i][0] == k} for k in KINDS}
        _change_file(folder, ids, in_file)
        _change_database(tx, ids, in_database)
        wanted, stored = _in_file(folder), _in_database(tx)
        found = folder.sync(strategy, allow_deletions=True)
        conflicts = {int(c["memory_id"]) for c in folder.changes if c["action"] == "CONFLICT"}
        file, database = _in_file(folder), _in_database(tx)
        agreed = file.keys() | database.keys() - conflicts
        assert {i: file.get(i) for i in agreed - conflicts} == {
            i: database.get(i) for i in agreed - conflicts
        }
        assert {i: wanted.get(i) for i in conflicts} == {i: file.get(i) for i in conflicts}
        assert {i: stored.get(i) for i in conflicts} == {i: database.get(i) for i in conflicts}
        assert strategy == "report" or not conflicts
        both = [(i, wanted.get(i), stored.get(i)) for i in ids if wanted.get(i) != stored.get(i)]
        for i, said, had in both:
            if strategy == "ours" and i in wanted and said[1].endswith("of the file"):
                assert said in database.values()
            if strategy == "theirs" and i in stored and had[1].endswith("of the database"):
                assert file[i] == had
        assert folder.sync() == [each for each in found if each[0] == "CONFLICT"]
