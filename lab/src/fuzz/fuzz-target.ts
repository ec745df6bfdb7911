/** A piece of code that takes bytes from strangers, and what must hold whatever they are. */
export type FuzzTarget = {
  readonly name: string
  /** Inputs to begin with: valid ones, of every kind. The kept corpus comes on top. */
  readonly seeds: () => readonly Uint8Array[]
  /** Feeds the input in and checks what must hold. Throws when it does not: a find. */
  readonly run: (input: Uint8Array) => void | Promise<void>
  /** Texts that mean something to the code, put in by chance. */
  readonly words?: readonly string[]
  /** The inputs are JSON: they are also changed as trees, and sealed again after a change. */
  readonly json?: true
}

/** What must hold does not: the sentence says what. */
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
/** The text behind an input; what is no UTF-8 is replaced, as a careless reader would do. */
export const textOf = (input: Uint8Array): string => decoder.decode(input)
export const seedsOf = (...texts: readonly string[]): readonly Uint8Array[] => texts.map(bytesOf)
