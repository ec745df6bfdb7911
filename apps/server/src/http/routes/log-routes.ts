/**
 * The log, read-only: C2SP tlog-tiles under /log/, entries with proof, consistency; and the trust documents. docs/api.md, "The
 * log" and "Trust".
 */

import { promisify } from "node:util"
import { gzip } from "node:zlib"
import { encodeBase64, utf8Encode } from "@runseal/canonical"
import type { OutsideLogsAnswer } from "@runseal/core/wire/log-answers"
import { encodeEntryBundle } from "@runseal/log/merkle/entry-bundle"
import { assembleProof, consistencyPath, inclusionPath, type ProofPlan } from "@runseal/log/merkle/rfc6962"
import { parseTilePath, TILE_WIDTH, type TileAddress, tilePath, tileWidth } from "@runseal/log/merkle/tiles"
import type { Deps } from "../../deps.ts"
import { HttpError, notFound } from "../../http-error.ts"
import { readStandings } from "../../outbound/outbox/delivery-state.ts"
import type { Session, Source } from "../../store/driver/session.ts"
import { type LogNodes, readEntries, readHead, readTileThrough, rememberNodes } from "../../store/tables/log-store.ts"
import { readWitnessed } from "../../store/tables/witnessed-checkpoint.ts"
import { acceptedCoding } from "../content-coding.ts"
import type { Handler, Handlers } from "../endpoint-routes.ts"
import { invalidParameter } from "../query.ts"

const IMMUTABLE = { "Cache-Control": "public, max-age=31536000, immutable" }
const FRESH = { "Cache-Control": "no-cache" }

/** Where tiles, entries and proofs are read. Each answer reads on one connection. */
type Log = Pick<Deps, "db" | "reads" | "shownHead"> & {
  readonly nodes: LogNodes
  /** Entries of the largest tree whose checkpoint was shown here. */
  readonly shownSize: () => number
}

/** @param there the part of the tile that the log has; its width is 0 where there is none */
const noSuchTile = (there: TileAddress): HttpError =>
  notFound(`The log has no such tile yet${there.width === 0 ? "" : `; it has ${tilePath(there)}`}.`)

/**
 * A tile or entry bundle of a tree whose checkpoint was shown: it never changes. What the log holds beyond may yet be lost, and
 * caches would hold it for a year. Decision 0112.
 */
async function tileBytes(log: Log, address: TileAddress): Promise<Uint8Array<ArrayBuffer>> {
  const { reads, db, shownSize, shownHead } = log
  const wasShown = widthAt(address, shownSize()) >= address.width
  if (!wasShown) await shownHead()
  const read = (source: Source) => source.read(session => readTileBytes(log, session, address))
  return wasShown && address.width === TILE_WIDTH ? reads.immutable(read) : read(db)
}

const widthAt = ({ level, index }: TileAddress, size: number): number =>
  tileWidth(level === "entries" ? 0 : level, index, size)

async function readTileBytes(
  { nodes, shownSize }: Log,
  session: Session,
  address: TileAddress,
): Promise<Uint8Array<ArrayBuffer>> {
  const { level, index, width } = address
  // A standby may hold less than was shown.
  const size = Math.min(shownSize(), (await readHead(session)).size)
  const there = widthAt(address, size)
  if (width > there) throw noSuchTile({ level, index, width: there })
  if (level !== "entries") return new Uint8Array(await readTileThrough(nodes, session, { level, index, width }, size))
  const entries = await readEntries(session, index * TILE_WIDTH, index * TILE_WIDTH + width)
  return new Uint8Array(encodeEntryBundle(entries.map(entry => utf8Encode(entry.body))))
}

/** A proof in the tree of `size` leaves. */
async function proof(nodes: LogNodes, session: Session, plan: ProofPlan, size: number): Promise<readonly string[]> {
  return assembleProof(plan, await nodes.read(session, plan.flat(), size)).map(encodeBase64)
}

async function entryAnswer({ db, shownHead, nodes }: Log, index: number): Promise<object> {
  const head = await shownHead()
  return db.read(async session => {
    if (index >= head.size) throw notFound("The log has no such entry.")
    const [[entry], hashes] = await Promise.all([
      readEntries(session, index, index + 1),
      proof(nodes, session, inclusionPath(index, head.size), head.size),
    ])
    if (entry === undefined) throw notFound("The log has no such entry.")
    return {
      ok: true,
      log_index: index,
      integrated_time: entry.integrated_time,
      canonicalized_body: encodeBase64(utf8Encode(entry.body)),
      inclusion_proof: { tree_size: head.size, root_hash: encodeBase64(head.root), hashes },
      checkpoint: head.checkpoint,
    }
  })
}

async function consistencyAnswer(
  { db, shownHead, nodes }: Log,
  { first, second }: { readonly first: number; readonly second: number },
): Promise<object> {
  const { size } = await shownHead()
  if (first > second || second > size)
    throw invalidParameter(`first and second must be tree sizes with 1 ≤ first ≤ second ≤ ${size}.`)
  const hashes = await db.read(session => proof(nodes, session, consistencyPath(first, second), second))
  return { ok: true, first, second, hashes }
}

/** The newest checkpoint, with the witnesses' lines once enough of them have cosigned it. */
async function newestCheckpoint({ db, shownHead }: Pick<Deps, "db" | "shownHead">): Promise<string> {
  const { checkpoint } = await shownHead()
  const witnessed = await readWitnessed(db)
  return witnessed?.checkpoint.startsWith(checkpoint) === true ? witnessed.checkpoint : checkpoint
}

async function witnessedCheckpoint({ db }: Deps): Promise<string> {
  const witnessed = await readWitnessed(db)
  if (witnessed === undefined) throw notFound("No checkpoint of this log was cosigned by enough witnesses.")
  return witnessed.checkpoint
}

const outsideLogs = async ({ db, nowMs }: Deps): Promise<OutsideLogsAnswer> => ({
  ok: true,
  logs: await readStandings(db, nowMs()),
})

export function logRoutes(deps: Deps): Handlers {
  const { db, reads } = deps
  let shownSize = 0
  const shownHead: Deps["shownHead"] = async () => {
    const head = await deps.shownHead()
    shownSize = Math.max(shownSize, head.size)
    return head
  }
  const log: Log = { db, reads, shownHead, nodes: rememberNodes(), shownSize: () => shownSize }
  const packed = createBundleCompressor(address => tileBytes(log, address))
  const tile: Handler = async c => {
    const address = parseTilePath(c.req.path.slice("/log/".length))
    if (address === undefined) throw notFound("This is not a tile path.")
    const headers = { ...IMMUTABLE, "Content-Type": "application/octet-stream" }
    // Hashes do not compress.
    if (address.level !== "entries") return c.body(await tileBytes(log, address), 200, headers)
    const varying = { ...headers, Vary: "Accept-Encoding" }
    const coding = acceptedCoding(c.req.header("accept-encoding"))
    if (coding === undefined)
      throw new HttpError("not_acceptable", "An entry bundle is sent plain or with gzip.", { Vary: "Accept-Encoding" })
    if (coding === "identity") return c.body(await tileBytes(log, address), 200, varying)
    return c.body(await packed(address), 200, { ...varying, "Content-Encoding": "gzip" })
  }
  return {
    checkpoint: async c => c.text(await newestCheckpoint(log), 200, FRESH),
    witnessed_checkpoint: async c => c.text(await witnessedCheckpoint(deps), 200, FRESH),
    outside_logs: async c => c.json(await outsideLogs(deps), 200, FRESH),
    witnesses: async c => c.json(await deps.showWitnesses(), 200, FRESH),
    genesis: c => c.json({ ok: true, log_index: 0, leaf: deps.genesis }, 200, IMMUTABLE),
    key_changes: c => c.json({ ok: true, changes: deps.keyChanges }, 200, FRESH),
    tile,
    partial_tile: tile,

    log_entry: async c => {
      const text = c.req.param("index") ?? ""
      if (!/^(0|[1-9]\d{0,14})$/.test(text)) throw notFound("The log has no such entry.")
      return c.json(await entryAnswer(log, Number(text)), 200, FRESH)
    },
    log_consistency: async (c, { query }) => c.json(await consistencyAnswer(log, query())),
    trust: c => c.json(deps.trustDocument, 200, FRESH),
    trusted_root: c => c.json(deps.trustedRoot, 200, FRESH),
    service_key: c => c.body(deps.servicePublicKeyPem, 200, { ...FRESH, "Content-Type": "application/x-pem-file" }),
  }
}

// Entry bundles with gzip. A bundle never changes, so that a full one is compressed once and cached. The cache and the number of bundles
// being compressed are bounded; a request in the queue holds no bytes yet.

/** Compressed bytes in the cache: some 500 full bundles. */
const MAX_CACHED_BYTES = 16_777_216
/** Bundles that are read and compressed at one time; Node has four threads for such work. */
const MAX_AT_ONCE = 2
/** Compresses to a quarter, in some milliseconds; a higher level saves one per cent more. */
const LEVEL = 6

const compress = promisify(gzip)

/** The bundle at an address, compressed. Rejects as the reader does. */
type PackBundle = (address: TileAddress) => Promise<Uint8Array<ArrayBuffer>>

/** @param read the plain bytes of a bundle that the log holds */
function createBundleCompressor(read: (address: TileAddress) => Promise<Uint8Array>): PackBundle {
  const cache = new Map<string, Uint8Array<ArrayBuffer>>()
  let cachedBytes = 0
  const underWay = new Map<string, Promise<Uint8Array<ArrayBuffer>>>()
  const waiting: (() => void)[] = []
  let free = MAX_AT_ONCE

  const withSlot = async <T>(work: () => Promise<T>): Promise<T> => {
    if (free > 0) free -= 1
    else await new Promise<void>(start => waiting.push(start))
    try {
      return await work()
    } finally {
      const next = waiting.shift()
      if (next === undefined) free += 1
      else next()
    }
  }

  const store = (path: string, bytes: Uint8Array<ArrayBuffer>): void => {
    cache.set(path, bytes)
    cachedBytes += bytes.length
    for (const [oldest, { length }] of cache) {
      if (cachedBytes <= MAX_CACHED_BYTES) return
      cache.delete(oldest)
      cachedBytes -= length
    }
  }

  return address => {
    const path = tilePath(address)
    const cached = cache.get(path)
    if (cached !== undefined) return Promise.resolve(cached)
    const earlier = underWay.get(path)
    if (earlier !== undefined) return earlier
    const packed = withSlot(async () => {
      const bytes = new Uint8Array(await compress(await read(address), { level: LEVEL }))
      if (address.width === TILE_WIDTH) store(path, bytes)
      return bytes
    }).finally(() => underWay.delete(path))
    underWay.set(path, packed)
    return packed
  }
}
