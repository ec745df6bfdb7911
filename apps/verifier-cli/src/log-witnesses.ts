/** Witnesses of an audited log, and how many must have cosigned its checkpoint. C2SP tlog-witness, tlog-cosignature. */
import { encodeHex } from "@runseal/canonical"
import { CLOCK_TOLERANCE_SECONDS } from "@runseal/core/vocabulary/scalars"
import { ed25519Spki, keyIdOfSpki } from "@runseal/log/keys/spki"
import { type Checkpoint, publicOrigin } from "@runseal/log/notes/checkpoint"
import { type Cosignature, cosignatureOf } from "@runseal/log/notes/cosignature"
import { isWitnessKey, type NoteKey, parseNote, parseVkey } from "@runseal/log/notes/signed-note"
import type { TrustedKeys } from "@runseal/log/trust/trusted-keys"
import { InputError } from "./exit-answer.ts"
import { AuditFailure } from "./log-failure.ts"
import { headOf } from "./seen-checkpoints.ts"

/** The witnesses that the user requires. */
export type WitnessDemand = {
  /** Keys from the command line; when empty, those of the trust document. */
  readonly keys: readonly NoteKey[]
  /** Absent: all of them. */
  readonly needed?: number
}

/** A checkpoint of the log with its cosignatures. */
export type Witnessed = {
  readonly keys: readonly NoteKey[]
  readonly needed: number
  readonly head: Checkpoint
  /** The signed note. */
  readonly checkpoint: string
  readonly cosignatures: readonly Cosignature[]
}

/** What `--witness` and `--witnesses-needed` demand; undefined when neither is given. Throws InputError. */
export function readDemand(vkeys: readonly string[], needed: string | undefined): WitnessDemand | undefined {
  if (vkeys.length === 0 && needed === undefined) return undefined
  const keys = vkeys.map(vkey => {
    const key = parseVkey(vkey)
    if (key !== undefined && isWitnessKey(key)) return key
    throw new InputError(`${vkey} is not the verifier key of a witness: its cosignatures are of Ed25519 or ML-DSA-44.`)
  })
  // A witness listed under two names, or with two keys, would count twice.
  for (const part of ["name", "publicKey"] as const)
    if (new Set(keys.map(key => String(key[part]))).size < keys.length)
      throw new InputError("A witness is named twice: two of the keys have the same name, or are the same.")
  if (needed === undefined) return { keys }
  if (!/^[1-9]\d{0,2}$/.test(needed)) throw new InputError("--witnesses-needed is a number of witnesses.")
  return { keys, needed: Number(needed) }
}

/**
 * The first checkpoint that enough witnesses cosigned; else the one that most did. Throws InputError.
 * @param ownIds of the log's checkpoint keys, also of former ones: SHA-256 of the SubjectPublicKeyInfo, hex
 * @param now RFC 3339
 */
export function mostWitnessed(
  { keys: named, needed: demanded }: WitnessDemand,
  trust: TrustedKeys,
  ownIds: readonly string[],
  checkpoints: readonly string[],
  now: string,
): Witnessed | undefined {
  const keys = named.length > 0 ? named : trust.checkpointKeys.filter(isWitnessKey)
  const own = new Set([...ownIds, ...trust.checkpointKeys.filter(key => !isWitnessKey(key)).map(idOf)])
  const impostor = keys.find(key => key.name === publicOrigin(trust.origin) || own.has(idOf(key)))
  if (impostor !== undefined)
    throw new InputError(`${impostor.name} is no witness of this log: it has the log's own key or name.`)
  if (keys.length === 0)
    throw new InputError("No witness is known: name them with --witness, the trust document has none.")
  const needed = demanded ?? keys.length
  if (needed > keys.length) throw new InputError(`${needed} witnesses cannot be demanded of ${keys.length}.`)
  // A cosignature dated further in the future does not count.
  const latest = Date.parse(now) / 1000 + CLOCK_TOLERANCE_SECONDS
  const shown = checkpoints.flatMap((checkpoint): readonly Witnessed[] => {
    const [head, note] = [headOf(checkpoint), parseNote(checkpoint)]
    if (head === undefined || note === undefined) return []
    const cosignatures = keys
      .map(key => cosignatureOf(note, key))
      .filter(one => one !== undefined)
      .filter(({ time }) => time <= latest)
    return [{ keys, needed, head, checkpoint, cosignatures }]
  })
  const [most] = shown.toSorted((one, other) => other.cosignatures.length - one.cosignatures.length)
  return shown.find(({ cosignatures }) => cosignatures.length >= needed) ?? most
}

/** The id that genesis and key changes use for a checkpoint key; empty for ML-DSA-44, which no checkpoint key is. */
const idOf = ({ algorithm, publicKey }: NoteKey): string =>
  algorithm === "ml-dsa-44" ? "" : encodeHex(keyIdOfSpki(ed25519Spki(publicKey)))

/**
 * When the last of the needed witnesses cosigned, RFC 3339; undefined when too few did. One witness whose clock is ahead does
 * not change it.
 */
export function cosignedAt({ needed, cosignatures }: Witnessed): string | undefined {
  const times = cosignatures.map(({ time }) => time).sort((one, other) => other - one)
  const time = times[needed - 1]
  return time === undefined ? undefined : new Date(time * 1000).toISOString()
}

/** Refuses a log whose most cosigned checkpoint has too few cosignatures. Throws AuditFailure. */
export function checkWitnesses({ keys, needed, cosignatures }: Witnessed): void {
  const count = cosignatures.length
  if (count >= needed) return
  const names = cosignatures.map(({ witness }) => witness.name).join(", ")
  throw new AuditFailure(
    "witnesses",
    `${count} of your ${keys.length} witnesses cosigned a checkpoint that this log shows, of the ${needed} needed${count === 0 ? "" : `: ${names}`}.`,
  )
}
