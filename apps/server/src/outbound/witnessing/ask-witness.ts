/** One request to a witness, C2SP tlog-witness. */
import { utf8Decode } from "@runseal/canonical"
import type { WITNESS_FAULTS } from "@runseal/core/wire/log-answers"
import { type Cosignature, cosignatureOf } from "@runseal/log/notes/cosignature"
import { parseNote } from "@runseal/log/notes/signed-note"
import {
  ADD_CHECKPOINT,
  type AddCheckpoint,
  formatAddCheckpoint,
  parseTreeSize,
} from "@runseal/log/notes/witness-messages"
import type { Witness } from "../../options/witness.ts"
import { ask } from "../ask.ts"

/** For one request, its complete answer included, in milliseconds. */
export const DEADLINE_MS = 5000
/** Seconds that a witness's clock may be ahead of ours: readers do not count a later cosignature. */
export const MAX_AHEAD_SECONDS = 300
/** Bytes of an answer, after any content encoding is undone. A cosignature line is some 150, of ML-DSA-44 some 3,300. */
export const COSIGNATURE_MAX_BYTES = 16_384

/** Why a witness did not cosign. */
export type WitnessFault = (typeof WITNESS_FAULTS)[number]

/** Why there is no cosignature. */
export type WitnessRefusal = {
  readonly fault: WitnessFault
  /** Of the witness's answer. */
  readonly status?: number
  /** Entries that the witness says it cosigned. */
  readonly witness_size?: number
}

/** `size`: the tree that the witness cosigned last has this size, and not the one of the request. */
export type WitnessAnswer = { readonly cosignature: Cosignature } | { readonly size: number } | WitnessRefusal

/**
 * Asks for a cosignature, which is verified. Never rejects.
 * @param nowMs milliseconds since the epoch
 */
export async function askWitness(
  witness: Witness,
  request: AddCheckpoint,
  stop: AbortSignal,
  nowMs: () => number,
): Promise<WitnessAnswer> {
  const signal = AbortSignal.any([stop, AbortSignal.timeout(DEADLINE_MS)])
  try {
    const { status, bytes } = await ask(new URL(ADD_CHECKPOINT, witness.url), {
      body: formatAddCheckpoint(request),
      headers: { "content-type": "text/plain; charset=utf-8" },
      maxBytes: COSIGNATURE_MAX_BYTES,
      signal,
    })
    const body = bytes && utf8Decode(bytes)
    return body === undefined
      ? { fault: "invalid", status }
      : judge(status, body, witness, request, nowMs() / 1000 + MAX_AHEAD_SECONDS)
  } catch {
    return { fault: "unreachable" }
  }
}

/** @param latest Unix seconds; a cosignature with a later time is refused */
function judge(
  status: number,
  body: string,
  witness: Witness,
  { oldSize, checkpoint }: AddCheckpoint,
  latest: number,
): WitnessAnswer {
  if (status === 200) {
    const cosignature = cosignatureIn(body, checkpoint, witness)
    return cosignature === undefined || cosignature.time > latest ? { fault: "invalid", status } : { cosignature }
  }
  if (status === 422) return { fault: "contradicted", status }
  if (status !== 409) return { fault: "refused", status }
  const size = parseTreeSize(body)
  // No size, or the size of the request: the witness's tree of that size has another root.
  return size === undefined || size === oldSize ? { fault: "contradicted", status } : { size }
}

/** The witness's cosignature of this checkpoint; lines of other keys are ignored. */
function cosignatureIn(lines: string, checkpoint: string, { key }: Witness): Cosignature | undefined {
  const [asked, answered] = [parseNote(checkpoint), parseNote(checkpoint + lines)]
  // An empty line in the answer would move the end of the note's text.
  if (answered === undefined || answered.text !== asked?.text) return undefined
  return cosignatureOf(answered, key)
}
