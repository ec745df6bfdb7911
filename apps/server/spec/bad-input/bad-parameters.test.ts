/** docs/api.md, "Errors": a refused query parameter is named, its value is not, and no library's words are in the sentence. */
import { describe, expect, test } from "vitest"
import { ENDPOINTS } from "../harness/described.ts"
import { CANARY, refusal } from "../harness/refusal.ts"
import { standingService } from "../harness/test-service.ts"

const service = standingService()

/** Accepted by filters that take any text. */
const FREE_TEXTS = new Set(["route_id", "rule_id", "actor_id", "model_name", "approver"])
const PARAMETERS = ENDPOINTS.flatMap(({ method, template, operation: { parameters = [] } }) =>
  parameters.flatMap(({ in: place, name }) => (place === "query" ? [[method, template, name] as const] : [])),
)

/** Not a value of any of them: no number, date, hash or word. The last is too long for a text. */
const VALUES = [CANARY, `' OR 1=1 -- ${CANARY}`, "", `${CANARY}\u0000`, CANARY.repeat(64)]

describe.each(PARAMETERS)("%s %s?%s", (_, template, name) => {
  const values = FREE_TEXTS.has(name) ? VALUES.slice(2) : VALUES
  test.each(values)("is not %j", async value => {
    const path = template.replaceAll("{id}", "1")
    const query = new URLSearchParams({ [name]: value })
    // The other parameter of this one is required.
    if (template === "/log/consistency") query.set(name === "first" ? "second" : "first", "1")
    const error = await refusal(service(), to => to.get(`${path}?${query}`))
    expect(error).toMatch(new RegExp(`^${name} (?:must be |is required)`))
    expect(error).not.toMatch(/expected|received|invalid|\/\^/i)
  })
})
