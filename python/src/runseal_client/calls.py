"""What a request of the public API is, for both clients."""

from __future__ import annotations

import difflib
import functools
import os
import re
import uuid
from collections.abc import Callable, Container, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Generic, Literal, TypeVar, get_args, get_type_hints, is_typeddict
from urllib.parse import quote

T = TypeVar("T")
Body = Mapping[str, Any]
FailureCode = Literal["NOT_EXECUTED", "EXECUTOR_REFUSED", "EXECUTOR_FAILED", "TIMED_OUT"]

DEFAULT_URL = "http://127.0.0.1:8080"
TIMEOUT_SECONDS = 30.0
DEADLINE_SECONDS = 120.0
_API_KEY = re.compile(r"[!-~]{1,512}")
_END_USER_TOKEN = re.compile(r"[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+){2}")
_END_USER_TOKEN_MAX = 8192


@dataclass(frozen=True)
class Call(Generic[T]):
    """One request. `answer` is the model of its answer, or bytes for what is no JSON.

    `again` says that a second request has no effect that the first did not have, also without an idempotency key.
    `end_user` says that it is decided for a person, whose token the client adds.
    """

    method: str
    path: str
    answer: type[T]
    body: Body | None = None
    query: Mapping[str, str] = field(default_factory=dict)
    idempotency_key: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    again: bool = False
    end_user: bool = False

    @property
    def repeatable(self) -> bool:
        """Whether the call is retried when there was no answer."""
        return self.method == "GET" or self.again or self.idempotency_key is not None


def address(url: str | None) -> str:
    """The service's address: what is given, else RUNSEAL_URL."""
    return (url or os.environ.get("RUNSEAL_URL") or DEFAULT_URL).rstrip("/")


def credential(url: str | None, api_key: str | None) -> dict[str, str]:
    """The caller's credential: what is given, else RUNSEAL_API_KEY unless RUNSEAL_URL names another address.

    Raises ValueError for a key that no header can carry.
    """
    known = os.environ.get("RUNSEAL_URL")
    if api_key is None and (not known or address(url) == address(known)):
        api_key = os.environ.get("RUNSEAL_API_KEY")
    if not api_key:
        return {}
    if not _API_KEY.fullmatch(api_key):
        raise ValueError("An API key is 1 to 512 visible ASCII characters.")
    return {"X-Service-Key": api_key}


EndUserToken = str | Callable[[], str | None] | None


def end_user_of(token: EndUserToken) -> dict[str, str]:
    """The header that names the person for whom an agent acts. A function gives the token of now, or None for no person.

    Raises ValueError for what is no JWT.
    """
    found = token() if callable(token) else token
    if found is None:
        return {}
    if len(found) > _END_USER_TOKEN_MAX or not _END_USER_TOKEN.fullmatch(found):
        raise ValueError(f"The token of an end user is a JWT of at most {_END_USER_TOKEN_MAX} characters.")
    return {"X-End-User-Token": found}


def new_key() -> str:
    """An idempotency key of its own."""
    return str(uuid.uuid4())


class Absent(Enum):
    """What an argument is that was not given, where None says that a setting is taken away."""

    ABSENT = "absent"


ABSENT = Absent.ABSENT


def given(members: Mapping[str, Any]) -> dict[str, str]:
    """Query parameters: those that are not None."""
    return {name: str(value) for name, value in members.items() if value is not None}


def spread(members: Mapping[str, Any], extra: Body | None, clears: Container[str] = ()) -> dict[str, Any]:
    """A body of arguments: those that were given, and what else the caller sends. Of a name in `clears`, None is sent."""
    body = {
        name: value for name, value in members.items() if value is not ABSENT and (value is not None or name in clears)
    }
    return _with(body, extra)


def whole(request: Mapping[str, Any], kind: type, extra: Body | None = None) -> dict[str, Any]:
    """A body that the caller wrote, and what else is sent with it.

    `kind` is its TypedDict. Raises TypeError for a member that it does not have, at any depth; `extra` may have any.
    """
    _refuse_unknown(request, kind)
    return _with(dict(request), extra)


def _with(body: dict[str, Any], extra: Body | None) -> dict[str, Any]:
    for name, value in (extra or {}).items():
        known = body.get(name)
        both = isinstance(known, Mapping) and isinstance(value, Mapping)
        body[name] = _with(dict(known or {}), value) if both else value
    return body


def _refuse_unknown(value: Mapping[str, Any], kind: type) -> None:
    parts = _parts(kind)
    for name, member in value.items():
        if name not in parts:
            near = difflib.get_close_matches(str(name), parts, 1)
            hint = f" Did you mean {near[0]}?" if near else ""
            raise TypeError(
                f"{kind.__name__} has no member {str(name)[:64]!r}.{hint} Use extra= to send it all the same."
            )
        part = parts[name]
        for each in member if isinstance(member, (list, tuple)) else [member]:
            if part is not None and isinstance(each, Mapping):
                _refuse_unknown(each, part)


@functools.cache
def _parts(kind: type) -> dict[str, type | None]:
    """The members of a request, and the TypedDict of each that is an object, or a list of objects."""
    return {name: _typed_dict(hint) for name, hint in get_type_hints(kind).items()}


def _typed_dict(hint: Any) -> type | None:
    if isinstance(hint, type) and is_typeddict(hint):
        return hint
    return next((each for each in map(_typed_dict, get_args(hint)) if each is not None), None)


def segment(value: object) -> str:
    """A value as one segment of a path."""
    return quote(str(value), safe="")


def segments(value: object) -> str:
    """A value as segments of a path."""
    return quote(str(value))
