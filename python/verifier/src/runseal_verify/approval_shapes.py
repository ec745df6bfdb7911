"""Members of approvals, and of what rules require: docs/formats.md, chapters 2.8 and 3.1."""

from __future__ import annotations

from . import forms as f
from .forms import HASH, array, constant, record, text

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
_DECISION = record(
    {
        "decision": constant("approve", "reject"),
        "person": record({"subject": _WORDS}, {"issuer": _WORDS, "name": _LINE}),
        "groups": array(GROUP, 1, MAX_GROUPS),
        "proof": constant("idp", "key"),
        "decided_at": f.clock,
    },
    {"key_name": _LINE, "comment_hash": HASH},
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
