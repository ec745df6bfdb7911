/** Attestations. Every read belongs to an owner (the id of an API key; 0 = anonymous) and sees nobody else's. */
import { and, desc, eq, gt, lte, max } from "drizzle-orm"
import { pgTable, text, unique } from "drizzle-orm/pg-core"
import { insertRows, type Session, type Source, type Tx } from "../driver/session.ts"
import { StoreError } from "../driver/store-errors.ts"
import { number, type RowOf } from "./column-types.ts"
import { document } from "./documents-table.ts"
import type { RowRange } from "./runs-table.ts"

/** An anchored digest. */
export const attestation = pgTable(
  "attestation",
  {
    attestation_id: text().primaryKey(),
    /** Id of the API key that asked for it; 0 = anonymous. */
    owner: number(),
    /** 1, 2, 3 … without a gap within the owner. */
    owner_ordinal: number(),
    /** Milliseconds since the epoch. */
    created_at: number(),
    /** What was attested, 64 hex digits. */
    digest: text().notNull(),
    /** Of its document, what `POST /attest` answered. */
    log_index: number(),
  },
  table => [unique("attestation_owner_ordinal").on(table.owner, table.owner_ordinal)],
)

export type AttestationRow = RowOf<typeof attestation>

export type AttestationPage = {
  /** All of the owner's attestations, not only those of the page. */
  readonly total: number
  /** Newest first; RFC 8785 texts of what `POST /attest` answered. */
  readonly documents: readonly string[]
}

/** Stores attestations. */
export const insertAttestations = (tx: Tx, rows: readonly AttestationRow[]): Promise<void> =>
  insertRows(tx, attestation, rows)

/**
 * How many attestations each owner has: the ordinal of the last one. Final only in a transaction that has locked the log's
 * head, as every transaction that adds attestations must. One index look-up per owner; hand-written, since every batch with
 * attestations needs it.
 */
export async function countAttestations({ sql }: Tx, owners: readonly number[]): Promise<ReadonlyMap<number, number>> {
  if (owners.length === 0) return new Map()
  const rows = await sql<{ owner: number; newest: number }[]>`
    select claim.owner::bigint as owner, coalesce(
      (select max(owner_ordinal) from attestation where attestation.owner = claim.owner::bigint), 0) as newest
    from json_array_elements_text(${JSON.stringify(owners)}::text::json) as claim(owner)`
  return new Map(rows.map(({ owner, newest }) => [owner, newest]))
}

/** The document of an owner's attestation that is known to exist. @throws StoreError "corrupt" when it does not */
export function findAttestation(source: Source, owner: number, attestationId: string): Promise<string> {
  return source.read(async ({ orm }) => {
    const [found] = await orm
      .select({ text: document.packed })
      .from(attestation)
      .innerJoin(document, eq(document.log_index, attestation.log_index))
      .where(and(eq(attestation.attestation_id, attestationId), eq(attestation.owner, owner)))
    if (found === undefined) throw new StoreError("corrupt")
    return found.text
  })
}

/** A page of an owner's attestations. Ordinals have no gaps, so that any page is as cheap as the first. */
export function listAttestations(source: Source, owner: number, { limit, offset }: RowRange): Promise<AttestationPage> {
  return source.read(async ({ orm }) => {
    const total = await newestOrdinal(orm, owner)
    const newest = total - offset
    const rows = await orm
      .select({ text: document.packed })
      .from(attestation)
      .innerJoin(document, eq(document.log_index, attestation.log_index))
      .where(
        and(
          eq(attestation.owner, owner),
          lte(attestation.owner_ordinal, newest),
          gt(attestation.owner_ordinal, newest - limit),
        ),
      )
      .orderBy(desc(attestation.owner_ordinal))
    return { total, documents: rows.map(({ text }) => text) }
  })
}

async function newestOrdinal(orm: Session["orm"], owner: number): Promise<number> {
  const [newest] = await orm
    .select({ ordinal: max(attestation.owner_ordinal) })
    .from(attestation)
    .where(eq(attestation.owner, owner))
  return newest?.ordinal ?? 0
}
