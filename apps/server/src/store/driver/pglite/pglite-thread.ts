/** The main thread's side of the PGlite thread: a stream that postgres.js takes for a socket. */
import { existsSync } from "node:fs"
import { dirname, join } from "node:path"
import { Duplex } from "node:stream"
import type { Worker } from "node:worker_threads"
import { StartupError } from "../../../options/startup-error.ts"
import { connectionClosed } from "../store-errors.ts"
import { damaged, lacksRoom, noRoom } from "./folder-trouble.ts"
import { loadPglite } from "./load-pglite.ts"
import type { PgliteReply, PgliteRequest, PgliteStart } from "./messages.ts"

const LOST = "The embedded database stopped."

/** A thread that was lost is started anew at most this often, in milliseconds. */
export const RESTART_EVERY_MS = 1000

export type PgliteThread = {
  /** A connection to the one backend. A second one may follow when the first has closed; it starts with a clean session. */
  readonly connect: () => Duplex
  /** Shuts the database down cleanly and ends the thread. */
  readonly close: () => Promise<void>
}

/**
 * Starts the thread and waits until its database is open. When a database in a folder is lost, as by a disk that is full,
 * everything under way fails; the next connection starts it anew on the same files, and its recovery brings back whatever was
 * committed. One in memory stays lost.
 * @param log called when the database is lost, and with the result of starting it anew
 * @param loaded a thread that waits for its database; absent: a new one
 * @throws StartupError when it cannot be opened
 */
export async function startPglite(
  start: PgliteStart,
  log: (sentence: string) => void = () => {},
  loaded?: Worker,
): Promise<PgliteThread> {
  let thread = await startThread(start, loaded)
  let triedAt = performance.now()
  let starting: Promise<Thread> | undefined

  const restart = async (): Promise<Thread> => {
    await thread.ended
    if (isMade(start)) thread = await startThread(start).catch(() => thread)
    log(`The embedded database was lost${thread.isLost() ? " and cannot be opened now." : "; it is open again."}`)
    // Counted from the end of an attempt: a request between two of them is refused at once.
    triedAt = performance.now()
    starting = undefined
    return thread
  }
  const current = (): Promise<Thread> => {
    if (thread.isLost() && performance.now() - triedAt >= RESTART_EVERY_MS) starting ??= restart()
    return starting ?? Promise.resolve(thread)
  }
  return {
    connect: () => {
      const connected = current()
      return pgliteSocket(async bytes => (await connected).ask({ kind: "frontend", bytes }))
    },
    close: async () => (await (starting ?? thread)).close(),
  }
}

/** In a folder that is gone, as with its disk, PGlite would make a new database, which is not the one that was lost. */
const isMade = (start: PgliteStart): boolean =>
  start.kind === "folder" && existsSync(join(start.clusterDir, "PG_VERSION"))

type Thread = {
  /** Resolves with the reply; "failed" when the thread is lost. */
  readonly ask: (request: PgliteRequest) => Promise<PgliteReply>
  readonly isLost: () => boolean
  /** Resolves when nothing of the thread is left. */
  readonly ended: Promise<void>
  readonly close: () => Promise<void>
}

async function startThread(start: PgliteStart, worker = loadPglite()): Promise<Thread> {
  worker.ref()
  const ended = new Promise<void>(resolve => worker.once("exit", () => resolve()))
  const send = (request: PgliteRequest): void => worker.postMessage(request)
  // Replies come in the order of the requests; a lost thread answers everything that still waits.
  const waiting: ((reply: PgliteReply) => void)[] = []
  let lost: PgliteReply | undefined
  const lose = (reason: string): void => {
    lost ??= { kind: "failed", reason }
    for (const take of waiting.splice(0)) take(lost)
  }
  const next = (): Promise<PgliteReply> =>
    new Promise(resolve => (lost === undefined ? waiting.push(resolve) : resolve(lost)))
  worker.on("message", (reply: PgliteReply) => {
    if (reply.kind !== "failed") return waiting.shift()?.(reply)
    lose(reply.reason)
    // A crashed backend leaves handles behind that would keep the thread alive.
    void worker.terminate()
  })
  worker.on("error", () => lose(LOST))
  worker.once("exit", () => lose(LOST))

  send({ kind: "open", start })
  const ready = await next()
  if (ready.kind === "failed") throw new StartupError(refusal(start, ready.reason))
  return {
    ask: request => {
      send(request)
      return next()
    },
    isLost: () => lost !== undefined,
    ended,
    close: async () => {
      send({ kind: "close" })
      await ended
    },
  }
}

/** PostgreSQL's own words stay inside: what matters is whether there is room, and where the backup belongs. */
function refusal(start: PgliteStart, reason: string): string {
  if (start.kind === "memory") return `The embedded database cannot be opened: ${reason}`
  const dataDir = dirname(start.clusterDir)
  return lacksRoom(dataDir) ? noRoom(dataDir) : damaged(dataDir)
}

/** A stream with what postgres.js asks of a socket: it reads `readyState` when it ends a connection. */
function pgliteSocket(ask: (bytes: Uint8Array) => Promise<PgliteReply>): Duplex {
  const exchange = (bytes: Uint8Array, done: (error?: Error) => void): void => {
    void ask(bytes).then(reply => {
      if (reply.kind !== "backend") return done(connectionClosed())
      const { buffer, byteOffset, byteLength } = reply.bytes
      if (byteLength > 0) socket.push(Buffer.from(buffer, byteOffset, byteLength))
      done()
    })
  }
  const socket = new Duplex({
    read: () => {},
    write: (chunk: Buffer, _encoding, done) => exchange(chunk, done),
    writev: (chunks, done) => exchange(Buffer.concat(chunks.map(({ chunk }) => chunk)), done),
    final: done => {
      done()
      socket.destroy()
    },
  })
  return Object.defineProperty(socket, "readyState", { get: () => (socket.destroyed ? "closed" : "open") })
}
