/** `GET /verify` reads exports as `verifier --complete` does: the same code, the same words. In a real browser where Chromium is installed. */
import { mkdtempSync, rmSync, truncateSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { gzipSync, zstdCompressSync } from "node:zlib"
import { utf8Encode } from "@runseal/canonical"
import { passedRows, problemText, statementRows, windowTables } from "@runseal/core/presentation/completeness-account"
import { NOT_EXPANDED } from "@runseal/core/presentation/saved-text"
import { COMPLETENESS_VERDICTS, type Completeness, foldExport } from "@runseal/core/verify/completeness"
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest"
import { makeDeployment } from "../../../../libs/core/test/fixtures/deployment.ts"
import { createApp } from "../../src/app.ts"
import { CHROMIUM, HAS_CHROMIUM, standingVisitor, type Visit } from "../harness/browser.ts"
import { fullRequest } from "../harness/sample-requests.ts"
import { standingSevenStates } from "../harness/seven-states.ts"
import { choose, drop, shown, verified } from "../harness/verify-page-parts.ts"

/** One byte more than the page reads. */
const TOO_MANY_BYTES = 268_435_457

describe.skipIf(!HAS_CHROMIUM)(`an export on the page in ${CHROMIUM}`, () => {
  const { service } = standingSevenStates()
  const { address, visit } = standingVisitor(() => createApp(service().deps))
  const folder = mkdtempSync(join(tmpdir(), "runseal-page-"))
  afterAll(() => rmSync(folder, { recursive: true }))
  let visited: Visit
  let lines: readonly string[]

  beforeAll(async () => {
    visited = await visit("/verify")
    lines = (await (await service().request("/runs/export")).text()).trimEnd().split("\n")
  })
  afterEach(() => expect(visited.complaints).toEqual([]))

  const textOf = (parts: readonly string[]): string => parts.map(line => `${line}\n`).join("")
  const inNode = (parts: readonly string[]): Completeness => {
    const fold = foldExport([service().deps.trust], undefined, { budgets: true })
    parts.forEach((line, at) => {
      fold.take(at + 1, utf8Encode(line))
    })
    const found = fold.end()
    if ("unreadable" in found) throw new Error(found.unreadable)
    return found
  }

  test("that is whole gets the verdict of the command, with what its statement says", async () => {
    const found = await verified(visited.page, { name: "export.ndjson", bytes: textOf(lines) })
    const expected = inNode(lines)
    expect(found.verdict).toBe(COMPLETENESS_VERDICTS.chain)
    expect(found.verdict).toBe(expected.verdict)
    expect(found.checks).toEqual(passedRows(expected).map(({ label, value }) => [label, "pass", value]))
    for (const { value } of statementRows(expected.statement!)) expect(found.text).toContain(value)
    for (const { sentence } of expected.limitations) expect(found.text).toContain(sentence)
    expect(windowTables(expected).length).toBeGreaterThan(0)
    for (const { heading } of windowTables(expected)) expect(found.text).toContain(heading)
  })

  test.each([2, -1])("from which line %i was dropped is FAILED, and the record is named", async dropped => {
    const rest = lines.toSpliced(dropped < 0 ? lines.length - 1 : dropped - 1, 1)
    const found = await verified(visited.page, { name: `without-${dropped}.ndjson`, bytes: textOf(rest) })
    const expected = inNode(rest)
    expect(expected.problem_count).toBeGreaterThan(0)
    expect(found.verdict).toBe(COMPLETENESS_VERDICTS.failed)
    for (const problem of expected.problems) expect(found.text).toContain(problemText(problem))
    expect(found.text).toMatch(/document \d+ is missing/)
    expect(found.checks).toEqual([])
  })

  test("is known by its first line where its name does not say so, also when it is dropped", async () => {
    await drop(visited.page, "#document-zone", { name: "saved.txt", bytes: textOf(lines) })
    expect((await shown(visited.page, "saved.txt")).verdict).toBe(COMPLETENESS_VERDICTS.chain)
    const alone = await verified(visited.page, { name: "statement.json", bytes: lines[0] ?? "" })
    expect(alone.verdict).toBe("EXPORT STATEMENT VERIFIED AND ANCHORED")
  })

  test("without its statement, or empty, shows nothing", async () => {
    const found = await verified(visited.page, { name: "headless.ndjson", bytes: textOf(lines.slice(1)) })
    expect(found.text).toContain("an export begins with its statement, and this line is none")
    const empty = await verified(visited.page, { name: "empty.ndjson", bytes: "\n" })
    expect(empty.verdict).toBe("NOTHING WAS VERIFIED")
  })

  test("is judged again when the visitor loads other keys, and then proves nothing", async () => {
    const { page } = await visit("/verify")
    await verified(page, { name: "export.ndjson", bytes: textOf(lines) })
    const stranger = makeDeployment({ seed: "stranger" }).trustDocument
    await choose(page, "trust", { name: "stranger.json", bytes: JSON.stringify(stranger) })
    await page.locator("#result .verdict.bad").waitFor()
    expect(await page.locator("#result").innerText()).toContain("Keys inside a record prove nothing")
  })

  test("of more bytes than the page reads is refused with the command that reads it", async () => {
    const path = join(folder, "large.ndjson")
    writeFileSync(path, textOf(lines))
    truncateSync(path, TOO_MANY_BYTES)
    await visited.page.locator("#document-file").setInputFiles(path)
    const { verdict, text } = await shown(visited.page, "large.ndjson")
    expect(verdict).toBe("NOTHING WAS VERIFIED")
    expect(text).toContain("larger than 268435456 bytes")
    expect(text).toContain("verifier large.ndjson --complete")
  })

  test("is read in gzip whatever its name, and in Zstandard the page says what to do", async () => {
    const packed = gzipSync(textOf(lines))
    for (const name of ["export.ndjson.gz", "saved"])
      expect((await verified(visited.page, { name, bytes: packed })).verdict).toBe(COMPLETENESS_VERDICTS.chain)
    const without = await verified(visited.page, { name: "short.gz", bytes: gzipSync(textOf(lines.toSpliced(3, 1))) })
    expect(without.verdict).toBe(COMPLETENESS_VERDICTS.failed)
    expect(without.text).toMatch(/document 3 is missing/)
    const wrong = [20, packed.length >> 1, packed.length - 1].map(cut => packed.subarray(0, cut))
    for (const more of [Buffer.alloc(2), Buffer.from("and more"), packed]) wrong.push(Buffer.concat([packed, more]))
    for (const [at, bytes] of wrong.entries()) {
      const broken = await verified(visited.page, { name: `wrong-${at}.gz`, bytes })
      expect(broken.verdict).toBe("NOTHING WAS VERIFIED")
      expect(broken.text).toContain(NOT_EXPANDED)
    }
    const empty = await verified(visited.page, { name: "empty.gz", bytes: gzipSync("") })
    expect(empty.verdict).toBe("NOTHING WAS VERIFIED")
    expect(empty.text).toContain("it is empty")
    const zstd = await verified(visited.page, { name: "export.ndjson.zst", bytes: zstdCompressSync(textOf(lines)) })
    expect(zstd.verdict).toBe("NOTHING WAS VERIFIED")
    expect(zstd.text).toContain("unpack it with unzstd")
  })

  test("may begin with a byte order mark, whatever its name, and in UTF-16 the page says what to do", async () => {
    for (const name of ["marked.ndjson", "marked.txt"]) {
      const marked = await verified(visited.page, { name, bytes: `\ufeff${textOf(lines)}` })
      expect(marked.verdict).toBe(COMPLETENESS_VERDICTS.chain)
    }
    for (const name of ["wide.ndjson", "wide.txt"]) {
      const wide = await verified(visited.page, { name, bytes: Buffer.from(`\ufeff${textOf(lines)}`, "utf16le") })
      expect(wide.verdict).toBe("NOTHING WAS VERIFIED")
      expect(wide.text).toContain("UTF-16 text")
    }
  })

  test("of 10,000 runs is not more than the page reads", async () => {
    await service().execute(fullRequest())
    const [last] = (await (await service().request("/runs/export")).text()).trimEnd().split("\n").slice(-1)
    expect(Buffer.byteLength(last ?? "")).toBeGreaterThan(10_000)
    expect(10_000 * Buffer.byteLength(last ?? "")).toBeLessThan(TOO_MANY_BYTES)
  })

  test("that expands to more than the page reads is left off", async () => {
    const bomb = gzipSync(Buffer.concat([Buffer.from(textOf(lines)), Buffer.alloc(TOO_MANY_BYTES, "\n")]))
    const found = await verified(visited.page, { name: "bomb.ndjson.gz", bytes: bomb })
    expect(found.verdict).toBe("NOTHING WAS VERIFIED")
    expect(found.text).toContain("verifier bomb.ndjson.gz --complete")
  })

  test("is sent nowhere: the page asked for itself and the trust document", () => {
    expect(visited.asked).toEqual([`${address()}/verify`, `${address()}/.well-known/runseal-trust.json`])
  })
})
