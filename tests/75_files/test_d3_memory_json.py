"""memory.json of D3: what goes in and comes out."""

from __future__ import annotations

import copy

from hypothesis import given, settings
from tests.d3_files import MEMORIES, MEMORY, actions, printed, take, text
from tests.rows import row_counts

OTHER = "11111111"


def edited(place: int = 0, **fields: object) -> dict[str, object]:
    """D3's example with other values in one entry."""
    document = copy.deepcopy(MEMORY)
    document["memories"][place].update(fields)
    return document


def more(*entries: dict[str, object]) -> dict[str, object]:
    """D3's example with further entries."""
    return {**MEMORY, "memories": [*MEMORY["memories"], *entries]}


def test_the_example_of_the_document_comes_back_byte_by_byte(tx):
    assert actions(take(tx, MEMORY)) == ["ADD", "ADD", "UPDATE"]
    assert printed(tx) == text(MEMORY)


def test_importing_twice_changes_nothing(tx):
    take(tx, MEMORY)
    before = row_counts(tx)
    assert actions(take(tx, MEMORY)) == ["NOOP", "NOOP"]
    assert row_counts(tx) == before


@settings(max_examples=60)
@given(document=MEMORIES)
def test_what_a_person_wrote_comes_back_as_it_was(tx, document):
    tx.execute("SAVEPOINT clean")
    try:
        take(tx, document)
        once = printed(tx)
        assert once == text(document)
        take(tx, once)
        assert printed(tx) == once
    finally:
        tx.execute("ROLLBACK TO clean")
