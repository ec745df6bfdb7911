"""Answers of the service. Members that a later release adds are kept: `model_extra` has them."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field


class Answer(BaseModel):
    """Members that are not listed are kept."""

    model_config = ConfigDict(extra="allow", frozen=True, protected_namespaces=())


class Finding(Answer):
    """What is odd about a run that no gate stopped it for."""

    code: str
    count: int


class RunAnswer(Answer):
    """A sealed run, whatever its outcome: `ok` is true for a completed one, and for every one that was observed only."""

    ok: bool
    run_id: int
    duration_ms: float
    enforcement: Literal["observe"] | None = None
    outcome_kind: str | None = None
    error: str | None = None
    error_stage: str | None = None
    manifest: dict[str, Any] | None = None
    partial_manifest: dict[str, Any] | None = None
    allow_token: dict[str, Any] | None = None
    deny_receipt: dict[str, Any] | None = None
    ccv_halt_receipt: dict[str, Any] | None = None
    macc_halt_receipt: dict[str, Any] | None = None
    aivp_t4_halt_receipt: dict[str, Any] | None = None
    attestation_gap_receipt: dict[str, Any] | None = None
    findings: list[Finding] = []
    ignored: list[str] = []


class OpenedPermit(Answer):
    """An act that is permitted; `opening` is the sealed document of that decision: save it."""

    permit_id: str
    permit: str | None = Field(default=None, repr=False)
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
    outcome_kind: str
    manifest_hash: str
    duration_ms: float
    error_stage: str
    execution_region: str
    enforcement: Literal["observe"] | None = None
    findings: list[Finding] = []
    permit_id: str | None = None
    closing_outcome: str | None = None


class RunRecord(RunSummary):
    """One run, with its manifest where it has one."""

    payload_hash: str
    duration_us: int
    error_message: str
    manifest: dict[str, Any] | None = None
    partial_manifest: dict[str, Any] | None = None


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
    expires_at: str
    close_by: str
    redeem_required: bool
    redeemed_at: str | None = None
    run_id: int | None = None
    closing_outcome: Literal["completed", "failed"] | None = None
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


class ListedAttestation(Attestation):
    """An attestation of a list, which verifies by itself too."""

    created_at: str
    subject_ref: str | None = None


class AttestationPage(Answer):
    """A page of attestations, newest first."""

    total: int
    limit: int
    offset: int
    attestations: list[ListedAttestation]


class Check(Answer):
    """One check of a verification."""

    id: str
    result: Literal["pass", "fail", "absent", "withheld"]
    message: str = ""


class Verification(Answer):
    """What the service says of a document."""

    verified: bool
    verdict: str
    checks: list[Check]
    withheld: list[str]
    limitations: list[dict[str, Any]]
    engine_version: str


class SelfCheck(Answer):
    """The service's own check of a manifest; `reason` where there is none."""

    verified: bool
    manifest_hash: str
    recomputed_hash: str | None = None
    reason: str | None = None


class Determinism(Answer):
    """Two rehearsals of one request."""

    deterministic: bool
    first: dict[str, Any]
    second: dict[str, Any]
    diff: dict[str, Any]


class Session(Answer):
    """Who a client is; a session has the last three."""

    key_id: int
    name: str
    scope: Literal["admin", "customer", "auditor", "anonymous"]
    reads: list[int] | None = None
    share: bool | None = None
    csrf_token: str | None = Field(default=None, repr=False)
    idle_ends_at: str | None = None
    ends_at: str | None = None


class OutsideLogs(Answer):
    """Rekor logs that also get the entries."""

    logs: list[dict[str, Any]]


class Witness(Answer):
    """A witness of the log; `asked` is false for one that the service asks no more."""

    name: str
    asked: bool
    size: int | None = None
    cosigned_at: str | None = None
    fault: str | None = None
    failing_since: str | None = None


class Witnesses(Answer):
    """The witnesses of the log, as the process knows them that answers."""

    needed: int
    checkpoint: dict[str, Any] | None = None
    witnesses: list[Witness]


class Genesis(Answer):
    """The leaf of entry 0."""

    log_index: int
    leaf: dict[str, Any]


class KeyChanges(Answer):
    """Changes of the log's keys."""

    changes: list[Genesis]


class LogEntry(Answer):
    """An entry with its proof."""

    log_index: int
    integrated_time: int
    canonicalized_body: str
    inclusion_proof: dict[str, Any]
    checkpoint: str


class Consistency(Answer):
    """A consistency proof, its hashes in base64."""

    first: int
    second: int
    hashes: list[str]


class Health(Answer):
    """The process answers."""

    service: str
    version: str
    time: str


class Readiness(Answer):
    """The service seals."""

    ready: bool
    log_size: int
    checked_at: str


class Version(Answer):
    """Releases of the service and its formats."""

    service: str
    version: str
    engine_version: str
    formula_version: str
    log_origin: str


class About(Answer):
    """The service's own words."""

    service: str
    version: str
    mode: Literal["open", "locked"]
    log: dict[str, Any]
    fingerprints: list[str]
