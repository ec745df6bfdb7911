/** What follows from one row of the table of endpoints: a row that no other code knows is described, bound, guarded and bounded. */
import { type Endpoint, json } from "@runseal/api/endpoint"
import { ENDPOINTS } from "@runseal/api/endpoints"
import { openApiDocument } from "@runseal/api/openapi/openapi-document"
import { Hono } from "hono"
import * as v from "valibot"
import { describe, expect, test } from "vitest"
import { type Handler, mountEndpoints } from "../src/http/endpoint-routes.ts"
import { HttpError } from "../src/http-error.ts"
import { ADMIN, CUSTOMER, caller, mint, type RequestTarget } from "./harness/key-holders.ts"
import { at, objectAt } from "./harness/read-answer.ts"
import { standingService } from "./harness/test-service.ts"

const service = standingService()

const toySchema = v.pipe(v.strictObject({ toy: v.string() }), v.title("Toy"))
const toy = (access: Endpoint["access"], more: Partial<Endpoint> = {}): Endpoint => ({
  method: "get",
  path: `/toys/${access}/{name}`,
  id: `toy_${access}`,
  tag: "Toys",
  summary: "A toy",
  access,
  path_parameters: { name: { schema: { type: "string" }, description: "Its name.", example: "bear" } },
  answers: { 200: json(toySchema, "The toy.") },
  ...more,
})
const TOYS = [toy("public", { limit: "sessions" }), toy("key", { limit: "attest" }), toy("reader"), toy("admin")]
const ROWS = [...ENDPOINTS, ...TOYS]

/** The application with the toys, and with every other endpoint. */
function withToys(): RequestTarget {
  const app = new Hono()
  const named = (id: string): Readonly<Record<string, Handler>> => ({
    [id]: c => c.json({ toy: c.req.param("name") ?? "" }),
  })
  const handlers = ROWS.map(({ id }) => named(id))
  mountEndpoints(app, service().deps, handlers, ROWS)
  app.onError((error, c) => {
    if (error instanceof HttpError) return c.json({ ok: false, error: error.message }, error.status)
    throw error
  })
  return { request: async (path, init) => await app.request(path, init) }
}

describe("a toy endpoint of each access", () => {
  test("is described with its answers, its parameter and the refusals that follow from its row", () => {
    const document = JSON.parse(JSON.stringify(openApiDocument("1.0.0", undefined, ROWS)))
    for (const { path, id, access } of TOYS) {
      const operation = at(document, "paths", path, "get")
      expect(operation).toMatchObject({ operationId: id, tags: ["Toys"], parameters: [{ name: "name", in: "path" }] })
      const refusals = access === "public" ? ["429"] : access === "key" ? ["401", "429"] : ["401", "403"]
      expect(Object.keys(objectAt(operation, "responses"))).toEqual(expect.arrayContaining(["200", "400", ...refusals]))
    }
  })

  test("answers whom its row admits, and nobody else; knows its parameters; is limited as its row says", async () => {
    const admin = await mint(service(), ADMIN)
    const customer = await mint(service(), CUSTOMER, admin)
    const toys = withToys()
    const statuses = async (secret?: string): Promise<readonly number[]> =>
      await Promise.all(TOYS.map(async ({ access }) => (await caller(toys, secret).get(`/toys/${access}/bear`)).status))
    expect(await statuses()).toEqual([200, 401, 401, 401])
    expect(await statuses(customer.secret)).toEqual([200, 200, 403, 403])
    expect(await statuses(admin.secret)).toEqual([200, 200, 200, 200])
    const { get } = caller(toys, customer.secret)
    expect((await get("/toys/key/bear?colour=red")).status).toBe(400)
    const limited = await get("/toys/key/bear")
    expect(limited.body).toEqual({ toy: "bear" })
    expect(limited.headers.get("RateLimit")).toMatch(/^"attest";/)
  })
})
