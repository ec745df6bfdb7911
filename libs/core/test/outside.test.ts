import type { TransparencyLogEntry } from "@runseal/log/entries/log-entry"
import { parseRekorAnswer } from "@runseal/log/entries/rekor-v1"
import { publicRekorTrust } from "@runseal/log/trust/rekor-root"
import { describe, expect, test } from "vitest"
import type { OutsideAnchors, OutsideEntry } from "../src/artifacts/anchor.ts"
import type { Bundle } from "../src/artifacts/bundle-schema.ts"
import { reduce } from "../src/derivation/derive.ts"
import { bundleHash } from "../src/formulas/manifest-sections.ts"
import { SLOTS } from "../src/verify/anchor-slots.ts"
import { outsideLimitations } from "../src/verify/outside.ts"
import { type LimitationCode, type Report, VERDICTS } from "../src/verify/report.ts"
import { makeDeployment, sealRun, trusted } from "./fixtures/deployment.ts"
import { asJson, withValue } from "./fixtures/json-values.ts"
import { reportOn } from "./fixtures/judged.ts"
import { knownValues } from "./fixtures/mutations.ts"
import { enterAll, listing, outsideLog, rekorBytes, withOutside } from "./fixtures/outside-logs.ts"
import { RUN_SAMPLES } from "./fixtures/sample-corpus.ts"
import { asDifferentSignatures } from "./fixtures/signature-twins.ts"
import { tryChanges } from "./fixtures/surviving-changes.ts"

/** Ten seconds on a quiet machine. */
const TIMEOUT_MS = 900_000

const deployment = makeDeployment()
const rekor = outsideLog("one")
const other = outsideLog("two", "rekor.other.example")
const trust = trusted(listing(deployment.trustDocument, rekor, other))

const verified = (document: object, trusts = [trust]): Report => reportOn(document, trusts)
const failure = (document: object, trusts = [trust]): string | undefined => {
  const { first_failure, checks } = verified(document, trusts)
  return first_failure && `${first_failure}: ${checks.find(({ id }) => id === first_failure)?.message}`
}
/** The entry of a log that signs its time. */
function entryOf(anchor: OutsideEntry): TransparencyLogEntry {
  if ("timestamp" in anchor) throw new Error("an entry of Rekor v2")
  return anchor.entry
}
const { bundle } = sealRun(deployment, { outcome: "ok" })
const entered = enterAll(rekor, bundle.anchors)
const both = withOutside(bundle, entered, enterAll(other, bundle.anchors))
// Of a record of its own: no log takes an entry twice.
const slow = sealRun(deployment, { outcome: "ok" }).bundle
const late = withOutside(slow, enterAll(rekor, slow.anchors, 3600))

describe("a record whose entries an outside log holds too", () => {
  test.each(RUN_SAMPLES.filter(([, verdict]) => verdict !== VERDICTS.unanchored))(
    "%s keeps its verdict, and each log is reported",
    (_name, verdict, spec) => {
      const run = sealRun(deployment, spec).bundle
      const report = verified(withOutside(run, enterAll(rekor, run.anchors)))
      expect(report.verdict).toBe(verdict)
      const own = report.anchors.filter(({ outside_log }) => outside_log === undefined)
      expect(report.anchors.slice(own.length).map(({ slot, outside_log }) => [slot, outside_log])).toEqual(
        own.map(({ slot }) => [slot, "rekor.example"]),
      )
    },
  )

  test("is the sealed record: its bundle hash does not speak of them", () => {
    expect(bundleHash(reduce(both))).toBe(bundle.bundle_hash)
    expect(verified(both).checks.at(-1)).toEqual({
      id: "outside",
      result: "pass",
      message: `4 of its entries are also in ${both.anchors.outside?.[0] === entered ? "rekor.example, rekor.other.example" : "rekor.other.example, rekor.example"}, in time`,
    })
  })

  test("may be there with its first entry while the last is on its way", () => {
    const { pre_anchor } = entered
    expect(verified(withOutside(bundle, { ...(pre_anchor && { pre_anchor }) })).verdict).toBe(VERDICTS.complete)
    const { pre_anchor: _, ...last } = entered
    expect(failure(withOutside(bundle, last))).toMatch(/^outside: .*a later entry of the record/)
  })

  test.each(RUN_SAMPLES.filter(([, verdict]) => verdict !== VERDICTS.unanchored))(
    "%s fails with an entry for an anchor that it has not, in its sealed form too",
    (_name, _verdict, spec) => {
      const run = sealRun(deployment, spec).bundle
      const held = reduce(withOutside(run, enterAll(rekor, run.anchors)))
      const [log] = held.anchors.outside!
      const own = log!.pre_anchor ?? log!.receipt ?? log!.complete_record
      expect(verified(held).verdict).not.toBe(VERDICTS.failed)
      for (const slot of SLOTS.filter(name => log![name] === undefined))
        expect(failure({ ...held, anchors: { ...held.anchors, outside: [{ ...log, [slot]: own }] } }), slot).toMatch(
          /^outside: /,
        )
    },
  )

  test("verifies without the outside log being known only when it is public Rekor", () => {
    expect(failure(withOutside(bundle, entered), [deployment.trust])).toMatch(/^outside: an outside log is none/)
  })

  test("fails when each log is not listed once, by rising log id", () => {
    const [first, second] = both.anchors.outside ?? []
    const listed = (...outside: (OutsideAnchors | undefined)[]): Bundle => ({
      ...bundle,
      anchors: { ...bundle.anchors, outside: outside.filter(log => log !== undefined) },
    })
    expect(failure(listed(first, second))).toBeUndefined()
    expect(failure(listed(second, first))).toMatch(/^outside: /)
    expect(failure(listed(first, first))).toMatch(/^outside: /)
    expect(failure(listed({ ...first, complete_record: second!.complete_record! }))).toMatch(/several logs/)
  })

  test("fails with the outside entry in the place of the service's own", () => {
    const { pre_anchor, complete_record } = entered
    const swapped = { ...bundle.anchors, pre_anchor: { leaf: pre_anchor!.leaf, entry: pre_anchor!.entry } }
    expect(verified({ ...bundle, anchors: swapped }).verdict).toBe(VERDICTS.failed)
    const last = { leaf: complete_record!.leaf, entry: complete_record!.entry }
    expect(verified({ ...bundle, anchors: { ...bundle.anchors, complete_record: last } }).verdict).toBe(VERDICTS.failed)
    expect(verified(withOutside(bundle, bundle.anchors)).verdict).toBe(VERDICTS.failed)
  })

  test("fails with the outside entry of another record", () => {
    const stranger = sealRun(deployment, { outcome: "ok", payload: "Another claim." }).bundle
    expect(failure(withOutside(bundle, enterAll(rekor, stranger.anchors)))).toMatch(/^outside: /)
  })
})

describe("that the log time is the operator's word", () => {
  /** The limitations of a record when public Rekor holds these of its entries. Whether it does, other checks show. */
  const limitationsWith = (held: OutsideAnchors): readonly LimitationCode[] => {
    const keyId = publicRekorTrust("", []).logKeys[0]!.logId
    const moved = Object.fromEntries(
      Object.entries(held).map(([slot, anchor]) => [slot, { ...anchor, entry: { ...anchor.entry, logId: { keyId } } }]),
    )
    return outsideLimitations(withOutside(bundle, moved).anchors)
  }

  test("is limitationsWith of a record unless public Rekor holds each of its entries in time", () => {
    const { pre_anchor, complete_record } = entered
    expect(limitationsWith(entered)).toEqual(["own_log_alone"])
    expect(limitationsWith({ pre_anchor: pre_anchor! })).toEqual(["operator_log"])
    expect(limitationsWith({ pre_anchor: pre_anchor!, complete_record: { ...complete_record!, late: true } })).toEqual([
      "operator_log",
      "late_entry",
    ])
    expect(outsideLimitations(withOutside(bundle, entered).anchors), "another log may be the operator's").toEqual([
      "operator_log",
    ])
  })
})

describe("an entry that came after the 600 seconds", () => {
  test("is reported as late and takes nothing from the verdict of the service's own", () => {
    const report = verified(late)
    expect(report.verdict).toBe(VERDICTS.complete)
    expect(report.anchors.map(anchor => anchor.late)).toEqual([undefined, undefined, true, true])
    expect(report.checks.at(-1)?.message).toBe("2 of its entries are also in rekor.example, 2 of them late")
    expect(report.limitations.map(({ code }) => code)).toContain("late_entry")
  })

  test("is never shown as one in time, nor one in time as late", () => {
    const [log] = late.anchors.outside ?? []
    const { pre_anchor, complete_record } = log ?? {}
    const unmarked = {
      pre_anchor: { leaf: pre_anchor!.leaf, entry: entryOf(pre_anchor!) },
      complete_record: complete_record!,
    }
    expect(failure(withOutside(slow, unmarked))).toMatch(/is not marked as late/)
    const marked = { ...entered, pre_anchor: { ...entered.pre_anchor!, late: true as const } }
    expect(failure(withOutside(bundle, marked))).toMatch(/in time is marked as late/)
  })
})

describe("whatever single value of an outside anchor is changed, the record does not verify", () => {
  // What came later may be left out again: the record says nothing of it.
  const permitted = ["/0", "/1", "/0/complete_record", "/1/complete_record"].map(
    pointer => `${pointer} ${VERDICTS.complete}`,
  )
  test.each([
    ["in two logs", both],
    ["late", late],
  ])("%s", { timeout: TIMEOUT_MS }, (_name, document) => {
    const whole = asJson(document)
    const { count, survivors } = tryChanges(asJson(document.anchors.outside!), knownValues([whole]), trust, changed =>
      withValue(whole, "/anchors/outside", changed),
    )
    expect(survivors.filter(survivor => !permitted.includes(survivor))).toEqual([])
    expect(count).toBeGreaterThan(350)
  })
})

describe("what a Rekor log answers", () => {
  const anchor = entered.pre_anchor!
  test("is read into the entry that the log made, whichever form its signatures have", () => {
    expect(parseRekorAnswer(rekorBytes(anchor))).toEqual(anchor.entry)
    const { signedEntryTimestamp } = entryOf(anchor).inclusionPromise
    for (const twin of asDifferentSignatures(signedEntryTimestamp)) {
      const entry = { ...entryOf(anchor), inclusionPromise: { signedEntryTimestamp: twin } }
      expect(parseRekorAnswer(rekorBytes({ entry }))).toEqual(anchor.entry)
    }
  })

  const text = new TextDecoder().decode(rekorBytes(anchor))
  const [uuid = ""] = Object.keys(JSON.parse(text))
  test.each<[string, string]>([
    ["nothing", ""],
    ["no JSON", "<html>"],
    ["a list", `[${text}]`],
    ["no entry", "{}"],
    ["two entries", text.replace(/^\{/, `{"${"0".repeat(64)}":{},`)],
    ["a key that is no id", text.replace(uuid, "entry")],
    ["an entry without proof", text.replace("inclusionProof", "inclusion")],
    ["an index beyond what is exact", text.replace(/"logIndex":\d+/, '"logIndex":9007199254740993')],
    ["a time that is no number", text.replace(/"integratedTime":(\d+)/, '"integratedTime":"$1"')],
    ["another kind of entry", JSON.stringify({ [uuid]: { ...JSON.parse(text)[uuid], body: "e30=" } })],
    ["a hash that is no hex", text.replace(/"rootHash":"../, '"rootHash":"zz')],
    ["a checkpoint with two signatures", text.replace(/(— rekor\.example [^\\]+\\n)/, "$1$1")],
  ])("is refused when it is %s", (_name, answer) => {
    expect(answer).not.toBe(text)
    expect(parseRekorAnswer(new TextEncoder().encode(answer))).toBeUndefined()
  })
})
