/** Policies: history, loading, dry run. */
import { policyDocumentSchema } from "@runseal/core/wire/policy-document-schema"
import {
  dryRunAnswerSchema,
  dryRunRequestSchema,
  foundPolicySchema,
  loadedPolicySchema,
  loadPolicyRequestSchema,
  policiesPageSchema,
} from "@runseal/core/wire/policy-requests"
import * as v from "valibot"
import { BODY_MAX_BYTES } from "../body-bounds.ts"
import { type Endpoint, json, type PathParameter, RUN_ID } from "../endpoint.ts"
import { policiesQuerySchema } from "../queries.ts"

/** Conditions are Cedar expressions over `context`. */
const policy = policyDocumentSchema
export const loadPolicySchema = v.strictObject({ ...loadPolicyRequestSchema.entries, policy })
export const dryRunSchema = v.strictObject({ ...dryRunRequestSchema.entries, policy })

const ADMIN = { tag: "Policies", access: "admin" } as const
const READER = { ...ADMIN, access: "reader" } as const
const VERSION: PathParameter = { ...RUN_ID, description: "Version of a policy, from 1 on." }
const POLICY = {
  policy_id: "regulated-payments",
  policy_name: "Regulated payments",
  required_attested_fields: ["actor_id"],
  acts: [
    {
      name: "transfer",
      routes: ["payments/transfer"],
      closed: ["/arguments"],
      ignored: ["/arguments/memo"],
      names: {
        amount: { at: "/arguments/amount", type: "decimal", min: "0.01", max: "1000000.00" },
        payee: { at: "/arguments/to/iban", type: "ascii", case: "upper" },
        reference: { at: "/arguments/reference", type: "string", optional: true },
      },
    },
  ],
  rules: [
    { id: "transfers", effect: "allow", act: "transfer", when: 'context.verified.region like "eu-*"' },
    {
      id: "large",
      effect: "deny",
      description: "Payments above 10,000 are made by people.",
      act: "transfer",
      when: 'context.act.amount.greaterThan(decimal("10000.0"))',
    },
    { id: "reads", effect: "allow", routes: ["payments/balance"] },
  ],
}

export const POLICY_ENDPOINTS: readonly Endpoint[] = [
  {
    ...READER,
    method: "get",
    path: "/admin/policies",
    id: "list_policies",
    summary: "Every policy that was in force, newest first",
    description: "For admin keys, and for auditors who read all keys.",
    query: policiesQuerySchema,
    answers: { 200: json(policiesPageSchema, "A page of policies. The first of all is the one in force.") },
  },
  {
    ...READER,
    method: "get",
    path: "/admin/policies/{version}",
    id: "policy_version",
    summary: "One policy that was in force",
    description:
      "For admin keys, and for auditors who read all keys. Saved as a file it is what `verifier --decided-by` takes.",
    refusals: [404],
    path_parameters: { version: VERSION },
    answers: { 200: json(foundPolicySchema, "The policy with its hash. 404 for a version that there is not.") },
  },
  {
    ...ADMIN,
    method: "post",
    path: "/admin/policies",
    id: "load_policy",
    summary: "Put a policy in force, without a restart",
    description:
      "Every process of this deployment decides by it within two seconds. An administrative event says who loaded it.",
    body: {
      schema: loadPolicySchema,
      max_bytes: BODY_MAX_BYTES,
      example: { policy: POLICY },
    },
    answers: {
      200: json(loadedPolicySchema, "This document was in force already."),
      201: json(loadedPolicySchema, "The policy is in force."),
    },
  },
  {
    ...ADMIN,
    method: "post",
    path: "/admin/policies/dry-run",
    id: "try_policy",
    summary: "Hold a policy against the newest runs",
    description:
      "Changes nothing. Both policies judge what the records of the runs declare; 503 while another dry run is under way.",
    body: {
      schema: dryRunSchema,
      max_bytes: BODY_MAX_BYTES,
      example: { policy: POLICY, last: 100 },
    },
    answers: { 200: json(dryRunAnswerSchema, "What would change, by rule and by run.") },
  },
]
