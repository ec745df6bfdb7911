/** The Malicious Code Defense scan: which signature, if any, a run's texts carry. Linear in their size. */
import { sha256Hex } from "@runseal/canonical"
import type { ScanText, SignatureMatch } from "@runseal/core/seal/gates/scanned-texts"
import { foldedForms } from "./fold-text.ts"
import {
  matchesAnyForm,
  type PatternSignature,
  type PayloadSignature,
  type SignatureLibrary,
} from "./signature-library.ts"

/** Separates joined texts; no signature matches it (`signature-library.ts`), so none matches across two. */
const SEPARATOR = "\u0000"

/** A UTF-16 code unit becomes at most this many bytes of UTF-8. */
const MAX_UTF8_BYTES_PER_UNIT = 3

const isPayload = (signature: PayloadSignature, text: string): boolean => {
  const { size_bytes } = signature
  if (text.length > size_bytes || size_bytes > text.length * MAX_UTF8_BYTES_PER_UNIT) return false
  return Buffer.byteLength(text) === size_bytes && sha256Hex(text) === signature.sha256
}

/**
 * The forms of all texts (see `searchForms`), the given and the folded ones each joined into one string. A repeated text, as many keys and hashes are, is
 * searched once, a harmless name not at all. Lower case of a letter may depend on its neighbours; the separator is no letter.
 */
function joinedForms(texts: readonly ScanText[], harmless: ReadonlySet<string>): readonly string[] {
  const distinct = new Set<string>()
  for (const { text } of texts) if (!harmless.has(text)) distinct.add(text)
  let given = ""
  let folded = ""
  for (const text of distinct) {
    given += `${SEPARATOR}\n${text}\n`
    for (const form of foldedForms(text)) folded += `${SEPARATOR}\n${form}\n`
  }
  return [given.toLowerCase(), folded].filter(form => form !== "").map(form => form.slice(SEPARATOR.length))
}

/** The first pattern by rank that matches any form; only those whose trigger occurs are tried. */
function firstPattern(
  library: SignatureLibrary,
  texts: readonly ScanText[],
  disabled: ReadonlySet<string>,
): PatternSignature | undefined {
  const forms = joinedForms(texts, library.harmless_names)
  const triggered = new Set(forms.flatMap(form => library.triggers.match(form)))
  return library.patterns.find(
    ({ id, pattern }, index) => triggered.has(index) && !disabled.has(id) && forms.some(form => pattern.test(form)),
  )
}

const carries = (signature: PatternSignature | PayloadSignature, text: string): boolean =>
  "pattern" in signature ? matchesAnyForm(signature.pattern, text) : isPayload(signature, text)

/**
 * The match of the highest severity, then of the lowest id, or undefined when no text carries a signature.
 * Each text is searched as given and folded (see `foldedForms`); a known bad payload must be the whole text.
 * @param disabled ids of signatures that are not searched for
 */
export function scanTexts(
  library: SignatureLibrary,
  texts: readonly ScanText[],
  disabled: ReadonlySet<string> = new Set(),
): SignatureMatch | undefined {
  const payload = library.payloads.find(
    signature => !disabled.has(signature.id) && texts.some(({ text }) => isPayload(signature, text)),
  )
  const pattern = firstPattern(library, texts, disabled)
  const first = pattern === undefined || (payload !== undefined && payload.rank < pattern.rank) ? payload : pattern
  if (first === undefined) return undefined
  const { id, category, severity } = first
  const index = Math.max(
    texts.findIndex(({ text }) => carries(first, text)),
    0,
  )
  return { signature_id: id, category, severity, index }
}
