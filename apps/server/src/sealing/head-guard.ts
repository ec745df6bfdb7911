/**
 * Keeps the log from being forked: nothing is sealed on a head whose log does not contain every head that is remembered
 * beside the keys. FORMATS §6; docs/decisions/0110.
 */
import { encodeHex } from "@runseal/canonical"
import { rootFromTiles } from "@runseal/core/transparency-log/tiles"
import type { HeadFile, RememberedHead } from "../anchor/head-file.ts"
import { StartupError } from "../startup-error.ts"
import type { Database } from "../store/database.ts"
import { StoreError } from "../store/errors.ts"
import { lockHead, readTile } from "../store/log-store.ts"
import type { LogHeadRow } from "../store/schema.ts"
import type { Source, Tx } from "../store/session.ts"

/** A log's head in the database. */
type Head = Pick<LogHeadRow, "size" | "root">

/** What a sealer asks and tells of heads. */
export type SealingHeads = {
  /** Resolves when a head could be remembered now. Awaited before a batch begins: one that was not remembered is alone. */
  readonly readyToRemember: () => Promise<void>
  /**
   * Resolves when the locked head may be gone on from.
   * @throws StoreError "unavailable" when its log does not contain what is remembered
   */
  readonly checkHead: (tx: Tx, head: Head) => Promise<void>
  /** Makes the head durable beside the keys, after commit and before any answer. */
  readonly rememberHead: (size: number, root: Uint8Array) => Promise<void>
}

export type HeadGuard = SealingHeads & {
  /**
   * Holds the database against what every process of the keys folder remembers, and stands for them from then on.
   * @throws StartupError when the database holds an older log, or another
   */
  readonly begin: (db: Database) => Promise<void>
  /** Whether anything was acknowledged on these keys. */
  readonly remembersAny: () => boolean
  /** Whether a head is older than the last one that was checked or made here, or another of the same size. */
  readonly contradicts: (size: number, root: Uint8Array) => boolean
  readonly writable: () => boolean
  readonly close: () => void
}

const OLDER = "The database holds an older log than was acknowledged, or another; sealing on it would fork the log."
const NOT_REMEMBERED =
  "The folder of the heads beside the keys cannot be written; nothing is sealed until the log's head can be remembered there."

const rememberedOf = ({ size, root }: Head): RememberedHead => ({ size, root: encodeHex(root) })

const contradictsHead = (known: RememberedHead, { size, root }: RememberedHead): boolean =>
  size < known.size || (size === known.size && root !== known.root)

/** The remembered heads that the log of this head does not contain, by their roots in its tiles. */
async function notContained(
  source: Source,
  head: RememberedHead,
  remembered: readonly RememberedHead[],
): Promise<readonly RememberedHead[]> {
  const distinct = [...new Map(remembered.map(known => [`${known.size} ${known.root}`, known])).values()]
  const missing: RememberedHead[] = []
  for (const known of distinct) {
    if (contradictsHead(known, head)) missing.push(known)
    else if (known.size < head.size && (await rootAt(source, known.size)) !== known.root) missing.push(known)
  }
  return missing
}

/** Root of the first entries of the stored log. Reads one row of tiles a level. */
const rootAt = async (source: Source, size: number): Promise<string> =>
  encodeHex(await rootFromTiles(size, (level, index, width) => readTile(source, level, index, width)))

export function openHeadGuard(file: HeadFile): HeadGuard {
  let known: RememberedHead | undefined
  /** Connections on which all files were held against the database. */
  const checked = new WeakSet<object>()

  const checkAll = async (tx: Tx, head: RememberedHead): Promise<readonly RememberedHead[]> => {
    const missing = await notContained(tx, head, [...file.all(), ...(known === undefined ? [] : [known])])
    if (missing.length > 0) return missing
    checked.add(tx.connection)
    known = head
    return []
  }
  return {
    begin: db =>
      db.transaction(async tx => {
        // Under the head's lock no other process seals: what their files say cannot pass what is read here.
        const head = rememberedOf(await lockHead(tx))
        refuseStart(head, await checkAll(tx, head))
        await file.remember(head)
        await file.tidy(async other => (await notContained(tx, head, [other])).length === 0)
      }),
    remembersAny: () => file.all().length > 0,
    readyToRemember: async () => {
      await file.ready().catch(cause => {
        throw new StoreError("unavailable", { message: NOT_REMEMBERED, cause })
      })
    },
    checkHead: async (tx, row) => {
      const head = rememberedOf(row)
      if (!checked.has(tx.connection)) {
        if ((await checkAll(tx, head)).length > 0) throw new StoreError("unavailable", { message: OLDER })
      } else if (known !== undefined && known.root !== head.root) {
        if ((await notContained(tx, head, [known])).length > 0) throw new StoreError("unavailable", { message: OLDER })
        known = head
      }
    },
    rememberHead: async (size, root) => {
      known = rememberedOf({ size, root })
      await file.remember(known)
    },
    contradicts: (size, root) => known !== undefined && contradictsHead(known, rememberedOf({ size, root })),
    writable: file.writable,
    close: file.close,
  }
}

/** @param missing what the database does not contain */
function refuseStart(head: RememberedHead, missing: readonly RememberedHead[]): void {
  if (missing.length === 0) return
  const largest = Math.max(...missing.map(({ size }) => size))
  throw new StartupError(
    largest > head.size
      ? `The database holds ${head.size} log entries, but ${largest} were acknowledged: it is an older copy, and continuing it would fork the log.`
      : "The database holds another log than the one that was acknowledged; continuing it would fork the log.",
  )
}
