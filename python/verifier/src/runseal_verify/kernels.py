"""The six kernels of vfa.derivation.v2: docs/formats.md, chapter 5."""

from __future__ import annotations

from typing import Any

from . import shapes
from .forms import instant, milliseconds, present
from .json_text import digest, sha256, utf16

KERNEL_VERSION = "kernels-1.1.0"
MAX_POINTER_UNITS = 256
FINDING_ORDER = (
    *("PAYLOAD_EMPTY", "TIMESTAMP_UNPARSABLE", "TIMESTAMP_OUT_OF_ORDER", "TIMESTAMP_AFTER_ADMISSION"),
    *("APPROVERS_OUT_OF_SEQUENCE", "APPROVER_REPEATED", "APPROVER_UNNAMED", "APPROVER_IS_ACTOR"),
    *("ACTOR_SIGNATURE_NOT_VERIFIED", "PROMPT_HASH_MISMATCH", "AI_OUTPUT_HASH_MISMATCH", "AI_OUTPUT_HASH_UNCHECKED"),
    *("COST_WITHOUT_TOTAL", "COST_PARTS_EXCEED_TOTAL", "COST_DOES_NOT_ADD_UP"),
)
FINDINGS_OF = {
    "DSE": FINDING_ORDER[:1],
    "TOK": FINDING_ORDER[1:8],
    "DSC": (),
    "NREP": FINDING_ORDER[8:9],
    "AIVP": FINDING_ORDER[9:12],
    "DCAE": FINDING_ORDER[12:],
}
READS = {
    "DSE": (),
    "TOK": shapes.DECLARED,
    "DSC": ("causal_graph",),
    "NREP": ("request_substance", "attested_context"),
    "AIVP": ("attested_context", "request_substance"),
    "DCAE": ("request_substance",),
}
_READS_CLOSING = ("TOK", "DSC", "AIVP", "DCAE")

Json = dict[str, Any]


def is_withheld(section: Json) -> bool:
    """Whether only the section's hash is shown."""
    return "withheld" in section


def declared_of(sections: Json, name: str) -> Json:
    """What was declared in a section; of a withheld one nothing is known."""
    declared: Json = sections[name].get("declared", {})
    return declared


def declared_view(sections: Json, name: str) -> Json:
    """A declared section with what the closing adds under its name."""
    closing: Json = sections.get("closing", {}).get("declared", {}).get(name, {})
    return {**declared_of(sections, name), **closing}


def cannot_run(kernel: str, sections: Json) -> bool:
    """Whether the kernel reads a section that is withheld."""
    read = [*READS[kernel], *(["closing"] if kernel in _READS_CLOSING and "closing" in sections else [])]
    return any(is_withheld(sections[name]) for name in read)


def _child(pointer: str, key: str) -> str:
    if len(utf16(pointer)) > 2 * MAX_POINTER_UNITS:
        pointer = f"#{sha256(pointer.encode())}"
    return f"{pointer}/{key.replace('~', '~0').replace('/', '~1')}"


def _shown(pointer: str) -> str:
    return f"#{sha256(pointer.encode())}" if len(utf16(pointer)) > 2 * MAX_POINTER_UNITS else pointer


def times_of(value: Any, pointer: str, key: str = "") -> list[tuple[str, str]]:
    """Every declared string below a key that ends in _at, with its pointer."""
    if isinstance(value, str):
        return [(value, _shown(pointer))] if key.endswith("_at") else []
    if isinstance(value, dict):
        return [each for name, member in value.items() for each in times_of(member, _child(pointer, name), name)]
    if isinstance(value, list):
        return [each for at, item in enumerate(value) for each in times_of(item, _child(pointer, str(at)), key)]
    return []


def _steps_back(values: list[Any], name: str) -> int:
    back, before = 0, None
    for value in values:
        at = instant(value[name]) if isinstance(value, dict) and isinstance(value.get(name), str) else None
        if at is None:
            continue
        back += before is not None and at < before
        before = at
    return back


def effect_steps(sections: Json) -> int:
    """Effects that were issued before the one that is declared before them."""
    effects = declared_view(sections, "causal_graph").get("effect_log")
    return _steps_back(effects, "issued_at") if isinstance(effects, list) else 0


def approver_steps(sections: Json) -> int:
    """Approvals earlier than the one before them in the declared order."""
    approvers = declared_view(sections, "authorization_chain").get("approvers")
    if not isinstance(approvers, list):
        return 0

    def order(value: Any) -> float:
        number = value.get("order") if isinstance(value, dict) else None
        return number if isinstance(number, (int, float)) and not isinstance(number, bool) else 0

    return _steps_back(sorted(approvers, key=order), "approved_at")


def named_approvers(sections: Json) -> tuple[dict[str, int], int]:
    """How many entries name each declared approver, and how many name nobody."""
    entries = declared_of(sections, "authorization_chain").get("approvers")
    named: dict[str, int] = {}
    unnamed = 0
    for entry in entries if isinstance(entries, list) else []:
        name = text_at(entry, "actor_id")
        if name is None or not present(name):
            unnamed += 1
        else:
            named[name] = named.get(name, 0) + 1
    return named, unnamed


def uncounted_approvers(sections: Json, actor: str | None) -> dict[str, int]:
    """How many declared approvers rules do not count, by the reason."""
    named, unnamed = named_approvers(sections)
    others = [entries for name, entries in named.items() if name != actor]
    return {
        "APPROVER_REPEATED": sum(others) - len(others),
        "APPROVER_UNNAMED": unnamed,
        "APPROVER_IS_ACTOR": sum(named.values()) - sum(others),
    }


def actor_of(sections: Json) -> str | None:
    """Who acts, by the shown context."""
    return text_at(declared_of(sections, "attested_context"), "actor_id")


def _counted(**counts: int) -> list[Json]:
    return [{"code": code, "count": counts[code]} for code in FINDING_ORDER if counts.get(code)]


def late_limits(sections: Json) -> tuple[int, int]:
    """After which instants declared times are late: those of the request, those of the close."""
    admission = milliseconds(sections["envelope"]["admission_clock"])
    return admission, milliseconds(sections["permit"]["closed_clock"]) if "permit" in sections else admission


def _dse(sections: Json) -> tuple[Json, list[Json]]:
    envelope, payload = sections["envelope"], sections["payload"]
    state = {
        "kind": "vfa.dse_state.v1",
        "program_id": envelope["program_id"],
        "registry_record_hash": envelope["registry_record_hash"],
        "envelope_hash": envelope["hash"],
        "payload_hash": payload["payload_hash"],
        "payload_bytes": payload["payload_bytes"],
    }
    return {"state_commitment": digest(state)}, _counted(PAYLOAD_EMPTY=int(payload["payload_bytes"] == 0))


def _tok(sections: Json) -> tuple[Json, list[Json]]:
    closing = ["closing"] if "closing" in sections else []
    found = [
        (instant(at), pointer, at, name == "closing")
        for name in (*shapes.DECLARED, *closing)
        for at, pointer in times_of(declared_of(sections, name), f"/{name}")
    ]
    found.sort(key=lambda each: (each[0] is None, each[0] or 0, utf16(each[1])))
    admission, close = late_limits(sections)
    ordering = {
        "kind": "vfa.tok_ordering.v1",
        "salts": [sections[name]["salt"] for name in (*shapes.DECLARED, *closing)],
        "events": [{"at": at, "pointer": pointer} for _, pointer, at, _ in found],
    }
    findings = _counted(
        TIMESTAMP_UNPARSABLE=sum(at is None for at, *_ in found),
        TIMESTAMP_OUT_OF_ORDER=effect_steps(sections),
        TIMESTAMP_AFTER_ADMISSION=sum(
            at is not None and at > (close if of_close else admission) for at, _, _, of_close in found
        ),
        APPROVERS_OUT_OF_SEQUENCE=approver_steps(sections),
        **uncounted_approvers(sections, actor_of(sections)),
    )
    return {"timestamp_count": len(found), "ordering_hash": digest(ordering)}, findings


def _dsc(sections: Json) -> tuple[Json, list[Json]]:
    graph = declared_view(sections, "causal_graph")
    state = {
        "kind": "vfa.dsc_state.v1",
        "salt": sections["causal_graph"]["salt"],
        "declared_sections_hash": sections["envelope"]["declared_sections_hash"],
        "lineage": {name: graph[name] for name in ("parent_run_id", "parent_runs", "related_runs") if name in graph},
    }
    if "closing" in sections:
        state["closing_salt"] = sections["closing"]["salt"]
    return {"final_state_hash": digest(state)}, []


def caller_commitment(sections: Json, signature: str | None) -> str:
    """What NREP commits to."""
    substance = sections["request_substance"]
    caller = {"kind": "vfa.nrep_caller.v1", "salt": substance["salt"], "origin": substance["origin"]}
    return digest(caller if signature is None else {**caller, "actor_signature_hash": sha256(signature.encode())})


def _nrep(sections: Json) -> tuple[Json, list[Json]]:
    declared = declared_of(sections, "attested_context").get("actor_signature")
    signature = declared if isinstance(declared, str) else None
    output = {
        "caller_commitment": caller_commitment(sections, signature),
        "actor_signature": "absent" if signature is None else "declared_not_verified",
    }
    return output, _counted(ACTOR_SIGNATURE_NOT_VERIFIED=int(signature is not None))


def model_commitment(sections: Json) -> str:
    """What AIVP commits to."""
    context = sections["attested_context"]
    declared = context.get("declared", {})
    names = ("model_provider", "model_name", "model_version", "model_temperature", "prompt_hash")
    model = {
        "kind": "vfa.aivp_model.v1",
        "salt": context["salt"],
        "model": {name: declared[name] for name in names if name in declared},
    }
    output = sections["payload"].get("ai_output_hash")
    return digest(model if output is None else {**model, "ai_output_hash": output})


def text_at(value: Json, *names: str) -> str | None:
    """The text at a place of nested objects, if there is one."""
    found: Any = value
    for name in names:
        found = found.get(name) if isinstance(found, dict) else None
    return found if isinstance(found, str) else None


def output_findings(sections: Json) -> Json:
    """AIVP's findings on the AI output, from the shown substance."""
    declared = text_at(declared_view(sections, "request_substance"), "output", "hash")
    output = sections["payload"].get("ai_output_hash")
    return {
        "AI_OUTPUT_HASH_MISMATCH": int(declared is not None and output is not None and declared != output),
        "AI_OUTPUT_HASH_UNCHECKED": int(declared is not None and output is None),
    }


def _aivp(sections: Json) -> tuple[Json, list[Json]]:
    attested = text_at(declared_of(sections, "attested_context"), "prompt_hash")
    prompt = text_at(declared_view(sections, "request_substance"), "prompt", "hash")
    mismatch = attested is not None and prompt is not None and attested != prompt
    findings = _counted(PROMPT_HASH_MISMATCH=int(mismatch), **output_findings(sections))
    return {"model_commitment": model_commitment(sections)}, findings


def closure(execution_ids: list[str]) -> str:
    """What DCAE commits to: the five executions before it."""
    return digest({"kind": "vfa.dcae_closure.v2", "execution_ids": execution_ids})


def _whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _dcae(sections: Json, before: list[str]) -> tuple[Json, list[Json]]:
    cost = declared_view(sections, "request_substance").get("cost")
    counts: dict[str, int] = {}
    if isinstance(cost, dict):
        total = cost.get("total_tokens")
        parts = [cost[name] for name in ("input_tokens", "output_tokens") if _whole(cost.get(name))]
        if "total_tokens" not in cost:
            counts["COST_WITHOUT_TOTAL"] = 1
        elif _whole(total) and sum(parts) > total:
            counts["COST_PARTS_EXCEED_TOTAL"] = 1
        elif _whole(total) and len(parts) == 2 and sum(parts) < total:
            counts["COST_DOES_NOT_ADD_UP"] = 1
    return {"closure": closure(before)}, _counted(**counts)


def _inputs(kernel: str, sections: Json) -> Json:
    envelope, payload = sections["envelope"], sections["payload"]["hash"]
    inputs: Json = {name: sections[name]["hash"] for name in READS[kernel]}
    if kernel == "DSE":
        inputs = {"envelope": envelope["hash"], "payload": payload}
    elif kernel == "TOK":
        inputs = {"envelope": envelope["hash"], "declared_sections": envelope["declared_sections_hash"]}
    elif kernel == "DSC":
        inputs["declared_sections"] = envelope["declared_sections_hash"]
    elif kernel == "AIVP":
        inputs["payload"] = payload
    if "permit" in sections:
        inputs = {**inputs, "permit": sections["permit"]["hash"], "closing": sections["closing"]["hash"]}
    return inputs


def run_kernels(sections: Json, stated: Json) -> list[Json]:
    """The six records; of a kernel that reads a withheld section with the result that the record states."""
    records: list[Json] = []
    for kernel in shapes.KERNELS:
        if cannot_run(kernel, sections):
            output, findings = stated[kernel]["output"], stated[kernel]["findings"]
        elif kernel == "DCAE":
            output, findings = _dcae(sections, [each["execution_id"] for each in records])
        else:
            output, findings = {"DSE": _dse, "TOK": _tok, "DSC": _dsc, "NREP": _nrep, "AIVP": _aivp}[kernel](sections)
        record = {"kernel": kernel, "kernel_version": KERNEL_VERSION, "output": output, "findings": findings}
        preimage = {**record, "kind": "vfa.kernel.v2", "inputs": _inputs(kernel, sections)}
        records.append({**record, "execution_id": digest(preimage)})
    return records
