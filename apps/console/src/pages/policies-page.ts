/** *Policies*: the text that decides now, those before it, and what another one would change. */

import { type JsonObject, type JsonValue, parseStrictJson, StrictJsonError } from "@runseal/canonical"
import { isObject } from "@runseal/core/vocabulary/json-members"
import {
  DRY_RUN_DEFAULT,
  DRY_RUN_MAX,
  dryRunAnswerSchema,
  loadedPolicySchema,
  type PolicyVersion,
  policiesPageSchema,
} from "@runseal/core/wire/policy-requests"
import { isRefusal } from "../api.ts"
import { address, time } from "../parts/format.ts"
import { html, type Markup, verbatim } from "../parts/markup.ts"
import { facts, formTokens, heading, named, notice, refused } from "../parts/pieces.ts"
import { administers, answerForm, formOf, show, type Visit } from "../visit.ts"
import { policyRules } from "./policy-rules.ts"
import { policyDiff, policyText, trialResult } from "./policy-trial.ts"

const PATH = "/console/policies"
/** Policies of the history that are shown. */
const SHOWN = 20

/** A policy that is tried changes nothing: the answer to its form shows what it would change. */
export const policiesPage = (visit: Visit): Promise<Response> => showPolicies(visit)

async function showPolicies(visit: Visit, typed?: string): Promise<Response> {
  const { policies } = await visit.api.get(address("/admin/policies", { limit: SHOWN }), policiesPageSchema)
  const [inForce] = policies
  const text = inForce === undefined ? "{}" : policyText(inForce.policy)
  const body = html`${heading("Policies", "What decides about runs. Records name the policy that decided by its hash.")}${visit.news ?? ""}
<div class="columns"><div>${inForce === undefined ? "" : current(inForce)}${history(policies)}</div>
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
    const done = await visit.api.change("POST", "/admin/policies", loadedPolicySchema, { policy })
    return answerForm(visit, done, {
      path: PATH,
      news: () => ({ tone: "good", text: "It is in force." }),
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
