/**
 * `verifier approve --offline FILE`: what an approver is asked for, from the sealed request and the payload alone, without a page of the operator.
 * docs/verifier.md, "Before you approve".
 */
import { readStrictJson, sha256Hex, utf8Encode } from "@runseal/canonical"
import { shownAct } from "@runseal/core/artifacts/act-section"
import type { ApprovalRequest } from "@runseal/core/artifacts/approval-request"
import { shownEndUser } from "@runseal/core/artifacts/end-user"
import { decisionDigest } from "@runseal/core/formulas/signed-decision"
import { titleOf, verdictTone } from "@runseal/core/presentation/account"
import { type PayloadMember, payloadMembers } from "@runseal/core/presentation/payload-members"
import { MAX_PIECE_LENGTH } from "@runseal/core/presentation/printable"
import { savedText } from "@runseal/core/presentation/saved-text"
import { textPieces } from "@runseal/core/presentation/unseen-characters"
import { challengeText } from "@runseal/core/verify/assertion"
import { isUnreadable, readDocument } from "@runseal/core/verify/document"
import { requestedAct } from "@runseal/core/verify/signed-approvals"
import { textMember } from "@runseal/core/vocabulary/json-members"
import { clockMillis } from "@runseal/core/vocabulary/scalars"
import type { TrustedKeys } from "@runseal/log/trust/trusted-keys"
import { type Answer, InputError, printed, refused } from "./exit-answer.ts"
import type { Line, Style } from "./print.ts"
import { readInput } from "./read-input.ts"
import { section } from "./report-lines.ts"
import { verifyAny } from "./verify-any.ts"
import { answerOf } from "./verify-text.ts"

export type ApproveFlags = {
  readonly offline?: true
  /** Who is to sign, as the identity provider names this person. */
  readonly issuer?: string
  readonly subject?: string
}

/** Shows what a request asks a person for. Throws InputError. @param argument the saved answer of `GET /approvals/{id}` */
export async function approveCommand(
  argument: string,
  { offline, issuer, subject }: ApproveFlags,
  trusts: readonly TrustedKeys[],
  style: Style,
): Promise<Answer> {
  if (offline !== true)
    throw new InputError(
      "The verifier sends no decision: people decide in the console. To read what you are asked for first, save the answer of GET /approvals/{id} and use verifier approve --offline <file>.",
    )
  if ((issuer === undefined) !== (subject === undefined))
    throw new InputError("--issuer and --subject go together: they say who is to sign.")
  const readAtMs = Date.now()
  const input = await readInput(argument)
  const { report } = await verifyAny(input, trusts)
  const flags = { allowUnanchored: false, showEvidenceSummary: false, json: false, strict: false, readAtMs }
  const answer = answerOf(report, input, flags, style)
  if (isUnreadable(report) || answer.exit !== 0) return answer
  const value = readStrictJson(savedText(input))
  const read = value === undefined ? undefined : readDocument({ value, mayHoldNul: true })
  const request = read && !("unreadable" in read) ? read.request : undefined
  if (request === undefined)
    throw new InputError(`${argument} is no request for an approval: save the answer of GET /approvals/{id}.`)
  const payload = textMember(value, "payload")
  const isSealed = payload !== undefined && sha256Hex(utf8Encode(payload)) === request.sections.payload.payload_hash
  if (!isSealed)
    return refused(
      payload === undefined
        ? "the request verifies, and its payload is not in the file: save the answer of GET /approvals/{id} while you may decide on it."
        : "the request verifies, and the payload in the file is another one than the sealed one: do not approve.",
      style,
      1,
    )
  const isOver = readAtMs >= (clockMillis(request.expires_at) ?? 0)
  const lines: readonly Line[] = [
    [titleOf(report)],
    ...section("What is asked for", termsOf(request).map(row)),
    ...section("The act, as the service read it", actLines(request)),
    ...payloadLines(payload, request),
    ...section("Whose approval is needed", neededLines(request)),
    ...(issuer === undefined || subject === undefined
      ? []
      : section("What a passkey signs to approve, without a comment", signedRows(request, issuer, subject).map(row))),
    [],
    [
      "Nothing was sent. People decide in the console, which is a page of the operator: it can show another act than this.",
    ],
    ...(isOver ? [[{ text: "The request is over: nobody can approve it any more.", tone: "warn" as const }]] : []),
    [],
    [{ text: report.verdict, tone: verdictTone(report) }],
  ]
  return printed(lines, style)
}

type Row = readonly [label: string, value: string]
const LABEL_WIDTH = 18
const row = ([label, value]: Row): Line => [`  ${label.padEnd(LABEL_WIDTH)}`, ...whole(plain(value))]

/** Who asks, and under which terms. All of it is sealed. */
function termsOf({ sections, ...request }: ApprovalRequest): readonly Row[] {
  const { envelope, end_user, payload } = sections
  const person = end_user && shownEndUser(end_user)
  return [
    ["approval", request.approval_id],
    ["asked by", request.tenant_id],
    ["program", envelope.program_id],
    ["for end user", person?.subject ?? (end_user === undefined ? "none" : "withheld")],
    ...(person === undefined ? [] : [["of issuer", person.issuer] as const]),
    ["route", envelope.route_id],
    ["to be done by", request.audience],
    ["permit for", `${request.valid_for_seconds} s, closed within ${request.close_within_seconds} s more`],
    ["reserved tokens", `${request.reserve_tokens}`],
    ["asked at", envelope.admission_clock],
    ["ends at", request.expires_at],
    ["payload SHA-256", payload.payload_hash],
    ["request SHA-256", request.request_hash],
  ]
}

function actLines({ sections }: ApprovalRequest): readonly Line[] {
  if (sections.act === undefined) return [["  no act table names the route: the payload alone says what is done"]]
  const act = shownAct(sections.act)
  if (act === undefined) return [["  withheld"]]
  return act.values.map(({ name, value, at }) => {
    const text =
      typeof value === "object" ? value.map(quoted).join(", ") : typeof value === "string" ? quoted(value) : `${value}`
    return ["  ", ...whole(`${quoted(name)}: ${text}, read at ${quoted(at)}`)]
  })
}

/** Every member of the payload, read from its own text; as a text where it is not read as JSON. */
function payloadLines(payload: string, { sections }: ApprovalRequest): readonly Line[] {
  const values = (sections.act && shownAct(sections.act)?.values) ?? []
  const tree = payloadMembers(payload, values)
  if (tree === undefined)
    return section(
      "The payload, which is not read as JSON, as a text",
      payload.split(/(?<=\n)/).map((text): Line => ["  ", ...whole(quoted(text))]),
    )
  const { root, members, unread } = tree
  return section(
    `The payload, read from its own text (values: ${members}; of them not in the act: ${unread})`,
    memberLines(root, 1),
  )
}

function memberLines({ name, value, inner, readBy }: PayloadMember, depth: number): readonly Line[] {
  const named = name === undefined ? "" : typeof name === "number" ? `${name}: ` : `${quoted(name)}: `
  const marks = readBy.map(one => `  (act value ${quoted(one.name)})`).join("")
  const line: Line = ["  ".repeat(depth), ...whole(`${named}${valueText(value, inner.length)}${marks}`)]
  return [line, ...inner.flatMap(child => memberLines(child, depth + 1))]
}

function valueText(value: PayloadMember["value"], length: number): string {
  if ("text" in value) return quoted(value.text)
  if ("word" in value) return value.word
  if (value.holds === "items") return length === 0 ? "empty list" : `list of ${length}`
  return length === 0 ? "object without members" : "object"
}

const neededLines = ({ sections }: ApprovalRequest): readonly Line[] =>
  (sections.policy_evaluation.needed ?? []).map(({ rule_id, by, count, within_seconds, proof = "any" }) => [
    "  ",
    ...whole(
      `${count} of ${by.map(quoted).join(" or ")}, proof ${proof}, within ${within_seconds} s, by rule ${quoted(rule_id)}`,
    ),
  ])

/** The challenge of a person's approval: the digest, and as the browser writes it in what the passkey signs. */
function signedRows(request: ApprovalRequest, issuer: string, subject: string): readonly Row[] {
  const { request_hash, expires_at } = request
  const decided = { request_hash, expires_at, decision: "approve", issuer, subject } as const
  const digest = decisionDigest({ ...requestedAct(request), ...decided })
  return [
    ["issuer", issuer],
    ["subject", subject],
    ["digest", digest],
    ["challenge", challengeText(digest)],
  ]
}

/** A text in ASCII, in which every other character has its number. A backslash that is the text's own is written twice, so neither passes for the other. */
const plain = (text: string): string =>
  textPieces(text, true)
    .map(piece => (piece.isNumbered ? `\\[${piece.text}]` : piece.text.replaceAll("\\", "\\\\")))
    .join("")

/** The same in quotes: what is behind them is not the caller's. */
const quoted = (text: string): string => `"${plain(text).replaceAll('"', '\\"')}"`

/** A long text in pieces, of which none is so long that it would be cut. */
const whole = (ascii: string): Line =>
  Array.from({ length: Math.ceil(ascii.length / MAX_PIECE_LENGTH) }, (_, at) =>
    ascii.slice(at * MAX_PIECE_LENGTH, (at + 1) * MAX_PIECE_LENGTH),
  )
