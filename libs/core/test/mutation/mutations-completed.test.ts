import { describe, expect, test } from "vitest"
import { DECLARED_NAMES } from "../../src/artifacts/declared-sections.ts"
import { withholdSections } from "../../src/derivation/derive.ts"
import { VERDICTS } from "../../src/verify/report.ts"
import { bothForms, makeDeployment } from "../fixtures/deployment.ts"
import { asJson } from "../fixtures/json-values.ts"
import { knownValues } from "../fixtures/mutations.ts"
import { sealCorpus } from "../fixtures/sample-corpus.ts"
import { expectPermitted, tryChanges } from "../fixtures/surviving-changes.ts"

/** Ten seconds on a quiet machine. */
const TIMEOUT_MS = 900_000

const { trust, ...deployment } = makeDeployment()
const { runs } = sealCorpus({ trust, ...deployment })
const known = knownValues(runs.map(({ document }) => asJson(document.bundle)))
const completed = runs
  .filter(({ spec }) => spec.outcome === "ok")
  .flatMap(({ name, document }) => bothForms(name, document.bundle).map(form => ({ ...form, sample: name })))

/** The sole changes after which a completed record still verifies, and as what. */
const PERMITTED: Readonly<Record<string, readonly string[]>> = {
  // A v5 leaf does not ask for the complete-record anchor; without it the verdict promises less.
  "ok-leaf-v5": [`/anchors/complete_record ${VERDICTS.anchored}`],
}

describe("whatever single value of a completed run's bundle is changed, it does not verify", () => {
  test.each(completed)("$name", { timeout: TIMEOUT_MS }, ({ sample, document }) => {
    const { count, survivors } = tryChanges(document, known, trust)
    expectPermitted(survivors, PERMITTED[sample] ?? [])
    expect(count).toBeGreaterThan(2000)
  })

  test("with every declared section withheld", { timeout: TIMEOUT_MS }, () => {
    const { bundle } = runs[0]!.document
    for (const { document } of bothForms("", withholdSections(bundle, DECLARED_NAMES)))
      expect(tryChanges(document, known, trust).survivors).toEqual([])
  })
})
