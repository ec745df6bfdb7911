"""The documents of a tenant's chain, as an export has them one a line: docs/formats.md, chapter 13."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from .bundle import BundleVerification
from .bundle_shape import read_bundle
from .checks import COMPLETE, FAILED, Outcome
from .decisions import movement
from .documents import verify_document
from .forms import milliseconds, present
from .json_text import NotJudged, Unreadable, digest, parse
from .kernels import declared_of, is_withheld
from .manifests import complete_record_leaf
from .shapes import ATTESTED_FIELDS
from .trust import Trust

Json = dict[str, Any]
Window = tuple[str, int]
# Sections of an opening that its close has anew.
_DECIDED = ("payload", "act", "approvals", "policy_evaluation", "mcd_finding")


@dataclass(frozen=True)
class Movement:
    """One movement of a budget window: its number, and the total before and after it."""

    window: Window
    ordinal: int
    begin: int
    after: int


@dataclass
class Chained:
    """A document that verifies, with its place in the chain. `facts` is its sealed form without the entries."""

    kind: str
    facts: Json
    leaf: Json
    clock: int
    entries: list[Json]
    movements: list[Movement] = field(default_factory=list)
    limitations: tuple[str, ...] = ()

    @property
    def ordinal(self) -> int:
        """Its number in the chain."""
        return int(self.leaf["tenant_ordinal"])

    @property
    def index(self) -> int:
        """Index of the entry of its leaf in the chain."""
        return int(self.entries[-1]["logIndex"])

    @property
    def redemptions(self) -> list[Json]:
        """The entries of the redemptions in it."""
        holders = [self.sections.get("permit", {}), *(self.facts["openings"] if self.kind == "end" else [])]
        return [each["redemption"]["entry"] for each in holders if "redemption" in each]

    @property
    def sections(self) -> Json:
        """Its sections; none of an end or an event."""
        found: Json = self.facts.get("sections", {})
        return found

    def __str__(self) -> str:
        run = f" (run {self.facts['run']['run_id']})" if self.kind == "record" else ""
        id_name = {"opening": "permit_id", "request": "approval_id"}.get(self.kind)
        own = f" ({self.facts[id_name]})" if id_name is not None else ""
        return f"{self.kind} {self.ordinal}{run}{own}"


def _window_movements(window: Json) -> list[Movement]:
    if "ordinal" not in window:
        return []
    place: Window = (window["window_start"], window["window_seconds"])
    _, count, begin = movement(window)
    settled = begin + min(window["tokens"], window.get("reserved", 0)) - window.get("reserved", 0)
    if count == 2:
        last = window["ordinal"]
        return [Movement(place, last - 1, begin, settled), Movement(place, last, settled, window["total_after"])]
    return [Movement(place, window["ordinal"], begin, window["total_after"])]


def _releases(end: Json) -> list[Movement]:
    return [
        Movement(
            (each["window_start"], each["window_seconds"]),
            each["ordinal"],
            each["total_after"] + each.get("released", 0),
            each["total_after"],
        )
        for each in end["openings"]
    ]


def _bundle(document: Json, trust: Trust) -> Chained:
    bundle = read_bundle(document)
    verification = BundleVerification(bundle, trust)
    named = {name: each["hash"] for name, each in bundle["sections"].items()} | bundle.get("derived", {})
    leaf = complete_record_leaf(bundle, verification.receipt, named)
    anchors = bundle["anchors"]
    entries = [anchors[slot]["entry"] for slot in ("pre_anchor", "receipt", "complete_record") if slot in anchors]
    window = bundle["sections"].get("budget_snapshot", {}).get("window")
    facts = {name: member for name, member in bundle.items() if name not in ("anchors", "stated")}
    moved = _window_movements(window) if window is not None else []
    return Chained("record", facts, leaf, milliseconds(bundle["run"]["created_at"]), entries, moved)


def read_chained(data: bytes, trust: Trust) -> Chained | str:
    """The document of a line, or why it is none that verifies; raises NotJudged for a record of other rules."""
    try:
        document = parse(data)
        outcome = verify_document(document, [trust])
    except NotJudged:
        raise
    except Unreadable as unreadable:
        return f"is none of ours: {unreadable}"
    if outcome.verdict == FAILED:
        return f"does not verify; first failed check, {outcome.first_failure}"
    found = _chained(document, trust, outcome)
    return found if isinstance(found, str) else replace(found, limitations=outcome.limitations)


def _chained(document: Json, trust: Trust, outcome: Outcome) -> Chained | str:
    if outcome.document == "bundle":
        return _bundle(document, trust) if outcome.verdict == COMPLETE else "has no anchor of its whole record"
    facts = {name: member for name, member in document.items() if name not in ("entry", "leaf")}
    entries = [document["entry"]]
    if outcome.document == "opening":
        clock, moved = document["sections"]["envelope"]["admission_clock"], _window_movements(document["reservation"])
        return Chained("opening", facts, document["leaf"], milliseconds(clock), entries, moved)
    if outcome.document == "approval_request":
        clock = document["sections"]["envelope"]["admission_clock"]
        return Chained("request", facts, document["leaf"], milliseconds(clock), entries)
    if outcome.document == "permit_end":
        return Chained(
            "end", facts, document["leaf"], milliseconds(document["end_clock"]), entries, _releases(document)
        )
    if outcome.document == "admin_event":
        return Chained("event", facts, document["leaf"], milliseconds(document["seal_clock"]), entries)
    return "is no document of a chain"


def _decided_by(sections: Json) -> list[Any]:
    evaluation = sections["policy_evaluation"]
    terms = [evaluation["facts"].get(name) for name in ("audience", "redeem_required", "valid_for_seconds")]
    return [evaluation["policy_hash"], evaluation.get("act_hash"), evaluation.get("approvals_hash"), *terms]


def close_problem(close: Chained, opening: Chained) -> str | None:
    """Why a record is not the close of this opening, or None."""
    permit, window = close.sections["permit"], close.sections["budget_snapshot"]["window"]
    if (permit["opening_leaf_digest"], permit["opening_log_index"]) != (digest(opening.leaf), str(opening.index)):
        return "names another leaf or entry of its opening"
    if close.ordinal <= opening.ordinal:
        return "comes before its opening"
    mine, its = close.sections, opening.sections
    # Its hashes stand in the envelope and in the leaf of each: a withheld section is compared like any other.
    other = [name for name in its if name not in _DECIDED and mine.get(name, {}).get("hash") != its[name]["hash"]]
    if other:
        return f"has another {other[0]} than its opening"
    if any(mine["payload"][name] != its["payload"][name] for name in ("payload_hash", "payload_bytes")):
        return "has another payload than its opening"
    if "policy_evaluation" in mine and _decided_by(mine) != _decided_by(its):
        return "is decided by another policy, act, approvals or terms than its opening"
    reserved, names = opening.facts["reservation"], ("window_seconds", "window_start", "cap")
    if mine["budget_snapshot"]["run_limit"] != opening.facts["run_limit"] or window["reserved"] != reserved["tokens"]:
        return "settles another reservation"
    if any(window[name] != reserved[name] for name in names) or window["ordinal"] <= reserved["ordinal"]:
        return "settles another reservation"
    if close.clock > milliseconds(opening.facts["close_by"]):
        return f"was closed after {opening.facts['close_by']}"
    return _redemption_problem(permit, opening)


def _redemption_problem(holder: Json, opening: Chained) -> str | None:
    if "redemption" not in holder:
        return None
    redeemed, entry = milliseconds(holder["redemption"]["redeemed_clock"]), holder["redemption"]["entry"]
    if redeemed < milliseconds(opening.sections["envelope"]["admission_clock"]):
        return "has a redemption from before the opening"
    if redeemed > milliseconds(opening.facts["expires_at"]):
        return f"has a redemption from after {opening.facts['expires_at']}"
    if int(entry["logIndex"]) <= opening.index:
        return "has a redemption that is before the opening in the log"
    return None


def release_problem(end: Chained, released: Json, opening: Chained) -> str | None:
    """Why an end is not one of this opening, or None."""
    reserved = opening.facts["reservation"]
    if end.ordinal <= opening.ordinal:
        return "comes before its opening"
    if released["opening_hash"] != opening.facts["opening_hash"]:
        return "names another opening of the permit"
    tokens = released["charged"] if "charged" in released else released["released"]
    window = (released["window_seconds"], released["window_start"], tokens)
    wanted = (reserved["window_seconds"], reserved["window_start"], reserved["tokens"])
    if window != wanted or released["ordinal"] <= reserved["ordinal"]:
        return "releases another reservation"
    if end.facts["reason"] == "expired" and end.clock <= milliseconds(opening.facts["close_by"]):
        return f"ends the permit before {opening.facts['close_by']}"
    return _redemption_problem(released, opening)


def missing_fields(document: Chained) -> list[str]:
    """Attested fields that a decided run or opening does not have; none where its context is withheld."""
    context = document.sections["attested_context"]
    if is_withheld(context):
        return []
    declared = declared_of(document.sections, "attested_context")
    return [name for name in ATTESTED_FIELDS if not present(declared.get(name))]


def settings_of(document: Chained) -> dict[str, str | int]:
    """The operator's settings that a document shows. Those of a close are its opening's, but for policy and signatures."""
    facts, sections = document.facts, document.sections
    evaluation = sections.get("policy_evaluation", {})
    budget: Json = sections.get("budget_snapshot", {}) if "permit" not in sections else {}
    window = facts["reservation"] if document.kind == "opening" else budget.get("window", {})
    found = {
        "policy": evaluation.get("policy_hash", facts.get("attestation_gap_receipt", {}).get("policy_hash")),
        "signature library": evaluation.get("signature_library_hash"),
        "limit of tokens a run": facts["run_limit"] if document.kind == "opening" else budget.get("run_limit"),
        "seconds of a budget window": window.get("window_seconds"),
        "cap of tokens a window": window.get("cap"),
    }
    return {name: value for name, value in found.items() if value is not None}
