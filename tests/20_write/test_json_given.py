"""JSON text that a driver has encoded once more: the object or the array in it is meant."""

from __future__ import annotations

import json

import pytest
from psycopg.types.json import Jsonb
from tests.jobs import add_kind, claim, enqueue
from tests.rows import call, refused, remember, value


def twice(given: object) -> Jsonb:
    return Jsonb(json.dumps(given))


def test_the_data_of_a_memory_is_the_object_and_its_secrets_are_redacted(tx):
    remember(tx, "tea", data=twice({"shop": "Oslo", "password": "hunter22"}))
    assert value(tx, "SELECT data FROM memoir.memory") == {
        "shop": "Oslo",
        "password": "[redacted:password]",
    }


def test_many_memories_may_come_as_text_and_their_data_too(tx):
    call(tx, "remember_many", memories=twice([{"content": "tea", "data": '{"shop": "Oslo"}'}]))
    assert value(tx, "SELECT data FROM memoir.memory") == {"shop": "Oslo"}


def test_a_change_of_data(tx):
    call(tx, "update_memory", memory_id=remember(tx, "tea"), data=twice({"shop": "Oslo"}))
    assert value(tx, "SELECT data FROM memoir.memory") == {"shop": "Oslo"}


def test_the_payload_of_an_event_is_the_object(tx):
    call(tx, "event_add", type="alert", payload=twice({"disk": 91}))
    assert value(tx, "SELECT line FROM memoir.event") == '[alert] {"disk": 91}'


@pytest.mark.parametrize("said", ["disk full", "91", "[disk] full", '{"disk": '])
def test_another_text_is_a_text(tx, said):
    call(tx, "event_add", type="alert", payload=Jsonb(said))
    assert value(tx, "SELECT payload FROM memoir.event") == said


def test_settings_sessions_and_messages(tx):
    call(tx, "set_settings", settings=twice({"confirm": True}))
    call(tx, "session_start", session_id="s", data=twice({"room": 1}))
    call(tx, "message_add", session_id="s", role="user", content="hi", data=twice({"n": 1}))
    assert value(tx, "SELECT settings FROM memoir.profile") == {"confirm": True}
    assert value(tx, "SELECT data FROM memoir.session") == {"room": 1}
    assert value(tx, "SELECT data FROM memoir.message") == {"n": 1}


def test_decisions(tx):
    call(tx, "apply_decisions", decisions=twice([{"action": "ADD", "content": "tea"}]))
    assert value(tx, "SELECT content FROM memoir.memory") == "tea"


def test_a_job_and_the_answer_of_its_model(tx):
    add_kind(tx)
    enqueue(tx, payload=twice({"fetch": "milk"}))
    assert value(tx, "SELECT payload FROM memoir.job") == {"fetch": "milk"}
    memory_id = remember(tx, "tea")
    job_id = enqueue(tx, kind="keywords", payload={"memory_id": str(memory_id)})
    claim(tx, kinds=["keywords"])
    answer = twice({"keywords": [{"word": "leaf", "weight": 0.9}]})
    (said,) = call(tx, "finish", job_id=job_id, answer=answer, worker="w1")
    assert said.finish == "done"


def test_a_text_that_is_no_object_is_refused_as_before(tx):
    diagnosis = refused(tx, "remember", content="tea", data=Jsonb("Oslo"))
    assert diagnosis.message_primary == 'data must be a JSON object, not "Oslo"'
