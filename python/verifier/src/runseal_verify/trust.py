"""Whom a verifier believes: docs/formats.md, section 15."""

from __future__ import annotations

import base64
import re
from dataclasses import dataclass
from typing import Any

from . import forms as f
from .forms import HASH, array, constant, instant, record, refuse, text
from .json_text import Unreadable, parse
from .keys import is_p256, key_id
from .notes import VerifierKey, read_verifier_key

Json = dict[str, Any]


_UTC = f.matching(r"\d{4}-\d\d-\d\dT\d\d:\d\d:[0-5]\d(?:\.\d{1,9})?Z", "time")
_ORIGIN = re.compile(r"([a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?) - (0|[1-9][0-9]{0,18})")
_HOST = re.compile(r"https?://([a-z0-9.-]+)(?=[/:]|\Z)")
MAX_TRUST_BYTES = 1_048_576
MAX_KEYS = 64
MAX_LOGS = 64
MAX_AUTHORITIES = 16
MAX_URI = 512
MAX_KEY_BYTES = 1_024
MAX_CERTIFICATE_BYTES = 4_096
# The log id of rekor.sigstore.dev.
PUBLIC_REKOR = "c0d23d6ad406973f9559f3ba2d1ca01f84147d8ffc5b8445c224f98b9591801d"
MAX_TREE_ID = 2**63 - 1
_P256 = "PKIX_ECDSA_P256_SHA_256"


def _time(value: Any, path: str) -> None:
    _UTC(value, path)
    if instant(value) is None:
        raise refuse(path, "is no time")


def or_null(form: f.Form) -> f.Form:
    """The JSON of Protocol Buffers writes null for what is absent."""

    def either(value: Any, path: str) -> None:
        if value is not None:
            form(value, path)

    return either


def _bytes(most_units: int) -> f.Form:
    """Padded base64 of at most so many letters."""

    def form(value: Any, path: str) -> None:
        text(0, most_units)(value, path)
        f.base64_of()(value, path)

    return form


def _origin(value: Any, path: str) -> None:
    """`<host> - <tree id>`, the tree id a decimal of 64 bits."""
    found = _ORIGIN.fullmatch(value) if isinstance(value, str) else None
    if found is None or int(found[2]) > MAX_TREE_ID:
        raise refuse(path, "is no origin")


# A trusted root is for other tools too: members that are theirs are passed over.
_VALIDITY = record({"start": _time}, {"end": or_null(_time)}, others=True)
_ROOT_TEXT = text(most=MAX_URI)
_LOG = record(
    {
        "baseUrl": _ROOT_TEXT,
        "hashAlgorithm": constant("SHA2_256"),
        "publicKey": record(
            {"rawBytes": _bytes(MAX_KEY_BYTES * 2), "keyDetails": _ROOT_TEXT, "validFor": _VALIDITY},
            others=True,
        ),
        "logId": record({"keyId": f.base64_of(32)}, others=True),
    },
    others=True,
)
_CERTIFICATE = record({"rawBytes": _bytes(MAX_CERTIFICATE_BYTES * 2)}, others=True)
# Their timestamps are for `verifier`; a root that it does not read is not read here either.
_AUTHORITY = record(
    {"certChain": record({"certificates": array(_CERTIFICATE, 0, 8)}, others=True), "validFor": _VALIDITY},
    {"uri": or_null(_ROOT_TEXT)},
    others=True,
)
_TRUST = record(
    {
        "kind": constant("vfa.trust.v1"),
        "service": text(1, 256),
        "trusted_root": record(
            {
                "mediaType": constant("application/vnd.dev.sigstore.trustedroot+json;version=0.1"),
                "tlogs": array(_LOG, 1, MAX_LOGS),
            },
            {"timestampAuthorities": or_null(array(_AUTHORITY, 0, MAX_AUTHORITIES))},
            others=True,
        ),
        "origin": _origin,
        "service_keys": array(
            record(
                {"key_id": HASH, "spki": _bytes(256), "valid_from": _time}, {"valid_to": _time, "revoked_from": _time}
            ),
            1,
            MAX_KEYS,
        ),
        "checkpoint_keys": array(text(), 0, MAX_KEYS),
    },
    {"leaf_v7_from": _time},
)


@dataclass(frozen=True)
class Key:
    """A key and the log times, in Unix seconds, for which it counts."""

    spki: bytes
    first: int
    last: int | None
    revoked: int | None

    def holds_at(self, second: int) -> bool:
        """Whether what was signed then counts."""
        return (
            self.first <= second
            and (self.last is None or second <= self.last)
            and (self.revoked is None or second < self.revoked)
        )


@dataclass(frozen=True)
class Trust:
    """A trust document that was read."""

    service: str
    origin: str
    service_keys: dict[str, Key]
    log_keys: dict[str, tuple[Key, ...]]
    leaf_v7_from: int | None
    checkpoint_keys: tuple[VerifierKey, ...] = ()

    @property
    def host(self) -> str:
        """The log's host, which is the name on its checkpoints."""
        return self.origin.split(" - ")[0]

    @property
    def log_name(self) -> str:
        """The name of the public checkpoint, and of the key that signs it: docs/formats.md, section 15."""
        return name_of(self.origin)

    def log_key(self, key_id: str, at: int) -> Key | None:
        """The log key of that id that is valid at a second; a root may list one key for several spans of time."""
        return next((key for key in self.log_keys.get(key_id, ()) if key.holds_at(at)), None)


def name_of(origin: str) -> str:
    """The name of the log with this origin."""
    return origin.replace(" - ", "/")


def _second(value: Any) -> int | None:
    """Whole Unix seconds, rounded down as log times are."""
    at = instant(value) if isinstance(value, str) else None
    return None if at is None else at // 1000


def _log_keys(logs: list[Json], host: str) -> dict[str, tuple[Key, ...]]:
    """The P-256 keys of the log with this host; of all logs where none has it."""
    own = [log for log in logs if (found := _HOST.match(log["baseUrl"])) and found[1] == host] or logs
    keys: dict[str, tuple[Key, ...]] = {}
    for log in logs:
        if log["publicKey"]["keyDetails"] != _P256:
            continue
        spki, valid = base64.b64decode(log["publicKey"]["rawBytes"]), log["publicKey"]["validFor"]
        named = key_id(spki)
        if not is_p256(spki) or named != base64.b64decode(log["logId"]["keyId"]).hex():
            raise refuse("/trusted_root/tlogs", "holds what is no P-256 key of the log, or another key's id")
        if log in own:
            key = Key(spki, _second(valid["start"]) or 0, _second(valid.get("end")), None)
            keys[named] = (*keys.get(named, ()), key)
    return keys


def _service_key(member: Json) -> tuple[str, Key]:
    spki = base64.b64decode(member["spki"])
    if not is_p256(spki) or key_id(spki) != member["key_id"]:
        raise refuse("/service_keys", "holds what is no P-256 key, or another key's id")
    first = _second(member["valid_from"])
    return member["key_id"], Key(spki, first or 0, _second(member.get("valid_to")), _second(member.get("revoked_from")))


def _checkpoint_keys(listed: list[str], origin: str) -> tuple[VerifierKey, ...]:
    """The log's name is for its own keys alone, and a witness under two names would count twice."""
    keys = [key for key in map(read_verifier_key, listed) if key is not None]
    if len(keys) < len(listed):
        raise refuse("/checkpoint_keys", "holds what is no verifier key of Ed25519 or of a witness")
    if any(key.is_witness == (key.name == name_of(origin)) for key in keys):
        raise refuse(
            "/checkpoint_keys", "holds an Ed25519 key of another name than the log's, or a witness of that name"
        )
    witnesses = [key.name for key in keys if key.is_witness]
    if len({key.key for key in keys}) < len(keys) or len(set(witnesses)) < len(witnesses):
        raise refuse("/checkpoint_keys", "holds a key or a witness twice")
    return tuple(keys)


def read_trust(data: bytes) -> Trust:
    """Reads a trust document; raises Unreadable for any other text."""
    if len(data) > MAX_TRUST_BYTES:
        raise Unreadable(f"The trust document has more than {MAX_TRUST_BYTES} bytes.")
    document = parse(data)
    _TRUST(document, "")
    host = document["origin"].split(" - ")[0]
    log_keys = _log_keys(document["trusted_root"]["tlogs"], host)
    service_keys = [_service_key(member) for member in document["service_keys"]]
    if len(dict(service_keys)) != len(service_keys):
        raise refuse("/service_keys", "holds a key twice")
    if not log_keys:
        raise refuse("/trusted_root", "names no key of the log")
    if PUBLIC_REKOR in log_keys and len(log_keys) > 1:
        raise refuse("/trusted_root", "lists public Rekor and another log of one host")
    leaf_v7 = _second(document.get("leaf_v7_from"))
    checkpoint_keys = _checkpoint_keys(document["checkpoint_keys"], document["origin"])
    return Trust(document["service"], document["origin"], dict(service_keys), log_keys, leaf_v7, checkpoint_keys)
