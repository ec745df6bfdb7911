/** How fast runs are sealed in the loaded database and in an empty one, measured alternately. */

import { USUAL_CONNECTIONS } from "../bench/bench-plan.ts"
import { FULL } from "../bench/bodies.ts"
import { type Measured, measure } from "../bench/measured-load.ts"
import { type Row, readable, type Section } from "../bench/page.ts"
import { type LoadRow, loadSection, middle, times } from "../bench/parts/loads.ts"
import { mintKeys, startService } from "../bench/servers/bench-deployment.ts"
import type { Target } from "./target.ts"

const ROUNDS = 5
const HEAT_SECONDS = 8
const WARM_SECONDS = 0.5
const SECONDS = 5

export type InsertsCompared = { readonly section: Section; readonly starts: readonly Row[] }

/** @param callers of the loaded database, used in rotation; the empty one gets as many */
export async function compareInserts(
  target: Target,
  callers: readonly string[],
  say: (line: string) => void,
): Promise<InsertsCompared> {
  const { look } = target
  const empty = await target.empty()
  const minting = await startService(empty.folder, empty.url)
  const secrets = await mintKeys(minting.url, callers.length)
  await minting.stop()
  const sides = [
    { what: "the loaded database", secrets: callers, database: target.url, folder: target.folder },
    { what: "an empty database", secrets, database: empty.url, folder: empty.folder },
  ]
  const running = []
  const starts: Row[] = []
  for (const side of sides) {
    const startMs = performance.now()
    const service = await startService(side.folder, side.database)
    const value = performance.now() - startMs
    starts.push({
      what: `start on ${side.what}`,
      value,
      unit: "ms",
      note: "until it listens; the log's head is checked",
    })
    const rounds: Measured[] = []
    running.push({ ...side, service, rounds })
  }
  const connections = USUAL_CONNECTIONS
  for (let round = -1; round < ROUNDS; round++) {
    for (const { what, service, database, rounds, ...side } of running) {
      say(round < 0 ? `${what}: its code is compiled` : `inserts into ${what}, round ${round + 1} of ${ROUNDS}`)
      const seconds = round < 0 ? HEAT_SECONDS : SECONDS
      const job = { requests: FULL, secrets: side.secrets, connections, warmSeconds: WARM_SECONDS, seconds }
      const measured = await measure([service], job, () => look(database))
      if (round >= 0) rounds.push(measured)
    }
  }
  for (const { service } of running) await service.stop()
  const [full, none] = running.map(({ what, rounds }) => ({ what, rounds }))
  if (full === undefined || none === undefined) throw new Error("two databases are compared")
  const wal = (row: LoadRow): string => `${readable(middle(row, ({ cost }) => cost.walBytes))} bytes of WAL a run`
  const ratio = `${times(full, none)} the empty one, the median of ${ROUNDS} alternating rounds`
  const title = `Inserts: POST /execute with ${connections} connections, ${callers.length} keys in rotation`
  return {
    section: loadSection(title, [
      { ...full, note: `${ratio}; ${wal(full)}` },
      { ...none, note: wal(none) },
    ]),
    starts,
  }
}
