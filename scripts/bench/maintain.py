#!/usr/bin/env python3
"""How long the daily upkeep takes, step by step, and how long it makes a writer wait.

See the README beside this file: what is stored, and what it came to.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import psycopg
from common import (
    SEED,
    Database,
    Figures,
    Where,
    benchmark,
    percentile,
    scalar,
    table,
    verdict,
)
from filled import Amount, about, name_of, sized, synthetic, told
from psycopg.types.json import Jsonb

# Seconds for everything, and for what waits meanwhile.
BARS = {"total_s": 60.0, "longest_wait_s": 1.0}

# A day's dirt: memories that have had their time and memories that fade, recalls not yet counted
# and recalls to fold, events to archive and events to delete.
_AGED = b"""
UPDATE memoir.memory SET lifetime = 'temporary', created_at = now() - interval '8 days'
WHERE memory_id % 20 = 0 AND lifetime = 'core';
UPDATE memoir.memory SET lifetime = 'working', importance = 0.28, created_at = now()
WHERE memory_id % 20 = 12;
INSERT INTO memoir.retrieval (user_id, created_at, mode, query, ids, kinds, score, weights, chosen,
                              token_used, token_budget, elapsed_ms)
SELECT m.user_id, now() - (m.memory_id % 2) * interval '8 days', 'execute', 'a question',
       ARRAY(SELECT m.memory_id - n FROM generate_series(0, 19) AS n), array_fill(8, ARRAY[20]),
       array_fill(0.5, ARRAY[20]), array_fill(1.0, ARRAY[17]), '{1,2,3,4,5,6,7,8,9,10}', 400, 800, 1
FROM memoir.memory AS m WHERE m.memory_id % 20 = 7 AND m.memory_id > 20;
INSERT INTO memoir.event (user_id, type, payload, created_at, line, cost, terms, term_count)
SELECT user_id, CASE WHEN n > 500 THEN 'memory_retrieval' ELSE 'daily_note' END,
       jsonb_build_object('n', n, 'retrieval_id', -n), now() - interval '61 days', 'a note', 5,
       '{}/536870912', 0
FROM (SELECT DISTINCT user_id FROM memoir.memory ORDER BY 1 LIMIT 10) AS u,
     generate_series(1, 1000) AS n;
ANALYZE"""
_RUN = """SELECT r::text FROM memoir._new_run(NULL, NULL, false,
    (SELECT value::int FROM memoir.setting WHERE name = 'maintain_batch'), 0) AS r"""
_PLAN = b"SELECT memoir._upkeep_list(%s, NULL, %s::memoir.upkeep_run)"
_BATCH = b"SELECT * FROM memoir._upkeep_batch(%s, %s::memoir.upkeep_run, %s, %s)"
_WRITE = b"SELECT memory_id FROM memoir.remember(%s, 'fact', %s)"
_CHANGE = b"SELECT memoir.update_memory(%s, importance => random(), user_id => %s)"


# Steps that only read, or lock nothing while they take long.
_UNLOCKED = ("_count_words", "_report_contradictions", "_report_quality")


class Writer:
    """Somebody who stores and changes memories, one every 20 ms, and how long each takes.

    A change locks the user as upkeep does; storing something new does not.
    """

    def __init__(self, place: Database, user: str) -> None:
        self._place, self._user = place, user
        self._ended = threading.Event()
        self.seconds: list[float] = []

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Beside what happens meanwhile."""
        thread = threading.Thread(target=self._write)
        thread.start()
        try:
            yield
        finally:
            self._ended.set()
            thread.join()

    def _write(self) -> None:
        with self._place.connect() as conn:
            written: Any = None
            while not self._ended.wait(0.02):
                start = time.perf_counter()
                if written:
                    conn.execute(_CHANGE, (written[0], self._user))
                    written = None
                else:
                    content = f"written beside the upkeep, number {len(self.seconds)}"
                    written = conn.execute(_WRITE, (content, self._user)).fetchone()
                self.seconds.append(time.perf_counter() - start)


def run(conn: psycopg.Connection[Any]) -> tuple[dict[str, float], float, list[dict[str, Any]]]:
    """As ``memoir.maintain_all()`` does it: seconds by step, the longest locked one, the report."""
    steps: dict[str, float] = {}
    longest = 0.0
    report: list[dict[str, Any]] = []
    upkeep = scalar(conn, _RUN)
    for phase in (1, 2, 3):
        start = time.perf_counter()
        (plan,) = conn.execute(_PLAN, (phase, upkeep)).fetchall()[0]
        steps["_upkeep_plan"] = steps.get("_upkeep_plan", 0) + time.perf_counter() - start
        for planned in plan:
            after: int | None = 0
            done: list[dict[str, Any]] = []
            while after is not None:
                start = time.perf_counter()
                given = (Jsonb(planned), upkeep, after, Jsonb(done))
                after, done = conn.execute(_BATCH, given).fetchall()[0]
                seconds = time.perf_counter() - start
                steps[planned["step"]] = steps.get(planned["step"], 0) + seconds
                if planned["step"] not in _UNLOCKED:
                    longest = max(longest, seconds)
            report += done
    return steps, longest, report


def summed(report: list[dict[str, Any]]) -> dict[str, int]:
    """How many memories each action was about, over all users."""
    done: dict[str, int] = {}
    for row in report:
        if row["action"] == "report" or "memoir maintain" in row["action"]:
            continue
        done[row["action"]] = done.get(row["action"], 0) + (row["memories"] or 0)
    return done


def report(result: Mapping[str, Any]) -> str:
    """The figures for people."""
    seconds = {
        **result["steps"],
        "total": result["total_s"],
        "again, nothing to do": result["second_run_s"],
    }
    return "\n".join(
        (
            told(result),
            "",
            table(("step", "seconds"), *((name, f"{each:.2f}") for name, each in seconds.items())),
            "",
            ", ".join(f"{count:,} {action}" for action, count in result["done"].items() if count),
            f"longest batch {result['longest_batch_s']:.2f} s; a writer of the same user"
            f" waited {result['longest_wait_s']:.2f} s at most,"
            f" {1000 * result['median_write_s']:.1f} ms as a rule",
            *(verdict(name, result[name], bar) for name, bar in BARS.items()),
        )
    )


@benchmark(report)
@sized(100_000)
@SEED
def main(where: Where, users: int, rows: int, dims: int, seed: int) -> Figures:
    """Time the upkeep of synthetic memories, step by step, beside a writer.

    Takes 3 minutes, of which loading is the most.
    """
    amount = Amount(users, rows, dims, seed=seed)
    with synthetic(where, amount) as filled:
        filled.fill(amount)
        filled.conn.execute(_AGED)
        writer = Writer(filled.place, name_of(0))
        with writer.writing():
            start = time.perf_counter()
            steps, longest, told_by_upkeep = run(filled.conn)
            total = time.perf_counter() - start
        again = time.perf_counter()
        run(filled.conn)
        return {
            **about(filled, amount),
            "total_s": total,
            "longest_batch_s": longest,
            "longest_wait_s": max(writer.seconds, default=0.0),
            "median_write_s": percentile(writer.seconds or [0.0], 50),
            "writes": len(writer.seconds),
            "second_run_s": time.perf_counter() - again,
            "steps": {name.strip("_"): seconds for name, seconds in steps.items()},
            "done": summed(told_by_upkeep),
        }


if __name__ == "__main__":
    main()
