/** Verification without the service. FORMATS §7. */
import { type JsonObject, type JsonValue, parseStrictJson, StrictJsonError } from "@runseal/canonical"
import { parseTrust } from "@runseal/core/transparency-log/trust-document"
import type { TrustedKeys } from "@runseal/core/transparency-log/trusted-keys"
import { type Unreadable, verifyText } from "@runseal/core/verify/document"
import type { Report } from "@runseal/core/verify/report"
import { InvalidArgumentError } from "./errors.ts"

/**
 * Verifies a bundle, a receipt's answer or an attestation as it was received. Nothing goes to the network; hostile text is
 * answered, never thrown.
 * @param text the exact text, or its UTF-8 bytes
 * @param trustDocuments of the services the caller trusts, obtained other than from the document or the address it came
 *   from; without them a document of an embedded log is FAILED, for no key is trusted
 * @throws InvalidArgumentError for a trust document that cannot be relied on
 */
export const verifyBundle = (
  text: string | Uint8Array,
  trustDocuments: readonly (JsonObject | string)[],
): Report | Unreadable => verifyText(text, trustDocuments.map(readTrust))

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
