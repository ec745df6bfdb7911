/** Payloads that wait for an approval: who can read them, and until when. docs/keys-and-backups.md, "Payloads that wait for an approval". */
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterEach, beforeEach, expect, test } from "vitest"
import { StartupError } from "../options/startup-error.ts"
import { openPayloadKeys as openKeys, type PayloadKeys } from "./payload-keys.ts"

const openPayloadKeys = (directory: string, nowMs: number): PayloadKeys => openKeys(directory, nowMs, "on")

const DAY = 86_400_000
const NOON = 20_000 * DAY + DAY / 2
const request = { approval_id: `apr-${"1".repeat(32)}`, request_hash: "2".repeat(64), expires_at: NOON }
const TEXT = "transfer 12000 EUR to Müller \u{1f4b6}"

let folder: string
let other: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "runseal-payload-keys-"))
  other = mkdtempSync(join(tmpdir(), "runseal-payload-keys-"))
})
afterEach(() => {
  rmSync(folder, { recursive: true })
  rmSync(other, { recursive: true })
})
const fileIn = (directory: string): string => join(directory, "approval-key.json")

test("a payload is read again by every process of the folder and by one with a copy of the file, and is no text in the database", () => {
  const keys = openPayloadKeys(folder, NOON)
  const row = { ...request, ...keys.encryptPayload(TEXT, request) }
  expect(Buffer.from(row.payload).includes("Müller")).toBe(false)
  expect(row.payload_key_day).toBe(20_000)
  expect(keys.decryptPayload(row)).toBe(TEXT)
  expect(openPayloadKeys(folder, NOON).decryptPayload(row)).toBe(TEXT)
  copyFileSync(fileIn(folder), fileIn(other))
  // Also after this copy went a day on by itself.
  const copy = openPayloadKeys(other, NOON + DAY)
  expect(copy.decryptPayload(row)).toBe(TEXT)
  const later = { ...request, expires_at: NOON + 7 * DAY }
  expect(keys.decryptPayload({ ...later, ...copy.encryptPayload("later", later) })).toBe("later")
  expect(statSync(fileIn(folder)).mode & 0o777).toBe(0o600)
})

test("a day after the day of its end the key is gone, from memory, from the file and from a copy that went on", () => {
  const keys = openPayloadKeys(folder, NOON)
  const row = { ...request, ...keys.encryptPayload(TEXT, request) }
  keys.advance(20_002 * DAY - 1)
  expect(keys.decryptPayload(row)).toBe(TEXT)
  keys.advance(20_002 * DAY)
  expect(keys.decryptPayload(row)).toBeUndefined()
  expect(openPayloadKeys(folder, NOON).decryptPayload(row)).toBeUndefined()
  const { day } = JSON.parse(readFileSync(fileIn(folder), "utf8"))
  expect(day).toBe(20_001)
})

test("a clock that steps back brings no key back, and what is encrypted then can be read", () => {
  const keys = openPayloadKeys(folder, NOON + 5 * DAY)
  keys.advance(NOON)
  const row = { ...request, ...keys.encryptPayload(TEXT, request) }
  expect(row.payload_key_day).toBe(20_004)
  expect(keys.decryptPayload(row)).toBe(TEXT)
})

test("of two processes the one whose clock is behind does not bring the file back", () => {
  const [ahead, behind] = [openPayloadKeys(folder, NOON), openPayloadKeys(folder, NOON)]
  ahead.advance(NOON + 9 * DAY)
  behind.advance(NOON + 3 * DAY)
  expect(JSON.parse(readFileSync(fileIn(folder), "utf8")).day).toBe(20_008)
  const row = { ...request, ...behind.encryptPayload(TEXT, request) }
  expect(ahead.decryptPayload(row)).toBe(TEXT)
})

test("a payload is of one request: another id or digest, another byte and no bytes read nothing", () => {
  const keys = openPayloadKeys(folder, NOON)
  const row = { ...request, ...keys.encryptPayload(TEXT, request) }
  const changed = Uint8Array.from(row.payload, (byte, at) => (at === row.payload.length - 1 ? byte ^ 1 : byte))
  const rows = [
    { ...row, approval_id: `apr-${"3".repeat(32)}` },
    { ...row, request_hash: "4".repeat(64) },
    { ...row, payload: changed },
    { ...row, payload: new Uint8Array(0) },
    { ...row, payload_key_day: row.payload_key_day + 1 },
    { ...row, payload_key_day: Number.MAX_SAFE_INTEGER },
  ]
  expect(rows.map(keys.decryptPayload)).toEqual(rows.map(() => undefined))
})

test("where approvals are off no file is made, and what waits from before can be read", () => {
  openKeys(folder, NOON, "off")
  expect(existsSync(fileIn(folder))).toBe(false)
  const row = { ...request, ...openPayloadKeys(folder, NOON).encryptPayload(TEXT, request) }
  expect(openKeys(folder, NOON, "off").decryptPayload(row)).toBe(TEXT)
})

test("a file that is damaged or open to others stops the start", () => {
  openPayloadKeys(folder, NOON)
  chmodSync(fileIn(folder), 0o644)
  expect(() => openPayloadKeys(folder, NOON)).toThrow(StartupError)
  chmodSync(fileIn(folder), 0o600)
  for (const text of ["", "{}", '{"day":1,"state":"00"}', `{"day":-1,"state":"${"0".repeat(64)}"}`]) {
    writeFileSync(fileIn(folder), text)
    expect(() => openPayloadKeys(folder, NOON)).toThrow(StartupError)
  }
})
