/**
 * docs/pipeline.md, "Order of sealing": group commit, one log, dense run numbers and gap-free chains, however many runs and
 * processes there are.
 */
import { setTimeout } from "node:timers/promises"
import type { JsonObject } from "@runseal/canonical"
import { describe, expect, test } from "vitest"
import { bothDatabases, postgresStart, postgresTitle } from "./database/databases.ts"
import { insist } from "./harness/keyed.ts"
import { sealAs } from "./harness/other-tenant.ts"
import { type Answer, numberAt, objectAt, textAt } from "./harness/read-answer.ts"
import { readTables, type Tables } from "./harness/read-tables.ts"
import { EICAR, request, spending } from "./harness/sample-requests.ts"
import { standingService, type TestService } from "./harness/test-service.ts"
import { standingTwins } from "./harness/twin-services.ts"

const RUNS = 300
const CALLERS = 4
const ROUNDS = 10

/** Runs of several outcomes, payloads and sizes, all at once. */
const mixed = (i: number): JsonObject => {
  switch (i % 5) {
    case 0:
      return request({ payload: `${EICAR} ${i}` })
    case 1:
      return spending(2_000_000, { payload: `${i}` })
    case 2:
      return spending(i, { payload: "p".repeat(i * 10), ai_output_text: `result ${i}` })
    default:
      return request({ route_id: `route/${i % 7}`, causal_graph: { run: i } })
  }
}
const expectedStage = (i: number): unknown => [["PEPG"], ["CCV"], [undefined], [undefined], [undefined]][i % 5]?.[0]

/** Trees that entries were proved against: two for each transaction. */
const transactionsOf = ({ runs }: Tables): number =>
  new Set(runs.map(({ bundle }) => textAt(lastEntry(bundle), "inclusionProof", "treeSize"))).size
const lastEntry = (bundle: string): JsonObject =>
  objectAt(JSON.parse(bundle) as JsonObject, "anchors", "complete_record", "entry")

const executeAll = (services: readonly TestService[]): Promise<readonly Answer[]> =>
  Promise.all(
    Array.from({ length: RUNS }, (_, i) => {
      const service = services[i % services.length]!
      return services.length === 1 ? service.execute(mixed(i)) : insist(service, "/execute", mixed(i))
    }),
  )

/** Begins so late that it is out of step with those that began before. */
async function executeRepeatedly(service: TestService, rounds: number, caller: number): Promise<void> {
  await setTimeout(9 * caller)
  for (let i = 0; i < rounds; i++) expect((await service.execute(request())).status).toBe(200)
}

function expectOutcomes(answers: readonly Answer[]): void {
  expect(answers.map(({ body }) => body.error_stage)).toEqual(answers.map((_, i) => expectedStage(i)))
  const ids = answers.map(({ body }) => numberAt(body, "run_id"))
  expect(new Set(ids).size).toBe(RUNS)
}

describe("few callers on the embedded database", () => {
  const service = standingService()

  test("share batches, although each waits for his answers and they are out of step", async () => {
    await Promise.all(Array.from({ length: CALLERS }, (_, i) => executeRepeatedly(service(), ROUNDS, i)))
    const tables = await readTables(service().db)
    expect(tables.runs).toHaveLength(CALLERS * ROUNDS)
    // Every caller in every batch would be as many as there are rounds; two groups that alternate make twice as many.
    expect(transactionsOf(tables)).toBeLessThan(2 * ROUNDS)
  })
})

bothDatabases("300 mixed runs at once", open => {
  const service = standingService(() => ({ open }))

  test("each ends in its own state, under a number of its own", async () => {
    expectOutcomes(await executeAll([service()]))
  })

  test("they were committed in groups, not one by one", async () => {
    const tables = await readTables(service().db)
    expect(tables.runs).toHaveLength(RUNS)
    expect(transactionsOf(tables)).toBeLessThan(RUNS / 3)
  })

  test("the record of each is its own: what was answered is what is stored", async () => {
    const answer = await service().execute(mixed(3))
    const id = numberAt(answer.body, "run_id")
    const bundle = (await service().get(`/runs/${id}/artifacts`)).body
    expect(bundle.manifest).toEqual(answer.body.manifest)
    expect(objectAt(bundle, "sections", "causal_graph").declared).toEqual({ run: 3 })
  })

  test("ordinals follow run numbers within a tenant, and tenants do not disturb each other", async () => {
    const tenants = [1, 2, 3].map(owner => ({ tenant_id: `api-key-${owner}`, owner }))
    const runs = Array.from({ length: 60 }, (_, i) => sealAs(service(), tenants[i % 3]!, { payload: `${i}` }))
    await Promise.all([...runs, service().execute(request())])
    const { runs: rows } = await readTables(service().db)
    for (const { owner } of tenants) {
      const own = rows.filter(row => row.owner === owner)
      expect(own.map(row => row.owner_ordinal)).toEqual(Array.from({ length: 20 }, (_, i) => i + 1))
    }
  })

  test("reads are answered while runs are sealed", async () => {
    const reads = [
      "/health",
      "/runs",
      "/runs/1",
      "/runs/1/verify",
      "/runs/1/artifacts",
      "/log/checkpoint",
      "/log/entry/1",
    ]
    const writes = Array.from({ length: 20 }, () => service().execute(request()))
    const answers = await Promise.all(Array.from({ length: 5 }, () => reads.map(path => service().get(path))).flat())
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200))
    expect((await Promise.all(writes)).map(({ status }) => status)).toEqual(writes.map(() => 200))
  })
})

describe.skipIf(postgresStart.kind === "absent")(`two services ${postgresTitle}`, () => {
  describe("300 mixed runs at once on both", () => {
    const twins = standingTwins()

    test("each ends in its own state, under a number of its own; the log has not forked", async () => {
      expectOutcomes(await executeAll(twins()))
    })

    test("both see every run and the same log", async () => {
      const [one, two] = twins()
      for (const path of ["/runs?limit=500", "/log/checkpoint", "/.well-known/runseal-trust.json"])
        expect((await one.get(path)).text).toBe((await two.get(path)).text)
      expect((await one.get("/runs")).body.total).toBe(RUNS)
    })

    test("they alternated, and committed in groups", async () => {
      const tables = await readTables(twins()[0].db)
      expect(transactionsOf(tables)).toBeLessThan(RUNS / 3)
    })

    test("a run of one is read, verified and judged by the other", async () => {
      const [one, two] = twins()
      const { body } = await one.execute(request())
      const { text } = await two.get(`/runs/${body.run_id}/artifacts`)
      expect((await two.get(`/runs/${body.run_id}/verify`)).body.verified).toBe(true)
      expect((await two.postRaw("/dcae/verify", text)).body.verified).toBe(true)
    })
  })

  describe("one budget", () => {
    const twins = standingTwins({ windowTokenBudget: 100 })

    test("50 runs of 10 tokens at once over both under a cap of 100: exactly 9 pass, every total distinct", async () => {
      const answers = await Promise.all(
        Array.from({ length: 50 }, (_, i) => insist(twins()[i % 2]!, "/execute", spending(10))),
      )
      expect(answers.filter(({ status }) => status === 200)).toHaveLength(9)
      const totals = answers.flatMap(({ body }) =>
        body.error_stage === "MACC" ? [numberAt(body, "macc_halt_receipt", "cumulative_at_halt")] : [],
      )
      expect(totals.sort((a, b) => a - b)).toEqual(Array.from({ length: 41 }, (_, i) => 100 + 10 * i))
    })
  })
})
