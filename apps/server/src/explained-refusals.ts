/** Why a run was refused, for the caller who may see it. docs/api.md, "Explanation". */
import { receiptOf } from "@runseal/core/artifacts/bundle-schema"
import { causeOf, type Explanation, explainReceipt } from "@runseal/core/artifacts/explanation"
import type { Receipts } from "@runseal/core/artifacts/sealed-artifacts"
import type { SealedSections } from "@runseal/core/artifacts/sealed-sections"
import { explainRule } from "@runseal/policy/explain-rule"
import type { PolicyOfEvaluation } from "./policies-of-before.ts"
import { signatureName } from "./run/policy/signature-name.ts"

export type ExplainedRefusal = {
  readonly explanation: Explanation
  /** The same as a phrase. */
  readonly cause: string
}

/**
 * Undefined for a run that no gate refused. It follows from the record and the policy that it names: a repetition gets the same.
 * @param shown whether what the policy says of the rule, and what the rule read, is part of it
 */
export type ExplainRefusal = (
  record: Partial<Receipts> & { readonly sections: SealedSections },
  shown: boolean,
) => Promise<ExplainedRefusal | undefined>

export const explainsRefusals =
  (policyOf: PolicyOfEvaluation): ExplainRefusal =>
  async (record, shown) => {
    const receipt = receiptOf(record)?.receipt
    if (receipt === undefined) return undefined
    const explanation = {
      ...explainReceipt(receipt, record.sections),
      ...signatureMembers(record.sections),
      ...(shown && receipt.version === "vfa.deny_receipt.v1" ? await ruleMembers(policyOf, record.sections) : {}),
    }
    return { explanation, cause: causeOf(receipt, explanation) }
  }

/** A match that was only observed refused nothing. */
function signatureMembers({ mcd_finding: found, policy_evaluation: evaluation }: SealedSections): Partial<Explanation> {
  const isCause = found !== undefined && evaluation?.fired_rule_id === found.matched_signature_id
  return (isCause && signatureName(found.library_hash, found.matched_signature_id)) || {}
}

/** None where the database does not have the document any more. */
async function ruleMembers(policyOf: PolicyOfEvaluation, sections: SealedSections): Promise<Partial<Explanation>> {
  const { policy_evaluation: evaluation } = sections
  if (evaluation === undefined) return {}
  const policy = await policyOf(evaluation)
  return policy.policy_hash === evaluation.policy_hash ? explainRule(sections, policy) : {}
}
