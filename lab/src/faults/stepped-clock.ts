/** A clock for servers that a test steps while they run. */
import { mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { TestContext } from "vitest"
import type { Child } from "../../../apps/server/spec/harness/child.ts"
import { textAt } from "../../../apps/server/spec/harness/read-answer.ts"
import { until } from "../../../apps/server/spec/harness/until.ts"

export const PAUSED = /^The clock (is behind|is ahead|was stepped)/
/** How far the server's clock may be from the one it was given when its readiness is read, in milliseconds. */
const FELT_WITHIN_MS = 20_000

export type SteppedClock = {
  readonly env: NodeJS.ProcessEnv
  /** A file for the clock of another machine. */
  readonly elsewhere: (milliseconds: number) => string
  /** Steps the clock, and waits until the server is ready by it, or not ready because of it. */
  readonly shift: (milliseconds: number, child: Child, then?: "ready" | "paused") => Promise<void>
}

export function steppedClock(context: TestContext): SteppedClock {
  const folder = mkdtempSync(join(tmpdir(), "runseal-clock-"))
  context.onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const file = join(folder, "shift")
  writeFileSync(file, "0")
  const preload = new URL("./shifted-clock.ts", import.meta.url).href
  return {
    env: { NODE_OPTIONS: `--import=${preload}`, FAULT_CLOCK_FILE: file },
    elsewhere: milliseconds => {
      writeFileSync(`${file}.elsewhere`, `${milliseconds}`)
      return `${file}.elsewhere`
    },
    shift: async (milliseconds, child, then = "ready") => {
      // Whole at every moment.
      writeFileSync(`${file}.new`, `${milliseconds}`)
      renameSync(`${file}.new`, file)
      await until(`the server is ${then} on a clock of ${milliseconds} ms more`, async () => {
        const { status, body } = await child.get("/ready")
        if (then === "paused") return status === 503 && PAUSED.test(textAt(body, "error"))
        return (
          status === 200 &&
          Math.abs(Date.parse(textAt(body, "checked_at")) - Date.now() - milliseconds) < FELT_WITHIN_MS
        )
      })
    },
  }
}
