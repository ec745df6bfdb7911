/** The way to PostgreSQL fails: cut in the middle of commits, gone for a while, or slow. */
import { setTimeout as sleep } from "node:timers/promises"
import { describe, expect, onTestFinished, type TestContext, test } from "vitest"
import { newPostgresUrl, postgresStart, postgresTitle } from "../../../apps/server/spec/database/databases.ts"
import { until } from "../../../apps/server/spec/harness/until.ts"
import { type DatabaseLink, type LinkMode, openLink } from "./database-link.ts"
import { type Deployment, openDeployment } from "./fault-deployment.ts"
import { holdersAt, type Load, startLoad } from "./fault-load.ts"
import { type FaultRow, faultRow } from "./fault-row.ts"
import { drawn, roundsOf } from "./rounds.ts"

const CONNECTIONS = 8
const DEADLINE_MS = 600_000

type Linked = { readonly link: DatabaseLink; readonly deployment: Deployment; readonly row: FaultRow }

/** A deployment whose server reaches its database by way of the link; checks and the judge of the end do not. */
async function openLinked(context: TestContext, fault: string): Promise<Linked> {
  const url = await newPostgresUrl()
  const link = await openLink(url)
  onTestFinished(() => link.close())
  const row = faultRow(context, fault, "PostgreSQL")
  const deployment = await openDeployment(context, { kind: "PostgreSQL", row, url, serverUrl: link.url })
  return { link, deployment, row }
}

function take(row: FaultRow, load: Load): void {
  row.acknowledged += load.acknowledged()
  row.unacknowledged += load.unacknowledged()
}

/** Load goes on while the link is in each of the modes for a moment, and is whole between them. */
async function failAndRestore(context: TestContext, fault: string, modes: readonly LinkMode[]): Promise<FaultRow> {
  const { link, deployment, row } = await openLinked(context, fault)
  const { memory, secrets, start, check, finish } = deployment
  const child = await start()
  for (const [round, mode] of modes.entries()) {
    const load = startLoad([child.url], { memory, secrets, connections: CONNECTIONS, persistent: true })
    await until("the load begins", () => load.acknowledged() > 0)
    await sleep(100 * drawn(fault, round))
    link.set(mode)
    const cuts = link.cuts()
    await until("the fault is felt", () => (mode.kind === "cut" ? link.cuts() > cuts : load.unacknowledged() > 0))
    await sleep(300 * drawn(`${fault} for`, round))
    link.set({ kind: "whole" })
    const before = load.acknowledged()
    await until("the service comes back", () => load.acknowledged() >= before + CONNECTIONS)
    await load.stop()
    take(row, load)
    row.rounds++
    await check(child)
  }
  if (link.cuts() > 0) row.note = `${link.cuts()} commits cut`
  await finish(child)
  return row
}

const rounds = <Mode>(part: number, modes: readonly Mode[]): readonly Mode[] =>
  Array.from({ length: Math.max(modes.length, roundsOf(part)) }, (_, i) => modes[i % modes.length]!)

describe.skipIf(postgresStart.kind === "absent")(postgresTitle, () => {
  test(
    "a connection cut at COMMIT: nothing acknowledged is lost, what was not may be there, whole",
    async context => {
      const modes: readonly LinkMode[] = [
        { kind: "cut", when: "before" },
        { kind: "cut", when: "after" },
      ]
      await failAndRestore(context, "connection cut at COMMIT", rounds(0.12, modes))
    },
    DEADLINE_MS,
  )

  test(
    "a database out of reach: refused at once, and taken up again",
    async context => {
      await failAndRestore(context, "database out of reach", rounds(0.04, [{ kind: "down" }]))
    },
    DEADLINE_MS,
  )

  test(
    "a slow disk: every acknowledgement is kept, and whoever reads does not wait for it",
    async context => {
      const { link, deployment, row } = await openLinked(context, "slow disk (COMMIT answers 4–500 ms late)")
      const { memory, secrets, start, finish } = deployment
      const child = await start()
      let commits = 0
      link.set({ kind: "slow", delayMs: () => 4 + Math.floor(497 * drawn("slow", commits++)) })
      const load = startLoad([child.url], { memory, secrets, connections: CONNECTIONS, persistent: true })
      await until("runs are sealed all the same", () => load.acknowledged() >= roundsOf(0.2) * CONNECTIONS)
      // One commit that takes very long: what reads is answered again and again before it ends.
      let over = false
      link.set({
        kind: "slow",
        delayMs: () => {
          setTimeout(() => (over = true), HELD_MS)
          return HELD_MS
        },
      })
      await sleep(100)
      over = false
      const read = await readUntil(child.url, secrets, () => over)
      link.set({ kind: "whole" })
      await load.stop()
      take(row, load)
      row.rounds = commits
      row.note = `${read} reads while a commit took ${HELD_MS} ms`
      expect(read, "reads answered while a commit was held").toBeGreaterThan(READS_AT_LEAST)
      expect(row.unacknowledged, "slow is not broken").toBe(0)
      await finish(child)
    },
    DEADLINE_MS,
  )
})

/** How long one commit is held while others read: the server gives no statement up before 15 s. */
const HELD_MS = 4_000
/** Of reads that waited for the commit there would be one. */
const READS_AT_LEAST = 12

/** Reads of every kind, one after the other, until the time has come. */
async function readUntil(url: string, secrets: readonly string[], over: () => boolean): Promise<number> {
  const [holder] = holdersAt(url, secrets)
  const paths = ["/runs?limit=5", "/runs/1", "/log/checkpoint", "/runs/search?limit=1", "/log/entry/1", "/ready"]
  let read = 0
  for (; !over(); read++) {
    const path = paths[read % paths.length]!
    const { status } = await holder!.get(path)
    expect({ path, status }).toEqual({ path, status: 200 })
  }
  return read
}
