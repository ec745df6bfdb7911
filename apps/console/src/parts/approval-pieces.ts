/** What the list of approvals and the page of one say alike. */
import type { ShownAct } from "@runseal/core/artifacts/act-section"
import { meetsProof } from "@runseal/core/vocabulary/approvals-satisfy"
import type { ApprovalState, ApprovalSummary } from "@runseal/core/wire/approval-answers"
import type { SessionAnswer } from "@runseal/core/wire/session-requests"
import { everyCharacter } from "./characters.ts"
import { plural, seconds, time } from "./format.ts"
import { html, type Markup } from "./markup.ts"
import { label } from "./pieces.ts"

const LABELS: Readonly<Record<ApprovalState, Markup>> = {
  waiting: label("info", "○", "waiting"),
  approved: label("good", "✓", "approved, permit not collected yet"),
  rejected: label("bad", "✗", "rejected"),
  withdrawn: label("warn", "–", "withdrawn"),
  collected: label("good", "●", "approved, permit given"),
  refused: label("warn", "■", "refused"),
}
export const approvalLabel = ({ state }: Pick<ApprovalSummary, "state">): Markup => LABELS[state]

/** Whether it can still be approved or rejected, as far as its state says. */
export const isOpen = ({ state }: Pick<ApprovalSummary, "state">): boolean =>
  state === "waiting" || state === "approved"

type Rule = ApprovalSummary["needed"][number]
type Decided = ApprovalSummary["decisions"][number]

const isApproval = ({ decision }: Decided): boolean => decision === "approve"

/** `1 of 2 approved`, over all rules: a person counts for one of them. */
export function progress({ needed, decisions }: Pick<ApprovalSummary, "needed" | "decisions">): string {
  const of = needed.reduce((sum, { count }) => sum + count, 0)
  return `${Math.min(decisions.filter(isApproval).length, of)} of ${of} approved`
}

/** Those whose approval can count for a rule. */
export const approvalsFor = ({ by, proof }: Rule, decisions: readonly Decided[]): readonly Decided[] =>
  decisions.filter(
    one => isApproval(one) && meetsProof(one.proof, proof) && one.groups.some(group => by.includes(group)),
  )

/** Until when, in words. */
export function timeLeft({ expires_at }: Pick<ApprovalSummary, "expires_at">): Markup {
  const left = Math.floor((Date.parse(expires_at) - Date.now()) / 1000)
  return left > 0 ? html`${seconds(left)} left` : html`its time is over`
}

/** A person as the page names it: the name proves nothing, the subject does. */
export const personName = ({ name, subject }: Pick<Decided, "name" | "subject">): Markup =>
  name === undefined || name === subject
    ? everyCharacter(subject)
    : html`${everyCharacter(name)} <span class="quiet">(${everyCharacter(subject)})</span>`

/** The decision of the visitor; undefined while there is none. */
export const ownDecision = (
  { decisions }: Pick<ApprovalSummary, "decisions">,
  { person, name }: SessionAnswer,
): Decided | undefined =>
  decisions.find(one => (person === undefined ? one.key_name === name : one.subject === person.subject))

const APPROVED = label("good", "✓", "approved")
const REJECTED = label("bad", "✗", "rejected")

/** What one person decided, when, and with which words. @param below what follows its words */
export const decisionItem = (one: Decided, link: Markup | string = "", below: Markup | string = ""): Markup =>
  html`<li><p>${isApproval(one) ? APPROVED : REJECTED} by ${personName(one)} ${time(one.decided_at)} ${link}</p>
<p class="quiet">${one.groups.length === 0 ? "" : html`As one of ${one.groups.map((group, index) => html`${index === 0 ? "" : ", "}${everyCharacter(group)}`)}; `}${
    one.proof === "key"
      ? html`with the key ${everyCharacter(one.key_name ?? "")}, by the word of its operator`
      : one.proof === "idp"
        ? "with a sign-in"
        : "with a passkey"
  }</p>${one.comment === undefined ? "" : html`<blockquote>${one.comment.split("\n").map(line => html`${everyCharacter(line.replace(/\r$/, ""))}<br>`)}</blockquote>`}${below}</li>`

type ActValue = ShownAct["values"][number]

/** A value of an act, as the service read it. */
export const actValue = ({ value, type }: Pick<ActValue, "value" | "type">): Markup =>
  Array.isArray(value)
    ? html`${value.map((one: string, index) => html`${index === 0 ? "" : ", "}<code>${everyCharacter(one)}</code>`)}`
    : html`<code>${everyCharacter(`${value}`, type === "ascii")}</code>`

const PROOF_WORDS: ReadonlyMap<string, string> = new Map([
  ["idp", ", with a sign-in at the identity provider"],
  ["passkey", ", with a passkey of each"],
])

/** Whose approval a rule requires. */
export const ruleText = ({ by, count, within_seconds, proof, end_user }: Rule): Markup =>
  html`${plural(count, "person", "persons")} of ${by.map((group, index) => html`${index === 0 ? "" : " or "}<strong>${everyCharacter(group)}</strong>`)}, within ${seconds(within_seconds)}${
    PROOF_WORDS.get(proof ?? "any") ?? ""
  }${end_user === "optional" ? "" : "; not the end user"}`
