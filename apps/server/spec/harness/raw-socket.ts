/** Bytes sent and received as they are: what no HTTP client would send, and all that comes back. */
import { connect, type Socket } from "node:net"
import { parseStrictJson } from "@runseal/canonical"
import { ERROR_CODE_NAMES, ERROR_CODES } from "@runseal/core/wire/error-codes"
import { expect } from "vitest"
import { createApp } from "../../src/app.ts"
import { type ConnectionLimits, type Listening, listen } from "../../src/http/listen.ts"
import { objectAt } from "./read-answer.ts"
import type { TestService } from "./test-service.ts"

/** How long a connection may stay open before a test calls it held. */
const CLOSED_WITHIN_MS = 90_000

/** The service behind a socket of its own. The caller stops it. */
export const listenOn = ({ deps }: TestService, limits?: ConnectionLimits): Promise<Listening> =>
  listen({
    fetch: createApp(deps).fetch,
    host: "127.0.0.1",
    port: 0,
    ...(limits === undefined ? {} : { limits }),
  })

export const dial = ({ url }: Listening): Socket => connect(Number(new URL(url).port), "127.0.0.1")

/** Sends bytes and gives everything that comes back until the server closes the connection, one character a byte. */
export const exchange = (to: Listening, bytes: string): Promise<string> =>
  new Promise((resolve, reject) => {
    const socket = dial(to)
    let answer = ""
    const deadline = setTimeout(() => {
      socket.destroy()
      reject(new Error(`the connection stays open after: ${answer}`))
    }, CLOSED_WITHIN_MS)
    socket.setEncoding("latin1").on("data", (text: string) => (answer += text))
    // A sender who is cut off while sending may see a reset.
    socket
      .on("error", () => undefined)
      .on("close", () => {
        clearTimeout(deadline)
        resolve(answer)
      })
    socket.write(bytes, "latin1")
  })

/** The statuses of all that was answered, in order. */
export const statusesIn = (answer: string): readonly number[] =>
  [...answer.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => Number(status))

/** Exactly one answer: status line, headers, and the envelope alone. Gives its sentence. */
export function expectRefusal(answer: string, status: number): string {
  const [head = "", body = "", ...more] = answer.split("\r\n\r\n")
  expect(more).toEqual([])
  expect(head).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `))
  expect(head).toMatch(/^content-type: application\/json/im)
  expect(head).toMatch(/^x-content-type-options: nosniff$/im)
  expect(head).toMatch(/^connection: close$/im)
  expect(head).toMatch(/^link: <\/docs>; rel="help"$/im)
  expect(head).toMatch(new RegExp(`^content-length: ${Buffer.byteLength(body)}$`, "im"))
  const value = objectAt(parseStrictJson(body))
  expect(Object.keys(value).sort()).toEqual(["code", "error", "ok", "request_id"])
  expect(ERROR_CODE_NAMES.filter(code => ERROR_CODES[code].status === status)).toContain(value.code)
  expect(head).toMatch(new RegExp(`^x-request-id: ${value.request_id}$`, "im"))
  expect(value.ok).toBe(false)
  expect(value.error).toMatch(/^[A-Z].{10,}\.$/)
  return String(value.error)
}
