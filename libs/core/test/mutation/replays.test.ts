import { encodeBase64, utf8Encode } from "@runseal/canonical"
import type { TrustedKeys } from "@runseal/log/trust/trusted-keys"
import { describe, expect, test } from "vitest"
import type { Anchor, PreAnchorLeaf } from "../../src/artifacts/anchor.ts"
import type { Bundle } from "../../src/artifacts/bundle-schema.ts"
import { isUnreadable, verifyText } from "../../src/verify/document.ts"
import { VERDICTS } from "../../src/verify/report.ts"
import {
  PRE_ANCHOR_LEAF_VERSIONS,
  type PreAnchorLeafVersion,
  RECEIPT_LEAF_VERSIONS,
} from "../../src/vocabulary/versions.ts"
import type { Deployment, SealedRun } from "../fixtures/deployment.ts"
import { asSealed, attest, makeDeployment, sealRun } from "../fixtures/deployment.ts"
import { finishRecord, firstLeaf, recordLeaf, withCompleteRecord } from "../fixtures/finish.ts"
import type { Json } from "../fixtures/json-values.ts"
import { asJson, isItems, isMembers, step, valueAt, withValue } from "../fixtures/json-values.ts"
import { memoryLog } from "../fixtures/memory-log.ts"
import { MAIN_SAMPLES, sealCorpus } from "../fixtures/sample-corpus.ts"

// The attacker has no key of the service, but everything it ever signed: he takes entries, proofs and checkpoints apart
// and puts them together anew, and seals each hash of his own again.

const a = makeDeployment()
/** Ten seconds on a quiet machine. */
const LONG = { timeout: 600_000 }

function verdict(document: unknown, trusts: readonly TrustedKeys[] = [a.trust]): string {
  const report = verifyText(JSON.stringify(document), trusts)
  return isUnreadable(report) ? "unreadable" : report.verdict
}

/** The record sealed again under a leaf of another version, beside the entry that was logged for its own. */
function reversioned({ bundle, draft }: SealedRun, version: PreAnchorLeafVersion, complete: boolean): Bundle {
  const { pre_anchor, complete_record } = bundle.anchors
  const leaf = firstLeaf(draft, version, undefined) as PreAnchorLeaf
  const first: Anchor<PreAnchorLeaf> = { leaf, entry: pre_anchor!.entry }
  const sealed = finishRecord(draft, first)
  if (!complete || complete_record === undefined) return sealed
  return withCompleteRecord(sealed, { leaf: recordLeaf(sealed, complete_record.leaf), entry: complete_record.entry })
}

describe("a leaf of one version is never taken for another", () => {
  test.each(PRE_ANCHOR_LEAF_VERSIONS)("%s", written => {
    const run = sealRun(a, { outcome: "ok", leaf: written })
    expect(verdict(reversioned(run, written, true))).toBe(VERDICTS.complete)
    for (const claimed of PRE_ANCHOR_LEAF_VERSIONS.filter(version => version !== written))
      for (const complete of [true, false]) expect(verdict(reversioned(run, claimed, complete))).toBe(VERDICTS.failed)
  })

  test("nor by its name alone, in the leaf, in the run, or in both", () => {
    for (const written of PRE_ANCHOR_LEAF_VERSIONS) {
      const document = asSealed(sealRun(a, { outcome: "ok", leaf: written }).bundle)
      for (const claimed of [...PRE_ANCHOR_LEAF_VERSIONS, ...RECEIPT_LEAF_VERSIONS].filter(name => name !== written)) {
        const inRun = withValue(document, "/run/leaf_version", claimed)
        for (const changed of [document, inRun]) {
          const inLeaf = withValue(changed, "/anchors/pre_anchor/leaf/leaf_version", claimed)
          expect(verdict(inLeaf)).not.toMatch(/^VERIFIED/)
        }
        expect(verdict(inRun)).toBe(VERDICTS.failed)
      }
    }
  })
})

const { runs, attestations } = sealCorpus(a)
const NAMES = [...MAIN_SAMPLES, "ok-leaf-v5", "ok-leaf-v6", "deny-receipt-anchor-v1"]
const documents: readonly Json[] = [
  ...runs.filter(({ name }) => NAMES.includes(name)).map(({ document }) => asSealed(document.bundle)),
  ...attestations.slice(0, 1).map(({ document }) => asJson(document)),
]
/** The log index of each entry of a document. */
const ENTRIES = ["/anchors/pre_anchor/entry", "/anchors/receipt/entry", "/anchors/complete_record/entry", "/entry"]
const entries = documents.flatMap(document =>
  ENTRIES.flatMap(pointer => {
    const entry = valueAt(document, pointer)
    return entry === undefined ? [] : [{ document, pointer, entry }]
  }),
)

const pointersOf = (value: Json, pointer = ""): readonly string[] => {
  const parts = isItems(value) || isMembers(value) ? Object.entries(value) : []
  return [pointer, ...parts.flatMap(([key, part]) => pointersOf(part, step(pointer, key)))]
}

describe("no part of a log entry stands for that of another", () => {
  test("every part of every entry, at every depth, taken from each other entry of the same log", LONG, () => {
    let count = 0
    for (const { document, pointer, entry } of entries)
      for (const part of pointersOf(entry)) {
        const mine = JSON.stringify(valueAt(entry, part))
        const others = new Map(entries.map(other => [JSON.stringify(valueAt(other.entry, part)), other.entry]))
        for (const [text, other] of others) {
          const value = valueAt(other, part)
          if (text === mine || value === undefined) continue
          count++
          const changed = withValue(document, `${pointer}${part}`, value)
          if (/VERIFIED/.test(verdict(changed))) expect.unreachable(`${pointer}${part} of another entry`)
        }
      }
    expect(count).toBeGreaterThan(4000)
  })

  test("two parts at once: proof, checkpoint, promise, time and body of another entry in every pair", LONG, () => {
    const parts = ["/logIndex", "/integratedTime", "/inclusionPromise", "/inclusionProof", "/canonicalizedBody"]
    const pairs = parts.flatMap((one, at) => parts.slice(at + 1).map(other => [one, other] as const))
    for (const { document, pointer, entry } of entries.slice(0, 8))
      for (const { entry: other } of entries.filter(({ entry: taken }) => taken !== entry))
        for (const pair of pairs) {
          const changed = pair.reduce(
            (whole, part) => withValue(whole, pointer + part, valueAt(other, part)!),
            document,
          )
          if (/VERIFIED/.test(verdict(changed))) expect.unreachable(`${pointer} ${pair}`)
        }
  })
})

describe("a signature by another key under the service's or the log's name", () => {
  const attacker = makeDeployment({ seed: "an attacker" })
  const service = makeDeployment()
  const FORGED: readonly (readonly [name: string, deployment: Deployment])[] = [
    ["the service's", { ...service, serviceKey: { ...service.serviceKey, sign: attacker.serviceKey.sign } }],
    [
      "the log's",
      { ...service, log: memoryLog(service.log.origin, { ...service.logKey, sign: attacker.logKey.sign }) },
    ],
  ]
  test.each(FORGED)("%s: nothing verifies", (_, deployment) => {
    for (const outcome of ["ok", "pepg_deny", "macc_halt", "stage_error"] as const) {
      const { bundle, receipt } = sealRun(deployment, { outcome })
      expect(verdict(bundle)).toBe(VERDICTS.failed)
      if (receipt !== undefined) expect(verdict(receipt)).toBe(VERDICTS.failed)
    }
    expect(verdict(attest(deployment, { digest: "0".repeat(64) }))).toBe(VERDICTS.failed)
  })

  test("an unsigned or garbled signature: neither", () => {
    const { bundle } = sealRun(a, { outcome: "ok" })
    const broken = [Uint8Array.of(0x30, 6, 2, 1, 1, 2, 1, 1), Uint8Array.of(0x30, 0), utf8Encode("signature")]
    for (const bytes of broken) {
      const changed = withValue(
        asJson(bundle),
        "/anchors/complete_record/entry/inclusionPromise/signedEntryTimestamp",
        encodeBase64(bytes),
      )
      expect(verdict(changed)).toBe(VERDICTS.failed)
    }
  })
})
