/** The server process: options, start, signals, stop. */
import { join } from "node:path"
import { serve } from "@hono/node-server"
import { pino } from "pino"
import { createApp } from "./app.ts"
import { boot, prepare, type Service } from "./boot.ts"
import { type Config, readConfig } from "./config.ts"
import { mintAdminKey } from "./mint-admin-key.ts"
import { StartupError } from "./startup-error.ts"
import { type Database, openDatabase } from "./store/database.ts"

/** Longest a stop waits for answers under way, in milliseconds. */
const STOP_DEADLINE_MS = 30_000

/** How often a stop looks for connections that have turned idle, in milliseconds. */
const SWEEP_MS = 50

type Listening = { readonly url: string; readonly stop: () => Promise<void> }

function listen(service: Service, config: Config): Promise<Listening> {
  return new Promise((resolve, reject) => {
    const { fetch } = createApp(service.deps)
    const server = serve({ fetch, port: config.port, hostname: config.host }, ({ port, address, family }) => {
      const host = family === "IPv6" ? `[${address}]` : address
      resolve({ url: `http://${host}:${port}`, stop })
    })
    server.once("error", cause => reject(new StartupError(`cannot listen on ${config.host}:${config.port}`, { cause })))
    const stop = (): Promise<void> =>
      new Promise(done => {
        const deadline = setTimeout(
          () => "closeAllConnections" in server && server.closeAllConnections(),
          STOP_DEADLINE_MS,
        )
        // A connection that is kept alive turns idle with its last answer; it must not hold the stop up.
        const sweep = setInterval(() => "closeIdleConnections" in server && server.closeIdleConnections(), SWEEP_MS)
        server.close(() => {
          clearTimeout(deadline)
          clearInterval(sweep)
          done()
        })
      })
  })
}

const openStore = ({ databaseUrl, dataDir }: Config, say: (sentence: string) => void): Promise<Database> =>
  databaseUrl === undefined
    ? openDatabase({ kind: "pglite", dataDir: join(dataDir, "db") }, say)
    : openDatabase({ kind: "postgres", url: databaseUrl }, say)

const toOperator = (sentence: string): void => void process.stderr.write(`runseal: ${sentence}\n`)

async function main(): Promise<void> {
  const config = readConfig(process.argv.slice(2), process.env)
  if ("ended" in config) return
  if (config.mintAdminKey !== undefined) return mintAdminKey(await openStore(config, toOperator), config.mintAdminKey)
  const logger = pino({ level: config.logLevel })
  // Refused before a database is made.
  const prepared = prepare(config)
  const db = await openStore(config, sentence => logger.info(sentence))
  const service = await boot({ config, prepared, db, logger, nowMs: Date.now }).catch(async (error: unknown) => {
    await db.close()
    throw error
  })
  const listening = await listen(service, config).catch(async (error: unknown) => {
    await service.close()
    throw error
  })
  logger.info({ url: listening.url, log: service.deps.logOrigin }, "listening")
  let stopping = false
  const stop = async (signal: string): Promise<void> => {
    if (stopping) return
    stopping = true
    logger.info({ signal }, "stopping")
    await listening.stop()
    await service.close()
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
  // A refusal is a sentence; anything else is a bug, and its trace belongs to the operator.
  process.stderr.write(error instanceof StartupError ? `runseal: ${error.message}\n` : `runseal: ${String(error)}\n`)
  process.exitCode = 1
}
