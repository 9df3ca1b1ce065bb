"""``memoir remember``, ``context``, ``explain``, ``search`` and ``event``."""

from __future__ import annotations

import functools
import math
import time
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

import click

from ..calls import Explained, Found, Remembered, score_parts
from .app import App, main
from .options import AS_JSON, DATA, TIME, Number, parse_data, parse_object, read_text
from .output import counted, fit, plain, print_found, print_json, table

_LONGEST_BECAUSE = 32

# What stands over a part of a score that not every mode has.
_PART_HEADS = {
    "keyword": "keyw",
    "graph": "graph",
    "recency": "recent",
    "importance": "import",
    "interaction": "used",
    "priority": "prior",
    "boost": "boost",
    "neighbours": "beside",
    "session": "sess",
}

_MODES = "How memories are weighted: execute, plan, debug, chat, conversation, ... (table mode)."


def _question_options(command: Callable[..., None]) -> Callable[..., None]:
    """The arguments of a recall."""
    for option in (
        AS_JSON,
        click.option("--as-of", type=TIME, help="Recall as it was at that time."),
        click.option("--session", help="The conversation the query belongs to."),
        click.option("--budget", type=int, default=800, show_default=True, help="Tokens at most."),
        click.option("--mode", default="execute", show_default=True, help=_MODES),
        click.argument("query"),
    ):
        command = option(command)
    return command


@main.command()
@click.argument("text")
@click.option("--kind", default="general", show_default=True, help="task, learning, fact, ...")
@click.option("--subject", help="The slot it fills, for example user.editor.")
@click.option("--importance", type=float, help="0 to 1.")
@click.option("--summary", help="A short form, used when only that fits.")
@click.option("--data", "data_text", metavar="JSON", help="A JSON object to store with it.")
@click.option("--at", "created_at", type=TIME, help="When it happened; default now.")
@click.option("--valid-from", type=TIME, help="From when on it is true.")
@click.option("--valid-until", type=TIME, help="Until when it is true.")
@click.option("--session", help="The conversation it comes from.")
@click.option("--source", help="Who or what made it; default user.")
@click.option("--keyword", "keywords", multiple=True, help="A tag; may be repeated.")
@click.option(
    "--made-from",
    "sources",
    type=int,
    multiple=True,
    metavar="ID",
    help="A memory it was made from; may be repeated.",
)
@AS_JSON
@click.pass_obj
def remember(
    app: App,
    /,
    text: str,
    kind: str,
    data_text: str | None,
    keywords: tuple[str, ...],
    sources: tuple[int, ...],
    as_json: bool,
    **fields: Any,
) -> None:
    """Store TEXT as a memory (- reads it from stdin)."""
    fields["data"] = parse_data(data_text)
    fields["keywords"] = list(keywords) or None
    fields["sources"] = list(sources) or None
    content = read_text(text)
    with app.memoir() as memory:
        done = memory.remember(content, kind, **fields)
    print_found(done, as_json, outcome)


@main.command()
@_question_options
@click.option(
    "--stats",
    is_flag=True,
    help="Print tokens and milliseconds, the embedding included, on stderr.",
)
@click.pass_obj
def context(app: App, /, query: str, as_json: bool, stats: bool, **asked: Any) -> None:
    """Print the block of memory for a prompt.

    QUERY is the question or task at hand; - reads it from stdin.
    """
    question = read_text(query)
    with app.memoir() as memory:
        start = time.perf_counter()
        found = memory.recall(question, **asked)
        elapsed = (time.perf_counter() - start) * 1000
    if as_json:
        print_json(found)
    else:
        click.echo(found.block, nl=not found.block.endswith("\n"))
    if stats:
        click.echo(
            f"{found.tokens} of {counted(asked['budget'], 'token')}, "
            f"{counted(len(found.memory_ids), 'memory')} of "
            f"{counted(found.candidates, 'candidate')}, {elapsed:.0f} ms",
            err=True,
        )


@main.command()
@_question_options
@click.pass_obj
def explain(app: App, /, query: str, as_json: bool, **asked: Any) -> None:
    """Show what each memory scores, and why it is left out.

    One line for each candidate for QUERY (- reads it from stdin), with every part of its score.
    """
    question = read_text(query)
    with app.memoir() as memory:
        rows = memory.explain(question, **asked)
        parts = memory._run(score_parts(asked["mode"]))
    print_found(rows, as_json, lambda rows: explain_table(rows, parts), "no memories yet")


@main.command()
@click.argument("query")
@click.option(
    "--mode",
    default="hybrid",
    show_default=True,
    help="How to search: semantic, keyword or hybrid.",
)
@click.option(
    "--keyword", "keywords", multiple=True, help="Only memories with one of these; may be repeated."
)
@click.option("--kind", "kinds", multiple=True, help="Only these kinds; may be repeated.")
@click.option("--since", type=TIME, help="Created at this time or later.")
@click.option("--until", type=TIME, help="Created up to this time; a day means its beginning.")
@click.option("--session", help="The conversation it comes from.")
@DATA
@click.option(
    "--limit", type=click.IntRange(1, 20), default=5, show_default=True, help="Results at most."
)
@click.option(
    "--minimum", type=Number(0, 1), default=0.6, show_default=True, help="Least relevance."
)
@AS_JSON
@click.pass_obj
def search(
    app: App,
    query: str,
    mode: str,
    keywords: tuple[str, ...],
    kinds: tuple[str, ...],
    since: datetime | None,
    until: datetime | None,
    session: str | None,
    data_text: str | None,
    limit: int,
    minimum: float,
    as_json: bool,
) -> None:
    """Find the best memories for QUERY (- reads it from stdin)."""
    text, data = read_text(query), parse_data(data_text)
    with app.memoir() as memory:
        find = functools.partial(
            memory.search,
            text,
            mode,
            keywords=keywords,
            memory_types=kinds,
            time_from=since,
            time_until=until,
            data=data,
            session=session,
        )
        rows = find(max_results=limit, min_relevance_score=minimum)
        below = [] if rows or as_json else find(max_results=1, min_relevance_score=0)
    said = "nothing found: try other words"
    if below:
        best = math.floor(below[0].relevance * 100) / 100
        said = f"nothing found with relevance {minimum:g}, but with {best}: pass --minimum {best}"
    print_found(rows, as_json, found_table, said)


@main.command()
@click.argument("type")
@click.argument("payload", metavar="JSON")
@click.option("--at", type=TIME, help="When it happened; default now.")
@click.pass_obj
def event(app: App, type: str, payload: str, at: datetime | None) -> None:
    """Record an event of TYPE.

    For example: memoir event task_failed '{"task": "deploy", "error": "timeout"}'

    What is recalled has a type in memoir.mode.event_types.
    """
    content = parse_object(read_text(payload), "the payload")
    with app.memoir() as memory:
        event_id = memory.add_event(type, content, at)
    click.echo("not recorded: memory is off" if event_id is None else f"event {event_id}")


def outcome(done: Remembered) -> str:
    """What became of a text, as a line."""
    memory = "" if done.memory_id is None else f" memory {done.memory_id}"
    others = f" (memory {', '.join(map(str, done.other_ids))})" if done.other_ids else ""
    return f"{done.action}{memory}: {done.reason}{others}"


def explain_table(rows: Sequence[Explained], parts: Sequence[str] = ()) -> str:
    """Candidates as a table as wide as the terminal; the text gets what the numbers leave.

    Args:
        parts: further fields that make the score, of `_PART_HEADS`.
    """
    further = [_PART_HEADS[part] for part in parts]
    heads = ["#", "kind", "id", "content", "relev", "cosine", "cover", *further]
    heads += ["decay", "weight", "score", "tokens"]
    cells = [[*heads, "reason", "because of"], *(_explain_cells(row, parts) for row in rows)]
    return table(cells, flexible=3, right={0, 2, *range(4, len(heads))})


def found_table(rows: Sequence[Found]) -> str:
    """Search results as a table as wide as the terminal, and how many there are."""
    cells = [
        [
            row.key,
            row.kind,
            f"{row.relevance:.3f}",
            f"{row.score:.3f}",
            row.preview,
            ", ".join(row.keywords),
        ]
        for row in rows
    ]
    heads = ["key", "kind", "relev", "score", "content", "keywords"]
    found = table([heads, *cells], flexible=4, right={0, 2, 3})
    return f"{found}\n{len(rows)} of {rows[0].total_found} found, {rows[0].strategy}"


def _explain_cells(row: Explained, further: Sequence[str]) -> list[str]:
    number = row.memory_id if row.memory_id is not None else row.event_id
    names = ("relevance", "cosine", "coverage", *further, "decay", "weight", "score")
    parts = (getattr(row, name) for name in names)
    return [
        plain(row.place),
        row.kind,
        plain(number),
        row.content,
        *("" if part is None else f"{part:.3f}" for part in parts),
        plain(row.tokens),
        row.reason,
        fit(", ".join([*(row.matched or []), *([row.via] if row.via else [])]), _LONGEST_BECAUSE),
    ]
