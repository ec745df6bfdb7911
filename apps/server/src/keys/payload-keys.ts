/**
 * Payloads that wait for an approval, encrypted in the database. Their keys follow from one secret, which is replaced by its successor each day:
 * so the key of a day that is over can be computed by nobody any more, from a copy of the database neither. Processes that share the file, or
 * have copies of it, compute the same keys. What a reader of both the file and the database learns are the payloads that still wait.
 */
import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from "node:crypto"
import { concatBytes, decodeHex, encodeHex, utf8Decode, utf8Encode } from "@runseal/canonical"
import { countSchema, sha256Schema } from "@runseal/core/vocabulary/scalars"
import * as v from "valibot"
import type { Config } from "../options/config.ts"
import type { ApprovalRow } from "../store/tables/approvals-table.ts"
import { inKeysFolder, whileLocked } from "./keys-folder.ts"
import { readOwnJson, replaceOwnJson, storeOwnJson } from "./own-files.ts"

const FILE = "approval-key.json"
const DAY_MS = 86_400_000
/** A day's key is there for so many days after it: a request that expired late in the day is still ended with its payload at hand. */
const DAYS_AFTER = 1
/** Most days ahead of the file for which a key is computed: no request waits that long, and a damaged row must not keep the process busy. */
const DAYS_AHEAD_MAX = 400

const SECRET_BYTES = 32
const NONCE_BYTES = 12
const TAG_BYTES = 16
const CIPHER = "aes-256-gcm"

/** `day` in days since the epoch; `state`: the secret from which the keys of that day and all later ones follow. 32 bytes in hex. */
const fileSchema = v.strictObject({ day: countSchema, state: sha256Schema })

type Ratchet = { readonly day: number; readonly state: Uint8Array }

/** What the key of a payload follows from, and what is bound to it. */
type Names = Pick<ApprovalRow, "approval_id" | "request_hash">
export type EncryptedPayload = Pick<ApprovalRow, "payload" | "payload_key_day">

export type PayloadKeys = {
  /** Encrypts a payload. @param expires_at milliseconds since the epoch: until a day after that day it can be read */
  readonly encryptPayload: (text: string, request: Names & Pick<ApprovalRow, "expires_at">) => EncryptedPayload
  /** The payload of a row; undefined once it ended or its key is gone, and for a row that was changed. */
  readonly decryptPayload: (row: Names & EncryptedPayload) => string | undefined
  /**
   * Destroys the keys of the days that are over. @param nowMs milliseconds since the epoch; an earlier time than before changes nothing
   * @throws StartupError when the file cannot be read or written
   */
  readonly advance: (nowMs: number) => void
}

const derived = (secret: Uint8Array, info: string): Uint8Array =>
  new Uint8Array(hkdfSync("sha256", secret, new Uint8Array(0), info, SECRET_BYTES))

function atDay({ day, state }: Ratchet, target: number): Ratchet {
  let secret = state
  for (let at = day; at < target; at++) secret = derived(secret, "next")
  return { day: Math.max(day, target), state: secret }
}

const keyOf = ({ state }: Ratchet, approvalId: string): Uint8Array =>
  derived(derived(state, "key"), `runseal approval payload ${approvalId}`)

const dayOf = (ms: number): number => Math.floor(ms / DAY_MS)
const firstDay = (nowMs: number): number => Math.max(0, dayOf(nowMs) - DAYS_AFTER)

/**
 * Reads the file, which is made when there is none and approvals are on. Where they are off nothing is encrypted, and what was before can be read.
 * @param nowMs milliseconds since the epoch
 * @throws StartupError when the file cannot be used, is damaged or open to others
 */
export function openPayloadKeys(directory: string, nowMs: number, approvals: Config["approvals"]): PayloadKeys {
  let ratchet = approvals === "on" ? readOrMake(directory, nowMs) : read(directory)
  const advance = (now: number): void => {
    const known = ratchet
    if (known === undefined || firstDay(now) <= known.day) return
    whileLocked(directory, () => {
      // Another process may be ahead, by its clock: then this one follows it, so that what it encrypts can be read there.
      const stored = read(directory)
      const next = atDay(stored ?? known, firstDay(now))
      if (next.day > (stored?.day ?? -1)) store(directory, next, replaceOwnJson)
      ratchet = next
    })
  }
  advance(nowMs)
  return {
    advance,
    encryptPayload: (text, request) => {
      if (ratchet === undefined) throw new Error("approvals are off: no policy asks for one")
      const payload_key_day = Math.max(dayOf(request.expires_at), ratchet.day)
      if (payload_key_day - ratchet.day > DAYS_AHEAD_MAX) throw new RangeError("no payload is stored for so long")
      const nonce = randomBytes(NONCE_BYTES)
      const cipher = createCipheriv(CIPHER, keyOf(atDay(ratchet, payload_key_day), request.approval_id), nonce)
      cipher.setAAD(utf8Encode(request.request_hash))
      const sealed = concatBytes(cipher.update(utf8Encode(text)), cipher.final())
      return { payload: concatBytes(nonce, cipher.getAuthTag(), sealed), payload_key_day }
    },
    decryptPayload: row => {
      if (ratchet === undefined) return undefined
      const { day } = ratchet
      if (row.payload_key_day < day || row.payload_key_day - day > DAYS_AHEAD_MAX) return undefined
      return opened(row, keyOf(atDay(ratchet, row.payload_key_day), row.approval_id))
    },
  }
}

/** Undefined for bytes that were not encrypted under this key for this request. */
function opened({ payload, request_hash }: Names & EncryptedPayload, key: Uint8Array): string | undefined {
  if (payload.length < NONCE_BYTES + TAG_BYTES) return undefined
  const decipher = createDecipheriv(CIPHER, key, payload.subarray(0, NONCE_BYTES), { authTagLength: TAG_BYTES })
  decipher.setAAD(utf8Encode(request_hash))
  decipher.setAuthTag(payload.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES))
  try {
    return utf8Decode(concatBytes(decipher.update(payload.subarray(NONCE_BYTES + TAG_BYTES)), decipher.final()))
  } catch {
    return undefined
  }
}

/** Of two processes that make the file at once one wins, and both then read the winner's. */
function readOrMake(directory: string, nowMs: number): Ratchet {
  const found = read(directory)
  if (found !== undefined) return found
  const fresh = { day: firstDay(nowMs), state: new Uint8Array(randomBytes(SECRET_BYTES)) }
  inKeysFolder(directory, () => store(directory, fresh, storeOwnJson))
  return read(directory) ?? fresh
}

function read(directory: string): Ratchet | undefined {
  const file = readOwnJson(directory, FILE, fileSchema)
  const state = file && decodeHex(file.state)
  return file === undefined || state === undefined ? undefined : { day: file.day, state }
}

const store = (directory: string, { day, state }: Ratchet, write: typeof storeOwnJson): void =>
  write(directory, FILE, { day, state: encodeHex(state) })
