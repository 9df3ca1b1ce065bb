"""The README and the pages of docs/ run from top to bottom and print what they say."""

import re
import subprocess
from pathlib import Path

import pytest

from pgmemoir import errors, server

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"
PAGES = [README, *sorted((ROOT / "docs").glob("*.md"))]
EXAMPLE = re.compile(r"```sql\n(.*?)```\n```text\n(.*?)```", re.DOTALL)
MODES = re.compile(r"^\| (`.*`) \| (?:D\d|measured) \|", re.MULTILINE)


def printed(dsn: str, statements: str, version: int) -> str:
    """What psql prints for them.

    A first line ``-- psql -At`` gives it options, ``-- refused`` says that they must fail.
    """
    first = statements.split("\n", maxsplit=1)[0]
    options = first.split()[2:] if first.startswith("-- psql") else []
    variables = ["-v", "ON_ERROR_STOP=1", "-v", "SHOW_CONTEXT=never"]
    command = [str(server.psql(version)), "-X", "-q", *options, *variables, "-d", dsn]
    done = subprocess.run(command, check=False, input=statements, text=True, capture_output=True)
    if first == "-- refused":
        assert done.returncode != 0
        return done.stderr
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("page", PAGES, ids=[page.name for page in PAGES])
def test_every_example_prints_what_the_page_says(dsn, db, page):
    text = page.read_text(encoding="utf-8")
    examples = EXAMPLE.findall(text)
    assert len(examples) == text.count("```sql\n") > 0
    version = db.info.server_version // 10000
    for statements, output in examples:
        assert printed(dsn, statements, version) == output


def test_the_readme_names_every_mode(tx):
    named = re.findall(r"`(\w+)`", "".join(MODES.findall(README.read_text(encoding="utf-8"))))
    modes = tx.execute("SELECT name FROM memoir.mode ORDER BY name").fetchall()
    assert sorted(named) == [name for (name,) in modes]


def test_the_page_on_trouble_has_every_error():
    page = (ROOT / "docs" / "troubleshooting.md").read_text(encoding="utf-8")
    told = re.findall(r"^\| `(ME\d+)` \| `(\w+)` \| (.+) \|$", page, re.MULTILINE)
    assert told == [
        (code, error.__name__, error.__doc__.split("\n")[0].replace("``", "`"))
        for code, error in errors._BY_SQLSTATE.items()
    ]
