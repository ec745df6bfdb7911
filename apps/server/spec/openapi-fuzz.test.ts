/**
 * Every endpoint driven from its own description: whatever is sent, by whomever, the service does not fail, and what it
 * answers is described. The harness holds each answer against the document; the whole house is checked at the end.
 */
import type { JsonObject } from "@runseal/canonical"
import { mintKeyRequestSchema } from "@runseal/core/wire/key-requests"
import fc from "fast-check"
import * as v from "valibot"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { askingPolicy } from "./harness/approving.ts"
import { approvalOf, approver, transferOf } from "./harness/approving-people.ts"
import { openedId } from "./harness/asked-permits.ts"
import { checkHouse } from "./harness/check-house.ts"
import { ENDPOINTS, type Endpoint } from "./harness/described.ts"
import { fitting, HOSTILE, nearly } from "./harness/from-schema.ts"
import { ADMIN, type Holder, mint } from "./harness/key-holders.ts"
import { textAt } from "./harness/read-answer.ts"
import { EICAR, request } from "./harness/sample-requests.ts"
import { openService, type TestService } from "./harness/test-service.ts"

/**
 * Requests to each endpoint; determinism checks make keys of their own and are slow. A search has many parameters that must fit together, and a
 * decision must name the request of its path.
 */
const RUNS = 60
const RUNS_OF: Readonly<Record<string, number>> = {
  verify_determinism: 25,
  dcae_verify: 40,
  search_runs: 240,
  admin_runs: 240,
  decide_approval: 240,
}

let service: TestService
let admin: Holder
let customer: Holder
/** Token of a run of the admin's that is published, or shared, now. */
let token = "0"
/** Documents for the verifier, beside generated ones that resemble them. */
let documents: readonly JsonObject[]
let permits: readonly string[]
/** Requests for an approval, by both callers; the person of this key decides on them. */
let approvals: readonly string[]
let person: Holder
/** How the person decides on the first one. */
let decision: JsonObject

beforeAll(async () => {
  service = await openService({ config: { approvals: "on" } })
  admin = await mint(service, ADMIN)
  customer = await mint(service, { name: "customer", observe: true }, admin)
  for (const caller of [admin, customer])
    for (const payload of ["a payload", EICAR]) await caller.post("/execute", request({ payload }))
  const opening = [admin, customer].flatMap(holder => Array.from({ length: 8 }, () => openedId(holder)))
  permits = await Promise.all(opening)
  const policy = askingPolicy('context.bound.route_id == "payments/transfer"')
  expect((await admin.post("/admin/policies", { policy })).status).toBe(201)
  person = await approver(service, admin, "anna", ["treasury"])
  const asked = [admin, customer].flatMap(holder =>
    Array.from({ length: 8 }, () => holder.post("/permits", transferOf(1))),
  )
  approvals = (await Promise.all(asked)).map(approvalOf)
  const { body: shown } = await person.get(`/approvals/${approvals[0]}`)
  decision = { request_digest: textAt(shown, "request_digest"), decision: "approve" }
  const read = ["/runs/1/artifacts", "/runs/2/deny-receipt", "/runs/2/artifacts"].map(path => admin.get(path))
  documents = (await Promise.all(read)).map(({ body }) => body)
})
afterAll(async () => {
  await checkHouse(service)
  await service.close()
})

/** Secrets of those whom an endpoint may be for. */
const holders = (template: string): readonly (string | undefined)[] =>
  (template.startsWith("/approvals") ? [admin, customer, person] : [admin, customer]).map(({ secret }) => secret)

type Sent = { readonly path: string; readonly headers: Record<string, string>; readonly body?: string }

const keys = ({ template }: Endpoint): fc.Arbitrary<Record<string, string>> =>
  fc
    .oneof(
      { weight: 4, arbitrary: fc.constantFrom(...holders(template)) },
      {
        weight: 1,
        arbitrary: fc.constantFrom("", "rsk_", `rsk_${"0".repeat(48)}`, `${admin.secret}0`, "Bearer x", "'; --"),
      },
      { weight: 1, arbitrary: fc.constant(undefined) },
    )
    .map((secret): Record<string, string> => (secret === undefined ? {} : { "X-Service-Key": secret }))

/** As a text in a URL, which cannot hold halves of surrogate pairs. */
const asText = (value: unknown): string =>
  (typeof value === "string" ? value : JSON.stringify(value)).slice(0, 2000).replaceAll(/\p{Cs}/gu, "\ufffd")

/** The first runs are there and belong to the two callers; the first indices too, and what is published. */
function there(template: string): fc.Arbitrary<string> {
  if (template.includes("/permits/{")) return fc.constantFrom(...permits)
  if (template.endsWith("/decision")) return fc.constantFrom(...approvals.slice(0, 1))
  if (template.includes("/approvals/{")) return fc.constantFrom(...approvals)
  return fc.constantFrom("1", "2", "3", "4", "000", token)
}

function paths({ template, operation }: Endpoint): fc.Arbitrary<string> {
  const parts = template.split(/(\{\w+\})/).map(part => {
    const parameter = operation.parameters?.find(({ name }) => `{${name}}` === part)
    if (parameter === undefined) return fc.constant(part)
    const encoded = HOSTILE.map(value => encodeURIComponent(asText(value)))
    const fits = fitting(parameter.schema).map(value => encodeURIComponent(asText(value)).replaceAll("%2F", "/"))
    return fc.oneof(
      { weight: 3, arbitrary: there(template) },
      { weight: 2, arbitrary: fits },
      { weight: 1, arbitrary: encoded },
    )
  })
  return fc.tuple(...parts).map(found => found.join(""))
}

function queries({ operation }: Endpoint): fc.Arbitrary<string> {
  const parameters = operation.parameters?.filter(parameter => parameter.in === "query") ?? []
  const pairs = parameters.map(({ name, schema, required }) => {
    const fits = name === "key" ? fc.constantFrom(admin.id, customer.id) : fitting(schema)
    const value = fc.oneof({ weight: 5, arbitrary: fits }, { weight: 1, arbitrary: HOSTILE })
    const pair = value.map(found => [`${encodeURIComponent(name)}=${encodeURIComponent(asText(found))}`])
    const twice = pair.map(([text = ""]) => [text, text])
    const absent = fc.constant<string[]>([])
    return fc.oneof(
      { weight: required ? 1 : 8, arbitrary: absent },
      { weight: 8, arbitrary: pair },
      { weight: 1, arbitrary: twice },
    )
  })
  const noise = fc.oneof(
    { weight: 16, arbitrary: fc.constant([]) },
    { weight: 1, arbitrary: fc.constantFrom(["unknown=1"], ["%ff"], ["__proto__=1"], ["=&&="]) },
  )
  return fc.tuple(...pairs, noise).map(found => found.flat().join("&"))
}

const NO_JSON = [
  "",
  "{",
  "[]",
  "null",
  '{"a":1,"a":2}',
  '{"a":1e400}',
  `${"[".repeat(70)}`,
  '{"\\ud800":1}',
  "\ufeff{}",
]

/** Bodies that an endpoint serves, where chance seldom makes one of what fits its schema; undefined: it makes enough. */
function served(operationId: string, fits: fc.Arbitrary<unknown>): fc.Arbitrary<unknown> | undefined {
  switch (operationId) {
    case "dcae_verify":
      return fc.constantFrom(...documents)
    case "decide_approval":
      return fc.constant(decision)
    // What a key may have depends on its scope.
    case "mint_key":
      return fits.filter(body => v.is(mintKeyRequestSchema, body))
    default:
      return undefined
  }
}

function bodies({ operation }: Endpoint): fc.Arbitrary<Pick<Sent, "body"> & { readonly type: string }> {
  const schema = operation.requestBody?.content["application/json"]?.schema
  if (schema === undefined) return fc.constant({ type: "" })
  const fits = fitting(schema)
  const nearer = served(operation.operationId, fits)
  const sent = nearer === undefined ? fits : fc.oneof(fits, nearer)
  const json = (value: fc.Arbitrary<unknown>): fc.Arbitrary<string> => value.map(found => JSON.stringify(found))
  const body = fc.oneof(
    { weight: 5, arbitrary: json(sent) },
    { weight: 5, arbitrary: json(nearly(sent)) },
    { weight: 1, arbitrary: json(HOSTILE) },
    { weight: 1, arbitrary: fc.constantFrom(...NO_JSON) },
  )
  const type = fc.oneof(
    { weight: 20, arbitrary: fc.constant("application/json") },
    { weight: 1, arbitrary: fc.constantFrom("text/plain", "application/json; charset=latin1", "") },
  )
  return fc.record({ body, type })
}

const requests = (endpoint: Endpoint): fc.Arbitrary<Sent> =>
  fc
    .tuple(paths(endpoint), queries(endpoint), bodies(endpoint), keys(endpoint))
    .map(([path, query, { body, type }, key]) => ({
      path: query === "" ? path : `${path}?${query}`,
      headers: { ...key, ...(type === "" ? {} : { "Content-Type": type }) },
      ...(body === undefined ? {} : { body }),
    }))

/** Served only for a state, a number, a secret or a signature that chance does not meet, with witnesses, with a cookie, by an identity provider, or to a person who signed in there. */
const RARELY_SERVED =
  /receipt$|run_bundle|claim_runs|docs_file|tile$|witnessed_checkpoint$|redeem_permit|_destination|open_session|_sign_in$|_passkey$|^console/

/** Withdrawing takes the requests that others decide on. Changes of keys take secrets and limits of the callers' own too; after them revoking. */
const LAST = [
  "DELETE /approvals/{id}",
  "PATCH /admin/keys/{id}",
  "POST /admin/keys/{id}/rotate",
  "DELETE /admin/keys/{id}",
]
const placeOf = ({ method, template }: Endpoint): number => LAST.indexOf(`${method} ${template}`)
const inOrder = ENDPOINTS.toSorted((a, b) => placeOf(a) - placeOf(b))

describe("no request makes the service fail, and every answer is described", () => {
  test.each(inOrder.map(endpoint => [`${endpoint.method} ${endpoint.template}`, endpoint] as const))(
    "%s",
    async (_name, endpoint) => {
      const { method, template, operation } = endpoint
      if (template.includes("{token}")) {
        const made = template.startsWith("/shared/") ? "share" : "publish"
        token = textAt((await admin.post(`/admin/runs/1/${made}`, {})).body, "token")
      }
      const seen = new Set<number>()
      const numRuns = RUNS_OF[operation.operationId] ?? RUNS
      await fc.assert(
        fc.asyncProperty(requests(endpoint), async ({ path, headers, body }) => {
          const init = { method, headers, ...(body === undefined ? {} : { body }) }
          const { status } = await service.request(path, init)
          seen.add(status)
          expect(status).toBeLessThan(500)
        }),
        { numRuns },
      )
      const documented = Object.keys(operation.responses).map(Number)
      // An empty last segment is a trailing slash, which redirects.
      for (const status of seen) expect([308, 400, 401, 403, 404, ...documented]).toContain(status)
      if (!RARELY_SERVED.test(operation.operationId))
        expect(
          [...seen].some(status => status < 300),
          [...seen].join(),
        ).toBe(true)
    },
  )
})
