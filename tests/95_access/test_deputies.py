"""A worker has the rights to everybody's rows: nobody may make it use them for him.

An agent can write rows of its own into the queue, with any payload. Whatever they name, the worker
that claims them reads and changes the memory of the job's own user alone.
"""

from __future__ import annotations

import re

import psycopg
import pytest
from psycopg.types.json import Jsonb
from tests.jobs import answered, claim, enqueue
from tests.rows import add_event, call, remember, say, value

SECRET = "quuxbob"
KINDS = (
    "embed",
    "keywords",
    "extract",
    "reflect",
    "consolidate",
    "compress",
    "archive",
    "rolling_summary",
    "expand",
)


@pytest.fixture
def bobs(tx):
    """Bob's memories, in the same session as one of Ada's; their ids."""
    made = [remember(tx, f"{SECRET} owns {n} boats", user_id="bob") for n in (12, 345)]
    say(tx, "monday", f"{SECRET} said so", user_id="bob")
    spoken = {"session_id": "monday", "role": "user", "content": f"{SECRET} speaks"}
    call(tx, "message_add", **spoken, user_id="bob")
    event = call(tx, "event_add", type="alert", payload={"who": SECRET}, user_id="bob")[0].event_add
    return [*made, event]


def payload(ids, kind="compress"):
    """Everything that jobs of any kind are told, with Bob's ids."""
    texts = [str(each) for each in ids][: 2 if kind == "consolidate" else None]
    return {
        "model": 1,
        "memory_id": texts[0],
        "memory_ids": texts,
        "hashes": ["1", "2", "3"],
        "session_id": "monday",
        "until_turn": 9,
        "listed": texts,
        "query": "boats",
        "event_ids": texts,
        "from": "2000-01-01",
        "until": "2100-01-01",
        "user_id": "bob",
    }


def answers(ids):
    """Answers that name Bob's memories, in every form a kind of job takes."""
    first, second, _ = map(str, ids)
    memory = {"kind": "fact", "content": "x", "subject": None, "data": []}
    change = {"action": "UPDATE", "memory_id": first, **memory, "importance": 0.5, "reason": "x"}
    whole = {**memory, "importance": 1, "confidence": 1}
    return (
        {"keywords": [{"word": "x", "weight": 1}]},
        {"memories": [whole]},
        {"decisions": [change]},
        {"action": "merge", "content": "x", "reason": "x"},
        {"memories": [{"content": "x", "importance": 1, "source_ids": [first, second]}]},
        {"summary": "x", "memories": []},
        {"summary": "x"},
        {"core_keywords": ["x"], "synonyms": [], "related_concepts": []},
    )


def digest(conn):
    """All that is stored of Bob."""
    return [
        value(conn, f"SELECT md5(string_agg(x::text, ',' ORDER BY x::text)) FROM {name} AS x"
                    " WHERE user_id = 'bob'")
        for (name,) in conn.execute("SELECT memoir._user_tables()::text").fetchall()
    ]  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_a_job_of_ada_that_names_bobs_memories_gets_none_of_them(tx, become, bobs, kind):
    before = digest(tx)
    for answer in answers(bobs):
        become("worker" if kind == "embed" else "agent", "ada").execute(
            "INSERT INTO memoir.job (user_id, kind, payload) VALUES ('ada', %s, %s)",
            (kind, Jsonb(payload(bobs, kind))),
        )
        worker = become("worker")
        claimed = claim(worker, user_id="ada")
        assert SECRET not in str(claimed)
        for job in claimed:
            given = {"job_id": job.job_id, "user_id": "ada", "worker": "w1"}
            call(worker, "finish", **given, answer=Jsonb(answer), embeddings=["[1,2]"])
        errors = worker.execute("SELECT error FROM memoir.job WHERE user_id = 'ada'").fetchall()
        assert SECRET not in str(errors)
        worker.execute("DELETE FROM memoir.uncompared WHERE user_id = 'ada'")
        become(None)
        tx.execute("DELETE FROM memoir.job")
    assert digest(tx) == before


def test_an_agent_cannot_write_into_the_queue_of_bob(become, bobs):
    agent = become("agent", "ada")
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        agent.execute(
            "INSERT INTO memoir.job (user_id, kind, payload) VALUES ('bob', 'keywords', %s)",
            (Jsonb(payload(bobs)),),
        )


def test_nor_a_job_that_is_read_for_everybody_who_looks_for_work(become):
    agent = become("agent", "ada")
    with pytest.raises(psycopg.errors.InsufficientPrivilege, match="no_embed"):
        agent.execute(
            "INSERT INTO memoir.job (user_id, kind, payload) VALUES ('ada', 'embed', '{}')"
        )


def test_nor_keep_a_worker_busy_with_more_ids_than_a_job_takes(become):
    agent = become("agent", "ada")
    agent.execute(
        "INSERT INTO memoir.job (user_id, kind, payload) SELECT 'ada', k,"
        " jsonb_build_object('memory_ids', l, 'event_ids', l) FROM unnest(%s::text[]) AS k,"
        " (SELECT jsonb_agg(n::text) AS l FROM generate_series(1, 10001) AS n) AS ids",
        (["archive", "compress", "consolidate"],),
    )
    worker = become("worker")
    assert claim(worker, user_id="ada") == []
    (errors,) = worker.execute("SELECT string_agg(error, ' ' ORDER BY kind) FROM memoir.job")
    assert re.findall(r"at most \d+", errors[0]) == ["at most 10000", "at most 100", "at most 2"]


def test_nor_hand_a_worker_texts_that_no_row_could_hold(become):
    agent = become("agent", "ada")
    remember(agent, "Ada skis", user_id="ada")
    agent.execute("UPDATE memoir.memory SET content = repeat('x', 1000001)")
    (job,) = claim(become("worker"), user_id="ada")
    assert list(map(len, job.texts)) == [1_000_000]


def test_an_agent_cannot_stop_the_queue_by_a_user_that_nobody_can_name(become):
    agent = become("agent", " ")
    with pytest.raises(psycopg.errors.CheckViolation):
        agent.execute(
            "INSERT INTO memoir.job (user_id, kind, payload) VALUES (' ', 'expand', '{}')"
        )


@pytest.mark.parametrize(
    ("ids", "chosen"), [("{1}", "{-2147483648}"), ("{-9223372036854775808}", "{1}")]
)
def test_nor_the_reading_of_logs_by_a_number_that_has_no_absolute_value(become, ids, chosen):
    agent = become("agent", "ada")
    with pytest.raises(psycopg.errors.CheckViolation):
        agent.execute(
            "INSERT INTO memoir.retrieval (user_id, created_at, mode, query, ids, kinds, score,"
            " weights, chosen, token_used, token_budget, elapsed_ms)"
            " VALUES ('ada', now(), 'plan', '', %s, '{3}', '{1}', '{1,1,1}', %s, 1, 1, 1)",
            (ids, chosen),
        )


def test_nor_by_two_events_of_one_id(become):
    agent = become("agent", "ada")
    event = add_event(agent, "alert", {"x": 1}, user_id="ada")
    agent.execute(
        "INSERT INTO memoir.event (user_id, event_id, type, payload, created_at, line, cost,"
        " terms, term_count) SELECT user_id, event_id, type, payload, now() - interval '1 day',"
        " line, cost, terms, term_count FROM memoir.event"
    )
    agent.execute(
        "INSERT INTO memoir.retrieval (user_id, created_at, mode, query, ids, kinds, score,"
        " weights, chosen, token_used, token_budget, elapsed_ms)"
        " VALUES ('ada', now(), 'plan', '', ARRAY[-%s::bigint], '{3}', '{1}', '{1,1,1}', '{1}',"
        " 1, 1, 1)",
        (event,),
    )
    (logged,) = become("admin").execute("SELECT payload FROM memoir.retrieval_log").fetchall()
    assert logged[0]["injected"][0]["event_id"] == str(event)


def work(ids, events):
    """By kind: the payload of a job about Ada's memories, and an answer to it."""
    texts = [str(each) for each in ids]
    change = {"action": "UPDATE", "memory_id": texts[0], "kind": "fact", "content": "Ada skis"}
    unsaid = {"subject": None, "data": [], "importance": 1}
    new = {"kind": "fact", "content": "Ada sails", **unsaid}
    return {
        "keywords": ({"memory_id": texts[0]}, {"keywords": [{"word": "x", "weight": 1}]}),
        "extract": ({"session_id": "s"}, {"memories": [{**new, "confidence": 1}]}),
        "reflect": ({"session_id": "s"}, {"decisions": [{**change, **unsaid, "reason": "x"}]}),
        "consolidate": (
            {"memory_ids": texts[:2]},
            {"action": "merge", "content": "Ada skis", "reason": "x"},
        ),
        "compress": (
            {"memory_ids": texts},
            {"memories": [{"content": "Ada", "importance": 1, "source_ids": texts}]},
        ),
        "archive": (
            {"event_ids": [str(events)]},
            {"summary": "x", "memories": [{"kind": "fact", "content": "y", "importance": 1}]},
        ),
        "rolling_summary": ({}, {"summary": "x"}),
        "expand": (
            {"query": "boats"},
            {"core_keywords": ["x"], "synonyms": [], "related_concepts": []},
        ),
    }


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "embed"])
def test_a_worker_has_the_rights_that_each_kind_of_job_needs(tx, become, kind):
    ids = [remember(tx, f"Ada owns {n} boats", user_id="ada") for n in (12, 345, 6789)]
    call(tx, "message_add", session_id="s", role="user", content="boats", user_id="ada")
    event = call(tx, "event_add", type="alert", payload={"x": 1}, user_id="ada")[0].event_add
    payload, answer = work(ids, event)[kind]
    enqueue(tx, kind, payload=payload, user_id="ada")
    worker = become("worker")
    (claimed,) = claim(worker, user_id="ada", kinds=[kind])
    assert answered(worker, claimed, answer) == "done"
