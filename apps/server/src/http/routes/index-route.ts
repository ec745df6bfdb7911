/** `GET /`: what this service is and where everything is, as a page for people and as JSON for programs. docs/api.md, "GET /". */
import { TRUST_PATH, trustRows } from "@runseal/core/presentation/trust-rows"
import type { IndexAnswer } from "@runseal/core/wire/service-answers"
import type { Context } from "hono"
import { html } from "hono/html"
import type { Deps } from "../../deps.ts"
import { SERVICE_NAME, SERVICE_VERSION } from "../../options/config.ts"
import { hasKeys } from "../../store/tables/api-keys.ts"
import { type PlainPage, plainPage } from "../discovery/plain-page.ts"
import type { Handlers } from "../endpoint-routes.ts"
import { readsPages } from "../served-file.ts"
import { serviceUrl } from "./addresses.ts"

/** Paths, relative to the address of the index. */
const LINKS = {
  docs: "docs",
  openapi: "openapi.json",
  verify: "verify",
  trust: TRUST_PATH.slice(1),
  jwks: ".well-known/jwks.json",
  checkpoint: "log/checkpoint",
  health: "health",
  ready: "ready",
} as const

async function indexAnswer(c: Context, deps: Deps): Promise<IndexAnswer> {
  const [locked, { size }] = await Promise.all([hasKeys(deps.db), deps.shownHead()])
  const base = serviceUrl(c, deps)
  const linkTo = (path: string): string => `${base}/${path}`
  return {
    ok: true,
    service: SERVICE_NAME,
    version: SERVICE_VERSION,
    mode: locked ? "locked" : "open",
    log: { origin: deps.logOrigin, size },
    fingerprints: deps.trust.serviceKeys.map(({ keyId }) => keyId),
    links: {
      docs: linkTo(LINKS.docs),
      openapi: linkTo(LINKS.openapi),
      verify: linkTo(LINKS.verify),
      trust: linkTo(LINKS.trust),
      jwks: linkTo(LINKS.jwks),
      checkpoint: linkTo(LINKS.checkpoint),
      health: linkTo(LINKS.health),
      ready: linkTo(LINKS.ready),
    },
  }
}

const FIRST_KEY = `curl -s -X POST ADDRESS/admin/keys -H 'Content-Type: application/json' \\
  -d '{"name": "ops", "scope": "admin", "confirm_admin_scope": true}'`

const OPEN = (
  base: string,
) => html`<p><strong>Open mode:</strong> no key was created yet, and every caller reads and makes runs as the
same anonymous tenant. Make an <strong>admin</strong> key first: from the first key on, every request needs a key, and only admin keys make keys.</p>
<pre tabindex="0"><code>${FIRST_KEY.replace("ADDRESS", base)}</code></pre>`

const LOCKED = html`<p><strong>Locked mode:</strong> requests need a key in the header <code>X-Service-Key</code>. An admin key makes
keys; where none is left, the operator makes one on the server's machine with <code>--mint-admin-key NAME</code>.</p>`

async function indexPage(c: Context, deps: Deps): Promise<PlainPage> {
  const { version, mode, log } = await indexAnswer(c, deps)
  return plainPage({
    title: "Runseal: run attestation service",
    root: "",
    body: html`<h1>Run attestation service</h1>
<p class="lead">It takes runs of agents through gates, seals each result into a record, and anchors the record on a transparency log. A record is verified
offline, with keys that you got from the operator.</p>
<ul class="ways">${WAYS.map(([path, name, what]) => html`<li><a href="${path}"><strong>${name}</strong><span>${what}</span></a></li>`)}</ul>
<section class="card"><h2>Keys of callers</h2>
${mode === "open" ? OPEN(serviceUrl(c, deps)) : LOCKED}</section>
<section class="card"><h2>Fingerprints</h2>
<p>Compare them with the operator by another way before you rely on the trust document.</p>
<dl>${trustRows(deps.trust).map(
      ({ label, value, detail }) => html`<dt>${label}</dt>
<dd><code>${value}</code>${detail === undefined ? "" : html`<span class="quiet">${detail}</span>`}</dd>`,
    )}</dl></section>
<section class="card"><h2>For programs</h2>
<ul class="plain">${FILES.map(([path, name]) => html`<li><a href="${path}">${name}</a></li>`)}</ul>
<p class="quiet">The log has ${log.size} ${log.size === 1 ? "entry" : "entries"}. Release ${version}.</p></section>`,
  })
}

/** What people come for. */
const WAYS = [
  ["console", "Console", "Find, explain and operate runs"],
  [LINKS.verify, "Verify a record", "In your browser; nothing is uploaded"],
  [LINKS.docs, "API", "Read it and try it"],
] as const

const FILES = [
  [LINKS.openapi, "OpenAPI document"],
  [LINKS.trust, "Trust document"],
  [LINKS.jwks, "Keys that permits are checked with"],
  [LINKS.checkpoint, "Checkpoint of the log"],
  [LINKS.health, "Health"],
  [LINKS.ready, "Readiness"],
] as const

/** For everybody, without a key. */
export function indexRoutes(deps: Deps): Handlers {
  return {
    index: async c => {
      c.header("Vary", "Accept")
      if (!readsPages(c)) return c.json(await indexAnswer(c, deps))
      const page = await indexPage(c, deps)
      return c.body(page.html, 200, {
        "Content-Type": "text/html; charset=utf-8",
        "Content-Security-Policy": page.policy,
      })
    },
  }
}
