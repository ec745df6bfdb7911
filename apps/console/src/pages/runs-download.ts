/** A view of runs as a file: CSV for a spreadsheet, NDJSON for a program. The records themselves are exported by `GET /runs/export`. */
import { stream } from "hono/streaming"
import { ApiRefusal, isRefusal } from "../api.ts"
import { address } from "../parts/format.ts"
import { whoseOf, whyOf } from "../parts/run-words.ts"
import type { Visit } from "../visit.ts"
import {
  findRuns,
  keyNames,
  type ListedRun,
  type RunsFound,
  type RunView,
  readView,
  viewParameters,
} from "./run-lists.ts"

/** Runs of one file; its last line says where the next one is, if there are more. */
const MAX_RUNS = 50_000
const PAGE_SIZE = 500

const COLUMNS = [
  "id",
  "created_at",
  "outcome_kind",
  "error_stage",
  "route_id",
  "program_id",
  "key_id",
  "duration_ms",
  "manifest_hash",
  "permit_id",
  "closing_outcome",
  "enforcement",
] as const
/** Of `explanation`, behind the others. */
const WHY_COLUMNS = ["reason", "rule_id"] as const
/** What the list shows in words, behind those. */
const SHOWN_COLUMNS = ["why", "who", "key_name"] as const
/** Filters whose value every run of the view has, and that are no column of their own. */
const FILTER_COLUMNS = [
  "actor_id",
  "end_user",
  "approver",
  "model_name",
  "payload_hash",
] as const satisfies readonly (keyof RunView["texts"])[]

/** What a spreadsheet would take for a formula at the start of a cell gets an apostrophe, which it takes for text. */
function cell(value: string | number | undefined): string {
  const text = `${value ?? ""}`
  const plain = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text
  return /[",\r\n']/.test(plain) ? `"${plain.replaceAll('"', '""')}"` : plain
}

/** What the lines of a file are made with. */
type Lines = { readonly view: RunView; readonly names: ReadonlyMap<number, string> }

const filteredBy = ({ texts }: RunView) => FILTER_COLUMNS.filter(name => texts[name] !== undefined)

function csvLine(run: ListedRun, { view, names }: Lines): string {
  const { explanation, key_id } = run
  const why = explanation === undefined ? undefined : whyOf(explanation).words
  const values = [
    ...COLUMNS.map(name => run[name]),
    ...WHY_COLUMNS.map(name => explanation?.[name]),
    why,
    whoseOf(run.who),
    key_id === undefined ? undefined : names.get(key_id),
    ...filteredBy(view).map(name => view.texts[name]),
  ]
  return values.map(cell).join(",")
}

const FORMATS = {
  csv: {
    type: "text/csv; charset=utf-8",
    head: (view: RunView) => `${[...COLUMNS, ...WHY_COLUMNS, ...SHOWN_COLUMNS, ...filteredBy(view)].join(",")}\r\n`,
    line: (run: ListedRun, lines: Lines) => `${csvLine(run, lines)}\r\n`,
    more: (next: string) => `${cell(`more runs: ${next}`)}\r\n`,
  },
  ndjson: {
    type: "application/x-ndjson",
    head: () => "",
    line: (run: ListedRun) => `${JSON.stringify(run)}\n`,
    more: (next: string) => `${JSON.stringify({ next })}\n`,
  },
} as const

/** Up to the first run whose record the service did not read, because large records come before it: it begins the next request. */
function readPart(found: RunsFound): RunsFound {
  const end = found.runs.findIndex(({ who }) => who === undefined)
  const last = found.runs[end - 1]
  return last === undefined ? found : { runs: found.runs.slice(0, end), next: `${last.id}` }
}

/** @throws ApiRefusal for a wrong filter: nothing was sent by then */
export async function runsFile(visit: Visit, format: keyof typeof FORMATS): Promise<Response> {
  const { c } = visit
  const { type, head, line, more } = FORMATS[format]
  const view = readView(visit)
  const [first, names] = await Promise.all([findRuns(visit, view, PAGE_SIZE, { details: true }), keyNames(visit)])
  if (isRefusal(first)) throw new ApiRefusal(first)
  c.header("Content-Type", type)
  c.header("Content-Disposition", `attachment; filename="runseal-runs.${format}"`)
  return stream(c, async file => {
    await file.write(head(view))
    let found = readPart(first)
    for (let sent = 0; !file.aborted; ) {
      await file.write(found.runs.map(run => line(run, { view, names })).join(""))
      if (found.next === undefined) return
      sent += found.runs.length
      const next = { ...view, before: found.next }
      const room = Math.min(PAGE_SIZE, MAX_RUNS - sent)
      const older = room > 0 ? await findRuns(visit, next, room, { details: true }) : undefined
      // The rate limit of the visitor's key is reached: the next file goes on from here.
      if (older === undefined || (isRefusal(older) && older.status === 429)) {
        await file.write(more(address(c.req.path, { ...viewParameters(view), before: next.before })))
        return
      }
      // A file that ends early must not look whole: the connection breaks.
      if (isRefusal(older)) throw new Error(older.error)
      found = readPart(older)
    }
  })
}
