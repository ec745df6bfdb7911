import { createHash } from "node:crypto"
import { encodeBase64, encodeHex, utf8Encode } from "@runseal/canonical"
import { assembleEntry, entryBody, type TransparencyLogEntry } from "../src/entries/log-entry.ts"
import { signedCheckpoint, signedEntryTimestamp } from "../src/entries/log-signing.ts"
import { toLowS } from "../src/keys/ecdsa-der.ts"
import { publicOrigin } from "../src/notes/checkpoint.ts"
import { formatVkey, noteKey } from "../src/notes/signed-note.ts"
import type { TrustDocument } from "../src/trust/trust-document.ts"
import { formatTrustedRoot } from "../src/trust/trusted-root.ts"
import { leafHash, leavesOf, mth, path } from "./reference-tree.ts"
import { ed25519Key, type NoteSigningKey, type P256Key, p256Key } from "./seeded-keys.ts"

/** A log and a service with keys of their own: the parts an entry is made of, each replaceable by a wrong one. */

export interface Placement {
  /** Position in the tree. */
  readonly index?: number
  /** Position in the log where it differs from that in the tree. */
  readonly logIndex?: number
  readonly size?: number
  readonly time?: number
  readonly origin?: string
}

export const ORIGIN = "runseal.local - 4127"
/** 2026-01-01T00:00:00Z */
export const LOG_TIME = 1_767_225_600
export const PREIMAGE: Uint8Array = utf8Encode(`{"leaf_version":"vfa.leaf.v7"}`)

export const digestHex = (bytes: Uint8Array): string => createHash("sha256").update(bytes).digest("hex")

let made = 0
/** Another P-256 key on every call. */
export const newKey = (): P256Key => p256Key("own log", `key ${++made}`, "random")
/** Another Ed25519 key on every call. */
export const newEd25519 = (): NoteSigningKey => ed25519Key("own log", `key ${++made}`)

export const serviceKey: P256Key = newKey()
export const logKey: P256Key = newKey()
export const checkpointKey: NoteSigningKey = newEd25519()

/** The body our service logs for the preimage. */
export const body = (preimage: Uint8Array = PREIMAGE, key: P256Key = serviceKey): string =>
  entryBody({ digestHex: digestHex(preimage), signatureDer: toLowS(key.sign(preimage)), spkiDer: key.spki })

/** An entry for any body text, with a proof and signatures of `key` that are right for it. */
export function logged(text: string, placement: Placement = {}, key: P256Key = logKey): TransparencyLogEntry {
  const { index = 4, size = 7, time = LOG_TIME, origin = ORIGIN } = placement
  const logIndex = placement.logIndex ?? index
  const bytes = utf8Encode(text)
  const leaves = leavesOf(size).with(index, leafHash(bytes))
  const root = mth(leaves)
  const promise = { body: encodeBase64(bytes), integratedTime: time, logId: key.id, logIndex }
  return assembleEntry({
    logIndex,
    logId: key.id,
    integratedTime: time,
    body: text,
    signedEntryTimestamp: signedEntryTimestamp(promise, key.sign),
    proof: {
      index,
      size,
      root,
      hashes: path(index, leaves),
      checkpoint: signedCheckpoint({ origin, size, root, logId: key.id }, key.sign),
    },
  })
}

/** The trust document that makes `logged(body())` good. */
export const trustDocument: TrustDocument = {
  kind: "vfa.trust.v1",
  service: "Runseal test service",
  trusted_root: formatTrustedRoot([
    {
      logId: encodeBase64(logKey.id),
      spki: logKey.spki,
      keyDetails: "PKIX_ECDSA_P256_SHA_256",
      baseUrl: "https://runseal.local/log",
      validFrom: LOG_TIME - 1000,
    },
  ]),
  origin: ORIGIN,
  service_keys: [
    { key_id: encodeHex(serviceKey.id), spki: encodeBase64(serviceKey.spki), valid_from: "2025-12-31T00:00:00.000Z" },
  ],
  checkpoint_keys: [formatVkey(noteKey(publicOrigin(ORIGIN), "ed25519", checkpointKey.raw))],
  leaf_v7_from: "2026-01-01T00:00:00.000Z",
}
