import { decodeBase64, decodeSafeDecimal, encodeBase64, equalBytes, sha256Hex, utf8Encode } from "@runseal/canonical"
import { verifyEcdsaP256 } from "#signatures"
import { isLowS, isStrictDerSignature } from "../keys/ecdsa-der.ts"
import { formatUtcSeconds, isValidAt } from "../keys/validity.ts"
import { type EntryCheckpoint, keyHintOf, parseEntryCheckpoint, parseOrigin } from "../notes/checkpoint.ts"
import { type LogKey, P256_KEY_DETAILS, type ServiceKey, type TrustedKeys } from "../trust/trusted-keys.ts"
import {
  ENTRY_KIND,
  type EntryBody,
  parseEntryBody,
  signedEntryTimestampPayload,
  type TransparencyLogEntry,
} from "./log-entry.ts"
import { entryView } from "./one-tree.ts"
import { isSignedCheckpoint } from "./verified-checkpoints.ts"

/**
 * Everything that must hold of a profile-A entry. The Sigstore tools check less: some skip the proof's root and size, none
 * compares the tree size with the checkpoint's, and a wrong kind passes in some.
 */
export const ENTRY_CHECKS = [
  "entry.kind",
  "entry.body_canonical",
  "entry.body_digest",
  "entry.body_key",
  "entry.body_signature",
  "entry.proof_index",
  "entry.inclusion",
  "entry.proof_checkpoint",
  "entry.checkpoint_signature",
  "entry.set",
] as const

export type EntryCheckId = (typeof ENTRY_CHECKS)[number]

/** One check and its result; `message` is a sentence for a reader. */
export interface EntryCheck {
  readonly id: EntryCheckId
  readonly ok: boolean
  readonly message: string
}

/** All checks in the order of `ENTRY_CHECKS`. The other fields are what the entry says: believe them only when all are ok. */
export interface EntryReport {
  readonly checks: readonly EntryCheck[]
  readonly logIndex: number
  /** Unix seconds. */
  readonly integratedTime: number
  /** The trusted service key that signed, hex; absent when none did. */
  readonly serviceKeyId?: string
}

/** What the entry is held against: the bytes it must commit to, and whom we believe. */
export interface ExpectedEntry {
  readonly preimage: Uint8Array
  readonly trust: TrustedKeys
}

/** The entry decoded once. What could not be decoded is absent or empty, and its checks fail. */
interface Facts extends ExpectedEntry {
  readonly entry: TransparencyLogEntry
  readonly time: number
  readonly logIndex: number
  readonly bodyBytes: Uint8Array
  readonly body: EntryBody | undefined
  readonly serviceKey: ServiceKey | undefined
  readonly checkpoint: EntryCheckpoint | undefined
  readonly logKey: LogKey | undefined
}

interface Rule {
  /** The message when the rule holds. */
  readonly holds: string
  /** What is wrong, or undefined. */
  readonly problem: (facts: Facts) => string | undefined
}

const UNREADABLE_BODY = "The entry body is not a hashedrekord."
const UNREADABLE_CHECKPOINT = "The checkpoint is not a log checkpoint with one signature and no extension lines."

const RULES: { readonly [id in EntryCheckId]: Rule } = {
  "entry.kind": { holds: "Entry and body are hashedrekord 0.0.1.", problem: kindProblem },
  "entry.body_canonical": {
    holds: "The entry body is canonical JSON.",
    problem: ({ body }) =>
      body?.canonical ? undefined : "The entry body is not canonical JSON of the expected shape.",
  },
  "entry.body_digest": {
    holds: "The entry commits to the digest of the leaf.",
    problem: ({ body, preimage }) =>
      body?.digestHex === sha256Hex(preimage) ? undefined : "The entry commits to another digest than the leaf's.",
  },
  "entry.body_key": {
    holds: "The entry was signed with a published service key valid at the log time.",
    problem: serviceKeyProblem,
  },
  "entry.body_signature": { holds: "The service's signature over the leaf is valid.", problem: bodySignatureProblem },
  "entry.proof_index": { holds: "The proof is for the entry's place in the log.", problem: proofIndexProblem },
  "entry.inclusion": { holds: "The inclusion proof leads from the entry to the root.", problem: inclusionProblem },
  "entry.proof_checkpoint": {
    holds: "The proof's size and root are the checkpoint's.",
    problem: proofCheckpointProblem,
  },
  "entry.checkpoint_signature": {
    holds: "The checkpoint is signed by the trusted log's key, valid at the log time.",
    problem: checkpointSignatureProblem,
  },
  "entry.set": { holds: "The log time and index are signed by the trusted log's key.", problem: promiseProblem },
}

/**
 * Runs every check on an entry of `transparencyLogEntrySchema`'s shape and stops at none. Never throws. Costs three ECDSA
 * verifications, two when the checkpoint was verified before with the same `trust` object.
 */
export function checkEntry(entry: TransparencyLogEntry, expected: ExpectedEntry): EntryReport {
  const facts = gatherFacts(entry, expected)
  const checks = ENTRY_CHECKS.map(id => {
    const problem = RULES[id].problem(facts)
    return { id, ok: problem === undefined, message: problem ?? RULES[id].holds }
  })
  const { logIndex, time, serviceKey } = facts
  return {
    checks,
    logIndex,
    integratedTime: time,
    ...(serviceKey === undefined ? {} : { serviceKeyId: serviceKey.keyId }),
  }
}

/** Which checks speak of an entry's place in its log, whatever it holds. */
const PLACE_CHECKS = [
  "entry.kind",
  "entry.proof_index",
  "entry.inclusion",
  "entry.proof_checkpoint",
  "entry.checkpoint_signature",
  "entry.set",
] as const satisfies readonly EntryCheckId[]

/**
 * Why an entry does not show that a log of `trust` holds `body`, the base64 of the body of an entry that is known to be right;
 * undefined when it shows that. Every signature must be in its low-S form, so that the proof has one spelling. Never throws.
 */
export function entryPlaceProblem(entry: TransparencyLogEntry, body: string, trust: TrustedKeys): string | undefined {
  if (entry.canonicalizedBody !== body) return "The entry has another body."
  const facts = gatherFacts(entry, { preimage: new Uint8Array(), trust })
  const signatures = [bytesOf(entry.inclusionPromise.signedEntryTimestamp), facts.checkpoint?.signature]
  if (!signatures.every(der => der !== undefined && isLowS(der)))
    return "A signature of the log is not in its low-S form."
  for (const id of PLACE_CHECKS) {
    const problem = RULES[id].problem(facts)
    if (problem !== undefined) return problem
  }
  return undefined
}

function gatherFacts(entry: TransparencyLogEntry, { preimage, trust }: ExpectedEntry): Facts {
  const bodyBytes = bytesOf(entry.canonicalizedBody)
  const body = parseEntryBody(bodyBytes)
  const spki = body?.spkiDer
  const logKeys = trust.logKeys.filter(key => key.logId === entry.logId.keyId && key.keyDetails === P256_KEY_DETAILS)
  const time = countOf(entry.integratedTime)
  return {
    entry,
    preimage,
    trust,
    time,
    logIndex: countOf(entry.logIndex),
    bodyBytes,
    body,
    serviceKey: spki && trust.serviceKeys.find(key => equalBytes(key.spki, spki)),
    checkpoint: parseEntryCheckpoint(entry.inclusionProof.checkpoint.envelope),
    // A root may list one key for several spans of time.
    logKey: logKeys.find(key => isValidAt(key, time)) ?? logKeys[0],
  }
}

function kindProblem({ entry, body }: Facts): string | undefined {
  if (entry.kindVersion.kind !== ENTRY_KIND.kind || entry.kindVersion.version !== ENTRY_KIND.version) {
    return "The entry does not call itself a hashedrekord 0.0.1."
  }
  if (body === undefined) return UNREADABLE_BODY
  const same = body.kind === ENTRY_KIND.kind && body.apiVersion === ENTRY_KIND.version
  return same ? undefined : "The entry body is of another kind than the entry."
}

function serviceKeyProblem({ body, serviceKey, time, trust }: Facts): string | undefined {
  if (body === undefined) return UNREADABLE_BODY
  if (serviceKey === undefined) return `The key in the entry is no published key of ${trust.service}.`
  if (!isValidAt(serviceKey, time)) return `Service key ${serviceKey.keyId} was not valid at the log time.`
  const { revokedFrom } = serviceKey
  if (revokedFrom === undefined || time < revokedFrom) return undefined
  return `Service key ${serviceKey.keyId} was revoked from ${formatUtcSeconds(revokedFrom)} on, and this was not logged before.`
}

function bodySignatureProblem({ body, preimage, trust }: Facts): string | undefined {
  if (body?.spkiDer === undefined) return "The entry body names no public key."
  return signatureProblem("service's signature", body.spkiDer, preimage, body.signatureDer, { ...trust, rekor: false })
}

function proofIndexProblem({ entry, trust }: Facts): string | undefined {
  if (trust.rekor || entry.logIndex === entry.inclusionProof.logIndex) return undefined
  return "The proof is for another index than the entry's."
}

function inclusionProblem({ entry }: Facts): string | undefined {
  const isIncluded = entryView(entry).head !== undefined
  return isIncluded ? undefined : "The inclusion proof does not lead from the entry to the root."
}

function proofCheckpointProblem({ entry, checkpoint }: Facts): string | undefined {
  if (checkpoint === undefined) return UNREADABLE_CHECKPOINT
  const { treeSize, rootHash } = entry.inclusionProof
  if (checkpoint.size !== countOf(treeSize)) return "The proof is for another tree size than the checkpoint's."
  return equalBytes(checkpoint.root, bytesOf(rootHash))
    ? undefined
    : "The proof ends in another root than the checkpoint's."
}

function checkpointSignatureProblem({ entry, checkpoint, logKey, time, trust }: Facts): string | undefined {
  const keyProblem = logKeyProblem(logKey, time)
  if (logKey === undefined || keyProblem !== undefined) return keyProblem
  if (checkpoint === undefined) return UNREADABLE_CHECKPOINT
  const sameLog = trust.rekor ? checkpoint.host === parseOrigin(trust.origin)?.host : checkpoint.origin === trust.origin
  if (!sameLog) return "The checkpoint is of another log than the trusted one."
  if (checkpoint.keyHint !== keyHintOf(bytesOf(logKey.logId))) {
    return "The checkpoint names another key than the log's."
  }
  if (!trust.rekor && !isLowS(checkpoint.signature)) return "The checkpoint signature is not in its low-S DER form."
  const signed = isSignedCheckpoint(entry.inclusionProof.checkpoint.envelope, checkpoint, logKey, trust)
  return signed ? undefined : "The checkpoint signature is not valid."
}

function promiseProblem({ entry, logKey, logIndex, bodyBytes, time, trust }: Facts): string | undefined {
  const keyProblem = logKeyProblem(logKey, time)
  if (logKey === undefined || keyProblem !== undefined) return keyProblem
  const logId = bytesOf(logKey.logId)
  const body = encodeBase64(bodyBytes)
  const payload = signedEntryTimestampPayload({ body, integratedTime: time, logId, logIndex })
  const signature = bytesOf(entry.inclusionPromise.signedEntryTimestamp)
  return signatureProblem("signed entry timestamp", logKey.spki, utf8Encode(payload), signature, trust)
}

function logKeyProblem(logKey: LogKey | undefined, time: number): string | undefined {
  if (logKey === undefined) return "The entry is of a log that the trust document does not list."
  return isValidAt(logKey, time) ? undefined : "The log's key was not valid at the log time."
}

function signatureProblem(
  name: string,
  spki: Uint8Array,
  message: Uint8Array,
  der: Uint8Array,
  { rekor: mayBeHighS, verifySignature = verifyEcdsaP256 }: Pick<TrustedKeys, "rekor" | "verifySignature">,
): string | undefined {
  if (!isStrictDerSignature(der)) return `The ${name} is not strict DER.`
  if (!mayBeHighS && !isLowS(der)) return `The ${name} is not in its low-S form.`
  return verifySignature(spki, message, der) ? undefined : `The ${name} is not valid.`
}

/** −1, which is no index, no size and no time, for text outside the schema. */
function countOf(decimal: string): number {
  return decodeSafeDecimal(decimal) ?? -1
}

function bytesOf(base64: string): Uint8Array {
  return decodeBase64(base64) ?? Uint8Array.of()
}
