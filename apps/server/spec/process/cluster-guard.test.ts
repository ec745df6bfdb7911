/** A cluster does not outlive the process that started it, also when that was killed and no handler of its own ran. */
import { spawn } from "node:child_process"
import { once } from "node:events"
import { chmodSync, readdirSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { expect, test } from "vitest"
import { testFolder } from "../../../../libs/core/test/fixtures/test-folder.ts"
import { postgresStart, postgresTitle } from "../database/databases.ts"
import { until } from "../harness/until.ts"

const PROGRAM = fileURLToPath(new URL("../database/cluster-program.ts", import.meta.url))
const parent = testFolder("runseal-guarded")
// The server's account goes through it.
chmodSync(parent, 0o755)

function lives(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

test.skipIf(postgresStart.kind === "absent").each<NodeJS.Signals>(["SIGKILL", "SIGTERM"])(
  `a cluster ${postgresTitle} ends with the process that was ended by %s, and leaves no folder`,
  async signal => {
    const program = spawn(process.execPath, [PROGRAM, parent], { stdio: ["ignore", "pipe", "inherit"] })
    const [line]: Buffer[] = await once(program.stdout, "data")
    const pid = Number(line)
    expect(lives(pid)).toBe(true)
    program.kill(signal)
    await until("the cluster has ended and left no folder", () => !lives(pid) && readdirSync(parent).length === 0)
  },
)
