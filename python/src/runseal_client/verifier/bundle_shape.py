"""A bundle's members, in either of its forms, and what its outcome makes of them: docs/formats.md, chapter 9."""

from __future__ import annotations

from typing import Any

from . import forms as f
from . import shapes
from .derivation import receipt_key
from .forms import HASH, TEXT, array, constant, integer, record, text
from .json_text import NotJudged, Unreadable
from .kernels import READS, cannot_run, is_withheld
from .manifest_shapes import MANIFEST, PARTIAL_MANIFEST

Json = dict[str, Any]
DERIVATION = "vfa.derivation.v1"
PRE_ANCHOR = ("vfa.leaf.v5", "vfa.leaf.v6", "vfa.leaf.v7")
RECEIPT_ANCHOR = ("vfa.receipt_anchor.v1", "vfa.receipt_anchor.v2")
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

STAGES_AND_GATES = (
    *("DOG", "DTL", "DKEC", "AER", "ZKSP", "PHASE4", "LEDGER", "REGISTRY", "DLA"),
    *("PEPG_ADMISSION", "PEPG", "CCV", "MACC", "AIVP_T4"),
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
        "error_stage": constant(*STAGES_AND_GATES),
        "error_message": TEXT,
        "leaf_version": constant(*PRE_ANCHOR, *RECEIPT_ANCHOR),
    },
)
_KERNEL_OUTPUTS = {
    "DSE": record({"state_commitment": HASH}),
    "TOK": record({"timestamp_count": f.COUNT, "ordering_hash": HASH}),
    "DSC": record({"final_state_hash": HASH}),
    "NREP": record({"caller_commitment": HASH, "actor_signature": constant("absent", "declared_not_verified")}),
    "AIVP": record({"model_commitment": HASH}),
    "DCAE": record({"closure": HASH}),
}
_FINDINGS = array(record({"code": TEXT, "count": integer(1)}), 0, 12)
_SHORT_COMPLETE = {
    "leaf_version": constant("vfa.complete_record.v1"),
    "tenant_ordinal": integer(1),
    "previous_record": HASH,
}


def _strings(value: Any, path: str) -> None:
    f.any_object(value, path)
    for name, member in value.items():
        TEXT(member, f"{path}/{name}")


def _kernel(name: str) -> f.Form:
    return record({"output": _KERNEL_OUTPUTS[name], "findings": _FINDINGS})


def _leaf(versions: tuple[str, ...], full: bool) -> f.Form:
    def form(value: Any, path: str) -> None:
        f.any_object(value, path)
        if value.get("leaf_version") not in versions or (not full and len(value) != 1):
            raise f.refuse(path, "is no leaf of this slot")

    return form


def _full_complete(value: Any, path: str) -> None:
    f.any_object(value, path)
    record(_SHORT_COMPLETE, {name: f.anything for name in value})(value, path)


def _anchors(full: bool) -> f.Form:
    def slot(leaf: f.Form) -> f.Form:
        return record({"leaf": leaf, "entry": shapes.ENTRY})

    return record(
        {},
        {
            "pre_anchor": slot(_leaf(PRE_ANCHOR, full)),
            "receipt": slot(_leaf(RECEIPT_ANCHOR, full)),
            "complete_record": slot(_full_complete if full else record(_SHORT_COMPLETE)),
            "outside": f.anything,
        },
    )


def _derived_section(value: Any, path: str) -> None:
    f.any_object(value, path)
    HASH(value.get("hash"), f"{path}/hash")


def _form(full: bool) -> f.Form:
    derived = {name: _derived_section for name in shapes.DERIVED}
    required = {name: shapes.SECTIONS[name] for name in BASE}
    optional = {name: shape for name, shape in shapes.SECTIONS.items() if name not in BASE}
    beside: dict[str, f.Form] = {
        "derived": record({}, {name: HASH for name in shapes.DERIVED}),
        "withheld_results": record(
            {
                "kernels": record({}, {name: _kernel(name) for name in shapes.KERNELS}),
                "declared_values": record({}, {name: f.COUNT for name in (*shapes.DECLARED, "closing")}),
            }
        ),
    }
    return record(
        {
            "kind": constant("vfa.bundle_view.v1" if full else "vfa.audit_bundle.v2"),
            "run": _RUN,
            "sections": record(required, {**optional, **(derived if full else {})}),
            "anchors": _anchors(full),
            "bundle_hash": HASH,
        },
        {
            "manifest": MANIFEST,
            "partial_manifest": PARTIAL_MANIFEST,
            "allow_token": shapes.ALLOW_TOKEN,
            **shapes.RECEIPTS,
            **({} if full else beside),
        },
    )


_SEALED, _FULL = _form(False), _form(True)


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


def _sealed_form(document: Json) -> Json:
    """The sealed form of a full one; what it stated is kept under `stated`."""
    sections = {name: each for name, each in document["sections"].items() if name not in shapes.DERIVED}
    derived = {name: each for name, each in document["sections"].items() if name in shapes.DERIVED}
    anchors = {
        slot: {
            **anchor,
            "leaf": {
                name: anchor["leaf"][name]
                for name in (_SHORT_COMPLETE if slot == "complete_record" else ("leaf_version",))
            },
        }
        for slot, anchor in document["anchors"].items()
        if slot != "outside"
    }
    made = {**document, "kind": "vfa.audit_bundle.v2", "sections": sections, "anchors": anchors}
    if "manifest" not in document:
        made["derived"] = {name: each["hash"] for name, each in derived.items()}
    results = _results_of_full_form(sections, derived)
    if results is not None:
        made["withheld_results"] = results
    leaves = {slot: anchor["leaf"] for slot, anchor in document["anchors"].items() if slot != "outside"}
    return {**made, "stated": {"sections": derived, "leaves": leaves}}


def read_bundle(document: Json) -> Json:
    """The sealed form of a bundle; raises Unreadable for what is none."""
    run = document.get("run")
    if isinstance(run, dict) and isinstance(run.get("derivation"), str) and run["derivation"] != DERIVATION:
        raise NotJudged("The record follows rules that this verifier does not know: a newer one is needed.")
    full = document.get("kind") == "vfa.bundle_view.v1"
    (_FULL if full else _SEALED)(document, "")
    if "outside" in document["anchors"]:
        raise NotJudged("The record has entries in another log, which this verifier does not check: use `verifier`.")
    bundle = _sealed_form(document) if full else document
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
        by_signature = bundle.get("deny_receipt", {}).get("decision_reason_code") == "MCD_SIGNATURE_MATCH"
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
    slots = set(anchors) - {"complete_record"}
    allowed = {"pre_anchor"} if outcome == "ok" else {"receipt"} if receipt is not None else set()
    if not slots <= allowed:
        return "An anchor has no place in a record of this outcome."
    versions = [anchors[slot]["leaf"]["leaf_version"] for slot in slots]
    if [run["leaf_version"]] != versions if "leaf_version" in run else versions:
        return "The run names another first leaf."
    return None


def refused_gate(bundle: Json) -> str | None:
    """The gate that had refused the run of a stage_error, if one had."""
    run, sections = bundle["run"], bundle["sections"]
    if run["outcome_kind"] != "stage_error" or run.get("error_stage") not in ("LEDGER", "DLA"):
        return None
    evaluation, budget = sections.get("policy_evaluation"), sections.get("budget_snapshot")
    review = sections.get("governance_review")
    if evaluation is None:
        # A run whose permit was opened is admitted already.
        return None if "permit" in sections else "PEPG_ADMISSION"
    if evaluation["decision"] == "deny":
        return "PEPG"
    if budget is not None and budget["declared_tokens"] > budget["run_limit"]:
        return "CCV"
    window = budget.get("window") if budget is not None else None
    beyond = window is not None and window["tokens"] > window.get("reserved", -1)
    if window is not None and beyond and window["total_after"] >= window["cap"]:
        return "MACC"
    return "AIVP_T4" if review is not None and review["decision_kind"] != "release" else None


def wanted_sections(bundle: Json) -> set[str]:
    """The sections, sealed or derived, that a record of this outcome has."""
    run, sections = bundle["run"], bundle["sections"]
    outcome, names = run["outcome_kind"], set(BASE)
    if outcome != "stage_error":
        names |= set(_BY_OUTCOME[outcome])
    else:
        gate = refused_gate(bundle)
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
    if "policy_evaluation" in names and "mcd_finding_hash" in sections.get("policy_evaluation", {}):
        names.add("mcd_finding")
    if "permit" in sections or "closing" in sections:
        names |= {"permit", "closing", "envelope", "budget_snapshot"}
    return names
