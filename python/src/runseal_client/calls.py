"""What a request of the public API is, for both clients."""

from __future__ import annotations

import os
import re
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, Literal, TypeVar
from urllib.parse import quote

T = TypeVar("T")
Body = Mapping[str, Any]
FailureCode = Literal["NOT_EXECUTED", "EXECUTOR_REFUSED", "EXECUTOR_FAILED", "TIMED_OUT"]
ReportFormat = Literal["brief", "auditor", "legal", "comprehensive"]
Artifact = Literal[
    "allow-token",
    "deny-receipt",
    "ccv-halt-receipt",
    "macc-halt-receipt",
    "aivp-t4-halt-receipt",
    "attestation-gap-receipt",
]

DEFAULT_URL = "http://127.0.0.1:8080"
TIMEOUT_SECONDS = 30.0
DEADLINE_SECONDS = 120.0
_API_KEY = re.compile(r"[!-~]{1,512}")


@dataclass(frozen=True)
class Call(Generic[T]):
    """One request. `answer` is the model of its answer, or bytes for what is no JSON.

    `again` says that a second request has no effect that the first did not have, also without an idempotency key.
    """

    method: str
    path: str
    answer: type[T]
    body: Body | None = None
    query: Mapping[str, str] = field(default_factory=dict)
    idempotency_key: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    again: bool = False

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


def new_key() -> str:
    """An idempotency key of its own."""
    return str(uuid.uuid4())


def given(members: Mapping[str, Any]) -> dict[str, str]:
    """Query parameters: those that are not None."""
    return {name: str(value) for name, value in members.items() if value is not None}


def segment(value: object) -> str:
    """A value as one segment of a path."""
    return quote(str(value), safe="")


def bundle_query(full: bool, witnessed: bool) -> dict[str, str]:
    """The query of a bundle."""
    return ({"form": "full"} if full else {}) | ({"with": "witnessed"} if witnessed else {})
