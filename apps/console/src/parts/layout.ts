/** The frame of every page: head, navigation, content. No page has a script or style of its own in it, as its policy demands. */
import type { AttentionAnswer } from "@runseal/core/wire/attention-answer"
import type { SessionAnswer } from "@runseal/core/wire/session-requests"
import { ICON, siteHeader } from "@runseal/verify-page/face/site-header"
import { raw } from "hono/html"
import type { AssetName } from "../assets/asset-names.ts"
import { consoleAssets } from "../assets/assets.ts"
import { placeNumber } from "./attention.ts"
import { plural, time } from "./format.ts"
import { html, type Markup } from "./markup.ts"
import { holderOf } from "./page-forms.ts"
import { secondsLeft } from "./session-left.ts"

/** Nothing but what this service serves; no text of a record becomes markup, because the browser itself refuses that. */
export const POLICY: string = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "font-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join("; ")

type Place = {
  readonly path: string
  readonly name: string
  readonly for: readonly SessionAnswer["scope"][]
  /** Of all keys: an auditor of named keys does not see it. */
  readonly ofAllKeys?: true
  /** Also for people of any role: their groups may be those of a rule. */
  readonly persons?: true
  /** A page that the list of this place leads to, where it is not below it. */
  readonly one?: string
}

const ALL = ["admin", "auditor", "customer", "anonymous"] as const
const DEPLOYMENT = ["admin", "auditor", "anonymous"] as const

/** The pages of the navigation, and who sees them. The API decides; this hides what it would refuse. */
const PLACES: readonly Place[] = [
  { path: "/console", name: "Overview", for: ALL },
  { path: "/console/runs", name: "Runs", for: ALL },
  { path: "/console/permits", name: "Permits", for: ALL },
  { path: "/console/shared", name: "Shared", for: ["admin", "auditor"] },
  { path: "/console/budgets", name: "Budgets", for: DEPLOYMENT },
  { path: "/console/policies", name: "Policies", for: DEPLOYMENT, ofAllKeys: true },
  { path: "/console/keys", name: "Keys", for: ["admin", "anonymous"] },
  { path: "/console/log", name: "Log health", for: ALL },
  { path: "/console/deliveries", name: "Deliveries", for: DEPLOYMENT, ofAllKeys: true },
  { path: "/console/audit", name: "Admin audit", for: DEPLOYMENT, ofAllKeys: true },
  { path: "/console/approvals", name: "Approvals", for: ["approver"], persons: true, one: "/console/approval" },
  { path: "/console/passkeys", name: "Passkeys", for: ["admin"], persons: true },
]

const SCOPES: Readonly<Record<SessionAnswer["scope"], string>> = {
  admin: "administrator",
  auditor: "auditor, reads only",
  approver: "approver",
  customer: "sees its own runs",
  anonymous: "open mode: no key was made yet",
}

/** Longest text that is looked for, in UTF-16 units: that of a route. */
export const FIND_MAX_LENGTH = 512

/** The search of every page; a script makes `/` lead to it. */
const FIND = html`<form class="find" method="get" action="/console/find" role="search" aria-label="Find"><input type="search" name="q" maxlength="${FIND_MAX_LENGTH}" aria-label="Find a run, permit, hash, actor or route" aria-keyshortcuts="/" placeholder="Find run, hash, actor…" title="The number of a run, an id, a hash, a name, or the beginning of a route" autocomplete="off" spellcheck="false"><kbd aria-hidden="true">/</kbd></form>`

/** Another deployment of the same operator, with a log and keys of its own. */
export type Peer = {
  readonly name: string
  /** Scheme, host and port. */
  readonly origin: string
}

/** The consoles of the other deployments. */
const elsewhere = (peers: readonly Peer[]): Markup | "" =>
  peers.length === 0
    ? ""
    : html`<p class="quiet" id="elsewhere">Other deployments</p><ul aria-labelledby="elsewhere">${peers.map(({ name, origin }) => html`<li><a href="${origin}/console">${name}</a></li>`)}</ul>`

/** The navigation of a session. */
function navigation(
  { scope, reads, person }: SessionAnswer,
  { here, attention, live, peers = [] }: Pick<PageParts, "here" | "attention" | "live" | "peers">,
): Markup {
  const seen = PLACES.filter(
    place =>
      (place.for.includes(scope) || (place.persons === true && person !== undefined)) &&
      (reads === undefined || place.ofAllKeys !== true),
  )
  const items = seen.map(({ path, name: text, one }) => {
    const current = here === path || here === one || (path !== "/console" && here.startsWith(`${path}/`))
    return html`<li><a href="${path}" ${current ? html`aria-current="page"` : ""}>${text}${attention === undefined ? "" : placeNumber(path, attention)}</a></li>`
  })
  return html`<nav class="places" aria-label="Console"><ul>${items}</ul>${elsewhere(peers)}${live === true && attention !== undefined ? liveControl(attention) : ""}</nav>`
}

/** Whose session it is, at the end of the head. */
function visitor({ scope, reads, name, csrf_token }: SessionAnswer): Markup {
  const role = reads === undefined ? SCOPES[scope] : `auditor of ${plural(reads.length, "key")}`
  return html`${scope === "approver" ? "" : FIND}<div class="who"><p><strong>${name}</strong> <span class="quiet">${role}</span></p>
${
  csrf_token === undefined
    ? ""
    : html`<form method="post" action="/console/sign-out"><button class="plain">Sign out</button></form>`
}</div>`
}

/** Hidden until its script runs. The size of the log is where the first wait begins. */
const liveControl = ({ log_size }: AttentionAnswer): Markup =>
  html`<div class="live" id="live" data-own data-after="${log_size}" hidden><p role="status">Live</p><button type="button" class="plain">Pause</button></div>`

type PageParts = {
  readonly title: string
  /** Absent: the visitor has no session. */
  readonly session?: SessionAnswer
  /** Shown to those who have a session. */
  readonly peers?: readonly Peer[]
  /** Path of the page, for the navigation. */
  readonly here: string
  /** What a printed page says that it is of. */
  readonly address?: string
  readonly body: Markup | readonly Markup[]
  readonly islands?: readonly AssetName[]
  /** For the numbers of the navigation; absent where they are not known. */
  readonly attention?: AttentionAnswer
  /** Whether it refreshes itself. */
  readonly live?: true
}

/** What the island says of the session's end. */
function sessionEnd({ idle_ends_at, ends_at, ...session }: SessionAnswer): Markup | "" {
  if (idle_ends_at === undefined || ends_at === undefined) return ""
  const { idle, end } = secondsLeft({ idle_ends_at, ends_at }, Date.now())
  return html`<div id="session-end" role="status" hidden data-holder="${holderOf(session)}" data-idle-seconds="${idle}" data-end-seconds="${end}"><p></p><p class="buttons"><button type="button" class="plain">Stay signed in</button> <a class="button plain" href="/console/sign-in" target="_blank" rel="noopener">Sign in again</a></p></div>`
}

/** A whole page. */
export async function page(parts: PageParts): Promise<string> {
  const { title, session, here, address, body, islands = [], attention, live, peers = [] } = parts
  const { addressOf } = await consoleAssets()
  const beside = session === undefined ? "" : (await visitor(session)).toString()
  const navigated = {
    here,
    peers,
    ...(attention === undefined ? {} : { attention }),
    ...(live === undefined ? {} : { live }),
  }
  const scripts: readonly AssetName[] = [
    ...(session === undefined ? [] : (["page.js", "session.js"] as const)),
    ...islands,
    ...(live === true && attention !== undefined ? ["live.js" as const] : []),
  ]
  const made = await html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<meta name="robots" content="noindex">
<title>${title} · Runseal</title>
<link rel="icon" href="${ICON}">
<link rel="stylesheet" href="${addressOf("console.css")}">
${scripts.map(name => html`<script src="${addressOf(name)}" defer></script>`)}
</head>
<body class="${session === undefined ? "alone" : "framed"}">
${raw(siteHeader({ root: "/", here: "console", beside }))}
${session === undefined ? "" : navigation(session, navigated)}
<main id="main" tabindex="-1">
${address === undefined ? "" : html`<p class="printed">${address}, as of ${time(new Date().toISOString())}</p>`}
${body}
</main>
${session === undefined ? "" : sessionEnd(session)}
</body>
</html>
`
  return made.toString()
}
