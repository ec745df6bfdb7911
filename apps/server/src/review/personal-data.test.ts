import { MAX_FINDINGS_PER_RULE } from "@runseal/core/vocabulary/review-codes"
import fc from "fast-check"
import { describe, expect, test } from "vitest"
import {
  countCards,
  countEmails,
  countIbans,
  countPassports,
  countPhones,
  countSsns,
  isPassportLine,
  isSsn,
  passesLuhn,
  passesMod97,
} from "./personal-data.ts"

const PASSPORT = "L898902C36UTO7408122F1204159ZE184226B<<<<<10"

describe("payment cards", () => {
  test.each([
    ["Visa", "4111 1111 1111 1111"],
    ["Mastercard", "5555-5555-5555-4444"],
    ["Mastercard of the 2 series", "2223 0031 2200 3222"],
    ["American Express", "3782 822463 10005"],
    ["Discover", "6011 1111 1111 1117"],
    ["Diners Club", "3056 930902 5904"],
    ["JCB", "3530 1113 3330 0000"],
  ])("%s is found in groups and bare", (_, card) => {
    expect(countCards(`card ${card}.`)).toEqual({ grouped: 1, bare: 0 })
    expect(countCards(card.replace(/[ -]/g, ""))).toEqual({ grouped: 0, bare: 1 })
  })

  test.each([
    ["a wrong check digit", "4111 1111 1111 1112"],
    ["no issuer's range", "9111 1111 1111 1110"],
    ["a length no issuer has", "4111 1111 1111 11"],
    ["a part of a longer number", "41111111111111110"],
    ["a part of a hexadecimal digest", "ab4111111111111111cd"],
    ["a part of an identifier", "ORDER_4111111111111111"],
    ["digits too far apart", "4111  1111  1111  1111"],
  ])("%s is none", (_, text) => {
    expect(countCards(text)).toEqual({ grouped: 0, bare: 0 })
  })

  test("a number next to other digits and several in a row are found", () => {
    expect(countCards("4111 1111 1111 1111 12/28").grouped).toBe(1)
    expect(countCards("no 17 4111 1111 1111 1111").grouped).toBe(1)
    expect(countCards("4111 1111 1111 1111 5555 5555 5555 4444").grouped).toBe(2)
  })

  test("exactly one of ten last digits passes the Luhn check", () => {
    fc.assert(
      fc.property(fc.stringMatching(/^\d{12,18}$/), digits => {
        expect(Array.from({ length: 10 }, (_, last) => passesLuhn(digits + last)).filter(Boolean)).toHaveLength(1)
      }),
    )
  })
})

describe("IBANs", () => {
  test.each([
    "DE89 3704 0044 0532 0130 00",
    "DE89370400440532013000",
    "GB29 NWBK 6016 1331 9268 19",
    "FR14 2004 1010 0505 0001 3M02 606",
    "NO93 8601 1117 947",
    "MT84 MALT 0110 0001 2345 MTLC AST0 01S",
    "pay to de89370400440532013000 BIC COBADEFFXXX",
  ])("%s is found", text => {
    expect(countIbans(text)).toBe(1)
  })

  test.each([
    ["a wrong check", "DE88 3704 0044 0532 0130 00"],
    ["a country without IBAN", "US89 3704 0044 0532 0130 00"],
    ["too short for its country", "DE89 3704 0044 0532 0130"],
    ["an order number", "AB12 ORDER NUMBER 2026 0341"],
  ])("%s is none", (_, text) => {
    expect(countIbans(text)).toBe(0)
  })

  test("several in a row are found, and what looks like the beginning of one hides none", () => {
    expect(countIbans("DE89 3704 0044 0532 0130 00 NO93 8601 1117 947 GB29NWBK60161331926819")).toBe(3)
    expect(countIbans("Ref AB12 DE12 DE89 3704 0044 0532 0130 00")).toBe(1)
  })

  // A letter counts as two digits, so only a change within digits or within letters is sure to be found.
  test("any one digit changed to another, or letter to another, fails the check of ISO 13616", () => {
    const iban = "GB29NWBK60161331926819"
    const digits = "0123456789"
    const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
    for (const [at, character] of [...iban].entries()) {
      for (const other of digits.includes(character) ? digits : letters) {
        const changed = iban.slice(0, at) + other + iban.slice(at + 1)
        expect(passesMod97(changed), changed).toBe(other === character)
      }
    }
  })
})

describe("US social security numbers", () => {
  test.each(["536-22-8765", "SSN: 536228765", "social security number is 536 22 8765", '"ssn":"536228765"'])(
    "%s is found",
    text => {
      expect(countSsns(text)).toBe(1)
    },
  )

  test.each(["000-12-3456", "666-12-3456", "900-12-3456", "536-00-8765", "536-22-0000", "078-05-1120", "219-09-9999"])(
    "%s was never issued or is void",
    number => {
      expect(isSsn(number)).toBe(false)
      expect(countSsns(number)).toBe(0)
    },
  )

  test.each(["536228765", "1536-22-8765", "536-22-87651", "2026-536-22-8765-1", "x536-22-8765"])(
    "%s is another number",
    text => {
      expect(countSsns(text)).toBe(0)
    },
  )
})

describe("passports", () => {
  test("the specimen line of ICAO Doc 9303 is found", () => {
    expect(isPassportLine(PASSPORT)).toBe(true)
    expect(countPassports(`P<UTOERIKSSON<<ANNA<MARIA<<<<<<<<<<<<<<<<<<<\n${PASSPORT}`)).toBe(1)
  })

  test("a changed digit of number, dates or check is none", () => {
    for (const at of [3, 9, 15, 19, 23, 27, 43]) {
      const digit = (Number(PASSPORT[at]) + 1) % 10
      expect(isPassportLine(PASSPORT.slice(0, at) + digit + PASSPORT.slice(at + 1))).toBe(false)
    }
  })
})

describe("contact data", () => {
  test("is counted by distinct address and number", () => {
    expect(countEmails("a@b.example, A@B.example, c.d+e@f.g.example, not@local, @x.example")).toBe(2)
    expect(countPhones("+49 30 123456, +49 (30) 123456, (212) 555-0142, 212-555-0143, 12-34-56")).toBe(3)
  })
})

describe("every count", () => {
  const MIB = 1024 * 1024
  const fill = (unit: string): string => unit.repeat(Math.ceil(MIB / unit.length)).slice(0, MIB)
  const counts = [
    (text: string) => countCards(text).grouped,
    countIbans,
    countSsns,
    countPassports,
    countEmails,
    countPhones,
  ]

  test.each([
    "4111 1111 1111 1112 ",
    "4 ",
    "DE12 ABCD ",
    "DE89370400440532013001 ",
    "123-45-6789-",
    "a@",
    "a.b@c.example ",
    "+1",
    "<",
    "SSN: ",
    "((212) ",
  ])("is made in linear time of a mebibyte of %j", unit => {
    const text = fill(unit)
    const start = performance.now()
    for (const count of counts) expect(count(text)).toBeLessThanOrEqual(2 * MAX_FINDINGS_PER_RULE)
    expect(performance.now() - start).toBeLessThan(60_000)
  })
})
