"""Requests for an approval, and what ends them: docs/formats.md, section 7.12 and chapter 13."""

from __future__ import annotations

from typing import Any

from . import forms as f
from . import shapes
from .approvals import satisfied
from .checks import FAILED, Checks, Outcome
from .decisions import evaluation_problem
from .forms import HASH, constant, milliseconds, record, text
from .json_text import digest, same, without
from .kernels import declared_of, is_withheld
from .passkeys import place_of
from .permits import PLACE, anchored, chained_problem, request_sections, sections_problem
from .trust import Trust

Json = dict[str, Any]
_REQUEST = record(
    {
        "kind": constant("vfa.approval_request.v1"),
        "tenant_id": f.TENANT_ID,
        "tenant_salt": HASH,
        "approval_id": f.APPROVAL_ID,
        "audience": text(1, 256, one_line=True),
        "valid_for_seconds": f.COUNT,
        "close_within_seconds": f.COUNT,
        "reserve_tokens": f.COUNT,
        "expires_at": f.clock,
        "sections": request_sections(),
        "request_hash": HASH,
        "leaf": record(
            {"leaf_version": constant("vfa.approval_request_leaf.v1"), "approval_id": f.APPROVAL_ID}
            | {"request_hash": HASH, **PLACE}
        ),
        "entry": shapes.ENTRY,
    }
)
_WITHHOLDABLE = (*shapes.DECLARED, "end_user", "act")


def _times_problem(document: Json) -> str | None:
    sections = document["sections"]
    if not 1 <= document["valid_for_seconds"] <= 86_400 or not 120 <= document["close_within_seconds"] <= 86_400:
        return "The permit is asked for another time than it may be."
    rules = sections["policy_evaluation"].get("needed", [])
    lasts = milliseconds(document["expires_at"]) - milliseconds(sections["envelope"]["admission_clock"])
    if not rules or lasts != 1000 * min(each["within_seconds"] for each in rules):
        return "The request ends at another time than that of its rules."
    return None


def _decision_problem(document: Json) -> str | None:
    sections = document["sections"]
    envelope, evaluation = sections["envelope"], sections["policy_evaluation"]
    run = {"route_id": envelope["route_id"]}
    problem = evaluation_problem({"sections": sections, "run": run}, envelope["admission_clock"], place_of(document))
    if problem is not None:
        return problem
    if evaluation["decision_reason_code"] != "APPROVAL_REQUIRED":
        return "The policy does not leave the act to persons."
    wanted = digest({"kind": "vfa.approval_id.v1", "envelope_hash": envelope["hash"]})[:32]
    if document["approval_id"] != f"apr-{wanted}":
        return "The request is of another envelope."
    facts = evaluation["facts"]
    terms = (document["audience"], True, document["valid_for_seconds"])
    if (facts.get("audience"), facts.get("redeem_required"), facts.get("valid_for_seconds")) != terms:
        return "The policy was given other terms than those of the request."
    if facts["tokens"] != document["reserve_tokens"]:
        return "The policy was given other tokens than the permit is to reserve."
    if "end_user" not in sections and any(each.get("end_user") != "optional" for each in evaluation["needed"]):
        return "A rule requires an end user, and the request has none."
    if "enforcement" in envelope:
        return "What is only observed asks for no approval."
    if "ai_output_hash" in sections["payload"] or "cost" in declared_of(sections, "request_substance"):
        return "The request has an output or a cost before the act."
    return None


def _leaf_problem(document: Json) -> str | None:
    preimage = without(document, "request_hash", "leaf", "entry")
    sections = {name: each["hash"] for name, each in document["sections"].items()}
    if digest({**preimage, "sections": sections}) != document["request_hash"]:
        return "The request has another hash."
    wanted = {"leaf_version": "vfa.approval_request_leaf.v1"}
    return chained_problem(document, {**wanted, **{name: document[name] for name in ("approval_id", "request_hash")}})


def verify_request(document: Json, trust: Trust) -> Outcome:
    """What is to be said of a request for an approval; raises Unreadable for what is none."""
    _REQUEST(document, "")
    checks, sections = Checks(), document["sections"]
    checks.run("shape", lambda: _times_problem(document))
    checks.run("sections", lambda: sections_problem(document))
    checks.run("decision", lambda: _decision_problem(document))
    checks.run("leaf", lambda: _leaf_problem(document))
    anchored(document, sections["envelope"]["admission_clock"], checks, trust)
    failed = checks.first_failure() is not None
    withheld = tuple(name for name in _WITHHOLDABLE if is_withheld(sections.get(name, {})))
    return Outcome(
        "approval_request",
        FAILED if failed else "APPROVAL REQUEST VERIFIED AND ANCHORED",
        checks,
        tenant_id=document["tenant_id"],
        withheld=withheld,
        limitations=("withheld_section",) if withheld else (),
        service=trust.service,
    )


def _content(section: Json | None) -> Json | None:
    """What a section says beside its salt; None where it is withheld, or there is none."""
    return None if section is None or is_withheld(section) else without(section, "salt", "hash")


def _other_section(ended: Json, asked: Json) -> str | None:
    for name in _WITHHOLDABLE:
        mine, its = _content(ended.get(name)), _content(asked.get(name))
        if (name in ended) != (name in asked) or (mine is not None and its is not None and not same(mine, its)):
            return name
    return None


def end_problem(ended: Json, request: Json) -> str | None:
    """Why an opening or a refused run is not what this request came to, or None; both by their sections."""
    asked = request["sections"]
    mine, its, evaluation = ended["envelope"], asked["envelope"], ended["policy_evaluation"]
    required = asked["policy_evaluation"]
    names = ("program_id", "route_id", "registry_record_hash", "payload_hash")
    if any(mine[name] != its[name] for name in names):
        return "is of another act than its request"
    if ended["payload"]["payload_bytes"] != asked["payload"]["payload_bytes"]:
        return "has a payload of another length than its request"
    if evaluation["decision"] == "allow" and evaluation["policy_hash"] != required["policy_hash"]:
        return "is allowed by another policy than its request"
    if not same(evaluation["facts"], required["facts"]):
        return "is decided on other terms or tokens than its request"
    other = _other_section(ended, asked)
    if other is not None:
        return f"has another {other} than its request"
    approvals = ended.get("approvals", {})
    if not approvals or is_withheld(approvals):
        return None
    given = [approvals[name] for name in ("approval_id", "request_hash", "requested_at", "expires_at")]
    if given != [request["approval_id"], request["request_hash"], its["admission_clock"], request["expires_at"]]:
        return "gives its request another id or other times"
    rules, decisions = required["needed"], approvals["decisions"]
    may = {group for rule in rules for group in rule["by"]}
    if any(not may.issuperset(each["groups"]) for each in decisions):
        return "has a decision of a group that its request does not ask"
    if approvals["outcome"] in ("approved", "unused", "expired"):
        if satisfied(rules, decisions) != (approvals["outcome"] != "expired"):
            return "gives its request another outcome than its decisions have"
    return None
