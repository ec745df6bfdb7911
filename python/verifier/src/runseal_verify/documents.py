"""Which document a text is, and its verification."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from .admin_events import verify_admin_event
from .approval_requests import verify_request
from .bundle import verify_bundle
from .checks import FAILED, Outcome
from .json_text import Unreadable, parse
from .key_notes import key_notes
from .permits import verify_end, verify_opening
from .receipts import verify_receipt
from .run_statement import verify_run_statement
from .statements import verify_attestation, verify_export_statement
from .trust import Trust

Json = dict[str, Any]


def verify_document(document: Any, trust: Sequence[Trust]) -> Outcome:
    """Verifies a parsed document with each trust document until one of them holds; raises Unreadable for what is none."""
    if not isinstance(document, dict):
        raise Unreadable("The document is no object.")
    if "kind" not in document and "permit_id" in document and isinstance(document.get("opening"), dict):
        if "end" in document:
            raise Unreadable("The answer holds two documents of a permit: save each by itself, and verify both.")
        return verify_document(document["opening"], trust)
    if "kind" not in document and "approval_id" in document and isinstance(document.get("request"), dict):
        return verify_document(document["request"], trust)
    verify = {
        "vfa.audit_bundle.v2": verify_bundle,
        "vfa.bundle_view.v1": verify_bundle,
        "vfa.opening.v1": verify_opening,
        "vfa.approval_request.v1": verify_request,
        "vfa.permit_end.v1": verify_end,
        "vfa.admin_event.v1": verify_admin_event,
        "vfa.admin_event.v2": verify_admin_event,
        "vfa.export.v2": verify_export_statement,
    }.get(document.get("kind", "") if isinstance(document.get("kind"), str) else "")
    if verify is None and "kind" not in document:
        attested = verify_attestation if "attestation_id" in document else verify_receipt
        verify = verify_run_statement if "payloadType" in document else attested
    if verify is None:
        raise Unreadable("The document is none that this verifier reads.")
    found = [(each, verify(document, each)) for each in trust]
    holding = next(((each, outcome) for each, outcome in found if outcome.verdict != FAILED), None)
    return found[0][1] if holding is None else _with_key_notes(document, *holding)


def _with_key_notes(document: Json, trust: Trust, outcome: Outcome) -> Outcome:
    notes = key_notes(document, trust)
    revoked = any(note.code == "key_revoked_later" for note in notes)
    limitations = (*outcome.limitations, "key_revoked_later") if revoked else outcome.limitations
    return replace(outcome, key_notes=notes, limitations=limitations)


def verify_text(data: bytes, trust: Sequence[Trust]) -> Outcome:
    """Verifies the text of a document; raises Unreadable for what is none."""
    return verify_document(parse(data), trust)
