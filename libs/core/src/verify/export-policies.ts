/** The policies that the records of a chain name. A policy's hash covers its id, name, tag and required fields: one hash has one of each. */
import { canonicalize, type JsonObject } from "@runseal/canonical"
import type { Bundle } from "../artifacts/bundle.ts"

/** Policies that are remembered; later ones are compared with nothing. */
export const REMEMBERED_POLICIES_MAX = 1000

export type Policies = {
  /** What is wrong with the policy that a record names, in sentences' ends. @param name of the record, for those that come after it */
  readonly take: (bundle: Bundle, name: string) => readonly string[]
}

/** What a record says of its policy, as canonical text; only a refusal for what was not attested says what it requires. */
type Facts = { readonly hash: string; readonly name: string; readonly required?: string }
/** What was said of a policy first, and by which record. */
type Known = { readonly name: Said; readonly required?: Said }
type Said = { readonly text: string; readonly by: string }

function policyOf({ sections, attestation_gap_receipt: gap }: Bundle): Facts | undefined {
  const named = sections.policy_evaluation ?? gap
  if (named === undefined) return undefined
  const { policy_id, policy_name, profile_tag, policy_hash: hash } = named
  const identity: JsonObject = { policy_id, policy_name, ...(profile_tag === undefined ? {} : { profile_tag }) }
  const required = gap === undefined ? {} : { required: canonicalize(gap.required_fields) }
  return { hash, name: canonicalize(identity), ...required }
}

export function rememberPolicies(): Policies {
  const known = new Map<string, Known>()
  return {
    take: (bundle, record) => {
      const policy = policyOf(bundle)
      if (policy === undefined) return []
      const { hash, name, required } = policy
      const before = known.get(hash)
      if (before === undefined && known.size >= REMEMBERED_POLICIES_MAX) return []
      const first = before?.name ?? { text: name, by: record }
      const firstRequired = before?.required ?? (required === undefined ? undefined : { text: required, by: record })
      known.set(hash, { name: first, ...(firstRequired === undefined ? {} : { required: firstRequired }) })
      const problem = (what: string, { by }: Said): string => `gives the policy ${hash} another ${what} than ${by}`
      return [
        ...(first.text === name ? [] : [problem("name", first)]),
        ...(firstRequired === undefined || required === undefined || firstRequired.text === required
          ? []
          : [problem("list of required fields", firstRequired)]),
      ]
    },
  }
}
