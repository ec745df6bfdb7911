"""Manifests and leaves, built from what is sealed: docs/formats.md, chapters 6 and 7."""

from __future__ import annotations

from typing import Any

from .derivation import Derivation
from .forms import clock_of, seconds
from .json_text import digest

Json = dict[str, Any]
WINDOW_SECONDS = 600
_MARKERS = {
    "pepg_deny": ("PepgOutcome", "deny"),
    "ccv_halt": ("CcvOutcome", "halted"),
    "macc_halt": ("MaccOutcome", "halted"),
    "aivp_t4_halt": ("AivpT4Outcome", "halted"),
}


def _identity(made: Derivation) -> Json:
    envelope, transport = made.sections["envelope"], made.build("transport")
    members = {
        "EnvelopeID": envelope["envelope_id"],
        "EnvelopeHash": envelope["hash"],
        "SequenceID": transport["sequence_id"],
        "TransportHash": transport["hash"],
        "PayloadHash": made.sections["payload"]["payload_hash"],
        "PolicyHash": made.sections["policy_evaluation"]["policy_hash"],
        "ExecutionRegion": envelope["execution_region"],
        "FormulaVersion": "manifest.v1",
    }
    if "permit" in made.sections:
        members.update(PermitHash=made.hash_of("permit"), ClosingHash=made.hash_of("closing"))
    return members


def _sealed(members: Json) -> Json:
    return {**members, "ManifestHash": digest(members)}


def manifest(made: Derivation) -> Json:
    """The manifest of a completed run."""
    payload, review = made.sections["payload"], made.sections["governance_review"]
    proof = made.build("pote_proof")
    named = {
        "EpaHash": "epa",
        "EfaHash": "efa",
        "AerHash": "aer",
        "TranscriptHash": "transcript",
        "HardwareAttestationHash": "hardware_attestation",
        "LeakageBundleHash": "leakage_bundle",
        "ZkspBindingHash": "zksp_binding",
        "MigrationTokenHash": "migration_token",
        "PoteProofHash": "pote_proof",
        "FinalVfaHash": "final_vfa",
    }
    members = {
        **_identity(made),
        **{member: made.hash_of(name) for member, name in named.items()},
        "ExecutionIDs": made.execution_ids(),
        "FormalVerifierStatus": "TRACE_VERIFIED",
        "ReplayFingerprint": made.build("replay_fingerprint")["input_fingerprint"],
        "LogEntryID": proof["log_index"],
        "RegistryArtifactCount": len(made.build("registry")["artifacts"]),
        "IndependentVerified": True,
        "DseCommitmentHash": made.output("DSE")["state_commitment"],
        "TokOrderingHash": made.output("TOK")["ordering_hash"],
        "DscFinalStateHash": made.output("DSC")["final_state_hash"],
        "AllowTokenHash": made.token_hash(),
        "AivpOutcome": "release",
        "AivpReviewHash": review["hash"],
        "AivpAdapterID": review["adapter_id"],
        "LedgerBackend": made.sections["system_provenance"]["ledger_backend"],
        "LedgerLogID": proof["log_id"],
        "LedgerLeafHash": proof["leaf_hash"],
    }
    if "ai_output_hash" in payload:
        members["AivpAiOutputHash"] = payload["ai_output_hash"]
    return _sealed(members)


def partial_manifest(made: Derivation) -> Json:
    """The partial manifest of a denied or halted run."""
    outcome = made.run["outcome_kind"]
    marker, word = _MARKERS[outcome]
    if made.receipt is None:
        raise KeyError("receipt")
    members = {**_identity(made), marker: word, "ReceiptHash": made.receipt["hash"]}
    if outcome != "pepg_deny":
        members.update(AllowTokenHash=made.token_hash(), ExecutionIDs=made.execution_ids(), EfaHash=made.hash_of("efa"))
    return _sealed(members)


def window_of(clock: str) -> tuple[int, int]:
    """First and last second in which a record may be logged."""
    start = seconds(clock)
    return start, start + WINDOW_SECONDS


def pre_anchor_leaf(version: str, made: Derivation) -> Json:
    """The first leaf of a completed run."""
    envelope = made.sections["envelope"]
    copied = (
        *("payload_hash", "program_id", "route_id", "registry_record_hash"),
        *("admission_clock", "run_nonce", "declared_sections_hash"),
    )
    hashed = (
        *("envelope", "transport", "epa", "efa", "aer", "transcript", "hardware_attestation", "leakage_bundle"),
        *("zksp_binding", "migration_token", "system_provenance"),
    )
    leaf: Json = {
        "leaf_version": version,
        "envelope_id": envelope["envelope_id"],
        "sequence_id": made.build("transport")["sequence_id"],
        **{f"{name}_hash": made.hash_of(name) for name in hashed},
        "replay_fingerprint": made.build("replay_fingerprint")["input_fingerprint"],
        **{
            f"execution_id_{name}": value
            for name, value in zip(("dse", "tok", "dsc", "nrep", "aivp", "dcae"), made.execution_ids(), strict=True)
        },
        "formal_verifier_status": "TRACE_VERIFIED",
        **{name: envelope[name] for name in copied},
        "pepg_outcome": "allow",
        "policy_hash": made.sections["policy_evaluation"]["policy_hash"],
        "allow_token_hash": made.token_hash(),
        "aivp_outcome": "release",
        "aivp_review_hash": made.hash_of("governance_review"),
    }
    if version != "vfa.leaf.v5":
        leaf["complete_record_anchor_required"] = True
    if version == "vfa.leaf.v7":
        start, end = window_of(made.run["created_at"])
        leaf["anchoring_window"] = f"{clock_of(start)[:19]}Z/{clock_of(end)[:19]}Z"
    return leaf


def receipt_leaf(version: str, receipt: Json, run_id: int) -> Json:
    """The first leaf of a refused run."""
    leaf = {"leaf_version": version, "receipt_version": receipt["version"], "receipt_hash": receipt["hash"]}
    return leaf if version == "vfa.receipt_anchor.v1" else {**leaf, "run_id": run_id}


def tenant_commitment(document: Json) -> str:
    """What a leaf shows of its tenant."""
    return digest(
        {
            "kind": "vfa.tenant_commitment.v1",
            "tenant_id": document["tenant_id"],
            "tenant_salt": document["tenant_salt"],
        }
    )


def complete_record_leaf(bundle: Json, receipt: Json | None, section_hashes: Json) -> Json:
    """The leaf of the whole record, in its place of the tenant's chain."""
    run, short = bundle["run"], bundle["anchors"]["complete_record"]["leaf"]
    if "manifest" in bundle:
        what = {"manifest_hash": bundle["manifest"]["ManifestHash"]}
    elif receipt is not None:
        what = {"receipt_hash": receipt["hash"]}
    else:
        named = {"kind": "vfa.run_record.v1", "run": run, "section_hashes": section_hashes}
        what = {"run_record_hash": digest(named)}
    return {
        "leaf_version": "vfa.complete_record.v1",
        "run_id": run["run_id"],
        "bundle_hash": bundle["bundle_hash"],
        **what,
        "tenant_commitment": tenant_commitment(run),
        "tenant_ordinal": short["tenant_ordinal"],
        "previous_record": short["previous_record"],
    }
