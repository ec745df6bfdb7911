import { encodeBase64, encodeHex, type JsonObject, type JsonValue } from "@runseal/canonical"
import fc from "fast-check"
import { describe, expect, test } from "vitest"
import {
  checkpointKey,
  LOG_TIME,
  logKey,
  newEd25519,
  newKey,
  ORIGIN,
  serviceKey,
  trustDocument,
} from "../../test/own-log.ts"
import { formatVkey, noteKey } from "../notes/signed-note.ts"
import { PUBLIC_REKOR_ORIGIN, PUBLIC_REKOR_ROOT } from "./rekor-root.ts"
import { parseTrust } from "./trust-document.ts"

const [row] = trustDocument.service_keys
const withRow = (changed: JsonObject): JsonObject => ({ ...trustDocument, service_keys: [{ ...row!, ...changed }] })
const withCheckpointKeys = (...checkpoint_keys: readonly string[]): JsonObject => ({
  ...trustDocument,
  checkpoint_keys,
})
const namedCheckpointKey = (name: string): string => formatVkey(noteKey(name, "ed25519", checkpointKey.raw))
const [OWN_VKEY = ""] = trustDocument.checkpoint_keys
const witness = newEd25519()
const witnessVkey = (name: string, raw = witness.raw): string => formatVkey(noteKey(name, "cosignature/v1", raw))
const { tlogs } = trustDocument.trusted_root
const rekorLogs = PUBLIC_REKOR_ROOT.tlogs

describe("a trust document", () => {
  test("gives the keys of one service and one log", () => {
    expect(parseTrust(trustDocument)).toEqual({
      service: "Runseal test service",
      origin: ORIGIN,
      serviceKeys: [{ keyId: encodeHex(serviceKey.id), spki: serviceKey.spki, validFrom: LOG_TIME - 86_400 }],
      logKeys: [
        {
          logId: encodeBase64(logKey.id),
          spki: logKey.spki,
          keyDetails: "PKIX_ECDSA_P256_SHA_256",
          baseUrl: "https://runseal.local/log",
          validFrom: LOG_TIME - 1000,
        },
      ],
      checkpointKeys: [expect.objectContaining({ name: "runseal.local/4127", algorithm: "ed25519" })],
      leafV7From: LOG_TIME,
      rekor: false,
    })
  })

  test("may end and revoke a key, list no checkpoint key and say nothing of leaf v7", () => {
    const { leaf_v7_from: _, ...rest } = trustDocument
    const end = { valid_to: "2027-01-01T00:00:00Z", revoked_from: "2026-06-01T00:00:00Z" }
    const trust = parseTrust({ ...rest, service_keys: [{ ...row!, ...end }], checkpoint_keys: [] })
    expect(trust).toMatchObject({
      checkpointKeys: [],
      serviceKeys: [{ validTo: 1_798_761_600, revokedFrom: 1_780_272_000 }],
    })
    expect(trust).not.toHaveProperty("leafV7From")
  })

  test("trusts public Rekor as such by its key alone", () => {
    const rekor = { origin: PUBLIC_REKOR_ORIGIN, trusted_root: PUBLIC_REKOR_ROOT, checkpoint_keys: [] }
    const document = { ...trustDocument, ...rekor }
    expect(parseTrust(document)).toMatchObject({ rekor: true })
    const renamed = {
      ...trustDocument.trusted_root,
      tlogs: [{ ...(tlogs as readonly JsonObject[])[0]!, baseUrl: "https://rekor.sigstore.dev" }],
    }
    expect(parseTrust({ ...trustDocument, trusted_root: renamed })).toMatchObject({ rekor: false })
  })

  const [own] = tlogs as readonly JsonObject[]
  const mixed = {
    ...PUBLIC_REKOR_ROOT,
    tlogs: [...(tlogs as readonly JsonObject[]), ...(rekorLogs as readonly JsonObject[])],
  }
  test("may list public Rekor, and other Rekor logs, beside the service's own: each stands alone", () => {
    const trust = parseTrust({ ...trustDocument, trusted_root: mixed })
    expect(trust).toMatchObject({ rekor: false, logKeys: [{ baseUrl: "https://runseal.local/log" }] })
    expect(trust).toMatchObject({
      outside: [
        {
          service: "Runseal test service",
          rekor: true,
          checkpointKeys: [],
          logKeys: [{ baseUrl: "https://rekor.sigstore.dev" }],
          origin: "rekor.sigstore.dev - 0",
        },
      ],
    })
  })

  test("takes a root whose only log bears another name for that of the service", () => {
    const renamed = { ...trustDocument.trusted_root, tlogs: [{ ...own!, baseUrl: "https://log.example" }] }
    const trust = parseTrust({ ...trustDocument, trusted_root: renamed })
    expect(trust).toMatchObject({ origin: ORIGIN, rekor: false, logKeys: [{ baseUrl: "https://log.example" }] })
    expect(trust).not.toHaveProperty("outside")
  })

  const stranger = newKey()
  test.each<[string, JsonValue]>([
    ["an unknown field", { ...trustDocument, extra: 1 }],
    ["another kind", { ...trustDocument, kind: "vfa.trust.v2" }],
    ["no service name", { ...trustDocument, service: "" }],
    ["an origin without tree id", { ...trustDocument, origin: "runseal.local" }],
    ["no service key", { ...trustDocument, service_keys: [] }],
    ["65 service keys", { ...trustDocument, service_keys: Array.from({ length: 65 }, () => row!) }],
    ["a service key listed twice", { ...trustDocument, service_keys: [row!, row!] }],
    ["an unknown field in a key", withRow({ extra: 1 })],
    ["a key id of another key", withRow({ key_id: encodeHex(stranger.id) })],
    ["a key id in uppercase", withRow({ key_id: encodeHex(serviceKey.id).toUpperCase() })],
    ["a key under another id", withRow({ spki: encodeBase64(stranger.spki) })],
    ["a key that is not P-256", withRow({ spki: "AA==" })],
    ["a key that is not base64", withRow({ spki: "A" })],
    ["a start that is no time", withRow({ valid_from: "2026-01-01" })],
    ["a null end", withRow({ valid_to: null })],
    ["a revocation that is no time", withRow({ revoked_from: "" })],
    ["a checkpoint key that is no vkey", { ...trustDocument, checkpoint_keys: ["x"] }],
    ["a checkpoint key under the host's name alone", withCheckpointKeys(namedCheckpointKey("runseal.local"))],
    ["a checkpoint key of another tree", withCheckpointKeys(namedCheckpointKey("runseal.local/4128"))],
    ["a checkpoint key listed twice", withCheckpointKeys(OWN_VKEY, OWN_VKEY)],
    ["a witness under two names", withCheckpointKeys(OWN_VKEY, witnessVkey("one.example"), witnessVkey("two.example"))],
    [
      "two witnesses of one name",
      withCheckpointKeys(OWN_VKEY, witnessVkey("one.example"), witnessVkey("one.example", newEd25519().raw)),
    ],
    ["a witness with the log's own key", withCheckpointKeys(OWN_VKEY, witnessVkey("one.example", checkpointKey.raw))],
    ["a witness with the log's own name", withCheckpointKeys(OWN_VKEY, witnessVkey("runseal.local/4127"))],
    ["a leaf v7 start that is no time", { ...trustDocument, leaf_v7_from: "x" }],
    ["a trusted root that is none", { ...trustDocument, trusted_root: {} }],
    ["a trusted root without a log", { ...trustDocument, trusted_root: { ...trustDocument.trusted_root, tlogs: [] } }],
    ["a list in place of an object", []],
    ["null", null],
  ])("is refused with %s", (_, value) => {
    expect(parseTrust(value)).toEqual({ problem: expect.stringMatching(/^[AT].+\.$/) })
  })

  test.each(Object.keys(trustDocument).filter(key => key !== "leaf_v7_from"))("is refused without %s", name => {
    expect(
      parseTrust(Object.fromEntries(Object.entries(trustDocument).filter(([key]) => key !== name))),
    ).toHaveProperty("problem")
  })

  test("of arbitrary JSON never makes the reader throw", () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.constantFrom(...Object.keys(trustDocument)), (value, key) => {
        expect(parseTrust(value as JsonValue)).toHaveProperty("problem")
        const trust = parseTrust({ ...trustDocument, [key]: value as JsonValue })
        expect("problem" in trust || key === "service" || key === "checkpoint_keys").toBe(true)
      }),
    )
  })

  test("is refused in one printable line, whatever it holds", () => {
    const steering = "\u001b[2J\nTRUSTED\u202e".repeat(100)
    const [log] = trustDocument.trusted_root.tlogs as readonly JsonObject[]
    const renamed = {
      ...trustDocument.trusted_root,
      tlogs: [{ ...log, baseUrl: "\u001b[2J\n", logId: { keyId: `${"A".repeat(43)}=` } }],
    }
    for (const changed of [
      { ...trustDocument, [steering]: 1 },
      { ...trustDocument, trusted_root: renamed },
    ]) {
      const trust = parseTrust(changed)
      expect("problem" in trust && trust.problem).toMatch(/^[^\p{C}\p{Zl}\p{Zp}]{1,300}$/u)
    }
  })

  test("of very many mistakes costs no more than a walk over it", { timeout: 60_000 }, () => {
    const service_keys = Array.from({ length: 3_000_000 }, () => 0)
    expect(parseTrust({ ...trustDocument, service_keys })).toHaveProperty("problem")
  })
})
