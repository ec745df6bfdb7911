import { describe, expect, test } from "vitest"
import { WITHHOLDABLE_NAMES, withhold } from "../../src/artifacts/declared-sections.ts"
import { withholdSections } from "../../src/derivation/derive.ts"
import { bothForms, makeDeployment } from "../fixtures/deployment.ts"
import { asJson } from "../fixtures/json-values.ts"
import { knownValues } from "../fixtures/mutations.ts"
import { endPermits, openPermit } from "../fixtures/permits.ts"
import { BY_PERSON, COMMAND, sealEvent } from "../fixtures/sample-admin-events.ts"
import { sealCloses } from "../fixtures/sample-closes.ts"
import { tryChanges } from "../fixtures/surviving-changes.ts"

/** Twenty seconds on a quiet machine. */
const TIMEOUT_MS = 900_000

const deployment = makeDeployment()
const { trust } = deployment
const closes = sealCloses()
const { opening } = openPermit(deployment)
const redeemable = openPermit(deployment, { redeem_required: true, valid_for_seconds: 7200 }).opening
const lacking = { ...opening.sections, request_substance: withhold(opening.sections.request_substance) }
const end = endPermits(deployment, [openPermit(deployment), openPermit(deployment, { reserve_tokens: 0 })])
const documents = [
  { name: "an opening", document: asJson(opening) },
  { name: "an opening whose permit must be redeemed", document: asJson(redeemable) },
  { name: "an opening with a withheld section", document: asJson({ ...opening, sections: lacking }) },
  { name: "an end", document: asJson(end) },
  { name: "an admin event", document: asJson(sealEvent(deployment)) },
  { name: "an admin event of a command", document: asJson(sealEvent(deployment, COMMAND)) },
  { name: "an admin event of a person", document: asJson(sealEvent(deployment, BY_PERSON)) },
]
const records = closes.flatMap(({ name, bundle }) => bothForms(name, bundle))
const known = knownValues([...documents, ...records].map(({ document }) => document))

describe("whatever single value is changed, it does not verify", () => {
  test.each(documents)("of $name", { timeout: TIMEOUT_MS }, ({ document }) => {
    const { count, survivors } = tryChanges(document, known, trust)
    expect(survivors).toEqual([])
    expect(count).toBeGreaterThan(100)
  })

  test.each(records)("of $name", { timeout: TIMEOUT_MS }, ({ document }) => {
    const { count, survivors } = tryChanges(document, known, trust)
    expect(survivors).toEqual([])
    expect(count).toBeGreaterThan(2000)
  })

  test("of a close whose declared sections and closing are withheld", { timeout: TIMEOUT_MS }, () => {
    const [close] = closes
    if (close === undefined) throw new Error("there are closes")
    for (const { document } of bothForms("", withholdSections(close.bundle, WITHHOLDABLE_NAMES)))
      expect(tryChanges(document, known, trust).survivors).toEqual([])
  })
})
