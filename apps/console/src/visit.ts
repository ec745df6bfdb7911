/** One visit of a page: who visits, how the API is asked, and how a page is sent. */
import { type AttentionAnswer, attentionAnswerSchema } from "@runseal/core/wire/attention-answer"
import { OVERLAP_SECONDS_MAX } from "@runseal/core/wire/key-requests"
import type { SessionAnswer } from "@runseal/core/wire/session-requests"
import type { Context } from "hono"
import { type Api, ApiRefusal, isRefusal, type Refusal } from "./api.ts"
import type { AssetName } from "./assets/asset-names.ts"
import { giveNews, type News } from "./news.ts"
import { type Peer, page } from "./parts/layout.ts"
import { html, type Markup } from "./parts/markup.ts"
import { holderOf, type TypedForm, withForms } from "./parts/page-forms.ts"
import { refused } from "./parts/pieces.ts"

export type Visit = {
  readonly c: Context
  readonly api: Api
  readonly session: SessionAnswer
  /** What needs attention of what the visitor sees, asked once a visit. */
  readonly attention: () => Promise<AttentionAnswer | Refusal>
  /** The other deployments, which every page links. */
  readonly peers: readonly Peer[]
  /** What a form has just done. */
  readonly news?: Markup | undefined
  /** The form that was sent and did nothing: the page shows it as it was typed. */
  readonly typed?: TypedForm | undefined
}

export type Page = (visit: Visit) => Response | Promise<Response>

/** Asks when it is called first. */
export function attentionOf(api: Api): Visit["attention"] {
  let asked: ReturnType<Visit["attention"]> | undefined
  return () => {
    asked ??= api.ask("/attention", attentionAnswerSchema)
    // Where the page itself cannot be shown, nobody waits for it.
    asked.catch(() => undefined)
    return asked
  }
}

type Sent = {
  readonly title: string
  readonly body: Markup | readonly Markup[]
  readonly islands?: readonly AssetName[]
  readonly status?: 200 | RefusedStatus
  /** Whether the page refreshes itself: one on which nobody types or decides. */
  readonly live?: true
}

const REFUSED_STATUSES = [400, 403, 404, 409, 413, 429, 503] as const
export type RefusedStatus = (typeof REFUSED_STATUSES)[number]

/** The status of a page that shows why something was refused. */
export const statusOf = ({ status }: Refusal): RefusedStatus => REFUSED_STATUSES.find(known => known === status) ?? 503

/** Sends a page in its frame. */
export async function show(
  { c, session, peers, typed, attention }: Visit,
  { status = 200, ...parts }: Sent,
): Promise<Response> {
  const answer = await attention()
  const numbers = isRefusal(answer) ? {} : { attention: answer }
  const text = await page({ ...parts, session, peers, here: c.req.path, address: c.req.url, ...numbers })
  return c.html(withForms(text, holderOf(session), typed), status)
}

/** The visit of a page that shows a form again as it was typed. @param notice why it did nothing */
export async function asTyped(visit: Visit, notice: Markup): Promise<Visit> {
  const { pathname, search } = new URL(visit.c.req.url)
  return { ...visit, typed: { action: pathname + search, field: await formOf(visit.c), notice } }
}

type FormAnswer<Done> = {
  /** Path of the page that shows what was done, with a query or without. */
  readonly path: string
  readonly news: (done: Done) => News
  /** The page of the form, which says why it was refused, and holds what was typed. */
  readonly page: Page
}

/** Answers a form: the browser is led to the page that shows what was done, so that loading it again does nothing. */
export async function answerForm<Done>(
  visit: Visit,
  done: Done | Refusal,
  { path, news, page: again }: FormAnswer<Done>,
): Promise<Response> {
  if (!isRefusal(done)) return leadTo(visit, path, news(done))
  if (done.code === "already_done") return leadTo(visit, path, DONE_BEFORE)
  return again(await asTyped(visit, refused(done)))
}

const DONE_BEFORE: News = {
  tone: "warn",
  text: "This form was sent before, and what it asks for was done then. It was not done again. A secret that it made was shown then; if nobody copied it, make another one.",
}

/** Leads to a page that shows the news once. @param to its path, with a query or without */
export async function leadTo({ c, session }: Pick<Visit, "c" | "session">, to: string, news: News): Promise<Response> {
  await giveNews(c, session, new URL(to, c.req.url).pathname, news)
  return c.redirect(to, 303)
}

/** Whether the visitor sees the whole deployment; a customer sees its own runs. */
export const seesAll = ({ session }: Visit): boolean => session.scope !== "customer"

/** Whether the visitor may change what administrators change. */
export const administers = ({ session }: Visit): boolean => session.scope === "admin"

/** Whether the visitor may share what it reads. A link lasts as long as the key that made it, and a person has none. */
export const shares = ({ session }: Visit): boolean =>
  session.key_id !== undefined && (session.scope === "admin" || session.share === true)

/** A wrong filter is refused: without it a list would show everything. */
const wrongFilter = (error: string): ApiRefusal => new ApiRefusal({ status: 400, code: "invalid_parameter", error })

/** @param names filters that a list has. @throws ApiRefusal for an address with another one, or with one twice */
export function knownFilters({ req }: Context, names: readonly string[]): void {
  for (const [name, values] of Object.entries(req.queries())) {
    if (!names.includes(name)) throw wrongFilter(`This list has no such filter; it has ${names.join(", ")}.`)
    if (values.length > 1) throw wrongFilter(`${name} must be given once.`)
  }
}

/** A filter that takes a number, as the API writes it; undefined where it is absent or empty. @throws ApiRefusal */
export function numberOf({ req }: Context, name: string): string | undefined {
  const value = req.query(name) ?? ""
  if (!/^\d{0,16}$/.test(value)) throw wrongFilter(`${name} must be a number.`)
  return value === "" ? undefined : `${Number(value)}`
}

/** The value of a filter that takes one of some words; undefined where it is absent or empty. @throws ApiRefusal for any other */
export function filterOf<Word extends string>(
  { req }: Context,
  name: string,
  words: readonly Word[],
): Word | undefined {
  const value = req.query(name) ?? ""
  const word = words.find(one => one === value)
  if (word === undefined && value !== "") throw wrongFilter(`${name} must be one of ${words.join(", ")}.`)
  return word
}

/** Largest form, in bytes. */
export const FORM_MAX_BYTES = 1_048_576

/** What was typed in a field of a form; "" where it is absent or a file. */
export type Field = (name: string) => string

/** The body of a form, by the names of its fields. @throws ApiRefusal for a body that is none */
export async function parsedForm(c: Context): Promise<Readonly<Record<string, unknown>>> {
  try {
    return await c.req.parseBody()
  } catch {
    throw new ApiRefusal({ status: 400, code: "invalid_body", error: "The form cannot be read." })
  }
}

/** The form that was sent. @throws ApiRefusal for a body that is none */
export async function formOf(c: Context): Promise<Field> {
  const body = await parsedForm(c)
  return name => {
    const value = body[name]
    return typeof value === "string" ? value.trim() : ""
  }
}

/** What was typed; a number that is none goes on as it is, and the API says what is wrong with it. */
export const typedNumber = (text: string): number | string => (/^\d{1,16}$/.test(text) ? Number(text) : text)

// How long an old secret still works after a rotation: of keys and of receivers of events.

const HOUR_SECONDS = 3600
const OVERLAP_HOURS_MAX: number = OVERLAP_SECONDS_MAX / HOUR_SECONDS
/** Hours that are proposed: the next working day has time to take the new secret. */
const OVERLAP_HOURS = 24

/** @param does what the old secret still does, as "The old secret still …" */
export const overlapFields = (does: string): Markup => html`<div class="fields">
<label>Hours that the old secret still ${does}<input name="overlap_hours" type="number" min="1" max="${OVERLAP_HOURS_MAX}" step="1" required value="${OVERLAP_HOURS}"></label></div>
<label class="check"><input type="checkbox" name="leaked" value="yes"> It leaked: the old secret ends at once</label>`

const NO_OVERLAP: Refusal = {
  status: 400,
  code: "invalid_body",
  error: `Say for how many hours the old secret still works, 1 to ${OVERLAP_HOURS_MAX}, or that it leaked.`,
}

/** What was typed there, in seconds. A leak needs its tick: no hours at all are refused. */
export function overlapOf(field: Field): number | Refusal {
  if (field("leaked") === "yes") return 0
  const hours = typedNumber(field("overlap_hours"))
  return typeof hours === "number" && hours >= 1 && hours <= OVERLAP_HOURS_MAX ? hours * HOUR_SECONDS : NO_OVERLAP
}
