/** The signing keys over years: changed, listed, revoked, with the real commands, and what the verifier says of records before and after. */
import { cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, renameSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { parseStrictJson } from "@runseal/canonical"
import { afterEach, beforeAll, describe, expect, test } from "vitest"
import { testFolder } from "../../../../libs/core/test/fixtures/test-folder.ts"
import { createNextKeys } from "../../src/keys/key-file.ts"
import { newPostgresUrl, postgresStart, postgresTitle } from "../database/databases.ts"
import { type Child, type Ended, endStrays, killedStart, runToEnd, startChild } from "../harness/child.ts"
import { at, expectRefused, listAt, objectAt, textAt } from "../harness/read-answer.ts"
import { request } from "../harness/sample-requests.ts"
import { until } from "../harness/until.ts"
import { runVerifier, runVerifierOn, verifyWithCli } from "../harness/verifier.ts"

/** Some ten starts of the server on a busy machine. */
const STORY_DEADLINE_MS = 480_000
const COMPLETE = "VERIFIED AND ANCHORED, COMPLETE RECORD ANCHORED"
const KEYS = "signing-keys.json"
const NEXT = "next-signing-keys.json"

const folder = testFolder("runseal-keys")
afterEach(endStrays)

/** Log time is in whole seconds: what comes after this is of a later one. */
const nextSecond = (): Promise<void> => sleep(1100)

describe("one deployment", () => {
  const home = join(folder, "one")
  const keysDir = join(home, "data", "keys")
  const options = ["--data-dir", join(home, "data")]
  let server: Child
  const records: string[] = []
  const trusts: string[] = []

  const start = async (): Promise<void> => {
    server = await startChild(options)
  }
  const stop = (): Promise<unknown> => server.end("SIGTERM")
  const keys = (...words: readonly string[]): Promise<Ended> => runToEnd([...options, "keys", ...words])
  const done = async (...words: readonly string[]): Promise<string> => {
    const { code, stdout, stderr } = await keys(...words)
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
    return stdout
  }
  const refused = async (...words: readonly string[]): Promise<string> => {
    const { code, stdout, stderr } = await keys(...words)
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" })
    // A first look at an embedded database makes it, and says so before.
    expect(stderr).toMatch(/^(?:runseal: Making the database [^\n]+\n)?runseal: [^\n]+\n$/)
    return stderr
  }
  const listed = async () => listAt(parseStrictJson(await done("list", "--json")), "keys")
  const inForce = async (role: string): Promise<string> =>
    textAt(
      (await listed()).find(key => at(key, "role") === role && at(key, "state") === "in force"),
      "key_id",
    )
  const retired = async (role: string) =>
    objectAt((await listed()).find(key => at(key, "role") === role && at(key, "state") !== "in force"))
  /** Seals a run and saves its bundle and the trust document of that time. */
  const seal = async (): Promise<void> => {
    expect((await server.post("/execute", request())).status).toBe(200)
    records.push((await server.get(`/runs/${records.length + 1}/artifacts`)).text)
    trusts.push((await server.get("/.well-known/runseal-trust.json")).text)
  }
  const lastTrust = (): string => trusts.at(-1) ?? ""
  const verify = (record: number, trust: string) => verifyWithCli(records[record - 1] ?? "", trust)

  beforeAll(async () => {
    expect(await refused("list")).toContain("There is no deployment")
    expect(await refused("rotate")).toContain("There is no deployment")
    await start()
    await seal()
    await nextSecond()
    await seal()
    await stop()
    await nextSecond()
  }, STORY_DEADLINE_MS)

  test("records of before verify as signed with a retired key that was valid then; those of after need the new trust document", {
    timeout: STORY_DEADLINE_MS,
  }, async () => {
    const service = await inForce("service")
    const log = await inForce("log")
    const checkpoint = await inForce("checkpoint")
    cpSync(keysDir, join(home, "old-keys"), { recursive: true })
    const output = await done("rotate", "--json")
    expect(parseStrictJson(output)).toMatchObject({
      changed: [
        { role: "service", retired: service },
        { role: "log", retired: log },
        { role: "checkpoint", retired: checkpoint },
      ],
      log_index: 5,
      resumed: false,
    })
    expect(readdirSync(keysDir).sort()).toEqual(["heads", "lock", KEYS, "verified-heads"])
    await start()
    await seal()
    for (const record of [1, 2]) {
      const report = await verify(record, lastTrust())
      expect(report, report.stdout).toMatchObject({ exit: 0, verdict: COMPLETE })
      expect(report.stdout).toContain(`Service key ${service}: key retired, valid then`)
      expect(report.stdout).toContain(`Log key ${log}: key retired, valid then`)
    }
    const after = await verify(3, lastTrust())
    expect(after, after.stdout).toMatchObject({ exit: 0, verdict: COMPLETE })
    expect(after.stdout).not.toContain("retired")
    expect(await verify(3, trusts[0] ?? "")).toMatchObject({ exit: 1, verdict: "FAILED" })
    expect((await server.get("/runs/1/verify")).body.verified).toBe(true)
    await stop()
  })

  test("the log audits with its old and its new keys", { timeout: STORY_DEADLINE_MS }, async () => {
    await start()
    const auditor = mkdtempSync(join(folder, "auditor-"))
    writeFileSync(join(auditor, "trust.json"), lastTrust())
    writeFileSync(join(auditor, "bundle.json"), records[0] ?? "")
    const holds = ["--holds", "bundle.json"]
    const audit = await runVerifier(auditor, ["log", "audit", server.url, "--trust", "trust.json", ...holds])
    expect(audit, audit.stdout + audit.stderr).toMatchObject({ exit: 0, verdict: "LOG VERIFIED" })
    await stop()
  })

  test("a start with the keys of before is refused, and so is one with keys that nobody announced", {
    timeout: STORY_DEADLINE_MS,
  }, async () => {
    const start = await runToEnd([...options, "--port", "0", "--keys-dir", join(home, "old-keys")])
    expect(start).toMatchObject({ code: 1 })
    expect(start.stderr).toMatch(/^runseal: The signing keys in .* are not those that are in force on this database/)
    createNextKeys(join(home, "old-keys"), ["service"])
    renameSync(join(home, "old-keys", NEXT), join(home, "old-keys", KEYS))
    expect(await runToEnd([...options, "--port", "0", "--keys-dir", join(home, "old-keys")])).toMatchObject({ code: 1 })
  })

  test("a change that was broken off before the database knew of it is finished by the next one", {
    timeout: STORY_DEADLINE_MS,
  }, async () => {
    createNextKeys(keysDir, ["log"])
    await start()
    await seal()
    await stop()
    expect(existsSync(join(keysDir, NEXT)), "a start does not touch what another process may be doing").toBe(true)
    const output = parseStrictJson(await done("rotate", "service", "--json"))
    expect(output).toMatchObject({ changed: [{ role: "log" }], resumed: true })
    await start()
    await seal()
    expect(await verify(records.length, lastTrust())).toMatchObject({ exit: 0, verdict: COMPLETE })
    await stop()
  })

  test("a change that was broken off after the database knew of it is finished by the next start", {
    timeout: STORY_DEADLINE_MS,
  }, async () => {
    const before = readFileSync(join(keysDir, KEYS))
    await done("rotate", "checkpoint")
    renameSync(join(keysDir, KEYS), join(keysDir, NEXT))
    writeFileSync(join(keysDir, KEYS), before, { mode: 0o600 })
    await start()
    expect(readdirSync(keysDir).sort()).toEqual(["heads", "lock", KEYS, "verified-heads"])
    await seal()
    await stop()
  })

  test("wherever a change is killed, the log goes on and every record verifies", {
    timeout: STORY_DEADLINE_MS,
  }, async () => {
    const changes = (await listed()).length
    for (const afterMs of [600, 1300, 2000]) await killedStart([...options, "keys", "rotate", "service"], afterMs)
    await done("rotate", "service")
    await start()
    await seal()
    const all = await runVerifierOn("runs.ndjson", `${records.join("\n")}\n`, lastTrust(), [])
    expect(all, all.stdout).toMatchObject({
      exit: 0,
      verdict: `${records.length} OF ${records.length} DOCUMENTS PASSED`,
    })
    await stop()
    expect((await listed()).length).toBeGreaterThan(changes)
    expect(readdirSync(keysDir).filter(name => name.endsWith(".json"))).toEqual([KEYS])
  })

  test("a key in force is not revoked; a retired one is, from a time on, and never less", {
    timeout: STORY_DEADLINE_MS,
  }, async () => {
    const service = await retired("service")
    const id = textAt(service, "key_id")
    const second = textAt(
      at(parseStrictJson(records[1] ?? ""), "anchors", "complete_record", "entry", "integratedTime"),
    )
    const from = new Date(Number(second) * 1000).toISOString()
    expect(await refused("revoke", await inForce("service"), "--from", from)).toContain("in force")
    expect(await refused("revoke", "0".repeat(64), "--from", from)).toContain("never had a key")
    expect(await refused("revoke", id, "--from", "2199-01-01T00:00:00Z")).toContain("signs nothing since")
    expect(await refused("revoke", id, "--from", "1999-01-01T00:00:00Z")).toContain("signs only since")
    expect(await refused("revoke", id, "--from", "yesterday")).toContain("--from must be a time")
    await done("revoke", id, "--from", from)
    expect(await refused("revoke", id, "--from", textAt(service, "valid_to"))).toContain("not taken back")
    expect(await done("list")).toMatch(new RegExp(`service +revoked .*${id}`))

    await start()
    await seal()
    await stop()
    const before = await verify(1, lastTrust())
    expect(before, before.stdout).toMatchObject({ exit: 0, verdict: COMPLETE })
    expect(before.stdout).toContain(`Service key ${id}: key revoked from`)
    expect(before.stdout).toContain("The service key was revoked later.")
    const after = await verify(2, lastTrust())
    expect(after).toMatchObject({ exit: 1, verdict: "FAILED" })
    expect(after.stdout).toContain(`Service key ${id} was revoked from ${from.replace(".000", "")} on`)
    for (const record of [3, records.length])
      expect(await verify(record, lastTrust())).toMatchObject({ exit: 0, verdict: COMPLETE })
  })

  test("a log key that is revoked vouches for no entry of then and later; a checkpoint key for none at all", {
    timeout: STORY_DEADLINE_MS,
  }, async () => {
    const log = await retired("log")
    const checkpoint = await retired("checkpoint")
    expect(await done("revoke", textAt(log, "key_id"), "--from", textAt(log, "valid_from"))).toContain("log time")
    await done("revoke", textAt(checkpoint, "key_id"), "--from", textAt(checkpoint, "valid_from"))
    await start()
    const trust = (await server.get("/.well-known/runseal-trust.json")).text
    const failed = await verify(1, trust)
    expect(failed).toMatchObject({ exit: 1, verdict: "FAILED" })
    expect(failed.stdout).toContain("The log's key was not valid at the log time.")
    expect(await verify(records.length, trust)).toMatchObject({ exit: 0, verdict: COMPLETE })
    expect(trust).not.toContain(textAt(checkpoint, "vkey"))
    await stop()
  })

  test("no command prints a secret", async () => {
    const { service_key, origin_secret } = objectAt(parseStrictJson(readFileSync(join(keysDir, KEYS), "utf8")))
    const output = `${await done("list")}${await done("list", "--json")}`
    for (const secret of [service_key, origin_secret]) expect(output).not.toContain(String(secret).slice(40, 60))
    expect(output).not.toContain("PRIVATE")
  })
})

test("a change of keys names no log: it is that of the database", async () => {
  const options = ["--data-dir", join(folder, "named", "data")]
  await (await startChild([...options, "--log-origin", "log.example.com"])).end("SIGTERM")
  expect(await runToEnd([...options, "keys", "rotate", "checkpoint"])).toMatchObject({ code: 0, stderr: "" })
  expect((await runToEnd([...options, "keys", "list"])).stdout).toContain("checkpoint")
})

test("a running server holds the folder of the embedded database, and one sentence says so", async () => {
  const options = ["--data-dir", join(folder, "running", "data")]
  const server = await startChild(options)
  const { code, stderr } = await runToEnd([...options, "keys", "rotate"])
  expect({ code, stderr }).toMatchObject({ code: 1 })
  expect(stderr).toMatch(/^runseal: [^\n]*in use by another process[^\n]*\n$/)
  await server.end("SIGTERM")
})

describe.skipIf(postgresStart.kind === "absent")(postgresTitle, () => {
  test("a process that knows the keys of before seals nothing more, says so, and goes on once it is started again", {
    timeout: STORY_DEADLINE_MS,
  }, async () => {
    const options = ["--data-dir", join(folder, "two", "data"), "--database-url", await newPostgresUrl()]
    const two = [await startChild(options), await startChild(options)]
    for (const server of two) expect((await server.post("/execute", request())).status).toBe(200)
    expect(await runToEnd([...options, "keys", "rotate"])).toMatchObject({ code: 0 })
    for (const server of two) {
      expectRefused(await server.post("/execute", request()), 503)
      // What a process writes comes another way than what it answers.
      const why = "The log's signing keys were changed or one was revoked since this server started"
      await until("the process log says why", () => server.stdout().includes(why))
      const ready = await server.get("/ready")
      expect(ready.status).toBe(503)
      expect(ready.text).toContain("The signing keys were changed since this process started")
      await server.end("SIGTERM")
    }
    const again = await startChild(options)
    expect((await again.post("/execute", request())).status).toBe(200)
    await again.end("SIGTERM")
  })

  test("of two changes at once both end well, and the log has one set of keys", {
    timeout: STORY_DEADLINE_MS,
  }, async () => {
    const options = ["--data-dir", join(folder, "race", "data"), "--database-url", await newPostgresUrl()]
    await (await startChild(options)).end("SIGTERM")
    const rotate = (): Promise<Ended> => runToEnd([...options, "keys", "rotate", "service"])
    const both = await Promise.all([rotate(), rotate()])
    expect(both.filter(({ code }) => code === 0).length).toBeGreaterThanOrEqual(1)
    for (const { code, stderr } of both)
      expect(code === 0 ? "" : stderr).toMatch(/^$|changed by somebody else meanwhile/)
    const server = await startChild(options)
    expect((await server.post("/execute", request())).status).toBe(200)
    await server.end("SIGTERM")
  })
})
