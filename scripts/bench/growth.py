#!/usr/bin/env python3
"""How the time of a recall grows: with the memories of one user, and with the number of users.

See the README beside this file.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click
import numpy as np
from common import DIMS, MODE, SEED, Figures, Where, benchmark, count, table
from filled import Amount, Filled, synthetic
from latency import Case

from pgmemoir.cli import plot

ROWS = (1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000)
USERS = (1, 10, 100, 1_000, 10_000)
ROWS_A_USER = 120


def _point(filled: Filled, amount: Amount, mode: str, questions: int) -> dict[str, Any]:
    """Grow to this size and measure."""
    filled.fill(amount, grow=True)
    filled.tidy()
    case = Case(filled, amount, range(amount.users), mode, questions)
    return {
        "users": amount.users,
        "rows": amount.rows,
        "floor": case.floor,
        **case.warm(1),
    }


def exponent(points: Sequence[Mapping[str, Any]], size: str, time: str) -> float | None:
    """The slope of log time over log size: 0 is constant, 1 is linear."""
    if len(points) < 2:
        return None
    x, y = (np.log([point[name] for point in points]) for name in (size, time))
    return float(np.polyfit(x, y, 1)[0])


def report(result: Mapping[str, Any]) -> str:
    """The figures for people."""
    lines = [
        f"PostgreSQL {result['server_version']}, {result['dims']} dimensions, mode"
        f" {result['mode']}, {result['questions']} questions"
    ]
    times = ("p50_ms", "floor_p50_ms", "p95_ms", "floor_p95_ms")
    for name in ("rows", "users"):
        if name in result:
            head = ("users", "rows each", "p50, ms", "floor", "p95, ms", "floor", "ratio", "floor")
            cells = (
                (
                    *(point[size] for size in ("users", "rows")),
                    *(f"{point[time]:.3f}" for time in times),
                    f"{point['ratio_p50']:.2f}",
                    point["floor"],
                )
                for point in result[name]
            )
            lines += ["", table(head, *cells)]
            slopes = (result[f"exponent_{name}"], result[f"floor_exponent_{name}"])
            if None not in slopes:
                lines.append(
                    f"p50 grows with the power {slopes[0]:.2f} of {name},"
                    f" the floor with {slopes[1]:.2f}"
                )
    return "\n".join(lines)


def draw(result: Mapping[str, Any], path: Path) -> None:
    """Draw p50 over size, a panel for each series."""
    from matplotlib.figure import Figure

    titles = {"rows": "memories of one user", "users": f"users of {ROWS_A_USER} memories"}
    shown = [name for name in titles if name in result]
    figure = Figure(figsize=(5 * len(shown), 4), layout="constrained")
    panels = figure.subplots(1, len(shown), squeeze=False, sharey=True)[0]
    for axes, name in zip(panels, shown, strict=True):
        x = [point[name] for point in result[name]]
        for label, key in (("memory_context", "p50_ms"), ("raw vector search", "floor_p50_ms")):
            axes.plot(x, [point[key] for point in result[name]], marker="o", label=label)
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_xticks(x, [f"{size:,}" for size in x], rotation=30)
        axes.xaxis.minorticks_off()
        axes.yaxis.set_major_formatter("{x:g}")
        axes.yaxis.set_minor_formatter("")
        axes.set_xlabel(titles[name])
        axes.grid(alpha=0.3, which="both")
        axes.legend(frameon=False)
    panels[0].set_ylabel("p50, ms")
    figure.savefig(path, format="png", dpi=150)


@benchmark(report, own=True)
@count("--max", 1_200_000, "Memories at most.", "most")
@click.option("--series", type=click.Choice(["rows", "users", "both"]), default="both")
@DIMS
@MODE
@count("--questions", 100, "At each size.")
@SEED
@click.option("--png", type=click.Path(path_type=Path), help="Draw it into this file.")
def main(
    where: Where,
    most: int,
    series: str,
    dims: int,
    mode: str,
    questions: int,
    seed: int,
    png: Path | None,
) -> Figures:
    """Time memory_context at growing sizes, in turn with the raw vector search.

    Takes 5 minutes with --max 100000, more than an hour as it is.
    """
    if png:
        plot.check()
    sizes = {
        "rows": [Amount(1, rows, dims, seed=seed) for rows in ROWS if rows <= most],
        "users": [
            Amount(users, ROWS_A_USER, dims, seed=seed)
            for users in USERS
            if users * ROWS_A_USER <= most
        ],
    }
    result: Figures = {"dims": dims, "mode": mode, "questions": questions}
    for name, amounts in sizes.items():
        if series in (name, "both") and amounts:
            with synthetic(where, amounts[-1]) as filled:
                filled.check(mode)
                result["server_version"] = filled.place.server
                points = [_point(filled, amount, mode, questions) for amount in amounts]
            result[name] = points
            for prefix in ("", "floor_"):
                result[f"{prefix}exponent_{name}"] = exponent(points, name, f"{prefix}p50_ms")
    if "server_version" not in result:
        raise click.UsageError(f"--max {most} is less than the smallest size")
    if png:
        draw(result, png)
    return result


if __name__ == "__main__":
    main()
