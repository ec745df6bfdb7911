/**
 * Compares the openings of a chain with the records that close them and the ends that release or charge what they reserved. An opening is closed or ended once, or
 * is open when the export is stated.
 */
import type { Bundle } from "../artifacts/bundle-schema.ts"
import { DECLARED_NAMES } from "../artifacts/declared-sections.ts"
import type { Opening } from "../artifacts/opening.ts"
import { type EndedOpening, type PermitEnd, redemptionOf, reservedBy } from "../artifacts/permit-end.ts"
import type { PermitUseSection, Redemption } from "../artifacts/permit-sections.ts"
import type { BudgetWindow } from "../artifacts/sealed-sections.ts"
import { leafDigest } from "../formulas/leaves.ts"
import { brokenRules, type Rule } from "./contradictions.ts"
import { firstPlaces } from "./export-identifiers.ts"

/** What is wrong with a document beside those before it, and what a reader may want to know: ends of sentences. */
export type Compared = { readonly problems: readonly string[]; readonly notes: readonly string[] }

/** Permits that are remembered once they were closed or ended in the piece, of 12 to 32 bytes. */
const REMEMBERED_ENDS_MAX = 8_388_608

/** Openings that are remembered until they are closed or ended, of some 2,000 bytes; a service has at most 1,000 of a key open at once. */
const REMEMBERED_OPENINGS_MAX = 65_536

/** What a close or an end is held to. */
type OpenPermit = Pick<Opening, "opening_hash" | "expires_at" | "close_by" | "run_limit" | "reservation"> & {
  readonly leaf_digest: string
  readonly log_index: string
  readonly admission_clock: string
  readonly redeem_required: boolean
  /** Hashes of everything that a close takes over unchanged. */
  readonly taken_over: string
  readonly decided_by: string | undefined
  /** Whether the opening is of the exported piece, and not only carried with it. */
  readonly counted: boolean
}

export type PermitCheck = {
  /** Whether an opening is open under this id. */
  readonly holds: (permitId: string) => boolean
  readonly open: (opening: Opening, counted: boolean) => readonly string[]
  readonly close: (bundle: Bundle, permit: PermitUseSection) => Compared
  readonly end: (end: PermitEnd) => readonly string[]
  /** Openings of the piece that nothing has closed or ended so far. */
  readonly left: () => number
  /** Permits that were carried with the piece, and that no record of it closes. */
  readonly unused: () => readonly string[]
}

/** @param fromFirst whether the piece begins with the chain, so that an opening which is not here is nowhere */
export function createPermitCheck(fromFirst: boolean): PermitCheck {
  const permits = new Map<string, OpenPermit>()
  const over = firstPlaces()
  let ended = 0
  const isOver = (permitId: string): boolean => over.find(digitsOf(permitId), undefined) !== undefined
  const noteOver = (permitId: string): void => {
    permits.delete(permitId)
    if (ended < REMEMBERED_ENDS_MAX) over.find(digitsOf(permitId), ended++)
  }
  return {
    holds: permitId => permits.has(permitId),
    open: (opening, counted) => {
      if (permits.has(opening.permit_id) || isOver(opening.permit_id))
        return [`opens the permit ${opening.permit_id} again`]
      if (permits.size < REMEMBERED_OPENINGS_MAX) permits.set(opening.permit_id, openPermit(opening, counted))
      return []
    },
    close: (bundle, permit) => {
      const opened = permits.get(permit.permit_id)
      noteOver(permit.permit_id)
      if (opened === undefined) return { problems: [`closes the permit ${permit.permit_id}, ${NOT_OPEN}`], notes: [] }
      return { problems: brokenRules(closeRules(bundle, permit, opened)), notes: closeNotes(permit, opened) }
    },
    end: end =>
      end.openings.flatMap(ended => {
        const opened = permits.get(ended.permit_id)
        const again = isOver(ended.permit_id)
        noteOver(ended.permit_id)
        if (opened !== undefined) return brokenRules(endRules(end, ended, opened))
        // An end of a range may release what was opened before the range.
        return fromFirst || again ? [`ends the permit ${ended.permit_id}, ${NOT_OPEN}`] : []
      }),
    left: () => [...permits.values()].filter(({ counted }) => counted).length,
    unused: () => [...permits].flatMap(([permit_id, { counted }]) => (counted ? [] : [permit_id])),
  }
}

const digitsOf = (permitId: string): string => permitId.slice(permitId.indexOf("-") + 1)

const NOT_OPEN = "whose opening is not here before it, or was closed or ended already"

function openPermit(opening: Opening, counted: boolean): OpenPermit {
  const { opening_hash, expires_at, close_by, run_limit, reservation, leaf, entry } = opening
  return {
    opening_hash,
    expires_at,
    close_by,
    run_limit,
    reservation,
    leaf_digest: leafDigest(leaf),
    log_index: entry.logIndex,
    admission_clock: opening.sections.envelope.admission_clock,
    redeem_required: opening.redeem_required === true,
    taken_over: takenOver(opening.sections),
    decided_by: decidedBy(opening.sections),
    counted,
  }
}

/** What a close is decided by, as its opening was; undefined for a close that did not come to the policy gate. */
function decidedBy({
  policy_evaluation: evaluation,
}: Pick<Bundle["sections"], "policy_evaluation">): string | undefined {
  if (evaluation === undefined) return undefined
  const { policy_hash, act_hash, approvals_hash, facts } = evaluation
  const { audience, redeem_required, valid_for_seconds } = facts
  return JSON.stringify([policy_hash, act_hash, approvals_hash, audience, redeem_required, valid_for_seconds])
}

/** What the record of a close has from its opening: the request as it was received and admitted. */
function takenOver(sections: Bundle["sections"]): string {
  const { payload, envelope, system_provenance } = sections
  const declared = DECLARED_NAMES.map(name => sections[name].hash)
  return [envelope?.hash, payload.payload_hash, payload.payload_bytes, system_provenance.hash, ...declared].join(" ")
}

function closeRules({ sections }: Bundle, permit: PermitUseSection, opened: OpenPermit): readonly Rule[] {
  const { run_limit, window } = sections.budget_snapshot ?? {}
  return [
    [permit.opening_leaf_digest === opened.leaf_digest, "names another leaf than that of its opening"],
    [permit.opening_log_index === opened.log_index, "names another log entry than that of its opening"],
    [takenOver(sections) === opened.taken_over, "has another request than its opening"],
    [
      sections.policy_evaluation === undefined || decidedBy(sections) === opened.decided_by,
      "is decided by another policy, act or terms than its opening",
    ],
    [run_limit === opened.run_limit, "is held to another limit of a run than its opening"],
    [
      window !== undefined && settles(window, opened.reservation),
      "settles another reservation than that of its opening",
    ],
    [permit.closed_clock <= opened.close_by, `was closed after ${opened.close_by}, until when it could be`],
    ...redemptionRules(permit.redemption, opened),
  ]
}

/** A permit is redeemed behind its opening in the log, and before it expires. */
const redemptionRules = (
  redemption: Redemption | undefined,
  { admission_clock, expires_at, log_index }: OpenPermit,
  of = "",
): readonly Rule[] =>
  redemption === undefined
    ? []
    : [
        [redemption.redeemed_clock >= admission_clock, `has a redemption${of} from before the opening`],
        [
          redemption.redeemed_clock <= expires_at,
          `has a redemption${of} from after ${expires_at}, when the permit expired`,
        ],
        [
          Number(redemption.entry.logIndex) > Number(log_index),
          `has a redemption${of} that is before the opening in the log`,
        ],
      ]

/** Whether a close settles this reservation, in the same window and behind it. */
const settles = (
  window: BudgetWindow,
  { tokens, cap, window_seconds, window_start, ordinal = 0 }: BudgetWindow,
): boolean =>
  window.reserved === tokens &&
  window.cap === cap &&
  window.window_seconds === window_seconds &&
  window.window_start === window_start &&
  (window.ordinal ?? 0) > ordinal

/** Nothing ties the act to the permit, so an executor that did not redeem it breaks no rule of the record. */
const closeNotes = ({ outcome, redemption }: PermitUseSection, { redeem_required }: OpenPermit): readonly string[] =>
  redeem_required && outcome === "completed" && redemption === undefined
    ? ["the act is reported as completed, and its permit, which had to be redeemed, was not"]
    : []

function endRules({ reason, end_clock }: PermitEnd, ended: EndedOpening, opened: OpenPermit): readonly Rule[] {
  const { tokens, window_seconds, window_start, ordinal = 0 } = opened.reservation
  const settles =
    reservedBy(ended) === tokens &&
    ended.window_seconds === window_seconds &&
    ended.window_start === window_start &&
    ended.ordinal > ordinal
  const of = `of the permit ${ended.permit_id}`
  return [
    [ended.opening_hash === opened.opening_hash, `names another opening ${of}`],
    [settles, `releases or charges another reservation than that ${of}`],
    [reason !== "expired" || end_clock > opened.close_by, `ends before ${opened.close_by} the time ${of}, as expired`],
    ...redemptionRules(redemptionOf(ended), opened, ` ${of}`),
  ]
}
