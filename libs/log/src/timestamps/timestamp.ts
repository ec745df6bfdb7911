/**
 * Timestamps of RFC 3161: that some bytes were there at a time, by the word of an authority. A timestamp is the DER of a whole
 * TimeStampResp, as a Sigstore bundle holds it. What no signature covers in it has one value, so that a changed byte shows.
 */
import { decodeBase64, equalBytes } from "@runseal/canonical"
import { digest, verifySignature } from "#signatures"
import { readingDer } from "../keys/der.ts"
import { lowSOf } from "../keys/ecdsa-der.ts"
import { keptForm, type Timestamp, timestampIn } from "./rfc3161-token.ts"
import { type OpenAuthority, openAuthority, type TimestampAuthority } from "./timestamp-authority.ts"

/** Largest TimeStampResp read, in bytes: one with four certificates takes some 6,000. */
export const MAX_TIMESTAMP_BYTES = 12_288

/** What a timestamp proves. */
export interface TimestampFacts {
  /** Unix seconds, rounded down. */
  readonly time: number
  readonly authority: TimestampAuthority
}

/** Why a timestamp proves nothing, in one sentence. */
export interface TimestampProblem {
  readonly problem: string
  /** It is of nobody who is trusted, and may be good for who trusts more. */
  readonly ofNobody?: true
}

/** Reads a timestamp in the form in which it is kept; undefined for anything else. Never throws. */
export function parseTimestamp(der: Uint8Array): Timestamp | undefined {
  const timestamp = readAnswer(der)
  return timestamp !== undefined && equalBytes(keptForm(timestamp), der) ? timestamp : undefined
}

/**
 * What this authority answered, in the one form in which it is kept: `keptForm`, and of the two forms of an ECDSA signature the one
 * with low S. The signed bytes stay as they are. Undefined when nothing was granted, or it is no timestamp. Never throws.
 */
export function keptTimestamp(answer: Uint8Array, authority: TimestampAuthority): Uint8Array | undefined {
  const timestamp = readAnswer(answer)
  return timestamp && keptForm({ ...timestamp, signature: oneForm(timestamp, openAuthority(authority)) })
}

/** The signature in its one form, if it may be one of the authority's key; else as it is. */
function oneForm({ algorithm, signature }: Timestamp, { signer }: OpenAuthority): Uint8Array {
  const lowS = algorithm.family === "ecdsa" && signer !== undefined ? lowSOf(signer.key.kind, signature) : undefined
  return lowS ?? signature
}

const readAnswer = (der: Uint8Array): Timestamp | undefined =>
  der.length > MAX_TIMESTAMP_BYTES ? undefined : readingDer(() => timestampIn(der))

/** The time that a timestamp names, in Unix seconds, unchecked; undefined for what is none. @param base64 as records hold it */
export function timeOfTimestamp(base64: string): number | undefined {
  const der = decodeBase64(base64)
  return der && parseTimestamp(der)?.time
}

/**
 * Who stamped these bytes, and when; a problem in one sentence when it was nobody of `authorities`, or anything does not hold.
 * Never throws. Costs one signature check, and those of an authority's chain the first time.
 * @param nonce of the request, for who asked
 */
export function verifyTimestamp(
  der: Uint8Array,
  bytes: Uint8Array,
  authorities: readonly TimestampAuthority[],
  nonce?: Uint8Array,
): TimestampFacts | TimestampProblem {
  const timestamp = parseTimestamp(der)
  if (timestamp === undefined) return { problem: "The timestamp is not one of RFC 3161 in its kept form." }
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
