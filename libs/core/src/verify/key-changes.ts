/** Changes of a log's keys: that each is signed with the keys before it, from the birth of the log on. docs/formats.md section 7.5. */
import { decodeBase64, encodeHex, utf8Encode } from "@runseal/canonical"
import { ENTRY_KIND, parseEntryBody } from "@runseal/log/entries/log-entry"
import { verifyEcdsaP256 } from "@runseal/log/keys/signatures"
import { keyIdOfSpki } from "@runseal/log/keys/spki"
import type { TrustedKeys } from "@runseal/log/trust/trusted-keys"
import type { GenesisLeaf, KeyChangeLeaf } from "../artifacts/anchor.ts"
import { leafDigest, leafText } from "../formulas/leaves.ts"

/** The ids of the keys that a log goes on with. */
type NamedKeys = Pick<GenesisLeaf, "service_key_id" | "log_key_id" | "checkpoint_key_id">

/** A change and the log's entry at its place. Nothing of the leaf is believed before the entry's signature is found valid. */
export type LoggedChange = { readonly log_index: number; readonly leaf: KeyChangeLeaf; readonly entry: Uint8Array }

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

function changeProblem(
  { leaf, entry }: LoggedChange,
  before: GenesisLeaf | KeyChangeLeaf,
  origin: string,
): string | undefined {
  const body = parseEntryBody(entry)
  if (body?.spkiDer === undefined) return "is no log entry signed with a bare key"
  if (body.kind !== ENTRY_KIND.kind || body.apiVersion !== ENTRY_KIND.version || !body.canonical)
    return "is no canonical log entry of the kind that services write"
  if (body.digestHex !== leafDigest(leaf)) return "does not sign the leaf that is shown with it"
  if (leaf.origin !== origin) return "was made for a log of another origin"
  if (leaf.previous_keys !== leafDigest(before)) return "does not follow on the keys before it"
  const signed =
    encodeHex(keyIdOfSpki(body.spkiDer)) === before.service_key_id &&
    verifyEcdsaP256(body.spkiDer, utf8Encode(leafText(leaf)), body.signatureDer)
  return signed ? undefined : "is not signed with the service key before it"
}

/** The trust document lists the keys that the log had, and no others: who hides a change shows fewer. */
function listProblem(named: readonly NamedKeys[], trust: TrustedKeys): string | undefined {
  const listed = {
    service: trust.serviceKeys.map(({ keyId }) => keyId),
    log: trust.logKeys.map(({ logId }) => encodeHex(decodeBase64(logId) ?? Uint8Array.of())),
  }
  for (const [role, ids] of [
    ["service", named.map(keys => keys.service_key_id)],
    ["log", named.map(keys => keys.log_key_id)],
  ] as const) {
    if (!ids.every(id => listed[role].includes(id)))
      return `The log goes on with a ${role} key that the trust document does not list: get the current one from the service.`
    if (!listed[role].every(id => ids.includes(id)))
      return `The trust document lists a ${role} key that no entry of this log announces.`
  }
  return undefined
}
