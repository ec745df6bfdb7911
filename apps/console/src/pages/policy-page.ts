/** *Policy*: the text that decides now. */
import { policyInForceSchema } from "@runseal/core/wire/admin-answers"
import { html } from "hono/html"
import { address, number, time } from "../parts/format.ts"
import { facts, heading } from "../parts/pieces.ts"
import { show, type Visit } from "../visit.ts"

export async function policyPage(visit: Visit): Promise<Response> {
  const { policy_id, policy_hash, policy, active_since, signatures } = await visit.api.get(
    "/admin/policy",
    policyInForceSchema,
  )
  const body = html`${heading("Policy", "What decides about runs now. Records name it by its hash.")}
<section class="card">${facts([
    ["Policy", policy_id],
    ["Hash", html`<code>${policy_hash}</code>`],
    ["In force since", time(active_since)],
    ["Signatures", html`${number(signatures.count)}, library <code>${signatures.library_hash.slice(0, 12)}…</code>`],
    ["Its refusals", html`<a href="${address("/console/runs", { status: "pepg_deny" })}">runs that were denied</a>`],
  ])}</section>
<section class="card"><h2>Text</h2><pre tabindex="0" class="code-block"><code>${JSON.stringify(policy, null, 2)}</code></pre></section>`
  return show(visit, { title: "Policy", body })
}
