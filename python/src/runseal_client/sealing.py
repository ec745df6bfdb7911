"""A function of which each call is permitted before and sealed after."""

from __future__ import annotations

import functools
import hashlib
import inspect
import json
import os
from collections.abc import Callable, Mapping
from typing import Any, ParamSpec, TypeVar

from .async_client import AsyncRunseal
from .client import Runseal
from .verifier.json_text import canonical, digest, parse

P = ParamSpec("P")
R = TypeVar("R")

MAX_TEXT_CHARACTERS = 200_000


def program_of(facts: Mapping[str, Any]) -> str:
    """The program_id of a door: SHA-256 of what it knows of the program that acts."""
    return digest(dict(facts))


def text_of(value: Any) -> str:
    """The RFC 8785 text of a value; what is no JSON, or no strict JSON, is named by its type and the hash of its repr."""
    try:
        return canonical(parse(json.dumps(value, ensure_ascii=False).encode()))
    except Exception:  # Whatever a caller's object raises: the act is sealed all the same.
        shown = hashlib.sha256(repr(value).encode("utf-8", "replace")).hexdigest()
        return canonical({"type": type(value).__name__, "repr_sha256": shown})


def captures_content() -> bool:
    """Whether outputs may be sent to the service: RUNSEAL_CAPTURE_CONTENT=true."""
    return os.environ.get("RUNSEAL_CAPTURE_CONTENT", "false").lower() == "true"


def output_of(text: str) -> dict[str, Any]:
    """What a close says of an output: its text, or its hash alone."""
    if captures_content() and len(text) <= MAX_TEXT_CHARACTERS:
        return {"ai_output_text": text}
    return {"request_substance": {"output": {"hash": hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()}}}


def opening_of(
    route_id: str, program: Mapping[str, Any], payload: Any, audience: str, tokens: int = 0, observe: bool = False
) -> dict[str, Any]:
    """The body of POST /permits for an act of a door. With `observe` the record says that a refusal stopped nothing."""
    program_id = program_of(program)
    return {
        "program_id": os.environ.get("RUNSEAL_PROGRAM_ID", program_id),
        "route_id": route_id[:512],
        "registry_record_hash": os.environ.get("RUNSEAL_REGISTRY_RECORD_HASH", program_id),
        "payload": text_of(payload),
        "audience": audience[:256],
        "reserve_tokens": tokens,
        **({"enforcement": "observe"} if observe else {}),
    }


def sealed(
    client: Runseal | AsyncRunseal, route_id: str, *, program: Mapping[str, Any] | None = None
) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Permits each call of a function before it runs, and seals it after: also a call that raises.

    A coroutine function needs an AsyncRunseal, another one a Runseal. Raises ActRefused when a gate refuses: before the
    call, which is then not made, or at its close, and then the result is not given back.
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        name = f"{function.__module__}.{function.__qualname__}"
        facts = {"door": "python", "agent": name, **(program or {})}

        def body(arguments: inspect.BoundArguments) -> dict[str, Any]:
            payload = {"tool": name, "arguments": dict(arguments.arguments)}
            return opening_of(route_id, facts, payload, name)

        signature = inspect.signature(function)
        if inspect.iscoroutinefunction(function):

            @functools.wraps(function)
            async def act_later(*args: P.args, **kwargs: P.kwargs) -> Any:
                assert isinstance(client, AsyncRunseal), "a coroutine function needs an AsyncRunseal"
                async with client.permit(body(signature.bind(*args, **kwargs))) as act:
                    result = await function(*args, **kwargs)
                    act.completed(**output_of(text_of(result)))
                return result

            return act_later  # type: ignore[return-value]

        @functools.wraps(function)
        def act_now(*args: P.args, **kwargs: P.kwargs) -> R:
            assert isinstance(client, Runseal), "a function needs a Runseal"
            with client.permit(body(signature.bind(*args, **kwargs))) as act:
                result = function(*args, **kwargs)
                act.completed(**output_of(text_of(result)))
            return result

        return act_now

    return decorate
