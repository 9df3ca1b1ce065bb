"""logs/YYYY-MM-DD.json of D3: what goes in and comes out."""

from __future__ import annotations

from hypothesis import given, settings
from tests.d3_files import LOG, LOGS, actions, printed_log, take_log, text
from tests.rows import row_counts


def test_the_example_of_the_document_comes_back_byte_by_byte(tx):
    assert actions(take_log(tx, LOG)) == ["ADD"] * 3
    assert printed_log(tx) == text(LOG)


def test_importing_twice_changes_nothing(tx):
    take_log(tx, LOG)
    before = row_counts(tx)
    assert actions(take_log(tx, LOG)) == ["NOOP"] * 3
    assert row_counts(tx) == before


@settings(max_examples=40)
@given(document=LOGS)
def test_what_a_person_wrote_comes_back_as_it_was(tx, document):
    tx.execute("SAVEPOINT clean")
    try:
        take_log(tx, document)
        once = printed_log(tx)
        assert once == text(document)
        take_log(tx, once)
        assert printed_log(tx) == once
    finally:
        tx.execute("ROLLBACK TO clean")
