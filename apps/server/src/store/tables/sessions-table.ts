/** Sessions of people in a browser. A session is found by the SHA-256 of its token, and leads to the key by the hash of its secret. */
import { and, desc, eq, gt, inArray, lte, notInArray, or } from "drizzle-orm"
import { index, pgTable } from "drizzle-orm/pg-core"
import type { Database } from "../driver/database.ts"
import type { Sink, Source } from "../driver/session.ts"
import { bytea, number } from "./column-types.ts"

/** A session. Of its token and of the key's secret only the SHA-256 is stored. */
export const session = pgTable(
  "session",
  {
    token_hash: bytea().primaryKey(),
    /** Of the secret that the session was opened with: once it is no key's any more, the session leads to none. */
    secret_hash: bytea().notNull(),
    /** Milliseconds since the epoch. */
    opened_at: number(),
    /** Milliseconds since the epoch; written at most once a minute. */
    last_used_at: number(),
  },
  table => [
    index("session_secret_hash").on(table.secret_hash, table.opened_at),
    index("session_last_used_at").on(table.last_used_at),
  ],
)

/** Hashes are in hex. */
export type StoredSession = {
  readonly secret_hash: string
  readonly opened_at: number
  readonly last_used_at: number
}

/** Sessions that were opened, and used, later than these times have not ended. Milliseconds since the epoch. */
export type LiveSince = { readonly opened_after: number; readonly used_after: number }

const fromHex = (hash: string): Uint8Array => Buffer.from(hash, "hex")

/**
 * Stores a session. Of the same secret the oldest sessions beyond `mostOfKey` are removed, and up to `mostSwept` that have ended.
 * @param token_hash hex
 */
export function insertSession(
  db: Pick<Database, "transaction">,
  token_hash: string,
  { secret_hash, opened_at, last_used_at }: StoredSession,
  {
    opened_after,
    used_after,
    mostOfKey,
    mostSwept,
  }: LiveSince & { readonly mostOfKey: number; readonly mostSwept: number },
): Promise<void> {
  const secret = fromHex(secret_hash)
  return db.transaction(async ({ orm }) => {
    await orm.insert(session).values({ token_hash: fromHex(token_hash), secret_hash: secret, opened_at, last_used_at })
    const newest = orm
      .select({ token_hash: session.token_hash })
      .from(session)
      .where(eq(session.secret_hash, secret))
      .orderBy(desc(session.opened_at))
      .limit(mostOfKey)
    await orm.delete(session).where(and(eq(session.secret_hash, secret), notInArray(session.token_hash, newest)))
    const ended = orm
      .select({ token_hash: session.token_hash })
      .from(session)
      .where(or(lte(session.last_used_at, used_after), lte(session.opened_at, opened_after)))
      .limit(mostSwept)
      .for("update", { skipLocked: true })
    await orm.delete(session).where(inArray(session.token_hash, ended))
  })
}

/** The session of a token's hash (hex); undefined when there is none, or it has ended. */
export async function findSession(
  source: Source,
  tokenHash: string,
  { opened_after, used_after }: LiveSince,
): Promise<StoredSession | undefined> {
  const live = and(gt(session.last_used_at, used_after), gt(session.opened_at, opened_after))
  const [found] = await source.read(({ orm }) =>
    orm
      .select()
      .from(session)
      .where(and(eq(session.token_hash, fromHex(tokenHash)), live)),
  )
  return found && { ...found, secret_hash: Buffer.from(found.secret_hash).toString("hex") }
}

/** Writes that a session was used. */
export const noteSessionUse = (sink: Sink, tokenHash: string, nowMs: number): Promise<unknown> =>
  sink.write(({ orm }) =>
    orm
      .update(session)
      .set({ last_used_at: nowMs })
      .where(eq(session.token_hash, fromHex(tokenHash))),
  )

/** Removes a session; nothing happens when there is none. */
export const removeSession = (sink: Sink, tokenHash: string): Promise<unknown> =>
  sink.write(({ orm }) => orm.delete(session).where(eq(session.token_hash, fromHex(tokenHash))))
