/** What a start checks before it makes anything, and what the commands beside the service never make. */
import { execFile } from "node:child_process"
import { existsSync, mkdtempSync } from "node:fs"
import { createServer, type Server } from "node:net"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import postgres from "postgres"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { testFolder } from "../../../../libs/core/test/fixtures/test-folder.ts"
import { newPostgresUrl, postgresStart, postgresTitle, unmigratedPostgresUrl } from "../database/databases.ts"
import { type Ended, runToEnd } from "../harness/child.ts"

const folder = testFolder("runseal-checks")
const NO_DESCRIPTORS = fileURLToPath(new URL("no-descriptors.ts", import.meta.url))
let holder: Server
let port = ""
beforeAll(async () => {
  holder = createServer().listen(0, "127.0.0.1")
  await new Promise(done => holder.once("listening", done))
  const bound = holder.address()
  port = typeof bound === "object" && bound !== null ? `${bound.port}` : ""
})
afterAll(() => {
  holder.close()
})

const refused = (stderr: RegExp) => ({ code: 1, stderr: expect.stringMatching(stderr) })

describe("a start", () => {
  test.each([
    ["callers", () => ["--port", port]],
    ["metrics", () => ["--port", "0", "--metrics-port", port]],
  ])("reports that the port for %s is in use before it makes anything", async (_name, options) => {
    const dataDir = join(folder, "used-port")
    const ended = await runToEnd([...options(), "--data-dir", dataDir])
    expect(ended).toMatchObject(refused(/^runseal: cannot listen on 127\.0\.0\.1:\d+: the port is in use\b[^\n]*\n$/))
    expect(ended.stdout).toBe("")
    expect(existsSync(dataDir)).toBe(false)
  })

  test("names the file descriptors where none is left, and neither the keys folder nor the data folder", async () => {
    const folders = ["keys", "data"].map(name => mkdtempSync(join(folder, name)))
    const limited = ["-c", 'ulimit -n 128 && exec "$0" "$@"', process.execPath, NO_DESCRIPTORS, ...folders]
    const { stdout } = await promisify(execFile)("sh", limited)
    expect(JSON.parse(stdout)).toEqual(
      folders.map(() => expect.stringMatching(/^No file descriptor is left: raise the limit/)),
    )
  })

  test("reports a host that is no address of this machine before it makes anything", async () => {
    const dataDir = join(folder, "foreign-host")
    const ended = await runToEnd(["--host", "192.0.2.1", "--port", "0", "--data-dir", dataDir])
    expect(ended).toMatchObject(refused(/192\.0\.2\.1:0: this machine has no such address/))
    expect(existsSync(dataDir)).toBe(false)
  })

  test.each(["--data-dir", "--keys-dir"])(
    "in a folder below /proc, where none can be made, ends (%s)",
    async option => {
      const ended = await runToEnd(["--port", "0", "--data-dir", join(folder, "proc"), option, "/proc/runseal/data"])
      expect(ended).toMatchObject(refused(/folder \/proc\/runseal\/data\S* cannot be used/))
    },
  )
})

test.skipIf(postgresStart.kind === "absent")(
  `a log that another process keeps locked ${postgresTitle} is no bug`,
  async () => {
    const url = await newPostgresUrl()
    const sql = postgres(url, { max: 1 })
    await sql`begin`
    await sql`select from log_head for update`
    const ended = await runToEnd(["--port", "0", "--keys-dir", join(folder, "locked"), "--database-url", url])
    await sql.end({ timeout: 1 })
    expect(ended).toMatchObject(refused(/^runseal: Another process keeps a lock in the database; try again\.\n$/))
  },
)

const COMMANDS: readonly (readonly [string, readonly string[]])[] = [
  ["keys list", ["keys", "list"]],
  ["keys list --json", ["keys", "list", "--json"]],
  ["keys rotate", ["keys", "rotate"]],
  ["keys revoke", ["keys", "revoke", "0".repeat(64), "--from", "2026-01-15T12:00:00Z"]],
  ["heads list", ["heads", "list"]],
  ["heads forget", ["heads", "forget", "0".repeat(32)]],
  ["clock confirm", ["clock", "confirm"]],
]

describe("a command where there is no deployment makes none", () => {
  test.each(COMMANDS)("%s in a folder", async (_name, command) => {
    const dataDir = join(folder, "none")
    const ended = await runToEnd(["--data-dir", dataDir, ...command])
    expect(ended).toMatchObject(refused(/^runseal: There is no deployment in the data folder [^\n]+\n$/))
    expect(existsSync(dataDir)).toBe(false)
  })

  test.skipIf(postgresStart.kind === "absent").each(COMMANDS)(`%s ${postgresTitle}`, async (_name, command) => {
    const dataDir = join(folder, "none")
    const url = await unmigratedPostgresUrl()
    const ended: Ended = await runToEnd(["--data-dir", dataDir, "--database-url", url, ...command])
    expect(ended).toMatchObject(refused(/^runseal: There is no deployment in the database: [^\n]+\n$/))
    expect(existsSync(dataDir)).toBe(false)
  })
})
