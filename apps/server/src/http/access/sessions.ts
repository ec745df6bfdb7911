/**
 * Sessions of people in a browser: a cookie in place of the key. A session leads to the hash of the secret it was opened with, and every
 * request finds the key by that hash: a key that was revoked, rotated or has expired ends its sessions at once, in every process.
 * docs/api.md, "Sessions".
 */
import { createHash, createHmac, randomBytes, timingSafeEqual } from "node:crypto"
import type { Database } from "../../store/driver/database.ts"
import {
  findSession,
  insertSession,
  type LiveSince,
  noteSessionUse,
  removeSession,
  type StoredSession,
} from "../../store/tables/sessions-table.ts"

/** A session that is not used for so long has ended. */
export const SESSION_IDLE_MS: number = 30 * 60_000
/** A session ends after so long, however much it is used. */
export const SESSION_MAX_MS: number = 12 * 3_600_000
/** Sessions of one key; one more ends the oldest. */
export const MAX_SESSIONS_OF_KEY = 16
/** Ended sessions that are removed when one is opened. */
const SWEPT_AT_ONCE = 1000
/** The use of a session is written at most this often. */
const USE_NOTED_EVERY_MS = 60_000

/** 256 random bits: a token that cannot be guessed. */
const TOKEN_BYTES = 32
const TOKEN = new RegExp(`^[0-9a-f]{${2 * TOKEN_BYTES}}$`)

export type BrowserSession = {
  /** SHA-256 in hex of the secret that it was opened with. */
  readonly secret_hash: string
  /** What a request that changes something must also send. It follows from the token, which no page and no script can read. */
  readonly csrf_token: string
  /** Milliseconds since the epoch. */
  readonly idle_ends_at: number
  readonly ends_at: number
}

export type Sessions = {
  /** Opens a session. @returns its token, which is stored as a hash alone */
  readonly open: (secretHash: string) => Promise<BrowserSession & { readonly token: string }>
  /** The session of a token, which may be any text, and notes its use; undefined when it has ended or never was. */
  readonly find: (token: string) => Promise<BrowserSession | undefined>
  readonly close: (token: string) => Promise<void>
}

const hashOf = (token: string): string => createHash("sha256").update(token).digest("hex")

const csrfTokenOf = (token: string): string => createHmac("sha256", token).update("runseal csrf token").digest("hex")

/** Whether a request's token is the session's; compared in constant time. */
export function isCsrfToken(sent: string | undefined, { csrf_token }: Pick<BrowserSession, "csrf_token">): boolean {
  return sent?.length === csrf_token.length && timingSafeEqual(Buffer.from(sent), Buffer.from(csrf_token))
}

const sessionOf = (token: string, { secret_hash, opened_at, last_used_at }: StoredSession): BrowserSession => {
  const ends_at = opened_at + SESSION_MAX_MS
  return {
    secret_hash,
    csrf_token: csrfTokenOf(token),
    idle_ends_at: Math.min(last_used_at + SESSION_IDLE_MS, ends_at),
    ends_at,
  }
}

const liveSince = (nowMs: number): LiveSince => ({
  opened_after: nowMs - SESSION_MAX_MS,
  used_after: nowMs - SESSION_IDLE_MS,
})

export function openSessions(db: Database, nowMs: () => number): Sessions {
  return {
    open: async secret_hash => {
      const token = randomBytes(TOKEN_BYTES).toString("hex")
      const at = nowMs()
      const stored = { secret_hash, opened_at: at, last_used_at: at }
      const bounds = { ...liveSince(at), mostOfKey: MAX_SESSIONS_OF_KEY, mostSwept: SWEPT_AT_ONCE }
      await insertSession(db, hashOf(token), stored, bounds)
      return { token, ...sessionOf(token, stored) }
    },
    find: async token => {
      if (!TOKEN.test(token)) return undefined
      const at = nowMs()
      const stored = await findSession(db.quick, hashOf(token), liveSince(at))
      if (stored === undefined) return undefined
      if (at - stored.last_used_at < USE_NOTED_EVERY_MS) return sessionOf(token, stored)
      await noteSessionUse(db, hashOf(token), at)
      return sessionOf(token, { ...stored, last_used_at: at })
    },
    close: async token => {
      if (TOKEN.test(token)) await removeSession(db, hashOf(token))
    },
  }
}
