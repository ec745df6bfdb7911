/**
 * The console of a service, at `/console`: pages made on the server, which ask the public API with the visitor's session. docs/console.md.
 */
import { type SessionAnswer, sessionAnswerSchema } from "@runseal/core/wire/session-requests"
import { type Context, Hono } from "hono"
import { bodyLimit } from "hono/body-limit"
import { ARE_SHIPPED } from "#assets"
import { ApiRefusal, apiOf, type ConsoleFetch, isRefusal, type Refusal } from "./api.ts"
import { consoleAssets, sendAsset } from "./assets/assets.ts"
import { takeNews } from "./news.ts"
import { APPROVAL_PATH, approvalForm, requestPage } from "./pages/approval-page.ts"
import { APPROVALS_PATH, approvalsPage } from "./pages/approvals-page.ts"
import { auditPage } from "./pages/audit-page.ts"
import { budgetsPage } from "./pages/budgets-page.ts"
import { deliveriesPage, deliveryAction, deliveryPage, newDestination } from "./pages/deliveries-page.ts"
import { findPage } from "./pages/find-page.ts"
import { keyAction, keyPage, keysPage, newKey } from "./pages/keys-page.ts"
import { logPage } from "./pages/log-page.ts"
import { overviewPage } from "./pages/overview-page.ts"
import { PASSKEYS_PATH, passkeyForm, passkeysPage } from "./pages/passkeys-page.ts"
import { permitDocument, permitPage, permitsPage } from "./pages/permits-page.ts"
import { policiesPage, policyForm } from "./pages/policies-page.ts"
import { runPage, runSharing } from "./pages/run-page.ts"
import { runsFile } from "./pages/runs-download.ts"
import { runsPage } from "./pages/runs-page.ts"
import { endSharing, sharedPage } from "./pages/shared-page.ts"
import { finishWithProvider, heldForm, signIn, signInPage, signOut, startWithProvider } from "./pages/sign-in-page.ts"
import { type Peer, POLICY, page } from "./parts/layout.ts"
import { html, type Markup } from "./parts/markup.ts"
import { holderOf } from "./parts/page-forms.ts"
import { newsNotice, notice, refused } from "./parts/pieces.ts"
import { asTyped, attentionOf, FORM_MAX_BYTES, formOf, type Page, show, statusOf } from "./visit.ts"

type ConsoleParts = {
  /** Sends a request to the service that the console is of. */
  readonly fetch: ConsoleFetch
  /** The other deployments of the same operator. */
  readonly peers: readonly Peer[]
}

const PAGES: Readonly<Record<string, Page>> = {
  "/console": overviewPage,
  "/console/runs": runsPage,
  "/console/runs.csv": visit => runsFile(visit, "csv"),
  "/console/runs.ndjson": visit => runsFile(visit, "ndjson"),
  "/console/runs/:id{\\d{1,16}}": runPage,
  "/console/find": findPage,
  "/console/permits": permitsPage,
  "/console/permits/:id{[\\w-]{1,64}}": permitPage,
  "/console/permits/:id{[\\w-]{1,64}}/opening.json": permitDocument("opening"),
  "/console/permits/:id{[\\w-]{1,64}}/end.json": permitDocument("end"),
  "/console/shared": sharedPage,
  "/console/budgets": budgetsPage,
  "/console/policies": policiesPage,
  "/console/keys": keysPage,
  "/console/keys/:id{\\d{1,16}}": keyPage,
  "/console/log": logPage,
  "/console/deliveries": deliveriesPage,
  "/console/deliveries/:id{\\d{1,16}}": deliveryPage,
  "/console/audit": auditPage,
  [APPROVALS_PATH]: approvalsPage,
  [APPROVAL_PATH]: requestPage,
  [PASSKEYS_PATH]: passkeysPage,
}

/** Forms that change something. */
const FORMS: Readonly<Record<string, Page>> = {
  "/console/runs/:id{\\d{1,16}}": runSharing,
  "/console/shared": endSharing,
  "/console/policies": policyForm,
  "/console/keys": newKey,
  "/console/keys/:id{\\d{1,16}}": keyAction,
  "/console/deliveries": newDestination,
  "/console/deliveries/:id{\\d{1,16}}": deliveryAction,
  [APPROVAL_PATH]: approvalForm,
  [PASSKEYS_PATH]: passkeyForm,
}

/** The pages that an approver sees. */
const OF_APPROVERS: readonly string[] = [APPROVALS_PATH, APPROVAL_PATH, PASSKEYS_PATH]

/** Reads what pages load, so that the first visitor does not wait for it. What fails here is tried again by the first page. */
export async function warmConsole(): Promise<void> {
  if (ARE_SHIPPED) await consoleAssets().catch(() => undefined)
}

export function createConsole(parts: ConsoleParts): Hono {
  const { fetch } = parts
  const app = new Hono()
  app.use(async (c, next) => {
    await next()
    c.res.headers.set("Content-Security-Policy", POLICY)
    if (!c.res.headers.has("Cache-Control")) c.res.headers.set("Cache-Control", "no-store")
  })
  app.get("/console/assets/:name", async c => (await sendAsset(c, c.req.param("name"))) ?? c.notFound())
  app.get("/console/sign-in", c => signInPage(c, apiOf(c, fetch)))
  app.get("/console/sign-in/provider", c => startWithProvider(c, apiOf(c, fetch)))
  app.get("/console/callback", c => finishWithProvider(c, apiOf(c, fetch)))
  app.post("*", bodyLimit({ maxSize: FORM_MAX_BYTES, onError: refuseLargeForm }), refuseForeignForms)
  app.post("/console/sign-in", c => signIn(c, apiOf(c, fetch), async request => app.fetch(request, c.env)))
  app.post("/console/sign-out", async c => {
    // The session of now, also from a page of an earlier one: who signs out must not stay signed in.
    const found = await apiOf(c, fetch).ask("/session", sessionAnswerSchema)
    const session = isRefusal(found) ? undefined : found
    return signOut(c, apiOf(c, fetch, session), session?.person !== undefined)
  })
  for (const [path, make] of Object.entries(PAGES)) app.get(path, c => visited(c, parts, make))
  for (const [path, send] of Object.entries(FORMS)) app.post(path, c => sent(c, parts, send, PAGES[path] ?? send))
  app.notFound(c => withoutSlash(c) ?? visited(c, parts, visit => show(visit, { ...NOT_FOUND, status: 404 })))
  app.onError((error, c) => {
    if (error instanceof ApiRefusal) return refusalPage(c, parts, error.refusal)
    throw error
  })
  return app
}

const NOT_FOUND = {
  title: "Not found",
  body: html`<h1>There is no such page</h1><p>The address may be mistyped, or what it was about belongs to another key. <a href="/console">Go to the overview</a>.</p>`,
}

/** @throws ApiRefusal */
function refuseLargeForm(): never {
  const error = `The form is larger than ${FORM_MAX_BYTES} bytes.`
  throw new ApiRefusal({ status: 413, code: "body_too_large", error })
}

/** A form that another site made its visitor send is refused, also the one that signs in. RFC 6454; Fetch Metadata. */
async function refuseForeignForms(c: Context, next: () => Promise<void>): Promise<Response | undefined> {
  const site = c.req.header("Sec-Fetch-Site")
  const origin = c.req.header("Origin")
  const isOwn =
    site === undefined
      ? origin !== undefined && URL.canParse(origin) && new URL(origin).host === new URL(c.req.url).host
      : site === "same-origin"
  if (!isOwn) return c.html(await page({ title: "Refused", here: c.req.path, body: FOREIGN }), 403)
  await next()
  return undefined
}

const FOREIGN = html`<h1>This form came from another site</h1><p>Nothing was changed. <a href="/console">Open the console</a> and do it there.</p>`

/** Leads from a path with a trailing slash to the page; a relative address never leads to another host. */
function withoutSlash(c: Context): Response | undefined {
  const { pathname, search } = new URL(c.req.url)
  const [last, end] = pathname.split("/").slice(-2)
  return c.req.method === "GET" && end === "" && last !== "" ? c.redirect(`../${last}${search}`, 308) : undefined
}

/** What a browser stores: it must not store a page in place of the file. */
const IS_FILE = /\.(?:csv|ndjson)$/

/** These have no menu. */
const IS_DOWNLOAD = /\.\w+$/

const noFile = (signIn: string): Markup =>
  html`<h1>The session has ended</h1><p><a href="${signIn}">Sign in</a> to load the file.</p>`

/** Shows a page to a visitor with a session; all others sign in first. */
async function visited(c: Context, { fetch, peers }: ConsoleParts, make: Page): Promise<Response> {
  const session = await apiOf(c, fetch).ask("/session", sessionAnswerSchema)
  if (isRefusal(session)) {
    if (session.status !== 401) throw new ApiRefusal(session)
    if (!IS_FILE.test(c.req.path)) return c.redirect(signInAddress(c), 303)
    const body = noFile(signInAddress(c))
    return c.html(await page({ title: "The session has ended", here: c.req.path, body }), 403)
  }
  if (isForOthers(c, session)) {
    if (c.req.path === "/console") return c.redirect(APPROVALS_PATH, 303)
    throw new ApiRefusal(APPROVALS_ONLY)
  }
  const api = apiOf(c, fetch, session)
  const attention = attentionOf(api)
  // Before the page asks for anything, so that it shows no less than the size of the log says.
  if (!IS_DOWNLOAD.test(c.req.path)) void attention()
  const news = await takeNews(c, session)
  return make({ c, session, peers, api, attention, news: news && newsNotice(news) })
}

/** An approver sees its own pages alone. */
const isForOthers = (c: Context, { scope }: SessionAnswer): boolean =>
  scope === "approver" && !OF_APPROVERS.includes(c.req.path)

/** Does what a form asks for. @param again the page of the form */
async function sent(c: Context, { fetch, peers }: ConsoleParts, make: Page, again: Page): Promise<Response> {
  const session = await apiOf(c, fetch).ask("/session", sessionAnswerSchema)
  if (isRefusal(session)) {
    if (session.status !== 401) throw new ApiRefusal(session)
    return heldForm(c, apiOf(c, fetch))
  }
  if (isForOthers(c, session)) throw new ApiRefusal(APPROVALS_ONLY)
  const field = await formOf(c)
  const tokens = { csrf_token: field("csrf"), once: field("once") }
  if (!UUID.test(tokens.once)) throw new ApiRefusal(NO_TOKENS)
  const api = apiOf(c, fetch, tokens)
  const visit = { c, session, peers, api, attention: attentionOf(api) }
  // The page is of an earlier session. Who typed there reads it again; nobody else does, and nothing is done.
  if (session.csrf_token !== undefined && session.csrf_token !== tokens.csrf_token)
    return field("by") === holderOf(session) ? again(await asTyped(visit, EARLIER)) : show(visit, OF_ANOTHER)
  return make(visit)
}

const EARLIER = notice(
  "warn",
  "You have signed in again since this form was opened. Nothing was done: send it once more.",
)

const OF_ANOTHER = {
  title: "Not sent",
  body: html`<h1>This form was opened by somebody else</h1><p>Nothing was done. <a href="/console">Go to the overview</a>.</p>`,
  status: 403,
} as const

function signInAddress(c: Context): string {
  const { pathname, search } = new URL(c.req.url)
  const next = new URLSearchParams({
    ...(c.req.header("Cookie")?.includes("runseal-session=") ? { ended: "" } : {}),
    next: pathname + search,
  })
  return `/console/sign-in?${next}`
}

const UUID = /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/
const NO_TOKENS = {
  status: 400,
  code: "invalid_body",
  error: "The form has no token. Open its page again and send it from there.",
}

/** Nothing is asked for then. The API refuses it as well. */
const APPROVALS_ONLY = {
  status: 403,
  code: "person_not_allowed",
  error: "An approver sees approvals and the own passkeys, and nothing else.",
}

/** A page that the API refused. */
async function refusalPage(c: Context, { fetch, peers }: ConsoleParts, refusal: Refusal): Promise<Response> {
  if (refusal.status === 401) return c.redirect(signInAddress(c), 303)
  const status = statusOf(refusal)
  const session = await apiOf(c, fetch).ask("/session", sessionAnswerSchema)
  if (refusal.status === 404 && !isRefusal(session)) {
    const api = apiOf(c, fetch)
    return show({ c, session, peers, api, attention: attentionOf(api) }, { ...NOT_FOUND, status })
  }
  const body = html`<h1>This page cannot be shown</h1>${refused(refusal)}<p><a href="/console">Go to the overview</a></p>`
  const text = await page({
    title: "Refused",
    here: c.req.path,
    body,
    ...(isRefusal(session) ? {} : { session, peers }),
  })
  return c.html(text, status)
}
