"""Results of kernels that read a withheld section, as far as the rest of the record contradicts them."""

from __future__ import annotations

from typing import Any

from . import shapes
from .derivation import Derivation, scalars
from .forms import instant, present
from .kernels import (
    FINDINGS_OF,
    actor_of,
    approver_steps,
    caller_commitment,
    closure,
    declared_of,
    effect_steps,
    is_withheld,
    late_limits,
    model_commitment,
    named_approvers,
    output_findings,
    text_at,
    times_of,
    uncounted_approvers,
)

Json = dict[str, Any]


def withheld_problem(bundle: Json, made: Derivation) -> str | None:
    """Why stated results contradict what is shown, or None."""
    stated = bundle["withheld_results"]["kernels"]
    for kernel, result in stated.items():
        codes = [each["code"] for each in result["findings"]]
        known = [code for code in FINDINGS_OF[kernel] if code in codes]
        if codes != known:
            return f"{kernel} has other findings than it can have."
        counts = {each["code"]: each["count"] for each in result["findings"]}
        problem = _KERNELS[kernel](bundle, result["output"], counts, made) if kernel in _KERNELS else None
        if problem is not None:
            return problem
    return None


def _values(bundle: Json, names: tuple[str, ...]) -> int:
    sections, stated = bundle["sections"], bundle["withheld_results"]["declared_values"]
    return sum(
        stated[name] if is_withheld(sections[name]) else scalars(sections[name].get("declared", {}))
        for name in names
        if name in sections
    )


def _nrep(bundle: Json, output: Json, counts: Json, made: Derivation) -> str | None:
    sections = bundle["sections"]
    declared = output["actor_signature"] == "declared_not_verified"
    if counts != ({"ACTOR_SIGNATURE_NOT_VERIFIED": 1} if declared else {}):
        return "NREP's finding goes with a declared signature."
    context = sections["attested_context"]
    if not is_withheld(context):
        shown = isinstance(declared_of(sections, "attested_context").get("actor_signature"), str)
        if shown != declared:
            return "NREP says of the signature what the shown context does not."
    substance = sections["request_substance"]
    if not declared and not is_withheld(substance):
        if output["caller_commitment"] != caller_commitment(sections, None):
            return "NREP's commitment does not follow from the shown substance."
    return None


def _aivp(bundle: Json, output: Json, counts: Json, made: Derivation) -> str | None:
    sections = bundle["sections"]
    context, substance = sections["attested_context"], sections["request_substance"]
    if any(count != 1 for count in counts.values()):
        return "AIVP's findings are there once."
    if not is_withheld(context) and output["model_commitment"] != model_commitment(sections):
        return "AIVP's commitment does not follow from the shown context."
    shown = not is_withheld(substance) and not is_withheld(sections.get("closing", {}))
    if shown:
        wanted = output_findings(sections)
        if any(counts.get(code, 0) != count for code, count in wanted.items()):
            return "AIVP's findings on the output do not follow from the shown substance."
    has_output = "ai_output_hash" in sections["payload"]
    if ("AI_OUTPUT_HASH_UNCHECKED" if has_output else "AI_OUTPUT_HASH_MISMATCH") in counts:
        return "AIVP's finding on the output is not one of this payload."
    unnamed = (
        not is_withheld(context) and text_at(declared_of(sections, "attested_context"), "prompt_hash") is None
    ) or (not is_withheld(substance) and text_at(declared_of(sections, "request_substance"), "prompt", "hash") is None)
    if unnamed and "PROMPT_HASH_MISMATCH" in counts:
        return "AIVP compares a prompt that a shown section does not name."
    return None


def _tok(bundle: Json, output: Json, counts: Json, made: Derivation) -> str | None:
    sections = bundle["sections"]
    names = tuple(name for name in (*shapes.DECLARED, "closing") if name in sections)
    admission, close = late_limits(sections)
    times, unreadable, late = 0, 0, 0
    for name in names:
        for text, _ in times_of(declared_of(sections, name), f"/{name}"):
            at = instant(text)
            times += 1
            unreadable += at is None
            late += at is not None and at > (close if name == "closing" else admission)
    more = sum(bundle["withheld_results"]["declared_values"].values())
    found = (
        output["timestamp_count"],
        counts.get("TIMESTAMP_UNPARSABLE", 0),
        counts.get("TIMESTAMP_AFTER_ADMISSION", 0),
    )
    for stated, least in zip(found, (times, unreadable, late), strict=True):
        if not least <= stated <= least + more:
            return "TOK's times are not those of the shown sections and of the withheld values."
    if found[1] + found[2] > found[0]:
        return "TOK finds more than there are times."
    closing = is_withheld(sections.get("closing", {}))
    graph = counts.get("TIMESTAMP_OUT_OF_ORDER", 0)
    chain = counts.get("APPROVERS_OUT_OF_SEQUENCE", 0)
    if not closing and not is_withheld(sections["causal_graph"]) and graph != effect_steps(sections):
        return "TOK's steps are not those of the shown graph."
    if not is_withheld(sections["authorization_chain"]) and chain != approver_steps(sections):
        return "TOK's steps are not those of the shown chain."
    # A step back is between two times that can be read, and no time is in both lists.
    if graph + chain > 0 and graph + chain >= found[0] - found[1]:
        return "TOK finds more steps than there are times that can be read."
    return _approvers(bundle, counts)


def _approvers(bundle: Json, counts: dict[str, int]) -> str | None:
    sections = bundle["sections"]
    stated = {code: counts.get(code, 0) for code in ("APPROVER_REPEATED", "APPROVER_UNNAMED", "APPROVER_IS_ACTOR")}
    repeated, of_actor = stated["APPROVER_REPEATED"], stated["APPROVER_IS_ACTOR"]
    hidden = is_withheld(sections["attested_context"])
    if is_withheld(sections["authorization_chain"]):
        if of_actor > 0 and not hidden and not present(actor_of(sections)):
            return "TOK finds an actor that the shown context does not name."
        # Each name is a value, and somebody who is repeated was named before.
        if repeated + of_actor + min(repeated, 1) > _values(bundle, ("authorization_chain",)):
            return "TOK names more approvers than there are values."
        return None
    actor = actor_of(sections)
    if hidden:
        # An approver who is named as often as the record states. Which of them does not change the counts.
        actor = next((name for name, entries in named_approvers(sections)[0].items() if entries == of_actor), None)
    if stated != uncounted_approvers(sections, actor):
        return "TOK's approvers are not those of the shown chain."
    return None


def _dcae(bundle: Json, output: Json, counts: Json, made: Derivation) -> str | None:
    if output["closure"] != closure(made.execution_ids()[:5]):
        return "DCAE's closure is of other executions."
    if len(counts) > 1 or any(count != 1 for count in counts.values()):
        return "DCAE has at most one finding."
    values = _values(bundle, ("request_substance", "closing"))
    needed = {"COST_DOES_NOT_ADD_UP": 3, "COST_PARTS_EXCEED_TOTAL": 2}
    return "DCAE's finding needs more values." if any(values < needed.get(code, 0) for code in counts) else None


_KERNELS = {"NREP": _nrep, "AIVP": _aivp, "TOK": _tok, "DCAE": _dcae}
