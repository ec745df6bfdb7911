/**
 * Compares the documents of a chain with each other. Each may verify by itself, and an operator who holds every key can still make a chain
 * that contradicts itself: entries out of order, an identifier in two documents, movements of a window or permits that do not fit together.
 */
import type { Bundle } from "../artifacts/bundle-schema.ts"
import type { ExportStatement } from "../artifacts/export-statement.ts"
import type { ChainDocument } from "./chain-document.ts"
import { createIdentifierCheck } from "./export-identifiers.ts"
import { createOrderCheck } from "./export-order.ts"
import { createPermitCheck, type PermitCheck } from "./export-permits.ts"
import { createPolicyCheck } from "./export-policies.ts"
import { createWindowCheck, type WindowAccount } from "./export-windows.ts"

/** What is wrong with a document beside those before it, and what a reader may want to know: ends of sentences. */
export type Compared = { readonly problems: readonly string[]; readonly notes: readonly string[] }

type Comparison = {
  /** Compares the next document of the piece, which verifies by itself. @param name of it */
  readonly take: (document: ChainDocument, ordinal: number, name: string) => Compared
  /** Takes an opening from before the piece, which a record of the piece closes. */
  readonly carry: (document: ChainDocument & { readonly kind: "opening" }, name: string) => readonly string[]
  /** What only the end shows: whole sentences. @param whole whether every document of the chain was taken */
  readonly end: (whole: boolean) => readonly string[]
  readonly windows: () => readonly WindowAccount[]
  /** Openings of the piece that nothing has closed or ended. */
  readonly open: () => number
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
          ...(linked.known ? [] : identifiers(document, place, nameOf)),
          ...windows.take(document, name),
          ...policies(document, name),
        ],
        notes: [...linked.notes, ...changesOf(document, settings)],
      }
    },
    carry: (document, name) => [
      ...order(document, name),
      ...permits.open(document.value, false),
      // No more of them than openings are remembered.
      ...(permits.holds(document.value.permit_id) ? identifiers(document, 0, nameOf) : []),
      ...windows.take(document, name),
      ...policies(document, name),
    ],
    end: whole => [
      ...windows.end(whole),
      ...permits
        .unused()
        .map(id => `the opening of ${id} is from before the piece, and no record of the piece closes it`),
    ],
    windows: windows.accounts,
    open: permits.left,
  }
}

type Linked = Compared & {
  /** The identifiers of the document are those of a document that was taken before it. */
  readonly known: boolean
}

/** Compares a document with the openings before it. */
function linkedBy(permits: PermitCheck, { kind, value }: ChainDocument): Linked {
  if (kind === "opening") return { problems: permits.open(value, true), notes: [], known: false }
  if (kind === "event") return { problems: [], notes: [], known: true }
  if (kind === "end") return { problems: permits.end(value), notes: [], known: false }
  const { permit } = value.sections
  if (permit === undefined) return { problems: [], notes: [], known: false }
  const known = permits.holds(permit.permit_id)
  return { ...permits.close(value, permit), known }
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

/** The settings that a document shows, by their names. Those of a close are its opening's, but for policy and signatures. */
function settingsOf({ kind, value }: ChainDocument): Settings {
  if (kind === "end" || kind === "event") return []
  if (kind === "opening") {
    const { policy_evaluation } = value.sections
    return [...policySettings(policy_evaluation), ...budgetSettings(value.run_limit, value.reservation)]
  }
  const { policy_evaluation, budget_snapshot: budget, permit } = value.sections
  const own = permit === undefined ? budgetSettings(budget?.run_limit, budget?.window) : []
  return [...policySettings(policy_evaluation, value.attestation_gap_receipt), ...own]
}

const policySettings = (
  evaluation: Bundle["sections"]["policy_evaluation"],
  gap?: Bundle["attestation_gap_receipt"],
): Settings => [
  ["policy", evaluation?.policy_hash ?? gap?.policy_hash],
  ["signature library", evaluation?.signature_library_hash],
]

const budgetSettings = (
  runLimit: number | undefined,
  window: { readonly window_seconds: number; readonly cap: number } | undefined,
): Settings => [
  ["limit of tokens a run", runLimit],
  ["seconds of a budget window", window?.window_seconds],
  ["cap of tokens a window", window?.cap],
]
