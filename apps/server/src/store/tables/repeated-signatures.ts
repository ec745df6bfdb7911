/** Signatures of a key that is kept elsewhere, by what they sign: it would make another one each time. */

import type { Source } from "../driver/session.ts"
import type { RepeatedSignatureRow } from "../schema.ts"

/** The signature that is kept of a digest; undefined when none is. */
export function findRepeatedSignature(source: Source, digest: string): Promise<Uint8Array | undefined> {
  return source.read(async ({ sql }) => {
    const [row] = await sql<Pick<RepeatedSignatureRow, "signature">[]>`
      select signature from repeated_signature where digest = ${digest}`
    return row?.signature
  })
}

/**
 * Keeps a signature, unless another one is kept already: the first one stays.
 * @param instead a kept signature that is none; it is replaced
 * @returns the one that is kept
 */
export function keepRepeatedSignature(
  source: Source,
  { digest, signature }: RepeatedSignatureRow,
  instead: Uint8Array = new Uint8Array(),
): Promise<Uint8Array> {
  return source.read(async ({ sql }) => {
    const [row] = await sql<Pick<RepeatedSignatureRow, "signature">[]>`
      insert into repeated_signature as stored (digest, signature) values (${digest}, ${signature})
      on conflict (digest) do update
      set signature = case when stored.signature = ${instead}::bytea then excluded.signature else stored.signature end
      returning signature`
    return row?.signature ?? signature
  })
}
