import { canonicalize, parseStrictJson, StrictJsonError } from "@runseal/canonical"
import { describe, expect, test } from "vitest"
import { isUnreadable, verifyText } from "../../src/verify/document.ts"
import { makeDeployment } from "../fixtures/deployment.ts"
import { MAIN_SAMPLES, sealCorpus } from "../fixtures/sample-corpus.ts"

// Changes below the level of JSON values: what other parsers would read in another way, or would repair.

const { trust, ...deployment } = makeDeployment()
const { runs, receipts, attestations } = sealCorpus({ trust, ...deployment })
const main = runs.filter(({ name }) => MAIN_SAMPLES.includes(name))

const verified = (text: string | Uint8Array): boolean => {
  const report = verifyText(text, [trust])
  return !isUnreadable(report) && /VERIFIED/.test(report.verdict)
}

/** The value behind a text in its one form; undefined when it has none. */
function meaning(text: string): string | undefined {
  try {
    return canonicalize(parseStrictJson(text))
  } catch (error) {
    if (error instanceof StrictJsonError) return undefined
    throw error
  }
}

/** What is done at one place of a text. */
const EDITS: readonly ((text: string, at: number) => string)[] = [
  (text, at) => text.slice(0, at) + text.slice(at + 1),
  (text, at) => `${text.slice(0, at)}${text[at]}${text.slice(at)}`,
  (text, at) => text.slice(0, at) + String.fromCharCode(text.charCodeAt(at) ^ 1) + text.slice(at + 1),
  (text, at) => text.slice(0, at) + String.fromCharCode(text.charCodeAt(at) ^ 0x20) + text.slice(at + 1),
  ...['"', "{", "[", ",", "-", "0", "\\", " ", "\u0000", "\ud800", "\ufeff"].map(
    inserted => (text: string, at: number) => text.slice(0, at) + inserted + text.slice(at),
  ),
]

const documents = [
  ...receipts
    .filter(({ name }) => !name.includes("v1"))
    .map(({ name, document }) => ({ name: `receipt ${name}`, document, every: 7 })),
  ...attestations.map(({ name, document }) => ({ name: `attestation ${name}`, document, every: 7 })),
  ...main.map(({ name, document: { bundle } }) => ({ name: `bundle ${name}`, document: bundle, every: 307 })),
]

describe("a text that is changed anywhere says the same or is not verified", () => {
  test.each(documents)("$name", { timeout: 300_000 }, ({ document, every }) => {
    const text = JSON.stringify(document)
    const original = meaning(text)
    for (let at = 0; at < text.length; at += every)
      for (const edit of EDITS) {
        const changed = edit(text, at)
        if (verified(changed) && meaning(changed) !== original)
          expect.unreachable(`at ${at}: ${changed.slice(at - 9, at + 9)}`)
      }
  })
})

describe("another spelling of the same value", () => {
  const { bundle } = main[0]!.document
  const text = JSON.stringify(bundle)

  test("is the same record: white space, escapes, the order of keys", () => {
    const spellings = [
      JSON.stringify(bundle, null, 2),
      `\r\n\t ${text} \n`,
      text.replaceAll("/", "\\/"),
      text.replaceAll("kind", "\\u006bind"),
      JSON.stringify(Object.fromEntries(Object.entries(bundle).reverse())),
      canonicalize(bundle),
    ]
    for (const spelling of spellings) expect(verified(spelling)).toBe(true)
  })

  test("of a number that JSON allows is the same number", () => {
    for (const number of ["4321.0", "4.321e3", "43210E-1"])
      expect(verified(text.replace('"duration_us":4321', `"duration_us":${number}`))).toBe(true)
  })

  test.each([
    ["a byte order mark", `\ufeff${text}`],
    ["two byte order marks", `\ufeff\ufeff${text}`],
    ["a second document", `${text}\n${text}`],
    ["a trailing comma", text.replace(/\}$/, ",}")],
    ["a NUL behind it", `${text}\0`],
    ["a comment", `/* */${text}`],
    ["a form feed", `\f${text}`],
    ["a no-break space", `\u00a0${text}`],
    ["an escaped lone surrogate", text.replace("queue:letters", "queue:\\ud83d")],
    ["surrogates in the wrong order", text.replace("queue:letters", "queue:\\ude00\\ud83d")],
    ["a key spelt twice, once escaped", text.replace('"kind"', '"\\u006bind":"vfa.audit_bundle.v2","kind"')],
    ["a key spelt twice, first wrong", text.replace('"run_id"', '"run_id":1,"run_id"')],
    ["UTF-16", Buffer.from(text, "utf16le")],
    ["an overlong slash", overlong(text)],
    ["invalid UTF-8 in a text", Buffer.from(text.replace("queue:letters", "queue:\xff"), "latin1")],
  ])("%s is never read", (_, changed) => {
    expect(isUnreadable(verifyText(changed, [trust]))).toBe(true)
  })
})

/** A slash in two bytes, as decoders that do not look accept it (RFC 3629 §3). */
function overlong(text: string): Uint8Array {
  const bytes = Buffer.from(text)
  const at = bytes.indexOf("/")
  return Buffer.concat([bytes.subarray(0, at), Buffer.of(0xc0, 0xaf), bytes.subarray(at + 1)])
}
