"""Approvals that persons signed with passkeys, shown beside a permit: docs/executors.md, "Approvals that no operator can make up".

Who acts checks them with keys that these persons gave it, so that nobody at the service can make them up.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import Any

import rfc8785
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature, encode_dss_signature

# With the permit the header fits into the 16 KiB that many servers take of all headers.
MAX_APPROVALS_CHARACTERS = 12_288
# Of one header; and the most persons that can be demanded.
MAX_DECISIONS = 8
MAX_KEYS = 1024
MAX_DEPTH = 64
MAX_INTEGER = 2**53 - 1

_SPKI_BYTES = (91, 91)
_AUTHENTICATOR_BYTES = (37, 1024)
_CLIENT_BYTES = (1, 4096)
_SIGNATURE_BYTES = (8, 72)
_MAX_NAME = 512
_MAX_HOST = 253

_HASH = re.compile("[0-9a-f]{64}")
_SURROGATE = re.compile("[\ud800-\udfff]")
_CLOCK = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{3}Z")
_LABEL = "(?:[a-z0-9-]{0,61}[a-z0-9])?"
_ORIGIN = re.compile(rf"(?:https://((?:[a-z0-9]{_LABEL}\.)*[a-z]{_LABEL})|http://(localhost))(?::[1-9][0-9]{{0,4}})?")

# Bits of the byte behind the hash of the relying party, and the bytes up to the end of the counter: WebAuthn section 6.1.
_PRESENT, _VERIFIED, _ELIGIBLE, _BACKED_UP, _ATTESTED, _EXTENDED = 0x01, 0x04, 0x08, 0x10, 0x40, 0x80
_BARE_BYTES = 37
_P256_ORDER = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551

_KEY_MEMBERS = frozenset({"issuer", "subject", "public_key", "origin", "rp_id"})
_PASSKEY_MEMBERS = frozenset(
    {"public_key", "origin", "rp_id", "authenticator_data", "client_data_json", "signature"},
)


@dataclass(frozen=True)
class Person:
    """Whom an identity provider names so."""

    issuer: str
    subject: str


@dataclass(frozen=True)
class ProvenApprovals:
    """The approvals of an act that count.

    `request_hash` is of the request that the persons approved: one approval is one act, so keep it under a unique index.
    From `until` on, in Unix seconds, these approvals are refused by their age, and `request_hash` can be forgotten.
    """

    request_hash: str
    persons: tuple[Person, ...]
    until: float


@dataclass(frozen=True)
class ExpectedApprovals:
    """Whose approvals an act needs besides its permit. Raises ValueError for what nobody can meet.

    `count` is how many persons: 1 to 8. `keys` are passkeys that their persons gave you themselves: the document
    `vfa.approver_keys.v1` as text or value, or its list.
    """

    count: int
    keys: str | bytes | Mapping[str, Any] | Sequence[Mapping[str, Any]]
    known: tuple[dict[str, str], ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if type(self.count) is not int or not 1 <= self.count <= MAX_DECISIONS:
            raise ValueError(f"approvals.count is a whole number from 1 to {MAX_DECISIONS}")
        object.__setattr__(self, "known", _read_keys(self.keys))


@dataclass(frozen=True)
class ApprovedAct:
    """An act, as the one who acts knows it, and what a passkey signs of it."""

    log_origin: str
    tenant_id: str
    audience: str
    program_id: str
    route_id: str
    payload_hash: str
    valid_for_seconds: int


def _members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise ValueError("A member is there twice.")
    return members


def _integer(spelt: str) -> int:
    value = int(spelt) if len(spelt) <= len(str(-MAX_INTEGER)) else MAX_INTEGER + 1
    if abs(value) > MAX_INTEGER or spelt == "-0":
        raise ValueError("The integer is outside of the exact range.")
    return value


def _no_number(_: str) -> Any:
    # No browser and no header of ours writes one: in doubt, deny.
    raise ValueError("A number is no integer.")


def _is_plain(value: Any, depth: int = 0) -> bool:
    """Whether no text holds NUL or half a character, and nothing is nested too deeply."""
    if isinstance(value, str):
        return "\0" not in value and _SURROGATE.search(value) is None
    if isinstance(value, dict):
        value = [*value.keys(), *value.values()]
    if isinstance(value, list):
        return depth < MAX_DEPTH and all(_is_plain(each, depth + 1) for each in value)
    return True


def _strict_json(data: bytes) -> Any:
    """The value of strict JSON, or None."""
    try:
        text = data.decode("utf-8")
        value = json.loads(
            text, object_pairs_hook=_members, parse_int=_integer, parse_float=_no_number, parse_constant=_no_number
        )
        return value if _is_plain(value) else None
    except (ValueError, RecursionError):
        return None


def _base64(text: Any, bounds: tuple[int, int]) -> bytes | None:
    """The bytes of the one base64 spelling of so many, or None."""
    if not isinstance(text, str):
        return None
    try:
        data = base64.b64decode(text, validate=True)
    except ValueError:
        return None
    return data if bounds[0] <= len(data) <= bounds[1] and base64.b64encode(data).decode() == text else None


def _is_name(text: Any) -> bool:
    return isinstance(text, str) and 1 <= len(text.encode("utf-16-le")) // 2 <= _MAX_NAME


def _is_hash(text: Any) -> bool:
    return isinstance(text, str) and _HASH.fullmatch(text) is not None


def _host_of(origin: Any) -> str | None:
    """The host of an origin at which passkeys sign; None of anything else."""
    found = _ORIGIN.fullmatch(origin) if isinstance(origin, str) else None
    host = None if found is None else found[1] or found[2]
    return host if host is not None and len(host) <= _MAX_HOST else None


def _is_pinned(value: dict[str, Any]) -> bool:
    rp_id = value["rp_id"]
    return (
        _base64(value["public_key"], _SPKI_BYTES) is not None
        and _host_of(value["origin"]) is not None
        and isinstance(rp_id, str)
        and 1 <= len(rp_id) <= _MAX_HOST
    )


def _is_key(value: Any) -> bool:
    if not isinstance(value, dict) or value.keys() != _KEY_MEMBERS:
        return False
    return _is_name(value["issuer"]) and _is_name(value["subject"]) and _is_pinned(value)


def _read_keys(given: Any) -> tuple[dict[str, str], ...]:
    document = given
    if isinstance(given, str | bytes):
        document = _strict_json(given.encode() if isinstance(given, str) else given)
    if isinstance(document, Mapping):
        if document.keys() != {"kind", "keys"} or document["kind"] != "vfa.approver_keys.v1":
            raise ValueError("approvals.keys are no document vfa.approver_keys.v1")
        document = document["keys"]
    if not isinstance(document, Sequence) or isinstance(document, str | bytes):
        raise ValueError("approvals.keys are no passkeys of approvers")
    if not 1 <= len(document) <= MAX_KEYS:
        raise ValueError(f"approvals.keys are 1 to {MAX_KEYS} passkeys of approvers")
    keys = tuple(dict(each) if isinstance(each, Mapping) else {} for each in document)
    if not all(_is_key(each) for each in keys):
        raise ValueError("approvals.keys are no passkeys of approvers")
    # With one key twice, one person would be two.
    if len({each["public_key"] for each in keys}) != len(keys):
        raise ValueError("approvals.keys hold a public_key twice")
    return keys


def _is_passkey(value: Any) -> bool:
    if not isinstance(value, dict) or value.keys() != _PASSKEY_MEMBERS or not _is_pinned(value):
        return False
    parts = (
        ("authenticator_data", _AUTHENTICATOR_BYTES),
        ("client_data_json", _CLIENT_BYTES),
        ("signature", _SIGNATURE_BYTES),
    )
    return all(_base64(value[name], bounds) is not None for name, bounds in parts)


def _is_decision(value: Any) -> bool:
    if not isinstance(value, dict) or value.keys() - {"comment_hash"} != {"decision", "person", "passkey"}:
        return False
    person = value["person"]
    return (
        value["decision"] in ("approve", "reject")
        and isinstance(person, dict)
        and person.keys() == {"issuer", "subject"}
        and all(_is_name(each) for each in person.values())
        and ("comment_hash" not in value or _is_hash(value["comment_hash"]))
        and _is_passkey(value["passkey"])
    )


def _seconds_of(clock: Any) -> float | None:
    """Unix seconds of a clock in the one spelling of records; None of anything else."""
    if not isinstance(clock, str) or _CLOCK.fullmatch(clock) is None:
        return None
    try:
        return datetime.strptime(clock, "%Y-%m-%dT%H:%M:%S.%fZ").replace(tzinfo=timezone.utc).timestamp()
    except ValueError:
        return None


def read_shown(header: str | None) -> dict[str, Any] | None:
    """What the header shows, in its one form; None of everything else."""
    if header is None or len(header) > MAX_APPROVALS_CHARACTERS:
        return None
    try:
        data = base64.urlsafe_b64decode(header + "=" * (-len(header) % 4))
    except ValueError:
        return None
    if base64.urlsafe_b64encode(data).decode().rstrip("=") != header:
        return None
    shown = _strict_json(data)
    if not isinstance(shown, dict) or shown.keys() != {"request_hash", "expires_at", "decisions"}:
        return None
    decisions = shown["decisions"]
    if not isinstance(decisions, list) or len(decisions) > MAX_DECISIONS:
        return None
    is_shown = _is_hash(shown["request_hash"]) and _seconds_of(shown["expires_at"]) is not None
    return shown if is_shown and all(_is_decision(each) for each in decisions) else None


def _is_signed(key: bytes, signature: bytes, message: bytes) -> bool:
    """Whether this P-256 key made the signature: both DER in its one spelling, and the signature with low S."""
    try:
        public = serialization.load_der_public_key(key)
        if not isinstance(public, ec.EllipticCurvePublicKey) or not isinstance(public.curve, ec.SECP256R1):
            return False
        spelt = public.public_bytes(serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)
        r, s = decode_dss_signature(signature)
        if spelt != key or s > _P256_ORDER // 2 or encode_dss_signature(r, s) != signature:
            return False
        public.verify(signature, message, ec.ECDSA(hashes.SHA256()))
    except (ValueError, UnsupportedAlgorithm, InvalidSignature):
        return False
    return True


def _is_client_data(data: bytes, origin: str, challenge: bytes) -> bool:
    client = _strict_json(data)
    return (
        isinstance(client, dict)
        and client.get("type") == "webauthn.get"
        and client.get("challenge") == base64.urlsafe_b64encode(challenge).decode().rstrip("=")
        and client.get("origin") == origin
        and client.get("crossOrigin", False) is False
        and "topOrigin" not in client
    )


def _is_authenticator_data(data: bytes, rp_id: str) -> bool:
    flags = data[32]
    return (
        data[:32] == hashlib.sha256(rp_id.encode()).digest()
        and bool(flags & _PRESENT)
        and bool(flags & _VERIFIED)
        and not flags & _ATTESTED
        and not (flags & _BACKED_UP and not flags & _ELIGIBLE)
        and (len(data) > _BARE_BYTES) == bool(flags & _EXTENDED)
    )


def _is_asserted(passkey: dict[str, str], challenge: bytes) -> bool:
    """Whether the key signed the challenge at its own pages, and its person was there and verified: docs/formats.md section 2.8."""
    if _host_of(passkey["origin"]) != passkey["rp_id"]:
        return False
    names = ("public_key", "authenticator_data", "client_data_json", "signature")
    key, authenticator, client, signature = (base64.b64decode(passkey[name]) for name in names)
    return (
        _is_client_data(client, passkey["origin"], challenge)
        and _is_authenticator_data(authenticator, passkey["rp_id"])
        and _is_signed(key, signature, authenticator + hashlib.sha256(client).digest())
    )


def _challenge(shown: dict[str, Any], decision: dict[str, Any], act: ApprovedAct) -> bytes:
    """The digest of a decision on the act, which the passkey signs."""
    comment = {"comment_hash": decision["comment_hash"]} if "comment_hash" in decision else {}
    signed = {
        "kind": "vfa.approval_decision.v1",
        "request_hash": shown["request_hash"],
        "expires_at": shown["expires_at"],
        "decision": decision["decision"],
        **vars(act),
        **decision["person"],
        **comment,
    }
    return hashlib.sha256(rfc8785.dumps(signed)).digest()


def _is_proven(
    shown: dict[str, Any], decision: dict[str, Any], act: ApprovedAct, known: Sequence[dict[str, str]]
) -> bool:
    person, passkey = decision["person"], decision["passkey"]
    shows = {**person, **{name: passkey[name] for name in ("public_key", "origin", "rp_id")}}
    return shows in known and _is_asserted(passkey, _challenge(shown, decision, act))


def proven_approvals(
    shown: dict[str, Any],
    expected: ExpectedApprovals,
    act: ApprovedAct,
    *,
    now: float,
    leeway: float,
    max_leeway: float,
) -> ProvenApprovals | None:
    """The approvals of this act, where they are enough and none is a rejection; None otherwise.

    A person counts once. No two keys are one, so persons have keys of their own.
    """
    proven = [each for each in shown["decisions"] if _is_proven(shown, each, act, expected.known)]
    persons = {each["person"]["subject"]: Person(**each["person"]) for each in proven}
    end = (_seconds_of(shown["expires_at"]) or 0) + act.valid_for_seconds
    is_rejected = any(each["decision"] == "reject" for each in proven)
    if is_rejected or len(persons) < expected.count or now >= end + leeway:
        return None
    return ProvenApprovals(shown["request_hash"], tuple(persons.values()), end + max_leeway)
