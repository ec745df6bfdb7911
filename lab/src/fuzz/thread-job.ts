/** The job of a fuzzing thread, its messages, and the shared memory in which it stores the current input. */
import { MAX_INPUT_BYTES } from "./change-bytes.ts"

export type ThreadJob = {
  readonly target: string
  readonly seed: number
  /** Unix milliseconds. */
  readonly until: number
  readonly corpus: readonly Uint8Array[]
  /** Two numbers: how many inputs were started, and the length of the last. */
  readonly state: Int32Array<SharedArrayBuffer>
  readonly input: Uint8Array<SharedArrayBuffer>
}

export type ThreadMessage =
  | { readonly kind: "added"; readonly input: Uint8Array }
  | { readonly kind: "find"; readonly input: Uint8Array; readonly problem: string }
  | { readonly kind: "end"; readonly runs: number; readonly blocks: number }

const STATE_BYTES = 8

/** Memory that both threads share. */
export const jobMemory = (): Pick<ThreadJob, "state" | "input"> => ({
  state: new Int32Array(new SharedArrayBuffer(STATE_BYTES)),
  input: new Uint8Array(new SharedArrayBuffer(MAX_INPUT_BYTES)),
})

/** Stores the current input, so that it is known when it hangs; of a long one, its beginning. */
export function writeInput({ state, input: memory }: Pick<ThreadJob, "state" | "input">, input: Uint8Array): void {
  const stored = input.subarray(0, memory.length)
  memory.set(stored)
  Atomics.store(state, 1, stored.length)
  Atomics.add(state, 0, 1)
}

/** How many inputs were started. */
export const startedInputs = ({ state }: Pick<ThreadJob, "state">): number => Atomics.load(state, 0)

/** A copy of the last input that was started. */
export const lastInput = ({ state, input }: Pick<ThreadJob, "state" | "input">): Uint8Array =>
  Uint8Array.from(input.subarray(0, Atomics.load(state, 1)))
