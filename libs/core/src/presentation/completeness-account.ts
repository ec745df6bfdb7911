/** The texts of an export's verification, the same in every program that shows one. */
import { type ChainPiece, chainPiece, type ExportStatement } from "../artifacts/export-statement.ts"
import { COMPLETENESS_VERDICTS, type Completeness, type CompletenessProblem } from "../verify/completeness.ts"
import { shortMessage } from "./account.ts"
import { unixTime } from "./unix-time.ts"

/** A fact, or a check that holds, with its name. */
export type AccountRow = { readonly label: string; readonly value: string }

/** The service whose keys verified an export. */
export const exportTitle = ({ service }: Completeness): string =>
  service === undefined ? "Export" : `Export, held against the keys of ${service}`

/** The facts of an export's statement. */
export function statementRows({ tenant_id, leaf, entry }: ExportStatement): readonly AccountRow[] {
  const { from, to, head_ordinal, export_clock } = leaf
  const time = [...(from === undefined ? [] : [`from ${from}`]), ...(to === undefined ? [] : [`to ${to}`])]
  return [
    { label: "tenant", value: tenant_id },
    { label: "asked for", value: time.length === 0 ? "everything" : `what was admitted ${time.join(" ")}` },
    { label: "records", value: pieceText(chainPiece(leaf)) },
    { label: "chain", value: head_ordinal === 0 ? "no record yet" : `ends with record ${head_ordinal}` },
    { label: "as of", value: `log entry ${entry.logIndex}, logged ${unixTime(Number(entry.integratedTime))}` },
    { label: "asked at", value: export_clock },
  ]
}

function pieceText(piece: ChainPiece | undefined): string {
  if (piece === undefined) return "none"
  const { first_ordinal: first, last_ordinal: last } = piece
  return first === last ? `${first}` : `${first} to ${last}`
}

/** The checks that passed; none for an export that failed. */
export function passedRows({ verdict, statement, records, outside }: Completeness): readonly AccountRow[] {
  if (verdict === COMPLETENESS_VERDICTS.failed || statement === undefined) return []
  const { leaf } = statement
  const piece = chainPiece(leaf)
  const signed = { label: "statement", value: "signed by the service and anchored in its log" }
  if (piece === undefined) return [signed, { label: "records", value: "none, as stated" }]
  const toHead = piece.last_ordinal === leaf.head_ordinal
  const others = outside === 0 ? "" : `; ${outside} were admitted at another time and sealed among them`
  return [
    signed,
    { label: "records", value: `${records} verified, each by itself${others}` },
    {
      label: "order",
      value: "once each, without a gap, each naming the one before it; all in one log, whose time never goes back",
    },
    {
      label: "fit",
      value:
        "no identifier appears twice; charges of a budget window never overlap; a policy's or library's hash always means the same",
    },
    {
      label: "end",
      value: toHead ? "the last record is the anchored end of the chain" : "the last record is the anchored one",
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
