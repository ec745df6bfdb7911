/** Every operation × everybody who may ask, on both databases. The table is in authorization-matrix.ts. */
import type { JsonObject } from "@runseal/canonical"
import { PERSON_ROLES, type PersonRole } from "@runseal/core/wire/session-requests"
import { beforeAll, describe, expect, test } from "vitest"
import { eachDatabase } from "../database/databases.ts"
import { openedId } from "../harness/asked-permits.ts"
import { ENDPOINTS, endpointOf } from "../harness/described.ts"
import { ADMIN, CUSTOMER, caller, type Holder, mint } from "../harness/key-holders.ts"
import { expectRefused, numberAt, textAt, withoutRequestId } from "../harness/read-answer.ts"
import { minted } from "../harness/read-tables.ts"
import { EICAR, request } from "../harness/sample-requests.ts"
import { personHolder, signInBrowser, signInConfig, standingProvider } from "../harness/sign-in-browser.ts"
import { standingService, type TestService } from "../harness/test-service.ts"
import { type Asker, MATRIX, type Row, type Subjects } from "./authorization-matrix.ts"

const UNKNOWN = `rsk_${"0".repeat(48)}`
const ROWS = Object.entries(MATRIX)
const METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE-ME"]

test("there is a row for every operation, and for nothing else", () => {
  const operations = ENDPOINTS.map(({ method, template }) => `${method} ${template}`)
  expect(Object.keys(MATRIX).toSorted()).toEqual(operations.toSorted())
})

test("what a row says follows from the access that the description gives", () => {
  for (const { method, template, operation } of ENDPOINTS) {
    const { statuses } = MATRIX[`${method} ${template}`]!
    const needsKey = operation.security.length > 0
    expect(statuses.nobody === 401, template).toBe(needsKey)
    const refusesCustomers = needsKey && statuses.owner === 403 && statuses.other === 403
    expect(refusesCustomers, template).toBe(/^\/(admin|passkeys)\b|\/comments$/.test(template))
  }
})

/** Asks as one holder; a body is JSON. */
async function ask(holder: Holder, name: string, row: Row, subjects: Subjects) {
  const [method = ""] = name.split(" ")
  return holder.send(method, row.path(subjects), row.body?.(subjects))
}

const runOf = async (holder: Holder, changes: JsonObject = {}): Promise<number> =>
  numberAt((await holder.execute(request(changes))).body, "run_id")

/** The subjects that belong to a caller of his own. */
async function ownSubjects(holder: Holder): Promise<Subjects> {
  const run = await runOf(holder)
  const denied = await runOf(holder, { payload: EICAR })
  const { body: bundle } = await holder.get(`/runs/${run}/artifacts`)
  const [permit, to_close] = [await openedId(holder), await openedId(holder)]
  const token = "0".repeat(32)
  return { run, denied, bundle, permit, to_close, published: run, to_publish: run, to_withdraw: run, token, key: 1 }
}

eachDatabase("open mode", openDatabase => {
  describe.each([
    ["no key", undefined],
    ["an unknown key", UNKNOWN],
    ["what is no key", "Bearer x"],
  ])("with %s", (_who, secret) => {
    const service = standingService(() => ({ open: openDatabase }))
    let subjects: Subjects
    beforeAll(async () => {
      subjects = await ownSubjects(caller(service(), secret))
    })

    test("every operation answers as its row says", async () => {
      for (const [name, row] of ROWS) {
        const { status, text } = await ask(caller(service(), secret), name, row, subjects)
        expect(status, `${name}: ${text.slice(0, 200)}`).toBe(row.statuses.open)
      }
    })
  })
})

eachDatabase("locked mode", openDatabase => {
  const provider = standingProvider(role => [`${role}s`])
  const service = standingService(() => ({ open: openDatabase, config: signInConfig(provider().issuer, ROLES) }))
  let subjects: Subjects
  let known: Record<Exclude<Asker, "open" | "nobody">, Holder>
  let nobodies: readonly (readonly [what: string, holder: Holder])[] = []
  const refusals = new Set<string>()

  beforeAll(async () => {
    const { first, ...made } = await madeKeys(service())
    known = { ...made, ...(await people(service)) }
    const published = await runOf(known.admin)
    const to_withdraw = await runOf(known.admin)
    await known.admin.post(`/admin/runs/${to_withdraw}/publish`)
    const { body } = await known.admin.post(`/admin/runs/${published}/publish`)
    const { id: key } = await mint(service(), CUSTOMER, known.admin)
    subjects = {
      ...(await ownSubjects(known.owner)),
      published,
      to_publish: await runOf(known.admin),
      to_withdraw,
      token: textAt(body, "token"),
      key,
    }
    nobodies = await withoutAccess(service(), known.admin, first)
  })

  /** Everybody here has one address, whose limit for sessions they would reach. */
  const laterFor = (row: Row): void => {
    if (row.path(subjects).startsWith("/session")) service().clock.advance(60_000)
  }

  test.each(ROWS)("%s", async (name, row) => {
    laterFor(row)
    const before = await minted(service().db)
    for (const [what, holder] of nobodies) {
      const answer = await ask(holder, name, row, subjects)
      expect(answer.status, what).toBe(row.statuses.nobody)
      if (row.statuses.nobody !== 401) continue
      expectRefused(answer, 401)
      refusals.add(withoutRequestId(`${answer.text}\n${[...answer.headers].join("\n")}`, answer))
    }
    expect(refusals.size, "one answer for every reason, whatever is asked for").toBeLessThanOrEqual(1)
    expect(await minted(service().db), "nothing is made for nobody").toEqual(before)
    laterFor(row)
    for (const asker of [...KEYS, ...PEOPLE]) {
      const answer = await ask(known[asker], name, row, subjects)
      expect(answer.status, `${asker}: ${answer.text.slice(0, 200)}`).toBe(row.statuses[asker])
      // The console's refusals are pages.
      if (answer.status === 403 && !name.includes(" /console")) expectRefused(answer, 403)
    }
    // They have signed out.
    if (name === "DELETE /session") known = { ...known, ...(await people(service)) }
  })

  test("every other method of a path is 401 without a key, and 405 where the path is public", async () => {
    for (const { template } of ENDPOINTS) {
      const path = template.replaceAll(/\{\w+\}/g, "1")
      const operations = METHODS.flatMap(method => endpointOf(method, path)?.operation ?? [])
      const isPublic = operations.some(({ security }) => security.length === 0)
      for (const method of METHODS.filter(method => endpointOf(method, path) === undefined)) {
        const answer = await caller(service()).send(method, path)
        expect([method, path, answer.status]).toEqual([method, path, isPublic ? 405 : 401])
        expectRefused(answer, answer.status)
      }
    }
  })

  test.each(ROWS.filter(([name]) => name.startsWith("GET ")))("%s, asked for its head alone", async (_name, row) => {
    const head = async ({ secret }: Holder): Promise<number> => {
      const headers = secret === undefined ? {} : { "X-Service-Key": secret }
      const response = await service().request(row.path(subjects), { method: "HEAD", headers })
      expect(await response.text()).toBe("")
      return response.status
    }
    for (const asker of KEYS) expect(await head(known[asker]), asker).toBe(row.statuses[asker])
    for (const asker of PEOPLE)
      expect((await known[asker].send("HEAD", row.path(subjects))).status, asker).toBe(row.statuses[asker])
    for (const [what, holder] of nobodies) expect(await head(holder), what).toBe(row.statuses.nobody)
  })
})

const KEYS = ["owner", "other", "admin", "other_admin", "auditor", "owners_auditor", "approver_key"] as const
const PEOPLE = ["person_admin", "person_auditor", "approver"] as const

const ROLES = new Map(PERSON_ROLES.map(role => [`${role}s`, role]))

/** One person of each role, signed in. */
async function people(service: () => TestService) {
  const signedIn = async (role: PersonRole): Promise<Holder> => {
    service().clock.advance(60_000)
    const browser = signInBrowser(service)
    expect((await browser.signInAs(role)).status).toBe(200)
    return personHolder(browser, role)
  }
  return {
    person_admin: await signedIn("admin"),
    person_auditor: await signedIn("auditor"),
    approver: await signedIn("approver"),
  }
}

/** One key of each kind; the first makes the others and is revoked. */
async function madeKeys(service: TestService) {
  const first = await mint(service, ADMIN)
  const owner = await mint(service, CUSTOMER, first)
  const auditor = { name: "auditor", scope: "auditor" }
  return {
    first,
    owner,
    other: await mint(service, { name: "other", tier: "production" }, first),
    admin: await mint(service, { ...ADMIN, name: "admin" }, first),
    other_admin: await mint(service, { ...ADMIN, name: "other-admin" }, first),
    auditor: await mint(service, auditor, first),
    owners_auditor: await mint(service, { ...auditor, reads: [owner.id] }, first),
    approver_key: await mint(service, { name: "mia", scope: "approver", person: "mia", groups: ["treasury"] }, first),
  }
}

/** Callers whom a locked deployment answers with 401. */
async function withoutAccess(service: TestService, admin: Holder, first: Holder) {
  const revoked = await mint(service, CUSTOMER, admin)
  const replaced = await mint(service, { name: "rotated" }, admin)
  // Rotation is another key of the same name; the old secret ends with the old key.
  await mint(service, { name: "rotated" }, admin)
  for (const { id } of [revoked, replaced, first]) await admin.send("DELETE", `/admin/keys/${id}`)
  const { secret = "" } = admin
  return [
    ["no key", caller(service)],
    ["an empty key", caller(service, "")],
    ["a blank key", caller(service, " ")],
    ["what is no key", caller(service, "Bearer x")],
    ["a key that is much too long", caller(service, "x".repeat(10_000))],
    ["a key that was never made", caller(service, UNKNOWN)],
    ["a key in capitals", caller(service, secret.toUpperCase())],
    ["a key cut short", caller(service, secret.slice(0, -1))],
    ["a key made longer", caller(service, `${secret}0`)],
    ["a key sent twice", caller(service, `${secret}, ${secret}`)],
    ["a revoked key", revoked],
    ["a revoked admin key", first],
    ["the old key after a rotation", replaced],
  ] as const
}
