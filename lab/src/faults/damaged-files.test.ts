/** Files cut short, as by a copy that was interrupted: the start is refused in one sentence which says what to do. */
import { cpSync, readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { expect, test } from "vitest"
import { until } from "../../../apps/server/spec/harness/until.ts"
import { type Deployment, openDeployment } from "./fault-deployment.ts"
import { startLoad } from "./fault-load.ts"
import { type FaultRow, faultRow } from "./fault-row.ts"
import { WHOLE } from "./rounds.ts"

const DEADLINE_MS = 600_000

/** A file cut to each of some lengths; what a start says of it. */
async function refuseEachLength(
  { start }: Deployment,
  row: FaultRow,
  path: string,
  lengths: readonly number[],
  sentence: RegExp,
): Promise<void> {
  const whole = readFileSync(path)
  for (const length of lengths) {
    truncateSync(path, length)
    const refused = await start().catch((error: unknown) => String(error))
    expect(refused, `${path} of ${length} bytes`).toMatch(sentence)
    expect(refused).toMatch(/^Error: the server did not start: runseal: [^\n]*\.\n$/)
    row.rounds++
  }
  writeFileSync(path, whole)
}

/** A deployment with records, and its server gone. */
async function sealAndKill(deployment: Deployment, row: FaultRow): Promise<void> {
  const child = await deployment.start()
  const load = startLoad([child.url], { ...deployment, connections: 4, persistent: false })
  await until("there are records", () => load.acknowledged() >= 12)
  await child.end("SIGKILL")
  await load.stop()
  row.acknowledged += load.acknowledged()
  row.unacknowledged += load.unacknowledged()
}

const someOf = <Item>(items: readonly Item[]): readonly Item[] => (WHOLE ? items : items.slice(0, 1))

test(
  "keys cut short: restored, the service is what it was",
  async context => {
    const row = faultRow(context, "half-written keys", "PGlite")
    const deployment = await openDeployment(context, { kind: "PGlite", row })
    await sealAndKill(deployment, row)
    const keys = join(deployment.keysDir, "signing-keys.json")
    const backup = readFileSync(keys)
    const { length } = backup
    const damaged = /signing-keys\.json is damaged; restore it from your backup\./
    await refuseEachLength(deployment, row, keys, someOf([length >> 1, 0, 1, length - 1]), damaged)
    rmSync(keys)
    const gone = await deployment.start().catch(String)
    expect(gone).toMatch(/signed with keys that are not in .*; restore them/)
    row.rounds++
    expect(readdirSync(deployment.keysDir), "none are made in their place").toEqual(["heads"])
    await restoreKeys(deployment, keys, backup, row)
  },
  DEADLINE_MS,
)

/** The backup comes back, beside what an interrupted first start may have left. */
async function restoreKeys(deployment: Deployment, keys: string, backup: Buffer, row: FaultRow): Promise<void> {
  const { keysDir, start, finish } = deployment
  writeFileSync(keys, backup, { mode: 0o600 })
  writeFileSync(`${keys}.0011223344556677`, backup.subarray(0, backup.length >> 1), { mode: 0o600 })
  writeFileSync(join(keysDir, "heads", "half.tmp"), "00000000000")
  row.rounds++
  await finish(await start())
}

test.skipIf(!WHOLE)(
  "a remembered head cut short: removed after a look at the log, the service is what it was",
  async context => {
    const row = faultRow(context, "half-written head", "PGlite")
    const deployment = await openDeployment(context, { kind: "PGlite", row })
    await sealAndKill(deployment, row)
    const heads = join(deployment.keysDir, "heads")
    const [name = ""] = readdirSync(heads)
    const path = join(heads, name)
    const { length } = readFileSync(path)
    const damaged = /heads\/\S+ is damaged: how far the log had grown is not known\. .*remove the file/
    await refuseEachLength(deployment, row, path, someOf([length >> 1, 0, 16, length - 1]), damaged)
    rmSync(path)
    await deployment.finish(await deployment.start())
  },
  DEADLINE_MS,
)

/** What a copy of the data folder may lack. */
const LOSSES: readonly (readonly [path: string, length: number])[] = [
  ["global/pg_control", 100],
  ["global/pg_control", 0],
  ["PG_VERSION", 0],
  ["global/pg_filenode.map", 10],
]

test.skipIf(!WHOLE)(
  "a data folder that is not all there: restored, the service is what it was",
  async context => {
    const row = faultRow(context, "half-written data folder", "PGlite")
    const deployment = await openDeployment(context, { kind: "PGlite", row })
    await sealAndKill(deployment, row)
    const cluster = join(deployment.dataDir, "db", "postgres")
    const backup = `${cluster}.backup`
    cpSync(cluster, backup, { recursive: true })
    for (const [path, length] of someOf(LOSSES)) {
      await refuseEachLength(deployment, row, join(cluster, path), [length], /restore .*from your backup/)
      restore(cluster, backup)
    }
    rmSync(join(cluster, "global"), { recursive: true })
    expect(await deployment.start().catch(String)).toMatch(/restore .*from your backup/)
    row.rounds++
    restore(cluster, backup)
    await deployment.finish(await deployment.start())
  },
  DEADLINE_MS,
)

function restore(cluster: string, backup: string): void {
  rmSync(cluster, { recursive: true })
  cpSync(backup, cluster, { recursive: true })
}
