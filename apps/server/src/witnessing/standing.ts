/** Where one witness stands: what it cosigned last, and when it may be asked again. */
import type { Cosignature } from "@runseal/core/transparency-log/cosigned-note"
import { buildConsistencyProof } from "@runseal/core/transparency-log/tiles"
import type { Logger } from "pino"
import type { Witness } from "../options/witness.ts"
import type { Database } from "../store/database.ts"
import { readHead, readTile } from "../store/log-store.ts"
import type { LogHeadRow } from "../store/schema.ts"
import type { Watch } from "../watch.ts"
import { askWitness, type Refusal, type WitnessFault } from "./ask-witness.ts"

/** A cosignature of a log that does not grow is renewed after this time: it says that no larger tree was seen until then. */
const RENEW_MS = 600_000
/** A witness that failed is left alone for this time, doubled with each further failure. */
const FIRST_WAIT_MS = 1000
const LONGEST_WAIT_MS = 300_000
/** Requests in one round: other processes of this log may be showing the witness more of it. */
const MAX_REQUESTS = 3

const SENTENCES: { readonly [fault in WitnessFault]: string } = {
  unreachable: "a witness did not answer in time",
  refused: "a witness refused the checkpoint",
  invalid: "a witness answered beside its protocol, or with a cosignature that does not verify",
  contradicted:
    "a witness has cosigned what is not the past of this log: the database is an older copy or was forked, or the witness is wrong",
}

export type StandingContext = {
  readonly db: Database
  readonly logger: Logger
  /** Milliseconds since the epoch. */
  readonly nowMs: () => number
  readonly watch: Pick<Watch, "cosigned" | "notCosigned">
}

export type Standing = {
  readonly witness: Witness
  /** Entries of the tree it cosigned last, as far as is known here. */
  size: number
  /** Its last cosignature and the checkpoint under it; when it was given, in milliseconds of the process's own clock. */
  last?: { readonly checkpoint: string; readonly cosignature: Cosignature; readonly atMs: number }
  failures: number
  /** Not to be asked before, in milliseconds of the process's own clock. */
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

/** Asks a witness about a head and notes what came of it. @throws StoreError */
export async function ask(
  standing: Standing,
  head: LogHeadRow,
  context: StandingContext,
  stop: AbortSignal,
): Promise<void> {
  const { name } = standing.witness.key
  const answer = await exchange(standing, head, context, stop)
  if (stop.aborted || answer === "overtaken") return
  if ("cosignature" in answer) {
    const { cosignature } = answer
    if (standing.failures > 0) context.logger.info({ witness: name }, "a witness cosigns again")
    standing.size = head.size
    standing.last = { checkpoint: head.checkpoint, cosignature, atMs: performance.now() }
    standing.failures = 0
    context.watch.cosigned(name, head.size, cosignature.time)
    return
  }
  const { fault } = answer
  standing.waitUntilMs = performance.now() + Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** standing.failures)
  standing.failures += 1
  context.watch.notCosigned(name, fault)
  const facts = { witness: name, ...answer, log_size: head.size }
  context.logger[fault === "contradicted" ? "error" : "warn"](facts, SENTENCES[fault])
}

/** The cosignature; why there is none; or that the log has grown meanwhile and the witness knows it. */
async function exchange(
  standing: Standing,
  head: LogHeadRow,
  { db, nowMs }: Pick<StandingContext, "db" | "nowMs">,
  stop: AbortSignal,
): Promise<{ readonly cosignature: Cosignature } | Refusal | "overtaken"> {
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
