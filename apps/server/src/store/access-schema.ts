/** The tables of access: keys, publications, limits, idempotency keys; and the attestations of `POST /attest`. */
import type { KeyScope, KeyTier } from "@runseal/core/wire/keys"
import { sql } from "drizzle-orm"
import { check, index, pgTable, text, unique } from "drizzle-orm/pg-core"
import { bytes, number, type TableOf } from "./tables/columns.ts"

/** An API key. Of its secret only the SHA-256 is stored. Rows are never deleted: one row locks the deployment for ever. */
export type ApiKeyRow = {
  /** 1, 2, 3 …; 0 is the anonymous caller. */
  readonly key_id: number
  readonly name: string
  /** 32 bytes. */
  readonly secret_hash: Uint8Array
  readonly scope: KeyScope
  readonly tier: KeyTier
  /** Milliseconds since the epoch. */
  readonly created_at: number
  /** Milliseconds since the epoch; 0 = never used. */
  readonly last_used_at: number
  /** Milliseconds since the epoch; 0 = not revoked. */
  readonly revoked_at: number
}

export const api_key: TableOf<ApiKeyRow> = pgTable(
  "api_key",
  {
    key_id: number().primaryKey(),
    name: text().notNull(),
    secret_hash: bytes().notNull().unique(),
    scope: text().$type<KeyScope>().notNull(),
    tier: text().$type<KeyTier>().notNull(),
    created_at: number(),
    last_used_at: number(),
    revoked_at: number(),
  },
  table => [
    check("api_key_secret_hash", sql`octet_length(${table.secret_hash}) = 32`),
    check("api_key_scope", sql`${table.scope} in ('admin', 'customer')`),
    check("api_key_tier", sql`${table.tier} in ('trial', 'production')`),
  ],
)

/** A published run; the row goes when it is unpublished, so that a later publication has another token. */
export type PublicationRow = {
  readonly run_id: number
  /** 32 hex digits, random. */
  readonly token: string
  /** Milliseconds since the epoch. */
  readonly published_at: number
}

export const publication: TableOf<PublicationRow> = pgTable("publication", {
  run_id: number().primaryKey(),
  token: text().notNull().unique(),
  published_at: number(),
})

/** One run a trial key was admitted to. What no run came of is taken back; what is older than the period is swept. */
export type TrialAdmissionRow = {
  readonly admission_id: string
  readonly key_id: number
  /** Milliseconds since the epoch. */
  readonly admitted_at: number
}

export const trial_admission: TableOf<TrialAdmissionRow> = pgTable(
  "trial_admission",
  { admission_id: text().primaryKey(), key_id: number(), admitted_at: number() },
  table => [index("trial_admission_key").on(table.key_id, table.admitted_at)],
)

/** Requests counted for one caller and limit in its present window. */
export type RequestWindowRow = {
  /** Names limit and caller; an address stands as an HMAC. */
  readonly bucket: string
  /** Milliseconds since the epoch. */
  readonly window_start: number
  readonly requests: number
}

export const request_window: TableOf<RequestWindowRow> = pgTable(
  "request_window",
  { bucket: text().primaryKey(), window_start: number(), requests: number() },
  table => [index("request_window_start").on(table.window_start)],
)

/** An anchored digest with its sealed document. */
export type AttestationRow = {
  readonly attestation_id: string
  /** Id of the API key that asked for it; 0 = anonymous. */
  readonly owner: number
  /** 1, 2, 3 … without a gap within the owner. */
  readonly owner_ordinal: number
  /** Milliseconds since the epoch. */
  readonly created_at: number
  /** What was attested, 64 hex digits. */
  readonly digest: string
  readonly log_index: number
  /** RFC 8785 text of what `POST /attest` answered. */
  readonly document: string
}

export const attestation: TableOf<AttestationRow> = pgTable(
  "attestation",
  {
    attestation_id: text().primaryKey(),
    owner: number(),
    owner_ordinal: number(),
    created_at: number(),
    digest: text().notNull(),
    log_index: number(),
    document: text().notNull(),
  },
  table => [unique("attestation_owner_ordinal").on(table.owner, table.owner_ordinal)],
)

/** What is known of an idempotency key: the charge that was made for it, and the record that was sealed under it. */
export type IdempotencyKeyRow = {
  /** SHA-256 of owner, endpoint and key, 64 hex digits: what a caller chose as a key is not kept. */
  readonly key_hash: string
  /** SHA-256 of the request that was charged or sealed under the key, 64 hex digits; "" before either. */
  readonly request_digest: string
  /** The charge that stands for the key's run; "" = none. */
  readonly charge_id: string
  /** Number of the run or id of the attestation; "" before one is sealed. */
  readonly record_id: string
  /** Milliseconds since the epoch: from when on the row is kept for the retention. */
  readonly kept_at: number
}

export const idempotency_key: TableOf<IdempotencyKeyRow> = pgTable(
  "idempotency_key",
  {
    key_hash: text().primaryKey(),
    request_digest: text().notNull(),
    charge_id: text().notNull(),
    record_id: text().notNull(),
    kept_at: number(),
  },
  table => [index("idempotency_key_kept").on(table.kept_at)],
)
