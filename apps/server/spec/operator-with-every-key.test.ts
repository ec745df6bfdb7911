/**
 * An operator who has every key of the service and writes its database, against two who have the persons' own keys: the payment service of
 * examples/payment-executor, and an auditor. docs/executors.md, "Approvals that no operator can make up"; docs/verifier.md, "Proven by passkeys".
 */
import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { canonicalize, type JsonObject } from "@runseal/canonical"
import { approvalRequestSchema } from "@runseal/core/artifacts/approval-request"
import { openingSchema } from "@runseal/core/artifacts/opening"
import { decisionDigest } from "@runseal/core/formulas/signed-decision"
import { VERDICTS } from "@runseal/core/verify/report"
import { paymentService } from "@runseal/payment-executor/payment-service"
import { APPROVALS_HEADER, approvalsHeader, PERMIT_HEADER, remoteKeys } from "@runseal/permit"
import * as v from "valibot"
import { afterAll, beforeAll, expect, test } from "vitest"
import { exportReport, verdictOn } from "../../../libs/core/test/fixtures/judged.ts"
import { assertion, signedOf, type TestPasskey } from "../../../libs/core/test/fixtures/passkeys.ts"
import { testFolder } from "../../../libs/core/test/fixtures/test-folder.ts"
import { approvalOf, collect } from "./harness/approving-people.ts"
import { asking } from "./harness/asked-permits.ts"
import { trustOf } from "./harness/auditor.ts"
import { ADMIN, CUSTOMER, type Holder, mint } from "./harness/key-holders.ts"
import {
  decideSigned,
  enrol,
  PASSKEY_POLICY,
  passkeyIdOf,
  passkeyOf,
  signedIn,
} from "./harness/people-with-passkeys.ts"
import { expectRefused, listAt, objectAt, textAt } from "./harness/read-answer.ts"
import { runSql } from "./harness/read-tables.ts"
import { CONSOLE_ORIGIN, signInConfig, standingProvider } from "./harness/sign-in-browser.ts"
import { openService, type TestService } from "./harness/test-service.ts"
import { runVerifierOn } from "./harness/verifier.ts"

const provider = standingProvider(account => [account === "grace" ? "ops" : "treasury"])
const roles = new Map([
  ["ops", "admin"],
  ["treasury", "approver"],
] as const)
/** Nobody checks its house at the end: what the operator does here is found there, too. */
let service: TestService
beforeAll(async () => {
  service = await openService({
    policy: PASSKEY_POLICY,
    // Who acts has the clock of this machine.
    clock: { nowMs: Date.now, advance: () => undefined },
    config: { ...signInConfig(provider().issuer, roles), approvals: "on" },
  })
})
afterAll(() => service.close())
const sql = (text: string) => runSql(service.db, text)

let admin: Holder
let asker: Holder
/** The persons' own passkeys, and who they are. */
let own: readonly { readonly person: Holder; readonly passkey: TestPasskey }[]
/** What both readers have from the persons themselves. */
const keysFile = join(testFolder("runseal-operator"), "approver-keys.json")
let trust: string
let payments: ReturnType<typeof paymentService>
beforeAll(async () => {
  admin = await mint(service, ADMIN)
  asker = await mint(service, CUSTOMER, admin)
  const grace = await signedIn(service, "grace")
  const enrolled = async (subject: string) => {
    const [person, passkey] = [await signedIn(service, subject), passkeyOf(subject, provider().issuer)]
    expect((await enrol(person, passkey)).status).toBe(201)
    expect((await grace.post(`/passkeys/${passkeyIdOf(passkey)}/confirmation`)).status).toBe(200)
    return { person, passkey }
  }
  own = [await enrolled("anna"), await enrolled("ben")]
  const keys = own.map(({ passkey }) => passkey.key)
  writeFileSync(keysFile, JSON.stringify({ kind: "vfa.approver_keys.v1", keys }))
  trust = (await service.get("/.well-known/runseal-trust.json")).text
  const send = (url: string, init?: RequestInit) => service.request(url.slice(CONSOLE_ORIGIN.length), init)
  const { route_id, program_id, audience } = asking({ route_id: "payments/transfer" })
  payments = paymentService(
    {
      audience: `${audience}`,
      route_id: `${route_id}`,
      program_id: `${program_id}`,
      tenant_id: `api-key-${asker.id}`,
      issuer: textAt((await service.get("/version")).body, "log_origin"),
      keys: remoteKeys(`${CONSOLE_ORIGIN}/.well-known/jwks.json`, send),
      redeem: CONSOLE_ORIGIN,
      fetch: send,
    },
    readFileSync(keysFile, "utf8"),
  )
})

type Order = { readonly id: string; readonly payload: string }
let orders = 0
async function ordered(): Promise<Order> {
  const payload = JSON.stringify({ amount: "12500.00", to: `DE0${++orders}` })
  const id = approvalOf(await asker.post("/permits", asking({ route_id: "payments/transfer", payload })))
  return { id, payload }
}
async function approved(): Promise<Order> {
  const order = await ordered()
  for (const { person, passkey } of own)
    expect((await decideSigned(person, order.id, "approve", passkey)).status).toBe(200)
  return order
}
/** The permit of a request that was approved, and its opening. */
async function permitted({ id }: Order): Promise<{ readonly permit: string; readonly opening: JsonObject }> {
  const { status, text, body } = await collect(asker, id)
  expect(status, text).toBe(201)
  return { permit: textAt(body, "permit"), opening: objectAt(body, "opening") }
}
const shown = (opening: JsonObject): string => approvalsHeader(v.parse(openingSchema, opening)) ?? ""

const INSUFFICIENT = { status: 403, code: "approvals_insufficient" }
/** What the payment service says to an order. */
async function paid({ payload }: Order, permit: string, approvals: string) {
  const headers = { "content-type": "application/json", [PERMIT_HEADER]: permit, [APPROVALS_HEADER]: approvals }
  const answer = await payments.request("/transfers", { method: "POST", headers, body: payload })
  return { status: answer.status, ...Object(await answer.json()) }
}
/** What the verifier says of an opening to an auditor who has the persons' keys. */
async function audited(opening: JsonObject) {
  const options = ["--approver-keys", keysFile]
  const { exit, stdout } = await runVerifierOn("opening.json", canonicalize(opening), trust, options)
  return { exit, says: /(?:NOT )?PROVEN BY PASSKEYS.*/.exec(stdout)?.[0] }
}

/** Passkeys of the operator in the persons' names, and what they sign of a request: rows that no handler wrote. */
async function madeUp({ id }: Order): Promise<void> {
  const request = v.parse(approvalRequestSchema, objectAt((await asker.get(`/approvals/${id}`)).body, "request"))
  for (const { passkey } of own) {
    const made = passkeyOf(passkey.key.subject, provider().issuer, `key of the operator for ${id}`)
    const { issuer, subject, public_key } = made.key
    const signed = signedOf(request, { decision: "approve", person: { issuer, subject } })
    await sql(`insert into passkey
      select '${passkeyIdOf(made)}', credential_id, issuer, subject, '${public_key}', origin, rp_id, name, enrolled_at, counts_from,
        confirmed_issuer, confirmed_subject, 0 from passkey where passkey_id = '${passkeyIdOf(passkey)}'`)
    await sql(`insert into approval_decision
      (approval_id, subject, issuer, name, key_name, groups, proof, decision, decided_at, comment, comment_salt, passkey)
      values ('${id}', '${subject}', '${issuer}', '${subject}', '', '["treasury"]', 'passkey', 'approve', ${Date.now()}, '', '',
        '${canonicalize(assertion(made, decisionDigest(signed)))}')`)
  }
  await isApproved(id)
}
const isApproved = (id: string) =>
  sql(`update approval set state = 'approved', decisions = 2 where approval_id = '${id}'`)

test("what two persons signed is paid, and proven", async () => {
  const order = await approved()
  const { permit, opening } = await permitted(order)
  expect(await paid(order, permit, shown(opening))).toMatchObject({ status: 201, approved_by: ["anna", "ben"] })
  expect(await audited(opening)).toEqual({
    exit: 0,
    says: "PROVEN BY PASSKEYS: 2 persons (anna, ben) signed this act with passkeys of the file",
  })
})

test("what two persons signed of another payload opens no permit, and pays nothing beside one that is made up", async () => {
  const [signed, copied, invented] = [await approved(), await ordered(), await ordered()]
  await sql(`insert into approval_decision
    (approval_id, subject, issuer, name, key_name, groups, proof, decision, decided_at, comment, comment_salt, passkey)
    select '${copied.id}', subject, issuer, name, key_name, groups, proof, decision, ${Date.now()}, comment, comment_salt, passkey
    from approval_decision where approval_id = '${signed.id}'`)
  await isApproved(copied.id)
  expectRefused(await collect(asker, copied.id), 503)
  expect(service.logLines.join("")).toContain("the passkey of person 1 signed something else")
  await sql(`delete from approval_decision where approval_id = '${copied.id}'`)
  await madeUp(invented)
  const theirs = shown((await permitted(signed)).opening)
  expect(await paid(invented, (await permitted(invented)).permit, theirs)).toMatchObject(INSUFFICIENT)
})

test("own keys, enrolled in the persons' names, make a record that verifies; they pay nothing, prove nothing, and no event enrolled them", async () => {
  const order = await ordered()
  await madeUp(order)
  const { permit, opening } = await permitted(order)
  expect(await paid(order, permit, shown(opening))).toMatchObject(INSUFFICIENT)
  expect(verdictOn(opening, [await trustOf(service)])).toBe(VERDICTS.opening)
  expect(await audited(opening)).toEqual({
    exit: 1,
    says: "NOT PROVEN BY PASSKEYS: no approval is signed with a passkey of the file, by its person",
  })
  const { body } = await admin.get("/admin/audit?action=passkey.enrol")
  expect(listAt(body, "events")).toHaveLength(own.length)
})

test("one approval opens two permits for who puts its request back; it pays once, and the export shows it", async () => {
  const order = await approved()
  await sql(`create table kept as select * from approval where approval_id = '${order.id}'`)
  const first = await permitted(order)
  await sql(`delete from approval where approval_id = '${order.id}'`)
  await sql("insert into approval select * from kept")
  const second = await permitted(order)
  expect(await paid(order, first.permit, shown(first.opening))).toMatchObject({ status: 201 })
  expect(await paid(order, second.permit, shown(second.opening))).toMatchObject({ status: 403, code: "approvals_used" })
  const exported = await service.request("/runs/export", { headers: { "X-Service-Key": asker.secret ?? "" } })
  const { problems } = exportReport((await exported.text()).trimEnd(), [await trustOf(service)])
  expect(JSON.stringify(problems)).toContain("ends a request for an approval that has ended already")
})
