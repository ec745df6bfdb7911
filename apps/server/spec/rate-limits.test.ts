/** docs/api.md, "Limits": requests a minute, per key and per address. Trial keys have a quota besides: trial-quota.test.ts. */
import { beforeAll, beforeEach, describe, expect, test } from "vitest"
import { WINDOW_MS } from "../src/http/access/request-counter.ts"
import { readConfig } from "../src/options/config.ts"
import { eachDatabase, postgresStart, postgresTitle } from "./database/databases.ts"
import { ADMIN, CUSTOMER, type Holder, heldAt, mint } from "./harness/key-holders.ts"
import { type Answer, expectRefused } from "./harness/read-answer.ts"
import { minted, runSql } from "./harness/read-tables.ts"
import { request } from "./harness/sample-requests.ts"
import { standingService } from "./harness/test-service.ts"
import { standingTwins } from "./harness/twin-services.ts"

const LIMITS = { rateLimit: 5, attestRateLimit: 3, anonymousRateLimit: 4 }
const DIGEST = { digest: "c3".repeat(32), algorithm: "sha256" }

const fieldsOf = ({ headers }: Answer): readonly (string | null)[] =>
  ["RateLimit-Policy", "RateLimit", "Retry-After"].map(name => headers.get(name))
/** The number of seconds is left to the clock: at most a window, and at least what a slow machine leaves of it. */
const seconds = String.raw`(60|[1-5]\d)`
const expectFields = (answer: Answer, name: string, limit: number, remaining: number): void => {
  const [policy, left] = fieldsOf(answer)
  expect(policy).toBe(`"${name}";q=${limit};w=60`)
  expect(left).toMatch(new RegExp(`^"${name}";r=${remaining};t=${seconds}$`))
}
const expectTooMany = (answer: Answer, name: string, limit: number): void => {
  expect(expectRefused(answer, 429)).toMatch(/too many requests/i)
  expectFields(answer, name, limit, 0)
  expect(answer.headers.get("Retry-After")).toMatch(new RegExp(`^${seconds}$`))
}
const statuses = (answers: readonly Answer[]): readonly number[] => answers.map(({ status }) => status)
/** One after the other. */
async function repeat(times: number, ask: () => Promise<Answer>): Promise<readonly Answer[]> {
  const answers: Answer[] = []
  while (answers.length < times) answers.push(await ask())
  return answers
}

test("the limits are 100 requests and 30 attestations a minute, unless the operator says otherwise", () => {
  expect(readConfig([], {})).toMatchObject({ rateLimit: 100, attestRateLimit: 30, anonymousRateLimit: 100 })
})

eachDatabase("rate limits of keys", open => {
  const service = standingService(() => ({ open, config: LIMITS }))
  let admin: Holder
  let alice: Holder
  let bob: Holder
  beforeAll(async () => {
    admin = await mint(service(), ADMIN)
    alice = await mint(service(), CUSTOMER, admin)
    bob = await mint(service(), { ...CUSTOMER, tier: "production" }, admin)
  })
  /** Every test has windows of its own. */
  beforeEach(() => service().clock.advance(WINDOW_MS))

  test("a key makes as many requests a minute as its limit; each answer says what is left", async () => {
    const answers = await repeat(5, () => alice.get("/runs"))
    expect(statuses(answers)).toEqual([200, 200, 200, 200, 200])
    for (const [i, answer] of answers.entries()) {
      expectFields(answer, "shared", 5, 4 - i)
      expect(answer.headers.get("Retry-After")).toBeNull()
    }
  })

  test("one more is a 429 that says when to come again, and nothing is minted", async () => {
    await repeat(5, () => alice.get("/runs"))
    const before = await minted(service().db)
    expectTooMany(await alice.post("/execute", request()), "shared", 5)
    expect(await minted(service().db)).toEqual(before)
  })

  test("requests at the same time are counted each: exactly the limit is answered", async () => {
    const answers = await Promise.all(Array.from({ length: 20 }, () => alice.get("/runs")))
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(5)
    expect(answers.filter(({ status }) => status === 429)).toHaveLength(15)
    const left = answers.flatMap(({ status, headers }) =>
      status === 200 ? [/r=(\d+)/.exec(headers.get("RateLimit") ?? "")?.[1]] : [],
    )
    expect(left.toSorted()).toEqual(["0", "1", "2", "3", "4"])
  })

  const SHARING: readonly (readonly [name: string, ask: (caller: Holder) => Promise<Answer>, status: number])[] = [
    ["POST /execute", caller => caller.post("/execute", request()), 200],
    ["POST /execute, refused", caller => caller.post("/execute", {}), 400],
    ["POST /execute/verify-determinism", caller => caller.post("/execute/verify-determinism", request()), 200],
    ["POST /dcae/verify", caller => caller.post("/dcae/verify", {}), 400],
    ["GET /runs", caller => caller.get("/runs"), 200],
    ["GET /runs/search", caller => caller.get("/runs/search?status=ok"), 200],
    ["GET /runs/{id}", caller => caller.get("/runs/999999"), 404],
    ["GET /runs/{id}/verify", caller => caller.get("/runs/999999/verify"), 404],
    ["GET /runs/{id}/artifacts", caller => caller.get("/runs/999999/artifacts"), 404],
    ["GET /runs/{id}/allow-token", caller => caller.get("/runs/999999/allow-token"), 404],
    ["GET /attestations", caller => caller.get("/attestations"), 200],
    ["an endpoint that is none", caller => caller.get("/nothing"), 404],
  ]

  test.each(SHARING)("%s counts against the shared limit", async (_name, ask, status) => {
    await repeat(3, () => alice.get("/runs"))
    const fourth = await ask(alice)
    expect(fourth.status).toBe(status)
    expectFields(fourth, "shared", 5, 1)
    await ask(alice)
    expectTooMany(await ask(alice), "shared", 5)
  })

  test("POST /attest has a limit of its own", async () => {
    const answers = await repeat(3, () => alice.post("/attest", DIGEST))
    expect(statuses(answers)).toEqual([201, 201, 201])
    for (const [i, answer] of answers.entries()) expectFields(answer, "attest", 3, 2 - i)
    expectTooMany(await alice.post("/attest", DIGEST), "attest", 3)
    expectFields(await alice.get("/attestations"), "shared", 5, 4)
  })

  test("a key that is used up does not touch another; admin keys have the same limit", async () => {
    await repeat(6, () => alice.get("/runs"))
    expectFields(await bob.get("/runs"), "shared", 5, 4)
    await repeat(5, () => admin.get("/runs"))
    expectTooMany(await admin.get("/runs"), "shared", 5)
  })

  test("a window begins with its first request and ends a minute later, however many were refused", async () => {
    await alice.get("/runs")
    service().clock.advance(WINDOW_MS / 2)
    await repeat(9, () => alice.get("/runs"))
    const refused = await alice.get("/runs")
    expect(refused.status).toBe(429)
    const wait = Number(refused.headers.get("Retry-After"))
    expect(wait).toBeGreaterThan(15)
    expect(wait).toBeLessThanOrEqual(30)
    service().clock.advance(wait * 1000)
    expectFields(await alice.get("/runs"), "shared", 5, 4)
  })

  test("a request that is refused at the door counts nowhere", async () => {
    const stranger = { "X-Service-Key": `rsk_${"0".repeat(48)}` }
    for (const headers of [stranger, {}])
      for (let i = 0; i < 7; i++) {
        const response = await service().request("/runs", { headers })
        expect(response.status).toBe(401)
        expect(response.headers.get("RateLimit")).toBeNull()
      }
    expectFields(await alice.get("/runs"), "shared", 5, 4)
  })

  test.each([
    "/health",
    "/version",
    "/log/checkpoint",
    "/.well-known/runseal-trust.json",
    `/public/runs/${"0".repeat(32)}/bundle.json`,
    "/runs/1/bundle.json",
    "/admin/keys",
    "/admin/nothing",
  ])("%s is not limited", async path => {
    await repeat(5, () => admin.get("/runs"))
    for (const answer of await repeat(7, () => admin.get(path))) {
      expect(answer.status).not.toBe(429)
      expect(fieldsOf(answer)).toEqual([null, null, null])
    }
  })

  test("a customer who is shown the door of /admin is not limited there either", async () => {
    expect(statuses(await repeat(7, () => alice.get("/admin/keys")))).toEqual(Array(7).fill(403))
    expectFields(await alice.get("/runs"), "shared", 5, 4)
  })
})

eachDatabase("rate limits in open mode", open => {
  const service = standingService(() => ({ open, config: LIMITS }))

  test("callers without a key have a limit of their own, and the one of /attest", async () => {
    const answers = await repeat(4, () => service().get("/runs"))
    for (const [i, answer] of answers.entries()) expectFields(answer, "shared", 4, 3 - i)
    expectTooMany(await service().get("/runs"), "shared", 4)
    expect(statuses(await repeat(4, () => service().post("/attest", DIGEST)))).toEqual([201, 201, 201, 429])
  })
})

describe.skipIf(postgresStart.kind === "absent")(`rate limits ${postgresTitle}`, () => {
  describe("of two services", () => {
    const twins = standingTwins({ rateLimit: 100, attestRateLimit: 30, anonymousRateLimit: 100 })

    test("hold over both: of 130 requests at once exactly 100 are answered, of 40 attestations 30", async () => {
      const [one, two] = twins()
      const admin = await mint(one, ADMIN)
      const customer = await mint(two, { ...CUSTOMER, tier: "production" }, admin)
      const ask = (i: number): Promise<Answer> => heldAt(i % 2 === 0 ? one : two, customer).get("/runs?limit=1")
      const answers = await Promise.all(Array.from({ length: 130 }, (_, i) => ask(i)))
      const answered = answers.filter(({ status }) => status === 200)
      expect(answered).toHaveLength(100)
      const left = answered.map(({ headers }) => Number(/r=(\d+)/.exec(headers.get("RateLimit") ?? "")?.[1]))
      expect(left.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 100 }, (_, i) => i))
      const attest = (i: number): Promise<Answer> => heldAt(i % 2 === 0 ? one : two, customer).post("/attest", DIGEST)
      const attested = await Promise.all(Array.from({ length: 40 }, (_, i) => attest(i)))
      expect(attested.filter(({ status }) => status === 201)).toHaveLength(30)
      expect(attested.filter(({ status }) => status === 429)).toHaveLength(10)
    })
  })

  describe("when requests cannot be counted", () => {
    const twins = standingTwins()

    test("they are refused with 503, never let through", async () => {
      const [service] = twins()
      const { db } = service
      await runSql(db, "alter table request_window rename to request_window_away")
      const answers = [await service.get("/runs"), await service.execute(request())]
      await runSql(db, "alter table request_window_away rename to request_window")
      for (const answer of answers) expectRefused(answer, 503)
      expect((await service.get("/runs")).body.total).toBe(0)
    })
  })

  describe("ended windows", () => {
    const twins = standingTwins()

    test("are deleted from the table, which holds no address", async () => {
      const [service] = twins()
      await service.get("/runs")
      const buckets = async (): Promise<readonly string[]> =>
        (await service.db.sql<{ bucket: string }[]>`select bucket from request_window`).map(({ bucket }) => bucket)
      const [anonymous = ""] = await buckets()
      expect(anonymous).toMatch(/^address:[0-9a-f]{32}:shared$/)
      service.clock.advance(WINDOW_MS)
      const admin = await mint(service, ADMIN)
      await admin.get("/runs")
      // Each of the two deletes ended windows in the background.
      await service.deps.rateLimits.close()
      await service.deps.keys.close()
      expect(await buckets()).toEqual([`key:${admin.id}:shared`])
    })
  })
})
