/**
 * The passkey of a person (WebAuthn, ES256), and what it signed of a decision. The service that is approved for holds no half of it: who holds the
 * keys of the service cannot sign with it. docs/formats.md section 2.8.
 */
import { base64Schema } from "@runseal/log/entries/log-entry"
import * as v from "valibot"
import type { Shape } from "../vocabulary/scalars.ts"
import { endUserTextSchema } from "./end-user.ts"

/** DER SubjectPublicKeyInfo of a P-256 key, with an uncompressed point. */
const PUBLIC_KEY_BYTES = 91
/** Longest host of the DNS. */
const HOST_MAX_LENGTH = 253
/** Bounds of what a browser and an authenticator give; the shortest authenticator data are of WebAuthn section 6.1. */
const AUTHENTICATOR_DATA_MIN_BYTES = 37
const AUTHENTICATOR_DATA_MAX_BYTES = 1024
const CLIENT_DATA_MAX_BYTES = 4096
const SIGNATURE_MIN_BYTES = 8
const SIGNATURE_MAX_BYTES = 72

/** A name, not an address: its last label begins with a letter. */
const HOST = "(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\\.)*[a-z](?:[a-z0-9-]{0,61}[a-z0-9])?"
const ORIGIN = new RegExp(`^(?:https://(${HOST})|http://(localhost))(?::[1-9]\\d{0,4})?$`)
/** The host of an origin at which browsers make passkeys, which is a name: over https, or this machine. Undefined for any other text. */
export function passkeyHost(origin: string): string | undefined {
  const [, named, local] = ORIGIN.exec(origin) ?? []
  const host = named ?? local
  return host !== undefined && host.length <= HOST_MAX_LENGTH ? host : undefined
}

/** Which key it is, and where it signs: pinned when it was enrolled. */
const pinned = {
  /** Base64 of the DER SubjectPublicKeyInfo. */
  public_key: base64Schema(PUBLIC_KEY_BYTES, PUBLIC_KEY_BYTES),
  /** Of the pages at which it signs. */
  origin: v.pipe(
    v.string(),
    v.check(
      text => passkeyHost(text) !== undefined,
      "must be https:// and the name of a host in small letters, or http://localhost, and nothing behind the port",
    ),
    v.metadata({ pattern: ORIGIN.source }),
  ),
  /** The relying party: the host of the origin. */
  rp_id: v.pipe(v.string(), v.minLength(1), v.maxLength(HOST_MAX_LENGTH)),
}

/** What browser and authenticator gave for one challenge, each base64. WebAuthn section 5.2.2. */
export const assertionEntries = {
  authenticator_data: base64Schema(AUTHENTICATOR_DATA_MIN_BYTES, AUTHENTICATOR_DATA_MAX_BYTES),
  client_data_json: base64Schema(1, CLIENT_DATA_MAX_BYTES),
  /** DER, with low S. */
  signature: base64Schema(SIGNATURE_MIN_BYTES, SIGNATURE_MAX_BYTES),
}

export const passkeySchema = v.strictObject({ ...pinned, ...assertionEntries })
/** A passkey and its signature of one decision. */
export type Passkey = Shape<typeof passkeySchema>

/** A passkey and whose it is. */
export const approverKeySchema = v.strictObject({ issuer: endUserTextSchema, subject: endUserTextSchema, ...pinned })
export type ApproverKey = Shape<typeof approverKeySchema>

export const APPROVER_KEYS_KIND = "vfa.approver_keys.v1"
/** Most keys of one file. */
const APPROVER_KEYS_MAX = 1024
/**
 * Passkeys that a reader trusts to be of these persons, because the persons themselves gave them. docs/verifier.md, "Proven by passkeys". With one
 * key twice, one person would be two.
 */
export const approverKeysSchema = v.strictObject({
  kind: v.literal(APPROVER_KEYS_KIND),
  keys: v.pipe(
    v.array(approverKeySchema),
    v.minLength(1),
    v.maxLength(APPROVER_KEYS_MAX),
    v.check(
      keys => new Set(keys.map(({ public_key }) => public_key)).size === keys.length,
      "must hold each public_key once",
    ),
  ),
})
export type ApproverKeys = Shape<typeof approverKeysSchema>
