/** Request bodies of `POST /execute`. */
import type { JsonObject } from "@runseal/canonical"

export const PROGRAM_ID: string = "a1".repeat(32)
export const REGISTRY_RECORD_HASH: string = "b2".repeat(32)
export const ROUTE_ID = "payments/approve"

/** The least a request may carry, and whatever a test adds or changes. */
export const request = (changes: JsonObject = {}): JsonObject => ({
  program_id: PROGRAM_ID,
  route_id: ROUTE_ID,
  registry_record_hash: REGISTRY_RECORD_HASH,
  payload: "Approve invoice 4711 over 100 EUR.",
  ...changes,
})

/** A request without one of its members. */
export function requestWithout(name: string): JsonObject {
  const { [name]: _dropped, ...rest } = request()
  return rest
}

/** A request that declares tokens. */
export const spending = (total_tokens: number, changes: JsonObject = {}): JsonObject =>
  request({ request_substance: { cost: { total_tokens } }, ...changes })

/** The EICAR test string: the signature library knows it. In two parts, so that no scanner stops at this file. */
export const EICAR: string = ["X5O!P%@AP[4\\PZX54(P^)7CC)7}", "$EICAR-STANDARD-ANTIVIRUS-TEST-FILE!$H+H*"].join("")

/** A request with something in every member that docs/api.md names. */
export const fullRequest = (changes: JsonObject = {}): JsonObject =>
  request({
    attested_context: {
      attested: true,
      actor_id: "agent-7",
      actor_role: "treasurer",
      authorization_policy: "two-eyes",
      actor_signature: "c2lnbmF0dXJl",
      model_provider: "example",
      model_name: "model-a",
      model_version: "2026-01",
      model_temperature: 0.25,
      prompt_hash: "c3".repeat(32),
      decision_kind: "approve",
      decision_result: "approved",
      decision_note: "within limits",
    },
    request_substance: {
      prompt: { hash: "c3".repeat(32), template_id: "invoice-1" },
      output: { hash: "d4".repeat(32) },
      post_processing: { steps: ["trim"] },
      cost: { input_tokens: 30, output_tokens: 12, total_tokens: 42 },
      latency: { total_ms: 120 },
      origin: { channel: "erp" },
      authentication: { method: "sso" },
    },
    authorization_chain: {
      approvers: [
        {
          order: 1,
          actor_id: "anna",
          actor_role: "clerk",
          approved_at: "2026-05-04T11:00:00Z",
          approved_request_hash: "e5".repeat(32),
          signature: "c2ln",
          comment: "fine",
        },
      ],
      threshold_checks: [
        { name: "amount", threshold_value: 1000, observed_value: 100, unit: "EUR", operator: "<=", breached: false },
      ],
      human_in_loop: {
        required: true,
        performed: true,
        performed_by: "anna",
        performed_at: "2026-05-04T11:00:00Z",
        review_mode: "four-eyes",
        review_outcome: "approved",
      },
    },
    regulatory_scaffolding: { data_classification: { personal: ["name", "iban"], health: [] } },
    causal_graph: {
      effect_log: [
        {
          effect_kind: "funds_transfer",
          target: "bank",
          status: "issued",
          issued_at: "2026-05-04T11:30:00Z",
          ack_hash: "f6".repeat(32),
        },
      ],
    },
    reproducibility_context: { runtime: "node", seeds: [1, 2, 3] },
    ...changes,
  })
