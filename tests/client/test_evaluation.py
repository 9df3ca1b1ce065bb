"""Gold sets and replays through the client and the command line."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg
import pytest
from click.testing import Result

from pgmemoir import BadText, NotFound, OutOfRange
from pgmemoir.evaluation import BadGold, read_gold

pytestmark = pytest.mark.once

Call = Callable[..., Result]
Client = Callable[..., Any]

GOLD = [
    {"query": "which editor?", "relevant": ["I use the editor Vim."]},
    {"query": "我喜欢喝什么茶？", "relevant_content": ["我喜欢喝绿茶"]},
]


@pytest.fixture
def gold(memoir: Call, tmp_path: Path) -> Path:
    """A file of two questions, whose answers are in memory."""
    for content in ("I use the editor Vim.", "我喜欢喝绿茶", "Tests run with make test."):
        memoir("remember", content)
    path = tmp_path / "people.jsonl"
    path.write_text("\n".join(json.dumps(line, ensure_ascii=False) for line in GOLD))
    return path


def read(*lines: Any) -> list[Any]:
    return read_gold("\n".join(map(json.dumps, lines)).encode())


def test_ids_and_contents_are_told_apart() -> None:
    (question,) = read({"query": "q", "relevant": ["I use Vim.", 7, "12"], "grades": [1, 2, 3]})
    assert (question["relevant"], question["relevant_content"]) == ([7, 12], ["I use Vim."])
    assert question["grades"] == [2, 3, 1]


def test_blank_lines_and_a_byte_order_mark_are_left_out() -> None:
    data = '\ufeff{"query": "茶", "relevant": [1]}\r\n\r\n'.encode()
    assert [question["query"] for question in read_gold(data)] == ["茶"]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "the file holds no questions"),
        (b'{"query": "q"\n', "line 1: Expecting"),
        (b'{"query": "q", "relevant": [1]}\n[1]', "line 2: not a JSON object"),
        (b'{"query": 1}', "line 1: query is not a text"),
        (b'{"query": "q", "answers": [1]}', "line 1: unknown: 'answers'"),
        (b'{"query": "q", "relevant": 1}', "line 1: relevant is not a list"),
        (b'{"query": "q", "relevant": [true]}', "line 1: true is not the content"),
        (b'{"query": "q", "relevant": [0]}', "line 1: 0 is not an id"),
        (b'{"query": "q", "relevant": [1], "grades": []}', "line 1: grades has another length"),
        (b'{"query": "q", "relevant": [1], "grades": ["1"]}', 'line 1: grade "1" is not'),
        (b'\n{"query": "\xff"}', "line 2: not UTF-8"),
    ],
    ids=str,
)
def test_a_file_that_is_no_gold_set_is_refused_by_line(data: bytes, message: str) -> None:
    with pytest.raises(BadGold, match=message) as caught:
        read_gold(data)
    assert caught.value.hint


def test_questions_are_stored_with_vectors_of_the_embedder(
    open_client: Client, letters: Any, db: psycopg.Connection
) -> None:
    client = open_client(embedder=letters)
    tea = client.remember("tea").memory_id
    assert client.add_gold("drinks", [{"query": "eat", "relevant": [tea]}]) == 1
    (found,) = client.evaluate("drinks")
    assert (found.mode, found.budget, found.k, found.queries, found.mrr) == (
        "execute", 800, 10, 1, 1.0,
    )  # fmt: skip
    assert db.execute("SELECT count(query_vec) FROM memoir.gold").fetchone() == (1,)
    assert letters.texts == ["tea", "eat"]


def test_questions_without_a_stored_vector_are_embedded_once(
    open_client: Client, letters: Any
) -> None:
    client = open_client(embedder=letters)
    tea = client.remember("tea").memory_id
    open_client(embedder=None).add_gold("drinks", [{"query": "eat", "relevant": [tea]}])
    found = client.evaluate("drinks", ["execute", "chat"], [100, 800], k=3)
    assert [(row.mode, row.budget, row.mrr) for row in found] == [
        ("execute", 100, 1.0), ("execute", 800, 1.0), ("chat", 100, 1.0), ("chat", 800, 1.0),
    ]  # fmt: skip
    assert letters.texts == ["tea", "eat"]


def test_a_mode_that_leaves_words_out_gets_the_vector_of_the_rest(
    open_client: Client, letters: Any, db: psycopg.Connection
) -> None:
    db.execute("UPDATE memoir.mode SET common_share = 0.5 WHERE name = 'chat'")
    client = open_client(embedder=letters)
    ids = [client.remember(text).memory_id for text in ("tea green", "tea black", "tea white")]
    client.add_gold("drinks", [{"query": "white tea", "relevant": ids[2:]}])
    client.evaluate("drinks", ["chat"])
    assert letters.texts[-2:] == ["white tea", "white"]


def test_without_an_embedder_questions_go_by_words(open_client: Client) -> None:
    client = open_client(embedder=None)
    tea = client.remember("tea green").memory_id
    client.add_gold("drinks", [{"query": "green?", "relevant": [tea]}])
    assert client.evaluate("drinks")[0].recall_at_k == 1


def test_an_unknown_gold_set_raises(open_client: Client) -> None:
    with pytest.raises(NotFound, match="no gold set"):
        open_client(embedder=None).evaluate("nothing")


@pytest.mark.parametrize(
    ("wrong", "error", "said"),
    [
        ({"relevant": "12"}, OutOfRange, "'12' is one text, not a list of ids"),
        ({"relevant": ["tea"]}, OutOfRange, "'tea' is not the id"),
        ({"relevant": [1], "grades": ["good"]}, OutOfRange, "a grade is 'good', not a number"),
        ({"relevant_content": "tea"}, BadText, "relevant_content is one text"),
        ({"relevant": [1], "grade": [2]}, TypeError, "a question has no field 'grade'"),
    ],
)
def test_a_question_of_the_wrong_shape_is_told_in_words(
    open_client: Client, wrong: Any, error: Any, said: str
) -> None:
    with pytest.raises(error, match=said):
        open_client(embedder=None).add_gold("drinks", [{"query": "green?"} | wrong])


def test_the_first_k_are_a_whole_number(open_client: Client) -> None:
    client = open_client(embedder=None)
    tea = client.remember("tea green").memory_id
    client.add_gold("drinks", [{"query": "green?", "relevant": [tea]}])
    with pytest.raises(OutOfRange, match=r"k is 1\.5, not a whole number"):
        client.evaluate("drinks", k=1.5)


def test_a_replay_shows_what_would_change(open_client: Client) -> None:
    client = open_client(embedder=None)
    for name in ("green", "black"):
        client.remember(f"tea {name}")
    client.recall("tea")
    (row,) = client.replay(settings={"line_limit": 1})
    assert (row.query, row.overlap, len(row.left_ids), row.exact) == ("tea", 0.5, 1, True)
    assert client.replay(mode="plan") == []


def test_one_mode_is_no_list_of_modes(open_client: Client) -> None:
    with pytest.raises(BadText, match=r"modes is one text.*\nhint: modes=\['execute'\]"):
        open_client(embedder=None).evaluate("people", "execute")


def test_a_setting_that_cannot_be_replayed_raises(open_client: Client) -> None:
    with pytest.raises(OutOfRange, match="vector_weight"):
        open_client(embedder=None).replay(settings={"vector_weight": 1})


def test_a_file_becomes_a_gold_set_and_is_evaluated(memoir: Call, gold: Path) -> None:
    assert memoir("eval", "import", str(gold)).stdout == "2 questions in gold set people\n"
    done = memoir("eval", "people", "--mode", "execute", "--mode", "chat", "--budget", "400")
    head, _, *rows = done.stdout.splitlines()
    assert head.split()[:4] == ["mode", "budget", "queries", "recall@10"]
    assert [row.split()[:7] for row in rows] == [
        [mode, "400", "2", "1.000", "1.000", "1.000", "1.000"] for mode in ("execute", "chat")
    ]


def test_the_name_of_a_file_may_be_anything(memoir: Call, gold: Path) -> None:
    odd = gold.with_name(os.fsdecode(b"caf\xe9 \x1b[31m.jsonl"))
    gold.rename(odd)
    done = memoir("eval", "import", str(odd))
    assert done.stdout == "2 questions in gold set caf\\xe9 [31m\n", done.stderr


def test_an_import_with_an_unknown_content_stores_nothing(
    memoir: Call, gold: Path, db: psycopg.Connection
) -> None:
    with gold.open("a") as file:
        file.write('\n{"query": "who?", "relevant": ["nobody said this"]}')
    done = memoir("eval", "import", str(gold), "--set", "people")
    assert (done.exit_code, "nobody said this" in done.stderr) == (1, True)
    assert db.execute("SELECT count(*) FROM memoir.gold").fetchone() == (0,)


def test_an_evaluation_prints_json(memoir: Call, gold: Path) -> None:
    memoir("eval", "import", "-", "--set", "import", stdin=gold.read_text())
    (row,) = json.loads(memoir("eval", "run", "import", "--k", "1", "--json").stdout)
    assert (row["mode"], row["k"], row["queries"], row["mrr"]) == ("execute", 1, 2, 1)


def test_an_evaluation_is_of_the_user_asked_for(memoir: Call, gold: Path) -> None:
    memoir("eval", "import", str(gold))
    done = memoir("eval", "people", "--user", "bob")
    assert done.exit_code == 1
    assert 'user "bob" has no gold set "people"' in done.stderr


def test_an_evaluation_draws_a_plot(memoir: Call, gold: Path, tmp_path: Path) -> None:
    memoir("eval", "import", str(gold))
    path = tmp_path / "evidence.png"
    done = memoir("eval", "people", "--mode", "plan", "--mode", "chat", "--png", str(path))
    assert len(done.stdout.splitlines()) == 2 + 2 * 5
    assert path.read_bytes().startswith(b"\x89PNG")


def test_without_matplotlib_the_plot_names_the_extra(
    memoir: Call, gold: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    memoir("eval", "import", str(gold))
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    done = memoir("eval", "people", "--png", str(tmp_path / "evidence.png"))
    assert (done.exit_code, done.stdout) == (1, "")
    assert "pip install 'pgmemoir[plot]'" in done.stderr


def test_a_replay_prints_what_enters_and_what_leaves(memoir: Call) -> None:
    for text in ("green tea", "black tea"):
        memoir("remember", text)
    memoir("context", "green tea")
    done = memoir("replay", "--set", "line_limit=1")
    row, summary = done.stdout.splitlines()[-2:]
    assert row.split()[3:8] == ["execute", "green", "tea", "0.50", "yes"]
    assert summary == "1 of 1 blocks would change (0 only in order), mean overlap 0.50"


def test_a_replay_shows_a_new_order_of_the_same_lines(memoir: Call) -> None:
    for text in ("green tea please", "black tea please", "tea or milk"):
        memoir("remember", text)
    memoir("context", "green tea please")
    done = memoir("replay", "--set", "mmr_lambda=0.1")
    row, summary = done.stdout.splitlines()[-2:]
    assert row.split()[-3:] == ["1.00", "yes", "order"]
    assert summary.startswith("1 of 1 blocks would change (1 only in order)")


def test_a_replay_marks_the_ids_of_events(memoir: Call) -> None:
    event = memoir("event", "alert", '{"disk": 91}').stdout.split()[1]
    memoir("context", "disk")
    assert f"-e{event}\n" in memoir("replay", "--weight", "event=0").stdout


def test_a_replay_without_changes_says_so(memoir: Call) -> None:
    assert memoir("replay").stdout == "no recalls in the log\n"
    memoir("context", "tea")
    said = "0 of 1 blocks would change (0 only in order), mean overlap 1.00\n"
    assert memoir("replay", "--weight", "task=1.5").stdout == said
    assert len(memoir("replay", "--all").stdout.splitlines()) == 4


def test_a_replay_prints_json(memoir: Call) -> None:
    memoir("remember", "green tea")
    memoir("context", "tea")
    (row,) = json.loads(memoir("replay", "--since", "1h", "--weight", "general=0", "--json").stdout)
    assert (row["after_ids"], row["left_ids"], row["overlap"]) == ([], row["before_ids"], 0)


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["--set", "mmr_lambda"], 2, "is not a number for a name like mmr_lambda=0.9"),
        (["--weight", "task=much"], 2, "is not a number for a name like task=1.5"),
        (["--since", "soon"], 2, "is not a time like"),
        (["--set", "vector_weight=1"], 1, 'setting "vector_weight" cannot be replayed'),
        (["--weight", "tea=1"], 1, 'unknown kind "tea"'),
        (["--mode", "nobody"], 1, 'unknown mode "nobody"'),
    ],
    ids=str,
)
def test_bad_settings_are_refused(
    memoir: Call, arguments: list[str], code: int, message: str
) -> None:
    done = memoir("replay", *arguments)
    assert (done.exit_code, message in done.stderr) == (code, True)
