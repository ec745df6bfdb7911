import { mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterEach, beforeEach, expect, test } from "vitest"
import { makeDeployment } from "../../../libs/core/test/fixtures/deployment.ts"
import {
  MAX_PINNED,
  parseTrustFile,
  pin,
  readPinned,
  TRUST_LIMITS,
  type TrustFile,
  trustFolder,
  unpin,
} from "./trust-store.ts"

let folder: string
beforeEach(() => {
  folder = join(mkdtempSync(join(tmpdir(), "runseal-trust-")), "trust")
})
afterEach(() => rmSync(join(folder, ".."), { recursive: true }))

const { trustDocument } = makeDeployment()
const named = (service: string, changes: object = {}): TrustFile =>
  parseTrustFile(Buffer.from(JSON.stringify({ ...trustDocument, service, ...changes })), "test")
const services = (): readonly string[] => readPinned(folder).map(({ keys }) => keys.service)

test("a store that does not exist holds nothing", () => {
  expect(readPinned(folder)).toEqual([])
})

test("what is pinned is read back with the same keys", () => {
  expect(pin(folder, named("A"), false)).toEqual({ result: "pinned" })
  expect(readPinned(folder)[0]?.keys).toEqual(named("A").keys)
})

test("folder and documents are the owner's alone, and nothing is left beside them", () => {
  pin(folder, named("A"), false)
  expect(statSync(folder).mode & 0o077).toBe(0)
  const files = readdirSync(folder)
  expect(files.map(name => statSync(join(folder, name)).mode & 0o077)).toEqual([0])
})

test("names that read alike are kept apart", () => {
  for (const service of ["A b", "a-b", "a/b", "../a b", "а b"]) pin(folder, named(service), false)
  expect(services()).toHaveLength(5)
})

test("the same document written in another way is the same document", () => {
  pin(folder, named("A"), false)
  const { text } = named("A")
  const spaced = JSON.stringify(JSON.parse(text), undefined, 4)
  expect(pin(folder, parseTrustFile(Buffer.from(spaced), "test"), false)).toEqual({ result: "already_pinned" })
})

test("any other document of a service needs replace, and then stands alone", () => {
  pin(folder, named("A"), false)
  const changed = named("A", { leaf_v7_from: "2026-02-01T00:00:00Z" })
  expect(pin(folder, changed, false).result).toBe("conflict")
  expect(readPinned(folder)[0]?.text).toBe(named("A").text)
  expect(pin(folder, changed, true)).toEqual({ result: "replaced" })
  expect(readPinned(folder).map(({ text }) => text)).toEqual([changed.text])
})

test("documents put there by hand count, are replaced and removed with their service", () => {
  pin(folder, named("B"), false)
  writeFileSync(join(folder, "by-hand.json"), named("A").text)
  expect(services()).toEqual(["A", "B"])
  pin(folder, named("A", { leaf_v7_from: "2026-02-01T00:00:00Z" }), true)
  expect(services()).toEqual(["A", "B"])
  expect(unpin(folder, "A")).toBe(true)
  expect(unpin(folder, "A")).toBe(false)
  expect(services()).toEqual(["B"])
})

test("a document larger than the bound is refused", () => {
  pin(folder, named("A"), false)
  writeFileSync(join(folder, "large.json"), " ".repeat(TRUST_LIMITS.maxBytes + 1))
  expect(() => readPinned(folder)).toThrow("is larger than")
  expect(() => parseTrustFile(Buffer.alloc(TRUST_LIMITS.maxBytes + 1, " "), "It")).toThrow("The text is too large")
})

test("a store holds a bounded number of services", () => {
  for (let i = 0; i < MAX_PINNED; i++) pin(folder, named(`S${i}`), false)
  expect(() => pin(folder, named("one more"), false)).toThrow("remove one first")
  expect(pin(folder, named("S0", { leaf_v7_from: "2026-02-01T00:00:00Z" }), true)).toEqual({ result: "replaced" })
})

test("a store that cannot be read is said to be so", () => {
  writeFileSync(folder, "a file in its place")
  expect(() => pin(folder, named("A"), false)).toThrow("could not be read")
})

test("the folder is the one given, else the XDG configuration folder's", () => {
  expect(trustFolder({ RUNSEAL_TRUST_DIR: "/a", XDG_CONFIG_HOME: "/b" })).toBe("/a")
  expect(trustFolder({ RUNSEAL_TRUST_DIR: "", XDG_CONFIG_HOME: "/b" })).toBe("/b/runseal/trust")
  expect(trustFolder({})).toMatch(/\/\.config\/runseal\/trust$/)
})
