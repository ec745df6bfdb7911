/**
 * Whether the approvals that persons gave are those that rules require. Service and verifiers call this one function.
 * docs/policy-and-review.md, "Rules that require an approval".
 */

/**
 * How a decision is proven, the weakest first: by the operator's word that a key is the person's, by a sign-in at the identity provider, or by a
 * passkey besides.
 */
export const DECISION_PROOFS = ["key", "idp", "passkey"] as const
export type DecisionProof = (typeof DECISION_PROOFS)[number]

/** Whether a proof is as strong as another. */
export const isAsStrong = (proof: DecisionProof, as: DecisionProof): boolean =>
  DECISION_PROOFS.indexOf(proof) >= DECISION_PROOFS.indexOf(as)

/** Whether a decision with this proof counts for a rule that asks one. @param required `any` when absent */
export const meetsProof = (proof: DecisionProof, required: DecisionProof | "any" = "any"): boolean =>
  required === "any" || isAsStrong(proof, required)

/** What a rule requires, as far as it is counted. */
export type RequiredApproval = {
  /** A person of any of these groups. */
  readonly by: readonly string[]
  readonly count: number
  readonly proof?: DecisionProof | "any" | undefined
}

/** What a person decided, as far as it is counted. */
export type CountedDecision = {
  readonly decision: "approve" | "reject"
  readonly person: { readonly subject: string }
  readonly groups: readonly string[]
  readonly proof: DecisionProof
}

/** What a rule requires besides: in what time, and whether there has to be an end user. */
export type TimedApproval = RequiredApproval & {
  readonly within_seconds: number
  readonly end_user?: string | undefined
}

/**
 * Whether each rule is satisfied, also one that did not match when people were asked: in its own time, and with an end user where it requires one.
 * @param run when the request was made and when it is collected, in milliseconds since the epoch
 */
export const approvalsHold = (
  needed: readonly TimedApproval[],
  decisions: readonly CountedDecision[],
  run: { readonly requested_at: number; readonly at: number; readonly has_end_user: boolean },
): boolean =>
  needed.every(
    ({ within_seconds, end_user }) =>
      (end_user === "optional" || run.has_end_user) && run.at < run.requested_at + within_seconds * 1000,
  ) && approvalsSatisfy(needed, decisions)

/** Whether a decision is an approval that counts for a rule. */
const countsFor = ({ by, proof }: RequiredApproval, decision: CountedDecision): boolean =>
  meetsProof(decision.proof, proof) && decision.groups.some(group => by.includes(group))

/**
 * Whether each rule has its number of persons. A person counts once, and for one rule alone. A rejection satisfies nothing.
 * @param needed a rule each, at most `MAX_RULES` with at most `APPROVERS_MAX` persons each
 */
export function approvalsSatisfy(needed: readonly RequiredApproval[], decisions: readonly CountedDecision[]): boolean {
  if (decisions.some(({ decision }) => decision === "reject")) return false
  if (needed.reduce((sum, { count }) => sum + count, 0) > decisions.length) return false
  const given = approvalsGiven(needed, decisions)
  return needed.every(({ count }, index) => given[index] === count)
}

/**
 * How many persons each rule has, at most its number, in the order of the rules. A person counts once, and for one rule alone: the persons are
 * given to rules so that as many places as possible are taken (augmenting paths).
 */
export function approvalsGiven(
  needed: readonly RequiredApproval[],
  decisions: readonly CountedDecision[],
): readonly number[] {
  const approvals = decisions.filter(({ decision }) => decision === "approve")
  const persons = [...new Map(approvals.map(each => [each.person.subject, each])).values()]
  const places = needed.flatMap((rule, index) => Array.from({ length: rule.count }, () => ({ rule, index })))
  /** Whom each place has, by its position. */
  const held = new Map<number, CountedDecision>()
  const fill = (place: number, tried: Set<CountedDecision>): boolean => {
    const rule = places[place]?.rule
    for (const person of persons) {
      if (rule === undefined || tried.has(person) || !countsFor(rule, person)) continue
      tried.add(person)
      const other = [...held].find(([, holder]) => holder === person)?.[0]
      if (other === undefined || fill(other, tried)) {
        held.set(place, person)
        return true
      }
    }
    return false
  }
  for (const place of places.keys()) {
    if (held.size === persons.length) break
    fill(place, new Set())
  }
  const taken = new Set(held.keys())
  return needed.map((_, of) => places.filter(({ index }, place) => index === of && taken.has(place)).length)
}
