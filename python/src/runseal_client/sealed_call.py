"""A function of which each call is permitted before and sealed after: the sealed call of every door that holds the function."""

from __future__ import annotations

import asyncio
import functools
import inspect
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, Literal, ParamSpec, TypeVar

from .acts import Act
from .api.requests import OpenPermitRequest
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

    def body(*args: P.args, **kwargs: P.kwargs) -> OpenPermitRequest:
        return opening_of(called, dict(signature.bind(*args, **kwargs).arguments), observe=mode == "observe")

    def observed(*args: P.args, **kwargs: P.kwargs) -> AbstractContextManager[Act]:
        return observer_for(client.given).act(called.route_id, lambda: body(*args, **kwargs))

    def done(act: Act, result: R) -> R:
        act.result = _has_ended(result)
        act.completed(**said_of(result))
        return result

    if isinstance(client, AsyncRunseal):

        async def call(*args: P.args, **kwargs: P.kwargs) -> Any:
            if inspect.iscoroutinefunction(function):
                return await function(*args, **kwargs)
            return await asyncio.to_thread(function, *args, **kwargs)

        @functools.wraps(function)
        async def act_later(*args: P.args, **kwargs: P.kwargs) -> Any:
            if mode == "observe":
                with observed(*args, **kwargs) as act:
                    return done(act, await call(*args, **kwargs))
            async with client.permit(body(*args, **kwargs), fail=fail, redeems=True) as act:
                return done(act, await call(*args, **kwargs))

        return act_later  # type: ignore[return-value]
    if inspect.iscoroutinefunction(function):
        raise TypeError("A coroutine function needs an AsyncRunseal.")

    @functools.wraps(function)
    def act_now(*args: P.args, **kwargs: P.kwargs) -> R:
        if mode == "observe":
            with observed(*args, **kwargs) as act:
                return done(act, function(*args, **kwargs))
        with client.permit(body(*args, **kwargs), fail=fail, redeems=True) as act:
            return done(act, function(*args, **kwargs))

    return act_now
