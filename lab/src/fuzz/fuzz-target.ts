/** Code that parses untrusted bytes, and what must hold for every input. */
export type FuzzTarget = {
  readonly name: string
  /** Initial inputs: valid ones, of every kind. The stored corpus is added to them. */
  readonly seeds: () => readonly Uint8Array[]
  /** Runs the code on the input and checks what must hold. An error is a find. */
  readonly run: (input: Uint8Array) => void | Promise<void>
  /** Texts with a meaning for the code, inserted at random. */
  readonly words?: readonly string[]
  /** The inputs are JSON: they are also mutated as trees, and sealed again afterwards. */
  readonly json?: true
}

/** Something that must hold does not; the message states it. */
export class BrokenPromise extends Error {
  override readonly name = "BrokenPromise"
}

/** @throws BrokenPromise unless `holds` */
export function promise(holds: boolean, sentence: string): void {
  if (!holds) throw new BrokenPromise(sentence)
}

const encoder = new TextEncoder()
const decoder = new TextDecoder("utf-8", { ignoreBOM: true })

export const bytesOf = (text: string): Uint8Array => encoder.encode(text)
/** The text of an input; invalid UTF-8 is replaced, not refused. */
export const textOf = (input: Uint8Array): string => decoder.decode(input)
export const seedsOf = (...texts: readonly string[]): readonly Uint8Array[] => texts.map(bytesOf)
