/**
 * The Malicious Code Defense: signatures, compiled once, and the scan of texts for them. The library is data under `signature-library.json`; its
 * digest is sealed with every decision, so a verdict names the exact signatures that were looked for.
 */
import { setImmediate } from "node:timers/promises"
import { digest, isJsonValue, sha256Hex } from "@runseal/canonical"
import type { ScanText, SignatureMatch } from "@runseal/core/seal/gates/scanned-texts"
import {
  ATTESTED_FIELDS,
  categoryOf,
  MAX_SIGNATURES,
  MCD_CATEGORIES,
  MCD_SEVERITIES,
  type McdCategory,
  type McdSeverity,
  signatureIdSchema,
} from "@runseal/core/vocabulary/decision-codes"
import { RE2JS, RE2Set } from "re2js"
import * as v from "valibot"
import { foldedForms, searchForms } from "./fold-text.ts"

import builtInDocument from "./signature-library.json" with { type: "json" }

/**
 * Names of fields of the declared sections, as in the table of docs/api.md, "POST /execute". Most runs hold many of them, so each is
 * searched once, when the library is compiled, and skipped in every scan.
 */
export const FIELD_NAMES: readonly string[] = [
  ...ATTESTED_FIELDS,
  ...["prompt", "output", "post_processing", "cost", "latency", "origin", "authentication"],
  ...["hash", "template_id", "input_tokens", "output_tokens", "total_tokens"],
  ...["approvers", "order", "approved_at", "approved_request_hash", "signature", "comment"],
  ...["threshold_checks", "name", "threshold_value", "observed_value", "unit", "operator", "breached"],
  ...["human_in_loop", "required", "performed", "performed_by", "performed_at", "review_mode", "review_outcome"],
  ...["data_classification", "effect_log", "effect_kind", "target", "status", "issued_at", "ack_hash"],
  ...["runtime", "dependencies", "seeds", "platform"],
]

/** Code units of one pattern: the automaton's size follows them. */
const MAX_PATTERN_LENGTH = 2048
/** Bytes of the lazily built automaton of all triggers; beyond, the engine simulates it, slower but still linear. */
const TRIGGER_AUTOMATON_BYTES = 16 * 1024 * 1024

/** Escapes and bracketed classes of a pattern, which may hold any character; what remains is its bare syntax. */
const QUOTED = /\\[xpP]\{[^}]*\}|\\x[0-9a-f]{2}|\\.|\[\^?(?:\\.|[^\]\\])+\]/gis
const MATCHES_NUL = /\[\^(?!\\x00)|\\[SWDPC]/

/**
 * Whether a pattern can match neither U+0000 nor the ends of the text, so that texts joined by U+0000 match exactly
 * as each of them does alone.
 */
const staysInOneText = (pattern: string): boolean =>
  !MATCHES_NUL.test(pattern) && !/[.^$]/.test(pattern.replace(QUOTED, "")) && !/\\[Az]/.test(pattern)

const isLowercase = (pattern: string): boolean => !/[A-Z]/.test(pattern.replace(/\\[xpP]\{[^}]*\}|\\./g, ""))

const text = v.pipe(v.string(), v.minLength(1), v.maxLength(200))
/** RE2 syntax, searched anywhere in lowercase text. */
const patternText = v.pipe(
  v.string(),
  v.minLength(1),
  v.maxLength(MAX_PATTERN_LENGTH),
  v.check(isLowercase, "must be lowercase, as the searched text is"),
  v.check(staysInOneText, "must not match U+0000 and must have no anchors"),
)
const facts = {
  id: signatureIdSchema,
  name: text,
  category: v.picklist(MCD_CATEGORIES),
  severity: v.picklist(MCD_SEVERITIES),
  /** A public reference: OWASP, MITRE ATT&CK or ATLAS technique, CWE, CVE, GitHub advisory. */
  source: text,
}
/** `trigger` matches within every match of `pattern`; it is short, so that one automaton can look for all of them. */
const patternSchema = v.strictObject({ ...facts, trigger: patternText, pattern: patternText })
/** SHA-256 and length of the UTF-8 bytes of a known bad text. */
const payloadSchema = v.strictObject({
  ...facts,
  sha256: v.pipe(v.string(), v.regex(/^[0-9a-f]{64}$/)),
  size_bytes: v.pipe(v.number(), v.integer(), v.minValue(1)),
})
const documentSchema = v.strictObject({
  kind: v.literal("vfa.signature_library.v1"),
  version: text,
  signatures: v.pipe(
    v.array(v.union([patternSchema, payloadSchema])),
    v.minLength(1),
    v.maxLength(MAX_SIGNATURES),
    v.check(signatures => new Set(signatures.map(({ id }) => id)).size === signatures.length, "repeats an id"),
    v.check(
      signatures => signatures.every(({ id, category }) => categoryOf(id) === category),
      "has a signature of another category than its id names",
    ),
  ),
})

/** A signature, whichever way it matches. */
export interface Signature {
  readonly id: string
  readonly category: McdCategory
  readonly severity: McdSeverity
  /** Place in the order highest severity first, then lowest id. */
  readonly rank: number
}

export interface PatternSignature extends Signature {
  readonly pattern: RE2JS
}

export interface PayloadSignature extends Signature {
  readonly sha256: string
  readonly size_bytes: number
}

export interface SignatureLibrary {
  /** Digest of the library document. */
  readonly library_hash: string
  readonly count: number
  readonly ids: ReadonlySet<string>
  /** By rank, in the order of the triggers' indices. */
  readonly patterns: readonly PatternSignature[]
  /** Finds in one pass which patterns can match at all. One automaton of the patterns themselves would explode. */
  readonly triggers: RE2Set
  readonly payloads: readonly PayloadSignature[]
  /** Names of fields in which no pattern matches: beside other texts (`staysInOneText`) none matches in them either. */
  readonly harmless_names: ReadonlySet<string>
}

/** Whether a pattern matches a text in any form. */
export const matchesAnyForm = (pattern: RE2JS, text: string): boolean =>
  searchForms(text).some(form => pattern.test(form))

const bySeverityThenId = (a: Omit<Signature, "rank">, b: Omit<Signature, "rank">): number =>
  MCD_SEVERITIES.indexOf(b.severity) - MCD_SEVERITIES.indexOf(a.severity) || (a.id < b.id ? -1 : 1)

/** What `make` gives, made when it is asked for first. */
function lazily<T extends object>(make: () => T): () => T {
  let made: T | undefined
  return () => {
    made ??= make()
    return made
  }
}

function patternSignature({ pattern, ...facts }: Signature & { readonly pattern: string }): PatternSignature {
  const compiled = lazily(() => RE2JS.compile(pattern))
  return {
    ...facts,
    get pattern() {
      return compiled()
    },
  }
}

function triggersOf(texts: readonly string[]): RE2Set {
  const triggers = new RE2Set(RE2Set.UNANCHORED, 0, TRIGGER_AUTOMATON_BYTES)
  for (const text of texts) triggers.add(text)
  triggers.compile()
  return triggers
}

/**
 * Reads a signature library, by default the one shipped. Patterns are compiled when they are first searched for, or by `warmUp`.
 * @throws Error when the document is not one, and later for a pattern that is none (a shipped file that does not load is a bug)
 */
export function compileSignatureLibrary(document: unknown = builtInDocument): SignatureLibrary {
  if (!isJsonValue(document)) throw new Error("The signature library is not JSON.")
  const { signatures } = v.parse(documentSchema, document)
  const texts: string[] = []
  const patterns: PatternSignature[] = []
  const payloads: PayloadSignature[] = []
  signatures.toSorted(bySeverityThenId).forEach((signature, rank) => {
    const { id, category, severity } = signature
    if ("pattern" in signature) {
      texts.push(signature.trigger)
      patterns.push(patternSignature({ id, category, severity, rank, pattern: signature.pattern }))
    } else {
      payloads.push({ id, category, severity, rank, sha256: signature.sha256, size_bytes: signature.size_bytes })
    }
  })
  const triggers = lazily(() => triggersOf(texts))
  const harmless = lazily(
    () => new Set(FIELD_NAMES.filter(name => !patterns.some(({ pattern }) => matchesAnyForm(pattern, name)))),
  )
  return {
    library_hash: digest(document),
    count: signatures.length,
    ids: new Set(signatures.map(({ id }) => id)),
    patterns,
    payloads,
    get triggers() {
      return triggers()
    },
    get harmless_names() {
      return harmless()
    },
  }
}

/** Compiles what a scan needs, before the first one. Requests are answered in between. */
export async function warmUp(library: SignatureLibrary): Promise<void> {
  for (const signature of library.patterns) {
    matchesAnyForm(signature.pattern, "")
    await setImmediate()
  }
  library.triggers.match("")
  await setImmediate()
  library.harmless_names.has("")
}

// The scan: which signature, if any, the texts of a run carry. Linear in their size.

/** Separates joined texts; no signature matches it (`staysInOneText`), so none matches across two. */
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
