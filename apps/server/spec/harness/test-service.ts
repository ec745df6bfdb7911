/** The real service for tests: the application over a real database and real keys in a folder of its own. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { JsonObject, JsonValue } from "@runseal/canonical"
import { afterAll, afterEach, beforeAll } from "vitest"
import { createApp } from "../../src/app.ts"
import { boot, prepare } from "../../src/boot.ts"
import type { Deps } from "../../src/deps.ts"
import type { Metrics } from "../../src/http/metrics/metrics.ts"
import { type Config, readConfig } from "../../src/options/config.ts"
import { createLogger } from "../../src/process-log.ts"
import type { Standby } from "../../src/sealing/read-standby.ts"
import type { Database } from "../../src/store/driver/database.ts"
import { memoryDatabase } from "../database/reused-databases.ts"
import { checkHouse, checkNewRows } from "./check-house.ts"
import { type TestClock, testClock } from "./clock.ts"
import { expectDescribed } from "./described.ts"
import { type Answer, readAnswer } from "./read-answer.ts"

export type Settings = {
  /** Absent: a database in memory, as a new one. */
  readonly open?: () => Promise<Database>
  /** A standby of the database, for reads. */
  readonly standby?: () => Standby
  /** Absent: nothing is counted. */
  readonly metrics?: Metrics
  readonly clock?: TestClock
  /** Shared by services of one database; absent: a folder of its own. */
  readonly keysDir?: string
  readonly policy?: JsonObject
  readonly config?: Partial<Config>
}

export type TestService = {
  readonly deps: Deps
  readonly db: Database
  readonly clock: TestClock
  readonly config: Config
  /** Every line the process log got. */
  readonly logLines: readonly string[]
  /** The first line of every export that was answered: nobody stores them. */
  readonly statements: string[]
  /** Sends a request to the application. Every answer is checked against the OpenAPI document. */
  readonly request: (path: string, init?: RequestInit) => Promise<Response>
  readonly get: (path: string) => Promise<Answer>
  /** Sends a JSON value. */
  readonly post: (path: string, body: JsonValue) => Promise<Answer>
  /** Sends bytes as they are. */
  readonly postRaw: (path: string, body: BodyInit, headers?: Readonly<Record<string, string>>) => Promise<Answer>
  readonly execute: (body: JsonValue) => Promise<Answer>
  readonly close: () => Promise<void>
}

const JSON_TYPE = { "Content-Type": "application/json" }

/** Suites ask more in a minute than a caller may: the limits are judged by suites of their own, which set them. */
const UNLIMITED = {
  rateLimit: 1_000_000,
  attestRateLimit: 1_000_000,
  permitRateLimit: 1_000_000,
  anonymousRateLimit: 1_000_000,
}

function settledConfig(folder: string, { keysDir, policy, config }: Settings): Config {
  const read = readConfig(["--data-dir", folder, "--region", "eu-test-1"], {})
  if ("ended" in read) throw new Error("the options ask for help")
  const policyFile = join(folder, "policy.json")
  if (policy !== undefined) writeFileSync(policyFile, JSON.stringify(policy))
  return {
    ...read,
    ...UNLIMITED,
    ...(keysDir === undefined ? {} : { keysDir }),
    ...(policy === undefined ? {} : { policyFile }),
    ...config,
  }
}

/** Boots the service. The caller closes it. */
export async function openService(settings: Settings = {}): Promise<TestService> {
  const folder = mkdtempSync(join(tmpdir(), "runseal-spec-"))
  const config = settledConfig(folder, settings)
  const prepared = prepare(config)
  const logLines: string[] = []
  const logger = createLogger("debug", { write: line => void logLines.push(line) })
  const clock = settings.clock ?? testClock()
  const db = await (settings.open ?? memoryDatabase)()
  const { deps, close } = await boot({
    config,
    prepared,
    db,
    standby: settings.standby?.(),
    logger,
    nowMs: clock.nowMs,
    // It is moved, and not stepped, unless a suite says so.
    uptimeMs: clock.uptimeMs ?? clock.nowMs,
    counters: settings.metrics?.counters,
  }).catch(async (error: unknown) => {
    await db.close()
    rmSync(folder, { recursive: true, force: true })
    throw error
  })
  const app = createApp(deps)
  const statements: string[] = []
  const request = async (path: string, init: RequestInit = {}): Promise<Response> => {
    const response = await app.request(path, init)
    const { method = "GET" } = init
    const { status, headers } = response
    const text = await response.clone().text()
    expectDescribed({ method, path, status, headers, text })
    const exported =
      /^\/(runs|admin\/runs|admin\/audit)\/export/.test(path) &&
      headers.get("content-type") === "application/x-ndjson" &&
      text !== ""
    if (exported) statements.push(text.slice(0, text.indexOf("\n")))
    return response
  }
  const send = async (path: string, init?: RequestInit): Promise<Answer> => readAnswer(await request(path, init))
  const postRaw: TestService["postRaw"] = (path, body, headers = JSON_TYPE) =>
    send(path, { method: "POST", headers, body })
  const post: TestService["post"] = (path, body) => postRaw(path, JSON.stringify(body))
  return {
    deps,
    db,
    clock,
    config,
    logLines,
    statements,
    request,
    get: path => send(path),
    post,
    postRaw,
    execute: body => post("/execute", body),
    close: async () => {
      await close()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** A service for all tests of a suite, with settings made when it opens. After each test what is new is checked, after the last one everything. */
export function standingService(settings: () => Settings = () => ({})): () => TestService {
  let service: TestService | undefined
  const standing = (): TestService => {
    if (service === undefined) throw new Error("the service stands during tests only")
    return service
  }
  beforeAll(async () => {
    service = await openService(settings())
  })
  afterEach(() => checkNewRows(standing()))
  afterAll(async () => {
    if (service === undefined) return
    await checkHouse(service).finally(service.close)
  })
  return standing
}
