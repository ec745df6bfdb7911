"""What persons decided of a request for an approval: docs/formats.md, chapters 2.8 and 3.1."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from .approval_shapes import ENDED, PROOFS
from .forms import is_sorted, milliseconds
from .kernels import is_withheld
from .passkeys import Place, passkeys_problem

Json = dict[str, Any]


def _counts(decision: Json, rule: Json) -> bool:
    proof = rule.get("proof", "any")
    # A stronger proof counts where a weaker one is asked.
    proven = proof == "any" or PROOFS.index(decision["proof"]) >= PROOFS.index(proof)
    return proven and not set(rule["by"]).isdisjoint(decision["groups"])


def satisfied(rules: list[Json], decisions: list[Json]) -> bool:
    """Whether no person rejected, and each rule can be given its number of persons, each of them to one rule."""
    if any(each["decision"] == "reject" for each in decisions):
        return False
    persons = list({each["person"]["subject"]: each for each in decisions}.values())
    if sum(rule["count"] for rule in rules) > len(persons):
        return False
    # The rule that each person is given to, by their positions.
    given: dict[int, int] = {}

    def place(rule: int, asked: set[int]) -> bool:
        for at, person in enumerate(persons):
            if at in asked or not _counts(person, rules[rule]):
                continue
            asked.add(at)
            if at not in given or place(given[at], asked):
                given[at] = rule
                return True
        return False

    return all(place(at, set()) for at, rule in enumerate(rules) for _ in range(rule["count"]))


def _decisions_problem(section: Json, admitted: str) -> str | None:
    decisions, begin, end = section["decisions"], section["requested_at"], section["expires_at"]
    if not begin < end or begin > admitted:
        return "The request for an approval has no time, or is later than the run."
    times = [begin, *(each["decided_at"] for each in decisions)]
    if any(one > other for one, other in pairwise([*times, admitted])) or times[-1] >= end:
        return "A person decided out of order, or after the end of the request or of the run."
    if len({each["person"]["subject"] for each in decisions}) != len(decisions):
        return "One person decided twice."
    if any(each["decision"] == "reject" for each in decisions[:-1]):
        return "A person decided after a rejection."
    for each in decisions:
        if not is_sorted(each["groups"]):
            return "The groups of an approver are not in order, each once."
        signed_in, by_key = "issuer" in each["person"] and "key_name" not in each, "key_name" in each
        if not (by_key if each["proof"] == "key" else signed_in):
            return "An approval is proven otherwise than its person is named."
        if ("passkey" in each) != (each["proof"] == "passkey"):
            return "An approval and its passkey do not go together."
    keys = [each["passkey"]["public_key"] for each in decisions if "passkey" in each]
    if len(set(keys)) != len(keys):
        return "Two persons have one passkey."
    return None


def _holds(rules: list[Json], section: Json, admitted: str, *, has_end_user: bool) -> bool:
    """Whether each rule is satisfied in its own time, and with an end user where it requires one."""
    passed = milliseconds(admitted) - milliseconds(section["requested_at"])
    in_time = all(passed < rule["within_seconds"] * 1000 for rule in rules)
    named = has_end_user or all(rule.get("end_user") == "optional" for rule in rules)
    return in_time and named and satisfied(rules, section["decisions"])


def _outcome_problem(section: Json, evaluation: Json, admitted: str, *, has_end_user: bool) -> str | None:
    outcome, reason, decisions = section["outcome"], evaluation["decision_reason_code"], section["decisions"]
    if (outcome == "rejected") != any(each["decision"] == "reject" for each in decisions):
        return "A rejection and the outcome of the request do not agree."
    over = admitted >= section["expires_at"]
    if (outcome == "approved" and over) or (outcome in ("expired", "unused") and not over):
        return "The request ended before or after its time."
    if reason in (*ENDED.values(), "APPROVAL_REQUIRED") and reason != ENDED.get(outcome, "APPROVAL_REQUIRED"):
        return "The reason is that of another outcome of the request."
    if evaluation["decision"] == "allow" and outcome != "approved":
        return "A request that was not approved is permitted."
    enough = _holds(evaluation.get("needed", []), section, admitted, has_end_user=has_end_user)
    if (reason == "RULE_APPROVED" and not enough) or (reason == "APPROVAL_REQUIRED" and enough):
        return "The approvals are not those that the reason needs."
    return None


def _needed_problem(evaluation: Json) -> str | None:
    reason, rules = evaluation["decision_reason_code"], [each["rule_id"] for each in evaluation.get("needed", [])]
    required = reason in ("APPROVAL_REQUIRED", "RULE_APPROVED") or (bool(rules) and reason in ENDED.values())
    if rules != (evaluation["matched_rule_ids"] if required else []):
        return "The approvals that are needed are not those of the rules that matched."
    return None


def approvals_problem(sections: Json, place: Place) -> str | None:
    """Why the approvals are none that a service seals, or not those that the evaluation names, or None."""
    evaluation, section, person = sections["policy_evaluation"], sections.get("approvals"), sections.get("end_user")
    if evaluation.get("approvals_hash") != (section["hash"] if section is not None else None):
        return "The evaluation names other approvals."
    if ("approval_request_hash" in evaluation) != (section is not None):
        return "The evaluation names a request for an approval exactly where there are approvals."
    problem = _needed_problem(evaluation)
    if problem is not None:
        return problem
    if section is None:
        rests = evaluation["decision_reason_code"] in ("RULE_APPROVED", *ENDED.values())
        return "The decision rests on approvals, and there are none." if rests else None
    if evaluation["facts"].get("redeem_required") is not True:
        return "What persons decided on is no act of one permit."
    if is_withheld(section):
        return None
    if evaluation["approval_request_hash"] != section["request_hash"]:
        return "The evaluation names another request for an approval."
    subject = None if person is None or is_withheld(person) else person["subject"]
    if any(each["person"]["subject"] == subject for each in section["decisions"]):
        return "The end user decided on its own act."
    admitted = sections["envelope"]["admission_clock"]
    problem = _decisions_problem(section, admitted) or passkeys_problem(sections, section, place)
    return problem or _outcome_problem(section, evaluation, admitted, has_end_user=person is not None)
