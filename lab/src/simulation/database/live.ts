/** The simulated database with steps that are made at once, for tests that compare it with the real ones. */
import { setImmediate as macrotask } from "node:timers/promises"
import { createConnectionPool } from "@runseal/server/store/driver/connection-pool"
import { type Database, databaseOver } from "@runseal/server/store/driver/database"
import { seeded } from "../../seeded.ts"
import { createScheduler } from "../scheduler.ts"
import { simulatedServer, UNDISTURBED } from "./server.ts"

const CONNECTIONS = 8

/** Opens a database without faults; it makes steps until it is closed. */
export function openLive(seed: number): Database {
  const scheduler = createScheduler(seeded(seed))
  let broken: { readonly error: unknown } | undefined
  const server = simulatedServer({
    ...UNDISTURBED,
    scheduler,
    broken: error => {
      broken ??= { error }
    },
  })
  let open = true
  const going = (async () => {
    while (open) if (!(await scheduler.step())) await macrotask()
  })()
  const pool = createConnectionPool(CONNECTIONS, ({ lost }) => ({
    client: server.connect("live", lost),
    cut: () => undefined,
  }))
  return databaseOver("memory", pool, async () => {
    open = false
    await going
    if (broken !== undefined) throw broken.error
  })
}
