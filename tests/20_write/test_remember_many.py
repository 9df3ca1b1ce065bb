"""Storing many memories at once does what storing each in turn does, all or none."""

from __future__ import annotations

import re
import threading

import psycopg
import pytest
from hypothesis import given
from hypothesis import strategies as st
from psycopg.types.json import Jsonb
from tests.examples import examples
from tests.rows import call, recall, refused, remember, row_counts, sentences, value

TABLES = {
    "memory": "kind, content, summary, data, subject, importance, confidence, origin, session_id,"
    " position, speaker, valid_from, valid_until, lifetime, status, retired_at, content_hash,"
    " created_at",
    "trace": "model, kind, created_at, importance, position, asks, derived, details, cost,"
    " brief_cost, term_count, terms::text, embedding::text, line, brief, active, wide",
    "keyword": "keyword, weight, origin",
    "relation": "to_id, type, strength",
}
VECTORS = ["[1,0,0]", "[0,1,0]", None]

texts = st.sampled_from(
    [
        "Staging runs PostgreSQL 16.",
        " Staging runs PostgreSQL 16.\n",
        "Where did Ann go last summer?",
        "认证失败时先看 JWKS 缓存",
        "see src/app/main.py and getUserName v1.2.3",
        "The tea house opened early. " * 30,
        "yes",
        "…",
    ]
)
optional = {
    "kind": st.sampled_from(["fact", "Tasks", "turn", "okr", "capability"]),
    "subject": st.sampled_from(["user.tea", "", None]),
    "importance": st.floats(0, 1),
    "confidence": st.floats(0, 1),
    "data": st.sampled_from([{}, {"status": "pending", "priority": 2}, None]),
    "summary": st.sampled_from(["short", " ", None]),
    "created_at": st.sampled_from(["2024-05-06T07:08:09+00:00", "2025-01-01T00:00:00Z"]),
    "session_id": st.sampled_from(["monday", "sunday", "arbor day"]),
    "turn": st.integers(0, 3),
    "speaker": st.sampled_from(["Ann", "Bob Smith", "小明", ""]),
    "source": st.sampled_from(["chat", None]),
    "keywords": st.lists(st.sampled_from(["Tea", " tea", "deploy", "main.py"]), max_size=3),
    "sources": st.lists(st.integers(0, 1), max_size=2),
    "valid_from": st.sampled_from(["2024-07-01T00:00:00Z", None]),
    "valid_until": st.sampled_from(["2030-01-01T00:00:00Z", None]),
}
memories = st.tuples(
    st.fixed_dictionaries({"content": texts}, optional=optional), st.sampled_from(VECTORS)
)


def many(conn, *contents, user_id="default", embeddings=None):
    """Store these; texts stand for memories of their own."""
    batch = [{"content": each} if isinstance(each, str) else each for each in contents]
    return call(
        conn, "remember_many", memories=Jsonb(batch), embeddings=embeddings, user_id=user_id
    )


def one_by_one(conn, user, batch):
    """What remember() says to each."""
    return [
        row
        for memory, vector in batch
        for row in call(conn, "remember", **memory, embedding=vector, user_id=user)
    ]


def with_sources(batch, ids):
    """The same, with real ids in place of the first and second of them."""
    return [
        ({**memory, "sources": [ids[at] for at in memory["sources"]]}, vector)
        if "sources" in memory
        else (memory, vector)
        for memory, vector in batch
    ]


def rows_of(conn, user):
    """Everything stored for a user, ids as places in the order they were given."""
    ids = conn.execute(
        "SELECT memory_id FROM memoir.memory WHERE user_id = %s ORDER BY memory_id", (user,)
    )
    place = {memory_id: at for at, (memory_id,) in enumerate(ids)}
    found = {
        table: conn.execute(
            f"SELECT {'from_id' if table == 'relation' else 'memory_id'}, {columns}"
            f" FROM memoir.{table} WHERE user_id = %s ORDER BY 1, 2, 3",
            (user,),
        ).fetchall()
        for table, columns in TABLES.items()
    }
    sessions = conn.execute(
        "SELECT session_id, (SELECT array_agg(memory_id ORDER BY memory_id) FROM memoir.trace AS t"
        " WHERE t.user_id = s.user_id AND t.session = s.number)"
        " FROM memoir.session AS s WHERE s.user_id = %s ORDER BY s.number",
        (user,),
    ).fetchall()
    profile = conn.execute(
        "SELECT snippet, snippet_cost, snippet_ids FROM memoir.profile WHERE user_id = %s", (user,)
    ).fetchall()
    placed = {
        table: sorted((place[first], *rest) for first, *rest in rows)
        if table == "keyword"
        else [(place[first], *rest) for first, *rest in rows]
        for table, rows in found.items()
    }
    placed["relation"] = [(first, place[to], *rest) for first, to, *rest in placed["relation"]]
    return {
        **placed,
        "session": [(name, [place[i] for i in members or []]) for name, members in sessions],
        "profile": [(text, cost, [place[i] for i in ids]) for text, cost, ids in profile],
    }, place


def outcome(row, place):
    """What became of a memory, with places for ids."""
    reason = re.sub(r"(?<=memory )\d+", lambda found: str(place[int(found[0])]), row.reason)
    return row.action, reason, place[row.memory_id], [place[i] for i in row.other_ids]


def forget(conn):
    """Leave nothing of these two users."""
    for table in ("memory", "session", "profile"):
        conn.execute(f"DELETE FROM memoir.{table} WHERE user_id IN ('ann', 'bob')")


@examples(60)
@given(
    before=st.lists(memories, min_size=2, max_size=4),
    batch=st.lists(memories, min_size=1, max_size=8),
)
def test_it_does_what_remember_does_with_each_in_turn(tx, before, batch):
    without = [({k: v for k, v in m.items() if k != "sources"}, e) for m, e in before]
    ids = {user: [r.memory_id for r in one_by_one(tx, user, without)] for user in ("ann", "bob")}
    said = one_by_one(tx, "ann", with_sources(batch, ids["ann"]))
    ready = with_sources(batch, ids["bob"])
    vectors = [vector for _, vector in ready]
    answers = many(tx, *[m for m, _ in ready], user_id="bob", embeddings=vectors)
    (ann, ann_place), (bob, bob_place) = rows_of(tx, "ann"), rows_of(tx, "bob")
    assert bob == ann
    assert [(r.place, *outcome(r, bob_place)) for r in answers] == [
        (place, *outcome(r, ann_place)) for place, r in enumerate(said, 1)
    ]
    forget(tx)


def test_a_memory_of_a_batch_has_all_that_it_came_with(tx):
    times = ("created_at", "valid_from", "valid_until")
    said = {time: f"202{n}-05-06T07:08:09Z" for n, time in enumerate(times)}
    said |= {"content": "tea", "kind": "fact", "subject": "drink", "importance": 0.3}
    said |= {"data": {"cups": 2}, "summary": "hot", "session_id": "monday", "speaker": "Ann"}
    said |= {"source": "chat", "confidence": 0.4, "keywords": ["green"]}
    call(tx, "remember", **said, user_id="ann")
    many(tx, said, user_id="bob")
    (ann, _), (bob, _) = rows_of(tx, "ann"), rows_of(tx, "bob")
    assert bob == ann


def test_the_answers_come_in_the_order_of_the_memories(tx):
    tea = remember(tx, "tea", "general")
    rows = many(tx, "coffee", "tea", "coffee", "cocoa")
    assert [(row.place, row.action) for row in rows] == [
        (1, "ADD"),
        (2, "NOOP"),
        (3, "NOOP"),
        (4, "ADD"),
    ]
    assert (rows[1].memory_id, rows[2].memory_id) == (tea, rows[0].memory_id)
    assert rows[0].memory_id < rows[3].memory_id


def test_what_is_like_one_that_went_into_another_goes_there_too(tx):
    (text,) = sentences(1, 15)
    rows = many(tx, text, f"{text} today", f"{text} today!")
    assert [row.action for row in rows] == ["ADD", "UPDATE", "NOOP"]
    assert len({row.memory_id for row in rows}) == 1


def test_the_vector_of_a_duplicate_fills_the_gap_of_the_first(tx):
    rows = many(tx, "tea", "tea", embeddings=[None, "[1,0,0]"])
    assert recall(tx, query_vec="[1,0,0]").memory_ids == [rows[0].memory_id]


def test_sessions_are_numbered_as_they_appear(tx):
    many(tx, *({"content": name, "session_id": name} for name in ("c", "a", "b", "a")))
    rows = tx.execute("SELECT session_id FROM memoir.session ORDER BY number").fetchall()
    assert rows == [("c",), ("a",), ("b",)]


def test_no_memories_are_no_rows(tx):
    assert many(tx) == []


def test_a_batch_of_a_thousand_is_found_by_its_words(tx):
    rows = many(tx, *(f"number{n} of the batch" for n in range(1000)))
    assert [row.place for row in rows] == list(range(1, 1001))
    assert recall(tx, "number700").memory_ids == [rows[700].memory_id]


BAD = {
    "kind": ("ME002", {"kind": "poem"}),
    "kind of null": ("ME002", {"kind": None}),
    "no text": ("ME007", {"content": " \n"}),
    "text of null": ("ME007", {"content": None}),
    "importance": ("ME008", {"importance": 1.5}),
    "confidence": ("ME008", {"confidence": -1}),
    "turn": ("ME008", {"turn": -1}),
    "session": ("ME008", {"session_id": ""}),
    "keyword": ("ME008", {"keywords": ["tea", ""]}),
    "keyword of null": ("ME008", {"keywords": [None]}),
    "time": ("ME011", {"created_at": "3000-01-01"}),
    "source": ("ME012", {"sources": [987_654_321]}),
    "unknown key": ("ME008", {"sesion_id": "monday"}),
    "user": ("ME008", {"user_id": "ada"}),
    "no number": ("ME008", {"importance": "high"}),
    "no time": ("ME008", {"created_at": "yesterday-ish"}),
    "too large": ("ME008", {"turn": 3_000_000_000}),
}


@pytest.mark.parametrize(("sqlstate", "fields"), BAD.values(), ids=BAD)
def test_bad_input_is_refused_with_its_place_and_nothing_is_stored(tx, sqlstate, fields):
    before = row_counts(tx)
    batch = [{"content": "good"}, {"content": "bad", **fields}, {"content": "worse", **fields}]
    said = refused(tx, "remember_many", memories=Jsonb(batch))
    assert said.sqlstate == sqlstate
    assert said.message_primary.startswith("memory 2: ")
    assert said.message_hint
    assert row_counts(tx) == before


@pytest.mark.parametrize("time", ["2025-13-01", "03/04/2025", "03.04.2025"])
def test_a_time_that_is_none_or_two_brings_no_advice_about_settings_of_the_session(tx, time):
    tx.execute("SET LOCAL DateStyle = 'ISO, DMY'")
    batch = Jsonb([{"content": "tea", "created_at": time}])
    said = refused(tx, "remember_many", memories=batch)
    assert said.message_hint == "Nothing of this batch is stored. Correct this memory."


@pytest.mark.parametrize(
    ("sqlstate", "vectors"),
    [
        ("ME003", ["[1,0,0]", "[1,0]"]),
        ("ME004", ["[1,0,0]", "[0,0,0]"]),
        ("ME004", [None, "[0,0,0]"]),
    ],
)
def test_a_bad_vector_is_refused_with_its_place(tx, sqlstate, vectors):
    batch = Jsonb([{"content": "good"}, {"content": "bad"}])
    said = refused(tx, "remember_many", memories=batch, embeddings=vectors)
    assert (said.sqlstate, said.message_primary[:10]) == (sqlstate, "memory 2: ")


@pytest.mark.parametrize("batch", [{"content": "tea"}, "tea", None, ["tea"], [["tea"]], [None]])
def test_what_is_no_list_of_memories_is_refused(tx, batch):
    said = refused(tx, "remember_many", memories=Jsonb(batch))
    assert (said.sqlstate, bool(said.message_hint)) == ("ME008", True)


def test_sql_null_is_no_list_of_memories(tx):
    assert refused(tx, "remember_many", memories=None).sqlstate == "ME008"


@pytest.mark.parametrize("vectors", [["[1,0]"], ["[1,0]"] * 3, []])
def test_another_number_of_vectors_is_refused(tx, vectors):
    batch = Jsonb([{"content": "tea"}, {"content": "coffee"}])
    said = refused(tx, "remember_many", memories=batch, embeddings=vectors)
    assert said.message_primary == f"{len(vectors)} embeddings for 2 memories"


def test_an_unknown_key_is_answered_with_the_keys(tx):
    said = refused(tx, "remember_many", memories=Jsonb([{"content": "tea", "sesion": "x"}]))
    assert said.message_primary == "memory 1: unknown key sesion"
    assert "content, kind, subject" in said.message_detail


def test_the_first_vectors_of_a_database_decide_its_dimensions(tx):
    many(tx, "tea", "coffee", embeddings=[None, "[1,0]"])
    query = "SELECT dimensions FROM memoir.embedding_model WHERE active"
    assert value(tx, query) == 2


def test_two_batches_at_once_store_each_memory_once(db, dsn):
    said = [{"content": f"turn {n}", "session_id": f"s{n % 7}", "turn": n} for n in range(150)]
    answers = {}

    def store(name, batch):
        with psycopg.connect(dsn) as conn:
            ready.wait()
            answers[name] = [row.action for row in many(conn, *batch)]

    ready = threading.Barrier(3)
    batches = {"first": said, "second": said[::-1], "third": said[70:] + said[:70]}
    threads = [threading.Thread(target=store, args=each) for each in batches.items()]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(row.count("ADD") for row in answers.values()) == 150
    assert value(db, "SELECT count(*) FROM memoir.trace") == 150
    assert value(db, "SELECT count(*) FROM memoir.session") == 7


def test_a_single_memory_and_a_batch_at_once_do_not_block_each_other_for_good(db, dsn):
    said = [{"content": f"goal {n}", "kind": "okr", "session_id": "s"} for n in range(40)]

    def singly(batch):
        with psycopg.connect(dsn, autocommit=True) as conn:
            for memory in batch:
                call(conn, "remember", **memory)

    threads = [threading.Thread(target=singly, args=(each,)) for each in (said, said[::-1])]
    for thread in threads:
        thread.start()
    with psycopg.connect(dsn) as conn:
        many(conn, *said)
    for thread in threads:
        thread.join()
    assert value(db, "SELECT count(*) FROM memoir.memory") == 40


def test_a_batch_goes_when_the_callers_transaction_does(db):
    with db.transaction(force_rollback=True):
        many(db, "tea", "coffee")
    assert value(db, "SELECT count(*) FROM memoir.memory") == 0


def test_no_table_of_memories_is_read_whole(tx):
    scans = (
        "SELECT sum(seq_scan)::int FROM pg_stat_xact_user_tables WHERE schemaname = 'memoir'"
        " AND relname IN ('memory', 'trace', 'session', 'keyword', 'relation', 'profile')"
    )
    # Plans of foreign keys that earlier tests left, made when the tables were empty.
    tx.execute("DISCARD PLANS")
    before = value(tx, scans)
    tea = remember(tx, "tea", "okr", session_id="monday", embedding="[1,0]", keywords=["drink"])
    said = {"kind": "okr", "session_id": "monday", "keywords": ["hot"], "sources": [tea]}
    many(tx, {"content": "tea", **said}, {"content": "cocoa", **said}, embeddings=["[1,0]"] * 2)
    assert value(tx, scans) == before
