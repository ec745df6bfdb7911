/** The Rekor log that also gets every entry, as the operator's options name it. It is not trusted: its answer counts once it verifies. */
import { createPublicKey, X509Certificate } from "node:crypto"
import { readFileSync } from "node:fs"
import { concatBytes, decodeBase64, encodeBase64, sha256Hex } from "@runseal/canonical"
import { keyIdOfNoteKey, keyIdOfSpki, parseEd25519Spki, parseP256Spki } from "@runseal/log/keys/spki"
import { openAuthority, type TimestampAuthority } from "@runseal/log/timestamps/timestamp-authority"
import { isPublicRekor, originOfAnyTree, publicRekorTrust } from "@runseal/log/trust/rekor-root"
import { ED25519_KEY_DETAILS, type LogKey, P256_KEY_DETAILS, type TrustedKeys } from "@runseal/log/trust/trusted-keys"
import { PUBLIC_REKOR_URL, type RekorOptions } from "../../options/rekor-options.ts"
import { StartupError } from "../../options/startup-error.ts"
import type { AnchorMode } from "../../options/table.ts"
import { StoreError } from "../../store/driver/store-errors.ts"
import type { NewOutsideLog, TimestampAuthorityRow } from "../../store/tables/outside-log-table.ts"
import type { TimestampSource } from "./ask-log.ts"

export type OutsideLog = {
  /** Ends in a slash. */
  readonly url: URL
  /** Host name in its checkpoints. Records and metrics use it as the name of the log. */
  readonly host: string
  readonly key: LogKey
  /** Verifies its entries. It has no service key, since the bodies of the entries are this service's own. */
  readonly trust: TrustedKeys
  /** Entries sent at one time. */
  readonly inFlight: number
  readonly mode: AnchorMode
  /** Longest that an answer waits in sync mode, in milliseconds. */
  readonly syncWaitMs: number
  /** The timestamp authority. Present exactly when the log has API v2, which signs no time. */
  readonly timestamps?: TimestampSource
}

/** The log of these options. @throws StartupError when its key, or the chain of its timestamp authority, cannot be used */
export function openOutsideLog({ url, keyFile, host, timestamps, ...settings }: RekorOptions): OutsideLog {
  const key = keyFile === undefined ? publicKeyOf(url) : keyIn(keyFile, host, timestamps !== undefined)
  const logKeys = [key]
  const trust = {
    service: "",
    origin: originOfAnyTree(host),
    serviceKeys: [],
    logKeys,
    checkpointKeys: [],
    rekor: true,
  }
  const source = timestamps && {
    timestamps: { url: timestamps.url, authority: authorityIn(timestamps.chainFile, timestamps.url) },
  }
  return { url, host, key, trust, ...settings, ...source }
}

function publicKeyOf({ origin }: URL): LogKey {
  const [key] = publicRekorTrust("", []).logKeys
  if (key === undefined || !isPublicRekor(key) || origin !== PUBLIC_REKOR_URL)
    throw new StartupError("--rekor-url needs --rekor-key, the log's public key: only that of public Rekor is built in")
  return key
}

function keyIn(file: string, host: string, mayBeEd25519: boolean): LogKey {
  const spki = readSpki(file)
  const usable = spki !== undefined && (parseP256Spki(spki) !== undefined || mayBeEd25519)
  if (!usable)
    throw new StartupError(
      `--rekor-key ${file} cannot be read as ${mayBeEd25519 ? "an Ed25519 or P-256" : "a P-256"} public key in PEM`,
    )
  return logKeyOf(spki, host, 0)
}

/** The key of a log with this host. The log id is derived from a P-256 key alone, from an Ed25519 key together with the host. */
function logKeyOf(spki: Uint8Array, host: string, validFrom: number): LogKey {
  const raw = parseEd25519Spki(spki)
  return {
    logId: encodeBase64(raw === undefined ? keyIdOfSpki(spki) : keyIdOfNoteKey(host, raw)),
    spki,
    keyDetails: raw === undefined ? P256_KEY_DETAILS : ED25519_KEY_DETAILS,
    baseUrl: `https://${host}`,
    validFrom,
  }
}

/** A P-256 or Ed25519 public key. */
function readSpki(file: string): Uint8Array | undefined {
  try {
    const pem = readFileSync(file, "utf8")
    // createPublicKey would also accept a private key. The log's private key must not be on this machine.
    if (!pem.includes("-----BEGIN PUBLIC KEY-----")) return undefined
    const spki = new Uint8Array(createPublicKey(pem).export({ type: "spki", format: "der" }))
    return parseP256Spki(spki) === undefined && parseEd25519Spki(spki) === undefined ? undefined : spki
  } catch {
    return undefined
  }
}

/** RFC 7468 §5.1. */
const [CERTIFICATE_BEGINS, CERTIFICATE_ENDS] = ["-----BEGIN CERTIFICATE-----", "-----END CERTIFICATE-----"]

function authorityIn(file: string, url: URL): TimestampAuthority {
  const certificates = readCertificates(file)
  if (certificates === undefined) throw new StartupError(`--tsa-chain ${file} cannot be read as certificates in PEM`)
  const authority = { uri: url.href, certificates, validFrom: 0 }
  const { problem } = openAuthority(authority)
  if (problem !== undefined) throw new StartupError(`--tsa-chain ${file}: ${problem}`)
  return authority
}

function readCertificates(file: string): readonly Uint8Array[] | undefined {
  try {
    const blocks = readFileSync(file, "utf8").split(CERTIFICATE_ENDS).slice(0, -1)
    if (blocks.length === 0) return undefined
    return blocks.map(block => {
      const pem = `${block.slice(block.lastIndexOf(CERTIFICATE_BEGINS))}${CERTIFICATE_ENDS}`
      return new Uint8Array(new X509Certificate(pem).raw)
    })
  } catch {
    return undefined
  }
}

/** A log's key as trust documents list it. @throws StoreError "corrupt" */
export function outsideKey({ host, spki, valid_from }: NewOutsideLog): LogKey {
  const der = decodeBase64(spki)
  if (der === undefined) throw new StoreError("corrupt")
  return logKeyOf(der, host, valid_from)
}

/** A timestamp authority as it is stored. */
export const authorityRow = ({ uri, certificates }: TimestampAuthority): TimestampAuthorityRow => ({
  chain_id: sha256Hex(concatBytes(...certificates)),
  uri,
  certificates: certificates.map(encodeBase64).join(" "),
})

/** A timestamp authority as trust documents list it. @throws StoreError "corrupt" */
export function authorityOf({ uri, certificates }: TimestampAuthorityRow): TimestampAuthority {
  const ders = certificates.split(" ").map(decodeBase64)
  const read = ders.filter(der => der !== undefined)
  if (read.length < ders.length) throw new StoreError("corrupt")
  return { uri, certificates: read, validFrom: 0 }
}
