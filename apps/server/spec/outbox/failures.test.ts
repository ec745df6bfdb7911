/** A Rekor log that is away, slow, full or wrong: nothing is lost, nothing false is stored, and the order remains. */
import { afterEach, beforeEach, describe, expect, test } from "vitest"
import { LOG_ANSWER_MAX_BYTES } from "../../src/outbound/outbox/ask-log.ts"
import { readEntries } from "../../src/store/tables/log-store.ts"
import { testClock } from "../harness/clock.ts"
import { backlogOf, rekorConfig, retryQuickly, untilDelivered } from "../harness/outbox-waits.ts"
import { at, listAt } from "../harness/read-answer.ts"
import { type Behaviour, losing, rekorError, startRekor } from "../harness/rekor-server.ts"
import { request } from "../harness/sample-requests.ts"
import { standingService, type TestService } from "../harness/test-service.ts"
import { until } from "../harness/until.ts"

retryQuickly()

const clock = testClock()
const rekor = await startRekor(clock.nowMs)
const stranger = await startRekor(clock.nowMs)
const service = standingService(() => ({ clock, config: rekorConfig(rekor) }))

beforeEach(async () => {
  rekor.behave()
  await untilDelivered(service())
})
afterEach(() => rekor.behave())

/** Lines of the process log that speak of the outside log. */
const logLinesOf = ({
  logLines,
}: TestService): readonly { level: number; fault?: string; problem?: string; status?: number }[] =>
  logLines.map(line => JSON.parse(line)).filter(line => line.outside_log === "rekor.test")

/** Everything that was sealed is in the log, once and in order. */
async function expectAllInOrder(): Promise<void> {
  const entries = await readEntries(service().db, 1, 257)
  expect(rekor.bodies()).toEqual(entries.map(({ body }) => body))
  const stored = await service().db.sql<{ log_index: number }[]>`select log_index from outside_entry order by log_index`
  expect(stored.map(({ log_index }) => log_index)).toEqual(entries.map(({ log_index }) => log_index))
}

/** Misbehaves so often from the next request on, then honestly. */
const times = (count: number, behaviour: Behaviour): Behaviour => {
  let left = count
  return (asked, honest) => (left-- > 0 ? behaviour(asked, honest) : honest())
}

/** A run while the log misbehaves twice: it is answered, logged, and delivered in the end. */
async function expectOvercome(behaviour: Behaviour, fault: string, status?: number): Promise<void> {
  const before = logLinesOf(service()).length
  rekor.behave(times(2, behaviour))
  expect((await service().execute(request())).status).toBe(200)
  await untilDelivered(service())
  await expectAllInOrder()
  const faults = logLinesOf(service())
    .slice(before)
    .filter(line => line.fault !== undefined)
  expect(faults.length).toBeGreaterThan(0)
  for (const line of faults) expect(line).toMatchObject({ fault, ...(status === undefined ? {} : { status }) })
}

const changed =
  (change: (entry: Record<string, never>) => void): Behaviour =>
  (_, honest) => {
    const sent = honest()
    const answer = JSON.parse(`${sent.body}`)
    const [uuid = ""] = Object.keys(answer)
    // A refusal, such as 409, has nothing to change.
    if (sent.status < 300) change(answer[uuid])
    return { ...sent, body: JSON.stringify(answer) }
  }
const inProof = (name: string, value: unknown): Behaviour =>
  changed(entry => Object.assign(Object(Object(entry.verification).inclusionProof), { [name]: value }))
const ok =
  (body: string): Behaviour =>
  () => ({ status: 201, headers: { "content-type": "application/json" }, body })

describe("the entry is delivered all the same, later and once, after", () => {
  test.each<[string, Behaviour, string, number?]>([
    ["a server error", () => rekorError(500, "internal"), "failed", 500],
    ["an overloaded log", () => rekorError(503, "busy", { "retry-after": "0" }), "failed", 503],
    ["too many requests", () => rekorError(429, "slow down", { "retry-after": "1" }), "limited", 429],
    ["a refusal", () => rekorError(400, "invalid entry"), "refused", 400],
    [
      "a redirect, which is not followed",
      () => ({ status: 307, headers: { location: stranger.url }, body: "" }),
      "refused",
      307,
    ],
    ["a connection that broke before it was answered", () => "reset", "unreachable"],
    ["a page that is no answer", ok("<html>maintenance</html>"), "invalid", 201],
    ["an answer without entry", ok("{}"), "invalid", 201],
    [
      "an answer without end",
      (_, honest) => ({ status: 201, headers: {}, body: `${honest().body}`.padEnd(LOG_ANSWER_MAX_BYTES + 1) }),
      "invalid",
      201,
    ],
    ["a conflict without Location", () => rekorError(409, "exists"), "invalid", 409],
    [
      "a conflict that leads elsewhere",
      () => rekorError(409, "exists", { location: `${stranger.url}../../etc` }),
      "invalid",
      409,
    ],
  ])("%s", async (_name, behaviour, fault, status) => {
    await expectOvercome(behaviour, fault, status)
    expect(stranger.asked()).toEqual([])
  })
})

describe("never stored is an entry", () => {
  test.each<[string, Behaviour]>([
    ["of another tree size", inProof("treeSize", 9000)],
    ["with another root", inProof("rootHash", "ab".repeat(32))],
    ["at another place in the tree", inProof("logIndex", 0)],
    ["with a path that leads elsewhere", inProof("hashes", ["cd".repeat(32)])],
    ["without a path", inProof("hashes", [])],
    ["at another index of the log", changed(entry => Object.assign(entry, { logIndex: 7 }))],
    ["of another time", changed(entry => Object.assign(entry, { integratedTime: Number(entry.integratedTime) - 60 }))],
    ["of another log", changed(entry => Object.assign(entry, { logID: "12".repeat(32) }))],
    [
      "with a time that nobody signed",
      changed(entry => Object.assign(Object(entry.verification), { signedEntryTimestamp: "MAYCAQECAQE=" })),
    ],
    [
      "of another body",
      changed(entry => Object.assign(entry, { body: Buffer.from(rekor.bodies()[0] ?? "").toString("base64") })),
    ],
    [
      "with a checkpoint of another log",
      inProof("checkpoint", "other.test - 1\n9\nq83vASNFZ4k=\n\n— other.test AAAAAA==\n"),
    ],
  ])("%s: it is asked for again", async (_name, behaviour) => {
    await expectOvercome(behaviour, "invalid")
    expect(logLinesOf(service()).at(-2)).toMatchObject({ level: 50 })
  })
})

describe("an entry that the log has already, since its answer was lost,", () => {
  test("is fetched from there and stored: it is in the log once", async () => {
    const asked = rekor.asked().length
    rekor.behave(times(1, losing("reset")))
    await service().execute(request())
    await untilDelivered(service())
    await expectAllInOrder()
    const since = rekor.asked().slice(asked)
    expect(since.map(({ method, status }) => [method, status])).toEqual([
      ["POST", undefined],
      ["POST", 409],
      ["GET", 200],
      ["POST", 201],
    ])
  })

  test("is verified when it is fetched", async () => {
    const before = logLinesOf(service()).length
    let fetched = 0
    rekor.behave((asked, honest) => {
      if (asked.method === "GET") fetched++
      const sent = honest()
      if (sent.status === 201 && fetched === 0) return "reset"
      return asked.method === "GET" && fetched < 3 ? inProof("rootHash", "ab".repeat(32))(asked, () => sent) : sent
    })
    await service().execute(request())
    await untilDelivered(service())
    await expectAllInOrder()
    expect(
      logLinesOf(service())
        .slice(before)
        .filter(({ fault }) => fault === "invalid"),
    ).toHaveLength(2)
  })
})

describe("while the log takes nothing", () => {
  test("runs are sealed and answered, and everybody sees what waits and why", async () => {
    rekor.behave(() => rekorError(400, "invalid entry"))
    for (let run = 0; run < 3; run++) expect((await service().execute(request())).status).toBe(200)
    const standing = await until("the fault is noted", async () => {
      const [log] = listAt((await service().get("/log/outside")).body, "logs")
      return at(log, "fault") === "refused" ? log : undefined
    })
    expect(standing).toMatchObject({ backlog: 6, fault: "refused" })
    clock.advance(120_000)
    const [later] = listAt((await service().get("/log/outside")).body, "logs")
    expect(at(later, "oldest_age_seconds")).toBeGreaterThanOrEqual(120)
    expect(at(later, "failing_seconds")).toBeGreaterThanOrEqual(120)
    expect((await service().get("/ready")).body).toMatchObject({
      ready: true,
      outside_backlog: 6,
      outside_fault: "refused",
    })
    rekor.behave()
    await untilDelivered(service())
    await expectAllInOrder()
    expect(await backlogOf(service())).toBe(0)
    expect((await service().get("/ready")).body).not.toHaveProperty("outside_fault")
  })

  test("it is asked less and less often, and not before the time it names", async () => {
    rekor.behave(() => rekorError(429, "slow down", { "retry-after": "3" }))
    const started = performance.now()
    const asked = rekor.asked().length
    await service().execute(request())
    await until("two refusals came", () => rekor.asked().length >= asked + 2)
    expect(performance.now() - started).toBeGreaterThan(2900)
    rekor.behave()
    await untilDelivered(service())
  })
})

test("a log that does not answer is given up in time", async () => {
  const before = logLinesOf(service()).length
  rekor.behave(times(1, () => "silence"))
  await service().execute(request())
  await untilDelivered(service())
  await expectAllInOrder()
  expect(logLinesOf(service()).slice(before)).toMatchObject([{ fault: "unreachable" }, { level: 30 }])
})

test("nothing of what the log answers stands in the process log but its status", async () => {
  rekor.behave(times(1, () => rekorError(500, "GEHEIM")))
  await service().execute(request())
  await untilDelivered(service())
  expect(service().logLines.join("")).not.toContain("GEHEIM")
})
