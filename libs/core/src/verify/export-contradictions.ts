/**
 * Compares the documents of a chain with each other. Each may verify by itself, and an operator who holds every key can still make a chain
 * that contradicts itself: entries out of order, an identifier in two documents, movements of a window or permits that do not fit together.
 */

import { canonicalize, type JsonObject } from "@runseal/canonical"
import type { TransparencyLogEntry } from "@runseal/log/entries/log-entry"
import { areOfTwoTrees, entryView, NOTHING_SEEN, seenFurther, type TreeView } from "@runseal/log/entries/one-tree"
import { isEndedReason } from "../artifacts/approvals.ts"
import { shown } from "../artifacts/declared-sections.ts"
import type { ExportStatement } from "../artifacts/export-statement.ts"
import type { Opening } from "../artifacts/opening.ts"
import { missingAttestedFields } from "../vocabulary/attested-presence.ts"
import { ATTESTED_FIELDS } from "../vocabulary/decision-codes.ts"
import type { ChainDocument, DecidedByPolicy } from "./chain-document.ts"
import { createApprovalCheck } from "./export-approvals.ts"
import { createIdentifierCheck } from "./export-identifiers.ts"
import { type Compared, createPermitCheck, type PermitCheck } from "./export-permits.ts"
import { createWindowCheck, type WindowAccount } from "./export-windows.ts"

type Comparison = {
  /** Compares the next document of the piece, which verifies by itself. @param name of it */
  readonly take: (document: ChainDocument, ordinal: number, name: string) => Compared
  /** Takes an opening from before the piece, which a record of the piece closes. */
  readonly carry: (document: ChainDocument, opening: Opening, name: string) => readonly string[]
  /**
   * What only the end shows: whole sentences.
   * @param whole whether every document of the chain was taken
   * @param at RFC 3339: when the chain ended with these; absent where others may come after them
   */
  readonly end: (whole: boolean, at?: string) => readonly string[]
  readonly windows: () => readonly WindowAccount[]
  /** Openings of the piece that nothing has closed or ended. */
  readonly open: () => number
  /** Requests for an approval of the piece that nothing has ended. */
  readonly waiting: () => number
}

/**
 * @param statement that counts the documents, for its position in the log
 * @param first ordinal of the first document that may be taken
 * @param lists whether movements of budget windows are listed
 */
export function compareDocuments(
  statement: Pick<ExportStatement, "entry" | "windows">,
  first: number,
  lists: boolean,
): Comparison {
  const order = createOrderCheck(statement)
  const identifiers = createIdentifierCheck()
  const permits = createPermitCheck(first === 1)
  const approvals = createApprovalCheck(first === 1)
  const windows = createWindowCheck(statement.windows, lists)
  const policies = createPolicyCheck()
  const settings = new Map<string, number | string>()
  const nameOf = (place: number): string =>
    place === 0 ? "an opening from before the piece" : `document ${first + place - 1}`
  return {
    take: (document, ordinal, name) => {
      const linked = linkedBy(permits, document)
      const place = ordinal - first + 1
      return {
        problems: [
          ...order(document, name),
          ...linked.problems,
          ...approvals.take(document),
          ...(linked.known ? [] : identifiers(document, place, nameOf)),
          ...windows.take(document, name),
          ...policies(document, name),
        ],
        notes: [...linked.notes, ...changesOf(document, settings)],
      }
    },
    carry: (document, opening, name) => [
      ...order(document, name),
      ...permits.open(opening, false),
      // No more of them than openings are remembered.
      ...(permits.holds(opening.permit_id) ? identifiers(document, 0, nameOf) : []),
      ...windows.take(document, name),
      ...policies(document, name),
    ],
    end: (whole, at) => [
      ...(at === undefined ? [] : approvals.overdue(at)),
      ...windows.end(whole),
      ...permits
        .unused()
        .map(id => `the opening of ${id} is from before the piece, and no record of the piece closes it`),
    ],
    windows: windows.accounts,
    open: permits.left,
    waiting: approvals.left,
  }
}

type Linked = Compared & {
  /** The identifiers of the document are those of a document that was taken before it. */
  readonly known: boolean
}

/** Compares a document with the openings before it. */
function linkedBy(permits: PermitCheck, { opens, closes, ends }: ChainDocument): Linked {
  if (opens !== undefined) return { problems: permits.open(opens, true), notes: [], known: false }
  if (ends !== undefined) return { problems: permits.end(ends), notes: [], known: false }
  const permit = closes?.sections.permit
  if (closes === undefined || permit === undefined) return { problems: [], notes: [], known: false }
  const known = permits.holds(permit.permit_id)
  return { ...permits.close(closes, permit), known }
}

/** Settings that an operator may change from one document of a chain to the next. A change is reported, and nothing fails. */
const changesOf = (document: ChainDocument, settings: Map<string, number | string>): readonly string[] =>
  settingsOf(document).flatMap(([name, value]) => {
    if (value === undefined) return []
    const before = settings.get(name)
    settings.set(name, value)
    return before === undefined || before === value ? [] : [`the ${name} changed from ${before} to ${value}`]
  })

type Settings = readonly (readonly [name: string, value: number | string | undefined])[]

/** The settings that a document shows, by their names. */
function settingsOf({ decided, budget }: ChainDocument): Settings {
  const evaluation = decided?.sections.policy_evaluation
  return [
    ["policy", evaluation?.policy_hash ?? decided?.attestation_gap_receipt?.policy_hash],
    ["signature library", evaluation?.signature_library_hash],
    ["limit of tokens a run", budget?.run_limit],
    ["seconds of a budget window", budget?.window?.window_seconds],
    ["cap of tokens a window", budget?.window?.cap],
  ]
}

// Compares the log entries of a chain's records with each other. A service gives run numbers, first entries and complete-record entries
// in the order of the chain, and a log's time never goes back. So each new entry is compared with its few neighbours. Decision 0101.

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

function createOrderCheck({ entry }: Pick<ExportStatement, "entry">): OrderCheck {
  const statement = placeOf(entry, "the export statement")
  const statementTree = entryView(entry)
  const [firsts, lasts] = [newTrack(), newTrack()]
  const between = completeEntries()
  let run: { readonly id: number; readonly name: string } | undefined

  const isForked = (view: TreeView): boolean =>
    [statementTree, firsts.tree, lasts.tree].some(tree => areOfTwoTrees(tree, view))
  /** Adds an entry behind those of its kind. */
  const enter = (track: Track, entered: TransparencyLogEntry, place: Place, what: string): readonly string[] => {
    const view = entryView(entered)
    const forked = `proves itself in another tree than ${track.last?.name ?? statement.name}: the log was forked`
    const problems = [...indexProblems(place, track.last, what), ...(isForked(view) ? [forked] : [])]
    track.last = place
    track.tree = seenFurther(track.tree, view, place.index)
    return problems
  }
  return (document, name) => {
    const problems: string[] = []
    const times: string[] = []
    const { run_id, firstEntry: first, anchor, redemptions } = document
    if (run_id !== undefined) {
      if (run !== undefined && run_id === run.id) problems.push(`has the run number of ${run.name}`)
      else if (run !== undefined && run_id < run.id) problems.push(`has a lower run number than ${run.name} before it`)
      run = { id: run_id, name }
    }
    const last = anchor?.entry
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
    for (const redeemed of redemptions) {
      times.push(...timeProblems(statement, placeOf(redeemed, `the redemption in ${name}`)))
      if (isForked(entryView(redeemed)))
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

// Compares what the records of a chain say of policies and signature libraries. A hash covers the whole document: one policy has one name, one
// list of required fields and one effect for each rule, one library one severity for each signature.

/** Facts that are remembered, of some 1,500 bytes at most; later facts are compared with these only. */
const REMEMBERED_FACTS_MAX = 32_768

/** What is wrong with the policy and library of the next record: ends of sentences. @param name of the record, for later ones */
type PolicyCheck = (document: ChainDocument, name: string) => readonly string[]

/** One thing that a record says of a hashed document. */
type Fact = {
  /** Hash and part of the document: what the fact is about. */
  readonly about: string
  readonly value: string
  /** Why it cannot be true beside another value that an earlier record gives. */
  readonly contradicts: (earlier: string) => string
}

function createPolicyCheck(limit: number = REMEMBERED_FACTS_MAX): PolicyCheck {
  const known = new Map<string, { readonly value: string; readonly by: string }>()
  return ({ decided }, record) => {
    if (decided === undefined) return []
    const facts = [policyFacts, requiredFacts, effectFacts, approvalFacts, severityFacts].flatMap(factsIn =>
      factsIn(decided),
    )
    return facts.flatMap(({ about, value, contradicts }) => {
      const first = known.get(about)
      if (first === undefined && known.size < limit) known.set(about, { value, by: record })
      return first === undefined || first.value === value ? [] : [contradicts(first.by)]
    })
  }
}

function policyFacts({ sections, attestation_gap_receipt: gap }: DecidedByPolicy): readonly Fact[] {
  const named = sections.policy_evaluation ?? gap
  if (named === undefined) return []
  const { policy_id, policy_name, profile_tag, policy_hash: hash } = named
  const identity: JsonObject = { policy_id, policy_name, ...(profile_tag === undefined ? {} : { profile_tag }) }
  const another = (what: string, value: string): Fact => ({
    about: `${hash} ${what}`,
    value,
    contradicts: earlier => `gives the policy ${hash} another ${what} than ${earlier}`,
  })
  const required = gap === undefined ? [] : [another("list of required fields", canonicalize(gap.required_fields))]
  const scan = sections.policy_evaluation?.signature_scan
  const scanned = scan === undefined ? [] : [another("signature scan", canonicalize(scan))]
  return [another("name", canonicalize(identity)), ...required, ...scanned]
}

/** A run that was admitted shows which fields its policy does not require. */
function requiredFacts({ sections, attestation_gap_receipt: gap }: DecidedByPolicy): readonly Fact[] {
  const about = (hash: string, field: string): string => `${hash} requires ${field}`
  if (gap !== undefined)
    return gap.required_fields.map(field => ({
      about: about(gap.policy_hash, field),
      value: "yes",
      contradicts: earlier =>
        `gives ${field} as required by the policy ${gap.policy_hash}, which admitted ${earlier} without it`,
    }))
  const { policy_evaluation: evaluation } = sections
  const context = shown(sections.attested_context)
  if (evaluation === undefined || context === undefined) return []
  const { policy_hash: hash } = evaluation
  const lacking = missingAttestedFields(context.declared, ATTESTED_FIELDS)
  return lacking.map(field => ({
    about: about(hash, field),
    value: "no",
    contradicts: earlier => `was admitted without ${field}, which the policy ${hash} requires, as ${earlier} gives it`,
  }))
}

/** Rules that determined a decision all have its effect. */
function effectFacts({ sections: { policy_evaluation: evaluation } }: DecidedByPolicy): readonly Fact[] {
  if (evaluation === undefined) return []
  const { policy_hash: hash, decision, matched_rule_ids: matched, decision_reason_code: code, needed = [] } = evaluation
  // After a request that ended without its approval a rule that allows does not.
  const allowed = isEndedReason(code) ? "allow" : decision
  return matched.map(rule => ({
    about: `${hash} effect of ${rule}`,
    value: needed.some(({ rule_id }) => rule_id === rule) ? "require_approval" : allowed,
    contradicts: earlier => `gives the rule ${rule} of the policy ${hash} another effect than ${earlier}`,
  }))
}

/** A rule that requires an approval requires one and the same. */
function approvalFacts({ sections: { policy_evaluation: evaluation } }: DecidedByPolicy): readonly Fact[] {
  const { policy_hash: hash, needed = [] } = evaluation ?? {}
  return needed.map(({ rule_id, ...approval }) => ({
    about: `${hash} approval of ${rule_id}`,
    value: canonicalize({ ...approval, by: [...approval.by] }),
    contradicts: earlier => `gives the rule ${rule_id} of the policy ${hash} another approval than ${earlier}`,
  }))
}

function severityFacts({ sections: { mcd_finding: finding } }: DecidedByPolicy): readonly Fact[] {
  if (finding === undefined) return []
  const { library_hash: hash, matched_signature_id: signature, severity } = finding
  return [
    {
      about: `${hash} severity of ${signature}`,
      value: severity,
      contradicts: earlier =>
        `gives the signature ${signature} of the library ${hash} another severity than ${earlier}`,
    },
  ]
}
