# Made by `node tools/src/python-api/make-python-api.ts` from the OpenAPI document. Do not change it by hand.
"""What the service answers. Members that a later release adds are there too; a missing one is None."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from ..answer import Answer, Document


class Finding(Answer):
    code: Literal["SIGNATURE_MATCH_OBSERVED", "PAYLOAD_EMPTY", "TIMESTAMP_UNPARSABLE", "TIMESTAMP_OUT_OF_ORDER", "TIMESTAMP_AFTER_ADMISSION", "APPROVERS_OUT_OF_SEQUENCE", "APPROVER_REPEATED", "APPROVER_UNNAMED", "APPROVER_IS_ACTOR", "ACTOR_SIGNATURE_NOT_VERIFIED", "PROMPT_HASH_MISMATCH", "AI_OUTPUT_HASH_MISMATCH", "AI_OUTPUT_HASH_UNCHECKED", "COST_WITHOUT_TOTAL", "COST_PARTS_EXCEED_TOTAL", "COST_DOES_NOT_ADD_UP"] | str
    count: int


class ReadValue(Answer):
    name: str
    value: str
    word: Literal["act", "bound", "verified", "declared"] | str
    compared: str | None = None


class Explanation(Answer):
    reason: str
    rule_id: str | None = None
    description: str | None = None
    title: str | None = None
    reference: str | None = None
    matched_in: str | None = None
    needed: list[str] | int | None = None
    present: list[str] | int | None = None
    missing: list[str] | None = None
    read: list[ReadValue] | None = None


class RunAnswer(Answer):
    """The answer of POST /execute and POST /permits/{id}/close."""

    ok: bool
    run_id: int
    duration_ms: int
    findings: list[Finding] | None = None
    ignored: list[str] | None = None
    enforcement: Literal["observe"] | str | None = None
    outcome_kind: Literal["ok", "pepg_deny", "ccv_halt", "macc_halt", "aivp_t4_halt", "attestation_gap", "stage_error"] | str | None = None
    manifest: Document | None = None
    allow_token: Document | None = None
    error: str | None = None
    explanation: Explanation | None = None
    partial_manifest: Document | None = None
    error_stage: Literal["PEPG", "CCV", "MACC", "AIVP_T4", "PEPG_ADMISSION", "DOG", "DTL", "DKEC", "AER", "ZKSP", "PHASE4", "LEDGER", "REGISTRY", "DLA"] | str | None = None
    deny_receipt: Document | None = None
    ccv_halt_receipt: Document | None = None
    macc_halt_receipt: Document | None = None
    aivp_t4_halt_receipt: Document | None = None
    attestation_gap_receipt: Document | None = None


class Rehearsal(Answer):
    manifest_hash: str


class Difference(Answer):
    differs: bool
    differing_fields: list[str]


class DeterminismAnswer(Answer):
    """The answer of POST /execute/verify-determinism."""

    deterministic: bool
    first: Rehearsal
    second: Rehearsal
    diff: Difference


class Check(Answer):
    id: Literal["shape", "sections", "decision", "manifest", "transcript", "executions", "leaf", "entry", "inclusion", "log_time", "bundle_hash", "complete_record", "outside", "witnessed", "signature"] | str
    result: Literal["pass", "fail", "absent", "withheld"] | str
    message: str


class Limitation(Answer):
    code: Literal["operator_log", "witnessed_log", "unknown_witness", "own_log_alone", "late_entry", "declared_content", "stated_end_user", "stated_approvals", "open_request", "reported_act", "opening_before_act", "open_permit", "ended_openings", "event_clock", "chain_tail", "statement_alone", "later_records", "second_chain", "stated_range", "future_dated", "repeats_beyond", "statement_of_record", "signing_time", "run_number_not_bound", "run_facts_not_bound", "software_attestation", "builtin_reviewer", "output_not_reviewed", "review_disabled", "pages_rendered", "key_revoked_later", "observed_only", "withheld_section"] | str
    sentence: str
    strict: bool


class DcaeAnswer(Answer):
    """The answer of POST /dcae/verify."""

    verified: bool
    verdict: Literal["VERIFIED AND ANCHORED, COMPLETE RECORD ANCHORED", "VERIFIED AND ANCHORED", "RECEIPT VERIFIED AND ANCHORED", "ATTESTATION VERIFIED AND ANCHORED", "EXPORT STATEMENT VERIFIED AND ANCHORED", "OPENING VERIFIED AND ANCHORED", "APPROVAL REQUEST VERIFIED AND ANCHORED", "PERMIT END VERIFIED AND ANCHORED", "ADMIN EVENT VERIFIED AND ANCHORED", "RECEIPT SELF-CONSISTENT ONLY, NOT ANCHORED", "SELF-CONSISTENT ONLY, NOT ANCHORED", "RUN STATEMENT SIGNED, NOT ANCHORED", "FAILED"] | str
    checks: list[Check]
    outcome_kind: Literal["ok", "pepg_deny", "ccv_halt", "macc_halt", "aivp_t4_halt", "attestation_gap", "stage_error"] | str | None = None
    enforcement: Literal["observe"] | str | None = None
    statement: str | None = None
    withheld: list[Literal["attested_context", "request_substance", "authorization_chain", "regulatory_scaffolding", "causal_graph", "reproducibility_context", "closing", "end_user", "act", "approvals"] | str]
    limitations: list[Limitation]
    engine_version: str


class OpenPermitAnswer(Answer):
    """The answer of POST /permits and POST /approvals/{id}/permit."""

    permit_id: str
    permit: str | None = Field(default=None, repr=False)
    opening: Document
    expires_at: str
    close_by: str
    ignored: list[str] | None = None


class PermitSummary(Answer):
    permit_id: str
    state: Literal["open", "closed", "ended", "refused"] | str
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
    closing_outcome: Literal["completed", "failed"] | str | None = None


class PermitsPage(Answer):
    """The answer of GET /permits."""

    total: int
    limit: int
    offset: int
    permits: list[PermitSummary]
    next: str | None = None


class PermitRecord(Answer):
    """The answer of GET /permits/{id}."""

    permit_id: str
    state: Literal["open", "closed", "ended", "refused"] | str
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
    closing_outcome: Literal["completed", "failed"] | str | None = None
    opening: Document | None = None
    end: Document | None = None


class AskedApprovalAnswer(Answer):
    """The answer of DELETE /approvals/{id}."""

    approval_id: str
    state: Literal["waiting", "approved", "rejected", "withdrawn", "collected", "refused"] | str
    expires_at: str
    address: str
    request: Document
    ignored: list[str] | None = None


class AskedActValue(Answer):
    name: str
    at: str
    type: Literal["ascii", "string", "integer", "decimal", "boolean", "strings", "sum", "max"] | str
    value: str | int | bool | list[str]


class AskedAct(Answer):
    table: str
    values: list[AskedActValue]


class ApprovalEndUser(Answer):
    issuer: str
    subject: str


class NeededApproval(Answer):
    rule_id: str
    by: list[str]
    count: int
    within_seconds: int
    proof: Literal["any", "idp", "passkey"] | str | None = None
    end_user: Literal["required", "optional"] | str | None = None


class ApprovalDecision(Answer):
    decision: Literal["approve", "reject"] | str
    key_name: str | None = None
    groups: list[str]
    proof: Literal["key", "idp", "passkey"] | str
    decided_at: str
    issuer: str | None = None
    subject: str
    name: str | None = None
    comment: str | None = None


class ApprovalRejection(Answer):
    approval_id: str
    decision: Literal["approve", "reject"] | str
    key_name: str | None = None
    groups: list[str]
    proof: Literal["key", "idp", "passkey"] | str
    decided_at: str
    issuer: str | None = None
    subject: str
    name: str | None = None
    comment: str | None = None


class ApprovedBefore(Answer):
    approval_id: str
    requested_at: str
    act: AskedAct | None = None
    decisions: list[ApprovalDecision]


class ApprovalRecord(Answer):
    """The answer of GET /approvals/{id}."""

    approval_id: str
    state: Literal["waiting", "approved", "rejected", "withdrawn", "collected", "refused"] | str
    requested_at: str
    expires_at: str
    tenant_id: str
    program_id: str
    route_id: str
    audience: str
    asked_by: str | None = None
    act: AskedAct | None = None
    end_user: ApprovalEndUser | None = None
    needed: list[NeededApproval]
    decisions: list[ApprovalDecision]
    permit_id: str | None = None
    run_id: int | None = None
    request_digest: str
    request: Document
    address: str
    payload: str | None = None
    rejections: list[ApprovalRejection]
    approved_before: ApprovedBefore | None = None


class RedeemPermitAnswer(Answer):
    """The answer of POST /permits/{id}/redeem."""

    permit_id: str
    redeemed_at: str


class ApprovalSummary(Answer):
    approval_id: str
    state: Literal["waiting", "approved", "rejected", "withdrawn", "collected", "refused"] | str
    requested_at: str
    expires_at: str
    tenant_id: str
    program_id: str
    route_id: str
    audience: str
    asked_by: str | None = None
    act: AskedAct | None = None
    end_user: ApprovalEndUser | None = None
    needed: list[NeededApproval]
    decisions: list[ApprovalDecision]
    permit_id: str | None = None
    run_id: int | None = None


class ApprovalsPage(Answer):
    """The answer of GET /approvals."""

    limit: int
    approvals: list[ApprovalSummary]
    next: str | None = None


class DecidedApproval(Answer):
    """The answer of POST /approvals/{id}/decision and DELETE /approvals/{id}/comments."""

    approval_id: str
    state: Literal["waiting", "approved", "rejected", "withdrawn", "collected", "refused"] | str
    requested_at: str
    expires_at: str
    tenant_id: str
    program_id: str
    route_id: str
    audience: str
    asked_by: str | None = None
    act: AskedAct | None = None
    end_user: ApprovalEndUser | None = None
    needed: list[NeededApproval]
    decisions: list[ApprovalDecision]
    permit_id: str | None = None
    run_id: int | None = None


class PasskeyPlace(Answer):
    origin: str
    rp_id: str


class PasskeyConfirmer(Answer):
    issuer: str
    subject: str


class PasskeySummary(Answer):
    passkey_id: str
    state: Literal["pending", "counts", "revoked"] | str
    issuer: str
    subject: str
    name: str
    credential_id: str
    public_key: str
    origin: str
    rp_id: str
    enrolled_at: str
    counts_from: str
    confirmed_by: PasskeyConfirmer | None = None
    revoked_at: str | None = None


class PasskeyList(Answer):
    """The answer of GET /passkeys."""

    enrolment: PasskeyPlace | None = None
    total: int
    passkeys: list[PasskeySummary]


class PasskeyAnswer(Answer):
    """The answer of POST /passkeys, POST /passkeys/{id}/confirmation and DELETE /passkeys/{id}."""

    passkey_id: str
    state: Literal["pending", "counts", "revoked"] | str
    issuer: str
    subject: str
    name: str
    credential_id: str
    public_key: str
    origin: str
    rp_id: str
    enrolled_at: str
    counts_from: str
    confirmed_by: PasskeyConfirmer | None = None
    revoked_at: str | None = None


class ListedExplanation(Answer):
    reason: str
    rule_id: str | None = None
    needed: list[str] | int | None = None
    present: list[str] | int | None = None
    missing: list[str] | None = None
    matched_in: str | None = None
    title: str | None = None


class RunWho(Answer):
    actor_id: str | None = None
    end_user: str | None = None


class RunSummary(Answer):
    id: int
    created_at: str
    program_id: str
    route_id: str
    manifest_hash: str
    duration_ms: int
    status: Literal["ok", "pepg_deny", "ccv_halt", "macc_halt", "aivp_t4_halt", "attestation_gap", "stage_error"] | str
    outcome_kind: Literal["ok", "pepg_deny", "ccv_halt", "macc_halt", "aivp_t4_halt", "attestation_gap", "stage_error"] | str
    error_stage: Literal["", "PEPG_ADMISSION", "PEPG", "CCV", "MACC", "AIVP_T4", "DOG", "DTL", "DKEC", "AER", "ZKSP", "PHASE4", "LEDGER", "REGISTRY", "DLA"] | str
    enforcement: Literal["observe"] | str | None = None
    execution_region: str
    findings: list[Finding] | None = None
    explanation: ListedExplanation | None = None
    permit_id: str | None = None
    closing_outcome: Literal["completed", "failed"] | str | None = None
    who: RunWho | None = None


class RunsPage(Answer):
    """The answer of GET /runs and GET /runs/search."""

    total: int
    limit: int
    offset: int
    runs: list[RunSummary]
    next: int | None = None


class RunRecord(Answer):
    """The answer of GET /runs/{id}."""

    id: int
    created_at: str
    program_id: str
    route_id: str
    manifest_hash: str
    duration_ms: int
    status: Literal["ok", "pepg_deny", "ccv_halt", "macc_halt", "aivp_t4_halt", "attestation_gap", "stage_error"] | str
    outcome_kind: Literal["ok", "pepg_deny", "ccv_halt", "macc_halt", "aivp_t4_halt", "attestation_gap", "stage_error"] | str
    error_stage: Literal["", "PEPG_ADMISSION", "PEPG", "CCV", "MACC", "AIVP_T4", "DOG", "DTL", "DKEC", "AER", "ZKSP", "PHASE4", "LEDGER", "REGISTRY", "DLA"] | str
    enforcement: Literal["observe"] | str | None = None
    execution_region: str
    findings: list[Finding] | None = None
    explanation: Explanation | None = None
    permit_id: str | None = None
    closing_outcome: Literal["completed", "failed"] | str | None = None
    who: RunWho | None = None
    payload_hash: str
    duration_us: int
    error_message: str
    manifest: Document | None = None
    partial_manifest: Document | None = None


class EngineHint(Answer):
    available_at: str
    engine_version: str


class VerifyAnswer(Answer):
    """The answer of GET /runs/{id}/verify and GET /admin/runs/{id}/verify."""

    verified: bool
    manifest_hash: str
    recomputed_hash: str | None = None
    verification_at: str | None = None
    verification_kind: Literal["manifest-self-seal", "receipt-self-seal"] | str | None = None
    formula_version: str | None = None
    dcae_engine_hint: EngineHint | None = None
    reason: str | None = None


class Attestation(Answer):
    """The answer of POST /attest."""

    digest: str
    attestation_id: str
    log_entry_id: str
    leaf: Document
    entry: Document


class ListedAttestation(Answer):
    created_at: str
    algorithm: Literal["sha256"] | str
    subject_ref: str | None = None
    digest: str
    attestation_id: str
    log_entry_id: str
    leaf: Document
    entry: Document


class AttestationsPage(Answer):
    """The answer of GET /attestations."""

    total: int
    limit: int
    offset: int
    attestations: list[ListedAttestation]


class MintedKey(Answer):
    """The answer of POST /admin/keys."""

    id: int
    name: str
    secret: str = Field(repr=False)
    tier: Literal["trial", "production"] | str
    hint: str
    ignored: list[str] | None = None


class KeyClaim(Answer):
    claimed_at: str
    claimed_by: int


class ListedKey(Answer):
    id: int
    name: str
    scope: Literal["admin", "customer", "auditor", "approver"] | str
    tier: Literal["trial", "production"] | str
    created_at: str
    last_used_at: str | None
    run_count: int
    revoked: bool
    created_by: str | None = None
    revoked_at: str | None = None
    revoked_by: str | None = None
    rotated_at: str | None = None
    overlap_until: str | None = None
    notes: str | None = None
    expires_at: str | None = None
    run_token_budget: int | None = None
    window_token_budget: int | None = None
    rate_limit: int | None = None
    reads: list[int] | None = None
    share: bool | None = None
    observe: bool | None = None
    person: str | None = None
    groups: list[str] | None = None
    persons: list[str] | None = None
    claim: KeyClaim | None = None


class KeyList(Answer):
    """The answer of GET /admin/keys."""

    keys: list[ListedKey]


class ChangedKey(Answer):
    """The answer of PATCH /admin/keys/{id}."""

    id: int
    name: str
    scope: Literal["admin", "customer", "auditor", "approver"] | str
    tier: Literal["trial", "production"] | str
    created_at: str
    last_used_at: str | None
    run_count: int
    revoked: bool
    created_by: str | None = None
    revoked_at: str | None = None
    revoked_by: str | None = None
    rotated_at: str | None = None
    overlap_until: str | None = None
    notes: str | None = None
    expires_at: str | None = None
    run_token_budget: int | None = None
    window_token_budget: int | None = None
    rate_limit: int | None = None
    reads: list[int] | None = None
    share: bool | None = None
    observe: bool | None = None
    person: str | None = None
    groups: list[str] | None = None
    persons: list[str] | None = None
    claim: KeyClaim | None = None
    ignored: list[str] | None = None


class RevokedKey(Answer):
    """The answer of DELETE /admin/keys/{id}."""

    id: int
    revoked: bool


class RotatedKey(Answer):
    """The answer of POST /admin/keys/{id}/rotate."""

    id: int
    name: str
    secret: str = Field(repr=False)
    overlap_until: str | None = None
    hint: str
    ignored: list[str] | None = None


class ClaimedRuns(Answer):
    """The answer of POST /admin/runs/claim."""

    key_id: int
    claimed_at: str
    claimed_by: int
    runs: int


class PublishedRun(Answer):
    """The answer of POST /admin/runs/{id}/publish."""

    run_id: int
    token: str
    url: str


class UnpublishedRun(Answer):
    """The answer of POST /admin/runs/{id}/unpublish."""

    run_id: int
    published: bool


class MadeShare(Answer):
    """The answer of POST /admin/runs/{id}/share."""

    share_id: int
    run_id: int
    token: str = Field(repr=False)
    url: str = Field(repr=False)
    expires_at: str


class Share(Answer):
    share_id: int
    run_id: int
    key_id: int
    outcome_kind: Literal["ok", "pepg_deny", "ccv_halt", "macc_halt", "aivp_t4_halt", "attestation_gap", "stage_error"] | str
    made_by: int
    made_at: str
    expires_at: str


class SharesPage(Answer):
    """The answer of GET /admin/shares."""

    limit: int
    shares: list[Share]
    next: int | None = None


class RevokedShare(Answer):
    """The answer of DELETE /admin/shares/{id}."""

    share_id: int
    revoked: bool


class PolicyVersion(Answer):
    version: int
    policy_id: str
    policy_name: str
    policy_hash: str
    active_since: str
    source: Literal["built-in", "file", "api"] | str
    loaded_by: str | None = None
    loaded_by_name: str | None = None
    policy: dict[str, Any]


class ProposedPolicy(Answer):
    policy_id: str
    policy_name: str
    policy_hash: str
    proposed_by: str
    proposed_by_name: str | None = None
    expires_at: str
    policy: dict[str, Any]


class PoliciesPage(Answer):
    """The answer of GET /admin/policies."""

    limit: int
    policies: list[PolicyVersion]
    proposed: list[ProposedPolicy] | None = None
    next: int | None = None


class LoadedPolicy(Answer):
    """The answer of POST /admin/policies."""

    changed: bool
    version: int
    policy_id: str
    policy_name: str
    policy_hash: str
    active_since: str
    source: Literal["built-in", "file", "api"] | str
    loaded_by: str | None = None
    loaded_by_name: str | None = None
    policy: dict[str, Any]


class FoundPolicy(Answer):
    """The answer of GET /admin/policies/{version}."""

    version: int
    policy_id: str
    policy_name: str
    policy_hash: str
    active_since: str
    source: Literal["built-in", "file", "api"] | str
    loaded_by: str | None = None
    loaded_by_name: str | None = None
    policy: dict[str, Any]


class NamedPolicy(Answer):
    policy_id: str
    policy_hash: str


class RuleCounts(Answer):
    rule_id: str
    in_force: int
    candidate: int


class Judgement(Answer):
    decision: Literal["admitted", "denied", "not_admitted"] | str
    rule_id: str | None = None
    reason: Literal["RULE_ALLOWED", "RULE_DENIED", "RULE_APPROVED", "APPROVAL_REQUIRED", "APPROVAL_REJECTED", "APPROVAL_EXPIRED", "APPROVAL_UNUSED", "APPROVAL_WITHDRAWN", "DEFAULT_DENY", "ACT_UNREADABLE", "END_USER_UNREADABLE", "POLICY_EVALUATION_ERROR", "MCD_SIGNATURE_MATCH"] | str | None = None
    missing_fields: list[Literal["attested", "actor_id", "actor_role", "authorization_policy", "actor_signature", "model_provider", "model_name", "model_version", "model_temperature", "prompt_hash", "decision_kind", "decision_result", "decision_note"] | str] | None = None


class ChangedDecision(Answer):
    run_id: int
    tenant_id: str
    route_id: str
    created_at: str
    outcome_kind: Literal["ok", "pepg_deny", "ccv_halt", "macc_halt", "aivp_t4_halt", "attestation_gap", "stage_error"] | str
    in_force: Judgement
    candidate: Judgement


class NotJudgedRun(Answer):
    run_id: int
    reason: str


class DryRunAnswer(Answer):
    """The answer of POST /admin/policies/dry-run."""

    in_force: NamedPolicy
    candidate: NamedPolicy
    judged: int
    changed: int
    newly_refused: int
    newly_admitted: int
    rules: list[RuleCounts]
    changes: list[ChangedDecision]
    not_judged: int
    not_judged_runs: list[NotJudgedRun]


class AdminRunSummary(Answer):
    id: int
    created_at: str
    program_id: str
    route_id: str
    manifest_hash: str
    duration_ms: int
    status: Literal["ok", "pepg_deny", "ccv_halt", "macc_halt", "aivp_t4_halt", "attestation_gap", "stage_error"] | str
    outcome_kind: Literal["ok", "pepg_deny", "ccv_halt", "macc_halt", "aivp_t4_halt", "attestation_gap", "stage_error"] | str
    error_stage: Literal["", "PEPG_ADMISSION", "PEPG", "CCV", "MACC", "AIVP_T4", "DOG", "DTL", "DKEC", "AER", "ZKSP", "PHASE4", "LEDGER", "REGISTRY", "DLA"] | str
    enforcement: Literal["observe"] | str | None = None
    execution_region: str
    findings: list[Finding] | None = None
    explanation: ListedExplanation | None = None
    permit_id: str | None = None
    closing_outcome: Literal["completed", "failed"] | str | None = None
    who: RunWho | None = None
    key_id: int


class OutcomeCounts(Answer):
    ok: int
    pepg_deny: int
    ccv_halt: int
    macc_halt: int
    aivp_t4_halt: int
    attestation_gap: int
    stage_error: int


class AdminRunsPage(Answer):
    """The answer of GET /admin/runs."""

    limit: int
    runs: list[AdminRunSummary]
    next: int | None = None
    counts: OutcomeCounts | None = None


class AdminRunRecord(Answer):
    """The answer of GET /admin/runs/{id}."""

    id: int
    created_at: str
    program_id: str
    route_id: str
    manifest_hash: str
    duration_ms: int
    status: Literal["ok", "pepg_deny", "ccv_halt", "macc_halt", "aivp_t4_halt", "attestation_gap", "stage_error"] | str
    outcome_kind: Literal["ok", "pepg_deny", "ccv_halt", "macc_halt", "aivp_t4_halt", "attestation_gap", "stage_error"] | str
    error_stage: Literal["", "PEPG_ADMISSION", "PEPG", "CCV", "MACC", "AIVP_T4", "DOG", "DTL", "DKEC", "AER", "ZKSP", "PHASE4", "LEDGER", "REGISTRY", "DLA"] | str
    enforcement: Literal["observe"] | str | None = None
    execution_region: str
    findings: list[Finding] | None = None
    explanation: Explanation | None = None
    permit_id: str | None = None
    closing_outcome: Literal["completed", "failed"] | str | None = None
    who: RunWho | None = None
    payload_hash: str
    duration_us: int
    error_message: str
    manifest: Document | None = None
    partial_manifest: Document | None = None
    key_id: int


class AdminPermitSummary(Answer):
    permit_id: str
    state: Literal["open", "closed", "ended", "refused"] | str
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
    closing_outcome: Literal["completed", "failed"] | str | None = None
    key_id: int


class AdminPermitsPage(Answer):
    """The answer of GET /admin/permits."""

    limit: int
    permits: list[AdminPermitSummary]
    next: str | None = None


class AdminPermitRecord(Answer):
    """The answer of GET /admin/permits/{id}."""

    permit_id: str
    state: Literal["open", "closed", "ended", "refused"] | str
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
    closing_outcome: Literal["completed", "failed"] | str | None = None
    opening: Document | None = None
    end: Document | None = None
    key_id: int


class Publication(Answer):
    run_id: int
    key_id: int
    outcome_kind: Literal["ok", "pepg_deny", "ccv_halt", "macc_halt", "aivp_t4_halt", "attestation_gap", "stage_error"] | str
    token: str
    url: str
    published_at: str


class PublicationsPage(Answer):
    """The answer of GET /admin/published."""

    limit: int
    published: list[Publication]
    next: int | None = None


class BudgetWindow(Answer):
    window_start: str
    window_seconds: int
    runs: int
    total: int
    cap: int


class TrialQuota(Answer):
    used: int
    left: int


class KeyUsage(Answer):
    key_id: int
    name: str
    scope: Literal["admin", "customer", "auditor", "approver"] | str | None = None
    tier: Literal["trial", "production"] | str | None = None
    revoked: bool
    last_used_at: str | None = None
    runs: int
    outcomes: OutcomeCounts
    tokens: int
    open_permits: int
    window: BudgetWindow
    trial: TrialQuota | None = None


class UsageAnswer(Answer):
    """The answer of GET /admin/usage."""

    at: str
    keys: list[KeyUsage]


class OverviewStep(Answer):
    from_: str = Field(alias="from")
    runs: int
    outcomes: OutcomeCounts
    tokens: int
    log_entries: int


class OverviewBefore(Answer):
    from_: str = Field(alias="from")
    runs: int
    outcomes: OutcomeCounts
    tokens: int


class DeniedBy(Answer):
    rule_id: str
    runs: int


class OverviewAnswer(Answer):
    """The answer of GET /admin/overview."""

    at: str
    range: Literal["24h", "7d", "30d", "90d"] | str
    step_seconds: int
    window_seconds: int
    steps: list[OverviewStep]
    previous: OverviewBefore
    denied_by: list[DeniedBy]


class ContradictingWitness(Answer):
    name: str


class FoundContradictingWitness(Answer):
    count: int
    first: list[ContradictingWitness]


class NotReady(Answer):
    error: str


class FoundNotReady(Answer):
    count: int
    first: list[NotReady]


class ClockBehind(Answer):
    by: str
    seconds: int


class FoundClockBehind(Answer):
    count: int
    first: list[ClockBehind]


class WaitingApproval(Answer):
    approval_id: str
    route_id: str
    expires_at: str


class FoundWaitingApproval(Answer):
    count: int
    first: list[WaitingApproval]


class FailingReceiver(Answer):
    id: int
    name: str
    fault: Literal["unreachable", "timed_out", "tls_failed", "address_refused", "refused"] | str
    failing_since: str
    backlog: int


class FoundFailingReceiver(Answer):
    count: int
    first: list[FailingReceiver]


class FullBudget(Answer):
    key_id: int
    name: str
    total: int
    cap: int
    ends_at: str


class FoundFullBudget(Answer):
    count: int
    first: list[FullBudget]


class UrgentPermit(Answer):
    permit_id: str
    key_id: int
    route_id: str
    close_by: str
    redeemed: bool


class FoundUrgentPermit(Answer):
    count: int
    first: list[UrgentPermit]


class DenyingRule(Answer):
    rule_id: str
    runs: int
    runs_before: int


class FoundDenyingRule(Answer):
    count: int
    first: list[DenyingRule]


class WaitingPasskey(Answer):
    subject: str


class FoundWaitingPasskey(Answer):
    count: int
    first: list[WaitingPasskey]


class Unwitnessed(Answer):
    why: Literal["none_asked", "too_few", "removed"] | str
    name: str | None = None
    needed: int | None = None


class FoundUnwitnessed(Answer):
    count: int
    first: list[Unwitnessed]


class SilentWitness(Answer):
    name: str
    cosigned_at: str | None = None
    fault: Literal["unreachable", "refused", "invalid", "contradicted"] | str | None = None


class FoundSilentWitness(Answer):
    count: int
    first: list[SilentWitness]


class FailingOutsideLog(Answer):
    host: str
    fault: Literal["unreachable", "limited", "failed", "refused", "invalid", "untimed"] | str
    failing_seconds: int


class FoundFailingOutsideLog(Answer):
    count: int
    first: list[FailingOutsideLog]


class LateOutsideLog(Answer):
    host: str
    seconds: int


class FoundLateOutsideLog(Answer):
    count: int
    first: list[LateOutsideLog]


class AttentionFound(Answer):
    contradicting_witnesses: FoundContradictingWitness | None = None
    not_ready: FoundNotReady | None = None
    clock_behind: FoundClockBehind | None = None
    approvals_for_you: FoundWaitingApproval | None = None
    failing_receivers: FoundFailingReceiver | None = None
    full_budgets: FoundFullBudget | None = None
    unreported_permits: FoundUrgentPermit | None = None
    ending_permits: FoundUrgentPermit | None = None
    denying_rules: FoundDenyingRule | None = None
    waiting_approvals: FoundWaitingApproval | None = None
    waiting_passkeys: FoundWaitingPasskey | None = None
    not_witnessed: FoundUnwitnessed | None = None
    silent_witnesses: FoundSilentWitness | None = None
    failing_outside_logs: FoundFailingOutsideLog | None = None
    late_outside_logs: FoundLateOutsideLog | None = None
    near_budgets: FoundFullBudget | None = None


class AttentionAnswer(Answer):
    """The answer of GET /attention."""

    at: str
    log_size: int
    asked: list[Literal["contradicting_witnesses", "not_ready", "clock_behind", "approvals_for_you", "failing_receivers", "full_budgets", "unreported_permits", "ending_permits", "denying_rules", "waiting_approvals", "waiting_passkeys", "not_witnessed", "silent_witnesses", "failing_outside_logs", "late_outside_logs", "near_budgets"] | str]
    found: AttentionFound


class SignatureLibrary(Answer):
    library_hash: str
    count: int


class PolicyInForce(Answer):
    """The answer of GET /admin/policy."""

    policy_id: str
    policy_hash: str
    policy: dict[str, Any]
    active_since: str
    signatures: SignatureLibrary


class Administrator(Answer):
    actor: str
    name: str | None = None
    issuer: str | None = None
    subject: str | None = None


class Subject(Answer):
    kind: str
    id: str


class SealedPlace(Answer):
    seal_clock: str
    event_hash: str
    log_index: int


class ListedEvent(Answer):
    ordinal: int
    event_clock: str
    who: Administrator
    action: str
    subject: Subject
    before: dict[str, Any] | None = None
    after: dict[str, Any] | None = None
    sealed: SealedPlace | None = None


class EventsPage(Answer):
    """The answer of GET /admin/audit."""

    limit: int
    events: list[ListedEvent]
    next: int | None = None


class SessionPerson(Answer):
    issuer: str
    subject: str
    groups: list[str]
    signed_in_at: str


class SessionAnswer(Answer):
    """The answer of POST /session and GET /session."""

    key_id: int | None = None
    name: str
    scope: Literal["admin", "customer", "auditor", "approver", "anonymous"] | str
    person: SessionPerson | None = None
    reads: list[int] | None = None
    share: bool | None = None
    csrf_token: str | None = Field(default=None, repr=False)
    idle_ends_at: str | None = None
    ends_at: str | None = None


class ClosedSession(Answer):
    """The answer of DELETE /session."""

    closed: bool


class Destination(Answer):
    id: int
    kind: Literal["webhook", "syslog"] | str
    url: str
    ca: str | None = None
    name: str
    format: Literal["standard", "ocsf", "cef"] | str
    types: list[Literal["run.sealed", "approval.requested", "permit.opened", "permit.closed", "permit.ended", "admin.event"] | str]
    outcomes: list[Literal["ok", "pepg_deny", "ccv_halt", "macc_halt", "aivp_t4_halt", "attestation_gap", "stage_error"] | str]
    key_ids: list[int]
    active: bool
    created_at: str
    created_by: int | None = None


class CreatedDestination(Answer):
    """The answer of POST /admin/destinations."""

    destination: Destination
    secret: str | None = Field(default=None, repr=False)
    position: int
    ignored: list[str] | None = None


class DestinationList(Answer):
    """The answer of GET /admin/destinations."""

    destinations: list[Destination]


class ChangedDestination(Answer):
    """The answer of PATCH /admin/destinations/{id}."""

    destination: Destination
    ignored: list[str] | None = None


class DeletedDestination(Answer):
    """The answer of DELETE /admin/destinations/{id}."""

    id: int
    deleted: bool


class RotatedDestination(Answer):
    """The answer of POST /admin/destinations/{id}/rotate."""

    id: int
    secret: str = Field(repr=False)
    previous_until: str


class DeliveryError(Answer):
    fault: Literal["unreachable", "timed_out", "tls_failed", "address_refused", "refused"] | str
    status: int | None = None


class TestedDestination(Answer):
    """The answer of POST /admin/destinations/{id}/test."""

    id: int
    delivered: bool
    error: DeliveryError | None = None


class ResumedDestination(Answer):
    """The answer of POST /admin/destinations/{id}/resume."""

    id: int
    position: int


class Delivery(Answer):
    id: int
    name: str
    kind: Literal["webhook", "syslog"] | str
    active: bool
    position: int
    backlog: int
    lag_seconds: int
    delivered_at: str | None = None
    last_error: DeliveryError | None = None
    failing_since: str | None = None
    failures: int | None = None
    next_try_at: str | None = None


class DeliveryList(Answer):
    """The answer of GET /admin/deliveries."""

    log_size: int
    deliveries: list[Delivery]


class OutsideStanding(Answer):
    log_id: str
    host: str
    first_index: int
    next_index: int
    backlog: int
    oldest_age_seconds: int
    fault: Literal["unreachable", "limited", "failed", "refused", "invalid", "untimed"] | str | None = None
    failing_seconds: int | None = None


class OutsideLogsAnswer(Answer):
    """The answer of GET /log/outside."""

    logs: list[OutsideStanding]


class WitnessedCheckpoint(Answer):
    size: int
    cosigned_at: str


class Witness(Answer):
    name: str
    asked: bool
    size: int | None = None
    cosigned_at: str | None = None
    fault: Literal["unreachable", "refused", "invalid", "contradicted"] | str | None = None
    failing_since: str | None = None


class WitnessesAnswer(Answer):
    """The answer of GET /log/witnesses."""

    needed: int
    checkpoint: WitnessedCheckpoint | None = None
    witnesses: list[Witness]


class GenesisAnswer(Answer):
    """The answer of GET /log/genesis."""

    log_index: int
    leaf: Document


class KeyChange(Answer):
    log_index: int
    leaf: Document


class KeyChangesAnswer(Answer):
    """The answer of GET /log/key-changes."""

    changes: list[KeyChange]


class InclusionProof(Answer):
    tree_size: int
    root_hash: str
    hashes: list[str]


class LogEntryAnswer(Answer):
    """The answer of GET /log/entry/{index}."""

    log_index: int
    integrated_time: int
    canonicalized_body: str
    inclusion_proof: InclusionProof
    checkpoint: str


class ConsistencyAnswer(Answer):
    """The answer of GET /log/consistency."""

    first: int
    second: int
    hashes: list[str]


class LogSize(Answer):
    origin: str
    size: int


class Links(Answer):
    docs: str
    openapi: str
    verify: str
    trust: str
    jwks: str
    checkpoint: str
    health: str
    ready: str


class IndexAnswer(Answer):
    """The answer of GET /."""

    service: str
    version: str
    mode: Literal["open", "locked"] | str
    log: LogSize
    fingerprints: list[str]
    links: Links


class Health(Answer):
    """The answer of GET /health."""

    service: str
    version: str
    orchestrator_version: str
    orchestrator_git_sha: str
    time: str


class ReadyAnswer(Answer):
    """The answer of GET /ready."""

    ready: bool
    log_size: int
    checked_at: str
    outside_backlog: int | None = None
    outside_fault: Literal["unreachable", "limited", "failed", "refused", "invalid", "untimed"] | str | None = None


class VersionAnswer(Answer):
    """The answer of GET /version."""

    service: str
    version: str
    orchestrator_version: str
    orchestrator_git_sha: str
    engine_version: str
    formula_version: str
    log_origin: str
    base_url: str | None = None
    sign_in_with: str | None = None
