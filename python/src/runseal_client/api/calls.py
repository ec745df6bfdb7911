# Made by `node tools/src/python-api/make-python-api.ts` from the OpenAPI document. Do not change it by hand.
"""The request of each call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from ..calls import ABSENT, Absent, Call, given, new_key, segment, segments, spread, whole
from . import answers as a
from . import requests as r


def execute(request: Mapping[str, Any], idempotency_key: str | None = None) -> Call[a.RunAnswer]:
    """Run a payload through all nine stages and seal the result. The stages decide, check, seal and anchor; the service does not run the caller's program. Answered when the record is durable. After a 503, or when the connection breaks, a run may exist; an acknowledged one always does. With an idempotency key the request may be sent again: it gets that run's answer, or makes the one run."""
    return Call("POST", "/execute", a.RunAnswer, request, end_user=True, idempotency_key=idempotency_key or new_key())


def verify_determinism(request: Mapping[str, Any]) -> Call[a.DeterminismAnswer]:
    """Run the same input twice under one clock and nonce. Nothing is stored, charged or anchored."""
    return Call("POST", "/execute/verify-determinism", a.DeterminismAnswer, request, end_user=True, again=True)


def verify_by_service(document: Mapping[str, Any]) -> Call[a.DcaeAnswer]:
    """Verify a document with the server's own keys. A document of any kind. A convenience, not third-party evidence."""
    return Call("POST", "/dcae/verify", a.DcaeAnswer, document, again=True)


def open_permit(request: Mapping[str, Any], idempotency_key: str | None = None) -> Call[a.OpenPermitAnswer]:
    """Decide on an act before it is done, and reserve its tokens. The request of POST /execute without what is known only after the act. An admitted one is anchored as an opening before it is answered; a refused one is a refused run. The permit is a JWT that the party in `audience` checks before it acts. 403 where the service opens no permits; 429 also when the key has 1,000 open permits."""
    return Call(
        "POST",
        "/permits",
        a.OpenPermitAnswer,
        request,
        end_user=True,
        idempotency_key=idempotency_key or new_key(),
    )


def permits(
    *,
    limit: int | None = None,
    offset: int | None = None,
    before: str | None = None,
    state: Literal["open", "closed", "ended", "refused"] | None = None,
) -> Call[a.PermitsPage]:
    """The caller's permits, newest first."""
    return Call(
        "GET",
        "/permits",
        a.PermitsPage,
        query=given({"limit": limit, "offset": offset, "before": before, "state": state}),
    )


def get_permit(permit_id: str) -> Call[a.PermitRecord]:
    """A permit with its sealed documents."""
    return Call("GET", f"/permits/{segment(permit_id)}", a.PermitRecord)


def close_permit(permit_id: str, request: Mapping[str, Any], idempotency_key: str | None = None) -> Call[a.RunAnswer]:
    """Report what became of the act, and seal the run. Answers as POST /execute does: 422 means that the output must not be released. A run whose act failed is sealed as any other, and says so. 409 also when the permit is not open any more."""
    return Call(
        "POST",
        f"/permits/{segment(permit_id)}/close",
        a.RunAnswer,
        request,
        idempotency_key=idempotency_key or f"close-{permit_id}",
    )


def collect_permit(approval_id: str) -> Call[a.OpenPermitAnswer]:
    """Collect the permit of an act that people approved. For the key that asked, without a body. An approval is one permit: a repetition gives the same one. 409 where a decision came in between: retry."""
    return Call("POST", f"/approvals/{segment(approval_id)}/permit", a.OpenPermitAnswer, again=True)


def withdraw_approval(approval_id: str) -> Call[a.AskedApprovalAnswer]:
    """Withdraw a request for an approval. For the key that asked. It ends in a refused run."""
    return Call("DELETE", f"/approvals/{segment(approval_id)}", a.AskedApprovalAnswer)


def get_approval(approval_id: str) -> Call[a.ApprovalRecord]:
    """A request for an approval, with its sealed document. To those who approve also the payload, as long as it is stored."""
    return Call("GET", f"/approvals/{segment(approval_id)}", a.ApprovalRecord)


def redeem_permit(permit_id: str, permit: str, *, extra: Mapping[str, Any] | None = None) -> Call[a.RedeemPermitAnswer]:
    """Take a permit for the one act, once for all. For the party that acts. The permit is the credential; no key is needed. Requests are counted by address."""
    return Call(
        "POST",
        f"/permits/{segment(permit_id)}/redeem",
        a.RedeemPermitAnswer,
        spread({"permit": permit}, extra),
    )


def approvals(
    *,
    limit: int | None = None,
    before: str | None = None,
    state: Literal["waiting", "approved", "rejected", "withdrawn", "collected", "refused"] | None = None,
) -> Call[a.ApprovalsPage]:
    """Requests for an approval, newest first. To people who signed in and to keys of approvers: those with a rule that names one of their groups. To other keys: their own."""
    return Call("GET", "/approvals", a.ApprovalsPage, query=given({"limit": limit, "before": before, "state": state}))


def decide_approval(
    approval_id: str,
    request_digest: str,
    decision: Literal["approve", "reject"],
    *,
    comment: str | None = None,
    comment_salt: str | None = None,
    passkey: r.PasskeySignature | None = None,
    extra: Mapping[str, Any] | None = None,
) -> Call[a.DecidedApproval]:
    """Approve or reject an act. The decision names the document that was shown. A person counts once, whatever sessions and keys it has. The same decision again changes nothing. A rejection ends the request."""
    return Call(
        "POST",
        f"/approvals/{segment(approval_id)}/decision",
        a.DecidedApproval,
        spread({"request_digest": request_digest, "decision": decision, "comment": comment, "comment_salt": comment_salt, "passkey": passkey}, extra),
        again=True,
    )


def delete_comments(approval_id: str) -> Call[a.DecidedApproval]:
    """Delete what people wrote beside their decisions. Who decided deletes its own comment, an administrator those of all. The decisions stay as they are sealed, with the hashes of the comments, whose salts are deleted too."""
    return Call("DELETE", f"/approvals/{segment(approval_id)}/comments", a.DecidedApproval, again=True)


def passkeys(
    *,
    limit: int | None = None,
    state: Literal["pending", "counts", "revoked"] | None = None,
) -> Call[a.PasskeyList]:
    """Passkeys, newest first. To a person its own; to administrators and auditors those of all people, their own before others."""
    return Call("GET", "/passkeys", a.PasskeyList, query=given({"limit": limit, "state": state}))


def revoke_passkey(id: str) -> Call[a.PasskeyAnswer]:
    """Revoke a passkey. By its person, or by an administrator. It signs no later decision; what it signed before counts."""
    return Call("DELETE", f"/passkeys/{segment(id)}", a.PasskeyAnswer, again=True)


def runs(
    *,
    limit: int | None = None,
    offset: int | None = None,
    before: int | None = None,
    after: int | None = None,
    details: Literal["record"] | None = None,
    manifest_hash: str | None = None,
    program_id: str | None = None,
    route_id: str | None = None,
    route_prefix: str | None = None,
    status: Literal["ok", "pepg_deny", "ccv_halt", "macc_halt", "aivp_t4_halt", "attestation_gap", "stage_error"] | None = None,
    outcome_kind: Literal["ok", "pepg_deny", "ccv_halt", "macc_halt", "aivp_t4_halt", "attestation_gap", "stage_error"] | None = None,
    error_stage: Literal["PEPG_ADMISSION", "PEPG", "CCV", "MACC", "AIVP_T4", "DOG", "DTL", "DKEC", "AER", "ZKSP", "PHASE4", "LEDGER", "REGISTRY", "DLA"] | None = None,
    enforcement: Literal["observe"] | None = None,
    closing_outcome: Literal["completed", "failed"] | None = None,
    rule_id: str | None = None,
    payload_hash: str | None = None,
    envelope_id: str | None = None,
    actor_id: str | None = None,
    model_name: str | None = None,
    approver: str | None = None,
    end_user: str | None = None,
    end_user_issuer: str | None = None,
    from_: str | None = None,
    to: str | None = None,
) -> Call[a.RunsPage]:
    """The caller's runs that match every filter, newest first."""
    return Call(
        "GET",
        "/runs/search",
        a.RunsPage,
        query=given({"limit": limit, "offset": offset, "before": before, "after": after, "details": details, "manifest_hash": manifest_hash, "program_id": program_id, "route_id": route_id, "route_prefix": route_prefix, "status": status, "outcome_kind": outcome_kind, "error_stage": error_stage, "enforcement": enforcement, "closing_outcome": closing_outcome, "rule_id": rule_id, "payload_hash": payload_hash, "envelope_id": envelope_id, "actor_id": actor_id, "model_name": model_name, "approver": approver, "end_user": end_user, "end_user_issuer": end_user_issuer, "from": from_, "to": to}),
    )


def export(
    *,
    from_: str | None = None,
    to: str | None = None,
    tenant: Literal["anonymous"] | None = None,
) -> Call[bytes]:
    """The caller's records, oldest first, with a statement that proves them complete. One JSON document a line: an export statement, anchored in the log, then the bundles that it names. They are the shortest part of the caller's chain that holds every record admitted from `from` to `to`. An answer that ends early lacks records, and `verifier export.ndjson --complete` says which. Compressed with zstd or gzip where Accept-Encoding allows it. 503 also when too many exports are being read."""
    return Call("GET", "/runs/export", bytes, query=given({"from": from_, "to": to, "tenant": tenant}))


def run(run_id: int) -> Call[a.RunRecord]:
    """A run's record with its manifest."""
    return Call("GET", f"/runs/{segment(run_id)}", a.RunRecord)


def check_run(run_id: int) -> Call[a.VerifyAnswer]:
    """The server's self-check of a run. Derives the seal again from the stored fields. It is not third-party evidence."""
    return Call("GET", f"/runs/{segment(run_id)}/verify", a.VerifyAnswer)


def bundle(
    run_id: int,
    *,
    with_: Literal["witnessed"] | None = None,
    form: Literal["sealed", "full"] | None = None,
) -> Call[bytes]:
    """A run's sealed bundle, byte for byte, or in full."""
    return Call("GET", f"/runs/{segment(run_id)}/artifacts", bytes, query=given({"with": with_, "form": form}))


def report(
    run_id: int,
    *,
    with_: Literal["witnessed"] | None = None,
    format: Literal["brief", "auditor", "legal", "comprehensive"] | None = None,
) -> Call[bytes]:
    """The audit report of a run, as a PDF that carries the sealed bundle. 503 also when too many reports are being made."""
    return Call("GET", f"/runs/{segment(run_id)}/report.pdf", bytes, query=given({"with": with_, "format": format}))


def auditor_zip(run_id: int) -> Call[bytes]:
    """One file for an auditor: bundle, report, trust document, witnessed checkpoint, and how to verify them. A ZIP that `verifier` takes as it is. The keys in it prove nothing about who made the record: the auditor gets them by another way. 503 also when too many reports are being made."""
    return Call("GET", f"/runs/{segment(run_id)}/auditor.zip", bytes)


def statement(run_id: int) -> Call[bytes]:
    """A run's statement: in-toto, in a DSSE envelope that the service's key signed. 404 also for a run that ended as stage_error, whose record is no attestation, and for one whose key is revoked from before its log time."""
    return Call("GET", f"/runs/{segment(run_id)}/statement.intoto.json", bytes)


def artifact(
    run_id: int,
    name: Literal["allow-token", "deny-receipt", "ccv-halt-receipt", "macc-halt-receipt", "aivp-t4-halt-receipt", "attestation-gap-receipt"],
) -> Call[bytes]:
    """The token or receipt of a run, which verifies by itself. Not found where the run ended otherwise."""
    return Call("GET", f"/runs/{segment(run_id)}/{segment(name)}", bytes)


def attest(
    digest: str,
    *,
    subject_ref: str | None = None,
    idempotency_key: str | None = None,
    extra: Mapping[str, Any] | None = None,
) -> Call[a.Attestation]:
    """Anchor a digest on the log."""
    return Call(
        "POST",
        "/attest",
        a.Attestation,
        spread({"digest": digest, "algorithm": "sha256", "subject_ref": subject_ref}, extra),
        idempotency_key=idempotency_key or new_key(),
    )


def attestations(*, limit: int | None = None, offset: int | None = None) -> Call[a.AttestationsPage]:
    """The caller's attestations, newest first."""
    return Call("GET", "/attestations", a.AttestationsPage, query=given({"limit": limit, "offset": offset}))


def make_key(
    name: str,
    *,
    scope: Literal["admin", "auditor", "approver"] | None = None,
    confirm_admin_scope: bool | None = None,
    tier: Literal["trial", "production"] | None = None,
    notes: str | None = None,
    expires_at: str | None = None,
    run_token_budget: int | None = None,
    window_token_budget: int | None = None,
    rate_limit: int | None = None,
    reads: Sequence[int] | None = None,
    share: bool | None = None,
    observe: bool | None = None,
    person: str | None = None,
    groups: Sequence[str] | None = None,
    persons: Sequence[str] | None = None,
    idempotency_key: str | None = None,
    extra: Mapping[str, Any] | None = None,
) -> Call[a.MintedKey]:
    """Mint a key. In open mode the first key is minted without a key; from then on the deployment is locked."""
    return Call(
        "POST",
        "/admin/keys",
        a.MintedKey,
        spread({"name": name, "scope": scope, "confirm_admin_scope": confirm_admin_scope, "tier": tier, "notes": notes, "expires_at": expires_at, "run_token_budget": run_token_budget, "window_token_budget": window_token_budget, "rate_limit": rate_limit, "reads": reads, "share": share, "observe": observe, "person": person, "groups": groups, "persons": persons}, extra),
        idempotency_key=idempotency_key,
    )


def keys() -> Call[a.KeyList]:
    """Every key, without secrets."""
    return Call("GET", "/admin/keys", a.KeyList)


def change_key(
    key_id: int,
    *,
    name: str | None = None,
    tier: Literal["trial", "production"] | None = None,
    notes: str | Absent | None = ABSENT,
    expires_at: str | Absent | None = ABSENT,
    run_token_budget: int | Absent | None = ABSENT,
    window_token_budget: int | Absent | None = ABSENT,
    rate_limit: int | Absent | None = ABSENT,
    reads: Sequence[int] | Absent | None = ABSENT,
    share: bool | Absent | None = ABSENT,
    observe: bool | Absent | None = ABSENT,
    groups: Sequence[str] | None = None,
    persons: Sequence[str] | Absent | None = ABSENT,
    idempotency_key: str | None = None,
    extra: Mapping[str, Any] | None = None,
) -> Call[a.ChangedKey]:
    """Change a key's name, notes, limits or expiry. What is absent stays; null takes a setting away."""
    return Call(
        "PATCH",
        f"/admin/keys/{segment(key_id)}",
        a.ChangedKey,
        spread({"name": name, "tier": tier, "notes": notes, "expires_at": expires_at, "run_token_budget": run_token_budget, "window_token_budget": window_token_budget, "rate_limit": rate_limit, "reads": reads, "share": share, "observe": observe, "groups": groups, "persons": persons}, extra, clears=("notes", "expires_at", "run_token_budget", "window_token_budget", "rate_limit", "reads", "share", "observe", "persons")),
        idempotency_key=idempotency_key,
        again=True,
    )


def revoke_key(key_id: int, *, idempotency_key: str | None = None) -> Call[a.RevokedKey]:
    """Revoke a key."""
    return Call("DELETE", f"/admin/keys/{segment(key_id)}", a.RevokedKey, idempotency_key=idempotency_key, again=True)


def rotate_key(
    key_id: int,
    *,
    overlap_seconds: int | None = None,
    idempotency_key: str | None = None,
    extra: Mapping[str, Any] | None = None,
) -> Call[a.RotatedKey]:
    """Give a key a new secret. The key keeps its id, runs, permits and budgets. Without `overlap_seconds` the old secret is refused from the next request on."""
    return Call(
        "POST",
        f"/admin/keys/{segment(key_id)}/rotate",
        a.RotatedKey,
        spread({"overlap_seconds": overlap_seconds}, extra),
        idempotency_key=idempotency_key,
    )


def claim_runs(key_id: int, *, extra: Mapping[str, Any] | None = None) -> Call[a.ClaimedRuns]:
    """Give the runs of open mode to a key, once. From then on the key reads, searches, reports, exports and publishes them. Their records still name the tenant `anonymous`. A retry with the same key is answered like the first call; 409 for another key, and when there are no such runs."""
    return Call("POST", "/admin/runs/claim", a.ClaimedRuns, spread({"key_id": key_id}, extra), again=True)


def publish(run_id: int) -> Call[a.PublishedRun]:
    """Publish a run that the calling admin key reads."""
    return Call("POST", f"/admin/runs/{segment(run_id)}/publish", a.PublishedRun, again=True)


def unpublish(run_id: int) -> Call[a.UnpublishedRun]:
    """Unpublish any run. Copies that were cached may be served for an hour."""
    return Call("POST", f"/admin/runs/{segment(run_id)}/unpublish", a.UnpublishedRun, again=True)


def share(
    run_id: int,
    *,
    expires_in_seconds: int | None = None,
    idempotency_key: str | None = None,
    extra: Mapping[str, Any] | None = None,
) -> Call[a.MadeShare]:
    """Share a run for some days under a link that needs no key. For admin keys, of every run; and for auditors whose key has `share`, of those that they read. Without `expires_in_seconds` the link works for a day."""
    return Call(
        "POST",
        f"/admin/runs/{segment(run_id)}/share",
        a.MadeShare,
        spread({"expires_in_seconds": expires_in_seconds}, extra),
        idempotency_key=idempotency_key,
    )


def shares(
    *,
    limit: int | None = None,
    before: int | None = None,
    key: int | None = None,
    run: int | None = None,
) -> Call[a.SharesPage]:
    """What is shared now, the newest link first."""
    return Call(
        "GET",
        "/admin/shares",
        a.SharesPage,
        query=given({"limit": limit, "before": before, "key": key, "run": run}),
    )


def revoke_share(share_id: int, *, idempotency_key: str | None = None) -> Call[a.RevokedShare]:
    """End a link at once. For admin keys; an auditor ends those of its own key."""
    return Call(
        "DELETE",
        f"/admin/shares/{segment(share_id)}",
        a.RevokedShare,
        idempotency_key=idempotency_key,
        again=True,
    )


def shared_bundle(token: str, *, with_: Literal["witnessed"] | None = None) -> Call[bytes]:
    """A shared run's bundle."""
    return Call("GET", f"/shared/{segment(token)}/bundle.json", bytes, query=given({"with": with_}))


def shared_report(
    token: str,
    *,
    with_: Literal["witnessed"] | None = None,
    format: Literal["brief", "auditor", "legal", "comprehensive"] | None = None,
) -> Call[bytes]:
    """A shared run's report as a PDF, signed and with its bundle in it."""
    return Call("GET", f"/shared/{segment(token)}/report.pdf", bytes, query=given({"with": with_, "format": format}))


def public_bundle(token: str, *, with_: Literal["witnessed"] | None = None) -> Call[bytes]:
    """A published run's bundle."""
    return Call("GET", f"/public/runs/{segment(token)}/bundle.json", bytes, query=given({"with": with_}))


def public_statement(token: str) -> Call[bytes]:
    """A published run's statement, in a DSSE envelope. 404 also for a run that ended as stage_error, and for one whose key is revoked from before its log time."""
    return Call("GET", f"/public/runs/{segment(token)}/statement.intoto.json", bytes)


def policies(*, limit: int | None = None, before: int | None = None) -> Call[a.PoliciesPage]:
    """Every policy that was in force, newest first. For admin keys, and for auditors who read all keys."""
    return Call("GET", "/admin/policies", a.PoliciesPage, query=given({"limit": limit, "before": before}))


def load_policy(policy: r.PolicyDocument, *, extra: Mapping[str, Any] | None = None) -> Call[a.LoadedPolicy]:
    """Put a policy in force, without a restart. Every process of this deployment decides by it within two seconds. An administrative event says who loaded it."""
    return Call(
        "POST",
        "/admin/policies",
        a.LoadedPolicy,
        spread({"policy": whole(policy, r.PolicyDocument)}, extra),
        again=True,
    )


def policy_version(version: int) -> Call[a.FoundPolicy]:
    """One policy that was in force. For admin keys, and for auditors who read all keys. Saved as a file it is what `verifier --decided-by` takes."""
    return Call("GET", f"/admin/policies/{segment(version)}", a.FoundPolicy)


def try_policy(
    policy: r.PolicyDocument,
    *,
    last: int | None = None,
    extra: Mapping[str, Any] | None = None,
) -> Call[a.DryRunAnswer]:
    """Hold a policy against the newest runs. Changes nothing. Both policies judge what the records of the runs declare; 503 while another dry run is under way."""
    return Call(
        "POST",
        "/admin/policies/dry-run",
        a.DryRunAnswer,
        spread({"policy": whole(policy, r.PolicyDocument), "last": last}, extra),
        again=True,
    )


def all_runs(
    *,
    limit: int | None = None,
    before: int | None = None,
    key: int | None = None,
    after: int | None = None,
    details: Literal["record"] | None = None,
    manifest_hash: str | None = None,
    program_id: str | None = None,
    route_id: str | None = None,
    route_prefix: str | None = None,
    status: Literal["ok", "pepg_deny", "ccv_halt", "macc_halt", "aivp_t4_halt", "attestation_gap", "stage_error"] | None = None,
    outcome_kind: Literal["ok", "pepg_deny", "ccv_halt", "macc_halt", "aivp_t4_halt", "attestation_gap", "stage_error"] | None = None,
    error_stage: Literal["PEPG_ADMISSION", "PEPG", "CCV", "MACC", "AIVP_T4", "DOG", "DTL", "DKEC", "AER", "ZKSP", "PHASE4", "LEDGER", "REGISTRY", "DLA"] | None = None,
    enforcement: Literal["observe"] | None = None,
    closing_outcome: Literal["completed", "failed"] | None = None,
    rule_id: str | None = None,
    payload_hash: str | None = None,
    envelope_id: str | None = None,
    actor_id: str | None = None,
    model_name: str | None = None,
    approver: str | None = None,
    end_user: str | None = None,
    end_user_issuer: str | None = None,
    from_: str | None = None,
    to: str | None = None,
    with_: Literal["counts"] | None = None,
) -> Call[a.AdminRunsPage]:
    """The runs of all keys that match every filter, newest first. For admin keys and auditors, as the next ones; an auditor of named keys sees theirs. Paged by the run's number: `next` of a page is `before` of the next one."""
    return Call(
        "GET",
        "/admin/runs",
        a.AdminRunsPage,
        query=given({"limit": limit, "before": before, "key": key, "after": after, "details": details, "manifest_hash": manifest_hash, "program_id": program_id, "route_id": route_id, "route_prefix": route_prefix, "status": status, "outcome_kind": outcome_kind, "error_stage": error_stage, "enforcement": enforcement, "closing_outcome": closing_outcome, "rule_id": rule_id, "payload_hash": payload_hash, "envelope_id": envelope_id, "actor_id": actor_id, "model_name": model_name, "approver": approver, "end_user": end_user, "end_user_issuer": end_user_issuer, "from": from_, "to": to, "with": with_}),
    )


def export_of_key(key: int, *, from_: str | None = None, to: str | None = None) -> Call[bytes]:
    """The records of one key, oldest first, with a statement that proves them complete."""
    return Call("GET", "/admin/runs/export", bytes, query=given({"key": key, "from": from_, "to": to}))


def any_run(run_id: int) -> Call[a.AdminRunRecord]:
    """The record of a run of any key."""
    return Call("GET", f"/admin/runs/{segment(run_id)}", a.AdminRunRecord)


def check_any_run(run_id: int) -> Call[a.VerifyAnswer]:
    """The server's self-check of a run. Derives the seal again from the stored fields. It is not third-party evidence."""
    return Call("GET", f"/admin/runs/{segment(run_id)}/verify", a.VerifyAnswer)


def any_bundle(
    run_id: int,
    *,
    with_: Literal["witnessed"] | None = None,
    form: Literal["sealed", "full"] | None = None,
) -> Call[bytes]:
    """A run's sealed bundle, byte for byte, or in full."""
    return Call("GET", f"/admin/runs/{segment(run_id)}/artifacts", bytes, query=given({"with": with_, "form": form}))


def any_report(
    run_id: int,
    *,
    with_: Literal["witnessed"] | None = None,
    format: Literal["brief", "auditor", "legal", "comprehensive"] | None = None,
) -> Call[bytes]:
    """The audit report of a run, as a PDF that carries the sealed bundle. 503 also when too many reports are being made."""
    return Call(
        "GET",
        f"/admin/runs/{segment(run_id)}/report.pdf",
        bytes,
        query=given({"with": with_, "format": format}),
    )


def any_auditor_zip(run_id: int) -> Call[bytes]:
    """One file for an auditor: bundle, report, trust document, witnessed checkpoint, and how to verify them. A ZIP that `verifier` takes as it is. The keys in it prove nothing about who made the record: the auditor gets them by another way. 503 also when too many reports are being made."""
    return Call("GET", f"/admin/runs/{segment(run_id)}/auditor.zip", bytes)


def any_statement(run_id: int) -> Call[bytes]:
    """A run's statement: in-toto, in a DSSE envelope that the service's key signed. 404 also for a run that ended as stage_error, whose record is no attestation, and for one whose key is revoked from before its log time."""
    return Call("GET", f"/admin/runs/{segment(run_id)}/statement.intoto.json", bytes)


def any_artifact(
    run_id: int,
    name: Literal["allow-token", "deny-receipt", "ccv-halt-receipt", "macc-halt-receipt", "aivp-t4-halt-receipt", "attestation-gap-receipt"],
) -> Call[bytes]:
    """The token or receipt of a run, which verifies by itself. Not found where the run ended otherwise."""
    return Call("GET", f"/admin/runs/{segment(run_id)}/{segment(name)}", bytes)


def all_permits(
    *,
    limit: int | None = None,
    before: str | None = None,
    key: int | None = None,
    state: Literal["open", "closed", "ended", "refused"] | None = None,
) -> Call[a.AdminPermitsPage]:
    """The permits of all keys, newest first."""
    return Call(
        "GET",
        "/admin/permits",
        a.AdminPermitsPage,
        query=given({"limit": limit, "before": before, "key": key, "state": state}),
    )


def any_permit(permit_id: str) -> Call[a.AdminPermitRecord]:
    """A permit of any key, with its sealed documents."""
    return Call("GET", f"/admin/permits/{segment(permit_id)}", a.AdminPermitRecord)


def published_runs(
    *,
    limit: int | None = None,
    before: int | None = None,
    key: int | None = None,
) -> Call[a.PublicationsPage]:
    """What is published, the newest run first."""
    return Call(
        "GET",
        "/admin/published",
        a.PublicationsPage,
        query=given({"limit": limit, "before": before, "key": key}),
    )


def usage() -> Call[a.UsageAnswer]:
    """What every key has used: runs by outcome, tokens, its budget window, its trial."""
    return Call("GET", "/admin/usage", a.UsageAnswer)


def overview(*, range: Literal["24h", "7d", "30d", "90d"] | None = None) -> Call[a.OverviewAnswer]:
    """Runs by outcome over time, what denied them, and how the log grew. Of the keys that the caller reads; the log is that of all keys. Steps begin at multiples of their length, in UTC."""
    return Call("GET", "/admin/overview", a.OverviewAnswer, query=given({"range": range}))


def attention(*, after: int | None = None, wait: int | None = None) -> Call[a.AttentionAnswer]:
    """What needs somebody's attention now, and how long the log is. Of what the caller sees; what is well is left out. With `after` and `wait` the answer is held back until the log has grown."""
    return Call("GET", "/attention", a.AttentionAnswer, query=given({"after": after, "wait": wait}))


def policy() -> Call[a.PolicyInForce]:
    """The policy in force, and the library of signatures."""
    return Call("GET", "/admin/policy", a.PolicyInForce)


def admin_events(
    *,
    limit: int | None = None,
    before: int | None = None,
    action: Literal["key.create", "key.rotate", "key.change", "key.revoke", "runs.claim", "run.publish", "run.unpublish", "run.share", "run.unshare", "policy.propose", "policy.load", "webhook.create", "webhook.change", "webhook.rotate", "webhook.resume", "webhook.delete", "signing_keys.rotate", "signing_key.revoke", "heads.forget", "clock.confirm", "search_index.clear", "approval.approve", "approval.reject", "approval.withdraw", "approval.delete_comments", "passkey.enrol", "passkey.confirm", "passkey.revoke"] | None = None,
    subject_kind: Literal["key", "run", "policy", "destination", "signing_key", "log", "heads_folder", "search_index", "approval", "passkey"] | None = None,
    subject_id: str | None = None,
) -> Call[a.EventsPage]:
    """What administrators did, newest first. For admin keys, and for auditors who read all keys."""
    return Call(
        "GET",
        "/admin/audit",
        a.EventsPage,
        query=given({"limit": limit, "before": before, "action": action, "subject_kind": subject_kind, "subject_id": subject_id}),
    )


def export_admin_events(*, from_: str | None = None, to: str | None = None) -> Call[bytes]:
    """All admin events, oldest first, with a statement that proves them complete."""
    return Call("GET", "/admin/audit/export", bytes, query=given({"from": from_, "to": to}))


def admin_event(ordinal: int) -> Call[bytes]:
    """A sealed admin event, which verifies by itself."""
    return Call("GET", f"/admin/audit/{segment(ordinal)}", bytes)


def open_session(key: str, *, extra: Mapping[str, Any] | None = None) -> Call[a.SessionAnswer]:
    """Sign in with a key, from a browser. The answer sets a cookie, which takes the place of the key. It is for people in a browser; programs send their key. In open mode there is no session to open, and no cookie is set."""
    return Call("POST", "/session", a.SessionAnswer, spread({"key": key}, extra))


def session() -> Call[a.SessionAnswer]:
    """Who calls, and until when the session lasts."""
    return Call("GET", "/session", a.SessionAnswer)


def close_session(csrf_token: str) -> Call[a.ClosedSession]:
    """Sign out."""
    return Call("DELETE", "/session", a.ClosedSession, headers={"X-CSRF-Token": csrf_token})


def events(
    *,
    after: int | None = None,
    limit: int | None = None,
    format: Literal["standard", "ocsf", "cef"] | None = None,
) -> Call[bytes]:
    """What was sealed, as events in the order of the log. Of all callers; for admin keys, and for auditors who read all keys. The position of the last line is the next `after`; no line: there is nothing new."""
    return Call("GET", "/admin/events", bytes, query=given({"after": after, "limit": limit, "format": format}))


def make_destination(
    url: str,
    *,
    kind: Literal["webhook", "syslog"] | None = None,
    ca: str | None = None,
    name: str | None = None,
    format: Literal["standard", "ocsf", "cef"] | None = None,
    types: Sequence[Literal["run.sealed", "approval.requested", "permit.opened", "permit.closed", "permit.ended", "admin.event"]] | None = None,
    outcomes: Sequence[Literal["ok", "pepg_deny", "ccv_halt", "macc_halt", "aivp_t4_halt", "attestation_gap", "stage_error"]] | None = None,
    key_ids: Sequence[int] | None = None,
    from_: int | None = None,
    idempotency_key: str | None = None,
    extra: Mapping[str, Any] | None = None,
) -> Call[a.CreatedDestination]:
    """Deliver events to a receiver. A webhook, or a receiver of syslog messages over TCP or TLS. By an admin key alone: in open mode 403."""
    return Call(
        "POST",
        "/admin/destinations",
        a.CreatedDestination,
        spread({"kind": kind, "url": url, "ca": ca, "name": name, "format": format, "types": types, "outcomes": outcomes, "key_ids": key_ids, "from": from_}, extra),
        idempotency_key=idempotency_key,
    )


def destinations() -> Call[a.DestinationList]:
    """Every destination, without secrets."""
    return Call("GET", "/admin/destinations", a.DestinationList)


def change_destination(
    destination_id: int,
    *,
    url: str | None = None,
    ca: str | None = None,
    name: str | None = None,
    format: Literal["standard", "ocsf", "cef"] | None = None,
    types: Sequence[Literal["run.sealed", "approval.requested", "permit.opened", "permit.closed", "permit.ended", "admin.event"]] | None = None,
    outcomes: Sequence[Literal["ok", "pepg_deny", "ccv_halt", "macc_halt", "aivp_t4_halt", "attestation_gap", "stage_error"]] | None = None,
    key_ids: Sequence[int] | None = None,
    active: bool | None = None,
    idempotency_key: str | None = None,
    extra: Mapping[str, Any] | None = None,
) -> Call[a.ChangedDestination]:
    """Change a destination."""
    return Call(
        "PATCH",
        f"/admin/destinations/{segment(destination_id)}",
        a.ChangedDestination,
        spread({"url": url, "ca": ca, "name": name, "format": format, "types": types, "outcomes": outcomes, "key_ids": key_ids, "active": active}, extra),
        idempotency_key=idempotency_key,
        again=True,
    )


def delete_destination(destination_id: int, *, idempotency_key: str | None = None) -> Call[a.DeletedDestination]:
    """Deliver no more to a destination."""
    return Call(
        "DELETE",
        f"/admin/destinations/{segment(destination_id)}",
        a.DeletedDestination,
        idempotency_key=idempotency_key,
        again=True,
    )


def rotate_destination(
    destination_id: int,
    *,
    overlap_seconds: int | None = None,
    idempotency_key: str | None = None,
    extra: Mapping[str, Any] | None = None,
) -> Call[a.RotatedDestination]:
    """Give a webhook another secret."""
    return Call(
        "POST",
        f"/admin/destinations/{segment(destination_id)}/rotate",
        a.RotatedDestination,
        spread({"overlap_seconds": overlap_seconds}, extra),
        idempotency_key=idempotency_key,
    )


def test_destination(destination_id: int) -> Call[a.TestedDestination]:
    """Send a test event now."""
    return Call("POST", f"/admin/destinations/{segment(destination_id)}/test", a.TestedDestination)


def resume_destination(
    destination_id: int,
    from_: int,
    *,
    idempotency_key: str | None = None,
    extra: Mapping[str, Any] | None = None,
) -> Call[a.ResumedDestination]:
    """Set the next position to deliver."""
    return Call(
        "POST",
        f"/admin/destinations/{segment(destination_id)}/resume",
        a.ResumedDestination,
        spread({"from": from_}, extra),
        idempotency_key=idempotency_key,
        again=True,
    )


def deliveries() -> Call[a.DeliveryList]:
    """How far each delivery is. For admin keys, and for auditors who read all keys."""
    return Call("GET", "/admin/deliveries", a.DeliveryList)


def checkpoint() -> Call[bytes]:
    """The current checkpoint, a signed note. With the witnesses' cosignatures once enough of them cosigned this very checkpoint."""
    return Call("GET", "/log/checkpoint", bytes)


def witnessed_checkpoint() -> Call[bytes]:
    """The newest checkpoint that enough witnesses cosigned."""
    return Call("GET", "/log/witnessed-checkpoint", bytes)


def outside_logs() -> Call[a.OutsideLogsAnswer]:
    """Which entries other logs hold too. Every Rekor log that was ever named with --anchor rekor, and what is still on its way there."""
    return Call("GET", "/log/outside", a.OutsideLogsAnswer)


def witnesses() -> Call[a.WitnessesAnswer]:
    """When the witnesses cosigned last, and which are silent. As the process knows them that answers. What a witness signed is in the checkpoint."""
    return Call("GET", "/log/witnesses", a.WitnessesAnswer)


def genesis() -> Call[a.GenesisAnswer]:
    """What entry 0 signs."""
    return Call("GET", "/log/genesis", a.GenesisAnswer)


def key_changes() -> Call[a.KeyChangesAnswer]:
    """What the entries sign with which the log's keys changed. Each is signed with the service key that the one before it names, the first with that of the genesis."""
    return Call("GET", "/log/key-changes", a.KeyChangesAnswer)


def tile(level: int | str, index: str) -> Call[bytes]:
    """A full tile of 256."""
    return Call("GET", f"/log/tile/{segment(level)}/{segments(index)}", bytes)


def partial_tile(level: int | str, index: str, width: int) -> Call[bytes]:
    """A partial tile."""
    return Call("GET", f"/log/tile/{segment(level)}/{segments(index)}.p/{segment(width)}", bytes)


def log_entry(index: int) -> Call[a.LogEntryAnswer]:
    """An entry with its proof."""
    return Call("GET", f"/log/entry/{segment(index)}", a.LogEntryAnswer)


def consistency(first: int, second: int) -> Call[a.ConsistencyAnswer]:
    """Proof that the log only grew."""
    return Call("GET", "/log/consistency", a.ConsistencyAnswer, query=given({"first": first, "second": second}))


def trust_document() -> Call[bytes]:
    """The trust document. Compare its fingerprints with the operator by another way before you rely on it."""
    return Call("GET", "/.well-known/runseal-trust.json", bytes)


def trusted_root() -> Call[bytes]:
    """Its Sigstore trusted_root.json alone."""
    return Call("GET", "/.well-known/trusted-root.json", bytes)


def service_key() -> Call[bytes]:
    """The service's public key."""
    return Call("GET", "/.well-known/service.pub", bytes)


def jwks() -> Call[bytes]:
    """The service keys in force, as a JWKS document. Permits are checked with them. A key that was replaced or revoked is not listed."""
    return Call("GET", "/.well-known/jwks.json", bytes)


def about() -> Call[a.IndexAnswer]:
    """What this service is and where everything is."""
    return Call("GET", "/", a.IndexAnswer, headers={"Accept": "application/json"})


def health() -> Call[a.Health]:
    """Whether the process lives. Every status but 200 means that the service cannot be reached: query parameters are ignored."""
    return Call("GET", "/health", a.Health)


def ready() -> Call[a.ReadyAnswer]:
    """Whether database and log are usable. Found at most once a second, however often it is asked."""
    return Call("GET", "/ready", a.ReadyAnswer)


def version() -> Call[a.VersionAnswer]:
    """Release, engine, formula and log."""
    return Call("GET", "/version", a.VersionAnswer)


def openapi() -> Call[bytes]:
    """This document."""
    return Call("GET", "/openapi.json", bytes)
