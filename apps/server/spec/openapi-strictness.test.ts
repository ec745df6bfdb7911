/** The OpenAPI document is as strict as the service: of a parameter or body it refuses exactly what is answered with 400. */
import type { JsonObject } from "@runseal/canonical"
import fc from "fast-check"
import { beforeAll, describe, expect, test } from "vitest"
import { openedId } from "./harness/asked-permits.ts"
import { DOCUMENT, ENDPOINTS, type Endpoint, mismatch } from "./harness/described.ts"
import { fitting } from "./harness/from-schema.ts"
import { ADMIN, type Holder, mint } from "./harness/key-holders.ts"
import { at } from "./harness/read-answer.ts"
import { EICAR, request } from "./harness/sample-requests.ts"
import { standingService } from "./harness/test-service.ts"

const service = standingService(() => ({ config: { approvals: "on" } }))
let admin: Holder
beforeAll(async () => {
  admin = await mint(service(), ADMIN)
})

const parameterOf = (template: string, method: string, name: string): readonly string[] => {
  const parameters = DOCUMENT.paths[template]?.[method]?.parameters ?? []
  return ["paths", template, method, "parameters", `${parameters.findIndex(each => each.name === name)}`, "schema"]
}

test("of the field Idempotency-Key", async () => {
  const place = parameterOf("/execute", "post", "Idempotency-Key")
  const quoted = `"${"k".repeat(255)}"`
  for (const field of [
    '"a"',
    "a",
    quoted,
    '"a b"',
    '"a\\"b"',
    '""',
    '"a',
    "a b",
    "a,b",
    `"${"k".repeat(256)}"`,
    '"\\n"',
  ]) {
    const headers = {
      "Content-Type": "application/json",
      "X-Service-Key": admin.secret ?? "",
      "Idempotency-Key": field,
    }
    const { status } = await service().postRaw("/execute", JSON.stringify(request()), headers)
    expect([field, status === 400]).toEqual([field, mismatch(field, ...place) !== undefined])
  }
})

test("of the place of a page of permits", async () => {
  const place = parameterOf("/admin/permits", "get", "before")
  const permit = `pmt-${"0".repeat(32)}`
  for (const before of [`1767225600000.${permit}`, "", "1", `.${permit}`, `1.${permit}0`, `x.${permit}`]) {
    const { status } = await admin.get(`/admin/permits?before=${before}`)
    expect([before, status === 400]).toEqual([before, mismatch(before, ...place) !== undefined])
  }
})

describe("of a body with an unknown member, or with an empty text", () => {
  const JSON_TYPE = "application/json"
  const placeOf = ({ method, template }: Endpoint): readonly string[] => [
    ...["paths", template, method.toLowerCase(), "requestBody", "content", JSON_TYPE],
    "schema",
  ]
  const contentOf = ({ operation }: Endpoint) => operation.requestBody?.content[JSON_TYPE]

  /** A rule that requires an approval is no example: by default it does not load. */
  const REQUIRING = {
    policy: {
      policy_id: "approvals",
      policy_name: "Approvals",
      required_attested_fields: [],
      rules: [
        {
          id: "two-people",
          effect: "require_approval",
          approval: { by: ["treasury"], count: 2, within_seconds: 3600, proof: "any", end_user: "optional" },
        },
      ],
    },
  }
  const made = (schema: object, numRuns: number) => fc.sample(fitting(schema), { seed: 14, numRuns })
  /** What is sent before it is changed: the examples, each with one member more, and bodies made of the schema. */
  function* basesOf(endpoint: Endpoint): Generator<unknown> {
    const { schema = {}, example, examples = {} } = contentOf(endpoint) ?? {}
    const shown = [...(example === undefined ? [] : [example]), ...Object.values(examples).map(({ value }) => value)]
    yield* shown
    if (endpoint.template.startsWith("/admin/policies")) yield REQUIRING
    for (const body of shown)
      for (const [name, member] of membersOf(schema))
        for (const value of made(member, 8)) yield { ...body, [name]: value }
    yield* made(schema, 30)
  }

  /** What the verifier takes cannot be made of a schema. */
  async function sealedDocuments(): Promise<readonly unknown[]> {
    const [ok, denied] = [await admin.execute(request()), await admin.execute(request({ payload: EICAR }))]
    await admin.post("/attest", { digest: "5e".repeat(32), algorithm: "sha256" })
    const permit = `/permits/${await openedId(admin)}`
    const run = `/runs/${ok.body.run_id}`
    const receipt = `/runs/${denied.body.run_id}/deny-receipt`
    const read = async (path: string): Promise<JsonObject> => {
      const { status, body, text } = await admin.get(path)
      expect(status, text).toBe(200)
      return body
    }
    const paths = [`${run}/artifacts`, `${run}/statement.intoto.json`, receipt, permit, "/admin/audit/1"]
    const documents = await Promise.all(paths.map(read))
    const listed = at(await read("/attestations"), "attestations", 0)
    const opening = at(await read(permit), "opening")
    const headers = { "X-Service-Key": admin.secret ?? "" }
    const exported = await (await service().request("/runs/export", { headers })).text()
    return [...documents, listed, opening, JSON.parse(exported.split("\n", 1)[0] ?? "")]
  }

  const pathOf = ({ template, operation }: Endpoint, keyId: number): string =>
    template.replaceAll(/\{(\w+)\}/g, (_, name) => {
      if (template.startsWith("/admin/keys/")) return `${keyId}`
      return `${operation.parameters?.find(parameter => parameter.name === name)?.example}`
    })

  test.each(
    ENDPOINTS.filter(endpoint => contentOf(endpoint) !== undefined).map(
      endpoint => [`${endpoint.method} ${endpoint.template}`, endpoint] as const,
    ),
  )("%s", async (_name, endpoint) => {
    const keys = [{ scope: "auditor" }, { scope: "approver", person: "mia", groups: ["treasury"] }, {}]
    const minted = await Promise.all(keys.map(key => mint(service(), { name: "changed", ...key }, admin)))
    // Each kind of key has members that no other has: the first of which a body is accepted.
    const paths = [...new Set(minted.map(({ id }) => pathOf(endpoint, id)))]
    const { schema = {} } = contentOf(endpoint) ?? {}
    const names = namesOf(schema)
    const documents = endpoint.template === "/dcae/verify" ? await sealedDocuments() : undefined
    const refused = async (body: unknown, path: string): Promise<boolean> => {
      const headers = { "Content-Type": JSON_TYPE, "X-Service-Key": admin.secret ?? "" }
      const sent = await service().request(path, { method: endpoint.method, headers, body: JSON.stringify(body) })
      return sent.status === 400
    }
    const seen = new Set<string>()
    const differing: object[] = []
    for (const base of documents ?? basesOf(endpoint)) {
      const fresh = [...changesOf(base, names), ...addedTo(base, schema)].filter(({ at }) => !seen.has(at))
      if (fresh.length === 0) continue
      const path = await firstOf(paths, async each => !(await refused(base, each)))
      if (path === undefined) continue
      for (const { at, body } of fresh) {
        seen.add(at)
        const [service, described] = [await refused(body, path), mismatch(body, ...placeOf(endpoint)) !== undefined]
        if (service !== described) differing.push({ at, service, described, body: JSON.stringify(body) })
      }
    }
    expect(differing).toEqual([])
    const reached = new Set([...seen].flatMap(at => at.split(/[ /]/)))
    // Of a document every kind would be needed: each has members that no other has.
    if (documents === undefined) expect([...names].filter(name => !reached.has(name))).toEqual([])
  })
})

async function firstOf<T>(values: readonly T[], is: (value: T) => Promise<boolean>): Promise<T | undefined> {
  for (const value of values) if (await is(value)) return value
  return undefined
}

/** The members of an object, with the schema of each; of every alternative. */
function membersOf(schema: object): readonly (readonly [string, object])[] {
  return Object.entries(schema).flatMap(([keyword, value]) => {
    if (keyword === "$ref") return membersOf(named(value))
    if (keyword === "anyOf" || keyword === "oneOf") return value.flatMap(membersOf)
    return keyword === "properties" ? Object.entries<object | false>(value).filter(isSchema) : []
  })
}
const isSchema = (entry: readonly [string, object | false]): entry is readonly [string, object] => entry[1] !== false
const named = ($ref: string): object => DOCUMENT.components.schemas[$ref.slice("#/components/schemas/".length)] ?? {}

/** The members that a schema names, at any depth. */
function namesOf(schema: unknown, names = new Set<string>(), seen = new Set<unknown>()): Set<string> {
  if (typeof schema !== "object" || schema === null || seen.has(schema)) return names
  seen.add(schema)
  for (const [keyword, value] of Object.entries(schema)) {
    if (keyword === "$ref") namesOf(named(`${value}`), names, seen)
    if (keyword !== "properties") namesOf(value, names, seen)
    else
      for (const [name, member] of Object.entries(value)) {
        if (member === false || JSON.stringify(member) === '{"not":{}}') continue
        names.add(name)
        namesOf(member, names, seen)
      }
  }
  return names
}

type Change = { readonly at: string; readonly body: unknown }

/** A body with one text more, which is empty. */
const addedTo = (body: unknown, schema: object): readonly Change[] =>
  typeof body !== "object" || body === null
    ? []
    : membersOf(schema)
        .filter(([name, member]) => "type" in member && member.type === "string" && !Object.hasOwn(body, name))
        .map(([name]) => ({ at: `/${name} empty`, body: { ...body, [name]: "" } }))

/** A body with an unknown member in one of its objects, or with one text that is empty. @param names others are free: written as one */
function* changesOf(value: unknown, names: ReadonlySet<string>, at = ""): Generator<Change> {
  if (typeof value === "string") yield { at: `${at} empty`, body: "" }
  else if (Array.isArray(value))
    for (const [i, item] of value.entries())
      for (const change of changesOf(item, names, `${at}/0`)) yield { ...change, body: value.with(i, change.body) }
  else if (typeof value === "object" && value !== null) {
    yield { at: `${at} with one more`, body: { ...value, additional: 1 } }
    for (const [name, member] of Object.entries(value)) {
      const place = `${at}/${names.has(name) ? name : "*"}`
      yield { at: place, body: value }
      for (const change of changesOf(member, names, place)) yield { ...change, body: { ...value, [name]: change.body } }
    }
  }
}
