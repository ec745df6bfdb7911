/** The keys that the page trusts, and their source. */
import { parseStrictJson, StrictJsonError } from "@runseal/canonical"
import { SAME_ADDRESS } from "@runseal/core/presentation/advice"
import { savedProblem, savedText } from "@runseal/core/presentation/saved-text"
import { MAX_TRUST_BYTES, trustRows } from "@runseal/core/presentation/trust-rows"
import { parseTrust } from "@runseal/log/trust/trust-document"
import type { TrustedKeys, TrustProblem } from "@runseal/log/trust/trusted-keys"
import { element, facts, type Piece, paragraphs } from "./elements.ts"
import type { Place } from "./page-address.ts"

export type Believed =
  | { readonly from: "nobody"; readonly problem?: string }
  /** Published by the address that served the page. */
  | { readonly from: "service"; readonly host: string; readonly keys: TrustedKeys }
  | { readonly from: "file"; readonly name: string; readonly keys: TrustedKeys }

/** Reads a trust document. No bytes make it throw. */
export function readTrust(bytes: Uint8Array): TrustedKeys | TrustProblem {
  const problem = savedProblem(bytes)
  if (problem !== undefined) return { problem: `In this file, ${problem}.` }
  try {
    return parseTrust(parseStrictJson(savedText(bytes), { maxBytes: MAX_TRUST_BYTES }))
  } catch (error) {
    if (error instanceof StrictJsonError) return { problem: `It is not strict JSON: ${error.message}` }
    throw error
  }
}

export const keysOf = (believed: Believed): readonly TrustedKeys[] =>
  believed.from === "nobody" ? [] : [believed.keys]

/** The trusted keys as the page shows them. */
export function trustPieces(believed: Believed, place: Place): readonly Piece[] {
  if (believed.from === "nobody") return nobodyPieces(believed.problem, place)
  const { keys } = believed
  const service = element("strong", "", keys.service)
  const source =
    believed.from === "service"
      ? element("p", "", "Those of ", service, `, as this address (${believed.host}) publishes them.`)
      : element("p", "", "Those of ", service, `, from your file ${believed.name}.`)
  const details = element(
    "details",
    "",
    element("summary", "", `Fingerprints of its keys (${keys.serviceKeys.length + keys.logKeys.length})`),
    element(
      "p",
      "quiet",
      "SHA-256 of each key's SubjectPublicKeyInfo. Compare them with those the service gives elsewhere.",
    ),
    ...facts(trustRows(keys)),
  )
  if (believed.from === "file") return [source, details]
  const warning =
    place.service?.linked === undefined ? OWN_WORD : `This record comes from the same address. ${SAME_ADDRESS}`
  return [source, element("p", "note warn", warning), details]
}

const OWN_WORD =
  "Trust them no more than this address: compare the fingerprints with those the service gives elsewhere, or load your own trust document."

const nobodyPieces = (problem: string | undefined, place: Place): readonly Piece[] =>
  paragraphs([
    place.service === undefined
      ? "None yet: a page opened from disk knows no keys. Load the trust document of the service whose records you verify."
      : `None: no trust document was found at this address. ${problem ?? ""} Load one of your own.`,
  ])
