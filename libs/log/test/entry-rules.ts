import { decodeBase64, encodeBase64, type JsonValue, utf8Encode } from "@runseal/canonical"
import { expect, test } from "vitest"
import { ENTRY_CHECKS, type EntryReport } from "../src/entries/check-entry.ts"
import { entryBody, type TransparencyLogEntry } from "../src/entries/log-entry.ts"
import { formatEcdsaSignature, parseEcdsaSignature, toLowS } from "../src/keys/ecdsa-der.ts"
import type { TrustDocument } from "../src/trust/trust-document.ts"
import type { TrustedKeys } from "../src/trust/trusted-keys.ts"
import { changes } from "./json-changes.ts"
import type * as library from "./library.ts"
import {
  body,
  digestHex,
  LOG_TIME,
  logged,
  logKey,
  newKey,
  ORIGIN,
  PREIMAGE,
  serviceKey,
  trustDocument,
} from "./own-log.ts"

type Library = Pick<typeof library, "checkEntry" | "parseEntry" | "parseTrust">

const P256_ORDER = 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n

/** The high-S form of a signature: (r, n − s) is as valid as (r, s). */
function highS(der: Uint8Array): Uint8Array {
  const { r, s } = parseEcdsaSignature(toLowS(der))!
  return formatEcdsaSignature({ r, s: P256_ORDER - s })
}

const failed = (report: EntryReport): readonly string[] => report.checks.filter(check => !check.ok).map(({ id }) => id)

/** The rules every build of the library must keep. Registers tests in the suite that calls it. */
export function entryRules({ checkEntry, parseEntry, parseTrust }: Library): void {
  const trustOf = (changed: Partial<TrustDocument> = {}): TrustedKeys => {
    const trust = parseTrust({ ...trustDocument, ...changed })
    if ("problem" in trust) throw new Error(trust.problem)
    return trust
  }
  const trust = trustOf()
  const check = (entry: TransparencyLogEntry, by: TrustedKeys = trust): readonly string[] =>
    failed(checkEntry(entry, { preimage: PREIMAGE, trust: by }))
  const serviceKeyRow = (changed: object): TrustedKeys =>
    trustOf({ service_keys: [{ ...trustDocument.service_keys[0]!, ...changed }] })
  const logKeyFrom = (changed: object): TrustedKeys => ({
    ...trust,
    logKeys: trust.logKeys.map(key => ({ ...key, ...changed })),
  })

  test("a good entry passes every check, and all checks are reported in order", () => {
    const report = checkEntry(logged(body()), { preimage: PREIMAGE, trust })
    expect(report.checks.map(({ id }) => id)).toEqual(ENTRY_CHECKS)
    expect(failed(report)).toEqual([])
    expect(report).toMatchObject({ logIndex: 4, integratedTime: LOG_TIME, serviceKeyId: trust.serviceKeys[0]!.keyId })
  })

  test("a good entry passes at every place of every small tree", () => {
    const text = body()
    for (let size = 1; size <= 5; size++) {
      for (let index = 0; index < size; index++) expect(check(logged(text, { index, size }))).toEqual([])
    }
  })

  test("whatever single value of a good entry is changed, the shape or a check fails", () => {
    const entry = logged(body())
    const survivors = changes(JSON.parse(JSON.stringify(entry))).filter(changed => {
      const parsed = parseEntry(changed)
      return parsed !== undefined && check(parsed).length === 0
    })
    expect(survivors.map(changed => JSON.stringify(changed))).toEqual([])
    expect(parseEntry(JSON.parse(JSON.stringify(entry)))).toEqual(entry)
  })

  const entry = logged(body())
  const proof = entry.inclusionProof
  const withProof = (changed: Partial<typeof proof>): TransparencyLogEntry => ({
    ...entry,
    inclusionProof: { ...proof, ...changed },
  })
  const otherHead = logged(body(), { size: 9 })
  const envelope = proof.checkpoint.envelope
  const signature = (text: string): Uint8Array => decodeBase64(text.slice(text.lastIndexOf(" ") + 1, -1))!
  const signedWith = (der: (old: Uint8Array) => Uint8Array): string => {
    const line = signature(envelope)
    const bytes = Uint8Array.from([...line.subarray(0, 4), ...der(line.subarray(4))])
    return `${envelope.slice(0, envelope.lastIndexOf(" ") + 1)}${encodeBase64(bytes)}\n`
  }
  const withEnvelope = (text: string): TransparencyLogEntry => withProof({ checkpoint: { envelope: text } })
  const extraLine = envelope.replace(/\n\n/, "\nTimestamp: 1\n\n")
  const cosigned = `${envelope}${envelope.slice(envelope.indexOf("—"))}`

  const CHECKPOINT = ["entry.proof_checkpoint", "entry.checkpoint_signature"]
  test.each<[string, TransparencyLogEntry, readonly string[]]>([
    ["another kind", { ...entry, kindVersion: { kind: "dsse", version: "0.0.1" } }, ["entry.kind"]],
    ["another kind version", { ...entry, kindVersion: { kind: "hashedrekord", version: "0.0.2" } }, ["entry.kind"]],
    ["another log index", { ...entry, logIndex: "5" }, ["entry.proof_index", "entry.set"]],
    ["another log time", { ...entry, integratedTime: `${LOG_TIME + 1}` }, ["entry.set"]],
    ["the proof of another index", withProof({ logIndex: "5" }), ["entry.proof_index", "entry.inclusion"]],
    ["another tree size", withProof({ treeSize: "8" }), ["entry.proof_checkpoint"]],
    [
      "another root",
      withProof({ rootHash: otherHead.inclusionProof.rootHash }),
      ["entry.inclusion", "entry.proof_checkpoint"],
    ],
    ["no proof hashes", withProof({ hashes: [] }), ["entry.inclusion"]],
    [
      "the checkpoint of another tree",
      withProof({ checkpoint: otherHead.inclusionProof.checkpoint }),
      ["entry.proof_checkpoint"],
    ],
    ["a checkpoint with an extension line", withEnvelope(extraLine), CHECKPOINT],
    ["a cosigned checkpoint", withEnvelope(cosigned), CHECKPOINT],
    [
      "a checkpoint signed in another name",
      withEnvelope(envelope.replace("— runseal.local", "— runseal.example")),
      CHECKPOINT,
    ],
    ["a checkpoint of another log", withEnvelope(envelope.replace("- 4127", "- 4128")), ["entry.checkpoint_signature"]],
    ["the high-S twin of the checkpoint signature", withEnvelope(signedWith(highS)), ["entry.checkpoint_signature"]],
    [
      "the high-S twin of the promise",
      {
        ...entry,
        inclusionPromise: {
          signedEntryTimestamp: encodeBase64(highS(decodeBase64(entry.inclusionPromise.signedEntryTimestamp)!)),
        },
      },
      ["entry.set"],
    ],
    [
      "an unknown log",
      { ...entry, logId: { keyId: encodeBase64(serviceKey.id) } },
      ["entry.checkpoint_signature", "entry.set"],
    ],
  ])("%s fails exactly its own checks", (_, changed, expected) => {
    expect(check(changed)).toEqual(expected)
  })

  test("a checkpoint naming another key fails although its signature would be valid", () => {
    const line = signature(envelope)
    const hinted = encodeBase64(line.with(0, line[0]! ^ 1))
    const named = `${envelope.slice(0, envelope.lastIndexOf(" ") + 1)}${hinted}\n`
    expect(check(withEnvelope(named))).toEqual(["entry.checkpoint_signature"])
  })

  const signed = serviceKey.sign(PREIMAGE)
  const parts = {
    digestHex: digestHex(PREIMAGE),
    signatureDer: toLowS(signed),
    spkiDer: serviceKey.spki,
  }
  const stranger = newKey()
  const reworded = (change: (text: string) => string): string => change(entryBody(parts))
  const pemBase64 = encodeBase64(utf8Encode(serviceKey.pem))
  const KEY = ["entry.body_key", "entry.body_signature"]
  const BODY = ["entry.kind", "entry.body_canonical", "entry.body_digest", "entry.body_key", "entry.body_signature"]
  test.each<[string, string, readonly string[]]>([
    ["a body of another kind", reworded(text => text.replace('"hashedrekord"', '"hashedrekorD"')), ["entry.kind"]],
    ["a body of another version", reworded(text => text.replace('"0.0.1"', '"0.0.2"')), ["entry.kind"]],
    ["a body with a space", reworded(text => text.replace(":", ": ")), ["entry.body_canonical"]],
    ["a body with an unknown field", reworded(text => text.replace("{", '{"a":1,')), BODY],
    ["a body that is no JSON", "hashedrekord", BODY],
    ["a body that is a JSON array", "[]", BODY],
    [
      "a body for another digest",
      entryBody({ ...parts, digestHex: digestHex(serviceKey.spki) }),
      ["entry.body_digest"],
    ],
    ["a body signed by a stranger", body(PREIMAGE, stranger), ["entry.body_key"]],
    ["a body with a stranger's key", entryBody({ ...parts, spkiDer: stranger.spki }), KEY],
    [
      "a body with a stranger's signature",
      entryBody({ ...parts, signatureDer: toLowS(stranger.sign(PREIMAGE)) }),
      ["entry.body_signature"],
    ],
    ["a body with a high-S signature", entryBody({ ...parts, signatureDer: highS(signed) }), ["entry.body_signature"]],
    [
      "a body with a signature that is not DER",
      entryBody({ ...parts, signatureDer: Uint8Array.of(1, 2, 3) }),
      ["entry.body_signature"],
    ],
    [
      "a body with a key in PEM of another wrapping",
      reworded(text => text.replace(pemBase64, encodeBase64(utf8Encode(serviceKey.pem.replaceAll("\n", "\r\n"))))),
      KEY,
    ],
  ])("%s, logged as it is, fails exactly its own checks", (_, text, expected) => {
    expect(check(logged(text))).toEqual(expected)
  })

  test("the preimage must be the one that was signed", () => {
    const report = checkEntry(entry, { preimage: utf8Encode("{}"), trust })
    expect(failed(report)).toEqual(["entry.body_digest", "entry.body_signature"])
  })

  const at = (offset: number): string => new Date((LOG_TIME + offset) * 1000).toISOString()
  test("a service key counts from its first second to its last, and no more from the second of its revocation", () => {
    expect(check(entry, serviceKeyRow({ valid_from: at(0), valid_to: at(0) }))).toEqual([])
    expect(check(entry, serviceKeyRow({ valid_from: at(0).replace(".000Z", ".999Z") }))).toEqual([])
    expect(check(entry, serviceKeyRow({ valid_from: at(1) }))).toEqual(["entry.body_key"])
    expect(check(entry, serviceKeyRow({ valid_to: at(-1) }))).toEqual(["entry.body_key"])
    expect(check(entry, serviceKeyRow({ revoked_from: at(1) }))).toEqual([])
    expect(check(entry, serviceKeyRow({ revoked_from: at(0) }))).toEqual(["entry.body_key"])
  })

  test("a log key counts only within its validity", () => {
    const LOG = ["entry.checkpoint_signature", "entry.set"]
    expect(check(entry, logKeyFrom({ validFrom: LOG_TIME, validTo: LOG_TIME }))).toEqual([])
    expect(check(entry, logKeyFrom({ validFrom: LOG_TIME + 1 }))).toEqual(LOG)
    expect(check(entry, logKeyFrom({ validTo: LOG_TIME - 1 }))).toEqual(LOG)
  })

  test("a log key listed for two spans of time counts in both", () => {
    const [key] = trust.logKeys
    const spans = [
      { ...key!, validTo: LOG_TIME - 1 },
      { ...key!, validFrom: LOG_TIME },
    ]
    expect(check(entry, { ...trust, logKeys: spans })).toEqual([])
    expect(check(entry, { ...trust, logKeys: spans.toReversed() })).toEqual([])
  })

  test("a checkpoint verified under one trust is verified again under another", () => {
    expect(check(entry)).toEqual([])
    expect(check(entry)).toEqual([])
    const impostor = logKeyFrom({ spki: stranger.spki })
    expect(check(entry, impostor)).toEqual(["entry.checkpoint_signature", "entry.set"])
    expect(check(withEnvelope(signedWith(() => toLowS(stranger.sign(PREIMAGE)))))).toEqual([
      "entry.checkpoint_signature",
    ])
  })

  test("only public Rekor may differ in log index and tree id, and write high-S", () => {
    const sharded = logged(body(), { logIndex: 1000, origin: ORIGIN.replace("4127", "9") })
    const promise = decodeBase64(sharded.inclusionPromise.signedEntryTimestamp)!
    const loose = { ...sharded, inclusionPromise: { signedEntryTimestamp: encodeBase64(highS(promise)) } }
    expect(check(loose)).toEqual(["entry.proof_index", "entry.checkpoint_signature", "entry.set"])
    expect(check(loose, { ...trust, rekor: true })).toEqual([])
    const otherHost = logged(body(), { origin: "rekor.example - 4127" })
    expect(check(otherHost, { ...trust, rekor: true })).toEqual(["entry.checkpoint_signature"])
  })

  test("a log key that is not P-256 vouches for nothing", () => {
    expect(check(entry, logKeyFrom({ keyDetails: "PKIX_ED25519" }))).toEqual([
      "entry.checkpoint_signature",
      "entry.set",
    ])
  })

  test("trust without service keys leaves the entry unsigned by anyone known", () => {
    const report = checkEntry(entry, { preimage: PREIMAGE, trust: { ...trust, serviceKeys: [] } })
    expect(failed(report)).toEqual(["entry.body_key"])
    expect(report.serviceKeyId).toBeUndefined()
  })

  test("an entry outside the schema fails its checks without throwing", () => {
    const garbage = (value: JsonValue): TransparencyLogEntry => ({ ...entry, ...(value as object) })
    expect(check(garbage({ logIndex: "x", integratedTime: "-1", canonicalizedBody: "\ud800" })).length).toBeGreaterThan(
      5,
    )
  })

  test("entry and trust of another log key do not mix", () => {
    expect(check(logged(body(), {}, stranger))).toEqual(["entry.checkpoint_signature", "entry.set"])
    expect(logKey.id).not.toEqual(stranger.id)
  })
}
