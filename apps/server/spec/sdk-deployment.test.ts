/** The SDK's calls of administrators and auditors against the real service, its fetch calls the application directly. docs/sdk.md. */
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
const NO_SPENDING = {
  policy_id: "no-spending",
  policy_name: "No spending",
  required_attested_fields: [],
  rules: [
    { id: "permit-all", effect: "allow" },
    { id: "no-effects", effect: "deny", when: "context.declared.tokens > 1000000" },
  ],
}

const service = standingService()
const baseUrl = "http://runseal.test"
const clientOf = (apiKey?: string): Client =>
  createClient({ baseUrl, apiKey, fetch: (url, init) => service().request(url.slice(baseUrl.length), init) })
let admin: Client
let customer: Client
/** Reads the customer's key. */
let auditor: Client
let customerId: number
let ran: number
let denied: number
let permitId: string
let trust: string

beforeAll(async () => {
  await clientOf().execute(RUN)
  admin = clientOf((await clientOf().createKey({ name: "ops", scope: "admin", confirm_admin_scope: true })).secret)
  const made = await admin.createKey({ name: "acme" })
  customerId = made.id
  customer = clientOf(made.secret)
  auditor = clientOf((await admin.createKey({ name: "auditor", scope: "auditor", reads: [customerId] })).secret)
  ran = (await customer.execute(RUN)).run_id
  denied = (await customer.execute({ ...RUN, payload: EICAR })).run_id
  const opened = await customer.permits.open(PERMIT)
  permitId = opened.outcome_kind === "opened" ? opened.permit_id : ""
  await admin.execute(RUN)
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
  test("reads the runs of all keys, page by page, by every filter", async () => {
    const { runs, next } = await admin.allRuns({ limit: 3 })
    expect(runs.map(({ id, key_id }) => [id, key_id])).toEqual([
      [4, 1],
      [denied, customerId],
      [ran, customerId],
    ])
    expect(await admin.allRuns({ limit: 3, before: next })).toMatchObject({ runs: [{ id: 1, key_id: 0 }] })
    const refused = await admin.allRuns({ key: customerId, status: "pepg_deny", from: new Date("2020-01-01") })
    expect(refused.runs.map(({ id }) => id)).toEqual([denied])
    expect(refused).not.toHaveProperty("next")
  })

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

  test("reads the permits of all keys", async () => {
    const { permits } = await admin.allPermits({ state: "open", key: customerId })
    expect(permits.map(({ permit_id, key_id }) => [permit_id, key_id])).toEqual([[permitId, customerId]])
    expect(await admin.ofAnyKey.permit(permitId)).toEqual({
      ...(await customer.permits.get(permitId)),
      key_id: customerId,
    })
    await expect(admin.ofAnyKey.permit("pmt-1")).rejects.toBeInstanceOf(InvalidArgumentError)
  })

  test("reads what is published, what is used, and what is decided by", async () => {
    const { token, url } = await admin.publish(4)
    expect((await admin.published()).published).toMatchObject([
      { run_id: 4, key_id: 1, outcome_kind: "ok", token, url },
    ])
    expect((await admin.published({ key: customerId })).published).toEqual([])
    const { keys } = await admin.usage()
    expect(keys.find(({ key_id }) => key_id === customerId)).toMatchObject({
      runs: 2,
      outcomes: { ok: 1, pepg_deny: 1 },
      open_permits: 1,
    })
    const { policy_hash, signatures } = await admin.policy()
    expect((await customer.artifact(ran, "allow_token")).document.allow_token.policy_hash).toBe(policy_hash)
    expect(signatures.count).toBeGreaterThan(0)
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

  test("reads what administrators did, and each event verifies by itself", async () => {
    const { events, next } = await admin.adminEvents({ action: "key.create", limit: 2 })
    expect(events.map(({ subject }) => subject)).toEqual([
      { kind: "key", id: "3" },
      { kind: "key", id: "2" },
    ])
    expect(next).toBe(2)
    const { document, text } = await admin.adminEvent(2)
    expect(document).toMatchObject({
      subject: { kind: "key", id: "2" },
      action: "key.create",
      who: { actor: "api-key-1", name: "ops" },
    })
    expect(verdictOf(text)).toBe(VERDICTS.admin_event)
    await expect(admin.adminEvent(999)).rejects.toBeInstanceOf(NotFoundError)
  })

  test("tries a policy, puts it in force, and reads which were", async () => {
    expect(await admin.tryPolicy({ policy: NO_SPENDING, last: 2 })).toMatchObject({ judged: 2, changed: 0 })
    const loaded = await admin.loadPolicy({ policy: NO_SPENDING })
    expect(loaded).toMatchObject({ changed: true, version: 2, policy_id: "no-spending", loaded_by: "api-key-1" })
    expect(await admin.loadPolicy({ policy: NO_SPENDING })).toMatchObject({ changed: false, version: 2 })
    expect((await admin.policies({ limit: 1 })).policies).toMatchObject([{ version: 2 }])
    expect((await admin.policies({ before: 2 })).policies).toMatchObject([{ version: 1, source: "built-in" }])
    expect(await admin.policyVersion(1)).toMatchObject({ version: 1, source: "built-in" })
    expect((await admin.policy()).policy_id).toBe("no-spending")
  })

  test("changes, rotates and gives keys", async () => {
    const { id, secret } = await admin.createKey({ name: "erp" })
    expect(await admin.changeKey(id, { notes: "of the ERP", rate_limit: 7 })).toMatchObject({
      notes: "of the ERP",
      rate_limit: 7,
    })
    const rotated = await admin.rotateKey(id, { overlap_seconds: 60 })
    expect(rotated.secret).not.toBe(secret)
    expect(rotated).toHaveProperty("overlap_until")
    expect(await admin.claimRuns({ key_id: id })).toMatchObject({ key_id: id, runs: 1 })
    await expect(admin.changeKey(0, {})).rejects.toBeInstanceOf(InvalidArgumentError)
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

  test("says where events go, and how far they are", async () => {
    const { destination, secret } = await admin.createDestination({
      url: "https://events.example/",
      outcomes: ["pepg_deny"],
    })
    const { id } = destination
    expect(secret).toMatch(/^whsec_/)
    expect((await admin.changeDestination(id, { active: false })).destination).toMatchObject({ id, active: false })
    expect((await admin.listDestinations()).destinations).toMatchObject([{ id, outcomes: ["pepg_deny"] }])
    expect((await admin.rotateDestinationSecret(id)).secret).not.toBe(secret)
    expect(await admin.resumeDestination(id, { from: 0 })).toEqual({ ok: true, id, position: 0 })
    expect((await admin.deliveries()).deliveries).toMatchObject([{ id, active: false, position: 0 }])
    for (let attempt = 0; attempt < 2; attempt++)
      expect(await admin.deleteDestination(id)).toEqual({ ok: true, id, deleted: true })
    await expect(admin.testDestination(id)).rejects.toBeInstanceOf(NotFoundError)
  })
})

describe("an auditor of one key", () => {
  test("reads the runs, permits, usage and records of that key, and is given none of another", async () => {
    expect((await auditor.allRuns()).runs.map(({ id }) => id)).toEqual([denied, ran])
    expect((await auditor.ofAnyKey.bundle(ran)).text).toBe((await customer.bundle(ran)).text)
    expect((await auditor.usage()).keys.map(({ key_id }) => key_id)).toEqual([customerId])
    expect((await auditor.allPermits()).permits).toHaveLength(1)
    expect(await all(auditor.exportRunsOf(customerId))).toHaveLength(4)
    await expect(auditor.ofAnyKey.bundle(4)).rejects.toBeInstanceOf(NotFoundError)
    await expect(all(auditor.exportRunsOf(1))).rejects.toBeInstanceOf(NotFoundError)
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

test.each([
  ["logWitnesses", "/log/witnesses"],
  ["logOutside", "/log/outside"],
  ["logGenesis", "/log/genesis"],
  ["logKeyChanges", "/log/key-changes"],
  ["ready", "/ready"],
] as const)("%s needs no key, and gives what the service answers", async (name, path) => {
  const { body } = await service().get(path)
  expect(body).toMatchObject({ ok: true })
  expect(await clientOf()[name]()).toEqual(body)
})
