/** Rules that the engine has parsed, under names of which there are few: it forgets none, but replaces what it has under a name. */
import { cedar } from "./cedar-engine.node.ts"
import { PolicyError } from "./policy-document.ts"

/** Policies that are decided by at a time: the one in force, those of before for runs admitted then, and a candidate. */
const NAMES_MAX = 8

/** A policy's rules as Cedar text, by their ids. */
export type EngineRules = {
  readonly policy_hash: string
  readonly texts: Readonly<Record<string, string>>
}

/** Names by the hash of the policy; the one that was asked for least recently is first. */
const names = new Map<string, string>()

/**
 * The name under which the engine has these rules, until the next call. It parses them if it does not have them.
 * @throws PolicyError for rules that it does not parse
 */
export function ruleSetOf({ policy_hash, texts }: EngineRules): string {
  const known = names.get(policy_hash)
  const [oldest] = names.size < NAMES_MAX ? [] : names.entries()
  const name = known ?? oldest?.[1] ?? `rules-${names.size}`
  if (known === undefined) {
    const { type } = cedar().preparsePolicySet(name, { staticPolicies: { ...texts } })
    if (type === "failure") throw new PolicyError("The engine does not accept the rules together.")
    if (oldest !== undefined) names.delete(oldest[0])
  }
  names.delete(policy_hash)
  names.set(policy_hash, name)
  return name
}
