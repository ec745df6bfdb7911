"""What the party that acts refuses: docs/executors.md."""

from __future__ import annotations

import base64
import hashlib
import json
from typing import Any

import pytest
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature

from runseal_client import PermitInvalid, VerifiedPermit, verify_permit

KEY = ec.generate_private_key(ec.SECP256R1())
PAYLOAD = b"pay 12"
NOW = 1_800_000_000
HEADER = {"alg": "ES256", "typ": "runseal-permit+jwt", "kid": "one"}
ACT = {
    "program_id": "ab" * 32,
    "route_id": "payments/transfer",
    "payload_hash": hashlib.sha256(PAYLOAD).hexdigest(),
    "reserve_tokens": 3,
    "allow_token_hash": "cd" * 32,
    "opening": {"leaf_hash": "ef" * 32, "log_id": "x", "log_index": "7"},
}
CLAIMS = {
    "iss": "log - 1",
    "aud": "payments",
    "sub": "api-key-7",
    "jti": "pmt-1",
    "iat": NOW,
    "nbf": NOW,
    "exp": NOW + 300,
}
EXPECTED: dict[str, Any] = {
    "issuer": "log - 1",
    "audience": "payments",
    "route_id": "payments/transfer",
    "program_id": "ab" * 32,
    "payload": PAYLOAD,
    "now": NOW + 10,
}


def text(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def jwks() -> bytes:
    numbers = KEY.public_key().public_numbers()
    x, y = (text(number.to_bytes(32, "big")) for number in (numbers.x, numbers.y))
    return json.dumps({"keys": [{"kty": "EC", "crv": "P-256", "x": x, "y": y, "kid": "one"}]}).encode()


def permit(header: dict[str, Any] | None = None, act: dict[str, Any] | None = None, **claims: Any) -> str:
    """A permit that the service's key signs, whatever it says."""
    said = {**CLAIMS, **claims, "runseal": {**ACT, **(act or {})}}
    signed = f"{text(json.dumps({**HEADER, **(header or {})}).encode())}.{text(json.dumps(said).encode())}"
    r, s = decode_dss_signature(KEY.sign(signed.encode(), ec.ECDSA(hashes.SHA256())))
    return f"{signed}.{text(r.to_bytes(32, 'big') + s.to_bytes(32, 'big'))}"


def judged(given: str, **expected: Any) -> VerifiedPermit | None:
    try:
        return verify_permit(given, jwks(), **{**EXPECTED, **expected})
    except PermitInvalid:
        return None


def test_a_permit_for_the_act_is_accepted() -> None:
    verified = judged(permit())
    assert verified is not None
    assert (verified.permit_id, verified.tenant_id, verified.reserve_tokens) == ("pmt-1", "api-key-7", 3)
    assert judged(permit(), tenant_id="api-key-7") is not None
    assert judged(permit(), program_id=["00" * 32, "ab" * 32]) is not None


@pytest.mark.parametrize(
    "expected",
    [
        {"issuer": "log - 2"},
        {"audience": "refunds"},
        {"route_id": "payments/read"},
        {"program_id": "00" * 32},
        {"program_id": ["00" * 32]},
        {"tenant_id": "api-key-8"},
        {"payload": b"pay 13"},
        {"now": NOW - 6},
        {"now": NOW + 305},
    ],
)
def test_a_permit_for_another_act_or_time_is_refused(expected: dict[str, Any]) -> None:
    assert judged(permit(), **expected) is None


@pytest.mark.parametrize(
    "header",
    [
        {"alg": "none"},
        {"alg": "HS256"},
        {"typ": "JWT"},
        {"kid": "two"},
        {"kid": None},
        {"crit": ["exp"]},
        {"crit": []},
        {"jwk": {}},
    ],
)
def test_only_the_header_of_a_permit_is_accepted(header: dict[str, Any]) -> None:
    assert judged(permit(header)) is None


@pytest.mark.parametrize(
    "claims",
    [{"aud": ["payments"]}, {"exp": None}, {"nbf": None}, {"exp": float("inf")}, {"exp": True}, {"exp": "9"}],
)
def test_claims_of_another_shape_are_refused(claims: dict[str, Any]) -> None:
    assert judged(permit(**claims)) is None


def test_clocks_may_differ_by_some_seconds() -> None:
    assert judged(permit(), now=NOW - 4) is not None
    assert judged(permit(), now=NOW + 304) is not None
    assert judged(permit(), now=NOW - 1, leeway=0) is None
    assert judged(permit(), now=NOW - 29, leeway=30) is not None
    for leeway in (-1, 31, float("nan")):
        with pytest.raises(ValueError, match="leeway"):
            judged(permit(), leeway=leeway)


def test_a_permit_that_must_be_redeemed_is_refused_where_nobody_redeems() -> None:
    given = permit(act={"redeem_required": True})
    assert judged(given) is None
    verified = judged(given, redeems=True)
    assert verified is not None and verified.redeem_required


@pytest.mark.parametrize("part", [b"[" * 6_000, b'{"a":' * 2_000, b'{"alg":"ES256","alg":"ES256"}', b'{"a":NaN}'])
def test_text_that_is_no_strict_json_is_no_permit(part: bytes) -> None:
    _, claims, signature = permit().split(".")
    assert judged(f"{text(part)}.{claims}.{signature}") is None
    assert judged(f"{text(json.dumps(HEADER).encode())}.{text(part)}.{signature}") is None


def test_a_permit_with_a_member_twice_is_refused() -> None:
    said = json.dumps({**CLAIMS, "runseal": ACT}).replace("{", '{"aud": "refunds", ', 1)
    signed = f"{text(json.dumps(HEADER).encode())}.{text(said.encode())}"
    r, s = decode_dss_signature(KEY.sign(signed.encode(), ec.ECDSA(hashes.SHA256())))
    assert judged(f"{signed}.{text(r.to_bytes(32, 'big') + s.to_bytes(32, 'big'))}") is None


def test_a_permit_that_was_only_observed_is_refused_unless_it_is_asked_for() -> None:
    given = permit(act={"enforcement": "observe"})
    assert judged(given) is None
    assert judged(given, accepts_observed=True) is not None
    assert judged(permit(), accepts_observed=True) is not None
