/**
 * The keys of an embedded log: that entry 0 is its birth, and that each change of its keys is signed with the keys before it.
 * docs/formats.md sections 7.4 and 7.5.
 */
import { decodeBase64, encodeHex, utf8Encode } from "@runseal/canonical"
import { ENTRY_KIND, parseEntryBody } from "@runseal/log/entries/log-entry"
import { verifyEcdsaP256 } from "@runseal/log/keys/signatures"
import { ed25519Spki, keyIdOfSpki } from "@runseal/log/keys/spki"
import type { TrustedKeys } from "@runseal/log/trust/trusted-keys"
import type { GenesisLeaf, KeyChangeLeaf } from "../artifacts/anchor.ts"
import { leafDigest, leafText } from "../formulas/leaves.ts"

/** The ids of the keys that a log goes on with. */
type NamedKeys = Pick<GenesisLeaf, "service_key_id" | "log_key_id" | "checkpoint_key_id">

/** A change, and the log's entry at its index. */
export type LoggedChange = { readonly log_index: number; readonly leaf: KeyChangeLeaf; readonly entry: Uint8Array }

/**
 * Why `entry`, the log's first entry, is not the birth of the log that `trust` lists; undefined when it is. Never throws.
 * @param leaf what the entry signs, by the log's word
 * @param changed whether the log goes on with other keys: then a trust document may have dropped the checkpoint key of its birth
 */
export function genesisProblem(
  leaf: GenesisLeaf,
  entry: Uint8Array,
  trust: TrustedKeys,
  changed = false,
): string | undefined {
  const signature = signatureProblem(leaf, entry, trust.origin, { id: leaf.service_key_id, name: "that it names" })
  if (signature !== undefined) return `Entry 0 ${signature}.`
  const listed: readonly (readonly [role: string, isListed: boolean])[] = [
    ["service", serviceKeyIds(trust).includes(leaf.service_key_id)],
    ["log", logKeyIds(trust).includes(leaf.log_key_id)],
    ["checkpoint", changed || checkpointKeyIds(trust).includes(leaf.checkpoint_key_id)],
  ]
  const unlisted = listed.find(([, isListed]) => !isListed)
  return unlisted && `Entry 0 names a ${unlisted[0]} key that the trust document does not list.`
}

/**
 * Why the changes do not lead from the log's birth to the keys of the trust document, entry by entry; undefined when they do. Never
 * throws.
 * @param genesis whose entry was found to be the log's first
 * @param changes in the order of the log, each with an entry that is in it
 */
export function keyChangesProblem(
  genesis: GenesisLeaf,
  changes: readonly LoggedChange[],
  trust: TrustedKeys,
): string | undefined {
  let before: GenesisLeaf | KeyChangeLeaf = genesis
  let above = 0
  for (const change of changes) {
    const problem = change.log_index <= above ? "is out of order" : changeProblem(change, before, trust.origin)
    if (problem !== undefined) return `Entry ${change.log_index}, a change of keys, ${problem}.`
    before = change.leaf
    above = change.log_index
  }
  return listProblem([genesis, ...changes.map(({ leaf }) => leaf)], trust)
}

/** Why a change is not made with the keys before it. */
const changeProblem = (
  { leaf, entry }: LoggedChange,
  before: GenesisLeaf | KeyChangeLeaf,
  origin: string,
): string | undefined =>
  leaf.previous_keys === leafDigest(before)
    ? signatureProblem(leaf, entry, origin, { id: before.service_key_id, name: "before it" })
    : "does not follow on the keys before it"

/** Why an entry does not sign the leaf with a service key, as the end of a sentence. Until then nothing in the leaf is trusted. */
function signatureProblem(
  leaf: GenesisLeaf | KeyChangeLeaf,
  entry: Uint8Array,
  origin: string,
  serviceKey: { readonly id: string; readonly name: string },
): string | undefined {
  const body = parseEntryBody(entry)
  if (body?.spkiDer === undefined) return "is no log entry signed with a bare key"
  if (body.kind !== ENTRY_KIND.kind || body.apiVersion !== ENTRY_KIND.version || !body.canonical)
    return "is no canonical log entry of the kind that services write"
  if (body.digestHex !== leafDigest(leaf)) return "does not sign the leaf that is shown with it"
  if (leaf.origin !== origin) return "was made for a log of another origin"
  const signed =
    encodeHex(keyIdOfSpki(body.spkiDer)) === serviceKey.id &&
    verifyEcdsaP256(body.spkiDer, utf8Encode(leafText(leaf)), body.signatureDer)
  return signed ? undefined : `is not signed with the service key ${serviceKey.name}`
}

/** The trust document lists the keys that the log had, and no others: a log that hides a change shows fewer. */
function listProblem(named: readonly NamedKeys[], trust: TrustedKeys): string | undefined {
  for (const [role, ids, listed] of [
    ["service", named.map(keys => keys.service_key_id), serviceKeyIds(trust)],
    ["log", named.map(keys => keys.log_key_id), logKeyIds(trust)],
  ] as const) {
    if (!ids.every(id => listed.includes(id)))
      return `The log goes on with a ${role} key that the trust document does not list: get the current one from the service.`
    if (!listed.every(id => ids.includes(id)))
      return `The trust document lists a ${role} key that no entry of this log announces.`
  }
  return undefined
}

const serviceKeyIds = ({ serviceKeys }: TrustedKeys): readonly string[] => serviceKeys.map(({ keyId }) => keyId)

const logKeyIds = ({ logKeys }: TrustedKeys): readonly string[] =>
  logKeys.map(({ logId }) => encodeHex(decodeBase64(logId) ?? Uint8Array.of()))

/** SHA-256 of the SPKI of each key with which the log itself signs public checkpoints. */
const checkpointKeyIds = ({ checkpointKeys }: TrustedKeys): readonly string[] =>
  checkpointKeys
    .filter(({ algorithm }) => algorithm === "ed25519")
    .map(({ publicKey }) => encodeHex(keyIdOfSpki(ed25519Spki(publicKey))))
