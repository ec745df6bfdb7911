/**
 * kill -9 between any two steps of acts under permits: openings, redemptions, closes, ends. No reservation is left without a document,
 * nothing is settled or redeemed twice, and what was acknowledged is there.
 */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { COMPLETENESS_VERDICTS } from "@runseal/core/verify/completeness"
import { verifyExport } from "@runseal/sdk/verify"
import { openDatabase } from "@runseal/server/store/driver/database"
import { describe, expect, type TestContext, test } from "vitest"
import { newPostgresUrl, postgresStart, postgresTitle } from "../../../apps/server/spec/database/databases.ts"
import { permitAt } from "../../../apps/server/spec/harness/asked-permits.ts"
import { checkHouse } from "../../../apps/server/spec/harness/check-house.ts"
import { type Child, startChild } from "../../../apps/server/spec/harness/child.ts"
import { numberAt, textAt } from "../../../apps/server/spec/harness/read-answer.ts"
import { openService } from "../../../apps/server/spec/harness/test-service.ts"
import { until } from "../../../apps/server/spec/harness/until.ts"
import type { Kind } from "./fault-deployment.ts"
import { faultRow } from "./fault-row.ts"
import {
  type Act,
  CLOSE_BY_SECONDS,
  finishActs,
  isOver,
  PERMIT_WINDOW_TOKENS,
  RESERVED,
  startPermitLoad,
} from "./permit-load.ts"
import { drawn, ROUNDS, roundsOf } from "./rounds.ts"
import { steppedClock } from "./stepped-clock.ts"

const CONNECTIONS = 8
/** The kill falls at a drawn instant of this time under load. */
const LOAD_MS = 600
const DEADLINE_MS = 300_000 + 15_000 * ROUNDS

/** Every act that was answered is as it was answered. */
async function checkActs(child: Child, acts: readonly Act[]): Promise<void> {
  for (const { name, permit_id, redemptions, run_id, ended } of acts) {
    if (permit_id === undefined) continue
    const { status, body } = await child.get(`/permits/${permit_id}`)
    const state = textAt(body, "state")
    expect({ name, status, route: textAt(body, "route_id") }).toEqual({ name, status: 200, route: name })
    if (run_id !== undefined) expect({ name, state, run: body.run_id }).toEqual({ name, state: "closed", run: run_id })
    // Its end is sealed a moment after its time is over.
    if (ended === true) expect(["open", "ended"], name).toContain(state)
    if (redemptions > 0) expect(body, name).toHaveProperty("redeemed_at")
    expect(redemptions, `${name} is redeemed once at most`).toBeLessThanOrEqual(1)
  }
}

const totalOf = async (child: Child, path: string): Promise<number> => numberAt((await child.get(path)).body, "total")

/** Every permit and every run is of one act, and every act has its own. */
async function checkCounts(child: Child, acts: readonly Act[]): Promise<void> {
  const opened = acts.flatMap(({ permit_id = [] }) => permit_id)
  expect(new Set(opened).size, "no two acts have one permit").toBe(opened.length)
  const states = await Promise.all(["open", "closed", "ended"].map(state => totalOf(child, `/permits?state=${state}`)))
  expect(
    states.reduce((sum, count) => sum + count, 0),
    "no act has two permits",
  ).toBe(opened.length)
  const runs = acts.flatMap(({ run_id, refused }) => run_id ?? refused ?? [])
  expect(new Set(runs).size, "no two acts have one run").toBe(runs.length)
  expect(await totalOf(child, "/runs"), "no act was closed or refused twice").toBe(runs.length)
}

async function killPermits(context: TestContext, kind: Kind): Promise<void> {
  const row = faultRow(context, "kill -9 under permits", kind)
  const folder = mkdtempSync(join(tmpdir(), "runseal-killed-permits-"))
  const url = kind === "PostgreSQL" ? await newPostgresUrl() : undefined
  const clock = steppedClock(context)
  const keysDir = join(folder, "keys")
  const options = [
    ...["--data-dir", join(folder, "data"), "--keys-dir", keysDir, "--window-token-budget", `${PERMIT_WINDOW_TOKENS}`],
    ...["--anonymous-rate-limit", "1000000", "--permit-rate-limit", "1000000"],
    // The clock is set ahead so that permits end.
    ...["--max-clock-step", "300"],
    ...(url === undefined ? [] : ["--database-url", url]),
  ]
  let child: Child
  const start = async (): Promise<void> => {
    child = await startChild(options, clock.env)
  }
  context.onTestFinished(async () => {
    await child?.end("SIGKILL")
    rmSync(folder, { recursive: true, force: true })
  })
  const acts: Act[] = []
  await start()
  let shifted = 0
  for (; row.rounds < Math.max(2, roundsOf(0.3)); row.rounds++) {
    const before = acts.length
    const load = startPermitLoad(child!, acts, CONNECTIONS)
    await until("permits are opened", () => acts.length > before + CONNECTIONS)
    // Every second kill falls while permits end that nobody closed.
    if (row.rounds % 2 === 1) {
      shifted += (CLOSE_BY_SECONDS + 1) * 1000
      await clock.shift(shifted, child!)
    }
    await sleep(LOAD_MS * drawn(`killed permits ${kind}`, row.rounds))
    await child!.end("SIGKILL")
    await load.stop()
    row.acknowledged += acts.slice(before).filter(isOver).length
    await start()
    await checkActs(child!, acts)
    row.retried += await finishActs(child!, acts)
    await checkActs(child!, acts)
    await checkCounts(child!, acts)
  }
  await clock.shift(shifted + (CLOSE_BY_SECONDS + 1) * 1000, child!)
  await until(
    "every permit that nobody closed has ended",
    async () => (await totalOf(child!, "/permits?state=open")) === 0,
  )
  const [statement = "", ...lines] = (await child!.get("/runs/export")).text.trimEnd().split("\n")
  const trust = (await child!.get("/.well-known/runseal-trust.json")).text
  expect(await verifyExport([statement, ...lines], [trust])).toMatchObject({ verdict: COMPLETENESS_VERDICTS.chain })
  const totals = JSON.parse(statement).windows.map(({ total }: { readonly total: number }) => total)
  const used = acts.reduce((sum, act) => sum + (act.run_id === undefined ? 0 : act.used), 0)
  // Of an act that was started and that nobody reported, the window holds what was reserved.
  const unreported = acts.flatMap(({ run_id, permit_id }) => (run_id === undefined && permit_id ? [permit_id] : []))
  const started = await Promise.all(unreported.map(async id => (await permitAt(child!, id)).redeemed_at !== undefined))
  expect(
    totals.reduce((sum: number, total: number) => sum + total, 0),
    "windows hold what was used",
  ).toBe(used + RESERVED * started.filter(Boolean).length)
  expect((await child!.end("SIGTERM")).code).toBe(0)
  const open = () =>
    openDatabase(url === undefined ? { kind: "pglite", dataDir: join(folder, "data/db") } : { kind: "postgres", url })
  const service = await openService({ open, keysDir, clock: { nowMs: () => Date.now() + shifted, advance: () => {} } })
  service.statements.push(statement)
  await checkHouse(service).finally(service.close)
  const count = (isCounted: (act: Act) => boolean): number => acts.filter(isCounted).length
  row.note = `${count(({ run_id }) => run_id !== undefined)} closed, ${count(({ refused }) => refused !== undefined)} refused by a full window`
}

describe("a server killed while permits are opened, redeemed, closed and ended", () => {
  test("on the embedded database", context => killPermits(context, "PGlite"), DEADLINE_MS)
  test.skipIf(postgresStart.kind === "absent")(
    postgresTitle,
    context => killPermits(context, "PostgreSQL"),
    DEADLINE_MS,
  )
})
