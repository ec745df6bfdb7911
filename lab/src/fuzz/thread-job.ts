/** What a fuzzing thread is given, what it tells, and the memory in which it leaves the input under way. */
import { MAX_INPUT_BYTES } from "./change-bytes.ts"

export type ThreadJob = {
  readonly target: string
  readonly seed: number
  /** Unix milliseconds. */
  readonly until: number
  readonly corpus: readonly Uint8Array[]
  /** Two counters: how many inputs have begun, and the length of the last. */
  readonly state: Int32Array<SharedArrayBuffer>
  readonly input: Uint8Array<SharedArrayBuffer>
}

export type ThreadMessage =
  | { readonly kind: "kept"; readonly input: Uint8Array }
  | { readonly kind: "find"; readonly input: Uint8Array; readonly problem: string }
  | { readonly kind: "end"; readonly runs: number; readonly blocks: number }

const STATE_BYTES = 8

/** Memory that both threads see. */
export const jobMemory = (): Pick<ThreadJob, "state" | "input"> => ({
  state: new Int32Array(new SharedArrayBuffer(STATE_BYTES)),
  input: new Uint8Array(new SharedArrayBuffer(MAX_INPUT_BYTES)),
})

/** Leaves an input where it can be found when it never ends; of a longer one, its beginning. */
export function writeInput({ state, input: memory }: Pick<ThreadJob, "state" | "input">, input: Uint8Array): void {
  const kept = input.subarray(0, memory.length)
  memory.set(kept)
  Atomics.store(state, 1, kept.length)
  Atomics.add(state, 0, 1)
}

/** How many inputs have begun. */
export const begun = ({ state }: Pick<ThreadJob, "state">): number => Atomics.load(state, 0)

/** A copy of the last input that began. */
export const lastInput = ({ state, input }: Pick<ThreadJob, "state" | "input">): Uint8Array =>
  Uint8Array.from(input.subarray(0, Atomics.load(state, 1)))
