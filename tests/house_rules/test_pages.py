"""What the pages name exists: sections, functions, tables, settings, commands and options."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import click

import pgmemoir
from pgmemoir.cli.app import main

ROOT = Path(__file__).parents[2]
PAGES = sorted(
    page
    for folder in (".", "docs", "sql", "scripts/bench")
    for page in (ROOT / folder).glob("*.md")
)
FENCE = re.compile(r"^```.*?^```$", re.DOTALL | re.MULTILINE)
# Names that stand for others, a setting of the session, and a file of Rails.
MADE_UP = {"NAME", "user_id", "trace_near_1", "0017_what_it_does.sql", "structure.sql"}


def prose(page: Path) -> str:
    return FENCE.sub("", page.read_text(encoding="utf-8"))


def sections(page: Path) -> set[str]:
    """The anchors of a page, as GitHub makes them from its headings."""
    headings = re.findall(r"^#+ (.+)$", prose(page), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_every_link_leads_somewhere():
    broken = []
    for page in PAGES:
        for link in re.findall(r"\]\(([^)\s]+)\)", prose(page)):
            file, _, section = link.partition("#")
            target = page.parent / file if file else page
            if not target.exists() or (section and section not in sections(target)):
                broken.append((page.name, link))
    assert broken == []


def test_every_object_of_memoir_that_a_page_names_exists(tx):
    known = {
        name
        for (name,) in tx.execute(
            "SELECT proname FROM pg_proc WHERE pronamespace = 'memoir'::regnamespace"
            " UNION SELECT relname FROM pg_class WHERE relnamespace = 'memoir'::regnamespace"
        )
    }
    known |= MADE_UP | set(dir(pgmemoir.Memoir))
    unknown = []
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        own = set(re.findall(r"CREATE FUNCTION memoir\.(\w+)", text))
        unknown += [
            (page.name, name)
            for name in re.findall(r"\bmemoir\.(\w+)", text)
            if name not in known | own
        ]
    assert unknown == []


def test_every_setting_that_a_page_names_exists(tx):
    settings = tx.execute(
        "SELECT name FROM memoir.setting"
        " UNION SELECT jsonb_object_keys(memoir.get_settings('somebody'))"
    ).fetchall()
    named = {
        (page.name, name)
        for page in PAGES
        for name in re.findall(r"settings? `(\w+)`", prose(page))
    }
    assert {(page, name) for page, name in named if (name,) not in settings} == set()


def calls(page: Path) -> Iterator[list[str]]:
    """The calls of the command memoir on a page, in code and in blocks, as lists of words."""
    text = page.read_text(encoding="utf-8")
    lines = re.findall(r"`(memoir [^`\n]+)`", prose(page))
    for block in FENCE.findall(text):
        lines += re.findall(r"^(?:\$ )?(memoir .+)$", block, re.MULTILINE)
    for line in lines:
        for call in re.split(r"\s(?:&&|\|)\s|;", line.partition(" #")[0]):
            if (words := shlex.split(call))[:1] == ["memoir"]:
                yield words[1:]


def unknown_word(command: click.Command, words: list[str]) -> str | None:
    """The first word of a call that is neither a command nor an option of the one before."""
    options = {name: option for option in command.params for name in option.opts}
    while words:
        word, *words = words
        if isinstance(command, click.Group) and not word.startswith("-"):
            named = partial(command.get_command, click.Context(command))
            inner = named(word) or named("run")  # memoir eval SET
            return unknown_word(inner, words) if inner else word
        if not word.startswith("-") or word == "-":
            continue
        name, _, value = word.partition("=")
        if name not in {*options, "--help", "--version"}:
            return word
        if name in options and not getattr(options[name], "is_flag", False) and not value:
            words = words[1:]
    return None


def test_every_command_and_option_that_a_page_names_exists():
    found = [(page.name, call) for page in PAGES for call in calls(page)]
    assert len(found) > 100
    wrong = [(page, call) for page, call in found if unknown_word(main, call)]
    assert wrong == []


def test_every_source_file_that_a_page_names_exists():
    folders = ("migrations", "pyclient", "scripts", "sql", "tests")
    files = {file.name for folder in folders for file in (ROOT / folder).rglob("*.*")}
    named = {
        (page.name, name)
        for page in PAGES
        for name in re.findall(r"`(?:[\w.]+/)*(\w+\.(?:py|sql))`", prose(page))
    }
    assert len(named) > 60
    assert {(page, name) for page, name in named if name not in files | MADE_UP} == set()
