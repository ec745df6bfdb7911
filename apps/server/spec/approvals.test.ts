/** Requests for an approval, from the refusal to their one end. docs/api.md, "Approvals". */
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { beforeAll, describe, expect, test } from "vitest"
import { testFolder } from "../../../libs/core/test/fixtures/test-folder.ts"
import { eachDatabase } from "./database/databases.ts"
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
import { expectRefused, numberAt, objectAt, textAt } from "./harness/read-answer.ts"
import { runSql } from "./harness/read-tables.ts"
import { dumpTables } from "./harness/spellings.ts"
import { openService, standingService } from "./harness/test-service.ts"
import { runVerifier } from "./harness/verifier.ts"

const SECRET_MEMO = "for-nobody-else-to-read"

eachDatabase("an approval", open => {
  const service = standingService(() => ({ open, policy: APPROVAL_POLICY, config: { approvals: "on" } }))
  let admin: Holder
  let asker: Holder
  let people: Readonly<Record<"anna" | "ben" | "cleo", Holder>>

  beforeAll(async () => {
    admin = await mint(service(), ADMIN)
    asker = await mint(service(), CUSTOMER, admin)
    people = {
      anna: await approver(service(), admin, "anna", ["treasury"]),
      ben: await approver(service(), admin, "ben", ["finance", "board"]),
      cleo: await approver(service(), admin, "cleo", ["board"]),
    }
  })
  const ask = async (amount = 12_500): Promise<string> => {
    const asked = await asker.post("/permits", transferOf(amount))
    expect(asked, asked.text).toMatchObject({ status: 202, body: { ok: true, state: "waiting" } })
    return approvalOf(asked)
  }
  const approveBy = async (id: string, ...who: readonly Holder[]): Promise<void> => {
    for (const person of who) expect((await decide(person, id, "approve")).status).toBe(200)
  }
  const policyFile = (folder: string): void =>
    writeFileSync(join(folder, "policy.json"), JSON.stringify(APPROVAL_POLICY))

  test("names the newest one before of the same key and route that got a permit, to those who see it", async () => {
    const shown = async (who: Holder, id: string) => objectAt((await who.get(`/approvals/${id}`)).body)
    const first = await ask(1_500_000)
    expect(await shown(people.anna, first)).not.toHaveProperty("approved_before")
    await approveBy(first, people.anna, people.ben, people.cleo)
    const second = await ask(11_000)
    expect(await shown(people.anna, second)).not.toHaveProperty("approved_before")
    expect((await collect(asker, first)).status).toBe(201)
    const third = await ask(12_000)
    expect(await shown(people.anna, third)).toMatchObject({
      approved_before: {
        approval_id: first,
        act: { values: [{ name: "amount", value: expect.stringMatching(/^1500000\./) }] },
        decisions: [{ subject: "anna" }, { subject: "ben" }, { subject: "cleo" }],
      },
    })
    const board = await ask(2_000_000)
    expect(await shown(people.cleo, board)).toMatchObject({ approved_before: { approval_id: first } })
    await approveBy(second, people.anna, people.ben)
    expect((await collect(asker, second)).status).toBe(201)
    // The board does not see the second one, since no rule of it names the board, but the first one.
    const last = await ask(3_000_000)
    expect(await shown(people.cleo, last)).toMatchObject({ approved_before: { approval_id: first } })
    expect(await shown(people.anna, last)).toMatchObject({ approved_before: { approval_id: second } })
  })

  test("of two people is a permit that has to be redeemed, and its record says who approved", async () => {
    const id = await ask()
    expect((await collect(asker, id)).status).toBe(202)
    await approveBy(id, people.anna)
    expect(await collect(asker, id)).toMatchObject({ status: 202, body: { state: "waiting" } })
    await approveBy(id, people.ben)
    const collected = await collect(asker, id)
    expect(collected).toMatchObject({
      status: 201,
      body: {
        opening: {
          redeem_required: true,
          sections: {
            policy_evaluation: { decision_reason_code: "RULE_APPROVED", fired_rule_id: "two-people" },
            approvals: {
              approval_id: id,
              outcome: "approved",
              decisions: [
                {
                  decision: "approve",
                  person: { subject: "anna" },
                  key_name: "key of anna",
                  groups: ["treasury"],
                  proof: "key",
                },
                { decision: "approve", person: { subject: "ben" }, groups: ["finance"] },
              ],
            },
          },
        },
      },
    })
    const permit = textAt(collected.body, "permit_id")
    const redeemed = await asker.post(`/permits/${permit}/redeem`, { permit: textAt(collected.body, "permit") })
    expect(redeemed.status).toBe(200)
    const closed = await asker.post(`/permits/${permit}/close`, { outcome: "completed" })
    expect(closed.status).toBe(200)

    const folder = testFolder("runseal-approved")
    const run = numberAt(closed.body, "run_id")
    for (const [name, path] of [
      ["bundle.json", `/runs/${run}/artifacts`],
      ["trust.json", "/.well-known/runseal-trust.json"],
    ] as const)
      writeFileSync(join(folder, name), (await asker.get(path)).text)
    policyFile(folder)
    const verified = await runVerifier(folder, ["bundle.json", "--trust", "trust.json", "--decided-by", "policy.json"])
    expect(verified).toMatchObject({ exit: 0, stdout: expect.stringContaining("DECIDED AGAIN") })
    expect(verified.stdout).toMatch(/Approved by anna \(treasury\) at .*by the API key key of anna/)
  })

  test("collected twice is one permit", async () => {
    const id = await ask()
    await approveBy(id, people.anna, people.ben)
    const [one, other] = [await collect(asker, id), await collect(asker, id)]
    expect([one.status, other.status]).toEqual([201, 201])
    expect(textAt(other.body, "permit_id")).toBe(textAt(one.body, "permit_id"))
  })

  test("a rejection ends the request in a refused run, also after the approvals", async () => {
    for (const before of [[], [people.anna], [people.anna, people.ben]]) {
      const id = await ask()
      await approveBy(id, ...before)
      // Not of these groups: there is no such request for her.
      expectRefused(await people.cleo.get(`/approvals/${id}`), 404)
      const last = before.at(-1) ?? people.ben
      expect((await decide(last, id, "reject", { comment: "not this month" })).status).toBe(200)
      const refused = await collect(asker, id)
      expect(refused).toMatchObject({ status: 422, body: { explanation: { reason: "APPROVAL_REJECTED" } } })
      expectRefused(await decide(last, id, "approve"), 409, "approval_over")
    }
  })

  test("nobody approves a payload that cannot be read; it can be rejected", async () => {
    const id = await ask()
    await runSql(service().db, `update approval set payload = '\\x00' where approval_id = '${id}'`)
    expectRefused(await decide(people.anna, id, "approve"), 409, "approval_over")
    expect((await decide(people.anna, id, "reject")).status).toBe(200)
    expect((await collect(asker, id)).status).toBe(422)
  })

  test("after a rejection the same act is refused at once for an hour, and asked for again after it", async () => {
    const body = transferOf(12_500)
    const id = approvalOf(await asker.post("/permits", body))
    await decide(people.anna, id, "reject")
    const refused = await collect(asker, id)
    expect(await asker.post("/permits", body)).toMatchObject({
      status: 422,
      body: { run_id: numberAt(refused.body, "run_id"), explanation: { reason: "APPROVAL_REJECTED" } },
    })
    const otherwise = await asker.post("/permits", { ...body, valid_for_seconds: 60 })
    expect(otherwise).toMatchObject({ status: 422, body: { explanation: { reason: "APPROVAL_REQUIRED" } } })
    service().clock.advance(APPROVAL_SECONDS * 1000 + 1)
    expect((await asker.post("/permits", body)).status).toBe(202)
  })

  test("the same act is asked for once while it waits, and under other terms not at all", async () => {
    const body = transferOf(12_500)
    const id = approvalOf(await asker.post("/permits", body))
    const again = await Promise.all([1, 2, 3].map(() => asker.post("/permits", body)))
    expect(again.map(approvalOf)).toEqual([id, id, id])
    const otherwise = await asker.post("/permits", { ...body, valid_for_seconds: 60 })
    expectRefused(otherwise, 409, "approval_waiting")
    const others = await Promise.all(
      [1, 2, 3].map(() => asker.post("/permits", { ...body, route_id: "payments/other" })),
    )
    expect(new Set(others.map(approvalOf)).size).toBe(1)
  })

  test("is over when its time is: not approved in time, or approved and not collected", async () => {
    const [waiting, approved] = [await ask(), await ask()]
    await approveBy(approved, people.anna, people.ben)
    service().clock.advance(APPROVAL_SECONDS * 1000)
    expectRefused(await decide(people.anna, waiting, "approve"), 409, "approval_over")
    await service().deps.approvalEnds.sweep()
    for (const [id, reason] of [
      [waiting, "APPROVAL_EXPIRED"],
      [approved, "APPROVAL_UNUSED"],
    ] as const)
      expect(await collect(asker, id)).toMatchObject({ status: 422, body: { explanation: { reason } } })
  })

  test("who asked withdraws a request, and a revoked key's are withdrawn", async () => {
    const id = await ask()
    expectRefused(await people.anna.send("DELETE", `/approvals/${id}`), 403, undefined)
    expect(await asker.send("DELETE", `/approvals/${id}`)).toMatchObject({ status: 200, body: { state: "refused" } })
    expectRefused(await asker.send("DELETE", `/approvals/${id}`), 409, "approval_over")

    const other = await mint(service(), { name: "other" }, admin)
    const left = approvalOf(await other.post("/permits", transferOf(12_500)))
    expectRefused(await collect(asker, left), 404, undefined)
    await approveBy(left, people.anna, people.ben)
    await admin.send("DELETE", `/admin/keys/${other.id}`)
    await service().deps.approvalEnds.sweep()
    const [row] = await runSql(service().db, `select state, permit_id from approval where approval_id = '${left}'`)
    expect(row).toEqual({ state: "refused", permit_id: "" })
  })

  test("a person counts for one rule alone", async () => {
    const id = await ask(2_000_000)
    await approveBy(id, people.anna, people.ben)
    // Ben has both groups: he is one of the two, or he is the board.
    expect(await collect(asker, id)).toMatchObject({ status: 202, body: { state: "waiting" } })
    await approveBy(id, people.cleo)
    expect(await collect(asker, id)).toMatchObject({
      status: 201,
      body: { opening: { sections: { policy_evaluation: { matched_rule_ids: ["board", "two-people"] } } } },
    })
  })

  test("is for the policy that asked: one that is loaded meanwhile changes nothing", async () => {
    const id = await ask()
    const lax = { ...APPROVAL_POLICY, policy_id: "lax", rules: [{ id: "transfers", effect: "deny", act: "transfer" }] }
    expect((await admin.post("/admin/policies", { policy: lax })).status).toBe(201)
    try {
      await approveBy(id, people.anna, people.ben)
      expect((await collect(asker, id)).status).toBe(201)
    } finally {
      await admin.post("/admin/policies", { policy: APPROVAL_POLICY })
    }
  })

  test("one that the budget refuses is used up", async () => {
    const asked = await asker.post("/permits", transferOf(12_500, { reserve_tokens: 999_999 }))
    const id = approvalOf(asked)
    await approveBy(id, people.anna, people.ben)
    await admin.send("PATCH", `/admin/keys/${asker.id}`, { window_token_budget: 10 })
    try {
      expect(await collect(asker, id)).toMatchObject({
        status: 422,
        body: { explanation: { reason: "CUMULATIVE_TOKEN_BUDGET_EXCEEDED" } },
      })
    } finally {
      await admin.send("PATCH", `/admin/keys/${asker.id}`, { window_token_budget: null })
    }
    expect((await collect(asker, id)).status).toBe(422)
  })

  test("the payload is in no table and no line of the log as text, and not at all once the request ended", async () => {
    const body = transferOf(12_500, { payload: `{"amount": "12500.5", "memo": "${SECRET_MEMO}"}` })
    const id = approvalOf(await asker.post("/permits", body))
    expect(textAt((await people.anna.get(`/approvals/${id}`)).body, "payload")).toContain(SECRET_MEMO)
    expect(await dumpTables(service().db, 8)).not.toContain(SECRET_MEMO)
    expect(service().logLines.join("\n")).not.toContain(SECRET_MEMO)
    await approveBy(id, people.anna, people.ben)
    await collect(asker, id)
    expect(objectAt((await people.anna.get(`/approvals/${id}`)).body)).not.toHaveProperty("payload")
    const [row] = await runSql(
      service().db,
      `select octet_length(payload) as bytes from approval where approval_id = '${id}'`,
    )
    expect(row).toEqual({ bytes: 0 })
  })

  test("a request that was changed in the database is not acted on", async () => {
    const id = await ask()
    await approveBy(id, people.anna, people.ben)
    const change = (hash: string) =>
      runSql(service().db, `update approval set request_hash = '${hash}' where approval_id = '${id}'`)
    const sealed = textAt((await asker.get(`/approvals/${id}`)).body, "request_digest")
    await change("0".repeat(64))
    expectRefused(await collect(asker, id), 409, "approval_over")
    await change(sealed)
    expect((await collect(asker, id)).status).toBe(201)
  })

  test("what a column of the database was changed to is neither shown nor decided", async () => {
    const id = await ask()
    const set = (needed: string) =>
      runSql(service().db, `update approval set needed = ${needed} where approval_id = '${id}'`)
    const request_digest = textAt((await people.anna.get(`/approvals/${id}`)).body, "request_digest")
    await set(`replace(needed, '"count":2', '"count":1')`)
    expectRefused(await people.anna.get(`/approvals/${id}`), 409, "approval_over")
    const sent = await people.anna.post(`/approvals/${id}/decision`, { request_digest, decision: "approve" })
    expectRefused(sent, 409, "approval_over")
    await set(`replace(needed, '"count":1', '"count":2')`)
    await approveBy(id, people.anna, people.ben)
    expect((await collect(asker, id)).status).toBe(201)
  })

  test("an act that is asked for while it is rejected is not asked for anew", async () => {
    for (let round = 0; round < 4; round++) {
      const body = transferOf(12_500)
      const id = approvalOf(await asker.post("/permits", body))
      const [, again] = await Promise.all([decide(people.anna, id, "reject"), asker.post("/permits", body)])
      const last = await asker.post("/permits", body)
      for (const answer of [again, last])
        if (answer.status === 202) expect(approvalOf(answer)).toBe(id)
        else expect([409, 422]).toContain(answer.status)
      expect((await collect(asker, id)).status).toBe(422)
    }
  })

  describe("is not asked for", () => {
    test("a payload that nobody can read whole", async () => {
      const payload = JSON.stringify({ amount: "12500.5", memo: "x".repeat(66_000) })
      expectRefused(await asker.post("/permits", transferOf(12_500, { payload })), 413, "approval_payload_too_large")
    })

    test("more than fifty acts of one key at once", async () => {
      const busy = await mint(service(), { name: "busy" }, admin)
      const answers = await Promise.all(Array.from({ length: 53 }, () => busy.post("/permits", transferOf(12_500))))
      expect(answers.filter(({ status }) => status === 202)).toHaveLength(50)
      for (const answer of answers.filter(({ status }) => status !== 202))
        expectRefused(answer, 429, "too_many_approvals")
    })
  })
})

describe("where the document of its policy is gone", () => {
  const service = standingService(() => ({ policy: APPROVAL_POLICY, config: { approvals: "on" } }))

  test("nothing is collected, and the request ends in time", async () => {
    const admin = await mint(service(), ADMIN)
    const asker = await mint(service(), CUSTOMER, admin)
    const id = approvalOf(await asker.post("/permits", transferOf(12_500)))
    for (const [name, group] of [
      ["anna", "treasury"],
      ["ben", "finance"],
    ] as const)
      expect((await decide(await approver(service(), admin, name, [group]), id, "approve")).status).toBe(200)
    const strict = { ...APPROVAL_POLICY, policy_id: "strict", required_attested_fields: ["actor_id"] }
    await admin.post("/admin/policies", { policy: strict })
    const [known] = await runSql(service().db, "select max(version) - 1 as version from policy_version")
    const [row] = await runSql(
      service().db,
      `update policy_hash set version = -version where version = ${Object(known).version} returning policy_hash`,
    )
    try {
      expectRefused(await collect(asker, id), 409, "approval_over")
      service().clock.advance(APPROVAL_SECONDS * 1000)
      await service().deps.approvalEnds.sweep()
      expect(await collect(asker, id)).toMatchObject({
        status: 422,
        body: { explanation: { reason: "APPROVAL_UNUSED" } },
      })
    } finally {
      await runSql(
        service().db,
        `update policy_hash set version = -version where policy_hash = '${Object(row).policy_hash}'`,
      )
      await admin.post("/admin/policies", { policy: APPROVAL_POLICY })
    }
  })
})

describe("a rule that matches at the collection alone", () => {
  const service = standingService(() => ({
    config: { approvals: "on" },
    policy: {
      policy_id: "hours",
      policy_name: "Hours",
      required_attested_fields: [],
      rules: [
        {
          id: "day",
          effect: "require_approval",
          approval: { by: ["treasury", "finance"], count: 1, within_seconds: 7200, end_user: "optional" },
        },
        {
          id: "later",
          effect: "require_approval",
          when: 'context.verified.clock > datetime("2026-05-04T12:20:00Z") && context.verified.clock < datetime("2026-05-04T12:30:00Z")',
          approval: { by: ["treasury", "finance"], count: 1, within_seconds: 60, end_user: "optional" },
        },
        {
          id: "evening",
          effect: "require_approval",
          when: 'context.verified.clock > datetime("2026-05-04T13:30:00Z")',
          approval: { by: ["treasury", "finance"], count: 1, within_seconds: 7200 },
        },
      ],
    },
  }))

  test("counts with its own time, and with the end user that it requires", async () => {
    const admin = await mint(service(), ADMIN)
    const asker = await mint(service(), CUSTOMER, admin)
    const people = [
      await approver(service(), admin, "anna", ["treasury"]),
      await approver(service(), admin, "ben", ["finance"]),
      await approver(service(), admin, "cleo", ["treasury", "finance"]),
    ]
    const asked = async (): Promise<string> => {
      const id = approvalOf(await asker.post("/permits", transferOf(12_500)))
      for (const person of people) expect((await decide(person, id, "approve")).status).toBe(200)
      return id
    }
    const late = await asked()
    service().clock.advance(25 * 60_000)
    expect(await collect(asker, late)).toMatchObject({
      status: 422,
      body: { explanation: { reason: "APPROVAL_REQUIRED" } },
    })
  })
})

test("requests that cannot be ended keep no other from its end, and the sweeper comes to a rest", async () => {
  const service = await openService({ policy: APPROVAL_POLICY, config: { approvals: "on" } })
  try {
    const admin = await mint(service, ADMIN)
    const asker = await mint(service, CUSTOMER, admin)
    const ids: string[] = []
    for (let at = 0; at < 40; at++) ids.push(approvalOf(await asker.post("/permits", transferOf(12_500))))
    const broken = ids.slice(0, 35).map(id => `'${id}'`)
    await runSql(service.db, `update approval set audience = 'other' where approval_id in (${broken})`)
    service.clock.advance(APPROVAL_SECONDS * 1000)
    await service.deps.approvalEnds.sweep()
    const [row] = await runSql(service.db, "select count(*)::int as ended from approval where ended_at > 0")
    expect(row).toEqual({ ended: 5 })
  } finally {
    await service.close()
  }
})
