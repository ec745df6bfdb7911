/**
 * Compares the log entries of a chain's records with each other. A service gives run numbers, first entries and complete-record entries
 * in the order of the chain, and a log's time never goes back. So each new entry is compared with its few neighbours. Decision 0101.
 */
import type { TransparencyLogEntry } from "@runseal/log/entries/log-entry"
import { areOfTwoTrees, claimOf, NOTHING_SEEN, seenFurther, type TreeView, viewOf } from "@runseal/log/entries/one-tree"
import type { ExportStatement } from "../artifacts/export-statement.ts"
import { type ChainDocument, chainAnchor, firstEntry, redemptionEntries } from "./chain-document.ts"

/** What is wrong with the entries of the next record: ends of sentences. @param name of the record, for later ones */
type OrderCheck = (document: ChainDocument, name: string) => readonly string[]

/** An entry of a record in the log. */
type Place = { readonly index: number; readonly time: number; readonly name: string }
/** The entries of one kind: the last one, and what their proofs show of the tree. */
type Track = { last: Place | undefined; tree: TreeView }

const placeOf = (entry: TransparencyLogEntry, name: string): Place => ({
  index: Number(entry.logIndex),
  time: Number(entry.integratedTime),
  name,
})

const newTrack = (): Track => ({ last: undefined, tree: NOTHING_SEEN })

export function createOrderCheck({ entry }: Pick<ExportStatement, "entry">): OrderCheck {
  const statement = placeOf(entry, "the export statement")
  const statementTree = viewOf(claimOf(entry))
  const [firsts, lasts] = [newTrack(), newTrack()]
  const between = completeEntries()
  let run: { readonly id: number; readonly name: string } | undefined

  const isForked = (view: TreeView): boolean =>
    [statementTree, firsts.tree, lasts.tree].some(tree => areOfTwoTrees(tree, view))
  /** Adds an entry behind those of its kind. */
  const enter = (track: Track, entered: TransparencyLogEntry, place: Place, what: string): readonly string[] => {
    const view = viewOf(claimOf(entered))
    const forked = `proves itself in another tree than ${track.last?.name ?? statement.name}: the log was forked`
    const problems = [...indexProblems(place, track.last, what), ...(isForked(view) ? [forked] : [])]
    track.last = place
    track.tree = seenFurther(track.tree, view, place.index)
    return problems
  }
  return (document, name) => {
    const problems: string[] = []
    const times: string[] = []
    const run_id = document.kind === "record" ? document.value.run.run_id : undefined
    if (run_id !== undefined) {
      if (run !== undefined && run_id === run.id) problems.push(`has the run number of ${run.name}`)
      else if (run !== undefined && run_id < run.id) problems.push(`has a lower run number than ${run.name} before it`)
      run = { id: run_id, name }
    }
    const first = firstEntry(document)
    const last = chainAnchor(document)?.entry
    if (first !== undefined) {
      const place = placeOf(first, name)
      const beside = between.around(place)
      times.push(...beside.times, ...timeProblems(place, firsts.last))
      problems.push(...enter(firsts, first, place, "first entry"), ...beside.problems)
    }
    if (last !== undefined) {
      const place = placeOf(last, name)
      times.push(...timeProblems(place, lasts.last), ...timeProblems(statement, place))
      problems.push(...enter(lasts, last, place, "entry"))
      if (place.index >= statement.index) problems.push("was logged after the statement that counts it")
      between.add(place)
    }
    for (const redeemed of redemptionEntries(document)) {
      times.push(...timeProblems(statement, placeOf(redeemed, `the redemption in ${name}`)))
      if (isForked(viewOf(claimOf(redeemed))))
        problems.push("holds a redemption that proves itself in another tree: the log was forked")
    }
    // One time that goes back is enough.
    return [...problems, ...times.slice(0, 1)]
  }
}

function indexProblems({ index }: Place, before: Place | undefined, what: string): readonly string[] {
  if (before === undefined || index > before.index) return []
  if (index === before.index) return [`is at log entry ${index}, as ${before.name} is`]
  return what === "entry" ? [`was logged before ${before.name}`] : [`has its ${what} before that of ${before.name}`]
}

/** Whether the log's time goes back from one entry to one behind it. */
function timeProblems(behind: Place, before: Place | undefined): readonly string[] {
  if (before === undefined || behind.index <= before.index || behind.time >= before.time) return []
  const [one, other] = [before, behind].map(
    ({ index, name, time }) => `entry ${index} of ${name} was logged ${clockOf(time)}`,
  )
  return [`makes the log's time go back: ${one}, and ${other}`]
}

/** A log's time as text; the number where no calendar has it. @param seconds Unix */
const clockOf = (seconds: number): string =>
  seconds <= LAST_DATE_SECONDS ? new Date(seconds * 1000).toISOString() : `${seconds} s after 1970`

/** ECMA-262 §21.4.1.1. */
const LAST_DATE_SECONDS = 8_640_000_000_000

/**
 * Complete-record entries that a first entry may still come before: in a batch all first entries come before all complete ones. It holds
 * at most as many as a batch has records of the tenant.
 */
function completeEntries(): {
  readonly add: (place: Place) => void
  /** What is wrong between a first entry, which comes behind all earlier first entries, and its neighbours. */
  readonly around: (place: Place) => { readonly problems: readonly string[]; readonly times: readonly string[] }
} {
  let waiting: Place[] = []
  let below: Place | undefined
  return {
    add: place => void waiting.push(place),
    around: place => {
      const passed = waiting.findIndex(({ index }) => index >= place.index)
      const count = passed === -1 ? waiting.length : passed
      below = waiting[count - 1] ?? below
      if (count > 0) waiting = waiting.slice(count)
      const [above] = waiting
      if (above === undefined) return { problems: [], times: timeProblems(place, below) }
      const isTaken = above.index === place.index
      return {
        problems: isTaken ? indexProblems(place, above, "first entry") : [],
        times: [...timeProblems(place, below), ...timeProblems(above, place)],
      }
    },
  }
}
