"""Every request of the public API, once for both clients."""

from __future__ import annotations

import os
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, Literal, TypeVar
from urllib.parse import quote

from . import models as m
from .models import Answer

T = TypeVar("T")
A = TypeVar("A", bound=Answer)
Body = Mapping[str, Any]
FailureCode = Literal["NOT_EXECUTED", "EXECUTOR_REFUSED", "EXECUTOR_FAILED", "TIMED_OUT"]
ReportFormat = Literal["brief", "auditor", "legal", "comprehensive"]

DEFAULT_URL = "http://127.0.0.1:8080"
TIMEOUT_SECONDS = 30.0


@dataclass(frozen=True)
class Call(Generic[T]):
    """One request. `answer` is the model of its answer, or bytes for what is no JSON."""

    method: str
    path: str
    answer: type[T]
    body: Body | None = None
    query: Mapping[str, str] = field(default_factory=dict)
    idempotency_key: str | None = None

    @property
    def repeatable(self) -> bool:
        """Whether a second request has no effect that the first did not have."""
        return self.method == "GET" or self.idempotency_key is not None


def address(url: str | None) -> str:
    """The service's address: what is given, else RUNSEAL_URL."""
    return (url or os.environ.get("RUNSEAL_URL") or DEFAULT_URL).rstrip("/")


def headers(api_key: str | None) -> dict[str, str]:
    """The caller's credential: what is given, else RUNSEAL_API_KEY."""
    key = api_key or os.environ.get("RUNSEAL_API_KEY")
    return {"X-Service-Key": key} if key else {}


def new_key() -> str:
    """An idempotency key of its own."""
    return str(uuid.uuid4())


def _given(members: Mapping[str, Any]) -> dict[str, str]:
    return {name: str(value) for name, value in members.items() if value is not None}


def _segment(value: object) -> str:
    return quote(str(value), safe="")


def execute(body: Body, key: str | None) -> Call[m.RunAnswer]:
    return Call("POST", "/execute", m.RunAnswer, body, idempotency_key=key or new_key())


def open_permit(body: Body, key: str | None) -> Call[m.OpenedPermit]:
    return Call("POST", "/permits", m.OpenedPermit, body, idempotency_key=key or new_key())


def close_permit(permit_id: str, body: Body, key: str | None) -> Call[m.RunAnswer]:
    path = f"/permits/{_segment(permit_id)}/close"
    return Call("POST", path, m.RunAnswer, body, idempotency_key=key or f"close-{permit_id}")


def redeem_permit(permit_id: str, permit: str) -> Call[m.RedeemedPermit]:
    return Call("POST", f"/permits/{_segment(permit_id)}/redeem", m.RedeemedPermit, {"permit": permit})


def permits(limit: int, offset: int, state: str | None) -> Call[m.PermitPage]:
    return Call("GET", "/permits", m.PermitPage, query=_given({"limit": limit, "offset": offset, "state": state}))


def permit(permit_id: str) -> Call[m.PermitSummary]:
    return Call("GET", f"/permits/{_segment(permit_id)}", m.PermitSummary)


def runs(limit: int, offset: int, filters: Mapping[str, str]) -> Call[m.RunPage]:
    path = "/runs/search" if filters else "/runs"
    return Call("GET", path, m.RunPage, query={**_given({"limit": limit, "offset": offset}), **filters})


def run(run_id: int) -> Call[m.RunSummary]:
    return Call("GET", f"/runs/{run_id}", m.RunSummary)


def bundle(run_id: int, full: bool) -> Call[bytes]:
    return Call("GET", f"/runs/{run_id}/artifacts", bytes, query={"form": "full"} if full else {})


def report(run_id: int, form: ReportFormat) -> Call[bytes]:
    return Call("GET", f"/runs/{run_id}/report.pdf", bytes, query={"format": form})


def statement(run_id: int) -> Call[bytes]:
    return Call("GET", f"/runs/{run_id}/statement.intoto.json", bytes)


def export(since: str | None, until: str | None) -> Call[bytes]:
    return Call("GET", "/runs/export", bytes, query=_given({"from": since, "to": until}))


def attest(digest: str, subject_ref: str | None, key: str | None) -> Call[m.Attestation]:
    body = {"digest": digest, "algorithm": "sha256", **_given({"subject_ref": subject_ref})}
    return Call("POST", "/attest", m.Attestation, body, idempotency_key=key or new_key())


def attestations(limit: int, offset: int) -> Call[m.AttestationPage]:
    return Call("GET", "/attestations", m.AttestationPage, query=_given({"limit": limit, "offset": offset}))


def make_key(name: str, admin: bool, tier: str | None) -> Call[m.NewKey]:
    scope = {"scope": "admin", "confirm_admin_scope": True} if admin else {}
    return Call("POST", "/admin/keys", m.NewKey, {"name": name, **scope, **_given({"tier": tier})})


def keys() -> Call[m.KeyList]:
    return Call("GET", "/admin/keys", m.KeyList)


def revoke_key(key_id: int) -> Call[Answer]:
    return Call("DELETE", f"/admin/keys/{key_id}", Answer)


def publish(run_id: int) -> Call[m.Published]:
    return Call("POST", f"/admin/runs/{run_id}/publish", m.Published)


def unpublish(run_id: int) -> Call[Answer]:
    return Call("POST", f"/admin/runs/{run_id}/unpublish", Answer)


def document(path: str) -> Call[bytes]:
    """A document without an API key of its own: the trust document, keys, readiness."""
    return Call("GET", path, bytes)
