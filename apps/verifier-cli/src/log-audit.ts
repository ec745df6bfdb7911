/**
 * The audit of a log: its checkpoint is signed by whom the user trusts, the whole tree is built again from its entries, and every
 * checkpoint seen before is part of it. Memory holds a frontier and a few files, however long the log.
 */
import { encodeBase64, equalBytes, utf8Decode } from "@runseal/canonical"
import { CLOCK_TOLERANCE_SECONDS, clockMillis } from "@runseal/core/vocabulary/scalars"
import { rootOf } from "@runseal/log/merkle/compact-range"
import { TILE_WIDTH } from "@runseal/log/merkle/tiles"
import { emptyStart, type RebuildStart, rebuildTree, startFromTiles } from "@runseal/log/merkle/tree-rebuild"
import { type Checkpoint, publicOrigin } from "@runseal/log/notes/checkpoint"
import { isWitnessKey, type NoteKey } from "@runseal/log/notes/signed-note"
import { verifyNote } from "@runseal/log/notes/verified-note"
import type { TrustedKeys } from "@runseal/log/trust/trusted-keys"
import { InputError } from "./input-error.ts"
import { type ClaimedEntry, checkClaimed, claimedEntries } from "./log-documents.ts"
import { AuditFailure } from "./log-failure.ts"
import { checkHead, holdTo, proveBeginnings } from "./log-history.ts"
import { checkGenesis, checkKeys, checkpointKeyIds, entryOf, readToldKeys, type ToldKeys } from "./log-keys.ts"
import type { LogSource } from "./log-source.ts"
import { compareTile, readEntryRow, tileReader } from "./log-tiles.ts"
import { checkWitnesses, cosignedAt, mostWitnessed, type WitnessDemand, type Witnessed } from "./log-witnesses.ts"
import { CHECKPOINT_LIMITS, headOf, keepSeen, readSeen, type SeenCheckpoint } from "./seen-checkpoints.ts"

/** Bundles read ahead, each with its tile: twice as many requests at one time. */
const READ_AHEAD = 2
/** A log beyond this is not begun: some eight million requests. */
const MAX_AUDITED_ENTRIES = 1_000_000_000

export type AuditRequest = {
  readonly source: LogSource
  readonly trusts: readonly TrustedKeys[]
  /** The trust store, beside which checkpoints are kept. */
  readonly folder: string
  /** Go on from the last checkpoint that passed, instead of from the first entry. */
  readonly quick: boolean
  /** Absent: no witnesses are asked for. */
  readonly witnesses?: WitnessDemand
  /** Documents whose entries must be in the log. */
  readonly documents: readonly string[]
  /** This machine's clock, RFC 3339. */
  readonly now: string
  /** Told how many entries of how many were taken. */
  readonly progress: (done: number, total: number) => void
}

/** What is known of the log once its checkpoint was found signed. */
export type Audited = {
  readonly trust: TrustedKeys
  readonly head: Checkpoint
  /** The signed note. */
  readonly checkpoint: string
  /** The checkpoint that most of the witnesses cosigned, when witnesses are demanded. */
  readonly witnessed?: Witnessed
  /** What it says of its keys. */
  readonly keys: ToldKeys
  /** What was seen before this audit. */
  readonly seen: readonly SeenCheckpoint[]
  /** The last checkpoint that passed, when the audit went on from it. */
  readonly base?: SeenCheckpoint
}
export type LogAudit = { readonly audited?: Audited; readonly failure?: AuditFailure }

/** Audits a log. What fails is in the answer; what cannot be read rejects with InputError. */
export async function auditLog(request: AuditRequest): Promise<LogAudit> {
  let audited: Audited | undefined
  try {
    audited = await openAudit(request)
    // Kept before anything else is judged: a checkpoint was signed, whatever stands behind it.
    for (const signed of promisesOf(request, audited)) keep(request, signed, false)
    if (audited.witnessed !== undefined) checkWitnesses(audited.witnessed)
    const claimed = await claimedEntries(request.documents, audited.trust)
    await checkLog(request, audited)
    keep(request, newest(request, audited), true)
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

/** What the log has signed and shows now. */
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

function keep({ folder, now }: AuditRequest, { head, checkpoint, ...times }: Signed, passed: boolean): void {
  keepSeen(folder, head.origin, { seen_at: now, checkpoint, passed, head, ...times })
}

/** What the tree is held to: all that was seen before, and the witnessed checkpoint, which no smaller tree may follow. */
const heldTo = ({ now }: AuditRequest, { seen, witnessed }: Audited): readonly SeenCheckpoint[] =>
  witnessed === undefined ? seen : [...seen, { ...cosignedPart(witnessed), seen_at: now, passed: false }]

/** The log's checkpoint, signed by the log of a trust document of the user's. */
async function openAudit({ source, trusts, folder, quick, witnesses, now }: AuditRequest): Promise<Audited> {
  // Read first: the checkpoint that is read after it is of no smaller tree.
  const cosigned = witnesses === undefined ? undefined : await readWitnessed(source)
  const checkpoint = utf8Decode(await source.read("checkpoint", CHECKPOINT_LIMITS))
  const head = checkpoint === undefined ? undefined : headOf(checkpoint)
  if (checkpoint === undefined || head === undefined)
    throw new InputError(`${source.name} holds no log: its checkpoint is no signed note of a tree head.`)
  const trust = signerOf(checkpoint, head, trusts)
  if (head.size === 0) throw new AuditFailure("checkpoint", "The log is empty: not even its birth is in it.")
  if (head.size > MAX_AUDITED_ENTRIES)
    throw new InputError(`A log of more than ${MAX_AUDITED_ENTRIES} entries is not audited.`)
  const keys = await readToldKeys(source, head.size)
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

/** The newest checkpoint that enough witnesses cosigned, as the log shows it; undefined when it shows none. */
async function readWitnessed(source: LogSource): Promise<string | undefined> {
  try {
    return utf8Decode(await source.read("witnessed-checkpoint", CHECKPOINT_LIMITS))
  } catch (error) {
    // Other logs show one checkpoint alone, which then bears the cosignatures.
    if (error instanceof InputError) return undefined
    throw error
  }
}

/** What a witness made of its line says nothing of the log's own. */
const logKeysOf = (keys: readonly NoteKey[]): readonly NoteKey[] => keys.filter(key => !isWitnessKey(key))

/** Whether the log of the trust document signed a note: what only witnesses signed is not its word. */
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
  // What was seen of the size that is signed now was judged above; the tree's own root is judged last.
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
 * The tree of a checkpoint that passed, from the tiles of the log as it is now: its frontier has the root that was seen, and what
 * is built on it must have the root that is signed now, which together prove consistency. What was seen since then is proved
 * to be part of it; what was seen before, the audit of that day has proved.
 */
async function goOnFrom(
  source: LogSource,
  base: SeenCheckpoint,
  head: Checkpoint,
  seen: readonly SeenCheckpoint[],
): Promise<RebuildStart> {
  const readTile = tileReader(source, head.size)
  await proveBeginnings([base], head, readTile)
  await proveBeginnings(seen.slice(seen.lastIndexOf(base) + 1), base.head, readTile)
  const start = await startFromTiles(base.head.size, readTile)
  holdTo([base])(start.range.size, () => rootOf(start.range))
  return start
}

/**
 * Refuses a record dated more than `CLOCK_TOLERANCE_SECONDS` before a time at which the log did not hold its entry. Whoever saw the
 * log with so many entries, or knows who did, knows that everything behind them came later, whatever time the log signs for it.
 * Throws AuditFailure.
 * @param seen trees that are beginnings of the audited one
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
          if (time === undefined || !isBefore(date.millis, time)) continue
          throw new AuditFailure(
            "documents",
            `Entry ${index} of ${document} is dated ${new Date(date.millis).toISOString()} by ${date.whose}, and was not in the log at ${time}, ${how} it with ${size} entries.`,
            one,
          )
        }
    }
}

const isBefore = (millis: number, time: string): boolean =>
  millis + CLOCK_TOLERANCE_SECONDS * 1000 < (clockMillis(time) ?? 0)

/**
 * What `read` gives for `first` up to, not including, `end`, in that order, with at most `ahead` readings under way. A
 * rejection reaches the consumer when its turn comes.
 */
async function* inOrder<T>(
  first: number,
  end: number,
  ahead: number,
  read: (at: number) => Promise<T>,
): AsyncGenerator<T> {
  const underWay: Promise<T>[] = []
  for (let next = first; next < end || underWay.length > 0; ) {
    for (; next < end && underWay.length < ahead; next++) {
      const reading = read(next)
      // One that fails behind another that failed first is nobody's: it must not end the process.
      reading.catch(() => undefined)
      underWay.push(reading)
    }
    const reading = underWay.shift()
    if (reading !== undefined) yield await reading
  }
}
