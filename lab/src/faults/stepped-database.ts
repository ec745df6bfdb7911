/** A program: an embedded database sets a timer of a second, the clock is stepped back by 30 days before it fires, and nothing is asked. */
import { writeFileSync } from "node:fs"
import { setTimeout as sleep } from "node:timers/promises"
import { openDatabase } from "@runseal/server/store/driver/database"

const { FAULT_CLOCK_FILE = "" } = process.env

const db = await openDatabase({ kind: "memory" })
await db.read(async ({ sql }) => {
  await sql`set transaction_timeout = '1s'`
  writeFileSync(FAULT_CLOCK_FILE, `${-30 * 86_400_000}`)
  await sleep(2000)
  await sql`set transaction_timeout = 0`
})
await db.close()
