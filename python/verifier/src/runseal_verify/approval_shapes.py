"""Members of approvals, and of what rules require: docs/formats.md, chapters 2.8 and 3.1."""

from __future__ import annotations

import re
from typing import Any

from . import forms as f
from .forms import HASH, array, base64_of, constant, record, refuse, text

# Reason of a refusal after a request that ended without its approval, by its outcome.
ENDED = {
    "rejected": "APPROVAL_REJECTED",
    "expired": "APPROVAL_EXPIRED",
    "unused": "APPROVAL_UNUSED",
    "withdrawn": "APPROVAL_WITHDRAWN",
}
_KIND = constant("vfa.approvals.v1")
_WORDS = text(1, 512)
_LINE = text(1, 255, one_line=True)
GROUP = text(1, 512, one_line=True)
MAX_GROUPS = 16
# How a decision is proven, the weakest first.
PROOFS = ("key", "idp", "passkey")
_LABEL = "(?:[a-z0-9-]{0,61}[a-z0-9])?"
_ORIGIN = re.compile(rf"(?:https://((?:[a-z0-9]{_LABEL}\.)*[a-z]{_LABEL})|http://(localhost))(?::[1-9][0-9]{{0,4}})?")
_MAX_HOST = 253


def host_of(origin: str) -> str | None:
    """The host of an origin at which passkeys sign; None of any other text."""
    found = _ORIGIN.fullmatch(origin)
    host = None if found is None else found[1] or found[2]
    return host if host is not None and len(host) <= _MAX_HOST else None


def _origin(value: Any, path: str) -> None:
    if not isinstance(value, str) or host_of(value) is None:
        raise refuse(path, "is no origin at which passkeys sign")


PASSKEY = record(
    {
        "public_key": base64_of(91),
        "origin": _origin,
        "rp_id": text(1, _MAX_HOST),
        "authenticator_data": base64_of(least=37, most=1024),
        "client_data_json": base64_of(least=1, most=4096),
        "signature": base64_of(least=8, most=72),
    }
)
_DECISION = record(
    {
        "decision": constant("approve", "reject"),
        "person": record({"subject": _WORDS}, {"issuer": _WORDS, "name": _LINE}),
        "groups": array(GROUP, 1, MAX_GROUPS),
        "proof": constant(*PROOFS),
        "decided_at": f.clock,
    },
    {"key_name": _LINE, "comment_hash": HASH, "passkey": PASSKEY},
)
SHOWN = record(
    {
        "kind": _KIND,
        "salt": HASH,
        "approval_id": f.APPROVAL_ID,
        "request_hash": HASH,
        "requested_at": f.clock,
        "expires_at": f.clock,
        "outcome": constant("approved", *ENDED),
        "decisions": array(_DECISION, 0, 64),
        "hash": HASH,
    }
)
WITHHELD = record({"kind": _KIND, "withheld": constant(True), "hash": HASH})


def needed(rule_id: f.Form) -> f.Form:
    """Whose approval the matched rules require."""
    rule: dict[str, f.Form] = {"rule_id": rule_id, "by": array(GROUP, 1, MAX_GROUPS), "count": f.integer(1, 8)}
    rule["within_seconds"] = f.integer(60, 604_800)
    optional = {"proof": constant("any", "idp", "passkey"), "end_user": constant("required", "optional")}
    return array(record(rule, optional), 1, 256)
