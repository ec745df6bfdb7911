/** Keys of a service that change, leave, or cannot be read. */
import { generateKeyPairSync } from "node:crypto"
import { afterEach, beforeEach, expect, test, vi } from "vitest"
import { type PermitKeys, remoteKeys } from "./permit-keys.ts"

const START = Date.UTC(2026, 0, 15)
const keyOf = (kid: string) => {
  const { publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" })
  return { ...publicKey.export({ format: "jwk" }), kid, alg: "ES256", use: "sig" }
}
const [old, current] = [keyOf("old"), keyOf("current")]

let served: unknown
let asked: number
let keys: PermitKeys
beforeEach(() => {
  vi.useFakeTimers({ toFake: ["Date"], now: START })
  served = { keys: [old] }
  asked = 0
  keys = remoteKeys("https://runseal.example/.well-known/jwks.json", () => {
    asked++
    return served instanceof Response ? served : Response.json(served)
  })
})
afterEach(() => void vi.useRealTimers())

const after = (seconds: number): void => void vi.setSystemTime(START + seconds * 1000)
const find = async (kid: string): Promise<unknown> => {
  const key = await keys.find(kid, Date.now() / 1000)
  return typeof key === "string" ? key : "key"
}

test("are read once in 300 seconds", async () => {
  expect([await find("old"), await find("old")]).toEqual(["key", "key"])
  after(299)
  expect([await find("old"), asked]).toEqual(["key", 1])
  after(300)
  expect([await find("old"), asked]).toEqual(["key", 2])
})

test("a new key is found at its first permit, and an invented one asks the service once in 30 seconds", async () => {
  await find("old")
  served = { keys: [old, current] }
  after(29)
  expect([await find("current"), asked]).toEqual(["unknown_key", 1])
  after(30)
  expect([await find("current"), asked]).toEqual(["key", 2])
  expect([await find("invented"), await find("invented"), asked]).toEqual(["unknown_key", "unknown_key", 2])
})

test("a key that left is unknown after 300 seconds at the latest", async () => {
  await find("old")
  served = { keys: [current] }
  after(300)
  expect(await find("old")).toBe("unknown_key")
})

test.each<[string, () => unknown]>([
  ["another status", () => new Response("{}", { status: 503 })],
  ["a redirect", () => Response.redirect("https://elsewhere.example/", 302)],
  ["no JSON", () => new Response("<html>")],
  ["no document", () => ({ keys: 1 })],
  ["more than 64 KiB", () => new Response(JSON.stringify({ keys: [{ ...old, x5c: "a".repeat(70_000) }] }))],
])("%s leaves no keys, nor those that were read 300 seconds ago", async (_, answer) => {
  await find("old")
  after(300)
  served = answer()
  expect(await find("old")).toBe("keys_unavailable")
  served = { keys: [old] }
  expect(await find("old")).toBe("key")
})

test("one id of two keys is none", async () => {
  served = { keys: [old, keyOf("old")] }
  expect(await find("old")).toBe("unknown_key")
})
