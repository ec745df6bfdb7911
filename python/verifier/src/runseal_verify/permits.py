"""Openings and ends of permits: docs/formats.md, sections 7.8 and 7.9."""

from __future__ import annotations

from typing import Any

from . import forms as f
from . import shapes
from .anchor import (
    entry_problem,
    inclusion_problem,
    is_between,
    of_one_tree,
    read_body,
    redemption_problem,
    time_problem,
)
from .bundle import declared_problem, envelope_problem, hashes_problem, payload_problem
from .checks import FAILED, Checks, Outcome
from .decisions import evaluation_problem, token_of, window_problem
from .derivation import ZEROS
from .forms import HASH, array, constant, integer, milliseconds, record, seconds, text
from .json_text import digest, same, without
from .kernels import declared_of, is_withheld
from .manifests import tenant_commitment
from .merkle import Tree
from .passkeys import place_of
from .trust import Trust

Json = dict[str, Any]
PLACE: dict[str, f.Form] = {"tenant_commitment": HASH, "tenant_ordinal": integer(1), "previous_record": HASH}


def request_sections(*others: str) -> f.Form:
    """The sections of what a permit is asked for with, and of the decision on it; and others where there are such."""
    required = ("payload", *shapes.DECLARED, "system_provenance", "envelope", "policy_evaluation")
    optional = ("end_user", "act", "mcd_finding", *others)
    return record(
        {name: shapes.SECTIONS[name] for name in required}, {name: shapes.SECTIONS[name] for name in optional}
    )


_OPENING = record(
    {
        "kind": constant("vfa.opening.v1"),
        "tenant_id": f.TENANT_ID,
        "tenant_salt": HASH,
        "permit_id": f.PERMIT_ID,
        "audience": text(1, 256, one_line=True),
        "expires_at": f.clock,
        "close_by": f.clock,
        "sections": request_sections("approvals"),
        "allow_token": shapes.ALLOW_TOKEN,
        "run_limit": f.COUNT,
        "reservation": shapes.BUDGET_WINDOW,
        "opening_hash": HASH,
        "leaf": record(
            {"leaf_version": constant("vfa.opening_leaf.v1"), "permit_id": f.PERMIT_ID, "opening_hash": HASH, **PLACE}
        ),
        "entry": shapes.ENTRY,
    },
    {"redeem_required": constant(True)},
)
_ENDED: dict[str, f.Form] = {
    "permit_id": f.PERMIT_ID,
    "opening_hash": HASH,
    "window_seconds": integer(1),
    "window_start": f.clock,
    "ordinal": integer(1),
    "total_after": f.COUNT,
}
_RELEASED = record({**_ENDED, "released": f.COUNT})
_CHARGED = record({**_ENDED, "charged": f.COUNT, "redemption": shapes.REDEMPTION})


def _ended(value: Any, path: str) -> None:
    (_CHARGED if isinstance(value, dict) and "charged" in value else _RELEASED)(value, path)


_END = record(
    {
        "kind": constant("vfa.permit_end.v1"),
        "tenant_id": f.TENANT_ID,
        "tenant_salt": HASH,
        "reason": constant("expired", "revoked"),
        "end_clock": f.clock,
        "openings": array(
            _ended,
            1,
            256,
        ),
        "end_hash": HASH,
        "leaf": record({"leaf_version": constant("vfa.permit_end_leaf.v1"), "end_hash": HASH, **PLACE}),
        "entry": shapes.ENTRY,
    }
)


def chained_problem(document: Json, wanted: Json) -> str | None:
    """Why leaf and entry are not those of a document in its place of the chain, or None."""
    leaf, entry = document["leaf"], document["entry"]
    place = {"tenant_commitment": tenant_commitment(document)}
    place.update({name: leaf[name] for name in ("tenant_ordinal", "previous_record")})
    if not same(leaf, {**wanted, **place}):
        return "The leaf is not that of the document."
    body = read_body(entry)
    if body is None or body.digest != digest(leaf):
        return "The entry's body names another leaf."
    return None


def _place_problem(leaf: Json, entry: Json) -> str | None:
    if (leaf["previous_record"] == ZEROS) != (leaf["tenant_ordinal"] == 1):
        return "Exactly the first document of a chain has none before it."
    if int(entry["logIndex"]) < leaf["tenant_ordinal"]:
        return "The log has fewer entries before it than the chain has documents."
    return None


def anchored(document: Json, clock: str, checks: Checks, trust: Trust) -> None:
    """Entry, inclusion and time of a document that has its leaf beside it."""
    entry = document["entry"]
    checks.run("entry", lambda: entry_problem(entry, trust))
    checks.run("inclusion", lambda: inclusion_problem(entry, trust) or _place_problem(document["leaf"], entry))
    checks.run("log_time", lambda: time_problem(entry, seconds(clock)))


def _times_problem(document: Json) -> str | None:
    admitted = milliseconds(document["sections"]["envelope"]["admission_clock"])
    valid = milliseconds(document["expires_at"]) - admitted
    after = milliseconds(document["close_by"]) - milliseconds(document["expires_at"])
    most = 86_400 if "redeem_required" in document else 3_600
    if valid % 1000 or after % 1000:
        return "The times of the permit are not whole seconds apart."
    if not 1 <= valid // 1000 <= most or not 120 <= after // 1000 <= 86_400:
        return "The permit is valid for another time than it may be."
    return None


def _valid_seconds(document: Json) -> float:
    admitted = milliseconds(document["sections"]["envelope"]["admission_clock"])
    return (milliseconds(document["expires_at"]) - admitted) / 1000


def sections_problem(document: Json) -> str | None:
    """Why the sections of an opening or of a request for an approval do not go together, or None."""
    sections = document["sections"]
    problem = hashes_problem(sections) or payload_problem(sections["payload"])
    problem = problem or declared_problem(sections, document["tenant_id"])
    return problem or envelope_problem({"tenant_id": document["tenant_id"]}, sections)


def _opening_decision(document: Json) -> str | None:
    sections, reserved = document["sections"], document["reservation"]
    envelope, evaluation = sections["envelope"], sections["policy_evaluation"]
    run = {"route_id": envelope["route_id"]}
    problem = evaluation_problem({"sections": sections, "run": run}, envelope["admission_clock"], place_of(document))
    if problem is not None:
        return problem
    if evaluation["decision"] != "allow" or not same(document["allow_token"], token_of(evaluation)):
        return "The act was not allowed by this token."
    wanted = digest({"kind": "vfa.permit_id.v1", "envelope_hash": envelope["hash"]})[:32]
    if document["permit_id"] != f"pmt-{wanted}":
        return "The permit is of another opening."
    if "ai_output_hash" in sections["payload"]:
        return "The payload has an AI output before the act."
    if "cost" in declared_of(sections, "request_substance"):
        return "The opening declares the cost of an act that it precedes."
    facts = evaluation["facts"]
    terms = (document["audience"], document.get("redeem_required", False), _valid_seconds(document))
    if (facts.get("audience"), facts.get("redeem_required"), facts.get("valid_for_seconds")) != terms:
        return "The policy was given other terms than those of the permit."
    if facts["tokens"] != reserved["tokens"]:
        return "The policy was given other tokens than the opening reserves."
    if "ordinal" not in reserved or "reserved" in reserved:
        return "A reservation is one movement of its window."
    if reserved["tokens"] > document["run_limit"] or reserved["total_after"] >= reserved["cap"]:
        return "The reservation is beyond a budget."
    return window_problem(reserved, envelope)


def _opening_leaf(document: Json) -> str | None:
    preimage = without(document, "opening_hash", "leaf", "entry")
    sections = {name: each["hash"] for name, each in document["sections"].items()}
    if digest({**preimage, "sections": sections}) != document["opening_hash"]:
        return "The opening has another hash."
    wanted = {"leaf_version": "vfa.opening_leaf.v1"}
    return chained_problem(document, {**wanted, **{name: document[name] for name in ("permit_id", "opening_hash")}})


def verify_opening(document: Json, trust: Trust) -> Outcome:
    """What is to be said of an opening; raises Unreadable for what is none."""
    _OPENING(document, "")
    checks, sections = Checks(), document["sections"]
    checks.run("shape", lambda: _times_problem(document))
    checks.run("sections", lambda: sections_problem(document))
    checks.run("decision", lambda: _opening_decision(document))
    checks.run("leaf", lambda: _opening_leaf(document))
    anchored(document, sections["envelope"]["admission_clock"], checks, trust)
    failed = checks.first_failure() is not None
    withheld = tuple(name for name in shapes.WITHHOLDABLE if is_withheld(sections.get(name, {})))
    observed = sections["envelope"].get("enforcement") == "observe"
    return Outcome(
        "opening",
        FAILED if failed else "OPENING VERIFIED AND ANCHORED",
        checks,
        tenant_id=document["tenant_id"],
        withheld=withheld,
        limitations=(*(("observed_only",) if observed else ()), *(("withheld_section",) if withheld else ())),
        service=trust.service,
    )


def _redemptions_problem(document: Json, trust: Trust) -> str | None:
    redeemed = [each for each in document["openings"] if "redemption" in each]
    tree = Tree()
    for each in redeemed:
        redemption = each["redemption"]
        problem = redemption_problem(each["permit_id"], redemption, trust)
        if problem is not None:
            return problem
        if milliseconds(redemption["redeemed_clock"]) > milliseconds(document["end_clock"]):
            return "A permit was redeemed after it ended."
        if not is_between(redemption["entry"], 1, document["entry"]):
            return "A redemption is not before the end in the log."
        if not of_one_tree(tree, redemption["entry"]):
            return "The redemptions are in two trees."
    if len({each["redemption"]["entry"]["logIndex"] for each in redeemed}) != len(redeemed):
        return "Two redemptions are one log entry."
    if redeemed and inclusion_problem(document["entry"], trust) is None:
        if not of_one_tree(tree, document["entry"]) or not tree.agrees():
            return "A redemption and the end are in two trees."
    return None


def _end_decision(document: Json) -> str | None:
    openings = document["openings"]
    if any(len({each[name] for each in openings}) != len(openings) for name in ("permit_id", "opening_hash")):
        return "A permit or an opening ends twice."
    if any(milliseconds(each["window_start"]) > milliseconds(document["end_clock"]) for each in openings):
        return "A window begins after the end."
    last: dict[tuple[int, str], tuple[int, int]] = {}
    for each in openings:
        window, number = (each["window_seconds"], each["window_start"]), each["ordinal"]
        before = last.get(window)
        if number < 2 or (before is not None and number <= before[0]):
            return "The numbers of a window do not rise."
        if milliseconds(each["window_start"]) % (each["window_seconds"] * 1000):
            return "A window begins at another time."
        if (
            before is not None
            and number == before[0] + 1
            and each["total_after"] + each.get("released", 0) != before[1]
        ):
            return "The totals of a window do not follow from each other."
        last[window] = (number, each["total_after"])
    return None


def _end_leaf(document: Json) -> str | None:
    if digest(without(document, "end_hash", "leaf", "entry")) != document["end_hash"]:
        return "The end has another hash."
    return chained_problem(document, {"leaf_version": "vfa.permit_end_leaf.v1", "end_hash": document["end_hash"]})


def verify_end(document: Json, trust: Trust) -> Outcome:
    """What is to be said of an end of permits; raises Unreadable for what is none."""
    _END(document, "")
    checks = Checks()
    checks.put("shape", None)
    checks.run("decision", lambda: _end_decision(document))
    checks.run("leaf", lambda: _end_leaf(document))
    anchored(document, document["end_clock"], checks, trust)
    checks.run("inclusion", lambda: _redemptions_problem(document, trust))
    if document["leaf"]["tenant_ordinal"] <= len(document["openings"]):
        checks.put("inclusion", "The chain has fewer documents before it than it ends openings.")
    failed = checks.first_failure() is not None
    verdict = FAILED if failed else "PERMIT END VERIFIED AND ANCHORED"
    return Outcome("permit_end", verdict, checks, tenant_id=document["tenant_id"], service=trust.service)
