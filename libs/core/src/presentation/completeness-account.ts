/** What is said of an export, in a person's words: the same in every program that shows one. */
import { type ChainPiece, chainPiece, type ExportStatement } from "../artifacts/export-statement.ts"
import { COMPLETENESS_VERDICTS, type Completeness, type CompletenessProblem } from "../verify/completeness.ts"
import { shortMessage } from "./account.ts"
import { unixTime } from "./unix-time.ts"

/** A fact, or a check that holds, with its name. */
export type AccountRow = { readonly label: string; readonly value: string }

/** With whose keys an export was verified. */
export const exportTitle = ({ service }: Completeness): string =>
  service === undefined ? "Export" : `Export, held against the keys of ${service}`

/** What the statement says of the records behind it. */
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

/** What was found good; nothing of it is said of an export that failed. */
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
      value: "once each, without a gap, each naming the one before it; the log's time never goes back",
    },
    { label: "fit", value: "no identifier stands twice; charges of a budget window never overlap" },
    {
      label: "end",
      value: toHead ? "the last is the end of the chain that is anchored" : "the last is the one that is anchored",
    },
  ]
}

/** A problem, with the line it stands in. */
export const problemText = ({ line, sentence }: CompletenessProblem): string =>
  `${line === undefined ? "" : `line ${line}: `}${shortMessage(sentence)}`

/** How many problems are not told; undefined when all are. */
export const untoldText = ({ problems, problem_count }: Completeness): string | undefined =>
  moreText(problem_count - problems.length)

/** What changed on the way and may, with the lines it stands in; the last line says how much is not told. */
export function noteTexts({ notes, note_count }: Completeness): readonly string[] {
  const more = moreText(note_count - notes.length)
  return [...notes.map(problemText), ...(more === undefined ? [] : [more])]
}

const moreText = (untold: number): string | undefined => (untold === 0 ? undefined : `and ${untold} more`)
