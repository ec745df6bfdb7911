import { expect, test } from "vitest"
import { codePoint, escapeControls } from "./printable.ts"

test("exactly what could act on a terminal or on the order of a line is escaped, of all characters", () => {
  for (let number = 0; number <= 0xffff; number++) {
    const character = String.fromCharCode(number)
    const unsafe = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u.test(character)
    if (escapeControls(character) !== (unsafe ? codePoint(character) : character)) expect.fail(codePoint(character))
  }
  expect(escapeControls("a\u{e0001}b\u{1f600}")).toBe("a\\u{e0001}b\u{1f600}")
})
