/**
 * Gets the log's checkpoints cosigned in the background: sealing never waits for a witness. In each round all witnesses are asked to cosign
 * the same checkpoint, the newest, so that one checkpoint has all their cosignatures.
 */
import { setTimeout } from "node:timers/promises"
import type { WitnessesAnswer } from "@runseal/core/wire/log-answers"
import { buildConsistencyProof } from "@runseal/log/merkle/tiles"
import { parseCheckpoint } from "@runseal/log/notes/checkpoint"
import { type Cosignature, cosignatureTime } from "@runseal/log/notes/cosignature"
import { parseNote } from "@runseal/log/notes/signed-note"
import { followed } from "../../followed-steps.ts"
import type { Config } from "../../options/config.ts"
import type { Witness } from "../../options/witness.ts"
import type { Database } from "../../store/driver/database.ts"
import type { Source } from "../../store/driver/session.ts"
import { type LogHeadRow, readHead, readTile } from "../../store/tables/log-store.ts"
import type { ShownHead } from "../../store/tables/shown-head.ts"
import { keepWitnessed, readWitnessed } from "../../store/tables/witnessed-checkpoint.ts"
import type { Telemetry } from "../../telemetry.ts"
import { askWitness, type WitnessFault, type WitnessRefusal } from "./ask-witness.ts"

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

// The state of one witness: what it cosigned last, and when the next request to it is due.

/** A cosignature of a log that does not grow is renewed after this time, in milliseconds: the new one shows that the log did not grow until then. */
const RENEW_MS = 600_000
/** Wait after a failure of a witness, in milliseconds, doubled with each further failure. */
const FIRST_WAIT_MS = 1000
const LONGEST_WAIT_MS = 300_000
/** Requests to one witness in one round: other processes of this log may have shown it a larger tree meanwhile. */
const MAX_REQUESTS = 3

type StandingContext = {
  readonly db: Database
  /** Milliseconds since the epoch. */
  readonly nowMs: () => number
  readonly telemetry: Pick<Telemetry, "cosigned" | "notCosigned" | "witnessBack">
}

type Standing = {
  readonly witness: Witness
  /** Entries of the tree that it cosigned last, as far as this process knows. */
  size: number
  /** Its last cosignature and the checkpoint under it; when it was given, in milliseconds of the process's own clock. */
  last?: { readonly checkpoint: string; readonly cosignature: Cosignature; readonly atMs: number }
  failures: number
  /** Why it gave no cosignature when it was asked last, and since when it gives none, in milliseconds since the epoch; absent while it cosigns. */
  failing?: { readonly fault: WitnessFault; readonly sinceMs: number }
  /** Earliest time of the next request, in milliseconds of the process's own clock. */
  waitUntilMs: number
}

const newStanding = (witness: Witness, size: number): Standing => ({
  witness,
  size,
  failures: 0,
  waitUntilMs: 0,
})

/** Whether a witness should be asked about a head now. */
function isDue({ last, waitUntilMs }: Standing, { checkpoint }: LogHeadRow): boolean {
  const now = performance.now()
  return now >= waitUntilMs && (last?.checkpoint !== checkpoint || now - last.atMs >= RENEW_MS)
}

/** Asks a witness to cosign a head and stores the result. @throws StoreError */
async function askForCosignature(
  standing: Standing,
  head: LogHeadRow,
  context: StandingContext,
  stop: AbortSignal,
): Promise<void> {
  const { name } = standing.witness.key
  const cosign = { name: "cosign", facts: { witness: name, size: head.size }, apart: [] }
  const answer = await followed(cosign, async note => {
    const given = await exchange(standing, head, context, stop)
    if (typeof given === "object" && "fault" in given) note({ fault: given.fault })
    return given
  })
  if (stop.aborted || answer === "overtaken") return
  if ("cosignature" in answer) {
    const { cosignature } = answer
    if (standing.failures > 0) context.telemetry.witnessBack(name)
    standing.size = head.size
    standing.last = { checkpoint: head.checkpoint, cosignature, atMs: performance.now() }
    standing.failures = 0
    delete standing.failing
    context.telemetry.cosigned(name, head.size, cosignature.time)
    return
  }
  standing.waitUntilMs = performance.now() + Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** standing.failures)
  standing.failures += 1
  standing.failing = { fault: answer.fault, sinceMs: standing.failing?.sinceMs ?? context.nowMs() }
  context.telemetry.notCosigned(name, answer, head.size)
}

/** The cosignature; why there is none; or "overtaken": the log has grown meanwhile, and the witness has cosigned a larger tree. */
async function exchange(
  standing: Standing,
  head: LogHeadRow,
  { db, nowMs }: Pick<StandingContext, "db" | "nowMs">,
  stop: AbortSignal,
): Promise<{ readonly cosignature: Cosignature } | WitnessRefusal | "overtaken"> {
  let oldSize = Math.min(standing.size, head.size)
  for (let asked = 0; asked < MAX_REQUESTS; asked++) {
    const proof =
      oldSize === 0
        ? []
        : await buildConsistencyProof(oldSize, head.size, (level, index, width) => readTile(db, level, index, width))
    const answer = await askWitness(standing.witness, { oldSize, proof, checkpoint: head.checkpoint }, stop, nowMs)
    if (!("size" in answer)) return answer
    if (answer.size > head.size) {
      const { size } = await readHead(db)
      return size < answer.size ? { fault: "contradicted", witness_size: answer.size } : "overtaken"
    }
    oldSize = answer.size
    standing.size = oldSize
  }
  return { fault: "invalid" }
}
