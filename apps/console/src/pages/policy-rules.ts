/** A policy to be read: each rule with whose word it rests on, the act tables, and the attributes that rules can read. What is shown is made of the document alone. */
import type { JsonObject } from "@runseal/canonical"
import type { ActRow, ActTable } from "@runseal/core/act/act-table"
import { CONTEXT_ROWS } from "@runseal/core/formulas/policy-context"
import { CONTEXT_WORD_TEXTS } from "@runseal/core/vocabulary/decision-codes"
import type { PolicyDocument, PolicyRule } from "@runseal/core/wire/policy-document-schema"
import type { PolicyVersion } from "@runseal/core/wire/policy-requests"
import { ruleTexts } from "@runseal/policy/load-policy"
import { PolicyError, parsePolicyDocument } from "@runseal/policy/policy-document"
import { type RuleReview, reviewRules } from "@runseal/policy/rule-review"
import { html, type Markup } from "../parts/markup.ts"
import { facts, label, named, table } from "../parts/pieces.ts"
import { SIGNS } from "../parts/run-words.ts"

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
  return html`${rules.length === 0 ? html`<p>No rule: every run is denied.</p>` : html`<ol class="rules">${rules.map((rule, i) => ruleCard(rule, reviews[i]))}</ol>`}${acts.map(actTable)}`
}

/** What is seldom meant so, of each rule; none for a document that this release does not read. */
export function mistakesIn(policy: JsonObject): readonly string[] {
  const document = documentOf(policy)
  if (document === undefined) return []
  return reviewRules({ document, texts: ruleTexts(document) }).flatMap(({ warnings }) => warnings)
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

// What rules can read.

/** One attribute: its name, its type, and whether rules ask `has` first. */
type Attribute = readonly [name: string, type: string, optional: boolean | undefined]

const attributeList = (path: string, says: string, attributes: readonly Attribute[]): Markup =>
  html`<dt><code>context.${path}</code> <span class="quiet">${says}</span></dt><dd><ul class="plain-list">${attributes.map(
    ([name, type, optional]) =>
      html`<li><code>${name}</code> <span class="quiet">${type}${optional === true ? ", may be absent" : ""}</span></li>`,
  )}</ul></dd>`

/** The attributes that a rule can read, by whose word they are. @param policy whose act tables name those of the act */
export function readableAttributes(policy: JsonObject): Markup {
  const acts = documentOf(policy)?.acts ?? []
  const ofActs = acts.map(({ name, names }) =>
    attributeList(
      "act",
      `of ${name}, ${CONTEXT_WORD_TEXTS.act}`,
      Object.entries(names).map(([each, row]) => [each, row.type, row.optional]),
    ),
  )
  const others = Object.entries(CONTEXT_ROWS).map(([path, rows]) => {
    const says = Object.entries(CONTEXT_WORD_TEXTS).find(([word]) => word === path.split(".")[0])?.[1] ?? ""
    const isPart = path.includes(".")
    return attributeList(
      path,
      isPart ? `${says}; may be absent as a whole` : says,
      Object.entries(rows).map(([name, { type, optional }]) => [name, type, optional]),
    )
  })
  return html`<div class="attributes" role="region" aria-label="What rules can read" tabindex="0"><dl>${ofActs}${others}</dl></div>`
}
