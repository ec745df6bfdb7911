/**
 * The yardstick: the same service with one transaction a request instead of groups. Charge and record commit together, as one
 * would write it first; pipeline, log, self-check, tables and what is durable before the answer are the same. Who calls and how
 * often is looked up in groups as in the service, which favours this design. Kept in the bench only.
 * Arguments: how many requests may have a transaction open, then the options of the server.
 */
import { rootOf } from "@runseal/core/transparency-log/compact-range"
import { publicCheckpoint } from "@runseal/server/anchor/embedded-log"
import { headsOf } from "@runseal/server/anchor/heads-folder"
import { readKeys } from "@runseal/server/anchor/key-file"
import type { LogFrontier } from "@runseal/server/anchor/log-builder"
import { createApp } from "@runseal/server/app"
import { boot, pipelineOf, prepare } from "@runseal/server/boot"
import { readConfig } from "@runseal/server/config"
import type { Deps } from "@runseal/server/deps"
import { openExecution } from "@runseal/server/execution"
import { listen } from "@runseal/server/http/listen"
import type { Draft } from "@runseal/server/pipeline/draft"
import type { Submission } from "@runseal/server/pipeline/submission"
import { openHeadGuard } from "@runseal/server/sealing/head-guard"
import type { SealedRun } from "@runseal/server/sealing/seal-batch"
import { commitBatch, type SealerContext } from "@runseal/server/sealing/sealer"
import { openVerification } from "@runseal/server/sealing/verification"
import { type Database, openDatabase } from "@runseal/server/store/database"
import { readHead } from "@runseal/server/store/log-store"
import type { Tx } from "@runseal/server/store/session"
import { chargeWindows } from "@runseal/server/store/tenant-windows"
import { pino } from "pino"

/** Runs at most `lanes` works at once, the others in the order they came. */
function inLanes(lanes: number): <T>(work: () => Promise<T>) => Promise<T> {
  const waiting: (() => void)[] = []
  let busy = 0
  return async work => {
    if (busy === lanes) await new Promise<void>(resolve => waiting.push(resolve))
    else busy++
    try {
      return await work()
    } finally {
      const next = waiting.shift()
      if (next === undefined) busy--
      else next()
    }
  }
}

/** A database whose every statement belongs to a transaction that is open already. */
const within = (db: Database, tx: Tx): Database => ({
  ...db,
  read: work => work(tx),
  transaction: work => work(tx),
  transactionFrom: async (open, work) => work(tx, await open(tx)),
  write: statement => statement(tx),
})

const [lanes = "1", ...options] = process.argv.slice(2)
const config = readConfig(options, {})
if ("ended" in config || config.databaseUrl === undefined) throw new Error("the yardstick needs a database server")
const logger = pino({ level: config.logLevel })
const prepared = prepare(config)
const db = await openDatabase({ kind: "postgres", url: config.databaseUrl })
const { deps, close } = await boot({ config, prepared, db, logger, nowMs: Date.now })
const keys = readKeys(config.keysDir)
if (keys === undefined) throw new Error("the service has made its keys")
const heads = openHeadGuard({ ...headsOf(config, db), nowMs: Date.now })
await heads.begin(db)

const reportFault = (failure: Error): void => logger.error({ err: failure }, "a stage failed")
const verification = openVerification(deps.trustDocument)
const sealing: SealerContext = {
  db,
  log: { keys, origin: deps.logOrigin },
  epoch: (await readHead(db)).epoch,
  verify: verification.verify,
  nowMs: Date.now,
  reportFault,
  publicCheckpoint: (size, root) => publicCheckpoint(keys, deps.logOrigin, size, root),
  ...heads,
  reportFailure: error => logger.error({ err: error }, "a run was not sealed"),
  reportSealed: () => {},
  reportCommitted: () => {},
}
const pipeline = pipelineOf(config, prepared, deps.sourceRevision, reportFault)

/** Where the log stands after the last run; the lock on its head says whether that is still so. */
let known: LogFrontier | undefined
let remembered = 0

async function sealIn(tx: Tx, draft: Draft): Promise<SealedRun> {
  // What is known is looked at under the lock: whoever waited for it finds what the last one left.
  await tx.sql`select size from log_head for update`
  const batch = await commitBatch({ drafts: [draft], attestations: [] }, known, { ...sealing, db: within(db, tx) })
  known = batch.log.frontier()
  const [run] = batch.runs
  if (run === undefined) throw new Error("the run was refused")
  return run
}

const executeIn = (tx: Tx, submission: Submission): Promise<SealedRun> => {
  const own = within(db, tx)
  const { execute } = openExecution({
    db: own,
    nowMs: Date.now,
    pipeline,
    reviewer: prepared.reviewer,
    signal: new AbortController().signal,
    ledger: {
      charge: async charge => {
        const [made] = await chargeWindows(own, [charge])
        if (made === undefined) throw new Error("a charge has a result")
        return made
      },
    },
    sealer: {
      seal: draft => sealIn(tx, draft),
      attest: () => Promise.reject(new Error("no attestations here")),
      state: () => Promise.reject(new Error("no exports here")),
      waiting: () => 0,
      close: async () => {},
    },
  })
  return execute(submission)
}

const lane = inLanes(Number(lanes))
const execute: Deps["execute"] = submission =>
  lane(async () => {
    const run = await db.transaction(tx => executeIn(tx, submission))
    // As in the service, the head is durable beside the keys before the answer; an older one never replaces a newer.
    const frontier = known
    if (frontier !== undefined && frontier.range.size > remembered) {
      remembered = frontier.range.size
      await heads.rememberHead(frontier.range.size, rootOf(frontier.range))
    }
    return run
  })

const listening = await listen({ fetch: createApp({ ...deps, execute }).fetch, host: config.host, port: config.port })
process.stdout.write(`${JSON.stringify({ url: listening.url, msg: "listening" })}\n`)
process.once("SIGTERM", async () => {
  await listening.stop()
  await heads.close()
  await verification.close()
  await close()
})
