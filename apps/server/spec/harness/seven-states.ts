/** One service that can end a run in every state, and a request for each. */
import type { JsonObject } from "@runseal/canonical"
import type { OutcomeKind } from "@runseal/core/vocabulary/outcomes"
import { afterAll, beforeAll } from "vitest"
import type { Database } from "../../src/store/driver/database.ts"
import { type Answer, numberAt } from "./read-answer.ts"
import { type ReviewStub, startReviewStub } from "./review-stub.ts"
import { EICAR, request, spending } from "./sample-requests.ts"
import { standingService, type TestService } from "./test-service.ts"

export const RUN_TOKEN_BUDGET = 1000
export const WINDOW_TOKEN_BUDGET = 500
export const WINDOW_SECONDS = 3600

export const SEVEN_STATES_POLICY: JsonObject = {
  policy_id: "seven-states",
  policy_name: "Every state can be reached",
  profile_tag: "spec",
  required_attested_fields: ["model_name", "actor_id"],
  rules: [
    { id: "baseline-permit", effect: "allow" },
    { id: "deny-forbidden-route", effect: "deny", when: 'context.bound.route_id == "forbidden"' },
  ],
}

const attested_context = { actor_id: "agent-7", model_name: "model-a" }

/** A request that ends in the state; a deny once by signature and once by rule. */
export const REQUESTS = {
  ok: spending(42, { attested_context, ai_output_text: "release this text" }),
  deny_by_signature: request({ attested_context, payload: `see ${EICAR}` }),
  deny_by_rule: request({ attested_context, route_id: "forbidden" }),
  ccv_halt: spending(RUN_TOKEN_BUDGET + 1, { attested_context }),
  aivp_t4_halt: request({ attested_context, ai_output_text: "deny this text" }),
  attestation_gap: request({ attested_context: { actor_role: "clerk" } }),
  stage_error: request({ attested_context, ai_output_text: "garbage comes back" }),
  /** Closes the window: it comes last. */
  macc_halt: spending(WINDOW_TOKEN_BUDGET, { attested_context }),
} as const satisfies Readonly<Record<string, JsonObject>>

export type CaseName = keyof typeof REQUESTS
export const CASES: readonly CaseName[] = [
  "ok",
  "deny_by_signature",
  "deny_by_rule",
  "ccv_halt",
  "aivp_t4_halt",
  "attestation_gap",
  "stage_error",
  "macc_halt",
]

export const STATE_OF: Readonly<Record<CaseName, OutcomeKind>> = {
  ok: "ok",
  deny_by_signature: "pepg_deny",
  deny_by_rule: "pepg_deny",
  ccv_halt: "ccv_halt",
  aivp_t4_halt: "aivp_t4_halt",
  attestation_gap: "attestation_gap",
  stage_error: "stage_error",
  macc_halt: "macc_halt",
}

export type SevenStates = {
  readonly service: () => TestService
  readonly stub: () => ReviewStub
  /** The answer of `POST /execute` to each request, made before the first test. */
  readonly answers: () => Readonly<Record<CaseName, Answer>>
  readonly runId: (name: CaseName) => number
}

/** Executes one request for every case, and opens the next budget window. */
export async function executeEvery(service: TestService): Promise<Readonly<Record<CaseName, Answer>>> {
  const answers: Partial<Record<CaseName, Answer>> = {}
  for (const name of CASES) answers[name] = await service.execute(REQUESTS[name])
  service.clock.advance(WINDOW_SECONDS * 1000)
  return answers as Readonly<Record<CaseName, Answer>>
}

export function standingSevenStates(open?: () => Promise<Database>): SevenStates {
  let stub: ReviewStub | undefined
  let answers: Readonly<Record<CaseName, Answer>> | undefined
  const reviewer = { kind: "openai", model: "judge-1", timeoutMs: 5000 } as const
  beforeAll(async () => {
    stub = await startReviewStub()
  })
  const service = standingService(() => ({
    ...(open === undefined ? {} : { open }),
    policy: SEVEN_STATES_POLICY,
    config: {
      runTokenBudget: RUN_TOKEN_BUDGET,
      windowTokenBudget: WINDOW_TOKEN_BUDGET,
      windowSeconds: WINDOW_SECONDS,
      reviewer: { ...reviewer, baseUrl: `${stub?.url}/v1`, apiKey: "stub-key" },
    },
  }))
  beforeAll(async () => {
    answers = await executeEvery(service())
  })
  afterAll(() => stub?.close())
  const known = <T>(value: T | undefined): T => {
    if (value === undefined) throw new Error("the service stands during tests only")
    return value
  }
  return {
    service,
    stub: () => known(stub),
    answers: () => known(answers),
    runId: name => numberAt(known(answers)[name].body, "run_id"),
  }
}
