/** Backups as docs/keys-and-backups.md says: the newest goes on, an older one is a rollback, and who saw more says so. */
import { execFile } from "node:child_process"
import { cpSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { promisify } from "node:util"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { testFolder } from "../../../../libs/core/test/fixtures/test-folder.ts"
import { newPostgresUrl, postgresStart, postgresTitle, unmigratedPostgresUrl } from "../database/databases.ts"
import { opened } from "../harness/asked-permits.ts"
import { type Child, runToEnd, startChild } from "../harness/child.ts"
import { textAt } from "../harness/read-answer.ts"
import { request } from "../harness/sample-requests.ts"
import { until } from "../harness/until.ts"
import { runVerifier, type Verification } from "../harness/verifier.ts"
import {
  endWitnesses,
  logLinesOn,
  logOf,
  type ReferenceWitness,
  sizesOf,
  startWitness,
  untilWitnessed,
} from "../harness/witnesses.ts"

afterAll(endWitnesses)

/** Some five starts of the server on a busy machine. */
const STORY_DEADLINE_MS = 480_000
/** A log key like any other: the witness is configured with the right one once the server has created it. */
const NO_LOG = "nobody.example/1+84b038f9+AQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJ"
const WITNESS = "witness.example"

/** A database that is backed up while no server runs on it. */
type Backups = {
  readonly options: () => readonly string[]
  readonly save: (name: string) => Promise<void>
  /** Puts a backup in the place of what there is. */
  readonly restore: (name: string) => Promise<void>
}
const folder = testFolder("runseal-backups")

const embedded = async (home: string): Promise<Backups> => ({
  options: () => [],
  save: async name => cpSync(join(home, "data/db"), join(home, name), { recursive: true }),
  restore: async name => {
    rmSync(join(home, "data/db"), { recursive: true })
    cpSync(join(home, name), join(home, "data/db"), { recursive: true })
  },
})

async function postgres(home: string): Promise<Backups> {
  let url = await newPostgresUrl()
  const run = async (program: string, ...options: readonly string[]): Promise<void> => {
    if (postgresStart.kind === "absent") throw new Error(postgresStart.reason)
    await promisify(execFile)(join(postgresStart.programs, program), options)
  }
  return {
    options: () => ["--database-url", url],
    save: name => run("pg_dump", "--format=custom", "--file", join(home, name), url),
    restore: async name => {
      url = await unmigratedPostgresUrl()
      await run("pg_restore", "--no-owner", "--exit-on-error", "--dbname", url, join(home, name))
    },
  }
}

function story(open: (home: string) => Promise<Backups>, name: string, rolledBack: boolean): void {
  const home = join(folder, name)
  let backups: Backups
  let witness: ReferenceWitness
  let server: Child

  const start = async (): Promise<Child> => {
    const options = ["--data-dir", join(home, "data"), "--witness", witness.option, ...backups.options()]
    server = await startChild(options)
    return server
  }
  const stop = (): Promise<unknown> => server.end("SIGTERM")
  const run = async (count: number): Promise<void> => {
    for (let i = 0; i < count; i++) expect((await server.post("/execute", request())).status).toBe(200)
  }
  /** The auditor's folder holds what he has seen. */
  const audit = (auditor: string, ...options: readonly string[]): Promise<Verification> => {
    const trust = ["--trust", join(home, "trust.json")]
    return runVerifier(join(home, auditor), ["log", "audit", server.url, ...trust, ...options])
  }
  const expectPassed = (result: Verification): void =>
    expect(result, result.stdout + result.stderr).toMatchObject({ exit: 0, verdict: "LOG VERIFIED" })
  const forgetHeads = (): void => rmSync(join(home, "data/keys/heads"), { recursive: true })
  /** On PostgreSQL the restored tables are others than those the lost folder was held against: the operator gives it up. */
  const giveUpAwaited = async (): Promise<void> => {
    if (backups.options().length === 0) return
    const { stdout } = await runToEnd([...backups.options(), "heads", "list"])
    const [, awaited = ""] = /^([0-9a-f]{32}) {2}awaited/m.exec(stdout) ?? []
    expect((await server.post("/execute", request())).status, "nothing is sealed before").toBe(503)
    const forgotten = await runToEnd([...backups.options(), "heads", "forget", awaited])
    expect(forgotten).toMatchObject({ code: 0 })
    expect(JSON.parse(forgotten.stderr)).toMatchObject({ level: 40, folder_id: awaited, log_size: expect.any(Number) })
  }
  const contradicted = () => logLinesOn(server, WITNESS).filter(({ fault }) => fault === "contradicted")

  beforeAll(async () => {
    cpSync(mkdtempSync(join(folder, "auditor-")), join(home, "auditor"), { recursive: true })
    backups = await open(home)
    witness = await startWitness(home, WITNESS, NO_LOG)
    await start()
    await witness.crash(await logOf(server))
    writeFileSync(join(home, "trust.json"), (await server.get("/.well-known/runseal-trust.json")).text)
    await run(2)
    await untilWitnessed(server, WITNESS)
    expectPassed(await audit("auditor", "--witness", witness.vkey))
    await stop()
    await backups.save("older")
    await start()
    await run(2)
    await untilWitnessed(server, WITNESS)
    expectPassed(await audit("auditor", "--witness", witness.vkey))
    writeFileSync(join(home, "bundle.json"), (await server.get("/runs/4/artifacts")).text)
    await stop()
    await backups.save("newest")
    cpSync(join(home, "auditor"), join(home, "another-auditor"), { recursive: true })
  }, STORY_DEADLINE_MS)

  // Which database was rolled back is nothing to those who find it out: once is enough.
  test.runIf(rolledBack)(
    "an older one without the heads starts, and the auditor and the witness find it out",
    {
      timeout: STORY_DEADLINE_MS,
    },
    async () => {
      await backups.restore("older")
      forgetHeads()
      await start()
      await giveUpAwaited()
      await until("the witness refuses", () => contradicted().length > 0)
      expect(contradicted()[0]).toMatchObject({ level: 50, witness_size: 9, log_size: 5 })
      const shrunk = await audit("another-auditor")
      expect(shrunk).toMatchObject({ exit: 1, verdict: "FAILED" })
      expect(shrunk.stdout).toContain("it shows 5 entries, and had 9 when it was seen")
      const lost = await audit("another-auditor", "--holds", join(home, "bundle.json"))
      expect(lost).toMatchObject({ exit: 1, verdict: "FAILED" })

      await run(3)
      await until("the witness refuses the fork", () => contradicted().some(({ status }) => status === 422))
      const forked = await audit("another-auditor")
      expect(forked).toMatchObject({ exit: 1, verdict: "FAILED" })
      expect(forked.stdout).toContain("The log was forked or its past changed: its first 9 entries had the root")
      expect(await sizesOf(server)).toEqual({ log: 11, witnessed: 5 })
      await stop()
    },
  )

  test("the newest backup goes on, and everything verifies", { timeout: STORY_DEADLINE_MS }, async () => {
    await backups.restore("newest")
    forgetHeads()
    await start()
    await giveUpAwaited()
    expect((await server.get("/runs/4/artifacts")).text).toContain('"bundle_hash"')
    await run(1)
    await untilWitnessed(server, WITNESS)
    expect(await sizesOf(server)).toEqual({ log: 11, witnessed: 11 })
    expectPassed(await audit("auditor", "--witness", witness.vkey, "--holds", join(home, "bundle.json")))
    for (const id of [1, 4, 5]) {
      const { body } = await server.get(`/runs/${id}/verify`)
      expect(body.verified, `run ${id}`).toBe(true)
    }
    expect(contradicted()).toEqual([])
    await stop()
  })
}

/** A permit that was redeemed after the backup is not redeemed again in what is put in its place. */
function redeemedOnce(open: (home: string) => Promise<Backups>, name: string): void {
  test("a permit that was redeemed after it is not redeemed again", { timeout: STORY_DEADLINE_MS }, async () => {
    const home = join(folder, name)
    const backups = await open(home)
    const start = () => startChild(["--data-dir", join(home, "data"), ...backups.options()])
    let server = await start()
    const held = (await opened(server, { redeem_required: true, valid_for_seconds: 3600 })).body
    const id = textAt(held, "permit_id")
    const redeem = () => server.post(`/permits/${id}/redeem`, { permit: textAt(held, "permit") })
    await server.end("SIGTERM")
    await backups.save("before")
    server = await start()
    expect((await redeem()).status).toBe(200)
    expect((await redeem()).status).toBe(409)
    await server.end("SIGTERM")
    await backups.restore("before")
    const refused = await runToEnd(["--data-dir", join(home, "data"), ...backups.options()])
    expect(refused.code).not.toBe(0)
    expect(refused.stderr).toMatch(/it is an older copy/)
  })
}

describe("a copied folder of the embedded database", () => {
  story(embedded, "embedded", true)
  redeemedOnce(embedded, "embedded-redeemed")
})
describe.skipIf(postgresStart.kind === "absent")(`a dump ${postgresTitle}`, () => {
  story(postgres, "postgres", false)
  redeemedOnce(postgres, "postgres-redeemed")
})
