/**
 * The user's pinned trust documents: one file per service in a folder of the user's own. A process that can write there decides
 * which keys this user's verifier trusts, so only the owner can.
 */
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs"
import { homedir } from "node:os"
import { join } from "node:path"
import { canonicalize, type JsonValue, parseStrictJson, StrictJsonError, sha256Hex } from "@runseal/canonical"
import { escapeControls } from "@runseal/core/presentation/printable"
import { savedProblem, savedText } from "@runseal/core/presentation/saved-text"
import { MAX_TRUST_BYTES } from "@runseal/core/presentation/trust-rows"
import { parseTrust } from "@runseal/log/trust/trust-document"
import type { TrustedKeys } from "@runseal/log/trust/trusted-keys"
import { InputError } from "./exit-answer.ts"
import { DOCUMENT_LIMITS, type ReadLimits } from "./read-input.ts"

/** A trust document that was read: its keys, and its RFC 8785 text, by which two documents are compared. */
export type TrustFile = { readonly keys: TrustedKeys; readonly text: string }
type PinnedTrust = TrustFile & { readonly path: string }

export const TRUST_LIMITS: ReadLimits = { ...DOCUMENT_LIMITS, maxBytes: MAX_TRUST_BYTES }
/** Documents a store may hold: every one is read for every verification. */
export const MAX_PINNED = 64
const OWNER_ONLY_FOLDER = 0o700
const OWNER_ONLY_FILE = 0o600
/** Hex digits of the name's hash in a file name: names that read alike get files of their own. */
const NAME_HASH_DIGITS = 16
const MAX_READABLE_NAME = 40

/** The folder of pinned documents: `RUNSEAL_TRUST_DIR`, else `runseal/trust` in the XDG configuration folder. Throws InputError. */
export function trustFolder(environment: Readonly<Record<string, string | undefined>>): string {
  const { RUNSEAL_TRUST_DIR: own, XDG_CONFIG_HOME: configuration } = environment
  return own || join(configuration || join(home(), ".config"), "runseal", "trust")
}

/** Throws InputError for a user without a home, as in some containers. */
function home(): string {
  try {
    return homedir()
  } catch {
    throw new InputError("You have no home folder for a trust store: set RUNSEAL_TRUST_DIR, or use --trust.")
  }
}

/** Parses a trust document. @param name of the file, for the message. Throws InputError. */
export function parseTrustFile(bytes: Uint8Array, name: string): TrustFile {
  const value = parseJson(bytes, name)
  const keys = parseTrust(value)
  if ("problem" in keys) throw new InputError(`${name} is no trust document to rely on. ${keys.problem}`)
  return { keys, text: canonicalize(value) }
}

function parseJson(bytes: Uint8Array, name: string): JsonValue {
  const problem = savedProblem(bytes)
  if (problem !== undefined) throw new InputError(`${name} is no trust document: ${problem}.`)
  try {
    return parseStrictJson(savedText(bytes), { maxBytes: MAX_TRUST_BYTES })
  } catch (error) {
    if (error instanceof StrictJsonError) throw new InputError(`${name} is not strict JSON. ${error.message}`)
    throw error
  }
}

/** Every pinned document, by service name. A damaged one is an error and is not skipped. Throws InputError. */
export function readPinned(folder: string): readonly PinnedTrust[] {
  const names = listFolder(folder).filter(name => name.endsWith(".json"))
  if (names.length > MAX_PINNED) throw new InputError(`${folder} holds more than ${MAX_PINNED} trust documents.`)
  const pinned = names.map(name => readPinnedFile(join(folder, name)))
  return pinned.sort((a, b) => (a.keys.service < b.keys.service ? -1 : 1))
}

function listFolder(folder: string): readonly string[] {
  try {
    return readdirSync(folder)
  } catch (error) {
    if (isMissing(error)) return []
    throw new InputError(`The trust store ${folder} could not be read.`)
  }
}

function readPinnedFile(path: string): PinnedTrust {
  try {
    if (statSync(path).size > MAX_TRUST_BYTES) throw new InputError(`${path} is larger than ${MAX_TRUST_BYTES} bytes.`)
    return { path, ...parseTrustFile(readFileSync(path), path) }
  } catch (error) {
    if (error instanceof InputError) throw error
    throw new InputError(`The pinned trust document ${path} could not be read.`)
  }
}

/** The result of a pin; `conflict`: another document of the service is pinned, and was not replaced. */
export type PinResult =
  | { readonly result: "pinned" | "already_pinned" | "replaced" }
  | { readonly result: "conflict"; readonly pinned: TrustFile }

/**
 * Pins a document. Any other document of the same service stays unless `replace` is set: other keys would change whom
 * the user believes, other dates could bring a revoked key back. Throws InputError.
 */
export function pin(folder: string, document: TrustFile, replace: boolean): PinResult {
  const { service } = document.keys
  if (escapeControls(service) !== service)
    throw new InputError("The service's name holds control characters, so that it could be shown as another.")
  const all = readPinned(folder)
  const same = all.filter(({ keys }) => keys.service === service)
  if (same.length === 0 && all.length >= MAX_PINNED)
    throw new InputError(`The trust store holds ${MAX_PINNED} documents already: remove one first.`)
  if (same.some(({ text }) => text === document.text)) return { result: "already_pinned" }
  const [other] = same
  if (other !== undefined && !replace) return { result: "conflict", pinned: other }
  const name = `${storeName(service)}.json`
  writeWhole(folder, name, document.text)
  for (const { path } of same) if (path !== join(folder, name)) remove(path)
  return { result: other === undefined ? "pinned" : "replaced" }
}

/** Removes a service's documents; false when none was pinned. Throws InputError. */
export function unpin(folder: string, service: string): boolean {
  const pinned = readPinned(folder).filter(({ keys }) => keys.service === service)
  for (const { path } of pinned) remove(path)
  return pinned.length > 0
}

/** Writes a file of the store atomically, readable for its owner only: to a temporary file, flushed, then renamed. Throws InputError. */
export function writeWhole(folder: string, name: string, text: string): void {
  const temporary = join(folder, `.${name}.${process.pid}`)
  try {
    mkdirSync(folder, { recursive: true, mode: OWNER_ONLY_FOLDER })
    writeFileSync(temporary, `${text}\n`, { mode: OWNER_ONLY_FILE, flush: true })
    renameSync(temporary, join(folder, name))
  } catch {
    rmSync(temporary, { force: true })
    throw new InputError(`The trust store ${folder} could not be written.`)
  }
}

function remove(path: string): void {
  try {
    rmSync(path)
  } catch {
    throw new InputError(`${path} could not be removed.`)
  }
}

/** The file name, without extension, for a service or a log of that name. */
export function storeName(name: string): string {
  const readable = name
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .slice(0, MAX_READABLE_NAME)
  return `${readable}-${sha256Hex(name).slice(0, NAME_HASH_DIGITS)}`
}

const isMissing = (error: unknown): boolean => error instanceof Error && "code" in error && error.code === "ENOENT"
