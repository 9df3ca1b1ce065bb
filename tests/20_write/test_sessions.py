"""Sessions and messages: the working memory."""

from __future__ import annotations

import threading
from datetime import timedelta

import psycopg
import pytest
from psycopg.types.json import Jsonb
from tests.rows import NOW, ago, call, refused, remember, row_counts, set_to, value


def add(conn, content, role="user", session="s", **more):
    """Add a message; its turn."""
    return call(conn, "message_add", session_id=session, role=role, content=content, **more)[
        0
    ].message_add


def talk(conn, *contents, **more):
    """Messages of user and assistant in turn."""
    for place, content in enumerate(contents):
        add(conn, content, ("user", "assistant")[place % 2], **more)


def start(conn, session="s", **more):
    """Open a session."""
    return call(conn, "session_start", session_id=session, **more)[0]


def end(conn, session="s", **more):
    """End it."""
    return call(conn, "session_end", session_id=session, **more)[0]


def window(conn, session="s", **more):
    """The contents of the window."""
    return [m.content for m in call(conn, "session_window", session_id=session, **more)]


def sessions(conn, **more):
    """The names of the sessions listed."""
    return [s.session_id for s in call(conn, "sessions", **more)]


def test_a_session_is_opened_once_and_gone_on_with(tx):
    first = start(tx, data={"app": "chat"}, at=ago(days=1))
    assert (first.session_id, first.temporary, first.started_at) == ("s", False, ago(days=1))
    assert first.is_new
    again = start(tx, at=NOW)
    assert (again.is_new, again.started_at) == (False, ago(days=1))
    assert value(tx, "SELECT data FROM memoir.session") == {"app": "chat"}


def test_a_session_begins_with_what_is_remembered_first_from_it(tx):
    remember(tx, "said in spring", session_id="s", created_at=ago(days=300))
    remember(tx, "said in summer", session_id="s", created_at=ago(days=200))
    decision = Jsonb([{"action": "ADD", "content": "Rome", "kind": "fact"}])
    call(tx, "apply_decisions", decisions=decision, session_id="t", at=ago(days=9))
    begun = [(s.session_id, s.started_at) for s in call(tx, "sessions")]
    assert begun == [("t", ago(days=9)), ("s", ago(days=300))]


def test_a_session_without_a_name_gets_one(tx):
    names = {start(tx, None).session_id for _ in range(3)}
    assert len(names) == 3
    assert names == set(sessions(tx))


def test_a_session_is_made_temporary_and_back_at_any_time(tx):
    assert not start(tx).temporary
    assert start(tx, temporary=True).temporary
    assert start(tx).temporary
    assert not start(tx, temporary=False).temporary


def test_a_session_begun_while_memory_is_off_is_temporary_until_the_user_says_otherwise(tx):
    call(tx, "set_settings", settings={"memory": False})
    add(tx, "hello")
    call(tx, "set_settings", settings={"memory": True})
    assert start(tx).temporary
    assert not start(tx, temporary=False).temporary


def test_messages_get_turns_in_their_order_and_open_their_session(tx):
    assert [add(tx, content) for content in ("one", "two", "three")] == [0, 1, 2]
    assert add(tx, "elsewhere", session="t") == 0
    assert add(tx, "hers", user_id="ada") == 0
    assert window(tx) == ["one", "two", "three"]


def test_a_message_keeps_everything_that_was_said_about_it(tx):
    data = {"tool": "psql", "success": False, "error": "no such table"}
    add(tx, "SELECT 1", "tool", speaker="Ada", created_at=NOW, data=data)
    (message,) = call(tx, "messages", session_id="s")
    assert message == (0, "tool", "Ada", "SELECT 1", data, message.tokens, NOW)
    assert message.tokens == value(tx, "SELECT memoir.estimate_tokens('SELECT 1')")
    assert value(tx, "SELECT started_at FROM memoir.session") == NOW


def test_a_call_of_a_tool_needs_no_text(tx):
    add(tx, None, "assistant", data={"tool": "psql"})
    add(tx, "", "assistant", data={"tool": "psql"})
    assert window(tx) == ["", ""]


def test_no_message_keeps_a_secret(tx):
    secret = "AKIA" + "IOSFODNN7EXAMPLQ"
    add(tx, f"my key is {secret}", data={"arguments": {"key": secret}})
    start(tx, "t", data={"note": secret})
    everything = "SELECT (SELECT m::text FROM memoir.message AS m) || string_agg(s::text, '')"
    assert secret not in value(tx, everything + " FROM memoir.session AS s")
    assert secret not in question(tx, f"my key is {secret}")[0]
    assert len(question(tx, f"my key is {secret}")) == 1


def test_a_message_to_an_ended_session_opens_it_again(tx):
    add(tx, "bye")
    end(tx)
    assert add(tx, "one more thing") == 1
    assert value(tx, "SELECT ended_at FROM memoir.session") is None
    assert end(tx).action == "END"


@pytest.mark.parametrize(
    ("wrong", "state"),
    [
        ({"role": "robot"}, "ME008"),
        ({"role": None}, "ME008"),
        ({"session_id": ""}, "ME008"),
        ({"session_id": None}, "ME008"),
        ({"session_id": "x" * 201}, "ME008"),
        ({"content": " \n"}, "ME007"),
        ({"content": None}, "ME007"),
        ({"content": " ", "data": {}}, "ME007"),
        ({"data": Jsonb([1])}, "ME008"),
        ({"created_at": NOW + timedelta(days=90000)}, "ME011"),
        ({"user_id": " "}, "ME006"),
    ],
)
def test_a_message_that_is_wrong_leaves_nothing_behind(tx, wrong, state):
    before = row_counts(tx)
    given = {"session_id": "s", "role": "user", "content": "hello", **wrong}
    assert refused(tx, "message_add", **given).sqlstate == state
    assert row_counts(tx) == before


@pytest.mark.parametrize("wrong", [{"session_id": ""}, {"data": Jsonb("x")}])
def test_a_session_that_is_wrong_is_refused(tx, wrong):
    assert refused(tx, "session_start", **wrong).sqlstate == "ME008"


def test_writers_at_once_get_different_turns_without_gaps(db, dsn):
    turns = []

    def write(name):
        with psycopg.connect(dsn, autocommit=True) as conn:
            turns.extend(add(conn, f"{name} {number}") for number in range(25))

    writers = [threading.Thread(target=write, args=(name,)) for name in "abcdefgh"]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert sorted(turns) == list(range(200))
    assert value(db, "SELECT count(*) FROM memoir.message") == 200


def test_the_window_has_the_newest_ten_oldest_first(tx):
    talk(tx, *(f"message {number}" for number in range(12)))
    assert window(tx) == [f"message {number}" for number in range(2, 12)]
    assert window(tx, max_messages=2) == ["message 10", "message 11"]


def test_the_window_ends_before_the_message_that_does_not_fit(tx):
    talk(tx, "tea", "long " * 40, "coffee", "milk")
    cost = value(tx, "SELECT sum(tokens) FROM memoir.message")
    assert window(tx, max_tokens=cost) == ["tea", "long " * 40, "coffee", "milk"]
    assert window(tx, max_tokens=cost - 2) == ["coffee", "milk"]


@pytest.mark.parametrize("text", ["word " * 500, "记忆" * 900, "4111 " * 400, "x", "7 é 字"])
@pytest.mark.parametrize("limit", [1, 2, 7, 300])
def test_a_last_message_over_the_limit_is_cut_to_it(tx, text, limit):
    talk(tx, "before", text)
    kept = call(tx, "session_window", session_id="s", max_tokens=limit)[-1]
    cost = value(tx, "SELECT memoir.estimate_tokens(%s)", kept.content)
    assert cost <= kept.tokens <= limit
    assert kept.content == text or text.startswith(kept.content.removesuffix("…"))
    assert kept.content == text or cost >= 0.9 * limit - 2


def test_a_long_log_in_the_last_message_is_cut(tx):
    talk(tx, "word " * 24_000)
    (kept,) = window(tx, max_tokens=20_000)
    assert kept.startswith("word " * 10_000)


def test_the_size_of_the_window_is_a_setting(tx):
    talk(tx, "one", "two", "three")
    set_to(tx, extract_messages=2)
    assert window(tx) == ["two", "three"]


def test_a_session_nobody_spoke_in_has_no_window(tx):
    start(tx)
    assert window(tx) == window(tx, "t") == []
    add(tx, "hers", user_id="ada")
    assert window(tx) == []


@pytest.mark.parametrize(
    "wrong", [{"max_messages": 0}, {"max_messages": 1001}, {"max_tokens": 0}, {"max_tokens": -5}]
)
def test_a_window_of_no_size_is_refused(tx, wrong):
    assert refused(tx, "session_window", session_id="s", **wrong).sqlstate == "ME008"


def test_all_messages_are_read_page_by_page(tx):
    talk(tx, *(f"message {number}" for number in range(5)))
    first = call(tx, "messages", session_id="s", page_size=3)
    rest = call(tx, "messages", session_id="s", page_size=3, after_turn=first[-1].turn)
    assert [m.turn for m in (*first, *rest)] == [0, 1, 2, 3, 4]
    assert refused(tx, "messages", session_id="s", page_size=0).sqlstate == "ME008"


def question(conn, message=None, session="s", **more):
    """The lines of the text to embed."""
    (row,) = call(conn, "recall_query", session_id=session, message=message, **more)
    return row.recall_query.split("\n")


def test_a_question_is_the_message_and_the_three_before_it(tx):
    talk(tx, "one", "two", "three", "four")
    assert question(tx, "do it the first way") == ["do it the first way", "two", "three", "four"]


def test_a_message_added_already_is_not_its_own_context(tx):
    talk(tx, "one", "two", "three", "four", "five")
    assert question(tx, "five") == question(tx) == ["five", "two", "three", "four"]


def test_what_tools_and_the_system_said_is_no_context(tx):
    add(tx, "You are helpful", "system")
    add(tx, "tea")
    add(tx, "a table", "tool")
    add(tx, None, "assistant", data={"tool": "psql"})
    assert question(tx, "more") == ["more", "tea"]


def test_context_is_cut_to_a_line_each(tx):
    add(tx, "one\ntwo\n" + "x" * 3000)
    context = question(tx, "more")[1]
    assert context.startswith("one two xxx")
    assert len(context) == 1200


def test_without_a_session_the_question_is_the_message(tx):
    assert question(tx, "tea?", session=None) == question(tx, "tea?", session="t") == ["tea?"]


def test_a_question_without_any_message_is_refused(tx):
    assert refused(tx, "recall_query", session_id="s").sqlstate == "ME007"


def test_an_ended_session_says_what_it_had_and_a_second_end_changes_nothing(tx):
    talk(tx, "one", "two")
    assert end(tx, at=NOW) == ("END", NOW, 2, 0)
    assert end(tx) == ("NOOP", NOW, 2, 0)
    assert window(tx) == ["one", "two"]


def test_the_messages_of_a_temporary_session_serve_its_window_until_its_end(tx):
    start(tx, temporary=True)
    talk(tx, "one", "two")
    assert window(tx) == ["one", "two"]
    done = end(tx)
    assert (done.action, done.messages, done.deleted) == ("END", 2, 2)
    assert value(tx, "SELECT count(*) FROM memoir.message") == 0
    assert end(tx).action == "NOOP"
    assert add(tx, "again") == 2


@pytest.mark.parametrize("session", ["t", None])
def test_an_unknown_session_cannot_end(tx, session):
    start(tx)
    start(tx, "t", user_id="ada")
    assert refused(tx, "session_end", session_id=session).sqlstate == "ME012"


def test_sessions_are_listed_latest_first_page_by_page(tx):
    for days in range(1, 6):
        start(tx, f"day {days}", at=ago(days=days))
    listed = []
    page = call(tx, "sessions", page_size=2)
    while page:
        listed += [s.session_id for s in page]
        start(tx, f"added while reading {len(listed)}", at=NOW)
        page = call(tx, "sessions", page_size=2, after=page[-1].next)
    assert listed == [f"day {days}" for days in range(1, 6)]


def test_a_listed_session_tells_what_is_in_it(tx):
    talk(tx, "one", "two", created_at=NOW)
    remember(tx, "tea is green", session_id="s")
    start(tx, "empty", user_id="ada")
    (listed,) = call(tx, "sessions")
    assert (listed.messages, listed.last_message, listed.memories) == (2, NOW, 1)
    assert listed.tokens == value(tx, "SELECT sum(tokens) FROM memoir.message")


def test_open_and_ended_sessions_are_listed_apart(tx):
    start(tx, "open")
    start(tx, "ended")
    end(tx, "ended")
    assert sessions(tx, is_open=True) == ["open"]
    assert sessions(tx, is_open=False) == ["ended"]


@pytest.mark.parametrize("wrong", [{"after": "created_1_1"}, {"page_size": 0}])
def test_a_list_that_cannot_be_is_refused(tx, wrong):
    assert refused(tx, "sessions", **wrong).sqlstate == "ME008"
