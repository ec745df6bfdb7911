/** A receiver of webhooks, over a socket: it remembers what it was sent, and answers with the status that a test sets. */
import { once } from "node:events"
import { createServer, type IncomingHttpHeaders } from "node:http"
import type { AddressInfo } from "node:net"
import { type JsonObject, type JsonValue, parseStrictJson } from "@runseal/canonical"
import { isObject } from "@runseal/core/vocabulary/json-members"
import { numberAt } from "./read-answer.ts"

export type ReceivedEvent = {
  readonly headers: IncomingHttpHeaders
  readonly text: string
  readonly body: JsonObject
}

export type EventReceiver = {
  readonly url: string
  /** What was taken, in the order in which it came. */
  readonly taken: () => readonly ReceivedEvent[]
  /** Positions of what was taken. */
  readonly positions: () => readonly number[]
  /** Most requests at one time. */
  readonly mostAtOnce: () => number
  /** Status of the following answers; a 2xx takes the event. */
  readonly answer: (status: number, headers?: Readonly<Record<string, string>>) => void
  /** The status of the following answers, by path and event; undefined: there is no answer. */
  readonly judge: (next: Judge) => void
  /** How long each answer takes, in milliseconds. */
  readonly takeTime: (ms: number) => void
  readonly forget: () => void
  readonly close: () => Promise<void>
}

export type Judge = (path: string, body: JsonValue) => number | undefined

/** @param port 0: one that is free */
export async function startReceiver(port = 0): Promise<EventReceiver> {
  let [delayMs, atOnce, most] = [0, 0, 0]
  let judge: Judge = () => 204
  let headers: Readonly<Record<string, string>> = {}
  let taken: ReceivedEvent[] = []
  const server = createServer(async (request, response) => {
    atOnce += 1
    most = Math.max(most, atOnce)
    const parts: Buffer[] = []
    for await (const part of request) parts.push(part)
    const text = Buffer.concat(parts).toString("utf8")
    const body = parseStrictJson(text)
    if (delayMs > 0) await new Promise(done => setTimeout(done, delayMs))
    const status = judge(request.url ?? "", body)
    if (status === undefined) return
    if (status < 300 && isObject(body)) taken.push({ headers: request.headers, text, body })
    atOnce -= 1
    response.writeHead(status, headers).end()
  })
  server.listen(port, "127.0.0.1")
  await once(server, "listening")
  const address: AddressInfo | string | null = server.address()
  if (address === null || typeof address === "string") throw new Error("the receiver has no port")
  return {
    url: `http://127.0.0.1:${address.port}/events`,
    taken: () => taken,
    positions: () => taken.filter(({ body }) => body.type !== "test").map(({ body }) => numberAt(body, "position")),
    mostAtOnce: () => most,
    answer: (next, fields = {}) => {
      judge = () => next
      headers = fields
    },
    judge: next => {
      judge = next
    },
    takeTime: ms => {
      delayMs = ms
    },
    forget: () => {
      taken = []
      most = 0
    },
    close: async () => {
      server.closeAllConnections()
      server.close()
      await once(server, "close")
    },
  }
}
