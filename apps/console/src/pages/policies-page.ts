/** *Policies*: the text that decides now, those before it, and what another one would change. */

import { type JsonObject, type JsonValue, parseStrictJson, StrictJsonError } from "@runseal/canonical"
import type { ActRow, ActTable } from "@runseal/core/act/act-table"
import { CONTEXT_WORD_TEXTS } from "@runseal/core/vocabulary/decision-codes"
import { isObject } from "@runseal/core/vocabulary/json-members"
import type { PolicyDocument, PolicyRule } from "@runseal/core/wire/policy-document-schema"
import {
  DRY_RUN_DEFAULT,
  DRY_RUN_MAX,
  type DryRunAnswer,
  dryRunAnswerSchema,
  type Judgement,
  loadedPolicySchema,
  type PolicyVersion,
  type ProposedPolicy,
  policiesPageSchema,
  policyProposalSchema,
} from "@runseal/core/wire/policy-requests"
import { ruleTexts } from "@runseal/policy/load-policy"
import { PolicyError, parsePolicyDocument } from "@runseal/policy/policy-document"
import { type RuleReview, reviewRules } from "@runseal/policy/rule-review"
import * as v from "valibot"
import { isRefusal } from "../api.ts"
import { address, number, plural, time } from "../parts/format.ts"
import { html, type Markup, verbatim } from "../parts/markup.ts"
import { empty, facts, formTokens, heading, label, named, notice, refused, table } from "../parts/pieces.ts"
import { SIGNS } from "../parts/run-words.ts"
import { administers, answerForm, formOf, show, type Visit } from "../visit.ts"

const PATH = "/console/policies"
const loadedOrProposed = v.union([loadedPolicySchema, policyProposalSchema])
/** Policies of the history that are shown. */
const SHOWN = 20

/** A policy that is tried changes nothing: the answer to its form shows what it would change. */
export const policiesPage = (visit: Visit): Promise<Response> => showPolicies(visit)

async function showPolicies(visit: Visit, typed?: string): Promise<Response> {
  const page = await visit.api.get(address("/admin/policies", { limit: SHOWN }), policiesPageSchema)
  const { policies, proposed = [] } = page
  const [inForce] = policies
  const text = inForce === undefined ? "{}" : policyText(inForce.policy)
  const body = html`${heading("Policies", "What decides about runs. Records name the policy that decided by its hash.")}${visit.news ?? ""}
<div class="columns"><div>${inForce === undefined ? "" : current(inForce)}${proposed.map(proposal => proposalCard(visit, proposal, text))}${history(policies)}</div>
<div>${visit.session.scope === "admin" ? tryForm(visit, typed ?? text) : ""}</div></div>`
  return show(visit, { title: "Policies", body })
}

const origin = ({ source, loaded_by_name, loaded_by }: PolicyVersion): string =>
  `${source}${loaded_by === undefined ? "" : `, by ${loaded_by_name ?? loaded_by}`}`

function current(version: PolicyVersion): Markup {
  const rules = policyRules(version)
  const required = version.policy.required_attested_fields
  return html`<section class="card"><h2>In force</h2>${facts([
    ["Policy", html`${version.policy_name} <span class="quiet">${version.policy_id}</span>`],
    ["Hash", html`<code>${named(version.policy_hash)}</code>`],
    ["Since", time(version.active_since)],
    ["From", origin(version)],
    ["Its refusals", html`<a href="${address("/console/runs", { status: "pepg_deny" })}">runs that were denied</a>`],
    ["Required fields", Array.isArray(required) ? required.join(", ") : undefined],
  ])}${rules ?? ""}<details ${rules === undefined ? html`open` : ""}><summary>Text</summary><pre tabindex="0" class="code-block"><code>${policyText(version.policy)}</code></pre></details></section>`
}

/** A policy that waits for another admin, and what it would change. */
function proposalCard(visit: Visit, proposal: ProposedPolicy, inForce: string): Markup {
  const { policy, policy_name, proposed_by, proposed_by_name, expires_at } = proposal
  const text = policyText(policy)
  const confirm = html`<form method="post" action="${PATH}">${formTokens(visit.session.csrf_token)}<input type="hidden" name="policy" value="${verbatim(text)}"><label class="check"><input type="checkbox" name="sure" value="yes" required> I have read it, and it is to decide from now on</label><p class="buttons"><button name="action" value="load">Confirm it</button></p></form>`
  return html`<section class="card"><h2>Waits for another admin</h2>${facts([
    ["Policy", policy_name],
    ["From", proposed_by_name ?? proposed_by],
    ["Until", time(expires_at)],
  ])}${policyDiff(inForce, text)}${administers(visit) ? confirm : ""}</section>`
}

function history(policies: readonly PolicyVersion[]): Markup {
  const items = policies.map((version, i) => {
    const before = policies[i + 1]
    return html`<li class="event"><p><strong>${version.policy_name}</strong> <code title="${version.policy_hash}">${version.policy_hash.slice(0, 12)}…</code></p><p class="quiet">${version.version} · since ${time(version.active_since)} · ${origin(version)}</p>${before === undefined ? "" : html`<details><summary>What it changed</summary>${policyDiff(policyText(before.policy), policyText(version.policy))}</details>`}</li>`
  })
  return html`<section class="card"><h2>History</h2><ol class="events">${items}</ol></section>`
}

const tryForm = (visit: Visit, text: string): Markup => html`<section class="card"><h2>Try another</h2>
<p>It is held against the newest runs. Nothing changes by it.</p>
<form method="post" action="${PATH}">${formTokens(visit.session.csrf_token)}
<label>Policy<textarea name="policy" rows="22" spellcheck="false" required>${verbatim(text)}</textarea></label>
<label>Newest runs<input name="last" inputmode="numeric" pattern="[0-9]+" value="${DRY_RUN_DEFAULT}" aria-describedby="last-note"></label><p id="last-note" class="quiet">At most ${DRY_RUN_MAX}.</p>
<p class="buttons"><button name="action" value="try">What would change?</button></p></form></section>`

/** The document that was typed; undefined for a text that is no JSON object. */
function readPolicy(text: string): JsonObject | undefined {
  try {
    const value: JsonValue = parseStrictJson(text)
    return isObject(value) ? value : undefined
  } catch (error) {
    if (error instanceof StrictJsonError) return undefined
    throw error
  }
}

/** Tries a policy or puts it in force. */
export async function policyForm(visit: Visit): Promise<Response> {
  const field = await formOf(visit.c)
  const text = field("policy")
  const policy = readPolicy(text)
  if (policy === undefined) return showPolicies({ ...visit, news: notice("bad", "This is no JSON object.") }, text)
  if (field("action") === "load") {
    const done = await visit.api.change("POST", "/admin/policies", loadedOrProposed, { policy })
    return answerForm(visit, done, {
      path: PATH,
      news: loaded =>
        "expires_at" in loaded
          ? { tone: "good", text: "It waits until another admin puts it in force too." }
          : { tone: "good", text: "It is in force." },
      page: again => showPolicies(again, text),
    })
  }
  const last = Number(field("last"))
  const answer = await visit.api.change("POST", "/admin/policies/dry-run", dryRunAnswerSchema, { policy, last })
  if (isRefusal(answer)) return showPolicies({ ...visit, news: refused(answer) }, text)
  const { policies } = await visit.api.get(address("/admin/policies", { limit: 1 }), policiesPageSchema)
  const before = policies[0] === undefined ? "" : policyText(policies[0].policy)
  const csrf = administers(visit) ? visit.session.csrf_token : undefined
  return showPolicies({ ...visit, news: trialResult({ answer, before, after: policyText(policy) }, csrf) }, text)
}

// A policy to be read: each rule with what it rests on, and the act tables. What is shown is made of the document alone.

type Version = Pick<PolicyVersion, "policy_hash" | "policy">

/** What was shown last: the engine takes more than a second for the rules of the largest policies, and the service waits for it. */
let shown: { readonly policy_hash: string; readonly markup: Markup | undefined } | undefined

/** The rules and act tables of a policy; undefined for a document that this release does not read. */
function policyRules({ policy_hash, policy }: Version): Markup | undefined {
  if (shown?.policy_hash !== policy_hash) {
    const document = documentOf(policy)
    shown = { policy_hash, markup: document && rulesOf(document) }
  }
  return shown.markup
}

function rulesOf(document: PolicyDocument): Markup {
  const reviews = reviewRules({ document, texts: ruleTexts(document) })
  const { rules, acts = [] } = document
  return html`<h3>Rules</h3>${rules.length === 0 ? html`<p>No rule: every run is denied.</p>` : html`<ol class="rules">${rules.map((rule, i) => ruleCard(rule, reviews[i]))}</ol>`}${acts.map(actTable)}`
}

function documentOf(policy: JsonObject): PolicyDocument | undefined {
  try {
    return parsePolicyDocument(policy)
  } catch (error) {
    if (error instanceof PolicyError) return undefined
    throw error
  }
}

const codes = (names: readonly string[]): Markup =>
  html`${names.map((name, i) => html`${i === 0 ? "" : ", "}<code>${named(name)}</code>`)}`

const TONES = { allow: "good", deny: "warn", require_approval: "warn" } as const satisfies Record<
  PolicyRule["effect"],
  keyof typeof SIGNS
>

function ruleCard({ id, effect, description, act, routes, when }: PolicyRule, review: RuleReview | undefined): Markup {
  const tone = TONES[effect]
  const rests = review?.rests_on ?? []
  return html`<li class="rule"><p>${label(tone, SIGNS[tone], effect)} <code>${named(id)}</code></p>
${description === undefined ? "" : html`<p>${description}</p>`}${when === undefined ? "" : html`<pre tabindex="0" class="code-block condition"><code>${when}</code></pre>`}${facts(
  [
    ["Act", act && html`<a href="#${anchorOf(act)}"><code>${act}</code></a>`],
    ["Routes", routes && codes(routes)],
    [
      "Rests on",
      rests.length === 0
        ? "nothing: it applies to every run"
        : html`${rests.map(({ word, attributes }) => html`<div>${codes(attributes)}: ${CONTEXT_WORD_TEXTS[word]}</div>`)}`,
    ],
  ],
)}</li>`
}

const anchorOf = (act: string): string => `act-${act}`

const ACT_COLUMNS = ["Name", "Pointer", "Type", "Bounds", "Required"]

const actTable = ({ name, routes, closed = [], ignored = [], names }: ActTable): Markup =>
  html`<section id="${anchorOf(name)}"><h3>Act table <code>${name}</code></h3>${facts([
    ["Routes", codes(routes)],
    ["Closed", closed.length === 0 ? undefined : codes(closed.map(placeOf))],
    ["Ignored", ignored.length === 0 ? undefined : codes(ignored.map(placeOf))],
  ])}${table(
    `What the service reads of ${name}`,
    ACT_COLUMNS,
    Object.entries(names).map(
      ([each, row]) =>
        html`<tr><td class="nowrap"><code>${each}</code></td><td><code>${named(row.at)}</code></td><td>${typeOf(row)}</td><td>${boundsOf(row)}</td><td>${row.optional === true ? "no" : "yes"}</td></tr>`,
    ),
  )}</section>`

/** The empty pointer is the payload itself. */
const placeOf = (pointer: string): string => (pointer === "" ? "the payload" : pointer)

const typeOf = (row: ActRow): string => (row.case === undefined ? row.type : `${row.type}, ${row.case} case`)

function boundsOf({ min, max }: ActRow): string {
  if (min !== undefined && max !== undefined) return `${min} to ${max}`
  if (min !== undefined) return `at least ${min}`
  return max === undefined ? "" : `at most ${max}`
}

// What another policy would change: its difference to the one in force, and the newest runs that it would decide otherwise.

/** A policy as it is shown and edited. */
const policyText = (policy: JsonObject): string => JSON.stringify(policy, null, 2)

const DIFF_SIGNS = { same: " ", old: "−", new: "+" } as const

/** The difference; colour is not all that tells old from new. */
const policyDiff = (before: string, after: string): Markup =>
  html`<pre tabindex="0" class="code-block diff"><code>${diffLines(before, after).map(
    ({ kind, text }) => html`<span class="${kind}">${DIFF_SIGNS[kind]} ${text}
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

type Trial = { readonly answer: DryRunAnswer; readonly before: string; readonly after: string }

/** @param csrf token of an administrator; absent: the visitor may not load it */
const trialResult = (
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

// The difference of two texts, line by line.

type DiffLine = { readonly kind: "same" | "old" | "new"; readonly text: string }

/** Lines of a text that are compared; longer ones are shown as replaced. */
const MAX_LINES = 1500

/** The fewest lines that change, by their longest common subsequence. */
function diffLines(before: string, after: string): readonly DiffLine[] {
  const [old, fresh] = [before.split("\n"), after.split("\n")]
  if (old.length > MAX_LINES || fresh.length > MAX_LINES)
    return [
      ...old.map(text => ({ kind: "old", text }) as const),
      ...fresh.map(text => ({ kind: "new", text }) as const),
    ]
  const lengths = commonLengths(old, fresh)
  const width = fresh.length + 1
  const lengthAt = (i: number, j: number): number => lengths[i * width + j] ?? 0
  const lines: DiffLine[] = []
  let [i, j] = [0, 0]
  while (i < old.length || j < fresh.length) {
    const [was = "", is = ""] = [old[i], fresh[j]]
    if (i < old.length && j < fresh.length && was === is) {
      lines.push({ kind: "same", text: was })
      i++
      j++
    } else if (j >= fresh.length || (i < old.length && lengthAt(i + 1, j) >= lengthAt(i, j + 1))) {
      lines.push({ kind: "old", text: was })
      i++
    } else {
      lines.push({ kind: "new", text: is })
      j++
    }
  }
  return lines
}

/** Lines that two texts have in common from each pair of places on. */
function commonLengths(old: readonly string[], fresh: readonly string[]): Uint16Array {
  const width = fresh.length + 1
  const lengths = new Uint16Array((old.length + 1) * width)
  for (let i = old.length - 1; i >= 0; i--)
    for (let j = fresh.length - 1; j >= 0; j--)
      lengths[i * width + j] =
        old[i] === fresh[j]
          ? (lengths[(i + 1) * width + j + 1] ?? 0) + 1
          : Math.max(lengths[(i + 1) * width + j] ?? 0, lengths[i * width + j + 1] ?? 0)
  return lengths
}
