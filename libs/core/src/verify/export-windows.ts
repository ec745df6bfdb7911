/**
 * Compares the movements of a chain's budget windows with each other. Each movement has a number in its window, without a gap, and takes it
 * from one total to the next. Movements whose numbers follow each other are joined into one span, whose ends are all that is remembered;
 * between two spans there are movements that are in no document here.
 */
import type { ExportedWindow } from "../artifacts/export-statement.ts"
import type { ChainDocument, Movement, WindowName } from "./chain-document.ts"

/** Spans that are remembered, some 100 bytes each; a further one is compared with these only. */
const REMEMBERED_SPANS_MAX = 1_048_576
/** Movements that are listed when a table of them is asked for; further ones are only counted. */
export const LISTED_MOVEMENTS_MAX = 65_536

/** A movement as it is listed, with the document that has it. */
export type ListedMovement = Movement & { readonly by: string }

/** Movements that are in no document here. */
export type WindowHole = { readonly after_ordinal: number; readonly movements: number; readonly tokens: number }

/** One window, as the documents and the statement have it. */
export type WindowAccount = WindowName & {
  /** Movements that are in a document here. */
  readonly movements: number
  /** By rising numbers. */
  readonly listed: readonly ListedMovement[]
  readonly holes: readonly WindowHole[]
  /** The last movement and the total after it, as the statement has them; absent where it does not list the window. */
  readonly exported?: Pick<ExportedWindow, "last_ordinal" | "total">
}

export type WindowCheck = {
  /** What is wrong with the movements of the next document: ends of sentences. @param name of it */
  readonly take: (document: ChainDocument, name: string) => readonly string[]
  /**
   * What is wrong between the windows and the statement: whole sentences.
   * @param whole whether every document of the chain was taken, so that only charges can be missing, and no total falls without a document
   */
  readonly end: (whole: boolean) => readonly string[]
  /** By rising start. */
  readonly accounts: () => readonly WindowAccount[]
}

/** Movements whose numbers follow each other. */
type Span = { first: number; last: number; before: number; after: number }
type Window = WindowName & {
  readonly spans: Span[]
  readonly listed: ListedMovement[]
}

/** @param lists whether movements are listed */
export function createWindowCheck(exported: readonly ExportedWindow[], lists: boolean): WindowCheck {
  const windows = new Map<string, Window>()
  let spans = 0
  let listed = 0
  const windowOf = ({ window_seconds, window_start }: WindowName): Window => {
    const key = keyOf({ window_seconds, window_start })
    const known = windows.get(key) ?? { window_seconds, window_start, spans: [], listed: [] }
    windows.set(key, known)
    return known
  }
  const take = (window: Window, movement: Movement, by: string): readonly string[] => {
    if (lists && listed < LISTED_MOVEMENTS_MAX) {
      listed++
      window.listed.push({ ...movement, by })
    }
    const before = window.spans.length
    const problems = join(window, movement, spans < REMEMBERED_SPANS_MAX)
    spans += window.spans.length - before
    return problems
  }
  for (const window of exported) windowOf(window)
  const facts = new Map(exported.map(window => [keyOf(window), window]))
  return {
    take: ({ movements }, name) => movements.flatMap(([window, movement]) => take(windowOf(window), movement, name)),
    end: whole =>
      [...windows].flatMap(([key, window]) => [
        ...statementProblems(window, facts.get(key)),
        ...(whole && spans < REMEMBERED_SPANS_MAX ? fallProblems(window, facts.get(key)) : []),
      ]),
    accounts: () =>
      [...windows]
        .map(([key, window]) => accountOf(window, facts.get(key)))
        .sort((a, b) =>
          a.window_start < b.window_start
            ? -1
            : a.window_start > b.window_start
              ? 1
              : a.window_seconds - b.window_seconds,
        ),
  }
}

const keyOf = ({ window_seconds, window_start }: WindowName): string => `${window_seconds} ${window_start}`

/** Puts a movement among the spans of its window. @param room whether another span may be remembered */
function join(
  { spans, window_start }: Window,
  { ordinal, tokens, total_after }: Movement,
  room: boolean,
): readonly string[] {
  const of = `of the window of ${window_start}`
  const at = placeOf(spans, ordinal)
  const [below, above] = [spans[at - 1], spans[at]]
  if (below !== undefined && ordinal <= below.last)
    return [`has movement ${ordinal} ${of}, which a document before it has`]
  const before = total_after - tokens
  const problems: string[] = []
  const follows = ordinal === (below?.last ?? 0) + 1
  if (follows && before !== (below?.after ?? 0))
    problems.push(
      `begins movement ${ordinal} ${of} at ${before}, and movement ${ordinal - 1} leaves it at ${below?.after ?? 0}`,
    )
  const precedes = above !== undefined && ordinal + 1 === above.first
  if (precedes && above.before !== total_after)
    problems.push(
      `leaves movement ${ordinal} ${of} at ${total_after}, and movement ${above.first} begins at ${above.before}`,
    )
  if (before < 0) problems.push(`begins movement ${ordinal} ${of} below zero`)
  const made = { first: ordinal, last: ordinal, before, after: total_after }
  if (follows && below !== undefined && precedes) {
    spans.splice(at - 1, 2, { ...below, last: above.last, after: above.after })
  } else if (follows && below !== undefined) {
    below.last = ordinal
    below.after = total_after
  } else if (precedes) {
    above.first = ordinal
    above.before = before
  } else if (room) spans.splice(at, 0, made)
  return problems
}

/** The first span that begins behind a number. Numbers mostly rise, so it is looked for from the end. */
function placeOf(spans: readonly Span[], ordinal: number): number {
  let [low, high] = [0, spans.length]
  while (low < high) {
    const middle = Math.floor((low + high) / 2)
    if ((spans[middle]?.first ?? 0) > ordinal) high = middle
    else low = middle + 1
  }
  return low
}

/** What is wrong between the last movement of a window and what the statement says of it. */
function statementProblems({ spans, window_start }: Window, exported: ExportedWindow | undefined): readonly string[] {
  const last = spans.at(-1)
  if (exported === undefined || last === undefined) return []
  const of = `of the window of ${window_start}`
  if (last.last > exported.last_ordinal)
    return [`movement ${last.last} ${of} is here, and the statement counts ${exported.last_ordinal}`]
  if (last.last === exported.last_ordinal && last.after !== exported.total)
    return [`movement ${last.last} ${of} leaves it at ${last.after}, and the statement says ${exported.total}`]
  return []
}

/** Only settlements and releases lower a total, and each of them is in a document. */
const fallProblems = (window: Window, exported: ExportedWindow | undefined): readonly string[] =>
  holesOf(window, exported).flatMap(({ after_ordinal, tokens }) =>
    tokens < 0
      ? [
          `the window of ${window.window_start} falls by ${-tokens} tokens after movement ${after_ordinal}, and no document lowers it`,
        ]
      : [],
  )

function holesOf({ spans }: Window, exported: ExportedWindow | undefined): readonly WindowHole[] {
  const holes: WindowHole[] = []
  const hole = (after: Pick<Span, "last" | "after">, first: number, before: number): void => {
    const movements = first - after.last - 1
    if (movements > 0) holes.push({ after_ordinal: after.last, movements, tokens: before - after.after })
  }
  let end = { last: 0, after: 0 }
  for (const span of spans) {
    hole(end, span.first, span.before)
    end = span
  }
  if (exported !== undefined) hole(end, exported.last_ordinal + 1, exported.total)
  return holes
}

function accountOf(window: Window, exported: ExportedWindow | undefined): WindowAccount {
  const { spans, listed, window_seconds, window_start } = window
  return {
    window_seconds,
    window_start,
    movements: spans.reduce((sum, { first, last }) => sum + last - first + 1, 0),
    listed: listed.toSorted((a, b) => a.ordinal - b.ordinal),
    holes: holesOf(window, exported),
    ...(exported && { exported: { last_ordinal: exported.last_ordinal, total: exported.total } }),
  }
}
