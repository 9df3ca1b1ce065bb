"""Purging: nothing of a memory, or of a user, is left."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest
from psycopg.sql import SQL, Identifier
from tests.d3_files import take, take_log
from tests.jobs import answered, chat_job, claim, decided, extracted, job, soon, talk
from tests.rows import (
    add_event,
    ago,
    call,
    fill,
    notes,
    recall,
    refused,
    remember,
    row_counts,
    rows_read,
    say,
    set_to,
    until,
    until_blocked,
    value,
)

# Rows of one user for tables that no call below fills, by what the table needs.
BY_HAND = {
    "import": "INSERT INTO memoir.import (user_id, file_hash, vectors, counts, highest_id, shift,"
    " ended_at) VALUES (%(user)s, '', false, '{}', 0, 0, now())",
    "job": "INSERT INTO memoir.job (user_id, kind, payload) VALUES (%(user)s, 'reflect',"
    " jsonb_build_object('session_id', %(word)s::text))",
    "query_expansion": "INSERT INTO memoir.query_expansion (user_id, query_hash, query, expansion)"
    " VALUES (%(user)s, '', %(word)s, '{}')",
    "source_error": "INSERT INTO memoir.source_error (user_id, source, source_key, code, reason)"
    " VALUES (%(user)s, 'tasks', '1', 'ME007', %(word)s)",
    "uncompared": "INSERT INTO memoir.uncompared VALUES (%(user)s, 0)",
}


def user_tables(conn):
    """All tables with rows of users, partitions aside."""
    rows = conn.execute(
        "SELECT c.relname FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid"
        " AND a.attname = 'user_id' WHERE c.relnamespace = 'memoir'::regnamespace"
        " AND c.relkind IN ('r', 'p') AND NOT c.relispartition ORDER BY 1"
    )
    return [name for (name,) in rows]


def live(conn, user, word):
    """Do everything a user does, with a word of his own in all of it."""
    says = {"user_id": user}
    one = remember(conn, f"{word} likes tea", subject="drink", **says)
    other = remember(conn, f"{word} goes to school", keywords=[word], sources=[one], **says)
    remember(conn, f"{word} shall rest", "okr", data={"status": "pending"}, **says)
    recall(conn, word, **says)
    remember(conn, f"{word} drinks milk now", subject="drink", **says)
    call(conn, "mention", memory_id=one, entity=word, **says)
    call(conn, "relate", from_id=one, to_id=other, type="supports", **says)
    call(conn, "forget", memory_id=other, reason=word, **says)
    call(conn, "restore", memory_id=other, **says)
    add_event(conn, "alert", {"said": word}, **says)
    say(conn, f"{word} session", f"{word} said", **says)
    call(conn, "message_add", session_id=f"{word} talk", role="user", content=word, **says)
    call(conn, "call_tool", name="memory_write", arguments={"content": f"{word} sleeps"}, **says)
    call(conn, "gold_add", gold_set=word, query=word, relevant_ids=[one], **says)
    entry = {"id": word, "category": "facts", "content": f"{word} reads", "of": word}
    take(conn, {"version": 2, "memories": [entry], "of": word}, **says)
    logged = {"time": "09:00", "type": word, "content": word}
    take_log(conn, {"date": "2026-02-21", "entries": [logged], "summary": word}, **says)
    call(conn, "maintain", only_user=user)
    for name in set(BY_HAND) & set(user_tables(conn)):
        conn.execute(BY_HAND[name], {"user": user, "word": word})
    recall(conn, f"{word} again", **says)
    return one


def traces_of(conn, word):
    """Where a word still is: tables, definitions of indexes and functions."""
    found = [
        name
        for name in user_tables(conn)
        if value(
            conn,
            SQL("SELECT count(*) FROM memoir.{} AS t WHERE t::text ILIKE %s")
            .format(Identifier(name))
            .as_string(conn),
            f"%{word}%",
        )
    ]
    definitions = (
        "SELECT indexrelid::regclass::text FROM pg_index JOIN pg_class c ON c.oid = indrelid"
        " WHERE c.relnamespace = 'memoir'::regnamespace"
        " AND pg_get_indexdef(indexrelid) ILIKE %(word)s",
        "SELECT proname FROM pg_proc WHERE pronamespace = 'memoir'::regnamespace"
        " AND prosrc ILIKE %(word)s",
    )
    for statement in definitions:
        found += [name for (name,) in conn.execute(statement, {"word": f"%{word}%"})]
    return found


def test_nothing_is_left_of_a_purged_user_and_all_of_another(tx):
    for user, word in (("Xanthippe", "Zanzibar"), ("bob", "Tuvalu")):
        live(tx, user, word)
    tables = user_tables(tx)
    empty = "SELECT count(*) FROM memoir.{} WHERE user_id = 'Xanthippe'"
    assert [name for name in tables if not value(tx, empty.format(name))] == []
    before = row_counts(tx)
    rows = dict(call(tx, "purge_user", user_id="Xanthippe"))
    assert set(rows) == set(tables)
    after = row_counts(tx)
    assert {name: before[name] - after[name] for name in tables} == rows
    assert (traces_of(tx, "Zanzibar"), traces_of(tx, "Xanthippe")) == ([], [])
    assert "Tuvalu likes tea" in traces(tx, "bob")


def traces(conn, user):
    rows = conn.execute("SELECT content FROM memoir.memory WHERE user_id = %s", (user,))
    return [content for (content,) in rows]


def test_a_session_without_foreign_keys_purges_no_memory_by_half(tx):
    memory = remember(tx, "Ken keeps a boat", keywords=["boat"])
    tx.execute("SET LOCAL session_replication_role = replica")
    error = refused(tx, "purge", memory_id=memory)
    assert (error.sqlstate, error.message_hint) == (
        "55000", "SET session_replication_role = origin;")  # fmt: skip
    call(tx, "purge_user", user_id="default")
    left = row_counts(tx)
    assert [left[name] for name in ("memory", "trace", "keyword", "term", "profile")] == [0] * 5


def test_a_dry_run_tells_the_same_and_deletes_nothing(tx):
    live(tx, "ada", "Zanzibar")
    before = row_counts(tx)
    planned = call(tx, "purge_user", user_id="ada", dry_run=True)
    assert row_counts(tx) == before
    assert call(tx, "purge_user", user_id="ada") == planned


def test_no_trace_is_made_anew_for_a_mention_that_goes_with_its_user(tx):
    written = """SELECT n_tup_upd FROM pg_stat_xact_user_tables
                 WHERE schemaname = 'memoir' AND relname = 'trace'"""
    call(tx, "mention", memory_id=remember(tx, "tea", user_id="ada"), entity="Oslo", user_id="ada")
    before = value(tx, written)
    call(tx, "purge_user", user_id="ada")
    assert value(tx, written) == before


def test_the_indexes_of_a_large_user_go_too(tx):
    set_to(tx, ann_gain=0.22)
    fill(tx, 30, "Zanzibar")
    call(tx, "maintain")
    assert len(traces_of(tx, "Zanzibar")) > 5
    assert call(tx, "purge_user", user_id="Zanzibar")[-1] == ("own indexes", 3)
    assert traces_of(tx, "Zanzibar") == []
    assert value(tx, "SELECT count(*) FROM pg_class WHERE relname ~ '^trace_near_'") == 0


def test_indexes_of_a_busy_table_are_left_to_maintain(db, dsn):
    set_to(db, ann_gain=0.22)
    fill(db, 30, "Zanzibar")
    call(db, "maintain")
    with psycopg.connect(dsn) as reader:
        reader.execute("SELECT FROM memoir.trace")
        said = call(db, "purge_user", user_id="Zanzibar")[-1]
        assert said == ("own indexes left: memoir maintain", 3)
    call(db, "maintain")
    assert traces_of(db, "Zanzibar") == []


def test_a_user_without_anything_leaves_no_trace_of_the_call(tx):
    assert call(tx, "purge_user", user_id="Quetzal") == []
    assert traces_of(tx, "Quetzal") == []


@pytest.mark.parametrize("user", [None, "", "  ", "x" * 201])
def test_a_user_must_be_named(tx, user):
    tx.execute("SET LOCAL memoir.user_id = 'ada'")
    remember(tx, "tea")
    assert refused(tx, "purge_user", user_id=user).sqlstate == "ME006"
    assert value(tx, "SELECT count(*) FROM memoir.memory") == 1


def test_a_purged_memory_is_gone_with_all_that_hangs_on_it(tx):
    one = live(tx, "ada", "Zanzibar")
    tx.execute("UPDATE memoir.profile SET rolling_summary = 'Zanzibar'")
    rows = dict(call(tx, "purge", memory_id=one, user_id="ada"))
    hanging = {"memory", "trace", "keyword", "relation", "mention", "revision", "gold_relevant"}
    assert hanging | {"access", "entity", "term", "profile.rolling_summary"} <= set(rows)
    assert "Zanzibar likes tea" not in traces(tx, "ada")
    for table in ("memory", "trace", "keyword", "revision", "access", "gold_relevant", "mention"):
        assert value(tx, f"SELECT count(*) FROM memoir.{table} WHERE memory_id = {one}") == 0
    assert value(tx, "SELECT count(*) FROM memoir.entity") == 0


def test_vacuum_full_takes_its_bytes_from_the_file_and_the_statistics(db):
    memory_id = remember(db, "Zanzibar has an alarm code")
    db.execute("ANALYZE memoir.memory")
    call(db, "purge", memory_id=memory_id)
    db.execute("VACUUM (FULL, ANALYZE) memoir.memory")
    db.execute("CHECKPOINT")
    read = "SELECT pg_read_binary_file(pg_relation_filepath('memoir.memory'))"
    assert b"Zanzibar" not in value(db, read)
    assert value(db, "SELECT count(*) FROM pg_stats AS s WHERE s::text ~ 'Zanzibar'") == 0


def test_its_words_go_where_else_they_were(tx):
    live(tx, "ada", "unrelated")
    memory_id = remember(tx, "Zanzibar", "turn", user_id="ada", session_id="talk", turn=0)
    call(tx, "message_add", session_id="talk", role="user", content="Zanzibar", user_id="ada")
    written = {"content": "Zanzibar is far", "category": "okr"}
    answer = call(tx, "call_tool", name="memory_write", arguments=written, user_id="ada")[0]
    for each in (memory_id, int(answer.call_tool["key"])):
        call(tx, "purge", memory_id=each, user_id="ada")
    assert traces_of(tx, "Zanzibar") == []


def test_a_message_that_says_something_else_in_its_place_stays(tx):
    call(tx, "message_add", session_id="talk", role="user", content="drinks tea")
    memory_id = remember(tx, "Zanzibar", "turn", session_id="talk", turn=0)
    call(tx, "purge", memory_id=memory_id)
    assert value(tx, "SELECT content FROM memoir.message") == "drinks tea"


def test_what_tools_were_asked_and_did_not_write_stays(tx):
    memory_id = remember(tx, "drinks tea")
    call(tx, "call_tool", name="search_memories", arguments={"query": "tea"})
    call(tx, "purge", memory_id=memory_id)
    assert value(tx, "SELECT memory_ids FROM memoir.tool_call") == [memory_id]


def test_a_goal_leaves_the_profile(tx):
    goal = remember(tx, "Zanzibar", "okr", data={"status": "pending"})
    assert "Zanzibar" in recall(tx, mode="plan").block
    call(tx, "purge", memory_id=goal)
    assert "Zanzibar" not in recall(tx, mode="plan").block


def test_what_was_made_from_it_stays_and_is_recalled(tx):
    (turn,) = say(tx, "s", "I live in Zanzibar")
    fact = remember(tx, "she lives on an island", sources=[turn])
    call(tx, "purge", memory_id=turn)
    assert recall(tx, "island").memory_ids == [fact]
    assert value(tx, "SELECT derived FROM memoir.trace") is False


def test_a_dry_run_of_a_memory_tells_the_same(tx):
    one = live(tx, "ada", "Zanzibar")
    before = row_counts(tx)
    planned = call(tx, "purge", memory_id=one, user_id="ada", dry_run=True)
    assert row_counts(tx) == before
    assert call(tx, "purge", memory_id=one, user_id="ada") == planned


@pytest.mark.parametrize("status", ["forgotten", "superseded", "archived", "pending"])
def test_a_memory_of_any_status_can_be_purged(tx, status):
    memory_id = remember(tx, "tea")
    tx.execute("UPDATE memoir.memory SET status = %s", (status,))
    call(tx, "purge", memory_id=memory_id)
    assert row_counts(tx)["memory"] == 0


def test_of_another_user_nothing_is_purged(tx):
    memory_id = remember(tx, "tea", user_id="ada")
    said = refused(tx, "purge", memory_id=memory_id, user_id="bob")
    assert (said.sqlstate, said.message_primary) == (
        "ME012",
        f'user "bob" has no memory {memory_id}',
    )
    assert refused(tx, "purge", memory_id=None).sqlstate == "ME012"


def test_recall_counts_exactly_afterwards(tx):
    ids = [remember(tx, text) for text in ("tea at five", "tea and milk", "cold milk")]
    call(tx, "refresh_statistics")
    call(tx, "purge", memory_id=ids[0])
    late = recall(tx, "tea milk")
    call(tx, "refresh_statistics")
    assert recall(tx, "tea milk").block == late.block


def test_a_counted_memory_keeps_the_words_of_a_newer_one_that_is_purged(tx):
    counted = remember(tx, "Ada sails to Zanzibar in spring")
    call(tx, "refresh_statistics")
    call(tx, "purge", memory_id=remember(tx, "Zanzibar is hot"))
    assert recall(tx, "Zanzibar").memory_ids == [counted]


def test_listeners_hear_of_it(db):
    memory_id = remember(db, "tea")
    db.execute("LISTEN memoir")
    call(db, "purge", memory_id=memory_id)
    (said,) = db.notifies(timeout=60, stop_after=1)
    assert '"event": "deleted"' in said.payload


def test_a_user_is_purged_whose_session_ends_at_this_moment(db, dsn):
    said = {"session_id": "s", "role": "user", "content": "tea", "user_id": "ada"}
    call(db, "session_start", session_id="s", temporary=True, user_id="ada")
    call(db, "message_add", **said)
    waits = "SELECT count(*) FROM pg_locks WHERE NOT granted AND pid = %s"
    with psycopg.connect(dsn) as talker, ThreadPoolExecutor() as pool:
        call(talker, "message_add", **said)
        purged = pool.submit(call, db, "purge_user", user_id="ada")
        until(lambda: value(talker, waits, db.info.backend_pid))
        assert call(talker, "session_end", session_id="s", user_id="ada")[0].deleted == 2
        talker.commit()
        assert dict(purged.result())["session"] == 1
    assert sum(n for _, n in call(db, "purge_user", user_id="ada", dry_run=True)) == 0


@pytest.mark.parametrize(
    ("function", "arguments"), [("purge", {"memory_id": 1}), ("purge_user", {})]
)
def test_what_a_worker_writes_at_this_moment_goes_too(db, dsn, function, arguments):
    remember(db, "tea", user_id="Zanzibar")
    with psycopg.connect(dsn) as worker, ThreadPoolExecutor(1) as pool:
        call(worker, "claim", user_id="Zanzibar", n=1, worker="w")
        call(worker, "set_embedding", memory_id=1, embedding="[1,0,0]", user_id="Zanzibar")
        purged = pool.submit(call, db, function, user_id="Zanzibar", **arguments)
        until_blocked(worker)
        worker.commit()
        purged.result()
    assert value(db, "SELECT count(*) FROM memoir.uncompared") == 0
    assert function == "purge" or traces_of(db, "Zanzibar") == []


def large(db):
    """A user with indexes of his own, and a recall that no upkeep has seen."""
    set_to(db, ann_gain=0.22)
    fill(db, 30, "Zanzibar")
    call(db, "maintain")
    recall(db, "note9", user_id="Zanzibar")
    db.execute("UPDATE memoir.retrieval SET created_at = now() - interval '8 days'")


@pytest.mark.parametrize(
    "upkeep",
    [
        "CALL memoir.maintain_all()",
        "SELECT memoir.refresh_statistics('Zanzibar')",
        "SELECT memoir._use_own_index('Zanzibar', 0)",
        "SELECT memoir._use_own_index('Zanzibar', 1)",
    ],
)
def test_upkeep_that_was_under_way_writes_nothing_for_a_purged_user(db, dsn, upkeep):
    large(db)
    with psycopg.connect(dsn) as other, ThreadPoolExecutor(1) as pool:
        other.execute("SELECT FROM memoir.profile FOR UPDATE")
        kept = pool.submit(db.execute, upkeep)
        until_blocked(other)
        call(other, "purge_user", user_id="Zanzibar")
        other.commit()
        refusal = kept.exception()
    assert refusal is None or refusal.sqlstate == "ME013"
    call(db, "maintain")  # the indexes that this was reading
    assert traces_of(db, "Zanzibar") == []


def test_recalls_that_are_being_folded_go_with_their_user(db, dsn):
    large(db)
    call(db, "maintain", at=ago(days=4))
    run = "memoir._new_run('Zanzibar', NULL, false, 100, 0)"
    with psycopg.connect(dsn) as upkeep, ThreadPoolExecutor(1) as pool:
        upkeep.execute(f"SELECT memoir._fold_log('Zanzibar', {run}, 0)")
        purged = pool.submit(call, db, "purge_user", user_id="Zanzibar")
        until_blocked(upkeep)
        upkeep.commit()
        purged.result()
    assert traces_of(db, "Zanzibar") == []


@pytest.mark.parametrize("tool", [None, "memory_search"])
def test_what_a_recall_logs_afterwards_goes_with_the_next_upkeep(db, dsn, tool):
    remember(db, "tea", user_id="Zanzibar")
    with psycopg.connect(dsn) as application:
        if tool:
            arguments = {"query": "tea of Zanzibar"}
            call(application, "call_tool", name=tool, arguments=arguments, user_id="Zanzibar")
        else:
            recall(application, "tea of Zanzibar", user_id="Zanzibar")
        call(db, "purge_user", user_id="Zanzibar")
    assert traces_of(db, "Zanzibar") == ["tool_call" if tool else "retrieval"]
    call(db, "maintain")
    assert traces_of(db, "Zanzibar") == []


def test_what_is_logged_and_added_while_a_user_is_purged_goes_too(db, dsn):
    remember(db, "tea", user_id="Zanzibar")
    call(db, "session_start", user_id="Zanzibar", session_id="talk")
    with psycopg.connect(dsn) as other, ThreadPoolExecutor(1) as pool:
        other.execute("SELECT FROM memoir.memory FOR UPDATE")
        purged = pool.submit(call, db, "purge_user", user_id="Zanzibar")
        until_blocked(other)
        with psycopg.connect(dsn) as application:
            recall(application, "milk", user_id="Zanzibar")
            remember(application, "milk", user_id="Zanzibar")
        other.commit()
        purged.result()
    assert traces_of(db, "Zanzibar") == []


def test_indexes_are_left_while_another_changes_indexes(db, dsn):
    large(db)
    db.execute("SET statement_timeout = '5s'")
    with psycopg.connect(dsn) as other:
        other.execute("SELECT memoir._compile_near_rows()")
        said = call(db, "purge_user", user_id="Zanzibar")[-1]
        assert said == ("own indexes left: memoir maintain", 3)
    call(db, "maintain")
    assert traces_of(db, "Zanzibar") == []


@pytest.mark.parametrize("purged", [0, 1])
def test_what_a_model_was_shown_does_not_come_back_with_its_answer(tx, purged):
    turn = remember(tx, "I live in Zanzibar", "turn", session_id="s", turn=0)
    talk(tx, "I live in Zanzibar", "I like tea")
    fact = remember(tx, "lives in Zanzibar", user_id="default")
    claimed = chat_job(tx, "reflect", {"session_id": "s"})
    call(tx, "purge", memory_id=(turn, fact)[purged])
    assert claim(tx, kinds=["reflect"]) == []  # by the same worker
    answer = {"decisions": [decided("ADD", None, "is at home in Zanzibar")]}
    assert answered(tx, claimed, answer) == "lost"
    assert job(tx, claimed.job_id, "status") == "waiting"
    (again,) = claim(tx, kinds=["reflect"], at=soon())
    assert (again.job_id, again.attempts) == (claimed.job_id, 1)


def test_what_an_extraction_was_shown_of_a_slot_does_not_come_back_with_its_answer(tx):
    home = remember(tx, "Zanzibar", subject="home", user_id="default")
    talk(tx, "I moved to Oslo")
    claimed = chat_job(tx, "extract", {"session_id": "s"})
    assert "Zanzibar" in str(claimed.messages)
    call(tx, "purge", memory_id=home)
    memory = extracted("moved from Zanzibar to Oslo")
    assert answered(tx, claimed, {"memories": [memory]}) == "lost"


def counted(conn):
    """Keep for ada what summary() tells, as `maintain` does for a user with many memories."""
    conn.execute(
        "UPDATE memoir.profile AS p SET ann = 1, overview = to_jsonb(s)"
        " FROM memoir._summary('ada') AS s WHERE p.user_id = 'ada'"
    )


def test_what_was_counted_no_longer_names_what_only_the_purged_memory_had(tx):
    remember(tx, "likes tea", keywords=["tea"], user_id="ada")
    purged = remember(tx, "lives in Zanzibar", keywords=["zanzibar"], user_id="ada")
    call(tx, "mention", memory_id=purged, entity="Freddie", user_id="ada")
    counted(tx)
    call(tx, "purge", memory_id=purged, user_id="ada")
    (told,) = call(tx, "summary", user_id="ada")
    assert told.top_entities == []
    assert [each["keyword"] for each in told.top_keywords] == ["tea", "likes"]


@pytest.mark.parametrize("upkeep", ["refresh_statistics('ada')", "_use_own_index('ada', 1)"])
def test_nor_does_what_was_being_counted_when_it_was_purged(db, dsn, upkeep):
    set_to(db, ann_gain=0.22)
    fill(db, 30, "ada")
    purged = remember(db, "lives in Zanzibar", keywords=["zanzibar"], user_id="ada")
    call(db, "maintain")
    with psycopg.connect(dsn) as other, ThreadPoolExecutor(1) as pool:
        other.execute("SELECT FROM memoir.profile FOR UPDATE")
        counted = pool.submit(db.execute, f"SELECT memoir.{upkeep}")
        until_blocked(other)
        call(other, "purge", memory_id=purged, user_id="ada")
        other.commit()
        counted.result()
    assert traces_of(db, "Zanzibar") == []


def test_a_purge_does_not_count_all_of_a_user_with_many_memories(tx):
    first, *_ = notes(tx, 300)
    counted(tx)
    assert rows_read(tx, f"SELECT memoir.purge({first}, 'ada')") < 200
