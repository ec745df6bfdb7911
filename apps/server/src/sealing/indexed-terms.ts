/** The values of a record that `GET /runs/search` finds it by, beside the columns of its row. Decision 0124. */
import type { JsonObject, JsonValue } from "@runseal/canonical"
import { type DeclaredSection, isShown } from "@runseal/core/artifacts/declared-sections"
import type { Sections } from "@runseal/core/artifacts/sections"
import { member, textMember } from "@runseal/core/vocabulary/json-members"
import type { RunTerm, TermField } from "../store/tables/run-terms.ts"

/** Most approvers of one run that are indexed: the first ones. */
const MAX_APPROVERS = 64

export function indexedTerms(sections: Sections): readonly RunTerm[] {
  const attested = declaredOf(sections.attested_context)
  return [
    ...[...rulesOf(sections)].flatMap(id => term("rule_id", id)),
    ...term("payload_hash", sections.payload?.payload_hash),
    ...term("envelope_id", sections.envelope?.envelope_id),
    ...term("actor_id", textMember(attested, "actor_id")),
    ...term("model_name", textMember(attested, "model_name")),
    ...approversOf(declaredOf(sections.authorization_chain)).flatMap(id => term("approver", id)),
  ]
}

/** What decided, and a signature whose match was observed only. */
const rulesOf = ({ policy_evaluation, mcd_finding }: Sections): ReadonlySet<string | undefined> =>
  new Set([policy_evaluation?.fired_rule_id, mcd_finding?.matched_signature_id])

const term = (field: TermField, value: string | undefined): readonly RunTerm[] =>
  value === undefined || value === "" ? [] : [{ field, value }]

const declaredOf = (section: DeclaredSection | undefined): JsonObject | undefined =>
  section !== undefined && isShown(section) ? section.declared : undefined

function approversOf(chain: JsonValue | undefined): readonly (string | undefined)[] {
  const approvers = member(chain, "approvers")
  return Array.isArray(approvers) ? approvers.slice(0, MAX_APPROVERS).map(item => textMember(item, "actor_id")) : []
}
