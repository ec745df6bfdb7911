"""Checks a permit without the service, for the party that acts: docs/executors.md."""

from __future__ import annotations

import base64
import hashlib
import json
import time
from dataclasses import dataclass
from typing import Any

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature

MAX_PERMIT_CHARACTERS = 8_192


class PermitInvalid(Exception):
    """The act is not permitted: what was shown is no permit for it, now, for this audience."""


@dataclass(frozen=True)
class VerifiedPermit:
    """What a permit permits."""

    permit_id: str
    tenant_id: str
    program_id: str
    route_id: str
    reserve_tokens: int
    expires_at: int
    redeem_required: bool
    claims: dict[str, Any]


def _decoded(part: str) -> bytes:
    try:
        data = base64.urlsafe_b64decode(part + "=" * (-len(part) % 4))
    except ValueError:
        raise PermitInvalid("It is no permit.") from None
    if base64.urlsafe_b64encode(data).decode().rstrip("=") != part:
        raise PermitInvalid("It is no permit.")
    return data


def _object(data: bytes) -> dict[str, Any]:
    try:
        value = json.loads(data)
    except ValueError:
        raise PermitInvalid("It is no permit.") from None
    if not isinstance(value, dict):
        raise PermitInvalid("It is no permit.")
    return value


def _key(jwks: bytes, kid: object) -> ec.EllipticCurvePublicKey:
    keys = _object(jwks).get("keys", [])
    key = next((each for each in keys if each.get("kid") == kid and each.get("crv") == "P-256"), None)
    if key is None:
        raise PermitInvalid("No key in force signed it.")
    x, y = (int.from_bytes(_decoded(key[name]), "big") for name in ("x", "y"))
    return ec.EllipticCurvePublicNumbers(x, y, ec.SECP256R1()).public_key()


def verify_permit(
    permit: str, jwks: bytes, *, issuer: str, audience: str, payload: bytes, now: float | None = None
) -> VerifiedPermit:
    """Whether this payload may be acted on now, by this audience.

    `jwks` is what /.well-known/jwks.json answers, `issuer` the origin of the trust document, `payload` the bytes that will
    be acted on, `now` Unix seconds. A permit with `redeem_required` permits the act only once it was redeemed. Raises
    PermitInvalid.
    """
    parts = permit.split(".") if len(permit) <= MAX_PERMIT_CHARACTERS else []
    if len(parts) != 3:
        raise PermitInvalid("It is no permit.")
    header, claims, signature = _object(_decoded(parts[0])), _object(_decoded(parts[1])), _decoded(parts[2])
    if header.get("alg") != "ES256" or header.get("typ") != "runseal-permit+jwt" or len(signature) != 64:
        raise PermitInvalid("It is no permit.")
    pair = encode_dss_signature(int.from_bytes(signature[:32], "big"), int.from_bytes(signature[32:], "big"))
    try:
        signed = f"{parts[0]}.{parts[1]}".encode()
        _key(jwks, header.get("kid")).verify(pair, signed, ec.ECDSA(hashes.SHA256()))
    except InvalidSignature:
        raise PermitInvalid("Its signature is wrong.") from None
    at = time.time() if now is None else now
    if claims.get("iss") != issuer or claims.get("aud") != audience:
        raise PermitInvalid("It is of another service, or for another audience.")
    try:
        if not claims["nbf"] <= at < claims["exp"]:
            raise PermitInvalid("It is not valid now.")
        act = claims["runseal"]
        if act["payload_hash"] != hashlib.sha256(payload).hexdigest():
            raise PermitInvalid("It permits another payload.")
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
    except (KeyError, TypeError):
        raise PermitInvalid("It is no permit.") from None
