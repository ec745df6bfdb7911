/** The main thread's side of the PGlite thread: a stream that postgres.js takes for a socket. */
import { Duplex } from "node:stream"
import { Worker } from "node:worker_threads"
import { StartupError } from "../../startup-error.ts"
import { connectionClosed } from "../errors.ts"
import type { PgliteReply, PgliteRequest, PgliteStart } from "./messages.ts"

const LOST = "The embedded database stopped."

export type PgliteThread = {
  /** A connection to the one backend. A second one may follow when the first has closed; it starts with a clean session. */
  readonly connect: () => Duplex
  /** The data folder as a tar file. Only while no query runs. */
  readonly dump: () => Promise<Uint8Array>
  /** Shuts the database down cleanly and ends the thread. */
  readonly close: () => Promise<void>
}

/**
 * Starts the thread and waits until its database is open.
 * @throws StartupError when it cannot be opened
 */
export async function startPglite(start: PgliteStart): Promise<PgliteThread> {
  const worker = new Worker(new URL("./thread.ts", import.meta.url), { workerData: start, execArgv: [] })
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
  const ask = (request: PgliteRequest): Promise<PgliteReply> => {
    send(request)
    return next()
  }

  const ready = await next()
  if (ready.kind === "failed") throw new StartupError(`The embedded database cannot be opened: ${ready.reason}`)
  return {
    connect: () => pgliteSocket(bytes => ask({ kind: "frontend", bytes })),
    dump: async () => {
      const reply = await ask({ kind: "dump" })
      if (reply.kind !== "dumped") throw new Error("The embedded database gave no dump.")
      return reply.tar
    },
    close: async () => {
      send({ kind: "close" })
      await ended
    },
  }
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
