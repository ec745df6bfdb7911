/**
 * docs/formats.md section 13: whatever runs, retries, halts and failures come together, on one process or two, an export of
 * the real service does not contradict itself; and what an operator changes in the database between two runs shows, though the service signs it.
 */
import { setTimeout as sleep } from "node:timers/promises"
import type { Completeness } from "@runseal/core/verify/completeness"
import fc from "fast-check"
import { afterAll, beforeEach, describe, expect, test } from "vitest"
import { exportReport } from "../../../../libs/core/test/fixtures/judged.ts"
import type { Database } from "../../src/store/driver/database.ts"
import { postgresStart, postgresTitle } from "../database/databases.ts"
import { trustOf } from "../harness/auditor.ts"
import { newKey, sendKeyed } from "../harness/keyed.ts"
import type { Answer } from "../harness/read-answer.ts"
import { startReviewStub } from "../harness/review-stub.ts"
import { request, spending } from "../harness/sample-requests.ts"
import { openService, standingService, type TestService } from "../harness/test-service.ts"
import { standingTwins } from "../harness/twin-services.ts"
import { runVerifierOn } from "../harness/verifier.ts"

const stub = await startReviewStub()
afterAll(() => stub.close())

const RUN_LIMIT = 60
const CAP = 400
const WINDOW_SECONDS = 600
const budgets = { runTokenBudget: RUN_LIMIT, windowTokenBudget: CAP, windowSeconds: WINDOW_SECONDS }
const reviewed = {
  ...budgets,
  reviewer: { kind: "openai", model: "judge-1", timeoutMs: 1500, apiKey: "stub-key", baseUrl: `${stub.url}/v1` },
} as const

async function exported(service: TestService): Promise<string> {
  const response = await service.request("/runs/export")
  expect(response.status).toBe(200)
  return response.text()
}

const judge = async (service: TestService): Promise<Completeness> =>
  exportReport(await exported(service), [await trustOf(service)], {}, service.clock.nowMs())

const HONEST = { verdict: "COMPLETE CHAIN VERIFIED AND ANCHORED", problems: [], notes: [] }

/** One caller's requests: what is spent, whether under a key, how often it is sent, where, and what is under review meanwhile. */
type Turn = {
  readonly tokens: number
  readonly keyed: boolean
  readonly sent: number
  readonly first: number
  readonly output: "silence" | "fine" | "none"
}
const turn: fc.Arbitrary<Turn> = fc.record({
  tokens: fc.oneof(
    { weight: 3, arbitrary: fc.integer({ min: 1, max: 40 }) },
    fc.constantFrom(0, RUN_LIMIT, RUN_LIMIT + 1),
  ),
  keyed: fc.boolean(),
  sent: fc.integer({ min: 1, max: 3 }),
  first: fc.nat(1),
  output: fc.constantFrom("none", "none", "none", "none", "none", "fine", "silence"),
})

/** Sends a request several times, to one service and the other, whatever the answer. */
async function play(
  services: readonly TestService[],
  { tokens, keyed, sent, first, output }: Turn,
): Promise<readonly Answer[]> {
  const key = newKey()
  const body = spending(tokens, output === "none" ? {} : { ai_output_text: output })
  const sends = Array.from({ length: keyed ? sent : 1 }, async (_, at) => {
    await sleep(at * 40)
    const service = services[(first + at) % services.length]!
    return keyed ? sendKeyed(service, "/execute", key, body) : service.execute(body)
  })
  return Promise.all(sends)
}

async function playAll(services: readonly TestService[], turns: readonly Turn[]): Promise<void> {
  const answers = (await Promise.all(turns.map(one => play(services, one)))).flat()
  for (const { status } of answers) expect([200, 409, 422, 500, 503]).toContain(status)
}

/** Charges a request whose sealing then fails: the log's clock is ahead of the service's. */
async function dieAfterCharge({ clock }: TestService, turns: readonly Turn[], services: readonly TestService[]) {
  clock.advance(70_000)
  await services[0]!.execute(request())
  clock.advance(-70_000)
  await playAll(services, turns)
  clock.advance(70_000)
}

describe("what callers send at once, and send again", () => {
  const service = standingService(() => ({ config: reviewed }))
  beforeEach(() => service().clock.advance(WINDOW_SECONDS * 1000))

  test("makes an export that does not contradict itself", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(turn, { minLength: 12, maxLength: 30 }),
        fc.array(turn, { maxLength: 6 }),
        async (turns, failing) => {
          await playAll([service()], turns)
          await dieAfterCharge(service(), failing, [service()])
          await playAll([service()], [...failing, ...turns.slice(0, 4)])
          service().clock.advance(200_000)
          expect(await judge(service())).toMatchObject(HONEST)
        },
      ),
      { numRuns: 3 },
    )
  }, 300_000)

  test("as the command finds, too", async () => {
    const trust = (await service().get("/.well-known/runseal-trust.json")).text
    const found = await runVerifierOn("export.ndjson", await exported(service()), trust, ["--complete"])
    expect(found, found.stdout + found.stderr).toMatchObject({ exit: 0, verdict: HONEST.verdict })
  })
})

describe.skipIf(postgresStart.kind === "absent")(`two processes ${postgresTitle}`, () => {
  const twins = standingTwins(reviewed)

  test("share windows and keys, and make an export that does not contradict itself", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(turn, { minLength: 20, maxLength: 40 }),
        fc.array(turn, { maxLength: 6 }),
        async (turns, failing) => {
          await playAll(twins(), turns)
          await dieAfterCharge(twins()[0], failing, twins())
          await playAll(twins(), [...failing, ...turns.slice(0, 4)])
          twins()[0].clock.advance(200_000)
          expect(await judge(twins()[1])).toMatchObject(HONEST)
          // The house is checked from both, and nobody stores a statement.
          twins()[0].statements.push(...twins()[1].statements.slice(-1))
        },
      ),
      { numRuns: 3 },
    )
  }, 300_000)
})

describe("an operator who changes the database between two runs is found out:", () => {
  /** How far the clock is moved on between the runs, and back: less than a log waits for, and much more than a slow machine takes. */
  const BETWEEN_MS = 50_000

  /** What a service signs when its database says something else than it did. */
  async function afterChange(
    change: (db: Database) => Promise<unknown>,
    before: (db: Database) => Promise<unknown> = async () => undefined,
  ): Promise<readonly string[]> {
    const service = await openService({ config: budgets })
    try {
      await before(service.db)
      for (const tokens of [30, 20]) await service.execute(spending(tokens))
      expect(await judge(service)).toMatchObject(HONEST)
      service.clock.advance(BETWEEN_MS)
      await service.execute(spending(5))
      await change(service.db)
      service.clock.advance(-BETWEEN_MS)
      await service.execute(spending(30))
      const found = await judge(service)
      expect(found.verdict).toBe(found.problem_count === 0 ? HONEST.verdict : "FAILED")
      return found.problems.map(({ sentence }) => sentence)
    } finally {
      await service.close()
    }
  }

  test("nothing changed, nothing found", async () => {
    expect(await afterChange(async () => undefined)).toEqual([])
  })

  test("a window that begins anew", async () => {
    const [first, ...more] = await afterChange(db => db.write(({ sql }) => sql`update tenant_window set total = 0`))
    expect(first).toMatch(
      /^record 4 \(run 4\) begins movement 4 of the window of .* at 0, and movement 3 leaves it at \d+$/,
    )
    expect(more).toEqual([])
  })

  test("a window that is set back in the middle of a charge", async () => {
    const found = await afterChange(db => db.write(({ sql }) => sql`update tenant_window set total = 49`))
    expect(found).toEqual([
      expect.stringMatching(/begins movement 4 of the window of .* at 49, and movement 3 leaves it at \d+$/),
    ])
  })

  test("a log whose time goes back", async () => {
    const found = await afterChange(db =>
      db.write(({ sql }) => sql`update log_head set log_time = log_time - ${BETWEEN_MS / 1000 + 1}`),
    )
    // The statement of the export is behind it too.
    for (const ordinal of [3, 4])
      expect(found).toContainEqual(
        expect.stringMatching(`^record ${ordinal} .run ${ordinal}. makes the log's time go back: `),
      )
    expect(found).toHaveLength(2)
  })

  test("run numbers that begin anew", async () => {
    const next = (number: number) => (db: Database) =>
      db.write(({ sql }) => sql`update log_head set next_run_id = ${number}`)
    const found = await afterChange(next(5), next(10))
    expect(found).toContain("record 4 (run 5) has a lower run number than record 3 (run 12) before it")
  })
})
