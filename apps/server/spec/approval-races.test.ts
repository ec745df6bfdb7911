/**
 * Requests for an approval that are decided, collected, withdrawn, ended and revoked at once, by two processes: no permit without its approvals,
 * none twice, and each request ends once. What the house checks after each test is part of every one: each request ends in one document.
 */
import { beforeAll, describe, expect, test } from "vitest"
import { postgresStart, postgresTitle } from "./database/databases.ts"
import {
  APPROVAL_POLICY,
  APPROVAL_SECONDS,
  approvalOf,
  approver,
  collect,
  decide,
  transferOf,
} from "./harness/approving-people.ts"
import { ADMIN, CUSTOMER, type Holder, heldAt, mint } from "./harness/key-holders.ts"
import { type Answer, textAt } from "./harness/read-answer.ts"
import { readTables } from "./harness/read-tables.ts"
import { standingTwins } from "./harness/twin-services.ts"

/** Requests of one race: small steps in time between them, so that each order of the steps is met. */
const ROUNDS = 12

describe.skipIf(postgresStart.kind === "absent")(`two services ${postgresTitle}`, describeTwins)

function describeTwins(): void {
  const twins = standingTwins({ approvals: "on" }, APPROVAL_POLICY)
  let admin: Holder
  let asker: Holder
  let anna: Holder
  let ben: Holder
  const at = (holder: Holder): Holder => heldAt(twins()[1], holder)

  beforeAll(async () => {
    const [one] = twins()
    admin = await mint(one, ADMIN)
    asker = await mint(one, CUSTOMER, admin)
    anna = await approver(one, admin, "anna", ["treasury"])
    ben = await approver(one, admin, "ben", ["finance"])
  })

  const ask = async (by = asker): Promise<string> => approvalOf(await by.post("/permits", transferOf(12_500)))
  const approved = async (by = asker): Promise<string> => {
    const id = await ask(by)
    for (const person of [anna, ben]) expect((await decide(person, id, "approve")).status).toBe(200)
    return id
  }
  const permitsOf = (answers: readonly Answer[]): ReadonlySet<string> =>
    new Set(answers.filter(({ status }) => status === 201).map(({ body }) => textAt(body, "permit_id")))
  const ends = async (id: string): Promise<{ readonly state: string; readonly permits: number }> => {
    const { requests, permits } = await readTables(twins()[0].db)
    const row = requests.find(({ approval_id }) => approval_id === id)
    return {
      state: row?.state ?? "",
      permits: permits.filter(({ opening }) => opening.includes(id)).length,
    }
  }

  test("a payload that one process encrypted is shown by the other", async () => {
    const id = await ask()
    const shown = await Promise.all([anna, at(anna)].map(holder => holder.get(`/approvals/${id}`)))
    expect(new Set(shown.map(({ body }) => textAt(body, "payload"))).size).toBe(1)
  })

  test(`of many collections by two processes there is one permit`, async () => {
    for (let round = 0; round < ROUNDS; round++) {
      const id = await approved()
      const answers = await Promise.all([asker, at(asker), asker, at(asker)].map(holder => collect(holder, id)))
      expect(answers.map(({ status }) => status)).toEqual([201, 201, 201, 201])
      expect(permitsOf(answers).size).toBe(1)
      expect(await ends(id)).toEqual({ state: "collected", permits: 1 })
    }
  })

  test("a rejection and a collection at once: one of them", async () => {
    for (let round = 0; round < ROUNDS; round++) {
      const id = await approved()
      const [rejection, collected] = await Promise.all([decide(at(anna), id, "reject"), collect(asker, id)])
      const isRejected = rejection.status === 200
      expect([rejection.status, collected.status]).toEqual(isRejected ? [200, 422] : [409, 201])
      expect(await ends(id)).toEqual(isRejected ? { state: "refused", permits: 0 } : { state: "collected", permits: 1 })
    }
  })

  test("approvals of two people in two processes at once both count, and so does one person's twice once", async () => {
    for (let round = 0; round < ROUNDS; round++) {
      const id = await ask()
      await Promise.all([decide(anna, id, "approve"), decide(at(anna), id, "approve")])
      expect((await collect(asker, id)).status).toBe(202)
      await Promise.all([decide(ben, id, "approve"), decide(at(anna), id, "approve")])
      expect((await collect(at(asker), id)).status).toBe(201)
    }
  })

  test("a withdrawal, a collection and an approval at once: the request ends once", async () => {
    for (let round = 0; round < ROUNDS; round++) {
      const id = await approved()
      const [withdrawn, collected] = await Promise.all([
        at(asker).send("DELETE", `/approvals/${id}`),
        collect(asker, id),
        decide(anna, id, "approve"),
      ])
      expect([200, 409]).toContain(withdrawn.status)
      expect([201, 422]).toContain(collected.status)
      expect(withdrawn.status === 200).toBe(collected.status === 422)
      expect((await ends(id)).permits).toBe(collected.status === 201 ? 1 : 0)
    }
  })

  test("the end of the time and a collection at once: one of them", async () => {
    for (let round = 0; round < ROUNDS / 2; round++) {
      const id = await approved()
      twins()[0].clock.advance(APPROVAL_SECONDS * 1000 - 40 + 15 * round)
      const [one, other] = twins()
      const [collected] = await Promise.all([
        collect(at(asker), id),
        one.deps.approvalEnds.sweep(),
        other.deps.approvalEnds.sweep(),
      ])
      expect([201, 422]).toContain(collected.status)
      await one.deps.approvalEnds.sweep()
      expect((await ends(id)).permits).toBe(collected.status === 201 ? 1 : 0)
    }
  })

  test("a revoked key and its collection at once: a permit before the revocation, or none", async () => {
    for (let round = 0; round < ROUNDS / 2; round++) {
      const busy = await mint(twins()[0], { name: `busy ${round}` }, admin)
      const id = await approved(busy)
      const [collected] = await Promise.all([
        collect(at(busy), id),
        admin.send("DELETE", `/admin/keys/${busy.id}`),
        twins()[0].deps.approvalEnds.sweep(),
      ])
      expect([201, 401, 422]).toContain(collected.status)
      await twins()[1].deps.approvalEnds.sweep()
      const { state, permits } = await ends(id)
      expect(state).toBe(permits === 1 ? "collected" : "refused")
      expect(permits).toBe(collected.status === 201 ? 1 : permits)
    }
  })
}
