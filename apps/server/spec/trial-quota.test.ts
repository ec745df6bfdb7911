/** docs/api.md, "Limits": a trial key is admitted to 5,000 runs in a rolling 30 days. */
import { mkdirSync, readdirSync, rmdirSync, rmSync } from "node:fs"
import { join } from "node:path"
import { beforeAll, describe, expect, test } from "vitest"
import { FOLDER_ID_FILE, UNFINISHED } from "../src/heads/head-files.ts"
import { TRIAL_CAP } from "../src/http/access/trial-quota.ts"
import { eachDatabase, postgresStart, postgresTitle } from "./database/databases.ts"
import { ADMIN, CUSTOMER, type Holder, heldAt, mint } from "./harness/key-holders.ts"
import { type Answer, expectRefused } from "./harness/read-answer.ts"
import { minted, runSql } from "./harness/read-tables.ts"
import { request, spending } from "./harness/sample-requests.ts"
import { CASES, REQUESTS, standingSevenStates } from "./harness/seven-states.ts"
import { standingService, type TestService } from "./harness/test-service.ts"
import { standingTwins } from "./harness/twin-services.ts"

const DAY_MS = 86_400_000
const HOUR_MS = 3_600_000

/** Admissions as `runs` runs, made `ago` milliseconds ago, would have left them. */
async function seed({ db, clock }: TestService, { id }: Holder, runs: number, ago = 0): Promise<void> {
  const at = clock.nowMs() - ago
  const name = `'seed ${id} ${at} ' || i`
  await runSql(db, `insert into trial_admission select ${name}, ${id}, ${at} from generate_series(1, ${runs}) i`)
}

async function admissions({ db }: TestService, { id }: Holder): Promise<number> {
  const [row] = await db.sql<{ count: number }[]>`select count(*) as count from trial_admission where key_id = ${id}`
  return row?.count ?? 0
}

const execute = (holder: Holder, service?: TestService): Promise<Answer> =>
  (service === undefined ? holder : heldAt(service, holder)).execute(request())

function expectExceeded(answer: Answer): number {
  expect(expectRefused(answer, 429)).toContain("trial_quota_exceeded")
  expect(answer.headers.get("Retry-After")).toMatch(/^[1-9]\d*$/)
  return Number(answer.headers.get("Retry-After"))
}

/** Of requests sent at once exactly so many are runs; the others are refused for the quota. */
function expectExactly(answers: readonly Answer[], runs: number): void {
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(runs)
  const refused = answers.filter(({ status }) => status !== 200)
  for (const answer of refused) expectExceeded(answer)
}

test("the cap is 5,000 runs in 30 days", () => {
  expect(TRIAL_CAP).toEqual({ runs: 5000, period_ms: 30 * DAY_MS })
})

eachDatabase("the trial quota", open => {
  const most = Number.MAX_SAFE_INTEGER
  const service = standingService(() => ({ open, config: { runTokenBudget: most, windowTokenBudget: most } }))
  let admin: Holder
  beforeAll(async () => {
    admin = await mint(service(), ADMIN)
  })
  const trialKey = (): Promise<Holder> => mint(service(), CUSTOMER, admin)
  /** A trial key with so many runs left. */
  const keyWithLeft = async (runs: number): Promise<Holder> => {
    const key = await trialKey()
    await seed(service(), key, TRIAL_CAP.runs - runs)
    return key
  }

  test("run 5,000 is sealed; run 5,001 is refused with 429, mints nothing and charges nothing", async () => {
    const key = await keyWithLeft(1)
    expect((await execute(key)).status).toBe(200)
    const before = await minted(service().db)
    expect(expectExceeded(await execute(key))).toBeLessThanOrEqual((30 * DAY_MS) / 1000)
    expect(await minted(service().db)).toEqual(before)
    expect(await admissions(service(), key)).toBe(TRIAL_CAP.runs)
  })

  test("30 requests at once with 10 runs left are exactly 10 runs", async () => {
    const key = await keyWithLeft(10)
    expectExactly(await Promise.all(Array.from({ length: 30 }, () => execute(key))), 10)
    expect((await key.get("/runs")).body.total).toBe(10)
  })

  test("the period rolls: a place is free when the oldest run is 30 days old, and Retry-After says when", async () => {
    const key = await trialKey()
    await seed(service(), key, 2, 30 * DAY_MS - HOUR_MS)
    await seed(service(), key, TRIAL_CAP.runs - 2, DAY_MS)
    const wait = expectExceeded(await execute(key))
    expect(wait).toBeGreaterThan(3500)
    expect(wait).toBeLessThanOrEqual(3600)
    service().clock.advance(wait * 1000)
    expectExactly(await Promise.all([1, 2, 3, 4].map(() => execute(key))), 2)
    expect(expectExceeded(await execute(key))).toBeGreaterThan((28 * DAY_MS) / 1000)
  })

  test("each key has a quota of its own", async () => {
    const [one, two] = [await keyWithLeft(0), await keyWithLeft(3)]
    const answers = await Promise.all(Array.from({ length: 12 }, (_, i) => execute(i % 2 === 0 ? one : two)))
    expectExactly(answers, 3)
    expect((await one.get("/runs")).body.total).toBe(0)
  })

  test("a used-up key reads, rehearses and attests on", async () => {
    const key = await keyWithLeft(0)
    for (const path of ["/runs", "/runs/search", "/attestations"]) expect((await key.get(path)).status).toBe(200)
    expect((await key.post("/execute/verify-determinism", request())).status).toBe(200)
    expect((await key.post("/attest", { digest: "c3".repeat(32), algorithm: "sha256" })).status).toBe(201)
  })

  test("the tier makes the quota: an admin key of tier trial has it too", async () => {
    const key = await mint(service(), { ...ADMIN, tier: "trial" }, admin)
    await seed(service(), key, TRIAL_CAP.runs)
    expectExceeded(await execute(key))
  })

  test("keys of tier production have no quota, and nothing is counted for them", async () => {
    for (const key of [await mint(service(), { ...CUSTOMER, tier: "production" }, admin), admin]) {
      await seed(service(), key, TRIAL_CAP.runs)
      expect((await execute(key)).status).toBe(200)
      expect(await admissions(service(), key)).toBe(TRIAL_CAP.runs)
    }
  })

  test("a request that is refused with 400 is no run, and takes no place", async () => {
    const key = await keyWithLeft(1)
    expectRefused(await key.post("/execute", {}), 400)
    expect((await key.post("/execute", spending(most))).status).toBe(422)
    expect(await admissions(service(), key)).toBe(TRIAL_CAP.runs)
    const other = await keyWithLeft(2)
    expect((await other.post("/execute", spending(most - 1))).status).toBe(200)
    expect(expectRefused(await other.post("/execute", spending(2)), 400)).toContain("2^53")
    expect(await admissions(service(), other)).toBe(TRIAL_CAP.runs - 1)
    expect((await execute(other)).status).toBe(200)
  })

  test("a run that could not be sealed takes no place", async () => {
    const key = await keyWithLeft(1)
    await runSql(service().db, "alter table log_entry rename to log_entry_away")
    const answers = await Promise.all([execute(key), execute(key), execute(key)])
    await runSql(service().db, "alter table log_entry_away rename to log_entry")
    const statuses = answers.map(({ status }) => status)
    expect(statuses).toContain(503)
    for (const status of statuses) expect([429, 503]).toContain(status)
    expect((await execute(key)).status).toBe(200)
    expectExceeded(await execute(key))
  })

  test("a run that was sealed and could not be acknowledged keeps its place", async () => {
    const key = await keyWithLeft(1)
    const heads = join(service().config.keysDir, "heads")
    const [head = ""] = readdirSync(heads).filter(name => name !== FOLDER_ID_FILE)
    // It is gone, and no other can be made in its place.
    rmSync(join(heads, head))
    mkdirSync(join(heads, `${head}${UNFINISHED}`))
    const answer = await execute(key)
    rmdirSync(join(heads, `${head}${UNFINISHED}`))
    expectRefused(answer, 503)
    expectExceeded(await execute(key))
    expect((await key.get("/runs")).body.total).toBe(1)
    expect((await execute(admin)).status).toBe(200)
  })

  test("an admission that cannot be taken back at once is taken back before the next run", async () => {
    const { db } = service()
    const key = await keyWithLeft(1)
    await runSql(
      db,
      "create function refuse() returns trigger language plpgsql as $$ begin raise exception 'no'; end $$",
    )
    await runSql(db, "create trigger refuse before delete on trial_admission execute function refuse()")
    await runSql(db, "alter table log_entry rename to log_entry_away")
    const answer = await execute(key)
    await runSql(db, "alter table log_entry_away rename to log_entry")
    await runSql(db, "drop trigger refuse on trial_admission")
    await runSql(db, "drop function refuse()")
    expectRefused(answer, 503)
    expect(await admissions(service(), key)).toBe(TRIAL_CAP.runs)
    expect((await execute(key)).status).toBe(200)
    expectExceeded(await execute(key))
  })
})

describe("runs of every outcome", () => {
  const { service } = standingSevenStates()

  test("count: refused, halted and failed ones are runs", async () => {
    const key = await mint(service(), CUSTOMER, await mint(service(), ADMIN))
    for (const name of CASES) await key.post("/execute", REQUESTS[name])
    expect((await key.get("/runs")).body.total).toBe(CASES.length)
    expect(await admissions(service(), key)).toBe(CASES.length)
  })
})

describe("a key that is used up", () => {
  const service = standingService(() => ({ config: { rateLimit: 2 } }))

  test("meets its rate limit first; the quota's 429 counts against it and carries its fields", async () => {
    const key = await mint(service(), CUSTOMER, await mint(service(), ADMIN))
    await seed(service(), key, TRIAL_CAP.runs)
    const answer = await execute(key)
    expectExceeded(answer)
    expect(answer.headers.get("RateLimit")).toMatch(/^"shared";r=1;t=\d+$/)
    expectExceeded(await execute(key))
    expect(expectRefused(await execute(key), 429)).toMatch(/too many requests/i)
  })
})

describe("admissions older than the period", () => {
  const service = standingService()

  test("are removed, of keys that are used and of others", async () => {
    const admin = await mint(service(), ADMIN)
    const [idle, busy] = [await mint(service(), CUSTOMER, admin), await mint(service(), CUSTOMER, admin)]
    for (const key of [idle, busy]) await seed(service(), key, 100)
    service().clock.advance(30 * DAY_MS)
    const { trialQuota } = service().deps
    expect((await execute(busy)).status).toBe(200)
    service().clock.advance(HOUR_MS)
    expect((await execute(busy)).status).toBe(200)
    await trialQuota.close()
    expect([await admissions(service(), idle), await admissions(service(), busy)]).toEqual([0, 2])
  })
})

describe.skipIf(postgresStart.kind === "absent")(`the trial quota of two services ${postgresTitle}`, () => {
  const twins = standingTwins()

  test("holds over both: 30 requests at once with 10 runs left are exactly 10 runs", async () => {
    const [one, two] = twins()
    const key = await mint(two, CUSTOMER, await mint(one, ADMIN))
    await seed(one, key, TRIAL_CAP.runs - 10)
    const asked = Array.from({ length: 30 }, (_, i) => execute(key, i % 2 === 0 ? one : two))
    expectExactly(await Promise.all(asked), 10)
    expect(await admissions(one, key)).toBe(TRIAL_CAP.runs)
  })
})
