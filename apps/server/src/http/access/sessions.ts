/**
 * Sessions of people in a browser: a cookie in place of the key. A session leads to the hash of the secret it was opened with, and every
 * request finds the key by that hash: a key that was revoked, rotated or has expired ends its sessions at once, in every process. Or it is of
 * a person who signed in with the identity provider: its role follows from its groups by the options of this process.
 * docs/api.md, "Sessions".
 */
import { createHash, createHmac, randomBytes, timingSafeEqual } from "node:crypto"
import type { PersonRole } from "@runseal/core/wire/session-requests"
import { SESSION_IDLE_SECONDS, SESSION_USE_NOTED_SECONDS } from "@runseal/core/wire/session-use"
import type { Database } from "../../store/driver/database.ts"
import {
  findSession,
  insertSession,
  type LiveSince,
  noteSessionUse,
  removeSession,
  type SessionHolder,
  type StoredPerson,
  type StoredSession,
} from "../../store/tables/sessions-table.ts"

/** A session that is not used for so long has ended. */
export const SESSION_IDLE_MS: number = SESSION_IDLE_SECONDS * 1000
/** A session ends after so long, however much it is used. */
export const SESSION_MAX_MS: number = 12 * 3_600_000
/** The same of a person: its groups are read anew at the next sign-in. */
export const PERSON_SESSION_MAX_MS: number = 8 * 3_600_000
/** Sessions of one key, or of one person; one more ends the oldest. */
export const MAX_SESSIONS_OF_HOLDER = 16
/** Ended sessions that are removed when one is opened. */
const SWEPT_AT_ONCE = 1000
/** The use of a session is written at most this often. */
const USE_NOTED_EVERY_MS: number = SESSION_USE_NOTED_SECONDS * 1000

/** 256 random bits: a token that cannot be guessed. */
const TOKEN_BYTES = 32
const TOKEN = new RegExp(`^[0-9a-f]{${2 * TOKEN_BYTES}}$`)

export type BrowserSession = {
  readonly holder: { readonly secret_hash: string } | { readonly person: StoredPerson; readonly role: PersonRole }
  /** What a request that changes something must also send. It follows from the token, which no page and no script can read. */
  readonly csrf_token: string
  /** Milliseconds since the epoch, as the next two. */
  readonly opened_at: number
  readonly idle_ends_at: number
  readonly ends_at: number
}

/** What a person may now; undefined for one of another provider, and for one without a role. */
export type RoleOf = (person: Pick<StoredPerson, "issuer" | "groups">) => PersonRole | undefined

export type Sessions = {
  /** Opens a session. @returns its token, which is stored as a hash alone */
  readonly open: (holder: SessionHolder) => Promise<BrowserSession & { readonly token: string }>
  /**
   * The session of a token, which may be any text; undefined when it has ended or never was.
   * @param isUse whether its use is noted; otherwise it ends as if nobody had asked
   */
  readonly find: (token: string, isUse: boolean) => Promise<BrowserSession | undefined>
  readonly close: (token: string) => Promise<void>
}

const hashOf = (token: string): string => createHash("sha256").update(token).digest("hex")

const csrfTokenOf = (token: string): string => createHmac("sha256", token).update("runseal csrf token").digest("hex")

/** Whether a request's token is the session's; compared in constant time. */
export function isCsrfToken(sent: string | undefined, { csrf_token }: Pick<BrowserSession, "csrf_token">): boolean {
  return sent?.length === csrf_token.length && timingSafeEqual(Buffer.from(sent), Buffer.from(csrf_token))
}

/** Undefined for a session that has ended. */
function sessionOf(token: string, stored: StoredSession, nowMs: number, roleOf: RoleOf): BrowserSession | undefined {
  const { opened_at, last_used_at } = stored
  const holder = holderOf(stored.holder, roleOf)
  const ends_at = opened_at + ("person" in stored.holder ? PERSON_SESSION_MAX_MS : SESSION_MAX_MS)
  if (holder === undefined || ends_at <= nowMs) return undefined
  return {
    holder,
    csrf_token: csrfTokenOf(token),
    opened_at,
    idle_ends_at: Math.min(last_used_at + SESSION_IDLE_MS, ends_at),
    ends_at,
  }
}

function holderOf(holder: SessionHolder, roleOf: RoleOf): BrowserSession["holder"] | undefined {
  if ("secret_hash" in holder) return holder
  const role = roleOf(holder.person)
  return role && { person: holder.person, role }
}

const liveSince = (nowMs: number): LiveSince => ({
  opened_after: nowMs - SESSION_MAX_MS,
  used_after: nowMs - SESSION_IDLE_MS,
})

/** @param roleOf where no people sign in, it gives none */
export function openSessions(db: Database, nowMs: () => number, roleOf: RoleOf): Sessions {
  return {
    open: async holder => {
      const token = randomBytes(TOKEN_BYTES).toString("hex")
      const at = nowMs()
      const bounds = { ...liveSince(at), mostOfHolder: MAX_SESSIONS_OF_HOLDER, mostSwept: SWEPT_AT_ONCE }
      const stored = { holder, opened_at: at, last_used_at: at }
      const opened = sessionOf(token, stored, at, roleOf)
      if (opened === undefined) throw new Error("a person without a role has no session")
      await insertSession(db, hashOf(token), stored, bounds)
      return { token, ...opened }
    },
    find: async (token, isUse) => {
      if (!TOKEN.test(token)) return undefined
      const at = nowMs()
      const stored = await findSession(db.quick, hashOf(token), liveSince(at))
      const found = stored && sessionOf(token, stored, at, roleOf)
      if (found === undefined || stored === undefined || !isUse) return found
      if (at - stored.last_used_at < USE_NOTED_EVERY_MS) return found
      await noteSessionUse(db, hashOf(token), at)
      return { ...found, idle_ends_at: Math.min(at + SESSION_IDLE_MS, found.ends_at) }
    },
    close: async token => {
      if (TOKEN.test(token)) await removeSession(db, hashOf(token))
    },
  }
}
