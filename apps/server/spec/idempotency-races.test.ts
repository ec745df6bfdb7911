/** One idempotency key at two processes of one PostgreSQL: one record and one charge, whatever process is asked, and when. */
import { afterAll, describe, expect, test } from "vitest"
import { bothDatabases, postgresStart, postgresTitle } from "./database/databases.ts"
import { expectReplayed, insist, isReplay, newKey, sendKeyed } from "./harness/keyed.ts"
import { type Answer, expectRefused, numberAt } from "./harness/read-answer.ts"
import { readTables } from "./harness/read-tables.ts"
import { startReviewStub } from "./harness/review-stub.ts"
import { request, spending } from "./harness/sample-requests.ts"
import { standingService, type TestService } from "./harness/test-service.ts"
import { standingTwins } from "./harness/twin-services.ts"
import { until } from "./harness/until.ts"

const stub = await startReviewStub()
afterAll(() => stub.close())

const attesting = { digest: "d1".repeat(32), algorithm: "sha256" }

/** Tokens charged so far, and records sealed. */
async function counted({ db }: TestService): Promise<{ tokens: number; runs: number; attestations: number }> {
  const { windows, runs, attestations } = await readTables(db)
  const tokens = windows.reduce((sum, { total }) => sum + total, 0)
  return { tokens, runs: runs.length, attestations: attestations.length }
}

/** All answers are the first one; all but one say that they are given again. */
function expectOneAnswer(answers: readonly Answer[]): void {
  const firsts = answers.filter(answer => !isReplay(answer))
  expect(firsts.length, "the first answer is given at most once").toBeLessThanOrEqual(1)
  const [first] = answers
  for (const answer of answers) expect([answer.status, answer.text]).toEqual([first?.status, first?.text])
}

bothDatabases("a run whose sealing failed after its charge", open => {
  const service = standingService(() => ({ open }))

  test("is charged once, however often it is tried under its key", async () => {
    const key = newKey()
    const before = await counted(service())
    service().clock.advance(3_600_000)
    await service().execute(request())
    service().clock.advance(-75_000)
    for (let tries = 0; tries < 3; tries++)
      expectRefused(await sendKeyed(service(), "/execute", key, spending(40)), 503)
    service().clock.advance(75_000)
    const answer = await sendKeyed(service(), "/execute", key, spending(40))
    expect([answer.status, isReplay(answer)]).toEqual([200, false])
    expect(await counted(service())).toEqual({ ...before, tokens: before.tokens + 40, runs: before.runs + 2 })
  })
})

describe.skipIf(postgresStart.kind === "absent")(`one key at two services ${postgresTitle}`, () => {
  const reviewer = { kind: "openai", model: "judge-1", timeoutMs: 3000, apiKey: "stub-key" } as const
  const twins = standingTwins({ reviewer: { ...reviewer, baseUrl: `${stub.url}/v1` } })

  test("makes one record and one charge, beside others that have none", async () => {
    const before = await counted(twins()[0])
    // Few enough that none waits as long as a request may, on a machine that does much else.
    const keys = Array.from({ length: 16 }, newKey)
    const work = keys.map(async (key, i) => {
      const [path, body] = i % 4 === 0 ? ["/attest", attesting] : ["/execute", spending(3)]
      const both = [...twins(), ...twins()].map(service => insist(service, path, body, key))
      const plain = twins()[i % 2]!.execute(request({ payload: `${i}` }))
      return { answers: await Promise.all(both), plain: await plain }
    })
    for (const { answers, plain } of await Promise.all(work)) {
      expectOneAnswer(answers)
      expect(plain.status).toBe(200)
    }
    expect(await counted(twins()[1])).toEqual({
      tokens: before.tokens + 12 * 3,
      runs: before.runs + 12 + 16,
      attestations: before.attestations + 4,
    })
  })

  test("with two bodies belongs to one of them, and never to the other", async () => {
    for (let round = 0; round < 10; round++) {
      const key = newKey()
      const bodies = [request({ payload: "one" }), request({ payload: "two" })]
      const answers = await Promise.all(bodies.map((body, i) => sendKeyed(twins()[i]!, "/execute", key, body)))
      expect(answers.filter(({ status }) => status === 200)).toHaveLength(1)
      for (const [i, { status }] of answers.entries()) {
        // The one that lost its charge to the other before sealing is refused, and has to be retried.
        expect([200, 409, 503]).toContain(status)
        const again = await sendKeyed(twins()[1 - i]!, "/execute", key, bodies[i]!)
        if (status === 200) expectReplayed(again, answers[i]!)
        else expect(expectRefused(again, 409)).toContain("another body")
      }
    }
  })

  test("that is tried elsewhere while its run is reviewed: the later attempt takes the charge, and seals", async () => {
    const [one, two] = twins()
    const key = newKey()
    const body = spending(11, { ai_output_text: "silence" })
    const before = await counted(one)
    const first = sendKeyed(one, "/execute", key, body)
    await until("the first attempt is charged", async () => (await counted(two)).tokens === before.tokens + 11)
    const second = sendKeyed(two, "/execute", key, body)
    const answers = await Promise.all([first, second])
    expect(answers[1]).toMatchObject({ status: 500, body: { error_stage: "AIVP_T4" } })
    if (answers[0].status === 503) expectRefused(answers[0], 503)
    else expectReplayed(answers[0], answers[1])
    expectReplayed(await insist(one, "/execute", body, key), answers[1])
    expect(await counted(one)).toEqual({ ...before, tokens: before.tokens + 11, runs: before.runs + 1 })
    expect(numberAt(answers[1].body, "run_id")).toBeGreaterThan(0)
  })
})
