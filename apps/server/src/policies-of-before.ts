/** Policies that were in force: a close is decided by that of its opening, so that no load makes a refusal of an act that was done. */
import { digest, parseStrictJson } from "@runseal/canonical"
import type { PolicyEvaluationSection } from "@runseal/core/artifacts/sealed-sections"
import { type CompiledPolicy, compilePolicy, policyPreimage } from "@runseal/policy/load-policy"
import { PolicyError, parsePolicyDocument } from "@runseal/policy/policy-document"
import type { Database } from "./store/driver/database.ts"
import { documentOf } from "./store/tables/policy-versions.ts"

/** Policies of before that are ready: as many as the engine has names for. */
const COMPILED_MAX = 8

/** The policy of an evaluation; the one in force where the database does not have its document any more, or this release does not load it. */
export type PolicyOfEvaluation = (evaluation: PolicyEvaluationSection) => Promise<CompiledPolicy>

export function policiesOfBefore(db: Pick<Database, "read">, inForce: () => CompiledPolicy): PolicyOfEvaluation {
  const compiled = new Map<string, CompiledPolicy>()
  return async evaluation => {
    const { policy_hash } = evaluation
    const now = inForce()
    const known = now.policy_hash === policy_hash ? now : compiled.get(policy_hash)
    if (known !== undefined) return known
    const text = await documentOf(db, policy_hash)
    const before = text === undefined ? undefined : policyOf(text, evaluation)
    if (before === undefined) return now
    const [oldest] = compiled.size < COMPILED_MAX ? [] : compiled.keys()
    if (oldest !== undefined) compiled.delete(oldest)
    compiled.set(policy_hash, before)
    return before
  }
}

/** Undefined for a document that is not the one of the evaluation, or that this release does not load. */
function policyOf(text: string, evaluation: PolicyEvaluationSection): CompiledPolicy | undefined {
  const { policy_hash, signature_scan, engine_version } = evaluation
  try {
    const document = parsePolicyDocument(parseStrictJson(text))
    if (digest(policyPreimage(document, signature_scan, engine_version)) !== policy_hash) return undefined
    return { ...compilePolicy(document, signature_scan), policy_hash }
  } catch (error) {
    if (error instanceof PolicyError) return undefined
    throw error
  }
}
