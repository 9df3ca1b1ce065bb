#!/usr/bin/env python3
"""Recall on real conversations: how much of the evidence is in the block, and how fast.

Loads every conversation of a file as a user of its own, asks every question through the public
recall at several budgets, and times the SQL call against the raw vector search on the same rows.
The README beside this file says what is measured and shows the figures.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

import click
from ablation import Row, ablation, ablation_table
from common import (
    MODE,
    ROUNDS,
    Figures,
    Where,
    against_floor,
    benchmark,
    floor_table,
    percentile,
    table,
)
from conversations import Asked, Given, Made, asked_of_conversations, chosen, held, numbers
from loaded import TIMED_BUDGET, Answer, Loaded

CATEGORIES = {
    1: "multi-hop",
    2: "temporal",
    3: "open-domain",
    4: "single-hop",
    5: "adversarial",
}
ADVERSARIAL = 5


def _vectors_name(given: Given | Made, words_only: bool) -> str:
    return f"{given.name}, none of the question" if words_only else given.name


def _embedding(given: Given | Made) -> dict[str, Any]:
    """What the client spends on vectors, which is in no other figure; of questions, the median."""
    if isinstance(given, Given):
        return {"embed_load_seconds": None, "embed_question_p50_ms": None}
    return {
        "embed_load_seconds": round(given.load_seconds, 2),
        "embed_question_p50_ms": round(percentile(given.times_ms, 50), 3),
    }


def _evidence(
    questions: Sequence[Asked],
    places: Sequence[int],
    answers: Mapping[int, list[Answer]],
    budgets: Sequence[int],
) -> Figures:
    """The shares of all questions, and of those of each category."""

    def shares(category: int | None) -> Figures:
        own = [n for n, p in enumerate(places) if category in (None, questions[p].category)]
        found = {
            f"evidence_at_{budget}": _percent([answers[budget][number] for number in own])
            for budget in budgets
        }
        return {"questions": len(own), **found}

    timed = answers[TIMED_BUDGET]
    return {
        **shares(None),
        "tokens_used_mean": round(fmean(answer.tokens for answer in timed), 1),
        "shortened_lines": sum(answer.shortened for answer in timed),
        "by_category": {
            CATEGORIES.get(category, str(category)): shares(category)
            for category in sorted({questions[place].category for place in places})
        },
    }


def _timing(loaded: Loaded, mode: str, places: Sequence[int]) -> Figures:
    ours, floor, index_only = loaded.times(mode, places)
    index_p50 = percentile(index_only, 50)
    return {
        **against_floor(ours, floor),
        "index_only_p50_ms": index_p50,
        "index_only_ratio_p50": percentile(ours, 50) / index_p50,
        "rows_out_of_index": loaded.wide_rows(),
    }


def _row(
    loaded: Loaded,
    mode: str,
    places: Sequence[int],
    adversarial: Sequence[int],
    budgets: Sequence[int],
) -> Row:
    """One row of the ablation."""
    answers = loaded.answers(mode, places, budgets)
    others = loaded.answers(mode, adversarial, [TIMED_BUDGET])
    return {
        **{f"at {budget}": _percent(answers[budget]) for budget in budgets},
        f"adversarial {TIMED_BUDGET}": _percent(others[TIMED_BUDGET]),
    }


def _percent(answers: Sequence[Answer]) -> float:
    return round(100 * fmean(answer.share for answer in answers), 2)


def report(result: Mapping[str, Any]) -> str:
    """The figures for people."""
    facts = f" and {result['facts']} facts" if result["facts"] else ""
    parts = [
        f"{result['turns']} turns{facts} of {result['users']} users, "
        f"{result['questions']} questions, mode {result['mode']}, vectors {result['vectors']}, "
        f"PostgreSQL {result['server_version']}\n"
        f"loaded in {result['load_seconds']:.1f} s" + _spent(result)
    ]
    if "by_category" in result:
        parts.append(_evidence_table(result))
    if "p50_ms" in result:
        parts.append(_time_table(result))
    if "ablation" in result:
        parts.append(ablation_table(result["ablation"], list(result["ablation"]["the whole"])))
    return "\n\n".join(parts)


def _spent(result: Mapping[str, Any]) -> str:
    if result["embed_question_p50_ms"] is None:
        return ", vectors given"
    return (
        f", after {result['embed_load_seconds']:.1f} s of embedding; "
        f"embedding a question takes {result['embed_question_p50_ms']:.2f} ms"
    )


def _evidence_table(result: Mapping[str, Any]) -> str:
    budgets = [key for key in result if key.startswith("evidence_at_")]
    rows = {"all": result, **result["by_category"]}
    return "\n".join(
        (
            table(
                (
                    "evidence in the block, %",
                    "questions",
                    *(key.removeprefix("evidence_at_") for key in budgets),
                ),
                *(
                    (name, each["questions"], *(f"{each[key]:.2f}" for key in budgets))
                    for name, each in rows.items()
                ),
            ),
            "",
            f"a block of {TIMED_BUDGET} has {result['tokens_used_mean']:.0f} estimated tokens on "
            f"average; {result['shortened_lines']} lines were shortened",
        )
    )


def _time_table(result: Mapping[str, Any]) -> str:
    index_only = f"{result['index_only_p50_ms']:.3f}", f"{result['index_only_ratio_p50']:.2f}"
    return "\n".join(
        (
            floor_table(
                "SQL call, ms",
                "20 nearest",
                result,
                ("floor, index-only", index_only[0], ""),
                ("  ratio", index_only[1], ""),
            ),
            f"(median of {ROUNDS} rounds a question, percentiles over questions; "
            f"{result['rows_out_of_index']} rows lie outside the index)",
        )
    )


@benchmark(report)
@asked_of_conversations
@MODE
@click.option("--budgets", default="400,800,1600", show_default=True, help="Tokens.")
@click.option("--facts", is_flag=True, help="Store the facts of DATA too, beside their turns.")
@click.option("--words-only", is_flag=True, help="Recall is given no vector of the question.")
@click.option("--ablation", "ablate", is_flag=True, help="Also what each feature of a mode adds.")
@click.option("--no-times", is_flag=True, help="Leave out the timing.")
def main(
    where: Where,
    data: Path,
    vectors: Path | None,
    categories: str,
    limit: int | None,
    pool: bool,
    copies: int,
    mode: str,
    budgets: str,
    facts: bool,
    words_only: bool,
    ablate: bool,
    no_times: bool,
) -> Figures:
    """Measure recall on the conversations of DATA, a JSON file with turns and questions.

    Takes a minute for 760 questions, with --ablation three. --copies goes with --pool, and only
    times.
    """
    if copies > 1 and (not pool or facts or ablate or no_times):
        raise click.UsageError("--copies goes with --pool, and only times")
    wanted, kinds = numbers(budgets), numbers(categories)
    stored, given = held(data, vectors, pool=pool, facts=facts, copies=copies)
    places = chosen(stored.questions, kinds, limit)
    with where.opened() as place, place.connect() as conn:
        loaded = Loaded(conn, stored, given, facts=facts, words_only=words_only)
        result: Figures = {
            "mode": mode,
            "turns": len(stored.turns),
            "facts": len(stored.facts) if facts else 0,
            "users": loaded.users,
            "server_version": place.server,
            "load_seconds": round(loaded.load_seconds, 2),
            "questions": len(places),
        }
        if copies == 1:
            answers = loaded.answers(mode, places, sorted({*wanted, TIMED_BUDGET}))
            result |= _evidence(stored.questions, places, answers, wanted)
        if not no_times:
            result |= _timing(loaded, mode, places)
        result |= {"vectors": _vectors_name(given, words_only), **_embedding(given)}
        if ablate:
            adversarial = chosen(stored.questions, [ADVERSARIAL], limit)
            result["ablation"] = ablation(
                conn, mode, lambda variant: _row(loaded, variant, places, adversarial, wanted)
            )
    return result


if __name__ == "__main__":
    main()
