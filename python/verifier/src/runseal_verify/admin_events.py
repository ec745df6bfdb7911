"""Actions of administrators: docs/formats.md, section 7.10."""

from __future__ import annotations

from typing import Any

from . import forms as f
from . import shapes
from .checks import FAILED, Checks, Outcome
from .forms import HASH, constant, integer, record, refuse, text
from .json_text import canonical, digest, without
from .permits import anchored, chained_problem
from .trust import Trust

Json = dict[str, Any]
MAX_CHANGE_UNITS = 8_192
MAX_NAME_UNITS = 256
MAX_ISSUER_UNITS = 512
MAX_SUBJECT_UNITS = 255


def _change(value: Any, path: str) -> None:
    f.any_object(value, path)
    if len(canonical(value).encode("utf-16-be")) // 2 > MAX_CHANGE_UNITS:
        raise refuse(path, "is too long")


_EVENT = record(
    {
        "kind": f.matching(r"vfa\.admin_event\.v[12]", "kind"),
        "tenant_id": constant("deployment"),
        "tenant_salt": HASH,
        "event_clock": f.clock,
        "who": record(
            {"actor": f.matching(r"api-key-[1-9][0-9]{0,15}|operator-command|open-mode|person", "actor")},
            {
                "name": text(1, MAX_NAME_UNITS, one_line=True),
                "issuer": text(1, MAX_ISSUER_UNITS, one_line=True),
                "subject": text(1, MAX_SUBJECT_UNITS, one_line=True),
            },
        ),
        "action": f.matching(r"[a-z_]{1,32}\.[a-z_]{1,32}", "action"),
        "subject": record({"kind": f.matching(r"[a-z_]{1,32}", "kind"), "id": text(1, 256, one_line=True)}),
        "seal_clock": f.clock,
        "event_hash": HASH,
        "leaf": record(
            {
                "leaf_version": constant("vfa.admin_event_leaf.v1"),
                "event_hash": HASH,
                "tenant_commitment": HASH,
                "tenant_ordinal": integer(1),
                "previous_record": HASH,
            }
        ),
        "entry": shapes.ENTRY,
    },
    {"before": _change, "after": _change},
)


def _leaf(document: Json) -> str | None:
    if digest(without(document, "event_hash", "leaf", "entry")) != document["event_hash"]:
        return "The event has another hash."
    return chained_problem(document, {"leaf_version": "vfa.admin_event_leaf.v1", "event_hash": document["event_hash"]})


def _decision(document: Json) -> str | None:
    who = document["who"]
    person = who["actor"] == "person"
    if (person or who["actor"].startswith("api-key-")) != ("name" in who):
        return "A key and a person have a name, and no other actor has one."
    if any(person != (member in who) for member in ("issuer", "subject")):
        return "A person has an issuer and a subject, and no other actor has one."
    if person != (document["kind"] == "vfa.admin_event.v2"):
        return "The kind of the event is not that of its actor."
    return None if document["event_clock"] <= document["seal_clock"] else "The action is dated after it was sealed."


def verify_admin_event(document: Json, trust: Trust) -> Outcome:
    """What is to be said of an admin event; raises Unreadable for what is none."""
    _EVENT(document, "")
    checks = Checks()
    checks.put("shape", None)
    checks.run("decision", lambda: _decision(document))
    checks.run("leaf", lambda: _leaf(document))
    anchored(document, document["seal_clock"], checks, trust)
    failed = checks.first_failure() is not None
    verdict = FAILED if failed else "ADMIN EVENT VERIFIED AND ANCHORED"
    return Outcome("admin_event", verdict, checks, tenant_id=document["tenant_id"], service=trust.service)
