import { utf8Encode } from "@runseal/canonical"
import { expect, test } from "vitest"
import { logKey, newKey } from "../../test/transparency-log/own-log.ts"
import { isSigned, rememberSignatures } from "./verified-signatures.ts"

const message = (text: string): Uint8Array => utf8Encode(`a message of ${text}`)

test("a signature once found valid is valid again, and for no other message, key or signature", () => {
  const memory = rememberSignatures(10)
  const signature = logKey.sign(message("ours"))
  expect([1, 2].map(() => isSigned(logKey.spki, message("ours"), signature, memory))).toEqual([true, true])
  expect(isSigned(logKey.spki, message("others"), signature, memory)).toBe(false)
  expect(isSigned(newKey().spki, message("ours"), signature, memory)).toBe(false)
  expect(isSigned(logKey.spki, message("ours"), signature.with(-1, (signature.at(-1) ?? 0) ^ 1), memory)).toBe(false)
  expect(memory.known.size).toBe(1)
})

test("a byte moved from the signature to the message is another triple", () => {
  const memory = rememberSignatures(10)
  const signature = logKey.sign(message("ours"))
  expect(isSigned(logKey.spki, message("ours"), signature, memory)).toBe(true)
  const longer = Uint8Array.of(...signature.subarray(-1), ...message("ours"))
  expect(isSigned(logKey.spki, longer, signature.subarray(0, -1), memory)).toBe(false)
})
