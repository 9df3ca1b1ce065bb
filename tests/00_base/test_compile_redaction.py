"""A rule is one row; one that cannot work is refused when it is written."""

from __future__ import annotations

import re

import psycopg
import pytest
from tests.rows import redact, value

ADD = "INSERT INTO memoir.redaction_rule (name, pattern, context, sign) VALUES ('mine', %s, %s, %s)"


def add(conn, pattern, context="", sign=None):
    """Add a rule of one's own."""
    conn.execute(ADD, (pattern, context, sign and [sign]))


def test_a_rule_of_ones_own_is_one_row(tx):
    add(tx, "EMP-[0-9]{6}")
    assert redact(tx, "ask EMP-123456") == "ask [redacted:mine]"
    tx.execute("UPDATE memoir.redaction_rule SET kind = 'badge' WHERE name = 'mine'")
    assert redact(tx, "ask EMP-123456") == "ask [redacted:badge]"
    tx.execute("UPDATE memoir.redaction_rule SET enabled = false WHERE name = 'mine'")
    assert redact(tx, "ask EMP-123456") == "ask EMP-123456"
    tx.execute("UPDATE memoir.redaction_rule SET enabled = true WHERE name = 'mine'")
    tx.execute("DELETE FROM memoir.redaction_rule WHERE name = 'mine'")
    assert redact(tx, "ask EMP-123456") == "ask EMP-123456"


def test_the_context_of_a_secret_stays_and_the_secret_goes(tx):
    add(tx, "[0-9]+", context="door (?:code|number) ")
    assert redact(tx, "door code 4711, 12") == "door code [redacted:mine], 12"


def test_a_pattern_may_have_alternatives(tx):
    add(tx, "a(?:b|c)|d[(]")
    assert redact(tx, "ab ac d( a") == "[redacted:mine] [redacted:mine] [redacted:mine] a"


def test_capitals_matter_unless_told(tx):
    add(tx, "emp-[0-9]+")
    assert redact(tx, "EMP-1") == "EMP-1"
    tx.execute("UPDATE memoir.redaction_rule SET any_case = true WHERE name = 'mine'")
    assert redact(tx, "EMP-1") == "[redacted:mine]"


def test_a_name_of_ones_own_is_redacted_in_text_and_in_json(tx):
    tx.execute(
        "INSERT INTO memoir.redaction_rule (name, kind, matches, pattern)"
        " VALUES ('name_door', 'door_code', 'name', 'door[ _-]?code|门禁')"
    )
    assert redact(tx, "Door code: 4711x") == "Door code: [redacted:door_code]"
    assert redact(tx, "门禁是4711") == "门禁是[redacted:door_code]"
    document = value(tx, """SELECT memoir._redact_json('{"door_code": 12, "code": 12}')""")
    assert document == {"door_code": "[redacted:door_code]", "code": 12}


def test_e_mail_addresses_and_phone_numbers_are_redacted_on_demand(tx):
    text = "ada@example.com, 13812345678, +1 415-555-0132"
    assert redact(tx, text) == text
    tx.execute("UPDATE memoir.redaction_rule SET enabled = true")
    assert redact(tx, text) == "[redacted:email], [redacted:phone], [redacted:phone]"


def test_without_rules_nothing_is_redacted(tx):
    tx.execute("DELETE FROM memoir.redaction_rule")
    assert redact(tx, "password = hunter2") == "password = hunter2"
    document = value(tx, """SELECT memoir._redact_json('{"password": "a\\n"}')""")
    assert document == {"password": "a\n"}


def test_a_rule_does_not_touch_what_was_redacted(tx):
    add(tx, "redacted|card|.")
    assert redact(tx, "a[redacted:card]b") == "[redacted:mine][redacted:card][redacted:mine]"


@pytest.mark.parametrize(
    ("pattern", "problem"),
    [
        ("(", "parentheses () not balanced"),
        ("a)|(b", "parentheses () not balanced"),
        ("a*", "it matches an empty text"),
        ("", "it matches an empty text"),
        (r"(a)\1", "invalid backreference number"),
        (r"a\1", "invalid backreference number"),
        ("a(b|c)", "it has a group that captures"),
        ("(?i)abc", "it begins with an option"),
        ("***=abc", "it begins with an option"),
        ("a{999}", "invalid repetition count"),
        ("x" * 2001, "it has more than 2000 characters"),
    ],
)
def test_a_pattern_that_cannot_work_is_refused_with_a_hint(tx, pattern, problem):
    with pytest.raises(psycopg.Error) as caught, tx.transaction():
        add(tx, pattern)
    error = caught.value.diag
    assert error.sqlstate == "ME008"
    assert error.message_primary.startswith('the pattern of redaction rule "mine" cannot be used')
    assert problem in error.message_primary
    assert error.message_hint


@pytest.mark.parametrize("kind", ["", "Door", "门禁", "a-b", "x" * 41])
def test_a_kind_that_would_be_no_mark_is_refused(tx, kind):
    add(tx, "abc")
    with pytest.raises(psycopg.Error) as caught, tx.transaction():
        tx.execute("UPDATE memoir.redaction_rule SET kind = %s WHERE name = 'mine'", (kind,))
    assert caught.value.sqlstate == "ME008"


@pytest.mark.parametrize(("context", "sign"), [("(", None), ("", "["), ("", "a*"), ("(?i)a", None)])
def test_context_and_sign_are_checked_too(tx, context, sign):
    with pytest.raises(psycopg.Error) as caught, tx.transaction():
        add(tx, "abc", context, sign)
    assert caught.value.sqlstate == "ME008"


def test_a_sign_of_words_is_looked_up_as_words(tx):
    add(tx, "(?:EMP|BADGE_|A[.]B)[0-9]{6}")
    words = r"EMP|BADGE_|A\.B"
    for sign in ([words], ["[0-9]{6}", words]):
        tx.execute("UPDATE memoir.redaction_rule SET sign = %s WHERE name = 'mine'", (sign,))
        assert redact(tx, "EMP123456 BADGE_123456 A.B123456") == " ".join(["[redacted:mine]"] * 3)


def test_words_are_those_of_a_sign_without_any_operator(tx):
    words = "SELECT memoir._sign_words(%s)"
    assert value(tx, words, r"npm_|SG\.|100%") == [r"%npm\_%", "%SG.%", r"%100\%%"]
    for sign in ("a+", "a.b", "(?i)a", "[ab]", "^a", "a|", "|a", "a||b", r"\d"):
        assert value(tx, words, sign) is None, sign


def test_words_in_front_only_spare_a_short_text_the_next_sign(tx):
    gate = "SELECT gate, others FROM memoir._shared_condition(%s)"
    words = "(octet_length(content) > 250 OR {} LIKE ANY ('{{%a%,%b%}}'::text[]))"
    for signs, look, others in (
        (["(?i)A|b", "x+"], words.format('lower(content COLLATE "C")') + " AND content ~ 'x+'", []),
        (["a|b", "x+", "y"], words.format("content") + " AND content ~ 'x+'", ["y"]),
        (["x+", "a|b"], "content ~ 'x+'", ["a|b"]),
        (["(?i)é|b", "x"], "content ~ '(?i)é|b'", ["x"]),
        (["x+"], "content ~ 'x+'", []),
    ):
        assert tx.execute(gate, (signs,)).fetchone() == (f"({look})", others), signs


def test_what_a_text_may_have_is_asked_of_it_by_few_expressions(tx):
    asked = "SELECT count(DISTINCT gate), count(DISTINCT look) FROM memoir._compiled_rules()"
    assert tx.execute(f"{asked} WHERE gate !~ '> length'").fetchone() == (3, 9)
    assert tx.execute(asked).fetchone() == (5, 10)


def test_the_words_of_all_rules_are_looked_for_at_once_in_a_long_text(tx):
    # One by one they took 40 ms of 100,000 characters, ten times as long as all other rules
    source = value(tx, "SELECT prosrc FROM pg_proc WHERE proname = '_redact_once'")
    guard = re.search(r"< 500 OR content ~ E?'([^']+)' THEN\s+FOR each IN", source)
    assert {"npm_", "hook"} <= set(guard[1].split("|"))
    assert redact(tx, f"{'a long text ' * 99}npm_{'a1' * 18}").endswith(
        "a long text [redacted:api_key]"
    )
