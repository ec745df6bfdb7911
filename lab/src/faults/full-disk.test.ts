/** Disks that are full to the last byte: under the embedded database, under the keys and heads, under PostgreSQL. */
import { randomBytes } from "node:crypto"
import { setTimeout as sleep } from "node:timers/promises"
import { startPostgresCluster } from "@runseal/server/postgres-cluster"
import { expect, onTestFinished, type TestContext, test } from "vitest"
import { request } from "../../../apps/server/spec/harness/sample-requests.ts"
import { until } from "../../../apps/server/spec/harness/until.ts"
import { type Deployment, openDeployment, type Settings } from "./fault-deployment.ts"
import { startLoad } from "./fault-load.ts"
import { type FaultRow, faultRow } from "./fault-row.ts"
import { roundsOf, WHOLE } from "./rounds.ts"
import { mountSmallDisk, type SmallDisk } from "./small-disk.ts"

const CONNECTIONS = 8
const DEADLINE_MS = 600_000
/** Both databases fit with some segments of WAL to spare, and are soon full. */
const DATABASE_MIB = 160
/** How long the disk stays full under load. */
const FULL_MS = WHOLE ? 5_000 : 1_500

/** The disk, or the end of the test with what is missing. */
function smallDisk(context: TestContext, row: FaultRow, mebibytes: number): SmallDisk {
  const disk = mountSmallDisk(mebibytes)
  if (typeof disk === "string") {
    row.note = disk
    return context.skip(disk)
  }
  onTestFinished(() => disk.unmount())
  return disk
}

type Repair = (deployment: Deployment) => Promise<void>

/** Load goes on while the disk is full, and when there is room again; nobody starts or stops the service. */
async function fillUnderLoad(
  context: TestContext,
  settings: Settings,
  disk: SmallDisk,
  repair: Repair = async () => {},
): Promise<void> {
  const { row } = settings
  const deployment = await openDeployment(context, settings)
  const { memory, secrets, start, check, finish } = deployment
  const child = await start()
  for (let round = 0; round < roundsOf(0.03); round++) {
    const load = startLoad([child.url], { memory, secrets, connections: CONNECTIONS, persistent: true })
    await until("the load begins", () => load.acknowledged() > CONNECTIONS)
    disk.fill()
    await until("the disk is felt", () => load.unacknowledged() > 0)
    // PostgreSQL may have ended instead.
    if (settings.kind === "PGlite") {
      const [holder] = deployment.holders(child)
      await until("a caller reads that the disk is full", async () => {
        const { status, body } = await holder!.execute(request())
        return status === 503 && `${body.error}`.startsWith("The disk of the database is full; ")
      })
    }
    await sleep(FULL_MS)
    disk.free()
    await repair(deployment)
    const before = load.acknowledged()
    await until("the service comes back", () => load.acknowledged() >= before + CONNECTIONS)
    await load.stop()
    row.acknowledged += load.acknowledged()
    row.unacknowledged += load.unacknowledged()
    row.rounds++
    await check(child)
  }
  expect(child.stdout().match(/a batch was not sealed/g)?.length ?? 0).toBeLessThanOrEqual(2 * row.rounds)
  await finish(child)
}

test(
  "under the embedded database: refused until there is room, then sealed again",
  async context => {
    const row = faultRow(context, "full disk: database", "PGlite")
    const disk = smallDisk(context, row, DATABASE_MIB)
    await fillUnderLoad(context, { kind: "PGlite", row, dataFolder: disk.folder }, disk)
  },
  DEADLINE_MS,
)

test.skipIf(!WHOLE)(
  "no room for the write-ahead log: the embedded database stops, and is opened anew when there is room",
  async context => {
    const row = faultRow(context, "full disk: write-ahead log", "PGlite")
    const disk = smallDisk(context, row, DATABASE_MIB)
    const deployment = await openDeployment(context, { kind: "PGlite", row, dataFolder: disk.folder })
    const { memory, secrets, start, finish } = deployment
    const child = await start()
    // Its tables have some room left, and the next segment of the log, of 16 MiB, has none.
    disk.fill(LEFT_MIB)
    const load = startLoad([child.url], { memory, secrets, connections: CONNECTIONS, persistent: true })
    const [holder] = deployment.holders(child)
    await until(
      "the embedded database stops",
      async () => {
        await holder!.execute(
          request({ route_id: `noise/${row.rounds++}`, reproducibility_context: { noise: noise() } }),
        )
        return child.stdout().includes("The embedded database was lost")
      },
      LOST_WITHIN_MS,
    )
    disk.free()
    const before = load.acknowledged()
    await until("the service comes back", () => load.acknowledged() >= before + CONNECTIONS)
    await load.stop()
    row.acknowledged += load.acknowledged()
    row.unacknowledged += load.unacknowledged()
    expect(child.stdout()).toContain("it is open again")
    await finish(child)
  },
  DEADLINE_MS,
)

/** What no compression makes smaller. */
const noise = (): string => randomBytes(300_000).toString("base64")
const LEFT_MIB = 14
const LOST_WITHIN_MS = 300_000

test.skipIf(!WHOLE)(
  "under PostgreSQL: refused until there is room, then sealed again",
  async context => {
    const row = faultRow(context, "full disk: database", "PostgreSQL")
    const disk = smallDisk(context, row, DATABASE_MIB)
    const started = await startPostgresCluster({ parent: disk.folder })
    if (started.kind === "absent") return context.skip(started.reason)
    const { cluster } = started
    onTestFinished(() => cluster.stop())
    const url = await cluster.createDatabase("full")
    // PostgreSQL ends when it cannot write its WAL; a supervisor would start it again.
    const repair: Repair = async () => {
      if (cluster.running()) return
      row.note = "PostgreSQL ended and was started again"
      await cluster.crashAndRestart()
    }
    await fillUnderLoad(context, { kind: "PostgreSQL", row, url }, disk, repair)
  },
  DEADLINE_MS,
)
