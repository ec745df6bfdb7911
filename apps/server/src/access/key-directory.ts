/**
 * Whose secret it is. Every request asks the database, so that a revocation holds from the next request on in every process;
 * requests that wait at the same time are asked for in one statement.
 */
import type { Logger } from "pino"
import { type ActiveKey, findActiveKeys, hasKeys, noteUses } from "../store/api-keys.ts"
import type { Database } from "../store/database.ts"
import { createGroupCommit } from "../store/group-commit.ts"
import { isSecret, secretHash } from "./api-key.ts"
import { ANONYMOUS, type Caller, keyCaller } from "./caller.ts"

/** Secrets one statement looks up. */
export const MAX_LOOKUPS_PER_STATEMENT = 256
/** Requests that may wait for their look-up; one more is refused at once. */
export const MAX_WAITING_LOOKUPS = 4096
/** A key's last use is written at most this often. */
export const USE_NOTED_EVERY_MS = 60_000

/** A caller, or nobody who may enter. */
export type Admission = Caller | "nobody"

export type KeyDirectory = {
  /**
   * Who it is that sent this key header, absent when none was sent.
   * @throws StoreError "unavailable" when too many wait, otherwise what the look-up met
   */
  readonly admit: (secret: string | undefined) => Promise<Admission>
  /** Resolves when the last uses seen so far are written, or could not be. */
  readonly usesNoted: () => Promise<void>
  /** Admits nobody any more and writes what is to be noted. */
  readonly close: () => Promise<void>
}

export type DirectoryParts = {
  readonly db: Database
  readonly nowMs: () => number
  readonly logger: Pick<Logger, "warn">
}

export function openKeyDirectory(parts: DirectoryParts): KeyDirectory {
  const uses = openUseNotes(parts)
  const lookups = createGroupCommit(batchLookup(parts.db, uses.note), {
    batch: MAX_LOOKUPS_PER_STATEMENT,
    waiting: MAX_WAITING_LOOKUPS,
  })
  return {
    admit: secret => lookups.submit(secret !== undefined && isSecret(secret) ? secretHash(secret) : undefined),
    usesNoted: uses.noted,
    close: async () => {
      await lookups.close()
      await uses.noted()
    },
  }
}

/** Hex of a secret's hash; absent when the header named no possible secret. */
type SoughtHash = string | undefined

function batchLookup(db: Database, noteUse: (key: ActiveKey) => void) {
  // A key that exists is never deleted: what is locked stays locked. That nothing is locked is asked each time.
  let locked = false
  return async (batch: readonly SoughtHash[]): Promise<readonly Admission[]> => {
    locked ||= await hasKeys(db)
    if (!locked) return batch.map(() => ANONYMOUS)
    const hashes = [...new Set(batch.filter(hash => hash !== undefined))]
    const keys = hashes.length === 0 ? [] : await findActiveKeys(db, hashes)
    for (const key of keys) noteUse(key)
    const callers = new Map(keys.map(key => [key.secret_hash, keyCaller(key)]))
    return batch.map(hash => (hash === undefined ? undefined : callers.get(hash)) ?? "nobody")
  }
}

/** Last uses, written behind the requests' backs. Only keys that exist get here: their number bounds what is remembered. */
function openUseNotes({ db, nowMs, logger }: DirectoryParts) {
  let due = new Set<number>()
  let writing: Promise<void> | undefined
  const writeAll = async (): Promise<void> => {
    while (due.size > 0) {
      const keyIds = [...due]
      due = new Set()
      await noteUses(db, keyIds, nowMs(), USE_NOTED_EVERY_MS).catch((error: unknown) =>
        logger.warn({ err: error }, "the last use of a key was not noted"),
      )
    }
    writing = undefined
  }
  return {
    note: ({ key_id, last_used_at }: ActiveKey): void => {
      if (nowMs() - last_used_at < USE_NOTED_EVERY_MS) return
      due.add(key_id)
      // Not at once: all keys of one look-up go into one statement.
      writing ??= Promise.resolve().then(writeAll)
    },
    noted: async (): Promise<void> => {
      await writing
    },
  }
}
