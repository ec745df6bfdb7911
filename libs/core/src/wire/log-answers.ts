/**
 * What the log's endpoints answer in JSON, and the trust document as it is published. docs/api.md, "The log" and "Trust";
 * docs/formats.md section 15.
 */
import { BASE64_PATTERN, type JsonValue } from "@runseal/canonical"
import { MAX_PROOF_HASHES } from "@runseal/log/entries/log-entry"
import { TRUST_DOCUMENT_KIND, type TrustDocument } from "@runseal/log/trust/trust-document"
import * as v from "valibot"
import { genesisLeafSchema, keyChangeLeafSchema } from "../artifacts/anchor.ts"
import { jsonObjectSchema } from "../artifacts/json-object-schema.ts"
import {
  clockSchema,
  countSchema,
  nonEmptySchema,
  ordinalSchema,
  type Shape,
  sha256Schema,
} from "../vocabulary/scalars.ts"

const ok = { ok: v.literal(true) }
const base64 = v.pipe(v.string(), v.regex(BASE64_PATTERN))
/** 32 bytes. */
const hash = v.pipe(base64, v.length(44))
const proof = v.pipe(v.array(hash), v.maxLength(MAX_PROOF_HASHES))

export const genesisAnswerSchema = v.strictObject({
  ...ok,
  log_index: v.literal(0),
  leaf: genesisLeafSchema,
})
/** `GET /log/genesis`: what entry 0 signs. */
export type GenesisAnswer = Shape<typeof genesisAnswerSchema>

/** What a genesis answer says, for who fetched one; undefined for any other value. Never throws. */
export function readGenesisAnswer(value: JsonValue): GenesisAnswer | undefined {
  const parsed = v.safeParse(genesisAnswerSchema, value)
  return parsed.success ? parsed.output : undefined
}

/** Most times that the keys of one log may change: yearly, longer than anybody keeps one. */
export const MAX_KEY_CHANGES = 31

export const keyChangesAnswerSchema = v.strictObject({
  ...ok,
  changes: v.pipe(
    v.array(v.strictObject({ log_index: ordinalSchema, leaf: keyChangeLeafSchema })),
    v.maxLength(MAX_KEY_CHANGES),
  ),
})
/** `GET /log/key-changes`: what the entries sign with which the log's keys changed, oldest first. */
export type KeyChangesAnswer = Shape<typeof keyChangesAnswerSchema>

/** What an answer on key changes says, for who fetched one; undefined for any other value. Never throws. */
export function readKeyChangesAnswer(value: JsonValue): KeyChangesAnswer | undefined {
  const parsed = v.safeParse(keyChangesAnswerSchema, value)
  return parsed.success ? parsed.output : undefined
}

/** `GET /log/entry/{index}`. */
export const logEntryAnswerSchema = v.strictObject({
  ...ok,
  log_index: countSchema,
  /** Unix seconds. */
  integrated_time: countSchema,
  /** Base64 of the entry's canonical body. */
  canonicalized_body: base64,
  /** Against the checkpoint beside it; hashes in base64. */
  inclusion_proof: v.strictObject({ tree_size: ordinalSchema, root_hash: hash, hashes: proof }),
  checkpoint: nonEmptySchema,
})

/** `GET /log/consistency`: RFC 6962 consistency proof between two tree sizes, hashes in base64. */
export const consistencyAnswerSchema = v.strictObject({
  ...ok,
  first: ordinalSchema,
  second: ordinalSchema,
  hashes: proof,
})

/** Why an outside log does not hold an entry yet. Closed, since metrics name it. */
export const OUTSIDE_FAULTS = ["unreachable", "limited", "failed", "refused", "invalid", "untimed"] as const
/**
 * `unreachable`: no whole answer in time. `limited`: 429. `failed`: 5xx. `refused`: a status that speaks of the entry.
 * `invalid`: an answer beside the API, or an entry whose proof does not verify. `untimed`: of a log that says no time, no timestamp
 * that verifies.
 */
export type OutsideFault = (typeof OUTSIDE_FAULTS)[number]

export const outsideStandingSchema = v.strictObject({
  /** Base64 of the 32-byte log id. */
  log_id: hash,
  /** Host name in its checkpoints. */
  host: nonEmptySchema,
  /** Entries of this log from `first_index` up to, not including, `next_index` are held there. */
  first_index: countSchema,
  next_index: countSchema,
  /** Entries that are pending. */
  backlog: countSchema,
  /** Since when the oldest of them is in this log; 0 when there is none. */
  oldest_age_seconds: countSchema,
  /** Both only while that one cannot be delivered: why, and for how long. */
  fault: v.exactOptional(v.picklist(OUTSIDE_FAULTS)),
  failing_seconds: v.exactOptional(countSchema),
})
/** The state of delivery to an outside log: which entries it holds, and which are pending. */
export type OutsideStanding = Shape<typeof outsideStandingSchema>

export const outsideLogsAnswerSchema = v.strictObject({
  ...ok,
  logs: v.array(outsideStandingSchema),
})
/** `GET /log/outside`: every outside log that was ever named, by rising log id. */
export type OutsideLogsAnswer = Shape<typeof outsideLogsAnswerSchema>

/** Why a witness did not cosign. Closed, since metrics name it: `unreachable`, no whole answer in time; `refused`, an error status; `invalid`, an answer beside the protocol; `contradicted`, it cosigned another history of this log. */
export const WITNESS_FAULTS = ["unreachable", "refused", "invalid", "contradicted"] as const

export const witnessesAnswerSchema = v.strictObject({
  ...ok,
  /** How many of them must cosign a checkpoint before it is published as witnessed. */
  needed: countSchema,
  /** The newest witnessed checkpoint: entries, and when it was cosigned last, by the clock of a witness. Absent before the first. */
  checkpoint: v.exactOptional(v.strictObject({ size: countSchema, cosigned_at: clockSchema })),
  witnesses: v.array(
    v.strictObject({
      name: nonEmptySchema,
      /** False: it signed the newest witnessed checkpoint, and the service asks it no more. */
      asked: v.boolean(),
      /** What it cosigned last, and when by its clock; absent while nothing is known. */
      size: v.exactOptional(countSchema),
      cosigned_at: v.exactOptional(clockSchema),
      /** Both only while it does not cosign: why, and since when. */
      fault: v.exactOptional(v.picklist(WITNESS_FAULTS)),
      failing_since: v.exactOptional(clockSchema),
    }),
  ),
})
/** `GET /log/witnesses`, as the process knows them that answers. */
export type WitnessesAnswer = Shape<typeof witnessesAnswerSchema>

const seconds = v.pipe(v.string(), v.regex(/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z$/))

/** `GET /.well-known/runseal-trust.json`, as this service writes it. */
export const trustDocumentSchema: v.GenericSchema<unknown, TrustDocument> = v.strictObject({
  kind: v.literal(TRUST_DOCUMENT_KIND),
  service: nonEmptySchema,
  trusted_root: jsonObjectSchema,
  origin: nonEmptySchema,
  service_keys: v.array(
    v.strictObject({
      key_id: sha256Schema,
      spki: base64,
      valid_from: seconds,
      valid_to: v.exactOptional(seconds),
      revoked_from: v.exactOptional(seconds),
    }),
  ),
  checkpoint_keys: v.array(nonEmptySchema),
  leaf_v7_from: v.exactOptional(seconds),
})

/** `GET /.well-known/trusted-root.json`: Sigstore's own format, which has no member of ours. */
export const trustedRootSchema: v.GenericSchema = v.looseObject({
  mediaType: nonEmptySchema,
  tlogs: v.array(jsonObjectSchema),
})
