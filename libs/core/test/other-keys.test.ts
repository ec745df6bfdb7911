import { decodeBase64 } from "@runseal/canonical"
import { parseEntryBody, type TransparencyLogEntry } from "@runseal/log/entries/log-entry"
import type { TrustedKeys } from "@runseal/log/trust/trusted-keys"
import { describe, expect, test } from "vitest"
import { p256Key } from "../../log/test/seeded-keys.ts"
import type { Bundle } from "../src/artifacts/bundle-schema.ts"
import { reduce } from "../src/derivation/derive.ts"
import { tenantCommitment } from "../src/formulas/decision.ts"
import { bundleHash } from "../src/formulas/manifest-sections.ts"
import { UNTRUSTED_ADVICE } from "../src/verify/anchor-check.ts"
import { type CheckId, type Report, VERDICTS } from "../src/verify/report.ts"
import { clockSeconds } from "../src/vocabulary/scalars.ts"
import type { Deployment } from "./fixtures/deployment.ts"
import { attest, makeDeployment, sealRun, trusted } from "./fixtures/deployment.ts"
import { recordLeaf, withCompleteRecord } from "./fixtures/finish.ts"
import { reportOn } from "./fixtures/judged.ts"
import { RUN_SAMPLES } from "./fixtures/sample-corpus.ts"

// The reader trusts two services, each by its own trust document. The attacker owns all keys of the second.
const service = (): Deployment => makeDeployment()
const attacker = (): Deployment => makeDeployment({ seed: "another", service: "Another service", host: "log.example" })
const trusts = [service().trust, attacker().trust]

const verified = (document: object, by: readonly TrustedKeys[] = trusts): Report => reportOn(document, by)
const failed = (report: Report): readonly CheckId[] =>
  report.checks.filter(check => check.result === "fail").map(check => check.id)

/** Seals with the keys of one and in the log of the other. */
const MIXED: readonly (readonly [name: string, deployment: () => Deployment])[] = [
  ["the attacker's service key, in the service's log", () => ({ ...service(), serviceKey: attacker().serviceKey })],
  ["the service's key, in the attacker's log", () => ({ ...attacker(), serviceKey: service().serviceKey })],
  [
    "a stranger's key, in the service's log",
    () => ({ ...service(), serviceKey: p256Key("stranger", "key", "random") }),
  ],
  [
    "the service's key, in a stranger's log",
    () => ({ ...makeDeployment({ seed: "x" }), serviceKey: service().serviceKey }),
  ],
]

describe.each(MIXED)("signed with %s", (_, deployment) => {
  test.each(RUN_SAMPLES.filter(([, verdict]) => verdict !== VERDICTS.unanchored))(
    "%s fails",
    (_name, _verdict, spec) => {
      const { bundle, receipt } = sealRun(deployment(), spec)
      for (const order of [trusts, trusts.toReversed()]) {
        const report = verified(bundle, order)
        expect(report.verdict).toBe(VERDICTS.failed)
        // Only keys are wrong.
        expect(failed(report).filter(id => !["entry", "inclusion", "complete_record"].includes(id))).toEqual([])
        if (receipt?.receipt_anchor !== undefined) expect(verified(receipt, order).verdict).toBe(VERDICTS.failed)
      }
    },
  )

  test("an attestation fails", () => {
    const document = attest(deployment(), { digest: "0".repeat(64) })
    expect(verified(document).verdict).toBe(VERDICTS.failed)
  })
})

/** The service's signature over a leaf as in an entry that anyone can read. */
function replaying(entries: readonly TransparencyLogEntry[]): Deployment {
  const signatures = entries.map(entry => parseEntryBody(decodeBase64(entry.canonicalizedBody)!)!.signatureDer)
  const { serviceKey } = service()
  return { ...attacker(), serviceKey: { ...serviceKey, sign: () => signatures.shift()! } }
}

describe("the owner of another trusted service", () => {
  test("cannot give a signed leaf another time by logging it again", () => {
    const { bundle } = sealRun(service(), { outcome: "ok" })
    const { pre_anchor, complete_record } = bundle.anchors
    const { log, serviceKey } = replaying([pre_anchor!.entry, complete_record!.entry])
    const time = clockSeconds(bundle.run.created_at)! + 300
    const anchors = [pre_anchor!, complete_record!].map(({ leaf }) => log.append(leaf, serviceKey, time))
    const head = log.head()
    const [first, last] = anchors.map(logged => log.anchor(logged, head))
    expect(verified({ ...bundle, anchors: { ...bundle.anchors, pre_anchor: first } }).verdict).toBe(VERDICTS.failed)
    expect(verified({ ...bundle, anchors: { ...bundle.anchors, complete_record: last } }).verdict).toBe(VERDICTS.failed)
  })

  test("cannot put his complete-record anchor on the pre-anchor of the service", () => {
    const { bundle } = sealRun(service(), { outcome: "ok" })
    const run = { ...bundle.run, run_id: 4711, duration_us: 1 }
    const changed: Bundle = { ...bundle, run, anchors: { ...bundle.anchors } }
    const forged = anchoredBy(attacker(), { ...changed, bundle_hash: bundleHash(reduce(changed)) })
    expect(failed(verified(forged))).toEqual(["complete_record"])
    // Without any change it fails as well: all anchors of a record are held to one trust document.
    expect(failed(verified(anchoredBy(attacker(), bundle)))).toEqual(["complete_record"])
  })

  test("can seal what he likes in his own name, and the verdict gives that name", () => {
    const mine = sealRun(attacker(), { outcome: "ok" }).bundle
    expect(verified(mine)).toMatchObject({ verdict: VERDICTS.complete, service: "Another service" })
  })
})

/** The bundle with a complete-record anchor of another deployment, whose first record it then is. */
function anchoredBy({ log, serviceKey }: Deployment, bundle: Bundle): Bundle {
  const { run } = bundle
  const { tenant_ordinal, previous_record } = bundle.anchors.complete_record!.leaf
  const tenant_commitment = tenantCommitment(run.tenant_id, run.tenant_salt)
  const leaf = recordLeaf(bundle, { tenant_commitment, tenant_ordinal, previous_record })
  const logged = log.append(leaf, serviceKey, clockSeconds(run.created_at)! + 1)
  return withCompleteRecord(bundle, log.anchor(logged, log.head()))
}

describe("whom to trust comes from outside the document", () => {
  const { bundle, receipt } = sealRun(service(), { outcome: "pepg_deny" })
  const documents = [bundle, receipt!, attest(service(), { digest: "0".repeat(64) })]

  test("a record of a service that is not trusted fails and says how to pin it", () => {
    for (const document of documents)
      for (const by of [[], [attacker().trust]]) {
        const report = verified(document, by)
        expect(report.verdict).toBe(VERDICTS.failed)
        expect(report.checks.find(({ id }) => id === "entry")?.message).toContain(UNTRUSTED_ADVICE)
      }
  })

  test("a record that is logged more than 600 s from its own clock fails", () => {
    const late = (logged_after_s: number): readonly CheckId[] =>
      failed(verified(sealRun(service(), { outcome: "pepg_deny", logged_after_s }).bundle))
    expect([-601, -600, 0, 600, 601].map(late)).toEqual([
      ["log_time", "complete_record"],
      [],
      [],
      [],
      ["log_time", "complete_record"],
    ])
  })

  test("a completed record is logged inside its sealed window, which begins with its admission", () => {
    const late = (logged_after_s: number): readonly CheckId[] =>
      failed(verified(sealRun(service(), { outcome: "ok", logged_after_s }).bundle))
    expect([-1, 0, 600, 601].map(late)).toEqual([["log_time"], [], [], ["log_time", "complete_record"]])
  })

  test("leaves older than v7 fail from the second the trust document names", () => {
    const since = (leaf_v7_from: string, leaf: "vfa.leaf.v5" | "vfa.leaf.v6" | "vfa.leaf.v7"): readonly CheckId[] => {
      const deployment = service()
      const { bundle: old } = sealRun(deployment, { outcome: "ok", leaf, at: "2026-01-15T12:00:00.000Z" })
      return failed(verified(old, [trusted({ ...deployment.trustDocument, leaf_v7_from })]))
    }
    const versions = ["vfa.leaf.v5", "vfa.leaf.v6", "vfa.leaf.v7"] as const
    expect(versions.map(leaf => since("2026-01-15T12:00:01Z", leaf))).toEqual([["leaf"], ["leaf"], []])
    expect(versions.map(leaf => since("2026-01-15T12:00:02Z", leaf))).toEqual([[], [], []])
  })
})
