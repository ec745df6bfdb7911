/** Clients who send their body, or read their answer, byte by byte: nobody else waits for them, and they get their due. */
import { connect, type Socket } from "node:net"
import { parseStrictJson } from "@runseal/canonical"
import { isObject } from "@runseal/core/vocabulary/json-members"
import { expect, type TestContext, test } from "vitest"
import { postgresStart, postgresTitle } from "../../../apps/server/spec/database/databases.ts"
import { until } from "../../../apps/server/spec/harness/until.ts"
import type { Sent } from "./acknowledged-runs.ts"
import { type Deployment, type Kind, openDeployment } from "./fault-deployment.ts"
import { nextRequest, startLoad } from "./fault-load.ts"
import { faultRow } from "./fault-row.ts"
import { WHOLE } from "./rounds.ts"

const DEADLINE_MS = 600_000
const SLOW_CLIENTS = WHOLE ? 100 : 20
/** Requests of others that must be answered while every slow client is under way. */
const OTHERS = WHOLE ? 200 : 40
/** A slow sender's pace: the body is far from over when the others are done, and within the server's 60 s in the end. */
const BYTE_EVERY_MS = 50

type Slow = { readonly answer: Promise<string>; readonly hurry: () => void; readonly socket: Socket }

function dial(url: string): { readonly socket: Socket; readonly answer: Promise<string> } {
  const socket = connect(Number(new URL(url).port), "127.0.0.1")
  const answer = new Promise<string>((resolve, reject) => {
    let text = ""
    socket.setEncoding("utf8").on("data", (part: string) => (text += part))
    socket.on("error", reject).on("close", () => resolve(text))
  })
  return { socket, answer }
}

/** Sends a request whose body is slow until `hurry` is called. */
function slowSender(url: string, sent: Sent, secret: string): Slow {
  const { socket, answer } = dial(url)
  const body = JSON.stringify(sent.body)
  const head = [
    `POST ${sent.path} HTTP/1.1`,
    ...["Host: x", "Connection: close", "Content-Type: application/json"],
    ...[`X-Service-Key: ${secret}`, `Idempotency-Key: "${sent.name}"`, `Content-Length: ${body.length}`],
  ]
  socket.write(`${head.join("\r\n")}\r\n\r\n`)
  let at = 0
  const trickle = setInterval(() => {
    if (at < body.length - 1) socket.write(body[at++]!)
  }, BYTE_EVERY_MS)
  const hurry = (): void => {
    clearInterval(trickle)
    socket.write(body.slice(at))
  }
  return { socket, answer, hurry }
}

/** Requests a large answer and does not read it until `hurry` is called. */
function slowReader(url: string, secret: string): Slow {
  const { socket, answer } = dial(url)
  socket.pause()
  socket.write(`GET /openapi.json HTTP/1.1\r\nHost: x\r\nConnection: close\r\nX-Service-Key: ${secret}\r\n\r\n`)
  return { socket, answer, hurry: () => socket.resume() }
}

async function serveOthers(context: TestContext, kind: Kind): Promise<void> {
  const row = faultRow(context, `${SLOW_CLIENTS} slow clients`, kind)
  const deployment = await openDeployment(context, { kind, row })
  const { start, secrets, memory, finish } = deployment
  const child = await start()
  const [secret = ""] = secrets
  const sent = Array.from({ length: SLOW_CLIENTS / 2 }, () => nextRequest(deployment))
  const senders = sent.map(one => slowSender(child.url, one, secrets[one.caller] ?? ""))
  const readers = sent.map(() => slowReader(child.url, secret))
  await until("every slow client is connected", () =>
    [...senders, ...readers].every(({ socket }) => !socket.connecting),
  )
  const load = startLoad([child.url], { memory, secrets, connections: 8, persistent: true })
  await until("the others are served", () => load.acknowledged() >= OTHERS)
  await load.stop()
  expect(
    [...senders, ...readers].filter(({ socket }) => socket.destroyed),
    "all are still under way",
  ).toEqual([])
  row.rounds = SLOW_CLIENTS
  row.acknowledged = load.acknowledged()
  row.unacknowledged = load.unacknowledged()
  expect(row.unacknowledged).toBe(0)
  for (const { hurry } of [...senders, ...readers]) hurry()
  await expectServed(deployment, child.url, sent, senders, readers)
  await finish(child)
}

async function expectServed(
  { memory }: Deployment,
  url: string,
  sent: readonly Sent[],
  senders: readonly Slow[],
  readers: readonly Slow[],
): Promise<void> {
  const whole = await (await fetch(`${url}/openapi.json`)).text()
  for (const { answer } of readers) expect((await answer).endsWith(whole)).toBe(true)
  for (const [at, { answer }] of senders.entries()) {
    const [head = "", body = ""] = (await answer).split("\r\n\r\n")
    expect(head).toMatch(/^HTTP\/1\.1 (200|201|422) /)
    const value = parseStrictJson(body)
    if (!isObject(value)) throw new Error("an answer is an object")
    const status = Number(head.slice("HTTP/1.1 ".length, "HTTP/1.1 200".length))
    sent[at]!.acknowledged = { status, headers: new Headers(), text: body, body: value }
  }
  expect(memory.unexpected).toEqual([])
}

test("on the embedded database", context => serveOthers(context, "PGlite"), DEADLINE_MS)
test.skipIf(postgresStart.kind === "absent" || !WHOLE)(
  postgresTitle,
  context => serveOthers(context, "PostgreSQL"),
  DEADLINE_MS,
)
