"""One embedding model fills a database."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest
from tests.rows import call, refused, remember, until_blocked, value

MODEL = "SELECT coalesce(name, '?') || '/' || coalesce(dimensions::text, '?')" + (
    " FROM memoir.embedding_model WHERE active"
)


def test_a_new_database_has_no_model(tx):
    assert value(tx, MODEL) == "?/?"


def test_the_first_call_names_the_model(tx):
    call(tx, "use_model", name="small", dimensions=3)
    assert value(tx, MODEL) == "small/3"


def test_the_same_model_again_is_fine(tx):
    call(tx, "use_model", name="small", dimensions=3)
    call(tx, "use_model", name="small", dimensions=3)
    assert value(tx, MODEL) == "small/3"


@pytest.mark.parametrize(("name", "dimensions"), [("large", 3), ("small", 4)])
def test_another_model_is_refused(tx, name, dimensions):
    call(tx, "use_model", name="small", dimensions=3)
    said = refused(tx, "use_model", name=name, dimensions=dimensions)
    assert said.sqlstate == "ME009"
    assert '"small" with 3' in said.message_primary
    assert value(tx, MODEL) == "small/3"


def test_the_first_vector_decides_the_dimensions(tx):
    remember(tx, "tea", embedding="[1,0,0]")
    assert value(tx, MODEL) == "?/3"


def test_a_model_may_be_named_after_the_first_vector(tx):
    remember(tx, "tea", embedding="[1,0,0]")
    call(tx, "use_model", name="small", dimensions=3)
    assert value(tx, MODEL) == "small/3"


def test_a_model_that_does_not_fit_the_vectors_is_refused(tx):
    remember(tx, "tea", embedding="[1,0,0]")
    said = refused(tx, "use_model", name="small", dimensions=4)
    assert (said.sqlstate, value(tx, MODEL)) == ("ME009", "?/3")


def test_a_memory_without_vector_decides_nothing(tx):
    remember(tx, "tea")
    assert value(tx, MODEL) == "?/?"


def test_what_only_reads_names_no_model(tx):
    tx.execute("SET TRANSACTION READ ONLY")
    call(tx, "use_model", name="small", dimensions=3)
    assert value(tx, MODEL) == "?/?"


def test_what_only_reads_is_told_of_vectors_that_do_not_fit(tx):
    remember(tx, "tea", embedding="[1,0,0]")
    tx.execute("SET TRANSACTION READ ONLY")
    assert refused(tx, "use_model", name="small", dimensions=4).sqlstate == "ME009"


@pytest.mark.parametrize(
    "statement",
    [
        "remember('coffee')",
        'remember_many(\'[{"content": "coffee"}]\')',
        "update_memory(%(tea)s, 'green tea')",
        "set_embedding(%(tea)s, '[1,0]')",
        "use_model('small', 2)",
        "memory_explain(query_text => 'tea')",
        "gold_queries('set')",
        "import_user(ARRAY(SELECT memoir.export_user()), 'eve')",
        "refresh_statistics()",
        "vector_backlog()",
    ],
)
def test_without_an_active_model_the_way_back_is_told(tx, statement):
    tea = remember(tx, "tea", embedding="[1,0]")
    call(tx, "gold_add", gold_set="set", query="tea?", relevant_ids=[tea])
    tx.execute("DELETE FROM memoir.embedding_model")
    with pytest.raises(psycopg.Error) as raised:
        tx.execute(f"SELECT memoir.{statement}", {"tea": tea})
    said = raised.value.diag
    assert said.sqlstate == "ME009"
    assert said.message_primary.endswith("no embedding model is active")
    assert "memoir.health()" in said.message_hint


def test_of_two_clients_that_name_the_model_at_once_one_is_refused(db, dsn):
    with psycopg.connect(dsn) as first, psycopg.connect(dsn) as second:
        call(first, "use_model", name="small", dimensions=3)
        with ThreadPoolExecutor() as pool:
            late = pool.submit(refused, second, "use_model", name="large", dimensions=3)
            until_blocked(db)
            first.commit()
            assert late.result().sqlstate == "ME009"
    assert value(db, MODEL) == "small/3"
