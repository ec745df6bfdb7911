/** The load generator: one job by IPC, one result back. Loopback only. */

import { connect, type Socket } from "node:net"
import { parseStrictJson } from "@runseal/canonical"
import { member } from "@runseal/core/vocabulary/json-members"
import type { LoadJob, LoadReply, LoadRequest, LoadResult } from "./load.ts"

const LOOPBACK = "127.0.0.1"
/** Requests that may be due and unsent. With more of them the server does not keep up with the rate, and the job fails. */
const MAX_DUE = 20_000
/** Characters of an unexpected answer that the error shows. */
const SHOWN = 300

/** A request as bytes, with its expected status. */
type Prepared = { readonly bytes: Buffer; readonly status: number; readonly followedBy?: (answer: string) => Prepared }

function bytesOf({ method, path, body = "" }: LoadRequest, host: string, secret: string | undefined): Buffer {
  const lines = [
    `${method} ${path} HTTP/1.1`,
    `Host: ${host}`,
    ...(secret === undefined ? [] : [`X-Service-Key: ${secret}`]),
    ...(method === "GET" ? [] : ["Content-Type: application/json", `Content-Length: ${Buffer.byteLength(body)}`]),
  ]
  return Buffer.from(`${lines.join("\r\n")}\r\n\r\n${body}`)
}

function prepare(request: LoadRequest, host: string, secret: string | undefined): Prepared {
  const { status, followedBy } = request
  const bytes = bytesOf(request, host, secret)
  if (followedBy === undefined) return { bytes, status }
  const following = (answer: string): Prepared => {
    const found = member(parseStrictJson(answer), followedBy.member)
    return prepare({ ...followedBy, path: followedBy.path.replace("{}", String(found)) }, host, secret)
  }
  return { bytes, status, followedBy: following }
}

/** Gives the requests one after the other, in every combination with the secrets. */
function rotation({ urls, requests, secrets }: LoadJob): () => Prepared {
  const host = new URL(urls[0] ?? "").host
  let turn = 0
  return () => {
    const request = requests[turn % requests.length]
    if (request === undefined) throw new Error("a job has at least one request")
    const secret = secrets.length === 0 ? undefined : secrets[turn % secrets.length]
    turn++
    return prepare(request, host, secret)
  }
}

const pick = (sorted: Float64Array, share: number): number =>
  sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN

function resultOf(latencies: readonly number[], seconds: number): LoadResult {
  const sorted = Float64Array.from(latencies).sort()
  const answers = sorted.length
  return {
    answers,
    perSecond: answers / seconds,
    p50: pick(sorted, 0.5),
    p99: pick(sorted, 0.99),
    slowest: pick(sorted, 1),
  }
}

/** Sends a request on one connection; `since` is when the request was due. */
type Ask = (connection: LoadConnection, since: number, then: () => void) => void

async function run(job: LoadJob, fail: (cause: string) => void): Promise<LoadResult> {
  if (job.urls.some(url => new URL(url).hostname !== LOOPBACK)) throw new Error(`only ${LOOPBACK} is put under load`)
  const connections = await Promise.all(
    Array.from({ length: job.connections }, (_, i) => openConnection(job.urls[i % job.urls.length] ?? "", fail)),
  )
  const next = rotation(job)
  const begin = performance.now()
  const counted = begin + job.warmSeconds * 1000
  const end = counted + job.seconds * 1000
  const latencies: number[] = []
  const send = (
    connection: LoadConnection,
    { bytes, status, followedBy }: Prepared,
    answered: () => void,
    done: () => void,
  ): void =>
    connection.send(bytes, (received, text) => {
      if (received !== status) return fail(`status ${received} where ${status} is right: ${text().slice(0, SHOWN)}`)
      answered()
      if (followedBy === undefined) done()
      else send(connection, followedBy(text()), () => undefined, done)
    })
  const ask: Ask = (connection, since, then) => {
    const answered = (): void => {
      const now = performance.now()
      if (since >= counted) latencies.push(now - since)
    }
    send(connection, next(), answered, then)
  }
  await (job.perSecond === undefined
    ? closedLoop(connections, ask, end, job.requestsMax)
    : openLoop(connections, ask, { begin, end, perSecond: job.perSecond }, fail))
  for (const connection of connections) connection.close()
  // Requests that were pending at the end are answered and counted, with the time they took.
  return resultOf(latencies, (performance.now() - counted) / 1000)
}

/** Every connection sends the next request as soon as it is answered. */
const closedLoop = async (
  connections: readonly LoadConnection[],
  ask: Ask,
  end: number,
  requestsMax = Number.POSITIVE_INFINITY,
): Promise<void> => {
  let sent = 0
  await Promise.all(
    connections.map(
      connection =>
        new Promise<void>(resolve => {
          const again = (): void => {
            const now = performance.now()
            if (now >= end || sent >= requestsMax) resolve()
            else {
              sent++
              ask(connection, now, again)
            }
          }
          again()
        }),
    ),
  )
}

type Schedule = { readonly begin: number; readonly end: number; readonly perSecond: number }

/**
 * Requests are due at fixed instants and wait in a queue for a free connection; the wait is part of their latency. Connections are
 * used in rotation, since a service closes one that is idle for seconds.
 */
const openLoop = (
  connections: readonly LoadConnection[],
  ask: Ask,
  { begin, end, perSecond }: Schedule,
  fail: (cause: string) => void,
): Promise<void> =>
  new Promise(resolve => {
    const idle = [...connections]
    const due: number[] = []
    let scheduled = 0
    const send = (): void => {
      while (due.length > 0 && idle.length > 0) {
        const [since, connection] = [due.shift(), idle.shift()]
        if (since === undefined || connection === undefined) return
        ask(connection, since, () => {
          idle.push(connection)
          send()
        })
      }
    }
    const tick = (): void => {
      const now = Math.min(performance.now(), end)
      for (; begin + (scheduled * 1000) / perSecond < now; scheduled++) due.push(begin + (scheduled * 1000) / perSecond)
      if (due.length > MAX_DUE) fail(`the server does not keep up with ${perSecond} requests a second`)
      send()
      const done = now >= end && due.length === 0 && idle.length === connections.length
      if (done) resolve()
      else setTimeout(tick, 1)
    }
    tick()
  })

const tell = (reply: LoadReply): void => void process.send?.(reply)

// One persistent HTTP/1.1 connection with one request at a time. Small, so that the generator uses little processor time.

type Answered = (status: number, text: () => string) => void

type LoadConnection = {
  /** Sends a request; `answered` is called with its whole answer. Only when no other request is pending. */
  readonly send: (request: Buffer, answered: Answered) => void
  readonly close: () => void
}

/** No answer to a bench request is larger. */
const ANSWER_MAX_BYTES = 16 * 1024 * 1024
const HEAD_END = "\r\n\r\n"

/** Bytes of the answer at the start of the buffer, and its status; undefined while it is not whole. */
function readAnswer(
  received: Buffer,
): { readonly status: number; readonly head: number; readonly bytes: number } | undefined {
  const head = received.indexOf(HEAD_END, 0, "latin1")
  if (head < 0) return undefined
  const lines = received.toString("latin1", 0, head)
  const length = /\r\ncontent-length: *(\d+)/i.exec(lines)?.[1]
  const start = head + HEAD_END.length
  const status = Number(lines.slice(9, 12))
  if (length !== undefined) {
    const bytes = start + Number(length)
    return received.length < bytes ? undefined : { status, head: start, bytes }
  }
  if (!/\r\ntransfer-encoding: *chunked/i.test(lines)) throw new Error(`an answer without a length: ${lines}`)
  const bytes = chunkedEnd(received, start)
  return bytes === undefined ? undefined : { status, head: start, bytes }
}

/** Where a chunked body ends; undefined while it is not whole. RFC 9112 §7.1, without trailers. */
function chunkedEnd(received: Buffer, start: number): number | undefined {
  let at = start
  for (;;) {
    const line = received.indexOf("\r\n", at, "latin1")
    if (line < 0) return undefined
    const size = Number.parseInt(received.toString("latin1", at, line), 16)
    at = line + 2 + size + 2
    if (at > received.length) return undefined
    if (size === 0) return at
  }
}

/** @param failed called once when the connection is lost or an answer cannot be read */
function openConnection(url: string, failed: (cause: string) => void): Promise<LoadConnection> {
  const { hostname, port } = new URL(url)
  let received = Buffer.alloc(0)
  let waiting: Answered | undefined
  let closed = false
  const take = (): void => {
    const answer = readAnswer(received)
    if (answer === undefined) {
      if (received.length > ANSWER_MAX_BYTES) throw new Error("an answer of more than 16 MiB")
      return
    }
    const { status, head, bytes } = answer
    const whole = received
    received = received.subarray(bytes)
    const answered = waiting
    waiting = undefined
    answered?.(status, () => whole.toString("utf8", head, bytes))
  }
  return new Promise((resolve, reject) => {
    const socket: Socket = connect({ host: hostname, port: Number(port), noDelay: true })
    socket.once("connect", () =>
      resolve({
        send: (request, answered) => {
          waiting = answered
          socket.write(request)
        },
        close: () => {
          closed = true
          socket.destroy()
        },
      }),
    )
    socket.on("data", chunk => {
      received = received.length === 0 ? chunk : Buffer.concat([received, chunk])
      try {
        take()
      } catch (error) {
        failed(String(error))
      }
    })
    socket.on("error", error => {
      reject(error)
      if (!closed) failed(String(error))
    })
    socket.on("close", () => {
      if (!closed) failed("the server closed a connection")
    })
  })
}

process.once("message", (job: LoadJob) => {
  const fail = (failure: string): void => {
    // Only the first failure is reported: the others follow from it.
    if (!process.connected) return
    tell({ failure })
    process.disconnect()
    setImmediate(() => process.exit(1))
  }
  run(job, fail).then(
    result => {
      tell({ result })
      process.disconnect()
    },
    (error: unknown) => fail(String(error)),
  )
})
