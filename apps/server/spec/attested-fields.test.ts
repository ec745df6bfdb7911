/** A required attested field is present and says something. docs/policy-and-review.md; docs/formats.md section 3.8. */
import type { JsonObject } from "@runseal/canonical"
import { expect, test } from "vitest"
import { at } from "./harness/read-answer.ts"
import { request } from "./harness/sample-requests.ts"
import { standingService } from "./harness/test-service.ts"

const REQUIRED = ["actor_id", "actor_signature", "attested", "model_temperature"]
const service = standingService(() => ({
  policy: {
    policy_id: "attested",
    policy_name: "Four attested fields",
    required_attested_fields: REQUIRED,
    rules: [{ id: "baseline-permit", effect: "allow" }],
  },
}))

const WHOLE = { attested: true, actor_id: "agent-7", actor_signature: "eA==", model_temperature: 0 }

test("a run with all of them is admitted", async () => {
  expect((await service().execute(request({ attested_context: WHOLE }))).status).toBe(200)
})

test.each<[string, JsonObject, readonly string[]]>([
  ["an empty text", { actor_id: "" }, ["actor_id"]],
  ["white space", { actor_id: "\u2003 \u00a0\n" }, ["actor_id"]],
  ["zero width characters", { actor_id: "\u200b\u2060\ufeff" }, ["actor_id"]],
  ["a Hangul filler", { actor_id: "\u3164" }, ["actor_id"]],
  ["format characters alone", { actor_id: "\u202e\u{e0041}" }, ["actor_id"]],
  ["attested: false", { attested: false }, ["attested"]],
  ["an empty signature", { actor_signature: "" }, ["actor_signature"]],
  ["all of that", { attested: false, actor_id: " ", actor_signature: "" }, ["actor_id", "actor_signature", "attested"]],
])("%s is missing: 422 with an attestation gap receipt", async (_, changes, missing) => {
  const { status, body } = await service().execute(request({ attested_context: { ...WHOLE, ...changes } }))
  expect({ status, stage: body.error_stage }).toEqual({ status: 422, stage: "PEPG_ADMISSION" })
  expect(at(body, "attestation_gap_receipt", "missing_fields")).toEqual(missing)
  expect(at(body, "attestation_gap_receipt", "required_fields")).toEqual(REQUIRED)
  expect(body.error).toBe(
    `The policy requires attested fields that the request does not carry; the run was not admitted. Cause: the policy requires attested fields that are missing: ${missing.join(", ")}.`,
  )
})
