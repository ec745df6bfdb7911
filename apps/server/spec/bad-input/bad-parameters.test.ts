/** docs/api.md, "Errors": a refused query parameter is named, its value is not, and no library's words are in the sentence. */
import { beforeAll, describe, expect, test } from "vitest"
import { Ajv2020, addFormats } from "../harness/ajv.ts"
import { ENDPOINTS } from "../harness/described.ts"
import { ADMIN, type Holder, mint } from "../harness/key-holders.ts"
import { CANARY, refusal } from "../harness/refusal.ts"
import { standingService } from "../harness/test-service.ts"

const service = standingService()
/** May call every endpoint; some are for no caller of open mode. */
let admin: Holder
beforeAll(async () => {
  admin = await mint(service(), ADMIN)
})

const ajv = new Ajv2020()
addFormats(ajv)
/** Whether a parameter takes any text, by its schema. */
const takesText = (schema: object): boolean => ajv.validate(schema, CANARY)
const FREE_TEXTS = [
  "actor_id",
  "approver",
  "end_user",
  "end_user_issuer",
  "model_name",
  "route_id",
  "route_prefix",
  "rule_id",
  "subject_id",
]
const PARAMETERS = ENDPOINTS.flatMap(({ method, template, operation: { parameters = [] } }) => {
  const inQuery = parameters.filter(({ in: place }) => place === "query")
  return inQuery.map(({ name, schema }) => {
    const others = inQuery.filter(other => other.required && other.name !== name)
    return [method, template, name, others.map(other => other.name), takesText(schema)] as const
  })
})

/** Pages for people, whose links get parameters of others, and the endpoint that fails only when it cannot be reached. */
const IGNORING = /^GET \/(?:health$|docs|verify$|(?:public|shared)\/[^.]*$)|^\w+ \/console/
const REFUSING = ENDPOINTS.map(({ method, template }) => [method, template] as const).filter(
  ([method, template]) => !IGNORING.test(`${method} ${template}`),
)

test.each(REFUSING)("%s %s has no unknown parameter", async (method, template) => {
  const path = `${template.replaceAll(/\{\w+\}/g, "1")}?unknown=1`
  const error = await refusal(service(), () => admin.send(method, path, method === "GET" ? undefined : {}))
  expect(error).toMatch(/takes no query parameters\.$|^There is no query parameter unknown; this endpoint takes /)
})

test.each(PARAMETERS)("%s %s takes %s once", async (method, template, name) => {
  const path = `${template.replaceAll(/\{\w+\}/g, "1")}?${name}=1&${name}=1`
  const error = await refusal(service(), () => admin.send(method, path, method === "GET" ? undefined : {}))
  expect(error).toBe(`${name} must be given once.`)
})

test("these parameters take any text, and no other does", () => {
  const names = PARAMETERS.flatMap(([, , name, , isText]) => (isText ? [name] : []))
  expect([...new Set(names)].toSorted()).toEqual(FREE_TEXTS)
})

/** Not a value of any of them: no number, date, hash or word. The last is too long for a text. */
const VALUES = [CANARY, `' OR 1=1 -- ${CANARY}`, "", `${CANARY}\u0000`, CANARY.repeat(64)]

describe.each(PARAMETERS)("%s %s?%s", (method, template, name, others, isText) => {
  const values = isText ? VALUES.slice(2) : VALUES
  test.each(values)("is not %j", async value => {
    const path = template.replaceAll("{id}", "1")
    // Those that the endpoint requires besides are numbers.
    const query = new URLSearchParams([[name, value], ...others.map(other => [other, "1"])])
    const error = await refusal(service(), () =>
      admin.send(method, `${path}?${query}`, method === "GET" ? undefined : {}),
    )
    expect(error).toMatch(new RegExp(`^${name} (?:must be |is required)`))
    expect(error).not.toMatch(/expected|received|invalid|\/\^/i)
  })
})
