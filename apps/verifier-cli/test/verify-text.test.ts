import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import fc from "fast-check"
import { afterAll, describe, expect, test } from "vitest"
import { VERDICTS } from "../../../libs/core/src/verify/report.ts"
import { parseTrustFile } from "../src/trust-store.ts"
import { verifyInput } from "../src/verify-text.ts"
import { writeDocuments } from "./documents.ts"

const folder = mkdtempSync(join(tmpdir(), "runseal-documents-"))
writeDocuments(folder)
afterAll(() => rmSync(folder, { recursive: true }))

const documents = readdirSync(folder).map(name => ({ name, bytes: readFileSync(join(folder, name)) }))
const trusts = [parseTrustFile(readFileSync(join(folder, "trust.json")), "trust.json").keys]
const style = { colour: false, ascii: false }
const NO_FLAGS = { allowUnanchored: false, showEvidenceSummary: false, strict: false, json: false }
const flags = fc.record({ allowUnanchored: fc.boolean(), showEvidenceSummary: fc.boolean(), strict: fc.boolean() })
const verdicts: readonly string[] = Object.values(VERDICTS)

describe.each(documents)("$name", ({ bytes }) => {
  test("under any flags the last line is the verdict, or there is no line and one on standard error", () => {
    fc.assert(
      fc.property(flags, chosen => {
        const { stdout, stderr, exit } = verifyInput(bytes, trusts, { ...chosen, json: false }, style)
        if (exit === 2) {
          expect(stdout).toBe("")
          expect(stderr).toMatch(/^verifier: [^\n]+\n$/)
        } else {
          expect(stderr).toBe("")
          expect(verdicts).toContain(stdout.split("\n").at(-2))
          expect(stdout.split("\n").filter(line => verdicts.includes(line))).toHaveLength(1)
        }
      }),
      { numRuns: 8 },
    )
  })

  test("text and JSON give the same verdict and exit code", () => {
    const text = verifyInput(bytes, trusts, NO_FLAGS, style)
    const json = verifyInput(bytes, trusts, { ...NO_FLAGS, json: true }, style)
    expect(json.exit).toBe(text.exit)
    const { verdict, exit_code } = text.exit === 2 ? {} : JSON.parse(json.stdout)
    expect(verdict).toBe(text.exit === 2 ? undefined : text.stdout.split("\n").at(-2))
    expect(exit_code).toBe(text.exit === 2 ? undefined : text.exit)
  })

  test("without trust in anybody nothing that is anchored verifies", () => {
    const { stdout, exit } = verifyInput(bytes, [], { ...NO_FLAGS, allowUnanchored: true }, style)
    expect(exit === 0 && !stdout.includes("NOT ANCHORED")).toBe(false)
  })
})

test("bytes that are no document end in 2", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 300 }), bytes => {
      expect(verifyInput(bytes, trusts, NO_FLAGS, style).exit).toBe(2)
    }),
  )
})

test("a bundle cut anywhere ends in 2", () => {
  const whole = readFileSync(join(folder, "ok.json"))
  fc.assert(
    fc.property(fc.nat(whole.length - 1), length => {
      expect(verifyInput(whole.subarray(0, length), trusts, NO_FLAGS, style).exit).toBe(2)
    }),
  )
})
