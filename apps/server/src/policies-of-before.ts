/** Policies that were in force: a close is decided by that of its opening, so that no load makes a refusal of an act that was done. */
import { digest, parseStrictJson } from "@runseal/canonical"
import type { PolicyEvaluationSection } from "@runseal/core/artifacts/sealed-sections"
import { type CompiledPolicy, compilePolicy, policyPreimage } from "@runseal/policy/load-policy"
import { parsePolicyDocument } from "@runseal/policy/policy-document"
import type { Database } from "./store/driver/database.ts"
import { documentsOf } from "./store/tables/policy-versions.ts"

/** Policies of before that are ready: as many as the engine has names for. */
const COMPILED_MAX = 8

/** The policy of an evaluation; the one in force where the database does not have its document any more. */
export type PolicyOfEvaluation = (evaluation: PolicyEvaluationSection) => Promise<CompiledPolicy>

export function policiesOfBefore(db: Pick<Database, "read">, inForce: () => CompiledPolicy): PolicyOfEvaluation {
  const compiled = new Map<string, CompiledPolicy>()
  return async ({ policy_id, policy_hash, signature_scan, engine_version }) => {
    const now = inForce()
    const known = now.policy_hash === policy_hash ? now : compiled.get(policy_hash)
    if (known !== undefined) return known
    const document = (await documentsOf(db, policy_id))
      .map(text => parsePolicyDocument(parseStrictJson(text)))
      .find(each => digest(policyPreimage(each, signature_scan, engine_version)) === policy_hash)
    if (document === undefined) return now
    const before = { ...compilePolicy(document, signature_scan), policy_hash }
    const [oldest] = compiled.size < COMPILED_MAX ? [] : compiled.keys()
    if (oldest !== undefined) compiled.delete(oldest)
    compiled.set(policy_hash, before)
    return before
  }
}
