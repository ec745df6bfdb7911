import { describe, expect, test } from "vitest"
import { VERDICTS } from "../../src/verify/report.ts"
import { bothForms, makeDeployment } from "../fixtures/deployment.ts"
import { asJson } from "../fixtures/json-values.ts"
import { knownValues } from "../fixtures/mutations.ts"
import { sealCorpus } from "../fixtures/sample-corpus.ts"
import { expectPermitted, tryChanges } from "../fixtures/surviving-changes.ts"

/** Ten seconds on a quiet machine. */
const TIMEOUT_MS = 900_000

const { trust, ...deployment } = makeDeployment()
const { runs, receipts, attestations } = sealCorpus({ trust, ...deployment })
const bundles = runs.flatMap(({ name, spec, document }) =>
  bothForms(name, document.bundle).map(form => ({ ...form, sample: name, spec })),
)
const answers = receipts.map(({ name, document }) => ({ name, document: asJson(document) }))
const attested = attestations.map(({ name, document }) => ({ name, document: asJson(document) }))
const known = knownValues([...bundles, ...answers, ...attested].map(({ document }) => document))

/** The sole changes after which such a bundle still verifies, and as what: never as anchored. */
const PERMITTED_IN_BUNDLES: Readonly<Record<string, readonly string[]>> = {
  // Its receipt was issued without anchor, so without its complete-record anchor it is self-consistent and no more.
  "ccv-halt-without-receipt-anchor": ["/anchors/complete_record", "/anchors"].map(at => `${at} ${VERDICTS.unanchored}`),
}

/** A receipt of anchor v1 does not bind the run number, says so, and was issued without requiring its entry. */
const OLD_RECEIPT = [`/receipt_anchor ${VERDICTS.receipt_unanchored}`, `/run_id ${VERDICTS.receipt}`]
/** A receipt without log entry binds its own fields by its hash, and nothing beside it. */
const UNANCHORED_RECEIPT = [`/run_id ${VERDICTS.receipt_unanchored}`]
const PERMITTED_IN_RECEIPTS: Readonly<Record<string, readonly string[]>> = {
  "deny-receipt-anchor-v1": OLD_RECEIPT,
  "macc-halt-receipt-anchor-v1": OLD_RECEIPT,
  "ccv-halt-without-receipt-anchor": UNANCHORED_RECEIPT,
  "deny-unanchored": UNANCHORED_RECEIPT,
  "attestation-gap-unanchored": UNANCHORED_RECEIPT,
}

describe("whatever single value is changed, it does not verify", () => {
  const stopped = bundles.filter(({ spec }) => spec.outcome !== "ok")
  test.each(stopped)("in the bundle $name", { timeout: TIMEOUT_MS }, ({ sample, document }) => {
    const { count, survivors } = tryChanges(document, known, trust)
    expectPermitted(survivors, PERMITTED_IN_BUNDLES[sample] ?? [])
    expect(count).toBeGreaterThan(850)
  })

  test.each(answers)("in the receipt $name", ({ name, document }) => {
    const { count, survivors } = tryChanges(document, known, trust)
    expectPermitted(survivors, PERMITTED_IN_RECEIPTS[name] ?? [])
    expect(count).toBeGreaterThan(100)
  })

  test.each(attested)("in the attestation $name", ({ document }) => {
    const { count, survivors } = tryChanges(document, known, trust)
    expect(survivors).toEqual([])
    expect(count).toBeGreaterThan(250)
  })
})
