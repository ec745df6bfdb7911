/**
 * Reads of what was sealed, on a standby of the database where there is one. A standby may lag, be promoted, follow another primary or hang;
 * none of that may show in an answer. So it is compared with the primary each second, and what it does not answer at once, or
 * does not have, is asked of the primary. Decision 0152.
 */
import { type Heads, headOf, notContained } from "../heads/heads.ts"
import { StartupError } from "../options/startup-error.ts"
import type { Database } from "../store/driver/database.ts"
import type { Session, Source } from "../store/driver/session.ts"
import { StoreError } from "../store/driver/store-errors.ts"
import { isStandby, readDatabaseFacts } from "../store/tables/heads-folders.ts"
import { readHead } from "../store/tables/log-store.ts"
import { contradicts } from "../store/tables/shown-head.ts"
import type { Telemetry } from "../telemetry.ts"

/** Work that only reads: it may be done twice, and a result of it thrown away. */
type Read<T> = (source: Source) => Promise<T>

export type Reads = {
  /** Reads what never changes once it is there: a record, a full tile. Undefined and failures of the standby are asked of the primary. */
  readonly immutable: <T>(read: Read<T>) => Promise<T>
  /** Reads what grows, such as a list: on a standby that has all that this process knows of. */
  readonly growing: <T>(read: Read<T>) => Promise<T>
  readonly close: () => Promise<void>
}

/** A standby; it is connected with the first read. */
export type Standby = Pick<Database, "read" | "close">

type ReadsParts = {
  readonly db: Database
  readonly standby?: Standby | undefined
  /** The last head that was acknowledged here. */
  readonly known: Heads["own"]
  readonly telemetry: Pick<Telemetry, "readFrom" | "standbyChanged">
}

const POLL_EVERY_MS = 1000
/** How long a comparison counts, in milliseconds: some polls may be late. */
const COMPARED_FOR_MS = 3000
/** Longest wait for the standby, in the queue for its connections too, in milliseconds. */
const WITHIN_MS = 2000

/** The standby is not to be used, for a reason that is the operator's to know. */
class UnfitStandby extends Error {}

export function openReads(parts: ReadsParts): Reads {
  const { db, standby, telemetry } = parts
  if (standby === undefined) return { immutable: read => read(db), growing: read => read(db), close: async () => {} }
  const comparison = createComparison(db, standby, telemetry)

  /** @returns undefined for what the standby does not have */
  const onStandby = <T>(read: Read<T>, mustBeNew: boolean): Promise<T | undefined> =>
    standby.read(async session => {
      const { size } = await comparison.of(session)
      if (mustBeNew) {
        const [known, head] = [parts.known(), headOf(await readHead(session))]
        if (head.size < size || contradicts(known, head)) return undefined
      }
      const found = await read(session)
      // Asked after the read: what was read before a promotion is the primary's.
      await refusePromoted(session)
      return found
    })
  const reading =
    (mustBeNew: boolean) =>
    async <T>(read: Read<T>): Promise<T> => {
      const asked = comparison.counts()
      const found = asked ? await within(onStandby(read, mustBeNew)).catch(comparison.noteFailure) : undefined
      telemetry.readFrom(found !== undefined ? "standby" : asked ? "both" : "primary")
      return found === undefined ? read(db) : found
    }
  return {
    immutable: reading(false),
    growing: reading(true),
    close: async () => {
      comparison.close()
      await standby.close()
    },
  }
}

/** A comparison of standby and primary: how long the primary's log was, and when (`performance.now()`). */
type Compared = { readonly size: number; readonly atMs: number }

function createComparison(db: Database, standby: Standby, { standbyChanged }: ReadsParts["telemetry"]) {
  const connections = new WeakSet<object>()
  let last: Compared | undefined
  let reason: string | undefined = "It was not compared with the primary yet."
  let isPolling = false

  const setReason = (next: string | undefined): void => {
    if (next !== reason) standbyChanged(next)
    reason = next
  }
  const compare = async (session: Session): Promise<Compared> => {
    const { size } = await refuseUnfit(session, db)
    connections.add(session.connection)
    last = { size, atMs: performance.now() }
    setReason(undefined)
    return last
  }
  const counts = (): boolean => last !== undefined && performance.now() - last.atMs < COMPARED_FOR_MS
  const suspend = (error: unknown): void => {
    last = undefined
    const isTelling = error instanceof UnfitStandby || error instanceof StartupError
    setReason(isTelling ? error.message : "It, or the primary, does not answer.")
  }
  const poll = async (): Promise<void> => {
    if (isPolling) return
    isPolling = true
    await within(standby.read(compare)).catch(suspend)
    isPolling = false
  }
  const timer = setInterval(() => void poll(), POLL_EVERY_MS).unref()
  return {
    counts,
    /** What the standby lacks, or a conflict with its recovery, says nothing against it. */
    noteFailure: (error: unknown): undefined => {
      const isUnavailable = error instanceof StoreError && error.code === "unavailable"
      if (isUnavailable || error instanceof UnfitStandby) suspend(error)
    },
    /** The last comparison. A connection that is new may lead to another server, and is compared first. */
    of: async (session: Session): Promise<Compared> => {
      if (last === undefined || !counts()) throw new StoreError("unavailable")
      return connections.has(session.connection) ? last : compare(session)
    },
    close: () => clearInterval(timer),
  }
}

/** @returns the primary's head, read after the standby's @throws UnfitStandby */
async function refuseUnfit(session: Session, db: Database) {
  const facts = await readDatabaseFacts(session)
  if (!facts.standby) throw new UnfitStandby("It is no standby, or was promoted.")
  const behind = headOf(await readHead(session))
  return db.read(async primary => {
    const { system_id, table_id } = await readDatabaseFacts(primary)
    if (system_id !== facts.system_id || table_id !== facts.table_id)
      throw new UnfitStandby("It is a standby of another database.")
    const head = await readHead(primary)
    if ((await notContained(primary, headOf(head), [behind])).length > 0)
      throw new UnfitStandby("It holds log entries that the primary does not hold.")
    return head
  })
}

async function refusePromoted(session: Session): Promise<void> {
  if (!(await isStandby(session))) throw new UnfitStandby("It is no standby, or was promoted.")
}

async function within<T>(answer: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new StoreError("unavailable", { late: true })), WITHIN_MS)
  })
  return Promise.race([answer, late]).finally(() => clearTimeout(timer))
}
