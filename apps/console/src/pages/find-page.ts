/** *Find*: one box for whatever a visitor holds: the number of a run, an id, a hash, a name, the beginning of a route. It leads straight to what is found once. */
import { usageAnswerSchema } from "@runseal/core/wire/admin-answers"
import { ApiRefusal, isRefusal } from "../api.ts"
import { address, plural, shortTime } from "../parts/format.ts"
import { FIND_MAX_LENGTH } from "../parts/layout.ts"
import { html, type Markup } from "../parts/markup.ts"
import { clipped, empty, heading, outcomeLabel } from "../parts/pieces.ts"
import { knownFilters, seesAll, show, type Visit } from "../visit.ts"
import { findRuns, type RunsFound, type RunView } from "./run-lists.ts"

const RUNS = "/console/runs"
/** Runs of each meaning that are shown. */
const SHOWN = 5
/** Keys that are shown. */
const MAX_KEYS = 5
/** What names its page by itself. */
const OWN_PAGES: readonly (readonly [RegExp, (id: string) => string])[] = [
  [/^pmt-[0-9a-f]{32}$/, id => `/console/permits/${id}`],
  [/^apr-[0-9a-f]{32}$/, id => address("/console/approval", { id })],
]

/** What a text may be, as filters of lists of runs. */
type Meaning = { readonly title: string; readonly texts: RunView["texts"]; readonly key?: string }

const HASHES = [
  ["Payload", "payload_hash"],
  ["Program", "program_id"],
  ["Manifest", "manifest_hash"],
] as const
const NAMES = [
  ["Routes that begin so", "route_prefix"],
  ["Rule or signature", "rule_id"],
  ["Actor", "actor_id"],
  ["End user", "end_user"],
  ["Approver", "approver"],
  ["Model", "model_name"],
] as const

/** Shorter ones begin the hash of many manifests. */
const HASH_BEGINNING = /^[0-9a-f]{6,64}$/
const WHOLE_HASH_DIGITS = 64

/** @param text without blanks around it, and not empty */
function meaningsOf(text: string): readonly Meaning[] {
  if (HASH_BEGINNING.test(text) && text.length === WHOLE_HASH_DIGITS)
    return HASHES.map(([title, name]) => ({ title, texts: { [name]: text } }))
  const names = NAMES.map(([title, name]) => ({ title, texts: { [name]: text } }))
  return HASH_BEGINNING.test(text) ? [{ title: "Manifest", texts: { manifest_hash: text } }, ...names] : names
}

/** Keys with this in their names, whose runs an administrator or auditor reads. @throws ApiRefusal where the service did not look */
async function keysNamed(visit: Visit, text: string): Promise<readonly Meaning[]> {
  if (!seesAll(visit)) return []
  const usage = await visit.api.get("/admin/usage", usageAnswerSchema)
  const wanted = text.toLowerCase()
  return usage.keys
    .filter(({ name }) => name.toLowerCase().includes(wanted))
    .slice(0, MAX_KEYS)
    .map(({ key_id, name }) => ({ title: `Key ${name}`, texts: {}, key: `${key_id}` }))
}

type Found = Meaning & RunsFound

/** The meanings with which runs are found. A text that a filter does not take has no such meaning. @throws ApiRefusal where the service did not look */
async function searched(visit: Visit, text: string): Promise<readonly Found[]> {
  const meanings = [...(await keysNamed(visit, text)), ...meaningsOf(text)]
  const answers = await Promise.all(meanings.map(meaning => findRuns(visit, meaning, SHOWN)))
  return answers.flatMap((found, i) => {
    const meaning = meanings[i]
    if (isRefusal(found) && found.status !== 400) throw new ApiRefusal(found)
    return meaning === undefined || isRefusal(found) || found.runs.length === 0 ? [] : [{ ...meaning, ...found }]
  })
}

const listOf = ({ texts, key }: Meaning): string => address(RUNS, { ...texts, key })

/** Where a text leads without a question; undefined where it has several meanings, or none. */
async function onlyPlace(visit: Visit, text: string): Promise<string | undefined> {
  const own = OWN_PAGES.find(([pattern]) => pattern.test(text))
  if (own !== undefined) return own[1](text)
  const [, number] = /^#?(?:run\s+)?(\d{1,16})$/i.exec(text) ?? []
  if (number === undefined) return undefined
  const path = `${seesAll(visit) ? "/admin/runs" : "/runs"}/${Number(number)}`
  const { status, body } = await visit.api.send("GET", path)
  await body?.cancel()
  return status === 200 ? `${RUNS}/${Number(number)}` : undefined
}

const group = (found: Found): Markup => {
  const { title, runs, next, total } = found
  const all =
    total === undefined ? (next === undefined ? plural(runs.length, "run") : "All runs") : plural(total, "run")
  return html`<section class="card"><h2>${title} <a href="${listOf(found)}">${all}</a></h2>
<ul class="latest">${runs.map(run => html`<li><a href="${RUNS}/${run.id}">${run.id}</a> ${outcomeLabel(run)} ${clipped(run.route_id)} <span class="quiet nowrap">${shortTime(run.created_at)}</span></li>`)}</ul></section>`
}

const WHAT_IS_FOUND =
  "Found are the number of a run, the id of a permit or an approval, a hash of payload, program or manifest, and the whole name of an actor, an end user, an approver, a model, a rule or a signature. Of a route its beginning is enough, and of a key a part of its name."

export async function findPage(visit: Visit): Promise<Response> {
  const { c } = visit
  knownFilters(c, ["q"])
  const text = (c.req.query("q") ?? "").trim().slice(0, FIND_MAX_LENGTH)
  if (text === "") return c.redirect(RUNS, 303)
  const place = await onlyPlace(visit, text)
  if (place !== undefined) return c.redirect(place, 303)
  const found = await searched(visit, text)
  const [first, ...others] = found
  if (first !== undefined && others.length === 0) {
    const [run, ...more] = first.runs
    return c.redirect(run !== undefined && more.length === 0 ? `${RUNS}/${run.id}` : listOf(first), 303)
  }
  const body =
    first === undefined
      ? html`${heading("Nothing found")}${empty(`No run that you may see has “${text}”.`, html`${WHAT_IS_FOUND} <a href="${RUNS}">All runs</a>`)}`
      : html`${heading(`“${text}”`, "It has several meanings here.")}${found.map(group)}`
  return show(visit, { title: "Find", body })
}
