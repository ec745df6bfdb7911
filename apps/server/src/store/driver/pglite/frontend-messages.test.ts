import { expect, test } from "vitest"
import { isStartup, withoutTerminate } from "./frontend-messages.ts"

const message = (type: string, body: string): Buffer => {
  const length = Buffer.alloc(4)
  length.writeUInt32BE(4 + Buffer.byteLength(body))
  return Buffer.concat([Buffer.from(type), length, Buffer.from(body)])
}
const query = message("Q", "select 'X'\0")
const terminate = message("X", "")

test("a start-up message is one whose first byte is 0", () => {
  expect(isStartup(Buffer.from([0, 0, 0, 8, 0, 3, 0, 0]))).toBe(true)
  expect(isStartup(query)).toBe(false)
})

test("messages pass unchanged, an X inside one too", () => {
  const bytes = Buffer.concat([query, message("S", "")])
  expect(withoutTerminate(bytes)).toEqual(bytes)
})

test("Terminate is dropped, alone and after other messages", () => {
  expect(withoutTerminate(terminate)).toHaveLength(0)
  expect(Buffer.from(withoutTerminate(Buffer.concat([query, terminate])))).toEqual(query)
})
