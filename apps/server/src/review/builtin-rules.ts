/**
 * The built-in reviewer: deterministic rules for secrets and personal data, no network. It finds what has a shape;
 * it does not understand text. `BUILTIN_RULES` and `NOT_COVERED` are what the documentation says of it.
 */
import {
  BUILTIN_DECISIONS,
  type BuiltinDecision,
  CONTACT_LIST_SIZE,
  MAILING_LIST_SIZE,
  MAX_FINDINGS_PER_RULE,
} from "@runseal/core/vocabulary/review-codes"
import { rules as presetRules } from "@secretlint/secretlint-rule-preset-recommend"
import { RE2JS, RE2Set } from "re2js"
import { isPlain, unmaskText } from "../policy/fold-text.ts"
import { countFindings, matches } from "./findings.ts"
import { countCards, countEmails, countIbans, countPassports, countPhones, countSsns } from "./personal-data.ts"
import type { Reviewer, ReviewResult } from "./reviewer.ts"

// Secrets: the rules of Secretlint's recommended preset, and own RE2 rules for what the preset ignores.

type PresetRule = (typeof presetRules)[number]
type PresetContext = Parameters<PresetRule["create"]>[0]
type PresetSource = Parameters<NonNullable<ReturnType<PresetRule["create"]>["file"]>>[0]

/**
 * Removed from the preset: it obeys `secretlint-disable` comments in the text, and the text is not trusted.
 */
const COMMENT_FILTER = "@secretlint/secretlint-rule-filter-comments"

/** A preset rule by its short name, for instance `secretlint-rule-github`. */
interface SecretRule {
  readonly id: string
  readonly count: (text: string) => number
}

const ORIGIN = { line: 1, column: 0 }

/** A text as the rules want it. The name `.npmrc` makes the npm rule look for registry tokens too. */
function sourceOf(content: string): PresetSource {
  return {
    content,
    hasBOM: false,
    filePath: ".npmrc",
    physicalFilePath: undefined,
    contentType: "text",
    ext: "",
    getFilePath: () => ".npmrc",
    getPhysicalFilePath: () => undefined,
    locationToRange: () => [0, 0],
    rangeToLocation: () => ({ start: ORIGIN, end: ORIGIN }),
    positionToIndex: () => 0,
    indexToPosition: () => ORIGIN,
  }
}

/**
 * Runs one rule by Secretlint's rule interface. Its own runner keeps performance marks of every text for the life of
 * the process and compares all findings pairwise; a count needs neither, and no finding's text is ever built.
 */
function countByRule(rule: PresetRule, content: string): number {
  let count = 0
  const context: PresetContext = {
    sharedOptions: {},
    createTranslator: () => () => ({ message: "", messageId: "", data: undefined }),
    report: () => {
      count += 1
    },
    ignore: () => undefined,
  }
  const pending = rule.create(context, {}).file?.(sourceOf(content))
  if (pending instanceof Promise) throw new Error(`Rule ${rule.meta.id} does not answer at once.`)
  return Math.min(count, MAX_FINDINGS_PER_RULE)
}

/** The preset's rules, all of them linear in the text. */
const PRESET_RULES: readonly SecretRule[] = presetRules
  .filter(rule => rule.meta.id !== COMMENT_FILTER)
  .map(rule => ({
    id: rule.meta.id.replace("@secretlint/", ""),
    count: text => countByRule(rule, text),
  }))

/** A private key block with content: the preset passes over small (Ed25519), encrypted, truncated, PGP and PuTTY keys. */
const PRIVATE_KEY = RE2JS.compile(
  "(?:-----BEGIN (?:[A-Z0-9]+ ){0,3}PRIVATE KEY(?: BLOCK)?-----(?s:.{0,200}?)|Private-Lines: \\d+\\s+)[A-Za-z0-9+/]{40}",
)
const countPrivateKeys = (text: string): number => countFindings(matches(PRIVATE_KEY, text), () => true)

const API_KEY = RE2JS.compile("\\bAIza[A-Za-z0-9_-]{35}|\\bAccountKey=[A-Za-z0-9+/]{86}==")
/** Google API keys and Azure storage account keys. */
const countApiKeys = (text: string): number => countFindings(matches(API_KEY, text), () => true)

const TOKEN = RE2JS.compile(
  "\\beyJ[A-Za-z0-9_-]{8,}\\.eyJ[A-Za-z0-9_-]{8,}\\.[A-Za-z0-9_-]{16,}|\\b(?:AKIA|ASIA)[A-Z0-9]{16}\\b|(?i:\\bauthorization[\"']?\\s*:\\s*[\"']?(?:bearer|basic)\\s+)[A-Za-z0-9._~+/-]{16,}",
)
/** The key id that AWS prints in its documentation. */
const AWS_EXAMPLE_ID = "AKIAIOSFODNN7EXAMPLE"
/** JSON web tokens, AWS access key ids, authorization headers: public, expired or secret, the text does not tell. */
const countTokens = (text: string): number =>
  countFindings(matches(TOKEN, text), ({ text: found }) => found !== AWS_EXAMPLE_ID)

const ASSIGNMENT = RE2JS.compile(
  "(?i)\\b(?:password|passwd|pwd|passphrase|secret|api[_-]?key|access[_-]?token|auth[_-]?token|client[_-]?secret)[\"']?\\s*(?:=>|:|=|\\bis\\b)\\s*[\"'`]?[^\\s\"'`<>{}$%*]{8,128}",
)
const hasLetterAndDigit = (text: string): boolean => /[a-z]/i.test(text) && /\d/.test(text)
/** A name like `password` given a value of eight or more characters with letters and digits. */
const countAssignments = (text: string): number =>
  countFindings(matches(ASSIGNMENT, text), ({ text: found }) =>
    hasLetterAndDigit(found.replace(/^.*?(?:=>|:|=|\bis\b)\s*["'`]?/is, "")),
  )

/** A rule: what it decides, and how it finds. */
type BuiltinRule = BuiltinDecision & Finder

type Finder = {
  readonly id: string
  /** What it finds, for the operator. */
  readonly covers: string
  /** RE2 pattern that occurs in every text with a finding; where it does not, `count` is not called. */
  readonly trigger?: string
  /** Findings in a text, up to `MAX_REPORTED_PER_RULE`; linear in the text. */
  readonly count: (text: string) => number
}

/** Distinct e-mail addresses when there are as many, else 0. */
function listedAddresses(text: string, least: number): number {
  if (text.split("@").length <= least) return 0
  const addresses = countEmails(text)
  return addresses >= least ? addresses : 0
}

function countContacts(text: string): number {
  const addresses = listedAddresses(text, CONTACT_LIST_SIZE)
  if (addresses === 0) return 0
  const phones = countPhones(text)
  return phones >= CONTACT_LIST_SIZE ? Math.min(addresses, phones) : 0
}

/** How each rule finds. */
const FINDERS: readonly Finder[] = [
  {
    id: "private-key",
    covers: "private key blocks: PEM (RSA, EC, Ed25519, encrypted or not), OpenSSH, PGP, PuTTY",
    trigger: "PRIVATE KEY|Private-Lines:",
    count: countPrivateKeys,
  },
  ...PRESET_RULES.map(({ id, count }) => ({
    id,
    covers: `credentials found by Secretlint's ${id.replace("secretlint-rule-", "")} rule`,
    count,
  })),
  {
    id: "api-key",
    covers: "Google API keys, Azure storage account keys",
    trigger: "AIza|AccountKey=",
    count: countApiKeys,
  },
  {
    id: "payment-card",
    covers: "payment card numbers written in groups (issuer range, length, Luhn check)",
    trigger: "\\d(?:[ -]?\\d){12}",
    count: text => countCards(text).grouped,
  },
  {
    id: "iban",
    covers: "IBANs (country length, ISO 13616 check)",
    trigger: "[A-Za-z]{2}\\d{2} ?[A-Za-z0-9]",
    count: countIbans,
  },
  {
    id: "us-ssn",
    covers: "US social security numbers with hyphens or a label (issued ranges)",
    trigger: "\\d{3}-\\d{2}-\\d{4}|(?i:ssn|social security)",
    count: countSsns,
  },
  {
    id: "passport",
    covers: "machine-readable passport lines (ICAO 9303 check digits)",
    trigger: "[A-Z<]{3}\\d{7}[MFX<]\\d{7}",
    count: countPassports,
  },
  {
    id: "contact-list",
    covers: `lists of at least ${CONTACT_LIST_SIZE} e-mail addresses and ${CONTACT_LIST_SIZE} telephone numbers`,
    count: countContacts,
  },
  {
    id: "token",
    covers: "JSON web tokens, AWS access key ids, authorization headers",
    trigger: "eyJ|AKIA|ASIA|(?i:authorization)",
    count: countTokens,
  },
  {
    id: "credential-assignment",
    covers: "values given to names like password, secret or api_key",
    trigger: "(?i:passw|pwd|passphrase|secret|api[_-]?key|(?:access|auth)[_-]?token)",
    count: countAssignments,
  },
  {
    id: "payment-card-bare",
    covers: "payment card numbers without groups, which other numbers can be by chance",
    trigger: "\\d{13}",
    count: text => countCards(text).bare,
  },
  {
    id: "mailing-list",
    covers: `at least ${MAILING_LIST_SIZE} e-mail addresses`,
    count: text => listedAddresses(text, MAILING_LIST_SIZE),
  },
]

/**
 * The rules, gravest first, as the verifier knows them.
 * @throws Error when the program has another set of finders: that is a bug
 */
function makeRules(): readonly BuiltinRule[] {
  const rules = BUILTIN_DECISIONS.flatMap(decision => {
    const finder = FINDERS.find(({ id }) => id === decision.id)
    return finder === undefined ? [] : [{ ...decision, ...finder }]
  })
  if (rules.length !== FINDERS.length || rules.length !== BUILTIN_DECISIONS.length)
    throw new Error("the built-in rules are not those of the vocabulary")
  return rules
}
export const BUILTIN_RULES: readonly BuiltinRule[] = makeRules()

/** What the rules do not find. */
export const NOT_COVERED: readonly string[] = [
  "names, postal addresses, dates of birth, health or biometric data, and any personal data without a fixed shape",
  "national numbers other than the US social security number",
  "secrets without a known shape, or split, encoded (base64, hexadecimal) or encrypted",
  "harmful, false, biased or unauthorised content of any kind",
  "instructions to other systems inside the AI output (the signature scan searches for those)",
]

const TRIGGERED: readonly BuiltinRule[] = BUILTIN_RULES.filter(rule => rule.trigger !== undefined)

/** The triggers as one automaton; an index is a place in `TRIGGERED`. */
const TRIGGERS: RE2Set = new RE2Set()
for (const { trigger = "" } of TRIGGERED) TRIGGERS.add(trigger)
TRIGGERS.compile()

/** The rules that can find something in any of the forms. */
function rulesFor(forms: readonly string[]): readonly BuiltinRule[] {
  const hit = new Set(forms.flatMap(form => TRIGGERS.match(form)).map(index => TRIGGERED[index]))
  return BUILTIN_RULES.filter(rule => rule.trigger === undefined || hit.has(rule))
}

const decided = (found: readonly { rule: BuiltinRule; count: number }[]): ReviewResult => {
  const [gravest] = found
  return {
    decision_kind: gravest?.rule.decision_kind ?? "release",
    decision_reason: gravest?.rule.decision_reason ?? "NO_FINDINGS",
    rule_ids: found.map(({ rule }) => rule.id).toSorted(),
    finding_count: found.reduce((sum, { count }) => sum + count, 0),
  }
}

/**
 * Reviews a text as given and, where that differs, unmasked: a key inside a JSON string has `\n` for its line breaks.
 * Deterministic and linear; a finding in both forms counts once.
 */
export function reviewText(text: string): ReviewResult {
  const forms = isPlain(text) ? [text] : [text, unmaskText(text)]
  const found = rulesFor(forms).flatMap(rule => {
    const count = Math.max(...forms.map(rule.count))
    return count > 0 ? [{ rule, count }] : []
  })
  return decided(found)
}

/** Reviews a text by the rules, in this thread or in a worker. */
export type ReviewText = (text: string) => Promise<ReviewResult>

/** The built-in reviewer. @param review where the rules are applied; absent: in this thread */
export const builtinReviewer = (review: ReviewText = async text => reviewText(text)): Reviewer => ({
  adapter_id: "builtin-rules",
  review: ({ ai_output_text }) => review(ai_output_text),
})
