/**
 * Every command that takes an address: what it fetches is what the user named, and nothing that a server names in its place. The
 * user may name any host, also one of his own network: the command runs with his rights and sends nothing along.
 */
import { execFile } from "node:child_process"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { createServer, type IncomingMessage, type RequestListener, type Server } from "node:http"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest"

const MAIN = fileURLToPath(new URL("../../src/main.ts", import.meta.url))

type Listening = { readonly server: Server; readonly address: string }
async function serve(listener: RequestListener): Promise<Listening> {
  const server = createServer(listener)
  await new Promise<void>(ready => server.listen(0, "127.0.0.1", ready))
  const bound = server.address()
  return { server, address: `http://127.0.0.1:${typeof bound === "object" ? bound?.port : 0}` }
}

let folder: string
let named: Listening
let elsewhere: Listening
let seen: IncomingMessage[] = []
let strayed = 0
let answer: RequestListener = (_, response) => response.end()
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "runseal-fetched-"))
  named = await serve((request, response) => {
    seen.push(request)
    answer(request, response)
  })
  elsewhere = await serve((_, response) => {
    strayed++
    response.end("{}")
  })
})
beforeEach(() => {
  seen = []
  strayed = 0
})
afterAll(() => {
  for (const { server } of [named, elsewhere]) {
    server.closeAllConnections()
    server.close()
  }
  rmSync(folder, { recursive: true })
})

const run = (...words: readonly string[]): Promise<{ readonly text: string; readonly code: number | null }> =>
  new Promise(done => {
    const env = { HOME: folder, XDG_CONFIG_HOME: folder, RUNSEAL_KEY: "canary-key", NODE_NO_WARNINGS: "1" }
    const child = execFile(process.execPath, [MAIN, ...words], { env }, (_, stdout, stderr) =>
      done({ text: stdout + stderr, code: child.exitCode }),
    )
  })

const COMMANDS: readonly (readonly [what: string, words: (address: string) => readonly string[]])[] = [
  ["verifier <address>", address => [address]],
  ["verifier --ndjson <address>", address => ["--ndjson", address]],
  ["verifier --complete <address>", address => ["--complete", address]],
  ["verifier export <address>", address => ["export", "--sigstore", join(folder, "out"), address]],
  ["verifier trust add <address>", address => ["trust", "add", address]],
  ["verifier trust show <address>", address => ["trust", "show", address]],
  ["verifier log audit <address>", address => ["log", "audit", address]],
]

const TARGETS = (): readonly string[] => [
  elsewhere.address,
  "http://169.254.169.254/latest",
  "file:///etc/passwd",
  "//evil.example/x",
]
const FORBIDDEN = [
  "http://169.254.169.254/latest/meta-data",
  "http://10.0.0.1/",
  "http://example.com/x",
  "ftp://127.0.0.1/x",
  "gopher://127.0.0.1/x",
  "https://user:password@127.0.0.1/x",
]

/** Every target and address is tried with the first command, and the first of each with every other: one reader fetches for all. */
describe.each(COMMANDS.map(([what, words], at) => [what, words, at === 0 ? undefined : 1] as const))(
  "%s",
  (_, words, most) => {
    test("follows no redirect to another host, port or scheme, and says where it led", async () => {
      for (const target of TARGETS().slice(0, most)) {
        answer = (_, response) => response.writeHead(302, { location: target }).end()
        const { text, code } = await run(...words(`${named.address}/x`))
        expect(code).toBe(2)
        expect(text).toMatch(/redirects to .*another host|redirects to nowhere/)
      }
      expect(strayed).toBe(0)
    })

    test("asks at most six times when a host sends it round, and sends no key, cookie or referrer along", async () => {
      answer = (_, response) => response.writeHead(302, { location: "/x", "set-cookie": "canary=1" }).end()
      const { text, code } = await run(...words(`${named.address}/x`))
      expect(code).toBe(2)
      expect(text).toContain("redirects more than 5 times")
      expect(seen.length).toBeLessThanOrEqual(12)
      for (const { headers } of seen) {
        expect(headers).not.toHaveProperty("cookie")
        expect(headers).not.toHaveProperty("referer")
        expect(headers).not.toHaveProperty("authorization")
        expect(JSON.stringify(headers)).not.toContain("canary")
      }
    })

    test.each(FORBIDDEN.slice(0, most))("does not ask %s", async address => {
      const { text, code } = await run(...words(address))
      expect(code).toBe(2)
      expect(text).toMatch(/is not fetched/)
      expect(text).not.toContain("password@")
    })
  },
)

test("a document names addresses, and none of them is asked", async () => {
  const address = `${elsewhere.address}/x`
  const document = {
    kind: "runseal.bundle.v1",
    $schema: address,
    url: address,
    trust: address,
    run: { service: address },
    anchors: { receipt: { url: address, checkpoint: `${address}\n1\nAAAA\n` } },
  }
  const path = join(folder, "document.json")
  writeFileSync(path, JSON.stringify(document))
  for (const command of [[path], ["--show-evidence-summary", path], ["export", "--sigstore", join(folder, "o"), path]])
    expect([1, 2]).toContain((await run(...command)).code)
  expect(strayed + seen.length).toBe(0)
})
