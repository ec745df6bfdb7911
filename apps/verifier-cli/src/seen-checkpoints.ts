/**
 * The signed checkpoints that this user's audits have seen, one file per origin beside the pinned trust. A later audit compares
 * the log with them. An attacker who can write there can delete what the verifier has seen.
 */
import { readFileSync, statSync } from "node:fs"
import { join } from "node:path"
import { canonicalize, encodeBase64, type JsonValue, parseStrictJson } from "@runseal/canonical"
import { member } from "@runseal/core/vocabulary/json-members"
import { clockMillis } from "@runseal/core/vocabulary/scalars"
import { type Checkpoint, parseCheckpoint } from "@runseal/log/notes/checkpoint"
import { parseNote } from "@runseal/log/notes/signed-note"
import { InputError } from "./exit-answer.ts"
import { errorCode, type ReadLimits } from "./read-input.ts"
import { storeName, writeWhole } from "./trust-store.ts"

/** A checkpoint is some 200 bytes; a witness adds 150, with ML-DSA-44 some 3,300. A log has 30 s to send it. */
export const CHECKPOINT_LIMITS: ReadLimits = { maxBytes: 65_536, deadlineMs: 30_000 }
/**
 * Checkpoints stored per log. When the file is full, an audit that passes drops the older half: it has proved that each is part
 * of the tree whose checkpoint it stores. A checkpoint that did not pass is not stored in a full file.
 */
export const MAX_SEEN = 1000
const RETAINED_OF_FULL = MAX_SEEN / 2
/** Checkpoints read of a file: those of some machines, put together. */
const MAX_READ = 8 * MAX_SEEN
/** Characters that escaping adds to a line at most, six for one, and the other fields. */
const MAX_FILE_BYTES = MAX_SEEN * (6 * CHECKPOINT_LIMITS.maxBytes + 256)
const FOLDER = "checkpoints"

/** A checkpoint as it is stored. */
export type Seen = {
  /** RFC 3339, by this machine's clock. */
  readonly seen_at: string
  /** The signed note: evidence of what the log has signed. */
  readonly checkpoint: string
  /** Whether an audit of it passed: every entry was there, and every checkpoint seen until then was part of it. */
  readonly passed: boolean
  /** RFC 3339, by this machine's clock: when the service itself last showed this as its newest. */
  readonly newest_at?: string
  /** RFC 3339: when the last of the required witnesses cosigned this, by their clocks. */
  readonly cosigned_at?: string
}
export type SeenCheckpoint = Seen & { readonly head: Checkpoint }

/** The checkpoint of a note; nothing is verified. Undefined for any other text. */
export function headOf(note: string): Checkpoint | undefined {
  const parsed = parseNote(note)
  return parsed === undefined ? undefined : parseCheckpoint(parsed.text)
}

/** The file with the checkpoints of an origin. */
export const seenPath = (trustFolder: string, origin: string): string =>
  join(trustFolder, FOLDER, `${storeName(origin)}.ndjson`)

/** The checkpoints seen of an origin, oldest first. A damaged file is an error and is not skipped. Throws InputError. */
export function readSeen(trustFolder: string, origin: string): readonly SeenCheckpoint[] {
  const path = seenPath(trustFolder, origin)
  const text = textOf(path)
  if (text === undefined) return []
  const seen = text
    .split("\n")
    .filter(line => line !== "")
    .map(line => readLine(line, origin))
  // A file is never written without a checkpoint: an empty one lost them.
  if (seen.length === 0 || seen.length > MAX_READ || seen.some(one => one === undefined))
    throw new InputError(`${path} is damaged: restore it from your backup, since without it a fork goes unnoticed.`)
  return seen.filter(one => one !== undefined)
}

function textOf(path: string): string | undefined {
  try {
    if (statSync(path).size > MAX_FILE_BYTES) throw new InputError(`${path} is larger than ${MAX_FILE_BYTES} bytes.`)
    return readFileSync(path, "utf8")
  } catch (error) {
    if (error instanceof InputError) throw error
    if (errorCode(error) === "ENOENT") return undefined
    throw new InputError(`The checkpoints in ${path} could not be read.`)
  }
}

function readLine(line: string, origin: string): SeenCheckpoint | undefined {
  const value = parseLine(line)
  const [seen_at, checkpoint, passed] = ["seen_at", "checkpoint", "passed"].map(name => member(value, name))
  if (typeof seen_at !== "string" || typeof checkpoint !== "string" || typeof passed !== "boolean") return undefined
  const times = ["newest_at", "cosigned_at"].flatMap(name => {
    const time = member(value, name)
    return time === undefined ? [] : [[name, time] as const]
  })
  if (!times.every(([, time]) => typeof time === "string" && clockMillis(time) !== undefined)) return undefined
  const head = headOf(checkpoint)
  return head?.origin === origin ? { seen_at, checkpoint, passed, head, ...Object.fromEntries(times) } : undefined
}

function parseLine(line: string): JsonValue {
  try {
    return parseStrictJson(line)
  } catch {
    return null
  }
}

/**
 * Stores a checkpoint; if it is stored already, updates its times. The file is read again first, so that concurrent audits both
 * store theirs, unless they write at the same instant. Throws InputError.
 */
export function storeSeen(trustFolder: string, origin: string, one: SeenCheckpoint): void {
  const known = readSeen(trustFolder, origin)
  const dated = known.map(other => (sameHead(other.head, one.head) ? withLaterTimes(other, one) : other))
  const isStored = dated.some(other => sameHead(other.head, one.head) && (other.passed || !one.passed))
  const isFull = known.length >= MAX_SEEN
  if ((isStored || (isFull && !one.passed)) && dated.every((other, at) => other === known[at])) return
  const remaining =
    isStored || (isFull && !one.passed) ? dated : [...(isFull ? dated.slice(-RETAINED_OF_FULL) : dated), one]
  const lines = remaining.map(({ head: _, ...seen }) => canonicalize(seen))
  writeWhole(join(trustFolder, FOLDER), `${storeName(origin)}.ndjson`, lines.join("\n"))
}

/** A checkpoint with the later times of another of the same tree, and with the note that witnesses cosigned last. */
function withLaterTimes(known: SeenCheckpoint, one: SeenCheckpoint): SeenCheckpoint {
  const isNewer = (name: "newest_at" | "cosigned_at"): boolean => (one[name] ?? "") > (known[name] ?? "")
  const [newest_at, cosigned_at] = [isNewer("newest_at") && one.newest_at, isNewer("cosigned_at") && one.cosigned_at]
  if (!newest_at && !cosigned_at) return known
  return {
    ...known,
    ...(newest_at ? { newest_at } : {}),
    ...(cosigned_at ? { cosigned_at, checkpoint: one.checkpoint } : {}),
  }
}

/** Whether two checkpoints are of the same tree. */
const sameHead = (a: Checkpoint, b: Checkpoint): boolean =>
  a.size === b.size && encodeBase64(a.root) === encodeBase64(b.root)
