"""The plot of ``memoir eval --png``. matplotlib is an extra: nothing else needs its 100 MB."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

from ..errors import MemoirError
from ..evaluation import Evaluation


def check() -> None:
    """Say how to get matplotlib if it is missing, before anything is measured."""
    if find_spec("matplotlib") is None:
        raise MemoirError(
            "--png needs matplotlib, which is not installed",
            hint="pip install 'pgmemoir[plot]'",
        )


def evidence(rows: Sequence[Evaluation], path: Path) -> None:
    """Draw the evidence share over the budget, one line per mode, as PNG."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 4.2), layout="constrained")
    axes = figure.add_subplot()
    for mode in dict.fromkeys(row.mode for row in rows):
        points = sorted(
            (row.budget, 100 * row.evidence_in_budget)
            for row in rows
            if row.mode == mode and row.evidence_in_budget is not None
        )
        axes.plot([x for x, _ in points], [y for _, y in points], marker="o", label=mode)
    budgets = sorted({row.budget for row in rows})
    axes.set_xscale("log", base=2)
    axes.set_xticks(budgets, [str(budget) for budget in budgets], minor=False)
    axes.minorticks_off()
    axes.set_ylim(0, 103)
    axes.set_xlabel("budget of the block, tokens")
    axes.set_ylabel("relevant memories in the block, %")
    axes.grid(alpha=0.3)
    axes.legend(frameon=False)
    figure.savefig(path, format="png", dpi=150)
