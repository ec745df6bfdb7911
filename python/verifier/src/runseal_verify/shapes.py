"""Members of every part of a document: docs/formats.md, chapters 2, 3 and 6 to 9."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from . import act_shapes, approval_shapes
from . import forms as f
from .forms import COUNT, HASH, Form, any_object, array, constant, integer, record, text

DECLARED = (
    "attested_context",
    "request_substance",
    "authorization_chain",
    "regulatory_scaffolding",
    "causal_graph",
    "reproducibility_context",
)
# The sections that may be withheld, in the order in which an outcome names them.
WITHHOLDABLE = (*DECLARED, "closing", "end_user", "act", "approvals")
DERIVED = (
    "transport",
    "epa",
    "leakage_bundle",
    "efa",
    "aer",
    "hardware_attestation",
    "zksp_binding",
    "migration_token",
    "replay_fingerprint",
    "transcript",
    "pote_proof",
    "registry",
    "final_vfa",
)
RECEIPT_VERSIONS = {
    "deny_receipt": "vfa.deny_receipt.v1",
    "ccv_halt_receipt": "vfa.ccv_halt.v1",
    "macc_halt_receipt": "vfa.macc_halt.v1",
    "aivp_t4_halt_receipt": "vfa.aivp_t4_halt.v1",
    "attestation_gap_receipt": "vfa.attestation_gap_receipt.v1",
}
FAILURE_CODES = ("NOT_EXECUTED", "EXECUTOR_REFUSED", "EXECUTOR_FAILED", "TIMED_OUT")
ATTESTED_FIELDS = (
    *("attested", "actor_id", "actor_role", "authorization_policy", "actor_signature", "model_provider", "model_name"),
    *("model_version", "model_temperature", "prompt_hash", "decision_kind", "decision_result", "decision_note"),
)
KERNELS = ("DSE", "TOK", "DSC", "NREP", "AIVP", "DCAE")

RULE_ID = f.matching(r"(?!(?:default-deny|policy-engine)\Z)[a-z0-9][a-z0-9._-]{0,63}", "rule id")
SIGNATURE_ID = f.matching(r"MCD-(PI|DA|SC|FE)-[0-9]{3}", "signature id")
FIRED_RULE_ID = f.matching(r"[a-z0-9][a-z0-9._-]{0,63}|MCD-(PI|DA|SC|FE)-[0-9]{3}", "id of a rule or of a signature")
MAX_SIGNATURES = 1_024
_PLACES = "|".join((*DECLARED, "closing"))
_MATCHED_IN = f.matching(
    rf"payload|ai_output|/route_id|/(?:{_PLACES})(?:/(?:[A-Za-z0-9_.-]{{1,64}}|#[0-9]{{1,7}})){{1,64}}", "place"
)
_TRUE = constant(True)
# What a model may say of a text that it does not release, and the other answers of a review.
MODEL_REASONS = (
    *("SECRET_EXPOSED", "PERSONAL_DATA", "HARMFUL_CONTENT", "UNAUTHORIZED_ACTION", "INSTRUCTION_INJECTION"),
    *("DECEPTIVE_CONTENT", "UNCERTAIN"),
)
_REVIEW_REASON = constant(
    *("REVIEW_DISABLED", "NO_AI_OUTPUT", "NO_FINDINGS", "PRIVATE_KEY_EXPOSED", "POSSIBLE_SECRET"),
    *("POSSIBLE_PERSONAL_DATA", "ACCEPTABLE", *MODEL_REASONS),
)
_SECRETLINT = (
    *("aws", "gcp", "privatekey", "npm", "basicauth", "slack", "sendgrid", "shopify", "stripe", "github", "gitlab"),
    *("grafana", "openai", "anthropic", "groq", "huggingface", "linear", "notion", "1password"),
    *("database-connection-string", "hashicorp-vault", "vercel", "databricks", "docker", "figma", "cloudflare"),
    "tailscale",
)
# The rules of the built-in review, gravest first, each with decision, reason and the fewest findings.
REVIEW_RULES: Mapping[str, tuple[str, str, int]] = {
    "private-key": ("halt", "PRIVATE_KEY_EXPOSED", 1),
    **{f"secretlint-rule-{name}": ("halt", "SECRET_EXPOSED", 1) for name in _SECRETLINT},
    "api-key": ("halt", "SECRET_EXPOSED", 1),
    "payment-card": ("deny", "PERSONAL_DATA", 1),
    "iban": ("deny", "PERSONAL_DATA", 1),
    "us-ssn": ("deny", "PERSONAL_DATA", 1),
    "passport": ("deny", "PERSONAL_DATA", 1),
    "contact-list": ("deny", "PERSONAL_DATA", 5),
    "token": ("defer", "POSSIBLE_SECRET", 1),
    "credential-assignment": ("defer", "POSSIBLE_SECRET", 1),
    "payment-card-bare": ("defer", "POSSIBLE_PERSONAL_DATA", 1),
    "mailing-list": ("defer", "POSSIBLE_PERSONAL_DATA", 10),
}


def _optional_form(shape: Form, other: Form) -> Form:
    def form(value: Any, path: str) -> None:
        if isinstance(value, dict) and "withheld" in value:
            other(value, path)
        else:
            shape(value, path)

    return form


def _declared(name: str) -> Form:
    kind = constant(f"vfa.{name}.v1")
    members: dict[str, Form] = {"kind": kind, "salt": HASH, "hash": HASH}
    if name == "request_substance":
        members["origin"] = record(
            {
                "source_ip_hash": HASH,
                "user_agent_hash": HASH,
                "authentication": record(
                    {"method": constant("anonymous", "api_key"), "api_key_id": COUNT},
                    {"api_key_name": text(1)},
                ),
            }
        )
    shown = record(members, {"declared": any_object})
    return _optional_form(shown, record({"kind": kind, "withheld": _TRUE, "hash": HASH}))


_SCAN = record(
    {
        "mode": constant("enforce", "observe"),
        "scope": array(constant("payload", "ai_output", "declared"), 1, 3),
        "disabled": array(SIGNATURE_ID, 0, MAX_SIGNATURES),
    }
)
ENTRY = record(
    {
        "canonicalizedBody": f.base64_of(least=1, most=12_288),
        "logIndex": f.decimal,
        "logId": record({"keyId": f.base64_of(32)}),
        "kindVersion": record({"kind": text(0, 64), "version": text(0, 64)}),
        "integratedTime": f.decimal,
        "inclusionPromise": record({"signedEntryTimestamp": f.base64_of(least=1, most=72)}),
        "inclusionProof": record(
            {
                "logIndex": f.decimal,
                "rootHash": f.base64_of(32),
                "treeSize": f.decimal,
                "hashes": array(f.base64_of(32), 0, 63),
                "checkpoint": record({"envelope": text(0, 4_096)}),
            }
        ),
    }
)
REDEMPTION = record({"redeemed_clock": f.clock, "entry": ENTRY})
BUDGET_WINDOW = record(
    {
        "charge_id": f.CHARGE_ID,
        "cap": COUNT,
        "window_seconds": integer(1),
        "window_start": f.clock,
        "tokens": COUNT,
        "total_after": COUNT,
    },
    {"reserved": COUNT, "ordinal": integer(1)},
)
_POLICY_REASON = constant(
    *(
        "RULE_ALLOWED",
        "RULE_DENIED",
        "RULE_APPROVED",
        "APPROVAL_REQUIRED",
        *approval_shapes.ENDED.values(),
        "DEFAULT_DENY",
    ),
    *("ACT_UNREADABLE", "END_USER_UNREADABLE", "POLICY_EVALUATION_ERROR", "MCD_SIGNATURE_MATCH"),
)
SECTIONS: Mapping[str, Form] = {
    "payload": record(
        {"kind": constant("vfa.payload.v1"), "payload_hash": HASH, "payload_bytes": COUNT, "hash": HASH},
        {"ai_output_hash": HASH, "ai_output_bytes": COUNT},
    ),
    **{name: _declared(name) for name in DECLARED},
    "system_provenance": record(
        {
            "kind": constant("vfa.system_provenance.v1"),
            "service": text(1),
            "service_version": text(1),
            "orchestrator_version": text(1),
            "source_revision": f.matching(r"[0-9a-f]{40}|unknown", "revision"),
            "runtime": constant("node"),
            "runtime_version": text(1),
            "platform": text(1),
            "ledger_backend": constant("embedded"),
            "mode": constant("software"),
            "disclosure": text(1),
            "hash": HASH,
        }
    ),
    "envelope": record(
        {
            "kind": constant("vfa.envelope.v2"),
            "envelope_id": f.ENVELOPE_ID,
            "program_id": HASH,
            "route_id": text(1, 512),
            "registry_record_hash": HASH,
            "payload_hash": HASH,
            "tenant_id": f.TENANT_ID,
            "execution_region": f.REGION,
            "admission_clock": f.clock,
            "run_nonce": HASH,
            "declared_sections_hash": HASH,
            "hash": HASH,
        },
        {"enforcement": constant("observe"), "end_user_hash": HASH},
    ),
    "permit": record(
        {
            "kind": constant("vfa.permit_use.v1"),
            "permit_id": f.PERMIT_ID,
            "opening_leaf_digest": HASH,
            "opening_log_index": f.decimal,
            "outcome": constant("completed", "failed"),
            "closed_clock": f.clock,
            "hash": HASH,
        },
        {"code": constant(*FAILURE_CODES), "redemption": REDEMPTION},
    ),
    "closing": _optional_form(
        record(
            {"kind": constant("vfa.closing.v1"), "salt": HASH, "hash": HASH},
            {
                "declared": record(
                    {},
                    {
                        "request_substance": record(
                            {},
                            {name: f.anything for name in ("output", "post_processing", "cost", "latency")},
                        ),
                        "causal_graph": any_object,
                        "reproducibility_context": any_object,
                    },
                )
            },
        ),
        record({"kind": constant("vfa.closing.v1"), "withheld": _TRUE, "hash": HASH}),
    ),
    "end_user": _optional_form(act_shapes.SHOWN_PERSON, act_shapes.WITHHELD_PERSON),
    "act": _optional_form(act_shapes.SHOWN, act_shapes.WITHHELD),
    "approvals": _optional_form(approval_shapes.SHOWN, approval_shapes.WITHHELD),
    "policy_evaluation": record(
        {
            "kind": constant("vfa.policy_evaluation.v3"),
            "envelope_id": f.ENVELOPE_ID,
            "policy_id": text(1, 64, one_line=True),
            "policy_name": text(1, 200, one_line=True),
            "policy_hash": HASH,
            "decision": constant("allow", "deny"),
            "fired_rule_id": FIRED_RULE_ID,
            "decision_reason_code": _POLICY_REASON,
            "matched_rule_ids": array(RULE_ID, 0, 256),
            "signature_library_hash": HASH,
            "signature_scan": _SCAN,
            "engine": text(1),
            "engine_version": text(1),
            "facts": act_shapes.FACTS,
            "evaluation_clock": f.clock,
            "evaluator_version": constant("pepg-2.0.0"),
            "hash": HASH,
        },
        {"profile_tag": text(1, 64, one_line=True), "mcd_finding_hash": HASH, "act_hash": HASH, "end_user_hash": HASH}
        | {"approvals_hash": HASH, "approval_request_hash": HASH}
        | {"context_hash": HASH, "needed": approval_shapes.needed(RULE_ID)},
    ),
    "mcd_finding": record(
        {
            "version": constant("vfa.mcd_finding.v2"),
            "envelope_id": f.ENVELOPE_ID,
            "category": constant("prompt_injection", "dangerous_api", "supply_chain", "filesystem_escape"),
            "severity": constant("low", "medium", "high", "critical"),
            "matched_signature_id": SIGNATURE_ID,
            "library_hash": HASH,
            "matched_in": _MATCHED_IN,
            "text_fingerprint": HASH,
            "finding_clock": f.clock,
            "hash": HASH,
        }
    ),
    "budget_snapshot": record(
        {
            "kind": constant("vfa.budget_snapshot.v1"),
            "envelope_id": f.ENVELOPE_ID,
            "tenant_id": f.TENANT_ID,
            "run_limit": COUNT,
            "declared_tokens": COUNT,
            "hash": HASH,
        },
        {
            "purpose": constant("reservation"),
            "window": BUDGET_WINDOW,
        },
    ),
    "governance_review": record(
        {
            "kind": constant("vfa.governance_review.v1"),
            "envelope_id": f.ENVELOPE_ID,
            "adapter_id": f.ADAPTER,
            "decision_kind": constant("release", "deny", "halt", "defer"),
            "decision_reason": _REVIEW_REASON,
            "rule_ids": array(constant(*REVIEW_RULES), 0, len(REVIEW_RULES)),
            "finding_count": COUNT,
            "review_clock": f.clock,
            "evaluator_version": constant("aivp-t4-1.0.0"),
            "hash": HASH,
        },
        {"model": text(1), "ai_output_hash": HASH},
    ),
}
ALLOW_TOKEN = record(
    {
        "version": constant("vfa.allow_token.v1"),
        "envelope_id": f.ENVELOPE_ID,
        "fired_rule_id": FIRED_RULE_ID,
        "decision_reason_code": _POLICY_REASON,
        "policy_hash": HASH,
        "evaluator_version": constant("pepg-2.0.0"),
        "evaluation_hash": HASH,
        "allow_clock": f.clock,
        "hash": HASH,
    }
)


def _mcd_finding_hash(value: Any, path: str) -> None:
    if value != "":
        HASH(value, path)


def _receipt(
    version: str, release: str, clock: str, members: dict[str, Form], optional: dict[str, Form] | None = None
) -> Form:
    common: dict[str, Form] = {
        "version": constant(version),
        "envelope_id": f.ENVELOPE_ID,
        "evaluator_version": constant(release),
        clock: f.clock,
        "hash": HASH,
    }
    return record({**common, **members}, {"anchor_required": _TRUE, **(optional or {})})


_FIELDS = array(constant(*ATTESTED_FIELDS), 1, len(ATTESTED_FIELDS))
RECEIPTS: Mapping[str, Form] = {
    "deny_receipt": _receipt(
        "vfa.deny_receipt.v1",
        "pepg-2.0.0",
        "deny_clock",
        {
            "fired_rule_id": FIRED_RULE_ID,
            "decision_reason_code": _POLICY_REASON,
            "policy_hash": HASH,
            "evaluation_hash": HASH,
        },
        {"mcd_finding_hash": _mcd_finding_hash},
    ),
    "ccv_halt_receipt": _receipt(
        "vfa.ccv_halt.v1",
        "ccv-1.0.0",
        "halt_clock",
        {
            "halt_reason_code": constant("TOKEN_BUDGET_EXCEEDED"),
            "constraint_type": constant("token_budget"),
            "budget_limit": COUNT,
            "consumed_at_halt": COUNT,
            "budget_hash": HASH,
            "allow_token_hash": HASH,
            "partial_execution_hash": HASH,
        },
    ),
    "macc_halt_receipt": _receipt(
        "vfa.macc_halt.v1",
        "macc-1.0.0",
        "halt_clock",
        {
            "tenant_id": f.TENANT_ID,
            "halt_reason_code": constant("CUMULATIVE_TOKEN_BUDGET_EXCEEDED"),
            "constraint_type": constant("cumulative_token_budget"),
            "budget_limit": COUNT,
            "cumulative_at_halt": COUNT,
            "per_run_consumption": COUNT,
            "window_start": f.clock,
            "budget_hash": HASH,
            "allow_token_hash": HASH,
        },
    ),
    "aivp_t4_halt_receipt": _receipt(
        "vfa.aivp_t4_halt.v1",
        "aivp-t4-1.0.0",
        "halt_clock",
        {
            "adapter_id": f.ADAPTER,
            "decision_kind": constant("deny", "halt", "defer"),
            "decision_reason": _REVIEW_REASON,
            "halt_reason_code": constant("AIVP_T4_DENY", "AIVP_T4_HALT", "AIVP_T4_DEFER"),
            "review_hash": HASH,
            "allow_token_hash": HASH,
            "ai_output_hash": HASH,
        },
    ),
    "attestation_gap_receipt": _receipt(
        "vfa.attestation_gap_receipt.v1",
        "pepg-admission-1.1.0",
        "gap_clock",
        {
            "decision_reason_code": constant("ATTESTATION_GAP"),
            "required_fields": _FIELDS,
            "missing_fields": _FIELDS,
            "policy_id": text(1, 64, one_line=True),
            "policy_name": text(1, 200, one_line=True),
            "policy_hash": HASH,
        },
        {"profile_tag": text(1, 64, one_line=True)},
    ),
}
RECEIPT_CLOCKS = {
    "deny_receipt": "deny_clock",
    "ccv_halt_receipt": "halt_clock",
    "macc_halt_receipt": "halt_clock",
    "aivp_t4_halt_receipt": "halt_clock",
    "attestation_gap_receipt": "gap_clock",
}
