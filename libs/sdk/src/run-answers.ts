/** Answers whose shape here differs from core/wire. */
import type { JsonObject } from "@runseal/canonical"
import { jsonObjectSchema } from "@runseal/core/artifacts/json-object-schema"
import type { Shape } from "@runseal/core/vocabulary/scalars"
import type { VerifyAnswer } from "@runseal/core/wire/run-summaries"
import { versionAnswerSchema as serviceVersionSchema } from "@runseal/core/wire/service-answers"
import * as v from "valibot"

/** Members of this answer may be absent or null; null becomes absent. */
const withoutNulls = (answer: JsonObject): JsonObject =>
  Object.fromEntries(Object.entries(answer).filter(([, value]) => value !== null))

const text = v.string()
const opt = v.exactOptional
export const verifyAnswerSchema: v.GenericSchema<unknown, VerifyAnswer> = v.pipe(
  jsonObjectSchema,
  v.transform(withoutNulls),
  v.object({
    ok: v.literal(true),
    verified: v.boolean(),
    manifest_hash: text,
    recomputed_hash: opt(text),
    verification_at: opt(text),
    verification_kind: opt(v.picklist(["manifest-self-seal", "receipt-self-seal"])),
    formula_version: opt(text),
    dcae_engine_hint: opt(v.object({ available_at: text, engine_version: text })),
    reason: opt(text),
  }),
)

/** Without members that only later services send. */
export const versionAnswerSchema = v.omit(serviceVersionSchema, ["engine_version", "base_url"])
/** `GET /version`: the release, and the log and formula with which it seals. */
export type VersionAnswer = Shape<typeof versionAnswerSchema>
