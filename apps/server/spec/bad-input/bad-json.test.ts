/** docs/formats.md section 1: what cannot be sealed exactly is refused with 400 before anything is minted, never rounded. */
import { describe, expect, test } from "vitest"
import { CANARY, refusal } from "../harness/refusal.ts"
import { request } from "../harness/requests.ts"
import { standingService } from "../harness/service.ts"

const service = standingService()

const refuse = (body: BodyInit): Promise<string> => refusal(service(), to => to.postRaw("/execute", body))

/** A request as text, with more members put at its start. */
const starting = (members: string): string => JSON.stringify(request()).replace("{", `{${members},`)
/** A request whose causal_graph is the text given. */
const graph = (value: string): string => starting(`"causal_graph":${value}`)
/** The same, the text standing for a value inside. */
const inside = (value: string): string => graph(`{"effect_log":[{"x":[${value}]}]}`)

const nested = (levels: number, open: string, close: string): string => open.repeat(levels) + close.repeat(levels)

describe("duplicate keys", () => {
  test.each([
    ["at the top", starting(`"payload":"${CANARY}"`)],
    ["with the same value", starting(`"payload":${JSON.stringify(request().payload)}`)],
    ["in a declared section", graph('{"a":1,"a":1}')],
    ["deep inside", inside('{"k":[{"b":1,"c":2,"b":3}]}')],
    ["one of them escaped", starting('"p\\u0061yload":"x"')],
    ["both escaped", graph('{"\\u0061":1,"\\u0061":2}')],
    ["escaped as a surrogate pair", graph('{"😀":1,"\\ud83d\\ude00":2}')],
    ["an ignored key", starting('"unknown":1,"unknown":2')],
    ["inside an ignored key", starting('"unknown":{"a":1,"a":2}')],
    ["empty", graph('{"":1,"":2}')],
    ["__proto__", graph('{"__proto__":1,"__proto__":2}')],
    ["a whole section", starting('"causal_graph":{},"causal_graph":{}')],
  ])("%s", async (_name, body) => {
    expect(await refuse(body)).toContain("strict JSON")
  })
})

describe("numbers that JSON text cannot carry exactly", () => {
  test.each([
    ...["9007199254740992", "-9007199254740992", "12345678901234567890", "1e400", "-1e400", "1e309", "1e21", "1e16"],
    ...["0.1000000000000000055", "0.30000000000000004441", "3.141592653589793238", "1.7976931348623159e308", "1e-400"],
    ...["-0", "-0.0", "-0e0", "5e-325", "9007199254740993.0", "123456789012345678e3"],
  ])("%s", async number => {
    expect(await refuse(inside(number))).toContain("strict JSON")
    await refuse(starting(`"attested_context":{"model_temperature":${number}}`))
    await refuse(starting(`"request_substance":{"cost":{"total_tokens":${number}}}`))
    await refuse(starting(`"unknown":${number}`))
  })
})

describe("text that is no Unicode", () => {
  test.each([
    ["a high surrogate, escaped", '"\\ud800"'],
    ["a low surrogate, escaped", '"\\udc00"'],
    ["a pair the wrong way round", '"\\ude00\\ud83d"'],
    ["a high surrogate before a letter", '"\\ud83dx"'],
    ["in a key", '{"\\ud800":1}'],
  ])("lone surrogates: %s", async (_name, value) => {
    expect(await refuse(inside(value))).toContain("strict JSON")
    await refuse(starting(`"unknown":${value}`))
  })

  test.each(["payload", "payload_text", "ai_output_text", "route_id"])("a lone surrogate in %s", async name => {
    const { [name]: _, ...rest } = request()
    await refuse(JSON.stringify(rest).replace("{", `{"${name}":"\\ud800",`))
  })

  const encoded = (bytes: readonly number[]): Uint8Array<ArrayBuffer> => {
    const [before = "", after = ""] = inside('"@"').split("@")
    return new Uint8Array(Buffer.concat([Buffer.from(before), Buffer.from(bytes), Buffer.from(after)]))
  }
  test.each([
    ["a surrogate encoded raw", [0xed, 0xa0, 0x80]],
    ["a cut sequence", [0xe2, 0x82]],
    ["an overlong sequence", [0xc0, 0xaf]],
    ["a lone continuation byte", [0x80]],
    ["a byte no UTF-8 has", [0xff]],
    ["beyond U+10FFFF", [0xf4, 0x90, 0x80, 0x80]],
    ["Latin-1", [0x66, 0xfc, 0x72]],
  ])("invalid UTF-8: %s", async (_name, bytes) => {
    expect(await refuse(encoded(bytes))).toContain("strict JSON")
  })

  test.each([
    ["UTF-16, little endian", Buffer.from(`\uFEFF${JSON.stringify(request())}`, "utf16le")],
    ["a byte order mark", Buffer.from(`\uFEFF${JSON.stringify(request())}`, "utf8")],
  ])("%s", async (_name, bytes) => {
    await refuse(new Uint8Array(bytes))
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

  test("a raw control character is no JSON", async () => {
    await refuse(inside('"\u0000"'))
    await refuse(inside('"\n"'))
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
    ["20,000 levels of lists", inside(nested(20_000, "[", "]"))],
    ["20,000 levels of objects", graph(`${'{"a":'.repeat(20_000)}1${"}".repeat(20_000)}`)],
    ["20,000 levels that never close", inside("[".repeat(20_000))],
    ["500,000 levels", "[".repeat(500_000)],
  ])("%s are refused", async (_name, body) => {
    await refuse(body)
  })
})

describe("what is not JSON", () => {
  const whole = JSON.stringify(request())
  test.each([
    ["nothing", ""],
    ["blanks", " \n\t "],
    ["a word", CANARY],
    ["a cut object", whole.slice(0, -1)],
    ["a cut string", whole.slice(0, -3)],
    ["something after the object", `${whole}x`],
    ["two objects", `${whole}${whole}`],
    ["a trailing comma", `${whole.slice(0, -1)},}`],
    ["a comment", `${whole}// ${CANARY}`],
    ["single quotes", whole.replaceAll('"', "'")],
    ["a bare key", whole.replace('"payload"', "payload")],
    ["NaN", inside("NaN")],
    ["Infinity", inside("-Infinity")],
    ["undefined", inside("undefined")],
    ["a leading plus", inside("+1")],
    ["a leading zero", inside("01")],
    ["a bare point", inside(".5")],
    ["a hexadecimal number", inside("0x10")],
    ["an unknown escape", inside('"\\x41"')],
    ["a cut escape", inside('"\\u00"')],
    ["form data", "program_id=a&route_id=b"],
    ["a no-break space between tokens", whole.replace(":", ":\u00a0")],
  ])("%s", async (_name, body) => {
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

  test("the error says where, by line and column", async () => {
    expect(await refuse('{\n  "payload": oops}')).toMatch(/line 2, column 14/)
  })
})
