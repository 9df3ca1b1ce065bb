"""Moving a user: ids, vectors, what works afterwards, and what is refused."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable

import psycopg
import pytest
from psycopg import sql
from psycopg.types.json import Jsonb
from pytest_postgresql import factories
from tests.application import attach, fill, make_tables, memories
from tests.moving import export, import_lines, live, moved_rows, user_tables
from tests.rows import add_event, ago, call, explain, recall, refused, remember, row_counts, value

other_database = factories.postgresql("installed", dbname="other")


@pytest.fixture
def other(other_database: psycopg.Connection) -> psycopg.Connection:
    """A second database with memoir in it."""
    other_database.autocommit = True
    return other_database


def ids(conn: psycopg.Connection, user: str) -> list[int]:
    rows = conn.execute(
        "SELECT memory_id FROM memoir.memory WHERE user_id = %s ORDER BY 1", (user,)
    )
    return [memory_id for (memory_id,) in rows]


def rebuilt(lines: list[str], change: Callable[[list[str]], list[str]]) -> list[str]:
    """The lines after a change, with the counts and the checksum that they should have."""
    changed = change(lines[1:-1])
    header = json.loads(lines[0])
    counts: dict[str, int] = {}
    for line in changed:
        record = line[2:].split('"')[0]
        counts[record] = counts.get(record, 0) + 1
    header["pgmemoir"]["counts"] = counts
    return [json.dumps(header), *changed, *ending(changed)]


def ending(lines: list[str]) -> list[str]:
    """The last line of these."""
    checksum = b""
    for line in lines:
        checksum = hashlib.sha256(checksum + line.encode()).digest()
    return [json.dumps({"end": {"lines": len(lines) + 2, "sha256": checksum.hex()}})]


def test_another_database_takes_over_the_same(db, other):
    live(db, "ada")
    lines = export(db, "ada", vectors=True)
    assert import_lines(other, lines, "ada").state == "imported"
    assert export(other, "ada", vectors=True)[1:] == lines[1:]


def test_the_sequences_go_on_behind_the_ids(tx):
    remember(tx, "tea is green", user_id="ada")
    lines = export(tx, "ada")
    header = json.loads(lines[0])
    header["pgmemoir"]["highest_id"] = "5000000"
    lines[0] = json.dumps(header)
    import_lines(tx, lines, "bob")
    assert remember(tx, "tea is black", user_id="bob") > 5_000_000
    assert call(tx, "relate", from_id=ids(tx, "bob")[0], to_id=ids(tx, "bob")[1], user_id="bob")


def test_the_highest_id_may_be_that_of_a_change_that_only_a_relation_names(lived):
    lived.execute(
        "UPDATE memoir.relation AS r SET change_id = 1000000 + (SELECT max(revision_id)"
        " FROM memoir.revision) WHERE r.change_id IS NOT NULL"
    )
    lines = export(lived, "ada")
    assert import_lines(lived, lines, "bob").state == "imported"


def test_new_ids_are_the_old_ones_and_one_number(lived):
    newest = max(ids(lived, "ada"))
    import_lines(lived, export(lived, "ada", vectors=True), "bob", new_ids=True)
    shift = ids(lived, "bob")[0] - ids(lived, "ada")[0]
    assert ids(lived, "bob") == [each + shift for each in ids(lived, "ada")]
    assert min(ids(lived, "bob")) > newest
    (kept,) = lived.execute(
        "SELECT ids, used_ids FROM memoir.retrieval WHERE user_id = 'bob' AND used_ids IS NOT NULL"
    )
    assert set(kept[1]) <= set(ids(lived, "bob"))


def test_new_ids_stand_in_recalls_that_were_folded_into_events(tx):
    add_event(tx, "task_failed", {"task": "tea"}, user_id="ada")
    id_ = remember(tx, "tea is green", user_id="ada")
    retrieval = recall(tx, "tea", user_id="ada").retrieval_id
    call(tx, "mark_used", retrieval_id=retrieval, memory_ids=[id_], user_id="ada")
    tx.execute("UPDATE memoir.retrieval SET created_at = created_at - interval '9 days'")
    call(tx, "maintain", only_user="ada")
    import_lines(tx, export(tx, "ada"), "bob", new_ids=True)
    folded = "SELECT payload FROM memoir.event WHERE type = 'memory_retrieval' AND user_id = %s"
    hers, his = (value(tx, folded, user) for user in ("ada", "bob"))
    shift = ids(tx, "bob")[0] - id_
    assert his["used"] == [str(id_ + shift)]
    assert int(his["retrieval_id"]) == retrieval + shift
    for old, new in zip(hers["injected"], his["injected"], strict=True):
        for name in ("memory_id", "event_id"):
            if name in old:
                assert int(new.pop(name)) == int(old.pop(name)) + shift
        assert old == new


def test_recall_is_the_same(lived):
    import_lines(lived, export(lived, "ada", vectors=True), "bob")
    for question in ("What does Zanzibar drink?", "学校", None):
        asked = {"query_vec": "[1,2,4]", "as_of": ago(), "budget": 400}
        one, two = (recall(lived, question, user_id=user, **asked) for user in ("ada", "bob"))
        assert (one.block, one.memory_ids) == (two.block, two.memory_ids)
        scores = [
            [(row.memory_id, row.score, row.reason) for row in explain(lived, question, user_id=u)]
            for u in ("ada", "bob")
        ]
        assert scores[0] == scores[1]


def test_history_and_the_past_are_the_same(lived, hers):
    first, other, _ = hers
    import_lines(lived, export(lived, "ada", vectors=True), "bob")
    for memory_id in (first, other):
        told = [
            call(lived, "history", memory_id=memory_id, user_id=user) for user in ("ada", "bob")
        ]
        assert told[0] == told[1]
        assert len(told[0]) > 1
    past = [recall(lived, "drinks", user_id=u, as_of=ago(days=1)).block for u in ("ada", "bob")]
    assert past[0] == past[1]


def test_undo_works_after_an_import(lived, hers):
    one, other, _ = hers
    import_lines(lived, export(lived, "ada", vectors=True), "bob", new_ids=True)
    shift = ids(lived, "bob")[0] - ids(lived, "ada")[0]
    undone = call(lived, "undo", memory_id=other + shift, user_id="bob")
    assert [(row.action, row.line) for row in undone] == [
        ("undone: UPDATE", "Zanzibar 去学校 🏫 `make test`")
    ]
    sources = "SELECT to_id FROM memoir.relation WHERE from_id = %s AND type = 'derived_from'"
    assert lived.execute(sources, (other + shift,)).fetchall() == [(one + shift,)]


def test_without_vectors_memories_wait_for_them(lived):
    import_lines(lived, export(lived, "ada"), "bob")
    vectors = "SELECT count(embedding) FROM memoir.trace WHERE user_id = %s"
    assert (value(lived, vectors, "ada"), value(lived, vectors, "bob")) == (1, 0)
    waiting = "SELECT count(*) FROM memoir.memories_without_vector(user_id => 'bob')"
    assert value(lived, waiting) > 0


def test_vectors_may_be_left_behind(lived):
    import_lines(lived, export(lived, "ada", vectors=True), "bob", vectors=False)
    assert export(lived, "bob", vectors=True)[1:] == export(lived, "ada")[1:]


def test_vectors_of_another_model_are_refused(tx):
    tx.execute("SELECT memoir.use_model('small', 3)")
    remember(tx, "tea is green", user_id="ada", embedding="[1,2,3]")
    lines = export(tx, "ada", vectors=True)
    lines[0] = lines[0].replace("small", "large")
    error = refused(tx, "import_user", lines=lines, user_id="bob")
    assert (error.sqlstate, "vectors => false" in error.message_hint) == ("ME009", True)
    assert import_lines(tx, lines, "bob", vectors=False).state == "imported"


def test_the_first_file_names_the_model(db, other):
    db.execute("SELECT memoir.use_model('small', 3)")
    remember(db, "tea is green", embedding="[1,2,3]")
    import_lines(other, export(db, "default", vectors=True), "default")
    model = "SELECT name, dimensions FROM memoir.embedding_model"
    assert other.execute(model).fetchall() == [("small", 3)]


def test_the_same_file_twice_changes_nothing(lived):
    lines = export(lived, "ada")
    import_lines(lived, lines, "bob")
    remember(lived, "and more", user_id="bob")
    before = row_counts(lived)
    again = import_lines(lived, lines, "bob")
    assert (again.state, row_counts(lived)) == ("known", before)


def test_a_user_who_has_something_is_left_alone(lived):
    remember(lived, "bob has a memory", user_id="bob")
    before = row_counts(lived)
    error = refused(lived, "import_user", lines=export(lived, "ada"), user_id="bob")
    assert (error.sqlstate, error.message_primary) == (
        "ME017",
        'user "bob" has rows in table memory already',
    )
    assert "purge_user('bob')" in error.message_hint
    assert row_counts(lived) == before


def test_after_a_purge_the_user_is_imported_again(lived):
    lines = export(lived, "ada")
    call(lived, "purge_user", user_id="ada")
    assert import_lines(lived, lines, "ada").state == "imported"
    assert export(lived, "ada")[1:] == lines[1:]


def test_a_file_may_come_in_parts(lived):
    lines = export(lived, "ada")
    for place in range(0, len(lines), 7):
        done = import_lines(lived, lines[place : place + 7], "bob")
        assert done.state == ("reading" if place + 7 < len(lines) else "imported")
    assert export(lived, "bob")[1:] == lines[1:]


def test_a_part_alone_cannot_be_committed(db):
    live(db, "ada")
    before = row_counts(db)
    with pytest.raises(psycopg.Error, match="the file stops at line 7") as caught:
        import_lines(db, export(db, "ada")[:7], "bob")
    assert caught.value.sqlstate == "ME017"
    assert row_counts(db) == before


def test_old_archived_events_are_not_archived_again(lived):
    import_lines(lived, export(lived, "ada"), "bob")
    call(lived, "maintain", only_user="bob")
    jobs = "SELECT count(*) FROM memoir.job WHERE user_id = 'bob' AND kind = 'archive'"
    assert value(lived, f"{jobs} AND status = 'waiting'") == 0
    assert value(lived, f"{jobs} AND status = 'done'") == 1


def test_stricter_rules_redact_what_comes(tx):
    remember(tx, "ask EMP-123456", user_id="ada", data={"who": "EMP-123456"})
    lines = export(tx, "ada")
    tx.execute("INSERT INTO memoir.redaction_rule (name, pattern) VALUES ('badge', 'EMP-[0-9]{6}')")
    import_lines(tx, lines, "bob")
    row = tx.execute("SELECT content, data FROM memoir.memory WHERE user_id = 'bob'").fetchone()
    assert row == ("ask [redacted:badge]", {"who": "[redacted:badge]"})


def test_a_keyword_goes_with_the_context_that_makes_it_a_secret(tx):
    remember(tx, "Badge: Wx7-Tango for Ada", user_id="ada", keywords=["tango"])
    lines = export(tx, "ada")
    assert "wx7-tango" in lines[2]
    tx.execute(
        "INSERT INTO memoir.redaction_rule (name, pattern) VALUES ('badge', 'Badge: [-A-Za-z0-9]+')"
    )
    import_lines(tx, lines, "bob")
    words = tx.execute("SELECT keyword, origin FROM memoir.keyword WHERE user_id = 'bob'")
    assert set(words) == {("ada", "system"), ("tango", "user_tag")}


def test_stricter_rules_count_for_all_that_comes(tx):
    word = "EMP-123456"
    live(tx, "ada", word)
    hers = {"user_id": "ada", "session_id": "monday", "speaker": word}
    tea = remember(tx, "tea", summary=word, subject=word, data={"who": word}, **hers)
    call(tx, "update_memory", memory_id=tea, summary="green", user_id="ada")
    call(tx, "update_memory", memory_id=tea, subject=f"{word} again", user_id="ada")
    call(tx, "message_add", role="user", content="tea", data={"who": word}, **hers)
    call(tx, "session_start", session_id="monday", data={"who": word}, user_id="ada")
    tx.execute(
        "UPDATE memoir.query_expansion SET expansion = %s", (Jsonb({"original": [word.lower()]}),)
    )
    lines = export(tx, "ada")
    tx.execute("INSERT INTO memoir.redaction_rule (name, pattern) VALUES ('badge', 'EMP-[0-9]{6}')")
    import_lines(tx, lines, "bob")
    # The name of a session or of a gold set stays: the application asks for it.
    for table in user_tables(tx):
        rows = [{**row, "session_id": 0, "gold_set": 0} for row in moved_rows(tx, table, "bob")]
        assert "emp-123456" not in json.dumps(rows).lower(), table


def test_what_stricter_rules_make_the_same_is_told_apart(tx):
    old = {"user_id": "ada", "created_at": ago(days=5), "valid_until": ago(days=2)}
    told = [
        remember(tx, "badge EMP-111111", user_id="ada"),
        remember(tx, "badge EMP-222222", user_id="ada"),
        remember(tx, "desk of EMP-111111", **old),
        remember(tx, "desk of EMP-222222", user_id="ada"),
        remember(tx, "likes tea", "fact", subject="EMP-111111", user_id="ada"),
        remember(tx, "likes milk", "fact", subject="EMP-222222", user_id="ada"),
        remember(tx, "likes milk", "fact", subject="EMP-333333", user_id="ada"),
    ]
    for badge, memory_id in zip(("111111", "222222"), told, strict=False):
        call(tx, "mention", memory_id=memory_id, entity=f"EMP-{badge}", user_id="ada")
        gold = {"gold_set": "badges", "relevant_ids": [memory_id]}
        call(tx, "gold_add", query=f"EMP-{badge}?", user_id="ada", **gold)
    lines = export(tx, "ada")
    tx.execute("INSERT INTO memoir.redaction_rule (name, pattern) VALUES ('badge', 'EMP-[0-9]{6}')")
    assert import_lines(tx, lines, "bob").records == {
        "user": 1, "entity": 2, "memory": 7, "gold": 2, "alike": 4,
    }  # fmt: skip
    rows = tx.execute(
        "SELECT memory_id, status, subject FROM memoir.memory WHERE user_id = 'bob' ORDER BY 1"
    )
    assert rows.fetchall() == [
        (told[0], "active", None),
        (told[1], "superseded", None),
        (told[2], "superseded", None),
        (told[3], "active", None),
        (told[4], "active", "[redacted:badge]"),
        (told[5], "active", None),
        (told[6], "superseded", None),
    ]
    assert set(recall(tx, "badge desk milk tea", user_id="bob").memory_ids) == {
        told[0], told[3], told[4], told[5],
    }  # fmt: skip
    reasons = tx.execute("SELECT reason FROM memoir.revision WHERE user_id = 'bob' ORDER BY 1")
    assert [reason for (reason,) in reasons] == sorted(
        [
            f"memory {told[0]} has the same text here",
            f"memory {told[3]} has the same text here",
            f"memory {told[4]} fills its subject here",
            f"memory {told[4]} fills its subject here",
            f"memory {told[5]} has the same text here",
        ]
    )
    names = tx.execute("SELECT name FROM memoir.entity WHERE user_id = 'bob' ORDER BY entity_id")
    assert next(name for (name,) in names) == "[redacted:badge]"
    assert value(tx, "SELECT count(*) FROM memoir.gold_relevant WHERE user_id = 'bob'") == 2
    assert export(tx, "bob")


def test_slots_that_stricter_rules_make_one_take_what_is_told_next(tx):
    for number, texts in (("111111", ("tea", "milk")), ("222222", ("rum", "gin"))):
        for day, text in zip((9, 3), texts, strict=True):
            said = {"subject": f"EMP-{number}", "created_at": ago(days=day), "user_id": "ada"}
            remember(tx, text, "fact", **said)
    lines = export(tx, "ada")
    tx.execute("INSERT INTO memoir.redaction_rule (name, pattern) VALUES ('badge', 'EMP-[0-9]{6}')")
    assert import_lines(tx, lines, "bob").records["alike"] == 2
    told = {"kind": "fact", "subject": "[redacted:badge]", "user_id": "bob"}
    (next_one,) = call(tx, "remember", content="cola", **told)
    assert next_one.action == "SUPERSEDE"
    rows = tx.execute("SELECT content, subject IS NULL FROM memoir.memory WHERE user_id = 'bob'")
    slots = {"tea": False, "milk": False, "cola": False, "rum": True, "gin": True}
    assert dict(rows.fetchall()) == slots


def test_a_secret_in_what_a_file_said_is_redacted_however_it_is_spaced(tx):
    memory_id = remember(tx, "tea", user_id="ada")
    tx.execute(
        "INSERT INTO memoir.file_entry VALUES ('ada', 'a1', %s, 0, %s, md5('')::uuid)",
        (memory_id, '{"id": "a1", "password" : "hunter2", "content": "tea"}'),
    )
    import_lines(tx, export(tx, "ada"), "bob")
    written = value(tx, "SELECT written FROM memoir.file_entry WHERE user_id = 'bob'")
    assert written == {"id": "a1", "password": "[redacted:password]", "content": "tea"}


def test_rows_of_a_source_stay_that_with_the_same_text(tx):
    for key in ("7", "8"):
        memory_id = remember(tx, f"tea {key}", user_id="ada")
        tx.execute(
            "UPDATE memoir.memory SET source = 'tasks', source_key = %(key)s, content = 'tea',"
            " content_hash = memoir._row_hash('tasks', %(key)s) WHERE memory_id = %(id)s",
            {"key": key, "id": memory_id},
        )
    import_lines(tx, export(tx, "ada"), "bob")
    rows = tx.execute(
        "SELECT source, source_key, content FROM memoir.memory WHERE user_id = 'bob' ORDER BY 2"
    )
    assert rows.fetchall() == [("tasks", "7", "tea"), ("tasks", "8", "tea")]


def test_a_copy_within_a_database_is_not_taken_for_rows_that_are_gone(db):
    make_tables(db)
    db.execute("ALTER TABLE cecelia_events ADD user_id text; ALTER TABLE tasks ADD user_id text")
    for table in "tasks", "cecelia_events":
        attach(db, table, user_id=None)
    db.execute("INSERT INTO tasks (title, user_id) VALUES ('Water the fern', 'ada')")
    db.execute("INSERT INTO cecelia_events VALUES (1, 'alert', '{}', now(), 'ada')")
    import_lines(db, export(db, "ada"), "eve", new_ids=True)
    for table in "tasks", "cecelia_events":
        fill(db, table, anew=True)
    assert memories(db, "tasks, not of eve", "eve") == {"Water the fern": "active"}
    assert value(db, "SELECT source FROM memoir.event WHERE user_id = 'eve'")
    assert memories(db, user="ada") == {"Water the fern": "active"}


def first(record: str, change: Callable[[str], str]) -> Callable[[list[str]], list[str]]:
    """A change of the first line of a sort of record."""

    def changed(lines: list[str]) -> list[str]:
        place = next(i for i, line in enumerate(lines) if line.startswith(f'{{"{record}"'))
        return [*lines[:place], change(lines[place]), *lines[place + 1 :]]

    return changed


def replaced(record: str, old: str, new: str) -> Callable[[list[str]], list[str]]:
    return first(record, lambda line: line.replace(old, new, 1))


IMPORTANCE, TEXT = '"importance": 0.8', "Zanzibar likes tea"
BAD = {
    "not JSON": (first("memory", lambda line: line[:-1]), "ME017 invalid input syntax"),
    "NaN": (replaced("memory", IMPORTANCE, '"importance": NaN'), "ME017 invalid input syntax"),
    "no record": (first("memory", lambda _: "[]"), "ME017 it is not a record"),
    "unknown record": (
        replaced("memory", "memory", "memoir"),
        'ME017 there is no record "memoir"',
    ),
    "unknown field": (
        replaced("memory", '"origin"', '"origins"'),
        'ME017 has no field "origins"',
    ),
    "missing field": (
        replaced("memory", '"lifetime": "core", ', ""),
        'ME017 the record "memory" lacks lifetime',
    ),
    "wrong type": (
        replaced("memory", IMPORTANCE, '"importance": "much"'),
        'ME017 invalid input syntax for type double precision: "much"',
    ),
    "out of range": (
        replaced("memory", IMPORTANCE, '"importance": 8'),
        "ME008 importance must be between 0 and 1",
    ),
    **{
        f"data of a {record} that is a list": (
            replaced(record, f'"{key}"', f'"data": [1], "{key}"'),
            "ME008 data must be a JSON object",
        )
        for record, key in [("session", "temporary"), ("message", "position"), ("memory", "status")]
    },
    "a long author": (
        replaced("revision", '"author": "', '"author": "' + "a" * 200),
        "ME008 the author has 20",
    ),
    "a long speaker": (
        replaced("message", '"role"', f'"speaker": "{"a" * 201}", "role"'),
        "ME008 the speaker has 201 characters",
    ),
    "unknown kind": (replaced("memory", '"fact"', '"fakt"'), 'ME002 unknown kind "fakt"'),
    "unknown status": (
        replaced("memory", '"status": "', '"status": "un'),
        "ME017 memory_status_check",
    ),
    "empty text": (replaced("memory", TEXT, " "), "ME007 the memory is empty"),
    "NUL": (replaced("memory", TEXT, "\\u0000"), "ME017 unsupported Unicode escape sequence"),
    "an id twice": (
        lambda lines: sorted([*lines, entity_of(lines)], key=lines.index),
        "ME017 it is in the file already",
    ),
    "an id beyond the highest": (
        replaced("entity", '"entity_id": "', '"entity_id": "99999'),
        "ME017 the highest that line 1 tells of",
    ),
    "another order": (lambda lines: lines[::-1], 'ME017 a record "'),
    "a vector of other dimensions": (
        replaced("memory", "[1,2,3]", "[1,2]"),
        "ME003 the vector has 2 dimensions",
    ),
    **{
        f"a time that has not come, of a {record}": (
            replaced(record, f'"{key}": "20', f'"{key}": "90'),
            f"ME011 {key}",
        )
        for record, key in [
            ("event", "created_at"),
            ("memory", "recorded_at"),
            ("revision", "created_at"),
            ("file_head", "read_at"),
            ("retrieval", "created_at"),
        ]
    },
    "a message in the place of the next": (
        replaced("message", '"position": 0', '"position": 1'),
        "ME017 position 1 is not below the next_position",
    ),
    "a count below 0": (
        replaced("memory", '"origin"', '"recalled": {"count": -1}, "origin"'),
        "ME008 count must not be negative",
    ),
    "a status that no memory goes back to": (
        replaced("revision", '"status": "active"', '"status": "alive"'),
        "ME017 memory_status_check",
    ),
    "a text that no memory goes back to": (
        replaced("revision", '"status": "active"', '"content": null'),
        "ME017 old_values has no value for content",
    ),
    "a file that was no object": (
        first("file_head", lambda line: re.sub(r'("written": ").*(")}}', r"\1[1]\2}}", line)),
        "ME017 what a file said is not a JSON object",
    ),
    "a weight that no mode gives": (
        replaced("retrieval", '"fact": 1', '"fact": 1e-300'),
        "ME017 weights, scores or as_of",
    ),
}


def entity_of(lines: list[str]) -> str:
    return next(line for line in lines if line.startswith('{"entity"'))


@pytest.mark.parametrize("name", sorted(BAD))
def test_a_bad_line_is_named_and_nothing_stored(lived, name):
    change, expected = BAD[name]
    code, _, message = expected.partition(" ")
    good = export(lived, "ada", vectors=True)
    lines = rebuilt(good, change)
    assert lines[1:-1] != good[1:-1]
    before = row_counts(lived)
    error = refused(lived, "import_user", lines=lines, user_id="bob")
    assert (error.sqlstate, message in error.message_primary) == (code, True), error.message_primary
    assert error.message_primary.startswith("line ")
    assert row_counts(lived) == before


def test_a_reference_to_nothing_is_named(lived):
    lines = rebuilt(
        export(lived, "ada"), lambda body: [line for line in body if '"content": "Z' not in line]
    )
    error = refused(lived, "import_user", lines=lines, user_id="bob")
    assert error.message_primary.endswith("it names what is not above it in the file")


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["hello"], "line 1: this is not an export of pgmemoir"),
        (["[]"], "line 1: this is not an export of pgmemoir"),
        (['{"pgmemoir": {"version": 2}}'], "line 1: version 2 is unknown"),
        (['{"pgmemoir": {}}'], "line 1: version NULL is unknown"),
        (['{"pgmemoir": {"version": 1}}'], "line 1: counts, highest_id or model"),
        (["[" * 100_000], "line 1: this is not an export of pgmemoir"),
        (
            ['{"pgmemoir": {"version": 1, "counts": {}, "highest_id": "1", "model": {"name": 1}}}'],
            "line 1: counts, highest_id or model",
        ),
        (
            ['{"pgmemoir": {"version": 1, "counts": {}, "highest_id": "9999999999999999"}}'],
            "line 1: id 9999999999999999 is too high",
        ),
    ],
)
def test_a_first_line_that_is_none_is_refused(tx, lines, message):
    error = refused(tx, "import_user", lines=lines, user_id="bob")
    assert (error.sqlstate, error.message_primary[: len(message)]) == ("ME017", message)


def cut(lines: list[str]) -> list[str]:
    return [*lines[:-3], lines[-1]]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (cut, "records"),
        (lambda lines: [*lines[:-1], lines[-1].replace('"lines": ', '"lines": 1')], "says that it"),
        (
            lambda lines: [line.replace("rests", "rusts") for line in lines],
            "the checksum is another",
        ),
        (lambda lines: [*lines, lines[2]], "there are lines after the end"),
    ],
)
def test_a_file_that_was_cut_or_changed_is_refused(lived, change, message):
    error = refused(lived, "import_user", lines=change(export(lived, "ada")), user_id="bob")
    assert (error.sqlstate, message in error.message_primary) == ("ME017", True)


def test_line_ends_of_windows_do_no_harm(lived):
    lines = [line + "\r" for line in export(lived, "ada")]
    assert import_lines(lived, lines, "bob").state == "imported"


def test_a_line_of_40_megabytes_is_refused(tx):
    with pytest.raises(psycopg.Error, match="it has 40000000 bytes") as caught:
        tx.execute("SELECT memoir._read_line(repeat('x', 40000000))")
    assert caught.value.sqlstate == "ME017"


@pytest.mark.parametrize("lines", [[], [None], [["a"], ["b"]]])
def test_no_lines_are_refused(tx, lines):
    error = refused(tx, "import_user", lines=lines, user_id="bob")
    assert error.sqlstate == "ME008"


def test_a_user_without_anything_has_an_export(tx):
    lines = export(tx, "nobody")
    assert [next(iter(json.loads(line))) for line in lines] == ["pgmemoir", "user", "end"]
    assert import_lines(tx, lines, "nobody").state == "imported"


def test_the_time_of_an_export_is_an_argument(tx):
    header = json.loads(export(tx, "ada", at=ago())[0])["pgmemoir"]
    assert header["exported_at"] == "2025-06-01T12:00:00+00:00"


def test_times_are_utc_whatever_the_session_says(lived):
    lines = export(lived, "ada")[1:]
    lived.execute(sql.SQL("SET LOCAL timezone = 'Asia/Shanghai'"))
    assert export(lived, "ada")[1:] == lines


def test_after_the_import_everything_goes_on(lived):
    import_lines(lived, export(lived, "ada", vectors=True), "bob")
    taken = call(
        lived,
        "remember",
        content="Zanzibar drinks beer",
        kind="fact",
        subject="drink",
        user_id="bob",
    )[0]
    assert taken.action == "SUPERSEDE"
    call(lived, "maintain", only_user="bob")
    assert (
        remember(lived, "Zanzibar drinks beer", subject="drink", user_id="bob") == taken.memory_id
    )
