/**
 * The audit of a log: its checkpoint is signed with a trusted key, the whole tree is rebuilt from its entries, and every
 * checkpoint seen before is part of it. Memory holds the tree's right edge and a few files, however long the log.
 */
import { decodeBase64, encodeBase64, equalBytes, utf8Decode } from "@runseal/canonical"
import { anchorsOf, isUnreadable } from "@runseal/core/verify/document"
import { VERDICTS } from "@runseal/core/verify/report"
import { CLOCK_TOLERANCE_SECONDS, clockMillis } from "@runseal/core/vocabulary/scalars"
import { rootOf } from "@runseal/log/merkle/compact-range"
import { hashLeaf, verifyConsistency, verifyInclusion } from "@runseal/log/merkle/rfc6962"
import { buildConsistencyProof, buildInclusionProof, type ReadTile, TILE_WIDTH } from "@runseal/log/merkle/tiles"
import { emptyStart, type RebuildStart, rebuildTree, startFromTiles } from "@runseal/log/merkle/tree-rebuild"
import { type Checkpoint, publicOrigin } from "@runseal/log/notes/checkpoint"
import { isWitnessKey, type NoteKey } from "@runseal/log/notes/signed-note"
import { verifyNote } from "@runseal/log/notes/verified-note"
import type { TrustedKeys } from "@runseal/log/trust/trusted-keys"
import { InputError, MissingInput } from "./exit-answer.ts"
import { AuditFailure } from "./log-failure.ts"
import { checkGenesis, checkKeys, checkpointKeyIds, type DeclaredKeys, entryOf, readDeclaredKeys } from "./log-keys.ts"
import { fewAtOnce, type LogSource } from "./log-source.ts"
import { compareTile, readEntryRow, tileReader } from "./log-tiles.ts"
import { checkWitnesses, cosignedAt, mostWitnessed, type WitnessDemand, type Witnessed } from "./log-witnesses.ts"
import { readInput } from "./read-input.ts"
import { CHECKPOINT_LIMITS, headOf, readSeen, type SeenCheckpoint, storeSeen } from "./seen-checkpoints.ts"
import { unmetBeside, verifyAny } from "./verify-any.ts"

/** Entry bundles read ahead, each with its tile: twice as many requests at a time. */
const READ_AHEAD = 2
/** A larger log is not audited: it would take some eight million requests. */
const MAX_AUDITED_ENTRIES = 1_000_000_000

export type AuditRequest = {
  readonly source: LogSource
  readonly trusts: readonly TrustedKeys[]
  /** The trust store; checkpoints are stored in it. */
  readonly folder: string
  /** Start at the last checkpoint that passed, not at the first entry. */
  readonly quick: boolean
  /** Absent: no witnesses are required. */
  readonly witnesses?: WitnessDemand
  /** Documents whose entries must be in the log. */
  readonly documents: readonly string[]
  /** This machine's clock, RFC 3339. */
  readonly now: string
  /** Called with the number of entries rebuilt, and of all. */
  readonly progress: (done: number, total: number) => void
}

/** The facts of a log whose checkpoint is signed. */
export type Audited = {
  readonly trust: TrustedKeys
  readonly head: Checkpoint
  /** The signed note. */
  readonly checkpoint: string
  /** The checkpoint that most witnesses cosigned; absent without `witnesses` in the request. */
  readonly witnessed?: Witnessed
  /** The keys that the log declares. */
  readonly keys: DeclaredKeys
  /** Checkpoints seen before this audit. */
  readonly seen: readonly SeenCheckpoint[]
  /** The checkpoint that a quick audit starts at. */
  readonly base?: SeenCheckpoint
}
export type LogAudit = { readonly audited?: Audited; readonly failure?: AuditFailure }

/** Audits a log. A failed check is in the result. Rejects with InputError when something cannot be read. */
export async function auditLog(asked: AuditRequest): Promise<LogAudit> {
  const request = { ...asked, source: fewAtOnce(asked.source) }
  let audited: Audited | undefined
  try {
    audited = await openAudit(request)
    // Stored before any other check: the log signed this checkpoint, even if the audit fails.
    for (const signed of promisesOf(request, audited)) store(request, signed, false)
    if (audited.witnessed !== undefined) checkWitnesses(audited.witnessed)
    const claimed = await claimedEntries(request.documents, audited.trust)
    await checkLog(request, audited)
    store(request, newest(request, audited), true)
    const { head, witnessed } = audited
    checkDates(claimed, heldTo(request, audited))
    await checkClaimed(claimed, head, witnessed?.head.size ?? head.size, tileReader(request.source, head.size))
    return { audited }
  } catch (failure) {
    if (!(failure instanceof AuditFailure)) throw failure
    return { failure, ...(audited === undefined ? {} : { audited }) }
  }
}

type Signed = Pick<SeenCheckpoint, "head" | "checkpoint" | "newest_at" | "cosigned_at">

/** The checkpoints that the log shows now. */
const promisesOf = (request: AuditRequest, audited: Audited): readonly Signed[] =>
  audited.witnessed === undefined
    ? [newest(request, audited)]
    : [cosignedPart(audited.witnessed), newest(request, audited)]

/** A copy of a log may be older than the time at which it is read. */
const newest = ({ source, now }: AuditRequest, { head, checkpoint }: Audited): Signed => ({
  head,
  checkpoint,
  ...(source.live === true ? { newest_at: now } : {}),
})

function cosignedPart(witnessed: Witnessed): Signed {
  const { head, checkpoint } = witnessed
  const cosigned_at = cosignedAt(witnessed)
  return { head, checkpoint, ...(cosigned_at === undefined ? {} : { cosigned_at }) }
}

function store({ folder, now }: AuditRequest, { head, checkpoint, ...times }: Signed, passed: boolean): void {
  storeSeen(folder, head.origin, { seen_at: now, checkpoint, passed, head, ...times })
}

/** The checkpoints that the tree must contain: all seen before, and the witnessed one. */
const heldTo = ({ now }: AuditRequest, { seen, witnessed }: Audited): readonly SeenCheckpoint[] =>
  witnessed === undefined ? seen : [...seen, { ...cosignedPart(witnessed), seen_at: now, passed: false }]

/** Reads the checkpoint and checks that the log of one of the user's trust documents signed it. */
async function openAudit({ source, trusts, folder, quick, witnesses, now }: AuditRequest): Promise<Audited> {
  // Read first: the checkpoint read after it is of the same or a larger tree.
  const cosigned = witnesses === undefined ? undefined : await readWitnessed(source)
  const checkpoint = utf8Decode(await source.read("checkpoint", CHECKPOINT_LIMITS))
  const head = checkpoint === undefined ? undefined : headOf(checkpoint)
  if (checkpoint === undefined || head === undefined)
    throw new InputError(`${source.name} holds no log: its checkpoint is no signed note of a tree head.`)
  const trust = signerOf(checkpoint, head, trusts)
  if (head.size === 0) throw new AuditFailure("checkpoint", "The log is empty: it has no genesis entry.")
  if (head.size > MAX_AUDITED_ENTRIES)
    throw new InputError(`A log of more than ${MAX_AUDITED_ENTRIES} entries is not audited.`)
  const keys = await readDeclaredKeys(source, head.size)
  const seen = readSeen(folder, head.origin)
  const base = quick ? seen.findLast(({ passed }) => passed) : undefined
  const shown = [checkpoint, ...(cosigned === undefined || !isSigned(cosigned, trust) ? [] : [cosigned])]
  const witnessed =
    witnesses === undefined ? undefined : mostWitnessed(witnesses, trust, checkpointKeyIds(keys), shown, now)
  return {
    trust,
    head,
    checkpoint,
    keys,
    seen,
    ...(witnessed === undefined ? {} : { witnessed }),
    ...(base === undefined ? {} : { base }),
  }
}

/** The log's newest witnessed checkpoint; undefined when it shows none. */
async function readWitnessed(source: LogSource): Promise<string | undefined> {
  try {
    return utf8Decode(await source.read("witnessed-checkpoint", CHECKPOINT_LIMITS))
  } catch (error) {
    // Other logs show one checkpoint, which then carries the cosignatures.
    if (error instanceof MissingInput) return undefined
    throw error
  }
}

/** The keys of the log itself, without those of witnesses. */
const logKeysOf = (keys: readonly NoteKey[]): readonly NoteKey[] => keys.filter(key => !isWitnessKey(key))

/** Whether the log of the trust document signed a note; the signature of a witness is not enough. */
const isSigned = (note: string, { origin, checkpointKeys }: TrustedKeys): boolean =>
  headOf(note)?.origin === publicOrigin(origin) && verifyNote(note, logKeysOf(checkpointKeys)) !== undefined

function signerOf(checkpoint: string, { origin }: Checkpoint, trusts: readonly TrustedKeys[]): TrustedKeys {
  const known = trusts.filter(trust => publicOrigin(trust.origin) === origin)
  if (known.length === 0) throw new AuditFailure("checkpoint", `No trust document of yours is of the log ${origin}.`)
  const signer = known.find(trust => isSigned(checkpoint, trust))
  if (signer !== undefined) return signer
  throw new AuditFailure(
    "checkpoint",
    `The checkpoint of ${origin} is not signed with a checkpoint key of the trust document.`,
  )
}

async function checkLog(request: AuditRequest, audited: Audited): Promise<void> {
  const { source } = request
  const { head, base } = audited
  const seen = heldTo(request, audited)
  checkHead(head, seen)
  const tree = rebuildTree(base === undefined ? emptyStart : await goOnFrom(source, base, head, seen))
  // checkHead compared checkpoints of this size; the rebuilt root is compared below.
  const hold = holdTo(seen.filter(one => one.head.size < head.size))
  const first = Math.floor(tree.size() / TILE_WIDTH)
  const end = tree.size() === head.size ? first : Math.ceil(head.size / TILE_WIDTH)
  const rows = inOrder(first, end, READ_AHEAD, index => readEntryRow(source, index, head.size))
  for await (const { entries, hashes } of rows) {
    if (tree.size() === 0) checkGenesis(audited.keys, entries[0], audited.trust)
    for (const hash of hashes.slice(tree.size() % TILE_WIDTH)) {
      for (const tile of tree.take(hash)) await compareTile(source, tile)
      hold(tree.size(), tree.root)
    }
    request.progress(tree.size(), head.size)
  }
  for (const tile of tree.partialTiles()) await compareTile(source, tile)
  if (!equalBytes(tree.root(), head.root))
    throw new AuditFailure(
      "root",
      `The entries make the root ${encodeBase64(tree.root())}, and the checkpoint signs ${encodeBase64(head.root)}.`,
    )
  if (base !== undefined) checkGenesis(audited.keys, await entryOf(source, 0, head), audited.trust)
  await checkKeys(source, audited.keys, head, audited.checkpoint, audited.trust)
}

/**
 * The tree of a checkpoint that passed, from the log's present tiles. It has the root seen then, and the tree built on it must
 * have the root signed now: together that proves consistency. All other checkpoints are proved to be part of it: the file may
 * have those of another machine, which that audit did not know.
 */
async function goOnFrom(
  source: LogSource,
  base: SeenCheckpoint,
  head: Checkpoint,
  seen: readonly SeenCheckpoint[],
): Promise<RebuildStart> {
  const readTile = tileReader(source, head.size)
  await provePrefixes([base], head, readTile)
  await provePrefixes(seen, base.head, readTile)
  const start = await startFromTiles(base.head.size, readTile)
  holdTo([base])(start.range.size, () => rootOf(start.range))
  return start
}

/**
 * Refuses a record dated more than `CLOCK_TOLERANCE_SECONDS` before a time at which the log did not hold its entry. A log seen
 * with n entries at a time got every later entry after that time, whatever date the log signs for it, but for those seen before:
 * a log that shows less than it had says nothing of them. Throws AuditFailure.
 * @param seen checkpoints that are part of the audited tree
 */
function checkDates(claimed: readonly ClaimedEntry[], seen: readonly SeenCheckpoint[]): void {
  for (const { document, index, dates } of claimed)
    for (const one of seen) {
      const { size } = one.head
      if (index < size) continue
      const known = [
        { time: one.newest_at, how: "when you saw" },
        { time: one.cosigned_at, how: "when witnesses cosigned" },
      ]
      for (const { time, how } of known)
        for (const date of dates) {
          if (time === undefined || !isBefore(date.millis, time) || wasSeenBy(time, index, seen)) continue
          throw new AuditFailure(
            "documents",
            `Entry ${index} of ${document} is dated ${new Date(date.millis).toISOString()} by ${date.whose}, and was not in the log at ${time}, ${how} it with ${size} entries.`,
            one,
          )
        }
    }
}

const wasSeenBy = (time: string, index: number, seen: readonly SeenCheckpoint[]): boolean =>
  seen.some(({ head, seen_at }) => index < head.size && seen_at <= time)

const isBefore = (millis: number, time: string): boolean =>
  millis + CLOCK_TOLERANCE_SECONDS * 1000 < (clockMillis(time) ?? 0)

// `--holds`: checks that records are in the audited log. A record's own verification shows only some tree that the log signed.

/** Documents of one audit. */
const MAX_DOCUMENTS = 1000

/** An entry that a document says is in the log. */
type ClaimedEntry = {
  readonly document: string
  readonly index: number
  readonly leafHash: Uint8Array
  /** The times it claims: that of the log, and the record's own clock where it has one. */
  readonly dates: readonly { readonly millis: number; readonly whose: string }[]
}

/** The entries of documents that verify with this trust; one that does not fails the audit. Throws InputError. */
async function claimedEntries(documents: readonly string[], trust: TrustedKeys): Promise<readonly ClaimedEntry[]> {
  if (documents.length > MAX_DOCUMENTS)
    throw new InputError(`At most ${MAX_DOCUMENTS} documents are checked in one audit.`)
  const claimed: ClaimedEntry[] = []
  for (const document of documents) {
    const verified = await verifyAny(await readInput(document), [trust])
    const { report, record } = verified
    if (isUnreadable(report)) throw new InputError(`${document} cannot be verified: ${report.unreadable}`)
    if (report.verdict === VERDICTS.failed || report.anchors.length === 0 || unmetBeside(verified) !== undefined)
      throw new AuditFailure(
        "documents",
        `${document} does not verify as a record of this log's service: verify it by itself to see why.`,
      )
    for (const { anchor } of anchorsOf(record)) {
      const { canonicalizedBody, inclusionProof, integratedTime } = anchor.entry
      const body = decodeBase64(canonicalizedBody) ?? Uint8Array.of()
      const logged = { millis: Number(integratedTime) * 1000, whose: "the log's time" }
      const own = report.clock === undefined ? undefined : clockMillis(report.clock)
      claimed.push({
        document,
        index: Number(inclusionProof.logIndex),
        leafHash: hashLeaf(body),
        dates: [logged, ...(own === undefined ? [] : [{ millis: own, whose: "its own clock" }])],
      })
    }
  }
  return claimed
}

/**
 * Proves that entries are in an audited tree.
 * @param size of it, of which `readTile` reads
 * @param within entries that are accepted, such as those that were witnessed
 */
async function checkClaimed(
  claimed: readonly ClaimedEntry[],
  { size, root }: { readonly size: number; readonly root: Uint8Array },
  within: number,
  readTile: ReadTile,
): Promise<void> {
  for (const { document, index, leafHash } of claimed) {
    if (index >= within)
      throw new AuditFailure(
        "documents",
        `Entry ${index} of ${document} is not among the first ${within}, ${within < size ? "which are what was witnessed" : "which are all of this log"}.`,
      )
    const proof = await buildInclusionProof(index, size, readTile)
    if (!verifyInclusion({ leafHash, index, size, proof, root }))
      throw new AuditFailure("documents", `Entry ${index} of this log is not the one that ${document} holds.`)
  }
}

// Compares a log with its checkpoints seen before: it may only grow. RFC 6962 §2.1.2.

/** Compares the root of a tree with the one seen of the same size. Throws AuditFailure when they differ. */
type HoldToSeen = (size: number, root: () => Uint8Array) => void

/** The check to call with every size of a rebuild; the root is computed only where a checkpoint was seen. */
function holdTo(seen: readonly SeenCheckpoint[]): HoldToSeen {
  const bySize = new Map<number, SeenCheckpoint[]>()
  for (const one of seen) bySize.set(one.head.size, [...(bySize.get(one.head.size) ?? []), one])
  return (size, root) => {
    for (const one of bySize.get(size) ?? []) if (!equalBytes(root(), one.head.root)) throw changedPast(one, root())
  }
}

/** Refuses a checkpoint that is smaller than one seen before, or of the same size with another root. */
function checkHead({ size, root }: Checkpoint, seen: readonly SeenCheckpoint[]): void {
  const largest = seen.reduce<SeenCheckpoint | undefined>(
    (most, one) => (most === undefined || one.head.size > most.head.size ? one : most),
    undefined,
  )
  if (largest !== undefined && largest.head.size > size)
    throw new AuditFailure(
      "history",
      `The log shrank, or this is an older copy of it: it shows ${size} entries, and had ${largest.head.size} when it was seen at ${largest.seen_at}.`,
    )
  holdTo(seen)(size, () => root)
}

/** Proofs that are made at one time. */
const PROOFS_AHEAD = 4

/**
 * Proves from tiles that trees seen before are the first entries of a tree.
 * @param base the tree that `readTile` reads; its tiles need no trust, since the proof must lead to both roots
 */
async function provePrefixes(seen: readonly SeenCheckpoint[], base: Checkpoint, readTile: ReadTile): Promise<void> {
  const trees = new Map(seen.map(one => [`${one.head.size} ${encodeBase64(one.head.root)}`, one]))
  const earlier = [...trees.values()].filter(({ head }) => head.size > 0 && head.size <= base.size)
  const prove = async (at: number): Promise<SeenCheckpoint | undefined> => {
    const one = earlier[at]
    if (one === undefined) return undefined
    const { size, root } = one.head
    const proof = await buildConsistencyProof(size, base.size, readTile)
    const isPrefix = verifyConsistency({ size1: size, size2: base.size, root1: root, root2: base.root, proof })
    return isPrefix ? undefined : one
  }
  for await (const contradicted of inOrder(0, earlier.length, PROOFS_AHEAD, prove))
    if (contradicted !== undefined) throw changedPast(contradicted)
}

function changedPast(one: SeenCheckpoint, found?: Uint8Array): AuditFailure {
  const { size, root } = one.head
  const now = found === undefined ? "and its tiles lead to another now" : `and has ${encodeBase64(found)} now`
  return new AuditFailure(
    "history",
    `The log was forked or its past changed: its first ${size} entries had the root ${encodeBase64(root)} when it was seen at ${one.seen_at}, ${now}.`,
    one,
  )
}

// The results of `read` for `first` up to, not including, `end`, in that order, with at most `ahead` reads pending. A rejection reaches
// the consumer in the same order.

async function* inOrder<T>(
  first: number,
  end: number,
  ahead: number,
  read: (at: number) => Promise<T>,
): AsyncGenerator<T> {
  const pending: Promise<T>[] = []
  for (let next = first; next < end || pending.length > 0; ) {
    for (; next < end && pending.length < ahead; next++) {
      const reading = read(next)
      // After an earlier read has failed, no consumer waits for this one: its rejection must not end the process.
      reading.catch(() => undefined)
      pending.push(reading)
    }
    const reading = pending.shift()
    if (reading !== undefined) yield await reading
  }
}
