/**
 * Compares the requests for an approval of a chain with the openings and refused runs in which they end. A request ends once, in what was
 * asked for; one whose time is over has ended.
 */
import { canonicalize, isJsonValue, type JsonValue } from "@runseal/canonical"
import { shownAct } from "../artifacts/act-section.ts"
import type { ApprovalRequest } from "../artifacts/approval-request.ts"
import { type ShownApprovals, shownApprovals } from "../artifacts/approvals.ts"
import { DECLARED_NAMES, shown } from "../artifacts/declared-sections.ts"
import { shownEndUser } from "../artifacts/end-user.ts"
import type { Opening } from "../artifacts/opening.ts"
import type { NeededApproval } from "../artifacts/sealed-sections.ts"
import { approvalsSatisfy } from "../vocabulary/approvals-satisfy.ts"
import { clockMillis } from "../vocabulary/scalars.ts"
import type { ChainDocument } from "./chain-document.ts"
import { brokenRules } from "./contradictions.ts"

/** Requests that are remembered until they end, of some 10,000 bytes; a key has at most some fifty waiting. */
const REMEMBERED_REQUESTS_MAX = 16_384
/** Ends that are remembered, of some 100 bytes. */
const REMEMBERED_ENDS_MAX = 1_048_576
/** A service ends a request within seconds; so long it may have been away. Milliseconds. */
const END_GRACE_MS = 600_000

export type ApprovalCheck = {
  /** Compares a document with the requests before it: ends of sentences. */
  readonly take: (document: ChainDocument) => readonly string[]
  /** Requests that nothing ended, although their time was over: whole sentences. @param at RFC 3339: as of when */
  readonly overdue: (at: string) => readonly string[]
  /** Requests of the piece that nothing has ended. */
  readonly left: () => number
}

/** @param fromFirst whether the piece begins with the chain, so that a request which is not here is nowhere */
export function createApprovalCheck(fromFirst: boolean): ApprovalCheck {
  /** By their hash, which what ends them names also where the approvals are withheld. */
  const waiting = new Map<string, ApprovalRequest>()
  /** Those that have ended, also of requests from before the piece. */
  const ended = new Set<string>()
  let isFull = false
  return {
    take: ({ asks, decided, closes, opens }) => {
      if (asks !== undefined) {
        isFull ||= waiting.size >= REMEMBERED_REQUESTS_MAX
        if (!isFull) waiting.set(asks.request_hash, asks)
        return []
      }
      const request_hash = decided?.sections.policy_evaluation?.approval_request_hash
      if (decided === undefined || request_hash === undefined || closes !== undefined) return []
      const request = waiting.get(request_hash)
      waiting.delete(request_hash)
      if (ended.has(request_hash)) return ["ends a request for an approval that has ended already"]
      if (ended.size < REMEMBERED_ENDS_MAX) ended.add(request_hash)
      if (request !== undefined) return endProblems(decided.sections, request, opens)
      return fromFirst && !isFull ? ["ends a request for an approval that is not here before it"] : []
    },
    overdue: at =>
      [...waiting.values()]
        .filter(({ expires_at }) => (clockMillis(expires_at) ?? 0) + END_GRACE_MS < (clockMillis(at) ?? 0))
        .map(
          ({ approval_id, expires_at }) =>
            `the request for an approval ${approval_id} ended in no opening and no refused run, although its time was over at ${expires_at}`,
        ),
    left: () => waiting.size,
  }
}

type EndSections = NonNullable<ChainDocument["decided"]>["sections"]

/** What was asked for is what was decided. Salts differ, so contents are compared, where both show them. */
function endProblems(sections: EndSections, request: ApprovalRequest, opening: Opening | undefined): readonly string[] {
  const { sections: asked, expires_at, approval_id, request_hash } = request
  const { envelope, payload, policy_evaluation: evaluation, approvals: section } = sections
  const given = section && shownApprovals(section)
  const { envelope: first, policy_evaluation: required } = asked
  const isAllowed = evaluation?.decision === "allow"
  const needed = required.needed ?? []
  const may = new Set(needed.flatMap(({ by }) => by))
  return brokenRules([
    [
      given === undefined ||
        (given.approval_id === approval_id &&
          given.request_hash === request_hash &&
          given.requested_at === first.admission_clock &&
          given.expires_at === expires_at),
      "gives its request for an approval another id or other times",
    ],
    [
      given === undefined || given.decisions.every(({ groups }) => groups.every(group => may.has(group))),
      "has a decision of a group that its request for an approval does not ask",
    ],
    [
      given === undefined || hasDecided(given, needed),
      "gives its request for an approval another outcome than its decisions have",
    ],
    [
      envelope === undefined ||
        (envelope.program_id === first.program_id &&
          envelope.route_id === first.route_id &&
          envelope.registry_record_hash === first.registry_record_hash &&
          envelope.payload_hash === first.payload_hash),
      "is of another act than its request for an approval",
    ],
    [
      payload === undefined || payload.payload_bytes === asked.payload.payload_bytes,
      "has a payload of another length than its request for an approval",
    ],
    [!isAllowed || evaluation.policy_hash === required.policy_hash, "is allowed by another policy than its request"],
    [
      evaluation === undefined || isSame(evaluation.facts, required.facts),
      "is decided on other terms or tokens than its request for an approval",
    ],
    [
      opening === undefined || closeSeconds(opening) === request.close_within_seconds,
      "is to be closed in another time than its request for an approval",
    ],
    [isSameContent(sections.act, asked.act, shownAct), "has another act than its request for an approval"],
    [
      isSameContent(sections.end_user, asked.end_user, shownEndUser),
      "has another end user than its request for an approval",
    ],
    ...DECLARED_NAMES.map(
      name =>
        [
          isSameContent(sections[name], asked[name], shown),
          `has another ${name} than its request for an approval`,
        ] as const,
    ),
  ])
}

/** What was approved, collected or not, has its approvals, and what expired lacks one. The end of the others is not counted. */
export function hasDecided(
  { outcome, decisions }: Pick<ShownApprovals, "outcome" | "decisions">,
  needed: readonly NeededApproval[],
): boolean {
  if (outcome === "rejected" || outcome === "withdrawn") return true
  return approvalsSatisfy(needed, decisions) === (outcome !== "expired")
}

const closeSeconds = ({ expires_at, close_by }: Opening): number =>
  ((clockMillis(close_by) ?? 0) - (clockMillis(expires_at) ?? 0)) / 1000

const textOf = (value: unknown): string | undefined => (isJsonValue(value) ? canonicalize(value) : undefined)
const isSame = (one: unknown, other: unknown): boolean => textOf(one) === textOf(other)

/** Whether two sections say the same beside salt and hash; one that is withheld says nothing else. */
function isSameContent<Section extends object>(
  one: Section | undefined,
  other: Section | undefined,
  showing: (section: Section) => (Section & { readonly salt: string; readonly hash: string }) | undefined,
): boolean {
  if (one === undefined || other === undefined) return one === other
  const [first, second] = [one, other].map(section => contentOf(showing(section)))
  return first === undefined || second === undefined || isSame(first, second)
}

function contentOf(
  shownSection: (object & { readonly salt: string; readonly hash: string }) | undefined,
): JsonValue | undefined {
  if (shownSection === undefined) return undefined
  const { salt: _salt, hash: _hash, ...content } = shownSection
  const value: unknown = content
  return isJsonValue(value) ? value : undefined
}
