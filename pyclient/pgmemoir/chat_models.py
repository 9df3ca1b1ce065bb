"""Chat models, for the jobs that need one: messages and a JSON schema in, JSON out.

The messages and the schema come from the database with a job; the database checks the answer again
when it is stored. Here an answer is JSON that PostgreSQL can store, or an error.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

from .checks import check_json, refuse_constant
from .errors import BadText
from .openai_api import Api, ApiFailure, Unavailable, check_no_error

if TYPE_CHECKING:
    from openai.types.chat import ChatCompletion

Message = dict[str, Any]
Schema = dict[str, Any]

# A model that reasons over a long conversation takes minutes.
TIMEOUT = 120.0

# Possessive (++, *+): what a part has taken is not tried in pieces. An answer that a model has
# begun and not ended, or a hostile one, would take time with the square of its length.
_FENCE = re.compile(r"[^{]*```\w*+(.*)```", re.DOTALL)
# <answer>...</answer>, <|begin_of_box|>...<|end_of_box|>, but no thoughts.
_TAGS = re.compile(r"<(?!think|thought|reason)[^<>{}]+>(.*)<[^<>{}]+>", re.DOTALL)
# A comma behind the last item of a list, which models write as people do; not one within a text.
_LAST_COMMA = re.compile(r'("(?:[^"\\]++|\\.)*+"?)|,(?=\s*[\]}])', re.DOTALL)

_SCHEMA_IN_WORDS = """Answer with one JSON object and nothing else. It must fit this JSON schema:
{schema}"""


class ModelUnavailable(Unavailable):
    """The chat model cannot answer now."""


class BadAnswer(Exception):
    """The model gave no usable answer to this question; other questions may succeed."""


class ChatModel(Protocol):
    """What a worker needs of a chat model. Threads share it."""

    @property
    def name(self) -> str: ...

    def answer(self, messages: Sequence[Message], schema: Schema | None, kind: str) -> Any:
        """The answer to the messages, a JSON value.

        Args:
            messages: with role and content, as OpenAI's.
            schema: of the answer; None: any JSON object.
            kind: what is asked: a word that names the schema.

        Raises:
            ModelUnavailable: no answer can be had now.
            BadAnswer: the model refused, stopped halfway, or wrote no JSON.
        """
        ...


class OpenAIChat:
    """A chat model of OpenAI's, or of any server that speaks the same protocol.

    Args:
        model: default ``MEMOIR_CHAT_MODEL``.
        base_url: default ``OPENAI_BASE_URL``, else OpenAI's own.
        api_key: default ``OPENAI_API_KEY``.
        timeout: seconds for one request, to the last byte of its answer.
        retries: how often a failed request is repeated; a worker leaves that to the queue.
    """

    def __init__(
        self,
        model: str,
        base_url: str | None = None,
        api_key: str | None = None,
        *,
        timeout: float = TIMEOUT,
        retries: int = 0,
    ) -> None:
        self.model = model
        self._api = Api(base_url, api_key, timeout, retries)
        self._forms = ["json_schema", "json_object", "text"]

    @property
    def name(self) -> str:
        """``openai/<model>``."""
        return f"openai/{self.model}"

    def answer(self, messages: Sequence[Message], schema: Schema | None, kind: str) -> Any:
        """See `ChatModel.answer`."""
        try:
            return _json(_content(self._ask(messages, schema, kind)))
        except ApiFailure as error:
            reason = f"{self.name}: {error}"
            if error.fault == "request":
                raise BadAnswer(reason) from None
            raise ModelUnavailable(reason, error.fault, error.retry_after) from None
        except BadAnswer as error:
            raise BadAnswer(f"{self.name}: {error}") from None

    def _ask(self, messages: Sequence[Message], schema: Schema | None, kind: str) -> ChatCompletion:
        """With the schema if the server accepts one, otherwise with the schema in words."""
        refused: list[str] = []
        for form in self._forms:
            if schema is None and form == "json_schema":
                continue
            try:
                answer = self._request(messages, schema, kind, form)
            except ApiFailure as error:
                if error.fault != "request":
                    raise
                refused.append(form)
                failure = error
            else:
                self._forms = [form for form in self._forms if form not in refused]
                return answer
        raise failure

    def _request(
        self, messages: Sequence[Message], schema: Schema | None, kind: str, form: str
    ) -> ChatCompletion:
        # The client's argument type is a union of dozens of typed dictionaries.
        sent: Any = {"messages": list(messages), "response_format": {"type": form}}
        if form == "json_schema":
            named = {"name": kind, "schema": schema, "strict": _is_strict(schema)}
            sent["response_format"]["json_schema"] = named
        else:
            sent["messages"] = _with_schema(messages, schema)
        if form == "text":  # the default, which even a server that knows no forms has
            del sent["response_format"]
        completion: ChatCompletion = self._api.ask(
            lambda client: client.chat.completions.create(model=self.model, **sent)
        )
        return completion


def default_chat_model(model: str | None = None, *, timeout: float = TIMEOUT) -> ChatModel | None:
    """The chat model of that name, otherwise of ``MEMOIR_CHAT_MODEL``; None if neither is set.

    There is no default: what a model costs is for the user to choose.

    Args:
        timeout: of the `OpenAIChat`.
    """
    model = (model or os.environ.get("MEMOIR_CHAT_MODEL", "")).strip()
    return OpenAIChat(model, timeout=timeout) if model else None


def _is_strict(schema: Any) -> bool:
    """Whether a model can be held to it: OpenAI accepts only objects that list all their keys."""
    if isinstance(schema, list):
        return all(map(_is_strict, schema))
    if not isinstance(schema, dict):
        return True
    if "properties" in schema or schema.get("type") == "object":
        listed = set(schema.get("properties", ())) == set(schema.get("required", ()))
        if not listed or schema.get("additionalProperties") is not False:
            return False
    return all(map(_is_strict, schema.values()))


def _with_schema(messages: Sequence[Message], schema: Schema | None) -> list[Message]:
    """In the first message: chat templates refuse one of the system's that stands behind others."""
    text = json.dumps(schema or {"type": "object"}, ensure_ascii=False)
    first, *others = messages
    content = f"{first['content']}\n\n{_SCHEMA_IN_WORDS.format(schema=text)}"
    return [{**first, "content": content}, *others]


def _content(completion: ChatCompletion) -> str:
    """The text of a complete answer."""
    check_no_error(getattr(completion, "error", None))
    try:
        choice = completion.choices[0]
        check_no_error(getattr(choice, "error", None))
        message, ending = choice.message, choice.finish_reason
        content, refusal = message.content, message.refusal
    except (AttributeError, LookupError, TypeError):
        raise ApiFailure("not a chat answer") from None
    if refusal or ending == "content_filter":
        raise BadAnswer("the model refused")
    if ending == "length":
        raise BadAnswer("the answer was cut off")
    if isinstance(content, list):  # in parts, some of which may be thoughts
        parts = [part for part in content if isinstance(part, dict) and part.get("type") == "text"]
        content = "".join(str(part.get("text") or "") for part in parts)
    if not isinstance(content, str) or not content.strip():
        raise BadAnswer("the answer is empty")
    return content


def _json(content: str) -> Any:
    """The JSON of an answer, also after thoughts, between tags, in a fence, or beside words.

    Words may stand before it or after it, not on both sides: that may be a quotation.
    """
    text = content.strip()
    if not text.startswith(("{", "[", "```")) and "</think>" in text:
        text = text.partition("</think>")[2].strip()
    if tagged := _TAGS.fullmatch(text):
        text = tagged[1].strip()
    if not text.startswith(("{", "[")) and (fenced := _FENCE.match(text)):
        text = fenced[1].strip()
    start = 0 if text.startswith("[") else text.find("{")
    try:
        value, rest = _value(text, start)
        if rest and (start or "{" in rest):
            raise ValueError
        check_json(value, "the answer")
    except (ValueError, RecursionError):
        raise BadAnswer("the answer is not JSON") from None
    except BadText:
        raise BadAnswer("the answer holds what PostgreSQL cannot store") from None
    return value


def _value(text: str, start: int) -> tuple[Any, str]:
    """The JSON that begins there, and the words after it."""
    try:
        value, end = _DECODER.raw_decode(text, start)
    except ValueError:
        text = text[:start] + _LAST_COMMA.sub(lambda found: found[1] or "", text[start:])
        value, end = _DECODER.raw_decode(text, start)
    return value, text[end:].strip()


# Not strict: small models break lines within strings.
_DECODER = json.JSONDecoder(parse_constant=refuse_constant, strict=False)
