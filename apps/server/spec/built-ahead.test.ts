/**
 * docs/pipeline.md, "Order of sealing": a batch is built before the log's head is locked, and is written only if what it was built on is what the
 * database holds behind the lock. Each fact that is compared is changed here between the two. What the house checks after each test is part of
 * every one: one log, chains without gaps, every record verified.
 */
import { randomUUID } from "node:crypto"
import type { JsonObject } from "@runseal/canonical"
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest"
import { createMetrics, type Metrics } from "../src/http/metrics/metrics.ts"
import { BATCH_MAX_ITEMS } from "../src/sealing/sealer.ts"
import { type Database, openDatabase } from "../src/store/driver/database.ts"
import type { Tx } from "../src/store/driver/session.ts"
import { lockHead } from "../src/store/tables/log-store.ts"
import { bothDatabases, newPostgresUrl, postgresStart, postgresTitle } from "./database/databases.ts"
import { checkHouse, checkNewRows } from "./harness/check-house.ts"
import { testClock } from "./harness/clock.ts"
import { ADMIN, CUSTOMER, heldAt, mint } from "./harness/key-holders.ts"
import { newKey, sendKeyed } from "./harness/keyed.ts"
import { type Answer, expectRefused, numberAt, textAt } from "./harness/read-answer.ts"
import { runSql } from "./harness/read-tables.ts"
import { request } from "./harness/sample-requests.ts"
import { openService, standingService, type TestService } from "./harness/test-service.ts"
import { until } from "./harness/until.ts"

/** Batches by where they were built. */
async function builtOf(metrics: Metrics): Promise<Record<string, number>> {
  const { text } = await metrics.expose()
  const found = text.matchAll(/^runseal_batches_built_total\{place="(\w+)"\} (\d+)$/gm)
  return Object.fromEntries([...found].map(([, place = "", count]) => [place, Number(count)]))
}

const runs = (service: TestService, count: number): readonly Promise<Answer>[] =>
  Array.from({ length: count }, (_, i) => service.execute(request({ payload: `${i} ${randomUUID()}` })))

const statusesOf = (answers: readonly Answer[]): readonly number[] => answers.map(({ status }) => status)
const idsOf = (answers: readonly Answer[]): readonly number[] =>
  answers.map(({ body }) => numberAt(body, "run_id")).toSorted((a, b) => a - b)

bothDatabases("runs at once", open => {
  const metrics = createMetrics()
  const service = standingService(() => ({ open, metrics }))

  test("are built ahead, and numbered without a gap", async () => {
    const [first] = await Promise.all(runs(service(), 1))
    const answers = await Promise.all(runs(service(), 60))
    expect(new Set(statusesOf(answers))).toEqual(new Set([200]))
    const next = numberAt(first?.body ?? {}, "run_id") + 1
    expect(idsOf(answers)).toEqual(answers.map((_, i) => next + i))
    expect((await builtOf(metrics)).ahead).toBeGreaterThan(0)
  })

  test("of a batch that the database refuses none is sealed; the batch that was built on it is, in its place", async () => {
    const [before] = await Promise.all(runs(service(), 1))
    const { db } = service()
    await runSql(db, "create sequence refusals")
    await runSql(
      db,
      `create function refuse_once() returns trigger language plpgsql as
      $$ begin if nextval('refusals') = 1 then raise exception 'refused'; end if; return new; end $$`,
    )
    await runSql(db, "create trigger refuse_once before insert on run for each row execute function refuse_once()")
    const answers = await Promise.all(runs(service(), BATCH_MAX_ITEMS + 24))
    await runSql(db, "drop trigger refuse_once on run")
    await runSql(db, "drop function refuse_once()")
    await runSql(db, "drop sequence refusals")
    expect(new Set(statusesOf(answers))).toEqual(new Set([200, 503]))
    const next = numberAt(before?.body ?? {}, "run_id") + 1
    const sealed = answers.filter(({ status }) => status === 200)
    expect(idsOf(sealed)).toEqual(sealed.map((_, i) => next + i))
  })

  test("with attestations among them, permits and administrators' acts: each in its own way, in one log", async () => {
    const admin = await mint(service(), ADMIN)
    const acme = await mint(service(), CUSTOMER, admin)
    const before = await builtOf(metrics)
    const { ai_output_text: _output, ...asked } = request()
    const permit = { ...asked, reserve_tokens: 10, audience: "payments.example", close_within_seconds: 120 }
    const answers = await Promise.all(
      Array.from({ length: 12 }, (_, i) => [
        acme.execute(request({ payload: `${i}` })),
        acme.post("/attest", { digest: i.toString(16).padStart(64, "0"), algorithm: "sha256" }),
        acme.post("/permits", permit),
        ...(i % 4 === 0 ? [admin.post("/admin/keys", { name: `made ${i}` })] : []),
      ]).flat(),
    )
    expect(new Set(statusesOf(answers))).toEqual(new Set([200, 201]))
    const after = await builtOf(metrics)
    expect(after.again, "nobody else seals").toBe(before.again)
    expect(after.locked).toBeGreaterThan(before.locked ?? 0)
  })
})

describe.skipIf(postgresStart.kind === "absent")(`what a batch was built on ${postgresTitle}`, () => {
  const metrics = createMetrics()
  const clock = testClock()
  let url = ""
  let services: readonly [TestService, TestService] | undefined
  const both = (): readonly [TestService, TestService] => {
    if (services === undefined) throw new Error("the services are open during tests only")
    return services
  }
  beforeAll(async () => {
    url = await newPostgresUrl()
    const open = () => openDatabase({ kind: "postgres", url })
    const one = await openService({ open, metrics, clock })
    services = [one, await openService({ open, clock, keysDir: one.config.keysDir })]
  })
  afterEach(() => checkNewRows(both()[0]))
  afterAll(async () => {
    await checkHouse(both()[0])
    for (const service of [...both()].reverse()) await service.close()
  })

  const waiting = async (count: number): Promise<void> => {
    await until(`${count} transactions wait for the log's head`, async () => {
      const [row] = await both()[0].db.sql<{ count: number }[]>`
        select count(*)::int as count from pg_stat_activity
        where datname = current_database() and wait_event_type = 'Lock'`
      return row?.count === count
    })
  }

  const run = (): Promise<Answer> => both()[0].execute(request())
  const own = async (): Promise<void> => expect((await run()).status).toBe(200)

  /** Asks while the head is held, and changes something before it is released. */
  async function behind<T>(ask: () => Promise<T>, change: (tx: Tx) => Promise<void>): Promise<T> {
    // The first batch of a process is built behind the lock; so is the one after another's.
    await own()
    let answer: Promise<T> | undefined
    await both()[1].db.transaction(async tx => {
      await lockHead(tx)
      answer = ask()
      answer.catch(() => undefined)
      await waiting(1)
      await change(tx)
    })
    if (answer === undefined) throw new Error("it was asked")
    return answer
  }
  const again = async (): Promise<number> => (await builtOf(metrics)).again ?? 0

  test("nothing changed: it is written as it was built", async () => {
    await own()
    const before = await builtOf(metrics)
    expect((await behind(run, async () => {})).status).toBe(200)
    const after = await builtOf(metrics)
    expect([after.ahead, after.again]).toEqual([(before.ahead ?? 0) + 2, before.again])
  })

  test("the log's size and root: another server has sealed meanwhile", async () => {
    const [one, two] = both()
    await Promise.all([...runs(one, 1)])
    const before = await again()
    let answers: readonly Answer[] = []
    await two.db.transaction(async tx => {
      await lockHead(tx)
      const other = two.execute(request())
      await waiting(1)
      const own = one.execute(request())
      await waiting(2)
      void Promise.all([other, own]).then(both => {
        answers = both
      })
    })
    await until("both are answered", () => answers.length === 2)
    const [other, own] = answers
    expect(statusesOf(answers)).toEqual([200, 200])
    expect(numberAt(own?.body ?? {}, "run_id")).toBe(numberAt(other?.body ?? {}, "run_id") + 1)
    expect(await again()).toBe(before + 1)
  })

  test("the log's time: the records have the later one", async () => {
    const before = await again()
    const answer = await behind(run, async ({ sql }) => void (await sql`update log_head set log_time = log_time + 2`))
    expect(answer.status).toBe(200)
    expect(await again()).toBe(before + 1)
    const [row] = await both()[0].db.sql<{ log_time: number; integrated_time: number }[]>`
      select log_time, (select integrated_time from log_entry order by log_index desc limit 1) from log_head`
    expect(row?.integrated_time).toBe(row?.log_time)
  })

  test("the epoch: a key was revoked or changed, and nothing is sealed", async () => {
    const answer = await behind(run, async ({ sql }) => void (await sql`update log_head set epoch = epoch + 1`))
    await runSql(both()[0].db, "update log_head set epoch = epoch - 1")
    expectRefused(answer, 503)
    expect(textAt(answer.body, "error")).toContain("signing keys were changed")
    expect((await run()).status).toBe(200)
  })

  test("the root alone: it is another log, and nothing is sealed", async () => {
    const { db } = both()[0]
    let root: Uint8Array = new Uint8Array()
    const answer = await behind(run, async ({ sql }) => {
      const [row] = await sql<{ root: Uint8Array }[]>`select root from log_head`
      root = row?.root ?? root
      await sql`update log_head set root = ${new Uint8Array(32)}`
    })
    await db.transaction(async ({ sql }) => void (await sql`update log_head set root = ${root}`))
    expectRefused(answer, 503)
    await until("it seals again", async () => (await run()).status === 200)
  })

  test("the number of the next run", async () => {
    const { db } = both()[0]
    const before = await again()
    const next = async (): Promise<number> => {
      const [row] = await db.sql<{ next_run_id: number }[]>`select next_run_id from log_head`
      return row?.next_run_id ?? 0
    }
    await run()
    const first = await next()
    // Behind the runs so far, where a number is taken: what was built on the true one must not be written on a false one.
    const answer = await behind(
      run,
      async ({ sql }) => void (await sql`update log_head set next_run_id = ${first - 1}`),
    )
    expectRefused(answer, 503)
    expect(await again()).toBe(before + 1)
    await runSql(db, `update log_head set next_run_id = ${first + 1}`)
    expect((await run()).status).toBe(200)
  })

  test("an idempotency key: of two servers one seals under it", async () => {
    const [one, two] = both()
    const key = `"${randomUUID()}"`
    const body: JsonObject = request()
    const answers = await behind(
      () => Promise.all([sendKeyed(one, "/execute", key, body), sendKeyed(two, "/execute", key, body)]),
      async () => {},
    )
    const sealed = answers.filter(({ status }) => status === 200)
    expect(sealed.length).toBeGreaterThan(0)
    expect(new Set(sealed.map(({ body: sent }) => numberAt(sent, "run_id"))).size).toBe(1)
    expect((await sendKeyed(one, "/execute", key, body)).status).toBe(200)
  })

  test("two servers that seal all the time build one after the other", async () => {
    const before = await builtOf(metrics)
    const answers: Answer[] = []
    for (let wave = 0; wave < 6; wave++)
      answers.push(...(await Promise.all(both().flatMap(service => runs(service, 20)))))
    expect(new Set(statusesOf(answers))).toEqual(new Set([200]))
    expect(new Set(idsOf(answers)).size).toBe(answers.length)
    const after = await builtOf(metrics)
    expect(after.ahead).toBeGreaterThan(before.ahead ?? 0)
  })

  test("new tenants: both servers make them at once, and each has one salt and one chain", async () => {
    const [one, two] = both()
    const admin = await mint(one, ADMIN)
    const keys = await Promise.all(Array.from({ length: 6 }, (_, i) => mint(one, { name: `customer ${i}` }, admin)))
    const answers = await Promise.all(
      keys.flatMap(key => [key.execute(request()), heldAt(two, key).execute(request()), key.execute(request())]),
    )
    expect(new Set(statusesOf(answers))).toEqual(new Set([200]))
  })
})

/** What no server changes without the log's head: so the house is not checked behind these. */
describe.skipIf(postgresStart.kind === "absent")(`what a batch was built on besides the log ${postgresTitle}`, () => {
  const metrics = createMetrics()
  const clock = testClock()
  let service: TestService | undefined
  let direct: Database | undefined
  beforeAll(async () => {
    const url = await newPostgresUrl()
    const open = () => openDatabase({ kind: "postgres", url })
    direct = await open()
    service = await openService({ open, metrics, clock })
  })
  afterAll(async () => {
    await service?.close()
    await direct?.close()
  })

  /** Sends a run, and changes something while it waits for the log's head. Gives its answer, and how many batches were built again. */
  async function changed(
    change: (tx: Tx) => Promise<unknown>,
    before: () => void = () => {},
  ): Promise<readonly [Answer, number]> {
    if (service === undefined || direct === undefined) throw new Error("the service is open during tests only")
    const { db } = service
    expect((await service.execute(request())).status).toBe(200)
    const known = (await builtOf(metrics)).again ?? 0
    before()
    let asked: Promise<Answer> | undefined
    await direct.transaction(async tx => {
      await lockHead(tx)
      asked = sendKeyed(service!, "/execute", newKey(), request())
      await until("the batch waits for the log's head", async () => {
        const rows = await db.sql`select 1 from pg_stat_activity
          where datname = current_database() and wait_event_type = 'Lock' and query like '%log_head%'`
        return rows.length === 1
      })
      await change(tx)
    })
    const answer = await asked!
    return [answer, ((await builtOf(metrics)).again ?? 0) - known]
  }

  test.each([
    ["documents of a tenant's chain", "update tenant set record_count = record_count + 1"],
    ["runs of a tenant", "update tenant set run_count = run_count + 1"],
    ["head of a tenant's chain", `update tenant set head = '${"a".repeat(64)}'`],
    ["salt of a tenant", `update tenant set salt = '${"b".repeat(64)}'`],
  ])("the %s", async (_, statement) => {
    const [answer, again] = await changed(({ sql }) => sql.unsafe(statement))
    expect([answer.status, again]).toEqual([200, 1])
  })

  test("an idempotency key: it has a record by then, which is answered, and no second one is made", async () => {
    const [answer, again] = await changed(
      ({ sql }) => sql`update idempotency_key set record_id = '1' where record_id = ''`,
    )
    expect([answer.status, answer.body.run_id, again]).toEqual([200, 1, 1])
  })

  test("the time: a batch that waited for a minute is built with the time of then", async () => {
    const [answer, again] = await changed(async () => clock.advance(61_000))
    expect([answer.status, again]).toEqual([200, 1])
  })

  test("the time: a clock that was ahead for a moment is not written", async () => {
    const [answer, again] = await changed(
      async () => clock.advance(-40_000),
      () => clock.advance(40_000),
    )
    // Its own time is one that the log has not reached.
    expect([answer.status, again]).toEqual([500, 1])
    const [head] = await direct!.sql<{ log_time: number }[]>`select log_time from log_head`
    expect(head?.log_time).toBeLessThanOrEqual(Math.floor(clock.nowMs() / 1000))
  })
})
