/** docs/formats.md section 1: what cannot be sealed exactly is refused with 400 before anything is minted, never rounded. */
import { describe, expect, test } from "vitest"
import { CANARY, refusal } from "../harness/refusal.ts"
import { request } from "../harness/sample-requests.ts"
import { standingService } from "../harness/test-service.ts"

const service = standingService()

const refuse = (body: BodyInit): Promise<string> => refusal(service(), to => to.postRaw("/execute", body))

/** A request as text, with more members put at its start. */
const starting = (members: string): string => JSON.stringify(request()).replace("{", `{${members},`)
/** A request whose causal_graph is the text given. */
const graph = (value: string): string => starting(`"causal_graph":${value}`)
/** The same, the text standing for a value inside. */
const inside = (value: string): string => graph(`{"effect_log":[{"x":[${value}]}]}`)

const nested = (levels: number, open: string, close: string): string => open.repeat(levels) + close.repeat(levels)

/** One text for each of the reader's refusals: which texts get which is judged in libs/canonical/src/strict-json.test.ts. */
const REFUSED: readonly (readonly [what: string, value: string])[] = [
  ["a key twice", '{"a":1,"a":2}'],
  ["a key twice, once escaped", '{"a":1,"\\u0061":2}'],
  ["an integer beyond 2^53 − 1", "9007199254740992"],
  ["a fraction that is rounded", "0.1000000000000000055"],
  ["a number beyond all", "1e400"],
  ["a lone surrogate", '"\\ud800"'],
  ["a lone surrogate in a key", '{"\\ud800":1}'],
  ["no JSON value", "NaN"],
  ["a control character as it is", '"\n"'],
]

test.each(REFUSED)("%s is refused wherever it stands, also where nobody reads", async (_what, value) => {
  for (const body of [
    inside(value),
    graph(value),
    starting(`"unknown":${value}`),
    starting(`"unknown":[{"deep":${value}}]`),
  ])
    expect(await refuse(body)).toContain("strict JSON")
})

test("a member twice is refused, whatever it holds", async () => {
  for (const body of [
    starting(`"payload":"${CANARY}"`),
    starting('"p\\u0061yload":"x"'),
    starting('"unknown":1,"unknown":2'),
  ])
    expect(await refuse(body)).toContain("strict JSON")
})

test.each(["payload", "payload_text", "ai_output_text", "route_id"])("a lone surrogate in %s", async name => {
  const { [name]: _, ...rest } = request()
  await refuse(JSON.stringify(rest).replace("{", `{"${name}":"\\ud800",`))
})

describe("bytes that are no UTF-8", () => {
  const encoded = (bytes: readonly number[]): Uint8Array<ArrayBuffer> => {
    const [before = "", after = ""] = inside('"@"').split("@")
    return new Uint8Array(Buffer.concat([Buffer.from(before), Buffer.from(bytes), Buffer.from(after)]))
  }
  test.each([
    ["a surrogate encoded raw", encoded([0xed, 0xa0, 0x80])],
    ["Latin-1", encoded([0x66, 0xfc, 0x72])],
    ["UTF-16", new Uint8Array(Buffer.from(`\uFEFF${JSON.stringify(request())}`, "utf16le"))],
    ["a byte order mark", new Uint8Array(Buffer.from(`\uFEFF${JSON.stringify(request())}`, "utf8"))],
  ])("%s", async (_name, bytes) => {
    expect(await refuse(bytes)).toContain("strict JSON")
  })
})

describe("U+0000 anywhere but in payload and AI output", () => {
  test.each([
    ["route_id", starting('"unused":1').replace('"payments/approve"', '"a\\u0000b"')],
    ["a declared value", inside('"a\\u0000"')],
    ["a declared key", inside('{"\\u0000":1}')],
    ["attested_context", starting('"attested_context":{"actor_id":"\\u0000"}')],
    ["authorization_chain", starting('"authorization_chain":{"approvers":[{"comment":"\\u0000"}]}')],
    ["regulatory_scaffolding", starting('"regulatory_scaffolding":{"data_classification":{"\\u0000":[]}}')],
    ["request_substance", starting('"request_substance":{"post_processing":["\\u0000"]}')],
    ["reproducibility_context", starting('"reproducibility_context":{"seed":"\\u0000"}')],
    ["program_id", starting('"unused":1').replace(String(request().program_id), `${"a".repeat(63)}\\u0000`)],
    ["an ignored key's value", starting('"unknown":{"deep":["\\u0000"]}')],
    ["an ignored key", starting('"un\\u0000known":1')],
  ])("%s", async (_name, body) => {
    await refuse(body)
  })

  test("is told with the name of its member", async () => {
    const refused = await refuse(starting('"causal_graph":{"effect_log":[{"target":"\\u0000"}]}'))
    expect(refused).toBe("causal_graph: U+0000 is accepted in payload and ai_output_text only.")
  })
})

describe("nesting", () => {
  /** The body is level 1, causal_graph level 2, and here are the other 62. */
  test.each([
    ["lists", `{"a":${nested(62, "[", "]")}}`],
    ["objects", `${'{"a":'.repeat(62)}{}${"}".repeat(62)}`],
  ])("64 levels of %s are accepted, and the record verifies", async (_name, value) => {
    const { status, body } = await service().postRaw("/execute", graph(value))
    expect(status).toBe(200)
    const { text } = await service().get(`/runs/${body.run_id}/artifacts`)
    expect((await service().postRaw("/dcae/verify", text)).body.verified).toBe(true)
  })

  test.each([
    ["65 levels of lists", graph(`{"a":${nested(63, "[", "]")}}`)],
    ["65 levels of objects", graph(`${'{"a":'.repeat(63)}{}${"}".repeat(63)}`)],
    ["65 levels in an ignored key", starting(`"unknown":${nested(64, "[", "]")}`)],
  ])("%s are refused", async (_name, body) => {
    await refuse(body)
  })
})

describe("a body that is no object", () => {
  const whole = JSON.stringify(request())
  test.each([
    ["a word", CANARY],
    ["a cut object", whole.slice(0, -1)],
    ["two objects", `${whole}${whole}`],
    ["form data", "program_id=a&route_id=b"],
  ])("no JSON: %s", async (_name, body) => {
    expect(await refuse(body)).toContain("strict JSON")
  })

  test.each([
    ["an array", "[]"],
    ["an array of a request", `[${whole}]`],
    ["null", "null"],
    ["a string", `"${CANARY}"`],
    ["a number", "1"],
    ["a boolean", "true"],
  ])("JSON that is no object: %s", async (_name, body) => {
    expect(await refuse(body)).toContain("JSON object")
  })

  test("an empty body is named as such", async () => {
    expect(await refuse("")).toBe("The body is empty; it must be a JSON object.")
  })

  test("the error says where, by line and column", async () => {
    expect(await refuse('{\n  "payload": oops}')).toMatch(/line 2, column 14/)
  })
})
