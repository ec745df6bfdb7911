/** What is wrong with the witnesses and the outside logs of a log. *Log health* and what needs attention both find it here. */
import type { OutsideFault, OutsideStanding, WitnessesAnswer } from "./log-answers.ts"

type Witness = WitnessesAnswer["witnesses"][number]

/** A witness cosigns every few seconds, and every ten minutes where the log does not grow. One that did not for so long is silent. */
const SILENT_MS = 30 * 60_000
/** An entry that waits for an outside log for so long is late. */
const LATE_SECONDS = 600

/** Whether nothing was cosigned for so long that it should have been. @param nowMs milliseconds since the epoch */
export const silentSince = (cosigned_at: string | undefined, nowMs: number): boolean =>
  cosigned_at === undefined || nowMs - Date.parse(cosigned_at) > SILENT_MS

/**
 * Why a log is not witnessed as it should be. `none_asked`: no witness is asked. `too_few`: no checkpoint was signed by enough of them for half
 * an hour. `removed`: one signed the newest witnessed checkpoint, and is asked no more.
 */
export const UNWITNESSED_REASONS = ["none_asked", "too_few", "removed"] as const

/** One reason, with the witness or the number that it is about. */
export type Unwitnessed =
  | { readonly why: "none_asked" }
  | { readonly why: "too_few"; readonly needed: number }
  | { readonly why: "removed"; readonly name: string }

export type WitnessTroubles = {
  /** They signed another history of the log. */
  readonly contradicting: readonly Witness[]
  /** They are asked, and do not sign. */
  readonly silent: readonly Witness[]
  readonly unwitnessed: readonly Unwitnessed[]
}

/** What is wrong with the witnesses of a log. @param nowMs milliseconds since the epoch */
export function witnessTroubles({ witnesses, needed, checkpoint }: WitnessesAnswer, nowMs: number): WitnessTroubles {
  const asked = witnesses.filter(one => one.asked)
  const isContradicting = ({ fault }: Witness): boolean => fault === "contradicted"
  const removed = witnesses.flatMap((one): readonly Unwitnessed[] =>
    one.asked ? [] : [{ why: "removed", name: one.name }],
  )
  const tooFew: readonly Unwitnessed[] = silentSince(checkpoint?.cosigned_at, nowMs) ? [{ why: "too_few", needed }] : []
  return {
    contradicting: witnesses.filter(isContradicting),
    silent: asked.filter(
      one => !isContradicting(one) && (one.fault !== undefined || silentSince(one.cosigned_at, nowMs)),
    ),
    unwitnessed: [...removed, ...(asked.length === 0 ? [{ why: "none_asked" } as const] : tooFew)],
  }
}

export type OutsideTroubles = {
  /** They do not take the next entry. */
  readonly failing: readonly { readonly host: string; readonly fault: OutsideFault; readonly failing_seconds: number }[]
  /** An entry has waited for them for too long, though nothing failed. */
  readonly late: readonly { readonly host: string; readonly seconds: number }[]
}

/** What is wrong with the outside logs. */
export const outsideTroubles = (logs: readonly OutsideStanding[]): OutsideTroubles => ({
  failing: logs.flatMap(({ host, fault, failing_seconds = 0 }) =>
    fault === undefined ? [] : [{ host, fault, failing_seconds }],
  ),
  late: logs.flatMap(({ host, fault, oldest_age_seconds: seconds }) =>
    fault === undefined && seconds > LATE_SECONDS ? [{ host, seconds }] : [],
  ),
})
