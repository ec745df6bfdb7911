/** Policies: history, loading, dry run. */
import {
  dryRunAnswerSchema,
  dryRunRequestSchema,
  foundPolicySchema,
  loadedPolicySchema,
  loadPolicyRequestSchema,
  policiesPageSchema,
  policyProposalSchema,
} from "@runseal/core/wire/policy-requests"
import { dryRunSchema, loadPolicySchema } from "../documented-schemas.ts"
import { described, type Routes, RUN_ID, shape } from "../endpoint.ts"
import { policiesQuerySchema } from "../queries.ts"

const READ = { method: "get", access: "reader" } as const
const VERSION = { ...RUN_ID, description: "Version of a policy, from 1 on." } as const

export const POLICY_ROUTES = {
  list_policies: {
    ...READ,
    path: "/admin/policies",
    query: shape(policiesQuerySchema),
    answers: { 200: shape(policiesPageSchema) },
  },
  policy_version: {
    ...READ,
    path: "/admin/policies/{version}",
    path_parameters: { version: VERSION },
    answers: { 200: shape(foundPolicySchema) },
  },
  load_policy: {
    method: "post",
    path: "/admin/policies",
    access: "admin",
    repeatable: true,
    body: shape(loadPolicyRequestSchema),
    nulls: "inside",
    answers: {
      200: shape(loadedPolicySchema),
      201: shape(loadedPolicySchema),
      202: shape(policyProposalSchema),
    },
  },
  try_policy: {
    method: "post",
    path: "/admin/policies/dry-run",
    access: "admin",
    repeatable: true,
    body: shape(dryRunRequestSchema),
    nulls: "inside",
    answers: { 200: shape(dryRunAnswerSchema) },
  },
} as const satisfies Routes

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

export const POLICY_ENDPOINTS = /* @__PURE__ */ described("Policies", POLICY_ROUTES, () => ({
  list_policies: {
    summary: "Every policy that was in force, newest first",
    description: "For admin keys, and for auditors who read all keys.",
    answers: { 200: "A page of policies. The first of all is the one in force." },
  },
  policy_version: {
    summary: "One policy that was in force",
    description:
      "For admin keys, and for auditors who read all keys. Saved as a file it is what `verifier --decided-by` takes.",
    refusals: [404],
    answers: { 200: "The policy with its hash. 404 for a version that there is not." },
  },
  load_policy: {
    summary: "Put a policy in force, without a restart",
    description:
      "Every process of this deployment decides by it within two seconds. An administrative event says who loaded it.",
    body: { schema: loadPolicySchema, example: { policy: POLICY } },
    answers: {
      200: "This document was in force already.",
      201: "The policy is in force.",
      202: "With --approve-policy on: the policy waits until another admin loads the same document.",
    },
  },
  try_policy: {
    summary: "Hold a policy against the newest runs",
    description:
      "Changes nothing. Both policies judge what the records of the runs declare; 503 while another dry run is under way.",
    body: { schema: dryRunSchema, example: { policy: POLICY, last: 100 } },
    answers: { 200: "What would change, by rule and by run." },
  },
}))
