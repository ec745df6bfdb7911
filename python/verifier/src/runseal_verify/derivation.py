"""Sections that follow from what is sealed, under vfa.derivation.v2: docs/formats.md, chapters 4, 5.1 and 6."""

from __future__ import annotations

import base64
import hashlib
from typing import Any

from . import shapes
from .json_text import digest, utf16
from .kernels import KERNEL_VERSION, is_withheld, run_kernels

Json = dict[str, Any]
ZEROS = "0" * 64

_STAGES = ("DOG", "DTL", "DKEC", "AER", "ZKSP", "PHASE4")
_PATH = (
    *("DOG", "DTL", "PEPG_ADMISSION", "PEPG", "DKEC", "CCV", "MACC", "AIVP_T4"),
    *("AER", "ZKSP", "PHASE4"),
)
_STOPPED = {
    "attestation_gap": ("PEPG_ADMISSION", "gap"),
    "pepg_deny": ("PEPG", "deny"),
    "ccv_halt": ("CCV", "halted"),
    "macc_halt": ("MACC", "halted"),
    "aivp_t4_halt": ("AIVP_T4", "halted"),
}
_PRODUCTS = {
    "DOG": ("payload", *shapes.DECLARED, "end_user", "system_provenance", "envelope", "permit", "closing"),
    "DTL": ("transport",),
    "PEPG": ("act", "approvals", "policy_evaluation", "mcd_finding", "allow_token"),
    "DKEC": ("epa", "leakage_bundle", "efa"),
    "MACC": ("budget_snapshot",),
    "AIVP_T4": ("governance_review",),
    "AER": ("aer",),
    "ZKSP": ("hardware_attestation", "zksp_binding"),
    "PHASE4": ("migration_token", "replay_fingerprint"),
}


def sealed(section: Json) -> Json:
    """The object with its own hash."""
    return {**section, "hash": digest(section)}


def scalars(value: Any) -> int:
    """Texts, numbers, booleans and nulls below a declared value."""
    if isinstance(value, dict):
        return sum(map(scalars, value.values()))
    if isinstance(value, list):
        return sum(map(scalars, value))
    return 1


class Derivation:
    """Builds the derived sections of one record, each when it is asked for.

    `members` are the sealed sections, and `token` the allow token that the record has or that its evaluation gives.
    A section that cannot be built raises KeyError: something that it follows from is not in the record.
    """

    def __init__(self, record: Json, token: Json | None, first_leaf: str | None, receipt: Json | None) -> None:
        self.run: Json = record["run"]
        self.sections: Json = record["sections"]
        self.stated: Json = record.get("withheld_results", {"kernels": {}, "declared_values": {}})
        self.token = token
        self.first_leaf = first_leaf
        self.receipt = receipt
        self.entry: Json | None = record["anchors"].get("pre_anchor", {}).get("entry")
        self.built: dict[str, Json] = {}

    def hash_of(self, name: str) -> str:
        """Hash of a section, sealed or derived."""
        section = self.sections[name] if name in self.sections else self.build(name)
        value: str = section["hash"]
        return value

    def build(self, name: str) -> Json:
        """A derived section."""
        if name not in shapes.DERIVED:
            raise KeyError(name)
        if name not in self.built:
            made: Json = {
                "kind": f"vfa.{name}.v{2 if name in ('leakage_bundle', 'efa', 'transcript', 'final_vfa') else 1}"
            }
            if name not in ("epa", "aer", "zksp_binding", "pote_proof"):
                made["envelope_id"] = self.sections["envelope"]["envelope_id"]
            self.built[name] = sealed({**made, **getattr(self, f"_{name}")()})
        return self.built[name]

    def execution_ids(self) -> list[str]:
        """The six ExecutionIDs in order."""
        return [each["execution_id"] for each in self.build("efa")["kernels"]]

    def output(self, kernel: str) -> Json:
        """What a kernel computed."""
        found: Json = self.build("efa")["kernels"][shapes.KERNELS.index(kernel)]["output"]
        return found

    def token_hash(self) -> str:
        """Hash of the allow token."""
        if self.token is None:
            raise KeyError("allow_token")
        value: str = self.token["hash"]
        return value

    def _hashes(self, *names: str) -> Json:
        return {f"{name}_hash": self.hash_of(name) for name in names}

    def _transport(self) -> Json:
        envelope = self.hash_of("envelope")
        sequence = digest({"kind": "vfa.sequence_id.v1", "envelope_hash": envelope})
        return {"sequence_id": f"seq-{sequence[:16]}", "envelope_hash": envelope, "channel": "http"}

    def _epa(self) -> Json:
        return {
            **self._hashes("envelope", "transport"),
            "policy_hash": self.sections["policy_evaluation"]["policy_hash"],
            "evaluation_hash": self.hash_of("policy_evaluation"),
            "allow_token_hash": self.token_hash(),
        }

    def _leakage_bundle(self) -> Json:
        names = [*shapes.DECLARED, *(["closing"] if "closing" in self.sections else [])]
        return {
            "payload": "hash_and_act" if "act" in self.sections else "hash_only",
            "ai_output": "hash_only" if "ai_output_hash" in self.sections["payload"] else "absent",
            "declared_values": {
                name: self.stated["declared_values"][name]
                if is_withheld(self.sections[name])
                else scalars(self.sections[name].get("declared", {}))
                for name in names
            },
        }

    def _efa(self) -> Json:
        return {
            **self._hashes("epa", "leakage_bundle"),
            "kernels": run_kernels(self.sections, self.stated["kernels"]),
        }

    def _aer(self) -> Json:
        return {
            **self._hashes("envelope", "transport", "epa", "efa", "leakage_bundle"),
            **self._hashes("budget_snapshot", "governance_review"),
            "allow_token_hash": self.token_hash(),
            "execution_ids": self.execution_ids(),
        }

    def _hardware_attestation(self) -> Json:
        return {
            "mode": "software",
            "disclosure": "No hardware quote was taken: this record was made by software alone.",
        }

    def _zksp_binding(self) -> Json:
        return {
            "mode": "hash_commitment",
            "disclosure": "A hash commitment: no zero-knowledge proof was made.",
            **self._hashes("aer", "hardware_attestation"),
            "payload_hash": self.sections["payload"]["payload_hash"],
        }

    def _migration_token(self) -> Json:
        envelope = self.sections["envelope"]
        return {
            "tenant_id": envelope["tenant_id"],
            "execution_region": envelope["execution_region"],
            **self._hashes("aer", "zksp_binding"),
        }

    def _replay_fingerprint(self) -> Json:
        envelope, payload = self.sections["envelope"], self.sections["payload"]
        fingerprint: Json = {
            "kind": "vfa.input_fingerprint.v1",
            **{name: envelope[name] for name in ("program_id", "route_id", "registry_record_hash")},
            "payload_hash": payload["payload_hash"],
            "policy_hash": self.sections["policy_evaluation"]["policy_hash"],
            "kernel_version": KERNEL_VERSION,
        }
        if "ai_output_hash" in payload:
            fingerprint["ai_output_hash"] = payload["ai_output_hash"]
        closing = self._hashes("closing") if "closing" in self.sections else {}
        return {"input_fingerprint": digest(fingerprint), **self._hashes("aer"), **closing}

    def _products(self, step: str, stops: bool) -> list[str]:
        names = list(_PRODUCTS.get(step, ()))
        if stops and (step == "CCV" or (step == "PEPG" and "permit" in self.sections)):
            names.append("budget_snapshot")
        has = {*self.sections, *shapes.DERIVED}
        return [name for name in names if name in has or (name == "allow_token" and self.token is not None)]

    def _transcript(self) -> Json:
        gate, word = _STOPPED.get(self.run["outcome_kind"], ("", ""))
        events: list[Json] = []
        previous = ZEROS
        for step in _PATH:
            result = "done" if step in _STAGES else word if step == gate else "pass"
            products = {
                name: self.token_hash() if name == "allow_token" else self.hash_of(name)
                for name in self._products(step, step == gate)
            }
            if step == gate:
                if self.receipt is None:
                    raise KeyError("receipt")
                products[f"{_receipt_key(self.run['outcome_kind'])}"] = self.receipt["hash"]
            event = {"kind": "vfa.transcript_event.v2", "previous": previous, "step": step, "result": result}
            previous = digest({**event, "products": products})
            events.append({"step": step, "result": result, "hash": previous})
            if step == gate:
                break
        return {"events": events}

    def _pote_proof(self) -> Json:
        if self.entry is None or self.first_leaf is None:
            raise KeyError("pre_anchor")
        body = base64.b64decode(self.entry["canonicalizedBody"])
        return {
            "leaf_hash": self.first_leaf,
            "entry_hash": hashlib.sha256(b"\0" + body).hexdigest(),
            "log_id": base64.b64decode(self.entry["logId"]["keyId"]).hex(),
            "log_index": self.entry["logIndex"],
            "integrated_time": self.entry["integratedTime"],
        }

    def _registry(self) -> Json:
        derived = shapes.DERIVED[: shapes.DERIVED.index("registry")]
        names = {*self.sections, *derived, "allow_token"}
        rows = [
            {"name": name, "hash": self.token_hash() if name == "allow_token" else self.hash_of(name)}
            for name in sorted(names, key=utf16)
        ]
        return {"artifacts": rows}

    def _final_vfa(self) -> Json:
        return {
            **self._hashes("registry"),
            "declared_sections_hash": self.sections["envelope"]["declared_sections_hash"],
        }


def _receipt_key(outcome: str) -> str:
    return {"pepg_deny": "deny_receipt", "attestation_gap": "attestation_gap_receipt"}.get(
        outcome, f"{outcome}_receipt"
    )


def receipt_key(outcome: str) -> str | None:
    """The member that holds the receipt of an outcome."""
    return _receipt_key(outcome) if outcome in _STOPPED else None
