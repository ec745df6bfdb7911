/**
 * The examples of docs/api.md, run as they are written: a block after `<!-- answers STATUS: KEYS -->` is given to a shell,
 * in the order of the page, and its curl must be answered with that status and exactly those keys.
 */
import { execFile } from "node:child_process"
import { existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { type Child, startChild } from "../harness/child.ts"

const ROOT = fileURLToPath(new URL("../../../..", import.meta.url))
const api = readFileSync(join(ROOT, "docs/api.md"), "utf8")

type Example = { readonly status: number; readonly keys: readonly string[]; readonly script: string }

const examples: readonly Example[] = [
  ...api.matchAll(/^<!-- answers (\d{3})(?:: ([\w ]+))? -->\n```sh\n([\s\S]*?)^```$/gm),
].map(([, status, keys = "", script = ""]) => ({
  status: Number(status),
  keys: keys.split(" ").filter(key => key !== ""),
  script,
}))

test("docs/api.md has examples, and each curl of this service is one", () => {
  expect(examples.length).toBeGreaterThan(6)
  const curls = api.match(/^curl /gm)?.length
  expect(examples.filter(({ script }) => /^curl /m.test(script))).toHaveLength(curls ?? 0)
  expect(api.match(/^```sh$/gm)).toHaveLength(examples.length)
})

describe.skipIf(!existsSync("/usr/bin/curl"))("docs/api.md, run with curl", () => {
  const folder = mkdtempSync(join(tmpdir(), "runseal-examples-"))
  let child: Child

  /** Runs a block in a folder where the repository's examples are, against the child instead of port 8080. */
  const run = async (script: string): Promise<string> => {
    const written = script
      .replaceAll("localhost:8080", child.url)
      .replaceAll("curl -s", "curl -s -w '%{stderr}%{http_code}\\n'")
    const path = `${join(ROOT, "node_modules/.bin")}:${process.env.PATH}`
    const text = written.replaceAll("npx verifier", "verifier")
    const env = { ...process.env, PATH: path }
    const { stdout, stderr } = await promisify(execFile)("/bin/sh", ["-ec", text], { cwd: folder, env })
    return `${stderr}\n${stdout}`
  }

  beforeAll(async () => {
    symlinkSync(join(ROOT, "examples"), join(folder, "examples"))
    child = await startChild(["--data-dir", join(folder, "data")])
  })
  afterAll(async () => {
    await child.end("SIGTERM")
    rmSync(folder, { recursive: true, force: true })
  })

  test.each(examples.map(example => [/^curl .*/m.exec(example.script)?.[0], example] as const))(
    "%s",
    async (_line, example) => {
      const [status = "", ...rest] = (await run(example.script)).split("\n")
      expect(Number(status)).toBe(example.status)
      if (example.keys.length === 0) return
      const file = / -o (\S+)/.exec(example.script)?.[1]
      const text = file === undefined ? rest.join("\n") : readFileSync(join(folder, file), "utf8")
      expect(Object.keys(JSON.parse(text)).toSorted()).toEqual(example.keys.toSorted())
      if (example.script.includes("npx verifier")) expect(rest.join("\n")).toMatch(/VERIFIED AND ANCHORED/)
    },
  )
})
