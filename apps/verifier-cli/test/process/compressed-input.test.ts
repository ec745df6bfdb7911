/** Documents one a line that are compressed: files, standard input and addresses give the answer of the plain text. */
import { spawn } from "node:child_process"
import { once } from "node:events"
import { appendFileSync, writeFileSync } from "node:fs"
import { createServer, type RequestListener } from "node:http"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { gzipSync, zstdCompressSync } from "node:zlib"
import { NOT_EXPANDED } from "@runseal/core/presentation/saved-text"
import { describe, expect, test } from "vitest"
import { makeDeployment, sealRun } from "../../../../libs/core/test/fixtures/deployment.ts"
import { exportText, stateExport } from "../../../../libs/core/test/fixtures/sample-exports.ts"
import { testFolder } from "../../../../libs/core/test/fixtures/test-folder.ts"
import { EXPANSION_FREE_BYTES } from "../../src/compressed-input.ts"

const MAIN = fileURLToPath(new URL("../../src/main.ts", import.meta.url))
const COMPLETE = "COMPLETE CHAIN VERIFIED AND ANCHORED"
const COMPRESS = { gz: gzipSync, zst: zstdCompressSync } as const

const folder = testFolder("runseal-compressed")

const deployment = makeDeployment({ seed: "compressed" })
const tenant = "api-key-5"
const records = ["ok", "stage_error", "ok"] as const
const bundles = records.map(outcome => sealRun(deployment, { outcome, tenant }).bundle)
const text = exportText(stateExport(deployment, bundles, { tenant }), ...bundles)
writeFileSync(join(folder, "trust.json"), JSON.stringify(deployment.trustDocument))

type Ran = { readonly exit: number | null; readonly output: string; readonly last: string }

/** Runs the command in the folder. @param input chunks for standard input */
async function run(words: readonly string[], input: readonly Uint8Array[] = []): Promise<Ran> {
  const child = spawn(process.execPath, [MAIN, ...words, "--trust", "trust.json"], { cwd: folder })
  const closed = once(child, "close")
  child.stdin.on("error", () => undefined)
  for (const chunk of input) if (!child.stdin.write(chunk)) await once(child.stdin, "drain")
  child.stdin.end()
  const [out, err] = await Promise.all([child.stdout.toArray(), child.stderr.toArray()])
  const [exit] = await closed
  const output = Buffer.concat([...out, ...err]).toString()
  return { exit, output, last: output.trimEnd().split("\n").at(-1) ?? "" }
}

function written(name: string, bytes: Uint8Array): string {
  writeFileSync(join(folder, name), bytes)
  return name
}

async function served<T>(listener: RequestListener, use: (address: string) => Promise<T>): Promise<T> {
  const server = createServer(listener)
  server.listen(0, "127.0.0.1")
  await once(server, "listening")
  const bound = server.address()
  try {
    return await use(`http://127.0.0.1:${typeof bound === "object" ? bound?.port : 0}/export.ndjson`)
  } finally {
    server.closeAllConnections()
    server.close()
  }
}

describe.each(["gz", "zst"] as const)("an export in .%s", ending => {
  const bytes = COMPRESS[ending](text)

  test("is verified as a file of any name, and from standard input byte by byte", async () => {
    const plain = await run([written("export.ndjson", Buffer.from(text)), "--complete"])
    expect(plain).toMatchObject({ exit: 0, last: COMPLETE })
    expect(await run([written(`export.ndjson.${ending}`, bytes), "--complete"])).toEqual(plain)
    expect(await run([written("saved", bytes), "--complete"])).toEqual(plain)
    expect(
      await run(["-", "--complete"], [...bytes.subarray(0, 8)].map(byte => Buffer.of(byte)).concat(bytes.subarray(8))),
    ).toEqual(plain)
  })

  test("is a stream of documents by its name", async () => {
    const ran = await run([written(`stream.ndjson.${ending}`, bytes)])
    expect(ran).toMatchObject({ exit: 0, last: "4 OF 4 DOCUMENTS PASSED" })
    const both = await run([`stream.ndjson.${ending}`, "trust.json"])
    expect(both.output).toContain("holds one document a line: verify it by itself")
  })

  test("that is cut off or damaged is told so, and is never complete", async () => {
    const cuts = [5, bytes.length >> 1, bytes.length - 1]
    const damaged = Buffer.from(bytes).fill(0, bytes.length >> 1, (bytes.length >> 1) + 8)
    for (const wrong of [...cuts.map(at => bytes.subarray(0, at)), damaged]) {
      const { exit, output } = await run([written("wrong", wrong), "--complete"])
      expect([1, 2]).toContain(exit)
      expect(output).not.toContain(COMPLETE)
      // Zstandard as Node writes it has no checksum: damage in its middle is found in the records.
      if (wrong === damaged && ending === "zst") expect(output).toContain("FAILED")
      else expect(output).toContain(`wrong ${NOT_EXPANDED}`)
    }
  })

  test("with something behind its end is refused, unless it is gzip that continues", async () => {
    const [first = "", ...rest] = text
      .trimEnd()
      .split("\n")
      .map(line => `${line}\n`)
    const two = Buffer.concat([COMPRESS[ending](first), COMPRESS[ending](rest.join(""))])
    const ran = await run([written("two", two), "--complete"])
    expect(ran).toMatchObject(
      ending === "gz"
        ? { exit: 0, last: COMPLETE }
        : {
            exit: 2,
            last: expect.stringContaining(`two ${NOT_EXPANDED}: unpack it with unzstd`),
          },
    )
    for (const more of ["and more", "\0\0", bytes.subarray(0, 12)]) {
      appendFileSync(join(folder, written("more", bytes)), more)
      const refused = await run(["more", "--complete"])
      expect(refused).toMatchObject({ exit: 2, last: expect.stringContaining(`more ${NOT_EXPANDED}`) })
    }
  })

  test("of no text is an empty export", async () => {
    const ran = await run([written("nothing", COMPRESS[ending]("")), "--complete"])
    expect(ran).toMatchObject({ exit: 2, last: expect.stringContaining("it is empty") })
  })

  test("is fetched as a compressed file, and as an answer that is larger than a document may be", async () => {
    const file = await served(
      (_, response) => response.end(bytes),
      address => run([`${address}.${ending}`, "--complete"]),
    )
    expect(file).toMatchObject({ exit: 0, last: COMPLETE })
    const blank = Buffer.alloc(1_048_576, "\n")
    const large = await served(
      (_, response) => {
        response.write(text)
        for (let mib = 0; mib < 70; mib++) response.write(blank)
        response.end()
      },
      address => run([address, "--complete"]),
    )
    expect(large).toMatchObject({ exit: 0, last: COMPLETE })
  })
})

test("an answer that is broken off is told so", async () => {
  const ran = await served(
    (_, response) => {
      response.write(text.slice(0, -10))
      setTimeout(() => response.destroy(), 200)
    },
    address => run([address, "--complete"]),
  )
  expect(ran.exit).toBe(2)
  expect(ran.output).toMatch(/127\.0\.0\.1:\d+ broke off before the end of its answer\./)
})

test("what expands to more than an export does is left off", async () => {
  const part = gzipSync(Buffer.alloc(16 * 1_048_576, "\n"))
  const parts = Array.from({ length: EXPANSION_FREE_BYTES / (16 * 1_048_576) + 1 }, () => part)
  const ran = await run(["-", "--complete"], parts)
  expect(ran.exit).toBe(2)
  expect(ran.output).toContain("The input expands to more than 100 times its size: unpack it with gunzip")
})
