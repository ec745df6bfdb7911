/**
 * Passkeys of people who approve. A row is written, and changed, in the transaction that seals its event: with the decisions that count by it
 * all of them hold the lock of the log's head, so that they are in one order. Rows are never deleted: a key is enrolled once.
 */
import type { AdminAction } from "@runseal/core/artifacts/admin-event"
import type { ApproverKey } from "@runseal/core/artifacts/passkey"
import { PASSKEYS_A_DAY_MAX, PASSKEYS_OF_PERSON_MAX, type PasskeyState } from "@runseal/core/wire/passkey-messages"
import { and, count, desc, eq, sql as fragment, gt, lte, ne, type SQL } from "drizzle-orm"
import { index, pgTable, text } from "drizzle-orm/pg-core"
import type { Source, Tx } from "../driver/session.ts"
import { type Acts, type NewAdminEvent, recordAdminEvent } from "./admin-events.ts"
import { number, type RowOf } from "./column-types.ts"

export const passkey = pgTable(
  "passkey",
  {
    /** SHA-256 of the public key's DER, 64 hex digits. */
    passkey_id: text().primaryKey(),
    /** By which a browser finds it; base64. */
    credential_id: text().notNull(),
    /** Whose it is: the identity provider, and whom it names so. */
    issuer: text().notNull(),
    subject: text().notNull(),
    /** Base64 of the DER SubjectPublicKeyInfo. */
    public_key: text().notNull(),
    /** Where it signs, this and the next. */
    origin: text().notNull(),
    rp_id: text().notNull(),
    /** For its person. */
    name: text().notNull(),
    /** Milliseconds since the epoch, as are all times here. */
    enrolled_at: number(),
    /** From then on it counts. */
    counts_from: number(),
    /** The person who confirmed it; "" where it counts by time. */
    confirmed_issuer: text().notNull(),
    confirmed_subject: text().notNull(),
    /** 0 = not revoked. */
    revoked_at: number(),
  },
  table => [
    index("passkey_person").on(table.issuer, table.subject, table.enrolled_at),
    index("passkey_enrolled").on(table.enrolled_at),
  ],
)

export type PasskeyRow = RowOf<typeof passkey>

/** A person, as the identity provider names it. */
export type PasskeyPerson = Pick<PasskeyRow, "issuer" | "subject">

/** Who acts on a passkey, and when. */
type PasskeyAct = Pick<NewAdminEvent, "at" | "who">

/** What its person pinned when it was enrolled. */
export const approverKeyOf = ({ issuer, subject, public_key, origin, rp_id }: PasskeyRow): ApproverKey => ({
  issuer,
  subject,
  public_key,
  origin,
  rp_id,
})

/** Whether it signs decisions of this person at this time. @param at milliseconds since the epoch */
export const countsFor = (row: PasskeyRow, { issuer, subject }: PasskeyPerson, at: number): boolean =>
  row.issuer === issuer && row.subject === subject && row.revoked_at === 0 && row.counts_from <= at

const isOf = ({ issuer, subject }: PasskeyPerson): SQL | undefined =>
  and(eq(passkey.issuer, issuer), eq(passkey.subject, subject))

/** Whether a passkey has this state at this time, in milliseconds since the epoch. */
const isIn = ({ name, at }: { readonly name: PasskeyState; readonly at: number }): SQL | undefined => {
  if (name === "revoked") return ne(passkey.revoked_at, 0)
  return and(eq(passkey.revoked_at, 0), name === "counts" ? lte(passkey.counts_from, at) : gt(passkey.counts_from, at))
}

/** Which passkeys are listed. */
type Listed = {
  /** Undefined: those of all people, and of these `first`'s before others. */
  readonly person: PasskeyPerson | undefined
  readonly first: PasskeyPerson | undefined
  /** Undefined: those of every state. */
  readonly state: Parameters<typeof isIn>[0] | undefined
  readonly limit: number
}

/** The newest passkeys, and how many there are. */
export function listPasskeys(
  source: Source,
  { person, first, state, limit }: Listed,
): Promise<{ readonly total: number; readonly rows: readonly PasskeyRow[] }> {
  const wanted = and(person && isOf(person), state && isIn(state))
  return source.read(async ({ orm }) => {
    const [{ total } = { total: 0 }] = await orm.select({ total: count() }).from(passkey).where(wanted)
    const rows = await orm
      .select()
      .from(passkey)
      .where(wanted)
      .orderBy(
        ...(first === undefined ? [] : [desc(fragment`${isOf(first)}`)]),
        desc(passkey.enrolled_at),
        desc(passkey.passkey_id),
      )
      .limit(limit)
    return { total, rows }
  })
}

/** The passkey of this id, whosever it is; undefined when there is none. */
export function findPasskey(source: Source, passkeyId: string): Promise<PasskeyRow | undefined> {
  return source.read(async ({ orm }) => {
    const [found] = await orm.select().from(passkey).where(eq(passkey.passkey_id, passkeyId))
    return found
  })
}

/** Why a passkey was not enrolled: it was before, or its person has too many, or enrolled too many in a day. */
export type Unenrolled = "enrolled_before" | "too_many" | "too_many_today"

const DAY_MS = 86_400_000

/** Enrols a passkey. @returns why nothing was done; undefined when it is there */
export function enrolPasskey(acts: Acts, row: PasskeyRow, act: PasskeyAct): Promise<Unenrolled | undefined> {
  return acts.transaction(async tx => {
    const { orm } = tx
    if ((await findPasskey(tx, row.passkey_id)) !== undefined) return "enrolled_before"
    const counted = async (which: SQL): Promise<number> => {
      const [{ held } = { held: 0 }] = await orm
        .select({ held: count() })
        .from(passkey)
        .where(and(isOf(row), which))
      return held
    }
    if ((await counted(eq(passkey.revoked_at, 0))) >= PASSKEYS_OF_PERSON_MAX) return "too_many"
    if ((await counted(gt(passkey.enrolled_at, row.enrolled_at - DAY_MS))) >= PASSKEYS_A_DAY_MAX)
      return "too_many_today"
    await orm.insert(passkey).values(row)
    const { name, counts_from } = row
    const after = { ...approverKeyOf(row), name, counts_from: timestamp(counts_from) }
    await recordPasskeyEvent(tx, act, "passkey.enrol", row, { after })
    return undefined
  })
}

/** Why a passkey was not changed: there is none, nobody confirms their own, or it is revoked. */
export type Unconfirmed = "absent" | "own" | "revoked"

/** Lets a passkey count from now on; one that counts stays as it is. @returns why nothing was done; undefined when it counts */
export function confirmPasskey(
  acts: Acts,
  passkeyId: string,
  by: PasskeyPerson,
  act: PasskeyAct,
): Promise<Unconfirmed | undefined> {
  return acts.transaction(async tx => {
    const row = await findPasskey(tx, passkeyId)
    if (row === undefined) return "absent"
    if (row.subject === by.subject) return "own"
    if (row.revoked_at !== 0) return "revoked"
    if (row.counts_from <= act.at) return undefined
    const confirmed = { counts_from: act.at, confirmed_issuer: by.issuer, confirmed_subject: by.subject }
    await tx.orm.update(passkey).set(confirmed).where(eq(passkey.passkey_id, passkeyId))
    await recordPasskeyEvent(tx, act, "passkey.confirm", row, {
      before: { counts_from: timestamp(row.counts_from) },
      after: { ...approverKeyOf(row), counts_from: timestamp(act.at) },
    })
    return undefined
  })
}

/** Revokes a passkey; one that is revoked keeps its first time. @param owner whose it has to be; absent: anybody's. @returns whether there is one */
export function revokePasskey(
  acts: Acts,
  passkeyId: string,
  owner: PasskeyPerson | undefined,
  act: PasskeyAct,
): Promise<boolean> {
  return acts.transaction(async tx => {
    const row = await findPasskey(tx, passkeyId)
    if (row === undefined || (owner && (row.issuer !== owner.issuer || row.subject !== owner.subject))) return false
    if (row.revoked_at !== 0) return true
    await tx.orm.update(passkey).set({ revoked_at: act.at }).where(eq(passkey.passkey_id, passkeyId))
    await recordPasskeyEvent(tx, act, "passkey.revoke", row, {
      before: { revoked: false },
      after: { issuer: row.issuer, subject: row.subject, revoked: true },
    })
    return true
  })
}

const timestamp = (ms: number): string => new Date(ms).toISOString()

const recordPasskeyEvent = (
  tx: Tx,
  { at, who }: PasskeyAct,
  action: AdminAction,
  { passkey_id }: PasskeyRow,
  changed: Pick<NewAdminEvent, "before" | "after">,
): Promise<void> => recordAdminEvent(tx, { at, who, action, subject: { kind: "passkey", id: passkey_id }, ...changed })
