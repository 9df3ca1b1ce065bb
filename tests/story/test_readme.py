"""The README and the pages of docs/ run from top to bottom and print what they say."""

import re
import subprocess
from pathlib import Path

import psycopg
import pytest

from pgmemoir import errors, server

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"
PAGES = [README, *sorted((ROOT / "docs").glob("*.md"))]
EXAMPLE = re.compile(r"```sql\n(.*?)```\n```text\n(.*?)```", re.DOTALL)
MODES = re.compile(r"^\| (`.*`) \| (?:D\d|measured) \|", re.MULTILINE)


# Between two examples, on both streams: each begins as in a session of its own, plans are kept.
NEXT = "next example"
BEGIN = f"""
\\echo {NEXT}
\\warn {NEXT}
RESET ROLE; RESET SESSION AUTHORIZATION; RESET ALL;
\\set ON_ERROR_STOP %s
\\pset tuples_only %s
\\pset format %s
"""


def script(statements: str) -> str:
    """An example as psql is to run it.

    A first line ``-- psql -At`` asks for bare rows, ``-- refused`` says that it must fail.
    """
    first = statements.split("\n", maxsplit=1)[0]
    bare, refused = first == "-- psql -At", first == "-- refused"
    assert bare or not first.startswith("-- psql")
    begin = BEGIN % (
        "off" if refused else "on",
        "on" if bare else "off",
        "unaligned" if bare else "aligned",
    )
    return begin + statements


def printed(dsn: str, examples: list[str], version: int) -> list[str]:
    """What psql prints for each; for one that is refused, the error."""
    command = [str(server.psql(version)), "-X", "-q", "-v", "SHOW_CONTEXT=never", "-d", dsn]
    text = "".join(map(script, examples))
    done = subprocess.run(command, check=False, input=text, text=True, capture_output=True)
    assert done.returncode == 0, done.stderr
    said, warned = (stream.split(f"{NEXT}\n")[1:] for stream in (done.stdout, done.stderr))
    return [
        error if example.startswith("-- refused") else output
        for example, output, error in zip(examples, said, warned, strict=True)
    ]


@pytest.mark.parametrize("page", PAGES, ids=[page.name for page in PAGES])
def test_every_example_prints_what_the_page_says(dsn, db, page):
    text = page.read_text(encoding="utf-8")
    examples = EXAMPLE.findall(text)
    assert len(examples) == text.count("```sql\n") > 0
    statements, outputs = zip(*examples, strict=True)
    assert printed(dsn, statements, db.info.server_version // 10000) == [*outputs]


def test_the_readme_names_every_mode(tx):
    named = re.findall(r"`(\w+)`", "".join(MODES.findall(README.read_text(encoding="utf-8"))))
    modes = tx.execute("SELECT name FROM memoir.mode ORDER BY name").fetchall()
    assert sorted(named) == [name for (name,) in modes]


def test_the_calls_that_attach_five_tables_are_those_that_the_page_runs():
    _, _, section = README.read_text(encoding="utf-8").partition("\n### Use your existing tables")
    calls = section.split("```")[1].partition("CALL")[0]
    assert calls.count("attach_source") == 5
    assert calls.strip() in (ROOT / "docs" / "sources.md").read_text(encoding="utf-8")


def test_the_page_on_trouble_has_every_error():
    page = (ROOT / "docs" / "troubleshooting.md").read_text(encoding="utf-8")
    told = re.findall(r"^\| `(ME\d+)` \| `(\w+)` \| (.+) \|$", page, re.MULTILINE)
    assert told == [
        (code, error.__name__, error.__doc__.split("\n")[0].replace("``", "`"))
        for code, error in errors._BY_SQLSTATE.items()
    ]


@pytest.mark.usefixtures("db")
def test_what_resets_a_session_by_the_page_leaves_neither_role_nor_user(dsn):
    page = (ROOT / "docs" / "operations.md").read_text(encoding="utf-8")
    (reset,) = re.findall("^server_reset_query = (.+)$", page, re.MULTILINE)
    asked = "SELECT current_user, current_setting('memoir.user_id', true)"
    with psycopg.connect(dsn, autocommit=True) as conn:
        owner, _ = conn.execute(asked).fetchone()
        conn.execute("SET memoir.user_id = 'ada'; SET ROLE memoir_agent")
        assert conn.execute(asked).fetchone() == ("memoir_agent", "ada")
        conn.execute(reset)
        assert conn.execute(asked).fetchone() == (owner, "")
