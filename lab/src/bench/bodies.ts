/** Requests to the service under load: bodies of the size and shape that callers send. */
import { randomBytes } from "node:crypto"
import type { JsonObject } from "@runseal/canonical"
import type { LoadRequest } from "./load/load.ts"

/** Different bodies in rotation, so that a cache of bodies does not improve the result. */
const VARIANTS = 97

const hash = (letter: string): string => letter.repeat(64)

const minimal = (number: number) => ({
  program_id: hash("a"),
  route_id: "payments/approve",
  registry_record_hash: hash("b"),
  payload: `Approve invoice ${4000 + number} over ${100 + number} EUR.`,
})

const approver = (order: number): JsonObject => ({
  order,
  actor_id: `clerk-${order}@example.com`,
  actor_role: "accounts payable",
  approved_at: "2026-05-04T11:00:00Z",
  approved_request_hash: hash("e"),
  signature: "c2lnbmF0dXJlIG9mIGFuIGFwcHJvdmVy",
  comment: "Checked against the purchase order and the delivery note.",
})

/** Every declared section, between 2 and 4 KB. */
export const full = (number: number) => ({
  ...minimal(number),
  ai_output_text: `Invoice ${4000 + number} matches purchase order ${number}: the amount is within the limit, so it is approved.`,
  attested_context: {
    attested: true,
    actor_id: `agent-${number}`,
    actor_role: "treasurer",
    authorization_policy: "two-eyes",
    actor_signature: "c2lnbmF0dXJl",
    model_provider: "example",
    model_name: "model-a",
    model_version: "2026-01",
    model_temperature: 0.25,
    prompt_hash: hash("c"),
    decision_kind: "approve",
    decision_result: "approved",
    decision_note: `Within limits; case ${number}.`,
  },
  request_substance: {
    prompt: { hash: hash("c"), template_id: "invoice-1" },
    output: { hash: hash("d") },
    post_processing: { steps: ["trim", "normalise", "redact"] },
    cost: { input_tokens: 1200 + number, output_tokens: 300, total_tokens: 1500 + number },
    latency: { total_ms: 1200, queue_ms: 40, model_ms: 1160 },
    origin: { channel: "erp", system: "sap-prod-2" },
    authentication: { method: "sso", assurance: "aal2" },
  },
  authorization_chain: {
    approvers: [1, 2, 3].map(approver),
    threshold_checks: [
      {
        name: "amount",
        threshold_value: 1000,
        observed_value: 100 + number,
        unit: "EUR",
        operator: "<=",
        breached: false,
      },
      {
        name: "daily total",
        threshold_value: 50_000,
        observed_value: 12_500,
        unit: "EUR",
        operator: "<=",
        breached: false,
      },
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
  regulatory_scaffolding: { data_classification: { personal: ["name", "iban", "address"], health: [] } },
  causal_graph: {
    effect_log: [
      {
        effect_kind: "funds_transfer",
        target: "bank",
        status: "issued",
        issued_at: "2026-05-04T11:30:00Z",
        ack_hash: hash("f"),
      },
      {
        effect_kind: "ledger_entry",
        target: "erp",
        status: "confirmed",
        issued_at: "2026-05-04T11:30:01Z",
        ack_hash: hash("0"),
      },
    ],
  },
  reproducibility_context: {
    runtime: "node",
    seeds: [1, 2, 3],
    container: `registry.example/agent@sha256:${hash("9")}`,
  },
})

export const execute = (body: JsonObject, status: number): LoadRequest => ({
  method: "POST",
  path: "/execute",
  body: JSON.stringify(body),
  status,
})

const numbers = Array.from({ length: VARIANTS }, (_, number) => number)

/** Runs with the required members only. */
export const MINIMAL: readonly LoadRequest[] = numbers.map(number => execute(minimal(number), 200))

/** Completed runs with every section; each charges its caller's budget window. */
export const FULL: readonly LoadRequest[] = numbers.map(number => execute(full(number), 200))

/** The same run under a permit: what is known before the act, and then what is known after it. */
function permit(run: ReturnType<typeof full>): LoadRequest {
  const { ai_output_text, request_substance, causal_graph, ...before } = run
  const { output, post_processing, cost, latency, ...asked } = request_substance
  const opening = { ...before, request_substance: asked, reserve_tokens: cost.total_tokens, audience: "payments" }
  const close = {
    outcome: "completed",
    ai_output_text,
    request_substance: { output, post_processing, cost, latency },
    causal_graph,
  }
  return {
    ...{ method: "POST", path: "/permits", body: JSON.stringify(opening), status: 201 },
    followedBy: {
      ...{ method: "POST", path: "/permits/{}/close", body: JSON.stringify(close), status: 200 },
      member: "permit_id",
    },
  }
}
export const PERMITS: readonly LoadRequest[] = numbers.map(number => permit(full(number)))

/** A transfer of 64 KiB, as long a list as a table reads. */
const transfer = (number: number): string =>
  JSON.stringify({
    tool: "transfer",
    arguments: {
      ...{ to: "DE02120300000000202051", currency: "EUR", reference: `invoice-${4000 + number}`, due_days: 14 },
      ...{ purpose: "Supplies of May", urgent: false, cost_centre: "4711", tags: ["supplies", "may"] },
      lines: Array.from({ length: 256 }, (_, line) => ({ amount: `${line}.25`, note: "as ordered now ".repeat(15) })),
    },
  })
/** Runs with that payload, on the route of a table or on one without. */
const transfers = (route_id: string) => {
  const runs = numbers.map(number => ({ ...full(number), route_id, payload: transfer(number) }))
  return { execute: runs.map(run => execute(run, 200)), permits: runs.map(permit) }
}
export const TRANSFERS = { read: transfers("payments/transfer"), unread: transfers("payments/approve") }

const argument = (name: string, type: string, more: JsonObject = {}) => ({ at: `/arguments/${name}`, type, ...more })
/** A policy with a table of ten names for one of these routes, and rules for both. */
export const TRANSFER_POLICY: JsonObject = {
  policy_id: "transfers",
  policy_name: "Transfers",
  required_attested_fields: [],
  acts: [
    {
      name: "transfer",
      routes: ["payments/transfer"],
      closed: ["/arguments"],
      names: {
        to: argument("to", "ascii"),
        currency: argument("currency", "ascii", { case: "upper" }),
        reference: argument("reference", "ascii"),
        due_days: argument("due_days", "integer", { min: "0" }),
        purpose: argument("purpose", "string"),
        urgent: argument("urgent", "boolean"),
        cost_centre: argument("cost_centre", "ascii"),
        tags: argument("tags", "strings"),
        total: argument("lines/*/amount", "sum", { min: "0.01" }),
        largest: argument("lines/*/amount", "max"),
      },
    },
  ],
  rules: [
    { id: "transfers", effect: "allow", act: "transfer" },
    { id: "approvals", effect: "allow", routes: ["payments/approve"] },
    { id: "large", effect: "deny", act: "transfer", when: 'context.act.total.greaterThan(decimal("100000.0"))' },
  ],
}

/** More tokens than one run may declare: the run is halted, and no window is charged. */
const overBudget = (number: number): LoadRequest =>
  execute({ ...full(number), request_substance: { cost: { total_tokens: 2_000_000 } } }, 422)

/** The EICAR test string, in two parts so that no scanner stops at this file. */
export const EICAR: string = ["X5O!P%@AP[4\\PZX54(P^)7CC)7}", "$EICAR-STANDARD-ANTIVIRUS-TEST-FILE!$H+H*"].join("")
const denied = (number: number): LoadRequest => execute({ ...full(number), payload: EICAR }, 422)

export const ATTESTATIONS: readonly LoadRequest[] = numbers.map(number => ({
  method: "POST",
  path: "/attest",
  body: JSON.stringify({ digest: `${1000 + number}${hash("a").slice(4)}`, algorithm: "sha256" }),
  status: 201,
}))

/** Spans of one request: what an exporter sends at most where nothing else is set. */
export const SPANS = 512
const hexId = (bytes: number): string => randomBytes(bytes).toString("hex")
const facts = (values: Readonly<Record<string, string | number>>): readonly JsonObject[] =>
  Object.entries(values).map(([key, value]) => ({
    key,
    value: typeof value === "number" ? { intValue: `${value}` } : { stringValue: value },
  }))

/** A call of a model, or of a tool: every fourth one. */
const span = (traceId: string, number: number): JsonObject => ({
  ...{ traceId, spanId: hexId(8), name: `call ${number}`, kind: 3 },
  ...{ startTimeUnixNano: "1777892400000000000", endTimeUnixNano: "1777892401200000000" },
  attributes:
    number % 4 === 3
      ? facts({
          "gen_ai.operation.name": "execute_tool",
          "gen_ai.tool.name": "read_invoice",
          "gen_ai.tool.call.arguments": `{"invoice":${4000 + number}}`,
          "gen_ai.tool.call.result": `Invoice ${4000 + number} matches its purchase order.`,
        })
      : facts({
          "gen_ai.operation.name": "chat",
          "gen_ai.provider.name": "example",
          "gen_ai.request.model": "model-a",
          "gen_ai.agent.name": "treasurer",
          "gen_ai.usage.input_tokens": 1200 + number,
          "gen_ai.usage.output_tokens": 300,
          "gen_ai.input.messages": `Is invoice ${4000 + number} within the limit of its purchase order? `.repeat(8),
          "gen_ai.output.messages": `Invoice ${4000 + number} matches: the amount is within the limit.`,
        }),
})

/** A request of spans that none before it has. */
export function spanRequest(): LoadRequest {
  const traceId = hexId(16)
  const spans = Array.from({ length: SPANS }, (_, number) => span(traceId, number))
  const resource = { attributes: facts({ "service.name": "invoices" }) }
  const body = JSON.stringify({ resourceSpans: [{ resource, scopeSpans: [{ spans }] }] })
  return { method: "POST", path: "/v1/traces", body, status: 200 }
}

/** The same entries for a Tessera log, by when it answers. */
const tesseraEntries = (path: string): readonly LoadRequest[] =>
  ATTESTATIONS.map(request => ({ ...request, path, status: 200 }))
export const TESSERA_ENTRIES = { published: tesseraEntries("/published"), integrated: tesseraEntries("/integrated") }

/** One run in ten is refused: half by policy, half by a budget. */
export const MIXED: readonly LoadRequest[] = numbers.map(number => {
  if (number % 20 === 7) return overBudget(number)
  return number % 20 === 17 ? denied(number) : execute(full(number), 200)
})

/** Bytes of a body, the mean over the variants. */
export const meanBytes = (requests: readonly LoadRequest[]): number =>
  Math.round(requests.reduce((sum, { body = "" }) => sum + Buffer.byteLength(body), 0) / requests.length)
