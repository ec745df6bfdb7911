/** The Rekor log that also gets every entry, as the operator names it. Trusted with nothing: what it answers counts once it verifies. */
import { createPublicKey } from "node:crypto"
import { readFileSync } from "node:fs"
import { decodeBase64, encodeBase64 } from "@runseal/canonical"
import { isPublicRekor, originOfAnyTree, publicRekorTrust } from "@runseal/core/transparency-log/rekor-root"
import { keyIdOfSpki, parseP256Spki } from "@runseal/core/transparency-log/spki"
import { type LogKey, P256_KEY_DETAILS, type TrustedKeys } from "@runseal/core/transparency-log/trusted-keys"
import type { RekorOptions } from "../config.ts"
import { StartupError } from "../startup-error.ts"
import { StoreError } from "../store/errors.ts"
import type { NewOutsideLog } from "../store/outside-log.ts"

/** When callers are answered: once their record is durable here, or once the outside log holds it too. */
export const ANCHOR_MODES = ["async", "sync"] as const
export type AnchorMode = (typeof ANCHOR_MODES)[number]

export const PUBLIC_REKOR_URL = "https://rekor.sigstore.dev"

export type OutsideLog = {
  /** Ends in a slash. */
  readonly url: URL
  /** Host name in its checkpoints, by which its records and metrics call it. */
  readonly host: string
  readonly key: LogKey
  /** What its entries are held against: no service key is needed, since their bodies are this service's own. */
  readonly trust: TrustedKeys
  /** Entries sent at one time. */
  readonly inFlight: number
  readonly mode: AnchorMode
}

const LOOPBACK = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])$/

/** Reads the address of a Rekor log: https, or http on this machine alone. Undefined for anything else. */
export function parseRekorUrl(text: string): URL | undefined {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url === undefined) return undefined
  const reachable = url.protocol === "https:" || (url.protocol === "http:" && LOOPBACK.test(url.hostname))
  if (!reachable || `${url.username}${url.password}${url.search}${url.hash}` !== "") return undefined
  if (!url.pathname.endsWith("/")) url.pathname += "/"
  return url
}

/** The log of these options. @throws StartupError when its key cannot be used */
export function openOutsideLog({ url, keyFile, host, inFlight, mode }: RekorOptions): OutsideLog {
  const key = keyFile === undefined ? publicKeyOf(url) : keyIn(keyFile, host)
  const logKeys = [key]
  const trust = {
    service: "",
    origin: originOfAnyTree(host),
    serviceKeys: [],
    logKeys,
    checkpointKeys: [],
    rekor: true,
  }
  return { url, host, key, trust, inFlight, mode }
}

function publicKeyOf({ origin }: URL): LogKey {
  const [key] = publicRekorTrust("", []).logKeys
  if (key === undefined || !isPublicRekor(key) || origin !== PUBLIC_REKOR_URL)
    throw new StartupError("--rekor-url needs --rekor-key, the log's public key: only that of public Rekor is built in")
  return key
}

function keyIn(file: string, host: string): LogKey {
  const spki = readSpki(file)
  if (spki === undefined) throw new StartupError(`--rekor-key ${file} cannot be read as a P-256 public key in PEM`)
  return {
    logId: encodeBase64(keyIdOfSpki(spki)),
    spki,
    keyDetails: P256_KEY_DETAILS,
    baseUrl: `https://${host}`,
    validFrom: 0,
  }
}

function readSpki(file: string): Uint8Array | undefined {
  try {
    const pem = readFileSync(file, "utf8")
    // createPublicKey would also take a private key, which belongs nowhere near this service.
    if (!pem.includes("-----BEGIN PUBLIC KEY-----")) return undefined
    const spki = new Uint8Array(createPublicKey(pem).export({ type: "spki", format: "der" }))
    return parseP256Spki(spki) === undefined ? undefined : spki
  } catch {
    return undefined
  }
}

/** A log's key as trust documents list it. @throws StoreError "corrupt" */
export function outsideKey({ log_id, host, spki, valid_from }: NewOutsideLog): LogKey {
  const der = decodeBase64(spki)
  if (der === undefined) throw new StoreError("corrupt")
  return { logId: log_id, spki: der, keyDetails: P256_KEY_DETAILS, baseUrl: `https://${host}`, validFrom: valid_from }
}
