/** What a witness may answer, over a socket. C2SP tlog-witness. */
import { createPublicKey, generateKeyPairSync, sign } from "node:crypto"
import { once } from "node:events"
import { createServer } from "node:http"
import { cosignatureLine } from "@runseal/log/entries/log-signing"
import { formatVkey, noteKey } from "@runseal/log/notes/signed-note"
import { formatAddCheckpoint } from "@runseal/log/notes/witness-messages"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { parseWitness } from "../../options/witness.ts"
import { askWitness, COSIGNATURE_MAX_BYTES, MAX_AHEAD_SECONDS, type WitnessAnswer } from "./ask-witness.ts"

const TEXT = "runseal.local/4127\n9\nCsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=\n"
const REQUEST = {
  oldSize: 7,
  proof: [new Uint8Array(32)],
  checkpoint: `${TEXT}\n— runseal.local/4127 ${"A".repeat(92)}\n`,
}
const TIME = 1_767_225_600

const { privateKey } = generateKeyPairSync("ed25519")
const raw = new Uint8Array(createPublicKey(privateKey).export({ type: "spki", format: "der" }).subarray(-32))
const key = noteKey("witness.example", "cosignature/v1", raw)
const other = noteKey("other.example", "cosignature/v1", raw)
const line = (by = key, text = TEXT): string =>
  cosignatureLine(by, TIME, text, message => sign(null, message, privateKey))

let answer: { readonly status: number; readonly body: string } = { status: 500, body: "" }
let received = ""
const server = createServer((request, response) => {
  received = `${request.method} ${request.url}\n`
  request.setEncoding("utf8").on("data", (text: string) => (received += text))
  request.on("end", () => response.writeHead(answer.status).end(answer.body))
})
let url = ""
beforeAll(async () => {
  server.listen(0, "127.0.0.1")
  await once(server, "listening")
  const address = server.address()
  url = `http://127.0.0.1:${typeof address === "object" ? address?.port : 0}/log/`
})
afterAll(() => void server.close().closeAllConnections())

const nowMs = (): number => TIME * 1000
const ask = (status: number, body: string): Promise<WitnessAnswer> => {
  answer = { status, body }
  return askWitness({ key, url: new URL(url) }, REQUEST, new AbortController().signal, nowMs)
}

describe("a witness", () => {
  test("is sent the request of C2SP tlog-witness, below its prefix", async () => {
    await ask(200, line())
    expect(received).toBe(`POST /log/add-checkpoint\n${formatAddCheckpoint(REQUEST)}`)
  })

  test("cosigns with a line of its own, also beside other signatures", async () => {
    const cosignature = { witness: key, time: TIME, line: line() }
    expect(await ask(200, line())).toEqual({ cosignature })
    expect(await ask(200, line(other) + line())).toEqual({ cosignature })
  })

  test("cosigns with ML-DSA-44 too", async () => {
    const secret = generateKeyPairSync("ml-dsa-44")
    const publicKey = new Uint8Array(secret.publicKey.export({ type: "spki", format: "der" }).subarray(-1312))
    const quantum = noteKey("witness.example/pq", "ml-dsa-44", publicKey)
    const bearing = parseWitness(`${formatVkey(quantum)}=${url}`)
    const answered = cosignatureLine(quantum, TIME, TEXT, message => sign(null, message, secret.privateKey))
    answer = { status: 200, body: line(other) + answered }
    expect(await askWitness(bearing!, REQUEST, new AbortController().signal, nowMs)).toEqual({
      cosignature: { witness: quantum, time: TIME, line: answered },
    })
  })

  test("may be five minutes ahead", async () => {
    const at = (time: number): string => cosignatureLine(key, time, TEXT, message => sign(null, message, privateKey))
    expect(await ask(200, at(TIME + MAX_AHEAD_SECONDS))).toHaveProperty("cosignature")
    for (const time of [0, TIME + MAX_AHEAD_SECONDS + 1, Number.MAX_SAFE_INTEGER])
      expect(await ask(200, at(time)), `${time}`).toEqual({ fault: "invalid", status: 200 })
  })

  test.each<[string, string]>([
    ["nothing", ""],
    ["another's line", line(other)],
    ["a cosignature of another text", line(key, TEXT.replace("9", "10"))],
    [
      "a cosignature of another text behind an empty line",
      `\n${TEXT.replace("9", "10")}\n${line(key, TEXT.replace("9", "10"))}`,
    ],
    ["no note", "hello\n"],
    ["a line without its end", line().trimEnd()],
    ["more than is read", line() + line(other).repeat(Math.ceil(COSIGNATURE_MAX_BYTES / 100))],
  ])("that answers 200 with %s has not cosigned", async (_name, body) => {
    expect(await ask(200, body)).toEqual({ fault: "invalid", status: 200 })
  })

  test("says what size it cosigned last", async () => {
    for (const size of [0, 5, 8, 12]) expect(await ask(409, `${size}\n`)).toEqual({ size })
  })

  test("contradicts with 422, and with 409 that repeats the size of the request or holds none", async () => {
    expect(await ask(422, "")).toEqual({ fault: "contradicted", status: 422 })
    for (const body of ["7\n", "", "07\n", "9007199254740993\n"])
      expect(await ask(409, body)).toEqual({ fault: "contradicted", status: 409 })
  })

  test.each([201, 204, 302, 400, 403, 404, 429, 500, 503])("refuses with %i", async status => {
    expect(await ask(status, "")).toEqual({ fault: "refused", status })
  })

  test("that is not there, or is not waited for any longer, is unreachable", async () => {
    const stop = new AbortController()
    expect(await askWitness({ key, url: new URL("http://127.0.0.1:1/") }, REQUEST, stop.signal, nowMs)).toEqual({
      fault: "unreachable",
    })
    stop.abort()
    expect(await askWitness({ key, url: new URL(url) }, REQUEST, stop.signal, nowMs)).toEqual({ fault: "unreachable" })
  })
})
