/** docs/verifier.md, "One file for an auditor": a ZIP is verified as it is, and one that could be read in two ways is refused. */
import { existsSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { deflateRawSync } from "node:zlib"
import { clockSeconds } from "@runseal/core/vocabulary/scalars"
import { describe, expect, test, vi } from "vitest"
import { makeDeployment, sealRun } from "../../../libs/core/test/fixtures/deployment.ts"
import { smallPdf } from "../../../libs/core/test/fixtures/small-pdf.ts"
import { commandLineAnswer } from "../src/command-line.ts"
import { addTrust, showTrust } from "../src/trust-command.ts"
import { commandsInFolder } from "./commands-in-folder.ts"
import { type Entry, zip } from "./zip-files.ts"

const deployment = makeDeployment({ seed: "auditor" })
const { folder, verifier, write } = commandsInFolder("runseal-auditor-zip", deployment)
const { bundle } = sealRun(deployment, { outcome: "ok" })
const { bundle: other } = sealRun(deployment, { outcome: "pepg_deny" })
const stranger = makeDeployment({ seed: "stranger" })

type Document = typeof bundle
const textOf = (document: Document): string => JSON.stringify(document)
const reportOf = (document: Document, signer = deployment): Uint8Array =>
  smallPdf({ record: textOf(document), madeAt: clockSeconds(document.run.created_at) ?? 0 }, signer)

const RECORD: Entry = { name: "bundle.json", data: textOf(bundle) }
const WHOLE: readonly Entry[] = [
  { name: "HOW-TO-VERIFY.txt", data: "Read this first." },
  RECORD,
  { name: "report.pdf", data: reportOf(bundle) },
  { name: "trust.json", data: JSON.stringify(deployment.trustDocument) },
]

const verified = (bytes: Uint8Array, ...options: readonly string[]) => {
  const path = join(folder, "auditor.zip")
  writeFileSync(path, bytes)
  return verifier(path, ...options)
}
const KEYS_ALIKE =
  "your keys are the same as those of trust.json in the ZIP. If you took them from there, and did not compare their fingerprints with the operator, nothing is proven about who made the record."
const UNREAD = "not verified in the ZIP: HOW-TO-VERIFY.txt"
const KEYS_UNUSED = "trust.json in the ZIP was not used: keys that come with a record prove nothing about who made it."

test("a ZIP gives the verdict on its record, and on the report beside it", async () => {
  const { stdout, stderr, exit } = await verified(zip(WHOLE))
  expect(stdout).toContain("✓ report_in_zip         report.pdf verifies, and carries the record of bundle.json")
  expect(stdout.trimEnd().split("\n").at(-1)).toBe("VERIFIED AND ANCHORED, COMPLETE RECORD ANCHORED")
  expect({ stderr, exit }).toEqual({ stderr: `verifier: ${KEYS_ALIKE}\nverifier: ${UNREAD}\n`, exit: 0 })
})

test("what was not verified in the ZIP is named each time, also with --json and for several", async () => {
  const checkpoint = { name: "checkpoint.txt", data: "a forged one" }
  const forged = zip([...WHOLE, checkpoint])
  const sentence = "not verified in the ZIP: checkpoint.txt, HOW-TO-VERIFY.txt"
  for (const options of [[], ["--json"], ["--quiet"], ["--csv"], ["--table"]]) {
    const { stderr, exit } = await verified(forged, ...options)
    expect({ exit, options, named: stderr.includes(sentence) }).toEqual({ exit: 0, options, named: true })
  }
  const second = write("second.zip", "")
  writeFileSync(second, forged)
  const { stderr } = await verified(forged, second)
  expect(stderr).toContain(`auditor.zip and 1 more: ${sentence}`)
})

test("keys that differ from those in the ZIP are not called the same", async () => {
  const trust = { name: "trust.json", data: JSON.stringify(stranger.trustDocument) }
  const { stderr, exit } = await verified(zip([RECORD, trust]))
  expect({ stderr, exit }).toEqual({ stderr: `verifier: ${KEYS_UNUSED}\n`, exit: 0 })
})

test("no command writes or audits the record of a ZIP whose report is of another record", async () => {
  const path = join(folder, "two-records.zip")
  writeFileSync(path, zip([RECORD, { name: "report.pdf", data: reportOf(other) }]))
  const output = join(folder, "sigstore")
  const exported = await verifier("export", path, "--sigstore", output)
  expect({ exit: exported.exit, stderr: exported.stderr }).toMatchObject({
    exit: 1,
    stderr: expect.stringContaining("nothing was exported"),
  })
  expect(existsSync(output)).toBe(false)
  const reduced = await verifier("expand", path)
  expect({ stdout: reduced.stdout, exit: reduced.exit }).toEqual({ stdout: "", exit: 1 })
  expect(reduced.stderr).toContain("report.pdf carries another record than bundle.json")
})

test("one that somebody packed again, compressed and without the report, verifies as well", async () => {
  const packed = [RECORD, ...WHOLE.slice(3)].map(entry => ({
    ...entry,
    method: 8,
    extra: Buffer.from("UT\x05\x00\x01abcd"),
  }))
  expect(await verified(zip(packed))).toMatchObject({ exit: 0 })
})

test("keys in the ZIP are trusted by nobody: without the reader's own keys the verdict is that of a stranger's bundle", async () => {
  const trust = { name: "trust.json", data: JSON.stringify(stranger.trustDocument) }
  const { bundle: foreign } = sealRun(stranger, { outcome: "ok" })
  const entries = [
    { name: "bundle.json", data: textOf(foreign) },
    { name: "report.pdf", data: reportOf(foreign, stranger) },
    trust,
  ]
  const { stdout, stderr, exit } = await verified(zip(entries))
  expect(stdout.split("\n").filter(line => line.startsWith("NOT TRUSTED: "))).toHaveLength(1)
  expect(stdout.trimEnd().split("\n").at(-1)).toBe("FAILED")
  expect({ stderr, exit }).toEqual({ stderr: `verifier: ${KEYS_UNUSED}\n`, exit: 1 })
})

test.each([
  ["of another record", reportOf(other), "report.pdf carries another record than bundle.json"],
  ["signed by a stranger", reportOf(bundle, stranger), "report.pdf does not verify"],
  ["that is none", "%PDF-1.7 nothing", "report.pdf cannot be read"],
])("a report %s makes the verdict FAILED", async (_, data, sentence) => {
  const { stdout, exit } = await verified(zip([RECORD, { name: "report.pdf", data }]), "--json")
  const { verdict, first_failure, expectations } = JSON.parse(stdout)
  expect({ verdict, first_failure, exit }).toEqual({ verdict: "FAILED", first_failure: "report_in_zip", exit: 1 })
  expect(expectations[0].message).toContain(sentence)
})

test("in a table a ZIP is one document", async () => {
  const { stdout, exit } = await verified(zip(WHOLE), "--csv")
  expect({ rows: stdout.trimEnd().split("\r\n").length, exit }).toEqual({ rows: 2, exit: 0 })
})

describe("a hostile ZIP is refused in one sentence", () => {
  const zeros = Buffer.alloc(1024)
  const bomb = deflateRawSync(Buffer.alloc(100 * 1_048_576))
  const many = Array.from({ length: 17 }, (_, i) => ({ name: `${i}.json`, data: "{}" }))
  const zip64 = Buffer.from("\x01\x00\x08\x00\x00\x00\x00\x00\x00\x00\x00\x00", "latin1")
  const unicodeName = Buffer.from("up\x0b\x00\x01\x00\x00\x00\x00b.json", "latin1")
  const HAS_TWO_NAMES = "an entry has a second name, which other programs would use"
  const whole = zip(WHOLE)
  const gap = Buffer.concat([zip([RECORD]).subarray(0, 0), zeros, zip([RECORD])])
  test.each([
    [
      "a bomb that says so",
      zip([RECORD, { name: "b", data: "", method: 8, size: 100 * 1_048_576, packed: bomb }]),
      "unpacks to more than 67108864 bytes",
    ],
    [
      "a bomb that does not",
      zip([RECORD, { name: "b", data: "", method: 8, size: 10, packed: bomb }]),
      "b is damaged, or is not what the ZIP says of it",
    ],
    ["more than 16 entries", zip(many), "it has more than 16 entries"],
    ["no entry", Buffer.concat([Buffer.from("PK\x03\x04"), zip([])]), "it is empty"],
    ["a path", zip([RECORD, { name: "../bundle.json", data: "x" }]), "an entry has a name with a path"],
    ["a folder", zip([RECORD, { name: "a/", data: "" }]), "an entry has a name with a path"],
    ["a path of Windows", zip([{ name: "c:\\bundle.json", data: "x" }]), "an entry has a name with a path"],
    ["a name that ends early", zip([{ name: "bundle.json\0.txt", data: "x" }]), "an entry has a name with a path"],
    ["twice the same name", zip([RECORD, RECORD]), "it has two entries of one name"],
    ["twice, in capital letters", zip([RECORD, { ...RECORD, name: "Bundle.JSON" }]), "it has two entries of one name"],
    ["an encrypted entry", zip([{ ...RECORD, flags: 1 }]), "it is encrypted"],
    ["sizes behind the data", zip([{ ...RECORD, flags: 8 }]), "an entry is packed in a way that is not read here"],
    ["another compression", zip([{ ...RECORD, method: 93 }]), "an entry is packed in a way that is not read here"],
    ["ZIP64 by its size", zip([{ ...RECORD, size: 0xffffffff }]), "it is ZIP64"],
    ["ZIP64 by its fields", zip([{ ...RECORD, extra: zip64 }]), "it is ZIP64"],
    ["another name for programs that read extra fields", zip([{ ...RECORD, extra: unicodeName }]), HAS_TWO_NAMES],
    [
      "such a name before the data alone",
      zip([{ ...RECORD, extra: new Uint8Array(), localExtra: unicodeName }]),
      HAS_TWO_NAMES,
    ],
    [
      "extra fields that end early",
      zip([{ ...RECORD, extra: Buffer.from("UT\x50\x00a", "latin1") }]),
      "its directory does not describe all of its bytes",
    ],
    ["a link to another file", zip([RECORD, { name: "a", data: "/etc/passwd", mode: 0o120777 }]), "a is a link"],
    ["ZIP64 by its count", zip([RECORD], { count: 0xffff }), "it is ZIP64"],
    ["data behind its end", Buffer.concat([whole, zeros]), "it is cut off, or has something behind its end"],
    ["a comment", zip(WHOLE, { comment: "see you" }), "it is cut off, or has something behind its end"],
    ["half of it", whole.subarray(0, whole.length / 2), "it is cut off, or has something behind its end"],
    [
      "data between its entries",
      Buffer.concat([Buffer.from("PK\x03\x04"), gap]),
      "its directory does not describe all of its bytes",
    ],
    ["a wrong checksum", zip([{ ...RECORD, crc: 7 }]), "bundle.json is damaged"],
    [
      "something behind compressed data",
      zip([{ ...RECORD, method: 8, packed: Buffer.concat([deflateRawSync(textOf(bundle)), zeros]) }]),
      "bundle.json is damaged",
    ],
    [
      "another name before the data",
      zip([{ ...RECORD, local: { name: "bundle.jso_" } }]),
      "its directory does not describe all of its bytes",
    ],
    [
      "another size before the data",
      zip([{ ...RECORD, local: { size: 1 } }]),
      "its directory does not describe all of its bytes",
    ],
    [
      "a name that looks like a report's",
      zip([RECORD, { name: "Report.pdf", data: reportOf(bundle) }]),
      "Report.pdf is no entry",
    ],
    [
      "a file that a service does not make",
      zip([RECORD, { name: "addendum.txt", data: "x" }]),
      "addendum.txt is no entry",
    ],
    ["no record", zip(WHOLE.filter(({ name }) => name !== "bundle.json")), "The ZIP holds no bundle.json"],
  ])("%s", async (_, bytes, sentence) => {
    const { stdout, stderr, exit } = await verified(bytes)
    expect(stderr).toContain(sentence)
    expect({ stdout, exit }).toEqual({ stdout: "", exit: 2 })
  })
})

test("trust show shows the fingerprints that trust add shows, and pins nothing", async () => {
  const style = { colour: false, ascii: false }
  const document = write("service.json", deployment.trustDocument)
  const shown = await showTrust(document, style)
  expect(shown).toMatchObject({ exit: 0, stderr: "" })
  const store = join(folder, "store")
  const added = await addTrust(document, false, store, style)
  const keysIn = (text: string): readonly string[] => text.match(/[0-9a-f]{64}/g) ?? []
  expect(keysIn(shown.stdout)).toEqual(keysIn(added.stdout))
  expect(keysIn(shown.stdout)).toContain(deployment.trust.serviceKeys[0]?.keyId)
})

test("the command trust show leaves the trust store as it is", async () => {
  vi.stubEnv("RUNSEAL_TRUST_DIR", join(folder, "untouched"))
  const document = write("service.json", deployment.trustDocument)
  const answer = await commandLineAnswer(["trust", "show", document], { colour: false, ascii: false }, () =>
    Promise.reject(new Error("no document is verified")),
  )
  vi.unstubAllEnvs()
  expect(answer.stdout).toContain("Not pinned by this command:")
  expect(existsSync(join(folder, "untouched"))).toBe(false)
})
