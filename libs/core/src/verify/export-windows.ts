/**
 * Compares the charges of a chain's budget windows with each other. A charge takes a window from one total to the next, and charges of a
 * window come one after the other: their spans never overlap. A span that is in no record is a charge that has none, as a
 * request that died before its record was sealed leaves it.
 */
import type { Bundle } from "../artifacts/bundle-schema.ts"
import type { BudgetWindow } from "../artifacts/sealed-sections.ts"
import { clockSeconds, LOG_TIME_TOLERANCE_SECONDS } from "../vocabulary/scalars.ts"

/** Charges of open windows that are remembered, 24 bytes each; later charges are compared with these only. */
const REMEMBERED_CHARGES_MAX = 8_388_608

/**
 * What is wrong with the charge of the next record: ends of sentences.
 * @param logTime of the record, Unix seconds: a window is forgotten once no record logged later can be of it
 */
type WindowCheck = (
  bundle: Bundle,
  logTime: number,
  place: number,
  nameOf: (place: number) => string,
) => readonly string[]

/** Charges of a window, by their rising spans. Three lists, since an object for each would take four times as much. */
type Charges = {
  readonly before: number[]
  readonly after: number[]
  readonly places: number[]
  /** Unix seconds after which no record of the window can be logged. */
  readonly open_until: number
}

export function createWindowCheck(limit: number = REMEMBERED_CHARGES_MAX): WindowCheck {
  const windows = new Map<string, Charges>()
  let remembered = 0
  let closes = Number.POSITIVE_INFINITY
  const close = (logTime: number): void => {
    if (logTime <= closes) return
    closes = Number.POSITIVE_INFINITY
    for (const [key, { open_until, places }] of windows) {
      if (open_until >= logTime) closes = Math.min(closes, open_until)
      else if (windows.delete(key)) remembered -= places.length
    }
  }
  return ({ sections: { budget_snapshot } }, logTime, place, nameOf) => {
    close(logTime)
    const window = budget_snapshot?.window
    if (window === undefined) return []
    const key = `${window.window_seconds} ${window.window_start}`
    const charges = windows.get(key) ?? emptyWindow(window)
    windows.set(key, charges)
    closes = Math.min(closes, charges.open_until)
    const { at, overlapped } = placeIn(charges, window)
    if (overlapped !== undefined) {
      const other = `${charges.before[overlapped]} to ${charges.after[overlapped]}`
      const owner = nameOf(charges.places[overlapped] ?? 0)
      return [`${spanText(window)}, and ${owner} takes it from ${other}: one token is counted twice`]
    }
    // A second charge of nothing at the same total adds nothing.
    const isNew = charges.before[at] !== window.total_after || charges.after[at] !== window.total_after
    if (remembered < limit && isNew) {
      remembered++
      charges.before.splice(at, 0, window.total_after - window.tokens)
      charges.after.splice(at, 0, window.total_after)
      charges.places.splice(at, 0, place)
    }
    return []
  }
}

const emptyWindow = ({ window_start, window_seconds }: BudgetWindow): Charges => ({
  before: [],
  after: [],
  places: [],
  open_until: (clockSeconds(window_start) ?? 0) + window_seconds + LOG_TIME_TOLERANCE_SECONDS,
})

const spanText = ({ window_start, tokens, total_after }: BudgetWindow): string =>
  `takes the window of ${window_start} from ${total_after - tokens} to ${total_after}`

/** Where a charge belongs among those of its window, and one that it overlaps. */
function placeIn(
  { before, after }: Charges,
  { tokens, total_after }: BudgetWindow,
): { readonly at: number; readonly overlapped?: number } {
  const from = total_after - tokens
  // The first that ends after this one begins; for a charge of nothing, the first that does not end before it.
  let [low, high] = [0, after.length]
  while (low < high) {
    const middle = Math.floor((low + high) / 2)
    const isBehind = (after[middle] ?? 0) > from || (tokens === 0 && after[middle] === from && before[middle] === from)
    if (isBehind) high = middle
    else low = middle + 1
  }
  const begins = before[low] ?? Number.POSITIVE_INFINITY
  return begins < total_after ? { at: low, overlapped: low } : { at: low }
}
