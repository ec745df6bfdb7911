/** The OpenAPI document: complete, true, and able to find a wrong answer. */
import type { JsonObject } from "@runseal/canonical"
import { isObject } from "@runseal/core/vocabulary/json-members"
import { ERROR_CODE_NAMES, ERROR_CODES } from "@runseal/core/wire/error-codes"
import { Hono } from "hono"
import { describe, expect, test } from "vitest"
import { createApp } from "../src/app.ts"
import { type Handlers, mountEndpoints } from "../src/http/endpoint-routes.ts"
import {
  type Described,
  DOCUMENT,
  ENDPOINTS,
  endpointOf,
  expectDescribed,
  mismatch,
  type ResponseObject,
} from "./harness/described.ts"
import { at, textAt } from "./harness/read-answer.ts"
import { CASES, REQUESTS, standingSevenStates } from "./harness/seven-states.ts"

const { service, answers, runId } = standingSevenStates()

describe("GET /openapi.json", () => {
  test("is the document of this release, which anybody may keep for a while", async () => {
    const { status, headers, text } = await service().get("/openapi.json")
    expect(status).toBe(200)
    expect(JSON.parse(text)).toEqual(DOCUMENT)
    expect(DOCUMENT.openapi).toBe("3.1.0")
    expect(headers.get("cache-control")).toMatch(/^public, max-age=\d+$/)
  })

  test("is not sent again to who has it", async () => {
    const { headers } = await service().get("/openapi.json")
    const etag = headers.get("etag") ?? ""
    expect(etag).toMatch(/^"[0-9a-f]{64}"$/)
    for (const known of [etag, `W/${etag}`, `"other", ${etag}`, "*"]) {
      const again = await service().request("/openapi.json", { headers: { "If-None-Match": known } })
      expect({ status: again.status, text: await again.text() }).toEqual({ status: 304, text: "" })
    }
    const other = await service().request("/openapi.json", { headers: { "If-None-Match": '"other"' } })
    expect(other.status).toBe(200)
  })

  test("names the address callers use", async () => {
    const app = createApp({ ...service().deps, baseUrl: "https://seal.example/api" })
    expect(await (await app.request("/openapi.json")).json()).toMatchObject({
      servers: [{ url: "https://seal.example/api" }],
    })
  })
})

describe("the document", () => {
  /** A route of the application as the document writes it; a rest of a path is one parameter or more. */
  const described = (path: string): RegExp =>
    new RegExp(
      `^${path
        .replace(/:\w+\{\.\+\}$/, "*")
        .replaceAll(".", "\\.")
        .replaceAll(/:\w+/g, "\\{\\w+\\}")
        .replace(/\*$/, ".+")}$`,
    )
  const routes = () => createApp(service().deps).routes.filter(({ method }) => method !== "ALL")

  test("has every route of the application", () => {
    const missing = routes().filter(
      ({ method, path }) => !ENDPOINTS.some(one => one.method === method && described(path).test(one.template)),
    )
    expect(missing.map(({ method, path }) => `${method} ${path}`)).toEqual([])
  })

  test("has no endpoint that is no route", () => {
    const invented = ENDPOINTS.filter(
      one => !routes().some(({ method, path }) => method === one.method && described(path).test(one.template)),
    )
    expect(invented.map(({ method, template }) => `${method} ${template}`)).toEqual([])
  })

  test("an endpoint without a handler stops the start, and so does a handler without an endpoint", () => {
    const { deps } = service()
    const handler = (): Response => new Response()
    const handlers = Object.fromEntries(ENDPOINTS.map(({ operation }) => [operation.operationId, handler]))
    const { health: _, ...others } = handlers
    const mount = (...tables: readonly Handlers[]) => mountEndpoints(new Hono(), deps, tables)
    expect(() => mount(handlers)).not.toThrow()
    expect(() => mount(others)).toThrow("the endpoint health has no handler")
    const invented = Object.fromEntries([["invented", handler]])
    expect(() => mount(handlers, invented)).toThrow("handlers without an endpoint: invented")
  })

  test("names each operation once", () => {
    const ids = ENDPOINTS.map(({ operation }) => operation.operationId)
    expect(new Set(ids).size).toBe(ids.length)
  })

  test("gives every JSON request and answer a name", () => {
    const unnamed = ENDPOINTS.flatMap(({ method, template, operation }) => {
      const json = (content: ResponseObject["content"] = {}): readonly (object | undefined)[] =>
        Object.entries(content).flatMap(([type, { schema }]) => (type === "application/json" ? [schema] : []))
      const schemas = [operation.requestBody, ...Object.values(operation.responses)].flatMap(part =>
        json(part?.content),
      )
      return schemas
        .filter(schema => Object.keys(schema ?? {}).join() !== "$ref")
        .map(schema => [method, template, schema])
    })
    expect(unnamed).toEqual([])
  })

  test("finds each endpoint by its own path", () => {
    for (const { method, template } of ENDPOINTS) {
      const path = template.replaceAll(/\{\w+\}/g, "7")
      expect(endpointOf(method, path)?.template, path).toBe(template)
    }
  })

  test("says a refusal for every status in the error envelope", () => {
    for (const { method, template, operation } of ENDPOINTS)
      for (const [status, response] of Object.entries(operation.responses))
        if (
          Number(status) >= 400 &&
          ![422, 500].includes(Number(status)) &&
          response.content?.["text/html"] === undefined
        )
          expect(response.$ref, `${method} ${template} ${status}`).toMatch(/^#\/components\/responses\//)
  })

  test("asks for a key where the door does", async () => {
    for (const { method, template, operation } of ENDPOINTS) {
      const open =
        /^\/($|health|ready|version|openapi|docs|verify|console|log|public|shared|session\/sign-in|\.well-known)|bundle\.json$/.test(
          template,
        )
      // The credential of a redemption is the permit itself, that of a sign-in the key in its body.
      const inBody = template === "/permits/{id}/redeem" || (template === "/session" && method === "POST")
      expect(operation.security, template).toEqual(open || inBody ? [] : [{ service_key: [] }, { session: [] }, {}])
      expect(Object.keys(operation.responses).includes("401"), template).toBe(!open)
    }
  })

  test("has only schemas that a strict validator compiles", () => {
    const places = schemasIn(DOCUMENT)
    expect(places.length).toBeGreaterThan(ENDPOINTS.length)
    for (const place of places) expect(() => mismatch(null, ...place), place.join("/")).not.toThrow()
  })

  test("has examples that are what it asks for", () => {
    for (const { method, template, operation } of ENDPOINTS) {
      const body = operation.requestBody?.content["application/json"]
      const place = ["paths", template, method.toLowerCase(), "requestBody", "content", "application/json", "schema"]
      if (body?.example !== undefined) expect(mismatch(body.example, ...place), template).toBeUndefined()
    }
  })

  test("has an example of every code of a refusal that an endpoint can answer", () => {
    const shown = Object.entries(DOCUMENT.components.responses).flatMap(([name, { content }]) => {
      const { examples = {} } = content?.["application/json"] ?? {}
      return Object.entries(examples).map(([code, { value }]) => {
        expect(
          mismatch(value, "components", "responses", name, "content", "application/json", "schema"),
          code,
        ).toBeUndefined()
        expect(value.code).toBe(code)
        return code
      })
    })
    const beforeAnEndpoint = [405, 417, 431, 501]
    expect(shown.toSorted()).toEqual(
      ERROR_CODE_NAMES.filter(code => !beforeAnEndpoint.includes(ERROR_CODES[code].status)).toSorted(),
    )
  })

  test("describes every request that the service takes", () => {
    for (const name of CASES)
      expect(mismatch(REQUESTS[name], "components", "schemas", "ExecuteRequest"), name).toBeUndefined()
  })

  test.each([
    ["a short hash", { program_id: "a1" }],
    ["an empty route", { route_id: "" }],
    ["a payload of another kind", { payload: 7 }],
    ["a field attested_context has not", { attested_context: { name: "x" } }],
    ["a signature in another alphabet", { attested_context: { actor_signature: "__-_" } }],
    ["a negative token count", { request_substance: { cost: { total_tokens: -1 } } }],
    ["a token count that is no integer", { request_substance: { cost: { total_tokens: 0.5 } } }],
    ["an origin of the caller's own", { request_substance: { origin: { source_ip_hash: "x" } } }],
    ["a list for an object", { causal_graph: [] }],
    ["labels that are no list", { regulatory_scaffolding: { data_classification: { health: "yes" } } }],
    ["an approver that is no object", { authorization_chain: { approvers: [7] } }],
  ])("refuses what the service refuses: %s", async (_name, change) => {
    const body: JsonObject = { ...REQUESTS.ok, ...change }
    expect((await service().execute(body)).status).toBe(400)
    expect(mismatch(body, "components", "schemas", "ExecuteRequest")).toBeDefined()
  })

  test("refuses a request without a payload", () => {
    const { payload: _payload, ...rest }: JsonObject = REQUESTS.ok
    expect(mismatch(rest, "components", "schemas", "ExecuteRequest")).toBeDefined()
    expect(mismatch({ ...rest, payload_text: "" }, "components", "schemas", "ExecuteRequest")).toBeUndefined()
  })
})

/** Where a document has schemas: of bodies, parameters, headers and answers, and those with names. */
const schemasIn = (value: unknown, place: readonly string[] = []): readonly (readonly string[])[] =>
  typeof value !== "object" || value === null
    ? []
    : Object.entries(value).flatMap(([name, member]) => {
        const at = [...place, name]
        if (name === "schema" || place.join("/") === "components/schemas") return [at]
        return schemasIn(member, at)
      })

describe("an answer that is not as described is found", () => {
  const taken = async (path: string): Promise<Described> => {
    const { status, headers, text } = await service().get(path)
    return { method: "GET", path, status, headers, text }
  }
  const changed = (answer: Described, change: (body: JsonObject) => JsonObject): Described => {
    const body: unknown = JSON.parse(answer.text)
    return { ...answer, text: JSON.stringify(change(body as JsonObject)) }
  }

  const PATHS = (): readonly string[] => [
    "/health",
    "/ready",
    "/version",
    "/runs?limit=2",
    `/runs/${runId("ok")}`,
    `/runs/${runId("ok")}/verify`,
    `/runs/${runId("stage_error")}/verify`,
    `/runs/${runId("ok")}/allow-token`,
    `/runs/${runId("ccv_halt")}/ccv-halt-receipt`,
    `/runs/${runId("ok")}/artifacts`,
    "/runs/999999",
    "/log/genesis",
    "/log/key-changes",
    "/log/entry/1",
    "/log/consistency?first=1&second=2",
    "/.well-known/runseal-trust.json",
    "/nowhere",
  ]

  test("a member more, a member less, a value of another kind, at any depth", async () => {
    for (const path of PATHS()) {
      const answer = await taken(path)
      expectDescribed(answer)
      expect(() => expectDescribed(changed(answer, body => ({ ...body, more: 1 }))), path).toThrow(/additional/)
      const { ok: _ok, kind: _kind, ...rest } = JSON.parse(answer.text)
      expect(() => expectDescribed({ ...answer, text: JSON.stringify(rest) }), path).toThrow(/required|any|one of/)
      for (const name of Object.keys(JSON.parse(answer.text)))
        expect(() => expectDescribed(changed(answer, body => ({ ...body, [name]: null }))), `${path} ${name}`).toThrow()
    }
  })

  test("a nested member more", async () => {
    const answer = await taken(`/runs/${runId("ok")}/artifacts`)
    const nested = (body: JsonObject, key: string): JsonObject => {
      const inner = at(body, key)
      return isObject(inner) ? { ...body, [key]: { ...inner, more: 1 } } : body
    }
    for (const key of ["run", "sections", "manifest", "allow_token", "anchors"])
      expect(() => expectDescribed(changed(answer, body => nested(body, key))), key).toThrow()
  })

  test("another status, content type or header", async () => {
    const answer = await taken(`/runs/${runId("ok")}/artifacts`)
    expect(() => expectDescribed({ ...answer, status: 418 })).toThrow(/status is not described/)
    expect(() => expectDescribed({ ...answer, status: 404 })).toThrow()
    const plain = new Headers(answer.headers)
    plain.set("content-type", "text/plain")
    expect(() => expectDescribed({ ...answer, headers: plain })).toThrow(/content type/)
    const unnamed = new Headers(answer.headers)
    unnamed.delete("content-disposition")
    expect(() => expectDescribed({ ...answer, headers: unnamed })).toThrow(/header Content-Disposition is missing/)
  })

  test("an execute answer under the status of another outcome", () => {
    const { text, headers, status } = answers().ok
    const sent = { method: "POST", path: "/execute", headers, text }
    expectDescribed({ ...sent, status })
    for (const wrong of [422, 500, 400]) expect(() => expectDescribed({ ...sent, status: wrong })).toThrow()
    expect(textAt(answers().ok.body, "manifest", "ManifestHash")).toMatch(/^[0-9a-f]{64}$/)
  })
})

const FOREIGN = { Origin: "https://elsewhere.example", "Access-Control-Request-Method": "GET" }

test.each([
  ["/health", "GET"],
  ["/", "GET"],
  ["/runs", "GET"],
  ["/runs", "OPTIONS"],
  ["/docs", "GET"],
  ["/openapi.json", "GET"],
  ["/verify", "GET"],
  ["/log/checkpoint", "OPTIONS"],
  ["/log/checkpoint", "POST"],
  ["/execute", "OPTIONS"],
  ["/nowhere", "GET"],
  [`/public/runs/${"0".repeat(32)}`, "GET"],
])("no script of another origin may read %s by %s, and no answer decides on TLS", async (path, method) => {
  const { headers } = await service().request(path, { method, headers: FOREIGN })
  expect([...headers.keys()].filter(name => name.startsWith("access-control"))).toEqual([])
  expect(headers.has("strict-transport-security")).toBe(false)
  expect(headers.get("x-frame-options")).toBe("DENY")
  expect(headers.get("referrer-policy")).toBe("no-referrer")
})

test.each([
  "/log/checkpoint",
  "/log/entry/0",
  "/log/tile/0/000.p/1",
  "/.well-known/runseal-trust.json",
  "/.well-known/trusted-root.json",
  "/.well-known/service.pub",
  `/public/runs/${"0".repeat(32)}/bundle.json`,
  `/public/runs/${"0".repeat(32)}/statement.intoto.json`,
])("a script of any origin may read the public document %s, without credentials", async path => {
  const { headers } = await service().request(path, { headers: FOREIGN })
  expect(headers.get("access-control-allow-origin")).toBe("*")
  expect([...headers.keys()].filter(name => name.startsWith("access-control"))).toHaveLength(1)
})
