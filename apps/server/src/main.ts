/** The server process: options, start, signals, stop. */
import { join } from "node:path"
import { createApp } from "./app.ts"
import { boot, prepare, type Service } from "./boot.ts"
import { type Listening, listen } from "./front/http/listen.ts"
import { createMetrics, listenForMetrics, type Metrics } from "./front/metrics/metrics.ts"
import { runCommand } from "./operator-commands.ts"
import { type Config, readConfig } from "./options/config.ts"
import { readSecretFiles, removeSecrets, SECRET_VARIABLES } from "./options/secrets.ts"
import { StartupError } from "./options/startup-error.ts"
import { createLogger, errorFacts } from "./process-log.ts"
import { type Database, openDatabase } from "./store/driver/database.ts"

const openStore = ({ databaseUrl, dataDir }: Config, say: (sentence: string) => void): Promise<Database> =>
  databaseUrl === undefined
    ? openDatabase({ kind: "pglite", dataDir: join(dataDir, "db") }, say)
    : openDatabase({ kind: "postgres", url: databaseUrl }, say)

const toOperator = (sentence: string): void => void process.stderr.write(`runseal: ${sentence}\n`)

type Doors = { readonly callers: Listening; readonly metrics: Listening | undefined }

/** The metrics first: whoever finds the service listening finds them too. */
async function openDoors(
  { host, port, metricsHost, metricsPort }: Config,
  service: Service,
  metrics?: Metrics,
): Promise<Doors> {
  const { deps } = service
  metrics?.read({ waiting: deps.sealingQueue, readiness: deps.readiness, outside: deps.outside?.standing })
  const watched =
    metrics === undefined || metricsPort === undefined
      ? undefined
      : await listenForMetrics(metrics, metricsHost, metricsPort)
  try {
    return { callers: await listen({ fetch: createApp(deps).fetch, host, port }), metrics: watched }
  } catch (error) {
    await watched?.stop()
    throw error
  }
}

async function main(): Promise<void> {
  readSecretFiles(process.env)
  const config = readConfig(process.argv.slice(2), process.env)
  // Read once: whatever this process starts, a report that Node writes of it, and who lists its environment, has them no more.
  for (const name of removeSecrets(process.env, SECRET_VARIABLES))
    toOperator(`${name} stays readable in /proc/${process.pid}/environ; give ${name}_FILE in its place`)
  if ("ended" in config) return
  if (await runCommand(config, () => openStore(config, toOperator))) return
  const logger = createLogger(config.logLevel)
  // Refused before a database is made.
  const prepared = prepare(config)
  const db = await openStore(config, sentence => logger.info(sentence))
  const metrics = config.metricsPort === undefined ? undefined : createMetrics()
  const service = await boot({ config, prepared, db, logger, nowMs: Date.now, counters: metrics?.counters }).catch(
    async (error: unknown) => {
      await db.close()
      throw error
    },
  )
  const doors = await openDoors(config, service, metrics).catch(async (error: unknown) => {
    await service.close()
    throw error
  })
  if (doors.metrics !== undefined) logger.info({ url: doors.metrics.url }, "metrics")
  logger.info({ url: doors.callers.url, log: service.deps.logOrigin }, "listening")
  let stopping = false
  const stop = async (signal: string): Promise<void> => {
    if (stopping) return
    stopping = true
    logger.info({ signal }, "stopping")
    await doors.callers.stop()
    await service.close()
    await doors.metrics?.stop()
    logger.info("stopped")
  }
  for (const signal of ["SIGINT", "SIGTERM"] as const)
    process.on(signal, () => {
      stop(signal).catch((error: unknown) => {
        logger.error({ err: error }, "the stop failed")
        process.exitCode = 1
      })
    })
}

try {
  await main()
} catch (error) {
  // A refusal is a sentence; anything else is a bug, told as the process log tells one.
  toOperator(error instanceof StartupError ? error.message : `a bug: ${JSON.stringify(errorFacts(error))}`)
  process.exitCode = 1
}
