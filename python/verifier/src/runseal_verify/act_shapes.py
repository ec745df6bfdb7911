"""Members of the act, of the end user, and of what a policy was given: docs/formats.md, chapters 2.6, 2.7 and 3.1."""

from __future__ import annotations

from typing import Any

from . import forms as f
from .forms import HASH, array, constant, record, text

_KIND = constant("vfa.act.v1")
_TYPES = ("ascii", "string", "integer", "decimal", "boolean", "strings", "sum", "max")
_PROBLEM = constant(
    *("not_json", "absent", "wrong_type", "not_ascii", "control_character", "too_long", "not_exact"),
    *("out_of_bounds", "too_many", "twin_members", "unnamed_member"),
)


def _value(value: Any, path: str) -> None:
    if isinstance(value, (bool, str)):
        return
    if isinstance(value, list):
        array(text(0), 0, 256)(value, path)
    else:
        f.integer(-(2**53 - 1), 2**53 - 1)(value, path)


def _fault(value: Any, path: str) -> None:
    where = "name" if isinstance(value, dict) and "name" in value else "at"
    record({where: text(0), "problem": _PROBLEM})(value, path)


SHOWN = record(
    {
        "kind": _KIND,
        "salt": HASH,
        "table": f.matching(r"[a-z][a-z0-9_]{0,31}", "act"),
        "values": array(
            record({"name": text(0), "at": text(0), "type": constant(*_TYPES), "value": _value}),
            0,
            64,
        ),
        "unreadable": array(_fault, 0, 128),
        "hash": HASH,
    }
)
WITHHELD = record({"kind": _KIND, "withheld": constant(True), "hash": HASH})
_PERSON = constant("vfa.end_user.v1")
_WORDS = text(1, 512)
SHOWN_PERSON = record(
    {"kind": _PERSON, "salt": HASH, "issuer": _WORDS, "subject": _WORDS, "audience": _WORDS}
    | {"issued_at": f.clock, "expires_at": f.clock, "hash": HASH},
    {"client": _WORDS, "token_hash": HASH, "groups": array(_WORDS, 0, 64), "groups_unreadable": constant(True)},
)
WITHHELD_PERSON = record({"kind": _PERSON, "withheld": constant(True), "hash": HASH})


FACTS = record(
    {"tokens": f.COUNT},
    {"payload_is_json": constant(True, False), "audience": text(1), "redeem_required": constant(True, False)}
    | {"valid_for_seconds": f.COUNT},
)
