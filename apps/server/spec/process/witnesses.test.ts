/** A server's log, cosigned by real witnesses in spite of others that are down, slow or lie. C2SP tlog-witness. */
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { ed25519Spki } from "@runseal/log/keys/spki"
import { formatVkey, noteKey, parseVkey } from "@runseal/log/notes/signed-note"
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest"
import { testFolder } from "../../../../libs/core/test/fixtures/test-folder.ts"
import { readConfig } from "../../src/options/config.ts"
import { parseWitness, refuseOwnLog } from "../../src/options/witness.ts"
import { newPostgresUrl, postgresStart, postgresTitle } from "../database/databases.ts"
import { type Child, startChild } from "../harness/child.ts"
import { request } from "../harness/sample-requests.ts"
import { until } from "../harness/until.ts"
import { runVerifier, type Verification } from "../harness/verifier.ts"
import {
  endWitnesses,
  logLinesOn,
  logOf,
  type ReferenceWitness,
  sizesOf,
  startImpostor,
  startWitness,
  untilWitnessed,
} from "../harness/witnesses.ts"

afterAll(endWitnesses)

const SETUP_DEADLINE_MS = 240_000
const folder = testFolder("runseal-witnesses")
const at = (name: string): string => join(folder, name)
/** Nobody listens there. */
const down = {
  vkey: formatVkey(noteKey("down.example", "cosignature/v1", new Uint8Array(32).fill(9))),
  url: "http://127.0.0.1:1/",
}

let server: Child
let honest: readonly [ReferenceWitness, ReferenceWitness]
let liar: Awaited<ReturnType<typeof startImpostor>>
let slow: Awaited<ReturnType<typeof startImpostor>>
let quantum: Awaited<ReturnType<typeof startImpostor>>
let leading: Awaited<ReturnType<typeof startImpostor>>
let elsewhere: Awaited<ReturnType<typeof startImpostor>>
let endless: Awaited<ReturnType<typeof startImpostor>>
let metricsUrl = ""

beforeAll(async () => {
  const first = await startChild(["--data-dir", at("data")])
  const log = await logOf(first)
  writeFileSync(at("trust.json"), (await first.get("/.well-known/runseal-trust.json")).text)
  await first.end("SIGTERM")
  honest = [await startWitness(folder, "one.example", log), await startWitness(folder, "two.example", log)]
  liar = await startImpostor("liar.example", ({ body, cosign }, response) => {
    const [, text = ""] = /\n\n(.*\n)\n/s.exec(body) ?? []
    const [origin, size] = text.split("\n")
    response.end(cosign(`${origin}\n${size}\n${Buffer.alloc(32, 7).toString("base64")}\n`))
  })
  quantum = await startImpostor(
    "quantum.example",
    ({ body, cosign }, response) => response.end(cosign(/\n\n(.*\n)\n/s.exec(body)?.[1] ?? "")),
    "ml-dsa-44",
  )
  slow = await startImpostor("slow.example", () => undefined)
  elsewhere = await startImpostor("elsewhere.example", (_, response) => response.end())
  leading = await startImpostor("leading.example", (_, response) =>
    response.writeHead(307, { location: `${elsewhere.url}add-checkpoint` }).end(),
  )
  endless = await startImpostor("endless.example", (_, response) => {
    const more = (): void => void (response.writable && response.write("x".repeat(65_536), more))
    more()
  })
  const all = [...honest, quantum, { option: `${down.vkey}=${down.url}` }, liar, slow, leading, endless]
  const options = all.flatMap(({ option }) => ["--witness", option])
  server = await startChild(["--data-dir", at("data"), "--metrics-port", "0", "--witnesses-needed", "2", ...options])
  metricsUrl = /"url":"([^"]+)","msg":"metrics"/.exec(server.stdout())?.[1] ?? ""
  await server.post("/execute", request())
  await untilWitnessed(server, "one.example", "two.example", "quantum.example")
}, SETUP_DEADLINE_MS)
afterAll(async () => {
  await server.end("SIGTERM")
})

const audit = (...options: readonly string[]): Promise<Verification> =>
  runVerifier(folder, ["log", "audit", server.url, "--trust", "trust.json", ...options])
const witnesses = (...vkeys: readonly string[]): readonly string[] => vkeys.flatMap(vkey => ["--witness", vkey])
const faultsOf = (witness: string) => logLinesOn(server, witness).map(({ fault }) => fault)

describe("a log with eight witnesses, three of whom do their work, one of them with ML-DSA-44", () => {
  test("is witnessed by these, and its newest checkpoint bears their cosignatures alone", async () => {
    const { text } = await server.get("/log/checkpoint")
    expect(text.match(/^— \S+/gm)).toEqual([
      expect.stringMatching(/^— runseal\.local\/\d+$/),
      "— one.example",
      "— two.example",
      "— quantum.example",
    ])
    expect((await server.get("/log/witnessed-checkpoint")).text).toBe(text)
  })

  test("goes on being witnessed as it grows", async () => {
    for (let round = 0; round < 3; round++) {
      const { log } = await sizesOf(server)
      await Promise.all([1, 2, 3].map(() => server.post("/execute", request())))
      await untilWitnessed(server, "one.example", "two.example")
      expect((await sizesOf(server)).witnessed).toBe(log + 6)
    }
  })

  test("passes an audit that demands two of any four of them, and fails one that demands three", async () => {
    const four = witnesses(honest[0].vkey, liar.vkey, honest[1].vkey, down.vkey)
    const two = await audit(...four, "--witnesses-needed", "2")
    expect(two, two.stdout + two.stderr).toMatchObject({ exit: 0, verdict: "LOG VERIFIED" })
    const withQuantum = await audit(...witnesses(quantum.vkey, honest[0].vkey), "--witnesses-needed", "2")
    expect(withQuantum, withQuantum.stdout + withQuantum.stderr).toMatchObject({ exit: 0, verdict: "LOG VERIFIED" })
    const three = await audit(...four, "--witnesses-needed", "3")
    expect(three).toMatchObject({ exit: 1, verdict: "FAILED" })
    expect(three.stdout).toContain("2 of your 4 witnesses cosigned")
  })

  test("holds its own records in what was witnessed, and no other's", async () => {
    for (const id of [1, 2]) writeFileSync(at(`bundle-${id}.json`), (await server.get(`/runs/${id}/artifacts`)).text)
    const demanded = [...witnesses(honest[0].vkey, honest[1].vkey), "--holds", "bundle-1.json"]
    const held = await audit(...demanded, "--holds", "bundle-2.json")
    expect(held, held.stdout + held.stderr).toMatchObject({ exit: 0 })
    expect(held.stdout).toContain("every entry of 2 documents is in what was witnessed of this log")
    const changed = (await server.get("/runs/1/artifacts")).text.replace(/"route_id":"[^"]*"/, '"route_id":"another"')
    writeFileSync(at("changed.json"), changed)
    expect(await audit(...demanded, "--holds", "changed.json")).toMatchObject({ exit: 1, verdict: "FAILED" })
  })

  test("is cosigned again by a witness that was killed", async () => {
    await honest[0].crash()
    await server.post("/execute", request())
    await untilWitnessed(server, "one.example", "two.example")
  })
})

describe("of the other five", () => {
  test("one that signs another root, and one whose answer has no end, are found out", async () => {
    for (const name of ["liar.example", "endless.example"])
      expect(new Set(faultsOf(name))).toEqual(new Set(["invalid"]))
  })

  test("one that is down, and one that does not answer, are given up in time", async () => {
    await until("the slow witness is at fault", () => faultsOf("slow.example").length > 0)
    for (const name of ["down.example", "slow.example"])
      expect(new Set(faultsOf(name))).toEqual(new Set(["unreachable"]))
  })

  test("one that leads elsewhere is not followed", () => {
    expect(new Set(faultsOf("leading.example"))).toEqual(new Set(["refused"]))
    expect(elsewhere.requests()).toBe(0)
  })

  test("each is asked less and less often", async () => {
    const before = liar.requests()
    expect(before).toBeGreaterThan(1)
    expect(before).toBeLessThan(20)
    expect(slow.requests()).toBeLessThan(20)
  })

  test("each has its number in the metrics, and so have those who cosign", async () => {
    const text = await (await fetch(`${metricsUrl}/metrics`)).text()
    const { log } = await sizesOf(server)
    for (const [name, fault] of [
      ["liar.example", "invalid"],
      ["endless.example", "invalid"],
      ["down.example", "unreachable"],
      ["slow.example", "unreachable"],
      ["leading.example", "refused"],
    ])
      expect(text).toMatch(
        new RegExp(`^runseal_witness_failures_total\\{witness="${name}",fault="${fault}"\\} [1-9]`, "m"),
      )
    for (const name of ["one.example", "two.example"]) {
      expect(text).toContain(`runseal_witness_cosigned_entries{witness="${name}"} ${log}\n`)
      expect(text).toMatch(new RegExp(`^runseal_witness_cosigned_time_seconds\\{witness="${name}"\\} 1\\d{9}$`, "m"))
    }
    expect(text).toContain(`runseal_witnessed_entries ${log}\n`)
  })
})

describe.skipIf(postgresStart.kind === "absent")(`two processes of one database ${postgresTitle}`, () => {
  test("get one log witnessed, and no witness finds a contradiction", { timeout: SETUP_DEADLINE_MS }, async () => {
    const names = ["three.example", "four.example"]
    const database = ["--data-dir", at("shared"), "--database-url", await newPostgresUrl()]
    const first = await startChild(database)
    const log = await logOf(first)
    await first.end("SIGTERM")
    const both = await Promise.all(names.map(name => startWitness(folder, name, log)))
    const options = [...database, ...both.flatMap(({ option }) => ["--witness", option])]
    const servers = [await startChild(options), await startChild(options)] as const
    for (let round = 0; round < 3; round++) {
      await Promise.all(servers.flatMap(one => [one.post("/execute", request()), one.post("/execute", request())]))
      for (const one of servers) await untilWitnessed(one, ...names)
    }
    for (const one of servers) {
      expect(await sizesOf(one)).toEqual({ log: 25, witnessed: 25 })
      expect(names.flatMap(name => logLinesOn(one, name)).filter(({ fault }) => fault === "contradicted")).toEqual([])
      expect((await one.end("SIGTERM")).code).toBe(0)
    }
  })
})

describe("a start is refused", () => {
  const start =
    (...options: readonly string[]) =>
    () =>
      readConfig(options, {})

  test.each([
    ["no key", "https://witness.example/"],
    ["a key with a wrong id", `${down.vkey.replace("+", "+0")}=https://witness.example/`],
    ["the key of a log", `${formatVkey(noteKey("w", "ed25519", new Uint8Array(32)))}=https://witness.example/`],
    ["http to another machine", `${down.vkey}=http://witness.example/`],
    ["another scheme", `${down.vkey}=file:///etc/`],
    ["a password", `${down.vkey}=https://a:b@witness.example/`],
    ["a query", `${down.vkey}=https://witness.example/?a=b`],
  ])("with %s for a witness", (_name, option) => {
    expect(start("--witness", option)).toThrow(/^--witness must be the cosignature key of a witness /)
  })

  test("with one witness under two names, or with two keys", () => {
    const named = (name: string, fill: number): string =>
      `${formatVkey(noteKey(name, "cosignature/v1", new Uint8Array(32).fill(fill)))}=https://witness.example/`
    expect(start("--witness", named("a.example", 1), "--witness", named("b.example", 1))).toThrow(/same name or key/)
    expect(start("--witness", named("a.example", 1), "--witness", named("a.example", 2))).toThrow(/same name or key/)
  })

  test("with the log itself for a witness, under its key or its name", async () => {
    const own = parseVkey(await logOf(server))
    if (own === undefined) throw new Error("the log's key is no verifier key")
    const origin = own.name.replace("/", " - ")
    const signingKeys = [{ spki: ed25519Spki(own.publicKey) }]
    const posing = [
      noteKey("other.example", "cosignature/v1", own.publicKey),
      noteKey(own.name, "ml-dsa-44", new Uint8Array(1312)),
    ]
    for (const vkey of posing.map(formatVkey)) {
      const witness = parseWitness(`${vkey}=https://witness.example/`)
      if (witness === undefined) throw new Error("it is a witness's key")
      expect(() => refuseOwnLog([witness], { origin, signingKeys })).toThrow(/is no witness of this log/)
    }
  })

  test("with one witness twice, or with more needed than there are", () => {
    const one = ["--witness", `${down.vkey}=https://witness.example/`]
    expect(start(...one, ...one)).toThrow(/same name or key/)
    expect(start(...one, "--witnesses-needed", "2")).toThrow(/--witnesses-needed must be an integer from 1 to 1/)
    expect(start("--witnesses-needed", "1")).toThrow(/needs --witness/)
  })
})

test("witnesses may also be named in the environment, with spaces between them", () => {
  const other = formatVkey(noteKey("other.example", "cosignature/v1", new Uint8Array(32).fill(8)))
  vi.stubEnv("RUNSEAL_WITNESS", `${down.vkey}=https://a.example/w ${other}=http://localhost:1`)
  const config = readConfig([], process.env)
  vi.unstubAllEnvs()
  if ("ended" in config) throw new Error("no configuration")
  expect(config.witnesses.map(({ url }) => url.href)).toEqual(["https://a.example/w/", "http://localhost:1/"])
  expect(config.witnessesNeeded).toBe(2)
})
