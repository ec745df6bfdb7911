import { describe, expect, test } from "vitest"
import { formatNote, formatVkey, noteSignatureLine, parseNote, parseVkey } from "../src/notes/signed-note.ts"
import { verifyNote } from "../src/notes/verified-note.ts"
import { presence, present, readJson } from "./vectors.ts"

interface NoteVectors {
  notes: { source: string; vkey: string; text: string; note: string; valid: boolean }[]
  badVkeys: { vkey: string; why: string }[]
}

const { notes, badVkeys } = present("signed-note")
  ? readJson<NoteVectors>("signed-note/note-vectors.json")
  : { notes: [], badVkeys: [] }

describe.skipIf(!present("signed-note"))(`signed-note vectors${presence("signed-note")}`, () => {
  test.each(notes)("the note of $source verifies", ({ vkey, text, note, valid }) => {
    const key = parseVkey(vkey)!
    expect(formatVkey(key)).toBe(vkey)
    expect(verifyNote(note, [key])).toEqual(valid ? { text, signers: [{ key }] } : undefined)
  })

  test.each(notes)("the note of $source is written as it was read", ({ note }) => {
    const { text, signatures } = parseNote(note)!
    expect(formatNote(text, signatures.map(noteSignatureLine))).toBe(note)
  })

  test.each(badVkeys)("a vkey is refused: $why", ({ vkey }) => {
    expect(parseVkey(vkey)).toBeUndefined()
  })
})
