/** Publishing and withdrawing runs, and their public bundles. docs/api.md, "POST /admin/runs/{id}/publish" and "Public bundles". */
import { randomBytes } from "node:crypto"
import { utf8Encode } from "@runseal/canonical"
import type { PublishedRun, UnpublishedRun } from "@runseal/core/wire/key-requests"
import type { Context } from "hono"
import type { Deps } from "../../deps.ts"
import { HttpError } from "../../http-error.ts"
import {
  describePublished,
  findPublished,
  type PublishedFacts,
  publishRun,
  unpublishRun,
} from "../../store/tables/publications-table.ts"
import { adminKeyOf, refuseUnlessAdmin } from "../access/authentication.ts"
import { callerOf, whoOf } from "../access/caller.ts"
import type { Handlers } from "../endpoint-routes.ts"
import { roomForAnswer } from "../json-body.ts"
import { noSuchRun, readRunId } from "../path-ids.ts"
import { entityTag, namesEtag } from "../served-file.ts"
import { publicBundleUrl } from "./addresses.ts"
import { shownBundle } from "./run-views.ts"

/** 128 random bits: a token that cannot be guessed, so that its look-up needs no constant time. */
const TOKEN_BYTES = 16
const TOKEN = /^[0-9a-f]{32}$/

/** A copy may be served for an hour after a run was withdrawn. docs/api.md, "Public bundles". */
const CACHE_SECONDS = 3600

/** Refuses a token under which nothing is published. */
export const noSuchPublication = (): HttpError =>
  new HttpError("not_published", "No run is published under this address.")

/** The run published under a token, which may be any text; undefined when none is. */
export const publishedFacts = async (
  { guarded }: Pick<Deps, "guarded">,
  token: string,
): Promise<PublishedFacts | undefined> => (TOKEN.test(token) ? describePublished(guarded, token) : undefined)

/** For admin keys. A key publishes only runs that it made, and withdraws any run. */
export function publicationRoutes(deps: Deps): Handlers {
  return {
    publish_run: async c => {
      const owner = adminKeyOf(c)
      const run_id = readRunId(c.req.param("id"))
      const candidate = randomBytes(TOKEN_BYTES).toString("hex")
      const publication = { run_id, token: candidate, published_at: deps.nowMs() }
      const token = await publishRun(deps.acts, owner, publication, whoOf(callerOf(c)))
      if (token === undefined) throw noSuchRun()
      return c.json({ ok: true, run_id, token, url: publicBundleUrl(c, deps, token) } satisfies PublishedRun)
    },
    unpublish_run: async c => {
      refuseUnlessAdmin(c)
      const run_id = readRunId(c.req.param("id"))
      if (!(await unpublishRun(deps.acts, run_id, whoOf(callerOf(c)), deps.nowMs()))) throw noSuchRun()
      return c.json({ ok: true, run_id, published: false } satisfies UnpublishedRun)
    },
  }
}

/** For everybody, without a key. */
export function publicBundleRoutes(deps: Deps): Handlers {
  return {
    // No run is public under its number. Nothing is looked up, so that the answer does not reveal which runs exist.
    run_bundle: () => {
      throw new HttpError(
        "not_published",
        "No bundle is served at this address. Its owner reads it from /runs/{id}/artifacts; a published run is read under its token.",
      )
    },
    public_bundle: (c, { query }) => {
      const { with: addition } = query()
      return sendPublished(c, deps, sealed => shownBundle(deps, sealed, addition))
    },
  }
}

/** Sends what is made of the published bundle that the path's token names. @throws HttpError 404 when there is none */
export async function sendPublished(
  c: Context,
  { guarded }: Pick<Deps, "guarded">,
  made: (bundle: string) => string | Promise<string>,
): Promise<Response> {
  const token = c.req.param("token") ?? ""
  const bundle = TOKEN.test(token) ? await findPublished(guarded, token) : undefined
  if (bundle === undefined) throw noSuchPublication()
  await roomForAnswer(c, bundle.length)
  const text = await made(bundle)
  const headers = { "Cache-Control": `public, max-age=${CACHE_SECONDS}`, ETag: entityTag(utf8Encode(text)) }
  if (namesEtag(c.req.header("If-None-Match"), headers.ETag)) return c.body(null, 304, headers)
  return c.body(text, 200, { ...headers, "Content-Type": "application/json" })
}
