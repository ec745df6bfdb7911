import { decodeBase64, utf8Encode } from "@runseal/canonical"
import type { TransparencyLogEntry } from "../src/entries/log-entry.ts"
import { hashLeaf } from "../src/merkle/rfc6962.ts"

/** What a Rekor log answers of an entry, in its own spelling: hex, numbers, a map of one. */
export function rekorAnswer(entry: TransparencyLogEntry): Uint8Array {
  const hex = (base64: string): string => Buffer.from(base64, "base64").toString("hex")
  const { logIndex, treeSize, rootHash, hashes, checkpoint } = entry.inclusionProof
  const leafHash = Buffer.from(hashLeaf(decodeBase64(entry.canonicalizedBody) ?? new Uint8Array())).toString("hex")
  const answer = {
    [`108e9186e8c5677a${leafHash}`]: {
      body: entry.canonicalizedBody,
      integratedTime: Number(entry.integratedTime),
      logID: hex(entry.logId.keyId),
      logIndex: Number(entry.logIndex),
      verification: {
        inclusionProof: {
          checkpoint: checkpoint.envelope,
          hashes: hashes.map(hex),
          logIndex: Number(logIndex),
          rootHash: hex(rootHash),
          treeSize: Number(treeSize),
        },
        signedEntryTimestamp: entry.inclusionPromise.signedEntryTimestamp,
      },
    },
  }
  return utf8Encode(JSON.stringify(answer))
}
