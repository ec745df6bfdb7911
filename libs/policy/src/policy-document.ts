/** Reads the policy document that an operator or an administrator gives. */

import type { JsonValue } from "@runseal/canonical"
import { issueReason } from "@runseal/core/artifacts/schema-issue"
import { type PolicyDocument, policyDocumentSchema } from "@runseal/core/wire/policy-document-schema"
import * as v from "valibot"

/** A policy that cannot be used. The message is one sentence for the operator at start; it never holds request data. */
export class PolicyError extends Error {
  override readonly name = "PolicyError"
}

/** The policy in force when the operator names none: it admits everything, as the hosted service's does. */
export const BUILT_IN_POLICY: PolicyDocument = {
  policy_id: "runseal-baseline",
  policy_name: "Runseal baseline",
  required_attested_fields: [],
  rules: [{ id: "baseline-permit", effect: "allow", description: "Admits every run." }],
}

/**
 * Reads a policy document: strict, an unknown key is a mistake.
 * @throws PolicyError naming the place of the first mistake
 */
export function parsePolicyDocument(json: JsonValue): PolicyDocument {
  const result = v.safeParse(policyDocumentSchema, json)
  if (result.success) return result.output
  const [issue] = result.issues
  throw new PolicyError(
    `The policy document is refused at "${v.getDotPath(issue) ?? "its top level"}": ${issueReason(issue)}.`,
  )
}
