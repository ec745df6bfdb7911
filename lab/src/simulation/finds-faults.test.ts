/** The simulation finds faults: each of these changes of the real code makes it fail. */
import { execFile } from "node:child_process"
import { fileURLToPath } from "node:url"
import { describe, expect, test } from "vitest"
import { CHANGES_VARIABLE, type SourceChange } from "./change-source.ts"

const CHANGE_SOURCE = fileURLToPath(new URL("./change-source.ts", import.meta.url))
const MAIN = fileURLToPath(new URL("./main.ts", import.meta.url))
/** Within so many seeds each must show. */
const SEEDS = 120

type Fault = {
  readonly name: string
  readonly changes: readonly SourceChange[]
  /** What the simulation says of it. */
  readonly found: RegExp
}

const FAULTS: readonly Fault[] = [
  {
    name: "the head is remembered before the commit",
    changes: [
      {
        file: "sealing/commit-batch.ts",
        from: "      if (batch.entries.length > 0) {\n",
        to: "      await context.heads.remember({ size: batch.log.size(), root: batch.log.root() })\n      if (batch.entries.length > 0) {\n",
      },
    ],
    found: /remembered before they are committed/,
  },
  {
    name: "an answer does not wait until the head is remembered",
    changes: [
      {
        file: "sealing/batches.ts",
        from: "    await context.heads.remember({ size: batch.log.size(), root: batch.log.root() })\n",
        to: "    context.heads.remember({ size: batch.log.size(), root: batch.log.root() }).catch(() => {})\n",
      },
    ],
    found: /no head file covers it/,
  },
  {
    name: "a log of the same process is gone on with although the store's has moved",
    changes: [
      {
        file: "sealing/build-ahead.ts",
        from: "known !== undefined && known.range.size === head.size && equalBytes(rootOf(known.range), head.root)",
        to: "known !== undefined",
      },
    ],
    found: /(?:seals again|is answered) without faults/,
  },
  {
    name: "a batch that was built ahead is written without a comparison",
    changes: [
      {
        file: "sealing/build-ahead.ts",
        from: "  if (!isAt(base.frontier, head)) return false\n",
        to: "  return true\n",
      },
    ],
    found: /(?:seals again|is answered) without faults/,
  },
  {
    name: "a charge under a key is made without its window's lock",
    changes: [
      { file: "store/tables/tenant-windows.ts", from: "do update set total = stored.total\n", to: "do nothing\n" },
    ],
    // A window that is not locked is not known either.
    found: /is answered without faults|every window of a batch is locked/,
  },
  {
    name: "a charge takes the place of what its window holds",
    changes: [{ file: "store/tables/tenant-windows.ts", from: "stored.total + excluded.total", to: "excluded.total" }],
    found: /follow each other|total of|shows its charge/,
  },
  {
    name: "an unknown outcome of a commit is called a refusal",
    changes: [
      {
        file: "store/driver/session.ts",
        from: 'throw new StoreError("outcome_unknown", { late: error.late })',
        to: 'throw new StoreError("unavailable", { late: error.late })',
      },
      {
        file: "store/driver/session.ts",
        from: 'throw new StoreError("outcome_unknown", { late: answered',
        to: 'throw new StoreError("unavailable", { late: answered',
      },
    ],
    found: /was answered that nothing was written/,
  },
  {
    name: "a transaction whose BEGIN failed goes on",
    changes: [{ file: "store/driver/session.ts", from: "[starting,", to: "[starting.catch(() => connection.client)," }],
    found: /AssertionError|a start was refused/,
  },
  {
    name: "a lost connection is used again",
    changes: [
      { file: "store/driver/connection-pool.ts", from: "gone: () => live.delete(connection)", to: "gone: () => false" },
    ],
    found: /without faults|does not start again|never answered/,
  },
  {
    name: "a batch neither locks idempotency keys nor looks at them",
    changes: [
      { file: "sealing/locked-rows.ts", from: "lockClaims(tx, items, now),", to: "new Map()," },
      {
        file: "sealing/commit-batch.ts",
        from: "lockClaims(tx, isAhead ? items : [], context.nowMs())",
        to: "new Map()",
      },
      { file: "sealing/commit-batch.ts", from: "withoutTaken(items, rows.keys)", to: "items" },
      { file: "sealing/build-ahead.ts", from: "const free = withoutTaken(items, keys)", to: "const free = built" },
    ],
    found: /has one key and \d records/,
  },
  {
    name: "a start does not look how far the log had grown",
    changes: [{ file: "sealing/pinned-deployment.ts", from: "  await heads.start(db)\n", to: "" }],
    found: /is accepted, \d+ are remembered/,
  },
]

/** A simulation in a process of its own, from fixed seeds. */
const simulate = (changes: readonly SourceChange[], seeds: number): Promise<{ status: number; output: string }> =>
  new Promise(resolve => {
    const options = ["--import", CHANGE_SOURCE, MAIN, "--from", "1", "--runs", `${seeds}`, "--workers", "1"]
    const env = { ...process.env, [CHANGES_VARIABLE]: JSON.stringify(changes) }
    execFile(process.execPath, options, { encoding: "utf8", env }, (error, stdout, stderr) => {
      const status = error === null ? 0 : typeof error.code === "number" ? error.code : -1
      resolve({ status, output: `${stdout}\n${stderr}` })
    })
  })

describe("a simulation of the service in which", () => {
  test.each(FAULTS)("$name fails", async ({ changes, found }) => {
    const { status, output } = await simulate(changes, SEEDS)
    expect(output).toMatch(found)
    expect(output).toMatch(/npm run simulate -- --seed \d+/)
    expect(status).toBe(1)
  })

  test("nothing is changed passes", async () => {
    const { status, output } = await simulate([], 5)
    expect(status, output).toBe(0)
    expect(output).toMatch(/5 seeds from 1 in/)
  })
})
