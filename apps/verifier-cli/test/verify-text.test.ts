import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import type { TrustedKeys } from "@runseal/log/trust/trusted-keys"
import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { verifyText } from "../../../libs/core/src/verify/document.ts"
import { VERDICTS } from "../../../libs/core/src/verify/report.ts"
import { testFolder } from "../../../libs/core/test/fixtures/test-folder.ts"
import { parseTrustFile } from "../src/trust-store.ts"
import { answerOf, type VerifyFlags } from "../src/verify-text.ts"
import { writeDocuments } from "./sample-documents.ts"

const folder = testFolder("runseal-documents")
writeDocuments(folder)

const documents = readdirSync(folder).map(name => ({ name, bytes: readFileSync(join(folder, name)) }))
const trusts = [parseTrustFile(readFileSync(join(folder, "trust.json")), "trust.json").keys]
const style = { colour: false, ascii: false }
const NO_FLAGS = {
  allowUnanchored: false,
  showEvidenceSummary: false,
  strict: false,
  json: false,
  readAtMs: Date.now(),
}
const answerOn = (input: Uint8Array, keys: readonly TrustedKeys[], chosen: VerifyFlags) =>
  answerOf(verifyText(input, keys), input, chosen, style)
const flags = fc.record({ allowUnanchored: fc.boolean(), showEvidenceSummary: fc.boolean(), strict: fc.boolean() })
const verdicts: readonly string[] = Object.values(VERDICTS)

describe.each(documents)("$name", ({ bytes }) => {
  test("under any flags the last line is the verdict, or there is no line and one on standard error", () => {
    fc.assert(
      fc.property(flags, chosen => {
        const { stdout, stderr, exit } = answerOn(bytes, trusts, { ...NO_FLAGS, ...chosen })
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
    const text = answerOn(bytes, trusts, NO_FLAGS)
    const json = answerOn(bytes, trusts, { ...NO_FLAGS, json: true })
    expect(json.exit).toBe(text.exit)
    const { verdict, exit_code } = text.exit === 2 ? {} : JSON.parse(json.stdout)
    expect(verdict).toBe(text.exit === 2 ? undefined : text.stdout.split("\n").at(-2))
    expect(exit_code).toBe(text.exit === 2 ? undefined : text.exit)
  })

  test("without trust in anybody nothing that is anchored verifies", () => {
    const { stdout, exit } = answerOn(bytes, [], { ...NO_FLAGS, allowUnanchored: true })
    expect(exit === 0 && !stdout.includes("NOT ANCHORED")).toBe(false)
  })
})

test("bytes that are no document end in 2", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 300 }), bytes => {
      expect(answerOn(bytes, trusts, NO_FLAGS).exit).toBe(2)
    }),
  )
})

test("a bundle cut anywhere ends in 2", () => {
  const whole = readFileSync(join(folder, "ok.json"))
  fc.assert(
    fc.property(fc.nat(whole.length - 1), length => {
      expect(answerOn(whole.subarray(0, length), trusts, NO_FLAGS).exit).toBe(2)
    }),
  )
})

describe("a document dated ahead of the reader's clock", () => {
  const whole = readFileSync(join(folder, "ok.json"))
  const sealed = Date.parse(JSON.parse(whole.toString()).run.created_at)
  const at = (readAtMs: number, strict = false) =>
    answerOn(whole, trusts, { ...NO_FLAGS, json: true, strict, readAtMs })
  const codes = ({ stdout }: { stdout: string }): readonly string[] =>
    JSON.parse(stdout).limitations.map(({ code }: { code: string }) => code)

  test("by up to five minutes is taken as it is", () => {
    for (const readAtMs of [sealed - 290_000, sealed, sealed + 1e12])
      expect(codes(at(readAtMs))).not.toContain("future_dated")
  })

  test("by more verifies with a limitation, which --strict refuses", () => {
    const found = at(sealed - 301_000)
    expect(found.exit).toBe(0)
    expect(codes(found)).toContain("future_dated")
    expect(JSON.parse(at(sealed - 301_000, true).stdout)).toMatchObject({ verdict: "FAILED", first_failure: "strict" })
  })
})
