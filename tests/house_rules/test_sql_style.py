"""Rules of the house that a program can check: in the files, and in the catalogue they make."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SQL = sorted((ROOT / "sql").rglob("*.sql"))
MIGRATIONS = sorted((ROOT / "migrations").glob("*.sql"))
INSTALLED = [*SQL, *sorted((ROOT / "migrations").rglob("*.sql"))]
PYTHON = [path for folder in ("pyclient", "tests") for path in (ROOT / folder).rglob("*.py")]
SCRIPTS = [path for path in (ROOT / "scripts").rglob("*") if path.suffix in {"", ".py", ".sql"}]
TEXTS = [path for path in (*INSTALLED, *PYTHON, *SCRIPTS) if path.is_file()]

# One asks itself for whom (sql/40_candidates/022_near_rows.sql), one is a trigger that is given
# nothing (sql/00_base/016_constants.sql).
OWNERS_RIGHTS = {"_own_words", "_compile_constants"}

STRING_OR_COMMENT = re.compile(r"--[^\n]*|/\*.*?\*/|'(?:[^']|'')*'", re.DOTALL)
CODE_IN_MIGRATION = re.compile(r"\bCREATE (OR REPLACE )?(FUNCTION|VIEW|TRIGGER|POLICY)\b", re.I)
LEFT_FOR_LATER = re.compile(r"\b(TO" + r"DO|FIX" + r"ME|X" + r"XX|HA" + r"CK)\b")
# Ranges have a lower(), too.
LOWERED_BY_LOCALE = re.compile(
    r"(?<!\w)lower\((?!w\)|span\)|from_span\)|_calendar_span|')(?!.*COLLATE)"
)
RAISE = re.compile(r"\bRAISE\s+EXCEPTION\b.*?;\s*\n", re.DOTALL)


def _names(paths: list[Path]) -> list[str]:
    return [str(path.relative_to(ROOT)) for path in paths]


def _lines(paths: list[Path], pattern: re.Pattern[str]) -> list[str]:
    """``file:line`` of every line that has the pattern."""
    return [
        f"{path.relative_to(ROOT)}:{number}"
        for path in paths
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if pattern.search(line)
    ]


def test_every_sql_file_begins_with_two_lines_of_comment():
    headless = [path for path in SQL if not re.match(r"--.+\n--.+\n", path.read_text())]
    assert _names(headless) == []


def test_lines_have_100_columns_at_most():
    assert _lines(TEXTS, re.compile(r"^.{101}")) == []


def test_text_is_lowered_by_a_function_that_any_locale_leaves_alike():
    assert _lines(SQL, LOWERED_BY_LOCALE) == []


def test_nothing_is_left_for_later():
    assert _lines(TEXTS, LEFT_FOR_LATER) == []


def test_installable_sql_names_no_schema():
    texts = {path: STRING_OR_COMMENT.sub("", path.read_text("utf-8")) for path in INSTALLED}
    assert _names([path for path, bare in texts.items() if re.search(r"\bmemoir\.\w", bare)]) == []


def test_an_error_of_ours_has_a_hint():
    raised = [(path, text) for path in SQL for text in RAISE.findall(path.read_text("utf-8"))]
    without = [path for path, text in raised if "'ME" in text and "HINT" not in text]
    assert _names(without) == []


def test_every_migration_has_a_way_back():
    down = {path.name for path in (ROOT / "migrations/down").glob("*.sql")}
    assert down == {path.name for path in MIGRATIONS}


def test_migrations_make_no_code():
    found = [path for path in MIGRATIONS if CODE_IN_MIGRATION.search(path.read_text())]
    assert _names(found) == []


def test_every_public_function_has_a_comment(tx):
    bare = tx.execute(
        "SELECT oid::regprocedure::text FROM pg_proc"
        " WHERE pronamespace = 'memoir'::regnamespace AND proname NOT LIKE '\\_%'"
        " AND obj_description(oid, 'pg_proc') IS NULL"
    )
    assert bare.fetchall() == []


def test_every_public_table_and_view_has_a_comment(tx):
    bare = tx.execute(
        "SELECT oid::regclass::text FROM pg_class"
        " WHERE relnamespace = 'memoir'::regnamespace AND relname NOT LIKE '\\_%'"
        " AND relkind IN ('r', 'p', 'v', 'm') AND NOT relispartition"
        " AND obj_description(oid, 'pg_class') IS NULL"
    )
    assert bare.fetchall() == []


def test_every_plpgsql_function_pins_its_search_path(tx):
    loose = tx.execute(
        "SELECT p.oid::regprocedure::text FROM pg_proc p JOIN pg_language l ON l.oid = p.prolang"
        " WHERE p.pronamespace = 'memoir'::regnamespace AND l.lanname = 'plpgsql'"
        # One that commits cannot: it names the schema instead.
        " AND p.prokind <> 'p'"
        " AND coalesce(p.proconfig::text, '') NOT LIKE '%search_path=memoir, %'"
    )
    assert loose.fetchall() == []


def test_what_is_called_from_outside_is_not_compiled_by_jit(tx):
    # Also what a procedure calls, which cannot have settings.
    compiled = tx.execute(
        "SELECT p.oid::regprocedure::text FROM pg_proc p JOIN pg_language l ON l.oid = p.prolang"
        " WHERE p.pronamespace = 'memoir'::regnamespace AND l.lanname = 'plpgsql'"
        " AND p.prokind <> 'p' AND NOT coalesce('jit=off' = ANY (p.proconfig), false)"
        " AND (p.proname !~ '^_' OR p.prorettype = 'trigger'::regtype OR EXISTS ("
        "    SELECT FROM pg_proc r WHERE r.pronamespace = p.pronamespace AND r.prokind = 'p'"
        "    AND r.prosrc ~ ('\\m' || p.proname || '\\(')))"
    )
    assert compiled.fetchall() == []


def test_no_function_runs_with_its_owners_rights_but_those_that_say_why(tx):
    definer = tx.execute(
        "SELECT proname FROM pg_proc WHERE pronamespace = 'memoir'::regnamespace AND prosecdef"
    )
    assert {name for (name,) in definer} == OWNERS_RIGHTS


def test_every_view_reads_with_the_callers_rights(tx):
    definer = tx.execute(
        "SELECT oid::regclass::text FROM pg_class"
        " WHERE relnamespace = 'memoir'::regnamespace AND relkind = 'v'"
        " AND NOT coalesce(reloptions::text ~ 'security_invoker=(true|on|1)', false)"
    )
    assert definer.fetchall() == []
