"""From what is said or stored, through a job and the answer of a model, to recall and undo."""

from __future__ import annotations

import pytest
from tests.jobs import answered, claim, decided, extracted, job, talk
from tests.rows import add_event, call, found, refused, remember, sentences, status, value


def grow_old(conn):
    """Everything was stored and done 91 days ago."""
    past = "- interval '91 days'"
    conn.execute(
        f"UPDATE memoir.memory SET created_at = created_at {past}, recorded_at = recorded_at {past}"
    )
    conn.execute(f"UPDATE memoir.revision SET created_at = created_at {past}")


def given(conn, kind, answer):
    """A model answers the waiting job of that kind; the job."""
    (claimed,) = claim(conn, kinds=[kind])
    assert answered(conn, claimed, answer) == "done"
    return claimed


def undone(conn, claimed):
    """Take back all that the answer of a job changed; what became of each memory."""
    run_id = job(conn, claimed.job_id, "(payload ->> 'run_id')::bigint")
    return {row.undone_id: row.action for row in call(conn, "undo_run", run_id=run_id)}


def test_a_conversation_is_extracted_recalled_and_taken_back(tx):
    old = remember(tx, "Ada lives in Rome", subject="user.city")
    talk(tx, *["I moved to Oslo and I like skiing"] * 6)
    moved = extracted("Ada lives in Oslo", subject="user.city")
    done = given(tx, "extract", {"memories": [moved, extracted("Ada likes skiing")]})
    assert found(tx, "Oslo skiing") == ["Ada lives in Oslo", "Ada likes skiing"]
    assert status(tx, old) == "superseded"
    assert list(undone(tx, done).values()).count("undone") == 3
    assert found(tx, "Oslo skiing Rome") == ["Ada lives in Rome"]


def test_what_corrects_itself_within_one_answer_is_taken_back_whole(tx):
    talk(tx, *["I moved to Oslo"] * 6)
    cities = [extracted(f"Ada lives in {city}", subject="user.city") for city in ("Rome", "Oslo")]
    said = [extracted("Ada skis"), extracted("Ada skis every Sunday with Ben")]
    done = given(tx, "extract", {"memories": cities + said})
    undone(tx, done)
    assert value(tx, "SELECT count(*) FROM memoir.memory WHERE status = 'active'") == 0


def test_a_session_is_reflected_on_and_taken_back(tx):
    tea = remember(tx, "Ada likes green tea")
    talk(tx, "fetch_url failed again, and I take my green tea with milk")
    call(tx, "session_end", session_id="s")
    rule = decided("ADD", None, "fetch_url finds nothing on React pages", kind="procedural")
    more = decided("UPDATE", tea, "Ada likes green tea with milk")
    done = given(tx, "reflect", {"decisions": [rule, more]})
    assert found(tx, "fetch_url") == ["fetch_url finds nothing on React pages"]
    assert found(tx, "green tea") == ["Ada likes green tea with milk"]
    undone(tx, done)
    assert (found(tx, "fetch_url"), found(tx, "green tea")) == ([], ["Ada likes green tea"])


@pytest.mark.parametrize(
    ("action", "content", "left"),
    [
        ("replace", None, ["the port is 9090"]),
        ("merge", "the port was 8080 and is 9090", ["the port was 8080 and is 9090"]),
        ("noop", None, ["the port is 8080"]),
    ],
)
def test_what_remember_left_side_by_side_is_decided_and_taken_back(tx, action, content, left):
    for port, vector in ((8080, "[1,0]"), (9090, "[0.999,0.01]")):
        remember(tx, f"the port is {port}", embedding=vector)
    answer = {"action": action, "content": content, "reason": "the newer one counts"}
    done = given(tx, "consolidate", answer)
    assert sorted(found(tx, "port")) == left
    undone(tx, done)
    assert sorted(found(tx, "port")) == ["the port is 8080", "the port is 9090"]


def test_a_decision_to_keep_both_leaves_nothing_to_take_back(tx):
    ids = [remember(tx, "the port is 8080", embedding="[1,0]")]
    ids.append(remember(tx, "the port is 9090", embedding="[0.999,0.01]"))
    done = given(tx, "consolidate", {"action": "keep_both", "content": None, "reason": "two"})
    run_id = job(tx, done.job_id, "(payload ->> 'run_id')::bigint")
    assert refused(tx, "undo_run", run_id=run_id).sqlstate == "ME012"
    assert [status(tx, i) for i in ids] == ["active"] * 2


def test_old_memories_become_one_keep_their_importance_and_come_back(tx):
    texts = [*sentences(3, 6), "Ada sings in a choir"]
    ids = [remember(tx, text, importance=n / 10) for n, text in enumerate(texts, 1)]
    grow_old(tx)
    assert [row.kind for row in call(tx, "enqueue_nightly")] == ["compress"]
    core = {"content": "a core", "importance": 0.2, "source_ids": [str(i) for i in ids[:3]]}
    done = given(tx, "compress", {"memories": [core]})
    assert found(tx, "core") == ["a core"]
    assert [status(tx, i) for i in ids] == ["archived"] * 3 + ["active"]
    assert value(tx, "SELECT importance FROM memoir.memory WHERE content = 'a core'") == 0.3
    sources = "SELECT array_agg(to_id ORDER BY to_id) FROM memoir.relation WHERE type = %s"
    assert value(tx, sources, "derived_from") == ids[:3]
    undone(tx, done)
    assert found(tx, "core") == []
    assert [status(tx, i) for i in ids] == ["active"] * 4


def test_what_a_compression_leaves_out_is_asked_about_again_only_after_as_long(tx):
    ids = [remember(tx, text) for text in sentences(6, 6)]
    grow_old(tx)
    call(tx, "enqueue_nightly")
    core = {"content": "a core", "importance": 0.2, "source_ids": [str(i) for i in ids[:3]]}
    given(tx, "compress", {"memories": [core]})
    assert call(tx, "enqueue_nightly") == []
    grow_old(tx)
    assert [(row.kind, row.jobs) for row in call(tx, "enqueue_nightly")] == [("compress", 1)]


def test_old_events_become_memories_and_are_taken_back(tx):
    for number in range(3):
        add_event(tx, "task_failed", {"task": number}, created_at="2025-03-01")
    call(tx, "maintain", at="2025-05-01")
    lesson = {"kind": "procedural", "content": "deploy needs a proxy", "importance": 0.9}
    done = given(tx, "archive", {"summary": "Three deploys failed.", "memories": [lesson]})
    assert found(tx, "deploy proxy")[0] == "deploy needs a proxy"
    undone(tx, done)
    assert found(tx, "deploy proxy") == []


def test_an_answer_that_runs_away_stores_nothing(tx):
    talk(tx, *["I like tea"] * 6)
    (claimed,) = claim(tx, kinds=["extract"])
    answer = {"memories": [extracted(f"thought {n}") for n in range(1000)]}
    assert answered(tx, claimed, answer) == "failed"
    assert job(tx, claimed.job_id, "error") == "the answer has 1000 items, the limit is 50"
