"""A call of a door as the body of `POST /permits`, and what became of it as the body of the close: docs/doors/README.md."""

from __future__ import annotations

import hashlib
import math
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import rfc8785

from .api.requests import AttestedContext, OpenPermitRequest

MAX_TEXT_CHARACTERS = 200_000
MAX_DEPTH = 64
MAX_INTEGER = 2**53 - 1
# How long after its permit has expired a call of a door may end.
CLOSE_SECONDS = 3_600
# As many nodes as the service takes of a request.
MAX_PARTS = 131_072


def program_of(facts: Mapping[str, Any]) -> str:
    """The program_id of a door: SHA-256 of what it knows of the program that acts."""
    return hashlib.sha256(rfc8785.dumps(dict(facts))).hexdigest()


def _unsaid(value: Any) -> dict[str, str]:
    try:
        shown = hashlib.sha256(repr(value).encode("utf-8", "replace")).hexdigest()
    except Exception:  # Whatever a caller's object raises: the act is sealed all the same.
        shown = ""
    return {"type": type(value).__name__, "repr_sha256": shown}


class _Parts:
    """Counts the parts of one value: one that holds itself has no end."""

    def __init__(self) -> None:
        self._count = 0

    def add(self) -> None:
        self._count += 1
        if self._count > MAX_PARTS:
            raise ValueError("The value has too many parts.")


def _flat(value: Any, parts: _Parts) -> str:
    """The texts and numbers of a value that is nested too deep, one behind the other."""
    found: list[str] = []
    waiting = [value]
    while waiting:
        each = waiting.pop()
        if isinstance(each, Mapping):
            parts.add()
            waiting.extend(part for pair in reversed(list(each.items())) for part in reversed(pair))
        elif isinstance(each, (list, tuple)):
            parts.add()
            waiting.extend(reversed(each))
        else:
            found.append(str(_plain(each, MAX_DEPTH, parts)))
    return " ".join(found)


def plain(value: Any) -> Any:
    """A value as strict JSON. What that cannot say is said as a text, so that nothing is hidden from the service's scan.

    An object that is no JSON at all is named by its type and the hash of its repr. Raises ValueError for a value of more
    than MAX_PARTS parts.
    """
    return _plain(value, 0, _Parts())


def _plain(value: Any, depth: int, parts: _Parts) -> Any:
    parts.add()
    if isinstance(value, (Mapping, list, tuple)):
        return _flat(value, parts) if depth >= MAX_DEPTH else _plain_parts(value, depth + 1, parts)
    return _plain_scalar(value, depth, parts)


def _plain_parts(value: Any, depth: int, parts: _Parts) -> Any:
    if isinstance(value, (list, tuple)):
        return [_plain(each, depth, parts) for each in value]
    pairs = [(_plain(key, depth, parts), _plain(member, depth, parts)) for key, member in value.items()]
    members = {key: member for key, member in pairs if isinstance(key, str)}
    # Keys that are no texts, or become the same text, make no object.
    return members if len(members) == len(pairs) else [[key, member] for key, member in pairs]


def _plain_scalar(value: Any, depth: int, parts: _Parts) -> Any:
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode()
    if isinstance(value, (bytes, bytearray)):
        return bytes(value).decode("utf-8", "backslashreplace")
    if isinstance(value, int):
        return int(value) if abs(value) <= MAX_INTEGER else hex(value)
    if isinstance(value, float):
        # A number of another library shows itself in another way.
        number = float(value)
        return number if math.isfinite(number) and abs(number) <= MAX_INTEGER else repr(number)
    try:
        dumped = value.model_dump(mode="json", exclude_none=True)
    except Exception:
        return _unsaid(value)
    return _unsaid(value) if depth >= MAX_DEPTH else _plain(dumped, depth + 1, parts)


def text_of(value: Any) -> str:
    """The RFC 8785 text of a value, as `plain` says it. Raises ValueError for a value of more than MAX_PARTS parts."""
    return rfc8785.dumps(plain(value)).decode()


def captures_content() -> bool:
    """Whether outputs may be sent to the service: RUNSEAL_CAPTURE_CONTENT=true."""
    return os.environ.get("RUNSEAL_CAPTURE_CONTENT", "false").lower() == "true"


def output_of(text: str) -> dict[str, Any]:
    """What a close says of an output: its text, or its hash alone."""
    if captures_content() and len(text) <= MAX_TEXT_CHARACTERS:
        return {"ai_output_text": text}
    return {"request_substance": {"output": {"hash": hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()}}}


def said_of(output: Any) -> dict[str, Any]:
    """What a close says of an output, nothing where that cannot be said: the call was made all the same."""
    try:
        return output_of(text_of(output))
    except Exception:  # Whatever a caller's object raises.
        return {}


def _name(text: str, most: int) -> str:
    """A name as one line, since the service refuses others."""
    return "".join(each if each.isprintable() else "?" for each in text)[:most]


@dataclass(frozen=True)
class Called:
    """What a door calls for an agent: a tool, or a model. `door` begins the route, such as `agents/langchain`."""

    door: str
    agent: str
    tool: str | None = None
    model: str | None = None
    # Who runs the model, where that is known.
    provider: str | None = None
    # Where the door does not make it of its name and what is called.
    route: str | None = None

    @property
    def name(self) -> str:
        """As the payload names it."""
        return f"model/{self.model}" if self.tool is None else self.tool

    @property
    def route_id(self) -> str:
        """The route of its runs."""
        return _name(self.route or f"{self.door}/{self.name}", 512)


def opening_of(called: Called, arguments: Any, reserve_tokens: int = 0, observe: bool = False) -> OpenPermitRequest:
    """The body of POST /permits for a call of a door. With `observe` the record says that a refusal stopped nothing.

    Raises ValueError for arguments of more than MAX_PARTS parts.
    """
    agent = _name(called.agent, 256)
    definition = {"door": called.door, "tool": called.tool, "model": called.model, "provider": called.provider}
    known = {name: value for name, value in definition.items() if value is not None}
    attested: AttestedContext = {"actor_id": agent}
    if called.model:
        attested["model_name"] = _name(called.model, 512)
    if called.provider:
        attested["model_provider"] = _name(called.provider, 512)
    request: OpenPermitRequest = {
        "program_id": os.environ.get("RUNSEAL_PROGRAM_ID", program_of({"door": called.door, "agent": called.agent})),
        "route_id": called.route_id,
        "registry_record_hash": os.environ.get("RUNSEAL_REGISTRY_RECORD_HASH", program_of(known)),
        "payload": text_of({"tool": called.name, "arguments": arguments}),
        "audience": agent,
        "reserve_tokens": reserve_tokens,
        "attested_context": attested,
    }
    if observe:
        request |= {"enforcement": "observe", "close_within_seconds": CLOSE_SECONDS}
    return request


# Members of a cost, and the names that frameworks have for them.
_TOKENS = {
    "input_tokens": ("input_tokens", "prompt_tokens"),
    "output_tokens": ("output_tokens", "completion_tokens"),
    "total_tokens": ("total_tokens",),
}


def cost_of(usage: Any) -> dict[str, int]:
    """The tokens that a model says it used, by their names in a record; empty where it says none, as some do with 0."""
    said = usage if isinstance(usage, Mapping) else {}
    found = {
        member: next((said[name] for name in names if _is_count(said.get(name))), None)
        for member, names in _TOKENS.items()
    }
    cost = {member: count for member, count in found.items() if count is not None}
    if not any(cost.values()):
        return {}
    if "total_tokens" not in cost:
        cost["total_tokens"] = min(sum(cost.values()), MAX_INTEGER)
    return cost


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MAX_INTEGER


def completed(output: Mapping[str, Any], usage: Any = None) -> dict[str, Any]:
    """The body of the close of a call that was made; `output` is what `said_of` or `output_of` says of its output."""
    cost = cost_of(usage)
    used = {"request_substance": {**output.get("request_substance", {}), "cost": cost}} if cost else {}
    return {"outcome": "completed", **output, **used}
