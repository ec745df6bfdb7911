/** What CCV and MACC halt: docs/pipeline.md, "Gates"; docs/formats.md sections 3.5, 3.6 and 3.9. */
import type { JsonObject } from "@runseal/canonical"
import { beforeEach, describe, expect, test } from "vitest"
import { bothDatabases } from "./database/databases.ts"
import { sealAs } from "./harness/other-tenant.ts"
import { type Answer, expectRefused, numberAt, objectAt, textAt } from "./harness/read-answer.ts"
import { minted } from "./harness/read-tables.ts"
import { EICAR, request, spending } from "./harness/sample-requests.ts"
import { standingService } from "./harness/test-service.ts"

const WINDOW_MS = 600_000
const budgets = { runTokenBudget: 60, windowTokenBudget: 100, windowSeconds: WINDOW_MS / 1000 }

bothDatabases("budgets", open => {
  const service = standingService(() => ({ open, config: budgets }))
  /** Every test has a window of its own. */
  beforeEach(() => {
    service().clock.advance(WINDOW_MS - (service().clock.nowMs() % WINDOW_MS))
  })
  const outcomeOf = ({ status, body }: Answer): unknown => (status === 200 ? "ok" : body.error_stage)
  const spend = async (tokens: number): Promise<unknown> => outcomeOf(await service().execute(spending(tokens)))
  const snapshotOf = async (answer: Answer): Promise<JsonObject> => {
    const bundle = (await service().get(`/runs/${numberAt(answer.body, "run_id")}/artifacts`)).body
    return objectAt(bundle, "sections", "budget_snapshot")
  }

  test("a run may declare exactly its budget; one token more is a CCV halt", async () => {
    expect(await spend(60)).toBe("ok")
    expect(await spend(61)).toBe("CCV")
  })

  test("no declared tokens count as zero", async () => {
    const undeclared = [
      request(),
      request({ request_substance: {} }),
      request({ request_substance: { cost: {} } }),
      request({ request_substance: { cost: { input_tokens: 99, output_tokens: 99 } } }),
      spending(0),
    ]
    for (const body of undeclared) {
      const answer = await service().execute(body)
      expect(answer.status).toBe(200)
      expect(await snapshotOf(answer)).toMatchObject({ declared_tokens: 0, window: { tokens: 0, total_after: 0 } })
    }
  })

  test("a window is closed at its cap, not beyond it: 40 + 59 pass, one more token halts", async () => {
    expect(await spend(40)).toBe("ok")
    expect(await spend(59)).toBe("ok")
    expect(await spend(1)).toBe("MACC")
  })

  test("a charge is not refunded, also for the run it halts", async () => {
    expect(await spend(60)).toBe("ok")
    expect(await spend(60)).toBe("MACC")
    expect(await spend(0)).toBe("MACC")
    const halted = await service().execute(spending(5))
    expect(numberAt(halted.body, "macc_halt_receipt", "cumulative_at_halt")).toBe(125)
  })

  test("a window that is closed halts a run without tokens too", async () => {
    expect(await spend(50)).toBe("ok")
    expect(await spend(50)).toBe("MACC")
    expect(await spend(0)).toBe("MACC")
  })

  test("the next window starts at zero", async () => {
    expect([await spend(60), await spend(60)]).toEqual(["ok", "MACC"])
    service().clock.advance(WINDOW_MS)
    const answer = await service().execute(spending(60))
    expect(outcomeOf(answer)).toBe("ok")
    const { nowMs } = service().clock
    const start = nowMs() - (nowMs() % WINDOW_MS)
    expect(await snapshotOf(answer)).toMatchObject({
      run_limit: 60,
      declared_tokens: 60,
      window: {
        cap: 100,
        window_seconds: 600,
        window_start: new Date(start).toISOString(),
        tokens: 60,
        total_after: 60,
      },
    })
  })

  test("windows are fixed and aligned to the epoch, not to the first charge", async () => {
    service().clock.advance(WINDOW_MS - 5000)
    expect(await spend(60)).toBe("ok")
    service().clock.advance(5000)
    expect(await spend(60)).toBe("ok")
  })

  test("neither a denied run nor a CCV halt charges the window", async () => {
    expect(outcomeOf(await service().execute(spending(50, { payload: EICAR })))).toBe("PEPG")
    const halted = await service().execute(spending(99))
    expect(outcomeOf(halted)).toBe("CCV")
    expect(await snapshotOf(halted)).not.toHaveProperty("window")
    expect(await snapshotOf(await service().execute(spending(1)))).toMatchObject({ window: { total_after: 1 } })
  })

  test("the bucket is the key, whatever actor a request declares", async () => {
    const of = (actor_id: string) => spending(60, { attested_context: { actor_id } })
    expect(outcomeOf(await service().execute(of("anna")))).toBe("ok")
    const halted = await service().execute(of("bert"))
    expect(outcomeOf(halted)).toBe("MACC")
    expect(textAt(halted.body, "macc_halt_receipt", "tenant_id")).toBe("anonymous")
  })

  test("another key has a bucket of its own", async () => {
    expect([await spend(60), await spend(60)]).toEqual(["ok", "MACC"])
    const declared = { request_substance: { cost: { total_tokens: 50 } } }
    const tenant = { tenant_id: "api-key-9", owner: 9 }
    const other = await sealAs(service(), tenant, { declared, declared_tokens: 50 })
    expect(other.bundle.run.outcome_kind).toBe("ok")
    expect(other.bundle.sections.budget_snapshot?.window?.total_after).toBe(50)
  })

  test("50 runs of 10 tokens at once under a cap of 100: exactly 9 pass, every total distinct", async () => {
    const answers = await Promise.all(Array.from({ length: 50 }, () => service().execute(spending(10))))
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(9)
    const halted = answers.filter(({ body }) => body.error_stage === "MACC")
    expect(halted).toHaveLength(41)
    const totals = halted.map(({ body }) => numberAt(body, "macc_halt_receipt", "cumulative_at_halt"))
    expect(totals.sort((a, b) => a - b)).toEqual(Array.from({ length: 41 }, (_, i) => 100 + 10 * i))
  })
})

describe("sums", () => {
  const most = Number.MAX_SAFE_INTEGER
  const service = standingService(() => ({ config: { runTokenBudget: most, windowTokenBudget: most } }))

  test("a charge that would take a window beyond 2^53 − 1 is a 400: nothing is charged and no run is made", async () => {
    expect((await service().execute(spending(most - 1))).status).toBe(200)
    const before = await minted(service().db)
    const answer = await service().execute(spending(2))
    expect(expectRefused(answer, 400)).toContain("2^53")
    expect(await minted(service().db)).toEqual(before)
  })

  test("the same charge rehearsed is refused too", async () => {
    expectRefused(await service().post("/execute/verify-determinism", spending(2)), 400)
  })

  test("a charge that reaches 2^53 − 1 is exact", async () => {
    const { body } = await service().execute(spending(1))
    expect(numberAt(body, "macc_halt_receipt", "cumulative_at_halt")).toBe(most)
  })
})

describe("a run budget of 0", () => {
  const service = standingService(() => ({ config: { runTokenBudget: 0 } }))

  test("halts any run that declares a token, and no other", async () => {
    expect((await service().execute(spending(0))).status).toBe(200)
    expect((await service().execute(spending(1))).body.error_stage).toBe("CCV")
  })
})
