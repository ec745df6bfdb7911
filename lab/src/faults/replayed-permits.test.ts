/**
 * kill -9 between a redemption and its answer, while two parties send the same permit: the one who acts, and one who stole it. However often
 * it is sent again, to the server of before and to the next one, it is redeemed once, and the time of that is what the close seals.
 */
import { randomUUID } from "node:crypto"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import type { JsonObject } from "@runseal/canonical"
import { describe, expect, type TestContext, test } from "vitest"
import { newPostgresUrl, postgresStart, postgresTitle } from "../../../apps/server/spec/database/databases.ts"
import { asking, done, permitAt } from "../../../apps/server/spec/harness/asked-permits.ts"
import { type Child, startChild } from "../../../apps/server/spec/harness/child.ts"
import {
  type Answer,
  expectRefused,
  numberAt,
  objectAt,
  textAt,
} from "../../../apps/server/spec/harness/read-answer.ts"
import { until } from "../../../apps/server/spec/harness/until.ts"
import type { Kind } from "./fault-deployment.ts"
import { type FaultRow, faultRow } from "./fault-row.ts"
import { drawn, ROUNDS, roundsOf } from "./rounds.ts"

const PERMITS = 8
/** The kill falls at a drawn instant of this time after the redemptions were sent. */
const ANSWERING_MS = 60
const DEADLINE_MS = 300_000 + 15_000 * ROUNDS

type Held = { readonly id: string; readonly permit: string }

/** Sends a permit; undefined when the connection was cut. */
const redeem = (child: Child, { id, permit }: Held): Promise<Answer | undefined> =>
  child.post(`/permits/${id}/redeem`, { permit }).catch(() => undefined)

/** Sends until there is an answer, as a client does with a key: a busy machine may answer 503. */
async function insist(child: Child, path: string, body: JsonObject, status: number): Promise<Answer> {
  const headers = { "Idempotency-Key": `"${randomUUID()}"` }
  const answer = await until(`${path} is answered`, async () => {
    const given = await child.post(path, body, headers)
    return given.status !== 503 && given
  })
  expect(answer.status, answer.text).toBe(status)
  return answer
}

async function openedPermit(child: Child): Promise<Held> {
  const asked = asking({ redeem_required: true, valid_for_seconds: 3600 })
  const { body } = await insist(child, "/permits", asked, 201)
  return { id: textAt(body, "permit_id"), permit: textAt(body, "permit") }
}

/** Sends a permit again to a server that was just started, and closes it. @param answers of both parties before the kill */
async function replay(
  child: Child,
  held: Held,
  answers: readonly (Answer | undefined)[],
  row: FaultRow,
): Promise<void> {
  for (const answer of answers) if (answer !== undefined) expect([200, 409], answer.text).toContain(answer.status)
  const succeeded = answers.flatMap(answer => (answer?.status === 200 ? [answer.body] : []))
  expect(succeeded.length, "one of two parties may act").toBeLessThanOrEqual(1)
  const before = (await permitAt(child, held.id)).redeemed_at
  if (succeeded[0] !== undefined) expect(before, "an answered redemption is there").toBe(succeeded[0].redeemed_at)
  if (before !== undefined && succeeded.length === 0) row.found++
  const again = await Promise.all([redeem(child, held), redeem(child, held), redeem(child, held)])
  const now = again.filter(answer => answer?.status === 200)
  expect(now.length, "a redemption without an answer counts").toBe(before === undefined ? 1 : 0)
  for (const answer of again.filter(one => one?.status !== 200)) {
    if (answer === undefined) throw new Error("a server without fault answers")
    expectRefused(answer, 409, "already_redeemed")
  }
  row.acknowledged += succeeded.length
  row.unacknowledged += answers.filter(answer => answer === undefined).length
  row.retried += again.length
  const redeemed_clock = before ?? now[0]?.body.redeemed_at
  const run = numberAt((await insist(child, `/permits/${held.id}/close`, done(), 200)).body, "run_id")
  const record = (await child.get(`/runs/${run}/artifacts`)).body
  expect(objectAt(record, "sections", "permit")).toMatchObject({ permit_id: held.id, redemption: { redeemed_clock } })
  const late = await redeem(child, held)
  if (late === undefined) throw new Error("a server without fault answers")
  expectRefused(late, 409, "already_redeemed")
}

async function replayPermits(context: TestContext, kind: Kind): Promise<void> {
  const row = faultRow(context, "kill -9 between a redemption and its answer", kind)
  const folder = mkdtempSync(join(tmpdir(), "runseal-replayed-permits-"))
  const database = kind === "PostgreSQL" ? ["--database-url", await newPostgresUrl()] : []
  const limits = ["--anonymous-rate-limit", "1000000", "--permit-rate-limit", "1000000"]
  const options = ["--data-dir", join(folder, "data"), ...limits, ...database]
  let child = await startChild(options)
  context.onTestFinished(async () => {
    await child.end("SIGKILL")
    rmSync(folder, { recursive: true, force: true })
  })
  for (; row.rounds < Math.max(2, roundsOf(0.3)); row.rounds++) {
    const permits = await Promise.all(Array.from({ length: PERMITS }, () => openedPermit(child)))
    const sent = permits.map(held => Promise.all([redeem(child, held), redeem(child, held)]))
    await sleep(ANSWERING_MS * drawn(`replayed permits ${kind}`, row.rounds))
    await child.end("SIGKILL")
    const answers = await Promise.all(sent)
    child = await startChild(options)
    for (const [at, held] of permits.entries()) await replay(child, held, answers[at] ?? [], row)
  }
}

describe("a server killed between the redemption of a permit and its answer", () => {
  test("on the embedded database", context => replayPermits(context, "PGlite"), DEADLINE_MS)
  test.skipIf(postgresStart.kind === "absent")(
    postgresTitle,
    context => replayPermits(context, "PostgreSQL"),
    DEADLINE_MS,
  )
})
