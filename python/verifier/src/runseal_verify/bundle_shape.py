"""A bundle's members, in either of its forms, and what its outcome makes of them: docs/formats.md, chapter 9."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from . import forms as f
from . import full_form_shapes as full
from . import shapes
from .derivation import receipt_key
from .forms import HASH, constant, integer, record, text
from .json_text import NotJudged, Unreadable
from .kernels import READS, cannot_run, is_withheld
from .manifest_shapes import MANIFEST, PARTIAL_MANIFEST

Json = dict[str, Any]
DERIVATION = "vfa.derivation.v2"
OUTCOMES = ("ok", "pepg_deny", "ccv_halt", "macc_halt", "aivp_t4_halt", "attestation_gap", "stage_error")

BASE = ("payload", *shapes.DECLARED, "system_provenance")
_DENIED = ("envelope", "transport", "policy_evaluation", "transcript")
_HALTED = (*_DENIED, "epa", "leakage_bundle", "efa", "budget_snapshot")
_BY_OUTCOME = {
    "pepg_deny": _DENIED,
    "ccv_halt": _HALTED,
    "macc_halt": _HALTED,
    "aivp_t4_halt": (*_HALTED, "governance_review"),
    "attestation_gap": ("envelope", "transport", "transcript"),
    "ok": ("envelope", "policy_evaluation", "budget_snapshot", "governance_review", *shapes.DERIVED),
}
_STEPS = (
    ("DOG", ("envelope",)),
    ("DTL", ("transport",)),
    ("PEPG", ("policy_evaluation",)),
    ("DKEC", ("epa", "leakage_bundle", "efa")),
    ("MACC", ("budget_snapshot",)),
    ("AIVP_T4", ("governance_review",)),
    ("AER", ("aer",)),
    ("ZKSP", ("hardware_attestation", "zksp_binding")),
    ("PHASE4", ("migration_token", "replay_fingerprint")),
)
_LAST = ("LEDGER", "REGISTRY", "DLA")
# The steps that a run takes after a gate stopped it.
_SEALING = ("LEDGER", "DLA")
_AFTER_MACC = ("AIVP_T4", "AER", "ZKSP", "PHASE4", *_LAST)
_BEHIND = {"CCV": ("MACC", *_AFTER_MACC), "MACC": _AFTER_MACC}
_MESSAGES = {
    "ccv_halt": (
        "CCV",
        "The run declared more tokens than the per-run budget allows and was halted after its kernels.",
    ),
    "macc_halt": (
        "MACC",
        "The run took the tenant's cumulative tokens to or beyond the window's cap and was halted after its kernels.",
    ),
    "aivp_t4_halt": (
        "AIVP_T4",
        "The Tier-4 governance review did not release the AI output and the run was halted after its kernels.",
    ),
    "attestation_gap": (
        "PEPG_ADMISSION",
        "The policy requires attested fields that the request does not carry; the run was not admitted.",
    ),
}
REVIEW_FAILURES = (
    "The reviewer could not be reached.",
    "The reviewer did not answer in time.",
    "The reviewer refused the request.",
    "The reviewer's answer is not a verdict.",
    "The text to review or the reviewer's answer is too large.",
    "Too many reviews are waiting.",
    "The governance review failed.",
)

_RUN = record(
    {
        "run_id": integer(1),
        "outcome_kind": constant(*OUTCOMES),
        "tenant_id": f.TENANT_ID,
        "tenant_salt": HASH,
        "program_id": HASH,
        "route_id": text(1, 512),
        "execution_region": f.REGION,
        "created_at": f.clock,
        "duration_us": f.COUNT,
        "formula_version": constant("manifest.v1"),
        "derivation": constant(DERIVATION),
    },
    {
        "error_stage": constant(*full.STEPS),
        "error_message": text(1),
        "leaf_version": constant(*full.PRE_ANCHOR, *full.RECEIPT_ANCHOR),
    },
)
# What a gate or stage makes after the log entry only a completed run has, and its manifest names it.
_BEFORE_ENTRY = shapes.DERIVED[: shapes.DERIVED.index("pote_proof")]


_PATH = f.array(f.base64_of(32), most=53)
_WITNESSED = record(
    {"checkpoint": f.text(1, 131_072)}, {"pre_anchor": _PATH, "receipt": _PATH, "complete_record": _PATH}
)


def _anchors(pre_anchor: f.Form, receipt: f.Form, complete_record: f.Form) -> f.Form:
    leaves = {"pre_anchor": pre_anchor, "receipt": receipt, "complete_record": complete_record}
    slots: dict[str, f.Form] = {slot: record({"leaf": leaf, "entry": shapes.ENTRY}) for slot, leaf in leaves.items()}
    return record({}, {**slots, "outside": f.anything, "witnessed": _WITNESSED})


def _version_alone(versions: tuple[str, ...]) -> f.Form:
    return record({"leaf_version": constant(*versions)})


def _form(kind: str, derived: Mapping[str, f.Form], anchors: f.Form, beside: Mapping[str, f.Form]) -> f.Form:
    required = {name: shapes.SECTIONS[name] for name in BASE}
    optional = {name: shape for name, shape in shapes.SECTIONS.items() if name not in BASE}
    return record(
        {
            "kind": constant(kind),
            "run": _RUN,
            "sections": record(required, {**optional, **derived}),
            "anchors": anchors,
            "bundle_hash": HASH,
        },
        {
            "manifest": MANIFEST,
            "partial_manifest": PARTIAL_MANIFEST,
            "allow_token": shapes.ALLOW_TOKEN,
            **shapes.RECEIPTS,
            **beside,
        },
    )


_SEALED = _form(
    "vfa.audit_bundle.v2",
    {},
    _anchors(_version_alone(full.PRE_ANCHOR), _version_alone(full.RECEIPT_ANCHOR), record(full.SHORT_COMPLETE)),
    {
        "derived": record({}, dict.fromkeys(_BEFORE_ENTRY, HASH)),
        "withheld_results": record(
            {
                "kernels": record({}, {name: form for name, form in full.RESULTS.items() if name != "DSE"}),
                "declared_values": record({}, dict.fromkeys((*shapes.DECLARED, "closing"), f.COUNT)),
            }
        ),
    },
)
_FULL = _form(
    "vfa.bundle_view.v1",
    full.DERIVED,
    _anchors(full.PRE_ANCHOR_LEAF, full.RECEIPT_LEAF, full.COMPLETE_LEAF),
    {},
)


def _needed(sections: Json, has_kernels: bool) -> tuple[set[str], set[str]]:
    if not has_kernels:
        return set(), set()
    withheld = {name for name in (*shapes.DECLARED, "closing") if name in sections and is_withheld(sections[name])}
    return {kernel for kernel in READS if cannot_run(kernel, sections)} if withheld else set(), withheld


def _results_of_full_form(sections: Json, derived: Json) -> Json | None:
    kernels, withheld = _needed(sections, "efa" in derived)
    if not withheld:
        return None
    try:
        stated = {each["kernel"]: each for each in derived["efa"]["kernels"]}
        counts = derived["leakage_bundle"]["declared_values"]
        return {
            "kernels": {name: {key: stated[name][key] for key in ("output", "findings")} for name in kernels},
            "declared_values": {name: counts[name] for name in withheld},
        }
    except (KeyError, TypeError):
        raise Unreadable("A full form does not state the results of a withheld section.") from None


# What is added to a record when it is read.
_LATER = ("outside", "witnessed")


def _sealed_form(document: Json) -> Json:
    """The sealed form of a full one; what it stated is kept under `stated`."""
    sections = {name: each for name, each in document["sections"].items() if name not in shapes.DERIVED}
    derived = {name: each for name, each in document["sections"].items() if name in shapes.DERIVED}
    anchors = {
        slot: {
            **anchor,
            "leaf": {
                name: anchor["leaf"][name]
                for name in (full.SHORT_COMPLETE if slot == "complete_record" else ("leaf_version",))
            },
        }
        for slot, anchor in document["anchors"].items()
        if slot not in _LATER
    } | {name: document["anchors"][name] for name in _LATER if name in document["anchors"]}
    made = {**document, "kind": "vfa.audit_bundle.v2", "sections": sections, "anchors": anchors}
    if "manifest" not in document:
        made["derived"] = {name: each["hash"] for name, each in derived.items()}
    results = _results_of_full_form(sections, derived)
    if results is not None:
        made["withheld_results"] = results
    leaves = {slot: anchor["leaf"] for slot, anchor in document["anchors"].items() if slot not in _LATER}
    return {**made, "stated": {"sections": derived, "leaves": leaves}}


def read_bundle(document: Json) -> Json:
    """The sealed form of a bundle; raises Unreadable for what is none."""
    run = document.get("run")
    if isinstance(run, dict) and isinstance(run.get("derivation"), str) and run["derivation"] != DERIVATION:
        raise NotJudged("The record follows rules that this verifier does not know: a newer one is needed.")
    is_full = document.get("kind") == "vfa.bundle_view.v1"
    (_FULL if is_full else _SEALED)(document, "")
    if "outside" in document["anchors"]:
        raise NotJudged("The record has entries in another log, which this verifier does not check: use `verifier`.")
    bundle = _sealed_form(document) if is_full else document
    sections = bundle["sections"]
    if ("closing" in sections) and ("permit" not in sections) and is_withheld(sections["closing"]):
        raise Unreadable("A closing is withheld, and no permit is there.")
    kernels, withheld = _needed(sections, "manifest" in bundle or "efa" in bundle.get("derived", {}))
    results = bundle.get("withheld_results")
    if (results is not None) != bool(withheld):
        raise Unreadable("Results of withheld sections are there exactly when they are needed.")
    if results is not None:
        exact = set(results["kernels"]) == kernels and set(results["declared_values"]) == withheld
        if not exact:
            raise Unreadable("The results of withheld sections are others than those that are needed.")
    return bundle


def message_of(bundle: Json) -> tuple[str | None, list[str | None]]:
    """error_stage, unless a stage_error has one of its own, and the messages that it may have."""
    run, sections = bundle["run"], bundle["sections"]
    outcome, stage = run["outcome_kind"], run.get("error_stage")
    if outcome == "ok":
        return None, [None]
    if outcome in _MESSAGES:
        return _MESSAGES[outcome][0], [_MESSAGES[outcome][1]]
    if outcome == "pepg_deny":
        finding = sections.get("mcd_finding")
        by_signature = sections.get("policy_evaluation", {}).get("decision_reason_code") == "MCD_SIGNATURE_MATCH"
        if by_signature and finding is not None:
            where = f"Signature {finding['matched_signature_id']} matched in {finding['matched_in']}"
            return "PEPG", [f"{where}: the run was denied before any kernel ran."]
        return "PEPG", ["The policy gate denied the run before any kernel ran."]
    messages = {
        "PEPG": ["The signature scan failed."],
        "AIVP_T4": list(REVIEW_FAILURES),
        "DLA": [
            "The record did not pass its own verification.",
            "Stage DLA failed; the operator's log holds the cause.",
        ],
    }
    stages = {name for name, _ in _STEPS if name != "MACC"} | set(_LAST)
    if stage not in stages:
        return "", []
    return stage, list(messages.get(stage, [f"Stage {stage} failed; the operator's log holds the cause."]))


def shape_problem(bundle: Json) -> str | None:
    """Why the members do not fit the outcome, or None."""
    run, outcome, anchors = bundle["run"], bundle["run"]["outcome_kind"], bundle["anchors"]
    receipt = receipt_key(outcome)
    wanted = {"derived"} if outcome != "ok" else {"manifest", "allow_token"}
    if outcome in ("pepg_deny", "ccv_halt", "macc_halt", "aivp_t4_halt"):
        wanted.add("partial_manifest")
    if outcome in ("ccv_halt", "macc_halt", "aivp_t4_halt"):
        wanted.add("allow_token")
    if receipt is not None:
        wanted.add(receipt)
    optional = {"manifest", "partial_manifest", "derived", "allow_token", *shapes.RECEIPTS}
    if optional & set(bundle) != wanted:
        return f"A record of the outcome {outcome} has other members."
    stage, messages = message_of(bundle)
    if run.get("error_stage") != stage or run.get("error_message") not in messages:
        return "The sentence about the run's end is not that of its outcome."
    slots = set(anchors) - {"complete_record", *_LATER}
    allowed = {"pre_anchor"} if outcome == "ok" else {"receipt"} if receipt is not None else set()
    if not slots <= allowed:
        return "An anchor has no place in a record of this outcome."
    versions = [anchors[slot]["leaf"]["leaf_version"] for slot in slots]
    if [run["leaf_version"]] != versions if "leaf_version" in run else versions:
        return "The run names another first leaf."
    return None


def _deciding_gate(bundle: Json) -> str | None:
    """The gate that stopped the run of a stage_error by its sections, whatever step is named as failed."""
    run, sections = bundle["run"], bundle["sections"]
    if run["outcome_kind"] != "stage_error":
        return None
    evaluation, budget = sections.get("policy_evaluation"), sections.get("budget_snapshot")
    review, closes, failed = sections.get("governance_review"), "permit" in sections, run.get("error_stage")
    if evaluation is None:
        # A run whose permit was opened is admitted already.
        return "PEPG_ADMISSION" if failed in _SEALING and not closes else None
    if evaluation["decision"] == "deny":
        return "PEPG"
    # A close has its budget also where no gate was asked for it.
    asked = {gate for gate in ("CCV", "MACC") if not closes or failed in _BEHIND[gate]}
    if budget is not None and budget["declared_tokens"] > budget["run_limit"] and "CCV" in asked:
        return "CCV"
    window = budget.get("window") if budget is not None else None
    beyond = window is not None and (not closes or window["tokens"] > window.get("reserved", window["tokens"]))
    if window is not None and beyond and window["total_after"] >= window["cap"] and "MACC" in asked:
        return "MACC"
    return "AIVP_T4" if review is not None and review["decision_kind"] != "release" else None


def refused_gate(bundle: Json) -> str | None:
    """The gate that had refused the run of a stage_error, if one had."""
    return _deciding_gate(bundle) if bundle["run"].get("error_stage") in _SEALING else None


def wanted_sections(bundle: Json) -> set[str]:
    """The sections, sealed or derived, that a record of this outcome has."""
    run, sections = bundle["run"], bundle["sections"]
    outcome, names = run["outcome_kind"], set(BASE)
    if outcome != "stage_error":
        names |= set(_BY_OUTCOME[outcome])
    else:
        gate = _deciding_gate(bundle)
        by_gate = {
            "PEPG_ADMISSION": "attestation_gap",
            "PEPG": "pepg_deny",
            "CCV": "ccv_halt",
            "MACC": "macc_halt",
            "AIVP_T4": "aivp_t4_halt",
        }
        if gate is not None:
            names |= set(_BY_OUTCOME[by_gate[gate]]) - {"transcript"}
        else:
            for step, made in _STEPS:
                if step == run.get("error_stage"):
                    break
                names |= set(made)
    if "policy_evaluation" in names:
        names |= {"mcd_finding", "act", "approvals"} & set(sections)
    if "end_user" in sections:
        names.add("end_user")
    if "permit" in sections or "closing" in sections:
        names |= {"permit", "closing", "envelope", "budget_snapshot"}
    return names
