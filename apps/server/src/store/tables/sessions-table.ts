/**
 * Sessions of people in a browser, each found by the SHA-256 of its token. It leads to a key, by the hash of its secret, or it is of a person
 * whom the identity provider named.
 */
import { and, desc, eq, sql as fragment, gt, inArray, lte, notInArray, or } from "drizzle-orm"
import { check, index, pgTable, text } from "drizzle-orm/pg-core"
import * as v from "valibot"
import type { Database } from "../driver/database.ts"
import type { Sink, Source } from "../driver/session.ts"
import { bytea, number, type RowOf } from "./column-types.ts"

/** A session. Of its token and of the key's secret only the SHA-256 is stored. */
export const session = pgTable(
  "session",
  {
    token_hash: bytea().primaryKey(),
    /** Of the secret that the session was opened with: once it is no key's any more, the session leads to none. No bytes for a person. */
    secret_hash: bytea().notNull(),
    /** Of a person, this and the next three; "" for the session of a key. The identity provider, and whom it names so. */
    issuer: text().notNull().default(""),
    subject: text().notNull().default(""),
    /** As the provider gave it. */
    display_name: text().notNull().default(""),
    /** The groups that have a role or that a rule named as approvers, as of the sign-in: a JSON list. */
    groups: text().notNull().default(""),
    /** Milliseconds since the epoch: of a person, when it signed in. */
    opened_at: number(),
    /** Milliseconds since the epoch; written at most once a minute. */
    last_used_at: number(),
  },
  table => [
    check(
      "session_holder",
      fragment`octet_length(${table.secret_hash}) = case when ${table.issuer} = '' then 32 else 0 end`,
    ),
    index("session_secret_hash").on(table.secret_hash, table.opened_at),
    index("session_person").on(table.issuer, table.subject, table.opened_at),
    index("session_last_used_at").on(table.last_used_at),
  ],
)

/** Whom the identity provider named. */
export type StoredPerson = {
  readonly issuer: string
  readonly subject: string
  readonly display_name: string
  /** Those that have a role or that a rule named as approvers. */
  readonly groups: readonly string[]
}

/** Who a session is of: the key with this secret, by the SHA-256 in hex, or a person. */
export type SessionHolder = { readonly secret_hash: string } | { readonly person: StoredPerson }

export type StoredSession = {
  readonly holder: SessionHolder
  readonly opened_at: number
  readonly last_used_at: number
}

/** Sessions that were opened, and used, later than these times have not ended. Milliseconds since the epoch. */
export type LiveSince = { readonly opened_after: number; readonly used_after: number }

const fromHex = (hash: string): Uint8Array => Buffer.from(hash, "hex")

type HolderColumns = Pick<RowOf<typeof session>, "secret_hash" | "issuer" | "subject" | "display_name" | "groups">

function columnsOf(holder: SessionHolder): HolderColumns {
  if ("secret_hash" in holder)
    return { secret_hash: fromHex(holder.secret_hash), issuer: "", subject: "", display_name: "", groups: "" }
  const { groups, ...person } = holder.person
  return { secret_hash: new Uint8Array(0), ...person, groups: JSON.stringify(groups) }
}

function holderOf({ secret_hash, issuer, subject, display_name, groups }: HolderColumns): SessionHolder {
  if (issuer === "") return { secret_hash: Buffer.from(secret_hash).toString("hex") }
  return { person: { issuer, subject, display_name, groups: v.parse(v.array(v.string()), JSON.parse(groups)) } }
}

/**
 * Stores a session. Of the same holder the oldest sessions beyond `mostOfHolder` are removed, and up to `mostSwept` that have ended.
 * @param token_hash hex
 */
export function insertSession(
  db: Pick<Database, "transaction">,
  token_hash: string,
  { holder, ...times }: StoredSession,
  {
    opened_after,
    used_after,
    mostOfHolder,
    mostSwept,
  }: LiveSince & { readonly mostOfHolder: number; readonly mostSwept: number },
): Promise<void> {
  const columns = columnsOf(holder)
  const isOfHolder = and(
    eq(session.secret_hash, columns.secret_hash),
    eq(session.issuer, columns.issuer),
    eq(session.subject, columns.subject),
  )
  return db.transaction(async ({ orm }) => {
    await orm.insert(session).values({ token_hash: fromHex(token_hash), ...columns, ...times })
    const newest = orm
      .select({ token_hash: session.token_hash })
      .from(session)
      .where(isOfHolder)
      .orderBy(desc(session.opened_at))
      .limit(mostOfHolder)
    await orm.delete(session).where(and(isOfHolder, notInArray(session.token_hash, newest)))
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
  return found && { holder: holderOf(found), opened_at: found.opened_at, last_used_at: found.last_used_at }
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
