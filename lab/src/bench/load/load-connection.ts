/** One persistent HTTP/1.1 connection with one request at a time. Small, so that the generator uses little processor time. */
import { connect, type Socket } from "node:net"

export type Answered = (status: number, text: () => string) => void

export type LoadConnection = {
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
export function openConnection(url: string, failed: (cause: string) => void): Promise<LoadConnection> {
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
