"""Modes, kinds and weights are rows: a change acts at the next recall."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest
from tests.rows import (
    NOW,
    add_event,
    ago,
    explain,
    headings,
    recall,
    remember,
    say,
    until,
    until_blocked,
    value,
)

from pgmemoir import paths


def scores(conn, **more):
    """Score by kind of a recall for tea."""
    return {row.kind: row.score for row in explain(conn, "tea", as_of=NOW, **more)}


def add_mode(conn):
    conn.execute("INSERT INTO memoir.mode (name, description) VALUES ('brew', 'Making tea.')")
    conn.execute("INSERT INTO memoir.mode_weight VALUES ('brew', 'fact', 0.25)")


def test_a_mode_is_two_inserts(tx):
    remember(tx, "tea is green", created_at=NOW)
    remember(tx, "tea with milk", "preference", created_at=NOW)
    add_mode(tx)
    assert scores(tx, mode="brew") == pytest.approx({"fact": 0.25, "preference": 1})


def test_a_new_mode_takes_the_half_lives_of_the_kinds(tx):
    remember(tx, "tea to buy", "task", created_at=ago(days=30))
    add_mode(tx)
    assert scores(tx, mode="brew") == pytest.approx({"task": 0.5}, abs=1e-9)


def test_a_mode_of_a_name_not_there_is_refused_until_it_is(tx):
    add_mode(tx)
    assert recall(tx, mode="brew").tokens > 0


def test_a_mode_that_compares_nothing_is_refused_by_name(tx):
    with pytest.raises(psycopg.errors.CheckViolation, match="vector_or_word_weight_above_0"):
        tx.execute(
            "INSERT INTO memoir.mode (name, description, vector_weight, word_weight)"
            " VALUES ('none', 'Compares nothing.', 0, 0)"
        )


WEIGHTS = [
    "vector",
    "word",
    "keyword",
    "recency",
    "importance",
    "graph",
    "base",
    "interaction",
    "priority",
]
TURN_WEIGHTS = ["neighbour", "second_neighbour", "answer", "session"]
BOOSTS = ["name_boost", "time_boost", "when_boost", "question_penalty"]
TIMES = ["time_before", "time_after", "time_after_day"]
NO_NUMBERS = [1e300, "NaN", "Infinity"]
# Of each check its columns, what it refuses, and the ends of what it admits.
RANGES = {
    "weights_are_0_or_1e_6_to_1e6": (
        [f"{name}_weight" for name in WEIGHTS],
        [-0.1, 1e-300, *NO_NUMBERS],
        [1e-6, 1e6],
    ),
    "weights_of_turns_are_0_or_1e_6_to_1": (
        [f"{name}_weight" for name in TURN_WEIGHTS],
        [-0.1, 1e-300, *NO_NUMBERS],
        [1e-6, 1],
    ),
    "boosts_are_0_or_1e_6_to_1000_either_way": (BOOSTS, [1e-300, *NO_NUMBERS], [1e-6, -1000, 1000]),
    "times_around_a_date_are_0_to_100_years": (TIMES, ["-1 day", "101 years"], ["0", "100 years"]),
    "event_hours_is_0_to_1e6": (["event_hours"], [-1, 1e9, *NO_NUMBERS], [0, 1e6]),
    "unaccessed_days_is_0_to_1e5": (["unaccessed_days"], [-1, 1e9, *NO_NUMBERS], [0, 1e5]),
    "threshold_is_up_to_1e6_either_way": (["threshold"], [-1e300, *NO_NUMBERS], [-1e6, 1e6]),
    "line_limit_is_1_to_1e6": (["line_limit"], [0, 2**31 - 1], [1, 1_000_000]),
    "extra_lines_is_0_to_1e6": (["extra_lines"], [-1, 2**31 - 1], [0, 1_000_000]),
    "recency_rate_is_0_to_1e6": (["recency_rate"], [-1, *NO_NUMBERS], [0, 1e6]),
    "mmr_lambda_is_above_0_to_1": (["mmr_lambda"], [0, 1.1, *NO_NUMBERS], [1e-6, 1]),
    "duplicate_at_is_above_0_to_1": (["duplicate_at"], [0, 1.1, *NO_NUMBERS], [1e-6, 1]),
    "candidate_limit_is_1_to_1000": (["candidate_limit"], [0, 1001], [1, 1000]),
    "boost_without_vector_is_0_or_1e_6_to_1": (
        ["boost_without_vector"],
        [-0.1, 1e-300, *NO_NUMBERS],
        [0, 1e-6, 1],
    ),
    "question_factor_is_1e_6_to_1": (["question_factor"], [0, 1e-300, *NO_NUMBERS], [1e-6, 1]),
    "cost_power_is_0_or_1e_6_to_1": (["cost_power"], [-0.1, 1e-300, *NO_NUMBERS], [0, 1e-6, 1]),
    "detail_weight_is_0_or_1e_6_to_1": (
        ["detail_weight"],
        [-0.1, 1e-300, *NO_NUMBERS],
        [0, 1e-6, 1],
    ),
}


@pytest.mark.parametrize("check", RANGES)
def test_a_setting_that_no_recall_could_take_is_refused_with_its_range(tx, check):
    names, refused, ends = RANGES[check]
    say(tx, "s", "is the tea hot?", "yes, since May 2025", speaker="Ada")
    for name in names:
        statement = f"UPDATE memoir.mode SET {name} = %s"
        for bad in refused:
            with pytest.raises(psycopg.errors.CheckViolation, match=check), tx.transaction():
                tx.execute(f"{statement} WHERE name = 'execute'", (bad,))
        for end in ends:
            tx.execute(statement, (end,))
            for mode in ("conversation", "search", "implicit"):
                assert recall(tx, "When was Ada's tea hot in May 2025?", mode=mode).retrieval_id


@pytest.mark.parametrize(
    ("table", "column", "check"),
    [
        ("kind", "half_life_days", "half_life_days_is_null_or_1e_4_to_1e6"),
        ("mode_weight", "weight", "weight_is_0_or_1e_6_to_1e6"),
    ],
)
@pytest.mark.parametrize("bad", [-1, 1e-300, *NO_NUMBERS])
def test_so_is_a_half_life_or_the_weight_of_a_kind(tx, table, column, check, bad):
    with pytest.raises(psycopg.errors.CheckViolation, match=check):
        tx.execute(f"UPDATE memoir.{table} SET {column} = %s", (bad,))


def test_a_changed_weight_acts_at_once(tx):
    remember(tx, "tea to buy", "task", created_at=NOW)
    before = scores(tx, mode="plan")["task"]
    tx.execute("UPDATE memoir.mode_weight SET weight = 3 WHERE (mode, kind) = ('plan', 'task')")
    assert scores(tx, mode="plan")["task"] == pytest.approx(3 * before)


def test_a_weight_and_a_half_life_that_change_at_once_both_act(db, dsn):
    remember(db, "tea is green", created_at=ago(days=10))
    with psycopg.connect(dsn) as other, ThreadPoolExecutor(1) as pool:
        other.execute("UPDATE memoir.kind SET half_life_days = 5 WHERE name = 'fact'")
        said = pool.submit(db.execute, "INSERT INTO memoir.mode_weight VALUES ('plan', 'fact', 3)")
        until_blocked(other)
        other.commit()
        said.result()
    assert scores(db, mode="plan") == pytest.approx({"fact": 0.75}, abs=1e-9)


def test_who_changes_a_mode_waits_for_others_before_he_holds_it(db, dsn):
    change = "UPDATE memoir.mode SET when_boost = %s WHERE name = 'chat'"
    with psycopg.connect(dsn) as other, ThreadPoolExecutor(1) as pool:
        other.execute("SET deadlock_timeout = '10ms'")
        other.execute("UPDATE memoir.setting SET value = value WHERE name = 'log_recalls'")
        said = pool.submit(db.execute, change, (1,))
        until_blocked(other)
        other.execute(change, (2,))
        other.commit()
        said.result()
    assert value(db, "SELECT when_boost FROM memoir.mode WHERE name = 'chat'") == 1


def test_an_upgrade_waits_for_changes_that_wait_for_each_other(db, dsn):
    upgrade = (paths.installed().sql / "00_base" / "005_lock.sql").read_text()
    with (
        psycopg.connect(dsn) as other, psycopg.connect(dsn) as installer,
        ThreadPoolExecutor(2) as pool,
    ):  # fmt: skip
        for each in (other, installer):
            each.execute("SET deadlock_timeout = '10ms'")
        installer.execute("SET search_path = memoir")
        other.execute("UPDATE memoir.setting SET value = value WHERE name = 'log_recalls'")
        said = pool.submit(db.execute, "INSERT INTO memoir.mode_weight VALUES ('plan', 'fact', 3)")
        until_blocked(other)
        upgraded = pool.submit(installer.execute, upgrade)
        until(lambda: value(other, "SELECT count(*) > 1 FROM pg_locks WHERE NOT granted"))
        other.commit()
        said.result()
        upgraded.result()


def test_whatever_something_is_derived_from_is_changed_in_turn(tx):
    has = "SELECT array_agg(DISTINCT tgrelid::regclass::text) FROM pg_trigger WHERE tgname"
    derived = value(tx, f"{has} LIKE 'compile%%'")
    assert sorted(derived) == sorted(value(tx, f"{has} = 'take_turns'"))


def test_a_deleted_weight_is_one(tx):
    remember(tx, "tea to buy", "task", created_at=NOW)
    tx.execute("DELETE FROM memoir.mode_weight WHERE (mode, kind) = ('execute', 'task')")
    assert scores(tx, mode="execute") == pytest.approx({"task": 1})


def test_a_weight_of_zero_leaves_a_kind_out(tx):
    remember(tx, "tea to buy", "task")
    tx.execute("UPDATE memoir.mode_weight SET weight = 0 WHERE kind = 'task'")
    assert recall(tx, "tea").memory_ids == []


def test_a_changed_half_life_acts_at_once(tx):
    remember(tx, "tea is green", created_at=ago(days=10))
    tx.execute("UPDATE memoir.kind SET half_life_days = 5 WHERE name = 'fact'")
    assert scores(tx) == pytest.approx({"fact": 0.25}, abs=1e-9)


def test_a_half_life_taken_away_ends_decay(tx):
    remember(tx, "tea to buy", "task", created_at=ago(days=30))
    tx.execute("UPDATE memoir.kind SET half_life_days = NULL WHERE name = 'task'")
    assert scores(tx, mode="plan") == pytest.approx({"task": 1})


def test_a_new_kind_is_one_insert(tx):
    tx.execute(
        "INSERT INTO memoir.kind (kind_id, name, layer, half_life_days, heading, description)"
        " VALUES (40, 'recipe', 'semantic', 10, 'Recipes', 'How to cook.')"
    )
    remember(tx, "tea with ginger", "recipe", created_at=ago(days=10))
    assert scores(tx) == pytest.approx({"recipe": 0.5}, abs=1e-9)
    assert recall(tx, "tea").block == "## Recipes\n- tea with ginger\n"


@pytest.mark.parametrize(
    ("column", "value", "check"),
    [
        ("name", "Recipe", "name_is_in_lower_case"),
        ("name", "RÉCETTE", "name_is_in_lower_case"),
        ("aliases", ["recipes", "Rezept"], "aliases_are_in_lower_case"),
    ],
)
def test_a_kind_that_nobody_could_name_is_refused(tx, column, value, check):
    with pytest.raises(psycopg.errors.CheckViolation, match=check):
        tx.execute(f"UPDATE memoir.kind SET {column} = %s WHERE name = 'pattern'", (value,))


def test_a_weight_for_a_new_kind_acts(tx):
    tx.execute(
        "INSERT INTO memoir.kind (kind_id, name, layer, heading, description)"
        " VALUES (62, 'recipe', 'semantic', 'Recipes', 'How to cook.')"
    )
    tx.execute("INSERT INTO memoir.mode_weight VALUES ('execute', 'recipe', 2)")
    remember(tx, "tea with ginger", "recipe", created_at=NOW)
    assert scores(tx) == pytest.approx({"recipe": 2})


def test_a_changed_heading_is_shown_and_counted(tx):
    remember(tx, "tea is green")
    heading = "What we know for certain about the world and all the people in it"
    tx.execute("UPDATE memoir.kind SET heading = %s WHERE name = 'fact'", (heading,))
    made = recall(tx, "tea")
    assert headings(made.block) == [heading]
    assert made.tokens == value(tx, "SELECT memoir.estimate_tokens(%s)", made.block)


def test_a_renamed_kind_keeps_its_weights_and_memories(tx):
    remember(tx, "tea to buy", "task", created_at=NOW)
    tx.execute("UPDATE memoir.kind SET name = 'chore' WHERE name = 'task'")
    assert scores(tx, mode="execute") == pytest.approx({"chore": 1.2})


def test_a_mode_without_events_shows_none(tx):
    add_event(tx, "alert", {"tea": "out"})
    tx.execute("UPDATE memoir.mode SET event_limit = 0 WHERE name = 'debug'")
    assert explain(tx, mode="debug") == []


def test_a_mode_of_two_lines_gives_two(tx):
    for name in ("green", "black", "white"):
        remember(tx, f"tea is {name}")
    tx.execute("UPDATE memoir.mode SET line_limit = 2 WHERE name = 'chat'")
    assert len(recall(tx, "tea", mode="chat").memory_ids) == 2


def test_a_threshold_leaves_out_what_is_not_above_it(tx):
    half = remember(tx, "green tea", created_at=NOW)
    remember(tx, "black coffee", created_at=NOW)
    tx.execute("UPDATE memoir.mode SET threshold = 0.4 WHERE name = 'chat'")
    assert recall(tx, "green tea", mode="chat", as_of=NOW).memory_ids == [half]
