"""Tables on a terminal."""

from __future__ import annotations

import io
import json
import sys
from dataclasses import dataclass, fields
from typing import Any

import pytest

from pgmemoir.calls import Explained
from pgmemoir.cli import memory, output


def test_chinese_characters_take_two_columns() -> None:
    assert output.text_width("a认证b") == 6
    assert output.text_width("e\u0301") == 1


def test_a_text_is_cut_at_the_width_of_the_terminal() -> None:
    assert output.fit("认证失败", 8) == "认证失败"
    assert output.fit("认证失败了", 8) == "认证失…"
    assert output.text_width(output.fit("a认证失败了", 8)) <= 8


def test_columns_are_aligned_by_their_width(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    made = output.table([["id", "text", "n"], ["1", "认证", "10"], ["22", "abc", "9"]], 1, {2})
    assert made.splitlines() == [
        "id  text   n",
        "--  ----  --",
        "1   认证  10",
        "22  abc    9",
    ]


def test_the_flexible_column_gets_what_the_others_leave(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    made = output.table([["id", "text", "n"], ["1", "x" * 200, "10"]], 1, {2})
    assert {output.text_width(line) for line in made.splitlines()} == {60}


@dataclass
class _Memory:
    memory_id: int
    data: Any


@pytest.mark.parametrize("levels", [10, 800])
def test_data_of_many_levels_are_printed_as_json(
    capsys: pytest.CaptureFixture[str], levels: int
) -> None:
    data = json.loads('{"a": ' * levels + "1" + "}" * levels)
    output.print_json([_Memory(1, data)])
    (said,) = json.loads(capsys.readouterr().out)
    assert said == {"memory_id": "1", "data": data}


def test_in_a_narrow_terminal_each_row_of_a_wide_table_is_a_list(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("COLUMNS", "30")
    heads = ["id", "kind", "status", "created", "content"]
    cells = [["1", "fact", "active", "2026-11-22", "认证失败了, 认证失败了, 认证失败了"]]
    assert output.table([heads, *cells, ["2", "task", "", "", "x"]], 4, {0}).splitlines() == [
        "id       1",
        "kind     fact",
        "status   active",
        "created  2026-11-22",
        "content  认证失败了, 认证失败…",
        "",
        "id       2",
        "kind     task",
        "content  x",
    ]
    assert output.table([heads], 4, {0}).startswith("id  kind  status")


def test_control_characters_do_not_reach_the_terminal() -> None:
    assert output.one_line("a\x1b[31m\nb\u202ec") == "a[31m bc"


def test_nor_do_they_in_json_which_says_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    said = {"content": "认证\n\x1b[31m\x9b31m\x7f\u202e\U000e0041"}
    output.print_json(said)
    printed = capsys.readouterr().out
    assert "认证\\n\\u001b[31m\\u009b31m\\u007f\\u202e\\udb40\\udc41" in printed
    assert json.loads(printed) == said


def test_json_says_the_same_in_any_encoding(monkeypatch: pytest.MonkeyPatch) -> None:
    said = {"content": "détail 认证 🎉"}
    for encoding in ("latin-1", "gbk"):
        stream = io.TextIOWrapper(io.BytesIO(), encoding, errors="replace")
        monkeypatch.setattr(sys, "stdout", stream)
        output.print_json(said)
        assert json.loads(stream.buffer.getvalue().decode(encoding)) == said
    text = io.StringIO()  # has none
    monkeypatch.setattr(sys, "stdout", text)
    output.print_json(said)
    assert json.loads(text.getvalue()) == said


def test_no_cell_of_a_table_breaks_its_line_or_drives_the_terminal() -> None:
    shown = output.table([["a", "b"], ["one\ntwo", "\x1b[31mred"]], flexible=0, right=set())
    assert shown.splitlines()[2:] == ["one two  [31mred"]


def test_explain_shows_the_words_and_the_link_that_brought_a_row_in(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    parts = dict.fromkeys((field.name for field in fields(Explained)), None)
    row = Explained(
        **parts
        | {"kind": "fact", "content": "auth error", "reason": "in block"}
        | {"matched": ["认证 → auth"], "via": "follows memory 7"}
    )
    monkeypatch.setenv("COLUMNS", "200")
    head, _, line = memory.explain_table([row]).splitlines()
    assert head.endswith("because of")
    assert line.endswith("in block  认证 → auth, follows memory 7")
