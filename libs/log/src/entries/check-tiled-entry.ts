/** Compares an entry of a Rekor v2 log with the service's own: the same digest, signature and key, in a tree that the log signed. */
import { decodeBase64, decodeSafeDecimal, encodeBase64, equalBytes } from "@runseal/canonical"
import { isLowS } from "../keys/ecdsa-der.ts"
import { isValidAt } from "../keys/validity.ts"
import { hashLeaf, verifyInclusion } from "../merkle/rfc6962.ts"
import { keyHintOf, parseOrigin, parseTiledCheckpoint } from "../notes/checkpoint.ts"
import { type TimestampFacts, type TimestampProblem, verifyTimestamp } from "../timestamps/timestamp.ts"
import type { TimestampAuthority } from "../timestamps/timestamp-authority.ts"
import { P256_KEY_DETAILS, type TrustedKeys } from "../trust/trusted-keys.ts"
import type { TiledLogEntry } from "./log-entry.ts"
import { signatureIn, TILED_ENTRY_KIND, tiledBody } from "./rekor-v2.ts"
import { isSignedCheckpoint } from "./verified-checkpoints.ts"

/**
 * Which authority timestamped the service's signature of an entry, and when: a Rekor v2 log signs no time itself. A problem in one
 * sentence when none of `authorities` did. Never throws.
 * @param timestamp base64 of a TimeStampResp
 * @param ownBody base64 of the entry's body in the service's own log
 */
export function entryTime(
  timestamp: string,
  ownBody: string,
  authorities: readonly TimestampAuthority[],
): TimestampFacts | TimestampProblem {
  const signature = signatureIn(bytesOf(ownBody))
  return signature === undefined
    ? { problem: "The entry has no signature that could be stamped." }
    : verifyTimestamp(bytesOf(timestamp), signature, authorities)
}

/**
 * Why an entry does not show that a log of `trust` holds what the service's own entry holds; undefined when it shows that. Its
 * signature must be in its low-S form. Never throws.
 * @param ownBody base64 of the body in the service's own log, known to be right
 * @param time of its timestamp, in Unix seconds
 */
export function tiledEntryProblem(
  entry: TiledLogEntry,
  ownBody: string,
  trust: TrustedKeys,
  time: number,
): string | undefined {
  const { kindVersion, inclusionProof, canonicalizedBody, logIndex, logId } = entry
  const body = tiledBody(bytesOf(ownBody))
  if (body === undefined || encodeBase64(body) !== canonicalizedBody) return "The entry has another body."
  if (kindVersion.kind !== TILED_ENTRY_KIND.kind || kindVersion.version !== TILED_ENTRY_KIND.version)
    return "The entry does not call itself a hashedrekord 0.0.2."
  if (logIndex !== inclusionProof.logIndex) return "The proof is for another index than the entry's."
  const checkpoint = parseTiledCheckpoint(inclusionProof.checkpoint.envelope)
  if (checkpoint === undefined)
    return "The checkpoint is not one of a Rekor v2 log with one signature and no extension lines."
  const included = verifyInclusion({
    leafHash: hashLeaf(body),
    index: countOf(logIndex),
    size: checkpoint.size,
    proof: inclusionProof.hashes.map(bytesOf),
    root: checkpoint.root,
  })
  if (!included) return "The inclusion proof does not lead from the entry to the checkpoint's root."
  if (countOf(inclusionProof.treeSize) !== checkpoint.size)
    return "The proof is for another tree size than the checkpoint's."
  if (!equalBytes(bytesOf(inclusionProof.rootHash), checkpoint.root))
    return "The proof ends in another root than the checkpoint's."
  if (checkpoint.host !== parseOrigin(trust.origin)?.host)
    return "The checkpoint is of another log than the trusted one."
  if (checkpoint.keyHint !== keyHintOf(bytesOf(logId.keyId))) return "The checkpoint names another key than the log's."
  const keys = trust.logKeys.filter(key => key.logId === logId.keyId)
  const key = keys.find(candidate => isValidAt(candidate, time))
  if (key === undefined)
    return keys.length === 0
      ? "The entry is of a log that the trust document does not list."
      : "The log's key was not valid at the time of the entry."
  if (key.keyDetails === P256_KEY_DETAILS && !isLowS(checkpoint.signature))
    return "The checkpoint signature is not in its low-S DER form."
  const signed = isSignedCheckpoint(inclusionProof.checkpoint.envelope, checkpoint, key)
  return signed ? undefined : "The checkpoint signature is not valid."
}

/** −1, which is no index and no size, for text outside the schema. */
const countOf = (decimal: string): number => decodeSafeDecimal(decimal) ?? -1

const bytesOf = (base64: string): Uint8Array => decodeBase64(base64) ?? Uint8Array.of()
