"""Whom a verifier believes: docs/formats.md, section 15."""

from __future__ import annotations

import base64
import re
from dataclasses import dataclass
from typing import Any

from . import forms as f
from .forms import HASH, array, constant, instant, record, refuse, text
from .json_text import parse
from .keys import is_p256, key_id
from .notes import VerifierKey, read_verifier_key

Json = dict[str, Any]


_UTC = f.matching(r"\d{4}-\d\d-\d\dT\d\d:\d\d:[0-5]\d(?:\.\d{1,9})?Z", "time")
_HOST = re.compile(r"https?://([a-z0-9.-]+)(?=[/:]|\Z)")
_P256 = "PKIX_ECDSA_P256_SHA_256"


def _time(value: Any, path: str) -> None:
    _UTC(value, path)
    if instant(value) is None:
        raise refuse(path, "is no time")


def _time_or_null(value: Any, path: str) -> None:
    # The JSON of Protocol Buffers writes null for what is absent.
    if value is not None:
        _time(value, path)


# A trusted root is for other tools too: members that are theirs are passed over.
_LOG = record(
    {
        "baseUrl": text(),
        "hashAlgorithm": constant("SHA2_256"),
        "publicKey": record(
            {
                "rawBytes": f.base64_of(),
                "keyDetails": text(),
                "validFor": record({"start": _time}, {"end": _time_or_null}, others=True),
            },
            others=True,
        ),
        "logId": record({"keyId": f.base64_of(32)}, others=True),
    },
    others=True,
)
_TRUST = record(
    {
        "kind": constant("vfa.trust.v1"),
        "service": text(1),
        "trusted_root": record(
            {
                "mediaType": constant("application/vnd.dev.sigstore.trustedroot+json;version=0.1"),
                "tlogs": array(_LOG, 1),
            },
            others=True,
        ),
        "origin": f.matching(r"[^ \n]+ - [0-9]+", "origin"),
        "service_keys": array(
            record(
                {"key_id": HASH, "spki": f.base64_of(), "valid_from": _time}, {"valid_to": _time, "revoked_from": _time}
            ),
            1,
        ),
        "checkpoint_keys": array(text(1)),
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

    def log_key(self, key_id: str, at: int) -> Key | None:
        """The log key of that id that is valid at a second; a root may list one key for several spans of time."""
        return next((key for key in self.log_keys.get(key_id, ()) if key.holds_at(at)), None)


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


def read_trust(data: bytes) -> Trust:
    """Reads a trust document; raises Unreadable for any other text."""
    document = parse(data)
    _TRUST(document, "")
    host = document["origin"].split(" - ")[0]
    log_keys = _log_keys(document["trusted_root"]["tlogs"], host)
    for name, each in (("service_keys", "key_id"), ("checkpoint_keys", None)):
        listed = [member[each] if each else member for member in document[name]]
        if len(set(listed)) != len(listed):
            raise refuse(f"/{name}", "holds a key twice")
    checkpoint_keys = [key for key in map(read_verifier_key, document["checkpoint_keys"]) if key is not None]
    for key in checkpoint_keys:
        if key.kind == 1 and key.name != document["origin"].replace(" - ", "/"):
            raise refuse("/checkpoint_keys", "holds an Ed25519 key of another name than the log's")
    if not log_keys:
        raise refuse("/trusted_root", "names no key of the log")
    leaf_v7 = _second(document.get("leaf_v7_from"))
    keys = dict(map(_service_key, document["service_keys"]))
    return Trust(document["service"], document["origin"], keys, log_keys, leaf_v7, tuple(checkpoint_keys))
