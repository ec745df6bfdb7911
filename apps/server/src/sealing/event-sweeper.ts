/** Seals admin events: those of this process at once, those of other processes and of commands soon after. */
import type { Database } from "../store/driver/database.ts"
import { hasDueEvents } from "../store/tables/admin-events.ts"
import { readHead } from "../store/tables/log-store.ts"
import type { LogClock } from "./log-clock.ts"
import type { Sealer } from "./sealer.ts"
import { openSweeping, type Sweeping } from "./sweeping.ts"

/** How often events are looked for that no request of this process announced, in milliseconds. */
const SWEEP_EVERY_MS = 5000

type SweeperParts = {
  readonly db: Pick<Database, "read">
  readonly sealer: Pick<Sealer, "sealEvents">
  readonly clock: Pick<LogClock, "trouble">
  readonly reportFailure: (error: unknown) => void
}

export const openEventSweeper = ({ db, sealer, clock, reportFailure }: SweeperParts): Sweeping =>
  openSweeping(
    async () => {
      const isDue = await db.read(async session => {
        // A confirmation of the clock counts for a minute, and nothing else may be asked of this process meanwhile.
        await clock.trouble(session, await readHead(session))
        return hasDueEvents(session)
      })
      // One that cannot be sealed is tried again with the next look, not at once.
      return isDue && (await sealer.sealEvents()) > 0
    },
    SWEEP_EVERY_MS,
    reportFailure,
  )
