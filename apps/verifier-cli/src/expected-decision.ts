/** `--decided-by FILE`: whether the policy decides as the record says. Loaded only when it is given, and so is the policy engine. */
import { parseStrictJson, StrictJsonError, utf8Decode } from "@runseal/canonical"
import { savedProblem, savedText } from "@runseal/core/presentation/saved-text"
import { parseDocument, readDocument } from "@runseal/core/verify/read-document"
import { member } from "@runseal/core/vocabulary/json-members"
import type { PolicyDocument } from "@runseal/core/wire/policy-document-schema"
import type { DecidedAgain, SealedDecision } from "@runseal/policy/decide-again"
import { InputError } from "./input-error.ts"
import type { Expectation, Expected } from "./judgement.ts"
import { DOCUMENT_LIMITS, readFile } from "./read-input.ts"

type Decide = (record: SealedDecision, document: PolicyDocument, payload?: string) => DecidedAgain

/**
 * @param files policy documents, or entries of `GET /admin/policies`, which hold one; the record's hash says which of them it is
 * @param payload file of the payload, from which the act is read again
 */
export async function decisionExpectation(files: readonly string[], payload: string | undefined): Promise<Expectation> {
  const { decideAgain } = await engine()
  const documents = await Promise.all(files.map(readPolicy))
  const bytes = payload === undefined ? undefined : await readFile(payload, DOCUMENT_LIMITS)
  const text = bytes && utf8Decode(bytes)
  if (bytes !== undefined && text === undefined) throw new InputError(`${payload} is no UTF-8 text, as payloads are.`)
  return (_, document) => decisionExpected(document, documents, text, decideAgain)
}

async function engine(): Promise<{ readonly decideAgain: Decide }> {
  try {
    const { cedar } = await import("@runseal/policy/cedar-engine.node")
    cedar()
    return await import("@runseal/policy/decide-again")
  } catch {
    throw new InputError("--decided-by needs the policy engine: npm install @cedar-policy/cedar-wasm")
  }
}

async function readPolicy(file: string): Promise<PolicyDocument> {
  const { parsePolicyDocument, PolicyError } = await import("@runseal/policy/policy-document")
  const bytes = await readFile(file, DOCUMENT_LIMITS)
  const problem = savedProblem(bytes)
  if (problem !== undefined) throw new InputError(`--decided-by cannot read ${file}: ${problem}.`)
  try {
    const json = parseStrictJson(savedText(bytes))
    return parsePolicyDocument(member(json, "policy") ?? json)
  } catch (error) {
    if (error instanceof StrictJsonError || error instanceof PolicyError)
      throw new InputError(`--decided-by cannot read ${file}: ${error.message}`)
    throw error
  }
}

const result = (passes: boolean, message: string): Expected => ({
  id: "decided_again",
  result: passes ? "pass" : "fail",
  message,
})

function decisionExpected(
  bytes: Uint8Array,
  documents: readonly PolicyDocument[],
  payload: string | undefined,
  decideAgain: Decide,
): Expected {
  const record = recordOf(bytes)
  if (record === undefined) return result(false, "NOT DECIDED AGAIN: the document holds no decision of a policy")
  const found = documents.map(document => decideAgain(record, document, payload))
  const again = found.find(each => !("differs" in each && each.differs.includes("policy_hash")))
  if (again === undefined) return result(false, "NOT DECIDED AGAIN: none of the files is the policy of the record")
  if ("undecided" in again) return result(false, `NOT DECIDED AGAIN: ${again.undecided}`)
  if ("differs" in again)
    return result(false, `the policy comes to another decision than the record: ${again.differs.join(", ")}`)
  const other =
    again.other_engine === undefined ? "" : `; the record was decided by version ${again.other_engine} of the engine`
  return again.from === "payload"
    ? result(true, `DECIDED AGAIN FROM THE PAYLOAD${other}`)
    : result(true, `DECIDED AGAIN ON FACTS THAT THE SERVICE STATED${other}`)
}

/** The sections of a record or an opening, with the receipt of a run that was not admitted. */
function recordOf(bytes: Uint8Array): SealedDecision | undefined {
  const read = readDocument(parseDocument(savedText(bytes)))
  if ("unreadable" in read) return undefined
  if (read.document === "opening") return { sections: read.value.sections }
  return read.document === "bundle" ? read.value.bundle : undefined
}
