/** The log, read-only: C2SP tlog-tiles under /log/, entries with proof, consistency; and the trust documents. FORMATS §6–7. */
import { encodeBase64, utf8Encode } from "@runseal/canonical"
import { encodeEntryBundle } from "@runseal/core/transparency-log/entry-bundle"
import {
  buildConsistencyProof,
  buildInclusionProof,
  parseTilePath,
  TILE_WIDTH,
  type TileAddress,
  tileWidth,
} from "@runseal/core/transparency-log/tiles"
import { Hono } from "hono"
import type { Deps } from "../deps.ts"
import { badRequest, notFound } from "../http/http-error.ts"
import { consistencyQuerySchema, readQuery } from "../http/query.ts"
import { readEntries, readHead, readTile } from "../store/log-store.ts"
import { readWitnessed } from "../store/witnessed-checkpoint.ts"

const IMMUTABLE = { "Cache-Control": "public, max-age=31536000, immutable" }
const FRESH = { "Cache-Control": "no-cache" }

/** A tile or entry bundle that the current log holds. */
async function tileBytes(deps: Deps, { level, index, width }: TileAddress): Promise<Uint8Array<ArrayBuffer>> {
  const { size } = await readHead(deps.db)
  if (width > tileWidth(level === "entries" ? 0 : level, index, size)) throw notFound("The log has no such tile yet.")
  if (level !== "entries") return new Uint8Array(await readTile(deps.db, level, index, width))
  const entries = await readEntries(deps.db, index * TILE_WIDTH, index * TILE_WIDTH + width)
  return new Uint8Array(encodeEntryBundle(entries.map(entry => utf8Encode(entry.body))))
}

async function entryAnswer(deps: Deps, index: number): Promise<object> {
  const head = await readHead(deps.db)
  if (index >= head.size) throw notFound("The log has no such entry.")
  const [entry] = await readEntries(deps.db, index, index + 1)
  if (entry === undefined) throw notFound("The log has no such entry.")
  const proof = await buildInclusionProof(index, head.size, (level, i, width) => readTile(deps.db, level, i, width))
  return {
    ok: true,
    log_index: index,
    integrated_time: entry.integrated_time,
    canonicalized_body: encodeBase64(utf8Encode(entry.body)),
    inclusion_proof: { tree_size: head.size, root_hash: encodeBase64(head.root), hashes: proof.map(encodeBase64) },
    checkpoint: head.checkpoint,
  }
}

async function consistencyAnswer(deps: Deps, url: string): Promise<object> {
  const { first, second } = readQuery(consistencyQuerySchema, url)
  const { size } = await readHead(deps.db)
  if (first > second || second > size)
    throw badRequest(`first and second must be tree sizes with 1 ≤ first ≤ second ≤ ${size}.`)
  const proof = await buildConsistencyProof(first, second, (level, i, width) => readTile(deps.db, level, i, width))
  return { ok: true, first, second, hashes: proof.map(encodeBase64) }
}

/** The newest checkpoint; with the witnesses' lines once enough of them cosigned that very one. */
async function newestCheckpoint({ db }: Deps): Promise<string> {
  const { checkpoint } = await readHead(db)
  const witnessed = await readWitnessed(db)
  return witnessed?.checkpoint.startsWith(checkpoint) === true ? witnessed.checkpoint : checkpoint
}

async function witnessedCheckpoint({ db }: Deps): Promise<string> {
  const witnessed = await readWitnessed(db)
  if (witnessed === undefined) throw notFound("No checkpoint of this log was cosigned by enough witnesses.")
  return witnessed.checkpoint
}

export function logRoutes(deps: Deps): Hono {
  const app = new Hono()
  app.get("/log/checkpoint", async c => c.text(await newestCheckpoint(deps), 200, FRESH))
  app.get("/log/witnessed-checkpoint", async c => c.text(await witnessedCheckpoint(deps), 200, FRESH))
  app.get("/log/genesis", c => c.json({ ok: true, log_index: 0, leaf: deps.genesis }, 200, IMMUTABLE))
  app.get("/log/tile/*", async c => {
    const address = parseTilePath(c.req.path.slice("/log/".length))
    if (address === undefined) throw notFound("This is no tile path.")
    return c.body(await tileBytes(deps, address), 200, { ...IMMUTABLE, "Content-Type": "application/octet-stream" })
  })
  app.get("/log/entry/:index", async c => {
    const text = c.req.param("index")
    if (!/^(0|[1-9]\d{0,14})$/.test(text)) throw notFound("The log has no such entry.")
    return c.json(await entryAnswer(deps, Number(text)), 200, FRESH)
  })
  app.get("/log/consistency", async c => c.json(await consistencyAnswer(deps, c.req.url)))
  app.get("/.well-known/runseal-trust.json", c => c.json(deps.trustDocument, 200, FRESH))
  app.get("/.well-known/trusted-root.json", c => c.json(deps.trustedRoot, 200, FRESH))
  app.get("/.well-known/service.pub", c =>
    c.body(deps.servicePublicKeyPem, 200, { ...FRESH, "Content-Type": "application/x-pem-file" }),
  )
  return app
}
