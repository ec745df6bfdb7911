/** Cached signatures of a remote key, by signed message: the signer would make another one each time. */
import { eq, sql as fragment } from "drizzle-orm"
import { pgTable, text } from "drizzle-orm/pg-core"
import type { Source } from "../driver/session.ts"
import { bytea, type RowOf } from "./column-types.ts"

/** A signature of a remote service key, so that a report that is made again has the same bytes. */
export const repeated_signature = pgTable("repeated_signature", {
  /** SHA-256 of what is signed, 64 hex digits. */
  digest: text().primaryKey(),
  /** DER, low-S. */
  signature: bytea().notNull(),
})

/** The signature that is stored of a digest; undefined when none is. */
export function findRepeatedSignature(source: Source, digest: string): Promise<Uint8Array | undefined> {
  return source.read(async ({ orm }) => {
    const { signature } = repeated_signature
    const [row] = await orm.select({ signature }).from(repeated_signature).where(eq(repeated_signature.digest, digest))
    return row?.signature
  })
}

/**
 * Stores a signature, unless another one is stored already: the first one stays.
 * @param instead a stored signature that is none; it is replaced
 * @returns the one that is stored
 */
export function keepRepeatedSignature(
  source: Source,
  row: RowOf<typeof repeated_signature>,
  instead: Uint8Array = new Uint8Array(),
): Promise<Uint8Array> {
  return source.read(async ({ orm }) => {
    const { signature } = repeated_signature
    const [stored] = await orm
      .insert(repeated_signature)
      .values(row)
      .onConflictDoUpdate({
        target: repeated_signature.digest,
        set: {
          signature: fragment`case when ${signature} = ${instead}::bytea then excluded.signature else ${signature} end`,
        },
      })
      .returning({ signature })
    return stored?.signature ?? row.signature
  })
}
