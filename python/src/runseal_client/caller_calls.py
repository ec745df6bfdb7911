"""The requests that every caller may make: runs, permits, attestations."""

from __future__ import annotations

from . import models as m
from .calls import Artifact, Body, Call, ReportFormat, bundle_query, given, new_key, segment


def execute(body: Body, idempotency_key: str | None = None) -> Call[m.RunAnswer]:
    """Takes a run through the pipeline; the answer of a refused run has `ok` false."""
    return Call("POST", "/execute", m.RunAnswer, body, idempotency_key=idempotency_key or new_key())


def verify_determinism(body: Body) -> Call[m.Determinism]:
    """Rehearses a request twice on a scratch log and compares the manifests; nothing is sealed."""
    return Call("POST", "/execute/verify-determinism", m.Determinism, body, again=True)


def verify_by_service(document: Body) -> Call[m.Verification]:
    """What the service says of a document. `runseal_verify` does not have to believe it."""
    return Call("POST", "/dcae/verify", m.Verification, document, again=True)


def open_permit(body: Body, idempotency_key: str | None = None) -> Call[m.OpenedPermit]:
    """Decides on an act before it is done; raises ActRefused when a gate refuses it, also where that is only observed."""
    return Call("POST", "/permits", m.OpenedPermit, body, idempotency_key=idempotency_key or new_key())


def close_permit(permit_id: str, body: Body, idempotency_key: str | None = None) -> Call[m.RunAnswer]:
    """Seals what became of the act."""
    path = f"/permits/{segment(permit_id)}/close"
    return Call("POST", path, m.RunAnswer, body, idempotency_key=idempotency_key or f"close-{permit_id}")


def redeem_permit(permit_id: str, permit: str) -> Call[m.RedeemedPermit]:
    """Makes the act single. Never retried: without an answer the act must not be done."""
    return Call("POST", f"/permits/{segment(permit_id)}/redeem", m.RedeemedPermit, {"permit": permit})


def permits(limit: int = 50, offset: int = 0, state: str | None = None) -> Call[m.PermitPage]:
    """Permits of this key, newest first."""
    return Call("GET", "/permits", m.PermitPage, query=given({"limit": limit, "offset": offset, "state": state}))


def get_permit(permit_id: str) -> Call[m.PermitSummary]:
    """One permit with its sealed documents."""
    return Call("GET", f"/permits/{segment(permit_id)}", m.PermitSummary)


def runs(limit: int = 50, offset: int = 0, **filters: str) -> Call[m.RunPage]:
    """Runs of this key, newest first; filters are those of GET /runs/search, `from_` for `from`."""
    path = "/runs/search" if filters else "/runs"
    named = {name.removesuffix("_"): value for name, value in filters.items()}
    return Call("GET", path, m.RunPage, query=given({"limit": limit, "offset": offset, **named}))


def run(run_id: int) -> Call[m.RunRecord]:
    """One run."""
    return Call("GET", f"/runs/{run_id}", m.RunRecord)


def check_run(run_id: int) -> Call[m.SelfCheck]:
    """The service's own check of a manifest. `runseal_verify` does not have to believe it."""
    return Call("GET", f"/runs/{run_id}/verify", m.SelfCheck)


def bundle(run_id: int, full: bool = False, witnessed: bool = False) -> Call[bytes]:
    """The record, byte for byte as it was sealed, or with `full` in full; with `witnessed` what witnesses signed since."""
    return Call("GET", f"/runs/{run_id}/artifacts", bytes, query=bundle_query(full, witnessed))


def artifact(run_id: int, name: Artifact) -> Call[bytes]:
    """The token or receipt of a run, which verifies by itself; not found where the run ended otherwise."""
    return Call("GET", f"/runs/{run_id}/{segment(name)}", bytes)


def report(run_id: int, form: ReportFormat = "comprehensive") -> Call[bytes]:
    """The audit report in PDF."""
    return Call("GET", f"/runs/{run_id}/report.pdf", bytes, query={"format": form})


def statement(run_id: int) -> Call[bytes]:
    """The run statement, for in-toto tools."""
    return Call("GET", f"/runs/{run_id}/statement.intoto.json", bytes)


def export(since: str | None = None, until: str | None = None, tenant: str | None = None) -> Call[bytes]:
    """All own documents, one a line, of at most 64 MiB; larger exports are for curl. `tenant` is `anonymous` or absent."""
    return Call("GET", "/runs/export", bytes, query=given({"from": since, "to": until, "tenant": tenant}))


def attest(digest: str, subject_ref: str | None = None, idempotency_key: str | None = None) -> Call[m.Attestation]:
    """Anchors a SHA-256."""
    body = {"digest": digest, "algorithm": "sha256", **given({"subject_ref": subject_ref})}
    return Call("POST", "/attest", m.Attestation, body, idempotency_key=idempotency_key or new_key())


def attestations(limit: int = 50, offset: int = 0) -> Call[m.AttestationPage]:
    """Attestations of this key, newest first."""
    return Call("GET", "/attestations", m.AttestationPage, query=given({"limit": limit, "offset": offset}))


def public_bundle(token: str) -> Call[bytes]:
    """The record of a published run; needs no key."""
    return Call("GET", f"/public/runs/{segment(token)}/bundle.json", bytes)


def public_statement(token: str) -> Call[bytes]:
    """The run statement of a published run; needs no key."""
    return Call("GET", f"/public/runs/{segment(token)}/statement.intoto.json", bytes)


def shared_bundle(token: str) -> Call[bytes]:
    """The record of a shared run; needs no key."""
    return Call("GET", f"/shared/{segment(token)}/bundle.json", bytes)


def shared_report(token: str, format: ReportFormat | None = None) -> Call[bytes]:
    """The report of a shared run as a PDF; needs no key."""
    return Call("GET", f"/shared/{segment(token)}/report.pdf", bytes, query=given({"format": format}))


def open_session(key: str) -> Call[m.Session]:
    """Opens a session of a key; the cookie stays in this client. A program that has a key needs none."""
    return Call("POST", "/session", m.Session, {"key": key})


def session() -> Call[m.Session]:
    """Who this client is to the service: the session or the key."""
    return Call("GET", "/session", m.Session)


def close_session(csrf_token: str) -> Call[m.Answer]:
    """Ends the session of this client; `csrf_token` is that of `open_session`."""
    return Call("DELETE", "/session", m.Answer, headers={"X-CSRF-Token": csrf_token})
