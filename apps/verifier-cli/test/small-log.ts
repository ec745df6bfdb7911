/** Logs as a service publishes them, of any length, with keys that follow from a seed. Made with the tree code, not with the audit's. */
import { mkdirSync, rmSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { concatBytes, encodeBase64, encodeHex, utf8Decode, utf8Encode } from "@runseal/canonical"
import { entryBody } from "@runseal/log/entries/log-entry"
import { cosignatureLine, signedNote } from "@runseal/log/entries/log-signing"
import { toLowS } from "@runseal/log/keys/ecdsa-der"
import { ed25519Spki, keyIdOfSpki } from "@runseal/log/keys/spki"
import { appendLeaf, emptyRange, rootOf } from "@runseal/log/merkle/compact-range"
import { encodeEntryBundle } from "@runseal/log/merkle/entry-bundle"
import { hashLeaf } from "@runseal/log/merkle/rfc6962"
import { tileOfNode, tilePath } from "@runseal/log/merkle/tiles"
import { formatCheckpoint, publicOrigin } from "@runseal/log/notes/checkpoint"
import { formatVkey, type NoteKey, noteKey } from "@runseal/log/notes/signed-note"
import type { TrustDocument } from "@runseal/log/trust/trust-document"
import { P256_KEY_DETAILS } from "@runseal/log/trust/trusted-keys"
import { formatTrustedRoot } from "@runseal/log/trust/trusted-root"
import type { GenesisLeaf, KeyChangeLeaf } from "../../../libs/core/src/artifacts/anchor.ts"
import { genesisLeaf, keyChangeLeaf, leafDigest, leafText } from "../../../libs/core/src/formulas/leaves.ts"
import { ed25519Key, p256Key } from "../../../libs/log/test/seeded-keys.ts"
import { MissingInput } from "../src/exit-answer.ts"
import type { LogSource } from "../src/log-source.ts"

const HOST = "runseal.local"
const BORN = "2026-01-01T00:00:00.000Z"
const BORN_SECONDS = Date.parse(BORN) / 1000
const TILE = 256
/** The checkpoint key of a log that changed it follows from this. */
const AFTER = "after the change"

export type LogOptions = {
  readonly size: number
  /** Keys follow from it. */
  readonly seed?: string
  readonly treeId?: string
  /** From which entry on the log tells another history. */
  readonly forkedAt?: number
  /** Signs the checkpoint in place of the log's own key. */
  readonly signedBy?: string
  /** Which entry changes the checkpoint key; absent: none. */
  readonly changedAt?: number
  /** Signs entry 0 in place of the service's own key. */
  readonly birthSignedBy?: string
}

/** Every file of a log by its path, and who vouches for it. */
export type SmallLog = { readonly files: ReadonlyMap<string, Uint8Array>; readonly trustDocument: TrustDocument }

/** A log of `size` entries: its birth, and entries that say which they are. */
export function smallLog({
  size,
  seed = "a log",
  treeId = "4127",
  forkedAt = size,
  changedAt = size,
  signedBy = changedAt < size ? AFTER : seed,
  birthSignedBy = seed,
}: LogOptions): SmallLog {
  const origin = `${HOST} - ${treeId}`
  const keys = { service: p256Key(seed, "service", "rfc6979"), log: p256Key(seed, "log", "rfc6979") }
  const checkpointKeys = (changedAt < size ? [seed, AFTER] : [seed]).map(from => ed25519Key(from, "checkpoint").raw)
  const [born, next] = checkpointKeys.map(raw => ({
    service_key_id: keys.service.keyId,
    log_key_id: keys.log.keyId,
    checkpoint_key_id: encodeHex(keyIdOfSpki(ed25519Spki(raw))),
  }))
  if (born === undefined) throw new Error("a log is born with keys")
  const leaf = genesisLeaf({ origin, genesis_clock: BORN, ...born })
  const change = keyChangeLeaf({ origin, change_clock: BORN, previous_keys: leafDigest(leaf), ...(next ?? born) })
  const signed = (it: GenesisLeaf | KeyChangeLeaf, by: string): string =>
    entryBody({
      digestHex: leafDigest(it),
      signatureDer: toLowS(p256Key(by, "service", "rfc6979").sign(utf8Encode(leafText(it)))),
      spkiDer: keys.service.spki,
    })
  const entry = (at: number): string => {
    if (at === 0) return signed(leaf, birthSignedBy)
    return at === changedAt ? signed(change, seed) : `entry ${at}${at < forkedAt ? "" : " of another history"}`
  }
  const entries = Array.from({ length: size }, (_, at) => utf8Encode(entry(at)))
  const { files, root } = filesOf(entries)
  files.set("checkpoint", signedHead(signedBy, publicOrigin(origin), size, root))
  files.set("genesis", utf8Encode(JSON.stringify({ ok: true, log_index: 0, leaf })))
  const changes = next === undefined ? [] : [{ log_index: changedAt, leaf: change }]
  files.set("key-changes", utf8Encode(JSON.stringify({ ok: true, changes })))
  return { files, trustDocument: trustFor(origin, keys, checkpointKeys) }
}

/** A head of any size, signed with the checkpoint key that follows from a seed. */
export function signedHead(seed: string, origin: string, size: number, root: Uint8Array): Uint8Array {
  const { raw, sign } = ed25519Key(seed, "checkpoint")
  return utf8Encode(
    signedNote(formatCheckpoint({ origin, size, root, extensions: [] }), noteKey(origin, "ed25519", raw), sign),
  )
}

/** The key of a witness, which follows from its name. */
export const witnessKey = (name: string): NoteKey => noteKey(name, "cosignature/v1", ed25519Key(name, "witness").raw)

/** A checkpoint with the cosignatures of witnesses, a minute after the log's birth, or at another time. */
export function cosigned(
  checkpoint: Uint8Array | undefined,
  names: readonly string[],
  time = BORN_SECONDS + 60,
): Uint8Array {
  const note = utf8Decode(checkpoint ?? Uint8Array.of()) ?? ""
  const text = note.slice(0, note.lastIndexOf("\n\n") + 1)
  const lines = names.map(name => cosignatureLine(witnessKey(name), time, text, ed25519Key(name, "witness").sign))
  return utf8Encode(note + lines.join(""))
}

/** A log that shows, beside its newest checkpoint, that of its first `size` entries with cosignatures. */
export const witnessedAt = (log: SmallLog, size: number, names: readonly string[]): SmallLog => ({
  ...log,
  files: new Map([...log.files, ["witnessed-checkpoint", cosigned(smallLog({ size }).files.get("checkpoint"), names)]]),
})

type Keys = { readonly service: ReturnType<typeof p256Key>; readonly log: ReturnType<typeof p256Key> }

const trustFor = (origin: string, { service, log }: Keys, checkpointKeys: readonly Uint8Array[]): TrustDocument => ({
  kind: "vfa.trust.v1",
  service: "Example Run Service",
  trusted_root: formatTrustedRoot([
    {
      logId: encodeBase64(log.id),
      spki: log.spki,
      keyDetails: P256_KEY_DETAILS,
      baseUrl: `https://${HOST}`,
      validFrom: BORN_SECONDS,
    },
  ]),
  origin,
  service_keys: [{ key_id: service.keyId, spki: encodeBase64(service.spki), valid_from: BORN }],
  checkpoint_keys: checkpointKeys.map(key => formatVkey(noteKey(publicOrigin(origin), "ed25519", key))),
})

/** Tiles and entry bundles of these entries by their paths, and the root. */
export function filesOf(entries: readonly Uint8Array[]): { files: Map<string, Uint8Array>; root: Uint8Array } {
  let range = emptyRange
  const tiles = new Map<string, { level: number; index: number; hashes: Uint8Array[] }>()
  for (const entry of entries) {
    const appended = appendLeaf(range, hashLeaf(entry))
    range = appended.range
    for (const node of appended.nodes) {
      const { level, index, first, count } = tileOfNode(node)
      if (count > 1) continue
      const tile = tiles.get(`${level}/${index}`) ?? { level, index, hashes: [] }
      tile.hashes[first] = node.hash
      tiles.set(`${level}/${index}`, tile)
    }
  }
  const files = new Map<string, Uint8Array>()
  for (const { level, index, hashes } of tiles.values())
    files.set(tilePath({ level, index, width: hashes.length }), concatBytes(...hashes))
  for (let start = 0; start < entries.length; start += TILE) {
    const bundle = entries.slice(start, start + TILE)
    files.set(tilePath({ level: "entries", index: start / TILE, width: bundle.length }), encodeEntryBundle(bundle))
  }
  return { files, root: rootOf(range) }
}

/** Reads a log of such files, as an audit asks for them. Rejects with MissingInput for a path that is not there. */
export const readFrom =
  (files: ReadonlyMap<string, Uint8Array>): LogSource["read"] =>
  async path => {
    const bytes = files.get(path)
    if (bytes === undefined) throw new MissingInput(`${path} could not be read.`)
    return bytes
  }

/** Puts a log into a folder as a mirror holds it, in place of what was there. */
export function writeLog(folder: string, { files }: SmallLog): void {
  rmSync(folder, { recursive: true, force: true })
  for (const [path, bytes] of files) {
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    writeFileSync(join(folder, path), bytes)
  }
}

/** The logs of the transcripts: one as it was, grown, forked, damaged, cut and signed by a stranger, and its trust document. */
export function writeLogs(folder: string): void {
  const log = smallLog({ size: 600 })
  writeFileSync(join(folder, "log-trust.json"), JSON.stringify(log.trustDocument))
  writeLog(join(folder, "log"), log)
  writeLog(join(folder, "log-grown"), smallLog({ size: 900 }))
  writeLog(join(folder, "log-forked"), smallLog({ size: 900, forkedAt: 550 }))
  const names = ["one", "two", "three"].map(name => `${name}.witness.example`)
  for (const name of names) writeFileSync(join(folder, name), formatVkey(witnessKey(name)))
  writeLog(join(folder, "log-witnessed"), witnessedAt(smallLog({ size: 900 }), 890, names.slice(0, 2)))
  writeLog(join(folder, "log-of-a-stranger"), smallLog({ size: 10, signedBy: "a stranger" }))
  const path = "tile/entries/001"
  writeLog(join(folder, "log-damaged"), log)
  writeFileSync(join(folder, "log-damaged", path), (log.files.get(path) ?? Uint8Array.of()).with(-1, 0))
  writeLog(join(folder, "log-cut"), log)
  rmSync(join(folder, "log-cut", path))
}
