/** Bodies that are too large, or not JSON by their own account: docs/formats.md section 1; docs/api.md, "POST /execute". */
import { countNodes, type JsonObject, utf8Encode } from "@runseal/canonical"
import { beforeAll, describe, expect, test } from "vitest"
import { ENDPOINTS } from "../harness/described.ts"
import { ADMIN, type Holder, mint } from "../harness/key-holders.ts"
import { readAnswer } from "../harness/read-answer.ts"
import { CANARY, refusal } from "../harness/refusal.ts"
import { request } from "../harness/sample-requests.ts"
import { standingService, type TestService } from "../harness/test-service.ts"

const service = standingService()

const MEBIBYTE = 1_048_576
const json = { "Content-Type": "application/json" }

/** A request whose body has exactly so many bytes. */
const ofSize = (bytes: number): string => {
  const empty = JSON.stringify(request({ payload: "" }))
  return JSON.stringify(request({ payload: "p".repeat(bytes - empty.length) }))
}

describe("size", () => {
  test("a body of exactly 1 MiB is accepted", async () => {
    const body = ofSize(MEBIBYTE)
    expect(Buffer.byteLength(body)).toBe(MEBIBYTE)
    expect((await service().postRaw("/execute", body)).status).toBe(200)
  })

  test("one byte more is a 413 that names the limit", async () => {
    const error = await refusal(service(), to => to.postRaw("/execute", ofSize(MEBIBYTE + 1)), 413)
    expect(error).toContain("1048576")
  })

  test("bytes are counted, not characters", async () => {
    const body = JSON.stringify(request({ payload: "é".repeat(MEBIBYTE / 2) }))
    expect(body.length).toBeLessThan(MEBIBYTE)
    await refusal(service(), to => to.postRaw("/execute", body), 413)
  })

  test("a stream without end is a 413, and is not read on", async () => {
    let sent = 0
    const chunk = new Uint8Array(65_536).fill(0x20)
    const stream = new ReadableStream<Uint8Array>({
      pull: controller => {
        sent += chunk.length
        controller.enqueue(chunk)
      },
    })
    const send = async (to: TestService) =>
      readAnswer(
        await to.request("/execute", { method: "POST", headers: json, body: stream, duplex: "half" } as RequestInit),
      )
    await refusal(service(), send, 413)
    expect(sent).toBeLessThan(2 * MEBIBYTE)
  })

  test("a declared length beyond the limit is a 413 before a byte is read", async () => {
    const headers = { ...json, "Content-Length": `${64 * MEBIBYTE}` }
    await refusal(service(), to => to.postRaw("/execute", "{}", headers), 413)
  })

  test("size is judged before anything else: 64 MiB that are no JSON are a 413", async () => {
    await refusal(service(), to => to.postRaw("/execute", "x".repeat(64 * MEBIBYTE)), 413)
  })

  test("/dcae/verify takes larger documents, to 4 MiB", async () => {
    await refusal(service(), to => to.postRaw("/dcae/verify", ofSize(4 * MEBIBYTE)), 400)
    await refusal(service(), to => to.postRaw("/dcae/verify", ofSize(4 * MEBIBYTE + 1)), 413)
  })
})

describe("what takes long to read and to seal", () => {
  const NODES_MAX = 131_072
  /** A body with so many nodes: commas, colons and opening brackets outside strings. */
  const ofNodes = (nodes: number): string => {
    const body = JSON.stringify(request({ reproducibility_context: { list: [] } }))
    const items = Array(nodes - countNodes(utf8Encode(body)) + 1).fill(0)
    return body.replace("[]", `[${items.join()}]`)
  }

  test("a body of as many nodes as are allowed is sealed, and one node more is refused", async () => {
    expect((await service().postRaw("/execute", ofNodes(NODES_MAX))).status).toBe(200)
    const error = await refusal(service(), to => to.postRaw("/execute", ofNodes(NODES_MAX + 1)))
    expect(error).toContain(`${NODES_MAX}`)
  })

  test("a hook has the same bound", async () => {
    const error = await refusal(service(), to => to.postRaw("/hooks/claude-code", ofNodes(NODES_MAX + 1)))
    expect(error).toContain(`${NODES_MAX}`)
  })

  const timed = (times: number): JsonObject => request({ causal_graph: { log: { x_at: [Array(times).fill("")] } } })

  test("8,192 times are sealed, and one more is refused", async () => {
    expect((await service().post("/execute", timed(8_192))).status).toBe(200)
    expect(await refusal(service(), to => to.post("/execute", timed(8_193)))).toContain("8192 times")
  })
})

describe("content type", () => {
  const whole = JSON.stringify(request())
  test.each([
    ...["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "application/xml"],
    ...["application/jsonp", "text/json", "application/json-patch+json", CANARY],
  ])("%s is refused", async type => {
    const error = await refusal(service(), to => to.postRaw("/execute", whole, { "Content-Type": type }))
    expect(error).toContain("application/json")
  })

  test("none at all is refused", async () => {
    await refusal(service(), to => to.postRaw("/execute", new Uint8Array(Buffer.from(whole)), {}))
  })

  test.each(["application/json; charset=utf-8", "Application/JSON", "application/json ;charset=UTF-8"])(
    "%s is accepted",
    async type => {
      expect((await service().postRaw("/execute", whole, { "Content-Type": type })).status).toBe(200)
    },
  )
})

describe("every endpoint that takes a body", () => {
  const service = standingService()
  let admin: Holder
  beforeAll(async () => {
    admin = await mint(service(), ADMIN)
    await admin.execute(request())
  })
  // The receiver of traces refuses in the words of its protocol: its own suite.
  const taking = ENDPOINTS.filter(
    ({ template, operation }) =>
      template !== "/v1/traces" && operation.requestBody?.content["application/json"] !== undefined,
  )

  /** In bytes, where it is another than 1 MiB. */
  const BODY_BOUNDS: Readonly<Record<string, number>> = {
    "POST /dcae/verify": 4 * MEBIBYTE,
    "POST /hooks/claude-code": 4 * MEBIBYTE,
    "POST /permits/{id}/redeem": 65_536,
    "POST /approvals/{id}/decision": 65_536,
    "POST /passkeys": 65_536,
    "POST /admin/runs/{id}/share": 65_536,
    "POST /session": 65_536,
    "POST /session/sign-in": 65_536,
    "POST /session/sign-in/answer": 65_536,
  }
  const NOT_STRICT: readonly (readonly [body: string, sentence: RegExp])[] = [
    ["{", /not valid JSON/],
    ["[]", /object/],
    ['{"a":1,"a":2}', /same key twice/],
    ['{"a":1e400}', /precision or range/],
    ['{"a":"\\ud800"}', /lone surrogate/],
    ["[".repeat(20_000), /too deeply|more than \d+ values/],
  ]

  test.each(taking.map(endpoint => [`${endpoint.method} ${endpoint.template}`, endpoint] as const))(
    "%s refuses what is no strict JSON, what is not sent as JSON, and what is too large",
    async (_name, { method, template, operation: { parameters = [] } }) => {
      // An address may try to sign in so often in a minute.
      service().clock.advance(60_000)
      // A number is that of a run, a key or a destination: run 1 is there.
      const exampleOf = (name: string) => parameters.find(parameter => parameter.name === name)?.example
      const path = template.replaceAll(/\{(\w+)\}/g, (_, name) =>
        typeof exampleOf(name) === "number" ? "1" : `${exampleOf(name)}`,
      )
      const refused = (body: string, headers: Readonly<Record<string, string>>, status = 400) => {
        const sent = { method, body, headers: { "X-Service-Key": admin.secret ?? "", ...headers } }
        return refusal(service(), async to => readAnswer(await to.request(path, sent)), status)
      }
      // A hook reads what agents write: it takes any JSON, and names what it lacks.
      const words = (sentence: RegExp): RegExp => (template === "/hooks/claude-code" ? /./ : sentence)
      for (const [body, sentence] of NOT_STRICT) expect(await refused(body, json)).toMatch(words(sentence))
      expect(await refused("{}", { "Content-Type": "text/plain" })).toContain("application/json")
      const bound = BODY_BOUNDS[`${method} ${template}`] ?? MEBIBYTE
      expect(await refused("{".padEnd(bound), json)).toMatch(/not valid JSON/)
      expect(await refused("{".padEnd(bound + 1), json, 413)).toContain(`${bound}`)
    },
  )
})
