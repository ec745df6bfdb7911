/** Kinds and probabilities of faults. Most worlds have a few kinds only, since many faults at once hide the effect of each. */

import type { Seeded } from "../seeded.ts"
import type { Mishap } from "./database/server.ts"
import type { Statement } from "./database/sql-statement.ts"

/** Probabilities: per statement, commit, write of a head, or step of the scheduler. */
export type Faults = {
  readonly statement_refused: number
  readonly statement_lost: number
  readonly commit_refused: number
  readonly commit_lost: number
  /** That a COMMIT takes effect later when its connection is lost before the answer. */
  readonly commit_late: number
  readonly head_write_fails: number
  readonly crash: number
  readonly crash_after_commit: number
  readonly database_restart: number
  readonly idle_transaction_ended: number
  readonly lock_wait_ended: number
  readonly clock_step: number
}

export const NO_FAULTS: Faults = {
  statement_refused: 0,
  statement_lost: 0,
  commit_refused: 0,
  commit_lost: 0,
  commit_late: 0,
  head_write_fails: 0,
  crash: 0,
  crash_after_commit: 0,
  database_restart: 0,
  idle_transaction_ended: 0,
  lock_wait_ended: 0,
  clock_step: 0,
}

/** The faults of a world: each kind is absent from half of the worlds. */
export function drawFaults(random: Seeded): Faults {
  const draw = (seldom: number, often: number): number => random.pick([0, 0, seldom, often])
  return {
    statement_refused: draw(0.01, 0.05),
    statement_lost: draw(0.01, 0.05),
    commit_refused: draw(0.05, 0.2),
    commit_lost: draw(0.1, 0.4),
    commit_late: draw(0.3, 0.8),
    head_write_fails: draw(0.1, 0.4),
    crash: draw(0.004, 0.02),
    crash_after_commit: draw(0.05, 0.2),
    database_restart: draw(0.002, 0.01),
    idle_transaction_ended: draw(0.01, 0.05),
    lock_wait_ended: draw(0.02, 0.1),
    clock_step: draw(0.01, 0.05),
  }
}

/** SQLSTATEs with which a correct statement may fail: cancelled, serialization failure, disk full, shutdown, internal error. */
const REFUSALS = ["57014", "40001", "53100", "57P01", "XX000"]

/** The fault of a statement, if any. A charge is a commit too. */
export function drawMishap(random: Seeded, faults: Faults, kind: Statement["kind"]): Mishap | undefined {
  const [lost, refused] =
    kind === "commit" || kind === "charge"
      ? [faults.commit_lost, faults.commit_refused]
      : [faults.statement_lost, faults.statement_refused]
  if (random.chance(lost)) return { kind: random.chance(0.5) ? "lost before" : "lost after" }
  if (random.chance(refused)) return { kind: "refused", sqlstate: random.pick(REFUSALS) }
  return undefined
}

/** Error of a clock after it was set, in milliseconds. */
export const drawClockStep = (random: Seeded): number =>
  random.pick([-900_000, -61_000, -5000, 0, 0, 0, 5000, 59_000, 61_000, 900_000])
