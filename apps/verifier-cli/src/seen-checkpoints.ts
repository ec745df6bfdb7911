/**
 * The signed checkpoints of a log that this user's audits have met, one file per origin beside the pinned trust. They are what
 * a later audit holds the log to, so a file only grows; whoever can write there can make the verifier forget.
 */
import { readFileSync, statSync } from "node:fs"
import { join } from "node:path"
import { canonicalize, encodeBase64, type JsonValue, parseStrictJson } from "@runseal/canonical"
import { member } from "@runseal/core/vocabulary/json-members"
import { clockMillis } from "@runseal/core/vocabulary/scalars"
import { type Checkpoint, parseCheckpoint } from "@runseal/log/notes/checkpoint"
import { parseNote } from "@runseal/log/notes/signed-note"
import { InputError } from "./input-error.ts"
import { errorCode, type ReadLimits } from "./read-input.ts"
import { storeName, writeWhole } from "./trust-store.ts"

/** A checkpoint is some 200 bytes; a witness adds 150, with ML-DSA-44 some 3,300. A log has 30 s to send it. */
export const CHECKPOINT_LIMITS: ReadLimits = { maxBytes: 65_536, deadlineMs: 30_000 }
/**
 * Checkpoints kept of one log. When they are as many, an audit that passes drops all but the newest half: it has proved each to
 * be part of the tree it found, whose checkpoint stays. One that did not pass is then not kept.
 */
export const MAX_SEEN = 1000
const KEPT_OF_FULL = MAX_SEEN / 2
/** Characters that escaping adds to a line at most, six for one, and the other fields. */
const MAX_FILE_BYTES = MAX_SEEN * (6 * CHECKPOINT_LIMITS.maxBytes + 256)
const FOLDER = "checkpoints"

/** What is kept of a checkpoint. */
export type Seen = {
  /** RFC 3339, by this machine's clock. */
  readonly seen_at: string
  /** The signed note, which shows to others what the log has signed. */
  readonly checkpoint: string
  /** Whether an audit passed for it: every entry was there, and every checkpoint seen until then part of it. */
  readonly passed: boolean
  /** RFC 3339, by this machine's clock: when the log itself, asked over the network, last showed this as its newest. */
  readonly newest_at?: string
  /** RFC 3339: when as many witnesses as were demanded had cosigned this, by their clocks. */
  readonly cosigned_at?: string
}
export type SeenCheckpoint = Seen & { readonly head: Checkpoint }

/** The checkpoint of a note; nothing is verified. Undefined for any other text. */
export function headOf(note: string): Checkpoint | undefined {
  const parsed = parseNote(note)
  return parsed === undefined ? undefined : parseCheckpoint(parsed.text)
}

/** Where the checkpoints of an origin are kept. */
export const seenPath = (trustFolder: string, origin: string): string =>
  join(trustFolder, FOLDER, `${storeName(origin)}.ndjson`)

/** What was seen of an origin, oldest first. A damaged file is refused rather than passed over. Throws InputError. */
export function readSeen(trustFolder: string, origin: string): readonly SeenCheckpoint[] {
  const path = seenPath(trustFolder, origin)
  const seen = textOf(path)
    .split("\n")
    .filter(line => line !== "")
    .map(line => readLine(line, origin))
  if (seen.length > MAX_SEEN || seen.some(one => one === undefined))
    throw new InputError(`${path} is damaged: restore it from your backup, since without it a fork goes unnoticed.`)
  return seen.filter(one => one !== undefined)
}

function textOf(path: string): string {
  try {
    if (statSync(path).size > MAX_FILE_BYTES) throw new InputError(`${path} is larger than ${MAX_FILE_BYTES} bytes.`)
    return readFileSync(path, "utf8")
  } catch (error) {
    if (error instanceof InputError) throw error
    if (errorCode(error) === "ENOENT") return ""
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
 * Keeps a checkpoint; of one that is kept already, the later times. The file is read again first, so that audits at one time keep
 * both of theirs but for those of the same instant. Throws InputError.
 */
export function keepSeen(trustFolder: string, origin: string, one: SeenCheckpoint): void {
  const known = readSeen(trustFolder, origin)
  const dated = known.map(other => (sameHead(other.head, one.head) ? withLaterTimes(other, one) : other))
  const isKept = dated.some(other => sameHead(other.head, one.head) && (other.passed || !one.passed))
  const isFull = known.length >= MAX_SEEN
  if ((isKept || (isFull && !one.passed)) && dated.every((other, at) => other === known[at])) return
  const kept = isKept || (isFull && !one.passed) ? dated : [...(isFull ? dated.slice(-KEPT_OF_FULL) : dated), one]
  const lines = kept.map(({ head: _, ...seen }) => canonicalize(seen))
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

/** Whether two checkpoints speak of the same tree. */
const sameHead = (a: Checkpoint, b: Checkpoint): boolean =>
  a.size === b.size && encodeBase64(a.root) === encodeBase64(b.root)
