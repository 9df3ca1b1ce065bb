"""maintain forgets what has had its time, and lowers the importance of what fades."""

from __future__ import annotations

import pytest
from tests.rows import NOW, ago, call, found, remember, row_counts, status, value


def noted(conn, content, days, kind="context", **more):
    """Store a temporary memory that was made so many days ago; its id."""
    return remember(conn, content, kind, created_at=ago(days=days), **more)


def maintain(conn, **more):
    """What was changed: (action, ids)."""
    rows = call(conn, "maintain", **{"at": NOW, **more})
    assert all(row.action for row in rows)
    told = [row for row in rows if row.action in ("forgotten", "importance lowered")]
    return [(row.action, [int(each) for each in row.details["ids"]]) for row in told]


def importance(conn, memory_id):
    """Of the memory, and of its trace."""
    statement = "SELECT ARRAY[m.importance, t.importance] FROM memoir.memory m JOIN memoir.trace t"
    return value(conn, statement + " USING (user_id, memory_id) WHERE memory_id = %s", memory_id)


def days_later(conn, days):
    """As if all revisions had been written so many days earlier."""
    conn.execute(
        "UPDATE memoir.revision SET created_at = created_at - %s * interval '24 hours'", (days,)
    )


def test_what_has_had_its_time_is_forgotten(tx):
    old, new = noted(tx, "the blue lamp", 8), noted(tx, "five green apples", 6)
    assert maintain(tx) == [("forgotten", [old])]
    assert found(tx, "blue lamp apples", as_of=None) == ["five green apples"]
    assert status(tx, new) == "active"


def test_what_is_forgotten_keeps_its_row_and_a_revision(tx):
    noted(tx, "the blue lamp", 8)
    maintain(tx)
    row = tx.execute("SELECT action, author, reason FROM memoir.revision").fetchall()
    why = "a temporary memory not used for 7 days"
    assert row == [("FORGET", "maintain", why)]
    assert value(tx, "SELECT retired_at FROM memoir.memory") == NOW


def test_a_core_memory_is_never_forgotten_nor_lowered(tx):
    memory_id = noted(tx, "the blue lamp", 9000, "fact", importance=0.3)
    assert maintain(tx) == []
    assert importance(tx, memory_id) == [0.3, 0.3]


def test_what_was_shown_lives_on(tx):
    memory_id = noted(tx, "the blue lamp", 8)
    tx.execute("INSERT INTO memoir.access VALUES ('default', %s, 1, %s)", (memory_id, ago(days=3)))
    assert maintain(tx) == []


def test_a_recall_counts_before_its_memory_is_judged(tx):
    remember(tx, "the blue lamp", "context")
    tx.execute("UPDATE memoir.memory SET created_at = now() - interval '8 days'")
    assert found(tx, "blue lamp") == ["the blue lamp"]
    assert maintain(tx, at=None) == []


def test_what_fades_loses_a_tenth_of_its_importance(tx):
    memory_id = noted(tx, "the blue lamp", 1, importance=0.28)
    assert maintain(tx) == [("importance lowered", [memory_id])]
    assert importance(tx, memory_id) == pytest.approx([0.252, 0.252])
    statement = "SELECT old_values FROM memoir.revision WHERE action = 'LOWER'"
    assert value(tx, statement) == {"importance": 0.28}


def test_once_a_day_at_most(tx):
    memory_id = noted(tx, "the blue lamp", 1, importance=0.28)
    assert maintain(tx, at=None, dry_run=True) == [("forgotten", [memory_id])]
    tx.execute("UPDATE memoir.memory SET created_at = now()")
    assert maintain(tx, at=None) == [("importance lowered", [memory_id])]
    assert maintain(tx, at=None) == []
    days_later(tx, 1)
    assert maintain(tx, at=None) == [("importance lowered", [memory_id])]
    assert importance(tx, memory_id) == pytest.approx([0.28 * 0.81] * 2)


def test_importance_falls_to_a_floor_and_what_lies_below_stays(tx):
    low, lower = (
        noted(tx, "the blue lamp", 0, importance=0.21),
        noted(tx, "x y", 0, importance=0.15),
    )
    assert maintain(tx) == [("importance lowered", [low])]
    assert [importance(tx, each)[0] for each in (low, lower)] == [0.2, 0.15]
    days_later(tx, 9999)
    assert maintain(tx) == []


def test_lowering_forgets_nothing_sooner_than_its_lifetime(tx):
    memory_id = noted(tx, "the blue lamp", 29.9, importance=0.2)
    tx.execute("UPDATE memoir.memory SET lifetime = 'working'")
    assert maintain(tx) == []
    assert maintain(tx, at=ago(days=-0.1)) == [("forgotten", [memory_id])]


def test_a_dry_run_tells_the_same_and_writes_nothing(tx):
    noted(tx, "the blue lamp", 8)
    noted(tx, "five green apples", 1, importance=0.28)
    before = row_counts(tx)
    planned = maintain(tx, dry_run=True)
    assert row_counts(tx) == before
    assert maintain(tx) == planned != []


def test_one_user_alone(tx):
    mine, _ = (noted(tx, "the blue lamp", 8, user_id=user) for user in ("ada", "bob"))
    assert maintain(tx, only_user="ada") == [("forgotten", [mine])]
    assert value(tx, "SELECT count(*) FROM memoir.memory WHERE status = 'active'") == 1


def test_a_run_has_one_number_and_can_be_taken_back(tx):
    ids = [noted(tx, "the blue lamp", 8), noted(tx, "five apples", 1, importance=0.28)]
    maintain(tx)
    run_id = value(tx, "SELECT max(run_id) FROM memoir.revision")
    call(tx, "undo_run", run_id=run_id)
    states = tx.execute("SELECT memory_id, status, importance FROM memoir.memory ORDER BY 1")
    assert states.fetchall() == [(ids[0], "active", 0.4), (ids[1], "active", 0.28)]


def test_the_rows_have_the_number_of_the_run(tx):
    noted(tx, "the blue lamp", 8)
    (row,) = [row for row in call(tx, "maintain", at=NOW) if row.action == "forgotten"]
    assert int(row.details["run_id"]) == value(tx, "SELECT run_id FROM memoir.revision")
    assert (row.user_id, row.memories) == ("default", 1)


def test_a_forgotten_memory_is_announced(db):
    noted(db, "the blue lamp", 8)
    db.execute("LISTEN memoir")
    maintain(db)
    (said,) = db.notifies(timeout=60, stop_after=1)
    assert '"event": "forgotten"' in said.payload


@pytest.mark.parametrize("at", ["2099-01-01", "1960-01-01", "infinity"])
def test_a_clock_out_of_range_is_refused(tx, at):
    with pytest.raises(Exception, match="out of range"):
        maintain(tx, at=at)


def test_whose_upkeep_and_then_whether_it_is_a_dry_run(tx):
    noted(tx, "the blue lamp", 8, user_id="ada")
    before = row_counts(tx)
    done = tx.execute("SELECT action FROM memoir.maintain('ada', true, %s)", [NOW]).fetchall()
    assert ("forgotten",) in done
    assert row_counts(tx) == before


def test_a_dry_run_may_look_ahead(tx):
    memory_id = noted(tx, "the blue lamp", 0)
    assert maintain(tx, at=ago(days=-3000), dry_run=True) == [("forgotten", [memory_id])]
