/** The keys of an audited log: those of its genesis, then those that its entries announce. */
import { encodeHex, type JsonValue, parseStrictJson, StrictJsonError } from "@runseal/canonical"
import type { GenesisLeaf } from "@runseal/core/artifacts/anchor"
import { genesisProblem, keyChangesProblem, type LoggedChange } from "@runseal/core/verify/key-changes"
import { type KeyChangesAnswer, readGenesisAnswer, readKeyChangesAnswer } from "@runseal/core/wire/log-answers"
import { ed25519Spki, keyIdOfSpki } from "@runseal/log/keys/spki"
import { hashLeaf, verifyInclusion } from "@runseal/log/merkle/rfc6962"
import { buildInclusionProof, TILE_WIDTH } from "@runseal/log/merkle/tiles"
import type { Checkpoint } from "@runseal/log/notes/checkpoint"
import { isWitnessKey } from "@runseal/log/notes/signed-note"
import { verifyNote } from "@runseal/log/notes/verified-note"
import type { TrustedKeys } from "@runseal/log/trust/trusted-keys"
import { InputError, MissingInput } from "./exit-answer.ts"
import { AuditFailure } from "./log-failure.ts"
import type { LogSource } from "./log-source.ts"
import { readEntryRow, tileReader } from "./log-tiles.ts"
import type { ReadLimits } from "./read-input.ts"

const LEAVES_LIMITS: ReadLimits = { maxBytes: 65_536, deadlineMs: 30_000 }

/** The keys that the log declares, unchecked. */
export type DeclaredKeys = { readonly genesis: GenesisLeaf; readonly changes: KeyChangesAnswer["changes"] }

/** Every checkpoint key that the log declares, also revoked ones, which no trust document lists: SHA-256 of the SPKI, hex. */
export const checkpointKeyIds = ({ genesis, changes }: DeclaredKeys): readonly string[] =>
  [genesis, ...changes.map(({ leaf }) => leaf)].map(({ checkpoint_key_id }) => checkpoint_key_id)

/** Reads the leaves of entry 0 and of the key changes. @param size entries of the audited tree; later changes are left out */
export async function readDeclaredKeys(source: LogSource, size: number): Promise<DeclaredKeys> {
  const genesis = readGenesisAnswer(parse(await source.read("genesis", LEAVES_LIMITS), source, "genesis"))
  if (genesis === undefined) throw new AuditFailure("genesis", "The log's genesis document is not a genesis.")
  const changes = await readChanges(source)
  return { genesis: genesis.leaf, changes: changes.filter(({ log_index }) => log_index < size) }
}

/** A log whose keys never changed may publish no list. A list that lacks a change fails `checkKeys`. */
async function readChanges(source: LogSource): Promise<KeyChangesAnswer["changes"]> {
  const bytes = await source.read("key-changes", LEAVES_LIMITS).catch((error: unknown) => {
    if (error instanceof MissingInput) return undefined
    throw error
  })
  if (bytes === undefined) return []
  const answer = readKeyChangesAnswer(parse(bytes, source, "key-changes"))
  if (answer === undefined) throw new AuditFailure("keys", "The log's list of key changes is not one.")
  return answer.changes
}

function parse(bytes: Uint8Array, { name }: LogSource, path: string): JsonValue {
  try {
    return parseStrictJson(bytes)
  } catch (error) {
    if (error instanceof StrictJsonError) throw new InputError(`The ${path} of ${name} is not strict JSON.`)
    throw error
  }
}

/** Checks that entry 0 is the genesis of the trust document's log. */
export function checkGenesis(
  { genesis, changes }: DeclaredKeys,
  entry: Uint8Array | undefined,
  trust: TrustedKeys,
): void {
  const problem = genesisProblem(genesis, entry ?? Uint8Array.of(), trust, changes.length > 0)
  if (problem !== undefined) throw new AuditFailure("genesis", problem)
}

/**
 * Checks that each set of keys since genesis is announced under the previous one, that all are in the trust document, and that the
 * checkpoint is signed with the newest.
 * @param head of the tree that was rebuilt
 * @param checkpoint its signed note
 */
export async function checkKeys(
  source: LogSource,
  declared: DeclaredKeys,
  head: Checkpoint,
  checkpoint: string,
  trust: TrustedKeys,
): Promise<void> {
  const changes: LoggedChange[] = []
  for (const { log_index, leaf } of declared.changes)
    changes.push({ log_index, leaf, entry: await entryOf(source, log_index, head) })
  const problem = keyChangesProblem(declared.genesis, changes, trust)
  if (problem !== undefined) throw new AuditFailure("keys", problem)
  const newest = (declared.changes.at(-1)?.leaf ?? declared.genesis).checkpoint_key_id
  const signers =
    verifyNote(
      checkpoint,
      trust.checkpointKeys.filter(key => !isWitnessKey(key)),
    )?.signers ?? []
  if (!signers.some(({ key }) => encodeHex(keyIdOfSpki(ed25519Spki(key.publicKey))) === newest))
    throw new AuditFailure(
      "keys",
      "The checkpoint is not signed with the newest checkpoint key that the log announced.",
    )
}

/** An entry of the tree, proven to be in it. Rejects with AuditFailure or InputError. */
export async function entryOf(source: LogSource, index: number, { size, root }: Checkpoint): Promise<Uint8Array> {
  const { entries } = await readEntryRow(source, Math.floor(index / TILE_WIDTH), size)
  const entry = entries[index % TILE_WIDTH] ?? Uint8Array.of()
  const proof = await buildInclusionProof(index, size, tileReader(source, size))
  if (verifyInclusion({ leafHash: hashLeaf(entry), index, size, proof, root })) return entry
  throw new AuditFailure("entries", `Entry ${index} is not the one that the tree holds.`)
}
