/** Links under which everybody who has one reads a record, for some days at most. Rows are never deleted, so that no number is given again. */
import { and, desc, eq, sql as fragment, gt, inArray, lt } from "drizzle-orm"
import { index, pgTable } from "drizzle-orm/pg-core"
import type { Source } from "../driver/session.ts"
import { type Acts, type NewAdminEvent, recordAdminEvent } from "./admin-events.ts"
import { api_key } from "./api-keys.ts"
import { bytea, number, type RowOf } from "./column-types.ts"
import { document } from "./documents-table.ts"
import { type RunRow, type RunSummaryRow, run } from "./runs-table.ts"

export const share = pgTable(
  "share",
  {
    /** 1, 2, 3 … */
    share_id: number().primaryKey(),
    run_id: number(),
    /** SHA-256 of the token, 32 bytes. The token is not stored. */
    token_hash: bytea().notNull().unique(),
    /** Id of the key that shares it. */
    made_by: number(),
    /** Milliseconds since the epoch. */
    made_at: number(),
    expires_at: number(),
    /** 0 = not revoked. */
    revoked_at: number(),
  },
  table => [index("share_run").on(table.run_id)],
)

export type ShareRow = RowOf<typeof share>

/** Who shares or revokes, when, and the idempotency key that it uses up. */
export type ShareAct = Pick<NewAdminEvent, "at" | "who" | "once">

/**
 * Whether the key shares runs of this owner at this time: an admin key those of all, an auditor that may share those it reads. A link works as
 * long as this holds, so that it ends with its key and with the key's right.
 */
const mayShare = (at: number) => fragment<boolean>`(
  ${api_key.revoked_at} = 0 and (${api_key.expires_at} = 0 or ${api_key.expires_at} > ${at}::bigint)
  and case ${api_key.scope}
    when 'admin' then true
    when 'auditor' then ${api_key.share} and case ${api_key.reads}
      when '' then true
      else ${api_key.reads}::jsonb @> to_jsonb(${run.owner})
    end
    else false
  end)`

/** A link that works at this time. */
const works = (at: number) => and(eq(share.revoked_at, 0), gt(share.expires_at, at), mayShare(at))

const stateInEvent = ({ share_id, expires_at }: Pick<ShareRow, "share_id" | "expires_at">) => ({
  share_id,
  expires_at: new Date(expires_at).toISOString(),
})

/**
 * Shares a run. Each has a number of its own, which follows from the lock under which actions are sealed.
 * @param token_hash hex
 * @returns its number; undefined where there is no such run that the key may share
 */
export function insertShare(
  acts: Acts,
  { token_hash, ...row }: Pick<ShareRow, "run_id" | "made_by" | "expires_at"> & { readonly token_hash: string },
  act: ShareAct,
): Promise<number | undefined> {
  return acts.transaction(async tx => {
    const allowed = await tx.orm
      .select({ run_id: run.run_id })
      .from(run)
      .innerJoin(api_key, eq(api_key.key_id, row.made_by))
      .where(and(eq(run.run_id, row.run_id), mayShare(act.at)))
    if (allowed.length === 0) return undefined
    const [{ share_id } = { share_id: 1 }] = await tx.orm
      .select({ share_id: fragment<number>`coalesce(max(${share.share_id}), 0) + 1`.mapWith(Number) })
      .from(share)
    const made = { ...row, share_id, token_hash: Buffer.from(token_hash, "hex"), made_at: act.at, revoked_at: 0 }
    await tx.orm.insert(share).values(made)
    await recordAdminEvent(tx, {
      ...act,
      action: "run.share",
      subject: { kind: "run", id: `${row.run_id}` },
      after: stateInEvent(made),
    })
    return share_id
  })
}

/**
 * Ends a link; one that was revoked keeps its first time.
 * @param madeBy the key whose links alone are found; undefined: of every key
 * @returns whether there is such a link
 */
export function revokeShare(acts: Acts, id: number, madeBy: number | undefined, act: ShareAct): Promise<boolean> {
  return acts.transaction(async tx => {
    const isIt = and(eq(share.share_id, id), madeBy === undefined ? undefined : eq(share.made_by, madeBy))
    const [found] = await tx.orm.select().from(share).where(isIt).for("update")
    if (found?.revoked_at !== 0) return found !== undefined
    await tx.orm.update(share).set({ revoked_at: act.at }).where(isIt)
    await recordAdminEvent(tx, {
      ...act,
      action: "run.unshare",
      subject: { kind: "run", id: `${found.run_id}` },
      before: stateInEvent(found),
    })
    return true
  })
}

/** A link in a list. */
export type ListedShare = Omit<ShareRow, "token_hash" | "revoked_at"> & Pick<RunSummaryRow, "owner" | "outcome_kind">

/** The next links that work at this time, the newest first. @param before a link's number */
export function listShares(
  source: Source,
  owners: readonly number[] | undefined,
  {
    at,
    limit,
    before,
    run_id,
  }: { readonly at: number; readonly limit: number; readonly before?: number | undefined; readonly run_id?: number },
): Promise<readonly ListedShare[]> {
  const { share_id, made_by, made_at, expires_at } = share
  const { owner, outcome_kind } = run
  return source.read(({ orm }) =>
    orm
      .select({ share_id, run_id: run.run_id, made_by, made_at, expires_at, owner, outcome_kind })
      .from(share)
      .innerJoin(run, eq(run.run_id, share.run_id))
      .innerJoin(api_key, eq(api_key.key_id, share.made_by))
      .where(
        and(
          works(at),
          before === undefined ? undefined : lt(share_id, before),
          run_id === undefined ? undefined : eq(share.run_id, run_id),
          owners === undefined ? undefined : inArray(owner, [...owners]),
        ),
      )
      .orderBy(desc(share_id))
      .limit(limit),
  )
}

/** What is read under a link. */
export type SharedRun = Pick<
  RunRow,
  "run_id" | "bundle" | "outcome_kind" | "enforcement" | "closing_outcome" | "created_at"
> &
  Pick<ShareRow, "made_by" | "expires_at"> & {
    /** Name of the key that shares it. */
    readonly made_by_name: string
  }

/** The run that a link leads to at this time; undefined for one that is unknown, expired or revoked. @param tokenHash hex */
export function findShared(source: Source, tokenHash: string, at: number): Promise<SharedRun | undefined> {
  const { run_id, outcome_kind, enforcement, closing_outcome, created_at } = run
  const { made_by, expires_at } = share
  return source.read(async ({ orm }) => {
    const [found] = await orm
      .select({
        ...{ run_id, bundle: document.packed, outcome_kind, enforcement, closing_outcome, created_at },
        ...{ made_by, expires_at, made_by_name: api_key.name },
      })
      .from(share)
      .innerJoin(run, eq(run.run_id, share.run_id))
      .innerJoin(document, eq(document.log_index, run.log_index))
      .innerJoin(api_key, eq(api_key.key_id, share.made_by))
      .where(and(eq(share.token_hash, Buffer.from(tokenHash, "hex")), works(at)))
    return found
  })
}
