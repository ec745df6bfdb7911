"""Whether decisions follow from what they name: docs/formats.md, chapters 2.5 and 3."""

from __future__ import annotations

from typing import Any

from . import shapes
from .acts import grounds_problem
from .approval_shapes import ENDED
from .derivation import sealed
from .forms import fits, is_sorted, milliseconds
from .json_text import digest, same, sha256, utf16, without
from .kernels import declared_of, declared_view, is_withheld
from .passkeys import Place
from .shipped_severities import LIBRARY_HASH, SEVERITIES

Json = dict[str, Any]
_CATEGORIES = {
    "PI": "prompt_injection",
    "DA": "dangerous_api",
    "SC": "supply_chain",
    "FE": "filesystem_escape",
}
MAX_FINDINGS = 2_000


def row_problem(reason: str, decision: str, fired: str, matched: list[str] | None) -> str | None:
    """Why reason, decision and rules are no row of the table of section 3.1; a receipt names no matched rules."""
    rules = matched if matched is not None else []
    by_rule = shapes.RULE_ID
    named = fits(by_rule, fired)
    first = matched is None or (bool(rules) and rules[0] == fired)
    row = {
        "RULE_ALLOWED": decision == "allow" and named and first,
        "RULE_DENIED": decision == "deny" and named and first,
        "RULE_APPROVED": decision == "allow" and named and first,
        "APPROVAL_REQUIRED": decision == "deny" and named and first,
        **dict.fromkeys(ENDED.values(), decision == "deny" and named and first),
        "DEFAULT_DENY": decision == "deny" and fired == "default-deny" and not rules,
        "ACT_UNREADABLE": decision == "deny" and fired == "policy-engine" and not rules,
        "END_USER_UNREADABLE": decision == "deny" and fired == "policy-engine" and not rules,
        "POLICY_EVALUATION_ERROR": decision == "deny" and (named or fired == "policy-engine") and not rules,
        "MCD_SIGNATURE_MATCH": decision == "deny" and fits(shapes.SIGNATURE_ID, fired) and not rules,
    }[reason]
    return None if row else "Reason, decision and rules do not go together."


def evaluation_problem(record: Json, clock: str, place: Place) -> str | None:
    """Why the policy evaluation is not one of this run, or None."""
    sections = record["sections"]
    evaluation, finding = sections["policy_evaluation"], sections.get("mcd_finding")
    if evaluation["envelope_id"] != sections["envelope"]["envelope_id"] or evaluation["evaluation_clock"] != clock:
        return "The policy evaluation is of another run."
    reason, matched = evaluation["decision_reason_code"], evaluation["matched_rule_ids"]
    problem = row_problem(reason, evaluation["decision"], evaluation["fired_rule_id"], matched)
    if problem is not None:
        return problem
    if not is_sorted(matched) or any(each in ("default-deny", "policy-engine") for each in matched):
        return "The matched rules are not sorted, or are none."
    scan = evaluation["signature_scan"]
    order = [each for each in ("payload", "ai_output", "declared") if each in scan["scope"]]
    if scan["scope"] != order or not is_sorted(scan["disabled"]):
        return "The signature scan is not in its order."
    problem = grounds_problem(sections, place)
    if problem is not None:
        return problem
    if (finding is None) != ("mcd_finding_hash" not in evaluation):
        return "Finding and evaluation do not go together."
    by_signature = reason == "MCD_SIGNATURE_MATCH"
    if scan["mode"] == "enforce" and by_signature != (finding is not None):
        return "A signature match and its finding do not go together."
    if scan["mode"] == "observe" and by_signature:
        return "A match that is only observed denies nothing."
    if finding is None:
        return None
    if finding["hash"] != evaluation["mcd_finding_hash"]:
        return "The evaluation names another finding."
    return finding_problem(record, finding, clock)


def _pointed(value: Any, pointer: str) -> tuple[str, str] | None:
    """The text at a pointer, or the key of the member there, and the pointer's section."""
    steps = pointer.split("/")[1:]
    section, found, key = steps[0], value, ""
    for step in steps[1:]:
        if isinstance(found, list):
            if not step.isascii() or not step.isdecimal() or str(int(step)) != step or int(step) >= len(found):
                return None
            found, key = found[int(step)], ""
        elif isinstance(found, dict):
            name = next((each for each in found if key_step(found, each) == step), None)
            if name is None:
                return None
            found, key = found[name], name
        else:
            return None
    return (found if isinstance(found, str) else "", key) if section else None


def key_step(members: Json, key: str) -> str:
    """How a finding writes a key: as it is, or as its position."""
    plain = 1 <= len(key) <= 64 and all(each.isascii() and (each.isalnum() or each in "_.-") for each in key)
    return key if plain else f"#{sorted(members, key=utf16).index(key)}"


def _fingerprints(sections: Json, place: str) -> list[str] | None:
    """The fingerprints that a text at the place can have; None when its section is withheld."""
    name = place.split("/")[1]
    if name not in (*shapes.DECLARED, "closing") or name not in sections:
        return []
    if is_withheld(sections[name]):
        return None
    found = _pointed(declared_of(sections, name), place)
    if found is None:
        return []
    kind, salt = "vfa.matched_text.v1", sections[name]["salt"]
    return [digest({"kind": kind, "salt": salt, "text": text}) for text in dict.fromkeys(found) if text]


def finding_problem(record: Json, finding: Json, clock: str) -> str | None:
    """Why the finding does not follow from evaluation and texts, or None."""
    sections = record["sections"]
    evaluation, payload = sections["policy_evaluation"], sections["payload"]
    scan, place = evaluation["signature_scan"], finding["matched_in"]
    signature = finding["matched_signature_id"]
    if finding["envelope_id"] != evaluation["envelope_id"] or finding["finding_clock"] != clock:
        return "The finding is of another run."
    if finding["library_hash"] != evaluation["signature_library_hash"] or signature in scan["disabled"]:
        return "The finding is of another library, or of a signature that is not searched for."
    if evaluation["decision_reason_code"] == "MCD_SIGNATURE_MATCH" and evaluation["fired_rule_id"] != signature:
        return "The evaluation names another signature."
    if finding["category"] != _CATEGORIES[signature[4:6]]:
        return "The finding has another category than its signature."
    if finding["library_hash"] == LIBRARY_HASH and SEVERITIES.get(signature) != finding["severity"]:
        return "The shipped library has no such signature, or another severity of it."
    scope = place if place in ("payload", "ai_output") else "declared"
    if scope not in scan["scope"]:
        return "The finding is in a text that was not searched."
    allowed: list[str] | None
    if place == "payload":
        allowed = [payload["payload_hash"]]
    elif place == "ai_output":
        allowed = [payload["ai_output_hash"]] if "ai_output_hash" in payload else []
    elif place == "/route_id":
        allowed = [sha256(record["run"]["route_id"].encode())]
    elif place.startswith("/"):
        allowed = _fingerprints(sections, place)
    else:
        allowed = []
    if allowed is not None and finding["text_fingerprint"] not in allowed:
        return "The text at the finding's place has another fingerprint."
    return None


def token_of(evaluation: Json) -> Json:
    """The allow token that an evaluation gives."""
    return sealed(
        {
            "version": "vfa.allow_token.v1",
            "envelope_id": evaluation["envelope_id"],
            **{
                name: evaluation[name]
                for name in ("fired_rule_id", "decision_reason_code", "policy_hash", "evaluator_version")
            },
            "evaluation_hash": evaluation["hash"],
            "allow_clock": evaluation["evaluation_clock"],
        }
    )


def permit_problem(record: Json) -> str | None:
    """Why permit and closing are not those of this run, or None."""
    sections = record["sections"]
    permit, envelope = sections["permit"], sections["envelope"]
    wanted = digest({"kind": "vfa.permit_id.v1", "envelope_hash": envelope["hash"]})[:32]
    if permit["permit_id"] != f"pmt-{wanted}":
        return "The permit is of another opening."
    if ("code" in permit) != (permit["outcome"] == "failed"):
        return "A code is there exactly when the act failed."
    admitted, later = milliseconds(envelope["admission_clock"]), [permit["closed_clock"]]
    if "redemption" in permit:
        later.append(permit["redemption"]["redeemed_clock"])
    if any(milliseconds(each) < admitted for each in later):
        return "The permit was closed or redeemed before it was opened."
    for name, added in sections["closing"].get("declared", {}).items():
        if set(added) & set(declared_of(sections, name)):
            return "The closing declares again what the opening declares."
    if "cost" in declared_of(sections, "request_substance"):
        return "The opening declares the cost of an act that it precedes."
    return None


def declared_tokens(sections: Json) -> Any:
    """The total that the caller declared, of whatever form, 0 without one; None when it is withheld."""
    if is_withheld(sections["request_substance"]) or is_withheld(sections.get("closing", {})):
        return None
    cost = declared_view(sections, "request_substance").get("cost")
    total = cost.get("total_tokens") if isinstance(cost, dict) else None
    return 0 if total is None else total


def movement(window: Json) -> tuple[int, int, int]:
    """Amount of all movements of a window section, their number, and where they begin."""
    tokens, reserved = window["tokens"], window.get("reserved")
    if reserved is None:
        return tokens, 1, window["total_after"] - tokens
    return tokens - reserved, 2 if tokens > reserved else 1, window["total_after"] - (tokens - reserved)


def window_problem(window: Json, envelope: Json) -> str | None:
    """Why the movement is not one of this envelope, or None."""
    charge = digest({"kind": "vfa.charge_id.v1", "envelope_hash": envelope["hash"]})[:32]
    if window["charge_id"] != f"chg-{charge}":
        return "The charge is of another envelope."
    length = window["window_seconds"] * 1000
    admitted = milliseconds(envelope["admission_clock"])
    if milliseconds(window["window_start"]) != admitted // length * length:
        return "The window begins at another time."
    _, count, begin = movement(window)
    first = window.get("ordinal", 3) - count + 1
    # The reservation that a close settles is a movement before it.
    least = 2 if "reserved" in window else 1
    if begin < window.get("reserved", 0) or first < least or (first == 1 and begin != 0):
        return "The window's total does not follow from its movements."
    return None


def budget_problem(record: Json, refused: str | None) -> str | None:
    """Why the budget snapshot is not one of this run, or None. `refused` is the gate of a refused stage_error."""
    sections, outcome = record["sections"], record["run"]["outcome_kind"]
    budget, envelope = sections["budget_snapshot"], sections["envelope"]
    close, window = "permit" in sections, budget.get("window")
    if (budget["envelope_id"], budget["tenant_id"]) != (envelope["envelope_id"], envelope["tenant_id"]):
        return "The budget is of another run."
    if outcome == "stage_error":
        outcome = {"CCV": "ccv_halt", "MACC": "macc_halt", "AIVP_T4": "aivp_t4_halt"}.get(refused or "", outcome)
    reservation = "purpose" in budget
    tokens = declared_tokens(sections)
    if reservation:
        bare = "ai_output_hash" not in sections["payload"] and "cost" not in declared_of(sections, "request_substance")
        if close or outcome not in ("ccv_halt", "macc_halt") or not bare:
            return "A refused reservation is a halt, without output and cost."
    elif tokens is not None and not same(tokens, budget["declared_tokens"]):
        return "The budget counts other tokens than were declared."
    if window is not None:
        problem = window_problem(window, envelope)
        if problem is not None:
            return problem
        if window["tokens"] != budget["declared_tokens"] or ("reserved" in window) != close:
            return "The movement is of other tokens, or of another kind."
        if ("ordinal" in window) == reservation:
            return "A refused reservation moves nothing, and every other movement has its number."
    over = budget["declared_tokens"] > budget["run_limit"]
    return _limits_problem(record, budget, outcome, over, close)


def _limits_problem(record: Json, budget: Json, outcome: str, over: bool, close: bool) -> str | None:
    window = budget.get("window")
    if close:
        if window is None:
            return "A close settles its reservation."
        full = window["tokens"] > window["reserved"] and window["total_after"] >= window["cap"]
    else:
        if (window is None) != over:
            return "A charge is there exactly when the run's own budget let it pass."
        full = window is not None and window["total_after"] >= window["cap"]
    if close and outcome == "pepg_deny":
        return None
    if close and outcome == "stage_error" and record["run"].get("error_stage") in ("DOG", "DTL", "PEPG", "DKEC"):
        return None
    if close and outcome == "stage_error" and "epa" not in record.get("derived", {}):
        return None
    if over != (outcome == "ccv_halt"):
        return "The run's own budget halts exactly what exceeds it."
    if not over and full != (outcome == "macc_halt"):
        return "The window's cap halts exactly what reaches it."
    return None


def review_problem(record: Json, refused: str | None) -> str | None:
    """Why the governance review is not one of this run, or None."""
    sections = record["sections"]
    review, payload = sections["governance_review"], sections["payload"]
    if (
        review["envelope_id"] != sections["envelope"]["envelope_id"]
        or review["review_clock"] != record["run"]["created_at"]
    ):
        return "The review is of another run."
    if review.get("ai_output_hash") != payload.get("ai_output_hash"):
        return "The review is of another AI output."
    halted = record["run"]["outcome_kind"] == "aivp_t4_halt" or refused == "AIVP_T4"
    if halted != (review["decision_kind"] != "release"):
        return "The outcome is not the review's."
    if ("model" in review) != (review["adapter_id"] in ("openai-compatible", "anthropic")):
        return "A model is named exactly where one is asked."
    return _answer_problem(review, payload)


def _answer_problem(review: Json, payload: Json) -> str | None:
    adapter, kind, reason = review["adapter_id"], review["decision_kind"], review["decision_reason"]
    rules, count = review["rule_ids"], review["finding_count"]
    nothing = (kind, len(rules), count) == ("release", 0, 0)
    if "ai_output_hash" not in payload:
        return None if nothing and reason == "NO_AI_OUTPUT" else "Nothing was there to review."
    if adapter == "none":
        return None if nothing and reason == "REVIEW_DISABLED" else "A review that is off finds nothing."
    if adapter != "builtin-rules":
        return model_answer_problem(kind, reason, rules, count)
    if nothing and reason == "NO_FINDINGS":
        return None
    if not rules or not is_sorted(rules) or payload["ai_output_bytes"] == 0:
        return "The review names other rules than can have found something."
    gravest = next(found for name, found in shapes.REVIEW_RULES.items() if name in rules)
    least = sum(shapes.REVIEW_RULES[name][2] for name in rules)
    if (kind, reason) != gravest[:2] or not least <= count <= MAX_FINDINGS * len(rules):
        return "The review's answer is not that of its rules."
    return None


def model_answer_problem(kind: str, reason: str, rules: list[str], count: int) -> str | None:
    """Why this is no answer of a model, or None."""
    if rules:
        return "A model names no rules."
    if kind == "release":
        return None if reason == "ACCEPTABLE" and count == 0 else "A release is of what is acceptable."
    if count != 1 or reason not in shapes.MODEL_REASONS or (reason == "UNCERTAIN" and kind != "defer"):
        return "The model's answer is none that it can give."
    return None


def standing(section: Json) -> bool:
    """Whether an object has its own hash."""
    return bool(section["hash"] == digest(without(section, "hash")))
