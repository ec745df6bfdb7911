/** The service of a process: its database, its parts, its listeners; signals and the stop. Or a command that runs instead. */
import { join } from "node:path"
import type { Worker } from "node:worker_threads"
import { warmConsole } from "@runseal/console"
import { createApp } from "./app.ts"
import { boot, prepare, type Service } from "./boot.ts"
import { CONNECTION_LIMITS, type Listening, listen, tryToListen } from "./http/listen.ts"
import { createMetrics, listenForMetrics, type Metrics } from "./http/metrics/metrics.ts"
import { runCommand } from "./operator-commands.ts"
import { type Config, originWarning } from "./options/config.ts"
import { misspeltVariables } from "./options/misspelt-variables.ts"
import { whenSlow } from "./options/slow-step.ts"
import type { TracesSettings } from "./options/traces-settings.ts"
import { readDeliveries } from "./outbound/deliveries/destination-states.ts"
import { warmUp } from "./policy/signature-library.ts"
import { createLogger, errorFacts } from "./process-log.ts"
import { MACHINE_CLOCK } from "./sealing/log-clock.ts"
import { type Database, openDatabase, openStandby } from "./store/driver/database.ts"
import type { IfMissing } from "./store/driver/server-start.ts"
import { StoreError } from "./store/driver/store-errors.ts"
import type { Telemetry } from "./telemetry.ts"
import type { Traces } from "./traces/open-traces.ts"

/** What the process has before the service is loaded. */
export type Start = {
  readonly config: Config
  readonly traces: TracesSettings | undefined
  /** A PGlite thread that waits for its database, for an embedded one. */
  readonly loaded: Worker | undefined
  /** The process that started this one. */
  readonly parent: number
  readonly printToOperator: (sentence: string) => void
}

/** Below it, the start warns: raise the limit of file descriptors. docs/deployment.md, "File descriptors". */
const FEW_CONNECTIONS = 1000

function openStore(
  { config: { database, dataDir }, loaded }: Start,
  log: (sentence: string) => void,
  ifMissing: IfMissing = "make",
): Promise<Database> {
  const place =
    database === undefined
      ? ({ kind: "pglite", dataDir: join(dataDir, "db"), loaded } as const)
      : ({ kind: "postgres", ...database } as const)
  return openDatabase(place, log, ifMissing)
}

/** Traces of this service, whose packages are loaded only for them. */
async function startTraces(settings: TracesSettings | undefined, telemetry: Telemetry): Promise<Traces | undefined> {
  if (settings === undefined) return undefined
  const { openTraces } = await import("./traces/open-traces.ts")
  return openTraces(settings, telemetry)
}

type Listeners = { readonly callers: Listening; readonly metrics: Listening | undefined }

/** Starts the metrics first, so that they are there as soon as the service answers. */
async function startListening(
  { host, port, metricsHost, metricsPort, baseUrl, keepAliveTimeout }: Config,
  service: Service,
  metrics?: Metrics,
): Promise<Listeners> {
  const { deps } = service
  metrics?.read({
    waiting: deps.sealingQueue,
    readiness: deps.readiness,
    openPermits: deps.permitEnds.openPermits,
    outside: deps.outside?.standing,
    deliveries: () => readDeliveries(deps.db, deps.nowMs()),
  })
  const watched =
    metrics === undefined || metricsPort === undefined
      ? undefined
      : await listenForMetrics(metrics, { metricsHost, port: metricsPort, baseUrl })
  try {
    const callers = await listen({
      fetch: createApp(deps).fetch,
      host,
      port,
      baseUrl,
      limits: { ...CONNECTION_LIMITS, keepAliveMs: 1000 * keepAliveTimeout },
      reportMisfit: deps.telemetry.clientMisfit,
    })
    return { callers, metrics: watched }
  } catch (error) {
    await watched?.stop()
    throw error
  }
}

/** @throws StartupError for a port that cannot be used */
async function refuseUsedPorts({ host, port, metricsHost, metricsPort }: Config): Promise<void> {
  await tryToListen(host, port)
  if (metricsPort !== undefined) await tryToListen(metricsHost, metricsPort)
}

/** @throws StartupError, or what sentenceFor says */
export async function serve(start: Start): Promise<void> {
  const { config, parent, printToOperator } = start
  if (await runCommand(config, ifMissing => openStore(start, printToOperator, ifMissing))) return
  const logger = createLogger(config.logLevel)
  // Both refuse a start before anything is made.
  const prepared = prepare(config)
  await refuseUsedPorts(config)
  const warning = originWarning(config)
  if (warning !== undefined) logger.warn(warning)
  if (CONNECTION_LIMITS.connections < FEW_CONNECTIONS)
    logger.warn({ connections: CONNECTION_LIMITS.connections }, "few file descriptors: further connections are closed")
  for (const misspelt of misspeltVariables(process.env)) logger.warn(misspelt)
  const opening = openStore(start, sentence => logger.info(sentence))
  const db = await whenSlow(opening, () => logger.info("Waiting until the database is open."))
  const standby =
    config.database?.readUrl === undefined
      ? undefined
      : openStandby({ ...config.database, url: config.database.readUrl })
  const metrics = config.metricsPort === undefined ? undefined : createMetrics()
  const service = await boot({
    config,
    prepared,
    db,
    standby,
    logger,
    ...MACHINE_CLOCK,
    counters: metrics?.counters,
  }).catch(async (error: unknown) => {
    await db.close()
    throw error
  })
  const traces = await startTraces(start.traces, service.deps.telemetry)
  const listeners = await startListening(config, service, metrics).catch(async (error: unknown) => {
    await service.close()
    throw error
  })
  if (listeners.metrics !== undefined) logger.info({ url: listeners.metrics.url }, "metrics")
  logger.info({ url: listeners.callers.url, log: service.deps.logOrigin }, "listening")
  // The first scan would take half a second longer, and the first page of the console.
  void warmUp(prepared.library)
  void warmConsole()
  let stopping = false
  const stop = async (signal: string): Promise<void> => {
    if (stopping) return
    stopping = true
    logger.info({ signal }, "stopping")
    // A request that waits for the log would hold up the stop.
    service.deps.growth.end()
    await listeners.callers.stop()
    await service.close()
    await traces?.close()
    await listeners.metrics?.stop()
    logger.info("stopped")
  }
  const stopFor = (reason: string): void => {
    stop(reason).catch((error: unknown) => {
      logger.error({ err: error }, "the stop failed")
      process.exitCode = 1
    })
  }
  process.on("SIGHUP", () => void service.reloadPolicy())
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => stopFor(signal))
  if (NPM_STARTS.has(process.env.npm_lifecycle_event ?? "")) whenParentEnds(parent, () => stopFor("npm ended"))
}

/** Commands of npm that run the service in the foreground: `npm start` and `npx`. */
const NPM_STARTS: ReadonlySet<string> = new Set(["start", "npx"])
const PARENT_POLL_MS = 1000

/** npm that is killed, and the shell of npx that gets a signal, end without their child. Polled: no signal reports the end of a parent. */
function whenParentEnds(parent: number, stop: () => void): void {
  const timer = setInterval(() => {
    if (process.ppid === parent) return
    clearInterval(timer)
    stop()
  }, PARENT_POLL_MS)
  timer.unref()
}

const LOCKED = "Another process keeps a lock in the database; try again."

/** The sentence for the operator: a database that is out of reach is one; anything else is a bug, printed as the process log prints one. */
export function sentenceFor(error: unknown): string {
  if (error instanceof StoreError && error.sqlstate === "55P03") return LOCKED
  if (error instanceof StoreError && ["unavailable", "outcome_unknown"].includes(error.code)) return error.message
  return `a bug: ${JSON.stringify(errorFacts(error))}`
}
