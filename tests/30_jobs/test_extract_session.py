"""When a conversation is read for what is worth remembering."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

import psycopg
import pytest
from tests.jobs import answered, claim, decided, enqueue, extracted, fail, job, soon
from tests.rows import call, refused, rows_read, set_to, value


def talk(conn, *roles):
    """Messages of these roles."""
    for role in roles:
        call(conn, "message_add", session_id="s", role=role, content=f"{role} says")


def jobs(conn):
    return conn.execute("SELECT kind, payload FROM memoir.job ORDER BY job_id").fetchall()


def test_five_complete_rounds_are_extracted_when_the_sixth_begins(tx):
    talk(tx, *["user", "assistant"] * 5)
    assert jobs(tx) == []
    talk(tx, "user", "assistant")
    assert jobs(tx) == [("extract", {"session_id": "s", "until_turn": 9})]


def test_every_window_is_extracted_even_where_the_model_is_slow(tx):
    talk(tx, *["user", "assistant"] * 11)
    told = [each.messages[1]["content"].splitlines() for each in claim(tx, kinds=["extract"])]
    windows = [[json.loads(line) for line in lines if '"role"' in line] for lines in told]
    assert [len(window) for window in windows] == [10, 10]
    assert windows[1][0]["role"] == "user"


def test_a_message_reads_none_of_those_before_it(tx):
    say = "SELECT memoir.message_add('s', 'user', 'hello')"
    talk(tx, "user")
    few = rows_read(tx, say)
    tx.execute(f"{say} FROM generate_series(1, 100)")
    assert rows_read(tx, say) <= few + 10


def test_what_tools_were_asked_and_said_leaves_no_round_out_of_the_window(tx):
    for number in range(6):
        said = {"session_id": "s", "role": "user", "content": f"question {number}"}
        call(tx, "message_add", **said)
        asked = {"session_id": "s", "role": "assistant", "content": "", "data": {"tool": "grep"}}
        call(tx, "message_add", **asked)
        talk(tx, "tool", "assistant")
    (claimed,) = claim(tx, kinds=["extract"])
    told = claimed.messages[1]["content"]
    assert [number for number in range(6) if f"question {number}" in told] == [0, 1, 2, 3, 4]
    assert told.count("tool says") == 5


def test_who_switched_extraction_off_is_left_alone(tx):
    call(tx, "set_settings", settings={"auto_extract": False})
    talk(tx, *["user"] * 6)
    call(tx, "session_end", session_id="s")
    assert jobs(tx) == []


def test_what_was_said_while_memory_was_off_is_never_read(tx):
    talk(tx, "user")
    call(tx, "set_settings", settings={"memory": False})
    talk(tx, "assistant", "tool")
    call(tx, "set_settings", settings={"memory": True})
    call(tx, "session_end", session_id="s")
    (claimed,) = claim(tx, kinds=["reflect"])
    told = claimed.messages[1]["content"]
    assert [role for role in ("user", "assistant", "tool") if f"{role} says" in told] == ["user"]


@pytest.mark.parametrize("kind", ["extract", "reflect"])
def test_what_tools_said_is_bounded_as_what_was_said_is(tx, kind):
    for number in range(100):
        said = {"session_id": "s", "role": "tool", "content": f"tool {number} says"}
        call(tx, "message_add", **said, data={"result": "the port is 8080 " * 1000})
    enqueue(tx, kind, payload={"session_id": "s"})
    (claimed,) = claim(tx, kinds=[kind])
    told = claimed.messages[1]["content"]
    assert "tool 99 says" in told
    most = {"extract": 4000, "reflect": 24000}[kind]
    assert value(tx, "SELECT memoir.estimate_tokens(%s)", told) < 1.2 * most


@pytest.mark.parametrize(("kind", "lines"), [("extract", 200), ("reflect", 2000)])
def test_a_long_message_hides_none_of_those_before_it(tx, kind, lines):
    # Given five questions, and to each a long answer of a tool that fails in the end
    output = "started, " + "step 12 of the build is done, " * lines + "no space left on disk"
    for number in range(5):
        said = {"session_id": "s", "role": "user", "content": f"question {number}"}
        call(tx, "message_add", **said)
        call(tx, "message_add", session_id="s", role="tool", content=output)
    enqueue(tx, kind, payload={"session_id": "s"})
    (claimed,) = claim(tx, kinds=[kind])
    told = claimed.messages[1]["content"]
    # Then all questions are told, and how each answer begins and ends
    assert [number for number in range(5) if f"question {number}" in told] == [0, 1, 2, 3, 4]
    assert told.count("started") == told.count("no space left on disk") == 5
    most = {"extract": 4000, "reflect": 24000}[kind]
    assert value(tx, "SELECT memoir.estimate_tokens(%s)", told) < 1.2 * most


def test_messages_of_common_length_are_told_whole_or_not_at_all(tx):
    for number in range(40):
        content = f"answer {number}: " + "the build takes a minute more " * 20
        call(tx, "message_add", session_id="s", role="assistant", content=content)
    tx.execute("UPDATE memoir.setting SET value = '40' WHERE name = 'extract_messages'")
    enqueue(tx, "extract", payload={"session_id": "s"})
    (claimed,) = claim(tx, kinds=["extract"])
    told = claimed.messages[1]["content"]
    assert [text in told for text in ("answer 39", "answer 0", "…")] == [True, False, False]


def test_a_temporary_session_is_not_read(tx):
    call(tx, "session_start", session_id="s", temporary=True)
    talk(tx, *["user"] * 6)
    assert refused(tx, "extract_session", session_id="s").sqlstate == "ME014"
    call(tx, "session_end", session_id="s")
    assert jobs(tx) == []


def test_the_end_of_a_session_is_reflected_on_once(tx):
    talk(tx, "user")
    for _ in range(2):
        call(tx, "session_end", session_id="s")
    assert jobs(tx) == [("reflect", {"session_id": "s"})]


def test_after_no_number_of_messages_means_never(tx):
    set_to(tx, extract_every=0)
    talk(tx, *["user"] * 6)
    assert jobs(tx) == []


def test_an_extraction_can_be_asked_for(tx):
    call(tx, "set_settings", settings={"auto_extract": False})
    talk(tx, "user")
    call(tx, "extract_session", session_id="s")
    assert jobs(tx) == [("extract", {"session_id": "s"})]


def test_a_session_without_messages_cannot_be_extracted(tx):
    assert refused(tx, "extract_session", session_id="s").sqlstate == "ME012"


def test_a_reflection_waits_until_what_its_session_holds_is_extracted(tx):
    talk(tx, *["user", "assistant"] * 6)
    call(tx, "session_end", session_id="s")
    (extraction,) = claim(tx)
    assert (extraction.kind, claim(tx)) == ("extract", [])
    answer = {"memories": [extracted("Ada likes green tea")]}
    assert answered(tx, extraction, answer) == "done"
    (reflection,) = claim(tx, kinds=["reflect"])
    assert (reflection.kind, reflection.attempts) == ("reflect", 1)
    assert "Ada likes green tea" in reflection.messages[1]["content"]


def test_a_reflection_waits_for_no_other_extraction_and_no_longer_than_a_lease(tx):
    talk(tx, *["user", "assistant"] * 6)
    call(tx, "message_add", session_id="t", role="user", content="hello")
    for session in ("s", "t"):
        call(tx, "session_end", session_id=session)
    taken = claim(tx, at=datetime.now(UTC))
    assert sorted(job.payload["session_id"] for job in taken) == ["s", "t"]
    (again,) = claim(tx, at=soon(), kinds=["reflect"])
    assert again.payload["session_id"] in {"s", "t"}


@pytest.mark.parametrize("over", ["finish", "fail", "bad answer"])
def test_one_session_of_a_user_is_reflected_on_after_the_other(tx, over):
    for user, session in [("ada", "a"), ("ada", "b"), ("ada", "c"), ("bob", "d")]:
        call(tx, "message_add", session_id=session, role="user", content="hello", user_id=user)
        call(tx, "session_end", session_id=session, user_id=user)
    (first,) = claim(tx, user_id="ada")
    assert claim(tx, user_id="ada") == []
    assert len(claim(tx, user_id="bob")) == 1
    if over == "finish":
        answer = {"decisions": [decided("ADD", None, "Ada likes tea")]}
        assert answered(tx, first, answer) == "done"
    elif over == "fail":
        assert fail(tx, first.job_id, user_id="ada") == "waiting"
    else:
        assert answered(tx, first, {"decisions": "none"}) == "failed"
    (second,) = claim(tx, user_id="ada", kinds=["reflect"])
    assert second.attempts == 1
    assert ("Ada likes tea" in second.messages[1]["content"]) == (over == "finish")
    assert claim(tx, user_id="ada", kinds=["reflect"]) == []


def ended(conn, *sessions):
    """Sessions with a message, which have ended: each waits for its reflection."""
    for session in sessions:
        call(conn, "message_add", session_id=session, role="user", content="hello")
        call(conn, "session_end", session_id=session)


def test_of_workers_that_claim_at_once_one_reflects(db, dsn):
    ended(db, "a", "b")
    with psycopg.connect(dsn) as other:
        assert len(claim(other, 1)) == 1
        assert claim(db, 1, "w2") == []
    assert claim(db, at=datetime.now(UTC) + timedelta(seconds=2)) == []


def test_a_reflection_that_is_claimed_while_another_ends_keeps_its_lease(db, dsn):
    ended(db, "a", "b")
    (first,) = claim(db)
    assert claim(db, kinds=["reflect"]) == []
    db.execute("SET lock_timeout = '1s'")
    with psycopg.connect(dsn) as ending, psycopg.connect(dsn) as other:
        ending.execute("SELECT FROM memoir.job WHERE job_id = %s FOR UPDATE", (first.job_id,))
        (second,) = claim(other, worker="w2", kinds=["reflect"], at=soon())
        ending.rollback()
        assert answered(db, first, {"decisions": []}) == "done"
    assert claim(db, kinds=["reflect"], at=soon()) == []
    assert job(db, second.job_id, "worker") == "w2"


@pytest.mark.parametrize("next", ["nothing left", "no prompt", "extracted"])
def test_reflections_go_on_behind_one_that_does_not_begin(tx, next):
    ended(tx, "a")
    (first,) = claim(tx)
    ended(tx, "s", "t")
    assert claim(tx) == []
    assert answered(tx, first, {"decisions": []}) == "done"
    if next == "extracted":
        enqueue(tx, "extract", payload={"session_id": "s"}, priority=1)
        assert len(claim(tx, 1)) == 1
    elif next == "nothing left":
        tx.execute("DELETE FROM memoir.message WHERE session_id = 's'")
    elif next == "no prompt":
        tx.execute("UPDATE memoir.job SET payload = '{}' WHERE dedup_key = 's'")
    assert claim(tx, 1) == []
    (second,) = claim(tx, 1)
    assert second.payload["session_id"] == "t"
