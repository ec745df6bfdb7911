/** Answers of the endpoints of approvals, as strict as this release writes them. docs/api.md, "Approvals". */

/**
 * `waiting`: people may decide. `approved`: enough did, and the key that asked may collect the permit. `rejected`, `withdrawn`: it is over, and a
 * refused run is about to be sealed for it. `collected`: a permit was opened. `refused`: a run was refused instead.
 */
export const APPROVAL_STATES = ["waiting", "approved", "rejected", "withdrawn", "collected", "refused"] as const
export type ApprovalState = (typeof APPROVAL_STATES)[number]

export const DECISIONS = ["approve", "reject"] as const
export type Decision = (typeof DECISIONS)[number]

/** How a decision is proven: by a sign-in at the identity provider, or by the operator's word that a key is the person's. */
export const DECISION_PROOFS = ["idp", "key"] as const
export type DecisionProof = (typeof DECISION_PROOFS)[number]
