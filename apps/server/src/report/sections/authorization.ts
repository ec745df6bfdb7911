/** Authorization and approval chain, and real-world effect: approvals and effects as the caller declared them. */

import type { JsonObject } from "@runseal/canonical"
import { isObject, member } from "@runseal/core/vocabulary/json-members"
import type { Block } from "@runseal/pdf/block"
import type { ItemColumn } from "../declared.ts"
import { declaredIn, declaredOpening, itemTable, valueTable, without } from "../declared.ts"
import { heading, remark } from "../spans.ts"
import type { Part } from "../subject.ts"

const column = (title: string, share: number, ...keys: readonly string[]): ItemColumn => ({
  title,
  share,
  members: keys.map(key => ({ key })),
})

const APPROVERS: readonly ItemColumn[] = [
  column("Order", 7, "order"),
  {
    title: "Approver",
    share: 20,
    members: [{ key: "actor_id" }, { key: "actor_role", label: "role" }],
  },
  column("Approved at", 24, "approved_at"),
  {
    title: "Approved request, signature, comment",
    share: 49,
    members: [
      { key: "approved_request_hash", label: "request" },
      { key: "signature", label: "signature" },
      { key: "comment", label: "comment" },
    ],
  },
]

/** Threshold checks, as the caller states them. */
const THRESHOLDS: readonly ItemColumn[] = [
  column("Check", 30, "name"),
  column("Observed", 17, "observed_value"),
  column("Operator", 12, "operator"),
  column("Threshold", 17, "threshold_value"),
  column("Unit", 10, "unit"),
  column("Breached", 14, "breached"),
]

const EFFECTS: readonly ItemColumn[] = [
  column("Effect", 12, "effect_kind"),
  column("Target", 17, "target"),
  column("Status", 15, "status"),
  column("Issued at", 22, "issued_at"),
  column("Acknowledgement hash", 34, "ack_hash"),
]

const CHAIN_TABLES = ["approvers", "threshold_checks", "human_in_loop"] as const

export const authorization: Part = ({ bundle }) => {
  const declared = declaredIn(bundle, "authorization_chain")
  return [
    heading(2, "Authorization and Approval Chain"),
    ...declaredOpening(bundle, "authorization_chain"),
    ...(declared === undefined ? [] : chain(declared)),
  ]
}

function chain(declared: JsonObject): readonly Block[] {
  const approvers = member(declared, "approvers")
  const human = member(declared, "human_in_loop")
  const unverified = remark("Signatures of approvers are shown as declared; the service verifies none of them.")
  return [
    ...(approvers === undefined ? [] : [unverified]),
    ...itemTable("Approvers", approvers, APPROVERS),
    ...itemTable("Threshold checks", member(declared, "threshold_checks"), THRESHOLDS),
    ...(human === undefined ? [] : valueTable("Human in the loop", isObject(human) ? human : { human_in_loop: human })),
    ...valueTable("Further values of the chain", without(declared, CHAIN_TABLES)),
  ]
}

export const realWorldEffect: Part = ({ bundle }) => {
  const declared = declaredIn(bundle, "causal_graph")
  const reported = remark(
    "The service performs none of these effects and observes none: they are what the caller reports.",
  )
  return [
    heading(2, "Real-World Effect"),
    ...declaredOpening(bundle, "causal_graph"),
    ...(declared === undefined ? [] : [reported]),
    ...itemTable("Effects", member(declared, "effect_log"), EFFECTS),
    ...valueTable("Related runs and further values", without(declared, ["effect_log"])),
  ]
}
