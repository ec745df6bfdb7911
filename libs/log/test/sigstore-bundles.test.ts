import { encodeBase64, encodeHex, type JsonObject, utf8Encode } from "@runseal/canonical"
import { describe, expect, test } from "vitest"
import { checkEntry, ENTRY_CHECKS, type EntryCheckId, entryPlaceProblem } from "../src/entries/check-entry.ts"
import type { TransparencyLogEntry } from "../src/entries/log-entry.ts"
import { parseRekorAnswer } from "../src/entries/rekor-v1.ts"
import { keyIdOfNoteKey, keyIdOfSpki, parseEd25519Spki, pemToSpki } from "../src/keys/spki.ts"
import { PUBLIC_REKOR_ROOT, publicRekorTrust } from "../src/trust/rekor-root.ts"
import type { LogKey, ServiceKey, TrustedKeys } from "../src/trust/trusted-keys.ts"
import { hostOf, parseTrustedRoot } from "../src/trust/trusted-root.ts"
import { parseEntry } from "./library.ts"
import { rekorAnswer } from "./rekor-answer.ts"
import { presence, present, readJson, readText } from "./vectors.ts"

/** Bundles of sigstore-conformance, made by public Rekor and by its staging twin. */
const FOLDER = "sigstore-bundles"
const PUBLIC_GOOD = "_trusted-roots/public-good-production.trusted_root.json"

interface Bundle {
  verificationMaterial: { tlogEntries: [TransparencyLogEntry] }
}

const entryOf = (name: string): TransparencyLogEntry =>
  readJson<Bundle>(`${FOLDER}/${name}/bundle.sigstore.json`).verificationMaterial.tlogEntries[0]

function logKeysOf(root: string): readonly LogKey[] {
  const keys = parseTrustedRoot(readJson(`${FOLDER}/${root}`))
  if ("problem" in keys) throw new Error(keys.problem)
  return keys
}

function serviceKeyOf(name: string): ServiceKey {
  const spki = pemToSpki(readText(`${FOLDER}/${name}/key.pub`))!
  return { keyId: encodeHex(keyIdOfSpki(spki)), spki, validFrom: 0 }
}

const trustIn = (root: string, origin: string, serviceKeys: readonly ServiceKey[]): TrustedKeys => ({
  ...publicRekorTrust("sigstore-conformance", serviceKeys),
  logKeys: logKeysOf(root),
  origin,
})

const failures = (entry: TransparencyLogEntry, trust: TrustedKeys): readonly EntryCheckId[] =>
  checkEntry(entry, { preimage: utf8Encode(readText(`${FOLDER}/a.txt`)), trust })
    .checks.filter(({ ok }) => !ok)
    .map(({ id }) => id)

/** These bundles carry a certificate where our entries carry a key: without a published key these fail in each. */
const CERTIFICATE: readonly EntryCheckId[] = ["entry.body_key", "entry.body_signature"]

describe.skipIf(!present(FOLDER))(`entries of public Sigstore logs${presence(FOLDER)}`, () => {
  test("the good bundle of public Rekor passes every check with the built-in root", () => {
    const name = "managed-key-happy-path"
    expect(parseEntry(entryOf(name) as unknown as JsonObject)).toEqual(entryOf(name))
    const serviceKeys = [serviceKeyOf(name)]
    expect(failures(entryOf(name), publicRekorTrust("sigstore-conformance", serviceKeys))).toEqual([])
    expect(failures(entryOf(name), trustIn(PUBLIC_GOOD, "rekor.sigstore.dev - 1", serviceKeys))).toEqual([])
  })

  test("the good bundle of Rekor's staging log fails only our low-S rule for service keys", () => {
    const name = "managed-key-and-trusted-root"
    const trust = trustIn(`${name}/trusted_root.json`, "rekor.sigstage.dev - 1", [serviceKeyOf(name)])
    const { checks } = checkEntry(entryOf(name), { preimage: utf8Encode(readText(`${FOLDER}/a.txt`)), trust })
    expect(checks.filter(({ ok }) => !ok)).toEqual([
      { id: "entry.body_signature", ok: false, message: "The service's signature is not in its low-S form." },
    ])
  })

  test("an entry of public Rekor is read from its own answer, in its low-S form, and a changed one is refused", () => {
    const entry = entryOf("managed-key-happy-path")
    const stored = parseRekorAnswer(rekorAnswer(entry))!
    const trust = publicRekorTrust("sigstore-conformance", [])
    expect(entryPlaceProblem(stored, entry.canonicalizedBody, trust)).toBeUndefined()
    expect({ ...stored, inclusionPromise: 0, inclusionProof: { ...stored.inclusionProof, checkpoint: 0 } }).toEqual({
      ...entry,
      inclusionPromise: 0,
      inclusionProof: { ...entry.inclusionProof, checkpoint: 0 },
    })
    expect(entryPlaceProblem({ ...stored, logIndex: "7" }, entry.canonicalizedBody, trust)).toMatch(
      /timestamp is not valid/,
    )
    expect(entryPlaceProblem(stored, entry.canonicalizedBody, { ...trust, rekor: false })).toMatch(/another index/)
    expect(entryPlaceProblem(stored, `${entry.canonicalizedBody}=`, trust)).toBe("The entry has another body.")
  })

  test("what is allowed to public Rekor is not allowed to our own log", () => {
    const name = "managed-key-happy-path"
    const trust = { ...publicRekorTrust("sigstore-conformance", [serviceKeyOf(name)]), rekor: false }
    expect(failures(entryOf(name), trust)).toContain("entry.proof_index")
  })

  test("a key of another log is never taken", () => {
    const name = "managed-key-happy-path"
    const root = "managed-key-and-trusted-root/trusted_root.json"
    const trust = trustIn(root, "rekor.sigstage.dev - 1", [serviceKeyOf(name)])
    expect(failures(entryOf(name), trust)).toEqual(["entry.checkpoint_signature", "entry.set"])
  })

  test.each<[string, readonly EntryCheckId[]]>([
    ["checkpoint-bad-keyhint_fail", ["entry.proof_checkpoint", "entry.checkpoint_signature"]],
    ["checkpoint-wrong-roothash_fail", ["entry.proof_checkpoint"]],
    ["inclusion-proof-corrupted-hash_fail", ["entry.inclusion"]],
  ])("%s fails exactly that beside the missing key", (name, expected) => {
    const trust = trustIn(PUBLIC_GOOD, "rekor.sigstore.dev - 1", [])
    expect(parseEntry(entryOf(name) as unknown as JsonObject)).toEqual(entryOf(name))
    const all = new Set([...CERTIFICATE, ...expected])
    expect(failures(entryOf(name), trust)).toEqual(ENTRY_CHECKS.filter(id => all.has(id)))
  })

  test("invalid-inclusion-proof_fail has no checkpoint and is refused by its shape", () => {
    expect(parseEntry(entryOf("invalid-inclusion-proof_fail") as unknown as JsonObject)).toBeUndefined()
  })

  test("invalid-inclusion-proof_fail fails inclusion even with a checkpoint", () => {
    const entry = entryOf("invalid-inclusion-proof_fail")
    const { checkpoint } = entryOf("checkpoint-wrong-roothash_fail").inclusionProof
    const trust = trustIn(PUBLIC_GOOD, "rekor.sigstore.dev - 1", [])
    expect(failures({ ...entry, inclusionProof: { ...entry.inclusionProof, checkpoint } }, trust)).toContain(
      "entry.inclusion",
    )
  })

  test("the trusted roots of Sigstore are read whole", () => {
    expect(logKeysOf(PUBLIC_GOOD).map(({ baseUrl }) => baseUrl)).toEqual([
      "https://rekor.sigstore.dev",
      "https://log2025-1.rekor.sigstore.dev",
    ])
    expect(logKeysOf("_trusted-roots/staging.trusted_root.json").map(({ validTo }) => validTo)).toEqual([
      undefined,
      1756944000,
      1759017600,
      undefined,
    ])
  })

  test("the ids of Sigstore's Rekor v2 logs are those of their keys under their hosts", () => {
    const logs = [PUBLIC_GOOD, "_trusted-roots/staging.trusted_root.json"].flatMap(logKeysOf)
    const tiled = logs.filter(({ keyDetails }) => keyDetails === "PKIX_ED25519")
    expect(tiled).toHaveLength(4)
    for (const { baseUrl, spki, logId } of tiled)
      expect(encodeBase64(keyIdOfNoteKey(hostOf(baseUrl)!, parseEd25519Spki(spki)!))).toBe(logId)
  })

  test("the built-in root is the public-good root's key of rekor.sigstore.dev", () => {
    const [built] = publicRekorTrust("", []).logKeys
    expect(built).toEqual(logKeysOf(PUBLIC_GOOD)[0])
    expect(parseTrustedRoot(PUBLIC_REKOR_ROOT)).toEqual([built])
  })
})
