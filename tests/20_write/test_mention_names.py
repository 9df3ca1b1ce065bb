"""A memory that mentions an entity is found by the name of it in mode conversation."""

import pytest

from tests.rows import explain, remember


def names(conn, memory_id, **arguments):
    rows = explain(conn, "What about Melanie?", mode="conversation", **arguments)
    return next(row.matched for row in rows if row.memory_id == memory_id)


@pytest.mark.parametrize("counted", [False, True])
def test_a_mentioned_name_is_a_name_of_the_memory(tx, counted):
    about, other = remember(tx, "she paints at the lake"), remember(tx, "the lake is cold")
    if counted:
        tx.execute("SELECT memoir.refresh_statistics()")
    tx.execute("SELECT memoir.mention(%s, 'Melanie', 'person')", (about,))
    assert names(tx, about) == ["name melani"]
    assert names(tx, other) == []


def test_a_mention_taken_back_is_no_name_any_more(tx):
    about = remember(tx, "she paints at the lake")
    tx.execute("SELECT memoir.mention(%s, 'Melanie', 'person')", (about,))
    tx.execute("SELECT memoir.unmention(%s, 'melanie', 'person')", (about,))
    assert names(tx, about) == []


def test_a_mention_keeps_words_and_vector(tx):
    about = remember(tx, "she paints at the lake", embedding="[1,0,0]")
    before = tx.execute("SELECT term_count, embedding FROM memoir.trace").fetchone()
    tx.execute("SELECT memoir.mention(%s, 'Melanie', 'person')", (about,))
    assert tx.execute("SELECT term_count, embedding FROM memoir.trace").fetchone() == before
