"""Where statements begin: only error messages depend on it, but they should be right."""

from __future__ import annotations

import pytest

from pgmemoir import paths, sqlfiles
from pgmemoir.sqltext import line_of, routines, statement_starts


@pytest.mark.parametrize(
    ("text", "starts"),
    [
        ("", []),
        (" ;; a; b ", ["a", "b"]),
        ("-- no; no\n/* no; /* no; */ no; */ a; b", ["a", "b"]),
        ("a ';' b; c", ["a", "c"]),
        ("a E'\\';' b; c", ["a", "c"]),
        ("a '\\'; b", ["a", "b"]),
        ('a ";" b; c', ["a", "c"]),
        ("a $$;$x$;$$ b; c", ["a", "c"]),
        ("a $标签$;$$;$标签$ b; c", ["a", "c"]),
        ("a x$y; b$y", ["a", "b"]),
        ("a (b; c); d", ["a", "d"]),
        ("CREATE FUNCTION f() BEGIN ATOMIC x; CASE y END; END; b", ["CREATE", "b"]),
        ("BEGIN; a; END; b", ["BEGIN", "a", "END", "b"]),
    ],
)
def test_statements_begin_after_a_semicolon_that_ends_one(text, starts):
    found = statement_starts(text)
    assert len(found) == len(starts)
    for offset, start in zip(found, starts, strict=True):
        assert text.startswith(start, offset)


def test_every_statement_of_ours_begins_with_a_keyword():
    source = paths.installed()
    for file in [*sqlfiles.migrations(source), *sqlfiles.code(source)]:
        for start in statement_starts(file.text):
            word = file.text[start:].split(maxsplit=1)[0]
            assert word.isupper(), (file.name, line_of(file.text, start))


def test_a_header_gives_arguments_and_result_as_they_are_written():
    text = (
        "CREATE OR REPLACE FUNCTION f(a int[] DEFAULT '{1, 2}', -- x, y\n"
        '    INOUT "right" numeric(3, 2) = 1)\nLANGUAGE sql;\n'
        "CREATE FUNCTION g() RETURNS SETOF double precision\n    LANGUAGE sql;\n"
        "CREATE FUNCTION h() RETURNS TABLE (a text, b int)\n    LANGUAGE sql;\n"
        "CREATE PROCEDURE p(VARIADIC a text[]) LANGUAGE sql;\n"
    )
    assert [tuple(routine) for routine in routines(text)] == [
        ("f", "f", [("i", "a", "int [ ]"), ("b", "right", "numeric ( 3 , 2 )")], 2, False, None),
        ("f", "g", [], 0, True, "double precision"),
        ("f", "h", [("t", "a", "text"), ("t", "b", "int")], 0, True, None),
        ("p", "p", [("v", "a", "text [ ]")], 0, False, None),
    ]
