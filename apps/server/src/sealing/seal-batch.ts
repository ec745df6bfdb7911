import type { Draft } from "@runseal/core/seal/draft"
import { NO_PERMITS } from "@runseal/core/seal/permits/settle-permits"
import { asStageError } from "@runseal/core/seal/record"
import type { StageFailure } from "@runseal/core/seal/stage-failure"
import type { Batch, BatchContext, BatchStart, Failures, Round } from "./batch.ts"
import { permitRuns } from "./batch.ts"
import { sealRound } from "./seal-round.ts"

/**
 * Builds the batch, in rounds. A run that fails in stages 7–9, or whose record does not verify, is a stage_error in the next
 * round, which starts from the same Moments. A run that fails as a stage_error too, and any other item that fails, is refused, and
 * the next round is without it. So each round has fewer items that can fail, and no item fails because of another.
 */
export async function buildBatch(work: Round, start: BatchStart, context: BatchContext): Promise<Batch> {
  const failures: Failures = {
    runs: new Map(),
    attestations: new Map(),
    statements: new Map(),
    openings: new Map(),
    ends: new Map(),
    redemptions: new Map(),
    events: new Map(),
  }
  const sealed = await sealRound(work, start, context, failures)
  if ("batch" in sealed) return sealed.batch
  const { runs: ofRuns, ...ofOthers } = failures
  for (const failed of Object.values(ofOthers)) for (const failure of failed.values()) context.reportFault(failure)
  const rebuilt = await buildBatch(nextRound(work, sealed.runs, failures), start, context)
  for (const [at, failure] of ofRuns) context.reportFault(failure, { run_id: rebuilt.runs[at]?.bundle.run.run_id })
  return rebuilt
}

/** @param runs of the round that failed: the drafts, and what its permits became */
function nextRound(work: Round, runs: readonly (Draft | undefined)[], failures: Failures): Round {
  const { statements = [], permits = NO_PERMITS } = work
  const at = permitRuns(work)
  const faults = new Map(work.faults)
  for (const [index, { fault }] of failures.runs) if (index >= work.drafts.length) faults.set(index, fault)
  /** A run of a permit that failed as a stage_error too. */
  const isLost = (index: number): boolean =>
    failures.runs.has(index) && (work.faults?.has(index) === true || runs[index]?.outcome_kind === "stage_error")
  const without = <Item>(items: readonly (Item | undefined)[], gone: (at: number) => boolean): (Item | undefined)[] =>
    items.map((item, i) => (gone(i) ? undefined : item))
  return {
    drafts: work.drafts.map((draft, i) => afterFailure(draft, failures.runs.get(i))),
    attestations: without(work.attestations, i => failures.attestations.has(i)),
    statements: without(statements, i => failures.statements.has(i)),
    permits: {
      closes: without(permits.closes, i => isLost(at.close(i))),
      ends: without(permits.ends, i => failures.ends.has(i)),
      redemptions: without(permits.redemptions, i => failures.redemptions.has(i)),
      openings: without(permits.openings, i => failures.openings.has(i) || isLost(at.opening(i))),
    },
    // An event comes behind those before it or not at all: the next batch tries again.
    ...(work.due && { due: work.due.slice(0, Math.min(work.due.length, ...failures.events.keys())) }),
    faults,
  }
}

function afterFailure(draft: Draft | undefined, failure: StageFailure | undefined): Draft | undefined {
  if (draft === undefined || failure === undefined) return draft
  return draft.outcome_kind === "stage_error" ? undefined : asStageError(draft, failure.fault)
}
