/** Opens the database the store works on: embedded in a folder, embedded in memory, or a PostgreSQL server. */

import { randomInt } from "node:crypto"
import { mkdirSync } from "node:fs"
import { join } from "node:path"
import type { Worker } from "node:worker_threads"
import type postgres from "postgres"
import { whenSlow } from "../../options/slow-step.ts"
import { type Connection, type ConnectionPool, createConnectionPool } from "./connection-pool.ts"
import { createGroupCommit } from "./group-commit.ts"
import { knownMigrations, migrateDatabase } from "./migrate.ts"
import { expand } from "./pglite/cluster-archive.ts"
import { lockFolder, prepareCluster, refuseMissing } from "./pglite/folder.ts"
import { type PgliteThread, startPglite } from "./pglite/pglite-thread.ts"
import { ensureTemplate, templateName } from "./pglite/template.ts"
import { pgliteClient } from "./postgres-client.ts"
import type { Notice } from "./server-checks.ts"
import { type IfMissing, openServerPool, openStandbyPool, type ServerPlace } from "./server-start.ts"
import {
  type Opening,
  runRead,
  runStatement,
  runTransaction,
  runTransactionFrom,
  type Session,
  type Sink,
  type Source,
  type Tx,
  type Work,
} from "./session.ts"
import { StoreError } from "./store-errors.ts"
import { waitWithin } from "./wait-limit.ts"

type DatabaseOptions =
  /** `loaded` is a PGlite thread that waits for its database. */
  | { readonly kind: "pglite"; readonly dataDir: string; readonly loaded?: Worker | undefined }
  /** Gone with the process: for tests and trials. */
  | { readonly kind: "memory" }
  | ({ readonly kind: "postgres" } & ServerPlace)

/** The embedded database has one connection: inside `read` or `transaction` nothing may wait for another one. */
export type Database = Source & {
  readonly kind: DatabaseOptions["kind"]
  /** Reads of few rows by their keys, at the start of a request: with a shorter timeout. */
  readonly quick: Source
  /** One statement by itself. */
  readonly sql: <Rows extends readonly object[] = postgres.Row[]>(
    text: TemplateStringsArray,
    ...values: readonly (string | number | Uint8Array)[]
  ) => Promise<Rows>
  /**
   * Commits what `work` does when it resolves and rolls back when it rejects.
   * @throws StoreError, or whatever else `work` rejected with
   */
  readonly transaction: <T>(work: (tx: Tx) => Promise<T>) => Promise<T>
  /**
   * The same, with first statements that are sent together with BEGIN: `work` is called with their results. If BEGIN alone fails,
   * each of them is a transaction of its own: so they may only read, lock, or write rows that mean the same as none.
   */
  readonly transactionFrom: <First, T>(open: Opening<First>, work: Work<First, T>) => Promise<T>
  /**
   * One statement that writes, in a transaction of its own.
   * @throws StoreError "outcome_unknown" when its commit was not confirmed
   */
  readonly write: Sink["write"]
  /**
   * The same for counts that a crash may lose and that no answer shows: the statement sets synchronous_commit off, and waits for
   * no disk and no standby.
   * @throws StoreError; never "outcome_unknown"
   */
  readonly count: Sink["write"]
  /** See CommitGate. An answer with a value that was stored earlier is sent after a confirmation. */
  readonly confirm: CommitGate["confirm"]
  readonly close: () => Promise<void>
}

/**
 * Opens a database and migrates it.
 * @throws StartupError in one sentence when it cannot be used
 */
export async function openDatabase(
  options: DatabaseOptions,
  log: Notice = () => {},
  ifMissing: IfMissing = "make",
): Promise<Database> {
  switch (options.kind) {
    case "pglite":
      if (ifMissing === "refuse") refuseMissing(options.dataDir)
      return openFolder(options, log)
    case "memory":
      return openMemory()
    case "postgres":
      return openServer(options, log, ifMissing)
  }
}

/** Opens a standby of the server, for reads alone. */
export const openStandby = (place: ServerPlace): Pick<Database, "read" | "close"> =>
  databaseOver("postgres", openStandbyPool(place), async () => {})

async function openServer(place: ServerPlace, log: Notice, ifMissing: IfMissing): Promise<Database> {
  const pool = await openServerPool(place, log, ifMissing)
  return databaseOver("postgres", pool, async () => {}, createCommitGate(pool))
}

type InFolder = Extract<DatabaseOptions, { readonly kind: "pglite" }>

async function openFolder({ dataDir, loaded }: InFolder, log: Notice): Promise<Database> {
  const lock = lockFolder(dataDir)
  try {
    const making = prepareCluster(dataDir, readOrMakeTemplate)
    const clusterDir = await whenSlow(making, () => log(`Making the database in ${dataDir}.`))
    const thread = await startPglite({ kind: "folder", clusterDir }, log, loaded)
    return await openThread("pglite", thread, lock.release)
  } catch (error) {
    lock.release()
    throw error
  }
}

async function openMemory(): Promise<Database> {
  const thread = await startPglite({ kind: "memory", template: expand(await readOrMakeTemplate()) })
  return openThread("memory", thread, () => {})
}

/** The template of this release's database. In a checkout whose build is older than its migrations it is made, which takes some seconds. */
export const readOrMakeTemplate = (): Promise<Uint8Array> =>
  ensureTemplate(templateName(knownMigrations()), makeTemplate)

/** Makes a closed, migrated cluster in a new folder. @returns the folder of the cluster */
export async function makeTemplate(folder: string): Promise<string> {
  const clusterDir = join(folder, "postgres")
  mkdirSync(clusterDir)
  const made = await openThread("pglite", await startPglite({ kind: "template", clusterDir }), () => {})
  await made.close()
  return clusterDir
}

async function openThread(kind: Database["kind"], thread: PgliteThread, ended: () => void): Promise<Database> {
  const pool = createConnectionPool(1, pgliteClient(thread.connect))
  try {
    await pool.lease(migrateDatabase)
  } catch (error) {
    await thread.close()
    throw error
  }
  return databaseOver(kind, pool, async () => {
    await thread.close()
    ended()
  })
}

/** The outcome of a count does not matter once it failed: the request that was to be counted is refused. */
const uncounted = (error: unknown): never => {
  const unknown = error instanceof StoreError && error.code === "outcome_unknown"
  throw unknown ? new StoreError("unavailable", { late: error.late }) : error
}

/** The database behind a pool of connections. @param ended called once the pool is closed */
export function databaseOver(
  kind: Database["kind"],
  pool: ConnectionPool,
  ended: () => Promise<void>,
  { pass, confirm }: CommitGate = OPEN_GATE,
): Database {
  const reading =
    (bound: "read" | "commit"): Database["read"] =>
    work =>
      waitWithin(
        pool.lease(connection => runRead(connection, connection.bounds[bound], work)),
        () => new StoreError("unavailable"),
      )
  const read = reading("read")
  const committing = <T>(work: (connection: Connection) => Promise<T>): Promise<T> =>
    waitWithin(
      pass(() => pool.lease(work)),
      () => new StoreError("outcome_unknown"),
    )
  return {
    kind,
    read,
    quick: { read: reading("commit") },
    sql: (text, ...values) => read(async ({ sql }) => sql(text, ...values)),
    transaction: work => committing(connection => runTransaction(connection, work)),
    transactionFrom: (open, work) => committing(connection => runTransactionFrom(connection, open, work)),
    write: statement => committing(connection => runStatement(connection, statement)),
    count: statement => pool.lease(connection => runStatement(connection, statement)).catch(uncounted),
    confirm,
    close: async () => {
      await pool.close()
      await ended()
    },
  }
}

// Refuses writes while the database does not confirm commits, for example because its synchronous standby is gone. A COMMIT that
// timed out here still waits in the server and holds its locks and its connection there, so that retries would use up all of them.
// So after a commit that was not confirmed, writes wait for the confirmation of an empty commit, of which one at a time is under
// way. Decision 0112.

type CommitGate = {
  /**
   * Does work that commits.
   * @throws StoreError "unavailable" when commits are not confirmed, and then `work` was not called; otherwise what it rejects with
   */
  readonly pass: <T>(work: () => Promise<T>) => Promise<T>
  /**
   * Resolves once everything that could be read at the time of the call is as durable as a confirmed commit. A commit whose
   * wait for a standby was cancelled, or ended by a crash, can be read before it is durable.
   * @throws StoreError "unavailable" when it is not known to be
   */
  readonly confirm: () => Promise<void>
}

/** For a database without standbys: what can be read is durable. */
const OPEN_GATE: CommitGate = { pass: work => work(), confirm: async () => {} }

/** First half of the keys of the advisory locks here: "rscp" in ASCII, read as a number; the second half is the process's own. */
const CONFIRM_LOCK = 0x72736370
const MAX_INT4 = 0x7fff_ffff
/** Most callers that may wait for a confirmation; one more is refused at once. */
const MAX_WAITING = 4096

function createCommitGate(pool: Pick<ConnectionPool, "lease">): CommitGate {
  const own = randomInt(MAX_INT4)
  let unconfirmed = false
  const noteUnconfirmed = (error: unknown): void => {
    unconfirmed ||= error instanceof StoreError && error.code === "outcome_unknown" && error.late
  }
  const confirmations = createGroupCommit<true, true>(
    async batch => {
      const position = await pool
        .lease(connection => runStatement(connection, session => commitNothing(session, own)))
        .catch((error: unknown) => {
          noteUnconfirmed(error)
          throw error instanceof StoreError ? new StoreError("unavailable", { late: true }) : error
        })
      if (position === null) throw new StoreError("unavailable", { late: true })
      unconfirmed = false
      return batch
    },
    { batch: MAX_WAITING, waiting: MAX_WAITING, readsOnly: true },
  )
  const confirm = async (): Promise<void> => void (await confirmations.submit(true))
  return {
    pass: async work => {
      if (unconfirmed) await confirm()
      try {
        return await work()
      } catch (error) {
        noteUnconfirmed(error)
        throw error
      }
    },
    confirm,
  }
}

/**
 * Commits a message without receivers, which the write-ahead log holds after everything that was committed before.
 * @returns its position; null while an earlier one still waits for its standby and so holds the lock
 */
async function commitNothing({ sql }: Session, own: number): Promise<string | null> {
  const [row] = await sql<{ position: string | null }[]>`
    select case when pg_try_advisory_xact_lock(${CONFIRM_LOCK}::int, ${own}::int)
      then pg_logical_emit_message(true, 'runseal', '')::text end as position`
  return row?.position ?? null
}
