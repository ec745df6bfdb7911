/**
 * Gets the log's checkpoints cosigned in the background: sealing never waits for a witness. In each round all witnesses are asked to cosign
 * the same checkpoint, the newest, so that one checkpoint has all their cosignatures.
 */
import { setTimeout } from "node:timers/promises"
import type { WitnessesAnswer } from "@runseal/core/wire/log-answers"
import { parseCheckpoint } from "@runseal/log/notes/checkpoint"
import { cosignatureTime } from "@runseal/log/notes/cosignature"
import { parseNote } from "@runseal/log/notes/signed-note"
import type { Config } from "../../options/config.ts"
import type { Source } from "../../store/driver/session.ts"
import type { ShownHead } from "../../store/tables/shown-head.ts"
import { keepWitnessed, readWitnessed } from "../../store/tables/witnessed-checkpoint.ts"
import type { Telemetry } from "../../telemetry.ts"
import { askForCosignature, isDue, newStanding, type Standing, type StandingContext } from "./witness-state.ts"

/** Shortest time between two rounds, in milliseconds. */
const ROUND_MS = 1000
/** Between two polls of the log, which other processes may grow, in milliseconds. */
const LOG_POLL_MS = 5000

type CosignerContext = StandingContext & {
  readonly config: Pick<Config, "witnesses" | "witnessesNeeded">
  readonly shownHead: ShownHead
  readonly telemetry: StandingContext["telemetry"] & Pick<Telemetry, "roundFailed" | "witnessed">
}

export type Cosigner = {
  /** The log has grown. */
  readonly wake: () => void
  /** What is shown of the witnesses. */
  readonly shown: { readonly showWitnesses: () => Promise<WitnessesAnswer> }
  /** Ends requests under way. */
  readonly close: () => Promise<void>
}

/** Starts the rounds. Does nothing without witnesses. */
export function openCosigner(context: CosignerContext): Cosigner {
  const stop = new AbortController()
  let wakeUp = new AbortController()
  let standings: readonly Standing[] = []
  const playRounds = async (): Promise<void> => {
    while (!stop.signal.aborted) {
      try {
        if (standings.length === 0) standings = await openStandings(context)
        await playRound(standings, context, stop.signal)
      } catch (error) {
        context.telemetry.roundFailed(error)
      }
      await pause(ROUND_MS, stop.signal)
      await pause(LOG_POLL_MS, AbortSignal.any([stop.signal, wakeUp.signal]))
      wakeUp = new AbortController()
    }
  }
  const ended = context.config.witnesses.length === 0 ? Promise.resolve() : playRounds()
  return {
    // Checked first, because abort() makes an error with a stack even when the signal has aborted already.
    wake: () => {
      if (!wakeUp.signal.aborted) wakeUp.abort()
    },
    shown: { showWitnesses: () => showWitnesses(context, standings) },
    close: async () => {
      stop.abort()
      await ended
    },
  }
}

/** Resolves after the time, or when the signal aborts. */
const pause = (ms: number, signal: AbortSignal): Promise<void> =>
  setTimeout(ms, undefined, { signal }).catch(() => undefined)

/** Starts from the newest witnessed checkpoint. A witness that cosigned a larger tree answers with its size. */
async function openStandings({ db, config }: CosignerContext): Promise<readonly Standing[]> {
  const known = await readWitnessed(db)
  return config.witnesses.map(witness => newStanding(witness, known?.size ?? 0))
}

async function playRound(standings: readonly Standing[], context: CosignerContext, stop: AbortSignal): Promise<void> {
  const { db, shownHead, config, telemetry } = context
  const head = await shownHead()
  const due = standings.filter(standing => isDue(standing, head))
  if (due.length === 0) return
  // The round ends when all have answered, so that a witness has one request at a time.
  const asked = await Promise.allSettled(due.map(standing => askForCosignature(standing, head, context, stop)))
  for (const one of asked) if (one.status === "rejected") throw one.reason
  const lines = standings.flatMap(({ last }) => (last?.checkpoint === head.checkpoint ? [last.cosignature.line] : []))
  if (stop.aborted || lines.length < config.witnessesNeeded) return
  await keepWitnessed(db, { size: head.size, checkpoint: head.checkpoint + lines.join("") })
  telemetry.witnessed(head.size)
}

// What is shown of the witnesses of the log: when each cosigned last, and which one is silent. docs/api.md, "The log".

const clock = (ms: number): string => new Date(ms).toISOString()

type Shown = WitnessesAnswer["witnesses"][number]

/** Who signed the newest checkpoint that enough witnesses cosigned, and when by their clocks: stored once each signature was verified. */
async function readSigned(db: Source): Promise<{ readonly size: number; readonly times: ReadonlyMap<string, number> }> {
  const stored = await readWitnessed(db)
  const note = stored && parseNote(stored.checkpoint)
  const origin = note && parseCheckpoint(note.text)?.origin
  if (note === undefined || stored === undefined) return { size: 0, times: new Map() }
  const others = note.signatures.filter(({ name }) => name !== origin)
  return {
    size: stored.size,
    times: new Map(
      others.flatMap(({ name, signature }) => {
        const time = cosignatureTime(signature)
        return time === undefined ? [] : [[name, time * 1000]]
      }),
    ),
  }
}

type WitnessParts = {
  readonly db: Source
  readonly config: Pick<Config, "witnesses" | "witnessesNeeded">
}

/**
 * The witnesses that this process asks, and those that signed the newest witnessed checkpoint and are not asked any more.
 * @param standings what this process knows of each witness; empty until its first round
 */
async function showWitnesses(
  { db, config }: WitnessParts,
  standings: readonly Readonly<Standing>[],
): Promise<WitnessesAnswer> {
  const { size, times } = await readSigned(db)
  const asked = config.witnesses.map(({ key: { name } }): Shown => {
    const standing = standings.find(one => one.witness.key.name === name)
    const own = standing?.last && { size: standing.size, ms: standing.last.cosignature.time * 1000 }
    const ms = times.get(name)
    const last = own ?? (ms === undefined ? undefined : { size, ms })
    const failing = standing?.failing
    return {
      name,
      asked: true,
      ...(last === undefined ? {} : { size: last.size, cosigned_at: clock(last.ms) }),
      ...(failing === undefined ? {} : { fault: failing.fault, failing_since: clock(failing.sinceMs) }),
    }
  })
  const removed = [...times].filter(([name]) => !asked.some(one => one.name === name))
  const gone = removed.map(([name, ms]): Shown => ({ name, asked: false, size, cosigned_at: clock(ms) }))
  return {
    ok: true,
    needed: config.witnessesNeeded,
    ...(times.size === 0 ? {} : { checkpoint: { size, cosigned_at: clock(Math.max(...times.values())) } }),
    witnesses: [...asked, ...gone],
  }
}
