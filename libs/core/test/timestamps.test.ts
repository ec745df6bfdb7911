/** Timestamps of RFC 3161: those of authorities that others run and wrote, and what no reader may take. */
import { randomBytes } from "node:crypto"
import * as noble from "@runseal/log/keys/signatures.noble"
import * as node from "@runseal/log/keys/signatures.node"
import type { SignatureAlgorithm } from "@runseal/log/keys/signer-key"
import { parseCertificate } from "@runseal/log/keys/x509-certificate"
import { parseTimestamp, storedTimestamp, timestampRequest, verifyTimestamp } from "@runseal/log/timestamps/timestamp"
import { openAuthority, type TimestampAuthority } from "@runseal/log/timestamps/timestamp-authority"
import { parseTimestampAuthorities } from "@runseal/log/trust/trusted-root"
import fc from "fast-check"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { presence, present, readJson } from "../../log/test/vectors.ts"
import {
  type CertificateOptions,
  FOR_CODE,
  FOR_TIMESTAMPS,
  MAY_ENCRYPT,
  MAY_SIGN,
  SIGNER_KINDS,
  type StampOptions,
  signedBy,
  testAuthority,
} from "./fixtures/authority.ts"
import {
  type OpensslAuthority,
  opensslAuthority,
  opensslPresence,
  opensslPresent,
} from "./fixtures/openssl-authority.ts"

const TIMEOUT_MS = 300_000
const BYTES = new TextEncoder().encode("a signature")
const TIME = Date.parse("2026-05-04T12:00:00Z") / 1000
const nonce = (): Uint8Array => new Uint8Array(randomBytes(16)).with(0, 0x41)

/** Positions whose change some timestamp survives. */
function survivors(der: Uint8Array, bytes: Uint8Array, authority: TimestampAuthority): readonly number[] {
  return [...der.keys()].filter(at =>
    [0x01, 0x0a, 0x80, 0xff].some(
      bits => !("problem" in verifyTimestamp(der.with(at, der[at]! ^ bits), bytes, [authority])),
    ),
  )
}

const FOLDER = "sigstore-bundles"
describe.skipIf(!present(FOLDER))(`a timestamp of Sigstore's public authority${presence(FOLDER)}`, () => {
  type Bundle = {
    messageSignature: { signature: string }
    verificationMaterial: { timestampVerificationData: { rfc3161Timestamps: [{ signedTimestamp: string }] } }
  }
  const bytes = (base64: string): Uint8Array => new Uint8Array(Buffer.from(base64, "base64"))
  const authorities = (name: string): readonly TimestampAuthority[] => {
    const read = parseTimestampAuthorities(readJson(`${FOLDER}/_trusted-roots/${name}.trusted_root.json`))
    if ("problem" in read) throw new Error(read.problem)
    return read
  }
  let [signature, stamp, authority]: [Uint8Array, Uint8Array, TimestampAuthority?] = [BYTES, BYTES]
  beforeAll(() => {
    const { messageSignature, verificationMaterial } = readJson<Bundle>(
      `${FOLDER}/managed-key-happy-path/bundle.sigstore.json`,
    )
    signature = bytes(messageSignature.signature)
    stamp = bytes(verificationMaterial.timestampVerificationData.rfc3161Timestamps[0].signedTimestamp)
    authority = authorities("public-good-production")[0]
  })

  test("verifies with the chain of the public trusted root, in its stored form", () => {
    stamp = storedTimestamp(stamp, authority!)!
    expect(verifyTimestamp(stamp, signature, [authority!])).toEqual({ time: 1766077479, authority })
    expect(storedTimestamp(stamp, authority!)).toEqual(stamp)
  })

  test("is of nobody with the chain of the staging root, and of nothing with another signature", () => {
    expect(verifyTimestamp(stamp, signature, authorities("staging"))).toHaveProperty("problem")
    expect(verifyTimestamp(stamp, signature.with(9, 0), [authority!])).toEqual({
      problem: "The timestamp is over other bytes.",
    })
  })

  test("does not survive a change of any of its bytes", () => {
    expect(survivors(stamp, signature, authority!)).toEqual([])
  })
})

describe.skipIf(!opensslPresent).each(["p256", "p384", "rsa"] as const)(
  `a timestamp that openssl ts makes, %s${opensslPresence}`,
  kind => {
    const asked = nonce()
    let openssl: OpensslAuthority | undefined
    let authority: TimestampAuthority = { uri: "https://tsa.example", certificates: [], validFrom: 0 }
    let stamp: Uint8Array = BYTES
    beforeAll(() => {
      openssl = opensslAuthority(kind)
      authority = { ...authority, certificates: openssl.certificates }
      stamp = openssl.reply(timestampRequest(BYTES, asked))
    })
    afterAll(() => openssl?.remove())

    test("answers the request and verifies, in its stored form", () => {
      stamp = storedTimestamp(stamp, authority)!
      const found = verifyTimestamp(stamp, BYTES, [authority], asked)
      expect(found).toMatchObject({ authority })
      expect("time" in found && Math.abs(found.time - Date.now() / 1000)).toBeLessThan(120)
      expect(storedTimestamp(stamp, authority)).toEqual(stamp)
    })

    test("does not answer another request, nor one over other bytes", () => {
      expect(verifyTimestamp(stamp, BYTES, [authority], nonce())).toHaveProperty("problem")
      expect(verifyTimestamp(stamp, BYTES.with(0, 0), [authority], asked)).toHaveProperty("problem")
    })

    test("does not survive a change of any of its bytes", { timeout: TIMEOUT_MS }, () => {
      expect(survivors(stamp, BYTES, authority)).toEqual([])
    })
  },
)

const NAMED_RSA: [string, StampOptions] = ["with RSA under the name with the hash", { rsaWithHash: true }]
const OTHER_FORM: [string, StampOptions] = ["with the other form of its signature", { highS: true }]

describe.each(SIGNER_KINDS)("an authority with a key of kind %s", kind => {
  const authority = testAuthority({ kind })
  const verified = (options?: StampOptions) =>
    verifyTimestamp(authority.stamp(BYTES, TIME, options), BYTES, [authority.authority])

  test("stamps with any of the hashes", () => {
    for (const hash of ["sha256", "sha384", "sha512"] as const)
      expect(verified({ hash })).toEqual({ time: TIME, authority: authority.authority })
  })

  const [leaf, root] = authority.authority.certificates as [Uint8Array, Uint8Array]
  test.each<[string, StampOptions]>([
    ["with a place for certificates and none in it", { certificates: [] }],
    ["with its certificate", { certificates: [leaf] }],
    ["with the chain of its authority", { certificates: [leaf, root] }],
    ["with the chain upside down", { certificates: [root, leaf] }],
    ["with a certificate twice", { certificates: [leaf, leaf] }],
    ["with a stranger's certificate", { certificates: [...testAuthority().authority.certificates] }],
    ["with NULL beside the signer's hash", { nullInSigner: true }],
    ["with NULL beside the message's hash", { nullInMessage: true }],
    ["with words beside its status", { words: "Operation Okay" }],
    ...(kind === "rsa" ? [NAMED_RSA] : []),
    ...(kind.startsWith("p") ? [OTHER_FORM] : []),
  ])("%s it is another text of the same, which is stored in its one form alone", (_name, options) => {
    for (const hash of ["sha256", "sha384", "sha512"] as const) {
      const other = authority.stamp(BYTES, TIME, { ...options, hash })
      expect(verifyTimestamp(other, BYTES, [authority.authority])).toEqual({
        problem: expect.stringMatching(/stored form|low-S form/),
      })
      const stored = storedTimestamp(other, authority.authority)!
      expect(verifyTimestamp(stored, BYTES, [authority.authority])).toEqual({
        time: TIME,
        authority: authority.authority,
      })
      expect(storedTimestamp(stored, authority.authority)).toEqual(stored)
    }
  })

  test("is believed by the portable implementation too, and neither believes a changed signature", () => {
    const { key } = parseCertificate(authority.authority.certificates[0]!)!
    for (const hash of ["sha256", "sha384", "sha512"] as const) {
      const algorithm: SignatureAlgorithm =
        kind === "ed25519" ? { family: kind } : { family: kind === "rsa" ? "rsa" : "ecdsa", hash }
      const signature = signedBy(authority.signer, hash, BYTES)
      for (const each of [node, noble]) {
        expect(each.verifySignature(key, algorithm, BYTES, signature)).toBe(true)
        expect(each.verifySignature(key, algorithm, BYTES.with(0, 0), signature)).toBe(false)
        expect(each.verifySignature(key, algorithm, BYTES, new Uint8Array())).toBe(false)
        for (let at = 0; at < signature.length; at += 7)
          expect(each.verifySignature(key, algorithm, BYTES, signature.with(at, signature[at]! ^ 4))).toBe(false)
      }
    }
    const wrong: SignatureAlgorithm = { family: kind === "rsa" ? "ecdsa" : "rsa", hash: "sha256" }
    for (const each of [node, noble])
      expect(each.verifySignature(key, wrong, BYTES, signedBy(authority.signer, "sha256", BYTES))).toBe(false)
  })
})

describe("no timestamp is one", () => {
  const authority = testAuthority()
  const other = testAuthority()
  const says = (problem: RegExp, options: StampOptions, held = authority.authority): void => {
    const found = verifyTimestamp(authority.stamp(BYTES, TIME, options), BYTES, [held])
    expect("problem" in found ? found.problem : "none").toMatch(problem)
  }
  test.each<[string, StampOptions, RegExp]>([
    ["over other bytes", { imprint: new Uint8Array(32) }, /over other bytes/],
    ["that was not granted", { status: 2 }, /stored form/],
    ["with a digest of another statement", { infoDigest: new Uint8Array(32) }, /not what it says/],
    ["of another kind of content", { contentType: "2a864886f70d010701" }, /stored form/],
    ["signed with another key", { signedBy: other }, /signature of the timestamp/],
    ["with a certificate of somebody else", { certificates: [...other.authority.certificates] }, /stored form/],
    ["that names another certificate", { signingCertificate: new Uint8Array(32) }, /names another certificate/],
    ["with an extension", { extensions: true }, /stored form/],
    ["with attributes that nobody signed", { unsignedAttributes: true }, /stored form/],
    ["with words beside its status, until they are dropped", { words: "Operation Okay" }, /stored form/],
  ])("%s", (_name, options, problem) => says(problem, options))

  test("of an authority that is not known", () => {
    says(/of no authority/, {}, other.authority)
    expect(verifyTimestamp(authority.stamp(BYTES, TIME), BYTES, [])).toHaveProperty("problem")
  })

  test("before or after a certificate of its authority was valid, or the authority was listed", () => {
    const short = testAuthority({ notBefore: "20260504120000Z", notAfter: "20260504120010Z" })
    const at = (time: number, held: TimestampAuthority): string => {
      const found = verifyTimestamp(short.stamp(BYTES, time), BYTES, [held])
      return "problem" in found ? found.problem : "good"
    }
    expect([-1, 0, 10, 11].map(after => at(TIME + after, short.authority))).toEqual([
      expect.stringContaining("not valid at its time"),
      "good",
      "good",
      expect.stringContaining("not valid at its time"),
    ])
    expect(at(TIME + 5, { ...short.authority, validFrom: TIME + 6 })).toMatch(/not valid/)
    expect(at(TIME + 5, { ...short.authority, validTo: TIME + 4 })).toMatch(/not valid/)
  })
})

describe("what an authority answers", () => {
  test("is not stored when nothing was granted or it is no timestamp", () => {
    const { stamp, authority } = testAuthority()
    for (const answer of [stamp(BYTES, TIME, { status: 2 }), new Uint8Array(), new Uint8Array(20_000)])
      expect(storedTimestamp(answer, authority)).toBeUndefined()
  })
})

describe("no authority is one", () => {
  const problemOf = (authority: TimestampAuthority): string | undefined => openAuthority(authority).problem
  test.each<[string, CertificateOptions, RegExp]>([
    ["for other purposes", { purposes: FOR_CODE }, /not for timestamps alone/],
    ["for several purposes", { purposes: [...FOR_TIMESTAMPS, ...FOR_CODE] }, /not for timestamps alone/],
    ["without purposes", { purposes: [] }, /not for timestamps alone/],
    ["whose purpose is not critical", { purposesCritical: false }, /not for timestamps alone/],
    ["whose key may not sign", { keyUsage: MAY_ENCRYPT }, /not for signatures/],
    ["whose root is no authority", { rootIsCa: false }, /may not sign it/],
    ["whose root may not certify", { rootUsage: MAY_SIGN }, /may not sign it/],
    ["whose certificate another key signed", { forged: true }, /chain of the timestamp authority is not valid/],
    ["with a critical extension that is not known", { unknown: true }, /critical extension/],
  ])("%s", (_name, options, problem) => {
    const { authority, stamp } = testAuthority(options)
    expect(problemOf(authority)).toMatch(problem)
    expect(verifyTimestamp(stamp(BYTES, TIME), BYTES, [authority])).toHaveProperty("problem")
  })

  test("without its root, with another root, upside down, or with a certificate that is none", () => {
    const [one, other] = [testAuthority().authority, testAuthority().authority]
    const of = (...certificates: readonly Uint8Array[]): string | undefined => problemOf({ ...one, certificates })
    const [leaf, root] = one.certificates as [Uint8Array, Uint8Array]
    expect(of(leaf, root)).toBeUndefined()
    expect(of(leaf)).toMatch(/2 to 8 certificates/)
    expect(of()).toMatch(/2 to 8 certificates/)
    expect(of(leaf, other.certificates[1]!)).toMatch(/chain of the timestamp authority is not valid/)
    expect(of(root, leaf)).toMatch(/not for timestamps/)
    expect(of(leaf, root.subarray(1))).toMatch(/none that is known here/)
    expect(of(leaf, root, root)).toBeUndefined()
  })

  test("whose certificate was changed in any byte", { timeout: TIMEOUT_MS }, () => {
    const { authority } = testAuthority()
    const [leaf, root] = authority.certificates as [Uint8Array, Uint8Array]
    for (const at of leaf.keys())
      expect(problemOf({ ...authority, certificates: [leaf.with(at, leaf[at]! ^ 1), root] }), `${at}`).toBeDefined()
  })
})

describe("hostile bytes", () => {
  const { stamp, authority } = testAuthority()
  const good = stamp(BYTES, TIME)
  const [leaf] = authority.certificates as [Uint8Array]

  test("never throw", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 400 }), bytes => {
        parseTimestamp(bytes)
        parseCertificate(bytes)
        storedTimestamp(bytes, authority)
        verifyTimestamp(bytes, BYTES, [authority])
      }),
    )
  })

  test("never throw when they were a timestamp or a certificate once", () => {
    const cut = (bytes: Uint8Array) =>
      fc
        .tuple(fc.nat(bytes.length - 1), fc.nat(bytes.length - 1), fc.uint8Array({ maxLength: 4 }))
        .map(([from, length, between]) =>
          Uint8Array.from([...bytes.slice(0, from), ...between, ...bytes.slice(from + (length % 8))]),
        )
    fc.assert(
      fc.property(cut(good), cut(leaf), (timestamp, certificate) => {
        parseTimestamp(timestamp)
        parseCertificate(certificate)
        storedTimestamp(timestamp, authority)
        openAuthority({ ...authority, certificates: [certificate, certificate] })
      }),
      { numRuns: 1000 },
    )
  })
})
