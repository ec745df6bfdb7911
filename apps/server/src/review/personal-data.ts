/**
 * Personal data with a check that tells it from other numbers: payment cards, IBANs, US social security numbers,
 * machine-readable passports; and contact data in bulk, which has none. All patterns are RE2: linear time.
 */

import { MAX_FINDINGS_PER_RULE } from "@runseal/core/vocabulary/review-codes"
import { RE2JS } from "re2js"
import { countFindings, type Found, matches } from "./findings.ts"

const isWord = (character: string): boolean => /^[\p{L}\p{N}_]$/u.test(character)
const standsAlone = ({ before, after }: Found): boolean => !isWord(before) && !isWord(after)

/** The Luhn check digit (ISO/IEC 7812-1 annex B) of a string of digits. */
export function passesLuhn(digits: string): boolean {
  let sum = 0
  for (let i = 0; i < digits.length; i += 1) {
    const digit = Number(digits[digits.length - 1 - i])
    sum += i % 2 === 0 ? digit : digit > 4 ? 2 * digit - 9 : 2 * digit
  }
  return sum % 10 === 0
}

/** Issuer ranges and lengths of Visa, Mastercard, American Express, Discover, Diners Club and JCB. */
const CARD =
  /^(?:4(?:\d{12}|\d{15}|\d{18})|(?:5[1-5]\d\d|222[1-9]|22[3-9]\d|2[3-6]\d\d|27[01]\d|2720)\d{12}|3[47]\d{13}|6(?:011|4[4-9]\d|5\d\d)\d{12}|3(?:0[0-5]|[689]\d)\d{11}|35(?:2[89]|[3-8]\d)\d{12})$/
const MIN_CARD_DIGITS = 13
const MAX_CARD_DIGITS = 19
/** Digits, singly joined by a space or a hyphen. */
const DIGIT_RUN = RE2JS.compile("\\d(?:[ -]?\\d){12,}")

interface CardCounts {
  /** Written in groups, as cards are. */
  readonly grouped: number
  /** Bare digits, which an order number can be by one chance in ten. */
  readonly bare: number
}

/** Card numbers that begin and end at group borders of one run of digits. */
function cardsInRun(run: string): { grouped: boolean }[] {
  const groups = run.split(/[ -]/)
  const cards: { grouped: boolean }[] = []
  for (let first = 0; first < groups.length; first += 1) {
    let digits = ""
    for (let last = first; last < groups.length && digits.length < MAX_CARD_DIGITS; last += 1) {
      digits += groups[last]
      if (digits.length >= MIN_CARD_DIGITS && CARD.test(digits) && passesLuhn(digits)) {
        cards.push({ grouped: last > first })
        first = last
        break
      }
    }
  }
  return cards
}

export function countCards(text: string): CardCounts {
  const counts = { grouped: 0, bare: 0 }
  for (const found of matches(DIGIT_RUN, text)) {
    if (!standsAlone(found)) continue
    for (const { grouped } of cardsInRun(found.text)) counts[grouped ? "grouped" : "bare"] += 1
    if (counts.grouped >= MAX_FINDINGS_PER_RULE) break
  }
  return {
    grouped: Math.min(counts.grouped, MAX_FINDINGS_PER_RULE),
    bare: Math.min(counts.bare, MAX_FINDINGS_PER_RULE),
  }
}

/** Length of an IBAN by country (SWIFT IBAN registry). */
const IBAN_LENGTHS: ReadonlyMap<string, number> = new Map(
  (
    "AD24 AE23 AL28 AT20 AZ28 BA20 BE16 BG22 BH22 BR29 BY28 CH21 CR22 CY28 CZ24 DE22 DK18 DO28 EE20 EG29 ES24 FI18 FO18 " +
    "FR27 GB22 GE22 GI23 GL18 GR27 GT28 HR21 HU28 IE22 IL23 IQ23 IS26 IT27 JO30 KW30 KZ20 LB28 LC32 LI21 LT20 LU20 LV21 " +
    "LY25 MC27 MD24 ME22 MK19 MR27 MT31 MU30 NL18 NO15 PK24 PL28 PS29 PT25 QA29 RO24 RS22 SA24 SC31 SD18 SE24 SI19 SK24 " +
    "SM27 ST25 SV28 TL23 TN24 TR26 UA29 VA22 VG24 XK20"
  )
    .split(" ")
    .map((entry): [string, number] => [entry.slice(0, 2), Number(entry.slice(2))]),
)
const IBAN_HEAD = RE2JS.compile("(?i)\\b[a-z]{2}\\d{2}")
/** Characters of the longest IBAN with a space after every second. */
const MAX_WRITTEN_IBAN = 48

/** The check of ISO 13616: the rearranged number, letters as 10 to 35, is 1 modulo 97. */
export function passesMod97(iban: string): boolean {
  let remainder = 0
  for (const character of iban.slice(4) + iban.slice(0, 4)) {
    const value = Number.parseInt(character, 36)
    remainder = (remainder * (value > 9 ? 100 : 10) + value) % 97
  }
  return remainder === 1
}

/** Whether an IBAN begins here, singly spaced or not. The country says where it ends. */
function beginsIban(text: string): boolean {
  const [written = ""] = /^(?: ?[A-Z0-9])+/i.exec(text) ?? []
  const compact = written.replaceAll(" ", "").toUpperCase()
  const length = IBAN_LENGTHS.get(compact.slice(0, 2))
  return length !== undefined && compact.length >= length && passesMod97(compact.slice(0, length))
}

export const countIbans = (text: string): number =>
  countFindings(matches(IBAN_HEAD, text), ({ index }) => beginsIban(text.slice(index, index + MAX_WRITTEN_IBAN)))

const SSN = RE2JS.compile("\\d{3}-\\d{2}-\\d{4}")
const LABELLED_SSN = RE2JS.compile(
  "(?i)\\b(?:ssn|social security (?:number|no\\.?))[\"']?\\s*(?:is|:|=|#)?\\s*[\"']?\\d{3}[ -]?\\d{2}[ -]?\\d{4}\\b",
)
/** Numbers that were printed in advertisements and never issued again. */
const VOID_SSNS: readonly string[] = ["078051120", "219099999"]

/** Never issued: area 000, 666 and 900–999, group 00, serial 0000 (US Social Security Administration). */
export function isSsn(written: string): boolean {
  const digits = written.replace(/\D/g, "")
  return /^(?!000|666|9)\d{3}(?!00)\d{2}(?!0000)\d{4}$/.test(digits) && !VOID_SSNS.includes(digits)
}

const standsAsNumber = (found: Found): boolean => standsAlone(found) && found.before !== "-" && found.after !== "-"

export const countSsns = (text: string): number =>
  countFindings(matches(SSN, text), found => standsAsNumber(found) && isSsn(found.text)) +
  countFindings(matches(LABELLED_SSN, text), ({ text: found }) => !/\d{3}-\d{2}-\d{4}/.test(found) && isSsn(found))

const MRZ_LINE_2 = RE2JS.compile("[A-Z0-9<]{9}\\d[A-Z<]{3}\\d{7}[MFX<]\\d{7}[A-Z0-9<]{14}[\\d<]\\d")
const MRZ_WEIGHTS = [7, 3, 1] as const

/** The check digit of ICAO Doc 9303 part 3, section 4.9. */
function mrzDigit(field: string): number {
  return (
    [...field].reduce((sum, character, i) => {
      const value = character === "<" ? 0 : Number.parseInt(character, 36)
      return sum + value * (MRZ_WEIGHTS[i % 3] ?? 0)
    }, 0) % 10
  )
}

/** Second line of a passport's machine-readable zone (TD3): number, birth date, expiry date and composite check. */
export function isPassportLine(line: string): boolean {
  const field = (from: number, to: number): boolean => mrzDigit(line.slice(from, to)) === Number(line[to])
  const composite = line.slice(0, 10) + line.slice(13, 20) + line.slice(21, 43)
  return field(0, 9) && field(13, 19) && field(21, 27) && mrzDigit(composite) === Number(line[43])
}

export const countPassports = (text: string): number =>
  countFindings(matches(MRZ_LINE_2, text), ({ text: line }) => isPassportLine(line))

const EMAIL = RE2JS.compile("[A-Za-z0-9._%+-]{1,64}@[A-Za-z0-9-]{1,63}(?:\\.[A-Za-z0-9-]{1,63}){1,4}")
const PHONE = RE2JS.compile("\\+\\d{1,3}(?:[ ./()-]{0,2}\\d){6,14}|\\(\\d{3}\\) ?\\d{3}-\\d{4}|\\d{3}-\\d{3}-\\d{4}")

function countDistinct(pattern: RE2JS, text: string, canonical: (found: string) => string): number {
  const seen = new Set<string>()
  for (const { text: found } of matches(pattern, text)) {
    seen.add(canonical(found))
    if (seen.size === MAX_FINDINGS_PER_RULE) break
  }
  return seen.size
}

/** Distinct e-mail addresses. */
export const countEmails = (text: string): number => countDistinct(EMAIL, text, found => found.toLowerCase())
/** Distinct telephone numbers in international or North American notation. */
export const countPhones = (text: string): number => countDistinct(PHONE, text, found => found.replace(/\D/g, ""))
