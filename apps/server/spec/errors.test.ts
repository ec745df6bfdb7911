/** docs/api.md, "Errors": codes, request ids, methods and trailing slashes. */
import type { JsonObject } from "@runseal/canonical"
import { ERROR_CODE_NAMES, ERROR_CODES, type ErrorCode } from "@runseal/core/wire/error-codes"
import { beforeAll, describe, expect, test } from "vitest"
import { ADMIN, CUSTOMER, caller, type Holder, mint } from "./harness/key-holders.ts"
import { at, expectRefused } from "./harness/read-answer.ts"
import { EICAR, request } from "./harness/sample-requests.ts"
import { standingService } from "./harness/test-service.ts"

const open = standingService()
const locked = standingService()
let admin: Holder
let customer: Holder

beforeAll(async () => {
  admin = await mint(locked(), ADMIN)
  customer = await mint(locked(), CUSTOMER, admin)
})

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/
const JSON_TYPE = { "Content-Type": "application/json" }

describe("the code of a refusal", () => {
  const refusals: readonly (readonly [code: ErrorCode, path: string, init: RequestInit])[] = [
    ["invalid_body", "/execute", { method: "POST", body: "{}" }],
    ["invalid_body", "/execute", { method: "POST", body: "{", headers: JSON_TYPE }],
    ["invalid_field", "/execute", { method: "POST", body: "{}", headers: JSON_TYPE }],
    ["invalid_field", "/attest", { method: "POST", body: "{}", headers: JSON_TYPE }],
    ["invalid_parameter", "/runs?limit=x", {}],
    ["invalid_parameter", "/log/consistency?first=2&second=1", {}],
    [
      "invalid_idempotency_key",
      "/execute",
      { method: "POST", body: JSON.stringify(request()), headers: { ...JSON_TYPE, "Idempotency-Key": "a b" } },
    ],
    ["unreadable_document", "/dcae/verify", { method: "POST", body: "{}", headers: JSON_TYPE }],
    ["endpoint_not_found", "/nowhere", {}],
    ["not_found", "/runs/999", {}],
    ["not_found", "/log/entry/999", {}],
    ["not_published", `/public/runs/${"0".repeat(32)}`, {}],
    ["not_published", "/runs/1/bundle.json", {}],
    ["method_not_allowed", "/execute", {}],
    ["not_acceptable", "/log/tile/entries/000.p/1", { headers: { "Accept-Encoding": "identity;q=0" } }],
  ]
  test.each(refusals)("%s of %s", async (code, path, init) => {
    const response = await open().request(path, init)
    const answer = { status: response.status, headers: response.headers, ...(await read(response)) }
    expectRefused(answer, ERROR_CODES[code].status, code)
    expect(response.headers.get("link")).toBe('</docs>; rel="help"')
  })

  test("tells a customer key from an admin key, and a run from its artifact", async () => {
    expectRefused(await customer.get("/admin/keys"), 403, "admin_key_required")
    const denied = await admin.execute(request({ payload: EICAR }))
    expectRefused(await admin.get(`/runs/${denied.body.run_id}/allow-token`), 404, "other_outcome")
    expectRefused(await customer.get(`/runs/${denied.body.run_id}`), 404, "not_found")
  })

  test("is that of a wrong field for a member that a body of an administrator does not have: nothing is done", async () => {
    const policy = { policy_id: "p", policy_name: "P", required_attested_fields: [], rules: [] }
    const bodies: readonly (readonly [path: string, body: JsonObject, fields: string])[] = [
      ["/admin/policies", { policy, dry_run: true }, "policy"],
      ["/admin/policies/dry-run", { policy, latest: 5 }, "policy, last"],
      ["/admin/runs/claim", { key_id: 1, keyid: 2 }, "key_id"],
      ["/admin/destinations/1/rotate", { overlap: 60 }, "overlap_seconds"],
      ["/admin/destinations/1/resume", { from: 1, to: 2 }, "from"],
    ]
    for (const [path, body, fields] of bodies) {
      const answer = await admin.post(path, body)
      expectRefused(answer, 400, "invalid_field")
      expect(answer.body.error, path).toMatch(new RegExp(`^The body has no field \\w+; its fields are ${fields}\\.$`))
    }
  })

  test("of a policy names the place in words of ours, and quotes nothing of it", async () => {
    const policy = { policy_id: "p", policy_name: "P", required_attested_fields: [], rules: [] }
    const refusals: readonly (readonly [change: JsonObject, reason: string])[] = [
      [{ policy_id: 5 }, '"policy_id": must be a string'],
      [{ rules: [{ id: "a", effect: "s3cret" }] }, '"rules.0.effect": must be "allow", "deny" or "require_approval"'],
      [{ rules: [{ id: "a", effect: "allow", wen: "true" }] }, '"rules.0.wen": a key that does not belong here'],
    ]
    for (const [change, reason] of refusals) {
      const answer = await admin.post("/admin/policies", { policy: { ...policy, ...change } })
      expectRefused(answer, 400, "invalid_field")
      expect(answer.body.error).toBe(`The policy document is refused at ${reason}.`)
    }
    const missing = await admin.post("/admin/policies", { policy: { policy_id: "p" } })
    expect(missing.body.error).toBe('The policy document is refused at "policy_name": is required.')
    const few = await admin.post("/admin/policies/dry-run", { policy, last: 0 })
    expect(few.body.error).toBe("last: must be an integer from 1 to 1000.")
  })

  test("is not in a body whose run was refused: that is the outcome's own", async () => {
    const { status, body } = await open().execute(request({ payload: EICAR }))
    expect(status).toBe(422)
    expect(Object.keys(body)).not.toContain("code")
    expect(Object.keys(body)).not.toContain("request_id")
  })

  test("is one of the list of the OpenAPI document, which says what each means", async () => {
    const { body } = await open().get("/openapi.json")
    expect(at(body, "components", "schemas", "Error", "properties", "code", "enum")).toEqual(ERROR_CODE_NAMES)
    for (const code of ERROR_CODE_NAMES)
      expect(at(body, "info", "description")).toContain(`| \`${code}\` | ${ERROR_CODES[code].status} | `)
  })
})

describe("a 400", () => {
  const refusalOf = async (body: Record<string, unknown>): Promise<string> => {
    const answer = await open().postRaw("/execute", JSON.stringify({ ...request(), ...body }), JSON_TYPE)
    return expectRefused(answer, 400, "invalid_field")
  }

  test("names the refused field and the accepted ones", async () => {
    const error = await refusalOf({ attested_context: { attested: true, actor: "ada" } })
    expect(error).toMatch(/^attested_context: has no field actor; its fields are attested, actor_id, actor_role, .*\.$/)
  })

  test("repeats no name that is not spelt as a field is", async () => {
    const error = await refusalOf({ attested_context: { "Bearer 4711": 1 } })
    expect(error).toMatch(/^attested_context: has a field that it does not accept; its fields are attested, .*\.$/)
  })

  test.each([
    [{ latency: true }, "request_substance.latency: must be a number or an object."],
    [{ post_processing: 7 }, "request_substance.post_processing: must be a list or an object."],
    [{ cost: { total_tokens: "7" } }, "request_substance.cost.total_tokens: must be a number."],
  ])("says in plain words what is expected: %j", async (request_substance, error) => {
    expect(await refusalOf({ request_substance })).toBe(error)
  })
})

describe("a request id", () => {
  const sent = async (id?: string) => {
    const response = await open().request("/runs/999", id === undefined ? {} : { headers: { "X-Request-Id": id } })
    const { body } = await read(response)
    expect(body.request_id).toBe(response.headers.get("x-request-id"))
    return response.headers.get("x-request-id")
  }

  test("is the caller's, where it is of letters, digits, _, - and =", async () => {
    for (const id of ["order-4711", "a".repeat(128), "AAA_b=="]) expect(await sent(id)).toBe(id)
  })

  test("is otherwise a UUID", async () => {
    for (const id of [undefined, "", "a b", "a".repeat(129), 'a"b', "a;b", "../x", "é"])
      expect(await sent(id)).toMatch(UUID)
  })

  test("is in every answer, also of success and of what is not changed", async () => {
    for (const path of [
      "/health",
      "/openapi.json",
      "/docs",
      "/verify",
      "/log/checkpoint",
      "/runs",
      "/nowhere",
      "/runs/",
    ]) {
      const { headers } = await open().request(path, { headers: { "X-Request-Id": "mine" } })
      expect(headers.get("x-request-id"), path).toBe("mine")
    }
  })
})

describe("a method that an endpoint does not have", () => {
  test.each([
    ["GET", "/execute", "POST"],
    ["PUT", "/execute", "POST"],
    ["DELETE", "/runs/1", "GET, HEAD"],
    ["POST", "/runs", "GET, HEAD"],
    ["PATCH", "/health", "GET, HEAD"],
    ["POST", "/log/tile/0/000", "GET, HEAD"],
    ["OPTIONS", "/runs", "GET, HEAD"],
    ["PUT", "/admin/keys", "GET, HEAD, POST"],
    ["GET", "/admin/keys/1", "PATCH, DELETE"],
    ["POST", "/console", "GET, HEAD"],
  ])("%s %s is a 405 with Allow: %s", async (method, path, allow) => {
    const response = await open().request(path, { method })
    expect(response.headers.get("allow")).toBe(allow)
    expectRefused({ status: response.status, headers: response.headers, ...(await read(response)) }, 405)
  })
})

describe("a parameter that is refused", () => {
  test.each([
    [
      "from=2026-05-04T12:00:00+02:00",
      "from must be an RFC 3339 timestamp: write the + of its offset as %2B, since a + in a query is a space.",
    ],
    ["from=2026-05-04T12", "from must be an RFC 3339 timestamp, or a day as YYYY-MM-DD."],
    ["actor_id=a%00b", "actor_id must be without U+0000, which no record has."],
    ["route_id=", "route_id must be 1 to 512 characters."],
  ])("says what to do: %s", async (query, error) => {
    const answer = await open().get(`/runs/search?${query}`)
    expect(expectRefused(answer, 400, "invalid_parameter")).toBe(error)
  })

  test("is accepted as the sentence says", async () => {
    expect((await open().get("/runs/search?from=2026-05-04T12:00:00%2B02:00")).status).toBe(200)
  })
})

describe("a list of the console", () => {
  test.each([
    ["runs?outcome_kind=pepg_deny", "This list has no such filter; it has "],
    ["runs?status=denied", "status must be one of ok, pepg_deny, "],
    ["runs?key=acme", "key must be a number."],
    ["runs?before=first", "before must be a number."],
    ["runs?from=yesterday", "from must be "],
    ["runs.csv?actor=ada", "This list has no such filter; it has "],
    ["runs.csv?from=yesterday", "from must be "],
    ["permits?status=open", "This list has no such filter; it has state, key, before."],
    ["permits?state=opened", "state must be one of open, closed, ended, refused."],
  ])("is not shown whole for a filter that is wrong: %s", async (path, sentence) => {
    const response = await open().request(`/console/${path}`)
    expect(response.status).toBe(400)
    expect(await response.text()).toContain(sentence)
  })

  test("takes its filters, also empty ones", async () => {
    for (const path of ["runs?status=ok&key=&route_id=", "runs.csv?status=ok", "permits?state=open"])
      expect((await open().request(`/console/${path}`)).status, path).toBe(200)
  })
})

describe("a form of the console", () => {
  test.each([
    ["is cut off", 400, "multipart/form-data; boundary=x", "--x"],
    ["has no boundary", 400, "multipart/form-data", "x"],
    ["is too large", 413, "application/x-www-form-urlencoded", `key=${"a".repeat(1_048_576)}`],
    ["has a key that is none", 403, "application/x-www-form-urlencoded", "key=x"],
  ])("that %s is answered %i with a page", async (_what, status, type, body) => {
    const headers = { "Content-Type": type, "Sec-Fetch-Site": "same-origin" }
    const response = await locked().request("/console/sign-in", { method: "POST", headers, body })
    expect([response.status, response.headers.get("content-type")]).toEqual([status, "text/html; charset=UTF-8"])
    expect(await response.text()).toContain('role="alert"')
  })
})

describe("a trailing slash", () => {
  test.each([
    ["/health/", "../health"],
    ["/runs/?limit=1", "../runs?limit=1"],
    ["/runs/1/verify/", "../verify"],
    ["/public/runs/%C3%A9/", "../%C3%A9"],
    ["/admin/keys/", "../keys"],
    ["/console/", "../console"],
  ])("%s leads to %s with 308", async (path, location) => {
    for (const method of ["GET", "POST"]) {
      const response = await open().request(path, { method })
      expect([response.status, response.headers.get("location")]).toEqual([308, location])
    }
  })

  test("of a page of the console is followed", async () => {
    const response = await open().request("/console/runs/?status=ok")
    expect([response.status, response.headers.get("location")]).toEqual([308, "../runs?status=ok"])
  })

  test("is followed without a key only where the endpoint needs none", async () => {
    expect((await locked().request("/health/")).status).toBe(308)
    expectRefused(await caller(locked()).get("/runs/"), 401)
    expectRefused(await customer.get("/admin/keys/"), 403)
  })

  test.each(["/nowhere/", "//health/", "/health//", "//evil.example/", "/%0d%0aSet-Cookie:x/"])(
    "of no endpoint is not followed: %s",
    async path => {
      const response = await open().request(`http://localhost${path}`)
      expectRefused({ status: response.status, headers: response.headers, ...(await read(response)) }, 404)
    },
  )
})

async function read(response: Response) {
  const text = await response.text()
  return { text, body: JSON.parse(text) }
}
