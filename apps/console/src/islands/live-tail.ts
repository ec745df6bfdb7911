/** Follows new runs on the first page of a list: asks the API for them and puts each above the others, made like the rows below it. */
import type { JsonValue } from "@runseal/canonical"
import { printable } from "@runseal/core/presentation/printable"
import { isObject } from "@runseal/core/vocabulary/json-members"
import { OUTCOME_KINDS, type OutcomeKind } from "@runseal/core/vocabulary/outcomes"
import { duration } from "../parts/duration.ts"
import { OUTCOME_NAMES, SIGNS, toneOf } from "../parts/outcome-names.ts"
import { askService } from "./ask-service.ts"

/** Between two requests. */
const INTERVAL_MS = 3000
/** Rows that the page keeps. */
const MAX_ROWS = 200

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
}

/** A run of an answer; undefined for what is none. */
function runOf(value: JsonValue): Run | undefined {
  if (!isObject(value)) return undefined
  const { id, outcome_kind, route_id, key_id, created_at, duration_ms } = value
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
  made.textContent = printable(text)
  return made
}

function rowOf({ id, outcome, route, key, at, took }: Run): HTMLElement {
  const link = document.createElement("a")
  link.href = `/console/runs/${id}`
  link.textContent = `${id}`
  const label = document.createElement("span")
  label.className = `label ${toneOf(outcome)}`
  label.textContent = `${SIGNS[toneOf(outcome)]} ${OUTCOME_NAMES[outcome]}`
  const name = document.querySelector(`select[name="key"] option[value="${key}"]`)?.textContent ?? `key ${key}`
  const made = document.createElement("tr")
  made.className = "new"
  const keyCell = key === undefined ? [] : [cell("key", clipped(name.replace(/ \(\d+\)$/, "")))]
  made.append(
    cell("", link),
    cell("outcome-cell", label),
    cell("long", clipped(route)),
    ...keyCell,
    cell("nowrap", at.slice(0, 16).replace("T", " ")),
    cell("figure", duration(took)),
  )
  return made
}

/** The number of the newest run that is shown. */
const newest = (): number => Number(rows?.querySelector("a")?.textContent ?? 0)

async function follow(address: string): Promise<void> {
  const response = await askService(address)
  if (!response.ok)
    throw new Error(
      response.status === 401
        ? "The session has ended: load the page again."
        : `The service answered with ${response.status}; trying again.`,
    )
  const answer: JsonValue = await response.json()
  const runs = isObject(answer) && Array.isArray(answer.runs) ? answer.runs : []
  const known = newest()
  const found = runs.flatMap(value => runOf(value) ?? []).filter(({ id }) => id > known)
  rows?.prepend(...found.map(rowOf))
  while ((rows?.childElementCount ?? 0) > MAX_ROWS) rows?.lastElementChild?.remove()
  if (status) status.textContent = found.length === 0 ? "Following …" : `${found.length} new`
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
