"""wordllama from its wheel, and OpenAI's protocol against a server on this machine."""

from __future__ import annotations

import asyncio
import logging
import math
import socket
import ssl
from collections.abc import Callable, Iterator
from typing import Any

import psycopg
import pytest
from tests.client.conftest import needs_wordllama
from tests.openai_server import (
    Fault,
    OpenAIServer,
    Reply,
    as_numbers,
    dripping,
    duplicate_ids,
    nested,
    reset,
    silent,
    status,
    truncated,
)
from tests.rows import without_vector

from pgmemoir import (
    AsyncMemoir,
    DimensionMismatch,
    EmbedderUnavailable,
    Memoir,
    MemoirError,
    OpenAIEmbedder,
    WordLlamaEmbedder,
    default_embedder,
    embedders,
    forks,
    openai_api,
)
from pgmemoir.embedders import TextsRefused

pytestmark = pytest.mark.once


class Api(OpenAIServer):
    """A server whose vectors tell the length of their text."""

    def __init__(self) -> None:
        super().__init__()
        self.embed = lambda text, _: [float(len(text)), 1.0, 0.0]

    def embedder(self, model: str = "custom", **options: Any) -> OpenAIEmbedder:
        return OpenAIEmbedder(model, base_url=self.url, api_key="none", retries=0, **options)


@pytest.fixture
def api() -> Iterator[Api]:
    with Api() as made:
        yield made


@pytest.fixture(scope="module")
def wordllama() -> WordLlamaEmbedder:
    pytest.importorskip("wordllama")
    return WordLlamaEmbedder()


def closeness(one: list[float], other: list[float]) -> float:
    return sum(a * b for a, b in zip(one, other, strict=True))


def test_wordllama_gives_normalised_vectors(wordllama: WordLlamaEmbedder) -> None:
    (vector,) = wordllama.embed(["the deploy failed"])
    assert len(vector) == wordllama.dimensions
    assert math.isclose(closeness(vector, vector), 1, abs_tol=1e-5)


@needs_wordllama
def test_wordllama_loads_without_a_network(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a network connection")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    embedders._wordllama.cache_clear()
    assert any(WordLlamaEmbedder().embed(["offline"])[0])


@needs_wordllama
def test_a_process_loads_wordllama_once(monkeypatch: pytest.MonkeyPatch) -> None:
    WordLlamaEmbedder().embed(["loads it"])
    monkeypatch.setattr("wordllama.WordLlama.load", None)
    assert any(WordLlamaEmbedder().embed(["has it"])[0])


def test_wordllama_knows_chinese(wordllama: WordLlamaEmbedder) -> None:
    question, near, far = wordllama.embed(["认证失败", "authentication error", "banana bread"])
    assert closeness(question, near) > closeness(question, far) + 0.1


def test_wordllama_gives_zeros_for_blank_texts(wordllama: WordLlamaEmbedder) -> None:
    blank, text, newline = wordllama.embed(["", "text", " \n"])
    assert not any(blank)
    assert any(text)
    assert not any(newline)


def test_wordllama_reads_the_first_4000_characters(wordllama: WordLlamaEmbedder) -> None:
    long, cut = wordllama.embed(["好的" * 500_000, "好的" * 2000])
    assert long == pytest.approx(cut)


@needs_wordllama
def test_wordllama_leaves_the_logging_of_the_application_alone() -> None:
    before = list(logging.getLogger().handlers), logging.getLogger().level
    embedders._wordllama.cache_clear()
    WordLlamaEmbedder().embed(["quiet"])
    assert (list(logging.getLogger().handlers), logging.getLogger().level) == before


def test_openai_is_asked_for_base64(api: Api) -> None:
    assert api.embedder().embed(["four", "eleven char"]) == [[4, 1, 0], [11, 1, 0]]
    expected = {"input": ["four", "eleven char"], "model": "custom", "encoding_format": "base64"}
    assert api.embeddings == [expected]


def test_a_server_that_answers_with_numbers_all_the_same_is_understood(api: Api) -> None:
    api.fail(as_numbers)
    assert api.embedder().embed(["four", "eleven char"]) == [[4, 1, 0], [11, 1, 0]]


def test_a_server_that_has_nothing_in_base64_is_asked_for_numbers(api: Api) -> None:
    api.fail(lambda reply: Reply({**reply.body, "data": []}))
    embedder = api.embedder()
    for _ in range(2):
        assert embedder.embed(["four"]) == [[4, 1, 0]]
    formats = [request["encoding_format"] for request in api.embeddings]
    assert formats == ["base64", "float", "float"]


def test_two_threads_may_find_that_at_once(api: Api) -> None:
    embedder = api.embedder()

    def late(reply: Reply) -> Reply:
        embedder.embed(["another"])
        return Reply({**reply.body, "data": []})

    api.fail(late)
    api.fail(lambda reply: Reply({**reply.body, "data": []}))
    assert embedder.embed(["four"]) == [[4, 1, 0]]


def test_openai_learns_the_dimensions_of_an_unknown_model(api: Api) -> None:
    embedder = api.embedder()
    assert embedder.dimensions == 0
    embedder.embed(["x"])
    assert (embedder.name, embedder.dimensions) == ("openai/custom", 3)


def test_openai_is_asked_for_the_dimensions_that_were_chosen(api: Api) -> None:
    api.embedder(dimensions=3).embed(["x"])
    assert api.embeddings[0]["dimensions"] == 3


def test_answers_out_of_order_are_put_in_order(api: Api) -> None:
    api.fail(lambda reply: Reply({**reply.body, "data": reply.body["data"][::-1]}))
    assert api.embedder().embed(["a", "bb", "ccc"]) == [[1, 1, 0], [2, 1, 0], [3, 1, 0]]


def test_many_texts_are_sent_in_batches(api: Api) -> None:
    vectors = api.embedder().embed(["x"] * 600)
    assert [len(request["input"]) for request in api.embeddings] == [256, 256, 88]
    assert len(vectors) == 600


def test_long_texts_are_sent_in_smaller_batches(api: Api) -> None:
    api.embedder().embed(["x" * 10_000] * 50)
    assert [len(request["input"]) for request in api.embeddings] == [37, 13]
    assert len(api.embeddings[0]["input"][0]) == 4000


def test_a_server_that_takes_few_texts_at_once_gets_as_many(api: Api) -> None:
    api.always = lambda reply: status(413)(reply) if len(reply.body["data"]) > 10 else reply
    embedder = api.embedder()
    texts = ["x" * length for length in range(1, 41)]
    for _ in range(2):
        assert embedder.embed(texts) == [[length, 1, 0] for length in range(1, 41)]
    sizes = [len(request["input"]) for request in api.embeddings]
    assert sizes == [40, 20, 10, 10, 10, 10, 10, 10, 10, 10]


def test_one_text_that_is_refused_makes_no_requests_smaller(api: Api) -> None:
    embedder = api.embedder()
    api.always = lambda reply: status(400)(reply) if "bad" in api.embeddings[-1]["input"] else reply
    with pytest.raises(TextsRefused, match="HTTP 400") as caught:
        embedder.embed(["a", "bad", "", "cc"])
    first, bad, *others = caught.value.answers
    assert (first, bad.fault, others) == ([1, 1, 0], "request", [[0, 0, 0], [2, 1, 0]])
    embedder.embed(["a"] * 100)
    assert len(api.embeddings[-1]["input"]) == 100


def test_a_server_that_refuses_any_text_is_not_asked_for_each(api: Api) -> None:
    embedder = api.embedder()
    api.always = status(400)
    with pytest.raises(
        EmbedderUnavailable, match="HTTP 400, test_error, whatever the text"
    ) as caught:
        embedder.embed(["a", "b", "c", "d"])
    assert (caught.value.fault, len(api.embeddings)) == ("settings", 5)
    api.always = None
    embedder.embed(["a"])
    api.fail(status(400))
    with pytest.raises(EmbedderUnavailable, match=r"HTTP 400, test_error$"):
        embedder.embed(["bad"])


@pytest.mark.parametrize(
    ("refused", "kept"),
    [
        (lambda asked: asked["encoding_format"] == "base64", {"dimensions": 3}),
        (lambda asked: "dimensions" in asked, {}),
    ],
)
def test_a_server_that_refuses_a_form_is_asked_in_another(
    api: Api, refused: Callable[[Any], bool], kept: dict[str, int]
) -> None:
    api.always = lambda reply: status(400)(reply) if refused(api.embeddings[-1]) else reply
    embedder = api.embedder(dimensions=3)
    assert embedder.embed(["four", "eleven char"]) == [[4, 1, 0], [11, 1, 0]]
    asked = len(api.embeddings)
    assert embedder.embed(["four"]) == [[4, 1, 0]]
    assert len(api.embeddings) == asked + 1
    last = api.embeddings[-1]
    assert ({"dimensions": last["dimensions"]} if "dimensions" in last else {}) == kept


@pytest.mark.parametrize(
    "fault", [status(400), status(500, message="input (257 tokens) is too large to process")]
)
def test_a_text_that_is_too_long_for_a_server_goes_by_its_beginning(api: Api, fault: Fault) -> None:
    def short(reply: Reply) -> Reply:
        return fault(reply) if any(len(s) > 256 for s in api.embeddings[-1]["input"]) else reply

    api.always = short
    vectors = api.embedder().embed(["four", "长" * 4000, "eleven char", "s" * 300])
    assert vectors == [[4, 1, 0], [250, 1, 0], [11, 1, 0], [150, 1, 0]]


def test_what_was_too_long_for_a_server_is_not_tried_again_and_again(api: Api) -> None:
    most = 600
    texts = ["four", *["s" * 4000] * 5, "eleven char"]

    def short(reply: Reply) -> Reply:
        long = any(len(text) > most for text in api.embeddings[-1]["input"])
        return status(400)(reply) if long else reply

    api.always = short
    embedder = api.embedder()
    wanted = [[4, 1, 0], *[[500, 1, 0]] * 5, [11, 1, 0]]
    assert embedder.embed(texts) == wanted
    asked = len(api.embeddings)
    assert embedder.embed(texts) == wanted
    # A refusal and a vector for each long one; the others are not asked for again.
    assert len(api.embeddings) - asked == 2 * 5 + 2
    most = 4000  # it was a word, not the length: nothing is cut for good
    assert [embedder.embed(texts[1:2])[0][0] for _ in range(3)] == [1000, 2000, 4000]


def test_a_text_that_is_refused_for_what_it_says_cuts_no_other(api: Api) -> None:
    refused = Reply({"error": {"message": "refused", "code": "content_filter"}}, 400)
    api.always = lambda reply: refused if "bad" in str(api.embeddings[-1]["input"]) else reply
    embedder = api.embedder()
    assert embedder.embed(["four", "s" * 300 + "bad"]) == [[4, 1, 0], [151, 1, 0]]
    assert embedder.embed(["s" * 4000]) == [[4000, 1, 0]]


@pytest.mark.parametrize("left_out", [{0}, {0, 1, 2}])
def test_an_index_may_be_left_out(api: Api, left_out: set[int]) -> None:
    def without(reply: Reply) -> Reply:
        kept = [
            {key: item[key] for key in item if key != "index" or item[key] not in left_out}
            for item in reply.body["data"]
        ]
        return Reply({**reply.body, "data": kept})

    api.fail(without)
    assert api.embedder().embed(["a", "bb", "ccc"]) == [[1, 1, 0], [2, 1, 0], [3, 1, 0]]


def test_blank_texts_are_not_sent(api: Api) -> None:
    assert api.embedder().embed(["", "ab", " "]) == [[0, 0, 0], [2, 1, 0], [0, 0, 0]]
    assert api.embeddings[0]["input"] == ["ab"]


def test_an_answer_may_tell_of_a_server_that_is_away(api: Api) -> None:
    api.fail(lambda _: Reply({"error": {"message": "no model", "code": 503}}))
    with pytest.raises(EmbedderUnavailable, match="HTTP 200, error 503") as caught:
        api.embedder().embed(["x"])
    assert caught.value.fault == "server"


@pytest.mark.parametrize(
    "fault",
    [
        status(500),
        status(429),
        status(401),
        truncated,
        nested,
        lambda _: Reply({"data": [{"index": 0, "embedding": "not base64"}]}),
        lambda _: Reply({"data": [{"index": 0, "embedding": "AAAA"}]}),
        lambda _: Reply({"data": [{"index": 0, "embedding": []}]}),
        lambda _: Reply({"data": [{"index": 0, "embedding": [[1.0, 2.0]]}]}),
        lambda _: Reply({"surprise": True}),
        lambda _: Reply(b"<html>"),
    ],
)
def test_an_api_that_does_not_answer_is_unavailable(api: Api, fault: Fault) -> None:
    api.fail(fault)
    with pytest.raises(EmbedderUnavailable, match="openai/custom"):
        api.embedder().embed(["x"])


def test_an_api_that_answers_nothing_is_unavailable(api: Api) -> None:
    api.always = lambda _: Reply({"object": "list", "data": []})
    with pytest.raises(EmbedderUnavailable, match="0 vectors for 1 texts"):
        api.embedder().embed(["x"])


def test_an_api_that_answers_too_little_is_unavailable(api: Api) -> None:
    api.fail(lambda reply: Reply({**reply.body, "data": reply.body["data"][:1]}))
    with pytest.raises(EmbedderUnavailable, match="1 vectors for 2 texts"):
        api.embedder().embed(["one", "two"])


def test_vectors_of_the_same_text_twice_are_unavailable(api: Api) -> None:
    api.fail(duplicate_ids)
    with pytest.raises(EmbedderUnavailable, match="vectors of other texts than were sent"):
        api.embedder().embed(["one", "two"])


def test_the_pause_an_api_asks_for_is_passed_on(api: Api) -> None:
    api.fail(status(429, retry_after="7", message="none of this is shown"))
    with pytest.raises(EmbedderUnavailable) as caught:
        api.embedder().embed(["x"])
    assert str(caught.value) == "openai/custom: HTTP 429, test_error"
    assert caught.value.retry_after == 7


def test_a_refused_connection_is_unavailable() -> None:
    embedder = OpenAIEmbedder("m", base_url="http://127.0.0.1:9/v1", api_key="none", retries=0)
    with pytest.raises(EmbedderUnavailable, match=r"no connection: connection refused$"):
        embedder.embed(["x"])


@pytest.mark.parametrize(
    ("verify_message", "said", "fault"),
    [
        ("self-signed certificate", "not trusted: self-signed.*SSL_CERT_FILE", "settings"),
        (None, "no connection: TLS, wrong version number$", "server"),
    ],
)
def test_what_is_wrong_with_tls_is_told(
    monkeypatch: pytest.MonkeyPatch, verify_message: str | None, said: str, fault: str
) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        kind = ssl.SSLCertVerificationError if verify_message else ssl.SSLError
        error = kind(1, "[SSL] ...")
        error.reason, error.verify_message = "WRONG_VERSION_NUMBER", verify_message
        raise error

    monkeypatch.setattr(socket, "create_connection", refuse)
    embedder = OpenAIEmbedder("m", base_url="https://127.0.0.1:9/v1", api_key="none", retries=0)
    with pytest.raises(EmbedderUnavailable, match=said) as caught:
        embedder.embed(["x"])
    assert caught.value.fault == fault


def test_a_request_that_failed_is_repeated(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(openai_api, "_PAUSE", 0.0)
    embedder = OpenAIEmbedder("m", base_url=api.url, api_key="none", retries=1)
    for fault in (status(500), status(429), status(429, retry_after="0"), reset):
        api.fail(fault)
        assert embedder.embed(["ab"]) == [[2, 1, 0]]


def test_nobody_who_recalls_waits_for_a_long_pause(api: Api) -> None:
    api.fail(status(429, retry_after="30"))
    with pytest.raises(EmbedderUnavailable) as caught:
        OpenAIEmbedder("m", base_url=api.url, api_key="none", retries=1).embed(["x"])
    assert (caught.value.retry_after, len(api.embeddings)) == (30, 1)


def test_a_forked_process_connects_anew_and_once(api: Api) -> None:
    embedder = api.embedder()
    used = []
    for _ in range(3):
        embedder.embed(["x"])
        used.append(embedder._api._client)
        if len(used) == 1:
            forks._all_begin_anew()
    assert used[0] is not used[1] is used[2]


@pytest.mark.parametrize(("fault", "timeout"), [(status(401), 20), (silent, 0.1)])
def test_what_would_fail_again_or_took_all_the_time_is_not_repeated(
    api: Api, fault: Fault, timeout: float
) -> None:
    api.fail(fault)
    embedder = OpenAIEmbedder("m", base_url=api.url, api_key="none", retries=1, timeout=timeout)
    with pytest.raises(EmbedderUnavailable):
        embedder.embed(["x"])
    assert len(api.embeddings) == 1


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("OPENAI_API_KEY", "schlüssel", "OPENAI_API_KEY holds what no header may hold"),
        ("OPENAI_API_KEY", "two\nlines", "OPENAI_API_KEY holds what no header may hold"),
        ("OPENAI_BASE_URL", "localhost:9/v1", "OPENAI_BASE_URL does not begin with http"),
        ("HTTPS_PROXY", "nonsense://x", "OPENAI_BASE_URL, a proxy or SSL_CERT_FILE"),
        ("SSL_CERT_FILE", "/nowhere", "OPENAI_BASE_URL, a proxy or SSL_CERT_FILE"),
    ],
)
def test_a_setting_that_is_wrong_is_named_and_no_fault_of_a_job(
    api: Api, monkeypatch: pytest.MonkeyPatch, name: str, value: str, said: str
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    monkeypatch.setenv("OPENAI_BASE_URL", api.url)
    monkeypatch.setenv(name, value)
    with pytest.raises(EmbedderUnavailable, match=said) as caught:
        OpenAIEmbedder("m", retries=0).embed(["x"])
    assert caught.value.fault == "settings"


def test_the_line_break_behind_a_setting_is_none_of_it(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "none\n")
    monkeypatch.setenv("OPENAI_BASE_URL", f"{api.url}\n")
    assert OpenAIEmbedder("m").embed(["ab"]) == [[2, 1, 0]]


def test_an_address_that_lacks_its_end_is_named(api: Api) -> None:
    api.fail(status(404))
    address = api.url.removesuffix("/v1")
    with pytest.raises(EmbedderUnavailable, match=r"HTTP 404.*OPENAI_BASE_URL is without /v1"):
        OpenAIEmbedder("m", base_url=address, api_key="none", retries=0).embed(["x"])


def test_an_address_that_leads_elsewhere_is_named(api: Api) -> None:
    api.fail(lambda _: Reply(None, 307, {"Location": f"{api.url}/elsewhere"}))
    with pytest.raises(EmbedderUnavailable, match=r"HTTP 404.*OPENAI_BASE_URL redirects"):
        api.embedder().embed(["x"])


def test_an_address_that_leads_back_to_itself_is_named(api: Api) -> None:
    api.always = lambda _: Reply(None, 307, {"Location": f"{api.url}/embeddings"})
    with pytest.raises(EmbedderUnavailable, match="redirects in a circle") as caught:
        api.embedder().embed(["x"])
    assert caught.value.fault == "settings"


def test_a_bad_answer_teaches_no_dimensions(api: Api) -> None:
    embedder = api.embedder()
    uneven = [{"index": 0, "embedding": [1.0]}, {"index": 1, "embedding": [1.0, 2.0]}]
    api.fail(lambda _: Reply({"data": uneven}))
    with pytest.raises(DimensionMismatch):
        embedder.embed(["a", "bb"])
    assert embedder.embed(["a", "bb"]) == [[1, 1, 0], [2, 1, 0]]


def test_a_missing_key_is_unavailable(api: Api) -> None:
    with pytest.raises(EmbedderUnavailable, match="OPENAI_API_KEY is not set"):
        OpenAIEmbedder(base_url=api.url).embed(["x"])


def test_other_dimensions_than_expected_are_an_error(api: Api) -> None:
    with pytest.raises(DimensionMismatch, match="3 dimensions, 1536 were expected") as caught:
        api.embedder("text-embedding-3-small").embed(["x"])
    assert "MEMOIR_EMBED_DIMENSIONS=3" in str(caught.value.hint)


def test_a_client_recalls_by_words_while_the_api_is_down(
    api: Api, dsn: str, recwarn: pytest.WarningsRecorder
) -> None:
    api.always = status(500)
    with Memoir(dsn, embedder=api.embedder()) as memory:
        memory.remember("the session cookie is called harbor_sid")
        assert "harbor_sid" in memory.context("what is the session cookie called?")
    assert [warning.category for warning in recwarn] == [EmbedderUnavailable]


def test_a_client_warns_of_a_refused_text_and_of_an_outage_once_each(
    api: Api, dsn: str, db: psycopg.Connection, recwarn: pytest.WarningsRecorder
) -> None:
    api.always = lambda reply: status(400)(reply) if "bad" in api.embeddings[-1]["input"] else reply
    with Memoir(dsn, embedder=api.embedder()) as memory:
        memory.remember_many([{"content": text} for text in ("tea", "bad", "milk")])
        assert without_vector(db) == 1
        memory.remember("bad")
        api.always = status(500)
        memory.context("what is drunk?")
    said = [str(warning.message).partition(":")[0] for warning in recwarn]
    assert said == [
        "a text without a vector goes by words alone",
        "no embedder, memory goes by words alone",
    ]


def test_tasks_recall_by_words_while_the_api_drips(api: Api, dsn: str) -> None:
    async def asks() -> str:
        embedder = api.embedder(timeout=0.1)
        async with AsyncMemoir(dsn, embedder=embedder) as memory:
            await memory.remember("the session cookie is called harbor_sid")
            return await memory.context("what is the session cookie called?")

    api.always = dripping
    with pytest.warns(EmbedderUnavailable, match="no answer in time"):
        assert "harbor_sid" in asyncio.run(asks())


def test_a_client_raises_what_only_a_person_can_mend(api: Api, dsn: str) -> None:
    with (
        Memoir(dsn, embedder=api.embedder(dimensions=5)) as memory,
        pytest.raises(DimensionMismatch),
    ):
        memory.context("x")


def test_the_environment_sets_up_openai(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    monkeypatch.setenv("OPENAI_BASE_URL", api.url)
    monkeypatch.setenv("MEMOIR_EMBED_MODEL", "from-environment")
    monkeypatch.setenv("MEMOIR_EMBED_DIMENSIONS", "3")
    embedder = default_embedder()
    assert embedder is not None
    assert (embedder.name, embedder.dimensions) == ("openai/from-environment", 3)
    assert embedder.embed(["abc"]) == [[3, 1, 0]]


def test_a_name_of_the_environment_is_that_of_its_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMOIR_EMBED_NAME", "openai/text-embedding-3-small")
    monkeypatch.setenv("MEMOIR_EMBED_MODEL", "our-deployment")
    of_environment = OpenAIEmbedder()
    assert (of_environment.name, of_environment.model) == (
        "openai/text-embedding-3-small",
        "our-deployment",
    )
    assert OpenAIEmbedder("another").name == "openai/another"
    assert OpenAIEmbedder("another", name="short").name == "short"


@needs_wordllama
def test_without_a_key_wordllama_is_the_default() -> None:
    assert isinstance(default_embedder(), WordLlamaEmbedder)


def test_where_wordllama_has_no_package_nobody_is_told_to_install_it() -> None:
    assert "pgmemoir[local]" in embedders.missing_embedder_hint((3, 13))
    hint = embedders.missing_embedder_hint((3, 14))
    assert "pgmemoir[local]" not in hint
    assert "wordllama needs Python 3.13 or older" in hint
    assert "MEMOIR_EMBEDDER" not in hint  # memoir backfill would then say to unset it


def test_the_default_can_be_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    monkeypatch.setenv("MEMOIR_EMBEDDER", "wordllama")
    assert isinstance(default_embedder(), WordLlamaEmbedder)
    monkeypatch.setenv("MEMOIR_EMBEDDER", "none")
    assert default_embedder() is None


@pytest.mark.parametrize(
    ("name", "value"), [("MEMOIR_EMBEDDER", "magic"), ("MEMOIR_EMBED_DIMENSIONS", "many")]
)
def test_a_wrong_setting_is_an_error(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    monkeypatch.setenv(name, value)
    with pytest.raises(MemoirError, match=value):
        default_embedder()
