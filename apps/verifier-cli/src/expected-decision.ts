/**
 * `--decided-by FILE`: whether the policy decides as the records say. Loaded only when it is given, and so is the policy engine.
 * docs/verifier.md, "Decided again".
 */

import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { parseStrictJson, StrictJsonError, sha256Hex, utf8Decode } from "@runseal/canonical"
import { receiptOf } from "@runseal/core/artifacts/bundle-schema"
import { explainReceipt } from "@runseal/core/artifacts/explanation"
import { savedProblem, savedText } from "@runseal/core/presentation/saved-text"
import { readDocument } from "@runseal/core/verify/document"
import type { ReadDocument } from "@runseal/core/verify/kind"
import { parseDocument } from "@runseal/core/verify/parsed-text"
import { runAccount } from "@runseal/core/verify/run-account"
import { member } from "@runseal/core/vocabulary/json-members"
import type { PolicyDocument } from "@runseal/core/wire/policy-document-schema"
import type { DecidedAgain, SealedDecision } from "@runseal/policy/decide-again"
import { InputError } from "./exit-answer.ts"
import { DECIDED_TEXTS, type DecidedWord, type Expectation, type Expected, SCAN_STATED } from "./judgement.ts"
import { DOCUMENT_LIMITS, readFile } from "./read-input.ts"

/** What the options say of decisions. */
export type DecisionOptions = {
  /** Policy documents, or entries of `GET /admin/policies`, which hold one; a record's hash says which of them is its own. */
  readonly decidedBy: readonly string[]
  /** File of the payload, from which the act is read again. */
  readonly payload?: string | undefined
  /** Folder of payloads, of which each record's is found by its hash. */
  readonly payloads?: string | undefined
  readonly otherPolicies: boolean
  readonly sameEngine: boolean
}

/** Decides one document again. */
export type Decider = (read: ReadDocument) => Expected

/**
 * Reads what the options name. Throws InputError.
 * @param several whether documents without a decision are among others, which is no fault of them
 */
export async function readDecider(options: DecisionOptions, several: boolean): Promise<Decider> {
  const { decidesAgain, policiesOf, explainRule } = await engine()
  const documents = await Promise.all(options.decidedBy.map(readPolicy))
  const policyOf = policiesOf(documents)
  const decideAgain = decidesAgain(documents, policyOf)
  const payloads = await payloadsOf(options)
  const without = (why: string): Expected => (several ? made("none", why) : not(why))
  return read => {
    const record = recordOf(read)
    if (record === undefined)
      return PARTS.has(read.document)
        ? not("the document is no whole record")
        : without("the document holds no decision of a policy")
    const again = decideAgain(record, payloads(record.sections.payload.payload_hash))
    if ("without_policy" in again) return without("the run ended before a policy judged it")
    const expected = expectedOf(again, options)
    const { policy_evaluation: evaluation } = record.sections
    const policy = "from" in again && expected.result === "pass" && evaluation && policyOf(evaluation)
    if (!policy) return expected
    const explained = explainRule(record.sections, policy)
    return { ...expected, explained, ...accountOf(read, explained) }
  }
}

/** The run in one line each, with what the policy adds; nothing for a document of no run. */
function accountOf({ forms }: ReadDocument, added: Expected["explained"]): Pick<Expected, "account"> {
  if (forms === undefined) return {}
  const { bundle } = forms
  const receipt = receiptOf(bundle)?.receipt
  const explanation = receipt && { ...explainReceipt(receipt, bundle.sections), ...added }
  return { account: runAccount(bundle, explanation) }
}

/** The same of a document's bytes. */
export async function decisionExpectation(options: DecisionOptions, several: boolean): Promise<Expectation> {
  const decide = await readDecider(options, several)
  return (_, document) => {
    const read = readDocument(parseDocument(savedText(document)))
    return "unreadable" in read ? not("the document cannot be read") : decide(read)
  }
}

/** Documents that tell of a decision and do not hold what it was made from. */
const PARTS: ReadonlySet<ReadDocument["document"]> = new Set(["receipt", "run_statement"])

async function engine() {
  try {
    const { cedar } = await import("@runseal/policy/cedar-engine.node")
    cedar()
    const { decidesAgain, policiesOf } = await import("@runseal/policy/decide-again")
    const { explainRule } = await import("@runseal/policy/explain-rule")
    return { decidesAgain, policiesOf, explainRule }
  } catch {
    throw new InputError("--decided-by needs the policy engine: npm install @cedar-policy/cedar-wasm@4.13.0")
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

async function payloadsOf({ payload, payloads }: DecisionOptions): Promise<Payloads> {
  if (payloads !== undefined) return await payloadFiles(payloads)
  if (payload === undefined) return () => undefined
  const text = utf8Decode(await readFile(payload, DOCUMENT_LIMITS))
  if (text === undefined) throw new InputError(`${payload} is no UTF-8 text, as payloads are.`)
  return () => text
}

const made = (decided: DecidedWord, message: string): Expected => ({
  id: "decided_again",
  result: decided === "not" ? "fail" : "pass",
  message,
  decided,
})
const not = (why: string): Expected => made("not", `${DECIDED_TEXTS.not}: ${why}`)

function expectedOf(
  again: Exclude<DecidedAgain, { without_policy: true }>,
  { otherPolicies, sameEngine }: DecisionOptions,
): Expected {
  if ("undecided" in again) return not(again.undecided)
  if ("differs" in again) {
    if (!again.differs.includes("policy_hash"))
      return made("not", `the policy comes to another decision than the record: ${again.differs.join(", ")}`)
    return otherPolicies
      ? made("other_policy", DECIDED_TEXTS.other_policy)
      : not("none of the files is the policy of the record")
  }
  const { from, other_engine: other } = again
  if (sameEngine && other !== undefined) return not(`version ${other} of the engine decided, and another one is here`)
  return made(
    from,
    `${DECIDED_TEXTS[from]}; ${SCAN_STATED}${other === undefined ? "" : `; version ${other} of the engine decided then`}`,
  )
}

/** The sections of a record or an opening, with the receipt of a run that was not admitted. */
function recordOf(read: ReadDocument): SealedDecision | undefined {
  const { sections } = read.opening ?? read.request ?? {}
  return sections === undefined ? read.forms?.bundle : { sections }
}

// Payloads of a folder, found by the SHA-256 of their bytes, whatever the files are named.

/** Files of the folder: the path of each is remembered. */
const MAX_FILES = 100_000

/** The text of the payload with this hash; undefined where no file is one. */
type Payloads = (hash: string) => string | undefined

/** Reads every file of a folder once, for its hash. Folders within it are not read. Throws InputError. */
async function payloadFiles(folder: string): Promise<Payloads> {
  const paths = filesOf(folder)
  if (paths.length > MAX_FILES) throw new InputError(`--payloads takes a folder of at most ${MAX_FILES} files.`)
  const byHash = new Map<string, string>()
  for (const path of paths) byHash.set(sha256Hex(await readFile(path, DOCUMENT_LIMITS)), path)
  return hash => {
    const path = byHash.get(hash)
    return path === undefined ? undefined : utf8Decode(readFileSync(path))
  }
}

function filesOf(folder: string): readonly string[] {
  try {
    return readdirSync(folder, { withFileTypes: true })
      .filter(entry => entry.isFile())
      .map(({ name }) => join(folder, name))
  } catch {
    throw new InputError(`--payloads cannot read the folder ${folder}.`)
  }
}
