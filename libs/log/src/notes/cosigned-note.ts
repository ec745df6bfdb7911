import { verifyCosignature } from "./cosignature.ts"
import { isWitnessKey, type Note, type NoteKey, noteSignatureLine } from "./signed-note.ts"

/** A witness's valid cosignature under a note. */
export interface Cosignature {
  readonly witness: NoteKey
  /** Unix seconds, by the witness's clock. */
  readonly time: number
  /** Its signature line, with the newline. */
  readonly line: string
}

/** The latest valid cosignature of a witness under a note; undefined when there is none. Never throws. */
export function cosignatureOf({ text, signatures }: Note, witness: NoteKey): Cosignature | undefined {
  if (!isWitnessKey(witness)) return undefined
  return signatures
    .filter(({ name, keyId }) => name === witness.name && keyId === witness.keyId)
    .reduce<Cosignature | undefined>((latest, signature) => {
      const time = verifyCosignature(witness, text, signature.signature)
      if (time === undefined || (latest !== undefined && latest.time >= time)) return latest
      return { witness, time, line: noteSignatureLine(signature) }
    }, undefined)
}
