import { expect, test } from "vitest"
import { isVisible, missingAttestedFields } from "../src/vocabulary/attested-presence.ts"
import { ATTESTED_FIELDS } from "../src/vocabulary/decision-codes.ts"

const missing = (context: Parameters<typeof missingAttestedFields>[0]) =>
  missingAttestedFields(context, ["attested", "actor_id", "model_temperature"])

const HANGUL_FILLER = "\u3164"
const BRAILLE_BLANK = "\u2800"

test.each([
  ["nothing declared", undefined, ["attested", "actor_id", "model_temperature"]],
  ["false and an empty text", { attested: false, actor_id: "", model_temperature: 0 }, ["attested", "actor_id"]],
  ["white space", { attested: true, actor_id: " \t\n\u00a0\u2003\u3000", model_temperature: 1 }, ["actor_id"]],
  ["zero width", { attested: true, actor_id: "\u200b\u200c\u200d\u2060\ufeff", model_temperature: 1 }, ["actor_id"]],
  ["a filler", { attested: true, actor_id: HANGUL_FILLER, model_temperature: 1 }, ["actor_id"]],
  ["a blank symbol", { attested: true, actor_id: BRAILLE_BLANK, model_temperature: 1 }, ["actor_id"]],
  ["tags alone", { attested: true, actor_id: "\u{e0041}\u{e0042}", model_temperature: 1 }, ["actor_id"]],
  ["marks alone", { attested: true, actor_id: "\u0301\u20dd", model_temperature: 1 }, ["actor_id"]],
  ["one visible character", { attested: true, actor_id: ` ${HANGUL_FILLER}.`, model_temperature: 0 }, []],
  ["another script", { attested: true, actor_id: "ဦးအောင်", model_temperature: 0.5 }, []],
  ["an emoji", { attested: true, actor_id: "🙂", model_temperature: 0.5 }, []],
])("of %s, what shows nothing is missing", (_, context, expected) => {
  expect(missing(context)).toEqual(expected)
})

test("every blank of Unicode is in the list, and no letter, digit, punctuation or emoji", () => {
  const blank = /[\p{White_Space}\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}]/u
  const shown = /[\p{L}\p{N}\p{P}\p{Emoji_Presentation}]/u
  const wrong: string[] = []
  for (let code = 0; code < 0x11_0000; code++) {
    if (code >= 0xd800 && code <= 0xdfff) continue
    const character = String.fromCodePoint(code)
    if (blank.test(character) ? isVisible(code) : shown.test(character) && !isVisible(code))
      wrong.push(code.toString(16))
  }
  // Egyptian full and half blank are letters by category.
  expect(wrong).toEqual(["13441", "13442"])
})

test("all thirteen fields can be missing", () => {
  expect(missingAttestedFields({}, ATTESTED_FIELDS)).toEqual(ATTESTED_FIELDS)
})
