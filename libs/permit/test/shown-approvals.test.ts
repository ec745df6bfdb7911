/** Approvals that persons signed with passkeys, shown beside a permit. docs/executors.md, "Approvals that no operator can make up". */
import { canonicalize } from "@runseal/canonical"
import type { ApproverKey } from "@runseal/core/artifacts/passkey"
import { decisionDigest, type SignedDecision } from "@runseal/core/formulas/signed-decision"
import { paymentService } from "@runseal/payment-executor/payment-service"
import { Hono } from "hono"
import { beforeAll, beforeEach, describe, expect, test } from "vitest"
import { type AssertionChanges, assertion, type TestPasskey, testPasskey } from "../../core/test/fixtures/passkeys.ts"
import { requirePermit } from "../src/express.ts"
import { type PermitVariables, requirePermit as requirePermitInHono } from "../src/hono.ts"
import { type ExpectedPermit, type PermitFacts, verifyPermit } from "../src/index.ts"
import type { PermitOptions } from "../src/permitted-request.ts"
import { ACT, newKey, PAYLOAD, permitNow } from "./signed-permits.ts"

const service = newKey("current")
const ADMITTED = Date.UTC(2026, 0, 15, 9, 30, 0)
const REQUEST = { request_hash: "e".repeat(64), expires_at: "2026-01-15T10:00:00.000Z" }
/** When the approvals are too old: 300 s of the permit, and 5 s of leeway, after the request's end. */
const OVER = Date.UTC(2026, 0, 15, 10, 5, 5)
const [anna, ben] = [testPasskey("anna"), testPasskey("ben")]
const keys = [anna.key, ben.key]

const SIGNED = {
  ...REQUEST,
  valid_for_seconds: 300,
  log_origin: ACT.issuer,
  tenant_id: "api-key-7",
  audience: ACT.audience,
  program_id: ACT.program_id,
  route_id: ACT.route_id,
  payload_hash: "",
} as const

type Change = Partial<SignedDecision> & {
  readonly by?: TestPasskey
  readonly made?: AssertionChanges
  /** Shown otherwise than signed. */
  readonly shown?: object
}

/** What one person decided, as the header shows it. */
function decided(person: TestPasskey, { by = person, made = {}, shown = {}, ...signs }: Change = {}, act: object = {}) {
  const { issuer, subject } = person.key
  const decision = signs.decision ?? "approve"
  const signed = { ...SIGNED, ...act, decision, issuer, subject, ...signs }
  return { decision, person: { issuer, subject }, passkey: assertion(by, decisionDigest(signed), made), ...shown }
}
const headerOf = (decisions: readonly object[], request: object = REQUEST): string =>
  Buffer.from(canonicalize(JSON.parse(JSON.stringify({ ...request, decisions })))).toString("base64url")

let permit: string
let payload_hash: string
beforeAll(async () => {
  permit = await permitNow(service, { admission_clock: new Date(ADMITTED).toISOString() })
  payload_hash = (await verified({ approvals: undefined })).claims.runseal.payload_hash
})

const verdictOn = (change: Partial<ExpectedPermit> = {}, token = permit) =>
  verifyPermit(token, {
    ...ACT,
    payload: PAYLOAD,
    keys: { keys: [service.jwk] },
    now: new Date(ADMITTED + 10_000),
    approvals: { count: 2, keys },
    ...change,
  } as ExpectedPermit)

async function verified(change: Partial<ExpectedPermit>) {
  const verdict = await verdictOn(change)
  if (!verdict.ok) throw new Error(verdict.message)
  return verdict
}
const both = (change: Change = {}): string =>
  headerOf([decided(anna, change, { payload_hash }), decided(ben, {}, { payload_hash })])

test("two persons who signed this act are named, with the request that is used up", async () => {
  expect(await verified({ shown_approvals: both() })).toMatchObject({
    claims: { sub: "api-key-7" },
    approved: {
      request_hash: REQUEST.request_hash,
      persons: [{ subject: "anna" }, { subject: "ben" }],
      until: new Date(Date.UTC(2026, 0, 15, 10, 5, 30)),
    },
  })
})

test("a comment is signed by its hash; keys are the file that was given, as text or value", async () => {
  const comment_hash = "f".repeat(64)
  const file = { kind: "vfa.approver_keys.v1", keys }
  for (const given of [file, JSON.stringify(file)])
    expect(
      await verdictOn({
        approvals: { count: 2, keys: given },
        shown_approvals: both({ comment_hash, shown: { comment_hash } }),
      }),
    ).toMatchObject({ ok: true })
})

test("where no approval is demanded, none is read", async () => {
  expect(await verdictOn({ approvals: undefined, shown_approvals: "?" })).toEqual({
    ok: true,
    claims: expect.anything(),
  })
})

describe("an approval of something else counts for nothing", () => {
  const other = "d".repeat(64)
  const carl = testPasskey("carl")
  test.each<[string, Change]>([
    ["another payload", { payload_hash: other }],
    ["another route", { route_id: "payments/refund" }],
    ["another audience", { audience: "refunds" }],
    ["another program", { program_id: other }],
    ["another tenant", { tenant_id: "api-key-8" }],
    ["the log of another service", { log_origin: "runseal.local - 2" }],
    ["another time of the permit", { valid_for_seconds: 301 }],
    ["another request", { request_hash: other }],
    ["another end of the request", { expires_at: "2026-01-15T11:00:00.000Z" }],
    ["a comment that is not shown", { comment_hash: other }],
    ["a comment that was not signed", { shown: { comment_hash: other } }],
    ["another person's key", { by: carl }],
    ["another person's name", { shown: { person: { issuer: anna.key.issuer, subject: "carl" } } }],
    [
      "the name at another identity provider",
      { shown: { person: { issuer: "https://other.example", subject: "anna" } } },
    ],
    ["a rejection that was signed as an approval", { shown: { decision: "reject" } }],
    ["an approval that was signed as a rejection", { decision: "reject", shown: { decision: "approve" } }],
    ["a person who was not verified", { made: { flags: 0x01 } }],
    ["another origin", { made: { client: { origin: "https://elsewhere.example" } } }],
    ["another pinned origin", { made: { pinned: { origin: "https://runseal.example:8443" } } }],
    ["an enrolment's signature", { made: { client: { type: "webauthn.create" } } }],
  ])("%s", async (_, change) => {
    expect(await verdictOn({ shown_approvals: both(change) })).toMatchObject({ reason: "approvals_insufficient" })
    const one = { approvals: { count: 1, keys }, shown_approvals: both(change) }
    expect(await verified(one)).toMatchObject({ approved: { persons: [{ subject: "ben" }] } })
  })
})

describe("the approvals are not enough", () => {
  const insufficient = { ok: false, reason: "approvals_insufficient", message: expect.any(String) }

  test("of one person who signed twice", async () => {
    const twice = headerOf([decided(anna, {}, { payload_hash }), decided(anna, {}, { payload_hash })])
    expect(await verdictOn({ shown_approvals: twice })).toEqual(insufficient)
  })

  test("of one person with two passkeys, or with one name at two identity providers", async () => {
    const second = testPasskey("anna", { seed: "second" })
    const elsewhere = { ...second, key: { ...second.key, issuer: "https://other.example" } }
    for (const more of [second, elsewhere]) {
      const shown_approvals = headerOf([decided(anna, {}, { payload_hash }), decided(more, {}, { payload_hash })])
      expect(await verdictOn({ approvals: { count: 2, keys: [anna.key, more.key] }, shown_approvals })).toEqual(
        insufficient,
      )
    }
  })

  test("with a rejection by a person whose key is known, however many approve", async () => {
    const shown_approvals = headerOf([
      decided(anna, {}, { payload_hash }),
      decided(ben, { decision: "reject" }, { payload_hash }),
    ])
    expect(await verdictOn({ approvals: { count: 1, keys }, shown_approvals })).toEqual(insufficient)
  })

  test("of nobody", async () => {
    expect(await verdictOn({ shown_approvals: headerOf([]) })).toEqual(insufficient)
  })

  test("when the request and the time of its permit are over", async () => {
    const late = await permitNow(service, { admission_clock: new Date(OVER - 60_000).toISOString() })
    const at = (millis: number) => verdictOn({ shown_approvals: both(), now: new Date(millis) }, late)
    expect(await at(OVER - 1)).toMatchObject({ ok: true })
    expect(await at(OVER)).toEqual(insufficient)
  })
})

describe("what shows no approvals", () => {
  const eight = () => Array.from({ length: 9 }, () => decided(anna, {}, { payload_hash }))
  test.each<[string, () => string | undefined]>([
    ["no header", () => undefined],
    ["an empty header", () => ""],
    ["padding", () => `${both()}=`],
    ["the other alphabet", () => `${both()}+/`],
    ["what is no JSON", () => Buffer.from("approved").toString("base64url")],
    ["a member twice", () => Buffer.from('{"decisions":[],"decisions":[]}').toString("base64url")],
    ["another member", () => headerOf([], { ...REQUEST, outcome: "approved" })],
    ["the name of a person", () => both({ shown: { person: { ...decided(anna).person, name: "Anna" } } })],
    ["no passkey", () => headerOf([{ ...decided(anna), passkey: undefined }])],
    ["a request without its hash", () => headerOf([], { expires_at: REQUEST.expires_at })],
    ["nine decisions", () => headerOf(eight().map(({ person, ...rest }) => ({ person, ...rest })))],
    ["12,289 characters", () => "A".repeat(12_289)],
  ])("%s", async (_, shown) => {
    expect(await verdictOn({ shown_approvals: shown() })).toMatchObject({ ok: false, reason: "approvals_missing" })
  })
})

test.each<[string, number, readonly ApproverKey[] | string]>([
  ["no person", 0, keys],
  ["nine persons", 9, keys],
  ["half a person", 1.5, keys],
  ["no keys", 1, []],
  ["one key for two persons", 1, [anna.key, { ...ben.key, public_key: anna.key.public_key }]],
  ["a file that is none", 1, "{}"],
  ["a file that is no JSON", 1, "keys"],
])("%s is a mistake of the one who acts", async (_, count, given) => {
  await expect(verdictOn({ approvals: { count, keys: given }, shown_approvals: both() })).rejects.toThrow(RangeError)
})

describe("in the payment service of the example", () => {
  const LARGE = PAYLOAD.replace("120.00", "10000.00")
  const accepts = { ...ACT, tenant_id: "api-key-7", keys: { keys: [service.jwk] } } satisfies PermitOptions
  const later = { ...REQUEST, expires_at: new Date(Date.now() + 3_600_000).toISOString() }

  async function send(
    to: ReturnType<typeof paymentService>,
    body: string,
    shown?: (hash: string) => string,
    change: Partial<PermitFacts> = {},
  ) {
    const payload_hash = Buffer.from(await crypto.subtle.digest("SHA-256", Buffer.from(body))).toString("hex")
    const headers = {
      "content-type": "application/json",
      "Runseal-Permit": await permitNow(service, { payload_hash, ...change }),
      ...(shown && { "Runseal-Approvals": shown(payload_hash) }),
    }
    const answer = await to.request("/transfers", { method: "POST", headers, body })
    return { status: answer.status, ...Object(await answer.json()) }
  }
  const signed = (payload_hash: string): string =>
    headerOf(
      [anna, ben].map(person => decided(person, {}, { payload_hash, ...later })),
      later,
    )

  test("a small order needs no approval, and a large one two", async () => {
    const payments = paymentService(accepts, keys)
    expect(await send(payments, PAYLOAD)).toMatchObject({ status: 201 })
    expect(await send(payments, LARGE)).toMatchObject({ status: 403, code: "approvals_missing" })
    expect(await send(payments, LARGE, signed)).toMatchObject({ status: 201, approved_by: ["anna", "ben"] })
  })

  test("one approval is one act, also under a second permit", async () => {
    const payments = paymentService(accepts, keys)
    expect(await send(payments, LARGE, signed)).toMatchObject({ status: 201 })
    const again = await send(payments, LARGE, signed, { permit_id: `pmt-${"1".repeat(32)}` })
    expect(again).toMatchObject({ status: 403, code: "approvals_used" })
    expect(await (await payments.request("/transfers")).json()).toMatchObject({ transfers: [{}] })
  })

  test("a service with keys that count for nothing does not start", () => {
    expect(() => paymentService(accepts, "{}")).toThrow(RangeError)
  })

  test("without keys of approvers a large order needs its permit alone", async () => {
    expect(await send(paymentService(accepts), LARGE)).toMatchObject({ status: 201 })
  })
})

describe("in every middleware", () => {
  const later = { ...REQUEST, expires_at: new Date(Date.now() + 3_600_000).toISOString() }
  const used = new Map<string, Date>()
  const options = {
    ...ACT,
    tenant_id: "api-key-7",
    keys: { keys: [service.jwk] },
    approvals: {
      count: 2,
      keys,
      use_once: async (request_hash: string, until: Date) => {
        const isNew = !used.has(request_hash)
        used.set(request_hash, until)
        return isNew
      },
    },
  } satisfies PermitOptions
  beforeEach(() => used.clear())
  const approvedBy = (persons: readonly TestPasskey[]): string =>
    headerOf(
      persons.map(person => decided(person, {}, { payload_hash, ...later })),
      later,
    )

  type Answered = { readonly status: number; readonly body: unknown }
  type Send = (headers: Readonly<Record<string, string>>) => Promise<Answered>

  /** What Express gives a middleware, and does after it. */
  const inExpress: Send = headers =>
    new Promise((resolve, reject) => {
      const given = new Headers(headers)
      const request = { get: (name: string) => given.get(name) ?? undefined, body: Buffer.from(PAYLOAD) }
      const locals: { approved?: unknown } = {}
      const status = (code: number) => ({ json: (body: unknown) => resolve({ status: code, body }) })
      requirePermit(options)(request, { locals, status }, error =>
        error === undefined ? resolve({ status: 200, body: locals.approved }) : reject(error),
      ).catch(reject)
    })
  const inHono: Send = async headers => {
    const app = new Hono<{ Variables: PermitVariables }>()
    app.post("/", requirePermitInHono(options), context => context.json(context.get("approved") ?? null))
    const answer = await app.request("/", { method: "POST", headers, body: PAYLOAD })
    return { status: answer.status, body: await answer.json() }
  }

  describe.each<[string, Send]>([
    ["Express", inExpress],
    ["Hono", inHono],
  ])("%s", (_, send) => {
    const sent = async (approvals?: string, change: Partial<PermitFacts> = {}) =>
      send({ "Runseal-Permit": await permitNow(service, change), ...(approvals && { "Runseal-Approvals": approvals }) })
    const refusal = (code: string) => ({ status: 403, body: { ok: false, code, error: expect.any(String) } })

    test("no act is done without its approvals, and a handler finds who approved", async () => {
      expect(await sent()).toEqual(refusal("approvals_missing"))
      expect(await sent(approvedBy([anna]))).toEqual(refusal("approvals_insufficient"))
      expect([...used]).toEqual([])
      const { status, body } = await sent(approvedBy([anna, ben]))
      expect(status).toBe(200)
      const persons = [{ subject: "anna" }, { subject: "ben" }]
      expect(body).toMatchObject({ request_hash: REQUEST.request_hash, persons })
      expect([...used.keys()]).toEqual([REQUEST.request_hash])
    })

    test("one approval is one act, also under a second permit", async () => {
      const approvals = approvedBy([anna, ben])
      expect(await sent(approvals)).toMatchObject({ status: 200 })
      expect(await sent(approvals, { permit_id: `pmt-${"1".repeat(32)}` })).toEqual(refusal("approvals_used"))
    })
  })

  test.each([
    ["Express", requirePermit],
    ["Hono", requirePermitInHono],
  ])("%s does not start with approvals that nobody can give, nor without storing each", (_, start) => {
    const { use_once } = options.approvals
    expect(() => start({ ...options, approvals: { count: 9, keys, use_once } })).toThrow(/1 to 8/)
    expect(() => Reflect.apply(start, undefined, [{ ...options, approvals: { count: 2, keys } }])).toThrow(/use_once/)
  })
})
