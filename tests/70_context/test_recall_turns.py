"""Recall of conversations: the fast form in recall chooses what the exact form in explain does."""

from __future__ import annotations

import random
from datetime import timedelta

import pytest
from tests import oracle
from tests.examples import share
from tests.oracle import Features, Turn, TurnRules
from tests.rows import (
    NOTHING,
    NOW,
    add_event,
    add_mode,
    ago,
    call,
    explain,
    found,
    headings,
    recall,
    remember,
    say,
    store,
)

pytestmark = pytest.mark.usefixtures("side_by_side", "planned_once")

WORDS = ["tea", "milk", "lemon", "paris", "train", "dog", "red", "茶", "北京"]
ENDS = ["?", ".", " yesterday", " with Ann Lee Low Kim", ' says "no"']
SPEAKERS = ["Ann", "Bob", "小明", None]
QUESTIONS = [
    ("When did Ann drink tea in Paris?", "[1,0,0.5]"),
    ("What did Ann and Bob say about milk on 20 May 2025?", "[0,1,0]"),
    ("小明昨天喝茶了吗", None),
    (None, "[0.2,0.3,1]"),
    (None, None),
]


def memory_of(source, turn, dimensions=3, wide=0.1):
    """One memory of a generated conversation; some are no turns, some have no vector."""
    session = source.choice(["a", "b", "c", "d", f"alone {turn}", None])
    text = " ".join(source.choices(WORDS, k=source.randint(1, 5)))
    if source.random() < wide:
        text += " " + " ".join(source.choices(WORDS, k=400))
    vector = [source.choice((0, 0.25, 1)) for _ in range(3)] + [1 / 8] * (dimensions - 3)
    is_turn = source.random() < 0.8
    return {
        "content": f"{text} {turn}{source.choice(ENDS)}",
        "kind": "turn" if is_turn else "fact",
        "subject": source.choice([None, None, f"bob.{turn}"]),
        "session_id": session,
        "turn": turn * source.randint(1, 3) if is_turn and session else None,
        "speaker": source.choice(SPEAKERS) if is_turn else None,
        "embedding": str(vector) if any(vector) and source.random() < 0.8 else None,
        "created_at": NOW - timedelta(hours=source.randint(0, 40) * 24),
    }


def fill(conn, seed, count, **more):
    """A generated conversation."""
    source = random.Random(seed)
    store(conn, [memory_of(source, turn, **more) for turn in range(count)])


def both(conn, question, vector, **more):
    """Memories chosen by recall and by explain, in order, and the scores of the candidates."""
    more = {"mode": "conversation", "budget": 700, "query_vec": vector, **more}
    fast = recall(conn, question, **more)
    exact = explain(conn, question, **more)
    logged = dict(
        conn.execute(
            "SELECT c.* FROM memoir.retrieval, unnest(ids, score) AS c WHERE retrieval_id = %s",
            (fast.retrieval_id,),
        ).fetchall()
    )
    shown = {row.memory_id: row.score for row in exact if row.memory_id in logged}
    return fast.memory_ids, [row.memory_id for row in exact if row.place], logged, shown


def check(conn, dimensions=3, **more):
    """Both forms agree for each question, with and without statistics."""
    for _ in range(2):
        for question, vector in QUESTIONS:
            padded = vector and vector[:-1] + ",0" * (dimensions - 3) + "]"
            fast, exact, logged, shown = both(conn, question, padded, **more)
            assert fast == exact
            assert logged == pytest.approx(shown, abs=1e-6)
        call(conn, "refresh_statistics")


@pytest.mark.parametrize("seed", range(share(4)))
@pytest.mark.parametrize("count", [1, 2, 3, 59, 61])
def test_both_forms_choose_the_same(tx, seed, count):
    fill(tx, seed, count)
    check(tx)


@pytest.mark.parametrize("wide", [0, 0.05])
def test_both_forms_choose_the_same_of_700(tx, wide):
    fill(tx, 1, 700, wide=wide)
    check(tx)


@pytest.mark.parametrize("count", [3, 61])
def test_both_forms_choose_the_same_where_all_rows_are_wide(tx, count):
    fill(tx, 2, count, dimensions=1536)
    tx.execute("DELETE FROM memoir.trace WHERE NOT wide")
    check(tx, 1536)


@pytest.mark.parametrize("seed", range(3))
def test_both_forms_choose_the_same_with_few_candidates(tx, seed):
    fill(tx, seed, 30)
    settings = {"candidate_limit": 3, "line_limit": 2, "threshold": 0.05, "profile": True}
    mode = add_mode(tx, **settings, time_boost=0.4, neighbour_weight=0.3, session_weight=0.5)
    check(tx, mode=mode, budget=60)


@pytest.mark.parametrize("seed", range(share(10)))
@pytest.mark.parametrize("with_vector", [True, False])
def test_scores_are_those_of_the_oracle(tx, seed, with_vector):
    fill(tx, seed, random.Random(seed).randint(1, 40))
    vector = "[1,0,0.5]" if with_vector else None
    expected = expected_scores(tx, vector)
    assert both(tx, ASKED, vector, budget=100_000)[2] == pytest.approx(expected, abs=1e-6)


ASKED = "When did Ann and Bob drink tea in May 2025?"
OF_TURNS = """
SELECT m.memory_id, w.weight, m.session_id, m.position, lower(concat(m.speaker, m.subject)),
       ARRAY[CASE WHEN m.content LIKE '%?' THEN 'asks' END,
             CASE WHEN m.content LIKE '%yesterday' THEN 'when' END,
             CASE WHEN m.created_at >= '2025-05-01' AND m.created_at < '2025-06-01' THEN 'timely'
                  WHEN m.created_at >= '2025-04-30' AND m.created_at < '2025-06-08' THEN 'soon'
             END], t.cost, m.content
FROM memoir.memory AS m
JOIN memoir.trace AS t USING (user_id, memory_id)
LEFT JOIN memoir.mode_weight AS w ON w.mode = 'conversation' AND w.kind = m.kind
"""


def expected_scores(conn, vector):
    """Scores above 0 for the question `ASKED`, as the oracle has them from the mode's settings."""
    rows = conn.execute(OF_TURNS).fetchall()
    known = [sum(name in row[4] for row in rows) > 0 for name in ("ann", "bob")]
    of_words = conn.execute(
        "SELECT vector_weight, word_weight, name_boost, time_boost, when_boost, question_penalty,"
        " boost_without_vector FROM memoir.mode WHERE name = 'conversation'"
    )
    features = Features(*of_words.fetchone(), names=sum(known))
    of_turns = conn.execute(
        "SELECT neighbour_weight, second_neighbour_weight, answer_weight, session_weight, squared,"
        " question_factor, cost_power, detail_weight FROM memoir.mode WHERE name = 'conversation'"
    )
    plain = {row.memory_id: row for row in explain(conn, ASKED, query_vec=vector)}
    memory = []
    for key, weight, session, place, names, flags, cost, content in rows:
        named = sum(name in names for name in ("ann", "bob"))
        words = plain[key].coverage or 0
        own = oracle.own_score(
            plain[key].cosine,
            words,
            features,
            named,
            frozenset(flags),
            asked_in_words=vector is None,
        )
        head = content[:1000]
        details = 3 * ("Kim" in head) + 2 * any(map(str.isdigit, head)) + 2 * ('"' in head)
        details += "when" in flags
        own *= weight or 1
        memory.append(Turn(key, own, session, place, "asks" in flags, details, cost))
    scores = oracle.turn_scores(memory, TurnRules(*of_turns.fetchone()))
    return {key: score for key, score in scores.items() if score > 0}


def test_an_empty_memory_gives_nothing(tx):
    for question, vector in QUESTIONS:
        assert recall(tx, question, mode="conversation", query_vec=vector).block == NOTHING


def test_more_candidates_than_are_preselected_at_first_fill_a_budget(tx):
    say(tx, "a", *(f"tea {number}" for number in range(300)))
    made = recall(tx, "tea", mode="conversation", budget=1500)
    assert made.tokens > 1200
    assert made.candidates > 75


def test_of_the_same_score_the_newest_are_candidates(tx):
    made = [{"content": f"tea {n}", "kind": "turn", "created_at": ago(days=n)} for n in range(45)]
    store(tx, made)
    assert found(tx, "tea", mode="conversation", budget=40)[:3] == ["tea 0", "tea 1", "tea 2"]


@pytest.mark.parametrize(("settings", "count"), [({"line_limit": 3}, 3), ({"threshold": 0.6}, 1)])
def test_limits_of_a_mode_hold_among_turns(tx, settings, count):
    say(tx, "a", "tea milk", "tea milk lemon", "milk", "tea x", "y tea")
    mode = add_mode(tx, neighbour_weight=0.01, **settings)
    assert len(found(tx, "tea milk lemon", mode=mode)) == count


def test_a_mode_with_turns_and_events_shows_both(tx):
    say(tx, "a", "tea", "milk")
    add_event(tx, "alert", {"text": "kettle broke"})
    mode = add_mode(tx, neighbour_weight=0.3, event_limit=10)
    made = recall(tx, "tea", mode=mode)
    assert headings(made.block) == ["Conversation", "Recent events"]
    assert [row.place for row in explain(tx, "tea", mode=mode)] == [1, 2, 3]


def test_a_mode_with_turns_can_show_the_profile(tx):
    data = {"status": "in_progress", "priority": 1}
    goal = remember(tx, "drink tea every day", "okr", session_id="a", data=data)
    say(tx, "a", "tea", "milk")
    mode = add_mode(tx, neighbour_weight=0.3, session_weight=0.2, profile=True)
    fast, exact, logged, shown = both(tx, "tea", None, mode=mode)
    assert fast == exact
    assert goal not in logged
    assert logged == pytest.approx(shown, abs=1e-6)


@pytest.mark.parametrize("squared", [True, False])
def test_a_turn_of_fifty_years_lends_in_a_mode_of_recency(tx, squared):
    say(tx, "s", "We drank tea.", "And ate cake.", created_at="1976-01-01")
    settings = {"recency_rate": 1, "recency_power": 1, "squared": squared}
    mode = add_mode(tx, neighbour_weight=1e-6, **settings)
    assert [0 <= row.score < 1e-30 for row in explain(tx, "tea", mode=mode)] == [True, True]


def test_what_has_expired_is_no_line_and_lends_alike_in_both_forms(tx):
    turns = say(tx, "a", "tea", "milk", "lemon tea", created_at=ago(days=1))
    expire = "UPDATE memoir.memory SET valid_until = now() WHERE memory_id = %s"
    tx.execute(expire, turns[:1])
    fast, exact, logged, shown = both(tx, "tea", None)
    assert fast == exact == turns[:0:-1]
    assert logged == pytest.approx(shown, abs=1e-6)


def test_lines_of_every_length_fit_the_index(tx):
    source = random.Random(1)
    letters = [chr(code) for code in range(0x4E00, 0x9000)]
    turns = [
        {
            "content": " ".join(source.sample(letters, min(length, 500)))[:length],
            "kind": "turn",
            "speaker": " ".join(f"n{length}x{n}" for n in range(20)),
        }
        for length in range(60, 1000, 15)
    ]
    store(tx, turns)
    shares = tx.execute("SELECT wide, count(*) FROM memoir.trace GROUP BY 1").fetchall()
    assert {wide for wide, _ in shares} == {True, False}
