/** What passkeys sign of a decision on a request for an approval, and what it proves. docs/api.md, "Decisions"; docs/formats.md section 2.8. */
import { COMPLETENESS_VERDICTS } from "@runseal/core/verify/completeness"
import { PASSKEY_WAIT_MS } from "@runseal/core/wire/passkey-messages"
import { beforeAll, describe, expect, test } from "vitest"
import { exportReport, reportOn } from "../../../libs/core/test/fixtures/judged.ts"
import type { TestPasskey } from "../../../libs/core/test/fixtures/passkeys.ts"
import { eachDatabase } from "./database/databases.ts"
import { approvalOf, approver, collect, decide, transferOf } from "./harness/approving-people.ts"
import { closed } from "./harness/asked-permits.ts"
import { trustOf } from "./harness/auditor.ts"
import { ADMIN, CUSTOMER, type Holder, mint } from "./harness/key-holders.ts"
import {
  decideSigned,
  enrol,
  PASSKEY_POLICY,
  passkeyIdOf,
  passkeyOf,
  signedBody,
  signedIn,
} from "./harness/people-with-passkeys.ts"
import { expectRefused, listAt, objectAt, textAt } from "./harness/read-answer.ts"
import { readTables, runSql } from "./harness/read-tables.ts"
import { signInConfig, standingProvider } from "./harness/sign-in-browser.ts"
import { standingService } from "./harness/test-service.ts"

const [ABOVE, BELOW] = [12_500, 500]
const provider = standingProvider(account => (["grace", "heidi"].includes(account) ? ["ops"] : ["treasury"]))

eachDatabase("decisions with passkeys", open => {
  const service = standingService(() => ({
    open,
    policy: PASSKEY_POLICY,
    config: {
      ...signInConfig(
        provider().issuer,
        new Map([
          ["ops", "admin"],
          ["treasury", "approver"],
        ] as const),
      ),
      approvals: "on",
    },
  }))
  let admin: Holder
  let asker: Holder
  let paula: TestPasskey
  let quinn: TestPasskey
  const person = (subject: string): Promise<Holder> => signedIn(service(), subject)
  const keyOf = (subject: string, which?: string): TestPasskey => passkeyOf(subject, provider().issuer, which)

  beforeAll(async () => {
    admin = await mint(service(), ADMIN)
    asker = await mint(service(), CUSTOMER, admin)
    ;[paula, quinn] = [keyOf("paula"), keyOf("quinn")]
    for (const passkey of [paula, quinn])
      expect((await enrol(await person(passkey.key.subject), passkey)).status).toBe(201)
    const confirmed = await (await person("grace")).post(`/passkeys/${passkeyIdOf(paula)}/confirmation`)
    expect(confirmed.body).toMatchObject({ state: "counts" })
  })

  const ask = async (amount = ABOVE): Promise<string> => approvalOf(await asker.post("/permits", transferOf(amount)))
  const signs = async (id: string, passkey: TestPasskey, ...more: [Parameters<typeof decideSigned>[4]?]) =>
    decideSigned(await person(passkey.key.subject), id, "approve", passkey, ...more)
  /** The second passkey counts a day after it was enrolled. */
  const aDayLater = (): void => service().clock.advance(PASSKEY_WAIT_MS)

  describe("an act that two passkeys approve", () => {
    let id: string
    test("waits for the one that does not count yet", async () => {
      const early = await ask()
      expectRefused(await signs(early, quinn), 403, "passkey_invalid")
      aDayLater()
      id = await ask()
      expect((await signs(id, paula, { comment: "invoice 4711" })).body).toMatchObject({
        state: "waiting",
        decisions: [{ subject: "paula", issuer: provider().issuer, proof: "passkey", comment: "invoice 4711" }],
      })
      const { body } = await signs(id, quinn, { comment: "checked with paula" })
      expect(body).toMatchObject({ state: "approved", decisions: [{}, { subject: "quinn", proof: "passkey" }] })
    })

    test("is permitted; opening and record hold what was signed, and verify", async () => {
      const trusts = [await trustOf(service())]
      const { status, body } = await collect(asker, id)
      expect(status).toBe(201)
      const opening = objectAt(body, "opening")
      const close = await closed(asker, textAt(body, "permit_id"))
      const { body: bundle } = await asker.get(`/runs/${close.body.run_id}/artifacts`)
      for (const document of [opening, bundle]) {
        const report = reportOn(document, trusts)
        expect(report.checks.filter(({ result }) => result === "fail")).toEqual([])
        const decisions = listAt(objectAt(document, "sections", "approvals"), "decisions")
        expect(decisions).toMatchObject([
          { person: { subject: "paula" }, proof: "passkey", passkey: paulasPinned() },
          { person: { subject: "quinn" }, proof: "passkey" },
        ])
      }
      expect(reportOn(opening, trusts).verdict).toContain("VERIFIED AND ANCHORED")
    })
    const paulasPinned = () => ({ public_key: paula.key.public_key, origin: "http://localhost", rp_id: "localhost" })

    test("is in the export of its tenant, which is complete, and in the admin events", async () => {
      const lines = (await (await service().request("/runs/export", keyed())).text()).trimEnd()
      expect(exportReport(lines, [await trustOf(service())])).toMatchObject({
        verdict: COMPLETENESS_VERDICTS.chain,
        problems: [],
      })
      expect(lines).toContain('"proof":"passkey"')
      const { body } = await admin.get(`/admin/audit?subject_kind=approval&subject_id=${id}`)
      expect(body.events).toMatchObject([
        { action: "approval.approve", after: { person: "quinn", passkey_id: passkeyIdOf(quinn) } },
        { action: "approval.approve", after: { person: "paula", proof: "passkey", passkey_id: passkeyIdOf(paula) } },
      ])
      expect(JSON.stringify(body)).not.toContain("4711")
    })
    const keyed = (): RequestInit => ({ headers: { "X-Service-Key": asker.secret ?? "" } })
  })

  describe("an approval is refused", () => {
    test("without a passkey, where only rules that ask for one name the person; to reject, none is needed", async () => {
      const id = await ask()
      expectRefused(await decide(await person("paula"), id, "approve"), 403, "passkey_required")
      const byKey = await approver(service(), admin, "kay", ["treasury"])
      expectRefused(await decide(byKey, id, "approve"), 403, "not_an_approver")
      expect((await decide(await person("paula"), id, "reject")).body).toMatchObject({
        decisions: [{ subject: "paula", decision: "reject", proof: "idp", groups: ["treasury"] }],
      })
      expect((await collect(asker, id)).body).toMatchObject({ explanation: { reason: "APPROVAL_REJECTED" } })
    })

    test("of anything else than this decision on this request by this person at this service", async () => {
      const [id, other] = [await ask(), await ask()]
      const sent = await person("paula")
      const { body: otherShown } = await sent.get(`/approvals/${other}`)
      const { body: shown } = await sent.get(`/approvals/${id}`)
      const decides = (body: Parameters<Holder["post"]>[1]) => sent.post(`/approvals/${id}/decision`, body)
      const replayed = { ...signedBody(otherShown, "approve", paula), request_digest: textAt(shown, "request_digest") }
      expectRefused(await decides(replayed), 403, "passkey_invalid")
      expectRefused(await decides(signedBody(otherShown, "approve", paula)), 409, "approval_over")
      const rejected = { ...signedBody(shown, "reject", paula), decision: "approve" }
      expectRefused(await decides(rejected), 403, "passkey_invalid")
      for (const change of [
        { payload_hash: "0".repeat(64) },
        { audience: "other.example" },
        { tenant_id: "api-key-999" },
        { log_origin: "other.example" },
        { valid_for_seconds: 1 },
        { subject: "quinn" },
      ]) {
        const otherwise = signedBody(shown, "approve", paula, { signs: signed => ({ ...signed, ...change }) })
        expectRefused(await decides(otherwise), 403, "passkey_invalid")
      }
      for (const changes of [{ flags: 0x01 }, { client: { origin: "https://evil.example" } }, { rp_id: "evil" }])
        expectRefused(await decides(signedBody(shown, "approve", paula, changes)), 403, "passkey_invalid")
      const commented = { ...signedBody(shown, "approve", paula, { comment: "yes" }), comment: "yes, twice" }
      expectRefused(await decides(commented), 403, "passkey_invalid")
      expect((await decides(signedBody(shown, "approve", paula))).status).toBe(200)
    })

    test("with the passkey of another person, one that is unknown, and one that was revoked", async () => {
      const id = await ask()
      const { body: shown } = await (await person("paula")).get(`/approvals/${id}`)
      const at = `/approvals/${id}/decision`
      expectRefused(await (await person("rita")).post(at, signedBody(shown, "approve", paula)), 403, "passkey_invalid")
      const unknown = signedBody(shown, "approve", keyOf("paula", "unknown"))
      expectRefused(await (await person("paula")).post(at, unknown), 403, "passkey_invalid")
      const old = keyOf("paula", "old")
      await enrol(await person("paula"), old)
      await (await person("heidi")).post(`/passkeys/${passkeyIdOf(old)}/confirmation`)
      await admin.send("DELETE", `/passkeys/${passkeyIdOf(old)}`)
      expectRefused(await (await person("paula")).post(at, signedBody(shown, "approve", old)), 403, "passkey_invalid")
      expect((await signs(id, quinn)).status).toBe(200)
    })

    test("with a passkey beside a key, and with a salt that signs nothing", async () => {
      const id = await ask()
      const { body: shown } = await asker.get(`/approvals/${id}`)
      const byKey = await approver(service(), admin, "paula", ["treasury"])
      const at = `/approvals/${id}/decision`
      expectRefused(await byKey.post(at, signedBody(shown, "approve", paula)), 403, "sign_in_again")
      const sent = await person("paula")
      const comment_salt = "5a".repeat(32)
      const { passkey: _, ...bare } = signedBody(shown, "approve", paula)
      expectRefused(await sent.post(at, { ...bare, comment: "x", comment_salt }), 400, "invalid_field")
      expectRefused(await sent.post(at, { ...bare, comment_salt }), 400, "invalid_field")
      const { comment_salt: _salt, ...unsalted } = signedBody(shown, "approve", paula, { comment: "x" })
      expectRefused(await sent.post(at, unsalted), 400, "invalid_field")
    })
  })

  test("a revoked passkey signs nothing more, and what it signed before stands", async () => {
    const [id, rosa] = [await ask(), keyOf("rosa")]
    await enrol(await person("rosa"), rosa)
    await (await person("grace")).post(`/passkeys/${passkeyIdOf(rosa)}/confirmation`)
    expect((await signs(id, rosa)).status).toBe(200)
    await (await person("rosa")).send("DELETE", `/passkeys/${passkeyIdOf(rosa)}`)
    expectRefused(await signs(await ask(), rosa), 403, "passkey_invalid")
    expect((await signs(id, paula)).body).toMatchObject({ state: "approved" })
    expect((await collect(asker, id)).status).toBe(201)
  })

  test("a passkey's approval takes the place of a sign-in's while people decide; once it is approved, nothing is added", async () => {
    const id = await ask(BELOW)
    await decide(await person("paula"), id, "approve")
    expect((await signs(id, paula)).body).toMatchObject({ state: "waiting", decisions: [{ proof: "passkey" }] })
    // A weaker one changes nothing.
    expect((await decide(await person("paula"), id, "approve")).body).toMatchObject({
      decisions: [{ proof: "passkey" }],
    })
    expect((await decide(await person("quinn"), id, "approve")).body).toMatchObject({ state: "approved" })
    expectRefused(await signs(id, quinn), 409, "approval_over")
    expect((await signs(id, paula)).status).toBe(200)
    expect((await collect(asker, id)).status).toBe(201)
  })

  describe("an operator who changes the database", () => {
    /** Collects after a change of what was decided, and undoes the change. */
    const collectedWith = async (id: string, change: string): Promise<number> => {
      const [own, all] = [`approval_id = '${id}'`, (await readTables(service().db)).permits.length]
      const { db } = service()
      await runSql(db, `create table kept as select * from approval_decision where ${own}`)
      await runSql(db, `update approval_decision set ${change}`)
      await runSql(db, `update approval set state = 'approved' where ${own}`)
      const { status } = await collect(asker, id)
      expect((await readTables(db)).permits.length, `${status} ${change}`).toBe(all)
      await runSql(db, `delete from approval_decision where ${own}`)
      await runSql(db, "insert into approval_decision select * from kept")
      await runSql(db, "drop table kept")
      return status
    }

    test("makes no permit of what passkeys signed for another request, another decision, person or comment, or not at all", async () => {
      const [signed, id] = [await ask(), await ask()]
      for (const each of [signed, id]) for (const key of [paula, quinn]) await signs(each, key, { comment: "yes" })
      const [one, its] = [`approval_id = '${id}' and subject = 'paula'`, `approval_id = '${id}'`]
      const passkeyOf = (from: string) => `(select passkey from approval_decision as signed where ${from})`
      const changes = [
        `passkey = ${passkeyOf(`signed.approval_id = '${signed}' and signed.subject = 'paula'`)} where ${one}`,
        `passkey = ${passkeyOf(`signed.approval_id = '${id}' and signed.subject = 'quinn'`)} where ${one}`,
        `subject = 'rosa' where ${one}`,
        `comment_hash = repeat('0', 64) where ${one}`,
        `passkey = '' where ${one}`,
        `passkey = '', proof = 'idp' where ${one}`,
        `proof = 'idp' where ${one}`,
        `issuer = 'https://login.example' where ${its}`,
      ]
      for (const change of changes) expect([409, 500, 503], change).toContain(await collectedWith(id, change))
      expect((await collect(asker, id)).status).toBe(201)
      expect((await collect(asker, signed)).status).toBe(201)
    })

    test("makes no approval of a rejection that a passkey signed", async () => {
      const id = await ask()
      await signs(id, quinn)
      await service().deps.approvalEnds.sweep()
      expect((await decideSigned(await person("paula"), id, "reject", paula)).status).toBe(200)
      expect((await collect(asker, id)).status).toBe(422)
      const { body } = await asker.get(`/approvals/${id}`)
      expect(body).toMatchObject({ state: "refused", decisions: [{ proof: "passkey" }, { proof: "passkey" }] })
    })
  })
})
