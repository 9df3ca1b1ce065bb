"""Users with many memories get indexes of their own, and lose them; recall finds the same."""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime

import psycopg
import pytest
from tests.rows import (
    call,
    explain,
    fill,
    found,
    previews,
    recall,
    refused,
    remember,
    remember_all,
    set_to,
    store,
    until_blocked,
    value,
    wave,
)

ODD = ["O'Neil", "中文", '"x"; $branch$ $body$', "back\\slash", "%s %1$L {}", "tab\there"]
# With this gain 26 memories earn an index, and 0 keep it.
LITTLE = 0.22


@pytest.fixture
def small(tx):
    """A connection to a database where few memories are many."""
    set_to(tx, ann_gain=LITTLE)
    return tx


def maintain(conn, user=None, **more):
    """What was done for the speed of recall: (user, action, memories) of each thing."""
    rows = call(conn, "maintain", only_user=user, **more)
    return [row[:3] for row in rows if row.action == "words counted" or "index" in row.action]


def actions(conn, user=None, **more):
    """What was done with indexes."""
    return [row[1] for row in maintain(conn, user, **more) if row[1] != "words counted"]


def number(conn, user="default"):
    """The number of the user's indexes."""
    return value(conn, "SELECT ann FROM memoir.profile WHERE user_id = %s", user)


OWN = ["trace_leading_1", "trace_near_1", "trace_words_1"]


def indexes(conn):
    """The names of all own indexes."""
    rows = conn.execute(
        "SELECT relname FROM pg_class"
        " WHERE relname ~ '^trace_(leading|near|words)_[0-9]+$' ORDER BY 1"
    )
    return [name for (name,) in rows]


def best(conn, question, user="default", **more):
    """The memories of a recall, in order."""
    return recall(conn, question, user_id=user, **more).memory_ids


def test_a_user_with_many_memories_gets_indexes_and_his_words_are_counted(small):
    fill(small, 30)
    assert maintain(small) == [
        ("default", "index built", 30),
        ("default", "words counted", 30),
    ]
    assert (number(small), indexes(small)) == (1, OWN)


def test_whose_words_were_counted_before_he_had_indexes_is_not_counted_by_every_summary(small):
    fill(small, 30)
    maintain(small, build_up_to=0)
    assert maintain(small) == [("default", "index built", 30)]
    kept = "SELECT overview ->> 'memories' FROM memoir.profile WHERE user_id = 'default'"
    assert value(small, kept) == "30"


def test_a_second_time_does_nothing(small):
    fill(small, 30, "ada")
    remember(small, "tea", user_id="bob")
    maintain(small)
    assert maintain(small) == []


def test_with_the_settings_as_they_are_5000_memories_are_many(tx):
    costs = "SELECT memoir._exact_cost(%s::int) > 2 * memoir._indexed_cost(%s::int)"
    assert [value(tx, costs, n, n) for n in (1000, 5000)] == [False, True]


def test_few_memories_get_none(tx):
    fill(tx, 30)
    assert maintain(tx) == [("default", "words counted", 30)]
    assert number(tx) == 0


def test_memories_without_vectors_get_none(small):
    remember_all(small, (f"tea {n}" for n in range(30)))
    assert actions(small) == []


def test_who_has_few_left_loses_them(small):
    fill(small, 30)
    maintain(small)
    set_to(small, ann_gain=4)
    assert actions(small) == ["index dropped"]
    assert (number(small), indexes(small)) == (0, [])


def test_who_has_nothing_left_loses_them(small):
    fill(small, 30)
    maintain(small)
    small.execute("DELETE FROM memoir.memory")
    set_to(small, ann_gain=2)
    assert maintain(small) == [("default", "index dropped", 0)]


def test_between_the_two_sizes_nobody_gets_or_loses_one(tx):
    # 1000 memories gain 1: below that setting they earn an index, and above 1.43 they lose it.
    set_to(tx, ann_gain=1.2)
    fill(tx, 1000)
    assert actions(tx) == []
    set_to(tx, ann_gain=0.9)
    assert actions(tx) == ["index built"]
    set_to(tx, ann_gain=1.2)
    assert actions(tx) == []
    set_to(tx, ann_gain=1.5)
    assert actions(tx) == ["index dropped"]


def test_no_more_users_than_the_limit_have_one_the_largest_first(small):
    set_to(small, ann_limit=1)
    fill(small, 30, "ada")
    fill(small, 40, "bob")
    assert ("bob", "index built", 40) in maintain(small)
    assert (number(small, "ada"), number(small, "bob")) == (0, 1)


def test_the_limit_counts_what_is_left_to_the_command(small):
    set_to(small, ann_limit=1)
    fill(small, 30, "ada")
    fill(small, 40, "bob")
    left = [row for row in maintain(small, build_up_to=0) if "build index" in row[1]]
    assert left == [("bob", "build index: memoir maintain", 40)]


@pytest.mark.parametrize("question", ["note7 word3", "word5", "note29", "nothing like it"])
def test_what_is_found_is_the_same_for_everybody(small, question):
    fill(small, 50, "ada")
    fill(small, 20, "bob", first=1001)
    for user in ("ada", "bob"):
        call(small, "refresh_statistics", user_id=user)
    asked = {"query_vec": wave(7)}
    before = [best(small, question, user, **asked) for user in ("ada", "bob")]
    assert "index built" in actions(small, "ada")
    assert [best(small, question, user, **asked) for user in ("ada", "bob")] == before
    assert all(before)


def test_a_memory_stored_afterwards_is_found_by_vector_and_by_word(small):
    fill(small, 30)
    maintain(small)
    near = remember(small, "milk", embedding=wave(2000))
    assert best(small, None, query_vec=wave(2000))[0] == near
    bare = remember(small, "zebra crossing")
    assert best(small, "zebra") == [bare]
    assert best(small, "zebra", query_vec=wave(2000)).index(near) in (0, 1)


@pytest.fixture
def teas(db):
    """Own indexes, and 20 memories with a word that may be read 5 times.

    The word index returns first what lies first in the table: in ``tx``, after many tests, that is
    where others left room.
    """
    set_to(db, ann_gain=LITTLE)
    fill(db, 30)
    vectors = (wave(2000 + n) for n in range(20))
    store(db, ({"content": f"tea {n}", "embedding": v} for n, v in enumerate(vectors)))
    set_to(db, ann_words=5)
    maintain(db)
    return db


def test_a_common_word_finds_the_newest_without_a_vector(teas):
    assert number(teas) == 1
    assert set(found(teas, "tea")) == {f"tea {n}" for n in (*range(5), *range(15, 20))}


def test_where_the_newest_do_not_have_it_the_oldest_that_do_are_found(teas):
    remember_all(teas, (f"note{n} again" for n in range(50, 60)))
    assert set(found(teas, "tea")) == {f"tea {n}" for n in range(5)}


@pytest.mark.parametrize("rare", ["zorblatt", "note7"])
def test_a_rare_word_beside_a_common_one_does_not_hide_it(teas, rare):
    assert len([line for line in found(teas, f"{rare} tea") if line.startswith("tea")]) == 10
    hits = call(teas, "search_memories", query=f"{rare} tea", min_relevance_score=0)
    assert len(hits) == 5
    assert ("note7 word7" in previews(hits)) == (rare == "note7")


def test_a_time_alone_finds_what_was_said_then(small):
    then = [datetime(2022, 1, day, tzinfo=UTC) for day in range(1, 6)]
    store(small, ({"content": f"tea {at.day}", "created_at": at} for at in then))
    fill(small, 60)
    maintain(small)
    lines = found(small, "January 2022", mode="conversation")
    assert {f"tea {at.day}" for at in then} <= set(lines)


def test_how_much_is_read_for_a_word_follows_the_count_of_the_same_run(small):
    fill(small, 60)
    set_to(small, ann_words=0)
    maintain(small)
    assert len(found(small, "note7")) == 60 // 50


def test_a_memory_that_is_no_longer_active_is_not_found(small):
    fill(small, 30)
    maintain(small)
    gone, first = best(small, "note3", query_vec=wave(3))[0], best(small, "note4")[0]
    small.execute("UPDATE memoir.trace SET active = false WHERE memory_id = %s", (gone,))
    small.execute("DELETE FROM memoir.memory WHERE memory_id = %s", (first,))
    assert not {gone, first} & set(best(small, "note3 note4", query_vec=wave(3)))


def test_a_question_with_neither_text_nor_vector_shows_the_most_important(small):
    fill(small, 30)
    before = best(small, None)
    maintain(small)
    assert best(small, None) == before != []


def test_a_recall_of_the_past_is_as_before(small):
    fill(small, 30)
    small.execute("UPDATE memoir.memory SET valid_from = '2025-01-01'")
    small.execute("UPDATE memoir.trace SET created_at = '2025-01-01' WHERE memory_id % 2 = 0")
    past = datetime(2025, 1, 2, tzinfo=UTC)
    before = best(small, "word3", query_vec=wave(3), as_of=past)
    maintain(small)
    assert best(small, "word3", query_vec=wave(3), as_of=past) == before != []


@pytest.mark.parametrize("mode", ["execute", "conversation", "balanced", "assistant"])
def test_every_mode_finds_it(small, mode):
    fill(small, 60)
    maintain(small)
    rows = explain(small, "note9", mode=mode, query_vec=wave(9))
    assert rows[0].content == "note9 word9"
    made = recall(small, "note9", mode=mode, query_vec=wave(9))
    assert made.memory_ids[0] == rows[0].memory_id


@pytest.mark.parametrize("user", ODD)
def test_a_user_may_have_any_name(small, user):
    fill(small, 30, user)
    fill(small, 25, "bob", first=1001)
    maintain(small)
    assert number(small, user) == 1
    assert found(small, "note9", user_id=user, query_vec=wave(9))[0] == "note9 word9"
    assert maintain(small) == []
    set_to(small, ann_gain=9)
    assert actions(small, user) == ["index dropped"]


def test_how_the_session_writes_names_and_texts_does_not_matter(small):
    user = "OFFICE\\ada"
    fill(small, 30, user)
    small.execute("SET LOCAL quote_all_identifiers = on")
    small.execute("SET LOCAL standard_conforming_strings = off")
    assert actions(small, user) == ["index built"]
    assert actions(small, user) == []


def test_the_number_of_another_leads_to_nobody_elses_memories(small):
    fill(small, 30, "ada")
    fill(small, 30, "bob", first=1001)
    maintain(small)
    small.execute("UPDATE memoir.profile SET ann = 3 - ann")
    ids = best(small, "note9 note1009", "ada", query_vec=wave(1009), budget=5000)
    owners = "SELECT array_agg(DISTINCT user_id) FROM memoir.memory WHERE memory_id = ANY (%s)"
    assert value(small, owners, ids) == ["ada"]


def test_for_all_users_a_large_index_is_left_to_the_command(small):
    set_to(small, ann_inline=29)
    fill(small, 30)
    assert actions(small) == ["build index: memoir maintain"]
    assert number(small) == 0
    assert actions(small, "default") == ["index built"]


def test_asked_not_to_build_it_only_tells(small):
    fill(small, 30)
    assert actions(small, build_up_to=0) == ["build index: memoir maintain"]
    maintain(small)
    set_to(small, ann_gain=9)
    assert actions(small, build_up_to=0) == ["drop index: memoir maintain"]
    assert number(small) == 1


def test_a_missing_index_is_found_out_and_built_again(small):
    fill(small, 30)
    maintain(small)
    small.execute("DROP INDEX memoir.trace_near_1")
    assert found(small, "note9", query_vec=wave(9))[0] == "note9 word9"
    assert actions(small) == ["unusable index dropped", "index built"]
    assert actions(small) == []


def test_a_profile_that_came_without_indexes_has_everything_compared(small):
    # What a copy of the rows alone brings: the function knows no such user.
    fill(small, 30)
    small.execute("INSERT INTO memoir.profile (user_id, ann) VALUES ('default', 7)")
    assert found(small, "note9", query_vec=wave(9))[0] == "note9 word9"
    set_to(small, ann_gain=9)
    assert actions(small) == ["unusable index dropped"]
    assert number(small) == 0


def test_the_index_of_another_user_is_not_taken_for_his(small):
    fill(small, 30, "ada")
    maintain(small)
    diag = refused(small, "_use_own_index", user_id="bob", number=1)
    assert (diag.sqlstate, diag.message_hint) == ("ME013", "memoir maintain builds them.")


def test_another_embedding_model_means_new_indexes(small):
    fill(small, 30)
    maintain(small)
    small.execute("UPDATE memoir.embedding_model SET active = false")
    small.execute("INSERT INTO memoir.embedding_model VALUES (2, 'short', 2, true)")
    short = f"[{math.sin(9)},{math.sin(18)}]"
    small.execute(
        "INSERT INTO memoir.trace (user_id, memory_id, model, kind, created_at, importance, cost,"
        " term_count, terms, embedding, line) SELECT user_id, memory_id, 2, kind, created_at,"
        " importance, cost, term_count, terms, subvector(embedding::vector, 1, 2), line"
        " FROM memoir.trace"
    )
    assert (number(small), found(small, "note9", query_vec=short)[0]) == (0, "note9 word9")
    assert actions(small) == ["left-over index dropped", "index built"]
    assert found(small, "note9", query_vec=short)[0] == "note9 word9"
    assert indexes(small) == OWN


def test_only_the_owner_builds(small):
    fill(small, 30)
    small.execute("CREATE ROLE app")
    small.execute("GRANT memoir_admin TO app")
    small.execute("SET LOCAL ROLE app")
    assert maintain(small, "default") == [
        ("default", "build index: memoir maintain", 30),
        ("default", "words counted", 30),
    ]


def test_a_role_under_row_level_security_finds_the_same(small):
    fill(small, 30)
    maintain(small)
    before = best(small, "note9 word3", query_vec=wave(9))
    small.execute("CREATE ROLE app")
    small.execute("GRANT memoir_reader TO app")
    small.execute("SET LOCAL ROLE app")
    small.execute("SET LOCAL memoir.user_id = 'default'")
    assert best(small, "note9 word3", query_vec=wave(9)) == before


def test_a_reader_needs_no_right_to_write(small):
    fill(small, 30)
    maintain(small)
    small.execute("SET LOCAL TRANSACTION READ ONLY")
    assert found(small, "note9", query_vec=wave(9))[0] == "note9 word9"


def test_no_user_is_refused(tx):
    assert refused(tx, "maintain", only_user="").sqlstate == "ME006"


def test_of_two_at_once_one_builds(db, dsn):
    set_to(db, ann_gain=LITTLE)
    fill(db, 30)
    call(db, "refresh_statistics")
    with psycopg.connect(dsn) as other:
        assert "index built" in actions(other)
        db.execute("SET statement_timeout = '1min'")
        assert actions(db, build_up_to=100) == ["build index: memoir maintain"]
        other.commit()
    assert (number(db), maintain(db)) == (1, [])


def test_of_two_whose_indexes_go_at_once_recall_knows_neither(db, dsn):
    set_to(db, ann_gain=LITTLE)
    for user in ("ada", "bob"):
        fill(db, 30, user)
    maintain(db)
    gone = "SELECT memoir._use_own_index(%s, 0)"
    with psycopg.connect(dsn) as other, ThreadPoolExecutor(1) as pool:
        other.execute(gone, ("ada",))
        said = pool.submit(db.execute, gone, ("bob",))
        until_blocked(other)
        other.commit()
        said.result()
    body = value(db, "SELECT prosrc FROM pg_proc WHERE proname = '_near_rows'")
    assert ("'ada'" in body, "'bob'" in body) == (False, False)


def test_a_busy_table_is_left_alone(db, dsn):
    set_to(db, ann_gain=LITTLE)
    fill(db, 30)
    with psycopg.connect(dsn) as writer:
        remember(writer, "tea", user_id="bob")
        assert actions(db) == ["build index: memoir maintain"]
    assert actions(db) == ["index built"]


def test_a_busy_table_keeps_an_index(db, dsn):
    set_to(db, ann_gain=LITTLE)
    fill(db, 30)
    maintain(db)
    set_to(db, ann_gain=9)
    with psycopg.connect(dsn) as reader:
        recall(reader, "note9", query_vec=wave(9))
        assert actions(db) == ["drop index: memoir maintain"]
    assert (number(db), actions(db)) == (1, ["index dropped"])
