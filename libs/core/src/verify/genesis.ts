/** Entry 0 of an embedded log: that it is the birth of the log which a trust document speaks of. docs/formats.md section 7.4. */
import { decodeBase64, encodeHex, equalBytes, utf8Encode } from "@runseal/canonical"
import { ENTRY_KIND, parseEntryBody } from "@runseal/log/entries/log-entry"
import { verifyEcdsaP256 } from "@runseal/log/keys/signatures"
import { ed25519Spki, keyIdOfSpki } from "@runseal/log/keys/spki"
import type { TrustedKeys } from "@runseal/log/trust/trusted-keys"
import type { GenesisLeaf } from "../artifacts/anchor.ts"
import { leafDigest, leafText } from "../formulas/leaves.ts"

/**
 * Why `entry`, the log's first entry, is not the birth of the log that `trust` speaks of; undefined when it is. Never throws.
 * @param leaf what the entry is said to sign; nothing of it is believed before the entry's signature is found valid
 * @param changed whether the log goes on with other keys: then a trust document may have dropped the checkpoint key of its birth
 */
export function genesisProblem(
  leaf: GenesisLeaf,
  entry: Uint8Array,
  trust: TrustedKeys,
  changed = false,
): string | undefined {
  const body = parseEntryBody(entry)
  if (body?.spkiDer === undefined) return "Entry 0 is no log entry signed with a bare key."
  if (body.kind !== ENTRY_KIND.kind || body.apiVersion !== ENTRY_KIND.version || !body.canonical)
    return "Entry 0 is no canonical log entry of the kind that services write."
  if (body.digestHex !== leafDigest(leaf)) return "Entry 0 does not sign the genesis leaf that is shown with it."
  if (leaf.origin !== trust.origin) return "Entry 0 was made for a log of another origin."
  const service = trust.serviceKeys.find(({ keyId }) => keyId === leaf.service_key_id)
  if (service === undefined) return "Entry 0 names a service key that the trust document does not list."
  if (!trust.logKeys.some(({ logId }) => hexOf(logId) === leaf.log_key_id))
    return "Entry 0 names a log key that the trust document does not list."
  if (!changed && !checkpointKeyIds(trust).includes(leaf.checkpoint_key_id))
    return "Entry 0 names a checkpoint key that the trust document does not list."
  const signed =
    equalBytes(body.spkiDer, service.spki) &&
    verifyEcdsaP256(service.spki, utf8Encode(leafText(leaf)), body.signatureDer)
  return signed ? undefined : "Entry 0 is not signed with the service key that it names."
}

const hexOf = (base64: string): string => encodeHex(decodeBase64(base64) ?? Uint8Array.of())

/** SHA-256 of the SPKI of each key with which the log itself signs public checkpoints. */
const checkpointKeyIds = ({ checkpointKeys }: TrustedKeys): readonly string[] =>
  checkpointKeys
    .filter(({ algorithm }) => algorithm === "ed25519")
    .map(({ publicKey }) => encodeHex(keyIdOfSpki(ed25519Spki(publicKey))))
