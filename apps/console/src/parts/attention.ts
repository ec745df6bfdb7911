/** What needs attention: the numbers of the menu, and the list of the overview, each kind with its one next step. docs/console.md. */

import { approvalPage } from "@runseal/core/wire/approval-answers"
import { type AttentionAnswer, type AttentionKind, LOG_ATTENTION_KINDS } from "@runseal/core/wire/attention-answer"
import type { SessionAnswer } from "@runseal/core/wire/session-requests"
import { isRefusal, type Refusal } from "../api.ts"
import { everyCharacter } from "./characters.ts"
import { address, number, plural, seconds, shortTime } from "./format.ts"
import { html, type Markup } from "./markup.ts"
import { named, refused } from "./pieces.ts"

type Found = AttentionAnswer["found"]
type Several<Kind extends AttentionKind> = NonNullable<Found[Kind]>
type Tone = "bad" | "warn" | "info"

/** Where to go, and what to do there. */
type Step = { readonly text: string; readonly to: string }

/** One kind that was found, in words. */
type Shown = {
  readonly tone: Tone
  readonly title: string
  /** The first items. */
  readonly items: readonly (Markup | string)[]
  /** All that were found. */
  readonly count: number
  /** Absent where another person does it. */
  readonly step?: Step
}

type Words<Kind extends AttentionKind> = {
  readonly tone: Tone
  readonly title: (count: number) => string
  readonly item: (one: Several<Kind>["first"][number], session: SessionAnswer) => Markup | string
  /** @param only the one item, where there is one alone */
  readonly step: (only: Several<Kind>["first"][number] | undefined, session: SessionAnswer) => Step | undefined
  /** What "all is well" says that was looked at. */
  readonly looked: string
}

const TIME_OVER = "its time is over"
const until = (text: string): string => {
  const left = Math.floor((Date.parse(text) - Date.now()) / 1000)
  return left > 0 ? `${seconds(left)} left` : TIME_OVER
}

/** Its name leads to the runs that explain it. @param status of these runs; absent: all of them */
const budgetItem =
  (status?: "macc_halt") =>
  (
    { key_id, name, total, cap, ends_at }: Several<"full_budgets">["first"][number],
    { scope }: SessionAnswer,
  ): Markup => {
    const runs = address("/console/runs", { key: scope === "customer" ? undefined : key_id, status })
    return html`<a href="${runs}"><strong>${named(name)}</strong></a> ${number(total)} of ${number(cap)} tokens, until ${shortTime(ends_at)}`
  }

const permitItem = ({ permit_id, route_id, close_by, redeemed }: Several<"ending_permits">["first"][number]): Markup =>
  html`<a href="/console/permits/${permit_id}">${named(route_id)}</a> ${redeemed ? "the act was started" : "not redeemed"}, close by ${shortTime(close_by)}`

const approvalItem = ({ route_id, expires_at }: Several<"waiting_approvals">["first"][number]): Markup =>
  html`<strong>${named(route_id)}</strong> ${until(expires_at)}`

const LOG = "/console/log"
const BUDGETS = "/console/budgets"

/** Why a log is not witnessed as it should be, as a sentence. */
export function unwitnessedText({ why, name, needed }: Several<"not_witnessed">["first"][number]): string {
  if (why === "none_asked")
    return "No witness is asked to sign this log: different logs could be shown to different people."
  if (why === "removed") return `The witness ${name} signed this log before, and is asked no more.`
  return `No checkpoint was signed by ${plural(needed ?? 1, "witness", "witnesses")} in the last half hour.`
}

const WORDS: { readonly [Kind in AttentionKind]: Words<Kind> } = {
  contradicting_witnesses: {
    tone: "bad",
    title: count => `${plural(count, "witness", "witnesses")} signed another history of this log`,
    item: ({ name }) => html`<strong>${everyCharacter(name)}</strong>`,
    step: () => ({ text: "Log health", to: LOG }),
    looked: "witnesses",
  },
  not_ready: {
    tone: "bad",
    title: () => "No record can be sealed now",
    item: ({ error }) => error,
    step: () => ({ text: "Log health", to: LOG }),
    looked: "sealing",
  },
  clock_behind: {
    tone: "bad",
    title: () => "The clock of this machine is behind",
    item: ({ by, seconds: behind }) => html`<strong>${everyCharacter(by)}</strong> is ${seconds(behind)} ahead`,
    step: () => ({ text: "Log health", to: LOG }),
    looked: "whether the clock is behind",
  },
  approvals_for_you: {
    tone: "warn",
    title: count => `${plural(count, "approval waits", "approvals wait")} for you`,
    item: approvalItem,
    step: only => ({ text: "Decide", to: only === undefined ? "/console/approvals" : approvalPage(only.approval_id) }),
    looked: "approvals for you",
  },
  failing_receivers: {
    tone: "bad",
    title: count => `${plural(count, "receiver")} of events ${count === 1 ? "fails" : "fail"}`,
    item: ({ id, name, fault, failing_since, backlog }) =>
      html`<a href="/console/deliveries/${id}">${name === "" ? `receiver ${id}` : everyCharacter(name)}</a> ${fault.replaceAll("_", " ")} since ${shortTime(failing_since)}, ${plural(backlog, "entry waits", "entries wait")}`,
    step: only => ({
      text: "See why",
      to: only === undefined ? "/console/deliveries" : `/console/deliveries/${only.id}`,
    }),
    looked: "receivers",
  },
  full_budgets: {
    tone: "bad",
    title: count => `${plural(count, "budget is", "budgets are")} full`,
    item: budgetItem("macc_halt"),
    step: (only, { scope }) =>
      scope === "admin" && only !== undefined && only.key_id > 0
        ? { text: "Change its limit", to: `/console/keys/${only.key_id}` }
        : scope === "customer"
          ? { text: "See the halted runs", to: address("/console/runs", { status: "macc_halt" }) }
          : { text: "Budgets", to: BUDGETS },
    looked: "budgets",
  },
  unreported_permits: {
    tone: "warn",
    title: count => `${plural(count, "permit")} ended without a report in the last day`,
    item: permitItem,
    step: only => ({
      text: "Find out what was done",
      to: only === undefined ? address("/console/permits", { state: "ended" }) : `/console/permits/${only.permit_id}`,
    }),
    looked: "permits",
  },
  ending_permits: {
    tone: "warn",
    title: count => `${plural(count, "permit ends", "permits end")} soon`,
    item: permitItem,
    step: only => ({
      text: "See who holds it",
      to: only === undefined ? address("/console/permits", { state: "open" }) : `/console/permits/${only.permit_id}`,
    }),
    looked: "permits",
  },
  denying_rules: {
    tone: "warn",
    title: count => `${plural(count, "rule denies", "rules deny")} far more often than last week`,
    item: ({ rule_id, runs, runs_before }) =>
      html`<strong>${named(rule_id)}</strong> ${plural(runs, "run")} in 24 hours, ${number(runs_before)} in the seven days before`,
    step: only => ({
      text: "See these runs",
      to: address("/console/runs", { status: "pepg_deny", rule_id: only?.rule_id }),
    }),
    looked: "rules",
  },
  waiting_approvals: {
    tone: "info",
    title: count => `${plural(count, "approval waits", "approvals wait")} for people`,
    item: approvalItem,
    step: (_, { person }) => (person === undefined ? undefined : { text: "Approvals", to: "/console/approvals" }),
    looked: "approvals",
  },
  waiting_passkeys: {
    tone: "warn",
    title: count => `${plural(count, "passkey waits", "passkeys wait")} to be confirmed`,
    item: ({ subject }) => everyCharacter(subject),
    step: () => ({ text: "Confirm", to: "/console/passkeys" }),
    looked: "passkeys",
  },
  not_witnessed: {
    tone: "warn",
    title: () => "The log is not witnessed as it should be",
    item: unwitnessedText,
    step: () => ({ text: "Log health", to: LOG }),
    looked: "witnesses",
  },
  silent_witnesses: {
    tone: "warn",
    title: count => `${plural(count, "witness is", "witnesses are")} silent`,
    item: ({ name, cosigned_at, fault }) =>
      html`<strong>${everyCharacter(name)}</strong> signed last ${shortTime(cosigned_at)}${fault === undefined ? "" : `, ${fault}`}`,
    step: () => ({ text: "Log health", to: LOG }),
    looked: "witnesses",
  },
  failing_outside_logs: {
    tone: "warn",
    title: count => `${plural(count, "outside log takes", "outside logs take")} no entries`,
    item: ({ host, fault, failing_seconds }) =>
      html`<strong>${everyCharacter(host)}</strong> ${fault} for ${seconds(failing_seconds)}`,
    step: () => ({ text: "Log health", to: LOG }),
    looked: "outside logs",
  },
  late_outside_logs: {
    tone: "warn",
    title: count => `${plural(count, "outside log is", "outside logs are")} late`,
    item: ({ host, seconds: age }) =>
      html`<strong>${everyCharacter(host)}</strong> an entry has waited for ${seconds(age)}`,
    step: () => ({ text: "Log health", to: LOG }),
    looked: "outside logs",
  },
  near_budgets: {
    tone: "info",
    title: count => `${plural(count, "budget is", "budgets are")} nearly full`,
    item: budgetItem(),
    step: () => ({ text: "Budgets", to: BUDGETS }),
    looked: "budgets",
  },
}

/** @param found of this kind; undefined where there is none */
function shownOf<Kind extends AttentionKind>(
  { tone, title, item, step }: Words<Kind>,
  found: { readonly count: number; readonly first: Several<Kind>["first"] } | undefined,
  session: SessionAnswer,
): readonly Shown[] {
  if (found === undefined) return []
  const { count, first } = found
  const next = step(count === 1 ? first[0] : undefined, session)
  return [
    {
      tone,
      title: title(count),
      items: first.map(one => item(one, session)),
      count,
      ...(next === undefined ? {} : { step: next }),
    },
  ]
}

/** All that was found, the most urgent first. */
const allShown = (found: Found, session: SessionAnswer): readonly Shown[] => [
  ...shownOf(WORDS.contradicting_witnesses, found.contradicting_witnesses, session),
  ...shownOf(WORDS.not_ready, found.not_ready, session),
  ...shownOf(WORDS.clock_behind, found.clock_behind, session),
  ...shownOf(WORDS.approvals_for_you, found.approvals_for_you, session),
  ...shownOf(WORDS.failing_receivers, found.failing_receivers, session),
  ...shownOf(WORDS.full_budgets, found.full_budgets, session),
  ...shownOf(WORDS.unreported_permits, found.unreported_permits, session),
  ...shownOf(WORDS.ending_permits, found.ending_permits, session),
  ...shownOf(WORDS.denying_rules, found.denying_rules, session),
  ...shownOf(WORDS.waiting_approvals, found.waiting_approvals, session),
  ...shownOf(WORDS.waiting_passkeys, found.waiting_passkeys, session),
  ...shownOf(WORDS.not_witnessed, found.not_witnessed, session),
  ...shownOf(WORDS.silent_witnesses, found.silent_witnesses, session),
  ...shownOf(WORDS.failing_outside_logs, found.failing_outside_logs, session),
  ...shownOf(WORDS.late_outside_logs, found.late_outside_logs, session),
  ...shownOf(WORDS.near_budgets, found.near_budgets, session),
]

const SIGNS: Readonly<Record<Tone, string>> = { bad: "✗", warn: "!", info: "○" }

function row({ tone, title, items, count, step }: Shown): Markup {
  const more = count - items.length
  return html`<li><span class="mark ${tone}-text" aria-hidden="true">${SIGNS[tone]}</span><div><h3>${title}</h3><ul>${items.map(one => html`<li>${one}</li>`)}${more > 0 ? html`<li class="quiet">and ${number(more)} more</li>` : ""}</ul></div>${step === undefined ? "" : html`<a class="button plain" href="${step.to}">${step.text}</a>`}</li>`
}

/** The list of the overview. Where nothing was found it says what was looked at, and nothing else. */
export function attentionCard(answer: AttentionAnswer | Refusal, session: SessionAnswer): Markup {
  if (isRefusal(answer))
    return html`<section id="attention"><h2 class="unseen">Needs attention</h2>${refused(answer)}</section>`
  const shown = allShown(answer.found, session)
  if (shown.length === 0) {
    const looked = [...new Set(answer.asked.map(kind => WORDS[kind].looked))]
    return html`<section id="attention"><h2 class="unseen">Needs attention</h2><p class="well"><span class="mark" aria-hidden="true">✓</span> <strong>All is well.</strong> <span class="quiet">Looked at: ${looked.join(", ")}.</span></p></section>`
  }
  return html`<section id="attention" class="card"><h2>Needs attention</h2><ul class="attention">${shown.map(row)}</ul></section>`
}

/** Which kinds make the number of a place in the menu, and what it counts. */
const NUMBERS: Readonly<Record<string, { readonly kinds: readonly AttentionKind[]; readonly of: string }>> = {
  "/console/approvals": { kinds: ["approvals_for_you"], of: "waiting for you" },
  "/console/permits": { kinds: ["unreported_permits", "ending_permits"], of: "ending or unreported" },
  "/console/budgets": { kinds: ["full_budgets"], of: "full" },
  "/console/policies": { kinds: ["denying_rules"], of: "denying far more often" },
  "/console/log": {
    kinds: LOG_ATTENTION_KINDS,
    of: "needing attention",
  },
  "/console/deliveries": { kinds: ["failing_receivers"], of: "failing" },
  "/console/passkeys": { kinds: ["waiting_passkeys"], of: "to be confirmed" },
}

/** The number behind a place of the menu; nothing where there is nothing to do. */
export function placeNumber(path: string, { found }: AttentionAnswer): Markup | "" {
  const row = NUMBERS[path]
  const count = row?.kinds.reduce((sum, kind) => sum + (found[kind]?.count ?? 0), 0) ?? 0
  if (row === undefined || count === 0) return ""
  const isBad = row.kinds.some(kind => found[kind] !== undefined && WORDS[kind].tone === "bad")
  return html` <span class="number ${isBad ? "bad" : ""}">${number(count)}<span class="unseen"> ${row.of}</span></span>`
}
