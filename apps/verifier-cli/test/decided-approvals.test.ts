/** `--decided-by` where rules leave an act to persons. docs/verifier.md, "Decided again". */
import { withholdSections } from "@runseal/core/derivation/derive"
import { parsePolicyDocument } from "@runseal/policy/policy-document"
import { describe, expect, test } from "vitest"
import { makeDeployment } from "../../../libs/core/test/fixtures/deployment.ts"
import { type Json, withValue } from "../../../libs/core/test/fixtures/json-values.ts"
import { commandsInFolder } from "./commands-in-folder.ts"
import { decidedApprovals } from "./decided-records.ts"

const deployment = makeDeployment({ seed: "decided approvals" })
const { write, judged } = commandsInFolder("runseal-approvals", deployment)

describe("what persons decide on is decided again", () => {
  const approval = { by: ["treasury", "finance"], count: 2, within_seconds: 3600 }
  const rules = [{ id: "two-people", effect: "require_approval", approval }]
  const twoPeople = { policy_id: "two", policy_name: "two", required_attested_fields: [], rules }
  const file = write("two-people.json", twoPeople)
  const made = decidedApprovals(deployment, parsePolicyDocument(twoPeople))
  const again = (document: object) => judged(document, "--decided-by", file)

  test("a request, the opening in which it ends and the run that ends one without its approval", async () => {
    const asked = made.request()
    for (const document of [asked.request, made.opening(asked), made.rejected(made.request())])
      expect(await again(document)).toMatchObject({ exit: 0, decided: "facts" })
  })

  test("not where the persons are withheld", async () => {
    const withheld = withholdSections(made.rejected(made.request()), ["approvals"])
    expect(await again(withheld)).toMatchObject({
      exit: 1,
      message: expect.stringContaining("approvals is withheld"),
    })
  })

  test("fewer persons than the rule asks", async () => {
    const one = (part: Json) => withValue(part, "/needed/0/count", 1)
    const opening = made.opening(made.request(), one, ({ decisions, ...rest }) => ({
      ...rest,
      decisions: decisions.slice(0, 1),
    }))
    expect(await again(opening)).toMatchObject({
      exit: 1,
      first_failure: "decided_again",
      message: expect.stringContaining("needed"),
    })
  })
})
