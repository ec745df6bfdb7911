"""The act, the end user, and what a policy was given beside them: docs/formats.md, chapters 2.6, 2.7 and 3.1."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Any

from .approvals import approvals_problem
from .json_text import utf16
from .kernels import declared_view, is_withheld
from .passkeys import Place

Json = dict[str, Any]
_DECIMAL = re.compile(r"-?(0|[1-9][0-9]{0,13})\.([0-9]|[0-9]{1,3}[1-9])")
# Controls, format characters and line ends, as a fixed list: versions of Python know different versions of Unicode.
_UNSEEN = re.compile(
    "[\u0000-\u001f\u007f-\u009f\u00ad\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u180e\u200b-\u200f"
    "\u2028-\u202e\u2060-\u2064\u2066-\u206f\ufeff\ufff9-\ufffb\U000110bd\U000110cd\U00013430-\U0001343f"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0001\U000e0020-\U000e007f]"
)
_ASKS_NO_RULE = ("ACT_UNREADABLE", "END_USER_UNREADABLE", "MCD_SIGNATURE_MATCH")
_TERMS = ("audience", "redeem_required", "valid_for_seconds")


def _is_ascii(value: Any) -> bool:
    return isinstance(value, str) and 1 <= len(value) <= 256 and all("!" <= each <= "~" for each in value)


def _is_string(value: Any) -> bool:
    return isinstance(value, str) and len(utf16(value)) <= 2 * 1024 and _UNSEEN.search(value) is None


def _is_decimal(value: Any) -> bool:
    if not isinstance(value, str) or _DECIMAL.fullmatch(value) is None:
        return False
    return not value.startswith("-") or any(each in "123456789" for each in value)


def _fits(kind: str, value: Any) -> bool:
    """Whether a value is one that its type can have."""
    if kind == "boolean":
        return isinstance(value, bool)
    if kind == "integer":
        return isinstance(value, (int, float)) and not isinstance(value, bool)
    if kind == "strings":
        rising = isinstance(value, list) and all(utf16(one) < utf16(other) for one, other in pairwise(value))
        return rising and 1 <= len(value) <= 64 and all(_is_string(each) for each in value)
    if kind in ("decimal", "sum", "max"):
        return _is_decimal(value)
    return _is_ascii(value) if kind == "ascii" else _is_string(value)


def _rises(names: list[str]) -> bool:
    return all(one < other for one, other in pairwise(names))


def act_problem(section: Json | None) -> str | None:
    """Why an act is none that a service reads, or None."""
    if section is None or is_withheld(section):
        return None
    names = [each["name"] for each in section["values"]]
    failed = [each["name"] for each in section["unreadable"] if "name" in each]
    if not _rises(names) or not _rises(failed) or set(names) & set(failed):
        return "The names of the act are not in order, each once."
    if not all(_fits(each["type"], each["value"]) for each in section["values"]):
        return "A value of the act is not of its type."
    return None


def end_user_problem(section: Json | None, reason: str) -> str | None:
    """Why an end user is none that a service seals, or not one that this reason goes with, or None."""
    if section is None:
        return "An end user was unreadable, and there is none." if reason == "END_USER_UNREADABLE" else None
    if is_withheld(section):
        return None
    groups = section.get("groups", [])
    if section["issued_at"] > section["expires_at"]:
        return "The end user's token ended before it was issued."
    if not all(utf16(one) < utf16(other) for one, other in pairwise(groups)):
        return "The groups of the end user are not in order, each once."
    if "groups" in section and "groups_unreadable" in section:
        return "The groups of the end user are read and unreadable."
    # A signature, and an act that cannot be read, deny before it.
    if reason not in ("MCD_SIGNATURE_MATCH", "ACT_UNREADABLE"):
        if ("groups_unreadable" in section) != (reason == "END_USER_UNREADABLE"):
            return "The end user is unreadable and was decided on, or readable and was not."
    return None


def grounds_problem(sections: Json, place: Place) -> str | None:
    """Why the policy was given something else than the rest of the document has, or None."""
    evaluation, act, budget = sections["policy_evaluation"], sections.get("act"), sections.get("budget_snapshot")
    facts, reason, person = evaluation["facts"], evaluation["decision_reason_code"], sections.get("end_user")
    problem = act_problem(act) or end_user_problem(person, reason)
    if problem is not None:
        return problem
    if evaluation.get("act_hash") != (act["hash"] if act is not None else None):
        return "The evaluation names another act."
    if evaluation.get("end_user_hash") != (person["hash"] if person is not None else None):
        return "The evaluation names another end user."
    if reason == "ACT_UNREADABLE" and act is None:
        return "An act was unreadable, and there is none."
    if act is not None and not is_withheld(act) and reason != "MCD_SIGNATURE_MATCH":
        if (len(act["unreadable"]) > 0) != (reason == "ACT_UNREADABLE"):
            return "The act is unreadable and was decided on, or readable and was not."
    problem = approvals_problem(sections, place)
    if problem is not None:
        return problem
    if "context_hash" in evaluation and reason in _ASKS_NO_RULE:
        return "Rules were asked where the decision needs none."
    return _facts_problem(sections, facts, budget)


def _facts_problem(sections: Json, facts: Json, budget: Json | None) -> str | None:
    given = sum(name in facts for name in _TERMS)
    if given not in (0, len(_TERMS)) or ("permit" in sections and given == 0):
        return "The policy was given a part of the terms of a permit, or none at its close."
    # An opening is decided on what it reserves, also where it is refused.
    opens = given > 0 and "permit" not in sections
    hidden = is_withheld(sections["request_substance"]) or is_withheld(sections.get("closing", {}))
    substance = declared_view(sections, "request_substance")
    if not opens and not hidden and facts["tokens"] != _total(substance):
        return "The policy was given other tokens than the run declares."
    if budget is not None and budget["declared_tokens"] != facts["tokens"]:
        return "The policy was given other tokens than the budgets counted."
    return None


def _total(substance: Json) -> int | float:
    cost = substance.get("cost")
    total = cost.get("total_tokens") if isinstance(cost, dict) else None
    return total if isinstance(total, (int, float)) and not isinstance(total, bool) else 0
