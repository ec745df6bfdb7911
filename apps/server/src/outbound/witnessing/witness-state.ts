/** The state of one witness: what it cosigned last, and when the next request to it is due. */

import { buildConsistencyProof } from "@runseal/log/merkle/tiles"
import type { Cosignature } from "@runseal/log/notes/cosigned-note"
import { followed } from "../../followed-steps.ts"
import type { Witness } from "../../options/witness.ts"
import type { Database } from "../../store/driver/database.ts"
import { type LogHeadRow, readHead, readTile } from "../../store/tables/log-store.ts"
import type { Telemetry } from "../../telemetry.ts"
import { askWitness, type WitnessFault, type WitnessRefusal } from "./ask-witness.ts"

/** A cosignature of a log that does not grow is renewed after this time, in milliseconds: the new one shows that the log did not grow until then. */
const RENEW_MS = 600_000
/** Wait after a failure of a witness, in milliseconds, doubled with each further failure. */
const FIRST_WAIT_MS = 1000
const LONGEST_WAIT_MS = 300_000
/** Requests to one witness in one round: other processes of this log may have shown it a larger tree meanwhile. */
const MAX_REQUESTS = 3

export type StandingContext = {
  readonly db: Database
  /** Milliseconds since the epoch. */
  readonly nowMs: () => number
  readonly telemetry: Pick<Telemetry, "cosigned" | "notCosigned" | "witnessBack">
}

export type Standing = {
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

export const newStanding = (witness: Witness, size: number): Standing => ({
  witness,
  size,
  failures: 0,
  waitUntilMs: 0,
})

/** Whether a witness should be asked about a head now. */
export function isDue({ last, waitUntilMs }: Standing, { checkpoint }: LogHeadRow): boolean {
  const now = performance.now()
  return now >= waitUntilMs && (last?.checkpoint !== checkpoint || now - last.atMs >= RENEW_MS)
}

/** Asks a witness to cosign a head and stores the result. @throws StoreError */
export async function askForCosignature(
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
