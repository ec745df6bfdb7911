/** Giving the runs of open mode to a key, and the lists of a key that has them. docs/api.md, "POST /admin/runs/claim". Decision 0125. */
import type { ClaimedRuns } from "@runseal/core/wire/key-requests"
import type { Deps } from "../../deps.ts"
import { HttpError } from "../../http-error.ts"
import type { Owners, PageBefore } from "../../store/tables/all-owners.ts"
import { claimRuns, findClaim } from "../../store/tables/run-claims.ts"
import { adminKeyOf, unauthorized } from "../access/authentication.ts"
import { ANONYMOUS_KEY_ID, callerOf, whoOf } from "../access/caller.ts"
import type { Handlers } from "../endpoint-routes.ts"
import { noSuchKey } from "../path-ids.ts"
import { asPage, invalidParameter, type Page } from "../query.ts"

/** For admin keys. */
export function claimRoutes({ acts, nowMs }: Deps): Handlers {
  return {
    claim_runs: async (c, { body }) => {
      const claimed_by = adminKeyOf(c)
      const { key_id } = (await body()).request
      const claim = await claimRuns(acts, { key_id, claimed_by, claimed_at: nowMs() }, whoOf(callerOf(c)))
      if (claim === "nobody") throw unauthorized()
      if (claim === "absent") throw noSuchKey()
      if (claim === "nothing")
        throw new HttpError("nothing_to_claim", "No run was made in open mode: there is nothing to give.")
      if (claim.key_id !== key_id)
        throw new HttpError("already_claimed", `The runs of open mode were given to key ${claim.key_id} already.`)
      return c.json({ ok: true, ...claim, claimed_at: new Date(claim.claimed_at).toISOString() } satisfies ClaimedRuns)
    },
  }
}

/** Whether a key reads the runs of open mode. */
export const hasClaim = async ({ db }: Pick<Deps, "db">, keyId: number): Promise<boolean> =>
  keyId !== ANONYMOUS_KEY_ID && (await findClaim(db.quick))?.key_id === keyId

/** How the rows of a list are read. */
export type ListReader<Row, Place> = {
  /** A page of one owner's rows, and how many they are in all. A limit is at least 1. */
  readonly counted: (owner: number, page: Page) => Promise<Rows<Row>>
  /** The next rows of these owners before a place; without one the newest. */
  readonly before: (owners: Owners, page: PageBefore<Place>) => Promise<readonly Row[]>
  /** Where the page after a row begins. */
  readonly placeOf: (row: Row) => Place
}
type Rows<Row> = { readonly total: number; readonly rows: readonly Row[] }

/**
 * A page of all runs or permits that a key reads as its own: those that it made, then those of open mode if it has the claim. Those are
 * older: the first key ended open mode.
 * @throws HttpError 400 for a page that begins at two places
 */
export async function ownPage<Row, Place>(
  deps: Pick<Deps, "db">,
  owner: number,
  {
    offset: from,
    before,
    after,
    ...sized
  }: { readonly [Name in keyof Page]?: Page[Name] | undefined } & {
    readonly before: Place | undefined
    readonly after?: Place | undefined
  },
  reader: ListReader<Row, Place>,
): Promise<Page & Rows<Row> & { readonly last: Place | undefined }> {
  oneBeginning({ offset: from, before, after })
  const hasPlace = before !== undefined || after !== undefined
  const { limit, offset } = asPage({ ...sized, offset: from })
  const claimed = await hasClaim(deps, owner)
  const { total, rows } = await countedPage(owner, claimed, hasPlace ? TOTAL : { limit, offset }, reader)
  const owners = claimed ? [owner, ANONYMOUS_KEY_ID] : [owner]
  const page = hasPlace ? await reader.before(owners, { limit, before, after }) : rows
  const last = page.length === limit ? page.at(-1) : undefined
  return { total, limit, offset, rows: page, last: last && reader.placeOf(last) }
}
/** @throws HttpError 400 for a page that begins at two places */
export function oneBeginning(places: Readonly<Record<string, unknown>>): void {
  const given = Object.keys(places).filter(name => places[name] !== undefined)
  if (given.length > 1) throw invalidParameter(`${given.join(" and ")} must not be given together.`)
}

/** Asks how many there are. */
const TOTAL: Page = { limit: 1, offset: 0 }

async function countedPage<Row>(
  owner: number,
  claimed: boolean,
  { limit, offset }: Page,
  { counted }: Pick<ListReader<Row, never>, "counted">,
): Promise<Rows<Row>> {
  const own = await counted(owner, { limit, offset })
  if (!claimed) return own
  const missing = limit - own.rows.length
  const open = await counted(ANONYMOUS_KEY_ID, { limit: Math.max(missing, 1), offset: Math.max(offset - own.total, 0) })
  return { total: own.total + open.total, rows: [...own.rows, ...open.rows.slice(0, missing)] }
}
