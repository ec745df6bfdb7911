/** `policy check FILE` and `policy test FILE CASES`: a policy tried without a service. docs/policy-and-review.md, "Tighten a policy without an accident". */

import { readFileSync } from "node:fs"
import { type JsonObject, type JsonValue, parseStrictJson, StrictJsonError } from "@runseal/canonical"
import { END_USER_MAX_GROUPS, type EndUser, endUserTextSchema } from "@runseal/core/artifacts/end-user"
import { jsonObjectSchema } from "@runseal/core/artifacts/json-object-schema"
import { issueText } from "@runseal/core/artifacts/schema-issue"
import { savedProblem, savedText } from "@runseal/core/presentation/saved-text"
import { PEPG_REASON_CODES } from "@runseal/core/vocabulary/decision-codes"
import { isObject } from "@runseal/core/vocabulary/json-members"
import { clockSchema, tenantIdSchema } from "@runseal/core/vocabulary/scalars"
import type { SubmittedRun } from "@runseal/core/wire/submission"
import { type CompiledPolicy, loadPolicy } from "@runseal/policy/load-policy"
import { PolicyError, parsePolicyDocument } from "@runseal/policy/policy-document"
import * as v from "valibot"
import { signatureScanOf } from "./boot.ts"
import { askedPermit, readExecuteBody, readOpenPermitBody } from "./http/request-bodies.ts"
import { HttpError } from "./http-error.ts"
import type { PolicyCommand } from "./options/commands.ts"
import type { Config } from "./options/config.ts"
import { StartupError } from "./options/startup-error.ts"
import { compileSignatureLibrary } from "./policy/signature-library.ts"
import { check } from "./policy-check.ts"
import { inWords, type Judging, PLAIN, type PolicyOutput, tryRun } from "./tried-run.ts"

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

// `policy test FILE CASES`: whether a policy decides each case as its author expects. docs/policy-and-review.md, "Cases".

/** Most cases of a file. */
const CASES_MAX = 10_000
const caseSchema = v.pipe(
  v.strictObject({
    name: v.string(),
    /** A body of `POST /execute`. What a case does not give is as in a request that declares nothing. */
    request: v.exactOptional(jsonObjectSchema),
    /** The same of `POST /permits`, with its terms. */
    opening: v.exactOptional(jsonObjectSchema),
    /** Whose run it is; `api-key-1` when absent. */
    tenant_id: v.exactOptional(tenantIdSchema),
    /** Whose token comes with it; none when absent. */
    end_user: v.exactOptional(
      v.strictObject({
        issuer: v.optional(endUserTextSchema, "https://login.example"),
        subject: endUserTextSchema,
        audience: v.optional(endUserTextSchema, "example"),
        client: v.exactOptional(endUserTextSchema),
        groups: v.optional(v.pipe(v.array(endUserTextSchema), v.maxLength(END_USER_MAX_GROUPS)), []),
        /** The token does not say all groups. */
        groups_unreadable: v.exactOptional(v.literal(true)),
      }),
    ),
    /** When it is admitted; the instant of the test when absent. */
    clock: v.exactOptional(clockSchema),
    expect: v.strictObject({
      decision: v.picklist(["admitted", "denied", "not_admitted"]),
      /** Which rule has to decide it, and why; any when absent. */
      rule_id: v.exactOptional(v.string()),
      reason: v.exactOptional(v.picklist(PEPG_REASON_CODES)),
    }),
  }),
  v.check(
    ({ request, opening }) => (request === undefined) !== (opening === undefined),
    "must have a request or an opening",
  ),
)
type Case = v.InferOutput<typeof caseSchema>
const casesSchema = v.pipe(
  v.array(caseSchema),
  v.minLength(1, "must hold a case"),
  v.maxLength(CASES_MAX, `must hold at most ${CASES_MAX} cases`),
)

function testCases(config: Config, policy: CompiledPolicy, file: string, json: JsonValue): PolicyOutput {
  const cases = v.safeParse(casesSchema, json)
  if (!cases.success) throw new StartupError(`${file}: ${issueText(cases.issues[0])}`)
  const results = cases.output.map(each => {
    const { name, tenant_id = "api-key-1", clock, expect } = each
    const end_user = each.end_user && tokenOf(each.end_user)
    const { run, asked } = submitted(`${file}, ${name}`, each)
    const { unreadable = [], ...found } = tryRun(policy, config, { tenant_id, clock, asked, end_user }, run)
    const passed =
      found.decision === expect.decision &&
      (expect.rule_id ?? found.rule_id) === found.rule_id &&
      (expect.reason ?? found.reason) === found.reason
    return { name, passed, expected: expect, found: { ...found, unreadable: [...unreadable] } }
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
          : `FAILED  ${name}: ${inWords(found)}; expected ${expectedInWords(expected)}`,
      ),
      `${results.length - failed.length} of ${results.length} cases as expected, policy_hash ${policy.policy_hash}`,
    ],
  }
}

/** The token of a case, which is in force. */
function tokenOf({ groups, groups_unreadable, ...person }: NonNullable<Case["end_user"]>): EndUser {
  const issued_at = new Date().toISOString()
  return { ...person, issued_at, expires_at: issued_at, ...(groups_unreadable ? {} : { groups }) }
}

const expectedInWords = ({ decision, rule_id, reason }: Case["expect"]): string =>
  `${decision}${rule_id === undefined ? "" : ` by ${rule_id}`}${reason === undefined ? "" : ` (${reason})`}`

const { program_id, route_id, registry_record_hash } = PLAIN
const REQUEST = { program_id, route_id, registry_record_hash }
const OPENING = { ...REQUEST, audience: "example", reserve_tokens: 0 }

/** The payload of a case as a text: one that is written as an object is its JSON. */
const withPayload = (request: JsonObject): JsonObject => ({
  ...(request.payload_text === undefined ? { payload: PLAIN.payload } : {}),
  ...request,
  ...(isObject(request.payload) ? { payload: JSON.stringify(request.payload) } : {}),
})

function submitted(
  place: string,
  { request, opening = {} }: Case,
): { readonly run: SubmittedRun; readonly asked?: Judging["asked"] } {
  try {
    if (request !== undefined) return { run: readExecuteBody({ ...REQUEST, ...withPayload(request) }) }
    const { run, permit } = readOpenPermitBody({ ...OPENING, ...withPayload(opening) })
    return { run, asked: askedPermit(permit) }
  } catch (error) {
    if (error instanceof HttpError) throw new StartupError(`${place}: ${error.message}`)
    throw error
  }
}
