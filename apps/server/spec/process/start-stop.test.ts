/** A deployment in its data folder: start, stop, restart, and the starts that must be refused. */
import { chmodSync, cpSync, existsSync, readdirSync, readFileSync, statSync } from "node:fs"
import { join } from "node:path"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { testFolder } from "../../../../libs/core/test/fixtures/test-folder.ts"
import { CONNECTION_LIMITS } from "../../src/http/listen.ts"
import { createKeys } from "../../src/keys/key-file.ts"
import { type Child, type Ended, runToEnd, startChild } from "../harness/child.ts"
import { type Answer, numberAt } from "../harness/read-answer.ts"
import { request } from "../harness/sample-requests.ts"
import { openService } from "../harness/test-service.ts"

const folder = testFolder("runseal-process")
const at = (...names: readonly string[]): string => join(folder, ...names)
/** A deployment with three runs. */
const BORN = at("born")
/** The same deployment as it was after the first of them. */
const OLDER = at("older")
const CANARY = "payload-canary-93be"
/** Three starts and two stops of the server on a busy machine. */
const STORY_DEADLINE_MS = 480_000
const KEEP_ALIVE_MS = CONNECTION_LIMITS.keepAliveMs

let first: Ended
let bundles: readonly string[] = []
let checkpoint = ""
let child: Child | undefined

beforeAll(async () => {
  const one = await startChild(["--data-dir", BORN])
  await one.post("/execute", request({ payload: CANARY, ai_output_text: CANARY }))
  first = await one.end("SIGTERM")
  cpSync(BORN, OLDER, { recursive: true })
  const two = await startChild(["--data-dir", BORN])
  for (const payload of ["two", "three"]) await two.post("/execute", request({ payload }))
  bundles = await Promise.all([1, 2, 3].map(async id => (await two.get(`/runs/${id}/artifacts`)).text))
  checkpoint = (await two.get("/log/checkpoint")).text
  await two.end("SIGINT")
  cpSync(join(BORN, "keys"), at("newer-keys"), { recursive: true })
  child = await startChild(["--data-dir", BORN])
}, STORY_DEADLINE_MS)
afterAll(async () => {
  await child?.end("SIGKILL")
})

const refusedStart = async (options: readonly string[]): Promise<string> => {
  const { code, stdout, stderr } = await runToEnd(["--port", "0", ...options])
  expect(code).toBe(1)
  expect(stdout).not.toContain("listening")
  expect(stderr).toMatch(/^runseal: [^\n]+\n$/)
  return stderr
}

describe("a first start and stop", () => {
  test("ends with 0 and says so in the log, in JSON lines without payloads", () => {
    expect(first).toMatchObject({ code: 0, stderr: "" })
    const lines = first.stdout
      .trimEnd()
      .split("\n")
      .map(line => JSON.parse(line) as { msg: string })
    expect(lines.map(({ msg }) => msg)).toEqual(expect.arrayContaining(["listening", "stopping", "stopped"]))
    expect(first.stdout).not.toContain(CANARY)
  })

  test("makes the keys, for their owner alone", () => {
    expect(statSync(join(BORN, "keys")).mode & 0o777).toBe(0o700)
    for (const name of readdirSync(join(BORN, "keys"))) {
      const { mode } = statSync(join(BORN, "keys", name))
      expect(mode & 0o077, name).toBe(0)
    }
    expect(readFileSync(join(BORN, "keys", "signing-keys.json"), "utf8")).toContain("PRIVATE KEY")
  })

  test("leaves no raw text in any file of the data folder", () => {
    const held = readdirSync(BORN, { recursive: true, withFileTypes: true })
      .filter(entry => entry.isFile())
      .filter(entry => readFileSync(join(entry.parentPath, entry.name)).includes(CANARY))
    expect(held.map(({ name }) => name)).toEqual([])
  })
})

describe("a restart", () => {
  test("serves every run byte for byte, and the log where it stood", async () => {
    const served = await Promise.all([1, 2, 3].map(async id => (await child!.get(`/runs/${id}/artifacts`)).text))
    expect(served).toEqual(bundles)
    expect((await child!.get("/log/checkpoint")).text).toBe(checkpoint)
  })

  test("goes on with the next run number and the next record of the chain", async () => {
    const { body } = await child!.post("/execute", request())
    expect(body.run_id).toBe(4)
    const bundle = (await child!.get("/runs/4/artifacts")).body
    expect(numberAt(bundle, "anchors", "complete_record", "leaf", "tenant_ordinal")).toBe(4)
    expect((await child!.post("/dcae/verify", bundle)).body.verified).toBe(true)
  })

  test("listens on loopback only, unless told otherwise", () => {
    expect(child!.url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/)
  })

  test("a second process on the same data folder is refused; the first goes on", async () => {
    expect(await refusedStart(["--data-dir", BORN])).toMatch(/in use by another process/)
    expect((await child!.post("/execute", request())).status).toBe(200)
  })
})

describe("SIGTERM under load", () => {
  const started = (): Promise<Child> => startChild(["--data-dir", at("loaded")])
  let answers: readonly Answer[] = []
  beforeAll(() => cpSync(OLDER, at("loaded"), { recursive: true }))

  test("finishes what was taken on: every request under way is answered, then the process ends with 0", async () => {
    const server = await started()
    const underWay = Array.from({ length: 40 }, (_, i) => server.post("/execute", request({ payload: `${i}` })))
    // All were sent at once: when the first is answered, the last has been taken on.
    await Promise.race(underWay)
    server.signal("SIGTERM")
    answers = await Promise.all(underWay)
    const answeredAt = performance.now()
    expect(await server.ended).toMatchObject({ code: 0, stderr: "" })
    expect(performance.now() - answeredAt, "a connection that is kept alive holds no stop up").toBeLessThan(
      KEEP_ALIVE_MS,
    )
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200))
  })

  test("a second signal does not cut the stop short; all of it is there afterwards", async () => {
    const server = await started()
    for (const { body } of answers)
      expect((await server.get(`/runs/${numberAt(body, "run_id")}/artifacts`)).body.manifest).toEqual(body.manifest)
    for (const signal of ["SIGTERM", "SIGINT", "SIGTERM"] as const) server.signal(signal)
    const { code, stdout } = await server.ended
    expect(code).toBe(0)
    expect(stdout).toContain('"msg":"stopped"')
  })
})

describe("a start is refused", () => {
  const startWithKeys = (keysDir: string): Promise<string> => refusedStart(["--data-dir", OLDER, "--keys-dir", keysDir])

  test("with keys of another deployment", async () => {
    createKeys(at("other-keys"))
    expect(await startWithKeys(at("other-keys"))).toMatch(/keys.*not those/)
  })

  test("without the keys the log was born with; none are made in their place", async () => {
    expect(await startWithKeys(at("no-keys"))).toMatch(/keys/)
    expect(existsSync(at("no-keys", "signing-keys.json"))).toBe(false)
  })

  test("with keys that others may read", async () => {
    cpSync(join(OLDER, "keys"), at("open-keys"), { recursive: true })
    chmodSync(at("open-keys", "signing-keys.json"), 0o644)
    expect(await startWithKeys(at("open-keys"))).toMatch(/0600/)
  })

  test("on an older copy of the database: acknowledged runs are missing", async () => {
    expect(await startWithKeys(at("newer-keys"))).toBe(
      "runseal: The database holds 3 log entries, but 7 were acknowledged: it is an older copy, and continuing it would fork the log.\n",
    )
  })

  test("under another log origin", async () => {
    const error = await refusedStart(["--data-dir", OLDER, "--log-origin", "other.example"])
    expect(error).toMatch(/runseal\.local.*other\.example/)
  })

  test("on an empty database beside keys that have acknowledged runs", async () => {
    await expect(openService({ keysDir: at("newer-keys") })).rejects.toThrow(/empty/)
  })
})
