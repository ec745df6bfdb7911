/** The types of a request, which the compiler checks, and its JSON text. */
import { readdirSync, readFileSync } from "node:fs"
import { openApiDocument } from "@runseal/api/openapi/openapi-document"
import { type JsonValue, parseStrictJson } from "@runseal/canonical"
import { isObject, member } from "@runseal/core/vocabulary/json-members"
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest"
import { API_KEY, type Service, startService } from "../test/scripted-service.ts"
import { type Client, createClient, type ExecuteRequest, InvalidArgumentError } from "./index.ts"

const IDENTITY = { program_id: "a".repeat(64), route_id: "claims", registry_record_hash: "b".repeat(64) }
const REQUEST = { ...IDENTITY, payload: "Approve claim 4711?" }

type Identity = typeof IDENTITY
/** Whether the compiler accepts a request of this type. */
type IsRequest<T> = T extends ExecuteRequest ? true : false
/** Whether it accepts a run with this member. */
type With<Member> = IsRequest<Identity & { payload: string } & Member>

/** Each line is checked by `npm run check`: another answer of the compiler is a type error. */
const COMPILES: {
  readonly payload: IsRequest<Identity & { payload: string }>
  readonly "payload_text instead": IsRequest<Identity & { payload_text: string }>
  readonly "members of its own": With<{ request_substance: { cost: { total_tokens: number }; tool: { name: string } } }>
  readonly "a Date": With<{ authorization_chain: { approvers: { actor_id: string; approved_at: Date }[] } }>
  readonly "undefined members": With<{
    ai_output_text: string | undefined
    attested_context: { actor_role: undefined }
  }>
} = {
  payload: true,
  "payload_text instead": true,
  "members of its own": true,
  "a Date": true,
  "undefined members": true,
}
const DOES_NOT_COMPILE: {
  readonly "no payload": IsRequest<Identity>
  readonly "no identity": IsRequest<{ payload: string }>
  readonly "a payload that may be absent": IsRequest<Identity & { payload: string | undefined }>
  readonly "tokens as text": With<{ request_substance: { cost: { total_tokens: string } } }>
  readonly "a misspelt total": With<{ request_substance: { cost: { total_token: number } } }>
  readonly "one approver instead of a list": With<{ authorization_chain: { approvers: { actor_id: string } } }>
  readonly "an effect with a number as its status": With<{ causal_graph: { effect_log: { status: number }[] } }>
  readonly "labels that are no list": With<{ regulatory_scaffolding: { data_classification: { gdpr: string } } }>
  readonly "a hash that only the service computes": With<{ request_substance: { origin: { source_ip_hash: string } } }>
  readonly "a person that only the service names": With<{ request_substance: { origin: { end_user: string } } }>
  readonly "a function": With<{ reproducibility_context: { now: () => number } }>
} = {
  "no payload": false,
  "no identity": false,
  "a payload that may be absent": false,
  "tokens as text": false,
  "a misspelt total": false,
  "one approver instead of a list": false,
  "an effect with a number as its status": false,
  "labels that are no list": false,
  "a hash that only the service computes": false,
  "a person that only the service names": false,
  "a function": false,
}

test("the compiler accepts a run and refuses one without a payload or with a wrong member", () => {
  expect(Object.values(COMPILES)).not.toContain(false)
  expect(Object.values(DOES_NOT_COMPILE)).not.toContain(true)
})

test("every member of a request has a description", () => {
  const lines = readFileSync(new URL("execute-arguments.ts", import.meta.url), "utf8").split("\n")
  const members = lines.flatMap((line, at) =>
    /^ +(?:readonly )?[a-z_A-Z]+\??: /.test(line) ? [{ line, before: lines[at - 1] }] : [],
  )
  expect(members.length).toBeGreaterThan(60)
  expect(members.filter(({ before }) => !before?.endsWith("*/")).map(({ line }) => line.trim())).toEqual([])
})

/** Members of a cost that the service would seal without counting them: a run with one does not compile. */
const MISSPELT = ["tokens", "totalTokens", "total_token"]

test("the members of a request are those that the service names, and those that it refuses", () => {
  const document: JsonValue = JSON.parse(JSON.stringify(openApiDocument("1.0.0")))
  const schemas = member(member(document, "components"), "schemas")
  const namesIn = (schema: JsonValue | undefined): readonly string[] => {
    if (Array.isArray(schema)) return schema.flatMap(namesIn)
    if (!isObject(schema)) return []
    const { properties, $ref, items, anyOf, additionalProperties } = schema
    const named = isObject(properties)
      ? Object.entries(properties).flatMap(([name, one]) => [name, ...namesIn(one)])
      : []
    const referred = typeof $ref === "string" ? namesIn(member(schemas, $ref.split("/").at(-1) ?? "")) : []
    return [...named, ...referred, ...[items, anyOf, additionalProperties].flatMap(namesIn)]
  }
  const ofService = ["ExecuteRequest", "OpenPermitRequest", "ClosePermitRequest"].flatMap(name =>
    namesIn(member(schemas, name)),
  )
  const sources = ["execute-arguments.ts", "permit-arguments.ts"].map(name =>
    readFileSync(new URL(name, import.meta.url), "utf8"),
  )
  const typed = sources.flatMap(text =>
    [...text.matchAll(/^ +(?:\| \{ )?(?:readonly )?(\w+)\??: /gm)].map(([, name]) => name),
  )
  const sorted = (names: readonly (string | undefined)[]) => [...new Set(names)].sort()
  expect(sorted(typed)).toEqual(sorted([...ofService, ...MISSPELT]))
})

describe("the JSON of a request", () => {
  let service: Service
  let client: Client
  beforeAll(async () => {
    service = await startService()
    client = createClient({ baseUrl: service.baseUrl, apiKey: API_KEY })
  })
  afterAll(() => service.stop())
  beforeEach(() => void service.asked.splice(0))

  test("has no undefined members, and dates as text", async () => {
    await client.execute({
      ...REQUEST,
      ai_output_text: undefined,
      authorization_chain: {
        approvers: [{ actor_id: "m.okafor", comment: undefined, approved_at: new Date("2026-01-15T09:30:00Z") }],
        delegation: { from: "board", until: undefined },
      },
      request_substance: { latency: -0 },
    })
    expect(JSON.parse(service.asked[0]?.body ?? "")).toEqual({
      ...REQUEST,
      authorization_chain: {
        approvers: [{ actor_id: "m.okafor", approved_at: "2026-01-15T09:30:00.000Z" }],
        delegation: { from: "board" },
      },
      request_substance: { latency: 0 },
    })
  })

  const refused: readonly (readonly [path: string, members: Members])[] = [
    ["/request_substance/cost/total_tokens", { request_substance: { cost: { total_tokens: Number.NaN } } }],
    ["/authorization_chain/approvers/1/approved_at", approvedAt(new Date("no date"))],
    ["/reproducibility_context/seeds/0", { reproducibility_context: { seeds: [2 ** 60] } }],
    ["/reproducibility_context/a~1b", { reproducibility_context: { "a/b": "\ud800" } }],
    ["/reproducibility_context/of", { reproducibility_context: { of: untyped(new Map()) } }],
    ["/reproducibility_context/list/1", { reproducibility_context: { list: untyped([1, undefined]) } }],
    ["/reproducibility_context/now", { reproducibility_context: { now: untyped(() => 1) } }],
  ]
  test.each(refused)("an error names %s, and nothing is sent", async (path, members) => {
    const run = client.execute({ ...REQUEST, ...members })
    await expect(run).rejects.toThrow(InvalidArgumentError)
    await expect(run).rejects.toThrow(`${path} cannot be sent: `)
    expect(service.asked).toEqual([])
  })

  test("a cycle is refused", async () => {
    const cycle: Record<string, unknown> = {}
    cycle.itself = cycle
    await expect(client.execute({ ...REQUEST, reproducibility_context: { cycle: untyped(cycle) } })).rejects.toThrow(
      "nested more than",
    )
  })

  test("a member named __proto__ is sent as a member", async () => {
    await client.execute({ ...REQUEST, reproducibility_context: JSON.parse('{"__proto__":{"a":1}}') })
    expect(service.asked[0]?.body).toContain('"reproducibility_context":{"__proto__":{"a":1}}')
  })

  test("every published example is a request", async () => {
    const folder = new URL("../../../examples/", import.meta.url)
    for (const name of readdirSync(folder).filter(file => file.endsWith(".json"))) {
      const text = readFileSync(new URL(name, folder), "utf8")
      await client.execute(JSON.parse(text))
      expect(parseStrictJson(service.asked.at(-1)?.body ?? "")).toEqual(parseStrictJson(text))
    }
  })
})

type Members = Pick<ExecuteRequest, "authorization_chain" | "request_substance" | "reproducibility_context">

function approvedAt(approved_at: Date): Members {
  return { authorization_chain: { approvers: [{}, { approved_at }] } }
}

/** A value as a caller without types would pass it. */
function untyped(value: unknown): string {
  return Object(value)
}
