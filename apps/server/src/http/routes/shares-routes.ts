/** Sharing a record for some days: links, and what is read under them. docs/api.md, "Shared records". */
import { randomBytes } from "node:crypto"
import { PAGE_LIMIT_DEFAULT } from "@runseal/core/wire/run-summaries"
import {
  type MadeShare,
  type RevokedShare,
  SHARE_SECONDS_DEFAULT,
  type SharesPage,
} from "@runseal/core/wire/share-messages"
import type { Context } from "hono"
import type { Deps } from "../../deps.ts"
import { HttpError, notFound } from "../../http-error.ts"
import {
  findShared,
  insertShare,
  listShares,
  revokeShare,
  type ShareAct,
  type SharedRun,
} from "../../store/tables/shares-table.ts"
import { secretHash } from "../access/api-key.ts"
import { adminKeyOf } from "../access/authentication.ts"
import { callerOf, type KeyCaller, keyCallerOf, whoOf } from "../access/caller.ts"
import { onceOf } from "../access/idempotency.ts"
import type { Handlers } from "../endpoint-routes.ts"
import { roomForAnswer } from "../json-body.ts"
import { noSuchRun, readId } from "../path-ids.ts"
import { nextOf } from "../query.ts"
import { serviceUrl } from "./addresses.ts"
import { ownersOf } from "./admin-runs-routes.ts"
import { anyRun, shownBundle } from "./run-views.ts"
import { sendReport } from "./runs-routes.ts"

/** 128 random bits: a token that cannot be guessed, so that its look-up needs no constant time. */
const TOKEN_BYTES = 16
const TOKEN = /^[0-9a-f]{32}$/

const clock = (ms: number): string => new Date(ms).toISOString()
const noSuchShare = (): HttpError => notFound("There is no such link.")

/** The key that shares: an admin key, or an auditor's that may. @throws HttpError 403, also for a person: a link ends with its key */
function sharingKey(c: Context): KeyCaller {
  const caller = callerOf(c)
  if (caller.person !== undefined || caller.scope !== "auditor") adminKeyOf(c)
  else if (caller.share !== true)
    throw new HttpError(
      "read_only_key",
      "This is the key of an auditor that may not share: an administrator allows it with share: true.",
    )
  return keyCallerOf(c)
}

/** For administrators, and for auditors that may share. All of them read the list. */
export function shareRoutes(deps: Deps): Handlers {
  const actOf = (c: Context): ShareAct => ({ at: deps.nowMs(), who: whoOf(callerOf(c)), once: onceOf(c) })
  return {
    share_run: async (c, { body }) => {
      const { api_key_id: made_by } = sharingKey(c)
      const { run_id } = await anyRun(c, deps)
      const { request } = await body()
      const act = actOf(c)
      const expires_at = act.at + (request.expires_in_seconds ?? SHARE_SECONDS_DEFAULT) * 1000
      const token = randomBytes(TOKEN_BYTES).toString("hex")
      const share_id = await insertShare(deps.acts, { run_id, made_by, expires_at, token_hash: secretHash(token) }, act)
      if (share_id === undefined) throw noSuchRun()
      const url = `${serviceUrl(c, deps)}/shared/${token}`
      return c.json({ ok: true, share_id, run_id, token, url, expires_at: clock(expires_at) } satisfies MadeShare, 201)
    },
    shares: async (c, { query }) => {
      const { limit = PAGE_LIMIT_DEFAULT, before, key, run } = query()
      const page = { at: deps.nowMs(), limit, before, ...(run === undefined ? {} : { run_id: run }) }
      const rows = await listShares(deps.db, ownersOf(c, key), page)
      const shares = rows.map(({ owner, made_at, expires_at, ...row }) => ({
        ...row,
        key_id: owner,
        made_at: clock(made_at),
        expires_at: clock(expires_at),
      }))
      const next = nextOf(rows, limit, ({ share_id }) => share_id)
      return c.json({ ok: true, limit, shares, ...next } satisfies SharesPage)
    },
    revoke_share: async c => {
      // An administrator ends every link, a person too; an auditor ends what it shares itself.
      const own = callerOf(c).scope === "admin" ? undefined : sharingKey(c).api_key_id
      const share_id = readId(c.req.param("id"), noSuchShare)
      if (!(await revokeShare(deps.acts, share_id, own, actOf(c)))) throw noSuchShare()
      return c.json({ ok: true, share_id, revoked: true } satisfies RevokedShare)
    },
  }
}

/** The same for a link that is unknown, expired or revoked. */
export const nothingShared = (): HttpError =>
  new HttpError("not_shared", "Nothing is shared under this address, or not any more.")

/** What a token leads to now; it may be any text. Nothing of it is cached: a link that was revoked ends at once. */
export async function sharedRun(
  c: Context,
  { guarded, nowMs }: Pick<Deps, "guarded" | "nowMs">,
): Promise<SharedRun | undefined> {
  c.header("Cache-Control", "no-store")
  c.header("X-Robots-Tag", "noindex")
  const token = c.req.param("token") ?? ""
  const found = TOKEN.test(token) ? await findShared(guarded, secretHash(token), nowMs()) : undefined
  if (found !== undefined) await roomForAnswer(c, found.bundle.length)
  return found
}

/** For everybody who has the address. The page is beside that of published runs. */
export function sharedRecordRoutes(deps: Deps): Handlers {
  const shared = async (c: Context): Promise<SharedRun> => {
    const found = await sharedRun(c, deps)
    if (found === undefined) throw nothingShared()
    return found
  }
  return {
    shared_bundle: async (c, { query }) => {
      const { with: addition } = query()
      const { bundle } = await shared(c)
      return c.body(await shownBundle(deps, bundle, addition), 200, { "Content-Type": "application/json" })
    },
    shared_report: async (c, { query }) => {
      const asked = query()
      const run = await shared(c)
      // All who have links of one key have the room of one caller. A link is not of who made the run: it shows what the record says.
      return sendReport(c, deps, run, { ...asked, caller: run.made_by, seesRules: false })
    },
  }
}
