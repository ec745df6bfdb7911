/** The verification of what this process seals, before it is stored and after: threads, alarm, and the duty that a start takes over. Decision 0155. */

import { readFileSync, renameSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { setTimeout } from "node:timers/promises"
import type { JsonObject } from "@runseal/canonical"
import { kindNamed } from "@runseal/core/verify/document"
import type { Verdict } from "@runseal/core/verify/report"
import type { LogIdentity } from "../keys/embedded-log.ts"
import type { Database } from "../store/driver/database.ts"
import { documentsWithin, type SealedText, type Span } from "../store/tables/documents-table.ts"
import { readEntries, readHead } from "../store/tables/log-store.ts"
import type { Readiness, Telemetry } from "../telemetry.ts"
import { keepSignatures, type WrongSignature } from "./own-signatures.ts"
import { openVerification, type Verification, type VerifyTexts } from "./verification.ts"

type OwnVerification = Pick<SignatureAlarm, "ready"> & {
  /** The log whose signatures are verified. */
  readonly log: LogIdentity
  readonly verify: VerifyTexts
  /**
   * Verifies what processes may have left, beside everything else.
   * @param sizes of the log when they had last acknowledged something
   */
  readonly takeOver: (sizes: readonly number[]) => void
  /** Verifies what was put off, notes that nothing is left, then ends the threads. */
  readonly close: () => Promise<void>
}

type OwnVerificationParts = {
  /** The service's trust document. */
  readonly document: JsonObject
  readonly log: LogIdentity
  readonly db: Pick<Database, "read">
  /** Folder of the keys. */
  readonly keysDir: string
  /** Size of the log that this process acknowledged last. */
  readonly ownSize: () => number
  readonly telemetry: Pick<Telemetry, "signatureWrong" | "recentNotVerified">
}

export function openOwnVerification(parts: OwnVerificationParts): OwnVerification {
  const { document, log, db, telemetry } = parts
  const verified = openVerifiedHeads(parts.keysDir)
  const alarm = createSignatureAlarm(telemetry)
  const made = keepSignatures(log)
  const stop = new AbortController()
  let taken = Promise.resolve()
  const takeOver = (sizes: readonly number[]): void => {
    const found = { db, verification, verified, wrong: alarm.raise, signal: stop.signal }
    taken = taken
      .then(() => verifyRecent(sizes, found))
      .catch((error: unknown) => {
        if (!stop.signal.aborted) telemetry.recentNotVerified(error)
      })
  }
  // What a thread had put off is in the records of the last minute.
  const verification = openVerification(document, made, { wrong: alarm.raise, lost: () => takeOver([]) })
  return {
    log: made.log,
    verify: verification.verify,
    ready: alarm.ready,
    takeOver,
    close: async () => {
      stop.abort()
      await taken
      await verification.close()
      verified.add([parts.ownSize()])
    },
  }
}

// Whether everything that this process signed or found verifies. A signature or record that does not is an alarm: this process is not
// ready until it is started again, and runs ECDSA before each answer from then on. Decision 0155.

const REASON = "A signature of this service does not verify: see the process log."

type SignatureAlarm = {
  readonly raise: (found: WrongSignature | { readonly objection: string }) => void
  /** The readiness, which ends with the first alarm. Never rejects. */
  readonly ready: (readiness: () => Promise<Readiness>) => () => Promise<Readiness>
}

function createSignatureAlarm(telemetry: Pick<Telemetry, "signatureWrong">): SignatureAlarm {
  let raised = false
  return {
    raise: found => {
      raised = true
      telemetry.signatureWrong(found)
    },
    ready: readiness => async () => {
      const found = await readiness()
      return raised ? { ready: false, reason: REASON, checked_at: found.checked_at } : found
    },
  }
}

// Documents whose signatures a process may not have verified when it ended: those of its last minute. They are verified
// whole after a start, unless it is known that nothing was left. Decision 0155.

/** Twice the minute after which a signature is verified: a run is admitted before it is sealed. */
const BEFORE_MS = 120_000
/** A batch that was committed after the head, and not remembered. */
const AFTER_MS = 60_000
/** Size of a log that holds its first entry alone, which is of no record. */
const BIRTH = 1
/** Longest wait for an idle moment before each page, in milliseconds. */
const IDLE_WAIT_MS = 10

/** What a stored document must get. @throws Error for a kind of a later release */
function verdictOf(kind: string): Verdict {
  const row = kindNamed(kind)
  if (row === undefined) throw new Error(`a document of the kind ${kind} is not known here`)
  return row.verdict
}

type RecentParts = {
  readonly db: Pick<Database, "read">
  readonly verification: Pick<Verification, "verifyStored" | "isIdle">
  /** Called for each document that does not verify. */
  readonly wrong: (found: { readonly objection: string }) => void
  /** Heads before which nothing was put off. */
  readonly verified: VerifiedHeads
  readonly signal: AbortSignal
}

/**
 * Verifies what was sealed about the times of these heads and of the database's own. Rejects when the database cannot be read or the
 * verifier not be asked, or not read a document.
 * @param sizes of the log when processes had last acknowledged something
 */
async function verifyRecent(
  sizes: readonly number[],
  { db, verification, wrong, verified, signal }: RecentParts,
): Promise<void> {
  const head = await readHead(db)
  const left = [...new Set([...sizes, head.size])].filter(
    size => size > BIRTH && size <= head.size && !verified.has(size),
  )
  const times: number[] = []
  for (const size of left) for (const entry of await readEntries(db, size - 1, size)) times.push(entry.integrated_time)
  const judge = async (texts: readonly SealedText[]): Promise<void> => {
    if (!verification.isIdle()) await setTimeout(IDLE_WAIT_MS)
    const judgements = await verification.verifyStored(
      texts.map(({ kind, text }) => ({ text, verdict: verdictOf(kind), pack: false })),
    )
    for (const judged of judgements) {
      if ("packed" in judged) continue
      // Of another release, which had verified it.
      if (judged.unreadable) throw new Error(judged.objection)
      wrong(judged)
    }
  }
  for (const span of joined(times)) {
    for await (const texts of documentsWithin(db, span)) {
      if (signal.aborted) return
      await judge(texts)
    }
  }
  verified.add(left)
}

/** Spans about the times, in Unix seconds; those that overlap are one. */
function joined(times: readonly number[]): readonly Span[] {
  const spans: { from: number; to: number }[] = []
  for (const time of times.toSorted((a, b) => a - b)) {
    const [from, to] = [time * 1000 - BEFORE_MS, time * 1000 + AFTER_MS]
    const last = spans.at(-1)
    if (last !== undefined && from <= last.to) last.to = to
    else spans.push({ from, to })
  }
  return spans
}

// Sizes of the log at which a process stopped in order, or a start had verified what a crash had left: nothing before these was put off. A
// file beside the keys, since a crash must leave it behind. Losing it costs one more verification. Decision 0155.

const VERIFIED_HEADS = "verified-heads"
/** The largest are stored. */
const MAX_SIZES = 64
const LINE = /^\d{1,16}$/

type VerifiedHeads = {
  readonly has: (size: number) => boolean
  /** A failure of the file system is ignored: the next start then verifies once more. */
  readonly add: (sizes: readonly number[]) => void
}

/** @param directory of the keys */
function openVerifiedHeads(directory: string): VerifiedHeads {
  const path = join(directory, VERIFIED_HEADS)
  const read = (): readonly number[] => {
    try {
      return readFileSync(path, "latin1")
        .split("\n")
        .filter(line => LINE.test(line))
        .map(Number)
    } catch {
      return []
    }
  }
  return {
    has: size => read().includes(size),
    add: sizes => {
      if (sizes.every(size => size <= 1)) return
      const all = [...new Set([...read(), ...sizes])].sort((a, b) => a - b).slice(-MAX_SIZES)
      try {
        writeFileSync(`${path}.tmp`, `${all.join("\n")}\n`, { mode: 0o600 })
        renameSync(`${path}.tmp`, path)
      } catch {
        // The next start verifies once more.
      }
    },
  }
}
