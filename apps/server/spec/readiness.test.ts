/** `GET /ready`: whether a run could be sealed now, found in bounded time and at bounded cost. */
import { mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from "vitest"
import { openHeadFile } from "../src/heads/head-files.ts"
import { openHeads } from "../src/heads/heads.ts"
import { createReadiness, createTrialDue, READINESS_CACHE_MS, type TrialDue } from "../src/sealing/readiness.ts"
import type { Database } from "../src/store/driver/database.ts"
import { bothDatabases } from "./database/databases.ts"
import { memoryDatabase } from "./database/reused-databases.ts"
import { expectRefused, keysOf, textAt } from "./harness/read-answer.ts"
import { request } from "./harness/sample-requests.ts"
import { standingService } from "./harness/test-service.ts"

bothDatabases("readiness", open => {
  const service = standingService(() => ({ open }))

  test("a service that could seal is ready and says how long its log is", async () => {
    const { status, headers, body } = await service().get("/ready")
    expect(status).toBe(200)
    expect(keysOf(body)).toEqual(["checked_at", "log_size", "ok", "ready"])
    expect(body).toMatchObject({ ok: true, ready: true, log_size: 1 })
    expect(headers.get("cache-control")).toBe("no-store")
  })

  test("a finding stands for a second", async () => {
    const before = (await service().get("/ready")).body
    await service().execute(request())
    service().clock.advance(READINESS_CACHE_MS)
    const after = (await service().get("/ready")).body
    expect(Number(after.log_size)).toBeGreaterThan(Number(before.log_size))
    expect(textAt(after, "checked_at") > textAt(before, "checked_at")).toBe(true)
  })

  test("a clock behind the log's time is not ready until it has caught up; /health answers all the same", async () => {
    await service().execute(request())
    service().clock.advance(-120_000)
    const error = expectRefused(await service().get("/ready"), 503)
    expect(error).toMatch(/clock/)
    expect((await service().get("/health")).status).toBe(200)
    service().clock.advance(120_000 + READINESS_CACHE_MS)
    expect((await service().get("/ready")).status).toBe(200)
  })
})

describe("the folder of the heads", () => {
  const service = standingService()

  test.each<readonly [what: string, spoil: (heads: string) => void]>([
    ["is gone", () => undefined],
    ["is a file", heads => writeFileSync(heads, "")],
  ])("that %s makes a service that is not ready, until it is back", async (_what, spoil) => {
    await service().execute(request())
    const heads = join(service().config.keysDir, "heads")
    renameSync(heads, `${heads}-elsewhere`)
    spoil(heads)
    service().clock.advance(READINESS_CACHE_MS)
    expect(expectRefused(await service().get("/ready"), 503)).toMatch(/heads/)
    rmSync(heads, { force: true })
    renameSync(`${heads}-elsewhere`, heads)
    service().clock.advance(READINESS_CACHE_MS)
    expect((await service().get("/ready")).status).toBe(200)
    expect((await service().execute(request())).status).toBe(200)
  })
})

describe("asking the database", () => {
  let db: Database
  let asked = 0
  let now = 1_000_000
  /** A log without a record yet: its head's time is long past. */
  const nowMs = (): number => now
  const heads = {
    writable: () => true,
    readyToRemember: async () => undefined,
    poll: async () => undefined,
    trouble: () => undefined,
  }
  const clock = { trouble: async () => undefined }
  const telemetry = { readyChanged: () => undefined }
  const settled = (): TrialDue => {
    const trialDue = createTrialDue()
    trialDue.settle()
    return trialDue
  }
  const counted = (): Database => ({
    ...db,
    quick: {
      read: work => {
        asked++
        return db.read(work)
      },
    },
  })
  beforeEach(async () => {
    asked = 0
    db = await memoryDatabase()
  })
  afterEach(() => db.close())

  test("happens once a second, however many ask here", async () => {
    const readiness = createReadiness({ db: counted(), heads, clock, nowMs, epoch: 0, telemetry, trialDue: settled() })
    const found = await Promise.all(Array.from({ length: 1000 }, readiness))
    expect(found.every(({ ready }) => ready)).toBe(true)
    expect(asked).toBe(1)
    now += READINESS_CACHE_MS - 1
    await readiness()
    expect(asked).toBe(1)
    now += 1
    await readiness()
    expect(asked).toBe(2)
  })

  test("a head that was read before another was acknowledged is no older log; one read after it is", async () => {
    const keysDir = mkdtempSync(join(tmpdir(), "runseal-readiness-"))
    onTestFinished(() => rmSync(keysDir, { recursive: true, force: true }))
    const real = openHeads({ file: openHeadFile(keysDir, "one"), nowMs })
    let acknowledge = async (): Promise<void> => {}
    await real.start({
      ...db,
      read: async work => {
        const found = await db.read(work)
        await acknowledge()
        return found
      },
    })
    acknowledge = () => real.remember({ size: 1000, root: new Uint8Array(32) })
    const readiness = createReadiness({ db, heads: real, clock, nowMs, epoch: 0, telemetry, trialDue: settled() })
    expect(await readiness()).toMatchObject({ ready: true })
    now += READINESS_CACHE_MS
    expect(await readiness()).toMatchObject({
      ready: false,
      reason: expect.stringContaining("The database holds an older log than was acknowledged, or another"),
    })
    await real.close()
  })

  test("a clock that was set back makes no finding stand longer", async () => {
    const readiness = createReadiness({ db: counted(), heads, clock, nowMs, epoch: 0, telemetry, trialDue: settled() })
    await readiness()
    now -= 10_000
    await readiness()
    expect(asked).toBe(2)
  })

  test("a database out of reach is not ready", async () => {
    const readiness = createReadiness({ db: counted(), heads, clock, nowMs, epoch: 0, telemetry, trialDue: settled() })
    await db.close()
    expect(await readiness()).toMatchObject({ ready: false, reason: "The database is not available." })
  })

  test("a database that takes no writes is not ready, until it does", async () => {
    const readiness = createReadiness({ db: counted(), heads, clock, nowMs, epoch: 0, telemetry, trialDue: settled() })
    await db.sql`set default_transaction_read_only = on`
    expect(await readiness()).toMatchObject({ ready: false, reason: "The database takes no writes." })
    await db.sql`set default_transaction_read_only = off`
    now += READINESS_CACHE_MS
    expect(await readiness()).toMatchObject({ ready: true })
    expect(asked).toBe(2)
  })

  test("a stuck database is not ready in bounded time, is never asked twice at once, and comes back", async () => {
    const readiness = createReadiness({
      db: counted(),
      heads,
      clock,
      nowMs,
      epoch: 0,
      telemetry,
      trialDue: settled(),
      deadlineMs: 50,
    })
    let release: () => void = () => undefined
    const gate = new Promise<void>(open => {
      release = open
    })
    let stuck: Promise<void> = Promise.resolve()
    await new Promise<void>(holding => {
      stuck = db.transaction(async () => {
        holding()
        await gate
      })
    })
    for (let times = 0; times < 3; times++) {
      expect(await readiness()).toMatchObject({ ready: false, reason: "The database does not answer." })
      now += READINESS_CACHE_MS
    }
    expect(asked).toBe(1)
    release()
    await stuck
    // Whatever was stuck is through before this is.
    await db.sql`select 1`
    expect(await readiness()).toMatchObject({ ready: true })
  })
})
