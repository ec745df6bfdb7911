/** What the service says of itself, and how it refuses. docs/api.md, "GET /health". */
import * as v from "valibot"
import {
  clockSchema,
  countSchema,
  nonEmptySchema,
  ordinalSchema,
  type Shape,
  sha256Schema,
} from "../vocabulary/scalars.ts"
import { ERROR_CODE_NAMES, type ErrorCode, REQUEST_ID_PATTERN } from "./error-codes.ts"
import { OUTSIDE_FAULTS } from "./log-answers.ts"

const release = {
  ok: v.literal(true),
  service: nonEmptySchema,
  version: nonEmptySchema,
  orchestrator_version: nonEmptySchema,
  orchestrator_git_sha: v.pipe(v.string(), v.regex(/^([0-9a-f]{40}|unknown)$/)),
}

/** `GET /health`. */
export const healthAnswerSchema = v.strictObject({ ...release, time: clockSchema })
export type HealthAnswer = Shape<typeof healthAnswerSchema>

export const versionAnswerSchema = v.strictObject({
  ...release,
  engine_version: nonEmptySchema,
  formula_version: nonEmptySchema,
  /** Origin line of the log's checkpoints. */
  log_origin: nonEmptySchema,
  /** Address under which callers reach the service, when the operator gave one. */
  base_url: v.exactOptional(nonEmptySchema),
  /** Host of the identity provider with which people sign in to the console, when there is one. */
  sign_in_with: v.exactOptional(nonEmptySchema),
})
/** `GET /version`: the release, and under which engine, formula and log it seals. */
export type VersionAnswer = Shape<typeof versionAnswerSchema>

export const readyAnswerSchema = v.strictObject({
  ok: v.literal(true),
  ready: v.literal(true),
  /** Entries of the log. */
  log_size: ordinalSchema,
  /** Time of the probe; an answer is cached for about a second. */
  checked_at: clockSchema,
  /** Entries that the outside log does not hold yet, where there is one. */
  outside_backlog: v.exactOptional(countSchema),
  /** Why it does not take the next one; absent while it does. */
  outside_fault: v.exactOptional(v.picklist(OUTSIDE_FAULTS)),
})
/** Status 200 of `GET /ready`: the database answers and the log could take an entry. */
export type ReadyAnswer = Shape<typeof readyAnswerSchema>

export const indexAnswerSchema = v.strictObject({
  ok: v.literal(true),
  service: nonEmptySchema,
  version: nonEmptySchema,
  /** Whether requests need a key: from the first key on, for ever. */
  mode: v.picklist(["open", "locked"]),
  log: v.strictObject({ origin: nonEmptySchema, size: ordinalSchema }),
  /** SHA-256 of each service key of the trust document, to be compared with the operator by another way. */
  fingerprints: v.array(sha256Schema),
  links: v.strictObject({
    docs: nonEmptySchema,
    openapi: nonEmptySchema,
    verify: nonEmptySchema,
    trust: nonEmptySchema,
    jwks: nonEmptySchema,
    checkpoint: nonEmptySchema,
    health: nonEmptySchema,
    ready: nonEmptySchema,
  }),
})
/** `GET /` for programs: where everything is. */
export type IndexAnswer = Shape<typeof indexAnswerSchema>

/** Every refused request. A run that was refused or failed has the body of its outcome instead. */
export const errorAnswerSchema = v.strictObject({
  ok: v.literal(false),
  /** One sentence, which quotes nothing of what was received. */
  error: nonEmptySchema,
  /** What a program decides by: docs/api.md, "Errors". */
  code: v.picklist(ERROR_CODE_NAMES),
  /** The id under which the operator finds the request in the process log; also in the header X-Request-Id. */
  request_id: v.pipe(v.string(), v.regex(REQUEST_ID_PATTERN)),
})
type ErrorAnswer = Shape<typeof errorAnswerSchema>

/** The body of a refused request. */
export const errorAnswer = (code: ErrorCode, error: string, request_id: string): ErrorAnswer => ({
  ok: false,
  error,
  code,
  request_id,
})
