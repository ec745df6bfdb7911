/**
 * The SDK's calls of administrators that are more than their rows, against the real service: its fetch calls the application directly. docs/sdk.md.
 * The calls that follow from rows are tested in libs/sdk/src/endpoint-calls.test.ts, and what their endpoints do by the suites of these.
 */
import {
  type ActionOptions,
  type Client,
  ConflictError,
  createClient,
  InvalidArgumentError,
  isUnreadable,
  NotFoundError,
  VERDICTS,
  verifyBundle,
  verifyExport,
} from "@runseal/sdk"
import { beforeAll, describe, expect, test } from "vitest"
import { ENDPOINTS } from "./harness/described.ts"
import { EICAR, PROGRAM_ID, REGISTRY_RECORD_HASH, ROUTE_ID } from "./harness/sample-requests.ts"
import { standingService } from "./harness/test-service.ts"

const RUN = {
  program_id: PROGRAM_ID,
  route_id: ROUTE_ID,
  registry_record_hash: REGISTRY_RECORD_HASH,
  payload: "Approve.",
}
const PERMIT = { ...RUN, audience: "payments.example", reserve_tokens: 100 }

const service = standingService()
const baseUrl = "http://runseal.test"
const clientOf = (apiKey?: string): Client =>
  createClient({ baseUrl, apiKey, fetch: (url, init) => service().request(url.slice(baseUrl.length), init) })
let admin: Client
let customer: Client
let customerId: number
let ran: number
let denied: number
/** A run of the administrator's own. */
let own: number
let permitId: string
let trust: string

beforeAll(async () => {
  await clientOf().execute(RUN)
  admin = clientOf((await clientOf().createKey({ name: "ops", scope: "admin", confirm_admin_scope: true })).secret)
  const made = await admin.createKey({ name: "acme" })
  customerId = made.id
  customer = clientOf(made.secret)
  ran = (await customer.execute(RUN)).run_id
  denied = (await customer.execute({ ...RUN, payload: EICAR })).run_id
  const opened = await customer.permits.open(PERMIT)
  permitId = opened.outcome_kind === "opened" ? opened.permit_id : ""
  own = (await admin.execute(RUN)).run_id
  trust = (await admin.trust()).text
})

const verdictOf = (text: string): string => {
  const report = verifyBundle(text, [trust])
  return isUnreadable(report) ? report.unreadable : report.verdict
}
async function all(lines: AsyncIterable<string>): Promise<string[]> {
  const found: string[] = []
  for await (const line of lines) found.push(line)
  return found
}

describe("an administrator", () => {
  test("reads a run of any key as that key does", async () => {
    const { run, verifyRun, artifact, bundle, statement, report } = admin.ofAnyKey
    expect(await run(ran)).toEqual({ ...(await customer.run(ran)), key_id: customerId })
    expect(await verifyRun(ran)).toMatchObject({ verified: true })
    expect(await bundle(ran)).toEqual(await customer.bundle(ran))
    expect(verdictOf((await bundle(ran, { form: "full" })).text)).toBe(VERDICTS.complete)
    expect(verdictOf((await artifact(denied, "deny_receipt")).text)).toBe(VERDICTS.receipt)
    expect(verdictOf((await statement(ran)).text)).toBe(VERDICTS.run_statement)
    expect((await report(ran, { format: "brief" })).length).toBeGreaterThan(1000)
    await expect(artifact(ran, "deny_receipt")).rejects.toBeInstanceOf(NotFoundError)
    await expect(bundle(0)).rejects.toBeInstanceOf(InvalidArgumentError)
  })

  test("reads a permit of any key as that key does", async () => {
    expect(await admin.ofAnyKey.permit(permitId)).toEqual({
      ...(await customer.permits.get(permitId)),
      key_id: customerId,
    })
    await expect(admin.ofAnyKey.permit("pmt-1")).rejects.toBeInstanceOf(InvalidArgumentError)
  })

  test("publishes a run, whose bundle and statement anybody reads and verifies offline", async () => {
    const { token } = await admin.publish(own)
    const published = await clientOf().publicBundle(token)
    expect(published.text).toBe((await admin.bundle(own)).text)
    expect(verdictOf(published.text)).toBe(VERDICTS.complete)
    const statement = await clientOf().publicStatement(token)
    expect(statement).toEqual(await admin.statement(own))
    expect(verdictOf(statement.text)).toBe(VERDICTS.run_statement)
    await admin.unpublish(own)
    await expect(clientOf().publicBundle(token)).rejects.toBeInstanceOf(NotFoundError)
  })

  test("exports the records of a key, of open mode, and the admin events, each complete", async () => {
    const chain = { verdict: "COMPLETE CHAIN VERIFIED AND ANCHORED", problems: [] }
    const records = await all(admin.exportRunsOf(customerId))
    expect(await verifyExport(records, [trust])).toMatchObject({ ...chain, records: 2 })
    expect(await verifyExport(await all(admin.exportRunsOf(0)), [trust])).toMatchObject({ ...chain, records: 1 })
    expect(await verifyExport(await all(admin.exportAdminEvents()), [trust])).toMatchObject(chain)
    expect(await all(admin.exportRunsOf(customerId, { to: new Date("2020-01-01") }))).toHaveLength(1)
    await expect(all(admin.exportRunsOf(-1))).rejects.toBeInstanceOf(InvalidArgumentError)
  })

  test("reads what an administrator did as a document that verifies by itself", async () => {
    const { document, text } = await admin.adminEvent(2)
    expect(document).toMatchObject({ subject: { kind: "key", id: "2" }, action: "key.create" })
    expect(verdictOf(text)).toBe(VERDICTS.admin_event)
    await expect(admin.adminEvent(999)).rejects.toBeInstanceOf(NotFoundError)
  })

  test("reads events from a position on, until there is nothing new", async () => {
    const types: string[] = []
    let after: number | undefined
    for (;;) {
      const page = await admin.events({ after, limit: 3 })
      expect(page.length).toBeLessThanOrEqual(3)
      const last = page.at(-1)
      if (last === undefined) break
      types.push(...page.map(({ type }) => type))
      after = last.position
    }
    expect(types.filter(type => type !== "admin.event")).toEqual([
      ...["run.sealed", "run.sealed", "run.sealed", "permit.opened", "run.sealed"],
    ])
    expect(types.filter(type => type === "admin.event").length).toBeGreaterThan(3)
  })
})

describe("what takes an Idempotency-Key", () => {
  /** Answered again, from the record: their own suites. */
  const REPEATED = ["POST /execute", "POST /attest", "POST /permits", "POST /permits/{id}/close"]
  let keyId: number
  let destinationId: number
  let shareId: number
  const ACTS: Readonly<Record<string, (options: ActionOptions) => Promise<unknown>>> = {
    "POST /admin/keys": options => admin.createKey({ name: "once" }, options),
    "PATCH /admin/keys/{id}": options => admin.changeKey(keyId, { notes: "changed" }, options),
    "POST /admin/keys/{id}/rotate": options => admin.rotateKey(keyId, {}, options),
    "DELETE /admin/keys/{id}": options => admin.revokeKey(keyId, options),
    "POST /admin/runs/{id}/share": options => admin.share(ran, {}, options),
    "DELETE /admin/shares/{id}": options => admin.revokeShare(shareId, options),
    "POST /admin/destinations": options => admin.createDestination({ url: "https://one.example/" }, options),
    "PATCH /admin/destinations/{id}": options => admin.changeDestination(destinationId, { active: false }, options),
    "POST /admin/destinations/{id}/rotate": options => admin.rotateDestinationSecret(destinationId, {}, options),
    "POST /admin/destinations/{id}/resume": options => admin.resumeDestination(destinationId, { from: 0 }, options),
    "DELETE /admin/destinations/{id}": options => admin.deleteDestination(destinationId, options),
  }

  beforeAll(async () => {
    keyId = (await admin.createKey({ name: "target" })).id
    destinationId = (await admin.createDestination({ url: "https://two.example/" })).destination.id
    shareId = (await admin.share(ran)).share_id
  })

  test("all of it is in this list", () => {
    const keyed = ENDPOINTS.filter(({ operation }) =>
      operation.parameters?.some(({ name }) => name === "Idempotency-Key"),
    )
    const named = keyed.map(({ method, template }) => `${method} ${template}`)
    expect([...REPEATED, ...Object.keys(ACTS)].toSorted()).toEqual(named.toSorted())
  })

  test.each(Object.entries(ACTS))("%s is done once", async (name, act) => {
    const first = await act({ idempotencyKey: name })
    const again = await act({ idempotencyKey: name }).catch((error: unknown) => error)
    // What would change nothing gets the same answer.
    if (again instanceof ConflictError) expect(again.code).toBe("already_done")
    else expect(again).toEqual(first)
  })
})
