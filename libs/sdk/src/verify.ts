/** `@runseal/sdk/verify`: verification without the service and without the client. docs/formats.md section 16. */
import { type JsonObject, type JsonValue, parseStrictJson, StrictJsonError, utf8Encode } from "@runseal/canonical"
import { type Completeness, foldExport } from "@runseal/core/verify/completeness"
import { verifyText } from "@runseal/core/verify/document"
import type { Unreadable } from "@runseal/core/verify/parsed-text"
import { heldToClock, type Report } from "@runseal/core/verify/report"
import { parseTrust } from "@runseal/log/trust/trust-document"
import type { TrustedKeys } from "@runseal/log/trust/trusted-keys"
import { InvalidArgumentError } from "./client-errors.ts"

export type { JsonObject, JsonValue } from "@runseal/canonical"
export {
  COMPLETENESS_VERDICTS,
  type Completeness,
  type CompletenessProblem,
  type CompletenessVerdict,
} from "@runseal/core/verify/completeness"
export { isUnreadable } from "@runseal/core/verify/document"
export type { Unreadable } from "@runseal/core/verify/parsed-text"
export { type Check, type Limitation, type Report, VERDICTS, type Verdict } from "@runseal/core/verify/report"
export { InvalidArgumentError } from "./client-errors.ts"

/**
 * Verifies a bundle, a receipt's answer or an attestation as it was received. Sends nothing; malformed or hostile text gives a
 * report or `unreadable` and never throws.
 * @param text the exact text, or its UTF-8 bytes
 * @param trustDocuments of the services the caller trusts, obtained from another source than the document and its address;
 *   without one no key is trusted, and a document of an embedded log is FAILED
 * @param readAtMs the caller's clock, milliseconds since the epoch: a document dated more than 300 s ahead of it gets a limitation; absent:
 *   dates are not compared with a clock
 * @throws InvalidArgumentError for a trust document that cannot be relied on
 */
export const verifyBundle = (
  text: string | Uint8Array,
  trustDocuments: readonly (JsonObject | string)[],
  readAtMs?: number,
): Report | Unreadable => heldToClock(verifyText(text, trustDocuments.map(readTrust)), readAtMs)

/**
 * Verifies an export: each record as `verifyBundle` does, that no record which its statement names is missing, doubled or out of
 * order, and that records do not contradict each other. Keeps some hundred bytes of each record in memory.
 * @param lines the documents as `exportRuns` gives them, or the lines of a saved export
 * @param readAtMs as of `verifyBundle`
 * @throws InvalidArgumentError for a trust document that cannot be relied on
 */
export async function verifyExport(
  lines: AsyncIterable<string> | Iterable<string>,
  trustDocuments: readonly (JsonObject | string)[],
  readAtMs?: number,
): Promise<Completeness | Unreadable> {
  const fold = foldExport(trustDocuments.map(readTrust), readAtMs)
  let number = 0
  for await (const line of lines) {
    number++
    if (line !== "") fold.take(number, utf8Encode(line))
  }
  return fold.end()
}

function readTrust(document: JsonObject | string): TrustedKeys {
  const keys = parseTrust(typeof document === "string" ? parseJson(document) : document)
  if ("problem" in keys) throw new InvalidArgumentError(keys.problem)
  return keys
}

function parseJson(text: string): JsonValue {
  try {
    return parseStrictJson(text)
  } catch (error) {
    if (error instanceof StrictJsonError)
      throw new InvalidArgumentError(`The trust document is not strict JSON. ${error.message}`)
    throw error
  }
}
