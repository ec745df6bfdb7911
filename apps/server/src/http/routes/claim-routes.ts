/** Giving the runs of open mode to a key, and the lists of a key that has them. docs/api.md, "POST /admin/runs/claim". Decision 0125. */
import type { ClaimedRuns } from "@runseal/core/wire/key-requests"
import type { Deps } from "../../deps.ts"
import { HttpError } from "../../http-error.ts"
import { claimRuns, findClaim } from "../../store/tables/run-claims.ts"
import { adminKeyOf, unauthorized } from "../access/authentication.ts"
import { ANONYMOUS_KEY_ID, callerOf, whoOf } from "../access/caller.ts"
import type { Handlers } from "../endpoint-routes.ts"
import { noSuchKey } from "../path-ids.ts"
import type { Page } from "../query.ts"

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

/** Rows of a list, and how many there are of them in all. */
type Rows<Row> = { readonly total: number; readonly rows: readonly Row[] }

/**
 * A page of all runs or permits that a key reads: its own, then those of open mode if it has the claim. Those are older: the first key
 * ended open mode.
 * @param read a page of one owner's; a limit is at least 1
 */
export async function readablePage<Row>(
  deps: Pick<Deps, "db">,
  owner: number,
  { limit, offset }: Page,
  read: (owner: number, page: Page) => Promise<Rows<Row>>,
): Promise<Rows<Row>> {
  const own = await read(owner, { limit, offset })
  if (!(await hasClaim(deps, owner))) return own
  const missing = limit - own.rows.length
  const claimed = await read(ANONYMOUS_KEY_ID, { limit: Math.max(missing, 1), offset: Math.max(offset - own.total, 0) })
  return { total: own.total + claimed.total, rows: [...own.rows, ...claimed.rows.slice(0, missing)] }
}
