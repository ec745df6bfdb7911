/** Who sees a request for an approval, and who decides on it. docs/api.md, "Approvals". */
import { type JsonObject, sha256Hex, utf8Encode } from "@runseal/canonical"
import { END_USER_HEADER } from "@runseal/core/wire/end-user-token"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { eachDatabase } from "./database/databases.ts"
import { transferPolicy } from "./harness/approving-people.ts"
import { asking } from "./harness/asked-permits.ts"
import {
  AUDIENCE,
  type HostileProvider,
  providerKey,
  startProvider,
  tokenBy,
  trusting,
} from "./harness/hostile-provider.ts"
import { ADMIN, CUSTOMER, type Holder, mint } from "./harness/key-holders.ts"
import { type Answer, at, expectRefused, listAt, objectAt, textAt } from "./harness/read-answer.ts"
import { CLIENT, personHolder, signInBrowser, signInConfig } from "./harness/sign-in-browser.ts"
import { dumpTables } from "./harness/spellings.ts"
import { standingService } from "./harness/test-service.ts"

const MINUTE_MS = 60_000
const KEY = providerKey("RS256")
let provider: HostileProvider
beforeAll(async () => {
  provider = await startProvider()
  provider.keys.push(KEY)
})
afterAll(() => provider.close())

const rule = (id: string, above: string, approval: JsonObject): JsonObject => ({
  id,
  when: `context.act.amount.greaterThan(decimal("${above}"))`,
  approval: { count: 1, within_seconds: 3600, end_user: "optional", ...approval },
})
/** Above 10,000 one person of treasury; above 20,000 one of the board too; above 30,000 a sign-in besides. */
const POLICY = transferPolicy(
  rule("treasury", "10000.0", { by: ["treasury"] }),
  rule("board", "20000.0", { by: ["board", "treasury"] }),
  rule("signed-in", "30000.0", { by: ["audit"], proof: "idp" }),
)
const [ONE, TWO, SIGNED_IN] = [10_001, 20_001, 30_001]

eachDatabase("requests for an approval", open => {
  const service = standingService(() => ({
    open,
    policy: POLICY,
    config: {
      ...signInConfig(
        provider.issuer,
        new Map([
          ["people", "approver"],
          ["auditors", "auditor"],
        ] as const),
      ),
      ...trusting(provider.issuer),
      approvals: "on",
    },
  }))
  let admin: Holder
  let agent: Holder
  let treasurer: Holder
  let boardMember: Holder
  beforeAll(async () => {
    admin = await mint(service(), ADMIN)
    agent = await mint(service(), { ...CUSTOMER, tier: "production", persons: ["olga"] }, admin)
    treasurer = await approverKey("tom", ["treasury"])
    boardMember = await approverKey("bea", ["board"])
  })
  const approverKey = (person: string, groups: readonly string[]): Promise<Holder> =>
    mint(service(), { name: `key of ${person}`, scope: "approver", person, groups: [...groups] }, admin)

  /** A person signs in at the provider, in a browser of its own. */
  async function signedIn(sub: string, groups: readonly string[]): Promise<Holder> {
    service().clock.advance(MINUTE_MS)
    const browser = signInBrowser(service)
    const started = await browser.send("POST", "/session/sign-in", {})
    const sent = new URL(textAt(started.body, "url")).searchParams
    const iat = Math.floor(Date.now() / 1000)
    const claims = { iss: provider.issuer, aud: CLIENT.id, sub, name: `Name of ${sub}`, groups, iat, exp: iat + 300 }
    provider.idToken = () => tokenBy(KEY, { ...claims, nonce: sent.get("nonce") })
    const query = `${new URLSearchParams({ code: "a code", state: sent.get("state") ?? "" })}`
    const answer = await browser.send("POST", "/session/sign-in/answer", { query })
    expect(answer.status, answer.text).toBe(201)
    return personHolder(browser, sub)
  }

  let cents = 0
  /** Another act each time. @param endUser subject of the token that the request carries */
  async function asked(amount: number, endUser?: string): Promise<string> {
    const payload = JSON.stringify({ amount: `${amount}.${String(++cents).padStart(2, "0")}` })
    const iat = Math.floor(service().clock.nowMs() / 1000)
    const claims = { iss: provider.issuer, aud: AUDIENCE, sub: endUser, iat, exp: iat + 300 }
    const answer = await service().postRaw(
      "/permits",
      JSON.stringify(asking({ route_id: "payments/transfer", payload })),
      {
        "Content-Type": "application/json",
        "X-Service-Key": agent.secret ?? "",
        ...(endUser === undefined ? {} : { [END_USER_HEADER]: tokenBy(KEY, claims, { typ: "at+jwt" }) }),
      },
    )
    expect(answer.status, answer.text).toBe(202)
    return textAt(answer.body, "approval_id")
  }
  const shownTo = (holder: Holder, id: string): Promise<Answer> => holder.get(`/approvals/${id}`)
  const decides = async (holder: Holder, id: string, decision = "approve", more: JsonObject = {}): Promise<Answer> => {
    const { body } = await shownTo(agent, id)
    return holder.post(`/approvals/${id}/decision`, { request_digest: body.request_digest ?? "", decision, ...more })
  }
  const collected = (id: string): Promise<Answer> => agent.send("POST", `/approvals/${id}/permit`)
  const idsOf = async (holder: Holder, query = ""): Promise<readonly unknown[]> =>
    listAt((await holder.get(`/approvals${query}`)).body, "approvals").map(row => objectAt(row).approval_id)

  describe("who sees them", () => {
    test("the key that asked, and those who have a group of a rule; to nobody else is there such a request", async () => {
      const id = await asked(ONE)
      const other = await mint(service(), CUSTOMER, admin)
      for (const holder of [agent, treasurer]) {
        expect((await shownTo(holder, id)).status).toBe(200)
        expect(await idsOf(holder)).toContain(id)
      }
      for (const holder of [other, admin, boardMember, await signedIn("zoe", ["people"])]) {
        expectRefused(await shownTo(holder, id), 404, "not_found")
        expectRefused(await decides(holder, id), 404, "not_found")
        expect(await idsOf(holder)).not.toContain(id)
      }
    })

    test("with everything that people decide on; the payload is for those who approve alone", async () => {
      const id = await asked(TWO, "eve")
      const { body } = await shownTo(boardMember, id)
      expect(body).toMatchObject({
        state: "waiting",
        tenant_id: `api-key-${agent.id}`,
        route_id: "payments/transfer",
        end_user: { issuer: provider.issuer, subject: "eve" },
        needed: [
          { rule_id: "board", by: ["board", "treasury"], count: 1 },
          { rule_id: "treasury", by: ["treasury"], count: 1 },
        ],
        decisions: [],
        rejections: [],
        address: expect.stringContaining(`/console/approval?id=${id}`),
      })
      const sections = objectAt(body, "request", "sections")
      expect(sha256Hex(utf8Encode(textAt(body, "payload")))).toBe(
        textAt(objectAt(sections, "envelope"), "payload_hash"),
      )
      expect(at(body, "request", "request_hash")).toBe(body.request_digest)
      expect((await shownTo(agent, id)).body).not.toHaveProperty("payload")
      const { body: verified } = await agent.post("/dcae/verify", objectAt(body, "request"))
      expect(verified).toMatchObject({ verdict: "APPROVAL REQUEST VERIFIED AND ANCHORED" })
    })

    test("in lists newest first, in pages, by state", async () => {
      const ids = [await asked(ONE), await asked(ONE), await asked(ONE)].toReversed()
      const first = await treasurer.get("/approvals?limit=2")
      expect(listAt(first.body, "approvals").map(row => objectAt(row).approval_id)).toEqual(ids.slice(0, 2))
      const second = await idsOf(treasurer, `?limit=2&before=${textAt(first.body, "next")}`)
      expect(second[0]).toBe(ids[2])
      await decides(treasurer, ids[0] ?? "")
      expect(await idsOf(treasurer, "?state=approved&limit=1")).toEqual([ids[0]])
      expectRefused(await treasurer.get("/approvals?state=open"), 400, "invalid_parameter")
      expectRefused(await treasurer.get("/approvals?before=1"), 400, "invalid_parameter")
    })
  })

  describe("a decision", () => {
    test("of enough people makes it approved; the permit holds who approved", async () => {
      const id = await asked(TWO)
      expect((await decides(boardMember, id, "approve", { comment: "checked" })).body).toMatchObject({
        state: "waiting",
        decisions: [
          {
            decision: "approve",
            subject: "bea",
            key_name: "key of bea",
            groups: ["board"],
            proof: "key",
            comment: "checked",
          },
        ],
      })
      expect((await collected(id)).status).toBe(202)
      const tess = await signedIn("tess", ["people", "treasury", "unnamed"])
      expect((await decides(tess, id)).body).toMatchObject({
        state: "approved",
        decisions: [
          { subject: "bea" },
          { subject: "tess", issuer: provider.issuer, name: "Name of tess", groups: ["treasury"], proof: "idp" },
        ],
      })
      const { status, body } = await collected(id)
      expect(status).toBe(201)
      const sealed = listAt(objectAt(body, "opening", "sections", "approvals"), "decisions")
      expect(sealed).toMatchObject([{ person: { subject: "bea" } }, { person: { subject: "tess" } }])
      expect(JSON.stringify(sealed)).not.toContain("checked")
      expect((await shownTo(treasurer, id)).body).toMatchObject({
        state: "collected",
        permit_id: textAt(body, "permit_id"),
      })
      expect((await shownTo(treasurer, id)).body).not.toHaveProperty("payload")
    })

    test("to reject ends it at once, also once it is approved; the next request of that act shows it", async () => {
      const id = await asked(ONE)
      await decides(treasurer, id)
      const tess = await signedIn("tess", ["people", "treasury"])
      expect((await decides(tess, id, "reject", { comment: "wrong account" })).status).toBe(200)
      const refused = await collected(id)
      expect(refused).toMatchObject({ status: 422, body: { explanation: { reason: "APPROVAL_REJECTED" } } })
      expectRefused(await decides(boardMember, id), 404)
      expectRefused(await decides(await approverKey("ted", ["treasury"]), id), 409, "approval_over")
    })

    test("is of one document: another digest decides nothing", async () => {
      const id = await asked(ONE)
      const answer = await decides(treasurer, id, "approve", { request_digest: "0".repeat(64) })
      expectRefused(answer, 409, "approval_over")
      expect((await shownTo(treasurer, id)).body).toMatchObject({ state: "waiting", decisions: [] })
    })

    test("comes in time", async () => {
      const id = await asked(ONE)
      service().clock.advance(61 * MINUTE_MS)
      expectRefused(await decides(treasurer, id), 409, "approval_over")
    })

    test("is an admin event, which names the person and holds no comment", async () => {
      const id = await asked(ONE)
      await decides(treasurer, id, "approve", { comment: "a private remark" })
      await decides(treasurer, id)
      const events = listAt((await admin.get(`/admin/audit?subject_kind=approval&subject_id=${id}`)).body, "events")
      expect(events).toMatchObject([
        {
          action: "approval.approve",
          who: { actor: `api-key-${treasurer.id}` },
          after: { person: "tom", proof: "key", request_digest: (await shownTo(agent, id)).body.request_digest },
        },
      ])
      expect(JSON.stringify(events)).not.toContain("private")
    })
  })

  test("what people wrote is deleted by them and by administrators; what is sealed of it stays a hash", async () => {
    const id = await asked(TWO)
    await decides(treasurer, id, "approve", { comment: "a remark by the treasurer" })
    await decides(boardMember, id, "approve", { comment: "a remark by the board" })
    const remove = (by: Holder) => by.send("DELETE", `/approvals/${id}/comments`)
    expectRefused(await remove(agent), 403, "not_an_approver")
    const [own, again] = [await remove(treasurer), await remove(treasurer)]
    expect(own).toMatchObject({
      status: 200,
      body: { decisions: [{ subject: "tom" }, { comment: "a remark by the board" }] },
    })
    expect(again.body).toEqual(own.body)
    const opening = objectAt((await collected(id)).body, "opening")
    const sealed = listAt(objectAt(objectAt(opening, "sections"), "approvals"), "decisions")
    expect(sealed.every(decision => /^[0-9a-f]{64}$/.test(textAt(decision, "comment_hash")))).toBe(true)
    expect(JSON.stringify((await remove(admin)).body)).not.toContain("comment")
    expect(await dumpTables(service().db, 1)).not.toMatch(/a remark by the/)
    const { body } = await admin.get(`/admin/audit?subject_kind=approval&subject_id=${id}`)
    expect(
      listAt(body, "events").flatMap(event =>
        textAt(event, "action") === "approval.delete_comments" ? [at(event, "after", "deleted")] : [],
      ),
    ).toEqual([1, 1])
  })

  describe("nobody decides", () => {
    test("on what was asked for in their own name", async () => {
      const id = await asked(ONE, "tess")
      expectRefused(await decides(await signedIn("tess", ["people", "treasury"]), id), 403, "not_an_approver")
      expectRefused(await decides(await approverKey("tess", ["treasury"]), id), 403, "not_an_approver")
      expect((await decides(treasurer, id)).status).toBe(200)
    })

    test("whom the key that asks names", async () => {
      const id = await asked(ONE)
      expectRefused(await decides(await signedIn("olga", ["people", "treasury"]), id), 403, "not_an_approver")
      expectRefused(await decides(await approverKey("olga", ["treasury"]), id), 403, "not_an_approver")
      expectRefused(await decides(agent, id), 403, "not_an_approver")
    })

    test("long after the sign-in", async () => {
      const id = await asked(ONE)
      const tess = await signedIn("tess", ["people", "treasury"])
      service().clock.advance(15 * MINUTE_MS + 1)
      expectRefused(await decides(tess, id), 403, "sign_in_again")
      expect((await decides(await signedIn("tess", ["people", "treasury"]), id)).status).toBe(200)
    })

    test("to approve with a key where a sign-in is needed; it can be rejected", async () => {
      const id = await asked(SIGNED_IN)
      const auditKey = await approverKey("anna", ["audit"])
      expectRefused(await decides(auditKey, id), 403, "not_an_approver")
      expect((await decides(await signedIn("anna", ["people", "audit"]), id)).status).toBe(200)
      expect((await decides(await approverKey("abe", ["audit"]), id, "reject")).status).toBe(200)
    })

    test("to approve what cannot be shown any more; it can be rejected", async () => {
      const id = await asked(ONE)
      await service().db.sql`update approval set payload = decode('00', 'hex') where approval_id = ${id}::text`
      expect((await shownTo(treasurer, id)).body).not.toHaveProperty("payload")
      expectRefused(await decides(treasurer, id), 409, "approval_over")
      expect((await decides(treasurer, id, "reject")).status).toBe(200)
    })

    test("with a revoked key", async () => {
      const id = await asked(ONE)
      const gone = await approverKey("gus", ["treasury"])
      await admin.send("DELETE", `/admin/keys/${gone.id}`)
      expectRefused(await decides(gone, id), 401)
    })
  })

  describe("one person", () => {
    test("counts once over sessions and keys, and for one rule alone", async () => {
      const id = await asked(TWO)
      // Both rules name treasury.
      await decides(await approverKey("tess", ["treasury", "board"]), id)
      const signed = await decides(await signedIn("tess", ["people", "treasury", "board"]), id)
      expect(signed.body).toMatchObject({ state: "waiting", decisions: [{ subject: "tess", proof: "idp" }] })
      expect((await collected(id)).status).toBe(202)
      expect((await decides(boardMember, id)).body).toMatchObject({ state: "approved" })
    })

    test("who says the same again changes nothing, also after the end", async () => {
      const id = await asked(ONE)
      const first = await decides(treasurer, id, "approve", { comment: "first" })
      expect((await decides(treasurer, id, "approve", { comment: "second" })).body).toEqual(first.body)
      await collected(id)
      expect(await decides(treasurer, id)).toMatchObject({ status: 200, body: { state: "collected" } })
      expectRefused(await decides(treasurer, id, "reject"), 409, "approval_over")
    })

    test("may reject what it approved", async () => {
      const id = await asked(TWO)
      await decides(boardMember, id)
      await decides(boardMember, id, "reject")
      const { body } = await shownTo(boardMember, id)
      expect(listAt(body, "decisions")).toMatchObject([{ subject: "bea", decision: "reject" }])
      expect(["rejected", "refused"]).toContain(body.state)
    })

    test("who is an auditor decides where a rule names one of its groups", async () => {
      const id = await asked(ONE)
      expect((await decides(await signedIn("aud", ["auditors", "treasury"]), id)).status).toBe(200)
    })
  })

  describe("at the same time", () => {
    test("an approval and a rejection: the rejection holds, whatever comes first", async () => {
      const id = await asked(ONE)
      const other = await approverKey("ted", ["treasury"])
      const [approved, rejected] = await Promise.all([decides(treasurer, id), decides(other, id, "reject")])
      expect(rejected.status).toBe(200)
      expect([200, 409]).toContain(approved.status)
      expect(await collected(id)).toMatchObject({ status: 422, body: { explanation: { reason: "APPROVAL_REJECTED" } } })
    })

    test("two approvals of one person are one, and the last two that are needed make it approved", async () => {
      const id = await asked(TWO)
      const answers = await Promise.all([treasurer, treasurer, boardMember, boardMember].map(one => decides(one, id)))
      expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200])
      const { body } = await shownTo(agent, id)
      expect([body.state, listAt(body, "decisions").length]).toEqual(["approved", 2])
    })

    test("a rejection and a collection: there is one end", async () => {
      const id = await asked(ONE)
      await decides(treasurer, id)
      const other = await approverKey("ted", ["treasury"])
      const [permit, rejected] = await Promise.all([collected(id), decides(other, id, "reject")])
      const pairs = [`${permit.status} ${rejected.status}`]
      expect(["201 409", "422 200"]).toEqual(expect.arrayContaining(pairs))
      expect((await collected(id)).status).toBe(permit.status)
    })
  })
})
