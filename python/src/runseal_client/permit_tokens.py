"""Checks a permit without the service, for the party that acts: docs/executors.md."""

from __future__ import annotations

import base64
import hashlib
import json
import time
from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Any

try:
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature
except ImportError:
    raise ImportError("To check permits, install runseal-client with its extra: runseal-client[permit].") from None

from .shown_approvals import ApprovedAct, ExpectedApprovals, ProvenApprovals, proven_approvals, read_shown

MAX_PERMIT_CHARACTERS = 16_384
MAX_LEEWAY_SECONDS = 30


# Why a permit does not allow an act: the codes and sentences of `@runseal/permit`.
REFUSALS = {
    "missing": "The act needs a permit.",
    "malformed": "The permit is no permit of this format.",
    "unknown_key": "The permit is signed with a key that is not one of the service's.",
    "keys_unavailable": "The service's keys could not be read.",
    "bad_signature": "The permit's signature is not valid.",
    "wrong_issuer": "The permit is of another service.",
    "wrong_audience": "The permit is for somebody else.",
    "wrong_tenant": "The permit is of another tenant.",
    "not_yet_valid": "The permit is not valid yet.",
    "expired": "The permit has expired.",
    "wrong_payload": "The permit is for another payload.",
    "wrong_route": "The permit is for another route.",
    "wrong_program": "The permit is for another program.",
    "observed": "The permit is of a decision that was only observed: a refusal would have stopped nothing.",
    "approvals_missing": "The act needs approvals that persons signed with passkeys: send them in the header Runseal-Approvals.",
    "approvals_insufficient": "The approvals that were shown are too few or too old, hold a rejection, or are not signed for this act with keys that are known here.",
    "approvals_used": "The approvals were used for another act: ask for new ones.",
    "redeem_required": "The permit must be redeemed, which is not done here.",
    "already_redeemed": "The permit was redeemed before.",
    "redeem_refused": "The service did not redeem the permit.",
    "redeem_unavailable": "The service could not be asked to redeem the permit.",
}


class PermitInvalid(Exception):
    """The act is not permitted: what was shown is no permit for it, now, for this audience. `code` is one of `REFUSALS`."""

    def __init__(self, code: str) -> None:
        super().__init__(REFUSALS[code])
        self.code = code


@dataclass(frozen=True)
class VerifiedPermit:
    """What a permit permits, and who approved, where that is demanded."""

    permit_id: str
    tenant_id: str
    program_id: str
    route_id: str
    reserve_tokens: int
    expires_at: int
    redeem_required: bool
    claims: dict[str, Any]
    approved: ProvenApprovals | None = None


def _decoded(part: str) -> bytes:
    try:
        data = base64.urlsafe_b64decode(part + "=" * (-len(part) % 4))
    except ValueError:
        raise PermitInvalid("malformed") from None
    if base64.urlsafe_b64encode(data).decode().rstrip("=") != part:
        raise PermitInvalid("malformed")
    return data


def _members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise ValueError("A member is there twice.")
    return members


def _no_number(_: str) -> Any:
    raise ValueError("JSON has no such number.")


def _object(data: bytes) -> dict[str, Any]:
    try:
        value = json.loads(data.decode("utf-8"), object_pairs_hook=_members, parse_constant=_no_number)
    except (ValueError, RecursionError):
        raise PermitInvalid("malformed") from None
    if not isinstance(value, dict):
        raise PermitInvalid("malformed")
    return value


def _key(jwks: bytes, kid: object) -> ec.EllipticCurvePublicKey:
    keys = _object(jwks).get("keys", [])
    key = next((each for each in keys if each.get("kid") == kid and each.get("crv") == "P-256"), None)
    if key is None or not isinstance(kid, str):
        raise PermitInvalid("unknown_key")
    x, y = (int.from_bytes(_decoded(key[name]), "big") for name in ("x", "y"))
    return ec.EllipticCurvePublicNumbers(x, y, ec.SECP256R1()).public_key()


def verify_permit(
    permit: str,
    jwks: bytes,
    *,
    issuer: str,
    audience: str,
    route_id: str,
    program_id: str | Collection[str],
    payload: bytes,
    tenant_id: str | None = None,
    redeems: bool = False,
    accepts_observed: bool = False,
    leeway: float = 5,
    now: float | None = None,
    approvals: ExpectedApprovals | None = None,
    shown_approvals: str | None = None,
) -> VerifiedPermit:
    """Whether this act may be done now. What is expected is the knowledge of the party that acts, never what a request says.

    `jwks` is what /.well-known/jwks.json answers, `issuer` the origin of the trust document, `audience` one's own name,
    `route_id` the kind of act, `program_id` who may ask for it, one or several, and `payload` the bytes that will be acted
    on. `tenant_id` says whose permits count; without it those of every key of the service. A permit that must be redeemed
    is refused unless `redeems` is true: then redeem it before the act. One whose decision was only observed, so that a
    refusal would have stopped nothing, is refused unless `accepts_observed` is true. `leeway` is by how many seconds the clocks may
    differ, at most 30; `now` is in Unix seconds. `approvals` says whose approvals the act needs besides, and `shown_approvals` is
    the header `Runseal-Approvals` that came with the permit, which is read only then: use each approval once, by its
    `request_hash`. Raises PermitInvalid, and ValueError for a leeway out of its bounds.
    """
    if not 0 <= leeway <= MAX_LEEWAY_SECONDS:
        raise ValueError(f"leeway is 0 to {MAX_LEEWAY_SECONDS} seconds")
    claims = _signed_claims(permit, jwks)
    try:
        verified = _verified(claims)
        payload_hash = claims["runseal"]["payload_hash"]
        not_before, issued_by, acts = claims["nbf"], claims["iss"], claims["aud"]
    except (KeyError, TypeError):
        raise PermitInvalid("malformed") from None
    if issued_by != issuer:
        raise PermitInvalid("wrong_issuer")
    if acts != audience:
        raise PermitInvalid("wrong_audience")
    if type(not_before) is not int or type(verified.expires_at) is not int:
        raise PermitInvalid("malformed")
    at = time.time() if now is None else now
    if at < not_before - leeway:
        raise PermitInvalid("not_yet_valid")
    if at >= verified.expires_at + leeway:
        raise PermitInvalid("expired")
    programs = [program_id] if isinstance(program_id, str) else program_id
    if verified.route_id != route_id:
        raise PermitInvalid("wrong_route")
    if verified.program_id not in programs:
        raise PermitInvalid("wrong_program")
    if tenant_id is not None and verified.tenant_id != tenant_id:
        raise PermitInvalid("wrong_tenant")
    if payload_hash != hashlib.sha256(payload).hexdigest():
        raise PermitInvalid("wrong_payload")
    if "enforcement" in claims["runseal"] and not accepts_observed:
        raise PermitInvalid("observed")
    if verified.redeem_required is not False and not redeems:
        raise PermitInvalid("redeem_required")
    if approvals is None:
        return verified
    act = ApprovedAct(
        log_origin=issuer,
        tenant_id=verified.tenant_id,
        audience=audience,
        program_id=verified.program_id,
        route_id=route_id,
        payload_hash=payload_hash,
        valid_for_seconds=verified.expires_at - not_before,
    )
    return replace(verified, approved=_approved(shown_approvals, approvals, act, now=at, leeway=leeway))


def _approved(
    header: str | None, expected: ExpectedApprovals, act: ApprovedAct, *, now: float, leeway: float
) -> ProvenApprovals:
    shown = read_shown(header)
    if shown is None:
        raise PermitInvalid("approvals_missing")
    approved = proven_approvals(shown, expected, act, now=now, leeway=leeway, max_leeway=MAX_LEEWAY_SECONDS)
    if approved is None:
        raise PermitInvalid("approvals_insufficient")
    return approved


def _signed_claims(permit: str, jwks: bytes) -> dict[str, Any]:
    """The claims that a key in force signed. The header chooses nothing but that key."""
    if not permit:
        raise PermitInvalid("missing")
    parts = permit.split(".") if len(permit) <= MAX_PERMIT_CHARACTERS else []
    if len(parts) != 3:
        raise PermitInvalid("malformed")
    header, claims, signature = _object(_decoded(parts[0])), _object(_decoded(parts[1])), _decoded(parts[2])
    kid = header.get("kid")
    if header != {"alg": "ES256", "typ": "runseal-permit+jwt", "kid": kid} or len(signature) != 64:
        raise PermitInvalid("malformed")
    pair = encode_dss_signature(int.from_bytes(signature[:32], "big"), int.from_bytes(signature[32:], "big"))
    try:
        signed = f"{parts[0]}.{parts[1]}".encode()
        _key(jwks, kid).verify(pair, signed, ec.ECDSA(hashes.SHA256()))
    except InvalidSignature:
        raise PermitInvalid("bad_signature") from None
    return claims


def _verified(claims: dict[str, Any]) -> VerifiedPermit:
    act = claims["runseal"]
    return VerifiedPermit(
        claims["jti"],
        claims["sub"],
        act["program_id"],
        act["route_id"],
        act["reserve_tokens"],
        claims["exp"],
        act.get("redeem_required", False),
        claims,
    )
