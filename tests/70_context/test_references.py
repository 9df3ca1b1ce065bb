"""References: the id of each memory before its line, for an answer to cite (D4 4.2)."""

from __future__ import annotations

import re

import pytest
from tests.rows import (
    MODES,
    add_event,
    call,
    explain,
    lines,
    recall,
    remember,
    remember_all,
    sentences,
    value,
)

pytestmark = pytest.mark.usefixtures("planned_once")


@pytest.fixture
def citing(tx):
    """A user who wants references."""
    call(tx, "set_settings", settings={"show_references": True})
    return tx


def test_each_line_begins_with_the_id_of_its_memory(citing):
    ids = remember_all(citing, ["tea is green", "tea is hot"])
    block = recall(citing, "tea").block
    assert sorted(lines(block)) == sorted([f"[{ids[0]}] tea is green", f"[{ids[1]}] tea is hot"])


def test_without_the_setting_lines_have_no_references(tx):
    remember(tx, "tea is green")
    assert lines(recall(tx, "tea").block) == ["tea is green"]


def test_an_event_has_no_reference(citing):
    add_event(citing, "alert", {"tea": "boils"})
    assert lines(recall(citing, "tea").block) == ['[alert] {"tea": "boils"}']


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("budget", [20, 100, 400])
def test_references_count_into_the_budget(citing, mode, budget):
    remember_all(citing, sentences(200, 8))
    found = recall(citing, sentences(1, 8)[0], mode=mode, budget=budget)
    assert value(citing, "SELECT memoir.estimate_tokens(%s)", found.block) == found.tokens <= budget
    cited = [int(n) for n in re.findall(r"^- \[(\d+)\] ", found.block, re.MULTILINE)]
    assert sorted(cited) == sorted(found.memory_ids)


def test_the_brief_of_a_long_memory_has_its_reference_too(citing):
    memory_id = remember(citing, "tea " * 300, summary="tea, at length")
    assert recall(citing, "tea", budget=20).block.endswith(f"- [{memory_id}] tea, at length\n")


@pytest.mark.parametrize("budget", [40, 60, 100, 200])
def test_explain_counts_references_as_recall_does(citing, budget):
    remember_all(citing, sentences(30, 6))
    question = " ".join(sentences(2, 6))
    rows = [row for row in explain(citing, question, budget=budget) if row.place]
    assert [row.memory_id for row in rows] == recall(citing, question, budget=budget).memory_ids


def test_the_tokens_of_an_explained_line_are_those_of_it_with_its_reference(citing):
    number = remember(citing, "tea is green")
    (row,) = explain(citing, "tea")
    cost = value(citing, "SELECT memoir.estimate_tokens(%s)", f"- [{number}] tea is green\n")
    assert row.tokens == cost
