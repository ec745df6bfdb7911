/** The service under npm: a signal to npm alone leaves no server behind. docs/deployment.md, "As a package". */
import { type ChildProcess, spawn } from "node:child_process"
import { fileURLToPath } from "node:url"
import { afterEach, expect, test } from "vitest"
import { testFolder } from "../../../../libs/core/test/fixtures/test-folder.ts"
import { until } from "../harness/until.ts"

const ROOT = fileURLToPath(new URL("../../../..", import.meta.url))
const folder = testFolder("runseal-npm")

type UnderNpm = { readonly npm: ChildProcess; readonly server: number }
const started: ChildProcess[] = []
const servers: number[] = []
afterEach(() => {
  for (const npm of started.splice(0)) npm.kill("SIGKILL")
  for (const server of servers.splice(0)) if (isAlive(server)) process.kill(server, "SIGKILL")
})

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

/** Starts the service with npm; the lines of its log name its own process. */
async function startUnderNpm(words: readonly string[]): Promise<UnderNpm> {
  const npm = spawn("npm", [...words, "--port", "0", "--data-dir", folder], {
    cwd: ROOT,
    stdio: ["ignore", "pipe", "ignore"],
  })
  started.push(npm)
  let output = ""
  npm.stdout.setEncoding("utf8").on("data", (text: string) => (output += text))
  await until("the service listens", () => output.includes('"listening"'))
  const server = Number(/"pid":(\d+)/.exec(output)?.[1])
  servers.push(server)
  return { npm, server }
}

test.each<readonly [string, NodeJS.Signals, readonly string[]]>([
  ["npm start", "SIGTERM", ["start", "--"]],
  ["npm start", "SIGKILL", ["start", "--"]],
  ["npm exec", "SIGTERM", ["exec", "--no", "--", "runseal-server"]],
])("%s that gets a %s ends its server", async (_name, signal, words) => {
  const { npm, server } = await startUnderNpm(words)
  expect(isAlive(server)).toBe(true)
  npm.kill(signal)
  await until("the server has ended", () => !isAlive(server))
})
