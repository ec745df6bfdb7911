/** *Policies*: the text that decides now, those before it, and what another one would change. */

import { type JsonObject, parseStrictJson, StrictJsonError } from "@runseal/canonical"
import { isObject } from "@runseal/core/vocabulary/json-members"
import { keyListSchema } from "@runseal/core/wire/key-requests"
import {
  DRY_RUN_DEFAULT,
  DRY_RUN_MAX,
  dryRunAnswerSchema,
  foundPolicySchema,
  loadedPolicySchema,
  type PolicyVersion,
  type ProposedPolicy,
  policiesPageSchema,
  policyProposalSchema,
} from "@runseal/core/wire/policy-requests"
import * as v from "valibot"
import { isRefusal } from "../api.ts"
import { address, time } from "../parts/format.ts"
import { html, type Markup, verbatim } from "../parts/markup.ts"
import { facts, formTokens, heading, named, notice, refused } from "../parts/pieces.ts"
import { administers, answerForm, asTyped, type Field, formOf, show, typedNumber, type Visit } from "../visit.ts"
import { policyRules, readableAttributes } from "./policy-rules.ts"
import { inForceBar, policyDiff, policyText, trialResult } from "./policy-trial.ts"

const PATH = "/console/policies"
const loadedOrProposed = v.union([loadedPolicySchema, policyProposalSchema])
/** Policies of the history that are shown. */
const SHOWN = 20

/** The policy in force, what waits for another administrator, the form that tries another one, and the history. */
export async function policiesPage(visit: Visit): Promise<Response> {
  const page = await visit.api.get(address("/admin/policies", { limit: SHOWN }), policiesPageSchema)
  const { policies, proposed = [] } = page
  const [inForce] = policies
  const text = inForce === undefined ? "{}" : policyText(inForce.policy)
  const change = administers(visit) ? html`<a class="button" href="#change">Change it</a>` : undefined
  const body = html`${heading("Policies", "What decides about runs. Records name the policy that decided by its hash.", change)}${visit.news ?? ""}
${proposed.map(proposal => proposalCard(visit, proposal, text))}${inForce === undefined ? "" : current(inForce)}${administers(visit) ? tryForm(visit, { policy: text }, inForce?.policy ?? {}) : ""}${history(visit, policies)}`
  return show(visit, { title: "Policies", body })
}

const origin = ({ source, loaded_by_name, loaded_by }: PolicyVersion): string =>
  `${source}${loaded_by === undefined ? "" : `, by ${loaded_by_name ?? loaded_by}`}`

function current(version: PolicyVersion): Markup {
  const rules = policyRules(version)
  const required = version.policy.required_attested_fields
  const text = html`<pre tabindex="0" class="code-block"><code>${policyText(version.policy)}</code></pre>`
  return html`<section class="card"><h2>In force</h2>${facts([
    ["Policy", html`${version.policy_name} <span class="quiet">${version.policy_id}</span>`],
    ["Hash", html`<code>${named(version.policy_hash)}</code>`],
    ["Since", html`${time(version.active_since)}, from ${origin(version)}`],
    ["Its refusals", html`<a href="${address("/console/runs", { status: "pepg_deny" })}">runs that were denied</a>`],
    ["Required fields", Array.isArray(required) ? required.join(", ") : undefined],
  ])}${rules === undefined ? text : html`<div class="columns even"><div><h3>Rules</h3>${rules}</div><div class="beside"><h3>Text</h3>${text}</div></div>`}</section>`
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

function history(visit: Visit, policies: readonly PolicyVersion[]): Markup {
  const items = policies.map((version, i) => {
    const before = policies[i + 1]
    const back =
      i === 0 || !administers(visit)
        ? ""
        : html`<form method="post" action="${PATH}">${formTokens(visit.session.csrf_token)}<input type="hidden" name="version" value="${version.version}"><button class="plain" name="action" value="again">Put this one back in force</button></form>`
    return html`<li class="event"><div class="event-head"><div><p><strong>${version.policy_name}</strong> <code title="${version.policy_hash}">${version.policy_hash.slice(0, 12)}…</code></p><p class="quiet">${version.version} · since ${time(version.active_since)} · ${origin(version)}</p></div>${back}</div>${before === undefined ? "" : html`<details><summary>What it changed</summary>${policyDiff(policyText(before.policy), policyText(version.policy))}</details>`}</li>`
  })
  return html`<section class="card"><h2>History</h2><p class="quiet">Before an earlier policy decides again, you see what it would change.</p><ol class="events">${items}</ol></section>`
}

type Tried = { readonly policy: string; readonly last?: string }

/** @param inForce whose act tables name the attributes of acts */
const tryForm = (visit: Visit, { policy, last = `${DRY_RUN_DEFAULT}` }: Tried, inForce: JsonObject): Markup =>
  html`<section class="card" id="change"><h2>Change it</h2>
<p>What you write is held against the newest runs. Nothing changes by it.</p>
<div class="columns"><form method="post" action="${PATH}">${formTokens(visit.session.csrf_token)}
<label>Policy<textarea name="policy" rows="26" spellcheck="false" required>${verbatim(policy)}</textarea></label>
<label>Newest runs<input name="last" inputmode="numeric" pattern="[0-9]+" value="${verbatim(last)}" aria-describedby="last-note"></label><p id="last-note" class="quiet">At most ${DRY_RUN_MAX}.</p>
<p class="buttons"><button name="action" value="try">What would change?</button></p></form>
<div class="beside"><h3>What rules can read</h3>${readableAttributes(inForce)}</div></div></section>`

/** The document that was typed; a sentence for a text that is no JSON object. */
function readPolicy(text: string): JsonObject | string {
  try {
    const value = parseStrictJson(text)
    return isObject(value) ? value : "A policy is a JSON object."
  } catch (error) {
    if (error instanceof StrictJsonError) return error.message
    throw error
  }
}

/** Tries a policy, puts it in force, or tries an earlier one. */
export async function policyForm(visit: Visit): Promise<Response> {
  const field = await formOf(visit.c)
  if (field("action") === "again") return tryAgain(visit, field)
  const policy = readPolicy(field("policy"))
  if (typeof policy === "string") return policiesPage(await asTyped(visit, notice("bad", policy)))
  if (field("action") !== "load") return tryPolicy(visit, policy, { policy: field("policy"), last: field("last") })
  const done = await visit.api.change("POST", "/admin/policies", loadedOrProposed, { policy })
  return answerForm(visit, done, {
    path: PATH,
    news: loaded =>
      "expires_at" in loaded
        ? { tone: "good", text: "It waits until another admin puts it in force too." }
        : { tone: "good", text: "It is in force." },
    page: policiesPage,
  })
}

/** What an earlier policy would change, before it decides again. */
async function tryAgain(visit: Visit, field: Field): Promise<Response> {
  const version = typedNumber(field("version"))
  const { policy } = await visit.api.get(`/admin/policies/${encodeURIComponent(version)}`, foundPolicySchema)
  return tryPolicy(visit, policy, { policy: policyText(policy) })
}

async function tryPolicy(visit: Visit, candidate: JsonObject, tried: Tried): Promise<Response> {
  const request = {
    policy: candidate,
    ...(tried.last === undefined || tried.last === "" ? {} : { last: typedNumber(tried.last) }),
  }
  const answer = await visit.api.change("POST", "/admin/policies/dry-run", dryRunAnswerSchema, request)
  if (isRefusal(answer)) return policiesPage(await asTyped(visit, refused(answer)))
  const [{ policies }, keys] = await Promise.all([
    visit.api.get(address("/admin/policies", { limit: 1 }), policiesPageSchema),
    visit.api.ask("/admin/keys", keyListSchema),
  ])
  const inForce = policies[0]?.policy ?? {}
  const before = policyText(inForce)
  const names = new Map(isRefusal(keys) ? [] : keys.keys.map(({ id, name }) => [`api-key-${id}`, name]))
  const trial = { answer, before, candidate, names }
  const bar = before === policyText(candidate) ? "" : inForceBar(trial, visit.session.csrf_token, PATH)
  const lead = html`Nothing has changed yet. The newest ${request.last ?? DRY_RUN_DEFAULT} runs were asked.`
  const body = html`<p class="back"><a href="${PATH}">Policies</a></p>${heading("What would change", lead, html`<a class="button plain" href="#change">Edit it further</a>`)}
${trialResult(trial)}${tryForm(visit, tried, candidate)}${bar}`
  return show(visit, { title: "What would change", body })
}
