/**
 * Approvals that persons signed with passkeys, shown beside a permit: who acts checks them with keys that these persons gave it, so that nobody at
 * the service can make them up. docs/executors.md, "Approvals that no operator can make up".
 */
import {
  canonicalize,
  decodeBase64Url,
  encodeBase64Url,
  type JsonObject,
  readStrictJson,
  utf8Encode,
} from "@runseal/canonical"
import { approvalDecisionSchema, shownApprovals } from "@runseal/core/artifacts/approvals"
import { endUserTextSchema } from "@runseal/core/artifacts/end-user"
import type { Opening } from "@runseal/core/artifacts/opening"
import { parseExact } from "@runseal/core/artifacts/parse-exact"
import {
  APPROVER_KEYS_KIND,
  type ApproverKey,
  approverKeysSchema,
  passkeySchema,
} from "@runseal/core/artifacts/passkey"
import { type DecidedAct, provenDecisions } from "@runseal/core/verify/signed-approvals"
import { clockMillis, clockSchema, sha256Schema } from "@runseal/core/vocabulary/scalars"
import * as v from "valibot"
import type { PermitRefusal } from "./permit-refusals.ts"

/** The header of a request that shows who approved its act. */
export const APPROVALS_HEADER = "Runseal-Approvals"
/** Longest header, in characters: with the permit it fits into the 16 KiB that Node takes of all headers. */
const APPROVALS_MAX_LENGTH = 12_288
/** Most decisions of one header, and most persons that can be demanded. */
const SHOWN_DECISIONS_MAX = 8

const { decision, comment_hash } = approvalDecisionSchema.entries
const shownApprovalsSchema = v.strictObject({
  /** Of the sealed request, and until when it could be approved. */
  request_hash: sha256Schema,
  expires_at: clockSchema,
  decisions: v.pipe(
    v.array(
      v.strictObject({
        decision,
        person: v.strictObject({ issuer: endUserTextSchema, subject: endUserTextSchema }),
        comment_hash,
        passkey: passkeySchema,
      }),
    ),
    v.maxLength(SHOWN_DECISIONS_MAX),
  ),
})

/** Whose approvals an act needs besides its permit. */
export type ExpectedApprovals = {
  /** How many persons: 1 to 8. */
  readonly count: number
  /** Passkeys that their persons gave you themselves: a list, or the document `vfa.approver_keys.v1`, as value or text. */
  readonly keys: readonly ApproverKey[] | JsonObject | string
}

/** The approvals of an act that count. */
export type ProvenApprovals = {
  /** Of the request that the persons approved: one approval is one act, so keep it under a unique index. */
  readonly request_hash: string
  readonly persons: readonly { readonly issuer: string; readonly subject: string }[]
  /** From then on these approvals are refused by their age, and `request_hash` can be forgotten. */
  readonly until: Date
}

/** An act, as the one who acts knows it, and its time in Unix seconds. */
type ApprovedAct = {
  readonly act: DecidedAct
  readonly now: number
  readonly leeway: number
  readonly leewayMax: number
}

/** Reads what is demanded. @throws RangeError for a number out of bounds, and for what is no list of passkeys */
export function readExpectedApprovals({ count, keys }: ExpectedApprovals): {
  readonly count: number
  readonly keys: readonly ApproverKey[]
} {
  if (!(Number.isInteger(count) && count >= 1 && count <= SHOWN_DECISIONS_MAX))
    throw new RangeError(`approvals.count is a whole number from 1 to ${SHOWN_DECISIONS_MAX}`)
  const document =
    typeof keys === "string" ? readStrictJson(keys) : Array.isArray(keys) ? { kind: APPROVER_KEYS_KIND, keys } : keys
  const parsed = parseExact(approverKeysSchema, document)
  if (!parsed.ok) throw new RangeError(`approvals.keys are no passkeys of approvers: ${parsed.problem}`)
  return { count, keys: parsed.value.keys }
}

/**
 * The approvals of this act that the header shows, where they are enough; or why not. A person counts once. No two keys are one, so persons
 * have keys of their own.
 * @param shown the header's value
 */
export function judgeApprovals(
  shown: string | undefined,
  { count, keys }: ReturnType<typeof readExpectedApprovals>,
  { act, now, leeway, leewayMax }: ApprovedAct,
): ProvenApprovals | PermitRefusal {
  const parsed = parseExact(shownApprovalsSchema, headerJson(shown ?? ""))
  if (!parsed.ok) return "approvals_missing"
  const { request_hash, expires_at } = parsed.value
  const proven = provenDecisions(parsed.value, act, keys)
  const persons = [...new Map(proven.map(({ person }) => [person.subject, person])).values()]
  const end = (clockMillis(expires_at) ?? 0) / 1000 + act.valid_for_seconds
  const isRejected = proven.some(each => each.decision === "reject")
  if (isRejected || persons.length < count || now >= end + leeway) return "approvals_insufficient"
  return { request_hash, persons, until: new Date((end + leewayMax) * 1000) }
}

/**
 * The value of the header `Runseal-Approvals` for the act of an opening: what its persons signed with passkeys, and nothing else of them but whom
 * the identity provider names. Undefined where nobody signed with one, or the approvals are withheld.
 * @throws RangeError where this is more than one header shows: 8 decisions, 12,288 characters
 */
export function approvalsHeader({ sections }: Opening): string | undefined {
  const approvals = sections.approvals && shownApprovals(sections.approvals)
  const decisions = (approvals?.decisions ?? []).flatMap(({ decision, person, comment_hash, passkey }) => {
    const { issuer, subject } = person
    if (passkey === undefined || issuer === undefined) return []
    return [{ decision, person: { issuer, subject }, passkey, ...(comment_hash === undefined ? {} : { comment_hash }) }]
  })
  if (approvals === undefined || decisions.length === 0) return undefined
  if (decisions.length > SHOWN_DECISIONS_MAX)
    throw new RangeError(
      `${APPROVALS_HEADER} shows at most ${SHOWN_DECISIONS_MAX} decisions, and ${decisions.length} of this opening are signed with passkeys`,
    )
  const { request_hash, expires_at } = approvals
  const header = encodeBase64Url(utf8Encode(canonicalize({ request_hash, expires_at, decisions })))
  if (header.length > APPROVALS_MAX_LENGTH)
    throw new RangeError(
      `${APPROVALS_HEADER} has at most ${APPROVALS_MAX_LENGTH} characters, and the approvals of this opening need ${header.length}`,
    )
  return header
}

/** The JSON of a header; undefined for one that is too long, spelt otherwise or no strict JSON. */
function headerJson(header: string): ReturnType<typeof readStrictJson> {
  const bytes = header.length > APPROVALS_MAX_LENGTH ? undefined : decodeBase64Url(header)
  return bytes && readStrictJson(bytes)
}
