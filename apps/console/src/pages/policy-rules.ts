/** A policy to be read: each rule with what it rests on, and the act tables. What is shown is made of the document alone. */
import type { JsonObject } from "@runseal/canonical"
import type { ActRow, ActTable } from "@runseal/core/act/act-table"
import { CONTEXT_WORD_TEXTS } from "@runseal/core/vocabulary/decision-codes"
import type { PolicyDocument, PolicyRule } from "@runseal/core/wire/policy-document-schema"
import type { PolicyVersion } from "@runseal/core/wire/policy-requests"
import { ruleTexts } from "@runseal/policy/load-policy"
import { PolicyError, parsePolicyDocument } from "@runseal/policy/policy-document"
import { type RuleReview, reviewRules } from "@runseal/policy/rule-review"
import { html, type Markup } from "../parts/markup.ts"
import { SIGNS } from "../parts/outcome-names.ts"
import { facts, named, table } from "../parts/pieces.ts"

type Version = Pick<PolicyVersion, "policy_hash" | "policy">

/** What was shown last: the engine takes more than a second for the rules of the largest policies, and the service waits for it. */
let shown: { readonly policy_hash: string; readonly markup: Markup | undefined } | undefined

/** The rules and act tables of a policy; undefined for a document that this release does not read. */
export function policyRules({ policy_hash, policy }: Version): Markup | undefined {
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

const TONES = { allow: "good", deny: "warn" } as const satisfies Record<PolicyRule["effect"], keyof typeof SIGNS>

function ruleCard({ id, effect, description, act, routes, when }: PolicyRule, review: RuleReview | undefined): Markup {
  const tone = TONES[effect]
  const rests = review?.rests_on ?? []
  return html`<li class="rule"><p><span class="label ${tone}"><span aria-hidden="true">${SIGNS[tone]}</span> ${effect}</span> <code>${named(id)}</code></p>
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

const COLUMNS = ["Name", "Pointer", "Type", "Bounds", "Required"]

const actTable = ({ name, routes, closed = [], ignored = [], names }: ActTable): Markup =>
  html`<section id="${anchorOf(name)}"><h3>Act table <code>${name}</code></h3>${facts([
    ["Routes", codes(routes)],
    ["Closed", closed.length === 0 ? undefined : codes(closed.map(placeOf))],
    ["Ignored", ignored.length === 0 ? undefined : codes(ignored.map(placeOf))],
  ])}${table(
    `What the service reads of ${name}`,
    COLUMNS,
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
