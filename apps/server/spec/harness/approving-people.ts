/** A policy that leaves some acts to people, and the people. */
import type { JsonObject } from "@runseal/canonical"
import { asking } from "./asked-permits.ts"
import { type Holder, mint, type RequestTarget } from "./key-holders.ts"
import { type Answer, textAt } from "./read-answer.ts"

export const APPROVAL_SECONDS = 3600

/** Transfers of any amount are allowed; of some, these rules leave the decision to people. */
export const transferPolicy = (...rules: readonly JsonObject[]): JsonObject => ({
  policy_id: "payments",
  policy_name: "Payments",
  required_attested_fields: [],
  acts: [{ name: "transfer", routes: ["payments/*"], names: { amount: { at: "/amount", type: "decimal" } } }],
  rules: [
    { id: "transfers", effect: "allow", act: "transfer" },
    ...rules.map(rule => ({ effect: "require_approval", act: "transfer", ...rule })),
  ],
})

/** Two of the treasury or of finance above 10,000; one of the board besides above a million. */
export const APPROVAL_POLICY = transferPolicy(
  {
    id: "two-people",
    when: 'context.act.amount.greaterThan(decimal("10000.0"))',
    approval: { by: ["treasury", "finance"], count: 2, within_seconds: APPROVAL_SECONDS, end_user: "optional" },
  },
  {
    id: "board",
    when: 'context.act.amount.greaterThan(decimal("1000000.0"))',
    approval: { by: ["board"], count: 1, within_seconds: 2 * APPROVAL_SECONDS, end_user: "optional" },
  },
)

let cents = 0
/** What a permit is asked for; each is another act. */
export function transferOf(amount: number, changes: JsonObject = {}): JsonObject {
  cents = (cents + 1) % 10_000
  const payload = `{"amount": "${amount}.${`${cents}`.padStart(4, "0")}", "memo": "rent"}`
  return asking({ route_id: "payments/transfer", payload, ...changes })
}

export const approvalOf = ({ body }: Answer): string => textAt(body, "approval_id")

/** The person of a key. */
export const approver = (
  service: RequestTarget,
  admin: Holder,
  person: string,
  groups: readonly string[],
): Promise<Holder> => mint(service, { name: `key of ${person}`, scope: "approver", person, groups: [...groups] }, admin)

/** Decides on what is shown. */
export async function decide(
  person: Holder,
  approval_id: string,
  decision: "approve" | "reject",
  changes: JsonObject = {},
): Promise<Answer> {
  const { body } = await person.get(`/approvals/${approval_id}`)
  return person.post(`/approvals/${approval_id}/decision`, {
    request_digest: textAt(body, "request_digest"),
    decision,
    ...changes,
  })
}

export const collect = (asker: Holder, approval_id: string): Promise<Answer> =>
  asker.post(`/approvals/${approval_id}/permit`)
