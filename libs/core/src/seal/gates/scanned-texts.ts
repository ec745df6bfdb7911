/** The texts of a run that a policy has searched for signatures. */
import { type JsonObject, type JsonValue, sha256Hex } from "@runseal/canonical"
import {
  type ContentName,
  DECLARED_NAMES,
  type DeclaredSection,
  isShown,
  type ShownDeclared,
} from "../../artifacts/declared-sections.ts"
import type { McdFinding } from "../../artifacts/sealed-artifacts.ts"
import { declaredTextFingerprint } from "../../formulas/decision.ts"
import type { McdCategory, McdSeverity, SignatureScan } from "../../vocabulary/decision-codes.ts"
import { type Place, placePointer, requestPlace, visitTexts } from "../../vocabulary/declared-places.ts"
import type { Submission } from "../../wire/submission.ts"
import type { BaseSections, Decided } from "../draft.ts"

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

type ScanContext = {
  readonly policy: { readonly signature_scan: SignatureScan }
  /** Bound on the declared strings scanned: the largest body the server accepts. */
  readonly max_scan_units: number
}

/** A text that is scanned, and how a finding names and fingerprints it. */
export type ScannedText = ScanText & { readonly found: () => Pick<McdFinding, "matched_in" | "text_fingerprint"> }

const whole = (matched_in: string, text: string): ScannedText => ({
  location: matched_in,
  text,
  found: () => ({ matched_in, text_fingerprint: sha256Hex(text) }),
})

const outputText = ({ ai_output_text: output }: Pick<Decided, "ai_output_text">, { policy }: ScanContext) =>
  policy.signature_scan.scope.includes("ai_output") && output !== undefined ? [whole("ai_output", output)] : []

/** Every string of a declared section, as a finding names it: with the section's salt. */
const sectionTexts = (
  name: ContentName,
  content: JsonObject | undefined,
  section: DeclaredSection,
  context: ScanContext,
): readonly ScannedText[] => {
  if (content === undefined || !isShown(section)) return []
  return declaredTexts(name, content, context.max_scan_units).map(({ location, text, place }) => ({
    location,
    text,
    found: () => ({
      matched_in: placePointer(place),
      text_fingerprint: declaredTextFingerprint(section.salt, text),
    }),
  }))
}

/** The texts of a request that the policy has scanned. */
export function requestTexts(submission: Submission, base: BaseSections, context: ScanContext): readonly ScannedText[] {
  const { payload, route_id, declared } = submission
  const { scope } = context.policy.signature_scan
  const inSections = DECLARED_NAMES.flatMap(name => sectionTexts(name, declared[name], base[name], context))
  return [
    ...(scope.includes("payload") ? [whole("payload", payload)] : []),
    ...outputText(submission, context),
    ...(scope.includes("declared") ? [whole("/route_id", route_id), ...inSections] : []),
  ]
}

/** The texts that a close adds: those of its opening were scanned at the opening. */
export function closingTexts(
  run: Pick<Decided, "ai_output_text">,
  closing: ShownDeclared,
  context: ScanContext,
): readonly ScannedText[] {
  const { scope } = context.policy.signature_scan
  return [
    ...outputText(run, context),
    ...(scope.includes("declared") ? sectionTexts("closing", closing.declared, closing, context) : []),
  ]
}
