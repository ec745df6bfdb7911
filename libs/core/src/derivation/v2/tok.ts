/**
 * TOK, time: puts every declared timestamp in order and says where the declared times contradict themselves. Of the declared approvers it
 * also says which are none for a rule, because no other kernel reads them.
 */
import type { JsonValue } from "@runseal/canonical"
import { sha256Hex } from "@runseal/canonical"
import {
  type ContentName,
  DECLARED_NAMES,
  isShown,
  type ShownDeclared,
  shown,
} from "../../artifacts/declared-sections.ts"
import { readApprovers, uncountedApprovers } from "../../vocabulary/declared-approvers.ts"
import { isObject, member, textMember } from "../../vocabulary/json-members.ts"
import { APPROVER_CODES, type FindingCode } from "../../vocabulary/kernel-findings.ts"
import { clockMillis } from "../../vocabulary/scalars.ts"
import { digitsAt, utcMillis } from "../../vocabulary/utc-time.ts"
import { declaredView } from "./declared-view.ts"
import type { KernelFunction } from "./kernel.ts"
import { countFindings } from "./kernel.ts"
import type { KernelSources, OrderedTimestamp } from "./kernel-commitments.ts"
import { tokOrdering } from "./kernel-commitments.ts"

const RFC3339 =
  /^\d{4}-\d{2}-\d{2}[Tt](?:[01]\d|2[0-3]):[0-5]\d:(?:[0-5]\d|60)(?:\.(\d{1,12}))?(?:[Zz]|([+-](?:[01]\d|2[0-3]):[0-5]\d))$/

/**
 * Milliseconds since the epoch of an RFC 3339 date-time, undefined for anything else. Digits past the millisecond do not
 * enter; a leap second counts as the second after it.
 */
export function rfc3339Millis(text: string): number | undefined {
  const match = RFC3339.exec(text)
  if (match === null) return undefined
  const whole = utcMillis(text)
  if (whole === undefined) return undefined
  const [, fraction = "", offset = "+00:00"] = match
  const minutes = 60 * digitsAt(offset, 1, 2) + digitsAt(offset, 4, 2)
  const east = offset.startsWith("-") ? -minutes : minutes
  return whole - 60_000 * east + digitsAt(fraction.slice(0, 3).padEnd(3, "0"), 0, 3)
}

type Declared = { readonly pointer: string; readonly text: string; readonly millis: number | undefined }

/** Longest pointer that is written out, in UTF-16 units; a longer one is hashed. */
const MAX_POINTER_LENGTH = 256

/** The path of a value: its key below another place. Most places hold no time, and no pointer is written for them. */
type Place = { readonly parent: Place | undefined; readonly key: string | number; pointer?: string }

/**
 * RFC 6901 pointer of a place. A pointer beyond the limit is written as `#` and its SHA-256, and pointers below it continue from
 * that: otherwise many times under one long key would make a list far larger than the document.
 */
function pointerOf(place: Place): string {
  if (place.pointer !== undefined) return place.pointer
  const child = `${place.parent === undefined ? "" : pointerOf(place.parent)}/${escaped(place.key)}`
  place.pointer = child.length <= MAX_POINTER_LENGTH ? child : `#${sha256Hex(child)}`
  return place.pointer
}

const escaped = (key: string | number): string => String(key).replaceAll("~", "~0").replaceAll("/", "~1")

/** Every string under a key that ends in `_at`, with its pointer; `key` is the nearest one above the value. */
function declaredTimes(value: JsonValue, place: Place, key: string, into: Declared[]): void {
  if (typeof value === "string") {
    if (key.endsWith("_at")) into.push({ pointer: pointerOf(place), text: value, millis: rfc3339Millis(value) })
  } else if (Array.isArray(value)) {
    value.forEach((item, i) => {
      declaredTimes(item, { parent: place, key: i }, key, into)
    })
  } else if (isObject(value)) {
    for (const name of Object.keys(value)) {
      const child = value[name]
      if (child !== undefined) declaredTimes(child, { parent: place, key: name }, name, into)
    }
  }
}

const items = (value: JsonValue | undefined): readonly JsonValue[] => (Array.isArray(value) ? value : [])
const timeOf = (value: JsonValue, key: string): number | undefined => rfc3339Millis(textMember(value, key) ?? "")

/** How often a later element carries an earlier time; elements without a readable time are passed over. */
function backwardSteps(times: readonly (number | undefined)[]): number {
  const known = times.filter(time => time !== undefined)
  return known.filter((time, i) => time < (known[i - 1] ?? Number.NEGATIVE_INFINITY)).length
}

function approverSteps(approvers: readonly JsonValue[]): number {
  const order = (value: JsonValue): number => {
    const found = member(value, "order")
    return typeof found === "number" ? found : 0
  }
  return backwardSteps([...approvers].sort((a, b) => order(a) - order(b)).map(item => timeOf(item, "approved_at")))
}

/** By instant, unreadable times last, ties by pointer: a total order, so that everyone finds the same one. */
function compareTimes(a: Declared, b: Declared): number {
  if (a.millis !== b.millis) {
    if (a.millis === undefined) return 1
    return b.millis === undefined ? -1 : a.millis - b.millis
  }
  return a.pointer < b.pointer ? -1 : 1
}

const repeat = (code: FindingCode, count: number): readonly FindingCode[] => new Array<FindingCode>(count).fill(code)

/** What the shown sections say of time; a step between times of a withheld section is not known. */
type ShownTimes = {
  readonly events: readonly OrderedTimestamp[]
  readonly unreadable: number
  readonly late: number
  readonly effect_steps: number | undefined
  readonly approver_steps: number | undefined
}

function timesIn(section: ShownDeclared | undefined, name: ContentName, into: Declared[]): void {
  if (section?.declared !== undefined) declaredTimes(section.declared, { parent: undefined, key: name }, "", into)
}

/** How many times are after a clock. */
function lateTimes(times: readonly Declared[], clock: string): number {
  const limit = clockMillis(clock) ?? Number.NEGATIVE_INFINITY
  return times.filter(({ millis }) => millis !== undefined && millis > limit).length
}

/** The times of what the opening declared are held to its admission, those of the close to the close. */
export function shownTimes(sources: KernelSources): ShownTimes {
  const times: Declared[] = []
  for (const name of DECLARED_NAMES) timesIn(shown(sources[name]), name, times)
  const late = lateTimes(times, sources.envelope.admission_clock)
  const { closing, permit } = sources
  const closingTimes: Declared[] = []
  if (closing !== undefined) timesIn(shown(closing), "closing", closingTimes)
  times.push(...closingTimes)
  const [chain, graph] = [shown(sources.authorization_chain), declaredView(sources, "causal_graph")]
  return {
    events: times.sort(compareTimes).map(time => ({ at: time.text, pointer: time.pointer })),
    unreadable: times.filter(time => time.millis === undefined).length,
    late: late + lateTimes(closingTimes, permit?.closed_clock ?? ""),
    effect_steps:
      graph && backwardSteps(items(member(graph.declared, "effect_log")).map(item => timeOf(item, "issued_at"))),
    approver_steps: chain && approverSteps(items(member(chain.declared, "approvers"))),
  }
}

export const tok: KernelFunction = sources => {
  const { closing } = sources
  const read = [...DECLARED_NAMES.map(name => sources[name]), ...(closing === undefined ? [] : [closing])]
  const sections = read.filter(isShown)
  if (sections.length < read.length) return undefined
  const { events, unreadable, late, effect_steps = 0, approver_steps = 0 } = shownTimes(sources)
  const [chain, context] = [sources.authorization_chain, sources.attested_context].map(each => shown(each)?.declared)
  const uncounted = uncountedApprovers(readApprovers(chain), textMember(context, "actor_id"))
  const salts = sections.map(({ salt }) => salt)
  return {
    output: { timestamp_count: events.length, ordering_hash: tokOrdering(salts, events) },
    findings: countFindings([
      ...repeat("TIMESTAMP_UNPARSABLE", unreadable),
      ...repeat("TIMESTAMP_AFTER_ADMISSION", late),
      ...repeat("TIMESTAMP_OUT_OF_ORDER", effect_steps),
      ...repeat("APPROVERS_OUT_OF_SEQUENCE", approver_steps),
      ...APPROVER_CODES.flatMap(code => repeat(code, uncounted[code])),
    ]),
  }
}
