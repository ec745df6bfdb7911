/**
 * The PGlite thread: one PostgreSQL backend in WebAssembly that speaks the wire protocol with the main thread. It has no
 * companion processes. Checkpoints are run here. There is no vacuum: this schema needs none (rows updated in place are pruned as
 * they are read) within two thousand million writing transactions.
 */
import { readFile } from "node:fs/promises"
import { syncBuiltinESMExports } from "node:module"
import { type MessagePort, parentPort } from "node:worker_threads"
import { PGlite, protocol } from "@electric-sql/pglite"
import { DURABLE_START_PARAMS, durableFiles, isWalSegment } from "./durable-files.ts"
import { isStartup, withoutTerminate } from "./frontend-messages.ts"
import type { PgliteReply, PgliteRequest, PgliteStart } from "./messages.ts"

/**
 * WAL segments of 16 MiB written before a checkpoint. PGlite has no checkpointer process: without ours the WAL would grow
 * for ever, and with it the time a start after a crash takes.
 */
const WAL_SEGMENTS_PER_CHECKPOINT = 4

/** Exit status with which PGlite reports an error that the backend handles itself (`POSTGRES_MAIN_LONGJMP`). */
const HANDLED_ERROR_STATUS = 100

/** Clears the session of a connection that was lost. */
const RESET_SESSION = ["ROLLBACK", "DISCARD ALL"]

/** Longest delay of a timer of Node, in milliseconds. Node fires a longer one at once. */
const LONGEST_DELAY_MS = 2 ** 31 - 1

/** Compiled while the main thread still loads its modules. */
const pgliteWasmModule = await WebAssembly.compile(
  await readFile(new URL("pglite.wasm", import.meta.resolve("@electric-sql/pglite"))),
)

/** What file layer and backend reported since the last check. */
const health: { failure?: string; syncs: number; readonly walSegments: Set<string> } = {
  syncs: 0,
  walSegments: new Set(),
}

async function openPglite(start: PgliteStart): Promise<PGlite> {
  if (start.kind === "memory") {
    const { template } = start
    return PGlite.create({ pgliteWasmModule, loadDataDir: new Blob([template]) })
  }
  if (start.kind === "template") stopClockAndRandomness()
  const fs = durableFiles(start.clusterDir, {
    synced: path => {
      health.syncs++
      if (isWalSegment(path)) health.walSegments.add(path)
    },
    failed: () => {
      health.failure = "A file of the data folder could not be synced to disk."
    },
  })
  const pglite = await PGlite.create({ fs, pgliteWasmModule, startParams: [...DURABLE_START_PARAMS] })
  if (health.syncs === 0) throw new Error("PGlite did not sync its files at start.")
  return pglite
}

/**
 * Bounds the delays of this thread's timers. PostgreSQL computes its timers from the machine's clock, so a clock that was stepped back by
 * weeks makes one that Node fires at once; PostgreSQL finds that nothing is due, and sets it again, without a pause between.
 */
function boundTimers(): void {
  const { setTimeout } = globalThis
  Object.assign(globalThis, {
    setTimeout: (callback: (...args: unknown[]) => void, ms = 0, ...args: unknown[]) =>
      setTimeout(callback, Math.min(ms, LONGEST_DELAY_MS), ...args),
  })
}

/** PGlite ignores what the backend throws, even a crash; this records all but ordinary, handled errors. */
function watchForCrashes(pglite: PGlite): void {
  const module = pglite.Module
  const runOnce = module._PostgresMainLoopOnce
  module._PostgresMainLoopOnce = () => {
    try {
      runOnce()
    } catch (error) {
      const handled =
        typeof error === "object" && error !== null && "status" in error && error.status === HANDLED_ERROR_STATUS
      if (!handled) health.failure = "The embedded database stopped."
      throw error
    }
  }
}

/**
 * The backend's whole answer to whole messages. After an error of the files nothing is answered any more, and the database is opened
 * again: PGlite's file layer keeps a name whose file could not be made, as without a descriptor, and refuses to make it for ever
 * (docs/faults.md, "For PGlite").
 */
async function exchange(pglite: PGlite, messages: Uint8Array): Promise<Uint8Array<ArrayBuffer>> {
  if (messages.length === 0) return new Uint8Array()
  const parts: Uint8Array[] = []
  await pglite.execProtocolRawStream(messages, { syncToFs: false, onRawData: part => parts.push(part.slice()) })
  const answer = new Uint8Array(Buffer.concat(parts))
  if (tellsFileError(answer)) health.failure = "A file of the data folder could not be made or read."
  if (health.failure !== undefined) throw new Error(health.failure)
  return answer
}

async function runStatements(pglite: PGlite, statements: readonly string[]): Promise<void> {
  for (const statement of statements) await exchange(pglite, protocol.serialize.query(statement))
}

async function checkpointWhenDue(pglite: PGlite): Promise<void> {
  if (health.walSegments.size < WAL_SEGMENTS_PER_CHECKPOINT || pglite.isInTransaction()) return
  await runStatements(pglite, ["CHECKPOINT"])
  health.walSegments.clear()
}

function serve(port: MessagePort): void {
  boundTimers()
  const reply = (message: PgliteReply, transfer: readonly ArrayBuffer[] = []): void =>
    port.postMessage(message, transfer)
  let opened: PGlite | undefined
  const answer = async (request: PgliteRequest): Promise<void> => {
    if (request.kind === "open") {
      opened = await openPglite(request.start)
      watchForCrashes(opened)
      return reply({ kind: "ready" })
    }
    if (request.kind === "close") {
      await opened?.close()
      return port.close()
    }
    if (opened === undefined) throw new Error("The embedded database is not open.")
    if (isStartup(request.bytes)) await runStatements(opened, RESET_SESSION)
    const bytes = await exchange(opened, withoutTerminate(request.bytes))
    reply({ kind: "backend", bytes }, [bytes.buffer])
    await checkpointWhenDue(opened)
  }
  const fail = (error: unknown): void =>
    reply({ kind: "failed", reason: error instanceof Error ? error.message : "The embedded database stopped." })
  let last = Promise.resolve()
  port.on("message", (request: PgliteRequest) => {
    last = last.then(() => answer(request)).catch(fail)
  })
}

// Backend messages of the PostgreSQL protocol 3.0 (PostgreSQL documentation, "Message Formats"): a type byte, then a length as in frontend-messages.ts.

const ERROR_RESPONSE = "E".charCodeAt(0)
const LENGTH_BYTES = 4
/** The field of an ErrorResponse with its SQLSTATE, of class 58: an error of the files below the database. */
const FILE_ERROR = /\0C58[0-9A-Z]{3}\0/

/** Whether an answer of the backend, which is whole messages, reports an error of the files below the database. */
function tellsFileError(bytes: Uint8Array): boolean {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  for (let at = 0; at + LENGTH_BYTES < bytes.length; at += 1 + view.getUint32(at + 1)) {
    if (bytes[at] !== ERROR_RESPONSE) continue
    const fields = bytes.subarray(at + 1 + LENGTH_BYTES, at + 1 + view.getUint32(at + 1))
    if (FILE_ERROR.test(`\0${Buffer.from(fields).toString("latin1")}`)) return true
  }
  return false
}

// For the thread that makes the template: two makings give the same bytes, so that two machines make the same package.

/** 2026-01-01T00:00:00Z in milliseconds: the time of every row of the write-ahead log. */
const MADE_AT_MS = 1_767_225_600_000

/**
 * Stops the clock and the randomness that a database reads in this thread. What initdb draws is the system identifier, which each database
 * gets anew (own-identifier.ts), and a nonce for passwords, of which an embedded database has none.
 */
function stopClockAndRandomness(): void {
  Date.now = () => MADE_AT_MS
  const randomFillSync = (bytes: Uint8Array): Uint8Array => bytes.fill(7)
  Object.assign(process.getBuiltinModule("node:crypto"), { randomFillSync })
  syncBuiltinESMExports()
}

if (parentPort !== null) serve(parentPort)
