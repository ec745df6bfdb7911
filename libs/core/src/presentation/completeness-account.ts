/** The texts of an export's verification, the same in every program that shows one. */
import { type ChainPiece, chainPiece, type ExportStatement } from "../artifacts/export-statement.ts"
import { COMPLETENESS_VERDICTS, type Completeness, type CompletenessProblem } from "../verify/completeness.ts"
import type { ListedMovement, WindowAccount, WindowHole } from "../verify/export-windows.ts"
import { unixTime } from "../vocabulary/utc-time.ts"
import { shortMessage } from "./account.ts"

/** A fact, or a check that holds, with its name. */
export type AccountRow = { readonly label: string; readonly value: string }

/** The service whose keys verified an export. */
export const exportTitle = ({ service }: Completeness): string =>
  service === undefined ? "Export" : `Export, held against the keys of ${service}`

/** The facts of an export's statement. */
export function statementRows({ tenant_id, leaf, entry }: ExportStatement): readonly AccountRow[] {
  const { from, to, head_ordinal, export_clock, records, openings, ends, open_permits, events, requests = 0 } = leaf
  const permits =
    openings + ends + requests === 0
      ? events === undefined
        ? ""
        : ": admin events"
      : `: ${countOf(records, "record")}, ${countOf(openings, "opening")} and ${countOf(ends, "end")} of permits${requests === 0 ? "" : `, ${countOf(requests, "request")} for an approval`}`
  const time = [...(from === undefined ? [] : [`from ${from}`]), ...(to === undefined ? [] : [`to ${to}`])]
  return [
    { label: "tenant", value: tenant_id },
    { label: "asked for", value: time.length === 0 ? "everything" : `what was admitted ${time.join(" ")}` },
    { label: "documents", value: `${pieceText(chainPiece(leaf))}${permits}` },
    { label: "chain", value: head_ordinal === 0 ? "no document yet" : `ends with document ${head_ordinal}` },
    ...(open_permits === 0 ? [] : [{ label: "open permits", value: `${open_permits}` }]),
    { label: "as of", value: `log entry ${entry.logIndex}, logged ${unixTime(Number(entry.integratedTime))}` },
    { label: "asked at", value: export_clock },
  ]
}

const countOf = (count: number, one: string): string => (count === 1 ? `1 ${one}` : `${count} ${one}s`)

function pieceText(piece: ChainPiece | undefined): string {
  if (piece === undefined) return "none"
  const { first_ordinal: first, last_ordinal: last } = piece
  return first === last ? `${first}` : `${first} to ${last}`
}

/** The checks that passed; none for an export that failed. */
export function passedRows(found: Completeness): readonly AccountRow[] {
  const { verdict, statement, records, events, openings, ends, outside, open_permits, unreported_acts, carried } = found
  const { requests, open_requests } = found
  if (verdict === COMPLETENESS_VERDICTS.failed || statement === undefined) return []
  const { leaf } = statement
  const piece = chainPiece(leaf)
  const signed = { label: "statement", value: "signed by the service and anchored in its log" }
  if (piece === undefined) return [signed, { label: "records", value: "none, as stated" }]
  const toHead = piece.last_ordinal === leaf.head_ordinal
  const others = outside === 0 ? "" : `; ${outside} were admitted at another time and sealed among them`
  return [
    signed,
    { label: events > 0 ? "admin events" : "records", value: `${records + events} verified, each by itself${others}` },
    {
      label: "order",
      value: "once each, without a gap, each naming the one before it; all in one log, whose time never goes back",
    },
    ...(openings + ends + carried === 0
      ? []
      : [
          {
            label: "permits",
            value: `${countOf(openings, "opening")} and ${countOf(ends, "end")} verified; every close and end is of one opening; open: ${open_permits}; acts started and never reported: ${unreported_acts}${carried === 0 ? "" : `; from before the piece, for their closes: ${carried}`}`,
          },
        ]),
    ...(requests === 0
      ? []
      : [
          {
            label: "approvals",
            value: `${countOf(requests, "request")} verified; each that ended did so once, in an opening or a refused run of the same act; waiting: ${open_requests}`,
          },
        ]),
    {
      label: "fit",
      value:
        "no identifier appears twice; in each budget window totals follow along the movements; a policy's or library's hash always means the same",
    },
    {
      label: "end",
      value: toHead ? "the last document is the anchored end of the chain" : "the last document is the anchored one",
    },
  ]
}

/** A problem, with its line number. */
export const problemText = ({ line, sentence }: CompletenessProblem): string =>
  `${line === undefined ? "" : `line ${line}: `}${shortMessage(sentence)}`

/** How many problems are left out; undefined for none. */
export const omittedText = ({ problems, problem_count }: Completeness): string | undefined =>
  moreText(problem_count - problems.length)

/** Allowed changes, with their line numbers; the last text is how many are left out. */
export function noteTexts({ notes, note_count }: Completeness): readonly string[] {
  const more = moreText(note_count - notes.length)
  return [...notes.map(problemText), ...(more === undefined ? [] : [more])]
}

const moreText = (omitted: number): string | undefined => (omitted === 0 ? undefined : `and ${omitted} more`)

/** A budget window as a table: its heading, and a row for each movement and each hole, in order. */
export type WindowTable = { readonly heading: string; readonly rows: readonly string[] }

/** The budget windows of an export, where they were asked for. */
export const windowTables = ({ windows = [] }: Completeness): readonly WindowTable[] => windows.map(windowTable)

function windowTable({ window_seconds, window_start, movements, listed, holes, exported }: WindowAccount): WindowTable {
  const total =
    exported === undefined ? "" : `; the statement: ${exported.last_ordinal} movements, total ${exported.total}`
  const rows = [
    ...listed.map(movement => ({ at: movement.ordinal, text: movementText(movement) })),
    ...holes.map(hole => ({ at: hole.after_ordinal + 0.5, text: holeText(hole) })),
  ]
  return {
    heading: `window of ${window_seconds} s from ${window_start}: ${movements} movements here${total}`,
    rows: rows.sort((a, b) => a.at - b.at).map(({ text }) => text),
  }
}

const movementText = ({ ordinal, kind, tokens, total_after, by }: ListedMovement): string =>
  `${ordinal}  ${kind}  ${tokens < 0 ? "" : "+"}${tokens}  total ${total_after}  ${by}`

const holeText = ({ movements, tokens }: WindowHole): string =>
  `${movements === 1 ? "1 movement" : `${movements} movements`}, ${tokens} tokens without a record here`
