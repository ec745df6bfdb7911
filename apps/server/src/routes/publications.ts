/** Publishing and withdrawing runs, and what anybody reads of them. Specification, "Publication states of a run". */
import { randomBytes } from "node:crypto"
import { isSha256Hex, parseStrictJson } from "@runseal/canonical"
import { textMember } from "@runseal/core/vocabulary/json-members"
import type { PublishedRun, UnpublishedRun } from "@runseal/core/wire/keys"
import { Hono } from "hono"
import { adminKeyOf } from "../access/doors.ts"
import type { Deps } from "../deps.ts"
import { namesEtag } from "../http/conditional.ts"
import { type HttpError, notFound } from "../http/http-error.ts"
import { readRunId } from "../http/query.ts"
import { findPublished, publishRun, unpublishRun } from "../store/publications.ts"
import { publicBundleUrl } from "./addresses.ts"

/** 128 random bits: an address nobody guesses, so that its look-up needs no constant time. */
const TOKEN_BYTES = 16
const TOKEN = /^[0-9a-f]{32}$/

/** A copy may be served for an hour after a run was withdrawn. Specification, "Limits". */
const CACHE_SECONDS = 3600

const noSuchRun = () => notFound("There is no such run.")

/** Refuses a token under which nothing is published. */
export const noSuchPublication = (): HttpError => notFound("No run is published under this address.")

/** The bundle published under a token, which may be any text; undefined when nothing is. */
export const findPublication = async ({ db }: Pick<Deps, "db">, token: string): Promise<string | undefined> =>
  TOKEN.test(token) ? await findPublished(db, token) : undefined

/** Behind the door. Only an admin key publishes, and only what it made; it withdraws anybody's. */
export function publicationRoutes(deps: Deps): Hono {
  const app = new Hono()
  app.post("/admin/runs/:id/publish", async c => {
    const owner = adminKeyOf(c)
    const run_id = readRunId(c.req.param("id"))
    const candidate = randomBytes(TOKEN_BYTES).toString("hex")
    const publication = { run_id, token: candidate, published_at: deps.nowMs() }
    const token = await publishRun(deps.db, owner, publication)
    if (token === undefined) throw noSuchRun()
    return c.json({ ok: true, run_id, token, url: publicBundleUrl(c, deps, token) } satisfies PublishedRun)
  })
  app.post("/admin/runs/:id/unpublish", async c => {
    adminKeyOf(c)
    const run_id = readRunId(c.req.param("id"))
    if (!(await unpublishRun(deps.db, run_id))) throw noSuchRun()
    return c.json({ ok: true, run_id, published: false } satisfies UnpublishedRun)
  })
  return app
}

/** Before the door. */
export function publicBundleRoutes(deps: Deps): Hono {
  const app = new Hono()
  // The rule by which a route made runs public was withdrawn: nothing is looked up, and no id tells whether it exists.
  app.get("/runs/:id/bundle.json", () => {
    throw notFound("No bundle is served at this address; a published run is read under its token.")
  })
  app.get("/public/runs/:token/bundle.json", async c => {
    const bundle = await findPublication(deps, c.req.param("token"))
    if (bundle === undefined) throw noSuchPublication()
    const headers = { "Cache-Control": `public, max-age=${CACHE_SECONDS}`, ETag: entityTag(bundle) }
    if (namesEtag(c.req.header("If-None-Match"), headers.ETag)) return c.body(null, 304, headers)
    return c.body(bundle, 200, { ...headers, "Content-Type": "application/json" })
  })
  return app
}

/** The bundle's own hash names its bytes: they never change. @throws Error when the stored text is no bundle */
function entityTag(bundle: string): string {
  const hash = textMember(parseStrictJson(bundle), "bundle_hash")
  if (hash === undefined || !isSha256Hex(hash)) throw new Error("a published bundle is unreadable")
  return `"${hash}"`
}
