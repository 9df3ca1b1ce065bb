"""A method of `Memoir` and of `AsyncMemoir`, written once."""

from __future__ import annotations

import re
from collections.abc import Callable, Coroutine
from functools import wraps
from typing import TYPE_CHECKING, Any, Concatenate, Generic, ParamSpec, TypeVar, overload

from .calls import Call
from .steps import Plan

if TYPE_CHECKING:
    from .client import AsyncMemoir, Memoir

P = ParamSpec("P")
T = TypeVar("T")


class Method(Generic[P, T]):
    """Turns a function that returns a call or a plan into a method that carries it out.

    On `Memoir` the method returns the answer, on `AsyncMemoir` it is to be awaited.
    """

    def __init__(self, say: Callable[Concatenate[Any, P], Call[T] | Plan[T]]) -> None:
        # help() shows the type of the answer, without Call or Plan.
        answer = re.sub(r"^(Call|Plan)\[(.*)\]$", r"\2", say.__annotations__["return"])
        say.__annotations__["return"] = answer

        @wraps(say)
        def method(client: Memoir, *args: P.args, **kwargs: P.kwargs) -> T:
            return client._run(say(client, *args, **kwargs))

        @wraps(say)
        async def awaited(client: AsyncMemoir, *args: P.args, **kwargs: P.kwargs) -> T:
            return await client._run(say(client, *args, **kwargs))

        self._method, self._awaited = method, awaited

    @overload
    def __get__(self, client: Memoir, owner: type[Any]) -> Callable[P, T]: ...

    @overload
    def __get__(
        self, client: AsyncMemoir, owner: type[Any]
    ) -> Callable[P, Coroutine[Any, Any, T]]: ...

    @overload
    def __get__(self, client: None, owner: type[Any]) -> Callable[..., Any]: ...

    def __get__(self, client: Any, owner: type[Any]) -> Any:
        method: Any = self._awaited if owner._is_async else self._method
        return method.__get__(client, owner)
