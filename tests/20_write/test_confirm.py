"""Pending memories: what an agent proposes and the user confirms or rejects."""

from __future__ import annotations

import pytest
from psycopg.types.json import Jsonb
from tests.rows import NOW, ago, call, found, refused, remember, row_counts, value


@pytest.fixture
def asked(tx):
    """A user who wants to be asked; he drinks coffee."""
    remember(tx, "coffee", subject="user.drink", created_at=ago(days=9))
    call(tx, "set_settings", settings={"confirm": True})
    return tx


def propose(conn, content, **more):
    """A memory an agent proposes; its id."""
    more = {"created_at": ago(days=1), **more}
    (row,) = call(conn, "remember", content=content, kind="fact", source="agent", **more)
    assert row.action == "PENDING"
    return row.memory_id


def confirm(conn, memory_id, **more):
    """Confirm a memory; what became of it."""
    return call(conn, "confirm", memory_id=memory_id, **more)[0]


def state(conn, memory_id):
    """Status of a memory, and whether recall sees it."""
    return conn.execute(
        "SELECT m.status, t.active FROM memoir.memory m JOIN memoir.trace t USING (memory_id)"
        " WHERE memory_id = %s",
        (memory_id,),
    ).fetchone()


def revisions(conn, memory_id):
    """The actions of the revisions of a memory."""
    query = "SELECT action FROM memoir.revision WHERE memory_id = %s ORDER BY revision_id"
    return [action for (action,) in conn.execute(query, (memory_id,))]


def pending(conn):
    """What waits."""
    return [m.content for m in call(conn, "list_memories", status=["pending"])]


def test_a_proposed_memory_waits_and_is_not_recalled(asked):
    proposed = propose(asked, "The user plays the violin")
    assert state(asked, proposed) == ("pending", False)
    assert pending(asked) == ["The user plays the violin"]
    assert "The user plays the violin" not in found(asked, "violin")


def test_what_is_proposed_in_every_session_waits_once(asked):
    proposed = propose(asked, "The user plays the violin", session_id="monday")
    again = {"content": "the user plays the violin.", "kind": "fact"}
    (row,) = call(asked, "remember", **again, source="model", session_id="friday")
    assert (row.action, row.memory_id) == ("NOOP", proposed)
    (row,) = call(asked, "apply_decisions", decisions=Jsonb([{"action": "ADD", **again}]))
    assert (row.action, row.memory_id) == ("NOOP", proposed)
    confirm(asked, proposed)
    (row,) = call(asked, "remember", **again, source="model", session_id="sunday")
    assert (row.action, row.memory_id) == ("NOOP", proposed)
    assert pending(asked) == []


def test_what_waits_waits_no_longer_once_the_user_says_it_himself(asked):
    proposed = propose(asked, "The user plays the violin")
    (row,) = call(asked, "remember", content="The user plays the violin", kind="fact")
    assert (row.action, row.memory_id) == ("UPDATE", proposed)
    assert state(asked, proposed) == ("active", True)


def test_an_agent_that_says_what_is_stored_changes_nothing_of_it(asked):
    goal = {"content": "grow tea", "kind": "okr"}
    stored = remember(asked, **goal, data={"progress": 40})
    (row,) = call(asked, "remember", **goal, data={"progress": 60}, source="agent")
    assert (row.action, row.memory_id) == ("NOOP", stored)
    assert value(asked, "SELECT data FROM memoir.memory WHERE kind = 'okr'") == {"progress": 40}


@pytest.mark.parametrize("author", ["AGENT", " agent", "Model\n"])
def test_an_agent_waits_however_it_is_spelled(asked, author):
    (row,) = call(asked, "remember", content="The user sings", kind="fact", source=author)
    assert row.action == "PENDING"
    given = [{"action": "ADD", "content": "The user dances", "kind": "fact"}]
    (row,) = call(asked, "apply_decisions", decisions=Jsonb(given), author=author)
    assert row.action == "PENDING"


def test_a_confirmed_memory_is_recalled(asked):
    proposed = propose(asked, "The user plays the violin")
    done = confirm(asked, proposed)
    assert (done.memory_id, done.action, done.other_ids) == (proposed, "CONFIRM", [])
    assert state(asked, proposed) == ("active", True)
    assert "The user plays the violin" in found(asked, "violin")
    assert (pending(asked), revisions(asked, proposed)) == ([], ["CONFIRM"])


def test_a_confirmed_memory_ends_the_one_before_it_on_its_subject(asked):
    old = value(asked, "SELECT memory_id FROM memoir.memory")
    proposed = propose(asked, "tea", subject="user.drink")
    done = confirm(asked, proposed)
    assert (done.action, done.memory_id, done.other_ids) == ("SUPERSEDE", proposed, [old])
    assert (state(asked, old), state(asked, proposed)) == (("superseded", False), ("active", True))
    ends = "SELECT valid_until FROM memoir.memory WHERE memory_id = %s"
    assert value(asked, ends, old) == ago(days=1)
    chain = asked.execute("SELECT from_id, to_id, type FROM memoir.relation").fetchall()
    assert chain == [(proposed, old, "supersedes")]


def test_all_that_a_confirmation_changed_is_one_change(asked):
    confirm(asked, propose(asked, "tea", subject="user.drink"))
    assert value(asked, "SELECT count(DISTINCT change_id) FROM memoir.revision") == 1
    assert value(asked, "SELECT count(*) FROM memoir.revision") == 2


def test_a_candidate_older_than_the_memory_of_its_subject_becomes_history(asked):
    proposed = propose(asked, "milk", subject="user.drink", created_at=ago(days=30))
    current = value(asked, "SELECT memory_id FROM memoir.memory WHERE content = 'coffee'")
    done = confirm(asked, proposed)
    assert (done.action, done.other_ids) == ("CONFIRM", [current])
    assert (state(asked, proposed), state(asked, current)) == (
        ("superseded", False),
        ("active", True),
    )


def test_of_two_candidates_for_a_subject_the_newer_stays(asked):
    tea = propose(asked, "tea", subject="user.drink", created_at=ago(days=2))
    milk = propose(asked, "milk", subject="user.drink", created_at=ago(days=1))
    confirm(asked, milk)
    confirm(asked, tea)
    assert (state(asked, milk)[0], state(asked, tea)[0]) == ("active", "superseded")


LONG = "The user drinks green tea with honey every morning before he opens the first mail"


def test_a_candidate_that_a_stored_memory_contains_is_superseded_by_it(asked):
    stored = remember(asked, LONG + " of the day", created_at=NOW)
    proposed = propose(asked, LONG)
    done = confirm(asked, proposed)
    assert (done.action, done.memory_id, done.other_ids) == ("NOOP", stored, [proposed])
    assert state(asked, proposed) == ("superseded", False)


def test_a_candidate_that_says_more_supersedes_the_stored_one(asked):
    stored = remember(asked, LONG, created_at=NOW)
    proposed = propose(asked, LONG + " of the day")
    done = confirm(asked, proposed)
    assert (done.action, done.memory_id, done.other_ids) == ("SUPERSEDE", proposed, [stored])
    assert state(asked, stored) == ("superseded", False)


def test_a_candidate_that_contradicts_a_stored_memory_stays_beside_it(asked):
    stored = remember(asked, LONG, created_at=NOW)
    proposed = propose(asked, LONG.replace("drinks", "never drinks"))
    done = confirm(asked, proposed)
    assert (done.action, done.other_ids) == ("CONFIRM", [stored])
    assert state(asked, stored) == state(asked, proposed) == ("active", True)
    assert value(asked, "SELECT type FROM memoir.relation") == "contradicts"


def test_a_turn_is_confirmed_as_it_is(asked):
    turns = [propose(asked, LONG, session_id="s", turn=turn) for turn in (0, 1)]
    assert [confirm(asked, turn).action for turn in turns] == ["CONFIRM", "CONFIRM"]


def test_a_rejected_memory_is_forgotten_with_the_reason(asked):
    proposed = propose(asked, "The user plays the violin")
    asked.execute("SELECT memoir.reject(%s, 'never said so', 'default')", (proposed,))
    assert state(asked, proposed) == ("forgotten", False)
    revision = asked.execute("SELECT action, author, reason FROM memoir.revision").fetchone()
    assert revision == ("REJECT", "user", "never said so")


def test_a_confirmation_is_undone_whole(asked):
    proposed = propose(asked, "tea", subject="user.drink")
    confirm(asked, proposed)
    call(asked, "undo", memory_id=proposed)
    assert pending(asked) == ["tea"]
    assert [m.content for m in call(asked, "list_memories")] == ["coffee"]


def test_a_rejection_is_undone(asked):
    proposed = propose(asked, "tea", subject="user.drink")
    call(asked, "reject", memory_id=proposed)
    call(asked, "restore", memory_id=proposed)
    assert pending(asked) == ["tea"]


@pytest.mark.parametrize("function", ["confirm", "reject"])
def test_only_a_pending_memory_is_confirmed_or_rejected(asked, function):
    proposed = propose(asked, "The user plays the violin")
    confirm(asked, proposed)
    before = row_counts(asked)
    said = refused(asked, function, memory_id=proposed)
    assert said.sqlstate == "ME014"
    assert said.message_primary == (f"memory {proposed} is active: it cannot be {function}ed")
    assert row_counts(asked) == before


@pytest.mark.parametrize("function", ["confirm", "reject"])
def test_a_memory_of_another_user_is_not_there(asked, function):
    proposed = propose(asked, "The user plays the violin")
    for missing in ({"memory_id": proposed, "user_id": "ada"}, {"memory_id": None}):
        assert refused(asked, function, **missing).sqlstate == "ME012"


def test_a_recall_of_the_past_has_what_was_told_by_then_though_confirmed_later(asked):
    tea = propose(asked, "tea", subject="user.drink", created_at=ago(days=5))
    assert found(asked, "tea coffee", as_of=ago(days=3)) == ["coffee"]
    confirm(asked, tea)
    assert found(asked, "tea coffee", as_of=ago(days=3)) == ["tea"]
    assert found(asked, "tea coffee", as_of=ago(days=7)) == ["coffee"]


def test_a_recall_of_the_past_has_what_was_archived_meanwhile_and_restored(asked):
    remember(asked, "tea", created_at=ago(days=5))
    asked.execute(
        "UPDATE memoir.memory SET status = 'archived', retired_at = %s WHERE content = 'tea'",
        (ago(days=4),),
    )
    asked.execute("UPDATE memoir.trace SET active = line <> 'tea'")
    assert found(asked, "tea", as_of=ago(days=3)) == []
    id_ = asked.execute("SELECT memory_id FROM memoir.memory WHERE content = 'tea'").fetchone()[0]
    call(asked, "restore", memory_id=id_)
    assert found(asked, "tea", as_of=ago(days=3)) == ["tea"]
