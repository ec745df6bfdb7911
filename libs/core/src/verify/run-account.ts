/**
 * A run in one line each: who acted, what was to be done, what its refusal rested on, when, and how many tokens. The one place that makes these
 * sentences: the page of the run, its report and the command say the same. All of it is the record's word but what the deciding rule
 * read, which an explanation adds for those who may see it.
 */
import { decimalUnits } from "../act/decimal-text.ts"
import { type ShownAct, shownAct } from "../artifacts/act-section.ts"
import { shownApprovals } from "../artifacts/approvals.ts"
import type { Bundle } from "../artifacts/bundle-schema.ts"
import { shown } from "../artifacts/declared-sections.ts"
import { endUserText } from "../artifacts/end-user.ts"
import type { Explanation, ReadValue } from "../artifacts/explanation.ts"
import { declaredView } from "../derivation/v2/declared-view.ts"
import { approvalsGiven } from "../vocabulary/approvals-satisfy.ts"
import { declaredTokens } from "../vocabulary/declared-tokens.ts"
import { member, textMember } from "../vocabulary/json-members.ts"

export type RunAccount = {
  readonly who: string
  readonly what: string
  /** What the refusal rested on; absent for a run that no gate refused, and where its cause says it all. */
  readonly why?: string
  readonly when: string
  /** Absent where none were declared. */
  readonly tokens?: string
}
/** Its lines in their order. */
export const ACCOUNT_LINES = ["who", "what", "why", "when", "tokens"] as const
/** Their labels. */
export const ACCOUNT_LABELS: Readonly<Record<keyof RunAccount, string>> = {
  who: "Who",
  what: "What",
  why: "Why",
  when: "When",
  tokens: "Tokens",
}

type Recorded = Pick<Bundle, "run" | "sections">

/** @param explanation why a gate refused the run, as far as the reader may see it; undefined for a run that none refused */
export function runAccount(record: Recorded, explanation: Explanation | undefined): RunAccount {
  const why = explanation && weighed(record, explanation)
  const tokens = tokensOf(record)
  return {
    who: whoOf(record),
    what: whatOf(record),
    ...(why ? { why } : {}),
    when: `${record.run.created_at.slice(0, 19).replace("T", " ")} UTC`,
    ...(tokens === undefined ? {} : { tokens }),
  }
}

/** The key that made a run, by its number and the name that is sealed; or open mode. */
export function keyText({ run: { tenant_id }, sections }: Recorded): string {
  const name = shown(sections.request_substance)?.origin?.authentication.api_key_name
  if (name !== undefined) return `${tenant_id} (${name})`
  return tenant_id === OPEN_MODE ? `${tenant_id}, in open mode` : tenant_id
}
const OPEN_MODE = "anonymous"

function whoOf(record: Recorded): string {
  const { end_user } = record.sections
  const actor = textMember(declaredView(record.sections, "attested_context")?.declared, "actor_id")
  return [
    ...(end_user === undefined ? [] : [`end user ${endUserText(end_user)}`]),
    ...(actor ? [`actor ${cut(actor)} (declared)`] : []),
    `key ${keyText(record)}`,
  ].join("; ")
}

/** Values of an act that are named, and characters of one; the record has all. */
const VALUES_SHOWN = 12
const VALUE_LENGTH = 96

const cut = (text: string): string => (text.length <= VALUE_LENGTH ? text : `${text.slice(0, VALUE_LENGTH)}…`)

/** The route, and what the service read of the act. */
function whatOf({ run, sections: { act: section } }: Recorded): string {
  if (section === undefined) return run.route_id
  const act = shownAct(section)
  if (act === undefined) return `${run.route_id}: an act, which is withheld`
  const values = act.values.slice(0, VALUES_SHOWN).map(value => `${value.name} ${actValue(value)}`)
  const more = act.values.length - values.length
  const all = [...values, ...(more > 0 ? [`${more} more`] : [])]
  return `${act.table} on ${run.route_id}${all.length === 0 ? "" : `: ${all.join(", ")}`}`
}

type ActValue = ShownAct["values"][number]

const DECIMALS: readonly ActValue["type"][] = ["decimal", "sum", "max"]

const actValue = ({ type, value }: Pick<ActValue, "type" | "value">): string => {
  if (DECIMALS.includes(type)) return amountText(`${value}`)
  return typeof value === "boolean" ? yesNo(value) : cut([value].flat().join(", "))
}

const yesNo = (value: boolean): string => (value ? "yes" : "no")
const grouped = (digits: string): string => digits.replace(/\B(?=(?:\d{3})+$)/g, ",")
const count = (value: number): string => grouped(`${value}`)

/** A decimal as people write an amount, `12500.0` as `12,500.00`; its digits are all there. */
export function amountText(text: string): string {
  const [, sign = "", whole, places = ""] = /^(-?)(\d+)(?:\.(\d+))?$/.exec(text) ?? []
  return whole === undefined ? text : `${sign}${grouped(whole)}.${places.padEnd(2, "0")}`
}

// What a refusal rested on: "amount 12,500.00 (act), above 10,000.00; approvals 1 of 2 (declared); human in the loop: no (declared)".

function weighed(record: Recorded, explanation: Explanation): string {
  const { sections } = record
  const values = explanation.read?.map(value => readText(value, sections)) ?? actOf(record, explanation)
  return [...approvalsOf(sections), ...countedOf(explanation), ...values, ...loopOf(sections, explanation)].join("; ")
}

/** Of each rule, how many of the people whose approval it requires gave it. */
function approvalsOf({ policy_evaluation, approvals }: Recorded["sections"]): readonly string[] {
  const needed = policy_evaluation?.needed
  if (needed === undefined) return []
  const decisions = approvals === undefined ? [] : shownApprovals(approvals)?.decisions
  const given = decisions && approvalsGiven(needed, decisions)
  const rules = needed.map(({ by, count: of }, index) => {
    const groups = by.join(" or ")
    return given === undefined ? `${of} needed (${groups})` : `${given[index]} of ${of} (${groups})`
  })
  return [`approvals ${given === undefined ? "withheld, " : ""}${rules.join(", ")}`]
}

/** What there was of tokens or fields, and in which text a signature matched. */
function countedOf({ needed, present, missing = [], matched_in }: Explanation): readonly string[] {
  if (matched_in !== undefined) return [`matched in ${matched_in}`]
  if (typeof needed === "number" && typeof present === "number")
    return [`tokens ${count(present)}, at most ${count(needed)}`]
  const isFields = Array.isArray(needed) && Array.isArray(present) && needed.length === present.length + missing.length
  return isFields && missing.length > 0
    ? [`${present.length} of ${needed.length} required fields (declared), without ${missing.join(", ")}`]
    : []
}

/** Without what the rule read: the values of the act, where a rule decided on them. */
function actOf({ sections: { act: section } }: Recorded, { reason }: Explanation): readonly string[] {
  const act = section && shownAct(section)
  if (act === undefined || reason !== "RULE_DENIED") return []
  return act.values.slice(0, VALUES_SHOWN).map(value => `${value.name} ${actValue(value)} (act)`)
}

/** What the caller declared of a person in the loop, unless the rule read it. */
function loopOf(sections: Recorded["sections"], { read = [] }: Explanation): readonly string[] {
  const chain = declaredView(sections, "authorization_chain")?.declared
  const performed = member(member(chain, "human_in_loop"), "performed")
  const isRead = read.some(({ name }) => name === LOOP)
  return typeof performed !== "boolean" || isRead ? [] : [`human in the loop: ${yesNo(performed)} (declared)`]
}

const LOOP = "declared.human_in_loop_performed"
const APPROVERS = "declared.approver_count"

/** A value that the rule read, with what the rule compares it with, and whose word it is. */
function readText({ name, value, word, compared }: ReadValue, { act }: Recorded["sections"]): string {
  if (name === LOOP) return `human in the loop: ${yesNo(value === "true")} (${word})`
  const wanted = name === APPROVERS ? leastOf(compared) : undefined
  if (wanted !== undefined && Number(value) < wanted) return `approvals ${value} of ${wanted} (${word})`
  const [, ...path] = name.split(".")
  const label =
    name === APPROVERS
      ? "approvals"
      : path
          .filter(part => part !== "attested")
          .join(" ")
          .replaceAll("_", " ")
  const typed = word === "act" ? (act && shownAct(act))?.values.find(each => each.name === path.join(".")) : undefined
  return `${label} ${typed === undefined ? cut(value) : actValue(typed)} (${word})${relation(value, compared)}`
}

/** How many are enough, where the rule compares a count from below: of `< 2` and of `<= 1` it is 2. */
function leastOf(compared: string | undefined): number | undefined {
  const [sign, number] = compared?.split(" ") ?? []
  if (sign === "<" || sign === ">=") return Number(number)
  return sign === undefined ? undefined : Number(number) + 1
}

/** How a value is to the number that the rule writes, whichever way round the rule compares them. */
function relation(value: string, compared: string | undefined): string {
  const limit = compared?.split(" ")[1]
  const [found, written] = [decimalUnits(value), limit === undefined ? undefined : decimalUnits(limit)]
  if (limit === undefined || found === undefined || written === undefined) return ""
  const text = limit.includes(".") ? amountText(limit) : grouped(limit)
  return found === written ? `, exactly ${text}` : `, ${found < written ? "below" : "above"} ${text}`
}

/** Tokens as they were declared, and the window after them. */
function tokensOf({ sections }: Recorded): string | undefined {
  const { budget_snapshot: budget, policy_evaluation: evaluation } = sections
  if (budget !== undefined) {
    const { declared_tokens, window } = budget
    const after =
      window === undefined ? "" : `; ${count(window.total_after)} of ${count(window.cap)} in the window after it`
    return `${count(declared_tokens)} declared${after}`
  }
  // A run that ended before its tokens were counted has them as its caller declared them.
  const declared = evaluation?.facts.tokens ?? declaredTokens(declaredView(sections, "request_substance")?.declared)
  return declared === 0 ? undefined : `${count(declared)} declared`
}
