/** What another policy would change: its difference to the one in force, and the newest runs that it would decide otherwise. */
import type { JsonObject } from "@runseal/canonical"
import type { DryRunAnswer, Judgement } from "@runseal/core/wire/policy-requests"
import { number, plural } from "../parts/format.ts"
import { html, type Markup, verbatim } from "../parts/markup.ts"
import { empty, facts, formTokens, table } from "../parts/pieces.ts"
import { diffLines } from "./text-diff.ts"

/** A policy as it is shown and edited. */
export const policyText = (policy: JsonObject): string => JSON.stringify(policy, null, 2)

const SIGNS = { same: " ", old: "−", new: "+" } as const

/** The difference; colour is not all that tells old from new. */
export const policyDiff = (before: string, after: string): Markup =>
  html`<pre tabindex="0" class="code-block diff"><code>${diffLines(before, after).map(
    ({ kind, text }) => html`<span class="${kind}">${SIGNS[kind]} ${text}
</span>`,
  )}</code></pre>`

const judged = ({ decision, rule_id, missing_fields = [] }: Judgement): Markup =>
  html`${decision.replace("_", " ")}${rule_id === undefined ? "" : html` <code>${rule_id}</code>`}${missing_fields.length === 0 ? "" : html`: ${missing_fields.join(", ")}`}`

const COLUMNS = ["Run", "Route", "Now", "With the candidate"]

function changes({ changes: found, changed }: DryRunAnswer): Markup {
  if (found.length === 0) return empty("It would decide every one of these runs as it was decided.")
  const rows = found.map(
    ({ run_id, route_id, in_force, candidate }) =>
      html`<tr><td><a href="/console/runs/${run_id}">${run_id}</a></td><td class="long">${route_id}</td><td>${judged(in_force)}</td><td>${judged(candidate)}</td></tr>`,
  )
  return html`${table("Runs that would be decided otherwise", COLUMNS, rows)}${changed > found.length ? html`<p class="quiet">The newest ${number(found.length)} of ${number(changed)}.</p>` : ""}`
}

export type Trial = { readonly answer: DryRunAnswer; readonly before: string; readonly after: string }

/** @param csrf token of an administrator; absent: the visitor may not load it */
export const trialResult = (
  { answer, before, after }: Trial,
  csrf: string | undefined,
): Markup => html`<section class="card"><h2>What would change</h2>
${facts([
  ["Runs judged", number(answer.judged)],
  ["Newly refused", html`<strong>${number(answer.newly_refused)}</strong>`],
  ["Newly admitted", html`<strong>${number(answer.newly_admitted)}</strong>`],
  ["Not judged", answer.not_judged === 0 ? undefined : plural(answer.not_judged, "run")],
])}
${changes(answer)}<h3>The text</h3>${before === after ? html`<p>It is the policy in force.</p>` : policyDiff(before, after)}
${csrf === undefined || before === after ? "" : html`<form method="post" action="/console/policies">${formTokens(csrf)}<input type="hidden" name="policy" value="${verbatim(after)}"><label class="check"><input type="checkbox" name="sure" value="yes" required> From now on this policy decides</label><p class="buttons"><button name="action" value="load">Put it in force</button></p></form>`}</section>`
