/** `policy check FILE` and `policy test FILE CASES`: a policy tried without a service. docs/policy-and-review.md, "Tighten a policy without an accident". */
import { readFileSync } from "node:fs"
import { type JsonObject, type JsonValue, parseStrictJson, StrictJsonError } from "@runseal/canonical"
import type { Origin } from "@runseal/core/artifacts/declared-sections"
import { jsonObjectSchema } from "@runseal/core/artifacts/json-object-schema"
import { issueText } from "@runseal/core/artifacts/schema-issue"
import { savedProblem, savedText } from "@runseal/core/presentation/saved-text"
import { ATTESTED_FIELDS } from "@runseal/core/vocabulary/decision-codes"
import { clockSchema, tenantIdSchema, ZERO_HASH } from "@runseal/core/vocabulary/scalars"
import type { PolicyDocument } from "@runseal/core/wire/policy-document-schema"
import type { Judgement } from "@runseal/core/wire/policy-requests"
import type { SubmittedRun } from "@runseal/core/wire/submission"
import { type CompiledPolicy, loadPolicy } from "@runseal/policy/load-policy"
import { PolicyError, parsePolicyDocument } from "@runseal/policy/policy-document"
import * as v from "valibot"
import { signatureScanOf } from "./boot.ts"
import { readExecuteBody } from "./front/http/request-bodies.ts"
import { HttpError } from "./http-error.ts"
import type { PolicyCommand } from "./options/commands.ts"
import type { Config } from "./options/config.ts"
import { StartupError } from "./options/startup-error.ts"
import { provenanceOf } from "./pipeline-settings.ts"
import { readPayload } from "./run/inspection/inspect-job.ts"
import { judgePolicy } from "./run/pipeline/gates/judge-policy.ts"
import { payloadAsked, requestGrounds } from "./run/pipeline/gates/pepg.ts"
import { receive } from "./run/pipeline/run-passage.ts"
import { dog } from "./run/pipeline/stages.ts"
import { compileSignatureLibrary } from "./run/policy/signature-library.ts"

/** What a command prints, and whether it found what was expected. */
export type PolicyOutput = { readonly json: JsonObject; readonly lines: readonly string[]; readonly passed: boolean }

/** @throws StartupError for a file that cannot be used */
export function doWithPolicy(config: Config, command: PolicyCommand): PolicyOutput {
  const json = readJson(command.file)
  const { document, policy } = usable(command.file, () => ({
    document: parsePolicyDocument(json),
    policy: loadPolicy(json, signatureScanOf(config, compileSignatureLibrary())),
  }))
  return command.action === "check"
    ? check(config, document, policy)
    : testCases(config, policy, command.cases, readJson(command.cases))
}

function readJson(file: string): JsonValue {
  return usable(file, () => {
    try {
      const bytes = readFileSync(file)
      const problem = savedProblem(bytes)
      if (problem !== undefined) throw new PolicyError(problem)
      return parseStrictJson(savedText(bytes))
    } catch (error) {
      if (error instanceof StrictJsonError || error instanceof PolicyError) throw error
      throw new StartupError(`${file} cannot be read`)
    }
  })
}

function usable<T>(file: string, read: () => T): T {
  try {
    return read()
  } catch (error) {
    if (error instanceof PolicyError || error instanceof StrictJsonError)
      throw new StartupError(`${file}: ${error.message}`)
    throw error
  }
}

/** A request that declares nothing beside what it must. */
const PLAIN: SubmittedRun = {
  program_id: "a1".repeat(32),
  route_id: "example",
  registry_record_hash: "b2".repeat(32),
  payload: "example",
  declared: {},
  declared_tokens: 0,
}
const ATTESTED: JsonObject = Object.fromEntries(
  ATTESTED_FIELDS.map(field => {
    if (field === "attested") return [field, true]
    if (field === "model_temperature") return [field, 0]
    if (field === "prompt_hash") return [field, "c3".repeat(32)]
    return [field, field === "actor_signature" ? "ZXhhbXBsZQ==" : "example"]
  }),
)

/** Runs that show at a glance how far a policy lets anybody come. */
const EXAMPLES: readonly (readonly [says: string, run: SubmittedRun])[] = [
  ["a run that declares nothing", PLAIN],
  ["the same with every attested field", { ...PLAIN, declared: { attested_context: ATTESTED } }],
  [
    "the same with 1,000,000 tokens, an e-mail as effect and the label personal",
    {
      ...PLAIN,
      declared: {
        attested_context: ATTESTED,
        causal_graph: { effect_log: [{ effect_kind: "email" }] },
        regulatory_scaffolding: { data_classification: { gdpr: ["personal"] } },
      },
      declared_tokens: 1_000_000,
    },
  ],
]

/** Whose run it is, and when. */
type Judging = { readonly tenant_id: string; readonly clock?: string | undefined }

const NOBODY: Origin = {
  source_ip_hash: ZERO_HASH,
  user_agent_hash: ZERO_HASH,
  authentication: { method: "api_key", api_key_id: 1 },
}

/** Judges a run as the pipeline does, with the sections that a record of it would have. */
function judged(policy: CompiledPolicy, { region }: Config, by: Judging, run: SubmittedRun): Judgement {
  const { tenant_id, clock: at = new Date().toISOString() } = by
  const moment = { at, nonce: ZERO_HASH, seed: ZERO_HASH }
  const submission = { ...run, tenant: { tenant_id, owner: 1 }, origin: NOBODY }
  const spending = { tokens: run.declared_tokens, run_limit: run.declared_tokens }
  const { base, facts } = receive(submission, moment, spending, { region, system_provenance: provenanceOf("unknown") })
  const { seal } = facts.texts
  const envelope = seal(dog(submission, moment, base, { region }))
  const sees = payloadAsked(policy, run.route_id)
  const seen = sees && readPayload(run.payload, sees.table)
  const { act, facts: known } = requestGrounds(run, { seen }, moment, policy, seal)
  return judgePolicy(policy, { sections: { ...base, envelope, ...(act && { act }) }, facts: known })
}

function check(config: Config, document: PolicyDocument, policy: CompiledPolicy): PolicyOutput {
  const { policy_id, policy_hash } = policy
  const examples = EXAMPLES.map(([run, request]) => ({
    run,
    ...judged(policy, config, { tenant_id: "api-key-1" }, request),
  }))
  const warnings = [...warningsOf(document), ...slowRules(config, document)]
  return {
    passed: true,
    json: { ok: true, policy_id, policy_hash, rules: document.rules.length, warnings: [...warnings], examples },
    lines: [
      `${policy_id}: ${document.rules.length} ${document.rules.length === 1 ? "rule, which" : "rules, each of which"} can apply`,
      `policy_hash ${policy_hash}`,
      ...warnings.map(warning => `warning: ${warning}`),
      ...examples.map(({ run, ...judgement }) => `${run}: ${inWords(judgement)}`),
      `Judged for the tenant api-key-1 in the region ${config.region}. Signatures, budgets and the review of AI output are not part of this.`,
    ],
  }
}

/** A rule is named that takes longer for the run below, in milliseconds. */
const SLOW_MS = 1
/** How often a rule is timed; the quickest time counts, since the machine does other things too. */
const TIMED = 25
/** As large as requests are that take some time anyway. */
const LONG_TEXT = "example ".repeat(12_500)
const MANY: readonly string[] = Array.from({ length: 1000 }, (_, i) => `example-${i}`)
const LARGE: SubmittedRun = {
  ...PLAIN,
  declared: {
    attested_context: { ...ATTESTED, decision_note: LONG_TEXT, actor_id: LONG_TEXT },
    causal_graph: { effect_log: MANY.map(effect_kind => ({ effect_kind })) },
    regulatory_scaffolding: { data_classification: { gdpr: [...MANY] } },
  },
}

/** A condition that reads nothing large: what a policy takes without the rule that is timed. */
const READING: PolicyDocument["rules"][number] = {
  id: "reading",
  effect: "deny",
  when: "context.verified.has_ai_output",
}

/** Which rules take long for a large request, beyond what reading the request takes. */
function slowRules(config: Config, document: PolicyDocument): readonly string[] {
  const conditional = document.rules.filter(({ when }) => when !== undefined)
  if (conditional.length === 0) return []
  const policies = [READING, ...conditional].map(rule =>
    loadPolicy({ ...document, required_attested_fields: [], rules: [{ ...rule }] }),
  )
  const timed = (policy: CompiledPolicy): number => {
    const since = performance.now()
    judged(policy, config, { tenant_id: "api-key-1" }, LARGE)
    return performance.now() - since
  }
  // In turn, so that a machine that is busy for a while slows every rule and not one.
  const rounds = Array.from({ length: TIMED }, () => policies.map(timed))
  const [reading = 0, ...least] = policies.map((_, i) => Math.min(...rounds.map(times => times[i] ?? 0)))
  return conditional.flatMap(({ id }, i) => {
    const ms = (least[i] ?? 0) - reading
    return ms > SLOW_MS ? [`${id} takes ${ms.toFixed(1)} ms for a large request, and every run waits for it`] : []
  })
}

/** What is right and yet seldom meant. */
function warningsOf({ rules }: PolicyDocument): readonly string[] {
  const allowing = rules.filter(({ effect }) => effect === "allow")
  const always = rules.filter(({ when }) => when === undefined)
  const denier = always.find(({ effect }) => effect === "deny")
  const allower = always.find(({ effect }) => effect === "allow")
  return [
    ...(allowing.length === 0 ? ["there is no allow rule: every run is denied"] : []),
    ...(denier === undefined ? [] : [`${denier.id} has no condition and denies every run`]),
    ...(allower !== undefined && allowing.length > 1
      ? [`${allower.id} has no condition: the other allow rules change nothing`]
      : []),
  ]
}

const inWords = ({ decision, rule_id, reason, missing_fields }: Judgement): string => {
  if (missing_fields !== undefined) return `not admitted, without ${missing_fields.join(", ")}`
  return `${decision} by ${rule_id}${reason === undefined ? "" : ` (${reason})`}`
}

/** Most cases of a file. */
const CASES_MAX = 10_000
const casesSchema = v.pipe(
  v.array(
    v.strictObject({
      name: v.string(),
      /** A body of `POST /execute`. */
      request: jsonObjectSchema,
      /** Whose run it is; `api-key-1` when absent. */
      tenant_id: v.exactOptional(tenantIdSchema),
      /** When it is admitted; the instant of the test when absent. */
      clock: v.exactOptional(clockSchema),
      expect: v.strictObject({
        decision: v.picklist(["admitted", "denied", "not_admitted"]),
        /** Which rule has to decide it; any when absent. */
        rule_id: v.exactOptional(v.string()),
      }),
    }),
  ),
  v.minLength(1, "must hold a case"),
  v.maxLength(CASES_MAX, `must hold at most ${CASES_MAX} cases`),
)

function testCases(config: Config, policy: CompiledPolicy, file: string, json: JsonValue): PolicyOutput {
  const cases = v.safeParse(casesSchema, json)
  if (!cases.success) throw new StartupError(`${file}: ${issueText(cases.issues[0])}`)
  const results = cases.output.map(({ name, request, tenant_id = "api-key-1", clock, expect }) => {
    const found = judged(policy, config, { tenant_id, clock }, submitted(`${file}, ${name}`, request))
    const passed = found.decision === expect.decision && (expect.rule_id ?? found.rule_id) === found.rule_id
    return { name, passed, expected: expect, found }
  })
  const failed = results.filter(({ passed }) => !passed)
  return {
    passed: failed.length === 0,
    json: {
      ok: failed.length === 0,
      policy_hash: policy.policy_hash,
      cases: results.length,
      failed: failed.length,
      results,
    },
    lines: [
      ...results.map(({ name, passed, expected, found }) =>
        passed
          ? `ok      ${name}: ${inWords(found)}`
          : `FAILED  ${name}: ${inWords(found)}; expected ${expected.decision}${expected.rule_id === undefined ? "" : ` by ${expected.rule_id}`}`,
      ),
      `${results.length - failed.length} of ${results.length} cases as expected, policy_hash ${policy.policy_hash}`,
    ],
  }
}

function submitted(place: string, request: JsonObject): SubmittedRun {
  try {
    return readExecuteBody({ ...request })
  } catch (error) {
    if (error instanceof HttpError) throw new StartupError(`${place}: ${error.message}`)
    throw error
  }
}
