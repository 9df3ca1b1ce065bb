"""Going over to another embedding model: recall serves the one in use until the switch."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import psycopg
import pytest
from tests.jobs import claim, fail, ready
from tests.rows import (
    call,
    fill,
    found,
    recall,
    refused,
    remember,
    remember_all,
    rows_read,
    set_to,
    until,
    until_blocked,
    value,
    wave,
)

TEXTS = ("tea is green", "milk is white", "the house is old")
OLD = ("[1,0,0]", "[0,1,0]", "[0,0,1]")
# The other way round: by these vectors another memory is nearest.
NEW = ("[0,0,0,1]", "[0,0,1,0]", "[1,0,0,0]")


@pytest.fixture
def ids(tx):
    """Three memories of ada's by model small, and model large beside it."""
    call(tx, "use_model", name="small", dimensions=3)
    made = [
        remember(tx, text, embedding=vector, user_id="ada")
        for text, vector in zip(TEXTS, OLD, strict=True)
    ]
    call(tx, "add_model", name="large", dimensions=4)
    return made


def make_traces(conn, name="large", n=1000):
    """All that are missing; how many each call made."""
    after, made = {}, []
    while rows := call(conn, "fill_model", name=name, n=n, **after):
        after = {"after_user": rows[0].owner, "after_id": rows[0].last_id}
        made.append(rows[0].made)
    return made


def embed(conn, ids, vectors=NEW, name="large", user="ada"):
    """Bring vectors of a model."""
    call(conn, "set_embeddings", memory_ids=ids, embeddings=list(vectors), user_id=user, model=name)


def switched(conn, ids):
    """Fill large, and go over to it."""
    make_traces(conn)
    embed(conn, ids)
    call(conn, "switch_model", name="large")


def nearest(conn, vector, **more):
    return recall(conn, query_vec=vector, user_id="ada", mode="chat", **more).memory_ids[:1]


def states(conn):
    return {row.name: (row.state, row.vectors, row.missing) for row in call(conn, "models")}


@pytest.mark.usefixtures("ids")
def test_a_model_is_added_beside_the_one_in_use(tx):
    assert states(tx) == {"small": ("in use", 3, 0), "large": ("to be filled", 0, 3)}


@pytest.mark.usefixtures("ids")
def test_adding_it_again_changes_nothing(tx):
    call(tx, "add_model", name="large", dimensions=4)
    assert len(states(tx)) == 2


@pytest.mark.parametrize(
    ("name", "dimensions", "code"),
    [("", 4, "ME008"), ("x", 0, "ME008"), ("x", 4001, "ME008"), ("large", 5, "ME009")],
)
@pytest.mark.usefixtures("ids")
def test_a_model_that_cannot_be_is_refused(tx, name, dimensions, code):
    assert refused(tx, "add_model", name=name, dimensions=dimensions).sqlstate == code
    assert set(states(tx)) == {"small", "large"}


def test_the_first_model_is_not_added_but_named(tx):
    said = refused(tx, "add_model", name="large", dimensions=4)
    assert (said.sqlstate, "use_model('large', 4)" in said.message_hint) == ("ME014", True)


@pytest.mark.usefixtures("ids")
def test_traces_are_made_batch_by_batch_and_user_by_user(tx):
    assert make_traces(tx, n=2) == [2, 1]
    tx.execute("DELETE FROM memoir.trace AS t WHERE t.model > 1")
    call(tx, "add_model", name="third", dimensions=5)
    remember(tx, "bread", user_id="bob")
    assert make_traces(tx, "third", n=2) == [2, 1]


def test_a_second_user_has_traces_of_his_own(tx):
    call(tx, "use_model", name="small", dimensions=3)
    for user in ("ada", "bob"):
        remember(tx, "tea", user_id=user)
    call(tx, "add_model", name="large", dimensions=4)
    assert [row.made for row in call(tx, "fill_model", name="large", user_id="bob")] == [1]
    counts = "SELECT user_id, count(*) FROM memoir.trace GROUP BY 1 ORDER BY 1"
    assert tx.execute(counts).fetchall() == [("ada", 1), ("bob", 2)]


def test_traces_of_one_user_are_looked_for_among_his_own(tx):
    call(tx, "use_model", name="small", dimensions=3)
    call(tx, "add_model", name="large", dimensions=4)
    missing = "SELECT FROM memoir.fill_model('large', user_id => 'mia')"
    remember(tx, "tea", user_id="mia")
    before = rows_read(tx, missing)
    for user in ("ada", "zoe"):
        remember_all(tx, (f"note {n}" for n in range(200)), user=user)
    assert rows_read(tx, missing) < before + 10


@pytest.mark.parametrize("step", ["added", "prepared", "half embedded", "embedded"])
def test_recall_answers_the_same_until_the_switch(tx, ids, step):
    questions = [{"query_text": "tea house"}, {"query_vec": "[0,1,0.2]"}]
    before = [recall(tx, user_id="ada", **question)[:3] for question in questions]
    if step != "added":
        make_traces(tx)
    if "embedded" in step:
        embed(tx, ids[: 1 if step == "half embedded" else 3], NEW[: 1 if "half" in step else 3])
    call(tx, "refresh_statistics", user_id="ada")
    assert [recall(tx, user_id="ada", **question)[:3] for question in questions] == before


def test_after_the_switch_recall_goes_by_the_new_vectors(tx, ids):
    assert nearest(tx, OLD[0]) == [ids[0]]
    switched(tx, ids)
    assert [nearest(tx, vector) for vector in NEW] == [[i] for i in ids]
    assert refused(tx, "recall", query_vec=OLD[0], user_id="ada").sqlstate == "ME003"
    assert states(tx) == {"large": ("in use", 3, 0), "small": ("ready", 3, 0)}


def test_words_are_found_as_before(tx, ids):
    call(tx, "refresh_statistics", user_id="ada")
    before = found(tx, "green house", user_id="ada")
    switched(tx, ids)
    assert found(tx, "green house", user_id="ada") == before
    call(tx, "refresh_statistics", user_id="ada")
    assert found(tx, "green house", user_id="ada") == before


def test_one_can_switch_back(tx, ids):
    switched(tx, ids)
    call(tx, "switch_model", name="small")
    assert nearest(tx, OLD[2]) == [ids[2]]


def test_a_memory_written_meanwhile_has_a_trace_of_both(tx, ids):
    new = remember(tx, "cake", embedding="[1,1,0]", user_id="ada")
    embed(tx, [new], ["[1,1,1,1]"])
    switched(tx, ids)
    assert nearest(tx, "[1,1,1,1]") == [new]
    assert states(tx)["small"] == ("ready", 4, 0)


def test_one_written_after_the_switch_waits_for_the_vector_of_the_old_model(tx, ids):
    switched(tx, ids)
    remember(tx, "cake", embedding="[1,1,0,0]", user_id="ada")
    assert states(tx) == {"large": ("in use", 4, 0), "small": ("to be filled", 3, 1)}


@pytest.mark.parametrize("filled", [0, 3])
def test_the_switch_is_refused_while_memories_are_missing(tx, ids, filled):
    if filled:
        make_traces(tx)
        embed(tx, ids[:2], NEW[:2])
    said = refused(tx, "switch_model", name="large")
    missing = 1 if filled else 3
    assert said.sqlstate == "ME014"
    assert f"it has no vector for {missing} of the memories" in said.message_primary
    assert "memoir model fill" in said.message_hint
    assert states(tx)["small"][0] == "in use"


def test_a_forced_switch_leaves_memories_to_their_words(tx, ids):
    make_traces(tx)
    call(tx, "switch_model", name="large", force=True)
    assert recall(tx, "green tea", user_id="ada").memory_ids == [ids[0]]
    waiting = call(tx, "memories_without_vector")
    assert [row.memory_id for row in waiting] == ids


@pytest.mark.usefixtures("ids")
def test_no_force_makes_memories_vanish(tx):
    said = refused(tx, "switch_model", name="large", force=True)
    assert (said.sqlstate, "fill_model('large')" in said.message_hint) == ("ME014", True)


def test_a_memory_without_any_vector_is_in_nobodys_way(tx, ids):
    remember(tx, "cake", user_id="ada")
    switched(tx, ids)
    assert states(tx)["large"] == ("in use", 3, 1)


@pytest.mark.usefixtures("ids")
def test_switching_to_the_model_in_use_changes_nothing(tx):
    call(tx, "switch_model", name="small")
    assert states(tx)["small"][0] == "in use"


def test_a_forgotten_memory_needs_no_vector_before_the_switch(tx, ids):
    make_traces(tx)
    embed(tx, ids[:2], NEW[:2])
    call(tx, "forget", memory_id=ids[2], user_id="ada")
    call(tx, "switch_model", name="large")
    assert states(tx)["large"] == ("in use", 2, 0)


@pytest.mark.parametrize("function", ["fill_model", "switch_model", "drop_model"])
@pytest.mark.usefixtures("ids")
def test_a_model_nobody_added_is_an_error(tx, function):
    assert refused(tx, function, name="lagre").sqlstate == "ME009"


def test_the_client_of_the_other_model_is_told_the_way(tx, ids):
    said = refused(tx, "use_model", name="large", dimensions=4)
    assert (said.sqlstate, "switch_model('large')" in said.message_hint) == ("ME009", True)
    switched(tx, ids)
    assert refused(tx, "use_model", name="small", dimensions=3).sqlstate == "ME009"
    assert "add_model" in refused(tx, "use_model", name="x", dimensions=3).message_hint


def test_vectors_are_checked_by_the_model_they_are_of(tx, ids):
    make_traces(tx)
    asked = {"memory_ids": ids[:1], "embeddings": ["[1,0,0]"], "user_id": "ada"}
    assert refused(tx, "set_embeddings", model="large", **asked).sqlstate == "ME003"
    assert call(tx, "set_embeddings", model="small", **asked)[0].set_embeddings == 0


def test_a_changed_text_loses_the_vectors_of_all_models(tx, ids):
    make_traces(tx)
    embed(tx, ids)
    call(tx, "update_memory", memory_id=ids[0], content="coffee is brown", user_id="ada")
    assert [row[1:] for row in states(tx).values()] == [(2, 1), (2, 1)]


def test_a_text_changed_while_the_old_vector_was_missing_loses_the_new_one(tx, ids):
    bare = remember(tx, "cake is sweet", user_id="ada")
    make_traces(tx)
    embed(tx, [*ids, bare], [*NEW, "[1,1,1,1]"])
    call(tx, "update_memory", memory_id=bare, content="bread is brown", user_id="ada")
    assert states(tx)["large"][1:] == (3, 1)


def test_an_undo_after_the_switch_leaves_the_text_without_the_old_vector(tx, ids):
    call(tx, "update_memory", memory_id=ids[0], content="tea is hot", user_id="ada")
    switched(tx, ids)
    call(tx, "undo", memory_id=ids[0], user_id="ada")
    assert recall(tx, "green", user_id="ada").memory_ids == [ids[0]]
    assert states(tx)["large"][1:] == (2, 1)


def test_a_vector_that_was_changed_before_the_switch_is_in_no_undos_way(tx, ids):
    call(tx, "update_memory", memory_id=ids[0], importance=0.1, user_id="ada")
    call(tx, "update_memory", memory_id=ids[0], embedding="[1,1,0]", user_id="ada")
    switched(tx, ids)
    undone = [call(tx, "undo", memory_id=ids[0], user_id="ada")[0].action for _ in range(3)]
    assert undone == ["undone: UPDATE", "undone: UPDATE", "undone: ADD"]


def test_an_undo_before_the_switch_brings_the_vector_back(tx, ids):
    make_traces(tx)
    call(tx, "update_memory", memory_id=ids[0], content="tea is hot", user_id="ada")
    call(tx, "undo", memory_id=ids[0], user_id="ada")
    assert states(tx)["small"][1:] == (3, 0)


def test_a_recall_as_of_before_the_switch_works_by_words(tx, ids):
    then = value(tx, "SELECT now() + interval '1 hour'")
    call(tx, "update_memory", memory_id=ids[0], content="tea is hot", user_id="ada")
    tx.execute("UPDATE memoir.revision SET created_at = %s + interval '1 hour'", (then,))
    switched(tx, ids)
    made = recall(tx, "green", query_vec=NEW[0], user_id="ada", as_of=then)
    assert made.memory_ids[0] == ids[0]


def test_what_was_forgotten_comes_back_after_the_switch(tx, ids):
    call(tx, "forget", memory_id=ids[0], user_id="ada")
    switched(tx, ids)
    call(tx, "restore", memory_id=ids[0], user_id="ada")
    assert nearest(tx, NEW[0]) == [ids[0]]


def test_a_model_is_dropped_in_batches(tx, ids):
    switched(tx, ids)
    dropped = [call(tx, "drop_model", name="small", n=2)[0].drop_model for _ in range(3)]
    assert (dropped, set(states(tx))) == ([2, 1, 0], {"large"})
    assert nearest(tx, NEW[1]) == [ids[1]]


def test_a_vector_waits_for_nobody_who_changes_a_trace_of_another_model(db, dsn):
    call(db, "use_model", name="small", dimensions=3)
    call(db, "add_model", name="large", dimensions=4)
    ids = [remember(db, text, user_id="ada") for text in TEXTS]
    db.execute("SET lock_timeout = '1s'")
    with psycopg.connect(dsn) as other:
        other.execute("SELECT FROM memoir.trace WHERE model > 1 FOR UPDATE")
        embed(db, ids, OLD, name="small")
    assert states(db)["small"] == ("in use", 3, 0)


def test_who_is_writing_leaves_nothing_behind_for_a_model_that_is_dropped(db, dsn):
    call(db, "use_model", name="small", dimensions=3)
    call(db, "add_model", name="large", dimensions=4)
    with psycopg.connect(dsn) as writer:
        remember(writer, "tea")
        assert refused(db, "drop_model", name="large").sqlstate == "ME014"
        writer.commit()
    assert [call(db, "drop_model", name="large")[0].drop_model for _ in range(2)] == [1, 0]
    assert value(db, "SELECT count(*) FROM memoir.trace") == 1


@pytest.mark.usefixtures("ids")
def test_nothing_is_written_for_a_model_that_is_being_dropped(tx):
    make_traces(tx)
    call(tx, "drop_model", name="large", n=1)
    remember(tx, "cake", user_id="ada")
    assert states(tx)["large"][0] == "being dropped"
    assert value(tx, "SELECT count(*) FROM memoir.trace WHERE model > 1") == 2
    for function in ("switch_model", "fill_model"):
        assert refused(tx, function, name="large").sqlstate == "ME014"
    assert refused(tx, "add_model", name="large", dimensions=4).sqlstate == "ME014"


@pytest.mark.usefixtures("ids")
def test_the_model_in_use_cannot_be_dropped(tx):
    assert refused(tx, "drop_model", name="small").sqlstate == "ME014"
    assert states(tx)["small"] == ("in use", 3, 0)


@pytest.mark.usefixtures("ids")
def test_dropping_the_other_keeps_word_statistics(tx):
    make_traces(tx)
    call(tx, "refresh_statistics", user_id="ada")
    call(tx, "drop_model", name="large")
    assert value(tx, "SELECT counted FROM memoir.profile WHERE user_id = 'ada'") == 3


@pytest.mark.usefixtures("ids")
def test_a_number_is_never_used_again(tx):
    call(tx, "drop_model", name="large")
    call(tx, "add_model", name="large", dimensions=5)
    assert value(tx, "SELECT max(model_id) FROM memoir.embedding_model") > 2


def test_the_vectors_of_gold_queries_go_with_their_model(tx, ids):
    gold = {"gold_set": "own", "query": "tea", "relevant_ids": ids[:1], "user_id": "ada"}
    call(tx, "gold_add", query_vec=OLD[0], **gold)
    switched(tx, ids)
    while call(tx, "drop_model", name="small")[0].drop_model:
        pass
    assert value(tx, "SELECT query_vec IS NULL AND model IS NULL FROM memoir.gold")


def test_embed_jobs_of_the_old_model_are_void(tx, ids):
    remember(tx, "cake", user_id="ada")
    call(tx, "claim", user_id="ada", n=1, worker="w")
    tx.execute("UPDATE memoir.job SET status = 'dead'")
    switched(tx, ids)
    (job,) = call(tx, "claim", user_id="ada", n=1, worker="w")
    assert job.texts == ["cake"]


@pytest.mark.parametrize("attempts", [1, 8])
def test_a_job_of_the_old_model_that_fails_after_the_switch_holds_nothing(tx, attempts):
    call(tx, "use_model", name="small", dimensions=3)
    remember(tx, TEXTS[0])
    remember(tx, TEXTS[1])
    (taken,) = claim(tx)
    tx.execute("UPDATE memoir.job SET attempts = %s", (attempts,))
    call(tx, "add_model", name="large", dimensions=4)
    make_traces(tx)
    call(tx, "switch_model", name="large")
    fail(tx, taken.job_id, worker="w1")
    assert ready(tx) == [("default", 2)]
    assert [each.texts for each in claim(tx, worker="w2")] == [list(TEXTS[:2])]


@pytest.mark.parametrize("dimensions", [256, 3072, 4000])
def test_a_long_text_goes_over_to_any_length(tx, ids, dimensions):
    words = " ".join(f"word{number}" for number in range(600))
    long = remember(tx, words, embedding="[1,1,1]", user_id="ada")
    call(tx, "add_model", name="huge", dimensions=dimensions)
    make_traces(tx, "huge")
    vectors = [str([1 / (1 + (n - d) ** 2) for n in range(dimensions)]) for d in range(4)]
    embed(tx, [*ids, long], vectors, "huge")
    call(tx, "switch_model", name="huge")
    assert [nearest(tx, vector, budget=5_000) for vector in vectors] == [[i] for i in [*ids, long]]


OWN = "SELECT ann FROM memoir.profile WHERE user_id = 'ada'"


def test_a_user_with_indexes_of_his_own_gets_new_ones(db):
    set_to(db, ann_gain=0.22)
    fill(db, 30, "ada")
    call(db, "maintain", only_user="ada")
    assert value(db, OWN) > 0
    call(db, "add_model", name="other", dimensions=8)
    make_traces(db, "other")
    db.execute(
        "UPDATE memoir.trace AS t SET embedding = o.embedding FROM memoir.trace AS o"
        " WHERE o.memory_id = t.memory_id AND o.model = 1 AND t.model > 1"
    )
    asked = {"query_text": "note7", "query_vec": wave(7), "user_id": "ada"}
    before = recall(db, **asked).memory_ids[:1]
    call(db, "switch_model", name="other")
    assert recall(db, **asked).memory_ids[:1] == before
    call(db, "maintain", only_user="ada")
    assert value(db, OWN) > 0
    assert recall(db, **asked).memory_ids[:1] == before


def test_no_memory_is_lost_that_is_written_during_the_switch(db, dsn):
    call(db, "use_model", name="small", dimensions=3)
    early = remember(db, "tea", user_id="ada")
    with psycopg.connect(dsn) as writer:
        late = remember(writer, "milk", user_id="ada")
        call(db, "add_model", name="large", dimensions=4)
        make_traces(db)
        said = refused(db, "switch_model", name="large")
        assert (said.sqlstate, said.message_hint) == ("ME014", "Nothing was changed: try again.")
        writer.commit()
    error = refused(db, "switch_model", name="large")
    assert "it has no vector for 1 of the memories" in error.message_primary
    make_traces(db)
    call(db, "switch_model", name="large")
    assert recall(db, "tea milk", user_id="ada").memory_ids == [late, early]


def test_a_switch_that_waits_for_a_user_keeps_no_writer_waiting(db, dsn):
    set_to(db, ann_gain=0.22)
    fill(db, 30, "ada")
    call(db, "maintain", only_user="ada")
    call(db, "add_model", name="other", dimensions=8)
    make_traces(db, "other")
    with psycopg.connect(dsn) as writer, ThreadPoolExecutor(1) as pool:
        writer.execute("SELECT FROM memoir.profile FOR UPDATE")
        assert refused(db, "switch_model", name="other", force=True).sqlstate == "ME014"
        # For half a second it waits; a busy machine does not see that.
        db.execute("ALTER FUNCTION memoir.switch_model SET lock_timeout = 0")
        switched = pool.submit(call, db, "switch_model", name="other", force=True)
        until_blocked(writer)
        writer.execute("SET LOCAL lock_timeout = '50ms'")
        remember(writer, "tea", user_id="ada")
        writer.commit()
        switched.result()


def test_a_trace_is_made_of_the_text_there_is_whatever_the_isolation(db, dsn):
    # Given a model that knows nothing yet, and a transaction that began before a change
    call(db, "use_model", name="small", dimensions=3)
    tea = remember(db, "tea is green", user_id="ada")
    call(db, "add_model", name="large", dimensions=4)
    with psycopg.connect(dsn) as late:
        late.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        late.execute("SELECT FROM memoir.trace")
        call(db, "update_memory", memory_id=tea, content="tea is black", user_id="ada")
        # When it makes the traces, then the old text gets none
        with pytest.raises(psycopg.errors.SerializationFailure):
            make_traces(late)


def test_writers_meet_a_switch(db, dsn):
    call(db, "use_model", name="small", dimensions=3)
    call(db, "add_model", name="large", dimensions=4)
    stop = threading.Event()
    written = []

    def write() -> None:
        with psycopg.connect(dsn, autocommit=True) as conn:
            while not stop.is_set():
                written.append(remember(conn, f"note {len(written)}", user_id="ada"))

    def switches(name: str) -> bool:
        try:
            call(db, "switch_model", name=name)
        except psycopg.Error as error:
            if error.sqlstate != "ME014":  # the writer was kept from its end for half a second
                raise
            return False
        return True

    writer = threading.Thread(target=write)
    writer.start()
    until(lambda: written)
    for name in ("large", "small") * 5:
        until(partial(switches, name))
    stop.set()
    writer.join()
    lost = "SELECT 2 * (SELECT count(*) FROM memoir.memory) - count(*) FROM memoir.trace"
    assert value(db, lost) == 0
