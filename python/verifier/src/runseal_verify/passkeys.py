"""What a passkey signed of a decision: docs/formats.md, section 2.8, "Passkeys"."""

from __future__ import annotations

import base64
import hashlib
from dataclasses import dataclass
from typing import Any

from .approval_shapes import host_of
from .json_text import Unreadable, digest, parse
from .keys import verifies

Json = dict[str, Any]
# Bits of the byte behind the hash of the relying party, and the bytes up to the end of the counter.
_PRESENT, _VERIFIED, _ELIGIBLE, _BACKED_UP, _ATTESTED, _EXTENDED = 0x01, 0x04, 0x08, 0x10, 0x40, 0x80
_BARE_BYTES = 37
_ACT = ("program_id", "route_id", "payload_hash")


@dataclass(frozen=True)
class Place:
    """Whose a document is, and its entry in the log; None of one that is in no log."""

    tenant_id: str
    entry: Json | None


def place_of(document: Json) -> Place:
    """That of an opening, or of a request for an approval."""
    return Place(document["tenant_id"], document["entry"])


def place_of_record(bundle: Json) -> Place:
    """That of a record: the entry of the complete record, or without one the first."""
    anchors = [
        bundle["anchors"][each] for each in ("complete_record", "pre_anchor", "receipt") if each in bundle["anchors"]
    ]
    return Place(bundle["run"]["tenant_id"], anchors[0]["entry"] if anchors else None)


def _client_problem(data: bytes, origin: str, challenge: bytes) -> str | None:
    try:
        client = parse(data)
    except Unreadable:
        return "The browser's data are no strict JSON."
    if not isinstance(client, dict) or client.get("type") != "webauthn.get":
        return "The browser's data are of no signature."
    if client.get("challenge") != base64.urlsafe_b64encode(challenge).decode().rstrip("="):
        return "The passkey signed something else."
    if client.get("origin") != origin:
        return "The passkey signed at another origin."
    if client.get("crossOrigin", False) is not False or "topOrigin" in client:
        return "The passkey signed within another page."
    return None


def _authenticator_problem(data: bytes, rp_id: str) -> str | None:
    if data[:32] != hashlib.sha256(rp_id.encode()).digest():
        return "The passkey signed for another relying party."
    flags = data[32]
    if not flags & _PRESENT or not flags & _VERIFIED:
        return "The passkey signed without its person."
    if flags & _ATTESTED or (flags & _BACKED_UP and not flags & _ELIGIBLE):
        return "The passkey has flags that exclude each other."
    if (len(data) > _BARE_BYTES) != bool(flags & _EXTENDED):
        return "The authenticator's data have another length."
    return None


def assertion_problem(passkey: Json, challenge: str) -> str | None:
    """Why this passkey did not sign the challenge, 64 hex digits, or None; the passkey has its form."""
    if host_of(passkey["origin"]) != passkey["rp_id"]:
        return "The passkey is of another relying party than its origin."
    names = ("public_key", "authenticator_data", "client_data_json", "signature")
    key, authenticator, client, signature = (base64.b64decode(passkey[name]) for name in names)
    problem = _client_problem(client, passkey["origin"], bytes.fromhex(challenge))
    problem = problem or _authenticator_problem(authenticator, passkey["rp_id"])
    if problem is not None:
        return problem
    if not verifies(key, signature, authenticator + hashlib.sha256(client).digest()):
        return "The signature is not that of the passkey."
    return None


def decision_digest(sections: Json, section: Json, decision: Json, place: Place, log_origin: str) -> str:
    """The challenge of a decision on the act of a document."""
    facts, person = sections["policy_evaluation"]["facts"], decision["person"]
    signed = {
        "kind": "vfa.approval_decision.v1",
        **{name: section[name] for name in ("request_hash", "expires_at")},
        **{name: facts[name] for name in ("audience", "valid_for_seconds")},
        **{name: sections["envelope"][name] for name in _ACT},
        "log_origin": log_origin,
        "tenant_id": place.tenant_id,
        "decision": decision["decision"],
        "issuer": person["issuer"],
        "subject": person["subject"],
    }
    if "comment_hash" in decision:
        signed["comment_hash"] = decision["comment_hash"]
    return digest(signed)


def passkeys_problem(sections: Json, section: Json, place: Place) -> str | None:
    """Why passkeys did not sign the decisions that have one, or None; of a document in no log nothing is known to be signed."""
    signed = [each for each in section["decisions"] if "passkey" in each]
    if place.entry is None or not signed:
        return None
    if not {"audience", "valid_for_seconds"} <= set(sections["policy_evaluation"]["facts"]):
        return "The act has no terms that a passkey could have signed."
    log_origin = place.entry["inclusionProof"]["checkpoint"]["envelope"].split("\n", 1)[0]
    problems = (
        assertion_problem(each["passkey"], decision_digest(sections, section, each, place, log_origin))
        for each in signed
    )
    return next((each for each in problems if each is not None), None)
