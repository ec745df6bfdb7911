/** The Malicious Code Defense scan: which signature, if any, a run's texts carry. Linear in their size. */
import { type JsonValue, sha256Hex } from "@runseal/canonical"
import type { McdCategory, McdSeverity } from "@runseal/core/vocabulary/decision-codes"
import { type Place, requestPlace, visitTexts } from "@runseal/core/vocabulary/declared-places"
import { foldedForms } from "./fold-text.ts"
import {
  matchesAnyForm,
  type PatternSignature,
  type PayloadSignature,
  type SignatureLibrary,
} from "./signature-library.ts"

/** A text to scan, and the member of the request that it is in. */
export interface ScanText {
  readonly location: string
  readonly text: string
}

export interface SignatureMatch {
  readonly signature_id: string
  readonly category: McdCategory
  readonly severity: McdSeverity
  /** Index of the first text that carries it. */
  readonly index: number
}

/** Scans the texts of a run; rejects when it could not. */
export type Scan = (texts: readonly ScanText[], disabled?: readonly string[]) => Promise<SignatureMatch | undefined>

/** Separates joined texts; no signature matches it (`signature-library.ts`), so none matches across two. */
const SEPARATOR = "\u0000"

/** A UTF-16 code unit becomes at most this many bytes of UTF-8. */
const MAX_UTF8_BYTES_PER_UNIT = 3

/** A declared text, and where it is. */
export interface DeclaredText extends ScanText {
  readonly place: Place
}

/**
 * Every string of a declared value, keys and values, as texts of one location.
 * @throws RangeError beyond `maxCodeUnits`, the size of the largest body the server accepts: never a silent cut
 */
export function declaredTexts(location: string, value: JsonValue, maxCodeUnits: number): readonly DeclaredText[] {
  const texts: DeclaredText[] = []
  let left = maxCodeUnits
  visitTexts(value, requestPlace(location), (text, place) => {
    left -= text.length
    if (left < 0) throw new RangeError("The declared strings exceed the size of a request body.")
    if (text.length > 0) texts.push({ location, text, place })
  })
  return texts
}

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
