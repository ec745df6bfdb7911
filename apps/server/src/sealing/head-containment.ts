/** Whether a stored log contains remembered heads: computes the roots of its prefixes from its tiles. */
import { encodeHex } from "@runseal/canonical"
import { rootFromTiles } from "@runseal/log/merkle/tiles"
import { NO_LINEAGE, type RememberedHead } from "../keys/head-file.ts"
import type { Source } from "../store/driver/session.ts"
import { type LogHeadRow, readTile } from "../store/tables/log-store.ts"

/** A log's head in the database. */
export type Head = Pick<LogHeadRow, "size" | "root">

export const headOf = ({ size, root }: Head): RememberedHead => ({ size, root: encodeHex(root), lineage: NO_LINEAGE })

/** Whether one head alone shows that its log does not contain another's: it is smaller, or of the same size with another root. */
export const contradictsHead = (known: RememberedHead, { size, root }: RememberedHead): boolean =>
  size < known.size || (size === known.size && root !== known.root)

/** The remembered heads that the log of this head does not contain. Reads one row of tiles a level for each distinct size. */
export async function notContained(
  source: Source,
  head: RememberedHead,
  remembered: readonly RememberedHead[],
): Promise<readonly RememberedHead[]> {
  const roots = new Map<number, string>([[head.size, head.root]])
  const missing: RememberedHead[] = []
  for (const known of remembered) {
    if (known.size <= head.size && !roots.has(known.size)) roots.set(known.size, await rootAt(source, known.size))
    if (roots.get(known.size) !== known.root) missing.push(known)
  }
  return missing
}

/** Root of the first entries of the stored log. */
const rootAt = async (source: Source, size: number): Promise<string> =>
  encodeHex(await rootFromTiles(size, (level, index, width) => readTile(source, level, index, width)))
