"""The agent's turn of docs/languages.md, where Node and its packages pg and openai are found."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from shutil import which

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict

from .test_tools import Model

pytestmark = pytest.mark.once

PAGE = (Path(__file__).parents[2] / "docs" / "languages.md").read_text(encoding="utf-8")
ASK = "import { answer } from './turn.mjs';\nconsole.log(await answer('ada', 's', '%s'));\nexit();"


@pytest.fixture(scope="module")
def packages() -> Path:
    """The folder ``node_modules`` with both packages."""
    find = "console.log(require.resolve('openai') && require.resolve('pg/package.json'))"
    found = which("node") and subprocess.run(
        ["node", "-e", find], check=False, capture_output=True, text=True
    )
    if not found or found.returncode:
        pytest.skip("there is no Node with the packages pg and openai (NODE_PATH)")
    return Path(found.stdout.strip()).parents[1]


@pytest.fixture
def model() -> Iterator[Model]:
    with Model() as made:
        yield made
        made.client.close()


def ask(packages: Path, folder: Path, dsn: str, model: Model, question: str) -> str:
    """What the page's program answers, as a role that sees one user."""
    (example,) = re.findall(r"```js\n(.*?)```", PAGE, re.DOTALL)
    (folder / "node_modules").symlink_to(packages)
    (folder / "turn.mjs").write_text(example, encoding="utf-8")
    asking = "import { exit } from 'node:process';\n" + ASK % question
    (folder / "ask.mjs").write_text(asking, encoding="utf-8")
    where = {f"PG{k.upper()}": str(v) for k, v in conninfo_to_dict(dsn).items()}
    where["PGDATABASE"] = where.pop("PGDBNAME")
    model_is = {"OPENAI_BASE_URL": model.url, "OPENAI_API_KEY": "none"}
    done = subprocess.run(
        ["node", "ask.mjs"],
        cwd=folder,
        env={**os.environ, **where, **model_is, "PGOPTIONS": "-c role=memoir_agent"},
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_program_in_javascript_recalls_searches_and_keeps_what_was_said(
    packages: Path, tmp_path: Path, dsn: str, db: psycopg.Connection, model: Model
) -> None:
    db.execute("SELECT memoir.remember('the session cookie is called harbor_sid', 'fact', 'ada')")
    model.wants = ("search_memories", '{"query": "cookie", "min_relevance_score": 0.3}')
    said = ask(packages, tmp_path, dsn, model, "our session cookie?")
    assert "harbor_sid" in said
    assert "harbor_sid" in model.chats[0]["messages"][0]["content"]
    kept = db.execute("SELECT role, content FROM memoir.message WHERE user_id = 'ada'").fetchall()
    assert kept == [("user", "our session cookie?"), ("assistant", said.rstrip("\n"))]


@pytest.mark.parametrize(
    ("given", "told"),
    [('{"query": "cookie", "limit": 3}', 'no argument "limit"'), ('{"query": ', "type json")],
)
def test_the_model_is_told_of_its_wrong_call(
    packages: Path, tmp_path: Path, dsn: str, model: Model, given: str, told: str
) -> None:
    model.wants = ("search_memories", given)
    ask(packages, tmp_path, dsn, model, "our cookie?")
    assert told in json.loads(model.chats[1]["messages"][-1]["content"])["error"]
