/** What another policy would change: its difference to the one in force first, then what it decides otherwise, by rule, by route and by key. */
import { canonicalize, type JsonObject, parseStrictJson } from "@runseal/canonical"
import type { DryRunAnswer, Judgement } from "@runseal/core/wire/policy-requests"
import { address, number, plural } from "../parts/format.ts"
import { html, type Markup, verbatim } from "../parts/markup.ts"
import { empty, formTokens, notice, table } from "../parts/pieces.ts"
import { hunksOf } from "../parts/text-diff.ts"
import { mistakesIn } from "./policy-rules.ts"

/** A policy as it is shown and edited: with its members in the order in which the service stores them. */
export const policyText = (policy: JsonObject): string => JSON.stringify(parseStrictJson(canonicalize(policy)), null, 2)

const DIFF_SIGNS = { same: " ", old: "−", new: "+" } as const

/** The changed places of a policy; colour is not all that tells old from new. */
export function policyDiff(before: string, after: string): Markup {
  const hunks = hunksOf(before, after)
  if (hunks.length === 0) return html`<p>The text is the same.</p>`
  return html`<pre tabindex="0" class="code-block diff"><code>${hunks.map(
    ({ line, lines }) =>
      html`<span class="place">Line ${line}</span>${lines.map(
        ({ kind, text }) => html`<span class="${kind}">${DIFF_SIGNS[kind]} ${text}
</span>`,
      )}`,
  )}</code></pre>`
}

const judged = ({ decision, rule_id, missing_fields = [] }: Judgement): Markup =>
  html`${decision.replace("_", " ")}${rule_id === undefined ? "" : html` by <code>${rule_id}</code>`}${missing_fields.length === 0 ? "" : html`, without ${missing_fields.join(", ")}`}`

const signed = (difference: number): string => `${difference > 0 ? "+" : "−"}${number(Math.abs(difference))}`

type RuleCount = DryRunAnswer["rules"][number]

const ruleRow = ({ rule_id, in_force, candidate }: RuleCount): Markup =>
  html`<tr><td class="long"><code>${rule_id}</code></td><td class="figure">${number(in_force)}</td><td class="figure">${number(candidate)}</td><td class="figure">${in_force === candidate ? "" : signed(candidate - in_force)}</td></tr>`

const RULE_COLUMNS = ["Rule", "Decides now", "Would decide", "Change"]

/** How many runs each rule decides; those that decide as many as before are folded. */
function byRule({ rules }: DryRunAnswer): Markup {
  const changed = rules
    .filter(({ in_force, candidate }) => in_force !== candidate)
    .toSorted((a, b) => Math.abs(b.candidate - b.in_force) - Math.abs(a.candidate - a.in_force))
  const others = rules.filter(({ in_force, candidate }) => in_force === candidate)
  const as = (caption: string, rows: readonly RuleCount[]): Markup =>
    table(caption, RULE_COLUMNS, rows.map(ruleRow), "counts")
  return html`<h3>By rule</h3>${changed.length === 0 ? html`<p class="quiet">Each rule decides as many runs as before.</p>` : as("Rules that decide more or fewer runs", changed)}${
    others.length === 0 || changed.length === 0
      ? ""
      : html`<details><summary>${plural(others.length, "rule decides", "rules decide")} as many as before</summary>${as("Rules that decide as many runs as before", others)}</details>`
  }`
}

type Change = DryRunAnswer["changes"][number]

/** Lists by what a change has in common with others, the longest first. */
function grouped(changes: readonly Change[], by: (change: Change) => string): readonly (readonly [string, Change[]])[] {
  const groups = new Map<string, Change[]>()
  for (const change of changes) groups.set(by(change), [...(groups.get(by(change)) ?? []), change])
  return [...groups].toSorted(([, a], [, b]) => b.length - a.length)
}

/** How many runs of each route or key are refused, and admitted. */
function countsBy(
  what: string,
  changes: readonly Change[],
  by: (change: Change) => string,
  shown: (name: string) => Markup | string,
): Markup {
  const rows = grouped(changes, by).map(([name, each]) => {
    const admitted = each.filter(({ candidate }) => candidate.decision === "admitted").length
    return html`<tr><td class="long">${shown(name)}</td><td class="figure">${number(each.length - admitted)}</td><td class="figure">${number(admitted)}</td></tr>`
  })
  return html`<div><h3>By ${what}</h3>${table(`What would change, by ${what}`, [what === "key" ? "Key" : "Route", "Refused", "Admitted"], rows, "counts")}</div>`
}

/** Runs that are listed where there are few: a reader need not open them. */
const FEW = 5

/** Runs with the same change, folded. */
function runGroups(changes: readonly Change[]): Markup {
  const groups = grouped(changes, ({ in_force, candidate }) => JSON.stringify([in_force, candidate]))
  return html`${groups.map(([, each]) => {
    const [first] = each
    if (first === undefined) return ""
    const items = each.map(
      ({ run_id, route_id }) =>
        html`<li><a href="/console/runs/${run_id}">${run_id}</a> <span class="quiet">${route_id}</span></li>`,
    )
    return html`<details class="change" ${changes.length <= FEW ? html`open` : ""}><summary><strong>${plural(each.length, "run")}</strong>: ${judged(first.in_force)} <span aria-hidden="true">→</span><span class="unseen">would be</span> ${judged(first.candidate)}</summary><ul class="run-links">${items}</ul></details>`
  })}`
}

const figure = (value: number, text: string, tone = ""): Markup =>
  html`<li class="${tone}"><span class="big">${number(value)}</span> ${text}</li>`

/** What would be decided otherwise. @param names of keys, by the tenant of their runs */
function decisions(answer: DryRunAnswer, names: ReadonlyMap<string, string>): Markup {
  const { judged: runs, changed, newly_refused, newly_admitted, not_judged, changes } = answer
  const other = changed - newly_refused - newly_admitted
  const figures = html`<ul class="figures-line">${figure(newly_refused, "newly refused", newly_refused > 0 ? "bad" : "")}${figure(newly_admitted, "newly admitted", newly_admitted > 0 ? "warn" : "")}${other === 0 ? "" : figure(other, "refused in another way")}${figure(runs, "runs judged")}${not_judged === 0 ? "" : figure(not_judged, "not judged")}</ul>`
  if (changed === 0)
    return html`${figures}${empty("It would decide every one of these runs as it was decided.")}${byRule(answer)}`
  const ofKey = (tenant: string): Markup => html`${names.get(tenant) ?? tenant}`
  return html`${figures}${changed > changes.length ? html`<p class="quiet">Routes, keys and runs below are those of the newest ${number(changes.length)} of ${plural(changed, "changed run")}.</p>` : ""}
<div class="columns even"><div>${byRule(answer)}</div><div>${countsBy(
    "route",
    changes,
    ({ route_id }) => route_id,
    name => html`<a href="${address("/console/runs", { route_id: name })}">${name}</a>`,
  )}${countsBy("key", changes, ({ tenant_id }) => tenant_id, ofKey)}</div></div><h3>The runs</h3>${runGroups(changes)}`
}

type Trial = {
  readonly answer: DryRunAnswer
  /** The policy in force, and the one that was tried. */
  readonly before: string
  readonly candidate: JsonObject
  readonly names: ReadonlyMap<string, string>
}

/** The answer of a trial. */
export function trialResult({ answer, before, candidate, names }: Trial): Markup {
  const mistakes = mistakesIn(candidate)
  return html`<section class="card"><h2>The difference to the policy in force</h2>${policyDiff(before, policyText(candidate))}
${mistakes.length === 0 ? "" : notice("warn", html`<p><strong>Seldom meant so:</strong></p><ul>${mistakes.map(each => html`<li>${each}.</li>`)}</ul>`)}</section>
<section class="card"><h2>What would be decided otherwise</h2>${decisions(answer, names)}</section>`
}

/** Puts the policy that was tried in force. It stays in sight while the answer is read. */
export const inForceBar = ({ answer, candidate }: Trial, csrf: string | undefined, path: string): Markup =>
  html`<form method="post" action="${path}" class="in-sight">${formTokens(csrf)}<input type="hidden" name="policy" value="${verbatim(policyText(candidate))}">
<span class="summary"><strong>${number(answer.newly_refused)}</strong> newly refused, <strong>${number(answer.newly_admitted)}</strong> newly admitted</span>
<label class="check"><input type="checkbox" name="sure" value="yes" required> From now on this policy decides</label><button name="action" value="load">Put it in force</button></form>`
