/** A deployment under faults: real server processes over one data folder or one PostgreSQL, and the clients' view of it. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { openDatabase } from "@runseal/server/store/driver/database"
import { StoreError } from "@runseal/server/store/driver/store-errors"
import { expect, type TestContext } from "vitest"
import { guardFolder } from "../../../apps/server/cluster/own-servers.ts"
import { newPostgresUrl } from "../../../apps/server/spec/database/databases.ts"
import { checkHouse } from "../../../apps/server/spec/harness/check-house.ts"
import { type Child, startChild } from "../../../apps/server/spec/harness/child.ts"
import { ADMIN, caller, type Holder, mint } from "../../../apps/server/spec/harness/key-holders.ts"
import { readTables, type Tables } from "../../../apps/server/spec/harness/read-tables.ts"
import { openService } from "../../../apps/server/spec/harness/test-service.ts"
import { until } from "../../../apps/server/spec/harness/until.ts"
import { runVerifier } from "../../../apps/server/spec/harness/verifier.ts"
import { type Memory, newMemory } from "./acknowledged-runs.ts"
import { checkAfterFault } from "./check-after-fault.ts"
import {
  type Clients,
  holdersAt,
  httpCaller,
  nextRequest,
  RUN_TOKENS,
  retryUnacknowledged,
  send,
  WINDOW_TOKENS,
} from "./fault-load.ts"
import type { FaultRow } from "./fault-row.ts"

export type Kind = "PGlite" | "PostgreSQL"

export type Settings = {
  readonly kind: Kind
  readonly row: FaultRow
  /** Whether every request that spends is under an idempotency key: then each is charged once. */
  readonly allKeyed?: true
  /** Folder for the embedded database, and folder for the keys; absent: a folder of the system's for temporary files. */
  readonly dataFolder?: string
  readonly keysFolder?: string
  /** Address of a PostgreSQL database; absent: a new, migrated one of this run's cluster. */
  readonly url?: string
  /** The address that the servers use for it, when it differs, such as that of a `DatabaseLink`. */
  readonly serverUrl?: string
}

export type Deployment = {
  readonly dataDir: string
  readonly keysDir: string
  readonly memory: Memory
  /** Of the callers; empty before the first start. */
  readonly secrets: readonly string[]
  /** Options of its servers. */
  readonly options: readonly string[]
  /** Starts a server as an operator's supervisor would, without any preparation. */
  readonly start: (options?: readonly string[], env?: NodeJS.ProcessEnv) => Promise<Child>
  readonly holders: (child: Child) => readonly Holder[]
  /** Checks everything that must hold after a fault, on a running server, which must seal again. */
  readonly check: (child: Child) => Promise<void>
  /** Audits the log with the real verifier, which stores every checkpoint that it has seen: the log only grew since the last audit. */
  readonly audit: (child: Child) => Promise<void>
  /** Stops the server and checks every record and table in the database. */
  readonly finish: (child: Child) => Promise<void>
}

// Ends with the process that runs the suites, also when that was interrupted: servers and guards end with this one.
process.once("disconnect", () => process.exit(1))

/** Every so-many-th check runs `verifier log audit`; each audit covers everything before it. */
const AUDITED_EVERY = 5
const CUSTOMERS = ["acme", "globex"]

/** Creates a deployment with three callers; it is removed at the end of the test. */
export async function openDeployment(
  context: TestContext,
  { kind, row, allKeyed, ...places }: Settings,
): Promise<Deployment> {
  const folder = mkdtempSync(join(tmpdir(), "runseal-fault-"))
  const release = guardFolder(folder)
  const children = new Set<Child>()
  context.onTestFinished(async () => {
    await Promise.all([...children].map(child => child.end("SIGKILL")))
    release()
    rmSync(folder, { recursive: true, force: true })
  })
  const dataDir = join(places.dataFolder ?? folder, "data")
  const keysDir = join(places.keysFolder ?? folder, "keys")
  const url = kind === "PostgreSQL" ? (places.url ?? (await newPostgresUrl())) : undefined
  const memory = newMemory()
  const secrets: string[] = []
  const options = [
    ...["--data-dir", dataDir, "--keys-dir", keysDir, "--attest-rate-limit", "1000000"],
    ...["--run-token-budget", `${RUN_TOKENS}`, "--window-token-budget", `${WINDOW_TOKENS}`],
    ...(url === undefined ? [] : ["--database-url", places.serverUrl ?? url]),
  ]
  const start: Deployment["start"] = async (more = [], env = {}) => {
    const child = await startChild([...options, ...more], env)
    children.add(child)
    void child.ended.then(() => children.delete(child))
    if (secrets.length === 0) secrets.push(...(await mintCallers(child)))
    return child
  }
  const holders: Deployment["holders"] = child => holdersAt(child.url, secrets)
  let checks = 0
  const audit = (child: Child): Promise<void> => auditLog(folder, child, memory)
  const check: Deployment["check"] = async child => {
    row.found += await checkAfterFault(holders(child), memory)
    row.retried += await retryUnacknowledged(child.url, { memory, secrets })
    await expectAcknowledged(child.url, { memory, secrets })
    expect(await checkAfterFault(holders(child), memory), "every request has its record").toBe(0)
    if (checks++ % AUDITED_EVERY === 0) await audit(child)
  }
  const finish: Deployment["finish"] = async child => {
    await check(child)
    await audit(child)
    const { code, stderr } = await child.end("SIGTERM")
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
    const open = () =>
      openDatabase(url === undefined ? { kind: "pglite", dataDir: join(dataDir, "db") } : { kind: "postgres", url })
    const clock = { nowMs: Date.now, advance: () => {} }
    // The way to the database may still be that of before the fault.
    const service = await until("the database is opened", () =>
      openService({ open, keysDir, clock }).catch(unlessUnavailable),
    )
    try {
      service.statements.push(...memory.exports.values())
      await checkHouse(service)
      const tables = await readTables(service.db)
      checkTables(tables, memory)
      if (allKeyed) checkChargedOnce(tables, memory)
    } finally {
      await service.close()
    }
  }
  return { dataDir, keysDir, memory, secrets, options, start, holders, check, audit, finish }
}

function unlessUnavailable(error: unknown): undefined {
  if (!(error instanceof StoreError && error.code === "unavailable")) throw error
}

/** An admin key, which locks the deployment, and two customer keys. */
async function mintCallers(child: Child): Promise<readonly string[]> {
  const http = httpCaller(child.url)
  const admin = await mint(http, ADMIN, caller(http))
  const customers = []
  for (const name of CUSTOMERS) customers.push(await mint(http, { name, tier: "production" }, admin))
  return [admin, ...customers].map(({ secret = "" }) => secret)
}

/** The service seals again without any intervention. */
async function expectAcknowledged(url: string, clients: Clients): Promise<void> {
  const sent = nextRequest(clients)
  await until("a request is answered after the fault", async () => {
    await send(sent, url, clients)
    return sent.acknowledged !== undefined
  })
}

/** Runs the real command, which stores every checkpoint it has seen and rebuilds the log from its tiles. */
async function auditLog(folder: string, { url }: Child, { trust = "" }: Memory): Promise<void> {
  writeFileSync(join(folder, "trust.json"), trust)
  // Exit code 2 says that the log could not be read: the way to the database may be cut once more while a member comes back.
  const audit = await until("the log is read", async () => {
    const found = await runVerifier(folder, ["log", "audit", url, "--trust", "trust.json"])
    return found.exit !== 2 && found
  })
  expect({ exit: audit.exit, verdict: audit.verdict }, audit.stdout).toEqual({ exit: 0, verdict: "LOG VERIFIED" })
}

/** No record that was read back has changed since, and no budget was overspent. */
function checkTables({ runs, movements, windows }: Tables, memory: Memory): void {
  const stored = new Map(runs.map(({ run_id, bundle }) => [run_id, bundle]))
  for (const { run_id, text } of memory.runs.values())
    expect(stored.get(run_id) === text, `run ${run_id} is the one that was read`).toBe(true)
  const admitted = new Map<string, number>()
  for (const { bundle } of memory.runs.values()) {
    const window = bundle.sections.budget_snapshot?.window
    if (window === undefined || bundle.run.outcome_kind === "macc_halt") continue
    const name = `${bundle.run.tenant_id} ${window.window_start}`
    admitted.set(name, (admitted.get(name) ?? 0) + window.tokens)
  }
  for (const [name, tokens] of admitted) expect(tokens, `tokens admitted to ${name}`).toBeLessThan(WINDOW_TOKENS)
  const charged = movements.reduce((sum, { tokens }) => sum + tokens, 0)
  expect(
    windows.reduce((sum, { total }) => sum + total, 0),
    "windows hold what was charged",
  ).toBe(charged)
}

/** Retries under an idempotency key charged nothing twice: the charges are those in the records. */
function checkChargedOnce({ movements }: Tables, memory: Memory): void {
  const shown = [...memory.runs.values()].flatMap(
    ({ bundle }) => bundle.sections.budget_snapshot?.window?.charge_id ?? [],
  )
  expect(movements.map(({ charge_id }) => charge_id).sort(), "each request was charged once").toEqual(shown.sort())
}
