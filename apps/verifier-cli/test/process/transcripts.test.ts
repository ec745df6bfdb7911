/** Runs every transcript. After a wanted change: npm run transcripts -w @runseal/verifier, and read the diff. */
import { readdirSync, readFileSync, writeFileSync } from "node:fs"
import { createServer, type Server } from "node:http"
import type { AddressInfo } from "node:net"
import { join } from "node:path"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { testFolder } from "../../../../libs/core/test/fixtures/test-folder.ts"
import { formatTranscript, parseTranscript, runCommand, type Step } from "../command-transcript.ts"
import { install, PACKAGE } from "../installed.ts"
import { writeDocuments } from "../sample-documents.ts"
import { writeLogs } from "../small-log.ts"

const TRANSCRIPTS = join(PACKAGE, "transcripts")
const writing = process.env.RUNSEAL_WRITE_TRANSCRIPTS === "1"

const root = testFolder("runseal-verifier")
const documents = join(root, "documents")
let server: Server
let path: string

beforeAll(async () => {
  writeDocuments(documents)
  writeLogs(documents)
  path = install(root)
  server = await serve(documents)
})
afterAll(() => {
  server.close()
})

/** Serves the documents, the trust document at its well-known place, and a redirect to each kind of place. */
async function serve(folder: string): Promise<Server> {
  const own = createServer((request, response) => {
    const { pathname } = new URL(request.url ?? "/", "http://localhost")
    const to = { "/moved": "/ok.json", "/away": "http://localhost:9/ok.json", "/around": "/around" }[pathname]
    if (to !== undefined) return response.writeHead(302, { location: to }).end()
    const name = pathname === "/.well-known/runseal-trust.json" ? "trust.json" : pathname.slice(1)
    const known = readdirSync(folder).includes(name)
    return known ? response.end(readFileSync(join(folder, name))) : response.writeHead(404).end("{}")
  })
  await new Promise<void>(ready => own.listen(0, "127.0.0.1", ready))
  return own
}

const portOf = (address: ReturnType<Server["address"]>): string => `${(address as AddressInfo).port}`

/** Runs the steps in order, with a trust store of their own. */
async function replay(name: string, steps: readonly Step[]): Promise<readonly Step[]> {
  const port = portOf(server.address())
  const home = join(root, "homes", name)
  const env = { PATH: `${path}:/usr/bin:/bin`, HOME: home, PORT: port, STORE: join(home, ".config/runseal/trust") }
  const done: Step[] = []
  for (const step of steps) {
    const output = await runCommand(step.command, { cwd: documents, env })
    done.push({ ...step, output: output.replaceAll(`:${port}`, ":$PORT").replaceAll(home, "$HOME") })
  }
  return done
}

describe.each(readdirSync(TRANSCRIPTS).filter(name => name.endsWith(".txt")))("transcript %s", name => {
  test("every command prints and ends as written", async () => {
    const text = readFileSync(join(TRANSCRIPTS, name), "utf8")
    const replayed = await replay(name, parseTranscript(text))
    if (writing) writeFileSync(join(TRANSCRIPTS, name), formatTranscript(replayed))
    expect(formatTranscript(replayed)).toBe(writing ? formatTranscript(replayed) : text)
  })
})
