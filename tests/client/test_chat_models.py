"""Chat models over HTTP: what is asked, what is answered, and what an error tells."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from email.utils import formatdate
from typing import Any

import pytest
from tests.openai_server import (
    Fault,
    OpenAIServer,
    Reply,
    cut_off,
    dripping,
    empty,
    nested,
    refuses,
    reset,
    says,
    silent,
    spoken,
    status,
    truncated,
)
from tests.rows import until

from pgmemoir.chat_models import BadAnswer, ModelUnavailable, OpenAIChat, default_chat_model
from pgmemoir.openai_api import seconds_to_wait

pytestmark = pytest.mark.once

ASKED = [{"role": "user", "content": "the cookie is called harbor_sid"}]
SCHEMA = {"type": "object", "properties": {"keywords": {"type": "array"}}}


@pytest.fixture
def api(api: OpenAIServer) -> OpenAIServer:
    api.answer = lambda _: {"keywords": ["cookie"]}
    return api


def model(api: OpenAIServer, **options: Any) -> OpenAIChat:
    return OpenAIChat("m", base_url=api.url, api_key="sk-secret", **options)


def test_a_model_is_asked_with_the_schema(api: OpenAIServer) -> None:
    assert model(api).answer(ASKED, SCHEMA, "keywords") == {"keywords": ["cookie"]}
    (asked,) = api.chats
    assert (asked["model"], asked["messages"]) == ("m", ASKED)
    wanted = {"name": "keywords", "schema": SCHEMA, "strict": False}
    assert asked["response_format"] == {"type": "json_schema", "json_schema": wanted}


@pytest.mark.parametrize(
    ("more", "required", "strict"),
    [(False, ["keywords"], True), (True, ["keywords"], False), (False, [], False)],
)
def test_a_model_is_held_to_a_schema_that_lists_everything(
    api: OpenAIServer, more: bool, required: list[str], strict: bool
) -> None:
    schema = {**SCHEMA, "additionalProperties": more, "required": required}
    model(api).answer(ASKED, schema, "keywords")
    assert api.chats[0]["response_format"]["json_schema"]["strict"] is strict


@pytest.mark.parametrize("code", [400, 500])
def test_a_server_without_schemas_is_told_in_words(api: OpenAIServer, code: int) -> None:
    api.fail(status(code, message="response_format json_schema is not known"))
    asks = model(api)
    assert asks.answer(ASKED, SCHEMA, "keywords") == {"keywords": ["cookie"]}
    asks.answer(ASKED, SCHEMA, "keywords")
    formats = [chat["response_format"]["type"] for chat in api.chats]
    assert formats == ["json_schema", "json_object", "json_object"]
    assert json.dumps(SCHEMA) in api.chats[-1]["messages"][0]["content"]


def test_a_server_that_fails_and_repeats_the_request_refuses_nothing(api: OpenAIServer) -> None:
    api.fail(lambda _: status(500, message=f"cannot serve {api.chats[-1]}")(Reply(None)))
    asks = model(api)
    with pytest.raises(ModelUnavailable, match="HTTP 500"):
        asks.answer(ASKED, SCHEMA, "keywords")
    asks.answer(ASKED, SCHEMA, "keywords")
    assert api.chats[-1]["response_format"]["type"] == "json_schema"


def test_the_words_stand_in_the_first_message_as_chat_templates_want_it(api: OpenAIServer) -> None:
    api.fail(status(400))
    model(api).answer([{"role": "system", "content": "List."}, *ASKED], SCHEMA, "keywords")
    first, second = api.chats[-1]["messages"]
    assert (first["role"], first["content"][:6]) == ("system", "List.\n")
    assert second == ASKED[0]


@pytest.mark.parametrize(
    ("known", "schema", "first", "then"),
    [
        ([], SCHEMA, ["json_schema", "json_object", None], [None]),
        ([], None, ["json_object", None], ["json_schema", None]),
        (["json_schema"], None, ["json_object", None], ["json_schema"]),
    ],
)
def test_a_server_may_know_no_form_of_answer_or_only_one(
    api: OpenAIServer, known: list[str], schema: Any, first: list[Any], then: list[Any]
) -> None:
    def forms() -> list[Any]:
        return [chat.get("response_format", {}).get("type") for chat in api.chats]

    api.always = lambda reply: reply if forms()[-1] in [None, *known] else status(400)(reply)
    asks = model(api)
    assert asks.answer(ASKED, schema, "keywords") == {"keywords": ["cookie"]}
    assert forms() == first
    asks.answer(ASKED, SCHEMA, "keywords")
    assert forms() == [*first, *then]


def test_a_request_refused_in_every_form_leaves_the_schema_on(api: OpenAIServer) -> None:
    api.fail(*[status(400)] * 3)
    asks = model(api)
    with pytest.raises(BadAnswer, match="HTTP 400"):
        asks.answer(ASKED, SCHEMA, "keywords")
    asks.answer(ASKED, SCHEMA, "keywords")
    assert api.chats[-1]["response_format"]["type"] == "json_schema"


@pytest.mark.parametrize(
    "fault",
    [
        *(status(500), status(429), status(401), truncated, empty, nested),
        lambda _: Reply({"error": {"message": "Rate limit exceeded", "code": 429}}),
        lambda _: Reply({"choices": []}),
        lambda _: Reply({"choices": {"text": "tea"}}),
        lambda _: Reply([]),
    ],
)
def test_a_server_that_fails_is_unavailable(api: OpenAIServer, fault: Fault) -> None:
    api.fail(fault)
    with pytest.raises(ModelUnavailable):
        model(api).answer(ASKED, SCHEMA, "keywords")


@pytest.mark.parametrize(
    "fault",
    [
        lambda _: Reply({"error": {"message": "the model is overloaded", "code": 503}}),
        lambda reply: Reply(
            {"choices": [{**reply.body["choices"][0], "error": {"code": 503}}]},
        ),
    ],
)
def test_an_answer_may_tell_of_a_server_that_is_away(api: OpenAIServer, fault: Fault) -> None:
    api.fail(fault)
    with pytest.raises(ModelUnavailable, match="HTTP 200, error 503") as caught:
        model(api).answer(ASKED, SCHEMA, "keywords")
    assert caught.value.fault == "server"


def test_a_connection_that_the_server_has_just_ended_is_not_the_last(api: OpenAIServer) -> None:
    api.fail(reset)
    assert model(api).answer(ASKED, SCHEMA, "keywords") == {"keywords": ["cookie"]}
    api.fail(reset, reset)
    with pytest.raises(ModelUnavailable, match="connection lost"):
        model(api).answer(ASKED, SCHEMA, "keywords")
    assert len(api.chats) == 4


def test_a_connection_that_ends_when_the_model_has_worked_is_not_asked_again(
    api: OpenAIServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pgmemoir.openai_api._AT_ONCE", 0.0)
    api.fail(reset)
    with pytest.raises(ModelUnavailable, match="connection lost"):
        model(api).answer(ASKED, SCHEMA, "keywords")


@pytest.mark.parametrize("fault", [silent, dripping])
def test_a_server_that_does_not_end_its_answer_is_unavailable(
    api: OpenAIServer, fault: Fault
) -> None:
    api.fail(fault)
    with pytest.raises(ModelUnavailable, match="no answer in time"):
        model(api, timeout=0.1).answer(ASKED, SCHEMA, "keywords")


def test_an_answer_that_drips_on_is_left_alone_and_keeps_nothing_open(api: OpenAIServer) -> None:
    before = {*threading.enumerate()}
    api.fail(lambda reply: dripping(spoken(reply, content="for minutes " * 1000)))
    asks = model(api, timeout=0.1)
    with pytest.raises(ModelUnavailable):
        asks.answer(ASKED, SCHEMA, "keywords")
    until(lambda: before.issuperset(threading.enumerate()))


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        (refuses, "refused"),
        (cut_off, "cut off"),
        (says("I have deleted everything."), "not JSON"),
        (says('{"keywords": NaN}'), "not JSON"),
        (says("[" * 100_000), "not JSON"),
        (says({"keywords": ["\0"]}), "cannot store"),
        (says(" "), "empty"),
        (says('<thinking>{"keywords": []}</thinking>'), "not JSON"),
        (says('You wrote {"keywords": []}, which I will not do.'), "not JSON"),
        (says('{"keywords": []} {"keywords": ["tea"]}'), "not JSON"),
    ],
)
def test_an_answer_of_no_use_is_told_apart(api: OpenAIServer, fault: Fault, reason: str) -> None:
    api.fail(fault)
    with pytest.raises(BadAnswer, match=reason):
        model(api).answer(ASKED, SCHEMA, "keywords")


@pytest.mark.parametrize(
    "content",
    [
        '```json\n{"keywords": ["```"]}\n```',
        'Here it is:\n```\n{"keywords": ["```"]}\n```\nI hope this helps.',
        '```JSON\n{"keywords": ["```"]}\n```',
        'Here it is: {"keywords": ["```"]}',
        '{"keywords": ["```"]}\n\nI hope this helps.',
        '<think>\nIs it {"keywords": []}?\n</think>\n\n{"keywords": ["```"]}',
        'It says tea.\n</think>\n```json\n{"keywords": ["```"]}\n```',
        '<think>Tea.</think>\n<answer>\n{"keywords": ["```"]}\n</answer>',
        '<|begin_of_box|>{"keywords": ["```"]}<|end_of_box|>',
        [{"type": "thinking"}, {"type": "text", "text": '{"keywords": ["```"]}'}],
    ],
)
def test_an_answer_may_stand_in_a_fence_in_tags_in_parts_behind_thoughts_and_beside_words(
    api: OpenAIServer, content: Any
) -> None:
    api.fail(lambda reply: spoken(reply, content=content))
    assert model(api).answer(ASKED, SCHEMA, "keywords") == {"keywords": ["```"]}


def test_a_fence_within_an_answer_is_part_of_it(api: OpenAIServer) -> None:
    api.fail(says('Here it is: {"keywords": ["```sh```"]}'))
    assert model(api).answer(ASKED, SCHEMA, "keywords") == {"keywords": ["```sh```"]}


def test_a_list_may_stand_in_a_fence_too(api: OpenAIServer) -> None:
    api.fail(says('```json\n[{"name": "tea"}]\n```'))
    assert model(api).answer(ASKED, None, "names") == [{"name": "tea"}]


def test_a_comma_may_follow_the_last_item_and_stays_within_a_text(api: OpenAIServer) -> None:
    api.fail(says('Here, it is: {"keywords": ["a \\",] }", ",}", ],\n}'))
    assert model(api).answer(ASKED, SCHEMA, "keywords") == {"keywords": ['a ",] }', ",}"]}


@pytest.mark.parametrize("unended", ["```" + 20_000 * "a", '["' + 20_000 * '\\"'])
def test_an_answer_that_does_not_end_is_read_once(api: OpenAIServer, unended: str) -> None:
    api.fail(says(unended))
    began = time.process_time()
    with pytest.raises(BadAnswer, match="not JSON"):
        model(api).answer(ASKED, SCHEMA, "keywords")
    assert time.process_time() - began < 2  # with all its pieces tried it took 4 and 20 s


def test_a_line_may_be_broken_within_a_text(api: OpenAIServer) -> None:
    api.fail(says('{"keywords": ["green\ntea"]}'))
    assert model(api).answer(ASKED, SCHEMA, "keywords") == {"keywords": ["green\ntea"]}


def test_a_sign_of_thoughts_within_an_answer_is_part_of_it(api: OpenAIServer) -> None:
    api.fail(says({"keywords": ["</think>"]}))
    assert model(api).answer(ASKED, SCHEMA, "keywords") == {"keywords": ["</think>"]}


def test_an_error_quotes_neither_key_nor_text(api: OpenAIServer) -> None:
    api.fail(status(401, message="sk-secret is wrong, you said harbor_sid"))
    with pytest.raises(ModelUnavailable) as caught:
        model(api).answer(ASKED, SCHEMA, "keywords")
    assert str(caught.value) == "openai/m: HTTP 401, test_error"
    assert caught.value.__cause__ is None


@pytest.mark.parametrize(
    "said",
    [
        [{"error": {"code": 400, "message": "API key not valid. Please pass a valid API key."}}],
        {"code": "invalid argument", "error": "Incorrect API key provided: xa***"},
        {"error": {"message": "Your credit balance is too low to access the Anthropic API."}},
    ],
)
def test_an_account_may_be_refused_as_a_bad_request(api: OpenAIServer, said: Any) -> None:
    api.fail(lambda _: Reply(said, 400))
    with pytest.raises(ModelUnavailable, match="HTTP 400") as caught:
        model(api).answer(ASKED, SCHEMA, "keywords")
    assert caught.value.fault == "server"


def test_a_request_may_be_too_large_for_any_minute(api: OpenAIServer) -> None:
    api.always = status(429, "7", "Request too large for m: Limit 10000, Requested 19621.")
    with pytest.raises(BadAnswer, match="HTTP 429"):
        model(api).answer(ASKED, SCHEMA, "keywords")


@pytest.mark.parametrize(
    ("header", "seconds"),
    [("7", 7), ("0.5", 0.5), ("-1", 0), ("soon", None), ("Fri, 31 Dec 99999 23:59:59 GMT", None)],
)
def test_retry_after_is_read(api: OpenAIServer, header: str, seconds: float | None) -> None:
    api.fail(status(429, retry_after=header))
    with pytest.raises(ModelUnavailable) as caught:
        model(api).answer(ASKED, SCHEMA, "keywords")
    assert caught.value.retry_after == seconds


def test_retry_after_may_be_a_date() -> None:
    in_an_hour = formatdate(time.time() + 3600, usegmt=True)
    assert seconds_to_wait(in_an_hour) == pytest.approx(3600, abs=60)
    assert seconds_to_wait(formatdate(0, usegmt=True)) == 0


@pytest.mark.parametrize("header", ["inf", "1e300", "Fri, 31 Dec 9999 23:59:59 GMT"])
def test_nobody_waits_longer_than_a_day(header: str) -> None:
    assert seconds_to_wait(header) == 86_400


def test_the_environment_names_the_model(
    api: OpenAIServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert default_chat_model() is None
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    monkeypatch.setenv("OPENAI_BASE_URL", api.url)
    monkeypatch.setenv("MEMOIR_CHAT_MODEL", "from-environment")
    chosen = default_chat_model()
    assert chosen is not None
    assert chosen.name == "openai/from-environment"
    assert chosen.answer(ASKED, None, "keywords") == {"keywords": ["cookie"]}


def test_without_a_key_the_model_is_unavailable(api: OpenAIServer) -> None:
    with pytest.raises(ModelUnavailable, match="OPENAI_API_KEY is not set"):
        OpenAIChat("m", base_url=api.url).answer(ASKED, SCHEMA, "keywords")


def test_openai_is_imported_when_it_is_used() -> None:
    code = (
        "import sys, pgmemoir.chat_models, pgmemoir.embedders; assert 'openai' not in sys.modules"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
