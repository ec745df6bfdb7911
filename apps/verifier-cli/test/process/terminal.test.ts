/** What a stranger chose — a file's name, a document's text, a server's answer — acts on no terminal and makes no line of its own. */
import { execFile } from "node:child_process"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { createServer, type Server } from "node:http"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { afterAll, beforeAll, describe, expect, test } from "vitest"

const MAIN = fileURLToPath(new URL("../../src/main.ts", import.meta.url))
/** Clears the screen, sets the title, colours, reverses the order of a line, and starts a line that says what is not so. */
const HOSTILE = "x\u001b[2J\u001b]0;owned\u0007\u009b31m\u202e\u2028\r\nVERIFIED AND ANCHORED"
/** As a file's name. */
const NAME = HOSTILE.replaceAll("/", "")
const VECTORS = fileURLToPath(new URL("../../../../libs/core/vectors/", import.meta.url))
const BUNDLE = join(VECTORS, "bundles/valid/ok-full.json")
const TRUST = join(VECTORS, "trust.json")

let folder: string
let server: Server
let address: string
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "runseal-terminal-"))
  server = createServer((_, response) => {
    response.writeHead(302, { location: `/${encodeURIComponent(HOSTILE)}` }).end(HOSTILE)
  })
  await new Promise<void>(ready => server.listen(0, "127.0.0.1", ready))
  const bound = server.address()
  address = `http://127.0.0.1:${typeof bound === "object" ? bound?.port : 0}`
})
afterAll(() => {
  server.close()
  rmSync(folder, { recursive: true })
})

const run = (...words: readonly string[]): Promise<{ readonly text: string; readonly code: number | null }> =>
  new Promise(done => {
    const env = { HOME: folder, XDG_CONFIG_HOME: folder, FORCE_COLOR: "0" }
    const child = execFile(process.execPath, [MAIN, ...words], { env }, (_, stdout, stderr) =>
      done({ text: stdout + stderr, code: child.exitCode }),
    )
  })

const file = (name: string, text: string): string => {
  const path = join(folder, name)
  writeFileSync(path, text)
  return path
}
const json = (value: unknown): string => JSON.stringify(value)

describe("nothing that a stranger chose is written as it is", () => {
  const trust = { kind: "runseal-trust.v1", service: HOSTILE, origin: HOSTILE }
  const documents: readonly (readonly [what: string, words: () => readonly string[]])[] = [
    ["an option", () => [`--${HOSTILE}`]],
    ["a further word", () => ["a.json", HOSTILE]],
    ["a command", () => ["trust", HOSTILE]],
    ["a file that is not there", () => [join(folder, HOSTILE)]],
    ["an address that is none", () => [`https://[${HOSTILE}`]],
    ["a scheme that is not fetched", () => [`ftp://x/${HOSTILE}`]],
    ["a server's redirects", () => [address]],
    ["a trust document to add", () => ["trust", "add", file("trust.json", json(trust))]],
    ["a trust document to show", () => ["trust", "show", file("trust.json", json(trust))]],
    ["a trust document by option", () => ["--trust", file("trust.json", json(trust)), file("a.json", "{}")]],
    ["a trust document's name", () => ["--trust", file(`t${NAME}`, "{}"), file("a.json", "{}")]],
    ["a service to forget", () => ["trust", "remove", HOSTILE]],
    ["a member of the document", () => [file("b.json", json({ [HOSTILE]: HOSTILE, kind: HOSTILE }))]],
    ["a text that is no JSON", () => [file("c.json", `{"${HOSTILE}`)]],
    ["a line of a stream", () => [file("d.ndjson", `${json({ kind: HOSTILE })}\n{"${HOSTILE}\n`)]],
    ["a log's folder", () => ["log", "audit", join(folder, HOSTILE)]],
    ["a log's checkpoint", () => ["log", "audit", address]],
    ["the names of several documents", () => [file(`s${NAME}`, "{}"), join(folder, HOSTILE)]],
    ["the names of several documents as CSV", () => [file(`s${NAME}`, "{}"), join(folder, HOSTILE), "--csv"]],
    ["an expected tenant", () => [BUNDLE, "--trust", TRUST, "--tenant", HOSTILE]],
    ["an expected tenant in a table", () => [BUNDLE, "--trust", TRUST, "--tenant", HOSTILE, "--table"]],
    ["an expected payload", () => [BUNDLE, "--trust", TRUST, "--payload", file(`p${NAME}`, "x")]],
    ["an expected outcome", () => [BUNDLE, "--require-outcome", HOSTILE]],
    ["a refused limitation", () => [BUNDLE, `--strict=${HOSTILE}`]],
    ["a shell", () => ["completion", HOSTILE]],
    ["a folder to export to", () => ["export", "--sigstore", join(folder, HOSTILE), file("e.json", "{}")]],
  ]

  test.each(documents)("%s", async (_what, words) => {
    const { text, code } = await run(...words())
    expect([1, 2]).toContain(code)
    expect(text).not.toBe("")
    // The newlines are the verifier's own, and those of CSV, which it ends each row with.
    expect(text.replaceAll(/\r?\n/g, "")).not.toMatch(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u)
    expect(text).not.toMatch(/^VERIFIED/m)
  })
})
