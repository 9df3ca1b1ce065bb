"""Words, dates and keywords are the same in every locale of a database."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from tests.conftest import LOCALES
from tests.rows import call, remember

from pgmemoir import migrations

# Letters as in Turkish, where I is not the capital of i; the colon before digits, as nearly every
# language sorts them. Whole tr_TR takes three times as long.
TURKISH = """
LC_CTYPE
copy "tr_TR"
END LC_CTYPE
LC_COLLATE
order_start forward
<U003A>
<U0030>
..
<U0039>
UNDEFINED
order_end
END LC_COLLATE
"""


@pytest.fixture(scope="module")
def turkish(server, tmp_path_factory) -> Iterator[psycopg.Connection]:
    """A connection to a database whose locale is Turkish."""
    if not shutil.which("localedef") or not Path("/usr/share/i18n/locales/tr_TR").exists():
        pytest.skip("the system has no source of locales")
    source = tmp_path_factory.mktemp("locale") / "source"
    source.write_text(TURKISH)
    address = {"host": server.host, "port": server.port, "user": server.user}
    with psycopg.connect(**address, dbname="postgres", autocommit=True) as admin:
        (folder,) = admin.execute("SHOW data_directory").fetchone()
        compiled = Path(folder).parent / LOCALES / "turkish.UTF-8"
        compiled.parent.mkdir(mode=0o755)
        command = ["localedef", "-c", "-f", "UTF-8", "-i", source, compiled]
        subprocess.run(command, check=False, capture_output=True, umask=0o022)
        admin.execute("CREATE DATABASE turkish TEMPLATE template0 LOCALE 'turkish.UTF-8'")
        with psycopg.connect(**address, dbname="turkish", autocommit=True) as conn:
            assert conn.execute("SELECT lower('I'), ':' < '2'").fetchone() == ("ı", True)
            migrations.up(conn)
            yield conn
        admin.execute("DROP DATABASE turkish")


@pytest.mark.parametrize(
    "text",
    [
        "LIMIT of the GIGABIT Interface IS in INIT", "I don't know",
        "snake_case_ID in src/Main.java", "HTTPServerError: INVALID", "认证失败 in INIT", "ＩＤ",
        "MÜLLER müller",
    ],
)  # fmt: skip
def test_words_and_keywords_are_the_same(tx, turkish, text):
    asked = "SELECT memoir.tokens(%(t)s), ARRAY(SELECT k FROM memoir._keywords(%(t)s) AS k)"
    assert turkish.execute(asked, {"t": text}).fetchone() == (
        tx.execute(asked, {"t": text}).fetchone())  # fmt: skip


@pytest.mark.parametrize(
    "question",
    [
        "on 8 May 2023", "On APRIL 8th, 2023", "since 2023-05-08", "05/08/2023", "LAST FRIDAY",
        "May 8-10, 2023", "IN FALL 2022", "FIVE MINUTES AGO, IN 2019",
    ],
)  # fmt: skip
def test_times_are_the_same(tx, turkish, question):
    asked = (
        "SELECT memoir._time_windows(%(q)s, '2026-01-01'), memoir._asks_when('WHEN IS ' || %(q)s),"
        " memoir._has_time_word(%(q)s)"
    )
    assert turkish.execute(asked, {"q": question}).fetchone() == (
        tx.execute(asked, {"q": question}).fetchone())  # fmt: skip


def test_names_are_found_in_either_case(turkish):
    memory = remember(turkish, "How to release", "SKILL", keywords=["CI"])
    for name in ("INIT", "init"):
        call(turkish, "mention", memory_id=memory, entity=name, type="TEAM IN INDIA")
    assert len(call(turkish, "entities")) == 1
    assert len(call(turkish, "search_memories", query="", keywords=["ci"])) == 1
