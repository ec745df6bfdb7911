"""A function of which each call is permitted before and sealed after: the sealed call of every door that holds the function."""

from __future__ import annotations

import asyncio
import functools
import inspect
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractContextManager, asynccontextmanager
from typing import Any, Literal, ParamSpec, TypeVar

from .acts import Act
from .async_client import AsyncRunseal
from .background import observer_for
from .breaker import Fail
from .client import Runseal
from .sealing import Called, opening_of, said_of

P = ParamSpec("P")
R = TypeVar("R")
# Whether a refusal stops a call, or is sealed and stops nothing.
Mode = Literal["enforce", "observe"]


def _has_ended(result: Any) -> Any:
    """The result of a call that was made; raises TypeError for one that is only made later."""
    if inspect.isawaitable(result) or inspect.isgenerator(result) or inspect.isasyncgen(result):
        if inspect.iscoroutine(result):
            result.close()
        raise TypeError("The call has given back what is only done later: it cannot be sealed here.")
    return result


def sealed(
    client: Runseal | AsyncRunseal,
    route_id: str,
    *,
    agent: str | None = None,
    mode: Mode = "enforce",
    fail: Fail = "closed",
) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Permits each call of a function before it runs, and seals it after: also a call that raises.

    `agent` names who acts, in records and as the audience of permits; absent, the function does. With `mode="observe"` a call
    waits for nothing and is sealed by a thread. With `fail="open"` it is made also without a decision, and counted. The
    decision is waited for as `Runseal.permit` says it. With an AsyncRunseal the sealed function is a coroutine function; one
    that is none runs in a thread. Raises ActRefused when a gate refuses: before the call, which is then not made, or at its
    close, and then the result is not given back. Raises ApprovalPending where people decide on the call and have not: it is not
    made, and the same call later finds what they decided. Raises CloseUnconfirmed, which has the result, when the call was made and
    the service did not confirm its close. Raises TypeError for a generator function, for a coroutine function with a
    Runseal, and for a function that gives back a generator or an awaitable: what it does comes after its end.
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        name = f"{function.__module__}.{function.__qualname__}"
        return seal(client, Called("python", agent or name, tool=name, route=route_id), function, mode, fail)

    return decorate


def call_now(
    client: Runseal | AsyncRunseal, called: Called, arguments: Callable[[], Any], mode: Mode, fail: Fail
) -> AbstractContextManager[Act]:
    """The block is one call that is permitted before it and sealed after it, as `sealed` does it, and reports what it gave.

    Raises TypeError where the call would wait for an AsyncRunseal.
    """
    if mode == "observe":
        return _observed(client, called, arguments)
    if not isinstance(client, Runseal):
        raise TypeError("A tool that is called without await needs a Runseal, not an AsyncRunseal.")
    return client.permit(opening_of(called, arguments()), fail=fail, redeems=True)


@asynccontextmanager
async def call_later(
    client: Runseal | AsyncRunseal, called: Called, arguments: Callable[[], Any], mode: Mode, fail: Fail
) -> AsyncIterator[Act]:
    """The same of a call that is awaited, which needs an AsyncRunseal."""
    if mode == "observe":
        with _observed(client, called, arguments) as act:
            yield act
        return
    if not isinstance(client, AsyncRunseal):
        raise TypeError("A tool that is awaited needs an AsyncRunseal, not a Runseal.")
    async with client.permit(opening_of(called, arguments()), fail=fail, redeems=True) as act:
        yield act


def _observed(
    client: Runseal | AsyncRunseal, called: Called, arguments: Callable[[], Any]
) -> AbstractContextManager[Act]:
    return observer_for(client.given).act(called.route_id, lambda: opening_of(called, arguments(), observe=True))


def seal(
    client: Runseal | AsyncRunseal,
    called: Called,
    function: Callable[P, R],
    mode: Mode = "enforce",
    fail: Fail = "closed",
) -> Callable[P, R]:
    """The same function, sealed as `sealed` does it."""
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        raise TypeError("A generator function cannot be sealed: what it does comes after its call.")
    signature = inspect.signature(function)

    def arguments(*args: P.args, **kwargs: P.kwargs) -> dict[str, Any]:
        return dict(signature.bind(*args, **kwargs).arguments)

    def done(act: Act, result: R) -> R:
        act.result = _has_ended(result)
        act.completed(**said_of(result))
        return result

    if isinstance(client, AsyncRunseal):

        @functools.wraps(function)
        async def act_later(*args: P.args, **kwargs: P.kwargs) -> Any:
            async with call_later(client, called, lambda: arguments(*args, **kwargs), mode, fail) as act:
                if inspect.iscoroutinefunction(function):
                    return done(act, await function(*args, **kwargs))
                return done(act, await asyncio.to_thread(function, *args, **kwargs))

        return act_later  # type: ignore[return-value]
    if inspect.iscoroutinefunction(function):
        raise TypeError("A coroutine function needs an AsyncRunseal.")

    @functools.wraps(function)
    def act_now(*args: P.args, **kwargs: P.kwargs) -> R:
        with call_now(client, called, lambda: arguments(*args, **kwargs), mode, fail) as act:
            return done(act, function(*args, **kwargs))

    return act_now
