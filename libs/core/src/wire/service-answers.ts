/** What the service says of itself, and how it refuses. docs/api.md, "GET /health". */
import * as v from "valibot"
import { clockSchema, countSchema, nonEmptySchema, ordinalSchema } from "../vocabulary/scalars.ts"
import { OUTSIDE_FAULTS, type OutsideFault } from "./log-answers.ts"
import type { ErrorAnswer, HealthAnswer } from "./runs.ts"

const release = {
  ok: v.literal(true),
  service: nonEmptySchema,
  version: nonEmptySchema,
  orchestrator_version: nonEmptySchema,
  orchestrator_git_sha: v.pipe(v.string(), v.regex(/^([0-9a-f]{40}|unknown)$/)),
}

/** `GET /health`. */
export const healthAnswerSchema: v.GenericSchema<unknown, HealthAnswer> = v.strictObject({
  ...release,
  time: clockSchema,
})

/** `GET /version`: the release, and under which engine, formula and log it seals. */
export type VersionAnswer = Omit<HealthAnswer, "time"> & {
  readonly engine_version: string
  readonly formula_version: string
  /** Origin line of the log's checkpoints. */
  readonly log_origin: string
  /** Address under which callers reach the service, when the operator gave one. */
  readonly base_url?: string
}
export const versionAnswerSchema: v.GenericSchema<unknown, VersionAnswer> = v.strictObject({
  ...release,
  engine_version: nonEmptySchema,
  formula_version: nonEmptySchema,
  log_origin: nonEmptySchema,
  base_url: v.exactOptional(nonEmptySchema),
})

/** Status 200 of `GET /ready`: the database answers and the log could take an entry. */
export type ReadyAnswer = {
  readonly ok: true
  readonly ready: true
  /** Entries of the log. */
  readonly log_size: number
  /** When this was found; an answer stands for about a second. */
  readonly checked_at: string
  /** Entries that the outside log does not hold yet, where there is one. */
  readonly outside_backlog?: number
  /** Why it does not take the next one; absent while it does. */
  readonly outside_fault?: OutsideFault
}
export const readyAnswerSchema: v.GenericSchema<unknown, ReadyAnswer> = v.strictObject({
  ok: v.literal(true),
  ready: v.literal(true),
  log_size: ordinalSchema,
  checked_at: clockSchema,
  outside_backlog: v.exactOptional(countSchema),
  outside_fault: v.exactOptional(v.picklist(OUTSIDE_FAULTS)),
})

/** Every refused request: one sentence that quotes nothing of what was received. */
export const errorAnswerSchema: v.GenericSchema<unknown, ErrorAnswer> = v.strictObject({
  ok: v.literal(false),
  error: nonEmptySchema,
})
