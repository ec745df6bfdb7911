/**
 * Compares what the records of a chain say of policies and signature libraries. A hash covers the whole document: one policy has one name, one
 * list of required fields and one effect for each rule, one library one severity for each signature.
 */
import { canonicalize, type JsonObject } from "@runseal/canonical"
import type { Bundle } from "../artifacts/bundle-schema.ts"
import { shown } from "../artifacts/declared-sections.ts"
import { missingAttestedFields } from "../vocabulary/attested-presence.ts"
import { ATTESTED_FIELDS } from "../vocabulary/decision-codes.ts"
import type { ChainDocument } from "./chain-document.ts"

/** Facts that are remembered, of some 1,500 bytes at most; later facts are compared with these only. */
const REMEMBERED_FACTS_MAX = 32_768

/** What is wrong with the policy and library of the next record: ends of sentences. @param name of the record, for later ones */
type PolicyCheck = (document: ChainDocument, name: string) => readonly string[]

/** What of a record or an opening was decided by a policy. */
type Decided = Pick<Bundle, "attestation_gap_receipt"> & {
  readonly sections: Pick<Bundle["sections"], "policy_evaluation" | "mcd_finding" | "attested_context">
}

/** One thing that a record says of a hashed document. */
type Fact = {
  /** Hash and part of the document: what the fact is about. */
  readonly about: string
  readonly value: string
  /** Why it cannot be true beside another value that an earlier record gives. */
  readonly contradicts: (earlier: string) => string
}

export function createPolicyCheck(limit: number = REMEMBERED_FACTS_MAX): PolicyCheck {
  const known = new Map<string, { readonly value: string; readonly by: string }>()
  return (document, record) => {
    if (document.kind === "end" || document.kind === "event") return []
    const bundle: Decided = document.value
    const facts = [...policyFacts(bundle), ...requiredFacts(bundle), ...effectFacts(bundle), ...severityFacts(bundle)]
    return facts.flatMap(({ about, value, contradicts }) => {
      const first = known.get(about)
      if (first === undefined && known.size < limit) known.set(about, { value, by: record })
      return first === undefined || first.value === value ? [] : [contradicts(first.by)]
    })
  }
}

function policyFacts({ sections, attestation_gap_receipt: gap }: Decided): readonly Fact[] {
  const named = sections.policy_evaluation ?? gap
  if (named === undefined) return []
  const { policy_id, policy_name, profile_tag, policy_hash: hash } = named
  const identity: JsonObject = { policy_id, policy_name, ...(profile_tag === undefined ? {} : { profile_tag }) }
  const another = (what: string, value: string): Fact => ({
    about: `${hash} ${what}`,
    value,
    contradicts: earlier => `gives the policy ${hash} another ${what} than ${earlier}`,
  })
  const required = gap === undefined ? [] : [another("list of required fields", canonicalize(gap.required_fields))]
  const scan = sections.policy_evaluation?.signature_scan
  const scanned = scan === undefined ? [] : [another("signature scan", canonicalize(scan))]
  return [another("name", canonicalize(identity)), ...required, ...scanned]
}

/** A run that was admitted shows which fields its policy does not require. */
function requiredFacts({ sections, attestation_gap_receipt: gap }: Decided): readonly Fact[] {
  const about = (hash: string, field: string): string => `${hash} requires ${field}`
  if (gap !== undefined)
    return gap.required_fields.map(field => ({
      about: about(gap.policy_hash, field),
      value: "yes",
      contradicts: earlier =>
        `gives ${field} as required by the policy ${gap.policy_hash}, which admitted ${earlier} without it`,
    }))
  const { policy_evaluation: evaluation } = sections
  const context = shown(sections.attested_context)
  if (evaluation === undefined || context === undefined) return []
  const { policy_hash: hash } = evaluation
  const lacking = missingAttestedFields(context.declared, ATTESTED_FIELDS)
  return lacking.map(field => ({
    about: about(hash, field),
    value: "no",
    contradicts: earlier => `was admitted without ${field}, which the policy ${hash} requires, as ${earlier} gives it`,
  }))
}

/** Rules that determined a decision all have its effect. */
function effectFacts({ sections: { policy_evaluation: evaluation } }: Decided): readonly Fact[] {
  if (evaluation === undefined) return []
  const { policy_hash: hash, decision, matched_rule_ids: matched } = evaluation
  return matched.map(rule => ({
    about: `${hash} effect of ${rule}`,
    value: decision,
    contradicts: earlier => `gives the rule ${rule} of the policy ${hash} another effect than ${earlier}`,
  }))
}

function severityFacts({ sections: { mcd_finding: finding } }: Decided): readonly Fact[] {
  if (finding === undefined) return []
  const { library_hash: hash, matched_signature_id: signature, severity } = finding
  return [
    {
      about: `${hash} severity of ${signature}`,
      value: severity,
      contradicts: earlier =>
        `gives the signature ${signature} of the library ${hash} another severity than ${earlier}`,
    },
  ]
}
