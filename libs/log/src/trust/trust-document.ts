import { decodeBase64, encodeBase64, encodeHex, holdsNul, type JsonObject, type JsonValue } from "@runseal/canonical"
import * as v from "valibot"
import { keyIdOfNoteKey, keyIdOfSpki, parseEd25519Spki, parseP256Spki } from "../keys/spki.ts"
import { parseUtcSeconds } from "../keys/validity.ts"
import { parseOrigin, publicOrigin } from "../notes/checkpoint.ts"
import { isWitnessKey, MAX_VKEY_LENGTH, type NoteKey, parseVkey } from "../notes/signed-note.ts"
import { isPublicRekor, originOfAnyTree } from "./rekor-root.ts"
import {
  ED25519_KEY_DETAILS,
  type LogKey,
  P256_KEY_DETAILS,
  type ServiceKey,
  type TrustedKeys,
  type TrustProblem,
} from "./trusted-keys.ts"
import { describeIssue, FIRST_ISSUE, hostOf, parseTimestampAuthorities, parseTrustedRoot } from "./trusted-root.ts"

/** `kind` of a trust document (docs/formats.md section 15). */
export const TRUST_DOCUMENT_KIND = "vfa.trust.v1"

const MAX_SERVICE_KEYS = 64
const MAX_CHECKPOINT_KEYS = 64
const MAX_SERVICE_LENGTH = 256
const MAX_SPKI_LENGTH = 256

/** A row of `service_keys`; times are RFC 3339 in UTC. */
export type TrustDocumentKey = {
  /** SHA-256 of the SPKI bytes, lowercase hex. */
  readonly key_id: string
  /** Base64 of the DER SubjectPublicKeyInfo. */
  readonly spki: string
  readonly valid_from: string
  readonly valid_to?: string
  readonly revoked_from?: string
}

/** A trust document: the service's name, the log it writes to, and when each key is valid. */
export type TrustDocument = {
  readonly kind: typeof TRUST_DOCUMENT_KIND
  readonly service: string
  /** A pure Sigstore trusted_root.json: the service's own log, and the Rekor logs that also hold its entries. */
  readonly trusted_root: JsonObject
  /** Origin line of the checkpoints inside entries. */
  readonly origin: string
  readonly service_keys: readonly TrustDocumentKey[]
  /** Note verifier keys: those of the public checkpoint, named `publicOrigin(origin)`, and its witnesses'. */
  readonly checkpoint_keys: readonly string[]
  readonly leaf_v7_from?: string
}

const timeSchema = v.pipe(v.string(), v.transform(parseUtcSeconds), v.number())

const documentSchema = v.strictObject({
  kind: v.literal(TRUST_DOCUMENT_KIND),
  service: v.pipe(v.string(), v.minLength(1), v.maxLength(MAX_SERVICE_LENGTH)),
  trusted_root: v.unknown(),
  origin: v.pipe(
    v.string(),
    v.check(origin => parseOrigin(origin) !== undefined),
  ),
  service_keys: v.pipe(
    v.array(
      v.strictObject({
        key_id: v.string(),
        spki: v.pipe(v.string(), v.maxLength(MAX_SPKI_LENGTH), v.transform(decodeBase64), v.instance(Uint8Array)),
        valid_from: timeSchema,
        valid_to: v.exactOptional(timeSchema),
        revoked_from: v.exactOptional(timeSchema),
      }),
    ),
    v.minLength(1),
    v.maxLength(MAX_SERVICE_KEYS),
  ),
  checkpoint_keys: v.pipe(v.array(v.pipe(v.string(), v.maxLength(MAX_VKEY_LENGTH))), v.maxLength(MAX_CHECKPOINT_KEYS)),
  leaf_v7_from: v.exactOptional(timeSchema),
})

/** Reads a trust document into keys; a problem in one sentence when it is malformed or contradicts itself. Never throws. */
export function parseTrust(value: JsonValue): TrustedKeys | TrustProblem {
  if (holdsNul(value)) return { problem: "The trust document holds U+0000 in a text." }
  const parsed = v.safeParse(documentSchema, value, FIRST_ISSUE)
  if (!parsed.success) return { problem: `The trust document is not readable: ${describeIssue(parsed.issues)}.` }
  const { service, trusted_root, origin, service_keys, checkpoint_keys, leaf_v7_from } = parsed.output
  const logKeys = parseTrustedRoot(trusted_root)
  if ("problem" in logKeys) return logKeys
  const timestampAuthorities = parseTimestampAuthorities(trusted_root)
  if ("problem" in timestampAuthorities) return timestampAuthorities
  const checkpointKeys = checkpoint_keys.map(parseVkey).filter(key => key !== undefined)
  if (checkpointKeys.length < checkpoint_keys.length) {
    return {
      problem:
        "A checkpoint key of the trust document is not a verifier key of Ed25519 or of a witness (Ed25519 or ML-DSA-44).",
    }
  }
  const serviceKeys = service_keys.map(key => ({
    keyId: key.key_id,
    spki: key.spki,
    validFrom: key.valid_from,
    ...(key.valid_to === undefined ? {} : { validTo: key.valid_to }),
    ...(key.revoked_from === undefined ? {} : { revokedFrom: key.revoked_from }),
  }))
  const own = ownLog(origin, logKeys)
  const entryLogKeys = own.filter(key => key.keyDetails === P256_KEY_DETAILS)
  const problem =
    serviceKeysProblem(serviceKeys) ?? logKeysProblem(entryLogKeys) ?? checkpointKeysProblem(checkpointKeys, origin)
  if (problem !== undefined) return { problem }
  const outside = outsideLogs({ service, serviceKeys }, logKeys, own)
  return {
    service,
    origin,
    serviceKeys,
    logKeys: own,
    checkpointKeys,
    rekor: entryLogKeys.some(isPublicRekor),
    ...(leaf_v7_from === undefined ? {} : { leafV7From: leaf_v7_from }),
    ...(outside.length === 0 ? {} : { outside }),
    ...(timestampAuthorities.length === 0 ? {} : { timestampAuthorities }),
  }
}

/** The keys of the log whose origin the document pins, by its host; all of them where none bears it. */
function ownLog(origin: string, keys: readonly LogKey[]): readonly LogKey[] {
  const host = parseOrigin(origin)?.host
  const own = keys.filter(({ baseUrl }) => hostOf(baseUrl) === host)
  return own.length === 0 ? keys : own
}

/** Every other log of the root is trusted separately: rules that are relaxed for a Rekor log must not apply to the service's own. */
function outsideLogs(
  service: Pick<TrustedKeys, "service" | "serviceKeys">,
  keys: readonly LogKey[],
  own: readonly LogKey[],
): readonly TrustedKeys[] {
  const others = keys.filter(key => signsEntries(key) && !own.includes(key))
  const hosts = [...new Set(others.map(({ baseUrl }) => hostOf(baseUrl)))].filter(host => host !== undefined)
  return hosts.map(host => ({
    ...service,
    origin: originOfAnyTree(host),
    logKeys: others.filter(({ baseUrl }) => hostOf(baseUrl) === host),
    checkpointKeys: [],
    rekor: true,
  }))
}

/** Rekor v1 signs with P-256; Rekor v2 may also have an Ed25519 key, and its id is then of that key under the log's name. */
function signsEntries({ keyDetails, baseUrl, spki, logId }: LogKey): boolean {
  if (keyDetails === P256_KEY_DETAILS) return true
  const [host, raw] = [hostOf(baseUrl), parseEd25519Spki(spki)]
  if (keyDetails !== ED25519_KEY_DETAILS || host === undefined || raw === undefined) return false
  return encodeBase64(keyIdOfNoteKey(host, raw)) === logId
}

function serviceKeysProblem(keys: readonly ServiceKey[]): string | undefined {
  if (keys.some(key => parseP256Spki(key.spki) === undefined)) return "A service key is not a P-256 public key."
  if (keys.some(key => encodeHex(keyIdOfSpki(key.spki)) !== key.keyId)) {
    return "A service key's key_id is not the SHA-256 of its spki."
  }
  // Two rows could disagree on when the key was revoked.
  if (new Set(keys.map(key => key.keyId)).size < keys.length) return "A service key is listed twice."
  return undefined
}

/** The log's own name is reserved for its keys; a witness under two names would count twice. */
function checkpointKeysProblem(keys: readonly NoteKey[], origin: string): string | undefined {
  const own = publicOrigin(origin)
  if (keys.some(key => isWitnessKey(key) === (key.name === own)))
    return "A checkpoint key of the trust document has another name than its log's public checkpoint, or a witness has that name."
  const witnesses = keys.filter(isWitnessKey)
  const twice = new Set(keys.map(({ publicKey }) => encodeHex(publicKey))).size < keys.length
  return twice || new Set(witnesses.map(({ name }) => name)).size < witnesses.length
    ? "A checkpoint key or witness of the trust document is listed twice."
    : undefined
}

/** One host has one log: rules that are relaxed for public Rekor must not apply to another log of the same host. */
function logKeysProblem(keys: readonly LogKey[]): string | undefined {
  if (keys.length === 0) return "The trusted root has no P-256 log key."
  const mixed = keys.some(isPublicRekor) && !keys.every(isPublicRekor)
  return mixed ? "The trusted root lists public Rekor and another log." : undefined
}
