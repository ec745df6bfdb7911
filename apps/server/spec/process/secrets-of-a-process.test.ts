/**
 * A service with every secret it can have, as a process of its own: all outcomes, a heap of bad requests, a database that fails, a
 * crash. Afterwards no secret is in what it wrote, answered, reported or stored, and its files are its own.
 */
import { spawnSync } from "node:child_process"
import { globSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { openDatabase } from "../../src/store/driver/database.ts"
import { newPostgresUrl, postgresStart, postgresTitle } from "../database/databases.ts"
import { type Child, type Ended, startChild } from "../harness/child.ts"
import { ADMIN, CUSTOMER } from "../harness/key-holders.ts"
import { runSql } from "../harness/read-tables.ts"
import { REVIEWER_PROSE, type ReviewStub, startReviewStub } from "../harness/review-stub.ts"
import { EICAR, fullRequest, request, spending } from "../harness/sample-requests.ts"
import { dumpTables, spellings } from "../harness/spellings.ts"

const PAYLOAD = "payload-canary-51f0"
const OUTPUT = "output-canary-9a7e"
const DECLARED = "declared-canary-c3b8"
const PASSWORD = "database-password-canary-20d4"
const REVIEWER_KEY = "reviewer-key-canary-77f1"
const CRASH = "the crash that the test asked for"

const SERVERS = [
  ["on the embedded database", false],
  [postgresTitle, true],
] as const

describe.each(postgresStart.kind === "absent" ? SERVERS.slice(0, 1) : SERVERS)("a service %s", (_where, onPostgres) => {
  const folder = mkdtempSync(join(tmpdir(), "runseal-secrets-"))
  const dataDir = join(folder, "data")
  const reports = join(folder, "reports")
  const before = new Set(readdirSync("."))
  const answers: string[] = []
  /** As the kernel shows them of the process and its threads. */
  const environments: string[] = []
  const environmentIn = (path: string): string => readFileSync(path, "latin1")
  const apiKeys: string[] = []
  let stub: ReviewStub
  let child: Child
  let ended: Ended
  let dump = ""
  let url: string | undefined

  const ask = async (method: string, path: string, body?: unknown, key = apiKeys[0]): Promise<string> => {
    const headers = { ...(key === undefined ? {} : { "X-Service-Key": key }), "Content-Type": "application/json" }
    const text = typeof body === "string" ? body : JSON.stringify(body)
    const response = await fetch(child.url + path, {
      method,
      headers,
      ...(body === undefined ? {} : { body: text ?? "" }),
    })
    const answer = await response.text()
    answers.push(`${[...response.headers].join("\n")}\n${answer}`)
    return answer
  }
  const execute = (changes: object): Promise<string> =>
    ask("POST", "/execute", { ...request(), payload: PAYLOAD, causal_graph: { note: DECLARED }, ...changes })

  const mintKeys = async (): Promise<void> => {
    for (const body of [ADMIN, CUSTOMER, CUSTOMER]) {
      const { secret } = JSON.parse(await ask("POST", "/admin/keys", body))
      apiKeys.push(secret)
      // The one answer that may hold it.
      answers.pop()
    }
    await ask("DELETE", "/admin/keys/3")
  }

  const everyOutcome = async (): Promise<void> => {
    for (const word of ["release", "deny", "prose", "garbage", "chatty", "forbidden"])
      await execute({ ai_output_text: `${word} ${OUTPUT}` })
    await execute({ payload: `${EICAR} ${PAYLOAD}` })
    await execute(spending(1_000_001, { payload: PAYLOAD }))
    await ask("POST", "/execute", fullRequest({ payload: PAYLOAD, ai_output_text: `release ${OUTPUT}` }))
    await ask("POST", "/execute/verify-determinism", request({ payload: PAYLOAD }))
    for (const path of ["/runs", "/runs/1", "/runs/1/verify", "/admin/keys", "/runs/search?status=ok", "/version"])
      await ask("GET", path)
  }

  const badRequests = async (): Promise<void> => {
    for (const key of [...apiKeys, `${apiKeys[0]}0`, ` ${apiKeys[1]}`, REVIEWER_KEY]) {
      await ask("POST", "/execute", `{"payload":"${PAYLOAD}","ai_output_text":"${OUTPUT}"`, key)
      await ask("POST", "/execute", { payload: [PAYLOAD], ai_output_text: { [OUTPUT]: 1 } }, key)
      await ask("POST", `/admin/keys?key=${apiKeys[0]}`, { name: `${PAYLOAD}\n\u001b[2J`, scope: OUTPUT }, key)
      await ask("POST", "/attest", { digest: PAYLOAD, algorithm: OUTPUT, subject_ref: [DECLARED] }, key)
      await ask("GET", `/runs/search?route_id=${PAYLOAD}&status=${OUTPUT}&key=${apiKeys[1]}`, undefined, key)
      await ask("GET", `/${PAYLOAD}/%0d%0a${OUTPUT}/${apiKeys[0]}`, undefined, key)
      await ask("POST", "/dcae/verify", { [PAYLOAD]: OUTPUT }, key)
    }
  }

  /** A database that quotes in its errors whatever it is given. */
  const failingDatabase = async (postgresUrl: string): Promise<void> => {
    const db = await openDatabase({ kind: "postgres", url: postgresUrl })
    try {
      await runSql(
        db,
        "create function leak() returns trigger language plpgsql as $$ begin raise exception 'row %', new using detail = new::text; end $$",
      )
      for (const table of ["run", "log_entry", "tenant"])
        await runSql(db, `create trigger leak before insert or update on ${table} for each row execute function leak()`)
      await execute({ ai_output_text: `release ${OUTPUT}` })
      for (const table of ["run", "log_entry", "tenant"]) await runSql(db, `drop trigger leak on ${table}`)
      await runSql(db, "alter table api_key rename to api_key_elsewhere")
      await badRequests()
      await runSql(db, "alter table api_key_elsewhere rename to api_key")
      await runSql(
        db,
        "select pg_terminate_backend(pid) from pg_stat_activity where pid <> pg_backend_pid() and datname = current_database()",
      )
      await execute({})
      await ask("GET", "/ready")
      dump = await dumpTables(db, 13)
    } finally {
      await db.close()
    }
  }

  beforeAll(async () => {
    stub = await startReviewStub()
    mkdirSync(reports)
    url = onPostgres ? (await newPostgresUrl()).replace("://runseal@", `://runseal:${PASSWORD}@`) : undefined
    const crash = `process.on("SIGUSR2",()=>{throw new Error("${CRASH}")})`
    const options = ["--data-dir", dataDir, "--log-level", "debug", "--metrics-port", "0", "--aivp", "openai"]
    child = await startChild([...options, "--aivp-model", "judge-1", "--aivp-base-url", `${stub.url}/v1`], {
      RUNSEAL_AIVP_API_KEY: REVIEWER_KEY,
      ...(url === undefined ? {} : { RUNSEAL_DATABASE_URL: url }),
      NODE_OPTIONS: `--report-uncaught-exception --report-directory=${reports} --import=data:text/javascript,${encodeURIComponent(crash)}`,
    })
    const pid = /"pid":(\d+)/.exec(child.stdout())?.[1] ?? ""
    environments.push(...globSync([`/proc/${pid}/environ`, `/proc/${pid}/task/*/environ`]).map(environmentIn))
    await mintKeys()
    await everyOutcome()
    await badRequests()
    if (url !== undefined) await failingDatabase(url)
    answers.push(await (await fetch(`${/"url":"([^"]+)","msg":"metrics"/.exec(child.stdout())?.[1]}/metrics`)).text())
    ended = await child.end("SIGUSR2")
  })
  afterAll(async () => {
    await stub.close()
    rmSync(folder, { recursive: true, force: true })
  })

  /** The private parts of the keys, which are in the first line of each, and the origin secret. */
  const keyTexts = (): readonly string[] => {
    const file: Readonly<Record<string, string>> = JSON.parse(
      readFileSync(join(dataDir, "keys/signing-keys.json"), "utf8"),
    )
    const { kind: _kind, ...secrets } = file
    return Object.values(secrets).map(text => /^(?:-+BEGIN PRIVATE KEY-+\n)?(\S+)/.exec(text)?.[1] ?? text)
  }
  const everySecret = (): readonly string[] =>
    [...apiKeys, ...apiKeys.map(key => key.slice(4)), REVIEWER_KEY, PASSWORD, PAYLOAD, OUTPUT, REVIEWER_PROSE].flatMap(
      spellings,
    )
  const found = (text: string, secrets = everySecret()): readonly string[] =>
    secrets.filter(secret => text.includes(secret))

  test("what was driven failed and succeeded as it should, and the crash ended it", () => {
    expect(apiKeys.filter(key => /^rsk_[0-9a-f]{48}$/.test(key))).toHaveLength(3)
    for (const word of ['"run_id":1,', '"deny_receipt"', '"ccv_halt_receipt"', '"error_stage":"AIVP_T4"', "not strict"])
      expect(
        answers.some(answer => answer.includes(word)),
        word,
      ).toBe(true)
    expect(stub.calls.length).toBeGreaterThan(5)
    expect(ended.code).not.toBe(0)
    expect(ended.stderr).toContain(CRASH)
    if (onPostgres) expect(ended.stdout).toMatch(/not sealed/)
  })

  test("no secret is in its output, and nothing that was declared", () => {
    const output = ended.stdout + ended.stderr
    expect(output.length).toBeGreaterThan(200)
    expect(found(output)).toEqual([])
    expect(found(output, [...keyTexts(), DECLARED])).toEqual([])
    // One line is one entry, whatever was sent to be quoted.
    for (const line of ended.stdout.trimEnd().split("\n")) expect(JSON.parse(line)).toHaveProperty("msg")
  })

  test.skipIf(process.platform !== "linux")("no secret is in what the kernel shows of its environment", () => {
    expect(environments.length).toBeGreaterThan(1)
    for (const environment of environments) {
      expect(environment, "the rest of it is there").toContain(`--report-directory=${reports}`)
      expect(found(environment)).toEqual([])
    }
  })

  test("no secret is in any answer, and none of the metrics holds what was sent", () => {
    expect(answers.length).toBeGreaterThan(50)
    expect(answers.flatMap(answer => found(answer))).toEqual([])
    expect(answers.flatMap(answer => found(answer, keyTexts()))).toEqual([])
    expect(answers.at(-1)).toContain("runseal_runs_total")
    expect(answers.at(-1)).not.toContain(DECLARED)
  })

  test("no secret is in the report that Node was told to write of the crash", () => {
    const written = globSync(join(reports, "*.json"))
    expect(written).toHaveLength(1)
    const report = readFileSync(written[0] ?? "", "utf8")
    expect(report).toContain(CRASH)
    expect(found(report)).toEqual([])
    expect(found(report, [...keyTexts(), DECLARED])).toEqual([])
    expect(readdirSync(".").filter(name => !before.has(name) && /^(?:core|report\.|heap)/i.test(name))).toEqual([])
  })

  test.skipIf(!onPostgres)("no secret is in the database, nor in a dump of it", () => {
    expect(dump, "the search looks at what is stored").toContain("payments/approve")
    expect(found(dump)).toEqual([])
    expect(found(dump, keyTexts())).toEqual([])
    const [tool] = globSync("/usr/lib/postgresql/*/bin/pg_dump")
    if (tool === undefined) return
    const { stdout, status } = spawnSync(tool, [url ?? ""], { encoding: "utf8", maxBuffer: 268_435_456 })
    expect(status).toBe(0)
    expect(stdout).toContain("payments/approve")
    expect(found(stdout)).toEqual([])
    expect(found(stdout, keyTexts())).toEqual([])
  })

  test("its keys, heads and embedded database are for its account alone", () => {
    const modeOf = (path: string): string => (statSync(join(dataDir, path)).mode & 0o777).toString(8)
    expect(modeOf("keys")).toBe("700")
    expect(modeOf("keys/signing-keys.json")).toBe("600")
    expect(modeOf("keys/heads")).toBe("700")
    for (const head of readdirSync(join(dataDir, "keys/heads"))) expect(modeOf(`keys/heads/${head}`)).toBe("600")
    if (!onPostgres) for (const path of ["", "db", "db/postgres"]) expect(modeOf(path), path).toBe("700")
    expect(keyTexts().filter(text => text.length >= 64)).toHaveLength(4)
  })
})
