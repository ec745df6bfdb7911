import { describe, expect, test } from "vitest"
import { newEd25519 } from "../../test/own-log.ts"
import { cosignatureLine } from "../entries/log-signing.ts"
import { cosignatureOf } from "./cosignature.ts"
import { formatNote, noteKey, noteSignatureLine, parseNote } from "./signed-note.ts"

const TEXT = "example.com/behind-the-sofa\n20852163\nCsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=\n"
const TIME = 1_679_315_147
const signer = newEd25519()
const witness = noteKey("witness.example.com/w1", "cosignature/v1", signer.raw)
const line = (time: number, text = TEXT, sign = signer.sign): string => cosignatureLine(witness, time, text, sign)
const find = (lines: readonly string[]) => cosignatureOf(parseNote(formatNote(TEXT, lines))!, witness)

describe("the cosignature of a witness", () => {
  test("is found with its time and its line", () => {
    expect(find([line(TIME)])).toEqual({ witness, time: TIME, line: line(TIME) })
  })

  test("is the latest of several", () => {
    expect(find([line(TIME), line(TIME + 9), line(TIME + 3)])?.time).toBe(TIME + 9)
  })

  test("is none under another text, by another key, or under another name", () => {
    expect(find([line(TIME, `${TEXT}extension\n`)])).toBeUndefined()
    expect(find([line(TIME, TEXT, newEd25519().sign)])).toBeUndefined()
    const other = noteKey("witness.example.com/w2", "cosignature/v1", signer.raw)
    expect(find([cosignatureLine(other, TIME, TEXT, signer.sign)])).toBeUndefined()
  })

  test("is not hidden by a bad line of the same name", () => {
    expect(find([line(TIME, `${TEXT}extension\n`), line(TIME)])?.time).toBe(TIME)
  })

  test("is never that of a log's own key", () => {
    const log = noteKey(witness.name, "ed25519", signer.raw)
    const [cosigned] = parseNote(formatNote(TEXT, [line(TIME)]))!.signatures
    const note = parseNote(formatNote(TEXT, [noteSignatureLine({ ...cosigned!, keyId: log.keyId })]))!
    expect(cosignatureOf(note, log)).toBeUndefined()
  })
})
