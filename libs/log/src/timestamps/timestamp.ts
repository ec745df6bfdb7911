/**
 * Timestamps of RFC 3161: an authority's signed statement that some bytes existed at a time. A timestamp is the DER of a whole
 * TimeStampResp, as a Sigstore bundle contains it. Parts that no signature covers have a fixed value, so that a changed byte is found.
 */
import { decodeBase64, equalBytes } from "@runseal/canonical"
import { digest, verifySignature } from "#signatures"
import { formatDer, readingDer, TAG } from "../keys/der.ts"
import { lowSOf } from "../keys/ecdsa-der.ts"
import { SHA256_ALGORITHM } from "../keys/signer-key.ts"
import { storedForm, type Timestamp, timestampIn } from "./rfc3161-token.ts"
import { type OpenAuthority, openAuthority, type TimestampAuthority } from "./timestamp-authority.ts"

/** Largest TimeStampResp read, in bytes: one with four certificates takes some 6,000. */
export const MAX_TIMESTAMP_BYTES = 12_288

const REQUEST_VERSION = 1

/**
 * A request for a timestamp over bytes, RFC 3161 §2.4.1. It does not ask for the signer's certificate, which the trust document lists.
 * @param nonce its first bit is clear, its first byte not 0
 */
export function timestampRequest(bytes: Uint8Array, nonce: Uint8Array): Uint8Array {
  const imprint = formatDer(TAG.sequence, SHA256_ALGORITHM, formatDer(TAG.octetString, digest("sha256", bytes)))
  const version = formatDer(TAG.integer, Uint8Array.of(REQUEST_VERSION))
  return formatDer(TAG.sequence, version, imprint, formatDer(TAG.integer, nonce))
}

/** What a timestamp proves. */
export interface TimestampFacts {
  /** Unix seconds, rounded down. */
  readonly time: number
  readonly authority: TimestampAuthority
}

/** Why a timestamp proves nothing, in one sentence. */
export interface TimestampProblem {
  readonly problem: string
  /** No trusted authority signed it; a reader who trusts more of them may accept it. */
  readonly ofNobody?: true
}

/** Reads a timestamp in its stored form; undefined for anything else. Never throws. */
export function parseTimestamp(der: Uint8Array): Timestamp | undefined {
  const timestamp = readAnswer(der)
  return timestamp !== undefined && equalBytes(storedForm(timestamp), der) ? timestamp : undefined
}

/**
 * An authority's answer in its stored form: `storedForm`, with the low-S form of an ECDSA signature. The signed bytes are not
 * changed. Undefined when no timestamp was granted, or the answer is none. Never throws.
 */
export function storedTimestamp(answer: Uint8Array, authority: TimestampAuthority): Uint8Array | undefined {
  const timestamp = readAnswer(answer)
  return timestamp && storedForm({ ...timestamp, signature: oneForm(timestamp, openAuthority(authority)) })
}

/** The low-S form of an ECDSA signature of the authority's key; any other signature unchanged. */
function oneForm({ algorithm, signature }: Timestamp, { signer }: OpenAuthority): Uint8Array {
  const lowS = algorithm.family === "ecdsa" && signer !== undefined ? lowSOf(signer.key.kind, signature) : undefined
  return lowS ?? signature
}

const readAnswer = (der: Uint8Array): Timestamp | undefined =>
  der.length > MAX_TIMESTAMP_BYTES ? undefined : readingDer(() => timestampIn(der))

/** The time that a timestamp states, in Unix seconds, unchecked; undefined for any other bytes. @param base64 as records contain it */
export function timeOfTimestamp(base64: string): number | undefined {
  const der = decodeBase64(base64)
  return der && parseTimestamp(der)?.time
}

/**
 * Which authority timestamped these bytes, and when; a problem in one sentence when it was none of `authorities`, or a check fails.
 * Never throws. Costs one signature check, and once per authority those of its chain.
 * @param nonce of the request, when the caller sent it
 */
export function verifyTimestamp(
  der: Uint8Array,
  bytes: Uint8Array,
  authorities: readonly TimestampAuthority[],
  nonce?: Uint8Array,
): TimestampFacts | TimestampProblem {
  const timestamp = parseTimestamp(der)
  if (timestamp === undefined) return { problem: "The timestamp is not one of RFC 3161 in its stored form." }
  const { issuer, serial, time } = timestamp
  const named = authorities.filter(authority => {
    const { signer } = openAuthority(authority)
    return signer !== undefined && equalBytes(signer.issuer, issuer) && equalBytes(signer.serial, serial)
  })
  const problems = named.map(authority => ({
    authority,
    problem: timestampProblem(timestamp, bytes, openAuthority(authority)),
  }))
  const good = problems.find(({ problem }) => problem === undefined)
  if (good === undefined) return problems[0]?.problem === undefined ? OF_NOBODY : { problem: problems[0].problem }
  if (nonce !== undefined && !(timestamp.nonce && equalBytes(timestamp.nonce, nonce)))
    return { problem: "The timestamp answers another request." }
  return { time, authority: good.authority }
}

const OF_NOBODY: TimestampProblem = {
  problem: "The timestamp is signed under a certificate of no authority that is trusted.",
  ofNobody: true,
}

function timestampProblem(timestamp: Timestamp, bytes: Uint8Array, authority: OpenAuthority): string | undefined {
  const { signer, problem, validFrom, validTo } = authority
  if (signer === undefined || problem !== undefined) return problem ?? "The authority has no certificate."
  const { time, imprint, info, infoDigest, hash, algorithm, signed, signature, signingCertificate } = timestamp
  if (!equalBytes(imprint, digest("sha256", bytes))) return "The timestamp is over other bytes."
  if (!equalBytes(infoDigest, digest(hash, info))) return "What the timestamp signs is not what it says."
  if (!verifySignature(signer.key, algorithm, signed, signature)) return "The signature of the timestamp is not valid."
  if (!equalBytes(signature, oneForm(timestamp, authority)))
    return "The signature of the timestamp is not in its low-S form."
  if (time < validFrom || time > validTo) return "A certificate of the timestamp authority was not valid at its time."
  if (signingCertificate === undefined) return undefined
  const same = equalBytes(signingCertificate.value, digest(signingCertificate.hash, signer.der))
  return same ? undefined : "The timestamp names another certificate than its authority's."
}
