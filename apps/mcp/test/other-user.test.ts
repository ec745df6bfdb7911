/** What a guarded server can read and change of the gateway's files, as the gateway's user and as another. Skipped where the tests do not run as root. */
import { chmodSync, readFileSync, writeFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { expect, test } from "vitest"
import { gatewayWords, newFolder, processesOf, run, startAgent, until } from "./gateway-fixture.ts"

const SERVER = fileURLToPath(new URL("changing-server.mjs", import.meta.url))

test.skipIf(process.getuid?.() !== 0)(
  "a server that runs as another user reads neither keys nor pins, and changes none (root)",
  async () => {
    const folder = newFolder()
    chmodSync(folder.path, 0o755)
    const dataDir = `${folder.path}/data`
    const words = (...more: readonly string[]) => ["--data-dir", dataDir, "--name", "guarded", ...more]
    // It makes keys and pins.
    const agent = await startAgent(words("--", process.execPath, SERVER, `${dataDir}/none`, folder.file("calls", "")), {
      RUNSEAL_URL: "",
    })
    await agent.client.callTool({ name: "act", arguments: {} })
    const files = ["records/keys/signing-keys.json", "service-key", "pins/guarded.jsonl"].map(
      name => `${dataDir}/${name}`,
    )
    const before = files.map(file => readFileSync(file, "utf8"))
    /** A server that reports what it is and what it can read, and changes what it can. */
    const probe = async (...options: readonly string[]): Promise<string> => {
      const found = folder.file("found", "")
      chmodSync(found, 0o666)
      const script = `{ id -u; id -G; echo "$HOME"; for f in ${files.join(" ")}; do cat "$f" && echo changed >> "$f"; done; } > ${found} 2>/dev/null`
      const gateway = run(gatewayWords(...words(...options), "--", "sh", "-c", script), {
        ...process.env,
        RUNSEAL_URL: "",
      })
      await gateway.ended
      return readFileSync(found, "utf8")
    }
    const [uid, groups, home, ...read] = (await probe("--run-as", "nobody")).trim().split("\n")
    expect(uid).toMatch(/^[1-9]\d*$/)
    expect(groups).toMatch(/^[1-9]\d*$/)
    expect(home).not.toBe(process.env.HOME)
    expect(read).toEqual([])
    expect(files.map(file => readFileSync(file, "utf8"))).toEqual(before)
    // The probe is not blind.
    const asOwn = await probe()
    for (const text of before) expect(asOwn).toContain(text.trim())
    for (const [at, file] of files.entries()) writeFileSync(file, before[at] ?? "")

    chmodSync(dataDir, 0o755)
    const open = run(gatewayWords(...words("--run-as", "nobody"), "--", "sh", "-c", "true"), {
      ...process.env,
      RUNSEAL_URL: "",
    })
    expect(await open.ended).toBe(1)
    expect(open.output()).toContain("closed to others")
    await agent.close()
    for (const pid of processesOf(dataDir)) process.kill(pid, "SIGTERM")
    await until(() => (processesOf(dataDir).length === 0 ? true : undefined))
    folder.remove()
  },
)

test("--run-as names a user of this machine, and a server that is a command", async () => {
  const folder = newFolder()
  const refused = async (...words: readonly string[]): Promise<string> => {
    const gateway = run(gatewayWords("--data-dir", `${folder.path}/data`, ...words), {
      ...process.env,
      RUNSEAL_URL: "http://127.0.0.1:9",
    })
    expect(await gateway.ended).toBe(1)
    return gateway.output()
  }
  expect(await refused("--run-as", "no such user", "--", "sh")).toMatch(/names no user of this machine|runs as root/)
  expect(await refused("--run-as", "nobody", "--upstream", "http://127.0.0.1:9")).toContain(
    "a server that is a command",
  )
  folder.remove()
})
