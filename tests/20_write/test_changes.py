"""supersede, update_memory, forget, restore, history, undo: nothing is lost, all is told."""

from __future__ import annotations

import random
from datetime import timedelta

import pytest
from psycopg.types.json import Jsonb
from tests.rows import (
    NOW,
    ago,
    call,
    calls_made,
    found,
    notes,
    recall,
    refused,
    remember,
    rows_read,
    status,
    value,
    working_at_most,
)


def steps(conn, memory_id):
    """Actions of the history of a memory."""
    return [row.action for row in call(conn, "history", memory_id=memory_id)]


@pytest.fixture
def tea(tx):
    """The id of a memory about tea."""
    return remember(tx, "tea is green", embedding="[1,0,0]", summary="tea", keywords=["drinks"])


def test_what_is_null_inside_new_data_stays(tx):
    memory = remember(tx, "tea", data={"a": 1})
    call(tx, "update_memory", memory_id=memory, data=Jsonb({"b": None, "c": {"d": None}}))
    assert value(tx, "SELECT data FROM memoir.memory") == {"b": None, "c": {"d": None}}


def test_a_forgotten_memory_is_not_recalled_and_keeps_its_row(tx, tea):
    (row,) = call(tx, "forget", memory_id=tea, reason="wrong")
    assert tuple(row) == (tea, "tea is green", "active", "forgotten")
    assert found(tx, "tea") == []
    assert recall(tx, query_vec="[1,0,0]").memory_ids == []
    assert status(tx, tea) == "forgotten"


def test_a_restored_memory_is_recalled_again_with_its_vector(tx, tea):
    call(tx, "forget", memory_id=tea)
    (row,) = call(tx, "restore", memory_id=tea)
    assert (row.old_status, row.new_status) == ("forgotten", "active")
    assert recall(tx, query_vec="[1,0,0]").memory_ids == [tea]
    assert steps(tx, tea) == ["ADD", "FORGET", "RESTORE"]


@pytest.mark.parametrize("function", ["forget", "restore"])
def test_a_dry_run_tells_and_changes_nothing(tx, tea, function):
    if function == "restore":
        call(tx, "forget", memory_id=tea)
    before = status(tx, tea)
    (row,) = call(tx, function, memory_id=tea, dry_run=True)
    assert (row.old_status, status(tx, tea)) == (before, before)
    assert row.new_status != before


def test_a_block_with_little_room_has_the_summary_of_today(tx):
    memory_id = remember(tx, "tea is " + "green and " * 60, summary="tea: green")
    call(tx, "update_memory", memory_id=memory_id, summary="tea: black")
    assert found(tx, "tea", budget=20) == ["tea: black"]


def test_a_long_vector_comes_goes_and_comes_back_with_the_text(tx):
    """One of 1,536 dimensions fits no index entry, unless it can be compressed."""
    numbers = random.Random(1)
    vector = str([numbers.random() for _ in range(1_536)])
    tea = remember(tx, "tea is green")
    call(tx, "update_memory", memory_id=tea, embedding=vector)
    call(tx, "update_memory", memory_id=tea, content="tea is black")
    assert recall(tx, query_vec=vector).memory_ids == []
    call(tx, "undo", memory_id=tea)
    assert recall(tx, query_vec=vector).memory_ids == [tea]


def test_a_memory_is_restored_to_what_it_was(tx):
    old = remember(tx, "uses Vue", subject="user.ui", created_at=ago(days=9))
    remember(tx, "uses React", subject="user.ui", created_at=ago(days=2))
    call(tx, "forget", memory_id=old)
    (row,) = call(tx, "restore", memory_id=old)
    assert row.new_status == "superseded"
    assert found(tx, "uses", as_of=ago(days=5)) == ["uses Vue"]


def test_what_was_archived_and_then_forgotten_is_restored_step_by_step(tx, tea):
    merge = {"action": "MERGE", "memory_ids": [tea, remember(tx, "milk")], "content": "milk tea"}
    call(tx, "apply_decisions", decisions=Jsonb([merge]))
    call(tx, "forget", memory_id=tea)
    restored = [call(tx, "restore", memory_id=tea)[0].new_status for _ in range(2)]
    assert restored == ["archived", "active"]


def test_a_memory_whose_place_is_taken_stays_forgotten(tx):
    old = remember(tx, "uses Vue", subject="user.ui")
    call(tx, "forget", memory_id=old)
    new = remember(tx, "uses React", subject="user.ui")
    said = refused(tx, "restore", memory_id=old)
    assert (said.sqlstate, said.message_detail) == ("ME014", 'It fills subject "user.ui".')
    assert f"memoir.forget({new}, user_id => 'default')" in said.message_hint


@pytest.mark.parametrize(
    ("function", "more"), [("restore", {}), ("update_memory", {"subject": "user.ui"})]
)
def test_a_slot_has_one_active_memory_though_the_other_is_over(tx, function, more):
    # Given a fact that ended by itself, and a later one in its slot
    subject = None if more else "user.ui"
    over = remember(tx, "Vue", subject=subject, valid_from=ago(days=9), valid_until=ago(days=5))
    if not more:
        call(tx, "forget", memory_id=over)
    remember(tx, "React", subject="user.ui", valid_from=ago(days=2))
    # When it is to be active there, too, then who calls is told so, and not to try again
    assert refused(tx, function, memory_id=over, **more).sqlstate == "ME014"


def test_the_same_text_again_keeps_the_forgotten_one_away(tx, tea):
    call(tx, "forget", memory_id=tea)
    remember(tx, "tea is green")
    assert refused(tx, "restore", memory_id=tea).message_detail == "It has the same text."


def test_a_superseded_memory_ends_where_the_other_begins(tx):
    old, new = (remember(tx, c, created_at=ago(days=d)) for c, d in (("tea", 9), ("milk", 2)))
    call(tx, "supersede", memory_id=old, by_id=new, reason="moved on")
    assert value(tx, "SELECT valid_until FROM memoir.memory WHERE memory_id = %s", old) == ago(
        days=2
    )
    assert (found(tx, "tea"), found(tx, "tea", as_of=ago(days=5))) == ([], ["tea"])


def test_undo_of_a_supersede_leaves_no_relation(tx):
    old, new = remember(tx, "tea"), remember(tx, "milk")
    call(tx, "supersede", memory_id=old, by_id=new)
    call(tx, "undo", memory_id=old)
    assert value(tx, "SELECT count(*) FROM memoir.relation") == 0


def test_one_that_began_later_is_superseded_now(tx):
    old, new = remember(tx, "tea"), remember(tx, "milk", created_at=ago(days=9))
    call(tx, "supersede", memory_id=old, by_id=new)
    lasted = "SELECT valid_until - valid_from FROM memoir.memory WHERE memory_id = %s"
    assert value(tx, lasted, old) == timedelta(microseconds=1)


def test_an_update_changes_text_words_keywords_and_lets_the_vector_go(tx, tea):
    assert call(tx, "update_memory", memory_id=tea, content="coffee is black")[0][0] == "UPDATE"
    assert (found(tx, "tea"), found(tx, "coffee")) == ([], ["coffee is black"])
    assert recall(tx, query_vec="[1,0,0]").memory_ids == []
    words = "SELECT array_agg(keyword ORDER BY keyword) FROM memoir.keyword"
    assert value(tx, words) == ["black", "coffee", "drinks"]


@pytest.mark.parametrize(
    ("change", "column", "stored"),
    [
        ({"importance": 0.1}, "importance", 0.1),
        ({"confidence": 0.2}, "confidence", 0.2),
        ({"summary": " "}, "summary", None),
        ({"subject": "Drink "}, "subject", "drink"),
        ({"kind": "tasks"}, "kind", "task"),
        ({"lifetime": "working"}, "lifetime", "working"),
        ({"data": {"cups": 2}}, "data", {"cups": 2}),
    ],
    ids=str,
)
def test_an_update_changes_what_it_names_and_undo_brings_it_back(tx, tea, change, column, stored):
    row = f"SELECT to_jsonb(m) - 'updated_at' FROM memoir.memory AS m WHERE memory_id = {tea}"
    before = value(tx, row)
    call(tx, "update_memory", memory_id=tea, **change)
    assert value(tx, row) == before | {
        column: stored,
        "content_hash": value(tx, row)["content_hash"],
    }
    call(tx, "undo", memory_id=tea)
    assert value(tx, row) == before


def test_an_update_that_changes_nothing_says_so_and_leaves_no_revision(tx, tea):
    assert call(tx, "update_memory", memory_id=tea, content="tea is green")[0][0] == "NOOP"
    assert steps(tx, tea) == ["ADD"]


def test_undo_of_an_update_brings_back_text_and_vector(tx, tea):
    call(tx, "update_memory", memory_id=tea, content="coffee is black")
    (row,) = call(tx, "undo", memory_id=tea)
    assert tuple(row) == (tea, "undone: UPDATE", "tea is green", "active")
    assert recall(tx, query_vec="[1,0,0]").memory_ids == [tea]


def test_undo_of_an_update_brings_the_vector_back_that_both_texts_have(tx, tea):
    call(tx, "update_memory", memory_id=tea, content="TEA IS GREEN", embedding="[1,0,0]")
    call(tx, "undo", memory_id=tea)
    assert recall(tx, query_vec="[1,0,0]").memory_ids == [tea]


def test_undo_of_a_memory_that_was_only_added_forgets_it(tx, tea):
    (row,) = call(tx, "undo", memory_id=tea)
    assert (row.action, row.status) == ("undone: ADD", "forgotten")
    assert "nothing to undo" in refused(tx, "undo", memory_id=tea).message_primary


def test_undo_of_a_newer_preference_brings_back_the_older_one(tx):
    old = remember(tx, "uses Vue", subject="user.ui", created_at=ago(days=9))
    new = remember(tx, "uses React", subject="user.ui", created_at=ago(days=2))
    rows = call(tx, "undo", memory_id=new)
    assert [(r.undone_id, r.status) for r in rows] == [(new, "forgotten"), (old, "active")]
    assert found(tx, "uses") == ["uses Vue"]
    assert value(tx, "SELECT count(*) FROM memoir.relation") == 0


@pytest.mark.parametrize("at", [ago(days=9), ago(days=1)], ids=["before all", "after an end"])
def test_undo_of_what_ended_nothing_in_its_slot_leaves_no_relation(tx, at):
    for name, days in (("Vue", 5), ("Ember", 3)):
        last = remember(tx, f"uses {name}", subject="user.ui", created_at=ago(days=days))
    call(tx, "forget", memory_id=last)
    other = remember(tx, "uses React", subject="user.ui", created_at=NOW, valid_from=at)
    call(tx, "undo", memory_id=other)
    assert value(tx, "SELECT array_agg(from_id) FROM memoir.relation") == [last]


def test_undo_to_a_kind_that_was_renamed_since_names_it(tx, tea):
    tx.execute(
        "INSERT INTO memoir.kind (kind_id, name, layer, heading, description)"
        " VALUES (40, 'idea', 'semantic', 'Ideas', '')"
    )
    for kind in ("idea", "fact"):
        call(tx, "update_memory", memory_id=tea, kind=kind)
    tx.execute("UPDATE memoir.kind SET name = 'notion' WHERE name = 'idea'")
    error = refused(tx, "undo", memory_id=tea)
    assert (error.sqlstate, error.message_primary) == ("ME002", 'unknown kind "idea"')
    milk = remember(tx, "milk is white")
    tx.execute("UPDATE memoir.revision SET run_id = 7")
    call(tx, "forget", memory_id=milk)
    tx.execute("UPDATE memoir.revision SET run_id = 7 WHERE run_id IS NULL")
    undone = call(tx, "undo_run", run_id=7)
    assert [(row.undone_id, row.action) for row in undone] == [
        (milk, "undone"),
        (tea, 'left: unknown kind "idea"'),
        (tea, "left: changed since"),
    ]


def test_undo_to_an_end_before_the_beginning_is_refused(tx, tea):
    call(tx, "update_memory", memory_id=tea, importance=0.1)
    tx.execute("""UPDATE memoir.revision SET old_values = '{"valid_until": "1980-01-01Z"}' """)
    error = refused(tx, "undo", memory_id=tea)
    assert (error.sqlstate, "is not after valid_from" in error.message_primary) == ("ME011", True)


def test_undo_goes_back_step_by_step(tx, tea):
    for content in ("one tea", "two teas"):
        call(tx, "update_memory", memory_id=tea, content=content)
    undone = [call(tx, "undo", memory_id=tea)[0].line for _ in range(2)]
    assert undone == ["one tea", "tea is green"]
    assert [r.undone for r in call(tx, "history", memory_id=tea)][:3] == [False, True, True]


def test_undo_of_what_another_change_built_on_is_refused(tx):
    old = remember(tx, "uses Vue", subject="user.ui", created_at=ago(days=9))
    new = remember(tx, "uses React", subject="user.ui", created_at=ago(days=2))
    call(tx, "update_memory", memory_id=new, content="uses React 19")
    said = refused(tx, "undo", memory_id=old)
    assert f"memoir.undo({new}, user_id => 'default') first" in said.message_hint


def test_the_history_tells_who_when_why_and_what_was(tx, tea):
    call(tx, "update_memory", memory_id=tea, importance=0.1, reason="asked her", author="bob")
    added, changed = call(tx, "history", memory_id=tea)
    assert (added.action, added.author, added.content) == ("ADD", "user", "tea is green")
    assert (changed.author, changed.reason) == ("bob", "asked her")
    assert changed.old_values == {"importance": 0.8}


def test_the_history_of_3000_changes_is_read_once(tx, tea):
    tx.execute(
        "INSERT INTO memoir.revision (user_id, memory_id, action, author, change_id, old_values)"
        " SELECT 'default', %s, 'UPDATE', 'user', i, jsonb_build_object('content', 'tea ' || i)"
        " FROM generate_series(1, 3000) AS i",
        (tea,),
    )
    with working_at_most(tx, 4):  # read anew for each step it took 9 s
        texts = [row.content for row in call(tx, "history", memory_id=tea)]
    assert texts == [f"tea {i}" for i in range(1, 3001)] + ["tea is green"]


def test_a_run_is_undone_whole_but_for_what_was_changed_since(tx):
    ids = [remember(tx, word) for word in ("tea", "milk", "bread")]
    run = value(tx, "SELECT memoir._next_run()")
    tx.execute(
        "SELECT memoir._retire('default', %s, 'archived', 'ARCHIVE', 'maintain', 'old', now(), %s)",
        (ids, run),
    )
    call(tx, "restore", memory_id=ids[1])
    rows = call(tx, "undo_run", run_id=run)
    assert {(r.undone_id, r.action) for r in rows} == {
        (ids[0], "undone"),
        (ids[1], "left: changed since"),
        (ids[2], "undone"),
    }
    assert [status(tx, i) for i in ids] == ["active"] * 3


def test_what_was_undone_before_is_not_called_changed_since(tx):
    update = {"action": "UPDATE", "memory_id": str(remember(tx, "tea")), "content": "milk"}
    done = call(tx, "apply_decisions", decisions=Jsonb([update]))
    for action in ("undone", "undone before"):
        (row,) = call(tx, "undo_run", run_id=done[0].run_id)
        assert (row.action, row.line) == (action, "tea")


def test_what_a_run_merged_stays_with_the_merged_one_that_was_forgotten_since(tx):
    one, two = remember(tx, "tea is green"), remember(tx, "milk is white")
    merge = {"action": "MERGE", "memory_ids": [str(one), str(two)], "content": "tea with milk"}
    (done,) = call(tx, "apply_decisions", decisions=Jsonb([merge]))
    call(tx, "forget", memory_id=done.memory_id)
    # Each memory is told of, and once the reason is undone, so is the run
    rows = call(tx, "undo_run", run_id=done.run_id)
    left = f"left: memory {done.memory_id} was changed since"
    said = {one: left, two: left, done.memory_id: "left: changed since"}
    assert {r.undone_id: r.action for r in rows} == said
    call(tx, "undo", memory_id=done.memory_id)
    assert {r.action for r in call(tx, "undo_run", run_id=done.run_id)} == {"undone"}
    assert [status(tx, i) for i in (one, two, done.memory_id)] == ["active"] * 2 + ["forgotten"]


def test_a_run_is_undone_but_for_what_was_told_again_since(tx):
    words = ("tea", "milk", "bread")
    ids = [remember(tx, word) for word in words]
    run = value(tx, "SELECT memoir._next_run()")
    for i in ids:
        retire = "_retire('default', ARRAY[%s::bigint], 'forgotten', 'FORGET', 'maintain', 'old'"
        tx.execute(f"SELECT memoir.{retire}, now(), %s)", (i, run))
    again = remember(tx, "milk")
    # None could be undone: the one refused all others
    rows = call(tx, "undo_run", run_id=run)
    left = f"left: memory {again} is in the way of memory {ids[1]}"
    assert [(r.undone_id, r.action) for r in rows] == [
        (ids[2], "undone"),
        (ids[1], left),
        (ids[0], "undone"),
    ]
    assert [status(tx, i) for i in (*ids, again)] == ["active", "forgotten", "active", "active"]
    call(tx, "forget", memory_id=again)
    call(tx, "undo_run", run_id=run)
    assert status(tx, ids[1]) == "active"


def test_what_a_run_only_noted_was_not_changed(tx):
    one, two = remember(tx, "tea is green"), remember(tx, "milk is white")
    noted = {"action": "NOOP", "memory_id": str(one), "content": "green tea"}
    update = {"action": "UPDATE", "memory_id": str(two), "content": "milk"}
    for decisions, undone in (([noted, update], [two]), ([noted], None)):
        done = call(tx, "apply_decisions", decisions=Jsonb(decisions))
        if undone is None:
            assert refused(tx, "undo_run", run_id=done[0].run_id).sqlstate == "ME012"
        else:
            rows = call(tx, "undo_run", run_id=done[0].run_id)
            assert [(r.undone_id, r.action) for r in rows] == [(two, "undone")]


def test_what_was_made_from_a_purged_memory_is_read_once(tx):
    first, *ids = notes(tx, 201)
    tx.execute("SELECT memoir._derive('ada', %s, %s, NULL)", (ids, [first] * len(ids)))
    assert rows_read(tx, f"SELECT memoir.purge({first}, 'ada')") < 60 * len(ids)
    assert not value(tx, "SELECT bool_or(derived) FROM memoir.trace")


def test_more_than_1000_memories_are_changed_in_parts(tx):
    ids = notes(tx, 2001)
    retire = f"SELECT memoir._retire('ada', ARRAY{ids}, 'archived', 'ARCHIVE', '', '', now(), 1)"
    # At once, each was compared with each: of 24,000 that was a third of the time.
    assert calls_made(tx, "_update_traces", retire) == 3
    assert value(tx, "SELECT count(*) FROM memoir.memory WHERE status = 'archived'") == 2001


def test_a_run_of_many_changes_is_undone_in_a_few_steps(tx):
    ids = notes(tx, 60)
    run = value(tx, "SELECT memoir._next_run()")
    retire = "SELECT memoir._retire('ada', %s, 'archived', 'ARCHIVE', 'maintain', 'old', now(), %s)"
    tx.execute(retire, (ids, run))
    undo = f"SELECT memoir.undo_run({run}, 'ada')"  # called once for each of them it took 1 ms each
    assert calls_made(tx, "_revise", undo) == 1
    assert {status(tx, i) for i in ids} == {"active"}


def test_changes_that_are_in_each_others_way_are_undone_last_first(tx):
    tea, milk = (remember(tx, word) for word in ("tea", "milk"))
    told = {tea: "water", milk: "tea"}
    updates = [{"action": "UPDATE", "memory_id": str(i), "content": told[i]} for i in told]
    (row, _) = call(tx, "apply_decisions", decisions=Jsonb(updates))
    undone = [(r.undone_id, r.line) for r in call(tx, "undo_run", run_id=row.run_id)]
    assert undone == [(milk, "milk"), (tea, "tea")]


def test_of_changes_of_one_slot_the_last_is_undone_first(tx):
    old = remember(tx, "lives in Oslo", subject="user.city")
    places = ("Rome", "Bern")
    added = [
        {"action": "ADD", "content": f"lives in {p}", "kind": "fact", "subject": "user.city"}
        for p in places
    ]
    rows = call(tx, "apply_decisions", decisions=Jsonb(added))
    call(tx, "undo_run", run_id=rows[0].run_id)
    ids = [old, *(row.memory_id for row in rows)]
    assert [status(tx, i) for i in ids] == ["active", "forgotten", "forgotten"]


def test_a_run_of_another_user_is_not_there(tx):
    assert refused(tx, "undo_run", run_id=1, user_id="ada").sqlstate == "ME012"


def test_of_many_changed_memories_each_is_read_with_a_few_others(tx):
    ids = notes(tx, 200)
    assert rows_read(tx, f"SELECT memoir._reproject('ada', ARRAY{ids})") < 60 * len(ids)
