/**
 * The approvers that a caller declares. Rules count them and TOK says which entries they do not count, both from here, so a record never
 * says something else than the rules saw. docs/pipeline.md, "Findings".
 */
import type { JsonValue } from "@runseal/canonical"
import { isMeaningful } from "./attested-presence.ts"
import { member, textMember } from "./json-members.ts"
import type { ApproverCode } from "./kernel-findings.ts"

/** The entries of `approvers`: how many name each approver, and how many name nobody. */
export type Approvers = { readonly named: ReadonlyMap<string, number>; readonly unnamed: number }

/** @param chain what `authorization_chain` declares */
export function readApprovers(chain: JsonValue | undefined): Approvers {
  const entries = member(chain, "approvers")
  const named = new Map<string, number>()
  let unnamed = 0
  for (const entry of Array.isArray(entries) ? entries : []) {
    const id = textMember(entry, "actor_id")
    if (id === undefined || !isMeaningful(id)) unnamed += 1
    else named.set(id, (named.get(id) ?? 0) + 1)
  }
  return { named, unnamed }
}

/** Approvers that rules count: each once, without the actor. */
export const countedApprovers = ({ named }: Approvers, actor: string | undefined): string[] =>
  [...named.keys()].filter(id => id !== actor)

/** How many entries rules do not count, by the reason. An entry has one: what names the actor is no repetition. */
export function uncountedApprovers(approvers: Approvers, actor: string | undefined): Record<ApproverCode, number> {
  const ofActor = approvers.named.get(actor ?? "") ?? 0
  const all = [...approvers.named.values()].reduce((sum, entries) => sum + entries, 0)
  return {
    APPROVER_REPEATED: all - ofActor - countedApprovers(approvers, actor).length,
    APPROVER_UNNAMED: approvers.unnamed,
    APPROVER_IS_ACTOR: ofActor,
  }
}
