/** What a Rekor log answers: whatever is taken for an entry has an entry's shape and one spelling. */
import { decodeBase64, encodeBase64, encodeHex, parseStrictJson } from "@runseal/canonical"
import { parseExact } from "@runseal/core/artifacts/parse-exact"
import { member } from "@runseal/core/vocabulary/json-members"
import {
  type TiledLogEntry,
  type TransparencyLogEntry,
  tiledLogEntrySchema,
  transparencyLogEntrySchema,
} from "@runseal/log/entries/log-entry"
import { parseRekorAnswer } from "@runseal/log/entries/rekor-v1"
import { parseRekorV2Answer, tiledBody } from "@runseal/log/entries/rekor-v2"
import { isLowS } from "@runseal/log/keys/ecdsa-der"
import { formatNote, noteSignatureLine } from "@runseal/log/notes/signed-note"
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

/** Entries of the service's own log. */
const entries = (): readonly TransparencyLogEntry[] =>
  validDocuments().flatMap(bytes => {
    const entry = member(member(member(parseStrictJson(bytes), "anchors"), "complete_record"), "entry")
    const parsed = parseExact(transparencyLogEntrySchema, entry)
    return parsed.ok ? [parsed.value] : []
  })

export const rekorAnswers: FuzzTarget = {
  name: "rekor-answer",
  json: true,
  seeds: () => entries().map(answerOf),
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

const HOST = "rekor.example"

/** The same entry as a Rekor v2 log would hold it; nobody signed its checkpoint. */
function tiled({ logId, logIndex, inclusionProof, canonicalizedBody }: TransparencyLogEntry): TiledLogEntry {
  const { treeSize, rootHash, hashes } = inclusionProof
  const keyId = encodeHex(decodeBase64(logId.keyId)?.subarray(0, 4) ?? new Uint8Array())
  const line = noteSignatureLine({ name: HOST, keyId, signature: new Uint8Array(64).fill(7) })
  const body = tiledBody(decodeBase64(canonicalizedBody) ?? new Uint8Array()) ?? new Uint8Array()
  return {
    logIndex,
    logId,
    kindVersion: { kind: "hashedrekord", version: "0.0.2" },
    inclusionProof: {
      logIndex,
      rootHash,
      treeSize,
      hashes,
      checkpoint: { envelope: formatNote(`${HOST}\n${treeSize}\n${rootHash}\n`, [line]) },
    },
    canonicalizedBody: encodeBase64(body),
  }
}

export const rekorV2Answers: FuzzTarget = {
  name: "rekor-v2-answer",
  json: true,
  seeds: () => entries().map(entry => bytesOf(JSON.stringify({ ...tiled(entry), integratedTime: "0" }))),
  run: input => {
    const entry = parseRekorV2Answer(input)
    if (entry === undefined) return
    promise(parseExact(tiledLogEntrySchema, entry).ok, "an answer becomes what is no entry")
    const again = parseRekorV2Answer(bytesOf(JSON.stringify(entry)))
    promise(JSON.stringify(again) === JSON.stringify(entry), "an entry that was read is read otherwise the next time")
  },
}
