import { describe, expect, test } from "vitest"
import { WITHHOLDABLE_NAMES, withhold } from "../../src/artifacts/declared-sections.ts"
import { withholdSections } from "../../src/derivation/derive.ts"
import { collectPermit, refuseRequest, requestApproval } from "../fixtures/asked-approvals.ts"
import { bothForms, makeDeployment } from "../fixtures/deployment.ts"
import { asJson } from "../fixtures/json-values.ts"
import { knownValues } from "../fixtures/mutations.ts"
import { closePermit, endPermits, openPermit } from "../fixtures/permits.ts"
import { BY_PERSON, COMMAND, sealEvent } from "../fixtures/sample-admin-events.ts"
import { sealCloses } from "../fixtures/sample-closes.ts"
import { tryChanges } from "../fixtures/surviving-changes.ts"
import { ASKED } from "../fixtures/vectors/asked-transfer.ts"

/** Twenty seconds on a quiet machine. */
const TIMEOUT_MS = 900_000

const deployment = makeDeployment()
const { trust } = deployment
const closes = sealCloses()
const { opening } = openPermit(deployment)
const redeemable = openPermit(deployment, { redeem_required: true, valid_for_seconds: 7200 }).opening
const lacking = { ...opening.sections, request_substance: withhold(opening.sections.request_substance) }
const end = endPermits(deployment, [openPermit(deployment), openPermit(deployment, { reserve_tokens: 0 })])
const asked = requestApproval(deployment, ASKED)
const unshown = { ...asked.request.sections, attested_context: withhold(asked.request.sections.attested_context) }
const approved = collectPermit(deployment, asked)
const closeOfApproved = closePermit(deployment, approved, { redeemed_at: "2026-01-15T12:04:00.000Z" }).bundle
const rejected = refuseRequest(deployment, requestApproval(deployment, ASKED), "rejected").bundle
const documents = [
  { name: "a request for an approval", document: asJson(asked.request) },
  {
    name: "a request for an approval with a withheld section",
    document: asJson({ ...asked.request, sections: unshown }),
  },
  { name: "an opening that persons approved", document: asJson(approved.opening) },
  { name: "an opening", document: asJson(opening) },
  { name: "an opening whose permit must be redeemed", document: asJson(redeemable) },
  { name: "an opening with a withheld section", document: asJson({ ...opening, sections: lacking }) },
  { name: "an end", document: asJson(end) },
  { name: "an admin event", document: asJson(sealEvent(deployment)) },
  { name: "an admin event of a command", document: asJson(sealEvent(deployment, COMMAND)) },
  { name: "an admin event of a person", document: asJson(sealEvent(deployment, BY_PERSON)) },
]
const records = [
  ...closes.flatMap(({ name, bundle }) => bothForms(name, bundle)),
  ...bothForms("a close of a permit that persons approved", closeOfApproved),
  ...bothForms("a run that a person rejected", rejected),
]
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

  test("of a record of which all is withheld that can be", { timeout: TIMEOUT_MS }, () => {
    const [close] = closes
    if (close === undefined) throw new Error("there are closes")
    for (const bundle of [close.bundle, rejected])
      for (const { document } of bothForms("", withholdSections(bundle, WITHHOLDABLE_NAMES)))
        expect(tryChanges(document, known, trust).survivors).toEqual([])
  })
})
