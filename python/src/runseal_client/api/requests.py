# Made by `node tools/src/python-api/make-python-api.ts` from the OpenAPI document. Do not change it by hand.
"""What the service takes. A type checker refuses every other member; `extra` of a call sends one all the same."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, Required, TypedDict


class AttestedContext(TypedDict, total=False):
    attested: bool | None
    actor_id: str | None
    actor_role: str | None
    authorization_policy: str | None
    actor_signature: str | None
    model_provider: str | None
    model_name: str | None
    model_version: str | None
    model_temperature: float | None
    prompt_hash: str | None
    decision_kind: str | None
    decision_result: str | None
    decision_note: str | None


class PromptHash(TypedDict, total=False):
    hash: str | None
    template_id: str | None


class OutputHash(TypedDict, total=False):
    hash: str | None


class Cost(TypedDict, total=False):
    input_tokens: int | None
    output_tokens: int | None
    total_tokens: int | None


class RequestSubstance(TypedDict, total=False):
    prompt: PromptHash
    output: OutputHash
    post_processing: Sequence[Any] | Mapping[str, Any] | None
    cost: Cost
    latency: float | Mapping[str, Any] | None
    origin: Mapping[str, Any] | None
    authentication: Mapping[str, Any] | None


class Approver(TypedDict, total=False):
    order: int | None
    actor_id: str | None
    actor_role: str | None
    approved_at: str | None
    approved_request_hash: str | None
    signature: str | None
    comment: str | None


class ThresholdCheck(TypedDict, total=False):
    name: str | None
    threshold_value: float | str | None
    observed_value: float | str | None
    unit: str | None
    operator: str | None
    breached: bool | None


class HumanInLoop(TypedDict, total=False):
    required: bool | None
    performed: bool | None
    performed_by: str | None
    performed_at: str | None
    review_mode: str | None
    review_outcome: str | None


class AuthorizationChain(TypedDict, total=False):
    approvers: Sequence[Approver]
    threshold_checks: Sequence[ThresholdCheck]
    human_in_loop: HumanInLoop


class RegulatoryScaffolding(TypedDict, total=False):
    data_classification: Mapping[str, Sequence[str] | None] | None


class Effect(TypedDict, total=False):
    effect_kind: str | None
    target: str | None
    status: str | None
    issued_at: str | None
    ack_hash: str | None


class CausalGraph(TypedDict, total=False):
    parent_run_id: Any
    parent_runs: Any
    related_runs: Any
    effect_log: Sequence[Effect]


class ExecuteRequest(TypedDict, total=False):
    """The body of POST /execute and POST /execute/verify-determinism."""

    program_id: Required[str]
    route_id: Required[str]
    registry_record_hash: Required[str]
    payload: str
    payload_text: str
    attested_context: AttestedContext
    request_substance: RequestSubstance
    authorization_chain: AuthorizationChain
    regulatory_scaffolding: RegulatoryScaffolding
    causal_graph: CausalGraph
    reproducibility_context: Mapping[str, Any]
    ai_output_text: str
    enforcement: Literal["observe"]


class OpeningSubstance(TypedDict, total=False):
    prompt: PromptHash
    output: OutputHash
    post_processing: Sequence[Any] | Mapping[str, Any] | None
    latency: float | Mapping[str, Any] | None
    origin: Mapping[str, Any] | None
    authentication: Mapping[str, Any] | None


class OpenPermitRequest(TypedDict, total=False):
    """The body of POST /permits."""

    program_id: Required[str]
    route_id: Required[str]
    registry_record_hash: Required[str]
    payload: str
    payload_text: str
    attested_context: AttestedContext
    authorization_chain: AuthorizationChain
    regulatory_scaffolding: RegulatoryScaffolding
    causal_graph: CausalGraph
    reproducibility_context: Mapping[str, Any]
    enforcement: Literal["observe"]
    request_substance: OpeningSubstance
    reserve_tokens: Required[int]
    audience: Required[str]
    valid_for_seconds: int
    close_within_seconds: int
    redeem_required: bool


class ClosingSubstance(TypedDict, total=False):
    output: OutputHash
    post_processing: Sequence[Any] | Mapping[str, Any] | None
    cost: Cost
    latency: float | Mapping[str, Any] | None


class ClosePermitRequest(TypedDict, total=False):
    """The body of POST /permits/{id}/close."""

    outcome: Required[Literal["completed", "failed"]]
    code: Literal["NOT_EXECUTED", "EXECUTOR_REFUSED", "EXECUTOR_FAILED", "TIMED_OUT"]
    ai_output_text: str
    request_substance: ClosingSubstance
    causal_graph: CausalGraph
    reproducibility_context: Mapping[str, Any]


class PasskeySignature(TypedDict, total=False):
    passkey_id: Required[str]
    authenticator_data: Required[str]
    client_data_json: Required[str]
    signature: Required[str]


class ActName(TypedDict, total=False):
    at: Required[str]
    type: Required[Literal["ascii", "string", "integer", "decimal", "boolean", "strings", "sum", "max"]]
    case: Literal["lower", "upper"]
    min: str
    max: str
    optional: bool


class ActTable(TypedDict, total=False):
    name: Required[str]
    routes: Required[Sequence[str]]
    closed: Sequence[str]
    ignored: Sequence[str]
    names: Required[Mapping[str, ActName]]


class PolicyApproval(TypedDict, total=False):
    by: Required[Sequence[str]]
    count: Required[int]
    within_seconds: Required[int]
    proof: Literal["any", "idp", "passkey"]
    end_user: Literal["required", "optional"]


class PolicyRule(TypedDict, total=False):
    id: Required[str]
    effect: Required[Literal["allow", "deny", "require_approval"]]
    approval: PolicyApproval
    act: str
    routes: Sequence[str]
    description: str
    when: str


class PolicyDocument(TypedDict, total=False):
    policy_id: Required[str]
    policy_name: Required[str]
    profile_tag: str
    required_attested_fields: Required[Sequence[Literal["attested", "actor_id", "actor_role", "authorization_policy", "actor_signature", "model_provider", "model_name", "model_version", "model_temperature", "prompt_hash", "decision_kind", "decision_result", "decision_note"]]]
    acts: Sequence[ActTable]
    rules: Required[Sequence[PolicyRule]]
