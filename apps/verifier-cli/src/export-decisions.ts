/** The decisions of a whole export, made again; and the policies that made them, in the order of time. docs/verifier.md, "Decided again". */
import type { JsonObject } from "@runseal/canonical"
import { MARKS } from "@runseal/core/presentation/account"
import { chainClock, chainDocument } from "@runseal/core/verify/chain-document"
import type { ReadDocument } from "@runseal/core/verify/read-document"
import { textMember } from "@runseal/core/vocabulary/json-members"
import type { Decider } from "./expected-decision.ts"
import type { DecidedWord } from "./judgement.ts"
import type { Line } from "./print.ts"
import { section } from "./report-lines.ts"
import { decidedLines } from "./verify-stream.ts"

/** Documents that were not decided again and are listed, and changes of the policy. Further ones are counted, and left out. */
const LISTED_MAX = 100

/** A policy from its first document on, or an admin event that loaded one. */
type PolicyInTime = {
  readonly clock: string
  readonly policy_id?: string
  readonly policy_hash?: string
  /** Of an admin event: its action, and who did it. */
  readonly event?: string
  readonly actor?: string
}

export type ExportDecisions = {
  /** Takes the next document, which verifies by itself. */
  readonly take: (line: number, read: ReadDocument) => void
  readonly notDecided: () => number
  readonly lines: () => readonly Line[]
  readonly json: () => JsonObject
}

/** Decides every document of an export again. */
export function exportDecisions(decide: Decider): ExportDecisions {
  const counts = new Map<DecidedWord, number>()
  const undecided: { readonly line: number; readonly sentence: string }[] = []
  const policies: PolicyInTime[] = []
  let newest: string | undefined
  const notDecided = (): number => counts.get("not") ?? 0
  const takePolicy = (read: ReadDocument): void => {
    const policy = policyOf(read)
    if (policy === undefined || (policy.event === undefined && policy.policy_hash === newest)) return
    if (policy.event === undefined) newest = policy.policy_hash
    if (policies.length < LISTED_MAX) policies.push(policy)
  }
  return {
    take: (line, read) => {
      takePolicy(read)
      const { decided = "none", result, message } = decide(read)
      counts.set(decided, (counts.get(decided) ?? 0) + 1)
      if (result === "fail" && undecided.length < LISTED_MAX) undecided.push({ line, sentence: message })
    },
    notDecided,
    lines: () => [
      ...section("Policies, in the order of the export", policies.map(policyLine)),
      ...section("Decided again", decidedLines(counts)),
      ...section("Not decided again", [
        ...undecided.map(
          ({ line, sentence }): Line => ["  ", { text: MARKS.fail, tone: "bad" }, ` line ${line}: ${sentence}`],
        ),
        ...(notDecided() > undecided.length ? [[`  and ${notDecided() - undecided.length} more`]] : []),
      ]),
    ],
    json: () => ({
      decided_again: Object.fromEntries(counts),
      policies,
      not_decided_again: undecided,
    }),
  }
}

/** The policy that decided a document, or that an admin event loaded. */
function policyOf(read: ReadDocument): PolicyInTime | undefined {
  const document = chainDocument(read)
  if (document === undefined || document.kind === "end") return undefined
  const clock = chainClock(document)
  if (document.kind === "event") {
    const { action: event, who, after } = document.value
    if (event !== "policy.load") return undefined
    const [policy_id, policy_hash] = [textMember(after, "policy_id"), textMember(after, "policy_hash")]
    return {
      clock,
      event,
      actor: who.actor,
      ...(policy_id === undefined ? {} : { policy_id }),
      ...(policy_hash === undefined ? {} : { policy_hash }),
    }
  }
  const gap = document.kind === "record" ? document.value.attestation_gap_receipt : undefined
  const named = document.value.sections.policy_evaluation ?? gap
  return named && { clock, policy_id: named.policy_id, policy_hash: named.policy_hash }
}

const policyLine = ({ clock, policy_id = "", policy_hash = "", event, actor }: PolicyInTime): Line => [
  `  ${clock}  ${policy_hash}  ${policy_id}${event === undefined ? "" : `, ${event} by ${actor}`}`,
]
