/**
 * The tables. Sealed documents are texts, bundles packed ones: jsonb rewrites the bytes that were hashed. Tree hashes are `bytea`; digests that
 * are shown, compared or searched by prefix are lowercase hex. Numbers are `bigint` within ±(2^53−1), where JSON is exact.
 * After a change here, in access-schema.ts, heads-schema.ts or outside-schema.ts, `npx drizzle-kit generate` in apps/server writes the migration.
 */
import type { OutcomeKind } from "@runseal/core/vocabulary/outcomes"
import { sql } from "drizzle-orm"
import { check, index, pgTable, primaryKey, text, unique } from "drizzle-orm/pg-core"
import { bytes, number, type OneRow, onlyRow, packedBundle, type TableOf } from "./tables/columns.ts"

/** What the first start fixed for good; a start with other values is refused. docs/formats.md section 7.4 has its origin. */
export type DeploymentRow = {
  /** Origin line of the log's checkpoints. */
  readonly origin: string
  readonly tree_id: string
  /** Of each key the SHA-256 of its DER SPKI, 64 hex digits. */
  readonly service_key_id: string
  readonly log_key_id: string
  readonly checkpoint_key_id: string
  /** Milliseconds since the epoch. */
  readonly genesis_at: number
}

export const deployment: TableOf<DeploymentRow & OneRow> = pgTable(
  "deployment",
  {
    only: onlyRow(),
    origin: text().notNull(),
    tree_id: text().notNull(),
    service_key_id: text().notNull(),
    log_key_id: text().notNull(),
    checkpoint_key_id: text().notNull(),
    genesis_at: number(),
  },
  table => [check("deployment_one_row", sql`${table.only}`)],
)

/** What a key signs: leaves, entries and their checkpoints, or the public checkpoint. */
export const KEY_ROLES = ["service", "log", "checkpoint"] as const
export type KeyRole = (typeof KEY_ROLES)[number]

/**
 * The public half of a signing key and when it counts. Rows are never deleted; of each role one is in force. docs/formats.md
 * section 15.
 */
export type SigningKeyRow = {
  /** SHA-256 of the DER SPKI, 64 hex digits. */
  readonly key_id: string
  readonly role: KeyRole
  /** DER. */
  readonly spki: Uint8Array
  /** Unix seconds of log time, as the next two. */
  readonly valid_from: number
  /** 0 = in force. */
  readonly valid_to: number
  /** 0 = not revoked. */
  readonly revoked_from: number
}

export const signing_key: TableOf<SigningKeyRow> = pgTable(
  "signing_key",
  {
    key_id: text().primaryKey(),
    role: text().$type<KeyRole>().notNull(),
    spki: bytes().notNull(),
    valid_from: number(),
    valid_to: number(),
    revoked_from: number(),
  },
  table => [check("signing_key_role", sql`${table.role} in ('service', 'log', 'checkpoint')`)],
)

/** A change of the log's keys: what its entry signs. */
export type KeyChangeRow = {
  readonly log_index: number
  /** The leaf's RFC 8785 text. */
  readonly leaf: string
}

export const key_change: TableOf<KeyChangeRow> = pgTable("key_change", {
  log_index: number().primaryKey(),
  leaf: text().notNull(),
})

/** Where the log stands. Whoever appends locks this row, so that two processes never fork the log. */
export type LogHeadRow = {
  /** Entries in the log. */
  readonly size: number
  /** RFC 6962 root over them, 32 bytes. */
  readonly root: Uint8Array
  /** Unix seconds of the last entries; never decreases. */
  readonly log_time: number
  /** The number the next run gets; run numbers start at 1. */
  readonly next_run_id: number
  /** The published C2SP checkpoint of this head, a signed note; "" before the genesis entry. */
  readonly checkpoint: string
  /** Raised when keys change or are revoked: who started before appends nothing any more. */
  readonly epoch: number
}

export const log_head: TableOf<LogHeadRow & OneRow> = pgTable(
  "log_head",
  {
    only: onlyRow(),
    size: number(),
    root: bytes().notNull(),
    log_time: number(),
    next_run_id: number(),
    checkpoint: text().notNull(),
    epoch: number(),
  },
  table => [check("log_head_one_row", sql`${table.only}`)],
)

export type LogEntryRow = {
  /** 0, 1, 2 … without a gap. */
  readonly log_index: number
  /** The canonicalized entry body: what the Merkle leaf hashes. */
  readonly body: string
  /** Unix seconds. */
  readonly integrated_time: number
}

export const log_entry: TableOf<LogEntryRow> = pgTable("log_entry", {
  log_index: number().primaryKey(),
  body: text().notNull(),
  integrated_time: number(),
})

/** A full tile of C2SP tlog-tiles. Partial tiles are not stored: they follow from what lies below them. */
export type LogTileRow = {
  readonly level: number
  readonly tile_index: number
  /** 256 hashes, 8,192 bytes. */
  readonly hashes: Uint8Array
  /** The node above them, 32 bytes: a partial tile of the next level is made of these. */
  readonly root: Uint8Array
}

export const log_tile: TableOf<LogTileRow> = pgTable(
  "log_tile",
  { level: number(), tile_index: number(), hashes: bytes().notNull(), root: bytes().notNull() },
  table => [
    primaryKey({ columns: [table.level, table.tile_index] }),
    check("log_tile_full", sql`octet_length(${table.hashes}) = 8192`),
  ],
)

/** The newest checkpoint that enough witnesses cosigned. No row before the first. */
export type WitnessedCheckpointRow = {
  /** Entries of its tree. */
  readonly size: number
  /** The published checkpoint of that tree with the witnesses' lines, a signed note. */
  readonly checkpoint: string
}

export const witnessed_checkpoint: TableOf<WitnessedCheckpointRow & OneRow> = pgTable(
  "witnessed_checkpoint",
  { only: onlyRow(), size: number(), checkpoint: text().notNull() },
  table => [check("witnessed_checkpoint_one_row", sql`${table.only}`)],
)

/** Head of a tenant's chain of complete records. docs/formats.md section 7.3. */
export type TenantRow = {
  readonly tenant_id: string
  /** Id of the API key that is this tenant; 0 = anonymous. */
  readonly owner: number
  /** 64 hex digits, random, never changed. */
  readonly salt: string
  /** Records sealed so far: the ordinal of the last one. */
  readonly record_count: number
  /** Digest of the last complete-record leaf; 64 zeros before the first. */
  readonly head: string
}

export const tenant: TableOf<TenantRow> = pgTable("tenant", {
  tenant_id: text().primaryKey(),
  owner: number().unique(),
  salt: text().notNull(),
  record_count: number(),
  head: text().notNull(),
})

/** A tenant's token total in one fixed window. */
export type TenantWindowRow = {
  readonly tenant_id: string
  readonly window_seconds: number
  /** Milliseconds since the epoch. */
  readonly window_start: number
  readonly total: number
}

export const tenant_window: TableOf<TenantWindowRow> = pgTable(
  "tenant_window",
  { tenant_id: text().notNull(), window_seconds: number(), window_start: number(), total: number() },
  table => [
    primaryKey({ columns: [table.tenant_id, table.window_seconds, table.window_start] }),
    check("tenant_window_exact", sql`${table.total} between 0 and 9007199254740991`),
  ],
)

/** A MACC charge: it stands once made, whatever becomes of its run. docs/pipeline.md, "Gates". */
export type TokenChargeRow = {
  readonly charge_id: string
  readonly tenant_id: string
  readonly window_seconds: number
  readonly window_start: number
  readonly tokens: number
  /** The window's total right after this charge. */
  readonly total_after: number
  /** Milliseconds since the epoch. */
  readonly charged_at: number
}

export const token_charge: TableOf<TokenChargeRow> = pgTable("token_charge", {
  charge_id: text().primaryKey(),
  tenant_id: text().notNull(),
  window_seconds: number(),
  window_start: number(),
  tokens: number(),
  total_after: number(),
  charged_at: number(),
})

/** A signature of a service key that is kept elsewhere, so that a report that is made again has the same bytes. */
export type RepeatedSignatureRow = {
  /** SHA-256 of what is signed, 64 hex digits. */
  readonly digest: string
  /** DER, low-S. */
  readonly signature: Uint8Array
}

export const repeated_signature: TableOf<RepeatedSignatureRow> = pgTable("repeated_signature", {
  digest: text().primaryKey(),
  signature: bytes().notNull(),
})

/** What a run list shows. docs/api.md, "GET /runs". */
export type RunSummaryRow = {
  readonly run_id: number
  /** Id of the API key that made the run; 0 = anonymous. */
  readonly owner: number
  /** 1, 2, 3 … without a gap within the owner: the `tenant_ordinal` of the complete-record leaf. */
  readonly owner_ordinal: number
  /** Milliseconds since the epoch. */
  readonly created_at: number
  readonly outcome_kind: OutcomeKind
  /** "" for an ok run. */
  readonly error_stage: string
  readonly program_id: string
  readonly route_id: string
  /** Hash of the manifest, partial manifest or gap receipt; "" for a stage_error. */
  readonly manifest_hash: string
  readonly execution_region: string
  readonly duration_us: number
}

/** A run with its sealed document. */
export type RunRow = RunSummaryRow & {
  /** The bundle's RFC 8785 text. */
  readonly bundle: string
  /** Secret from which the declared sections' salts come; never shown. */
  readonly disclosure_seed: Uint8Array
}

/** Every index serves one read within an owner, newest first, and counts without a look at the rows; each costs every sealed run. */
export const run: TableOf<RunRow> = pgTable(
  "run",
  {
    run_id: number().primaryKey(),
    owner: number(),
    owner_ordinal: number(),
    created_at: number(),
    outcome_kind: text().$type<OutcomeKind>().notNull(),
    error_stage: text().notNull(),
    program_id: text().notNull(),
    route_id: text().notNull(),
    manifest_hash: text().notNull(),
    execution_region: text().notNull(),
    duration_us: number(),
    bundle: packedBundle().notNull(),
    disclosure_seed: bytes().notNull(),
  },
  table => [
    unique("run_owner_ordinal").on(table.owner, table.owner_ordinal),
    index("run_manifest_hash").on(table.owner, table.manifest_hash.op("text_pattern_ops"), table.owner_ordinal),
    index("run_program").on(table.owner, table.program_id, table.owner_ordinal),
    index("run_route").on(table.owner, table.route_id, table.owner_ordinal),
    index("run_created").on(table.owner, table.created_at, table.owner_ordinal),
    index("run_refused")
      .on(table.owner, table.outcome_kind, table.owner_ordinal)
      .where(sql`${table.outcome_kind} <> 'ok'`),
  ],
)
