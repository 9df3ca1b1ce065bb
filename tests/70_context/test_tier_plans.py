"""Each size of user is read through its index, whatever statistics and planning say.

Few memories: trace_scan alone, without the table. Many: the user's own index by vector in its
order, and his own index of words.
"""

from __future__ import annotations

import re
from collections import Counter

import pytest
from tests.file_database import file_database
from tests.rows import call, fill, recall, set_to, wave

SIZES = (0, 1, 200, 2_000, 4_000)
# The numbers of their indexes: who has more memories comes first.
OWN = {2_000: 2, 4_000: 1}
STATISTICS = {
    "of 300 rows of one user": "SELECT",
    "missing": "DELETE FROM pg_statistic WHERE starelid = 'memoir.trace'::regclass",
    "fresh": "ANALYZE memoir.trace",
}
NEVER_VACUUMED = """
DELETE FROM pg_statistic WHERE starelid = 'memoir.trace'::regclass;
UPDATE pg_class SET reltuples = -1, relpages = 0, relallvisible = 0
WHERE oid = 'memoir.trace'::regclass
"""
SCAN = re.compile(r"\{(INDEXSCAN|INDEXONLYSCAN|BITMAPINDEXSCAN)\b.*?:indexid (\d+)", re.DOTALL)
INDEXES = """
SELECT i.indexrelid::text, c.relname
FROM pg_index AS i JOIN pg_class AS c ON c.oid = i.indexrelid
WHERE i.indrelid = 'memoir.trace'::regclass
"""
SCANS = """
SELECT indexrelname, idx_scan FROM pg_stat_user_indexes WHERE relname = 'trace'
UNION ALL
SELECT 'the table', seq_scan FROM pg_stat_user_tables WHERE relname = 'trace'
"""


@pytest.fixture(scope="module")
def users(installed):
    """A database with a user of each size, the two largest with indexes of their own."""
    with file_database(installed, "tiers") as conn:
        fill(conn, 300, "another")
        conn.execute("ANALYZE memoir.trace")
        for size in SIZES:
            fill(conn, size, name(size))
        fill(conn, 1_500, "not yet")
        set_to(conn, ann_limit=2, ann_gain=1)
        call(conn, "maintain", build_up_to=100_000)
        conn.execute("SET synchronous_commit = on")
        conn.execute("VACUUM memoir.trace")
        yield conn


@pytest.fixture(scope="module", params=STATISTICS.values(), ids=STATISTICS)
def statistics(users, request):
    """The statistics that the planner has: the tests with the same run one after another."""
    users.execute(request.param)


def name(size):
    return f"user of {size}"


def ask(conn, user, **more):
    """One recall by vector and by words, one of them rare; a block of few lines, in one round."""
    asked = {"user_id": user, "query_vec": wave(7), "budget": 100, **more}
    return recall(conn, "note7 word7", **asked)


def paths(conn, user, **more):
    """How one recall, planned anew, reads which indexes of trace."""
    plans = []
    names = dict(conn.execute(INDEXES).fetchall())

    def hear(notice):
        plans.append(notice.message_detail or "")

    conn.execute("DISCARD PLANS")
    conn.add_notice_handler(hear)
    with conn.transaction():
        conn.execute("SET LOCAL debug_print_plan = on")
        conn.execute("SET LOCAL client_min_messages = log")
        ask(conn, user, **more)
    conn.remove_notice_handler(hear)
    found = [scan for plan in plans for scan in SCAN.findall(plan)]
    return {(node, names[oid]) for node, oid in found if oid in names}


def scans(conn, run):
    """How often which index of trace, and the table, was read while it ran."""

    def counted():
        conn.execute("SELECT pg_stat_force_next_flush()")
        return Counter(dict(conn.execute(SCANS).fetchall()))

    before = counted()
    run()
    return counted() - before


def own(number):
    """The access paths of a user with indexes of his own."""
    return {("INDEXSCAN", f"trace_near_{number}"), ("BITMAPINDEXSCAN", f"trace_words_{number}")}


@pytest.mark.parametrize("mode", ["execute", "conversation"])
@pytest.mark.usefixtures("statistics")
def test_few_memories_are_read_from_the_index_alone(users, mode):
    for user in (*map(name, set(SIZES) - set(OWN)), "not yet"):
        assert ("INDEXONLYSCAN", "trace_scan") in paths(users, user, mode=mode)
        read = scans(users, lambda user=user: ask(users, user, mode=mode))
        assert (read["trace_scan"] > 0, read["the table"]) == (True, 0)
        assert not [index for index in read if re.search("[0-9]", index)]


@pytest.mark.usefixtures("statistics")
def test_many_memories_are_found_through_the_users_own_indexes(users):
    for size, number in OWN.items():
        assert paths(users, name(size)) >= own(number)
        read = scans(users, lambda size=size: ask(users, name(size)))
        assert (read[f"trace_near_{number}"], read[f"trace_words_{number}"]) == (1, 1)
        assert (read["trace_scan"], read["the table"]) == (0, 0)


@pytest.mark.parametrize("mode", ["conversation", "balanced", "search", "implicit", "assistant"])
def test_in_the_other_modes_too(users, mode):
    for size, number in OWN.items():
        assert paths(users, name(size), mode=mode) >= own(number)
        read = scans(users, lambda size=size: ask(users, name(size), mode=mode))
        assert read["the table"] == 0


@pytest.fixture
def as_reader(users):
    """Under row-level security; the function says for whom."""
    users.execute("CREATE ROLE one_user IN ROLE memoir_reader")
    users.execute("SET ROLE one_user")
    yield lambda user: users.execute("SELECT set_config('memoir.user_id', %s, false)", (user,))
    users.execute("RESET ROLE; RESET memoir.user_id; DROP ROLE one_user")


@pytest.mark.parametrize("mode", ["execute", "conversation", "balanced", "search"])
@pytest.mark.parametrize("vector", [True, False])
def test_row_level_security_keeps_them(users, as_reader, mode, vector):
    for size, number in OWN.items():
        as_reader(name(size))
        asked = {"mode": mode, "query_vec": wave(7) if vector else None}
        read = scans(users, lambda size=size, asked=asked: ask(users, name(size), **asked))
        assert (read[f"trace_near_{number}"] > 0, read[f"trace_words_{number}"] > 0) == (
            vector,
            True,
        )
        assert (read["trace_scan"], read["the table"]) == (0, 0)


def test_under_row_level_security_few_memories_are_read_from_the_index_alone(users, as_reader):
    as_reader(name(200))
    assert ("INDEXONLYSCAN", "trace_scan") in paths(users, name(200))
    read = scans(users, lambda: ask(users, name(200)))
    assert (read["trace_scan"] > 0, read["the table"]) == (True, 0)


@pytest.mark.parametrize("way", ["auto", "force_custom_plan", "force_generic_plan"])
@pytest.mark.usefixtures("statistics")
def test_a_prepared_statement_keeps_its_path(users, way):
    users.execute(f"SET plan_cache_mode = {way}")
    users.execute(
        "PREPARE ask (text) AS SELECT memory_ids FROM memoir.recall("
        f"query_text => 'note7 word7', user_id => $1, query_vec => '{wave(7)}', budget => 100)"
    )
    for size, index in ((200, "trace_scan"), (2_000, "trace_near_2"), (4_000, "trace_near_1")):
        again = f"EXECUTE ask ('{name(size)}')"
        read = scans(users, lambda again=again: [users.execute(again) for _ in range(7)])
        assert (read[index], read["the table"]) == (7, 0)
    users.execute("DEALLOCATE ask")
    users.execute("RESET plan_cache_mode")


def test_only_so_many_memories_with_a_word_are_read(users):
    # "word7" is in 41 memories of the largest user.
    counted = "SELECT idx_tup_read FROM pg_stat_user_indexes WHERE indexrelname = 'trace_words_1'"
    users.execute("SELECT pg_stat_force_next_flush()")
    (before,) = users.execute(counted).fetchone()
    assert recall(users, "word7", user_id=name(4_000), budget=100).memory_ids
    users.execute("SELECT pg_stat_force_next_flush()")
    assert 40 < users.execute(counted).fetchone()[0] - before < 80


@pytest.mark.parametrize("user", [*map(name, SIZES), "not yet"])
def test_in_a_table_never_vacuumed_nobody_elses_rows_are_read(users, user):
    # An index-only scan would read the table for each row, so another index may be as good.
    users.execute(NEVER_VACUUMED)
    read = scans(users, lambda: ask(users, user))
    assert set(read) <= {"trace_scan", "trace_pkey", "trace_wide"} | {
        index for _, number in OWN.items() for _, index in own(number)
    }
    assert ("trace_near_1" in read, "trace_near_2" in read) == (
        user == name(4_000),
        user == name(2_000),
    )
