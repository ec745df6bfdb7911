/**
 * Gets the log's checkpoints cosigned, beside everything else: nobody who seals waits for a witness. In each round all witnesses
 * are asked about the same checkpoint, the newest, so that one checkpoint bears all their cosignatures.
 */
import { setTimeout } from "node:timers/promises"
import type { Config } from "../../options/config.ts"
import type { ShownHead } from "../../store/tables/shown-head.ts"
import { keepWitnessed, readWitnessed } from "../../store/tables/witnessed-checkpoint.ts"
import type { Telemetry } from "../../telemetry.ts"
import { ask, isDue, newStanding, type Standing, type StandingContext } from "./witness-state.ts"

/** Between two rounds at least, in milliseconds. */
const ROUND_MS = 1000
/** Between two looks at a log that this process does not grow, in milliseconds. */
const LOOK_MS = 5000

type CosignerContext = StandingContext & {
  readonly config: Pick<Config, "witnesses" | "witnessesNeeded">
  readonly shownHead: ShownHead
  readonly telemetry: StandingContext["telemetry"] & Pick<Telemetry, "roundFailed" | "witnessed">
}

export type Cosigner = {
  /** The log has grown. */
  readonly wake: () => void
  /** Ends requests under way. */
  readonly close: () => Promise<void>
}

/** Begins to ask. Without witnesses nothing is done. */
export function openCosigner(context: CosignerContext): Cosigner {
  const stop = new AbortController()
  let bell = new AbortController()
  const playRounds = async (): Promise<void> => {
    let standings: readonly Standing[] = []
    while (!stop.signal.aborted) {
      try {
        if (standings.length === 0) standings = await openStandings(context)
        await playRound(standings, context, stop.signal)
      } catch (error) {
        context.telemetry.roundFailed(error)
      }
      await pause(ROUND_MS, stop.signal)
      await pause(LOOK_MS, AbortSignal.any([stop.signal, bell.signal]))
      bell = new AbortController()
    }
  }
  const ended = context.config.witnesses.length === 0 ? Promise.resolve() : playRounds()
  return {
    // Node makes the reason of an abort first, with a stack, also where the signal has aborted already.
    wake: () => {
      if (!bell.signal.aborted) bell.abort()
    },
    close: async () => {
      stop.abort()
      await ended
    },
  }
}

/** Resolves after the time, or when the signal aborts. */
const pause = (ms: number, signal: AbortSignal): Promise<void> =>
  setTimeout(ms, undefined, { signal }).catch(() => undefined)

/** A witness that knows better says so. */
async function openStandings({ db, config }: CosignerContext): Promise<readonly Standing[]> {
  const known = await readWitnessed(db)
  return config.witnesses.map(witness => newStanding(witness, known?.size ?? 0))
}

async function playRound(standings: readonly Standing[], context: CosignerContext, stop: AbortSignal): Promise<void> {
  const { db, shownHead, config, telemetry } = context
  const head = await shownHead()
  const due = standings.filter(standing => isDue(standing, head))
  if (due.length === 0) return
  // All are waited for: no witness is asked while an earlier request to it is under way.
  const asked = await Promise.allSettled(due.map(standing => ask(standing, head, context, stop)))
  for (const one of asked) if (one.status === "rejected") throw one.reason
  const lines = standings.flatMap(({ last }) => (last?.checkpoint === head.checkpoint ? [last.cosignature.line] : []))
  if (stop.aborted || lines.length < config.witnessesNeeded) return
  await keepWitnessed(db, { size: head.size, checkpoint: head.checkpoint + lines.join("") })
  telemetry.witnessed(head.size)
}
