/** What a Rekor log answers: whatever is taken for an entry has an entry's shape and one spelling. */
import { decodeBase64, encodeHex, parseStrictJson } from "@runseal/canonical"
import { parseExact } from "@runseal/core/artifacts/parse-exact"
import { isLowS } from "@runseal/core/transparency-log/ecdsa-der"
import { type TransparencyLogEntry, transparencyLogEntrySchema } from "@runseal/core/transparency-log/log-entry"
import { parseRekorAnswer } from "@runseal/core/transparency-log/rekor-v1"
import { member } from "@runseal/core/vocabulary/json-members"
import { validDocuments } from "../authentic.ts"
import { bytesOf, type FuzzTarget, promise } from "../fuzz-target.ts"

const UUID = "0".repeat(64)
const hexOf = (base64: string): string => encodeHex(decodeBase64(base64) ?? new Uint8Array())

/** An entry as a Rekor log would answer it. */
function answerOf({ inclusionProof: proof, ...entry }: TransparencyLogEntry): Uint8Array {
  const inclusionProof = {
    checkpoint: proof.checkpoint.envelope,
    hashes: proof.hashes.map(hexOf),
    logIndex: Number(proof.logIndex),
    rootHash: hexOf(proof.rootHash),
    treeSize: Number(proof.treeSize),
  }
  const one = {
    body: entry.canonicalizedBody,
    integratedTime: Number(entry.integratedTime),
    logID: hexOf(entry.logId.keyId),
    logIndex: Number(entry.logIndex),
    verification: { inclusionProof, signedEntryTimestamp: entry.inclusionPromise.signedEntryTimestamp },
  }
  return bytesOf(JSON.stringify({ [UUID]: one }))
}

export const rekorAnswers: FuzzTarget = {
  name: "rekor-answer",
  json: true,
  seeds: () =>
    validDocuments().flatMap(bytes => {
      const entry = member(member(member(parseStrictJson(bytes), "anchors"), "complete_record"), "entry")
      const parsed = parseExact(transparencyLogEntrySchema, entry)
      return parsed.ok ? [answerOf(parsed.value)] : []
    }),
  run: input => {
    const entry = parseRekorAnswer(input)
    if (entry === undefined) return
    promise(parseExact(transparencyLogEntrySchema, entry).ok, "an answer becomes what is no entry")
    const promised = decodeBase64(entry.inclusionPromise.signedEntryTimestamp)
    promise(promised !== undefined && isLowS(promised), "a signature is kept in its high-S form")
    const again = parseRekorAnswer(answerOf(entry))
    promise(JSON.stringify(again) === JSON.stringify(entry), "an entry that was read is read otherwise the next time")
  },
}
