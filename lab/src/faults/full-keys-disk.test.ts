/** The disk of the keys is full: requests are refused before anything is committed, and a committed one is never reported as refused. */
import { mkdirSync, readdirSync, renameSync, rmSync } from "node:fs"
import { join } from "node:path"
import { READINESS_CACHE_MS } from "@runseal/server/sealing/readiness"
import type { Database } from "@runseal/server/store/driver/database"
import { readHead } from "@runseal/server/store/tables/log-store"
import { expect, onTestFinished, type TestContext, test } from "vitest"
import { bothDatabases } from "../../../apps/server/spec/database/databases.ts"
import { expectRefused } from "../../../apps/server/spec/harness/read-answer.ts"
import { request } from "../../../apps/server/spec/harness/sample-requests.ts"
import { openService, type TestService } from "../../../apps/server/spec/harness/test-service.ts"
import { mountSmallDisk, type SmallDisk } from "./small-disk.ts"

/** An answer with this sentence does not mean that there is no record. */
const UNKNOWN = /not known whether this took effect/

const descriptors = (): number => readdirSync("/proc/self/fd").length

function smallDisk(context: TestContext): SmallDisk {
  const disk = mountSmallDisk(1)
  if (typeof disk === "string") return context.skip(disk)
  onTestFinished(() => disk.unmount())
  return disk
}

const runsOf = async ({ db }: TestService): Promise<number> => {
  const [row] = await db.sql<{ runs: number }[]>`select count(*)::int as runs from run`
  return row?.runs ?? -1
}

bothDatabases("the keys on a full disk", open => {
  const starting = (disk: SmallDisk, db: Database): Promise<TestService> =>
    openService({ open: async () => db, keysDir: join(disk.folder, "keys") })

  test("a start that cannot make its head file is refused, and nothing was committed", async context => {
    const disk = smallDisk(context)
    const db = await open()
    // Room for the keys, which are a small file of a page and a folder, and for nothing else.
    const service = await starting(disk, await open())
    await service.close()
    rmSync(join(disk.folder, "keys", "heads"), { recursive: true })
    disk.fill()
    await expect(starting(disk, db)).rejects.toThrow(/is on a full disk: make room and start again/)
    expect(readdirSync(join(disk.folder, "keys", "heads"))).toEqual([])

    disk.free()
    const started = await starting(disk, await open())
    onTestFinished(() => started.close())
    expect((await started.execute(request())).status).toBe(200)
  })

  test("a head file is there before the first batch, which needs no room", async context => {
    const disk = smallDisk(context)
    const service = await starting(disk, await open())
    onTestFinished(() => service.close())
    disk.fill()
    expect((await service.execute(request())).status).toBe(200)
    expect((await readHead(service.db)).size).toBe(3)
  })

  test("one that is lost with no room for another: of 200 runs at most one batch is in doubt, and says so", async context => {
    const disk = smallDisk(context)
    const service = await starting(disk, await open())
    onTestFinished(() => service.close())
    expect((await service.execute(request())).status).toBe(200)
    const heads = join(disk.folder, "keys", "heads")
    renameSync(heads, `${heads}-away`)
    mkdirSync(heads)
    disk.fill()
    // On a new connection the server checks the folder before it commits.
    const runs = UNKNOWN.test(expectRefused(await service.execute(request()), 503)) ? 2 : 1
    expect(await runsOf(service)).toBe(runs)
    const before = descriptors()
    for (let i = 0; i < 200; i++)
      expect(expectRefused(await service.execute(request()), 503)).toMatch(
        /nothing was acknowledged\. Nothing is sealed until the operator makes room there/,
      )
    expect(await runsOf(service)).toBe(runs)
    expect(descriptors() - before, "some may come and go, none for each request").toBeLessThan(20)
    expect(readdirSync(heads)).toEqual([])
    service.clock.advance(READINESS_CACHE_MS)
    expect(expectRefused(await service.get("/ready"), 503)).toMatch(/heads/)

    disk.free()
    service.clock.advance(READINESS_CACHE_MS)
    expect((await service.get("/ready")).status).toBe(200)
    expect((await service.execute(request())).body.run_id).toBe(runs + 1)
    expect(readdirSync(heads).filter(name => name !== "id")).toHaveLength(1)
  })

  test("a folder that is away: one in doubt at most, then none is committed until it is back", async context => {
    const disk = smallDisk(context)
    const service = await starting(disk, await open())
    onTestFinished(() => service.close())
    expect((await service.execute(request())).status).toBe(200)
    const heads = join(disk.folder, "keys", "heads")
    renameSync(heads, `${heads}-away`)
    const first = expectRefused(await service.execute(request()), 503)
    const runs = UNKNOWN.test(first) ? 2 : 1
    for (let i = 0; i < 3; i++) expectRefused(await service.execute(request()), 503)
    expect(await runsOf(service)).toBe(runs)
    renameSync(`${heads}-away`, heads)
    expect((await service.execute(request())).body.run_id).toBe(runs + 1)
  })
})
