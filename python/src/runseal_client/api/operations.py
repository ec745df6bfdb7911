# Made by `node tools/src/python-api/make-python-api.ts` from the OpenAPI document. Do not change it by hand.
"""The methods of both clients."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from typing import Any, Literal

from ..calls import ABSENT, Absent, whole
from ..senders import AsyncSender, Sender
from . import answers as a
from . import calls as c
from . import requests as r


class Operations(Sender):
    """Every call of the public API."""

    def execute(
        self,
        request: r.ExecuteRequest,
        idempotency_key: str | None = None,
        *,
        extra: Mapping[str, Any] | None = None,
        timeout: float | None = None,
    ) -> a.RunAnswer:
        """Run a payload through all nine stages and seal the result. The stages decide, check, seal and anchor; the service does not run the caller's program. Answered when the record is durable. After a 503, or when the connection breaks, a run may exist; an acknowledged one always does. With an idempotency key the request may be sent again: it gets that run's answer, or makes the one run."""
        return self.send(c.execute(whole(request, r.ExecuteRequest, extra), idempotency_key), timeout=timeout)

    def verify_determinism(
        self,
        request: r.ExecuteRequest,
        *,
        extra: Mapping[str, Any] | None = None,
        timeout: float | None = None,
    ) -> a.DeterminismAnswer:
        """Run the same input twice under one clock and nonce. Nothing is stored, charged or anchored."""
        return self.send(c.verify_determinism(whole(request, r.ExecuteRequest, extra)), timeout=timeout)

    def verify_by_service(self, document: Mapping[str, Any], *, timeout: float | None = None) -> a.DcaeAnswer:
        """Verify a document with the server's own keys. A document of any kind. A convenience, not third-party evidence."""
        return self.send(c.verify_by_service(document), timeout=timeout)

    def open_permit(
        self,
        request: r.OpenPermitRequest,
        idempotency_key: str | None = None,
        *,
        extra: Mapping[str, Any] | None = None,
        timeout: float | None = None,
    ) -> a.OpenPermitAnswer:
        """Decide on an act before it is done, and reserve its tokens. The request of POST /execute without what is known only after the act. An admitted one is anchored as an opening before it is answered; a refused one is a refused run. The permit is a JWT that the party in `audience` checks before it acts. 403 where the service opens no permits; 429 also when the key has 1,000 open permits."""
        return self.send(c.open_permit(whole(request, r.OpenPermitRequest, extra), idempotency_key), timeout=timeout)

    def permits(
        self,
        *,
        limit: int | None = None,
        offset: int | None = None,
        before: str | None = None,
        state: Literal["open", "closed", "ended", "refused"] | None = None,
        timeout: float | None = None,
    ) -> a.PermitsPage:
        """The caller's permits, newest first."""
        return self.send(c.permits(limit=limit, offset=offset, before=before, state=state), timeout=timeout)

    def iter_permits(
        self,
        *,
        limit: int | None = None,
        state: Literal["open", "closed", "ended", "refused"] | None = None,
        timeout: float | None = None,
    ) -> Iterator[a.PermitSummary]:
        """The items of `permits`, page by page: `limit` is the size of a page."""
        return self.items(c.permits(limit=limit, state=state), "permits", "permit_id", timeout)

    def get_permit(self, permit_id: str, *, timeout: float | None = None) -> a.PermitRecord:
        """A permit with its sealed documents."""
        return self.send(c.get_permit(permit_id), timeout=timeout)

    def close_permit(
        self,
        permit_id: str,
        request: r.ClosePermitRequest,
        idempotency_key: str | None = None,
        *,
        extra: Mapping[str, Any] | None = None,
        timeout: float | None = None,
    ) -> a.RunAnswer:
        """Report what became of the act, and seal the run. Answers as POST /execute does: 422 means that the output must not be released. A run whose act failed is sealed as any other, and says so. 409 also when the permit is not open any more."""
        return self.send(
            c.close_permit(permit_id, whole(request, r.ClosePermitRequest, extra), idempotency_key),
            timeout=timeout,
        )

    def collect_permit(self, approval_id: str, *, timeout: float | None = None) -> a.OpenPermitAnswer:
        """Collect the permit of an act that people approved. For the key that asked, without a body. An approval is one permit: a repetition gives the same one. 409 where a decision came in between: retry."""
        return self.send(c.collect_permit(approval_id), timeout=timeout)

    def withdraw_approval(self, approval_id: str, *, timeout: float | None = None) -> a.AskedApprovalAnswer:
        """Withdraw a request for an approval. For the key that asked. It ends in a refused run."""
        return self.send(c.withdraw_approval(approval_id), timeout=timeout)

    def get_approval(self, approval_id: str, *, timeout: float | None = None) -> a.ApprovalRecord:
        """A request for an approval, with its sealed document. To those who approve also the payload, as long as it is stored."""
        return self.send(c.get_approval(approval_id), timeout=timeout)

    def redeem_permit(
        self,
        permit_id: str,
        permit: str,
        *,
        extra: Mapping[str, Any] | None = None,
        timeout: float | None = None,
    ) -> a.RedeemPermitAnswer:
        """Take a permit for the one act, once for all. For the party that acts. The permit is the credential; no key is needed. Requests are counted by address."""
        return self.send(c.redeem_permit(permit_id, permit, extra=extra), timeout=timeout)

    def approvals(
        self,
        *,
        limit: int | None = None,
        before: str | None = None,
        state: Literal["waiting", "approved", "rejected", "withdrawn", "collected", "refused"] | None = None,
        timeout: float | None = None,
    ) -> a.ApprovalsPage:
        """Requests for an approval, newest first. To people who signed in and to keys of approvers: those with a rule that names one of their groups. To other keys: their own."""
        return self.send(c.approvals(limit=limit, before=before, state=state), timeout=timeout)

    def iter_approvals(
        self,
        *,
        limit: int | None = None,
        state: Literal["waiting", "approved", "rejected", "withdrawn", "collected", "refused"] | None = None,
        timeout: float | None = None,
    ) -> Iterator[a.ApprovalSummary]:
        """The items of `approvals`, page by page: `limit` is the size of a page."""
        return self.items(c.approvals(limit=limit, state=state), "approvals", "approval_id", timeout)

    def decide_approval(
        self,
        approval_id: str,
        request_digest: str,
        decision: Literal["approve", "reject"],
        *,
        comment: str | None = None,
        comment_salt: str | None = None,
        passkey: r.PasskeySignature | None = None,
        extra: Mapping[str, Any] | None = None,
        timeout: float | None = None,
    ) -> a.DecidedApproval:
        """Approve or reject an act. The decision names the document that was shown. A person counts once, whatever sessions and keys it has. The same decision again changes nothing. A rejection ends the request."""
        return self.send(
            c.decide_approval(approval_id, request_digest, decision, comment=comment, comment_salt=comment_salt, passkey=passkey, extra=extra),
            timeout=timeout,
        )

    def delete_comments(self, approval_id: str, *, timeout: float | None = None) -> a.DecidedApproval:
        """Delete what people wrote beside their decisions. Who decided deletes its own comment, an administrator those of all. The decisions stay as they are sealed, with the hashes of the comments, whose salts are deleted too."""
        return self.send(c.delete_comments(approval_id), timeout=timeout)

    def passkeys(
        self,
        *,
        limit: int | None = None,
        state: Literal["pending", "counts", "revoked"] | None = None,
        timeout: float | None = None,
    ) -> a.PasskeyList:
        """Passkeys, newest first. To a person its own; to administrators and auditors those of all people, their own before others."""
        return self.send(c.passkeys(limit=limit, state=state), timeout=timeout)

    def revoke_passkey(self, id: str, *, timeout: float | None = None) -> a.PasskeyAnswer:
        """Revoke a passkey. By its person, or by an administrator. It signs no later decision; what it signed before counts."""
        return self.send(c.revoke_passkey(id), timeout=timeout)

    def runs(
        self,
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
        timeout: float | None = None,
    ) -> a.RunsPage:
        """The caller's runs that match every filter, newest first."""
        return self.send(
            c.runs(limit=limit, offset=offset, before=before, after=after, details=details, manifest_hash=manifest_hash, program_id=program_id, route_id=route_id, route_prefix=route_prefix, status=status, outcome_kind=outcome_kind, error_stage=error_stage, enforcement=enforcement, closing_outcome=closing_outcome, rule_id=rule_id, payload_hash=payload_hash, envelope_id=envelope_id, actor_id=actor_id, model_name=model_name, approver=approver, end_user=end_user, end_user_issuer=end_user_issuer, from_=from_, to=to),
            timeout=timeout,
        )

    def iter_runs(
        self,
        *,
        limit: int | None = None,
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
        timeout: float | None = None,
    ) -> Iterator[a.RunSummary]:
        """The items of `runs`, page by page: `limit` is the size of a page."""
        return self.items(
            c.runs(limit=limit, after=after, details=details, manifest_hash=manifest_hash, program_id=program_id, route_id=route_id, route_prefix=route_prefix, status=status, outcome_kind=outcome_kind, error_stage=error_stage, enforcement=enforcement, closing_outcome=closing_outcome, rule_id=rule_id, payload_hash=payload_hash, envelope_id=envelope_id, actor_id=actor_id, model_name=model_name, approver=approver, end_user=end_user, end_user_issuer=end_user_issuer, from_=from_, to=to),
            "runs",
            "id",
            timeout,
        )

    def export(
        self,
        *,
        from_: str | None = None,
        to: str | None = None,
        tenant: Literal["anonymous"] | None = None,
        timeout: float | None = None,
    ) -> bytes:
        """The caller's records, oldest first, with a statement that proves them complete. One JSON document a line: an export statement, anchored in the log, then the bundles that it names. They are the shortest part of the caller's chain that holds every record admitted from `from` to `to`. An answer that ends early lacks records, and `verifier export.ndjson --complete` says which. Compressed with zstd or gzip where Accept-Encoding allows it. 503 also when too many exports are being read."""
        return self.send(c.export(from_=from_, to=to, tenant=tenant), timeout=timeout)

    def iter_export(
        self,
        *,
        from_: str | None = None,
        to: str | None = None,
        tenant: Literal["anonymous"] | None = None,
        timeout: float | None = None,
    ) -> Iterator[bytes]:
        """The lines of `export` as they arrive, however many: each is a document, with its line break."""
        return self.lines(c.export(from_=from_, to=to, tenant=tenant), timeout)

    def run(self, run_id: int, *, timeout: float | None = None) -> a.RunRecord:
        """A run's record with its manifest."""
        return self.send(c.run(run_id), timeout=timeout)

    def check_run(self, run_id: int, *, timeout: float | None = None) -> a.VerifyAnswer:
        """The server's self-check of a run. Derives the seal again from the stored fields. It is not third-party evidence."""
        return self.send(c.check_run(run_id), timeout=timeout)

    def bundle(
        self,
        run_id: int,
        *,
        with_: Literal["witnessed"] | None = None,
        form: Literal["sealed", "full"] | None = None,
        timeout: float | None = None,
    ) -> bytes:
        """A run's sealed bundle, byte for byte, or in full."""
        return self.send(c.bundle(run_id, with_=with_, form=form), timeout=timeout)

    def report(
        self,
        run_id: int,
        *,
        with_: Literal["witnessed"] | None = None,
        format: Literal["brief", "auditor", "legal", "comprehensive"] | None = None,
        timeout: float | None = None,
    ) -> bytes:
        """The audit report of a run, as a PDF that carries the sealed bundle. 503 also when too many reports are being made."""
        return self.send(c.report(run_id, with_=with_, format=format), timeout=timeout)

    def auditor_zip(self, run_id: int, *, timeout: float | None = None) -> bytes:
        """One file for an auditor: bundle, report, trust document, witnessed checkpoint, and how to verify them. A ZIP that `verifier` takes as it is. The keys in it prove nothing about who made the record: the auditor gets them by another way. 503 also when too many reports are being made."""
        return self.send(c.auditor_zip(run_id), timeout=timeout)

    def statement(self, run_id: int, *, timeout: float | None = None) -> bytes:
        """A run's statement: in-toto, in a DSSE envelope that the service's key signed. 404 also for a run that ended as stage_error, whose record is no attestation, and for one whose key is revoked from before its log time."""
        return self.send(c.statement(run_id), timeout=timeout)

    def artifact(
        self,
        run_id: int,
        name: Literal["allow-token", "deny-receipt", "ccv-halt-receipt", "macc-halt-receipt", "aivp-t4-halt-receipt", "attestation-gap-receipt"],
        *,
        timeout: float | None = None,
    ) -> bytes:
        """The token or receipt of a run, which verifies by itself. Not found where the run ended otherwise."""
        return self.send(c.artifact(run_id, name), timeout=timeout)

    def attest(
        self,
        digest: str,
        *,
        subject_ref: str | None = None,
        idempotency_key: str | None = None,
        extra: Mapping[str, Any] | None = None,
        timeout: float | None = None,
    ) -> a.Attestation:
        """Anchor a digest on the log."""
        return self.send(
            c.attest(digest, subject_ref=subject_ref, idempotency_key=idempotency_key, extra=extra),
            timeout=timeout,
        )

    def attestations(
        self,
        *,
        limit: int | None = None,
        offset: int | None = None,
        timeout: float | None = None,
    ) -> a.AttestationsPage:
        """The caller's attestations, newest first."""
        return self.send(c.attestations(limit=limit, offset=offset), timeout=timeout)

    def iter_attestations(
        self,
        *,
        limit: int | None = None,
        timeout: float | None = None,
    ) -> Iterator[a.ListedAttestation]:
        """The items of `attestations`, page by page: `limit` is the size of a page."""
        return self.items(c.attestations(limit=limit), "attestations", "attestation_id", timeout)

    def make_key(
        self,
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
        timeout: float | None = None,
    ) -> a.MintedKey:
        """Mint a key. In open mode the first key is minted without a key; from then on the deployment is locked."""
        return self.send(
            c.make_key(name, scope=scope, confirm_admin_scope=confirm_admin_scope, tier=tier, notes=notes, expires_at=expires_at, run_token_budget=run_token_budget, window_token_budget=window_token_budget, rate_limit=rate_limit, reads=reads, share=share, observe=observe, person=person, groups=groups, persons=persons, idempotency_key=idempotency_key, extra=extra),
            timeout=timeout,
        )

    def keys(self, *, timeout: float | None = None) -> a.KeyList:
        """Every key, without secrets."""
        return self.send(c.keys(), timeout=timeout)

    def change_key(
        self,
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
        timeout: float | None = None,
    ) -> a.ChangedKey:
        """Change a key's name, notes, limits or expiry. What is absent stays; null takes a setting away."""
        return self.send(
            c.change_key(key_id, name=name, tier=tier, notes=notes, expires_at=expires_at, run_token_budget=run_token_budget, window_token_budget=window_token_budget, rate_limit=rate_limit, reads=reads, share=share, observe=observe, groups=groups, persons=persons, idempotency_key=idempotency_key, extra=extra),
            timeout=timeout,
        )

    def revoke_key(
        self,
        key_id: int,
        *,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> a.RevokedKey:
        """Revoke a key."""
        return self.send(c.revoke_key(key_id, idempotency_key=idempotency_key), timeout=timeout)

    def rotate_key(
        self,
        key_id: int,
        *,
        overlap_seconds: int | None = None,
        idempotency_key: str | None = None,
        extra: Mapping[str, Any] | None = None,
        timeout: float | None = None,
    ) -> a.RotatedKey:
        """Give a key a new secret. The key keeps its id, runs, permits and budgets. Without `overlap_seconds` the old secret is refused from the next request on."""
        return self.send(
            c.rotate_key(key_id, overlap_seconds=overlap_seconds, idempotency_key=idempotency_key, extra=extra),
            timeout=timeout,
        )

    def claim_runs(
        self,
        key_id: int,
        *,
        extra: Mapping[str, Any] | None = None,
        timeout: float | None = None,
    ) -> a.ClaimedRuns:
        """Give the runs of open mode to a key, once. From then on the key reads, searches, reports, exports and publishes them. Their records still name the tenant `anonymous`. A retry with the same key is answered like the first call; 409 for another key, and when there are no such runs."""
        return self.send(c.claim_runs(key_id, extra=extra), timeout=timeout)

    def publish(self, run_id: int, *, timeout: float | None = None) -> a.PublishedRun:
        """Publish a run that the calling admin key reads."""
        return self.send(c.publish(run_id), timeout=timeout)

    def unpublish(self, run_id: int, *, timeout: float | None = None) -> a.UnpublishedRun:
        """Unpublish any run. Copies that were cached may be served for an hour."""
        return self.send(c.unpublish(run_id), timeout=timeout)

    def share(
        self,
        run_id: int,
        *,
        expires_in_seconds: int | None = None,
        idempotency_key: str | None = None,
        extra: Mapping[str, Any] | None = None,
        timeout: float | None = None,
    ) -> a.MadeShare:
        """Share a run for some days under a link that needs no key. For admin keys, of every run; and for auditors whose key has `share`, of those that they read. Without `expires_in_seconds` the link works for a day."""
        return self.send(
            c.share(run_id, expires_in_seconds=expires_in_seconds, idempotency_key=idempotency_key, extra=extra),
            timeout=timeout,
        )

    def shares(
        self,
        *,
        limit: int | None = None,
        before: int | None = None,
        key: int | None = None,
        run: int | None = None,
        timeout: float | None = None,
    ) -> a.SharesPage:
        """What is shared now, the newest link first."""
        return self.send(c.shares(limit=limit, before=before, key=key, run=run), timeout=timeout)

    def iter_shares(
        self,
        *,
        limit: int | None = None,
        key: int | None = None,
        run: int | None = None,
        timeout: float | None = None,
    ) -> Iterator[a.Share]:
        """The items of `shares`, page by page: `limit` is the size of a page."""
        return self.items(c.shares(limit=limit, key=key, run=run), "shares", "share_id", timeout)

    def revoke_share(
        self,
        share_id: int,
        *,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> a.RevokedShare:
        """End a link at once. For admin keys; an auditor ends those of its own key."""
        return self.send(c.revoke_share(share_id, idempotency_key=idempotency_key), timeout=timeout)

    def shared_bundle(
        self,
        token: str,
        *,
        with_: Literal["witnessed"] | None = None,
        timeout: float | None = None,
    ) -> bytes:
        """A shared run's bundle."""
        return self.send(c.shared_bundle(token, with_=with_), timeout=timeout)

    def shared_report(
        self,
        token: str,
        *,
        with_: Literal["witnessed"] | None = None,
        format: Literal["brief", "auditor", "legal", "comprehensive"] | None = None,
        timeout: float | None = None,
    ) -> bytes:
        """A shared run's report as a PDF, signed and with its bundle in it."""
        return self.send(c.shared_report(token, with_=with_, format=format), timeout=timeout)

    def public_bundle(
        self,
        token: str,
        *,
        with_: Literal["witnessed"] | None = None,
        timeout: float | None = None,
    ) -> bytes:
        """A published run's bundle."""
        return self.send(c.public_bundle(token, with_=with_), timeout=timeout)

    def public_statement(self, token: str, *, timeout: float | None = None) -> bytes:
        """A published run's statement, in a DSSE envelope. 404 also for a run that ended as stage_error, and for one whose key is revoked from before its log time."""
        return self.send(c.public_statement(token), timeout=timeout)

    def policies(
        self,
        *,
        limit: int | None = None,
        before: int | None = None,
        timeout: float | None = None,
    ) -> a.PoliciesPage:
        """Every policy that was in force, newest first. For admin keys, and for auditors who read all keys."""
        return self.send(c.policies(limit=limit, before=before), timeout=timeout)

    def iter_policies(self, *, limit: int | None = None, timeout: float | None = None) -> Iterator[a.PolicyVersion]:
        """The items of `policies`, page by page: `limit` is the size of a page."""
        return self.items(c.policies(limit=limit), "policies", "", timeout)

    def load_policy(
        self,
        policy: r.PolicyDocument,
        *,
        extra: Mapping[str, Any] | None = None,
        timeout: float | None = None,
    ) -> a.LoadedPolicy:
        """Put a policy in force, without a restart. Every process of this deployment decides by it within two seconds. An administrative event says who loaded it."""
        return self.send(c.load_policy(policy, extra=extra), timeout=timeout)

    def policy_version(self, version: int, *, timeout: float | None = None) -> a.FoundPolicy:
        """One policy that was in force. For admin keys, and for auditors who read all keys. Saved as a file it is what `verifier --decided-by` takes."""
        return self.send(c.policy_version(version), timeout=timeout)

    def try_policy(
        self,
        policy: r.PolicyDocument,
        *,
        last: int | None = None,
        extra: Mapping[str, Any] | None = None,
        timeout: float | None = None,
    ) -> a.DryRunAnswer:
        """Hold a policy against the newest runs. Changes nothing. Both policies judge what the records of the runs declare; 503 while another dry run is under way."""
        return self.send(c.try_policy(policy, last=last, extra=extra), timeout=timeout)

    def all_runs(
        self,
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
        timeout: float | None = None,
    ) -> a.AdminRunsPage:
        """The runs of all keys that match every filter, newest first. For admin keys and auditors, as the next ones; an auditor of named keys sees theirs. Paged by the run's number: `next` of a page is `before` of the next one."""
        return self.send(
            c.all_runs(limit=limit, before=before, key=key, after=after, details=details, manifest_hash=manifest_hash, program_id=program_id, route_id=route_id, route_prefix=route_prefix, status=status, outcome_kind=outcome_kind, error_stage=error_stage, enforcement=enforcement, closing_outcome=closing_outcome, rule_id=rule_id, payload_hash=payload_hash, envelope_id=envelope_id, actor_id=actor_id, model_name=model_name, approver=approver, end_user=end_user, end_user_issuer=end_user_issuer, from_=from_, to=to, with_=with_),
            timeout=timeout,
        )

    def iter_all_runs(
        self,
        *,
        limit: int | None = None,
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
        timeout: float | None = None,
    ) -> Iterator[a.AdminRunSummary]:
        """The items of `all_runs`, page by page: `limit` is the size of a page."""
        return self.items(
            c.all_runs(limit=limit, key=key, after=after, details=details, manifest_hash=manifest_hash, program_id=program_id, route_id=route_id, route_prefix=route_prefix, status=status, outcome_kind=outcome_kind, error_stage=error_stage, enforcement=enforcement, closing_outcome=closing_outcome, rule_id=rule_id, payload_hash=payload_hash, envelope_id=envelope_id, actor_id=actor_id, model_name=model_name, approver=approver, end_user=end_user, end_user_issuer=end_user_issuer, from_=from_, to=to, with_=with_),
            "runs",
            "id",
            timeout,
        )

    def export_of_key(
        self,
        key: int,
        *,
        from_: str | None = None,
        to: str | None = None,
        timeout: float | None = None,
    ) -> bytes:
        """The records of one key, oldest first, with a statement that proves them complete."""
        return self.send(c.export_of_key(key, from_=from_, to=to), timeout=timeout)

    def iter_export_of_key(
        self,
        key: int,
        *,
        from_: str | None = None,
        to: str | None = None,
        timeout: float | None = None,
    ) -> Iterator[bytes]:
        """The lines of `export_of_key` as they arrive, however many: each is a document, with its line break."""
        return self.lines(c.export_of_key(key, from_=from_, to=to), timeout)

    def any_run(self, run_id: int, *, timeout: float | None = None) -> a.AdminRunRecord:
        """The record of a run of any key."""
        return self.send(c.any_run(run_id), timeout=timeout)

    def check_any_run(self, run_id: int, *, timeout: float | None = None) -> a.VerifyAnswer:
        """The server's self-check of a run. Derives the seal again from the stored fields. It is not third-party evidence."""
        return self.send(c.check_any_run(run_id), timeout=timeout)

    def any_bundle(
        self,
        run_id: int,
        *,
        with_: Literal["witnessed"] | None = None,
        form: Literal["sealed", "full"] | None = None,
        timeout: float | None = None,
    ) -> bytes:
        """A run's sealed bundle, byte for byte, or in full."""
        return self.send(c.any_bundle(run_id, with_=with_, form=form), timeout=timeout)

    def any_report(
        self,
        run_id: int,
        *,
        with_: Literal["witnessed"] | None = None,
        format: Literal["brief", "auditor", "legal", "comprehensive"] | None = None,
        timeout: float | None = None,
    ) -> bytes:
        """The audit report of a run, as a PDF that carries the sealed bundle. 503 also when too many reports are being made."""
        return self.send(c.any_report(run_id, with_=with_, format=format), timeout=timeout)

    def any_auditor_zip(self, run_id: int, *, timeout: float | None = None) -> bytes:
        """One file for an auditor: bundle, report, trust document, witnessed checkpoint, and how to verify them. A ZIP that `verifier` takes as it is. The keys in it prove nothing about who made the record: the auditor gets them by another way. 503 also when too many reports are being made."""
        return self.send(c.any_auditor_zip(run_id), timeout=timeout)

    def any_statement(self, run_id: int, *, timeout: float | None = None) -> bytes:
        """A run's statement: in-toto, in a DSSE envelope that the service's key signed. 404 also for a run that ended as stage_error, whose record is no attestation, and for one whose key is revoked from before its log time."""
        return self.send(c.any_statement(run_id), timeout=timeout)

    def any_artifact(
        self,
        run_id: int,
        name: Literal["allow-token", "deny-receipt", "ccv-halt-receipt", "macc-halt-receipt", "aivp-t4-halt-receipt", "attestation-gap-receipt"],
        *,
        timeout: float | None = None,
    ) -> bytes:
        """The token or receipt of a run, which verifies by itself. Not found where the run ended otherwise."""
        return self.send(c.any_artifact(run_id, name), timeout=timeout)

    def all_permits(
        self,
        *,
        limit: int | None = None,
        before: str | None = None,
        key: int | None = None,
        state: Literal["open", "closed", "ended", "refused"] | None = None,
        timeout: float | None = None,
    ) -> a.AdminPermitsPage:
        """The permits of all keys, newest first."""
        return self.send(c.all_permits(limit=limit, before=before, key=key, state=state), timeout=timeout)

    def iter_all_permits(
        self,
        *,
        limit: int | None = None,
        key: int | None = None,
        state: Literal["open", "closed", "ended", "refused"] | None = None,
        timeout: float | None = None,
    ) -> Iterator[a.AdminPermitSummary]:
        """The items of `all_permits`, page by page: `limit` is the size of a page."""
        return self.items(c.all_permits(limit=limit, key=key, state=state), "permits", "permit_id", timeout)

    def any_permit(self, permit_id: str, *, timeout: float | None = None) -> a.AdminPermitRecord:
        """A permit of any key, with its sealed documents."""
        return self.send(c.any_permit(permit_id), timeout=timeout)

    def published_runs(
        self,
        *,
        limit: int | None = None,
        before: int | None = None,
        key: int | None = None,
        timeout: float | None = None,
    ) -> a.PublicationsPage:
        """What is published, the newest run first."""
        return self.send(c.published_runs(limit=limit, before=before, key=key), timeout=timeout)

    def iter_published_runs(
        self,
        *,
        limit: int | None = None,
        key: int | None = None,
        timeout: float | None = None,
    ) -> Iterator[a.Publication]:
        """The items of `published_runs`, page by page: `limit` is the size of a page."""
        return self.items(c.published_runs(limit=limit, key=key), "published", "", timeout)

    def usage(self, *, timeout: float | None = None) -> a.UsageAnswer:
        """What every key has used: runs by outcome, tokens, its budget window, its trial."""
        return self.send(c.usage(), timeout=timeout)

    def overview(
        self,
        *,
        range: Literal["24h", "7d", "30d", "90d"] | None = None,
        timeout: float | None = None,
    ) -> a.OverviewAnswer:
        """Runs by outcome over time, what denied them, and how the log grew. Of the keys that the caller reads; the log is that of all keys. Steps begin at multiples of their length, in UTC."""
        return self.send(c.overview(range=range), timeout=timeout)

    def attention(
        self,
        *,
        after: int | None = None,
        wait: int | None = None,
        timeout: float | None = None,
    ) -> a.AttentionAnswer:
        """What needs somebody's attention now, and how long the log is. Of what the caller sees; what is well is left out. With `after` and `wait` the answer is held back until the log has grown."""
        return self.send(c.attention(after=after, wait=wait), timeout=timeout)

    def policy(self, *, timeout: float | None = None) -> a.PolicyInForce:
        """The policy in force, and the library of signatures."""
        return self.send(c.policy(), timeout=timeout)

    def admin_events(
        self,
        *,
        limit: int | None = None,
        before: int | None = None,
        action: Literal["key.create", "key.rotate", "key.change", "key.revoke", "runs.claim", "run.publish", "run.unpublish", "run.share", "run.unshare", "policy.propose", "policy.load", "webhook.create", "webhook.change", "webhook.rotate", "webhook.resume", "webhook.delete", "signing_keys.rotate", "signing_key.revoke", "heads.forget", "clock.confirm", "search_index.clear", "approval.approve", "approval.reject", "approval.withdraw", "approval.delete_comments", "passkey.enrol", "passkey.confirm", "passkey.revoke"] | None = None,
        subject_kind: Literal["key", "run", "policy", "destination", "signing_key", "log", "heads_folder", "search_index", "approval", "passkey"] | None = None,
        subject_id: str | None = None,
        timeout: float | None = None,
    ) -> a.EventsPage:
        """What administrators did, newest first. For admin keys, and for auditors who read all keys."""
        return self.send(
            c.admin_events(limit=limit, before=before, action=action, subject_kind=subject_kind, subject_id=subject_id),
            timeout=timeout,
        )

    def iter_admin_events(
        self,
        *,
        limit: int | None = None,
        action: Literal["key.create", "key.rotate", "key.change", "key.revoke", "runs.claim", "run.publish", "run.unpublish", "run.share", "run.unshare", "policy.propose", "policy.load", "webhook.create", "webhook.change", "webhook.rotate", "webhook.resume", "webhook.delete", "signing_keys.rotate", "signing_key.revoke", "heads.forget", "clock.confirm", "search_index.clear", "approval.approve", "approval.reject", "approval.withdraw", "approval.delete_comments", "passkey.enrol", "passkey.confirm", "passkey.revoke"] | None = None,
        subject_kind: Literal["key", "run", "policy", "destination", "signing_key", "log", "heads_folder", "search_index", "approval", "passkey"] | None = None,
        subject_id: str | None = None,
        timeout: float | None = None,
    ) -> Iterator[a.ListedEvent]:
        """The items of `admin_events`, page by page: `limit` is the size of a page."""
        return self.items(
            c.admin_events(limit=limit, action=action, subject_kind=subject_kind, subject_id=subject_id),
            "events",
            "",
            timeout,
        )

    def export_admin_events(
        self,
        *,
        from_: str | None = None,
        to: str | None = None,
        timeout: float | None = None,
    ) -> bytes:
        """All admin events, oldest first, with a statement that proves them complete."""
        return self.send(c.export_admin_events(from_=from_, to=to), timeout=timeout)

    def iter_export_admin_events(
        self,
        *,
        from_: str | None = None,
        to: str | None = None,
        timeout: float | None = None,
    ) -> Iterator[bytes]:
        """The lines of `export_admin_events` as they arrive, however many: each is a document, with its line break."""
        return self.lines(c.export_admin_events(from_=from_, to=to), timeout)

    def admin_event(self, ordinal: int, *, timeout: float | None = None) -> bytes:
        """A sealed admin event, which verifies by itself."""
        return self.send(c.admin_event(ordinal), timeout=timeout)

    def open_session(
        self,
        key: str,
        *,
        extra: Mapping[str, Any] | None = None,
        timeout: float | None = None,
    ) -> a.SessionAnswer:
        """Sign in with a key, from a browser. The answer sets a cookie, which takes the place of the key. It is for people in a browser; programs send their key. In open mode there is no session to open, and no cookie is set."""
        return self.send(c.open_session(key, extra=extra), timeout=timeout)

    def session(self, *, timeout: float | None = None) -> a.SessionAnswer:
        """Who calls, and until when the session lasts."""
        return self.send(c.session(), timeout=timeout)

    def close_session(self, csrf_token: str, *, timeout: float | None = None) -> a.ClosedSession:
        """Sign out."""
        return self.send(c.close_session(csrf_token), timeout=timeout)

    def events(
        self,
        *,
        after: int | None = None,
        limit: int | None = None,
        format: Literal["standard", "ocsf", "cef"] | None = None,
        timeout: float | None = None,
    ) -> bytes:
        """What was sealed, as events in the order of the log. Of all callers; for admin keys, and for auditors who read all keys. The position of the last line is the next `after`; no line: there is nothing new."""
        return self.send(c.events(after=after, limit=limit, format=format), timeout=timeout)

    def make_destination(
        self,
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
        timeout: float | None = None,
    ) -> a.CreatedDestination:
        """Deliver events to a receiver. A webhook, or a receiver of syslog messages over TCP or TLS. By an admin key alone: in open mode 403."""
        return self.send(
            c.make_destination(url, kind=kind, ca=ca, name=name, format=format, types=types, outcomes=outcomes, key_ids=key_ids, from_=from_, idempotency_key=idempotency_key, extra=extra),
            timeout=timeout,
        )

    def destinations(self, *, timeout: float | None = None) -> a.DestinationList:
        """Every destination, without secrets."""
        return self.send(c.destinations(), timeout=timeout)

    def change_destination(
        self,
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
        timeout: float | None = None,
    ) -> a.ChangedDestination:
        """Change a destination."""
        return self.send(
            c.change_destination(destination_id, url=url, ca=ca, name=name, format=format, types=types, outcomes=outcomes, key_ids=key_ids, active=active, idempotency_key=idempotency_key, extra=extra),
            timeout=timeout,
        )

    def delete_destination(
        self,
        destination_id: int,
        *,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> a.DeletedDestination:
        """Deliver no more to a destination."""
        return self.send(c.delete_destination(destination_id, idempotency_key=idempotency_key), timeout=timeout)

    def rotate_destination(
        self,
        destination_id: int,
        *,
        overlap_seconds: int | None = None,
        idempotency_key: str | None = None,
        extra: Mapping[str, Any] | None = None,
        timeout: float | None = None,
    ) -> a.RotatedDestination:
        """Give a webhook another secret."""
        return self.send(
            c.rotate_destination(destination_id, overlap_seconds=overlap_seconds, idempotency_key=idempotency_key, extra=extra),
            timeout=timeout,
        )

    def test_destination(self, destination_id: int, *, timeout: float | None = None) -> a.TestedDestination:
        """Send a test event now."""
        return self.send(c.test_destination(destination_id), timeout=timeout)

    def resume_destination(
        self,
        destination_id: int,
        from_: int,
        *,
        idempotency_key: str | None = None,
        extra: Mapping[str, Any] | None = None,
        timeout: float | None = None,
    ) -> a.ResumedDestination:
        """Set the next position to deliver."""
        return self.send(
            c.resume_destination(destination_id, from_, idempotency_key=idempotency_key, extra=extra),
            timeout=timeout,
        )

    def deliveries(self, *, timeout: float | None = None) -> a.DeliveryList:
        """How far each delivery is. For admin keys, and for auditors who read all keys."""
        return self.send(c.deliveries(), timeout=timeout)

    def checkpoint(self, *, timeout: float | None = None) -> bytes:
        """The current checkpoint, a signed note. With the witnesses' cosignatures once enough of them cosigned this very checkpoint."""
        return self.send(c.checkpoint(), timeout=timeout)

    def witnessed_checkpoint(self, *, timeout: float | None = None) -> bytes:
        """The newest checkpoint that enough witnesses cosigned."""
        return self.send(c.witnessed_checkpoint(), timeout=timeout)

    def outside_logs(self, *, timeout: float | None = None) -> a.OutsideLogsAnswer:
        """Which entries other logs hold too. Every Rekor log that was ever named with --anchor rekor, and what is still on its way there."""
        return self.send(c.outside_logs(), timeout=timeout)

    def witnesses(self, *, timeout: float | None = None) -> a.WitnessesAnswer:
        """When the witnesses cosigned last, and which are silent. As the process knows them that answers. What a witness signed is in the checkpoint."""
        return self.send(c.witnesses(), timeout=timeout)

    def genesis(self, *, timeout: float | None = None) -> a.GenesisAnswer:
        """What entry 0 signs."""
        return self.send(c.genesis(), timeout=timeout)

    def key_changes(self, *, timeout: float | None = None) -> a.KeyChangesAnswer:
        """What the entries sign with which the log's keys changed. Each is signed with the service key that the one before it names, the first with that of the genesis."""
        return self.send(c.key_changes(), timeout=timeout)

    def tile(self, level: int | str, index: str, *, timeout: float | None = None) -> bytes:
        """A full tile of 256."""
        return self.send(c.tile(level, index), timeout=timeout)

    def partial_tile(self, level: int | str, index: str, width: int, *, timeout: float | None = None) -> bytes:
        """A partial tile."""
        return self.send(c.partial_tile(level, index, width), timeout=timeout)

    def log_entry(self, index: int, *, timeout: float | None = None) -> a.LogEntryAnswer:
        """An entry with its proof."""
        return self.send(c.log_entry(index), timeout=timeout)

    def consistency(self, first: int, second: int, *, timeout: float | None = None) -> a.ConsistencyAnswer:
        """Proof that the log only grew."""
        return self.send(c.consistency(first, second), timeout=timeout)

    def trust_document(self, *, timeout: float | None = None) -> bytes:
        """The trust document. Compare its fingerprints with the operator by another way before you rely on it."""
        return self.send(c.trust_document(), timeout=timeout)

    def trusted_root(self, *, timeout: float | None = None) -> bytes:
        """Its Sigstore trusted_root.json alone."""
        return self.send(c.trusted_root(), timeout=timeout)

    def service_key(self, *, timeout: float | None = None) -> bytes:
        """The service's public key."""
        return self.send(c.service_key(), timeout=timeout)

    def jwks(self, *, timeout: float | None = None) -> bytes:
        """The service keys in force, as a JWKS document. Permits are checked with them. A key that was replaced or revoked is not listed."""
        return self.send(c.jwks(), timeout=timeout)

    def about(self, *, timeout: float | None = None) -> a.IndexAnswer:
        """What this service is and where everything is."""
        return self.send(c.about(), timeout=timeout)

    def health(self, *, timeout: float | None = None) -> a.Health:
        """Whether the process lives. Every status but 200 means that the service cannot be reached: query parameters are ignored."""
        return self.send(c.health(), timeout=timeout)

    def ready(self, *, timeout: float | None = None) -> a.ReadyAnswer:
        """Whether database and log are usable. Found at most once a second, however often it is asked."""
        return self.send(c.ready(), timeout=timeout)

    def version(self, *, timeout: float | None = None) -> a.VersionAnswer:
        """Release, engine, formula and log."""
        return self.send(c.version(), timeout=timeout)

    def openapi(self, *, timeout: float | None = None) -> bytes:
        """This document."""
        return self.send(c.openapi(), timeout=timeout)


class AsyncOperations(AsyncSender):
    """Every call of the public API, for asyncio."""

    async def execute(
        self,
        request: r.ExecuteRequest,
        idempotency_key: str | None = None,
        *,
        extra: Mapping[str, Any] | None = None,
        timeout: float | None = None,
    ) -> a.RunAnswer:
        """Run a payload through all nine stages and seal the result. The stages decide, check, seal and anchor; the service does not run the caller's program. Answered when the record is durable. After a 503, or when the connection breaks, a run may exist; an acknowledged one always does. With an idempotency key the request may be sent again: it gets that run's answer, or makes the one run."""
        return await self.send(c.execute(whole(request, r.ExecuteRequest, extra), idempotency_key), timeout=timeout)

    async def verify_determinism(
        self,
        request: r.ExecuteRequest,
        *,
        extra: Mapping[str, Any] | None = None,
        timeout: float | None = None,
    ) -> a.DeterminismAnswer:
        """Run the same input twice under one clock and nonce. Nothing is stored, charged or anchored."""
        return await self.send(c.verify_determinism(whole(request, r.ExecuteRequest, extra)), timeout=timeout)

    async def verify_by_service(self, document: Mapping[str, Any], *, timeout: float | None = None) -> a.DcaeAnswer:
        """Verify a document with the server's own keys. A document of any kind. A convenience, not third-party evidence."""
        return await self.send(c.verify_by_service(document), timeout=timeout)

    async def open_permit(
        self,
        request: r.OpenPermitRequest,
        idempotency_key: str | None = None,
        *,
        extra: Mapping[str, Any] | None = None,
        timeout: float | None = None,
    ) -> a.OpenPermitAnswer:
        """Decide on an act before it is done, and reserve its tokens. The request of POST /execute without what is known only after the act. An admitted one is anchored as an opening before it is answered; a refused one is a refused run. The permit is a JWT that the party in `audience` checks before it acts. 403 where the service opens no permits; 429 also when the key has 1,000 open permits."""
        return await self.send(
            c.open_permit(whole(request, r.OpenPermitRequest, extra), idempotency_key),
            timeout=timeout,
        )

    async def permits(
        self,
        *,
        limit: int | None = None,
        offset: int | None = None,
        before: str | None = None,
        state: Literal["open", "closed", "ended", "refused"] | None = None,
        timeout: float | None = None,
    ) -> a.PermitsPage:
        """The caller's permits, newest first."""
        return await self.send(c.permits(limit=limit, offset=offset, before=before, state=state), timeout=timeout)

    def iter_permits(
        self,
        *,
        limit: int | None = None,
        state: Literal["open", "closed", "ended", "refused"] | None = None,
        timeout: float | None = None,
    ) -> AsyncIterator[a.PermitSummary]:
        """The items of `permits`, page by page: `limit` is the size of a page."""
        return self.items(c.permits(limit=limit, state=state), "permits", "permit_id", timeout)

    async def get_permit(self, permit_id: str, *, timeout: float | None = None) -> a.PermitRecord:
        """A permit with its sealed documents."""
        return await self.send(c.get_permit(permit_id), timeout=timeout)

    async def close_permit(
        self,
        permit_id: str,
        request: r.ClosePermitRequest,
        idempotency_key: str | None = None,
        *,
        extra: Mapping[str, Any] | None = None,
        timeout: float | None = None,
    ) -> a.RunAnswer:
        """Report what became of the act, and seal the run. Answers as POST /execute does: 422 means that the output must not be released. A run whose act failed is sealed as any other, and says so. 409 also when the permit is not open any more."""
        return await self.send(
            c.close_permit(permit_id, whole(request, r.ClosePermitRequest, extra), idempotency_key),
            timeout=timeout,
        )

    async def collect_permit(self, approval_id: str, *, timeout: float | None = None) -> a.OpenPermitAnswer:
        """Collect the permit of an act that people approved. For the key that asked, without a body. An approval is one permit: a repetition gives the same one. 409 where a decision came in between: retry."""
        return await self.send(c.collect_permit(approval_id), timeout=timeout)

    async def withdraw_approval(self, approval_id: str, *, timeout: float | None = None) -> a.AskedApprovalAnswer:
        """Withdraw a request for an approval. For the key that asked. It ends in a refused run."""
        return await self.send(c.withdraw_approval(approval_id), timeout=timeout)

    async def get_approval(self, approval_id: str, *, timeout: float | None = None) -> a.ApprovalRecord:
        """A request for an approval, with its sealed document. To those who approve also the payload, as long as it is stored."""
        return await self.send(c.get_approval(approval_id), timeout=timeout)

    async def redeem_permit(
        self,
        permit_id: str,
        permit: str,
        *,
        extra: Mapping[str, Any] | None = None,
        timeout: float | None = None,
    ) -> a.RedeemPermitAnswer:
        """Take a permit for the one act, once for all. For the party that acts. The permit is the credential; no key is needed. Requests are counted by address."""
        return await self.send(c.redeem_permit(permit_id, permit, extra=extra), timeout=timeout)

    async def approvals(
        self,
        *,
        limit: int | None = None,
        before: str | None = None,
        state: Literal["waiting", "approved", "rejected", "withdrawn", "collected", "refused"] | None = None,
        timeout: float | None = None,
    ) -> a.ApprovalsPage:
        """Requests for an approval, newest first. To people who signed in and to keys of approvers: those with a rule that names one of their groups. To other keys: their own."""
        return await self.send(c.approvals(limit=limit, before=before, state=state), timeout=timeout)

    def iter_approvals(
        self,
        *,
        limit: int | None = None,
        state: Literal["waiting", "approved", "rejected", "withdrawn", "collected", "refused"] | None = None,
        timeout: float | None = None,
    ) -> AsyncIterator[a.ApprovalSummary]:
        """The items of `approvals`, page by page: `limit` is the size of a page."""
        return self.items(c.approvals(limit=limit, state=state), "approvals", "approval_id", timeout)

    async def decide_approval(
        self,
        approval_id: str,
        request_digest: str,
        decision: Literal["approve", "reject"],
        *,
        comment: str | None = None,
        comment_salt: str | None = None,
        passkey: r.PasskeySignature | None = None,
        extra: Mapping[str, Any] | None = None,
        timeout: float | None = None,
    ) -> a.DecidedApproval:
        """Approve or reject an act. The decision names the document that was shown. A person counts once, whatever sessions and keys it has. The same decision again changes nothing. A rejection ends the request."""
        return await self.send(
            c.decide_approval(approval_id, request_digest, decision, comment=comment, comment_salt=comment_salt, passkey=passkey, extra=extra),
            timeout=timeout,
        )

    async def delete_comments(self, approval_id: str, *, timeout: float | None = None) -> a.DecidedApproval:
        """Delete what people wrote beside their decisions. Who decided deletes its own comment, an administrator those of all. The decisions stay as they are sealed, with the hashes of the comments, whose salts are deleted too."""
        return await self.send(c.delete_comments(approval_id), timeout=timeout)

    async def passkeys(
        self,
        *,
        limit: int | None = None,
        state: Literal["pending", "counts", "revoked"] | None = None,
        timeout: float | None = None,
    ) -> a.PasskeyList:
        """Passkeys, newest first. To a person its own; to administrators and auditors those of all people, their own before others."""
        return await self.send(c.passkeys(limit=limit, state=state), timeout=timeout)

    async def revoke_passkey(self, id: str, *, timeout: float | None = None) -> a.PasskeyAnswer:
        """Revoke a passkey. By its person, or by an administrator. It signs no later decision; what it signed before counts."""
        return await self.send(c.revoke_passkey(id), timeout=timeout)

    async def runs(
        self,
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
        timeout: float | None = None,
    ) -> a.RunsPage:
        """The caller's runs that match every filter, newest first."""
        return await self.send(
            c.runs(limit=limit, offset=offset, before=before, after=after, details=details, manifest_hash=manifest_hash, program_id=program_id, route_id=route_id, route_prefix=route_prefix, status=status, outcome_kind=outcome_kind, error_stage=error_stage, enforcement=enforcement, closing_outcome=closing_outcome, rule_id=rule_id, payload_hash=payload_hash, envelope_id=envelope_id, actor_id=actor_id, model_name=model_name, approver=approver, end_user=end_user, end_user_issuer=end_user_issuer, from_=from_, to=to),
            timeout=timeout,
        )

    def iter_runs(
        self,
        *,
        limit: int | None = None,
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
        timeout: float | None = None,
    ) -> AsyncIterator[a.RunSummary]:
        """The items of `runs`, page by page: `limit` is the size of a page."""
        return self.items(
            c.runs(limit=limit, after=after, details=details, manifest_hash=manifest_hash, program_id=program_id, route_id=route_id, route_prefix=route_prefix, status=status, outcome_kind=outcome_kind, error_stage=error_stage, enforcement=enforcement, closing_outcome=closing_outcome, rule_id=rule_id, payload_hash=payload_hash, envelope_id=envelope_id, actor_id=actor_id, model_name=model_name, approver=approver, end_user=end_user, end_user_issuer=end_user_issuer, from_=from_, to=to),
            "runs",
            "id",
            timeout,
        )

    async def export(
        self,
        *,
        from_: str | None = None,
        to: str | None = None,
        tenant: Literal["anonymous"] | None = None,
        timeout: float | None = None,
    ) -> bytes:
        """The caller's records, oldest first, with a statement that proves them complete. One JSON document a line: an export statement, anchored in the log, then the bundles that it names. They are the shortest part of the caller's chain that holds every record admitted from `from` to `to`. An answer that ends early lacks records, and `verifier export.ndjson --complete` says which. Compressed with zstd or gzip where Accept-Encoding allows it. 503 also when too many exports are being read."""
        return await self.send(c.export(from_=from_, to=to, tenant=tenant), timeout=timeout)

    def iter_export(
        self,
        *,
        from_: str | None = None,
        to: str | None = None,
        tenant: Literal["anonymous"] | None = None,
        timeout: float | None = None,
    ) -> AsyncIterator[bytes]:
        """The lines of `export` as they arrive, however many: each is a document, with its line break."""
        return self.lines(c.export(from_=from_, to=to, tenant=tenant), timeout)

    async def run(self, run_id: int, *, timeout: float | None = None) -> a.RunRecord:
        """A run's record with its manifest."""
        return await self.send(c.run(run_id), timeout=timeout)

    async def check_run(self, run_id: int, *, timeout: float | None = None) -> a.VerifyAnswer:
        """The server's self-check of a run. Derives the seal again from the stored fields. It is not third-party evidence."""
        return await self.send(c.check_run(run_id), timeout=timeout)

    async def bundle(
        self,
        run_id: int,
        *,
        with_: Literal["witnessed"] | None = None,
        form: Literal["sealed", "full"] | None = None,
        timeout: float | None = None,
    ) -> bytes:
        """A run's sealed bundle, byte for byte, or in full."""
        return await self.send(c.bundle(run_id, with_=with_, form=form), timeout=timeout)

    async def report(
        self,
        run_id: int,
        *,
        with_: Literal["witnessed"] | None = None,
        format: Literal["brief", "auditor", "legal", "comprehensive"] | None = None,
        timeout: float | None = None,
    ) -> bytes:
        """The audit report of a run, as a PDF that carries the sealed bundle. 503 also when too many reports are being made."""
        return await self.send(c.report(run_id, with_=with_, format=format), timeout=timeout)

    async def auditor_zip(self, run_id: int, *, timeout: float | None = None) -> bytes:
        """One file for an auditor: bundle, report, trust document, witnessed checkpoint, and how to verify them. A ZIP that `verifier` takes as it is. The keys in it prove nothing about who made the record: the auditor gets them by another way. 503 also when too many reports are being made."""
        return await self.send(c.auditor_zip(run_id), timeout=timeout)

    async def statement(self, run_id: int, *, timeout: float | None = None) -> bytes:
        """A run's statement: in-toto, in a DSSE envelope that the service's key signed. 404 also for a run that ended as stage_error, whose record is no attestation, and for one whose key is revoked from before its log time."""
        return await self.send(c.statement(run_id), timeout=timeout)

    async def artifact(
        self,
        run_id: int,
        name: Literal["allow-token", "deny-receipt", "ccv-halt-receipt", "macc-halt-receipt", "aivp-t4-halt-receipt", "attestation-gap-receipt"],
        *,
        timeout: float | None = None,
    ) -> bytes:
        """The token or receipt of a run, which verifies by itself. Not found where the run ended otherwise."""
        return await self.send(c.artifact(run_id, name), timeout=timeout)

    async def attest(
        self,
        digest: str,
        *,
        subject_ref: str | None = None,
        idempotency_key: str | None = None,
        extra: Mapping[str, Any] | None = None,
        timeout: float | None = None,
    ) -> a.Attestation:
        """Anchor a digest on the log."""
        return await self.send(
            c.attest(digest, subject_ref=subject_ref, idempotency_key=idempotency_key, extra=extra),
            timeout=timeout,
        )

    async def attestations(
        self,
        *,
        limit: int | None = None,
        offset: int | None = None,
        timeout: float | None = None,
    ) -> a.AttestationsPage:
        """The caller's attestations, newest first."""
        return await self.send(c.attestations(limit=limit, offset=offset), timeout=timeout)

    def iter_attestations(
        self,
        *,
        limit: int | None = None,
        timeout: float | None = None,
    ) -> AsyncIterator[a.ListedAttestation]:
        """The items of `attestations`, page by page: `limit` is the size of a page."""
        return self.items(c.attestations(limit=limit), "attestations", "attestation_id", timeout)

    async def make_key(
        self,
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
        timeout: float | None = None,
    ) -> a.MintedKey:
        """Mint a key. In open mode the first key is minted without a key; from then on the deployment is locked."""
        return await self.send(
            c.make_key(name, scope=scope, confirm_admin_scope=confirm_admin_scope, tier=tier, notes=notes, expires_at=expires_at, run_token_budget=run_token_budget, window_token_budget=window_token_budget, rate_limit=rate_limit, reads=reads, share=share, observe=observe, person=person, groups=groups, persons=persons, idempotency_key=idempotency_key, extra=extra),
            timeout=timeout,
        )

    async def keys(self, *, timeout: float | None = None) -> a.KeyList:
        """Every key, without secrets."""
        return await self.send(c.keys(), timeout=timeout)

    async def change_key(
        self,
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
        timeout: float | None = None,
    ) -> a.ChangedKey:
        """Change a key's name, notes, limits or expiry. What is absent stays; null takes a setting away."""
        return await self.send(
            c.change_key(key_id, name=name, tier=tier, notes=notes, expires_at=expires_at, run_token_budget=run_token_budget, window_token_budget=window_token_budget, rate_limit=rate_limit, reads=reads, share=share, observe=observe, groups=groups, persons=persons, idempotency_key=idempotency_key, extra=extra),
            timeout=timeout,
        )

    async def revoke_key(
        self,
        key_id: int,
        *,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> a.RevokedKey:
        """Revoke a key."""
        return await self.send(c.revoke_key(key_id, idempotency_key=idempotency_key), timeout=timeout)

    async def rotate_key(
        self,
        key_id: int,
        *,
        overlap_seconds: int | None = None,
        idempotency_key: str | None = None,
        extra: Mapping[str, Any] | None = None,
        timeout: float | None = None,
    ) -> a.RotatedKey:
        """Give a key a new secret. The key keeps its id, runs, permits and budgets. Without `overlap_seconds` the old secret is refused from the next request on."""
        return await self.send(
            c.rotate_key(key_id, overlap_seconds=overlap_seconds, idempotency_key=idempotency_key, extra=extra),
            timeout=timeout,
        )

    async def claim_runs(
        self,
        key_id: int,
        *,
        extra: Mapping[str, Any] | None = None,
        timeout: float | None = None,
    ) -> a.ClaimedRuns:
        """Give the runs of open mode to a key, once. From then on the key reads, searches, reports, exports and publishes them. Their records still name the tenant `anonymous`. A retry with the same key is answered like the first call; 409 for another key, and when there are no such runs."""
        return await self.send(c.claim_runs(key_id, extra=extra), timeout=timeout)

    async def publish(self, run_id: int, *, timeout: float | None = None) -> a.PublishedRun:
        """Publish a run that the calling admin key reads."""
        return await self.send(c.publish(run_id), timeout=timeout)

    async def unpublish(self, run_id: int, *, timeout: float | None = None) -> a.UnpublishedRun:
        """Unpublish any run. Copies that were cached may be served for an hour."""
        return await self.send(c.unpublish(run_id), timeout=timeout)

    async def share(
        self,
        run_id: int,
        *,
        expires_in_seconds: int | None = None,
        idempotency_key: str | None = None,
        extra: Mapping[str, Any] | None = None,
        timeout: float | None = None,
    ) -> a.MadeShare:
        """Share a run for some days under a link that needs no key. For admin keys, of every run; and for auditors whose key has `share`, of those that they read. Without `expires_in_seconds` the link works for a day."""
        return await self.send(
            c.share(run_id, expires_in_seconds=expires_in_seconds, idempotency_key=idempotency_key, extra=extra),
            timeout=timeout,
        )

    async def shares(
        self,
        *,
        limit: int | None = None,
        before: int | None = None,
        key: int | None = None,
        run: int | None = None,
        timeout: float | None = None,
    ) -> a.SharesPage:
        """What is shared now, the newest link first."""
        return await self.send(c.shares(limit=limit, before=before, key=key, run=run), timeout=timeout)

    def iter_shares(
        self,
        *,
        limit: int | None = None,
        key: int | None = None,
        run: int | None = None,
        timeout: float | None = None,
    ) -> AsyncIterator[a.Share]:
        """The items of `shares`, page by page: `limit` is the size of a page."""
        return self.items(c.shares(limit=limit, key=key, run=run), "shares", "share_id", timeout)

    async def revoke_share(
        self,
        share_id: int,
        *,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> a.RevokedShare:
        """End a link at once. For admin keys; an auditor ends those of its own key."""
        return await self.send(c.revoke_share(share_id, idempotency_key=idempotency_key), timeout=timeout)

    async def shared_bundle(
        self,
        token: str,
        *,
        with_: Literal["witnessed"] | None = None,
        timeout: float | None = None,
    ) -> bytes:
        """A shared run's bundle."""
        return await self.send(c.shared_bundle(token, with_=with_), timeout=timeout)

    async def shared_report(
        self,
        token: str,
        *,
        with_: Literal["witnessed"] | None = None,
        format: Literal["brief", "auditor", "legal", "comprehensive"] | None = None,
        timeout: float | None = None,
    ) -> bytes:
        """A shared run's report as a PDF, signed and with its bundle in it."""
        return await self.send(c.shared_report(token, with_=with_, format=format), timeout=timeout)

    async def public_bundle(
        self,
        token: str,
        *,
        with_: Literal["witnessed"] | None = None,
        timeout: float | None = None,
    ) -> bytes:
        """A published run's bundle."""
        return await self.send(c.public_bundle(token, with_=with_), timeout=timeout)

    async def public_statement(self, token: str, *, timeout: float | None = None) -> bytes:
        """A published run's statement, in a DSSE envelope. 404 also for a run that ended as stage_error, and for one whose key is revoked from before its log time."""
        return await self.send(c.public_statement(token), timeout=timeout)

    async def policies(
        self,
        *,
        limit: int | None = None,
        before: int | None = None,
        timeout: float | None = None,
    ) -> a.PoliciesPage:
        """Every policy that was in force, newest first. For admin keys, and for auditors who read all keys."""
        return await self.send(c.policies(limit=limit, before=before), timeout=timeout)

    def iter_policies(
        self,
        *,
        limit: int | None = None,
        timeout: float | None = None,
    ) -> AsyncIterator[a.PolicyVersion]:
        """The items of `policies`, page by page: `limit` is the size of a page."""
        return self.items(c.policies(limit=limit), "policies", "", timeout)

    async def load_policy(
        self,
        policy: r.PolicyDocument,
        *,
        extra: Mapping[str, Any] | None = None,
        timeout: float | None = None,
    ) -> a.LoadedPolicy:
        """Put a policy in force, without a restart. Every process of this deployment decides by it within two seconds. An administrative event says who loaded it."""
        return await self.send(c.load_policy(policy, extra=extra), timeout=timeout)

    async def policy_version(self, version: int, *, timeout: float | None = None) -> a.FoundPolicy:
        """One policy that was in force. For admin keys, and for auditors who read all keys. Saved as a file it is what `verifier --decided-by` takes."""
        return await self.send(c.policy_version(version), timeout=timeout)

    async def try_policy(
        self,
        policy: r.PolicyDocument,
        *,
        last: int | None = None,
        extra: Mapping[str, Any] | None = None,
        timeout: float | None = None,
    ) -> a.DryRunAnswer:
        """Hold a policy against the newest runs. Changes nothing. Both policies judge what the records of the runs declare; 503 while another dry run is under way."""
        return await self.send(c.try_policy(policy, last=last, extra=extra), timeout=timeout)

    async def all_runs(
        self,
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
        timeout: float | None = None,
    ) -> a.AdminRunsPage:
        """The runs of all keys that match every filter, newest first. For admin keys and auditors, as the next ones; an auditor of named keys sees theirs. Paged by the run's number: `next` of a page is `before` of the next one."""
        return await self.send(
            c.all_runs(limit=limit, before=before, key=key, after=after, details=details, manifest_hash=manifest_hash, program_id=program_id, route_id=route_id, route_prefix=route_prefix, status=status, outcome_kind=outcome_kind, error_stage=error_stage, enforcement=enforcement, closing_outcome=closing_outcome, rule_id=rule_id, payload_hash=payload_hash, envelope_id=envelope_id, actor_id=actor_id, model_name=model_name, approver=approver, end_user=end_user, end_user_issuer=end_user_issuer, from_=from_, to=to, with_=with_),
            timeout=timeout,
        )

    def iter_all_runs(
        self,
        *,
        limit: int | None = None,
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
        timeout: float | None = None,
    ) -> AsyncIterator[a.AdminRunSummary]:
        """The items of `all_runs`, page by page: `limit` is the size of a page."""
        return self.items(
            c.all_runs(limit=limit, key=key, after=after, details=details, manifest_hash=manifest_hash, program_id=program_id, route_id=route_id, route_prefix=route_prefix, status=status, outcome_kind=outcome_kind, error_stage=error_stage, enforcement=enforcement, closing_outcome=closing_outcome, rule_id=rule_id, payload_hash=payload_hash, envelope_id=envelope_id, actor_id=actor_id, model_name=model_name, approver=approver, end_user=end_user, end_user_issuer=end_user_issuer, from_=from_, to=to, with_=with_),
            "runs",
            "id",
            timeout,
        )

    async def export_of_key(
        self,
        key: int,
        *,
        from_: str | None = None,
        to: str | None = None,
        timeout: float | None = None,
    ) -> bytes:
        """The records of one key, oldest first, with a statement that proves them complete."""
        return await self.send(c.export_of_key(key, from_=from_, to=to), timeout=timeout)

    def iter_export_of_key(
        self,
        key: int,
        *,
        from_: str | None = None,
        to: str | None = None,
        timeout: float | None = None,
    ) -> AsyncIterator[bytes]:
        """The lines of `export_of_key` as they arrive, however many: each is a document, with its line break."""
        return self.lines(c.export_of_key(key, from_=from_, to=to), timeout)

    async def any_run(self, run_id: int, *, timeout: float | None = None) -> a.AdminRunRecord:
        """The record of a run of any key."""
        return await self.send(c.any_run(run_id), timeout=timeout)

    async def check_any_run(self, run_id: int, *, timeout: float | None = None) -> a.VerifyAnswer:
        """The server's self-check of a run. Derives the seal again from the stored fields. It is not third-party evidence."""
        return await self.send(c.check_any_run(run_id), timeout=timeout)

    async def any_bundle(
        self,
        run_id: int,
        *,
        with_: Literal["witnessed"] | None = None,
        form: Literal["sealed", "full"] | None = None,
        timeout: float | None = None,
    ) -> bytes:
        """A run's sealed bundle, byte for byte, or in full."""
        return await self.send(c.any_bundle(run_id, with_=with_, form=form), timeout=timeout)

    async def any_report(
        self,
        run_id: int,
        *,
        with_: Literal["witnessed"] | None = None,
        format: Literal["brief", "auditor", "legal", "comprehensive"] | None = None,
        timeout: float | None = None,
    ) -> bytes:
        """The audit report of a run, as a PDF that carries the sealed bundle. 503 also when too many reports are being made."""
        return await self.send(c.any_report(run_id, with_=with_, format=format), timeout=timeout)

    async def any_auditor_zip(self, run_id: int, *, timeout: float | None = None) -> bytes:
        """One file for an auditor: bundle, report, trust document, witnessed checkpoint, and how to verify them. A ZIP that `verifier` takes as it is. The keys in it prove nothing about who made the record: the auditor gets them by another way. 503 also when too many reports are being made."""
        return await self.send(c.any_auditor_zip(run_id), timeout=timeout)

    async def any_statement(self, run_id: int, *, timeout: float | None = None) -> bytes:
        """A run's statement: in-toto, in a DSSE envelope that the service's key signed. 404 also for a run that ended as stage_error, whose record is no attestation, and for one whose key is revoked from before its log time."""
        return await self.send(c.any_statement(run_id), timeout=timeout)

    async def any_artifact(
        self,
        run_id: int,
        name: Literal["allow-token", "deny-receipt", "ccv-halt-receipt", "macc-halt-receipt", "aivp-t4-halt-receipt", "attestation-gap-receipt"],
        *,
        timeout: float | None = None,
    ) -> bytes:
        """The token or receipt of a run, which verifies by itself. Not found where the run ended otherwise."""
        return await self.send(c.any_artifact(run_id, name), timeout=timeout)

    async def all_permits(
        self,
        *,
        limit: int | None = None,
        before: str | None = None,
        key: int | None = None,
        state: Literal["open", "closed", "ended", "refused"] | None = None,
        timeout: float | None = None,
    ) -> a.AdminPermitsPage:
        """The permits of all keys, newest first."""
        return await self.send(c.all_permits(limit=limit, before=before, key=key, state=state), timeout=timeout)

    def iter_all_permits(
        self,
        *,
        limit: int | None = None,
        key: int | None = None,
        state: Literal["open", "closed", "ended", "refused"] | None = None,
        timeout: float | None = None,
    ) -> AsyncIterator[a.AdminPermitSummary]:
        """The items of `all_permits`, page by page: `limit` is the size of a page."""
        return self.items(c.all_permits(limit=limit, key=key, state=state), "permits", "permit_id", timeout)

    async def any_permit(self, permit_id: str, *, timeout: float | None = None) -> a.AdminPermitRecord:
        """A permit of any key, with its sealed documents."""
        return await self.send(c.any_permit(permit_id), timeout=timeout)

    async def published_runs(
        self,
        *,
        limit: int | None = None,
        before: int | None = None,
        key: int | None = None,
        timeout: float | None = None,
    ) -> a.PublicationsPage:
        """What is published, the newest run first."""
        return await self.send(c.published_runs(limit=limit, before=before, key=key), timeout=timeout)

    def iter_published_runs(
        self,
        *,
        limit: int | None = None,
        key: int | None = None,
        timeout: float | None = None,
    ) -> AsyncIterator[a.Publication]:
        """The items of `published_runs`, page by page: `limit` is the size of a page."""
        return self.items(c.published_runs(limit=limit, key=key), "published", "", timeout)

    async def usage(self, *, timeout: float | None = None) -> a.UsageAnswer:
        """What every key has used: runs by outcome, tokens, its budget window, its trial."""
        return await self.send(c.usage(), timeout=timeout)

    async def overview(
        self,
        *,
        range: Literal["24h", "7d", "30d", "90d"] | None = None,
        timeout: float | None = None,
    ) -> a.OverviewAnswer:
        """Runs by outcome over time, what denied them, and how the log grew. Of the keys that the caller reads; the log is that of all keys. Steps begin at multiples of their length, in UTC."""
        return await self.send(c.overview(range=range), timeout=timeout)

    async def attention(
        self,
        *,
        after: int | None = None,
        wait: int | None = None,
        timeout: float | None = None,
    ) -> a.AttentionAnswer:
        """What needs somebody's attention now, and how long the log is. Of what the caller sees; what is well is left out. With `after` and `wait` the answer is held back until the log has grown."""
        return await self.send(c.attention(after=after, wait=wait), timeout=timeout)

    async def policy(self, *, timeout: float | None = None) -> a.PolicyInForce:
        """The policy in force, and the library of signatures."""
        return await self.send(c.policy(), timeout=timeout)

    async def admin_events(
        self,
        *,
        limit: int | None = None,
        before: int | None = None,
        action: Literal["key.create", "key.rotate", "key.change", "key.revoke", "runs.claim", "run.publish", "run.unpublish", "run.share", "run.unshare", "policy.propose", "policy.load", "webhook.create", "webhook.change", "webhook.rotate", "webhook.resume", "webhook.delete", "signing_keys.rotate", "signing_key.revoke", "heads.forget", "clock.confirm", "search_index.clear", "approval.approve", "approval.reject", "approval.withdraw", "approval.delete_comments", "passkey.enrol", "passkey.confirm", "passkey.revoke"] | None = None,
        subject_kind: Literal["key", "run", "policy", "destination", "signing_key", "log", "heads_folder", "search_index", "approval", "passkey"] | None = None,
        subject_id: str | None = None,
        timeout: float | None = None,
    ) -> a.EventsPage:
        """What administrators did, newest first. For admin keys, and for auditors who read all keys."""
        return await self.send(
            c.admin_events(limit=limit, before=before, action=action, subject_kind=subject_kind, subject_id=subject_id),
            timeout=timeout,
        )

    def iter_admin_events(
        self,
        *,
        limit: int | None = None,
        action: Literal["key.create", "key.rotate", "key.change", "key.revoke", "runs.claim", "run.publish", "run.unpublish", "run.share", "run.unshare", "policy.propose", "policy.load", "webhook.create", "webhook.change", "webhook.rotate", "webhook.resume", "webhook.delete", "signing_keys.rotate", "signing_key.revoke", "heads.forget", "clock.confirm", "search_index.clear", "approval.approve", "approval.reject", "approval.withdraw", "approval.delete_comments", "passkey.enrol", "passkey.confirm", "passkey.revoke"] | None = None,
        subject_kind: Literal["key", "run", "policy", "destination", "signing_key", "log", "heads_folder", "search_index", "approval", "passkey"] | None = None,
        subject_id: str | None = None,
        timeout: float | None = None,
    ) -> AsyncIterator[a.ListedEvent]:
        """The items of `admin_events`, page by page: `limit` is the size of a page."""
        return self.items(
            c.admin_events(limit=limit, action=action, subject_kind=subject_kind, subject_id=subject_id),
            "events",
            "",
            timeout,
        )

    async def export_admin_events(
        self,
        *,
        from_: str | None = None,
        to: str | None = None,
        timeout: float | None = None,
    ) -> bytes:
        """All admin events, oldest first, with a statement that proves them complete."""
        return await self.send(c.export_admin_events(from_=from_, to=to), timeout=timeout)

    def iter_export_admin_events(
        self,
        *,
        from_: str | None = None,
        to: str | None = None,
        timeout: float | None = None,
    ) -> AsyncIterator[bytes]:
        """The lines of `export_admin_events` as they arrive, however many: each is a document, with its line break."""
        return self.lines(c.export_admin_events(from_=from_, to=to), timeout)

    async def admin_event(self, ordinal: int, *, timeout: float | None = None) -> bytes:
        """A sealed admin event, which verifies by itself."""
        return await self.send(c.admin_event(ordinal), timeout=timeout)

    async def open_session(
        self,
        key: str,
        *,
        extra: Mapping[str, Any] | None = None,
        timeout: float | None = None,
    ) -> a.SessionAnswer:
        """Sign in with a key, from a browser. The answer sets a cookie, which takes the place of the key. It is for people in a browser; programs send their key. In open mode there is no session to open, and no cookie is set."""
        return await self.send(c.open_session(key, extra=extra), timeout=timeout)

    async def session(self, *, timeout: float | None = None) -> a.SessionAnswer:
        """Who calls, and until when the session lasts."""
        return await self.send(c.session(), timeout=timeout)

    async def close_session(self, csrf_token: str, *, timeout: float | None = None) -> a.ClosedSession:
        """Sign out."""
        return await self.send(c.close_session(csrf_token), timeout=timeout)

    async def events(
        self,
        *,
        after: int | None = None,
        limit: int | None = None,
        format: Literal["standard", "ocsf", "cef"] | None = None,
        timeout: float | None = None,
    ) -> bytes:
        """What was sealed, as events in the order of the log. Of all callers; for admin keys, and for auditors who read all keys. The position of the last line is the next `after`; no line: there is nothing new."""
        return await self.send(c.events(after=after, limit=limit, format=format), timeout=timeout)

    async def make_destination(
        self,
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
        timeout: float | None = None,
    ) -> a.CreatedDestination:
        """Deliver events to a receiver. A webhook, or a receiver of syslog messages over TCP or TLS. By an admin key alone: in open mode 403."""
        return await self.send(
            c.make_destination(url, kind=kind, ca=ca, name=name, format=format, types=types, outcomes=outcomes, key_ids=key_ids, from_=from_, idempotency_key=idempotency_key, extra=extra),
            timeout=timeout,
        )

    async def destinations(self, *, timeout: float | None = None) -> a.DestinationList:
        """Every destination, without secrets."""
        return await self.send(c.destinations(), timeout=timeout)

    async def change_destination(
        self,
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
        timeout: float | None = None,
    ) -> a.ChangedDestination:
        """Change a destination."""
        return await self.send(
            c.change_destination(destination_id, url=url, ca=ca, name=name, format=format, types=types, outcomes=outcomes, key_ids=key_ids, active=active, idempotency_key=idempotency_key, extra=extra),
            timeout=timeout,
        )

    async def delete_destination(
        self,
        destination_id: int,
        *,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> a.DeletedDestination:
        """Deliver no more to a destination."""
        return await self.send(c.delete_destination(destination_id, idempotency_key=idempotency_key), timeout=timeout)

    async def rotate_destination(
        self,
        destination_id: int,
        *,
        overlap_seconds: int | None = None,
        idempotency_key: str | None = None,
        extra: Mapping[str, Any] | None = None,
        timeout: float | None = None,
    ) -> a.RotatedDestination:
        """Give a webhook another secret."""
        return await self.send(
            c.rotate_destination(destination_id, overlap_seconds=overlap_seconds, idempotency_key=idempotency_key, extra=extra),
            timeout=timeout,
        )

    async def test_destination(self, destination_id: int, *, timeout: float | None = None) -> a.TestedDestination:
        """Send a test event now."""
        return await self.send(c.test_destination(destination_id), timeout=timeout)

    async def resume_destination(
        self,
        destination_id: int,
        from_: int,
        *,
        idempotency_key: str | None = None,
        extra: Mapping[str, Any] | None = None,
        timeout: float | None = None,
    ) -> a.ResumedDestination:
        """Set the next position to deliver."""
        return await self.send(
            c.resume_destination(destination_id, from_, idempotency_key=idempotency_key, extra=extra),
            timeout=timeout,
        )

    async def deliveries(self, *, timeout: float | None = None) -> a.DeliveryList:
        """How far each delivery is. For admin keys, and for auditors who read all keys."""
        return await self.send(c.deliveries(), timeout=timeout)

    async def checkpoint(self, *, timeout: float | None = None) -> bytes:
        """The current checkpoint, a signed note. With the witnesses' cosignatures once enough of them cosigned this very checkpoint."""
        return await self.send(c.checkpoint(), timeout=timeout)

    async def witnessed_checkpoint(self, *, timeout: float | None = None) -> bytes:
        """The newest checkpoint that enough witnesses cosigned."""
        return await self.send(c.witnessed_checkpoint(), timeout=timeout)

    async def outside_logs(self, *, timeout: float | None = None) -> a.OutsideLogsAnswer:
        """Which entries other logs hold too. Every Rekor log that was ever named with --anchor rekor, and what is still on its way there."""
        return await self.send(c.outside_logs(), timeout=timeout)

    async def witnesses(self, *, timeout: float | None = None) -> a.WitnessesAnswer:
        """When the witnesses cosigned last, and which are silent. As the process knows them that answers. What a witness signed is in the checkpoint."""
        return await self.send(c.witnesses(), timeout=timeout)

    async def genesis(self, *, timeout: float | None = None) -> a.GenesisAnswer:
        """What entry 0 signs."""
        return await self.send(c.genesis(), timeout=timeout)

    async def key_changes(self, *, timeout: float | None = None) -> a.KeyChangesAnswer:
        """What the entries sign with which the log's keys changed. Each is signed with the service key that the one before it names, the first with that of the genesis."""
        return await self.send(c.key_changes(), timeout=timeout)

    async def tile(self, level: int | str, index: str, *, timeout: float | None = None) -> bytes:
        """A full tile of 256."""
        return await self.send(c.tile(level, index), timeout=timeout)

    async def partial_tile(self, level: int | str, index: str, width: int, *, timeout: float | None = None) -> bytes:
        """A partial tile."""
        return await self.send(c.partial_tile(level, index, width), timeout=timeout)

    async def log_entry(self, index: int, *, timeout: float | None = None) -> a.LogEntryAnswer:
        """An entry with its proof."""
        return await self.send(c.log_entry(index), timeout=timeout)

    async def consistency(self, first: int, second: int, *, timeout: float | None = None) -> a.ConsistencyAnswer:
        """Proof that the log only grew."""
        return await self.send(c.consistency(first, second), timeout=timeout)

    async def trust_document(self, *, timeout: float | None = None) -> bytes:
        """The trust document. Compare its fingerprints with the operator by another way before you rely on it."""
        return await self.send(c.trust_document(), timeout=timeout)

    async def trusted_root(self, *, timeout: float | None = None) -> bytes:
        """Its Sigstore trusted_root.json alone."""
        return await self.send(c.trusted_root(), timeout=timeout)

    async def service_key(self, *, timeout: float | None = None) -> bytes:
        """The service's public key."""
        return await self.send(c.service_key(), timeout=timeout)

    async def jwks(self, *, timeout: float | None = None) -> bytes:
        """The service keys in force, as a JWKS document. Permits are checked with them. A key that was replaced or revoked is not listed."""
        return await self.send(c.jwks(), timeout=timeout)

    async def about(self, *, timeout: float | None = None) -> a.IndexAnswer:
        """What this service is and where everything is."""
        return await self.send(c.about(), timeout=timeout)

    async def health(self, *, timeout: float | None = None) -> a.Health:
        """Whether the process lives. Every status but 200 means that the service cannot be reached: query parameters are ignored."""
        return await self.send(c.health(), timeout=timeout)

    async def ready(self, *, timeout: float | None = None) -> a.ReadyAnswer:
        """Whether database and log are usable. Found at most once a second, however often it is asked."""
        return await self.send(c.ready(), timeout=timeout)

    async def version(self, *, timeout: float | None = None) -> a.VersionAnswer:
        """Release, engine, formula and log."""
        return await self.send(c.version(), timeout=timeout)

    async def openapi(self, *, timeout: float | None = None) -> bytes:
        """This document."""
        return await self.send(c.openapi(), timeout=timeout)
