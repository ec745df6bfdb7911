/** `--opening FILE`: whether a record closes the permit of an opening that its reader has stored. */
import { StrictJsonError } from "@runseal/canonical"
import type { Opening } from "@runseal/core/artifacts/opening"
import { savedProblem, savedText } from "@runseal/core/presentation/saved-text"
import { compareClose } from "@runseal/core/verify/close-of-opening"
import { verifyRead } from "@runseal/core/verify/document"
import {
  parseDocument,
  type ReadDocument,
  readDocument,
  type Unreadable,
  unreadable,
} from "@runseal/core/verify/read-document"
import { VERDICTS } from "@runseal/core/verify/report"
import type { TrustedKeys } from "@runseal/log/trust/trusted-keys"
import { InputError } from "./input-error.ts"
import type { Expectation, Expected } from "./judgement.ts"
import { DOCUMENT_LIMITS, readFile } from "./read-input.ts"

/** Reads the opening, which must be one, and verifies it. Throws InputError. @param trusts those of the record */
export async function openingExpectation(file: string, trusts: readonly TrustedKeys[]): Promise<Expectation> {
  const read = readBytes(await readFile(file, DOCUMENT_LIMITS))
  if ("unreadable" in read) throw new InputError(`--opening cannot read ${file}: ${read.unreadable}.`)
  if (read.document !== "opening") throw new InputError(`--opening takes the opening of a permit, and ${file} is none.`)
  const { verdict, first_failure } = verifyRead(read, trusts)
  if (verdict === VERDICTS.opening) return (_, document) => closeExpected(document, read.value, file)
  const why = `${file} does not verify; first failed check: ${first_failure}`
  return () => ({ id: "expected_opening", result: "fail", message: why })
}

function closeExpected(document: Uint8Array, opening: Opening, file: string): Expected {
  const read = readBytes(document)
  const id = "expected_opening"
  if ("unreadable" in read || read.document !== "bundle")
    return { id, result: "fail", message: "the document is no record of a run" }
  const { problems, notes } = compareClose(read.value.bundle, opening)
  const [problem] = problems
  if (problem !== undefined) return { id, result: "fail", message: `the record ${problem}` }
  return { id, result: "pass", message: [`the record closes the permit of ${file}`, ...notes].join("; ") }
}

function readBytes(bytes: Uint8Array): ReadDocument | Unreadable {
  const problem = savedProblem(bytes)
  if (problem !== undefined) return unreadable(problem)
  try {
    return readDocument(parseDocument(savedText(bytes)))
  } catch (error) {
    if (error instanceof StrictJsonError) return unreadable(`not strict JSON: ${error.message}`)
    throw error
  }
}
