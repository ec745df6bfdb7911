/** docs/keys-and-backups.md, "Keys of callers": an admin key made at the machine, without a server and beside one. */
import { cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, describe, expect, test } from "vitest"
import { newPostgresUrl, postgresStart, postgresTitle } from "../database/databases.ts"
import { type Child, type Ended, runToEnd, startChild } from "../harness/child.ts"
import { ADMIN, caller, type Holder } from "../harness/key-holders.ts"
import { expectRefused, listAt, numberAt, textAt } from "../harness/read-answer.ts"
import { request } from "../harness/sample-requests.ts"
import { verifyWithCli } from "../harness/verifier.ts"

const folders: string[] = []
afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true })
})
function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "runseal-glass-"))
  folders.push(folder)
  return folder
}

/** A caller over the child's socket. */
const over = ({ url }: Child, secret?: string): Holder =>
  caller({ request: (path, init) => fetch(url + path, init) }, secret)

/** The secret that was printed: alone on standard output. */
function secretOf({ code, stdout, stderr }: Ended): string {
  expect({ code, stderr }).toMatchObject({ code: 0 })
  expect(stdout).toMatch(/^rsk_[0-9a-f]{48}\n$/)
  expect(stderr).not.toContain(stdout.trim())
  return stdout.trim()
}

const mintAt = (options: readonly string[], name = "break glass"): Promise<Ended> =>
  runToEnd([...options, "--mint-admin-key", name])

test("the secret has the prefix of the deployment", async () => {
  const { stdout } = await mintAt(["--data-dir", join(newFolder(), "data"), "--key-prefix", "eu1"])
  expect(stdout).toMatch(/^rsk_eu1_[0-9a-f]{48}\n$/)
})

describe("with --secret-file", () => {
  const folder = newFolder()
  const options = ["--data-dir", join(folder, "data")]
  const file = join(folder, "admin-key")
  const mintTo = (path: string): Promise<Ended> =>
    runToEnd([...options, "--mint-admin-key", "ops", "--secret-file", path])

  test("the secret is in a new file for its owner alone, and nowhere else", async () => {
    const { code, stdout, stderr } = await mintTo(file)
    expect({ code, stdout }).toEqual({ code: 0, stdout: "" })
    const secret = readFileSync(file, "utf8")
    expect(secret).toMatch(/^rsk_[0-9a-f]{48}\n$/)
    expect(stderr).not.toContain(secret.trim())
    expect(statSync(file).mode & 0o777).toBe(0o600)
  })

  test("no file is overwritten, no key is made then, and the option alone is refused", async () => {
    const before = readFileSync(file, "utf8")
    for (const path of [file, join(folder, "no-such-folder", "key")])
      expect(await mintTo(path)).toMatchObject({
        code: 1,
        stderr: expect.stringMatching(/^runseal: [^\n]*no file is overwritten/),
      })
    expect(readFileSync(file, "utf8")).toBe(before)
    expect((await runToEnd([...options, "--secret-file", file])).stderr).toContain(
      "--secret-file needs --mint-admin-key",
    )
    const server = await startChild(options)
    try {
      const { body } = await over(server, before.trim()).get("/admin/keys")
      expect(body).toMatchObject({ keys: [{ id: 1 }] })
      expect(listAt(body, "keys")).toHaveLength(1)
    } finally {
      await server.end("SIGTERM")
    }
  })
})

describe("on the embedded database", () => {
  const folder = join(newFolder(), "data")
  const options = ["--data-dir", folder]
  let secret = ""

  test("makes a key before the first start: the deployment is never open", async () => {
    secret = secretOf(await mintAt(options))
    expect(readdirSync(folder), "neither signing keys nor a log were made").toEqual(["db"])
  })

  test("the key administers; the server that runs holds the folder, and one sentence says so", async () => {
    const server = await startChild(options)
    try {
      expectRefused(await over(server).get("/runs"), 401)
      const { body } = await over(server, secret).get("/admin/keys")
      expect(body).toMatchObject({
        keys: [{ id: 1, name: "break glass", scope: "admin", tier: "production", revoked: false }],
      })
      expect((await over(server, secret).send("DELETE", "/admin/keys/1")).status).toBe(200)
      const { code, stdout, stderr } = await mintAt(options)
      expect({ code, stdout }).toEqual({ code: 1, stdout: "" })
      expect(stderr).toMatch(/^runseal: [^\n]*in use by another process[^\n]*\n$/)
    } finally {
      await server.end("SIGTERM")
    }
  })

  test("when every admin key is revoked, a new one opens the way again", async () => {
    const again = secretOf(await mintAt(options, "second"))
    const server = await startChild(options)
    try {
      expectRefused(await over(server, secret).get("/runs"), 401)
      const admin = over(server, again)
      expect((await admin.post("/admin/keys", ADMIN)).status).toBe(201)
      await admin.execute(request())
      const answered = `${(await admin.get("/admin/keys")).text}\n${(await admin.get("/runs")).text}`
      for (const output of [answered, server.stdout()])
        for (const shown of [secret, again]) expect(output).not.toContain(shown)
    } finally {
      await server.end("SIGTERM")
    }
  })

  test("a bundle that was published verifies straight from its address", async () => {
    const admin = secretOf(await mintAt(options, "publisher"))
    const server = await startChild(options)
    try {
      const trust = (await over(server).get("/.well-known/runseal-trust.json")).text
      const { body } = await over(server, admin).execute(request())
      const run = numberAt(body, "run_id")
      const { body: published } = await over(server, admin).post(`/admin/runs/${run}/publish`)
      const url = textAt(published, "url")
      expect(url).toMatch(new RegExp(`^${server.url}/public/runs/[0-9a-f]{32}/bundle\\.json$`))
      const verified = await verifyWithCli(url, trust)
      expect(verified).toMatchObject({ exit: 0, verdict: "VERIFIED AND ANCHORED, COMPLETE RECORD ANCHORED" })
      await over(server, admin).post(`/admin/runs/${run}/unpublish`)
      expect((await verifyWithCli(url, trust)).exit).toBe(2)
    } finally {
      await server.end("SIGTERM")
    }
  })

  test("makes no key in a copy of the database that is older than what was acknowledged", async () => {
    cpSync(join(folder, "db"), join(folder, "copy"), { recursive: true })
    const admin = secretOf(await mintAt(options, "acknowledged"))
    const server = await startChild(options)
    expect((await over(server, admin).execute(request())).status).toBe(200)
    await server.end("SIGTERM")
    rmSync(join(folder, "db"), { recursive: true })
    cpSync(join(folder, "copy"), join(folder, "db"), { recursive: true })
    const { code, stdout, stderr } = await mintAt(options)
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" })
    expect(stderr).toMatch(/it is an older copy/)
  })

  test("refuses a name too long in one sentence, before a database is made", async () => {
    const data = join(newFolder(), "data")
    const { code, stdout, stderr } = await mintAt(["--data-dir", data], "n".repeat(129))
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" })
    expect(stderr).toMatch(/^runseal: --mint-admin-key [^\n]+\n$/)
    expect(existsSync(data)).toBe(false)
  })
})

describe.skipIf(postgresStart.kind === "absent")(postgresTitle, () => {
  test("makes a key beside a running server, which knows it at once", async () => {
    const options = ["--database-url", await newPostgresUrl(), "--data-dir", newFolder()]
    const server = await startChild(options)
    try {
      expect((await over(server).get("/runs")).status).toBe(200)
      const secret = secretOf(await mintAt(options))
      expectRefused(await over(server).get("/runs"), 401)
      expect((await over(server, secret).get("/admin/keys")).body).toMatchObject({ keys: [{ id: 1 }] })
    } finally {
      await server.end("SIGTERM")
    }
  })

  test("says in one sentence when the database cannot be reached", async () => {
    const { code, stdout, stderr } = await mintAt(["--database-url", "postgres://nobody@127.0.0.1:1/none"])
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" })
    expect(stderr).toMatch(/^runseal: [^\n]+\n$/)
  })
})
