"""Approvals that persons signed with passkeys, shown beside a permit: docs/executors.md, "Approvals that no operator can make up"."""

from __future__ import annotations

import base64
import hashlib
import importlib.util
import json
import time
from collections.abc import Callable
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest
import rfc8785
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature, encode_dss_signature
from places import VECTORS
from test_permit_tokens import ACT, EXPECTED, NOW, PAYLOAD, jwks, permit

from runseal_client import ExpectedApprovals, PermitInvalid, VerifiedPermit, verify_permit

ORDER = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551
ISSUER = "https://login.example"
REQUEST = {"request_hash": "e" * 64, "expires_at": "2027-01-15T08:10:00.000Z"}
EXPIRES = NOW + 600
OTHER = "d" * 64
SIGNED = {
    **REQUEST,
    "kind": "vfa.approval_decision.v1",
    "valid_for_seconds": 300,
    "log_origin": "log - 1",
    "tenant_id": "api-key-7",
    "audience": "payments",
    **{name: ACT[name] for name in ("program_id", "route_id", "payload_hash")},
}


def b64(data: bytes) -> str:
    return base64.b64encode(data).decode()


def url64(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


class Passkey:
    """The passkey of a person, which exists only here."""

    def __init__(self, subject: str, issuer: str = ISSUER) -> None:
        self.secret = ec.generate_private_key(ec.SECP256R1())
        spki = self.secret.public_key().public_bytes(
            serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo
        )
        self.person = {"issuer": issuer, "subject": subject}
        self.pinned = {"public_key": b64(spki), "origin": "https://runseal.example", "rp_id": "runseal.example"}
        self.key = {**self.person, **self.pinned}

    def signs(
        self,
        challenge: bytes,
        client: dict[str, Any],
        flags: int = 0x1D,
        high_s: bool = False,
        behind: bytes = b"",
        rp_id: str = "runseal.example",
    ) -> dict[str, str]:
        said = {"type": "webauthn.get", "challenge": url64(challenge), "origin": self.pinned["origin"], **client}
        data = json.dumps(said).encode()
        authenticator = hashlib.sha256(rp_id.encode()).digest() + bytes([flags, 0, 0, 0, 7]) + behind
        signature = self.secret.sign(authenticator + hashlib.sha256(data).digest(), ec.ECDSA(hashes.SHA256()))
        r, s = decode_dss_signature(signature)
        if (s > ORDER // 2) is not high_s:
            signature = encode_dss_signature(r, ORDER - s)
        parts = {"authenticator_data": authenticator, "client_data_json": data, "signature": signature}
        return {**self.pinned, **{name: b64(part) for name, part in parts.items()}}


ANNA, BEN = Passkey("anna"), Passkey("ben")
KEYS = [ANNA.key, BEN.key]


def decided(
    person: Passkey,
    *,
    by: Passkey | None = None,
    shown: dict[str, Any] | None = None,
    client: dict[str, Any] | None = None,
    made: dict[str, Any] | None = None,
    pinned: dict[str, str] | None = None,
    **signs: Any,
) -> dict[str, Any]:
    """What one person decided, as the header shows it; what is signed can differ from it."""
    signed = {**SIGNED, "decision": "approve", **person.person, **signs}
    challenge = hashlib.sha256(rfc8785.dumps(signed)).digest()
    passkey = {**(by or person).signs(challenge, client or {}, **(made or {})), **(pinned or {})}
    return {"decision": signed["decision"], "person": person.person, "passkey": passkey, **(shown or {})}


def header_of(decisions: list[Any], request: dict[str, Any] = REQUEST) -> str:
    return url64(json.dumps({**request, "decisions": decisions}).encode())


def both(**change: Any) -> str:
    return header_of([decided(ANNA, **change), decided(BEN)])


def verdict(shown: str | None, count: int = 2, keys: Any = KEYS, **expected: Any) -> VerifiedPermit | str:
    """The permit, or the code of the refusal."""
    given = expected.pop("permit", None) or permit()
    demanded = {"approvals": ExpectedApprovals(count, keys), "shown_approvals": shown}
    try:
        return verify_permit(given, jwks(), **{**EXPECTED, **demanded, **expected})
    except PermitInvalid as invalid:
        return invalid.code


def persons_of(found: VerifiedPermit | str) -> list[str]:
    assert isinstance(found, VerifiedPermit) and found.approved is not None, found
    return [each.subject for each in found.approved.persons]


def test_two_persons_who_signed_this_act_are_named_with_the_request_that_is_used_up() -> None:
    found = verdict(both())
    assert persons_of(found) == ["anna", "ben"]
    assert isinstance(found, VerifiedPermit) and found.approved is not None
    assert found.approved.request_hash == REQUEST["request_hash"]
    assert found.approved.until == EXPIRES + 300 + 30


def test_a_comment_is_signed_by_its_hash_and_keys_are_the_file_as_text_or_value() -> None:
    comment = {"comment_hash": OTHER}
    file = {"kind": "vfa.approver_keys.v1", "keys": KEYS}
    for keys in (file, json.dumps(file), json.dumps(file).encode(), tuple(KEYS)):
        assert persons_of(verdict(both(shown=comment, **comment), keys=keys)) == ["anna", "ben"]


def test_where_no_approval_is_demanded_none_is_read() -> None:
    found = verify_permit(permit(), jwks(), **EXPECTED, shown_approvals="?")
    assert found.approved is None


CARL = Passkey("carl")
SOMETHING_ELSE: list[tuple[str, dict[str, Any]]] = [
    ("another payload", {"payload_hash": OTHER}),
    ("another route", {"route_id": "payments/refund"}),
    ("another audience", {"audience": "refunds"}),
    ("another program", {"program_id": OTHER}),
    ("another tenant", {"tenant_id": "api-key-8"}),
    ("the log of another service", {"log_origin": "log - 2"}),
    ("another time of the permit", {"valid_for_seconds": 301}),
    ("another request", {"request_hash": OTHER}),
    ("another end of the request", {"expires_at": "2027-01-15T08:11:00.000Z"}),
    ("a comment that is not shown", {"comment_hash": OTHER}),
    ("a comment that was not signed", {"shown": {"comment_hash": OTHER}}),
    ("another person's key", {"by": CARL}),
    ("another person's name", {"shown": {"person": {"issuer": ISSUER, "subject": "carl"}}}),
    (
        "the name at another identity provider",
        {"shown": {"person": {"issuer": "https://other.example", "subject": "anna"}}},
    ),
    ("a rejection that was signed as an approval", {"shown": {"decision": "reject"}}),
    ("an approval that was signed as a rejection", {"decision": "reject", "shown": {"decision": "approve"}}),
    ("a person who was not verified", {"made": {"flags": 0x01}}),
    ("a person who was not there", {"made": {"flags": 0x04}}),
    ("a key that is backed up and cannot be", {"made": {"flags": 0x15}}),
    ("the data of an enrolment", {"made": {"flags": 0x45}}),
    ("more authenticator data than its flags say", {"made": {"behind": b"\xa0"}}),
    ("another relying party", {"made": {"rp_id": "evil.example"}}),
    ("a signature with high S", {"made": {"high_s": True}}),
    ("another origin", {"client": {"origin": "https://elsewhere.example"}}),
    ("another pinned origin", {"pinned": {"origin": "https://runseal.example:8443"}}),
    ("another pinned relying party", {"pinned": {"rp_id": "example"}}),
    ("an enrolment's signature", {"client": {"type": "webauthn.create"}}),
    ("a page within another", {"client": {"crossOrigin": True}}),
    ("a page below another", {"client": {"topOrigin": "https://evil.example"}}),
    ("a browser's data with half a character", {"client": {"extra": "\ud800"}}),
    ("a browser's data with NUL", {"client": {"extra": "\0"}}),
    ("a browser's data with an inexact number", {"client": {"extra": 2**53}}),
    ("a browser's data that are nested too deeply", {"client": {"extra": json.loads("[" * 80 + "]" * 80)}}),
]


@pytest.mark.parametrize(("what", "change"), SOMETHING_ELSE, ids=[what for what, _ in SOMETHING_ELSE])
def test_an_approval_of_something_else_counts_for_nothing(what: str, change: dict[str, Any]) -> None:
    assert verdict(both(**change)) == "approvals_insufficient", what
    assert persons_of(verdict(both(**change), count=1)) == ["ben"], what


def test_approvals_are_not_enough_of_one_person() -> None:
    assert verdict(header_of([decided(ANNA), decided(ANNA)])) == "approvals_insufficient"
    for more in (Passkey("anna"), Passkey("anna", "https://other.example")):
        shown = header_of([decided(ANNA), decided(more)])
        assert verdict(shown, keys=[ANNA.key, more.key]) == "approvals_insufficient"


def test_approvals_are_not_enough_with_a_rejection_or_of_nobody() -> None:
    shown = header_of([decided(ANNA), decided(BEN, decision="reject")])
    assert verdict(shown, count=1) == "approvals_insufficient"
    # A rejection with a key that nobody here knows is no rejection.
    assert persons_of(verdict(shown, count=1, keys=[ANNA.key])) == ["anna"]
    assert verdict(header_of([])) == "approvals_insufficient"


def test_approvals_are_too_old_when_the_request_and_the_time_of_its_permit_are_over() -> None:
    over = EXPIRES + 300 + 5
    late = permit(iat=over - 100, nbf=over - 100, exp=over + 200)
    assert persons_of(verdict(both(), permit=late, now=over - 0.001)) == ["anna", "ben"]
    assert verdict(both(), permit=late, now=over) == "approvals_insufficient"


def changed(name: str, value: Any) -> str:
    one = decided(ANNA)
    return header_of([{**one, "passkey": {**one["passkey"], name: value}}])


NO_APPROVALS: list[tuple[str, Callable[[], str | None]]] = [
    ("no header", lambda: None),
    ("an empty header", lambda: ""),
    ("padding", lambda: f"{both()}="),
    ("the other alphabet", lambda: f"{both()}+/"),
    ("a letter of no alphabet", lambda: f"{both()}é"),
    ("two headers", lambda: f"{both()}, {both()}"),
    ("what is no JSON", lambda: url64(b"approved")),
    ("what is no UTF-8", lambda: url64(b'"\xff"')),
    ("another value", lambda: url64(b"[]")),
    ("a member twice", lambda: url64(b'{"decisions":[],"decisions":[]}')),
    ("deep nesting", lambda: url64(b"[" * 5_000)),
    ("another member", lambda: header_of([], {**REQUEST, "outcome": "approved"})),
    ("the name of a person", lambda: both(shown={"person": {**ANNA.person, "name": "Anna"}})),
    ("a person without a name", lambda: both(shown={"person": {"issuer": ISSUER, "subject": ""}})),
    ("a person with a long name", lambda: both(shown={"person": {"issuer": ISSUER, "subject": "a" * 513}})),
    ("another decision", lambda: both(shown={"decision": "abstain"})),
    ("a comment's hash in capitals", lambda: both(shown={"comment_hash": "D" * 64})),
    ("no passkey", lambda: header_of([{"decision": "approve", "person": ANNA.person}])),
    ("a key of another length", lambda: changed("public_key", b64(b"k" * 90))),
    ("an origin that is none", lambda: changed("origin", "http://runseal.example")),
    ("base64 without padding", lambda: changed("signature", "A" * 14)),
    ("base64 with spare bits", lambda: changed("signature", "A" * 14 + "B=")),
    ("a short signature", lambda: changed("signature", b64(b"1234567"))),
    ("short data of an authenticator", lambda: changed("authenticator_data", b64(b"a" * 36))),
    ("a request without its hash", lambda: header_of([], {"expires_at": REQUEST["expires_at"]})),
    ("a day that is none", lambda: header_of([], {**REQUEST, "expires_at": "2027-02-30T08:10:00.000Z"})),
    ("a clock without milliseconds", lambda: header_of([], {**REQUEST, "expires_at": "2027-01-15T08:10:00Z"})),
    ("nine decisions", lambda: header_of([decided(ANNA)] * 9)),
    ("12,289 characters", lambda: "A" * 12_289),
]


@pytest.mark.parametrize(("what", "shown"), NO_APPROVALS, ids=[what for what, _ in NO_APPROVALS])
def test_what_is_not_of_the_one_form_shows_no_approvals(what: str, shown: Callable[[], str | None]) -> None:
    assert verdict(shown()) == "approvals_missing", what


@pytest.mark.parametrize(
    ("count", "keys"),
    [
        (0, KEYS),
        (9, KEYS),
        (True, KEYS),
        (1.5, KEYS),
        (1, []),
        (1, [ANNA.key, {**BEN.key, "public_key": ANNA.key["public_key"]}]),
        (1, [{**ANNA.key, "name": "Anna"}]),
        (1, [{**ANNA.key, "origin": "https://runseal.example/"}]),
        (1, {"kind": "vfa.approver_keys.v2", "keys": KEYS}),
        (1, "{}"),
        (1, "keys"),
        (1, b"\xff"),
        (1, None),
        (1, ["key"]),
    ],
)
def test_what_nobody_can_meet_is_a_mistake_of_the_one_who_acts(count: Any, keys: Any) -> None:
    with pytest.raises(ValueError, match=r"approvals\.(count|keys)"):
        ExpectedApprovals(count, keys)


def test_the_permit_is_judged_before_the_approvals() -> None:
    assert verdict(None, payload=b"pay 13") == "wrong_payload"
    assert PAYLOAD == b"pay 12"


def shown_by(path: Path) -> tuple[dict[str, Any], list[dict[str, str]], dict[str, Any]]:
    """What an opening of the published vectors shows, the keys of its persons, and its act."""
    from runseal_client.shown_approvals import ApprovedAct

    document = json.loads(path.read_text())
    opening = document.get("document", document)
    approvals, envelope = opening["sections"]["approvals"], opening["sections"]["envelope"]
    keep = ("decision", "comment_hash", "passkey")
    decisions = [
        {
            **{name: each[name] for name in keep if name in each},
            "person": {name: each["person"][name] for name in ("issuer", "subject")},
        }
        for each in approvals["decisions"]
    ]
    header = {**{name: approvals[name] for name in ("request_hash", "expires_at")}, "decisions": decisions}
    act = ApprovedAct(
        log_origin=opening["entry"]["inclusionProof"]["checkpoint"]["envelope"].split("\n", 1)[0],
        tenant_id=opening["tenant_id"],
        audience=opening["audience"],
        valid_for_seconds=opening["sections"]["policy_evaluation"]["facts"]["valid_for_seconds"],
        **{name: envelope[name] for name in ("program_id", "route_id", "payload_hash")},
    )
    names = ("public_key", "origin", "rp_id")
    keys = [{**each["person"], **{name: each["passkey"][name] for name in names}} for each in decisions]
    return header, keys, {"act": act, "now": 0, "leeway": 0, "max_leeway": 30}


def test_what_the_service_seals_of_two_persons_is_proven_with_their_keys() -> None:
    from runseal_client.shown_approvals import proven_approvals, read_shown

    header, keys, of = shown_by(VECTORS / "openings/valid/approved-with-passkeys.json")
    shown = read_shown(url64(json.dumps(header).encode()))
    assert shown == header
    found = proven_approvals(shown, ExpectedApprovals(2, keys), **of)
    assert found is not None and len(found.persons) == 2


@pytest.mark.skipif(importlib.util.find_spec("starlette") is None, reason="needs starlette")
@pytest.mark.parametrize("is_async", [False, True])
def test_a_request_is_refused_without_its_approvals_and_each_approval_is_one_act(is_async: bool) -> None:
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import JSONResponse
    from starlette.routing import Route
    from starlette.testclient import TestClient

    from runseal_client.require_permit import PermitRefused, RequiredApprovals, answer_refused, require_permit

    used: dict[str, float] = {}

    def store(request_hash: str, until: float) -> bool:
        is_new = request_hash not in used
        used[request_hash] = until
        return is_new

    async def store_later(request_hash: str, until: float) -> bool:
        return store(request_hash, until)

    demanded = RequiredApprovals(2, KEYS, store_later if is_async else store)
    act = {name: EXPECTED[name] for name in ("issuer", "audience", "route_id", "program_id")}
    permitted = require_permit(**act, keys=jwks(), approvals=demanded)

    async def transfer(request: Request) -> JSONResponse:
        held = await permitted(request)
        return JSONResponse([each.subject for each in held.approved.persons] if held.approved else [])

    routes = [Route("/transfers", transfer, methods=["POST"])]
    client = TestClient(Starlette(routes=routes, exception_handlers={PermitRefused: answer_refused}))
    now = int(time.time())
    ends = datetime.fromtimestamp(now + 600, tz=timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.000Z")

    def asked(shown: list[str], **claims: Any) -> tuple[int, Any]:
        given = permit(iat=now, nbf=now, exp=now + 300, **claims)
        headers = [("Runseal-Permit", given), *(("Runseal-Approvals", each) for each in shown)]
        answer = client.post("/transfers", content=PAYLOAD, headers=headers)
        return answer.status_code, answer.json()

    def refusal(code: str, shown: list[str]) -> None:
        status, body = asked(shown)
        assert (status, body["ok"], body["code"]) == (403, False, code)

    signed: dict[str, Any] = {"expires_at": ends}
    good = header_of([decided(each, **signed) for each in (ANNA, BEN)], {**REQUEST, **signed})
    refusal("approvals_missing", [])
    refusal("approvals_missing", [good, good])
    refusal("approvals_insufficient", [header_of([decided(ANNA, **signed)], {**REQUEST, **signed})])
    assert used == {}
    assert asked([good]) == (200, ["anna", "ben"])
    assert used == {REQUEST["request_hash"]: now + 600 + 300 + 30}
    # Another permit with the same approvals, as an operator could open it.
    status, body = asked([good], jti="pmt-2")
    assert (status, body["code"]) == (403, "approvals_used")


@pytest.mark.skipif(importlib.util.find_spec("starlette") is None, reason="needs starlette")
def test_who_demands_approvals_says_how_each_is_used_once() -> None:
    from runseal_client.require_permit import RequiredApprovals, require_permit

    act = {name: EXPECTED[name] for name in ("issuer", "audience", "route_id", "program_id")}
    with pytest.raises(ValueError, match="use_once"):
        RequiredApprovals(2, KEYS, None)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="used once"):
        require_permit(**act, keys=jwks(), approvals=ExpectedApprovals(2, KEYS))  # type: ignore[arg-type]
