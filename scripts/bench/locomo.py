#!/usr/bin/env python3
"""Recall on real conversations: how much of the evidence is in the block, and how fast.

Loads every conversation of a file as a user of its own, asks every question through the public
recall at several budgets, and times the SQL call against the raw vector search on the same rows.
The README beside this file says what is measured and shows the figures.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import fmean
from typing import Any

import click
import psycopg
from ablation import Row, ablation, ablation_table
from common import ROUNDS, database, percentile, scalar
from conversations import (
    Asked,
    Data,
    Given,
    Made,
    chosen,
    copied,
    embed,
    numbers,
    pooled,
    read,
    read_vectors,
)
from loaded import TIMED_BUDGET, Answer, Loaded, Untraceable

from pgmemoir.errors import MemoirError

CATEGORIES = {
    1: "multi-hop",
    2: "temporal",
    3: "open-domain",
    4: "single-hop",
    5: "adversarial",
}
ADVERSARIAL = 5

# Setting ann_gain that puts every user into a tier, and who is in another.
GAINS = {"exact": "1000000", "own": "0.01"}
_GAIN = b"UPDATE memoir.setting SET value = %s::text::jsonb WHERE name = 'ann_gain'"
_OF_OTHER_TIER = {
    "exact": "SELECT count(*) FROM memoir.profile WHERE ann > 0",
    "own": "SELECT count(DISTINCT m.user_id) FROM memoir.memory AS m"
    " WHERE NOT EXISTS (SELECT FROM memoir.profile AS p WHERE p.user_id = m.user_id AND p.ann > 0)",
}


@click.command()
@click.argument("data", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option(
    "--vectors",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="An .npz with the arrays turns and questions, in the order of DATA. Default: wordllama.",
)
@click.option("--mode", default="execute", show_default=True, help="How a recall is weighted.")
@click.option("--budgets", default="400,800,1600", show_default=True, help="Tokens.")
@click.option("--categories", default="1-4", show_default=True, help="Such as 2, 1-4 or 1,3-5.")
@click.option("--limit", type=click.IntRange(1), help="Ask this many questions, evenly spread.")
@click.option("--pool", is_flag=True, help="One user has all the conversations.")
@click.option(
    "--tier",
    type=click.Choice(["exact", "own"]),
    help="All memories compared, or indexes of his own for every user. Default: as maintain says.",
)
@click.option("--facts", is_flag=True, help="Store the facts of DATA too, beside their turns.")
@click.option("--words-only", is_flag=True, help="Recall is given no vector of the question.")
@click.option("--copies", type=click.IntRange(1), help="With --pool: only time, so many copies.")
@click.option("--ablation", "ablate", is_flag=True, help="Also what each feature of a mode adds.")
@click.option("--no-times", is_flag=True, help="Leave out the timing.")
@click.option("--dsn", help="A scratch database. Default: a server that is deleted afterwards.")
@click.option("--pg", type=click.Choice(["18", "16"]), default="18", help="Version of that server.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.option("--explain", is_flag=True, help="Print the plan of one recall, and of the floor.")
def main(
    data: Path,
    vectors: Path | None,
    mode: str,
    budgets: str,
    categories: str,
    limit: int | None,
    pool: bool,
    tier: str | None,
    facts: bool,
    words_only: bool,
    copies: int | None,
    ablate: bool,
    no_times: bool,
    dsn: str | None,
    pg: str,
    as_json: bool,
    explain: bool,
) -> None:
    """Measure recall on the conversations of DATA, a JSON file with turns and questions."""
    if copies and (not pool or facts or ablate or no_times):
        raise click.UsageError("--copies goes with --pool, and only times")
    held, given = _held(read(data), vectors, pool=pool, facts=facts, copies=copies)
    places = chosen(held.questions, numbers(categories), limit)
    wanted = numbers(budgets)
    try:
        with database(dsn, int(pg)) as conn:
            if tier:
                conn.execute(_GAIN, (GAINS[tier],))
            loaded = Loaded(conn, held, given, facts=facts, words_only=words_only)
            if tier and (users := scalar(conn, _OF_OTHER_TIER[tier])):
                raise click.ClickException(f"{users} users are not of tier {tier}")
            result = {"mode": mode, **_about(conn, held, loaded, facts), "questions": len(places)}
            if not copies:
                answers = loaded.answers(mode, places, sorted({*wanted, TIMED_BUDGET}))
                result |= _evidence(held.questions, places, answers, wanted)
            if not no_times:
                result |= _timing(loaded, mode, places)
            result |= {"vectors": _vectors_name(given, words_only), **_embedding(given)}
            if ablate:
                adversarial = chosen(held.questions, [ADVERSARIAL], limit)
                result["ablation"] = ablation(
                    conn, mode, lambda variant: _row(loaded, variant, places, adversarial, wanted)
                )
            plans = loaded.plans(mode, places[0]) if explain else ""
    except (MemoirError, psycopg.OperationalError, Untraceable) as error:
        raise click.ClickException(str(error)) from error
    click.echo(json.dumps(result, ensure_ascii=False) if as_json else report(result))
    if plans:
        click.echo(plans, err=as_json)


def _held(
    data: Data, path: Path | None, *, pool: bool, facts: bool, copies: int | None
) -> tuple[Data, Given | Made]:
    """The data as it is to be stored, with its vectors."""
    if facts and not data.facts:
        raise click.UsageError("the data has no facts")
    given = None if path is None else read_vectors(path, data, facts)
    if pool:
        data = pooled(data)
    if copies:
        data = copied(data, copies)
        given = given and replace(given, turns=[*given.turns] * copies)
    return data, given or embed(data, facts)


def _about(
    conn: psycopg.Connection[Any], data: Data, loaded: Loaded, facts: bool
) -> dict[str, Any]:
    return {
        "turns": len(data.turns),
        "facts": len(data.facts) if facts else 0,
        "users": loaded.users,
        "server_version": scalar(conn, "SHOW server_version"),
        "load_seconds": round(loaded.load_seconds, 2),
    }


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
) -> dict[str, Any]:
    timed = answers[TIMED_BUDGET]
    return {
        **{f"evidence_at_{budget}": _percent(answers[budget]) for budget in budgets},
        "tokens_used_mean": round(fmean(answer.tokens for answer in timed), 1),
        "shortened_lines": sum(answer.shortened for answer in timed),
        "by_category": _by_category(questions, places, answers, budgets),
    }


def _by_category(
    questions: Sequence[Asked],
    places: Sequence[int],
    answers: Mapping[int, list[Answer]],
    budgets: Sequence[int],
) -> dict[str, dict[str, float]]:
    members: dict[int, list[int]] = defaultdict(list)
    for number, place in enumerate(places):
        members[questions[place].category].append(number)
    result: dict[str, dict[str, float]] = {}
    for category, own in sorted(members.items()):
        shares = {
            f"evidence_at_{budget}": _percent([answers[budget][number] for number in own])
            for budget in budgets
        }
        name = CATEGORIES.get(category, str(category))
        result[name] = {"questions": len(own), **shares}
    return result


def _timing(loaded: Loaded, mode: str, places: Sequence[int]) -> dict[str, Any]:
    ours, floor, index_only = loaded.times(mode, places)
    p50, floor_p50 = percentile(ours, 50), percentile(floor, 50)
    return {
        "p50_ms": round(p50, 3),
        "p95_ms": round(percentile(ours, 95), 3),
        "floor_p50_ms": round(floor_p50, 3),
        "floor_p95_ms": round(percentile(floor, 95), 3),
        "ratio_p50": round(p50 / floor_p50, 2),
        "index_only_p50_ms": round(percentile(index_only, 50), 3),
        "index_only_ratio_p50": round(p50 / percentile(index_only, 50), 2),
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
        f"PostgreSQL {result['server_version'].split()[0]}\n"
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
    heads = "".join(f"{key.removeprefix('evidence_at_'):>8}" for key in budgets)
    rows = [("all", result["questions"], result)]
    rows += [(name, each["questions"], each) for name, each in result["by_category"].items()]
    lines = [
        f"{'evidence in the block, %':<26}{'questions':>9}{heads}   tokens",
        *(
            f"{name:<26}{count:>9}" + "".join(f"{each[key]:>8.2f}" for key in budgets)
            for name, count, each in rows
        ),
        "",
        f"a block of {TIMED_BUDGET} has {result['tokens_used_mean']:.0f} estimated tokens on "
        f"average; {result['shortened_lines']} lines were shortened",
    ]
    return "\n".join(lines)


def _time_table(result: Mapping[str, Any]) -> str:
    lines = [
        f"{'SQL call, ms':<26}{'p50':>9}{'p95':>8}",
        f"{f'recall at {TIMED_BUDGET} tokens':<26}{result['p50_ms']:>9.3f}{result['p95_ms']:>8.3f}",
        f"{'floor: 20 nearest':<26}{result['floor_p50_ms']:>9.3f}{result['floor_p95_ms']:>8.3f}",
        f"{'  ratio':<26}{result['ratio_p50']:>9.2f}",
        f"{'floor, index-only':<26}{result['index_only_p50_ms']:>9.3f}",
        f"{'  ratio':<26}{result['index_only_ratio_p50']:>9.2f}",
        f"(median of {ROUNDS} rounds a question, percentiles over questions; "
        f"{result['rows_out_of_index']} rows lie outside the index)",
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    main()
