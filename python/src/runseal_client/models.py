"""Answers of the service. Members that a later release adds are kept: `model_extra` has them."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict


class Answer(BaseModel):
    """Members that are not listed are kept."""

    model_config = ConfigDict(extra="allow", frozen=True, protected_namespaces=())


class Finding(Answer):
    """What is odd about a run that no gate stopped it for."""

    code: str
    count: int


class RunAnswer(Answer):
    """A sealed run, whatever its outcome: `ok` is true for a completed one alone."""

    ok: bool
    run_id: int
    duration_ms: float
    error: str | None = None
    error_stage: str | None = None
    manifest: dict[str, Any] | None = None
    partial_manifest: dict[str, Any] | None = None
    allow_token: dict[str, Any] | None = None
    findings: list[Finding] = []
    ignored: list[str] = []


class OpenedPermit(Answer):
    """An act that is permitted; `opening` is the sealed document of that decision: save it."""

    permit_id: str
    permit: str | None = None
    opening: dict[str, Any]
    expires_at: str
    close_by: str


class RedeemedPermit(Answer):
    """A permit that was redeemed."""

    permit_id: str
    redeemed_at: str


class RunSummary(Answer):
    """A run of a list."""

    id: int
    created_at: str
    program_id: str
    route_id: str
    status: str
    manifest_hash: str
    error_stage: str
    permit_id: str | None = None
    closing_outcome: str | None = None


class RunPage(Answer):
    """A page of runs, newest first."""

    total: int
    limit: int
    offset: int
    runs: list[RunSummary]


class PermitSummary(Answer):
    """A permit of a list."""

    permit_id: str
    state: Literal["open", "closed", "ended", "refused"]
    audience: str
    route_id: str
    program_id: str
    reserve_tokens: int
    opened_at: str
    run_id: int | None = None
    opening: dict[str, Any] | None = None
    end: dict[str, Any] | None = None


class PermitPage(Answer):
    """A page of permits, newest first."""

    total: int
    limit: int
    offset: int
    permits: list[PermitSummary]


class Attestation(Answer):
    """An attested digest: save it as it is, it verifies by itself."""

    attestation_id: str
    digest: str
    log_entry_id: str
    leaf: dict[str, Any]
    entry: dict[str, Any]


class AttestationPage(Answer):
    """A page of attestations, newest first."""

    total: int
    limit: int
    offset: int
    attestations: list[Attestation]


class NewKey(Answer):
    """An API key; the secret is shown in this answer alone."""

    id: int
    name: str
    secret: str
    hint: str


class KeyList(Answer):
    """All API keys, oldest first."""

    keys: list[dict[str, Any]]


class Published(Answer):
    """Where a run is published."""

    run_id: int
    token: str
    url: str
