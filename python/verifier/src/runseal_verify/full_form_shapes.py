"""Members of what only the full form of a record shows, derived sections and whole leaves: docs/formats.md, chapters 4, 5 and 7."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from . import forms as f
from . import shapes
from .forms import COUNT, HASH, Form, array, constant, integer, record, text
from .kernels import FINDINGS_OF, KERNEL_VERSION

PRE_ANCHOR = ("vfa.leaf.v5", "vfa.leaf.v6", "vfa.leaf.v7")
RECEIPT_ANCHOR = ("vfa.receipt_anchor.v1", "vfa.receipt_anchor.v2")
STEPS = (
    *("DOG", "DTL", "DKEC", "AER", "ZKSP", "PHASE4", "LEDGER", "REGISTRY", "DLA"),
    *("PEPG_ADMISSION", "PEPG", "CCV", "MACC", "AIVP_T4"),
)
_OUTPUTS: Mapping[str, Mapping[str, Form]] = {
    "DSE": {"state_commitment": HASH},
    "TOK": {"timestamp_count": COUNT, "ordering_hash": HASH},
    "DSC": {"final_state_hash": HASH},
    "NREP": {"caller_commitment": HASH, "actor_signature": constant("absent", "declared_not_verified")},
    "AIVP": {"model_commitment": HASH},
    "DCAE": {"closure": HASH},
}


def _by_version(name: str, forms: Mapping[str, Form]) -> Form:
    """An object whose other members follow from the word under this name."""

    def form(value: Any, path: str) -> None:
        f.any_object(value, path)
        constant(*forms)(value.get(name), f"{path}/{name}")
        forms[value[name]](value, path)

    return form


def _result(kernel: str) -> dict[str, Form]:
    codes = FINDINGS_OF[kernel]
    finding = record({"code": constant(*codes), "count": integer(1)})
    return {"output": record(_OUTPUTS[kernel]), "findings": array(finding, 0, len(codes))}


RESULTS: Mapping[str, Form] = {kernel: record(_result(kernel)) for kernel in shapes.KERNELS}
_KERNEL_RECORD = _by_version(
    "kernel",
    {
        kernel: record(
            {
                "kernel": constant(kernel),
                "kernel_version": constant(KERNEL_VERSION),
                **_result(kernel),
                "execution_id": HASH,
            }
        )
        for kernel in shapes.KERNELS
    },
)


def _hashes(*names: str) -> dict[str, Form]:
    return dict.fromkeys((f"{name}_hash" for name in names), HASH)


def _section(kind: str, members: Mapping[str, Form], optional: Mapping[str, Form] | None = None) -> Form:
    return record({"kind": constant(kind), **members, "hash": HASH}, optional)


_ID = {"envelope_id": f.ENVELOPE_ID}
_VALUES = record(dict.fromkeys(shapes.DECLARED, COUNT), {"closing": COUNT})
_BEFORE_EFA = ("envelope", "transport", "epa")
DERIVED: Mapping[str, Form] = {
    "transport": _section(
        "vfa.transport.v1",
        {**_ID, "sequence_id": f.SEQUENCE_ID, "envelope_hash": HASH, "channel": constant("http")},
    ),
    "epa": _section("vfa.epa.v1", _hashes("envelope", "transport", "policy", "evaluation", "allow_token")),
    "leakage_bundle": _section(
        "vfa.leakage_bundle.v2",
        {
            **_ID,
            "payload": constant("hash_only", "hash_and_act"),
            "ai_output": constant("hash_only", "absent"),
            "declared_values": _VALUES,
        },
    ),
    "efa": _section(
        "vfa.efa.v2",
        {**_ID, **_hashes("epa", "leakage_bundle"), "kernels": array(_KERNEL_RECORD, 6, 6)},
    ),
    "aer": _section(
        "vfa.aer.v1",
        {
            **_hashes(*_BEFORE_EFA, "efa", "leakage_bundle", "budget_snapshot", "governance_review", "allow_token"),
            "execution_ids": array(HASH, 6, 6),
        },
    ),
    "hardware_attestation": _section(
        "vfa.hardware_attestation.v1", {**_ID, "mode": constant("software"), "disclosure": text(1)}
    ),
    "zksp_binding": _section(
        "vfa.zksp_binding.v1",
        {
            "mode": constant("hash_commitment"),
            "disclosure": text(1),
            **_hashes("aer", "payload", "hardware_attestation"),
        },
    ),
    "migration_token": _section(
        "vfa.migration_token.v1",
        {**_ID, "tenant_id": f.TENANT_ID, "execution_region": f.REGION, **_hashes("aer", "zksp_binding")},
    ),
    "replay_fingerprint": _section(
        "vfa.replay_fingerprint.v1",
        {**_ID, "input_fingerprint": HASH, "aer_hash": HASH},
        {"closing_hash": HASH},
    ),
    "transcript": _section(
        "vfa.transcript.v2",
        {
            **_ID,
            "events": array(
                record(
                    {
                        "step": constant(*STEPS),
                        "result": constant("done", "pass", "gap", "deny", "halted"),
                        "hash": HASH,
                    }
                ),
                0,
                len(STEPS),
            ),
        },
    ),
    "pote_proof": _section(
        "vfa.pote_proof.v1",
        {
            **_hashes("leaf", "entry"),
            "log_id": HASH,
            "log_index": f.decimal,
            "integrated_time": f.decimal,
        },
    ),
    "registry": _section("vfa.registry.v1", {**_ID, "artifacts": array(record({"name": text(1), "hash": HASH}))}),
    "final_vfa": _section("vfa.final_vfa.v2", {**_ID, **_hashes("registry", "declared_sections")}),
}

_V5: dict[str, Form] = {
    "envelope_id": f.ENVELOPE_ID,
    "sequence_id": f.SEQUENCE_ID,
    **_hashes(*_BEFORE_EFA, "efa", "aer", "transcript", "hardware_attestation", "leakage_bundle", "zksp_binding"),
    **_hashes("migration_token", "system_provenance", "payload", "registry_record", "declared_sections"),
    **_hashes("policy", "allow_token", "aivp_review"),
    **{f"execution_id_{kernel.lower()}": HASH for kernel in shapes.KERNELS},
    "replay_fingerprint": HASH,
    "formal_verifier_status": constant("TRACE_VERIFIED"),
    "program_id": HASH,
    "route_id": text(1, 512),
    "admission_clock": f.clock,
    "run_nonce": HASH,
    "pepg_outcome": constant("allow"),
    "aivp_outcome": constant("release"),
}
_V6: dict[str, Form] = {**_V5, "complete_record_anchor_required": constant(True)}
_V7: dict[str, Form] = {**_V6, "anchoring_window": text(1)}
PRE_ANCHOR_LEAF = _by_version(
    "leaf_version",
    {
        version: record({"leaf_version": constant(version), **values})
        for version, values in zip(PRE_ANCHOR, (_V5, _V6, _V7), strict=True)
    },
)
_RECEIPT: dict[str, Form] = {"receipt_version": text(1), "receipt_hash": HASH}
RECEIPT_LEAF = _by_version(
    "leaf_version",
    {
        version: record({"leaf_version": constant(version), **values})
        for version, values in zip(RECEIPT_ANCHOR, (_RECEIPT, {**_RECEIPT, "run_id": integer(1)}), strict=True)
    },
)
PLACE: dict[str, Form] = {"tenant_ordinal": integer(1), "previous_record": HASH}
SHORT_COMPLETE: dict[str, Form] = {"leaf_version": constant("vfa.complete_record.v1"), **PLACE}
COMPLETE_LEAF = record(
    {**SHORT_COMPLETE, "run_id": integer(1), "bundle_hash": HASH, "tenant_commitment": HASH},
    _hashes("manifest", "receipt", "run_record"),
)
