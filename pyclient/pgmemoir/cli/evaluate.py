"""``memoir eval`` and ``memoir replay``: how good recall is, and what settings would change."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from statistics import fmean
from typing import Any, BinaryIO

import click

from ..client import Memoir
from ..evaluation import Evaluation, Replayed, read_gold
from .app import App, main
from .options import AS_JSON, TIME, USER, stem
from .output import counted, one_line, print_found, print_json, progress_bar, table

_PLOT_BUDGETS = (200, 400, 800, 1600, 3200)


class _GoldSetFirst(click.Group):
    """``memoir eval NAME`` evaluates, unless NAME is a subcommand."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if args and args[0] not in (*self.commands, *ctx.help_option_names):
            args = ["run", *args]
        return super().parse_args(ctx, args)


@main.group(
    "eval",
    cls=_GoldSetFirst,
    options_metavar="",
    subcommand_metavar="GOLD_SET [OPTIONS] | import FILE [OPTIONS]",
)
def eval_group() -> None:
    """Measure recall on questions whose answers are known.

    memoir eval support --mode execute --mode chat --budget 400 --budget 800
    """


@eval_group.command()
@click.argument("gold_set")
@click.option(
    "--mode",
    "modes",
    multiple=True,
    default=("execute",),
    show_default=True,
    help="May be repeated.",
)
@click.option(
    "--budget",
    "budgets",
    type=int,
    multiple=True,
    help="Tokens at most; may be repeated; default 800.",
)
@click.option(
    "--k", type=int, default=10, show_default=True, help="How many places recall and nDCG count."
)
@USER
@AS_JSON
@click.option(
    "--png",
    type=click.Path(dir_okay=False, writable=True, path_type=Path),
    help="Plot the evidence over the budget; without --budget from 200 to 3200 tokens.",
)
@click.pass_obj
def run(
    app: App,
    gold_set: str,
    modes: tuple[str, ...],
    budgets: tuple[int, ...],
    k: int,
    as_json: bool,
    png: Path | None,
) -> None:
    """Ask the questions of a gold set; nothing is logged.

    A line for each mode and budget: the share of the relevant memories among the first k
    (recall@k), the mean of 1 / place of the first (MRR), nDCG@k, and the share that is in the
    block (evidence).
    """
    from . import plot

    if png:
        plot.check()
    budgets = budgets or (_PLOT_BUDGETS if png else (800,))
    with app.memoir() as memory:
        done = memory.evaluate(gold_set, modes, budgets, k)
    print_found(done, as_json, evaluation_table)
    if png:
        plot.evidence(done, png)
        click.echo(f"plot: {png}", err=True)


@eval_group.command("import")
@click.argument("file", type=click.File("rb"))
@click.option("--set", "gold_set", help="Name of the gold set; default the file's name.")
@USER
@click.pass_obj
def import_gold(app: App, file: BinaryIO, gold_set: str | None) -> None:
    """Make a gold set from a JSONL FILE (- reads it from stdin).

    A line has a query and what is relevant: ids of memories, or their exact content.

    {"query": "which editor?", "relevant": [12, "I use Vim."]}

    All of the file is stored, or nothing; a question that is already in the set gets the new
    answers.
    """
    name = gold_set or (stem(file.name) if file.name != "<stdin>" else "stdin")
    questions = read_gold(file.read())
    with app.transaction() as conn, progress_bar(len(questions), "reading") as bar:
        count = Memoir(conn, user=app.user).add_gold(name, questions)
        bar.update(count)
    click.echo(f"{counted(count, 'question')} in gold set {one_line(name)}")


@main.command()
@click.option(
    "--since",
    type=TIME,
    default="7d",
    show_default=True,
    help="Recalls of this time or later.",
)
@click.option("--set", "settings", multiple=True, metavar="NAME=VALUE", help="May be repeated.")
@click.option("--weight", "weights", multiple=True, metavar="KIND=VALUE", help="May be repeated.")
@click.option("--mode", help="Only recalls of this mode.")
@click.option("--all", "show_all", is_flag=True, help="Also show recalls that would not change.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON, with every recall.")
@click.pass_obj
def replay(
    app: App,
    since: datetime,
    settings: tuple[str, ...],
    weights: tuple[str, ...],
    mode: str | None,
    show_all: bool,
    as_json: bool,
) -> None:
    """Show what other settings would have changed in logged recalls.

    NAME is threshold, candidate_limit, line_limit, mmr_lambda, mmr_lines, duplicate_at or budget.
    An e marks the id of an event. Without settings, it shows the effect of what changed in the
    modes since then. Writes nothing.

    memoir replay --since 7d --set mmr_lambda=0.9 --weight task=1.5
    """
    given: dict[str, Any] = dict(_pair(text, "--set", "mmr_lambda=0.9") for text in settings)
    if weights:
        given["weights"] = dict(_pair(text, "--weight", "task=1.5") for text in weights)
    with app.memoir() as memory:
        rows = memory.replay(since, given, mode)
    if as_json:
        print_json(rows)
        return
    changed = [row for row in rows if row.before_ids != row.after_ids]
    shown = rows if show_all else changed
    if shown:
        click.echo(replay_table(shown))
    click.echo(_summary(rows, changed))


def evaluation_table(rows: Sequence[Evaluation]) -> str:
    """A line for each mode and budget."""
    k = rows[0].k
    heads = ["mode", "budget", "queries", f"recall@{k}", "MRR", f"nDCG@{k}", "evidence"]
    cells = [[*heads, "tokens", "p50 ms"]]
    for row in rows:
        measures = (row.recall_at_k, row.mrr, row.ndcg_at_k, row.evidence_in_budget)
        cells.append(
            [
                row.mode,
                str(row.budget),
                str(row.queries),
                *(_number(value, 3) for value in measures),
                _number(row.tokens, 0),
                _number(row.p50_ms, 2),
            ]
        )
    return table(cells, flexible=0, right=set(range(1, 9)))


def replay_table(rows: Sequence[Replayed]) -> str:
    """One line per recall, with what enters its block (+) and leaves it (-), or a new order."""
    cells = [["id", "when", "mode", "query", "overlap", "certain", "change"]]
    cells += [
        [
            str(row.retrieval_id),
            f"{row.created_at:%m-%d %H:%M}",
            row.mode,
            row.query,
            f"{row.overlap:.2f}",
            "yes" if row.exact else "no",
            _change(row),
        ]
        for row in rows
    ]
    return table(cells, flexible=3, right={0, 4})


def _change(row: Replayed) -> str:
    changes = [f"+{_name(each)}" for each in row.entered_ids]
    changes += [f"-{_name(each)}" for each in row.left_ids]
    if not changes:
        return "" if row.before_ids == row.after_ids else "order"
    return " ".join(changes[:8]) + (" …" if len(changes) > 8 else "")


def _name(memory_id: int) -> str:
    """The id of a memory; of an event, whose id is negative in the log, with an e before it."""
    return str(memory_id) if memory_id > 0 else f"e{-memory_id}"


def _summary(rows: Sequence[Replayed], changed: Sequence[Replayed]) -> str:
    if not rows:
        return "no recalls in the log"
    reordered = sum(row.overlap == 1 for row in changed)
    text = (
        f"{len(changed)} of {len(rows)} blocks would change ({reordered} only in order), "
        f"mean overlap {fmean(row.overlap for row in rows):.2f}"
    )
    unsure = sum(not row.exact for row in rows)
    return text + (f"; {unsure} not certain: the log did not keep enough" if unsure else "")


def _number(value: float | None, digits: int) -> str:
    return "" if value is None else f"{value:.{digits}f}"


def _pair(text: str, option: str, example: str) -> tuple[str, Any]:
    """``name=value`` with a value in JSON."""
    name, mark, value = text.partition("=")
    try:
        if not mark:
            raise ValueError
        return name.strip(), json.loads(value)
    except ValueError as error:
        raise click.BadParameter(
            f"{text!r} is not a number for a name like {example}", param_hint=option
        ) from error
