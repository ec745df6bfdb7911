"""Receipts, in a bundle and alone: docs/formats.md, sections 3.4 to 3.8 and chapter 12."""

from __future__ import annotations

from typing import Any

from . import shapes
from .anchor import entry_problem, inclusion_problem, read_body, time_problem
from .approval_shapes import ENDED
from .checks import FAILED, Checks, Outcome
from .decisions import model_answer_problem, row_problem, standing
from .derivation import Derivation
from .forms import constant, integer, is_sorted, milliseconds, present, record, seconds, text
from .full_form_shapes import RECEIPT_LEAF
from .json_text import EMPTY, Unreadable, digest, same
from .kernels import declared_of, is_withheld
from .manifests import receipt_leaf
from .trust import Trust

Json = dict[str, Any]
_ANSWERS_OF_RULES = {reason: kind for kind, reason, _ in shapes.REVIEW_RULES.values()}


def receipt_problem(bundle: Json, receipt: Json, made: Derivation) -> str | None:
    """Why the receipt of a bundle does not follow from its sections, or None."""
    problem = alone_problem(receipt)
    if problem is not None:
        return problem
    sections = bundle["sections"]
    wanted: Json = {"envelope_id": sections["envelope"]["envelope_id"]}
    version = receipt["version"]
    evaluation, budget = sections.get("policy_evaluation", {}), sections.get("budget_snapshot", {})
    clock = next(name for key, name in shapes.RECEIPT_CLOCKS.items() if shapes.RECEIPT_VERSIONS[key] == version)
    wanted[clock] = bundle["run"]["created_at"]
    if version == "vfa.deny_receipt.v1":
        names = ("fired_rule_id", "decision_reason_code", "policy_hash", "evaluator_version")
        wanted.update({name: evaluation[name] for name in names}, evaluation_hash=evaluation["hash"])
        if receipt["decision_reason_code"] == "MCD_SIGNATURE_MATCH":
            wanted["mcd_finding_hash"] = sections["mcd_finding"]["hash"]
        elif "mcd_finding_hash" in receipt:
            return "The receipt of a rule names a finding."
    elif version == "vfa.attestation_gap_receipt.v1":
        if not is_withheld(sections["attested_context"]):
            declared = declared_of(sections, "attested_context")
            required = receipt["required_fields"]
            wanted["missing_fields"] = [name for name in required if not present(declared.get(name))]
    else:
        wanted["allow_token_hash"] = made.token_hash()
        wanted.update(_halt(version, sections, budget, made))
    wrong = [name for name, value in wanted.items() if not same(receipt.get(name), value)]
    return f"The receipt has another {wrong[0]}." if wrong else None


def _halt(version: str, sections: Json, budget: Json, made: Derivation) -> Json:
    if version == "vfa.aivp_t4_halt.v1":
        review = sections["governance_review"]
        names = ("adapter_id", "decision_kind", "decision_reason", "ai_output_hash", "evaluator_version")
        return {**{name: review[name] for name in names}, "review_hash": review["hash"]}
    if version == "vfa.ccv_halt.v1":
        return {
            "budget_limit": budget["run_limit"],
            "consumed_at_halt": budget["declared_tokens"],
            "budget_hash": budget["hash"],
            "partial_execution_hash": made.hash_of("efa"),
        }
    window = budget["window"]
    return {
        "tenant_id": sections["envelope"]["tenant_id"],
        "budget_limit": window["cap"],
        "cumulative_at_halt": window["total_after"],
        "per_run_consumption": window["tokens"],
        "window_start": window["window_start"],
        "budget_hash": budget["hash"],
    }


def alone_problem(receipt: Json) -> str | None:
    """Why a receipt contradicts itself, or None."""
    if not standing(receipt):
        return "The receipt does not have its hash."
    version = receipt["version"]
    if version == "vfa.deny_receipt.v1":
        by_signature = receipt["decision_reason_code"] == "MCD_SIGNATURE_MATCH"
        if by_signature != bool(receipt.get("mcd_finding_hash")):
            return "A finding's hash goes with a signature match."
        reason, fired = receipt["decision_reason_code"], receipt["fired_rule_id"]
        by_rule = reason in ("RULE_DENIED", "APPROVAL_REQUIRED", *ENDED.values())
        return row_problem(reason, "deny", fired, [fired] if by_rule else [])
    if version == "vfa.ccv_halt.v1":
        return None if receipt["consumed_at_halt"] > receipt["budget_limit"] else "The tokens are within their limit."
    if version == "vfa.macc_halt.v1":
        full = receipt["cumulative_at_halt"] >= receipt["budget_limit"]
        within = receipt["per_run_consumption"] <= receipt["cumulative_at_halt"]
        early = milliseconds(receipt["window_start"]) <= milliseconds(receipt["halt_clock"])
        return None if full and within and early else "The window's total is below its cap, or not of this window."
    if version == "vfa.aivp_t4_halt.v1":
        return _review_problem(receipt)
    required, missing = receipt["required_fields"], receipt["missing_fields"]
    if not (is_sorted(required) and is_sorted(missing) and missing and set(missing) <= set(required)):
        return "The missing fields are not fields that are required, sorted."
    return None


def _review_problem(receipt: Json) -> str | None:
    kind, reason, adapter = receipt["decision_kind"], receipt["decision_reason"], receipt["adapter_id"]
    if receipt["halt_reason_code"] != f"AIVP_T4_{kind.upper()}":
        return "The receipt names another decision."
    if adapter == "none":
        return "A review that is off halts nothing."
    if adapter == "builtin-rules":
        found = _ANSWERS_OF_RULES.get(reason) == kind and receipt["ai_output_hash"] != EMPTY
        return None if found else "The rules give no such answer."
    return model_answer_problem(kind, reason, [], 1)


_ANCHOR = record({"version": text(1), "leaf": RECEIPT_LEAF, "entry": shapes.ENTRY})


def verify_receipt(document: Json, trust: Trust) -> Outcome:
    """What is to be said of the answer of a receipt endpoint; raises Unreadable for what is none."""
    key = next((each for each in shapes.RECEIPTS if each in document), None)
    if key is None:
        raise Unreadable("The document holds no receipt.")
    record({"ok": constant(True), "run_id": integer(1), key: shapes.RECEIPTS[key]}, {"receipt_anchor": _ANCHOR})(
        document, ""
    )
    receipt, anchor, checks = document[key], document.get("receipt_anchor"), Checks()
    checks.put("shape", None)
    checks.run("decision", lambda: alone_problem(receipt))
    if anchor is None:
        if "anchor_required" in receipt:
            checks.put("entry", "The receipt requires a log entry, and has none; the refusal itself is valid.")
    else:
        _check_anchor(document, receipt, anchor, key, checks, trust)
    failed = checks.first_failure() is not None
    verdict = "RECEIPT VERIFIED AND ANCHORED" if anchor is not None else "RECEIPT SELF-CONSISTENT ONLY, NOT ANCHORED"
    outcome = key.removesuffix("_receipt").replace("deny", "pepg_deny")
    return Outcome("receipt", FAILED if failed else verdict, checks, document["run_id"], outcome, service=trust.service)


def _check_anchor(document: Json, receipt: Json, anchor: Json, key: str, checks: Checks, trust: Trust) -> None:
    version, entry = anchor["leaf"]["leaf_version"], anchor["entry"]
    if anchor["version"] != version:
        checks.put("shape", "The anchor is called another version than its leaf.")
    leaf = receipt_leaf(anchor["version"], receipt, document["run_id"])
    body = read_body(entry)
    fits = same(leaf, anchor["leaf"]) and body is not None and body.digest == digest(leaf) and entry["logIndex"] != "0"
    checks.put("leaf", None if fits else "The entry is of another leaf.")
    checks.run("entry", lambda: entry_problem(entry, trust))
    checks.run("inclusion", lambda: inclusion_problem(entry, trust))
    checks.run("log_time", lambda: time_problem(entry, seconds(receipt[shapes.RECEIPT_CLOCKS[key]])))
