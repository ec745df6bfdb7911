/** Records whose entries a Rekor v2 log holds too, at the time that a timestamp says. */
import type { JsonObject } from "@runseal/canonical"
import { indexOfDuplicate, parseRekorV2Answer, rekorV2Request, sizeOfCheckpoint } from "@runseal/log/entries/rekor-v2"
import { formatNote, noteSignatureLine } from "@runseal/log/notes/signed-note"
import { describe, expect, test } from "vitest"
import type { OutsideAnchor, OutsideAnchors } from "../src/artifacts/anchor.ts"
import type { Bundle } from "../src/artifacts/bundle-schema.ts"
import { trustRows } from "../src/presentation/trust-rows.ts"
import { isUnreadable, verifyDocument, verifyText } from "../src/verify/document.ts"
import { type Report, VERDICTS } from "../src/verify/report.ts"
import { testAuthority } from "./fixtures/authority.ts"
import { makeDeployment, sealRun, trusted } from "./fixtures/deployment.ts"
import { asJson, withValue } from "./fixtures/json-values.ts"
import { reportOn } from "./fixtures/judged.ts"
import { knownValues } from "./fixtures/mutations.ts"
import { enterAll, listing, outsideLog, tiledLog, withOutside } from "./fixtures/outside-logs.ts"
import { RUN_SAMPLES } from "./fixtures/sample-corpus.ts"
import { tryChanges } from "./fixtures/surviving-changes.ts"

const TIMEOUT_MS = 900_000

const deployment = makeDeployment()
const authority = testAuthority()
const elsewhere = testAuthority({ host: "other.tsa.example", kind: "p384" })
const log = tiledLog("one", authority)
const old = outsideLog("v1")
const [stranger, withEcdsa] = [tiledLog("stranger", elsewhere), tiledLog("p256", elsewhere, "p256.example", "p256")]
const trustDocument = listing(deployment.trustDocument, log, old, withEcdsa)
const trust = trusted(trustDocument)

const verified = (document: object, trusts = [trust]): Report => reportOn(document, trusts)
const failure = (document: object, trusts = [trust]): string | undefined => {
  const { first_failure, checks } = verified(document, trusts)
  return first_failure && `${first_failure}: ${checks.find(({ id }) => id === first_failure)?.message}`
}
const { bundle } = sealRun(deployment, { outcome: "ok" })
const entered = enterAll(log, bundle.anchors)
const inV1 = enterAll(old, bundle.anchors)
const all = withOutside(bundle, entered, inV1, enterAll(withEcdsa, bundle.anchors))
const slow = sealRun(deployment, { outcome: "ok" }).bundle
const late = withOutside(slow, enterAll(log, slow.anchors, 3600))

/** The bundle with its first outside anchor, and the rest of that log, changed. */
const changed = (changes: object, held: OutsideAnchors = entered): Bundle =>
  withOutside(bundle, { ...held, pre_anchor: { ...held.pre_anchor, ...changes } as never })

describe("a record whose entries a Rekor v2 log holds too", () => {
  test.each(RUN_SAMPLES.filter(([, verdict]) => verdict !== VERDICTS.unanchored))(
    "%s keeps its verdict, and log and authority are reported",
    (_name, verdict, spec) => {
      const run = sealRun(deployment, spec).bundle
      const report = verified(withOutside(run, enterAll(log, run.anchors)))
      expect(report.verdict).toBe(verdict)
      const own = report.anchors.filter(({ outside_log }) => outside_log === undefined)
      expect(
        report.anchors
          .slice(own.length)
          .map(({ slot, outside_log, timestamp_authority }) => [slot, outside_log, timestamp_authority]),
      ).toEqual(own.map(({ slot }) => [slot, "two.rekor.example", "tsa.example"]))
    },
  )

  test("has the time of the timestamp", () => {
    const { integrated_time } = bundle.anchors.pre_anchor!.entry
      ? { integrated_time: `${Number(bundle.anchors.pre_anchor!.entry.integratedTime) + 1}` }
      : { integrated_time: "" }
    expect(verified(withOutside(bundle, entered)).anchors.at(-2)).toMatchObject({ slot: "pre_anchor", integrated_time })
  })

  test("may be in logs of both versions, and in one with a P-256 key", () => {
    expect(verified(all).verdict).toBe(VERDICTS.complete)
    expect(verified(all).checks.at(-1)?.message).toMatch(/^6 of its entries are also in .*, in time$/)
    expect(verified(all).limitations.map(({ code }) => code)).toContain("operator_log")
  })

  test("may be in two logs of one host, one of each version", () => {
    const [first, second] = [outsideLog("same", "same.example"), tiledLog("same", authority, "same.example")]
    const both = trusted(listing(deployment.trustDocument, first, second))
    const document = withOutside(bundle, enterAll(first, bundle.anchors), enterAll(second, bundle.anchors))
    expect(verified(document, [both]).verdict).toBe(VERDICTS.complete)
    expect(failure(document, [trusted(listing(deployment.trustDocument, first))])).toMatch(/outside log is none/)
  })

  test("fails when log or authority are none that the trust document lists", () => {
    const one = withOutside(bundle, entered)
    expect(failure(one, [deployment.trust])).toMatch(/^outside: an outside log is none/)
    const { timestampAuthorities: _, ...withoutAuthorities } = trust
    expect(failure(one, [withoutAuthorities])).toMatch(
      /^outside: .*of no authority that the trust document lists: pin the service's current one/,
    )
    expect(failure(withOutside(bundle, enterAll(stranger, bundle.anchors)))).toMatch(/^outside: an outside log is none/)
  })

  test("fails with a log whose id is not that of its key under its host", () => {
    const { timestampAuthorities, outside = [] } = trust
    const renamed = outside.map(one => ({ ...one, origin: "elsewhere.example - 0" }))
    expect(timestampAuthorities).toHaveLength(2)
    expect(failure(withOutside(bundle, entered), [{ ...trust, outside: renamed }])).toMatch(
      /another log than the trusted/,
    )
    const moved = { ...log, key: { ...log.key, baseUrl: "https://elsewhere.example" } }
    expect(trusted(listing(deployment.trustDocument, moved)).outside).toBeUndefined()
  })

  test("fails with the timestamp of another entry, of another record, of an authority that stamped nothing of it", () => {
    const others = enterAll(tiledLog("one", authority), slow.anchors)
    const stampOf = (anchor: OutsideAnchor | undefined): string =>
      anchor !== undefined && "timestamp" in anchor ? anchor.timestamp : ""
    expect(failure(changed({ timestamp: stampOf(entered.complete_record) }))).toMatch(/over other bytes/)
    expect(failure(changed({ timestamp: stampOf(others.pre_anchor) }))).toMatch(/over other bytes/)
    expect(failure(changed({ timestamp: stampOf(enterAll(stranger, bundle.anchors).pre_anchor) }))).toBeUndefined()
  })

  test("fails without its timestamp, and with an entry of version 1 in the place of one of version 2", () => {
    const { timestamp: _, ...bare } = entered.pre_anchor as { timestamp: string }
    const report = verifyText(JSON.stringify(withOutside(bundle, { ...entered, pre_anchor: bare as never })), [trust])
    expect(isUnreadable(report) || report.verdict === VERDICTS.failed).toBe(true)
    const v1 = enterAll(old, bundle.anchors).pre_anchor!
    const mixed = verifyText(JSON.stringify(changed({ entry: v1.entry })), [trust])
    expect(isUnreadable(mixed) || mixed.verdict === VERDICTS.failed).toBe(true)
  })

  test("is told of in the trust document's own words", () => {
    expect(trustRows(trust).filter(({ label }) => label === "timestamps")).toMatchObject([
      { detail: expect.stringContaining("https://tsa.example/timestamp") },
      { detail: expect.stringContaining("https://other.tsa.example/timestamp") },
    ])
    expect(trustRows(trust).filter(({ label }) => label === "outside log")).toHaveLength(3)
  })
})

describe("an entry that was stamped after the 600 seconds", () => {
  test("is reported as late and takes nothing from the verdict of the service's own", () => {
    const report = verified(late)
    expect(report.verdict).toBe(VERDICTS.complete)
    expect(report.anchors.map(anchor => anchor.late)).toEqual([undefined, undefined, true, true])
    expect(report.limitations.map(({ code }) => code)).toContain("late_entry")
  })

  test("is never shown as one in time, nor one in time as late", () => {
    const { pre_anchor, complete_record } = late.anchors.outside![0]!
    const { late: _, ...unmarked } = pre_anchor!
    const document = withOutside(slow, { pre_anchor: unmarked as never, complete_record: complete_record! })
    expect(failure(document)).toMatch(/is not marked as late/)
    expect(failure(changed({ late: true }))).toMatch(/in time is marked as late/)
  })
})

describe("whatever single value of an outside anchor is changed, the record does not verify", () => {
  // What came later may be left out again. Another timestamp over the same signature would be as true: here there is none.
  const permitted = ["/0", "/0/complete_record", "/1", "/1/complete_record"].map(
    pointer => `${pointer} ${VERDICTS.complete}`,
  )
  test.each([
    ["in logs of both versions", withOutside(bundle, entered, inV1)],
    ["in a log with a P-256 key", withOutside(bundle, enterAll(withEcdsa, bundle.anchors))],
    ["late", late],
  ])("%s", { timeout: TIMEOUT_MS }, (_name, document) => {
    const whole = asJson(document)
    const { count, survivors } = tryChanges(asJson(document.anchors.outside!), knownValues([whole]), trust, changed =>
      withValue(whole, "/anchors/outside", changed),
    )
    expect(survivors.filter(survivor => !permitted.includes(survivor))).toEqual([])
    expect(count).toBeGreaterThan(150)
  })

  test("also when that is any byte of a timestamp", { timeout: TIMEOUT_MS }, () => {
    const anchor = entered.pre_anchor!
    const stamp = Buffer.from("timestamp" in anchor ? anchor.timestamp : "", "base64")
    expect(stamp.length).toBeGreaterThan(400)
    const whole = asJson(withOutside(bundle, entered))
    const survivors = [...stamp.keys()].filter(at => {
      const timestamp = Buffer.from(stamp.with(at, stamp[at]! ^ 1)).toString("base64")
      const result = verifyDocument(withValue(whole, "/anchors/outside/0/pre_anchor/timestamp", timestamp), [trust])
      return !isUnreadable(result) && result.verdict !== VERDICTS.failed
    })
    expect(survivors).toEqual([])
  })
})

describe("what a Rekor v2 log answers", () => {
  const { entry } = entered.complete_record!
  const answer: JsonObject = { ...entry, integratedTime: "0", inclusionPromise: null }
  const read = (value: unknown) => parseRekorV2Answer(new TextEncoder().encode(JSON.stringify(value)))
  const inProof = (changes: object): object => ({ ...answer, inclusionProof: { ...entry.inclusionProof, ...changes } })

  test("is read into the entry that the log made, with and without its zeros", () => {
    expect(read(answer)).toEqual(entry)
    expect(read(entry)).toEqual(entry)
    const first = enterAll(tiledLog("zero", authority), bundle.anchors).pre_anchor!.entry
    const { logIndex: _, inclusionProof, ...rest } = first
    const { logIndex: __, hashes: ___, ...proof } = inclusionProof
    expect(read({ ...rest, inclusionProof: proof })).toEqual(first)
    expect(read({ ...answer, logIndex: Number(entry.logIndex) })).toEqual(entry)
  })

  test("is kept without what witnesses signed", () => {
    const { envelope } = entry.inclusionProof.checkpoint
    const [text = "", lines = ""] = envelope.split("\n\n")
    const witness = noteSignatureLine({ name: "witness.example", keyId: "0a0b0c0d", signature: new Uint8Array(72) })
    const signed = formatNote(`${text}\n`, [witness, lines])
    expect(read(inProof({ checkpoint: { envelope: signed } }))).toEqual(entry)
    expect(sizeOfCheckpoint(signed)).toBe(Number(entry.inclusionProof.treeSize))
  })

  test.each<[string, unknown]>([
    ["nothing", undefined],
    ["a list", [answer]],
    ["no entry", {}],
    ["an entry without proof", { ...answer, inclusionProof: null }],
    ["an index beyond what is exact", { ...answer, logIndex: "9007199254740993" }],
    ["a negative index", { ...answer, logIndex: "-1" }],
    ["a hash that is no base64", inProof({ rootHash: "zz" })],
    ["a body that is no base64", { ...answer, canonicalizedBody: "?" }],
    ["a checkpoint that the log did not sign", inProof({ checkpoint: { envelope: "x\n1\n\n" } })],
    ["too many hashes", inProof({ hashes: Array.from({ length: 64 }, () => entry.inclusionProof.rootHash) })],
  ])("is refused when it is %s", (_name, value) => {
    expect(read(value)).toBeUndefined()
  })

  test("of an entry that it has already names its index", () => {
    const indexIn = (message: string) =>
      indexOfDuplicate(new TextEncoder().encode(JSON.stringify({ code: 6, message })))
    expect(indexIn("an equivalent entry already exists in the transparency log with index 0")).toBe(0)
    expect(indexIn("an equivalent entry already exists in the transparency log with index 4711")).toBe(4711)
    expect(indexIn("an equivalent entry already exists")).toBeUndefined()
    expect(indexIn("with index 99999999999999999999")).toBeUndefined()
    expect(indexOfDuplicate(new Uint8Array())).toBeUndefined()
  })
})

test("a body without a key is asked of nobody", () => {
  expect(rekorV2Request(new TextEncoder().encode("{}"))).toBeUndefined()
})
