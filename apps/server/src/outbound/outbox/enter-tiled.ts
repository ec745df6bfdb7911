/**
 * Enters one entry in a Rekor log with API v2. Such a log signs no time, so a timestamp authority does. The timestamp is requested first:
 * an entry is in the log without a timestamp only when an answer of the log was lost.
 */
import { encodeBase64 } from "@runseal/canonical"
import { tiledEntryProblem } from "@runseal/log/entries/check-tiled-entry"
import type { TiledLogEntry } from "@runseal/log/entries/log-entry"
import {
  heldEntry,
  indexOfDuplicate,
  parseRekorV2Answer,
  REKOR_V2_ENTRIES,
  REKOR_V2_READ,
  rekorV2Request,
  signatureIn,
  sizeOfCheckpoint,
  tiledBody,
} from "@runseal/log/entries/rekor-v2"
import { buildInclusionProof, tilePath } from "@runseal/log/merkle/tiles"
import type { HttpAnswer } from "../ask.ts"
import { askLog, type Entered, type LogRefusal, refusalOf } from "./ask-log.ts"
import { askTimestamp, type TimestampSource } from "./ask-timestamp.ts"
import type { OutsideLog } from "./outside-log.ts"

/**
 * For one entry in the log, all requests and their complete answers included. A log answers once a checkpoint contains the entry, and its
 * API asks clients to wait at least 20 s.
 */
export const TILED_DEADLINE_MS = 30_000

type Found = { readonly entry: TiledLogEntry } | LogRefusal

/**
 * Gets a timestamp over the signature in a body and enters the body, or finds it where it was entered before. Never rejects.
 * @param body of the entry in the service's own log
 */
export async function enterTiled(
  log: OutsideLog,
  timestamps: TimestampSource,
  body: Uint8Array,
  stop: AbortSignal,
): Promise<Entered> {
  const [request, signature, own] = [rekorV2Request(body), signatureIn(body), tiledBody(body)]
  // Every body of the embedded log has a signature and a key.
  if (request === undefined || signature === undefined || own === undefined) return { fault: "invalid" }
  const stamped = await askTimestamp(timestamps, signature, stop)
  if ("fault" in stamped) return stamped
  const signal = AbortSignal.any([stop, AbortSignal.timeout(TILED_DEADLINE_MS)])
  const found = await enter(log, request, own, signal).catch((): LogRefusal => ({ fault: "unreachable" }))
  if ("fault" in found) return found
  const problem = tiledEntryProblem(found.entry, encodeBase64(body), log.trust, stamped.time)
  return problem === undefined ? { entry: found.entry, timestamp: stamped.timestamp } : { fault: "invalid", problem }
}

async function enter(log: OutsideLog, request: string, body: Uint8Array, signal: AbortSignal): Promise<Found> {
  const made = await askLog(new URL(REKOR_V2_ENTRIES, log.url), signal, request)
  if (made.status === 409) return find(log, made, body, signal)
  if (made.status !== 201) return refusalOf(made)
  const entry = made.bytes && parseRekorV2Answer(made.bytes)
  return entry === undefined ? { fault: "invalid", status: 201 } : { entry }
}

/** Builds the proof of an entry that the log already has from its checkpoint and tiles: its API returns an entry only once. */
async function find(log: OutsideLog, { bytes }: HttpAnswer, body: Uint8Array, signal: AbortSignal): Promise<Found> {
  const index = bytes && indexOfDuplicate(bytes)
  if (index === undefined) return { fault: "invalid", status: 409 }
  const head = await askLog(new URL(`${REKOR_V2_READ}checkpoint`, log.url), signal)
  if (head.status !== 200) return refusalOf(head)
  const checkpoint = Buffer.from(head.bytes ?? []).toString("utf8")
  const size = sizeOfCheckpoint(checkpoint)
  if (size === undefined) return { fault: "invalid", status: 409 }
  // The published checkpoint may be older than the entry: the next attempt gets a later one.
  if (index >= size) return { fault: "failed", status: 409 }
  let refused: HttpAnswer | undefined
  const hashes = await buildInclusionProof(index, size, async (level, at, width) => {
    const tile = await askLog(new URL(`${REKOR_V2_READ}${tilePath({ level, index: at, width })}`, log.url), signal)
    if (tile.status !== 200) refused = tile
    return tile.bytes ?? new Uint8Array()
  }).catch(() => undefined)
  if (refused !== undefined) return refusalOf(refused)
  const logId = Buffer.from(log.key.logId, "base64")
  const entry = hashes && heldEntry({ logId, index, body, hashes, checkpoint })
  if (entry === undefined) return signal.aborted ? { fault: "unreachable" } : { fault: "invalid", status: 409 }
  return { entry }
}
