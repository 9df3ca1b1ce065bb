"""Whatever is done to a memory, in whatever order: it stays true, and nothing is lost."""

from __future__ import annotations

from functools import cache

import psycopg
import pytest
from hypothesis import given
from hypothesis import strategies as st
from psycopg.types.json import Jsonb
from tests.examples import examples
from tests.oracle import Period, timeline
from tests.rows import ago, call, remember
from writers import FAULTS

USER = "ann"

TEXTS = st.sampled_from(
    (
        "uses vim",
        "uses vim every day",
        "does not use vim any more",
        "lives in Oslo with two cats",
        "lives in Oslo with two cats and a dog",
        "住在奥斯陆",
        "住在奥斯陆的市中心",
    )
)
KINDS = st.sampled_from(("fact", "preference"))
SUBJECTS = st.sampled_from((None, "user.editor", "user.city"))
DAYS = st.none() | st.integers(1, 6).map(lambda days: ago(days=days))
VECTORS = st.sampled_from((None, "[1,0,0]", "[0.99,0.1,0]", "[0,1,0]"))
# A memory by its number among those there are of the status that a step wants.
CHOICE = st.integers(0, 9)


def step(name, required=None, **optional):
    """A call of a function with these arguments."""
    return st.tuples(st.just(name), st.fixed_dictionaries(required or {}, optional=optional))


def decision(action, required, **optional):
    return st.fixed_dictionaries({"action": st.just(action), **required}, optional=optional)


NEW = {"content": TEXTS, "kind": KINDS, "subject": SUBJECTS}
ONE = {"memory_id": CHOICE}
SEVERAL = {"memory_ids": st.lists(CHOICE, min_size=1, max_size=3, unique=True)}
DECISIONS = st.one_of(
    decision("ADD", NEW),
    decision("UPDATE", {**ONE, "content": TEXTS}, subject=SUBJECTS),
    decision("DELETE", SEVERAL, content=TEXTS),
    decision("NOOP", SEVERAL, content=TEXTS),
    decision("SUPERSEDE", {**SEVERAL, "content": TEXTS}, kind=KINDS, subject=SUBJECTS),
    decision("SUPERSEDE", {**ONE, "by": CHOICE}),
    decision("REPLACE", {**ONE, "content": TEXTS}),
    decision("MERGE", {**SEVERAL, "content": TEXTS}, kind=KINDS),
    decision("KEEP_BOTH", {**ONE, "content": TEXTS}, subject=SUBJECTS),
)
REMEMBER = step(
    "remember",
    NEW,
    created_at=DAYS,
    valid_from=DAYS,
    valid_until=st.just(ago(days=0)),
    embedding=VECTORS,
    source=st.sampled_from(("user", "model")),
    summary=st.just("in short"),
)
STEPS = st.one_of(
    REMEMBER,
    step("apply_decisions", {"decisions": st.lists(DECISIONS, min_size=1, max_size=2)}),
    step("supersede", {"memory_id": CHOICE, "by_id": CHOICE}),
    step("update_memory", ONE, content=TEXTS, kind=KINDS, subject=SUBJECTS, embedding=VECTORS),
    step("forget", ONE),
    step("restore", ONE),
    step("undo", ONE),
    step("confirm", ONE),
    step("reject", ONE),
    step("undo_run", {"run_id": CHOICE}),
    step("purge", ONE),
    step("mention", {**ONE, "entity": st.sampled_from(("Oslo", "vim"))}),
    step("set_keywords", {**ONE, "keywords": st.just(["cats", "day"])}),
    step("set_embedding", {**ONE, "embedding": VECTORS}),
    step("refresh_statistics"),
    step("set_settings", {"settings": st.booleans().map(lambda on: Jsonb({"confirm": on}))}),
)
# Of which status the memories of a step are; active ones where nothing else is said.
STATUS = {"restore": "forgotten", "confirm": "pending", "reject": "pending", "undo": "%"}

ROWS = """SELECT md5(string_agg(r.row, '' ORDER BY r.row)) FROM (
    SELECT m::text FROM memoir.memory AS m
    UNION ALL SELECT t::text FROM memoir.trace AS t
    UNION ALL SELECT k::text FROM memoir.keyword AS k
    UNION ALL SELECT r::text FROM memoir.relation AS r
    UNION ALL SELECT v::text FROM memoir.revision AS v
    UNION ALL SELECT p::text FROM memoir.profile AS p
) AS r (row)"""

# All that may be wrong is asked after every step, and takes four times as long to plan as to find.
MAKE_FAULTS = f"""CREATE FUNCTION pg_temp.faults(told text[])
RETURNS TABLE (fault text, what text) LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan
AS $body$ BEGIN
    RETURN QUERY {FAULTS % {"user": f"'{USER}'", "texts": "told"}};
END $body$"""

RUNS = "SELECT DISTINCT run_id FROM memoir.revision WHERE run_id IS NOT NULL ORDER BY run_id"


class Memory:
    """The memory of one user: what was told to it, and what is done to it."""

    def __init__(self, conn):
        self.conn, self.told = conn, set()

    def numbers(self, query, *parameters):
        return [number for (number,) in self.conn.execute(query, parameters)] or [0]

    def rows(self):
        """What is stored, in short."""
        return self.conn.execute(ROWS).fetchone()

    def faults(self):
        """What is wrong, or was told and is nowhere."""
        return self.conn.execute("SELECT * FROM pg_temp.faults(%s)", ([*self.told],)).fetchall()

    def do(self, name, arguments):
        """One step; what is refused has an error of ours and changes nothing."""
        given = self.chosen(name, arguments)
        before = self.rows()
        try:
            with self.conn.transaction():
                call(self.conn, name, user_id=USER, **_sent(given))
        except psycopg.Error as error:
            refusal = error.sqlstate
        else:
            refusal = None
            # What is purged is lost, and what became of its text in others with it.
            self.told = set() if name == "purge" else self.told | set(_texts(name, given))
        assert refusal is None or (refusal.startswith("ME") and self.rows() == before)
        return refusal

    def chosen(self, name, arguments):
        """The arguments with memories and runs for numbers."""

        @cache
        def ids():
            return self.numbers(
                "SELECT m.memory_id FROM memoir.memory AS m WHERE m.status LIKE %s"
                " ORDER BY m.memory_id",
                STATUS.get(name, "active"),
            )

        def choose(key, value):
            if key == "decisions":
                return [{k: choose(k, v) for k, v in each.items()} for each in value]
            if key in {"memory_id", "by_id", "by"}:
                return ids()[value % len(ids())]
            if key == "memory_ids":
                return list({ids()[each % len(ids())] for each in value})
            if key == "run_id":
                runs = self.numbers(RUNS)
                return runs[value % len(runs)]
            return value

        return {key: choose(key, value) for key, value in arguments.items()}


def _sent(given):
    return {key: Jsonb(value) if key == "decisions" else value for key, value in given.items()}


def _texts(name, given):
    """The texts that a call asks to remember."""
    asked = given["decisions"] if name == "apply_decisions" else [given]
    return [each["content"] for each in asked if "content" in each]


@pytest.fixture
def small(tx):
    """A database with a model in use: named once, for naming it makes all plans anew."""
    call(tx, "use_model", name="small", dimensions=3)
    tx.execute(MAKE_FAULTS)
    return tx


@examples(40)
@given(
    said=st.lists(REMEMBER, min_size=2, max_size=5),
    steps=st.lists(STEPS, min_size=3, max_size=15),
)
def test_memory_stays_true_and_whole_whatever_is_done_to_it(small, said, steps):
    with small.transaction(force_rollback=True):
        memory = Memory(small)
        for name, arguments in said + steps:
            memory.do(name, arguments)
            assert memory.faults() == [], (name, arguments)


PERIODS = st.builds(
    Period,
    st.sampled_from(("vim", "emacs", "nano")),
    st.integers(2, 9).map(lambda days: ago(days=days)),
    st.sampled_from((None, None, ago(days=1))),
)


@given(said=st.lists(PERIODS, max_size=8))
def test_a_slot_is_the_timeline_of_what_was_said_whenever_it_arrives(tx, said):
    with tx.transaction(force_rollback=True):
        for each in said:
            times = {"valid_from": each.begins, "valid_until": each.ends}
            remember(tx, each.text, subject="user.editor", created_at=ago(days=9), **times)
        slot = "SELECT content, valid_from, valid_until FROM memoir.memory ORDER BY valid_from"
        assert [Period(*row) for row in tx.execute(slot)] == timeline(said)


@given(said=st.lists(REMEMBER, min_size=2, max_size=8), at=st.integers(0, 12).map(lambda n: n / 2))
def test_a_recall_of_any_time_has_one_value_of_a_slot(small, said, at):
    with small.transaction(force_rollback=True):
        memory = Memory(small)
        for name, arguments in said:
            memory.do(name, {"valid_until": None, **arguments})
        (seen,) = call(small, "recall", query_text="住在 vim", user_id=USER, as_of=ago(days=at))
        slots = small.execute(
            "SELECT m.kind, m.subject FROM memoir.retrieval AS r"
            " JOIN memoir.memory AS m ON m.memory_id = ANY (r.ids)"
            " WHERE r.retrieval_id = %s AND m.subject IS NOT NULL",
            (seen.retrieval_id,),
        ).fetchall()
        assert len(slots) == len(set(slots))
