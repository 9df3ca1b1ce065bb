"""Words, dates and keywords are the same in every locale of a database."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest
from tests.conftest import LOCALES
from tests.rows import call, remember

from pgmemoir import migrations
from pgmemoir.paths import Source

# Letters as in Turkish, where I is not the capital of i. Sorted from ~ to !: the colon comes before
# digits, as in nearly every language, and what "C" sorts otherwise is seen.
DESCENDING = "\n".join(f"<U{code:04X}>" for code in range(0x7E, 0x20, -1))
TURKISH = f"""
LC_CTYPE
copy "tr_TR"
END LC_CTYPE
LC_COLLATE
order_start forward
{DESCENDING}
UNDEFINED
order_end
END LC_COLLATE
"""
REDACTION = """SELECT proname, prosrc, pg_get_function_sqlbody(oid) FROM pg_proc
WHERE proname IN ('_has_sign', '_redact_once', '_is_secret_key', '_named_kind') ORDER BY 1"""


@contextmanager
def installed_in(
    server, name: str, locale: str, provider: str = "", source: Source | None = None
) -> Iterator[psycopg.Connection]:
    """A connection to a database of this locale."""
    address = {"host": server.host, "port": server.port, "user": server.user}
    with psycopg.connect(**address, dbname="postgres", autocommit=True) as admin:
        admin.execute(f"CREATE DATABASE {name} TEMPLATE template0 LOCALE '{locale}' {provider}")
        with psycopg.connect(**address, dbname=name, autocommit=True) as conn:
            migrations.up(conn, source=source)
            yield conn
        admin.execute(f"DROP DATABASE {name}")


@pytest.fixture(scope="module")
def plain(server, few_synonyms) -> Iterator[psycopg.Connection]:
    """A connection to a database that knows letters of ASCII only."""
    with installed_in(server, "plain", "C", source=few_synonyms) as conn:
        yield conn


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
    with installed_in(server, "turkish", "turkish.UTF-8") as conn:
        assert conn.execute("SELECT lower('I'), 'b' < 'a'").fetchone() == ("ı", True)
        yield conn


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
        "May 8-10, 2023", "IN FALL 2022", "FIVE MINUTES AGO, IN 2019", "on the 31st?",
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


def test_the_rules_of_redaction_are_tried_in_the_same_order(tx, turkish):
    assert turkish.execute(REDACTION).fetchall() == tx.execute(REDACTION).fetchall()


@pytest.mark.usefixtures("side_by_side")
def test_what_is_equal_otherwise_is_listed_in_the_same_order(tx, turkish):
    asked = (
        "SELECT to_json(memoir.expand_keywords('{猫,salary}'))",
        "SELECT matched FROM memoir.memory_explain("
        "query_text => 'ants, bees and cats', user_id => 'ada')",
        "SELECT expanded_keywords FROM memoir.search_memories("
        "'salary', min_relevance_score => 0, user_id => 'ada')",
        "SELECT top_entities FROM memoir.summary('ada')",
        "SELECT entities, jsonb_path_query_array(relations, '$[*].type')"
        " FROM memoir.get_memory_detail(%(first)s, 'ada')",
        "SELECT type FROM memoir.relations(%(first)s::bigint, 'ada')",
    )
    told = []
    for conn in (tx, turkish):
        first = remember(conn, "cats eat ants and bees", user_id="ada")
        other = remember(conn, "no salary for bees, cats and ants", user_id="ada")
        for name in ("Bob", "Ada", "Cy"):
            call(conn, "mention", memory_id=first, entity=name, type="person", user_id="ada")
        for kind in ("supports", "refines"):
            call(conn, "relate", from_id=first, to_id=other, type=kind, user_id="ada")
        told.append([conn.execute(ask, {"first": str(first)}).fetchall() for ask in asked])
    assert told[1] == told[0]


def test_words_are_the_same_where_only_ascii_has_letters(tx, plain):
    texts = [
        "«Bremen» und »Köln«", "¿Dónde? · aquí", "Tea 😀🎉", "❤️ love", "मैं घर गया।", "أين القط؟",
        "Москва и ЯЛТА", "ΑΘΗΝΑ ΟΔΌΣ", "ԵՐԵՒԱՆ։", "茶\u3000水", "Ночь № 5",
    ]  # fmt: skip
    asked = """SELECT memoir.tokens(t), memoir._line(t, 80) FROM unnest(%s::text[]) AS t"""
    assert plain.execute(asked, [texts]).fetchall() == tx.execute(asked, [texts]).fetchall()


def test_capitals_are_known_where_lower_has_a_provider_of_its_own(server, tx, few_synonyms):
    if tx.info.server_version < 170000:
        pytest.skip("PostgreSQL 17 is the first with a provider of its own")
    builtin = "LOCALE_PROVIDER builtin BUILTIN_LOCALE 'C.UTF-8'"
    asked = "SELECT memoir.tokens('Москва и ЯЛТА'), memoir.tokens('ΑΘΗΝΑ'), lower('Ж')"
    with installed_in(server, "provider", "C", builtin, few_synonyms) as conn:
        found = conn.execute(asked).fetchone()
    assert found == (["и", "москва", "ялта"], ["αθηνα"], "ж")
