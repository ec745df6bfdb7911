import { decodeBase64, encodeBase64, type JsonObject } from "@runseal/canonical"
import * as v from "valibot"
import { keyIdOfSpki, parseP256Spki } from "../keys/spki.ts"
import { formatUtcSeconds, parseUtcSeconds } from "../keys/validity.ts"
import { MAX_CERTIFICATE_BYTES, parseCertificate } from "../keys/x509-certificate.ts"
import { HASH_BYTES } from "../merkle/rfc6962.ts"
import { AUTHORITY_CERTIFICATES, type TimestampAuthority } from "../timestamps/timestamp-authority.ts"
import { type LogKey, P256_KEY_DETAILS, type TrustProblem } from "./trusted-keys.ts"

const MEDIA_TYPE = "application/vnd.dev.sigstore.trustedroot+json;version=0.1"
/**
 * Most logs of one trusted root: enough for every key that our log may have had, and the outside logs. Sigstore's own root
 * lists four.
 */
const MAX_LOGS = 64
const MAX_KEY_BYTES = 1024
/** Most timestamp authorities of one trusted root. */
export const MAX_TIMESTAMP_AUTHORITIES = 16
/** Longest address of a log or an authority, in UTF-16 units; other texts have the same bound. */
export const MAX_URI_LENGTH = 512

/** Parsing stops at the first issue, so that a document of a million mistakes makes one. */
export const FIRST_ISSUE = { abortEarly: true } as const

const textSchema = v.pipe(v.string(), v.maxLength(MAX_URI_LENGTH))
const timeSchema = v.pipe(v.string(), v.transform(parseUtcSeconds), v.number("must be an RFC 3339 time in UTC"))
const bytesOf = (most: number) =>
  v.pipe(v.string(), v.maxLength(most * 2), v.transform(decodeBase64), v.instance(Uint8Array, "must be base64"))
const bytesSchema = bytesOf(MAX_KEY_BYTES)

// JSON of Protocol Buffers writes null for absent members. A key without a start would be valid for ever: it is refused.
const validitySchema = v.object({ start: timeSchema, end: v.nullish(timeSchema) })
const endOf = ({ end }: v.InferOutput<typeof validitySchema>): { readonly validTo?: number } =>
  typeof end === "number" ? { validTo: end } : {}

// Other members are ignored: certificate authorities and later fields are for other verifiers.
const rootSchema = v.object({
  mediaType: v.literal(MEDIA_TYPE),
  tlogs: v.pipe(
    v.array(
      v.object({
        baseUrl: textSchema,
        hashAlgorithm: v.literal("SHA2_256"),
        publicKey: v.object({
          rawBytes: bytesSchema,
          keyDetails: textSchema,
          validFor: validitySchema,
        }),
        logId: v.object({
          keyId: v.pipe(
            bytesSchema,
            v.check(bytes => bytes.length === HASH_BYTES),
          ),
        }),
      }),
    ),
    v.maxLength(MAX_LOGS),
  ),
})

const authoritiesSchema = v.object({
  timestampAuthorities: v.nullish(
    v.pipe(
      v.array(
        v.object({
          uri: v.nullish(textSchema, ""),
          certChain: v.object({
            certificates: v.pipe(
              v.array(v.object({ rawBytes: bytesOf(MAX_CERTIFICATE_BYTES) })),
              v.maxLength(AUTHORITY_CERTIFICATES[1]),
            ),
          }),
          validFor: validitySchema,
        }),
      ),
      v.maxLength(MAX_TIMESTAMP_AUTHORITIES),
    ),
    [],
  ),
})

/** The timestamp authorities of a Sigstore trusted_root.json, in its order; their chains are unchecked. Never throws. */
export function parseTimestampAuthorities(value: unknown): readonly TimestampAuthority[] | TrustProblem {
  const parsed = v.safeParse(authoritiesSchema, value, FIRST_ISSUE)
  if (!parsed.success) return { problem: `The trusted root is not readable: ${describeIssue(parsed.issues)}.` }
  return parsed.output.timestampAuthorities.map(({ uri, certChain, validFor }) => ({
    uri,
    certificates: certChain.certificates.map(({ rawBytes }) => rawBytes),
    validFrom: validFor.start,
    ...endOf(validFor),
  }))
}

/** The transparency-log keys of a Sigstore trusted_root.json, in its order. Never throws. */
export function parseTrustedRoot(value: unknown): readonly LogKey[] | TrustProblem {
  const parsed = v.safeParse(rootSchema, value, FIRST_ISSUE)
  if (!parsed.success) return { problem: `The trusted root is not readable: ${describeIssue(parsed.issues)}.` }
  const keys = parsed.output.tlogs.map(({ baseUrl, publicKey, logId }) => ({
    logId: encodeBase64(logId.keyId),
    spki: publicKey.rawBytes,
    keyDetails: publicKey.keyDetails,
    baseUrl,
    validFrom: publicKey.validFor.start,
    ...endOf(publicKey.validFor),
  }))
  const odd = keys.find(key => key.keyDetails === P256_KEY_DETAILS && !isNamedByItsKey(key))
  return odd === undefined
    ? keys
    : { problem: `The log id of ${quoted(odd.baseUrl)} is not the SHA-256 of its P-256 key.` }
}

/**
 * A trusted root with these log keys and timestamp authorities, and empty lists for unused members, as other tools expect it. They refuse
 * unknown fields, so none are added. Times are written in whole seconds.
 */
export function formatTrustedRoot(
  logKeys: readonly LogKey[],
  authorities: readonly TimestampAuthority[] = [],
): JsonObject {
  return {
    mediaType: MEDIA_TYPE,
    tlogs: logKeys.map(({ baseUrl, spki, keyDetails, logId, validFrom, validTo }) => ({
      baseUrl,
      hashAlgorithm: "SHA2_256",
      publicKey: {
        rawBytes: encodeBase64(spki),
        keyDetails,
        validFor: formatValidity({ validFrom, validTo }),
      },
      logId: { keyId: logId },
    })),
    certificateAuthorities: [],
    ctlogs: [],
    timestampAuthorities: authorities.map(({ uri, certificates, validFrom, validTo }) => ({
      subject: subjectOf(certificates),
      uri,
      certChain: { certificates: certificates.map(der => ({ rawBytes: encodeBase64(der) })) },
      validFor: formatValidity({ validFrom, validTo }),
    })),
  }
}

const formatValidity = ({
  validFrom,
  validTo,
}: {
  readonly validFrom: number
  readonly validTo: number | undefined
}): JsonObject => ({
  start: formatUtcSeconds(validFrom),
  ...(validTo === undefined ? {} : { end: formatUtcSeconds(validTo) }),
})

/** Sigstore names an authority after its root; the name is not used for verification. */
function subjectOf(certificates: readonly Uint8Array[]): JsonObject {
  const root = certificates.at(-1)
  const { organization, commonName } = (root && parseCertificate(root)) ?? { organization: "", commonName: "" }
  return { organization, commonName }
}

/** The first issue of a refused document: its place and the problem, without quoting the document. */
export function describeIssue([issue]: [v.BaseIssue<unknown>, ...v.BaseIssue<unknown>[]]): string {
  const path = issue.path?.map(({ key }) => String(key)).join(".") ?? "document"
  return `${quoted(path)} is not what the format asks for`
}

/** Longest quotation of a document, in UTF-16 units. */
const MAX_QUOTED_LENGTH = 120

/** A quotation from an untrusted document, without characters that could start a line or steer a terminal. */
const quoted = (text: string): string => text.slice(0, MAX_QUOTED_LENGTH).replace(/[\p{C}\p{Zl}\p{Zp}]/gu, "\ufffd")

/** The host name in a log's base URL, without port; undefined when it names none. */
export function hostOf(baseUrl: string): string | undefined {
  return /^https?:\/\/([a-z0-9.-]+)(?=[/:]|$)/.exec(baseUrl)?.[1]
}

function isNamedByItsKey({ logId, spki }: LogKey): boolean {
  return parseP256Spki(spki) !== undefined && encodeBase64(keyIdOfSpki(spki)) === logId
}
