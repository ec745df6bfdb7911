/** What is shown of the witnesses of the log: when each cosigned last, and which one is silent. docs/api.md, "The log". */
import type { WitnessesAnswer } from "@runseal/core/wire/log-answers"
import { parseCheckpoint } from "@runseal/log/notes/checkpoint"
import { cosignatureTime } from "@runseal/log/notes/cosignature"
import { parseNote } from "@runseal/log/notes/signed-note"
import type { Config } from "../../options/config.ts"
import type { Source } from "../../store/driver/session.ts"
import { readWitnessed } from "../../store/tables/witnessed-checkpoint.ts"
import type { Standing } from "./witness-state.ts"

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
export async function showWitnesses(
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
