/**
 * A clock that is stepped between any two steps of an approval: what was decided counts once, in an order that verifies, and the request ends once.
 * What the house checks after each test is part of every one. Decision 0260.
 */
import { beforeAll, describe, expect, test } from "vitest"
import {
  APPROVAL_POLICY,
  APPROVAL_SECONDS,
  approvalOf,
  approver,
  collect,
  decide,
  transferOf,
} from "./harness/approving-people.ts"
import { ADMIN, CUSTOMER, type Holder, mint } from "./harness/key-holders.ts"
import { type Answer, expectRefused, textAt } from "./harness/read-answer.ts"
import { readTables } from "./harness/read-tables.ts"
import { standingService } from "./harness/test-service.ts"

const STEPS = ["asked", "decided", "decided by the second", "collected", "closed"] as const
/** Less than a service seals nothing for, and more. */
const SMALL_MS = 30_000
const LARGE_MS = 600_000

describe("a clock that is stepped", () => {
  const service = standingService(() => ({ policy: APPROVAL_POLICY, config: { approvals: "on" } }))
  let asker: Holder
  let anna: Holder
  let ben: Holder
  beforeAll(async () => {
    const admin = await mint(service(), ADMIN)
    asker = await mint(service(), CUSTOMER, admin)
    anna = await approver(service(), admin, "anna", ["treasury"])
    ben = await approver(service(), admin, "ben", ["finance"])
  })

  /** The steps of one approval, in their order; each takes what the one before has found. */
  function walk(): readonly (() => Promise<Answer>)[] {
    const body = transferOf(12_500)
    let id = ""
    let permit = ""
    return [
      async () => {
        const asked = await asker.post("/permits", body)
        if (asked.status === 202) id = approvalOf(asked)
        return asked
      },
      () => decide(anna, id, "approve"),
      () => decide(ben, id, "approve"),
      async () => {
        const collected = await collect(asker, id)
        if (collected.status === 201) permit = textAt(collected.body, "permit_id")
        return collected
      },
      () => asker.post(`/permits/${permit}/close`, { outcome: "completed" }),
    ]
  }
  const good = [202, 200, 200, 201, 200]
  const ends = async (): Promise<readonly string[]> =>
    (await readTables(service().db)).requests.map(({ state }) => state)

  test.each(STEPS.flatMap((name, at) => [-SMALL_MS, SMALL_MS].map(ms => ({ name, at, ms }))))(
    "by $ms ms before it is $name: the permit is given once",
    async ({ at, ms }) => {
      for (const [index, step] of walk().entries()) {
        if (index === at) service().clock.advance(ms)
        const answer = await step()
        expect(answer.status, answer.text).toBe(good[index])
      }
      service().clock.advance(2 * SMALL_MS)
    },
  )

  test.each(STEPS.map((name, at) => ({ name, at })))(
    "far back before it is $name: nothing is done until it is right, and then once",
    async ({ at }) => {
      for (const [index, step] of walk().entries()) {
        if (index === at) {
          const before = await ends()
          service().clock.advance(-LARGE_MS)
          expectRefused(await step(), 503)
          service().clock.advance(LARGE_MS)
          expect(await ends()).toEqual(before)
        }
        const answer = await step()
        expect(answer.status, answer.text).toBe(good[index])
      }
    },
  )

  test.each([
    { decisions: 0, reason: "APPROVAL_EXPIRED" },
    { decisions: 1, reason: "APPROVAL_EXPIRED" },
    { decisions: 2, reason: "APPROVAL_UNUSED" },
  ])("beyond the end of the request after $decisions decisions, and back: it ended, and no permit comes", async row => {
    const steps = walk()
    for (const step of steps.slice(0, 1 + row.decisions)) await step()
    service().clock.advance(APPROVAL_SECONDS * 1000)
    await service().deps.approvalEnds.sweep()
    service().clock.advance(-SMALL_MS)
    const collected = await steps[3]?.()
    expect(collected?.status).toBe(422)
    expect(collected?.text).toContain(row.reason)
    service().clock.advance(SMALL_MS)
  })
})
