/**
 * The fuzzer's corpus, sent to a real service: each body is a run or a refusal with one sentence. Afterwards the whole database is
 * checked, with every record.
 */
import { describe, expect, test } from "vitest"
import { corpusInputs } from "../../../../lab/src/fuzz/corpus.ts"
import { expectRefused } from "../harness/read-answer.ts"
import { request } from "../harness/sample-requests.ts"
import { standingService } from "../harness/test-service.ts"

const inputsOf = (target: string): readonly (readonly [name: string, body: Uint8Array<ArrayBuffer>])[] =>
  corpusInputs(target).map(({ name, bytes }) => [name, new Uint8Array(bytes)])

/** A request that declares this JSON. */
function declaring(value: Uint8Array): Uint8Array<ArrayBuffer> {
  const text = JSON.stringify(request({ reproducibility_context: { input: "@" } }))
  const [before = "", after = ""] = text.split('"@"')
  return new Uint8Array(Buffer.concat([Buffer.from(before), value, Buffer.from(after)]))
}

describe("the corpus of the fuzzer", () => {
  const service = standingService()
  const inherited = JSON.stringify(Object.getOwnPropertyNames(Object.prototype).sort())

  async function send(name: string, body: Uint8Array<ArrayBuffer>): Promise<number> {
    const answer = await service().postRaw("/execute", body)
    if (answer.status !== 200 && answer.status !== 422) expectRefused(answer, answer.status)
    expect([name, [200, 400, 413, 422].includes(answer.status)]).toEqual([name, true])
    return answer.status
  }

  test("is a run or refused, as a body of its own", async () => {
    const statuses = new Set<number>()
    for (const [name, body] of [...inputsOf("execute-body"), ...inputsOf("strict-json")])
      statuses.add(await send(name, body))
    expect(statuses).toContain(400)
    expect([200, 422].some(status => statuses.has(status))).toBe(true)
  })

  test("is a run or refused, as declared content", async () => {
    for (const [name, value] of inputsOf("strict-json")) await send(name, declaring(value))
  })

  test("changes nothing that objects inherit", () => {
    expect(JSON.stringify(Object.getOwnPropertyNames(Object.prototype).sort())).toBe(inherited)
    expect(Reflect.get({}, "polluted")).toBeUndefined()
  })

  test("is answered or refused by the other endpoints that read bodies", async () => {
    for (const [name, body] of [...inputsOf("strict-json"), ...inputsOf("document")])
      for (const path of ["/attest", "/execute/verify-determinism", "/dcae/verify", "/admin/keys"]) {
        const answer = await service().postRaw(path, body)
        expect([name, path, answer.status < 500]).toEqual([name, path, true])
      }
  })
})
