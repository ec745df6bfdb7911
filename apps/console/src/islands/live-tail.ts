/** Follows new runs on the first page of a list: asks the API for them and puts each above the others, made like the rows below it. */
import type { JsonValue } from "@runseal/canonical"
import { printable } from "@runseal/core/presentation/printable"
import { isObject, textMember } from "@runseal/core/vocabulary/json-members"
import { OUTCOME_KINDS, type OutcomeKind } from "@runseal/core/vocabulary/outcomes"
import {
  duration,
  marksOf,
  OUTCOME_NAMES,
  SIGNS,
  toneOf,
  type Why,
  whoseOf,
  whyOf,
  wordsOf,
} from "../parts/run-words.ts"
import { askUnattended } from "./ask-service.ts"

/** Between two requests. */
const INTERVAL_MS = 3000
/** Rows that the page keeps. */
const MAX_ROWS = 200
/** Rows of a page; a list with fewer has no older ones. */
const PAGE_ROWS = 50

const box = document.getElementById("tail")
const button = box?.querySelector("button")
const status = box?.querySelector('[role="status"]')
const rows = document.querySelector("tbody")

type Run = {
  readonly id: number
  readonly outcome: OutcomeKind
  readonly route: string
  readonly key: number | undefined
  readonly at: string
  readonly took: number
  readonly marks: ReturnType<typeof marksOf>
  readonly why: Why | undefined
  readonly who: string | undefined
}

function whyIn(explanation: JsonValue | undefined): Why | undefined {
  if (!isObject(explanation) || typeof explanation.reason !== "string") return undefined
  const { reason, needed, present, missing } = explanation
  const fields = Array.isArray(missing) ? missing.filter(field => typeof field === "string") : []
  const [rule_id, title] = [textMember(explanation, "rule_id"), textMember(explanation, "title")]
  return whyOf({ reason, rule_id, title, needed, present, missing: fields })
}

/** A run of an answer; undefined for what is none. */
function runOf(value: JsonValue): Run | undefined {
  if (!isObject(value)) return undefined
  const { id, outcome_kind, route_id, key_id, created_at, duration_ms, explanation } = value
  const outcome = OUTCOME_KINDS.find(kind => kind === outcome_kind)
  if (typeof id !== "number" || outcome === undefined || typeof route_id !== "string" || typeof created_at !== "string")
    return undefined
  return {
    id,
    outcome,
    route: route_id,
    key: typeof key_id === "number" ? key_id : undefined,
    at: created_at,
    took: Number(duration_ms),
    marks: marksOf(value),
    why: whyIn(explanation),
    who: whoseOf(
      isObject(value.who)
        ? { end_user: textMember(value.who, "end_user"), actor_id: textMember(value.who, "actor_id") }
        : undefined,
    ),
  }
}

function cell(className: string, ...pieces: readonly (Node | string)[]): HTMLElement {
  const made = document.createElement("td")
  if (className !== "") made.className = className
  made.append(...pieces.map(piece => (typeof piece === "string" ? printable(piece) : piece)))
  return made
}

/** As `clipped` of the server's pages makes it. */
function clipped(text: string): HTMLElement {
  const made = document.createElement("span")
  made.className = "clip"
  made.title = text
  made.append(...wordsOf(text).flatMap(word => [printable(word), document.createElement("wbr")]))
  return made
}

function whyCell(why: Why | undefined): HTMLElement {
  if (why === undefined) return cell("why")
  const name = document.createElement("code")
  name.append(clipped(why.name))
  return cell("why", ...(why.words === undefined ? [] : [`${why.words} `]), name)
}

/** As the server makes it: who acted, and the key by its name. */
function whoCell(who: string | undefined, key: number | undefined): HTMLElement {
  const made = cell("acted", ...(who === undefined ? [] : [clipped(who)]))
  if (key === undefined) return made
  const name = document.querySelector(`select[name="key"] option[value="${key}"]`)?.textContent ?? `key ${key}`
  const by = document.createElement("span")
  by.className = "by"
  by.append(clipped(name.replace(/ \(\d+\)$/, "")))
  made.append(by)
  return made
}

function label(tone: string, text: string): HTMLElement {
  const made = document.createElement("span")
  made.className = `label ${tone}`
  made.textContent = text
  return made
}

function rowOf({ id, outcome, route, key, at, took, marks, why, who }: Run): HTMLElement {
  const link = document.createElement("a")
  // The filters of the list go with it, as with the rows of the server.
  link.href = `/console/runs/${id}${location.search}`
  link.textContent = `${id}`
  const tone = toneOf(outcome)
  const labels = [
    label(tone, `${SIGNS[tone]} ${OUTCOME_NAMES[outcome]}`),
    ...marks.map(mark => label(mark.tone, mark.text)),
  ]
  const made = document.createElement("tr")
  made.className = "new"
  made.append(
    cell("", link),
    cell("outcome-cell", ...labels.flatMap(piece => [" ", piece])),
    whyCell(why),
    whoCell(who, key),
    cell("long", clipped(route)),
    cell("nowrap", at.slice(0, 16).replace("T", " ")),
    cell("figure", duration(took)),
  )
  return made
}

/** The number of the newest run that is shown. */
const newest = (): number => Number(rows?.querySelector("a")?.textContent ?? 0)

async function follow(address: string): Promise<void> {
  const response = await askUnattended(address, 0)
  if (!response.ok)
    throw new Error(
      response.status === 401
        ? "The session has ended: load the page again."
        : `The service answered with ${response.status}; trying again.`,
    )
  const answer: JsonValue = await response.json()
  if (!isObject(answer) || !Array.isArray(answer.runs)) return
  const known = newest()
  const listed = answer.runs.flatMap(value => runOf(value) ?? [])
  const found = listed.filter(({ id }) => id > known)
  // It does not reach the rows that are shown: others came between them and are in neither, so that it takes their place.
  if (found.length > 0 && found.length === listed.length) rows?.replaceChildren()
  rows?.prepend(...found.map(rowOf))
  while ((rows?.childElementCount ?? 0) > MAX_ROWS) rows?.lastElementChild?.remove()
  if (found.length > 0) leadOn(typeof answer.total === "number" ? answer.total : undefined)
  if (status) status.textContent = found.length === 0 ? "Following …" : `${found.length} new`
}

/** Leads from the last row that is shown to the one behind it. @param total of a customer's runs */
function leadOn(total: number | undefined): void {
  const shown = rows?.childElementCount ?? 0
  const last = rows?.lastElementChild?.querySelector("a")?.textContent ?? ""
  const count = document.getElementById("total")
  if (count !== null && total !== undefined)
    count.textContent = `${total.toLocaleString("en-US")} ${total === 1 ? "run" : "runs"}`
  if (shown < PAGE_ROWS || total === shown) return
  const next = new URL(location.href)
  next.searchParams.set("before", last)
  const older = document.createElement("a")
  older.rel = "next"
  older.href = next.href
  older.textContent = "Older runs"
  document.querySelector(".pages")?.replaceChildren(older)
}

if (box !== null && button && status && rows !== null) {
  let timer: ReturnType<typeof setTimeout> | undefined
  const address = box.dataset.api ?? ""
  const again = (): void => {
    timer = setTimeout(() => {
      // A page in the background asks for nothing.
      const work = document.hidden ? Promise.resolve() : follow(address)
      work
        .catch((error: unknown) => {
          status.textContent =
            error instanceof Error ? error.message : "The service could not be reached; trying again."
        })
        .finally(() => {
          if (timer !== undefined) again()
        })
    }, INTERVAL_MS)
  }
  box.hidden = false
  button.addEventListener("click", () => {
    const starts = timer === undefined
    clearTimeout(timer)
    timer = undefined
    button.setAttribute("aria-pressed", `${starts}`)
    button.textContent = starts ? "Pause" : "Follow new runs"
    status.textContent = starts ? "Following …" : "Paused"
    if (starts) again()
  })
}
