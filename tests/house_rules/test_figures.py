"""The README quotes figures that scripts/bench/README.md has: they are the same."""

from __future__ import annotations

import re
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
MEASURED = (ROOT / "scripts/bench/README.md").read_text(encoding="utf-8")
FIGURES = r" \| ".join([r"(\d\d\.\d+)"] * 3)


def rounded(figure: str, digits: str) -> str:
    return str(Decimal(figure).quantize(Decimal(digits), ROUND_HALF_UP))


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        ("| mode `execute`", "| `--vectors` | `execute`"),
        ("| mode `conversation`", "| `--vectors` (MiniLM) | `conversation`"),
        ("| `conversation`, with facts", "| `--vectors --facts` |"),
        ("| `conversation`, with wordllama", "| wordllama | `conversation`"),
        ("| `conversation`, without a vector", "| `--vectors --words-only` |"),
    ],
)
def test_a_share_of_evidence_is_the_one_that_was_measured(ours, theirs):
    (told,) = re.findall(rf"^{re.escape(ours)}.*\| {FIGURES} \|", README, re.M)
    (measured,) = re.findall(rf"^{re.escape(theirs)}.*\| {FIGURES} \|", MEASURED, re.M)
    assert told == tuple(rounded(figure, ".1") for figure in measured)


def test_the_first_figure_and_the_output_are_those_too():
    output = re.search(r"^evidence in the block.*\n(?:\S.*\n){5}", README, re.M).group()
    assert output in MEASURED
    share = rounded(re.search(r"^all +\d+ +\S+ +(\S+)", output, re.M)[1], "1")
    assert re.search(r"a block of 800 tokens contains (\d+) %", README)[1] == share
